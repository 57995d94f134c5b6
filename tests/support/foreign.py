"""SELECTs that others wrote, on the engine and on PostgreSQL: ``python -m tests.support.foreign FILE.sql ..`` prints what became of each, and a tally.

A file's statements are played on a PostgreSQL of its own, in their order, after those of the files before it. A SELECT is in scope if PostgreSQL
answers it, and its tables have columns of our types alone. It becomes a view, over which the rows of its tables come and others come and go; then it
has to be what PostgreSQL says. What depends on the order of ties, or on the moment, is called wrong here, too: such verdicts are to be read.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg2
import sqlglot
from sqlglot import exp

from cumulus_ops.epochs.checkpoint import refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.query.read import read_view
from m3 import M3Error
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation
from tests.fuzz.compare import same_rows
from tests.support.projects import append_events, make_project
from tests.support.services import postgresql

Row = tuple[Any, ...]
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
DIGITS = 6  # decimals that are compared exactly; averages have more there and fewer here


def split_statements(text: str) -> Iterator[str]:
    """The statements of a file, without comments and without what is for psql."""
    found: list[str] = []
    for part in PART.finditer(text):
        if part["end"]:
            yield "".join(found).strip()
            found = []
        elif part["psql"] is None and not part[0].startswith(("--", "/*")):
            found.append(part[0])


def play(cursor: Any, file: Path) -> Iterator[tuple[str, str, str]]:
    """Verdict, details and text of each SELECT of a file."""
    for statement in split_statements(file.read_text(encoding="utf-8")):
        try:
            cursor.execute(statement)
            rows = cursor.fetchall() if QUERY.match(statement) and cursor.description else None
        except psycopg2.Error:
            continue
        tables = read_tables(cursor, statement) if rows is not None else None
        if tables:
            yield (*judge(statement, tables, rows or []), " ".join(statement.split()))


def read_tables(cursor: Any, query: str) -> Tables | None:
    """The tables of a query as they are now; None where it is out of scope."""
    try:
        tree = sqlglot.parse_one(query, read="postgres")
    except sqlglot.ParseError:
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


def judge(query: str, tables: Tables, expected: Sequence[Row]) -> tuple[str, str]:
    """What became of a query, and why."""
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), [r for r, _ in tables.values()], views={"v": query}, coordinators=1)
        try:
            initialise(replace(project, dialect="postgres"))
        except M3Error as problem:
            return "refused", str(problem).splitlines()[0]
        with open_runtime(replace(project, dialect="postgres")) as rt:
            for number, sign in enumerate((1, -1)):
                events = [(name, 1, row) for name, (_, rows) in tables.items() for row in rows[number::2]]
                events += [(name, sign, row) for name, (_, rows) in tables.items() for row in rows[::3]]
                apply_batch(rt, append_events(rt, 0, events, f"d{number}"))
                refresh(rt)
            try:
                table = read_view(rt, "v", tentative=True)
            except ViewInError as problem:
                return "in error", problem.message
    ours = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
    theirs = [tuple(map(_shorten, row)) for row in expected]
    return ("right", "") if same_rows(ours, theirs) else ("wrong", f"{ours[:3]} instead of {theirs[:3]}")


def _shorten(value: Any) -> Any:
    many = isinstance(value, Decimal) and (not value.is_finite() or -int(value.as_tuple().exponent) > DIGITS)
    return float(value) if many else value


def main(files: Sequence[str]) -> None:
    """Play the files, and print what is not right and how many are what."""
    tally: Counter[str] = Counter()
    with postgresql() as server:
        connection = psycopg2.connect(server.create_database("foreign").replace("+psycopg2", ""))
        connection.autocommit = True
        with connection.cursor() as cursor:
            for file in map(Path, files):
                for verdict, details, text in play(cursor, file):
                    tally[verdict] += 1
                    if verdict != "right":
                        print(f"{file.name}: {verdict}: {details}\n    {text[:300]}")
        connection.close()
    print(dict(tally))


if __name__ == "__main__":
    main(sys.argv[1:])
