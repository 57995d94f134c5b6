"""In which order messages are handled, when what is held back is sent, and what queries see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cumulus_ops.simulation.case import Stamp, Version, reads_of
from cumulus_ops.simulation.kernel import Message
from cumulus_ops.simulation.protocols.optimistic.corrections import Wrote
from cumulus_ops.simulation.protocols.optimistic.inbox import Waiting
from cumulus_ops.simulation.protocols.optimistic.messages import (
    Answer,
    BatchDue,
    BufferDue,
    Corrective,
    Fetch,
    Push,
    Put,
    Query,
    TimeOut,
)
from cumulus_ops.simulation.protocols.optimistic.node import Seen, Taken
from cumulus_ops.simulation.protocols.optimistic.watching.book import Book
from cumulus_ops.simulation.run import node
from cumulus_ops.simulation.store import Entries, add_to, beginning
from m3.dataflow import depth

__all__ = ["Turns"]


class Turns:
    """Of one run."""

    def __init__(self, book: Book) -> None:
        self.book, self.case, self.options = book, book.case, book.case.options
        self.written: dict[tuple[str, str], list[tuple[Stamp, Entries]]] = {}

    def watch(self, now_s: float, name: str, what: object) -> None:
        """A report."""
        if isinstance(what, Taken):
            self._taken(name, what.taken)
        elif isinstance(what, Wrote) and self.options["queries"]:
            self.written.setdefault((name, what.delta.map), []).append((what.delta.at, dict(what.delta.entries)))
        elif isinstance(what, Seen):
            self._seen(name, what)

    def finish(self) -> None:
        """Look at timers and queries."""
        self._timers()
        self._queries()

    def _taken(self, name: str, taken: tuple[Waiting, ...]) -> None:
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

    def _seen(self, name: str, what: Seen) -> None:
        """A query sees the writes below its timestamp."""
        entries: Entries = {}
        for at, delta in self.written.get((name, what.map), ()):
            if at.version < what.version:
                add_to(entries, delta)
        start = self._start(int(name.removeprefix("node ")), what.map)
        add_to(entries, start)
        self.book.see(
            entries == what.entries, "{} answers on {} as of {}: {}", name, what.map, what.version, what.entries
        )

    def _start(self, number: int, name: str) -> Entries:
        own = [segment for segment in self.case.layout.owned_by(number) if segment.map == name]
        return {k: u for entries in beginning(self.case, own).values() for k, u in entries.items()}

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
                period_s = self._period_s(message, depths)
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

    def _period_s(self, message: Message, depths: Mapping[str, int]) -> float:
        period_s: float
        if isinstance(message, BufferDue):
            period_s = self.options["buffer_s"] * (1 + depths[message.map] * self.options["intelligent"])
        else:
            period_s = self.options["batch_s" if isinstance(message, BatchDue) else "time_out_s"]
        return period_s

    def _queries(self) -> None:
        """A QUERY for each node that has some of the map, and an ANSWER from it."""
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
