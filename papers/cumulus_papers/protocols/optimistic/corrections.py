"""Corrective updates (semester paper, section 3.3): what a write, or a correction of one, sets right elsewhere.

The three steps at the node that gets a correction: (1) the slices in the ReceiveLog above it grow by its delta; (2) the updates in the
OperationLog that have read one of them are looked at again, and the WriteLog's entries grow by *delta times what the other reads have*;
(3) for each of these the SendLog says who has read it too early, and is sent a correction in turn. Readers on the node itself are served
first, sources before targets, so that each of its maps is gone through once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cumulus_papers.case import Case, Read, Stamp, Version, read_bound, reads_of
from cumulus_papers.kernel import Here, Message
from cumulus_papers.layout import DirectiveTable, Layout, Segment, Tables
from cumulus_papers.protocols.optimistic.logs import (
    Operation,
    OperationLog,
    ReceiveLog,
    Reference,
    SendLog,
    WriteLog,
)
from cumulus_papers.protocols.optimistic.messages import (
    Batch,
    BatchDue,
    BufferDue,
    Corrective,
    Delta,
    EpochCommit,
    EpochEnd,
    EpochEndRequest,
    EpochReady,
    Fetch,
    Flush,
    Put,
    Query,
    Wanted,
)
from cumulus_papers.run import Committed, Entries, Maps, add_to, coordinator, node
from m3.dataflow import depth, is_cyclic, strata
from m3.evaluate import FAILURES, Value
from m3.program import Program
from m3.scalars import variables
from m3.statements import Key, contribution

__all__ = [
    "Change",
    "Corrected",
    "CorrectionBuffer",
    "Corrections",
    "Dispatch",
    "Flushed",
    "Grown",
    "Late",
    "Logs",
    "NodeEpochs",
    "Outbox",
    "Plan",
    "Wrote",
    "switch_of",
]


# What an actor sends, in batches if wanted: all messages to one receiver within a period travel as one, whatever their timestamps.


class Outbox:
    """Keeps the order in which messages to one receiver are sent."""

    def __init__(self, here: Here, period_s: float) -> None:
        self.here, self.period_s = here, period_s
        self.waiting: dict[str, list[Message]] = {}

    def send(self, receiver: str, message: Message) -> None:
        """Send a message, at the end of the period at the latest."""
        if not self.period_s:
            self.here.send(receiver, message)
            return
        if receiver not in self.waiting:
            self.waiting[receiver] = []
            self.here.after(self.period_s, BatchDue(receiver))
        self.waiting[receiver].append(message)

    def due(self, receiver: str) -> None:
        """The period is over."""
        messages = self.waiting.pop(receiver)
        self.here.send(receiver, messages[0] if len(messages) == 1 else Batch(tuple(messages)))


# What a switch knows of the layout, and a node too where it is told before the first event (semester paper, section 3.2): who reads what for
# an update, who writes what, and which maps' deltas go where.
#
# The nodes of a class of updates follow from its directive (:mod:`cumulus_papers.layout`).


#: A map, and a node that has some of it.
Share = tuple[str, int]


@dataclass(frozen=True)
class Plan:
    """Of a class of updates. ``fetches``: read node -> what it is to send; ``puts``: write node -> statement -> for each
    read the number of nodes that will send something."""

    fetches: Mapping[int, tuple[Wanted, ...]]
    puts: Mapping[int, Mapping[int, tuple[int, ...]]]


class Dispatch:
    """The plans of a program on a layout. Made when first asked for, and kept."""

    def __init__(self, program: Program, layout: Layout) -> None:
        self.program, self.layout = program, layout
        self.tables = Tables(program, layout)
        self.numbers = {(t.relation, t.sign): i for i, t in enumerate(program.triggers)}
        self._plans: dict[tuple[int, tuple[int, ...]], Plan] = {}
        self._reads: dict[tuple[int, int], tuple[Read, ...]] = {}

    def table(self, trigger: int) -> DirectiveTable:
        """The directive table of a trigger."""
        of = self.program.triggers[trigger]
        return self.tables.by_event[of.relation, of.sign]

    def plan(self, trigger: int, arguments: Mapping[str, Value]) -> Plan:
        """What an update needs; all variables of its keys are needed."""
        table = self.table(trigger)
        of = trigger, table.class_of(arguments)
        if of not in self._plans:
            self._plans[of] = self._plan(table, of[1])
        return self._plans[of]

    def _plan(self, table: DirectiveTable, of: tuple[int, ...]) -> Plan:
        owner = self.layout.owner
        wanted: dict[int, dict[tuple[int, int], set[int]]] = {}
        senders: dict[int, dict[int, list[set[int]]]] = {}
        for write in table.directive(of).writes:
            statement = table.trigger.statements[write.statement]
            by_read = senders.setdefault(owner[write.target], {})
            sets = by_read.setdefault(write.statement, [set() for _ in statement.reads()])
            for read in write.reads:
                sets[read.read].add(owner[read.source])
                reads = wanted.setdefault(owner[read.source], {})
                reads.setdefault((read.statement, read.read), set()).add(owner[write.target])
        fetches = {
            n: tuple(Wanted(*read, tuple(sorted(nodes))) for read, nodes in sorted(reads.items()))
            for n, reads in sorted(wanted.items())
        }
        puts = {n: {s: tuple(map(len, sets)) for s, sets in sorted(by.items())} for n, by in sorted(senders.items())}
        return Plan(fetches, puts)

    def wanted(self, message: Fetch, number: int) -> tuple[Wanted, ...]:
        """What a FETCH asks a node for. Where it names no write nodes, the layout says who they are (section 3.5, FETCH optimization)."""
        if message.wanted and message.wanted[0].nodes:
            return message.wanted
        known = self.plan(message.trigger, message.arguments).fetches[number]
        named = {(w.statement, w.read) for w in message.wanted}
        return tuple(w for w in known if not named or (w.statement, w.read) in named)

    def reads(self, trigger: int, statement: int) -> tuple[Read, ...]:
        """The reads of a statement."""
        if (trigger, statement) not in self._reads:
            self._reads[trigger, statement] = reads_of(self.program.triggers[trigger], statement)
        return self._reads[trigger, statement]

    def reference(self, trigger: int, statement: int, read: int, arguments: Mapping[str, Value]) -> Reference:
        """What a read of a statement is about, for an update."""
        of = self.reads(trigger, statement)[read].slice
        try:
            return Reference(of.map, of.path, of.bound(arguments))
        except FAILURES:
            return Reference(of.map, of.path, None)

    def below(self, version: Version, trigger: int, statement: int, read: int) -> Stamp:
        """TSy: below which stamp a read sees writes."""
        return read_bound(self.program, version, statement, self.reads(trigger, statement)[read].slice.after)

    def with_reads(self, trigger: int) -> tuple[int, ...]:
        """The statements of a trigger that read something."""
        statements = self.program.triggers[trigger].statements
        return tuple(i for i, s in enumerate(statements) if any(True for _ in s.reads()))

    def slice_variables(self, trigger: int, wanted: tuple[Wanted, ...]) -> set[str]:
        """The arguments that say which slices are meant."""
        reads = (self.reads(trigger, w.statement)[w.read].slice for w in wanted)
        return {v for read in reads for key in read.keys for v in variables(key)}

    def statement_variables(self, trigger: int, statements: Iterable[int]) -> set[str]:
        """The arguments that statements need."""
        of = self.program.triggers[trigger]
        return {v for s in statements for v in of.statements[s].variables()} & set(of.params)

    def key_variables(self, trigger: int) -> set[str]:
        """The arguments that decide where an update goes."""
        return {v for key in self.table(trigger).cuts for v in variables(key)}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The maps, sources before targets."""
        return tuple(name for stratum in strata(self.program) for name in stratum)

    @cached_property
    def owners(self) -> dict[str, tuple[int, ...]]:
        """Map -> the nodes that have some of it."""
        owners: dict[str, set[int]] = {m.name: set() for m in self.program.maps}
        for segment, owner in self.layout.owner.items():
            owners[segment.map].add(owner)
        return {name: tuple(sorted(nodes)) for name, nodes in owners.items()}

    @cached_property
    def feeders(self) -> dict[Share, tuple[Share, ...]]:
        """A node's share of a map -> the shares of other maps that some update may compute it from."""
        feeders: dict[Share, set[Share]] = {}
        for table in self.tables.by_event.values():
            for read in table.possible().reads:
                source = read.source.map, self.layout.owner[read.source]
                feeders.setdefault((read.target.map, self.layout.owner[read.target]), set()).add(source)
        return {share: tuple(sorted(sources)) for share, sources in feeders.items()}

    @cached_property
    def readers(self) -> dict[Share, tuple[int, ...]]:
        """A node's share of a map -> the nodes with something that may be computed from it."""
        readers: dict[Share, set[int]] = {}
        for (_, reader), sources in self.feeders.items():
            for source in sources:
                readers.setdefault(source, set()).add(reader)
        return {share: tuple(sorted(nodes)) for share, nodes in readers.items()}

    @cached_property
    def depths(self) -> dict[str, int]:
        """Map -> the number of steps on the longest path to it."""
        return depth(self.program)

    @property
    def longest_path(self) -> int:
        """The number of steps from map to map on the longest path of the dataflow."""
        return max(self.depths.values())

    @property
    def acyclic(self) -> bool:
        """Whether no map is computed from itself."""
        return not any(is_cyclic(self.program, stratum) for stratum in strata(self.program))


