"""extend: groups that a program has not had so far, brought to where its other groups are.

A step of its own because neither apply nor refresh is it: base and derived maps are computed in one pass in dataflow order, for
any batches, and only the groups that are wanted are written. What each group is to a step follows from one rule:

- A group that is ``given`` has the batches' deltas in its runs already. They are all there is of it: nothing is computed.
- Of every other group that is needed, runs hold what was before the batches, and the step computes what the batches add. It
  writes it for the groups in ``only``; for the others it is computed in passing, and forgotten.

Nothing is counted twice, since what is stored of the second kind is looked at below the batches' versions alone.

Some groups need no more than the events of one relation, its **driver**: those in whose products it occurs once. As if its events came after all others, they
are the driver's statements over what is stored as of a snapshot (:func:`choose_drivers`, decision 66).

Three uses (decision 61), each with the batches and the runs that it hands over:

| use | batches | runs | given |
|---|---|---|---|
| backfill up to epoch e | one of all events up to e, at (epoch 0, ticket 0) | none | none |
| catch up from e to f | one of the events since, at (epoch e + 1, ticket 0) | of all groups needed, whatever else they hold | none |
| live batches | those after f, each at its own place | of all groups needed, up to one commit | all groups that were there before |

Tickets are drawn from 1 on, so ticket 0 is before all batches of its epoch, and after all of the epochs before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property, lru_cache
from pathlib import Path

import pyarrow as pa

from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.compute.apply import Loaded, apply_statement, settle, start_deltas
from cumulus_ops.compute.correct import States
from cumulus_ops.compute.kernel import Events
from cumulus_ops.compute.reading import DEFAULT_MEMORY, BatchRef, OwnDeltas, StoredRuns, rows_of
from cumulus_ops.compute.refresh import changes_of, derive
from cumulus_ops.layout.costs import used_columns
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.statements import StatementPlan
from cumulus_ops.maps.deltas import Deltas, add_deltas
from cumulus_ops.maps.runs import AccessPath
from cumulus_ops.project.errors import InputProblem, IntegrityProblem

__all__ = ["ExtendTask", "choose_drivers", "extend_groups", "groups_computed", "groups_read", "relations_read"]

#: Of more events those of the first batch, which are nearly all, are taken by themselves: events of one version are grouped in less time.
FEW = 100_000


def groups_computed(plan: ProgramPlan, only: Collection[str], given: Collection[str] = ()) -> frozenset[str]:
    """The groups that have to be computed to have those in ``only``: these, and what they need that is not ``given``."""
    found = waiting = frozenset(only)
    while waiting:
        waiting = plan.looked_up(waiting) - found - {*given}
        found |= waiting
    return found


def groups_read(plan: ProgramPlan, only: Collection[str], given: Collection[str] = ()) -> frozenset[str]:
    """The groups whose runs such a step looks at."""
    computed = groups_computed(plan, only, given)
    return computed | plan.looked_up(computed)


def relations_read(plan: ProgramPlan, only: Collection[str], given: Collection[str] = ()) -> frozenset[str]:
    """The relations whose events such a step reads."""
    computed = groups_computed(plan, only, given)
    return frozenset(s.relation for name in computed for s in plan.statements[name] if s.relation in plan.ranks)


def choose_drivers(plan: ProgramPlan, fresh: Collection[str], rows: Mapping[str, int]) -> dict[str, str]:
    """For each of some groups that has one the relation by whose events alone it can be filled; of several the one with the fewest ``rows``.

    As the order of events is free, let those of relation R come last. Before them a group is empty if each of its statements for other events reads one that is empty
    for the same reason. Then it is what R's statements add; and what these read is what it is as of the snapshot, if it does not depend on R."""
    origins = _find_origins(plan)
    start, found = {s.target for s in plan.start}, {}

    @cache
    def needs(name: str, relation: str) -> bool:
        """Whether a group is empty without events of a relation."""
        if name in plan.derived or name in start or plan.is_repeated(name):
            return False
        others = [s for s in plan.statements[name] if s.relation != relation]
        return all(any(needs(read.path.map, relation) for read in s.reads) for s in others)

    def drives(relation: str, name: str) -> bool:
        reads = [read.path.map for s in plan.statements[name] if s.relation == relation for read in s.reads]
        return needs(name, relation) and not any(relation in origins[read] for read in reads)

    for name in sorted(fresh):
        triggers = sorted({s.relation for s in plan.statements[name]} & plan.ranks.keys())
        found[name] = min((r for r in triggers if drives(r, name)), key=lambda r: rows.get(r, 0), default="")
    return {name: relation for name, relation in found.items() if relation}


