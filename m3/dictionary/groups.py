"""Aggregates and window functions, which :mod:`m3.sql.calls` and :mod:`m3.sql.windows` read: rows for the page and the tests.

Placeholders stand for columns of the group's rows.
"""

from __future__ import annotations

from m3.dictionary.entry import Entry

__all__ = ["GROUPS", "TABLES", "WINDOWS"]


def _by_hand(name: str, text: str, *forms: str) -> Entry:
    return Entry(name, text, forms=tuple(f if " := " in f else f"{f} := ..." for f in forms))


GROUPS = (
    _by_hand("count", "how many rows, or values that are not NULL", "COUNT(*)", "COUNT(v)", "COUNT(DISTINCT v)"),
    _by_hand("count_if", "for how many rows a condition is true; 0 of NULLs alone, which DuckDB has as NULL", "COUNT_IF(b)", "bigquery generic | COUNTIF(b)", "COUNT(*) FILTER (WHERE b)"),
    _by_hand("sum", "the sum; NULL of nothing", "SUM(x)", "SUM(DISTINCT x)", "SUM(x) FILTER (WHERE b)"),
    _by_hand("avg", "SUM(a) / COUNT(a)", "AVG(x)", "AVG(DISTINCT x)"),
    _by_hand("min", "the least", "MIN(v)"),
    _by_hand("max", "the greatest", "MAX(v)"),
    _by_hand("bool_and", "whether a condition is true for all rows", "BOOL_AND(b)", "LOGICAL_AND(b)"),
    _by_hand("bool_or", "whether a condition is true for a row", "BOOL_OR(b)", "LOGICAL_OR(b)"),
    _by_hand("any_value", "a value of the group, the least", "ANY_VALUE(v)"),
    _by_hand("variance", "the variance of a sample, or of all", "VAR_SAMP(x)", "VARIANCE(x)", "VAR_POP(x)"),
    _by_hand("stddev", "the standard deviation of a sample, or of all", "STDDEV_SAMP(x)", "STDDEV(x)", "STDDEV_POP(x)"),
    _by_hand("covar", "the covariance of a sample, or of all", "COVAR_SAMP(x, z)", "COVAR_POP(x, z)"),
    _by_hand("corr", "the correlation; NULL where it is not defined", "CORR(x, z)"),
    _by_hand("regr", "of the line through the pairs (b, a)", *(f"REGR_{part}(x, z)" for part in ["SLOPE", "INTERCEPT", "R2", "SXX", "SYY", "SXY", "COUNT", "AVGX", "AVGY"])),
    _by_hand("skewness", "how far a distribution leans: in Spark of the rows, in DuckDB and Snowflake as a sample lets it be estimated, NULL of less than 3 values", "spark duckdb snowflake | SKEWNESS(f)", "snowflake | SKEW(f)"),
    _by_hand("kurtosis", "how heavy the ends of a distribution are, in excess of 3: in Spark, and as KURTOSIS_POP, of the rows, elsewhere as a sample lets it be estimated, NULL of less than 4 values", "spark duckdb snowflake trino | KURTOSIS(f)", "KURTOSIS_POP(f)"),
    _by_hand("product", "the product of the values, rounded once", "PRODUCT(f)"),
    _by_hand("mad", "the median of the distances from the median", "MAD(x)"),
    _by_hand("arg_max", "the value of the row with the greatest b", "ARG_MAX(v, n)", "MAX_BY(v, n)"),
    _by_hand("arg_min", "the value of the row with the least b", "ARG_MIN(v, n)", "MIN_BY(v, n)"),
    _by_hand("first", "the first value by an order, the least without one", "postgres spark duckdb generic | FIRST(v ORDER BY n)", "postgres spark duckdb generic | FIRST(v)", "postgres spark duckdb generic | LAST(v ORDER BY n)"),
    _by_hand("median", "the middle value, interpolated", "MEDIAN(x)"),
    _by_hand("percentile_cont", "a fraction of the way through the values, interpolated", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)"),
    _by_hand("percentile_disc", "the first value that a fraction of the values does not exceed", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x)"),
    _by_hand("mode", "the most frequent value", "MODE(v)", "postgres duckdb generic | MODE() WITHIN GROUP (ORDER BY v)"),
    _by_hand("string_agg", "the texts, one after the other", "postgres duckdb tsql bigquery generic | STRING_AGG(s, ',')", "postgres duckdb bigquery generic | STRING_AGG(s, ',' ORDER BY n)", "mysql generic | GROUP_CONCAT(s)", "snowflake trino spark generic | LISTAGG(s, ',') WITHIN GROUP (ORDER BY n)"),
    _by_hand("bits", "the bits that all values have, that one has, or that an odd number of values have", "postgres spark duckdb mysql generic | BIT_AND(n)", "postgres spark duckdb mysql generic | BIT_OR(n)", "postgres spark duckdb mysql generic | BIT_XOR(n)"),
    _by_hand("grouping", "1 where a column is not grouped by, in ROLLUP, CUBE and GROUPING SETS", "GROUPING(n)"),
)  # fmt: skip


