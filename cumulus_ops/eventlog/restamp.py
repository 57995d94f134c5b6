"""Stamping the events of a batch that is set aside again: into its coordinator's open epoch, as a batch of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.catalog import Batch, Catalog, LogFile, NewBatch
from cumulus_ops.config import Project
from cumulus_ops.eventlog.files import NewFile
from cumulus_ops.eventlog.types import VERSION
from cumulus_ops.versions import event_version

__all__ = ["restamp"]


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
        files = tuple(_moved(project, file, shift, step.label) for file in catalog.log_files(batch=batch.id))
        parts = [b.part for b in catalog.batches(coordinator=batch.coordinator) if b.drop == batch.drop]
        counts = (batch.inserts, batch.deletes, 0, 0)  # what was left out stays counted where it was
        end = sequence + batch.events
        new = NewBatch(
            batch.coordinator, batch.drop, epoch, sequence, end, *counts, files, (), max(parts) + 1, batch.id
        )
        return catalog.append([new])[0]


def _moved(project: Project, file: LogFile, shift: int, label: str) -> LogFile:
    """A copy of a log file whose versions are all later by ``shift``, row group by row group."""
    with pq.ParquetFile(project.state / file.path) as log:
        copy: NewFile | None = None
        for group in range(log.num_row_groups):
            table = log.read_row_group(group)
            versions = table[VERSION].combine_chunks().to_numpy() + np.int64(shift)
            table = table.set_column(table.column_names.index(VERSION), VERSION, pa.array(versions))
            copy = copy or NewFile(project.state, f"log/{file.relation}", table.schema, label)
            copy.write(table)
        assert copy is not None  # a log file has rows
        copy.close()
    return replace(file, path=copy.path)
