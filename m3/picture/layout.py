"""Where everything is: layers from left to right, boxes that never overlap, edges that pass between them.

An edge that spans several layers gets a slot of its own in each layer it passes; edges from one node share their slots
until they part.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from m3.picture.nodes import Edge, Key, Node, edges_of, nodes_of
from m3.picture.ordering import ordered_layers
from m3.picture.text import height_of, width_of
from m3.program import Program

__all__ = ["Box", "Layout", "Point", "Route", "arrange", "lay_out"]

Point = tuple[float, float]
#: A node's key, or a slot: ("slot", name of the source, layer, kind of the source, dashed).
Place = tuple[object, ...]
#: What an edge passes in each layer, from its source to its target.
Path = tuple[Place, ...]
SLOT, SPACE = 6.0, 16.0
MARGIN, TOP, BOTTOM = 24.0, 76.0, 60.0
GAP, GAP_PER_LINK, GAP_MOST = 84.0, 1.6, 190.0
ROUNDS = 16


@dataclass(frozen=True)
class Box:
    """A node and its rectangle."""

    node: Node
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Route:
    """An edge and the points it passes: pairs (leaving one layer, reaching the next). ``back``: it leads to the same or
    an earlier layer, as in a cycle, and is one pair."""

    edge: Edge
    points: tuple[tuple[Point, Point], ...]
    back: bool = False


@dataclass(frozen=True)
class Layout:
    """The whole picture. ``columns`` are the layers' left borders and widths."""

    width: float
    height: float
    columns: tuple[tuple[float, float], ...]
    boxes: tuple[Box, ...]
    routes: tuple[Route, ...]


def lay_out(program: Program) -> Layout:
    """Place a program's nodes and edges."""
    return arrange(nodes_of(program), edges_of(program))


def arrange(drawn: Iterable[Node], edges: Sequence[Edge]) -> Layout:
    """Place nodes, in their layers, and the edges between them."""
    nodes = {n.key: n for n in drawn}
    forward = [e for e in edges if nodes[e.source].layer < nodes[e.target].layer]
    paths = {e: _path(e, nodes[e.source].layer, nodes[e.target].layer) for e in forward}
    links = list(dict.fromkeys(pair for path in paths.values() for pair in itertools.pairwise(path)))
    layers = ordered_layers(_layers(nodes.values(), paths.values()), links)
    sizes = {p: height_of(nodes[p]) if p in nodes else SLOT for layer in layers for p in layer}
    heights = _heights(layers, links, sizes)
    columns = _columns(layers, nodes, links)
    boxes = {
        key: Box(node, columns[node.layer][0], heights[key] - sizes[key] / 2, columns[node.layer][1], sizes[key])
        for key, node in nodes.items()
    }
    ports = _Ports(links, heights, sizes)
    routes = [Route(e, tuple(ports.points(path, columns, nodes[e.source].layer))) for e, path in paths.items()]
    routes += [_back(e, boxes) for e in edges if e not in paths]
    bottom = max((b.y + b.height for b in boxes.values()), default=TOP)
    right = columns[-1][0] + columns[-1][1] if columns else 0.0
    return Layout(right + MARGIN, bottom + BOTTOM, tuple(columns), tuple(boxes.values()), tuple(routes))


def _path(edge: Edge, first: int, last: int) -> Path:
    kind, name = edge.source
    return (edge.source, *(("slot", name, i, kind, edge.dashed) for i in range(first + 1, last)), edge.target)


def _layers(nodes: Iterable[Node], paths: Iterable[Path]) -> list[list[Place]]:
    """What is in each layer, in order of declaration; unused relations last."""
    found: dict[int, dict[Place, None]] = {}
    for node in sorted(nodes, key=lambda n: n.idle):
        found.setdefault(node.layer, {})[node.key] = None
    for path in paths:
        for place in path[1:-1]:
            layer = place[2]
            assert isinstance(layer, int)
            found.setdefault(layer, {})[place] = None
    return [list(found.get(i, ())) for i in range(max(found, default=-1) + 1)]


