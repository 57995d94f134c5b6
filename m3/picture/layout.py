"""Where everything is: layers from left to right, boxes that never overlap, edges that pass between them.

An edge that spans several layers gets a slot of its own in each layer it passes; edges from one node share their slots
until they part.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from m3.dataflow import depth
from m3.explain.report import derived_words, events, signature, view_maps, view_words
from m3.program import Program

__all__ = [
    "KEYS_CHARACTERS",
    "NAME_CHARACTERS",
    "Box",
    "Edge",
    "Key",
    "Layout",
    "Node",
    "Point",
    "Route",
    "arrange",
    "crossings",
    "edges_of",
    "height_of",
    "label_width",
    "lay_out",
    "name_lines",
    "nodes_of",
    "ordered_layers",
    "shortened",
    "width_of",
]


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


# Text in boxes: how wide it is, and what to leave out of long names.


NAME_CHARACTERS, KEYS_CHARACTERS = 28, 34
NAME_WIDTH, KEYS_WIDTH, LABEL_WIDTH = 7.4, 5.7, 5.9
PADDING, LEAST = 30.0, 96.0
BOX_HEIGHT, LINE = 38.0, 15.0


def shortened(text: str, limit: int) -> str:
    """At most ``limit`` characters: what is in the middle of a name matters least."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 3
    return f"{text[: limit - 1 - tail]}…{text[-tail:]}"


def name_lines(name: str) -> list[str]:
    """A name in one line, or in two that part after an underscore where there is one near the middle."""
    if len(name) <= NAME_CHARACTERS:
        return [name]
    places = [i + 1 for i, c in enumerate(name) if c == "_" and i < NAME_CHARACTERS] or [NAME_CHARACTERS]
    place = min(places, key=lambda i: abs(i - len(name) / 2))
    return [shortened(name[:place], NAME_CHARACTERS), shortened(name[place:], NAME_CHARACTERS)]


def height_of(node: Node) -> float:
    """The height of a node's box."""
    return BOX_HEIGHT + LINE * (len(name_lines(node.key[1])) - 1)


def width_of(node: Node) -> float:
    """The width of a node's box."""
    name, keys = max(map(len, name_lines(node.key[1]))), min(len(node.keys), KEYS_CHARACTERS)
    return max(LEAST, PADDING + max(name * NAME_WIDTH, keys * KEYS_WIDTH))


def label_width(text: str) -> float:
    """The width of an edge's label."""
    return LABEL_WIDTH * len(text)


# The order of the nodes within each layer, so that few edges cross: the barycentre heuristic, a few sweeps.


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
        current = _sweep(current, left) if sweep % 2 == 0 else _sweep(current[::-1], right)[::-1]
        current = _lonely_last(current, {*left, *right})
        count = crossings(current, right)
        if count < fewest:
            best, fewest = current, count
    return best


def _lonely_last(layers: list[list[N]], linked: set[N]) -> list[list[N]]:
    return [sorted(layer, key=lambda n: n not in linked) for layer in layers]


def _sweep(layers: list[list[N]], neighbours: Mapping[N, list[N]]) -> list[list[N]]:
    """Each layer in turn sorted by the mean place of its nodes' neighbours in the layer before."""
    done: list[list[N]] = [list(layers[0])] if layers else []
    for layer in layers[1:]:
        places = {node: i for i, node in enumerate(done[-1])}
        own = {node: float(i) for i, node in enumerate(layer)}
        wanted = {
            n: fmean(found) if (found := [places[m] for m in neighbours.get(n, ()) if m in places]) else own[n]
            for n in layer
        }
        done.append(sorted(layer, key=lambda n: (wanted[n], own[n])))
    return done


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


# What is drawn: relations, maps, derived maps and views in layers, and one edge per pair that depends on each other.


#: (kind, name); kinds are relation, map, derived and view.
Key = tuple[str, str]


