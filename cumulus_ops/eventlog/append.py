"""Stamping events and appending them to the log, durably, before anything is computed from them.

The log is Parquet files ``log/<relation>/<unique>.parquet`` with the relation's columns, ``_sign`` int8 (+1 insert, -1
delete), ``_offset`` int64 (the event's place in its source) and ``_version`` int64 (its stamp, ascending). Rows of one
atomic event follow each other. Files become part of the log when the catalog names them, never before.

A drop becomes one batch, or several if it has more rows than a batch may have. It is read, checked and written piece by
piece, and appended as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.catalog import Advance, Catalog
from cumulus_ops.config import Project
from cumulus_ops.eventlog.batches import DropBatches
from cumulus_ops.eventlog.cuts import changes, event_cuts, piece_rows
from cumulus_ops.eventlog.delivery import Delivery
from cumulus_ops.eventlog.readers import RelationEvents, check, split_duplicates
from cumulus_ops.eventlog.types import OFFSET
from cumulus_ops.faults import reach
from cumulus_ops.keys import KeyStage, tidy_keys

__all__ = ["append_delivery"]

#: The offsets of log files with at most so many rows are remembered: drops of one source may overlap for long.
KEPT_ROWS = 8192


def append_delivery(project: Project, catalog: Catalog, coordinator: int, delivery: Delivery) -> tuple[int, ...]:
    """Append one delivery to the coordinator's open epoch, as stamped batches of at most ``project.batch_rows`` rows each.

    Args:
        project: the project.
        catalog: its catalog.
        coordinator: whose source it came from.
        delivery: what the source handed over.

    Returns:
        the new batches' ids in their order, at least one. All of them became visible at once.

    Raises:
        InputProblem: a file cannot be read or lacks a column; nothing was appended.
        Conflict: another process appended for this coordinator meanwhile, or this one stood still for too long, or the source was
            at another position; nothing was appended.
    """
    with catalog.step() as step:
        epoch, sequence = catalog.position(coordinator)
        reach("append.before-files")
        batches = DropBatches(
            project.state, coordinator, delivery.name, epoch, sequence, project.batch_rows, step.label
        )
        try:
            with KeyStage(project, catalog, coordinator, epoch, step.label) as keys:
                for events in _checked(project, delivery):
                    rows, duplicates = _new_rows(project, catalog, events)
                    resolved = keys.resolve(events.relation, rows)
                    for piece in _pieces(resolved.rows, piece_rows(project.batch_rows)):
                        batches.add(events.relation, events.source, piece)
                    rejected = pa.concat_tables([events.rejected, resolved.rejected])
                    batches.leave_out(events.relation, rejected, duplicates)
                new = batches.finish()
                keys.finish()
                reach("append.before-commit")
                appended = keys.commit(lambda changes: catalog.append(new, _advance(delivery), changes))
        except BaseException:
            batches.discard()
            raise
        reach("append.after-commit")
        tidy_keys(project, catalog, step.label)
        return appended


def _checked(project: Project, delivery: Delivery) -> Iterator[RelationEvents]:
    relations = {relation.name: relation for relation in project.relations}
    for part in delivery.parts():
        source = f"{delivery.source}/{part.relation}"
        upsert = part.relation in project.keys and project.keys[part.relation].mode == "upsert"
        yield from check(relations[part.relation], part.read(), source, part.place, upsert=upsert)


def _advance(delivery: Delivery) -> Advance | None:
    if delivery.position is None:
        return None
    return Advance(delivery.source, delivery.begin, delivery.position)


def _new_rows(project: Project, catalog: Catalog, events: RelationEvents) -> tuple[pa.Table, int]:
    """Without the events whose offset the log has from the same source; only files with overlapping offsets are read."""
    rows = events.rows
    if len(rows) == 0:
        return rows, 0
    extremes = rows[OFFSET][0].as_py(), rows[OFFSET][-1].as_py()  # they ascend
    overlapping = catalog.log_files(source=events.source, offsets=extremes)
    if not overlapping:
        return rows, 0
    seen = [(_known_offsets if f.rows <= KEPT_ROWS else _offsets)(project.state / f.path) for f in overlapping]
    return split_duplicates(rows, np.concatenate(seen))


def _offsets(file: Path) -> np.ndarray:
    """The offsets of a log file, which never changes."""
    with pq.ParquetFile(file, pre_buffer=False) as log:
        offsets: np.ndarray = log.read(columns=[OFFSET], use_threads=False)[OFFSET].to_numpy()
    return offsets


_known_offsets = lru_cache(maxsize=1024)(_offsets)


def _pieces(rows: pa.Table, limit: int) -> Iterator[pa.Table]:
    """The rows in pieces of limited size; none cuts an atomic event in two."""
    ends = [len(rows)] if len(rows) <= limit else event_cuts([changes(rows[OFFSET].to_numpy())], len(rows), limit)
    for begin, end in pairwise([0, *ends]):
        yield rows.slice(begin, end - begin)
