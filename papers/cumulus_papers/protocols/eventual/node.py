"""A node: on an event, on Push (Cumulus paper, Figure 5), and what garbage collection asks of it (section 4.3).

Statements are computed at once from what is there, and what they give is sent as soon as possible. What a later push shows to have been wrong is corrected: the
affected entries of the history are computed anew, in the order of their versions, and the differences are sent.

The **history** is ``history[V o i] = {statement, parameters, delta}``. The delta is what has been sent so far. As printed, Push subtracts the delta that has just
arrived, and leaves the history as it is: the next push would correct twice. Here what has been sent is subtracted, and the new value is stored.

Map entries are lists of deltas, sorted by version (Figure 5: Push, and Cleanup).

>>> from cumulus_papers.case import BEGINNING
>>> m, one, two = Segment("m", ()), Stamp(Version(0, 0, 1), 0), Stamp(Version(0, 1, 1), 0)
>>> copies = Versioned({m: {}})
>>> copies.insert(m, two, {("a",): 5}); copies.insert(m, one, {("a",): 2})
>>> copies.below(m, two), copies.now(m)
({('a',): 2}, {('a',): 7})
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from operator import itemgetter

from cumulus_papers.case import BEGINNING, STATEMENTS, Case, Event, Stamp, Version, read_bound, reads_of
from cumulus_papers.kernel import Here, Message
from cumulus_papers.layout import Layout, Segment, Write, env_of
from cumulus_papers.protocols.eventual.coordinator import Checkpoints
from cumulus_papers.protocols.eventual.messages import (
    Changed,
    Commit,
    Completed,
    Confirmation,
    Delta,
    Due,
    EpochComplete,
    Flush,
    MapCheckpoint,
    Notify,
    PartialCheckpoint,
    Plan,
    Processed,
    Push,
    Pushed,
)
from cumulus_papers.run import Committed, Entries, add_to, beginning, cut, node
from m3.dataflow import depth, is_cyclic, strata
from m3.evaluate import Value
from m3.program import Program, Statement
from m3.statements import Key, contribution

__all__ = ["Entry", "History", "Node", "Outbox", "Versioned", "Want", "compute", "end_of", "minus", "periods"]


class Versioned:
    """Copies of segments.

    Args:
        start: segment -> its entries before the first event.
    """

    def __init__(self, start: Mapping[Segment, Mapping[Key, int]]) -> None:
        self.segments: dict[Segment, dict[Key, list[tuple[Stamp, int]]]] = {
            segment: {key: [(BEGINNING, units)] for key, units in entries.items()} for segment, entries in start.items()
        }

    def insert(self, segment: Segment, stamp: Stamp, delta: Mapping[Key, int]) -> None:
        """Insert a delta by its version; what one statement of one event sends later is added to what it sent before."""
        entries = self.segments[segment]
        for key, units in delta.items():
            deltas = entries.setdefault(key, [])
            i = bisect_left(deltas, stamp, key=itemgetter(0))
            if i < len(deltas) and deltas[i][0] == stamp:
                deltas[i] = stamp, deltas[i][1] + units
            else:
                deltas.insert(i, (stamp, units))

    def below(self, segment: Segment, bound: Stamp, path: Iterable[int] = (), key: Key = ()) -> Entries:
        """The entries that deltas with stamps below a bound (exclusive) sum up to, whose keys have certain values at the positions ``path``."""
        path, total = tuple(path), {}
        for k, deltas in self.segments[segment].items():
            if tuple(k[i] for i in path) == key:
                units = sum(units for stamp, units in deltas if stamp < bound)
                if units:
                    total[k] = units
        return total

    def now(self, segment: Segment) -> Entries:
        """The entries that all deltas sum up to."""
        sums = ((key, sum(units for _, units in deltas)) for key, deltas in self.segments[segment].items())
        return {key: units for key, units in sums if units}

    def cleanup(self, through: Version) -> None:
        """Replace the deltas of events up to a version (inclusive) by their sum. As printed the paper drops those below the version and sums
        those up to it, so that its own would count twice."""
        for entries in self.segments.values():
            for key in list(entries):
                deltas = entries[key]
                kept = [d for d in deltas if d[0].version > through]
                total = sum(units for stamp, units in deltas if stamp.version <= through)
                entries[key] = [(Stamp(through, STATEMENTS - 1), total), *kept] if total else kept
                if not entries[key]:
                    del entries[key]


@dataclass(frozen=True)
class Want:
    """What one read of a statement wants for an event: of these segments the entries whose keys have the values ``key`` at the positions
    ``path``, made up of writes with stamps below a bound (exclusive)."""

    segments: tuple[Segment, ...]
    path: tuple[int, ...]
    key: Key
    below: Stamp

    def concerns(self, stamp: Stamp, delta: Mapping[Key, int]) -> bool:
        """Whether a write of one of the segments is in what is read (section 4.2: an unfulfilled dependency, if it comes late)."""
        return stamp < self.below and any(tuple(k[i] for i in self.path) == self.key for k in delta)


@dataclass
class Entry:
    """One statement of one event at one node, which writes ``targets``. ``sent``: the sum of all deltas sent for it; None before the first."""

    stamp: Stamp
    statement: Statement
    env: Mapping[str, Value]
    wants: tuple[Want, ...]
    targets: frozenset[Segment]
    sent: Entries | None = None

    def difference(self, delta: Entries) -> Entries:
        """What has to be sent, so that what has been sent sums up to ``delta``."""
        return minus(delta, self.sent or {})

    def store(self, delta: Entries) -> None:
        """Remember what has been sent."""
        self.sent = delta


@dataclass
class History:
    """The entries by stamp, and by the segments they read."""

    entries: dict[Stamp, Entry] = field(default_factory=dict)
    readers: dict[Segment, list[Entry]] = field(default_factory=dict)

    def insert(self, entry: Entry) -> None:
        """An event's statement."""
        self.entries[entry.stamp] = entry
        for segment in dict.fromkeys(s for want in entry.wants for s in want.segments):
            self.readers.setdefault(segment, []).append(entry)

    def affected(self, segment: Segment, stamp: Stamp, delta: Mapping[Key, int]) -> Iterator[Stamp]:
        """The later entries that read what a write has changed."""
        for entry in self.readers.get(segment, ()):
            if any(segment in want.segments and want.concerns(stamp, delta) for want in entry.wants):
                yield entry.stamp

    def cleanup(self, through: Version) -> None:
        """Forget the events up to a version (inclusive)."""
        self.entries = {s: e for s, e in self.entries.items() if s.version > through}
        readers = {s: [e for e in entries if e.stamp.version > through] for s, entries in self.readers.items()}
        self.readers = {s: entries for s, entries in readers.items() if entries}


