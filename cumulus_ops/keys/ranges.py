"""Keys judged range by range, in calls that may be made by other processes, several at the same time.

1. Whoever reads a portion of a delivery also sorts its rows by the codes of their keys (:class:`Sorter`).
2. The codes are cut into ranges of about as many rows each (:func:`cut_portions`), and each range is judged by itself (:class:`JudgeRange`): all rows of a
   key are in one. What is new of its keys becomes a run of the index.
3. What was said of a portion's rows (:class:`Verdicts`) is put to them when they are written: rejected ones are left out, old rows are taken away.

An event is accepted or rejected as a whole. If its rows are of several keys, a range cannot decide about it alone: where there are such events, and something is
wrong with any, nothing is decided, and whoever appends judges all rows itself, one piece after the other.

A row's **place** is the number of its portion and, below, that of the row among the portion's: places ascend in the order in which the rows came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import KeyRun, NewKeyRun
from cumulus_ops.files.columns import OFFSET, SIGN
from cumulus_ops.keys.building import SORTED_ROWS
from cumulus_ops.keys.columns import plain
from cumulus_ops.keys.judging import Judge, Judged, Reason, Rejections, settle
from cumulus_ops.keys.merging import Range, cut_ranges, find_window
from cumulus_ops.keys.runs import Entries, KeyFile, Run, in_code_order, join_entries, open_run
from cumulus_ops.keys.stage import Resolved, leave_out, rejected_rows, resolve_rows
from m3.program import Relation

__all__ = ["JudgeRange", "Sorted", "Sorter", "Verdict", "Verdicts", "by_portion", "cut_portions"]


#: A portion has fewer rows than that.
ROW_BITS = 40
#: Of so many codes of sorted rows one is looked at where ranges are cut.
SAMPLED = 1 << 10


class Sorted(NamedTuple):
    """The rows of a portion in the order of their keys, in ``runs`` of a file of their own, whose counts are signs, and whose stamps are places, twice, and one
    more where an event begins. ``sample``: some of their codes. ``has_wide_events``: whether an event has rows of several keys."""

    runs: tuple[NewKeyRun, ...]
    rows: int
    sample: np.ndarray
    has_wide_events: bool


class Sorter:
    """Sorts the rows of a portion, which come in pieces of whole events.

    Args:
        root: the state folder.
        label: of the step that appends.
        relation: whose rows they are.
        judge: who will judge them.
        portion: its number.
    """

    def __init__(self, root: Path, label: str, relation: Relation, judge: Judge, portion: int) -> None:
        self._relation, self._judge = relation, judge
        self._file = KeyFile(root, label)
        self._begin, self._rows, self._is_wide = portion << ROW_BITS, 0, False
        self._waiting, self._runs, self._sample = list[Entries](), list[NewKeyRun](), list[np.ndarray]()

    def add(self, rows: pa.Table) -> None:
        """Take checked rows: the relation's columns, ``_sign`` and ``_offset``."""
        if len(rows) == 0:
            return
        values = pa.table([plain(rows[name]) for name in self._judge.names], names=list(self._judge.names))
        codes = self._judge.key.encode(values, self._judge.coordinator)
        offsets = rows[OFFSET].to_numpy()
        begins = np.ones(len(rows), np.int64)
        begins[1:] = offsets[1:] != offsets[:-1]
        self._is_wide |= bool(((begins[1:] == 0) & (codes[1:] != codes[:-1])).any())
        places = np.arange(self._begin + self._rows, self._begin + self._rows + len(rows), dtype=np.int64)
        self._rows += len(rows)
        self._waiting.append(Entries(codes, rows[SIGN].to_numpy().astype(np.int64), 2 * places + begins, values))
        if sum(part.rows for part in self._waiting) >= SORTED_ROWS:
            self._write()

    def finish(self) -> Sorted:
        """What was written."""
        self._write()
        self._file.close(durable=False)
        return Sorted(tuple(self._runs), self._rows, np.concatenate([*self._sample, _NONE]), self._is_wide)

    def discard(self) -> None:
        """Delete it."""
        self._file.discard()

    def _write(self) -> None:
        if self._waiting:
            entries = in_code_order(self._waiting)
            run = self._file.write(self._relation, [entries])
            assert run is not None
            self._runs.append(run)
            self._sample.append(entries.codes[SAMPLED // 2 :: SAMPLED].copy())
            self._waiting.clear()


_NONE = np.zeros(0, np.int64)


def cut_portions(portions: Sequence[Sorted], rows: int) -> list[Range]:
    """Cut the codes of all portions into ranges of about so many rows; a code with more is in one all the same."""
    return cut_ranges(
        np.concatenate([part.sample for part in portions]), -(-sum(part.rows for part in portions) // rows)
    )


class Verdict(NamedTuple):
    """What was found in a range. ``run``: what the index is to know of its keys, None if that is nothing. ``reasons``: place -> why that row is rejected; ``looked_at``: the codes
    of rows that this rests on. ``old``: rows that others take away, by the places of these, in a file of their own; ``portions``: the numbers of those that have such."""

    run: NewKeyRun | None
    reasons: Mapping[int, Reason]
    looked_at: np.ndarray
    old: NewKeyRun | None
    portions: frozenset[int]

    def paths(self) -> Iterator[str]:
        """Its files."""
        yield from (run.path for run in (self.run, self.old) if run is not None)


@dataclass(frozen=True)
class JudgeRange:
    """Judges the rows of one range of codes.

    ``portions``: all rows, sorted, in the order of the portions. ``index``: newest first. ``has_wide_events``: whether an event may have rows in other ranges.
    """

    root: Path
    label: str
    relation: Relation
    judge: Judge
    index: tuple[KeyRun, ...]
    portions: tuple[NewKeyRun, ...]
    codes: Range
    has_wide_events: bool

    def __call__(self) -> Verdict | None:
        """What was found; None if that cannot be decided here."""
        rows = self._read()
        if rows is None:
            return Verdict(None, {}, _NONE, None, frozenset())
        runs = [open_run(self.root, self.relation, run) for run in self.index]
        judged = self._judge(rows, runs)
        reasons, looked_at = dict[int, Reason](), _NONE
        if len(judged.violations()):
            if self.has_wide_events:
                return None
            events = np.cumsum(rows.stamps & 1)  # an event's rows are beside each other, for they have one code
            judged, rejections = settle(judged, events, runs)
            places = rows.stamps >> 1
            reasons = {int(places[row]): reason for row, reason in rejections.reasons.items()}
            looked_at = np.unique(rows.codes[np.isin(events, list(rejections.events))])
            rows = _only(rows, rejections.accepted(rows.rows))
        return self._write(judged, rows.stamps >> 1, reasons, looked_at)

    def _read(self) -> Entries | None:
        names, found = [c.name for c in self.relation.columns], list[Entries]()
        for run in self.portions:
            opened = open_run(self.root, self.relation, run)
            begin, end = find_window(opened, self.codes)
            if begin < end:
                found.append(opened.part(begin, end, names))
        return join_entries(found) if found else None

    def _judge(self, rows: Entries, runs: Sequence[Run]) -> Judged:
        return self.judge.judge(rows.table, rows.counts.astype(np.int8), runs, rows.codes)

    def _write(
        self, judged: Judged, places: np.ndarray, reasons: Mapping[int, Reason], looked_at: np.ndarray
    ) -> Verdict:
        """Write what is new of the keys, and the rows that accepted ones, at such places, take away."""
        new, gone = KeyFile(self.root, self.label), KeyFile(self.root, self.label)
        try:
            run = new.write(self.relation, [judged.entries()]) if len(places) else None
            takers, rows = np.zeros(0, np.int64), None
            if self.judge.mode == "upsert" and len(places):
                found, rows, _ = judged.resolve()
                takers = places[found]
            old = None
            if rows is not None:
                table = pa.table([plain(rows[name]) for name in self.judge.names], names=list(self.judge.names))
                by_place = in_code_order([Entries(takers, np.ones(len(takers), np.int64), takers, table)])
                old = gone.write(without_key(self.relation), [by_place])
            new.close()
            gone.close(durable=False)
        except BaseException:
            new.discard()
            gone.discard()
            raise
        return Verdict(run, reasons, looked_at, old, frozenset(np.unique(takers >> ROW_BITS).tolist()))


def without_key(relation: Relation) -> Relation:
    """The relation without its key, which would stand for the codes of runs that are sorted by something else."""
    return replace(relation, key=())


def _only(rows: Entries, chosen: np.ndarray) -> Entries:
    """Some rows: of each, whether it is one of them."""
    at = np.flatnonzero(chosen)
    return Entries(rows.codes[at], rows.counts[at], rows.stamps[at], rows.table.take(pa.array(at)))


@dataclass(frozen=True)
class Verdicts:
    """What was found about the rows of one portion, number ``portion``. ``reasons`` and ``old``: see :class:`Verdict`, of all ranges."""

    root: Path
    relation: Relation
    is_upsert: bool
    portion: int
    reasons: Mapping[int, Reason]
    old: tuple[NewKeyRun, ...]

    @property
    def has_changes(self) -> bool:
        """Whether not all rows are accepted as they are."""
        return bool(self.reasons or self.old)

    def resolve(self, rows: pa.Table, begin: int) -> Resolved:
        """What becomes of a piece of the portion, behind ``begin`` other rows; see :meth:`~cumulus_ops.keys.stage.KeyStage.resolve`."""
        first = (self.portion << ROW_BITS) + begin
        mine = range(first, first + len(rows))
        rejections = Rejections({place - first: reason for place, reason in self.reasons.items() if place in mine})
        accepted = leave_out(rows, rejections) if rejections.reasons else rows
        if self.is_upsert:
            takers, old = self._read_old(mine)
            row_of = np.cumsum(rejections.accepted(len(rows))) - 1
            accepted = resolve_rows(accepted, row_of[takers - first], old, accepted[SIGN].to_numpy() != -1)
        return Resolved(accepted, rejected_rows(rows, rejections))

    def _read_old(self, places: range) -> tuple[np.ndarray, pa.Table | None]:
        """Which rows at these places take old ones away, ascending, and those."""
        relation, found = without_key(self.relation), list[Entries]()
        for run in self.old:
            opened = open_run(self.root, relation, run)
            begin, end = find_window(opened, Range(places.start, places.stop))
            if begin < end:
                found.append(opened.part(begin, end, [c.name for c in relation.columns]))
        if not found:
            return _NONE, None
        whole = in_code_order(found)
        return whole.codes, whole.table


def by_portion(root: Path, relation: Relation, mode: str, verdicts: Sequence[Verdict], portions: int) -> list[Verdicts]:
    """What was found in all ranges of a part, for each of its portions."""
    reasons: list[dict[int, Reason]] = [{} for _ in range(portions)]
    for place, reason in (one for verdict in verdicts for one in verdict.reasons.items()):
        reasons[place >> ROW_BITS][place] = reason
    old = [tuple(v.old for v in verdicts if v.old is not None and n in v.portions) for n in range(portions)]
    return [Verdicts(root, relation, mode == "upsert", n, reasons[n], old[n]) for n in range(portions)]
