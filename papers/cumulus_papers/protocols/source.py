"""**Source aggregation** under a central coordinator (Cumulus paper, section 3.3).

All that a statement reads is where it is processed: a node that processes writes of a segment has a **replica** of each segment that these may
read. What comes out is sent to the segment's owner and to all its replicas, always, even when nothing is changed by it; so each of them knows which
writes it has to wait for, and goes through the serial order like the owner. A write is deferred until all input maps have been updated::

    node that processes a statement ──Delta──► owner of the target segment, and its replicas

The paper leaves open where a segment is processed. ``process="owner"``: where it is stored. ``process="source"``: where the first segment
that it reads is stored, so that this one needs no replica.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cumulus_papers.case import Case, Event, Stamp, Version
from cumulus_papers.kernel import Here, Message, Simulation
from cumulus_papers.layout import Class, DirectiveTable, Segment, Tables, Write
from cumulus_papers.protocols.central import CentralNode, CentralSystem, Task, central
from cumulus_papers.run import Entries, Maps, Spec, Wrong, node

__all__ = ["SOURCE", "Delta", "Replicas"]


@dataclass(frozen=True)
class Delta(Message):
    """What a statement adds to a segment for an event: nothing, too."""

    version: Version
    statement: int
    target: Segment
    delta: Entries

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.version,)


class Replicas:
    """Where segments are processed, and which nodes therefore hold them; known before the first event.

    Attributes:
        holders: segment -> its owner and the nodes with replicas, ascending.
    """

    def __init__(self, case: Case, tables: Tables) -> None:
        self._owner, self._by_source = case.layout.owner, case.options["process"] == "source"
        self._processor: dict[tuple[DirectiveTable, int, Segment], int] = {}
        self._known: dict[tuple[DirectiveTable, Class], dict[int, tuple[list[Write], list[Write]]]] = {}
        holders = {s: {n} for s, n in self._owner.items()}
        for table in tables.by_event.values():
            for write in table.possible().writes:
                place = write.reads[0].source if self._by_source and write.reads else write.target
                at = self._processor[table, write.statement, write.target] = self._owner[place]
                for read in write.reads:
                    holders[read.source].add(at)
        self.holders = {s: tuple(sorted(nodes)) for s, nodes in holders.items()}
        self._held: dict[int, list[Segment]] = {}
        for segment in sorted(self.holders):
            for n in self.holders[segment]:
                self._held.setdefault(n, []).append(segment)

    def held_by(self, node: int) -> list[Segment]:
        """The segments that a node has, as their owner or as replicas."""
        return self._held[node]

    def at(self, table: DirectiveTable, of: Class, node: int) -> tuple[list[Write], list[Write]]:
        """The writes that a node processes for a class, and those that it has to wait for."""
        if (table, of) not in self._known:
            directive = table.directive(of)
            by_node: dict[int, tuple[list[Write], list[Write]]] = {}
            for write in directive.writes:
                at = self._processor[table, write.statement, write.target]
                by_node.setdefault(at, ([], []))[0].append(write)
                for holder in self.holders[write.target]:
                    by_node.setdefault(holder, ([], []))[1].append(write)
            self._known[table, of] = by_node
        return self._known[table, of].get(node, ([], []))


class Node(CentralNode):
    """Processes statements on what it holds, and writes what it holds."""

    def __init__(self, here: Here, case: Case, number: int, tables: Tables, replicas: Replicas) -> None:
        super().__init__(here, case, number, replicas.held_by(number))
        self.tables, self.replicas = tables, replicas

    def notified(self, event: Event) -> None:
        """Expect all writes of what this node holds, and process what is its own to process, as soon as it can."""
        table = self.tables.of(event.relation, event.sign)
        if table is None:
            return
        process, expected = self.replicas.at(table, table.class_of_event(event.row), self.number)
        for write in expected:
            self.timelines[write.target].expect(Stamp(event.version, write.statement))
        for write in process:
            self._process(table, Task(event, write))
        self.go_on(*{r.source: None for w in process for r in w.reads}, *{w.target: None for w in expected})

    def arrived(self, message: Message) -> None:
        """A write of a segment that this node holds."""
        assert isinstance(message, Delta)
        self.timelines[message.target].write(Stamp(message.version, message.statement), message.delta)
        self.go_on(message.target)

    def _process(self, table: DirectiveTable, task: Task) -> None:
        def take(read_number: int, entries: Entries) -> None:
            task.slices[task.write.reads[read_number]] = entries
            if task.complete:
                self._send(table, task)

        for number, read in enumerate(task.write.reads):
            self.read(table, task.event, read, lambda entries, number=number: take(number, entries))  # type: ignore[misc]
        if task.complete:
            self._send(table, task)

    def _send(self, table: DirectiveTable, task: Task) -> None:
        message = Delta(task.event.version, task.write.statement, task.write.target, self.delta(table, task))
        for holder in self.replicas.holders[task.write.target]:
            self.here.send(node(holder), message)


class _System(CentralSystem):
    """Replicas must equal their segments whenever nothing is under way, at the end too."""

    def __init__(self, case: Case, simulation: Simulation, replicas: Replicas) -> None:
        super().__init__(case, simulation)
        self.replicas = replicas

    def maps(self) -> Maps:
        for segment, holders in self.replicas.holders.items():
            owned = self.node(self.case.layout.owner[segment]).timelines[segment].entries
            for n in holders:
                found = self.node(n).timelines[segment].entries
                if found != owned:
                    raise Wrong(f"{node(n)}'s replica of {segment} is {found}, the owner has {owned}")
        return super().maps()

    def finish(self) -> Mapping[str, int]:
        return {**super().finish(), "replicas": sum(len(h) - 1 for h in self.replicas.holders.values())}


def _build(case: Case, simulation: Simulation) -> _System:
    tables = Tables(case.program, case.layout)
    replicas = Replicas(case, tables)
    central(case, simulation, lambda here, n: Node(here, case, n, tables, replicas))
    return _System(case, simulation, replicas)


SOURCE = Spec(
    "source",
    _build,
    ("Notify", "Snapshot", "Delta"),
    {"fan_out": (2, 1, 4, 100), "process": ("owner", "source")},
    many_coordinators=False,
)
