"""Peak memory of the process that loads a scale factor in batches of a million events and commits it."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import whole_stream
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.workload import drops_of, forget, relations_of, tables_of

__all__ = ["run"]

EVENTS = 1_000_000


def run(settings: Settings) -> Iterator[list[Row]]:
    """Some queries, by scale factor; once each, since the peak hardly varies."""
    for query in settings.queries or ("q3", "q1", "q18"):
        for scale_factor in settings.scale_factors or (0.1, 1.0):
            if not settings.has_time():
                return
            yield _contest(settings, scale_factor, query)


def _contest(settings: Settings, scale_factor: float, query: str) -> list[Row]:
    tables = tables_of(settings.home, scale_factor)
    queries = ALL_QUERIES if query == "all" else (query,)
    events = settings.batch_sizes[0] if settings.batch_sizes else EVENTS
    landing = drops_of(settings.home, tables, relations_of(queries), events)
    entries: dict[str, Entry] = {
        "cumulus": lambda: whole_stream(settings.home, tables, landing, queries, None),
        "cumulus-spark": lambda: whole_stream(settings.home, tables, landing, queries, settings.cores),
    }
    label = Label("memory", query, "", scale_factor, events, settings.cores)
    wanted = settings.contestants or ("cumulus",)
    chosen = {n: entry for n, entry in entries.items() if n in wanted}
    rows = compete(label, chosen, settings.repetitions or 1)
    forget(landing, settings.keep)
    return rows
