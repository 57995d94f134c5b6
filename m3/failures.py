"""Which expressions may fail, and the operations that turn a failure into a value.

An expression **fails** for a row when SQL gives it no value there: a division by zero, a result that does not fit its type,
text that is no number. What fails must not stop the other views, nor be lost: so the compiler has it *attempted*, and counts
the rows for which it fails (:mod:`m3.algebra.attempts`). Most expressions cannot fail, by their types and by the conditions
around them, and cost nothing:

>>> from m3.datatypes import INT, decimal
>>> a, b = Var("a", decimal(15, 2)), Var("b", INT)
>>> may_fail(call("mul", a, a)), may_fail(call("div", a, const(2))), may_fail(call("div", a, b))
(False, False, True)
>>> guarded = call("case", call("ne", b, const(0)), call("div", a, b), const(0))
>>> may_fail(guarded)
False
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from m3.datatypes import INT64_MAX, INT64_MIN, MAX_PRECISION, Type
from m3.dictionary import FUNCTIONS
from m3.errors import Span, ValueProblem
from m3.evaluate import DEFAULTS, evaluate
from m3.scalars import Call, Const, Scalar, Var, call, conjuncts, const

__all__ = [
    "ARITHMETIC",
    "BY_LITERAL",
    "attempted",
    "failed",
    "find_place",
    "given_by_literals",
    "may_fail",
    "nonzero",
    "tolerated",
    "wrong_literal",
]

#: Operations that have a value for all arguments, or whose arguments decide alone whether they fail.
TOTAL = frozenset({
    "and", "or", "not", "is_null", "same", "eq", "ne", "lt", "le", "gt", "ge", "in", "try_cast",
    *(e.name for e in FUNCTIONS.values() if not e.fails),
})  # fmt: skip
#: Operations that fail for nothing but a literal argument that the compiler has looked at.
BY_LITERAL: Mapping[str, tuple[int, ...]] = {e.name: e.blame for e in FUNCTIONS.values() if e.blame}
#: Operations whose results may only be too large for their type.
BOUNDED = frozenset(
    {"add", "sub", "mul", "neg", "case", "coalesce", *(e.name for e in FUNCTIONS.values() if e.bounded)}
)
#: Operations whose result is one of their arguments, or nearer to 0.
CHOOSING = frozenset({"case", "coalesce", "greatest", "least", "trunc", "mod"})
#: Operations on numbers whose failure for literals is one of data: ``CASE WHEN FALSE THEN 1 / 0 END``.
ARITHMETIC = frozenset({"add", "sub", "mul", "div", "neg", "mod", "idiv", "pmod"})
DIVISIONS = ("div", "mod", "idiv", "pmod")
#: More rows than there can be.
COUNTED = Fraction(2**60)
#: The largest results of what counts or takes something apart.
PARTS = {
    "sign": 1,
    "quarter": 4,
    "month": 12,
    "week": 53,
    "day": 31,
    "hour": 23,
    "minute": 59,
    "second": 59,
    "year": 9999,
}


def attempted(scalar: Scalar) -> Scalar:
    """The value of ``scalar``, of its type; something of its type where it fails.

    >>> from m3.datatypes import INT
    >>> attempted(call("div", Var("a", INT), Var("b", INT))).op
    'attempt'
    """
    return call("attempt", scalar) if may_fail(scalar) else scalar


def failed(scalar: Scalar) -> Scalar:
    """The condition that ``scalar`` fails."""
    return call("eq", call("fails", scalar), const(1))


def tolerated(condition: Scalar) -> Scalar:
    """The condition that is true where ``condition`` is, and where it fails."""
    return call("or", call("attempt", condition), failed(condition)) if may_fail(condition) else condition


def may_fail(
    scalar: Scalar,
    known: frozenset[Scalar] = frozenset(),
    totals: frozenset[str] = frozenset(),
    counts: frozenset[str] = frozenset(),
) -> bool:
    """Whether an expression may fail for some values of its variables.

    Args:
        scalar: the expression.
        known: numbers that are surely not 0, by conditions around it (see :func:`nonzero`).
        totals: variables that hold sums, which may be beyond their types.
        counts: variables that hold numbers of rows, which are far within theirs.
    """
    return _Analysis(totals, counts).fails(scalar, known)


def find_place(scalar: Scalar) -> Span | None:
    """Where the smallest expression is written in which everything is that may fail; of several without one around them, the first, with
    the texts of all."""
    if not isinstance(scalar, Call):
        return None
    failing = [arg for arg in scalar.args if may_fail(arg)]
    if scalar.span is not None:
        # with variables instead of what may fail: whether it may fail by itself
        args = (Var(f"{i}", arg.type) if arg in failing else arg for i, arg in enumerate(scalar.args))
        if len(failing) != 1 or may_fail(Call(scalar.op, tuple(args), scalar.type)):
            return scalar.span
    places = [place for place in map(find_place, failing) if place is not None]
    if not places:
        return scalar.span
    return replace(places[0], text=" or ".join(dict.fromkeys(place.text for place in places)))


def given_by_literals(scalar: Call) -> bool:
    """Whether all that may make an operation of :data:`BY_LITERAL` fail is given as literals."""
    return all(isinstance(scalar.args[i], Const) for i in BY_LITERAL[scalar.op] if i < len(scalar.args))


@lru_cache(maxsize=4096)
def wrong_literal(scalar: Call) -> ValueProblem | None:
    """Why an operation of :data:`BY_LITERAL` fails whatever its other arguments are; None if it does not.

    >>> from m3.datatypes import STRING
    >>> wrong_literal(call("left", Var("t", STRING), const(-1))).kind
    'negative-length'
    """
    args = (a if isinstance(a, Const) else Const(DEFAULTS[a.type.kind], a.type) for a in scalar.args)
    try:
        evaluate(Call(scalar.op, tuple(args), scalar.type), {})
    except ValueProblem as problem:
        return problem
    return None


def nonzero(conditions: Iterable[Scalar]) -> frozenset[Scalar]:
    """The numbers that are not 0 where all conditions are true."""
    return frozenset(
        s for condition in conditions for part in conjuncts(condition) for s in _apart_from_zero(part, holds=True)
    )


def _apart_from_zero(condition: Scalar, *, holds: bool) -> Iterable[Scalar]:
    """What is not 0 where a condition is true, or where it is not."""
    if not isinstance(condition, Call) or len(condition.args) != 2:
        return ()
    if condition.op not in (("ne", "lt", "gt") if holds else ("eq",)):
        return ()
    return [a for a, b in (condition.args, condition.args[::-1]) if _is_zero(b)]


def _is_zero(scalar: Scalar) -> bool:
    return isinstance(scalar, Const) and scalar.value == 0 and scalar.type.kind in ("int", "decimal", "double")


class _Analysis:
    """Decides for one expression."""

    def __init__(self, totals: frozenset[str], counts: frozenset[str]) -> None:
        self.totals, self.counts = totals, counts

    def fails(self, scalar: Scalar, known: frozenset[Scalar]) -> bool:
        if isinstance(scalar, Var):
            return scalar.name in self.totals
        if isinstance(scalar, Const) or scalar.op in ("attempt", "fails"):
            return False
        if scalar.op == "now":
            return False
        if scalar.op == "case":
            return self._case(scalar, known) or self._overflows(scalar)
        return any(self.fails(a, known) for a in scalar.args) or self._itself(scalar, known)

    def _case(self, scalar: Call, known: frozenset[Scalar]) -> bool:
        """A branch is computed where its condition is true and those before it are not."""
        *branches, otherwise = scalar.args
        for condition, value in zip(branches[::2], branches[1::2], strict=True):
            here = known.union(*(_apart_from_zero(c, holds=True) for c in conjuncts(condition)))
            if self.fails(condition, known) or self.fails(value, here):
                return True
            known = known.union(_apart_from_zero(condition, holds=False))
        return self.fails(otherwise, known)

    def _itself(self, scalar: Call, known: frozenset[Scalar]) -> bool:
        """Whether the operation may fail for arguments that have not."""
        if scalar.op in TOTAL:
            return False
        if scalar.op in BY_LITERAL:
            return not given_by_literals(scalar) or wrong_literal(scalar) is not None
        if scalar.op == "replace":
            return not _shortens(scalar)
        if scalar.op == "cast":  # that of a literal fails always or never: CAST('NaN' AS DOUBLE)
            given = isinstance(scalar.args[0], Const)
            return wrong_literal(scalar) is not None if given else self._cast(scalar)
        if scalar.op in DIVISIONS:
            return not self._divides(scalar.args[1], known) or (
                not self._is_average(scalar) and self._overflows(scalar)
            )
        return scalar.op not in BOUNDED or self._overflows(scalar)

    def _is_average(self, scalar: Call) -> bool:
        """Whether a total is divided by a number of rows, and the result has room for the largest of what was added up: SUM gives ten
        digits more than that has."""
        total, count = scalar.args
        if (
            scalar.op != "div"
            or not isinstance(total, Var)
            or not isinstance(count, Var)
            or count.name not in self.counts
        ):
            return False
        more = 10 if total.type.precision < MAX_PRECISION else 0
        digits = total.type.precision - total.type.scale - more
        return total.type.kind == "decimal" and scalar.type.precision - scalar.type.scale >= digits

    def _divides(self, divisor: Scalar, known: frozenset[Scalar]) -> bool:
        """Whether a divisor is surely not 0 (it may be NULL)."""
        if divisor in known:
            return True
        if isinstance(divisor, Const):
            return not _is_zero(divisor)
        if not isinstance(divisor, Call):
            return False
        if divisor.op in ("cast", "neg", "abs"):
            exact = divisor.op != "cast" or _keeps_numbers(divisor.args[0].type, divisor.type)
            return exact and self._divides(divisor.args[0], known)
        if divisor.op == "case":  # NULLIF(b, 0)
            *branches, otherwise = divisor.args
            for condition, value in zip(branches[::2], branches[1::2], strict=True):
                if not self._divides(value, known.union(_apart_from_zero(condition, holds=True))):
                    return False
                known = known.union(_apart_from_zero(condition, holds=False))
            return self._divides(otherwise, known)
        return False

    def _cast(self, scalar: Call) -> bool:
        source, to = scalar.args[0].type, scalar.type
        if source.kind == to.kind and (not to.is_numeric or to.kind == "int"):
            return False
        if source.is_numeric and to.is_numeric:
            return self._overflows(scalar)
        if to.kind == "string" or (
            to.kind in ("double", "bool") and source.kind in ("int", "decimal", "double", "bool")
        ):
            return False
        return (source.kind, to.kind) not in (("date", "timestamp"), ("timestamp", "date"), ("bool", "int"))

    def _overflows(self, scalar: Call) -> bool:
        """Whether an exact result may be beyond its type."""
        if scalar.type.kind == "double":
            return False
        if not scalar.type.is_numeric:
            return scalar.op not in BOUNDED
        if any(a.type.kind == "double" for a in scalar.args) or scalar.op not in _RESULTS:
            return True
        limit = _largest(scalar.type) if scalar.op in CHOOSING else _room(scalar.type)
        return self._result(scalar) > limit

    def magnitude(self, scalar: Scalar) -> Fraction:
        """A bound of the magnitude of a number that has not failed."""
        most = _largest(scalar.type)
        if isinstance(scalar, Const):
            return abs(Fraction(scalar.value)) if isinstance(scalar.value, int | Decimal) else most
        if isinstance(scalar, Var) and scalar.name in self.counts:
            return COUNTED
        if isinstance(scalar, Call) and scalar.op in PARTS:
            return Fraction(PARTS[scalar.op])
        if isinstance(scalar, Call) and scalar.op in _RESULTS and not any(a.type.kind == "double" for a in scalar.args):
            return min(most, self._result(scalar))
        return most

    def _result(self, scalar: Call) -> Fraction:
        args = scalar.args
        if scalar.op == "case":
            args = (*args[1::2], args[-1])
        if scalar.op == "cast" and not args[0].type.is_numeric:
            return _largest(scalar.type)
        numbers = [self.magnitude(a) for a in args if a.type.is_numeric]
        return _RESULTS[scalar.op](scalar, numbers)


def _shortens(scalar: Call) -> bool:
    """Whether REPLACE puts a text in the place of one that is as long, so that the result cannot be too long."""
    _, old, new = (a.value if isinstance(a, Const) else None for a in scalar.args)
    return isinstance(old, str) and isinstance(new, str) and len(new) <= len(old)


def _keeps_numbers(source: Type, to: Type) -> bool:
    """Whether a cast makes no other number 0."""
    return source.is_numeric and (to.kind == "double" or (to.is_numeric and to.scale >= source.scale))


def _largest(type_: Type) -> Fraction:
    """The largest magnitude of a type of exact numbers."""
    if type_.kind == "int":
        return Fraction(-INT64_MIN)
    return Fraction(10**type_.precision - 1, 10**type_.scale)


def _room(type_: Type) -> Fraction:
    """The largest number of a type, which for INT is less than the magnitude of the least."""
    return Fraction(INT64_MAX) if type_.kind == "int" else _largest(type_)


def _quotient(node: Call, numbers: list[Fraction]) -> Fraction:
    """The smallest divisor is a unit of its last place."""
    divisor = node.args[1]
    least = numbers[1] if isinstance(divisor, Const) and numbers[1] else Fraction(1, 10**divisor.type.scale)
    return numbers[0] / least + _unit(node)


def _unit(node: Call) -> Fraction:
    return Fraction(1, 10**node.type.scale)


def _bound_rounding(node: Call, numbers: list[Fraction]) -> Fraction:
    """Rounding to fewer digits adds one unit of what is left at most; to other digits it is any power of ten."""
    digits = node.args[1].value if len(node.args) > 1 and isinstance(node.args[1], Const) else 0
    if node.op == "cast":
        return numbers[0] + (_unit(node) if node.type.scale < node.args[0].type.scale else 0)
    return numbers[0] + (1 if isinstance(digits, int) and digits >= 0 else 10**20)


_RESULTS: Mapping[str, Callable[[Call, list[Fraction]], Fraction]] = {
    "add": lambda _, x: x[0] + x[1],
    "sub": lambda _, x: x[0] + x[1],
    "mul": lambda _, x: x[0] * x[1],
    "neg": lambda _, x: x[0],
    "abs": lambda _, x: x[0],
    "div": _quotient,
    "idiv": _quotient,
    "mod": lambda _, x: min(x),
    "pmod": lambda _, x: x[1],
    "case": lambda _, x: max(x, default=Fraction(0)),
    "coalesce": lambda _, x: max(x, default=Fraction(0)),
    "greatest": lambda _, x: max(x, default=Fraction(0)),
    "least": lambda _, x: max(x, default=Fraction(0)),
    "round": _bound_rounding,
    "trunc": lambda _, x: x[0],
    "ceil": _bound_rounding,
    "floor": _bound_rounding,
    "cast": _bound_rounding,
}
