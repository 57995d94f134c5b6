"""Aggregates and window functions over all values of a group, for many groups at once: the vectorised twin of :mod:`m3.collected`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.maps.columns import canonical, logical_type, physical_type, to_column, to_logical, to_physical
from cumulus_ops.maps.deltas import VALUE, sum_exactly, sum_ranges
from cumulus_ops.maps.lookup import Slices
from cumulus_ops.project.errors import InputProblem
from m3.collected import COLLECTED, STATISTICS, compute_statistic, interpolated, rounded_sum, takes_pairs
from m3.datatypes import INT, Type
from m3.errors import ValueProblem
from m3.program import Input, MapDecl, ViewList, Windowing
from m3.windows import NUMBERS, windowed

__all__ = ["collect", "make_lists", "sum_doubles", "window_rows"]


# Sums of DOUBLE over the rows of a group, rounded once: the vectorised twin of :mod:`m3.collected`.
#
# A sum of floats has no delta that could be undone exactly, so a group's values are read anew when one of them changes.


SPLITTER = 2.0**27 + 1  # Veltkamp: splits a double into two halves of 26 bits
SAFE = 2.0**900  # beyond, splitting could overflow


def sum_doubles(found: Slices, name: str, requests: int) -> pa.Array:
    """For each request the sum of its values, each times its count; NULL where there are none.

    Args:
        found: deltas with one free column, DOUBLE.
        name: the value column that says how often a value is there.
        requests: how many there are.
    """
    values = found.free[0].to_numpy(zero_copy_only=False).astype(np.float64) if len(found.request) else np.zeros(0)
    order = np.lexsort((values, found.request))
    request, values, counts = found.request[order], values[order], found.values[name][order]
    fresh = order
    if len(order):
        # NaN equals itself, else one that was inserted and deleted again would stay in the sum
        other = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
        fresh = np.flatnonzero(np.r_[True, (request[1:] != request[:-1]) | other])
    request, values, counts = request[fresh], values[fresh], sum_ranges(counts, fresh)
    kept = np.flatnonzero(counts)
    request, values, counts = request[kept], values[kept], counts[kept]
    starts = np.flatnonzero(np.r_[True, request[1:] != request[:-1]]) if len(request) else kept
    ends = np.r_[starts[1:], len(request)] if len(starts) else starts
    result: list[float | None] = [None] * requests
    high, low = _products(values, counts)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        result[int(request[start])] = _sum(values[start:end], counts[start:end], high[start:end], low[start:end])
    return pa.array(result, pa.float64())


def _products(values: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``values * counts`` as exact sums of two doubles (Dekker)."""
    with np.errstate(all="ignore"):
        factors = counts.astype(np.float64)
        high = values * factors
        (a, b), (c, d) = _halves(values), _halves(factors)
        return high, ((a * c - high) + a * d + b * c) + b * d


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = x * SPLITTER
    upper = scaled - (scaled - x)
    return upper, x - upper


def _sum(values: np.ndarray, counts: np.ndarray, high: np.ndarray, low: np.ndarray) -> float | None:
    exact = (
        np.abs(high).max() < SAFE
        and np.abs(counts).max() < 2**53
        and np.abs(values).min(initial=1.0, where=values != 0) > 1 / SAFE
    )
    if exact:
        return math.fsum([*high.tolist(), *low.tolist()])
    return rounded_sum(list(zip(values.tolist(), counts.tolist(), strict=True)))


DOUBLE_EXACT = 2**53  # integers up to here are doubles
POWER_EXACT = 22  # 10**22 is the largest power of ten that is a double


@dataclass(frozen=True)
class _Values:
    """The values of all requests, by request and in their order, each with how often it is there, above zero.

    ``starts``: where the values of each request that has some begin; ``request``: which requests these are."""

    values: pa.Array
    counts: np.ndarray
    starts: np.ndarray
    request: np.ndarray
    type: Type

    def rows(self) -> np.ndarray:
        """How many rows each request has."""
        return np.add.reduceat(self.counts, self.starts)

    def at(self, places: np.ndarray) -> pa.Array:
        """The value at a place, counted from 0, of each request."""
        ends = np.cumsum(self.counts)
        before = ends[self.starts] - self.counts[self.starts]
        return self.values.take(pa.array(np.searchsorted(ends, before + places, side="right")))


