"""Large batches: event by event, or filling all maps anew and taking off what is there; and the query's text on DuckDB. In CPU seconds."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from benchmarks.changes import make_changes
from benchmarks.contest import Contestant, Entry, Turn, WrongAnswer, compete
from benchmarks.peers.cumulus import OnState, on_state
from benchmarks.peers.duckdb import duckdb_recompute
from benchmarks.rows import Label, Row
from benchmarks.settings import ALL_QUERIES, Settings
from benchmarks.states import State, loaded
from benchmarks.workload import count_rows, forget, relations_of, tables_of
from cumulus_ops.append.append import append_delivery
from cumulus_ops.compute.extend import ExtendTask, extend_groups
from cumulus_ops.compute.reading import BatchRef, OwnDeltas
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.files.net_tables import choose_base_files
from cumulus_ops.maps.deltas import at_version, negate_deltas, sum_deltas
from cumulus_ops.maps.packs import open_run
from cumulus_ops.opening.runtime import Runtime

__all__ = ["Anew", "Batches", "run"]

FRACTIONS = (0.001, 0.01, 0.1, 0.3, 1.0)
#: No row is changed twice: of a large part there are few turns, and of all rows there is one.
TURNS, WARM_UPS = 3, 1


def run(settings: Settings) -> Iterator[list[Row]]:
    """Each query, and all as one program (``all``), for each fraction: of orders and lineitems, and of all tables."""
    for scale_factor in settings.scale_factors or (0.1,):
        tables = tables_of(settings.home, scale_factor)
        for query in settings.queries or (*ALL_QUERIES, "all"):
            if not settings.has_time():
                return
            queries = ALL_QUERIES if query == "all" else (query,)
            with loaded(settings.home, tables, queries, keep=settings.keep) as state:
                for every_table in (False, True):
                    for fraction in settings.fractions or FRACTIONS:
                        if settings.has_time():
                            yield _contest(settings, tables, scale_factor, state, query, fraction, every_table)


def _contest(
    settings: Settings,
    tables: Path,
    scale_factor: float,
    state: State,
    query: str,
    fraction: float,
    every_table: bool,
) -> list[Row]:
    relations = relations_of(state.queries)
    events = max(2, round(count_rows(tables, relations) * fraction))
    turns = max(1, min((settings.repetitions or TURNS) + WARM_UPS, int(1 / fraction)))
    changes = make_changes(settings.home, tables, relations, events, turns, every_table=every_table)
    after = changes.write_after(turns)
    with ExitStack() as stack:
        ours = Batches(stack.enter_context(on_state(settings.home, state, changes, None)))
        entries: dict[str, Entry] = {
            "cumulus": lambda: nullcontext(ours),
            "cumulus-append": lambda: nullcontext(_Appended(ours)),
            "cumulus-anew": lambda: nullcontext(Anew(ours)),
            "duckdb-recompute": lambda: _on_duckdb(state.queries, after, settings.cores),
        }
        variant = f"{fraction:.4%}{', all tables' if every_table else ''}"
        label = Label("ways", query, variant, scale_factor, events, settings.cores, state.events)
        chosen = {n: entry for n, entry in entries.items() if settings.wants(n) or n == "cumulus"}
        warm_ups = min(WARM_UPS, turns - 1)
        result = compete(label, chosen, turns - warm_ups, warm_ups, {"cumulus": 1, "cumulus-append": 1})
    forget(changes.folder, settings.keep)
    return result


@dataclass
class Batches:
    """Appends and applies the next change per turn, and counts from the log on."""

    project: OnState
    appended: list[float] = field(default_factory=list)

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        rt, drop = self.project.rt, self.project.changes.batches[number]
        shutil.copytree(drop, rt.project.landing / "0" / drop.name)
        (delivery,) = rt.sources.pending(0)
        begun = time.process_time()
        batches = append_delivery(rt.project, rt.catalog, 0, delivery, room=rt.room)
        self.appended.append(time.process_time() - begun)
        begun = time.process_time()
        for batch in batches:
            apply_batch(rt, batch)
        seconds = time.process_time() - begun
        self.project.times.append(seconds)
        return Turn(seconds, sum(rt.catalog.log.batch(batch).events for batch in batches))

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        return self.project.finish()


@dataclass
class _Appended:
    """What it took to append the same change."""

    ours: Batches

    def turn(self, number: int) -> Turn:
        return Turn(self.ours.appended[number], 0)

    def finish(self) -> str:
        return "the drop's files into the log"


@dataclass
class Anew:
    """Fills all maps anew, as a deployment does, and takes off what is there: after a batch that was applied nothing is left. Nothing is written, which a
    batch would have to."""

    ours: Batches

    def turn(self, number: int) -> Turn:
        """See :class:`~benchmarks.contest.Contestant`."""
        rt = self.ours.project.rt
        begun = time.process_time()
        own = OwnDeltas(rt.plan)
        whole = (_all_events(rt),)
        extend_groups(ExtendTask(rt.plan, rt.project.state, whole, (), frozenset(rt.plan.groups)), own)
        left = sum(len(_find_missing(rt, name, own)) for name in rt.plan.groups)
        if left:
            raise WrongAnswer(f"{left} entries differ from those of the maps")
        return Turn(time.process_time() - begun, 0)

    def finish(self) -> str:
        """See :class:`~benchmarks.contest.Contestant`."""
        return "equals the maps; nothing written"


def _all_events(rt: Runtime) -> BatchRef:
    """All that counts, as one batch before all others: net tables, and the log since."""
    newest = rt.catalog.snapshots.newest()
    since = rt.references([b for b in rt.catalog.log.batches(since=newest + 1) if b.counts])
    base = choose_base_files(rt.project.state, rt.catalog, newest, rt.program.relations).files
    files = (*base, *(file for batch in since for file in batch.files))
    return BatchRef(0, 0, 0, files, 0, 0, sum(file.rows for file in files))


def _find_missing(rt: Runtime, name: str, own: OwnDeltas) -> pa.Table | Sequence[object]:
    """What a group should hold, less what it holds."""
    path, names = rt.plan.paths[name][0], rt.plan.key_names(name)
    runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    stored = [r for r in runs if (r.map, r.access_path) == (name, path.label)]
    opened = (open_run(rt.project.state / r.path, r.offset, r.bytes, r.root) for r in stored)
    tables = [at_version(negate_deltas(run.table(names)), 0) for run in opened]
    right = own.table(name)
    tables += [] if right is None else [at_version(right, 0)]
    return sum_deltas(tables) if tables else ()


@dataclass
class _OnDuckdb:
    """The queries' texts, one after the other, in CPU seconds of all threads."""

    each: Sequence[Contestant]

    def turn(self, number: int) -> Turn:
        begun = time.process_time()
        for contestant in self.each:
            contestant.turn(number)
        return Turn(time.process_time() - begun, 0)

    def finish(self) -> str:
        return "the reference"


@contextmanager
def _on_duckdb(queries: Sequence[str], after: Path, cores: int) -> Iterator[Contestant]:
    with ExitStack() as stack:
        yield _OnDuckdb([stack.enter_context(duckdb_recompute(query, after, 0, cores)) for query in queries])
