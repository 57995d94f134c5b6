"""Files of statements as PostgreSQL's own tests: played on a PostgreSQL, in their order; what each SELECT says there is to be said here.

A SELECT is in scope if PostgreSQL answers it, and its tables have columns of our types alone. What depends on the order of ties, or on the moment, is called
wrong here, too: such verdicts are to be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg2
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation
from tests.support.foreign.judging import Question, rows_that_come_and_go
from tests.support.planting import Row
from tests.support.services import postgresql

__all__ = ["QUERY", "Tables", "about", "ask", "ask_files", "read_tables", "split_statements"]

Tables = Mapping[str, tuple[Relation, list[Row]]]

#: PostgreSQL's names of types.
TYPES: dict[str, Type] = {
    **dict.fromkeys(("int2", "int4", "int8"), INT), **dict.fromkeys(("text", "varchar", "name"), STRING), "float8": DOUBLE, "bool": BOOL, "date": DATE,
    "timestamp": TIMESTAMP,
}  # fmt: skip
COLUMNS = """
SELECT attname, typname, atttypmod FROM pg_attribute JOIN pg_type t ON t.oid = atttypid
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
#: What a statement consists of: texts, names, comments and dollar quotes as a whole; a line for psql; the end.
PART = re.compile(
    r"""(?P<psql>^\\[^\n]*)|--[^\n]*|/\*.*?\*/|[eE]'(?:\\.|[^'\\])*'|'[^']*'|"[^"]*"|(?P<tag>\$\w*\$).*?(?P=tag)|(?P<end>;)|.""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
QUERY = re.compile(r"\s*(?:\(|SELECT\b|WITH\b|VALUES\b)", re.IGNORECASE)


def ask_files(files: Sequence[Path]) -> Iterator[Question]:
    """The questions of files, on a PostgreSQL of their own; a file has the tables of those before it."""
    with postgresql() as server:
        connection = psycopg2.connect(server.create_database("foreign").replace("+psycopg2", ""))
        connection.autocommit = True
        with connection.cursor() as cursor:
            for file in files:
                yield from ask(cursor, file)
        connection.close()


def ask(cursor: Any, file: Path) -> Iterator[Question]:
    """Play a file; a question for each of its SELECTs that is in scope."""
    for statement in split_statements(file.read_text(encoding="utf-8")):
        try:
            cursor.execute(statement)
            rows = cursor.fetchall() if QUERY.match(statement) and cursor.description else None
        except psycopg2.Error:
            continue
        tables = read_tables(cursor, statement) if rows is not None else None
        if tables:
            yield about(file.name, statement, tables, rows or [])


def about(file: str, query: str, tables: Tables, expected: Sequence[Row], dialect: str = "postgres") -> Question:
    """A question that has one answer, when all rows have come."""
    batches = rows_that_come_and_go({name: rows for name, (_, rows) in tables.items()})
    relations = [relation for relation, _ in tables.values()]
    return Question(file, query, dialect, relations, batches or [[]], [*[None] * (len(batches) - 1), expected])


def split_statements(text: str) -> Iterator[str]:
    """The statements of a file, without comments and without what is for psql."""
    found: list[str] = []
    for part in PART.finditer(text):
        if part["end"]:
            yield "".join(found).strip()
            found = []
        elif part["psql"] is None and not part[0].startswith(("--", "/*")):
            found.append(part[0])
    if rest := "".join(found).strip():
        yield rest


def read_tables(cursor: Any, query: str) -> Tables | None:
    """The tables of a query as they are now; None where it is out of scope."""
    try:
        tree = sqlglot.parse_one(query, read="postgres")
    except SqlglotError:
        return None
    inner = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    names = {table.name.lower() for table in tree.find_all(exp.Table)} - inner
    found = {}
    for name in sorted(names):
        try:
            cursor.execute(COLUMNS, (name,))
        except psycopg2.Error:
            return None
        columns = [(n, _read_type(kind, size)) for n, kind, size in cursor.fetchall()]
        if not columns or any(t is None for _, t in columns):
            return None
        relation = Relation(name, tuple(Column(n, t.with_null()) for n, t in columns if t is not None))
        listed = ", ".join(f'"{n}"' for n, _ in columns)
        cursor.execute(f"SELECT {listed} FROM {name}")
        found[name] = (relation, cursor.fetchall())
    return found


def _read_type(name: str, size: int) -> Type | None:
    if name == "numeric" and size > 0:
        return decimal((size - 4) >> 16, (size - 4) & 0xFFFF)
    return TYPES.get(name)
