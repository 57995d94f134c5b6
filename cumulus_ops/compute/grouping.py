"""Grouping events, so that those that agree in everything a statement looks at are joined once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.maps.columns import join_limbs, limbs, narrowed
from cumulus_ops.maps.deltas import column_codes

__all__ = ["Groups", "group_rows", "sum_groups"]


#: Fewer rows are joined one by one sooner than they are grouped.
FEWEST = 2048
#: Versions of their own, as single events have, leave nothing to group.
SHARED = 4
SAFE = 2**62


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
        codes, count = _together(codes, count, [pa.array(versions)])
        if count * SHARED > rows:
            return None
    ordered = sorted(columns, key=_ascends, reverse=True)
    if count == 1 and ordered and _ascends(ordered[0]):  # numbered at once, and often different in each row
        codes, count = _by_changes(ordered.pop(0))
    if count < rows and ordered:
        codes, count = _together(codes, count, ordered)
    first = np.full(count, -1)
    first[codes[::-1]] = np.arange(rows - 1, -1, -1)
    return Groups(codes, first)


def _by_changes(column: pa.Array) -> tuple[np.ndarray, int]:
    """The numbering of an ascending column."""
    values = column.to_numpy()
    own = np.cumsum(np.concatenate([[0], values[1:] != values[:-1]]))
    return own, int(own[-1]) + 1


def _together(codes: np.ndarray, count: int, columns: Sequence[pa.Array]) -> tuple[np.ndarray, int]:
    """The numbering of the rows (code, value, value, ...), without gaps: they are made one number, and that is numbered."""
    packed, bits = codes.astype(np.uint64), (count - 1).bit_length()
    for column in columns:
        own, width = column_codes(column)
        if bits + width > 64:
            packed, bits = _dense(packed)
        if bits + width > 64:
            own, width = _dense(own)
        packed = packed << np.uint64(width) | own if bits and width else packed if bits else own
        bits += width
    numbered, _ = _dense(packed)
    return numbered.astype(np.int64), int(numbered.max()) + 1


def _dense(codes: np.ndarray) -> tuple[np.ndarray, int]:
    """Equal numbers for equal codes, without gaps, and how many bits they have."""
    encoded = pa.array(codes).dictionary_encode()
    numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.uint64)
    return numbers, (len(encoded.dictionary) - 1).bit_length()


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
    number = groups.number if rows is None else groups.number[rows]
    units = units if rows is None else units[rows]
    count = len(groups.first)
    if units.dtype == object:
        return narrowed(_added(count, number, units))
    if len(units) and max(int(units.max()), -int(units.min())) * len(units) < SAFE:
        return _added(count, number, units)
    return join_limbs([_added(count, number, limb) for limb in limbs(pa.array(units))])


def _added(count: int, number: np.ndarray, units: np.ndarray) -> np.ndarray:
    if len(units) == count and count and (number == np.arange(count)).all():
        return units
    total = np.zeros(count, units.dtype)
    np.add.at(total, number, units)
    return total
