"""Columns as words: 64-bit numbers that are equal if and only if the values are, or, for texts, hashes of them.

Everything is done for a whole column at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import MULTIPLIER, mix, whole_column
from m3.program import Relation

__all__ = [
    "KeyCodes",
    "Ordered",
    "equal_rows",
    "in_key_order",
    "plain",
    "row_tuples",
    "words",
]


NULL_WORD = np.uint64(0x6E756C6C6E756C6C)
#: Longer texts are hashed one by one.
TEXT_BYTES = 512


def plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array, texts as ``string`` without a dictionary."""
    if isinstance(column, pa.ChunkedArray):
        column = whole_column(column)
    if isinstance(column, pa.ChunkedArray):  # too much text for one array: no piece is as large
        raise pa.ArrowInvalid("more than 2 GiB of text in one piece")
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def words(column: pa.ChunkedArray | pa.Array) -> list[np.ndarray]:
    """The words of each row, as uint64 arrays: two for decimals of 128 bits, else one. Of a text it is a hash, of anything else it tells
    values apart; a NULL is a word like others."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if not chunks:
        return [np.zeros(0, np.uint64)]
    parts = [_words_of(chunk) for chunk in chunks]
    return [np.concatenate(same) if len(same) > 1 else same[0] for same in zip(*parts, strict=True)]


def _words_of(array: pa.Array) -> list[np.ndarray]:
    if pa.types.is_dictionary(array.type):
        hashes = np.append(_text_words(array.dictionary), NULL_WORD)
        found = hashes[pc.fill_null(array.indices, len(array.dictionary)).to_numpy(zero_copy_only=False)]
        return [found]
    if pa.types.is_decimal128(array.type):
        pairs = np.frombuffer(array.buffers()[1], np.uint64)[2 * array.offset : 2 * (array.offset + len(array))]
        found = [pairs[0::2], pairs[1::2]]
    elif pa.types.is_string(array.type):
        found = [_text_words(array)]
    else:
        found = [_word(array)]
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        found = [np.where(valid, word, NULL_WORD) for word in found]
    return found


def _word(array: pa.Array) -> np.ndarray:
    if pa.types.is_floating(array.type):
        values = array.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0  # 0.0 for -0.0
        values[np.isnan(values)] = np.nan
        return np.asarray(values).view(np.uint64)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if pa.types.is_decimal64(array.type) or pa.types.is_timestamp(array.type):
        array = pa.Array.from_buffers(pa.int64(), len(array), array.buffers(), array.null_count, array.offset)
    elif pa.types.is_date32(array.type):
        array = pa.Array.from_buffers(pa.int32(), len(array), array.buffers(), array.null_count, array.offset)
    if array.null_count:
        array = array.fill_null(0)
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False).view(np.uint64)


def _text_words(array: pa.Array) -> np.ndarray:
    """A hash of each text, eight bytes at a time: as many rounds as the longest text has words, each over the texts that are as long."""
    array = array.cast(pa.string()) if not pa.types.is_string(array.type) else array
    if len(array) == 0:
        return np.zeros(0, np.uint64)
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(array) + 1, 4 * array.offset).astype(np.int64)
    begin, length = offsets[:-1], offsets[1:] - offsets[:-1]
    text = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    long = np.flatnonzero(length > TEXT_BYTES)
    result = mix(length.astype(np.uint64) + MULTIPLIER)
    padded = np.concatenate([text[: offsets[-1]], np.zeros(8, np.uint8)])
    eights = np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))  # the eight bytes that begin anywhere
    rounds = -(-int(length.max(initial=0, where=length <= TEXT_BYTES)) // 8)
    active = np.arange(len(array)) if len(long) == 0 else np.flatnonzero(length <= TEXT_BYTES)
    for i in range(rounds):
        active = active[length[active] > 8 * i]
        left = np.minimum(length[active] - 8 * i, 8).astype(np.uint64)
        mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> ((np.uint64(8) - left) * np.uint64(8))
        word = eights[begin[active] + 8 * i] & mask
        result[active] = mix(result[active] * MULTIPLIER + word)
    for i in long.tolist():
        digest = hashlib.blake2b(text[begin[i] : begin[i] + length[i]].tobytes(), digest_size=8).digest()
        result[i] = np.frombuffer(digest, np.uint64)[0]
    return result


def equal_rows(left: pa.Table, right: pa.Table, names: Sequence[str]) -> np.ndarray:
    """For each row whether the columns of both tables have equal values; NULL equals NULL, and 0.0 equals -0.0."""
    same = np.ones(len(left), dtype=bool)
    for name in names:
        a, b = plain(left[name]), plain(right[name])
        if not pa.types.is_string(a.type):
            for x, y in zip(words(a), words(b), strict=True):
                same &= x == y
            if a.null_count or b.null_count:
                same &= _is_valid(a) == _is_valid(b)
        elif a.null_count or b.null_count:
            both = ~_is_valid(a) & ~_is_valid(b)
            same &= pc.fill_null(pc.equal(a, b), False).to_numpy(zero_copy_only=False) | both
        else:
            same &= pc.equal(a, b).to_numpy(zero_copy_only=False)
    return same


def _is_valid(array: pa.Array) -> np.ndarray:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def row_tuples(table: pa.Table, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Each row as a tuple that equals another row's if and only if :func:`equal_rows` says so; for the few that need it."""
    columns: list[Sequence[object]] = []
    for name in names:
        array = plain(table[name])
        if pa.types.is_string(array.type):
            columns.append(array.to_pylist())
            continue
        valid = _is_valid(array).tolist()
        columns += [[v if ok else None for v, ok in zip(word.tolist(), valid, strict=True)] for word in words(array)]
    return list(zip(*columns, strict=True)) if columns else [()] * len(table)


# What a key is looked up by: one number of 64 bits.
#
# Equal keys have equal codes. Whether equal codes mean equal keys, the code itself says: a single whole number, date or timestamp is its own
# code, and several small whole numbers are packed side by side, in their order, so that keys that are close are close in an index. Everything
# else is hashed, and whoever finds an equal code compares the real keys.


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
        return _pack(parts, hashed)

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


def _pack(parts: Sequence[np.ndarray], seed: np.ndarray) -> np.ndarray:
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
    return _separate_collisions(key, Ordered(places, codes, first), rows, codes[differ])


def _separate_collisions(key: KeyCodes, order: Ordered, rows: pa.Table, collided: np.ndarray) -> Ordered:
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
