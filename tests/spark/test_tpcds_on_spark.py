"""Queries of TPC-DS are proved on Spark: what the interpreter makes of planted rows is what the proof computes anew.

``TPCDS=99`` proves all of them and not only ``SAMPLE``, and ``SEED`` takes other rows.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.validation.recompute import own_session, spark_schema, view_table
from cumulus_ops.validation.request import ViewToValidate
from m3 import compile_views
from m3.interpreter import Interpreter
from tests.support.judged import judged
from tests.support.planting import Row, finds
from tests.support.sampling import sampled
from tests.support.tpcds import duckdb_rows, queries, relations_of, stream

pytestmark = pytest.mark.spark

#: ROLLUP of a UNION ALL, an average by item beside each, windows of totals, rank within GROUPING, INTERSECT, EXCEPT and FULL JOIN.
SAMPLE = ("q06", "q12", "q38", "q86", "q87", "q97")
ALL = int(os.environ.get("TPCDS", "0")) >= 99
SEED = int(os.environ.get("SEED", "0"))
#: Code that Spark would generate for plans that run once, over a hundred rows, takes longer than the plans.
SETTINGS = {"spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false"}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = own_session(spark)
    for key, value in SETTINGS.items():
        session.conf.set(key, value)
    return session


@pytest.mark.parametrize("name", queries() if ALL else sampled(SAMPLE, 2))
def test_a_query_is_proved(name: str, session: SparkSession) -> None:
    query = queries()[name]
    program = compile_views("p", relations_of(query), {"v": query}, dialect="duckdb")
    view = program.views[0]
    tables = rows_that_are_found(query)
    interpreter = Interpreter(program)
    for relation in program.relations:
        rows = list(tables[relation.name].elements())
        for row in rows:
            interpreter.apply(1, relation.name, row)
        session.createDataFrame(rows, spark_schema(relation)).coalesce(1).createOrReplaceTempView(relation.name)
    held = view_table(view, interpreter.view_rows("v", ordered=False))
    assert held.num_rows
    columns = tuple((c.name, c.expression.type) for c in view.visible)
    asked = ViewToValidate("v", view.sql or "", (), held, columns=columns, dialect="duckdb")
    (verdict,) = judged(session, [asked], program.relations)
    assert verdict.outcome == "equal", f"{verdict.observed} {verdict.differences[:4]}"


def rows_that_are_found(query: str) -> dict[str, Counter[Row]]:
    """The tables as they are first when the query finds something."""
    tables: dict[str, Counter[Row]] = defaultdict(Counter)
    for batch in stream(query, SEED):
        for sign, relation, row in batch:
            tables[relation][row] += sign
        if finds(duckdb_rows(query, tables)):
            return tables
    raise AssertionError("the query finds nothing")
