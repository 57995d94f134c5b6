"""Opening the catalog's database: SQLite embedded, PostgreSQL served; and bringing its schema up to date."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError

from cumulus_ops.catalog.problems import database_problem, say_where
from cumulus_ops.catalog.tables import metadata
from cumulus_ops.errors import SetupProblem
from cumulus_ops.urls import require_clear, shown_url

__all__ = ["READ_ONLY", "SCHEMA", "connect", "is_missing", "migrate", "retry_busy", "schema_version"]

#: The newest migration.
SCHEMA = "0024"

T = TypeVar("T")
BUSY_TIMEOUT_MS = 60_000
#: A process that stands still in the midst of a transaction has its locks so long, which others may wait for: as long as its lease.
IDLE_MS = 60_000
READ_ONLY = "cumulus_read_only"  # execution option of connections that will not write
MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x43554D55  # one number for PostgreSQL's advisory lock


def connect(url: str) -> Engine:
    """An engine for ``url``. SQLite files get WAL and a busy timeout; writing transactions take the write lock
    at their beginning, so that a reader never has to become a writer half-way."""
    parsed = read_url(url)
    if parsed.get_backend_name() != "sqlite":
        served = create_engine(parsed, pool_pre_ping=True, isolation_level="READ COMMITTED")
        event.listen(served, "connect", _configure_postgresql)
        return say_where(served)
    if parsed.database in (None, "", ":memory:"):
        raise SetupProblem(
            "the catalog must outlive a process", kind="catalog-memory", hint="use sqlite:///FILE or PostgreSQL"
        )
    engine = create_engine(parsed, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return say_where(engine)


def read_url(url: str) -> URL:
    """The URL of a catalog. The driver need not be named; PostgreSQL's scheme may have either of its usual names.

    >>> read_url("postgres://me@db/cumulus").drivername
    'postgresql+psycopg2'

    Raises:
        SetupProblem: it is none, or of another database.
    """
    if not url.startswith("sqlite"):
        require_clear(url, "catalog", "catalog-url")
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None
    if parsed is None or parsed.get_backend_name() not in ("sqlite", "postgresql", "postgres"):
        hint = "write sqlite:///FILE or postgresql://USER@HOST/DATABASE"
        raise SetupProblem("this is no catalog's URL", kind="catalog-url", place=shown_url(url), hint=hint) from None
    return parsed.set(drivername="postgresql+psycopg2") if parsed.drivername in ("postgresql", "postgres") else parsed


def _begin_sqlite(connection: Connection) -> None:
    only_reads = connection.get_execution_options().get(READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")


def _configure_postgresql(connection: object, _record: object) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")
    cursor.close()
    connection.commit()  # type: ignore[attr-defined]  # else the first rollback takes it back


def _configure_sqlite(connection: object, _record: object) -> None:
    connection.isolation_level = None  # type: ignore[attr-defined]  # transactions are begun by the listener
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def migrate(engine: Engine) -> None:
    """Bring the schema to the current version; safe to run from several processes at once.

    Raises:
        SetupProblem: the database cannot be reached.
    """
    from alembic import command  # most often nothing is to be migrated
    from alembic.config import Config

    if engine.dialect.name == "sqlite":
        Path(str(engine.url.database)).parent.mkdir(parents=True, exist_ok=True)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))  # a migration may compute
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
            config.attributes["connection"] = connection
            if inspect(connection).get_table_names():
                command.upgrade(config, "head")
            else:  # of nothing, all migrations make what the tables say, ten times as slowly
                metadata.create_all(connection)
                command.stamp(config, "head")
    except OperationalError as error:
        raise database_problem(error) or error from error


def is_missing(engine: Engine) -> bool:
    """Whether the catalog is a file that is not there."""
    return engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists()


def schema_version(engine: Engine) -> str | None:
    """The version of the catalog's schema; None for a database without one. Nothing is made by looking."""
    if is_missing(engine):
        return None
    with engine.begin() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def retry_busy(action: Callable[[], T], attempts: int = 5) -> T:
    """Run a whole transaction again when the database says it is busy (SQLite under many writers)."""
    for attempt in range(attempts):
        try:
            return action()
        except OperationalError as error:
            if "locked" not in str(error.orig) or attempt == attempts - 1:
                raise
            time.sleep(0.1 * 2**attempt)
    raise AssertionError("unreachable")
