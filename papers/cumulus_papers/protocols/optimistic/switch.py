"""A switch, and a client of it (semester paper, sections 3.2 and 3.4).

There is one switch for each update stream. It gives updates their timestamps, (epoch, switch, sequence): the introduced total order. It tells the nodes what
to read and to write, asks them what clients want to know, and does its part in ending epochs, which only the one that has the token may start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cumulus_papers.case import Arrival, Case, Event, Version
from cumulus_papers.kernel import Here, Message
from cumulus_papers.layout import env_of
from cumulus_papers.protocols.optimistic.corrections import Dispatch, Outbox, switch_of
from cumulus_papers.protocols.optimistic.messages import (
    Answer,
    Ask,
    Asked,
    BatchDue,
    EpochCommit,
    EpochDue,
    EpochEnd,
    EpochEndRequest,
    EpochReady,
    Fetch,
    Put,
    Query,
    Result,
    Token,
    Wanted,
    parts,
)
from cumulus_papers.run import Entries, Stamped, coordinator, node

__all__ = ["Answered", "Client", "Ended", "Holds", "Switch"]

#: Later than everything: what a switch without nodes is ready through.
NEVER = Version(1 << 30, 0, 0)


@dataclass(frozen=True)
class Holds:
    """For those who watch: a switch has got the token."""

    switch: int
    epoch: int


@dataclass(frozen=True)
class Ended:
    """For those who watch: a switch that has the token ends an epoch."""

    switch: int
    epoch: int


@dataclass(frozen=True)
class Answered:
    """For those who watch: a client has got an answer."""

    version: Version
    map: str
    entries: Entries


@dataclass
class _Round:
    """The minima of one epoch: of this switch's nodes, and of all switches."""

    nodes: dict[str, Version] = field(default_factory=dict)
    switches: dict[str, Version] = field(default_factory=dict)


