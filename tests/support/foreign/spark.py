"""Spark's own tests (``*.sql.out``): statements with the answers that Spark gave. Their tables are made in DuckDB, from where they come to the engine.

A SELECT is in scope if Spark answers it, from tables that DuckDB can make (it has no padded texts), and all columns are of our types; a file is read up to where it
leaves its database. What depends on the order of ties, or on the moment,
is called wrong here, too: such verdicts are to be read.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from m3.program import Column, Relation
from tests.support.foreign.judging import Question
from tests.support.foreign.planted import read_type
from tests.support.foreign.postgres import QUERY, Tables, about
from tests.support.planting import Row

__all__ = ["ask"]

PART = re.compile(
    r"-- !query\n(?P<text>.*?)\n-- !query schema\n(?P<schema>.*?)\n-- !query output\n(?P<rows>.*?)(?=\n\n\n|\n*\Z)",
    re.DOTALL,
)
COMMENT = re.compile(r"^\s*--.*$", re.MULTILINE)
COLUMN = re.compile(r":([a-z_]+)(?:\(\d+,\d+\))?(?=,|>$)")
ZONED = "TIMESTAMP WITH TIME ZONE"  # as which DuckDB reads Spark's timestamps
READ: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), int), **dict.fromkeys(("float", "double"), lambda s: float(s.replace("Infinity", "inf"))),
    "decimal": Decimal, "string": str, "boolean": "true".__eq__, "date": datetime.date.fromisoformat, "timestamp": datetime.datetime.fromisoformat,
    "timestamp_ntz": datetime.datetime.fromisoformat,
}  # fmt: skip


def ask(file: Path) -> Iterator[Question]:
    """Play what makes a file's tables; a question for each of its SELECTs that is in scope."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for part in PART.finditer(file.read_text(encoding="utf-8")):
            text = COMMENT.sub("", part["text"]).strip()
            if text.upper().startswith("USE "):
                return
            if not QUERY.match(text):
                _make(connection, text)
                continue
            rows = _read_rows(part["schema"], part["rows"])
            tables = _read_tables(connection, text) if rows is not None else None
            if tables and rows is not None:
                yield about(file.name, text, tables, rows, "spark")


def _make(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """What DuckDB cannot make is not there, and who reads it is out of scope."""
    try:
        for statement in sqlglot.parse(text, read="spark"):
            padded = any(of.this == exp.DType.CHAR for of in statement.find_all(exp.DataType)) if statement else True
            if isinstance(statement, exp.Create | exp.Insert | exp.Drop) and not padded:
                connection.execute(statement.sql("duckdb"))
    except (SqlglotError, duckdb.Error):
        return


def _read_rows(schema: str, rows: str) -> list[Row] | None:
    """Spark's rows; None where it has none to compare: an error, or a type that is none of ours."""
    kinds = COLUMN.findall(schema)
    if not kinds or len(kinds) != len(re.findall(r"[:](?=[a-z])", schema)) or not set(kinds) <= set(READ):
        return None
    lines = rows.split("\n") if rows else []
    try:
        return [tuple(_read(kind, v) for kind, v in zip(kinds, line.split("\t"), strict=True)) for line in lines]
    except (ValueError, ArithmeticError):  # an exception's text, or a text with tabs or ends of lines
        return None


def _read(kind: str, value: str) -> Any:
    return None if value == "NULL" else READ[kind](value)


def _read_tables(connection: duckdb.DuckDBPyConnection, query: str) -> Tables | None:
    try:
        tree = sqlglot.parse_one(query, read="spark")
    except SqlglotError:
        return None
    inner = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    names = {table.name.lower() for table in tree.find_all(exp.Table)} - inner
    try:
        return {name: _read_table(connection, name) for name in sorted(names)}
    except (duckdb.Error, KeyError):
        return None


def _read_table(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[Relation, list[Row]]:
    kinds = {
        n: str(kind).replace(ZONED, "TIMESTAMP") for n, kind, *_ in connection.execute(f'DESCRIBE "{name}"').fetchall()
    }
    relation = Relation(name, tuple(Column(n, read_type(kind).with_null()) for n, kind in kinds.items()))
    listed = ", ".join(f'CAST("{n}" AS {kind})' for n, kind in kinds.items())
    return relation, connection.execute(f'SELECT {listed} FROM "{name}"').fetchall()
