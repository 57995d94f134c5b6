"""Looking keys up in runs: vectorised binary search on the search code, then equality of what it does not tell.

A lookup asks for many keys at once, each with the version before which deltas count (exclusive). It binds the first columns
of the runs' access path. Nothing of a run is decoded but the rows that are found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import (
    LOW,
    alike,
    are_all,
    greatest,
    hash_columns,
    is_wide,
    join_limbs,
    least,
    narrow_units,
    sort_codes,
    take_rows,
    to_numpy,
    words,
)
from cumulus_ops.maps.deltas import SAFE, find_fresh, find_starts
from cumulus_ops.maps.encodings import UINT64, Array, frame_of, gather, is_number, narrow, say_damaged
from cumulus_ops.maps.runs import CODE_BITS, FENCE_ROWS, RunData
from m3.datatypes import INT64_MAX

__all__ = [
    "Found",
    "Probe",
    "Slices",
    "equal_keys",
    "find",
    "find_parts",
    "probe",
    "read_part",
    "read_since",
    "read_slices",
    "search_codes",
    "spread",
    "sum_points",
]


@dataclass(eq=False)  # not frozen: made for each look-up, and three times as fast
class Probe:
    """What to look up: one row per request, in about the order of the runs, because neighbouring searches then touch
    neighbouring memory. ``bound`` are the first columns of the path, ``before`` is exclusive, ``origin`` is each row's place
    in the caller's order."""

    bound: tuple[pa.Array, ...]
    before: np.ndarray
    origin: np.ndarray

    def __len__(self) -> int:
        return len(self.before)

    def __post_init__(self) -> None:
        #: The lowest ``before``: a run whose versions are all below it needs no comparison.
        self.latest = least(self.before) if len(self.before) else 0
        #: The bound columns of numbers: int64, which are not NULL, and which fit 64 bits (None for all).
        self.numbers = {i: _read_numbers(c) for i, c in enumerate(self.bound) if is_number(c.type) or is_wide(c.type)}

    @cached_property
    def leading(self) -> np.ndarray | None:
        """The numbers of the first column in their order; None where it has others, or NULL."""
        numbers, valid, fits = self.numbers.get(0, (None, None, None))
        if numbers is None or valid is not None or fits is not None:
            return None
        return numbers if self.ascends else np.sort(numbers)

    @cached_property
    def ascends(self) -> bool:
        """Whether the requests are in the order of the first column's numbers, as many are."""
        numbers = self.numbers[0][0]
        return are_all(numbers[1:] >= numbers[:-1])

    @cached_property
    def hashes(self) -> dict[int, np.ndarray]:
        """Hashes of the columns from some column on, for those who asked."""
        return {}

    def hash_from(self, first: int) -> np.ndarray:
        """The hash of the bound columns from ``first`` on."""
        if first not in self.hashes:
            self.hashes[first] = hash_columns(self.bound[first:], len(self))
        return self.hashes[first]

    def take(self, rows: np.ndarray) -> Probe:
        """Some of the requests."""
        return Probe(tuple(take_rows(b, rows) for b in self.bound), self.before[rows], self.origin[rows])


class Found(NamedTuple):
    """For the requests ``hit`` (ascending) the rows from ``low`` to ``high`` (exclusive) of a run that may match.

    ``one_key``: the rows of a request have one key, and are in the order of their versions. ``same``: that they have the
    request's key needs no comparison."""

    hit: np.ndarray
    low: np.ndarray
    high: np.ndarray
    one_key: bool
    same: bool

    def only(self, chosen: np.ndarray) -> Found:
        """Some of the requests."""
        return Found(self.hit[chosen], self.low[chosen], self.high[chosen], self.one_key, self.same)


class Slices(NamedTuple):
    """Matching entries: entry i answers request ``request[i]``, has the values ``free`` in the unbound key columns (only those
    asked for), and counts ``values[name][i]`` units in each value column asked for."""

    request: np.ndarray
    free: tuple[pa.Array, ...]
    values: Mapping[str, np.ndarray]


