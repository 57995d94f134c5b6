"""Map entries as lists of deltas, sorted by version (Cumulus paper, Figure 5: Push, and Cleanup).

>>> from cumulus_ops.simulation.case import BEGINNING
>>> m, one, two = Segment("m", ()), Stamp(Version(0, 0, 1), 0), Stamp(Version(0, 1, 1), 0)
>>> copies = Versioned({m: {}})
>>> copies.insert(m, two, {("a",): 5}); copies.insert(m, one, {("a",): 2})
>>> copies.below(m, two), copies.now(m)
({('a',): 2}, {('a',): 7})
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from cumulus_ops.simulation.case import BEGINNING, STATEMENTS, Stamp, Version
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.store import Entries
from m3.statements import Key

__all__ = ["Versioned"]


class Versioned:
    """Copies of segments.

    Args:
        start: segment -> its entries before the first event.
    """

    def __init__(self, start: Mapping[Segment, Mapping[Key, int]]) -> None:
        self.segments: dict[Segment, dict[Key, list[tuple[Stamp, int]]]] = {
            segment: {key: [(BEGINNING, units)] for key, units in entries.items()} for segment, entries in start.items()
        }

    def insert(self, segment: Segment, stamp: Stamp, delta: Mapping[Key, int]) -> None:
        """Insert a delta by its version; what one statement of one event sends later is added to what it sent before."""
        entries = self.segments[segment]
        for key, units in delta.items():
            deltas = entries.setdefault(key, [])
            i = bisect_left(deltas, stamp, key=_stamp)
            if i < len(deltas) and deltas[i][0] == stamp:
                deltas[i] = stamp, deltas[i][1] + units
            else:
                deltas.insert(i, (stamp, units))

    def below(self, segment: Segment, bound: Stamp, path: Iterable[int] = (), key: Key = ()) -> Entries:
        """The entries that deltas with stamps below a bound (exclusive) sum up to, whose keys have certain values at the positions ``path``."""
        path, total = tuple(path), {}
        for k, deltas in self.segments[segment].items():
            if tuple(k[i] for i in path) == key:
                units = sum(units for stamp, units in deltas if stamp < bound)
                if units:
                    total[k] = units
        return total

    def now(self, segment: Segment) -> Entries:
        """The entries that all deltas sum up to."""
        sums = ((key, sum(units for _, units in deltas)) for key, deltas in self.segments[segment].items())
        return {key: units for key, units in sums if units}

    def cleanup(self, through: Version) -> None:
        """Replace the deltas of events up to a version (inclusive) by their sum. As printed the paper drops those below the version and sums
        those up to it, so that its own would count twice."""
        for entries in self.segments.values():
            for key in list(entries):
                entries[key] = _folded(entries[key], through)
                if not entries[key]:
                    del entries[key]


def _stamp(delta: tuple[Stamp, int]) -> Stamp:
    return delta[0]


def _folded(deltas: list[tuple[Stamp, int]], through: Version) -> list[tuple[Stamp, int]]:
    kept = [d for d in deltas if d[0].version > through]
    total = sum(units for stamp, units in deltas if stamp.version <= through)
    return [(Stamp(through, STATEMENTS - 1), total), *kept] if total else kept
