"""Nodes, sources and the controller as actors, and what time does to them: signs of life, checkpoints, failures (thesis, 3.2.1).

::

    outside ──Come──► source ──Carried(Data)──► node ──► node
                                                 │ ▲
    fate ──(fails nodes)     controller ◄──Beat──┘ └──Carried(Hold, Ask, Start, Resume)── controller

What is durable survives a failure: checkpoints, and the inputs of sources, which are written before they are injected (2.1). All else is lost.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from cumulus_papers.kernel import Costs, Disorder, Here, Message, Sent, Simulation
from cumulus_papers.recovery.judge import Witness
from cumulus_papers.recovery.work import Work, mix
from m3.recovery.clock import Clock
from m3.recovery.controller import Controller, Heartbeats
from m3.recovery.graph import Flow, longest_chain
from m3.recovery.hosting import Checkpoint
from m3.recovery.messages import Ask, Data, Hold, Recovered, Report, Resume, Start, Started
from m3.recovery.node import Node
from m3.recovery.table import Table

__all__ = ["CONTROLLER", "Failure", "History", "Outcome", "Recovery", "run_history"]

CONTROLLER, FATE = "controller", "fate"


@dataclass(frozen=True)
class Failure:
    """Nodes that die at a moment, at once."""

    at_s: float
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class History:
    """What happens to a dataflow. ``kinds``: what each node computes; ``inputs``: when something comes to which source; ``beat_s``, ``timeout_s``: how
    often nodes say that they live, and after which silence they are taken for dead; ``tidy_s``, ``store_s``: how often they tell what is
    no longer needed, and store a checkpoint; ``end_s``: when the last of this ends. ``tolerance``: how many nodes in a row may be lost at once."""

    seed: int
    flow: Flow
    kinds: Mapping[str, str]
    inputs: Sequence[tuple[float, str]]
    failures: Sequence[Failure] = ()
    tolerance: int = 1
    beat_s: float = 0.01
    timeout_s: float = 0.05
    tidy_s: float = 0.02
    store_s: float = 0.1
    end_s: float = 1.0
    share: int = 5
    costs: Costs = field(default_factory=Costs)
    disorder: Disorder = field(default_factory=Disorder)


@dataclass(frozen=True)
class Carried(Message):
    """A message of the recovery's algorithms, or an order."""

    part: Any

    @property
    def kind(self) -> str:
        """Of what is carried."""
        return type(self.part).__name__

    def carries(self) -> tuple[tuple[str, Any], ...]:
        """What is told, lives last; who tells whom is seen anyway."""
        told = {f.name: getattr(self.part, f.name) for f in fields(self.part)}
        names = [name for name in told if name not in ("source", "target", "node", "lives")]
        return tuple((name, _written(name, told[name])) for name in (*names, *(["lives"] if "lives" in told else [])))


def _written(name: str, value: Any) -> Any:
    """As text, with the name; a clock, and what is empty, without."""
    if value is None or value is False or value == ():
        return None
    if isinstance(value, Clock):
        return value
    if isinstance(value, Mapping):
        value = tuple(f"{key} {number}" for key, number in value.items())
    elif name in ("horizons", "reports"):
        value = tuple(f"{one[0]}:{one[1]}" if name == "horizons" else f"of {one.node}" for one in value)
    return f"{name} {', '.join(map(str, value)) if isinstance(value, tuple) else value}"


@dataclass(frozen=True)
class Come(Message):
    """From outside: a source's next input."""


@dataclass(frozen=True)
class Beat(Message):
    """A sign of life."""


@dataclass(frozen=True)
class Due(Message):
    """To itself: it is time to ``beat``, ``tidy``, ``store`` or ``look``."""

    what: str


@dataclass(frozen=True)
class Die(Message):
    """To fate: nodes fail, as far as the tolerance covers it."""

    nodes: tuple[str, ...]


