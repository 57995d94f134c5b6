"""After a change of a part of the rows: maintaining the answer beside computing it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.changes import make_changes
from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import on_state
from benchmarks.peers.duckdb import duckdb_recompute
from benchmarks.peers.spark import spark_recompute
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import State, loaded
from benchmarks.workload import count_rows, forget, relations_of, tables_of

__all__ = ["run"]

FRACTION, REPETITIONS, WARM_UPS = 0.001, 5, 1
#: With more turns than this of such a part, there would be too few rows left that no change has touched.
LARGE, LARGE_REPETITIONS = 0.1, 3


def run(settings: Settings) -> Iterator[list[Row]]:
    """Each query, for each fraction."""
    for scale_factor in settings.scale_factors or (1.0,):
        for query in settings.queries or ALL_QUERIES:
            if not settings.has_time():
                return
            tables = tables_of(settings.home, scale_factor)
            with loaded(settings.home, tables, [query], keep=settings.keep) as state:
                for fraction in settings.fractions or (FRACTION,):
                    if not settings.has_time():
                        return
                    yield _contest(settings, tables, scale_factor, state, fraction)


def _contest(settings: Settings, tables: Path, scale_factor: float, state: State, fraction: float) -> list[Row]:
    query = state.queries[0]
    relations = relations_of([query])
    rows = count_rows(tables, relations)
    events = max(2, round(rows * fraction))
    repetitions = settings.repetitions or REPETITIONS
    if fraction >= LARGE:
        repetitions = min(repetitions, LARGE_REPETITIONS)
    turns = repetitions + WARM_UPS
    changes = make_changes(settings.home, tables, relations, events, turns)
    after = changes.write_after(turns)
    entries: dict[str, Entry] = {
        "cumulus": lambda: on_state(settings.home, state, changes, None),
        "cumulus-spark": lambda: on_state(settings.home, state, changes, settings.cores),
        "spark-recompute": lambda: spark_recompute(query, after, 0, settings.cores),
        "duckdb-recompute": lambda: duckdb_recompute(query, after, 0, settings.cores),
    }
    label = Label("refresh", query, f"{fraction:.4%}", scale_factor, events, settings.cores, state.events)
    chosen = {n: entry for n, entry in entries.items() if settings.wants(n)}
    result = compete(label, chosen, repetitions, WARM_UPS, {"cumulus": 1})
    forget(changes.folder, settings.keep)
    return result
