"""Deltas of a map as Arrow tables, and the exact sums over them.

A delta table has a group's keys (physical types, in their order), ``_version`` int64 and a value column per map of the
group: units, under the map's name with a plus sign before it. The same keys and version may stand in several rows; whoever
reads them adds them up. Values and keys are int64, or wide where that is not enough (see :mod:`.wide`). A value of more than
38 digits takes several columns, which are summed each by itself: ``+m`` has its last 38 digits, ``+m`` followed by the unit
separator and ``1`` (``+m^1`` for short) the 38 before, and so
on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import (
    LOW,
    MOST,
    are_all,
    from_numbers,
    greatest,
    is_wide,
    join_limbs,
    limbs,
    narrow_column,
    narrow_units,
    physical_type,
    sort_codes,
    stack,
    take_rows,
    to_column,
    to_numpy,
    to_units,
    total_column,
    whole_column,
)
from cumulus_ops.maps.encodings import UINT64, frame_of, is_number, narrow
from m3.program import Column

__all__ = [
    "VALUE",
    "VERSION",
    "at_version",
    "column_codes",
    "delta_schema",
    "delta_values",
    "digits_of",
    "distinct_rows",
    "find_fresh",
    "find_starts",
    "first_versions",
    "join_digits",
    "map_of",
    "multiply",
    "negate_deltas",
    "project_deltas",
    "sum_deltas",
    "sum_exactly",
    "sum_ranges",
    "value_column",
    "value_names",
    "versions",
    "with_values",
]


VERSION, VALUE = "_version", "_value"
#: Stands before the name of a map in a delta table.
PLUS = "+"
#: Stands before the place of a column with higher digits: the unit separator, which no map's name contains.
PLACE = "\x1f"
BASE = MOST + 1
#: Sums and products that are bounded by this are computed in int64 without a check. One bit below the range, so that a bound that was
#: itself rounded is still right.
SAFE = 2**62
DISTINCT = b"distinct"
MINUS = np.array([-1])
#: Numbers whose range has more bits are numbered anew before they are grouped: otherwise versions of two epochs, 2**43 apart, would leave the
#: keys beside them no room in 64 bits.
FAR_BITS = 40


def value_column(name: str) -> str:
    """What a delta table calls the values of a map."""
    return PLUS + name


def value_names(table: pa.Table) -> list[str]:
    """The value columns of a delta table."""
    return [name for name in table.schema.names if name.startswith(PLUS)]


def map_of(column: str) -> str:
    """The map whose values a column has."""
    return column.removeprefix(PLUS).partition(PLACE)[0]


def digits_of(column: str, names: Collection[str]) -> list[str]:
    """The value columns that together have a map's values: the one with their last digits, and those with higher ones."""
    found = [column]
    while f"{column}{PLACE}{len(found)}" in names:
        found.append(f"{column}{PLACE}{len(found)}")
    return found


def join_digits(columns: Sequence[np.ndarray]) -> np.ndarray:
    """The values of which such columns have the digits."""
    if len(columns) == 1:
        return columns[0]
    first, *higher = columns
    units = first.astype(object)
    for place, column in enumerate(higher, 1):
        units = units + column.astype(object) * BASE**place
    return narrow_units(units)


def delta_values(table: pa.Table, column: str) -> np.ndarray:
    """The values of a map in a delta table."""
    return join_digits([to_numpy(whole_column(table[name])) for name in digits_of(column, table.column_names)])


def with_values(keys: Mapping[str, pa.Array | pa.ChunkedArray], values: Mapping[str, np.ndarray]) -> pa.Table:
    """A delta table of keys and values of any size.

    Args:
        keys: the keys and versions, by their names.
        values: for each value column its values, one per row.
    """
    if not any(units.dtype == object for units in values.values()):
        arrays = [from_numbers(np.ascontiguousarray(units, np.int64)) for units in values.values()]
        return pa.Table.from_arrays([*keys.values(), *arrays], [*keys, *values])
    columns = dict(keys)
    for name, units in values.items():
        if units.dtype != object or not bool((abs(units) > MOST).any()):
            columns[name] = to_column(units)
            continue
        sign, rest, place = np.where(units < 0, -1, 1).astype(object), abs(units), 0
        while rest.any():
            column = f"{name}{PLACE}{place}" if place else name
            columns[column] = to_column(rest % BASE * sign)
            rest, place = rest // BASE, place + 1
    return pa.table(columns)


