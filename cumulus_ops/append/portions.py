"""Portions of a delivery that are read, checked and written by other processes, several at the same time.

What comes of a portion follows from its rows alone where nothing else decides about them: no key, no seal, no transaction, and no number that has
come before. A file does not say where its stamps begin (:mod:`cumulus_ops.append.batches`), so how many rows others accept is no matter either. A
portion goes the same way here and there, by the functions below, and becomes the same files: :mod:`cumulus_ops.append.append` has
what is between them.

Where keys decide, too, portions are also sorted by them, and then ranges of keys are judged (:mod:`cumulus_ops.keys.ranges`). A portion is written while it is sorted, as
if all its rows were accepted. Where they are not, it is read again and written as the keys have said; and so is each whose rows may be upserts, of which nobody knows before what they mean.

Files that a call has written, and that nobody takes, are garbage of the step that they are named by: of calls that die, and of those that were made twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.batches import LogWriter, Written, file_rows
from cumulus_ops.append.checks import RelationEvents, check
from cumulus_ops.append.delivery import Delivery, Part, Portion
from cumulus_ops.append.rejected import without_events
from cumulus_ops.files.columns import OFFSET, RawFile
from cumulus_ops.files.landed import changes, event_cuts, piece_rows
from cumulus_ops.keys.judging import Judge
from cumulus_ops.keys.ranges import JudgeRange, Sorted, Sorter, Verdict, Verdicts, by_portion, cut_portions
from cumulus_ops.keys.stage import KeyStage
from cumulus_ops.project.errors import CumulusError
from cumulus_ops.project.processes import Beside, MakeCalls
from cumulus_ops.project.settings import Project
from m3.program import Relation

if TYPE_CHECKING:  # tasks import this, and no catalog
    from cumulus_ops.catalog.catalog import Catalog

__all__ = ["WrittenPart", "leave_out", "number_rows", "write_beside", "write_rows"]


log = logging.getLogger(__name__)


def number_rows(events: RelationEvents, base: int) -> tuple[str, pa.Table]:
    """The source of events that came without numbers, and their rows with offsets from ``base`` on in the place of row numbers, which other deliveries have,
    too. The source is their own, as they say nothing of which numbered events have come."""
    rows = events.rows
    if len(rows):
        rows = rows.set_column(rows.column_names.index(OFFSET), OFFSET, pc.add(rows[OFFSET], base))
    return f"{events.source}/rows", rows


def write_rows(writer: LogWriter, relation: Relation, source: str, rows: pa.Table, limit: int) -> None:
    """Write accepted rows, in pieces of limited size; none cuts an atomic event in two."""
    ends = [len(rows)] if len(rows) <= limit else event_cuts([changes(rows[OFFSET].to_numpy())], len(rows), limit)
    for begin, end in pairwise([0, *ends]):
        writer.add(relation, source, rows.slice(begin, end - begin))


def leave_out(
    writer: LogWriter, events: RelationEvents, rejected: Sequence[pa.Table], *, transactional: bool = False
) -> None:
    """Write rejected rows of some events, as they came."""
    for table in rejected:
        shown = table if events.numbered else without_events(table)
        writer.leave_out(events.relation, events.source, shown, transactional=transactional)


class WrittenPart(NamedTuple):
    """What the portions of a part became, in their order, and whether there are accepted rows of events without numbers, or were before keys were asked."""

    portions: list[Written]
    has_unnumbered: bool


class _Done(NamedTuple):
    """What came of a portion. ``written``: None if that waits for what keys say; ``sorted``: its rows by their keys, if these decide about them. ``numbers``: the lowest
    and the highest of its events, inclusive; None if they have none. ``has_unnumbered``: see :class:`WrittenPart`."""

    written: Written | None
    sorted: Sorted | None
    numbers: tuple[int, int] | None
    has_unnumbered: bool

    def paths(self) -> Iterator[str]:
        """Its files."""
        if self.written is not None:
            yield from self.written.paths()
        if self.sorted is not None:
            yield from (run.path for run in self.sorted.runs)


@dataclass(frozen=True)
class _WritePortion:
    """Reads, checks and writes a portion, number ``number`` of its part. For a ``judge``, its rows are sorted as well; or, if there are ``verdicts``, it is written as these say."""

    root: Path
    label: str
    batch_rows: int
    relation: Relation
    insert_only: bool
    source: str
    place: str
    base: int
    read: Callable[[], Iterator[RawFile]]
    number: int
    judge: Judge | None
    verdicts: Verdicts | None = None

    def __call__(self) -> _Done:
        upsert = self.judge is not None and self.judge.mode == "upsert"
        writer, sorter = LogWriter(self.root, file_rows(self.batch_rows), self.label), None
        if self.judge is not None and self.verdicts is None:
            sorter = Sorter(self.root, self.label, self.relation, self.judge, self.number)
        is_written = sorter is None or not upsert
        numbers, has_unnumbered, begin, pieces = list[int](), False, 0, self.read()
        try:
            for events in check(
                self.relation, pieces, self.source, self.place, upsert=upsert, insert_only=self.insert_only
            ):
                source, rows, rejected = self.source, events.rows, [events.rejected]
                if not events.numbered:
                    source, rows = number_rows(events, self.base)
                    has_unnumbered |= len(rows) > 0
                elif len(rows):
                    numbers += [rows[OFFSET][0].as_py(), rows[OFFSET][-1].as_py()]
                if sorter is not None:
                    sorter.add(rows)
                if self.verdicts is not None:
                    resolved, begin = self.verdicts.resolve(rows, begin), begin + len(rows)
                    rows, rejected = resolved.rows, [events.rejected, resolved.rejected]
                if is_written:
                    write_rows(writer, self.relation, source, rows, piece_rows(self.batch_rows))
                    leave_out(writer, events, rejected)
            (written,) = writer.finish()
            by_key = None if sorter is None else sorter.finish()
        except BaseException:
            writer.discard()
            if sorter is not None:
                sorter.discard()
            raise
        span = (min(numbers), max(numbers)) if numbers else None
        return _Done(written if is_written else None, by_key, span, has_unnumbered)


class _Failed(NamedTuple):
    """Why a call has nothing to return."""

    why: str


@dataclass(frozen=True)
class _Attempt:
    """Makes a call of which something may go wrong that concerns nobody else: a file cannot be read, or not from there."""

    call: Callable[[], Any]

    def __call__(self) -> Any:
        try:
            return self.call()
        except (CumulusError, OSError, pa.ArrowInvalid) as problem:  # Arrow's: more text in one piece than it can hold
            return _Failed(str(problem))


class _OthersFailed(Exception):
    """Nobody has made the calls."""


class _Call(NamedTuple):
    """A call, for which part, and about how many rows it goes through."""

    place: str
    rows: int
    call: Callable[[], Any]


def write_beside(
    project: Project,
    catalog: Catalog,
    delivery: Delivery,
    parts: Sequence[Part],
    label: str,
    base: Callable[[], int],
    keys: KeyStage,
    beside: Beside,
) -> dict[str, WrittenPart]:
    """Have other processes write parts of a delivery, as far as nothing but their rows and keys decides about them, if there are enough of these.

    Args:
        project: the project.
        catalog: its catalog.
        delivery: what is appended; its files' hashes are made there, too.
        parts: those of its parts that are to be written, each of another relation.
        label: of the step that appends.
        base: gives where the offsets of events without numbers begin.
        keys: has judged nothing of them yet; it takes what is new of their keys.
        beside: who may write them.

    Returns:
        the place of a part -> what became of it. All others are left to this process, and so is what goes wrong: it sees for itself.
    """
    alone = [part for part in parts if _stands_alone(project, delivery, part)]
    cut = {part.place: (part, part.portions()) for part in alone if part.portions}
    rows = sum(portion.rows for _, portions in cut.values() for portion in portions)
    make = beside(rows, sum(len(portions) for _, portions in cut.values()))
    if make is None:  # before the catalog is asked anything: most deliveries are small
        return {}
    work = _Work(project, catalog, delivery, label, keys, make)
    try:
        return work.write(cut, base)
    except _OthersFailed as error:  # whatever it was, there is another way
        log.warning("%s: is appended by one process, for several have failed: %s", delivery.place, str(error)[:500])
        return {}
    finally:
        work.discard()


@dataclass(frozen=True)
class _Work:
    """What others do of a delivery. ``results``: all that they have returned; ``kept``: the files of it that are taken."""

    project: Project
    catalog: Catalog
    delivery: Delivery
    label: str
    keys: KeyStage
    make: MakeCalls
    results: list[Any] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)

    def write(
        self, cut: Mapping[str, tuple[Part, Sequence[Portion]]], base: Callable[[], int]
    ) -> dict[str, WrittenPart]:
        """Have portions written, by the places of their parts, and judged by keys."""
        found = {place: one for place, one in cut.items() if not _may_be_known(self.catalog, self.delivery, *one)}
        calls = {place: self._portion_calls(part, portions, base) for place, (part, portions) in found.items()}
        hashes = self.delivery.hashing.hash_calls() if self.delivery.hashing and calls else ()
        sizes = {place: [portion.rows for portion in portions] for place, (_, portions) in found.items()}
        work = [
            _Call(place, rows, call) for place in calls for rows, call in zip(sizes[place], calls[place], strict=True)
        ]
        done = self._make_all([*work, *(_Call("", 0, call) for call in hashes)])
        made = done.pop("", [])
        if self.delivery.hashing and made and not any(isinstance(one, _Failed) for one in made):
            self.delivery.hashing.take_hashes(made)
        done = {
            place: one for place, one in done.items() if _is_right(self.catalog, self.delivery, found[place][0], one)
        }
        by_keys = {place: calls[place] for place in done if calls[place][0].judge is not None}
        taken = {
            place: WrittenPart([one.written for one in portions], any(one.has_unnumbered for one in portions))
            for place, portions in done.items()
            if place not in by_keys
        }
        taken |= self._judge(by_keys, done)
        self.kept.update(path for part in taken.values() for one in part.portions for path in one.paths())
        return taken

    def discard(self) -> None:
        """Delete what was written and is not taken."""
        for path in chain.from_iterable(one.paths() for one in self.results if isinstance(one, _Done | Verdict)):
            if path not in self.kept:
                (self.project.state / path).unlink(missing_ok=True)

    def _make_all(self, calls: Sequence[_Call]) -> dict[str, list[Any]]:
        """What calls return, or why they do not, by their parts, in their order. The largest are made first: then all who make calls end at about the same time, however
        different these are."""
        order = sorted(range(len(calls)), key=lambda number: -calls[number].rows)
        try:
            made = self.make([_Attempt(calls[number].call) for number in order]) if calls else []
        except Exception as error:
            raise _OthersFailed(str(error)) from error
        self.results.extend(made)
        by_number = dict(zip(order, made, strict=True))
        found = {call.place: list[Any]() for call in calls}
        for number, call in enumerate(calls):
            found[call.place].append(by_number[number])
        return found

    def _portion_calls(self, part: Part, portions: Sequence[Portion], base: Callable[[], int]) -> list[_WritePortion]:
        project = self.project
        judge = self.keys.judged_by(part.relation)[0] if part.relation in project.keys else None
        return [
            _WritePortion(
                project.state,
                self.label,
                project.least_batch_rows,
                project.relation(part.relation),
                part.relation in project.insert_only,
                _source(self.delivery, part),
                part.place,
                0 if portion.is_numbered else base(),
                portion.read,
                number,
                judge,
            )
            for number, portion in enumerate(portions)
        ]

    def _judge(
        self, calls: Mapping[str, Sequence[_WritePortion]], done: Mapping[str, Sequence[_Done]]
    ) -> dict[str, WrittenPart]:
        """Have keys judge the parts whose portions are sorted, and have written again what is not as it was written."""
        ranges = [_Call(place, 0, call) for place in calls for call in self._range_calls(calls[place][0], done[place])]
        found = dict[str, list[Verdict]]()
        for place, verdicts in self._make_all(ranges).items():
            if all(isinstance(verdict, Verdict) for verdict in verdicts):
                found[place] = verdicts
            else:
                log.info("%s: its keys are judged by one process, for ranges of them cannot decide", place)
        changed = {place: _find_changed(calls[place], done[place], found[place]) for place in found}
        again = self._make_all([_Call(place, 0, call) for place in changed for call in changed[place]])
        taken = dict[str, WrittenPart]()
        for place, verdicts in found.items():
            new = again.get(place, [])
            if any(isinstance(one, _Failed) for one in new):
                continue
            written = {number: one.written for number, one in enumerate(done[place]) if one.written is not None}
            written |= {call.number: one.written for call, one in zip(changed[place], new, strict=True)}
            runs = [verdict.run for verdict in verdicts if verdict.run is not None]
            self.keys.adopt(calls[place][0].relation.name, runs, np.concatenate([one.looked_at for one in verdicts]))
            self.kept.update(run.path for run in runs)
            taken[place] = WrittenPart(
                [written[number] for number in sorted(written)], any(one.has_unnumbered for one in done[place])
            )
        return taken

    def _range_calls(self, first: _WritePortion, portions: Sequence[_Done]) -> list[JudgeRange]:
        found = [portion.sorted for portion in portions if portion.sorted is not None]
        judge, index = self.keys.judged_by(first.relation.name)
        is_wide, runs = any(one.has_wide_events for one in found), tuple(run for one in found for run in one.runs)
        about = (first.root, first.label, first.relation, judge, index, runs)
        return [JudgeRange(*about, codes, is_wide) for codes in cut_portions(found)]


def _find_changed(
    calls: Sequence[_WritePortion], done: Sequence[_Done], verdicts: Sequence[Verdict]
) -> list[_WritePortion]:
    """What writes the portions that are not what was written, now that keys have said what they have to say."""
    judge = calls[0].judge
    assert judge is not None
    said = by_portion(calls[0].root, calls[0].relation, judge.mode, verdicts, len(calls))
    return [
        replace(call, verdicts=about)
        for call, portion, about in zip(calls, done, said, strict=True)
        if portion.written is None or about.has_changes
    ]


def _source(delivery: Delivery, part: Part) -> str:
    return f"{delivery.source}/{part.relation}"


def _stands_alone(project: Project, delivery: Delivery, part: Part) -> bool:
    """Whether nothing but a part's rows and keys, and which numbers there have been, decides about them."""
    return not delivery.transactional and part.relation not in project.seals


def _may_be_known(catalog: Catalog, delivery: Delivery, part: Part, portions: Sequence[Portion]) -> bool:
    """Whether the log may have events with the numbers of a part, as far as these are known."""
    lowest, highest = portions[0].lowest, portions[-1].highest  # from portion to portion they ascend
    if lowest is None or highest is None:
        return False
    return bool(catalog.log.files_within(_source(delivery, part), lowest, highest))


def _is_right(catalog: Catalog, delivery: Delivery, part: Part, results: Sequence[_Done | _Failed]) -> bool:
    """Whether all portions of a part were read, and none of their events has come before."""
    numbers = list[int]()
    for result in results:
        if isinstance(result, _Failed):
            log.info("%s: is read again by one process: %s", part.place, result.why)
            return False
        numbers += result.numbers or ()
    return not numbers or not catalog.log.files_within(_source(delivery, part), min(numbers), max(numbers))
