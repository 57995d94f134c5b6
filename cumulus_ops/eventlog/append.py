"""Stamping events and appending them to the log, durably, before anything is computed from them.

The log is Parquet files ``log/<relation>/<unique>.parquet`` with the relation's columns, ``_sign`` int8 (+1 insert, -1
delete), ``_offset`` int64 (the event's place in its source) and ``_version`` int64 (its stamp, ascending). Rows of one
atomic event follow each other. Files become part of the log when the catalog names them, never before.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cumulus_ops.catalog import Catalog, LogFile, NewBatch
from cumulus_ops.config import Project
from cumulus_ops.eventlog.readers import RelationEvents, read_drop, split_duplicates
from cumulus_ops.faults import reach
from cumulus_ops.versions import STATEMENT_BITS, event_version

__all__ = ["append_drop", "pending_drops"]


@dataclass(frozen=True)
class _Accepted:
    """The new events of one relation and what was left out."""

    events: RelationEvents
    rows: pa.Table
    duplicates: int


def pending_drops(project: Project, catalog: Catalog, coordinator: int) -> list[Path]:
    """Landed drops of a coordinator that are not in the log yet, in the order of their names.

    Names that begin with a dot or an underscore are still being written.
    """
    folder = project.landing / str(coordinator)
    done = catalog.drops(coordinator)
    names = sorted(p.name for p in folder.iterdir() if p.is_dir()) if folder.is_dir() else []
    return [folder / n for n in names if n not in done and not n.startswith((".", "_"))]


def append_drop(project: Project, catalog: Catalog, coordinator: int, drop: Path) -> int:
    """Append one drop as a stamped batch of the coordinator's open epoch.

    Args:
        project: the project.
        catalog: its catalog.
        coordinator: whose landing folder it came from.
        drop: the drop's folder.

    Returns:
        the new batch's id.

    Raises:
        InputProblem: a file cannot be read or lacks a column.
        Conflict: another process appended for this coordinator meanwhile; nothing was appended.
    """
    epoch, sequence = catalog.position(coordinator)
    reach("append.before-files")
    accepted = [_accept(project, catalog, events) for events in read_drop(project, drop)]
    log_files, next_sequence = _write_log(project.state, accepted, epoch, coordinator, sequence)
    new = NewBatch(
        coordinator,
        drop.name,
        epoch,
        sequence,
        next_sequence,
        _count(accepted, 1),
        _count(accepted, -1),
        sum(len(a.events.rejected) for a in accepted),
        sum(a.duplicates for a in accepted),
        log_files,
        _write_quarantine(project.state, accepted),
    )
    reach("append.before-commit")
    batch = catalog.append(new)
    reach("append.after-commit")
    return batch


def _accept(project: Project, catalog: Catalog, events: RelationEvents) -> _Accepted:
    """Leave out events whose offset the log has from the same source; only files with overlapping offsets are read."""
    rows = events.rows
    if len(rows) == 0:
        return _Accepted(events, rows, 0)
    extremes = pc.min_max(rows["_offset"]).as_py()
    overlapping = [
        f
        for f in catalog.log_files(source=events.source)
        if f.min_offset <= extremes["max"] and f.max_offset >= extremes["min"]
    ]
    if not overlapping:
        return _Accepted(events, rows, 0)
    seen = [pq.read_table(project.state / f.path, columns=["_offset"])["_offset"].to_numpy() for f in overlapping]
    fresh, duplicates = split_duplicates(rows, np.concatenate(seen))
    return _Accepted(events, fresh, duplicates)


def _count(accepted: Sequence[_Accepted], sign: int) -> int:
    return sum(int(pc.sum(pc.equal(a.rows["_sign"], sign)).as_py() or 0) for a in accepted)


def _write_log(
    root: Path, accepted: Sequence[_Accepted], epoch: int, coordinator: int, sequence: int
) -> tuple[tuple[LogFile, ...], int]:
    files = []
    for part in accepted:
        if len(part.rows) == 0:
            continue
        event_version(epoch, coordinator, sequence + len(part.rows) - 1)  # checks the bounds
        first = event_version(epoch, coordinator, sequence)
        stamps = first + (np.arange(len(part.rows), dtype=np.int64) << STATEMENT_BITS)
        path = write_parquet(root, f"log/{part.events.relation}", part.rows.append_column("_version", pa.array(stamps)))
        offsets = pc.min_max(part.rows["_offset"]).as_py()
        source = part.events.source
        files.append(LogFile(0, part.events.relation, path, len(part.rows), source, offsets["min"], offsets["max"]))
        sequence += len(part.rows)
    return tuple(files), sequence


def _write_quarantine(root: Path, accepted: Sequence[_Accepted]) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (
            a.events.relation,
            write_parquet(root, f"quarantine/{a.events.relation}", a.events.rejected),
            len(a.events.rejected),
        )
        for a in accepted
        if len(a.events.rejected)
    )


def write_parquet(root: Path, folder: str, table: pa.Table) -> str:
    """Write a table durably under a fresh name; returns its path relative to ``root``."""
    target = root / folder / f"{uuid.uuid4().hex}.parquet"
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as sink:
        pq.write_table(table, sink, compression="zstd", compression_level=1)
        sink.flush()
        os.fsync(sink.fileno())
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return str(target.relative_to(root))
