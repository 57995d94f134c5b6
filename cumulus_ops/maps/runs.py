"""A run: deltas of one map group, immutable, sorted for one access path, encoded.

An **access path** is an order of key columns by which statements look a group up: a lookup knows the first few of them. A run
for it is sorted by a **search code**, one unsigned number a row in which the path's columns take a few bits each, the first
one the highest; then by version, so that the deltas of a key lie together, oldest first. Whole numbers stand in the code as
offsets from the run's smallest, and need no column of their own; what is not a number of 64 bits (texts, doubles, wide keys),
or finds no more room, has a hash there and is compared afterwards. For an ordered path whose ordering column is not in the code, rows with one code
are sorted by that column before the version.

The columns, how they are encoded, and what a file looks like: ``docs/formats.md``.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog.records import Run
from cumulus_ops.maps.columns import (
    are_all,
    columns_of,
    from_numbers,
    hash_columns,
    narrow_column,
    sort_codes,
    take_rows,
    to_numpy,
)
from cumulus_ops.maps.deltas import PLUS, SAFE, VERSION, digits_of, join_digits, map_of, sum_deltas, value_column
from cumulus_ops.maps.encodings import (
    NAMES,
    UINT64,
    Array,
    Column,
    Frame,
    Numbers,
    Packed,
    Wide,
    encode,
    encode_values,
    encode_within,
    frame_of,
    frames_of,
    gather,
    is_number,
    narrow,
)
from cumulus_ops.project.versions import EPOCH_SHIFT, epoch_end
from m3.datatypes import hash_once

__all__ = [
    "FENCE_ROWS",
    "AccessPath",
    "Part",
    "RunData",
    "Search",
    "build_columns",
    "build_run",
    "collapse_versions",
    "join_runs",
    "merge_runs",
    "pick_tier",
    "sum_sorted",
]


#: The search code of every so many rows is in the header. A search of a run that nobody has verified yet verifies the rows between
#: two fences for each answer; 8,192 codes are one block of 64 KiB at most, and 122 fences a million rows.
FENCE_ROWS = 1 << 13
#: From this place on, digits (38 to a place) are of numbers too large for a float.
LARGE_PLACE = 7
#: Equal hashes cost a comparison, wider ones bytes in each row: with 32 bits a million keys have about a hundred pairs of one hash.
CODE_BITS, HASH_BITS = 64, 32
#: Of a column of zeros.
ZERO = Frame(0, 0)


@hash_once
@dataclass(frozen=True, order=True)
class AccessPath:
    """How a copy of a map group is sorted. ``map`` is the group's name, ``bound`` the positions of its key columns, those of
    numbers first; a lookup binds the first few. ``order``: the position of a key column by whose values the entries of one
    lookup are sorted, -1 for none; a column of numbers is then the last one of ``bound``, too.

    ``keys`` and ``values``: the positions of the key columns, and the names of the value columns, that are kept; None for
    all. A copy for readers that do not look at the rest has fewer, and is summed over it. ``again``: how many copies of the same order there were
    before it, which lack what its readers look at."""

    map: str
    bound: tuple[int, ...]
    order: int = -1
    keys: tuple[int, ...] | None = None
    values: tuple[str, ...] | None = None
    again: int = 0

    @cached_property
    def label(self) -> str:
        """How the catalog and file names call it: ``"0.2"``, or ``"all"`` for no bound column; ``"0<1"`` if ordered; ``"0.2+1"`` if it comes again."""
        order = (".".join(map(str, self.bound)) or "all") + (f"<{self.order}" if self.order >= 0 else "")
        return order + (f"+{self.again}" if self.again else "")


@dataclass  # not frozen, nor are the next two: made for each run, and three times as fast
class Part:
    """A key column in the search code: the offsets of its frame are ``bits`` bits from bit ``shift`` on."""

    key: int
    frame: Frame
    shift: int
    bits: int

    @cached_property
    def operands(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The frame's base and largest offset, and the shift, for numpy: to make them of Python's numbers takes as long as to go through a few dozen, and a run is
        searched many times."""
        return np.array(self.frame.base), np.array(self.frame.largest, UINT64), np.array(self.shift, UINT64)


