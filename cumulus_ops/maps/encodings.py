"""How the columns of a run are stored: as few bytes per row as their values need, and still read row by row.

Whole numbers (integers, decimals as units, dates, timestamps, booleans) are offsets from the smallest one (frame of
reference), in 1, 2, 4 or 8 bytes; nothing at all where all are equal; numbers of few distinct values far apart, as versions
are, are places in a sorted list. NULL is the offset after the largest one, so it comes last and needs no bitmap. Texts that
repeat are places in a list of the distinct ones. Nothing is decoded before it is asked for: ``take`` reads single rows.

Each stored array is an :class:`Array`, which checks the blocks of the file that a read touches (:mod:`.blocks`).
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import (
    WIDE,
    alike,
    from_numbers,
    from_words,
    greatest,
    is_wide,
    join_words,
    least,
    narrow_column,
    take_rows,
    to_numpy,
    whole_column,
    words,
)
from cumulus_ops.project.errors import IntegrityProblem

__all__ = [
    "BLOCK_BYTES",
    "BLOCK_SHIFT",
    "FEW",
    "NAMES",
    "TYPES",
    "UINT64",
    "Array",
    "Blocks",
    "Column",
    "Frame",
    "Numbers",
    "Packed",
    "Place",
    "Plain",
    "Texts",
    "Wide",
    "checksums",
    "encode",
    "encode_numbers",
    "encode_plainly",
    "encode_values",
    "encode_within",
    "extremes",
    "frame_of",
    "frames_of",
    "gather",
    "is_number",
    "narrow",
    "say_damaged",
    "values_of",
]


# Checksums of a file's blocks, verified when a read first touches them.
#
# A run is stored with a CRC-32 of each :data:`BLOCK_BYTES` of it. A process verifies a block before it uses anything of it, once:
# so reading a few keys of a large run verifies little, and what was verified costs nothing any more.


#: Larger blocks are read and verified for a few rows, smaller ones make more checksums: 64 KiB have theirs in some 30 microseconds, and a
#: run of 100 MB has 8 KB of checksums and flags.
BLOCK_SHIFT = 16
BLOCK_BYTES = 1 << BLOCK_SHIFT


def checksums(data: memoryview) -> np.ndarray:
    """The checksum of each block of ``data`` (uint32), the last one of what is left."""
    starts = range(0, len(data), BLOCK_BYTES)
    return np.array([zlib.crc32(data[start : start + BLOCK_BYTES]) for start in starts], dtype=np.uint32)


@dataclass(frozen=True)
class Place:
    """What to call a run in errors, and what to do when it is damaged."""

    name: str
    hint: str = "`cumulus recover` makes it again, while everything else goes on"


class Blocks:
    """The blocks of one mapped run.

    Args:
        data: its bytes.
        expected: their checksums.
        place: what it is called in errors.
    """

    def __init__(self, data: memoryview, expected: np.ndarray, place: Place) -> None:
        self._data, self._expected, self.place = data, expected, place
        self._known = np.zeros(len(expected), dtype=bool)
        self.unchecked = len(expected)
        self._marking = Lock()

    def check(self, offsets: np.ndarray) -> None:
        """Verify the blocks that hold the bytes at some offsets.

        Raises:
            IntegrityProblem: a block is not what was written.
        """
        touched = offsets >> BLOCK_SHIFT
        fresh = touched[~self._known[touched]]
        if not len(fresh):
            return
        # To mark blocks takes one pass, where to sort the numbers of millions of rows takes as long as all else that is done with them.
        marked = np.zeros(len(self._known), bool)
        marked[fresh] = True
        for block in marked.nonzero()[0].tolist():
            self._verify(block)

    def check_range(self, offset: int, size: int) -> None:
        """Verify the blocks of ``size`` bytes from ``offset`` on."""
        if size:
            self.check(np.arange(offset >> BLOCK_SHIFT, ((offset + size - 1) >> BLOCK_SHIFT) + 1) << BLOCK_SHIFT)

    def check_spans(self, begin: np.ndarray, end: np.ndarray) -> None:
        """Verify the blocks from each ``begin`` to its ``end`` (inclusive)."""
        self.check(begin)
        self.check(end)
        for low, high in zip(begin[end - begin >= BLOCK_BYTES], end[end - begin >= BLOCK_BYTES], strict=True):
            self.check_range(int(low), int(high - low))

    def knows_range(self, offset: int, size: int) -> bool:
        """Whether all blocks of ``size`` bytes from ``offset`` on are verified."""
        return bool(self._known[offset >> BLOCK_SHIFT : ((offset + size - 1) >> BLOCK_SHIFT) + 1].all())

    def check_all(self) -> None:
        """Verify every block."""
        self.check_range(0, len(self._data))

    def _verify(self, block: int) -> None:
        part = self._data[block << BLOCK_SHIFT : (block + 1) << BLOCK_SHIFT]
        if zlib.crc32(part) != self._expected[block]:
            raise say_damaged(self.place, f"block {block} does not have its checksum")
        with (
            self._marking
        ):  # threads that verify the same block at the same time count it once: at 0 nothing is verified any more
            self.unchecked -= not self._known[block]
            self._known[block] = True


def say_damaged(place: Place, what: str) -> IntegrityProblem:
    """The error for a run that is not what was written."""
    return IntegrityProblem(f"a stored run is damaged: {what}", kind="damaged-run", place=place.name, hint=place.hint)


#: So many rows for each block from the first of them to the last leave hardly one of a thousand blocks out, unless they are in heaps.
COVERING = 8
#: As many distinct numbers at most are kept as a list, since a place is one byte then.
LISTED = 256
#: A run of fewer rows looks for no numbers, and no texts, that repeat: most runs are of a small batch, and merged soon.
FEW = FEW_TEXTS = 1024
UINT16 = 2**16 - 1
#: As many rows show whether texts repeat: to find out by all of 100,000 that they do not takes 100 ms, and their sort 6.
SAMPLE = 1024
#: Types by name: numpy takes as long to find what ``np.uint64`` is, or to make a number of that type, as to go through a small array.
INT32, INT64, UINT64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64)
UNSIGNED = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32), UINT64)
LARGEST = tuple(int(np.iinfo(type_).max) for type_ in UNSIGNED)
#: The Arrow type of one decoded value for each name in a file.
TYPES = {
    "int": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
    "double": pa.float64(),
    "string": pa.string(),
    "wide": WIDE,
}
NAMES = {type_: name for name, type_ in TYPES.items()}
NUMBER_IDS = frozenset(TYPES[name].id for name in ("int", "date", "timestamp", "bool"))


class Array(NamedTuple):
    """A stored array of numbers. ``blocks`` and ``offset``: where its bytes are in a file, None in memory."""

    data: np.ndarray
    blocks: Blocks | None = None
    offset: int = 0

    def at(self, rows: np.ndarray) -> np.ndarray:
        """The items at some rows."""
        if self.blocks is None or self.is_verified:
            return self.data[rows]
        if len(rows) < COVERING or not self.is_covered(rows.min(), rows.max() + 1, len(rows)):
            self.blocks.check(self.offset + rows * self.data.itemsize)
        return self.data[rows]

    def is_covered(self, first: int, last: int, rows: int) -> bool:
        """Verify the items from ``first`` to ``last`` (exclusive), if so many ``rows`` between them are in nearly all of their blocks: that is done sooner than it is found
        out which they are in."""
        assert self.blocks is not None
        if rows * BLOCK_BYTES < (last - first) * self.data.itemsize * COVERING:
            return False
        size = self.data.itemsize
        self.blocks.check_range(self.offset + int(first) * size, int(last - first) * size)
        return True

    @property
    def is_verified(self) -> bool:
        """Whether nothing of it is left to verify: so it is long before all of its file is, and to look takes a tenth of a search among fences."""
        blocks = self.blocks
        return blocks is None or not blocks.unchecked or blocks.knows_range(self.offset, self.data.nbytes)

    def all(self) -> np.ndarray:
        """All items, as a view."""
        if self.blocks is not None and self.blocks.unchecked:
            self.blocks.check_range(self.offset, self.data.nbytes)
        return self.data


class Column(Protocol):
    """A stored column."""

    def take(self, rows: np.ndarray) -> pa.Array:
        """The values at some rows (physical type)."""
        ...

    def all(self) -> pa.Array:
        """All values."""
        ...

    @property
    def nbytes(self) -> int:
        """The bytes of what it stores itself."""
        ...


def is_number(type_: pa.DataType) -> bool:
    """Whether columns of an Arrow type are stored as whole numbers."""
    return type_.id in NUMBER_IDS or not (pa.types.is_string(type_) or pa.types.is_floating(type_) or is_wide(type_))


def narrow(codes: np.ndarray, largest: int) -> np.ndarray:
    """Codes from 0 to ``largest`` in the narrowest unsigned type."""
    return codes.astype(UNSIGNED[bisect_left(LARGEST, largest)], copy=False)


class Frame(NamedTuple):
    """The range of a column of whole numbers: offsets from ``base`` up to ``largest`` (inclusive); ``null`` is the one that
    stands for NULL, None where there is none."""

    base: int
    largest: int
    null: int | None = None

    # All arithmetic is modulo 2**64: the distance of two int64 numbers always fits, whatever their signs, and a
    # number below the base becomes an offset above the largest one, so that one comparison tells who is outside.

    def codes(self, numbers: np.ndarray, valid: np.ndarray | None = None) -> np.ndarray:
        """The offsets of int64 numbers that are in range, as uint64; ``valid`` tells which are not NULL."""
        offsets = (numbers - self.base if self.base else numbers).view(UINT64)
        if valid is not None and self.null is not None:
            offsets = np.where(valid, offsets, np.uint64(self.null))
        return offsets

    def numbers(self, codes: np.ndarray) -> np.ndarray:
        """Inverse of :meth:`codes`; what stands at NULL is any number."""
        numbers = codes.astype(INT64)
        if self.base:
            numbers += self.base
        return numbers


def extremes(numbers: np.ndarray) -> tuple[int, int]:
    """The least and the greatest of int64 numbers; 0 and 0 of none."""
    return (least(numbers), greatest(numbers)) if len(numbers) else (0, 0)


def frames_of(columns: Sequence[np.ndarray]) -> list[Frame]:
    """The frames of columns of int64 numbers of one length: of a few rows all at once, for to find the least of a few numbers takes numpy as
    long as of some hundreds."""
    rows = len(columns[0])
    if not 0 < rows < FEW:
        return [Frame(low, high - low) for low, high in map(extremes, columns)]
    together = np.concatenate(columns).reshape(len(columns), rows)
    lowest, highest = together.min(axis=1).tolist(), together.max(axis=1).tolist()
    return [Frame(low, high - low) for low, high in zip(lowest, highest, strict=True)]


def frame_of(numbers: np.ndarray, valid: np.ndarray | None) -> Frame | None:
    """The frame of a column; None where 64 bits are not enough, because it has all numbers and NULL."""
    some = numbers if valid is None else numbers[valid]
    low, high = extremes(some)
    if valid is None:
        return Frame(low, high - low)
    null = high - low + 1 if len(some) else 0
    return Frame(low, null, null) if null < 2**64 else None


def values_of(codes: np.ndarray, frame: Frame, kind: str) -> pa.Array:
    """Decoded values of the Arrow type that ``kind`` names."""
    numbers = frame.numbers(codes)
    mask = None if frame.null is None else codes == frame.null
    if mask is None or not mask.any():
        return _column_of(numbers, kind)
    numbers = np.where(mask, 0, numbers)
    if kind == "int":
        return pa.array(numbers, mask=mask)
    if kind == "date":
        return pa.array(numbers.astype(np.int32), mask=mask).view(pa.date32())
    if kind == "bool":
        return pa.array(numbers.astype(bool), mask=mask)
    return pa.array(numbers, mask=mask).view(TYPES[kind])


def _column_of(numbers: np.ndarray, kind: str) -> pa.Array:
    """Numbers without NULL as a column of the Arrow type that ``kind`` names."""
    if kind == "bool":
        return pa.array(numbers.astype(bool))
    return from_numbers(numbers.astype(INT32) if kind == "date" else numbers, TYPES[kind])


def gather(columns: Sequence[Column], rows: Sequence[np.ndarray] | None = None) -> pa.Array:
    """The values of several columns of one kind at some ``rows`` of each, one below the other; None for all."""
    if all(isinstance(column, (Numbers, Packed)) and column.frame.null is None for column in columns):
        # Together before they become one column of Arrow's: to make one takes as long as all else of a few numbers.
        numbers = cast("Sequence[Numbers | Packed]", columns)
        found = (
            [c.all_units() for c in numbers]
            if rows is None
            else [c.units(r) for c, r in zip(numbers, rows, strict=True)]
        )
        return _column_of(found[0] if len(found) == 1 else np.concatenate(found), numbers[0].kind)
    parts = [c.all() for c in columns] if rows is None else [c.take(r) for c, r in zip(columns, rows, strict=True)]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(alike(parts))


@dataclass(eq=False)  # not frozen: each run has several, and one that is takes three times as long to be made
class Numbers:
    """Whole numbers as offsets from a base, or as places in ``listed`` (ascending). ``codes`` is None where all are equal."""

    kind: str
    frame: Frame
    rows: int
    codes: Array | None
    listed: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """See :class:`Column`."""
        return 0 if self.codes is None else self.codes.data.nbytes

    def take(self, rows: np.ndarray) -> pa.Array:
        """See :class:`Column`."""
        return values_of(self._codes(rows), self.frame, self.kind)

    def all(self) -> pa.Array:
        """See :class:`Column`."""
        return values_of(self._all_codes(), self.frame, self.kind)

    def units(self, rows: np.ndarray) -> np.ndarray:
        """The numbers at some rows as int64; of a column without NULL."""
        if self.codes is None:
            return np.full(len(rows), self.frame.base, INT64)
        codes = self.codes.at(rows)
        return self.frame.numbers(codes if self.listed is None else self.listed[codes])

    def all_units(self) -> np.ndarray:
        """All numbers as int64."""
        if self.codes is None:
            return np.full(self.rows, self.frame.base, INT64)
        return self.frame.numbers(self._all_codes())

    def _codes(self, rows: np.ndarray) -> np.ndarray:
        if self.codes is None:
            return np.zeros(len(rows), np.uint64)
        codes = self.codes.at(rows)
        return codes if self.listed is None else self.listed[codes]

    def _all_codes(self) -> np.ndarray:
        if self.codes is None:
            return np.zeros(self.rows, np.uint64)
        codes = self.codes.all()
        return codes if self.listed is None else self.listed[codes]


@dataclass(eq=False)
class Packed:
    """A key column whose offsets are ``bits`` bits of the run's search code, from bit ``shift`` on."""

    kind: str
    frame: Frame
    rows: int
    codes: Array | None
    shift: int
    bits: int

    @property
    def nbytes(self) -> int:
        """See :class:`Column`."""
        return 0  # it is in the search code

    def take(self, rows: np.ndarray) -> pa.Array:
        """See :class:`Column`."""
        return values_of(self._codes(rows), self.frame, self.kind)

    def all(self) -> pa.Array:
        """See :class:`Column`."""
        return values_of(self._all_codes(), self.frame, self.kind)

    def units(self, rows: np.ndarray) -> np.ndarray:
        """The numbers at some rows as int64; of a column without NULL."""
        return self.frame.numbers(self._codes(rows))

    def all_units(self) -> np.ndarray:
        """All numbers as int64."""
        return self.frame.numbers(self._all_codes())

    def _codes(self, rows: np.ndarray) -> np.ndarray:
        if self.codes is None or self.bits == 0:
            return np.zeros(len(rows), UINT64)
        return self._cut(self.codes.at(rows))

    def _all_codes(self) -> np.ndarray:
        if self.codes is None or self.bits == 0:
            return np.zeros(self.rows, UINT64)
        return self._cut(self.codes.all())

    def _cut(self, codes: np.ndarray) -> np.ndarray:
        return (codes >> self.shift if self.shift else codes) & ((1 << self.bits) - 1)


