"""Sums of DOUBLE over the rows of a group, rounded once: the vectorised twin of :mod:`m3.floats`.

A sum of floats has no delta that could be undone exactly, so a group's values are read anew when one of them changes.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from cumulus_ops.mapstore import Slices, sum_ranges
from m3.floats import rounded_sum

__all__ = ["sum_doubles"]

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
