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


DOUBLES = table(
    _float("sqrt", math.sqrt),
    _float("exp", math.exp),
    _float("ln", math.log),
    _float("log10", math.log10),
    _float("log2", math.log2),
    _float("log", lambda base, x: math.log(x) / math.log(base)),
    _float("log1p", math.log1p),
    _float("expm1", math.expm1),
    _float("power", math.pow),
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
    _statistic("var_pop", 0, root=False),
    _statistic("var_samp", 1, root=False),
    _statistic("stddev_pop", 0, root=True),
    _statistic("stddev_samp", 1, root=True),
)
