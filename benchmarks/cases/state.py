"""Whether a batch costs more when the state is larger: 10,000 events on states of several scale factors."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.changes import Changes, make_changes
from benchmarks.contest import Entry, compete
from benchmarks.peers.cumulus import on_state
from benchmarks.rows import Label, Row
from benchmarks.settings import Settings
from benchmarks.states import State, loaded
from benchmarks.workload import forget, relations_of, tables_of

__all__ = ["run"]

EVENTS, REPETITIONS, WARM_UPS = 10_000, 9, 2


def run(settings: Settings) -> Iterator[list[Row]]:
    """Some queries; the turns on all states of a query are interleaved."""
    for query in settings.queries or ("q3", "q1", "q5", "q18"):
        if not settings.has_time():
            return
        yield _contest(settings, query)


def _contest(settings: Settings, query: str) -> list[Row]:
    events = settings.batch_sizes[0] if settings.batch_sizes else EVENTS
    repetitions = settings.repetitions or REPETITIONS
    entries: dict[str, Entry] = {}
    sizes: dict[float, int] = {}
    with ExitStack() as stack:
        for scale_factor in settings.scale_factors or (0.1, 1.0):
            tables = tables_of(settings.home, scale_factor)
            state = stack.enter_context(loaded(settings.home, tables, [query], keep=settings.keep))
            changes = make_changes(settings.home, tables, relations_of([query]), events, repetitions + WARM_UPS)
            stack.callback(forget, changes.folder, settings.keep)
            sizes[scale_factor] = state.events
            for name, cores in {"cumulus": None, "cumulus-spark": settings.cores}.items():
                if settings.wants(name):
                    entries[f"{name} {scale_factor:g}"] = _entry(settings.home, state, changes, cores)
        label = Label("state", query, "", 0.0, events, settings.cores)
        rows = compete(label, entries, repetitions, WARM_UPS)
    return [_split(row, sizes) for row in rows]


def _entry(home: Path, state: State, changes: Changes, cores: int | None) -> Entry:
    return lambda: on_state(home, state, changes, cores)


def _split(row: Row, sizes: dict[float, int]) -> Row:
    """The row of a contestant that is named after its state too."""
    name, text = row.contestant.split(" ")
    scale, cores = float(text), 1 if name == "cumulus" else row.cores
    return dataclasses.replace(row, contestant=name, cores=cores, scale_factor=scale, state_events=sizes[scale])
