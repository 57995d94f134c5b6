"""Exact casts of whole columns: a value either means the same in the declared type, or it is named as bad.

The common case is one vectorised cast. Only when that fails are the bad values looked for, among the *distinct*
values, by halving: its cost follows the number of different bad values.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.eventlog.types import arrow_type, stored_type
from m3.datatypes import Type

__all__ = ["cast_exact", "is_readable_as", "is_repeating_text", "plain_text"]

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

#: What text of a kind looks like; only used to find bad values quickly, the cast decides.
PATTERNS = {
    "int": r"^-?[0-9]+$",
    "decimal": r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}


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
    """Whether columns of ``source`` may hold values of ``type_``: never binary floats for a DECIMAL."""
    if source == arrow_type(type_) or pa.types.is_string(source) or pa.types.is_null(source):
        return True
    number = pa.types.is_integer(source) or pa.types.is_decimal(source)
    moment = pa.types.is_date(source) or pa.types.is_timestamp(source)
    match type_.kind:
        case "int" | "double":
            return bool(number or pa.types.is_floating(source))
        case "decimal":
            return bool(number)
        case "date" | "timestamp":
            return bool(moment)
    return False


def cast_exact(column: Column, type_: Type) -> tuple[Column, np.ndarray]:
    """Casts a column whose type :func:`is_readable_as` ``type_``.

    Args:
        column: as :func:`plain_text` returns it.
        type_: the declared type; nullability is not looked at.

    Returns:
        The column in :func:`~cumulus_ops.eventlog.types.stored_type`, NULL where a value does not fit, and a bool mask
        of those places.
    """
    target = stored_type(type_)
    good = np.zeros(len(column), dtype=bool)
    if column.type == target:
        return column, good
    if pa.types.is_decimal32(column.type) or pa.types.is_decimal64(column.type):
        column = pc.cast(
            column, pa.decimal128(column.type.precision, column.type.scale)
        )  # Arrow knows more about these
    if pa.types.is_integer(column.type) and type_.kind == "decimal":
        column = pc.cast(column, pa.string())  # Arrow asks for digits that the values may not need
    try:
        if not _has_surprises(column, type_):
            return pc.cast(column, target), good
    except pa.ArrowInvalid:
        pass
    bad = _mask(pc.is_in(column, value_set=_bad_values(_plain(pc.unique(column)).drop_null(), type_)))
    return pc.cast(pc.if_else(pa.array(bad), pa.scalar(None, column.type), column), target), bad


def _has_surprises(column: Column, type_: Type) -> bool:
    """Whether Arrow's cast would accept what we do not: hexadecimal text, or moments that are no dates."""
    if type_.kind == "int" and pa.types.is_string(column.type):
        return bool(pc.any(pc.match_substring(column, "x", ignore_case=True)).as_py())
    if type_.kind == "date" and pa.types.is_timestamp(column.type):
        return pc.any(pc.not_equal(_midnight(column), column)).as_py() is True
    return False


def _midnight(column: Column) -> Column:
    return pc.cast(pc.cast(column, pa.date32()), column.type)


def _bad_values(values: pa.Array, type_: Type) -> pa.Array:
    """Which of some distinct, non-NULL values do not fit."""
    pattern = PATTERNS.get(type_.kind)
    if pattern and pa.types.is_string(values.type):
        matches = pc.match_substring_regex(values, pattern)
        obvious, values = values.filter(pc.invert(matches)), values.filter(matches)
        return pa.concat_arrays([obvious, *_halve(values, stored_type(type_))])
    if type_.kind == "date" and pa.types.is_timestamp(values.type):
        return values.filter(pc.not_equal(_midnight(values), values))
    return pa.concat_arrays([values[:0], *_halve(values, stored_type(type_))])


def _halve(values: pa.Array, target: pa.DataType) -> list[pa.Array]:
    try:
        pc.cast(values, target)
        return []
    except pa.ArrowInvalid:
        middle = len(values) // 2
        return [values] if middle == 0 else _halve(values[:middle], target) + _halve(values[middle:], target)


def _plain(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mask(column: Column) -> np.ndarray:
    return np.asarray(_plain(column).to_numpy(zero_copy_only=False), dtype=bool)
