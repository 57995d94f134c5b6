"""Aggregate functions: one row each, as for functions of one row (:mod:`.entry`).

What an aggregate computes is code (:mod:`m3.sql.aggregates`, :mod:`m3.collected`), and so is how it is written, where sqlglot knows it. The rows say for the page
what there is, and have the **spellings** that are others: ``"tsql | STDEVP(x) := STDDEV_POP(x)"``. Their meaning is SQL of sqlglot's generic dialect. The
compiler and the proof respell a query before they read it.

>>> import sqlglot
>>> respell_aggregate(sqlglot.parse_one("APPROX_DISTINCT(a, 0.01)", read="trino"), "trino").sql()
'COUNT(DISTINCT a)'
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from m3.dictionary.entry import GENERIC, Form
from m3.dictionary.forms import fill, match

__all__ = ["AGGREGATES", "Aggregate", "respell_aggregate"]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function.

    Attributes:
        name: as the page calls it.
        text: what it computes.
        takes: the kinds of types of its arguments, in words.
        result: its type, in words.
        nulls: what NULLs do to it.
        keeps: what is kept for it: ``sums`` (a change costs the same for any group), ``order`` (a search in the group), ``values`` (the group is read anew).
        spellings: other ways to write it, as :class:`~m3.dictionary.entry.Form` writes forms.
        exact: whether databases give an approximation under that name, and it is exact here.
    """

    name: str
    text: str
    takes: str = "numbers"
    result: str = "DOUBLE"
    nulls: str = "skipped"
    keeps: str = "sums"
    spellings: tuple[str, ...] = ()
    exact: bool = False


AGGREGATES = (
    Aggregate("COUNT", "how many rows, or values that are not NULL; COUNT(DISTINCT x, ..) how many different ones", "any", "INT", spellings=("mysql snowflake tsql | COUNT_BIG(v) := COUNT(v)",)),
    Aggregate("APPROX_COUNT_DISTINCT", "how many different values", "any", "INT", keeps="order", exact=True, spellings=(
        "spark duckdb tsql snowflake bigquery | APPROX_COUNT_DISTINCT(v) := COUNT(DISTINCT v)", "spark | APPROX_COUNT_DISTINCT(v, f) := COUNT(DISTINCT v)", "snowflake | HLL(v) := COUNT(DISTINCT v)",
        "trino | APPROX_DISTINCT(v) := COUNT(DISTINCT v)", "trino | APPROX_DISTINCT(v, f) := COUNT(DISTINCT v)")),
    Aggregate("COUNT_IF", "how many rows meet a condition", "BOOL", "INT", "do not meet it"),
    Aggregate("SUM", "the sum; of truth values in MySQL and DuckDB how many are true", "numbers", "DECIMAL(p + 10, s), INT of INT, DOUBLE of DOUBLE", keeps="sums; values of DOUBLE", spellings=(
        "duckdb | FSUM(f) := SUM(CAST(f AS DOUBLE))", "duckdb | KAHAN_SUM(f) := SUM(CAST(f AS DOUBLE))", "duckdb | SUMKAHAN(f) := SUM(CAST(f AS DOUBLE))", "duckdb | SUM_NO_OVERFLOW(n) := SUM(n)")),
    Aggregate("AVG", "the average", "numbers", "DECIMAL(38, 19), DOUBLE of DOUBLE", keeps="sums; values of DOUBLE", spellings=("duckdb spark | MEAN(x) := AVG(x)", "duckdb | FAVG(f) := AVG(CAST(f AS DOUBLE))")),
    Aggregate("MIN, MAX", "the least and the greatest value; DISTINCT changes nothing", "any", "that of the argument", keeps="order"),
    Aggregate("BOOL_AND, BOOL_OR", "whether a condition holds for all rows, for some row", "BOOL", "BOOL", keeps="order"),
    Aggregate("BOOLXOR_AGG", "whether a condition holds for exactly one row", "BOOL", "BOOL", spellings=("snowflake | BOOLXOR_AGG(b) := CASE WHEN COUNT(b) > 0 THEN COUNT_IF(b) = 1 END",)),
    Aggregate("ANY_VALUE", "the least value", "any", "that of the argument", keeps="order"),
    Aggregate("ARG_MAX, ARG_MIN", "the value in the row with the greatest or least other value; DISTINCT changes nothing", "any, any", "that of the first argument", "rows without one of the two do not count; in Spark x may be NULL", "order", spellings=(
        "bigquery | ANY_VALUE(v HAVING MAX w) := MAX_BY(v, w)", "bigquery | ANY_VALUE(v HAVING MIN w) := MIN_BY(v, w)")),
    Aggregate("FIRST, LAST", "the value in the first or last row of an order; without one the least value", "any", "that of the argument", "count where there is an order", "order"),
    Aggregate("STDDEV, VARIANCE", "of a sample (_SAMP) or the population (_POP), from exact sums and rounded once; with DISTINCT, of different values", keeps="sums; values of DOUBLE", spellings=(
        "tsql | STDEVP(x) := STDDEV_POP(x)", "tsql | VAR(x) := VARIANCE(x)", "tsql | VARP(x) := VAR_POP(x)", "spark | STD(x) := STDDEV(x)")),
    Aggregate("CORR, COVAR_POP, COVAR_SAMP", "of pairs, from exact sums and rounded once", "two numbers", nulls="pairs with a NULL do not count", keeps="sums; values of DOUBLE"),
    Aggregate("REGR_SLOPE, REGR_INTERCEPT, REGR_R2, REGR_SXX, REGR_SYY, REGR_SXY, REGR_AVGX, REGR_AVGY, REGR_COUNT", "linear regression of pairs (y, x)", "two numbers", "DOUBLE; of AVGX and AVGY as AVG; of COUNT INT", "pairs with a NULL do not count", "sums; values of DOUBLE"),
    Aggregate("SKEWNESS, KURTOSIS", "the shape of a distribution, computed as DOUBLE: in Spark that of the rows, in DuckDB and Snowflake (KURTOSIS in Trino) estimated from a sample; KURTOSIS_POP is of the rows", keeps="values"),
    Aggregate("PRODUCT", "the product, computed as DOUBLE and rounded once", keeps="values"),
    Aggregate("MAD", "the median of the distances from the median, exactly", keeps="values"),
    Aggregate("MEDIAN, PERCENTILE_CONT, QUANTILE_CONT", "the value at a fraction of the way, interpolated exactly", keeps="values"),
    Aggregate("PERCENTILE_DISC, QUANTILE_DISC", "the first value of which, with those before it, there is that part of all", "any", "that of the argument", keeps="values"),
    Aggregate("APPROX_PERCENTILE, APPROX_QUANTILE", "the quantile itself: PERCENTILE_CONT in Snowflake, PERCENTILE_DISC elsewhere", "numbers", "as these", keeps="values", exact=True, spellings=(
        "spark trino | APPROX_PERCENTILE(x, f) := PERCENTILE_DISC(x, f)", "spark | APPROX_PERCENTILE(x, f, n) := PERCENTILE_DISC(x, f)", "spark | PERCENTILE_APPROX(x, f) := PERCENTILE_DISC(x, f)",
        "spark | PERCENTILE_APPROX(x, f, n) := PERCENTILE_DISC(x, f)", "snowflake | APPROX_PERCENTILE(x, f) := PERCENTILE_CONT(x, f)", "duckdb | APPROX_QUANTILE(x, f) := PERCENTILE_DISC(x, f)", "duckdb | RESERVOIR_QUANTILE(x, f) := PERCENTILE_DISC(x, f)")),
    Aggregate("MODE", "the most frequent value, of several the first", "any", "that of the argument", keeps="values"),
    Aggregate("STRING_AGG, LISTAGG, GROUP_CONCAT", "the texts in an order, with a separator", "any", "STRING", keeps="values"),
    Aggregate("BIT_AND, BIT_OR, BIT_XOR", "the bits of all values", "INT", "INT", keeps="values"),
)  # fmt: skip

