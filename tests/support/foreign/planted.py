"""Queries over tables that a schema declares, as the Join Order Benchmark's: rows are planted for each, and DuckDB says what it has after each batch."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation
from tests.support.foreign.judging import Question
from tests.support.foreign.postgres import split_statements
from tests.support.planting import Batch, Row, batches, finds, plant
from tests.unit.m3.oracle import recompute

__all__ = ["Suite", "ask_suite", "read_schema", "read_type"]

ATTEMPTS = 6  # at rows of which a query finds some, each time more
#: DuckDB's names of types.
TYPES: dict[str, Type] = {
    **dict.fromkeys(("HUGEINT", "BIGINT", "INTEGER", "SMALLINT", "TINYINT"), INT), **dict.fromkeys(("DOUBLE", "FLOAT"), DOUBLE), "VARCHAR": STRING, "BOOLEAN": BOOL,
    "DATE": DATE, **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), TIMESTAMP),
}  # fmt: skip
COLUMNS = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
KEYS = "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"


@dataclass(frozen=True)
class Suite:
    """Tables, files with queries over them in a dialect, texts that are replaced in them (a least count of 100,000), and a seed."""

    relations: Sequence[Relation]
    files: Sequence[Path]
    dialect: str
    replaced: Mapping[str, str]
    seed: int = 0


def read_schema(file: Path, dialect: str) -> tuple[Relation, ...]:
    """The tables that a file's CREATE TABLE statements declare: columns of our types, and keys of one column."""
    with duckdb.connect() as connection:
        for statement in sqlglot.parse(file.read_text(encoding="utf-8"), read=dialect):
            if isinstance(statement, exp.Create) and statement.kind == "TABLE":
                connection.execute(statement.sql("duckdb"))
        columns: dict[str, list[tuple[str, Type]]] = defaultdict(list)
        for table, name, kind in connection.execute(COLUMNS).fetchall():
            with suppress(KeyError):  # a query that reads what is none of ours is not asked
                columns[table].append((name, read_type(kind)))
        keys = {table: tuple(names) for table, names in connection.execute(KEYS).fetchall() if len(names) == 1}
    return tuple(
        Relation(t, tuple(Column(n, of.with_null(n not in keys.get(t, ()))) for n, of in its), keys.get(t, ()))
        for t, its in columns.items()
    )


def read_type(kind: str) -> Type:
    """The type of a column of DuckDB's; a KeyError where it is none of ours."""
    return decimal(*map(int, re.findall(r"\d+", kind))) if kind.startswith("DECIMAL") else TYPES[kind]


def ask_suite(suite: Suite) -> Iterator[Question]:
    """A question for each query that DuckDB can answer; the others are named."""
    for file in suite.files:
        for text in split_statements(file.read_text(encoding="utf-8")):
            for old, new in suite.replaced.items():
                text = text.replace(old, new)
            try:
                yield _ask(file, text, suite)
            except (duckdb.Error, SqlglotError) as problem:
                print(f"{file.name}: not asked: {str(problem).splitlines()[0]}", flush=True)


def _ask(file: Path, text: str, suite: Suite) -> Question:
    """The question with the rows, of several, of which the query finds some in most states."""
    tree = sqlglot.parse_one(text, read=suite.dialect)
    names = {table.name.lower() for table in tree.find_all(exp.Table)}
    relations = [relation for relation in suite.relations if relation.name.lower() in names]
    made: list[tuple[int, Question]] = []
    for attempt in range(ATTEMPTS):
        planted = plant(tree, relations, suite.seed + attempt, 8 * (attempt + 1))
        its = batches(planted, relations, suite.seed + attempt)
        expected = [*_answers(tree, relations, its)]
        found = sum(finds(rows) for rows in expected)
        made.append((found, Question(file.name, text, suite.dialect, relations, its, expected, ordered=False)))
        if found > 1:
            break
    return max(made, key=lambda m: m[0])[1]


def _answers(tree: exp.Expression, relations: Sequence[Relation], its: Sequence[Batch]) -> Iterator[list[Row] | None]:
    """All rows of a query after each batch; None where a scalar subquery has several."""
    whole = tree.copy()
    for clause in ("order", "limit", "offset"):
        whole.set(clause, None)
    text = whole.sql("duckdb", identify=True)
    tables: dict[str, Counter[Row]] = defaultdict(Counter)
    for batch in its:
        for sign, relation, row in batch:
            tables[relation][row] += sign
        try:
            yield recompute(relations, tables, text)
        except duckdb.InvalidInputException as problem:
            if "More than one row" not in str(problem):
                raise
            yield None
