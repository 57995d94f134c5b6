"""Who does what, before the first event: source aggregation (Cumulus paper, section 3.3), and the dispatch table (4.1).

The statements that write one segment are processed at one node, its **processor**: where the first of the segments that they read is. It has a
**replica** of every other segment that they read, so that all it reads is there, and sends what it computes to all who **hold** the written segment:
its owner, and those with replicas. In section 4.1's example node 1 stores m2, and so processes updates of m1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cumulus_ops.simulation.layout import Layout, Segment
from cumulus_ops.simulation.tables import DirectiveTable, Tables
from m3.dataflow import cycle_leader, is_cyclic, strata
from m3.program import Program

__all__ = ["Cycle", "Plan"]


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
        self.sources = self._sources()
        #: Written segment -> the node that processes the statements that write it.
        self.processor = {s: layout.owner[sources[0] if sources else s] for s, sources in self.sources.items()}
        #: Segment -> its owner, and the nodes with replicas.
        self.holders = self._holders()

    def _sources(self) -> dict[Segment, tuple[Segment, ...]]:
        sources: dict[Segment, dict[Segment, None]] = {segment: {} for segment in self.layout.owner}
        for table in self.tables.by_event.values():
            for read in table.possible().reads:
                sources[read.target][read.source] = None
        return {segment: tuple(read) for segment, read in sources.items()}

    def _holders(self) -> dict[Segment, tuple[int, ...]]:
        holders = {segment: {owner} for segment, owner in self.layout.owner.items()}
        for target, sources in self.sources.items():
            for source in sources:
                holders[source].add(self.processor[target])
        return {segment: tuple(sorted(nodes)) for segment, nodes in holders.items()}

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
