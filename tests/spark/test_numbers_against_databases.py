"""What PostgreSQL, Spark and DuckDB make of every operator on every type of numbers, in their own dialects, and what Cumulus makes of it.

Each line is compiled in the dialect, follows the rows in the interpreter, and is compared with the real database's answer. Where that
differs, the table under "Numbers in other databases" in ``docs/sql.md`` says how: the test reads it there, and refuses a difference
that it does not list, and one that it lists and that is none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg2
import pytest
from pyspark.sql import SparkSession

from cumulus_ops.validation.recompute import own_session, spark_schema
from m3 import compile_views
from m3.datatypes import DOUBLE, INT, Type, decimal
from m3.interpreter import Interpreter
from m3.program import Column, Relation
from tests.support.sampling import deep
from tests.support.services import postgresql

N = Relation(
    "n",
    (
        Column("k", INT), Column("g", INT), Column("i", INT.with_null()), Column("j", INT.with_null()), Column("b", INT),
        Column("x", decimal(9, 2).with_null()), Column("y", decimal(15, 4).with_null()), Column("z", decimal(38, 10)),
        Column("r", DOUBLE.with_null()), Column("s", DOUBLE),
    ),
    ("k",),
)  # fmt: skip
Row = tuple[Any, ...]
DOCUMENT, HEADING = Path(__file__).parents[2] / "docs" / "sql.md", "### Numbers in other databases"

#: What they are called in the documentation -> expressions of one row. Divisors are never 0, and all fit.
SCALARS = {
    "`+` `-` `*`": "i + j | i - j | i * j | -i | x + i | x + y | x - y | x * y | x * i | z + x | z - i | -x | r + i | r * x | r - x | -r | i + 1.5 | 2 * x",
    "INT `/` INT": "i / j | i / 7 | b / 7 | (i + j) / 3 | ROUND(i / 17, 5)",
    "`/` of a DECIMAL": "x / NULLIF(y, 0) | x / NULLIF(i, 0) | i / NULLIF(x, 0) | x / 3 | y / 7 | z / 7 | z / NULLIF(x, 0) | i / 3.0 | 100 * x / 3 | x / 0.7 | x / 3 * 3",
    "`/` of a DOUBLE": "r / j | r / s | x / s",
    "rounded quotients": "ROUND(i / 17.0, 5) | ROUND(x / NULLIF(y, 0), 2) | ROUND(i / 17.0, 2) | ROUND(100 * x / NULLIF(y, 0), 2) | ROUND(x / 3, 4)",
    "compared quotients": "i / 3.0 > 0.333333 | x / 3 * 3 = x | i / 3.0 = 1 / 3.0 | x / 7 > y / 3 | i / 17.0 < 0.0588235294 | x / 7 = 2 * x / 14",
    "`%`": "i % j | b % j | x % NULLIF(i, 0) | x % NULLIF(y, 0) | y % 1 | -7 % j",
    "comparisons": "i = j | i < x | x = y | x <= r | i <> r | z > x | i = 1.0 | r = 0.1 | x IN (1.5, 2) | i BETWEEN x AND y | i IS DISTINCT FROM j",
    "ROUND of an exact number": "ROUND(x, 1) | ROUND(y) | ROUND(x, 0) | ROUND(x) | ROUND(y, 3) | ROUND(i, 0) | ROUND(x, -1) | ROUND(i, -1) | ROUND(-y, 2)",
    "CEIL, FLOOR": "CEIL(x) | FLOOR(y) | CEIL(-x) | FLOOR(-x) | CEIL(i) | FLOOR(z)",
    "CEIL, FLOOR of a DOUBLE": "CEIL(r) | FLOOR(r) | CEIL(-r)",
    "ABS, SIGN": "ABS(i) | ABS(x) | ABS(r) | SIGN(i) | SIGN(x) | SIGN(r)",
    "alternatives": "COALESCE(i, x) | COALESCE(x, y) | COALESCE(x, r) | GREATEST(i, x) | LEAST(x, y) | GREATEST(i, j) | CASE WHEN i > 0 THEN i ELSE x END | CASE WHEN i > 0 THEN x ELSE r END | NULLIF(x, 1.5)",
    "DECIMAL to INT": "CAST(x AS BIGINT) | CAST(-x AS BIGINT) | CAST(y AS BIGINT) | CAST(2.5 AS BIGINT)",
    "DOUBLE to INT": "CAST(r AS BIGINT) | CAST(-r AS BIGINT)",
    "casts to numbers": "CAST(y AS DECIMAL(13, 2)) | CAST(i AS DECIMAL(12, 3)) | CAST(i AS DOUBLE PRECISION) | CAST(x AS DOUBLE PRECISION) | CAST('12' AS BIGINT) + i | CAST('3.25' AS DECIMAL(5, 2)) * x | CAST('1.005' AS DECIMAL(5, 2))",
    "DOUBLE to DECIMAL": "CAST(r AS DECIMAL(18, 2)) | CAST(s AS DECIMAL(18, 2)) | CAST(s AS DECIMAL(24, 10))",
    "numbers to text": "CAST(i AS VARCHAR(30)) | CAST(x AS VARCHAR(30)) | CAST(y AS VARCHAR(30))",
    "functions of DOUBLE": "SQRT(ABS(x)) | EXP(s / 1e10) | LN(ABS(r) + 1) | POWER(r, 2) | SIN(r) | ATAN2(r, s)",
}  # fmt: skip
#: The same of aggregates, by group.
AGGREGATES = {
    "COUNT, MIN, MAX": "COUNT(*) | COUNT(i) | COUNT(DISTINCT x) | MIN(i) | MAX(x) | MIN(r) | MAX(z) | MAX(x) - MIN(x)",
    "SUM": "SUM(i) | SUM(x) | SUM(y) | SUM(z) | SUM(x * y) | SUM(i * x) | SUM(DISTINCT i) | SUM(x) FILTER (WHERE i > 0) | SUM(x + i)",
    "SUM of a DOUBLE": "SUM(r) | SUM(s) | SUM(r * x)",
    "SUM of quotients": "SUM(x / 3) | SUM(i / 7.0)",
    "AVG of INT": "AVG(i) | AVG(b) | AVG(i) * 3 | AVG(DISTINCT i) | AVG(i) FILTER (WHERE i > 0) | AVG(i) - AVG(j)",
    "AVG of DECIMAL": "AVG(x) | AVG(y) | AVG(z) | AVG(x * y) | AVG(x) + 1 | AVG(DISTINCT x) | AVG(x / 3)",
    "AVG of DOUBLE": "AVG(r) | AVG(s)",
    "AVG / AVG": "AVG(x) / AVG(b) | AVG(i) / AVG(b) | AVG(x) / AVG(y) | AVG(i) * AVG(b)",
    "rounded AVG": "ROUND(AVG(i), 2) | ROUND(AVG(x), 2) | ROUND(AVG(x), 4) | ROUND(AVG(y), 3) | ROUND(100 * AVG(x), 1) | ROUND(AVG(z), 2) | ROUND(AVG(x) / 3, 3)",
    "AVG to DECIMAL": "CAST(AVG(i) AS DECIMAL(12, 2)) | CAST(AVG(x) AS DECIMAL(12, 2))",
    "compared AVG": "AVG(i) > 0.50495 | AVG(x) > 0.50495 | AVG(i) = AVG(j) | AVG(x) < AVG(i) | AVG(i) = SUM(i) / (1.0 * COUNT(i)) | AVG(x) = SUM(x) / COUNT(x)",
    "AVG * 3 = 1": "AVG(i) * 3 = 1",
    "SUM / COUNT": "SUM(x) / COUNT(*) | SUM(x) / SUM(y) | SUM(x) / SUM(i) | 100 * SUM(x) / SUM(y) | ROUND(SUM(x) / COUNT(*), 2)",
    "INT SUM / COUNT": "SUM(i) / COUNT(*) | SUM(b) / COUNT(i)",
    "VARIANCE and its like": "VAR_SAMP(i) | VAR_POP(x) | STDDEV_SAMP(x) | STDDEV_POP(i) | CORR(i, x) | COVAR_SAMP(x, y) | REGR_SLOPE(x, i) | REGR_AVGX(x, i)",
    "PERCENTILE_CONT": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) | PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY i)",
}  # fmt: skip
#: Whole queries: which rows they pick, and in what order. The first column is a key.
QUERIES = {
    "HAVING, RANK, GROUP BY and joins by averages": (
        "SELECT g FROM n GROUP BY g HAVING AVG(i) > 0.50495",
        "SELECT g, RANK() OVER (ORDER BY AVG(i)) AS p FROM n GROUP BY g",
        "SELECT g, RANK() OVER (ORDER BY AVG(x) DESC) AS p FROM n GROUP BY g",
        "SELECT MIN(g), COUNT(*) FROM (SELECT g, AVG(i) AS a FROM n GROUP BY g) AS q GROUP BY a",
        "SELECT a.g, b.g FROM (SELECT g, AVG(i) AS v FROM n GROUP BY g) AS a JOIN (SELECT g, AVG(i) AS v FROM n GROUP BY g) AS b ON a.v = b.v",
        "SELECT a.g, b.g FROM (SELECT g, AVG(x) AS v FROM n GROUP BY g) AS a JOIN (SELECT g, AVG(x) AS v FROM n GROUP BY g) AS b ON a.v < b.v",
        "SELECT k FROM n WHERE x > (SELECT AVG(x) FROM n AS m WHERE m.g = n.g)",
        "SELECT MIN(k), COUNT(*) FROM n GROUP BY x / 3.0",
        "SELECT MIN(k), COUNT(*) FROM n GROUP BY i / 17.0",
        "SELECT k, RANK() OVER (ORDER BY x / j) AS p FROM n",
        "SELECT k, AVG(i) OVER (PARTITION BY g) > 0.50495 AS p FROM n",
    ),
}  # fmt: skip


def rows() -> list[Row]:
    """Small numbers around ties, NULLs, large ones; and groups whose averages are hardly apart from a tie, or from each other."""
    d = Decimal
    found: list[Row] = [
        (1, 1, 1, 3, 9_007_199_254_740_993, d("1.50"), d("0.3333"), d("12345678901234567890.1234567891"), 0.5, 0.1),
        (2, 1, 0, 7, -9_007_199_254_740_993, d("-2.50"), d("2.6750"), d("-0.0000000005"), 1.5, 1.005),
        (3, 1, 0, -2, 5, d("0.25"), d("-0.0050"), d("1.0000000000"), 2.5, 2.675),
        (4, 2, -3, 17, 25, d("1234567.85"), d("99999.9999"), d("7.0000000000"), -2.5, 1e-7),
        (5, 2, 15, 4, 35, d("-0.05"), d("1.2345"), d("0.3333333333"), -0.1, 123456.785),
        (6, 2, 25, -1, 45, d("3.33"), d("-1.2355"), d("3.0000000000"), 1e15, 0.125),
        (7, 3, None, 5, 1, d("0.10"), d("3.0000"), d("2.0000000000"), 0.1, 0.2),
        (8, 3, 16, None, 2, None, d("0.5000"), d("4.0000000000"), None, 0.3),
        (9, 3, 13, 11, 3, d("9999999.99"), None, d("5.0000000000"), 3.14159, 1e10),
    ]
    for g, ones, count in ((4, 51, 101), (5, 50, 99), (6, 1, 3)):  # 51 / 101 is 0.50495, and rounds to 0.50
        for n in range(count):
            k, one = len(found) + 1, int(n < ones)
            found.append((k, g, one, 1, n, d(one), d(one) / 8, d(one), float(one), 0.5))
    return found


@dataclass(frozen=True)
class Database:
    """What a database has for a query, and its dialect."""

    ask: Callable[[str], list[Row]]
    dialect: str


def literal(value: Any, type_: Type) -> str:
    return "NULL" if value is None else f"CAST('{value!r}' AS DOUBLE PRECISION)" if type_ == DOUBLE else str(value)


def table_sql(double: str) -> Iterator[str]:
    names = {"int": "BIGINT", "double": double}
    yield f"CREATE TABLE n ({', '.join(f'{c.name} {names.get(c.type.kind, c.type)}' for c in N.columns)})"
    values = (", ".join(literal(v, c.type.with_null(False)) for v, c in zip(r, N.columns, strict=True)) for r in rows())
    yield f"INSERT INTO n VALUES {', '.join(f'({v})' for v in values)}"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Database]:
    with postgresql() as server:
        connection = psycopg2.connect(server.create_database("numbers").replace("postgresql+psycopg2", "postgresql"))
        connection.autocommit = True
        cursor = connection.cursor()
        for statement in table_sql("DOUBLE PRECISION"):
            cursor.execute(statement)

        def ask(sql: str) -> list[Row]:
            cursor.execute(sql)
            return cursor.fetchall()

        yield Database(ask, "postgres")
        connection.close()


@pytest.fixture(scope="module")
def in_duckdb() -> Database:
    connection = duckdb.connect()
    for statement in table_sql("DOUBLE"):
        connection.execute(statement)
    return Database(lambda sql: connection.execute(sql).fetchall(), "duckdb")


@pytest.fixture(scope="module")
def in_spark(spark: SparkSession) -> Database:
    session = own_session(spark)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.createDataFrame(rows(), spark_schema(N)).coalesce(1).createOrReplaceTempView("n")
    return Database(lambda sql: [tuple(r) for r in session.sql(sql).collect()], "spark")


@pytest.mark.postgres
def test_postgres(postgres: Database) -> None:
    judge(postgres)


@deep
@pytest.mark.spark
def test_spark(in_spark: Database) -> None:
    judge(in_spark)


def test_duckdb(in_duckdb: Database) -> None:
    judge(in_duckdb)


def judge(database: Database) -> None:
    """All differences are in the documentation, and all that it lists are differences."""
    examples: dict[tuple[str, str], str] = {}
    for table, form in ((SCALARS, "SELECT k, {} FROM n WHERE g <= 3"), (AGGREGATES, "SELECT g, {} FROM n GROUP BY g")):
        for (label, text), ours, theirs in compared(database, table, form):
            difference = verdict(ours, theirs)
            if difference:
                examples.setdefault((label, difference), f"{text}: {ours!r} here, {theirs!r} there")
    for label, queries in QUERIES.items():
        for sql in queries:
            ours, theirs = (Counter(tuple(map(plain, row)) for row in f(sql)) for f in (ask(database), database.ask))
            if ours != theirs:
                examples[label, "rows"] = f"{sql}: {ours - theirs} here, {theirs - ours} there"
    listed = documented(database.dialect)
    unlisted = [f"{label}, {kind}: {examples[label, kind]}" for label, kind in examples if (label, kind) not in listed]
    assert not unlisted, "differences that docs/sql.md does not list:\n" + "\n".join(unlisted)
    assert listed <= set(examples), f"docs/sql.md lists differences that are none: {listed - set(examples)}"


def compared(database: Database, table: Mapping[str, str], form: str) -> Iterator[tuple[tuple[str, str], Any, Any]]:
    """Each expression with both values of each row: one query has them all."""
    double = {} if database.dialect == "postgres" else {"DOUBLE PRECISION": "DOUBLE"}
    asked = [(label, replaced(text, double)) for label, texts in table.items() for text in texts.split(" | ")]
    sql = form.format(", ".join(f"{text} AS c{i}" for i, (_, text) in enumerate(asked)))
    ours, theirs = ({row[0]: row[1:] for row in f(sql)} for f in (ask(database), database.ask))
    assert ours.keys() == theirs.keys()
    for key in ours:
        yield from zip(asked, ours[key], theirs[key], strict=True)


def replaced(text: str, by: Mapping[str, str]) -> str:
    for old, new in by.items():
        text = text.replace(old, new)
    return text


def ask(database: Database) -> Callable[[str], list[Row]]:
    """The interpreter, asked in a database's dialect."""

    def rows_of(sql: str) -> list[Row]:
        interpreter = Interpreter(compile_views("numbers", [N], {"v": sql}, dialect=database.dialect))
        for row in rows():
            interpreter.apply(1, "n", row)
        return interpreter.view_rows("v", ordered=False)

    return rows_of