@dataclass
class Search:
    """What the search code is made of: the first ``len(parts)`` columns of the path, and in its lowest ``hash_bits`` bits a
    hash of the rest (0: no hash)."""

    parts: tuple[Part, ...]
    hash_bits: int
    bits: int


@dataclass(eq=False)
class RunData:
    """A run, in memory or mapped from a file.

    Attributes:
        path: what it is sorted for.
        rows: how many deltas it has.
        search: what its search code is made of.
        codes: the search codes, ascending; None where all are 0.
        keys: the key columns that the path keeps, by their positions in the group's key.
        versions: the versions.
        values: the value columns by name: those of the maps, and of higher digits (see :mod:`.deltas`). A group's column that
            is not there is 0.
        oldest, newest: the range of the versions (inclusive).
        unique: every search code occurs once.
        collisions: rows with equal codes may differ in a column of the path.
        magnitudes: for each value column a number that no sum of some of its values exceeds (beyond rounding).
        fences: the code of each :data:`FENCE_ROWS`-th row.
    """

    path: AccessPath
    rows: int
    search: Search
    codes: Array | None
    keys: Mapping[int, Column]
    versions: Numbers
    values: Mapping[str, Numbers | Wide]
    oldest: int
    newest: int
    unique: bool
    collisions: bool
    magnitudes: Mapping[str, float]
    fences: np.ndarray

    def __len__(self) -> int:
        return self.rows

    @property
    def nbytes(self) -> int:
        """About how many bytes its columns take."""
        columns = [*self.keys.values(), self.versions, *self.values.values()]
        return (0 if self.codes is None else self.codes.data.nbytes) + sum(column.nbytes for column in columns)

    def units(self, name: str, rows: np.ndarray) -> np.ndarray:
        """The values of one column at some rows: int64, or Python's integers where 64 bits are not enough."""
        if name not in self.values:
            return np.zeros(len(rows), np.int64)
        if name in self.small:
            return self.values[name].units(rows)
        return join_digits([self.values[column].units(rows) for column in digits_of(name, self.values)])

    def magnitude(self, name: str) -> float:
        """See ``magnitudes``; of a number with more digits than a float can tell, only that it is a large one."""
        if name in self.small:
            return self.magnitudes[name]
        columns = digits_of(name, self.values) if name in self.values else []
        return sum(self.magnitudes[column] * 1e38 ** min(place, LARGE_PLACE) for place, column in enumerate(columns))

    def is_wide(self, name: str) -> bool:
        """Whether some of its values are beyond 64 bits."""
        return isinstance(self.values.get(name), Wide) or len(digits_of(name, self.values)) > 1

    @cached_property
    def small(self) -> frozenset[str]:
        """The maps whose values have one column here, of numbers of 64 bits: almost all."""
        single = (name for name, column in self.values.items() if isinstance(column, Numbers))
        return frozenset(name for name in single if len(digits_of(name, self.values)) == 1)

    @cached_property
    def totals(self) -> dict[str, np.ndarray]:
        """Running totals of value columns modulo 2**64 (inclusive) that somebody asked for."""
        return {}

    def total(self, name: str) -> np.ndarray:
        """The running totals of a value column: for whoever is about to add up more deltas than the run has."""
        if name not in self.totals:
            column = self.values.get(name)
            units = column.all_units() if isinstance(column, Numbers) else np.zeros(self.rows, np.int64)
            self.totals[name] = np.cumsum(units)
        return self.totals[name]

    def table(
        self, names: Sequence[str], values: Sequence[str] | None = None, rows: np.ndarray | None = None
    ) -> pa.Table:
        """The run as a delta table.

        Args:
            names: the names of the group's key columns; those that the path does not keep are left out.
            values: only these value columns; None for all.
            rows: only these rows; None for all.
        """
        columns = {names[p]: key.all() if rows is None else key.take(rows) for p, key in self.keys.items()}
        columns[VERSION] = from_numbers(self.versions.all_units() if rows is None else self.versions.units(rows))
        chosen = self.values if values is None else [c for name in values for c in digits_of(name, self.values)]
        for name in chosen:
            column = self.values.get(name)
            if column is None:
                found = pa.array(np.zeros(self.rows if rows is None else len(rows), np.int64))
            else:
                found = column.all() if rows is None else column.take(rows)
            columns[value_column(name)] = found
        return pa.Table.from_arrays([*columns.values()], [*columns])

    def tables(self, names: Sequence[str], limit_rows: int) -> Iterator[pa.Table]:
        """The run as delta tables of at most so many rows; ``names`` as in :meth:`table`."""
        if self.rows <= limit_rows:
            yield self.table(names)
            return
        for begin in range(0, self.rows, limit_rows):
            yield self.table(names, rows=np.arange(begin, min(begin + limit_rows, self.rows)))


