"""Conditions, choices and casts, which the language computes itself: rows for the page and the tests, without kernels."""

from __future__ import annotations

from m3.dictionary.entry import Entry

__all__ = ["CHOICES"]

CHOICES = (
    Entry("case", "the value of the first condition that is true", forms=("CASE WHEN b THEN v ELSE w END := ...", "postgres spark duckdb mysql snowflake bigquery trino generic | IF(b, v, w) := ...", "snowflake tsql generic | IIF(b, v, w) := ..."), examples={"CASE WHEN 1 = 1 THEN 'a' ELSE 'b' END": "a"}),
    Entry("decode", "the value beside the first that equals a; NULL equals NULL", forms=("postgres spark mysql tsql snowflake bigquery trino generic | DECODE(n, 1, v, 2, w) := ...",), examples={"DECODE(2, 1, 'one', 2, 'two')": "two"}),
    Entry("coalesce", "the first that is not NULL", forms=("COALESCE(v, w) := ...", "IFNULL(v, w) := ...", "NVL(v, w) := ...", "tsql | ISNULL(v, w) := ..."), examples={"COALESCE(NULL, 2)": "2"}),
    Entry("nullif", "a, NULL where it equals b", forms=("NULLIF(v, w) := ...",), examples={"NULLIF(1, 2)": "1"}),
    Entry("nvl2", "b where a is not NULL, else c", forms=("NVL2(v, n, i) := ...",), examples={"NVL2(NULL, 1, 2)": "2"}),
    Entry("zeroifnull", "a, 0 for NULL", forms=("snowflake spark duckdb generic | ZEROIFNULL(n) := ...",)),
    Entry("isnull", "whether a is NULL", forms=("spark mysql duckdb generic | ISNULL(v) := ...", "spark duckdb generic | ISNOTNULL(v) := ..."), examples={"ISNULL(1)": "False"}),
    Entry("cast", "a as another type; what has no such value is an error. VARCHAR(n) cuts off; in Snowflake and BigQuery a longer text is an error, in Spark and DuckDB it stays, as there", forms=("CAST(v AS VARCHAR(20)) := ...", "CAST(s AS DATE) := ..."), fails=("bad-cast", "overflow"), differs={"postgres": "DOUBLEs without .0, and Infinity; seconds without zeros at the end", "duckdb": "seconds without zeros at the end", "spark": "DOUBLEs with E, and Infinity; seconds without zeros at the end"}, examples={"CAST('12' AS INT)": "12"}),
    Entry("try_cast", "a as another type, NULL where it has no such value", forms=("TRY_CAST(s AS INT) := ...",), examples={"TRY_CAST('x' AS INT)": None}, differs={"duckdb": "a text of a number with decimals is rounded to INT", "spark": "a text of a number with decimals is NULL as INT"}),
    Entry("to_date", "a text as a date", forms=("spark duckdb mysql tsql snowflake bigquery trino generic | TO_DATE(s) := ...", "DATE(s) := ..."), fails=("bad-cast",)),
    Entry("to_timestamp", "a text or a date as a timestamp", forms=("bigquery generic | TIMESTAMP(s) := ...",), fails=("bad-cast",)),
    Entry("try_to_timestamp", "a text as a timestamp, NULL where it is none", forms=("spark duckdb generic | TRY_TO_TIMESTAMP(s) := ...",)),
)  # fmt: skip