@dataclass(eq=False)
class Plain:
    """A column as Arrow has it: doubles, wide keys, texts that do not repeat, and numbers that no frame holds."""

    values: pa.Array
    blocks: Blocks | None = None
    start: int = 0  # the address of the run's first byte

    @property
    def nbytes(self) -> int:
        """See :class:`Column`."""
        return int(self.values.get_total_buffer_size())  # its own `nbytes` looks at each buffer in Python

    def take(self, rows: np.ndarray) -> pa.Array:
        """See :class:`Column`."""
        if self.blocks is not None and self.blocks.unchecked:
            self._check(rows)
        return take_rows(self.values, rows)

    def all(self) -> pa.Array:
        """See :class:`Column`."""
        if self.blocks is not None and self.blocks.unchecked:
            for buffer in self.values.buffers():
                if buffer is not None:
                    self.blocks.check_range(buffer.address - self.start, buffer.size)
        return self.values

    def _check(self, rows: np.ndarray) -> None:
        assert self.blocks is not None
        validity, first, *data = self.values.buffers()
        if validity is not None:
            self.blocks.check_range(validity.address - self.start, validity.size)
        if not data:
            size = self.values.type.bit_width // 8
            self.blocks.check(first.address - self.start + rows * size)
            return
        self.blocks.check(first.address - self.start + rows * 4)
        self.blocks.check(first.address - self.start + (rows + 1) * 4)
        if data[0] is not None and data[0].size:
            offsets = np.frombuffer(first, np.int32)
            begin = data[0].address - self.start + offsets[rows].astype(np.int64)
            end = data[0].address - self.start + offsets[rows + 1].astype(np.int64) - 1
            self.blocks.check_spans(begin, np.maximum(begin, end))


