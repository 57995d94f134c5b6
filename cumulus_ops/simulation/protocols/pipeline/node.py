"""A node: answers tentative PUTs with its tick, and closes ticks one after the other.

**Why a tick may be closed.** Tick k is closed when the node's clock is past it, no tentative PUT that it answered with k or less is undecided, and
all PUSHes for the tick's updates are there. Then all updates of tick k are known: one that is posted at T and goes to a map of depth d is evaluated at T + d; T is a
maximum over answers, this node's among them, so T + d >= its answer. What is answered from now on is above k, because the clock is; what was
answered with k or less is decided; so nothing can come for tick k any more. A PUSH for tick k comes from a node that closed an earlier tick, so no two
nodes wait for each other. The clocks are nowhere compared: how far apart they are decides how long updates wait, and nothing else.

**What is read.** The FETCH of an event posted at T on a map of depth d is answered when tick T + d is done. All events posted earlier have been evaluated on
the map by then, none posted later; of those posted at T itself only what lies below the reader's bound counts, the smaller (switch, sequence).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from cumulus_ops.simulation.case import STATEMENTS, Case, Stamp, Version, env_of, read_bound
from cumulus_ops.simulation.judge import Committed
from cumulus_ops.simulation.kernel import Here, Message
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.protocols.blocking.collation import Pushed, Reference, check_match, collate
from cumulus_ops.simulation.protocols.blocking.dispatch import SpatialIndex
from cumulus_ops.simulation.protocols.pipeline.messages import (
    Alarm,
    Answered,
    CurrentTick,
    Evaluated,
    FetchPart,
    MaximumTick,
    Posted,
    Push,
    PushPart,
    PutPart,
    TentativePut,
)
from cumulus_ops.simulation.run import coordinator, node
from cumulus_ops.simulation.store import Entries, add_to, beginning
from m3.dataflow import depth

__all__ = ["Clock", "Node", "snapshot_ticks"]


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
            delta = self._evaluate(tick, version, message, put)
            changes.setdefault(put.target, []).append((Stamp(version, put.statement), delta))
            add_to(self.segments[put.target], delta)
        self.closed = tick
        self._push(tick, work.fetches, changes)
        for through, level in work.snapshots:
            self._keep(through, level)

    def _evaluate(self, tick: int, version: Version, message: TentativePut, put: PutPart) -> Entries:
        got = self.pushes.pop((version, put.number), [])
        self.here.report(Evaluated(version, put.target.map, tick, self.closed, len(got), put.fetches))
        trigger = self.indexes[message.relation, message.sign].trigger
        values = [pushed for part in got for pushed in part]
        program, layout = self.case.program, self.case.layout
        delta = collate(program, layout, trigger, env_of(trigger, message.row), put.statement, put.target, values)
        self.here.spend(self.case.costs.write_s * len(delta))
        return delta

    def _push(
        self,
        tick: int,
        fetches: list[tuple[Version, FetchPart]],
        changes: Mapping[Segment, list[tuple[Stamp, Entries]]],
    ) -> None:
        answers: dict[int, list[PushPart]] = {}
        for version, fetch in fetches:
            self.here.report(Answered(version, fetch.refs[0].map, tick, self.closed))
            values = tuple(self._read(version, fetch.statement, ref, changes) for ref in fetch.refs)
            self.here.spend(self.case.costs.read_s * sum(len(pushed.entries) for pushed in values))
            answers.setdefault(fetch.node, []).append(PushPart(version, fetch.put, values))
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
