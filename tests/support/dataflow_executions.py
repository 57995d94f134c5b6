"""All executions of a small world, or many of them, and the anomalies that they show.

Streams are unordered: a component instance may see what is sent to it in any order, but a seal only after the records that it
seals. A replicated component has two instances; both get all that is sent to the component, each in an order of its own, and one behind another
replicated component reads from that one's instance of the same number. Components are gone through in topological order (what one does
does not depend on those behind it); those on a cycle together. Of each, all orders are tried, by a search over its states, or
random ones if there are too many states.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import networkx as nx

from cumulus_ops.coordination.annotations import Dataflow, Stream
from tests.support.dataflow_components import Instance, State, Value, concerning
from tests.support.dataflow_worlds import VALUES, Record, World, restricted

__all__ = ["ANOMALIES", "Observed", "TooLong", "execute", "instances_of", "observe"]

#: What a stream can show, the worst last.
ANOMALIES = ("Async", "Run", "Inst", "Diverge")
INSTANCES = 2
#: States of a search, and random orders instead; of components that are confluent by construction, fewer do.
STATES_MAX, WALKS = 250, 30
CONFLUENT_STATES_MAX, CONFLUENT_WALKS = 30, 6
STEPS_MAX = 150
RUNS_MAX = 24

Node = tuple[str, int]
Output = tuple[str, int, str]


class TooLong(Exception):
    """Records go round a cycle for ever."""


class Sent(NamedTuple):
    """What an instance has sent from one output, all in all: records, and the partitions that it has sealed, per sealed stream; its state at the
    end; streams whose seal it broke, by records after a seal or without one."""

    records: frozenset[Record]
    sealed: tuple[tuple[str, frozenset[Value]], ...]
    summary: frozenset[object]
    broken: frozenset[str]


#: What every output sends in one execution.
Run = Mapping[Output, Sent]
Message = tuple[Node, str, bool, tuple[object, ...]]


@dataclass
class Observed:
    """The worst anomaly of each stream, and those on which a seal that was promised did not hold."""

    anomalies: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)


def instances_of(dataflow: Dataflow, name: str) -> int:
    """How many instances a component has: it is replicated, or if it does not say, a stream into it is, by itself or like what it comes from."""
    return INSTANCES if _is_replicated(dataflow, name, frozenset()) else 1


def _is_replicated(dataflow: Dataflow, name: str, asked: frozenset[str]) -> bool:
    said = next(c for c in dataflow.components if c.name == name).replicated
    if said is not None:
        return said
    for stream in dataflow.streams:
        if stream.target is not None and stream.target[0] == name and stream.replicated is not False:
            inherits = stream.source is not None and stream.source[0] not in asked
            if stream.replicated or (
                inherits and stream.source and _is_replicated(dataflow, stream.source[0], asked | {name})
            ):
                return True
    return False


def observe(
    world: World, keys: Mapping[str, frozenset[str]], choose: random.Random, ordered: Mapping[str, str] | None = None
) -> Observed:
    """What its executions show, if the streams in ``keys`` are taken to be sealed on these attributes, and all input of the components in ``ordered`` has a
    total order: ``logged``, the same in every run, or ``arrival``, any, and the same at every instance."""
    runs = execute(world, keys, choose, ordered or {})
    flow = world.dataflow
    found = Observed(broken={s for run in runs for sent in run.values() for s in sent.broken})
    diverged = {
        (c, out) for run in runs for (c, i, out), sent in run.items() if i and sent.summary != run[c, 0, out].summary
    }
    behind = _reach(flow)
    for stream in flow.streams:
        if stream.source is None:
            continue
        shown = [
            tuple(
                run[(stream.source[0], i, stream.source[1])].records
                for i in range(instances_of(flow, stream.source[0]))
            )
            for run in runs
        ]
        worst = "Async"
        if len(set(shown)) > 1:
            worst = "Run"
        if any(len(set(contents)) > 1 for contents in shown):
            worst = "Inst"
        if any(output == stream.source or stream.source in behind[output] for output in diverged):
            worst = "Diverge"
        found.anomalies[stream.name] = worst
    return found


def _reach(flow: Dataflow) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Which outputs depend on which."""
    graph: nx.DiGraph[tuple[str, str]] = nx.DiGraph()
    for c in flow.components:
        for output in {path.target for path in c.paths}:
            graph.add_node((c.name, output))
            inputs = {(c.name, c.paths[n].source) for n in concerning(c, output)}
            graph.add_edges_from((s.source, (c.name, output)) for s in flow.streams if s.target in inputs and s.source)
    return {output: set(nx.descendants(graph, output)) for output in graph}


