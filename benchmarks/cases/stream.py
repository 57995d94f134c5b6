"""The whole stream of a scale factor, end to end, per query: Cumulus beside other systems; and by batch size."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.contest import Entry, compete
from benchmarks.peers import dbtoaster
from benchmarks.peers.cumulus import whole_stream
from benchmarks.peers.flink import flink_stream
from benchmarks.peers.pathway import pathway_stream
from benchmarks.peers.postgres import postgres_stream
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.workload import drops_of, forget, relations_of, tables_of

__all__ = ["run"]

EVENTS, REPETITIONS = 1_000_000, 3


def run(settings: Settings) -> Iterator[list[Row]]:
    """Each query, for each batch size; the peers take part at the first batch size only."""
    for scale_factor in settings.scale_factors or (1.0,):
        for query in settings.queries or ALL_QUERIES:
            for place, events in enumerate(settings.batch_sizes or (EVENTS,)):
                if not settings.has_time():
                    return
                yield _contest(settings, scale_factor, query, events, peers=place == 0)


def _contest(settings: Settings, scale_factor: float, query: str, events: int, *, peers: bool) -> list[Row]:
    tables = tables_of(settings.home, scale_factor)
    landing = drops_of(settings.home, tables, relations_of([query]), events)
    entries: dict[str, Entry] = {
        "cumulus": lambda: whole_stream(settings.home, tables, landing, [query], None),
        "cumulus-spark": lambda: whole_stream(settings.home, tables, landing, [query], settings.cores),
    }
    if peers:
        entries |= _peers(settings, tables, query, events)
    label = Label("stream", query, "", scale_factor, events, settings.cores)
    chosen = {n: entry for n, entry in entries.items() if settings.wants(n)}
    rows = compete(label, chosen, settings.repetitions or REPETITIONS, 0, {"postgres-ivm": 1})
    forget(landing, settings.keep)
    if peers and settings.wants(dbtoaster.NAME):
        rows.append(dbtoaster.published(label))
    return rows


def _peers(settings: Settings, tables: Path, query: str, events: int) -> dict[str, Entry]:
    home, cores, part = settings.home, settings.cores, settings.part
    return {
        "flink": lambda: flink_stream(home, tables, query, cores, part),
        "pathway": lambda: pathway_stream(home, tables, query, cores, part),
        "postgres-ivm": lambda: postgres_stream(home, tables, query, events, part),
    }
