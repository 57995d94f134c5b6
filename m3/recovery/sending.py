"""Holding and sending: the half of a node that its children see (thesis, 3.1.2, 3.2.1, 3.2.3; what is no longer needed: decision 73).

What a node makes is logged, and sent to each child from there: at once, or, to a child that failed, when it is resumed. Nothing is sent twice. Beside
what it makes a node tells what it did and heard (``since``), how far a child got nothing (:class:`Mark`), and what will never be asked for again
(``horizons``), by which all logs are cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from m3.recovery.clock import Clock, zero_clock
from m3.recovery.graph import Flow, ancestors
from m3.recovery.hosting import Operator
from m3.recovery.logs import DiffLog, PayloadLog
from m3.recovery.messages import Data, Hold, Mark, NodeMessage, Resume

__all__ = ["Horizons", "Outlet", "Sender"]

#: Times that nodes will never be replayed from before.
Horizons = tuple[tuple[str, int], ...]
#: An input's name: the parent, and its time there.
Origin = tuple[str, int]


@dataclass
class Outlet:
    """The way to a child.

    ``sent``: up to which time everything was sent; ``stable``: up to which nothing will be asked for again; ``has``: after this node's restart,
    what the child had (an input that it descends from has reached it); ``carried``: how much of the journal was sent; ``marked``: the last time
    and horizons that were told; ``held``: the child failed, and was not resumed.
    """

    sent: int = 0
    stable: int = 0
    has: Clock | None = None
    carried: int = 0
    marked: tuple[int, Horizons] | None = None
    held: bool = False

    def had(self, parent: str, time: int) -> bool:
        """Whether the child got what is made of an input before the node was restarted (3.2.3)."""
        return self.has is not None and time <= self.has.time_of(parent)


class Sender:
    """What a node keeps for its children and sends them."""

    def __init__(
        self, name: str, flow: Flow, operator: Operator, tolerance: int, life: int, lives: Mapping[str, int]
    ) -> None:
        self.name, self.flow, self.operator, self.tolerance = name, flow, operator, tolerance
        self.parents, self.children = flow.parents[name], flow.children[name]
        self.life, self.lives = life, dict(lives)
        #: Whether messages carry all diffs since the last to the same child.
        self.complete = tolerance > 1 or operator.stateful or operator.commutes
        #: Nodes before this one whose diffs its children have to know, too: so that there is somebody who knows when this node is lost with them.
        self.carries = ancestors(flow, name, tolerance - 1)
        self.clock = zero_clock(flow, name, tolerance + 2)
        self.checkpointed = 0
        self.payloads = PayloadLog()
        self.diffs = DiffLog(roots=frozenset({name}) | ancestors(flow, name, tolerance))
        self.horizons: dict[str, int] = {}
        self.outlets = {child: Outlet() for child in self.children}
        #: Diffs to be carried.
        self.journal: list[Clock] = []
        #: Where inputs commute, after a restart: the known times at which something is still to be made.
        self.owed: dict[Origin, int] = {}

    def note(self, diff: Clock, *, carry: bool) -> None:
        """Log a diff, and carry it to the children, if it says anything new."""
        if self.diffs.note(diff) and carry:
            self.journal.append(diff)

    # --- what was made ---------------------------------------------------------------------------------------------------------

    def send(self, child: str) -> list[NodeMessage]:
        """Send what is logged for a child and was not sent."""
        to = self.outlets[child]
        if to.held:
            return []
        sent: list[NodeMessage] = []
        for output in list(self.payloads.after(to.sent, child)):
            if any(to.sent < time < output.time for time in self.owed.values()):
                break  # what is still owed comes first
            since = self._since(to, leave_out=output.diff)
            diff = output.diff.cut(self.tolerance + 1)
            sent.append(Data(self.name, child, self._lives(child), diff, output.payloads[child], since, self._told()))
            to.sent = output.time
            to.marked = (output.time, self._told())
        return sent

    def _lives(self, child: str) -> tuple[int, int]:
        return self.life, self.lives[child]

    def _since(self, to: Outlet, leave_out: Clock | None = None) -> tuple[Clock, ...]:
        """The diffs to carry to a child: those since the last message to it, as its clock goes."""
        fresh, to.carried = self.journal[to.carried :], len(self.journal)
        return tuple(diff.cut(self.tolerance + 1) for diff in fresh if diff is not leave_out)

    # --- that nothing was made -------------------------------------------------------------------------------------------------

    def mark(self, child: str, *, resumed: bool = False) -> Mark:
        """Tell a child that nothing up to now was for it, or that it has it; with the diff of now, and what else is new."""
        to = self.outlets[child]
        last = self.diffs.at(self.name, self.clock.time)
        now = (last.cut(self.tolerance + 1),) if last else ()
        since = tuple(dict.fromkeys((*self._since(to), *now)))
        to.marked = (self.clock.time, self._told())
        lives = self._lives(child)
        return Mark(self.name, child, lives, self.clock.time, since, self._told(), resumed=resumed)

    def marks(self) -> list[NodeMessage]:
        """Marks for those who have not heard of this node for a while."""
        return [
            self.mark(child)
            for child, to in self.outlets.items()
            if not to.held and to.marked != (self.clock.time, self._told())
        ]

    # --- to a child that failed (3.2.1, 3.2.2) ---------------------------------------------------------------------------------

    def hold(self, order: Hold) -> None:
        """Send nothing to a child that failed, until it is resumed."""
        self.outlets[order.child].held = True
        self.lives[order.child] = order.life

    def resume(self, order: Resume, *, replaying: bool) -> list[NodeMessage]:
        """Send to a restarted child what comes after a time; first all that is known of what this node did, for the child has lost it."""
        to = self.outlets[order.child]
        to.held, to.sent = False, order.after
        self.lives[order.child] = order.life
        return [self.knowledge(order.child, replaying=replaying), *self.send(order.child)]

    def knowledge(self, child: str, *, replaying: bool) -> Mark:
        """All that this node knows of what it did, and of those before it. While it is replayed itself, it may hear more."""
        to = self.outlets[child]
        roots = (self.name, *sorted(self.carries))
        known = tuple(diff.cut(self.tolerance + 1) for root in roots for diff in self.diffs.rooted(root))
        to.carried = len(self.journal)
        passed = max(to.sent, to.stable)
        to.marked = (passed, self._told())  # what it was told in a former life it has lost
        clock = Clock(self.name, passed, tuple(self._passed(parent, passed, child) for parent in self.parents))
        return Mark(self.name, child, self._lives(child), passed, known, self._told(), clock, resumed=not replaying)

    def _passed(self, parent: str, time: int, child: str) -> Clock:
        """The last input of a parent up to which all that was made for a child has at most this time."""
        later = (output.diff.origin for output in self.payloads.after(time, child))
        first = min((o[1] for o in later if o and o[0] == parent), default=None)
        return Clock(parent, self.clock.time_of(parent) if first is None else first - 1)

    # --- what is no longer needed (decision 73) --------------------------------------------------------------------------------

    @property
    def horizon(self) -> int:
        """The time that this node will never be replayed from before."""
        return self.checkpointed if self.operator.stateful else min(to.stable for to in self.outlets.values())

    def _told(self) -> Horizons:
        before = ((node, time) for node, time in sorted(self.horizons.items()) if node in self.carries)
        return ((self.name, self.horizon), *before)

    def hear_horizons(self, horizons: Horizons) -> None:
        """Cut off what is known of nodes that will not be replayed from before."""
        for node, time in horizons:
            if self.horizons.get(node, 0) < time:
                self.horizons[node] = time
                self.diffs.truncate(node, time)

    def take_stable(self, child: str, time: int) -> None:
        """A child will never ask again for what is up to a time."""
        to = self.outlets[child]
        to.stable = max(to.stable, time)
        self.truncate()

    def truncate(self) -> None:
        """Cut off what nobody will ask for again: payloads, and diffs up to this node's horizon."""
        for child, to in self.outlets.items():
            self.payloads.truncate(child, to.stable)
        self.payloads.forget_empty(min((self.horizon, *(to.stable for to in self.outlets.values()))))
        self.diffs.truncate(self.name, self.horizon)

    def forget_carried(self) -> None:
        """Cut off the journal of what all children were sent; one that is held will be told all anyway."""
        done = min((to.carried for to in self.outlets.values() if not to.held), default=len(self.journal))
        del self.journal[:done]
        for to in self.outlets.values():
            to.carried = max(0, to.carried - done)