def delta_schema(keys: Sequence[Column], members: Sequence[str]) -> pa.Schema:
    """The Arrow schema of a group's deltas: its keys, a version, and the values of its maps."""
    fields = [pa.field(k.name, physical_type(k.type)) for k in keys]
    values = [pa.field(value_column(name), pa.int64()) for name in members]
    return pa.schema([*fields, pa.field(VERSION, pa.int64()), *values])


def sum_deltas(tables: Sequence[pa.Table]) -> pa.Table:
    """All deltas of a group as one table with one row per (keys, version), rows of zeros dropped.

    Columns are as wide as their sums need, and those of higher digits are there only where a sum has such.
    """
    if len(tables) == 1 and DISTINCT in (tables[0].schema.metadata or {}):
        return _drop_zeros(tables[0].replace_schema_metadata(None).combine_chunks())
    table = stack([t.replace_schema_metadata(None) for t in tables])
    values = value_names(table)
    keys = [name for name in table.schema.names if name not in values]
    summed = _sum_by_keys(table, keys, values, with_zeros=False)
    if any(PLACE in value for value in values) or not set(values).issubset(summed.column_names):
        units = {value: _join_sums(summed, value, values) for value in values if PLACE not in value}
        summed = _drop_zeros(with_values({name: summed[name] for name in keys}, units))
    return _narrow_columns(summed).combine_chunks()


def project_deltas(delta: pa.Table, keys: Sequence[int] | None, values: Sequence[str] | None) -> pa.Table:
    """Summed deltas with only some of their keys, by position, and only some of their maps; None for all."""
    if values is not None:
        dropped = [name for name in value_names(delta) if map_of(name) not in values]
        delta = delta.drop_columns(dropped)
    if keys is None:
        return delta if values is None else _drop_zeros(delta)
    names = delta.column_names[: delta.column_names.index(VERSION)]
    return sum_deltas([delta.drop_columns([name for i, name in enumerate(names) if i not in keys])])


def negate_deltas(delta: pa.Table) -> pa.Table:
    """The same keys and versions with the opposite values, of whatever size.

    >>> negate_deltas(pa.table({"k": [1], "_version": [7], "+m": [-(2**63)]}))["+m"].to_pylist()
    [Decimal('9223372036854775808')]
    """
    for name in value_names(delta):
        opposite = to_column(multiply(to_units(delta[name].combine_chunks()), MINUS))
        delta = delta.set_column(delta.column_names.index(name), name, opposite)
    return delta


def at_version(delta: pa.Table, version: int) -> pa.Table:
    """The same keys and values at one version; not summed.

    >>> at_version(pa.table({"k": [1, 2], "_version": [7, 8], "+m": [3, 4]}), 9)["_version"].to_pylist()
    [9, 9]
    """
    at = pa.array(np.full(len(delta), version, np.int64))
    return delta.set_column(delta.column_names.index(VERSION), delta.schema.field(VERSION), at)


def _drop_zeros(table: pa.Table) -> pa.Table:
    """The rows with a value other than 0."""
    some = _find_some([to_numpy(whole_column(table[name])) for name in value_names(table)])
    return table if some is None else table.filter(pa.array(some)).combine_chunks()


def _find_some(values: Iterable[np.ndarray]) -> np.ndarray | None:
    """Which rows have a value other than 0; None if all have."""
    some: np.ndarray | None = None
    for units in values:
        own = units != 0
        some = own if some is None else some | own
        if are_all(some):
            return None
    return some


def distinct_rows(table: pa.Table) -> pa.Table:
    """The same delta table, marked as having no two rows with the same keys and version."""
    return table.replace_schema_metadata({DISTINCT: b"1"})


def sum_exactly(table: pa.Table, keys: Sequence[str], values: Sequence[str]) -> pa.Table:
    """Group ``table`` by ``keys`` and sum the columns ``values``, which keep their names. One with a sum that does not fit 64
    bits is wide; a sum of more than 38 digits becomes a number that no type holds."""
    columns = [name for value in values for name in digits_of(value, table.column_names)]
    summed = _sum_by_keys(table, keys, columns)
    sums = {
        value: summed[value]
        if _is_summed(summed, value) and len(digits_of(value, columns)) == 1
        else total_column(_join_sums(summed, value, columns))
        for value in values
    }
    return pa.table({**{key: summed[key] for key in keys}, **sums})


