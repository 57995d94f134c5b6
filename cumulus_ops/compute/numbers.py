"""Exact numbers of any size over whole columns: what 64 bits do not hold goes on here, with Python's integers.

The vectorised twin of the numbers of :mod:`m3.evaluate`: each operation is computed exactly, rounded once to the scale of its
type, and fails in the rows in which it has no value: a division by zero, or a result that does not fit the type. Arrays of
Python's integers take about 0.1 microseconds per row and step, so :mod:`.operations` comes here only where int64 fails.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import from_words, is_wide, narrow_column, narrow_units, to_column, to_numpy, widen
from cumulus_ops.project.errors import InputProblem
from m3.datatypes import INT64_MAX, INT64_MIN, Type
from m3.scalars import Call, Const

__all__ = [
    "Solved",
    "at_scale",
    "divide_doubles",
    "divide_units",
    "division_by_zero",
    "fit",
    "overflow",
    "rescale",
    "round_half_up",
    "solve",
    "solve_conversion",
    "unfit",
    "units_for",
    "values",
]


# Exact arithmetic on columns of int64 units; what leaves 64 bits is an ``ArrowInvalid``, but for most quotients.


SAFE = 2**61
#: Quotients with so many more digits, of so small divisors, are computed in words.
LONG_DIGITS, LONG_DIVISOR = 19, 2**63 // 10**9
INT64_DIGITS = 18  # 10**18 is the largest power of ten in 64 bits


def rescale(units: pa.Array, source: int, target: int) -> pa.Array:
    """Units at one scale -> units at another, rounding half away from zero when digits go."""
    if target == source:
        return units
    if target < source:
        return divide_units(units, pa.repeat(pa.scalar(1, pa.int64()), len(units)), target - source)
    if target - source > INT64_DIGITS:
        if pc.any(pc.not_equal(units, 0)).as_py():
            raise pa.ArrowInvalid("overflow")
        return units
    return pc.multiply_checked(units, pa.scalar(10 ** (target - source), pa.int64()))


def divide_units(dividend: pa.Array, divisor: pa.Array, shift: int) -> pa.Array:
    """dividend * 10**shift / divisor, rounded half away from zero."""
    a, b, null = units_for(dividend, divisor)
    up, down = 10 ** max(shift, 0), 10 ** max(-shift, 0)
    if max(1.0, _largest(a)) * up >= SAFE and up > 1:
        if shift > LONG_DIGITS or _largest(a) >= SAFE or _largest(b) >= LONG_DIVISOR:
            raise pa.ArrowInvalid("overflow")
        return _divide_long(a, b, shift, null)
    if max(1.0, _largest(a)) >= SAFE or max(1.0, _largest(b)) * down >= SAFE:
        a, b = a.astype(object), b.astype(object)
    a, b = a * up, b * down
    magnitude = (2 * abs(a) + abs(b)) // (2 * abs(b))
    quotient = np.where((a < 0) != (b < 0), -magnitude, magnitude)
    return to_column(quotient, null)


def _divide_long(a: np.ndarray, b: np.ndarray, shift: int, null: np.ndarray) -> pa.Array:
    """:func:`divide_units` where the quotients need up to 128 bits: by hand, nine digits at a time, in words of 64 bits."""
    divisor = np.abs(b)
    whole, rest = np.abs(a) // divisor, np.abs(a) % divisor
    digits, left = np.zeros(len(a), np.uint64), shift
    while left:
        power = 10 ** min(left, 9)
        digits = digits * np.uint64(power) + (rest * power // divisor).view(np.uint64)
        rest = rest * power % divisor
        left -= min(left, 9)
    digits += (2 * rest >= divisor).astype(np.uint64)
    high, low = _product_words(whole.view(np.uint64), 10**shift)
    low = low + digits
    high = high + (low < digits).astype(np.uint64)
    negative = (a < 0) != (b < 0)
    low = np.where(negative, ~low + np.uint64(1), low)
    high = np.where(negative, ~high + (low == 0).astype(np.uint64), high)
    column = from_words(high.view(np.int64), low.view(np.int64), ~null if null.any() else None)
    return narrow_column(column)


def _product_words(a: np.ndarray, by: int) -> tuple[np.ndarray, np.ndarray]:
    """The upper and lower 64 bits of products, by their halves of 32 bits (uint64)."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    upper, lower = np.uint64(by >> 32), np.uint64(by & 0xFFFFFFFF)
    a_upper, a_lower = a >> half, a & mask
    last, cross, other = a_lower * lower, a_lower * upper, a_upper * lower
    middle = (last >> half) + (cross & mask) + (other & mask)
    return a_upper * upper + (cross >> half) + (other >> half) + (middle >> half), (last & mask) | (middle << half)


