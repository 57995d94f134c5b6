"""A dataflow of recoverable nodes under a random schedule, in which nodes fail, and a judge of what is left.

There is no time: each step of a :class:`World` delivers the next message of some channel, brings an input, makes a checkpoint, or lets a node fail. What is under way
from a node that fails may still arrive, or be lost.

The judge needs no second run. What each node did in the end, in order, is an execution without failures if every node's outputs are those
that its operator makes of its inputs, in that order, and if every channel delivered exactly what was put in, in that order.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from m3.recovery.controller import Controller
from m3.recovery.graph import Flow, flow_of, longest_chain
from m3.recovery.logs import Output, PayloadLog
from m3.recovery.messages import Data, Mark, Recovered, Report, Stable, Start, Started
from m3.recovery.node import Checkpoint, Node

KINDS = ("router", "sequence", "sum", "spread")


def mix(*values: object) -> int:
    """A number that depends on all values, the same in every process."""
    return random.Random(repr(values)).randrange(10**9)


@dataclass(frozen=True)
class Work:
    """What a node computes. ``router``: sends an input on to some children, or to none; ``spread``: the same, and its inputs commute; ``sequence``: what
    it sends, and to whom, depends on all that came before; ``sum``: adds inputs up, and sends them on."""

    name: str
    kind: str
    children: tuple[str, ...]

    @property
    def stateful(self) -> bool:
        return self.kind in ("source", "sequence", "sum")

    @property
    def commutes(self) -> bool:
        return self.kind in ("spread", "sum")

    def start(self) -> Any:
        return [0] if self.stateful else None

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        seen = payload
        if self.kind == "sequence":
            seen = state[0] = mix(state[0], parent, payload)
        elif self.kind == "sum":
            state[0] += payload
        elif self.kind == "source":
            state[0] += 1
        return {c: mix(self.name, seen) for c in self.children if mix(self.name, seen, c) % 10 < 5}


class RecordingLog(PayloadLog):
    """A payload log that tells what is put into it."""

    record: Callable[[Output], None]

    def append(self, output: Output) -> None:
        self.record(output)
        super().append(output)

    def __deepcopy__(self, _: object) -> RecordingLog:
        log = RecordingLog(list(self.outputs))
        log.record = self.record
        return log


@dataclass
class World:
    """A dataflow, its channels, and what nodes did."""

    flow: Flow
    kinds: Mapping[str, str]
    tolerance: int
    seed: int
    losses: float = 0.5
    channels: dict[tuple[str, str], deque[Any]] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    #: Failed, and not yet noticed.
    dead: list[str] = field(default_factory=list)
    stored: dict[str, Checkpoint] = field(default_factory=dict)
    did: dict[str, dict[int, Output]] = field(default_factory=dict)
    came: dict[str, dict[tuple[str, int], Any]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.controller = Controller(self.flow, self.tolerance)
        self.work = {n: Work(n, self.kinds[n], self.flow.children[n]) for n in self.flow.order}
        self.inputs = dict.fromkeys((n for n in self.flow.order if not self.flow.parents[n]), 0)
        self.came = {n: {} for n in self.flow.order}
        self.did = {n: {} for n in self.flow.order}
        self.nodes = {n: self.watched(n)(n, self.flow, self.work[n], tolerance=self.tolerance) for n in self.flow.order}

    def watched(self, name: str) -> type[Node]:
        """Nodes that tell what they do."""
        world = self

        def record(output: Output) -> None:
            if output.diff.origin or output.payloads or output.time not in world.did[name]:
                world.did[name][output.time] = output  # a dummy instead of what is stable changes nothing

        class Watched(Node):
            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(*args, **options)
                self.payloads = RecordingLog()
                self.payloads.record = record

            def receive(self, message: Any) -> list[Any]:
                if isinstance(message, Data) and message.lives == (self.lives[message.source], self.life):
                    world.came[name][message.origin] = message.payload
                return super().receive(message)

        return Watched

    # --- steps ---------------------------------------------------------------------------------------------------------

    def send(self, source: str, messages: list[Any]) -> None:
        for message in messages:
            answer = isinstance(message, (Report, Started, Recovered))
            target = "" if answer else message.target if isinstance(message, (Data, Mark, Stable)) else message.node
            self.counts[type(message).__name__] += 1
            if isinstance(message, Recovered):
                self.counts.update(message.counts)
            self.channels.setdefault((source, target), deque()).append(message)

    def deliver(self) -> bool:
        """The next message of some channel."""
        full = [pair for pair, channel in self.channels.items() if channel]
        if not full:
            return False
        source, target = self.draw.choice(full)
        message = self.channels[source, target].popleft()
        if not target:
            self.send("", list(self.controller.receive(message)))
        elif isinstance(message, Start):
            self.restart(message)
        elif target in self.nodes:
            self.send(target, self.nodes[target].receive(message))
        return True

    def restart(self, start: Start) -> None:
        name = start.node
        if start.lives[name] != self.controller.lives[name]:
            return
        if name in self.dead:
            return  # it dies again before it has begun; nobody has noticed so far
        stored = self.stored.get(name)
        watched = self.watched(name)
        node, sent = watched.restart(name, self.flow, self.work[name], start, stored, tolerance=self.tolerance)
        self.nodes[name] = node
        base = next(m.clock.time for m in sent if isinstance(m, Started))
        if not self.work[name].commutes:
            kept = self.did[name]
            seen = {o.time for o in node.payloads.outputs} | {d.time for d in node.diffs.rooted(name)}
            self.did[name] = {time: output for time, output in kept.items() if time <= base or time in seen}
        self.send(name, sent)

    def inject(self) -> None:
        name = self.draw.choice(list(self.inputs))
        if name in self.nodes and not self.nodes[name].replay:
            self.inputs[name] += 1
            sent = self.nodes[name].inject(mix(name, self.inputs[name]))
            self.stored[name] = self.nodes[name].checkpoint()  # a source's log is durable before anybody sees it
            self.send(name, sent)

    def keep_house(self) -> None:
        name = self.draw.choice(list(self.nodes) or [""])
        if name:
            self.send(name, self.nodes[name].housekeeping())

    def store(self) -> None:
        name = self.draw.choice(list(self.nodes) or [""])
        if name and self.work[name].stateful and not self.nodes[name].replay:
            self.stored[name] = self.nodes[name].checkpoint()

    def fail(self, most: int) -> None:
        """Some nodes die at once, as far as the tolerance covers it. What is under way to them is lost; what is from them, in part."""
        lost = {*self.dead, *self.controller.lost, *self.controller.replaying}
        for name in self.draw.sample(list(self.flow.order), self.draw.randint(1, min(most, len(self.flow.order)))):
            if name in self.dead or len(longest_chain(self.flow, {*lost, name})) > self.tolerance:
                continue
            lost.add(name)
            self.counts["failures"] += 1
            self.counts["failures during a recovery"] += bool(self.controller.lost or self.controller.replaying)
            self.dead.append(name)
            self.nodes.pop(name, None)
            for (source, target), channel in self.channels.items():
                if name == target or (name == source and self.draw.random() < self.losses):
                    kept = self.draw.randint(0, len(channel)) if name == source else 0
                    while len(channel) > kept:
                        channel.pop()

    def notice(self) -> None:
        """The controller notices a death."""
        if self.dead:
            name = self.dead.pop(self.draw.randrange(len(self.dead)))
            self.send("", list(self.controller.failed([name])))

    def run(self, steps: int, failures: int, most: int = 1) -> None:
        """Steps at random, with at most so many times nodes fail; then until all is quiet. Channels are long in some runs, and short in others."""
        steps_of = {self.inject: 15, self.keep_house: self.draw.choice((1, 5)), self.store: 5, self.notice: 5}
        steps_of |= {self.deliver: self.draw.choice((15, 30, 70))}
        for _ in range(steps):
            if failures and self.draw.random() < 0.02:
                failures -= 1
                self.fail(most)
            (step,) = self.draw.choices(list(steps_of), list(steps_of.values()))
            step()
        self.settle()

    def settle(self) -> None:
        """Until all is quiet."""
        for _ in range(3):
            while self.dead or any(self.channels.values()):
                self.notice()
                self.deliver()
            for name in self.flow.order:
                self.send(name, self.nodes[name].housekeeping())
        while self.deliver():
            pass

    # --- the judge -----------------------------------------------------------------------------------------------------

    def judge(self) -> None:
        """Whether what was done is an execution without failures, and nothing is left undone.

        Raises:
            AssertionError: it is not.
        """
        assert not self.controller.lost, f"not started: {self.controller.lost}"
        assert not self.controller.replaying, f"not recovered: {self.controller.replaying}"
        truth: dict[tuple[str, str], list[Any]] = {}
        for name in self.flow.order:
            work, node = self.work[name], self.nodes[name]
            state = work.start()
            if work.commutes:
                made = []
                for parent in self.flow.parents[name]:
                    made += [work.process(state, parent, payload) for payload in truth[parent, name]]
                assert node.state == state, f"{name}: {node.state} instead of {state}"
                for child in work.children:
                    truth[name, child] = [outputs[child] for outputs in made if child in outputs]
                continue
            did = [output for _, output in sorted(self.did[name].items())]
            if work.kind == "source":
                made = [work.process(state, "", mix(name, number + 1)) for number in range(self.inputs[name])]
                assert [dict(output.payloads) for output in did] == made, f"{name} did not inject what came"
            else:
                self.judge_inputs(name, did, truth)
            if work.stateful and work.kind != "source":
                for output in did:
                    assert output.diff.origin, f"{name} has a dummy at {output.time}"
                    outputs = work.process(state, output.diff.origin[0], self.came[name][output.diff.origin])
                    assert outputs == output.payloads, f"{name}:{output.time} made {output.payloads}, not {outputs}"
                assert node.state == state, f"{name}: {node.state} instead of {state}"
            for child in work.children:
                truth[name, child] = [output.payloads[child] for output in did if child in output.payloads]

    def judge_logs(self) -> None:
        """Whether nothing is kept that nobody will ask for, once all is stored.

        Raises:
            AssertionError: something is.
        """
        for _ in self.flow.order:
            for name, node in self.nodes.items():
                if self.work[name].stateful:
                    self.stored[name] = node.checkpoint()
            for name, node in self.nodes.items():
                self.send(name, node.housekeeping())
            while self.deliver():
                pass
        for name, node in self.nodes.items():
            kept = (len(node.payloads), len(node.diffs), len(node.journal))
            assert kept <= (0, 2 * len(node.diffs.roots or ()), 2 * len(self.flow.order)), f"{name} keeps {kept}"

    def judge_inputs(self, name: str, did: list[Output], truth: Mapping[tuple[str, str], list[Any]]) -> None:
        work = self.work[name]
        for parent in self.flow.parents[name]:
            took = [o for o in did if o.diff.origin and o.diff.origin[0] == parent]
            if work.stateful:
                got = [self.came[name][o.diff.origin] for o in took if o.diff.origin]
                wanted = truth[parent, name]
            else:
                took = [o for o in took if o.payloads]
                got = [(self.came[name][o.diff.origin], dict(o.payloads)) for o in took if o.diff.origin]
                made = ((payload, dict(work.process(None, parent, payload))) for payload in truth[parent, name])
                wanted = [(payload, outputs) for payload, outputs in made if outputs]
            if self.work[parent].commutes:
                got, wanted = sorted(got, key=repr), sorted(wanted, key=repr)
            assert got == wanted, f"{name} took {got} of {parent}, which sent {wanted}"


def draw_world(seed: int, tolerance: int = 1, kinds: tuple[str, ...] = KINDS) -> World:
    """A small random dataflow."""
    draw = random.Random(seed)
    layers = [[f"s{i}" for i in range(draw.randint(1, 3))]]
    layers += [[f"n{depth}{i}" for i in range(draw.randint(1, 3))] for depth in range(draw.randint(1, 3))]
    edges = set()
    for depth, layer in enumerate(layers[1:], start=1):
        before = [name for earlier in layers[:depth] for name in earlier]
        for name in layer:
            edges.add((draw.choice(layers[depth - 1]), name))
            edges |= {(draw.choice(before), name) for _ in range(draw.randint(0, 2))}
    flow = flow_of(sorted(edges), [name for layer in layers for name in layer])
    kind_of = {}
    for name in flow.order:
        allowed = [kind for kind in kinds if flow.children[name] or kind in ("sequence", "sum")] or ["sequence"]
        kind_of[name] = draw.choice(allowed) if flow.parents[name] else "source"
    return World(flow, kind_of, tolerance, seed)
