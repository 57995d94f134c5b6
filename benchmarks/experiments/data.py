"""The files that an experiment leaves: tables as CSV, numbers as JSON, plots as SVG."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.settings import REPOSITORY

__all__ = ["COLOURS", "PAGES", "figure", "merge_csv", "merge_json", "read_csv", "save", "write_csv"]

PAGES = REPOSITORY / "docs" / "experiments"
#: Told apart by people who see no red or green, too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#666666")


def write_csv(file: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Replace a table; the first row's names are the columns."""
    listed = list(rows)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(listed[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(listed)


def merge_csv(file: Path, rows: Iterable[Mapping[str, object]], keys: Sequence[str]) -> None:
    """Replace the rows of a table that have the same values in the columns ``keys``; the others stay."""

    def key(row: Mapping[str, object]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in keys)

    known: dict[tuple[str, ...], Mapping[str, object]] = {key(row): row for row in read_csv(file)}
    write_csv(file, (known | {key(row): row for row in rows}).values())


def read_csv(file: Path) -> list[dict[str, str]]:
    """The rows of a table, as texts; none if there is no file."""
    if not file.is_file():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def merge_json(file: Path, numbers: Mapping[str, Any]) -> None:
    """Replace some of a file's numbers, by their names at the top."""
    file.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    file.write_text(json.dumps(known | dict(numbers), indent=2) + "\n", encoding="utf-8")


def figure(rows: int = 1, columns: int = 1, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """An empty plot with so many axes."""
    matplotlib.rcParams.update(
        {"svg.hashsalt": "cumulus", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False}
    )  # fmt: skip
    drawn, axes = plt.subplots(rows, columns, figsize=(8, height), layout="constrained", squeeze=False)
    return drawn, [a for row in axes for a in row]


def save(drawn: Figure, file: Path) -> None:
    """Write the plot, the same bytes for the same data."""
    file.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(file, metadata={"Date": None})
    plt.close(drawn)
