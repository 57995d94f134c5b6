"""Which columns of relations come through to which columns of a view, so that its rows are **partitioned** by them (Blazes, section VII-B: lineage).

A map is partitioned at a position of its key, given one column of each relation, if an entry depends on nothing but the events that have in
that column what the entry's key has there. Then a partition is final as soon as no more events of it can come. It holds if

- what an event adds goes to keys that have the event's value at that position, and
- is computed from the event and from entries that are partitioned and have the same value: whatever a statement reads has to be of the
  event's own partition, or one partition would be computed from another; and
- a derivation, or a window, has the position within its group, as all that it is computed from has.

So the partitions of joins have to be those of every relation that is joined, nested aggregates and self-joins included. All of it is an
induction over events, hence the greatest sets of positions that no statement contradicts are right. Each column of a seal is looked at by itself:
what depends only on the events of its own campaign, and only on those of its own hour, depends only on those of both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from m3.dataflow import reachable
from m3.program import Derivation, Derived, Program, Statement, Trigger, View
from m3.scalars import Call, Scalar, Var, conjuncts

__all__ = ["Carrier", "Lineage", "relations_of"]

#: More choices of columns are not looked at.
CHOICES = 64
#: A key position of a map.
Position = int


@dataclass(frozen=True)
class Carrier:
    """A key ``position`` of a view by which its rows are partitioned, each with the events of its relations that have the same in ``columns``
    (relation -> column); ``output``: the visible column that shows it, None if none does."""

    position: Position
    columns: Mapping[str, str]
    output: str | None


@dataclass(frozen=True)
class _Program:
    """What analyses look up of a program."""

    program: Program

    @cached_property
    def writers(self) -> Mapping[str, list[tuple[Trigger, Statement]]]:
        """map -> the statements that add to it."""
        found: dict[str, list[tuple[Trigger, Statement]]] = {m: [] for m in self.program.map_by_name}
        for trigger in self.program.triggers:
            for statement in trigger.statements:
                found[statement.target].append((trigger, statement))
        return found

    @cached_property
    def sources(self) -> dict[str, dict[str, None]]:
        """map -> the maps that it is computed from directly, and the relations, written ``"R name"``."""
        found: dict[str, dict[str, None]] = {m: {} for m in self.program.map_by_name}
        for name, writers in self.writers.items():
            for trigger, statement in writers:
                found[name].update(dict.fromkeys(ref.map for ref in statement.reads()))
                if trigger.relation:
                    found[name][trigger.relation if trigger.sign == 0 else f"R {trigger.relation}"] = None
        for derived in self.program.derivations:
            found[derived.map].update(dict.fromkeys(derived.reads()))
        found.update({f"R {r.name}": {} for r in self.program.relations})
        return found

    def relations(self, maps: Iterable[str]) -> list[str]:
        """The relations that maps are computed from, in order of declaration."""
        upstream = {name for m in maps for name in reachable(self.sources, m)}
        return [r.name for r in self.program.relations if f"R {r.name}" in upstream]


def _places_in(view: View, position: Position) -> Iterator[tuple[str, Position]]:
    """Where the maps of a view have what its keys have at a position: (map, position); -1 where a list's map has it not."""
    keyed = [*([view.exists] if view.exists is not None else []), *(v.map for v in view.values)]
    yield from dict.fromkeys((name, position) for name in keyed)
    for made in view.lists:
        name = view.keys[position].name
        yield made.map, made.at.index(name) if name in made.at else -1


def relations_of(program: Program, view: View) -> list[str]:
    """The relations that a view depends on, its checks included."""
    return _Program(program).relations([*view.maps(), *(c.map for c in view.checks)])


