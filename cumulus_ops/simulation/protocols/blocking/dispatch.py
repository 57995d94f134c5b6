"""The **trigger-dispatch spatial index** (system section, "Trigger Dispatch", with the figure of the switch's trigger dispatch algorithm).

For each trigger the switch has an index like a grid file's directory. Its axes are the keys that the trigger's statements compute from
the event; an axis is cut wherever one of the maps used with that key is cut, so that a **cell** lies in one partition of each. A cell's
entry is the set of PUT and FETCH messages that an event in it needs: the event's values find the cell, and fill the messages in.

A loop variable is not on an axis. Its part of a region is the whole line at first (:func:`project` on the target's index); for a partition of the
target it is that partition's interval, and what is read are the partitions of the other map that intersect it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from cumulus_ops.simulation.case import Event, env_of
from cumulus_ops.simulation.crosscheck import Dispatched
from cumulus_ops.simulation.layout import PLACES, Layout, Segment, place
from m3.evaluate import FAILURES, Value, evaluate
from m3.program import MapRef, Program, Statement, Trigger
from m3.scalars import Scalar, Var, variables

__all__ = ["WHOLE", "Box", "FetchEntry", "Interval", "PutEntry", "SpatialIndex", "dispatched", "indexes", "value_of"]

#: A part of the line, from (inclusive) to (exclusive); and one for each key of a map.
Interval = tuple[int, int]
Box = tuple[Interval, ...]
Cell = tuple[int, ...]
WHOLE: Interval = (0, PLACES)


@dataclass(frozen=True)
class FetchEntry:
    """A FETCH to ``node``: the numbers of the references to read there, each with the region that is wanted. ``after``: with the event's
    own writes (M3's AFTER). References with and without have different versions, so they are different messages."""

    node: int
    after: bool
    refs: tuple[tuple[int, Box], ...]


@dataclass(frozen=True)
class PutEntry:
    """A PUT of a statement to the node of ``target``, which waits for as many PUSHes as there are ``fetches``."""

    statement: int
    target: Segment
    node: int
    fetches: tuple[FetchEntry, ...]


def interval_of(index: int, partitions: int) -> Interval:
    """The places of one of so many partitions.

    >>> interval_of(1, 4) == (PLACES // 4, PLACES // 2)
    True
    """
    return -(-index * PLACES // partitions), -(-(index + 1) * PLACES // partitions)


def intersecting(interval: Interval, partitions: int) -> range:
    """Which of so many partitions have points in an interval.

    >>> intersecting((PLACES // 4, PLACES // 2), 4), intersecting((0, PLACES // 2), 3)
    (range(1, 2), range(0, 2))
    """
    low, high = interval
    return range(low * partitions // PLACES, (high - 1) * partitions // PLACES + 1 if low < high else 0)


def project(keys: tuple[Scalar, ...], known: Mapping[Scalar, Interval]) -> Box:
    """The region that keys may lie in: the whole line where nothing is known of one."""
    return tuple(known.get(key, WHOLE) for key in keys)


def value_of(key: Scalar, env: Mapping[str, Value]) -> Value:
    """A key's value for an event; None where it has none, as that of a statement may whose conditions do not hold."""
    try:
        return evaluate(key, env)
    except FAILURES:
        return None


class SpatialIndex:
    """One trigger's index. Entries are made when they are first asked for, and kept; :meth:`generate` makes them all."""

    def __init__(self, program: Program, layout: Layout, trigger: Trigger) -> None:
        self.program, self.layout, self.trigger = program, layout, trigger
        self._params = set(trigger.params)
        self.axes = {key: tuple(sorted(cuts)) for key, cuts in self._cuts().items()}
        self._entries: dict[Cell, tuple[PutEntry, ...]] = {}

    def _cuts(self) -> dict[Scalar, set[int]]:
        """Key of the event -> where a map that it is used with is cut."""
        cuts: dict[Scalar, set[int]] = {}
        for statement in self.trigger.statements:
            for name, keys in [(statement.target, statement.keys), *((r.map, r.keys) for r in statement.reads())]:
                for key, count in zip(keys, self.layout.partitions[name], strict=True):
                    if set(variables(key)) <= self._params:
                        cuts.setdefault(key, set()).update(interval_of(i, count)[0] for i in range(count))
        return cuts

    def cell_of(self, env: Mapping[str, Value]) -> Cell:
        """The cell that an event's values lie in."""
        return tuple(bisect_right(cuts, place(value_of(key, env))) - 1 for key, cuts in self.axes.items())

    def cells(self) -> Iterator[Cell]:
        """All cells."""
        return product(*(range(len(cuts)) for cuts in self.axes.values()))

    def generate(self) -> dict[Cell, tuple[PutEntry, ...]]:
        """All entries."""
        return {cell: self.entry(cell) for cell in self.cells()}

    def entry(self, cell: Cell) -> tuple[PutEntry, ...]:
        """What an event in a cell needs: lines 1 to 15 of the figure."""
        if cell not in self._entries:
            known = self._extent(cell)
            puts = (p for i, s in enumerate(self.trigger.statements) for p in self._puts(i, s, known))
            self._entries[cell] = tuple(puts)
        return self._entries[cell]

    def _extent(self, cell: Cell) -> dict[Scalar, Interval]:
        ends = {key: (*cuts, PLACES) for key, cuts in self.axes.items()}
        return {key: (ends[key][i], ends[key][i + 1]) for key, i in zip(self.axes, cell, strict=True)}

    def _puts(self, number: int, update: Statement, known: Mapping[Scalar, Interval]) -> Iterator[PutEntry]:
        """Lines 3 to 13, for one update."""
        region = project(update.keys, known)
        for target, box in self._partitions(update.target, region):
            fetches = self._fetches(update, {**self._loops(update, box), **known})
            yield PutEntry(number, target, self.layout.owner[target], fetches)

    def _loops(self, update: Statement, box: Box) -> dict[Scalar, Interval]:
        """What a partition of the target says of the loop variables."""
        loops: dict[Scalar, Interval] = {}
        for key, (low, high) in zip(update.keys, box, strict=True):
            if isinstance(key, Var) and key.name not in self._params:
                known = loops.get(key, WHOLE)
                loops[key] = max(low, known[0]), min(high, known[1])
        return loops

    def _fetches(self, update: Statement, known: Mapping[Scalar, Interval]) -> tuple[FetchEntry, ...]:
        """Lines 5 to 10 and 12: the reads, grouped by node."""
        reads: dict[tuple[int, bool], dict[int, Box]] = {}
        for number, ref in enumerate(update.reads()):
            region = project(ref.keys, known)
            for source, _ in self._partitions(ref.map, region):
                reads.setdefault((self.layout.owner[source], self._after(ref)), {})[number] = region
        return tuple(FetchEntry(node, after, tuple(refs.items())) for (node, after), refs in sorted(reads.items()))

    def _after(self, ref: MapRef) -> bool:
        """AFTER says something under snapshot semantics only."""
        return ref.after and self.program.semantics == "snapshot"

    def _partitions(self, name: str, region: Box) -> Iterator[tuple[Segment, Box]]:
        """The partitions of a map that intersect a region."""
        counts = self.layout.partitions[name]
        for index in product(*map(intersecting, region, counts)):
            yield Segment(name, index), tuple(map(interval_of, index, counts))


def indexes(program: Program, layout: Layout) -> dict[tuple[str, int], SpatialIndex]:
    """The index of each trigger, by its event: relation and sign."""
    triggers = [t for t in program.triggers if t.relation and t.sign]
    return {(t.relation, t.sign): SpatialIndex(program, layout, t) for t in triggers}


def dispatched(known: Mapping[tuple[str, int], SpatialIndex]) -> Callable[[Event], Dispatched]:
    """What is sent for an event: (statement, target) of each PUT -> (node, number of the reference) of its reads."""

    def of(event: Event) -> Dispatched:
        index = known[event.relation, event.sign]
        puts = index.entry(index.cell_of(env_of(index.trigger, event.row)))
        return {(p.statement, p.target): {(f.node, number) for f in p.fetches for number, _ in f.refs} for p in puts}

    return of
