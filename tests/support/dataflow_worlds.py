"""Random small annotated dataflows, and concrete components that behave as the annotations say.

A **world** is a dataflow with a behaviour for each path and with records (and seals) for each stream from outside. A component's state is one:
a path that reads, reads what all the others have written.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Dependency, Schema, Stream

__all__ = [
    "DEPENDENCIES",
    "VALUES",
    "Behaviour",
    "Record",
    "World",
    "closure",
    "draw_dataflow",
    "draw_world",
    "image",
    "of",
    "record",
    "restricted",
]

#: Attributes and their values, in a fixed order.
Record = tuple[tuple[str, int], ...]

#: ``d`` is another name of ``a``; ``e`` is the same for every ``a``, as a city is for companies.
DEPENDENCIES = (Dependency(frozenset("a"), "d", injective=True), Dependency(frozenset("a"), "e"))
BASE = "abc"
#: All values that attributes of records from outside may have, and those that an attribute of any record may have.
DOMAIN = {"a": (0, 1), "b": (0, 1), "c": (0, 1, 2), "d": (0, 1), "e": (0,)}
VALUES = DOMAIN | dict.fromkeys("bxy", (0, 1, 2))


def record(values: Mapping[str, int]) -> Record:
    """A record from its attributes."""
    return tuple(sorted(values.items()))


def of(row: Record, attribute: str) -> int | None:
    """An attribute's value, None if the record has no such attribute."""
    return next((v for name, v in row if name == attribute), None)


@lru_cache(100_000)
def restricted(row: Record, attributes: frozenset[str]) -> tuple[int | None, ...]:
    """The values of some attributes, in the order of their names."""
    return tuple(of(row, name) for name in sorted(attributes))


def closure(values: Mapping[str, int | None]) -> dict[str, int]:
    """What is known once these values are: by the functions behind :data:`DEPENDENCIES`, backwards where they are injective.

    >>> closure({"d": 0})
    {'d': 0, 'a': 1, 'e': 0}
    """
    known = {name: v for name, v in values.items() if v is not None}
    if "a" not in known and "d" in known:
        known["a"] = 1 - known["d"]
    if "a" in known:
        known |= {"d": 1 - known["a"], "e": 0}
    return known


def image(path: Annotation, row: Record, computed: Mapping[str, int] | None = None) -> Record:
    """What a path makes of a record: its attributes as the lineage says, and others that are computed."""
    kept = dict(row)
    if path.lineage is not None:
        kept = {new: v for new, old in path.lineage if (v := of(row, old)) is not None}
    return record(kept | dict(computed or {}))


@dataclass(frozen=True)
class Behaviour:
    """What a path does, within what its annotation says: ``kind`` is one of

    - ``map``: let through what has not the value ``without`` of an attribute (CR);
    - ``log``, ``join``, ``threshold``: show what was written; joined with what the other paths wrote; once two records agree in all
      attributes that the path keeps (CW);
    - ``count``, ``absent``, ``few``: how many records all paths of the component have written into the request's partition; the request
      itself, if there are none, or fewer than two (OR);
    - ``sequence``, ``last``, ``first``: the record with its place in its partition, or with the one before it; only a partition's first one
      (OW). ``shared``: counting what other paths of the component have written into the partition.

    ``gate``: the partitions that it really has.
    """

    kind: str
    without: tuple[str, int] | None = None
    gate: frozenset[str] = frozenset()
    shared: bool = False


@dataclass(frozen=True)
class World:
    """A dataflow, the behaviours of its components' paths, the records of the streams from outside, and which values are sealed: all there
    may be, for a vote needs the seals of those, too, who have no record of a value."""

    dataflow: Dataflow
    behaviours: Mapping[tuple[str, int], Behaviour]
    inputs: Mapping[str, frozenset[Record]]
    sealed: Mapping[str, frozenset[tuple[int | None, ...]]]


def draw_world(choose: random.Random, dataflow: Dataflow, records: int = 3) -> World:
    """Behaviours and inputs; at most so many ``records`` per stream from outside."""
    behaviours = {}
    for component in dataflow.components:
        joined = {path.target: choose.random() < 0.4 for path in component.paths}
        for number, path in enumerate(component.paths):
            behaviours[component.name, number] = _behaviour(choose, path, joined[path.target])
    inputs, sealed = {}, {}
    for stream in dataflow.streams:
        if stream.source is None:
            schema = _schema(stream)
            inputs[stream.name] = frozenset(_row(choose, schema) for _ in range(choose.randint(1, records)))
            if stream.seal is not None:
                sealed[stream.name] = frozenset(product(*(DOMAIN[k] for k in sorted(stream.seal))))
    return World(dataflow, behaviours, inputs, sealed)


def _schema(stream: Stream) -> str:
    """The attributes of a stream from outside: the letters of its name's last part, as ``s0_abd``."""
    return stream.name.rsplit("_", 1)[-1]


def _row(choose: random.Random, schema: str) -> Record:
    values = closure({name: choose.choice(DOMAIN[name]) for name in BASE})
    return record({name: values[name] for name in schema})


