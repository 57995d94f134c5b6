"""The switch and the nodes (system section, "Update Consistency"). The switch dispatches updates, keeps a version number per node, and says what is committed.

**Versions.** Each PUT to a node is the node's next version; a FETCH is tagged with the version of the node it goes to. Natively, with the *last
PUT sent*, each statement sees all that was dispatched before it. That is the sequential order of statements, if the tags are taken
before the statement's own PUTs: the figure lists a PUT before its FETCHes, and one that goes to the PUT's own node would wait for itself. The other reads are had by
taking the tags at another moment (:meth:`Switch._tags`): under snapshot semantics, before the event's first PUT; for AFTER, when
all writes of lower depth have been dispatched (statements go out by depth then, so no PUT waits for a later one of its node).
A PUT waits only for what was dispatched before it, so cyclic programs do not block either.

**COMMIT.** The paper: per node, the lowest version that a FETCH of an incomplete PUT is tagged with. That is enough to discard what nobody
will read, but it is no consistent cut: a node that nobody reads would go ahead to its last PUT, whose event another node has not finished. The smallest
addition: *an incomplete PUT holds every node at the version it had when the PUT's event was dispatched*. Then the versions committed are those of
one moment between two events, all PUTs before it are complete, and the union over the nodes is the state after these events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from cumulus_papers.case import Arrival, Case, Event, Version
from cumulus_papers.kernel import Here, Message
from cumulus_papers.layout import env_of
from cumulus_papers.protocols.blocking.messages import (
    Answered,
    AskStatus,
    Commit,
    Completed,
    EpochEnd,
    Executed,
    Fetch,
    FetchEntry,
    FetchPart,
    Push,
    Pushed,
    PushPart,
    Put,
    PutEntry,
    PutPart,
    Reference,
    Snapshot,
    SpatialIndex,
    Status,
    Versions,
    collate,
    refer,
)
from cumulus_papers.run import Committed, Entries, Stamped, beginning, coordinator, node
from m3.dataflow import depth

__all__ = ["Node", "Switch"]


#: A version number per node.
Numbers = Mapping[int, int]
#: A PUT with its node, and its FETCHes with theirs.
Parts = tuple[int, PutPart, list[tuple[int, FetchPart]]]
Part = TypeVar("Part")


@dataclass(frozen=True)
class Dispatched:
    """An event whose PUTs may be incomplete. ``before``: the nodes' versions then. ``puts``: node, number, and what its FETCHes are tagged with."""

    event: Event
    before: Numbers
    puts: tuple[tuple[int, int, tuple[tuple[int, int], ...]], ...]