def execute(
    world: World, keys: Mapping[str, frozenset[str]], choose: random.Random, ordered: Mapping[str, str]
) -> list[Run]:
    """Executions, all different; the arguments are those of :func:`observe`.

    Raises:
        TooLong: one does not end.
    """
    runs: list[dict[Output, Sent]] = [{}]
    known: dict[object, list[dict[Output, Sent]]] = {}
    for stage in _stages(world.dataflow):
        grown = []
        for run in runs:
            choices = []
            for nodes in stage:
                order = _order_of(nodes, ordered)
                first = tuple(node for node in nodes if not node[1])
                if order and not first:
                    continue  # it does what the first instance does
                search = _Search(world, keys, first if order else nodes, choose)
                at = search.nodes, search.pool(run)
                if at not in known:
                    known[at] = search.outcomes(at[1], order)
                choices.append(known[at])
            grown += [_joined(run, parts, stage, world.dataflow) for parts in _some(choices, choose)]
        runs = grown if len(grown) <= RUNS_MAX else choose.sample(grown, RUNS_MAX)
    return runs


def _order_of(nodes: Iterable[Node], ordered: Mapping[str, str]) -> str:
    """Which order all messages to some instances have, together."""
    orders = {ordered.get(name, "") for name, _ in nodes}
    return min(orders)  # none, or by arrival, before logged


def _joined(run: Run, parts: Iterable[Run], stage: tuple[tuple[Node, ...], ...], flow: Dataflow) -> dict[Output, Sent]:
    """A run with what a stage has done. Where all input has one order, only the first instances were run: the others did the same."""
    after = dict(run)
    for part in parts:
        after.update(part)
    for name, i in (node for nodes in stage for node in nodes):
        for output in {p.target for c in flow.components if c.name == name for p in c.paths}:
            after.setdefault((name, i, output), after[name, 0, output])
    return after


def _some(choices: list[list[dict[Output, Sent]]], choose: random.Random) -> Iterator[tuple[dict[Output, Sent], ...]]:
    total = 1
    for outcomes in choices:
        total *= len(outcomes)
    if total <= RUNS_MAX:
        yield from product(*choices)
        return
    yield from (tuple(choose.choice(outcomes) for outcomes in choices) for _ in range(RUNS_MAX))


