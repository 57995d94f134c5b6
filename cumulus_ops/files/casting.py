"""Exact casts of whole columns: a value either means the same in the declared type, or it is named as bad.

The common case is one vectorised cast. Arrow's own casts are not to be trusted with every text: some crash (``1e-999999999`` as a
DECIMAL) and some give another number (``1e400`` is infinity). Columns with such text, and those whose cast fails, take the careful
way of :mod:`cumulus_ops.files.texts`, which is vectorised, too.
"""

from __future__ import annotations

import datetime
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.files.columns import DECIMAL64_DIGITS, arrow_type, stored_type
from cumulus_ops.files.texts import cast_harmless, cast_text, is_harmless, valid_text
from m3.datatypes import Type

__all__ = ["cast_exact", "decimals_of_floats", "is_readable_as", "is_repeating_text", "plain_text"]


# Floats for a DECIMAL: taken where only one decimal of the declared scale can have been meant.


#: Decimals of so many digits are all different as floats.
FLOAT_DIGITS = {16: 3, 32: 6, 64: 15}


def decimals_of_floats(column: pa.Array | pa.ChunkedArray, type_: Type) -> pa.Array | pa.ChunkedArray:
    """The decimals that floats were written for, NULL where that is not certain.

    A number of the declared scale with at most 15 digits (6 in 32 bits) has a float of its own: that float stands for it and for
    nothing else. ``19.99`` as a double is that of 19.99 in DECIMAL(15, 2); ``0.125`` has a digit too many, and
    ``12345678901234.56`` could have been another decimal.

    >>> from m3.datatypes import decimal
    >>> decimals_of_floats(pa.array([19.99, 0.125, 12345678901234.56, float("nan")]), decimal(18, 2)).to_pylist()
    [Decimal('19.99'), None, None, None]
    """
    if isinstance(column, pa.ChunkedArray):
        chunks = [decimals_of_floats(chunk, type_) for chunk in column.chunks]
        return pa.chunked_array(chunks, stored_type(type_))
    floats = pc.fill_null(column, float("nan")).to_numpy(zero_copy_only=False)
    digits = FLOAT_DIGITS[column.type.bit_width]
    whole = min(digits, type_.precision) - type_.scale
    if type_.scale > digits or (whole <= 0 and type_.scale > DECIMAL64_DIGITS):
        units, fits = np.zeros(len(floats)), floats == 0
    else:
        scale = float(10**type_.scale)
        with np.errstate(all="ignore"):
            units = np.rint(floats.astype(np.float64) * scale)
            fits = (np.abs(units) < float(10 ** min(digits, type_.precision))) & (
                (units / scale).astype(floats.dtype) == floats
            )
    numbers = pa.array(np.where(fits, units, 0).astype(np.int64), mask=~fits)
    narrow = pa.decimal64(DECIMAL64_DIGITS, min(type_.scale, DECIMAL64_DIGITS))
    return pc.cast(pa.Array.from_buffers(narrow, len(numbers), numbers.buffers()), stored_type(type_))


Column: TypeAlias = "pa.Array | pa.ChunkedArray"

#: The first and the last moment that Python and SQL know.
FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)


def is_repeating_text(type_: pa.DataType) -> bool:
    """Whether a column is a dictionary of texts, which is as good as ``string``."""
    return bool(pa.types.is_dictionary(type_) and pa.types.is_string(type_.value_type))


