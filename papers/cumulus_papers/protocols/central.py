"""What target and source aggregation share: **serialisable consistency under a central coordinator** (Cumulus paper, section 3.2).

The coordinator gives each event a version and spreads it over a tree of all nodes, so that all get all events in the same order. A node looks up what
is to be done. Each segment goes through the serial order by itself, in its :class:`Timeline`: a write waits for all earlier writes, a read for
all writes that it is to see. A statement for an event is a :class:`Task`, which waits for its slices.

At the end of an epoch the coordinator asks for a snapshot, along the same tree; it is one more read of every segment::

    coordinator ──Notify, Snapshot──► node 0 ──► nodes 1, 2 ──► ...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from cumulus_papers.case import (
    STATEMENTS,
    Arrival,
    Case,
    Event,
    Stamp,
    Version,
    read_bound,
    reads_of,
)
from cumulus_papers.kernel import Actor, Here, Message, Simulation
from cumulus_papers.layout import DirectiveTable, Read, Segment, Write, env_of
from cumulus_papers.run import (
    Committed,
    Entries,
    Maps,
    Stamped,
    Wrong,
    add_to,
    beginning,
    coordinator,
    node,
    slice_of,
    union,
)
from m3.statements import Key, contribution

__all__ = [
    "CentralNode",
    "CentralSystem",
    "Coordinator",
    "EpochEnd",
    "Notify",
    "Snapshot",
    "Task",
    "Timeline",
    "central",
]


@dataclass(frozen=True)
class Notify(Message):
    """An event and its version, on its way down the tree."""

    event: Event

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.event.version,)


@dataclass(frozen=True)
class Snapshot(Message):
    """Keep all segments as they are after all events up to a version, on its way down the tree."""

    through: Version


@dataclass(frozen=True)
class EpochEnd(Message):
    """The coordinator's clock: an epoch is over."""


class Coordinator:
    """Serialises and disseminates."""

    def __init__(self, here: Here, case: Case) -> None:
        self.here, self.root = here, node(case.layout.nodes[0])
        self.last = Version(0, 0, 0)

    def receive(self, message: Message, sender: str) -> None:
        """An event from outside, or the end of an epoch."""
        if isinstance(message, EpochEnd):
            self.here.send(self.root, Snapshot(self.last))
            self.last = Version(self.last.epoch + 1, 0, 0)
            return
        assert isinstance(message, Arrival)
        self.last = self.last._replace(sequence=self.last.sequence + 1)
        event = Event(self.last, message.sign, message.relation, message.row)
        self.here.report(Stamped(event))
        self.here.send(self.root, Notify(event))


@dataclass
class Timeline:
    """A segment's entries on their way through the serial order: what has been written, and the writes and reads that wait.

    Writes are expected in the order of their stamps, since events come in that order; their deltas become known in any.
    """

    entries: Entries
    _writes: dict[Stamp, Mapping[Key, int] | None] = field(default_factory=dict)
    _reads: list[tuple[Stamp, Callable[[Entries], None]]] = field(default_factory=list)

    def expect(self, stamp: Stamp) -> None:
        """There will be a write, after all that were expected before."""
        assert not self._writes or next(reversed(self._writes)) < stamp
        self._writes[stamp] = None

    def write(self, stamp: Stamp, delta: Mapping[Key, int]) -> None:
        """What an expected write adds is known."""
        assert stamp in self._writes
        self._writes[stamp] = delta

    def read(self, bound: Stamp, reader: Callable[[Entries], None]) -> None:
        """Call the reader when exactly the writes below a bound are done."""
        self._reads.append((bound, reader))

    @property
    def waiting(self) -> int:
        """How many reads and writes wait."""
        return len(self._reads) + len(self._writes)

    def go_on(self) -> int:
        """Do all that can be done now; returns the entries that were written."""
        written = 0
        while True:
            first = next(iter(self._writes), None)
            ready = [reader for bound, reader in self._reads if first is None or bound <= first]
            self._reads = [(bound, reader) for bound, reader in self._reads if first is not None and first < bound]
            for reader in ready:
                reader(self.entries)
            if first is None or (delta := self._writes[first]) is None:
                return written
            del self._writes[first]
            written += len(delta)
            add_to(self.entries, delta)


@dataclass
class Task:
    """A statement for an event and one target segment, and the slices that it has so far."""

    event: Event
    write: Write
    slices: dict[Read, Entries] = field(default_factory=dict)

    @property
    def stamp(self) -> Stamp:
        """The write's place in the order."""
        return Stamp(self.event.version, self.write.statement)

    @property
    def complete(self) -> bool:
        """Whether all slices are here, empty ones too."""
        return len(self.slices) == len(self.write.reads)


