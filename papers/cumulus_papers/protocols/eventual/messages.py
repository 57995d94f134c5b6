"""What coordinators and nodes send each other, and what they report to those who watch.

The kinds are named with the paper's words (Cumulus paper, sections 4.1 to 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from cumulus_papers.case import Event, Stamp, Version
from cumulus_papers.kernel import Message
from cumulus_papers.layout import DirectiveTable, Layout, Segment, Tables
from m3.dataflow import cycle_leader, is_cyclic, strata
from m3.program import Program
from m3.statements import Key

__all__ = [
    "Changed",
    "Commit",
    "Completed",
    "Confirmation",
    "Cycle",
    "Delta",
    "Dispatched",
    "Due",
    "EpochComplete",
    "Flush",
    "MapCheckpoint",
    "Notify",
    "PartialCheckpoint",
    "Period",
    "Plan",
    "Processed",
    "Push",
    "Pushed",
    "Switched",
    "Token",
]


# Who does what, before the first event: source aggregation (Cumulus paper, section 3.3), and the dispatch table (4.1).
#
# The statements that write one segment are processed at one node, its **processor**: where the first of the segments that they read is. It has a
# **replica** of every other segment that they read, so that all it reads is there, and sends what it computes to all who **hold** the written segment:
# its owner, and those with replicas. In section 4.1's example node 1 stores m2, and so processes updates of m1.


@dataclass(frozen=True)
class Cycle:
    """Maps that are computed from each other, and the nodes that process them in the order in which a partial checkpoint goes round,
    from the cycle leader on. Its name is its first map."""

    name: str
    maps: frozenset[str]
    ring: tuple[int, ...]

    def after(self, node: int) -> int:
        """The next node."""
        return self.ring[(self.ring.index(node) + 1) % len(self.ring)]


class Plan:
    """All that the layout determines."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.tables = Tables(program, layout)
        #: Written segment -> the segments that statements which write it may read.
        sources: dict[Segment, dict[Segment, None]] = {
            segment: {} for segment in layout.owner
        }  # in the order of the reads
        for table in self.tables.by_event.values():
            for read in table.possible().reads:
                sources[read.target][read.source] = None
        self.sources = {segment: tuple(read) for segment, read in sources.items()}
        #: Written segment -> the node that processes the statements that write it.
        self.processor = {s: layout.owner[read[0] if read else s] for s, read in self.sources.items()}
        #: Segment -> its owner, and the nodes with replicas.
        holders = {segment: {owner} for segment, owner in self.layout.owner.items()}
        for target, read_from in self.sources.items():
            for source in read_from:
                holders[source].add(self.processor[target])
        self.holders = {segment: tuple(sorted(nodes)) for segment, nodes in holders.items()}

    def held_by(self, node: int) -> tuple[Segment, ...]:
        """The segments of which a node has a copy."""
        return tuple(sorted(s for s, nodes in self.holders.items() if node in nodes))

    def processed_by(self, node: int) -> tuple[Segment, ...]:
        """The segments whose statements a node processes."""
        return tuple(sorted(s for s, n in self.processor.items() if n == node))

    def dispatch(self, table: DirectiveTable, of: tuple[int, ...]) -> tuple[int, ...]:
        """The entry of the dispatch table for a class of events: the nodes required to process it."""
        return tuple(sorted({self.processor[w.target] for w in table.directive(of).writes}))

    @cached_property
    def map_sources(self) -> dict[str, frozenset[str]]:
        """Map -> the maps that its statements read."""
        return {m.name: self._maps_read(m.name) for m in self.program.maps}

    def _maps_read(self, name: str) -> frozenset[str]:
        tables = self.tables.by_event.values()
        statements = [s for t in tables for s in t.trigger.statements if s.target == name]
        return frozenset(ref.map for s in statements for ref in s.reads())

    @cached_property
    def in_edges(self) -> dict[tuple[int, str], tuple[int, ...]]:
        """(Node, map) -> the nodes that may send it deltas of the map, itself included."""
        edges: dict[tuple[int, str], set[int]] = {}
        for segment, nodes in self.holders.items():
            for node in nodes:
                edges.setdefault((node, segment.map), set()).add(self.processor[segment])
        return {edge: tuple(sorted(senders)) for edge, senders in edges.items()}

    @cached_property
    def out_edges(self) -> dict[tuple[int, str], tuple[int, ...]]:
        """(Node, map) -> the other nodes that it may send deltas of the map to, for maps that it processes segments of."""
        edges: dict[tuple[int, str], set[int]] = {}
        for segment, node in self.processor.items():
            edges.setdefault((node, segment.map), set()).update(self.holders[segment])
        return {(node, name): tuple(sorted(to - {node})) for (node, name), to in edges.items()}

    @cached_property
    def cycles(self) -> tuple[Cycle, ...]:
        """The cycles of the program's dataflow, sources before targets. The leader processes the first segment of :func:`m3.dataflow.cycle_leader`'s map."""
        groups = [group for group in strata(self.program) if is_cyclic(self.program, group)]
        return tuple(self._cycle(frozenset(group), cycle_leader(group)) for group in groups)

    def _cycle(self, maps: frozenset[str], name: str) -> Cycle:
        nodes = sorted({node for segment, node in self.processor.items() if segment.map in maps})
        first = nodes.index(self.processor[next(self.layout.segments(name))])
        return Cycle(name, maps, tuple(nodes[first:] + nodes[:first]))