def _window(name: str, text: str, *calls: str, over: str = "PARTITION BY i ORDER BY n") -> Entry:
    return _by_hand(name, text, *(f"{c} OVER ({over})" for c in calls))


WINDOWS = (
    _window("row_number", "1, 2, 3 .. in the order", "ROW_NUMBER()"),
    _window("rank", "the place in the order, with gaps after ties", "RANK()"),
    _window("dense_rank", "the place in the order, without gaps", "DENSE_RANK()"),
    _window("percent_rank", "(RANK - 1) / (rows - 1)", "PERCENT_RANK()"),
    _window("cume_dist", "the part of the rows that are not behind", "CUME_DIST()"),
    _window("ntile", "the number of the part when the rows are divided in so many", "NTILE(4)"),
    _window("lag", "the value some rows before", "LAG(v)", "LAG(v, 2)"),
    _window("lead", "the value some rows behind", "LEAD(v)"),
    _window("first_value", "the first value of the frame", "FIRST_VALUE(v)"),
    _window("last_value", "the last value of the frame", "LAST_VALUE(v)"),
    _window("nth_value", "the n-th value of the frame", "NTH_VALUE(v, 2)"),
    _window(
        "over",
        "an aggregate of the frame",
        "COUNT(*)",
        "SUM(x)",
        "AVG(x)",
        "MIN(v)",
        "MAX(v)",
        "STDDEV(x)",
        "STDDEV_POP(x)",
        "VARIANCE(x)",
        "VAR_POP(x)",
        "STDDEV(f)",
        "CORR(f, g)",
        "REGR_SLOPE(f, g)",
        "MEDIAN(x)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
        "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY v)",
        "MODE(v)",
        "MAD(x)",
        "PRODUCT(f)",
        "spark duckdb snowflake | SKEWNESS(f)",
        "spark duckdb snowflake trino | KURTOSIS(f)",
        "postgres spark duckdb mysql generic | BIT_OR(n)",
    ),
)

#: Functions that are tables: what they are in FROM, for the page alone.
TABLES = (
    _by_hand("generate_series", "a row for each number or date", "GENERATE_SERIES(1, 5)"),
    _by_hand("unnest", "a row for each element of an array that is written out", "UNNEST(ARRAY[1, 2])"),
    _by_hand(
        "tumble",
        "the span of time that a row is in, in GROUP BY",
        "TUMBLE(t, INTERVAL '10' MINUTE)",
        "HOP(t, INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)",
        "spark | WINDOW(t, '10 minutes')",
        "spark | WINDOW(t, '10 minutes', '5 minutes')",
    ),
    _by_hand("now", "the time, in filters that time passes", "NOW()", "CURRENT_TIMESTAMP()", "CURRENT_DATE()"),
)
