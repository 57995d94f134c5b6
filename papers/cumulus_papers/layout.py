"""The **layout**: which node has which segment of which map (Cumulus paper, section 3; system section, "Trigger Dispatch").

A map's key space is cut along each key column, as in a grid file: ``partitions[map][axis]`` is the number of cuts' intervals there. All
maps cut the same line, the numbers 0 (inclusive) to 1 (exclusive), to which :func:`place` maps every value; the intervals of an axis are
equally long. Where one axis has twice the partitions of another, its boundaries include the other's.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import product

from m3.program import Program
from m3.statements import Key

__all__ = [
    "PLACES",
    "Interval",
    "Layout",
    "Segment",
    "overlap",
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


def overlap(i: int, of: int, j: int, of_other: int) -> bool:
    """Whether interval i of ``of`` and interval j of ``of_other`` have points in common.

    >>> overlap(0, 2, 1, 4), overlap(0, 2, 2, 4)
    (True, False)
    """
    return i * of_other < (j + 1) * of and j * of < (i + 1) * of_other


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