@dataclass(frozen=True)
class Notify(Message):
    """A coordinator tells a node that it processes an event."""

    event: Event

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.event.version,)


@dataclass(frozen=True)
class Delta:
    """A change of a segment that an event's statement makes. ``cascade``: 0 for what the statement gave first; a correction has
    one more than the delta that caused it."""

    stamp: Stamp
    segment: Segment
    entries: Mapping[Key, int]
    cascade: int


@dataclass(frozen=True)
class Push(Message):
    """Deltas for one holder of the segments."""

    deltas: tuple[Delta, ...]

    def about(self) -> tuple[Version, ...]:
        """The versions of the events whose statements gave the deltas."""
        return tuple(dict.fromkeys(d.stamp.version for d in self.deltas))


@dataclass(frozen=True)
class Flush(Message):
    """To itself: a buffer period is over."""

    receiver: int
    period_s: float


@dataclass(frozen=True)
class Due(Message):
    """To itself: a statement for an event has been held back for long enough."""

    stamp: Stamp


@dataclass(frozen=True)
class Token(Message):
    """Only who has it may switch epochs."""


@dataclass(frozen=True)
class Period(Message):
    """To itself: the holder of the token has waited for the duration of one period."""


@dataclass(frozen=True)
class Commit(Message):
    """A coordinator asks a node whether it has all events of the epoch, and of those before."""

    epoch: int


@dataclass(frozen=True)
class Confirmation(Message):
    """A node has received and processed all events of the epoch, and of those before, from the coordinator that asked, and they are in its history."""

    epoch: int


@dataclass(frozen=True)
class EpochComplete(Message):
    """Among coordinators: all nodes have confirmed to the sender. To a node: they have, to all coordinators."""

    epoch: int


@dataclass(frozen=True)
class MapCheckpoint(Message):
    """The sender will send no more deltas of these maps for the epoch, or for those before."""

    epoch: int
    maps: tuple[str, ...]


@dataclass(frozen=True)
class PartialCheckpoint(Message):
    """Goes round a cycle: how many deltas of its maps the nodes so far have sent each other and received, for the epoch and those before.
    ``settled``: nothing is under way in the cycle any more."""

    cycle: str
    epoch: int
    sent: int
    received: int
    settled: bool


@dataclass(frozen=True)
class Dispatched:
    """Report of a coordinator: an event went to these nodes."""

    version: Version
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Switched:
    """Report of a coordinator: it is in this epoch now."""

    epoch: int


@dataclass(frozen=True)
class Processed:
    """Report of a node: an event is in its history."""

    version: Version


@dataclass(frozen=True)
class Pushed:
    """Report of a node: it sends a delta of a history entry, the first (``cascade`` 0) or a corrective one. ``cause``: the write that arrived late."""

    stamp: Stamp
    target: str
    entries: Mapping[Key, int]
    cascade: int
    cause: Stamp | None


@dataclass(frozen=True)
class Changed:
    """Report of a node: a delta is in its copy of a segment."""

    stamp: Stamp
    segment: Segment


@dataclass(frozen=True)
class Completed:
    """Report of a node: it knows that an epoch is complete."""

    epoch: int
