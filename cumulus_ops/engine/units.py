"""Exact arithmetic on columns of int64 units; what leaves 64 bits is an ``ArrowInvalid``, but for quotients."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.mapstore import is_wide, to_column, to_numpy
from m3.datatypes import Type

__all__ = ["divide_doubles", "divide_units", "fit", "rescale", "units_for"]

SAFE = 2**61
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
        raise pa.ArrowInvalid("overflow")
    if max(1.0, _largest(a)) >= SAFE or max(1.0, _largest(b)) * down >= SAFE:
        a, b = a.astype(object), b.astype(object)
    a, b = a * up, b * down
    magnitude = (2 * abs(a) + abs(b)) // (2 * abs(b))
    quotient = np.where((a < 0) != (b < 0), -magnitude, magnitude)
    return to_column(quotient, null)


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