def _sum_by_keys(table: pa.Table, keys: Sequence[str], values: Sequence[str], *, with_zeros: bool = True) -> pa.Table:
    """The sums of ``values`` by ``keys``. Sums of int64 wrap around, and Arrow's of decimals may: of a column whose sums may
    not fit, the limbs are summed instead, as columns of their own. Rows of zeros alone are left out unless ``with_zeros``."""
    found = dict(zip(table.schema.names, map(whole_column, table.columns), strict=True))
    summed: dict[str, np.ndarray] = {}
    for value in values:
        column = found[value]
        units = None if is_wide(column.type) else to_numpy(column)
        if units is not None and (not len(units) or _find_extent(units) * len(units) < SAFE):
            summed[value] = units
        else:
            summed |= {_name_limb(value, i): limb for i, limb in enumerate(limbs(column))}
    if not keys:
        sums = {name: from_numbers(units.sum(keepdims=True)) for name, units in summed.items()}
        return pa.table(sums).slice(0, 1 if len(table) else 0)
    columns = {name: found[name] for name in keys}
    sorted_ = _sort_groups(list(columns.values()), len(table))
    if sorted_ is not None:
        return _sum_groups(columns, summed, *sorted_, with_zeros)
    table = pa.table(columns | {name: pa.array(units) for name, units in summed.items()})
    totals = table.group_by(list(keys), use_threads=False).aggregate([(name, "sum") for name in summed])
    keys_first = totals.column_names[0] == keys[0]
    totals = totals.rename_columns([*keys, *summed] if keys_first else [*summed, *keys]).select([*keys, *summed])
    return totals if with_zeros else _drop_zeros(totals)


#: Fewer rows are sorted by several numbers sooner than hashed.
SORTED_ROWS = 1 << 13
#: Fewer are sorted by their columns sooner than these are made one number.
FEW_ROWS = 1 << 8


def _sort_groups(columns: Sequence[pa.Array], rows: int) -> tuple[np.ndarray | None, np.ndarray] | None:
    """The rows in an order in which equal keys are neighbours (None: as they are), and where another key begins. None where
    many keys do not fit 64 bits together: sorting one number per row takes half the time of hashing several columns."""
    if rows < 2:
        return None, np.zeros(rows, np.int64)
    if columns and rows <= FEW_ROWS:
        # Numbers first: mostly they tell all rows apart, and to make a number of each text takes longer than all else.
        plain = [to_numpy(column) for column in columns if _is_plain(column)]
        if plain:
            order, starts = _sort_codes(plain)
            if len(starts) == rows:
                return None, np.arange(rows)
            if len(plain) == len(columns):
                return order, starts
        return _sort_codes([*plain, *(column_codes(column)[0] for column in columns if not _is_plain(column))])
    packed, bits = [np.zeros(rows, np.uint64)], 0
    for column in columns:
        own, width = column_codes(column)
        if bits + width > 64:
            if rows > SORTED_ROWS:
                return None
            packed.append(own)
            bits = width
        elif width:
            packed[-1] = packed[-1] << width | own if bits else own
            bits += width
    if len(packed) > 1:
        order = np.lexsort(packed[::-1])
        return order, find_starts(*(code[order] for code in packed))
    numbers = narrow(packed[0], 2**bits - 1)
    if are_all(numbers[1:] >= numbers[:-1]):
        return None, find_starts(numbers)
    order = sort_codes(numbers)
    return order, find_starts(numbers[order])


def _is_plain(column: pa.Array) -> bool:
    """Whether it is of whole numbers, which are as good as codes."""
    return is_number(column.type) and not column.null_count


def _sort_codes(codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    order = np.lexsort(codes[::-1])
    return order, find_starts(*(code[order] for code in codes))


def find_starts(*columns: np.ndarray) -> np.ndarray:
    """The rows that differ from the one before in some column; the first one is among them."""
    return find_fresh(*columns).nonzero()[0]


def find_fresh(*columns: np.ndarray) -> np.ndarray:
    """The same as a mask."""
    fresh = np.empty(len(columns[0]), bool)
    fresh[:1] = True
    fresh[1:] = reduce(np.logical_or, [column[1:] != column[:-1] for column in columns])
    return fresh


def first_versions(table: pa.Table) -> tuple[tuple[pa.Array, ...], np.ndarray]:
    """The distinct keys of a table of keys and versions, which is not empty, and the lowest version of each."""
    *keys, at = (whole_column(column) for column in table.columns)
    found = to_numpy(at)
    sorted_ = _sort_groups(keys, len(table))
    if sorted_ is None:
        names = table.schema.names[:-1]
        grouped = table.group_by(names, use_threads=False).aggregate([(VERSION, "min")])
        found = to_numpy(whole_column(grouped[f"{VERSION}_min"]))
        return tuple(whole_column(grouped[name]) for name in names), found
    order, starts = sorted_
    rows = starts if order is None else order[starts]
    return tuple(take_rows(k, rows) for k in keys), np.minimum.reduceat(
        found if order is None else found[order], starts
    )


def column_codes(column: pa.Array) -> tuple[np.ndarray, int]:
    """Numbers that are equal where the values are (uint64), and how many bits they have. Those of numbers are in their order,
    unless they lie far apart, as versions of several epochs do."""
    if is_number(column.type):
        valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        numbers = to_numpy(column)
        frame = frame_of(numbers, valid)
        if frame is not None:
            bits = frame.largest.bit_length()
            if bits <= FAR_BITS:
                return frame.codes(numbers, valid), bits
    encoded = column.dictionary_encode(null_encoding="encode")
    places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.uint64)
    return places, max(0, len(encoded.dictionary) - 1).bit_length()


