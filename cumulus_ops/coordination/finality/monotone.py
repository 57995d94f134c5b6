"""Which maps only grow, and of which views a row is never retracted (CALM: what is monotone needs no coordination; Blazes, section III-B).

It is read off the triggers. A map **rises** if no event that can occur takes anything away from an entry: then what was counted stays
counted, also where batches are applied out of their order and corrected later, for corrections of products of such maps add as well. The
deletes of relations that have only inserts cannot occur. A view's row stays if the map that it exists by rises, HAVING stays true once it is,
and its columns cannot change: ids alone of what has more than 1000 clicks, and not the number of clicks.

A map that does not rise may still **climb** at a position of its key: whatever an event takes away from an entry, it adds at least as much to one
that agrees with it before that position, and has no less there. So does a map with a row for each group and its count. A maximum of what climbs
only rises; and what **sinks**, in the same way, has minima that only fall.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from cumulus_ops.coordination.finality.lineage import relations_of
from cumulus_ops.coordination.finality.trends import (
    CONSTANT,
    COUNT,
    UNKNOWN,
    Env,
    Known,
    Trend,
    assume,
    fails,
    known_of,
    never_true,
    product_of,
    stays_true,
)
from m3.dataflow import once_per_program, reachable
from m3.evaluate import Value, evaluate
from m3.program import Derivation, Derived, Input, Program, Statement, Trigger, View, Windowing
from m3.scalars import Call, Const, Scalar, Var, variables

__all__ = ["Facts", "Growth", "Retraction", "growth_of", "retractions", "why_retracted"]

#: A map, and a position of its key.
Place = tuple[str, int]


class Facts(NamedTuple):
    """What holds of the maps of a program: which of them rise, which have no entries below zero, and where they climb and sink."""

    rising: frozenset[str]
    positive: frozenset[str]
    climbing: frozenset[Place]
    sinking: frozenset[Place]


@dataclass(frozen=True)
class Growth:
    """What only grows in a program, if the relations ``insert_only`` have no deletes."""

    program: Program
    insert_only: frozenset[str]

    @cached_property
    def _derived(self) -> Mapping[str, Derived]:
        return self.program.derivation_by_map

    @cached_property
    def facts(self) -> Facts:
        """The greatest sets that nothing contradicts.

        (It is an induction over events: each of them finds maps that have only moved like this so far.)"""
        maps, places = frozenset(self.program.map_by_name), frozenset(self._extremes())
        facts = Facts(maps, maps, places, places)
        while True:
            rising = frozenset(m for m in facts.rising if self._rises(m, facts))
            kept = Facts(
                rising,
                frozenset(m for m in facts.positive if m in rising or self._is_positive(m, facts)),
                frozenset(p for p in facts.climbing if self._moves(p, facts, Trend.RISING)),
                frozenset(p for p in facts.sinking if self._moves(p, facts, Trend.FALLING)),
            )
            if kept == facts:
                return facts
            facts = kept

    def _extremes(self) -> Iterator[Place]:
        """Where extremes are looked for."""
        for derived in self.program.derivations:
            if isinstance(derived, Derivation):
                yield from ((i.map, len(derived.keys)) for i in derived.inputs if i.kind in _EXTREMES and not i.at)

    @property
    def rising(self) -> frozenset[str]:
        """The maps whose entries never fall."""
        return self.facts.rising

    @cached_property
    def _writers(self) -> Mapping[str, list[tuple[Trigger, Statement]]]:
        """map -> what adds to it, of the events that can occur."""
        found: dict[str, list[tuple[Trigger, Statement]]] = {m: [] for m in self.program.map_by_name}
        for trigger in self.program.triggers:
            if trigger.sign < 0 and trigger.relation in self.insert_only:
                continue
            for statement in trigger.statements:
                found[statement.target].append((trigger, statement))
        return found

    def _rises(self, name: str, facts: Facts) -> bool:
        derived = self._derived.get(name)
        if derived is None:
            return all(self._adds(t, s, facts) or self._follows(t, s, facts) for t, s in self._writers[name])
        if not isinstance(derived, Derivation):
            return False
        env = self.inputs(derived, facts)
        outputs = (known_of(c.expression, env).trend for c in derived.outputs)
        return self.stays(derived, env) and all(trend is Trend.FIXED for trend in outputs)

    def _is_positive(self, name: str, facts: Facts) -> bool:
        derived = self._derived.get(name)
        if derived is None:
            return False  # what is not below zero, and is added to by triggers, rises
        if isinstance(derived, Derivation):
            return known_of(derived.count, self.inputs(derived, facts)).is_positive
        return isinstance(derived, Windowing) and derived.source in facts.positive

    def _moves(self, place: Place, facts: Facts, trend: Trend) -> bool:
        """Whether a map climbs (``trend`` is RISING) or sinks at a place."""
        (name, position), derived = place, self._derived.get(place[0])
        if derived is None:
            return all(
                self._adds(t, s, facts) or self._follows(t, s, facts, position, trend) for t, s in self._writers[name]
            )
        if not isinstance(derived, Derivation):
            return False
        env = self.inputs(derived, facts)
        trends = [Trend.FIXED] * len(derived.keys) + [known_of(c.expression, env).trend for c in derived.outputs]
        return self.stays(derived, env) and _are_moved(trends[: position + 1], trend)

    @staticmethod
    def stays(derived: Derivation, env: Env) -> bool:
        """Whether a group's row, once it is there, stays, maybe with other columns, and as often."""
        count = known_of(derived.count, env)
        return count.is_positive and count.trend.is_upwards and _is_of_inputs(derived)

    def inputs(self, derived: Derivation, facts: Facts) -> dict[str, Known]:
        """What is known of a derivation's variables: the group's key does not change, extremes move with their maps."""
        env = dict.fromkeys(derived.keys, CONSTANT)
        for given in derived.inputs:
            env[given.name] = self._input(given, (given.map, len(derived.keys)), facts)
        return env

    def _input(self, given: Input, place: Place, facts: Facts) -> Known:
        if given.kind == "value":
            known = COUNT if given.map in facts.rising else UNKNOWN
            low = Fraction(0) if given.map in facts.positive else None
            return known._replace(low=low, rows=given.map in self.counts, total=given.map not in self.counts)
        moves = {"max": (Trend.RISING, facts.climbing), "min": (Trend.FALLING, facts.sinking)}.get(given.kind)
        if moves is None or given.at or (given.map not in facts.rising and place not in moves[1]):
            return UNKNOWN
        return Known(moves[0])

    def _adds(self, trigger: Trigger, statement: Statement, facts: Facts) -> bool:
        """Whether a statement never takes anything away, for each of its events is an insert."""
        return (
            (trigger.sign != 0 or trigger.relation in facts.rising)
            and all(ref.map in facts.positive for ref in statement.reads())
            and product_of(known_of(s, {}) for s in statement.scalars()).is_positive
        )

    def _follows(
        self,
        trigger: Trigger,
        statement: Statement,
        facts: Facts,
        position: int | None = None,
        trend: Trend = Trend.FIXED,
    ) -> bool:
        """Whether a statement adds no less for the new row of a group than it takes away for the old one: what it adds rises with the row's
        columns, and goes to, and is multiplied by, entries that do not depend on these.

        With a ``position``, what it adds may go to other entries, whose keys are the same before that position, and moved by ``trend`` there.
        """
        derived = self._derived.get(trigger.relation) if trigger.sign == 0 else None
        if not isinstance(derived, Derivation) or not all(ref.map in facts.positive for ref in statement.reads()):
            return False
        row = self.row(derived, trigger.params, facts)
        moving = {name for name, known in row.items() if known.trend is not Trend.FIXED}
        behind = set(reachable(self._edges, trigger.relation))
        read = [k for ref in statement.reads() for k in ref.keys]
        if any(moving & set(variables(k)) for k in read) or any(ref.map in behind for ref in statement.reads()):
            return False
        env = {**dict.fromkeys(statement.variables() - set(row), CONSTANT), **row}
        keys = [known_of(k, env).trend for k in statement.keys]
        if not _are_moved(keys if position is None else keys[: position + 1], trend):
            return False
        product = product_of(known_of(s, env) for s in statement.scalars())
        steady = product.trend.is_upwards and all(stays_true(c, env) for c in statement.conditions)
        return self.stays(derived, self.inputs(derived, facts)) and steady and product.is_positive

    def row(self, derived: Derivation, names: tuple[str, ...], facts: Facts) -> dict[str, Known]:
        """What is known of the columns of a derived map's rows, called ``names``, as the rows of one group follow each other."""
        inputs = self.inputs(derived, facts)
        for condition in _conditions_of(derived.count):
            inputs = assume(condition, inputs)
        columns = [CONSTANT] * len(derived.keys) + [known_of(c.expression, inputs) for c in derived.outputs]
        return dict(zip(names, columns, strict=True))

    @cached_property
    def _edges(self) -> dict[str, dict[str, None]]:
        edges: dict[str, dict[str, None]] = {m: {} for m in self.program.map_by_name}
        for trigger in self.program.triggers:
            for statement in trigger.statements:
                sources = [ref.map for ref in statement.reads()]
                for source in (*sources, trigger.relation) if trigger.sign == 0 else sources:
                    edges[source][statement.target] = None
        for derived in self.program.derivations:
            for source in derived.reads():
                edges[source][derived.map] = None
        return edges

    @cached_property
    def counts(self) -> frozenset[str]:
        """The maps whose entries are numbers of rows, which are far within their types: sums of products of -1, 0, 1, such entries, and numbers of
        rows of groups."""
        found = frozenset(m for m in self.program.map_by_name if m not in self._derived)
        while True:
            kept = frozenset(m for m in found if all(self._counts(t, s, found) for t, s in self._writers[m]))
            if kept == found:
                return found
            found = kept

    def _counts(self, trigger: Trigger, statement: Statement, counts: frozenset[str]) -> bool:
        one = Known(low=Fraction(-1), high=Fraction(1))  # what is a number of rows counts as one row
        derived = self._derived.get(trigger.relation) if trigger.sign == 0 else None
        env = dict.fromkeys(_counted(derived, trigger.params, counts) if isinstance(derived, Derivation) else (), one)
        product = product_of(known_of(s, env) for s in statement.scalars())
        small = product.low is not None and product.high is not None and product.low >= -1 and product.high <= 1
        return small and all(ref.map in counts or ref.map in self._derived for ref in statement.reads())

    def may_occur(self, name: str) -> bool:
        """Whether a map may have an entry: a statement that adds to it may have a condition that is true."""
        if name in self._derived:
            return True
        for trigger, statement in self._writers[name]:
            derived = self._derived.get(trigger.relation) if trigger.sign == 0 else None
            env = self.row(derived, trigger.params, self.facts) if isinstance(derived, Derivation) else {}
            if not any(never_true(c, env) for c in statement.conditions):
                return True
        return False


