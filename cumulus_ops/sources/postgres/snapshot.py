"""The initial copy: all rows of the tables as of the place in the log at which the slot begins.

It is appended as one delivery. Until that has happened nobody knows of its slot, so an interrupted copy is simply made again, with a slot
of its own. The session that copies holds a lock as long as it lives: whoever has it may drop what others have left over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from psycopg2 import sql

from cumulus_ops.errors import NotYet
from cumulus_ops.eventlog import Part
from cumulus_ops.eventlog.raw import RawFile
from cumulus_ops.eventlog.types import EVENT, OP
from cumulus_ops.faults import reach
from cumulus_ops.sources.postgres.connection import Connection, connect, explained
from cumulus_ops.sources.postgres.publication import ensure_publication
from cumulus_ops.sources.postgres.settings import PostgresSettings
from cumulus_ops.sources.postgres.slot import drop_left_over, exported_snapshot, lock_copying, moved_on
from cumulus_ops.sources.postgres.tables import Table, check_server, check_tables
from cumulus_ops.sources.postgres.values import readable
from cumulus_ops.sources.spool import from_start, temporary

__all__ = ["FIRST_COPIED", "InitialCopy", "prepare"]

#: The number of the first copied row. Each is an event of its own; transactions, which are numbered by places in the log, come behind.
FIRST_COPIED = -(1 << 62)
BLOCK_BYTES = 4 << 20


def prepare(session: Connection, settings: PostgresSettings) -> tuple[Table, ...]:
    """Check all that a source needs, and make its publication if there is none.

    Raises:
        SetupProblem: what is missing, and what to do.
    """
    check_server(session, settings)
    tables = check_tables(session, settings)
    ensure_publication(session, settings, tables)
    return tables


class InitialCopy:
    """Copies the tables when it is first asked for its parts.

    Args:
        settings: of the source.
        slot: the name of the slot that is made with it.
        rows: pieces of about so many rows are handed on at a time.
        is_made: whether the event log has a copy by now.
    """

    def __init__(
        self, settings: PostgresSettings, slot: str, rows: int, is_made: Callable[[], bool] = lambda: False
    ) -> None:
        self._settings, self._slot, self._rows, self._is_made = settings, slot, rows, is_made
        self._session: Connection | None = None
        self._copied: list[_Copied] | None = None

    def parts(self) -> tuple[Part, ...]:
        """All tables.

        Raises:
            SetupProblem: the server does not answer, refuses, or a table cannot be followed.
            NotYet: another process makes the copy.
            Conflict: another process has made it.
        """
        if self._copied is None:
            self.close()
            try:
                with explained(self._settings):
                    self._copied = self._copy()
            except BaseException:
                self.close()
                raise
        place = f"source {self._settings.name}, initial copy"
        found, first = [], FIRST_COPIED
        for copied in self._copied:
            name = copied.table.settings.relation.name
            found.append(Part(name, f"{place}, {copied.table.settings.place}", partial(copied.read, first)))
            first += copied.rows
        return tuple(found)

    def close(self) -> None:
        """Give up the lock and the disk."""
        if self._session is not None:
            self._session.close()
        for copied in self._copied or ():
            copied.file.close()
        self._session = self._copied = None

    def _copy(self) -> list[_Copied]:
        settings = self._settings
        session = self._session = connect(settings)
        tables = prepare(session, settings)
        if not lock_copying(session, settings):
            hint = "wait until it has ended"
            raise NotYet(
                "another process makes the initial copy", kind="copying", place=f"source {settings.name}", hint=hint
            )
        if self._is_made():  # then one of the slots is needed; who made it held the lock until that was in the catalog
            raise moved_on(settings)
        drop_left_over(session, settings, None)
        with exported_snapshot(settings, self._slot) as snapshot:
            reach("source.after-slot")
            with session.cursor() as cursor:
                cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
                copied = [_copied(session, settings, table) for table in tables]
                cursor.execute("COMMIT")
        reach("source.after-copy")
        return copied


def _copied(session: Connection, settings: PostgresSettings, table: Table) -> _Copied:
    """Texts of the same form as those of the stream, as CSV: NULL is an empty field, all values are quoted."""
    columns = [sql.Identifier(table.column(c.name)) for c in table.settings.relation.columns]
    copy = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)").format(
        sql.SQL(", ").join(columns), table.name
    )
    copied = _Copied(table, temporary(settings.folder))
    with session.cursor() as cursor:
        cursor.copy_expert(copy, copied)
    copied.file.flush()
    return copied


class _Copied:
    """A table's rows as a file of CSV, which COPY writes."""

    def __init__(self, table: Table, file: IO[bytes]) -> None:
        self.table, self.file = table, file
        self.rows = self.longest = 0

    def write(self, row: bytes) -> None:
        """Called by the driver with each row."""
        self.file.write(row)
        self.rows += 1
        if len(row) > self.longest:
            self.longest = len(row)

    def read(self, first: int) -> Iterator[RawFile]:
        """The rows in pieces, numbered from ``first`` on."""
        if self.rows == 0:
            return
        columns = self.table.settings.relation.columns
        names = [c.name for c in columns]
        reader = pacsv.open_csv(
            from_start(self.file),
            read_options=pacsv.ReadOptions(
                use_threads=False, column_names=names, block_size=max(BLOCK_BYTES, 2 * self.longest)
            ),
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )
        done = 0
        for batch in reader:
            row = np.arange(done, done + len(batch))
            values = [readable(batch[c.name], self.table.types[self.table.column(c.name)]) for c in columns]
            op = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(batch), np.int8)), pa.array(["I"]))
            yield RawFile(pa.table([*values, op, pa.array(first + row)], names=[*names, OP, EVENT]), row)
            done += len(batch)