def _read_numbers(column: pa.Array) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
    if not is_wide(column.type):
        return to_numpy(column), valid, None
    high, low = words(column)
    fits = high == low >> 63
    return low, valid, fits if valid is None else fits | ~valid


#: As many requests gain by being sorted what it costs: 0.1 microseconds each in a large run, for some 25.
MANY = 256


def probe(bound: Sequence[pa.Array], before: np.ndarray) -> Probe:
    """A probe for the given key columns, the first ones of an access path."""
    # Sorting the requests halves the time of 20,000 searches in 2 million codes (3.1 instead of 5.8 ms, the sort included), for
    # neighbours go through the same cache lines and mapped pages. Few requests are searched sooner than they are sorted.
    order = _sort_requests(bound, len(before)) if len(before) >= MANY else None
    if order is None:
        return Probe(tuple(bound), before, np.arange(len(before)))
    return Probe(tuple(take_rows(b, order) for b in bound), before[order], order)


def _sort_requests(bound: Sequence[pa.Array], rows: int) -> np.ndarray | None:
    """The requests in the order of their first columns of numbers, as far as 64 bits hold them; None if they are."""
    if not bound or rows < 2:
        return None
    codes, bits = np.zeros(rows, np.uint64), 0
    for column in bound:
        if not is_number(column.type):
            break
        # NULL stands among the others as 0 here. That is no order of the run's, but the order is for speed alone.
        numbers = to_numpy(column)
        frame = frame_of(numbers, None)
        assert frame is not None
        width = frame.largest.bit_length()
        if bits + width > CODE_BITS:
            break
        if width:
            codes = codes << width | frame.codes(numbers) if bits else frame.codes(numbers)
        bits += width
    if not bits:  # texts, whose part of the search code is this hash, or numbers that are all equal
        return sort_codes(hash_columns(bound, rows))
    if are_all(codes[1:] >= codes[:-1]):
        return None
    return sort_codes(narrow(codes, 2**bits - 1))


def find(run: RunData, request: Probe) -> Found:
    """Where in a run the requests' keys are."""
    search, path, width, rows = run.search, run.path, len(request.bound), run.rows
    parts = search.parts[:width]
    whole = width == len(path.bound)
    hashed = whole and search.hash_bits > 0
    same = len(parts) == width
    sorted_ = path.order < 0 or path.order in path.bound  # by versions within one key
    one_key = whole and sorted_ and (same or (hashed and not run.collisions))
    span = _find_own(run, request) if rows >= FENCE_ROWS else None  # few rows are searched sooner
    hit, codes = _encode_requests(run, request, hashed, span)
    if not len(hit):
        return Found(hit, hit, hit, one_key, same)
    if run.codes is None or not (parts or hashed):
        return Found(hit, np.zeros(len(hit), np.int64), np.full(len(hit), rows), one_key, same)
    # The columns of the path are bits of the code, the first one the highest. A lookup that knows only the first of them
    # wants all codes from its own, with zeros for the rest, to the same with ones: a range of rows.
    data = run.codes.data
    codes = codes.astype(data.dtype, copy=False)
    free = 0 if hashed else parts[-1].shift  # bits that are not asked for
    # Of few rows a second search for few takes less time than to see what is where the first one ends.
    few = rows < FENCE_ROWS and len(hit) < MANY
    if few or free:
        last = codes | ((1 << free) - 1) if free else codes
        if few and run.codes.is_verified:
            low, high = data.searchsorted(codes), data.searchsorted(last, "right")
        else:
            low, high = search_codes(run, run.codes, codes, "left"), search_codes(run, run.codes, last, "right")
        there = (high > low).nonzero()[0]
        return Found(hit[there], low[there], high[there], one_key, same)
    low = search_codes(run, run.codes, codes, "left")
    # Many keys are not there: those with no row of their code leave here, before the second search.
    there = (run.codes.at(np.minimum(low, rows - 1)) == codes).nonzero()[0]
    hit, low = hit[there], low[there]
    high = low + 1 if run.unique or not len(hit) else search_codes(run, run.codes, codes[there], "right")
    return Found(hit, low, high, one_key, same)