def collect(given: Input, type_: Type, found: Slices, name: str, requests: int) -> pa.Array:
    """An input of a derivation for each request; NULL where it has no values.

    Args:
        given: the input.
        type_: of the map's last key.
        found: deltas; their free columns are the keys after the group's.
        name: the value column that says how often a key is there.
        requests: how many there are.
    """
    kind = (
        pa.float64() if given.kind in ("percentile_cont", "mad") or given.kind in STATISTICS else physical_type(type_)
    )
    if not len(found.request):  # as long as the map has no runs, its columns have no type
        return pa.nulls(requests, kind)
    if given.kind in STATISTICS:
        return _statistics(given.kind, found, name, requests)
    values = _order_values(given.order, type_, _drop_nulls(found, name), name)
    if not len(values.request):
        return pa.nulls(requests, kind)
    results = _COLLECTED[given.kind](values, given.parameter)
    places = np.full(requests, -1)
    places[values.request] = np.arange(len(values.request))
    return results.take(pa.array(places, mask=places < 0))


def make_lists(made: ViewList, type_: Type, found: Slices, requests: int) -> pa.Array:
    """A list of a view for each request, as people see it.

    Args:
        made: which list.
        type_: of the map's last key.
        found: its entries; their free columns are the keys after the group's, and the map's name is that of their values.
        requests: how many there are.
    """
    values = _order_values(made.order, type_, found, made.map)
    counts = np.ones_like(values.counts) if made.distinct else values.counts
    if made.limit is not None and len(counts):
        before = np.cumsum(counts) - counts  # of each request, how many come before a value
        before -= np.repeat(before[values.starts], np.diff(np.append(values.starts, len(counts))))
        counts = np.clip(made.limit - before, 0, counts)
    lengths = np.zeros(requests, np.int64)
    lengths[values.request] = np.add.reduceat(counts, values.starts) if len(values.starts) else 0
    items = values.values.take(pa.array(np.repeat(np.arange(len(counts)), counts)))
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)])).cast(pa.int32())
    missing = None if made.empty else pa.array(lengths == 0)
    return pa.ListArray.from_arrays(offsets, to_logical(items, type_), mask=missing)


def _drop_nulls(found: Slices, name: str) -> Slices:
    """The deltas whose last key is not NULL."""
    known = np.flatnonzero(found.free[-1].is_valid().to_numpy(zero_copy_only=False))
    if len(known) == len(found.request):
        return found
    columns = tuple(c.take(pa.array(known)) for c in found.free)
    return Slices(found.request[known], columns, {name: found.values[name][known]})


def _order_values(order_by: Sequence[tuple[bool, bool]], type_: Type, found: Slices, name: str) -> _Values:
    """Equal keys are one; those that are there no more are none."""
    columns = found.free
    places = [*order_by, *[(False, True)] * (len(columns) - len(order_by))]
    ranks = [_rank(column, *place) for column, place in zip(columns, places, strict=True)]
    request, counts = found.request, found.values[name]
    order = np.lexsort((*reversed(ranks), request))
    request, counts, ranks = request[order], counts[order], [r[order] for r in ranks]
    fresh = np.flatnonzero(_changes([request, *ranks]))
    counts = sum_ranges(counts, fresh) if len(fresh) else counts
    kept = counts > 0
    chosen, counts = fresh[kept], counts[kept]
    starts = np.flatnonzero(_changes([request[chosen]]))
    return _Values(columns[-1].take(pa.array(order[chosen])), counts, starts, request[chosen][starts], type_)


def _changes(columns: list[np.ndarray]) -> np.ndarray:
    """Where a row differs from the one before."""
    if not len(columns[0]):
        return np.zeros(0, dtype=bool)
    return np.r_[True, np.logical_or.reduce([c[1:] != c[:-1] for c in columns])]


