"""The stages of a partitioned apply: in which one each statement is run, and what is sent between them.

A statement waits for what it needs: for events that have to be sent to it, and for the deltas of other statements, one
stage later if those have to be sent, in the same stage if they are where they are needed. So levels of the dataflow
whose access paths agree under the layout are one stage, and a batch without needs is one stage with no exchange. Statements that
need each other are one stage, in which each task runs its share of them until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cumulus_ops.layout.costs import ANYWHERE, REPLICATED, Label, Ref, used_columns
from cumulus_ops.layout.partitioning import Layout
from cumulus_ops.layout.plans import ProgramPlan
from m3.dataflow import condensed, generations, graph_of, in_order, predecessors

__all__ = ["Schedule", "Shipment", "Stage", "levels", "schedule"]


@dataclass(frozen=True)
class Shipment:
    """Events of a relation, or deltas of a map, that go to other tasks: to the one that the hash of the columns ``by``
    names, or to all if ``by`` is :data:`~cumulus_ops.layout.costs.REPLICATED`. ``columns``: the events' columns sent;
    ``readers``: the statements that want the events."""

    kind: str
    name: str
    by: Label
    columns: tuple[str, ...] = ()
    readers: tuple[Ref, ...] = ()


@dataclass(frozen=True)
class Stage:
    """What each task does in one stage.

    Attributes:
        steps: the statements to run, in groups that do not need each other, one group after the other; a statement in
            ``partitioned`` takes the events that were sent to the task, the others the task's slice of the log.
        sent: what goes to other tasks at the end: events of the log, and deltas computed in this stage.
        kept: (kind, name) of what a later stage needs and the task has already.
        cycles: those of the groups whose statements do need each other.
        local: the statements whose deltas others need where they are computed.
        away: the statements whose deltas others need elsewhere: those that are sent.
    """

    steps: tuple[tuple[Ref, ...], ...]
    cycles: frozenset[tuple[Ref, ...]]
    partitioned: frozenset[Ref]
    sent: tuple[Shipment, ...]
    kept: tuple[tuple[str, str], ...]
    local: frozenset[Ref]
    away: frozenset[Ref]


@dataclass(frozen=True)
class Schedule:
    """All stages of a batch under a layout; none if the batch is one task (``layout.alone``)."""

    layout: Layout
    stages: tuple[Stage, ...]
    stage_of: dict[Ref, int]


def levels(plan: ProgramPlan) -> list[tuple[str, ...]]:
    """The maps that apply maintains by depth: a map's statements read only maps of earlier levels, and of a cycle that it is in."""
    names = [name for name in plan.statements if name in plan.base]
    reads = [(read.path.map, name) for name in names for s in plan.statements[name] for read in s.reads]
    return [
        tuple(sorted(name for part in parts for name in part))
        for parts in generations(condensed(graph_of(names, reads)))
    ]


def schedule(layout: Layout) -> Schedule:
    """When each statement is run, and what is sent between stages, under a layout."""
    return Schedule(layout, (), {}) if layout.alone else _Scheduler(layout).schedule()


