"""The proof: which relations' events may come in any order, and be added up by batch; or which two statements tell orders apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from m3.confluence.meaning import OTHER, THIS, Event, Meanings, TooLarge, added_once, commute, content_name, summed_once
from m3.confluence.products import Sum
from m3.dataflow import graph_of, is_cyclic, once_per_program, reachable, strata
from m3.formatting import format_statement
from m3.program import START, Program, Statement
from m3.statements import Between, reads_between

__all__ = ["Confluence", "Place", "Verdict", "meanings_of", "prove"]


@dataclass(frozen=True)
class Place:
    """A statement of a program: ``event`` is its trigger's, ``index`` its place there (from 0), ``text`` what it says."""

    event: str
    index: int
    text: str

    def __str__(self) -> str:
        return f"{self.event} statement {self.index + 1} ({self.text})"


@dataclass(frozen=True)
class Verdict:
    """What was found of a relation's events.

    ``grain``: ``batch`` where they may come in any order with all others, and be added up by batch; else ``event``. ``told_apart``: the
    two statements that differ by the order (or, where only adding up would be wrong, that reads and the one that writes)."""

    relation: str
    grain: str
    reason: str
    told_apart: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Confluence:
    """The verdicts on a program's relations. ``is_confluent``: whether any order of the same events ends in the same maps."""

    verdicts: Mapping[str, Verdict]
    is_confluent: bool

    @property
    def grain(self) -> str:
        """The grain of the whole program's versions: ``batch`` where all relations have it (decision 23)."""
        return "batch" if all(v.grain == "batch" for v in self.verdicts.values()) else "event"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why versions are by event, each reason once; empty where they are by batch."""
        return tuple(dict.fromkeys(v.reason for v in self.verdicts.values() if v.grain == "event"))


def prove(program: Program) -> Confluence:
    """Find out of which relations' events the order is free, from the triggers alone.

    >>> from m3 import parse
    >>> text = "RELATION R(a INT); RELATION S(a INT); MAP n[] : INT; MAP q[] : INT; ON +R(a) {{ n[] += 1 }} ON +S(a) {{ q[] += {} }}"
    >>> prove(parse(text.format("a"))).grain
    'batch'
    >>> print(prove(parse(text.format("n[]"))).verdicts["S"].reason)
    q depends on whether +R or +S comes first: +S statement 1 (q[] += n[]) reads what +R statement 1 (n[] += 1) adds to

    Args:
        program: a checked program.
    """
    return _find(program)[0]


def meanings_of(program: Program) -> Mapping[str, Sum]:
    """What the proof has found that the maps of a program mean; maps that are known by themselves alone are left out.

    Sums within factors are taken apart only for maps of which nothing is found otherwise, so what a map means does not depend on the others.
    """
    return _find(program)[1]


@once_per_program
def _find(program: Program) -> tuple[Confluence, Mapping[str, Sum]]:
    first = _Search(program, multiplied_out=False)
    found = first.result()
    if found.grain == "batch":
        return found, first.meanings.not_opaque()
    second = _Search(program, multiplied_out=True)
    again = second.result()
    is_better = again.grain == "batch" or (again.is_confluent and not found.is_confluent)
    return again if is_better else found, {**second.meanings.not_opaque(), **first.meanings.not_opaque()}


#: What is told first of a relation.
KINDS = ("ordered", "unknown", "summed")


@dataclass(frozen=True)
class _Problem:
    """Why events of some relations are told apart. ``kind``: ``ordered``, ``summed`` (only where they are added up) or ``unknown``."""

    map: str
    events: tuple[Event, ...]
    places: tuple[Place, ...]
    kind: str = "ordered"

    def __str__(self) -> str:
        reader, *others = self.places
        if self.kind == "unknown":
            return f"{self.map} has too many products for a proof, or none was found: {reader} is one of its statements"
        if self.kind == "summed":
            return (
                f"{self.map} is right for one event after the other, but not for the sum of several: {reader} does not read "
                f"{others[0] if others else self.map} both as before the event and AFTER it"
            )
        names = list(dict.fromkeys(_event_name(e) for e in self.events))
        first = (
            f"which of two {names[0]} comes first"
            if len(names) == 1
            else f"whether {names[1]} or {names[0]} comes first"
        )
        derived = [event[0] for event in self.events if event[1] == 0]
        alone = f" reads {derived[0]}" if derived else " is one of the two"
        rest = f" reads what {others[0]} adds to" if others else alone
        return f"{self.map} depends on {first}: {reader}{rest}"


@dataclass
class _Search:
    """One attempt at a proof."""

    program: Program
    multiplied_out: bool
    problems: list[_Problem] = field(default_factory=list)

    def result(self) -> Confluence:
        """The verdicts."""
        for layer in strata(self.program):
            cyclic = is_cyclic(self.program, layer)
            if cyclic:
                for name in layer:
                    self.meanings.opaque(name)
            for name in layer:
                self._map(name, cyclic=cyclic)
        problems: dict[str, _Problem] = {}
        for problem in sorted(self.problems, key=lambda p: KINDS.index(p.kind)):
            for event in problem.events:
                for relation in self._bases(event):
                    problems.setdefault(relation, problem)
        verdicts = {r.name: _verdict(r.name, problems.get(r.name)) for r in self.program.relations}
        return Confluence(verdicts, all(p.kind == "summed" for p in self.problems))

    @cached_property
    def meanings(self) -> Meanings:
        """What maps mean, as far as is known."""
        return Meanings(self.program, self.multiplied_out)

    def _map(self, name: str, *, cyclic: bool) -> None:
        """Find the meaning of a map, or what is in the way."""
        if name in self.program.derivation_by_map:
            self.meanings.opaque(name)
            return
        if cyclic:
            self._compare_events(name)
            return
        try:
            added = {event: self.meanings.added(name, *event) for event in self.meanings.relations(name)}
            start = self.meanings.start(name)
            meaning = self.meanings.integral(start, added.values())
            wrong = [e for e, sum_ in added.items() if self.meanings.difference(meaning, content_name(*e)) != sum_]
        except (Between, TooLarge):
            self.meanings.opaque(name)
            self._compare_events(name)
            return
        if not wrong and not self._reads_opaque(meaning):
            self.meanings.known[name] = meaning
            return
        self.meanings.opaque(name)
        once = self._compare_events(name)
        single = None if once is None else self._sum_once(start, once)
        if single is not None:
            self.meanings.known[name] = single
            for event in wrong:
                self._note_not_summed(name, event)
        elif once is not None:  # no pair is told apart, and still nothing was found: better safe
            self._too_large(name)

    def _sum_once(self, start: Sum, once: Mapping[Event, Sum]) -> Sum | None:
        try:
            return summed_once(self.meanings, start, once)
        except TooLarge:
            return None

    def _reads_opaque(self, meaning: Sum) -> bool:
        derived = {content_name(d.map, 0) for d in self.program.derivations}
        return any(name.startswith("\0") and name not in derived for product in meaning for name, _ in product.atoms)

    def _compare_events(self, name: str) -> dict[Event, Sum] | None:
        """Compare all pairs of events in what they add to a map. Returns that; None where some are told apart, or may be."""
        before = len(self.problems)
        mine = [e for e in self.meanings.statements[name] if e[0] != START]
        try:
            once = {e: added_once(self.meanings, name, e, THIS) for e in mine}
            other = {e: added_once(self.meanings, name, e, OTHER) for e in mine}
            for position, event in enumerate(self._events):
                for second in self._events[: position + 1]:
                    if (event not in mine and second not in mine) or self._apart(name, event, second):
                        continue
                    if not commute(self.meanings, event, once.get(event, {}), second, other.get(second, {})):
                        self._told_apart(name, event, second)
        except TooLarge:
            self._too_large(name)
        return once if len(self.problems) == before else None

    def _apart(self, name: str, event: Event, second: Event) -> bool:
        """Whether one of two events reads a map without meaning that the other changes."""
        for reader, writer in ((event, second), (second, event)):
            if any(self._changes(writer, read) for read in self._unknown_reads(name, reader)):
                self._told_apart(name, reader, writer)
                return True
        return False

    def _unknown_reads(self, name: str, event: Event) -> Iterator[str]:
        """The maps without meaning that an event's statements for a map read; all maps, where they read between."""
        derived = self.program.derivation_by_map
        for trigger, index in self.meanings.statements[name].get(event, ()):
            between = reads_between(trigger, index, sequential=self.meanings.sequential)
            for ref in trigger.statements[index].reads():
                if between or (ref.map not in derived and self.meanings.is_opaque(ref.map)):
                    yield ref.map

    def _told_apart(self, name: str, event: Event, second: Event) -> None:
        for reader, writer in ((event, second), (second, event)):
            places = self._reading(name, reader, writer)
            if places:
                self.problems.append(_Problem(name, (reader, writer), places))
                return
        mine = [self._place(*found) for e in (event, second) for found in self._statements(name, e)]
        self.problems.append(_Problem(name, (event, second), tuple(mine[:1])))

    def _too_large(self, name: str) -> None:
        """Nothing was found of a map: all who change it may be told apart, and all that changes what they read."""
        mine = [e for e in self.meanings.statements[name] if e[0] != START]
        events = [e for e in self._events if e in mine or self._changes(e, name)]
        places = [self._place(*found) for e in mine for found in self._statements(name, e)]
        self.problems.append(_Problem(name, tuple(events), tuple(places[:1]), "unknown"))

    def _note_not_summed(self, name: str, event: Event) -> None:
        relation, sign = event
        signs = (0,) if sign == 0 else (1, -1)
        for reader in ((relation, s) for s in signs):
            for writer in ((relation, s) for s in signs):
                places = self._reading(name, reader, writer)
                if places:
                    self.problems.append(_Problem(name, (event,), places, "summed"))
                    return
        mine = [self._place(*found) for s in signs for found in self._statements(name, (relation, s))]
        self.problems.append(_Problem(name, (event,), tuple(mine[:1]), "summed"))

    def _reading(self, name: str, reader: Event, writer: Event) -> tuple[Place, ...]:
        """A statement of an event for a map that reads what another event changes, and the statement that changes it first."""
        for event, index, statement in self._statements(name, reader):
            for ref in statement.reads():
                if writer == (ref.map, 0):
                    return (self._place(event, index, statement),)
                for target in (ref.map, *self.meanings.statements):
                    if target == ref.map or ref.map in self._find_reached(target):
                        for found in self._statements(target, writer):
                            return (self._place(event, index, statement), self._place(*found))
        return ()

    def _statements(self, name: str, event: Event) -> list[tuple[str, int, Statement]]:
        return [(t.event, i, t.statements[i]) for t, i in self.meanings.statements[name].get(event, ())]

    def _place(self, event: str, index: int, statement: Statement) -> Place:
        return Place(event, index, format_statement(statement).strip().rstrip(";"))

    # Which events change what

    @cached_property
    def _events(self) -> list[Event]:
        """All that changes something: a derived map's changes do, even without a trigger."""
        found = [(t.relation, t.sign) for t in self.program.triggers if t.relation != START and t.statements]
        return list(dict.fromkeys([*found, *((d.map, 0) for d in self.program.derivations)]))

    @cached_property
    def _graph(self) -> dict[str, dict[str, None]]:
        """From each map to those that are computed from it."""
        edges = [(r.map, s.target) for t in self.program.triggers for s in t.statements for r in s.reads()]
        edges += [(t.relation, s.target) for t in self.program.triggers if t.sign == 0 for s in t.statements]
        edges += [(read, d.map) for d in self.program.derivations for read in d.reads()]
        return graph_of((m.name for m in self.program.maps), edges)

    def _find_reached(self, name: str) -> set[str]:
        return reachable(self._graph, name)

    def _changes(self, event: Event, name: str) -> bool:
        """Whether an event changes a map, directly or not."""
        return any(
            target == name or name in self._find_reached(target)
            for target, by in self.meanings.statements.items()
            if event in by
        )

    def _bases(self, event: Event) -> set[str]:
        """The relations that an event is of; for a derived map's, those that change it."""
        relation, sign = event
        if sign:
            return {relation}
        return {r for r, s in self._events if s and self._changes((r, s), relation)}


def _verdict(relation: str, problem: _Problem | None) -> Verdict:
    if problem is None:
        return Verdict(relation, "batch", "every map its events reach is a sum of products of the relations' rows")
    return Verdict(relation, "event", str(problem), problem.places)


def _event_name(event: Event) -> str:
    relation, sign = event
    return {1: "+", -1: "-", 0: "a change of "}[sign] + relation