def _sum_groups(
    keys: Mapping[str, pa.Array],
    values: Mapping[str, np.ndarray],
    order: np.ndarray | None,
    starts: np.ndarray,
    with_zeros: bool,
) -> pa.Table:
    """One row for each group of rows: its keys, and the sums of ``values``; see :func:`_sum_by_keys`."""
    columns = list(keys.values())
    sums = [units if order is None else units[order] for units in values.values()]
    if len(starts) < len(columns[0]):
        sums = [np.add.reduceat(units, starts) for units in sums]
    rows = starts if order is None else order[starts]
    # Before the keys are taken: most of what a batch adds to a group it takes off again is never made a column.
    some = None if with_zeros else _find_some(sums)
    if some is not None:
        sums, rows = [units[some] for units in sums], rows[some]
    if order is not None or len(rows) < len(columns[0]):
        columns = [take_rows(column, rows) for column in columns]
    arrays = [*columns, *(from_numbers(np.ascontiguousarray(units)) for units in sums)]
    return pa.Table.from_arrays(arrays, [*keys, *values])


def _is_summed(summed: pa.Table, value: str) -> bool:
    """Whether a column has been summed as it is, not by its limbs."""
    return value in summed.column_names


def _join_sums(summed: pa.Table, value: str, columns: Collection[str]) -> np.ndarray:
    """The sums of a map's values, from those of all its columns."""
    return join_digits([_read_sums(summed, name) for name in digits_of(value, columns)])


def _name_limb(value: str, place: int) -> str:
    """The column of one limb of a sum."""
    return f"{value}{PLACE}limb{place}"


def _read_sums(summed: pa.Table, value: str) -> np.ndarray:
    """The sums of a column, by its limbs or not."""
    if _is_summed(summed, value):
        return to_numpy(whole_column(summed[value]))
    parts = [_name_limb(value, i) for i in range(4) if _name_limb(value, i) in summed.column_names]
    return join_limbs([to_numpy(whole_column(summed[part])) for part in parts])


def _narrow_columns(table: pa.Table) -> pa.Table:
    """Wide columns that need not be are int64 again."""
    for i, field in enumerate(table.schema if any(map(is_wide, table.schema.types)) else ()):
        if is_wide(field.type):
            table = table.set_column(i, field.name, narrow_column(whole_column(table[field.name])))
    return table


def sum_ranges(units: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The sums of ``units[start:next start]``, exactly: int64 if they fit."""
    if len(starts) == 0:
        return units[:0]
    if units.dtype == object:
        return narrow_units(np.add.reduceat(units, starts))
    if _find_extent(units) * len(units) < SAFE:
        return np.add.reduceat(units, starts)
    return join_limbs([np.add.reduceat(limb, starts) for limb in (units & LOW, units >> 32)])


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The products of the elements, exactly: int64 if they fit. ``b`` may be one number for all."""
    if len(a) == 0 or (a.dtype != object and b.dtype != object and _find_extent(a) * _find_extent(b) < SAFE):
        return a * b
    if a.dtype != object and b.dtype != object:
        try:
            return pc.multiply_checked(pa.array(a), pa.array(b) if len(b) > 1 else pa.scalar(int(b[0]))).to_numpy()
        except pa.ArrowInvalid:
            pass
    return narrow_units(a.astype(object) * b)


def _find_extent(values: np.ndarray) -> int:
    """The largest magnitude."""
    if len(values) > FEW_ROWS:
        return max(int(values.max()), -int(values.min()))
    # Of few numbers in one look instead of two. As an unsigned number the least of int64 has its magnitude.
    return greatest(np.abs(values).view(UINT64))


def versions(table: pa.Table) -> np.ndarray:
    """The version column as numpy int64."""
    return to_numpy(whole_column(table[VERSION]))