def growth_of(program: Program, insert_only: frozenset[str]) -> Growth:
    """What only grows in a program, found once for all its views."""
    known = _growths(program)
    if insert_only not in known:
        known[insert_only] = Growth(program, insert_only)
    return known[insert_only]


@once_per_program
def _growths(_: Program) -> dict[frozenset[str], Growth]:
    return {}


#: Kinds of inputs that look for one end of an order.
_EXTREMES = ("max", "min")


def _are_moved(trends: Collection[Trend], last: Trend) -> bool:
    """Whether nothing moves but the last one, and that at most by ``last``."""
    *before, at = trends or [Trend.FIXED]
    return all(t is Trend.FIXED for t in before) and at in (Trend.FIXED, last)


def _is_of_inputs(derived: Derivation) -> bool:
    """Whether a count alone says whether a group has a row: one all of whose inputs are 0 has none, whatever its count is."""
    nothing: dict[str, Value] = {i.name: 0 for i in derived.inputs if i.kind == "value"}
    return set(variables(derived.count)) <= set(nothing) and not evaluate(derived.count, nothing)


def _conditions_of(count: Scalar) -> Iterator[Scalar]:
    """What is true of a group that has a row."""
    match count:
        case Call("case", (condition, Const(value=present), Const(value=absent))) if present and not absent:
            yield condition


