"""Deltas of a map as Arrow tables, and the exact sums over them.

A delta table has a group's keys (physical types, in their order), ``_version`` int64 and a value column per map of the
group: int64 units, under the map's name with a plus sign before it. The same keys and version may stand in several rows;
whoever reads them adds them up. So a sum that leaves 64 bits is simply stored as several rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore.columns import is_wide, physical_type, take_rows, to_numpy, wide_array
from cumulus_ops.mapstore.encodings import frame_of, is_number, narrow
from m3.program import Column

__all__ = [
    "VALUE",
    "VERSION",
    "beyond",
    "column_codes",
    "delta_schema",
    "distinct_rows",
    "fits",
    "multiply",
    "projected",
    "sum_deltas",
    "sum_exactly",
    "sum_ranges",
    "sum_values",
    "value_column",
    "value_names",
    "versions",
]

VERSION, VALUE = "_version", "_value"
#: Stands before the name of a map in a delta table.
PLUS = "+"
SAFE = 2**62
DISTINCT = b"distinct"
LOW = 0xFFFFFFFF
#: Numbers whose range has more bits are numbered anew before they are grouped.
FAR_BITS = 40


def value_column(name: str) -> str:
    """What a delta table calls the values of a map."""
    return PLUS + name


def value_names(table: pa.Table) -> list[str]:
    """The value columns of a delta table."""
    return [name for name in table.column_names if name.startswith(PLUS)]


def delta_schema(keys: Sequence[Column], members: Sequence[str]) -> pa.Schema:
    """The Arrow schema of a group's deltas: its keys, a version, and the values of its maps."""
    fields = [pa.field(k.name, physical_type(k.type)) for k in keys]
    values = [pa.field(value_column(name), pa.int64()) for name in members]
    return pa.schema([*fields, pa.field(VERSION, pa.int64()), *values])


def sum_deltas(tables: Sequence[pa.Table]) -> pa.Table:
    """All deltas of a group as one table with one row per (keys, version), rows of zeros dropped.

    A sum beyond 64 bits takes several rows that each fit and add up to it: whoever reads deltas adds them up anyway.
    """
    if len(tables) == 1 and DISTINCT in (tables[0].schema.metadata or {}):
        summed = tables[0].replace_schema_metadata(None)
    else:
        table = pa.concat_tables([t.replace_schema_metadata(None) for t in tables])
        values = value_names(table)
        summed = _grouped(table, [name for name in table.column_names if name not in values], values)
        summed = _spread_out(summed, values).select(table.column_names)
    return _without_zeros(summed).combine_chunks()


def projected(delta: pa.Table, keys: Sequence[int] | None, values: Sequence[str] | None) -> pa.Table:
    """Summed deltas with only some of their keys, by position, and only some of their maps; None for all."""
    if values is not None:
        dropped = [name for name in value_names(delta) if name[1:] not in values]
        delta = delta.drop_columns(dropped)
    if keys is None:
        return delta if values is None else _without_zeros(delta).combine_chunks()
    names = delta.column_names[: delta.column_names.index(VERSION)]
    return sum_deltas([delta.drop_columns([name for i, name in enumerate(names) if i not in keys])])


def _without_zeros(table: pa.Table) -> pa.Table:
    """The rows with a value other than 0."""
    counts: pa.ChunkedArray | None = None
    for name in value_names(table):
        some = pc.not_equal(table[name], 0)
        if pc.all(some).as_py():
            return table
        counts = some if counts is None else pc.or_(counts, some)
    return table if counts is None or pc.all(counts).as_py() else table.filter(counts)


def distinct_rows(table: pa.Table) -> pa.Table:
    """The same delta table, marked as having no two rows with the same keys and version."""
    return table.replace_schema_metadata({DISTINCT: b"1"})


def sum_values(table: pa.Table, keys: Sequence[str], values: Sequence[str], place: str) -> pa.Table:
    """Group ``table`` by ``keys`` and sum the int64 columns ``values`` exactly; the columns keep their names.

    Raises:
        InputProblem: a sum leaves the 64-bit range.
    """
    summed = sum_exactly(table, keys, values)
    if any(is_wide(summed[value].type) for value in values):
        raise beyond(f"a sum of {len(table)} entries", place)
    return summed


def sum_exactly(table: pa.Table, keys: Sequence[str], values: Sequence[str]) -> pa.Table:
    """Group ``table`` by ``keys`` and sum the columns ``values``, which keep their names. One of int64 becomes
    :data:`~cumulus_ops.mapstore.columns.WIDE` if one of its sums does not fit, and a wide one stays so."""
    summed = _grouped(table, keys, values)
    columns = {
        value: _joined(summed, value) if _high(value) in summed.column_names else summed[value] for value in values
    }
    return pa.table({**{key: summed[key] for key in keys}, **columns})