def _rank(column: pa.Array, descending: bool, first: bool) -> np.ndarray:
    """Places in the order, the same for equal values; 0 or beyond all others for NULL."""
    places = pc.rank(column, sort_keys="ascending", tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    end = len(column) + 1
    placed = end - places if descending else places
    return np.where(column.is_null().to_numpy(zero_copy_only=False), 0 if first else end + 1, placed)


def _continuous(given: _Values, fraction: Decimal | str | None) -> pa.Array:
    """Between two neighbours: ``(low * (whole - part) + high * part) / whole`` is one division."""
    exact = Fraction(fraction or 0)
    place = (given.rows() - 1).astype(object) * exact.numerator
    below = (place // exact.denominator).astype(np.int64)
    part = (place % exact.denominator).astype(np.int64)
    low, high = given.at(below), given.at(below + (part > 0))
    whole = exact.denominator
    if pa.types.is_int64(low.type) and whole * 10**given.type.scale <= 10**POWER_EXACT:
        a, b = (x.to_numpy(zero_copy_only=False) for x in (low, high))
        if max(np.abs(a.astype(np.float64)).max(), np.abs(b.astype(np.float64)).max()) * whole < DOUBLE_EXACT:
            return pa.array((a * (whole - part) + b * part) / float(whole * 10**given.type.scale))
    parts = [Fraction(int(p), whole) for p in part]
    pairs = zip(_plain(low, given.type), _plain(high, given.type), parts, strict=True)
    return pa.array([interpolated(a, b, p) for a, b, p in pairs], pa.float64())


def _plain(values: pa.Array, type_: Type) -> list[object]:
    wide = Type("decimal", 38, type_.scale) if type_.kind == "decimal" else type_
    return list(to_logical(values, wide).to_pylist())


def _discrete(given: _Values, fraction: Decimal | str | None) -> pa.Array:
    exact = Fraction(fraction or 0)
    upwards = -(-(given.rows().astype(object) * exact.numerator) // exact.denominator)
    return given.at(np.maximum(upwards.astype(np.int64) - 1, 0))


def _mode(given: _Values, _: Decimal | str | None) -> pa.Array:
    group = np.repeat(np.arange(len(given.starts)), np.diff(np.r_[given.starts, len(given.counts)]))
    best = np.lexsort((np.arange(len(group)), -given.counts, group))
    return given.values.take(pa.array(best[given.starts]))


def _list(given: _Values, separator: Decimal | str | None) -> pa.Array:
    texts = given.values.take(pa.array(np.repeat(np.arange(len(given.counts)), given.counts)))
    offsets = np.r_[0, np.cumsum(given.rows())].astype(np.int32)
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), str(separator or ""))


def _bits(combine: np.ufunc, odd: bool = False) -> Callable[[_Values, Decimal | str | None], pa.Array]:
    def compute(given: _Values, _: Decimal | str | None) -> pa.Array:
        units = given.values.to_numpy(zero_copy_only=False)
        return pa.array(combine.reduceat(np.where(given.counts % 2 == 0, 0, units) if odd else units, given.starts))

    return compute


def _by_group(kind: str) -> Callable[[_Values, Decimal | str | None], pa.Array]:
    """What has no twin here: one group after the other, by the reference."""

    def compute(given: _Values, parameter: Decimal | str | None) -> pa.Array:
        entries = list(zip(_plain(given.values, given.type), given.counts.tolist(), strict=True))
        ends = [*given.starts[1:].tolist(), len(entries)]
        groups = (entries[start:end] for start, end in zip(given.starts.tolist(), ends, strict=True))
        return pa.array([COLLECTED[kind](group, parameter) for group in groups], pa.float64())

    return compute


_COLLECTED: Mapping[str, Callable[[_Values, Decimal | str | None], pa.Array]] = {
    "percentile_cont": _continuous,
    "percentile_disc": _discrete,
    "mode": _mode,
    "list": _list,
    "product": _by_group("product"),
    "mad": _by_group("mad"),
    "bit_and": _bits(np.bitwise_and),
    "bit_or": _bits(np.bitwise_or),
    "bit_xor": _bits(np.bitwise_xor, odd=True),
}


# Statistics of DOUBLEs: as whole numbers of one unit, a power of two, they have exact sums.


MANTISSA = 53


def _statistics(kind: str, found: Slices, name: str, requests: int) -> pa.Array:
    """A statistic for each request, of the last free column, and of the one before if it is one of pairs."""
    columns = found.free[-1 : -3 if takes_pairs(kind) else -2 : -1]
    known = np.flatnonzero(np.logical_and.reduce([c.is_valid().to_numpy(zero_copy_only=False) for c in columns]))
    chosen = [c.take(pa.array(known)) for c in columns]
    request, ranks = found.request[known], [_rank(c, descending=False, first=True) for c in chosen]
    order = np.lexsort((*ranks, request))
    fresh = np.flatnonzero(_changes([request[order], *(r[order] for r in ranks)]))
    counts = sum_ranges(found.values[name][known][order], fresh) if len(fresh) else np.zeros(0, np.int64)
    kept = counts > 0
    place, counts = order[fresh[kept]], counts[kept]
    x = np.array([c.to_numpy(zero_copy_only=False).astype(np.float64)[place] for c in chosen])
    starts = np.flatnonzero(_changes([request[place]]))
    result: list[float | None] = [None] * requests
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(place)], strict=False):
        sums = _exact_sums(kind, x[:, start:end], counts[start:end].astype(object))
        result[int(request[place[start]])] = compute_statistic(kind, int(counts[start:end].sum()), sums)
    return pa.array(result, pa.float64())


