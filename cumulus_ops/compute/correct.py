"""correct: corrective deltas for history that was computed before an earlier version arrived (``ON Push``, Cumulus
paper, Figure 5).

For a statement with reads m1 .. mk and a history entry whose clock grows from *old* to *new*,

    f(new) - f(old) = sum over i of  m1(new) .. m[i-1](new) * delta(mi) * m[i+1](old) .. mk(old)

where delta(mi) are the deltas that the new clock adds: runs committed since, and corrections computed in this very pass
to shallower maps. Each term starts from the few keys in delta(mi). Entries with the same clock are handled together.
The result carries the history entries' own versions, so deeper maps see it in the same pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cumulus_ops.catalog.records import Clock, Run
from cumulus_ops.compute.apply import Compute, Loaded, settle, versions_per_event
from cumulus_ops.compute.kernel import Events, run_statement
from cumulus_ops.compute.reading import (
    DEFAULT_MEMORY,
    EVER,
    WHOLE,
    BatchRef,
    OwnDeltas,
    Part,
    StoredRuns,
    newest_version,
    rows_of,
)
from cumulus_ops.layout.groups import Group
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.statements import ReadPlan, StatementPlan
from cumulus_ops.maps.deltas import Deltas
from cumulus_ops.maps.runs import RunData

__all__ = [
    "CorrectTask",
    "History",
    "States",
    "correct_history",
    "correct_statement",
    "correcting",
    "first_corrected",
    "is_due",
]


@dataclass(frozen=True)
class History:
    """Applied batches that share a reading clock."""

    clock: Clock
    batches: tuple[BatchRef, ...]


@dataclass(frozen=True)
class CorrectTask:
    """Bring all of ``history`` up to date with ``runs``, the runs visible at the new clock. ``label``: of the step that does."""

    plan: ProgramPlan
    root: Path
    history: tuple[History, ...]
    runs: tuple[Run, ...]
    memory: int = DEFAULT_MEMORY
    label: str = ""


class _Group:
    """One clock's events and its two states of the maps: what it has read, and what is new to it (among the runs ``fresh``)."""

    def __init__(self, task: CorrectTask, history: History, fresh: Sequence[Run]) -> None:
        self.task, self.history = task, history
        self.loaded = Loaded(task.plan, task.root, history.batches, task.memory)
        self.new = StoredRuns(task.plan, task.root, [r for r in fresh if not history.clock.covers(r.origin)])
        self.relations = {r for b in history.batches for r in b.relations()}

    @cached_property
    def old(self) -> StoredRuns:
        task, clock = self.task, self.history.clock
        return StoredRuns(task.plan, task.root, [r for r in task.runs if clock.covers(r.origin)])


def _groups(task: CorrectTask) -> list[_Group]:
    """The history by clock. Most runs are new to nobody, and are looked at once only."""
    lowest = min((h.clock.prefix for h in task.history), default=0)
    fresh = [r for r in task.runs if r.origin > lowest]
    return [_Group(task, h, fresh) for h in task.history]


def is_due(task: CorrectTask) -> bool:
    """Whether any history entry reads a map that has a run new to it with an earlier version; looks at no file."""
    return any(
        group.new.any_before(read.path, read.before(newest + statement.offset))
        for group in _groups(task)
        for relation in group.relations
        for newest in [newest_version(task.plan, group.history.batches, relation)]
        if group.new.oldest < newest + versions_per_event(task.plan)  # most often all that is new is later
        for statement in task.plan.readers(relation)
        for read in statement.reads
    )


def correct_history(task: CorrectTask, own: OwnDeltas) -> None:
    """The corrective deltas of all base maps, in one pass in dataflow order, into ``own``."""
    bound = sum(rows_of(h.batches) for h in task.history)
    settle(task.plan, first_corrected(task), task.plan.base, correcting(task), bound, own)


def first_corrected(task: CorrectTask) -> set[str]:
    """The maps that may have corrections, whatever others have; others than base maps among them."""
    changed = {r.map for h in task.history for r in task.runs if not h.clock.covers(r.origin)}
    return {name for other in changed for name in task.plan.dependents[other]}


def correcting(task: CorrectTask, part: Part = WHOLE) -> Compute:
    """What computes the corrections of a map, or one part of them."""
    groups = _groups(task)

    def compute(name: str, own: OwnDeltas) -> list[Deltas]:
        return [
            deltas
            for group in groups
            for statement in task.plan.statements[name]
            if statement.reads and statement.relation in group.relations
            for deltas in _correct_statement(task.plan, statement, group, own, part)
        ]

    return compute


def _correct_statement(
    plan: ProgramPlan, statement: StatementPlan, group: _Group, own: OwnDeltas, part: Part
) -> list[Deltas]:
    return correct_statement(
        statement,
        plan.groups[statement.target],
        newest_version(plan, group.history.batches, statement.relation),
        lambda: group.loaded.get(statement.relation, statement.sign, part),
        States(group.old, group.new, own),
    )


@dataclass(frozen=True)
class States:
    """The maps as some events have read them, and what is new to them: runs, and deltas of this step. For derivations: of what is new
    nothing counts below the version ``since``, and nothing of all is looked at from ``until`` on."""

    old: StoredRuns
    new: StoredRuns
    own: OwnDeltas
    since: int = -EVER
    until: int = EVER

    def changed(self, read: ReadPlan, version: int) -> bool:
        """Whether a read of an event of ``version`` may find something new."""
        before = read.before(version)
        return self.new.any_before(read.path, before) or self.own.any_before(read.path, before)


def correct_statement(
    statement: StatementPlan, target: Group, newest: int, load: Callable[[], Events | None], states: States
) -> list[Deltas]:
    """The corrective deltas of one statement for the events of one history.

    Args:
        statement: the statement.
        target: its target.
        newest: an upper bound (inclusive) of the versions of the events.
        load: the events; called only if some read has changed.
        states: what the events have read, and what they have yet to.
    """
    bound = newest + statement.offset
    changed = [i for i, read in enumerate(statement.reads) if states.changed(read, bound)]
    events = load() if changed else None
    if events is None:
        return []
    last = events.newest + statement.offset
    terms = [run_statement(statement, target, events, _Term(statement, states, last, i).runs, first=i) for i in changed]
    return [t for t in terms if t is not None]


@dataclass(frozen=True)
class _Term:
    """The term of the telescoping sum in which read ``changed`` contributes its delta."""

    statement: StatementPlan
    states: States
    newest: int
    changed: int

    def runs(self, index: int) -> Sequence[RunData]:
        read = self.statement.reads[index]
        before = read.before(self.newest)
        old = self.states.old.get(read.path, before) if index != self.changed else []
        new = (
            self.states.new.get(read.path, before) + self.states.own.get(read.path, before)
            if index <= self.changed
            else []
        )
        return old + new
