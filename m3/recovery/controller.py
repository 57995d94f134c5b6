"""Who has failed, and who tells whom what then: the controller (thesis, 3.2.1 and 3.2.2).

It works when something fails, and with its neighbourhood only. For each failed node: parents are told to hold what they have for it (:class:`Hold`);
when all its children live, they are asked (:class:`Ask`); what they report starts it (:class:`Start`); when it has set its clock (:class:`Started`), its parents send
again (:class:`Resume`).

**Several at once, and failures during a recovery** (decision 73). A node is started when none of its children is lost, so of nodes that send to
each other the last is first; started, it answers for its children as any child does, and what it needs is what the next one is asked for. So a failure during a
recovery is one more failed node: what it had reported is forgotten, and those that wait for it wait for its next life.

>>> from m3.recovery.graph import flow_of
>>> controller = Controller(flow_of([("A", "B"), ("B", "C"), ("C", "D")]), tolerance=2)
>>> for order in controller.failed(["B", "C"]): print(order)
Hold(node='A', child='B', life=2)
Ask(node='D', about='C', life=2)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from m3.recovery.clock import Clock
from m3.recovery.graph import Flow, RecoveryError, longest_chain
from m3.recovery.messages import Ask, Hold, Recovered, Report, Resume, Start, Started

__all__ = ["Controller", "Heartbeats", "Order", "resume_points", "rollback_clock"]

Order = Hold | Ask | Start | Resume


def rollback_clock(zero: Clock, reports: Collection[Report], at: int | None = None) -> Clock:
    """T*: the clock that a restarted node begins with (3.2.2, step 1).

    All diffs up to a time, applied to a clock of zeros. It need not be one that the node ever had: what no child has received has no effect.

    Args:
        zero: the restarted node's clock at the beginning.
        reports: its children's.
        at: the time; if not given, the least time of the node in its children's clocks: what all have received that they should have.
    """
    at = min(report.has.time for report in reports) if at is None else at
    clock = zero
    for report in reports:
        for known in (*report.folded, *report.known):
            if known.node == zero.node and known.time <= at:
                clock = clock.apply(known)
    return Clock(clock.node, at, clock.below)


def resume_points(clock: Clock, reports: Collection[Report]) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """From which time on the node sends to each child, and each parent to the node (3.2.2, steps 2 and 3)."""
    return {report.node: 1 + report.has.time for report in reports}, {c.node: 1 + c.time for c in clock.below}


@dataclass
class Heartbeats:
    """Signs of life. A node is taken for dead when none has come for a while (3.2.1); what it still sends then is not taken (its life is over).
    The while has to be longer than any replay, or signs of life have to come beside the work: else a replay is begun again and again."""

    timeout_s: float
    last_s: dict[str, float] = field(default_factory=dict)

    def beat(self, node: str, now_s: float) -> None:
        """A node lives."""
        self.last_s[node] = now_s

    def silent(self, now_s: float) -> list[str]:
        """The nodes of which nothing was heard for too long; they are no longer watched until they beat again."""
        dead = sorted(node for node, last in self.last_s.items() if now_s - last > self.timeout_s)
        for node in dead:
            del self.last_s[node]
        return dead


@dataclass
class Controller:
    """Recoveries under way. ``tolerance``: how many nodes, each sending to the next, may be lost at once."""

    flow: Flow
    tolerance: int = 1
    lives: dict[str, int] = field(default_factory=dict)
    #: Failed and not started, with the reports that have come.
    lost: dict[str, dict[str, Report]] = field(default_factory=dict)
    #: Started and not recovered, failed again or not.
    replaying: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.lives = dict.fromkeys(self.flow.order, 1) | self.lives

    def failed(self, nodes: Collection[str]) -> list[Order]:
        """Nodes have failed, or are taken for dead.

        Raises:
            RecoveryError: more nodes in a row are not recovered than the tolerance covers: what they did is known to nobody, and only a rollback
                of all to a common checkpoint is left.
        """
        chain = longest_chain(self.flow, {*self.lost, *self.replaying, *nodes})
        if len(chain) > self.tolerance:
            raise RecoveryError(
                f"{' -> '.join(chain)} are lost at once, and diffs travel far enough for {self.tolerance} in a row",
                kind="lost-lineage",
                hint="roll all back to a checkpoint; a higher tolerance makes clocks longer",
            )
        orders: list[Order] = []
        for node in sorted(nodes, key=self.flow.place.__getitem__):
            self.lives[node] += 1
            self.lost[node] = {}
            self.asked.discard(node)
            for reports in self.lost.values():
                reports.pop(node, None)
        for node in sorted(nodes, key=self.flow.place.__getitem__):
            holders = (parent for parent in self.flow.parents[node] if parent not in self.lost)
            orders += [Hold(parent, node, self.lives[node]) for parent in holders]
            # Those above that were being asked have to hear of this node's next life before they may start.
            self.asked -= {parent for parent in self.flow.parents[node] if parent in self.lost}
        return orders + self._go_on()

    def receive(self, message: Report | Started | Recovered) -> list[Order]:
        """A node has answered. What a former life says is not heard."""
        if isinstance(message, Report):
            return self._take_report(message)
        if message.life != self.lives[message.node]:
            return []
        if isinstance(message, Started):
            node = message.node
            parents = (parent for parent in self.flow.parents[node] if parent not in self.lost)
            return [Resume(p, node, message.life, message.clock.time_of(p)) for p in parents]
        self.replaying.discard(message.node)
        return []

    def _take_report(self, report: Report) -> list[Order]:
        node = report.about
        if node not in self.lost or report.life != self.lives[node]:
            return []
        if report.own_life != self.lives[report.node]:
            return []  # what it had then is gone
        self.lost[node][report.node] = report
        return self._go_on()

    def _go_on(self) -> list[Order]:
        """Ask, or start, every lost node whose children all live."""
        orders: list[Order] = []
        for node in sorted(self.lost, key=self.flow.place.__getitem__, reverse=True):
            children = self.flow.children[node]
            if any(child in self.lost for child in children):
                continue
            reports = self.lost[node]
            if len(reports) == len(children):
                orders.append(self._start(node, reports))
            elif node not in self.asked:
                self.asked.add(node)
                orders += [Ask(child, node, self.lives[node]) for child in children if child not in reports]
        return orders

    def _start(self, node: str, reports: Mapping[str, Report]) -> Start:
        del self.lost[node]
        self.replaying.add(node)
        near = (node, *self.flow.parents[node], *self.flow.children[node])
        return Start(node, {n: self.lives[n] for n in near}, tuple(reports[c] for c in sorted(reports)))
