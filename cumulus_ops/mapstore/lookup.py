"""Looking keys up in runs: vectorised binary search on the hash, then equality of the real keys.

A lookup asks for many keys at once, each with the version before which deltas count (exclusive).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.mapstore.columns import take_rows
from cumulus_ops.mapstore.deltas import LOW, SAFE, beyond, fits
from cumulus_ops.mapstore.hashing import hash_columns, is_invertible
from cumulus_ops.mapstore.runs import RunData

__all__ = ["Probe", "Slices", "equal_keys", "hits", "probe", "read_since", "read_slices", "spread", "sum_points"]


@dataclass(frozen=True)
class Probe:
    """What to look up: one row per request, in the order of the hashes, because neighbouring searches then touch
    neighbouring memory. ``before`` is exclusive; ``bound`` holds the bound key columns; ``origin`` is each row's place
    in the caller's order."""

    bound: tuple[pa.Array, ...]
    hashes: np.ndarray
    before: np.ndarray
    origin: np.ndarray


@dataclass(frozen=True)
class Slices:
    """Matching entries: entry i answers request ``request[i]``, has the values ``free`` in the unbound key columns
    (only those asked for), counts ``values[i]`` units and has the version ``versions[i]``."""

    request: np.ndarray
    free: tuple[pa.Array, ...]
    values: np.ndarray
    versions: np.ndarray


def probe(bound: Sequence[pa.Array], before: np.ndarray) -> Probe:
    """A probe for the given key columns."""
    hashes = hash_columns(bound, len(before))
    order = np.argsort(hashes)
    return Probe(tuple(take_rows(b, order) for b in bound), hashes[order], before[order], order)


def sum_points(runs: Sequence[RunData], bound: tuple[int, ...], request: Probe) -> np.ndarray:
    """For maps whose whole key is bound: the total of each key's deltas before its version (int64, 0 if none).

    Raises:
        InputProblem: a total leaves the 64-bit range. Maps and views may hold one, but who asks here multiplies it.
    """
    total = np.zeros(len(request.before), dtype=np.int64)
    if sum(run.magnitude for run in runs) >= SAFE:
        total += _checked_sums(runs, bound, request)
    else:
        for run in runs:
            if run.collisions:
                requested, rows = _matches(run, bound, request)
                np.add.at(total, requested, run.values[rows])
            elif len(run):
                total += _range_sums(run, bound, request)
    result = np.empty_like(total)
    result[request.origin] = total
    return result


def _checked_sums(runs: Sequence[RunData], bound: tuple[int, ...], request: Probe) -> np.ndarray:
    """Totals by adding up single deltas, upper and lower halves apart, so that nothing wraps around unseen."""
    high, low = np.zeros(len(request.before), dtype=np.int64), np.zeros(len(request.before), dtype=np.int64)
    for run in runs:
        if len(run):
            requested, rows = _matches(run, bound, request)
            np.add.at(high, requested, run.values[rows] >> 32)
            np.add.at(low, requested, run.values[rows] & LOW)
    if not fits(high, low).all():
        raise beyond("a map's entry", "")
    return (high << 32) + low


def _range_sums(run: RunData, bound: tuple[int, ...], request: Probe) -> np.ndarray:
    """Without collisions a hash range is one key, its versions ascend, and a sum is a difference of running totals."""
    low, hit = hits(run, request)
    result = np.zeros(len(request.before), dtype=np.int64)
    if len(hit) == 0:
        return result
    hit, low = _same(run, bound, request, hit, low)
    if run.unique:
        early = run.versions[low] < request.before[hit]
        result[hit] = np.where(early, run.values[low], 0)
        return result
    high = np.searchsorted(run.hashes, request.hashes[hit], side="right")
    high = _lower_bound(run.versions, low, high, request.before[hit])
    some = np.flatnonzero(high > low)
    low, high = low[some], high[some]
    result[hit[some]] = run.totals[high - 1] - run.totals[low] + run.values[low]
    return result


def hits(run: RunData, request: Probe) -> tuple[np.ndarray, np.ndarray]:
    """For the requests whose hash occurs in the run: its first row there, and which requests they are."""
    low = np.searchsorted(run.hashes, request.hashes, side="left")
    hit = np.flatnonzero(run.hashes[np.minimum(low, len(run) - 1)] == request.hashes)
    return low[hit], hit


