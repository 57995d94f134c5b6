"""Every function, operator and aggregate, on every type, in every dialect, is proved right, and damage is found in each.

The snapshots are the interpreter's. A run takes one dialect, and a part of the hundreds of expressions (``WHOLE=1``: all of them); all dialects:
``CONSTRUCT_DIALECTS=all WHOLE=1 pytest tests/spark/test_every_construct_validates.py`` (``CONSTRUCT_SEED`` for other rows).
"""

from __future__ import annotations

import datetime
import math
import os
from collections.abc import Iterator
from decimal import Decimal
from functools import cache

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cumulus_ops.validation.comparison import compare
from cumulus_ops.validation.recompute import own_session, spark_schema, view_table
from cumulus_ops.validation.request import ViewToValidate
from m3 import compile_views
from m3.errors import M3Error
from m3.interpreter import Interpreter
from m3.program import Program
from tests.support.constructs import (
    CONSTRUCTS,
    DIALECTS,
    DOUBLES_TABLE,
    NOW,
    QUERIES,
    TABLE,
    WIDTH,
    double_rows,
    rows,
)
from tests.support.judged import judged
from tests.support.sampling import sampled

pytestmark = pytest.mark.spark
SEED = int(os.environ.get("CONSTRUCT_SEED", "0"))
CHOSEN = os.environ.get("CONSTRUCT_DIALECTS", "postgres")
TABLES = {TABLE: rows(SEED), DOUBLES_TABLE: double_rows(SEED)}
#: Of the expressions of a kind a run takes each third, of the many scalars and of whole queries fewer.
EVERY = {"scalars": 9, "queries": 6}
#: What is an error for rows of the table in T-SQL and BigQuery: lengths below 0.
FAILING = ("LEFT(s, i - 2)", "RIGHT(s, i - 2)", "LEFT(CAST(s AS STRING), i - 2)")
ASKED = DIALECTS if CHOSEN == "all" else [None if d == "generic" else d for d in CHOSEN.split(",")]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = own_session(spark)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    for table, held in TABLES.items():
        session.createDataFrame(held, spark_schema(table)).coalesce(1).persist().createOrReplaceTempView(table.name)
    return session


@cache
def _compiles(sql: str, dialect: str | None) -> bool:
    try:
        compile_views("v", [*TABLES], {"v": sql}, dialect=dialect)
    except M3Error:
        return False
    return True


def queries(kind: str, dialect: str | None) -> Iterator[str]:
    """The views of one kind: their expressions, as far as the dialect has them, some to a view."""
    if kind == "queries":
        yield from (q for q in sampled(QUERIES, EVERY[kind]) if _compiles(q, dialect))
        return
    form, expressions = CONSTRUCTS[kind]
    failing = FAILING if dialect in ("tsql", "bigquery") else ()
    chosen = sampled(expressions, EVERY.get(kind, 3))
    known = [e for e in chosen if e not in failing and _compiles(form.format(f"{e} AS c"), dialect)]
    for start in range(0, len(known), WIDTH):
        yield form.format(", ".join(f"{e} AS c{i}" for i, e in enumerate(known[start : start + WIDTH])))


def snapshots(program: Program) -> dict[str, pa.Table]:
    """All rows of all views, by the interpreter."""
    interpreter = Interpreter(program)
    interpreter.advance(NOW)
    for table, held in TABLES.items():
        for row in held:
            interpreter.apply(1, table.name, row)
    return {v.name: view_table(v, interpreter.view_rows(v.name, ordered=False)) for v in program.views}


def asked(program: Program, dialect: str | None, held: dict[str, pa.Table]) -> list[ViewToValidate]:
    return [
        ViewToValidate(
            v.name,
            v.sql or "",
            (),
            held[v.name],
            columns=tuple((c.name, c.expression.type) for c in v.visible),
            dialect=dialect,
            now=NOW,
        )
        for v in program.views
    ]


@pytest.mark.parametrize("dialect", ASKED, ids=str)
@pytest.mark.parametrize("kind", [*CONSTRUCTS, "queries"])
def test_every_construct_is_proved_and_damage_to_it_is_found(
    kind: str, dialect: str | None, session: SparkSession
) -> None:
    views = {f"v{i}": sql for i, sql in enumerate(queries(kind, dialect))}
    program = compile_views("constructs", [*TABLES], views, dialect=dialect)
    held = snapshots(program)
    verdicts = judged(session, asked(program, dialect, held), program.relations)
    wrong = [f"{v.view} {v.outcome}: {v.observed} {v.differences[:12]}" for v in verdicts if v.outcome != "equal"]
    assert not wrong, "\n".join(wrong)
    for table in held.values():
        for column in table.column_names:
            assert found(table, column), f"a damaged {column} is not found"


def found(table: pa.Table, column: str) -> bool:
    """Whether a comparison finds one damaged value of a column; where there is no row, there is none to damage."""
    if not len(table):
        return True
    values = table[column].to_pylist()
    values[0] = damaged(values[0], table.schema.field(column).type)
    wrong = table.set_column(
        table.column_names.index(column), column, pa.array(values, table.schema.field(column).type)
    )
    return not compare(wrong, table, (), double_tolerance=1e-9).equal


def damaged(value: object, kind: pa.DataType) -> object:
    """The nearest other value."""
    match value:
        case None if pa.types.is_list(kind):
            return []
        case list():  # one of its elements, or one more
            return [*value[:-1], damaged(value[-1], kind.value_type)] if value else [None]
        case None:
            return (
                {"bool": True, "string": "x"}.get(str(kind), 0)
                if not pa.types.is_temporal(kind)
                else datetime.datetime(2024, 1, 1)
            )
        case bool():
            return not value
        case Decimal():
            return value + Decimal(1).scaleb(int(value.as_tuple().exponent))
        case float() if not math.isfinite(value):
            return 0.0
        case int():
            return value + 1
        case float():
            return value + abs(value) + 1
        case str():
            return value + "x"
        case datetime.date():
            return value + datetime.timedelta(days=1)
    raise AssertionError(value)
