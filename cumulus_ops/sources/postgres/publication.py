"""The publication: what the server sends of which tables."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg2
from psycopg2 import errorcodes, sql

from cumulus_ops.sources.postgres.connection import Connection, rows, stopped
from cumulus_ops.sources.postgres.settings import PostgresSettings, TableSettings
from cumulus_ops.sources.postgres.tables import Table

__all__ = ["check_publication", "ensure_publication"]

PUBLICATION = """
SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate, pubviaroot FROM pg_publication WHERE pubname = %s"""
PUBLISHED = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
#: From PostgreSQL 15 on, a publication may leave out rows and columns.
NARROWED = """
SELECT r.prrelid::regclass::text FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
WHERE p.pubname = %s AND (r.prqual IS NOT NULL OR r.prattrs IS NOT NULL)"""
CREATE = "CREATE PUBLICATION {} FOR TABLE {} WITH (publish_via_partition_root = true)"
ADD = "ALTER PUBLICATION {} ADD TABLE {}"


def ensure_publication(session: Connection, settings: PostgresSettings, tables: Sequence[Table]) -> None:
    """Make the publication for exactly these tables if there is none of its name, or add those that it lacks; and check it.

    Only before the slot is made: what was not published when it was written is not sent.

    Raises:
        SetupProblem: it cannot be made, or sends less than is needed.
    """
    lacking = [table for table in tables if table.settings in _unpublished(session, settings)]
    if not rows(session, PUBLICATION, (settings.publication,)):
        _execute(session, settings, CREATE, tables)
    elif lacking:
        _execute(session, settings, ADD, lacking)
    check_publication(session, settings)
    ((_, via_root),) = rows(session, PUBLICATION, (settings.publication,))
    if not via_root and any(table.is_partitioned for table in tables):
        hint = f"ALTER PUBLICATION {settings.publication} SET (publish_via_partition_root = true);"
        message = f"publication {settings.publication} sends partitions under their own names"
        raise stopped(settings, message, "publication", hint)


def _execute(session: Connection, settings: PostgresSettings, text: str, tables: Sequence[Table]) -> None:
    names = sql.SQL(", ").join(table.name for table in tables)
    statement = sql.SQL(text).format(sql.Identifier(settings.publication), names)
    try:
        with session.cursor() as cursor:
            cursor.execute(statement)
    except psycopg2.Error as problem:
        if problem.pgcode == errorcodes.INSUFFICIENT_PRIVILEGE:
            hint = f"let an owner of the tables say: {statement.as_string(session)};"
            message = f"the source's user may not make or change publication {settings.publication}"
            raise stopped(settings, message, "source-permission", hint) from None
        if problem.pgcode not in (
            errorcodes.DUPLICATE_OBJECT,
            errorcodes.UNIQUE_VIOLATION,
        ):  # another process was quicker
            raise


def check_publication(session: Connection, settings: PostgresSettings) -> None:
    """Whether the publication sends every change of the tables.

    Raises:
        SetupProblem: it does not.
    """
    name = settings.publication
    found = rows(session, PUBLICATION, (name,))
    if not found:
        hint = "without it the server cannot read its log for us; begin again (docs/sources-postgres.md)"
        raise stopped(settings, f"the publication {name} was dropped", "no-publication", hint)
    if not found[0][0]:
        hint = f"ALTER PUBLICATION {name} SET (publish = 'insert, update, delete, truncate');"
        raise stopped(settings, f"publication {name} leaves out some kinds of changes", "publication", hint)
    if unpublished := _unpublished(session, settings):
        place = unpublished[0].place
        hint = f"what changes in it meanwhile is lost: ALTER PUBLICATION {name} ADD TABLE {place}; if nothing did, else begin again"
        raise stopped(settings, f"publication {name} does not send {place}", "publication", hint)
    narrowed = rows(session, NARROWED, (name,)) if session.server_version >= 150000 else []
    if narrowed:
        hint = "use a publication without WHERE and without lists of columns"
        message = f"publication {name} leaves out rows or columns of {narrowed[0][0]}"
        raise stopped(settings, message, "publication", hint)


def _unpublished(session: Connection, settings: PostgresSettings) -> list[TableSettings]:
    published = set(rows(session, PUBLISHED, (settings.publication,)))
    return [table for table in settings.tables if (table.schema, table.table) not in published]
