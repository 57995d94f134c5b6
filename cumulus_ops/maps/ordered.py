"""Entries by the order of a key: the least or greatest live value of a group, and the entries between two values.

MIN and MAX need the first of these, without reading the group.
Runs for an ordered access path hold a group's deltas in the order of their values. Entries are read from the near end, in
chunks that grow, until a value is found whose deltas add up to more than zero and which no unread entry can precede. So
the work is proportional to the number of dead entries in front of the answer, not to the size of the group.

What now() passes needs the second one: the entries of a whole copy whose first column is between two numbers, found by two searches in
each run. The work is proportional to what lies between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import alike, sort_codes, take_rows, to_numpy
from cumulus_ops.maps.deltas import find_starts, sum_ranges
from cumulus_ops.maps.encodings import frame_of, is_number
from cumulus_ops.maps.lookup import Probe, equal_keys, find, search_codes, spread
from cumulus_ops.maps.runs import RunData

__all__ = ["first_live", "read_between"]


#: Most answers are the first entry, or the first few where some were deleted; where many were, chunks that grow by a factor read at most
#: that factor more than is needed, in a logarithm of rounds.
CHUNK, GROWTH = 4, 4
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class _Read:
    """Entries read so far. ``places`` number their values from the near end; ``frontier`` is, for each request, the first
    place of which entries may be unread."""

    request: np.ndarray
    places: np.ndarray
    values: pa.Array
    units: np.ndarray
    frontier: np.ndarray


def first_live(
    runs: Sequence[RunData], column: tuple[int, str], request: Probe, kind: pa.DataType, *, descending: bool
) -> pa.Array:
    """For each request the least value of the ordering column among the keys whose deltas before its version add up to
    more than zero; NULL where there is none.

    Args:
        runs: runs of a path in which the entries of a group are in the order of ``column``.
        column: the position of the ordering key column, and the value column whose deltas count.
        request: the groups, and the versions before which deltas count (exclusive).
        kind: the type of the values.
        descending: the greatest value instead of the least.

    Returns:
        one value per request, in the caller's order.
    """
    runs = [run for run in runs if len(run)]
    open_ = np.arange(len(request))
    answered, answers = [], []
    chunk = CHUNK
    while len(open_) and runs:
        read = _read_ends(
            runs, column, request if len(open_) == len(request) else request.take(open_), chunk, descending
        )
        found, values = _find_nearest(read)
        answered.append(open_[found])
        answers.append(values)
        done = read.frontier == NEVER
        done[found] = True
        open_ = open_[~done]
        chunk *= GROWTH
    if not answered:
        return pa.nulls(len(request.before), kind)
    where = np.full(len(request.before), -1)  # the answers in the caller's order
    where[request.origin[np.concatenate(answered)]] = np.arange(sum(map(len, answered)))
    return pa.concat_arrays(alike(answers)).take(pa.array(where, mask=where < 0))


def _read_ends(runs: Sequence[RunData], column: tuple[int, str], request: Probe, chunk: int, descending: bool) -> _Read:
    """Up to ``chunk`` entries per request and run from the near end."""
    position, name = column
    parts = [_read_end(run, request, chunk, descending) for run in runs]
    taken = [run.keys[position].take(rows) for run, (_, rows, _, _) in zip(runs, parts, strict=True)]
    values = pa.concat_arrays(alike(taken))
    places = _place(values)
    places = -places if descending else places
    frontier = np.full(len(request.before), NEVER)
    start = 0
    for _, rows, cut, last in parts:
        frontier[cut] = np.minimum(frontier[cut], places[start + last])
        start += len(rows)
    requested = np.concatenate([r for r, _, _, _ in parts])
    units = np.concatenate([run.units(name, rows) for run, (_, rows, _, _) in zip(runs, parts, strict=True)])
    counts = np.concatenate(
        [_match_entries(run, request, r, rows) for run, (r, rows, _, _) in zip(runs, parts, strict=True)]
    )
    kept = np.flatnonzero(counts & values.is_valid().to_numpy(zero_copy_only=False))
    return _Read(requested[kept], places[kept], values.take(pa.array(kept)), units[kept], frontier)


def _place(values: pa.Array) -> np.ndarray:
    """Numbers in the order of the values, the same for equal ones, NULL beyond all others. Most are numbers already: to rank them took a third of a look-up."""
    if is_number(values.type) and not values.null_count:
        numbers = to_numpy(values)
        if len(numbers) and int(numbers.min()) > -NEVER and int(numbers.max()) < NEVER:
            return numbers
    return to_numpy(pc.rank(values, sort_keys="ascending", tiebreaker="dense").cast(pa.int64()))


def _read_end(
    run: RunData, request: Probe, chunk: int, descending: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(request of each entry, its row), and for the requests with more entries than that: (request, its last entry)."""
    found = find(run, request)
    hit, low, high = found.hit, found.low, found.high
    counts = np.minimum(high - low, chunk)
    first = high - counts if descending else low
    requested, rows = spread(hit, first, counts)
    cut = high - low > counts
    ends = np.cumsum(counts)
    last = ends - counts if descending else ends - 1  # the far end of each request's entries
    return requested, rows, hit[cut], last[cut]