def plain_text(column: Column) -> Column:
    """Dictionaries decoded, and any kind of text as ``string``; other columns unchanged."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return plain_text(pc.cast(column, type_.value_type))
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pc.cast(column, pa.string())
    return column


def is_readable_as(source: pa.DataType, type_: Type) -> bool:
    """Whether columns of ``source`` may hold values of ``type_``; each value is looked at by itself then.

    >>> from m3.datatypes import DATE, INT, decimal
    >>> [is_readable_as(pa.float64(), t) for t in (INT, decimal(15, 2), DATE)]
    [True, True, False]
    """
    if source == arrow_type(type_) or pa.types.is_string(source) or pa.types.is_null(source):
        return True
    number = pa.types.is_integer(source) or pa.types.is_decimal(source) or pa.types.is_floating(source)
    moment = pa.types.is_date(source) or pa.types.is_timestamp(source)
    match type_.kind:
        case "int" | "double" | "decimal":
            return bool(number)
        case "date" | "timestamp":
            return bool(moment)
        case "string":
            return bool(pa.types.is_binary(source))  # CSV with bytes that are no UTF-8
    return False


def cast_exact(column: Column, type_: Type) -> tuple[Column, np.ndarray]:
    """Casts a column whose type :func:`is_readable_as` ``type_``.

    Args:
        column: as :func:`plain_text` returns it.
        type_: the declared type; nullability is not looked at.

    Returns:
        The column in :func:`~cumulus_ops.files.columns.stored_type`, NULL where a value does not fit, and a bool mask
        of those places.
    """
    values = _cast(column, type_)
    if type_.kind in ("date", "timestamp"):
        values = _within_years(values)
    bad = np.zeros(len(column), dtype=bool)
    if values.null_count > column.null_count:
        bad = _mask(pc.is_null(values)) & ~_mask(pc.is_null(column))
    return values, bad


def _cast(column: Column, type_: Type) -> Column:
    """The column in its stored type, NULL where a value does not fit."""
    target = stored_type(type_)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        if type_.kind == "string":
            return valid_text(column)
        if pa.types.is_string(column.type) and is_harmless(column, type_):
            try:
                return cast_harmless(column, type_)
            except pa.ArrowInvalid:
                pass
        return cast_text(valid_text(column), type_)
    if column.type == target or pa.types.is_null(column.type):
        return column if column.type == target else pc.cast(column, target)
    if type_.kind == "decimal" and pa.types.is_floating(column.type):
        return decimals_of_floats(column, type_)
    if pa.types.is_decimal32(column.type) or pa.types.is_decimal64(column.type):
        wide = pa.decimal128(column.type.precision, column.type.scale)
        return _cast(pc.cast(column, wide), type_)  # Arrow knows more about these
    if pa.types.is_integer(column.type) and type_.kind == "decimal":
        return _cast(pc.cast(column, pa.string()), type_)  # Arrow asks for digits that the values may not need
    # Between types of numbers, or of moments: where one value fails, the others are found by halving.
    if type_.kind == "date" and pa.types.is_timestamp(column.type):
        moments = pc.cast(column, pa.timestamp(column.type.unit))  # in UTC
        midnights = pc.cast(pc.cast(moments, pa.date32(), safe=False), moments.type, safe=False)
        column = pc.if_else(pc.equal(midnights, moments), moments, pa.scalar(None, moments.type))
    try:
        return pc.cast(column, target)
    except pa.ArrowInvalid:
        bad = pa.concat_arrays([_plain(column)[:0], *_find_unfit(_plain(pc.unique(column)).drop_null(), target)])
        return pc.cast(pc.if_else(pc.is_in(column, value_set=bad), pa.scalar(None, column.type), column), target)


def _find_unfit(values: pa.Array, target: pa.DataType) -> list[pa.Array]:
    try:
        pc.cast(values, target)
        return []
    except pa.ArrowInvalid:
        middle = len(values) // 2
        return [values] if middle == 0 else _find_unfit(values[:middle], target) + _find_unfit(values[middle:], target)


def _within_years(values: Column) -> Column:
    """NULL for what is before year 1 or after year 9999."""
    first, last = (pa.scalar(m, pa.timestamp("us")).cast(values.type, safe=False) for m in (FIRST, LAST))
    found = pc.min_max(pc.cast(values, pa.int32() if pa.types.is_date32(values.type) else pa.int64()))
    bounds = [s.cast(found["min"].type).as_py() for s in (first, last)]
    if found["min"].as_py() is None or (bounds[0] <= found["min"].as_py() and found["max"].as_py() <= bounds[1]):
        return values
    known = pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last))
    return pc.if_else(known, values, pa.scalar(None, values.type))


def _plain(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mask(column: Column) -> np.ndarray:
    return np.asarray(_plain(column).to_numpy(zero_copy_only=False), dtype=bool)
