"""**Target aggregation** under a central coordinator (Cumulus paper, sections 3.1 and 3.2).

The coordinator gives each event a version and spreads it over a tree of all nodes. A node looks its own reads and writes up in the directive
table. Reads wait until all earlier writes of their segment are done; then the slice, empty ones too, goes to the node of the target. A write waits
for all its slices, and for the earlier writes of its segment. So each segment goes through the serial order by itself::

    coordinator ──Notify──► node 0 ──Notify──► nodes 1, 2 ──Notify──► ...
    node of a source segment ──Slice──► node of the target segment
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from cumulus_ops.simulation.case import Arrival, Case, Event, Stamp, Version, env_of, read_bound, reads_of
from cumulus_ops.simulation.judge import Maps, Stamped
from cumulus_ops.simulation.kernel import Here, Message, Simulation
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.run import Spec, coordinator, node
from cumulus_ops.simulation.store import Entries, add_to, beginning, slice_of, union
from cumulus_ops.simulation.tables import Read, Tables, Write
from m3.statements import contribution

__all__ = ["TARGET", "Notify", "Slice"]


@dataclass(frozen=True)
class Notify(Message):
    """An event and its version, on its way down the tree."""

    event: Event

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.event.version,)


@dataclass(frozen=True)
class Slice(Message):
    """What a segment has for a read: the entries, none too."""

    version: Version
    read: Read
    entries: Entries

    def about(self) -> tuple[Version, ...]:
        """The reading event's version."""
        return (self.version,)


class Coordinator:
    """Serialises and disseminates."""

    def __init__(self, here: Here, case: Case) -> None:
        self.here, self.case, self.sequence = here, case, 0

    def receive(self, message: Message, sender: str) -> None:
        """An event from outside."""
        assert isinstance(message, Arrival)
        self.sequence += 1
        event = Event(Version(0, 0, self.sequence), message.sign, message.relation, message.row)
        self.here.report(Stamped(event))
        self.here.send(node(self.case.layout.nodes[0]), Notify(event))


@dataclass
class _Pending:
    """What waits at one segment, by stamps: writes with the slices they have got, and reads with their bounds."""

    writes: dict[Stamp, tuple[Event, Write, dict[Read, Entries]]] = field(default_factory=dict)
    reads: list[tuple[Stamp, Event, Read]] = field(default_factory=list)


class Node:
    """Has segments, and does with each what the serial order says, as soon as it can."""

    def __init__(self, here: Here, case: Case, number: int, tables: Tables) -> None:
        self.here, self.case, self.number, self.tables = here, case, number, tables
        mine = set(case.layout.owned_by(number))
        self.segments = {s: e for s, e in beginning(case).items() if s in mine}
        self.pending = {s: _Pending() for s in mine}
        self.early: dict[Version, list[Slice]] = {}
        self.seen: Version | None = None
        self.children = self._children()

    def _children(self) -> list[str]:
        """Below this node in the tree, in which every node passes on to ``fan_out`` others."""
        nodes, width = self.case.layout.nodes, self.case.options["fan_out"]
        here = nodes.index(self.number)
        return [node(n) for n in nodes[here * width + 1 : (here + 1) * width + 1]]

    def receive(self, message: Message, sender: str) -> None:
        """An event, or a slice that a write of this node waits for."""
        if isinstance(message, Notify):
            self._notified(message)
        else:
            assert isinstance(message, Slice)
            self._slice(message)

    def _notified(self, message: Notify) -> None:
        for child in self.children:
            self.here.send(child, message)
        event = message.event
        self.seen = event.version
        table = self.tables.of(event.relation, event.sign)
        if table is None:
            return
        directive = table.directive(table.class_of(env_of(table.trigger, event.row)))
        touched: list[Segment] = []
        for write in directive.writes:
            for read in write.reads:
                if read.source in self.pending:
                    slice_read = reads_of(table.trigger, read.statement)[read.read].slice
                    bound = read_bound(self.case.program, event.version, read.statement, slice_read.after)
                    self.pending[read.source].reads.append((bound, event, read))
                    touched.append(read.source)
            if write.target in self.pending:
                self.pending[write.target].writes[Stamp(event.version, write.statement)] = event, write, {}
                touched.append(write.target)
        for segment in touched:
            self._go_on(segment)
        for early in self.early.pop(event.version, ()):
            self._slice(early)

    def _slice(self, message: Slice) -> None:
        if self.seen is None or message.version > self.seen:
            self.early.setdefault(message.version, []).append(message)
            return
        stamp = Stamp(message.version, message.read.statement)
        self.pending[message.read.target].writes[stamp][2][message.read] = message.entries
        self._go_on(message.read.target)

    def _go_on(self, segment: Segment) -> None:
        """Do all that can be done at a segment now."""
        pending = self.pending[segment]
        while True:
            first = min(pending.writes, default=None)
            for read in [r for r in pending.reads if first is None or r[0] <= first]:
                pending.reads.remove(read)
                self._read(read[1], read[2])
            if first is None or len(pending.writes[first][2]) < len(pending.writes[first][1].reads):
                return
            self._write(*pending.writes.pop(first))

    def _read(self, event: Event, read: Read) -> None:
        trigger = self.tables.by_event[event.relation, event.sign].trigger
        wanted = reads_of(trigger, read.statement)[read.read].slice
        entries = slice_of(self.segments[read.source], wanted, env_of(trigger, event.row))
        self.here.spend(self.case.costs.read_s * len(entries))
        self.here.send(node(self.case.layout.owner[read.target]), Slice(event.version, read, entries))

    def _write(self, event: Event, write: Write, slices: Mapping[Read, Entries]) -> None:
        trigger = self.tables.by_event[event.relation, event.sign].trigger
        statement = trigger.statements[write.statement]
        gathered: list[Entries] = [{} for _ in statement.reads()]
        for read, entries in slices.items():
            gathered[read.read].update(entries)
        delta = contribution(self.case.program, statement, env_of(trigger, event.row), gathered)
        mine = {k: u for k, u in delta.items() if self.case.layout.segment_of(statement.target, k) == write.target}
        self.here.spend(self.case.costs.write_s * len(mine))
        add_to(self.segments[write.target], mine)


class _System:
    def __init__(self, case: Case, simulation: Simulation) -> None:
        self.case, self.simulation = case, simulation

    def maps(self) -> Maps:
        return union(e for n in self.case.layout.nodes for e in self.simulation.actor(node(n)).segments.items())

    def watch(self, now_s: float, name: str, what: object) -> None:
        """No invariants but the state's."""

    def finish(self) -> Mapping[str, int]:
        return Counter()


def _build(case: Case, simulation: Simulation) -> _System:
    tables = Tables(case.program, case.layout)
    simulation.add(coordinator(0), lambda here: Coordinator(here, case))
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: Node(here, case, n, tables))  # type: ignore[misc]
    return _System(case, simulation)


TARGET = Spec("target", _build, ("Notify", "Slice"), {"fan_out": (2, 1, 4, 100)}, many_coordinators=False)
