"""The optimistic switches as a whole: who is there, what can be chosen, and what is watched.

Watched are how epochs end (:class:`Rounds`: every message of section 3.4 once, and with the least of all timestamps), turns and timers
(:class:`Turns`), and each update's messages (:class:`~cumulus_papers.protocols.optimistic.updates.Updates`).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from cumulus_papers.case import Case, Event, Stamp, Version, reads_of
from cumulus_papers.kernel import Message, Simulation
from cumulus_papers.protocols.optimistic.corrections import Corrected, Dispatch, Flushed, Grown, Late, Wrote
from cumulus_papers.protocols.optimistic.messages import (
    Answer,
    Asked,
    BatchDue,
    BufferDue,
    Corrective,
    EpochCommit,
    EpochDue,
    EpochEnd,
    EpochEndRequest,
    EpochReady,
    Fetch,
    Flush,
    Push,
    Put,
    Query,
    TimeOut,
    Token,
)
from cumulus_papers.protocols.optimistic.node import Absorbed, Evaluated, Node, Seen, Suppressed, Taken, Waiting
from cumulus_papers.protocols.optimistic.switch import Answered, Client, Ended, Holds, Switch
from cumulus_papers.protocols.optimistic.updates import Book, Updates
from cumulus_papers.run import (
    Committed,
    Entries,
    Maps,
    Spec,
    Stamped,
    Wrong,
    add_to,
    beginning,
    coordinator,
    node,
    serial,
)
from m3.dataflow import depth

__all__ = ["OPTIMISTIC", "Rounds", "Turns"]


class Rounds:
    """Of one run."""

    def __init__(self, book: Book) -> None:
        self.book, self.case, self.options = book, book.case, book.case.options
        self.evaluated: dict[str, dict[Stamp, int]] = {}
        self.flushed: dict[tuple[str, int], dict[str, tuple[Version, int]]] = {}
        self.beyond: set[tuple[str, int]] = set()
        self.limit: float = self.options["log_limit"] or math.inf
        self.reports = 0

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report."""
        self.reports += 1
        if isinstance(what, Evaluated):
            known = self.evaluated.setdefault(name, {})
            self.book.see(what.at not in known, "{} has evaluated {} twice", name, what.at)
            known[what.at] = self.reports
        elif isinstance(what, Flushed):
            flushed = self.flushed.setdefault((name, what.epoch), {})
            self.book.see(what.map not in flushed, "{} has flushed {} twice in epoch {}", name, what.map, what.epoch)
            flushed[what.map] = what.through, self.reports
        elif isinstance(what, Grown) and what.epoch < self.case.epochs and what.by > self.limit:
            self.beyond.add((name, what.epoch))

    def finish(self) -> None:
        """Look at what was sent."""
        self._flushes()
        self._epochs()
        self._requests()

    def _switch(self, name: str) -> int:
        return self.case.layout.nodes.index(int(name.removeprefix("node "))) % self.case.coordinators

    def _flushes(self) -> None:
        """A map is flushed as far as all that it is computed from, and as all is evaluated; and who reads it is told, once."""
        feeders: set[tuple[tuple[str, str], tuple[str, str]]] = set()
        owner = self.case.layout.owner
        for table in self.book.tables.by_event.values():
            for read in table.possible().reads:
                source, target = (
                    (read.source.map, node(owner[read.source])),
                    (read.target.map, node(owner[read.target])),
                )
                feeders.add((source, target))
        told = Counter((s.sender, n, m.epoch, m.maps) for n, s, m in self.book.of(Flush))
        expected: Counter[tuple[Any, ...]] = Counter()
        for (name, epoch), maps in self.flushed.items():
            for what, (through, when) in maps.items():
                self.book.see(
                    through >= Version(epoch + 1, 0, 0), "{} flushes {} in {} through {}", name, what, epoch, through
                )
                readers = {reader for source, (_, reader) in feeders if source == (what, name) and reader != name}
                expected.update((name, reader, epoch, ((what, through),)) for reader in readers)
                sources = [s for s, target in feeders if target == (what, name)]
                known = [self.flushed[n, epoch].get(m, (Version(-1, 0, 0), 0)) for m, n in sources]
                self.book.see(
                    all(through <= t and when > w for t, w in known),
                    "{} flushes {} through {} too far",
                    name,
                    what,
                    through,
                )
                self._check_evaluated(name, what, through, when)
        self.book.see(told == expected, "flushes: {}, and not {}", [*(told - expected)], [*(expected - told)])

    def _check_evaluated(self, name: str, what: str, through: Version, when: int) -> None:
        """By then all updates up to there have been evaluated; without PUTs a node knows this of the map only."""
        for at, target in self._own.get(name, ()):
            if at.version <= through and (target == what or not self.options["blind"]):
                done = self.evaluated.get(name, {}).get(at)
                self.book.see(done is not None and done < when, "{} is not done with {} of {}", name, at, through)

    @cached_property
    def _own(self) -> dict[str, set[tuple[Stamp, str]]]:
        """What each node has to evaluate, and which map it writes."""
        own: dict[str, set[tuple[Stamp, str]]] = {}
        for version in self.book.events:
            for write in self.book.writes(version):
                name, at = node(self.case.layout.owner[write.target]), Stamp(version, write.statement)
                own.setdefault(name, set()).add((at, write.target.map))
        return own

    def _epochs(self) -> None:
        """EPOCH END, READY, COMMIT and the token: each as often as the paper says, and with the least of all."""
        switches, epochs = range(self.case.coordinators), range(self.case.epochs)
        names = self.book.nodes()
        ends: list[tuple[Any, ...]] = []
        readies: list[tuple[Any, ...]] = []
        commits: list[tuple[Any, ...]] = []
        tokens: list[tuple[Any, ...]] = []
        for e in epochs:
            holder = e % len(switches)
            ends += [(e, coordinator(holder), coordinator(s)) for s in switches if s != holder]
            ends += [(e, coordinator(s), n) for s in switches for n in names]
            of = {n: min((t for t, _ in self.flushed.get((n, e), {}).values()), default=None) for n in names}
            readies += [(e, n, coordinator(self._switch(n)), of[n]) for n in names]
            for s in switches:
                least = min((v for n in names if self._switch(n) == s and (v := of[n])), default=None)
                readies += [(e, coordinator(s), coordinator(t), least) for t in switches if t != s]
            through = min((v for v in of.values() if v), default=None)
            commits += [(e, coordinator(self._switch(n)), n, through) for n in names]
            if e and len(switches) > 1:
                tokens.append((e, coordinator((e - 1) % len(switches)), coordinator(holder)))
        self._same("EPOCH END", ends, ((m.epoch, s.sender, n) for n, s, m in self.book.of(EpochEnd)))
        self._same("the token", tokens, ((m.epoch, s.sender, n) for n, s, m in self.book.of(Token)))
        self._same(
            "EPOCH COMMIT", commits, ((m.epoch, s.sender, n, m.through) for n, s, m in self.book.of(EpochCommit))
        )
        later = Version(self.case.epochs + 1, 0, 0)
        found = (
            (m.epoch, s.sender, n, m.through if m.through < later else None) for n, s, m in self.book.of(EpochReady)
        )
        self._same("EPOCH READY", readies, found)

    def _same(self, what: str, expected: Iterable[Any], found: Iterable[Any]) -> None:
        there, wanted = Counter(found), Counter(expected)
        self.book.see(there == wanted, "{}: {}, and not {}", what, [*(there - wanted)], [*(wanted - there)])

    def _requests(self) -> None:
        """EPOCH END REQUEST, once when a node's logs have grown beyond the limit; from there it goes round until the epoch has ended."""
        requests = [(n, s, m) for n, s, m in self.book.of(EpochEndRequest)]
        asked = [(s.sender, n, m.epoch) for n, s, m in requests if s.sender.startswith("node")]
        self._same("requests", ((n, coordinator(self._switch(n)), e) for n, e in self.beyond), asked)
        if self.options["batch_s"]:
            return
        forwarded: dict[int | None, list[str]] = {}
        for name, sent, _ in requests:
            if sent.sender.startswith("coordinator"):
                forwarded.setdefault(sent.cause, []).append(name)
        for switch in range(self.case.coordinators):
            self._check_forwarded(switch, forwarded)

    def _check_forwarded(self, switch: int, forwarded: Mapping[int | None, list[str]]) -> None:
        """A switch passes a request on, unless the epoch is over, or it can end it."""
        name, count = coordinator(switch), self.case.coordinators
        log = [entry for _, entry, _ in self.book.handled[name]]
        places = {entry.sent.number: i for i, entry in enumerate(log)}
        left = {
            m.epoch: places[s.cause] for _, s, m in self.book.of(EpochEnd) if s.sender == name and s.cause is not None
        }
        got = {m.epoch: places[s.number] for n, s, m in self.book.of(Token) if n == name} | (
            {0: -1} if not switch else {}
        )
        for epoch, place in left.items():
            why = log[place].sent.message
            right = isinstance(why, (EpochEndRequest, EpochEnd)) or why == EpochDue(epoch)
            self.book.see(right, "{} ends epoch {} because of {}", name, epoch, why)
        for i, entry in enumerate(log):
            message = entry.sent.message
            if not isinstance(message, EpochEndRequest):
                continue
            over = left.get(message.epoch, len(log)) < i
            mine = message.epoch in got and got[message.epoch] < i
            passed = forwarded.get(entry.sent.number, [])
            on = [] if over or mine or count == 1 else [coordinator((switch + 1) % count)]
            self.book.see(passed == on, "{} passes {} on to {}, and not {}", name, message, passed, on)
            if mine and not over:
                self.book.see(
                    left.get(message.epoch) == i, "{} has the token, and does not end {}", name, message.epoch
                )