@lru_cache(maxsize=8)
def _find_origins(plan: ProgramPlan) -> dict[str, frozenset[str]]:
    """The relations that each group depends on."""
    found: dict[str, frozenset[str]] = {}
    for stratum in plan.strata:
        reads = {read for name in stratum for read in plan.looked_up([name])}
        events = {s.relation for name in stratum for s in plan.statements[name]}
        own = frozenset(events & plan.ranks.keys())
        found |= dict.fromkeys(stratum, own.union(*(found[n] for n in (reads | events) & found.keys())))
    return found


@dataclass(frozen=True)
class ExtendTask:
    """Compute what ``batches`` add to the groups ``only``, and write that alone.

    ``given``: groups whose ``runs`` hold the batches' deltas already. ``runs`` may be those of more groups than are needed, and
    files those of more relations: these are not opened. Of groups that are not given, runs may hold
    something at or after the version of a single batch, which is not looked at; with several batches they must not.
    A batch at the first place there is (epoch 0, ticket 0) comes with what the program adds before its first event. It may be
    without files, where there is no snapshot yet, and stand before the live batches in one step; but where there was none, and is one now, it is made again instead of being caught up. ``memory``: how many bytes the step may hold. ``label``: of the step that does.
    ``drivers``: see :func:`choose_drivers`; of all groups in ``only``, or none. Then the only batch has the events of these relations up to a snapshot, and the place after it, and all other groups
    are given, as of the snapshot. ``by_version``: of several batches, all of them up to some version, with drivers; the given groups may hold more, and what is added has the
    version at which it came to be."""

    plan: ProgramPlan
    root: Path
    batches: tuple[BatchRef, ...]
    runs: tuple[Run, ...]
    only: frozenset[str]
    given: frozenset[str] = frozenset()
    memory: int = DEFAULT_MEMORY
    label: str = ""
    drivers: Mapping[str, str] = field(default_factory=dict)
    by_version: bool = False

    @cached_property
    def computed(self) -> frozenset[str]:
        """See :func:`groups_computed`."""
        return groups_computed(self.plan, self.only, self.given)

    @property
    def passing(self) -> Mapping[str, tuple[AccessPath, ...]]:
        """The groups that are computed in passing, with the copies in which they are looked up."""
        paths: dict[str, dict[AccessPath, None]] = {name: {} for name in self.computed - self.only}
        for name in sorted(self.computed):
            for path in _paths_read(self.plan, name):
                if path.map in paths:
                    paths[path.map][path] = None
        return {name: tuple(found) for name, found in paths.items()}

    @cached_property
    def since(self) -> int:
        """The lowest version (inclusive) of what the batches add."""
        return self.plan.versions.start if self.from_start else min(self.plan.versions.span(b)[0] for b in self.batches)

    @property
    def runs_before(self) -> list[Run]:
        """The runs of groups that are computed which may hold something from before the batches."""
        return [r for r in self.runs if r.map in self.computed and r.min_version < self.since]

    @property
    def runs_given(self) -> list[Run]:
        """The runs of groups that are given."""
        return [r for r in self.runs if r.map in self.given]

    @property
    def from_start(self) -> bool:
        """Whether what the program adds before its first event is new, too."""
        return any((b.epoch, b.ticket) == (0, 0) for b in self.batches)

    @cached_property
    def spread(self) -> frozenset[str]:
        """The groups that several tasks may compute, each from a part of the events (:mod:`cumulus_ops.compute.staged`): those that depend on no
        derivation. None if there are several batches, or something before the first event, which is not to be added by each task."""
        if self.drivers:
            return frozenset()
        start = {statement.target for statement in self.plan.start} & self.computed if self.from_start else ()
        return frozenset() if start or len(self.batches) != 1 else self.computed & self.plan.base

    @property
    def batch(self) -> BatchRef:
        """The only one."""
        (batch,) = self.batches
        return batch

    def rest(self, written: Collection[NewRun]) -> ExtendTask | None:
        """What is left when the groups that can be spread are ``written``: they are given then. None if nothing is."""
        only = self.only - self.spread
        new = [Run(**asdict(run), id=0, commit=0, origin=0) for run in written]
        runs = (*self.runs_given, *self.runs_before, *new)
        return replace(self, only=only, given=self.given | self.spread, runs=runs) if only else None


