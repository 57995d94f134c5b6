"""apply: the optimistic computation of a batch's deltas (``ON Event``, Cumulus paper, Figure 5); and its negative, for a batch that is taken back."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from cumulus_ops.catalog.records import Batch, NewRun, Run
from cumulus_ops.compute.kernel import Events, run_statement
from cumulus_ops.compute.reading import (
    DEFAULT_MEMORY,
    EVER,
    WHOLE,
    BatchRef,
    OwnDeltas,
    Part,
    StoredRuns,
    load_events,
    rows_of,
    rows_within,
)
from cumulus_ops.compute.vector import Frame
from cumulus_ops.layout.costs import Ref, used_columns
from cumulus_ops.layout.groups import Group
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.statements import StatementPlan
from cumulus_ops.maps.deltas import VERSION, Deltas, add_deltas, delta_schema, negate_deltas, sum_deltas
from cumulus_ops.maps.packs import open_run, write_runs
from cumulus_ops.maps.runs import RunData, build_run
from cumulus_ops.project.errors import IntegrityProblem

__all__ = [
    "ApplyTask",
    "Loaded",
    "apply_events",
    "apply_statement",
    "applying",
    "find_concerned",
    "read_columns",
    "retract_batch",
    "settle",
    "settle_cycle",
    "start_deltas",
    "versions_per_event",
]


# Going through the maps in dataflow order.
#
# The paper's cascades end because a dataflow graph without cycles has a longest path (Cumulus paper, section 4.2); set at
# a time, that is one visit per stratum. A stratum that reads its own maps is visited until nothing changes: versions only
# ever read earlier versions, so each visit settles at least the earliest version that was not settled.


#: The deltas of one map, given what the step has computed so far.
Compute = Callable[[str, OwnDeltas], list[Deltas]]


def settle(
    plan: ProgramPlan, first: Iterable[str], allowed: Collection[str], compute: Compute, events: int, own: OwnDeltas
) -> None:
    """Compute the deltas of all maps that have some, shallow ones first.

    Args:
        plan: the program's plan.
        first: the maps that may have deltas whatever others have. Where a map gets deltas, those that depend on it follow.
        allowed: no other maps than these are computed.
        compute: the unsummed deltas of one map.
        events: how many events the step is about, which bounds the visits of a cyclic stratum.
        own: gets the deltas; may have those of other maps already.

    Raises:
        IntegrityProblem: a cyclic stratum did not settle.
    """
    waiting = {name for name in first if name in allowed}
    strata = sorted({plan.place_of[name] for name in waiting})
    while strata:
        place = heapq.heappop(strata)
        cyclic = plan.cyclic[place]
        names = [name for name in plan.strata[place] if name in (allowed if cyclic else waiting)]
        if cyclic:
            settle_cycle(plan, names, compute, events, own)
        else:
            for name in names:
                _visit(plan, name, own, compute, cyclic=False)
        for name in names:
            if own.touches(name):
                after = {n for n in plan.dependents[name] if n in allowed and plan.place_of[n] > place} - waiting
                for other in {plan.place_of[n] for n in after} - set(strata):
                    heapq.heappush(strata, other)
                waiting |= after


def settle_cycle(plan: ProgramPlan, names: Sequence[str], compute: Compute, events: int, own: OwnDeltas) -> None:
    """Compute the deltas of maps that are computed from each other: visit them until nothing changes.

    Each visit settles at least the earliest version that was not, and an event has one version, or one per statement
    (sequential): that bounds the visits. Two more: the first one may do no more than sort deltas that were there before, and the
    last one finds that nothing changes.

    Raises:
        IntegrityProblem: they did not settle.
    """
    for _ in range(events * versions_per_event(plan) + 2):
        changed = [_visit(plan, name, own, compute, cyclic=True) for name in names]
        if not any(changed):
            return
    raise IntegrityProblem(f"{', '.join(names)} did not settle", kind="cycle-unsettled", hint="report a bug")


@lru_cache(maxsize=8)
def versions_per_event(plan: ProgramPlan) -> int:
    """How many versions, from its own on, the deltas of one event may have."""
    return 1 + max((s.offset for group in plan.statements.values() for s in group), default=0)


def _visit(plan: ProgramPlan, name: str, own: OwnDeltas, compute: Compute, cyclic: bool) -> bool:
    """Recompute one map's deltas; whether they changed."""
    parts = compute(name, own)
    if not cyclic:
        if parts:
            own.put(name, add_deltas(parts), final=True)
        return bool(parts)
    before, group = own.deltas(name), plan.groups[name]
    table = add_deltas(parts).table() if parts else delta_schema(group.keys, group.members).empty_table()
    table = table.sort_by([(column, "ascending") for column in table.column_names])
    if table.equals(before.table()) if before is not None else len(table) == 0:
        return False
    own.put(name, Deltas.of(table))
    return True


# What a program adds before its first event (``ON START``), as deltas of a version below all epochs.


def start_deltas(plan: ProgramPlan) -> Mapping[str, Deltas]:
    """The deltas of each map that ON START adds to: its statements run for one event without parameters."""
    event = Events(Frame({}, 1), np.array([plan.versions.start]), np.ones(1, np.int64))
    added: dict[str, list[Deltas]] = {}
    for statement in plan.start:
        deltas = run_statement(statement, plan.groups[statement.target], event, lambda _: [])
        if deltas is not None:
            added.setdefault(statement.target, []).append(deltas)
    summed = {name: add_deltas(parts) for name, parts in added.items()}
    return {name: deltas for name, deltas in summed.items() if len(deltas)}