def build_run(delta: pa.Table, path: AccessPath) -> RunData:
    """Sort and encode deltas for an access path.

    Args:
        delta: a delta table that has the keys which the path keeps; further value columns are left out.
        path: the access path.
    """
    return build_columns(columns_of(delta), path)


def build_columns(delta: Mapping[str, pa.Array], path: AccessPath) -> RunData:
    """The same of the columns of such a table, for who has them."""
    keys, values = dict[int, pa.Array](), dict[str, pa.Array]()
    numbers = dict[int | str, np.ndarray]()  # of columns of 64 bits without NULL: keys by position, others by name
    places = itertools.count() if path.keys is None else iter(path.keys)
    for name, given in delta.items():
        column, is_value = narrow_column(given), name.startswith(PLUS)
        if is_value and path.values is not None and map_of(name) not in path.values:
            continue
        place: int | str = name
        if is_value:
            values[name] = column
        elif name != VERSION:
            place = next(places)
            keys[place] = column
        if not column.null_count and is_number(column.type):
            numbers[place] = to_numpy(column)
    frames = dict(zip(numbers, frames_of([*numbers.values()]), strict=True))
    versions, span, rows = numbers[VERSION], frames[VERSION], len(delta[VERSION])
    search, codes = _build_codes(keys, path, rows, numbers, frames)
    packed = {part.key: part for part in search.parts}
    # Where the ordering column is among the parts of the code, the code's own order is that column's, too.
    by = keys[path.order] if path.order >= 0 and path.order not in packed else None
    order = _sort_rows(codes, search.bits, versions, span, by)
    if order is not None:
        codes = codes[order]
    unique, collides = _compare_neighbours(codes, [keys[i] for i in path.bound[len(search.parts) :]], order)
    stored = Array(codes) if search.bits else None

    def encode_column(place: int | str, column: pa.Array) -> Any:
        if place in packed:
            part = packed[place]
            return Packed(NAMES[column.type], part.frame, len(column), stored, part.shift, part.bits)
        if place in numbers:
            return encode_within(frames[place], numbers[place], NAMES[column.type], order=order)
        return encode(column, order) if isinstance(place, int) else encode_values(_take_sorted(column, order))

    return RunData(
        path,
        rows,
        search,
        stored,
        {position: encode_column(position, key) for position, key in keys.items()},
        encode_within(span, versions, order=order),
        {name[1:]: encode_column(name, column) for name, column in values.items()},
        *((span.base, span.base + span.largest) if rows else (0, 0)),
        unique,
        collides,
        {name[1:]: _sum_magnitudes(column, numbers.get(name), frames.get(name)) for name, column in values.items()},
        codes[::FENCE_ROWS].copy() if stored is not None else codes[:0],
    )


def _compare_neighbours(codes: np.ndarray, hashed: Sequence[pa.Array], order: np.ndarray | None) -> tuple[bool, bool]:
    """Whether each code is there once; and whether rows of one code differ in a column that has a hash in it."""
    equal = codes[1:] == codes[:-1]
    if not np.count_nonzero(equal):
        return True, False
    if not hashed:
        return False, False
    repeated = np.flatnonzero(equal)  # rows whose code the next one has, too
    first, second = pa.array(repeated), pa.array(repeated + 1)
    columns = [_take_sorted(column, order) for column in hashed]
    # Keys of one code are mixed only if neighbours among them differ somewhere: comparing neighbours is enough.
    return False, any(not column.take(first).equals(column.take(second)) for column in columns)


