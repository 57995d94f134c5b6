"""Connections to the source's server, and what its errors mean to people. No message shows the URL: it may hold a password."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import psycopg2
from psycopg2 import errorcodes, extras
from psycopg2.extensions import connection as Connection

from cumulus_ops.catalog.identity import Identity
from cumulus_ops.project.errors import CumulusError, NotYet, SetupProblem
from cumulus_ops.project.names import hide, require_clear, split_login
from m3.program import Relation

__all__ = [
    "Connection",
    "PostgresSettings",
    "TableSettings",
    "connect",
    "connect_for_replication",
    "explain_errors",
    "one",
    "open_session",
    "rows",
    "stopped",
    "when_free",
]


# What is said about a PostgreSQL source.


MB = 1 << 20


@dataclass(frozen=True)
class TableSettings:
    """Which table a relation follows. ``mode`` is the relation's: ``upsert`` needs no more than keys in old rows, others need whole rows.
    ``renamed``: (other name, declared column): how columns are called in the table, too, now or in changes that are still to be read. ``waiting``: columns
    that are declared, and not deployed yet."""

    relation: Relation
    schema: str
    table: str
    mode: str = "trusted"
    renamed: tuple[tuple[str, str], ...] = ()
    waiting: frozenset[str] = frozenset()

    def name_of(self, column: str, names: Collection[str]) -> str | None:
        """How a declared column is called among the names of a table's columns: as it is declared, if there is such a one.

        >>> TableSettings(Relation("r", ()), "public", "r", renamed=(("cost", "price"),)).name_of("price", ["id", "cost"])
        'cost'
        """
        others = (other for other, declared in self.renamed if declared == column)
        return next((name for name in (column, *others) if name in names), None)

    @property
    def place(self) -> str:
        """For people: ``schema.table``."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True)
class PostgresSettings:
    """A source of kind ``postgres``.

    ``owner``: whose slots are made; None only where no state folder is claimed. ``name`` is the source's, ``url`` the database's (``postgresql://user:password@host/name``), ``publication`` the name of what the
    server publishes. ``folder`` is where the source keeps which replication slots are its own, and anonymous temporary files.
    ``skips_truncates``: whether rows of a truncated table stay here; without it the source stops.
    ``portion_bytes`` of the server's log are handed over at a time, in whole transactions. ``idle_bytes``: after so many in which nothing
    concerns us the position moves on nevertheless, so that the server can forget them. ``patience_s`` is how long to wait for a
    server that does not answer, or for a slot that a process that was killed still holds.
    """

    name: str
    url: str
    tables: tuple[TableSettings, ...]
    publication: str
    folder: Path
    skips_truncates: bool = False
    portion_bytes: int = 64 * MB
    idle_bytes: int = 16 * MB
    patience_s: float = 30.0
    owner: Identity | None = None


Result = TypeVar("Result")
PAUSE_S = 0.1
#: The forms in which values are sent: those that are exact and that Arrow reads.
SESSION = (
    "SET DateStyle = 'ISO, YMD'",
    "SET TimeZone = 'UTC'",
    "SET extra_float_digits = 1",
    "SET statement_timeout = 0",
    "SET search_path = pg_catalog",
    "SET client_encoding = 'UTF8'",
)
#: The server notices when this process is killed while it decodes (from PostgreSQL 14 on).
NOTICE_DEATHS = "SET client_connection_check_interval = '1s'"


def connect(settings: PostgresSettings) -> Connection:
    """A session in which each statement is a transaction of its own. A server that does not answer is waited for a while: it may be
    restarting.

    Raises:
        SetupProblem: it does not answer, or does not let us in.
    """
    session = _patiently(
        settings, lambda: psycopg2.connect(**_server(settings), connect_timeout=10, application_name=_name(settings))
    )
    session.autocommit = True
    with session.cursor() as cursor:
        cursor.execute(";".join(SESSION))
        if session.server_version >= 140000:
            cursor.execute(NOTICE_DEATHS)
    return session


@contextmanager
def open_session(settings: PostgresSettings) -> Iterator[Connection]:
    """A session for a while; its errors are explained.

    Raises:
        SetupProblem: the server does not answer, or refuses.
    """
    with explain_errors(settings):
        session = connect(settings)
        try:
            yield session
        finally:
            session.close()


