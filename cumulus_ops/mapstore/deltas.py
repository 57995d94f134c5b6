"""Deltas of a map as Arrow tables, and the exact sums over them.

A delta table has the map's keys (physical types, in the map's order), ``_version`` int64 and ``_value`` int64 (units).
The same keys and version may stand in several rows; whoever reads them adds them up. So a sum that leaves 64 bits is simply
stored as several rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore.columns import is_wide, physical_type, to_numpy, wide_array
from m3.program import MapDecl

__all__ = [
    "VALUE",
    "VERSION",
    "beyond",
    "delta_schema",
    "distinct_rows",
    "empty_delta",
    "fits",
    "multiply",
    "sum_deltas",
    "sum_exactly",
    "sum_ranges",
    "sum_values",
    "versions",
]

VERSION, VALUE = "_version", "_value"
SAFE = 2**62
DISTINCT = b"distinct"
LOW = 0xFFFFFFFF


def delta_schema(decl: MapDecl) -> pa.Schema:
    """The Arrow schema of a map's deltas."""
    keys = [pa.field(k.name, physical_type(k.type)) for k in decl.keys]
    return pa.schema([*keys, pa.field(VERSION, pa.int64()), pa.field(VALUE, pa.int64())])


def empty_delta(decl: MapDecl) -> pa.Table:
    """A delta table without rows."""
    return delta_schema(decl).empty_table()


def sum_deltas(tables: Sequence[pa.Table]) -> pa.Table:
    """All deltas of a map as one table with one row per (keys, version), zeros dropped.

    A sum beyond 64 bits takes several rows that each fit and add up to it: whoever reads deltas adds them up anyway.
    """
    if len(tables) == 1 and DISTINCT in (tables[0].schema.metadata or {}):
        summed = tables[0].replace_schema_metadata(None)
    else:
        table = pa.concat_tables([t.replace_schema_metadata(None) for t in tables])
        summed = _grouped(table, [name for name in table.column_names if name != VALUE], [VALUE])
        if _high(VALUE) in summed.column_names:
            summed = _spread_out(summed)
    counts = pc.not_equal(summed[VALUE], 0)
    return (summed if pc.all(counts).as_py() else summed.filter(counts)).combine_chunks()


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
    totals = table.group_by(list(keys), use_threads=False).aggregate([(name, "sum") for name in summed])
    keys_first = totals.column_names[0] == keys[0]
    return totals.rename_columns([*keys, *summed] if keys_first else [*summed, *keys]).select([*keys, *summed])


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


def _spread_out(summed: pa.Table) -> pa.Table:
    """Summed deltas in which a sum that does not fit 64 bits takes several rows of its sign, of up to 2**62 units."""
    upper, lower = _halves(summed, VALUE)
    fit = fits(upper, lower)
    times, rest = upper >> 30, ((upper & (2**30 - 1)) << 32) | lower  # times * 2**62 + rest
    rows = np.where(fit, 1, np.where(times < 0, -times, times + (rest > 0)))
    last = np.where(times < 0, rest - 2**62, np.where(rest > 0, rest, 2**62))
    values = np.repeat(np.where(times < 0, -(2**62), 2**62), rows)
    values[np.cumsum(rows) - 1] = np.where(fit, (upper << 32) | lower, last)
    keys = summed.drop_columns([_high(VALUE), _low(VALUE)])
    keys = keys if fit.all() else keys.take(pa.array(np.repeat(np.arange(len(rows)), rows)))
    return keys.append_column(VALUE, pa.array(values))


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
