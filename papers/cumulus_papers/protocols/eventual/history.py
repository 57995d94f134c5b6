"""The history of a node: ``history[V o i] = {statement, parameters, delta}``, and **compute** (Cumulus paper, Figure 5).

The delta is what has been sent so far. As printed, Push subtracts the delta that has just arrived, and leaves the history as it is: the next push
would correct twice. Here what has been sent is subtracted, and the new value is stored.

Map entries as lists of deltas, sorted by version (Cumulus paper, Figure 5: Push, and Cleanup).

>>> from cumulus_papers.case import BEGINNING
>>> m, one, two = Segment("m", ()), Stamp(Version(0, 0, 1), 0), Stamp(Version(0, 1, 1), 0)
>>> copies = Versioned({m: {}})
>>> copies.insert(m, two, {("a",): 5}); copies.insert(m, one, {("a",): 2})
>>> copies.below(m, two), copies.now(m)
({('a',): 2}, {('a',): 7})
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cumulus_papers.case import BEGINNING, STATEMENTS, Stamp, Version
from cumulus_papers.layout import Layout, Segment
from cumulus_papers.run import Entries
from m3.evaluate import Value
from m3.program import Program, Statement
from m3.statements import Key, contribution

__all__ = ["Entry", "History", "Versioned", "Want", "compute", "minus"]


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
                deltas = entries[key]
                kept = [d for d in deltas if d[0].version > through]
                total = sum(units for stamp, units in deltas if stamp.version <= through)
                entries[key] = [(Stamp(through, STATEMENTS - 1), total), *kept] if total else kept
                if not entries[key]:
                    del entries[key]


def _stamp(delta: tuple[Stamp, int]) -> Stamp:
    return delta[0]


@dataclass(frozen=True)
class Want:
    """What one read of a statement wants for an event: of these segments the entries whose keys have the values ``key`` at the positions
    ``path``, made up of writes with stamps below a bound (exclusive)."""

    segments: tuple[Segment, ...]
    path: tuple[int, ...]
    key: Key
    below: Stamp

    def concerns(self, stamp: Stamp, delta: Mapping[Key, int]) -> bool:
        """Whether a write of one of the segments is in what is read (section 4.2: an unfulfilled dependency, if it comes late)."""
        return stamp < self.below and any(tuple(k[i] for i in self.path) == self.key for k in delta)


@dataclass
class Entry:
    """One statement of one event at one node, which writes ``targets``. ``sent``: the sum of all deltas sent for it; None before the first."""

    stamp: Stamp
    statement: Statement
    env: Mapping[str, Value]
    wants: tuple[Want, ...]
    targets: frozenset[Segment]
    sent: Entries | None = None

    def difference(self, delta: Entries) -> Entries:
        """What has to be sent, so that what has been sent sums up to ``delta``."""
        return minus(delta, self.sent or {})

    def store(self, delta: Entries) -> None:
        """Remember what has been sent."""
        self.sent = delta


@dataclass
class History:
    """The entries by stamp, and by the segments they read."""

    entries: dict[Stamp, Entry] = field(default_factory=dict)
    readers: dict[Segment, list[Entry]] = field(default_factory=dict)

    def insert(self, entry: Entry) -> None:
        """An event's statement."""
        self.entries[entry.stamp] = entry
        for segment in dict.fromkeys(s for want in entry.wants for s in want.segments):
            self.readers.setdefault(segment, []).append(entry)

    def affected(self, segment: Segment, stamp: Stamp, delta: Mapping[Key, int]) -> Iterator[Stamp]:
        """The later entries that read what a write has changed."""
        for entry in self.readers.get(segment, ()):
            if any(segment in want.segments and want.concerns(stamp, delta) for want in entry.wants):
                yield entry.stamp

    def cleanup(self, through: Version) -> None:
        """Forget the events up to a version (inclusive)."""
        self.entries = {s: e for s, e in self.entries.items() if s.version > through}
        readers = {s: [e for e in entries if e.stamp.version > through] for s, entries in self.readers.items()}
        self.readers = {s: entries for s, entries in readers.items() if entries}


def compute(program: Program, layout: Layout, entry: Entry, copies: Versioned) -> Entries:
    """What a statement contributes to its targets for an event, from the copies as they are, without what is later in the order."""
    slices: list[Entries] = []
    for want in entry.wants:
        gathered: Entries = {}
        for segment in want.segments:
            gathered.update(copies.below(segment, want.below, want.path, want.key))
        slices.append(gathered)
    delta = contribution(program, entry.statement, dict(entry.env), slices)
    target = entry.statement.target
    return {key: units for key, units in delta.items() if layout.segment_of(target, key) in entry.targets}


def minus(delta: Mapping[Key, int], other: Mapping[Key, int]) -> Entries:
    """The difference of two deltas, without zeros.

    >>> minus({("a",): 3, ("b",): 1}, {("a",): 1, ("b",): 1})
    {('a',): 2}
    """
    keys = dict.fromkeys((*delta, *other))
    return {key: units for key in keys if (units := delta.get(key, 0) - other.get(key, 0))}
