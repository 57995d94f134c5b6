"""Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from benchmarks.rows import Row

#: Contestants, in all tables and plots.
ORDER = (
    "cumulus",
    "cumulus-append",
    "cumulus-spark",
    "cumulus-spark-append",
    "spark-recompute",
    "duckdb-recompute",
    "flink",
    "pathway",
    "postgres-ivm",
    "dbtoaster-published",
    "empty-job",
)

__all__ = ["grid", "number", "rate", "seconds", "table", "times"]


def table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; all columns but the first are set right."""
    lines = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return [*lines, *(f"| {' | '.join(cells)} |" for cells in body)]


def grid(rows: Sequence[Row], line: str, column: str, cell: Callable[[Row], str]) -> list[str]:
    """A table with one line per value of a field, and one column per value of another."""
    found = dict.fromkeys(str(getattr(row, column)) for row in rows)
    columns = sorted(found, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    lines = dict.fromkeys(str(getattr(row, line)) for row in rows)
    cells = {(str(getattr(row, line)), str(getattr(row, column))): cell(row) for row in rows}
    return table([line, *columns], [[name, *(cells.get((name, c), "") for c in columns)] for name in lines])


def number(value: float | None) -> str:
    """Three significant digits, with k and M."""
    if value is None:
        return "–"
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if value >= unit * 0.9995:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def seconds(row: Row) -> str:
    """The median, or a dash where the contestant refused or failed."""
    return f"{row.seconds:.3g}" if row.seconds is not None else "–"


def rate(row: Row) -> str:
    """Events per second."""
    return number(row.events_per_s)


def times(value: float | None) -> str:
    """A ratio."""
    return f"{value:.3g}x" if value is not None else "–"