def _lower_bound(versions: np.ndarray, low: np.ndarray, high: np.ndarray, before: np.ndarray) -> np.ndarray:
    """In each range [low, high) of ascending versions, the first position whose version is >= before."""
    low, high = low.copy(), high.copy()
    while True:
        open_ = low < high
        if not open_.any():
            return low
        middle = (low + high) >> 1
        less = open_ & (versions[np.minimum(middle, len(versions) - 1)] < before)
        low = np.where(less, middle + 1, low)
        high = np.where(open_ & ~less, middle, high)


def read_slices(runs: Sequence[RunData], bound: tuple[int, ...], free: tuple[int, ...], request: Probe) -> Slices:
    """All entries that match the bound columns, with the key columns ``free``; one row per delta, not yet summed."""
    return _slices([(run, *_matches(run, bound, request)) for run in runs if len(run)], free, request)


def read_since(runs: Sequence[RunData], bound: tuple[int, ...], free: tuple[int, ...], request: Probe) -> Slices:
    """Like :func:`read_slices`, but the entries whose versions are not below ``request.before``."""
    return _slices([(run, *_matches(run, bound, request, later=True)) for run in runs if len(run)], free, request)


def _slices(parts: Sequence[tuple[RunData, np.ndarray, np.ndarray]], free: tuple[int, ...], request: Probe) -> Slices:
    parts = [part for part in parts if len(part[2])] or parts[:1]
    columns = []
    for position in free:
        taken = [take_rows(run.keys[position], rows) for run, _, rows in parts]
        columns.append(pa.concat_arrays(taken) if taken else pa.nulls(0))
    if not parts:
        nothing = np.zeros(0, np.int64)
        return Slices(nothing, tuple(columns), nothing, nothing)
    requests = np.concatenate([requested for _, requested, _ in parts])
    values = np.concatenate([run.values[rows] for run, _, rows in parts])
    versions = np.concatenate([run.versions[rows] for run, _, rows in parts])
    return Slices(request.origin[requests], tuple(columns), values, versions)


def _matches(
    run: RunData, bound: tuple[int, ...], request: Probe, *, later: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (request, row of the run) with equal keys and an early enough version, or a ``later`` one."""
    rows, requested = hits(run, request)
    if len(requested) == 0:
        return requested, rows
    if not run.unique:
        high = np.searchsorted(run.hashes, request.hashes[requested], side="right")
        requested, rows = spread(requested, rows, high - rows)
    early = run.versions[rows] < request.before[requested]
    chosen = ~early if later else early
    if not chosen.all():
        requested, rows = requested[chosen], rows[chosen]
    return _same(run, bound, request, requested, rows)


def _same(
    run: RunData, bound: tuple[int, ...], request: Probe, requested: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs with equal keys."""
    if _hash_tells(run, bound, request):
        return requested, rows
    same = equal_keys(run, bound, request, requested, rows)
    return (requested, rows) if same.all() else (requested[same], rows[same])


def _hash_tells(run: RunData, bound: tuple[int, ...], request: Probe) -> bool:
    """Whether equal hashes mean equal keys: that of a single number that is never NULL can be undone."""
    if len(bound) > 1:
        return False
    pairs = [(run.keys[position], asked) for position, asked in zip(bound, request.bound, strict=True)]
    return all(is_invertible(a) and is_invertible(b) for a, b in pairs)


def spread(items: np.ndarray, first: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each item ``counts`` times, beside the row numbers from its ``first`` on."""
    starts = np.repeat(first - (np.cumsum(counts) - counts), counts)
    return np.repeat(items, counts), np.arange(len(starts)) + starts


def equal_keys(
    run: RunData, bound: tuple[int, ...], request: Probe, requested: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Which pairs have equal key columns; NULL equals NULL in a map's key."""
    same = np.ones(len(rows), dtype=bool)
    for position, asked in zip(bound, request.bound, strict=True):
        a, b = take_rows(asked, requested), take_rows(run.keys[position], rows)
        equal = pc.equal(a, b) if not pa.types.is_floating(a.type) else _equal_doubles(a, b)
        if equal.null_count:
            equal = pc.if_else(pc.is_valid(equal), equal, pc.and_(pc.is_null(a), pc.is_null(b)))
        same &= equal.to_numpy(zero_copy_only=False).astype(bool)
    return same


def _equal_doubles(a: pa.Array, b: pa.Array) -> pa.Array:
    """NaN equals NaN."""
    return pc.or_(pc.equal(a, b), pc.and_(pc.is_nan(a), pc.is_nan(b)))