def documented(dialect: str) -> set[tuple[str, str]]:
    """(what, how it differs) of the table in the documentation."""
    text = DOCUMENT.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n#")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")
    ]
    column = lines[0].index(dialect)
    return {(line[0], kind) for line in lines[1:] for kind in line[column].split(", ") if kind}


def plain(value: Any) -> Any:
    return ("bool", value) if isinstance(value, bool) else Decimal(value) if value is not None else None


def verdict(ours: Any, theirs: Any) -> str:
    """How two values differ: not at all (empty), in digits, because one is a DOUBLE and the other exact, or altogether."""
    if ours is None or theirs is None or isinstance(ours, bool) or isinstance(theirs, bool | str):
        return "" if ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool) else "value"
    if isinstance(ours, float) and isinstance(theirs, float):
        return "" if math.isclose(ours, theirs, rel_tol=1e-13) or ours != ours != theirs else "value"
    if isinstance(ours, float) or isinstance(theirs, float):
        unit = Decimal(1).scaleb(-scale(ours if isinstance(theirs, float) else theirs))
        near = abs(Decimal(ours) - Decimal(theirs)) <= unit + abs(Decimal(ours)) * Decimal("1e-14")
        return ("DOUBLE" if isinstance(theirs, float) else "exact") if near else "value"
    if ours == theirs:
        return ""
    rounded = Decimal(1).scaleb(-min(scale(ours), scale(theirs))) if scale(ours) != scale(theirs) else Decimal(0)
    near = isinstance(ours, Decimal) and abs(ours - theirs) <= max(rounded, abs(ours) * Decimal("1e-15"))
    return "digits" if near else "value"


def scale(value: int | Decimal) -> int:
    return -int(value.as_tuple().exponent) if isinstance(value, Decimal) else 0
