"""Which coordination each stream needs: none, a seal, or an order (Blazes, section V-B).

Where a seal that is there already completes what an order-sensitive path works on, the consumer waits for it: for every producer's
punctuation, and, if there are several producers, for a vote that these are all. Where there is none, all that the path depends on is put in
one order: by logged version, which is the same in every run, or by arrival, which is the same at every replica only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from cumulus_ops.coordination.labelling.analysis import LOGGED, Analysis, Output, Port, analyse, into
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.labels import SEAL
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
            if stream.target is None:
                reason = "it leaves"
            elif label.kind == SEAL:
                reason = "its punctuations are passed on"
            else:
                same = label.deterministic
                reason = "any order gives the same contents" if same else "no order here would make it the same"
            plan = EdgePlan(source, target, "none", str(label), reason)
            if stream.target in self.ordered:
                plan = replace(plan, strategy="order", reason=self.ordered[stream.target], order=self.order)
            elif stream.target in self.sealed and label.kind == SEAL:
                key, vote = tuple(sorted(label.key or ())), stream.producers != 1 or self.streams[stream.target] > 1
                value = f"a value of {', '.join(key)}" if key else "the stream"
                every = "every producer of it has sealed it, and a vote says that these are all"
                reason = f"{value} is processed when {every if vote else 'its only producer has sealed it'}"
                plan = replace(plan, strategy="seal", reason=reason, key=key, vote=vote)
            yield plan


# What would make coordination cheaper: a seal instead of an order, replicas and caches where they cost nothing, and how many nodes a
# sealed value concerns (Blazes, sections V-B and X).


#: For how many ordered outputs changes are looked for: each is an analysis.
TRIED = 5


def advise(dataflow: Dataflow, analysis: Analysis, coordination: Coordination) -> tuple[str, ...]:
    """Sentences, the most useful first; none if there is nothing to say."""
    found = list(_advise_seals(dataflow, coordination))
    for stream, edge in zip(dataflow.streams, coordination.edges, strict=True):
        about = f"coordination locality of {stream.name}"
        if edge.strategy == "seal":
            found.append(f"{about}: {locality_of(dataflow, stream)}")
        elif edge.strategy == "order":
            found.append(f"{about}: every record concerns all producers and {_describe_consumers(dataflow, stream)}")
    return tuple(dict.fromkeys([*found, *_advise_placement(dataflow, analysis)]))


def _advise_seals(dataflow: Dataflow, coordination: Coordination) -> Iterator[str]:
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
        changes, names = [], " and ".join(s.name for s in streams)
        # A seal on one attribute of all that is written.
        sealing = []
        for attribute in sorted(frozenset[str]().union(*known)) if streams else ():
            changed = (replace(s, seal=frozenset({attribute})) if s in streams else s for s in dataflow.streams)
            if _needs_no_order(replace(dataflow, streams=tuple(changed)), output):
                sealing.append(attribute)
        if sealing:
            changes.append(f"a seal of {names} on {' or '.join(sealing)}")
        # The attributes of a seal that is there, in the gate.
        for key in dict.fromkeys(s.seal for s in streams if s.seal):
            grouped = tuple(replace(p, gate=p.gate | key) if p.gate is not None else p for p in component.paths)
            parts = tuple(replace(c, paths=grouped) if c is component else c for c in dataflow.components)
            if _needs_no_order(replace(dataflow, components=parts), output):
                changes.append(f"grouping by {', '.join(sorted(key))} as well")
        if changes:
            yield f"{', or '.join(changes)} would do instead of the order at {place}"


def _needs_no_order(changed: Dataflow, output: Output) -> bool:
    """Whether a changed dataflow needs no order at an output."""
    return output not in coordinate(changed, analyse(changed)).ordered


def locality_of(dataflow: Dataflow, stream: Stream) -> str:
    """How many nodes a sealed value concerns: its producers, and the instances of the consumer."""
    producers = {None: "all its producers", 1: "one producer"}.get(stream.producers, f"{stream.producers} producers")
    text = f"a sealed value concerns {producers} and {_describe_consumers(dataflow, stream)}"
    if stream.producers != 1:
        text += "; if each value had one producer, it would take no vote"
    return text


def _describe_consumers(dataflow: Dataflow, stream: Stream) -> str:
    name = stream.target[0] if stream.target else ""
    component = next(c for c in dataflow.components if c.name == name)
    if component.replicas is not None and component.replicas > 1:
        return f"{component.replicas} instances of {name}"
    return f"every instance of {name}" if component.replicated or stream.replicated else name


def _advise_placement(dataflow: Dataflow, analysis: Analysis) -> Iterator[str]:
    """Replicas are cheap upstream of what is confluent, caches downstream of it."""
    for component in dataflow.components:
        outputs = [analysis.outputs[component.name, p.target] for p in component.paths]
        if _is_confluent(component) or all(output.deterministic for output in outputs):
            continue
        before = [c.name for c in _find_neighbours(dataflow, component, upstream=True) if _is_confluent(c)]
        if before and component.replicated:
            names = ", ".join(before)
            yield f"replicas of {component.name} have to be kept alike; replicas of {names}, upstream of it and confluent, cost nothing"
        for cache in _find_neighbours(dataflow, component, upstream=False):
            if any(p.writes for p in cache.paths):
                yield f"{cache.name} keeps what {component.name} may take back: keep things downstream of confluent components, and nothing has to be coordinated"


def _is_confluent(component: Component) -> bool:
    return not any(p.order_sensitive for p in component.paths)


def _find_neighbours(dataflow: Dataflow, component: Component, *, upstream: bool) -> list[Component]:
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
    return _Fold(dataflow, frozenset(group), name).fold()


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

    def fold(self) -> Dataflow:
        inputs, outputs = (
            self._name_interfaces("in", self._find_inputs()),
            self._name_interfaces("out", self._find_outputs()),
        )
        paths = tuple(
            self._fold_paths(start, end, inputs[start], outputs[end])
            for start in inputs
            for end in outputs
            if end in reachable(self.graph, start)
        )
        said = {c.replicated for c in self.members} | {True for s in self.inner if s.replicated}
        one = Component(
            self.name,
            paths,
            (True if True in said else False if said == {False} else None),
            max((c.replicas or 0 for c in self.members), default=0) or None,
        )
        others = [c for c in self.dataflow.components if c.name not in self.group]
        streams = []
        for stream in self.dataflow.streams:
            if stream not in self.inner:
                source, target = stream.source, stream.target
                if source is not None and source[0] in self.group:
                    source = self.name, outputs["out", *source]
                if target is not None and target[0] in self.group:
                    target = self.name, inputs["in", *target]
                streams.append(replace(stream, source=source, target=target))
        gone = {s.name for s in self.inner}
        return replace(
            self.dataflow,
            components=(*others, one),
            streams=tuple(streams),
            dependencies=tuple(d for d in self.dataflow.dependencies if d.stream not in gone),
            schemas=tuple(s for s in self.dataflow.schemas if s.stream not in gone),
        )

    def _find_inputs(self) -> Iterator[Port]:
        """What streams from outside of the group lead to, and what none leads to, or only a loop that nothing enters."""
        fed = {s.target for s in self.inner}
        outside = {s.target for s in self.dataflow.streams if s not in self.inner}
        ports = [p for p in self.graph if p[0] == "in"]
        entered = [p for p in ports if p[1:] in outside or p[1:] not in fed]
        reached = {port for entry in entered for port in reachable(self.graph, entry)}
        yield from (p for p in ports if p in entered or p not in reached)

    def _find_outputs(self) -> Iterator[Port]:
        used = {s.source for s in self.inner}
        outside = {s.source for s in self.dataflow.streams if s not in self.inner}
        for component in self.members:
            for name in dict.fromkeys(p.target for p in component.paths):
                if (component.name, name) in outside or (component.name, name) not in used:
                    yield "out", component.name, name

    def _name_interfaces(self, kind: str, ports: Iterator[Port]) -> dict[Port, str]:
        """Interfaces keep their names; two of one name get their component's in front."""
        found = list(ports)
        names = [port[2] for port in found]
        return {p: p[2] if names.count(p[2]) == 1 else f"{p[1]}.{p[2]}" for p in found}

    def _fold_paths(self, source: Port, target: Port, name: str, output: str) -> Annotation:
        """All that lies on some way from ``source`` to ``target``, in one annotation."""
        onward, back = reachable(self.graph, source), reachable(predecessors(self.graph), target)
        between = [
            (edge[0], path)
            for edge, paths in self.paths.items()
            if edge[0] in onward and edge[1] in back
            for path in paths
        ]
        order = any(path.order_sensitive for _, path in between)
        writes = any(path.writes for _, path in between) or (order and not self._is_one_read(source, target, back))
        label = f"{'O' if order else 'C'}{'W' if writes else 'R'}"
        # A gate stays if all that its component gets comes from outside: inside, seals may have been lost or used.
        fed = {s.target[0] for s in self.inner if s.target is not None}
        gates = [
            path.gate if path.label == label and port[1] not in fed else None
            for port, path in between
            if path.order_sensitive
        ]
        gate = frozenset.intersection(*(g for g in gates if g is not None)) if gates and None not in gates else None
        plain = all(path.lineage is None for _, path in between) and not self.cyclic & onward & back
        # What streams inside say of their attributes may end a seal.
        inside = {s.name for s in self.inner}
        lineage = None if plain and all(s.stream not in inside for s in self.dataflow.schemas) else ()
        return Annotation(name, output, label, gate or None, lineage)

    def _is_one_read(self, source: Port, target: Port, back: set[Port]) -> bool:
        """Whether all that is order-sensitive before ``target`` meets in one output, by one gate, and ``source`` does not lead round it. Only then is
        an NDRead the same for all inputs: reads of different things, called by one name, would protect each other."""
        meeting = {
            (edge[1], path.gate)
            for edge, paths in self.paths.items()
            if edge[1] in back
            for path in paths
            if path.order_sensitive
        }
        sensitive = {edge for edge, paths in self.paths.items() if any(p.order_sensitive for p in paths)}
        confluent = {a: {b: None for b in targets if (a, b) not in sensitive} for a, targets in self.graph.items()}
        return len(meeting) == 1 and target not in reachable(confluent, source)
