"""What all that watches the optimistic switches knows: the case, the events, what everybody has handled."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from cumulus_ops.simulation.case import Case, Event, Version, env_of
from cumulus_ops.simulation.judge import Stamped, Wrong
from cumulus_ops.simulation.kernel import Handled, Message, Sent, Simulation
from cumulus_ops.simulation.protocols.optimistic.messages import (
    Batch,
)
from cumulus_ops.simulation.run import node
from cumulus_ops.simulation.tables import Tables
from m3.program import Trigger

__all__ = ["Book"]


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