class _Scheduler:
    def __init__(self, layout: Layout) -> None:
        self.layout, self.problem = layout, layout.problem
        self.statements, self.needs = self.problem.statements, self.problem.needs
        self.partitioned = frozenset(ref for ref in self.statements if self._is_partitioned(ref))
        self.local = frozenset(ref for ref in self.problem.deltas if self._fits(ref))
        self.graph = graph_of(self.statements, ((n.producer, n.consumer) for n in self.needs))
        self.before = predecessors(self.graph)
        found: dict[Ref, int] = {}
        # In an order in which none needs a later one, the ones that need each other together.
        for refs in map(sorted, in_order(condensed(self.graph), min) or []):
            before = {p for ref in refs for p in self.before[ref]} - {*refs}
            waits = [found[p] + (p not in self.local) for p in before]
            found |= dict.fromkeys(refs, max([*(int(ref in self.partitioned) for ref in refs), *waits]))
        self.stage_of = found
        self._gather_statements()
        # From which stage on events that were sent, or the deltas of a map, are where they are wanted, and the last stage that wants them.
        came = [(("events", self._relation(ref)), self.stage_of[ref]) for ref in self.partitioned]
        made = [(("map", ref[0]), self.stage_of[ref] + (ref not in self.local)) for ref in self.problem.deltas]
        used = [(("map", need.map), self.stage_of[need.consumer]) for need in self.needs]
        # The pair that is sorted last stands in the dictionary.
        self.arrival = dict(sorted([*came, *made], reverse=True))
        self.last_use = dict(sorted([*came, *used]))

    def schedule(self) -> Schedule:
        count = 1 + max(self.stage_of.values(), default=0)
        return Schedule(self.layout, tuple(self._make_stage(k, k == count - 1) for k in range(count)), self.stage_of)

    def _relation(self, ref: Ref) -> str:
        return self.statements[ref].relation

    def _is_partitioned(self, ref: Ref) -> bool:
        """Whether a statement takes the events that were sent by columns, rather than the task's slice."""
        if self.layout.label("events", self._relation(ref)) == ANYWHERE:
            return False
        labels = (self.layout.label("map", n.map) for n in self.needs if n.consumer == ref)
        return self._fits(ref) or any(label != REPLICATED for label in labels)

    def _fits(self, ref: Ref) -> bool:
        if ref not in self.problem.deltas:
            return False
        events = self.layout.label("events", self._relation(ref))
        return self.problem.fits(ref, events, self.layout.label("map", ref[0]))

    def _gather_statements(self) -> None:
        """Move statements that nobody waits for to where their relation's slice of the log is read anyway."""
        for relation in {s.relation for s in self.statements.values()}:
            mine = [r for r in self.statements if self._relation(r) == relation and r not in self.partitioned]
            movable = [r for r in mine if r not in self.problem.deltas]
            reading = {self.stage_of[r] for r in mine if r not in movable}
            if (first := self._first_use(relation)) > 0:
                reading.add(first - 1)
            latest = max((self.stage_of[r] for r in movable), default=0)
            for ref in movable:
                self.stage_of[ref] = min((k for k in reading if k >= self.stage_of[ref]), default=latest)

    def _make_stage(self, number: int, last: bool) -> Stage:
        mine = [ref for ref in self.statements if self.stage_of[ref] == number]
        # Cycles, and between them as many statements at once as do not need each other.
        steps: list[tuple[Ref, ...]] = []
        part = {ref: [target for target in self.graph[ref] if self.stage_of[target] == number] for ref in mine}
        for generation in generations(condensed(part)):
            groups = [tuple(sorted(group)) for group in generation]
            single = sorted(group[0] for group in groups if group[0] not in self.problem.cycle_of)
            steps += [*([tuple(single)] if single else []), *sorted(g for g in groups if g[0] in self.problem.cycle_of)]
        away = [ref for ref in mine if ref in self.problem.deltas and ref not in self.local]
        deltas = [Shipment("map", n, self.layout.label("map", n)) for n in dict.fromkeys(ref[0] for ref in away)]
        kept = tuple(sorted(node for node, stage in self.last_use.items() if self.arrival[node] <= number < stage))
        return Stage(
            tuple(steps),
            frozenset(group for group in steps if group[0] in self.problem.cycle_of),
            self.partitioned & set(mine),
            () if last else (*self._ship_events(number), *deltas),
            () if last else kept,
            self.local & set(mine),
            frozenset(away),
        )

    def _first_use(self, relation: str) -> int:
        return min((self.stage_of[r] for r in self.partitioned if self._relation(r) == relation), default=0)

    def _ship_events(self, number: int) -> Iterable[Shipment]:
        for relation in dict.fromkeys(self._relation(r) for r in sorted(self.partitioned)):
            if self._first_use(relation) == number + 1:
                readers = tuple(sorted(r for r in self.partitioned if self._relation(r) == relation))
                plan = self.problem.plan
                used = set().union(*(used_columns(plan, self.statements[r]) for r in readers))
                columns = tuple(c for c in plan.columns[relation] if c in used)
                yield Shipment("events", relation, self.layout.label("events", relation), columns, readers)
