"""Replication slots: what makes the server keep its log for us.

A slot's name is ``cumulus_<source>_<installation>_<generation>_<attempt>``: the installation is the state folder's
(:mod:`cumulus_ops.catalog.identity`), so that two installations of one project do not touch each other's; the attempt is drawn anew for each initial copy. So whatever begins
with the installation's prefix is ours, and of these only the one that the position names is needed: the others are what interrupted initial
copies left, or earlier generations. Slots from before there were installations have a number in place of one, which is in a file beside the state's.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg2
from psycopg2 import errorcodes, sql

from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.small_files import create_file, read_summed, with_sum
from cumulus_ops.sources.postgres.connection import (
    Connection,
    PostgresSettings,
    TableSettings,
    connect_for_replication,
    one,
    open_session,
    rows,
    stopped,
    when_free,
)
from cumulus_ops.sources.postgres.tables import Position, Table, lsn_number, lsn_text

__all__ = [
    "Slot",
    "advance",
    "check_publication",
    "draw_slot",
    "drop_left_over",
    "drop_slot",
    "dropped_slots",
    "ensure_publication",
    "exported_snapshot",
    "find_slot",
    "held_slots",
    "installation_of",
    "lock_copying",
    "moved_on",
    "our_slots",
    "slot_prefix",
    "whole_log",
]


# The publication: what the server sends of which tables.


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
    lacking = [table for table in tables if table.settings in _find_unpublished(session, settings)]
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
    if unpublished := _find_unpublished(session, settings):
        place = unpublished[0].place
        hint = f"what changes in it meanwhile is lost: ALTER PUBLICATION {name} ADD TABLE {place}; if nothing did, else begin again"
        raise stopped(settings, f"publication {name} does not send {place}", "publication", hint)
    narrowed = rows(session, NARROWED, (name,)) if session.server_version >= 150000 else []
    if narrowed:
        hint = "use a publication without WHERE and without lists of columns"
        message = f"publication {name} leaves out rows or columns of {narrowed[0][0]}"
        raise stopped(settings, message, "publication", hint)


def _find_unpublished(session: Connection, settings: PostgresSettings) -> list[TableSettings]:
    published = set(rows(session, PUBLISHED, (settings.publication,)))
    return [table for table in settings.tables if (table.schema, table.table) not in published]


SLOTS = """
SELECT slot_name::text, restart_lsn::text, confirmed_flush_lsn::text, coalesce(wal_status, 'reserved'), active,
       pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint
FROM pg_replication_slots WHERE starts_with(slot_name::text, %s) AND database = current_database() ORDER BY 1"""
LOG = """
SELECT system_identifier::text, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int,
       current_database()::text, pg_current_wal_flush_lsn()::text FROM pg_control_system()"""
NAME_LENGTH = 63
#: How the names of the files end that say which slots are ours, and what such a file says.
INSTALLATION, INSTALLATION_NAME = ".installation", re.compile("[0-9a-f]{8}")
#: The same of those that say where a slot began: as long as a position has no place, the slot has to be there.
BEGIN, BEGIN_TEXT = ".begin", re.compile("[0-9A-F]+/[0-9A-F]+")


@dataclass(frozen=True)
class Slot:
    """A slot as the server describes it. ``restart``: where the server begins to read; ``confirmed``: transactions before it are not sent
    again. ``held_bytes`` of the server's log are kept for it, None if it is lost."""

    name: str
    restart: int
    confirmed: int
    status: str
    is_active: bool
    held_bytes: int | None


def slot_prefix(settings: PostgresSettings) -> str:
    """What this installation's slots begin with."""
    return f"{_prefix_of(settings.name)}{_installation(settings)}_"


def _prefix_of(source: str) -> str:
    return f"cumulus_{re.sub(r'[^a-z0-9_]', '_', source.lower())[: NAME_LENGTH - 30]}_"


def installation_of(source: str, position: str | None) -> str | None:
    """What an installation's slots are called by, as the slot says that a position of the source names; None if there is no position yet.

    >>> place = Position("7", 1, "shop", "cumulus_my_shop_3f2a9c1b_1_0a1b2c", ())
    >>> installation_of("My-Shop", place.text())
    '3f2a9c1b'
    """
    if position is None:
        return None
    found = INSTALLATION_NAME.match(Position.parse(position).slot.removeprefix(_prefix_of(source)))
    return None if found is None else found[0]


def draw_slot(settings: PostgresSettings) -> str:
    """The name of a new slot."""
    generation = 1 if settings.owner is None else settings.owner.generation
    return f"{slot_prefix(settings)}{generation:x}_{secrets.token_hex(3)}"


def _installation(settings: PostgresSettings) -> str:
    """Written once, by whoever comes first. What is no name was damaged, and `cumulus fsck` says so; slots are found by their own names all the same."""
    file = settings.folder / f"{settings.name}{INSTALLATION}"
    name = secrets.token_hex(4) if settings.owner is None else settings.owner.installation[:8]
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        create_file(file, name)
    found = file.read_text(encoding="utf-8", errors="replace")
    return found if INSTALLATION_NAME.fullmatch(found) else name


def our_slots(session: Connection, settings: PostgresSettings) -> list[Slot]:
    """The slots of this installation."""
    return _read_slots(session, slot_prefix(settings))


def _read_slots(session: Connection, prefix: str) -> list[Slot]:
    return [
        Slot(name, lsn_number(restart or "0/0"), lsn_number(confirmed or "0/0"), status, active, held)
        for name, restart, confirmed, status, active, held in rows(session, SLOTS, (prefix,))
    ]


