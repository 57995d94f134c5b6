"""What a small batch costs at least: 1,000 events on a warm Spark session, beside a job that does nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from benchmarks.changes import make_changes
from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import on_state
from benchmarks.peers.spark import empty_job
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import State, loaded
from benchmarks.workload import forget, relations_of, tables_of

__all__ = ["run"]

EVENTS, REPETITIONS, WARM_UPS = 1_000, 9, 3
REFRESH, EVERY_TABLE = "orders and lineitem", "all tables"


def run(settings: Settings) -> Iterator[list[Row]]:
    """Q3 alone, and all 22 queries as one program; refreshes of orders, and changes of all tables."""
    programs: list[tuple[str, tuple[str, ...]]] = [(q, (q,)) for q in settings.queries or ("q3", "all") if q != "all"]
    if "all" in (settings.queries or ("all",)):
        programs.append(("all", ALL_QUERIES))
    for scale_factor in settings.scale_factors or (1.0,):
        for name, queries in programs:
            if not settings.has_time():
                return
            tables = tables_of(settings.home, scale_factor)
            with loaded(settings.home, tables, queries, keep=settings.keep) as state:
                for variant in (REFRESH, EVERY_TABLE):
                    yield _contest(settings, tables, Label("fixed", name, variant, scale_factor), state)


def _contest(settings: Settings, tables: Path, label: Label, state: State) -> list[Row]:
    repetitions = settings.repetitions or REPETITIONS
    events = settings.batch_sizes[0] if settings.batch_sizes else EVENTS
    changes = make_changes(
        settings.home,
        tables,
        relations_of(state.queries),
        events,
        repetitions + WARM_UPS,
        every_table=label.variant == EVERY_TABLE,
    )
    entries: dict[str, Entry] = {
        "empty-job": lambda: empty_job(settings.cores),
        "cumulus-spark": lambda: on_state(settings.home, state, changes, settings.cores),
        "cumulus": lambda: on_state(settings.home, state, changes, None),
    }
    label = dataclasses.replace(label, batch_events=events, cores=settings.cores, state_events=state.events)
    chosen = {n: entry for n, entry in entries.items() if settings.wants(n)}
    rows = compete(label, chosen, repetitions, WARM_UPS, {"cumulus": 1})
    forget(changes.folder, settings.keep)
    return rows
