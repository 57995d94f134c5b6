"""Merging key runs: as many as there are of a size become one of the next, so that an entry is written again as often as the logarithm
of the index's size, and a look-up has few runs to look into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import KeyRun
from cumulus_ops.keys.codes import KeyCodes, in_key_order
from cumulus_ops.keys.runs import Entries, Run, together

__all__ = ["limited", "merged", "newest_first", "pick", "sliced"]

#: So many units of about one size are merged.
FAN = 8
CHUNK_ROWS = 1 << 15
SMALLEST_ROWS = 1 << 12
#: A merge that has more entries writes several runs, whose codes do not overlap.
RUN_ROWS = 1 << 20

#: From counts and stamps to which entries stay.
Keep = Callable[[np.ndarray, np.ndarray], np.ndarray]


def newest_first(runs: Sequence[KeyRun]) -> list[KeyRun]:
    """In the order in which they are looked into."""
    return sorted(runs, key=lambda run: (-run.last, run.lowest))


def pick(runs: Sequence[tuple[int, int]]) -> set[int]:
    """Which runs to merge now: the newest ones, none in between left out, as many as possible; none if there are few of each size.

    >>> sorted(pick([(1, 10**6), (5, 900), *((n, 100) for n in range(6, 13))]))
    [5, 6, 7, 8, 9, 10, 11, 12]

    Args:
        runs: of each the latest version of the index that is in it, which those that were written together share, and its rows.
    """
    sizes: dict[int, int] = {}
    for last, rows in sorted(runs, reverse=True):
        sizes[last] = sizes.get(last, 0) + rows
    classes = [_size_class(rows) for rows in sizes.values()]
    best = 0
    for end in range(1, len(classes) + 1):
        highest = max(classes[:end])
        if classes[:end].count(highest) >= FAN or end - classes[:end].count(highest) >= 2 * FAN:
            best = end
    return set(list(sizes)[:best])


def _size_class(rows: int) -> int:
    """
    >>> [_size_class(rows) for rows in (1, 5000, 20000, 10**6)]
    [0, 1, 1, 3]
    """
    return int(np.log2(max(rows, SMALLEST_ROWS) / SMALLEST_ROWS) / np.log2(FAN) + 0.999)


def merged(key: KeyCodes, runs: Sequence[Run], names: Sequence[str], keep: Keep | None = None) -> Iterator[Entries]:
    """The newest entry of each key, in the order of their codes, some thousands at a time.

    Args:
        key: what they are entries of.
        runs: newest first.
        names: the relation's columns.
        keep: which entries stay; None for all of them.
    """
    runs = [run for run in runs if run.rows]
    if _follow_each_other(runs):
        yield from _kept(_slices(sorted(runs, key=lambda run: run.lowest), names), keep)
        return
    for parts in sliced(runs, names):
        yield from _kept([_newest(key, parts, names)], keep)


def _kept(parts: Iterable[Entries], keep: Keep | None) -> Iterator[Entries]:
    for part in parts:
        stays = None if keep is None else keep(part.counts, part.stamps)
        if stays is None or stays.all():
            yield part
        elif stays.any():
            rows = part.table.filter(pa.array(stays))
            yield Entries(part.codes[stays], part.counts[stays], part.stamps[stays], rows)


def _follow_each_other(runs: Sequence[Run]) -> bool:
    """Whether no two overlap, as when keys ascend."""
    ranges = sorted((run.lowest, run.highest) for run in runs)
    return all(a[1] < b[0] for a, b in pairwise(ranges))


def _slices(runs: Sequence[Run], names: Sequence[str]) -> Iterator[Entries]:
    for run in runs:
        for begin in range(0, run.rows, CHUNK_ROWS):
            yield run.part(begin, min(begin + CHUNK_ROWS, run.rows), names)


def sliced(runs: Sequence[Run], names: Sequence[str]) -> Iterator[list[Entries]]:
    """Parts of all runs for one range of codes after the other, so narrow that there are few entries in each; none divides a code."""
    if not runs:
        return
    step = max(1, CHUNK_ROWS // 8)
    sample = np.sort(np.concatenate([run.codes_at(np.arange(0, run.rows, step)) for run in runs]))
    bounds = np.unique(sample[8::8])
    places = [np.concatenate([[0], _begins(run, bounds), [run.rows]]) for run in runs]
    for i in range(len(bounds) + 1):
        parts = [r.part(int(p[i]), int(p[i + 1]), names) for r, p in zip(runs, places, strict=True) if p[i] < p[i + 1]]
        if parts:
            yield parts


def _begins(run: Run, bounds: np.ndarray) -> np.ndarray:
    """Where in a run the codes begin that are not below each of some."""
    begins = np.where(bounds > run.highest, run.rows, 0)
    inside = (bounds > run.lowest) & (bounds <= run.highest)
    begins[inside] = run.find(bounds[inside])
    return begins


def _newest(key: KeyCodes, parts: Sequence[Entries], names: Sequence[str]) -> Entries:
    """The first entry of each key; ``parts`` are newest first."""
    if len(parts) == 1:
        return parts[0]
    whole = together(parts)
    rows = whole.table
    order = in_key_order(key, whole.codes, rows)
    chosen = order.at(np.flatnonzero(order.first))
    codes = order.codes[order.first]
    return Entries(codes, whole.counts[chosen], whole.stamps[chosen], rows.select(list(names)).take(pa.array(chosen)))


def limited(parts: Iterable[Entries], rows: int) -> Iterator[Iterator[Entries]]:
    """The parts, in lots of about so many entries; each lot has to be used up before the next one."""
    rest = iter(parts)

    def lot(first: Entries) -> Iterator[Entries]:
        taken = first.rows
        yield first
        while taken < rows and (part := next(rest, None)) is not None:
            taken += part.rows
            yield part

    while (first := next(rest, None)) is not None:
        yield lot(first)
