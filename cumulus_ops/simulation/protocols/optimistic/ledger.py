"""What the optimistic switches promise about messages, looked at from outside: each is there exactly as often as it has to be, and in its turn.

What is expected follows from the directive tables and the case alone, not from what switches and nodes have computed. Bookkeeping of what is
handled is the kernel's: an actor's durable log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from cumulus_ops.simulation.case import Case, Event, Stamp, Version, env_of, read_bound, reads_of
from cumulus_ops.simulation.judge import Stamped, Wrong
from cumulus_ops.simulation.kernel import Handled, Message, Sent, Simulation
from cumulus_ops.simulation.protocols.optimistic.corrections import Wrote
from cumulus_ops.simulation.protocols.optimistic.epochs import Flushed, Grown
from cumulus_ops.simulation.protocols.optimistic.inbox import Waiting
from cumulus_ops.simulation.protocols.optimistic.messages import (
    Answer,
    Batch,
    BatchDue,
    BufferDue,
    Corrective,
    Delta,
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
    Slice,
    TimeOut,
    Token,
    Wanted,
)
from cumulus_ops.simulation.protocols.optimistic.node import Evaluated, Seen, Taken
from cumulus_ops.simulation.run import coordinator, node
from cumulus_ops.simulation.store import Entries, add_to, beginning
from cumulus_ops.simulation.tables import Tables
from m3.dataflow import depth
from m3.evaluate import FAILURES
from m3.program import Trigger
from m3.scalars import variables

__all__ = ["Ledger"]


class Ledger:
    """Of one run."""

    def __init__(self, case: Case, simulation: Simulation, tables: Tables) -> None:
        self.case, self.simulation, self.tables = case, simulation, tables
        self.options = case.options
        self.events: dict[Version, Event] = {}
        self.evaluated: dict[str, dict[Stamp, int]] = {}
        self.flushed: dict[tuple[str, int], dict[str, tuple[Version, int]]] = {}
        self.beyond: set[tuple[str, int]] = set()
        self.written: dict[tuple[str, str], list[tuple[Stamp, Entries]]] = {}
        self.reports = 0

    # --- while it runs

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report."""
        self.reports += 1
        if isinstance(what, Stamped):
            self.events[what.event.version] = what.event
        elif isinstance(what, Evaluated):
            self._see(what.at not in self.evaluated.setdefault(name, {}), "{} has evaluated {} twice", name, what.at)
            self.evaluated[name][what.at] = self.reports
        elif isinstance(what, Flushed):
            known = self.flushed.setdefault((name, what.epoch), {})
            self._see(what.map not in known, "{} has flushed {} twice in epoch {}", name, what.map, what.epoch)
            known[what.map] = what.through, self.reports
        elif isinstance(what, Grown):
            if self.options["log_limit"] and what.by > self.options["log_limit"] and what.epoch < self.case.epochs:
                self.beyond.add((name, what.epoch))
        elif isinstance(what, Taken):
            self._taken(name, what.taken)
        elif isinstance(what, Wrote) and self.options["queries"]:
            self.written.setdefault((name, what.delta.map), []).append((what.delta.at, dict(what.delta.entries)))
        elif isinstance(what, Seen):
            self._seen(name, what)

    @staticmethod
    def _see(right: bool, wrong: str, *what: object) -> None:
        if not right:
            raise Wrong(wrong.format(*what))

    def _taken(self, name: str, taken: tuple[Waiting, ...]) -> None:
        """Messages are handled in the order of their timestamps, and overtake what waits for slices only where bypassing may (3.5)."""
        actor = self.simulation.actor(name)
        waiting: list[Waiting] = actor.inbox.waiting
        if not taken and not waiting:
            return
        operations = [] if self.options["blind"] else actor.logs.operation.operations.values()
        awaited = [(o.at, o.trigger) for o in operations if not o.done]
        if not taken:
            for w in waiting:
                self._see(not self._may(actor, w, awaited), "{} leaves {} waiting for nothing", name, w.message)
            return
        first = taken[-1]
        self._see(self._may(actor, first, awaited, taken), "{} handles {} before its turn", name, first.message)
        expected = []
        if isinstance(first.message, (Push, Corrective)):
            before = [w for w in (*taken, *waiting) if w.sender == first.sender and w.arrival < first.arrival]
            expected = sorted(w.arrival for w in before if isinstance(w.message, (Push, Corrective)))
        found = [w.arrival for w in taken[:-1]]
        self._see(found == expected, "{} handles {} before what was sent before", name, first.message)

    def _may(
        self, actor: Any, waiting: Waiting, awaited: Sequence[tuple[Stamp, int]], taken: Sequence[Waiting] = ()
    ) -> bool:
        """Whether a message need not wait for the updates that still wait for slices."""
        if all(waiting.version <= at.version for at, _ in awaited):
            return True
        if not self.options["bypass"] or isinstance(waiting.message, (Put, Query)):
            return False
        puts = [w.message for w in (*actor.inbox.waiting, *taken) if isinstance(w.message, Put) and w < waiting]
        written = {self._trigger(number).statements[at.statement].target for at, number in awaited}
        written |= {self._trigger(p.trigger).statements[s].target for p in puts for s, _ in p.fetches}
        return not written & self._maps(actor.number, waiting.message)

    def _trigger(self, number: int) -> Trigger:
        return self.case.program.triggers[number]

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
            reads = {(s, r) for s, r, sender, _ in self._moves(message.version) if sender == number}
        trigger = self._trigger(message.trigger)
        return {reads_of(trigger, s)[r].slice.map for s, r in reads}

    def _seen(self, name: str, what: Seen) -> None:
        """A query sees the writes below its timestamp."""
        entries: Entries = {}
        for at, delta in self.written.get((name, what.map), ()):
            if at.version < what.version:
                add_to(entries, delta)
        start = self._start(int(name.removeprefix("node ")), what.map)
        add_to(entries, start)
        self._see(entries == what.entries, "{} answers on {} as of {}: {}", name, what.map, what.version, what.entries)

    def _start(self, number: int, name: str) -> Entries:
        own = [segment for segment in self.case.layout.owned_by(number) if segment.map == name]
        return {k: u for entries in beginning(self.case, own).values() for k, u in entries.items()}

    # --- afterwards

    def finish(self) -> None:
        """Count."""
        for version in self.events:
            self._dispatched(version)
            self._pushed(version)
        self._corrections()
        self._suppressed()
        self._timers()
        self._queries()
        self._flushes()
        self._epochs()
        self._requests()

    @cached_property
    def handled(self) -> dict[str, list[tuple[int, Handled, Message]]]:
        """What each actor has handled, one by one: (place in its log, entry, message)."""
        found: dict[str, list[tuple[int, Handled, Message]]] = {}
        for name, context in self.simulation.contexts.items():
            entries = found[name] = []
            for i, entry in enumerate(context.log):
                message = entry.sent.message
                parts = message.messages if isinstance(message, Batch) else (message,)
                entries += [(i, entry, part) for part in parts]
        return found

    def of(self, kind: type[Message] | tuple[type[Message], ...]) -> Iterator[tuple[str, Sent, Any]]:
        """All messages of a kind: receiver, how it travelled, and what it is."""
        for name, entries in self.handled.items():
            yield from ((name, entry.sent, message) for _, entry, message in entries if isinstance(message, kind))

    def _nodes(self) -> tuple[str, ...]:
        return tuple(map(node, self.case.layout.nodes))

    def _switch(self, name: str) -> int:
        return self.case.layout.nodes.index(int(name.removeprefix("node "))) % self.case.coordinators

    # Updates

    def _of(self, version: Version) -> tuple[Trigger, dict[str, Any]] | None:
        event = self.events[version]
        trigger = self.case.program.trigger(event.relation, event.sign)
        return (trigger, env_of(trigger, event.row)) if trigger else None

    def _moves(self, version: Version) -> set[tuple[int, int, int, int]]:
        """(statement, read, read node, write node) for all that an update reads."""
        owner = self.case.layout.owner
        return {(w.statement, r.read, owner[r.source], owner[w.target]) for w in self._writes(version) for r in w.reads}

    def _writes(self, version: Version) -> tuple[Any, ...]:
        of = self._of(version)
        if of is None:
            return ()
        table = self.tables.by_event[of[0].relation, of[0].sign]
        return table.directive(table.class_of(of[1])).writes

    @cached_property
    def _by_version(self) -> dict[Version, list[tuple[str, Sent, Any]]]:
        found: dict[Version, list[tuple[str, Sent, Any]]] = {}
        for kind in (Fetch, Put, Push):
            for name, sent, message in self.of(kind):
                found.setdefault(message.version, []).append((name, sent, message))
        return found

    def _dispatched(self, version: Version) -> None:
        """One FETCH per read node and one PUT per write node, or one for each of what they ask for."""
        found = Counter(
            (name, type(m).__name__, m.wanted if isinstance(m, Fetch) else m.fetches, tuple(sorted(m.arguments)))
            for name, _, m in self._by_version.get(version, ())
            if not isinstance(m, Push)
        )
        expected = Counter([*self._fetches(version), *self._puts(version)])
        self._see(found == expected, "{} has {}, and not {}", version, [*(found - expected)], [*(expected - found)])

    def _fetches(self, version: Version) -> Iterator[tuple[Any, ...]]:
        wanted: dict[int, dict[tuple[int, int], set[int]]] = {}
        for statement, read, sender, receiver in self._moves(version):
            wanted.setdefault(sender, {}).setdefault((statement, read), set()).add(receiver)
        for n, reads in wanted.items():
            items = [(read, tuple(sorted(nodes))) for read, nodes in sorted(reads.items())]
            for group in [items] if self.options["coalesce"] else [[item] for item in items]:
                names = self._fetch_names(version, [read for read, _ in group])
                if self.options["write_nodes"]:
                    told = tuple(Wanted(*read, nodes) for read, nodes in group)
                else:
                    told = () if self.options["coalesce"] else tuple(Wanted(*read, ()) for read, _ in group)
                yield node(n), "Fetch", told, names

    def _fetch_names(self, version: Version, reads: list[tuple[int, int]]) -> tuple[str, ...]:
        of = self._of(version)
        assert of
        trigger, arguments = of
        names = {v for s, r in reads for key in reads_of(trigger, s)[r].slice.keys for v in variables(key)}
        if self.options["blind"]:
            names |= {v for s in trigger.statements if [*s.reads()] for v in s.variables()}
        if self.options["blind"] or not self.options["write_nodes"]:
            table = self.tables.by_event[trigger.relation, trigger.sign]
            names |= {v for key in table.cuts for v in variables(key)}
        return tuple(sorted(names & set(arguments)))

    def _puts(self, version: Version) -> Iterator[tuple[Any, ...]]:
        senders: dict[int, dict[int, dict[int, set[int]]]] = {}
        owner = self.case.layout.owner
        for write in self._writes(version):
            by_read = senders.setdefault(owner[write.target], {}).setdefault(write.statement, {})
            for read in write.reads:
                by_read.setdefault(read.read, set()).add(owner[read.source])
        of = self._of(version)
        for n, statements in senders.items():
            assert of
            items = [(s, self._counts(of[0], s, by_read)) for s, by_read in sorted(statements.items())]
            items = [(s, counts) for s, counts in items if not (counts and self.options["blind"])]
            for group in ([items] if items else []) if self.options["coalesce"] else [[item] for item in items]:
                names = {v for s, _ in group for v in of[0].statements[s].variables()} & set(of[1])
                yield node(n), "Put", tuple(group), tuple(sorted(names))

    @staticmethod
    def _counts(trigger: Trigger, statement: int, senders: Mapping[int, set[int]]) -> tuple[int, ...]:
        return tuple(len(senders.get(i, ())) for i, _ in enumerate(trigger.statements[statement].reads()))

    def _pushed(self, version: Version) -> None:
        """A PUSH for each FETCH and write node, unless it is suppressed: with all that is read, once."""
        pushes: dict[tuple[str, str], list[Push]] = {}
        for name, sent, message in self._by_version.get(version, ()):
            if isinstance(message, Push):
                pushes.setdefault((sent.sender, name), []).append(message)
        expected: dict[tuple[str, str], set[tuple[int, int]]] = {}
        for statement, read, sender, receiver in self._moves(version):
            if sender != receiver:
                expected.setdefault((node(sender), node(receiver)), set()).add((statement, read))
        suppressed = self.options["suppression"] != "off"
        for pair in expected.keys() | pushes.keys():
            reads, found = expected.get(pair, set()), pushes.get(pair, [])
            got = {read for push in found for part in push.slices for read in part.reads}
            whole = got <= reads if suppressed and not self.options["blind"] else got == reads
            self._see(whole, "{} has pushed {} of {} to {}, and not {}", pair[0], got, version, pair[1], reads)
            self._slices(version, f"{version} from {pair[0]} to {pair[1]}", found)

    def _slices(self, version: Version, where: str, found: list[Push]) -> None:
        """How they are put together."""
        of = self._of(version)
        assert of
        parts = [part for push in found for part in push.slices]
        if self.options["coalesce"]:
            self._see(len(found) <= 1, "{}: {} PUSHes", where, len(found))
        if not self.options["coalesce"]:
            self._see(all(len(push.slices) == 1 for push in found), "{}: not one by one", where)
        for part in parts:
            same = {self._what(version, *of, read) for read in part.reads}
            self._see(len(same) == 1, "{}: {} is several slices", where, part)
            self._see({what[2] for what in same} == {part.key}, "{}: {} is of another key", where, part)
        if self.options["suppression"] == "off":
            whats = [self._what(version, *of, part.reads[0]) for part in parts]
            if self.options["coalesce"]:
                self._see(len(whats) == len(set(whats)), "{}: a slice is there twice", where)
            self._see(all(p.at is None and p.entries is not None for p in parts), "{}: a slice is missing", where)

    def _what(self, version: Version, trigger: Trigger, arguments: dict[str, Any], read: tuple[int, int]) -> Any:
        """Of which reference, below which stamp."""
        of = reads_of(trigger, read[0])[read[1]].slice
        try:
            key = of.bound(arguments)
        except FAILURES:
            key = None
        return of.map, of.path, key, read_bound(self.case.program, version, read[0], of.after)

    def _corrections(self) -> None:
        """Corrections say something, of one TSx, and have come no further than their map."""
        depths = depth(self.case.program)
        for name, sent, message in self.of(Corrective):
            where = sent.sender, name, message
            self._see(
                all(d.at.version == message.version for d in message.deltas), "{} to {}: {} is of several TSx", *where
            )
            self._see(
                all(d.entries and all(d.entries.values()) for d in message.deltas), "{} to {}: {} says nothing", *where
            )
            deepest = max(depths[d.map] for d in message.deltas)
            self._see(1 <= message.hops <= deepest + 1, "{} to {}: {} has passed {} maps", *where, message.hops)
            if not self.options["coalesce"]:
                self._see(len(message.deltas) == 1, "{} to {}: {} is several", *where)

    def _suppressed(self) -> None:
        """No version is sent to somebody who has it (3.5, PUSH optimization)."""
        if self.options["suppression"] == "off":
            return
        known: dict[tuple[Any, ...], dict[Stamp, Entries]] = {}
        for name, sent, message in self.of((Push, Corrective)):
            pair = sent.sender, name
            if isinstance(message, Push):
                for part in message.slices:
                    self._news(pair, message, part, known)
            elif self.options["suppression"] == "values":
                for delta in message.deltas:
                    self._correct(pair, delta, known)

    def _news(self, pair: tuple[str, str], push: Push, part: Slice, known: dict[Any, dict[Stamp, Entries]]) -> None:
        if part.entries is None or part.at is None:
            return
        statement, read = part.reads[0]
        of = reads_of(self._trigger(push.trigger), statement)[read].slice
        versions = known.setdefault((*pair, of.map, of.path, part.key), {})
        news = part.at not in versions
        if self.options["suppression"] == "values":
            news = versions.get(part.at) != part.entries
        self._see(news, "{} has sent {} {}, which it has", *pair, part)
        versions[part.at] = dict(part.entries)

    def _correct(self, pair: tuple[str, str], delta: Delta, known: dict[Any, dict[Stamp, Entries]]) -> None:
        for (sender, receiver, name, path, key), versions in known.items():
            if (sender, receiver, name) == (*pair, delta.map):
                concerned = {k: u for k, u in delta.entries.items() if tuple(k[i] for i in path) == key}
                before = max((at for at in versions if at <= delta.at), default=None)
                if concerned and before is not None:
                    versions.setdefault(delta.at, dict(versions[before]))
                for at, entries in versions.items():
                    if at >= delta.at:
                        add_to(entries, concerned)

    def _timers(self) -> None:
        """What is held back is held back for its period, and no longer."""
        depths = depth(self.case.program)
        for name, context in self.simulation.contexts.items():
            until: dict[Message, float] = {}
            busy_s = {entry.sent.number: entry.until_s - entry.at_s for entry in context.log}
            for entry in context.log:
                sent, message = entry.sent, entry.sent.message
                if sent.sender != name or not isinstance(message, (BufferDue, BatchDue, TimeOut)):
                    continue
                period_s = self._period_s(message, depths)
                took_s = sent.arrived_s - sent.sent_s
                self._see(
                    period_s - 1e-9 <= took_s <= period_s + busy_s.get(sent.cause or 0, 0.0) + 1e-9,
                    "{}: {} comes after {} s, and not {}",
                    name,
                    message,
                    took_s,
                    period_s,
                )
                self._see(
                    sent.sent_s >= until.get(message, 0.0), "{}: {} comes more often than it should", name, message
                )
                until[message] = entry.at_s

    def _period_s(self, message: Message, depths: Mapping[str, int]) -> float:
        period_s: float
        if isinstance(message, BufferDue):
            period_s = self.options["buffer_s"] * (1 + depths[message.map] * self.options["intelligent"])
        else:
            period_s = self.options["batch_s" if isinstance(message, BatchDue) else "time_out_s"]
        return period_s

    # Queries

    def _queries(self) -> None:
        """A QUERY for each node that has some of the map, and an ANSWER from it."""
        owners: dict[str, set[int]] = {}
        for segment, owner in self.case.layout.owner.items():
            owners.setdefault(segment.map, set()).add(owner)
        asked: dict[tuple[Version, str], list[str]] = {}
        for name, _, query in self.of(Query):
            asked.setdefault((query.version, query.map), []).append(name)
        answers: dict[tuple[Version, str], list[str]] = {}
        for _, sent, answer in self.of(Answer):
            answers.setdefault((answer.version, answer.map), []).append(sent.sender)
        for what, names in asked.items():
            nodes = sorted(map(node, owners[what[1]]))
            self._see(sorted(names) == nodes == sorted(answers.get(what, ())), "{} is asked of {}", what, names)

    # Epochs

    def _flushes(self) -> None:
        """A map is flushed as far as all that it is computed from, and as all is evaluated; and who reads it is told, once."""
        feeders: set[tuple[tuple[str, str], tuple[str, str]]] = set()
        owner = self.case.layout.owner
        for table in self.tables.by_event.values():
            for read in table.possible().reads:
                source, target = (
                    (read.source.map, node(owner[read.source])),
                    (read.target.map, node(owner[read.target])),
                )
                feeders.add((source, target))
        told = Counter((s.sender, n, m.epoch, m.maps) for n, s, m in self.of(Flush))
        expected: Counter[tuple[Any, ...]] = Counter()
        for (name, epoch), maps in self.flushed.items():
            for what, (through, when) in maps.items():
                self._see(
                    through >= Version(epoch + 1, 0, 0), "{} flushes {} in {} through {}", name, what, epoch, through
                )
                readers = {reader for source, (_, reader) in feeders if source == (what, name) and reader != name}
                expected.update((name, reader, epoch, ((what, through),)) for reader in readers)
                sources = [s for s, target in feeders if target == (what, name)]
                known = [self.flushed[n, epoch].get(m, (Version(-1, 0, 0), 0)) for m, n in sources]
                self._see(
                    all(through <= t and when > w for t, w in known),
                    "{} flushes {} through {} too far",
                    name,
                    what,
                    through,
                )
                self._evaluated(name, what, through, when)
        self._see(told == expected, "flushes: {}, and not {}", [*(told - expected)], [*(expected - told)])

    def _evaluated(self, name: str, what: str, through: Version, when: int) -> None:
        """By then all updates up to there have been evaluated; without PUTs a node knows this of the map only."""
        for at, target in self._own.get(name, ()):
            if at.version <= through and (target == what or not self.options["blind"]):
                done = self.evaluated.get(name, {}).get(at)
                self._see(done is not None and done < when, "{} is not done with {} of {}", name, at, through)

    @cached_property
    def _own(self) -> dict[str, set[tuple[Stamp, str]]]:
        """What each node has to evaluate, and which map it writes."""
        own: dict[str, set[tuple[Stamp, str]]] = {}
        for version in self.events:
            for write in self._writes(version):
                name, at = node(self.case.layout.owner[write.target]), Stamp(version, write.statement)
                own.setdefault(name, set()).add((at, write.target.map))
        return own

    def _epochs(self) -> None:
        """EPOCH END, READY, COMMIT and the token: each as often as the paper says, and with the least of all."""
        switches, epochs = range(self.case.coordinators), range(self.case.epochs)
        names = self._nodes()
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
                least = min((of[n] for n in names if self._switch(n) == s and of[n]), default=None)
                readies += [(e, coordinator(s), coordinator(t), least) for t in switches if t != s]
            through = min((v for v in of.values() if v), default=None)
            commits += [(e, coordinator(self._switch(n)), n, through) for n in names]
            if e and len(switches) > 1:
                tokens.append((e, coordinator((e - 1) % len(switches)), coordinator(holder)))
        self._same("EPOCH END", ends, ((m.epoch, s.sender, n) for n, s, m in self.of(EpochEnd)))
        self._same("the token", tokens, ((m.epoch, s.sender, n) for n, s, m in self.of(Token)))
        self._same("EPOCH COMMIT", commits, ((m.epoch, s.sender, n, m.through) for n, s, m in self.of(EpochCommit)))
        later = Version(self.case.epochs + 1, 0, 0)
        found = ((m.epoch, s.sender, n, m.through if m.through < later else None) for n, s, m in self.of(EpochReady))
        self._same("EPOCH READY", readies, found)

    def _same(self, what: str, expected: Iterable[Any], found: Iterable[Any]) -> None:
        there, wanted = Counter(found), Counter(expected)
        self._see(there == wanted, "{}: {}, and not {}", what, [*(there - wanted)], [*(wanted - there)])

    def _requests(self) -> None:
        """EPOCH END REQUEST, once when a node's logs have grown beyond the limit; from there it goes round until the epoch has ended."""
        requests = [(n, s, m) for n, s, m in self.of(EpochEndRequest)]
        asked = [(s.sender, n, m.epoch) for n, s, m in requests if s.sender.startswith("node")]
        self._same("requests", ((n, coordinator(self._switch(n)), e) for n, e in self.beyond), asked)
        if self.options["batch_s"]:
            return
        forwarded: dict[int | None, list[str]] = {}
        for name, sent, _ in requests:
            if sent.sender.startswith("coordinator"):
                forwarded.setdefault(sent.cause, []).append(name)
        for switch in range(self.case.coordinators):
            self._forwarded(switch, forwarded)

    def _forwarded(self, switch: int, forwarded: Mapping[int | None, list[str]]) -> None:
        """A switch passes a request on, unless the epoch is over, or it can end it."""
        name, count = coordinator(switch), self.case.coordinators
        log = [entry for _, entry, _ in self.handled[name]]
        places = {entry.sent.number: i for i, entry in enumerate(log)}
        left = {m.epoch: places[s.cause] for _, s, m in self.of(EpochEnd) if s.sender == name and s.cause is not None}
        got = {m.epoch: places[s.number] for n, s, m in self.of(Token) if n == name} | ({0: -1} if not switch else {})
        for epoch, place in left.items():
            why = log[place].sent.message
            right = isinstance(why, (EpochEndRequest, EpochEnd)) or why == EpochDue(epoch)
            self._see(right, "{} ends epoch {} because of {}", name, epoch, why)
        for i, entry in enumerate(log):
            message = entry.sent.message
            if not isinstance(message, EpochEndRequest):
                continue
            over = left.get(message.epoch, len(log)) < i
            mine = message.epoch in got and got[message.epoch] < i
            passed = forwarded.get(entry.sent.number, [])
            on = [] if over or mine or count == 1 else [coordinator((switch + 1) % count)]
            self._see(passed == on, "{} passes {} on to {}, and not {}", name, message, passed, on)
            if mine and not over:
                self._see(left.get(message.epoch) == i, "{} has the token, and does not end {}", name, message.epoch)
