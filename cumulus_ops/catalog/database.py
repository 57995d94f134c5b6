"""What all parts of the catalog share: the connection, the lock, the clock on the wall."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Executable, Row, insert, select, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.connection import READ_ONLY, SCHEMA, connect, migrate, retry_busy, schema_version
from cumulus_ops.catalog.records import NewRun
from cumulus_ops.errors import SetupProblem

__all__ = ["Database", "now"]


def now() -> datetime.datetime:
    """The time that rows are marked with."""
    return datetime.datetime.now(datetime.UTC)


def _not_initialised() -> SetupProblem:
    return SetupProblem("no program is registered in this catalog", kind="not-initialised", hint="run `cumulus init`")


class Database:
    """The database at one URL. Holds no state of its own beside the connection pool."""

    def __init__(self, url: str) -> None:
        self._engine = connect(url)
        self._reader = self._engine.execution_options(**{READ_ONLY: True})

    def migrate(self) -> None:
        """Bring the schema up to date (see :func:`~cumulus_ops.catalog.connection.migrate`)."""
        migrate(self._engine)

    def check_schema(self) -> None:
        """See that the schema is this version's.

        Raises:
            SetupProblem: the catalog was made by another version, or not at all.
        """
        found = retry_busy(lambda: schema_version(self._reader))
        if found is None:
            raise _not_initialised()
        if found != SCHEMA:
            raise SetupProblem(
                f"the catalog has schema {found}, and this version of Cumulus works with {SCHEMA}",
                kind="catalog-schema",
                hint="`cumulus init` brings an older one up to date, or says what to do",
            )

    def close(self) -> None:
        """Release all connections."""
        self._engine.dispose()

    def _read(self, query: Executable) -> list[Any]:
        def action() -> list[Any]:
            with self._reader.begin() as connection:
                return list(connection.execute(query))

        return retry_busy(action)

    def _lock(self, connection: Connection) -> Row[Any]:
        """The program row, locked for this transaction (on SQLite the transaction holds the write lock already)."""
        row = connection.execute(select(t.program).with_for_update()).first()
        if row is None:
            raise _not_initialised()
        return row

    def _commit(
        self,
        connection: Connection,
        program: Row[Any],
        kind: str,
        runs: Sequence[NewRun],
        origins: Sequence[int] | None = None,
    ) -> int:
        """Make runs visible under the next commit number; ``origins`` are theirs, that number if None."""
        number = int(program.last_commit) + 1
        rows = sum(r.rows for r in runs)
        connection.execute(update(t.program).values(last_commit=number))
        connection.execute(insert(t.commit).values(number=number, kind=kind, committed_at=now(), rows=rows))
        if runs:
            marks = origins or [number] * len(runs)
            values = [{**vars(r), "commit": number, "origin": o} for r, o in zip(runs, marks, strict=True)]
            connection.execute(insert(t.run), values)
        return number
