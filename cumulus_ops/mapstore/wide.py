"""Numbers beyond 64 bits: how columns and numpy arrays hold them.

Whole numbers (units of decimals, keys, values of maps) are int64 as long as all of a column's fit. As soon as one does not, an
Arrow column is :data:`WIDE`, and a numpy array holds Python's integers (``dtype=object``), which have no bound; both turn back
as soon as everything fits again. Nothing but the data decides: two columns of one map may differ.

>>> to_column(np.array([2**70, 1], dtype=object)).type == WIDE
True
>>> to_units(to_column(np.array([7, 1], dtype=object)))
array([7, 1])
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

__all__ = [
    "LOW",
    "MOST",
    "WIDE",
    "alike",
    "from_words",
    "is_wide",
    "join_limbs",
    "join_words",
    "limbs",
    "narrow_column",
    "narrowed",
    "stack",
    "to_column",
    "to_units",
    "total_column",
    "widen",
    "words",
]

WIDE = pa.decimal128(38, 0)
#: The largest magnitude in a wide column: 38 digits.
MOST = 10**38 - 1
#: No type holds it, but 128 bits do.
TOO_MANY = 2**127 - 1
LOW = 0xFFFFFFFF
LOW_WORD = 2**64 - 1


def is_wide(type_: pa.DataType) -> bool:
    """Whether it is the type of numbers beyond 64 bits."""
    return bool(type_ == WIDE)


def words(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The upper and the lower 64 bits of a wide column (int64 each); what stands at NULL is any number."""
    both = np.frombuffer(column.buffers()[1], dtype=np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    return both[1::2].copy(), both[0::2].copy()


def from_words(high: np.ndarray, low: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """Inverse of :func:`words`; ``valid`` tells which are not NULL."""
    both = np.empty(2 * len(low), dtype=np.int64)
    both[0::2], both[1::2] = low, high
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    return pa.Array.from_buffers(WIDE, len(low), [validity, pa.py_buffer(both)], 0 if valid is None else -1)


def join_words(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The numbers of such words, as Python's integers."""
    return (high.astype(object) << 64) | low.view(np.uint64).astype(object)


def to_units(column: pa.Array, null: int = 0) -> np.ndarray:
    """The numbers of an int64 or a wide column, with ``null`` in place of NULL: int64 if they fit, or Python's integers."""
    column = narrow_column(column)
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if is_wide(column.type):
        units = join_words(*words(column))
    else:
        units = column.to_numpy() if valid is None else column.fill_null(null).to_numpy(zero_copy_only=False)
    return units if valid is None else np.where(valid, units, null)


def to_column(units: np.ndarray, null: np.ndarray | None = None) -> pa.Array:
    """Numbers of up to 38 digits as a column, int64 or wide; NULL where the mask ``null`` says so."""
    if units.dtype == object and null is not None:
        units = np.where(null, 0, units)
    units = narrowed(units)
    if units.dtype != object:
        return pa.array(units, mask=null)
    low = (units & LOW_WORD).astype(np.uint64).view(np.int64)
    return from_words((units >> 64).astype(np.int64), low, None if null is None else ~null)


def total_column(units: np.ndarray) -> pa.Array:
    """Like :func:`to_column` for totals, which may have any number of digits: those of more than 38 become a number that does
    not fit any type either, so that whoever evaluates one finds that it does not."""
    if units.dtype == object:
        units = np.where(units > MOST, TOO_MANY, np.where(units < -MOST, -TOO_MANY, units))
    return to_column(units)


def narrowed(units: np.ndarray) -> np.ndarray:
    """The same numbers as int64, if they fit."""
    if units.dtype != object:
        return units
    try:
        return units.astype(np.int64)
    except OverflowError:
        return units


def narrow_column(column: pa.Array) -> pa.Array:
    """The same column as int64, if it fits."""
    if not is_wide(column.type):
        return column
    high, low = words(column)
    fits = high == low >> 63
    null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if not bool((fits if null is None else fits | null).all()):
        return column
    return pa.array(low, mask=null)


def widen(column: pa.Array) -> pa.Array:
    """The same column as a wide one."""
    if is_wide(column.type):
        return column
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    units = to_units(column)
    return from_words(units >> 63, units, valid)


def alike(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Columns of one kind in one form: all wide, if one is."""
    if not any(is_wide(column.type) for column in columns):
        return list(columns)
    return [widen(column) if pa.types.is_int64(column.type) else column for column in columns]


def stack(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables one below the other. A column is wide if it is in one of them; one of numbers that some do not have is 0 there."""
    first = tables[0].schema
    if all(table.schema.equals(first) for table in tables):
        return pa.concat_tables(tables)
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    wide = {field.name for table in tables for field in table.schema if is_wide(field.type)}
    return pa.concat_tables([pa.table([_column(t, n, n in wide) for n in names], names) for t in tables])


def _column(table: pa.Table, name: str, wide: bool) -> pa.Array | pa.ChunkedArray:
    if name not in table.column_names:
        return pa.array(np.zeros(len(table), np.int64)).cast(WIDE if wide else pa.int64())
    column = table[name]
    return column.cast(WIDE) if wide and not is_wide(column.type) else column


def limbs(column: pa.Array) -> list[np.ndarray]:
    """Numbers as digits of 32 bits, the lowest first, the last one signed: sums of each do not wrap around, whatever the sums of
    the numbers do (int64; of a column without NULL)."""
    if not is_wide(column.type):
        units = to_units(column)
        return [units & LOW, units >> 32]
    high, low = words(column)
    return [low & LOW, (low >> 32) & LOW, high & LOW, high >> 32]


def join_limbs(sums: Sequence[np.ndarray]) -> np.ndarray:
    """The numbers whose digits add up to ``sums``: int64 if they all fit, or Python's integers."""
    *lower, top = sums
    digits, carry = [], np.zeros(len(top), np.int64)
    for part in lower:
        part = part + carry
        digits.append(part & LOW)
        carry = part >> 32
    top = top + carry
    if len(digits) == 1:
        low, fits = (top << 32) | digits[0], (top >= -(2**31)) & (top < 2**31)
    else:
        low = digits[0] | (digits[1] << 32)
        fits = (top == low >> 63) & (digits[2] == (low >> 63) & LOW)
    if bool(fits.all()):
        return low
    result = top.astype(object)
    for digit in reversed(digits):
        result = (result << 32) | digit.astype(object)
    return result
