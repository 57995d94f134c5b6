"""The files that checked events become, and the batches that these are: nothing of it is in the catalog yet.

A file does not say where its stamps begin, and is of one batch, whichever that will be. So it can be written before anybody knows how many
rows come before it: by several processes at the same time, each some of the rows. Whoever has what all of them say puts it together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog.records import LogFile, NewBatch, NewQuarantine
from cumulus_ops.files.columns import OFFSET, SIGN, VERSION
from cumulus_ops.files.landed import piece_rows
from cumulus_ops.files.log_files import NO_RANGES, add_ranges, known_numbers
from cumulus_ops.files.new_files import Backlog, NewFile, close_files
from cumulus_ops.files.projection import as_stored
from cumulus_ops.project.settings import BATCH_ROWS
from cumulus_ops.project.versions import STATEMENT_BITS, event_version
from m3.program import Relation

__all__ = ["LogWriter", "Room", "Written", "WrittenLog", "cut_batches", "file_rows"]


#: A file of the log has so many pieces of its delivery: half a million rows where a batch may have a million.
FILE_PIECES = 4
STAMP = pa.field(VERSION, pa.int64(), nullable=False)
#: So many small files are open at once, and made durable together.
OPEN_FILES = 64
#: What fewer rows take in memory is not asked, for that takes 40 microseconds.
WEIGHED_ROWS = 1 << 12


def file_rows(batch_rows: int) -> int:
    """How many rows a file of the log has at the most, but for an event that has more."""
    return min(batch_rows, FILE_PIECES * piece_rows(batch_rows))


class Room(NamedTuple):
    """How many rows a batch has at the most, but for a file that has more; and how many bytes they take in memory, if they are more than :data:`BATCH_ROWS`
    (None: it does not matter)."""

    rows: int
    bytes: int | None = None

    def is_left(self, rows: int, size: int) -> bool:
        """Whether a batch may have so many rows that take ``size`` bytes."""
        return rows <= self.rows and (self.bytes is None or rows <= BATCH_ROWS or size <= self.bytes)


class WrittenLog(NamedTuple):
    """A file of the log that is of no batch yet, how many of its rows are inserts, and how many bytes its rows take in memory, unless they are few."""

    file: LogFile
    inserts: int
    bytes: int


class Written(NamedTuple):
    """What some rows of a delivery became, in their order: files of the log and of the quarantine, and how many rows had come before."""

    log: tuple[WrittenLog, ...]
    quarantine: tuple[NewQuarantine, ...]
    repeats: int

    def paths(self) -> Iterator[str]:
        """The files."""
        yield from (log.file.path for log in self.log)
        yield from (file.path for file in self.quarantine)

    def discard(self, root: Path) -> None:
        """Delete the files: they will not be appended."""
        for path in self.paths():
            (root / path).unlink(missing_ok=True)


@dataclass
class _Log:
    """A log file in the making; offsets are inclusive. ``ranges`` of the offsets of its rows, None if they are many."""

    file: NewFile
    relation: str
    source: str
    min_offset: int
    max_offset: int
    inserts: int = 0
    bytes: int = 0
    ranges: np.ndarray | None = field(default_factory=lambda: NO_RANGES)

    def written(self) -> WrittenLog:
        file, offsets = self.file, (self.min_offset, self.max_offset)
        log = LogFile(0, self.relation, file.path, file.rows, self.source, *offsets, file.checksums)
        return WrittenLog(log, self.inserts, self.bytes)


@dataclass
class _Rejected:
    """A quarantine file in the making, and how many rows it has of each kind of reason."""

    file: NewFile
    relation: str
    source: str
    transactional: bool
    reasons: Counter[str] = field(default_factory=Counter)

    def written(self) -> NewQuarantine:
        about = (self.source, dict(self.reasons), self.transactional, self.file.checksums)
        return NewQuarantine(self.relation, self.file.path, self.file.rows, *about)


@dataclass
class _Part:
    """What was written since the last cut."""

    log: list[_Log] = field(default_factory=list)
    quarantine: dict[str, _Rejected] = field(default_factory=dict)
    repeats: int = 0

    def written(self) -> Written:
        return Written(
            tuple(log.written() for log in self.log), tuple(r.written() for r in self.quarantine.values()), self.repeats
        )


class LogWriter:
    """Writes events and rejected rows in their order, to files under fresh names.

    Args:
        root: the state folder.
        limit: how many rows a log file has at the most, but for an event that has more.
        label: what the names of the files begin with.
        room: how many bytes may wait to be written (:class:`~cumulus_ops.files.new_files.Backlog`).
    """

    def __init__(self, root: Path, limit: int, label: str = "", room: int = 0) -> None:
        self._root, self._limit, self._label = root, limit, label
        self._parts: list[tuple[int, _Part | Written]] = []
        self._place = 0
        self._part = self._begin()
        self._open = list[NewFile]()
        self._backlog = Backlog(room)

    def add(self, of: Relation, source: str, rows: pa.Table) -> None:
        """Write events of a relation: whole atomic events."""
        if len(rows) == 0:
            return
        relation, rows = of.name, as_stored(of, rows)
        last = self._part.log[-1] if self._part.log else None
        offsets = rows[OFFSET].to_numpy()
        lowest, highest = int(offsets[0]), int(offsets[-1])
        # Stamps follow the order of rows, so a file goes on only as long as no other has begun.
        if (
            last is None
            or (last.relation, last.source) != (relation, source)
            or last.file.rows + len(rows) > self._limit
        ):
            if last is not None and last.file.rows + len(rows) > self._limit:
                last.file.end()
            schema = rows.schema.append(STAMP)
            last = _Log(self._new_file(f"log/{relation}", schema), relation, source, lowest, highest)
            self._part.log.append(last)
        stamps = np.arange(last.file.rows, last.file.rows + len(rows), dtype=np.int64) << STATEMENT_BITS
        last.file.write(rows.append_column(STAMP, pa.array(stamps)))
        last.ranges = add_ranges(last.ranges, offsets)
        last.min_offset, last.max_offset = min(last.min_offset, lowest), max(last.max_offset, highest)
        last.inserts += int(np.count_nonzero(rows[SIGN].to_numpy() > 0))
        last.bytes += rows.nbytes if len(rows) >= WEIGHED_ROWS else 0

    def count_repeats(self, rows: int) -> None:
        """Count rows that the log has already."""
        self._part.repeats += rows

    def leave_out(self, relation: str, source: str, rejected: pa.Table, *, transactional: bool = False) -> None:
        """Write rejected rows to the quarantine."""
        if len(rejected) == 0:
            return
        if relation not in self._part.quarantine:
            file = self._new_file(f"quarantine/{relation}", rejected.schema)
            self._part.quarantine[relation] = _Rejected(file, relation, source, transactional)
        self._part.quarantine[relation].file.write(rejected)
        counts = pc.value_counts(rejected["kind"])
        kinds = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
        self._part.quarantine[relation].reasons.update(dict(kinds))

    def begin(self, place: int) -> None:
        """Have what comes now stand behind what has lower places, whatever is written first."""
        self._place = place
        self._part = self._begin()

    def cut(self) -> None:
        """Have what comes now written to other files."""
        if self._part.log or self._part.quarantine:
            self._part = self._begin()

    def adopt(self, written: Written) -> None:
        """Take what others have written of the rows that come next."""
        self._parts.append((self._place, written))
        self._part = self._begin()

    def finish(self) -> list[Written]:
        """What was written, from cut to cut, in the order of places; all of it is durable."""
        self._close(self._open)
        parts = [part for _, part in sorted(self._parts, key=itemgetter(0))]
        mine = [part for part in parts if isinstance(part, _Part)]
        for log in (log for part in mine for log in part.log):
            if log.ranges is not None:
                known_numbers.put(log.file.path, log.ranges)
        return [part.written() if isinstance(part, _Part) else part for part in parts]

    def discard(self) -> None:
        """Delete what was written: it will not be appended."""
        for _, part in self._parts:
            if isinstance(part, Written):
                part.discard(self._root)
                continue
            for file in (*(log.file for log in part.log), *(r.file for r in part.quarantine.values())):
                file.discard()

    def _begin(self) -> _Part:
        part = _Part()
        self._parts.append((self._place, part))
        return part

    def _new_file(self, folder: str, schema: pa.Schema) -> NewFile:
        if len(self._open) >= OPEN_FILES:
            part = self._part  # to whose files rows may still be added
            going_on = [*(log.file for log in part.log[-1:]), *(rejected.file for rejected in part.quarantine.values())]
            self._close([file for file in self._open if file not in going_on])
        file = NewFile(self._root, folder, schema, self._label, backlog=self._backlog)
        self._open.append(file)
        return file

    def _close(self, files: list[NewFile]) -> None:
        close_files(files)
        self._open = [file for file in self._open if file not in files]


@dataclass
class _Batch:
    """A batch in the making."""

    inserts: int = 0
    deletes: int = 0
    duplicates: int = 0
    bytes: int = 0
    log: list[LogFile] = field(default_factory=list)
    quarantine: list[NewQuarantine] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.inserts + self.deletes


def cut_batches(
    written: Iterable[Written], coordinator: int, drop: str, epoch: int, sequence: int, room: Room, space: str = ""
) -> list[NewBatch]:
    """The batches that the files of a drop are, in their order, and where the stamps of each file begin.

    Args:
        written: what was written of it.
        coordinator: whose drop it is.
        drop: its name.
        epoch: the coordinator's open epoch.
        sequence: the place in it of the next event.
        room: how much a batch has at the most.
        space: whose names ``drop`` is among.

    Returns:
        at least one batch.

    Raises:
        InputProblem: the epoch has no room for so many events.
    """
    batches, end = [_Batch()], sequence
    for part in written:
        for file, inserts, size in part.log:
            if batches[-1].rows and not room.is_left(batches[-1].rows + file.rows, batches[-1].bytes + size):
                batches.append(_Batch())
            batch, first = batches[-1], event_version(epoch, coordinator, end)
            end += file.rows
            event_version(epoch, coordinator, end - 1)  # checks the bounds
            batch.log.append(replace(file, first_version=first))
            batch.inserts += inserts
            batch.bytes += size
            batch.deletes += file.rows - inserts
        batches[-1].quarantine += part.quarantine
        batches[-1].duplicates += part.repeats
    new, end = list[NewBatch](), sequence
    for place, batch in enumerate(batches):
        counts = (batch.inserts, batch.deletes, sum(q.rows for q in batch.quarantine), batch.duplicates)
        span, end = (end, end + batch.rows), end + batch.rows
        files = (tuple(batch.log), tuple(batch.quarantine))
        new.append(NewBatch(coordinator, drop, epoch, *span, *counts, *files, place, space=space))
    return new
