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
from cumulus_ops.maps.deltas import PLACE, PLUS, VERSION, map_of
from cumulus_ops.maps.runs import RunData, collapse_versions
from cumulus_ops.project.versions import EPOCH_SHIFT, epoch_end

__all__ = [
    "PRIME",
    "UNKNOWN",
    "Hashes",
    "Rows",
    "add_hashes",
    "hash_folded",
    "hash_run",
    "hash_together",
    "rows_of_table",
]


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
    pa.string().id: "string",
    pa.float64().id: "double",
    pa.date32().id: "date",
    pa.timestamp("us").id: "timestamp",
    pa.bool_().id: "bool",
}


INT64, NO_VERSIONS = pa.int64().id, np.zeros(0, np.int64)


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


def _numbers(column: pa.Array) -> np.ndarray:
    """What :func:`to_numpy` returns, at once for what most columns are."""
    if column.type.id == INT64 and not column.null_count:
        return (
            np.frombuffer(column.buffers()[1], np.int64, len(column), 8 * column.offset) if len(column) else NO_VERSIONS
        )
    return to_numpy(column)


@lru_cache(maxsize=1024)
def _weigh_version(version: int) -> int:
    return int(_weigh_versions(np.array([version]))[0])


def _weigh_column(column: pa.Array, place: int | str, texts: np.ndarray | None = None) -> np.ndarray:
    """What a key column adds to the number of each row that is mixed: multiplied by a number of its own, so that rows of different keys have
    different numbers, as good as always. ``texts``: the hashes of its texts, if somebody has them."""
    kind = KINDS.get(column.type.id, "int")
    factor = _word(kind, place)
    if kind == "string":
        weighed = (_hash_column_of_texts(column) if texts is None else texts) * factor
    elif kind == "double":
        weighed = canonical(column).to_numpy(zero_copy_only=False).view(np.uint64) * factor
    elif is_wide(column.type):
        high, low = words(column)  # of a number that fits 64 bits the upper half says nothing new
        weighed = low.view(np.uint64) * factor + (high ^ (low >> 63)).view(np.uint64) * _word("high", place)
    else:
        weighed = _numbers(column).view(np.uint64) * factor
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
        self.rows, self._keys, self.versions, self._values = rows, keys, versions, values
        self._texts: dict[int | str, np.ndarray] = {}
        self._weighed: dict[int | str, np.ndarray] = {}
        self._weights: dict[tuple[int | str, ...], np.ndarray] = {}
        self._found: dict[tuple[tuple[int | str, ...], str], tuple[int, int]] = {}

    def total(self, keys: Sequence[int | str]) -> int:
        """The total of all values alone, of some key columns."""
        weights = self._weigh(tuple(keys))
        return sum(_member(name) * _sum_column(weights, narrow_column(c)) for name, c in self._values.items()) % PRIME

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
            self._weights[keys] = _mix(self.unmixed(keys)) & MASK
        return self._weights[keys]

    def unmixed(self, keys: tuple[int | str, ...]) -> np.ndarray:
        """A number for each row that tells keys apart, and does not look random."""
        mixed = np.full(self.rows, _word("key"))
        for key in keys:
            if key not in self._weighed:
                self._weighed[key] = _weigh_column(self._keys[key], key, self._texts.get(key))
            mixed += self._weighed[key]
        return mixed

    def take_texts(self, hashed: Mapping[int | str, np.ndarray]) -> None:
        """Use the hashes that somebody has computed of the texts of some key columns."""
        self._texts.update(hashed)

    @property
    def texts(self) -> dict[int | str, pa.Array]:
        """The key columns of texts."""
        return {key: column for key, column in self._keys.items() if pa.types.is_string(column.type)}

    @property
    def key_places(self) -> tuple[int | str, ...]:
        """The positions, or names, of all key columns."""
        return tuple(self._keys)

    def plain_units(self) -> dict[str, np.ndarray] | None:
        """The value columns; None if one is wide."""
        if any(column.type.id != INT64 for column in self._values.values()):
            return None
        return {name: _numbers(column) for name, column in self._values.items()}

    @cached_property
    def _one_version(self) -> int | None:
        """W of the version that all rows have; None if they have several."""
        first = self.versions[:1]
        if not self.rows:
            return 0
        return None if bool((self.versions != first).any()) else _weigh_version(int(first[0]))

    @cached_property
    def _version_weights(self) -> np.ndarray:
        return _weigh_versions(self.versions)