@dataclass(eq=False)
class Texts:
    """Texts as places in a list of the distinct ones; ``codes`` is None where all are equal. NULL is one of the list."""

    codes: Array | None
    rows: int
    distinct: Plain

    @property
    def nbytes(self) -> int:
        """See :class:`Column`."""
        return self.distinct.nbytes + (0 if self.codes is None else self.codes.data.nbytes)

    def take(self, rows: np.ndarray) -> pa.Array:
        """See :class:`Column`."""
        codes = np.zeros(len(rows), np.uint8) if self.codes is None else self.codes.at(rows)
        return self.distinct.all().take(pa.array(codes))

    def all(self) -> pa.Array:
        """See :class:`Column`."""
        codes = np.zeros(self.rows, np.uint8) if self.codes is None else self.codes.all()
        return self.distinct.all().take(pa.array(codes))


@dataclass(eq=False)
class Wide:
    """Units of 128 bits, their upper and lower halves apart."""

    high: Numbers
    low: Numbers

    @property
    def nbytes(self) -> int:
        """See :class:`Column`."""
        return self.high.nbytes + self.low.nbytes

    def take(self, rows: np.ndarray) -> pa.Array:
        """See :class:`Column`."""
        return from_words(self.high.units(rows), self.low.units(rows))

    def all(self) -> pa.Array:
        """See :class:`Column`."""
        return from_words(self.high.all_units(), self.low.all_units())

    def units(self, rows: np.ndarray) -> np.ndarray:
        """The numbers at some rows, as Python's integers."""
        return join_words(self.high.units(rows), self.low.units(rows))


