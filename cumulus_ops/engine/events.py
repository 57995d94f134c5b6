"""Reading stamped events back from the log as vectorised input of the kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import LogFile
from cumulus_ops.engine.kernel import Events
from cumulus_ops.engine.vector import Frame
from cumulus_ops.layout import ProgramPlan
from cumulus_ops.log_files import OpenLog
from cumulus_ops.mapstore import stack, to_physical
from m3.datatypes import Type

__all__ = [
    "SIGN",
    "STAMP",
    "BatchRef",
    "events_of",
    "load_events",
    "newest_version",
    "read_events",
    "rows_of",
]

SIGN = "_sign"
STAMP = "_version"


@dataclass(frozen=True)
class BatchRef:
    """An appended batch as the engine sees it: its log files, and what its versions follow from
    (:class:`cumulus_ops.coordination.Stamped`)."""

    id: int
    epoch: int
    ticket: int
    files: tuple[LogFile, ...]
    coordinator: int
    first_sequence: int
    events: int

    def relations(self) -> set[str]:
        """The relations it has events of."""
        return {f.relation for f in self.files}


def rows_of(batches: Sequence[BatchRef]) -> int:
    """Rows in the log files of ``batches``."""
    return sum(f.rows for b in batches for f in b.files)


def newest_version(plan: ProgramPlan, batches: Sequence[BatchRef], relation: str) -> int:
    """An upper bound (inclusive) of the versions of a relation's events, without reading them."""
    rank = plan.ranks[relation]
    return max(plan.versions.newest(b, rank) for b in batches if relation in b.relations())


def load_events(plan: ProgramPlan, root: Path, batches: Sequence[BatchRef], relation: str) -> dict[int, Events]:
    """The events of one relation in some batches, as {sign: events}; only the columns that the program uses.

    Sign 1 are the inserts, -1 the deletes, 0 all of them weighted by their signs.

    Args:
        plan: the program's plan.
        root: the state folder.
        batches: which batches to read.
        relation: which relation.
    """
    table = read_events(plan, root, batches, relation)
    if table is None:
        return {}
    signs = {s.sign for group in plan.statements.values() for s in group if s.relation == relation}
    return {sign: events for sign in signs if (events := events_of(plan, relation, table, sign)).frame.rows}


def read_events(
    plan: ProgramPlan,
    root: Path,
    batches: Sequence[BatchRef],
    relation: str,
    part: tuple[int, int] = (0, 1),
    columns: Collection[str] | None = None,
) -> pa.Table | None:
    """The stamped events of one relation as a table: its columns in physical form, ``_sign`` and ``_version``.

    Args:
        plan: the program's plan.
        root: the state folder.
        batches: which batches to read.
        relation: which relation.
        part: (i, n): only the i-th of n slices of each file's rows.
        columns: only these columns; None for those that the program uses.

    Returns:
        the table, or None if no batch has events of the relation.
    """
    wanted = [c for c in plan.columns[relation] if columns is None or c in columns]
    types = {c.name: c.type for c in plan.program.relation_by_name[relation].columns if c.name in wanted}
    tables = [
        _read(root, file, types, plan.versions.stamp(batch, plan.ranks[relation]), part)
        for batch in batches
        for file in batch.files
        if file.relation == relation
    ]
    if not tables:
        return None
    return tables[0] if len(tables) == 1 else stack(tables).combine_chunks()


def _read(root: Path, file: LogFile, types: Mapping[str, Type], stamp: int | None, part: tuple[int, int]) -> pa.Table:
    """A file's rows in physical form: how a log file stores a column is its own affair, and differs between files."""
    names = [*types, SIGN, *([STAMP] if stamp is None else [])]
    with OpenLog(root, file) as log:
        table = _read_slice(log, names, file.rows * part[0] // part[1], file.rows * (part[0] + 1) // part[1])
    stamps = _whole(table[STAMP]) if stamp is None else pa.array(np.full(len(table), stamp))
    arrays = [to_physical(table[name], type_) for name, type_ in types.items()]
    return pa.table([*arrays, _whole(table[SIGN]), stamps], names=[*types, SIGN, STAMP])


def _read_slice(log: OpenLog, names: Sequence[str], begin: int, end: int) -> pa.Table:
    """The rows from ``begin`` to ``end`` (exclusive), from the row groups that have them."""
    starts = np.cumsum([0, *log.groups])
    groups = [i for i in range(len(log.groups)) if starts[i] < end and starts[i + 1] > begin]
    table = log.read(names, groups)
    return table.slice(begin - starts[groups[0]], end - begin) if groups else table


def events_of(plan: ProgramPlan, relation: str, table: pa.Table, sign: int) -> Events:
    """The events of one sign (0 for both) in a table as :func:`read_events` returns it."""
    signs = table[SIGN].to_numpy()
    chosen = signs == sign
    if sign and not chosen.all():
        table, signs = table.filter(pa.array(chosen)), signs[chosen]
    trigger = plan.program.trigger(relation, sign or 1)
    assert trigger is not None  # there is a statement of this sign
    declared = plan.program.relation_by_name[relation].columns
    columns = {
        param: _whole(table[column.name])
        for param, column in zip(trigger.params, declared, strict=True)
        if column.name in table.column_names
    }
    weights = np.ones(len(table), np.int64) if sign else signs.astype(np.int64)
    return Events(Frame(columns, len(table)), table[STAMP].to_numpy(), weights)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
