"""Every construct of ``docs/sql.md`` once or more, over one small table of all types with random rows.

A new function, operator or aggregate gets its line here; a test says which of the compiler's operations have none.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from random import Random
from typing import Any

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from m3.dictionary import BY_HAND, ENTRIES, GENERIC, Form
from m3.dictionary.aggregates import AGGREGATES as AGGREGATES_
from m3.program import Column, Relation
from tests.support.doubles import DOUBLES as SPECIAL

__all__ = ["CONSTRUCTS", "DIALECTS", "DOUBLES_TABLE", "TABLE", "UNPROVED", "WIDTH", "double_rows", "operations", "rows"]

DIALECTS = (None, "spark", "postgres", "duckdb", "mysql", "tsql", "snowflake", "bigquery", "trino")
TABLE = Relation(
    "t",
    (
        Column("k", INT), Column("g", INT.with_null()), Column("i", INT.with_null()), Column("j", INT.with_null()),
        Column("x", decimal(9, 2).with_null()), Column("y", decimal(20, 5).with_null()), Column("z", decimal(38, 10).with_null()),
        Column("r", DOUBLE.with_null()), Column("s", STRING.with_null()), Column("u", STRING.with_null()),
        Column("d", DATE.with_null()), Column("e", DATE.with_null()), Column("m", TIMESTAMP.with_null()), Column("b", BOOL.with_null()),
    ),
    ("k",),
)  # fmt: skip
#: DOUBLEs of all kinds, apart from the others: an expression that has no value for an infinity would put the others of its view in error.
DOUBLES_TABLE = Relation(
    "n", (Column("k", INT), Column("r", DOUBLE.with_null()), Column("q", DOUBLE.with_null())), ("k",)
)
#: Columns of one view: more would make the query for Spark slow to plan.
WIDTH = 40

SCALARS = """
i + j | i - j | i * j | -i | i / NULLIF(j, 0) | i % NULLIF(j, 0) | MOD(i, NULLIF(j, 0)) | x + i | x - y | x * y | x * i
x / NULLIF(y, 0) | y / NULLIF(x, 0) | i / NULLIF(x, 0) | x % NULLIF(y, 0) | z * x | z / NULLIF(x, 0) | x / NULLIF(i, 0) | 1.5 * x + 2
z / NULLIF(z, 0) | z + x | (i + j) / 3 | x / 7 | 100 * x / 3 | r + i | r * x | r / NULLIF(i, 0) | -r | i DIV NULLIF(j, 0) | x DIV NULLIF(j, 0)
i // NULLIF(j, 0) | r - x | 2 * i + 1 | 1e3 * i
i = j | i <> j | i < j | x <= y | x > i | y >= 1 | s = u | s < u | d < e | d < m | r > 0 | b = TRUE | z > x | i / 2 > j / 3
i IS NULL | s IS NOT NULL | b IS TRUE | b IS NOT FALSE | i IS NOT DISTINCT FROM j | i IS DISTINCT FROM x | i BETWEEN 0 AND j
i IN (1, 2, 3) | x IN (1.5, 2, NULL) | s IN ('a', 'b') | i NOT IN (1, NULL) | b AND i > 0 | b OR i > 0 | NOT b | (i, j) = (1, 2) | (i, s) < (j, u)
CASE WHEN i > 0 THEN x WHEN i < 0 THEN y ELSE 0 END | CASE i WHEN 1 THEN 'a' WHEN 2 THEN s END | COALESCE(i, x, 0) | COALESCE(s, 'none')
NULLIF(i, 1) | NULLIF(s, 'a') | IF(i > 0, i, x) | NVL2(i, j, 0) | DECODE(i, 1, 'one', NULL, 'none', 'more') | COALESCE(d, DATE '2024-01-01')
CAST(x AS INT) | CAST(-x AS INT) | CAST(i AS DECIMAL(12, 3)) | CAST(y AS DECIMAL(22, 1)) | CAST(i AS DOUBLE) | CAST(x AS DOUBLE) | CAST(i AS VARCHAR)
CAST(x AS VARCHAR) | CAST(d AS VARCHAR) | CAST(m AS VARCHAR) | CAST(b AS VARCHAR) | CAST('12' AS INT) + i | CAST('3.25' AS DECIMAL(5, 2)) * x
CAST(d AS TIMESTAMP) | CAST(m AS DATE) | CAST(CAST(d AS VARCHAR) AS DATE) | CAST(r AS INT) | CAST(b AS INT) | CAST(i AS BOOLEAN) | CAST(x AS NUMERIC)
CAST(CAST(x AS VARCHAR) AS DECIMAL(9, 2)) | CAST(CAST(m AS VARCHAR) AS TIMESTAMP) | CAST(CAST(x AS VARCHAR) AS INT)
ABS(i) | ABS(x) | ABS(r) | SIGN(x) | SIGN(r) | ROUND(x, 1) | ROUND(y) | ROUND(r, 2) | ROUND(i, -1) | ROUND(x, -1) | TRUNC(x, 1) | TRUNC(y)
TRUNC(r, 1) | CEIL(x) | FLOOR(y) | CEIL(r) | FLOOR(r) | CEIL(i) | GREATEST(i, j) | LEAST(x, y, i) | GREATEST(s, u) | GREATEST(d, e) | LEAST(r, i)
SQRT(ABS(x)) | EXP(i) | LN(ABS(r) + 1) | LOG10(ABS(x) + 1) | LOG(2, ABS(x) + 1) | LOG(ABS(i) + 2, 10) | LOG(3, ABS(r) + 1) | POWER(ABS(r) + 1, 2) | POWER(x, 2) | PI()
UPPER(s) | LOWER(u) | LENGTH(s) | s || u | s || i | CONCAT(s, u) | CONCAT(s, x, d) | CONCAT_WS('-', s, u, 'x') | SUBSTRING(s, 2, 2) | SUBSTRING(s, 2)
SUBSTRING(s, 1, i * 0 + 2) | LEFT(s, 2) | RIGHT(s, 2) | LEFT(s, i - 2) | RIGHT(s, i - 2) | POSITION('b' IN s) | STRPOS(s, 'b') | LOCATE('b', s, 2) | REPLACE(s, 'a', 'xy') | REVERSE(s)
TRANSLATE(s, 'ab', 'x') | REPEAT(s, 2) | LPAD(s, 5, '*') | RPAD(s, 5, '*') | LPAD(s, 4) | TRIM(s) | LTRIM(s) | RTRIM(s) | TRIM(BOTH 'a' FROM s)
TRIM(LEADING 'a' FROM s) | BTRIM(s, 'ab') | INITCAP(s) | STARTS_WITH(s, 'a') | ENDS_WITH(s, 'b') | CONTAINS(s, 'b') | SPLIT_PART(s, ' ', 1) | SPLIT_PART(s, 'a', -1)
ASCII(s) | CHR(ABS(i) + 65) | CHR(8364) | s LIKE 'a%' | s LIKE '%_b' | s LIKE u | s NOT LIKE 'a' | s ILIKE 'A%' | s LIKE 'a!%%' ESCAPE '!' | s RLIKE '^a+b$' | s ~ '^a|b$' | s SIMILAR TO 'a_*b|%.' | REGEXP_LIKE(s, 'a.')
REGEXP_REPLACE(s, '[ab ]', 'x') | REGEXP_REPLACE(s, '^(?:a|b)?(b*)', '[$1]') | REGEXP_REPLACE(s, '^(.)(.)', '$2') | REGEXP_REPLACE(s, 'b(a*)', '\\1<\\1>') | REGEXP_REPLACE(s, 'b*$', '-') | REGEXP_REPLACE(s, 'A|B$', 'x', 1, 0, 'i') | REGEXP_REPLACE(s, 'A+', 'x', 'gi') | REGEXP_REPLACE(s, 'b+', 'é\\\\', 1, 1) | REGEXP_REPLACE(s, '\\s', '-') | REGEXP_EXTRACT(s, 'a(.*?)b', 1) | s RLIKE '[\\s]b+?' | REGEXP_REPLACE(s, '(.)b', '$1\\$')
REGEXP_EXTRACT(s, '(a)(.*)', 2) | REGEXP_EXTRACT(s, '(?:a|b)+(b?)', 1) | REGEXP_EXTRACT(s, '(ab?)+.|b', 0) | REGEXP_EXTRACT(s, '(a)|b', 1) | REGEXP_EXTRACT(s, 'b(.*)') | REGEXP_EXTRACT(s, 'a.') | REGEXP_SUBSTR(s, '[^a]+$') | REGEXP_SUBSTR(s, '(ab)+') | REGEXP_SUBSTR(s, '(a)(.)', 1, 1, 'e', 2) | SUBSTRING(s FROM '(.)b') | SUBSTRING(s FROM 'a.*') | SUBSTRING(s FROM '[ab]')
REGEXP_COUNT(s, '[ab]') | REGEXP_COUNT(s, '(a|b)+') | REGEXP_INSTR(s, 'b') | REGEXP_INSTR(s, '(ab)+|^b') | REGEXP_INSTR(s, 'b$') | REGEXP_FULL_MATCH(s, 'a|b.*') | REGEXP_CONTAINS(s, 'ab') | REGEXP_LIKE(s, '(?i)^A')
PREFIX(s, 'a') | SUFFIX(s, 'b') | MID(s, 1, 2) | ISNULL(i) | ZEROIFNULL(i)
EXTRACT(YEAR FROM d) | EXTRACT(QUARTER FROM d) | EXTRACT(MONTH FROM m) | EXTRACT(WEEK FROM d) | EXTRACT(DAY FROM d) | EXTRACT(HOUR FROM m) | EXTRACT(MINUTE FROM m)
EXTRACT(SECOND FROM m) | EXTRACT(EPOCH FROM m) | EXTRACT(DOY FROM d) | EXTRACT(DOW FROM d) | EXTRACT(ISODOW FROM d) | EXTRACT(ISOYEAR FROM d) | EXTRACT(DAYOFWEEK FROM d)
YEAR(d) | MONTH(m) | DAY(d) | QUARTER(d) | WEEK(d) | WEEKOFYEAR(d) | DAYOFWEEK(d) | DAYOFYEAR(d) | DAYOFMONTH(d) | HOUR(m) | MINUTE(m) | SECOND(m) | DATE_PART('year', d) | DATE_PART('dow', d)
d + INTERVAL '1' DAY | d + INTERVAL '1 month 2 days' | d - INTERVAL '3' MONTH | m + INTERVAL '5' HOUR | m - INTERVAL '90' SECOND | d + i | d - i | d - e | INTERVAL '1' YEAR + d | m + 2 * INTERVAL '1' DAY
d + i * INTERVAL '1' DAY | d + INTERVAL 1 QUARTER | ADD_MONTHS(d, 1) | ADD_MONTHS(d, i) | DATE_ADD(d, 3) | DATE_ADD(d, INTERVAL 1 WEEK) | DATE_SUB(d, 3) | DATEADD(DAY, 5, d) | DATEADD(MONTH, i, d) | DATEDIFF(d, e) | DATEDIFF(DAY, d, e)
DATE_TRUNC('month', d) | DATE_TRUNC('week', d) | DATE_TRUNC('quarter', m) | DATE_TRUNC('hour', m) | DATE_TRUNC('year', m) | DATE_TRUNC('minute', d) | LAST_DAY(d) | MAKE_DATE(2024, 2, ABS(i) + 1) | TO_DATE('2024-02-03') | DATE '2024-02-03'
DATE_FORMAT(m, 'yyyy-MM-dd') | TO_CHAR(m, 'YYYY-MM-DD HH24:MI:SS') | STRFTIME(m, '%Y/%m') | DATE_FORMAT(d, '%Y-%m') | FORMAT_DATE('%Y-%m-%d', d) | TIMESTAMP '2024-01-02 03:04:05' | FORMAT(d, 'yyyy-MM')
SIN(r) | COS(r) | TAN(r) | COT(r) | ASIN(r / 1000) | ACOS(r / 1000) | ASIND(r / 1000) | ACOSD(r / 1000) | ATAN(r) | ATAN2(r, x) | SINH(r / 10) | COSH(r / 10) | TANH(r) | ASINH(r) | ACOSH(ABS(r) + 1) | ATANH(r / 1000) | DEGREES(r)
RADIANS(r) | CBRT(r) | LOG1P(ABS(r)) | EXPM1(r / 10) | ISNAN(r) | IS_NAN(r) | IS_INF(r) | ISINF(r) | PMOD(i, 3) | PMOD(x, 3) | PMOD(r, 2) | OCTET_LENGTH(s) | MAKE_TIMESTAMP(2024, 1, ABS(i) + 1, 3, 4, 5.5) | m - d | m - TIMESTAMP '2024-01-01 00:00:00.5'
EXTRACT(EPOCH FROM m - d) | EPOCH_US(m) | TIME_BUCKET(INTERVAL '10' MINUTE, m) | DATE_BIN('15 minutes', m, TIMESTAMP '2001-01-01') | TRY_CAST(s AS INT) | TRY_CAST(s AS DATE) | TRY_CAST(x AS DECIMAL(4, 1)) | CAST(r AS DECIMAL(12, 2)) | SUBSTRING(s, 0, 2) | SUBSTRING(s, -2, 3) | SUBSTRING(s, i, 2)
m + INTERVAL '3' MILLISECOND | DATE_ADD(m, INTERVAL 7 MICROSECOND) | m - d > INTERVAL '2' DAY | m - d - INTERVAL '1' HOUR | DATE_TRUNC('decade', d) | DATE_TRUNC('millisecond', m) | EXTRACT(EPOCH FROM d)
d = '2024-01-31' | i < '3' | x = '1.50' | EXISTS (SELECT 1 FROM t t2 WHERE t2.k = t.i) | i IN (SELECT j FROM t t2) | i > ANY (SELECT j FROM t t2) | NULL IN (SELECT j FROM t t2) | x <= ALL (SELECT y FROM t t2 WHERE t2.y IS NOT NULL) | (SELECT MAX(x) FROM t t2 WHERE t2.g = t.g) | (SELECT COUNT(*) FROM t t2)
i & j | i|j | ~i | i & 6 | XOR(i, j) | i ^ j | i # j | CEIL(r / 3) | FLOOR(-r)
('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') ->> 'a' | ('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') -> 'a' ->> 1 | ('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') -> 'b' ->> 'c' | ('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') -> 'b' ->> 'd' | ('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') ->> 'e'
('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') ->> 'b' | GET_JSON_OBJECT(s, '$.a') | GET_JSON_OBJECT('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.a[2]') | JSON_EXTRACT_STRING('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.b.c')
('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') -> 'b' | ('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') -> 'b' -> 'd' | JSON_EXTRACT('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.a') | JSON_QUERY('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.b') | JSON_QUERY('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.b.c') | JSON_VALUE('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.b') | JSON_VALUE('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.a[2]') | JSON_EXTRACT_SCALAR('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.a[1]') | CAST('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}' AS JSON) #>> '{a,2}' | PARSE_JSON('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}'):a[2]::string | JSON_FORMAT(JSON_EXTRACT('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.a[2]')) | ('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}') ->> '$.b.d' | JSON_UNQUOTE(JSON_EXTRACT('{"a": [' || i || ', 1.50, "x"], "b": {"c": ' || x || ', "d": null}}', '$.b'))
SPLIT(s || 'a', 'a')[1] | SPLIT(s, 'a')[SAFE_OFFSET(1)] | SPLIT(s || 'a', 'a')[OFFSET(1)] | (STRING_TO_ARRAY(s || 'aa', 'a'))[2] | STRING_SPLIT(s, 'a')[-1] | STRING_SPLIT(s, ' a')[-2] | ELEMENT_AT(SPLIT(s || 'a', 'a'), -2) | TRY_ELEMENT_AT(SPLIT(s, 'a'), 2) | GET(SPLIT(s, 'a'), 1) | SUBSTRING_INDEX(s, 'a', 1) | SUBSTRING_INDEX(s, 'a', -1)
""".strip()

AGGREGATES = """
COUNT(*) | COUNT(i) | COUNT(i, j) | COUNT(DISTINCT i) | COUNT(DISTINCT i, s) | SUM(i) | SUM(x) | SUM(y) | SUM(z) | SUM(x * y) | SUM(i * x) | SUM(r) | SUM(DISTINCT i) | SUM(DISTINCT x)
SUM(x) FILTER (WHERE i > 0) | COUNT(*) FILTER (WHERE b) | AVG(i) | AVG(x) | AVG(y) | AVG(z) | AVG(r) | AVG(x * i) | AVG(DISTINCT i) | AVG(x) FILTER (WHERE b) | MIN(i) | MAX(i) | MIN(s) | MAX(d) | MIN(m) | MAX(x) | MAX(r) | MIN(b)
ANY_VALUE(g) | BOOL_AND(b) | BOOL_OR(b) | COUNT_IF(i > 0) | VARIANCE(i) | VARIANCE(x) | VAR_POP(x) | STDDEV(x) | STDDEV_POP(i) | STDDEV_SAMP(i) | SUM(i) / NULLIF(SUM(j), 0) | SUM(x) / NULLIF(SUM(i), 0) | SUM(x) / COUNT(*) | SUM(x / 3)
SUM(i / NULLIF(j, 0)) | AVG(x) / 3 | MAX(x) - MIN(x) | SUM(CASE WHEN b THEN x ELSE 0 END) | ROUND(AVG(x), 2) | SUM(x) * 100 / NULLIF(SUM(y), 0) | COALESCE(SUM(x), 0) | SUM(x + y) | SUM(CAST(i AS DECIMAL(19, 0)))
SUM(z / 3) | AVG(i / 7) | AVG(z * 2) | EVERY(b) | SOME(b) | ARG_MAX(s, i) | ARG_MIN(x, d) | MAX_BY(s, i) | MIN_BY(x, i) | FIRST(s ORDER BY i DESC) | LAST(x ORDER BY d) | MEDIAN(x) | MEDIAN(i) | MEDIAN(r) | BIT_AND(i) | BIT_OR(i) | BIT_XOR(i)
PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x) | PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY r DESC) | PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY i) | PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY d DESC) | MODE() WITHIN GROUP (ORDER BY i)
STRING_AGG(s, ',' ORDER BY k) | STRING_AGG(s, '-') | LISTAGG(s, '; ') WITHIN GROUP (ORDER BY k DESC) | STRING_AGG(DISTINCT s, ',') | MODE(s) | FIRST(x) | QUANTILE_CONT(x, 0.5) | SUM(m - d)
CORR(i, j) | CORR(x, j) | COVAR_POP(x, i) | COVAR_SAMP(y, j) | REGR_SLOPE(x, i) | REGR_INTERCEPT(i, j) | REGR_R2(x, j) | REGR_R2(i * 0, j) | REGR_SXX(x, i) | REGR_SYY(x, i) | REGR_SXY(i, j)
ARRAY_AGG(x) | ARRAY_AGG(s ORDER BY k DESC) | ARRAY_AGG(DISTINCT i) | ARRAY_AGG(y ORDER BY d DESC NULLS FIRST, i) FILTER (WHERE b) | ARRAY_AGG(m ORDER BY m DESC) | ARRAY_AGG(b ORDER BY s) | ARRAY_AGG(r) | ARRAY_AGG(z ORDER BY x) | ARRAY_AGG(x * i ORDER BY k)
ARRAY_AGG(d IGNORE NULLS ORDER BY k) | ARRAY_AGG(DISTINCT s ORDER BY s DESC) | LIST(i ORDER BY j, k) | ARRAY_AGG(i IGNORE NULLS ORDER BY k DESC LIMIT 3) | ARRAY_AGG(s IGNORE NULLS ORDER BY i, k LIMIT 1)[OFFSET(0)] | COLLECT_LIST(x) | COLLECT_SET(s) | ARRAY_UNIQUE_AGG(d) | ARRAY_AGG(s) WITHIN GROUP (ORDER BY k) | COALESCE(ARRAY_AGG(x) FILTER (WHERE i > 100), '{}')
ARRAY_TO_STRING(ARRAY_AGG(s ORDER BY k), ',') | ARRAY_JOIN(COLLECT_LIST(s), '-') | ARRAY_TO_STRING(ARRAY_AGG(i) FILTER (WHERE b), ';') | CARDINALITY(ARRAY_AGG(i)) | CARDINALITY(ARRAY_AGG(DISTINCT i) FILTER (WHERE b)) | ARRAY_LENGTH(ARRAY_AGG(x), 1) | SIZE(COLLECT_SET(x))
(ARRAY_AGG(s ORDER BY i DESC, k))[1] | ELEMENT_AT(COLLECT_LIST(x), 1) | SORT_ARRAY(COLLECT_LIST(i), FALSE) | LIST_SORT(LIST(s), 'DESC') | ARRAY_DISTINCT(COLLECT_LIST(i)) | CONCAT_WS(',', COLLECT_LIST(s))
STDDEV(r) | VAR_POP(r) | VARIANCE(DISTINCT r) | STDDEV_POP(r) FILTER (WHERE b) | STDDEV(DISTINCT i) | CORR(r, i) | CORR(x, r) | COVAR_POP(r, j) | COVAR_SAMP(r, x) | REGR_SLOPE(r, i) | REGR_INTERCEPT(i, r) | REGR_R2(r, j) | REGR_SXX(r, i) | REGR_SYY(r, i) | REGR_SXY(r, i) | REGR_AVGX(r, i) | REGR_COUNT(r, i)
MAD(x) | MAD(i) FILTER (WHERE b) | MAD(DISTINCT r) | PRODUCT(r) | PRODUCT(DISTINCT x) FILTER (WHERE b) | KURTOSIS_POP(x) | KURTOSIS_POP(r) | SKEWNESS(x) | SKEWNESS(DISTINCT r) | KURTOSIS(i) FILTER (WHERE b) | SKEW(r)
REGR_AVGX(x, i) | REGR_AVGY(x, i) | REGR_COUNT(x, i) | CORR(i, i * 0) | REGR_SLOPE(x, i * 0) | CORR(i, x) FILTER (WHERE b) | COVAR_SAMP(i, j) FILTER (WHERE k = 1)
""".strip()

WINDOWS = """
ROW_NUMBER() OVER (PARTITION BY g ORDER BY k) | RANK() OVER (ORDER BY i) | DENSE_RANK() OVER (PARTITION BY g ORDER BY x DESC) | NTILE(3) OVER (ORDER BY k) | PERCENT_RANK() OVER (ORDER BY i) | CUME_DIST() OVER (ORDER BY x)
LAG(x) OVER (ORDER BY k) | LEAD(i, 2) OVER (PARTITION BY g ORDER BY k) | LAG(i, 1, 0) OVER (ORDER BY k) | FIRST_VALUE(x) OVER (PARTITION BY g ORDER BY k) | LAST_VALUE(i) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING)
NTH_VALUE(s, 2) OVER (ORDER BY k) | NTH_VALUE(s, 0) OVER (ORDER BY k) | COUNT(*) OVER (PARTITION BY g) | SUM(i) OVER (PARTITION BY g ORDER BY k) | SUM(x) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) | AVG(i) OVER (PARTITION BY g) | AVG(x) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)
MIN(d) OVER (PARTITION BY g) | MAX(x) OVER (ORDER BY i) | SUM(r) OVER (PARTITION BY g) | AVG(r) OVER (PARTITION BY g) | SUM(x) OVER (ORDER BY i RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) | SUM(z) OVER (PARTITION BY g)
LAG(i) IGNORE NULLS OVER (ORDER BY k) | LEAD(x, 2) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) | LAG(s, 1, 'none') IGNORE NULLS OVER (ORDER BY k) | FIRST_VALUE(i) IGNORE NULLS OVER (PARTITION BY g ORDER BY k)
LAST_VALUE(x) IGNORE NULLS OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) | NTH_VALUE(s, 2) IGNORE NULLS OVER (PARTITION BY g ORDER BY k) | COUNT(DISTINCT i) OVER (PARTITION BY g) | MAX(DISTINCT i) OVER (PARTITION BY g)
COUNT(DISTINCT g) OVER (ORDER BY k ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) | COUNT(DISTINCT s) OVER (ORDER BY i) | SUM(x) FILTER (WHERE b) OVER (PARTITION BY g) | SUM(i) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE NO OTHERS)
FIRST(i) OVER (PARTITION BY g ORDER BY k) | LAST(x) IGNORE NULLS OVER (ORDER BY k) | ANY_VALUE(i) OVER (PARTITION BY g ORDER BY k) | ANY_VALUE(i) OVER (PARTITION BY g) | COUNT_IF(b) OVER (ORDER BY k) | STDDEV(x) OVER (PARTITION BY g) | VAR_POP(i) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) | STDDEV_POP(x) FILTER (WHERE b) OVER (PARTITION BY g ORDER BY k)
STDDEV(r) OVER (PARTITION BY g) | VAR_POP(r) FILTER (WHERE b) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) | CORR(x, r) OVER (PARTITION BY g) | CORR(i, j) OVER (PARTITION BY g ORDER BY k) | REGR_SLOPE(x, i) FILTER (WHERE b) OVER (PARTITION BY g) | REGR_SXX(x, i) OVER (PARTITION BY g) | REGR_AVGX(x, i) OVER (PARTITION BY g) | REGR_COUNT(x, i) OVER (ORDER BY k)
MEDIAN(x) OVER (PARTITION BY g) | MEDIAN(r) FILTER (WHERE b) OVER (ORDER BY i) | PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY x DESC) OVER (PARTITION BY g) | PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY s DESC) OVER (PARTITION BY g) | QUANTILE_CONT(i, 0.9) OVER (ORDER BY k ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) | MODE(s) OVER (PARTITION BY g) | MODE() WITHIN GROUP (ORDER BY i DESC) OVER (PARTITION BY g) | BIT_OR(i) OVER (PARTITION BY g ORDER BY k) | BIT_XOR(i) OVER (PARTITION BY g) | BIT_AND(i) OVER (PARTITION BY g)
MAD(x) OVER (PARTITION BY g) | PRODUCT(r) OVER (ORDER BY k ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) | KURTOSIS_POP(x) OVER (PARTITION BY g) | SKEWNESS(x) OVER (PARTITION BY g) | KURTOSIS(r) OVER (ORDER BY k)
SUM(i) OVER (ORDER BY d RANGE BETWEEN '1 month'::INTERVAL PRECEDING AND CURRENT ROW) | COUNT(*) OVER (PARTITION BY g ORDER BY m DESC RANGE BETWEEN INTERVAL '1' MONTH PRECEDING AND INTERVAL '2' MONTH FOLLOWING) | COUNT(i) OVER (ORDER BY m RANGE BETWEEN INTERVAL '1 2:30:00.5' DAY TO SECOND PRECEDING AND INTERVAL '3' HOUR FOLLOWING) | COUNT(*) OVER (ORDER BY d RANGE '10 days' PRECEDING) | COUNT(*) OVER (ORDER BY d NULLS LAST RANGE BETWEEN INTERVAL '1 year' FOLLOWING AND UNBOUNDED FOLLOWING) | COUNT(*) OVER (ORDER BY d NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '1 year' PRECEDING)
SUM(i) OVER (ORDER BY r RANGE BETWEEN 1 PRECEDING AND 2.5 FOLLOWING) | COUNT(*) OVER (PARTITION BY g ORDER BY x DESC RANGE BETWEEN 100.25 PRECEDING AND CURRENT ROW) | COUNT(*) OVER (ORDER BY d RANGE BETWEEN 3 PRECEDING AND 1 FOLLOWING) | COUNT(*) OVER (ORDER BY d RANGE BETWEEN CURRENT ROW AND INTERVAL '1-1' YEAR TO MONTH FOLLOWING)
SUM(i) OVER (ORDER BY m RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) | COUNT(*) OVER (PARTITION BY g ORDER BY d RANGE BETWEEN INTERVAL '3' DAY PRECEDING AND INTERVAL '1' DAY FOLLOWING)
""".strip()

#: What is maintained but has no meaning written out: Spark has none of these frames, and no correlated scalar subquery in the condition of a
#: join. ``docs/validation.md`` says the same.
UNPROVED = (
    *(
        f"(SELECT COUNT(*) FROM t a {side} JOIN t c ON a.i = c.j AND {condition})"
        for side, condition in (
            ("LEFT", "c.x > (SELECT AVG(x) FROM t t2 WHERE t2.g = c.g)"),
            ("RIGHT", "a.j NOT IN (SELECT i FROM t t3)"),
            ("FULL", "EXISTS (SELECT 1 FROM t t4 WHERE t4.i = a.i)"),
        )
    ),
    "(SELECT COUNT(*) FROM (SELECT * FROM t a FULL JOIN t c USING (k) JOIN t d ON a.i = d.j) AS q)",
    "SUM(i) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)",
    "SUM(i) OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE GROUP)",
    "SUM(i) OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES)",
    "SUM(i) OVER (ORDER BY g GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW)",
)

#: What NaN, the infinities and -0 mean, in every place where a DOUBLE may stand.
DOUBLES = """
r + q | r - q | r * q | -r | 0 * r | r * -1 | r / NULLIF(q, 0) | r % NULLIF(q, 0) | ABS(r) | SIGN(r) | CASE WHEN ABS(r) < 9 THEN CEIL(r / 4) END | CASE WHEN ABS(r) < 9 THEN FLOOR(-r) END | ROUND(r, 2) | ROUND(r / 5, 0) | TRUNC(r / 5, 0)
r = q | r <> q | r < q | r <= q | r > 0 | r >= q | r IN (0, 0.5, q) | r BETWEEN 0 AND q | r IS DISTINCT FROM q | NOT r < q | -r < 0 | 1 - r < 1
GREATEST(r, q) | LEAST(r, q, 0) | NULLIF(r, q) | COALESCE(r, q) | CASE r WHEN 0 THEN 'zero' WHEN q THEN 'same' ELSE 'other' END | CASE WHEN r > q THEN r ELSE -q END | ISNAN(r) | IS_INF(r) | ATAN2(0 * r, -1) | ATAN(r)
CAST(0 * r + 0 AS VARCHAR) = CAST(0 * q AS VARCHAR) | CAST(r AS VARCHAR) | CAST(q * 1e300 AS VARCHAR) | CAST(q / 1e300 AS VARCHAR) || '!' | CAST(CAST(r AS VARCHAR) AS DOUBLE) | CAST(-NULLIF(r, r) AS VARCHAR) | TANH(r) | POWER(ABS(r), 2) | POWER(ABS(r) + 1, q) | POWER(1, r) | POWER(CASE WHEN r <> 0 AND (ABS(q) = 2 OR NOT ABS(q) < 9) THEN r END, q) | EXP(r) | LN(ABS(r) + 1) | SQRT(ABS(r)) | RANK() OVER (ORDER BY r NULLS LAST) | DENSE_RANK() OVER (ORDER BY -r NULLS FIRST) | COUNT(*) OVER (PARTITION BY r)
MAX(r) OVER (PARTITION BY q) | MIN(-r) OVER (PARTITION BY q) | SUM(r) OVER (PARTITION BY q) | (SELECT COUNT(*) FROM n o WHERE o.q = n.r) | (SELECT MAX(-q) FROM n o WHERE o.r >= n.r) | r >= ALL (SELECT q FROM n o WHERE o.q IS NOT NULL)
r = 'NaN' | r < ' infinity ' | r >= '-INF' | r <> '+inf' | r IN ('nan', '-Infinity', 0) | r BETWEEN 0 AND 'Inf' | CAST('NaN' AS DOUBLE) = r | CAST('-inf' AS FLOAT) < r | TRY_CAST('Infinity' AS DOUBLE) - r
""".strip()

#: What now() is: in the midst of the rows' moments, and on the last day of a month.
NOW = datetime.datetime(2024, 1, 31, 22, 58, 30, 250000)
#: Whole queries, for what is no expression.
QUERIES = (
    *(
        f"SELECT k FROM t WHERE m > {now} - INTERVAL '3 days'"
        for now in ("now()", "current_timestamp", "localtimestamp", "getdate()", "sysdate()", "transaction_timestamp()")
    ),
    *(
        f"SELECT k FROM t WHERE d {op} {today}"
        for op, today in zip(
            ["<", "<=", "=", ">=", ">"],
            ("current_date", "today()", "curdate()", "current_date", "current_date()"),
            strict=True,
        )
    ),
    "SELECT g, COUNT(*) AS n, SUM(x) AS s, MAX(m) AS last FROM t WHERE m BETWEEN now() - INTERVAL '1 month' AND now() GROUP BY g HAVING MAX(m) < now() - INTERVAL '2' HOUR",
    "SELECT g, COUNT(*) FILTER (WHERE now() - m < INTERVAL '10 days') AS n, COUNT(*) FILTER (WHERE m + INTERVAL '36' HOUR > now()) AS c FROM t GROUP BY g",
    "SELECT g, ARRAY_AGG(i ORDER BY k) AS l FROM t WHERE m > now() - INTERVAL '3 days' GROUP BY g",
    "SELECT a.k, b.k AS l FROM t a LEFT JOIN t b ON a.i = b.j AND b.m >= DATE_TRUNC('month', now()) WHERE NOT (a.d > current_date)",
    "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM t u WHERE u.i = t.j AND u.m > now()) AND EXTRACT(MONTH FROM d) = EXTRACT(MONTH FROM now())",
    "SELECT k FROM t WHERE current_date - d <= 7 UNION ALL SELECT k FROM t WHERE d - current_date > 9",
    "SELECT r, COUNT(*) AS c, MAX(q) AS a, MIN(q) AS b, SUM(q) AS s, AVG(q) AS v, COUNT(DISTINCT q) AS d, MAX(-q) AS e FROM n GROUP BY r",
    "SELECT q * 0 AS z, COUNT(*) AS c, SUM(r * 0) AS s FROM n GROUP BY q * 0 HAVING -MAX(r) < 0 OR MIN(r) <= 0",
    "SELECT k % 2 AS g, SUM(r + CASE WHEN q IS NULL THEN 0 ELSE 1.7e308 END) AS s, AVG(-1.7e308 * ABS(SIGN(q))) AS v FROM n GROUP BY k % 2",
    "SELECT a.k, b.k AS l FROM n a JOIN n b ON a.r = -b.q",
    "SELECT k % 3 AS g, ARRAY_AGG(r ORDER BY q DESC, k) AS a, ARRAY_AGG(DISTINCT q) AS b, ARRAY_AGG(-r) AS c FROM n GROUP BY k % 3",
    "SELECT g, l FROM (SELECT g, b, ARRAY_AGG(i ORDER BY k) AS l, MAX(x) AS m FROM t GROUP BY g, b) AS q WHERE m > 0",
    "SELECT k, n FROM t, generate_series(1, ABS(k) % 5) AS g(n)",
    "SELECT k, n, o FROM t, generate_series(d, d + INTERVAL '40' DAY, INTERVAL '12' DAY) WITH ORDINALITY AS g(n, o)",
    "SELECT k, w FROM t LEFT JOIN LATERAL unnest(string_to_array(s, 'b')) AS u(w) ON TRUE",
    "SELECT w, COUNT(*) AS c FROM t LATERAL VIEW POSEXPLODE(SPLIT(s, 'b')) u AS p, w GROUP BY w",
    "SELECT * FROM (SELECT g, b, x FROM t) AS q PIVOT (SUM(x) AS s, COUNT(*) AS c FOR b IN (TRUE AS yes, FALSE AS no)) AS p",
    "SELECT window.start AS a, window.end AS e, COUNT(*) AS c FROM t GROUP BY window(m, '6 hours')",
    "SELECT TUMBLE_START(m, INTERVAL '6' HOUR) AS m, COUNT(*) AS c FROM t GROUP BY TUMBLE(m, INTERVAL '6' HOUR)",
    "SELECT k FROM t WHERE i = ANY(ARRAY[1, j]) OR (g, j) IN (VALUES (1, 2), (2, 1))",
    "SELECT DISTINCT -r AS r FROM n UNION SELECT q FROM n",
    "SELECT r FROM n EXCEPT SELECT -q FROM n",
    "SELECT k, r FROM n ORDER BY r DESC, k LIMIT 7",
    "SELECT k % 4 AS g, VAR_POP(r) AS a, STDDEV(r) AS b, CORR(r, q) AS c, REGR_SLOPE(r, q) AS d, REGR_SXX(q, r) AS e, VARIANCE(DISTINCT q) AS f, COVAR_SAMP(r, k) AS h FROM n GROUP BY k % 4",
    "SELECT q, MEDIAN(r) AS m, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY -r) AS p, ARG_MAX(k, r) AS a FROM n GROUP BY q",
    "SELECT k, MEDIAN(r) OVER (PARTITION BY k % 3) AS a, STDDEV(r) OVER (PARTITION BY k % 4) AS b, MODE(q) OVER (PARTITION BY k % 3) AS c, CORR(r, q) OVER (PARTITION BY k % 4) AS d, PRODUCT(q) OVER (PARTITION BY k % 5) AS e, MAD(r) OVER (PARTITION BY k % 2) AS f FROM n",
    "SELECT k, COUNT(*) OVER (ORDER BY r RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS a, COUNT(*) OVER (ORDER BY q DESC NULLS LAST RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW) AS b FROM n",
    "SELECT g, COUNT(*) AS n, (SELECT COUNT(*) FROM t v WHERE v.i > MAX(t.j)) AS c FROM t GROUP BY g HAVING EXISTS (SELECT 1 FROM t u WHERE u.x < MIN(t.x))",
    "SELECT k % 3 AS g, PRODUCT(r) AS a, MAD(r) AS b, KURTOSIS_POP(q) AS c, MAD(DISTINCT q) AS d FROM n GROUP BY k % 3",
    "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY ROLLUP (g, b)",
    "SELECT g, b, GROUPING(g) AS q, SUM(i) AS s FROM t GROUP BY GROUPING SETS ((g), (b), ())",
    "SELECT g, b, i, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((g, (b, i)), GROUPING SETS (((g, b)), ()))",
    "SELECT g, b, MAX(x) AS s FROM t GROUP BY CUBE (g, b) HAVING COUNT(*) > 1",
    "SELECT a.k, b.i FROM t a LEFT JOIN t b ON a.i = b.k AND b.x > 0",
    "SELECT a.k AS k, b.k AS l FROM t a FULL JOIN t b ON a.i = b.j AND a.g = 1",
    "SELECT a.k AS k, b.k AS l FROM t a RIGHT JOIN t b ON a.i = b.j",
    "SELECT a.k, a.s FROM t a JOIN t b USING (k) WHERE a.i > b.j",
    "SELECT k FROM t WHERE i IN (SELECT j FROM t t2 WHERE t2.x > 0) OR NOT EXISTS (SELECT 1 FROM t t3 WHERE t3.j = t.k)",
    "SELECT k FROM t WHERE i NOT IN (SELECT j FROM t t2 WHERE j IS NOT NULL)",
    "SELECT k FROM t WHERE x > (SELECT AVG(x) FROM t t2 WHERE t2.g = t.g)",
    "SELECT k FROM t WHERE i >= ALL (SELECT j FROM t t2 WHERE t2.g = 1)",
    "SELECT DISTINCT g, b FROM t",
    "SELECT i AS v FROM t UNION SELECT j FROM t",
    "SELECT i AS v FROM t UNION ALL SELECT x FROM t",
    "SELECT i AS v FROM t EXCEPT SELECT j FROM t",
    "SELECT i AS v FROM t INTERSECT SELECT j FROM t",
    "WITH q AS (SELECT g, SUM(x) AS s FROM t GROUP BY g) SELECT a.g, a.s, b.s AS o FROM q a JOIN q b ON a.g = b.g",
    "SELECT q.v, COUNT(*) AS n FROM (VALUES (1, 'a'), (2, 'b')) AS q(v, w) JOIN t ON t.i = q.v GROUP BY q.v",
    "SELECT k, i FROM (SELECT k, i, x FROM t ORDER BY i DESC LIMIT 5) AS q",
    "SELECT g, k FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY i) = 1",
    "SELECT DISTINCT ON (g) g, k, i FROM t ORDER BY g, i DESC",
    "SELECT g, SUM(x) AS s, RANK() OVER (ORDER BY SUM(x)) AS r FROM t GROUP BY g",
    "SELECT EXTRACT(DOW FROM d) AS w, COUNT(*) AS n FROM t GROUP BY 1 ORDER BY 1 LIMIT 2",
    "SELECT g, (SELECT MAX(x) FROM t t2 WHERE t2.j = t.g) AS m, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g",
    "SELECT a.g, COUNT(*) + (SELECT COUNT(*) FROM t b WHERE b.g > a.g) AS n FROM t a JOIN t c USING (k) GROUP BY a.g HAVING MAX(a.x) > (SELECT MIN(x) FROM t b WHERE b.g = a.g)",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM t t2 WHERE t2.g = t.g AND t2.x > (SELECT MIN(x) FROM t t3 WHERE t3.i = t.j AND t3.k <> t2.k))",
    "SELECT k, (SELECT COUNT(*) FROM t t2 LEFT JOIN t t4 ON t4.k = t2.i WHERE t2.g = t.g AND t2.i IN (SELECT i FROM t t3 WHERE t3.g < t.i)) AS n FROM t",
    "SELECT t.k, l.n FROM t, LATERAL (SELECT COUNT(*) AS n FROM t t2 WHERE t2.g = t.g) AS l",
    "SELECT g, SUM(x ORDER BY k) AS s, COUNT(DISTINCT i ORDER BY i) AS c, MAX(x ORDER BY k DESC) AS m FROM t GROUP BY g",
    "SELECT t.k, q.v FROM t, LATERAL (VALUES (i), (j)) AS q(v)",
    "SELECT k, (SELECT MAX(v) FROM (VALUES (t.i), (t.j)) AS q(v)) AS m FROM t",
    "SELECT q.k, q.g FROM t, LATERAL (SELECT t.*) AS q",
    "SELECT k, COUNT(*) AS c FROM t LEFT JOIN (SELECT i AS k FROM t) AS u USING (k) GROUP BY t.k",
    "SELECT * FROM (SELECT k, i FROM t) AS a RIGHT JOIN (SELECT k, j FROM t) AS c USING (k) JOIN (SELECT k, g FROM t) AS d ON d.k = c.k",
    "SELECT g, b, GROUPING_ID() AS q, SUM(i) AS s FROM t GROUP BY g, 2 GROUPING SETS ((2), (g))",
    "SELECT g, b, SUM(i) AS s FROM t GROUP BY g, b GROUPING SETS (g)",
    "SELECT t.k, u.k AS l FROM t LEFT JOIN t u ON NULL UNION ALL SELECT k, k FROM t WHERE NULL",
)


def _listed(text: str) -> list[str]:
    return [part.strip() for line in text.splitlines() for part in line.split(" | ")]


#: What stands for the arguments of the dictionary's forms here.
COLUMNS = {
    "s": "s", "part": "u", "x": "x", "z": "y", "f": "r", "g": "r", "n": "k", "i": "3", "digits": "1", "m": "m", "t": "m", "u": "CAST(e AS TIMESTAMP)", "d": "d", "e": "e", "later": "m",
    "earlier": "e", "bits": "256", "low": "0", "high": "100", "b": "b", "c": "(i > 0)", "v": "i", "w": "j", "y": "2024", "mon": "1", "dd": "k % 28 + 1", "hh": "3", "mi": "4", "base": "2", "len": "3", "old": "u", "new": "'x'", "delimiter": "' '", "glue": "'-'", "fill": "'*'", "characters": "'ab'", "start": "2",
}  # fmt: skip
#: A day and a time of day in the words of a dialect: to be written, and to be read.
FORMATS = {
    None: ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"), "spark": ("EEE d MMMM yyyy hh:mm:ss.SSS a D", "yyyy-MM-dd"), "postgres": ("Day, FMMonth DD YYYY HH12:MI:SS.MS am DDD Q IYYY-IW MON", "YYYY-MM-DD"),
    "duckdb": ("%a %-d %B %Y %I:%M:%S.%g %p %j %G-%V %u", "%Y-%m-%d"), "mysql": ("%W %e %b %Y %h:%i:%s.%f %p %j", "%Y-%m-%d"), "tsql": ("dddd d MMM yyyy hh:mm:ss.fff tt", "yyyy-MM-dd"),
    "snowflake": ("DY DD MMMM YYYY HH12:MI:SS.FF3 AM", "YYYY-MM-DD"), "bigquery": ("%a %e %B %Y %I:%M:%E3S %p %j", "%Y-%m-%d"), "trino": ("%W %e %b %Y %h:%i:%s %p %j", "%Y-%m-%d"),
}  # fmt: skip
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "microsecond")


def _write_out(form: Form, dialect: str | None) -> Iterator[str]:
    """A form over columns of :data:`TABLE`, with every unit that it may have."""
    write, read = FORMATS[None if dialect == GENERIC else dialect]
    texts = {**COLUMNS, "format": f"'{write}'", "joda": "'yyyy-MM-dd HH:mm:ss'"}
    if "format" in form.text and re.search(r"\bs\b", form.text):
        texts |= {"s": "CAST(d AS VARCHAR)" if dialect != "mysql" else "CAST(d AS CHAR(10))", "format": f"'{read}'"}
    if "joda" in form.text and re.search(r"\bs\b", form.text):
        texts |= {"s": "CAST(d AS VARCHAR)", "joda": "'yyyy-MM-dd'"}
    if "CAST(s AS" in form.meaning:
        texts |= {"s": "CAST(d AS VARCHAR)"}
    if "make_timestamp(" in form.meaning:
        texts |= {"x": "5.25", "n": "7"}
    if form.text.startswith("WIDTH_BUCKET"):
        texts |= {"n": "7"}
    if "_DAY(" in form.text:
        texts |= {"s": "'Friday'"}
    for unit in UNITS if re.search(r"\bunit\b", form.text) else ("",):
        texts["unit"] = unit
        yield re.sub(r"\b[a-z]+\b", lambda word: texts.get(word[0], word[0]), form.text)


#: Functions that have no value for some of these columns: they have lines of their own above.
APART = {
    "chr",
    "acos",
    "asin",
    "asind",
    "acosd",
    "acosh",
    "atanh",
    "ln",
    "sqrt",
    "power",
    "log1p",
    "mod",
    "pmod",
    "exp",
    "cosh",
    "sinh",
    "expm1",
}


def _of_dictionary() -> list[str]:
    """Every form of the dictionary of functions, over columns of :data:`TABLE`."""
    entries = (e for e in ENTRIES.values() if e.name not in APART)
    forms = ((f, dialect) for e in entries for f in e.said if f.meaning != BY_HAND for dialect in f.dialects or (None,))
    texts = {text for form, dialect in forms for text in _write_out(form, dialect)}
    return sorted(texts - {"TO_TIMESTAMP(x)"})  # in Snowflake it takes a text


def _of_aggregates() -> list[str]:
    """Every further spelling of an aggregate."""
    spelled = ((Form.of(text).text) for row in AGGREGATES_ for text in row.spellings)
    columns = {**COLUMNS, "f": "0.5", "x": "x", "n": "100"}
    texts = {re.sub(r"\b[a-z]+\b", lambda word: columns.get(word[0], word[0]), text) for text in spelled}
    further = ("SUM(i > 1)", "AVG(b)", "ARG_MAX(DISTINCT x, i)", "MAX(DISTINCT x)", "FIRST(DISTINCT x)")
    return [*sorted(texts - {"SUM_NO_OVERFLOW(100)"}), *further]


#: Kind of view -> what makes one of a few of its expressions, and all of them.
CONSTRUCTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "scalars": ("SELECT k, {} FROM t", [*_listed(SCALARS), *_of_dictionary()]),
    "aggregates": ("SELECT g, {} FROM t GROUP BY g", [*_listed(AGGREGATES), *_of_aggregates()]),
    "totals": ("SELECT {} FROM t WHERE k < 0", _listed(AGGREGATES)),
    "windows": ("SELECT k, {} FROM t", _listed(WINDOWS)),
    "doubles": ("SELECT k, {} FROM n", _listed(DOUBLES)),
}


def rows(seed: int, count: int = 30) -> list[tuple[Any, ...]]:
    """Random rows of :data:`TABLE`: few values, so that groups and joins have several; some NULLs; some large numbers."""
    random = Random(seed)

    def number(digits: int, scale: int) -> Decimal:
        units = random.choice((random.randrange(-400, 400), random.randrange(-(10**digits) + 1, 10**digits)))
        return Decimal(units).scaleb(-scale)

    def moment() -> datetime.datetime:
        start = datetime.datetime(2023, 12, 25, 22, 58, 30)
        return start + datetime.timedelta(hours=random.randrange(2000), microseconds=random.choice((0, 0, 250000)))

    def row(k: int) -> tuple[Any, ...]:
        text = [random.choice(("a", "b", "ab", "aab", "b a", "Ab cd", " a ", "", "äß", "a.b%")) for _ in range(2)]
        values = [
            random.randrange(3), random.randrange(-4, 12), random.randrange(-3, 6), number(6, 2), number(14, 5), number(22, 10),
            random.choice((0.5, -2.25, 3.14159, 100.0, 1e-3)), *text, moment().date(), moment().date(), moment(), random.random() < 0.5,
        ]  # fmt: skip
        return (k, *(None if random.random() < 0.12 else v for v in values))

    return [row(k) for k in range(count)]


def double_rows(seed: int, count: int = 40) -> list[tuple[Any, ...]]:
    """Random rows of :data:`DOUBLES_TABLE`."""
    random = Random(seed)
    return [(k, *(random.choice((None, *SPECIAL)) for _ in range(2))) for k in range(count)]


def operations(program: object) -> Iterator[str]:
    """The names of the operations in a compiled program, wherever they are."""
    if isinstance(program, dict):
        program = list(program.items())
    if isinstance(program, tuple | list):
        for part in program:
            yield from operations(part)
    elif is_dataclass(program):
        if hasattr(program, "op") and isinstance(program.op, str):
            yield program.op
        for field in fields(program):
            yield from operations(getattr(program, field.name))
