"""A scalar subquery beside an exact function's other arguments: Spark compares the arguments in its executors, where the subquery's plan is not whole."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.validation.recompute import own_session, spark_schema, view_table
from cumulus_ops.validation.request import ViewToValidate
from m3 import compile_views
from m3.datatypes import INT, decimal
from m3.interpreter import Interpreter
from m3.program import Column, Relation
from tests.support.judged import judged
from tests.support.sampling import sampled

pytestmark = pytest.mark.spark

PAID = Relation("paid", (Column("k", INT), Column("g", INT), Column("x", decimal(15, 2))))


@pytest.mark.parametrize("rows", sampled([4000, 40], 2))
def test_a_sum_is_compared_with_a_share_of_all(rows: int, spark: SparkSession) -> None:
    held = [(k, k % 7, Decimal(k).scaleb(-2)) for k in range(rows)]
    sql = (
        "SELECT g, SUM(x * k) AS total FROM paid GROUP BY g HAVING SUM(x * k) > (SELECT SUM(x * k) * 0.1427 FROM paid)"
    )
    program = compile_views("paid", [PAID], {"v": sql})
    session = own_session(spark)
    session.createDataFrame(held, spark_schema(PAID)).repartition(2).persist().createOrReplaceTempView("paid")
    interpreter = Interpreter(program)
    for row in held:
        interpreter.apply(1, "paid", row)
    (view,) = program.views
    expected = view_table(view, interpreter.view_rows("v", ordered=False))
    columns = tuple((c.name, c.expression.type) for c in view.visible)
    (verdict,) = judged(session, [ViewToValidate("v", view.sql or "", (), expected, columns=columns)], [PAID])
    assert (verdict.outcome, expected.num_rows > 0) == ("equal", True), verdict