def beyond(what: str, place: str) -> InputProblem:
    """The error for a number that has to fit 64 bits."""
    return InputProblem(
        f"{what} leaves the 64-bit range",
        kind="overflow",
        place=place,
        hint="use a type with fewer decimals for the summed expression",
    )


def _grouped(table: pa.Table, keys: Sequence[str], values: Sequence[str]) -> pa.Table:
    """The sums of ``values`` by ``keys``. Arrow's sums of int64 wrap around: of a column that may, the upper and the lower
    halves are summed instead, which never do."""
    summed = list(values)
    for value in values:
        column = table[value]
        if not is_wide(column.type) and _may_overflow(column):
            units = to_numpy(column.combine_chunks())
            table = table.append_column(_high(value), pa.array(units >> 32))
            table = table.append_column(_low(value), pa.array(units & LOW))
            summed.remove(value)
            summed += [_high(value), _low(value)]
    if not keys:
        sums = {name: pa.array([pc.sum(table[name]).as_py() or 0], table[name].type) for name in summed}
        return pa.table(sums).slice(0, 1 if len(table) else 0)
    narrow_sums = all(pa.types.is_int64(table[name].type) for name in summed)
    sorted_ = _sorted_groups(table, keys) if narrow_sums else None
    if sorted_ is not None:
        return _summed_groups(table, keys, summed, *sorted_)
    totals = table.group_by(list(keys), use_threads=False).aggregate([(name, "sum") for name in summed])
    keys_first = totals.column_names[0] == keys[0]
    return totals.rename_columns([*keys, *summed] if keys_first else [*summed, *keys]).select([*keys, *summed])


def _sorted_groups(table: pa.Table, keys: Sequence[str]) -> tuple[np.ndarray | None, np.ndarray] | None:
    """The rows in an order in which equal keys are neighbours (None: as they are), and where another key begins. None where
    the keys do not fit 64 bits together: sorting one number per row takes half the time of hashing several columns."""
    codes, bits = np.zeros(len(table), np.uint64), 0
    for name in keys:
        own, width = column_codes(_whole(table[name]))
        if bits + width > 64:
            return None
        if width:
            codes = codes << np.uint64(width) | own if bits else own
        bits += width
    codes = narrow(codes, 2**bits - 1)
    order = None if bool((codes[1:] >= codes[:-1]).all()) else codes.argsort()
    codes = codes if order is None else codes[order]
    return order, np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])) if len(codes) else np.zeros(0, int)


def column_codes(column: pa.Array) -> tuple[np.ndarray, int]:
    """Numbers that are equal where the values are (uint64), and how many bits they have. Those of numbers are in their order,
    unless they lie far apart, as versions of several epochs do."""
    if is_number(column.type):
        valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        numbers = to_numpy(column)
        frame = frame_of(numbers, valid)
        if frame is not None and frame.largest.bit_length() <= FAR_BITS:
            return frame.codes(numbers, valid), frame.largest.bit_length()
    encoded = column.dictionary_encode(null_encoding="encode")
    places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.uint64)
    return places, max(0, len(encoded.dictionary) - 1).bit_length()


def _summed_groups(
    table: pa.Table, keys: Sequence[str], values: Sequence[str], order: np.ndarray | None, starts: np.ndarray
) -> pa.Table:
    """One row for each group of rows: its keys, and the sums of ``values``."""
    single = len(starts) == len(table)
    if single and order is None:
        return table.select([*keys, *values])
    rows = starts if order is None else order[starts]
    columns = {name: take_rows(_whole(table[name]), rows) for name in keys}
    for name in values:
        units = to_numpy(_whole(table[name]))
        units = units if order is None else units[order]
        columns[name] = pa.array(units if single else np.add.reduceat(units, starts))
    return pa.table(columns)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _high(value: str) -> str:
    return f"{value}/high"


def _low(value: str) -> str:
    return f"{value}/low"


def _may_overflow(values: pa.ChunkedArray) -> bool:
    """No partial sum leaves 64 bits when the largest magnitude times their number is in range."""
    if len(values) == 0:
        return False
    extremes = pc.min_max(values).as_py()
    return max(abs(extremes["min"]), abs(extremes["max"])) * len(values) >= SAFE


