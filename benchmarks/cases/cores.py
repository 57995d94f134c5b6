"""Large batches on one core and on several: the whole stream, in batches that are split over tasks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import whole_stream
from benchmarks.rows import Label, Row
from benchmarks.settings import Settings
from benchmarks.workload import drops_of, forget, relations_of, tables_of

__all__ = ["run"]

EVENTS, REPETITIONS = 1_000_000, 3


def run(settings: Settings) -> Iterator[list[Row]]:
    """Some queries, on ``local[1]`` and on ``local[N]``, turn by turn."""
    for scale_factor in settings.scale_factors or (1.0,):
        for query in settings.queries or ("q3", "q1", "q5", "q6"):
            if not settings.has_time():
                return
            yield _contest(settings, scale_factor, query)


def _contest(settings: Settings, scale_factor: float, query: str) -> list[Row]:
    tables = tables_of(settings.home, scale_factor)
    events = settings.batch_sizes[0] if settings.batch_sizes else EVENTS
    landing = drops_of(settings.home, tables, relations_of([query]), events)

    def entry(cores: int | None) -> Entry:
        return lambda: whole_stream(settings.home, tables, landing, [query], cores)

    numbers: dict[str, int | None] = {"cumulus": None, "cumulus-spark[1]": 1}
    numbers[f"cumulus-spark[{settings.cores}]"] = settings.cores
    chosen = {name: entry(cores) for name, cores in numbers.items() if settings.wants(name.split("[")[0])}
    label = Label("cores", query, "", scale_factor, events, settings.cores)
    rows = compete(label, chosen, settings.repetitions or REPETITIONS, 0, {n: c or 1 for n, c in numbers.items()})
    forget(landing, settings.keep)
    return [dataclasses.replace(row, contestant=row.contestant.split("[")[0]) for row in rows]
