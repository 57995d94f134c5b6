"""Looking keys up in the runs of an index, set at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.keys.codes import KeyCodes
from cumulus_ops.keys.runs import Run

__all__ = ["Found", "look_up"]


@dataclass(frozen=True)
class Found:
    """What an index knows of some keys: ``run`` and ``place`` of the newest entry (-1: there is none), its ``count`` (0 without an entry)
    and its ``stamp`` (-1)."""

    runs: Sequence[Run]
    run: np.ndarray
    place: np.ndarray
    count: np.ndarray
    stamp: np.ndarray

    def rows(self, keys: np.ndarray, names: Sequence[str]) -> pa.Table:
        """The rows of the entries of some keys, which have one, in their order."""
        parts, order = [], []
        for number in np.unique(self.run[keys]).tolist():
            here = np.flatnonzero(self.run[keys] == number)
            parts.append(self.runs[number].take(self.place[keys[here]], names))
            order.append(here)
        table = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        if len(parts) == 1:
            return table
        return table.combine_chunks().take(pa.array(np.argsort(np.concatenate(order))))


def look_up(key: KeyCodes, runs: Sequence[Run], codes: np.ndarray, keys: Callable[[np.ndarray], pa.Table]) -> Found:
    """The newest entry of each key.

    Args:
        key: how keys are coded.
        runs: newest first.
        codes: of different keys, ascending.
        keys: from positions in ``codes`` to the key columns; asked only where equal codes may be of different keys.
    """
    n = len(codes)
    found = Found(
        runs, np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64)
    )
    missing = np.arange(n)
    for number, run in enumerate(runs):
        if len(missing) == 0:
            break
        begin = np.searchsorted(codes[missing], run.lowest)
        end = np.searchsorted(codes[missing], run.highest, side="right")
        if begin == end:
            continue
        candidates = missing[begin:end]
        place = _places(key, run, codes, candidates, keys)
        hit = place >= 0
        at, where = candidates[hit], place[hit]
        found.run[at], found.place[at] = number, where
        found.count[at], found.stamp[at] = run.counts_at(where), run.stamps_at(where)
        if hit.any():
            missing = np.concatenate([missing[:begin], candidates[~hit], missing[end:]])
    return found


def _places(
    key: KeyCodes, run: Run, codes: np.ndarray, wanted: np.ndarray, keys: Callable[[np.ndarray], pa.Table]
) -> np.ndarray:
    """Where in the run the wanted keys are; -1 for those that are not there."""
    sought = codes[wanted]
    lowest = run.find(sought)
    has_code = run.codes_at(np.minimum(lowest, run.rows - 1)) == sought
    place = np.where(has_code, lowest, -1)
    doubtful = np.flatnonzero(has_code & ~key.exact(sought))
    names = list(key.columns)
    while len(doubtful):  # of equal codes most often there is one, so this ends with the first round
        same = key.equal(keys(wanted[doubtful]), run.take(place[doubtful], names))
        doubtful = doubtful[~same]
        place[doubtful] += 1
        over = (place[doubtful] == run.rows) | (
            run.codes_at(np.minimum(place[doubtful], run.rows - 1)) != sought[doubtful]
        )
        place[doubtful[over]] = -1
        doubtful = doubtful[~over]
    return place