# Corrections on their way out (semester paper, section 3.5): at once, or held back for a period in which deltas of one TSx add up.
#
# With intelligent buffering the period grows with the depth of the map in the dataflow: what is further down gets more corrections for one cause. Before a
# slice of a map is pushed, what is held back for its reader is sent, since the slice has it already and the correction is only for what went before.


@dataclass
class _Pending:
    entries: Entries = field(default_factory=dict)
    hops: int = 0


class CorrectionBuffer:
    """What is to be sent, by map, reader and TSx."""

    def __init__(self, here: Here, case: Case, dispatch: Dispatch, send_log: SendLog, outbox: Outbox) -> None:
        self.here, self.case, self.dispatch = here, case, dispatch
        self.send_log, self.outbox = send_log, outbox
        self.pending: dict[str, dict[int, dict[Stamp, _Pending]]] = {}
        self.due: set[str] = set()

    def add(self, name: str, reader: int, at: Stamp, delta: Entries, hops: int) -> None:
        """A correction."""
        pending = self.pending.setdefault(name, {}).setdefault(reader, {}).setdefault(at, _Pending())
        add_to(pending.entries, delta)
        pending.hops = max(hops, pending.hops)

    def settle(self) -> None:
        """After a change: send what there is, or see that it will be sent."""
        if not self.case.options["buffer_s"]:
            self._send(list(self.pending))
            return
        for name in sorted(self.pending.keys() - self.due):
            self.due.add(name)
            self.here.after(self.period_s(name), BufferDue(name))

    def period_s(self, name: str) -> float:
        """How long a map's corrections are held back."""
        period_s: float = self.case.options["buffer_s"]
        return period_s * (1 + self.dispatch.depths[name]) if self.case.options["intelligent"] else period_s

    def period_over(self, name: str) -> None:
        """A map's corrections have been held back for long enough."""
        self.due.discard(name)
        self._send([name])

    def flush(self, name: str, reader: int | None = None) -> None:
        """Send what is held back of a map, for one reader or all."""
        if name in self.pending and (reader is None or reader in self.pending[name]):
            self._send([name], reader)

    def _send(self, names: list[str], only: int | None = None) -> None:
        by_reader: dict[int, list[tuple[Delta, int]]] = {}
        for name in names:
            readers = self.pending.get(name, {})
            for reader in sorted(readers) if only is None else [only]:
                for at, pending in sorted(readers.pop(reader).items()):
                    if pending.entries:
                        by_reader.setdefault(reader, []).append((Delta(name, at, pending.entries), pending.hops))
            if not readers:
                self.pending.pop(name, None)
        for reader, deltas in sorted(by_reader.items()):
            for message in self._messages(deltas):
                self.outbox.send(node(reader), message)
            for delta, _ in deltas:
                self.send_log.corrected(reader, delta.map, delta.at, delta.entries)

    def _messages(self, deltas: list[tuple[Delta, int]]) -> Iterator[Corrective]:
        """One for each TS, or for each delta."""
        if not self.case.options["coalesce"]:
            yield from (Corrective(d.at.version, (d,), (hops,)) for d, hops in deltas)
            return
        by_version: dict[Version, list[tuple[Delta, int]]] = {}
        for delta, hops in deltas:
            by_version.setdefault(delta.at.version, []).append((delta, hops))
        for version, of in sorted(by_version.items()):
            yield Corrective(version, tuple(d for d, _ in of), tuple(hops for _, hops in of))


