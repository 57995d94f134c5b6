"""LEFT, RIGHT and SUBSTRING answer as their dialect does, for all small starts and lengths: compared with the databases themselves."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from typing import Any

import duckdb
import psycopg2
import pytest

from m3 import CompileError, Interpreter, compile_views
from m3.datatypes import INT, STRING
from m3.errors import ValueProblem
from m3.program import Column, Relation
from tests.support.services import PostgreSQL

TEXTS = ["hello", "", "日本é"]
PLACES = [None, *range(-7, 8)]
ROWS = list(itertools.product(TEXTS, PLACES, PLACES))
RELATION = Relation("t", (Column("s", STRING), Column("i", INT.with_null()), Column("j", INT.with_null())))
SUBSTRINGS = ["SUBSTR(s, i)", "SUBSTR(s, i, {j})", "SUBSTR(s, 2, {j})", "SUBSTR(s, -2, 3)", "SUBSTR(s, 0, 3)"]
ENDS = ["LEFT(s, i)", "RIGHT(s, i)", "LEFT(s, 2)", "RIGHT(s, 2)", "LEFT(s, -2)", "RIGHT(s, -2)"]


def ours(sql: str, dialect: str) -> list[tuple[Any, ...]]:
    interpreter = Interpreter(compile_views("p", [RELATION], {"v": sql}, dialect=dialect))
    for row in ROWS:
        interpreter.apply(1, "t", row)
    return sorted((tuple(row) for row in interpreter.view_rows("v", ordered=False)), key=repr)


def theirs(run: Callable[[str], list[Any]], sql: str) -> list[tuple[Any, ...]]:
    texts = ", ".join(f"({s!r}, {'NULL' if i is None else i}, {'NULL' if j is None else j})" for s, i, j in ROWS)
    run("CREATE TABLE t (s TEXT, i INT, j INT)")
    run(f"INSERT INTO t VALUES {texts}")
    return sorted((tuple(row) for row in run(sql)), key=repr)


def query(forms: list[str], length: str) -> str:
    return f"SELECT s, i, j, {', '.join(f'{f.format(j=length)} AS c{n}' for n, f in enumerate(forms))} FROM t"


def test_duckdb() -> None:
    sql = query([*ENDS, *SUBSTRINGS], "j")
    database = duckdb.connect()
    assert ours(sql, "duckdb") == theirs(lambda q: database.execute(q).fetchall(), sql)


def test_sqlite() -> None:
    sql = query(SUBSTRINGS, "j")
    database = sqlite3.connect(":memory:")
    assert ours(sql, "sqlite") == theirs(lambda q: database.execute(q).fetchall(), sql)


@pytest.mark.postgres
def test_postgres(logical_server: PostgreSQL) -> None:
    url = logical_server.create_database("texts").replace("+psycopg2", "")
    session = psycopg2.connect(url)

    def run(text: str) -> list[Any]:
        with session.cursor() as cursor:
            cursor.execute(text)
            return cursor.fetchall() if cursor.description else []

    sql = query([*ENDS, *SUBSTRINGS], "ABS(j)")
    try:
        assert ours(sql, "postgres") == theirs(run, sql)
        with pytest.raises(psycopg2.Error, match="negative substring length"):
            run("SELECT SUBSTR(s, i, j) FROM t")
    finally:
        session.close()


def test_a_length_below_0_is_an_error_where_the_dialect_has_one() -> None:
    with pytest.raises(ValueProblem, match="SUBSTRING with a length of -"):
        ours("SELECT SUBSTRING(s, i, j) AS c FROM t", "postgres")
    for dialect, expression in (
        ("tsql", "LEFT(s, -1)"),
        ("bigquery", "RIGHT(s, -1)"),
        ("postgres", "SUBSTRING(s, 1, -1)"),
    ):
        with pytest.raises(CompileError) as caught:
            compile_views("p", [RELATION], {"v": f"SELECT {expression} AS c FROM t"}, dialect=dialect)
        assert (caught.value.kind, caught.value.span is not None) == ("negative-length", True)


def test_an_address_without_an_at_sign_puts_no_view_in_error() -> None:
    for dialect, expected in (("postgres", "hell"), ("spark", "")):
        program = compile_views(
            "p", [RELATION], {"v": "SELECT LEFT(s, STRPOS(s, '@') - 1) AS c FROM t"}, dialect=dialect
        )
        interpreter = Interpreter(program)
        interpreter.apply(1, "t", ("hello", None, None))
        interpreter.apply(1, "t", ("me@home", None, None))
        assert sorted(row[0] for row in interpreter.view_rows("v", ordered=False)) == sorted([expected, "me"])
