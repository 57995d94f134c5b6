"""Functions of exact numbers. Most take a DOUBLE too; then they compute with floats, and say so by their type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from m3.datatypes import Type
from m3.dictionary.types import EXACT, Value
from m3.errors import ValueProblem
from m3.functions.kernel import Compute

__all__ = ["KERNELS", "division_by_zero", "whole"]


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
        if mode in (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN) and digits < -exact.adjusted() - 2:
            return Decimal(0)  # far below half a unit
        context = EXACT.copy()  # with room for all digits of the result, however long the number is
        context.prec = max(EXACT.prec, len(exact.as_tuple().digits) + abs(int(exact.as_tuple().exponent)) + 2)
        return exact.quantize(Decimal(1).scaleb(-digits), rounding=mode, context=context)

    return compute


def _shift(move: Callable[[int, int], int]) -> Compute:
    """Bits that are moved, within 64."""

    def compute(args: list[Any], _: Type) -> int:
        bits, places = args
        if not 0 <= places < 64:
            raise ValueProblem(f"bits moved by {places}", kind="out-of-domain", hint="0 to 63 places")
        moved = move(bits, places) & (2**64 - 1)
        return moved - 2**64 if moved >= 2**63 else moved

    return compute


def _tried(compute: Callable[[int, int], int]) -> Compute:
    """A number of 64 bits, or nothing."""

    def of(args: list[Any], _: Type) -> Value:
        result = compute(*args)
        return result if -(2**63) <= result < 2**63 else None

    return of


def _factorial(args: list[Any], _: Type) -> int:
    (a,) = args
    if a < 0:
        raise ValueProblem(f"FACTORIAL({a})", kind="out-of-domain", hint="numbers from 0 on")
    if a > 33:
        raise ValueProblem(f"FACTORIAL({a}) has more than 38 digits", kind="overflow", hint="numbers up to 33")
    return math.factorial(a)


def _width_bucket(args: list[Any], _: Type) -> int:
    value, low, high, count = args
    known = not math.isnan(value) and math.isfinite(low) and math.isfinite(high)
    if count <= 0 or low == high or not known:
        hint = "a count above zero, and two different ends"
        raise ValueProblem(f"WIDTH_BUCKET({', '.join(map(str, args))})", kind="out-of-domain", hint=hint)
    if math.isinf(value):
        return 0 if (value > 0) == (low > high) else count + 1
    part = (Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low))
    return 0 if part < 0 else count + 1 if part >= 1 else math.floor(part * count) + 1


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


# Functions of floating-point numbers, and the statistics that are computed exactly and rounded to one at the end.


def _of_doubles(name: str, function: Callable[..., Any]) -> Compute:
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

    return compute


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:  # C and Python make an infinity of 0 to the power of -inf, SQL does not
        raise ValueError
    return math.pow(base, exponent)


def _variance(n: int, total: int | Decimal, squares: int | Decimal, lost: int) -> Fraction | None:
    """The variance of n numbers with this sum and sum of squares; ``lost`` is 1 for a sample, 0 for the population."""
    if n <= lost:
        return None
    return (n * Fraction(squares) - Fraction(total) ** 2) / (n * (n - lost))


def _root(value: Fraction) -> float:
    """The square root, with an error in the last place at most."""
    shift = 2 * max(0, 64 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    return float(Fraction(math.isqrt((value.numerator << shift) // value.denominator), 1 << (shift // 2)))


def _statistic(name: str, lost: int, root: bool) -> Compute:
    def compute(args: list[Any], _: Type) -> Value:
        n, total, squares = args
        variance = _variance(n, total, squares, lost)
        if variance is None:
            return None
        if variance < 0:
            message = f"{name.upper()}: no numbers have this sum and sum of squares"
            raise ValueProblem(message, kind="out-of-domain", hint="pass n, SUM(x) and SUM(x * x)")
        return _root(variance) if root else float(variance)

    return compute


def _of_sums(compute: Callable[..., Fraction | float | None]) -> Compute:
    """A statistic of numbers or pairs of them, by how many there are and their exact sums; NULL where it is not defined."""

    def of(args: list[Any], _: Type) -> Value:
        result = compute(*(Fraction(a) for a in args)) if args[0] else None
        return None if result is None else float(result)

    return of


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


def _skewness(n: Fraction, x: Fraction, xx: Fraction, xxx: Fraction) -> float | None:
    """Of all: the third central moment by the standard deviation cubed, in which what both are divided by goes out."""
    spread, third = n * xx - x * x, n * n * xxx - 3 * n * x * xx + 2 * x**3
    return math.copysign(_root(third * third / spread**3), third) if spread > 0 else None


def _skewness_of_sample(n: Fraction, x: Fraction, xx: Fraction, xxx: Fraction) -> float | None:
    spread, third = n * xx - x * x, n * n * xxx - 3 * n * x * xx + 2 * x**3
    if n < 3 or spread <= 0:
        return None
    return math.copysign(_root(third * third / spread**3 * n * (n - 1) / (n - 2) ** 2), third)


def _kurtosis(n: Fraction, x: Fraction, xx: Fraction, xxx: Fraction, xxxx: Fraction) -> Fraction | None:
    """Of all, in excess of 3: the fourth central moment by the variance squared."""
    spread, fourth = n * xx - x * x, n**3 * xxxx - 4 * n * n * x * xxx + 6 * n * x * x * xx - 3 * x**4
    return fourth / spread**2 - 3 if spread else None


def _kurtosis_of_sample(n: Fraction, *sums: Fraction) -> Fraction | None:
    found = _kurtosis(n, *sums) if n > 3 else None
    return None if found is None else (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * found + 6)


#: The most elements of a series, for one row: the days of 270 years, and a step holds as many rows for some rows at a time.
LONGEST_SERIES = 100_000


def _length_of_series(args: list[Any], _: Type) -> int:
    """A length below 0 says that the step does not lead to the end, or that the months of a series differ."""
    (length,) = args
    if 0 <= length <= LONGEST_SERIES:
        return int(length)
    hint = f"at most {LONGEST_SERIES:,} elements; a step that leads to the end; months from a day up to the 28th"
    what = f"a series of {length:,} elements" if length > 0 else "a series without end"
    raise ValueProblem(what, kind="out-of-domain", hint=hint)


KERNELS: Mapping[str, Compute] = {
    "mod": _mod,
    "pmod": _positive_mod,
    "idiv": _integer_division,
    "abs": lambda args, _: args[0].copy_abs() if isinstance(args[0], Decimal) else abs(args[0]),
    "sign": _sign,
    "round": _rounding(ROUND_HALF_UP),
    "trunc": _rounding(ROUND_DOWN),
    "ceil": _rounding(ROUND_CEILING),
    "floor": _rounding(ROUND_FLOOR),
    "bits_and": lambda args, _: args[0] & args[1],
    "bits_or": lambda args, _: args[0] | args[1],
    "bits_xor": lambda args, _: args[0] ^ args[1],
    "bit_count": lambda args, _: (args[0] & (2**64 - 1)).bit_count(),
    "shift_left": _shift(lambda a, n: a << n),
    "shift_right": _shift(lambda a, n: a >> n),
    "shift_right_unsigned": _shift(lambda a, n: (a & (2**64 - 1)) >> n),
    "gcd": lambda args, _: math.gcd(*args),
    "lcm": lambda args, _: math.lcm(*args),
    "try_add": _tried(lambda a, b: a + b),
    "try_subtract": _tried(lambda a, b: a - b),
    "try_multiply": _tried(lambda a, b: a * b),
    "factorial": _factorial,
    "width_bucket": _width_bucket,
    "round_even": _rounding(ROUND_HALF_EVEN),
    "bits_not": lambda args, _: ~args[0],
    "greatest": _extreme(_greater),
    "least": _extreme(lambda a, b: _greater(b, a)),
    "sqrt": _of_doubles("sqrt", math.sqrt),
    "exp": _of_doubles("exp", math.exp),
    "ln": _of_doubles("ln", math.log),
    "series_length": _length_of_series,
    "log10": _of_doubles("log10", math.log10),
    "log2": _of_doubles("log2", math.log2),
    "log": _of_doubles("log", lambda base, x: math.log(x) / math.log(base)),
    "log1p": _of_doubles("log1p", math.log1p),
    "expm1": _of_doubles("expm1", math.expm1),
    "power": _of_doubles("power", _power),
    "cbrt": _of_doubles("cbrt", math.cbrt),
    "sin": _of_doubles("sin", math.sin),
    "cos": _of_doubles("cos", math.cos),
    "tan": _of_doubles("tan", math.tan),
    "cot": _of_doubles("cot", lambda x: 1.0 / math.tan(x)),
    "asin": _of_doubles("asin", math.asin),
    "acos": _of_doubles("acos", math.acos),
    "atan": _of_doubles("atan", math.atan),
    "atan2": _of_doubles("atan2", math.atan2),
    "hypot": lambda args, _: math.hypot(*args),
    "sinh": _of_doubles("sinh", math.sinh),
    "cosh": _of_doubles("cosh", math.cosh),
    "tanh": _of_doubles("tanh", math.tanh),
    "asinh": _of_doubles("asinh", math.asinh),
    "acosh": _of_doubles("acosh", math.acosh),
    "atanh": _of_doubles("atanh", math.atanh),
    "degrees": _of_doubles("degrees", math.degrees),
    "radians": _of_doubles("radians", math.radians),
    "is_nan": lambda args, _: math.isnan(args[0]),
    "is_infinite": lambda args, _: math.isinf(args[0]),
    "covar_pop": _of_sums(_covariance(0)),
    "covar_samp": _of_sums(_covariance(1)),
    "corr": _of_sums(_correlation),
    "regr_slope": _of_sums(_slope),
    "regr_intercept": _of_sums(_intercept),
    "regr_r2": _of_sums(_determination),
    "regr_sxx": _of_sums(lambda n, x, xx: xx - x * x / n),
    "regr_sxy": _of_sums(lambda n, x, y, xy: xy - x * y / n),
    "skewness_pop": _of_sums(_skewness),
    "skewness_samp": _of_sums(_skewness_of_sample),
    "kurtosis_pop": _of_sums(_kurtosis),
    "kurtosis_samp": _of_sums(_kurtosis_of_sample),
    "var_pop": _statistic("var_pop", 0, root=False),
    "var_samp": _statistic("var_samp", 1, root=False),
    "stddev_pop": _statistic("stddev_pop", 0, root=True),
    "stddev_samp": _statistic("stddev_samp", 1, root=True),
}
