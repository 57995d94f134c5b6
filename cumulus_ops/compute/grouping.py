"""Grouping events that agree in everything a statement looks at, so that they are joined once; and exact sums by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.maps.columns import join_limbs, limbs, narrow_units, sort_codes
from cumulus_ops.maps.deltas import SAFE, column_codes

__all__ = ["FEWEST", "Groups", "add_up", "group_rows", "number_rows", "sum_groups"]


#: Fewer rows are joined one by one sooner than they are grouped.
FEWEST = 2048
#: Versions of their own, as single events have, leave nothing to group: with fewer events to a version than this, on average, grouping is left.
SHARED = 4
#: Rows are numbered by a table of all codes that there may be as long as these are no more than so many for each row: 6 million of 64 million codes in 0.5 s, where
#: sorting takes 0.8. The table has five bytes for each code.
FILLED = 12


@dataclass(frozen=True)
class Groups:
    """``number[row]`` is the group of a row, ``first[group]`` one row of it."""

    number: np.ndarray
    first: np.ndarray


def group_rows(columns: Sequence[pa.Array], versions: np.ndarray) -> Groups | None:
    """Rows with equal columns (NULL equals NULL) and equal versions, as groups.

    Args:
        columns: Arrow arrays of one length.
        versions: int64, of the same length.

    Returns:
        None where there are too few rows to gain anything.
    """
    rows = len(versions)
    if rows < FEWEST:
        return None
    codes, count = np.zeros(rows, np.int64), 1
    if versions[0] != versions[-1] or versions.min() != versions.max():
        codes, count = number_rows(codes, count, [pa.array(versions)])
        if count * SHARED > rows:
            return None
    # The keys of new rows often ascend: such a column is numbered without sorting, and is often different in each row, which ends it.
    ordered = sorted(columns, key=_ascends, reverse=True)
    if count == 1 and ordered and _ascends(ordered[0]):
        values = ordered.pop(0).to_numpy()
        codes = np.cumsum(np.concatenate([[0], values[1:] != values[:-1]]))
        count = int(codes[-1]) + 1
    if count < rows and ordered:
        codes, count = number_rows(codes, count, ordered)
    first = np.full(count, -1)
    first[codes[::-1]] = np.arange(rows - 1, -1, -1)  # backwards, so that the first row of each group is written last
    return Groups(codes, first)


def number_rows(codes: np.ndarray, count: int, columns: Sequence[pa.Array]) -> tuple[np.ndarray, int]:
    """The numbering of the rows (code, value, value, ...), without gaps: they are made one number, and that is numbered."""
    packed, bits = codes.astype(np.uint64), (count - 1).bit_length()
    for column in columns:
        own, width = column_codes(column)
        if bits + width > 64:
            packed, distinct = _number_densely(packed, bits)
            bits = (distinct - 1).bit_length()
        if bits + width > 64:
            own, distinct = _number_densely(own, width)
            width = (distinct - 1).bit_length()
        packed = packed << width | own if bits and width else packed if bits else own
        bits += width
    numbered, distinct = _number_densely(packed, bits)
    return numbered.view(np.int64), distinct


def _number_densely(codes: np.ndarray, bits: int) -> tuple[np.ndarray, int]:
    """The place of each code among the distinct ones, which ascend, as uint64, and how many of these there are.

    Args:
        codes: at least one, uint64.
        bits: how many the greatest has at the most.
    """
    if 1 << bits <= len(codes) * FILLED:
        seen = np.zeros(1 << bits, bool)
        seen[codes] = True
        places = seen.cumsum(dtype=np.uint32)
        return places[codes].astype(np.uint64) - np.uint64(1), int(places[-1])
    # numpy sorts millions of numbers in less time than a hash table of them is filled, for that is more than a processor's caches hold.
    order = sort_codes(codes)
    ascending = codes[order]
    places = np.zeros(len(codes), np.uint64)
    np.cumsum(ascending[1:] != ascending[:-1], dtype=np.uint64, out=places[1:])
    numbers = np.empty_like(places)
    numbers[order] = places
    return numbers, int(places[-1]) + 1


def _ascends(column: pa.Array) -> bool:
    """Whether a column is of whole numbers that never decrease, as keys often come."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return False
    values = column.to_numpy()
    return bool((values[1:] >= values[:-1]).all())


def sum_groups(groups: Groups, units: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """The exact sum of ``units`` in each group: int64 if they fit.

    Args:
        groups: the groups.
        units: one per row.
        rows: only these rows count, None for all.
    """
    count = len(groups.first)
    if rows is None and count == len(units):  # each row is its own group
        return narrow_units(units[groups.first])
    number = groups.number if rows is None else groups.number[rows]
    units = units if rows is None else units[rows]
    if units.dtype == object:
        return narrow_units(add_up(count, number, units))
    if len(units) and max(int(units.max()), -int(units.min())) * len(units) < SAFE:
        return add_up(count, number, units)
    return join_limbs([add_up(count, number, limb) for limb in limbs(pa.array(units))])


def add_up(count: int, number: np.ndarray, units: np.ndarray) -> np.ndarray:
    """The sum of ``units`` for each of ``count`` numbers; int64 wraps around."""
    if len(units) == count and count and (number == np.arange(count)).all():  # each row is its own group
        return units
    total = np.zeros(count, units.dtype)
    np.add.at(total, number, units)
    return total
