"""What a layout costs: the bytes that a partitioned apply sends from one task to another.

A **label** says where things are. Events of a relation: ``ANYWHERE`` (in the task that reads their slice of the log), or in
the task that the hash of some of their columns names. Deltas of a map that others need: ``REPLICATED`` in every task, or in the
task that the hash of some of the map's key columns names. A read finds a map's deltas if they are replicated, or if events and
deltas are partitioned by columns that the read equates. What a statement adds is where it belongs without being sent if its
events are partitioned by columns that stand in the target's key at the places by which the target is partitioned.

Statements that need each other (a **cycle**) are run until nothing changes, which is within one task or not at all: between tasks,
each round would be another exchange. So what they add has to be where they read it.

Each cost is about one relation, or about one relation and one map. That is what lets minimum cuts find cheap layouts
(:mod:`cumulus_ops.layout.partitioning`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from cumulus_ops.layout.estimates import Estimates
from cumulus_ops.layout.needs import (
    Need,
    Ref,
    bare_columns,
    find_cycles,
    find_needs,
    statements_of,
    used_columns,
)
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.statements import StatementPlan

__all__ = ["ANYWHERE", "IMPOSSIBLE", "REPLICATED", "SMALL_BYTES", "Label", "Labels", "Node", "Problem", "pose"]

#: Columns of a relation, or key columns of a map, by name.
Label = tuple[str, ...]
ANYWHERE: Label = ()
REPLICATED: Label = ("*",)
#: Relations and exchanged maps -> labels; nodes are (kind, name), with kind ``events`` or ``map``.
Node = tuple[str, str]
Labels = Mapping[Node, Label]
#: A map whose deltas are smaller is replicated.
SMALL_BYTES = 1 << 18
#: The cost of a read that would not find what it needs.
IMPOSSIBLE = 1 << 60


@dataclass(frozen=True)
class Problem:
    """A batch whose layout is to be chosen.

    Attributes:
        plan: the program's plan.
        statements: the statements to run.
        needs: what they need of each other.
        cycles: the sets of statements that need each other.
        tasks: how many tasks there are.
        labels: what each relation and each exchanged map may be labelled with, in order of preference.
        equal: the map's key columns that stand for a column of the event, for each need and each producing statement.
        events: bytes of a relation's events, as far as other tasks may want them.
        deltas: bytes of what a statement adds that others need.
    """

    plan: ProgramPlan
    statements: Mapping[Ref, StatementPlan]
    needs: tuple[Need, ...]
    cycles: tuple[frozenset[Ref], ...]
    tasks: int
    labels: Mapping[Node, tuple[Label, ...]]
    equal: Mapping[Need | Ref, Mapping[str, str]]
    events: Mapping[str, float]
    deltas: Mapping[Ref, float]

    @cached_property
    def cycle_of(self) -> dict[Ref, int]:
        """The number of the cycle that a statement is in; not all are."""
        return {ref: number for number, refs in enumerate(self.cycles) for ref in refs}

    @cached_property
    def cyclic_maps(self) -> frozenset[str]:
        """The maps that some cycle reads and adds to."""
        return frozenset(need.map for need in self.needs if self.is_inner(need))

    def is_inner(self, need: Need) -> bool:
        """Whether a need is within a cycle."""
        cycle = self.cycle_of.get(need.consumer)
        return cycle is not None and cycle == self.cycle_of.get(need.producer)

    @cached_property
    def pairs(self) -> dict[tuple[Node, Node], list[Need | Ref]]:
        """Everything whose cost depends on a relation and a map: needs of reads, and producing statements."""
        found: dict[tuple[Node, Node], list[Need | Ref]] = {}
        for need in self.needs:
            consumer = self.statements[need.consumer].relation
            found.setdefault((("events", consumer), ("map", need.map)), []).append(need)
        for ref in self.deltas:
            found.setdefault((("events", self.statements[ref].relation), ("map", ref[0])), []).append(ref)
        return found

    @cached_property
    def tables(self) -> dict[tuple[Node, Node], dict[tuple[Label, Label], int]]:
        """What each relation and map cost together, for each pair of their labels."""
        return {
            (a, b): {
                (x, y): sum(self.pair_cost(item, x, y) for item in items)
                for x in self.labels[a]
                for y in self.labels[b]
            }
            for (a, b), items in self.pairs.items()
        }

    def cost(self, labels: Labels) -> int:
        """Bytes sent under ``labels``; :data:`IMPOSSIBLE` or more if a read would not find what it needs."""
        moved = sum(self.move_cost(node[1], labels[node]) for node in self.labels if node[0] == "events")
        return moved + sum(table[labels[a], labels[b]] for (a, b), table in self.tables.items())

    def move_cost(self, relation: str, label: Label) -> int:
        """Bytes of events sent."""
        return 0 if label == ANYWHERE else self._sent(self.events.get(relation, 0.0))

    def pair_cost(self, item: Need | Ref, events: Label, deltas: Label) -> int:
        """Bytes of deltas sent, or what a need costs, when a relation and a map have these labels."""
        if isinstance(item, Need):
            anywhere = deltas == REPLICATED and not self.is_inner(item)
            return 0 if anywhere or self.fits(item, events, deltas) else IMPOSSIBLE
        if item in self.cycle_of:
            return 0 if self.fits(item, events, deltas) else IMPOSSIBLE
        if deltas == REPLICATED:
            return round(self.deltas[item] * (self.tasks - 1))
        return 0 if self.fits(item, events, deltas) else self._sent(self.deltas[item])

    def fits(self, item: Need | Ref, events: Label, deltas: Label) -> bool:
        """Whether events and deltas that belong together are in the same task: a read's, or what a statement adds."""
        if events == ANYWHERE or deltas == REPLICATED:
            return False
        return tuple(self.equal[item].get(name) for name in deltas) == events

    def _sent(self, size: float) -> int:
        """Of evenly spread bytes, all but one task's share change their place; something is always sent."""
        return max(1, round(size * (self.tasks - 1) / self.tasks))


