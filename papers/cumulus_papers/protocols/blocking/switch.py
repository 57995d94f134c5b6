"""The switch: dispatches updates, keeps a version number per node, and says what is committed (system section, "Update Consistency").

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

from cumulus_papers.case import Arrival, Case, Event, Version, env_of
from cumulus_papers.kernel import Here, Message
from cumulus_papers.protocols.blocking.messages import (
    AskStatus,
    Commit,
    Completed,
    EpochEnd,
    Fetch,
    FetchEntry,
    FetchPart,
    Put,
    PutEntry,
    PutPart,
    SpatialIndex,
    Status,
    refer,
)
from cumulus_papers.run import Stamped, node
from m3.dataflow import depth

__all__ = ["Switch"]

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
            self._ask()
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

    def _ask(self) -> None:
        """Ask all nodes, unless answers are still awaited; until all epochs that are over are committed, and no more will end."""
        if self.covered < self.case.epochs:
            self.here.after(self.case.epoch_s / self.case.options["rounds"], AskStatus(), background=True)
            if not self.unanswered:
                self.unanswered = set(self.numbers)
                for n in self.numbers:
                    self.here.send(node(n), Status())

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
