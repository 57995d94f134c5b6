"""Runs of maps that are lost, made again by difference (docs/adr/0086).

What a copy of a group holds is a function of the event log and of which commits count, not of the order in which it was computed. So

    what a lost run held = the truth about its copy at its versions - what the other runs of the copy hold there

and no step has to be replayed. Where the truth comes from depends on who still tells versions apart:

| versions | truth |
|---|---|
| of live batches | what each batch adds to the group, read by its own clock; all other groups are given |
| of epochs that are committed, and readable | what all events of the epoch add, as one batch: within such an epoch nobody tells versions apart |
| up to the oldest readable epoch | a backfill of the group, as for a deployment |
| any | what another copy of the group has there, if it is intact, has the columns, and is not too large |

What is computed is as of one moment of the catalog. It stays right whatever is committed meanwhile: a correction adds a run of its own and leaves the lost one what it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import Clock, HistoryEntry, NewRun, Run, Step
from cumulus_ops.compute.extend import ExtendTask, choose_drivers, groups_read
from cumulus_ops.compute.reading import BatchRef
from cumulus_ops.deploying.deploy import fill_groups
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.deltas import VERSION, negate_deltas, project_deltas, sum_deltas
from cumulus_ops.maps.packs import open_run, write_runs
from cumulus_ops.maps.runs import AccessPath, build_run
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, InputProblem, IntegrityProblem
from cumulus_ops.project.processes import reach
from cumulus_ops.project.versions import epoch_end, epoch_start

__all__ = ["Repaired", "repair_runs"]

#: As often is a part tried again when others commit meanwhile.
ATTEMPTS = 25
#: Another copy is read instead of computing what a batch or an epoch adds, if that takes no more rows than these, or than so many for each event.
COPY_ROWS, ROWS_PER_EVENT = 100_000, 20
#: The batch before all others: what there is before the first event.
START = BatchRef(0, 0, 0, (), 0, 0, 0)


@dataclass(frozen=True)
class Repaired:
    """What was made again: ``lost`` are the runs that were replaced, ``made`` those in their places; fewer, where nothing was in one."""

    lost: tuple[Run, ...]
    made: tuple[NewRun, ...]
    seconds: float


def repair_runs(rt: Runtime, lost: Collection[Run], on_progress: Callable[[str], None] = lambda _: None) -> Repaired:
    """Make lost runs again, while everything else goes on. Killed at any point it can be called again, with those that are lost still.

    Args:
        rt: the open project.
        lost: runs that cannot be read; no other run is missing.
        on_progress: called with one line for each part that is done.

    Raises:
        InputProblem: the program has versions by event, and no part of it can be made for itself.
        IntegrityProblem: something else is damaged, too, or what was made is not what was lost; nothing of that part was changed.
        Conflict: others have changed the same all the time.
    """
    started = time.monotonic()
    if not rt.plan.versions.summed:
        raise InputProblem(
            "the order of events matters for this program, so no part of it can be made for itself",
            kind="repair-event-versions",
            hint="`cumulus anew` makes all maps again from the event log",
        )
    done, made = list[Run](), list[NewRun]()
    waiting = {run.id: run for run in lost}
    for number in _revisions(rt):
        for _ in range(len(waiting) + 1):
            part = _repair_next(rt, number, waiting, on_progress)
            if part is None:
                break
            for run in part.lost:
                del waiting[run.id]
            done += part.lost
            made += part.made
    _let_go(rt, [*waiting.values()])
    done += waiting.values()
    return Repaired(tuple(done), tuple(made), time.monotonic() - started)


def _revisions(rt: Runtime) -> list[int]:
    """Those whose groups are needed: the current one first, which has all that stays, then one that is being deployed, then those before."""
    others = [number for number in rt.catalog.revisions.needed() if number != rt.revision]
    return [rt.revision, *sorted(others, reverse=True)]


def _let_go(rt: Runtime, runs: Sequence[Run]) -> None:
    """Retire runs of groups that no revision needs."""
    if runs:
        with suppress(Conflict):  # somebody else has done so
            rt.catalog.commits.commit_repair(runs, [])


def _repair_next(
    rt: Runtime, number: int, waiting: dict[int, Run], on_progress: Callable[[str], None]
) -> Repaired | None:
    """Repair the shallowest stratum of a revision's groups that has lost runs; None if there is none."""
    scope = _Scope.of(rt, number)
    for attempt in range(ATTEMPTS):
        state = _State.now(rt)
        gone = waiting.keys() - {run.id for run in state.runs}
        for run in gone:  # merged by somebody who had it open, or not needed any more
            del waiting[run]
        mine = [run for run in waiting.values() if (run.map, run.access_path) in scope.copies]
        if not mine:
            return None
        place = min(scope.rt.plan.place_of[run.map] for run in mine)
        part = [run for run in mine if scope.rt.plan.place_of[run.map] == place]
        try:
            with rt.catalog.leases.step() as step:
                found = _Part(scope, state, tuple(part), frozenset(waiting), step).repair()
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        rows = sum(run.rows for run in found.made)
        names = ", ".join(sorted({run.map for run in part}))
        on_progress(f"{names}: {len(part)} runs made again, {rows:,} rows in {found.seconds:.2f} s")
        return found
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class _State:
    """The catalog at one moment: the newest commit ``at``, the visible ``runs``, the live ``history``, the ``newest`` snapshot and the ``oldest`` that can be
    read, and the commit up to which maps that depend on derivations are ``refreshed``."""

    at: int
    runs: tuple[Run, ...]
    history: tuple[HistoryEntry, ...]
    newest: int
    oldest: int
    refreshed: int

    @staticmethod
    def now(rt: Runtime) -> _State:
        """As it is now. A clock that moves without a commit says the same of what is stored."""

        def look() -> tuple[int, int, int, int]:
            snapshots = rt.catalog.snapshots
            moment = rt.catalog.commits.last_commit(), snapshots.newest(), snapshots.oldest_readable()
            return (*moment, rt.catalog.commits.refreshed())

        while True:
            before = look()
            at, newest, oldest, refreshed = before
            runs, history = rt.catalog.commits.runs(at), rt.catalog.commits.live_history(at)
            if look() == before:
                return _State(at, tuple(runs), tuple(history), newest, oldest, refreshed)


