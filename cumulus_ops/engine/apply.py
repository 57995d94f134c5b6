"""apply: the optimistic computation of a batch's deltas (``ON Event``, Cumulus paper, Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from cumulus_ops.catalog import Run
from cumulus_ops.engine.budget import DEFAULT_MEMORY, rows_within
from cumulus_ops.engine.events import BatchRef, load_events, rows_of
from cumulus_ops.engine.fixpoint import settle
from cumulus_ops.engine.kernel import Events, run_statement
from cumulus_ops.engine.sources import OwnDeltas, StoredRuns
from cumulus_ops.layout import Group, ProgramPlan, Ref, StatementPlan
from cumulus_ops.mapstore import RunData

__all__ = ["ApplyTask", "Loaded", "apply_events", "apply_statement"]


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
    """Events of some batches, loaded by relation when a statement first needs them."""

    plan: ProgramPlan
    root: Path
    batches: tuple[BatchRef, ...]
    memory: int = DEFAULT_MEMORY
    _cache: dict[str, dict[int, Events]] = field(default_factory=dict)

    def get(self, relation: str, sign: int) -> Events | None:
        """The events of a relation and sign, None if there are none."""
        if relation not in self._cache:
            self._cache[relation] = load_events(self.plan, self.root, self.batches, relation)
            for events in self._cache[relation].values():
                events.limit_rows = rows_within(self.memory)
        return self._cache[relation].get(sign)


def apply_events(task: ApplyTask, own: OwnDeltas) -> Loaded:
    """The deltas of a batch, read at the runs of ``task`` and at the batch's own deltas of shallower maps.

    Args:
        task: what to apply.
        own: gets the deltas.

    Returns:
        the batch's events, for whoever goes on with them.
    """
    loaded = Loaded(task.plan, task.root, (task.batch,), task.memory)
    stored = StoredRuns(task.plan, task.root, task.runs)

    fixed: dict[Ref, pa.Table | None] = {}  # what the rounds of a cycle do not change

    def add(ref: Ref, statement: StatementPlan, own: OwnDeltas) -> pa.Table | None:
        if ref in fixed:
            return fixed[ref]
        events = loaded.get(statement.relation, statement.sign)
        table = apply_statement(statement, task.plan.groups[ref[0]], events, stored, own)
        if task.plan.is_repeated(ref[0]) and not task.plan.reads_own_cycle(statement):
            fixed[ref] = table
        return table

    def compute(name: str, own: OwnDeltas) -> list[pa.Table]:
        tables = [add((name, i), s, own) for i, s in enumerate(task.plan.statements[name])]
        return [t for t in tables if t is not None]

    concerned = {name for r in task.batch.relations() for name in task.plan.triggered.get(r, ())} & task.plan.base
    settle(task.plan, concerned, concerned, compute, rows_of([task.batch]), own)
    return loaded


def apply_statement(
    plan: StatementPlan, target: Group, events: Events | None, stored: StoredRuns, own: OwnDeltas
) -> pa.Table | None:
    """One statement's unsummed deltas for ``events``, None if there are none."""
    if events is None:
        return None
    newest = int(events.versions.max()) + plan.offset

    def sources(index: int) -> list[RunData]:
        read = plan.reads[index]
        return stored.get(read.path, read.before(newest)) + own.get(read.path)

    return run_statement(plan, target, events, sources)
