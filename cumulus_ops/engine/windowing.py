"""Window functions over partitions at several points in time: one partition after the other, by :mod:`m3.windows`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import VALUE, Slices, canonical, logical_type, sum_exactly, to_column, to_logical, to_physical
from m3.datatypes import INT, Type
from m3.errors import ValueProblem
from m3.program import MapDecl, Windowing
from m3.windows import windowed

__all__ = ["window_rows"]

POINT = "_point"
Partition = dict[tuple[Any, ...], int]


def window_rows(
    windowing: Windowing, source: MapDecl, keys: Sequence[pa.Array], entries: Slices
) -> tuple[np.ndarray, tuple[pa.Array, ...], np.ndarray]:
    """The rows of many partitions with the functions' results.

    Args:
        windowing: the derivation.
        source: declaration of the map with the rows.
        keys: the partition's keys at each point.
        entries: for each point the entries of its partition, unsummed; ``free`` are the row's other columns.

    Returns:
        per row of the result: its point, its columns beyond the partition's keys, its multiplicity.
    """
    points: list[int] = []
    rows: list[tuple[Any, ...]] = []
    counts: list[int] = []
    names = [k.name for k in source.keys]
    for point, partition in _partitions(windowing, source, keys, entries).items():
        for row, count in _windowed(windowing, names, partition).items():
            points.append(point)
            rows.append(row[windowing.partition :])
            counts.append(count)
    types = [k.type for k in source.keys[windowing.partition :]] + [f.type for f in windowing.functions]
    types += [INT] * windowing.flagged
    columns = tuple(_column([row[i] for row in rows], type_) for i, type_ in enumerate(types))
    return np.array(points, dtype=np.int64), columns, np.array(counts, dtype=np.int64)


def _windowed(windowing: Windowing, names: Sequence[str], partition: Partition) -> Partition:
    try:
        return windowed(windowing.functions, names, partition, flagged=windowing.flagged)
    except ValueProblem as problem:
        raise InputProblem(problem.message, kind=problem.kind, hint=problem.hint, place=windowing.map) from problem


def _partitions(
    windowing: Windowing, source: MapDecl, keys: Sequence[pa.Array], entries: Slices
) -> dict[int, Partition]:
    """The rows of each point's partition, as people see them, with their multiplicities."""
    names = [f"c{i}" for i in range(len(entries.free))]
    columns = [pa.array(entries.request), *entries.free, to_column(entries.values[windowing.source])]
    table = pa.table(dict(zip([POINT, *names, VALUE], columns, strict=True)))
    table = sum_exactly(table, [POINT, *names], [VALUE])
    points = table[POINT].combine_chunks()
    held = [k.take(points) for k in keys] + [table[n].combine_chunks() for n in names]
    lists = [to_logical(c, wide(k.type)).to_pylist() for c, k in zip(held, source.keys, strict=True)]
    found: dict[int, Partition] = {}
    for point, count, *row in zip(points.to_pylist(), table[VALUE].to_pylist(), *lists, strict=True):
        if count > 0:
            found.setdefault(point, {})[tuple(row)] = int(count)
    return found


def _column(values: Sequence[Any], type_: Type) -> pa.Array:
    return canonical(to_physical(pa.array(values, logical_type(wide(type_))), type_))


def wide(type_: Type) -> Type:
    """A decimal with all digits that there are."""
    return Type("decimal", 38, type_.scale, type_.nullable) if type_.kind == "decimal" else type_