def _counted(derived: Derivation, names: tuple[str, ...], counts: frozenset[str]) -> Iterator[str]:
    """The columns of derived rows, called ``names``, that are numbers of rows."""
    found = {i.name for i in derived.inputs if i.kind == "value" and i.map in counts}
    for name, column in zip(names[len(derived.keys) :], derived.outputs, strict=True):
        if isinstance(column.expression, Var) and column.expression.name in found:
            yield name


class Retraction(NamedTuple):
    """Why rows of a view may be retracted. ``column``: the visible column that is the reason, else nothing."""

    reason: str
    column: str = ""


def why_retracted(growth: Growth, view: View) -> str | None:
    """Why a row of a view may be retracted, once it was there; None if it never is.

    >>> from m3 import compile_views, parse
    >>> relations = parse("RELATION clicks(id INT);").relations
    >>> ids = "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 1000"
    >>> program = compile_views("p", relations, {"ids": ids, "numbers": ids.replace("id FROM", "id, COUNT(*) AS n FROM")})
    >>> growth = Growth(program, frozenset({"clicks"}))
    >>> why_retracted(growth, program.view("ids")), why_retracted(growth, program.view("numbers"))
    (None, 'its column n changes')
    >>> why_retracted(Growth(program, frozenset()), program.view("ids"))
    'rows of clicks may be deleted'
    """
    if not retractions(growth, view):
        return None
    anyway = retractions(growth_of(growth.program, frozenset(growth.program.relation_by_name)), view)
    if anyway:
        return anyway[0].reason
    names = [r for r in relations_of(growth.program, view) if r not in growth.insert_only]
    return f"rows of {' and '.join(names)} may be deleted"