# In which order messages are handled, when what is held back is sent, and what queries see.


class Turns:
    """Of one run."""

    def __init__(self, book: Book) -> None:
        self.book, self.case, self.options = book, book.case, book.case.options
        self.written: dict[tuple[str, str], list[tuple[Stamp, Entries]]] = {}

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report."""
        if isinstance(what, Taken):
            self._check_taken(name, what.taken)
        elif isinstance(what, Wrote) and self.options["queries"]:
            self.written.setdefault((name, what.delta.map), []).append((what.delta.at, dict(what.delta.entries)))
        elif isinstance(what, Seen):
            # A query sees the writes below its timestamp.
            entries: Entries = {}
            for at, delta in self.written.get((name, what.map), ()):
                if at.version < what.version:
                    add_to(entries, delta)
            number = int(name.removeprefix("node "))
            own = [segment for segment in self.case.layout.owned_by(number) if segment.map == what.map]
            for start in beginning(self.case, own).values():
                add_to(entries, start)
            self.book.see(
                entries == what.entries, "{} answers on {} as of {}: {}", name, what.map, what.version, what.entries
            )

    def finish(self) -> None:
        """Look at timers and queries."""
        self._timers()
        # A QUERY for each node that has some of the map, and an ANSWER from it.
        owners: dict[str, set[int]] = {}
        for segment, owner in self.case.layout.owner.items():
            owners.setdefault(segment.map, set()).add(owner)
        asked: dict[tuple[Version, str], list[str]] = {}
        for name, _, query in self.book.of(Query):
            asked.setdefault((query.version, query.map), []).append(name)
        answers: dict[tuple[Version, str], list[str]] = {}
        for _, sent, answer in self.book.of(Answer):
            answers.setdefault((answer.version, answer.map), []).append(sent.sender)
        for what, names in asked.items():
            nodes = sorted(map(node, owners[what[1]]))
            self.book.see(sorted(names) == nodes == sorted(answers.get(what, ())), "{} is asked of {}", what, names)

    def _check_taken(self, name: str, taken: tuple[Waiting, ...]) -> None:
        """Messages are handled in the order of their timestamps, and overtake what waits for slices only where bypassing may (3.5)."""
        actor = self.book.simulation.actor(name)
        waiting: list[Waiting] = actor.inbox.waiting
        if not taken and not waiting:
            return
        operations = [] if self.options["blind"] else actor.logs.operation.operations.values()
        awaited = [(o.at, o.trigger) for o in operations if not o.done]
        if not taken:
            for w in waiting:
                self.book.see(not self._may(actor, w, awaited), "{} leaves {} waiting for nothing", name, w.message)
            return
        first = taken[-1]
        self.book.see(self._may(actor, first, awaited, taken), "{} handles {} before its turn", name, first.message)
        expected = []
        if isinstance(first.message, (Push, Corrective)):
            before = [w for w in (*taken, *waiting) if w.sender == first.sender and w.arrival < first.arrival]
            expected = sorted(w.arrival for w in before if isinstance(w.message, (Push, Corrective)))
        found = [w.arrival for w in taken[:-1]]
        self.book.see(found == expected, "{} handles {} before what was sent before", name, first.message)

    def _may(
        self, actor: Any, waiting: Waiting, awaited: Sequence[tuple[Stamp, int]], taken: Sequence[Waiting] = ()
    ) -> bool:
        """Whether a message need not wait for the updates that still wait for slices."""
        if all(waiting.version <= at.version for at, _ in awaited):
            return True
        if not self.options["bypass"] or isinstance(waiting.message, (Put, Query)):
            return False
        puts = [w.message for w in (*actor.inbox.waiting, *taken) if isinstance(w.message, Put) and w < waiting]
        written = {self.book.trigger(number).statements[at.statement].target for at, number in awaited}
        written |= {self.book.trigger(p.trigger).statements[s].target for p in puts for s, _ in p.fetches}
        return not written & self._maps(actor.number, waiting.message)

    def _maps(self, number: int, message: Message) -> set[str]:
        """What a message is about."""
        if isinstance(message, Corrective):
            return {d.map for d in message.deltas}
        assert isinstance(message, (Push, Fetch))
        if isinstance(message, Push):
            reads = {read for part in message.slices for read in part.reads}
        elif message.wanted:
            reads = {(w.statement, w.read) for w in message.wanted}
        else:
            reads = {(s, r) for s, r, sender, _ in self.book.moves(message.version) if sender == number}
        trigger = self.book.trigger(message.trigger)
        return {reads_of(trigger, s)[r].slice.map for s, r in reads}

    def _timers(self) -> None:
        """What is held back is held back for its period, and no longer."""
        depths = depth(self.case.program)
        for name, context in self.book.simulation.contexts.items():
            until: dict[Message, float] = {}
            busy_s = {entry.sent.number: entry.until_s - entry.at_s for entry in context.log}
            for entry in context.log:
                sent, message = entry.sent, entry.sent.message
                if sent.sender != name or not isinstance(message, (BufferDue, BatchDue, TimeOut)):
                    continue
                period_s: float
                if isinstance(message, BufferDue):
                    # With intelligent buffering the period grows with the map's depth.
                    period_s = self.options["buffer_s"] * (1 + depths[message.map] * self.options["intelligent"])
                else:
                    period_s = self.options["batch_s" if isinstance(message, BatchDue) else "time_out_s"]
                took_s = sent.arrived_s - sent.sent_s
                self.book.see(
                    period_s - 1e-9 <= took_s <= period_s + busy_s.get(sent.cause or 0, 0.0) + 1e-9,
                    "{}: {} comes after {} s, and not {}",
                    name,
                    message,
                    took_s,
                    period_s,
                )
                self.book.see(
                    sent.sent_s >= until.get(message, 0.0), "{}: {} comes more often than it should", name, message
                )
                until[message] = entry.at_s


# All together.


CLIENT = "client"


class System:
    """Watches a run: the papers' invariants, and what has happened."""

    def __init__(self, case: Case, simulation: Simulation, dispatch: Dispatch) -> None:
        self.case, self.simulation, self.dispatch = case, simulation, dispatch
        self.counts: Counter[str] = Counter()
        self.events: dict[Version, Event] = {}
        self.answers: list[Answered] = []
        self.acyclic = dispatch.acyclic
        self.committed = Version(-1, 0, 0)
        book = Book(case, simulation, dispatch.tables)
        self.watching: list[Book | Updates | Turns | Rounds] = [book, Updates(book), Turns(book), Rounds(book)]

    def maps(self) -> Maps:
        """What all nodes have, tentatively."""
        maps: Maps = {}
        for n in self.case.layout.nodes:
            for name, entries in self.simulation.actor(node(n)).maps().items():
                maps.setdefault(name, {}).update(entries)
        return maps

    def watch(self, now_s: float, name: str, what: object) -> None:
        """See that the papers' promises are kept."""
        for watching in self.watching:
            watching.watch(now_s, name, what)
        if isinstance(what, Stamped):
            self.events[what.event.version] = what.event
        elif isinstance(what, Committed):
            self.committed = max(self.committed, what.through)
            actor = self.simulation.actor(name)
            if actor.epochs.through != what.through:
                raise Wrong(f"{name} has committed {what.through}, and notes {actor.epochs.through}")
            if stale := actor.logs.stale(what.through):
                raise Wrong(f"{name} has committed {what.through}, and kept older entries in its {stale[0]}")
        elif isinstance(what, Late):
            raise Wrong(f"{name} got a {what.kind} for {what.version}, after it had committed {what.committed}")
        elif isinstance(what, Corrected):
            self.counts["corrections"] += 1
            self.counts["longest cascade"] = max(self.counts["longest cascade"], what.hops)
            if what.hops > self.dispatch.longest_path and self.acyclic:
                raise Wrong(
                    f"{name}: a cascade has passed {what.hops} maps, the longest path is {self.dispatch.longest_path}"
                )
            if not what.at < what.below:
                raise Wrong(f"{name} corrects {what.map} at {what.at}, which is not before the read at {what.below}")
        elif isinstance(what, Suppressed):
            self.counts["pushes suppressed"] += what.yes
        elif isinstance(what, Absorbed):
            if what.before != what.after:
                raise Wrong(f"{name}: a correction has made an entry in the SendLog")
        elif isinstance(what, Answered):
            self.answers.append(what)
        elif isinstance(what, (Holds, Ended)):
            if what.switch != what.epoch % self.case.coordinators:
                raise Wrong(f"{name} has the token in epoch {what.epoch}, out of turn")
            kind = f"{type(what).__name__.lower()} {what.epoch}"
            self.counts[kind] += 1
            if self.counts[kind] > 1:
                raise Wrong(f"{name}: the token of epoch {what.epoch} is there twice")

    def finish(self) -> Mapping[str, int]:
        """See that all epochs are committed, and how good the answers were."""
        if self.committed < Version(self.case.epochs, 0, 0) and self.case.epochs:
            raise Wrong(f"{self.case.epochs} epochs have ended, and are committed only through {self.committed}")
        if self._strict() and self.counts["corrections"]:
            raise Wrong("one switch, everything in its order, and yet there were corrections")
        if len(self.answers) != self.case.options["queries"]:
            raise Wrong(f"{len(self.answers)} of {self.case.options['queries']} queries were answered")
        for watching in self.watching:
            watching.finish()
        for answer in self.answers:
            right = serial(self.case.program, self.events, answer.version).get(answer.map, {}) == answer.entries
            self.counts["answers right" if right else "answers wrong"] += 1
            if not right and self._strict():
                raise Wrong(
                    f"the answer on {answer.map} as of {answer.version} is {answer.entries}: with one switch it is final"
                )
        for kind in [k for k in self.counts if k.startswith(("holds", "ended"))]:
            del self.counts[kind]
        return self.counts

    def _strict(self) -> bool:
        """One switch, everything in its order: no dependency can be violated."""
        options = self.case.options
        loose = options["bypass"] or options["blind"] or options["suppression"] != "off"
        after = any(r.after for t in self.case.program.triggers for s in t.statements for r in s.reads())
        return self.case.coordinators == 1 and self.case.program.semantics == "snapshot" and not loose and not after


