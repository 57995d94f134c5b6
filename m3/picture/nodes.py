"""What is drawn: relations, maps, derived maps and views in layers, and one edge per pair that depends on each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from m3.dataflow import depth
from m3.explain.restrict import view_maps
from m3.explain.words import derived_words, events, signature, view_words
from m3.program import Program

__all__ = ["Edge", "Key", "Node", "edges_of", "nodes_of"]

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
