"""What a key is looked up by: one number of 64 bits.

Equal keys have equal codes. Whether equal codes mean equal keys, the code itself says: a single whole number, date or timestamp is its own
code, and several small whole numbers are packed side by side, in their order, so that keys that are close are close in an index. Everything
else is hashed, and whoever finds an equal code compares the real keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.keys.columns import MULTIPLIER, equal_rows, mix, row_tuples, words
from m3.program import Relation

__all__ = ["KeyCodes", "Ordered", "in_key_order"]

WHOLE = ("int", "date", "timestamp")
FIRST_BITS, OTHER_BITS = 40, 22
PACKED_COLUMNS = 4


@dataclass(frozen=True)
class KeyCodes:
    """How the keys of a relation are coded. ``shape``: ``whole``, ``packed`` or ``hashed``. Without a key, the whole row is one, within its
    coordinator: who has not inserted a row cannot delete it.

    >>> from m3.datatypes import INT
    >>> from m3.program import Column
    >>> codes = KeyCodes.of(Relation("r", (Column("a", INT), Column("b", INT)), ("a", "b")))
    >>> codes.encode(pa.table({"a": [1, 1, -1], "b": [0, 5, 0]}), 0)[:2] - (1 << 22)
    array([0, 5])
    """

    columns: tuple[str, ...]
    shape: str
    by_coordinator: bool

    @staticmethod
    def of(relation: Relation) -> KeyCodes:
        """For a relation's declared key."""
        if not relation.key:
            return KeyCodes(tuple(c.name for c in relation.columns), "hashed", True)
        kinds = {c.name: c.type.kind for c in relation.columns}
        whole = all(kinds[name] in WHOLE for name in relation.key)
        if not whole or len(relation.key) > PACKED_COLUMNS:
            return KeyCodes(relation.key, "hashed", False)
        return KeyCodes(relation.key, "whole" if len(relation.key) == 1 else "packed", False)

    def encode(self, rows: pa.Table, coordinator: int) -> np.ndarray:
        """The code of each row's key, int64."""
        parts = [word for name in self.columns for word in words(rows[name])]
        if self.shape == "whole":
            return parts[0].view(np.int64)
        hashed = np.full(len(rows), mix(np.array([coordinator if self.by_coordinator else 0], np.uint64))[0])
        if self.shape == "hashed":
            return _hash(hashed, parts).view(np.int64)
        return _packed(parts, hashed)

    def exact(self, codes: np.ndarray) -> np.ndarray:
        """For which codes equality means that the keys are equal."""
        if self.shape == "packed":
            return codes >= 0
        return np.full(len(codes), self.shape == "whole")

    def equal(self, left: pa.Table, right: pa.Table) -> np.ndarray:
        """For each row whether both tables have the same key."""
        return equal_rows(left, right, self.columns)


def _hash(seed: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Each round is one-to-one in what came before it. So equal rows have different codes if their seeds differ, those of two
    coordinators: whoever compares real keys after an equal code need not ask for the coordinator."""
    result = seed
    for part in parts:
        result = mix(result * MULTIPLIER + part + MULTIPLIER)
    return result


def _packed(parts: Sequence[np.ndarray], seed: np.ndarray) -> np.ndarray:
    """Side by side if the first is below 2**40 and the others fit 22 bits together: then the code is not negative."""
    bits = OTHER_BITS // (len(parts) - 1)
    code = parts[0].view(np.int64)
    fits = parts[0] < np.uint64(1 << FIRST_BITS)
    for part in parts[1:]:
        code = (code << bits) | part.view(np.int64)
        fits &= part < np.uint64(1 << bits)
    if fits.all():
        return code
    hashed = _hash(seed, parts) | np.uint64(1 << 63)
    return np.where(fits, code, hashed.view(np.int64))


@dataclass(frozen=True)
class Ordered:
    """Rows in the order of their codes, those of one key beside each other in the order in which they came.

    ``places``: of each, where it came from; None if they were in this order. ``codes``: ascending. ``first``: where another key begins.
    """

    places: np.ndarray | None
    codes: np.ndarray
    first: np.ndarray

    def at(self, indices: np.ndarray) -> np.ndarray:
        """Where rows of the order came from."""
        return indices if self.places is None else self.places[indices]

    def all_places(self) -> np.ndarray:
        """Where each row came from."""
        return np.arange(len(self.codes)) if self.places is None else self.places


def in_key_order(key: KeyCodes, codes: np.ndarray, rows: pa.Table) -> Ordered:
    """Bring rows into the order of their keys.

    Args:
        key: what the codes are of.
        codes: of each row.
        rows: with the key's columns; looked at only where equal codes may be of different keys.
    """
    places = None
    if len(codes) > 1 and (codes[1:] < codes[:-1]).any():
        places = np.argsort(codes, kind="stable")
        codes = codes[places]
    first = np.ones(len(codes), dtype=bool)
    first[1:] = codes[1:] != codes[:-1]
    doubtful = np.flatnonzero(~first & ~key.exact(codes))
    if len(doubtful) == 0:
        return Ordered(places, codes, first)
    here, before = (pa.array(Ordered(places, codes, first).at(i)) for i in (doubtful, doubtful - 1))
    names = list(key.columns)
    differ = doubtful[~key.equal(rows.select(names).take(here), rows.select(names).take(before))]
    if len(differ) == 0:
        return Ordered(places, codes, first)
    return _without_collisions(key, Ordered(places, codes, first), rows, codes[differ])


def _without_collisions(key: KeyCodes, order: Ordered, rows: pa.Table, collided: np.ndarray) -> Ordered:
    """Keys of one code are told apart by numbers, one by one: that they have one is rare."""
    where = np.flatnonzero(np.isin(order.codes, collided))
    tuples = row_tuples(rows.select(list(key.columns)).take(pa.array(order.at(where))), key.columns)
    numbers: dict[tuple[object, ...], int] = {}
    number = np.zeros(len(order.codes), np.int64)
    number[where] = [numbers.setdefault(t, len(numbers)) for t in tuples]
    again = np.lexsort((number, order.codes))  # stable
    codes, number = order.codes[again], number[again]
    first = np.ones(len(codes), dtype=bool)
    first[1:] = (codes[1:] != codes[:-1]) | (number[1:] != number[:-1])
    return Ordered(order.at(again), codes, first)
