"""Cutting a sequence of rows into pieces of limited size that no atomic event crosses."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import numpy as np

__all__ = ["PIECE_ROWS", "changes", "event_cuts", "piece_rows"]

#: Rows that are read, checked and written together: so few that they stay in the processor's caches.
PIECE_ROWS = 1 << 17


def piece_rows(batch_rows: int) -> int:
    """The largest size of pieces of which several fill a batch."""
    return -(-batch_rows // -(-batch_rows // PIECE_ROWS))


def changes(offsets: np.ndarray) -> np.ndarray:
    """The indices at which another event begins than the one before, ascending, without 0."""
    return np.flatnonzero(offsets[1:] != offsets[:-1]) + 1


def event_cuts(begins: Iterable[np.ndarray], total: int, rows: int) -> list[int]:
    """The ends (exclusive) of pieces of at most ``rows`` rows, as large as possible.

    >>> event_cuts([np.array([1, 2]), np.array([7, 8])], 10, 3)
    [2, 7, 10]

    Args:
        begins: where events begin, ascending, in portions of any size.
        total: the number of rows.
        rows: an event with more rows than that is a piece by itself.

    Returns:
        The last one is ``total``, and there is at least one.
    """
    ends: list[int] = []
    start = last = 0  # where the piece begins, and the last place where it may end
    for found in chain(begins, [np.array([total])]):
        while len(found):
            fitting = int(np.searchsorted(found, start + rows, side="right"))
            last = int(found[fitting - 1]) if fitting else last
            if fitting == len(found):
                break
            start = last = last if last > start else int(found[fitting])
            ends.append(start)
            found = found[fitting:]
    return ends if ends and ends[-1] == total else [*ends, total]
