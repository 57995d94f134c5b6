"""What would make coordination cheaper: a seal instead of an order, replicas and caches where they cost nothing, and how many nodes a
sealed value concerns (Blazes, sections V-B and X)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cumulus_ops.coordination.labelling.analysis import Analysis, Output, analyse, into
from cumulus_ops.coordination.labelling.annotations import Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.strategies import Coordination, coordinate

__all__ = ["advise", "locality_of"]

#: For how many ordered outputs changes are looked for: each is an analysis.
TRIED = 5


def advise(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> tuple[str, ...]:
    """Sentences, the most useful first; none if there is nothing to say."""
    found = [*_seals(dataflow, coordination), *_locality(dataflow, coordination), *_placement(dataflow, analysis)]
    return tuple(dict.fromkeys(found))


def _seals(dataflow: Dataflow, coordination: Coordination) -> Iterator[str]:
    """What would do without an order: a seal, or a grouping column that is sealed already. Each is tried."""
    components = {c.name: c for c in dataflow.components}
    for output in list(coordination.ordered)[:TRIED]:
        component, place = components[output[0]], ".".join(output)
        paths = [path for path, _ in into(component, output[1])]
        gates = [path.gate for path in paths if path.order_sensitive]
        known = [gate for gate in gates if gate is not None]
        if len(known) < len(gates):
            yield f"{place} is order-sensitive without a subscript: say over which partitions, and a seal may do instead of the order"
            continue
        streams = [s for s in dataflow.streams if s.target in {(component.name, p.source) for p in paths if p.writes}]
        changes = [
            *_sealed(dataflow, streams, frozenset[str]().union(*known), output),
            *_grouped(dataflow, component, streams, output),
        ]
        if changes:
            yield f"{', or '.join(changes)} would do instead of the order at {place}"


def _sealed(dataflow: Dataflow, streams: Sequence[Stream], gate: frozenset[str], output: Output) -> Iterator[str]:
    """A seal on one attribute of all that is written."""
    names = " and ".join(s.name for s in streams)
    found = []
    for attribute in sorted(gate):
        changed = tuple(replace(s, seal=frozenset({attribute})) if s in streams else s for s in dataflow.streams)
        if streams and _does(replace(dataflow, streams=changed), output):
            found.append(attribute)
    if found:
        yield f"a seal of {names} on {' or '.join(found)}"


def _grouped(dataflow: Dataflow, component: Component, streams: Sequence[Stream], output: Output) -> Iterator[str]:
    """The attributes of a seal that is there, in the gate."""
    for key in dict.fromkeys(s.seal for s in streams if s.seal):
        paths = tuple(replace(p, gate=p.gate | key) if p.gate is not None else p for p in component.paths)
        parts = tuple(replace(c, paths=paths) if c is component else c for c in dataflow.components)
        if _does(replace(dataflow, components=parts), output):
            yield f"grouping by {', '.join(sorted(key))} as well"


def _does(changed: Dataflow, output: Output) -> bool:
    """Whether a changed dataflow needs no order at an output."""
    return output not in coordinate(changed, analyse(changed)).ordered


def _locality(dataflow: Dataflow, coordination: Coordination) -> Iterator[str]:
    for stream, edge in zip(dataflow.streams, coordination.edges, strict=True):
        if edge.strategy == "seal":
            yield f"coordination locality of {stream.name}: {locality_of(dataflow, stream)}"
        elif edge.strategy == "order":
            yield f"coordination locality of {stream.name}: every record concerns all producers and {_consumers(dataflow, stream)}"


def locality_of(dataflow: Dataflow, stream: Stream) -> str:
    """How many nodes a sealed value concerns: its producers, and the instances of the consumer."""
    producers = {None: "all its producers", 1: "one producer"}.get(stream.producers, f"{stream.producers} producers")
    text = f"a sealed value concerns {producers} and {_consumers(dataflow, stream)}"
    if stream.producers != 1:
        text += "; if each value had one producer, it would take no vote"
    return text


def _consumers(dataflow: Dataflow, stream: Stream) -> str:
    name = stream.target[0] if stream.target else ""
    component = next(c for c in dataflow.components if c.name == name)
    if component.replicas is not None and component.replicas > 1:
        return f"{component.replicas} instances of {name}"
    return f"every instance of {name}" if component.replicated or stream.replicated else name


def _placement(dataflow: Dataflow, analysis: Analysis) -> Iterator[str]:
    """Replicas are cheap upstream of what is confluent, caches downstream of it."""
    for component in dataflow.components:
        outputs = [analysis.outputs[component.name, p.target] for p in component.paths]
        if _confluent(component) or all(output.deterministic for output in outputs):
            continue
        before = [c.name for c in _beside(dataflow, component, upstream=True) if _confluent(c)]
        if before and component.replicated:
            names = ", ".join(before)
            yield f"replicas of {component.name} have to be kept alike; replicas of {names}, upstream of it and confluent, cost nothing"
        for cache in _beside(dataflow, component, upstream=False):
            if any(p.writes for p in cache.paths):
                yield f"{cache.name} keeps what {component.name} may take back: keep things downstream of confluent components, and nothing has to be coordinated"


def _confluent(component: Component) -> bool:
    return not any(p.order_sensitive for p in component.paths)


def _beside(dataflow: Dataflow, component: Component, *, upstream: bool) -> list[Component]:
    """The components before it, or after it."""
    links = [(s.source[0], s.target[0]) for s in dataflow.streams if s.source and s.target]
    names = {a if upstream else b for a, b in links if (b if upstream else a) == component.name}
    return [c for c in dataflow.components if c.name in names and c is not component]
