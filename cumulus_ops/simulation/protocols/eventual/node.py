"""A node: on an event, on Push (Cumulus paper, Figure 5), and what garbage collection asks of it (section 4.3).

Statements are computed at once from what is there, and what they give is sent as soon as possible. What a later push shows to have been wrong is corrected: the
affected entries of the history are computed anew, in the order of their versions, and the differences are sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from cumulus_ops.simulation.case import STATEMENTS, Case, Event, Stamp, Version, env_of, read_bound, reads_of
from cumulus_ops.simulation.judge import Committed
from cumulus_ops.simulation.kernel import Here, Message
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.protocols.eventual.checkpoint import Checkpoints
from cumulus_ops.simulation.protocols.eventual.history import Entry, History, Want, compute
from cumulus_ops.simulation.protocols.eventual.messages import (
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
    Processed,
    Push,
    Pushed,
)
from cumulus_ops.simulation.protocols.eventual.outbox import Outbox
from cumulus_ops.simulation.protocols.eventual.plan import Plan
from cumulus_ops.simulation.protocols.eventual.versioned import Versioned
from cumulus_ops.simulation.store import Entries, beginning, cut
from cumulus_ops.simulation.tables import Write
from m3.dataflow import depth
from m3.program import Trigger

__all__ = ["Node", "end_of"]


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
                self._push(deltas)
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
            entry = self._entry(event, table.trigger, index, of_statement)
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

    def _entry(self, event: Event, trigger: Trigger, index: int, writes: list[Write]) -> Entry:
        env = env_of(trigger, event.row)
        wants = []
        for read in reads_of(trigger, index):
            segments = dict.fromkeys(r.source for w in writes for r in w.reads if r.read == read.number)
            below = read_bound(self.case.program, event.version, index, read.slice.after)
            wants.append(Want(tuple(segments), read.slice.path, read.slice.bound(env), below))
        targets = frozenset(w.target for w in writes)
        return Entry(Stamp(event.version, index), trigger.statements[index], env, tuple(wants), targets)

    def _push(self, deltas: tuple[Delta, ...]) -> None:
        """Figure 5, ON Push."""
        for delta in deltas:
            self.checkpoints.receiving(delta)
            self._insert(delta)
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
