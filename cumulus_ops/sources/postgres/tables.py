"""The tables of the source as the server describes them, and whether relations can follow them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg2 import sql

from cumulus_ops.project.errors import COLUMN_NOT_DEPLOYED, IntegrityProblem, SetupProblem, columns_wait
from cumulus_ops.project.relation_settings import canonical_text
from cumulus_ops.sources.postgres.connection import Connection, PostgresSettings, TableSettings, one, rows, stopped
from cumulus_ops.sources.postgres.pgoutput import BUILT_IN, may_hold, suitable
from cumulus_ops.sources.shapes import ShownColumn
from m3.datatypes import BOOL, DATE, DOUBLE, INT, MAX_PRECISION, STRING, TIMESTAMP, decimal

__all__ = [
    "Position",
    "Table",
    "check_columns",
    "check_server",
    "check_tables",
    "columns_now",
    "describe_columns",
    "leaves",
    "lsn_number",
    "lsn_text",
    "types_by_number",
]


# Where a source is: a place in the log of one database, which another or a restored database does not have.


@dataclass(frozen=True)
class Position:
    """``system``, ``timeline`` and ``database`` say whose log, ``slot`` what keeps it for us, ``tables`` (relation=schema.table) what was
    copied at the beginning. ``lsn``: transactions whose commit is written before it (exclusive) are in; None is where the slot
    began, directly after the initial copy."""

    system: str
    timeline: int
    database: str
    slot: str
    tables: tuple[str, ...]
    lsn: int | None = None

    def text(self) -> str:
        """What the catalog keeps.

        >>> Position("7", 1, "shop", "s", ("orders=public.orders",), 0x16B3748).text()
        '{"database": "shop", "lsn": "0/16B3748", "slot": "s", "system": "7", "tables": ["orders=public.orders"], "timeline": 1}'
        """
        lsn = None if self.lsn is None else lsn_text(self.lsn)
        return json.dumps({**self.__dict__, "lsn": lsn}, sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Position:
        """Inverse of :meth:`text`.

        Raises:
            IntegrityProblem: it is not a position of this kind of source.
        """
        try:
            found = json.loads(text)
            lsn = None if found["lsn"] is None else lsn_number(found["lsn"])
            return cls(**{**found, "lsn": lsn, "tables": tuple(found["tables"])})
        except (ValueError, TypeError, KeyError) as problem:
            raise IntegrityProblem(
                f"{text!r} is no position of a PostgreSQL source",
                kind="bad-position",
                hint="a source keeps its kind; give the new one another name",
            ) from problem


def lsn_number(text: str) -> int:
    """A place in the log, in bytes.

    >>> hex(lsn_number("2/16B3748"))
    '0x2016b3748'
    """
    high, low = text.split("/")
    return int(high, 16) << 32 | int(low, 16)


def lsn_text(lsn: int) -> str:
    """As PostgreSQL writes it.

    >>> lsn_text(0x2016b3748)
    '2/16B3748'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


