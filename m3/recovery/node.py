"""A node: what it does with messages, and how it is restarted after a failure (thesis, 3.1.4, 3.2.2, 3.3.3).

A node is driven from outside: it takes a message and returns what is to be sent. What it computes is an :class:`~m3.recovery.hosting.Operator`, of which it
knows three things: whether it keeps state, whether its inputs commute, and what it makes of an input. How much its messages say of what it
did follows from that (decisions 73, 74 and 82):

| node | a message carries | after a failure |
|---|---|---|
| without state, one failure tolerated | its own diff, linear (the thesis) | inputs between those that were seen are placed by a table |
| with state, or several failures tolerated | besides, the diffs since the last message to that child | all that was seen has a known place: no table |
| inputs commute | the same | inputs are processed as they come: no table, no waiting |

Here is **processing**, from a message that comes to what is logged; :mod:`~m3.recovery.sending` holds what is logged and sends it, and
:mod:`~m3.recovery.replaying` decides in which order a restarted node processes.

A restarted node begins at a checkpoint, if it has state, and else at the time up to which no child will ever ask again; not at the time that all
children have seen, as the thesis does, for then its payload log would lack what a child that fails later asks for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from m3.recovery.clock import Clock
from m3.recovery.controller import rollback_clock
from m3.recovery.graph import Flow, RecoveryError, ancestors
from m3.recovery.hosting import Checkpoint, Operator
from m3.recovery.logs import Output
from m3.recovery.messages import Ask, Data, Hold, Mark, NodeMessage, Recovered, Report, Resume, Stable, Start, Started
from m3.recovery.replaying import Replay
from m3.recovery.sending import Horizons, Sender

__all__ = ["Node"]


class Node(Sender):
    """One node in one life. See the module."""

    def __init__(
        self,
        name: str,
        flow: Flow,
        operator: Operator,
        *,
        tolerance: int = 1,
        life: int = 1,
        lives: Mapping[str, int] | None = None,
    ) -> None:
        if not flow.children[name] and not operator.stateful:
            raise RecoveryError(
                f"{name} keeps nothing and sends to nobody: after a failure nobody could say what it had received",
                kind="stateless-sink",
                hint="let it keep what it received as its state",
            )
        near = dict.fromkeys((*flow.parents[name], *flow.children[name]), 1)
        super().__init__(name, flow, operator, tolerance, life, near if lives is None else lives)
        self.state = operator.start()
        #: Of each parent: the clock of all that was received, processed or not; its time at the checkpoint; and what it was told to be stable.
        self.seen = {clock.node: clock for clock in self.clock.below}
        self.checkpoint_seen = dict.fromkeys(self.parents, 0)
        self.told = dict.fromkeys(self.parents, 0)
        self.replay: Replay | None = None

    # --- what comes ------------------------------------------------------------------------------------------------------------

    def inject(self, payload: Any) -> list[NodeMessage]:
        """A source's input from outside."""
        return self._process(Clock(self.name, self.clock.time + 1), "", payload)

    def receive(self, message: Data | Mark | Stable | Hold | Ask | Resume) -> list[NodeMessage]:
        """Take a message of another node, or an order of the controller.

        Returns:
            What to send; a :class:`Report` and a :class:`Recovered` are for the controller.
        """
        match message:
            case Hold():
                self.hold(message)
                return []
            case Ask():
                self.lives[message.about] = message.life
                return [self._report(message.about, message.life)]
            case Resume():
                return self.resume(message, replaying=self.replay is not None)
        if message.lives != (self.lives[message.source], self.life):
            return []  # of a life that is over, or to one
        match message:
            case Stable():
                self.take_stable(message.source, message.time)
                return []
            case Mark():
                return self._take_mark(message)
            case Data():
                return self._take_data(message)

    def _take_data(self, message: Data) -> list[NodeMessage]:
        self._hear((*message.since, message.diff), message.horizons)
        self.seen[message.source] = self.seen[message.source].apply(message.diff)
        if message.origin in self.owed:
            sent = self._process_input(message, self.owed.pop(message.origin), known=True) + self._send_all()
        elif self.replay and not self.replay.placed and not self.operator.commutes:
            self.replay.buffer.append(message)
            sent = []
        else:
            sent = self._process_input(message)
        return sent + self._try_replay()

    def _take_mark(self, message: Mark) -> list[NodeMessage]:
        self._hear(message.since, message.horizons)
        last = next((diff for diff in message.since if (diff.node, diff.time) == (message.source, message.time)), None)
        self.seen[message.source] = self.seen[message.source].apply(last or Clock(message.source, message.time))
        if message.clock:
            self.told[message.source] = 0  # what it was told before its restart may have been lost with it
            self.seen[message.source] = self.seen[message.source].apply(message.clock)
        if self.replay and message.resumed:
            self.replay.marks.discard(message.source)
        return self._try_replay()

    def _hear(self, diffs: Iterable[Clock], horizons: Horizons) -> None:
        """Keep what a parent says of itself and of nodes before it."""
        for diff in diffs:
            self.note(diff, carry=diff.node in self.carries)
        self.hear_horizons(horizons)

    # --- processing (3.1.4) ----------------------------------------------------------------------------------------------------

    def _process_input(self, message: Data, time: int | None = None, *, known: bool = False) -> list[NodeMessage]:
        """Process a parent's message at a time, or at the next; ``known``: somebody has seen it there."""
        diff = message.diff.extend(self.name, time or self.clock.time + 1)
        return self._process(diff, message.source, message.payload, known=known)

    def _process(self, diff: Clock, parent: str, payload: Any, *, known: bool = False) -> list[NodeMessage]:
        """Note the diff, apply it, process the payload, log the output, send it (3.1.4, steps 1 to 4)."""
        made = self.operator.process(self.state, parent, payload)
        outputs = {c: made[c] for c in made if known or not diff.origin or not self.outlets[c].had(*diff.origin)}
        if made and not outputs and not self.operator.stateful:
            # Everybody got it, at a time that nobody needs to know any more.
            self._count_as_received(diff.below)
            return []
        self.note(diff, carry=self.complete)
        self.clock = self.clock.apply(diff)
        self.payloads.append(Output(diff.time, diff, outputs))
        return [message for child in outputs for message in self.send(child)]

    def _count_as_received(self, inputs: Iterable[Clock]) -> None:
        self.clock = self.clock.apply(Clock(self.name, self.clock.time, tuple(inputs)))

    def _send_all(self) -> list[NodeMessage]:
        return [message for child in self.children for message in self.send(child)]

    # --- now and then ----------------------------------------------------------------------------------------------------------

    def checkpoint(self) -> Checkpoint:
        """The node as it is, for a durable store; once this returns, it counts as stored.

        Raises:
            RecoveryError: the node is being replayed, so that it is not yet as it was.
        """
        if self.replay:
            raise RecoveryError(
                f"{self.name} is being replayed", kind="replaying", hint="ask again when it has recovered"
            )
        self.checkpointed = self.clock.time
        self.checkpoint_seen = {parent: clock.time for parent, clock in self.seen.items()}
        self.truncate()
        state, payloads, diffs = copy.deepcopy((self.state, self.payloads, self.diffs))
        return Checkpoint(self.clock.time, self.clock, self.checkpoint_seen, state, payloads, diffs)

    def housekeeping(self) -> list[NodeMessage]:
        """Tell parents what they need not keep for this node, and children that nothing was for them. To be called now and then."""
        told: list[NodeMessage] = []
        for parent in self.parents:
            if (time := self._stable_of(parent)) > self.told[parent]:
                self.told[parent] = time
                told.append(Stable(self.name, parent, (self.life, self.lives[parent]), time))
        if not self.replay:
            told += self.marks()
        self.forget_carried()
        return told

    def _stable_of(self, parent: str) -> int:
        """The last message of a parent that this node will not ask for again."""
        if self.operator.stateful:
            return self.checkpoint_seen[parent]
        if self.horizon >= self.clock.time and not self.replay:
            return self.seen[parent].time
        return self.diffs.clock_at(self.name, self.horizon).time_of(parent)

    # --- when a parent has failed (3.2.2) --------------------------------------------------------------------------------------

    def _report(self, about: str, life: int) -> Report:
        """What this node knows of a parent that failed, and of those before it."""
        has = self.seen[about]
        roots = [about, *sorted(ancestors(self.flow, about, self.tolerance - 1))]
        own = (diff.origin for diff in self.diffs.rooted(self.name))
        observed = max((time for node, time in filter(None, own) if node == about), default=0)
        return Report(
            self.name,
            about,
            life,
            has,
            max(observed, has.time),
            self._stable_of(about),
            tuple(self.diffs.folded[root] for root in roots if root in self.diffs.folded),
            tuple(diff for root in roots for diff in self.diffs.rooted(root)),
            self.life,
        )

    # --- when this node has failed (3.2.2, 3.3.3) ------------------------------------------------------------------------------

    @classmethod
    def restart(
        cls,
        name: str,
        flow: Flow,
        operator: Operator,
        start: Start,
        checkpoint: Checkpoint | None = None,
        *,
        tolerance: int = 1,
    ) -> tuple[Node, list[NodeMessage]]:
        """A failed node's next life.

        Args:
            name: the node.
            flow: the graph.
            operator: what it computes.
            start: what its children know.
            checkpoint: the last one stored, if it has state and there is one.
            tolerance: as in its former life.

        Returns:
            The node, and what to send: the acknowledgement, and what its children may have at once.
        """
        node = cls(name, flow, operator, tolerance=tolerance, life=start.lives[name], lives=start.lives)
        if checkpoint:
            node._restore(checkpoint)
        for report in start.reports:
            node._learn(report)
        if not operator.stateful:
            base = max(node.horizon, node.diffs.folded[name].time if name in node.diffs.folded else 0)
            node.clock = rollback_clock(node.clock, start.reports, base)
        node._begin_replay(start.reports)
        sent: list[NodeMessage] = [Started(name, node.life, node.clock)]
        for child in node.children:
            sent += [node.knowledge(child, replaying=True), *node.send(child)]
        return node, sent + node._try_replay()

    def _restore(self, checkpoint: Checkpoint) -> None:
        self.state, self.payloads, self.diffs = copy.deepcopy((checkpoint.state, checkpoint.payloads, checkpoint.diffs))
        self.clock, self.checkpoint_seen = checkpoint.clock, dict(checkpoint.seen)
        self.checkpointed = checkpoint.time

    def _learn(self, report: Report) -> None:
        """What a child knows of what this node did, and what it has."""
        for folded in report.folded:
            self.diffs.fold(folded)
        for diff in report.known:
            self.diffs.note(diff)  # and no need to carry it: children are told all when this has begun
        to = self.outlets[report.node]
        to.has, to.sent = report.has, report.has.time
        self.take_stable(report.node, report.stable)

    def _begin_replay(self, reports: tuple[Report, ...]) -> None:
        self.seen = {clock.node: clock for clock in self.clock.below}
        targets = self.diffs.rooted(self.name, after=self.clock.time)
        known = {diff.time: diff.origin for diff in targets if diff.origin}
        last = max((self.clock.time, *known, *(report.has.time for report in reports)))
        if self.operator.commutes:
            self.owed = {origin: time for time, origin in known.items()}
            self.clock, known = self.clock.apply(Clock(self.name, last)), {}
        self.replay = Replay(known, last, set(self.parents), reports)

    def _try_replay(self) -> list[NodeMessage]:
        """Replay once there is an input for each known place (3.3.2); when parents have said what they know, too, this is a node like any."""
        replay, sent = self.replay, list[NodeMessage]()
        if not replay:
            return sent
        # What a parent has passed by will not come.
        self.owed = {origin: time for origin, time in self.owed.items() if self.seen[origin[0]].time < origin[1]}
        if not replay.placed and not self.owed and replay.is_ready(self.seen):
            replay.placed = True
            sent += self._replay(replay)
        if replay.placed and not replay.marks:
            self.replay = None
            # Of all that came: a child that is restarted later has to hear that it had what was dropped, or passed by.
            self._count_as_received(self.seen.values())
            self.truncate()  # children may have told meanwhile that what was just made again is stable
            sent.append(Recovered(self.name, self.life, replay.counts))
            # Those that were restarted meanwhile wait for all that this node knows; it has only now heard the last of it.
            sent += [self.mark(child, resumed=True) for child, to in self.outlets.items() if not to.held]
        return sent

    def _replay(self, replay: Replay) -> list[NodeMessage]:
        """Process what was buffered: what has a place in its place, dummies between (3.3.3), and the rest as if it had just come."""
        first = self.clock.time + 1
        places = replay.known if self.complete else replay.place(first, self.parents, self.children, self._wants)
        waiting = {message.origin: message for message in replay.buffer}
        sent: list[NodeMessage] = []
        for time in range(first, replay.last + 1):
            if time in places:
                sent += self._process_input(waiting.pop(places[time]), time, known=time in replay.known)
                replay.counts["replayed"] += 1
            else:
                dummy = Clock(self.name, time)
                self.clock = self.clock.apply(dummy)
                self.payloads.append(Output(time, dummy, {}))
                replay.counts["dummies"] += 1
        replay.counts["held"] += len(waiting)
        for message in waiting.values():
            sent += self._process_input(message)
        return sent

    def _wants(self, message: Data) -> list[str]:
        """Who gets something of an input, and has not had it."""
        made = self.operator.process(self.state, message.source, message.payload)
        return [child for child in made if not self.outlets[child].had(*message.origin)]
