"""The versions of Delta tables as deliveries: first a table as it is, then what each commit changed.

A version is one delivery, of one relation. Its events are numbered ``version * 2**32 + i``, so that they ascend. A commit that
updates or deletes is one event, which is accepted or rejected as a whole; what only inserts, the rows of the first version
included, is an event per row.

A library that reads a version's files at once hands its rows over in another order each time. So a delivery reads them once.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import SetupProblem
from cumulus_ops.eventlog import Delivery, Part
from cumulus_ops.eventlog.raw import RawFile
from cumulus_ops.eventlog.types import EVENT, OP
from cumulus_ops.sources.delta.once import ReadOnce
from cumulus_ops.sources.delta.position import Position, Reached
from cumulus_ops.sources.delta.table import CHANGE, ChangingTable
from m3.program import Relation

__all__ = ["DeltaTables"]

VERSION_BITS = 32
PIECE_ROWS = 1 << 17
OLD, NEW = pa.array(["delete", "update_preimage"]), pa.array(["insert", "update_postimage"])


class DeltaTables:
    """Delta tables whose changes are events.

    Args:
        name: of the source in the project.
        relations: the project's.
        tables: relation -> the table's folder or address.
        storage_options: what an object store wants to know.
        folder: where temporary files may be; None for where the system has them.
    """

    def __init__(
        self,
        name: str,
        relations: Sequence[Relation],
        tables: Mapping[str, str],
        storage_options: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name, self._folder = name, folder
        self._relations = {r.name: r for r in relations}
        self._tables, self._options = tables, storage_options

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """The versions that are not in the log yet, in the order in which they were committed, as far as clocks tell.

        Raises:
            SetupProblem: a table cannot be read, does not record changes, or is another one than before.
        """
        at = Position.parse(position)
        tables = {r: ChangingTable(uri, self._options) for r, uri in self._tables.items()}
        waiting = [
            (committed, relation, version)
            for relation, table in tables.items()
            for version, committed in _versions(table, relation, at).items()
        ]
        for committed, relation, version in sorted(waiting, key=lambda w: (w[0], w[2], w[1])):
            table = tables[relation]
            first = relation not in at.reached
            after = at.after(relation, Reached(version, table.id))
            yield self._delivery(table, relation, version, committed, first, at, after)
            at = after

    def close(self) -> None:
        """Nothing is held."""

    def _delivery(
        self,
        table: ChangingTable,
        relation: str,
        version: int,
        committed: datetime.datetime,
        first: bool,
        begin: Position,
        end: Position,
    ) -> Delivery:
        read = partial(_snapshot if first else _commit, table, version, self._relations[relation])
        place = f"{table.uri}@{version}"
        return Delivery(
            self.name,
            f"{self.name}.{relation}.{version}",
            committed,
            lambda: [Part(relation, place, ReadOnce(read, self._folder, PIECE_ROWS))],
            begin.text() if begin.reached else None,
            end.text(),
            True,
        )


def _versions(table: ChangingTable, relation: str, at: Position) -> dict[int, datetime.datetime]:
    """The versions to deliver and when they were committed, never earlier than one before: at first, the table as it is now."""
    reached = at.reached.get(relation)
    if reached is None:
        table.check_feed()
        versions = [table.version]
    else:
        _check_same(table, reached)
        versions = list(range(reached.version + 1, table.version + 1))
    known, found = table.committed_at(versions), {}
    latest, now = datetime.datetime.fromtimestamp(0, datetime.UTC), datetime.datetime.now(datetime.UTC)
    for version in versions:
        latest = max(latest, min(now, known.get(version, latest)))
        found[version] = latest
    return found


def _check_same(table: ChangingTable, reached: Reached) -> None:
    if table.version < reached.version:
        what = "has fewer versions than before"
    elif reached.table in (table.id, table.id_at(reached.version)):
        return
    else:
        what = "is another table than before"
    raise SetupProblem(
        what,
        kind="replaced-table",
        place=table.uri,
        hint="its changes since are not known: give the source another name and begin with empty base tables; "
        "to replace a table's rows, overwrite it (mode=overwrite) instead of making it anew",
    )


def _snapshot(table: ChangingTable, version: int, relation: Relation) -> Iterator[RawFile]:
    """All rows of a version as inserts."""
    yield from _inserts(table.rows(version, relation, PIECE_ROWS), version)


def _commit(table: ChangingTable, version: int, relation: Relation) -> Iterator[RawFile]:
    """What a version changed. Deletes come before inserts: an update is both."""
    kinds = table.kinds(version)
    if kinds == {"insert"}:
        yield from _inserts((t.drop_columns([CHANGE]) for t in table.changes(version, relation)), version)
    elif kinds:
        rows = pa.concat_tables(table.changes(version, relation))
        kind = rows.column(CHANGE)
        rows = rows.drop_columns([CHANGE])
        old, new = (rows.filter(pc.is_in(kind, value_set=kinds)) for kinds in (OLD, NEW))
        signed = [part.append_column(OP, _repeated(op, len(part))) for op, part in (("D", old), ("I", new))]
        yield _piece(pa.concat_tables(signed), np.full(len(old) + len(new), version << VERSION_BITS, dtype=np.int64), 0)


def _inserts(tables: Iterator[pa.Table], version: int) -> Iterator[RawFile]:
    done = 0
    for table in tables:
        events = (version << VERSION_BITS) + np.arange(done, done + len(table), dtype=np.int64)
        yield _piece(table.append_column(OP, _repeated("I", len(table))), events, done)
        done += len(table)


def _repeated(word: str, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(np.zeros(times, dtype=np.int32), pa.array([word]))


def _piece(rows: pa.Table, events: np.ndarray, first: int) -> RawFile:
    return RawFile(rows.append_column(EVENT, pa.array(events)), np.arange(first, first + len(rows)))