TABLE = """
SELECT c.oid, c.relkind::text, c.relpersistence::text, row_security_active(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s"""
COLUMNS = """
WITH RECURSIVE base AS (
    SELECT attname, attnum, attgenerated, atttypid AS type FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT attname, attnum, attgenerated, t.typbasetype FROM base JOIN pg_type t ON t.oid = base.type WHERE t.typtype = 'd')
SELECT attname, CASE WHEN typtype = 'e' THEN 'enum' ELSE typname END, attgenerated::text <> ''
FROM base JOIN pg_type t ON t.oid = base.type WHERE typtype <> 'd' ORDER BY attnum"""
#: Of a partitioned table, each leaf has a replica identity of its own; that of the root decides how its old rows are marked.
IDENTITIES = """
SELECT format('%%I.%%I', n.nspname, c.relname), c.relreplident::text,
       ARRAY(SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
             WHERE i.indrelid = l.relid AND CASE c.relreplident WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END),
       c.reltoastrelid <> 0 AND pg_relation_size(c.reltoastrelid) > 0
FROM (SELECT relid::oid FROM pg_partition_tree(%s) WHERE isleaf UNION SELECT %s::oid) l JOIN pg_class c ON c.oid = l.relid
JOIN pg_namespace n ON n.oid = c.relnamespace
ORDER BY 1"""
LEAVES = """
SELECT n.nspname::text, c.relname::text FROM pg_partition_tree(to_regclass(%s)) l JOIN pg_class c ON c.oid = l.relid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE l.isleaf AND c.relispartition"""
#: Domains and enums: types that the stream names by numbers of this database.
OWN_TYPES = """
WITH RECURSIVE base AS (
    SELECT oid, typname, typtype, typbasetype FROM pg_type WHERE typtype IN ('d', 'e') OR typname = 'citext'
    UNION ALL
    SELECT base.oid, t.typname, t.typtype, t.typbasetype FROM base JOIN pg_type t ON t.oid = base.typbasetype WHERE base.typtype = 'd')
SELECT oid, CASE WHEN typtype = 'e' THEN 'enum' ELSE typname END FROM base WHERE typtype <> 'd'"""
LEAST_VERSION = 130000


@dataclass(frozen=True)
class Table:
    """A table of the source: ``types`` are its columns' in their order, by name."""

    settings: TableSettings
    types: Mapping[str, str]
    is_partitioned: bool

    def column(self, declared: str) -> str:
        """How a declared column is called in the table."""
        return self.settings.name_of(declared, self.types) or declared

    @property
    def name(self) -> sql.Composable:
        """Its quoted name; of an ordinary table, without those that inherit from it."""
        quoted = sql.Identifier(self.settings.schema, self.settings.table)
        return quoted if self.is_partitioned else sql.SQL("ONLY {}").format(quoted)


def check_server(session: Connection, settings: PostgresSettings) -> None:
    """Whether the server can be a source.

    Raises:
        SetupProblem: it is too old, or is not set up for logical replication.
    """
    if session.server_version < LEAST_VERSION:
        raise stopped(settings, "the server is older than PostgreSQL 13", "source-version", "upgrade the server")
    (level,) = one(session, "SHOW wal_level")
    if level != "logical":
        hint = "set wal_level = logical in postgresql.conf and restart the server"
        raise stopped(settings, f"the server's wal_level is {level}", "wal-level", hint)
    (encoding,) = one(session, "SHOW server_encoding")
    if encoding == "SQL_ASCII":
        hint = "texts have no certain meaning there; dump the database and restore it with an encoding"
        raise stopped(settings, "the database's encoding is SQL_ASCII", "source-encoding", hint)


def check_tables(session: Connection, settings: PostgresSettings) -> tuple[Table, ...]:
    """The tables of the relations.

    Raises:
        SetupProblem: one is missing, or cannot be followed by its relation; what to do is said.
    """
    return tuple(_table(session, settings, wanted) for wanted in settings.tables)


def _table(session: Connection, settings: PostgresSettings, wanted: TableSettings) -> Table:
    found = rows(session, TABLE, (wanted.schema, wanted.table))
    if not found:
        hint = "names are written as in pg_class, most often in small letters; name the schema if it is not public"
        raise stopped(settings, f"there is no table {wanted.place}", "no-table", hint)
    number, kind, persistence, is_restricted = found[0]
    if kind not in "rp" or persistence != "p":
        hint = (
            "only ordinary and partitioned tables are published; views, foreign, unlogged and temporary tables are not"
        )
        raise stopped(settings, f"{wanted.place} is no table that can be followed", "table-kind", hint)
    if is_restricted:
        hint = "give the source's user the attribute BYPASSRLS"
        raise stopped(
            settings, f"row security hides rows of {wanted.place} from the source's user", "row-security", hint
        )
    columns = rows(session, COLUMNS, (number,))
    types = {name: type_ for name, type_, _ in columns}
    followed = {wanted.name_of(c.name, types) for c in wanted.relation.columns}
    for name, _, is_generated in columns:
        if is_generated and name in followed:
            hint = "generated columns are not sent; leave it out, and compute it in the view"
            raise stopped(settings, f"column {name} of {wanted.place} is generated", "generated-column", hint)
    if problem := check_columns(settings, wanted, types):
        raise problem
    _check_identities(settings, wanted, rows(session, IDENTITIES, (number, number)))
    return Table(wanted, types, kind == "p")


