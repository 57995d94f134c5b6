"""A view's SQL written out for Spark: what its dialect means, and the documented types."""

from __future__ import annotations

import doctest
import math
from decimal import Decimal
from fractions import Fraction
from itertools import starmap

import pytest

from cumulus_ops.project.errors import InputProblem
from cumulus_ops.validation.meaning import exact, query, terms, texts, write_out
from m3 import compile_views
from m3.datatypes import DATE, DOUBLE, INT, STRING, decimal
from m3.errors import M3Error
from m3.program import Column, Relation
from m3.scalars import OPERATIONS
from m3.windows import FUNCTIONS as WINDOW_FUNCTIONS
from tests.support.constructs import CONSTRUCTS, DIALECTS, DOUBLES_TABLE, QUERIES, TABLE, UNPROVED, operations
from tests.support.sampling import deep

RELATIONS = (
    Relation(
        "r", (Column("a", INT), Column("b", INT), Column("x", decimal(8, 2)), Column("d", DATE), Column("s", STRING))
    ),
)


def sql(text: str, dialect: str | None = None) -> str:
    return write_out(text, RELATIONS, dialect).sql


@pytest.mark.parametrize(
    ("dialect", "text", "meaning"),
    [
        (None, "SELECT a / b AS q FROM r", "(CAST(a AS DECIMAL(19, 0)) / CAST(b AS DECIMAL(19, 0))) AS `q`"),
        ("postgres", "SELECT a / b AS q FROM r", "(a DIV b) AS `q`"),
        ("spark", "SELECT EXTRACT(DOW FROM d) AS w FROM r", "CAST(DAYOFWEEK(d) AS BIGINT) AS `w`"),
        ("postgres", "SELECT EXTRACT(DOW FROM d) AS w FROM r", "(CAST(DAYOFWEEK(d) AS BIGINT) - 1L) AS `w`"),
        ("postgres", "SELECT CAST(x AS INT) AS i FROM r", "CAST(ROUND(x, 0) AS BIGINT) AS `i`"),
        ("mysql", "SELECT CAST(x AS SIGNED) AS i FROM r", "CAST(x AS BIGINT) AS `i`"),
        ("postgres", "SELECT concat(s, NULL) AS c FROM r", "CONCAT(COALESCE(s, ''), COALESCE(CAST(NULL AS STRING), '')) AS `c`"),
        (None, "SELECT SUM(a) AS s FROM r", "CAST(SUM(CAST(a AS DECIMAL(19, 0))) AS BIGINT) AS `s`"),
    ],
)  # fmt: skip
def test_what_dialects_mean_is_written_out(dialect: str | None, text: str, meaning: str) -> None:
    assert meaning in sql(text, dialect)


@pytest.mark.parametrize(
    ("base", "beside"),
    [("PARTITION BY a", "PARTITION BY b"), ("ORDER BY a", "PARTITION BY b"), ("ORDER BY a", "ORDER BY b"), ("ORDER BY a ROWS 1 PRECEDING", "ROWS 2 PRECEDING")],
)  # fmt: skip
def test_what_a_window_says_twice_is_nobodys_choice(base: str, beside: str) -> None:
    with pytest.raises(InputProblem):
        sql(f"SELECT SUM(a) OVER (w {beside}) AS n FROM r WINDOW w AS ({base})", "postgres")


def test_order_and_limit_of_the_view_itself_are_left_out_but_not_those_inside() -> None:
    assert "LIMIT" not in sql("SELECT a FROM r ORDER BY a LIMIT 3")
    assert "LIMIT 3" in sql("SELECT a FROM (SELECT a FROM r ORDER BY b LIMIT 3) AS q")


def test_columns_have_their_declared_names_and_types() -> None:
    made = write_out("SELECT a AS q FROM r", RELATIONS, None, [("total", decimal(38, 2))])
    assert made.sql.startswith("SELECT CAST(`q` AS DECIMAL(38, 2)) AS `total` FROM (SELECT a")


