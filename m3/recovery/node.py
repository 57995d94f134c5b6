"""A node: what it does with messages, and how it is replayed after a failure (thesis, 3.1.4, 3.2.3, 3.3.3).

A node is driven from outside: it takes a message and returns what is to be sent. What it computes is an :class:`Operator`, of which it knows three things: whether
it keeps state, whether its inputs commute, and what it makes of an input. How much its messages say of what it did follows from that (decisions
73 and 74):

| node | a message carries | after a failure |
|---|---|---|
| without state, one failure tolerated | its own diff, linear (the thesis) | inputs between those that were seen are placed by a table |
| with state, or several failures tolerated | besides, the diffs since the last message to that child | all that was seen has a known place: no table |
| inputs commute | as above | inputs are processed as they come: no table, no waiting |

A restarted node begins at a checkpoint, if it has state, and else at the time up to which no child will ever ask again; not at the time that all
children have seen, as the thesis does, for then its payload log would lack what a child that fails later asks for.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from m3.recovery.clock import Clock, zero_clock
from m3.recovery.controller import rollback_clock
from m3.recovery.graph import Flow, RecoveryError, ancestors
from m3.recovery.logs import DiffLog, Output, PayloadLog
from m3.recovery.messages import Ask, Data, Hold, Mark, NodeMessage, Recovered, Report, Resume, Stable, Start, Started
from m3.recovery.table import Input, Origin, Table, fill_in_order, needs_table, solve

__all__ = ["Checkpoint", "Node", "Operator"]


#: Times that nodes will never be replayed from before.
Horizons = tuple[tuple[str, int], ...]


class Operator(Protocol):
    """What a node computes: a deterministic function of an input and its state.

    ``commutes``: inputs of different parents may be processed in any order; each still makes the same outputs, and the state ends the same.
    """

    @property
    def stateful(self) -> bool:
        """Whether it keeps state."""
        ...

    @property
    def commutes(self) -> bool:
        """See above."""
        ...

    def start(self) -> Any:
        """The state at the beginning; None without state."""
        ...

    def process(self, state: Any, parent: str, payload: Any) -> Mapping[str, Any]:
        """Take an input into the state, and say what to send to which children; none if it is filtered."""
        ...


@dataclass(frozen=True)
class Checkpoint:
    """A node as of a time, to be stored durably. Nothing of it changes."""

    time: int
    clock: Clock
    seen: Mapping[str, int]
    state: Any
    payloads: PayloadLog
    diffs: DiffLog


@dataclass
class _Replay:
    """What a restarted node still has to do: process known inputs at their times, with ``buffer`` meanwhile. ``marks``: parents that have
    not yet said what they know."""

    known: dict[int, Origin]
    last: int
    marks: set[str]
    reports: tuple[Report, ...]
    buffer: list[Data] = field(default_factory=list)
    placed: bool = False
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("replayed", "dummies", "held", "tables"), 0))


class Node:
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
        self.name, self.flow, self.operator, self.tolerance = name, flow, operator, tolerance
        self.parents, self.children = flow.parents[name], flow.children[name]
        self.life = life
        self.lives = dict.fromkeys((*self.parents, *self.children), 1) | dict(lives or {})
        #: Whether messages carry all diffs since the last to the same child.
        self.complete = tolerance > 1 or (operator.stateful and not operator.commutes)
        #: Nodes before this one whose diffs its children have to know, too: so that there is somebody who knows when this node is lost with them.
        self.carries = ancestors(flow, name, tolerance - 1)
        self.clock = zero_clock(flow, name, tolerance + 2)
        self.state = operator.start()
        self.payloads = PayloadLog()
        self.diffs = DiffLog(roots=frozenset({name}) | ancestors(flow, name, tolerance))
        self.checkpointed = 0
        #: Of each parent: the clock of all that was received, processed or not; and its time at the checkpoint.
        self.seen = {clock.node: clock for clock in self.clock.below}
        self.checkpoint_seen = dict.fromkeys(self.parents, 0)
        self.horizons: dict[str, int] = {}
        self.told: dict[str, int] = dict.fromkeys(self.parents, 0)
        #: Of each child: up to which time everything was sent, and will not be asked for again; and what was said of time and horizons.
        self.sent: dict[str, int] = dict.fromkeys(self.children, 0)
        self.marked: dict[str, tuple[int, Horizons]] = {}
        self.stable: dict[str, int] = dict.fromkeys(self.children, 0)
        self.held: set[str] = set()
        #: Diffs to be carried, and how many of them each child has been sent.
        self.journal: list[Clock] = []
        self.carried: dict[str, int] = dict.fromkeys(self.children, 0)
        #: After a restart, what each child had: an input that it descends from has reached it.
        self.has: dict[str, Clock] = {}
        self.replay: _Replay | None = None
        #: Known times at which a node whose inputs commute still has to make something.
        self.outstanding: dict[Origin, int] = {}
        #: Children that were restarted since this node was.
        self.resumed: set[str] = set()

    # --- normal operation (3.1.4) ----------------------------------------------------------------------------------------------

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
                self.held.add(message.child)
                self.lives[message.child] = message.life
                return []
            case Ask():
                self.lives[message.about] = message.life
                return [self._report(message.about, message.life)]
            case Resume():
                return self._resume(message)
        if message.lives != (self.lives[message.source], self.life):
            return []  # of a life that is over, or to one
        match message:
            case Stable():
                self._take_stable(message.source, message.time)
                return []
            case Mark():
                return self._take_mark(message)
            case Data():
                return self._take_data(message)

    def _take_data(self, message: Data) -> list[NodeMessage]:
        self._hear(message.source, message.since, message.horizons)
        self._note(message.diff, carry=message.diff.node in self.carries)
        self.seen[message.source] = self.seen[message.source].apply(message.diff)
        if self.operator.commutes:
            sent = self._process_commuting(message)
        elif self.replay and not self.replay.placed:
            self.replay.buffer.append(message)
            sent = []
        else:
            sent = self._process_input(message)
        return sent + self._try_replay()

    def _take_mark(self, message: Mark) -> list[NodeMessage]:
        self._hear(message.source, message.since, message.horizons)
        last = next((diff for diff in message.since if (diff.node, diff.time) == (message.source, message.time)), None)
        self.seen[message.source] = self.seen[message.source].apply(last or Clock(message.source, message.time))
        if message.clock:
            self.told[message.source] = 0  # what it was told before its restart may have been lost with it
            self.seen[message.source] = self.seen[message.source].apply(message.clock)
        if self.replay and message.resumed:
            self.replay.marks.discard(message.source)
        return self._try_replay()

    def _hear(self, parent: str, since: Iterable[Clock], horizons: Iterable[tuple[str, int]]) -> None:
        """Keep what a parent says of itself and of nodes before it."""
        for diff in since:
            self._note(diff, carry=diff.node in self.carries)
        for node, time in horizons:
            if self.horizons.get(node, 0) < time:
                self.horizons[node] = time
                self.diffs.truncate(node, time)

    def _note(self, diff: Clock, *, carry: bool) -> None:
        if self.diffs.note(diff) and carry:
            self.journal.append(diff)

    def _process_input(self, message: Data, time: int | None = None, *, known: bool = False) -> list[NodeMessage]:
        """Process a parent's message at a time, or at the next; ``known``: somebody has seen it there."""
        diff = message.diff.extend(self.name, time or self.clock.time + 1)
        return self._process(diff, message.source, message.payload, known=known)

    def _process(self, diff: Clock, parent: str, payload: Any, *, known: bool = False) -> list[NodeMessage]:
        """Note the diff, apply it, process the payload, log the output, send it (3.1.4, steps 1 to 4)."""
        diff = diff.cut(self.tolerance + 2)
        made = self.operator.process(self.state, parent, payload)
        outputs = {child: output for child, output in made.items() if not self._had(child, diff, known)}
        if made and not outputs and not self.operator.stateful and not known:
            # Everybody got it, at a time that nobody needs to know any more.
            self.clock = self.clock.apply(Clock(self.name, 0, diff.below))
            return []
        self._note(diff, carry=self.complete)
        self.clock = self.clock.apply(diff)
        self.payloads.append(Output(diff.time, diff, outputs))
        return [message for child in outputs for message in self._send(child)]

    def _had(self, child: str, diff: Clock, known: bool) -> bool:
        """Whether a child got what is made of an input at another time, before this node was restarted: it must not get it again."""
        if child not in self.has or not diff.origin:
            return False
        parent, time = diff.origin
        return time <= self.has[child].time_of(parent) and (not known or diff.time > self.has[child].time)

    def _send(self, child: str) -> list[NodeMessage]:
        """Send what is logged for a child and was not sent (3.2.3: on the sending side nothing is sent twice)."""
        if child in self.held:
            return []
        # Only where inputs commute: something that is still to be made has an earlier time for this child.
        waits = self.complete or child in self.resumed
        sent: list[NodeMessage] = []
        for output in list(self.payloads.after(self.sent[child], child)):
            if waits and any(self.sent[child] < time < output.time for time in self.outstanding.values()):
                break
            since = self._since(child, leave_out=output.diff)
            diff = output.diff.cut(self.tolerance + 1)
            lives = (self.life, self.lives[child])
            sent.append(Data(self.name, child, lives, diff, output.payloads[child], since, self._horizons()))
            self.sent[child] = output.time
            self.marked[child] = (output.time, self._horizons())
        return sent

    def _since(self, child: str, leave_out: Clock | None = None) -> tuple[Clock, ...]:
        """The diffs to carry to a child: those since the last message to it, as its clock goes."""
        fresh = self.journal[self.carried[child] :]
        self.carried[child] = len(self.journal)
        had = self.has[child].time if child in self.has else 0
        return tuple(
            diff.cut(self.tolerance + 1)
            for diff in fresh
            if diff is not leave_out and not (diff.node == self.name and diff.time <= had)
        )

    def _horizons(self) -> Horizons:
        before = ((node, time) for node, time in sorted(self.horizons.items()) if node in self.carries)
        return ((self.name, self.horizon), *before)

    # --- what is no longer needed (decision 73) --------------------------------------------------------------------------------

    @property
    def horizon(self) -> int:
        """The time that this node will never be replayed from before."""
        return self.checkpointed if self.operator.stateful else min(self.stable.values())

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
        self._truncate()
        state, payloads, diffs = copy.deepcopy((self.state, self.payloads, self.diffs))
        return Checkpoint(self.clock.time, self.clock, self.checkpoint_seen, state, payloads, diffs)

    def housekeeping(self) -> list[NodeMessage]:
        """Tell parents what they need not keep for this node, and children that nothing was for them. To be called now and then."""
        told: list[NodeMessage] = []
        for parent in self.parents:
            if (time := self._stable_of(parent)) > self.told[parent]:
                self.told[parent] = time
                told.append(Stable(self.name, parent, (self.life, self.lives[parent]), time))
        if not self.replay and not self.outstanding:
            told += [
                self._mark(child)
                for child in self.children
                if child not in self.held and self.marked.get(child) != (self.clock.time, self._horizons())
            ]
        self._forget_carried()
        return told

    def _mark(self, child: str) -> Mark:
        since = self._since(child)
        last = self.diffs.rooted(self.name, after=self.clock.time - 1)
        if last and not any((diff.node, diff.time) == (self.name, self.clock.time) for diff in since):
            since = (*since, last[-1].cut(self.tolerance + 1))
        self.marked[child] = (self.clock.time, self._horizons())
        return Mark(self.name, child, (self.life, self.lives[child]), self.clock.time, since, self._horizons())

    def _stable_of(self, parent: str) -> int:
        """The last message of a parent that this node will not ask for again."""
        if self.operator.stateful:
            return self.checkpoint_seen[parent]
        if self.horizon >= self.clock.time and not self.replay:
            return self.seen[parent].time
        if self.complete or not self.operator.commutes:
            return self.diffs.clock_at(self.name, self.horizon).time_of(parent)
        # Times do not ascend with those of inputs here. What is in the log for somebody may have to be made again.
        kept = (output.diff.origin for output in self.payloads.outputs if output.payloads)
        return min((o[1] - 1 for o in kept if o and o[0] == parent), default=self.clock.time_of(parent))

    def _take_stable(self, child: str, time: int) -> None:
        self.stable[child] = max(self.stable[child], time)
        self.payloads.truncate(child, time)
        self._truncate()

    def _truncate(self) -> None:
        self.payloads.forget_dummies(min((self.horizon, *self.stable.values())))
        self.diffs.truncate(self.name, self.horizon)

    def _forget_carried(self) -> None:
        done = min(
            (self.carried[child] for child in self.children if child not in self.held), default=len(self.journal)
        )
        del self.journal[:done]
        self.carried = {child: max(0, number - done) for child, number in self.carried.items()}

    # --- when a neighbour has failed (3.2.2) -----------------------------------------------------------------------------------

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

    def _resume(self, order: Resume) -> list[NodeMessage]:
        """Send to a restarted child what comes after a time; first all that is known of what this node did, for the child has lost it."""
        child = order.child
        self.held.discard(child)
        self.resumed.add(child)
        self.lives[child] = order.life
        self.sent[child] = order.after
        return [self._knowledge(child), *self._send(child)]

    def _knowledge(self, child: str) -> Mark:
        roots = (self.name, *sorted(self.carries))
        known = tuple(d.cut(self.tolerance + 1) for root in roots for d in self.diffs.rooted(root))
        self.carried[child] = len(self.journal)
        lives = (self.life, self.lives[child])
        passed = max(self.sent[child], self.stable[child])
        clock = Clock(self.name, passed, tuple(self._passed(parent, passed, child) for parent in self.parents))
        return Mark(self.name, child, lives, passed, known, self._horizons(), clock, resumed=self.replay is None)

    def _passed(self, parent: str, time: int, child: str) -> Clock:
        """The last input of a parent up to which all that was made for a child has at most this time."""
        later = (output.diff.origin for output in self.payloads.after(time, child))
        first = min((o[1] for o in later if o and o[0] == parent), default=None)
        return Clock(parent, self.clock.time_of(parent) if first is None else first - 1)

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
            for folded in report.folded:
                node.diffs.fold(folded)
            for diff in report.known:
                node._note(diff, carry=diff.node in node.carries)
            node.has[report.node] = report.has
            node.stable[report.node] = report.stable
            node.payloads.truncate(report.node, report.stable)
            node.sent[report.node] = report.has.time
        if not operator.stateful and (node.complete or not operator.commutes):
            base = max(node.horizon, node.diffs.folded[name].time if name in node.diffs.folded else 0)
            node.clock = rollback_clock(node.clock, start.reports, base).cut(tolerance + 2)
        node._begin_replay(start.reports)
        sent: list[NodeMessage] = [Started(name, node.life, node.clock)]
        for child in node.children:
            sent += [node._knowledge(child), *node._send(child)]
        return node, sent + node._try_replay()

    def _restore(self, checkpoint: Checkpoint) -> None:
        self.state, self.payloads, self.diffs = copy.deepcopy((checkpoint.state, checkpoint.payloads, checkpoint.diffs))
        self.clock, self.checkpoint_seen = checkpoint.clock, dict(checkpoint.seen)
        self.checkpointed = checkpoint.time

    def _begin_replay(self, reports: tuple[Report, ...]) -> None:
        self.seen = {clock.node: clock for clock in self.clock.below}
        targets = self.diffs.rooted(self.name, after=self.clock.time)
        known = {diff.time: diff.origin for diff in targets if diff.origin}
        last = max((self.clock.time, *known, *(report.has.time for report in reports)))
        self.replay = _Replay(known, last, set(self.parents), reports)
        if self.operator.commutes:
            self.outstanding = {origin: time for time, origin in known.items()}
            self.clock = self.clock.apply(Clock(self.name, last))

    def _try_replay(self) -> list[NodeMessage]:
        """Replay once there is an input for each known place (3.3.2); when parents have said what they know, too, this is a node like any."""
        replay, sent = self.replay, list[NodeMessage]()
        if not replay:
            return sent
        if not replay.placed and self._ready(replay):
            replay.placed = True
            sent += self._replay(replay)
        if replay.placed and not replay.marks:
            self.replay = None
            sent.append(Recovered(self.name, self.life, replay.counts))
            # Those that were restarted meanwhile wait for all that this node knows; it has only now heard the last of it.
            sent += [self._knowledge(child) for child in self.children if child not in self.held]
        return sent

    def _ready(self, replay: _Replay) -> bool:
        """Whether nothing is waited for. What a parent has passed by will not come: it is stable, and nobody asks what came of it."""
        come = {message.origin for message in replay.buffer}
        gone = [t for t, o in replay.known.items() if o not in come and self.seen[o[0]].time >= o[1]]
        if self.operator.commutes:
            self.outstanding = {o: t for o, t in self.outstanding.items() if self.seen[o[0]].time < o[1]}
            return not self.outstanding
        for time in gone:
            del replay.known[time]
        return come.issuperset(replay.known.values())

    def _replay(self, replay: _Replay) -> list[NodeMessage]:
        """Process the buffer: what has a place in its place, dummies between (3.3.3), and the rest as if it had just come."""
        waiting = {message.origin: message for message in replay.buffer}
        places = replay.known if self.complete else self._place(replay, waiting)
        sent: list[NodeMessage] = []
        for time in range(self.clock.time + 1, replay.last + 1):
            if time in places:
                known = replay.known.get(time) == places[time]
                sent += self._process_input(waiting.pop(places[time]), time, known=known)
                replay.counts["replayed"] += 1
            else:
                dummy = Clock(self.name, time)
                self.clock = self.clock.apply(dummy)
                self.payloads.append(Output(time, dummy, {}))
                replay.counts["dummies"] += 1
        replay.counts["held"] += len(waiting)
        replay.buffer = []
        for message in waiting.values():
            sent += self._process_input(message)
        return sent

    def _place(self, replay: _Replay, waiting: dict[Origin, Data]) -> Mapping[int, Origin]:
        """A place for each input that was processed before one that was seen. What all have that should get it is dropped."""
        inputs: list[Input] = []
        targets = {origin: time for time, origin in replay.known.items()}
        for origin, message in list(waiting.items()):
            outputs = self.operator.process(self.state, message.source, message.payload)
            children = tuple(
                c
                for c in outputs
                if origin in targets or not self._had(c, message.diff.extend(self.name, 0), known=False)
            )
            if children or origin in targets:
                inputs.append(Input(*origin, children))
            else:
                del waiting[origin]
        if len(self.children) == 1:
            return replay.known
        markers = {report.node: report.observed + 1 for report in replay.reports}
        table = Table(self.clock.time + 1, replay.last, replay.known, markers, tuple(inputs))
        if not needs_table(len(self.parents), len(self.children)):
            return fill_in_order(table)
        replay.counts["tables"] += 1
        return solve(table)

    def _process_commuting(self, message: Data) -> list[NodeMessage]:
        """Process an input of a node whose inputs commute, at once. If somebody has seen its output, it keeps that time for whoever had it,
        and, where all that was seen is known in full, for all."""
        time = self.outstanding.pop(message.origin, None)
        if time is None:
            return self._process_input(message)
        if self.complete:
            return self._process_input(message, time, known=True) + self._send_all()
        made = self.operator.process(self.state, message.source, message.payload)
        before = message.diff.extend(self.name, time).cut(self.tolerance + 2)
        after = message.diff.extend(self.name, self.clock.time + 1).cut(self.tolerance + 2)
        new = {child: output for child, output in made.items() if not self._had(child, after, known=False)}
        old = {c: output for c, output in made.items() if c not in new and not self._had(c, before, known=True)}
        for diff, payloads in ((before, old), (after, new)):
            if payloads:
                self._note(diff, carry=False)
                self.clock = self.clock.apply(diff)
                self.payloads.append(Output(diff.time, diff, payloads))
        self.clock = self.clock.apply(Clock(self.name, 0, before.below))
        return self._send_all()

    def _send_all(self) -> list[NodeMessage]:
        return [message for child in self.children for message in self._send(child)]
