"""After a change of a part of the rows: maintaining the answer of a query beside computing it anew."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.changes import Changes, make_changes
from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import OnState, on_state
from benchmarks.peers.duckdb import duckdb_recompute
from benchmarks.peers.spark import spark_recompute
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import State, loaded
from benchmarks.workload import count_rows, forget, relations_of, tables_of

__all__ = ["changes_for", "contest", "run", "turns_of", "unwarmed"]

FRACTION, REPETITIONS, WARM_UPS = 0.001, 5, 1
#: Of a larger part there is one turn, and none before it: no row is changed twice.
LARGE = 0.1
#: From this scale factor on, recomputing takes so long that a turn before the measured ones makes no difference: all 22 queries 510 and 507 s on Spark.
LONG = 10.0


def run(settings: Settings) -> Iterator[list[Row]]:
    """Each query, for each fraction. They are loaded as one program; then each is left alone in a copy of its state."""
    queries = settings.queries or ALL_QUERIES
    for scale_factor in settings.scale_factors or (1.0,):
        tables, made = tables_of(settings.home, scale_factor), set[Path]()
        with loaded(settings.home, tables, queries, keep=settings.keep) as state:
            for query in queries:
                for fraction in settings.fractions or (FRACTION,):
                    if not settings.has_time():
                        return
                    changes = changes_for(settings, tables, state, query, fraction)
                    made.add(changes.folder)
                    yield contest(settings, changes, scale_factor, state, query, fraction)
        for folder in made:
            forget(folder, settings.keep)


def turns_of(settings: Settings, fraction: float, repetitions: int) -> tuple[int, int]:
    """How many turns are measured, and how many come before them."""
    return (1, 0) if fraction >= LARGE else (settings.repetitions or repetitions, WARM_UPS)


def unwarmed(scale_factor: float) -> tuple[str, ...]:
    """Who has no turn before the measured ones."""
    return ("spark-recompute", "duckdb-recompute") if scale_factor >= LONG else ()


def changes_for(settings: Settings, tables: Path, state: State, query: str, fraction: float) -> Changes:
    """Orders and lineitems change, the same for all queries that read either; those that read neither have changes of their own."""
    relations = relations_of([query])
    if {"orders", "lineitem"} & {*relations}:
        relations = relations_of(state.queries)
    events = max(2, round(count_rows(tables, relations) * fraction))
    return make_changes(settings.home, tables, relations, events, sum(turns_of(settings, fraction, REPETITIONS)))


def contest(
    settings: Settings, changes: Changes, scale_factor: float, state: State, query: str, fraction: float
) -> list[Row]:
    """The rows of one fraction: of each contestant, and what appending took of ours."""
    repetitions, warm_ups = turns_of(settings, fraction, REPETITIONS)
    events = max(2, round(count_rows(changes.tables, changes.relations) * fraction))
    after = changes.write_after(repetitions + warm_ups)
    projects: dict[str, OnState] = {}

    @contextmanager
    def project(name: str, spark_cores: int | None) -> Iterator[OnState]:
        others = (query,) if len(state.queries) > 1 else None
        with on_state(settings.home, state, changes, spark_cores, queries=others) as projects[name]:
            yield projects[name]

    entries: dict[str, Entry] = {
        "cumulus": lambda: project("cumulus", None),
        "cumulus-spark": lambda: project("cumulus-spark", settings.cores),
        "spark-recompute": lambda: spark_recompute(query, after, 0, settings.cores),
        "duckdb-recompute": lambda: duckdb_recompute(query, after, 0, settings.cores),
    }
    label = Label("refresh", query, f"{fraction:.4%}", scale_factor, events, settings.cores, state.events)
    chosen = {n: entry for n, entry in entries.items() if settings.wants(n)}
    result = compete(label, chosen, repetitions, warm_ups, {"cumulus": 1}, unwarmed(scale_factor))
    return result + [
        replace(
            row, contestant=f"{row.contestant}-append", seconds=statistics.median(appended), min=min(appended),
            max=max(appended), events_per_s=None, note="",
        )
        for row in result
        if row.seconds is not None and row.contestant in projects and (appended := projects[row.contestant].appended[warm_ups:])
    ]  # fmt: skip
