"""correct: corrective deltas for history that was computed before an earlier version arrived (``ON Push``, Cumulus
paper, Figure 4).

For a statement with reads m1 .. mk and a history entry whose clock grows from *old* to *new*,

    f(new) - f(old) = sum over i of  m1(new) .. m[i-1](new) * delta(mi) * m[i+1](old) .. mk(old)

where delta(mi) are the deltas that the new clock adds: runs committed since, and corrections computed in this very pass
to shallower maps. Each term starts from the few keys in delta(mi). Entries with the same clock are handled together.
The result carries the history entries' own versions, so deeper maps see it in the same pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cumulus_ops.catalog import Clock, Run
from cumulus_ops.engine.apply import Loaded
from cumulus_ops.engine.events import BatchRef, rows_of, stamp_of
from cumulus_ops.engine.fixpoint import settle
from cumulus_ops.engine.kernel import run_statement
from cumulus_ops.engine.sources import OwnDeltas, StoredRuns
from cumulus_ops.layout import ProgramPlan, StatementPlan
from cumulus_ops.mapstore import RunData
from cumulus_ops.versions import epoch_end

__all__ = ["CorrectTask", "History", "correct_history", "is_due"]


@dataclass(frozen=True)
class History:
    """Applied batches that share a reading clock."""

    clock: Clock
    batches: tuple[BatchRef, ...]


@dataclass(frozen=True)
class CorrectTask:
    """Bring all of ``history`` up to date with ``runs``, the runs visible at the new clock."""

    plan: ProgramPlan
    root: Path
    history: tuple[History, ...]
    runs: tuple[Run, ...]


class _Group:
    """One clock's events and its two states of the maps: what it has read, and what is new to it."""

    def __init__(self, task: CorrectTask, history: History) -> None:
        self.history = history
        self.loaded = Loaded(task.plan, task.root, history.batches)
        self.old = StoredRuns(task.root, [r for r in task.runs if history.clock.covers(r.origin)])
        self.new = StoredRuns(task.root, [r for r in task.runs if not history.clock.covers(r.origin)])
        self.relations = {r for b in history.batches for r in b.relations()}

    def before(self, plan: ProgramPlan, relation: str) -> int:
        """An upper bound (inclusive) of the versions of a relation's events, without reading them."""
        batches = [b for b in self.history.batches if relation in b.relations()]
        stamps = [stamp_of(plan, b, relation) for b in batches]
        return max(epoch_end(b.epoch) if s is None else s for b, s in zip(batches, stamps, strict=True))


def is_due(task: CorrectTask) -> bool:
    """Whether any history entry reads a map that has a run new to it with an earlier version; looks at no file."""
    return any(
        group.new.any_before(read.path, group.before(task.plan, relation))
        for group in (_Group(task, h) for h in task.history)
        for relation in group.relations
        for statement in task.plan.readers(relation)
        for read in statement.reads
    )


def correct_history(task: CorrectTask) -> OwnDeltas:
    """The corrective deltas of all maps, in one pass in dataflow order."""
    groups = [_Group(task, h) for h in task.history]

    def compute(name: str, own: OwnDeltas) -> list[pa.Table]:
        return [
            table
            for group in groups
            for statement in task.plan.statements[name]
            if statement.reads and statement.relation in group.relations
            for table in _correct_statement(task.plan, statement, group, own)
        ]

    return settle(task.plan, None, compute, sum(rows_of(h.batches) for h in task.history))


def _correct_statement(plan: ProgramPlan, statement: StatementPlan, group: _Group, own: OwnDeltas) -> list[pa.Table]:
    bound = group.before(plan, statement.relation) + statement.offset
    changed = [i for i, r in enumerate(statement.reads) if group.new.any_before(r.path, bound) or own.get(r.path)]
    if not changed:
        return []
    events = group.loaded.get(statement.relation, statement.sign)
    if events is None:
        return []
    target = plan.program.map_by_name[statement.target]
    before = int(events.versions.max()) + statement.offset
    terms = [
        run_statement(statement, target, events, _Term(statement, group, own, before, i).runs, first=i) for i in changed
    ]
    return [t for t in terms if t is not None]


@dataclass(frozen=True)
class _Term:
    """The term of the telescoping sum in which read ``changed`` contributes its delta."""

    statement: StatementPlan
    group: _Group
    own: OwnDeltas
    before: int
    changed: int

    def runs(self, index: int) -> Sequence[RunData]:
        path = self.statement.reads[index].path
        old = self.group.old.get(path, self.before) if index != self.changed else []
        new = self.group.new.get(path, self.before) + self.own.get(path) if index <= self.changed else []
        return old + new