def _sum_column(weights: np.ndarray, column: pa.Array) -> int:
    halves = (weights & LOW).view(np.int64), (weights >> HALF).view(np.int64)
    if not is_wide(column.type):
        return _sum_products(halves, _numbers(column))
    high, low = words(column)
    return _sum_products(halves, low) + (_sum_products(halves, high + (low < 0)) << 64)


def rows_of_table(delta: pa.Table, positions: Sequence[int] | None = None) -> Rows:
    """The rows of a delta table; its keys are at these positions, 0, 1, ... if it has all."""
    keys: list[pa.Array] = []
    values: dict[str, pa.Array] = {}
    versions = NO_VERSIONS
    for name, column in zip(delta.column_names, delta.columns, strict=True):
        if name == VERSION:
            versions = _numbers(whole_column(column))
        elif name.startswith(PLUS):
            values[name[1:]] = whole_column(column)
        else:
            keys.append(whole_column(column))
    placed: dict[int | str, pa.Array] = dict(
        zip(range(len(keys)) if positions is None else positions, keys, strict=True)
    )
    return Rows(len(delta), placed, versions, values)


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


def _collapse(version: int, committed: int, oldest_retained: int) -> int:
    """What :func:`collapse_versions` makes of one version: ten times as fast for one."""
    if version > epoch_end(committed):
        return version
    return epoch_end(max(version >> EPOCH_SHIFT, min(oldest_retained, committed)))


def hash_folded(known: Hashes, run: RunData, committed: int, oldest_retained: int) -> Hashes:
    """The hashes of a run whose versions are raised (see :func:`~cumulus_ops.maps.runs.collapse_versions`), as far as they follow from those that it has."""
    if not run.rows:
        return Hashes(0, 0)
    lowest, highest = (_collapse(version, committed, oldest_retained) for version in (run.oldest, run.newest))
    if lowest == highest:  # all versions between them are raised to the same
        one = _weigh_version(lowest)
        return Hashes(None if known.total is None else known.total * one % PRIME, known.total)
    if run.oldest > epoch_end(committed):
        return known
    versions = run.versions.all_units()
    stay = np.array_equal(collapse_versions(versions, committed, oldest_retained), versions)
    return known if stay else Hashes(None, known.total)


# Many small tables at once: a batch adds a few rows to each of a hundred groups, and numpy takes a microsecond for a call, whatever there is to do.


#: What is asked of a table: the hashes of copies with some key columns and maps, None for all.
Wanted = Sequence[tuple[Sequence[int] | None, Sequence[str] | None]]
#: With as many rows it is done at once.
TOGETHER = 1 << 16


def hash_together(asked: Sequence[tuple[Rows, Wanted]], *, with_versions: bool = True) -> list[list[Hashes]]:
    """What ``rows.hashes(keys, values)`` is, for many tables and copies of each; ``with_versions``: or else only the totals."""
    found: list[list[Hashes]] = [[] for _ in asked]
    together = _Together(with_versions)
    _hash_texts_together([rows for rows, wanted in asked if wanted and rows.rows <= SAMPLE])
    for number, (rows, wanted) in enumerate(asked):
        if not 0 < rows.rows <= CHUNK or not together.add(number, rows, wanted):
            found[number] = [rows.hashes(keys, values) for keys, values in wanted]
        elif together.rows > TOGETHER:
            together.finish(asked, found)
            together = _Together(with_versions)
    together.finish(asked, found)
    return found


def _hash_texts_together(small: Sequence[Rows]) -> None:
    """Hash the texts of some small tables at once."""
    columns = [(rows, key, column) for rows in small for key, column in rows.texts.items() if len(column)]
    if not columns:
        return
    hashed = hash_texts(pa.concat_arrays([column for _, _, column in columns]))
    ends = np.cumsum([len(column) for _, _, column in columns])
    for (rows, key, column), end in zip(columns, ends.tolist(), strict=True):
        rows.take_texts({key: hashed[end - len(column) : end]})