class CentralNode(ABC):
    """A node under a central coordinator: passes on what comes down the tree, and keeps the timelines of the segments that it holds."""

    def __init__(self, here: Here, case: Case, number: int, held: Iterable[Segment]) -> None:
        self.here, self.case, self.number = here, case, number
        self.timelines = {s: Timeline(entries) for s, entries in beginning(case, held).items()}
        self.seen: Version | None = None
        self._early: dict[Version, list[tuple[Message, str]]] = {}
        self._snapshots: dict[Version, dict[Segment, Entries]] = {}
        nodes, width = case.layout.nodes, case.options["fan_out"]
        place = nodes.index(number)
        self._children = [node(n) for n in nodes[place * width + 1 : (place + 1) * width + 1]]

    @abstractmethod
    def notified(self, event: Event) -> None:
        """Enter an event's reads and writes into the timelines."""

    @abstractmethod
    def arrived(self, message: Message) -> None:
        """Handle a message of the protocol, about an event that this node knows."""

    def receive(self, message: Message, sender: str) -> None:
        """Something from the tree, or from another node, which may know of the event sooner than this one does."""
        if isinstance(message, (Notify, Snapshot)):
            for child in self._children:
                self.here.send(child, message)
        if isinstance(message, Notify):
            self.seen = message.event.version
            self.notified(message.event)
            for early, by in self._early.pop(self.seen, ()):
                self.receive(early, by)
        elif isinstance(message, Snapshot):
            self._keep(message.through)
        else:
            (version,) = message.about()
            if self.seen is None or version > self.seen:
                self._early.setdefault(version, []).append((message, sender))
            else:
                self.arrived(message)

    @property
    def waiting(self) -> int:
        """How much is kept until something else comes; nothing when all have been heard."""
        return len(self._early) + len(self._snapshots) + sum(t.waiting for t in self.timelines.values())

    def go_on(self, *segments: Segment) -> None:
        """Do what can be done at some segments now."""
        for segment in segments:
            self.here.spend(self.case.costs.write_s * self.timelines[segment].go_on())

    def read(self, table: DirectiveTable, event: Event, read: Read, reader: Callable[[Entries], None]) -> None:
        """Call the reader with the slice, once it is what the statement has to see."""
        wanted = reads_of(table.trigger, read.statement)[read.read].slice
        bound = read_bound(self.case.program, event.version, read.statement, wanted.after)

        def cut(entries: Entries) -> None:
            found = slice_of(entries, wanted, env_of(table.trigger, event.row))
            self.here.spend(self.case.costs.read_s * len(found))
            reader(found)

        self.timelines[read.source].read(bound, cut)

    def delta(self, table: DirectiveTable, task: Task) -> Entries:
        """What a complete task adds to its target segment; what lies outside is for the task of another segment."""
        statement = table.trigger.statements[task.write.statement]
        gathered: list[Entries] = [{} for _ in statement.reads()]
        for read, entries in task.slices.items():
            gathered[read.read].update(entries)
        delta = contribution(self.case.program, statement, env_of(table.trigger, task.event.row), gathered)
        place, target = self.case.layout.segment_of, task.write.target
        return {key: units for key, units in delta.items() if place(target.map, key) == target}

    def _keep(self, through: Version) -> None:
        mine = self.case.layout.owned_by(self.number)
        kept = self._snapshots[through] = {}

        def keep(segment: Segment, entries: Entries) -> None:
            kept[segment] = dict(entries)
            if len(kept) == len(mine):
                self.here.report(Committed(through, self._snapshots.pop(through)))

        for segment in mine:
            self.timelines[segment].read(Stamp(through, STATEMENTS), lambda e, s=segment: keep(s, e))  # type: ignore[misc]
        self.go_on(*mine)


class CentralSystem:
    """The actors at work. Every epoch that ended must have a snapshot at every node."""

    def __init__(self, case: Case, simulation: Simulation) -> None:
        self.case, self.simulation = case, simulation
        self.snapshots: Counter[str] = Counter()

    def node(self, number: int) -> CentralNode:
        """A node as it is now."""
        found = self.simulation.actor(node(number))
        assert isinstance(found, CentralNode)
        return found

    def maps(self) -> Maps:
        """What the owners have."""
        owner = self.case.layout.owner
        return union((s, self.node(n).timelines[s].entries) for s, n in owner.items())

    def watch(self, now_s: float, name: str, what: object) -> None:
        """Count the snapshots."""
        self.snapshots[name] += isinstance(what, Committed)

    def finish(self) -> Mapping[str, int]:
        """See that no epoch was forgotten, and that nothing waits any longer."""
        for n in self.case.layout.nodes:
            if self.node(n).waiting:
                raise Wrong(f"at {node(n)} {self.node(n).waiting} reads, writes and messages wait, though all is over")
            if self.snapshots[node(n)] != self.case.epochs:
                raise Wrong(f"{node(n)} has {self.snapshots[node(n)]} snapshots, of {self.case.epochs} epochs")
        return Counter()


def central(case: Case, simulation: Simulation, node_of: Callable[[Here, int], Actor]) -> None:
    """Add the coordinator with its clock, and the nodes."""
    simulation.add(coordinator(0), lambda here: Coordinator(here, case))
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: node_of(here, n))  # type: ignore[misc]
    for epoch in range(case.epochs):
        simulation.inject((epoch + 1) * case.epoch_s, coordinator(0), EpochEnd())