def _take_sorted(column: pa.Array, order: np.ndarray | None) -> pa.Array:
    return column if order is None else take_rows(column, order)


def _sum_magnitudes(column: pa.Array, units: np.ndarray | None, frame: Frame | None) -> float:
    """The sum of the magnitudes of a value column; ``units`` and ``frame`` are its numbers and theirs, None of wide ones."""
    if units is None or frame is None:
        return float(np.abs(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False)).sum())
    low, high = frame.base, frame.base + frame.largest
    if max(-low, high) * len(units) >= SAFE:
        units = units.astype(np.float64)
    return float((np.abs(units) if low < 0 else units).sum())


def _build_codes(
    keys: Mapping[int, pa.Array],
    path: AccessPath,
    rows: int,
    numbers: Mapping[int | str, np.ndarray],
    frames: Mapping[int | str, Frame],
) -> tuple[Search, np.ndarray]:
    """What the search code of these rows is made of, and the codes in as few bytes as it needs."""
    found: list[tuple[int, Frame, np.ndarray]] = []
    bits = 0
    for position in path.bound:
        key = keys[position]
        if not is_number(key.type):
            break
        valid = key.is_valid().to_numpy(zero_copy_only=False) if key.null_count else None
        units = to_numpy(key) if valid is not None else numbers[position]
        frame = frame_of(units, valid) if valid is not None else frames[position]
        if frame is None or bits + frame.largest.bit_length() > CODE_BITS:
            break
        found.append((position, frame, frame.codes(units, valid)))
        bits += frame.largest.bit_length()
    rest = path.bound[len(found) :]
    hash_bits = min(HASH_BITS, CODE_BITS - bits) if rest and path.order not in rest else 0
    # No hash on an ordered path: it would come before the order of the values that the path is there for.
    top = bits + hash_bits
    parts, codes = [], np.zeros(rows, np.uint64)
    for position, frame, offsets in found:
        width = frame.largest.bit_length()
        top -= width
        parts.append(Part(position, frame, top, width))
        if width:  # a column of equal numbers takes no bits
            codes |= offsets << top
    search = Search(tuple(parts), hash_bits, bits + hash_bits)
    if hash_bits:
        codes |= hash_columns([keys[i] for i in rest], rows) >> (CODE_BITS - hash_bits)
    return search, narrow(codes, (1 << search.bits) - 1)


def _sort_rows(
    codes: np.ndarray, bits: int, versions: np.ndarray, span: Frame, by: pa.Array | None
) -> np.ndarray | None:
    """The rows in the order of their codes, which have so many ``bits``, of the values ``by`` if there are any, and of their versions, whose frame is ``span``;
    None if they are."""
    width = span.largest.bit_length()
    if (by is not None or width) and are_all(codes[1:] > codes[:-1]):  # and so no two rows have one code
        return None
    if by is None and bits + width <= CODE_BITS:
        # The deltas of one batch share a version, or have one for each relation: code and version are one number, and take one sort instead of two. Often they
        # come sorted, and then one look.
        if width:
            codes = narrow(codes.astype(np.uint64) << width | span.codes(versions), (1 << (bits + width)) - 1)
        return None if are_all(codes[1:] >= codes[:-1]) else sort_codes(codes)
    if by is None:
        return np.lexsort((versions, codes))
    places = to_numpy(pc.rank(by, sort_keys="ascending", tiebreaker="dense").cast(pa.int64()))  # NULL is last
    return np.lexsort((versions, places, codes))


# Merging runs: size-tiered, so that every map has few runs at amortised O(log) cost per entry.
#
# Merging sums the deltas of equal (key, version). Below a snapshot, versions only matter by epoch: they are raised to the
# end of their epoch, and those older than the retained epochs to the end of the oldest retained one
# (the paper's Cleanup(V), Cumulus paper, Figure 5). Sums that come to zero vanish.


#: Played with 20,000 batches of one size, merged when there are more than 8 runs: with 2, an entry is rewritten 9.6 times, and lookups meet
#: 6.2 runs on average; with 4, 12.7 times and 5.7 runs; with 8, 19.1 times and 5.4 runs.
FANOUT = 4