def retractions(growth: Growth, view: View) -> list[Retraction]:
    """All the reasons why rows of a view may be retracted."""
    return list(_retractions(growth, view))


def _retractions(growth: Growth, view: View) -> Iterator[Retraction]:
    if view.limit is not None or view.offset:
        yield Retraction("a row that comes before others takes the place of one (LIMIT)")
    env = _row_env(growth, view)
    if env is None:
        yield Retraction(
            "what it joins, or compares, may take rows away (NOT EXISTS, outer joins, windows, differences)"
        )
    else:
        if view.having is not None and not stays_true(view.having, env):
            yield Retraction("what HAVING asks may become false")
        shown = env if view.having is None else assume(view.having, env)
        for column in view.visible:
            if known_of(column.expression, shown).trend is not Trend.FIXED:
                yield Retraction(f"its column {column.name} changes", column.name)
    yield from _failures(growth, view)


def _failures(growth: Growth, view: View) -> Iterator[Retraction]:
    """A view in error has no rows at all."""
    if any(growth.may_occur(check.map) for check in view.checks):
        yield Retraction("an expression of it may fail, and then it has no rows at all")
    env = {
        v.name: _value(growth, v.map, view)._replace(rows=v.map in growth.counts, total=v.map not in growth.counts)
        for v in view.values
    }
    if view.having is not None and fails(view.having, env):
        yield Retraction("HAVING may fail, and then it has no rows at all")
    for column in view.columns:
        if fails(column.expression, env):
            yield Retraction(f"its column {column.name} may fail, and then it has no rows at all", column.name)


def _row_env(growth: Growth, view: View) -> dict[str, Known] | None:
    """What is known of the variables of a view's rows, as the rows of one key follow each other; None if rows may go."""
    facts = growth.facts
    keys = dict.fromkeys((k.name for k in view.keys), CONSTANT)
    values = {v.name: _value(growth, v.map, view) for v in view.values}
    if view.exists is None:
        return {**keys, **values} if all(v.map in facts.rising for v in view.values) else None
    if view.exists in facts.rising or (not view.keys and not view.repeated):
        return {**keys, **values}
    derived = growth.program.derivation_by_map.get(view.exists)
    if not isinstance(derived, Derivation) or view.values:
        return None
    if not growth.stays(derived, growth.inputs(derived, facts)):
        return None
    return growth.row(derived, tuple(k.name for k in view.keys), facts)


def _value(growth: Growth, name: str, view: View) -> Known:
    """What is known of a view's value: it is above zero if it is what the row exists by."""
    if name not in growth.facts.rising:
        return UNKNOWN
    is_there = name == view.exists and bool(view.keys) and growth.program.map_by_name[name].value.kind == "int"
    return COUNT._replace(low=Fraction(1)) if is_there else COUNT
