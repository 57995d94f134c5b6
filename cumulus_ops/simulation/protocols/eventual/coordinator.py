"""A coordinator: versions, the dispatch table, epoch staggering, and the first phase of garbage collection (Cumulus paper, sections 4.1 to 4.3).

**Staggering.** Each epoch is divided into as many periods as there are coordinators. Only the coordinator with the token may switch epochs: it waits for the
duration of one period, switches, and passes the token on. The highest priority moves first: three coordinators are in the order 012, then 120, 201, and
012 again, so each has every place in turn. (Read literally, "the next higher priority coordinator" leaves the order 012 for good.) Aligned
epochs, to compare with: each coordinator has a token of its own, and a period is an epoch; ``skew_s`` is by how much
each one's clock is behind that of the one before it.

**Collection.** When a coordinator leaves an epoch it asks all nodes that it has sent events to since the last collection for confirmation. When all have
confirmed it broadcasts *epoch complete*; and when all coordinators have, each tells its share of the nodes. Epochs are completed in order: the
list of a later epoch may be shorter, and its confirmations sooner there, while an earlier epoch's are still under way (the paper leaves this open).
"""

from __future__ import annotations

from cumulus_ops.simulation.case import Arrival, Case, Event, Version, env_of
from cumulus_ops.simulation.judge import Stamped
from cumulus_ops.simulation.kernel import Here, Message
from cumulus_ops.simulation.protocols.eventual.messages import (
    Commit,
    Confirmation,
    Dispatched,
    EpochComplete,
    Notify,
    Period,
    Switched,
    Token,
)
from cumulus_ops.simulation.protocols.eventual.plan import Plan
from cumulus_ops.simulation.run import coordinator, node

__all__ = ["Coordinator", "collected"]


def collected(case: Case) -> tuple[int, ...]:
    """The epochs at whose end garbage is collected: every so many, and the last."""
    every = case.options["collect_every"]
    return tuple(e for e in range(case.epochs) if (e + 1) % every == 0 or e == case.epochs - 1)


class Coordinator:
    """Stamps events, and sends them to the nodes that are required to process them."""

    def __init__(self, here: Here, case: Case, number: int, plan: Plan) -> None:
        self.here, self.case, self.number, self.plan = here, case, number, plan
        self.epoch = self.sequence = 0
        self.staggered = case.options["epochs"] == "staggered"
        self.collected = collected(case)
        #: The nodes that events went to since the last collection.
        self.sent_to: set[int] = set()
        #: Epoch that is being collected -> the nodes that have not confirmed it.
        self.unconfirmed: dict[int, set[str]] = {}
        #: Epoch -> the coordinators that have completed it.
        self.complete: dict[int, set[str]] = {}

    def receive(self, message: Message, sender: str) -> None:
        """An event from outside, the token, or collection's answers."""
        match message:
            case Arrival():
                self._event(message)
            case Token():
                self._token()
            case Period():
                self._switch()
            case Confirmation(epoch):
                self.unconfirmed[epoch].discard(sender)
                self._complete()
            case EpochComplete(epoch):
                self._completed(epoch, sender)

    def _event(self, arrival: Arrival) -> None:
        self.sequence += 1
        version = Version(self.epoch, self.number, self.sequence)
        event = Event(version, arrival.sign, arrival.relation, arrival.row)
        self.here.report(Stamped(event))
        nodes = self._nodes(event)
        self.here.report(Dispatched(version, nodes))
        self.sent_to.update(nodes)
        for n in nodes:
            self.here.send(node(n), Notify(event))

    def _nodes(self, event: Event) -> tuple[int, ...]:
        """Whom the dispatch table names for an event; without it everybody."""
        if not self.case.options["dispatch"]:
            return self.case.layout.nodes
        table = self.plan.tables.of(event.relation, event.sign)
        return self.plan.dispatch(table, table.class_of(env_of(table.trigger, event.row))) if table else ()

    def _token(self) -> None:
        """Wait for the duration of one period; after the last epoch the token stays here."""
        if self.epoch < self.case.epochs:
            periods = self.case.coordinators if self.staggered else 1
            self.here.after(self.case.epoch_s / periods + self._late_s(), Period(), background=True)

    def _late_s(self) -> float:
        """By how much this coordinator's clock is behind that of the one before it, once, where nobody passes it a token."""
        first = self.epoch == 0 and not self.staggered
        return self.case.options["skew_s"] * self.number if first else 0.0

    def _switch(self) -> None:
        left = self.epoch
        self.epoch, self.sequence = left + 1, 0
        self.here.report(Switched(self.epoch))
        self.here.send(
            coordinator((self.number + 1) % self.case.coordinators if self.staggered else self.number), Token()
        )
        if left in self.collected:
            self._collect(left)

    def _collect(self, epoch: int) -> None:
        """Ask for confirmations; then go on as usual."""
        self.unconfirmed[epoch] = set(map(node, self.sent_to))
        for n in sorted(self.sent_to):
            self.here.send(node(n), Commit(epoch))
        self.sent_to.clear()
        self._complete()

    def _complete(self) -> None:
        """Broadcast for each epoch that all nodes have confirmed, in order."""
        while self.unconfirmed and not self.unconfirmed[min(self.unconfirmed)]:
            epoch = min(self.unconfirmed)
            del self.unconfirmed[epoch]
            for i in range(self.case.coordinators):
                if i != self.number:
                    self.here.send(coordinator(i), EpochComplete(epoch))
            self._completed(epoch, self.here.name)

    def _completed(self, epoch: int, by: str) -> None:
        """When all coordinators have: tell this coordinator's share of the nodes."""
        self.complete.setdefault(epoch, set()).add(by)
        if len(self.complete[epoch]) == self.case.coordinators:
            for n in self.case.layout.nodes[self.number :: self.case.coordinators]:
                self.here.send(node(n), EpochComplete(epoch))