def columns_now(session: Connection, settings: PostgresSettings) -> dict[TableSettings, tuple[str, ...]]:
    """The columns that tables have now, in the order in which they were added."""
    found = {}
    for table in settings.tables:
        numbers = rows(session, TABLE, (table.schema, table.table))
        found[table] = tuple(name for name, *_ in rows(session, COLUMNS, (numbers[0][0],))) if numbers else ()
    return found


#: What a column is, domains resolved: its type, the modifier that has the digits of a numeric, and what rows have that were there before it.
SHAPE = """
WITH RECURSIVE base AS (
    SELECT attname, attnum, attnotnull, attgenerated, atttypid AS type, atttypmod AS modifier,
           CASE WHEN atthasmissing THEN (attmissingval::text::text[])[1] END AS missing
    FROM pg_attribute WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT attname, attnum, attnotnull OR t.typnotnull, attgenerated, t.typbasetype, t.typtypmod, missing
    FROM base JOIN pg_type t ON t.oid = base.type WHERE t.typtype = 'd')
SELECT attname, CASE WHEN typtype = 'e' THEN 'enum' ELSE typname END, modifier, attnotnull, missing
FROM base JOIN pg_type t ON t.oid = base.type WHERE typtype <> 'd' AND attgenerated::text = '' ORDER BY attnum"""
#: The kinds of types that columns may have, the best first; each PostgreSQL type is of the first that may follow it.
KINDS = (INT, STRING, DATE, TIMESTAMP, BOOL, DOUBLE)


def describe_columns(session: Connection, table: TableSettings) -> list[ShownColumn]:
    """The columns that a table has now, generated ones left out."""
    numbers = rows(session, TABLE, (table.schema, table.table))
    return [_describe(*row) for row in rows(session, SHAPE, (numbers[0][0],))] if numbers else []


def _describe(name: str, type_: str, modifier: int, is_not_null: bool, missing: str | None) -> ShownColumn:
    found, what = next((kind for kind in KINDS if type_ != "numeric" and may_hold(kind, type_)), None), type_
    if type_ == "numeric":
        precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
        what = "numeric without digits" if modifier < 0 else f"numeric({precision},{scale})"
        found = decimal(precision, scale) if modifier >= 0 and scale <= precision <= MAX_PRECISION else None
    if found is None:
        return ShownColumn(name, None, what)
    text = {"t": "true", "f": "false"}.get(missing or "", missing) if type_ == "bool" else missing
    default = None if text is None else canonical_text(text, found)
    return ShownColumn(name, found.with_null(not is_not_null), what, default)


def came_later(column: str, then: Sequence[str], now: Sequence[str]) -> bool:
    """Whether a table got a column after some of its rows were written: none of the columns that it had then can have been this one by another name.

    >>> [came_later("tag", then, ("id", "item", "tag")) for then in (("id", "item"), ("id", "gone", "item"), ("id", "item", "label"))]
    [True, True, False]

    Args:
        column: how it is called now.
        then: the table's columns at that time,
        now: and now, each in the order in which they were added.
    """
    place = {name: i for i, name in enumerate(now)}
    for i, other in enumerate(then):
        before, after = ([place[name] for name in names if name in place] for names in (then[:i], then[i + 1 :]))
        if other not in place and max(before, default=-1) < place[column] < min(after, default=len(now)):
            return False
    return True


