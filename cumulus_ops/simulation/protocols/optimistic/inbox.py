"""The buffer of a node (semester paper, sections 3.2 and 3.3): messages of all kinds in the order of their timestamps.

A PUT that waits for PUSHes holds back everything with a later timestamp; with the option ``bypass`` (section 3.5) PUSH, FETCH and corrections overtake
it, unless they are about a map that it writes. Without PUTs nobody knows what to wait for, and nothing waits.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

from cumulus_ops.simulation.case import Case, Version
from cumulus_ops.simulation.kernel import Message
from cumulus_ops.simulation.protocols.optimistic.dispatch import Dispatch
from cumulus_ops.simulation.protocols.optimistic.logs import OperationLog
from cumulus_ops.simulation.protocols.optimistic.messages import Corrective, Fetch, Push, Put, Query

__all__ = ["Inbox", "Waiting"]

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
