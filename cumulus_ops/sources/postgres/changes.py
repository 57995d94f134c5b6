"""Reading a range of the server's log: the transactions whose commits lie in it.

The slot is read without being moved (``peek``), so reading again gives the same. The rows come by COPY in its binary format, each message as
one row: the driver hands over each row with one call of ``write``, and nothing else is done per row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from psycopg2 import sql
from psycopg2.extensions import quote_ident

from cumulus_ops.eventlog import Part
from cumulus_ops.faults import reach
from cumulus_ops.sources.postgres.connection import Connection, opened, rows, when_free
from cumulus_ops.sources.postgres.pgoutput import Decoder, change_schema
from cumulus_ops.sources.postgres.position import Position, lsn_text
from cumulus_ops.sources.postgres.settings import PostgresSettings
from cumulus_ops.sources.postgres.slot import advance, find_slot
from cumulus_ops.sources.postgres.tables import check_columns, leaves, types_by_number
from cumulus_ops.sources.spool import Spool

__all__ = ["Changes", "has_changes"]

PEEK = """
pg_logical_slot_peek_binary_changes({slot}, {until}, {changes}, 'proto_version', '1', 'publication_names', {publications})"""
#: Messages that are decoded together: at most so many, or of so many bytes.
PORTION_MESSAGES, PORTION_BYTES = 1 << 16, 4 << 20
#: COPY's binary format: a header before the first row, a number of columns and a length before each value, a trailer.
HEADER, BEFORE_VALUE, TRAILER = 19, 6, b"\xff\xff"


def has_changes(session: Connection, settings: PostgresSettings, slot: str, until: int) -> bool:
    """Whether a transaction that concerns us is committed after the slot's place and before ``until``."""
    query = sql.SQL("SELECT 1 FROM ") + _peek(session, settings, slot, until, 1) + sql.SQL(" LIMIT 1")
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

    ``position`` is at ``begin``. ``is_reached`` says whether all that is before it is in the event log: then the server need not read it again.
    """

    def __init__(
        self,
        settings: PostgresSettings,
        position: Position,
        begin: int,
        end: int,
        rows: int,
        is_reached: Callable[[], bool] = lambda: False,
    ) -> None:
        self._settings, self._position, self._begin, self._end, self._rows = settings, position, begin, end, rows
        self._is_reached = is_reached
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
            with opened(settings) as session:
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
        if self._is_reached():
            advance(session, settings, slot, self._begin)
        tables = {(t.schema, t.table): t for t in settings.tables}
        check = partial(check_columns, settings)
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
