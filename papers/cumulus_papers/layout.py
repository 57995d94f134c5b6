"""The **layout**, the **directive table** and the **dispatch table** (Cumulus paper, sections 3, 3.2 with Figure 4, and 4.1; system section,
"Trigger Dispatch").

Three things are easily taken for each other:

- the :class:`Layout` says which node has which segment (section 3);
- a :class:`DirectiveTable` says for each class of an event, and for each node, which of its segments are read and written (section 3.2);
- a :class:`DispatchTable` says for each class of an event which nodes are told of it; nobody else is (section 4.1).

A map's key space is cut along each key column, as in a grid file: ``partitions[map][axis]`` is the number of cuts' intervals there. All
maps cut the same line, the numbers 0 (inclusive) to 1 (exclusive), to which :func:`place` maps every value; the intervals of an axis are
equally long. Where one axis has twice the partitions of another, its boundaries include the other's.

A **class** of events is what the layout can tell apart: for each key that the trigger's statements compute from the event, the interval it
lies in, where the line is cut into the least common multiple of the partition counts of all axes that the key is used on. Then every
axis' own interval follows from the class: its count times the interval, divided by that multiple, rounded down.

Loop variables are not part of the class, so a slice has several owners; a source and a target segment meet only where their intervals on the
loop variables' axes overlap (section 3.1). Where one of the two counts is no multiple of the other, a segment meets several
on either side, and the writer keeps of a result what lies in its own segment.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import product
from math import lcm

from m3.evaluate import FAILURES, Value, evaluate
from m3.program import Program, Trigger
from m3.scalars import Scalar, variables
from m3.statements import Key

__all__ = [
    "PLACES",
    "Class",
    "Directive",
    "DirectiveTable",
    "DispatchTable",
    "Interval",
    "Layout",
    "Read",
    "Segment",
    "Tables",
    "Write",
    "env_of",
    "overlapping",
    "partition_of",
    "place",
    "random_layout",
    "uniform_layout",
]


#: The line is cut at multiples of one over this.
PLACES = 1 << 20
#: Interval i of so many equally long ones, (i, of); None for the whole line.
Interval = tuple[int, int] | None


@dataclass(frozen=True, order=True)
class Segment:
    """A part of a map: the interval of each key column."""

    map: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.map}[{','.join(map(str, self.index))}]"


@lru_cache(maxsize=1 << 16)
def _place(text: str) -> int:
    return zlib.crc32(text.encode()) % PLACES


def place(value: object) -> int:
    """Where a key's value lies on the line, from 0 to :data:`PLACES` (exclusive). Equal values of a type lie at one place.

    >>> place(Decimal("1.50")) == place(Decimal("1.5")), place(0.0) == place(-0.0)
    (True, True)
    """
    if isinstance(value, Decimal):
        return _place(f"{value.normalize():f}")
    return _place(repr(value + 0.0 if isinstance(value, float) else value))


def partition_of(value: object, partitions: int) -> int:
    """The interval of a value, where the line is cut into so many.

    >>> [partition_of(v, 4) // 2 == partition_of(v, 2) for v in range(3)]
    [True, True, True]
    """
    return place(value) * partitions // PLACES


def overlapping(interval: Interval, partitions: int) -> range:
    """The intervals, where the line is cut into so many, that have points in common with one.

    >>> overlapping((1, 2), 4), overlapping((2, 6), 3), overlapping((1, 3), 2)
    (range(2, 4), range(1, 2), range(0, 2))
    """
    if interval is None:
        return range(partitions)
    i, of = interval
    return range(i * partitions // of, -(-(i + 1) * partitions // of))


@dataclass(frozen=True)
class Layout:
    """``partitions``: map -> intervals per key column. ``owner``: segment -> number of its node."""

    partitions: Mapping[str, tuple[int, ...]]
    owner: Mapping[Segment, int]

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that own something, ascending."""
        return tuple(sorted(set(self.owner.values())))

    def segments(self, name: str) -> Iterator[Segment]:
        """The segments of a map."""
        return (Segment(name, index) for index in product(*map(range, self.partitions[name])))

    def segment_of(self, name: str, key: Key) -> Segment:
        """The segment that has a key."""
        return Segment(name, tuple(map(partition_of, key, self.partitions[name])))

    def owned_by(self, node: int) -> tuple[Segment, ...]:
        """The segments of a node."""
        return self._owned.get(node, ())

    @cached_property
    def _owned(self) -> dict[int, tuple[Segment, ...]]:
        owned: dict[int, list[Segment]] = {}
        for segment in sorted(self.owner):
            owned.setdefault(self.owner[segment], []).append(segment)
        return {node: tuple(segments) for node, segments in owned.items()}


def uniform_layout(program: Program, partitions: Mapping[str, Sequence[int]], nodes: int) -> Layout:
    """Segments dealt out to nodes in turn; maps that are not named have one."""
    cuts = {m.name: tuple(partitions.get(m.name, (1,) * len(m.keys))) for m in program.maps}
    layout = Layout(cuts, {})
    everything = [s for m in program.maps for s in layout.segments(m.name)]
    return Layout(cuts, {s: i % nodes for i, s in enumerate(everything)})


def random_layout(program: Program, nodes: int, choose: random.Random) -> Layout:
    """Any cuts, up to four intervals an axis, and any owners; every node has something, if there are enough segments."""
    cuts = {m.name: tuple(choose.choice((1, 1, 2, 2, 4, 3)) for _ in m.keys) for m in program.maps}
    layout = Layout(cuts, {})
    everything = [s for m in program.maps for s in layout.segments(m.name)]
    choose.shuffle(everything)
    owner = {s: i if i < nodes else choose.randrange(nodes) for i, s in enumerate(everything)}
    return Layout(cuts, owner)


# What the layout means for an event: its directive table, and its dispatch table.


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
            for name, keys in ((statement.target, statement.keys), *((r.map, r.keys) for r in statement.reads())):
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


def env_of(trigger: Trigger, row: tuple[Value, ...]) -> dict[str, Value]:
    """The event's variables."""
    return dict(zip(trigger.params, row, strict=True))


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
