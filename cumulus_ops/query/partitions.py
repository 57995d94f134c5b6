"""Which rows belong to which partitions: values of some columns, found for whole columns at a time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import alike, logical_type
from m3.datatypes import Type

__all__ = ["Partitions", "typed_values"]


@dataclass(frozen=True)
class Partitions:
    """Distinct values of some columns, by column; partition i has the values at place i. NULL is a value like any other.

    >>> some = Partitions((pa.array([1, None]), pa.array(["a", "b"])))
    >>> some.place([pa.array([1, 1, None]), pa.array(["a", "b", "b"])]).tolist()
    [0, -1, 1]
    """

    columns: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def place(self, columns: Sequence[pa.Array | pa.ChunkedArray]) -> np.ndarray:
        """Which of the partitions each row is in, given the columns in the same order; -1 for none."""
        # Column by column, each row and each partition gets a number that says which values it has in the columns so far. It stays below
        # the number of partitions, however many columns there are; a row that has no partition's values has -1 from then on.
        mine = np.zeros(len(self), np.int64)
        theirs = np.zeros(len(columns[0]), np.int64)
        for values, column in zip(self.columns, columns, strict=True):
            distinct = values.unique()
            codes = _encode(values, distinct) + mine * len(distinct)
            found = _encode(column, distinct)
            there = np.where((found < 0) | (theirs < 0), -1, found + theirs * len(distinct))
            known, mine = np.unique(codes, return_inverse=True)
            theirs = _find_position(there, known)
        order = np.argsort(mine)
        places = np.concatenate([order, [-1]])
        found_at: np.ndarray = places[_find_position(theirs, mine[order])]
        return found_at


def _encode(column: pa.Array | pa.ChunkedArray, distinct: pa.Array) -> np.ndarray:
    """The place of each value among some; -1 for others."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column, distinct = alike([column, distinct])
    found = pc.index_in(column, value_set=distinct, skip_nulls=False)
    places: np.ndarray = pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return places


def _find_position(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The position of each value among some ascending ones; -1 for others."""
    if not len(known):
        return np.full(len(values), -1, np.int64)
    at = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[at] == values, at, -1)


def typed_values(texts: Sequence[str], types: Sequence[Type]) -> Partitions:
    """Values of a seal, as the catalog has them, in the types of their columns.

    >>> typed_values(['["7", null]'], [Type("int"), Type("string")]).columns[0].to_pylist()
    [7]
    """
    rows = [json.loads(text) for text in texts]
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(types))]
    return Partitions(tuple(c.cast(logical_type(t)) for c, t in zip(columns, types, strict=True)))
