"""The right answers, by DuckDB over the same rows, and the comparison of a contestant's with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.contest import WrongAnswer
from benchmarks.workload import sql_of, without_order

__all__ = ["arrow_rows", "check_answer", "connect", "net_tables", "right_answer", "same_rows"]

Row = tuple[object, ...]
TOLERANCE = 1e-9


def connect(cores: int = 2) -> duckdb.DuckDBPyConnection:
    """An in-memory database that spills to disk beyond 4 GB."""
    return duckdb.connect(config={"threads": cores, "memory_limit": "4GB"})


def right_answer(tables: Mapping[str, str], query: str) -> list[Row]:
    """All rows of a query.

    Args:
        tables: relation -> SQL that gives its rows.
        query: a query's name.
    """
    with connect() as connection:
        for relation, sql in tables.items():
            connection.execute(f"CREATE VIEW {relation} AS {sql}")
        return list(connection.execute(without_order(sql_of(query))).fetchall())


def check_answer(query: str, ours: list[Row], tables: Mapping[str, str], tolerance: float = TOLERANCE) -> str:
    """Compare with DuckDB.

    Args:
        query: a query's name.
        ours: the contestant's rows, in any order, without the query's LIMIT.
        tables: relation -> SQL that gives its rows.
        tolerance: relative difference at which floating point numbers are equal.

    Returns:
        a note that says so.

    Raises:
        WrongAnswer: they differ.
    """
    theirs = _remembered(tuple(tables.items()), query)
    problem = same_rows(ours, theirs, tolerance)
    if problem:
        raise WrongAnswer(f"{query}: {problem}")
    return f"{len(theirs)} rows checked"


@lru_cache(maxsize=1)
def _remembered(tables: tuple[tuple[str, str], ...], query: str) -> list[Row]:
    """All who compete have the same rows before them, which do not change."""
    return right_answer(dict(tables), query)


def same_rows(ours: Sequence[Row], theirs: Sequence[Row], tolerance: float = TOLERANCE) -> str:
    """What differs between two multisets of rows, empty when they are equal. Exact numbers must be equal; where one side
    has floating point numbers, half a unit of the other side's last digit is allowed as well."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows instead of {len(theirs)}"
    width = len(theirs[0]) if theirs else 0
    inexact = [i for i in range(width) if any(isinstance(row[i], float) for rows in (ours, theirs) for row in rows)]
    exact = [i for i in range(width) if i not in inexact]

    def place(row: Row) -> tuple[object, ...]:
        return tuple(_plain(row[i]) for i in exact), tuple(_approximate(row[i]) for i in inexact)

    for mine, right in zip(sorted(ours, key=place), sorted(theirs, key=place), strict=True):
        same = all(_plain(mine[i]) == _plain(right[i]) for i in exact)
        if not same or not all(_close(mine[i], right[i], tolerance) for i in inexact):
            return f"{mine} instead of {right}"
    return ""


def _plain(value: object) -> str:
    """The same text for equal values of different types."""
    if isinstance(value, int | Decimal):
        return str(Decimal(value).normalize())
    return "" if value is None else str(value)


def _approximate(value: object) -> tuple[bool, float]:
    return value is not None, 0.0 if value is None else float(f"{float(str(value)):.5g}")


def _close(ours: object, theirs: object, tolerance: float) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    a, b = float(str(ours)), float(str(theirs))
    return abs(a - b) <= tolerance * max(abs(a), abs(b)) + max(_half_unit(ours), _half_unit(theirs))


def _half_unit(value: object) -> float:
    return 0.51 * 10.0 ** int(value.as_tuple().exponent) if isinstance(value, Decimal) else 0.0


def net_tables(folder: Path, relations: tuple[str, ...]) -> dict[str, str]:
    """Relation -> SQL that reads its Parquet file in ``folder``."""
    return {relation: f"SELECT * FROM read_parquet('{folder / relation}.parquet')" for relation in relations}


def arrow_rows(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table."""
    return list(zip(*table.to_pydict().values(), strict=True)) if table.num_columns else []