def test_only_where_sparks_decimals_end_other_functions_are_needed() -> None:
    assert not write_out("SELECT x / 3 AS q, a / a AS p FROM r", RELATIONS).needed
    assert not write_out("SELECT x / a AS q FROM r", RELATIONS, "spark").needed
    assert {n.function for n in write_out("SELECT x / a / a / a AS q FROM r", RELATIONS).needed} <= {"quotient"}
    wide = write_out("SELECT SUM(x * a * a) AS s FROM r", RELATIONS, wide=True)
    assert {n.function for n in wide.needed} == {"total"}


def test_what_has_no_meaning_here_is_refused() -> None:
    with pytest.raises(InputProblem, match="no meaning written out") as raised:
        sql("SELECT KURTOSIS(a) AS m FROM r")
    assert raised.value.kind == "not-recomputable"


def test_exact_functions_round_once_and_never_wrap() -> None:
    third = exact.FUNCTIONS["quotient"](decimal(38, 37), Decimal(1), Decimal(3))
    assert third == Decimal("0." + "3" * 37)
    with pytest.raises(OverflowError):
        exact.FUNCTIONS["total"](decimal(3, 0), [Decimal(999), Decimal(1)])
    assert exact.FUNCTIONS["total"](DOUBLE, [1e308, 1e308, -1e308]) == 1e308
    assert [exact.FUNCTIONS["total"](DOUBLE, [x, x]) for x in (1e308, -1e308)] == [math.inf, -math.inf]
    assert exact.FUNCTIONS["ceil"](DOUBLE, -1.5) == -1.0
    assert exact.FUNCTIONS["floor"](DOUBLE, 1e300) == 1e300
    assert exact.FUNCTIONS["ceil"](DOUBLE, float("inf")) == float("inf")
    assert exact.FUNCTIONS["var_pop"](DOUBLE, 2, 10**18 * 2 + 1, 2 * 10**36 + 2 * 10**18 + 1) == float(Fraction(1, 4))


@pytest.mark.parametrize("module", [exact, query, terms, texts])
def test_examples_are_true(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_views_that_read_views_are_recomputed_from_the_tables() -> None:
    views = {"totals": "SELECT a, SUM(x) AS s FROM r GROUP BY a", "v": "SELECT MAX(s) AS m FROM totals"}
    made = write_out(views["v"], RELATIONS, None, views=views).sql
    assert "SUM(x)" in made
    assert "FROM `r`" in made


@deep
def test_every_operation_of_the_compiler_occurs_among_the_constructs() -> None:
    seen = {operation for text in QUERIES for operation in _operations_of(text, "postgres") or ()}
    for kind in ("aggregates", "windows"):
        form, expressions = CONSTRUCTS[kind]
        seen |= {operation for e in expressions for operation in _operations_of(form.format(f"{e} AS c"), None) or ()}
    form, expressions = CONSTRUCTS["scalars"]
    for expression in expressions:  # tests/spark proves them in all dialects with CONSTRUCT_DIALECTS
        texts = ((form.format(f"{expression} AS c"), dialect) for dialect in DIALECTS)
        seen |= next((found for found in starmap(_operations_of, texts) if found is not None), set())
    for dialect in ("postgres", "duckdb"):  # where it is another operation
        seen |= _operations_of("SELECT k, SUBSTRING(s, 0, 2) AS c FROM t", dialect) or set()
    wanted = {*OPERATIONS, *WINDOW_FUNCTIONS} - {
        f"{s}_{of}" for s in ("skewness", "kurtosis") for of in ("pop", "samp")
    }
    assert wanted <= seen, f"add a line to tests/support/constructs.py for {wanted - seen}"


@pytest.mark.parametrize("expression", UNPROVED)
def test_what_is_called_unproved_is_maintained_but_has_no_meaning_here(expression: str) -> None:
    text = f"SELECT k, {expression} AS c FROM t"
    compile_views("c", [TABLE], {"v": text}, dialect="postgres")
    with pytest.raises(InputProblem, match="no meaning written out"):
        write_out(text, (TABLE,), "postgres")


def _operations_of(text: str, dialect: str | None) -> set[str] | None:
    """What a view is compiled to; None if the dialect does not have it."""
    try:
        return set(operations(compile_views("c", [TABLE, DOUBLES_TABLE], {"v": text}, dialect=dialect)))
    except M3Error:
        return None
