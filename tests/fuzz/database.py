"""DuckDB as the oracle: one in-memory database whose tables follow the events."""

from __future__ import annotations

import datetime
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import duckdb

from m3.datatypes import Type
from m3.program import Relation
from tests.fuzz.schema import Batch, Row

TODAY = re.compile(r"\bcurrent_date\b", re.IGNORECASE)
_NAMES = {"int": "BIGINT", "string": "VARCHAR", "bool": "BOOLEAN"}


def duckdb_type(t: Type) -> str:
    """The DuckDB type of a column."""
    return _NAMES.get(t.kind, str(t))


class Database:
    """The net tables. Each is a view of a table with one more column, the row's number, by which a single one of equal
    rows can be deleted.

    Args:
        relations: the tables.
        null_order: where NULLs stand in an ORDER BY that does not say so; by default they are the smallest values.
    """

    def __init__(self, relations: Sequence[Relation], null_order: str = "nulls_first_on_asc_last_on_desc") -> None:
        self._relations, self._null_order = relations, null_order
        #: What current_date is; None: what it is.
        self.today: datetime.date | None = None
        self._open()

    def _open(self) -> None:
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute(f"SET default_null_order = '{self._null_order}'")
        for relation in self._relations:
            columns = [f'"{c.name}"' for c in relation.columns]
            typed = (f"{n} {duckdb_type(c.type)}" for n, c in zip(columns, relation.columns, strict=True))
            self._connection.execute(f'CREATE TABLE "{relation.name}_" (row_number BIGINT, {", ".join(typed)})')
            view = f'CREATE VIEW "{relation.name}" AS SELECT {", ".join(columns)} FROM "{relation.name}_"'
            self._connection.execute(view)
        self._numbers: dict[tuple[str, Row], list[int]] = {}
        self._next = 0

    def clear(self) -> None:
        """Empty all tables; begin anew where an internal error of DuckDB's has invalidated the database."""
        try:
            for relation in {relation for relation, _ in self._numbers}:
                self._connection.execute(f'TRUNCATE "{relation}_"')
        except duckdb.Error:
            self._open()
        self._numbers.clear()

    def apply(self, batch: Batch) -> None:
        """Insert and delete rows.

        Raises:
            ValueError: a row to delete does not exist.
        """
        inserted: dict[str, dict[int, Row]] = defaultdict(dict)
        deleted: dict[str, list[int]] = defaultdict(list)
        for sign, relation, row in batch:
            if sign > 0:
                self._next += 1
                inserted[relation][self._next] = row
                self._numbers.setdefault((relation, row), []).append(self._next)
            elif inserted[relation].pop(number := self._forget(relation, row), None) is None:
                deleted[relation].append(number)
        for relation, rows in inserted.items():
            self._insert(relation, rows)
        for relation, numbers in deleted.items():
            self._connection.execute(f'DELETE FROM "{relation}_" WHERE row_number IN ({", ".join(map(str, numbers))})')

    def _forget(self, relation: str, row: Row) -> int:
        numbers = self._numbers.get((relation, row))
        if not numbers:
            raise ValueError(f"{relation} has no row {row}")
        return numbers.pop()

    def _insert(self, relation: str, rows: dict[int, Row]) -> None:
        if rows:
            values = ", ".join(f"({number}, {', '.join(map(_literal, row))})" for number, row in rows.items())
            self._connection.execute(f'INSERT INTO "{relation}_" VALUES {values}')

    def rows(self, sql: str) -> list[Row]:
        """The rows of a query; an exception of DuckDB's when it cannot answer it."""
        text = sql if self.today is None else TODAY.sub(f"DATE '{self.today}'", sql)
        return self._connection.execute(text).fetchall()


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value}'"
    if isinstance(value, float):
        return f"CAST('{value}' AS DOUBLE)"
    return f"DATE '{value}'" if isinstance(value, datetime.date) else str(value)