class _Together:
    """Rows of small tables, one below the other; a segment for each set of key columns and value column that is asked for."""

    def __init__(self, with_versions: bool) -> None:
        self._with_versions = with_versions
        self._mixed: list[np.ndarray] = []
        self._versions: list[np.ndarray] = []
        self._units: list[np.ndarray] = []
        self._begins: list[tuple[int, int]] = []  # of the weights of each segment, where they begin and end
        #: Of each table and set of key columns where its rows begin, and the segments of its value columns.
        self._places: dict[tuple[int, tuple[int | str, ...]], tuple[int, dict[str, int]]] = {}
        self._all: dict[int, tuple[int | str, ...]] = {}
        self.rows = 0

    def add(self, number: int, rows: Rows, wanted: Wanted) -> bool:
        """Take a table in; False if a value needs more than 64 bits."""
        units = rows.plain_units()
        if units is None:
            return False
        self._all[number] = rows.key_places
        for keys, values in wanted:
            chosen = self._all[number] if keys is None else tuple(keys)
            if (number, chosen) not in self._places:
                self._places[number, chosen] = self.rows, {}
                self._mixed.append(rows.unmixed(chosen))
                self._versions.append(rows.versions)
                self.rows += rows.rows
            begin, place = self._places[number, chosen]
            for name, column in units.items():
                if name not in place and (values is None or map_of(name) in values):
                    place[name] = len(self._units)
                    self._units.append(column)
                    self._begins.append((begin, begin + rows.rows))
        return True

    def finish(self, asked: Sequence[tuple[Rows, Wanted]], found: list[list[Hashes]]) -> None:
        """Compute what was taken in."""
        sums = self._sums() if self._units else []
        for number in self._all:
            found[number] = [self._combine(sums, number, keys, values) for keys, values in asked[number][1]]

    def _sums(self) -> list[tuple[int | None, int]]:
        """(with versions, without) of each segment."""
        weights = _mix(np.concatenate(self._mixed)) & MASK
        segments = range(len(self._units))
        totals = self._sum(weights, segments)
        if not self._with_versions:
            return [(None, total) for total in totals]
        versions, begins = np.concatenate(self._versions), [begin for begin, _ in self._places.values()]
        lowest, highest = (of.reduceat(versions, begins).tolist() for of in (np.minimum, np.maximum))
        only = {b: v if v == w else None for b, v, w in zip(begins, lowest, highest, strict=True)}
        several = [i for i in segments if only[self._begins[i][0]] is None]
        found: dict[int, int] = {}
        if several:
            found = dict(zip(several, self._sum(_multiply(weights, _weigh_versions(versions)), several), strict=True))
        for i in segments:
            version = only[self._begins[i][0]]
            if version is not None:
                found[i] = totals[i] * _weigh_version(version)
        return [(found[i], totals[i]) for i in segments]

    def _sum(self, weights: np.ndarray, segments: Sequence[int]) -> list[int]:
        spread = np.concatenate([weights[begin:end] for begin, end in map(self._begins.__getitem__, segments)])
        units = [self._units[i] for i in segments]
        starts = np.cumsum([0, *(len(column) for column in units[:-1])])
        return _sum_segments(spread, np.concatenate(units), starts)

    def _combine(
        self,
        sums: Sequence[tuple[int | None, int]],
        number: int,
        keys: Sequence[int] | None,
        values: Sequence[str] | None,
    ) -> Hashes:
        """The hashes of a copy."""
        _, place = self._places[number, self._all[number] if keys is None else tuple(keys)]
        content = total = 0
        for name, segment in place.items():
            if values is None or map_of(name) in values:
                member, (with_versions, without) = _member(name), sums[segment]
                content, total = content + member * (with_versions or 0), total + member * without
        return Hashes(content % PRIME if self._with_versions else None, total % PRIME)


def _sum_segments(weights: np.ndarray, units: np.ndarray, starts: np.ndarray) -> list[int]:
    """The sums of weight times unit of each segment, of at most :data:`CHUNK` rows."""
    low, high = (weights & LOW).view(np.int64), (weights >> HALF).view(np.int64)
    extent, width = max(int(units.max()), -int(units.min())).bit_length(), 32 - CHUNK.bit_length()
    totals = [0] * len(starts)
    for shift in range(0, extent + 1, width):
        is_last = shift + width > extent
        limb = units >> shift if is_last else (units >> shift) & ((1 << width) - 1)
        lower, upper = (np.add.reduceat(half * limb, starts).tolist() for half in (low, high))
        for i, (a, b) in enumerate(zip(lower, upper, strict=True)):
            totals[i] += (a + (b << 31)) << shift
    return totals
