"""Deltas of a map as Arrow tables, and the exact sums over them.

A delta table has the map's keys (physical types, in the map's order), ``_version`` int64 and ``_value`` int64 (units).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore.columns import physical_type, to_numpy
from m3.program import MapDecl

__all__ = [
    "VALUE",
    "VERSION",
    "delta_schema",
    "distinct_rows",
    "empty_delta",
    "fits",
    "multiply",
    "sum_deltas",
    "sum_values",
    "versions",
]

VERSION, VALUE = "_version", "_value"
SAFE = 2**62
DISTINCT = b"distinct"
_HIGH, _LOW = "_high", "_low"


def delta_schema(decl: MapDecl) -> pa.Schema:
    """The Arrow schema of a map's deltas."""
    keys = [pa.field(k.name, physical_type(k.type)) for k in decl.keys]
    return pa.schema([*keys, pa.field(VERSION, pa.int64()), pa.field(VALUE, pa.int64())])


def empty_delta(decl: MapDecl) -> pa.Table:
    """A delta table without rows."""
    return delta_schema(decl).empty_table()


def sum_deltas(tables: Sequence[pa.Table], place: str) -> pa.Table:
    """All deltas as one table with one row per (keys, version), zeros dropped.

    Args:
        tables: delta tables of one map.
        place: the map's name, for errors.

    Raises:
        InputProblem: a sum leaves the 64-bit range.
    """
    if len(tables) == 1 and DISTINCT in (tables[0].schema.metadata or {}):
        summed = tables[0].replace_schema_metadata(None)
    else:
        table = pa.concat_tables([t.replace_schema_metadata(None) for t in tables])
        keys = [name for name in table.column_names if name != VALUE]
        summed = sum_values(table, keys, [VALUE], place)
    counts = pc.not_equal(summed[VALUE], 0)
    return (summed if pc.all(counts).as_py() else summed.filter(counts)).combine_chunks()


def distinct_rows(table: pa.Table) -> pa.Table:
    """The same delta table, marked as having no two rows with the same keys and version."""
    return table.replace_schema_metadata({DISTINCT: b"1"})


def sum_values(table: pa.Table, keys: Sequence[str], values: Sequence[str], place: str) -> pa.Table:
    """Group ``table`` by ``keys`` and sum the int64 columns ``values`` exactly; the columns keep their names."""
    totals = [(v, "sum") for v in values]
    if not keys:
        sums = {v: [int(pc.sum(table[v]).as_py() or 0)] for v in values}
        summed = pa.table(sums, schema=pa.schema([pa.field(v, pa.int64()) for v in values]))
        summed = summed.slice(0, 1 if len(table) else 0)
    else:
        summed = table.group_by(list(keys), use_threads=False).aggregate(totals)
        summed = summed.rename_columns([*keys, *values] if summed.column_names[0] == keys[0] else [*values, *keys])
        summed = summed.select([*keys, *values])
    for value in values:
        if _may_overflow(table[value]):
            _check_sums(table.select([*keys, value]), list(keys), value, place)
    return summed


def _may_overflow(values: pa.ChunkedArray) -> bool:
    """Arrow's sums wrap around; no partial sum can when the largest magnitude times their number is in range."""
    if len(values) == 0:
        return False
    extremes = pc.min_max(values).as_py()
    return max(abs(extremes["min"]), abs(extremes["max"])) * len(values) >= SAFE


def _check_sums(table: pa.Table, keys: list[str], value: str, place: str) -> None:
    """Raise if a group's exact sum is beyond 64 bits: the sums of the upper and the lower halves never are."""
    units = to_numpy(table[value].combine_chunks())
    halves = {_HIGH: pa.array(units >> 32), _LOW: pa.array(units & 0xFFFFFFFF)}
    groups = pa.table({**{k: table[k] for k in keys}, **halves}).group_by(keys, use_threads=False)
    sums = groups.aggregate([(_HIGH, "sum"), (_LOW, "sum")])
    if not fits(to_numpy(sums[f"{_HIGH}_sum"].combine_chunks()), to_numpy(sums[f"{_LOW}_sum"].combine_chunks())).all():
        raise InputProblem(
            f"a sum of {len(table)} deltas leaves the 64-bit range",
            kind="overflow",
            place=place,
            hint="use a type with fewer decimals for the summed expression",
        )


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