class Lineage:
    """The lineage of a program's views."""

    def __init__(self, program: Program) -> None:
        self.program, self._known = program, _Program(program)
        self._partitions: dict[tuple[tuple[str, str], ...], Mapping[str, frozenset[Position]]] = {}
        self._origins = _origins(self._known)

    def relations(self, view: View) -> list[str]:
        """The relations that a view depends on, its checks included."""
        return self._known.relations([*view.maps(), *(c.map for c in view.checks)])

    def carriers(self, view: View) -> list[Carrier]:
        """All ways in which single key positions partition a view.

        >>> from m3 import compile_views, parse
        >>> relations = parse("RELATION c(id INT, day INT); RELATION a(ad INT, name STRING);").relations
        >>> sql = "SELECT c.id, name, COUNT(*) AS n FROM c JOIN a ON c.id = a.ad GROUP BY c.id, name"
        >>> program = compile_views("p", relations, {"v": sql})
        >>> [(k.output, dict(k.columns)) for k in Lineage(program).carriers(program.view("v"))]
        [('id', {'c': 'id', 'a': 'ad'})]
        """
        return [c for position in range(len(view.keys)) for c in self._at(view, position)]

    def _at(self, view: View, position: Position) -> Iterator[Carrier]:
        relations = self.relations(view)
        choices = [sorted(self._candidates(view, position, r)) for r in relations]
        name = view.keys[position].name
        output = next((c.name for c in view.visible if _is_variable(c.expression, name)), None)
        for chosen in itertools.islice(itertools.product(*choices), CHOICES):
            columns = dict(zip(relations, chosen, strict=True))
            if columns and self._partitioned(view, position, columns):
                yield Carrier(position, columns, output)

    def _candidates(self, view: View, position: Position, relation: str) -> set[str]:
        at = (place for place in _places_in(view, position) if place[1] >= 0)
        return {c for m, p in at for r, c in self._origins[m][p] if r == relation}

    def _partitioned(self, view: View, position: Position, columns: Mapping[str, str]) -> bool:
        key = tuple(sorted(columns.items()))
        if key not in self._partitions:
            self._partitions[key] = _Partitions(self._known, columns).positions()
        found = self._partitions[key]
        if not all(p in found[m] for m, p in _places_in(view, position)):
            return False
        return all(self._stays_within(check.map, columns, found) for check in view.checks)

    def _stays_within(self, name: str, columns: Mapping[str, str], found: Mapping[str, frozenset[Position]]) -> bool:
        """Whether what a check counts is computed within partitions, although its key may not name them."""
        rules = _Partitions(self._known, columns)
        if name in self.program.derivation_by_map:
            return bool(found[name])
        return all(rules.own(t, s, found) is not None for t, s in self._known.writers[name])


class _Partitions:
    """The positions by which maps are partitioned, given a column of each relation."""

    def __init__(self, known: _Program, columns: Mapping[str, str]) -> None:
        self.known, self.program, self.columns = known, known.program, columns
        self.constant = {m for m in self.program.map_by_name if not known.relations([m])}

    def positions(self) -> Mapping[str, frozenset[Position]]:
        """The greatest solution: positions are taken away until nothing contradicts the rest."""
        found = {m.name: frozenset(range(len(m.keys))) for m in self.program.maps}
        while True:
            kept = {name: frozenset(p for p in at if self._holds(name, p, found)) for name, at in found.items()}
            if kept == found:
                return found
            found = kept

    def _holds(self, name: str, position: Position, found: Mapping[str, frozenset[Position]]) -> bool:
        derived = self.program.derivation_by_map.get(name)
        if derived is not None:
            return self._derived(derived, position, found)
        return all(self._written(t, s, position, found) for t, s in self.known.writers[name])

    def _written(
        self, trigger: Trigger, statement: Statement, position: Position, found: Mapping[str, frozenset[Position]]
    ) -> bool:
        if not trigger.relation:
            return True  # what is there before all events depends on none
        own = self.own(trigger, statement, found)
        return own is not None and _name(statement.keys[position], _equal(statement)) in own

    def own(self, trigger: Trigger, statement: Statement, found: Mapping[str, frozenset[Position]]) -> set[str] | None:
        """The variables of a statement that have the value of its event's partition; None if it reads something of another one."""
        if not trigger.relation:
            return set()
        equal = _equal(statement)
        own = {equal.get(name, name) for name in self._of_event(trigger, found)}
        for ref in statement.reads():
            at = found[ref.map]
            if ref.map not in self.constant and not any(_name(ref.keys[p], equal) in own for p in at):
                return None
        return own or None

    def _of_event(self, trigger: Trigger, found: Mapping[str, frozenset[Position]]) -> list[str]:
        """The parameters that have the value of the event's partition."""
        if trigger.sign == 0:
            return [trigger.params[p] for p in found[trigger.relation]]
        column = self.columns.get(trigger.relation)
        names = [c.name for c in self.program.relation_by_name[trigger.relation].columns]
        return [] if column is None else [trigger.params[names.index(column)]]

    def _derived(self, derived: Derived, position: Position, found: Mapping[str, frozenset[Position]]) -> bool:
        if isinstance(derived, Derivation):
            width = len(derived.keys)
            if position >= width:  # a copy of what is in the group
                expression = derived.outputs[position - width].expression
                return any(
                    _is_variable(expression, k) and self._derived(derived, p, found) for p, k in enumerate(derived.keys)
                )
            return all(m in self.constant or position in found[m] for m in derived.reads())
        at = found[derived.source]
        if position < derived.partition:
            return derived.source in self.constant or position in at
        twins = (p for p in range(derived.partition) if p in at and self._alike(derived.source, p, position))
        return position in at and next(twins, None) is not None

    def _alike(self, name: str, a: Position, b: Position) -> bool:
        """Whether all entries of a map have the same at two positions."""
        if name in self.program.derivation_by_map:
            return False
        return all(_same(s.keys[a], s.keys[b], _equal(s)) for _, s in self.known.writers[name])


