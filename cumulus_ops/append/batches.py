"""The batches that a drop becomes: stamped, written row group by row group, and not yet in the catalog."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog.records import LogFile, NewBatch, NewQuarantine
from cumulus_ops.files.columns import OFFSET, SIGN, VERSION
from cumulus_ops.files.log_files import KEPT_ROWS, NewFile, close_files, fresh_offsets
from cumulus_ops.files.projection import as_stored
from cumulus_ops.project.versions import STATEMENT_BITS, event_version
from m3.program import Relation

__all__ = ["DropBatches"]


@dataclass
class _Events:
    """The log file of one relation; offsets are inclusive. ``offsets``: of all its rows, if they are few."""

    file: NewFile
    source: str
    min_offset: int
    max_offset: int
    offsets: list[np.ndarray] = field(default_factory=list)


@dataclass
class _Rejected:
    """The quarantine file of one relation, and how many rows it has of each kind of reason."""

    file: NewFile
    source: str
    transactional: bool
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass
class _Batch:
    """A batch in the making. ``sequence`` is the place of its first event in the coordinator's epoch."""

    sequence: int
    inserts: int = 0
    deletes: int = 0
    duplicates: int = 0
    log: dict[str, _Events] = field(default_factory=dict)
    quarantine: dict[str, _Rejected] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return self.inserts + self.deletes

    def files(self) -> list[NewFile]:
        return [*(e.file for e in self.log.values()), *(r.file for r in self.quarantine.values())]


class DropBatches:
    """Takes a drop's events in their order, and starts another batch when one is full.

    Args:
        root: the state folder.
        coordinator: whose drop it is.
        drop: its name.
        epoch: the coordinator's open epoch.
        sequence: the place in it of the next event.
        limit: how many rows a batch has at the most.
        label: what the names of its files begin with.
        space: whose names ``drop`` is among.
    """

    def __init__(
        self,
        root: Path,
        coordinator: int,
        drop: str,
        epoch: int,
        sequence: int,
        limit: int,
        label: str = "",
        space: str = "",
    ) -> None:
        self._root, self._coordinator, self._drop, self._epoch = root, coordinator, drop, epoch
        self._space = space
        self._limit, self._label = limit, label
        self._batches = [_Batch(sequence)]

    def add(self, of: Relation, source: str, rows: pa.Table) -> None:
        """Stamp and write events of a relation: whole atomic events, which stay in one batch."""
        if len(rows) == 0:
            return
        relation, rows = of.name, as_stored(of, rows)
        batch = self._batches[-1]
        # An event with more rows than a batch may have is a batch by itself.
        if batch.rows and batch.rows + len(rows) > self._limit:
            close_files(batch.files())
            self._batches.append(batch := _Batch(batch.sequence + batch.rows))
        sequence = batch.sequence + batch.rows
        event_version(self._epoch, self._coordinator, sequence + len(rows) - 1)  # checks the bounds
        first = event_version(self._epoch, self._coordinator, sequence)
        stamps = first + (np.arange(len(rows), dtype=np.int64) << STATEMENT_BITS)
        rows = rows.append_column(VERSION, pa.array(stamps))
        offsets = rows[OFFSET].to_numpy()
        lowest, highest = int(offsets[0]), int(offsets[-1])
        if relation not in batch.log:
            file = NewFile(self._root, f"log/{relation}", rows.schema, self._label)
            batch.log[relation] = _Events(file, source, lowest, highest)
        events = batch.log[relation]
        events.file.write(rows)
        events.offsets = [*events.offsets, offsets] if events.file.rows <= KEPT_ROWS else []
        events.min_offset, events.max_offset = min(events.min_offset, lowest), max(events.max_offset, highest)
        inserts = int(np.count_nonzero(rows[SIGN].to_numpy() > 0))
        batch.inserts += inserts
        batch.deletes += len(rows) - inserts

    def count_repeats(self, rows: int) -> None:
        """Count rows that the log has already."""
        self._batches[-1].duplicates += rows

    def leave_out(self, relation: str, source: str, rejected: pa.Table, *, transactional: bool = False) -> None:
        """Write rejected rows to the quarantine."""
        batch = self._batches[-1]
        if len(rejected) == 0:
            return
        if relation not in batch.quarantine:
            file = NewFile(self._root, f"quarantine/{relation}", rejected.schema, self._label)
            batch.quarantine[relation] = _Rejected(file, source, transactional)
        batch.quarantine[relation].file.write(rejected)
        counts = pc.value_counts(rejected["kind"])
        kinds = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
        batch.quarantine[relation].reasons.update(dict(kinds))

    def finish(self) -> list[NewBatch]:
        """What the catalog is to append: at least one batch; all files are durable."""
        close_files(self._batches[-1].files())
        for events in (events for batch in self._batches for events in batch.log.values() if events.offsets):
            fresh_offsets.put(events.file.path, np.concatenate(events.offsets))
        new = []
        for part, batch in enumerate(self._batches):
            span = (batch.sequence, batch.sequence + batch.rows)
            quarantined = sum(r.file.rows for r in batch.quarantine.values())
            counts = (batch.inserts, batch.deletes, quarantined, batch.duplicates)
            log = tuple(
                LogFile(0, relation, e.file.path, e.file.rows, e.source, e.min_offset, e.max_offset, e.file.checksums)
                for relation, e in batch.log.items()
            )
            quarantine = tuple(
                NewQuarantine(
                    relation,
                    r.file.path,
                    r.file.rows,
                    r.source,
                    dict(r.reasons),
                    r.transactional,
                    r.file.checksums,
                )
                for relation, r in batch.quarantine.items()
            )
            whose = (self._coordinator, self._drop, self._epoch)
            new.append(NewBatch(*whose, *span, *counts, log, quarantine, part, space=self._space))
        return new

    def discard(self) -> None:
        """Delete what was written: it will not be appended."""
        for batch in self._batches:
            for file in batch.files():
                file.discard()