class Switch:
    """The clearinghouse for updates; there is one."""

    def __init__(self, here: Here, case: Case, indexes: Mapping[tuple[str, int], SpatialIndex]) -> None:
        self.here, self.case, self.indexes = here, case, indexes
        self.depths = depth(case.program)
        self.epoch = self.sequence = 0
        self.numbers = dict.fromkeys(case.layout.nodes, 0)
        self.open: list[Dispatched] = []
        self.completed = dict.fromkeys(case.layout.nodes, 0)
        self.unanswered: set[int] = set()
        self.covered = 0
        self.held = 0

    def receive(self, message: Message, sender: str) -> None:
        """An event from outside, the clock, or a node's completion status."""
        if isinstance(message, Arrival):
            self.sequence += 1
            event = Event(Version(self.epoch, 0, self.sequence), message.sign, message.relation, message.row)
            self.here.report(Stamped(event))
            index = self.indexes.get((event.relation, event.sign))
            entry = index.entry(index.cell_of(env_of(index.trigger, event.row))) if index else ()
            before = dict(self.numbers)
            parts = list(self._parts(event, entry, before))
            self._send(event, parts)
            puts = [(to, p.number, tuple((n, f.number) for n, f in fetches)) for to, p, fetches in parts]
            self.open.append(Dispatched(event, before, tuple(puts)))
        elif isinstance(message, EpochEnd):
            self.epoch += 1
        elif isinstance(message, AskStatus):
            # Until all epochs that are over are committed, and no more will end; all nodes, unless answers are still awaited.
            if self.covered < self.case.epochs:
                self.here.after(self.case.epoch_s / self.case.options["rounds"], AskStatus(), background=True)
                if not self.unanswered:
                    self.unanswered = set(self.numbers)
                    for n in self.numbers:
                        self.here.send(node(n), Status())
        else:
            assert isinstance(message, Completed)
            self._completed(int(sender.split()[-1]), message.number)

    def _parts(self, event: Event, entry: tuple[PutEntry, ...], before: Numbers) -> Iterator[Parts]:
        """The entry's messages, filled in."""
        snapshot = self.case.program.semantics == "snapshot"
        current, statement = before, None
        for put in sorted(entry, key=self._depth) if snapshot else entry:
            if put.statement != statement:
                statement, current = put.statement, dict(self.numbers)
            self.numbers[put.node] += 1
            number = self.numbers[put.node]
            fetches = [(f.node, self._fetch(event, put, f, number, before, current)) for f in put.fetches]
            yield put.node, PutPart(number, put.statement, put.target, len(fetches)), fetches

    def _depth(self, put: PutEntry) -> tuple[int, int]:
        return self.depths[put.target.map], put.statement

    def _fetch(
        self, event: Event, put: PutEntry, fetch: FetchEntry, number: int, before: Numbers, current: Numbers
    ) -> FetchPart:
        trigger = self.indexes[event.relation, event.sign].trigger
        env, reads = env_of(trigger, event.row), list(trigger.statements[put.statement].reads())
        refs = tuple(refer(self.case.program, reads[i], env, region) for i, region in fetch.refs)
        return FetchPart(self._tags(fetch, before, current)[fetch.node], refs, put.node, number)

    def _tags(self, fetch: FetchEntry, before: Numbers, current: Numbers) -> Numbers:
        """Which version a FETCH reads: as ``before`` the event, or as it is when the statement is dispatched (``current``)."""
        return current if fetch.after or self.case.program.semantics == "sequential" else before

    def _send(self, event: Event, parts: list[Parts]) -> None:
        if not self.case.options["coalescing"]:
            for to, put, fetches in parts:
                self.here.send(node(to), Put(event, (put,)))
                for n, fetch in fetches:
                    self.here.send(node(n), Fetch(event.version, (fetch,)))
            return
        together = grouped((to, put) for to, put, _ in parts)
        for to, puts in together.items():
            self.here.send(node(to), Put(event, tuple(puts)))
        wanted = grouped(pair for *_, fetches in parts for pair in fetches)
        for n, fetched in wanted.items():
            self.here.send(node(n), Fetch(event.version, tuple(fetched)))

    def _completed(self, number: int, completed: int) -> None:
        self.completed[number] = completed
        self.unanswered.discard(number)
        if self.unanswered:
            return
        incomplete = [d for d in self.open if any(number > self.completed[n] for n, number, _ in d.puts)]
        done = self.open[: self.open.index(incomplete[0])] if incomplete else list(self.open)
        self.open = self.open[len(done) :]
        self.covered = incomplete[0].event.version.epoch if incomplete else self.epoch
        if done:
            through = done[-1].event.version
            for n, committed in self._commit_point(incomplete).items():
                self.here.send(node(n), Commit(committed, through))

    def _commit_point(self, incomplete: list[Dispatched]) -> Numbers:
        """The version of each node that is committed."""
        lowest = self._lowest_fetches(incomplete)
        before = incomplete[0].before if incomplete else self.numbers
        self.held += any(before[n] < number for n, number in lowest.items())
        return {n: min(number, before[n]) for n, number in lowest.items()}

    def _lowest_fetches(self, incomplete: list[Dispatched]) -> Numbers:
        """The paper's rule: per node, the lowest version that a FETCH of an incomplete PUT is tagged with; with none, what is complete."""
        lowest = dict(self.completed)
        for dispatched in incomplete:
            for n, number, fetches in dispatched.puts:
                for read, tag in fetches if number > self.completed[n] else ():
                    lowest[read] = min(lowest[read], tag)
        return lowest


def grouped(pairs: Iterable[tuple[int, Part]]) -> dict[int, list[Part]]:
    """What goes to each node."""
    groups: dict[int, list[Part]] = {}
    for to, part in pairs:
        groups.setdefault(to, []).append(part)
    return groups


# A DW node: executes PUTs one after the other, answers FETCHes for the versions they want, and keeps snapshots.
#
# Messages of one pair of actors arrive in the order in which they were sent, so a PUT never comes before its predecessor, and no FETCH before the PUT it
# is tagged with. The node relies on neither (system section: PUTs are buffered if "received out of order, or prior to the completion of
# an earlier PUT request"); a PUSH may come before its PUT in any case, and a FETCH after PUTs that overwrote what it wants.


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
            # The snapshot is reported, and what had been overwritten before is discarded.
            number = message.number
            snapshot = {segment: versions.as_of(number) for segment, versions in self.segments.items()}
            discarded = sum(versions.discard(number) for versions in self.segments.values())
            self.here.report(Snapshot(number, self.done, discarded))
            self.here.report(Committed(message.through, snapshot))
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

    def _push(self) -> None:
        answers, self.answers = self.answers, {}
        for (to, version), parts in answers.items():
            if self.case.options["coalescing"]:
                self.here.send(node(to), Push(version, tuple(parts)))
            else:
                for part in parts:
                    self.here.send(node(to), Push(version, (part,)))

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
