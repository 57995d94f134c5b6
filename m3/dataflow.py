"""The dataflow hypergraph of a program (Cumulus paper, section 4.2): which maps feed which, and how deep.

Nodes are maps and relations. Each statement is a hyperedge, labelled with its event and index, from the maps it reads
and the relation of its trigger to its target; here it is one edge per source, all with the statement's label.

Directed graphs as plain mappings, node -> its successors; every node is a key.

A handful of short functions instead of a library whose import costs more than all of a small command's work.

>>> graph = {"a": ["b"], "b": ["c", "a"], "c": [], "d": ["c"]}
>>> components(graph)
[('d',), ('a', 'b'), ('c',)]
>>> generations(condensed(graph))
[[('d',), ('a', 'b')], [('c',)]]
>>> sorted(reachable(graph, "a"))
['a', 'b', 'c']
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from m3.program import Program, Statement, Trigger, View

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "Graph",
    "components",
    "condensed",
    "connected",
    "cycle_leader",
    "dataflow",
    "depth",
    "derivation_ranks",
    "describe_dataflow",
    "generations",
    "graph_of",
    "in_order",
    "is_cyclic",
    "map_graph",
    "once_per_program",
    "predecessors",
    "reachable",
    "restrict_to",
    "strata",
]


T = TypeVar("T")
#: Where a program keeps what was computed of it.
ONCE = "_once"


def once_per_program(function: Callable[[Program], T]) -> Callable[[Program], T]:
    """Compute a function once per program object. (Comparing whole programs, as a usual cache would, takes longer.)"""

    @wraps(function)
    def known(program: Program) -> T:
        # Kept by the program itself: what refers to it goes with it.
        results: dict[Any, Any] = vars(program).setdefault(ONCE, {})
        if known not in results:
            results[known] = function(program)
        result: T = results[known]
        return result

    return known


def dataflow(program: Program) -> nx.MultiDiGraph[Any]:
    """The graph.

    Returns:
        Nodes ``("map", name)`` and ``("relation", name)``; edges with the attributes ``event`` (``"+R"``), ``statement``
        (index in the trigger) and, for map sources, ``read`` (position among the statement's map reads).
    """
    import networkx as nx  # for whoever wants to look at the graph; its import costs more than a small command does

    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_nodes_from(("relation", r.name) for r in program.relations)
    graph.add_nodes_from(("map", m.name) for m in program.maps)
    for trigger, index, statement in _statements(program):
        target = ("map", statement.target)
        label = {"event": trigger.event, "statement": index}
        if trigger.relation:
            graph.add_edge(("relation" if trigger.sign else "map", trigger.relation), target, **label)
        for read, ref in enumerate(statement.reads()):
            graph.add_edge(("map", ref.map), target, **label, read=read)
    for derived in program.derivations:
        for read, name in enumerate(derived.reads()):
            graph.add_edge(("map", name), ("map", derived.map), event="derive", statement=0, read=read)
    return graph


def _statements(program: Program) -> Iterator[tuple[Trigger, int, Statement]]:
    for trigger in program.triggers:
        for index, statement in enumerate(trigger.statements):
            yield trigger, index, statement


@once_per_program
def map_graph(program: Program) -> dict[str, dict[str, None]]:
    """An edge from each map to each map that some statement computes from it; nodes in order of declaration."""
    edges = [(ref.map, s.target) for _, _, s in _statements(program) for ref in s.reads()]
    edges += [(t.relation, s.target) for t, _, s in _statements(program) if t.sign == 0]
    edges += [(name, d.map) for d in program.derivations for name in d.reads()]
    return graph_of((m.name for m in program.maps), edges)


@once_per_program
def strata(program: Program) -> tuple[tuple[str, ...], ...]:
    """The maps by strongly connected component, sources before targets: the order of evaluation.

    The order is deterministic: among components that could come next, by depth and then by declaration.
    """
    position = {m.name: i for i, m in enumerate(program.maps)}
    levels = depth(program)
    return tuple(sorted(components(map_graph(program)), key=lambda g: (levels[g[0]], position[g[0]])))


@once_per_program
def _depths(program: Program) -> tuple[tuple[str, int], ...]:
    levels = generations(condensed(map_graph(program)))
    return tuple((name, level) for level, parts in enumerate(levels) for part in parts for name in part)


def depth(program: Program) -> dict[str, int]:
    """For each map the longest path of map reads into it: 0 when it is computed from events alone.

    The maps of one cycle count as one node.
    """
    return dict(_depths(program))


@once_per_program
def derivation_ranks(program: Program) -> dict[str, int]:
    """For each map the number (from 1) of the last derivation it depends on, itself included; 0 for none.

    A map of rank 0 follows from the events alone; one of rank n is final once derivation n and its trigger have run.
    """
    ranks = {m.name: 0 for m in program.maps}
    for number, derived in enumerate(program.derivations, start=1):
        for name in reachable(map_graph(program), derived.map):
            ranks[name] = max(ranks[name], number)
    return ranks


def restrict_to(program: Program, maps: Iterable[str], views: Iterable[View] = ()) -> Program:
    """The part of a program that maintains some maps, and what these are computed from, with some ``views``; all relations are declared.

    Args:
        program: the program.
        maps: the maps, those of the views included.
        views: the views.
    """
    before = _before(program)
    kept = {name for wanted in maps for name in reachable(before, wanted)}
    triggers = (replace(t, statements=tuple(s for s in t.statements if s.target in kept)) for t in program.triggers)
    return replace(
        program,
        maps=tuple(m for m in program.maps if m.name in kept),
        triggers=tuple(t for t in triggers if t.statements),
        views=tuple(views),
        derivations=tuple(d for d in program.derivations if d.map in kept),
    )


@once_per_program
def _before(program: Program) -> dict[str, dict[str, None]]:
    """An edge from each map to each map that it is computed from."""
    return predecessors(map_graph(program))


def is_cyclic(program: Program, stratum: tuple[str, ...]) -> bool:
    """True when the maps of a stratum are computed, directly or not, from themselves."""
    return len(stratum) > 1 or stratum[0] in map_graph(program)[stratum[0]]


def cycle_leader(stratum: tuple[str, ...]) -> str:
    """The node that decides when a checkpoint may pass a cycle (Cumulus paper, section 4.3): the first by name."""
    return min(stratum)


def _labelled_edges(program: Program) -> Iterator[tuple[str, str, str, str, str]]:
    """(source kind, source, target, event, statements) with the statements of one event between two nodes joined."""
    joined: dict[tuple[str, str, str, str], list[int]] = {}
    for (kind, source), (_, target), data in dataflow(program).edges(data=True):
        if kind == "map" or not _reads_maps(program, data["event"], data["statement"]):
            joined.setdefault((kind, source, target, data["event"]), []).append(data["statement"])
    for (kind, source, target, event), indexes in joined.items():
        yield kind, source, target, event, ",".join(map(str, dict.fromkeys(indexes)))


def _reads_maps(program: Program, event: str, index: int) -> bool:
    if event == "derive":
        return True
    trigger = next(t for t in program.triggers if t.event == event)
    return any(trigger.statements[index].reads())


def describe_dataflow(program: Program) -> str:
    """The graph as text: the strata from the shallowest, each map with the events and maps that feed it."""
    edges, levels = list(_labelled_edges(program)), depth(program)
    lines = []
    for stratum in strata(program):
        cycle = f" (cycle, leader {cycle_leader(stratum)})" if is_cyclic(program, stratum) else ""
        for name in stratum:
            lines.append(f"{levels[name]}  {name}{cycle}")
            lines += [f"     <- {s}  on {e}#{i}" for k, s, t, e, i in edges if t == name]
    return "\n".join(lines) + "\n"


Node = TypeVar("Node", bound=Hashable)
Graph = Mapping[Node, Collection[Node]]


def graph_of(nodes: Iterable[Node], edges: Iterable[tuple[Node, Node]]) -> dict[Node, dict[Node, None]]:
    """The graph of some nodes and edges, each successor once, in the order in which they come."""
    graph: dict[Node, dict[Node, None]] = {node: {} for node in nodes}
    for source, target in edges:
        graph.setdefault(source, {})[target] = None
        graph.setdefault(target, {})
    return graph


def predecessors(graph: Graph[Node]) -> dict[Node, dict[Node, None]]:
    """The graph with all edges turned round."""
    return graph_of(graph, ((target, source) for source, targets in graph.items() for target in targets))


def components(graph: Graph[Node]) -> list[tuple[Node, ...]]:
    """The strongly connected components (Tarjan), sources first; the nodes of each in the graph's order."""
    position = {node: i for i, node in enumerate(graph)}
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: dict[Node, None] = {}
    found: list[tuple[Node, ...]] = []
    for root in graph:
        if root in index:
            continue
        work: list[tuple[Node, Iterator[Node]]] = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack[root] = None
        while work:
            node, targets = work[-1]
            fresh = next((t for t in targets if t not in index or _note_known_edge(low, index, stack, node, t)), None)
            if fresh is not None:
                index[fresh] = low[fresh] = len(index)
                stack[fresh] = None
                work.append((fresh, iter(graph[fresh])))
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                members: list[Node] = []
                while not members or members[-1] != node:
                    members.append(stack.popitem()[0])
                found.append(tuple(sorted(members, key=position.__getitem__)))
    return found[::-1]


def _note_known_edge(
    low: dict[Node, int], index: dict[Node, int], stack: dict[Node, None], node: Node, known: Node
) -> bool:
    """Note an edge to a node that was met before; always False, for it need not be entered."""
    if known in stack:
        low[node] = min(low[node], index[known])
    return False


def condensed(graph: Graph[Node]) -> dict[tuple[Node, ...], dict[tuple[Node, ...], None]]:
    """The graph of the components; it has no cycles."""
    parts = components(graph)
    part_of = {node: part for part in parts for node in part}
    edges = ((part_of[s], part_of[t]) for s, targets in graph.items() for t in targets if part_of[s] != part_of[t])
    return graph_of(parts, edges)


def connected(nodes: Iterable[Node], pairs: Iterable[tuple[Node, Node]]) -> list[tuple[Node, ...]]:
    """The nodes that pairs join, directly or not, in the order of their first ones.

    >>> connected("abcd", [("c", "a"), ("d", "e")])
    [('a', 'c'), ('b',), ('d', 'e')]
    """
    both = list(pairs)
    graph = graph_of(nodes, (edge for a, b in both for edge in ((a, b), (b, a))))
    position = {node: i for i, node in enumerate(graph)}
    return sorted(components(graph), key=lambda part: position[part[0]])


def in_order(graph: Graph[Node], key: Callable[[Node], Any]) -> list[Node] | None:
    """The nodes, each after its predecessors; of those that could come next the one with the least key. None if there is a cycle.

    >>> in_order({"b": ["c"], "a": [], "c": []}, str)
    ['a', 'b', 'c']
    """
    waits = {node: len(before) for node, before in predecessors(graph).items()}
    ready = [(key(node), i, node) for i, node in enumerate(graph) if not waits[node]]
    heapq.heapify(ready)
    order: list[Node] = []
    number = len(waits)
    while ready:
        node = heapq.heappop(ready)[2]
        order.append(node)
        for target in graph[node]:
            waits[target] -= 1
            if not waits[target]:
                number += 1
                heapq.heappush(ready, (key(target), number, target))
    return order if len(order) == len(waits) else None


def generations(graph: Graph[Node]) -> list[list[Node]]:
    """The nodes of a graph without cycles by their depth: those without predecessors first, then those that follow from them, ..."""
    before = predecessors(graph)
    depth: dict[Node, int] = {}
    for node in in_order(graph, lambda _: 0) or []:
        depth[node] = max((depth[p] + 1 for p in before[node]), default=0)
    found: list[list[Node]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node in graph:
        found[depth[node]].append(node)
    return found


def reachable(graph: Graph[Node], start: Node) -> set[Node]:
    """A node, and what can be reached from it."""
    found, work = {start}, [start]
    while work:
        fresh = [target for target in graph[work.pop()] if target not in found]
        found.update(fresh)
        work += fresh
    return found
