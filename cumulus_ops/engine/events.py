"""Reading stamped events back from the log as vectorised input of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cumulus_ops.catalog import LogFile
from cumulus_ops.coordination import BATCH
from cumulus_ops.engine.kernel import Events
from cumulus_ops.engine.vector import Frame
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.mapstore import to_numpy, to_physical
from cumulus_ops.versions import RANKS_MAX, batch_version, epoch_end, epoch_start

__all__ = ["SIGN", "BatchRef", "first_version", "last_version", "load_events", "newest_version", "rows_of", "stamp_of"]

SIGN = "_sign"
STAMP = "_version"


@dataclass(frozen=True)
class BatchRef:
    """An appended batch as the engine sees it: its place in the order and its log files."""

    id: int
    epoch: int
    ticket: int
    files: tuple[LogFile, ...]

    def relations(self) -> set[str]:
        """The relations it has events of."""
        return {f.relation for f in self.files}


def rows_of(batches: Sequence[BatchRef]) -> int:
    """Rows in the log files of ``batches``."""
    return sum(f.rows for b in batches for f in b.files)


def stamp_of(plan: ProgramPlan, batch: BatchRef, relation: str) -> int | None:
    """The version that all events of a relation in the batch share, or None if every event has its own."""
    if plan.granularity != BATCH:
        return None
    return batch_version(batch.epoch, batch.ticket, plan.ranks[relation])


def newest_version(plan: ProgramPlan, batches: Sequence[BatchRef], relation: str) -> int:
    """An upper bound (inclusive) of the versions of a relation's events, without reading them."""
    batches = [b for b in batches if relation in b.relations()]
    stamps = [stamp_of(plan, b, relation) for b in batches]
    return max(epoch_end(b.epoch) if s is None else s for b, s in zip(batches, stamps, strict=True))


def first_version(plan: ProgramPlan, batch: BatchRef) -> int:
    """A lower bound (inclusive) of the versions of a batch's events."""
    return batch_version(batch.epoch, batch.ticket) if plan.granularity == BATCH else epoch_start(batch.epoch)


def last_version(plan: ProgramPlan, batch: BatchRef) -> int:
    """An upper bound (inclusive) of the versions of a batch's events, and of what derivations make of them."""
    last = batch_version(batch.epoch, batch.ticket, RANKS_MAX - 1)
    return last if plan.granularity == BATCH else epoch_end(batch.epoch)


def load_events(
    plan: ProgramPlan, root: Path, batches: Sequence[BatchRef], relation: str, part: tuple[int, int] = (0, 1)
) -> dict[int, Events]:
    """The events of one relation in some batches, as {sign: events}; only the columns that the program uses.

    Sign 1 are the inserts, -1 the deletes, 0 all of them weighted by their signs.

    Args:
        plan: the program's plan.
        root: the state folder.
        batches: which batches to read.
        relation: which relation.
        part: (i, n): only the i-th of n slices of each file's rows.
    """
    tables = [
        _read(plan, root, file, stamp_of(plan, batch, relation), part)
        for batch in batches
        for file in batch.files
        if file.relation == relation
    ]
    if not tables:
        return {}
    table = pa.concat_tables(tables)
    signs = {s.sign for group in plan.statements.values() for s in group if s.relation == relation}
    return {sign: events for sign in signs if (events := _of_sign(plan, relation, table, sign)).frame.rows}


def _read(plan: ProgramPlan, root: Path, file: LogFile, stamp: int | None, part: tuple[int, int]) -> pa.Table:
    table = pq.read_table(root / file.path, columns=[*plan.columns[file.relation], SIGN, STAMP], use_threads=False)
    index, count = part
    begin, end = len(table) * index // count, len(table) * (index + 1) // count
    table = table.slice(begin, end - begin)
    if stamp is None:
        return table
    return table.set_column(table.num_columns - 1, STAMP, pa.repeat(pa.scalar(stamp, pa.int64()), len(table)))


def _of_sign(plan: ProgramPlan, relation: str, table: pa.Table, sign: int) -> Events:
    if sign:
        table = table.filter(pc.equal(table[SIGN], sign))
    trigger = plan.program.trigger(relation, sign or 1)
    assert trigger is not None  # there is a statement of this sign
    declared = plan.program.relation_by_name[relation].columns
    columns = {
        param: to_physical(table[column.name], column.type)
        for param, column in zip(trigger.params, declared, strict=True)
        if column.name in plan.columns[relation]
    }
    if len(table) == 0:
        return Events(Frame(columns, 0), np.zeros(0, np.int64), np.zeros(0, np.int64))
    weights = np.ones(len(table), np.int64) if sign else to_numpy(table[SIGN].combine_chunks())
    return Events(Frame(columns, len(table)), to_numpy(table[STAMP].combine_chunks()), weights)
