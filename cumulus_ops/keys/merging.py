"""Merging key runs: as many as there are of a size become one of the next, so that an entry is written again as often as the logarithm
of the index's size, and a look-up has few runs to look into."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import KeyRun, NewKeyRun
from cumulus_ops.keys.columns import KeyCodes, in_key_order
from cumulus_ops.keys.runs import Entries, KeyFile, Run, join_entries, open_run, signature, stamped_epoch
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.processes import Beside, reach
from cumulus_ops.project.settings import Project
from m3.program import Relation

if TYPE_CHECKING:  # tasks import this, and no catalog
    from cumulus_ops.catalog.catalog import Catalog

__all__ = [
    "ALL",
    "RUN_ROWS",
    "Keep",
    "Range",
    "cut_ranges",
    "find_window",
    "group_parts",
    "merge_runs",
    "pick",
    "slice_runs",
    "sort_newest_first",
    "tidy_keys",
]


#: So many units of about one size are merged.
FAN = 8
CHUNK_ROWS = 1 << 15
SMALLEST_ROWS = 1 << 12
#: A merge that has more entries writes several runs, whose codes do not overlap.
RUN_ROWS = 1 << 20

#: So many codes for each range are looked at where a merge is cut into ranges.
CODES_PER_RANGE = 64

#: From counts and stamps to which entries stay.
Keep = Callable[[np.ndarray, np.ndarray], np.ndarray]
log = logging.getLogger(__name__)


class Range(NamedTuple):
    """Codes from ``begin`` to below ``end``; None: from the lowest on, or to the highest."""

    begin: int | None
    end: int | None


ALL = Range(None, None)


def cut_ranges(sample: np.ndarray, parts: int) -> list[Range]:
    """Cut all codes into ranges with about as many of a sample in each; all entries of a code are in one.

    >>> cut_ranges(np.array([9, 3, 20, 9]), 2)
    [Range(begin=None, end=9), Range(begin=9, end=None)]
    """
    ordered, parts = np.sort(sample), min(parts, len(sample))
    bounds = np.unique(ordered[[len(ordered) * i // parts for i in range(1, parts)]]).tolist() if parts > 1 else []
    return [Range(begin, end) for begin, end in zip([None, *bounds], [*bounds, None], strict=True)]


def find_window(run: Run, codes: Range) -> tuple[int, int]:
    """Where in a run a range of codes begins, and where it ends (exclusive)."""
    bounds = np.array([0 if bound is None else bound for bound in codes], np.int64)
    begin, end = find_begins(run, bounds).tolist()
    return 0 if codes.begin is None else begin, run.rows if codes.end is None else end


def sort_newest_first(runs: Sequence[KeyRun]) -> list[KeyRun]:
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


def merge_runs(
    key: KeyCodes, runs: Sequence[Run], names: Sequence[str], keep: Keep | None = None, codes: Range = ALL
) -> Iterator[Entries]:
    """The newest entry of each key, in the order of their codes, some thousands at a time.

    Args:
        key: what they are entries of.
        runs: newest first.
        names: the relation's columns.
        keep: which entries stay; None for all of them.
        codes: of which range.
    """
    runs = [run for run in runs if run.rows]
    in_order = sorted(runs, key=lambda run: (run.lowest, run.highest))
    if all(a.highest < b.lowest for a, b in pairwise(in_order)):  # as when keys ascend: nothing has to be sorted
        for run in in_order:
            begin, end = find_window(run, codes)
            begins = range(begin, end, CHUNK_ROWS)
            yield from _keep((run.part(i, min(i + CHUNK_ROWS, end), names) for i in begins), keep)
        return
    for parts in slice_runs(runs, names, codes):
        newest = parts[0]
        if (
            len(parts) > 1
        ):  # the first entry of each key, as runs are newest first and the order of keys keeps that of their rows
            whole = join_entries(parts)
            order = in_key_order(key, whole.codes, whole.table)
            chosen = order.at(np.flatnonzero(order.first))
            rows = whole.table.select(list(names)).take(pa.array(chosen))
            newest = Entries(order.codes[order.first], whole.counts[chosen], whole.stamps[chosen], rows)
        yield from _keep([newest], keep)


def _keep(parts: Iterable[Entries], keep: Keep | None) -> Iterator[Entries]:
    for part in parts:
        stays = None if keep is None else keep(part.counts, part.stamps)
        if stays is None or stays.all():
            yield part
        elif stays.any():
            rows = part.table.filter(pa.array(stays))
            yield Entries(part.codes[stays], part.counts[stays], part.stamps[stays], rows)


def slice_runs(runs: Sequence[Run], names: Sequence[str], codes: Range = ALL) -> Iterator[list[Entries]]:
    """Parts of all runs for one range of codes after the other, so narrow that there are few entries in each; none divides a code."""
    if not runs:
        return
    step = max(1, CHUNK_ROWS // 8)
    windows = [find_window(run, codes) for run in runs]
    sample = np.sort(np.concatenate([run.codes_at(np.arange(*w, step)) for run, w in zip(runs, windows, strict=True)]))
    bounds = np.unique(sample[8::8])
    places = [
        np.concatenate([[begin], find_begins(run, bounds), [end]])
        for run, (begin, end) in zip(runs, windows, strict=True)
    ]
    for i in range(len(bounds) + 1):
        parts = [r.part(int(p[i]), int(p[i + 1]), names) for r, p in zip(runs, places, strict=True) if p[i] < p[i + 1]]
        if parts:
            yield parts


def find_begins(run: Run, bounds: np.ndarray) -> np.ndarray:
    """Where in a run the codes begin that are not below each of some bounds."""
    begins = np.where(bounds > run.highest, run.rows, 0)
    inside = (bounds > run.lowest) & (bounds <= run.highest)
    begins[inside] = run.find(bounds[inside])
    return begins


def group_parts(parts: Iterable[Entries], rows: int) -> Iterator[Iterator[Entries]]:
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


# Keeping the number of key runs small, in proportion to what is appended.


def tidy_keys(project: Project, catalog: Catalog, label: str, beside: Beside | None = None) -> int:
    """Merge runs of the indexes that have too many of one size. When others do the same at the same time, it is left to them.

    Args:
        project: the project.
        catalog: its catalog.
        label: of the step that does it.
        beside: knows other processes, for large merges; None if there are none.

    Returns:
        the number of runs that were replaced.
    """
    sizes = catalog.key_indexes.runs() if project.keys else {}
    crowded = [r for r in project.relations if r.name in project.keys and pick(sizes.get(r.name, []))]
    return sum(_tidy(project, catalog, relation, label, beside) for relation in crowded)


def _tidy(project: Project, catalog: Catalog, relation: Relation, label: str, beside: Beside | None) -> int:
    index = catalog.key_indexes.index(relation.name)
    if index is None or index.signature != signature(relation):
        return 0
    chosen = pick([(run.last, run.rows) for run in index.runs])
    runs = sort_newest_first([run for run in index.runs if run.last in chosen])
    if not runs:
        return 0
    # Only with the oldest run merged nothing is below a key that is gone; else an older entry of it would come to light.
    lowest_open = catalog.key_indexes.lowest_open_epoch() if len(runs) == len(index.runs) else None
    merge = _MergeRange(project.state, label, relation, tuple(runs), lowest_open)
    try:
        new = _merge_beside(merge, beside) or merge()
    except Conflict:  # a run is gone
        return 0
    reach("keys.before-merge")
    try:
        catalog.key_indexes.commit_merge(runs, new)
    except (
        Conflict
    ):  # after anything else, a lost connection say, it may be committed: the files stay, and are garbage if it is not
        for path in {run.path for run in new}:
            (project.state / path).unlink(missing_ok=True)
        return 0
    reach("keys.after-merge")
    return len(runs)


@dataclass(frozen=True)
class _MergeRange:
    """Merges a range of some runs, newest first, into new ones. Keys that are gone are forgotten, unless somebody is still in an epoch before that, who has to be told that
    it would come too late; and all of them are kept if ``lowest_open``, the earliest such epoch, is None."""

    root: Path
    label: str
    relation: Relation
    runs: tuple[KeyRun, ...]
    lowest_open: int | None
    codes: Range = ALL

    def __call__(self) -> list[NewKeyRun]:
        file, names = KeyFile(self.root, self.label), [column.name for column in self.relation.columns]
        try:
            opened = [open_run(self.root, self.relation, run) for run in self.runs]
            keep = None if self.lowest_open is None else self._is_living
            parts = merge_runs(KeyCodes.of(self.relation), opened, names, keep, self.codes)
            new = [run for some in group_parts(parts, RUN_ROWS) if (run := file.write(self.relation, some)) is not None]
            file.close()
        except BaseException:
            file.discard()
            raise
        return new

    def _is_living(self, counts: np.ndarray, stamps: np.ndarray) -> np.ndarray:
        return (counts > 0) | (stamped_epoch(stamps) > self.lowest_open)


def _merge_beside(merge: _MergeRange, beside: Beside | None) -> list[NewKeyRun]:
    """Have other processes merge ranges, if that is worth it; nothing is returned if it is not, or if they have failed."""
    rows = sum(run.rows for run in merge.runs)
    make = beside(rows, parts) if beside is not None and (parts := -(-rows // RUN_ROWS)) > 1 else None
    if make is None:
        return []
    step = max(1, rows // (parts * CODES_PER_RANGE))
    opened = [open_run(merge.root, merge.relation, run) for run in merge.runs]
    sample = np.concatenate([run.codes_at(np.arange(0, run.rows, step)) for run in opened])
    try:
        return list(chain.from_iterable(make([replace(merge, codes=codes) for codes in cut_ranges(sample, parts)])))
    except Exception as error:  # whatever it was, there is another way
        log.warning(
            "the key index of %s is merged by one process, for several have failed: %s", merge.relation.name, error
        )
        return []
