"""A 64-bit hash of key columns, vectorised, the same on every machine and in every process.

Partitions are ranges of this hash, and what is not a number has some of its bits in a run's search code. Equal hashes do not
imply equal keys: every lookup compares the real keys afterwards, so a collision costs time, never correctness.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from cumulus_ops.mapstore.columns import canonical, to_numpy
from cumulus_ops.mapstore.wide import is_wide, words

__all__ = ["hash_columns"]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
BASE = np.uint64(0x100000001B3)  # odd, so it has an inverse modulo 2**64
BASE_INVERSE = np.uint64(pow(0x100000001B3, -1, 2**64))
NULL_HASH = np.uint64(0x6E756C6C)


def hash_columns(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    """Hash each row of ``columns`` (uint64 array of length ``rows``); no columns give the same hash for every row."""
    result = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        result = _mix(result * MULTIPLIER + _hash_one(column) + MULTIPLIER)
    return result


def _mix(x: np.ndarray) -> np.ndarray:
    x = (x ^ (x >> np.uint64(30))) * MIX_1
    x = (x ^ (x >> np.uint64(27))) * MIX_2
    return x ^ (x >> np.uint64(31))


def _hash_one(column: pa.Array) -> np.ndarray:
    if pa.types.is_string(column.type):
        hashed = _hash_strings(column)
    elif pa.types.is_floating(column.type):
        hashed = canonical(column).to_numpy(zero_copy_only=False).view(np.uint64)
    elif is_wide(column.type):
        hashed = _hash_wide(column)
    else:
        hashed = to_numpy(column).view(np.uint64)
    if column.null_count:
        hashed = np.where(column.is_valid().to_numpy(zero_copy_only=False), hashed, NULL_HASH)
    return hashed


def _hash_wide(column: pa.Array) -> np.ndarray:
    """A number that fits 64 bits has the hash that it has in a column of int64."""
    high, low = words(column)
    return low.view(np.uint64) ^ _mix((high ^ (low >> 63)).view(np.uint64))


def _hash_strings(column: pa.Array) -> np.ndarray:
    """Polynomial hash of each string's bytes, by one running sum over the whole buffer.

    With S the running sum of byte[i] * BASE**i, a string in [a, b) hashes to (S[b] - S[a]) * BASE**-a: the position in
    the buffer cancels out. The length is mixed in, so that trailing zero bytes count.
    """
    _, offset_buffer, data = column.buffers()
    if len(column) == 0:
        return np.zeros(0, dtype=np.uint64)
    offsets = np.frombuffer(offset_buffer, dtype=np.int32, offset=4 * column.offset, count=len(column) + 1)
    offsets = offsets.astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)[first:last]
    powers = _powers(BASE, len(text))
    running = np.zeros(len(text) + 1, dtype=np.uint64)
    np.cumsum(text.astype(np.uint64) * powers[: len(text)], out=running[1:])
    begin, end = offsets[:-1] - first, offsets[1:] - first
    shifts = _powers(BASE_INVERSE, len(text))
    return _mix((running[end] - running[begin]) * shifts[begin] + (end - begin).astype(np.uint64))


def _powers(base: np.uint64, count: int) -> np.ndarray:
    """base**0 .. base**count modulo 2**64."""
    factors = np.full(count + 1, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
