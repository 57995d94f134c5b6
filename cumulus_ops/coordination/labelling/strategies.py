"""Which coordination each stream needs: none, a seal, or an order (Blazes, section V-B).

Where a seal that is there already completes what an order-sensitive path works on, the consumer waits for it: for every producer's
punctuation, and, if there are several producers, for a vote that these are all. Where there is none, all that the path depends on is put in
one order: by logged version, which is the same in every run, or by arrival, which is the same at every replica only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.analysis import LOGGED, Analysis, Output, Port, analyse, into
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.labels import SEAL, Label
from cumulus_ops.coordination.plan import EdgePlan
from cumulus_ops.project.errors import InputProblem
from m3.dataflow import components, graph_of, predecessors, reachable

__all__ = ["Coordination", "advise", "choose_strategies", "coordinate", "fold", "locality_of"]


#: (component, interface).
Input = tuple[str, str]


@dataclass(frozen=True)
class Coordination:
    """What is done, and what comes of it: ``edges`` in the order of the dataflow's streams, ``analysis`` with all of them in place. ``ordered``: the
    outputs for which all that they depend on is ordered, and why."""

    edges: tuple[EdgePlan, ...]
    analysis: Analysis

    @property
    def ordered(self) -> Mapping[Output, str]:
        """See above."""
        return self.analysis.ordered


def choose_strategies(dataflow: Dataflow, analysis: Analysis, order: str = LOGGED) -> tuple[EdgePlan, ...]:
    """What each stream of an analysed dataflow needs; ``order`` is which one is to be had, ``logged`` or ``arrival``."""
    return coordinate(dataflow, analysis, order).edges


def coordinate(dataflow: Dataflow, analysis: Analysis, order: str = LOGGED) -> Coordination:
    """The same, and the labels that the streams have with it."""
    after = analysis if not analysis.raised else analyse(dataflow, order)
    return Coordination(tuple(_Edges(dataflow, after, order).edges()), after)


class _Edges:
    """What each stream needs for an analysis to hold."""

    def __init__(self, dataflow: Dataflow, after: Analysis, order: str) -> None:
        self.dataflow, self.after, self.order = dataflow, after, order
        self.sealed = frozenset[Input]().union(*after.sealed.values())
        self.streams = Counter(s.target for s in dataflow.streams)
        components = {c.name: c for c in dataflow.components}
        #: input -> why what comes there is ordered
        self.ordered: dict[Input | None, str] = {}
        for (name, interface), reason in after.ordered.items():
            for path, _ in into(components[name], interface):
                self.ordered.setdefault((name, path.source), reason)

    def edges(self) -> Iterator[EdgePlan]:
        for stream in self.dataflow.streams:
            label = self.after.labels[stream.name]
            source = ".".join(stream.source) if stream.source else stream.name
            target = ".".join(stream.target) if stream.target else stream.name
            plan = EdgePlan(source, target, "none", str(label), self._nothing(stream, label))
            if stream.target in self.ordered:
                plan = replace(plan, strategy="order", reason=self.ordered[stream.target], order=self.order)
            elif stream.target in self.sealed and label.kind == SEAL:
                key, vote = tuple(sorted(label.key or ())), stream.producers != 1 or self.streams[stream.target] > 1
                plan = replace(plan, strategy="seal", reason=_waiting(key, vote), key=key, vote=vote)
            yield plan

    def _nothing(self, stream: Stream, label: Label) -> str:
        if stream.target is None:
            return "it leaves"
        if label.kind == SEAL:
            return "its punctuations are passed on"
        return "any order gives the same contents" if label.deterministic else "no order here would make it the same"


def _waiting(key: tuple[str, ...], vote: bool) -> str:
    value = f"a value of {', '.join(key)}" if key else "the stream"
    if vote:
        return f"{value} is processed when every producer of it has sealed it, and a vote says that these are all"
    return f"{value} is processed when its only producer has sealed it"


# What would make coordination cheaper: a seal instead of an order, replicas and caches where they cost nothing, and how many nodes a
# sealed value concerns (Blazes, sections V-B and X).


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


# A group of components as one annotated component: what is inside does not have to be looked at again.
#
# Each pair of an input and an output that something inside connects becomes one path: confluent if all that lies between them is, and a
# write if something between them is. A gate stays known only where streams from outside come to it directly, with their seals as they are, and
# what was a read stays one only if it is the same read for all inputs; otherwise each record counts as a partition of its own. So labels
# are never less severe than without folding, and often the same.


def fold(dataflow: Dataflow, group: Collection[str], name: str) -> Dataflow:
    """The dataflow with the components of ``group`` as a single one, called ``name``.

    Raises:
        InputProblem: there is no such component, or another one is called so.
    """
    there = {c.name for c in dataflow.components}
    for member in group:
        if member not in there:
            hint = f"known: {', '.join(sorted(there))}"
            raise InputProblem(
                f"there is no component {member!r}", kind="unknown-component", place=dataflow.name, hint=hint
            )
    if name in there - set(group) or not group:
        raise InputProblem(
            f"{name!r} cannot be what is folded",
            kind="bad-value",
            place=dataflow.name,
            hint="name a new one, and its parts",
        )
    return _Fold(dataflow, frozenset(group), name).folded()


class _Fold:
    """One group being folded."""

    def __init__(self, dataflow: Dataflow, group: frozenset[str], name: str) -> None:
        self.dataflow, self.group, self.name = dataflow, group, name
        self.members = [c for c in dataflow.components if c.name in group]
        self.inner = [s for s in dataflow.streams if s.source and s.target and {s.source[0], s.target[0]} <= group]
        self.paths: dict[tuple[Port, Port], list[Annotation]] = {}
        for component in self.members:
            for output in dict.fromkeys(p.target for p in component.paths):
                for path, _ in into(component, output):
                    edge = ("in", component.name, path.source), ("out", component.name, output)
                    self.paths.setdefault(edge, []).append(path)
        links = [(("out", *s.source), ("in", *s.target)) for s in self.inner if s.source and s.target]
        self.graph = graph_of((p for edge in self.paths for p in edge), [*self.paths, *links])
        self.cyclic = {port for ring in components(self.graph) if len(ring) > 1 for port in ring}

    def folded(self) -> Dataflow:
        inputs, outputs = self._names("in", self._inputs()), self._names("out", self._outputs())
        paths = tuple(
            self._path(source, target, inputs[source], outputs[target])
            for source in inputs
            for target in outputs
            if target in reachable(self.graph, source)
        )
        said = {c.replicated for c in self.members} | {True for s in self.inner if s.replicated}
        one = Component(
            self.name,
            paths,
            (True if True in said else False if said == {False} else None),
            max((c.replicas or 0 for c in self.members), default=0) or None,
        )
        others = [c for c in self.dataflow.components if c.name not in self.group]
        streams = tuple(self._moved(s, inputs, outputs) for s in self.dataflow.streams if s not in self.inner)
        gone = {s.name for s in self.inner}
        return replace(
            self.dataflow,
            components=(*others, one),
            streams=streams,
            dependencies=tuple(d for d in self.dataflow.dependencies if d.stream not in gone),
            schemas=tuple(s for s in self.dataflow.schemas if s.stream not in gone),
        )

    def _inputs(self) -> Iterator[Port]:
        """What streams from outside of the group lead to, and what none leads to, or only a loop that nothing enters."""
        fed = {s.target for s in self.inner}
        outside = {s.target for s in self.dataflow.streams if s not in self.inner}
        ports = [p for p in self.graph if p[0] == "in"]
        entered = [p for p in ports if p[1:] in outside or p[1:] not in fed]
        reached = {port for entry in entered for port in reachable(self.graph, entry)}
        yield from (p for p in ports if p in entered or p not in reached)

    def _outputs(self) -> Iterator[Port]:
        used = {s.source for s in self.inner}
        outside = {s.source for s in self.dataflow.streams if s not in self.inner}
        for component in self.members:
            for name in dict.fromkeys(p.target for p in component.paths):
                if (component.name, name) in outside or (component.name, name) not in used:
                    yield "out", component.name, name

    def _names(self, kind: str, ports: Iterator[Port]) -> dict[Port, str]:
        """Interfaces keep their names; two of one name get their component's in front."""
        found = list(ports)
        names = [port[2] for port in found]
        return {p: p[2] if names.count(p[2]) == 1 else f"{p[1]}.{p[2]}" for p in found}

    def _moved(self, stream: Stream, inputs: dict[Port, str], outputs: dict[Port, str]) -> Stream:
        source, target = stream.source, stream.target
        if source is not None and source[0] in self.group:
            source = (self.name, outputs["out", *source])
        if target is not None and target[0] in self.group:
            target = (self.name, inputs["in", *target])
        return replace(stream, source=source, target=target)

    def _path(self, source: Port, target: Port, name: str, output: str) -> Annotation:
        """All that lies on some way from ``source`` to ``target``, in one annotation."""
        onward, back = reachable(self.graph, source), reachable(predecessors(self.graph), target)
        between = [
            (edge[0], path)
            for edge, paths in self.paths.items()
            if edge[0] in onward and edge[1] in back
            for path in paths
        ]
        order = any(path.order_sensitive for _, path in between)
        writes = any(path.writes for _, path in between) or (order and not self._one_read(source, target, back))
        label = f"{'O' if order else 'C'}{'W' if writes else 'R'}"
        gates = [
            self._gate(port, path) if path.label == label else None for port, path in between if path.order_sensitive
        ]
        gate = frozenset.intersection(*(g for g in gates if g is not None)) if gates and None not in gates else None
        plain = all(path.lineage is None for _, path in between) and not self.cyclic & onward & back
        lineage = None if plain and not self._described() else ()
        return Annotation(name, output, label, gate or None, lineage)

    def _one_read(self, source: Port, target: Port, back: set[Port]) -> bool:
        """Whether all that is order-sensitive before ``target`` meets in one output, by one gate, and ``source`` does not lead round it. Only then is
        an NDRead the same for all inputs: reads of different things, called by one name, would protect each other."""
        meeting = {
            (edge[1], path.gate)
            for edge, paths in self.paths.items()
            if edge[1] in back
            for path in paths
            if path.order_sensitive
        }
        return len(meeting) == 1 and target not in reachable(self._confluent(), source)

    def _confluent(self) -> dict[Port, dict[Port, None]]:
        """Without order-sensitive paths."""
        sensitive = {edge for edge, paths in self.paths.items() if any(p.order_sensitive for p in paths)}
        return {a: {b: None for b in targets if (a, b) not in sensitive} for a, targets in self.graph.items()}

    def _gate(self, port: Port, path: Annotation) -> frozenset[str] | None:
        """The gate, if all that the component gets comes from outside: inside, seals may have been lost or used."""
        inside = any(s.target is not None and s.target[0] == port[1] for s in self.inner)
        return None if inside else path.gate

    def _described(self) -> bool:
        """Whether streams inside say something of their attributes, which may end a seal."""
        names = {s.name for s in self.inner}
        return any(s.stream in names for s in self.dataflow.schemas)
