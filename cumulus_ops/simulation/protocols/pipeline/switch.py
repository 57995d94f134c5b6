"""A switch: asks all participating nodes for their tick, and posts the event at the maximum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cumulus_ops.simulation.case import Arrival, Case, Event, Version, env_of
from cumulus_ops.simulation.judge import Stamped
from cumulus_ops.simulation.kernel import Here, Message
from cumulus_ops.simulation.protocols.blocking.collation import refer
from cumulus_ops.simulation.protocols.blocking.dispatch import PutEntry, SpatialIndex
from cumulus_ops.simulation.protocols.pipeline.messages import (
    CurrentTick,
    FetchPart,
    MaximumTick,
    PutPart,
    TentativePut,
)
from cumulus_ops.simulation.run import node
from m3.dataflow import depth

__all__ = ["Switch"]


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
            self._current_tick(int(sender.split()[-1]), message)

    def _arrival(self, message: Arrival) -> None:
        self.sequence += 1
        work = self._work(message)
        self.tentative[self.sequence] = _Tentative(message, tuple(sorted(work)))
        for n in sorted(work):
            self.here.send(node(n), self._tentative_put(message, work[n]))
        if not work:
            self._post(self.sequence, 0)  # concerns nobody, so any tick will do

    def _tentative_put(self, message: Arrival, work: _Work) -> TentativePut:
        event = message.sign, message.relation, message.row
        return TentativePut(self.number, self.sequence, *event, tuple(work.puts), tuple(work.fetches))

    def _work(self, message: Arrival) -> dict[int, _Work]:
        """The messages of the spatial index, filled in, by node."""
        index = self.indexes.get((message.relation, message.sign))
        work: dict[int, _Work] = {}
        if index is not None:
            env = env_of(index.trigger, message.row)
            for number, put in enumerate(index.entry(index.cell_of(env))):
                fetches = self._fetches(index, message, number, put)
                work.setdefault(put.node, _Work()).puts.append(PutPart(number, put.statement, put.target, len(fetches)))
                for n, fetch in fetches:
                    work.setdefault(n, _Work()).fetches.append(fetch)
        return work

    def _fetches(
        self, index: SpatialIndex, message: Arrival, number: int, put: PutEntry
    ) -> list[tuple[int, FetchPart]]:
        """A PUT's FETCHes: maps of different depth are read at different ticks, so one entry may become several."""
        env, reads = env_of(index.trigger, message.row), list(index.trigger.statements[put.statement].reads())
        fetches: list[tuple[int, FetchPart]] = []
        for entry in put.fetches:
            for level in sorted({self.depths[reads[i].map] for i, _ in entry.refs}):
                chosen = [(reads[i], region) for i, region in entry.refs if self.depths[reads[i].map] == level]
                refs = tuple(refer(self.case.program, ref, env, region) for ref, region in chosen)
                fetches.append((entry.node, FetchPart(put.statement, refs, put.node, number)))
        return fetches

    def _current_tick(self, number: int, message: CurrentTick) -> None:
        tentative = self.tentative[message.sequence]
        tentative.ticks[number] = message.tick
        if len(tentative.ticks) == len(tentative.nodes):
            self._post(message.sequence, max(tentative.ticks.values()))

    def _post(self, sequence: int, tick: int) -> None:
        tentative = self.tentative.pop(sequence)
        version, arrival = Version(tick, self.number, sequence), tentative.arrival
        self.here.report(Stamped(Event(version, arrival.sign, arrival.relation, arrival.row)))
        for n in tentative.nodes:
            self.here.send(node(n), MaximumTick(version))