@dataclass(frozen=True)
class _Scope:
    """The project ``rt`` in the revision that maintains, maintained or is to maintain some copies of groups. ``since``: the first epoch in which a group can be
    read; ``last``: the last one, None of the current revision."""

    rt: Runtime
    since: Mapping[str, int]
    last: int | None

    @staticmethod
    def of(rt: Runtime, number: int) -> _Scope:
        """The scope of a revision that is needed."""
        mine = rt if number == rt.revision else rt.in_revision(rt.catalog.program.record(number))
        deployed = [r for r in rt.catalog.revisions.all() if r.since is not None]
        begun = rt.catalog.revisions.deployment()
        if begun is not None and begun.number == number:
            base = -1 if begun.base is None else begun.base
            return _Scope(mine, dict.fromkeys(mine.plan.groups, base + 1), base)
        since, staying = dict[str, int](), set(mine.plan.groups)
        for revision in [r for r in reversed(deployed) if r.number <= number]:
            there = mine if revision.number == number else rt.in_revision(rt.catalog.program.record(revision.number))
            staying &= there.plan.groups.keys()
            since |= dict.fromkeys(staying, revision.since or 0)
            if not staying or not revision.since:
                break
        after = [r.since for r in deployed if r.number > number and r.since is not None]
        return _Scope(mine, since, min(after) - 1 if after else None)

    @cached_property
    def copies(self) -> Mapping[tuple[str, str], AccessPath]:
        """Its copies of groups, as the catalog calls them."""
        return {(p.map, p.label): p for paths in self.rt.plan.paths.values() for p in paths}


@dataclass(frozen=True)
class _Slot:
    """Versions (both inclusive) of which one truth is computed: of live batches (``epoch`` is None), of an ``epoch`` alone, or of all ``upto`` one."""

    first: int
    last: int
    epoch: int | None = None
    upto: bool = False

    def overlaps(self, run: NewRun) -> bool:
        """Whether a run may hold some of them."""
        return run.min_version <= self.last and run.max_version >= self.first


