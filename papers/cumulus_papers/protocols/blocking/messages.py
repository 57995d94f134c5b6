"""What the switch and the nodes send each other, and what they tell those who watch (system section, "Anatomy of an Update").

A message has **parts**, several only with coalescing: all that goes from one place to another for one event is one message then. Whatever its
message, a part has its own version number, and the FETCHes that a PUT waits for are counted by parts.

**Collation** (system section, "Get Collation", with the figure of the DW node's collation algorithm).

A FETCH holds references to maps, with the event's values for keys; a loop variable is a **wildcard**, which matches any value of the region that the
reading partition needs. A PUSH holds keys and values of maps. The node of the PUT makes a table for each reference of the update's
expression, puts what it was pushed into every table whose reference matches the keys, and joins the tables on the loop variables: each row
of the join is one addition to the target. Two references to one map may so get the same value from one message.

>>> from cumulus_papers.layout import PLACES
>>> ref = Reference("m", (7, Wildcard(0, PLACES)), after=False)
>>> check_match(ref, (7, 1)), check_match(ref, (8, 1))
(True, False)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from cumulus_papers.case import Event, Version
from cumulus_papers.kernel import Message
from cumulus_papers.layout import PLACES, Layout, Segment, env_of, place
from cumulus_papers.run import Dispatched, Entries
from m3.evaluate import FAILURES, Value, evaluate
from m3.program import MapRef, Program, Statement, Trigger
from m3.scalars import Scalar, Var, variables
from m3.statements import Env, Key, contribution

__all__ = [
    "WHOLE",
    "Answered",
    "AskStatus",
    "Box",
    "Commit",
    "Completed",
    "EpochEnd",
    "Executed",
    "Fetch",
    "FetchEntry",
    "FetchPart",
    "Interval",
    "Push",
    "PushPart",
    "Pushed",
    "Put",
    "PutEntry",
    "PutPart",
    "Reference",
    "Snapshot",
    "SpatialIndex",
    "Status",
    "Versions",
    "Wildcard",
    "check_match",
    "collate",
    "dispatched",
    "indexes",
    "refer",
    "value_of",
]


# What a node keeps of a partition: for each key its values by the version that wrote them, until COMMIT discards the overwritten ones.


@dataclass
class Versions:
    """Key -> (version, value after it), ascending. A key without an entry is zero.

    >>> versions = Versions()
    >>> versions.add(1, {(7,): 10}); versions.add(3, {(7,): -4})
    >>> versions.as_of(2), versions.as_of(3), versions.discard(3), versions.as_of(3)
    ({(7,): 10}, {(7,): 6}, 1, {(7,): 6})
    """

    values: dict[Key, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, version: int, delta: Mapping[Key, int]) -> None:
        """Let a version add something."""
        for key, units in delta.items():
            values = self.values.setdefault(key, [])
            values.append((version, (values[-1][1] if values else 0) + units))

    def as_of(self, version: int, ref: Reference | None = None) -> Entries:
        """The entries after a version: all, or those that a reference means; no zeros."""
        found = {
            key: next((units for number, units in reversed(values) if number <= version), 0)
            for key, values in self.values.items()
            if ref is None or check_match(ref, key)
        }
        return {key: units for key, units in found.items() if units}

    def discard(self, version: int) -> int:
        """Forget the values that were overwritten before a version, or by it; how many."""
        forgotten = 0
        for key, values in list(self.values.items()):
            *overwritten, newest = [(0, 0), *(v for v in values if v[0] <= version)]
            forgotten += len(overwritten[1:])
            self.values[key] = [newest] * bool(newest[1]) + [v for v in values if v[0] > version]
            if not self.values[key]:
                del self.values[key]
        return forgotten


# The **trigger-dispatch spatial index** (system section, "Trigger Dispatch", with the figure of the switch's trigger dispatch algorithm).
#
# For each trigger the switch has an index like a grid file's directory. Its axes are the keys that the trigger's statements compute from
# the event; an axis is cut wherever one of the maps used with that key is cut, so that a **cell** lies in one partition of each. A cell's
# entry is the set of PUT and FETCH messages that an event in it needs: the event's values find the cell, and fill the messages in.
#
# A loop variable is not on an axis. Its part of a region is the whole line at first (:func:`project` on the target's index); for a partition of the
# target it is that partition's interval, and what is read are the partitions of the other map that intersect it.


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

    def entry(self, cell: Cell) -> tuple[PutEntry, ...]:
        """What an event in a cell needs: lines 1 to 15 of the figure."""
        if cell not in self._entries:
            ends = {key: (*cuts, PLACES) for key, cuts in self.axes.items()}
            known = {key: (ends[key][i], ends[key][i + 1]) for key, i in zip(self.axes, cell, strict=True)}
            puts = (p for i, s in enumerate(self.trigger.statements) for p in self._puts(i, s, known))
            self._entries[cell] = tuple(puts)
        return self._entries[cell]

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
                # AFTER says something under snapshot semantics only.
                after = ref.after and self.program.semantics == "snapshot"
                reads.setdefault((self.layout.owner[source], after), {})[number] = region
        return tuple(FetchEntry(node, after, tuple(refs.items())) for (node, after), refs in sorted(reads.items()))

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


@dataclass(frozen=True)
class Wildcard:
    """A loop variable: any value at these places, from ``low`` (inclusive) to ``high`` (exclusive)."""

    low: int
    high: int


@dataclass(frozen=True)
class Reference:
    """A map reference, filled in with an event's values."""

    map: str
    keys: tuple[Value | Wildcard, ...]
    after: bool


