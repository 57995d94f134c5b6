"""Functions of exact numbers. Most take a DOUBLE too; then they compute with floats, and say so by their type."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from m3.datatypes import DOUBLE, INT, Type
from m3.errors import ProgramError, ValueProblem
from m3.functions.spec import EXACT, Function, Operand, Value, constant, first_type, table
from m3.functions.types import arithmetic_type, bounded, common_type

__all__ = ["NUMBERS", "division_by_zero", "whole"]


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
        return _quantized(exact, digits, mode)

    return compute


def _quantized(value: Decimal, digits: int, mode: str) -> Decimal:
    if mode in (ROUND_HALF_UP, ROUND_DOWN) and digits < -value.adjusted() - 2:
        return Decimal(0)  # far below half a unit
    return value.quantize(Decimal(1).scaleb(-digits), rounding=mode, context=_wide(value))


def _wide(value: Decimal) -> Any:
    context = EXACT.copy()
    context.prec = max(EXACT.prec, len(value.as_tuple().digits) + abs(int(value.as_tuple().exponent)) + 2)
    return context


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
