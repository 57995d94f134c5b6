"""A DW node: executes PUTs one after the other, answers FETCHes for the versions they want, and keeps snapshots.

Messages of one pair of actors arrive in the order in which they were sent, so a PUT never comes before its predecessor, and no FETCH before the PUT it
is tagged with. The node relies on neither (system section: PUTs are buffered if "received out of order, or prior to the completion of
an earlier PUT request"); a PUSH may come before its PUT in any case, and a FETCH after PUTs that overwrote what it wants.
"""

from __future__ import annotations

from collections.abc import Mapping

from cumulus_papers.case import Case, Event, Version, env_of
from cumulus_papers.kernel import Here, Message
from cumulus_papers.protocols.blocking.messages import (
    Answered,
    Commit,
    Completed,
    Executed,
    Fetch,
    FetchPart,
    Push,
    Pushed,
    PushPart,
    Put,
    PutPart,
    Reference,
    Snapshot,
    SpatialIndex,
    Status,
    Versions,
    collate,
)
from cumulus_papers.run import Committed, Entries, beginning, coordinator, node

__all__ = ["Node"]


class Node:
    """Has partitions of maps. ``done``: the version that is complete."""

    def __init__(self, here: Here, case: Case, number: int, indexes: Mapping[tuple[str, int], SpatialIndex]) -> None:
        self.here, self.case, self.indexes = here, case, indexes
        self.segments = {s: Versions() for s in case.layout.owned_by(number)}
        for segment, entries in beginning(case, self.segments).items():
            self.segments[segment].add(0, entries)
        self.done = 0
        self.puts: dict[int, tuple[Event, PutPart]] = {}
        self.pushes: dict[int, list[PushPart]] = {}
        self.fetches: list[tuple[Version, FetchPart]] = []
        self.answers: dict[tuple[int, Version], list[PushPart]] = {}

    def receive(self, message: Message, sender: str) -> None:
        """A message of the switch, or what another node pushes."""
        if isinstance(message, Status):
            self.here.send(coordinator(0), Completed(self.done))
        elif isinstance(message, Commit):
            self._commit(message)
        else:
            self._buffer(message)
            self._go_on()

    def _buffer(self, message: Message) -> None:
        if isinstance(message, Put):
            self.puts.update((part.number, (message.event, part)) for part in message.parts)
        elif isinstance(message, Fetch):
            self.fetches += [(message.version, part) for part in message.parts]
        else:
            assert isinstance(message, Push)
            for part in message.parts:
                self.pushes.setdefault(part.put, []).append(part)

    def _go_on(self) -> None:
        """Do all that can be done now."""
        self._answer()
        while self._ready(self.done + 1):
            self._execute(self.done + 1)
            self._answer()
        self._push()

    def _ready(self, number: int) -> bool:
        return number in self.puts and len(self.pushes.get(number, ())) == self.puts[number][1].fetches

    def _execute(self, number: int) -> None:
        event, put = self.puts.pop(number)
        pushes = self.pushes.pop(number, [])
        self.here.report(Executed(number, self.done, len(pushes), put.fetches))
        trigger = self.indexes[event.relation, event.sign].trigger
        got = [pushed for part in pushes for pushed in part.values]
        program, layout = self.case.program, self.case.layout
        delta = collate(program, layout, trigger, env_of(trigger, event.row), put.statement, put.target, got)
        self.here.spend(self.case.costs.write_s * len(delta))
        self.segments[put.target].add(number, delta)
        self.done = number

    def _answer(self) -> None:
        """Answer the FETCHes whose version is complete."""
        for version, fetch in [f for f in self.fetches if f[1].number <= self.done]:
            self.fetches.remove((version, fetch))
            self.here.report(Answered(fetch.number, self.done))
            values = tuple(self._read(ref, fetch.number) for ref in fetch.refs)
            self.here.spend(self.case.costs.read_s * sum(len(pushed.entries) for pushed in values))
            self.answers.setdefault((fetch.node, version), []).append(PushPart(fetch.put, values))

    def _read(self, ref: Reference, number: int) -> Pushed:
        entries: Entries = {}
        for segment, versions in self.segments.items():
            if segment.map == ref.map:
                entries.update(versions.as_of(number, ref))
        return Pushed(ref.map, ref.after, entries)

    def _push(self) -> None:
        answers, self.answers = self.answers, {}
        for (to, version), parts in answers.items():
            if self.case.options["coalescing"]:
                self.here.send(node(to), Push(version, tuple(parts)))
            else:
                for part in parts:
                    self.here.send(node(to), Push(version, (part,)))

    def _commit(self, message: Commit) -> None:
        """Keep a snapshot: report it, and discard what had been overwritten before."""
        number = message.number
        snapshot = {segment: versions.as_of(number) for segment, versions in self.segments.items()}
        discarded = sum(versions.discard(number) for versions in self.segments.values())
        self.here.report(Snapshot(number, self.done, discarded))
        self.here.report(Committed(message.through, snapshot))