def encode(column: pa.Array, order: np.ndarray | None = None) -> Numbers | Texts | Plain:
    """A key column (physical type) in its shortest form, its rows in ``order`` (None: as they are)."""
    kind = NAMES[column.type]
    if is_number(column.type):
        valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
        numbers = encode_numbers(to_numpy(column), kind, valid, order=order)
        if numbers is not None:
            return numbers
    column = column if order is None else take_rows(column, order)
    if kind == "string":
        # Dictionary-encoding is the dearest part of a run with long texts: a sample tells when it would be in vain.
        if len(column) < FEW_TEXTS:
            return Plain(column)
        if len(column) > SAMPLE and len(pc.unique(column.slice(0, SAMPLE))) * 2 > SAMPLE:
            return Plain(column)
        encoded = column.dictionary_encode(null_encoding="encode")
        distinct = encoded.dictionary
        if len(distinct) * 2 > len(column) and len(column) > 1:
            return Plain(column)
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        return Texts(
            None if len(distinct) <= 1 else Array(narrow(codes, len(distinct) - 1)), len(column), Plain(distinct)
        )
    return Plain(column)


def encode_plainly(column: pa.Array) -> Numbers | Plain:
    """A column of a key index (physical type): numbers as offsets, all else as it is. To look for lists of distinct values, as
    :func:`encode` does, takes longer there than it saves: each append writes a run, and most are merged soon."""
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    encoded = (
        encode_numbers(to_numpy(column), NAMES[column.type], valid, lists=False) if is_number(column.type) else None
    )
    return encoded or Plain(column)


