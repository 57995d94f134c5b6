"""Reading a range of the server's log: the transactions whose commits lie in it.

The slot is read without being moved (``peek``), so reading again gives the same. The rows come by COPY in its binary format, each message as
one row: the driver hands over each row with one call of ``write``, and nothing else is done per row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from psycopg2 import sql
from psycopg2.extensions import quote_ident

from cumulus_ops.append.delivery import Part
from cumulus_ops.files.columns import EVENT, OP, RawFile
from cumulus_ops.project.errors import NotYet
from cumulus_ops.project.processes import reach
from cumulus_ops.sources.postgres.connection import (
    Connection,
    PostgresSettings,
    connect,
    explain_errors,
    open_session,
    rows,
    when_free,
)
from cumulus_ops.sources.postgres.pgoutput import Decoder, change_schema, readable
from cumulus_ops.sources.postgres.slot import (
    Slot,
    advance,
    drop_left_over,
    ensure_publication,
    exported_snapshot,
    find_slot,
    lock_copying,
    moved_on,
)
from cumulus_ops.sources.postgres.tables import (
    Position,
    Table,
    check_columns,
    check_server,
    check_tables,
    columns_now,
    leaves,
    lsn_text,
    types_by_number,
)
from cumulus_ops.sources.spool import Spool, from_start, temporary

__all__ = ["FIRST_COPIED", "Changes", "InitialCopy", "has_changes", "prepare"]


# The initial copy: all rows of the tables as of the place in the log at which the slot begins.
#
# It is appended as one delivery. Until that has happened nobody knows of its slot, so an interrupted copy is simply made again, with a slot
# of its own. The session that copies holds a lock as long as it lives: whoever has it may drop what others have left over.


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
                with explain_errors(self._settings):
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
                copied = [_copy_table(session, settings, table) for table in tables]
                cursor.execute("COMMIT")
        reach("source.after-copy")
        return copied


def _copy_table(session: Connection, settings: PostgresSettings, table: Table) -> _Copied:
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


PEEK = """
pg_logical_slot_peek_binary_changes({slot}, {until}, {changes}, 'proto_version', '1', 'publication_names', {publications})"""
#: Messages that are decoded together: at most so many, or of so many bytes.
PORTION_MESSAGES, PORTION_BYTES = 1 << 16, 4 << 20
#: COPY's binary format: a header before the first row, a number of columns and a length before each value, a trailer.
HEADER, BEFORE_VALUE, TRAILER = 19, 6, b"\xff\xff"


def has_changes(session: Connection, settings: PostgresSettings, slot: Slot, begin: int, until: int) -> bool:
    """Whether a transaction that concerns us is committed at or after ``begin`` and before ``until``. Where the slot is before that, what it has in between is
    passed over; else the first change is enough."""
    changes = 1 if slot.confirmed >= begin else None
    behind = sql.SQL(" WHERE lsn > {} LIMIT 1").format(sql.Literal(lsn_text(begin)))
    query = sql.SQL("SELECT 1 FROM ") + _peek(session, settings, slot.name, until, changes) + behind
    return bool(when_free(settings, lambda: rows(session, query)))


def _peek(session: Connection, settings: PostgresSettings, slot: str, until: int, changes: int | None) -> sql.Composed:
    quoted = quote_ident(settings.publication, session)
    return sql.SQL(PEEK).format(
        slot=sql.Literal(slot),
        until=sql.Literal(lsn_text(until)),
        changes=sql.Literal(changes),
        publications=sql.Literal(quoted),
    )


class Changes:
    """The transactions whose commits lie in [begin, end) of the log, in the order of their commits.

    ``position`` is at ``begin``. ``forgettable`` says up to where the server need not read again.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        position: Position,
        begin: int,
        end: int,
        rows: int,
        forgettable: Callable[[], int] = lambda: 0,
    ) -> None:
        self._settings, self._position, self._begin, self._end, self._rows = settings, position, begin, end, rows
        self._forgettable = forgettable
        self._spools: dict[str, Spool] | None = None

    def parts(self) -> tuple[Part, ...]:
        """The relations that change. They are read from the server once.

        Raises:
            SetupProblem: the server does not answer, or a table has changed its columns.
        """
        if self._spools is None:
            self._spools = self._read()
        place = f"source {self._settings.name}, {lsn_text(self._begin)} to {lsn_text(self._end)}"
        return tuple(
            Part(name, f"{place}, {name}", partial(spool.read, self._rows))
            for name, spool in self._spools.items()
            if spool.rows
        )

    def close(self) -> None:
        """Give the disk back."""
        for spool in (self._spools or {}).values():
            spool.close()
        self._spools = None

    def _read(self) -> dict[str, Spool]:
        settings = self._settings
        spools = {t.relation.name: Spool(settings.folder, change_schema(t)) for t in settings.tables}
        try:
            with open_session(settings) as session:
                self._copy(session, spools)
        except BaseException:
            for spool in spools.values():
                spool.close()
            raise
        for spool in spools.values():
            spool.finish()
        reach("source.after-read")
        return spools

    def _copy(self, session: Connection, spools: dict[str, Spool]) -> None:
        settings = self._settings
        slot, _ = find_slot(session, settings, self._position)  # the server may be another one by now
        advance(session, settings, slot, self._forgettable())
        tables = {(t.schema, t.table): t for t in settings.tables}
        check = partial(check_columns, settings, now=columns_now(session, settings))
        decoder = Decoder(
            tables,
            leaves(session, settings),
            types_by_number(session),
            check,
            self._begin,
            self._end,
            skips_truncates=settings.skips_truncates,
        )
        peek = _peek(session, settings, self._position.slot, self._end, None)
        copy = sql.SQL("COPY (SELECT data FROM {}) TO STDOUT (FORMAT binary)").format(peek)
        messages = _Messages(decoder, spools)
        with session.cursor() as cursor:
            when_free(settings, lambda: cursor.copy_expert(copy, messages))
        messages.flush()


class _Messages:
    """The file that COPY writes to."""

    def __init__(self, decoder: Decoder, spools: dict[str, Spool]) -> None:
        self._decoder, self._spools = decoder, spools
        self._held: list[bytes] = []
        self._bytes = 0
        self._before = HEADER + BEFORE_VALUE

    def write(self, row: bytes) -> None:
        """Called by the driver with each row; the first one has the header before it."""
        if row == TRAILER:
            return
        self._held.append(row[self._before :])
        self._before = BEFORE_VALUE
        self._bytes += len(row)
        if self._bytes > PORTION_BYTES or len(self._held) >= PORTION_MESSAGES:
            self.flush()

    def flush(self) -> None:
        """Decode what came so far."""
        held, self._held, self._bytes = self._held, [], 0
        if held and held != [b""]:
            for settings, table in self._decoder.decode(held):
                self._spools[settings.relation.name].write(table)