def whole_log(session: Connection, settings: PostgresSettings, slot: str) -> tuple[Position, int]:
    """Which log this is, as a position without a place, and how far it is written for good."""
    system, timeline, database, flushed = one(session, LOG)
    tables = tuple(f"{t.relation.name}={t.place}" for t in settings.tables)
    return Position(system, timeline, database, slot, tables), lsn_number(flushed)


BEGIN_AGAIN = "docs/sources-postgres.md says how to begin again"


def find_slot(session: Connection, settings: PostgresSettings, position: Position) -> tuple[Slot, int]:
    """The slot of a position, and how far the log is written.

    Raises:
        SetupProblem: this is not the database that the position is of, or it does not have what comes behind it any more.
    """
    here, flushed = whole_log(session, settings, position.slot)
    for name, what in (
        ("system", "another server"),
        ("timeline", "a restored or promoted server"),
        ("database", "another database"),
    ):
        if getattr(here, name) != getattr(position, name):
            message = (
                f"the url leads to {what}: {name} {getattr(here, name)}, and {getattr(position, name)} was read so far"
            )
            raise stopped(settings, message, "other-database", f"correct the url; for another database {BEGIN_AGAIN}")
    if here.tables != position.tables:
        hint = f"it began with {', '.join(position.tables)}; tables that are added later need a source of their own"
        raise stopped(settings, "the source's tables are not those that it began with", "other-tables", hint)
    # by its name: the file that says what ours are called may be lost
    found = [slot for slot in _read_slots(session, position.slot) if slot.name == position.slot]
    if not found or found[0].status == "lost" or not found[0].restart:
        message = f"the replication slot {position.slot} is lost, and with it what the server would have sent"
        hint = f"somebody dropped it, the database was restored, or it held more than max_slot_wal_keep_size; {BEGIN_AGAIN}"
        raise stopped(settings, message, "slot-lost", hint)
    read = _begin_of(settings, position.slot) if position.lsn is None else position.lsn
    if read is not None and (read > flushed or found[0].confirmed > read):
        message = f"{lsn_text(read)} was read; the slot is at {lsn_text(found[0].confirmed)}, and the log ends at {lsn_text(flushed)}"
        hint = f"the database or Cumulus's catalog was restored from a backup, or somebody else reads the slot; {BEGIN_AGAIN}"
        raise stopped(settings, message, "slot-elsewhere", hint)
    return found[0], flushed


def _begin_of(settings: PostgresSettings, slot: str) -> int | None:
    """Where a slot began; None of one from before that was noted, or if the note is lost: that the slot was there all the time is not seen then."""
    found = read_summed(settings.folder / f"{slot}{BEGIN}") or ""
    return lsn_number(found) if BEGIN_TEXT.fullmatch(found) else None


def moved_on(settings: PostgresSettings) -> Conflict:
    """What is said to somebody who knows an old position."""
    return Conflict("the source moved on", kind="source-moved", place=f"source {settings.name}", hint="ask it again")


ADVANCE = "SELECT pg_replication_slot_advance(%s, %s)"


def advance(session: Connection, settings: PostgresSettings, slot: Slot, to: int) -> None:
    """Let the server forget what is in the event log for good."""
    if to > slot.confirmed:
        when_free(settings, lambda: rows(session, ADVANCE, (slot.name, lsn_text(to))))


def drop_slot(session: Connection, settings: PostgresSettings, name: str) -> None:
    """Drop a slot, if it is there."""
    try:
        when_free(settings, lambda: rows(session, "SELECT pg_drop_replication_slot(%s)", (name,)))
    except psycopg2.Error as problem:
        if problem.pgcode != errorcodes.UNDEFINED_OBJECT:
            raise
    (settings.folder / f"{name}{BEGIN}").unlink(missing_ok=True)


def drop_left_over(session: Connection, settings: PostgresSettings, but: str | None) -> None:
    """Drop the slots of initial copies that were interrupted: those of ours that the position does not name, and nobody uses."""
    for slot in our_slots(session, settings):
        if slot.name != but and not slot.is_active:
            drop_slot(session, settings, slot.name)


def lock_copying(session: Connection, settings: PostgresSettings) -> bool:
    """Whether this session is now the only one that makes an initial copy for this installation; as long as it lives."""
    digest = hashlib.sha256(slot_prefix(settings).encode()).digest()
    number = int.from_bytes(digest[:8], "big", signed=True)
    return bool(one(session, "SELECT pg_try_advisory_lock(%s)", (number,))[0])


@contextmanager
def exported_snapshot(settings: PostgresSettings, name: str) -> Iterator[str]:
    """Makes a slot; gives the snapshot of the database at which it begins, for as long as the context lasts."""
    session: Any = connect_for_replication(settings)
    try:
        with session.cursor() as cursor:
            cursor.execute(
                sql.SQL("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT").format(sql.Identifier(name))
            )
            _, begin, snapshot, _ = cursor.fetchone()
            settings.folder.mkdir(parents=True, exist_ok=True)
            create_file(settings.folder / f"{name}{BEGIN}", with_sum(begin))
            yield snapshot
    finally:
        session.close()


def held_slots(settings: PostgresSettings) -> list[Slot]:
    """The slots that the server keeps for this installation of the source.

    Raises:
        SetupProblem: the server does not answer.
    """
    with open_session(settings) as session:
        return our_slots(session, settings)


def dropped_slots(settings: PostgresSettings) -> list[Slot]:
    """Drops them, so that the server forgets what it kept. A source that had begun cannot go on then.

    Raises:
        SetupProblem: the server does not answer.
        NotYet: somebody reads one.
    """
    with open_session(settings) as session:
        found = our_slots(session, settings)
        for slot in found:
            drop_slot(session, settings, slot.name)
    return found
