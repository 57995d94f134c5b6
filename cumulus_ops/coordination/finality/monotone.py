"""Which maps only grow, and of which views a row is never retracted (CALM: what is monotone needs no coordination; Blazes, section III-B).

It is read off the triggers. A map **rises** if no event that can occur takes anything away from an entry: then what was counted stays
counted, also where batches are applied out of their order and corrected later, for corrections of products of such maps add as well. The
deletes of relations that have only inserts cannot occur. A view's row stays if the map that it exists by rises, HAVING stays true once it is,
and its columns cannot change: ids alone of what has more than 1000 clicks, and not the number of clicks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple

from cumulus_ops.coordination.finality.lineage import relations_of
from cumulus_ops.coordination.finality.trends import CONSTANT, UNKNOWN, Known, Trend, known_of, product_of
from m3.failures import may_fail
from m3.graphs import reachable
from m3.program import Derivation, Derived, Input, Program, Statement, Trigger, View
from m3.scalars import variables

__all__ = ["Growth", "Retraction", "retractions", "why_retracted"]

COUNT = Known(Trend.RISING, low=Decimal(0))


@dataclass(frozen=True)
class Growth:
    """What only grows in a program, if the relations ``insert_only`` have no deletes."""

    program: Program
    insert_only: frozenset[str]

    @cached_property
    def _derived(self) -> Mapping[str, Derived]:
        return self.program.derivation_by_map

    @cached_property
    def facts(self) -> tuple[frozenset[str], frozenset[str]]:
        """The maps that rise, and those without entries below zero: the greatest sets that nothing contradicts.

        (It is an induction over events: each of them finds maps that have only risen so far.)"""
        rising = positive = frozenset(self.program.map_by_name)
        while True:
            risen = frozenset(m for m in rising if self._rises(m, rising, positive))
            kept = frozenset(m for m in positive if m in risen or self._is_positive(m, rising, positive))
            if (risen, kept) == (rising, positive):
                return rising, positive
            rising, positive = risen, kept

    @property
    def rising(self) -> frozenset[str]:
        """The maps whose entries never fall."""
        return self.facts[0]

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

    def _rises(self, name: str, rising: frozenset[str], positive: frozenset[str]) -> bool:
        derived = self._derived.get(name)
        if derived is None:
            return all(self._adds(t, s, rising, positive) for t, s in self._writers[name])
        if not isinstance(derived, Derivation):
            return False
        env = self.inputs(derived, rising, positive)
        outputs = (known_of(c.expression, env).trend for c in derived.outputs)
        return self.stays(derived, env) and all(trend is Trend.FIXED for trend in outputs)

    def _is_positive(self, name: str, rising: frozenset[str], positive: frozenset[str]) -> bool:
        derived = self._derived.get(name)
        if derived is None:
            return False  # what is not below zero, and is added to by triggers, rises
        if not isinstance(derived, Derivation):
            return derived.source in positive
        return known_of(derived.count, self.inputs(derived, rising, positive)).is_positive

    @staticmethod
    def stays(derived: Derivation, env: Mapping[str, Known]) -> bool:
        """Whether a group's row, once it is there, stays, maybe with other columns, and as often."""
        count = known_of(derived.count, env)
        return count.is_positive and count.trend in (Trend.FIXED, Trend.RISING)

    def inputs(self, derived: Derivation, rising: Collection[str], positive: Collection[str]) -> dict[str, Known]:
        """What is known of a derivation's variables: the group's key does not change, extremes move with their maps."""
        env = dict.fromkeys(derived.keys, CONSTANT)
        for given in derived.inputs:
            env[given.name] = _input(given, rising, positive)
        return env

    def _adds(self, trigger: Trigger, statement: Statement, rising: frozenset[str], positive: frozenset[str]) -> bool:
        """Whether a statement never takes anything away."""
        if not all(ref.map in positive for ref in statement.reads()):
            return False
        if trigger.sign != 0 or trigger.relation in rising:  # each of its events is an insert
            return _product(statement, {}).is_positive
        return self._follows(trigger, statement, rising, positive)

    def _follows(
        self, trigger: Trigger, statement: Statement, rising: frozenset[str], positive: frozenset[str]
    ) -> bool:
        """Whether a statement adds no less for the new row of a group than it takes away for the old one: what it adds rises with the row's
        columns, and goes to, and is multiplied by, entries that do not depend on these."""
        derived = self._derived[trigger.relation]
        if not isinstance(derived, Derivation):
            return False
        env = self.row(derived, trigger.params, rising, positive)
        moving = {name for name, known in env.items() if known.trend is not Trend.FIXED}
        keys = [*statement.keys, *(k for ref in statement.reads() for k in ref.keys)]
        behind = self._behind(trigger.relation)
        if any(moving & set(variables(k)) for k in keys) or any(ref.map in behind for ref in statement.reads()):
            return False
        loops = dict.fromkeys(statement.variables() - set(env), CONSTANT)
        product = _product(statement, {**env, **loops})
        conditions = [known_of(c, {**env, **loops}).trend for c in statement.conditions]
        inputs = self.inputs(derived, rising, positive)
        steady = all(trend in (Trend.FIXED, Trend.RISING) for trend in (product.trend, *conditions))
        return self.stays(derived, inputs) and steady and product.is_positive

    def row(
        self, derived: Derivation, names: tuple[str, ...], rising: Collection[str], positive: Collection[str]
    ) -> dict[str, Known]:
        """What is known of the columns of a derived map's rows, called ``names``, as the rows of one group follow each other."""
        inputs = self.inputs(derived, rising, positive)
        columns = [CONSTANT] * len(derived.keys) + [known_of(c.expression, inputs) for c in derived.outputs]
        return dict(zip(names, columns, strict=True))

    def _behind(self, name: str) -> set[str]:
        """The maps computed from one, itself included."""
        return set(reachable(self._edges, name))

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
        """The maps whose entries are numbers of rows, which are far within their types: sums of products of -1, 0, 1 and such entries."""
        found = frozenset(m for m in self.program.map_by_name if m not in self._derived)
        while True:
            kept = frozenset(
                m for m in found if all(_counts(s, found | set(self._derived)) for _, s in self._writers[m])
            )
            if kept == found:
                return found
            found = kept


