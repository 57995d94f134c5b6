"""Which maps only grow, and of which views a row is never retracted (CALM: what is monotone needs no coordination; Blazes, section III-B).

It is read off the triggers. A map **rises** if no event that can occur takes anything away from an entry: then what was counted stays
counted, also where batches are applied out of their order and corrected later, for corrections of products of such maps add as well. The
deletes of relations that have only inserts cannot occur. A view's row stays if the map that it exists by rises, HAVING stays true once it is,
and its columns cannot change: ids alone of what has more than 1000 clicks, and not the number of clicks.

How the value of an expression can change while events come, given how its variables can: never, only upwards, only downwards, anyhow.

NULL may come first: a maximum is NULL while there is no value, and then only rises. A condition **rises** if it stays TRUE once it is, and
**falls** if it never becomes TRUE any more once it is not; FALSE and NULL are alike there.

>>> from m3.datatypes import INT
>>> from m3.scalars import Var, call, const
>>> n = Var("n", INT)
>>> upwards = {"n": Known(Trend.RISING, low=Decimal(0))}
>>> [trend_of(call(op, n, const(1000)), upwards).name for op in ("gt", "lt", "eq")]
['RISING', 'FALLING', 'ANY']
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property, reduce
from typing import NamedTuple

from cumulus_ops.coordination.finality.lineage import relations_of
from m3.dataflow import reachable
from m3.failures import may_fail
from m3.program import Derivation, Derived, Input, Program, Statement, Trigger, View
from m3.scalars import Call, Const, Scalar, Var, variables

__all__ = [
    "CONSTANT",
    "UNKNOWN",
    "Growth",
    "Known",
    "Retraction",
    "Trend",
    "known_of",
    "product_of",
    "retractions",
    "trend_of",
    "why_retracted",
]


class Trend(Enum):
    """In which directions a value can change."""

    FIXED = (False, False)
    RISING = (True, False)
    FALLING = (False, True)
    ANY = (True, True)

    def join(self, other: Trend) -> Trend:
        """Of what changes as both do.

        >>> Trend.RISING.join(Trend.FIXED), Trend.RISING.join(Trend.FALLING)
        (<Trend.RISING: (True, False)>, <Trend.ANY: (True, True)>)
        """
        (up, down), (other_up, other_down) = self.value, other.value
        return Trend((up or other_up, down or other_down))

    @property
    def flipped(self) -> Trend:
        """Of the negative."""
        up, down = self.value
        return Trend((down, up))


class Known(NamedTuple):
    """What is known of a value: its trend, and exact numbers that it is never below (``low``) or above (``high``)."""

    trend: Trend = Trend.ANY
    low: Decimal | None = None
    high: Decimal | None = None

    @property
    def is_positive(self) -> bool:
        """Whether it is surely not below 0."""
        return self.low is not None and self.low >= 0


UNKNOWN = Known()
#: What does not change, whatever it is.
CONSTANT = Known(Trend.FIXED)
Env = Mapping[str, Known]


def trend_of(scalar: Scalar, env: Env) -> Trend:
    """How the value of an expression can change.

    Args:
        scalar: the expression; it does not fail.
        env: what is known of its variables; of those that are not in it, nothing.
    """
    return known_of(scalar, env).trend


def known_of(scalar: Scalar, env: Env) -> Known:
    """What is known of the value of an expression, see :func:`trend_of`."""
    if isinstance(scalar, Const):
        value = scalar.value
        exact = isinstance(value, int | Decimal) and not isinstance(value, bool)
        number = Decimal(value) if exact else None  # type: ignore[arg-type]
        return Known(Trend.FIXED, number, number)
    if isinstance(scalar, Var):
        return env.get(scalar.name, UNKNOWN)
    args = [known_of(a, env) for a in scalar.args]
    rule = None if scalar.type.kind == "double" and scalar.op in _ARITHMETIC else _RULES.get(scalar.op)
    found = rule(scalar, args) if rule else UNKNOWN
    if all(a.trend is Trend.FIXED for a in args):  # every operation is a function of its arguments
        return found._replace(trend=Trend.FIXED)
    return found


def _add(_: Call, args: list[Known]) -> Known:
    low, high = _sum(args[0].low, args[1].low), _sum(args[0].high, args[1].high)
    return Known(args[0].trend.join(args[1].trend), low, high)


def _sub(node: Call, args: list[Known]) -> Known:
    return _add(node, [args[0], _negated(args[1])])


def _sum(a: Decimal | None, b: Decimal | None) -> Decimal | None:
    return None if a is None or b is None else a + b


def _negated(known: Known) -> Known:
    low = None if known.high is None else -known.high
    high = None if known.low is None else -known.low
    return Known(known.trend.flipped, low, high)


def product_of(factors: Iterable[Known]) -> Known:
    """What is known of a product; the empty one is 1."""
    return reduce(_trend_of_product, factors, Known(Trend.FIXED, Decimal(1), Decimal(1)))


def _trend_of_product(a: Known, b: Known) -> Known:
    """Two numbers that are not negative keep their direction, and so does what is multiplied by one that does not change."""
    if None not in (*a[1:], *b[1:]):
        corners = [x * y for x in a[1:] for y in b[1:]]  # type: ignore[operator]
        return _directed(a, b)._replace(low=min(corners), high=max(corners))
    return _directed(a, b)


def _directed(a: Known, b: Known) -> Known:
    if a.is_positive and b.is_positive:
        return Known(a.trend.join(b.trend), Decimal(0))
    for factor, other in ((a, b), (b, a)):
        if factor.trend is Trend.FIXED and factor.is_positive:
            return Known(other.trend)
        if factor.trend is Trend.FIXED and factor.high is not None and factor.high <= 0:
            return Known(other.trend.flipped, high=Decimal(0) if other.is_positive else None)
    return UNKNOWN


def _comparison(rises: int) -> Callable[[Call, list[Known]], Known]:
    """Of ``a > b`` (``rises`` is 0) and ``a < b`` (1): TRUE stays TRUE if what is to be the greater one only rises, the other one only falls."""

    def rule(node: Call, args: list[Known]) -> Known:
        if _tells_false_from_null(node, args):
            return UNKNOWN
        greater, less = args[rises].trend, args[1 - rises].trend
        together = greater.join(less.flipped)
        if together is Trend.FALLING and any(a.type.nullable for a in node.args):
            return UNKNOWN  # NULL comes first, so it may be TRUE after it was not
        return Known(together)

    return rule


def _all(_: Call, args: list[Known]) -> Known:
    trend = Trend.FIXED
    for arg in args:
        trend = trend.join(arg.trend)
    return Known(trend)


def _not(node: Call, args: list[Known]) -> Known:
    # NULL that becomes FALSE makes NOT true, so only what is never NULL turns round.
    return UNKNOWN if node.args[0].type.nullable else Known(args[0].trend.flipped)


def _is_null(node: Call, args: list[Known]) -> Known:
    return UNKNOWN if args[0].trend is Trend.ANY or _tells_false_from_null(node, args) else Known(Trend.FALLING)


def _tells_false_from_null(node: Call, args: list[Known]) -> bool:
    """Whether an operation takes conditions for values: one that rises may be FALSE first, then NULL, then TRUE."""
    pairs = zip(node.args, args, strict=True)
    return any(a.type.kind == "bool" and a.type.nullable and k.trend is not Trend.FIXED for a, k in pairs)


def _case(node: Call, args: list[Known]) -> Known:
    """The first branch, and the rest as a CASE of its own."""
    scalars, result = list(node.args), args[-1]
    for index in range(len(args) - 3, -1, -2):
        result = _choice(args[index].trend, (scalars[index + 1], args[index + 1]), result, scalars[index + 2 :])
    return result


def _choice(condition: Trend, branch: tuple[Scalar, Known], rest: Known, others: list[Scalar]) -> Known:
    """Of ``CASE WHEN condition THEN branch ELSE rest END``, where ``others`` are the expressions of the rest."""
    scalar, value = branch
    low = None if value.low is None or rest.low is None else min(value.low, rest.low)
    high = None if value.high is None or rest.high is None else max(value.high, rest.high)
    moves = value.trend.join(rest.trend)
    if condition is Trend.FIXED:
        return Known(moves, low, high)
    if condition is Trend.RISING and len(others) == 1 and _is_null_literal(others[0]):
        return Known(_after_null(value.trend, scalar), value.low, value.high)
    if any(s.type.nullable for s in (scalar, *others[1::2], others[-1])):
        return Known(Trend.ANY, low, high)
    # When the condition changes, it moves from the rest to the value, or back.
    up = value.low is not None and rest.high is not None and value.low >= rest.high
    down = value.high is not None and rest.low is not None and value.high <= rest.low
    to_value = Trend.RISING if up else Trend.FALLING if down else Trend.ANY
    return Known(
        moves.join({Trend.RISING: to_value, Trend.FALLING: to_value.flipped}.get(condition, Trend.ANY)), low, high
    )


def _after_null(trend: Trend, scalar: Scalar) -> Trend:
    """Of what is NULL first, and then moves as ``trend``: it is not fixed, and a condition may become TRUE."""
    return trend if trend is Trend.FALLING and scalar.type.kind != "bool" else trend.join(Trend.RISING)


def _is_null_literal(scalar: Scalar) -> bool:
    return isinstance(scalar, Const) and scalar.value is None


def _cast(node: Call, args: list[Known]) -> Known:
    """Rounding and truncating keep the order of numbers; NaN becomes a DOUBLE only."""
    numbers = all(t.is_numeric or t.kind == "double" for t in (node.type, node.args[0].type))
    return Known(args[0].trend, Decimal(0) if args[0].is_positive else None) if numbers else UNKNOWN


def _coalesce(node: Call, args: list[Known]) -> Known:
    """What is NULL first, and then no less than what has stood for it."""
    value, default = args[0], args[-1]
    low, high = value.low, default.high
    steps_up = len(args) == 2 and low is not None and high is not None and low >= high
    if steps_up and value.trend.join(default.trend) in (Trend.FIXED, Trend.RISING) and not node.type.nullable:
        return Known(Trend.RISING, default.low)
    return UNKNOWN


#: Of DOUBLEs these keep no order: NaN is the greatest number before a negation and after it, and a sum or a product of infinities
#: is NaN for some values only (``inf - inf``, ``0 * inf``). A DOUBLE that is only compared, cast or chosen keeps its trend.
_ARITHMETIC = frozenset({"add", "sub", "neg", "mul"})

_RULES: Mapping[str, Callable[[Call, list[Known]], Known]] = {
    "add": _add,
    "sub": _sub,
    "neg": lambda _, args: _negated(args[0]),
    "mul": lambda _, args: _trend_of_product(*args),
    "gt": _comparison(0),
    "ge": _comparison(0),
    "lt": _comparison(1),
    "le": _comparison(1),
    "and": _all,
    "or": _all,
    "not": _not,
    "is_null": _is_null,
    "case": _case,
    "cast": _cast,
    "coalesce": _coalesce,
}


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
        behind = set(reachable(self._edges, trigger.relation))
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
