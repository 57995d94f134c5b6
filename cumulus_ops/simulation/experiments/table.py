"""What an experiment measures: a table, and the curves to be drawn from it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Experiment", "Plot", "Row", "read_csv", "write_csv"]

Row = Mapping[str, str | int | float]


@dataclass(frozen=True)
class Plot:
    """Curves of ``y`` over ``x``, one for each value of the column ``by`` (or several columns). Where the table has several rows for a point,
    their mean is drawn. ``log``: the axes that are logarithmic, "x", "y" or "xy". ``bars``: x is a name, not a number."""

    x: str
    y: str
    by: str | tuple[str, ...]
    title: str
    log: str = ""
    bars: bool = False

    @property
    def name(self) -> str:
        """What its file is called, after the experiment."""
        return f"{self.y}-by-{self.x}".replace("_", "-")


@dataclass(frozen=True)
class Experiment:
    """A question to the simulator. ``measure`` yields rows as they are measured; its argument scales how much is simulated: 1.0 is what the
    documentation shows."""

    name: str
    question: str
    measure: Callable[[float], Iterable[Row]]
    plots: Sequence[Plot]


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write a table; its columns are those of the first row, and what another one lacks stays empty."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _rounded(v) for k, v in row.items()} for row in rows)


def _rounded(value: str | int | float) -> str | int | float:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def read_csv(path: Path) -> list[dict[str, str]]:
    """A table as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