def encode_numbers(
    numbers: np.ndarray,
    kind: str = "int",
    valid: np.ndarray | None = None,
    lists: bool = True,
    order: np.ndarray | None = None,
) -> Numbers | None:
    """Int64 numbers in their shortest form, in ``order`` (None: as they are); None where no frame holds them. ``lists``: few distinct ones far
    apart may be kept as a list."""
    frame = frame_of(numbers, valid)
    return None if frame is None else encode_within(frame, numbers, kind, valid, lists, order)


def encode_within(
    frame: Frame,
    numbers: np.ndarray,
    kind: str = "int",
    valid: np.ndarray | None = None,
    lists: bool = True,
    order: np.ndarray | None = None,
) -> Numbers:
    """The same of numbers whose frame is known."""
    if frame.largest == 0:
        return Numbers(kind, frame, len(numbers), None)
    codes, distinct = frame.codes(numbers, valid), None
    listed = _list_distinct(codes) if frame.largest > UINT16 and lists and len(codes) >= FEW else None
    if listed is not None:
        distinct, codes = listed
    else:
        codes = narrow(codes, frame.largest)
    # Sorted when they are short: millions of rows of one byte fit into a processor's cache, of eight they do not.
    return Numbers(kind, frame, len(numbers), Array(codes if order is None else codes[order]), distinct)