def pick_tier(runs: Sequence[Run], merges: Collection[int] = ()) -> list[Run]:
    """The runs that are worth merging now: the longest prefix, by size, whose largest run has at most :data:`FANOUT`
    times the rows of all smaller ones together; empty if there is none. What one of the commits ``merges`` has made are ranges
    of one run.

    What it leaves has more than :data:`FANOUT` times the rows of all smaller runs: so the number of runs grows with
    the logarithm of the rows. And whoever is merged comes into a run at least 1 / FANOUT larger than its own: so an
    entry is rewritten O(log) times.
    """
    whole: dict[tuple[bool, int], list[Run]] = {}
    for run in runs:
        merged = run.commit in merges
        whole.setdefault((merged, run.commit if merged else run.id), []).append(run)
    ordered = sorted(whole.values(), key=lambda ranges: (sum(r.rows for r in ranges), ranges[0].id))
    rows = [sum(r.rows for r in ranges) for ranges in ordered]
    totals = list(itertools.accumulate(rows))
    ends = [i + 1 for i in range(1, len(rows)) if rows[i] <= FANOUT * totals[i - 1]]
    return [run for ranges in ordered[: max(ends, default=0)] for run in ranges]


def collapse_versions(versions: np.ndarray, committed: int, oldest_retained: int) -> np.ndarray:
    """Raise versions of committed epochs to the end of their epoch.

    Args:
        versions: int64 versions.
        committed: the newest committed epoch (inclusive), -1 for none.
        oldest_retained: epochs before this one are folded into it.
    """
    epochs = versions >> EPOCH_SHIFT
    folded = np.maximum(epochs, min(oldest_retained, committed))
    ends = ((folded + 1) << EPOCH_SHIFT) - 1
    return np.where(versions <= epoch_end(committed), ends, versions)


def merge_runs(runs: Sequence[RunData], key_names: Sequence[str], committed: int, oldest_retained: int) -> pa.Table:
    """The deltas of ``runs`` summed into one delta table (see :func:`collapse_versions` for the epochs).

    Args:
        runs: runs of one access path.
        key_names: names of the group's key columns.
        committed: the newest committed epoch (inclusive), -1 for none.
        oldest_retained: epochs before this one are folded into it.
    """
    columns = join_runs(runs, key_names)
    columns[VERSION] = from_numbers(collapse_versions(to_numpy(columns[VERSION]), committed, oldest_retained))
    return sum_sorted(runs[0].path, [pa.Table.from_arrays([*columns.values()], [*columns])], key_names)


def sum_sorted(path: AccessPath, tables: Sequence[pa.Table], key_names: Sequence[str]) -> pa.Table:
    """Deltas of an access path's runs, summed: :func:`~cumulus_ops.maps.deltas.sum_deltas`, of which the columns that the path is sorted by come first.

    Runs are sorted, but by their own search codes, which mean something in their run alone. In the order of the path's columns rows of one run after the other are
    ascending pieces, which are sorted in a fraction of the time that others take; and more than a few rows come out in the order in which they are stored."""
    names = tables[0].column_names
    keys, first = names[: names.index(VERSION)], [key_names[position] for position in path.bound]
    # Tables may differ in their columns: of higher digits there are as many as a sum has.
    summed = sum_deltas([t.select([*first, *(name for name in t.column_names if name not in first)]) for t in tables])
    return summed.select([*keys, *(name for name in summed.column_names if name not in keys)])


def join_runs(runs: Sequence[RunData], key_names: Sequence[str]) -> dict[str, pa.Array]:
    """The columns of a delta table that has the deltas of runs of one access path, not summed."""
    columns = {key_names[i]: gather([run.keys[i] for run in runs]) for i in runs[0].keys}
    columns[VERSION] = gather([run.versions for run in runs])
    for name in dict.fromkeys(name for run in runs for name in run.values):
        # of a run without the column a column of zeros
        columns[value_column(name)] = gather(
            [run.values.get(name) or Numbers("int", ZERO, run.rows, None) for run in runs]
        )
    return columns