def _halves(summed: pa.Table, value: str) -> tuple[np.ndarray, np.ndarray]:
    """The sums of a column as ``upper * 2**32 + lower`` with 0 <= lower < 2**32."""
    high, low = (to_numpy(summed[name].combine_chunks()) for name in (_high(value), _low(value)))
    return high + (low >> 32), low & LOW


def _joined(summed: pa.Table, value: str) -> pa.Array:
    """The sums of a column: int64, or wide if one does not fit."""
    upper, lower = _halves(summed, value)
    low = (upper << 32) | lower
    return pa.array(low) if fits(upper, lower).all() else wide_array(upper >> 32, low)


def _spread_out(summed: pa.Table, values: Sequence[str]) -> pa.Table:
    """Summed deltas in which a sum that does not fit 64 bits takes several rows of its sign, of up to 2**62 units."""
    split = [value for value in values if _high(value) in summed.column_names]
    if not split:
        return summed
    halves = {value: _halves(summed, value) for value in split}
    needed = [_rows_needed(upper, lower) for upper, lower in halves.values()]
    rows = np.maximum.reduce(needed)
    last = np.cumsum(rows) - 1
    columns = {}
    for value in values:
        if value not in halves:
            columns[value] = np.zeros(int(rows.sum()), np.int64)
            columns[value][last] = to_numpy(summed[value].combine_chunks())
        else:
            columns[value] = _spread(*halves[value], rows)
    keys = summed.select([n for n in summed.column_names if not n.startswith(PLUS)])
    if len(last) and rows.max() > 1:
        keys = keys.take(pa.array(np.repeat(np.arange(len(rows)), rows)))
    for value, column in columns.items():
        keys = keys.append_column(value, pa.array(column))
    return keys


def _rows_needed(upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """How many rows a sum ``upper * 2**32 + lower`` takes."""
    times, rest = _times(upper, lower)
    return np.where(fits(upper, lower), 1, np.where(times < 0, -times, times + (rest > 0)))


def _times(upper: np.ndarray, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A sum as ``times * 2**62 + rest``."""
    return upper >> 30, ((upper & (2**30 - 1)) << 32) | lower


def _spread(upper: np.ndarray, lower: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums over ``rows`` rows each: full ones first, what is left in the last, zeros where fewer are needed."""
    fit, (times, rest) = fits(upper, lower), _times(upper, lower)
    count = _rows_needed(upper, lower)
    place = np.arange(int(rows.sum())) - np.repeat(np.cumsum(rows) - rows, rows)  # of a row among those of its sum
    full = place < np.repeat(count - 1, rows)
    values = np.where(full, np.repeat(np.where(times < 0, -(2**62), 2**62), rows), 0)
    left = np.where(times < 0, rest - 2**62, np.where(rest > 0, rest, 2**62))
    at = np.cumsum(rows) - rows + count - 1
    values[at] = np.where(fit, (upper << 32) | lower, left)
    return values


def sum_ranges(units: np.ndarray, starts: np.ndarray, place: str) -> np.ndarray:
    """The sums of ``units[start:next start]``, exactly.

    Raises:
        InputProblem: a sum leaves the 64-bit range.
    """
    if len(starts) == 0:
        return units[:0]
    if _extent(units) * len(units) < SAFE:
        return np.add.reduceat(units, starts)
    high, low = np.add.reduceat(units >> 32, starts), np.add.reduceat(units & LOW, starts)
    if not fits(high, low).all():
        raise beyond("a map's entry", place)
    return (high << 32) + low


def fits(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Whether ``high * 2**32 + low`` (int64 each, ``low`` not negative) is in the range of int64."""
    upper = high + (low >> 32)
    return (upper >= -(2**31)) & (upper < 2**31)


def multiply(a: np.ndarray, b: np.ndarray, place: str) -> np.ndarray:
    """Element-wise product of int64 arrays.

    Raises:
        InputProblem: a product leaves the 64-bit range.
    """
    if len(a) == 0 or _extent(a) * _extent(b) < SAFE:
        return a * b
    try:
        return pc.multiply_checked(pa.array(a), pa.array(b)).to_numpy()
    except pa.ArrowInvalid as error:
        raise InputProblem(
            "a product leaves the 64-bit range", kind="overflow", place=place, hint="use types with fewer decimals"
        ) from error


def _extent(values: np.ndarray) -> int:
    """The largest magnitude."""
    return max(int(values.max()), -int(values.min()))


def versions(table: pa.Table) -> np.ndarray:
    """The version column as numpy int64."""
    return to_numpy(table[VERSION].combine_chunks())