@dataclass(frozen=True)
class Corrected:
    """For those who watch: a correction left a node, for a write at ``at``; the receiver's highest TSy is ``below``."""

    map: str
    at: Stamp
    below: Stamp
    hops: int


@dataclass(frozen=True)
class Wrote:
    """For those who watch: a write, or a correction of one."""

    delta: Delta


@dataclass
class Logs:
    """A node's four logs."""

    write: WriteLog
    receive: ReceiveLog
    send: SendLog
    operation: OperationLog

    def truncate(self, through: Version) -> None:
        """Up to the commit point."""
        self.write.truncate(through)
        self.receive.truncate(through)
        self.send.truncate(through)
        self.operation.truncate(through)

    def stale(self, through: Version) -> list[str]:
        """The logs with entries that truncation should have removed."""
        logs = self.write, self.receive, self.send, self.operation
        return [type(log).__name__ for log in logs if log.stale(through)]

    def __len__(self) -> int:
        return len(self.write) + len(self.receive) + len(self.send) + len(self.operation)


@dataclass
class Change:
    """Deltas of this node's maps that are still to be applied, by map and stamp; ``hops``: the maps their cascade has passed."""

    deltas: dict[str, dict[Stamp, Entries]] = field(default_factory=dict)
    hops: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, at: Stamp, delta: Mapping[Key, int], hops: int) -> None:
        """One more."""
        add_to(self.deltas.setdefault(name, {}).setdefault(at, {}), delta)
        self.hops[name] = max(hops, self.hops.get(name, 0))


