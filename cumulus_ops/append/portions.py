"""Portions of a delivery that are read, checked and written by other processes, several at the same time.

What comes of a portion follows from its rows alone where nothing else decides about them: no key, no seal, no transaction, and no number that has
come before. A file does not say where its stamps begin (:mod:`cumulus_ops.append.batches`), so how many rows others accept is no matter either. A
portion goes the same way here and there, by the functions below, and becomes the same files: :mod:`cumulus_ops.append.append` has
what is between them.

Files that a call has written, and that nobody takes, are garbage of the step that they are named by: of calls that die, and of those that were made twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.batches import LogWriter, Written, file_rows
from cumulus_ops.append.checks import RelationEvents, check
from cumulus_ops.append.delivery import Delivery, Part, Portion
from cumulus_ops.append.rejected import without_events
from cumulus_ops.files.columns import OFFSET, RawFile
from cumulus_ops.files.landed import changes, event_cuts, piece_rows
from cumulus_ops.project.errors import CumulusError
from cumulus_ops.project.settings import Project
from m3.program import Relation

if TYPE_CHECKING:  # tasks import this, and no catalog
    from cumulus_ops.catalog.catalog import Catalog

__all__ = ["Beside", "MakeCalls", "leave_out", "number_rows", "write_beside", "write_rows"]


log = logging.getLogger(__name__)


#: Makes calls, which can be pickled, and may be made several times. What they return, in their order.
MakeCalls = Callable[[Sequence[Callable[[], Any]]], list[Any]]


class Beside(Protocol):
    """Who knows other processes."""

    def __call__(self, rows: int, calls: int) -> MakeCalls | None:
        """What makes calls in other processes, several at the same time; None if they are not worth it.

        Args:
            rows: how many the calls go through together, about.
            calls: how many they are.
        """


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


@dataclass(frozen=True)
class _WritePortion:
    """Reads, checks and writes a portion of which nothing but its rows decides."""

    root: Path
    label: str
    batch_rows: int
    relation: Relation
    insert_only: bool
    source: str
    place: str
    base: int
    read: Callable[[], Iterator[RawFile]]

    def __call__(self) -> Written:
        writer = LogWriter(self.root, file_rows(self.batch_rows), self.label)
        try:
            for events in check(self.relation, self.read(), self.source, self.place, insert_only=self.insert_only):
                source, rows = (self.source, events.rows) if events.numbered else number_rows(events, self.base)
                write_rows(writer, self.relation, source, rows, piece_rows(self.batch_rows))
                leave_out(writer, events, [events.rejected])
            (written,) = writer.finish()
        except BaseException:
            writer.discard()
            raise
        return written


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
        except (CumulusError, OSError) as problem:
            return _Failed(str(problem))


def write_beside(
    project: Project,
    catalog: Catalog,
    delivery: Delivery,
    parts: Sequence[Part],
    label: str,
    base: Callable[[], int],
    beside: Beside,
) -> dict[str, list[Written]]:
    """Have other processes write parts of a delivery, as far as nothing but their rows decides about them, if there are enough of these.

    Args:
        project: the project.
        catalog: its catalog.
        delivery: what is appended; its files' hashes are made there, too.
        parts: those of its parts that are to be written.
        label: of the step that appends.
        base: gives where the offsets of events without numbers begin.
        beside: who may write them.

    Returns:
        the place of a part -> what became of its portions, in their order. All others are left to this process, and so is what goes wrong: it sees for itself.
    """
    alone = [part for part in parts if _stands_alone(project, delivery, part)]
    cut = {part.place: (part, part.portions()) for part in alone if part.portions}
    rows = sum(portion.rows for _, portions in cut.values() for portion in portions)
    make = beside(rows, sum(len(portions) for _, portions in cut.values()))
    if make is None:  # before the catalog is asked anything: most deliveries are small
        return {}
    found = {place: one for place, one in cut.items() if not _may_be_known(catalog, delivery, *one)}
    calls: list[Callable[[], Any]] = [
        _WritePortion(
            project.state,
            label,
            project.least_batch_rows,
            project.relation(part.relation),
            part.relation in project.insert_only,
            _source(delivery, part),
            part.place,
            0 if portion.is_numbered else base(),
            portion.read,
        )
        for part, portions in found.values()
        for portion in portions
    ]
    hashes = delivery.hashing.hash_calls() if delivery.hashing else ()
    # The largest first, and hashes last: then all who make calls end at about the same time, however different portions are.
    sizes = [portion.rows for _, portions in found.values() for portion in portions]
    order = sorted(range(len(calls)), key=lambda number: -sizes[number])
    try:
        results = make([_Attempt(one) for one in (*(calls[number] for number in order), *hashes)]) if calls else []
    except Exception as error:  # whatever it was, there is another way
        log.warning("%s: is appended by one process, for several have failed: %s", delivery.place, str(error)[:500])
        return {}
    made = results[len(calls) :]
    if delivery.hashing and calls and not any(isinstance(one, _Failed) for one in made):
        delivery.hashing.take_hashes(made)
    written = dict(zip(order, results, strict=False))
    left, taken = iter(written[number] for number in range(len(calls))), dict[str, list[Written]]()
    for place, (part, portions) in found.items():
        mine = [next(left) for _ in portions]
        if _is_right(catalog, delivery, part, mine):
            taken[place] = mine
        else:
            for one in (one for one in mine if isinstance(one, Written)):
                one.discard(project.state)
    return taken


def _source(delivery: Delivery, part: Part) -> str:
    return f"{delivery.source}/{part.relation}"


def _stands_alone(project: Project, delivery: Delivery, part: Part) -> bool:
    """Whether nothing but a part's rows, and which numbers there have been, decides about them."""
    return not delivery.transactional and part.relation not in project.keys and part.relation not in project.seals


def _may_be_known(catalog: Catalog, delivery: Delivery, part: Part, portions: Sequence[Portion]) -> bool:
    """Whether the log may have events with the numbers of a part, as far as these are known."""
    lowest, highest = portions[0].lowest, portions[-1].highest  # from portion to portion they ascend
    if lowest is None or highest is None:
        return False
    return bool(catalog.log.files_within(_source(delivery, part), lowest, highest))


def _is_right(catalog: Catalog, delivery: Delivery, part: Part, results: Sequence[Written | _Failed]) -> bool:
    """Whether all portions of a part were written, and none of their events has come before."""
    for result in results:
        if isinstance(result, _Failed):
            log.info("%s: is read again by one process: %s", part.place, result.why)
            return False
    source = _source(delivery, part)
    files = [one.file for result in results if isinstance(result, Written) for one in result.log]
    numbers = [n for file in files if file.source == source for n in (file.min_offset, file.max_offset)]
    return not numbers or not catalog.log.files_within(source, min(numbers), max(numbers))
