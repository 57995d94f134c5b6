"""**Target aggregation** under a central coordinator (Cumulus paper, sections 3.1 and 3.2).

What a statement reads is sent to the node that has what it writes. Each node looks its own reads and writes up in the directive
table. A read waits until all earlier writes of its segment are done; then the slice, an empty one too, goes to the node of the target. A write
waits for all its slices, and for the earlier writes of its segment::

    node of a source segment ──Slice──► node of the target segment
"""

from __future__ import annotations

from dataclasses import dataclass

from cumulus_papers.case import Case, Event, Stamp, Version
from cumulus_papers.kernel import Here, Message, Simulation
from cumulus_papers.layout import DirectiveTable, Read, Segment, Tables
from cumulus_papers.protocols.central import CentralNode, CentralSystem, Task, central
from cumulus_papers.run import Entries, Spec, node

__all__ = ["TARGET", "Slice"]


@dataclass(frozen=True)
class Slice(Message):
    """What a segment has for a read: the entries, none too."""

    version: Version
    read: Read
    entries: Entries

    def about(self) -> tuple[Version, ...]:
        """The reading event's version."""
        return (self.version,)


class Node(CentralNode):
    """Sends slices of its segments, and writes its segments."""

    def __init__(self, here: Here, case: Case, number: int, tables: Tables) -> None:
        super().__init__(here, case, number, case.layout.owned_by(number))
        self.tables = tables
        self.tasks: dict[tuple[Segment, Stamp], Task] = {}

    def notified(self, event: Event) -> None:
        """Expect the writes of this node's segments, and send what it has for others, as soon as it can."""
        table = self.tables.of(event.relation, event.sign)
        if table is None:
            return
        directive = table.at(table.class_of_event(event.row), self.number)
        for write in directive.writes:
            task = Task(event, write)
            self.tasks[write.target, task.stamp] = task
            self.timelines[write.target].expect(task.stamp)
        for read in directive.reads:
            self.read(table, event, read, lambda entries, read=read: self._send(event, read, entries))  # type: ignore[misc]
        for write in directive.writes:
            self._try(table, self.tasks[write.target, Stamp(event.version, write.statement)])
        self.go_on(*{r.source: None for r in directive.reads}, *{w.target: None for w in directive.writes})

    def arrived(self, message: Message) -> None:
        """A slice that a write waits for."""
        assert isinstance(message, Slice)
        read = message.read
        task = self.tasks[read.target, Stamp(message.version, read.statement)]
        table = self.tables.by_event[task.event.relation, task.event.sign]
        task.slices[read] = message.entries
        self._try(table, task)
        self.go_on(read.target)

    @property
    def waiting(self) -> int:
        """With the tasks that want slices."""
        return super().waiting + len(self.tasks)

    def _send(self, event: Event, read: Read, entries: Entries) -> None:
        self.here.send(node(self.case.layout.owner[read.target]), Slice(event.version, read, entries))

    def _try(self, table: DirectiveTable, task: Task) -> None:
        if task.complete:
            del self.tasks[task.write.target, task.stamp]
            self.timelines[task.write.target].write(task.stamp, self.delta(table, task))


def _build(case: Case, simulation: Simulation) -> CentralSystem:
    tables = Tables(case.program, case.layout)
    central(case, simulation, lambda here, n: Node(here, case, n, tables))
    return CentralSystem(case, simulation)


TARGET = Spec("target", _build, ("Notify", "Snapshot", "Slice"), {"fan_out": (2, 1, 4, 100)}, many_coordinators=False)
