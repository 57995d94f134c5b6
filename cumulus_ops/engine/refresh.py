"""refresh: the maps that depend on derivations, brought up to date with everything that was committed.

Unlike apply and correct it is serialised: one clock, the commit ``refreshed``, says for all these maps what they have
incorporated: all runs of base maps with an origin, and all applied batches with a commit, up to it. One pass in dataflow
order then makes up for the rest:

- a statement of a *new* event (of a batch applied since, or a change of a derived map made in this pass) is evaluated
  against the new state;
- a statement of an *old* event is corrected for reads that have changed, exactly as in :mod:`cumulus_ops.engine.correct`;
- a derivation is computed anew for the groups whose inputs have changed, see :mod:`cumulus_ops.engine.derive`.

All deltas carry the versions of the batches or events that they belong to, as if everything had come in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import Run
from cumulus_ops.engine.apply import Loaded, apply_statement
from cumulus_ops.engine.budget import DEFAULT_MEMORY
from cumulus_ops.engine.correct import States, correct_statement
from cumulus_ops.engine.derive import derive
from cumulus_ops.engine.events import BatchRef, newest_version, rows_of
from cumulus_ops.engine.fixpoint import settle
from cumulus_ops.engine.kernel import Events
from cumulus_ops.engine.sources import EVER, OwnDeltas, StoredRuns
from cumulus_ops.engine.vector import Frame
from cumulus_ops.layout import ProgramPlan, StatementPlan
from cumulus_ops.mapstore import VERSION, RunData, delta_values, stack, value_column, versions
from cumulus_ops.versions import epoch_end

__all__ = ["RefreshTask", "is_correction", "refresh_maps"]


@dataclass(frozen=True)
class RefreshTask:
    """Bring the maps that depend on derivations up to date with ``runs``.

    ``refreshed``: the commit up to which they are (inclusive); ``fresh``: the batches applied since; ``history``: the
    batches applied before, of epochs beyond ``committed``, the newest epoch with a snapshot (-1 for none); those may be
    left out whose versions all lie below ``floor``, the version from which on
    (inclusive) there is something new. ``label``: of the step that does."""

    plan: ProgramPlan
    root: Path
    runs: tuple[Run, ...]
    refreshed: int
    fresh: tuple[BatchRef, ...]
    history: tuple[BatchRef, ...]
    committed: int
    floor: int
    memory: int = DEFAULT_MEMORY
    label: str = ""


def refresh_maps(task: RefreshTask, own: OwnDeltas, fresh: Loaded | None = None) -> None:
    """The deltas of all maps that depend on derivations, in one pass in dataflow order.

    Args:
        task: what to refresh.
        own: gets the deltas; those of base maps that it has already, from a batch just applied, are new to the refresh.
        fresh: the events of the fresh batches, if somebody has loaded them already.
    """
    plan = task.plan
    step = _Step(task, fresh)
    bound = rows_of(task.fresh) + rows_of(task.history) + sum(r.rows for r in task.runs)
    first = {name for b in task.fresh for r in b.relations() for name in plan.triggered.get(r, ())}
    first |= {name for other in [*step.new.maps, *own.touched()] for name in plan.dependents[other]}
    settle(plan, first, plan.refreshed, step.compute, bound, own)


def is_correction(task: RefreshTask, versions: np.ndarray) -> np.ndarray:
    """Which deltas, by their versions, make up for something that was computed before, rather than being new."""
    return ~task.plan.versions.within(versions, task.fresh)


class _Step:
    """One refresh: its events and its states of the maps."""

    def __init__(self, task: RefreshTask, fresh: Loaded | None) -> None:
        self.task, self.plan = task, task.plan
        self.all = StoredRuns(task.plan, task.root, task.runs)
        self.old = StoredRuns(task.plan, task.root, [r for r in task.runs if r.origin <= task.refreshed])
        self.new = StoredRuns(task.plan, task.root, [r for r in task.runs if r.origin > task.refreshed])
        usable = fresh is not None and fresh.batches == task.fresh
        self.fresh = fresh if fresh is not None and usable else Loaded(task.plan, task.root, task.fresh, task.memory)
        self.history = Loaded(task.plan, task.root, task.history, task.memory)
        self._changes: dict[str, Events | None] = {}
        self._stored: dict[str, Events | None] = {}

    def compute(self, name: str, own: OwnDeltas) -> list[pa.Table]:
        """The unsummed deltas of one map."""
        derived = self.plan.derived.get(name)
        if derived is not None:
            return derive(self.plan, derived, States(self.old, self.new, own))
        return [
            table
            for statement in self.plan.statements[name]
            for table in (
                self._of_changes(statement, own)
                if statement.relation in self.plan.derived
                else self._of_events(statement, own)
            )
        ]

    def _of_events(self, statement: StatementPlan, own: OwnDeltas) -> list[pa.Table]:
        """What the events of a relation add: the new ones all, the old ones where they read something new."""
        target = self.plan.groups[statement.target]
        relation, sign = statement.relation, statement.sign
        new = apply_statement(statement, target, self.fresh.get(relation, sign), self.all, own)
        batches = [b for b in self.history.batches if relation in b.relations()]
        if not batches:
            return [] if new is None else [new]
        states = States(self.old, self.new, own)
        newest = newest_version(self.plan, batches, relation)
        old = correct_statement(statement, target, newest, lambda: self.history.get(relation, sign), states)
        return old if new is None else [new, *old]

    def _of_changes(self, statement: StatementPlan, own: OwnDeltas) -> list[pa.Table]:
        """The same for the changes of a derived map: new are those that this step has made."""
        target = self.plan.groups[statement.target]
        name = statement.relation
        if name not in self._changes:
            self._changes[name] = self._events(name, own.get(self.plan.derived[name].group.path), -EVER)
        new = apply_statement(statement, target, self._changes[name], self.all, own)
        newest = self.old.newest(self.plan.derived[name].group.path)
        states = States(self.old, self.new, own)
        old = correct_statement(statement, target, newest, lambda: self._past(name), states)
        return old if new is None else [new, *old]

    def _past(self, name: str) -> Events | None:
        """The stored changes of a derived map that are late enough to read something new."""
        if name not in self._stored:
            since = max(epoch_end(self.task.committed) + 1, self.task.floor)
            self._stored[name] = self._events(
                name, self.old.get(self.plan.derived[name].group.path, since=since), since
            )
        return self._stored[name]

    def _events(self, name: str, runs: Sequence[RunData], since: int) -> Events | None:
        """The deltas of a derived map with versions from ``since`` on (inclusive) as events weighted by their values."""
        trigger = self.plan.program.trigger(name, 0)
        assert trigger is not None
        tables = [_table(run, name, trigger.params, since) for run in runs]
        table = stack(tables) if tables else None
        if table is None or not len(table):
            return None
        columns = {param: table[param].combine_chunks() for param in trigger.params}
        weights = delta_values(table, value_column(name))
        return Events(Frame(columns, len(table)), versions(table), weights)


def _table(run: RunData, name: str, params: Sequence[str], since: int) -> pa.Table:
    table = run.table(params, [name])
    late = np.flatnonzero(table[VERSION].to_numpy() >= since) if run.oldest < since else np.arange(len(table))
    return table if len(late) == len(table) else table.take(pa.array(late))
