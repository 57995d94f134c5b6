"""How the value of an expression can change while events come, given how its variables can: never, only upwards, only downwards, anyhow.

All that is claimed is about **two moments**, an earlier and a later one. What *rises* is NULL at the earlier one, or no greater than at the
later one: a maximum is NULL while there is no value, and then only rises. What *falls* is NULL first as well, and then only falls.

Of a truth value there is more to say, for it has three values: which of them it may have earlier, and which later, in pairs, its **turns**.
A condition *stays* if it has no turn away from TRUE; FALSE and NULL are alike for that, and not for NOT. What is computed from truth values
alone is looked up: all turns of the arguments are taken through the operation itself. So there is no rule that could be wrong.

>>> from m3.datatypes import INT
>>> from m3.scalars import Var, call, const
>>> env = {"n": Known(Trend.RISING, low=Fraction(1))}
>>> compared = {op: call(op, Var("n", INT), const(1)) for op in ("gt", "le", "eq", "ne")}
>>> {op: known_of(c, env).trend.name for op, c in compared.items()}
{'gt': 'RISING', 'le': 'FALLING', 'eq': 'FALLING', 'ne': 'RISING'}

What functions do with the order of their arguments is in their rows (:mod:`m3.dictionary`: ``rises``, ``falls``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import lru_cache, reduce
from typing import NamedTuple

from m3.datatypes import BOOL
from m3.dictionary import FUNCTIONS
from m3.evaluate import evaluate
from m3.failures import may_fail
from m3.scalars import Call, Const, Scalar, Var, conjuncts, vars_of

__all__ = [
    "CONSTANT",
    "COUNT",
    "UNKNOWN",
    "Env",
    "Known",
    "Trend",
    "assume",
    "fails",
    "known_of",
    "never_true",
    "product_of",
    "stays_true",
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

    @property
    def is_upwards(self) -> bool:
        """Whether it never goes down."""
        return self in (Trend.FIXED, Trend.RISING)


#: A truth value earlier and later; a pair of equal ones says that it may have the value.
Turn = tuple[bool | None, bool | None]
Turns = frozenset[Turn]
TRUTHS = (None, False, True)
ALL: Turns = frozenset(itertools.product(TRUTHS, TRUTHS))


class Known(NamedTuple):
    """What is known of a value: its trend; exact numbers that it is never below (``low``) or above (``high``), unless it is NULL; the
    turns of a truth value, if these say more than the trend. ``rows``: it is a number of rows, far within its type; ``total``: it is a sum,
    which may be beyond its type."""

    trend: Trend = Trend.ANY
    low: Fraction | None = None
    high: Fraction | None = None
    turns: Turns | None = None
    rows: bool = False
    total: bool = False

    @property
    def is_positive(self) -> bool:
        """Whether it is surely not below 0."""
        return self.low is not None and self.low >= 0

    @property
    def is_negative(self) -> bool:
        """Whether it is surely not above 0."""
        return self.high is not None and self.high <= 0

    @property
    def is_apart(self) -> bool:
        """Whether it is surely not 0."""
        return (self.is_positive and self.low != 0) or (self.is_negative and self.high != 0)


UNKNOWN = Known()
#: What does not change, whatever it is.
CONSTANT = Known(Trend.FIXED)
#: A number of rows that only become more.
COUNT = Known(Trend.RISING, low=Fraction(0))
Env = Mapping[str, Known]
Rule = Callable[[Call, list[Known]], Known]


def stays_true(condition: Scalar, env: Env) -> bool:
    """Whether a condition stays TRUE once it is."""
    return all(later is True for earlier, later in _turns(condition, known_of(condition, env)) if earlier is True)


def never_true(condition: Scalar, env: Env) -> bool:
    """Whether a condition is surely not TRUE."""
    return (True, True) not in _turns(condition, known_of(condition, env))


def fails(scalar: Scalar, env: Env) -> bool:
    """Whether an expression may fail, by its types, and by which of its variables are sums, and which are not 0."""
    apart = frozenset(v for v in vars_of(scalar).values() if env.get(v.name, UNKNOWN).is_apart)
    totals = frozenset(name for name, known in env.items() if known.total)
    counts = frozenset(name for name, known in env.items() if known.rows)
    return may_fail(scalar, apart, totals, counts)


def assume(condition: Scalar, env: Env) -> dict[str, Known]:
    """What is known where a condition is TRUE: bounds of variables that it compares with constants.

    >>> from m3.datatypes import INT
    >>> from m3.scalars import Var, call, const
    >>> assume(call("gt", Var("n", INT), const(2)), {"n": COUNT})["n"].low
    Fraction(3, 1)
    """
    found = dict(env)
    for part in conjuncts(condition):
        match part:
            case Call(op, (Var() as variable, Const() as bound)) if op in _BOUNDS:
                _narrow(found, variable, op, bound)
            case Call(op, (Const() as bound, Var() as variable)) if op in _BOUNDS:
                _narrow(found, variable, _MIRRORED[op], bound)
    return found


_BOUNDS = ("gt", "ge", "lt", "le", "eq")
_MIRRORED = {"gt": "lt", "ge": "le", "lt": "gt", "le": "ge", "eq": "eq"}


def _narrow(env: dict[str, Known], variable: Var, op: str, bound: Const) -> None:
    limit = _exact(bound)
    if limit is None or variable.type.kind not in ("int", "decimal"):
        return
    unit = Fraction(1, 10**variable.type.scale)  # to the next number of the type; no bound of another scale is one
    apart = unit if op in ("gt", "lt") and limit % unit == 0 else 0
    known = env.get(variable.name, UNKNOWN)
    if op in ("gt", "ge", "eq") and (known.low is None or known.low < limit + apart):
        known = known._replace(low=limit + apart)
    if op in ("lt", "le", "eq") and (known.high is None or known.high > limit - apart):
        known = known._replace(high=limit - apart)
    env[variable.name] = known


def known_of(scalar: Scalar, env: Env) -> Known:
    """What is known of the value of an expression that does not fail.

    Args:
        scalar: the expression.
        env: what is known of its variables; of those that are not in it, nothing.
    """
    if isinstance(scalar, Const):
        if isinstance(scalar.value, bool):
            return _of_turns(frozenset({(scalar.value, scalar.value)}))
        number = _exact(scalar)
        return Known(Trend.FIXED, number, number)
    if isinstance(scalar, Var):
        return env.get(scalar.name, UNKNOWN)
    if scalar.op in ("attempt", "fails"):
        return _attempted(scalar, env)
    found = _computed(scalar, [known_of(a, env) for a in scalar.args])
    one_value = found.low is not None and found.low == found.high and not scalar.type.nullable
    return found._replace(trend=Trend.FIXED) if one_value else found


def _exact(constant: Const) -> Fraction | None:
    value = constant.value
    return Fraction(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _attempted(node: Call, env: Env) -> Known:
    """What cannot fail is what it is, and ``fails`` is 0."""
    (arg,) = node.args
    if fails(arg, env):
        return UNKNOWN
    return known_of(arg, env) if node.op == "attempt" else Known(Trend.FIXED, Fraction(0), Fraction(0))


def _computed(node: Call, args: list[Known]) -> Known:
    if node.op in _OF_TRUTHS and all(a.type.kind == "bool" for a in node.args):
        return _looked_up(node, args)
    if node.op in _ARITHMETIC and any(t.type.kind == "double" for t in (node, *node.args)):
        found = UNKNOWN
    else:
        found = _RULES.get(node.op, _function)(node, args)
    if all(a.trend is Trend.FIXED for a in args):  # every operation is a function of its arguments
        return found._replace(trend=Trend.FIXED, turns=None if found.turns is None else _unmoved(found.turns))
    return found


# Truth values.


def _of_turns(turns: Turns) -> Known:
    """What is known by its turns, with the trend that these have."""
    for trend in (Trend.FIXED, Trend.RISING, Trend.FALLING):
        if turns <= _of_trend(trend, nullable=True):
            return Known(trend, turns=turns)
    return Known(Trend.ANY, turns=turns)


@lru_cache(maxsize=16)
def _of_trend(trend: Trend, *, nullable: bool) -> Turns:
    """The turns of a truth value with a trend: FALSE is less than TRUE, and NULL comes first."""
    up, down = trend.value
    found = {(a, a) for a in TRUTHS}
    if trend is not Trend.FIXED:
        found |= {(None, False), (None, True)}
    found |= {(False, True)} if up else set()
    found |= {(True, False)} if down else set()
    return frozenset(turn for turn in (ALL if up and down else found) if nullable or None not in turn)


def _unmoved(turns: Turns) -> Turns:
    return frozenset(turn for turn in turns if turn[0] is turn[1])


def _turns(scalar: Scalar, known: Known) -> Turns:
    """The turns of a condition."""
    return _of_trend(known.trend, nullable=scalar.type.nullable) if known.turns is None else known.turns


#: Operations that are taken through all turns where all of their arguments are truth values.
_OF_TRUTHS = frozenset(
    {"and", "or", "not", "is_null", "eq", "ne", "same", "lt", "le", "gt", "ge", "case", "coalesce", "greatest", "least"}
)


def _looked_up(node: Call, args: list[Known]) -> Known:
    turns = [_turns(a, k) for a, k in zip(node.args, args, strict=True)]
    if node.op == "case":  # the first branch, and the rest as a CASE of its own
        result = turns[-1]
        for condition, value in zip(reversed(turns[:-1:2]), reversed(turns[1:-1:2]), strict=True):
            result = _through("case", (condition, value, result))
        return _of_turns(result)
    if len(turns) <= 2:
        return _of_turns(_through(node.op, tuple(turns)))
    return _of_turns(reduce(lambda a, b: _through(node.op, (a, b)), turns))


def _through(op: str, turns: tuple[Turns, ...]) -> Turns:
    """The turns of a result: of what it is for the earlier truth values to what it is for the later ones."""
    return frozenset(
        (_value(op, tuple(s[0] for s in chosen)), _value(op, tuple(s[1] for s in chosen)))
        for chosen in itertools.product(*turns)
    )


@lru_cache(maxsize=1024)
def _value(op: str, truths: tuple[bool | None, ...]) -> bool | None:
    nullable = BOOL.with_null()
    found = evaluate(Call(op, tuple(Const(t, nullable) for t in truths), nullable), {})
    assert found is None or isinstance(found, bool)
    return found


# Comparisons of other values. One order has all of them: NaN is the greatest of the DOUBLEs, and equal to itself.


def _compare(node: Call, args: list[Known]) -> Known:
    """Of ``a > b`` and its like: it becomes TRUE as a rises and b falls."""
    a, b = args
    greater, less = (a, b) if node.op in ("gt", "ge") else (b, a)
    strict = node.op in ("gt", "lt")
    surely = _is_above(greater.low, less.high, strict=strict)
    surely_not = _is_above(less.low, greater.high, strict=not strict)
    values = {True} if surely else {False} if surely_not else {False, True}
    return _of_turns(_decided(node, args, values, greater.trend.join(less.trend.flipped)))


def _is_above(a: Fraction | None, b: Fraction | None, *, strict: bool) -> bool:
    return a is not None and b is not None and (a > b if strict else a >= b)


def _decided(node: Call, args: list[Known], values: set[bool], trend: Trend) -> Turns:
    """The turns of a truth value about others that is one of ``values``, or NULL where one of these is."""
    up, down = trend.value
    turns: set[Turn] = {(v, v) for v in values}
    if len(values) > 1:
        turns |= ({(False, True)} if up else set()) | ({(True, False)} if down else set())
    nullable = [k.trend for a, k in zip(node.args, args, strict=True) if a.type.nullable]
    if nullable:
        turns.add((None, None))
    if any(t is not Trend.FIXED for t in nullable):  # NULL comes first
        turns |= {(None, v) for v in values}
    if Trend.ANY in nullable:
        turns |= {(v, None) for v in values}
    return frozenset(turns)


def _equal(node: Call, args: list[Known]) -> Known:
    """Of ``a = b``: where a is never below b, it is ``a <= b``, which is FALSE for ever once a has risen above b."""
    a, b = args
    if _is_above(a.low, b.high, strict=False):
        return _compare(Call("le", node.args, node.type), args)
    if _is_above(b.low, a.high, strict=False):
        return _compare(Call("ge", node.args, node.type), args)
    moves = Trend.FIXED if a.trend is b.trend is Trend.FIXED else Trend.ANY
    return _of_turns(_decided(node, args, {False, True}, moves))


def _unequal(node: Call, args: list[Known]) -> Known:
    return _of_turns(_through("not", (_equal(node, args).turns or ALL,)))


def _same(node: Call, args: list[Known]) -> Known:
    return UNKNOWN if any(a.type.nullable for a in node.args) else _equal(node, args)


def _in(node: Call, args: list[Known]) -> Known:
    """``a = b OR a = c``."""
    value, *others = zip(node.args, args, strict=True)
    turns = [_turns_of_equality(value, other) for other in others]
    return _of_turns(reduce(lambda a, b: _through("or", (a, b)), turns))


def _turns_of_equality(a: tuple[Scalar, Known], b: tuple[Scalar, Known]) -> Turns:
    node = Call("eq", (a[0], b[0]), BOOL.with_null(a[0].type.nullable or b[0].type.nullable))
    return _turns(node, _computed(node, [a[1], b[1]]))


def _is_null(node: Call, args: list[Known]) -> Known:
    (arg,), (known,) = node.args, args
    if not arg.type.nullable:
        return _of_turns(frozenset({(False, False)}))
    return Known(Trend.ANY if known.trend is Trend.ANY else Trend.FALLING)


# Numbers. Whatever overflows fails, and is nobody's value.


def _add(node: Call, args: list[Known]) -> Known:
    low, high = _sum(args[0].low, args[1].low), _sum(args[0].high, args[1].high)
    return _rounded(node, Known(args[0].trend.join(args[1].trend), low, high), max(a.type.scale for a in node.args))


def _rounded(node: Call, known: Known, scale: int) -> Known:
    """Of a result that has ``scale`` decimals before it is rounded to those of its type: bounds are rounded past, and signs stay."""
    if node.type.scale >= scale:
        return known
    low, high = Fraction(0) if known.is_positive else None, Fraction(0) if known.is_negative else None
    return known._replace(low=low, high=high)


def _sub(node: Call, args: list[Known]) -> Known:
    return _add(node, [args[0], _negated(args[1])])


def _sum(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _negated(known: Known) -> Known:
    low = None if known.high is None else -known.high
    high = None if known.low is None else -known.low
    return Known(known.trend.flipped, low, high)


def product_of(factors: Iterable[Known]) -> Known:
    """What is known of a product; the empty one is 1."""
    return reduce(_product, factors, Known(Trend.FIXED, Fraction(1), Fraction(1)))


def _product(a: Known, b: Known) -> Known:
    """Two numbers that are not negative keep their direction, and so does what is multiplied by one that does not change."""
    found = _directed(a, b)
    if None not in (a.low, a.high, b.low, b.high):
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]  # type: ignore[operator]
        return found._replace(low=min(corners), high=max(corners))
    return found


def _directed(a: Known, b: Known) -> Known:
    if a.is_positive and b.is_positive:
        low = a.low * b.low  # type: ignore[operator]
        return Known(a.trend.join(b.trend), low)
    for factor, other in ((a, b), (b, a)):
        if factor.trend is Trend.FIXED and factor.is_positive:
            return Known(other.trend, high=Fraction(0) if other.is_negative else None)
        if factor.trend is Trend.FIXED and factor.is_negative:
            return Known(other.trend.flipped, high=Fraction(0) if other.is_positive else None)
    return UNKNOWN


def _quotient(_: Call, args: list[Known]) -> Known:
    """By a number that is surely above 0, for 0 fails; rounding keeps the order."""
    a, b = args
    if a.is_positive and b.is_positive:
        return Known(a.trend.join(b.trend.flipped), low=Fraction(0))
    if b.trend is Trend.FIXED and b.is_positive:
        return Known(a.trend)
    return Known(a.trend.flipped) if b.trend is Trend.FIXED and b.is_negative else UNKNOWN


def _abs(_: Call, args: list[Known]) -> Known:
    (known,) = args
    if known.is_positive:
        return known._replace(rows=False, total=False)
    return _negated(known) if known.is_negative else Known(Trend.ANY, low=Fraction(0))


def _cast(node: Call, args: list[Known]) -> Known:
    """Rounding and truncating keep the order of numbers; NaN becomes a DOUBLE only. A day becomes its midnight, and a moment its day."""
    (known,), source, to = args, node.args[0].type, node.type
    if source.is_numeric and to.is_numeric:
        return _rounded(node, Known(known.trend, known.low, known.high), source.scale)
    if all(t.is_numeric or t.kind == "double" for t in (source, to)):
        return Known(known.trend, Fraction(0) if known.is_positive else None)
    if source.kind == "bool" and to.kind in ("int", "decimal", "double"):
        trend = known.trend if known.turns is None else _of_turns(known.turns).trend
        return Known(trend) if to.kind == "double" else Known(trend, Fraction(0), Fraction(1))
    return Known(known.trend) if {source.kind, to.kind} <= {"date", "timestamp"} or source.same_as(to) else UNKNOWN


def _try_cast(node: Call, args: list[Known]) -> Known:
    """A number that is too large becomes NULL, which is no way upwards."""
    return UNKNOWN if may_fail(Call("cast", node.args, node.type)) else _cast(node, args)


# What chooses among values.


def _case(node: Call, args: list[Known]) -> Known:
    """The first branch, and the rest as a CASE of its own."""
    scalars, result = list(node.args), args[-1]
    for index in range(len(args) - 3, -1, -2):
        turns = _turns(scalars[index], args[index])
        result = _choice(turns, (scalars[index + 1], args[index + 1]), result, scalars[index + 2 :])
    return result._replace(rows=False, total=False)


def _choice(condition: Turns, branch: tuple[Scalar, Known], rest: Known, others: list[Scalar]) -> Known:
    """Of ``CASE WHEN condition THEN branch ELSE rest END``, where ``others`` are the expressions of the rest."""
    scalar, value = branch
    if (True, True) not in condition:
        return rest
    if condition == {(True, True)}:
        return value
    low = None if value.low is None or rest.low is None else min(value.low, rest.low)
    high = None if value.high is None or rest.high is None else max(value.high, rest.high)
    moves = value.trend.join(rest.trend)
    begins = any(later is True for earlier, later in condition if earlier is not True)
    ends = any(earlier is True for earlier, later in condition if later is not True)
    if not begins and not ends:
        return Known(moves, low, high)
    if not ends and len(others) == 1 and _is_null_literal(others[0]):
        return Known(_after_null(value.trend, scalar), value.low, value.high)
    if any(s.type.nullable for s in (scalar, *others[1::2], others[-1])):
        return Known(Trend.ANY, low, high)
    # When the condition changes, it moves from the rest to the value, or back.
    up = value.low is not None and rest.high is not None and value.low >= rest.high
    down = value.high is not None and rest.low is not None and value.high <= rest.low
    to_value = Trend.RISING if up else Trend.FALLING if down else Trend.ANY
    moves = moves.join(to_value) if begins else moves
    return Known(moves.join(to_value.flipped) if ends else moves, low, high)


def _after_null(trend: Trend, scalar: Scalar) -> Trend:
    """Of what is NULL first, and then moves as ``trend``: it is not fixed, and a condition may become TRUE."""
    return trend if trend is Trend.FALLING and scalar.type.kind != "bool" else trend.join(Trend.RISING)


def _is_null_literal(scalar: Scalar) -> bool:
    return isinstance(scalar, Const) and scalar.value is None


def _coalesce(node: Call, args: list[Known]) -> Known:
    """What is NULL first, and then no less than what has stood for it."""
    value, default = args[0], args[-1]
    low, high = value.low, default.high
    steps_up = len(args) == 2 and low is not None and high is not None and low >= high
    if steps_up and value.trend.join(default.trend).is_upwards and not node.type.nullable:
        return Known(Trend.RISING, default.low)
    return UNKNOWN


def _extreme(node: Call, args: list[Known]) -> Known:
    """Of GREATEST and LEAST, which pass over NULLs. One that is NULL first, and then has a value, makes the greatest greater, and the least less:
    so the greatest of what falls does not fall, unless nothing of it is NULL."""
    towards = Trend.RISING if node.op == "greatest" else Trend.FALLING
    trend = Trend.FIXED
    for arg, known in zip(node.args, args, strict=True):
        trend = trend.join(known.trend)
        if arg.type.nullable and known.trend is not Trend.FIXED:
            trend = trend.join(towards)
    lows, highs = [k.low for k in args], [k.high for k in args]
    least, most = _bound(lows, min), _bound(highs, max)
    there = [k for a, k in zip(node.args, args, strict=True) if not a.type.nullable]
    if node.op == "greatest":
        least = max((k.low for k in there if k.low is not None), default=least)
    else:
        most = min((k.high for k in there if k.high is not None), default=most)
    return Known(trend, least, most)


def _bound(bounds: list[Fraction | None], of: Callable[[list[Fraction]], Fraction]) -> Fraction | None:
    found = [b for b in bounds if b is not None]
    return of(found) if len(found) == len(bounds) else None


def _function(node: Call, args: list[Known]) -> Known:
    """Of a function, by its row: it moves with the arguments in which it rises, and against those in which it falls, if it is NULL only where one
    of them is."""
    entry, trend = FUNCTIONS.get(node.op), Trend.FIXED
    for index, known in enumerate(args):
        if known.trend is Trend.FIXED:
            continue
        place = None if entry is None or entry.nulls != "strict" else min(index, len(entry.takes) - 1)
        if entry is None or (place not in entry.rises and place not in entry.falls):
            return UNKNOWN
        trend = trend.join(known.trend if place in entry.rises else known.trend.flipped)
    return Known(trend)


#: Of DOUBLEs these keep no order: NaN is the greatest number before a negation and after it, and a sum or a product of infinities
#: is NaN for some values only (``inf - inf``, ``0 * inf``). A DOUBLE that is only compared, cast or chosen keeps its trend.
_ARITHMETIC = frozenset({"add", "sub", "neg", "mul", "div", "idiv", "abs"})

_RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "neg": lambda _, args: _negated(args[0]),
    "mul": lambda node, args: _rounded(node, _product(*args), sum(a.type.scale for a in node.args)),
    "div": _quotient,
    "idiv": _quotient,
    "abs": _abs,
    "gt": _compare,
    "ge": _compare,
    "lt": _compare,
    "le": _compare,
    "eq": _equal,
    "ne": _unequal,
    "same": _same,
    "in": _in,
    "is_null": _is_null,
    "case": _case,
    "cast": _cast,
    "try_cast": _try_cast,
    "coalesce": _coalesce,
    "greatest": _extreme,
    "least": _extreme,
}