def _list_distinct(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """(distinct codes, ascending; each row's place among them), if they are few."""
    # Most columns of many numbers are found out by their first rows, and others by some from everywhere: an ascending key has few at first.
    if len(np.unique(codes[: 2 * LISTED])) > LISTED:
        return None
    step = len(codes) // (8 * LISTED)
    if step > 1 and len(np.unique(codes[::step])) > LISTED:
        return None
    encoded = pa.array(codes).dictionary_encode()
    distinct = encoded.dictionary.to_numpy()
    if len(distinct) > min(LISTED, len(codes) // 2):
        return None
    order = distinct.argsort()
    place = np.empty(len(distinct), np.uint8)
    place[order] = np.arange(len(distinct))
    return distinct[order], place[encoded.indices.to_numpy()]


def encode_values(values: pa.Array | pa.ChunkedArray) -> Numbers | Wide:
    """A value column: int64 units, or wide ones."""
    if isinstance(values, pa.ChunkedArray):
        values = whole_column(values)
    values = narrow_column(values)
    return Wide(*map(_encode_units, words(values))) if is_wide(values.type) else _encode_units(to_numpy(values))


def _encode_units(units: np.ndarray) -> Numbers:
    encoded = encode_numbers(units)
    assert encoded is not None  # without NULL a frame always holds them
    return encoded
