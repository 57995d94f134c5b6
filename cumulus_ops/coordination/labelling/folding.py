"""A group of components as one annotated component: what is inside does not have to be looked at again.

Each pair of an input and an output that something inside connects becomes one path: confluent if all that lies between them is, and a
write if something between them is. A gate stays known only where streams from outside come to it directly, with their seals as they are, and
what was a read stays one only if it is the same read for all inputs; otherwise each record counts as a partition of its own. So labels
are never less severe than without folding, and often the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from cumulus_ops.coordination.labelling.analysis import Port, into
from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.errors import InputProblem
from m3.graphs import components, graph_of, predecessors, reachable

__all__ = ["fold"]


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
        one = Component(
            self.name, paths, self._replicated(), max((c.replicas or 0 for c in self.members), default=0) or None
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

    def _replicated(self) -> bool | None:
        said = {c.replicated for c in self.members} | {True for s in self.inner if s.replicated}
        return True if True in said else False if said == {False} else None

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