@dataclass(frozen=True)
class Pushed:
    """Keys and values of a map; ``after``: as they are with the event's own writes."""

    map: str
    after: bool
    entries: Entries


def refer(program: Program, ref: MapRef, env: Env, region: Box | None = None) -> Reference:
    """A reference filled in; wildcards match a region of the map, or all of it."""
    known, places = set(env), region or (WHOLE,) * len(ref.keys)
    keys = (
        value_of(key, env) if set(variables(key)) <= known else Wildcard(*places[i]) for i, key in enumerate(ref.keys)
    )
    return Reference(ref.map, tuple(keys), ref.after and program.semantics == "snapshot")


def check_match(ref: Reference, key: Key) -> bool:
    """Whether a key is one that a reference means."""
    return all(_matches(wanted, value) for wanted, value in zip(ref.keys, key, strict=True))


def _matches(wanted: Value | Wildcard, value: Value) -> bool:
    if not isinstance(wanted, Wildcard):
        return wanted == value
    return (wanted.low, wanted.high) == WHOLE or wanted.low <= place(value) < wanted.high


def collate(
    program: Program, layout: Layout, trigger: Trigger, env: Env, statement: int, target: Segment, got: Iterable[Pushed]
) -> Entries:
    """What an update adds to a partition of its target, given all that was pushed."""
    update = trigger.statements[statement]
    inputs: list[tuple[Reference, Entries]] = [(refer(program, ref, env), {}) for ref in update.reads()]
    for pushed in got:
        for ref, table in inputs:
            if (pushed.map, pushed.after) == (ref.map, ref.after):
                table.update((k, units) for k, units in pushed.entries.items() if check_match(ref, k))
    joined: Mapping[Key, int] = contribution(program, update, env, [table for _, table in inputs])
    return {k: units for k, units in joined.items() if layout.segment_of(update.target, k) == target}


@dataclass(frozen=True)
class PutPart:
    """Version ``number`` of the node: a statement's addition to ``target``, from the answers to so many FETCHes."""

    number: int
    statement: int
    target: Segment
    fetches: int


@dataclass(frozen=True)
class FetchPart:
    """Read ``refs`` in the node's version ``number``, for the PUT that is version ``put`` of ``node``."""

    number: int
    refs: tuple[Reference, ...]
    node: int
    put: int


@dataclass(frozen=True)
class PushPart:
    """The answer to one FETCH, for the PUT that is version ``put``."""

    put: int
    values: tuple[Pushed, ...]


@dataclass(frozen=True)
class Put(Message):
    """Switch to node: write."""

    event: Event
    parts: tuple[PutPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.event.version,)


@dataclass(frozen=True)
class Fetch(Message):
    """Switch to node: read, and push the result."""

    version: Version
    parts: tuple[FetchPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The reading event's version."""
        return (self.version,)


@dataclass(frozen=True)
class Push(Message):
    """Node to node: what was read."""

    version: Version
    parts: tuple[PushPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The reading event's version."""
        return (self.version,)


@dataclass(frozen=True)
class Status(Message):
    """Switch to node: which PUTs are complete?"""


@dataclass(frozen=True)
class Completed(Message):
    """Node to switch: all up to this number."""

    number: int


@dataclass(frozen=True)
class Commit(Message):
    """Switch to node: your version ``number`` belongs to the snapshot after all events up to ``through``."""

    number: int
    through: Version


@dataclass(frozen=True)
class EpochEnd(Message):
    """The switch's clock: the next epoch begins."""


@dataclass(frozen=True)
class AskStatus(Message):
    """The switch's clock: time to look what can be committed."""


@dataclass(frozen=True)
class Executed:
    """Told to those who watch: a PUT was executed, after version ``after``, with ``pushes`` of so many ``fetches``."""

    number: int
    after: int
    pushes: int
    fetches: int


@dataclass(frozen=True)
class Answered:
    """Told to those who watch: a FETCH for version ``number`` was answered when ``done`` was complete."""

    number: int
    done: int


@dataclass(frozen=True)
class Snapshot:
    """Told to those who watch: COMMIT of version ``number`` came when ``done`` was complete; ``discarded`` values were overwritten before."""

    number: int
    done: int
    discarded: int
