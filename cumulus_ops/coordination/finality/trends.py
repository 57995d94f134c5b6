"""How the value of an expression can change while events come, given how its variables can: never, only upwards, only downwards, anyhow.

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

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from functools import reduce
from typing import NamedTuple

from m3.scalars import Call, Const, Scalar, Var

__all__ = ["CONSTANT", "UNKNOWN", "Known", "Trend", "known_of", "product_of", "trend_of"]


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
    return reduce(_product, factors, Known(Trend.FIXED, Decimal(1), Decimal(1)))


def _product(a: Known, b: Known) -> Known:
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
    return Known(moves.join(_switched(condition, value, rest)), low, high)


def _after_null(trend: Trend, scalar: Scalar) -> Trend:
    """Of what is NULL first, and then moves as ``trend``: it is not fixed, and a condition may become TRUE."""
    return trend if trend is Trend.FALLING and scalar.type.kind != "bool" else trend.join(Trend.RISING)


def _switched(condition: Trend, value: Known, rest: Known) -> Trend:
    """How a CASE moves when its condition changes."""
    up = value.low is not None and rest.high is not None and value.low >= rest.high
    down = value.high is not None and rest.low is not None and value.high <= rest.low
    to_value = Trend.RISING if up else Trend.FALLING if down else Trend.ANY
    return {Trend.RISING: to_value, Trend.FALLING: to_value.flipped}.get(condition, Trend.ANY)


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
    "mul": lambda _, args: _product(*args),
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
