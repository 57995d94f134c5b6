"""Who has to send what to whom, message for message: what the tables, the layout and the epochs ask for, whatever the actors do.

- An event goes to the nodes that the dispatch table names, once each.
- A delta goes to all other holders of its segment, and to nobody else; what goes out to one is all that has been computed for it since the last time.
- With coalescing all that goes to one node at one time is one message: of an event, or altogether (for each buffer period).
- Whom events went to since the last collection is asked once, and confirms once; an epoch is complete once for each coordinator and node.
- A map's checkpoint goes along each out edge, after all that it is computed from, for later and later epochs, and no delta follows it.
- Partial checkpoints go round the ring, from the leader on; after the first round that counts as many sent as the one before received, one more goes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from cumulus_papers.case import Case, Event, Stamp
from cumulus_papers.kernel import Message, Simulation
from cumulus_papers.layout import Segment, Tables, env_of
from cumulus_papers.protocols.eventual.messages import (
    Commit,
    Completed,
    Confirmation,
    Cycle,
    Delta,
    EpochComplete,
    MapCheckpoint,
    Notify,
    PartialCheckpoint,
    Plan,
    Push,
    Pushed,
    Switched,
    Token,
)
from cumulus_papers.run import Entries, Stamped, Wrong, add_to, coordinator, cut, node
from m3.dataflow import is_cyclic, strata

__all__ = ["Expected"]


class Expected:
    """Looks at each message of a run. ``merged``: deltas that became one with another before they went out."""

    def __init__(self, case: Case, simulation: Simulation, plan: Plan) -> None:
        self.case, self.simulation, self.plan = case, simulation, plan
        self.tables = Tables(case.program, case.layout)
        every = case.options["collect_every"]
        self.collected = sorted({*range(every - 1, case.epochs, every), case.epochs - 1} - {-1})
        self.holders = self._holders()
        # (Holder, map) -> who may send it deltas of the map.
        senders: dict[tuple[str, str], set[str]] = defaultdict(set)
        for segment, holders in self.holders.items():
            for holder in holders:
                senders[holder, segment.map].add(node(self.plan.processor[segment]))
        self.senders = senders
        self.cyclic = {n for g in strata(case.program) if is_cyclic(case.program, g) for n in g}
        self.merged = 0
        #: (What, sender, receiver): of the messages that each go once, those that have gone, and those that have to.
        self.sent: Counter[tuple[Any, str, str]] = Counter()
        self.wanted: Counter[tuple[Any, str, str]] = Counter()
        #: Coordinator -> the nodes that events went to since the last collection.
        self.since: dict[str, set[str]] = defaultdict(set)
        #: (Receiver, stamp, segment) -> what has been computed and not sent; how far down a cascade, None if it has been nothing meanwhile.
        self.pending: dict[tuple[str, Stamp, Segment], tuple[Entries, int | None]] = {}
        #: What has gone out in one turn (number of the message handled): for coalescing.
        self.turn: tuple[int, Counter[Any]] = 0, Counter()
        self.completed: dict[str, int] = {}
        #: (Map, sender, receiver) -> the last epoch of which a checkpoint has gone.
        self.checkpoints: dict[tuple[str, str, str], int] = {}
        self.rings: dict[str, Cycle] = {cycle.name: cycle for cycle in plan.cycles}
        #: Cycle -> the last epoch that a round was for, what it counted received, and what its leader must send next: settled or not, and a new epoch.
        self.rounds: dict[str, tuple[int, int, bool | None]] = {}

    def _holders(self) -> dict[Segment, set[str]]:
        """Segment -> its owner, and whoever processes a statement that may read it. Who processes a statement has one of the segments it reads."""
        owner, processor = self.case.layout.owner, self.plan.processor
        readers: dict[Segment, set[Segment]] = defaultdict(set)
        for table in self.tables.by_event.values():
            for read in table.possible().reads:
                readers[read.target].add(read.source)
        for segment in owner:
            if processor[segment] not in {owner[s] for s in readers.get(segment) or {segment}}:
                raise Wrong(
                    f"node {processor[segment]} processes {segment}, and has nothing of what it is computed from"
                )
        holders = {segment: {node(of)} for segment, of in owner.items()}
        for target, sources in readers.items():
            for source in sources:
                holders[source].add(node(processor[target]))
        return holders

    # What actors tell

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report of an actor: what has to be sent."""
        match what:
            case Stamped(event):
                for to in self._find_told(event):
                    self.wanted[event.version, name, to] += 1
            case Switched(epoch):
                self._check_switch(name, epoch - 1)
            case Completed(epoch):
                self.completed[name] = epoch
            case Pushed():
                for segment, entries in cut(self.case.layout, what.target, what.entries).items():
                    if name != node(self.plan.processor[segment]):
                        raise Wrong(f"{name} computes {segment}; node {self.plan.processor[segment]} has to")
                    for to in self.holders[segment] - {name}:
                        place = to, what.stamp, segment
                        if place not in self.pending:
                            self.pending[place] = dict(entries), what.cascade
                            continue
                        self.merged += 1
                        known, cascade = self.pending[place]
                        certain = bool(known) and cascade is not None
                        add_to(known, entries)
                        self.pending[place] = known, max(cascade or 0, what.cascade) if certain else None

    def _find_told(self, event: Event) -> Iterable[str]:
        if not self.case.options["dispatch"]:
            return map(node, self.case.layout.nodes)
        table = self.tables.of(event.relation, event.sign)
        writes = table.directive(table.class_of(env_of(table.trigger, event.row))).writes if table else ()
        return {node(self.plan.processor[w.target]) for w in writes}

    def _check_switch(self, name: str, left: int) -> None:
        staggered, count = self.case.options["epochs"] == "staggered", self.case.coordinators
        number = int(name.split()[1])
        self.wanted["token", name, coordinator((number + 1) % count if staggered else number)] += 1
        if left not in self.collected:
            return
        for to in self.since.pop(name, ()):
            self.wanted[("commit", left), name, to] += 1
            self.wanted[("confirmation", left), to, name] += 1
        for other in range(count):
            self.wanted[("complete", left), name, coordinator(other)] += other != number
        for n in self.case.layout.nodes[number::count]:
            self.wanted[("complete", left), name, node(n)] += 1

    # What actors send

    def look(self, now_s: float, sender: str, receiver: str, message: Message) -> None:
        """A message that is sent."""
        match message:
            case Notify(event):
                self.sent[event.version, sender, receiver] += 1
                self.since[sender].add(receiver)
            case Token():
                self.sent["token", sender, receiver] += 1
            case Commit(epoch):
                self.sent[("commit", epoch), sender, receiver] += 1
            case Confirmation(epoch):
                self.sent[("confirmation", epoch), sender, receiver] += 1
            case EpochComplete(epoch):
                self.sent[("complete", epoch), sender, receiver] += 1
            case Push(deltas):
                self._push(sender, receiver, deltas)
            case MapCheckpoint(epoch, maps):
                self._checkpoint(sender, receiver, epoch, maps)
            case PartialCheckpoint():
                self._partial(sender, receiver, message)

    def _once(self, what: Any, sender: str, receiver: str, most: int = 1) -> None:
        """At most so many times while one message is handled."""
        if self.turn[0] != self.simulation.handled:
            self.turn = self.simulation.handled, Counter()
        self.turn[1][what, receiver] += 1
        if self.turn[1][what, receiver] > most:
            raise Wrong(f"{sender} sends {receiver} {what} more than {most} times at once; it is one message")

    def _push(self, sender: str, receiver: str, deltas: tuple[Delta, ...]) -> None:
        versions = {delta.stamp.version for delta in deltas}
        how = self.case.options["coalesce"]
        if (how == "off" and len(deltas) > 1) or (how == "event" and len(versions) > 1):
            raise Wrong(f"{sender} sends {deltas} in one message; {how!r} is to be coalesced")
        if how != "off":
            periods = len(set(self.simulation.actor(sender).outbox.periods.values()))
            self._once(min(versions) if how == "event" else "deltas", sender, receiver, periods)
        for delta in deltas:
            entries, cascade = self.pending.pop((receiver, delta.stamp, delta.segment), ({}, 0))
            if not entries or delta.entries != entries or cascade not in (None, delta.cascade):
                raise Wrong(
                    f"{sender} sends {receiver} {delta}; not sent are {entries}, {cascade} steps down a cascade"
                )
            last = self.checkpoints.get((delta.segment.map, sender, receiver), -1)
            if delta.stamp.version.epoch <= last:
                raise Wrong(f"{sender} sends {receiver} {delta} after its checkpoint of epoch {last}")

    def _checkpoint(self, sender: str, receiver: str, epoch: int, maps: tuple[str, ...]) -> None:
        self._once(("the checkpoint of epoch", epoch), sender, receiver)
        if epoch > self.completed.get(sender, -1):
            raise Wrong(f"{sender} sends checkpoints of epoch {epoch}, and does not know that it is complete")
        for name in maps:
            if epoch <= self.checkpoints.get((name, sender, receiver), -1):
                raise Wrong(f"{sender} sends {receiver} the checkpoint of {name} for epoch {epoch} twice")
            self.checkpoints[name, sender, receiver] = epoch
            if name not in self.cyclic:
                for source in self.plan.map_sources[name]:
                    for other in self.senders[sender, source] - {sender}:
                        if self.checkpoints.get((source, other, sender), -1) < epoch:
                            raise Wrong(
                                f"{sender} sends {name}'s checkpoint of epoch {epoch}; {other} has sent none of {source}"
                            )

    def _partial(self, sender: str, receiver: str, message: PartialCheckpoint) -> None:
        ring = [node(n) for n in self.rings[message.cycle].ring]
        place = ring.index(sender)
        if receiver != ring[(place + 1) % len(ring)]:
            raise Wrong(f"{sender} sends {receiver} a partial checkpoint; the ring is {ring}")
        if place == 0:
            epoch, _, settled = self.rounds.get(message.cycle, (-1, 0, None))
            if settled is None and (message.epoch <= epoch or message.epoch not in self.collected or message.settled):
                raise Wrong(f"{message} starts; the epoch before was {epoch}")
            if settled is not None and (message.epoch != epoch or message.settled != settled):
                raise Wrong(f"{message} goes round; of epoch {epoch} the cycle is {'' if settled else 'not '}settled")
            if settled is None:
                self.rounds[message.cycle] = message.epoch, 0, False
        if receiver == ring[0]:
            epoch, received, _ = self.rounds[message.cycle]
            over = None if message.settled else message.sent == received
            self.rounds[message.cycle] = epoch, message.received, over
            if not message.settled and min(message.sent, message.received) < received:
                raise Wrong(f"{message} counts fewer than the round before, which had {received} received")

    # In the end

    def finish(self) -> Mapping[str, int]:
        """After the run."""
        self.wanted += Counter()
        if self.sent != self.wanted:
            missing, much = self.wanted - self.sent, self.sent - self.wanted
            raise Wrong(f"not sent: {[*missing][:1]}; sent, though nobody has to: {[*much][:1]}")
        left = {place: entries for place, (entries, _) in self.pending.items() if entries}
        if left:
            raise Wrong(f"not sent: {[*left.items()][:1]}")
        # Each out edge has the last epoch's checkpoint.
        last = self.collected[-1:]
        senders = {segment: node(n) for segment, n in self.plan.processor.items()}
        edges = {
            (s.map, senders[s], to): e for s, all_ in self.holders.items() for to in all_ - {senders[s]} for e in last
        }
        if edges != self.checkpoints:
            raise Wrong(f"the last checkpoints are of epochs {self.checkpoints}, and should be {edges}")
        return {"merged": self.merged}