def _behaviour(choose: random.Random, path: Annotation, joined: bool) -> Behaviour:
    if path.label == "CR":
        without = (choose.choice("ab"), choose.choice((0, 1))) if choose.random() < 0.3 else None
        return Behaviour("map", without)
    if path.label == "CW":
        if path.lineage is None:
            return Behaviour("join" if joined else "log")
        return Behaviour(choose.choice(("log", "threshold", "threshold")))
    gate = path.gate
    if gate is None:
        gate = frozenset(name for name in BASE if choose.random() < 0.3)
    if path.label == "OR":
        return Behaviour(choose.choice(("count", "count", "absent", "few")), gate=gate)
    return Behaviour(choose.choice(("sequence", "last", "first")), gate=gate, shared=choose.random() < 0.7)


def draw_dataflow(choose: random.Random) -> Dataflow:
    """One to four components, with at most three streams from outside."""
    components: list[Component] = []
    streams: list[Stream] = []
    schemas: dict[tuple[str, str], str] = {}
    for number in range(choose.choice((1, 1, 2, 2, 3, 4))):
        name = f"C{number}"
        interfaces = {f"in{i}": "" for i in range(choose.choice((1, 2, 2)))}
        for interface in interfaces:
            interfaces[interface] = _feed(choose, (name, interface), streams, schemas)
        paths = _paths(choose, interfaces, choose.choice((1, 1, 1, 2)))
        components.append(Component(name, paths, replicated=choose.choice((True, True, False, None))))
        for path in paths:
            kept = interfaces[path.source] if path.lineage is None else "".join(new for new, _ in path.lineage)
            schemas[name, path.target] = "".join(sorted(set(schemas.get((name, path.target), "") + kept)))
    if choose.random() < 0.2:
        _feed_back(choose, components, streams)
    fed = {s.source for s in streams}
    for number, output in enumerate(schemas):
        if output not in fed or choose.random() < 0.2:
            streams.append(Stream(f"sink{number}", output, None))
    drawn = choose.random()
    outside = [stream for stream in streams if stream.source is None]
    schemas_known = tuple(Schema(s.name, tuple(_schema(s))) for s in outside) if drawn * 10 % 1 < 0.5 else ()
    return Dataflow("random", tuple(components), tuple(streams), tuple(_known(drawn, outside)), schemas_known)


def _known(drawn: float, outside: Sequence[Stream]) -> Iterator[Dependency]:
    """What is said of dependencies: that they hold everywhere, of some streams from outside, or nothing."""
    for dependency in DEPENDENCIES:
        if drawn < 0.5:
            yield dependency
        elif drawn < 0.8:
            needed = dependency.determinant | {dependency.dependent}
            yield from (replace(dependency, stream=s.name) for s in outside if needed <= set(_schema(s)))


def _feed(
    choose: random.Random, target: tuple[str, str], streams: list[Stream], schemas: Mapping[tuple[str, str], str]
) -> str:
    """One or two streams into an input; returns the attributes that all their records have."""
    common = set("abcdexy")
    for _ in range(choose.choice((1, 1, 1, 2))):
        outside = [s for s in streams if s.source is None]
        replicated = choose.choice((None,) * 6 + (True, False))
        if schemas and (len(outside) > 2 or choose.random() < 0.7):
            source = choose.choice(list(schemas))
            schema, name = schemas[source], f"s{len(streams)}"
            streams.append(Stream(name, source, target, replicated=replicated))
        else:
            schema = "".join(n for n in "abcde" if choose.random() < 0.6) or "a"
            key = frozenset(choose.sample(schema, min(len(schema), choose.choice((1, 1, 1, 2)))))
            seal = key if choose.random() < 0.6 else None
            streams.append(Stream(f"s{len(streams)}_{schema}", None, target, seal, replicated))
        common &= set(schema)
    return "".join(sorted(common))


def _paths(choose: random.Random, interfaces: Mapping[str, str], outputs: int) -> tuple[Annotation, ...]:
    """Paths from each input and to each output."""
    names = list(interfaces)
    pairs = {(name, f"out{choose.randrange(outputs)}") for name in names}
    pairs |= {(choose.choice(names), f"out{o}") for o in range(outputs)}
    pairs |= {(name, f"out{o}") for name in names for o in range(outputs) if choose.random() < 0.5}
    return tuple(_path(choose, source, target, interfaces[source]) for source, target in sorted(pairs))


def _path(choose: random.Random, source: str, target: str, schema: str) -> Annotation:
    label = choose.choice(("CR", "CW", "CW", "OR", "OR", "OW"))
    gate = None
    if label in ("OR", "OW") and choose.random() < 0.9:
        gate = frozenset(choose.sample(schema, min(len(schema), choose.choice((0, 1, 1, 2)))))
    lineage = None
    drawn = choose.random()
    if drawn < 0.25:
        lineage = tuple((name, name) for name in schema if choose.random() < 0.6)
    elif drawn < 0.45:  # only what no other attribute depends on changes its name
        new = dict(zip("bc", choose.choice(("cb", "cb", "xy", "xc")), strict=True))
        renamed = tuple((new.get(name, name), name) for name in schema)
        lineage = renamed if len(dict(renamed)) == len(renamed) else None
    return Annotation(source, target, label, gate, lineage)


def _feed_back(choose: random.Random, components: list[Component], streams: list[Stream]) -> None:
    """A stream from an output to an input of the same or an earlier component."""
    at = choose.randrange(len(components))
    source = components[choose.randrange(at, len(components))]
    path = choose.choice(source.paths)
    target = choose.choice(components[at].paths)
    streams.append(Stream("back", (source.name, path.target), (components[at].name, target.source)))