def compute(program: Program, layout: Layout, entry: Entry, copies: Versioned) -> Entries:
    """What a statement contributes to its targets for an event, from the copies as they are, without what is later in the order."""
    slices: list[Entries] = []
    for want in entry.wants:
        gathered: Entries = {}
        for segment in want.segments:
            gathered.update(copies.below(segment, want.below, want.path, want.key))
        slices.append(gathered)
    delta = contribution(program, entry.statement, dict(entry.env), slices)
    target = entry.statement.target
    return {key: units for key, units in delta.items() if layout.segment_of(target, key) in entry.targets}


def minus(delta: Mapping[Key, int], other: Mapping[Key, int]) -> Entries:
    """The difference of two deltas, without zeros.

    >>> minus({("a",): 3, ("b",): 1}, {("a",): 1, ("b",): 1})
    {('a',): 2}
    """
    keys = dict.fromkeys((*delta, *other))
    return {key: units for key in keys if (units := delta.get(key, 0) - other.get(key, 0))}


# What a node has to send, for a short while: the buffer period (Cumulus paper, section 4.1), in which deltas of one write become one (4.2).
#
# Without a buffer period all that a node makes of one message goes out when it is done with that message.


#: (Receiver, period in seconds).
Buffer = tuple[int, float]


def periods(case: Case) -> dict[str, float]:
    """Map -> for how long its deltas are buffered, in seconds. With intelligent buffering (section 6) longer further down the dataflow: in
    proportion to one more than the map's depth, and on average over the maps as long as without. Maps of cycles have a least period of their own
    (``cycle_buffer_s``): without any, each of n events that are ahead of a cascade is corrected along every path through the events
    before it, by 2 to the n messages; what is buffered and aggregated for a while is one delta per event and period (section 4.2)."""
    program, buffer_s, levels = case.program, case.options["buffer_s"], depth(case.program)
    mean = sum(level + 1 for level in levels.values()) / len(levels)
    scale = {name: (level + 1) / mean if case.options["intelligent"] else 1.0 for name, level in levels.items()}
    cyclic = {name for group in strata(program) if is_cyclic(program, group) for name in group}
    least = case.options["cycle_buffer_s"]
    return {name: max(buffer_s * scale[name], least if name in cyclic else 0.0) for name in levels}


