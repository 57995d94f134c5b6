"""The whole stream with keys that mean something, beside the same stream with trusted ones: what looking keys up costs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import whole_stream
from benchmarks.rows import Label, Row
from benchmarks.settings import Settings
from benchmarks.workload import drops_of, forget, relations_of, tables_of

__all__ = ["run"]

EVENTS, REPETITIONS = 1_000_000, 3
MODES = ("trusted", "strict", "upsert")


def run(settings: Settings) -> Iterator[list[Row]]:
    """Q3, whose relations have keys of one number and of two, and Q6, which costs least without."""
    for scale_factor in settings.scale_factors or (1.0,):
        for query in settings.queries or ("q3", "q6"):
            for events in settings.batch_sizes or (EVENTS,):
                if not settings.has_time():
                    return
                yield _contest(settings, scale_factor, query, events)


def _contest(settings: Settings, scale_factor: float, query: str, events: int) -> list[Row]:
    tables = tables_of(settings.home, scale_factor)
    landing = drops_of(settings.home, tables, relations_of([query]), events)
    entries: dict[str, Entry] = {
        f"cumulus-{mode}": partial(whole_stream, settings.home, tables, landing, [query], None, mode) for mode in MODES
    }
    chosen = {name: entry for name, entry in entries.items() if settings.wants(name)}
    rows = compete(
        Label("keys", query, "", scale_factor, events, settings.cores), chosen, settings.repetitions or REPETITIONS
    )
    forget(landing, settings.keep)
    return rows