def build(case: Case, simulation: Simulation) -> System:
    """Add switches, nodes and a client, and let the first epoch begin."""
    dispatch = Dispatch(case.program, case.layout)
    for s in range(case.coordinators):
        simulation.add(coordinator(s), lambda here, s=s: Switch(here, case, s, dispatch))  # type: ignore[misc]
    for n in case.layout.nodes:
        simulation.add(node(n), lambda here, n=n: Node(here, case, n, dispatch))  # type: ignore[misc]
    simulation.add(CLIENT, Client)
    if case.epochs:
        simulation.inject(case.epoch_s, coordinator(0), EpochDue(0))
    choose = random.Random(f"client {case.seed}")
    for _ in range(case.options["queries"]):
        name = choose.choice(case.program.maps).name
        at_s = choose.uniform(0, case.epoch_s * max(1, case.epochs))
        simulation.inject(at_s, CLIENT, Asked(coordinator(choose.randrange(case.coordinators)), name))
    return System(case, simulation, dispatch)


KINDS = (
    "Fetch",
    "Put",
    "Push",
    "Corrective",
    "Ask",
    "Query",
    "Answer",
    "Result",
    "EpochEnd",
    "EpochEndRequest",
    "EpochReady",
    "EpochCommit",
    "Flush",
    "Token",
    "Batch",
)
OPTIMISTIC = Spec(
    "optimistic",
    build,
    KINDS,
    {
        # Section 3.5, in its order; all are off by default, but for one message per source, destination and TS (3.2).
        "bypass": (False, True),
        "blind": (False, False, True),
        "suppression": ("off", "off", "timestamps", "values"),
        "missing": ("time-out", "optimistic"),
        "time_out_s": (0.002, 0.02),
        "write_nodes": (True, False),
        "buffer_s": (0.0, 0.0, 0.002, 0.02),
        "intelligent": (False, True),
        "coalesce": (True, False),
        "batch_s": (0.0, 0.0, 0.002),
        # Section 3.4: entries that a node's logs may grow by until it wants the epoch to end.
        "log_limit": (None, None, 40, 150),
        "queries": (0, 3),
    },
    acyclic=True,
)
