"""Helpers: random tables with inserts, deletes and updates, run by the interpreter and by DuckDB."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from cumulus_ops.maps.columns import logical_type
from m3.datatypes import Type
from m3.interpreter import Interpreter
from m3.program import Program, Relation

Row = tuple[Any, ...]
Event = tuple[int, str, Row]


def duckdb_type(t: Type) -> str:
    """The DuckDB type of a column."""
    return {"int": "BIGINT", "string": "VARCHAR", "bool": "BOOLEAN"}.get(t.kind, str(t))


@contextmanager
def stored(relations: Sequence[Relation], tables: dict[str, Counter[Row]]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of DuckDB with the tables."""
    with duckdb.connect(config={"threads": 1}) as connection:
        for relation in relations:
            columns = ", ".join(f'"{c.name}" {duckdb_type(c.type)}' for c in relation.columns)
            connection.execute(f'CREATE TABLE "{relation.name}" ({columns})')
            rows = list(tables.get(relation.name, Counter()).elements())
            if rows:  # as one Arrow table: a statement for each row takes ten times as long
                typed = (logical_type(c.type) for c in relation.columns)
                values = (pa.array(v, t) for v, t in zip(zip(*rows, strict=True), typed, strict=True))
                connection.register("arrow rows", pa.table(list(values), [f"c{n}" for n in range(len(rows[0]))]))
                connection.execute(f'INSERT INTO "{relation.name}" FROM "arrow rows"')
        yield connection


def recompute(relations: Sequence[Relation], tables: dict[str, Counter[Row]], sql: str) -> list[Row]:
    """The rows that DuckDB gives for ``sql`` over the tables."""
    with stored(relations, tables) as connection:
        return connection.execute(sql).fetchall()


def normal(rows: Sequence[Row]) -> Counter[Row]:
    """Rows as a multiset, numbers compared by value."""
    return Counter(tuple(_number(v) for v in row) for row in rows)


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return Decimal(repr(value)).quantize(Decimal("0.000001"))
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return Decimal(value).normalize()
    return value


def run(program: Program, events: Sequence[Event]) -> tuple[Interpreter, dict[str, Counter[Row]]]:
    """The interpreter after the events, and the tables."""
    interpreter, tables = Interpreter(program), {r.name: Counter[Row]() for r in program.relations}
    for sign, relation, row in events:
        interpreter.apply(sign, relation, row)
        tables[relation][row] += sign
    return interpreter, tables


DAY = datetime.date(1994, 1, 1)