def _exact_sums(kind: str, x: np.ndarray, counts: np.ndarray) -> list[Fraction] | None:
    """The sums that a statistic needs, each product as often as its count says; None if a number is not finite."""
    if not np.isfinite(x).all():
        return None
    mantissas, exponents = np.frexp(x)
    least = int(exponents.min())
    whole = (mantissas * 2.0**MANTISSA).astype(np.int64).astype(object) << (exponents - least).astype(object)
    named = dict(zip("xy", whole, strict=False))
    unit = Fraction(2) ** (least - MANTISSA)
    products = ((len(c), math.prod(named[letter] for letter in c)) for c in STATISTICS[kind])
    return [unit**power * int(np.dot(product, counts)) for power, product in products]


# Window functions over partitions at several points in time: one partition after the other, by :mod:`m3.windows`.


POINT = "_point"
Partition = dict[tuple[Any, ...], int]


def window_rows(
    windowing: Windowing, source: MapDecl, keys: Sequence[pa.Array], entries: Slices
) -> tuple[np.ndarray, tuple[pa.Array, ...], np.ndarray]:
    """The rows of many partitions with the functions' results.

    Args:
        windowing: the derivation.
        source: declaration of the map with the rows.
        keys: the partition's keys at each point.
        entries: for each point the entries of its partition, unsummed; ``free`` are the row's other columns.

    Returns:
        per row of the result: its point, its columns beyond the partition's keys, its multiplicity.
    """
    if [f.op for f in windowing.functions] == [NUMBERS]:
        return _repeat_rows(windowing, keys, entries)
    points: list[int] = []
    rows: list[tuple[Any, ...]] = []
    counts: list[int] = []
    names = [k.name for k in source.keys]
    for point, partition in _partitions(windowing, source, keys, entries).items():
        for row, count in _number_rows(windowing, names, partition).items():
            points.append(point)
            rows.append(row[windowing.partition :])
            counts.append(count)
    types = [k.type for k in source.keys[windowing.partition :]] + [f.type for f in windowing.functions]
    types += [INT] * windowing.flagged
    columns = tuple(_column([row[i] for row in rows], type_) for i, type_ in enumerate(types))
    return np.array(points, dtype=np.int64), columns, np.array(counts, dtype=np.int64)


def _repeat_rows(
    windowing: Windowing, keys: Sequence[pa.Array], entries: Slices
) -> tuple[np.ndarray, tuple[pa.Array, ...], np.ndarray]:
    """Each row that is there with every number from 1 up to its only key; each is a partition of its own."""
    entry = {POINT: pa.array(entries.request), VALUE: to_column(entries.values[windowing.source])}
    held = sum_exactly(pa.table(entry), [POINT], [VALUE])
    there = pc.greater(held[VALUE], pa.scalar(0).cast(held[VALUE].type))
    points = held.filter(there)[POINT].to_numpy()
    counts = pc.fill_null(keys[0], 0).take(pa.array(points)).to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.maximum(counts, 0)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    numbers = np.arange(1, len(before) + 1, dtype=np.int64) - before
    return np.repeat(points, counts).astype(np.int64), (pa.array(numbers),), np.ones(len(numbers), dtype=np.int64)


def _number_rows(windowing: Windowing, names: Sequence[str], partition: Partition) -> Partition:
    try:
        return windowed(windowing.functions, names, partition, flagged=windowing.flagged)
    except ValueProblem as problem:
        raise InputProblem(problem.message, kind=problem.kind, hint=problem.hint, place=windowing.map) from problem


def _partitions(
    windowing: Windowing, source: MapDecl, keys: Sequence[pa.Array], entries: Slices
) -> dict[int, Partition]:
    """The rows of each point's partition, as people see them, with their multiplicities."""
    names = [f"c{i}" for i in range(len(entries.free))]
    columns = [pa.array(entries.request), *entries.free, to_column(entries.values[windowing.source])]
    table = pa.table(dict(zip([POINT, *names, VALUE], columns, strict=True)))
    table = sum_exactly(table, [POINT, *names], [VALUE])
    points = table[POINT].combine_chunks()
    held = [k.take(points) for k in keys] + [table[n].combine_chunks() for n in names]
    lists = [to_logical(c, wide(k.type)).to_pylist() for c, k in zip(held, source.keys, strict=True)]
    found: dict[int, Partition] = {}
    for point, count, *row in zip(points.to_pylist(), table[VALUE].to_pylist(), *lists, strict=True):
        if count > 0:
            found.setdefault(point, {})[tuple(row)] = int(count)
    return found


def _column(values: Sequence[Any], type_: Type) -> pa.Array:
    return canonical(to_physical(pa.array(values, logical_type(wide(type_))), type_))


def wide(type_: Type) -> Type:
    """A decimal with all digits that there are."""
    return Type("decimal", 38, type_.scale, type_.nullable) if type_.kind == "decimal" else type_