class Outbox:
    """The buffers of a node. ``sending`` is told of each delta as it goes out."""

    def __init__(self, here: Here, case: Case, sending: Callable[[int, Delta], None]) -> None:
        self.here, self.coalesce, self.sending = here, case.options["coalesce"], sending
        self.periods = periods(case)
        self.buffers: dict[Buffer, list[Delta]] = {}

    def add(self, receiver: int, delta: Delta) -> None:
        """Send a delta, when its time has come."""
        buffer = receiver, self.periods[delta.segment.map]
        if buffer not in self.buffers:
            self.buffers[buffer] = []
            if buffer[1]:
                self.here.after(buffer[1], Flush(*buffer))
        waiting = self.buffers[buffer]
        for i, other in enumerate(waiting):
            if (other.stamp, other.segment) == (delta.stamp, delta.segment):
                waiting[i] = merge(other, delta)
                return
        waiting.append(delta)

    def flush(self, buffer: Buffer) -> None:
        """Send what is in a buffer."""
        deltas = [d for d in self.buffers.pop(buffer, ()) if d.entries]
        for delta in deltas:
            self.sending(buffer[0], delta)
        for message in self._messages(deltas):
            self.here.send(node(buffer[0]), message)

    def _messages(self, deltas: list[Delta]) -> list[Push]:
        """One for all, one for each event's, or one for each delta."""
        if self.coalesce == "off":
            return [Push((d,)) for d in deltas]
        groups: dict[Version | None, list[Delta]] = {}
        for delta in deltas:
            groups.setdefault(delta.stamp.version if self.coalesce == "event" else None, []).append(delta)
        return [Push(tuple(group)) for group in groups.values()]

    def flush_map(self, name: str) -> None:
        """Send all that may have deltas of a map: a checkpoint follows."""
        for buffer in [b for b in self.buffers if b[1] == self.periods[name]]:
            self.flush(buffer)

    def end_of_turn(self) -> None:
        """Send what is not to be buffered."""
        for buffer in [b for b in self.buffers if not b[1]]:
            self.flush(buffer)


def merge(one: Delta, other: Delta) -> Delta:
    """Two deltas of one write as one."""
    entries = dict(one.entries)
    add_to(entries, other.entries)
    return Delta(one.stamp, one.segment, entries, max(one.cascade, other.cascade))


def end_of(epoch: int) -> Version:
    """Above all versions of an epoch, and below those of the next."""
    return Version(epoch, 1 << 30, 0)


def held_back(case: Case) -> dict[str, float]:
    """Map -> for how long the statements that write it are held back, in seconds. Both are ideas of the semester paper (section 6): to wait, for as
    long as messages travel, for events with lower timestamps ("Timing assumptions"); and to postpone reads to a later round than the writes
    that they depend on ("Rounds"), here by one round for each level of the dataflow."""
    wait_s, round_s = case.options["wait_s"], case.options["round_s"]
    return {name: wait_s + round_s * level for name, level in depth(case.program).items()}