def _input(given: Input, rising: Collection[str], positive: Collection[str]) -> Known:
    low = Decimal(0) if given.kind == "value" and given.map in positive else None
    if given.map not in rising or given.at:
        return Known(Trend.ANY, low)
    return {"value": COUNT, "max": Known(Trend.RISING), "min": Known(Trend.FALLING)}.get(given.kind, UNKNOWN)


def _product(statement: Statement, env: Mapping[str, Known]) -> Known:
    """The product of the factors that are no maps."""
    return product_of(known_of(scalar, env) for scalar in statement.scalars())


def _counts(statement: Statement, counts: Collection[str]) -> bool:
    product = _product(statement, {})
    small = product.low is not None and product.high is not None and product.low >= -1 and product.high <= 1
    return small and all(ref.map in counts for ref in statement.reads())


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
    anyway = retractions(Growth(growth.program, frozenset(growth.program.relation_by_name)), view)
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
    elif view.having is not None and known_of(view.having, env).trend not in (Trend.FIXED, Trend.RISING):
        yield Retraction("what HAVING asks may become false")
    for column in view.visible:
        if known_of(column.expression, env or {}).trend is not Trend.FIXED and env is not None:
            yield Retraction(f"its column {column.name} changes", column.name)
    yield from _failures(growth, view)


def _failures(growth: Growth, view: View) -> Iterator[Retraction]:
    """A view in error has no rows at all."""
    if view.checks:
        yield Retraction("an expression of it may fail, and then it has no rows at all")
    totals = frozenset(v.name for v in view.values if v.map not in growth.counts)
    counts = frozenset(v.name for v in view.values) - totals
    if view.having is not None and may_fail(view.having, totals=totals, counts=counts):
        yield Retraction("HAVING may fail, and then it has no rows at all")
    for column in view.columns:
        if may_fail(column.expression, totals=totals, counts=counts):
            yield Retraction(f"its column {column.name} may fail, and then it has no rows at all", column.name)


def _row_env(growth: Growth, view: View) -> dict[str, Known] | None:
    """What is known of the variables of a view's rows, as the rows of one key follow each other; None if rows may go."""
    rising, positive = growth.facts
    keys = dict.fromkeys((k.name for k in view.keys), CONSTANT)
    values = {v.name: COUNT if v.map in rising else UNKNOWN for v in view.values}
    if view.exists is None:
        return {**keys, **values} if all(v.map in rising for v in view.values) else None
    if view.exists in rising or (not view.keys and not view.repeated):
        return {**keys, **values}
    derived = growth.program.derivation_by_map.get(view.exists)
    if not isinstance(derived, Derivation) or view.values:
        return None
    if not growth.stays(derived, growth.inputs(derived, rising, positive)):
        return None
    return growth.row(derived, tuple(k.name for k in view.keys), rising, positive)
