"""The few graph functions of the compiler have the answers of networkx."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from m3.dataflow import components, condensed, connected, generations, graph_of, in_order, predecessors, reachable

NODES = st.integers(0, 8)
EDGES = st.lists(st.tuples(NODES, NODES), max_size=20)


def both(edges: list[tuple[int, int]]) -> tuple[dict[int, dict[int, None]], nx.DiGraph]:
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(9))
    theirs.add_edges_from(edges)
    return graph_of(range(9), edges), theirs


@given(EDGES)
def test_components_and_what_they_make(edges: list[tuple[int, int]]) -> None:
    graph, theirs = both(edges)
    parts = components(graph)
    assert {frozenset(part) for part in parts} == {*map(frozenset, nx.strongly_connected_components(theirs))}
    place = {node: i for i, part in enumerate(parts) for node in part}
    assert all(place[a] <= place[b] for a, b in edges), "sources first"
    between = condensed(graph)
    assert {(place[s[0]], place[t[0]]) for s, targets in between.items() for t in targets} == {
        (place[a], place[b]) for a, b in edges if place[a] != place[b]
    }
    their_generations = nx.topological_generations(nx.DiGraph(between))
    assert [{*g} for g in generations(between)] == [{*g} for g in their_generations]


@given(EDGES, st.permutations(range(9)))
def test_orders(edges: list[tuple[int, int]], rank: list[int]) -> None:
    graph, theirs = both(edges)
    if nx.is_directed_acyclic_graph(theirs):
        assert in_order(graph, rank.__getitem__) == [*nx.lexicographical_topological_sort(theirs, rank.__getitem__)]
    else:
        assert in_order(graph, rank.__getitem__) is None


@given(EDGES, NODES)
def test_what_is_reached(edges: list[tuple[int, int]], start: int) -> None:
    graph, theirs = both(edges)
    assert reachable(graph, start) == {start, *nx.descendants(theirs, start)}
    assert {n: {*before} for n, before in predecessors(graph).items()} == {n: {*theirs.predecessors(n)} for n in theirs}
    assert {*map(frozenset, connected(range(9), edges))} == {
        *map(frozenset, nx.connected_components(theirs.to_undirected()))
    }