def _paths_read(plan: ProgramPlan, name: str) -> list[AccessPath]:
    """The copies that are looked at to compute a group."""
    found = [read.path for s in plan.statements[name] for read in s.reads]
    found += [plan.derived[s.relation].group.path for s in plan.statements[name] if s.relation in plan.derived]
    derived = plan.derived.get(name)
    if derived is not None:
        found += [derived.group.path, *(given.lookup.path for given in derived.inputs)]
        found += [passed.copy for passed in derived.passings]
    return found


def extend_groups(task: ExtendTask, own: OwnDeltas, take: Callable[[str, pa.Table], None] | None = None) -> None:
    """The deltas of all groups that are computed, in one pass in dataflow order.

    Args:
        task: what to compute.
        own: gets the deltas.
        take: gets instead, part by part and not summed, those of wanted groups that nobody reads meanwhile: as many as there may be, no more is held than
            one part of the events adds.

    Raises:
        InputProblem: the program has versions by event, in which no batch can stand for others.
        IntegrityProblem: a group that is to be computed has some of it already.
    """
    if not task.plan.versions.summed:
        raise InputProblem(
            "groups are added to programs with versions by batch alone",
            kind="extend-event-versions",
            hint="`cumulus anew` makes all maps from the event log",
        )
    if not task.batches:
        return
    step = _Step(task, take)
    if task.drivers:
        step.drive(own)
        return
    bound = rows_of(task.batches) + sum(r.rows for r in task.runs) + len(step.start)
    settle(task.plan, step.first(), task.computed, step.compute, bound, own)


