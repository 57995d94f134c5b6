"""FETCH, PUT, PUSH and corrections: each is there exactly as often as it has to be, with what it has to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from cumulus_papers.case import Case, Event, Stamp, Version, read_bound, reads_of
from cumulus_papers.kernel import Handled, Message, Sent, Simulation
from cumulus_papers.layout import Tables, env_of
from cumulus_papers.protocols.optimistic.messages import (
    Batch,
    Corrective,
    Delta,
    Fetch,
    Push,
    Put,
    Slice,
    Wanted,
)
from cumulus_papers.run import Entries, Stamped, Wrong, add_to, node
from m3.dataflow import depth, is_cyclic, strata
from m3.evaluate import FAILURES
from m3.program import Trigger
from m3.scalars import variables

__all__ = ["Book", "Updates"]


# What all that watches the optimistic switches knows: the case, the events, what everybody has handled.


class Book:
    """Of one run. What everybody has handled is in the kernel's durable logs; what should be is computed from the directive tables and the case
    alone, and not from what switches and nodes make of them."""

    def __init__(self, case: Case, simulation: Simulation, tables: Tables) -> None:
        self.case, self.simulation, self.tables = case, simulation, tables
        self.events: dict[Version, Event] = {}

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report."""
        if isinstance(what, Stamped):
            self.events[what.event.version] = what.event

    def finish(self) -> None:
        """Nothing to complain of."""

    @staticmethod
    def see(right: bool, wrong: str, *what: object) -> None:
        """Raise Wrong, with what it is about, where something is not right."""
        if not right:
            raise Wrong(wrong.format(*what))

    def trigger(self, number: int) -> Trigger:
        """A trigger, by its number."""
        return self.case.program.triggers[number]

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

    def nodes(self) -> tuple[str, ...]:
        """All nodes, by name."""
        return tuple(map(node, self.case.layout.nodes))

    def update(self, version: Version) -> tuple[Trigger, dict[str, Any]] | None:
        """The trigger of an update, and its arguments."""
        event = self.events[version]
        trigger = self.case.program.trigger(event.relation, event.sign)
        return (trigger, env_of(trigger, event.row)) if trigger else None

    def moves(self, version: Version) -> set[tuple[int, int, int, int]]:
        """(statement, read, read node, write node) for all that an update reads."""
        owner = self.case.layout.owner
        return {(w.statement, r.read, owner[r.source], owner[w.target]) for w in self.writes(version) for r in w.reads}

    def writes(self, version: Version) -> tuple[Any, ...]:
        """The updates' writes, with what they read, by segments."""
        of = self.update(version)
        if of is None:
            return ()
        table = self.tables.by_event[of[0].relation, of[0].sign]
        return table.directive(table.class_of(of[1])).writes


