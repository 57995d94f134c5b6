"""A dataflow of recoverable nodes under a random schedule, in which nodes fail; without time, so that much happens in milliseconds.

Each step of a :class:`World` delivers the next message of some channel, brings an input, makes a checkpoint, or lets a node fail. What is under way
from a node that fails may still arrive, or be lost. What nodes compute, and who judges what is left, is the simulator's: ``cumulus_papers.recovery``.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cumulus_papers.recovery.histories import draw_flow, draw_kinds
from cumulus_papers.recovery.judge import Witness
from cumulus_papers.recovery.work import KINDS, Work, mix
from m3.recovery.controller import Controller
from m3.recovery.graph import Flow, flow_of, longest_chain
from m3.recovery.hosting import Checkpoint
from m3.recovery.messages import Data, Mark, Recovered, Report, Stable, Start, Started
from m3.recovery.node import Node


@dataclass
class World:
    """A dataflow, its channels, and what nodes did."""

    flow: Flow
    kinds: Mapping[str, str]
    tolerance: int
    seed: int
    losses: float = 0.5
    #: Of ten outputs, how many a child gets; how often checkpoints are made; and how often nodes fail.
    share: int = 5
    stores: int = 5
    rate: float = 0.02
    channels: dict[tuple[str, str], deque[Any]] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    #: Failed, and not yet noticed.
    dead: list[str] = field(default_factory=list)
    stored: dict[str, Checkpoint] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    #: What nodes compute, if it is not of those kinds.
    work: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.controller = Controller(self.flow, self.tolerance)
        self.work = self.work or {n: Work(n, self.kinds[n], self.flow.children[n], self.share) for n in self.flow.order}
        self.inputs = {n: 0 for n in self.flow.order if self.work[n].kind == "source"}
        self.witness = Witness(self.flow, self.work)
        self.nodes = {name: self.witness.node(name, tolerance=self.tolerance) for name in self.flow.order}

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
        self.nodes[name], sent = self.witness.restart(name, start, self.stored.get(name), tolerance=self.tolerance)
        self.send(name, sent)

    def inject(self) -> None:
        name = self.draw.choice(list(self.inputs))
        if name in self.nodes and not self.nodes[name].replay:
            sent = self.nodes[name].inject(mix(name, self.inputs[name]))
            self.inputs[name] += 1
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
        steps_of = {self.inject: 15, self.keep_house: self.draw.choice((1, 5)), self.store: self.stores, self.notice: 5}
        steps_of |= {self.deliver: self.draw.choice((15, 30, 70))}
        for _ in range(steps):
            if failures and self.draw.random() < self.rate:
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

    def judge(self) -> None:
        """See :meth:`~cumulus_papers.recovery.judge.Witness.judge`."""
        self.witness.judge(self.controller, self.inputs)

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


def draw_world(seed: int, tolerance: int = 1, kinds: Sequence[str] = KINDS) -> World:
    """A small random dataflow."""
    choose = random.Random(seed)
    flow = draw_flow(choose)
    return World(flow, draw_kinds(choose, flow, kinds), tolerance, seed)


def draw_diamond(seed: int, middle: str, end: str) -> World:
    """Two sources, a node, and two that it sends nearly all to; one after the other fails, again and again, and is seldom stored."""
    flow = flow_of([("s", "n"), ("t", "n"), ("n", "c"), ("n", "d")])
    kinds = {"s": "source", "t": "source", "n": middle, "c": end, "d": end}
    return World(flow, kinds, 1, seed, share=8, stores=seed % 3, rate=0.1)