def _find_own(run: RunData, request: Probe) -> slice | None:
    """The requests whose first column may be in the run's frame, None for all: of the many ranges of a large copy each is asked for its own ones only."""
    if not run.search.parts or not request.bound or request.leading is None:
        return None  # not known
    frame = run.search.parts[0].frame
    first = int(request.leading.searchsorted(frame.base))
    last = int(request.leading.searchsorted(min(frame.base + frame.largest, INT64_MAX), "right"))
    return slice(first, last) if request.ascends or first == last else None


def _encode_requests(run: RunData, request: Probe, hashed: bool, span: slice | None) -> tuple[np.ndarray, np.ndarray]:
    """The requests in ``span`` whose keys the run's frames can hold, and the search codes of their bound columns (uint64)."""
    codes: np.ndarray | None = None
    fit: np.ndarray | None = None
    for place, part in enumerate(run.search.parts[: len(request.bound)]):
        numbers, valid, fits = request.numbers[place]
        if span is not None:
            numbers = numbers[span]
            valid, fits = (None if known is None else known[span] for known in (valid, fits))
        # What is below the frame wraps around to a large offset: one comparison tells both sides. It matters, since an offset with
        # more bits than the part has would spill into the column before it, and find another key.
        base, largest, shift = part.operands
        offsets = (numbers - base).view(UINT64)
        if part.frame.null is not None:
            # The offset that stands for NULL is that of a number, too, one above the largest: asking for it finds no NULL.
            inside = offsets < largest
            if valid is not None:
                inside |= ~valid
                offsets = np.where(valid, offsets, largest)
        else:
            inside = offsets <= largest if valid is None else (offsets <= largest) & valid
        if fits is not None:
            inside &= fits  # a number beyond 64 bits is in no frame
        fit = inside if fit is None else fit & inside
        if part.bits:
            own = offsets << shift if part.shift else offsets
            codes = own if codes is None else codes | own
    if hashed:
        hashes = request.hash_from(len(run.search.parts))
        own = (hashes if span is None else hashes[span]) >> (CODE_BITS - run.search.hash_bits)
        codes = own if codes is None else codes | own
    asked = len(request) if span is None else span.stop - span.start
    hit = np.arange(asked) if fit is None else fit.nonzero()[0]
    if codes is None:
        codes = np.zeros(len(hit), UINT64)
    elif len(hit) < len(codes):
        codes = codes[hit]
    return hit if span is None else hit + span.start, codes


