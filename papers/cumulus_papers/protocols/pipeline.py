"""**Pipeline scheduling** (system section, "Distributing the Switch"): several switches, no locks, and a clock for the nodes to go by.

::

    switch ──TENTATIVE PUT──► participating nodes ──CURRENT TICK──► switch ──MAXIMUM TICK──► participating nodes
    node of a source, when tick T + its depth is done ──PUSH──► node of a target, which evaluates in tick T + its depth

Time is cut into numbered ticks by each node's own clock; the clocks are synchronised loosely. An event is posted at the maximum tick T that the participating
nodes return, and a map of depth d is updated in tick T + d, as in a processor's pipeline. A map is read in the tick in which its own updates of that event are due,
as many ticks before the PUT as the depths differ: M1, M2, M4 of depths 2, 1, 0 and an event posted at 2, M1 is updated in tick 4, with M2 as
of tick 3 and M4 as of tick 2. (The figure's reference to "M1 during tick 2" is a misprint for M4.) In a cycle no depths differ, so programs must be acyclic.

The order that this introduces is (tick, switch, sequence), which the simulator's versions have for (epoch, coordinator, sequence). It need not be the order in which
a switch got its events: a later one may meet nodes whose clocks are behind.

The paper has no epochs here. None are needed for a snapshot: where map by map tick T + depth is done, there is the state after all events posted up to
T, and no message has to be sent. So each node keeps its maps at the last tick of every epoch and reports them.

Options: ``ticks`` per epoch; ``skew``, by how many ticks clocks may differ; ``coalescing``, one PUSH for all that a tick sends to a node.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cumulus_papers.case import STATEMENTS, UNDECIDED, Arrival, Case, Event, Stamp, Version, read_bound
from cumulus_papers.kernel import Here, Message, Simulation
from cumulus_papers.layout import Segment, env_of
from cumulus_papers.protocols.blocking.messages import (
    Pushed,
    Reference,
    SpatialIndex,
    check_match,
    collate,
    dispatched,
    indexes,
    refer,
)
from cumulus_papers.run import (
    Committed,
    Entries,
    Maps,
    Spec,
    Stamped,
    Wrong,
    add_to,
    as_figure_4_says,
    beginning,
    coordinator,
    node,
    union,
)
from m3.dataflow import depth

__all__ = [
    "PIPELINE",
    "Alarm",
    "Answered",
    "Clock",
    "CurrentTick",
    "Evaluated",
    "FetchPart",
    "MaximumTick",
    "Node",
    "Posted",
    "Push",
    "PushPart",
    "PutPart",
    "Switch",
    "TentativePut",
    "snapshot_ticks",
]


# What switches and nodes send each other, and what they tell those who watch (system section, "Pipeline Scheduling").


@dataclass(frozen=True)
class PutPart:
    """The event's PUT ``number``: a statement's addition to ``target``, from the answers to so many FETCHes."""

    number: int
    statement: int
    target: Segment
    fetches: int


@dataclass(frozen=True)
class FetchPart:
    """Read ``refs``, of maps of one depth, for a statement of the event; the answer goes to ``node``, for PUT number ``put``."""

    statement: int
    refs: tuple[Reference, ...]
    node: int
    put: int


@dataclass(frozen=True)
class PushPart:
    """The answer to one FETCH of an event, for its PUT number ``put``."""

    version: Version
    put: int
    values: tuple[Pushed, ...]


@dataclass(frozen=True)
class TentativePut(Message):
    """Switch to participating node: what it will have to do for an event, at a tick that is not known yet."""

    switch: int
    sequence: int
    sign: int
    relation: str
    row: tuple[Any, ...]
    puts: tuple[PutPart, ...]
    fetches: tuple[FetchPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The event, whose tick is not known."""
        return (Version(UNDECIDED, self.switch, self.sequence),)


@dataclass(frozen=True)
class CurrentTick(Message):
    """Node to switch: the answer, with the node's tick."""

    switch: int
    sequence: int
    tick: int

    def about(self) -> tuple[Version, ...]:
        """The event, whose tick is not known."""
        return (Version(UNDECIDED, self.switch, self.sequence),)


