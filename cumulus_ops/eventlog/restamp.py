"""What is appended of a batch that was set aside: all of it when it is retried; when it is dropped, what later events rest on.

Both go into its coordinator's open epoch, as a batch of its own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import Batch, Catalog, LogFile, NewBatch, Step
from cumulus_ops.config import Project
from cumulus_ops.errors import IntegrityProblem
from cumulus_ops.eventlog.batches import DropBatches
from cumulus_ops.eventlog.files import NewFile
from cumulus_ops.eventlog.types import OFFSET, SIGN, VERSION
from cumulus_ops.keys import KeyStage
from cumulus_ops.keys.deciding import move, take_out
from cumulus_ops.log_files import OpenLog, read_log
from cumulus_ops.versions import event_version

__all__ = ["drop", "restamp"]


def restamp(project: Project, catalog: Catalog, batch: Batch) -> int:
    """Append a batch's events again, as if they came now.

    Args:
        project: the project.
        catalog: its catalog.
        batch: a batch that is set aside.

    Returns:
        the new batch's id.

    Raises:
        Conflict: another process appended for this coordinator meanwhile, or decided about the batch; nothing was changed.
    """
    with catalog.step() as step:
        epoch, sequence = catalog.position(batch.coordinator)
        event_version(epoch, batch.coordinator, sequence + max(0, batch.events - 1))  # checks the bounds
        shift = event_version(epoch, batch.coordinator, sequence) - event_version(
            batch.epoch, batch.coordinator, batch.first_sequence
        )
        log = catalog.log_files(batch=batch.id)
        files = tuple(_moved(project, file, shift, step.label) for file in log)
        counts = (batch.inserts, batch.deletes, 0, 0)  # what was left out stays counted where it was
        end = sequence + batch.events
        part = _next_part(catalog, batch)
        new = NewBatch(
            batch.coordinator,
            batch.drop,
            epoch,
            sequence,
            end,
            *counts,
            files,
            (),
            part,
            batch.id,
            batch.space,
            batch.deaths,
        )
        with KeyStage(project, catalog, batch.coordinator, epoch, step.label) as keys:
            for file in log:
                if file.relation in project.keys:
                    move(keys, file.relation, _rows(project, file), batch, epoch)
            return keys.commit(lambda changes: catalog.append([new], None, changes))[0]


def drop(project: Project, catalog: Catalog, batch: Batch) -> int | None:
    """Decide that a batch's events will never count, but for what later events of their keys rest on, which is appended again.

    Args:
        project: the project.
        catalog: its catalog.
        batch: a batch that is set aside.

    Returns:
        the batch with what is needed; None if nothing is.

    Raises:
        InputProblem: it is not set aside.
        Conflict: another process appended for this coordinator meanwhile, or decided about the batch; nothing was changed.
    """
    with catalog.step() as step:
        epoch, sequence = catalog.position(batch.coordinator)
        with KeyStage(project, catalog, batch.coordinator, epoch, step.label) as keys:
            log = [file for file in catalog.log_files(batch=batch.id) if file.relation in project.keys]
            kept = [(file, rows) for file in log if len(rows := _needed(project, keys, file, batch))]
            if not kept:
                keys.commit(lambda changes: catalog.drop_batch(batch.id, changes))
                return None
            new = _kept(project, catalog, batch, (epoch, sequence), kept, step)
            return keys.commit(lambda changes: catalog.append([new], None, changes, batch.id))[0]


def _needed(project: Project, keys: KeyStage, file: LogFile, batch: Batch) -> pa.Table:
    """What later events rest on. If the log is damaged nobody knows: then the index is built anew, from the log without the batch."""
    names = {c.name for r in project.relations if r.name == file.relation for c in r.columns}
    try:
        rows = _rows(project, file)
    except IntegrityProblem:
        rows = pa.table({})
    if not names <= {*rows.column_names}:
        keys.forget(file.relation)
        return pa.table({})
    return take_out(keys, file.relation, rows, batch)


def _kept(
    project: Project,
    catalog: Catalog,
    batch: Batch,
    position: tuple[int, int],
    kept: list[tuple[LogFile, pa.Table]],
    step: Step,
) -> NewBatch:
    """A batch of some rows."""
    events = sum(len(rows) for _, rows in kept)
    limit = max(1, events)
    batches = DropBatches(project.state, batch.coordinator, batch.drop, *position, limit, step.label, batch.space)
    for file, rows in kept:
        batches.add(file.relation, file.source, rows)
    return replace(batches.finish()[0], part=_next_part(catalog, batch))


def _next_part(catalog: Catalog, batch: Batch) -> int:
    mine = (b for b in catalog.batches(coordinator=batch.coordinator) if b.space == batch.space)
    return 1 + max(b.part for b in mine if b.drop == batch.drop)


def _rows(project: Project, file: LogFile) -> pa.Table:
    """A log file's rows, without their stamps."""
    relation = next(r for r in project.relations if r.name == file.relation)
    names = [*(c.name for c in relation.columns), SIGN, OFFSET]
    return read_log(project.state, file, names)


def _moved(project: Project, file: LogFile, shift: int, label: str) -> LogFile:
    """A copy of a log file whose versions are all later by ``shift``, row group by row group."""
    with OpenLog(project.state, file) as log:
        copy: NewFile | None = None
        for group in range(len(log.groups)):
            table = log.read(groups=[group])
            versions = table[VERSION].combine_chunks().to_numpy() + np.int64(shift)
            table = table.set_column(table.column_names.index(VERSION), VERSION, pa.array(versions))
            copy = copy or NewFile(project.state, f"log/{file.relation}", table.schema, label)
            copy.write(table)
        assert copy is not None  # a log file has rows
        copy.close()
    return replace(file, path=copy.path, checksums=copy.checksums)