class Node:
    """Holds copies of segments, and has the history of the statements it processes."""

    def __init__(self, here: Here, case: Case, number: int, plan: Plan) -> None:
        self.here, self.case, self.number, self.plan = here, case, number, plan
        start = beginning(case)
        self.copies = Versioned({s: start[s] for s in plan.held_by(number)})
        self.mine = frozenset(plan.processed_by(number))
        self.history = History()
        self.checkpoints = Checkpoints(here, number, plan, self._flush_map, self._cleanup)
        self.outbox = Outbox(here, case, self.checkpoints.sending)
        #: Map -> for how long its statements are held back; and those that are.
        self.hold_s = held_back(case)
        self.held: dict[Stamp, Entry] = {}
        #: Stamps of entries to be computed, and why: (how many corrections came before, the write that came late).
        self.due: list[Stamp] = []
        self.why: dict[Stamp, tuple[int, Stamp | None]] = {}

    def receive(self, message: Message, sender: str) -> None:
        """An event, deltas, or garbage collection's messages."""
        match message:
            case Notify(event):
                self._event(event)
            case Push(deltas):
                for delta in deltas:
                    self.checkpoints.receiving(delta)
                    self._insert(delta)
                self._settle()
            case Flush(receiver, period_s):
                self.outbox.flush((receiver, period_s))
            case Due(stamp):
                self._release([stamp])
            case Commit(epoch):
                self._release([stamp for stamp in self.held if stamp.version.epoch <= epoch])
                # All that this coordinator sent before has been received, processed, and is in the history.
                self.here.send(sender, Confirmation(epoch))
            case EpochComplete(epoch):
                self.here.report(Completed(epoch))
                self.checkpoints.complete(epoch)
            case MapCheckpoint(epoch, maps):
                self.checkpoints.received(sender, epoch, maps)
            case PartialCheckpoint():
                self.checkpoints.partial(message)
        self.outbox.end_of_turn()

    def _event(self, event: Event) -> None:
        """Figure 5, ON Event."""
        table = self.plan.tables.of(event.relation, event.sign)
        self.here.report(Processed(event.version))
        if table is None:
            return
        env = env_of(table.trigger, event.row)
        writes: dict[int, list[Write]] = {}
        ready: list[Stamp] = []
        for write in table.directive(table.class_of(env)).writes:
            if write.target in self.mine:
                writes.setdefault(write.statement, []).append(write)
        for index, of_statement in writes.items():
            env = env_of(table.trigger, event.row)
            wants = []
            for read in reads_of(table.trigger, index):
                segments = dict.fromkeys(r.source for w in of_statement for r in w.reads if r.read == read.number)
                below = read_bound(self.case.program, event.version, index, read.slice.after)
                wants.append(Want(tuple(segments), read.slice.path, read.slice.bound(env), below))
            targets = frozenset(w.target for w in of_statement)
            entry = Entry(Stamp(event.version, index), table.trigger.statements[index], env, tuple(wants), targets)
            self.held[entry.stamp] = entry
            hold_s = self.hold_s[entry.statement.target]
            if hold_s:
                self.here.after(hold_s, Due(entry.stamp))
            else:
                ready.append(entry.stamp)
        self._release(ready)

    def _release(self, stamps: Iterable[Stamp]) -> None:
        """Compute what has been held back for long enough."""
        for stamp in stamps:
            entry = self.held.pop(stamp, None)
            if entry is not None:
                self.history.insert(entry)
                self._now_due(stamp, 0, None)
        self._settle()

    def _insert(self, delta: Delta) -> None:
        self.here.spend(self.case.costs.write_s * len(delta.entries))
        self.copies.insert(delta.segment, delta.stamp, delta.entries)
        self.here.report(Changed(delta.stamp, delta.segment))
        for stamp in self.history.affected(delta.segment, delta.stamp, delta.entries):
            self._now_due(stamp, delta.cascade + 1, delta.stamp)

    def _now_due(self, stamp: Stamp, cascade: int, cause: Stamp | None) -> None:
        if stamp not in self.why:
            heappush(self.due, stamp)
            self.why[stamp] = cascade, cause
        elif cascade > self.why[stamp][0] and self.history.entries[stamp].sent is not None:
            self.why[stamp] = cascade, cause

    def _settle(self) -> None:
        """Compute what is due, first what is earlier in the order."""
        while self.due:
            stamp = heappop(self.due)
            self._compute(self.history.entries[stamp], *self.why.pop(stamp))

    def _compute(self, entry: Entry, cascade: int, cause: Stamp | None) -> None:
        delta = compute(self.case.program, self.case.layout, entry, self.copies)
        new = entry.difference(delta)
        entry.store(delta)
        costs = self.case.costs
        self.here.spend((costs.correct_s if cascade else costs.read_s) * (1 + len(delta)))
        if new:
            self.here.report(Pushed(entry.stamp, entry.statement.target, new, cascade, cause))
        for segment, entries in cut(self.case.layout, entry.statement.target, new).items():
            self._send(Delta(entry.stamp, segment, entries, cascade))

    def _send(self, delta: Delta) -> None:
        """To all who hold the segment; what stays here is known at once."""
        for holder in self.plan.holders[delta.segment]:
            if holder == self.number:
                self._insert(delta)
            else:
                self.outbox.add(holder, delta)

    def _flush_map(self, name: str) -> None:
        self.outbox.flush_map(name)

    def _cleanup(self, epoch: int) -> None:
        """Figure 5, Cleanup, at the node's checkpoint of an epoch: what is left of the epoch is the snapshot."""
        through = end_of(epoch)
        self.copies.cleanup(through)
        self.history.cleanup(through)
        everything = Stamp(through, STATEMENTS)
        mine = self.case.layout.owned_by(self.number)
        self.here.report(Committed(through, {s: self.copies.below(s, everything) for s in mine}))

    def owned(self) -> dict[Segment, Entries]:
        """The node's own segments as they are now, tentative entries included."""
        return {s: self.copies.now(s) for s in self.case.layout.owned_by(self.number)}
