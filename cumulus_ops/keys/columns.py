"""Columns as words: 64-bit numbers that are equal if and only if the values are, or, for texts, hashes of them.

Everything is done for a whole column at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["equal_rows", "mix", "plain", "row_tuples", "words"]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
NULL_WORD = np.uint64(0x6E756C6C6E756C6C)
#: Longer texts are hashed one by one.
TEXT_BYTES = 512


def mix(x: np.ndarray) -> np.ndarray:
    """Every bit of the result depends on every bit of ``x`` (uint64); different numbers stay different."""
    x = (x ^ (x >> np.uint64(30))) * MIX_1
    x = (x ^ (x >> np.uint64(27))) * MIX_2
    return np.asarray(x ^ (x >> np.uint64(31)))


def plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array, texts as ``string`` without a dictionary."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
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
                same &= _valid(a) == _valid(b)
        elif a.null_count or b.null_count:
            both = ~_valid(a) & ~_valid(b)
            same &= pc.fill_null(pc.equal(a, b), False).to_numpy(zero_copy_only=False) | both
        else:
            same &= pc.equal(a, b).to_numpy(zero_copy_only=False)
    return same


def _valid(array: pa.Array) -> np.ndarray:
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def row_tuples(table: pa.Table, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Each row as a tuple that equals another row's if and only if :func:`equal_rows` says so; for the few that need it."""
    columns: list[Sequence[object]] = []
    for name in names:
        array = plain(table[name])
        if pa.types.is_string(array.type):
            columns.append(array.to_pylist())
            continue
        valid = _valid(array).tolist()
        columns += [[v if ok else None for v, ok in zip(word.tolist(), valid, strict=True)] for word in words(array)]
    return list(zip(*columns, strict=True)) if columns else [()] * len(table)
