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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import (
    KNOWN_POWERS,
    MIX_1,
    MIX_2,
    MOST,
    canonical,
    columns_of,
    hash_texts,
    is_wide,
    to_numpy,
    words,
)
from cumulus_ops.maps.deltas import PLACE, VERSION, map_of
from cumulus_ops.maps.runs import RunData, collapse_versions
from cumulus_ops.project.versions import epoch_end

__all__ = [
    "PRIME",
    "UNKNOWN",
    "Hashes",
    "Rows",
    "add_hashes",
    "hash_folded",
    "hash_run",
    "hash_together",
    "rows_of_columns",
    "rows_of_table",
]


PRIME = 2**61 - 1
MASK, HALF = np.uint64(PRIME), np.uint64(31)
LOW = np.uint64(2**31 - 1)
#: A table is hashed so many rows at a time: 31 bits of a weight times 17 of a value, summed over as many rows, do not leave 64 bits.
CHUNK = 1 << 14
LIMB_BITS = 32 - CHUNK.bit_length()
#: Tables are hashed together up to so many rows.
TOGETHER = 1 << 16
#: Columns of so many rows, on average, are summed one by one.
LONG = 256
#: More texts are looked at for texts that repeat, so many at first: then each is hashed once.
SAMPLE = 1024
#: Texts are hashed so many bytes at a time, about: of more the powers are computed again each time.
TEXT_BYTES = KNOWN_POWERS * 3 // 4
INT64 = pa.int64().id
#: What a type is called here; numbers, whole or not, of 64 bits or more, are ``int``.
KINDS = {
    pa.string().id: "string",
    pa.float64().id: "double",
    pa.date32().id: "date",
    pa.timestamp("us").id: "timestamp",
    pa.bool_().id: "bool",
}


class Hashes(NamedTuple):
    """The linear hashes of some rows; None: not known."""

    content: int | None
    total: int | None


UNKNOWN = Hashes(None, None)


class Rows(NamedTuple):
    """Rows whose hashes are wanted.

    Args:
        rows: how many.
        keys: the key columns, by their positions; or by names.
        versions: the version of each row (int64).
        values: the value columns, by the names of their maps, int64 or wide.
    """

    rows: int
    keys: Mapping[int | str, pa.Array]
    versions: pa.Array
    values: Mapping[str, pa.Array]

    def hashes(self, keys: Sequence[int] | None = None, values: Sequence[str] | None = None) -> Hashes:
        """Of some key columns and maps; None for all."""
        return hash_together([(self, [(keys, values)])])[0][0]

    def slice(self, begin: int, rows: int) -> Rows:
        """Some of the rows, from one on."""
        keys = {place: column.slice(begin, rows) for place, column in self.keys.items()}
        values = {name: column.slice(begin, rows) for name, column in self.values.items()}
        return Rows(min(rows, self.rows - begin), keys, self.versions.slice(begin, rows), values)


def rows_of_table(delta: pa.Table, positions: Sequence[int] | None = None) -> Rows:
    """The rows of a delta table; its keys are at these positions, 0, 1, ... if it has all."""
    return rows_of_columns(columns_of(delta), positions)


def rows_of_columns(delta: Mapping[str, pa.Array], positions: Sequence[int] | None = None) -> Rows:
    """The same of the columns of such a table, for who has them."""
    names, columns = [*delta], [*delta.values()]
    at = names.index(VERSION)
    keys = dict[int | str, pa.Array](zip(range(at) if positions is None else positions, columns[:at], strict=True))
    values = {name[1:]: column for name, column in zip(names[at + 1 :], columns[at + 1 :], strict=True)}
    return Rows(len(columns[at]), keys, columns[at], values)


def hash_run(run: RunData) -> Hashes:
    """The hashes of a run, from its decoded rows: what is damaged raises."""
    keys: dict[int | str, pa.Array] = {position: key.all() for position, key in run.keys.items()}
    values = {name: column.all() for name, column in run.values.items()}
    return Rows(run.rows, keys, pa.array(run.versions.all_units()), values).hashes()


def add_hashes(found: Iterable[Hashes]) -> Hashes:
    """The hashes of rows put together; of no rows both are 0."""
    content: int | None = 0
    total: int | None = 0
    for more in found:
        content = None if content is None or more.content is None else (content + more.content) % PRIME
        total = None if total is None or more.total is None else (total + more.total) % PRIME
    return Hashes(content, total)


