"""Linear hashes: what rows hold, as a sum that is the same however they are split, ordered, encoded and added up (docs/adr/0085).

Of a run, modulo the prime ``2**61 - 1``, over its rows and value columns::

    content = sum of K(key) * W(version) * G(member) * value        total = sum of K(key) * G(member) * value

K, W and G are fixed functions to numbers below the prime that look random; values are whole numbers of any size. So a sum of deltas has the sum of their
hashes, deltas that cancel out have none, and what differs anywhere has another one, but for a chance of one in 2**59. It tells accidents from the
truth, and no attackers.

K mixes values, each with its type and the position of its column, and never codes: 5 is 5 in any frame, -0.0 is 0.0, all NaN are one. **None of this may ever
change**: hashes that are stored would not be found again. ``tests/unit/maps/test_hashes.py`` has them as literal numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import (
    MOST,
    canonical,
    hash_texts,
    is_wide,
    narrow_column,
    to_numpy,
    whole_column,
    words,
)
from cumulus_ops.maps.deltas import PLACE, VERSION, map_of, value_names
from cumulus_ops.maps.runs import RunData, collapse_versions

__all__ = ["PRIME", "UNKNOWN", "Hashes", "Rows", "add_hashes", "hash_folded", "hash_run", "rows_of_table"]


PRIME = 2**61 - 1
MASK, HALF = np.uint64(PRIME), np.uint64(31)
LOW = np.uint64(2**31 - 1)
#: So many products are summed at a time.
CHUNK = 1 << 14
#: A column of more texts is looked at for texts that repeat, so many at first: then each is hashed once.
SAMPLE = 1024
TEXTS_AT_ONCE = 1 << 16
#: What a type is called here; numbers, whole or not, of 64 bits or more, are ``int``.
KINDS = {
    pa.string(): "string",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.bool_(): "bool",
}


class Hashes(NamedTuple):
    """The linear hashes of some rows; None: not known."""

    content: int | None
    total: int | None


UNKNOWN = Hashes(None, None)


@lru_cache(maxsize=1 << 16)
def _word(*what: object) -> np.uint64:
    """A fixed number of 64 bits for each name, odd."""
    text = "\x1f".join(map(str, what)).encode()
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") | 1)


@lru_cache(maxsize=1 << 16)
def _member(column: str) -> int:
    """G: of a value column. One of higher digits counts as the map's, that many powers of ten up."""
    _, _, place = column.partition(PLACE)
    return int(_word("member", map_of(column))) * pow(MOST + 1, int(place or 0), PRIME) % PRIME


def _mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's end, in place."""
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def _weigh_versions(versions: np.ndarray) -> np.ndarray:
    """W, of each row."""
    return _mix(versions.view(np.uint64) * _word("version", "factor") + _word("version")) & MASK


def _weigh_column(column: pa.Array, place: int | str) -> np.ndarray:
    """What a key column adds to the number of each row that is mixed: multiplied by a number of its own, so that rows of different keys have
    different numbers, as good as always."""
    kind = KINDS.get(column.type, "int")
    factor = _word(kind, place)
    if kind == "string":
        weighed = _hash_column_of_texts(column) * factor
    elif kind == "double":
        weighed = canonical(column).to_numpy(zero_copy_only=False).view(np.uint64) * factor
    elif is_wide(column.type):
        high, low = words(column)  # of a number that fits 64 bits the upper half says nothing new
        weighed = low.view(np.uint64) * factor + (high ^ (low >> 63)).view(np.uint64) * _word("high", place)
    else:
        weighed = to_numpy(column).view(np.uint64) * factor
    if column.null_count:
        weighed = np.where(column.is_valid().to_numpy(zero_copy_only=False), weighed, _word("null", place))
    return weighed


