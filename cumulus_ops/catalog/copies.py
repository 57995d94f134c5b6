"""Copies of a catalog: a SQLite file with all of its tables as of one moment, whatever database the catalog is. It is made while others read and write, and put in the
place of a catalog, SQLite or PostgreSQL, by one transaction.

The file is a catalog itself, and is prepared as one before it takes another's place: :func:`renew` makes it that of a generation in which nobody is at work yet.
"""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, DateTime, Engine, Table, create_engine, delete, func, insert, select, text, update

from cumulus_ops.catalog import tables as t
from cumulus_ops.catalog.database import SCHEMA, Database, is_missing, schema_version
from cumulus_ops.catalog.identity import Identity
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.project.processes import reach

__all__ = ["CopyFacts", "copy_catalog", "is_usable", "read_facts", "renew", "replace_catalog"]

#: Rows that are held at a time.
AT_ONCE = 5_000


@dataclass(frozen=True)
class CopyFacts:
    """What a copy says of its catalog: as of which ``commit`` it is, and the newest ``epoch`` that has a snapshot (-1: none); where sources are."""

    identity: Identity
    program: str
    commit: int
    epoch: int
    rows: int
    positions: Mapping[str, str]


def copy_catalog(database: Database, to: Path) -> None:
    """Copy the catalog as of one moment. Nobody waits for it: SQLite's readers do not stop a writer, and PostgreSQL's see the moment at which they began.

    Raises:
        SetupProblem: there is no catalog, or it is another version's.
    """
    database.check_schema()
    if database.engine.dialect.name == "sqlite":
        source = sqlite3.connect(f"file:{database.engine.url.database}?mode=rw", uri=True)
        with contextlib.closing(source):
            source.execute("VACUUM INTO ?", (str(to),))
        return
    once = database.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    with _plain(to) as target, once.connect() as source_rows, target.begin() as connection:
        t.metadata.create_all(connection)
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO alembic_version VALUES (:number)"), {"number": SCHEMA})
        for table in t.metadata.sorted_tables:
            _copy_rows(source_rows, connection, table)


@contextlib.contextmanager
def _plain(file: Path) -> Iterator[Engine]:
    """A SQLite file as it is: opening it as a catalog would change its first page."""
    engine = create_engine(f"sqlite:///{file}")
    try:
        yield engine
    finally:
        engine.dispose()


def _copy_rows(source: Connection, target: Connection, table: Table) -> None:
    moments = [c.name for c in table.columns if isinstance(c.type, DateTime)]
    found = source.execute(select(table).execution_options(yield_per=AT_ONCE)).mappings()
    for part in found.partitions():
        rows = [dict(row) for row in part]
        for row in rows if moments else ():
            row.update({name: _in_utc(row[name]) for name in moments})
        target.execute(insert(table), rows)


def _in_utc(moment: datetime.datetime | None) -> datetime.datetime | None:
    """SQLite keeps no zone, and is given none; PostgreSQL gives that of its session."""
    if moment is None or moment.tzinfo is None:
        return None if moment is None else moment.replace(tzinfo=datetime.UTC)
    return moment.astimezone(datetime.UTC)


def read_facts(copy: Path) -> CopyFacts:
    """What a copy says of its catalog.

    Raises:
        SetupProblem: nothing was initialised in it.
    """
    with _plain(copy) as engine, engine.connect() as connection:
        i, p, s = t.installation.c, t.program.c, t.source_position.c
        whose = connection.execute(select(i.name, i.generation)).first()
        program = connection.execute(select(p.name, p.last_commit)).first()
        if whose is None or program is None:
            raise SetupProblem("there is no program in it", kind="bad-backup", place=str(copy), hint="take another one")
        epoch = connection.execute(select(func.max(t.snapshot.c.epoch))).scalar()
        rows = sum(connection.execute(select(func.count()).select_from(x)).scalar_one() for x in _tables(connection))
        positions = dict(map(tuple, connection.execute(select(s.source, s.position))))
        newest = -1 if epoch is None else int(epoch)
        return CopyFacts(Identity(*whose), program.name, int(program.last_commit), newest, rows, positions)


def _tables(connection: Connection) -> list[Table]:
    """Those that are there: a copy of an earlier version may lack some."""
    there = set(connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars())
    return [table for table in t.metadata.sorted_tables if table.name in there]


def renew(database: Database, identity: Identity, backup: Mapping[str, Any] | None) -> None:
    """Make a copy that of a generation that begins where it is: nobody is at work, and what was replaced is gone.

    What readers have seen of the lost history is told anew: the newest snapshot is published again, and tables of final rows are written again, since those that are
    there are of the generation before. All that was computed stays.

    Args:
        database: the copy, with this version's schema.
        identity: whose it is from now on.
        backup: the row that says of which backup it is; None to leave the one that is there.
    """
    b, s, c, p = t.batch.c, t.snapshot.c, t.consumption.c, t.published.c
    with database.begin() as connection:
        connection.execute(delete(t.lease))
        connection.execute(update(t.batch).where(b.state == "appended").values(read_at=None))
        connection.execute(update(t.batch).values(lease=None, step=None))
        connection.execute(update(t.revision).values(lease=None, step=None, worker=None))
        for table in (t.run, t.key_run, t.net_table):
            connection.execute(delete(table).where(table.c.retired_by.is_not(None)))
        last = connection.execute(select(t.program.c.last_commit)).scalar_one()
        connection.execute(update(t.program).values(generation=identity.generation, forgotten=last))
        newest = select(func.max(s.epoch)).where(s.repeats.is_(None)).scalar_subquery()
        connection.execute(delete(t.consumption).where(c.consumer == "publish", c.epoch == newest))
        connection.execute(delete(t.published).where(p.epoch == newest))
        connection.execute(update(t.final_partition).values(delta_version=None))
        connection.execute(delete(t.step_problem))
        connection.execute(delete(t.recovery))
        if backup is not None:
            connection.execute(delete(t.backup))
            connection.execute(insert(t.backup).values(**backup))
        whose = {"name": identity.installation, "generation": identity.generation, "home": None}
        connection.execute(update(t.installation).values(**whose))


def is_usable(database: Database) -> bool:
    """Whether there is a catalog of this version in which a program is registered; False for one that is missing, empty or damaged."""
    if is_missing(database.engine) or schema_version(database.reader) != SCHEMA:
        return False
    return bool(database.read(select(t.program.c.id)))


def replace_catalog(prepared: Path, database: Database) -> None:
    """Put the rows of a prepared copy in the place of all that is in a catalog, by one transaction: who has it open sees the one or the other."""
    database.migrate()
    with _plain(prepared) as engine, engine.connect() as source, database.begin() as connection:
        if connection.dialect.name == "postgresql":
            names = ", ".join(f'"{table.name}"' for table in t.metadata.sorted_tables)
            connection.execute(text(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE"))
        for table in reversed(t.metadata.sorted_tables):
            connection.execute(delete(table))
        for table in t.metadata.sorted_tables:
            _copy_rows(source, connection, table)
        if connection.dialect.name == "postgresql":
            _number_on(connection)
        reach("restore.before-commit")


def _number_on(connection: Connection) -> None:
    """Let PostgreSQL give out numbers behind those that are there; SQLite does so by itself."""
    for table in t.metadata.sorted_tables:
        for column in (c for c in table.primary_key if c.autoincrement is True):
            last = connection.execute(select(func.max(column))).scalar()
            if last is not None:
                name = func.pg_get_serial_sequence(f'"{table.name}"', column.name)
                connection.execute(select(func.setval(name, last)))