class Updates:
    """Of one run."""

    def __init__(self, book: Book) -> None:
        self.book, self.case, self.options = book, book.case, book.case.options

    def watch(self, now_s: float, name: str, what: object) -> None:
        """Nothing is looked at while it runs."""

    def finish(self) -> None:
        """Look at each update's messages, and at all corrections."""
        for version in self.book.events:
            # One FETCH per read node and one PUT per write node, or one for each of what they ask for.
            found = Counter(
                (name, type(m).__name__, m.wanted if isinstance(m, Fetch) else m.fetches, tuple(sorted(m.arguments)))
                for name, _, m in self._by_version.get(version, ())
                if not isinstance(m, Push)
            )
            expected = Counter([*self._fetches(version), *self._puts(version)])
            self.book.see(
                found == expected, "{} has {}, and not {}", version, [*(found - expected)], [*(expected - found)]
            )
            self._check_pushes(version)
        self._check_corrections()
        self._check_suppressed()

    @cached_property
    def _by_version(self) -> dict[Version, list[tuple[str, Sent, Any]]]:
        found: dict[Version, list[tuple[str, Sent, Any]]] = {}
        for kind in (Fetch, Put, Push):
            for name, sent, message in self.book.of(kind):
                found.setdefault(message.version, []).append((name, sent, message))
        return found

    def _fetches(self, version: Version) -> Iterator[tuple[Any, ...]]:
        wanted: dict[int, dict[tuple[int, int], set[int]]] = {}
        for statement, read, sender, receiver in self.book.moves(version):
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
        of = self.book.update(version)
        assert of
        trigger, arguments = of
        names = {v for s, r in reads for key in reads_of(trigger, s)[r].slice.keys for v in variables(key)}
        if self.options["blind"]:
            names |= {v for s in trigger.statements if [*s.reads()] for v in s.variables()}
        if self.options["blind"] or not self.options["write_nodes"]:
            table = self.book.tables.by_event[trigger.relation, trigger.sign]
            names |= {v for key in table.cuts for v in variables(key)}
        return tuple(sorted(names & set(arguments)))

    def _puts(self, version: Version) -> Iterator[tuple[Any, ...]]:
        senders: dict[int, dict[int, dict[int, set[int]]]] = {}
        owner = self.case.layout.owner
        for write in self.book.writes(version):
            by_read = senders.setdefault(owner[write.target], {}).setdefault(write.statement, {})
            for read in write.reads:
                by_read.setdefault(read.read, set()).add(owner[read.source])
        of = self.book.update(version)
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

    def _check_pushes(self, version: Version) -> None:
        """A PUSH for each FETCH and write node, unless it is suppressed: with all that is read, once."""
        pushes: dict[tuple[str, str], list[Push]] = {}
        for name, sent, message in self._by_version.get(version, ()):
            if isinstance(message, Push):
                pushes.setdefault((sent.sender, name), []).append(message)
        expected: dict[tuple[str, str], set[tuple[int, int]]] = {}
        for statement, read, sender, receiver in self.book.moves(version):
            if sender != receiver:
                expected.setdefault((node(sender), node(receiver)), set()).add((statement, read))
        suppressed = self.options["suppression"] != "off"
        for pair in expected.keys() | pushes.keys():
            reads, found = expected.get(pair, set()), pushes.get(pair, [])
            got = {read for push in found for part in push.slices for read in part.reads}
            whole = got <= reads if suppressed and not self.options["blind"] else got == reads
            self.book.see(whole, "{} has pushed {} of {} to {}, and not {}", pair[0], got, version, pair[1], reads)
            self._check_slices(version, f"{version} from {pair[0]} to {pair[1]}", found)

    def _check_slices(self, version: Version, where: str, found: list[Push]) -> None:
        """How they are put together."""
        of = self.book.update(version)
        assert of
        parts = [part for push in found for part in push.slices]
        if self.options["coalesce"]:
            self.book.see(len(found) <= 1, "{}: {} PUSHes", where, len(found))
        if not self.options["coalesce"]:
            self.book.see(all(len(push.slices) == 1 for push in found), "{}: not one by one", where)
        for part in parts:
            same = {self._what(version, *of, read) for read in part.reads}
            self.book.see(len(same) == 1, "{}: {} is several slices", where, part)
            self.book.see({what[2] for what in same} == {part.key}, "{}: {} is of another key", where, part)
        if self.options["suppression"] == "off":
            whats = [self._what(version, *of, part.reads[0]) for part in parts]
            if self.options["coalesce"]:
                self.book.see(len(whats) == len(set(whats)), "{}: a slice is there twice", where)
            self.book.see(all(p.at is None and p.entries is not None for p in parts), "{}: a slice is missing", where)

    def _what(self, version: Version, trigger: Trigger, arguments: dict[str, Any], read: tuple[int, int]) -> Any:
        """Of which reference, below which stamp."""
        of = reads_of(trigger, read[0])[read[1]].slice
        try:
            key = of.bound(arguments)
        except FAILURES:
            key = None
        return of.map, of.path, key, read_bound(self.case.program, version, read[0], of.after)

    def _check_corrections(self) -> None:
        """Corrections say something, of one TSx, and have come no further than their map."""
        program = self.case.program
        depths, acyclic = depth(program), not any(is_cyclic(program, stratum) for stratum in strata(program))
        for name, sent, message in self.book.of(Corrective):
            where = sent.sender, name, message
            self.book.see(
                all(d.at.version == message.version for d in message.deltas), "{} to {}: {} is of several TSx", *where
            )
            self.book.see(
                all(d.entries and all(d.entries.values()) for d in message.deltas), "{} to {}: {} says nothing", *where
            )
            for delta, hops in zip(message.deltas, message.hops, strict=True):
                deepest = depths[delta.map] + 1 if acyclic else hops
                self.book.see(1 <= hops <= deepest, "{} to {}: {} has passed {} maps", *where, hops)
            if not self.options["coalesce"]:
                self.book.see(len(message.deltas) == 1, "{} to {}: {} is several", *where)

    def _check_suppressed(self) -> None:
        """No version is sent to somebody who has it (3.5, PUSH optimization)."""
        if self.options["suppression"] == "off":
            return
        known: dict[tuple[Any, ...], dict[Stamp, Entries]] = {}
        for name, sent, message in self.book.of((Push, Corrective)):
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
        of = reads_of(self.book.trigger(push.trigger), statement)[read].slice
        versions = known.setdefault((*pair, of.map, of.path, part.key), {})
        news = part.at not in versions
        if self.options["suppression"] == "values":
            news = versions.get(part.at) != part.entries
        self.book.see(news, "{} has sent {} {}, which it has", *pair, part)
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