def search_codes(run: RunData, codes: Array, wanted: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Binary search. Of neighbours that are equal, as where each group is asked for at two versions, one is searched."""
    if len(wanted) >= MANY:
        fresh = find_fresh(wanted)
        if 3 * np.count_nonzero(fresh) < 2 * len(wanted):
            return _search_verified(run, codes, wanted[fresh], side)[fresh.cumsum() - 1]
    return _search_verified(run, codes, wanted, side)


def _search_verified(run: RunData, codes: Array, wanted: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Of a run that is not verified yet, the part is verified that the header's fences say each answer is in: an answer that lies elsewhere was misled by a damaged code."""
    if codes.blocks is None or codes.is_verified:
        return codes.data.searchsorted(wanted, side)
    fences = run.fences
    if len(wanted) >= MANY:
        first = max(0, int(fences.searchsorted(wanted.min(), side)) - 1) * FENCE_ROWS
        last = min(len(run), int(fences.searchsorted(wanted.max(), side)) * FENCE_ROWS)
        if first < last and codes.is_covered(first, last, len(wanted)):
            return codes.data[first:last].searchsorted(wanted, side) + first
    # The search may read codes that nobody has verified, and be led astray by them. But the fences are verified, and say whether an answer is
    # between the two that it should be.
    found = codes.data.searchsorted(wanted, side)
    part = (found - 1) // FENCE_ROWS
    is_past = np.greater if side == "left" else np.greater_equal
    right = is_past(wanted, fences[part]) | (part < 0)
    right &= ~is_past(wanted, fences[np.minimum(part + 1, len(fences) - 1)]) | (part == len(fences) - 1)
    marked = np.zeros(len(fences) + 1, bool)
    marked[part] = True  # the last place is for those before the first fence
    begin = marked[:-1].nonzero()[0] * FENCE_ROWS
    codes.at(begin)
    codes.at(np.minimum(begin + FENCE_ROWS, len(run)) - 1)
    if not right.all():
        raise say_damaged(codes.blocks.place, "its search codes are not in order")
    return found


def sum_points(runs: Sequence[RunData], names: Sequence[str], request: Probe) -> dict[str, np.ndarray]:
    """For each value column the total of each key's deltas before its version (0 if none), in the caller's order: int64, or
    Python's integers where 64 bits are not enough."""
    totals = {name: _Total(runs, name, len(request)) for name in dict.fromkeys(names)}
    for run in runs:
        wanted = {name: total for name, total in totals.items() if name in run.values}
        if run.rows and wanted:
            _add_run(run, request, wanted)
    return {name: total.placed(request.origin) for name, total in totals.items()}


class _Total:
    """The totals of one value column. ``exact``: they may leave 64 bits. Then upper and lower halves are added up apart, so
    that nothing wraps around unseen; and where a run has wide values, Python's integers."""

    def __init__(self, runs: Sequence[RunData], name: str, requests: int) -> None:
        # Magnitudes bound every sum of some values of a run, whatever is looked up. Below 2**62 nothing can wrap around, and rounding
        # of the floats cannot matter either; so the common case adds int64 without a check.
        self.exact = sum([run.magnitude(name) for run in runs]) >= SAFE
        self._wide = any(name not in run.small and run.is_wide(name) for run in runs)
        self._halved = self.exact and not self._wide
        self._sum = np.zeros(requests, object if self._wide else np.int64)
        self._low = np.zeros(requests, np.int64) if self._halved else self._sum

    def add(self, requests: np.ndarray, units: np.ndarray) -> None:
        """Add to different requests."""
        if self._halved:
            self._low[requests] += units & LOW
            units = units >> 32
        self._sum[requests] += units

    def add_groups(self, requests: np.ndarray, starts: np.ndarray, units: np.ndarray) -> None:
        """Add ``units[start:next start]`` to each request."""
        if self._halved:
            self._low[requests] += np.add.reduceat(units & LOW, starts)
            units = units >> 32
        self._sum[requests] += np.add.reduceat(units.astype(object) if self._wide else units, starts)

    def placed(self, origin: np.ndarray) -> np.ndarray:
        """The totals in the caller's order."""
        sums = join_limbs([self._low, self._sum]) if self._halved else narrow_units(self._sum)
        result = np.empty_like(sums)
        result[origin] = sums
        return result


def _add_run(run: RunData, request: Probe, totals: Mapping[str, _Total]) -> None:
    found = find(run, request)
    if not len(found.hit):
        return
    if not found.one_key:
        requested, rows = _pair_rows(run, request, found)
        _add_rows(run, requested, rows, totals)
        return
    found = _cut_at_versions(run, request, found)
    counts = found.high - found.low
    if run.unique or (len(counts) and greatest(counts) == 1):
        for name, total in totals.items():
            total.add(found.hit, run.units(name, found.low))
    elif counts.sum() > len(run) and not any(total.exact for total in totals.values()):
        # Many requests meet the same rows, as when all events ask for one group: running totals cost one pass over the run, and each
        # request is a difference then. The totals may wrap around, modulo 2**64; the differences are right if the sums fit.
        for name, total in totals.items():
            sums = run.total(name)
            total.add(found.hit, sums[found.high - 1] - sums[found.low] + run.units(name, found.low))
    else:
        _add_rows(run, *spread(found.hit, found.low, counts), totals)


def _add_rows(run: RunData, requested: np.ndarray, rows: np.ndarray, totals: Mapping[str, _Total]) -> None:
    """Add single rows; ``requested`` ascends."""
    if len(rows) == 0:
        return
    starts = find_starts(requested)
    for name, total in totals.items():
        units = run.units(name, rows)
        if len(starts) == len(rows):
            total.add(requested, units)
        else:
            total.add_groups(requested[starts], starts, units)


def _cut_at_versions(run: RunData, request: Probe, found: Found) -> Found:
    """Of ranges that are one key each: those of the right key, cut at the request's version; empty ones left out."""
    if not found.same:
        same = equal_keys(run, request, found.hit, found.low)
        found = found if are_all(same) else found.only(same)
    if run.newest < request.latest:  # most runs are from before the batch: no version is read
        return found
    if run.unique:
        return found.only((run.versions.units(found.low) < request.before[found.hit]).nonzero()[0])
    high = _find_lower_bounds(run, found.low, found.high, request.before[found.hit])
    cut = Found(found.hit, found.low, high, found.one_key, found.same)
    return cut.only((high > found.low).nonzero()[0])


def _find_lower_bounds(run: RunData, low: np.ndarray, high: np.ndarray, before: np.ndarray) -> np.ndarray:
    """In each range [low, high) of ascending versions, the first position whose version is >= before."""
    # All binary searches go on at once, a step of each per round: as many rounds as the longest range has bits.
    low, high = low.copy(), high.copy()
    while True:
        open_ = low < high
        if not open_.any():
            return low
        middle = (low + high) >> 1
        less = open_ & (run.versions.units(np.minimum(middle, len(run) - 1)) < before)
        low = np.where(less, middle + 1, low)
        high = np.where(open_ & ~less, middle, high)


def read_slices(runs: Sequence[RunData], names: Sequence[str], free: Sequence[int], request: Probe) -> Slices:
    """All entries that match the bound columns, with the value columns ``names`` and the key columns ``free``; one row per
    delta, not yet summed."""
    return read_part(_find_all(runs, request), names, free, request)[0]


#: What was found in some runs for some of the requests; no row has been read.
FoundPart = list[tuple[RunData, Found]]


def find_parts(runs: Sequence[RunData], request: Probe, limit_rows: int) -> list[FoundPart]:
    """Where the entries are that :func:`read_slices` reads, in parts for :func:`read_part`: each is of neighbouring requests, and has at most ``limit_rows``
    rows unless it is of a single request. Keys are looked up once."""
    found = _find_all(runs, request)
    if sum([int((f.high - f.low).sum()) for _, f in found]) <= limit_rows:
        return [found]
    places = [request.origin[f.hit] for _, f in found]
    counts = np.zeros(len(request), np.int64)
    for place, (_, f) in zip(places, found, strict=True):
        counts[place] += f.high - f.low
    ends, parts, start = counts.cumsum(), list[FoundPart](), 0
    while start < len(ends):
        stop = max(start + 1, int(ends.searchsorted((ends[start - 1] if start else 0) + limit_rows, "right")))
        chosen = [((place >= start) & (place < stop)).nonzero()[0] for place in places]
        parts.append([(run, f.only(rows)) for (run, f), rows in zip(found, chosen, strict=True)])
        start = stop
    return parts


def read_part(
    part: FoundPart, names: Sequence[str], free: Sequence[int], request: Probe, *, with_versions: bool = False
) -> tuple[Slices, np.ndarray | None]:
    """The entries of one part, as :func:`read_slices` has them, and their versions if they are asked for."""
    rows = [(run, *_pair_rows(run, request, f)) for run, f in part]
    return _gather_slices(rows, names, free, request), _versions_of(rows) if with_versions else None


def read_since(
    runs: Sequence[RunData], names: Sequence[str], free: Sequence[int], request: Probe
) -> tuple[Slices, np.ndarray]:
    """Like :func:`read_slices`, but the entries whose versions are not below ``request.before``; and their versions."""
    parts = [(run, *_pair_rows(run, request, find(run, request), later=True)) for run in runs if run.rows]
    return _gather_slices(parts, names, free, request), _versions_of(parts)


#: A run, and pairs of a request and a row of it.
Rows = tuple[RunData, np.ndarray, np.ndarray]


def _find_all(runs: Sequence[RunData], request: Probe) -> FoundPart:
    found = [(run, find(run, request)) for run in runs if run.rows]
    return [(run, f) for run, f in found if len(f.hit)] or found[:1]  # one is left for the types of its columns


def _versions_of(parts: Sequence[Rows]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int64), *(run.versions.units(rows) for run, _, rows in parts)])