@dataclass(frozen=True)
class ApplyTask:
    """Apply ``batch`` to the state that ``runs`` hold. Small and picklable: files are named, not carried. ``memory``: how many
    bytes it may hold. ``label``: what the names of its files begin with."""

    plan: ProgramPlan
    root: Path
    batch: BatchRef
    runs: tuple[Run, ...]
    memory: int = DEFAULT_MEMORY
    label: str = ""


@dataclass
class Loaded:
    """Events of some batches, loaded by relation when a statement first needs them; of those relations of which it says so, only some ``columns``.
    ``by_version``: see :class:`~cumulus_ops.compute.kernel.Events`."""

    plan: ProgramPlan
    root: Path
    batches: tuple[BatchRef, ...]
    memory: int = DEFAULT_MEMORY
    columns: Mapping[str, Collection[str]] = field(default_factory=dict)
    by_version: bool = False
    _cache: dict[str, tuple[Part, dict[int, Events]]] = field(default_factory=dict)

    def get(self, relation: str, sign: int, part: Part = WHOLE) -> Events | None:
        """The events of a relation and sign, None if there are none. ``part``: (i, n) for the i-th of n parts; one part is remembered."""
        if relation not in self._cache or self._cache[relation][0] != part:
            self._cache.pop(relation, None)  # before the next part takes its room
            found = load_events(self.plan, self.root, self.batches, relation, part, self.columns.get(relation))
            for events in found.values():
                events.limit_rows, events.by_version = rows_within(self.memory), self.by_version
            self._cache[relation] = part, found
        return self._cache[relation][1].get(sign)

    def parts(self, relation: str) -> list[Part]:
        """The parts that its events are to be taken in, so that each is within the memory."""
        rows = sum(f.rows for b in self.batches for f in b.files if f.relation == relation)
        number = -(-rows // rows_within(self.memory))
        return [(i, number) for i in range(number)]


def apply_events(task: ApplyTask, own: OwnDeltas) -> Loaded:
    """The deltas of a batch, read at the runs of ``task`` and at the batch's own deltas of shallower maps.

    Args:
        task: what to apply.
        own: gets the deltas.

    Returns:
        the batch's events, for whoever goes on with them.
    """
    loaded, concerned = Loaded(task.plan, task.root, (task.batch,), task.memory), find_concerned(task)
    settle(task.plan, concerned, concerned, applying(task, loaded), rows_of([task.batch]), own)
    return loaded


def find_concerned(task: ApplyTask) -> set[str]:
    """The maps that may have deltas."""
    return {name for r in task.batch.relations() for name in task.plan.triggered.get(r, ())} & task.plan.base


def applying(task: ApplyTask, loaded: Loaded, part: Part = WHOLE) -> Compute:
    """What computes the deltas of a map, or what a part of the events adds to it."""
    stored = StoredRuns(task.plan, task.root, task.runs)
    fixed: dict[Ref, Deltas | None] = {}  # what the rounds of a cycle do not change

    def add(ref: Ref, statement: StatementPlan, own: OwnDeltas) -> Deltas | None:
        if ref in fixed:
            return fixed[ref]
        events = loaded.get(statement.relation, statement.sign, part)
        deltas = apply_statement(statement, task.plan.groups[ref[0]], events, stored, own)
        if task.plan.is_repeated(ref[0]) and not task.plan.reads_own_cycle(statement):
            fixed[ref] = deltas
        return deltas

    def compute(name: str, own: OwnDeltas) -> list[Deltas]:
        parts = [add((name, i), s, own) for i, s in enumerate(task.plan.statements[name])]
        return [part for part in parts if part is not None]

    return compute


@lru_cache(maxsize=64)
def read_columns(plan: ProgramPlan, maps: frozenset[str]) -> dict[str, set[str]]:
    """The columns of events that the statements of some maps look at, by relation: of a level fewer than of the program, and on Spark each level reads them again."""
    found: dict[str, set[str]] = {}
    for statement in (s for name in maps for s in plan.statements[name] if s.relation in plan.ranks):
        found.setdefault(statement.relation, set()).update(used_columns(plan, statement))
    return found


def apply_statement(
    plan: StatementPlan, target: Group, events: Events | None, stored: StoredRuns, own: OwnDeltas
) -> Deltas | None:
    """One statement's unsummed deltas for ``events``, None if there are none."""
    if events is None:
        return None
    newest = events.newest + plan.offset

    def sources(index: int) -> list[RunData]:
        read = plan.reads[index]
        before = EVER if events.by_version else read.before(newest)
        return stored.get(read.path, before) + own.get(read.path, before)

    return run_statement(plan, target, events, sources)


# Taking back what one batch has contributed: the negative of its deltas, at its own versions, so that both add up to nothing.


def retract_batch(
    plan: ProgramPlan, root: Path, runs: Sequence[Run], batch: Batch, label: str = ""
) -> tuple[NewRun, ...]:
    """Write the negative of a batch's deltas in ``runs``; nothing becomes visible by it. ``label`` says whose step does."""
    first, last = plan.versions.span(batch)
    return write_runs(root, _negatives(plan, root, runs, first, last), label)


def _negatives(plan: ProgramPlan, root: Path, runs: Sequence[Run], first: int, last: int) -> Iterator[RunData]:
    paths = {(path.map, path.label): path for group in plan.paths.values() for path in group}
    for run in runs:
        path = paths.get((run.map, run.access_path))  # None of another revision's
        if path is not None and run.min_version <= last and run.max_version >= first:
            delta = open_run(root / run.path, run.offset, run.bytes, run.root).table(plan.key_names(run.map))
            within = pc.and_(pc.greater_equal(delta[VERSION], first), pc.less_equal(delta[VERSION], last))
            negative = sum_deltas([negate_deltas(delta.filter(within))])
            if len(negative):
                yield build_run(negative, path)
