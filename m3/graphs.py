"""Directed graphs as plain mappings, node -> its successors; every node is a key.

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
from typing import Any, TypeVar

__all__ = [
    "Graph",
    "components",
    "condensed",
    "connected",
    "generations",
    "graph_of",
    "in_order",
    "predecessors",
    "reachable",
]

T = TypeVar("T", bound=Hashable)
Graph = Mapping[T, Collection[T]]


def graph_of(nodes: Iterable[T], edges: Iterable[tuple[T, T]]) -> dict[T, dict[T, None]]:
    """The graph of some nodes and edges, each successor once, in the order in which they come."""
    graph: dict[T, dict[T, None]] = {node: {} for node in nodes}
    for source, target in edges:
        graph.setdefault(source, {})[target] = None
        graph.setdefault(target, {})
    return graph


def predecessors(graph: Graph[T]) -> dict[T, dict[T, None]]:
    """The graph with all edges turned round."""
    return graph_of(graph, ((target, source) for source, targets in graph.items() for target in targets))


def components(graph: Graph[T]) -> list[tuple[T, ...]]:
    """The strongly connected components (Tarjan), sources first; the nodes of each in the graph's order."""
    position = {node: i for i, node in enumerate(graph)}
    index: dict[T, int] = {}
    low: dict[T, int] = {}
    stack: dict[T, None] = {}
    found: list[tuple[T, ...]] = []
    for root in graph:
        if root in index:
            continue
        work: list[tuple[T, Iterator[T]]] = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack[root] = None
        while work:
            node, targets = work[-1]
            fresh = next((t for t in targets if t not in index or _lowered(low, index, stack, node, t)), None)
            if fresh is not None:
                index[fresh] = low[fresh] = len(index)
                stack[fresh] = None
                work.append((fresh, iter(graph[fresh])))
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                members: list[T] = []
                while not members or members[-1] != node:
                    members.append(stack.popitem()[0])
                found.append(tuple(sorted(members, key=position.__getitem__)))
    return found[::-1]


def _lowered(low: dict[T, int], index: dict[T, int], stack: dict[T, None], node: T, known: T) -> bool:
    """Note an edge to a node that was met before; always False, for it need not be entered."""
    if known in stack:
        low[node] = min(low[node], index[known])
    return False


def condensed(graph: Graph[T]) -> dict[tuple[T, ...], dict[tuple[T, ...], None]]:
    """The graph of the components; it has no cycles."""
    parts = components(graph)
    part_of = {node: part for part in parts for node in part}
    edges = ((part_of[s], part_of[t]) for s, targets in graph.items() for t in targets if part_of[s] != part_of[t])
    return graph_of(parts, edges)


def connected(nodes: Iterable[T], pairs: Iterable[tuple[T, T]]) -> list[tuple[T, ...]]:
    """The nodes that pairs join, directly or not, in the order of their first ones.

    >>> connected("abcd", [("c", "a"), ("d", "e")])
    [('a', 'c'), ('b',), ('d', 'e')]
    """
    both = list(pairs)
    graph = graph_of(nodes, (edge for a, b in both for edge in ((a, b), (b, a))))
    position = {node: i for i, node in enumerate(graph)}
    return sorted(components(graph), key=lambda part: position[part[0]])


def in_order(graph: Graph[T], key: Callable[[T], Any]) -> list[T] | None:
    """The nodes, each after its predecessors; of those that could come next the one with the least key. None if there is a cycle.

    >>> in_order({"b": ["c"], "a": [], "c": []}, str)
    ['a', 'b', 'c']
    """
    waits = {node: len(before) for node, before in predecessors(graph).items()}
    ready = [(key(node), i, node) for i, node in enumerate(graph) if not waits[node]]
    heapq.heapify(ready)
    order: list[T] = []
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


def generations(graph: Graph[T]) -> list[list[T]]:
    """The nodes of a graph without cycles by their depth: those without predecessors first, then those that follow from them, ..."""
    before = predecessors(graph)
    depth: dict[T, int] = {}
    for node in in_order(graph, lambda _: 0) or []:
        depth[node] = max((depth[p] + 1 for p in before[node]), default=0)
    found: list[list[T]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for node in graph:
        found[depth[node]].append(node)
    return found


def reachable(graph: Graph[T], start: T) -> set[T]:
    """A node, and what can be reached from it."""
    found, work = {start}, [start]
    while work:
        fresh = [target for target in graph[work.pop()] if target not in found]
        found.update(fresh)
        work += fresh
    return found