def units_for(dividend: pa.Array, divisor: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operands of a division as NumPy arrays, 0 / 1 where one is NULL, and where that is."""
    null = pc.or_(pc.is_null(dividend), pc.is_null(divisor)).to_numpy(zero_copy_only=False)
    a, b = to_numpy(dividend), to_numpy(divisor, 1)
    if bool(((b == 0) & ~null).any()):
        raise pa.ArrowInvalid("divide by zero")
    return np.where(null, 0, a), np.where(null, 1, b), null


def divide_doubles(dividend: pa.Array, divisor: pa.Array) -> pa.Array:
    """Floats divided; by zero is an error, as for exact numbers."""
    if pc.any(pc.and_(pc.equal(divisor, 0.0), pc.is_valid(dividend))).as_py():
        raise pa.ArrowInvalid("divide by zero")
    return pc.divide(dividend, divisor)


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values.astype(np.float64)).max(initial=0.0))


def fit(units: pa.Array, to: Type) -> pa.Array:
    """Check a decimal's precision; wider than 18 digits is bounded by the 64 bits themselves."""
    if is_wide(units.type):
        extremes = pc.min_max(units).as_py()
        largest = max(abs(extremes["min"] or 0), abs(extremes["max"] or 0))
        if to.kind == "int" or largest >= 10**to.precision:
            raise pa.ArrowInvalid("overflow")
    elif to.kind == "decimal" and to.precision <= INT64_DIGITS and len(units):
        extremes = pc.min_max(units).as_py()
        if max(abs(extremes["min"] or 0), abs(extremes["max"] or 0)) >= 10**to.precision:
            raise pa.ArrowInvalid("overflow")
    return units


#: Units of the operands at the scales of their types -> units at some scale, that scale, and the rows without a value.
Step = Callable[[Call, list[np.ndarray]], "tuple[np.ndarray, int, np.ndarray | None] | None"]


@dataclass(frozen=True)
class Solved:
    """The values of an operation, NULL where it fails; which rows fail, None for none; and why the first of them does."""

    values: pa.Array
    failed: np.ndarray | None = None
    problem: InputProblem | None = None


def solve(node: Call, args: Sequence[pa.Array]) -> Solved | None:
    """An operation of exact numbers; None if it is none of those."""
    step = _STEPS.get(node.op)
    if step is None or not all(a.type.is_numeric for a in (node, *node.args)):
        return None
    if node.op in ("greatest", "least"):
        return _extreme(node, args)
    null = _nulls(args)
    found = step(node, [_integers(x) for x in args])
    if found is None:
        return None
    units, scale, undefined = found
    return _check_results(round_half_up(units, scale - node.type.scale), node.type, null, undefined, node.op)


def values(solved: Solved) -> pa.Array:
    """The values of an operation that must not fail.

    Raises:
        InputProblem: it does.
    """
    if solved.problem is not None:
        raise solved.problem
    return solved.values


def solve_conversion(x: pa.Array, source: Type, to: Type) -> Solved:
    """A number brought to another type of numbers, rounded half away from zero."""
    return _check_results(round_half_up(_integers(x), source.scale - to.scale), to, _nulls([x]), None, "a number")


def at_scale(x: pa.Array, source: int, target: int) -> pa.Array:
    """Units at a scale as decimals of 76 digits at another one, no smaller: any two numbers of 38 digits have one such type in common."""
    whole = widen(x) if pa.types.is_int64(x.type) else x
    units = pa.Array.from_buffers(
        pa.decimal128(38, source), len(whole), whole.buffers(), whole.null_count, whole.offset
    )
    return units.cast(pa.decimal256(76, target))


def unfit(units: np.ndarray, to: Type) -> np.ndarray:
    """Which numbers do not fit a type."""
    if to.kind == "int":
        if narrow_units(units).dtype != object:
            return np.zeros(len(units), bool)
        return ((units < INT64_MIN) | (units > INT64_MAX)).astype(bool)
    return (abs(units) >= 10**to.precision).astype(bool)


def round_half_up(units: np.ndarray, drop: int) -> np.ndarray:
    """Python's integers without their last ``drop`` digits, rounded half away from zero; with more digits if it is negative."""
    if drop <= 0:
        return units * 10**-drop if drop else units
    half = 10**drop // 2
    magnitude = (abs(units) + half) // 10**drop
    return np.where(units < 0, -magnitude, magnitude)


def _integers(column: pa.Array) -> np.ndarray:
    return to_numpy(column).astype(object)


def _nulls(args: Sequence[pa.Array]) -> np.ndarray | None:
    given = [x.is_null().to_numpy(zero_copy_only=False) for x in args if x.null_count]
    return np.logical_or.reduce(given) if given else None


def _check_results(
    units: np.ndarray, to: Type, null: np.ndarray | None, undefined: np.ndarray | None, what: str
) -> Solved:
    """The column of some results, which are checked."""
    large = unfit(units, to)
    failed = large if undefined is None else large | undefined
    if null is not None:
        failed = failed & ~null
    if not failed.any():
        return Solved(to_column(units, null))
    zero = undefined is not None and bool((failed & undefined).any())
    problem = division_by_zero() if zero else overflow(what, to)
    return Solved(to_column(units, failed if null is None else failed | null), failed, problem)


def division_by_zero() -> InputProblem:
    """The error of a division by zero."""
    return InputProblem("division by zero", kind="division-by-zero", hint="guard it with CASE WHEN")


def overflow(what: str, to: Type) -> InputProblem:
    """The error of a number that does not fit its type."""
    return InputProblem(f"{what} does not fit {to}", kind="overflow", hint="widen the type with a CAST")


# -- operations ----------------------------------------------------------------------------------------------------


def _align(node: Call, args: list[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """The operands at their common scale."""
    scale = max(a.type.scale for a in node.args)
    return [x * 10 ** (scale - a.type.scale) for x, a in zip(args, node.args, strict=True)], scale


def _sum(function: Callable[[Any, Any], Any]) -> Step:
    def step(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, None]:
        (a, b), scale = _align(node, args)
        return function(a, b), scale, None

    return step


def _product(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, None]:
    a, b = args
    return a * b, sum(x.type.scale for x in node.args), None


def _same_scale(function: Callable[[Any], Any]) -> Step:
    return lambda node, args: (function(args[0]), node.args[0].type.scale, None)


def _quotient(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, np.ndarray | None]:
    a, b, zero = _divisor(args)
    shift = node.type.scale + node.args[1].type.scale - node.args[0].type.scale
    up, down = 10 ** max(shift, 0), 10 ** max(-shift, 0)
    twice = abs(b) * (2 * down)
    magnitude = (abs(a) * (2 * up) + abs(b) * down) // twice
    return np.where((a < 0) != (b < 0), -magnitude, magnitude), node.type.scale, zero


def _divisor(args: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The operands of a division, with 1 for a divisor of 0, and where that is."""
    a, b = args
    zero = (b == 0).astype(bool)
    return (a, np.where(zero, 1, b), zero) if zero.any() else (a, b, None)


def _whole_quotient(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, np.ndarray | None]:
    a, b, zero = _divisor(_align(node, args)[0])
    magnitude = abs(a) // abs(b)
    return np.where((a < 0) != (b < 0), -magnitude, magnitude), 0, zero


def _remainder(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, np.ndarray | None]:
    aligned, scale = _align(node, args)
    a, b, zero = _divisor(aligned)
    return _signed_remainder(a, b), scale, zero


def _positive_remainder(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, np.ndarray | None]:
    rest, scale, zero = _remainder(node, args)
    divisor = _divisor(_align(node, args)[0])[1]
    return np.where(rest < 0, _signed_remainder(rest + divisor, divisor), rest), scale, zero


def _signed_remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    magnitude = abs(a) % abs(b)
    return np.where(a < 0, -magnitude, magnitude)


def _floor(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, None]:
    return args[0] // 10 ** node.args[0].type.scale, 0, None


def _ceil(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, None]:
    return -(-args[0] // 10 ** node.args[0].type.scale), 0, None


def _sign(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, None]:
    return (args[0] > 0).astype(object) * 1 - (args[0] < 0).astype(object) * 1, 0, None


def _without_digits(truncates: bool) -> Step:
    def step(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, None] | None:
        digits = 0
        if len(node.args) > 1:
            given = node.args[1]
            if not isinstance(given, Const) or not isinstance(given.value, int):
                return None
            digits = max(-400, min(400, given.value))
        drop = node.args[0].type.scale - digits
        if drop <= 0:
            return args[0], node.args[0].type.scale, None
        units = _cut(args[0], 10**drop) if truncates else round_half_up(args[0], drop)
        return units * 10 ** max(0, -digits), max(0, digits), None

    return step


def _cut(units: np.ndarray, by: int) -> np.ndarray:
    magnitude = abs(units) // by
    return np.where(units < 0, -magnitude, magnitude)


def _cast(node: Call, args: list[np.ndarray]) -> tuple[np.ndarray, int, None]:
    """A decimal is truncated to an integer, and rounded to a decimal."""
    scale = node.args[0].type.scale
    return (_cut(args[0], 10**scale), 0, None) if node.type.kind == "int" else (args[0], scale, None)


def _extreme(node: Call, args: Sequence[pa.Array]) -> Solved:
    """The greatest or least of those that are not NULL."""
    aligned, scale = _align(node, [_integers(x) for x in args])
    nulls = [x.is_null().to_numpy(zero_copy_only=False) for x in args]
    best, null = aligned[0], nulls[0]
    better = operator.gt if node.op == "greatest" else operator.lt
    for units, missing in zip(aligned[1:], nulls[1:], strict=True):
        chosen = ~missing & (null | better(units, best).astype(bool))
        best, null = np.where(chosen, units, best), null & missing
    return _check_results(
        round_half_up(best, scale - node.type.scale), node.type, null if null.any() else None, None, node.op
    )


_STEPS: Mapping[str, Step] = {
    "add": _sum(operator.add),
    "sub": _sum(operator.sub),
    "mul": _product,
    "div": _quotient,
    "neg": _same_scale(operator.neg),
    "abs": _same_scale(abs),
    "mod": _remainder,
    "pmod": _positive_remainder,
    "idiv": _whole_quotient,
    "floor": _floor,
    "ceil": _ceil,
    "sign": _sign,
    "round": _without_digits(truncates=False),
    "trunc": _without_digits(truncates=True),
    "cast": _cast,
    "greatest": _floor,  # see _extreme
    "least": _floor,
}
