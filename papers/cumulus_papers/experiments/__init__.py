"""The papers' missing experiments: each is a question, a table of what was simulated, and curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from cumulus_papers.experiments.epochs import (
    AD_REPORTING,
    EPOCHS,
    PROGRESS,
    SKEW,
    STAGGERING,
    SWITCHES,
    WORD_COUNT,
)
from cumulus_papers.experiments.measures import Experiment, Plot, Row, write_csv
from cumulus_papers.experiments.nodes import (
    BUFFER,
    INTELLIGENT,
    NODES,
    PUTLESS,
    ROUNDS,
    SCALING,
    SUBQUERIES,
    SUPPRESSION,
)
from cumulus_papers.experiments.recovery import CLOCKS, RECOVERY, TABLES

__all__ = ["EXPERIMENTS", "Experiment", "Plot", "Row", "run_experiment"]

EXPERIMENTS: dict[str, Experiment] = {
    e.name: e
    for e in (
        BUFFER,
        INTELLIGENT,
        EPOCHS,
        SUBQUERIES,
        STAGGERING,
        SKEW,
        NODES,
        SCALING,
        SUPPRESSION,
        PUTLESS,
        ROUNDS,
        SWITCHES,
        WORD_COUNT,
        AD_REPORTING,
        PROGRESS,
        CLOCKS,
        RECOVERY,
        TABLES,
    )
}


def run_experiment(
    experiment: Experiment, folder: Path, scale: float, on_progress: Callable[[str], None] = lambda _: None
) -> Iterator[Path]:
    """Measure, write the table, draw its curves.

    Args:
        experiment: what to measure.
        folder: where to write ``<name>.csv`` and ``<name>-<plot>.svg``; it is made.
        scale: how much is simulated; 1.0 is what the documentation shows.
        on_progress: called with one line for each row.

    Yields:
        each file, once it is written.
    """
    from cumulus_papers.experiments.measures import draw  # matplotlib is slow to import

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for row in experiment.measure(scale):
        rows.append(row)
        on_progress("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
    table = folder / f"{experiment.name}.csv"
    write_csv(table, rows)
    yield table
    for plot in experiment.plots:
        file = folder / f"{experiment.name}-{plot.name}.svg"
        draw(rows, plot, file)
        yield file