class Corrections:
    """Applies changes, and sends on what others have to know of them."""

    def __init__(self, here: Here, case: Case, number: int, dispatch: Dispatch, logs: Logs, outbox: Outbox) -> None:
        self.here, self.case, self.number, self.logs = here, case, number, logs
        self.buffer = CorrectionBuffer(here, case, dispatch, logs.send, outbox)
        self.rank = {name: i for i, name in enumerate(dispatch.order)}

    def apply(self, change: Change) -> None:
        """Do what a change brings: here, map after map, and then elsewhere."""
        while change.deltas:
            name = min(change.deltas, key=self.rank.__getitem__)
            hops = change.hops[name]
            for at, delta in sorted(change.deltas.pop(name).items()):
                self._write(Delta(name, at, delta), change, hops)
        self.buffer.settle()

    def _write(self, delta: Delta, change: Change, hops: int) -> None:
        late = self.logs.send.readers(delta.map, delta.at, delta.entries)
        self.logs.write.add(delta.map, delta.at, delta.entries)
        self.here.report(Wrote(delta))
        self.here.spend(self.case.costs.write_s * len(delta.entries))
        for reader, (concerned, below) in late.items():
            if reader == self.number:
                self.absorb(self.number, Delta(delta.map, delta.at, concerned), change, hops + 1)
            else:
                self.buffer.add(delta.map, reader, delta.at, concerned, hops + 1)
                self.here.report(Corrected(delta.map, delta.at, below, hops + 1))

    def absorb(self, sender: int, delta: Delta, change: Change, hops: int) -> None:
        """Steps 1 and 2: correct what has been received, and what has been computed from it."""

        def correct() -> None:
            self.logs.receive.correct(sender, delta.map, delta.at, delta.entries)

        self.here.spend(self.case.costs.correct_s * len(delta.entries))
        self.revalue(self.logs.operation.affected(delta.map, delta.at), correct, change, hops)

    def revalue(self, operations: list[Operation], action: Callable[[], None], change: Change, hops: int) -> None:
        """Do something to the ReceiveLog, and add to a change what evaluated operations write more or less by it."""
        before = [self.slices(o) for o in operations]
        action()
        for operation, old in zip(operations, before, strict=True):
            new = self.slices(operation)
            for i in range(len(new)):
                difference = dict(new[i])
                add_to(difference, {k: -u for k, u in old[i].items()})
                if difference:
                    # Reads before this one as they are now, those after it as they were: together the whole difference.
                    self.evaluate(operation, [*new[:i], difference, *old[i + 1 :]], change, hops)

    def slices(self, operation: Operation) -> list[Entries]:
        """What an operation's reads have, by now."""
        return [self.logs.receive.value(reference, below) for reference, below in operation.reads]

    def evaluate(self, operation: Operation, slices: list[Entries], change: Change, hops: int) -> None:
        """Add to a change what a statement writes here, given its slices."""
        statement = self.case.program.triggers[operation.trigger].statements[operation.at.statement]
        delta = contribution(self.case.program, statement, operation.arguments, slices)
        owner, layout = self.case.layout.owner, self.case.layout
        mine = {k: u for k, u in delta.items() if owner[layout.segment_of(statement.target, k)] == self.number}
        if mine:
            change.add(statement.target, operation.at, mine, hops)