@dataclass(frozen=True)
class Node:
    """A box. ``keys`` is its second line, ``title`` what is shown when one points at it; ``idle``: nothing uses it."""

    key: Key
    layer: int
    keys: str
    title: str
    idle: bool = False


@dataclass(frozen=True)
class Edge:
    """``target`` is computed from ``source`` on ``events``. ``dashed``: only by re-evaluation."""

    source: Key
    target: Key
    events: tuple[str, ...]
    dashed: bool

    @property
    def label(self) -> str:
        """The events, unless they are just those of the source itself."""
        name = self.source[1]
        own = {"relation": {f"±{name}"}, "derived": {f"~{name}"}}.get(self.source[0], set())
        return "" if set(self.events) <= own else ", ".join(self.events)


def nodes_of(program: Program) -> list[Node]:
    """The nodes: relations in layer 0, maps in layers by their depth, views in the last."""
    used = {t.relation for t in program.triggers}
    levels = depth(program)
    last = max(levels.values(), default=-1) + 2
    nodes = []
    for relation in program.relations:
        key = f"key {', '.join(relation.key)}" if relation.key else "no key"
        columns = ", ".join(f"{c.name} {c.type}" for c in relation.columns)
        title = f"relation {relation.name}({columns})"
        nodes.append(Node(("relation", relation.name), 0, key, title, relation.name not in used))
    nodes += [_map_node(program, m.name, levels[m.name] + 1) for m in program.maps]
    for view in program.views:
        columns = ", ".join(c.name for c in view.visible)
        title = f"view {view.name}: {view_words(program, view)}\n{columns}"
        nodes.append(Node(("view", view.name), last, columns, title))
    return nodes


def _map_node(program: Program, name: str, layer: int) -> Node:
    decl = program.map_by_name[name]
    title = "\n".join(t for t in (signature(decl), decl.meaning) if t)
    derived = program.derivation_by_map.get(name)
    if derived is not None:
        title = f"{signature(decl)}\nre-evaluated: {derived_words(program, derived)}"
    return Node(_map_key(program, name), layer, f"[{', '.join(k.name for k in decl.keys)}]", title)


def _map_key(program: Program, name: str) -> Key:
    return ("derived" if name in program.derivation_by_map else "map", name)


def edges_of(program: Program) -> list[Edge]:
    """The edges, one per pair of nodes. A relation has edges to the maps that its events alone change, or to all that
    they change if there are none of the former."""
    found: dict[tuple[Key, Key], list[str]] = {}
    linear: set[tuple[Key, Key]] = set()
    for source, target, event in _dependencies(program):
        found.setdefault((source, target), []).append(event)
        if event[:1] in ("+", "-", ""):
            linear.add((source, target))
    return [
        Edge(*pair, tuple(events(e for e in names if e not in ("", "derive"))), pair not in linear)
        for pair, names in found.items()
    ]


def _dependencies(program: Program) -> Iterator[tuple[Key, Key, str]]:
    """(source, target, event): the event is ``derive`` for the inputs of a derivation, and empty for a view's maps."""
    yield from _direct(program)
    for trigger in program.triggers:
        for statement in trigger.statements:
            target = _map_key(program, statement.target)
            for ref in statement.reads():
                yield _map_key(program, ref.map), target, trigger.event
            if trigger.sign == 0:
                yield ("derived", trigger.relation), target, trigger.event
    for derived in program.derivations:
        for name in derived.reads():
            yield _map_key(program, name), ("derived", derived.map), "derive"
    for view in program.views:
        for name in view_maps(view):
            yield _map_key(program, name), ("view", view.name), ""


def _direct(program: Program) -> Iterator[tuple[Key, Key, str]]:
    for relation in program.relations:
        mine = [(t, s) for t in program.triggers if t.relation == relation.name and t.sign for s in t.statements]
        alone = [(t, s) for t, s in mine if not any(s.reads())]
        for trigger, statement in alone or mine:
            yield ("relation", relation.name), _map_key(program, statement.target), trigger.event
