"""A DW node (semester paper, sections 3.2 and 3.3): what it does with each message, in the order that its inbox allows.

No node waits for others before it *reads*: what it sends in its PUSH may turn out too old, and is corrected then.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cumulus_papers.case import Case, Stamp, Version
from cumulus_papers.kernel import Here, Message
from cumulus_papers.protocols.optimistic.corrections import (
    Change,
    Corrections,
    Dispatch,
    Logs,
    NodeEpochs,
    Outbox,
)
from cumulus_papers.protocols.optimistic.logs import (
    Operation,
    OperationLog,
    ReceiveLog,
    Reference,
    SendLog,
    VersionedReceiveLog,
    WriteLog,
)
from cumulus_papers.protocols.optimistic.messages import (
    Answer,
    BatchDue,
    BufferDue,
    Corrective,
    EpochCommit,
    EpochEnd,
    Fetch,
    Flush,
    Push,
    Put,
    Query,
    Slice,
    TimeOut,
    parts,
)
from cumulus_papers.run import Entries, Maps, beginning, coordinator, node

__all__ = ["Absorbed", "Evaluated", "Inbox", "Node", "Seen", "Suppressed", "Taken", "Waiting"]


# The buffer of a node (semester paper, sections 3.2 and 3.3): messages of all kinds in the order of their timestamps.
#
# A PUT that waits for PUSHes holds back everything with a later timestamp; with the option ``bypass`` (section 3.5) PUSH, FETCH and corrections overtake
# it, unless they are about a map that it writes. Without PUTs nobody knows what to wait for, and nothing waits.


#: Of one timestamp, what is read comes before what is written.
ORDER: dict[type[Message], int] = {Fetch: 0, Query: 1, Push: 2, Corrective: 3, Put: 4}


@dataclass(frozen=True, order=True)
class Waiting:
    """A message in the buffer; ``arrival`` counts them."""

    version: Version
    order: int
    arrival: int
    sender: str = field(compare=False)
    message: Message = field(compare=False)


class Inbox:
    """What node ``number`` has got and not handled; what it waits for, it finds in its OperationLog."""

    def __init__(self, case: Case, number: int, dispatch: Dispatch, operations: OperationLog) -> None:
        self.case, self.number, self.dispatch, self.operations = case, number, dispatch, operations
        self.waiting: list[Waiting] = []
        self.arrivals = 0

    def add(self, version: Version, message: Message, sender: str) -> None:
        """A message about a timestamp has come."""
        self.arrivals += 1
        insort(self.waiting, Waiting(version, ORDER[type(message)], self.arrivals, sender, message))

    def take(self) -> list[Waiting]:
        """The first message that need not wait, after those that must be handled before it; none where all have to wait."""
        first = self._next()
        taken = [*self._sent_before(first), first] if first else []
        for waiting in taken:
            self.waiting.remove(waiting)
        return taken

    def unprocessed(self) -> Version | None:
        """The first update that the node is not done with."""
        versions = [w.version for w in self.waiting[:1]] + [o.at.version for o in self.operations.open()]
        return min(versions, default=None)

    def _next(self) -> Waiting | None:
        awaited = [] if self.case.options["blind"] else list(self.operations.open())
        line = min((o.at.version for o in awaited), default=None)
        written = {self._target(o.trigger, o.at.statement) for o in awaited}
        for waiting in self.waiting:
            if line is None or waiting.version <= line:
                return waiting
            if not self.case.options["bypass"]:
                return None
            if isinstance(waiting.message, Put):
                written |= {self._target(waiting.message.trigger, s) for s, _ in waiting.message.fetches}
            elif not isinstance(waiting.message, Query) and not written & self._about(waiting.message):
                return waiting
        return None

    def _sent_before(self, waiting: Waiting) -> list[Waiting]:
        """PUSHes and corrections of one sender take effect in the order in which they were sent: a correction is for what went before."""
        if not isinstance(waiting.message, (Push, Corrective)):
            return []
        same = (w for w in self.waiting if w.sender == waiting.sender and isinstance(w.message, (Push, Corrective)))
        return sorted((w for w in same if w.arrival < waiting.arrival), key=lambda w: w.arrival)

    def _target(self, trigger: int, statement: int) -> str:
        return self.case.program.triggers[trigger].statements[statement].target

    def _about(self, message: Message) -> set[str]:
        """The maps that a FETCH, PUSH or correction is about."""
        if isinstance(message, Corrective):
            return {d.map for d in message.deltas}
        if isinstance(message, Push):
            reads = [read for s in message.slices for read in s.reads]
        else:
            assert isinstance(message, Fetch)
            reads = [(w.statement, w.read) for w in self.dispatch.wanted(message, self.number)]
        return {self.dispatch.reads(message.trigger, s)[r].slice.map for s, r in reads}


@dataclass(frozen=True)
class Suppressed:
    """For those who watch: a read needed no PUSH, or did."""

    yes: bool


@dataclass(frozen=True)
class Absorbed:
    """For those who watch: a correction has been applied; how long the SendLog was before and after."""

    before: int
    after: int


@dataclass(frozen=True)
class Taken:
    """For those who watch: what is handled next of what waits; nothing, if all the rest has to wait."""

    taken: tuple[Waiting, ...]


@dataclass(frozen=True)
class Evaluated:
    """For those who watch: a statement of an update has been evaluated."""

    at: Stamp


@dataclass(frozen=True)
class Seen:
    """For those who watch: a query has been answered."""

    version: Version
    map: str
    entries: Entries


class Node:
    """Has segments, and the logs of what has happened to them."""

    def __init__(self, here: Here, case: Case, number: int, dispatch: Dispatch) -> None:
        self.here, self.case, self.number, self.dispatch = here, case, number, dispatch
        self.suppress = case.options["suppression"] != "off"
        received = VersionedReceiveLog() if self.suppress else ReceiveLog()
        sent = SendLog(case.options["suppression"])
        maps: dict[str, Entries] = {}
        for segment, entries in beginning(case).items():
            if case.layout.owner[segment] == number:
                maps.setdefault(segment.map, {}).update(entries)
        self.logs = Logs(WriteLog(maps), received, sent, OperationLog())
        self.outbox = Outbox(here, case.options["batch_s"])
        self.corrections = Corrections(here, case, number, dispatch, self.logs, self.outbox)
        self.inbox = Inbox(case, number, dispatch, self.logs.operation)
        unprocessed, flush = self.inbox.unprocessed, self.corrections.buffer.flush
        self.epochs = NodeEpochs(here, case, number, dispatch, self.outbox, unprocessed, self.committed, flush)

    def receive(self, message: Message, sender: str) -> None:
        """Put it into the inbox, and do all that can be done."""
        for part in parts(message):
            if isinstance(part, BatchDue):
                self.outbox.due(part.receiver)
            elif isinstance(part, BufferDue):
                self.corrections.buffer.period_over(part.map)
            elif isinstance(part, TimeOut):
                operation = self.logs.operation.operations.get(part.at)
                if operation is not None:
                    operation.timed_out = True
                    self._try(part.at)
            elif isinstance(part, (EpochEnd, Flush, EpochCommit)):
                self.epochs.receive(part, sender)
            else:
                assert isinstance(part, (Fetch, Push, Put, Corrective, Query))
                self.epochs.heard_of(part.version, part)
                self.inbox.add(part.version, part, sender)
        while taken := self.inbox.take():
            self.here.report(Taken(tuple(taken)))
            for waiting in taken:
                self._handle(waiting)
        self.here.report(Taken(()))
        self.epochs.advance()
        self.epochs.watch_size(len(self.logs))

    # What is done

    def _handle(self, waiting: Waiting) -> None:
        message = waiting.message
        if isinstance(message, Fetch):
            self._fetch(message)
        elif isinstance(message, Push):
            self._push(message, int(waiting.sender.removeprefix("node ")))
        elif isinstance(message, Put):
            # Note the update, and evaluate what needs no slices or has got them already.
            for statement, counts in message.fetches:
                self._note(message.version, message.trigger, statement, message.arguments, counts)
            for statement, _ in message.fetches:
                at = Stamp(message.version, statement)
                if not self._try(at) and self.suppress and self.case.options["missing"] == "time-out":
                    self.here.after(self.case.options["time_out_s"], TimeOut(at))
        elif isinstance(message, Corrective):
            # The three steps.
            sender = int(waiting.sender.removeprefix("node "))
            sends = len(self.logs.send)
            change = Change()
            for delta, hops in zip(message.deltas, message.hops, strict=True):
                self.corrections.absorb(sender, delta, change, hops)
            self.corrections.apply(change)
            self.here.report(Absorbed(sends, len(self.logs.send)))
        else:
            assert isinstance(message, Query)
            entries = self.logs.write.value(Reference(message.map, (), ()), Stamp(message.version, 0))
            self.outbox.send(coordinator(message.switch), Answer(message.version, message.map, entries))
            self.here.report(Seen(message.version, message.map, entries))

    def _fetch(self, message: Fetch) -> None:
        """Send each write node its slices, in one PUSH."""
        slices: dict[int, dict[tuple[Reference, Stamp], list[tuple[int, int]]]] = {}
        for wanted in self.dispatch.wanted(message, self.number):
            reference = self.dispatch.reference(message.trigger, wanted.statement, wanted.read, message.arguments)
            below = self.dispatch.below(message.version, message.trigger, wanted.statement, wanted.read)
            for receiver in wanted.nodes:
                reads = slices.setdefault(receiver, {}).setdefault((reference, below), [])
                reads.append((wanted.statement, wanted.read))
        for receiver, needed in sorted(slices.items()):
            pushed = [s for (ref, below), reads in needed.items() for s in self._slices(receiver, ref, below, reads)]
            for group in [pushed] if self.case.options["coalesce"] and pushed else [[s] for s in pushed]:
                arguments = message.arguments if self.case.options["blind"] else {}
                push = Push(message.version, message.trigger, tuple(group), arguments)
                if receiver == self.number:
                    self._push(push, self.number)
                else:
                    self.outbox.send(node(receiver), push)

    def _slices(
        self, receiver: int, reference: Reference, below: Stamp, reads: list[tuple[int, int]]
    ) -> Iterator[Slice]:
        """What a write node is sent for a read; with suppression nothing, or what it needs for other reads, too."""
        self.corrections.buffer.flush(reference.map, receiver)
        self.logs.send.sent(reference, receiver, below)
        if not self.suppress or receiver == self.number:
            at = self.logs.write.last(reference, below) if self.suppress else None
            versions = [(at, self.logs.write.value(reference, below))]
        else:
            versions = [*self.logs.send.missing(self.logs.write, reference, receiver, below)]
            self.here.report(Suppressed(not versions))
        for at, entries in versions:
            self.here.spend(self.case.costs.read_s * len(entries))
            yield Slice(tuple(reads), reference.key, at, entries)
        if not versions and self.case.options["blind"]:
            yield Slice(tuple(reads), reference.key, None, None)

    def _push(self, message: Push, sender: int) -> None:
        """Note the slices, and evaluate what has got all of its own."""
        if self.case.options["blind"]:
            self._note_announced(message)
        change = Change()
        for part in message.slices:
            for statement, read in part.reads:
                self.logs.receive.flag(Stamp(message.version, statement), read, sender)
            if part.entries is not None:
                self._take_slice(message, part, sender, change)
        self.corrections.apply(change)
        for statement in sorted({s for part in message.slices for s, _ in part.reads}):
            self._try(Stamp(message.version, statement))

    def _note_announced(self, message: Push) -> None:
        """Without PUTs the first PUSH says that there is something to evaluate (section 3.5, PUT optimization)."""
        fetches = self.dispatch.plan(message.trigger, message.arguments).puts[self.number]
        for statement, counts in fetches.items():
            if counts and Stamp(message.version, statement) not in self.logs.operation.operations:
                self._note(message.version, message.trigger, statement, message.arguments, counts)

    def _take_slice(self, message: Push, part: Slice, sender: int, change: Change) -> None:
        """A slice; where it is late, for what was evaluated without it, it is like a correction."""
        statement, read = part.reads[0]
        of = self.dispatch.reads(message.trigger, statement)[read].slice
        reference = Reference(of.map, of.path, part.key)
        below = self.dispatch.below(message.version, message.trigger, statement, read)
        entries: Entries = part.entries or {}

        def put() -> None:
            self.logs.receive.put(reference, below, part.at, sender, entries)

        if part.at is None:
            put()
        else:
            self.corrections.revalue(self.logs.operation.affected(of.map, part.at), put, change, 0)

    def _note(
        self, version: Version, trigger: int, statement: int, arguments: dict[str, Any], counts: tuple[int, ...]
    ) -> None:
        """Enter a statement into the OperationLog."""
        reads = tuple(
            (
                self.dispatch.reference(trigger, statement, r.number, arguments),
                self.dispatch.below(version, trigger, statement, r.number),
            )
            for r in self.dispatch.reads(trigger, statement)
        )
        at = Stamp(version, statement)
        self.logs.operation.operations[at] = Operation(at, trigger, arguments, reads, counts)

    def _try(self, at: Stamp) -> bool:
        """Evaluate an operation if all flags are set, or if it does not wait for them; say whether it is done."""
        operation = self.logs.operation.operations.get(at)
        if operation is None or operation.done:
            return operation is not None
        flags = self.logs.receive.flags
        complete = all(len(flags.get((at, i), ())) >= count for i, count in enumerate(operation.fetches))
        if not complete and not operation.timed_out and not self._optimistic:
            return False
        operation.done = True
        self.here.report(Evaluated(at))
        change = Change()
        self.corrections.evaluate(operation, self.corrections.slices(operation), change, 0)
        self.corrections.apply(change)
        return True

    @property
    def _optimistic(self) -> bool:
        """Whether a PUT goes on with what the ReceiveLog has; a PUSH that comes later corrects it (form 2 of the PUSH optimization)."""
        options = self.case.options
        return self.suppress and not options["blind"] and options["missing"] == "optimistic"

    # Snapshots

    def committed(self, through: Version) -> dict[str, Entries]:
        """The maps as of the commit point; the logs are truncated up to it."""
        bound = Stamp(Version(*through[:2], through.sequence + 1), 0)
        maps = self.maps(bound)
        self.logs.truncate(through)
        self.epochs.kept = len(self.logs)
        return maps

    def maps(self, below: Stamp | None = None) -> Maps:
        """This node's maps, as of a bound; None: as they are."""
        return {name: self.logs.write.value(Reference(name, (), ()), below) for name in self.logs.write.maps}