@dataclass(frozen=True)
class MaximumTick(Message):
    """Switch to participating node: the event is posted at the maximum of the ticks returned, which is its version's first number."""

    version: Version

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.version,)


@dataclass(frozen=True)
class Push(Message):
    """Node to node: what was read at the end of a tick."""

    parts: tuple[PushPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The versions of the reading events."""
        return tuple(dict.fromkeys(part.version for part in self.parts))


@dataclass(frozen=True)
class Alarm(Message):
    """A node's clock: a tick has begun, and there was something to do before."""


@dataclass(frozen=True)
class Posted:
    """Told to those who watch: a node that had answered ``reply``, and has closed tick ``closed``, learns an event's tick."""

    version: Version
    reply: int
    closed: int


@dataclass(frozen=True)
class Evaluated:
    """Told to those who watch: an update was evaluated in ``tick``, when ``closed`` was the last tick closed."""

    version: Version
    map: str
    tick: int
    closed: int
    pushes: int
    fetches: int


@dataclass(frozen=True)
class Answered:
    """Told to those who watch: a FETCH was answered for ``tick``, when ``closed`` was the last tick closed."""

    version: Version
    map: str
    tick: int
    closed: int


def snapshot_ticks(case: Case) -> list[int]:
    """The last tick of each epoch: after it there is a snapshot."""
    return [epoch * case.options["ticks"] - 1 for epoch in range(1, case.epochs + 1)]


@dataclass(frozen=True)
class Clock:
    """A node's clock, ``ahead_s`` ahead of the virtual time, and its ticks."""

    tick_s: float
    ahead_s: float

    @classmethod
    def of(cls, case: Case, number: int) -> Clock:
        """A node's clock: up to ``skew`` ticks ahead, by the case's seed."""
        tick_s = case.epoch_s / case.options["ticks"]
        return cls(tick_s, random.Random(f"{case.seed} {number}").uniform(0, case.options["skew"] * tick_s))

    def tick(self, now_s: float) -> int:
        """The tick at a time."""
        return int((now_s + self.ahead_s) / self.tick_s)

    def begins_s(self, tick: int) -> float:
        """When a tick begins, or a little later."""
        return max(tick * self.tick_s - self.ahead_s, 0.0) + 1e-9


# A node: answers tentative PUTs with its tick, and closes ticks one after the other.
#
# Why a tick may be closed. Tick k is closed when the node's clock is past it, no tentative PUT that it answered with k or less is undecided, and
# all PUSHes for the tick's updates are there. Then all updates of tick k are known: one that is posted at T and goes to a map of depth d is evaluated at
# T + d; T is a maximum over answers, this node's among them, so T + d >= its answer. What is answered from now on is above k, because the clock is; what
# was answered with k or less is decided; so nothing can come for tick k any more. A PUSH for tick k comes from a node that closed an earlier tick, so no
# two nodes wait for each other. The clocks are nowhere compared: how far apart they are decides how long updates wait, and nothing else.
#
# What is read. The FETCH of an event posted at T on a map of depth d is answered when tick T + d is done. All events posted earlier have been evaluated
# on the map by then, none posted later; of those posted at T itself only what lies below the reader's bound counts, the smaller (switch, sequence).


@dataclass
class _Tick:
    """What is scheduled for one tick. ``snapshots``: epochs' last ticks, and the depth of the maps that are complete for them now."""

    updates: list[tuple[Version, TentativePut, PutPart]] = field(default_factory=list)
    fetches: list[tuple[Version, FetchPart]] = field(default_factory=list)
    snapshots: list[tuple[int, int]] = field(default_factory=list)


class Node:
    """Has partitions of maps. ``closed``: the last tick that was closed, of those in which there was something to do."""

    def __init__(self, here: Here, case: Case, number: int, indexes: Mapping[tuple[str, int], SpatialIndex]) -> None:
        self.here, self.case, self.indexes = here, case, indexes
        self.clock, self.depths = Clock.of(case, number), depth(case.program)
        self.segments = beginning(case, case.layout.owned_by(number))
        self.closed = -1
        self.undecided: dict[tuple[int, int], tuple[int, TentativePut]] = {}
        self.schedule: dict[int, _Tick] = {}
        self.pushes: dict[tuple[Version, int], list[tuple[Pushed, ...]]] = {}
        self.alarms: set[int] = set()
        self.snapshots: dict[int, dict[Segment, Entries]] = {}
        for tick in snapshot_ticks(case):
            for level in sorted({self.depths[s.map] for s in self.segments}):
                self._at(tick + level).snapshots.append((tick, level))

    def _at(self, tick: int) -> _Tick:
        return self.schedule.setdefault(tick, _Tick())

    def receive(self, message: Message, sender: str) -> None:
        """A message of a switch, what another node pushes, or the clock."""
        if isinstance(message, TentativePut):
            tick = self.clock.tick(self.here.now)
            self.undecided[message.switch, message.sequence] = tick, message
            self.here.send(coordinator(message.switch), CurrentTick(message.switch, message.sequence, tick))
        elif isinstance(message, MaximumTick):
            self._post(message.version)
        elif isinstance(message, Push):
            for part in message.parts:
                self.pushes.setdefault((part.version, part.put), []).append(part.values)
        else:
            assert isinstance(message, Alarm)
        while self.schedule and self._may_close(first := min(self.schedule)):
            self._close(first)

    def _post(self, version: Version) -> None:
        """The event has its tick: each map's part is scheduled as many ticks later as the map is deep."""
        reply, message = self.undecided.pop((version.coordinator, version.sequence))
        self.here.report(Posted(version, reply, self.closed))
        for put in message.puts:
            self._at(self._due(version, put.target.map)).updates.append((version, message, put))
        for fetch in message.fetches:
            self._at(self._due(version, fetch.refs[0].map)).fetches.append((version, fetch))

    def _due(self, version: Version, name: str) -> int:
        """The tick in which an event's part for a map is evaluated, and read; the clock will call when it is over."""
        tick = version.epoch + self.depths[name]
        if tick not in self.alarms:
            self.alarms.add(tick)
            self.here.after(max(self.clock.begins_s(tick + 1) - self.here.now, 0.0), Alarm())
        return tick

    def _may_close(self, tick: int) -> bool:
        return (
            self.clock.tick(self.here.now) > tick
            and all(reply > tick for reply, _ in self.undecided.values())
            and all(len(self.pushes.get((v, p.number), ())) == p.fetches for v, _, p in self.schedule[tick].updates)
        )

    def _close(self, tick: int) -> None:
        """Evaluate the tick's updates, answer its FETCHes, and keep what is complete for a snapshot."""
        work = self.schedule.pop(tick)
        changes: dict[Segment, list[tuple[Stamp, Entries]]] = {}
        for version, message, put in work.updates:
            got = self.pushes.pop((version, put.number), [])
            self.here.report(Evaluated(version, put.target.map, tick, self.closed, len(got), put.fetches))
            trigger = self.indexes[message.relation, message.sign].trigger
            values = [pushed for part in got for pushed in part]
            program, layout = self.case.program, self.case.layout
            delta = collate(program, layout, trigger, env_of(trigger, message.row), put.statement, put.target, values)
            self.here.spend(self.case.costs.write_s * len(delta))
            changes.setdefault(put.target, []).append((Stamp(version, put.statement), delta))
            add_to(self.segments[put.target], delta)
        self.closed = tick
        self._push(tick, work.fetches, changes)
        for through, level in work.snapshots:
            self._keep(through, level)

    def _push(
        self,
        tick: int,
        fetches: list[tuple[Version, FetchPart]],
        changes: Mapping[Segment, list[tuple[Stamp, Entries]]],
    ) -> None:
        answers: dict[int, list[PushPart]] = {}
        for version, fetch in fetches:
            self.here.report(Answered(version, fetch.refs[0].map, tick, self.closed))
            read = tuple(self._read(version, fetch.statement, ref, changes) for ref in fetch.refs)
            self.here.spend(self.case.costs.read_s * sum(len(pushed.entries) for pushed in read))
            answers.setdefault(fetch.node, []).append(PushPart(version, fetch.put, read))
        for to, parts in answers.items():
            for together in [parts] if self.case.options["coalescing"] else [[part] for part in parts]:
                self.here.send(node(to), Push(tuple(together)))

    def _read(
        self,
        version: Version,
        statement: int,
        ref: Reference,
        changes: Mapping[Segment, list[tuple[Stamp, Entries]]],
    ) -> Pushed:
        """The map after the tick, without what the tick's later events added."""
        bound = read_bound(self.case.program, version, statement, ref.after)
        entries: Entries = {}
        for segment, current in self.segments.items():
            if segment.map == ref.map:
                found = dict(current)
                for stamp, delta in changes.get(segment, ()):
                    if stamp >= bound:
                        add_to(found, {key: -units for key, units in delta.items()})
                entries.update((key, units) for key, units in found.items() if check_match(ref, key))
        return Pushed(ref.map, ref.after, entries)

    def _keep(self, through: int, level: int) -> None:
        """Maps of a depth are now as after all events posted up to tick ``through``; report when all of the node's maps are."""
        kept = self.snapshots.setdefault(through, {})
        kept.update((s, dict(e)) for s, e in self.segments.items() if self.depths[s.map] == level)
        if len(kept) == len(self.segments):
            self.here.report(Committed(Version(through, STATEMENTS, 0), self.snapshots.pop(through)))


# A switch: asks all participating nodes for their tick, and posts the event at the maximum.


@dataclass
class _Work:
    """What one node has to do for an event."""

    puts: list[PutPart] = field(default_factory=list)
    fetches: list[FetchPart] = field(default_factory=list)


@dataclass
class _Tentative:
    """An event that has no tick yet, and the ticks returned so far, by node."""

    arrival: Arrival
    nodes: tuple[int, ...]
    ticks: dict[int, int] = field(default_factory=dict)


class Switch:
    """One of several."""

    def __init__(self, here: Here, case: Case, number: int, indexes: Mapping[tuple[str, int], SpatialIndex]) -> None:
        self.here, self.case, self.number, self.indexes = here, case, number, indexes
        self.depths = depth(case.program)
        self.sequence = 0
        self.tentative: dict[int, _Tentative] = {}

    def receive(self, message: Message, sender: str) -> None:
        """An event from outside, or a node's tick."""
        if isinstance(message, Arrival):
            self._arrival(message)
        else:
            assert isinstance(message, CurrentTick)
            number = int(sender.split()[-1])
            tentative = self.tentative[message.sequence]
            tentative.ticks[number] = message.tick
            if len(tentative.ticks) == len(tentative.nodes):
                self._post(message.sequence, max(tentative.ticks.values()))

    def _arrival(self, message: Arrival) -> None:
        self.sequence += 1
        # The messages of the spatial index, filled in, by node.
        index = self.indexes.get((message.relation, message.sign))
        work: dict[int, _Work] = {}
        if index is not None:
            env = env_of(index.trigger, message.row)
            for number, put in enumerate(index.entry(index.cell_of(env))):
                # Maps of different depth are read at different ticks, so one FETCH of the index may become several.
                reads = list(index.trigger.statements[put.statement].reads())
                fetches: list[tuple[int, FetchPart]] = []
                for entry in put.fetches:
                    for level in sorted({self.depths[reads[i].map] for i, _ in entry.refs}):
                        chosen = [(reads[i], region) for i, region in entry.refs if self.depths[reads[i].map] == level]
                        refs = tuple(refer(self.case.program, ref, env, region) for ref, region in chosen)
                        fetches.append((entry.node, FetchPart(put.statement, refs, put.node, number)))
                work.setdefault(put.node, _Work()).puts.append(PutPart(number, put.statement, put.target, len(fetches)))
                for n, fetch in fetches:
                    work.setdefault(n, _Work()).fetches.append(fetch)
        self.tentative[self.sequence] = _Tentative(message, tuple(sorted(work)))
        for n in sorted(work):
            self.here.send(node(n), self._tentative_put(message, work[n]))
        if not work:
            self._post(self.sequence, 0)  # concerns nobody, so any tick will do

    def _tentative_put(self, message: Arrival, work: _Work) -> TentativePut:
        event = message.sign, message.relation, message.row
        return TentativePut(self.number, self.sequence, *event, tuple(work.puts), tuple(work.fetches))

    def _post(self, sequence: int, tick: int) -> None:
        tentative = self.tentative.pop(sequence)
        version, arrival = Version(tick, self.number, sequence), tentative.arrival
        self.here.report(Stamped(Event(version, arrival.sign, arrival.relation, arrival.row)))
        for n in tentative.nodes:
            self.here.send(node(n), MaximumTick(version))


# Pipeline scheduling as a system: its actors, and the invariants that are looked at while they run.


class PipelineSystem:
    """Sees to it that nothing comes for a closed tick, and that each map is written and read in the tick that its depth says."""

    def __init__(self, case: Case, simulation: Simulation, known: Mapping[tuple[str, int], SpatialIndex]) -> None:
        self.case, self.simulation, self.dispatched = case, simulation, as_figure_4_says(case, dispatched(known))
        self.depths = depth(case.program)
        self.counts: Counter[str] = Counter()
        self.stamped: set[Version] = set()
        self.snapshots: Counter[str] = Counter()

    def maps(self) -> Maps:
        return union(e for n in self.case.layout.nodes for e in self.simulation.actor(node(n)).segments.items())

    def watch(self, now_s: float, name: str, what: object) -> None:
        if isinstance(what, Stamped):
            self.stamped.add(what.event.version)
            self.dispatched(what.event)
        elif isinstance(what, Posted):
            if what.version not in self.stamped:
                raise Wrong(f"{name} has {what.version}, which no switch posted")
            if what.version.epoch < what.reply:
                raise Wrong(f"{name} answered tick {what.reply}, and got an event posted at {what.version.epoch}")
            self.counts["posted later than answered"] += what.version.epoch > what.reply
        elif isinstance(what, Evaluated):
            if what.tick <= what.closed:
                raise Wrong(f"{name} wrote {what.map} in tick {what.tick} when tick {what.closed} was closed")
            if what.tick != what.version.epoch + self.depths[what.map]:
                raise Wrong(f"{name} wrote {what.map} for {what.version} in tick {what.tick}")
            if what.pushes != what.fetches:
                raise Wrong(f"{name} wrote {what.map} with {what.pushes} PUSHes for {what.fetches} FETCHes")
        elif isinstance(what, Answered):
            if what.tick > what.closed:
                raise Wrong(f"{name} read {what.map} for tick {what.tick} when only tick {what.closed} was closed")
            if what.tick != what.version.epoch + self.depths[what.map]:
                raise Wrong(f"{name} read {what.map} for {what.version} in tick {what.tick}")
        elif isinstance(what, Committed):
            self.snapshots[name] += 1

    def finish(self) -> Mapping[str, int]:
        for n in self.case.layout.nodes:
            left = self.simulation.actor(node(n))
            if left.schedule or left.undecided or left.pushes:
                raise Wrong(f"node {n} still waits: {left.schedule}, {left.undecided}, {left.pushes}")
            if self.snapshots[node(n)] != self.case.epochs:
                raise Wrong(f"node {n} has {self.snapshots[node(n)]} snapshots of {self.case.epochs}")
        return self.counts


def _build(case: Case, simulation: Simulation) -> PipelineSystem:
    known = indexes(case.program, case.layout)
    for i in range(case.coordinators):
        simulation.add(coordinator(i), lambda here, i=i: Switch(here, case, i, known))  # type: ignore[misc]
    levels = depth(case.program)
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: Node(here, case, n, known))  # type: ignore[misc]
        for tick in snapshot_ticks(case):
            last = tick + max(levels.values()) + 1
            simulation.inject(Clock.of(case, n).begins_s(last), node(n), Alarm())
    return PipelineSystem(case, simulation, known)


PIPELINE = Spec(
    "pipeline",
    _build,
    ("TentativePut", "CurrentTick", "MaximumTick", "Push"),
    {"ticks": (4, 1, 16), "skew": (0, 0.5, 3), "coalescing": (False, True)},
    acyclic=True,
)