def _hash_column_of_texts(column: pa.Array) -> np.ndarray:
    if len(column) > SAMPLE and len(pc.unique(column.slice(0, SAMPLE))) * 2 <= SAMPLE:
        encoded = column.dictionary_encode()
        places = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        distinct = _hash_column_of_texts(encoded.dictionary)
        return distinct[places] if len(distinct) else np.zeros(len(column), np.uint64)
    parts = [hash_texts(column.slice(i, TEXTS_AT_ONCE)) for i in range(0, len(column), TEXTS_AT_ONCE)]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.uint64), *parts])


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The products modulo the prime, of numbers of 61 bits."""
    a1, a0, b1, b0 = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a1 * b0 + a0 * b1  # times 2**31: what goes beyond 61 bits counts from bit 0 on again
    total = (
        ((a1 * b1) << np.uint64(1)) + (middle >> np.uint64(30)) + ((middle & (LOW >> np.uint64(1))) << HALF) + a0 * b0
    )
    return (total & MASK) + (total >> np.uint64(61))


def _sum_products(weights: tuple[np.ndarray, np.ndarray], units: np.ndarray) -> int:
    """The sum of weight times unit (int64), exactly, where weights have 62 bits: their lower 31, and the others."""
    low, high = weights
    if not len(units):
        return 0
    extent = max(int(units.max()), -int(units.min()))
    if extent * len(units) < 2**32:
        return int(low.dot(units)) + (int(high.dot(units)) << 31)
    # 31 bits of a weight times these of a unit: so many rows' products do not leave 64 bits.
    width, total = 32 - min(len(units), CHUNK).bit_length(), 0
    for i in range(0, len(units), CHUNK):
        part, lower, upper = (x[i : i + CHUNK] for x in (units, low, high))
        for shift in range(0, extent.bit_length() + 1, width):
            is_last = shift + width > extent.bit_length()  # and signed
            limb = part >> shift if is_last else (part >> shift) & ((1 << width) - 1)
            total += (int(lower.dot(limb)) + (int(upper.dot(limb)) << 31)) << shift
    return total


class Rows:
    """Rows whose hashes are wanted, of all their columns or of some: a copy that keeps fewer key columns, and is summed over the others, has the same
    hash as the rows with these key columns alone.

    Args:
        rows: how many.
        keys: the key columns, by their positions; or by names.
        versions: the version of each row (int64).
        values: the value columns, by the names of their maps, int64 or wide.
    """

    def __init__(
        self, rows: int, keys: Mapping[int | str, pa.Array], versions: np.ndarray, values: Mapping[str, pa.Array]
    ) -> None:
        self.rows, self._keys, self._versions, self._values = rows, keys, versions, values
        self._weighed: dict[int | str, np.ndarray] = {}
        self._weights: dict[tuple[int | str, ...], np.ndarray] = {}
        self._found: dict[tuple[tuple[int | str, ...], str], tuple[int, int]] = {}

    def hashes(self, keys: Sequence[int] | None = None, values: Sequence[str] | None = None) -> Hashes:
        """Of some key columns and maps; None for all."""
        chosen = tuple(self._keys) if keys is None else tuple(keys)
        content = total = 0
        for name in self._values:
            if values is None or map_of(name) in values:
                with_versions, without = self._sums(chosen, name)
                content, total = content + _member(name) * with_versions, total + _member(name) * without
        return Hashes(content % PRIME, total % PRIME)

    def _sums(self, keys: tuple[int | str, ...], name: str) -> tuple[int, int]:
        """(with versions, without) of one value column."""
        if (keys, name) not in self._found:
            weights, column = self._weigh(keys), narrow_column(self._values[name])
            total = _sum_column(weights, column)
            one = self._one_version
            content = total * one if one is not None else _sum_column(_multiply(weights, self._version_weights), column)
            self._found[keys, name] = content % PRIME, total % PRIME
        return self._found[keys, name]

    def _weigh(self, keys: tuple[int | str, ...]) -> np.ndarray:
        """K, of each row."""
        if keys not in self._weights:
            mixed = np.full(self.rows, _word("key"))
            for key in keys:
                if key not in self._weighed:
                    self._weighed[key] = _weigh_column(self._keys[key], key)
                mixed += self._weighed[key]
            self._weights[keys] = _mix(mixed) & MASK
        return self._weights[keys]

    @cached_property
    def _one_version(self) -> int | None:
        """W of the version that all rows have; None if they have several."""
        first = self._versions[:1]
        if not self.rows:
            return 0
        return None if bool((self._versions != first).any()) else int(_weigh_versions(first)[0])

    @cached_property
    def _version_weights(self) -> np.ndarray:
        return _weigh_versions(self._versions)


def _sum_column(weights: np.ndarray, column: pa.Array) -> int:
    halves = (weights & LOW).view(np.int64), (weights >> HALF).view(np.int64)
    if not is_wide(column.type):
        return _sum_products(halves, to_numpy(column))
    high, low = words(column)
    return _sum_products(halves, low) + (_sum_products(halves, high + (low < 0)) << 64)


def rows_of_table(delta: pa.Table, positions: Sequence[int] | None = None) -> Rows:
    """The rows of a delta table; its keys are at these positions, 0, 1, ... if it has all."""
    names = value_names(delta)
    keys = [whole_column(delta[name]) for name in delta.column_names if name != VERSION and name not in names]
    values = {name[1:]: whole_column(delta[name]) for name in names}
    placed: dict[int | str, pa.Array] = dict(
        zip(range(len(keys)) if positions is None else positions, keys, strict=True)
    )
    return Rows(len(delta), placed, to_numpy(whole_column(delta[VERSION])), values)


def hash_run(run: RunData) -> Hashes:
    """The hashes of a run, from its decoded rows: what is damaged raises."""
    keys: dict[int | str, pa.Array] = {position: key.all() for position, key in run.keys.items()}
    values = {name: column.all() for name, column in run.values.items()}
    return Rows(run.rows, keys, run.versions.all_units(), values).hashes()


def add_hashes(found: Iterable[Hashes]) -> Hashes:
    """The hashes of rows put together; of no rows both are 0."""
    content: int | None = 0
    total: int | None = 0
    for more in found:
        content = None if content is None or more.content is None else (content + more.content) % PRIME
        total = None if total is None or more.total is None else (total + more.total) % PRIME
    return Hashes(content, total)


def hash_folded(known: Hashes, versions: np.ndarray, committed: int, oldest_retained: int) -> Hashes:
    """The hashes of a run whose versions are raised (see :func:`~cumulus_ops.maps.runs.collapse_versions`), as far as they follow from those that it has."""
    folded = collapse_versions(versions, committed, oldest_retained)
    if bool((folded == folded[:1]).all()):
        one = int(_weigh_versions(folded[:1])[0]) if len(folded) else 0
        return Hashes(None if known.total is None else known.total * one % PRIME, known.total)
    return known if np.array_equal(folded, versions) else Hashes(None, known.total)