def check_columns(
    settings: PostgresSettings,
    wanted: TableSettings,
    types: Mapping[str, str],
    now: Mapping[TableSettings, tuple[str, ...]] | None = None,
) -> SetupProblem | None:
    """What is wrong with a table's columns: each of the relation's has to be there, with a type that means the same. One that the table got
    since the rows were written may be missing, if it may be NULL or has a default; ``now``: the columns that tables have by now."""
    present = (now or {}).get(wanted, ())
    waiting = sorted(name for name in wanted.waiting if name in types)
    if waiting:
        hint = "`cumulus deploy`: then it goes on where it is, and nothing is lost"
        return stopped(settings, f"{wanted.place} {columns_wait(waiting)}", COLUMN_NOT_DEPLOYED, hint)
    for column in wanted.relation.columns:
        name = wanted.name_of(column.name, types)
        is_optional = column.type.nullable or wanted.relation.default_of(column.name) is not None
        later = wanted.name_of(column.name, present)
        if name is None and is_optional and later is not None and came_later(later, list(types), present):
            continue
        if name is None:
            hint = (
                f"the table had {', '.join(types)} then; if one of them is {column.name} under another name, write `renamed: {{{wanted.relation.name}: "
                f"{{OTHER_NAME: {column.name}}}}}` below the source in cumulus.yaml, or declare it `{{type: .., was: {column.name}}}` by its new name, and deploy: "
                "reading goes on where it was, and nothing is lost"
            )
            return stopped(settings, f"{wanted.place} has no column {column.name!r}", "no-column", hint)
        if not may_hold(column.type, types[name]):
            message = f"column {name} of {wanted.place} is {types[name]}, which is not read as {column.type}"
            hint = f"{column.type.kind} columns follow {suitable(column.type)}; change the declared type, or leave the column out"
            return stopped(settings, message, "column-type", hint)
    return None


def _check_identities(settings: PostgresSettings, wanted: TableSettings, found: Sequence[tuple[Any, ...]]) -> None:
    """Whether what is sent of old rows is enough. Found are, for a table and its partitions, name, replica identity, its columns, and
    whether large values are kept apart: those are not sent again with an update that leaves them unchanged."""
    relation, key = wanted.relation, set(wanted.relation.key)
    lacking = [one for one in found if one[1] != "f"]
    if wanted.mode != "upsert":
        wrong = [name for name, *_ in lacking]
        message = f"does not send old rows as a whole, which relation {relation.name} (mode {wanted.mode}) needs"
    elif wrong := [
        name
        for name, _, columns, _ in lacking
        if not key or any(wanted.name_of(column, columns) is None for column in relation.key)
    ]:
        message = f"does not send the key ({', '.join(relation.key)}) of old rows"
    else:
        wrong = [name for name, _, _, is_large in lacking if is_large]
        message = "has large values, which are not sent with updates that leave them unchanged, if old rows are not sent as a whole"
    if wrong:
        hint = " ".join(f"ALTER TABLE {name} REPLICA IDENTITY FULL;" for name in wrong)
        other = "" if wanted.mode == "upsert" else " Or declare the relation `mode: upsert` with the table's key"
        raise stopped(settings, f"{wrong[0]} {message}", "replica-identity", hint + other)


def leaves(session: Connection, settings: PostgresSettings) -> dict[tuple[str, str], TableSettings]:
    """The partitions that hold rows, by (schema, name), and what they are part of."""
    return {
        (schema, name): table
        for table in settings.tables
        for schema, name in rows(session, LEAVES, (f"{quote_name(table.schema)}.{quote_name(table.table)}",))
    }


def quote_name(name: str) -> str:
    """An identifier as a text that regclass reads."""
    return '"' + name.replace('"', '""') + '"'


def types_by_number(session: Connection) -> dict[int, str]:
    """The types' names by the numbers that the stream uses."""
    return {**BUILT_IN, **dict(rows(session, OWN_TYPES))}