def connect_for_replication(settings: PostgresSettings) -> Any:
    """A session that understands the commands of replication."""
    return _patiently(
        settings,
        lambda: psycopg2.connect(
            **_server(settings),
            connect_timeout=10,
            application_name=_name(settings),
            connection_factory=extras.LogicalReplicationConnection,
        ),
    )


def _server(settings: PostgresSettings) -> dict[str, Any]:
    """Where it is, for the driver: the login apart from the address, so that no message about an address has it.

    Raises:
        SetupProblem: the URL can be read in several ways.
    """
    require_clear(settings.url, f"source {settings.name}", "source-url")
    _, login, address = split_login(settings.url)  # SQLAlchemy's way of naming the driver is understood, too
    user, _, password = login.partition(":")
    given = {"user": unquote(user), "password": unquote(password)}
    return {"dsn": f"postgresql://{address}", **{name: value for name, value in given.items() if value}}


def _name(settings: PostgresSettings) -> str:
    return f"cumulus {settings.name}"[:63]


def _patiently(settings: PostgresSettings, attempt: Callable[[], Result]) -> Result:
    deadline = time.monotonic() + settings.patience_s
    while True:
        try:
            return attempt()
        except psycopg2.OperationalError as problem:
            if any(word in str(problem) for word in HOPELESS) or time.monotonic() > deadline:
                raise stopped(settings, _words(settings, problem), "source-unreachable", UNREACHABLE) from None
            time.sleep(PAUSE_S)
        except psycopg2.Error as problem:
            raise stopped(settings, _words(settings, problem), "source-unreachable", UNREACHABLE) from None


UNREACHABLE = (
    "check that the server runs, and the source's url; nothing is lost meanwhile, reading goes on where it was"
)
HOPELESS = ("password", "does not exist", "pg_hba.conf", "no password supplied", "could not translate host", "invalid")


@contextmanager
def explain_errors(settings: PostgresSettings) -> Iterator[None]:
    """Turns the driver's errors into ours.

    Raises:
        SetupProblem: the server went away, or refused.
    """
    try:
        yield
    except CumulusError:
        raise
    except psycopg2.Error as problem:
        words = _words(settings, problem)
        match problem.pgcode:
            case None | errorcodes.ADMIN_SHUTDOWN | errorcodes.CRASH_SHUTDOWN | errorcodes.CANNOT_CONNECT_NOW:
                raise stopped(settings, words, "source-unreachable", UNREACHABLE) from None
            case errorcodes.INSUFFICIENT_PRIVILEGE:
                hint = "docs/sources-postgres.md lists what the user must be allowed to do"
                raise stopped(settings, words, "source-permission", hint) from None
            case errorcodes.OBJECT_IN_USE:
                raise NotYet(
                    words,
                    kind="slot-in-use",
                    place=settings.name,
                    hint="another process reads the source; run again later",
                ) from None
        raise stopped(settings, words, "source-refused", "the server's log says more") from None


def when_free(settings: PostgresSettings, attempt: Callable[[], Result]) -> Result:
    """What an attempt returns that may find the slot in use: by the session of a process that was killed, whose end the server notices soon."""
    deadline = time.monotonic() + settings.patience_s
    while True:
        try:
            return attempt()
        except psycopg2.Error as problem:
            if problem.pgcode != errorcodes.OBJECT_IN_USE or time.monotonic() > deadline:
                raise
            time.sleep(PAUSE_S)


def stopped(settings: PostgresSettings, message: str, kind: str, hint: str) -> SetupProblem:
    """What is raised when the source cannot go on; its position stays where it is."""
    return SetupProblem(message, kind=kind, place=f"source {settings.name}", hint=hint)


def _words(settings: PostgresSettings, problem: psycopg2.Error) -> str:
    """The server's message, on one line, without the password."""
    text = " ".join(str(problem).split()) or "the server closed the connection"
    return hide(text, [settings.url])


def rows(session: Connection, query: Any, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with session.cursor() as cursor:
        cursor.execute(query, values)
        return list(cursor.fetchall())


def one(session: Connection, query: Any, values: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """The first row of a query that has one."""
    return rows(session, query, values)[0]
