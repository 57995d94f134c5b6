"""Functions of floating-point numbers, and the statistics that are computed exactly and rounded to one at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from m3.datatypes import BOOL, DOUBLE, Type
from m3.errors import ValueProblem
from m3.functions.spec import Function, Value, table

__all__ = ["DOUBLES"]


def _float(name: str, function: Callable[..., Any]) -> Function:
    """A function of DOUBLEs; outside of its domain it is an error, as in PostgreSQL."""

    def compute(args: list[Any], _: Type) -> Value:
        try:
            result = function(*args)
        except (ValueError, ZeroDivisionError) as error:
            message = f"{name.upper()} is not defined for {', '.join(map(str, args))}"
            raise ValueProblem(message, kind="out-of-domain", hint="guard it with CASE WHEN") from error
        except OverflowError as error:
            raise ValueProblem(f"{name.upper()} is beyond DOUBLE", kind="overflow", hint="scale it down") from error
        if isinstance(result, complex):
            raise ValueProblem(f"{name.upper()} is not real", kind="out-of-domain", hint="guard it with CASE WHEN")
        return float(result)

    arguments = ("double",) * (2 if name in ("power", "log", "atan2") else 1)
    return Function(name, f"{name.upper()} as DOUBLE", arguments, DOUBLE, compute)


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:  # C and Python make an infinity of 0 to the power of -inf, SQL does not
        raise ValueError
    return math.pow(base, exponent)


def _is(name: str, test: Callable[[float], bool]) -> Function:
    return Function(name, f"{name.upper()}(a)", ("double",), BOOL, lambda args, _: test(args[0]))


def _variance(n: int, total: int | Decimal, squares: int | Decimal, lost: int) -> Fraction | None:
    """The variance of n numbers with this sum and sum of squares; ``lost`` is 1 for a sample, 0 for the population."""
    if n <= lost:
        return None
    return (n * Fraction(squares) - Fraction(total) ** 2) / (n * (n - lost))


def _root(value: Fraction) -> float:
    """The square root, with an error in the last place at most."""
    shift = 2 * max(0, 64 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    return float(Fraction(math.isqrt((value.numerator << shift) // value.denominator), 1 << (shift // 2)))


def _statistic(name: str, lost: int, root: bool) -> Function:
    def compute(args: list[Any], _: Type) -> Value:
        n, total, squares = args
        variance = _variance(n, total, squares, lost)
        if variance is None:
            return None
        if variance < 0:
            message = f"{name.upper()}: no numbers have this sum and sum of squares"
            raise ValueProblem(message, kind="out-of-domain", hint="pass n, SUM(x) and SUM(x * x)")
        return _root(variance) if root else float(variance)

    text = f"{name.upper()}(n, sum, sum of squares)"
    return Function(name, text, ("int", "number", "number"), DOUBLE, compute, nulls="partial")


def _of_pairs(name: str, sums: str, compute: Callable[..., Fraction | float | None]) -> Function:
    """A statistic of pairs of numbers, by their number and exact sums; NULL where it is not defined."""

    def of(args: list[Any], _: Type) -> Value:
        result = compute(*(Fraction(a) for a in args)) if args[0] else None
        return None if result is None else float(result)

    arguments = ("int", *["number"] * len(sums.split()))
    return Function(name, f"{name.upper()}(n, {', '.join(sums.split())})", arguments, DOUBLE, of, nulls="partial")


def _covariance(lost: int) -> Callable[[Fraction, Fraction, Fraction, Fraction], Fraction | None]:
    return lambda n, x, y, xy: (n * xy - x * y) / (n * (n - lost)) if n > lost else None


def _slope(n: Fraction, x: Fraction, y: Fraction, xx: Fraction, xy: Fraction) -> Fraction | None:
    spread = n * xx - x * x
    return (n * xy - x * y) / spread if spread else None


def _intercept(n: Fraction, x: Fraction, y: Fraction, xx: Fraction, xy: Fraction) -> Fraction | None:
    slope = _slope(n, x, y, xx, xy)
    return None if slope is None else (y - slope * x) / n


def _correlation(n: Fraction, x: Fraction, y: Fraction, xx: Fraction, yy: Fraction, xy: Fraction) -> float | None:
    spreads, common = (n * xx - x * x) * (n * yy - y * y), n * xy - x * y
    if spreads < 0:
        hint = "pass n and the sums of x, y, x * x, y * y, x * y"
        raise ValueProblem("CORR: no pairs have these sums", kind="out-of-domain", hint=hint)
    return math.copysign(_root(common * common / spreads), common) if spreads else None


def _determination(n: Fraction, x: Fraction, y: Fraction, xx: Fraction, yy: Fraction, xy: Fraction) -> Fraction | None:
    """The square of the correlation; 1 where the dependent number is always the same."""
    first, second = n * xx - x * x, n * yy - y * y
    return None if not first else (n * xy - x * y) ** 2 / (first * second) if second else Fraction(1)


DOUBLES = table(
    _float("sqrt", math.sqrt),
    _float("exp", math.exp),
    _float("ln", math.log),
    _float("log10", math.log10),
    _float("log2", math.log2),
    _float("log", lambda base, x: math.log(x) / math.log(base)),
    _float("log1p", math.log1p),
    _float("expm1", math.expm1),
    _float("power", _power),
    _float("cbrt", math.cbrt),
    _float("sin", math.sin),
    _float("cos", math.cos),
    _float("tan", math.tan),
    _float("cot", lambda x: 1.0 / math.tan(x)),
    _float("asin", math.asin),
    _float("acos", math.acos),
    _float("atan", math.atan),
    _float("atan2", math.atan2),
    _float("sinh", math.sinh),
    _float("cosh", math.cosh),
    _float("tanh", math.tanh),
    _float("asinh", math.asinh),
    _float("acosh", math.acosh),
    _float("atanh", math.atanh),
    _float("degrees", math.degrees),
    _float("radians", math.radians),
    _is("is_nan", math.isnan),
    _is("is_infinite", math.isinf),
    _of_pairs("covar_pop", "x y xy", _covariance(0)),
    _of_pairs("covar_samp", "x y xy", _covariance(1)),
    _of_pairs("corr", "x y xx yy xy", _correlation),
    _of_pairs("regr_slope", "x y xx xy", _slope),
    _of_pairs("regr_intercept", "x y xx xy", _intercept),
    _of_pairs("regr_r2", "x y xx yy xy", _determination),
    _of_pairs("regr_sxx", "x xx", lambda n, x, xx: xx - x * x / n),
    _of_pairs("regr_sxy", "x y xy", lambda n, x, y, xy: xy - x * y / n),
    _statistic("var_pop", 0, root=False),
    _statistic("var_samp", 1, root=False),
    _statistic("stddev_pop", 0, root=True),
    _statistic("stddev_samp", 1, root=True),
)
