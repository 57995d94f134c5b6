"""Exact arithmetic on columns of int64 units; what leaves 64 bits is an ``ArrowInvalid``, but for most quotients."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.mapstore import is_wide, to_column, to_numpy
from cumulus_ops.mapstore.wide import from_words, narrow_column
from m3.datatypes import Type

__all__ = ["divide_doubles", "divide_units", "fit", "rescale", "units_for"]

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
        return _require_zeros(units)
    return pc.multiply_checked(units, pa.scalar(10 ** (target - source), pa.int64()))


def _require_zeros(units: pa.Array) -> pa.Array:
    if pc.any(pc.not_equal(units, 0)).as_py():
        raise pa.ArrowInvalid("overflow")
    return units


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
