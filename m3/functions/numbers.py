"""Functions of exact numbers. Most take a DOUBLE too; then they compute with floats, and say so by their type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from m3.datatypes import BOOL, DOUBLE, INT, Type
from m3.errors import ProgramError, ValueProblem
from m3.functions.spec import (
    EXACT,
    Function,
    Operand,
    Value,
    arithmetic_type,
    bounded,
    common_type,
    constant,
    first_type,
    table,
)

__all__ = ["DOUBLES", "NUMBERS", "division_by_zero", "whole"]


def division_by_zero() -> ValueProblem:
    """The error of ``/``, ``DIV`` and ``%``."""
    return ValueProblem("division by zero", kind="division-by-zero", hint="guard it with CASE WHEN")


def whole(value: float) -> int:
    """A DOUBLE without a fraction as an integer.

    Raises:
        ValueProblem: it is infinite or not a number.
    """
    if not math.isfinite(value):
        raise ValueProblem(f"{value} is out of the range of INT", kind="overflow", hint="filter such rows")
    return int(value)


def _mod(args: list[Any], _: Type) -> Value:
    """The remainder has the sign of the dividend."""
    a, b = args
    if b == 0:
        raise division_by_zero()
    if isinstance(a, float):
        return math.fmod(a, b) if math.isfinite(a) else math.nan
    a, b = Fraction(a), Fraction(b)
    rest = abs(a) % abs(b)
    return _decimal(-rest if a < 0 else rest)


def _positive_mod(args: list[Any], to: Type) -> Value:
    """The remainder of a, moved by b into the sign of b where it is negative: PMOD(-7, 3) is 2."""
    rest: Any = _mod(args, to)
    divisor = args[1]
    if not (rest < 0 < divisor):
        return rest  # type: ignore[no-any-return]
    return rest + divisor if isinstance(rest, float) else EXACT.add(Decimal(rest), Decimal(divisor))


def _decimal(value: Fraction) -> Decimal:
    return EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


def _integer_division(args: list[Any], _: Type) -> Value:
    """Truncates towards zero."""
    a, b = args
    if b == 0:
        raise division_by_zero()
    if isinstance(a, float):
        return whole(math.trunc(a / b) if math.isfinite(a / b) else a / b)
    return math.trunc(Fraction(a) / Fraction(b))


def _sign(args: list[Any], _: Type) -> Value:
    a: Value = args[0]
    if isinstance(a, float) and math.isnan(a):
        return a
    return int(args[0] > 0) - int(args[0] < 0)


def _rounding(mode: str) -> Callable[[list[Any], Type], Value]:
    def compute(args: list[Any], to: Type) -> Value:
        value, digits = args[0], max(-400, min(400, args[1])) if len(args) > 1 else 0
        if isinstance(value, float):
            if not math.isfinite(value):
                return value if to.kind == "double" else whole(value)
            value = Decimal(repr(value))
        exact = Decimal(value)
        if -int(exact.as_tuple().exponent) <= digits:
            return float(exact) if to.kind == "double" else exact
        if mode in (ROUND_HALF_UP, ROUND_DOWN) and digits < -exact.adjusted() - 2:
            return Decimal(0)  # far below half a unit
        context = EXACT.copy()  # with room for all digits of the result, however long the number is
        context.prec = max(EXACT.prec, len(exact.as_tuple().digits) + abs(int(exact.as_tuple().exponent)) + 2)
        return exact.quantize(Decimal(1).scaleb(-digits), rounding=mode, context=context)

    return compute


def _digits_type(args: Sequence[Operand]) -> Type:
    """ROUND and TRUNC: the scale becomes the constant number of digits, with room for one more integral digit."""
    t = args[0].type
    digits = constant(args[1]) if len(args) > 1 else 0
    if not isinstance(digits, int) and t.kind == "decimal":
        raise ProgramError(
            "a number of digits that is not constant", kind="digits", hint="ROUND(a, n) with a number for n"
        )
    if t.kind != "decimal" or not isinstance(digits, int):
        return t.with_null(False)
    scale = max(0, min(t.scale, digits))
    return bounded(t.precision - t.scale + 1 + scale, scale)


def _whole_type(args: Sequence[Operand]) -> Type:
    """CEIL and FLOOR: no decimals are left."""
    t = args[0].type
    return bounded(t.precision - t.scale + 1, 0) if t.kind == "decimal" else INT


def _sign_type(args: Sequence[Operand]) -> Type:
    return DOUBLE if args[0].type.kind == "double" else INT


def _extreme(better: Callable[[Any, Any], bool]) -> Callable[[list[Any], Type], Value]:
    """GREATEST and LEAST skip NULLs; NaN is greater than every number."""

    def compute(args: list[Any], _: Type) -> Value:
        best: Any = None
        for value in args:
            if value is not None and (best is None or better(value, best)):
                best = value
        return best  # type: ignore[no-any-return]

    return compute


def _greater(a: Any, b: Any) -> bool:
    return bool(b == b and (a != a or a > b))


def _common(name: str) -> Callable[[Sequence[Operand]], Type]:
    return lambda args: common_type(name, [a.type for a in args]).with_null(False)


NUMBERS = table(
    Function("mod", "a % b, with the sign of a", ("numeric",) * 2, lambda a: arithmetic_type("mod", a), _mod, alike=True),
    Function("pmod", "PMOD(a, b), not negative where b is not", ("numeric",) * 2, lambda a: arithmetic_type("mod", a), _positive_mod, alike=True),
    Function("idiv", "a DIV b, towards zero", ("numeric",) * 2, INT, _integer_division, alike=True),
    Function("abs", "|a|", ("numeric",), first_type, lambda args, _: args[0].copy_abs() if isinstance(args[0], Decimal) else abs(args[0])),
    Function("sign", "-1, 0 or 1", ("numeric",), _sign_type, _sign),
    Function("round", "ROUND(a, digits), half up", ("numeric", "int"), _digits_type, _rounding(ROUND_HALF_UP), optional=1),
    Function("trunc", "TRUNC(a, digits), towards zero", ("numeric", "int"), _digits_type, _rounding(ROUND_DOWN), optional=1),
    Function("ceil", "the next integer, upwards", ("numeric",), _whole_type, _rounding(ROUND_CEILING)),
    Function("floor", "the next integer, downwards", ("numeric",), _whole_type, _rounding(ROUND_FLOOR)),
    Function("bits_and", "a & b", ("int", "int"), INT, lambda args, _: args[0] & args[1]),
    Function("bits_or", "a | b", ("int", "int"), INT, lambda args, _: args[0] | args[1]),
    Function("bits_xor", "a # b, the bits in which they differ", ("int", "int"), INT, lambda args, _: args[0] ^ args[1]),
    Function("bits_not", "~a", ("int",), INT, lambda args, _: ~args[0]),
    Function("greatest", "the greatest that is not NULL", ("any",), _common("GREATEST"), _extreme(_greater), variadic=True, nulls="all", alike=True),
    Function("least", "the least that is not NULL", ("any",), _common("LEAST"), _extreme(lambda a, b: _greater(b, a)), variadic=True, nulls="all", alike=True),
)  # fmt: skip


# Functions of floating-point numbers, and the statistics that are computed exactly and rounded to one at the end.


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