def hash_folded(known: Hashes, oldest: int, newest: int, committed: int, oldest_retained: int) -> Hashes:
    """The hashes of a run with versions from ``oldest`` to ``newest`` (inclusive) when its versions are raised (see
    :func:`~cumulus_ops.maps.runs.collapse_versions`), as far as they follow from those that it has."""
    if oldest > epoch_end(committed):
        return known  # nothing is raised
    lowest, highest = collapse_versions(np.array([oldest, newest]), committed, oldest_retained).tolist()
    if lowest == highest and known.total is not None:  # all versions between them are raised to the same
        return Hashes(known.total * _weigh_version(lowest) % PRIME, known.total)
    return Hashes(None, known.total)


# Tables are hashed together. A batch adds a few rows to each of a hundred groups, and numpy takes a microsecond for a call, whatever there is to do: so a
# column of one table is a part of what all have of that type, and is touched by itself only to be put there. A table of many rows comes in parts.
#
# What is summed by itself is a *segment*: a value column of a *block*, which is a table with some of its key columns.


#: What is asked of a table: the hashes of copies with some key columns and maps, None for all. A copy that keeps fewer key columns, and is summed over the others,
#: has the same hash as the rows with these key columns alone.
Wanted = Sequence[tuple[Sequence[int | str] | None, Sequence[str] | None]]
#: A part of a table, and which one it is of those that are asked for.
Piece = tuple[int, Rows]
Columns = tuple[int | str, ...]
#: A part, by its place, and some of its key columns.
Block = tuple[int, Columns]


class _Sum(NamedTuple):
    """What a value column of a block, called ``name``, or a part of it, adds to the hashes."""

    name: str
    content: int
    total: int


class _Segment(NamedTuple):
    """What is summed by itself: a value column of a block, called ``name``, or a part of it; and what its sum counts."""

    block: int
    name: str
    factor: int
    units: pa.Array


def hash_together(asked: Sequence[tuple[Rows, Wanted]], *, with_versions: bool = True) -> list[list[Hashes]]:
    """The hashes of many tables, and of copies of each; ``with_versions``: or else only the totals, if they have rows."""
    found = [[Hashes(0, 0)] * len(wanted) for _, wanted in asked]
    for pieces in _gather(asked):
        for number, hashes in _hash_pieces(pieces, asked, with_versions):
            found[number] = [add_hashes(pair) for pair in zip(found[number], hashes, strict=True)]
    return found


def _gather(asked: Sequence[tuple[Rows, Wanted]]) -> Iterator[list[Piece]]:
    """Parts of tables that are hashed together."""
    pieces: list[Piece] = []
    waiting = 0
    for number, (rows, wanted) in enumerate(asked):
        for begin in range(0, rows.rows if wanted else 0, CHUNK):
            pieces.append((number, rows if rows.rows <= CHUNK else rows.slice(begin, CHUNK)))
            waiting += pieces[-1][1].rows
            if waiting > TOGETHER:
                yield pieces
                pieces, waiting = [], 0
    if pieces:
        yield pieces


def _hash_pieces(
    pieces: Sequence[Piece], asked: Sequence[tuple[Rows, Wanted]], with_versions: bool
) -> Iterator[tuple[int, list[Hashes]]]:
    """What each part adds to the hashes of its table, and which one that is."""
    wanted = [
        [(tuple(rows.keys) if keys is None else tuple(keys), values) for keys, values in asked[number][1]]
        for number, rows in pieces
    ]
    tables = [rows for _, rows in pieces]
    # Those of many key columns first: then the n-th column of all blocks that have one is added to rows that lie together.
    blocks = sorted({(i, keys) for i, each in enumerate(wanted) for keys, _ in each}, key=lambda block: -len(block[1]))
    segments = [
        _Segment(block, name, factor, units)
        for block, (i, _) in enumerate(blocks)
        for name, column in tables[i].values.items()
        for factor, units in _cut(name, column)
    ]
    sums = _Sums(tables, blocks, segments).find(with_versions)
    of_blocks: dict[Block, list[_Sum]] = {block: [] for block in blocks}
    for segment, (content, without) in zip(segments, sums, strict=True):
        of_blocks[blocks[segment.block]].append(_Sum(segment.name, segment.factor * content, segment.factor * without))
    for i, (number, _) in enumerate(pieces):
        found = []
        for keys, values in wanted[i]:
            chosen = [s for s in of_blocks[i, keys] if values is None or map_of(s.name) in values]
            total = sum(s.total for s in chosen) % PRIME
            found.append(Hashes(sum(s.content for s in chosen) % PRIME if with_versions else None, total))
        yield number, found