def _origins(known: _Program) -> Mapping[str, list[set[tuple[str, str]]]]:
    """For each key position of each map the columns (relation, column) that may come through to it: candidates, no more."""
    found: dict[str, list[set[tuple[str, str]]]] = {m.name: [set() for _ in m.keys] for m in known.program.maps}
    grown = True
    while grown:
        grown = False
        for name, position in [(n, p) for n, at in found.items() for p in range(len(at))]:
            more = _step(known, name, position, found) - found[name][position]
            found[name][position] |= more
            grown = grown or bool(more)
    return found


def _step(
    known: _Program, name: str, position: Position, found: Mapping[str, Sequence[set[tuple[str, str]]]]
) -> set[tuple[str, str]]:
    derived = known.program.derivation_by_map.get(name)
    if isinstance(derived, Derivation):
        if position < len(derived.keys):
            return set().union(*(found[m][position] for m in derived.reads()))
        expression = derived.outputs[position - len(derived.keys)].expression
        return set().union(*(found[name][p] for p, k in enumerate(derived.keys) if _is_variable(expression, k)))
    if derived is not None:
        at = found[derived.source]
        return set(at[position]) if position < len(at) else set()
    result: set[tuple[str, str]] = set()
    for trigger, statement in known.writers[name]:
        equal = _equal(statement)
        wanted = _name(statement.keys[position], equal)
        if wanted is None:
            continue
        columns = _parameters(known, trigger, found)
        for parameter, origins in zip(trigger.params, columns, strict=True):
            if equal.get(parameter, parameter) == wanted:
                result |= origins
        for ref in statement.reads():
            for p, key in enumerate(ref.keys):
                if _name(key, equal) == wanted:
                    result |= found[ref.map][p]
    return result


def _parameters(
    known: _Program, trigger: Trigger, found: Mapping[str, Sequence[set[tuple[str, str]]]]
) -> Sequence[set[tuple[str, str]]]:
    """What may come through to each parameter of a trigger."""
    if trigger.sign == 0:
        return found[trigger.relation]
    if not trigger.relation:
        return []
    return [{(trigger.relation, c.name)} for c in known.program.relation_by_name[trigger.relation].columns]


def _equal(statement: Statement) -> Mapping[str, str]:
    """variable -> what stands for all variables that the statement's conditions say are equal, and of the same type."""
    equal: dict[str, str] = {}

    def root(name: str) -> str:
        while name in equal:
            name = equal[name]
        return name

    for condition in statement.conditions:
        for part in conjuncts(condition):
            pair = _equated(part)
            if pair is not None and root(pair[0]) != root(pair[1]):
                equal[root(pair[0])] = root(pair[1])
    return {name: root(name) for name in equal}


def _equated(condition: Scalar) -> tuple[str, str] | None:
    match condition:
        case Call("eq" | "same", (Var() as a, Var() as b)) if a.type.same_as(b.type) and a.type.kind != "double":
            return a.name, b.name
    return None


def _name(scalar: Scalar, equal: Mapping[str, str]) -> str | None:
    return equal.get(scalar.name, scalar.name) if isinstance(scalar, Var) else None


def _same(a: Scalar, b: Scalar, equal: Mapping[str, str]) -> bool:
    return a == b or (_name(a, equal) is not None and _name(a, equal) == _name(b, equal))


def _is_variable(scalar: Scalar, name: str) -> bool:
    return isinstance(scalar, Var) and scalar.name == name
