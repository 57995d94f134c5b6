"""Corrective updates (semester paper, section 3.3): what a write, or a correction of one, sets right elsewhere.

The three steps at the node that gets a correction: (1) the slices in the ReceiveLog above it grow by its delta; (2) the updates in the
OperationLog that have read one of them are looked at again, and the WriteLog's entries grow by *delta times what the other reads have*;
(3) for each of these the SendLog says who has read it too early, and is sent a correction in turn. Readers on the node itself are served
first, sources before targets, so that each of its maps is gone through once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from cumulus_ops.simulation.case import Case, Stamp, Version
from cumulus_ops.simulation.kernel import Here
from cumulus_ops.simulation.protocols.optimistic.buffer import CorrectionBuffer
from cumulus_ops.simulation.protocols.optimistic.dispatch import Dispatch
from cumulus_ops.simulation.protocols.optimistic.logs import Operation, OperationLog, ReceiveLog, SendLog, WriteLog
from cumulus_ops.simulation.protocols.optimistic.messages import Delta
from cumulus_ops.simulation.protocols.optimistic.outbox import Outbox
from cumulus_ops.simulation.store import Entries, add_to
from m3.statements import Key, contribution

__all__ = ["Change", "Corrected", "Corrections", "Logs", "Wrote"]


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