def _stages(flow: Dataflow) -> Iterator[tuple[tuple[Node, ...], ...]]:
    """Instances that can be run one after the other: alone, or all those of the components on a cycle together."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(c.name for c in flow.components)
    graph.add_edges_from((s.source[0], s.target[0]) for s in flow.streams if s.source and s.target)
    condensed = nx.condensation(graph)
    for number in nx.topological_sort(condensed):
        members = sorted(condensed.nodes[number]["members"])
        nodes = tuple((name, i) for name in members for i in range(instances_of(flow, name)))
        circular = len(members) > 1 or graph.has_edge(members[0], members[0])
        yield (nodes,) if circular else tuple((node,) for node in nodes)


class _Search:
    """Orders in which some instances may receive what is sent to them."""

    def __init__(
        self, world: World, keys: Mapping[str, frozenset[str]], nodes: tuple[Node, ...], choose: random.Random
    ) -> None:
        self.world, self.keys, self.nodes, self.choose = world, keys, nodes, choose
        components = {c.name: c for c in world.dataflow.components}
        self.machines = {name: Instance(world, components[name], keys) for name, _ in nodes}
        self.streams = {s.name: s for s in world.dataflow.streams}

    def pool(self, run: Run) -> frozenset[Message]:
        """What the others have sent, and what comes from outside."""
        return frozenset(m for node in self.nodes for s in self.streams.values() for m in self._sent(run, node, s))

    def _sent(self, run: Run, node: Node, stream: Stream) -> Iterator[Message]:
        if stream.target is None or stream.target[0] != node[0]:
            return
        if stream.source is None:
            records = self.world.inputs[stream.name]
            sealed = self.world.sealed.get(stream.name, frozenset())
        elif stream.source[0] in self.machines:
            return
        else:
            sent = run[self._producer(stream, node[1])]
            records, sealed = sent.records, dict(sent.sealed).get(stream.name, frozenset())
        yield from ((node, stream.name, False, row) for row in records)
        if stream.name in self.keys:
            yield from ((node, stream.name, True, value) for value in sealed)

    def _producer(self, stream: Stream, instance: int) -> Output:
        assert stream.source is not None
        name, output = stream.source
        return name, min(instance, instances_of(self.world.dataflow, name) - 1), output

    def outcomes(self, pool: frozenset[Message], order: str = "") -> list[dict[Output, Sent]]:
        """All that can come of it, or what comes of some random orders; of one if the ``order`` is logged."""
        start = tuple(State() for _ in self.nodes)
        if order == "logged":
            return [dict(self._outcome(self._walk(pool, start, lambda m: repr((m[0], m[2], m[1], m[3])))))]
        confluent = all(p.label in ("CR", "CW") for m in self.machines.values() for p in m.component.paths)
        states_max, walks = (CONFLUENT_STATES_MAX, CONFLUENT_WALKS) if confluent else (STATES_MAX, WALKS)
        stack, seen, ends = [(pool, start)], {(pool, start)}, set()
        while stack:
            pending, states = stack.pop()
            if not pending:
                ends.add(states)
            for message in self._deliverable(pending):
                following = self._deliver(pending, states, message)
                if following not in seen:
                    seen.add(following)
                    stack.append(following)
            if len(seen) > states_max:
                ends |= {self._walk(pool, start) for _ in range(walks)}
                break
        found = {tuple(self._outcome(states)) for states in ends}
        return [dict(outcome) for outcome in sorted(found, key=repr)]

    def _walk(
        self, pending: frozenset[Message], states: tuple[State, ...], rank: Callable[[Message], Any] | None = None
    ) -> tuple[State, ...]:
        """One order. Messages are preferred by their rank, by default a random one, so that late ones are late by a lot."""
        ranks: dict[Message, float] = {}
        for _ in range(STEPS_MAX):
            if not pending:
                return states
            ready = sorted(self._deliverable(pending), key=repr)
            best = min(ready, key=rank or (lambda m: ranks.setdefault(m, self.choose.random())))
            pending, states = self._deliver(pending, states, best)
        raise TooLong

    def _deliverable(self, pending: frozenset[Message]) -> list[Message]:
        """Records, and seals of which no record is under way."""
        held = {(n, s, restricted(row, self.keys[s])) for n, s, seal, row in pending if not seal and s in self.keys}  # type: ignore[arg-type]
        return [m for m in pending if not m[2] or (m[0], m[1], m[3]) not in held]

    def _deliver(
        self, pending: frozenset[Message], states: tuple[State, ...], message: Message
    ) -> tuple[frozenset[Message], tuple[State, ...]]:
        node, name, seal, what = message
        at = self.nodes.index(node)
        machine, before = self.machines[node[0]], states[at]
        after = machine.seal(before, name, what) if seal else machine.receive(before, name, what)  # type: ignore[arg-type]
        pending = (pending - {message}) | frozenset(self._fed_back(node, before, after))
        return pending, (*states[:at], after, *states[at + 1 :])

    def _fed_back(self, node: Node, before: State, after: State) -> Iterator[Message]:
        """What goes to instances that are run together with it: records, and seals."""
        machine = self.machines[node[0]]
        for stream in self.streams.values():
            if stream.source is None or stream.target is None or stream.source[0] != node[0]:
                continue
            output = stream.source[1]
            for other in self.nodes:
                if other[0] == stream.target[0] and self._producer(stream, other[1])[:2] == node:
                    yield from (
                        (other, stream.name, False, row) for out, row in after.shown - before.shown if out == output
                    )
                    new = self._closed(machine, after, output, stream) - self._closed(machine, before, output, stream)
                    yield from ((other, stream.name, True, value) for value in new)

    def _closed(self, machine: Instance, state: State, output: str, stream: Stream) -> frozenset[Value]:
        """The partitions of an output that are sealed, if the stream is."""
        key = self.keys.get(stream.name)
        values = product(*(VALUES.get(k, (None,)) for k in sorted(key))) if key is not None else ()
        return frozenset(v for v in values if key is not None and machine.closed(state, output, key, v))

    def _outcome(self, states: Iterable[State]) -> Iterator[tuple[Output, Sent]]:
        for (name, number), state in zip(self.nodes, states, strict=True):
            machine = self.machines[name]
            for output in machine.outputs:
                shown = frozenset(row for out, row in state.shown if out == output)
                sealed, broken = [], set(state.broken)
                for stream in self.streams.values():
                    key = self.keys.get(stream.name)
                    if stream.source != (name, output) or key is None:
                        continue
                    closed = self._closed(machine, state, output, stream)
                    sealed.append((stream.name, closed))
                    if any(restricted(row, key) not in closed for row in shown):
                        broken.add(stream.name)
                yield (
                    (name, number, output),
                    Sent(shown, tuple(sealed), machine.summary(state, output), frozenset(broken)),
                )