@dataclass
class _Part:
    """The repair of the lost runs of one stratum. ``missing``: the ids of all runs that are missing just now, of deeper groups, too."""

    scope: _Scope
    state: _State
    lost: tuple[Run, ...]
    missing: frozenset[int]
    step: Step
    again: list[Run] = field(default_factory=list)  # of a cycle: what was made of it so far

    @property
    def rt(self) -> Runtime:
        """The project, in its revision."""
        return self.scope.rt

    @property
    def plan(self) -> ProgramPlan:
        """Its plan."""
        return self.scope.rt.plan

    @cached_property
    def names(self) -> frozenset[str]:
        """The groups, of which some runs are lost."""
        return frozenset(run.map for run in self.lost)

    @cached_property
    def is_cyclic(self) -> bool:
        """Whether they are computed from each other."""
        return self.plan.cyclic[self.plan.place_of[self.lost[0].map]]

    @cached_property
    def kept(self) -> list[Run]:
        """The runs that are there."""
        return [run for run in self.state.runs if run.id not in self.missing]

    def repair(self) -> Repaired:
        """Make the runs, prove them, and put them in the place of the lost ones."""
        started = time.monotonic()
        reach("repair.before-files")
        shares = _Shares([(self.scope.copies[run.map, run.access_path], run) for run in self.lost])
        for slot in self._slots():
            self._compare(slot, shares)
        clusters = shares.clusters()
        written = self._write(clusters)
        if self.scope.last is None:
            _prove(written)
        joined = max((c.origin for c, new in written if len(c.lost) > 1 and new is not None), default=0)
        reach("repair.before-commit")
        made = [(new, cluster.origin) for cluster, new in written if new is not None]
        self.rt.catalog.commits.commit_repair(self.lost, made, joined=joined)
        reach("repair.after-commit")
        return Repaired(self.lost, tuple(run for run, _ in made), time.monotonic() - started)

    # Which versions are looked at.

    def _slots(self) -> list[_Slot]:
        """In the order of their versions."""
        state, versions = self.state, self.plan.versions
        readable = max(self.scope.since.get(name, 0) - 1 for name in self.names)
        base = max(min(state.oldest, state.newest), min(readable, state.newest))
        found = [_Slot(versions.start, epoch_end(base), base, upto=True)]
        last = state.newest if self.scope.last is None else min(self.scope.last, state.newest)
        found += [_Slot(epoch_start(epoch), epoch_end(epoch), epoch) for epoch in range(base + 1, last + 1)]
        found += self._live_slots(epoch_end(state.newest) + 1) if self.scope.last is None else []
        return [slot for slot in found if any(map(slot.overlaps, self.lost))]

    def _live_slots(self, first: int) -> list[_Slot]:
        """Whole batches, from a version on (inclusive): as few as there can be, or of a cycle one for each batch that is live, and what lies between."""
        versions = self.plan.versions
        if self.is_cyclic:
            spans = [versions.span(entry.batch) for entry in self.state.history]
            edges = sorted({first, *(s for s, _ in spans), *(e + 1 for _, e in spans), 2**63 - 1})
            return [_Slot(a, b - 1) for a, b in pairwise(edges)]
        found: list[_Slot] = []
        for run in sorted(self.lost, key=lambda r: r.min_version):
            begin = max(first, versions.whole(run.min_version))
            end = versions.whole(run.max_version) + versions.places - 1
            if end < begin:
                continue
            if found and begin <= found[-1].last + 1:
                found[-1] = replace(found[-1], last=max(end, found[-1].last))
            else:
                found.append(_Slot(begin, end))
        return found

    # What should be there, less what is.

    def _compare(self, slot: _Slot, shares: _Shares) -> None:
        """Find out what is missing at some versions, of all copies."""
        lost = [run for run in self.lost if slot.overlaps(run)]
        copies = {self.scope.copies[run.map, run.access_path] for run in lost}
        twins = {path: twin for path in copies if (twin := self._find_twin(path, slot)) is not None}
        wanted = frozenset(path.map for path in copies if path not in twins)
        truth = self._truth(slot, wanted) if wanted else {}
        for path in sorted(copies):
            if path in twins:
                right = [_narrowed(table, twins[path], path) for table in self._held(twins[path], slot)]
            else:
                right = [_narrowed(table, self.plan.paths[path.map][0], path) for table in truth.get(path.map, ())]
            mine = [run for run in lost if (run.map, run.access_path) == (path.map, path.label)]
            tables = [*right, *(negate_deltas(table) for table in self._held(path, slot))]
            at = None if slot.epoch is None else min(slot.last, max(run.max_version for run in mine))
            missing = sum_deltas([table if at is None else _at(table, at) for table in tables]) if tables else None
            if missing is not None and len(missing):
                if at is None:
                    shares.add(path, mine, missing)
                else:
                    shares.join(mine).tables.append(missing)
                self._remember(path, mine, missing)

    def _remember(self, path: AccessPath, mine: Sequence[Run], missing: pa.Table) -> None:
        """In a cycle later versions are computed from this."""
        if self.is_cyclic:
            (new,) = write_runs(self.rt.project.state, [build_run(missing, path)], self.step.label)
            origin = max(run.origin for run in mine)
            self.again.append(Run(**vars(new), id=-1, commit=0, origin=origin))

    def _held(self, path: AccessPath, slot: _Slot) -> Iterator[pa.Table]:
        """What the runs of a copy that are there hold at some versions."""
        names = self.plan.key_names(path.map)
        for run in self.kept:
            if (run.map, run.access_path) == (path.map, path.label) and slot.overlaps(run):
                data = open_run(self.rt.project.state / run.path, run.offset, run.bytes)
                table = data.table(names)
                if data.oldest < slot.first or data.newest > slot.last:
                    at = table[VERSION].to_numpy()
                    table = table.take(pa.array(np.flatnonzero((at >= slot.first) & (at <= slot.last))))
                if len(table):
                    yield table

    def _find_twin(self, path: AccessPath, slot: _Slot) -> AccessPath | None:
        """Another copy that has the same at these versions, is intact there, and costs less to read than to compute; that of the fewest rows."""
        found = []
        for other in self.plan.paths[path.map]:
            mine = [r for r in self.state.runs if (r.map, r.access_path) == (path.map, other.label)]
            mine = [run for run in mine if slot.overlaps(run)]
            if other != path and _has_all(other, path) and not any(run.id in self.missing for run in mine):
                found.append((sum(run.rows for run in mine), other))
        rows, twin = min(found, default=(0, None))
        is_cheap = slot.upto or rows <= max(COPY_ROWS, ROWS_PER_EVENT * self._count_events(slot))
        return twin if is_cheap and not self.is_cyclic else None

    def _count_events(self, slot: _Slot) -> int:
        if slot.epoch is not None:
            return sum(b.events for b in self.rt.catalog.log.batches(epoch=slot.epoch) if b.counts)
        return sum(entry.batch.events for entry in self._batches(slot))

    # The truth.

    def _truth(self, slot: _Slot, names: frozenset[str]) -> Mapping[str, list[pa.Table]]:
        """What groups hold at some versions if nothing is wrong, with all their columns."""
        if slot.epoch is None:
            return self._read_back([run for task in self._live_tasks(slot, names) for run in self._run(task)])
        if slot.epoch < 0:
            return self._read_back(self._run(self._given(names, (START,), self._stored())))
        drivers: Mapping[str, str] = {}
        if slot.upto and self.rt.project.executor.kind != "spark":
            drivers = choose_drivers(self.plan, names, self._count_rows())
        base = None if slot.upto else slot.epoch - 1
        _, runs = fill_groups(self.rt, self.rt, names, drivers, base, slot.epoch, self._stored(), self.step)
        return self._read_back(runs)

    def _live_tasks(self, slot: _Slot, names: frozenset[str]) -> Iterator[ExtendTask]:
        """What live batches add to groups: to those that follow from events alone by each batch's clock, to others by the one that they have."""
        history = self._batches(slot)
        clocks: dict[Clock, list[HistoryEntry]] = {}
        for entry in history:
            clocks.setdefault(entry.clock, []).append(entry)
        base, others = names & self.plan.base, names - self.plan.base
        for clock, entries in clocks.items() if base else ():
            runs = [run for run in self._stored() if clock.covers(run.origin)]
            yield self._given(base, self.rt.references([entry.batch for entry in entries]), runs)
        known = [entry.batch for entry in history if (entry.batch.commit or 0) <= self.state.refreshed]
        if others and known:
            runs = [run for run in self._stored() if run.origin <= self.state.refreshed]
            yield self._given(others, self.rt.references(known), runs)

    def _batches(self, slot: _Slot) -> list[HistoryEntry]:
        """The live batches that have some of the versions."""
        spans = ((entry, self.plan.versions.span(entry.batch)) for entry in self.state.history)
        return [entry for entry, (first, last) in spans if first <= slot.last and last >= slot.first]

    def _given(self, names: frozenset[str], batches: Sequence[BatchRef], runs: Sequence[Run]) -> ExtendTask:
        given = frozenset(self.plan.groups) - names
        needed = groups_read(self.plan, names, given)
        chosen = tuple(run for run in runs if run.map in needed)
        task = ExtendTask(self.plan, self.rt.project.state, tuple(batches), chosen, names, given)
        return replace(task, memory=self.rt.project.memory_bytes, label=self.step.label)

    def _stored(self) -> list[Run]:
        """What may be read to compute the groups. Of themselves only a cycle reads anything."""
        if self.is_cyclic:
            return [*self.kept, *self.again]
        return [run for run in self.kept if run.map not in self.names]

    def _count_rows(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for file in self.rt.catalog.log.files():
            rows[file.relation] = rows.get(file.relation, 0) + file.rows
        return rows

    def _run(self, task: ExtendTask) -> tuple[NewRun, ...]:
        return self.rt.executor.run(task).runs

    def _read_back(self, runs: Sequence[NewRun]) -> Mapping[str, list[pa.Table]]:
        """What a step has written of groups, with all columns. Its files are not kept."""
        found: dict[str, list[pa.Table]] = {}
        root = self.rt.project.state
        for run in runs:
            if run.access_path == self.plan.paths[run.map][0].label:
                table = open_run(root / run.path, run.offset, run.bytes).table(self.plan.key_names(run.map))
                found.setdefault(run.map, []).append(table)
        for path in {run.path for run in runs}:
            (root / path).unlink()
        return found

    def _write(self, clusters: Sequence[_Cluster]) -> list[tuple[_Cluster, NewRun | None]]:
        """Write what lost runs have held; None where it has come to nothing."""
        tables = [(cluster, sum_deltas(cluster.tables)) for cluster in clusters if cluster.tables]
        filled = [(cluster, build_run(table, cluster.path)) for cluster, table in tables if len(table)]
        runs = write_runs(self.rt.project.state, (run for _, run in filled), self.step.label)
        written = {id(cluster): run for (cluster, _), run in zip(filled, runs, strict=True)}
        return [(cluster, written.get(id(cluster))) for cluster in clusters]


@dataclass
class _Cluster:
    """Lost runs of one copy for which one run stands, since it cannot be told which of them has held what."""

    path: AccessPath
    lost: list[Run]
    tables: list[pa.Table]

    @property
    def origin(self) -> int:
        """The latest commit whose deltas they hold."""
        return max(run.origin for run in self.lost)


class _Shares:
    """What is missing, and which of the lost runs have held it."""

    def __init__(self, lost: Sequence[tuple[AccessPath, Run]]) -> None:
        self._found = [_Cluster(path, [run], []) for path, run in lost]

    def add(self, path: AccessPath, mine: Sequence[Run], missing: pa.Table) -> None:
        """Deltas that some of the runs ``mine`` have held."""
        at = missing[VERSION].to_numpy()
        holders = np.zeros(len(at), np.int64)
        for place, run in enumerate(mine):
            holders |= ((at >= run.min_version) & (at <= run.max_version)).astype(np.int64) << place
        for mask in np.unique(holders).tolist():
            chosen = [run for place, run in enumerate(mine) if mask >> place & 1]
            if not chosen:
                message = f"{path.map}: there is more missing than runs are lost"
                raise IntegrityProblem(
                    message, kind="repair-unexplained", hint="`cumulus fsck` says what else is damaged"
                )
            rows = missing.filter(pa.array(holders == mask))
            self.join(chosen).tables.append(rows)

    def join(self, runs: Sequence[Run]) -> _Cluster:
        """The one of some runs of a copy."""
        ids = {run.id for run in runs}
        first, *others = [c for c in self._found if ids & {run.id for run in c.lost}]
        for other in others:
            first.lost += other.lost
            first.tables += other.tables
            self._found.remove(other)
        return first

    def clusters(self) -> list[_Cluster]:
        """All of them."""
        return self._found


def _prove(written: Sequence[tuple[_Cluster, NewRun | None]]) -> None:
    """See that what was made has the hash of what was lost.

    Raises:
        IntegrityProblem: it has another one.
    """


def _has_all(other: AccessPath, path: AccessPath) -> bool:
    """Whether a copy has all columns of another one."""
    keys = other.keys is None or (path.keys is not None and {*path.keys} <= {*other.keys})
    return keys and (other.values is None or (path.values is not None and {*path.values} <= {*other.values}))


def _narrowed(table: pa.Table, of: AccessPath, path: AccessPath) -> pa.Table:
    """The deltas of one copy, with the columns of another one."""
    keys = path.keys
    if keys is not None and of.keys is not None:
        keys = None if keys == of.keys else tuple(of.keys.index(position) for position in keys)
    return project_deltas(table, keys, path.values)


def _at(table: pa.Table, version: int) -> pa.Table:
    """The same deltas at one version."""
    versions = pa.array(np.full(len(table), version, np.int64))
    return table.set_column(table.column_names.index(VERSION), table.schema.field(VERSION), versions)