Pattern = tuple[exp.Expr, exp.Expr]
#: Aggregates to which DISTINCT is no word: of equal rows they take one.
OF_SETS = (exp.ArgMax, exp.ArgMin, exp.First, exp.Last, exp.AnyValue)


def respell_aggregate(node: exp.Expr, dialect: str | None) -> exp.Expr:
    """A call in its one spelling; itself if it has none.

    Args:
        node: any part of a query.
        dialect: sqlglot's name of its dialect.
    """
    if isinstance(node, OF_SETS) and isinstance(node.this, exp.Distinct) and len(node.this.expressions) == 1:
        node.set("this", node.this.expressions[0])
    if not isinstance(node, exp.AggFunc | exp.Anonymous):
        return node
    for pattern, meaning in _patterns(dialect).get(_name_of(node), ()):
        found: dict[str, exp.Expr] = {}
        if match(node, pattern, found):
            made = fill(meaning, found, dialect)
            made.meta.update(node.meta)
            return made
    return node


def _name_of(node: exp.Expr) -> str:
    return str(node.this).upper() if isinstance(node, exp.Anonymous) else node.key


@lru_cache(maxsize=64)
def _patterns(dialect: str | None) -> dict[str, list[Pattern]]:
    by_name: dict[str, list[Pattern]] = {}
    for form in (Form.of(s) for row in AGGREGATES for s in row.spellings):
        if (dialect or GENERIC) in form.dialects:
            try:
                pattern = sqlglot.parse_one(form.text, read=dialect)
            except SqlglotError:
                continue
            by_name.setdefault(_name_of(pattern), []).append((pattern, sqlglot.parse_one(form.meaning)))
    return by_name
