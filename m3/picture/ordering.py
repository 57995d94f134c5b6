"""The order of the nodes within each layer, so that few edges cross: the barycentre heuristic, a few sweeps."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TypeVar

__all__ = ["crossings", "ordered_layers"]

N = TypeVar("N")
SWEEPS = 12


def ordered_layers(layers: Sequence[Sequence[N]], links: Sequence[tuple[N, N]]) -> list[list[N]]:
    """The layers, each in the best order found.

    Args:
        layers: the nodes of each layer.
        links: pairs of nodes of adjacent layers, the left one first.
    """
    left: dict[N, list[N]] = {}
    right: dict[N, list[N]] = {}
    for a, b in links:
        right.setdefault(a, []).append(b)
        left.setdefault(b, []).append(a)
    current = [list(layer) for layer in layers]
    current = _lonely_last(current, {*left, *right})
    best, fewest = current, crossings(current, right)
    for sweep in range(SWEEPS):
        current = _swept(current, left) if sweep % 2 == 0 else _swept(current[::-1], right)[::-1]
        current = _lonely_last(current, {*left, *right})
        count = crossings(current, right)
        if count < fewest:
            best, fewest = current, count
    return best


def _lonely_last(layers: list[list[N]], linked: set[N]) -> list[list[N]]:
    return [sorted(layer, key=lambda n: n not in linked) for layer in layers]


def _swept(layers: list[list[N]], neighbours: Mapping[N, list[N]]) -> list[list[N]]:
    """Each layer in turn sorted by the mean place of its nodes' neighbours in the layer before."""
    done: list[list[N]] = [list(layers[0])] if layers else []
    for layer in layers[1:]:
        places = {node: i for i, node in enumerate(done[-1])}
        own = {node: float(i) for i, node in enumerate(layer)}
        wanted = {n: fmean(found) if (found := _places(n, neighbours, places)) else own[n] for n in layer}
        done.append(sorted(layer, key=lambda n: (wanted[n], own[n])))
    return done


def _places(node: N, neighbours: Mapping[N, list[N]], places: Mapping[N, int]) -> list[int]:
    return [places[m] for m in neighbours.get(node, ()) if m in places]


def crossings(layers: Sequence[Sequence[N]], right: Mapping[N, Sequence[N]]) -> int:
    """How often links between adjacent layers cross: inversions of their right ends when sorted by their left ends."""
    total = 0
    for nodes, after in itertools.pairwise(layers):
        places = {node: i for i, node in enumerate(after)}
        seen: list[int] = []
        for node in nodes:
            ends = sorted(places[m] for m in right.get(node, ()) if m in places)
            total += sum(len(seen) - bisect.bisect_right(seen, end) for end in ends)
            for end in ends:
                bisect.insort(seen, end)
    return total
