"""The **directive table** and the **dispatch table** (Cumulus paper, section 3.2 with Figure 4, and section 4.1).

Three things are easily taken for each other:

- the :class:`~cumulus_papers.layout.Layout` says which node has which segment (section 3);
- a :class:`DirectiveTable` says for each class of an event, and for each node, which of its segments are read and written (section 3.2);
- a :class:`DispatchTable` says for each class of an event which nodes are told of it; nobody else is (section 4.1).

A **class** of events is what the layout can tell apart: for each key that the trigger's statements compute from the event, the interval it
lies in, where the line is cut into the least common multiple of the partition counts of all axes that the key is used on. Then every
axis' own interval follows from the class: its count times the interval, divided by that multiple, rounded down.

Loop variables are not part of the class, so a slice has several owners; a source and a target segment meet only where their intervals on the
loop variables' axes overlap (section 3.1). Where one of the two counts is no multiple of the other, a segment meets several
on either side, and the writer keeps of a result what lies in its own segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import lcm

from cumulus_papers.case import env_of
from cumulus_papers.layout import Interval, Layout, Segment, overlapping, partition_of
from m3.evaluate import FAILURES, Value, evaluate
from m3.program import Program, Statement, Trigger
from m3.scalars import Scalar, variables

__all__ = ["Class", "Directive", "DirectiveTable", "DispatchTable", "Read", "Tables", "Write"]

Class = tuple[int, ...]


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
    """What is to be done for a class of events, by all nodes together or by one of them (see :meth:`DirectiveTable.at`)."""

    writes: tuple[Write, ...]
    reads: tuple[Read, ...]


class DirectiveTable:
    """Figure 4 for one trigger: class of event -> directive. An entry is made when it is first asked for, and kept, since there are as
    many classes as the product of all multiples.

    Lines 14 and 22 give one interval per axis. Here it is *those that overlap the class's interval*, which is the same, because
    the class's line is cut at a multiple of the axis', and holds for loop variables too, whose interval is the target segment's.
    """

    def __init__(self, program: Program, layout: Layout, trigger: Trigger) -> None:
        self.program, self.layout, self.trigger = program, layout, trigger
        self._params = set(trigger.params)
        #: Key of the event -> into how many intervals its line is cut: the least common multiple of its axes' (lines 1 to 8),
        #: so that one interval lies within one partition on each axis.
        self.cuts: dict[Scalar, int] = {}
        for statement in self.trigger.statements:
            for name, keys in _uses(statement):
                for key, count in zip(keys, self.layout.partitions[name], strict=True):
                    if set(variables(key)) <= self._params:
                        self.cuts[key] = lcm(self.cuts.get(key, 1), count)
        self._known: dict[Class, Directive] = {}
        self._by_node: dict[Class, dict[int, Directive]] = {}

    def class_of(self, env: Mapping[str, Value]) -> Class:
        """The class of an event."""
        return tuple(partition_of(_value(key, env), count) for key, count in self.cuts.items())

    def class_of_event(self, row: tuple[Value, ...]) -> Class:
        """The class of an event, by its row."""
        return self.class_of(env_of(self.trigger, row))

    def classes(self) -> Iterator[Class]:
        """All classes (line 9)."""
        return product(*map(range, self.cuts.values()))

    def directive(self, of: Class) -> Directive:
        """What is to be done for a class (lines 10 to 24), by all nodes together."""
        if of not in self._known:
            known = {key: (i, self.cuts[key]) for key, i in zip(self.cuts, of, strict=True)}
            self._known[of] = _directive(self._writes(known))
        return self._known[of]

    def at(self, of: Class, node: int) -> Directive:
        """What is to be done for a class by one node: the writes of its segments, and the reads from its segments."""
        if of not in self._by_node:
            directive = self.directive(of)
            owner = self.layout.owner
            writes: dict[int, list[Write]] = {}
            reads: dict[int, list[Read]] = {}
            for write in directive.writes:
                writes.setdefault(owner[write.target], []).append(write)
            for read in directive.reads:
                reads.setdefault(owner[read.source], []).append(read)
            self._by_node[of] = {
                n: Directive(tuple(writes.get(n, ())), tuple(reads.get(n, ()))) for n in writes.keys() | reads.keys()
            }
        return self._by_node[of].get(node, Directive((), ()))

    def nodes(self, of: Class) -> tuple[int, ...]:
        """Who has something to do for a class."""
        directive, owner = self.directive(of), self.layout.owner
        segments = [w.target for w in directive.writes] + [r.source for r in directive.reads]
        return tuple(sorted({owner[s] for s in segments}))

    def possible(self) -> Directive:
        """What there may be to do for any class at all: what segments are read from and written to together."""
        constants = {key: (partition_of(evaluate(key, {}), n), n) for key, n in self.cuts.items() if not variables(key)}
        return _directive(self._writes(constants))

    def _writes(self, known: Mapping[Scalar, Interval]) -> Iterator[Write]:
        """Of all statements, where so much is known about where keys lie."""
        for index, statement in enumerate(self.trigger.statements):
            for target in self._segments(statement.target, statement.keys, known):
                here = {
                    key: (i, count)
                    for key, i, count in zip(
                        statement.keys, target.index, self.layout.partitions[target.map], strict=True
                    )
                }
                reads = [
                    Read(index, number, source, target)
                    for number, ref in enumerate(statement.reads())
                    for source in self._segments(ref.map, ref.keys, {**here, **known})
                ]
                yield Write(index, target, tuple(reads))

    def _segments(self, name: str, keys: tuple[Scalar, ...], known: Mapping[Scalar, Interval]) -> Iterator[Segment]:
        counts = self.layout.partitions[name]
        ranges = [overlapping(known.get(key), count) for key, count in zip(keys, counts, strict=True)]
        return (Segment(name, index) for index in product(*ranges))


def _value(key: Scalar, env: Mapping[str, Value]) -> Value:
    """A key's value; None where it has none, as that of a statement may whose conditions do not hold."""
    try:
        return evaluate(key, env)
    except FAILURES:
        return None


def _directive(writes: Iterator[Write]) -> Directive:
    known = tuple(writes)
    return Directive(known, tuple(r for w in known for r in w.reads))


def _uses(statement: Statement) -> Iterator[tuple[str, tuple[Scalar, ...]]]:
    yield statement.target, statement.keys
    for ref in statement.reads():
        yield ref.map, ref.keys


class DispatchTable:
    """Class of event -> nodes to notify, for one trigger (section 4.1): the directive table with all but the nodes forgotten."""

    def __init__(self, directives: DirectiveTable) -> None:
        self._directives = directives

    def nodes(self, env: Mapping[str, Value]) -> tuple[int, ...]:
        """Who has to know of an event, ascending."""
        return self._directives.nodes(self._directives.class_of(env))


class Tables:
    """The tables of a program on a layout, by event: (relation, sign)."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.by_event = {
            (t.relation, t.sign): DirectiveTable(program, layout, t) for t in program.triggers if t.relation and t.sign
        }
        self.dispatch = {event: DispatchTable(table) for event, table in self.by_event.items()}

    def of(self, relation: str, sign: int) -> DirectiveTable | None:
        """The directive table of an event; None where no trigger waits for it."""
        return self.by_event.get((relation, sign))
