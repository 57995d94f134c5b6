"""All executions of a small world, or many of them, and the anomalies that they show.

Streams are unordered: a component instance may see what is sent to it in any order, but a seal only after the records that it
seals. A replicated component has two instances; both get all that is sent to the component, each in an order of its own, and one behind another
replicated component reads from that one's instance of the same number. Components are gone through in topological order (what one does
does not depend on those behind it); those on a cycle together. Of each, all orders are tried, by a search over its states, or
random ones if there are too many states.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

import networkx as nx

from cumulus_ops.coordination.labelling.annotations import Dataflow, Stream
from tests.support.dataflow_components import Instance, concerning
from tests.support.dataflow_orders import Message, Node, Orders, Outcome, Sent, TooLong
from tests.support.dataflow_worlds import World

__all__ = ["ANOMALIES", "Observed", "TooLong", "execute", "instances_of", "observe"]

#: What a stream can show, the worst last.
ANOMALIES = ("Async", "Run", "Inst", "Diverge")
INSTANCES = 2
RUNS_MAX = 24

#: A component, the number of its instance, and the interface.
Output = tuple[str, int, str]
#: What every output sends in one execution.
Run = Mapping[Output, Sent]


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
    machines = {c.name: Instance(world, c, keys) for c in world.dataflow.components}
    runs: list[Run] = [{}]
    known: dict[object, list[Outcome]] = {}
    for stage in _stages(world.dataflow):
        grown: list[Run] = []
        for run in runs:
            choices = []
            for nodes in stage:
                order = _order_of(nodes, ordered)
                first = tuple(node for node in nodes if not node[1])
                if order and not first:
                    continue  # it does what the first instance does
                nodes = first if order else nodes
                pool = tuple(sorted(_pool(world, keys, nodes, run)))
                at = tuple(name for name, _ in nodes), pool  # instances that get the same can do the same
                if at not in known:
                    orders = Orders([machines[n] for n, _ in nodes], _fed(world.dataflow, nodes), keys, choose)
                    known[at] = orders.outcomes(pool, order)
                choices.append([{(*nodes[i], out): sent for i, out, sent in outcome} for outcome in known[at]])
            grown += [_joined(run, parts, stage, world.dataflow) for parts in _some(choices, choose)]
        runs = grown if len(grown) <= RUNS_MAX else choose.sample(grown, RUNS_MAX)
    return runs


def _order_of(nodes: Iterable[Node], ordered: Mapping[str, str]) -> str:
    """Which order all messages to some instances have, together."""
    orders = {ordered.get(name, "") for name, _ in nodes}
    return min(orders)  # none, or by arrival, before logged


def _pool(world: World, keys: Mapping[str, frozenset[str]], nodes: tuple[Node, ...], run: Run) -> Iterator[Message]:
    """What the others have sent to some instances, and what comes from outside."""
    inside = {name for name, _ in nodes}
    for at, (name, instance) in enumerate(nodes):
        for stream in world.dataflow.streams:
            if stream.target is None or stream.target[0] != name:
                continue
            if stream.source is None:
                records, sealed = world.inputs[stream.name], world.sealed.get(stream.name, frozenset())
            elif stream.source[0] in inside:
                continue
            else:
                sent = run[_producer(world.dataflow, stream, instance)]
                records, sealed = sent.records, dict(sent.sealed).get(stream.name, frozenset())
            yield from ((at, stream.name, False, row) for row in records)
            yield from ((at, stream.name, True, value) for value in (sealed if stream.name in keys else ()))


def _producer(flow: Dataflow, stream: Stream, instance: int) -> Output:
    """Which instance an instance of a consumer reads from."""
    assert stream.source is not None
    name, output = stream.source
    return name, min(instance, instances_of(flow, name) - 1), output


def _fed(flow: Dataflow, nodes: tuple[Node, ...]) -> list[list[tuple[str, Stream, int]]]:
    """Which streams lead from each instance to which others of them."""
    found: list[list[tuple[str, Stream, int]]] = [[] for _ in nodes]
    for stream in flow.streams:
        for at, (name, instance) in enumerate(nodes):
            if stream.source is not None and stream.target is not None and stream.target[0] == name:
                producer = _producer(flow, stream, instance)
                if producer[:2] in nodes:
                    found[nodes.index(producer[:2])].append((producer[2], stream, at))
    return found


def _joined(run: Run, parts: Iterable[Run], stage: tuple[tuple[Node, ...], ...], flow: Dataflow) -> Run:
    """A run with what a stage has done. Where all input has one order, only the first instances were run: the others did the same."""
    after = dict(run)
    for part in parts:
        after.update(part)
    for name, i in (node for nodes in stage for node in nodes):
        for output in {p.target for c in flow.components if c.name == name for p in c.paths}:
            after.setdefault((name, i, output), after[name, 0, output])
    return after


def _some(choices: list[list[Run]], choose: random.Random) -> Iterator[tuple[Run, ...]]:
    """All combinations, or some if there are too many."""
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