def _cut(name: str, column: pa.Array) -> list[tuple[int, pa.Array]]:
    """Columns of 64 bits, and the factors with which they add up to a value column, G among them."""
    if column.type.id == INT64:
        return [(_member(name), column)]
    high, low = words(column)
    return [(_member(name), pa.array(low)), (_member(name) << 64, pa.array(high + (low < 0)))]


class _Sums:
    """The sums of some segments."""

    def __init__(self, tables: Sequence[Rows], blocks: Sequence[Block], segments: Sequence[_Segment]) -> None:
        self._tables, self._blocks, self._segments = tables, blocks, segments
        self._ends = np.cumsum([0, *(tables[i].rows for i, _ in blocks)]).tolist()
        self._weights = _weigh_blocks(tables, blocks)

    def _spread(self, of_rows: np.ndarray, chosen: Sequence[int]) -> np.ndarray:
        """What the rows of each block have, for the rows of some segments."""
        blocks = (self._segments[s].block for s in chosen)
        return np.concatenate([of_rows[self._ends[b] : self._ends[b + 1]] for b in blocks])

    def _units(self, chosen: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """The values of some segments, and where each begins."""
        columns = [self._segments[s].units for s in chosen]
        return to_numpy(pa.concat_arrays(columns)), np.cumsum([0, *map(len, columns[:-1])])

    def find(self, with_versions: bool) -> list[tuple[int, int]]:
        """(with versions, without) of each segment; with versions 0 if nobody asks for it."""
        everything = range(len(self._segments))
        if not everything:
            return []
        totals = self._sum(self._weights, everything)
        contents = self._with_versions(totals) if with_versions else [0] * len(totals)
        return [*zip(contents, totals, strict=True)]

    def _sum(self, weights: np.ndarray, chosen: Sequence[int]) -> list[int]:
        """The sum of each of some segments, whose rows count by ``weights``, which have all rows of all blocks."""
        if sum([len(segment.units) for segment in self._segments]) < LONG * len(self._segments):
            return _sum_products(self._spread(weights, chosen), *self._units(chosen))
        # Each by itself: of many rows that takes half of the time and less, since nothing is put together.
        low, high = _halve(weights)
        found = []
        for segment in (self._segments[s] for s in chosen):
            rows = slice(self._ends[segment.block], self._ends[segment.block + 1])
            found.append(_sum_product(low[rows], high[rows], to_numpy(segment.units)))
        return found

    def _with_versions(self, totals: Sequence[int]) -> list[int]:
        versions = to_numpy(pa.concat_arrays([self._tables[i].versions for i, _ in self._blocks]))
        lowest, highest = (of.reduceat(versions, self._ends[:-1]).tolist() for of in (np.minimum, np.maximum))
        found = [total * _weigh_version(lowest[s.block]) for total, s in zip(totals, self._segments, strict=True)]
        several = [place for place, s in enumerate(self._segments) if lowest[s.block] != highest[s.block]]
        if several:
            weights = _multiply(self._weights, _weigh_versions(versions))
            for place, content in zip(several, self._sum(weights, several), strict=True):
                found[place] = content
        return found


def _weigh_blocks(tables: Sequence[Rows], blocks: Sequence[Block]) -> np.ndarray:
    """K, of each row of all blocks, those of most key columns first."""
    by_type: dict[int, dict[tuple[int, int | str], pa.Array]] = {}
    for i, keys in blocks:
        for key in keys:
            column = tables[i].keys[key]
            by_type.setdefault(column.type.id, {})[i, key] = column
    weighed: dict[tuple[int, int | str], np.ndarray] = {}
    for columns in by_type.values():
        numbers = _weigh_columns([key for _, key in columns], [*columns.values()])
        weighed |= zip(columns, numbers, strict=True)
    mixed = np.full(sum(tables[i].rows for i, _ in blocks), _word("key"))
    for place in range(max((len(keys) for _, keys in blocks), default=0)):
        numbers = [weighed[i, keys[place]] for i, keys in blocks if len(keys) > place]
        several = np.concatenate(numbers)
        mixed[: len(several)] += several
    return _mix(mixed) & MASK


def _weigh_columns(keys: Sequence[int | str], columns: Sequence[pa.Array]) -> list[np.ndarray]:
    """What key columns of one type add to the number of each row that is mixed: multiplied by a number of its own, so that rows of different keys have
    different numbers, as good as always."""
    lengths = [len(column) for column in columns]
    column = pa.concat_arrays(columns)
    kind = KINDS.get(column.type.id, "int")

    def factors(name: str) -> np.ndarray:
        return np.repeat(np.array([_word(name, key) for key in keys]), lengths)

    if kind == "string":
        weighed = _hash_texts(column) * factors(kind)
    elif kind == "double":
        weighed = canonical(column).to_numpy(zero_copy_only=False).view(np.uint64) * factors(kind)
    elif is_wide(column.type):
        high, low = words(column)  # of a number that fits 64 bits the upper half says nothing new
        weighed = low.view(np.uint64) * factors(kind) + (high ^ (low >> 63)).view(np.uint64) * factors("high")
    else:
        weighed = to_numpy(column).view(np.uint64) * factors(kind)
    if column.null_count:
        weighed = np.where(column.is_valid().to_numpy(zero_copy_only=False), weighed, factors("null"))
    ends = np.cumsum(lengths).tolist()
    return [weighed[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def _hash_texts(column: pa.Array) -> np.ndarray:
    """The hash of each text; of those that repeat once."""
    if len(column) > SAMPLE and len(pc.unique(column.slice(0, SAMPLE))) * 2 <= SAMPLE:
        encoded = column.dictionary_encode()
        places = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        distinct = _hash_texts(encoded.dictionary)
        return distinct[places] if len(distinct) else np.zeros(len(column), np.uint64)
    rows = max(1, len(column) * TEXT_BYTES // max(1, column.nbytes))
    return np.concatenate([hash_texts(column.slice(i, rows)) for i in range(0, max(1, len(column)), rows)])


# Fixed functions that look random, and the arithmetic.


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


@lru_cache(maxsize=1024)
def _weigh_version(version: int) -> int:
    return int(_weigh_versions(np.array([version]))[0])


def _weigh_versions(versions: np.ndarray) -> np.ndarray:
    """W, of each row."""
    return _mix(versions.view(np.uint64) * _word("version", "factor") + _word("version")) & MASK


def _mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's end, in place."""
    x ^= x >> 30
    x *= MIX_1
    x ^= x >> 27
    x *= MIX_2
    x ^= x >> 31
    return x


def _multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The products modulo the prime, of numbers of 61 bits."""
    a1, a0, b1, b0 = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a1 * b0 + a0 * b1  # times 2**31: what goes beyond 61 bits counts from bit 0 on again
    total = ((a1 * b1) << 1) + (middle >> 30) + ((middle & (LOW >> 1)) << HALF) + a0 * b0
    return (total & MASK) + (total >> 61)


def _halve(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lower 31 bits of weights, and the others."""
    return (weights & LOW).view(np.int64), (weights >> HALF).view(np.int64)


def _sum_product(low: np.ndarray, high: np.ndarray, units: np.ndarray) -> int:
    """The sum of weight times unit (int64), exactly, of at most :data:`CHUNK` rows; the weights come in halves."""
    limb_bits = 32 - len(units).bit_length()
    bits = max(int(units.max()), -int(units.min())).bit_length()
    total, shift = 0, 0
    while bits - shift >= limb_bits:
        limb = units & ((1 << limb_bits) - 1)
        total += (int(low.dot(limb)) + (int(high.dot(limb)) << 31)) << shift
        units, shift = units >> limb_bits, shift + limb_bits
    return total + ((int(low.dot(units)) + (int(high.dot(units)) << 31)) << shift)


def _sum_products(weights: np.ndarray, units: np.ndarray, starts: np.ndarray) -> list[int]:
    """The sums of weight times unit (int64) of each segment, of at most :data:`CHUNK` rows, exactly."""
    halves = _halve(weights)
    bits = max(int(units.max()), -int(units.min())).bit_length()
    totals = [0] * len(starts)
    for shift in range(0, bits + 1, LIMB_BITS):
        limb = units >> shift
        if shift + LIMB_BITS <= bits:  # else it is the last one, and signed
            limb &= (1 << LIMB_BITS) - 1
        low, high = (np.add.reduceat(half * limb, starts).tolist() for half in halves)
        totals = [t + ((a + (b << 31)) << shift) for t, a, b in zip(totals, low, high, strict=True)]
    return totals