class _Step:
    """One extension: its events, and its states of the maps. Versions from ``since`` (inclusive) to ``until`` (exclusive) are the batches'."""

    def __init__(self, task: ExtendTask, take: Callable[[str, pa.Table], None] | None) -> None:
        self.task, self.plan = task, task.plan
        self.take = take
        self.taken = task.only - task.plan.looked_up(task.computed) if take is not None else frozenset()
        self.since = task.since
        self.until = 1 + max(task.plan.versions.span(b)[1] for b in task.batches)
        given, before = task.runs_given, task.runs_before
        self._check_before()
        self.all = StoredRuns(task.plan, task.root, [*given, *before])
        self.given, self.before = (StoredRuns(task.plan, task.root, runs) for runs in (given, before))
        self.start = start_deltas(task.plan) if task.from_start else {}
        self.loaded = self._load(task.batches)
        self._changes: dict[str, Events | None] = {}

    def _check_before(self) -> None:
        """A single batch reads below its own version alone; of several, each would read what is stored of those before it, and count it again.
        And what is there from the start on is there once."""
        task = self.task
        once = task.only if task.from_start else task.computed if len(task.batches) > 1 else ()
        late = [r.map for r in task.runs if r.map in once and r.max_version >= self.since]
        if late:
            message = f"{late[0]} has some of what the batches add to it already"
            raise IntegrityProblem(message, kind="extended-before", hint="report a bug")

    def _load(self, batches: Sequence[BatchRef]) -> Loaded:
        return Loaded(
            self.plan, self.task.root, tuple(batches), self.task.memory, self._columns, by_version=self.task.by_version
        )

    @cached_property
    def _columns(self) -> dict[str, set[str]]:
        """The columns that the statements look at, by relation."""
        found: dict[str, set[str]] = {}
        for name in self.task.computed:
            relations = {self.task.drivers[name]} if self.task.drivers else self.plan.ranks.keys()
            for statement in self.plan.statements[name]:
                if statement.relation in relations:
                    found.setdefault(statement.relation, set()).update(used_columns(self.plan, statement))
        return found

    def first(self) -> set[str]:
        """The maps that may have deltas whatever others have."""
        relations = {r for b in self.task.batches for r in b.relations()}
        triggered = {name for r in relations for name in self.plan.triggered.get(r, ())}
        stored = [r for r in self.task.runs if r.map in self.task.given]
        changed = {r.map for r in stored if r.max_version >= self.since and r.min_version < self.until}
        return triggered | {*self.start} | {name for other in changed for name in self.plan.dependents[other]}

    def drive(self, own: OwnDeltas) -> None:
        """The deltas of all groups by the events of their drivers; they count before all others, as what is filled does, unless they are told apart by version."""
        first = self.plan.versions.span(BatchRef(0, 0, 0, (), 0, 0, 0))[0]
        loads, batches = [self.loaded], self.task.batches
        if self.task.by_version and rows_of(batches) >= FEW:
            loads = [self._load(batches[:1]), self._load(batches[1:])]
        for name in (name for stratum in self.plan.strata for name in stratum if name in self.task.drivers):
            relation = self.task.drivers[name]
            statements = [s for s in self.plan.statements[name] if s.relation == relation]
            added = (deltas for loaded in loads for deltas in self._of_events(relation, statements, own, loaded))
            if not self.task.by_version:
                added = (deltas.at_version(first) for deltas in added)
            parts = self._hand_over(name, added)
            if parts:
                own.put(name, add_deltas(parts), final=True)

    def compute(self, name: str, own: OwnDeltas) -> list[Deltas]:
        """The unsummed deltas of one map, but for those that are taken."""
        return self._hand_over(name, self._compute(name, own))

    def _hand_over(self, name: str, parts: Iterator[Deltas]) -> list[Deltas]:
        """Those that are not taken."""
        if self.take is None or name not in self.taken:
            return [*parts]
        for deltas in parts:
            self.take(name, deltas.table())
        return []

    def _compute(self, name: str, own: OwnDeltas) -> Iterator[Deltas]:
        derived = self.plan.derived.get(name)
        if derived is not None:
            yield from derive(self.plan, derived, States(self.before, self.given, own, self.since, self.until))
            return
        if name in self.start:
            yield self.start[name]
        statements: dict[str, list[StatementPlan]] = {}
        for statement in self.plan.statements[name]:
            statements.setdefault(statement.relation, []).append(statement)
        for relation, triggered in statements.items():
            if relation in self.plan.derived:
                yield from self._of_changes(relation, triggered, own)
            else:
                yield from self._of_events(relation, triggered, own, self.loaded)

    def _of_events(
        self, relation: str, statements: list[StatementPlan], own: OwnDeltas, loaded: Loaded
    ) -> Iterator[Deltas]:
        """What the events of a relation add. That is linear in them, so that they can be taken in parts."""
        parts = loaded.parts(relation)
        for part in parts:
            found = [self._apply(s, loaded.get(relation, s.sign, part), own) for s in statements]
            added = [deltas for deltas in found if deltas is not None]
            yield from added if len(parts) == 1 or not added else [add_deltas(added)]

    def _of_changes(self, name: str, statements: list[StatementPlan], own: OwnDeltas) -> list[Deltas]:
        """The same for the changes of a derived map: those of this step, or those that are stored."""
        if name not in self._changes:
            path = self.plan.derived[name].group.path
            runs = own.get(path) if name in self.task.computed else self.given.get(path, self.until, self.since)
            self._changes[name] = changes_of(self.plan, name, runs, self.task.memory, self.since, self.until)
        found = [self._apply(s, self._changes[name], own) for s in statements]
        return [deltas for deltas in found if deltas is not None]

    def _apply(self, statement: StatementPlan, events: Events | None, own: OwnDeltas) -> Deltas | None:
        return apply_statement(statement, self.plan.groups[statement.target], events, self.all, own)
