"""Net tables: the rows of a relation as of a committed epoch, each as often as it was inserted more than deleted (docs/adr/0065).

Their files are log files in all but name, so whoever reads the log from its beginning reads a net table, and what was appended since, instead:

    log     |  epochs 0 .. c                  |  epochs c+1 .. e  |
    read    |  net table as of c: few rows    |  its log files    |
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.net_tables import LogSince, NetTable
from cumulus_ops.catalog.records import LogFile
from cumulus_ops.files.columns import OFFSET, SIGN, VERSION, event_schema
from cumulus_ops.files.log_files import OpenLog, verify_log
from cumulus_ops.files.new_files import NewFile
from cumulus_ops.files.projection import as_stored
from cumulus_ops.maps.columns import hash_columns, stack, to_logical, to_physical, whole_column
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.versions import epoch_end
from m3.datatypes import Type
from m3.program import Relation

__all__ = ["BaseFiles", "choose_base_files", "find_nets", "is_due", "names_in_log", "net_rows", "write_net_table"]

log = logging.getLogger(__name__)

#: To open a file takes about as long as to read so many rows.
FILE_ROWS = 1_000
#: What is read sooner than this many rows is not worth a net table.
LEAST_ROWS = 250_000
#: Rows that are written at a time.
CHUNK_ROWS = 1 << 17


def is_due(net: int, since: LogSince) -> bool:
    """Whether a net table pays: reading ``net`` rows, and the log ``since`` then, costs twice what reading the current rows would cost, or more.

    What is saved is then in proportion to what has come since, and so is, to that, the cost of making it. A relation with inserts alone gets one for
    the number of its files alone.

    >>> is_due(0, LogSince(rows=1_000_000, files=10, deletes=0)), is_due(0, LogSince(rows=1_000_000, files=10, deletes=400_000))
    (False, True)
    >>> is_due(300_000, LogSince(rows=280_000, files=10, deletes=140_000)), is_due(300_000, LogSince(rows=320_000, files=10, deletes=160_000))
    (False, True)
    """
    cost = since.rows + since.files * FILE_ROWS
    saved = 2 * since.deletes + since.files * FILE_ROWS
    return cost >= LEAST_ROWS and 2 * saved >= net + cost


@dataclass(frozen=True)
class BaseFiles:
    """What relations consist of as of an epoch: their ``nets``, and the ``log`` files since these, or all there are."""

    nets: Mapping[str, NetTable]
    log: tuple[LogFile, ...]

    @property
    def files(self) -> tuple[LogFile, ...]:
        """All of them, net tables first."""
        return (*(net.file for net in self.nets.values()), *self.log)


def find_nets(catalog: Catalog, upto: int, relations: Sequence[Relation]) -> dict[str, NetTable]:
    """relation -> its newest net table of an epoch up to ``upto`` (inclusive) that has all its columns. What has more has the same rows, seen by these."""
    wanted = {relation.name: names_in_log(relation) for relation in relations}
    return {
        net.relation: net
        for net in catalog.net_tables.all()
        if net.epoch <= upto and net.relation in wanted and net.has(wanted[net.relation])
    }


def names_in_log(relation: Relation) -> list[str]:
    """What the columns of a relation are called in its files."""
    return [relation.in_log(column.name) for column in relation.columns]


def choose_base_files(root: Path, catalog: Catalog, upto: int, relations: Sequence[Relation]) -> BaseFiles:
    """From what to read relations, and others, as of the end of an epoch. A net table that is damaged is not used, and not kept: the log says the same."""
    nets = find_nets(catalog, upto, relations)
    for net in nets.values():
        try:
            verify_log(root, net.file)
        except IntegrityProblem as problem:
            log.warning("%s; the log is read instead", problem.message)
            catalog.net_tables.drop(net, later=False)
            return choose_base_files(root, catalog, upto, relations)
    after = {relation: net.epoch for relation, net in nets.items()}
    return BaseFiles(nets, tuple(catalog.net_tables.log_files(upto, after)))


def write_net_table(
    root: Path, relation: Relation, files: Sequence[LogFile], base: int | None, epoch: int, rows: int, label: str = ""
) -> NetTable:
    """Write what remains of a relation.

    Args:
        root: the state folder.
        relation: its declaration.
        files: all that there is of it up to ``epoch``: log files, or a net table and those since.
        base: the epoch of that net table; None without one.
        epoch: as of when it is.
        rows: how many may be held at a time.
        label: of the step that does.
    """
    schema = event_schema(relation).append(pa.field(VERSION, pa.int64()))
    stored = as_stored(relation, schema.empty_table()).schema
    parts = max(1, -(-sum(file.rows for file in files) // rows))
    new = NewFile(root, f"net/{relation.name}", stored, label, is_hashed=True)
    try:
        for part in range(parts):
            for table in _written(net_rows(root, relation, files, rows, (part, parts)), relation, schema, epoch):
                new.write(as_stored(relation, table))
        new.close()
    except BaseException:
        new.discard()
        raise
    names, total = json.dumps(names_in_log(relation)), new.total
    return NetTable(relation.name, epoch, base, names, new.path, new.rows, new.checksums, total=total)


def net_rows(
    root: Path, relation: Relation, files: Sequence[LogFile], rows: int, part: tuple[int, int] = (0, 1)
) -> pa.Table:
    """The different rows of a relation in physical form, and in ``_sign`` how often each was inserted more than deleted; none with 0.

    Args:
        root: the state folder.
        relation: its declaration.
        files: what to sum up.
        rows: how many may be held before they are summed up.
        part: (i, n): only the i-th of n ranges of the rows' hashes.
    """
    found: list[pa.Table] = []
    for table in _read(root, relation, files):
        if part[1] > 1:
            columns = [whole_column(table[c.name]) for c in relation.columns]
            mine = hash_columns(columns, len(table)) % np.uint64(part[1]) == np.uint64(part[0])
            table = table.filter(pa.array(mine))
        found.append(table)
        if len(found) > 1 and sum(map(len, found)) > 2 * rows:
            found = [_sum(found, relation)]
    return _sum(found, relation)


def _read(root: Path, relation: Relation, files: Sequence[LogFile]) -> Iterator[pa.Table]:
    names = [column.name for column in relation.columns]
    for file in files:
        with OpenLog(root, file) as opened:
            for group in range(len(opened.groups)):
                table = opened.read_rows(relation, [*names, SIGN], [group])
                arrays = [to_physical(table[column.name], column.type) for column in relation.columns]
                yield pa.table([*arrays, table[SIGN].cast(pa.int64())], [*names, SIGN])


def _sum(tables: Sequence[pa.Table], relation: Relation) -> pa.Table:
    names = [column.name for column in relation.columns]
    if not tables:
        return pa.table([pa.array([], pa.int64())] * (len(names) + 1), [*names, SIGN])
    summed = stack(tables).group_by(names, use_threads=False).aggregate([(SIGN, "sum")])
    summed = summed.rename_columns([SIGN if name == f"{SIGN}_sum" else name for name in summed.column_names])
    return summed.select([*names, SIGN]).filter(pc.not_equal(summed[SIGN], 0))


def _written(net: pa.Table, relation: Relation, schema: pa.Schema, epoch: int) -> Iterator[pa.Table]:
    """The rows as log files have them: each as often as it counts."""
    if not len(net):
        return
    counts = net[SIGN].to_numpy()
    places, signs = np.repeat(np.arange(len(net)), np.abs(counts)), np.repeat(np.sign(counts), np.abs(counts))
    for i in range(0, len(places), CHUNK_ROWS):
        rows = net.take(pa.array(places[i : i + CHUNK_ROWS]))
        columns = {
            c.name: _stored(whole_column(rows[c.name]), c.type, schema.field(c.name).type) for c in relation.columns
        }
        columns[SIGN] = pa.array(signs[i : i + CHUNK_ROWS], pa.int8())
        columns[OFFSET] = pa.array(np.zeros(len(rows), np.int64))
        columns[VERSION] = pa.array(np.full(len(rows), epoch_end(epoch)))
        yield pa.table(columns, schema=schema)


def _stored(physical: pa.Array, type_: Type, stored: pa.DataType) -> pa.Array:
    if pa.types.is_decimal64(stored) and pa.types.is_int64(physical.type):
        return pa.Array.from_buffers(stored, len(physical), physical.buffers(), physical.null_count, physical.offset)
    return to_logical(physical, type_)