# How a node comes to a consistent snapshot (semester paper, section 3.4).
#
# A node knows how far it has heard every switch; once all have ended an epoch, it lets its maps be **flushed**, sources before targets: a map is flushed up
# to a timestamp once everything up to there is processed, and all nodes that send deltas of its sources have flushed these. Then no delta of it
# follows up to there, and the nodes downstream are told. When all its maps are flushed, the node is READY, with the least of their timestamps. The least of
# all nodes' comes back with the COMMIT.
#
# The graph is the layout's: who *may* send whom a delta (the paper takes the one that the logs show). Timestamps may go beyond the epoch's end.


@dataclass(frozen=True)
class Late:
    """For those who watch: a message for what has been committed."""

    version: Version
    committed: Version
    kind: str


@dataclass(frozen=True)
class Flushed:
    """For those who watch: no delta of a map will come from a node, up to a timestamp."""

    epoch: int
    map: str
    through: Version


@dataclass(frozen=True)
class Grown:
    """For those who watch: by how much a node's logs have grown since the last commit, in an epoch."""

    epoch: int
    by: int


def switch_of(case: Case, number: int) -> int:
    """The switch to which a node reports, and that tells it of commits."""
    return case.layout.nodes.index(number) % case.coordinators


class NodeEpochs:
    """A node's part. ``unprocessed``: the first update that it is not done with; ``commit``: take the snapshot and truncate
    the logs; ``flush``: send the corrections of a map that are held back."""

    def __init__(
        self,
        here: Here,
        case: Case,
        number: int,
        dispatch: Dispatch,
        outbox: Outbox,
        unprocessed: Callable[[], Version | None],
        commit: Callable[[Version], Maps],
        flush: Callable[[str], None],
    ) -> None:
        self.here, self.case, self.number, self.dispatch = here, case, number, dispatch
        self.outbox, self.unprocessed, self.commit, self.flush = outbox, unprocessed, commit, flush
        #: All of a switch's messages up to here have come.
        self.heard = {s: Version(0, s, 0) for s in range(case.coordinators)}
        self.maps = [m for m in dispatch.order if number in dispatch.owners[m]]
        self.flushed: dict[str, Version] = {}
        self.upstream: dict[int, dict[tuple[str, int], Version]] = {}
        self.open = 0
        self.through = Version(-1, 0, 0)
        self.requested = -1
        self.kept = 0

    def heard_of(self, version: Version, message: Message) -> None:
        """A message about a timestamp: what comes before has come; of its own timestamp there may be more."""
        if isinstance(message, (Fetch, Put, Query)):
            before = Version(version.epoch, version.coordinator, version.sequence - 1)
            self.heard[version.coordinator] = max(self.heard[version.coordinator], before)
        if version <= self.through:
            self.here.report(Late(version, self.through, message.kind))

    def receive(self, message: Message, sender: str) -> None:
        """EPOCH END, a flush from upstream, or EPOCH COMMIT."""
        if isinstance(message, EpochEnd):
            switch = int(sender.removeprefix("coordinator "))
            self.heard[switch] = max(self.heard[switch], Version(message.epoch + 1, switch, 0))
        elif isinstance(message, Flush):
            self._flushed_upstream(message.epoch, int(sender.removeprefix("node ")), message.maps)
        else:
            assert isinstance(message, EpochCommit)
            if message.through > self.through:
                self.through = message.through
                maps = self.commit(message.through)
                segments: dict[Segment, Entries] = {s: {} for s in self.case.layout.owned_by(self.number)}
                for name, entries in maps.items():
                    for key, units in entries.items():
                        segments[self.case.layout.segment_of(name, key)][key] = units
                self.here.report(Committed(message.through, segments))

    def _flushed_upstream(self, epoch: int, sender: int, maps: tuple[tuple[str, Version], ...]) -> None:
        for name, through in maps:
            self.upstream.setdefault(epoch, {})[name, sender] = through

    def processed(self) -> Version:
        """The last processed timestamp: everything up to it has come, and is done."""
        through, first = min(self.heard.values()), self.unprocessed()
        if first is not None and first <= through:
            return Version(first.epoch, first.coordinator, first.sequence - 1)
        return through

    def advance(self) -> None:
        """Flush what can be flushed, and report when all is."""
        while self.open < self.case.epochs:
            processed = self.processed()
            if processed < Version(self.open + 1, 0, 0):
                return
            for name in self.maps:
                self._flush(name, processed)
            if len(self.flushed) < len(self.maps):
                return
            ready = EpochReady(self.open, min(self.flushed.values()))
            self.outbox.send(coordinator(switch_of(self.case, self.number)), ready)
            self.upstream.pop(self.open, None)
            self.flushed, self.open = {}, self.open + 1

    def _flush(self, name: str, processed: Version) -> None:
        """Flush a map, if its sources are."""
        if name in self.flushed:
            return
        known = self.upstream.get(self.open, {})
        wanted = self.dispatch.feeders.get((name, self.number), ())
        if any(w not in known for w in wanted):
            return
        self.flush(name)
        through = self.flushed[name] = min([processed, *(known[w] for w in wanted)])
        self.here.report(Flushed(self.open, name, through))
        for reader in self.dispatch.readers.get((name, self.number), ()):
            if reader == self.number:
                self._flushed_upstream(self.open, self.number, ((name, through),))
            else:
                self.outbox.send(node(reader), Flush(self.open, ((name, through),)))

    def watch_size(self, log_size: int) -> None:
        """Request the end of the epoch when the logs have grown by more than the limit since the last commit."""
        limit, epoch = self.case.options["log_limit"], max(heard.epoch for heard in self.heard.values())
        self.here.report(Grown(epoch, log_size - self.kept))
        if limit and log_size - self.kept > limit and self.requested < epoch < self.case.epochs:
            self.requested = epoch
            self.outbox.send(coordinator(switch_of(self.case, self.number)), EpochEndRequest(epoch))