def _gather_slices(parts: Sequence[Rows], names: Sequence[str], free: Sequence[int], request: Probe) -> Slices:
    parts = [part for part in parts if len(part[2])] or parts[:1]  # one is left for the types of its columns
    taken = [rows for _, _, rows in parts]
    columns = [gather([run.keys[p] for run, _, _ in parts], taken) if parts else pa.nulls(0) for p in free]
    if not parts:
        nothing = np.zeros(0, np.int64)
        return Slices(nothing, tuple(columns), dict.fromkeys(names, nothing))
    if len(parts) == 1:
        ((run, requests, rows),) = parts
        values = {name: narrow_units(run.units(name, rows)) for name in names}
        return Slices(request.origin[requests], tuple(columns), values)
    requests = np.concatenate([requested for _, requested, _ in parts])
    values = {name: narrow_units(np.concatenate([run.units(name, rows) for run, _, rows in parts])) for name in names}
    return Slices(request.origin[requests], tuple(columns), values)


def _pair_rows(run: RunData, request: Probe, found: Found, *, later: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (request, row of the run) with equal keys and an early enough version, or a ``later`` one."""
    counts = found.high - found.low
    if not len(found.hit):
        return found.hit, found.hit
    single = run.unique and found.one_key
    requested, rows = (found.hit, found.low) if single else spread(found.hit, found.low, counts)
    if later or run.newest >= request.latest:
        early = run.versions.units(rows) < request.before[requested]
        chosen = ~early if later else early
        if not are_all(chosen):
            requested, rows = requested[chosen], rows[chosen]
    if found.same:
        return requested, rows
    same = equal_keys(run, request, requested, rows)
    return (requested, rows) if are_all(same) else (requested[same], rows[same])


def spread(items: np.ndarray, first: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each item ``counts`` times, beside the row numbers from its ``first`` on."""
    starts = (first - (counts.cumsum() - counts)).repeat(counts)
    return items.repeat(counts), np.arange(len(starts)) + starts


def equal_keys(run: RunData, request: Probe, requested: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Which pairs have equal key columns, as far as the search code does not tell; NULL equals NULL in a map's key."""
    same = np.ones(len(rows), dtype=bool)
    known = len(run.search.parts)
    for position, asked in list(zip(run.path.bound, request.bound, strict=False))[known:]:
        a, b = alike([take_rows(asked, requested), run.keys[position].take(rows)])
        equal = pc.equal(a, b)
        if pa.types.is_floating(a.type):
            equal = pc.or_(equal, pc.and_(pc.is_nan(a), pc.is_nan(b)))  # as keys, NaN is one value
        if equal.null_count:
            equal = pc.if_else(pc.is_valid(equal), equal, pc.and_(pc.is_null(a), pc.is_null(b)))
        same &= equal.to_numpy(zero_copy_only=False).astype(bool)
    return same
