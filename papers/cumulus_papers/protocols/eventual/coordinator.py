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

from collections import Counter
from collections.abc import Callable

from cumulus_papers.case import Arrival, Case, Event, Version
from cumulus_papers.kernel import Here, Message
from cumulus_papers.layout import env_of
from cumulus_papers.protocols.eventual.messages import (
    Commit,
    Confirmation,
    Cycle,
    Delta,
    Dispatched,
    EpochComplete,
    MapCheckpoint,
    Notify,
    PartialCheckpoint,
    Period,
    Plan,
    Switched,
    Token,
)
from cumulus_papers.run import Stamped, coordinator, node
from m3.dataflow import strata

__all__ = ["Checkpoints", "Coordinator", "CycleState", "collected"]


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
                self.sequence += 1
                version = Version(self.epoch, self.number, self.sequence)
                event = Event(version, message.sign, message.relation, message.row)
                self.here.report(Stamped(event))
                nodes = self._nodes(event)
                self.here.report(Dispatched(version, nodes))
                self.sent_to.update(nodes)
                for n in nodes:
                    self.here.send(node(n), Notify(event))
            case Token():
                self._token()
            case Period():
                self._switch()
            case Confirmation(epoch):
                self.unconfirmed[epoch].discard(sender)
                self._complete()
            case EpochComplete(epoch):
                self._completed(epoch, sender)

    def _nodes(self, event: Event) -> tuple[int, ...]:
        """Whom the dispatch table names for an event; without it everybody."""
        if not self.case.options["dispatch"]:
            return self.case.layout.nodes
        table = self.plan.tables.of(event.relation, event.sign)
        return self.plan.dispatch(table, table.class_of(env_of(table.trigger, event.row))) if table else ()

    def _token(self) -> None:
        """Wait for the duration of one period; after the last epoch the token stays here."""
        if self.epoch < self.case.epochs:
            period_s = self.case.epoch_s / (self.case.coordinators if self.staggered else 1)
            if self.epoch == 0 and not self.staggered:
                # Nobody passes it a token, so its own clock decides, which is behind that of the coordinator before it.
                period_s += self.case.options["skew_s"] * self.number
            self.here.after(period_s, Period(), background=True)

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


# The second phase of garbage collection: map checkpoints down the dataflow graph (Cumulus paper, section 4.3).
#
# An edge is a map and two nodes: one that processes segments of the map, and one that holds copies of them. A node sends a map's checkpoint along all
# out edges once it knows that the epoch is complete, and has checkpoints of all maps that the map is computed from along all in edges. Messages between
# two nodes arrive in the order in which they were sent, so no delta follows its checkpoint.
#
# **Cycles.** The maps of a cycle wait for each other. The paper's cycle leader sends a partial checkpoint round the cycle, and when it has come back, "it is
# free to send a full checkpoint". **One round is not enough**: what the round has flushed may make the leader, and those after it, correct later events,
# and these corrections go round again, behind the partial checkpoint (`papers/tests/test_eventual.py` has an example of four events at two nodes).
# So rounds are repeated, and each counts the deltas that the cycle's nodes have sent each other and received. Nothing is under way any more once a
# round counts as many sent as the one before counted received (Mattern's counting of messages by two waves). Then one more round tells the nodes.
# A node lets the first round pass when nothing from outside the cycle can come any more.


NEVER = -1


class CycleState:
    """A cycle, as one of its nodes sees it. ``sent`` and ``received``: epoch -> deltas to and from other nodes of the cycle, settled epochs left
    out. ``waiting``: partial checkpoints that may not pass yet. ``last_received``: at the leader, what the last round counted received."""

    last_received: int

    def __init__(self, cycle: Cycle) -> None:
        self.cycle = cycle
        self.sent: Counter[int] = Counter()
        self.received: Counter[int] = Counter()
        self.waiting: list[PartialCheckpoint] = []
        self.settled = NEVER
        self.rounds = 0
        #: At the leader: the epoch of the round under way.
        self.going = NEVER

    def counted(self, message: PartialCheckpoint) -> PartialCheckpoint:
        """The message with this node's counts added."""
        sent = sum(n for e, n in self.sent.items() if e <= message.epoch)
        received = sum(n for e, n in self.received.items() if e <= message.epoch)
        total = message.sent + sent, message.received + received
        return PartialCheckpoint(message.cycle, message.epoch, *total, message.settled)

    def enough(self, back: PartialCheckpoint) -> bool:
        """At the leader, when a round is over: whether it was the last."""
        return back.sent == self.last_received

    def settle(self, epoch: int) -> None:
        """The cycle's deltas are all where they belong, up to an epoch (inclusive)."""
        self.settled = epoch
        for counts in (self.sent, self.received):
            for known in [e for e in counts if e <= epoch]:
                del counts[known]


