"""Opening the catalog's database: SQLite embedded, PostgreSQL served; and bringing its schema up to date."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from cumulus_ops.errors import SetupProblem

__all__ = ["READ_ONLY", "SCHEMA", "connect", "migrate", "retry_busy", "schema_version"]

#: The newest migration.
SCHEMA = "0013"

T = TypeVar("T")
BUSY_TIMEOUT_MS = 60_000
READ_ONLY = "cumulus_read_only"  # execution option of connections that will not write
MIGRATIONS = Path(__file__).parent / "migrations"
MIGRATION_LOCK = 0x43554D55  # one number for PostgreSQL's advisory lock


def connect(url: str) -> Engine:
    """An engine for ``url``. SQLite files get a folder, WAL and a busy timeout; writing transactions take the write lock
    at their beginning, so that a reader never has to become a writer half-way."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_pre_ping=True, isolation_level="READ COMMITTED")
    if parsed.database in (None, "", ":memory:"):
        raise SetupProblem(
            "the catalog must outlive a process", kind="catalog-memory", hint="use sqlite:///FILE or PostgreSQL"
        )
    Path(str(parsed.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(parsed, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _configure_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _begin_sqlite(connection: Connection) -> None:
    only_reads = connection.get_execution_options().get(READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if only_reads else "BEGIN IMMEDIATE")


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

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except OperationalError as error:
        raise SetupProblem(
            f"the catalog database cannot be reached: {error.orig}",
            kind="catalog-unreachable",
            place=engine.url.render_as_string(hide_password=True),
            hint="check the catalog URL in cumulus.yaml and that the server runs",
        ) from error


def schema_version(engine: Engine) -> str | None:
    """The version of the catalog's schema; None for a database without one."""
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
