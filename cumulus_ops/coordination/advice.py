"""What would make coordination cheaper: a seal instead of an order, replicas and caches where they cost nothing, and how many nodes a
sealed value concerns (Blazes, sections V-B and X)."""

from __future__ import annotations

from collections.abc import Iterator

from cumulus_ops.coordination.analysis import Analysis, into
from cumulus_ops.coordination.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.coordination.strategies import Coordination

__all__ = ["advise", "locality_of"]


def advise(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> tuple[str, ...]:
    """Sentences, the most useful first; none if there is nothing to say."""
    found = [*_seals(dataflow, coordination), *_locality(dataflow, coordination), *_placement(dataflow, analysis)]
    return tuple(dict.fromkeys(found))


def _seals(dataflow: Dataflow, coordination: Coordination) -> Iterator[str]:
    """Seals that would do without an order."""
    components = {c.name: c for c in dataflow.components}
    for name, interface in coordination.ordered:
        paths = [path for path, _ in into(components[name], interface)]
        gates = [path.gate for path in paths if path.order_sensitive]
        common = (
            frozenset.intersection(*(g for g in gates if g is not None)) if None not in gates and gates else frozenset()
        )
        where = " and ".join(_inputs(dataflow, components[name], paths))
        if None in gates:
            yield f"{name}.{interface} is order-sensitive without a subscript: say over which partitions, and a seal on one of them may do instead of an order"
        elif common and where:
            keys = " or ".join(sorted(common))
            yield f"a seal of {where} on {keys} would do instead of the order at {name}.{interface}"
        elif not common:
            yield f"{name}.{interface} works on all of its input at once: grouped by an attribute that can be sealed, it would do without an order"


def _inputs(dataflow: Dataflow, component: Component, paths: list[Annotation]) -> Iterator[str]:
    """What would have to be sealed: all that is written, and no seal completes the requests."""
    names = dict.fromkeys(p.source for p in paths if p.writes)
    for source in names:
        streams = [s.name for s in dataflow.streams if s.target == (component.name, source)]
        yield from streams or [f"{component.name}.{source}"]


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
        confluent = not any(p.order_sensitive for p in component.paths)
        outputs = [analysis.outputs[component.name, p.target] for p in component.paths]
        if not confluent and component.replicated and any(not o.deterministic for o in outputs):
            before = [c.name for c in _upstream(dataflow, component) if not any(p.order_sensitive for p in c.paths)]
            if before:
                yield f"{component.name} is replicated and order-sensitive: replicas of {', '.join(before)}, which is confluent, need no coordination"
        if not confluent and any(not o.deterministic for o in outputs):
            for cache in _downstream(dataflow, component):
                if any(p.writes for p in cache.paths):
                    yield f"{cache.name} keeps what {component.name} may take back: a cache needs no coordination downstream of confluent components"


def _upstream(dataflow: Dataflow, component: Component) -> list[Component]:
    names = {s.source[0] for s in dataflow.streams if s.target and s.target[0] == component.name and s.source}
    return [c for c in dataflow.components if c.name in names and c is not component]


def _downstream(dataflow: Dataflow, component: Component) -> list[Component]:
    names = {s.target[0] for s in dataflow.streams if s.source and s.source[0] == component.name and s.target}
    return [c for c in dataflow.components if c.name in names and c is not component]