class Checkpoints:
    """What a node knows of epochs' ends.

    Args:
        here: the node.
        number: its number.
        plan: the edges.
        flush: sends what is buffered of a map.
        cleanup: called with each epoch, in order, once nothing of it can change at this node.
    """

    def __init__(
        self, here: Here, number: int, plan: Plan, flush: Callable[[str], None], cleanup: Callable[[int], None]
    ) -> None:
        self.here, self.number, self.plan, self.flush, self.cleanup = here, number, plan, flush, cleanup
        self.completed = NEVER
        self.collecting: list[int] = []
        #: In edge (map, sender) -> the last epoch of which its checkpoint is here; None for a map without in edges.
        self.held = {name: senders for (at, name), senders in plan.in_edges.items() if at == number}
        self.known = {(name, sender): NEVER for name, senders in self.held.items() for sender in senders}
        #: Map whose statements are processed here -> the last epoch of which a checkpoint has gone out.
        order = [name for group in strata(plan.program) for name in group]
        self.sent = {name: NEVER for name in order if (number, name) in plan.out_edges}
        self.cycles = {c.name: CycleState(c) for c in plan.cycles if number in c.ring}
        self.cycle_of = {name: c for c in self.cycles.values() for name in c.cycle.maps}

    def complete(self, epoch: int) -> None:
        """All coordinators have completed an epoch."""
        self.completed = epoch
        self.collecting.append(epoch)
        self._go_on()

    def received(self, sender: str, epoch: int, maps: tuple[str, ...]) -> None:
        """A checkpoint along in edges."""
        for name in maps:
            self.known[name, int(sender.split()[1])] = epoch
        self._go_on()

    def done(self, name: str) -> int:
        """The last epoch of which checkpoints of a map have come along all in edges."""
        return min((self.known[name, sender] for sender in self.held[name]), default=self.completed)

    def _go_on(self) -> None:
        """Send all the checkpoints that can be sent, and finish the epochs that are over here."""
        out: dict[tuple[int, int], list[str]] = {}
        for name in self.sent:  # sources before targets
            if name in self.cycle_of:
                # At the leader, when the epoch is over outside the cycle.
                state = self.cycle_of[name]
                leads, ready = state.cycle.ring[0] == self.number, [e for e in self.collecting if e > state.settled]
                if leads and state.going == NEVER and ready and ready[0] <= self._closed(state):
                    state.going, state.last_received = ready[0], 0
                    self._pass_on(state, PartialCheckpoint(state.cycle.name, state.going, 0, 0, False))
                self._let_pass(self.cycle_of[name])
            self._send_checkpoint(name, out)
        for (receiver, epoch), names in out.items():
            self.here.send(node(receiver), MapCheckpoint(epoch, tuple(names)))
        while self.collecting and all(self.done(name) >= self.collecting[0] for name in self.held):
            self.cleanup(self.collecting.pop(0))

    def _send_checkpoint(self, name: str, out: dict[tuple[int, int], list[str]]) -> None:
        """If there is one: kept here at once, and noted in ``out`` (receiver, epoch) for the others; its deltas go first."""
        epoch = self._through(name)
        if epoch == self.sent[name]:
            return
        self.flush(name)
        self.sent[name] = epoch
        if (name, self.number) in self.known:
            self.known[name, self.number] = epoch
        for receiver in self.plan.out_edges[self.number, name]:
            out.setdefault((receiver, epoch), []).append(name)

    def _through(self, name: str) -> int:
        """Through which epoch this node will send no more deltas of a map."""
        if name in self.cycle_of:
            return min(self.completed, self.cycle_of[name].settled)
        return min([self.completed, *(self.done(source) for source in self._sources([name]))])

    def _sources(self, names: list[str]) -> list[str]:
        """The maps that some are computed from, as far as this node holds any of their segments."""
        sources = {source for name in names for source in self.plan.map_sources[name]}
        return sorted(source for source in sources if source in self.held)

    # Cycles

    def sending(self, receiver: int, delta: Delta) -> None:
        """A delta goes out."""
        state = self.cycle_of.get(delta.segment.map)
        if state and receiver in state.cycle.ring:
            state.sent[delta.stamp.version.epoch] += 1

    def receiving(self, delta: Delta) -> None:
        """A delta has come."""
        if delta.segment.map in self.cycle_of:
            self.cycle_of[delta.segment.map].received[delta.stamp.version.epoch] += 1

    def _closed(self, state: CycleState) -> int:
        """Through which epoch nothing from outside the cycle changes what its maps are computed from here."""
        mine = [name for name in self.sent if name in state.cycle.maps]
        outside = [name for name in self._sources(mine) if name not in state.cycle.maps]
        return min([self.completed, *(self.done(name) for name in outside)])

    def partial(self, message: PartialCheckpoint) -> None:
        """A partial checkpoint has come from the node before in the ring."""
        state = self.cycles[message.cycle]
        if state.cycle.ring[0] == self.number:
            self._back(state, message)
        else:
            state.waiting.append(message)
        self._go_on()

    def _let_pass(self, state: CycleState) -> None:
        while state.waiting and state.waiting[0].epoch <= self._closed(state):
            message = state.waiting.pop(0)
            if message.settled:
                state.settle(message.epoch)
            self._pass_on(state, message)

    def _pass_on(self, state: CycleState, message: PartialCheckpoint) -> None:
        """To the next in the ring, with what is buffered sent, and counted, before."""
        for name in [name for name in self.sent if name in state.cycle.maps]:
            self.flush(name)
        self.here.send(node(state.cycle.after(self.number)), state.counted(message))

    def _back(self, state: CycleState, message: PartialCheckpoint) -> None:
        """At the leader: a round is over."""
        if message.settled:
            state.going = NEVER
            return
        state.rounds += 1
        settled = state.enough(message)
        if settled:
            state.settle(message.epoch)
        state.last_received = message.received
        self._pass_on(state, PartialCheckpoint(message.cycle, message.epoch, 0, 0, settled))
