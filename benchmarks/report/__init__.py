"""Plots and a summary, made of the result files alone."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report.summary import summary
from benchmarks.rows import read_rows

__all__ = ["write_report"]


def write_report(results: Path) -> list[Path]:
    """Write ``README.md`` and the plots into the results' folder; returns the files."""
    rows = [row for file in sorted(results.glob("*.csv")) for row in read_rows(file)]
    if not rows:
        return []
    from benchmarks.report.plots import draw  # matplotlib is slow to import

    files = draw(rows, results)
    page = summary(rows)
    if files:
        page += "\n## Plots\n\n" + "\n\n".join(f"![{file.stem}]({file.name})" for file in files) + "\n"
    target = results / "README.md"
    target.write_text(page, encoding="utf-8")
    return [target, *files]
