"""The analysis of an annotated dataflow: every stream gets its label, and every step on the way is recorded (Blazes, section V-A).

It goes along the dataflow, interface by interface: streams into an input are merged, paths into an output are inferred and reconciled.
What is a cycle is seen between interfaces, not between components: a cache that forwards requests and gets responses is in none, as
no path leads from its responses to its requests. A cycle is one step with the highest severity that any path in it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cumulus_ops.coordination.labelling.annotations import Annotation, Component, Dataflow, Stream
from cumulus_ops.coordination.labelling.labels import (
    ASYNC,
    INST,
    RUN,
    SEAL,
    Attributes,
    Inference,
    Label,
    infer,
    most_severe,
    reconcile,
    rules_of,
)
from cumulus_ops.project.errors import InputProblem
from m3.dataflow import components, graph_of

__all__ = ["ARRIVAL", "LOGGED", "Analysis", "Flow", "Port", "Step", "analyse", "into"]

#: The two orders: by logged version, the same in every run; by arrival, the same at every replica.
LOGGED, ARRIVAL = "logged", "arrival"
#: ("in" or "out", component, interface).
Port = tuple[str, str, str]
#: (component, interface).
Output = tuple[str, str]


@dataclass(frozen=True)
class Flow:
    """What is known of the records at an interface, or in a stream."""

    label: Label
    attributes: Attributes


@dataclass(frozen=True)
class Step:
    """One step of the derivation: by ``rule``, at a ``place``, the labels ``inputs`` became ``output``, for a ``reason``.

    The ``rule`` is ``source``, ``merge``, one of inference (1 to 5, p) along an annotated ``path``, ``reconcile``, ``cycle``, ``order``, ``seal``, or ``label``,
    the result. The ``place`` is a stream, an interface (``Report.response``) or a cycle.
    """

    rule: str
    place: str
    inputs: tuple[Label, ...]
    output: Label
    reason: str
    path: str = ""


@dataclass(frozen=True)
class Analysis:
    """``labels`` by the name of a stream, ``outputs`` by (component, interface). ``raised`` are the outputs, in the order of the dataflow, that a component has
    made nondeterministic, or worse than what it gets; ``ordered`` those where an order prevents that, with the reason; and ``sealed`` by
    output which inputs' seals have been used there. ``cycles``: the interfaces of each."""

    labels: Mapping[str, Label]
    outputs: Mapping[Output, Label]
    inputs: Mapping[tuple[str, str], Label]
    steps: tuple[Step, ...]
    raised: tuple[Output, ...] = ()
    ordered: Mapping[Output, str] = field(default_factory=dict)
    sealed: Mapping[Output, frozenset[tuple[str, str]]] = field(default_factory=dict)
    cycles: tuple[tuple[Port, ...], ...] = ()
    sinks: tuple[str, ...] = ()

    @property
    def label(self) -> Label:
        """Of the whole dataflow: the most severe one of its sinks; of all streams if it has none."""
        names = self.sinks or tuple(self.labels)
        return most_severe([self.labels[name] for name in names] or [Label(ASYNC)])


def analyse(dataflow: Dataflow, order: str | None = None) -> Analysis:
    """Label every stream of a dataflow.

    Args:
        dataflow: what is annotated.
        order: ``logged`` or ``arrival``: where a difference arises that a total order prevents, all that the output depends on gets this one, and what
            follows is labelled accordingly. None: no order is to be had.

    Raises:
        InputProblem: two streams have one name, or one leads to a component that is not there.

    >>> count = Component("Count", (Annotation("words", "counts", "OW", frozenset({"word", "batch"})),))
    >>> words, counts = Stream("words", None, ("Count", "words")), Stream("counts", ("Count", "counts"), None)
    >>> analyse(Dataflow("counting", (count,), (words, counts))).labels["counts"].kind
    'Run'
    >>> sealed = replace(words, seal=frozenset({"batch"}))
    >>> analyse(Dataflow("counting", (count,), (sealed, counts))).labels["counts"].kind
    'Async'
    """
    # Refuse what a program may have put together wrongly.
    there, seen = {c.name for c in dataflow.components}, set[str]()
    for stream in dataflow.streams:
        ends = {end[0] for end in (stream.source, stream.target) if end is not None}
        if stream.name in seen or not ends <= there:
            what = "occurs twice" if stream.name in seen else f"has no component {', '.join(sorted(ends - there))}"
            hint = "streams have names of their own, and lead from one component to another"
            raise InputProblem(f"the stream {stream.name} {what}", kind="bad-dataflow", place=dataflow.name, hint=hint)
        seen.add(stream.name)
    return _Walk(dataflow, order).run()


