"""The dataflow graph that clocks run over: nodes that fail and are replayed one by one (thesis, 2.1 and 3.1.1).

A node is a segment of a map, or a relation, not a machine: a machine that fails takes several nodes along. Paths must be finite, so a cycle
is one node, or is refused.

>>> flow = flow_of([("A", "C"), ("B", "C"), ("C", "F"), ("C", "H"), ("D", "F"), ("F", "H")])
>>> flow.parents["H"], flow.children["C"]
(('C', 'F'), ('F', 'H'))
>>> [",".join(path) for path in paths(flow, "H", levels=3)]
['H,C,A', 'H,C,B', 'H,F,C', 'H,F,D']
>>> str(neighbourhood(flow, ["F"]))
'C D | F | H'
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from m3.dataflow import components, condensed, graph_of, in_order, predecessors
from m3.errors import M3Error
from m3.program import Program

__all__ = [
    "Flow",
    "Neighbourhood",
    "RecoveryError",
    "ancestors",
    "flow_of",
    "longest_chain",
    "neighbourhood",
    "paths",
    "segment_flow",
]


class RecoveryError(M3Error):
    """A graph that has no finite clocks, a clock that cannot be read, or a failure that the tolerance does not cover."""


@dataclass(frozen=True)
class Flow:
    """Who sends to whom; without cycles. ``members``: the segments of each node, several where a cycle became one node."""

    children: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]
    members: Mapping[str, tuple[str, ...]]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes, parents first."""
        return tuple(in_order(self.children, lambda node: node) or ())

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Each node's place in the order."""
        return {node: i for i, node in enumerate(self.order)}


def flow_of(
    edges: Iterable[tuple[str, str]], nodes: Iterable[str] = (), *, cycles: Literal["collapse", "refuse"] = "collapse"
) -> Flow:
    """The flow of edges (sender, receiver).

    Args:
        edges: who sends to whom.
        nodes: nodes that may have no edge.
        cycles: ``"collapse"``: the nodes of a cycle fail, are logged and are replayed as one, named ``a+b``; their messages to each other are that
            node's inner work. ``"refuse"``: a cycle is an error.

    Raises:
        RecoveryError: a cycle is to be refused, or a name cannot be written in a clock.
    """
    graph = graph_of(nodes, edges)
    for node in graph:
        if not node or any(character in " :[]," for character in node):
            raise RecoveryError(f"a clock cannot name the node {node!r}", kind="node-name")
    loops = [part for part in components(graph) if len(part) > 1 or part[0] in graph[part[0]]]
    if loops and cycles == "refuse":
        raise RecoveryError(
            f"{', '.join(loops[0])} send to each other: a message could have come by paths without end, and a clock holds every path",
            kind="cyclic-flow",
            hint="let the cycle be one node",
        )
    parts = condensed(graph)
    named = {part: "+".join(part) for part in parts}
    children = {named[part]: tuple(sorted(named[target] for target in targets)) for part, targets in parts.items()}
    parents = {node: tuple(sorted(before)) for node, before in predecessors(children).items()}
    return Flow(children, parents, {named[part]: part for part in parts})


def segment_flow(
    program: Program, segments: Mapping[str, int], *, cycles: Literal["collapse", "refuse"] = "collapse"
) -> Flow:
    """The flow of a program's map segments ``map/number``: each segment of what a statement reads sends to each of its target.

    Args:
        program: the program.
        segments: segments of each map and relation; one of those that are not named.
        cycles: as in :func:`flow_of`.
    """
    edges = {
        (source, statement.target)
        for trigger in program.triggers
        for statement in trigger.statements
        for source in (trigger.relation, *(ref.map for ref in statement.reads()))
        if source
    } | {(source, derived.map) for derived in program.derivations for source in derived.reads()}

    def parts(name: str) -> list[str]:
        return [f"{name}/{number}" for number in range(segments.get(name, 1))]

    names = [*(relation.name for relation in program.relations), *(m.name for m in program.maps)]
    return flow_of(
        ((s, t) for source, target in sorted(edges) for s in parts(source) for t in parts(target)),
        [part for name in names for part in parts(name)],
        cycles=cycles,
    )


def paths(flow: Flow, node: str, levels: int | None = None) -> Iterator[tuple[str, ...]]:
    """Every path by which a message could have come to a node, the node first (3.1.1); of at most so many nodes."""
    if not flow.parents[node] or levels == 1:
        yield (node,)
        return
    for parent in flow.parents[node]:
        for path in paths(flow, parent, None if levels is None else levels - 1):
            yield (node, *path)


def ancestors(flow: Flow, node: str, hops: int) -> frozenset[str]:
    """The nodes from which a message can come in at most so many hops."""
    found: set[str] = set()
    layer = {node}
    for _ in range(hops):
        layer = {parent for near in layer for parent in flow.parents[near]}
        found |= layer
    return frozenset(found)


def longest_chain(flow: Flow, failed: Collection[str]) -> list[str]:
    """The longest path of failed nodes each of which sends to the next."""
    longest: dict[str, list[str]] = {}
    for node in sorted(failed, key=flow.place.__getitem__):
        before = [longest[parent] for parent in flow.parents[node] if parent in longest]
        longest[node] = [*max(before, key=len, default=[]), node]
    return max(longest.values(), key=len, default=[])


@dataclass(frozen=True)
class Neighbourhood:
    """Who takes part in a recovery: the failed nodes, upstream last as they are recovered in that order, the living parents, which send
    again, and the living children, which know what was received. Nobody else hears of it."""

    parents: tuple[str, ...]
    failed: tuple[str, ...]
    children: tuple[str, ...]

    def __str__(self) -> str:
        return " | ".join(" ".join(part) for part in (self.parents, self.failed, self.children))


def neighbourhood(flow: Flow, failed: Sequence[str]) -> Neighbourhood:
    """The neighbourhood of nodes that have failed (3.2.1)."""
    lost = set(failed)
    return Neighbourhood(
        tuple(sorted({parent for node in lost for parent in flow.parents[node]} - lost)),
        tuple(sorted(lost, key=flow.place.__getitem__, reverse=True)),
        tuple(sorted({child for node in lost for child in flow.children[node]} - lost)),
    )
