"""What groups hold if nothing is wrong, at some versions; and what the runs that are there hold (docs/adr/0086)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import Batch, Clock, HistoryEntry, NewRun, Run, Step
from cumulus_ops.compute.extend import ExtendTask, choose_drivers, groups_computed, groups_read, relations_read
from cumulus_ops.compute.reading import BatchRef, rows_within
from cumulus_ops.compute.steps import InProcess, extend_here
from cumulus_ops.deploying.deploy import files_between, fill_groups, fill_task
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.deltas import VERSION
from cumulus_ops.maps.packs import open_run
from cumulus_ops.maps.runs import AccessPath
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import Conflict, IntegrityProblem

__all__ = ["Scope", "Slot", "State", "Truths", "has_all", "told_apart"]

#: Another copy is read instead of computing what a batch or an epoch adds, if that takes no more rows than these, or than so many for each event.
COPY_ROWS, ROWS_PER_EVENT = 100_000, 20
#: The batch before all others: what there is before the first event.
START = BatchRef(0, 0, 0, (), 0, 0, 0)
#: Gets the deltas of a group, in parts that are not summed.
Take = Callable[[str, pa.Table], None]


@dataclass(frozen=True)
class State:
    """The catalog at one moment: the newest commit ``at``, the visible ``runs``, the live ``history``, the ``newest`` snapshot and the ``oldest`` that can be
    read, and the commit up to which maps that depend on derivations are ``refreshed``."""

    at: int
    runs: tuple[Run, ...]
    history: tuple[HistoryEntry, ...]
    newest: int
    oldest: int
    refreshed: int

    def lowest(self, plan: ProgramPlan) -> int:
        """Up to which commit (inclusive) nobody tells runs apart."""
        read = [entry.clock.prefix for entry in self.history] + ([self.refreshed] if plan.derived else [])
        return min((self.at, *read))

    def of_copy(self, path: AccessPath) -> Sequence[Run]:
        """The visible runs of a copy of a group."""
        return self._by_copy.get((path.map, path.label), ())

    @cached_property
    def _by_copy(self) -> Mapping[tuple[str, str], list[Run]]:
        found: dict[tuple[str, str], list[Run]] = {}
        for run in self.runs:
            found.setdefault((run.map, run.access_path), []).append(run)
        return found

    @staticmethod
    def now(rt: Runtime) -> State:
        """As it is now. A clock that moves without a commit says the same of what is stored."""

        before = rt.catalog.commits.moment()
        while True:
            at, newest, oldest, refreshed = before
            runs, history = rt.catalog.commits.runs(at), rt.catalog.commits.live_history(at)
            after = rt.catalog.commits.moment()
            if after == before:
                return State(at, tuple(runs), tuple(history), newest, oldest, refreshed)
            before = after


@dataclass(frozen=True)
class Scope:
    """The project ``rt`` in the revision that maintains, maintained or is to maintain some copies of groups. ``since``: the first epoch in which a group can be
    read; ``last``: the last one, None of the current revision."""

    rt: Runtime
    since: Mapping[str, int]
    last: int | None

    @staticmethod
    def of(rt: Runtime, number: int) -> Scope:
        """The scope of a revision that is needed."""
        mine = rt if number == rt.revision else rt.in_revision(rt.catalog.program.record(number))
        deployed = [r for r in rt.catalog.revisions.all() if r.since is not None]
        begun = rt.catalog.revisions.deployment()
        if begun is not None and begun.number == number:
            base = -1 if begun.base is None else begun.base
            return Scope(mine, dict.fromkeys(mine.plan.groups, base + 1), base)
        since, staying = dict[str, int](), set(mine.plan.groups)
        for revision in [r for r in reversed(deployed) if r.number <= number]:
            there = mine if revision.number == number else rt.in_revision(rt.catalog.program.record(revision.number))
            staying &= there.plan.groups.keys()
            since |= dict.fromkeys(staying, revision.since or 0)
            if not staying or not revision.since:
                break
        after = [r.since for r in deployed if r.number > number and r.since is not None]
        return Scope(mine, since, min(after) - 1 if after else None)

    def place(self, run: Run) -> tuple[int, int]:
        """In which order lost runs are made again: the shallow ones first; and apart those of groups that can be read since another epoch."""
        return self.rt.plan.place_of[run.map], self.since.get(run.map, 0)

    @cached_property
    def copies(self) -> Mapping[tuple[str, str], AccessPath]:
        """Its copies of groups, as the catalog calls them."""
        return {(p.map, p.label): p for paths in self.rt.plan.paths.values() for p in paths}


@dataclass(frozen=True)
class Slot:
    """Versions (both inclusive) of which one truth is computed: of live batches (``epoch`` is None), of an ``epoch`` alone, or of all ``upto`` one. Or of several
    ``slots`` at once, in the order of their versions, with others between them; then it begins as the first one does."""

    first: int
    last: int
    epoch: int | None = None
    upto: bool = False
    slots: tuple[Slot, ...] = ()

    @staticmethod
    def uniting(slots: Sequence[Slot]) -> Slot:
        """All of them at once."""
        return replace(slots[0], last=slots[-1].last, slots=tuple(slots))

    @property
    def each(self) -> tuple[Slot, ...]:
        """Those that it is made of."""
        return self.slots or (self,)

    def overlaps(self, run: NewRun) -> bool:
        """Whether a run may hold some of them."""
        return run.min_version <= self.last and run.max_version >= self.first


@dataclass
class Truths:
    """What some groups hold. ``missing``: the ids of all runs that are missing just now, of other groups, too; ``again``: of a cycle what was made of it so
    far. Groups of several strata are computed ``together`` at the versions of one slot; before these nothing of them is missing."""

    scope: Scope
    state: State
    names: frozenset[str]
    missing: frozenset[int]
    step: Step
    together: bool = False
    again: list[Run] = field(default_factory=list)

    @property
    def rt(self) -> Runtime:
        """The project, in its revision."""
        return self.scope.rt

    @property
    def plan(self) -> ProgramPlan:
        """Its plan."""
        return self.scope.rt.plan

    @cached_property
    def is_cyclic(self) -> bool:
        """Whether the groups are computed from each other."""
        return any(self.plan.cyclic[self.plan.place_of[name]] for name in self.names)

    @cached_property
    def kept(self) -> list[Run]:
        """The runs that are there."""
        return [run for run in self.state.runs if run.id not in self.missing]

    @property
    def limit_rows(self) -> int:
        """As many rows of a map may be held at a time."""
        return rows_within(self.rt.project.memory_bytes)

    def there(self, path: AccessPath, slot: Slot, upto: int | None = None) -> list[Run]:
        """The runs of a copy that are there, and may hold something at some versions; ``upto``: of commits up to this one (inclusive), None for all."""
        found = [run for run in self.state.of_copy(path) if run.id not in self.missing and slot.overlaps(run)]
        return [run for run in found if upto is None or run.origin <= upto]

    def held(self, path: AccessPath, slot: Slot, upto: int | None = None) -> Iterator[pa.Table]:
        """What the runs that are :meth:`there` hold at these versions."""
        names = self.plan.key_names(path.map)
        for run in self.there(path, slot, upto):
            data = open_run(self.rt.project.state / run.path, run.offset, run.bytes, run.root)
            for table in data.tables(names, self.limit_rows):
                if data.oldest < slot.first or data.newest > slot.last:
                    at = table[VERSION].to_numpy()
                    table = table.take(pa.array(np.flatnonzero((at >= slot.first) & (at <= slot.last))))
                if len(table):
                    yield table

    def find_twin(self, path: AccessPath, slot: Slot) -> AccessPath | None:
        """Another copy that has the same at these versions, is intact there, and costs less to read than to compute; that of the fewest rows."""
        found = []
        for other in self.plan.paths[path.map]:
            if other == path or not has_all(other, path):
                continue
            mine = [run for run in self.state.of_copy(other) if slot.overlaps(run)]
            if not any(run.id in self.missing for run in mine):
                found.append((sum(run.rows for run in mine), other))
        rows, twin = min(found, default=(0, None))
        is_cheap = slot.upto or rows <= max(COPY_ROWS, ROWS_PER_EVENT * self._count_events(slot))
        return twin if is_cheap and not self.is_cyclic else None

    def _count_events(self, slot: Slot) -> int:
        if slot.slots:
            return sum(map(self._count_events, slot.slots))
        if slot.epoch is not None:
            return sum(b.events for b in self.rt.catalog.log.batches(epoch=slot.epoch) if b.counts)
        return sum(entry.batch.events for entry in self._batches(slot))

    def compute(self, slot: Slot, names: frozenset[str], take: Take, upto: int | None = None) -> None:
        """What groups hold at some versions if nothing is wrong, with all their columns.

        Args:
            slot: the versions.
            names: the groups.
            take: gets it, in parts that are not summed, at versions of the slot or before it.
            upto: of live batches, what they held at that commit; None for all.
        """
        if slot.slots:
            self._run(self._driven_task(slot, names), take)
        elif slot.epoch is None:
            history = self._batches(slot) if upto is None else self._batches_at(slot, upto)
            for task in self._live_tasks(history, names):
                self._run(task, take)
        elif slot.epoch < 0:
            self._run(self._given(names, (START,), self._others()), take)
        elif slot.upto:
            drivers = {name: driver for name, driver in self._drivers.items() if name in names}
            self._fill(names, drivers, None, slot.epoch, take)
        else:
            self._fill(names, {}, slot.epoch - 1, slot.epoch, take)

    # All versions at once. If the events of one relation come last, they say what there is of a group at each version: what an event adds with deltas of the other
    # groups has the latest of their versions. So a base, the epochs since, and live batches cost one pass, and hardly more than a backfill.

    def unite(self, slots: Sequence[Slot], *, with_live: bool) -> list[Slot]:
        """The slots, with those together whose truth is computed at once. ``with_live``: live ones may be among them."""
        is_live = with_live and self._is_settled
        chosen = [slot for slot in slots if slot.epoch is not None or is_live]
        if not chosen or not self._can_drive(chosen[0]) or (len(chosen) == 1 and chosen[0].upto):
            return [*slots]
        return [Slot.uniting(chosen), *(slot for slot in slots if slot not in chosen)]

    def _can_drive(self, first: Slot) -> bool:
        """Whether the groups all have drivers, and these are to be gone through in any case, or that takes few rows."""
        if self.together or self.is_cyclic or first.epoch is None or first.epoch < 0:
            return False
        if not self.names <= self.plan.base or self._drivers.keys() != self.names:
            return False
        return first.upto or self._is_cheap_to_drive(first)

    @cached_property
    def _is_settled(self) -> bool:
        """Whether each live batch has read all that counts before it: only then is what it has added what the relations contain."""
        read = [(self.plan.versions.span(entry.batch)[1], entry.clock) for entry in self.state.history]
        lowest = min((clock.prefix for _, clock in read), default=self.state.at)
        fresh = [run for run in self.state.runs if run.origin > lowest and run.map in self.plan.base]
        return not any(
            run.min_version <= last and not clock.covers(run.origin) for last, clock in read for run in fresh
        )

    def _driven_task(self, slot: Slot, names: frozenset[str]) -> ExtendTask:
        """What computes some groups at all versions up to the last ones of a slot."""
        drivers = {name: driver for name, driver in self._drivers.items() if name in names}
        assert slot.epoch is not None
        base = slot.epoch if slot.upto else slot.epoch - 1
        files = files_between(self.rt, None, base, {*drivers.values()})
        batches = [b for b in self.rt.catalog.log.batches(since=base + 1) if b.counts and b.epoch <= self.state.newest]
        if slot.slots[-1].epoch is None:
            batches += [entry.batch for entry in self.state.history]
        before = BatchRef(0, max(base, 0), 0, tuple(files), 0, 0, sum(file.rows for file in files))
        task = self._given(names, (before, *self.rt.references(batches)), self._others())
        return replace(task, drivers=drivers, by_version=True)

    def _fill(self, names: frozenset[str], drivers: Mapping[str, str], base: int | None, upto: int, take: Take) -> None:
        """What the events after ``base`` and up to ``upto`` add; see :func:`~cumulus_ops.deploying.deploy.fill_groups`."""
        stored = self._others() if base is None else self._stored()
        if isinstance(self.rt.executor, InProcess) and (not drivers or drivers.keys() == names):
            relations = {*drivers.values()} or relations_read(self.plan, names)
            files = files_between(self.rt, base, upto, relations)
            task = fill_task(self.rt, self.rt, names, drivers, base, upto, stored, files, self.step)
            if task is not None:
                extend_here(task, take)
            return
        whole = self._only_whole_copies(names)
        self._read_back(fill_groups(self.rt, whole, names, drivers, base, upto, stored, self.step)[1], take)

    @cached_property
    def _drivers(self) -> Mapping[str, str]:
        """The drivers of groups; on Spark none, since tasks share the events of all relations, and of a driver one task takes all."""
        return choose_drivers(self.plan, self.names, self._logged) if isinstance(self.rt.executor, InProcess) else {}

    def _is_cheap_to_drive(self, slot: Slot) -> bool:
        """Whether filling the groups from the maps that they read goes through fewer rows than the events of one epoch may: with these all maps that they need are
        computed in passing, too."""
        reads = [
            read
            for name, r in self._drivers.items()
            for s in self.plan.statements[name]
            if s.relation == r
            for read in s.reads
        ]
        looked_at = {self.plan.paths[name][0] for name in self.names} | {read.path for read in reads}
        rows = sum(self._logged.get(relation, 0) for relation in self._drivers.values())
        rows += sum(run.rows for path in looked_at for run in self.state.of_copy(path))
        return rows <= ROWS_PER_EVENT * self._count_events(slot)

    def _only_whole_copies(self, names: frozenset[str]) -> Runtime:
        """The project as if some groups had one copy, which has all columns: no other one is written then. Those that are looked up meanwhile keep theirs."""
        alone = names - self.plan.looked_up(groups_computed(self.plan, names))
        paths = {name: paths[:1] if name in alone else paths for name, paths in self.plan.paths.items()}
        return replace(self.rt, plan=replace(self.plan, paths=paths))

    def _live_tasks(self, history: Sequence[HistoryEntry], names: frozenset[str]) -> Iterator[ExtendTask]:
        """What live batches add to groups: to those that follow from events alone by each batch's clock, to others by the one that they have."""
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

    def _batches(self, slot: Slot) -> list[HistoryEntry]:
        """The live batches that have some of the versions."""
        spans = ((entry, self.plan.versions.span(entry.batch)) for entry in self.state.history)
        return [entry for entry, (first, last) in spans if first <= slot.last and last >= slot.first]

    def _batches_at(self, slot: Slot, upto: int) -> list[HistoryEntry]:
        """The batches with some of the versions that were live at a commit, with the clocks that they had; those that were taken back since, too.

        Raises:
            Conflict: their clocks are not known.
        """
        span = self.plan.versions.span
        there = [b for b in self._once_live if b.commit is not None and b.commit <= upto]
        found = [b for b in there if span(b)[0] <= slot.last and span(b)[1] >= slot.first]
        for batch in (b for b in found if b.retracted_by == upto):
            if self._clock_at(batch, upto) != self._clock_at(batch, batch.commit or 0):
                raise _not_known()  # its corrections were taken back by the next commit
        left = [b for b in found if b.retracted_by is None or b.retracted_by > upto]
        entries = [HistoryEntry(b, self._clock_at(b, upto), 0) for b in left]
        merged = max((run.origin for run in self.kept if self._is_merged(run)), default=0)
        if any(entry.clock.prefix < merged for entry in entries):
            raise _not_known()  # it would have to read a part of what was merged since
        return entries

    def _is_merged(self, run: Run) -> bool:
        """Whether a run may hold what several commits have added to a map that events alone write."""
        whole, kind = self.plan.versions.whole, self._readings.get(run.commit, ("", None))[0]
        is_alone = kind == "repair" and whole(run.min_version) == whole(run.max_version)
        return run.map in self.plan.base and run.commit != run.origin and not is_alone

    @cached_property
    def _once_live(self) -> list[Batch]:
        """The batches that are live, and those that were taken back."""
        since = self.rt.catalog.log.batches(since=self.state.newest + 1)
        return [entry.batch for entry in self.state.history] + [b for b in since if b.retracted_by is not None]

    def _clock_at(self, batch: Batch, upto: int) -> Clock:
        """The clock that a batch had at a commit, but for passes of corrections that have found nothing to correct."""
        assert batch.commit is not None
        clock = Clock(0, frozenset())
        for number, (kind, read_at) in self._readings.items():
            seen = number if kind == "switch" else read_at
            is_own = number == batch.commit or (kind in ("correct", "switch") and batch.commit < number)
            if not is_own or number > upto:
                continue
            if seen is None:
                raise _not_known()
            if number == batch.commit or batch.commit <= seen:
                clock = clock.advanced(seen, number)
        return clock

    @cached_property
    def _readings(self) -> Mapping[int, tuple[str, int | None]]:
        first = min(b.commit for b in self._once_live if b.commit is not None)
        return self.rt.catalog.commits.readings(first - 1)

    def _given(self, names: frozenset[str], batches: Sequence[BatchRef], runs: Sequence[Run]) -> ExtendTask:
        given = frozenset(self.plan.groups) - names
        needed = groups_read(self.plan, names, given)
        chosen = tuple(run for run in runs if run.map in needed)
        task = ExtendTask(self.plan, self.rt.project.state, tuple(batches), chosen, names, given)
        return replace(task, memory=self.rt.project.memory_bytes, label=self.step.label)

    def _stored(self) -> list[Run]:
        """What may be read to compute the groups. Of themselves only a cycle reads anything, or those that read each other."""
        return [*self.kept, *self.again] if self.is_cyclic or self.together else self._others()

    def _others(self) -> list[Run]:
        """What there is of other groups."""
        return [run for run in self.kept if run.map not in self.names]

    @cached_property
    def _logged(self) -> Mapping[str, int]:
        """relation -> rows in the log."""
        rows: dict[str, int] = {}
        for file in self.rt.catalog.log.files():
            rows[file.relation] = rows.get(file.relation, 0) + file.rows
        return rows

    def _run(self, task: ExtendTask, take: Take) -> None:
        if isinstance(self.rt.executor, InProcess):
            extend_here(task, take)
        else:
            self._read_back(self.rt.executor.run(task).runs, take)

    def _read_back(self, runs: Sequence[NewRun], take: Take) -> None:
        """What a step has written of groups, with all columns. Its files are not kept."""
        root = self.rt.project.state
        for run in runs:
            if run.access_path == self.plan.paths[run.map][0].label:
                data = open_run(root / run.path, run.offset, run.bytes, run.root)
                for table in data.tables(self.plan.key_names(run.map), self.limit_rows):
                    take(run.map, table)
        for path in {run.path for run in runs}:
            (root / path).unlink()


def _not_known() -> Conflict:
    return Conflict("it is not known which of the lost runs has held what", kind="repair-told-apart")


def told_apart() -> IntegrityProblem:
    """What is raised if runs are lost whose deltas cannot be told from each other, and somebody has read only some of them."""
    return IntegrityProblem(
        "batches tell lost runs apart, and it is not known what was in which",
        kind="repair-told-apart",
        hint="`cumulus anew` makes all maps again from the event log",
    )


def has_all(other: AccessPath, path: AccessPath) -> bool:
    """Whether a copy has all columns of another one."""
    keys = other.keys is None or (path.keys is not None and {*path.keys} <= {*other.keys})
    return keys and (other.values is None or (path.values is not None and {*path.values} <= {*other.values}))