def pose(
    plan: ProgramPlan,
    relations: Collection[str],
    estimates: Estimates,
    tasks: int,
    fixed: Labels | None = None,
    small_bytes: float = SMALL_BYTES,
) -> Problem:
    """The problem of a batch with events of ``relations``.

    Args:
        plan: the program's plan.
        relations: whose events the batch has.
        estimates: bytes of events and deltas.
        tasks: how many tasks there are.
        fixed: labels that are not to be chosen; the rest of them is ignored.
        small_bytes: maps with smaller deltas are replicated.
    """
    statements, needs = statements_of(plan, relations), find_needs(plan, relations)
    deltas = {ref: estimates.delta_bytes(ref) for ref in dict.fromkeys(n.producer for n in needs)}
    concerned = [*dict.fromkeys([*(n.consumer for n in needs), *deltas])]
    columns: dict[str, set[str]] = {}
    for ref in concerned:
        columns.setdefault(statements[ref].relation, set()).update(used_columns(plan, statements[ref]))
    events = {name: estimates.event_bytes(name, used) for name, used in columns.items()}
    items: tuple[Need | Ref, ...] = (*needs, *deltas)
    equal = {item: _equal(plan, statements, item) for item in items}
    labels = _candidates(statements, equal)
    cycles = find_cycles(needs)
    apart = {ref[0] for cycle in cycles for ref in cycle}
    for node in labels:
        size = sum(d for ref, d in deltas.items() if ref[0] == node[1])
        if node[0] == "map" and size < small_bytes and node[1] not in apart:
            labels[node] = (REPLICATED,)
        labels[node] = (fixed[node],) if fixed and node in fixed else labels[node]
    return Problem(plan, statements, needs, cycles, tasks, labels, equal, events, deltas)


def _equal(plan: ProgramPlan, statements: Mapping[Ref, StatementPlan], item: Need | Ref) -> dict[str, str]:
    if isinstance(item, Need):
        statement = statements[item.consumer]
        read = statement.reads[item.read]
        places, scalars = read.places, read.bound
    else:
        statement = statements[item]
        places, scalars = tuple(range(len(statement.keys))), statement.keys
    keys = plan.program.map_by_name[item.map if isinstance(item, Need) else item[0]].keys
    columns = bare_columns(plan, statement, scalars)
    return {keys[i].name: column for i, column in zip(places, columns, strict=True) if column is not None}


def _candidates(
    statements: Mapping[Ref, StatementPlan], equal: Mapping[Need | Ref, Mapping[str, str]]
) -> dict[Node, tuple[Label, ...]]:
    """Single columns by which something fits; more columns never fit better."""
    found: dict[Node, dict[Label, None]] = {}
    for item, columns in equal.items():
        ref, name = (item.consumer, item.map) if isinstance(item, Need) else (item, item[0])
        of_events = found.setdefault(("events", statements[ref].relation), {ANYWHERE: None})
        of_map = found.setdefault(("map", name), {REPLICATED: None})
        for key, column in columns.items():
            of_events[(column,)] = None
            of_map[(key,)] = None
    return {node: tuple(options) for node, options in found.items()}
