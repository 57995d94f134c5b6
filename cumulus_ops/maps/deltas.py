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
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import (
    LOW,
    MOST,
    alike,
    are_all,
    columns_of,
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
    "Deltas",
    "add_deltas",
    "at_version",
    "column_codes",
    "delta_columns",
    "delta_schema",
    "delta_values",
    "digits_of",
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


@dataclass(eq=False)  # not frozen: made for each statement, and three times as fast
class Deltas:
    """The columns of a delta table by their names. Making a table of a few rows and reading it takes longer than most of what is done with it, so steps pass its columns on.
    ``is_distinct``: no two rows have the same keys and version."""

    columns: Mapping[str, pa.Array]
    is_distinct: bool = False

    def __len__(self) -> int:
        return len(self.columns[VERSION])

    @staticmethod
    def of(table: pa.Table) -> Deltas:
        """Those of a table."""
        return Deltas(columns_of(table), DISTINCT in (table.schema.metadata or {}))

    def table(self) -> pa.Table:
        """Inverse of :meth:`of`."""
        made = pa.Table.from_arrays([*self.columns.values()], [*self.columns])
        return made.replace_schema_metadata({DISTINCT: b"1"}) if self.is_distinct else made

    @property
    def nbytes(self) -> int:
        """About how many bytes its columns take."""
        # their own `nbytes` looks at each column's buffers in Python: 40 us for a few rows
        return sum([column.get_total_buffer_size() for column in self.columns.values()])

    def versions(self) -> np.ndarray:
        """The version of each row (int64)."""
        return to_numpy(self.columns[VERSION])

    def at_version(self, version: int) -> Deltas:
        """The same keys and values at one version; not summed."""
        before, at = self.versions(), from_numbers(np.full(len(self), version, np.int64))
        # Of several versions some may have been all that told two rows apart.
        return Deltas({**self.columns, VERSION: at}, self.is_distinct and are_all(before == before[:1]))


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


def delta_columns(keys: Mapping[str, pa.Array], values: Mapping[str, np.ndarray]) -> dict[str, pa.Array]:
    """The columns of a delta table of keys and values of any size.

    Args:
        keys: the keys and versions, by their names.
        values: for each value column its values, one per row.
    """
    columns = dict(keys)
    for name, units in values.items():
        if units.dtype != object:
            columns[name] = from_numbers(np.ascontiguousarray(units, np.int64))
            continue
        if not bool((abs(units) > MOST).any()):
            columns[name] = to_column(units)
            continue
        sign, rest, place = np.where(units < 0, -1, 1).astype(object), abs(units), 0
        while rest.any():
            column = f"{name}{PLACE}{place}" if place else name
            columns[column] = to_column(rest % BASE * sign)
            rest, place = rest // BASE, place + 1
    return columns


def delta_schema(keys: Sequence[Column], members: Sequence[str]) -> pa.Schema:
    """The Arrow schema of a group's deltas: its keys, a version, and the values of its maps."""
    fields = [pa.field(k.name, physical_type(k.type)) for k in keys]
    values = [pa.field(value_column(name), pa.int64()) for name in members]
    return pa.schema([*fields, pa.field(VERSION, pa.int64()), *values])


def sum_deltas(tables: Sequence[pa.Table]) -> pa.Table:
    """All deltas of a group as one table with one row per (keys, version), rows of zeros dropped.

    Columns are as wide as their sums need, and those of higher digits are there only where a sum has such.
    """
    return add_deltas([Deltas.of(table) for table in tables]).table()


def add_deltas(parts: Sequence[Deltas]) -> Deltas:
    """The same of the columns of such tables."""
    columns = parts[0].columns if len(parts) == 1 else _stack_columns(parts)
    if len(parts) == 1 and parts[0].is_distinct:
        return Deltas(_drop_zeros(columns))
    values = [name for name in columns if name.startswith(PLUS)]
    keys = [name for name in columns if not name.startswith(PLUS)]
    summed = _sum_by_keys(columns, keys, values, with_zeros=False)
    if any(PLACE in value for value in values) or not summed.keys() >= set(values):
        units = {value: _join_sums(summed, value, values) for value in values if PLACE not in value}
        summed = _drop_zeros(delta_columns({name: summed[name] for name in keys}, units))
    # wide columns that need not be are int64 again
    return Deltas({name: narrow_column(column) for name, column in summed.items()})


def _stack_columns(parts: Sequence[Deltas]) -> Mapping[str, pa.Array]:
    """Columns one below the other, as :func:`~cumulus_ops.maps.columns.stack` has them."""
    first = parts[0].columns
    if all(part.columns.keys() == first.keys() for part in parts):
        together = {name: [part.columns[name] for part in parts] for name in first}
        return {name: pa.concat_arrays(alike(columns)) for name, columns in together.items()}
    return columns_of(stack([part.table() for part in parts]))


def project_deltas(delta: pa.Table, keys: Sequence[int] | None, values: Sequence[str] | None) -> pa.Table:
    """Summed deltas with only some of their keys, by position, and only some of their maps; None for all."""
    if values is not None:
        dropped = [name for name in value_names(delta) if map_of(name) not in values]
        delta = delta.drop_columns(dropped)
    if keys is None:
        return delta if values is None else Deltas(_drop_zeros(columns_of(delta))).table()
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


def _drop_zeros(columns: Mapping[str, pa.Array]) -> Mapping[str, pa.Array]:
    """The rows with a value other than 0."""
    some = _find_some([to_numpy(column) for name, column in columns.items() if name.startswith(PLUS)])
    if some is None:
        return columns
    rows = some.nonzero()[0]
    return {name: take_rows(column, rows) for name, column in columns.items()}


def _find_some(values: Iterable[np.ndarray]) -> np.ndarray | None:
    """Which rows have a value other than 0; None if all have."""
    some: np.ndarray | None = None
    for units in values:
        own = units != 0
        some = own if some is None else some | own
        if are_all(some):
            return None
    return some


def sum_exactly(table: pa.Table, keys: Sequence[str], values: Sequence[str]) -> pa.Table:
    """Group ``table`` by ``keys`` and sum the columns ``values``, which keep their names. One with a sum that does not fit 64
    bits is wide; a sum of more than 38 digits becomes a number that no type holds."""
    columns = [name for value in values for name in digits_of(value, table.column_names)]
    summed = _sum_by_keys(columns_of(table), keys, columns)
    sums = {
        value: summed[value]
        if value in summed and len(digits_of(value, columns)) == 1
        else total_column(_join_sums(summed, value, columns))
        for value in values
    }
    return pa.table({**{key: summed[key] for key in keys}, **sums})


def _sum_by_keys(
    found: Mapping[str, pa.Array], keys: Sequence[str], values: Sequence[str], *, with_zeros: bool = True
) -> Mapping[str, pa.Array]:
    """The sums of the columns ``values`` by ``keys``. Sums of int64 wrap around, and Arrow's of decimals may: of a column whose sums may
    not fit, the limbs are summed instead, as columns of their own. Rows of zeros alone are left out unless ``with_zeros``."""
    summed: dict[str, np.ndarray] = {}
    for value in values:
        column = found[value]
        units = None if is_wide(column.type) else to_numpy(column)
        if units is not None and (not len(units) or _find_extent(units) * len(units) < SAFE):
            summed[value] = units
        else:
            summed |= {_name_limb(value, i): limb for i, limb in enumerate(limbs(column))}
    if not keys:
        return {name: from_numbers(units.sum(keepdims=True)[: len(units)]) for name, units in summed.items()}
    columns = {name: found[name] for name in keys}
    sorted_ = _sort_groups(list(columns.values()), len(found[keys[0]]))
    if sorted_ is not None:
        return _sum_groups(columns, summed, *sorted_, with_zeros)
    table = pa.table(columns | {name: pa.array(units) for name, units in summed.items()})
    totals = table.group_by(list(keys), use_threads=False).aggregate([(name, "sum") for name in summed])
    keys_first = totals.column_names[0] == keys[0]
    totals = totals.rename_columns([*keys, *summed] if keys_first else [*summed, *keys]).select([*keys, *summed])
    return columns_of(totals) if with_zeros else _drop_zeros(columns_of(totals))


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
) -> dict[str, pa.Array]:
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
    made = dict(zip(keys, columns, strict=True))
    for name, units in zip(values, sums, strict=True):
        made[name] = from_numbers(np.ascontiguousarray(units))
    return made


def _join_sums(summed: Mapping[str, pa.Array], value: str, columns: Collection[str]) -> np.ndarray:
    """The sums of a map's values, from those of all its columns."""
    return join_digits([_read_sums(summed, name) for name in digits_of(value, columns)])


def _name_limb(value: str, place: int) -> str:
    """The column of one limb of a sum."""
    return f"{value}{PLACE}limb{place}"


def _read_sums(summed: Mapping[str, pa.Array], value: str) -> np.ndarray:
    """The sums of a column, by its limbs or not."""
    if value in summed:
        return to_numpy(summed[value])
    parts = [_name_limb(value, i) for i in range(4) if _name_limb(value, i) in summed]
    return join_limbs([to_numpy(summed[part]) for part in parts])


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