class Host:
    """A machine with one node: alive, or waiting to be started."""

    def __init__(self, here: Here, world: Recovery, name: str) -> None:
        self.here, self.world, self.name = here, world, name
        self.node: Node | None = None
        self.beats = False

    def receive(self, message: Message, sender: str) -> None:
        """What comes for the node, and for its machine."""
        match message:
            case Carried(Start() as start):
                self._begin(start)
            case Due("begin"):
                self._begin(None)
            case Due(what):
                self._due(what)
            case Come():
                self.world.came[self.name] += 1
                self._inject()
            case Carried(part) if self.node:
                self._send(self.node.receive(part))

    def _begin(self, start: Start | None) -> None:
        world, name = self.world, self.name
        if start is None:
            self.node = world.witness.node(name, tolerance=world.history.tolerance)
        else:
            if start.lives[name] != world.controller.lives[name]:
                return
            world.dead.discard(name)
            checkpoint = world.stored.get(name)
            self.node, sent = world.witness.restart(name, start, checkpoint, tolerance=world.history.tolerance)
            self._send(sent)
        self._inject()
        if not self.beats:
            self.beats = True
            for what in ("beat", "tidy", "store"):
                self._due(what, act=what == "beat")

    def _due(self, what: str, *, act: bool = True) -> None:
        history = self.world.history
        if act and self.node:
            if what == "beat":
                self.here.send(CONTROLLER, Beat())
            elif what == "tidy":
                self._send(self.node.housekeeping())
            elif self.world.work[self.name].stateful and not self.node.replay:
                self.world.store(self.name, self.node.checkpoint())
        every_s = {"beat": history.beat_s, "tidy": history.tidy_s, "store": history.store_s}[what]
        if self.here.now + every_s < history.end_s:
            self.here.after(every_s, Due(what), background=True)

    def _inject(self) -> None:
        """What has come to a source and was not injected; its log is durable before anybody sees what it sends."""
        if self.name not in self.world.came or not self.node or self.node.replay:
            return
        for number in range(self.node.state[0], self.world.came[self.name]):
            sent = self.node.inject(mix(self.name, number))
            self.world.store(self.name, self.node.checkpoint())
            self._send(sent)

    def _send(self, parts: Sequence[Any]) -> None:
        for part in parts:
            answers = isinstance(part, (Report, Started, Recovered))
            if isinstance(part, Data):
                self.here.spend(self.world.history.costs.write_s)
            self.here.send(CONTROLLER if answers else part.target, Carried(part))
        if any(isinstance(part, Recovered) for part in parts):
            self._inject()


class Officer:
    """The controller's machine."""

    def __init__(self, here: Here, world: Recovery) -> None:
        self.here, self.world = here, world
        self.heartbeats = Heartbeats(world.history.timeout_s, dict.fromkeys(world.flow.order, 0.0))

    def receive(self, message: Message, sender: str) -> None:
        """A sign of life, an answer, or the moment to look who is silent."""
        world = self.world
        match message:
            case Beat():
                if sender not in world.controller.lost:
                    self.heartbeats.beat(sender, self.here.now)
            case Carried(part):
                self._order(world.controller.receive(part))
                if isinstance(part, Recovered):
                    world.recovered(part)
            case Due():
                for name in self.heartbeats.silent(self.here.now):
                    self._bury(name)
                if self.here.now < world.history.end_s or world.controller.lost or world.dead:
                    self.here.after(world.history.beat_s, Due("look"), background=self.here.now < world.history.end_s)

    def _bury(self, name: str) -> None:
        """Take a silent node for dead, be it or not. One that would be too much at once is looked at again later; who lives at the end is silent."""
        is_over = self.here.now > self.world.history.end_s and name not in self.world.dead
        if is_over or self.world.is_too_much(name):
            self.heartbeats.beat(name, self.here.now)
            return
        self.world.noticed(name)
        self._order(self.world.controller.failed([name]))

    def _order(self, orders: Sequence[Hold | Ask | Start | Resume]) -> None:
        for order in orders:
            if isinstance(order, Start):
                self.heartbeats.beat(order.node, self.here.now)  # from here on it is expected to live
            self.here.send(order.node, Carried(order))


class Fate:
    """Lets nodes fail."""

    def __init__(self, here: Here, world: Recovery) -> None:
        self.here, self.world = here, world

    def receive(self, message: Message, sender: str) -> None:
        """The moment has come."""
        assert isinstance(message, Die)
        for name in message.nodes:
            # One that waits to be started has nothing to lose.
            gone = name in self.world.dead or name in self.world.controller.lost
            if not gone and not self.world.is_too_much(name):
                self.world.die(name)


@dataclass(frozen=True)
class Outcome:
    """What came of a history: ``counts`` of what happened, ``recovery_s``: for each recovery (node, seconds from its death, and from its being
    taken for dead, until it has replayed). ``messages``, ``bytes``: by kind; ``entries``: of clocks in messages of the data plane; ``solved``: the
    tables of nodes, by their lives."""

    history: History
    counts: Counter[str]
    recovery_s: tuple[tuple[str, float, float], ...]
    messages: Counter[str]
    bytes: Counter[str]
    entries: int
    seconds: float
    trace: tuple[Sent, ...] = ()
    failed_s: tuple[tuple[float, str], ...] = ()
    solved: Mapping[tuple[str, int], Table] = field(default_factory=dict)


