"""All 22 queries as one program: after a change of a part of the rows all answers are maintained and read, or each text is computed anew."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.cases.refresh import turns_of, unwarmed
from benchmarks.changes import Changes, make_changes
from benchmarks.contest import Contestant, Entry, Turn, compete
from benchmarks.peers.cumulus import OnState, on_state
from benchmarks.peers.duckdb import duckdb_recompute
from benchmarks.peers.spark import spark_recompute
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import State, loaded
from benchmarks.workload import count_rows, forget, relations_of, tables_of
from cumulus_ops.query.read import read_view

__all__ = ["APPEND", "contest", "run"]

FRACTION, REPETITIONS = 0.001, 3
#: What stands as a query for the part of a turn in which the drop's files get into the log.
APPEND = "append"
#: Query -> its seconds, turn by turn.
Parts = dict[str, list[float]]
Recompute = Callable[[str, Path, int, int], AbstractContextManager[Contestant]]


def run(settings: Settings) -> Iterator[list[Row]]:
    """All queries of ``--queries`` in one program, for each fraction of the rows of all tables."""
    queries = settings.queries or ALL_QUERIES
    for scale_factor in settings.scale_factors or (1.0,):
        tables = tables_of(settings.home, scale_factor)
        with loaded(settings.home, tables, queries, keep=settings.keep) as state:
            for fraction in settings.fractions or (FRACTION,):
                if not settings.has_time():
                    return
                yield contest(settings, tables, scale_factor, state, fraction)


def contest(settings: Settings, tables: Path, scale_factor: float, state: State, fraction: float) -> list[Row]:
    """The rows of one fraction: for each contestant those of all queries together, of each, and of appending."""
    relations = relations_of(state.queries)
    events = max(2, round(count_rows(tables, relations) * fraction))
    repetitions, warm_ups = turns_of(settings, fraction, REPETITIONS)
    changes = make_changes(settings.home, tables, relations, events, repetitions + warm_ups, every_table=True)
    after = changes.write_after(repetitions + warm_ups)
    parts: defaultdict[str, Parts] = defaultdict(dict)
    ours, theirs = partial(_kept, settings.home, state, changes), partial(_texts, state.queries, after, settings.cores)
    entries: dict[str, Entry] = {
        "cumulus": lambda: ours(None, parts["cumulus"]),
        "cumulus-spark": lambda: ours(settings.cores, parts["cumulus-spark"]),
        "spark-recompute": lambda: theirs(spark_recompute, parts["spark-recompute"]),
        "duckdb-recompute": lambda: theirs(duckdb_recompute, parts["duckdb-recompute"]),
    }
    chosen = {name: entry for name, entry in entries.items() if settings.wants(name)}
    label = Label("together", "all", f"{fraction:.4%}", scale_factor, events, settings.cores, state.events)
    result = compete(label, chosen, repetitions, warm_ups, {"cumulus": 1}, unwarmed(scale_factor))
    forget(changes.folder, settings.keep)
    return [row for whole in result for row in (whole, *_by_query(whole, parts[whole.contestant]))]


def _by_query(whole: Row, parts: Parts) -> Iterator[Row]:
    """The row of each query, from that of all."""
    for query, seconds in parts.items() if whole.seconds is not None else ():
        measured = seconds[-whole.runs :]
        yield replace(
            whole, query=query, seconds=statistics.median(measured), min=min(measured), max=max(measured),
            events_per_s=None, note="",
        )  # fmt: skip


@dataclass
class _Kept:
    """Appends and applies the next change per turn, and reads all answers. A query's seconds are those of appending, of applying
    for all queries, and of reading it; the turn's are those of appending, applying, and reading all."""

    project: OnState
    state: State
    parts: Parts = field(default_factory=dict)

    def turn(self, number: int) -> Turn:
        kept = self.project.turn(number)
        self.parts.setdefault(APPEND, []).append(self.project.appended[-1])
        seconds = kept.seconds
        for query in self.project.rt.project.views:
            begun = time.perf_counter()
            read_view(self.project.rt, query, tentative=True, ordered=False)
            took = time.perf_counter() - begun
            self.parts.setdefault(query, []).append(kept.seconds + took)
            seconds += took
        return Turn(seconds, kept.events)

    def finish(self) -> str:
        load = f"loaded in {self.state.seconds:.0f} s, peak without mapped files {self.state.peak_anonymous_mb:.0f} MB"
        return f"{self.project.finish()}; {load}, {self.state.disk_mb:.0f} MB on disk"


@contextmanager
def _kept(home: Path, state: State, changes: Changes, spark_cores: int | None, parts: Parts) -> Iterator[Contestant]:
    with on_state(home, state, changes, spark_cores) as project:
        yield _Kept(project, state, parts)


@dataclass
class _Texts:
    """Computes each query's text, one after the other."""

    each: Mapping[str, Contestant]
    parts: Parts = field(default_factory=dict)

    def turn(self, number: int) -> Turn:
        turns = {query: contestant.turn(number) for query, contestant in self.each.items()}
        for query, turn in turns.items():
            self.parts.setdefault(query, []).append(turn.seconds)
        return Turn(sum(turn.seconds for turn in turns.values()), 0)

    def finish(self) -> str:
        notes = [contestant.finish() for contestant in self.each.values()]
        return f"{len(notes)} texts; of the first: {notes[0]}"


@contextmanager
def _texts(queries: Sequence[str], after: Path, cores: int, recompute: Recompute, parts: Parts) -> Iterator[Contestant]:
    with ExitStack() as stack:
        yield _Texts({query: stack.enter_context(recompute(query, after, 0, cores)) for query in queries}, parts)
