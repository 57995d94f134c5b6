"""Throughput by batch size: the stream from its first quarter on, so that there is a state, in batches of 1,000 to 5 M."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.changes import make_continuation
from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import on_state
from benchmarks.rows import Label, Row
from benchmarks.settings import Settings
from benchmarks.states import State, loaded
from benchmarks.workload import forget, relations_of, tables_of

__all__ = ["run"]

SIZES = (1_000, 10_000, 100_000, 1_000_000, 5_000_000)
LOADED = 0.25
REPETITIONS, WARM_UPS = 3, 1
#: Small batches are measured this many at a time: merging runs comes every few batches, and has to count.
GROUP, GROUPED = 10, 100_000


def run(settings: Settings) -> Iterator[list[Row]]:
    """Some queries, all batch sizes on the same state; only as much of the stream as the turns need."""
    for scale_factor in settings.scale_factors or (1.0,):
        tables = tables_of(settings.home, scale_factor)
        for query in settings.queries or ("q3", "q6"):
            if not settings.has_time():
                return
            with loaded(settings.home, tables, [query], keep=settings.keep, part=LOADED) as state:
                for events in settings.batch_sizes or SIZES:
                    if not settings.has_time():
                        return
                    yield _contest(settings, tables, scale_factor, state, events)


def _contest(settings: Settings, tables: Path, scale_factor: float, state: State, events: int) -> list[Row]:
    query = state.queries[0]
    group = GROUP if events < GROUPED else 1
    turns = (settings.repetitions or REPETITIONS) + WARM_UPS
    changes = make_continuation(settings.home, tables, relations_of([query]), state.drops, events, turns * group)
    turns = min(turns, max(1, len(changes.batches) // group))
    warm_ups = min(WARM_UPS, turns - 1)
    entries: dict[str, Entry] = {
        "cumulus": lambda: on_state(settings.home, state, changes, None, group),
        "cumulus-spark": lambda: on_state(settings.home, state, changes, settings.cores, group),
    }
    label = Label("batches", query, "", scale_factor, events, settings.cores, state.events)
    chosen = {n: entry for n, entry in entries.items() if settings.wants(n)}
    rows = compete(label, chosen, turns - warm_ups, warm_ups, {"cumulus": 1})
    forget(changes.folder, settings.keep)
    return rows