class Recovery:
    """A history as it runs: what is durable, who is dead, what was done."""

    def __init__(self, history: History, *, record: bool = False) -> None:
        self.history, self.flow = history, history.flow
        self.work = {n: Work(n, history.kinds[n], self.flow.children[n], history.share) for n in self.flow.order}
        self.witness = Witness(self.flow, self.work)
        self.controller = Controller(self.flow, history.tolerance)
        self.stored: dict[str, Checkpoint] = {}
        #: Of each source, how many inputs have come; they are durable.
        self.came = {name: 0 for name in self.flow.order if not self.flow.parents[name]}
        self.dead: set[str] = set()
        self.since_s: dict[str, float] = {}
        self.failed_s: list[tuple[float, str]] = []
        self.noticed_s: dict[str, float] = {}
        self.recovery_s: list[tuple[str, float, float]] = []
        self.counts: Counter[str] = Counter()
        self.entries = 0
        self.simulation = Simulation(
            history.seed, history.costs, history.disorder, record=record, handled_max=HANDLED_MAX
        )
        self.simulation.on_send.append(self._count)
        for name in self.flow.order:
            self.simulation.add(name, partial(Host, world=self, name=name))
            self.simulation.inject(0.0, name, Due("begin"))
        self.simulation.add(CONTROLLER, partial(Officer, world=self))
        self.simulation.inject(0.0, CONTROLLER, Due("look"))
        self.simulation.add(FATE, partial(Fate, world=self))
        for at_s, source in history.inputs:
            self.simulation.inject(at_s, source, Come())
        for failure in history.failures:
            self.simulation.inject(failure.at_s, FATE, Die(failure.nodes))

    def is_too_much(self, name: str) -> bool:
        """Whether more nodes in a row would be lost than the tolerance covers."""
        lost = {*self.dead, *self.controller.lost, *self.controller.replaying, name}
        return len(longest_chain(self.flow, lost)) > self.history.tolerance

    def die(self, name: str) -> None:
        """A node's machine is gone."""
        during = bool(self.dead or self.controller.lost or self.controller.replaying)
        self.counts["failures"] += 1
        self.counts["failures during a recovery"] += during
        self.dead.add(name)
        self.since_s[name] = self.simulation.now
        self.failed_s.append((self.simulation.now, name))
        self.simulation.fail(name)

    def noticed(self, name: str) -> None:
        """A node is taken for dead."""
        self.counts["taken for dead, and alive"] += name not in self.dead
        self.dead.discard(name)
        self.since_s.setdefault(name, self.simulation.now)
        self.noticed_s[name] = self.simulation.now

    def recovered(self, part: Recovered) -> None:
        """A node has replayed."""
        if part.life == self.controller.lives[part.node] and part.node in self.since_s:
            now = self.simulation.now
            self.recovery_s.append((part.node, now - self.since_s.pop(part.node), now - self.noticed_s[part.node]))
            self.counts.update(part.counts)
            self.counts.update(self.witness.choices(part.node, part.life))
            self.counts["recoveries"] += 1

    def store(self, name: str, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint, whatever fails."""
        self.stored[name] = checkpoint
        self.counts["checkpoints"] += 1

    def _count(self, now_s: float, sender: str, receiver: str, message: Message) -> None:
        if isinstance(message, Carried) and isinstance(message.part, Data):
            self.entries += message.part.entries

    def run(self) -> Outcome:
        """To the end, and see that it is right.

        Raises:
            Wrong: what was done is no execution without failures, or something is left undone.
        """
        self.simulation.run()
        self._settle()
        self.witness.judge(self.controller, self.came)
        simulation = self.simulation
        self.counts.update(simulation.disturbances)
        return Outcome(
            self.history,
            self.counts,
            tuple(self.recovery_s),
            simulation.messages,
            simulation.bytes,
            self.entries,
            simulation.now,
            tuple(simulation.trace),
            tuple(self.failed_s),
            self.witness.solved,
        )

    def _settle(self) -> None:
        """What nodes say now and then they say once more, so that the last of it is known to all."""
        for _ in range(3):
            for name in self.flow.order:
                self.simulation.inject(self.simulation.now, name, Due("tidy"))
            self.simulation.run()


#: Messages after which a history is taken for one that does not end.
HANDLED_MAX = 400_000


def run_history(history: History, *, record: bool = False) -> Outcome:
    """Simulate a history; raises as :meth:`Recovery.run`."""
    return Recovery(history, record=record).run()


def poisson(choose: random.Random, rate: float, end_s: float) -> list[float]:
    """Moments at a rate, up to an end."""
    found, at_s = [], 0.0
    while (at_s := at_s + choose.expovariate(rate)) < end_s:
        found.append(at_s)
    return found