def into(component: Component, output: str) -> list[tuple[Annotation, bool]]:
    """The paths that an output depends on, and whether they lead to it: if one that does is order-sensitive, then whatever else writes
    the component's state counts as well, wherever it leads."""
    own = [(p, True) for p in component.paths if p.target == output]
    if any(p.order_sensitive for p, _ in own):
        own += [(p, False) for p in component.paths if p.target != output and p.writes]
    return own


def _replicated(dataflow: Dataflow) -> frozenset[str]:
    """The components with several instances: those that are said to have them, and those that a replicated stream leads to, also if it does
    not concern all of their outputs. What they make is replicated as well, unless it is said not to be."""
    said = {c.name: c.replicated for c in dataflow.components}
    found, size = {name for name, replicated in said.items() if replicated}, -1
    while len(found) != size:
        size = len(found)
        for stream in dataflow.streams:
            travels = stream.replicated is None and stream.source is not None and stream.source[0] in found
            if stream.target is not None and (stream.replicated or travels) and said[stream.target[0]] is None:
                found.add(stream.target[0])
    return frozenset(found)


class _Walk:
    """One analysis under way."""

    def __init__(self, dataflow: Dataflow, order: str | None) -> None:
        self.dataflow, self.order = dataflow, order
        self.into: dict[Output | None, list[Stream]] = {}
        self.out_of: dict[Output | None, list[Stream]] = {}
        for stream in dataflow.streams:
            self.into.setdefault(stream.target, []).append(stream)
            self.out_of.setdefault(stream.source, []).append(stream)
        self.components = {c.name: c for c in dataflow.components}
        self.rules = rules_of(d for d in dataflow.dependencies if d.stream is None)
        self.replicated = _replicated(dataflow)
        self.schemas = {s.stream: s for s in dataflow.schemas}
        self.ports: dict[Port, Flow] = {}
        self.flows: dict[str, Flow] = {}
        self.steps: list[Step] = []
        self.raised: list[Output] = []
        self.ordered: dict[Output, str] = {}
        self.sealed: dict[Output, frozenset[tuple[str, str]]] = {}
        self.cycles: list[tuple[Port, ...]] = []

    def run(self) -> Analysis:
        for stream in self.out_of.get(None, ()):
            self._stream(stream, Flow(Label(stream.label, replicated=bool(stream.replicated)), Attributes(stream.name)))
        graph = graph_of(self._ports(), self._edges())
        for group in components(graph):
            if len(group) > 1:
                self._cycle(group)
            elif group[0][0] == "in":
                self._input(group[0])
            else:
                self._output(group[0])
        found = {kind: {p[1:]: f.label for p, f in self.ports.items() if p[0] == kind} for kind in ("in", "out")}
        labels = {s.name: self.flows[s.name].label for s in self.dataflow.streams}
        sinks = tuple(s.name for s in self.dataflow.streams if s.target is None)
        return Analysis(
            labels,
            found["out"],
            found["in"],
            tuple(self.steps),
            tuple(self.raised),
            self.ordered,
            self.sealed,
            tuple(self.cycles),
            sinks,
        )

    def _ports(self) -> Iterator[Port]:
        for component in self.dataflow.components:
            for path in component.paths:
                yield "in", component.name, path.source
                yield "out", component.name, path.target
        for stream in self.dataflow.streams:
            if stream.source is not None:
                yield ("out", *stream.source)

    def _edges(self) -> Iterator[tuple[Port, Port]]:
        for component in self.dataflow.components:
            for output in dict.fromkeys(p.target for p in component.paths):
                for path, _ in into(component, output):
                    yield ("in", component.name, path.source), ("out", component.name, output)
        for stream in self.dataflow.streams:
            if stream.source is not None and stream.target is not None:
                yield ("out", *stream.source), ("in", *stream.target)

    def _stream(self, stream: Stream, made: Flow) -> None:
        """What a stream says of itself goes beyond what it is made of: its attributes, its seal, whether it is replicated."""
        schema = self.schemas.get(stream.name)
        local = [d for d in self.dataflow.dependencies if d.stream == stream.name]
        attributes = made.attributes.described(schema, local)
        label = made.label.with_replicated(stream.replicated)
        if label.kind == SEAL and label.key is not None and attributes.columns is not None:
            key = attributes.within(label.key, attributes.columns, self.rules)
            label = Label(ASYNC, replicated=label.replicated) if key is None else replace(label, key=key)
        if stream.seal is not None and label.deterministic:
            label = Label(SEAL, key=stream.seal, replicated=label.replicated)
        self.flows[stream.name] = Flow(label, attributes)
        if stream.source is None:
            self._note("source", stream.name, (), label, _source_reason(stream))
        elif label != made.label:
            self._note("seal", stream.name, (made.label,), label, "what is said of the stream")

    def _note(self, rule: str, place: str, inputs: Sequence[Label], output: Label, reason: str, path: str = "") -> None:
        self.steps.append(Step(rule, place, tuple(inputs), output, reason, path))

    def _input(self, port: Port) -> None:
        # An input that nothing comes to is Async, whatever will be connected to it.
        found = [self.flows[s.name] for s in self.into.get(port[1:], ()) if s.name in self.flows]
        place = ".".join(port[1:])
        flows = found or [Flow(Label(ASYNC), Attributes(place))]
        label = most_severe([f.label for f in flows])
        label = label.with_replicated(any(f.label.replicated for f in flows))
        attributes = flows[0].attributes
        for flow in flows[1:]:
            attributes = attributes.merged(flow.attributes)
        self.ports[port] = flow = Flow(label, replace(attributes, place=place) if len(flows) > 1 else attributes)
        if len(flows) > 1:
            self._note("merge", place, [f.label for f in flows], flow.label, "all streams into one interface")

    def _output(self, port: Port) -> None:
        _, name, interface = port
        component = self.components[name]
        inferences = []
        for path, counts in into(component, interface):
            flow = self.ports["in", name, path.source]
            inferences.append(replace(infer(path, flow.label, flow.attributes, self.rules), counts=counts))
        if not inferences:  # no path leads here: nothing ever comes
            return self._leave(port, Flow(Label(ASYNC), Attributes(f"{name}.{interface}")))
        replicated = name in self.replicated
        label = self._reconciled(f"{name}.{interface}", [port], inferences, replicated)
        made = [i.attributes.through(i.path.lineage, f"{name}.{interface}") for i in inferences if i.counts]
        attributes = made[0]
        for other in made[1:]:
            attributes = attributes.merged(other)
        self._leave(port, Flow(label, attributes))

    def _leave(self, port: Port, flow: Flow) -> None:
        self.ports[port] = flow
        for stream in self.out_of.get(port[1:], ()):
            self._stream(stream, flow)

    def _reconciled(self, place: str, ports: Sequence[Port], found: Sequence[Inference], replicated: bool) -> Label:
        """The label of an output, or of all those of a cycle; what it took is noted."""
        for one in found:
            path = f"{one.path.source} -> {one.path.target} {one.path.text}" + (
                "" if one.counts else " (writes the state)"
            )
            self._note(one.rule, place, [one.came], one.label, one.reason, path)
        outcomes = reconcile(found, replicated, self.rules)
        for outcome in outcomes:
            if outcome.label != outcome.labels[0]:
                self._note("reconcile", place, outcome.labels, outcome.label, outcome.reason)
        label = most_severe([o.label for o in outcomes]).with_replicated(replicated)
        reason = max(outcomes, key=lambda o: o.label.severity).reason
        outputs = [port[1:] for port in ports]
        if label.severity <= max(1, *(one.came.severity for one in found)):
            for output in outputs:
                used = frozenset((output[0], one.path.source) for outcome in outcomes for one in outcome.seals)
                if used:
                    self.sealed[output] = used
        elif self.order == LOGGED or (self.order == ARRIVAL and label.kind != RUN):
            self.ordered |= dict.fromkeys(outputs, f"{label.kind} without it: {reason}")
            return self._ordered(place, found, replicated)
        else:
            self.raised += outputs
        self._note("label", place, [o.label for o in outcomes], label, reason)
        return label

    def _ordered(self, place: str, found: Sequence[Inference], replicated: bool) -> Label:
        """What comes out of a component whose input has a total order. Where replicas got different records, one order has one of them."""
        came = most_severe([i.came for i in found])
        kind = {SEAL: ASYNC, INST: RUN}.get(came.kind, came.kind)
        if kind == ASYNC and self.order == ARRIVAL and any(i.path.order_sensitive for i in found):
            kind = RUN
        label = Label(kind, replicated=replicated)
        why = (
            "the same in every run" if self.order == LOGGED else "the same at every replica, another one in another run"
        )
        self._note("order", place, [i.came for i in found], label, f"all of its input is in one order, {why}")
        return label

    def _cycle(self, group: tuple[Port, ...]) -> None:
        """All interfaces of a cycle get one label: everything that enters it goes through the most severe of its annotations."""
        self.cycles.append(group)
        inside = set(group)
        outputs = [p for p in group if p[0] == "out"]
        paths = list(dict.fromkeys(p for _, p in self._paths(outputs, inside, within=True)))
        collapsed = _collapsed(paths)
        place = "cycle " + ", ".join(dict.fromkeys(f"{p[1]}.{p[2]}" for p in outputs))
        listed = ", ".join(f"{p.source} -> {p.target} {p.text}" for p in paths)
        self._note(
            "cycle", place, (), Label(ASYNC), f"taken as one step with the highest severity of {listed}", collapsed.text
        )
        entering = [(collapsed, self.ports[port]) for port in self._entries(group)]
        for name, path in self._paths(outputs, inside, within=False):
            entering.append((_collapsed([*paths, path]), self.ports["in", name, path.source]))
        inferences = [self._entered(path, flow) for path, flow in entering]
        replicated = any(p[1] in self.replicated for p in group)
        nothing = Label(ASYNC, replicated=replicated)  # what goes round has to come from somewhere
        self._settle(group, self._reconciled(place, outputs, inferences, replicated) if inferences else nothing)

    def _entries(self, group: Sequence[Port]) -> Iterator[Port]:
        """The inputs of a cycle that streams from outside of it lead to, with what these bring."""
        for port in group:
            if port[0] == "in" and any(s.name in self.flows for s in self.into.get(port[1:], ())):
                self._input(port)
                yield port

    def _paths(self, outputs: Sequence[Port], inside: set[Port], *, within: bool) -> Iterator[tuple[str, Annotation]]:
        for _, name, interface in outputs:
            for path, _ in into(self.components[name], interface):
                if (("in", name, path.source) in inside) == within:
                    yield name, path

    def _entered(self, path: Annotation, flow: Flow) -> Inference:
        """What enters a cycle is not sealed any more: nobody knows when its records have gone round for the last time."""
        label = Label(ASYNC, replicated=flow.label.replicated) if flow.label.kind == SEAL else flow.label
        return infer(path, label, flow.attributes, self.rules)

    def _settle(self, group: Sequence[Port], label: Label) -> None:
        for port in group:
            place = ".".join(port[1:])
            flow = Flow(label, Attributes(place, frozenset()))
            if port[0] == "out":
                self._leave(port, flow)
            else:
                self.ports[port] = flow


def _collapsed(paths: Sequence[Annotation]) -> Annotation:
    """The annotation of a cycle: of the highest severity, and both order-sensitive and writing if some path is either, for what is read goes
    round to where it is written. No seal is compatible: records that go round come after it."""
    order = any(p.order_sensitive for p in paths)
    writes = any(p.writes for p in paths)
    return Annotation(paths[-1].source, paths[-1].target, f"{'O' if order else 'C'}{'W' if writes else 'R'}", None, ())


def _source_reason(stream: Stream) -> str:
    if stream.seal is not None:
        return f"from outside, punctuated on {', '.join(sorted(stream.seal))}"
    return "from outside: in any order" if stream.label == ASYNC else "from outside"
