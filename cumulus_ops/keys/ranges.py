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

from collections.abc import Iterable, Iterator, Sequence
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
from cumulus_ops.keys.runs import Entries, KeyFile, in_code_order, join_entries, open_run
from cumulus_ops.keys.stage import Resolved, leave_out, rejected_rows, resolve_rows
from m3.datatypes import STRING
from m3.program import Column, Relation

__all__ = ["JudgeRange", "Sorted", "Sorter", "Verdict", "Verdicts", "by_portion", "cut_portions"]


#: A portion has fewer rows than that.
ROW_BITS = 40
#: Sorted rows are written as a run when so many bytes wait; a range of codes has about as many at the most, and so many rows.
SORTED_BYTES = RANGE_BYTES = 1 << 28
RANGE_ROWS = 1 << 19
#: Of so many codes of sorted rows one is looked at where ranges are cut.
SAMPLED = 1 << 10
_NONE = np.zeros(0, np.int64)


class Sorted(NamedTuple):
    """The rows of a portion in the order of their keys, in ``runs`` of a file of their own, whose counts are signs, and whose stamps are places, twice, and one
    more where an event begins. ``bytes``: in memory. ``sample``: some of their codes. ``has_wide_events``: whether an event has rows of several keys."""

    runs: tuple[NewKeyRun, ...]
    rows: int
    bytes: int
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
        self._begin, self._rows, self._bytes, self._is_wide = portion << ROW_BITS, 0, 0, False
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
        self._bytes += values.nbytes
        if (
            sum(part.rows for part in self._waiting) >= SORTED_ROWS
            or sum(part.table.nbytes for part in self._waiting) >= SORTED_BYTES
        ):
            self._write()

    def finish(self) -> Sorted:
        """What was written."""
        self._write()
        self._file.close(durable=False)
        return Sorted(tuple(self._runs), self._rows, self._bytes, np.concatenate([*self._sample, _NONE]), self._is_wide)

    def discard(self) -> None:
        """Delete it."""
        self._file.discard()

    def _write(self) -> None:
        if self._waiting:
            entries = in_code_order(self._waiting)
            run = self._file.write(self._relation, [entries])
            assert run is not None
            self._runs.append(run)
            self._sample.append(entries.codes[min(SAMPLED, entries.rows) // 2 :: SAMPLED].copy())
            self._waiting.clear()


def cut_portions(portions: Sequence[Sorted]) -> list[Range]:
    """Cut the codes of all portions into ranges of limited size; a code with more is in one all the same."""
    rows, size = (sum(getattr(part, name) for part in portions) for name in ("rows", "bytes"))
    sample = np.concatenate([part.sample for part in portions])
    return cut_ranges(sample, max(-(-rows // RANGE_ROWS), -(-size // RANGE_BYTES)))


class ByPlace(NamedTuple):
    """A table with a row for each of some places, which ascend, as a run of a file of its own; ``portions``: the numbers of those whose places they are."""

    run: NewKeyRun
    portions: frozenset[int]

    @staticmethod
    def write(root: Path, label: str, relation: Relation, places: np.ndarray, rows: pa.Table) -> ByPlace | None:
        """Write rows with the relation's columns; None if there are none."""
        file = KeyFile(root, label)
        by_place = in_code_order([Entries(places, np.ones(len(places), np.int64), places, rows)])
        run = file.write(_without_key(relation), [by_place])
        file.close(durable=False)
        return None if run is None else ByPlace(run, frozenset(np.unique(places >> ROW_BITS).tolist()))

    @staticmethod
    def read(
        root: Path, relation: Relation, runs: Sequence[NewKeyRun], places: range
    ) -> tuple[np.ndarray, pa.Table | None]:
        """Which of some places have a row in one of several runs, ascending, and those; None if there are none."""
        without_key, found = _without_key(relation), list[Entries]()
        for run in runs:
            opened = open_run(root, without_key, run)
            begin, end = find_window(opened, Range(places.start, places.stop))
            if begin < end:
                found.append(opened.part(begin, end, [column.name for column in relation.columns]))
        if not found:
            return _NONE, None
        whole = in_code_order(found)
        return whole.codes, whole.table


def _without_key(relation: Relation) -> Relation:
    """The relation without its key, which would stand for the codes of runs that are sorted by something else."""
    return replace(relation, key=())


class Verdict(NamedTuple):
    """What was found in a range. ``run``: what the index is to know of its keys, None if that is nothing. ``reasons``: why rows are rejected, by their places; ``looked_at``: the
    codes of what this rests on. ``old``: rows that others take away, by the places of these."""

    run: NewKeyRun | None = None
    looked_at: np.ndarray = _NONE
    reasons: ByPlace | None = None
    old: ByPlace | None = None

    def paths(self) -> Iterator[str]:
        """Its files."""
        if self.run is not None:
            yield self.run.path
        yield from (found.run.path for found in (self.reasons, self.old) if found is not None)


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
            return Verdict()
        runs, places = [open_run(self.root, self.relation, run) for run in self.index], rows.stamps >> 1
        judged = self.judge.judge(rows.table, rows.counts.astype(np.int8), runs, rows.codes)
        reasons, looked_at = None, _NONE
        if len(judged.violations()):
            if self.has_wide_events:
                return None
            events = np.cumsum(rows.stamps & 1)  # an event's rows are beside each other, for they have one code
            judged, rejections = settle(judged, events, runs)
            is_accepted = rejections.accepted(rows.rows)
            reasons = self._write_reasons(rejections, places)
            looked_at, places = np.unique(rows.codes[~is_accepted]), places[is_accepted]
        return Verdict(self._write_run(judged), looked_at, reasons, self._write_old(judged, places))

    def _read(self) -> Entries | None:
        names, found = [c.name for c in self.relation.columns], list[Entries]()
        for run in self.portions:
            opened = open_run(self.root, self.relation, run)
            begin, end = find_window(opened, self.codes)
            if begin < end:
                found.append(opened.part(begin, end, names))
        return join_entries(found) if found else None

    def _write_reasons(self, rejections: Rejections, places: np.ndarray) -> ByPlace | None:
        reasons = pa.table([*zip(*rejections.reasons.values(), strict=True)], names=Reason._fields)
        rejected = places[np.fromiter(rejections.reasons, np.int64)]
        return ByPlace.write(self.root, self.label, _reasons_of(self.relation), rejected, reasons)

    def _write_run(self, judged: Judged) -> NewKeyRun | None:
        """What is new of the keys."""
        if len(judged.rows) == 0:
            return None
        file = KeyFile(self.root, self.label)
        run = file.write(self.relation, [judged.entries()])
        file.close()
        return run

    def _write_old(self, judged: Judged, places: np.ndarray) -> ByPlace | None:
        """The rows that accepted ones, at such places, take away."""
        if self.judge.mode != "upsert" or len(judged.rows) == 0:
            return None
        takers, old, _ = judged.resolve()
        return None if old is None else ByPlace.write(self.root, self.label, self.relation, places[takers], old)


def _reasons_of(relation: Relation) -> Relation:
    """What the reasons for rejected rows are kept as."""
    return Relation(relation.name, tuple(Column(name, STRING) for name in Reason._fields))


@dataclass(frozen=True)
class Verdicts:
    """What was found about the rows of one portion, number ``portion``. ``reasons`` and ``old``: the runs of all ranges that have some."""

    root: Path
    relation: Relation
    is_upsert: bool
    portion: int
    reasons: tuple[NewKeyRun, ...]
    old: tuple[NewKeyRun, ...]

    @property
    def has_changes(self) -> bool:
        """Whether not all rows are accepted as they are."""
        return bool(self.reasons or self.old)

    def resolve(self, rows: pa.Table, begin: int) -> Resolved:
        """What becomes of a piece of the portion, behind ``begin`` other rows; see :meth:`~cumulus_ops.keys.stage.KeyStage.resolve`."""
        first = (self.portion << ROW_BITS) + begin
        mine = range(first, first + len(rows))
        places, why = ByPlace.read(self.root, _reasons_of(self.relation), self.reasons, mine)
        reasons = [] if why is None else [Reason(**reason) for reason in why.to_pylist()]
        rejections = Rejections(dict(zip((places - first).tolist(), reasons, strict=True)))
        accepted = leave_out(rows, rejections) if reasons else rows
        if self.is_upsert:
            takers, old = ByPlace.read(self.root, self.relation, self.old, mine)
            row_of = np.cumsum(rejections.accepted(len(rows))) - 1
            accepted = resolve_rows(accepted, row_of[takers - first], old, accepted[SIGN].to_numpy() != -1)
        return Resolved(accepted, rejected_rows(rows, rejections))


def by_portion(root: Path, relation: Relation, mode: str, verdicts: Sequence[Verdict], portions: int) -> list[Verdicts]:
    """What was found in all ranges of a part, for each of its portions."""

    def runs(found: Iterable[ByPlace | None], portion: int) -> tuple[NewKeyRun, ...]:
        return tuple(one.run for one in found if one is not None and portion in one.portions)

    return [
        Verdicts(
            root,
            relation,
            mode == "upsert",
            n,
            runs((v.reasons for v in verdicts), n),
            runs((v.old for v in verdicts), n),
        )
        for n in range(portions)
    ]