class Switch:
    """Switch ``number``."""

    def __init__(self, here: Here, case: Case, number: int, dispatch: Dispatch) -> None:
        self.here, self.case, self.number, self.dispatch = here, case, number, dispatch
        self.outbox = Outbox(here, case.options["batch_s"])
        self.epoch, self.sequence = 0, 0
        self.token = number == 0
        self.nodes = [n for n in case.layout.nodes if switch_of(case, n) == number]
        self.rounds: dict[int, _Round] = {}
        self.asked: dict[Version, tuple[str, dict[str, Entries]]] = {}

    def receive(self, message: Message, sender: str) -> None:
        """What comes from streams, clients, nodes and other switches."""
        for part in parts(message):
            self._handle(part, sender)

    def _handle(self, message: Message, sender: str) -> None:
        if isinstance(message, Arrival):
            self._event(message)
        elif isinstance(message, Ask):
            version = self._version()
            self.asked[version] = sender, {}
            for n in self.dispatch.owners[message.map]:
                self.outbox.send(node(n), Query(version, self.number, message.map))
        elif isinstance(message, Answer):
            client, answers = self.asked[message.version]
            answers[sender] = message.entries
            if len(answers) == len(self.dispatch.owners[message.map]):
                del self.asked[message.version]
                entries = {k: u for _, part in sorted(answers.items()) for k, u in part.items()}
                self.outbox.send(client, Result(message.version, message.map, entries))
        elif isinstance(message, BatchDue):
            self.outbox.due(message.receiver)
        elif isinstance(message, EpochReady):
            self._ready(message, sender)
        elif isinstance(message, Token):
            self._hold()
        elif isinstance(message, EpochEnd):
            while self.epoch <= message.epoch:
                self._leave()
        elif isinstance(message, EpochEndRequest):
            self._end_on_request(message)
        else:
            assert isinstance(message, EpochDue)
            if message.epoch == self.epoch and self.token:
                self._end()

    def _version(self) -> Version:
        self.sequence += 1
        return Version(self.epoch, self.number, self.sequence)

    # Updates and queries

    def _event(self, arrival: Arrival) -> None:
        event = Event(self._version(), arrival.sign, arrival.relation, arrival.row)
        self.here.report(Stamped(event))
        trigger = self.dispatch.numbers.get((event.relation, event.sign))
        if trigger is None:
            return
        arguments = env_of(self.dispatch.program.triggers[trigger], event.row)
        for receiver, message in self.messages(event.version, trigger, arguments):
            self.outbox.send(node(receiver), message)

    def messages(self, version: Version, trigger: int, arguments: dict[str, Any]) -> Iterator[tuple[int, Message]]:
        """The FETCHes and PUTs of an update, each with the arguments that are needed there."""
        plan = self.dispatch.plan(trigger, arguments)
        for receiver, reads in plan.fetches.items():
            for wanted in self._groups(reads):
                yield receiver, self._fetch(version, trigger, arguments, wanted)
        for receiver, writes in plan.puts.items():
            here = tuple((s, counts) for s, counts in writes.items() if not (counts and self.case.options["blind"]))
            for fetches in self._groups(here):
                names = self.dispatch.statement_variables(trigger, (s for s, _ in fetches))
                yield receiver, Put(version, trigger, _only(arguments, names), fetches)

    def _groups(self, items: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """All in one message, or each in its own."""
        return [items] if items and self.case.options["coalesce"] else [(item,) for item in items]

    def _fetch(self, version: Version, trigger: int, arguments: dict[str, Any], wanted: tuple[Wanted, ...]) -> Fetch:
        options, names = self.case.options, self.dispatch.slice_variables(trigger, wanted)
        if options["blind"]:
            names |= self.dispatch.statement_variables(trigger, self.dispatch.with_reads(trigger))
        if options["blind"] or not options["write_nodes"]:
            names |= self.dispatch.key_variables(trigger)
        if not options["write_nodes"]:
            wanted = () if options["coalesce"] else tuple(Wanted(w.statement, w.read, ()) for w in wanted)
        return Fetch(version, trigger, _only(arguments, names), wanted)

    # Epochs

    def _end(self) -> None:
        """End the epoch, and pass the token on."""
        self.here.report(Ended(self.number, self.epoch))
        self.token = False
        for other in self._others():
            self.outbox.send(coordinator(other), EpochEnd(self.epoch))
        self._leave()
        if self.epoch < self.case.epochs:
            self._pass((self.number + 1) % self.case.coordinators)

    def _pass(self, receiver: int) -> None:
        if receiver == self.number:
            self._hold()
        else:
            self.outbox.send(coordinator(receiver), Token(self.epoch))

    def _hold(self) -> None:
        """Have the token for the duration of one period."""
        self.token = True
        self.here.report(Holds(self.number, self.epoch))
        self.here.after(self.case.epoch_s, EpochDue(self.epoch), background=True)

    def _leave(self) -> None:
        """Go on in the next epoch; the nodes will hear nothing more of this one."""
        for n in self.case.layout.nodes:
            self.outbox.send(node(n), EpochEnd(self.epoch))
        if not self.nodes:
            self._minimum(self.epoch, NEVER)
        self.epoch, self.sequence = self.epoch + 1, 0

    def _end_on_request(self, message: EpochEndRequest) -> None:
        """A node runs out of memory: end the epoch, or find the switch that may."""
        if message.epoch < self.epoch:
            return
        if self.token and message.epoch == self.epoch:
            self._end()
        elif self.case.coordinators > 1:
            self.outbox.send(coordinator((self.number + 1) % self.case.coordinators), message)

    def _ready(self, message: EpochReady, sender: str) -> None:
        """Of a node of this switch, or the minimum of another switch."""
        known = self.rounds.setdefault(message.epoch, _Round())
        if sender.startswith("coordinator"):
            known.switches[sender] = message.through
            self._decide(message.epoch)
            return
        known.nodes[sender] = message.through
        if len(known.nodes) == len(self.nodes):
            self._minimum(message.epoch, min(known.nodes.values()))

    def _minimum(self, epoch: int, through: Version) -> None:
        """Tell the others this switch's minimum."""
        self.rounds.setdefault(epoch, _Round()).switches[self.here.name] = through
        for other in self._others():
            self.outbox.send(coordinator(other), EpochReady(epoch, through))
        self._decide(epoch)

    def _decide(self, epoch: int) -> None:
        """When all minima are known, tell this switch's nodes the least of them."""
        known = self.rounds[epoch].switches
        if len(known) == self.case.coordinators:
            for n in self.nodes:
                self.outbox.send(node(n), EpochCommit(epoch, min(known.values())))
            del self.rounds[epoch]

    def _others(self) -> list[int]:
        return [s for s in range(self.case.coordinators) if s != self.number]


class Client:
    """Asks switches for maps, and gets them as they are tentatively."""

    def __init__(self, here: Here) -> None:
        self.here = here

    def receive(self, message: Message, sender: str) -> None:
        """A wish from outside, or a result."""
        for part in parts(message):
            if isinstance(part, Asked):
                self.here.send(part.switch, Ask(part.map))
            else:
                assert isinstance(part, Result)
                self.here.report(Answered(part.version, part.map, part.entries))


def _only(arguments: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name in names}