def _match_entries(run: RunData, request: Probe, requested: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Which entries are of the request's group, and early enough."""
    early = run.versions.units(rows) < request.before[requested]
    return early & equal_keys(run, request, requested, rows)


def _find_nearest(read: _Read) -> tuple[np.ndarray, pa.Array]:
    """The requests that are answered, and their answers."""
    if len(read.request) == 0:
        return read.request, read.values
    order = _order_entries(read)
    request, places, units = read.request[order], read.places[order], read.units[order]
    fresh = find_starts(request, places)
    # At the frontier itself a value may have more deltas that are unread, which may take it back: only what lies before it is certain.
    live = (sum_ranges(units, fresh) > 0) & (places[fresh] < read.frontier[request[fresh]])
    left = fresh[live]
    first = left[find_starts(request[left])]
    return request[first], take_rows(read.values, order[first])


def _order_entries(read: _Read) -> np.ndarray:
    """The entries by their requests and places. For the least, those of each run are in this order already: as one number of both they are pieces to merge."""
    frame = frame_of(read.places, None)
    assert frame is not None  # without NULL there always is one
    bits = frame.largest.bit_length()
    if int(read.request.max()).bit_length() + bits > 64:
        return np.lexsort((read.places, read.request))
    return sort_codes(read.request.astype(np.uint64) << bits | frame.codes(read.places))


def read_between(
    runs: Sequence[RunData], low: int | None, high: int | None, positions: Sequence[int]
) -> list[tuple[pa.Array, ...]]:
    """Key columns of the entries whose first column of the path is a number from ``low`` to ``high``.

    Args:
        runs: runs of a path whose first column is one of numbers.
        low, high: both inclusive, in the column's units; None for no bound.
        positions: the key columns that are wanted.

    Returns:
        the columns of each run's entries. An entry is there for each of its deltas, and may be gone by now.
    """
    found = ((run, _find_between(run, low, high)) for run in runs if len(run))
    return [tuple(run.keys[p].take(rows) for p in positions) for run, rows in found if len(rows)]


def _find_between(run: RunData, low: int | None, high: int | None) -> np.ndarray:
    """The rows of a run that lie between two numbers; NULL lies nowhere."""
    (position, *_) = run.path.bound
    part = run.search.parts[0] if run.search.parts else None
    if part is None or not part.bits or run.codes is None:  # all are equal, or farther apart than a code has room for
        column = run.keys[position].all()
        numbers = to_numpy(column)
        inside = column.is_valid().to_numpy(zero_copy_only=False)
        inside = inside if low is None else inside & (numbers >= low)
        return np.flatnonzero(inside if high is None else inside & (numbers <= high))
    # The column is the highest bits of the code, as an offset from the least number; NULL is the offset behind the greatest.
    smallest, largest = part.frame.base, part.frame.largest - (part.frame.null is not None)
    first = 0 if low is None else max(0, low - smallest)
    last = largest if high is None else min(largest, high - smallest)
    if first > last:
        return np.zeros(0, np.int64)
    own = run.codes.data.dtype.type
    rest = (1 << part.shift) - 1
    begin = search_codes(run, run.codes, np.array([first << part.shift], own), "left")[0]
    end = search_codes(run, run.codes, np.array([last << part.shift | rest], own), "right")[0]
    return np.arange(begin, end)
