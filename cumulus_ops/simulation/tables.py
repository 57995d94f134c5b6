"""The **directive table** and the **dispatch table** (Cumulus paper, section 3.2 with Figure 4, and section 4.1).

A **class** of events is what the layout can tell apart: for each key that the trigger's statements compute from the event, the interval it
lies in, where the line is cut into the least common multiple of the partition counts of all axes that the key is used on. Then every
axis' own interval follows from the class: its count times the interval, divided by that multiple, rounded down.

A directive says, for one class, per statement: which target segments are written, and which source segments are read for each of them. Loop variables
are not part of the class, so a slice has several owners; a source and a target segment meet only where their intervals on the loop variables'
axes overlap (section 3.1). A **dispatch table** forgets all but the nodes: they are told of the event, nobody else is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import lcm

from cumulus_ops.simulation.layout import Layout, Segment, overlap, partition_of
from m3.evaluate import Value, evaluate
from m3.program import Program, Statement, Trigger
from m3.scalars import Scalar, Var, variables

__all__ = ["Directive", "EventTable", "Read", "Tables", "Write"]

Class = tuple[int, ...]
#: The intervals that a class, or a segment, allows on the axes of a map: (interval, of how many), None for any.
Interval = tuple[int, int] | None


@dataclass(frozen=True)
class Read:
    """Read ``source`` for the read number ``read`` of a statement, which writes ``target``."""

    statement: int
    read: int
    source: Segment
    target: Segment


@dataclass(frozen=True)
class Write:
    """Write ``target`` by a statement, once all of ``reads`` are known."""

    statement: int
    target: Segment
    reads: tuple[Read, ...]


@dataclass(frozen=True)
class Directive:
    """What is to be done for a class of events, by all nodes."""

    writes: tuple[Write, ...]

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """All reads."""
        return tuple(r for w in self.writes for r in w.reads)


class EventTable:
    """Figure 4 for one trigger: class of event -> directive. Made when first asked for, and kept."""

    def __init__(self, program: Program, layout: Layout, trigger: Trigger) -> None:
        self.program, self.layout, self.trigger = program, layout, trigger
        self._params = set(trigger.params)
        self.cuts = self._multiples()
        self._known: dict[Class, Directive] = {}

    def _multiples(self) -> dict[Scalar, int]:
        """Key of the event -> into how many intervals its line is cut: the least common multiple of its axes' (lines 1 to 8)."""
        cuts: dict[Scalar, int] = {}
        for statement in self.trigger.statements:
            for name, keys in _uses(statement):
                for key, count in zip(keys, self.layout.partitions[name], strict=True):
                    if set(variables(key)) <= self._params:
                        cuts[key] = lcm(cuts.get(key, 1), count)
        return cuts

    def class_of(self, env: Mapping[str, Value]) -> Class:
        """The class of an event."""
        return tuple(partition_of(evaluate(key, env), count) for key, count in self.cuts.items())

    def classes(self) -> Iterator[Class]:
        """All classes (line 9)."""
        return product(*map(range, self.cuts.values()))

    def directive(self, of: Class) -> Directive:
        """What is to be done for a class (lines 10 to 24)."""
        if of not in self._known:
            place = dict(zip(self.cuts, of, strict=True))
            writes = (w for i, s in enumerate(self.trigger.statements) for w in self._writes(i, s, place))
            self._known[of] = Directive(tuple(writes))
        return self._known[of]

    def nodes(self, of: Class) -> tuple[int, ...]:
        """Who has to know of an event of this class: the entry of the dispatch table."""
        directive, owner = self.directive(of), self.layout.owner
        segments = [w.target for w in directive.writes] + [r.source for r in directive.reads]
        return tuple(sorted({owner[s] for s in segments}))

    def _writes(self, index: int, statement: Statement, place: Mapping[Scalar, int]) -> Iterator[Write]:
        allowed = self._allowed(statement.target, statement.keys, place, {})
        for target in self._segments(statement.target, allowed):
            loops = {
                key.name: (i, count)
                for key, i, count in zip(statement.keys, target.index, self.layout.partitions[target.map], strict=True)
                if isinstance(key, Var) and key not in self.cuts
            }
            reads = [
                Read(index, number, source, target)
                for number, ref in enumerate(statement.reads())
                for source in self._segments(ref.map, self._allowed(ref.map, ref.keys, place, loops))
            ]
            yield Write(index, target, tuple(reads))

    def _allowed(
        self, name: str, keys: tuple[Scalar, ...], place: Mapping[Scalar, int], loops: Mapping[str, Interval]
    ) -> list[Interval]:
        def interval(key: Scalar, count: int) -> Interval:
            if key in place:
                return count * place[key] // self.cuts[key], count
            return loops.get(key.name) if isinstance(key, Var) else None

        return [interval(key, count) for key, count in zip(keys, self.layout.partitions[name], strict=True)]

    def _segments(self, name: str, allowed: list[Interval]) -> list[Segment]:
        counts = self.layout.partitions[name]
        ranges = [
            [i for i in range(count) if interval is None or overlap(i, count, *interval)]
            for count, interval in zip(counts, allowed, strict=True)
        ]
        return [Segment(name, index) for index in product(*ranges)]


def _uses(statement: Statement) -> Iterator[tuple[str, tuple[Scalar, ...]]]:
    yield statement.target, statement.keys
    for ref in statement.reads():
        yield ref.map, ref.keys


class Tables:
    """The tables of a program on a layout, by event: (relation, sign)."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.by_event = {
            (t.relation, t.sign): EventTable(program, layout, t) for t in program.triggers if t.relation and t.sign
        }

    def of(self, relation: str, sign: int) -> EventTable | None:
        """The table of an event; None where no trigger waits for it."""
        return self.by_event.get((relation, sign))