def _heights(
    layers: Sequence[Sequence[Place]], links: Sequence[tuple[Place, Place]], sizes: Mapping[Place, float]
) -> dict[Place, float]:
    """The middle of everything: as near to its neighbours as order and distances allow."""
    near: dict[Place, list[Place]] = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    heights: dict[Place, float] = {}
    for layer in layers:
        heights |= dict(zip(layer, _apart(layer, [0.0] * len(layer), sizes), strict=True))
    for number in range(ROUNDS):
        for layer in layers if number % 2 else layers[::-1]:
            wanted = [_mean([heights[n] for n in near.get(p, ())], heights[p]) for p in layer]
            heights |= dict(zip(layer, _apart(layer, wanted, sizes), strict=True))
    top = min((h - sizes[p] / 2 for p, h in heights.items()), default=0.0)
    return {place: height - top + TOP for place, height in heights.items()}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _apart(layer: Sequence[Place], wanted: Sequence[float], sizes: Mapping[Place, float]) -> list[float]:
    """The positions nearest to the wanted ones, by least squares, that keep the order and the distances."""
    offsets = [0.0]
    for a, b in itertools.pairwise(layer):
        space = SPACE / 2 if "slot" in (a[0], b[0]) else SPACE
        offsets.append(offsets[-1] + (sizes[a] + sizes[b]) / 2 + space)
    blocks: list[tuple[float, int]] = []  # (mean, how many) of positions that have to move together
    for want, offset in zip(wanted, offsets, strict=False):
        mean, count = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, more = blocks.pop()
            mean, count = (before * more + mean * count) / (more + count), more + count
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _columns(
    layers: Sequence[Sequence[Place]], nodes: dict[Key, Node], links: Sequence[tuple[Place, Place]]
) -> list[tuple[float, float]]:
    """Left border and width of each layer; the more links between two layers, the further they are apart."""
    columns: list[tuple[float, float]] = []
    x = MARGIN
    for layer in layers:
        width = max((width_of(nodes[p]) for p in layer if p in nodes), default=0.0)
        columns.append((x, width))
        x += width + min(GAP_MOST, GAP + GAP_PER_LINK * sum(a in set(layer) for a, _ in links))
    return columns


class _Ports:
    """Where links meet boxes: spread over the side, in the order of where they come from."""

    def __init__(
        self, links: Sequence[tuple[Place, Place]], heights: Mapping[Place, float], sizes: Mapping[Place, float]
    ) -> None:
        self.heights, self.sizes = heights, sizes
        self._out = self._spread([(a, b) for a, b in links])
        self._in = self._spread([(b, a) for a, b in links])

    def _spread(self, ends: Sequence[tuple[Place, Place]]) -> dict[tuple[Place, Place], float]:
        sides: dict[Place, list[Place]] = {}
        for here, there in ends:
            sides.setdefault(here, []).append(there)
        found = {}
        for here, others in sides.items():
            room = 0.0 if here[0] == "slot" else min(self.sizes[here] - 14, 7.0 * (len(others) - 1))
            for i, there in enumerate(sorted(others, key=self.heights.__getitem__)):
                share = i / (len(others) - 1) - 0.5 if len(others) > 1 else 0.0
                found[here, there] = self.heights[here] + room * share
        return found

    def points(self, path: Path, columns: Sequence[tuple[float, float]], layer: int) -> Iterable[tuple[Point, Point]]:
        """The pairs of points of a path that starts in a layer."""
        for i, (a, b) in enumerate(itertools.pairwise(path), start=layer):
            x, width = columns[i]
            yield (x + width, self._out[a, b]), (columns[i + 1][0], self._in[b, a])


def _back(edge: Edge, boxes: dict[Key, Box]) -> Route:
    a, b = boxes[edge.source], boxes[edge.target]
    return Route(edge, (((a.x + a.width, a.y + a.height - 7), (b.x, b.y + b.height - 7)),), back=True)
