"""Ranges of a copy's sort order: what a merge of more rows than one task's memory holds is cut into (docs/adr/0092).

Search codes mean something in their own run alone. So rows of several runs are compared by their *place*: a pair of numbers that follows from a row's key
and version alone, and does not descend within a run in its first number:

- ``lead``: the key columns that are in the code of every run, as offsets in frames that hold all of them; then what all codes have of a hash;
- ``spread``: a hash of the whole key and the version. It cuts what has one lead: a hot leading key, or a copy that is sorted for no column.

Whatever is to be summed has one place, and so comes into one range. Where the cuts are is found from samples of the runs, always the same ones: tasks that
do a range each need not tell each other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from cumulus_ops.maps.columns import hash_columns, to_numpy
from cumulus_ops.maps.deltas import VERSION, versions
from cumulus_ops.maps.encodings import Frame
from cumulus_ops.maps.runs import CODE_BITS, RunData, collapse_versions, sum_sorted

__all__ = ["Ranges"]


#: So many rows show where a range ends. Each may cost a block of 64 KiB that is read and verified, some 30 microseconds.
SAMPLES = 32
#: A lead with more samples is cut, one with fewer is in one range: then a look-up of a leading key finds it in one run, and no range is
#: longer than the others by more than this.
HOT_SAMPLES = 8
#: As many rows are read at a time: what lies between their bytes and their columns stays in the caches.
READ_ROWS = 1 << 17


@dataclass(frozen=True)
class Ranges:
    """The rows of some ``runs`` of one copy in ``number`` parts, about equal, of which each has its own keys and versions.

    ``committed`` and ``oldest_retained`` say which versions are raised (:func:`~cumulus_ops.maps.runs.collapse_versions`): what becomes one row is in one part.
    """

    runs: Sequence[RunData]
    number: int
    committed: int
    oldest_retained: int

    def merge(self, part: int, key_names: Sequence[str], limit_rows: int) -> pa.Table:
        """The deltas of one part, summed.

        Args:
            part: which one, from 0 on.
            key_names: names of the group's key columns.
            limit_rows: as many rows are held before they are summed.
        """
        values = list(dict.fromkeys(name for run in self.runs for name in run.values))
        path, waiting, rows = self.runs[0].path, list[pa.Table](), 0
        for place, run in enumerate(self.runs):
            for chosen in self._choose_rows(place, part, min(limit_rows, READ_ROWS)):
                table = run.table(key_names, values, chosen)
                raised = collapse_versions(versions(table), self.committed, self.oldest_retained)
                waiting.append(table.set_column(table.column_names.index(VERSION), VERSION, pa.array(raised)))
                rows += len(chosen)
                # More than a part should have: of one key at one version, which cannot be cut, and becomes one row.
                if rows > 2 * limit_rows:
                    waiting = [sum_sorted(path, waiting, key_names)]
                    rows = len(waiting[0])
        return sum_sorted(path, waiting or [self.runs[0].table(key_names, values, np.zeros(0, np.int64))], key_names)

    # Places.

    @cached_property
    def _frames(self) -> list[tuple[int, Frame]]:
        """The key columns in the lead, and frames that hold all numbers of theirs."""
        found, bits = list[tuple[int, Frame]](), 0
        for parts in zip(*(run.search.parts for run in self.runs), strict=False):  # as many as all have
            frame = _join_frames([part.frame for part in parts])
            bits += frame.largest.bit_length()
            if bits > CODE_BITS:
                break
            found.append((parts[0].key, frame))
        return found

    @cached_property
    def _hash_bits(self) -> int:
        """How many bits of the codes' hashes are in the lead: of hashes of the same columns, the highest ones."""
        if any(len(run.search.parts) != len(self._frames) for run in self.runs):
            return 0
        left = CODE_BITS - sum(frame.largest.bit_length() for _, frame in self._frames)
        return min(left, *(run.search.hash_bits for run in self.runs))

    def _leads(self, run: RunData, rows: np.ndarray) -> np.ndarray:
        found = np.zeros(len(rows), np.uint64)
        for position, frame in self._frames:
            if bits := frame.largest.bit_length():
                column = run.keys[position].take(rows)
                valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else None
                offsets = frame.codes(to_numpy(column), valid)
                found = offsets if bits == CODE_BITS else found << np.uint64(bits) | offsets
        if bits := self._hash_bits:
            assert run.codes is not None
            hashes = run.codes.at(rows).astype(np.uint64) & np.uint64(2**run.search.hash_bits - 1)
            found = found << np.uint64(bits) | hashes >> np.uint64(run.search.hash_bits - bits)
        return found

    def _spreads(self, run: RunData, rows: np.ndarray) -> np.ndarray:
        raised = collapse_versions(run.versions.units(rows), self.committed, self.oldest_retained)
        return hash_columns([*(key.take(rows) for key in run.keys.values()), pa.array(raised)], len(rows))

    # Where the parts begin and end.

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        """The places where all parts but the first one begin."""
        stride = max(1, sum(run.rows for run in self.runs) // (self.number * SAMPLES))
        starts = [0, *itertools.accumulate(run.rows for run in self.runs)]
        # Of all runs together every so many rows, for there may be many small ones.
        samples = [np.arange(-start % stride, run.rows, stride) for run, start in zip(self.runs, starts, strict=False)]
        leads = np.concatenate([self._leads(run, rows) for run, rows in zip(self.runs, samples, strict=True)])
        _, which, counts = np.unique(leads, return_inverse=True, return_counts=True)
        hot = counts[which] > HOT_SAMPLES
        spreads = np.zeros(len(leads), np.uint64)
        begin = 0
        for run, rows in zip(self.runs, samples, strict=True):
            mine = hot[begin : begin + len(rows)]
            spreads[begin : begin + len(rows)][mine] = self._spreads(run, rows[mine])
            begin += len(rows)
        order = np.lexsort((spreads, leads))
        cuts = order[len(order) * np.arange(1, self.number) // self.number]
        return list(zip(leads[cuts].tolist(), spreads[cuts].tolist(), strict=True))

    @cached_property
    def _edges(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each run and each bound, the rows from the first (inclusive) to the last (exclusive) with the bound's lead, or the place where they would be."""
        leads = np.array([lead for lead, _ in self._bounds], np.uint64)
        found = []
        for run in self.runs:
            low, high = np.zeros(2 * len(leads), np.int64), np.full(2 * len(leads), run.rows)
            # All binary searches go on at once, those for the first rows and those behind the last ones.
            while (open_ := low < high).any():
                middle = (low + high) >> 1
                first, last = np.split(self._leads(run, np.minimum(middle, run.rows - 1)), 2)
                before = np.concatenate([first < leads, last <= leads])
                low, high = np.where(open_ & before, middle + 1, low), np.where(open_ & ~before, middle, high)
            first, last = np.split(low, 2)
            found.append((first, last))
        return found

    def _choose_rows(self, place: int, part: int, limit_rows: int) -> Iterator[np.ndarray]:
        """The rows of a run that are in a part, so many at a time."""
        run, (firsts, lasts) = self.runs[place], self._edges[place]
        is_first, is_last = part == 0, part + 1 == self.number
        begin, inner = (0, 0) if is_first else (int(firsts[part - 1]), int(lasts[part - 1]))
        outer, end = (run.rows, run.rows) if is_last else (int(firsts[part]), int(lasts[part]))
        # Rows with the lead of a bound are at the edges, and asked for their spread: if both bounds have the same one, there are no others.
        for start, stop in ((begin, inner), (inner, outer), (max(inner, outer), end)):
            for row in range(start, stop, limit_rows):
                rows = np.arange(row, min(row + limit_rows, stop))
                if row < inner:
                    rows = rows[self._spreads(run, rows) >= np.uint64(self._bounds[part - 1][1])]
                if row >= outer:
                    rows = rows[self._spreads(run, rows) < np.uint64(self._bounds[part][1])]
                if len(rows):
                    yield rows


def _join_frames(frames: Sequence[Frame]) -> Frame:
    """The frame of all numbers of some frames; NULL comes last in it, as in each of them."""
    spans = [(f.base, f.base + f.largest - (f.null is not None)) for f in frames]
    some = [span for span in spans if span[0] <= span[1]]  # the others have nothing but NULL
    low = min((first for first, _ in some), default=0)
    width = max((last for _, last in some), default=low - 1) - low
    is_null = any(f.null is not None for f in frames)
    return Frame(low, width + is_null, width + 1 if is_null else None)
