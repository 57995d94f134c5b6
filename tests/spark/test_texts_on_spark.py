"""The proof computes texts as the product does, whatever they hold, and as little as it in the hands of a pattern."""

from __future__ import annotations

import itertools
import time

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.validation.meaning import write_out
from cumulus_ops.validation.recompute import own_session, spark_schema, view_table
from cumulus_ops.validation.request import ViewToValidate
from m3 import Interpreter, compile_views
from m3.datatypes import INT, STRING
from m3.program import Column, Relation
from tests.support.judged import judged
from tests.support.odd_texts import ODD_TEXTS
from tests.support.sampling import sampled

pytestmark = pytest.mark.spark

RELATION = Relation("t", (Column("s", STRING), Column("p", STRING.with_null()), Column("i", INT), Column("j", INT)))
HOSTILE = ["a" * 45, "a" * 3_000 + "!", "%a_%" * 500 + "b", "a\nb", "", "日本é", "x%y_z\\", "ABBA"]
ROWS = [("hello", "h%o", i, j) for i, j in itertools.product(range(-6, 7), range(-6, 7))]
ROWS += [(s, p, 2, 3) for s in HOSTILE for p in [*HOSTILE, "a%_%a%b", None] if not (p or "").endswith("\\")]
ROWS += [(s, None, 2, 3) for s in ODD_TEXTS]
#: Texts that are there in some rows only; those of them that are have a value.
SOMETIMES = {
    "INT": "'1'", "DECIMAL(9, 2)": "'1.50'", "DOUBLE": "'1.5'", "DATE": "'2024-01-31'", "TIMESTAMP": "'2024-01-31 10:00:00'", "BOOLEAN": "'true'",
}  # fmt: skip
KINDS = ("INT", "DECIMAL(9, 2)", "DOUBLE", "DATE", "TIMESTAMP", "BOOLEAN")
PARTS = "SUBSTRING(s, i, {j}) AS a, SUBSTRING(s, i) AS b, LEFT(s, i) AS c, RIGHT(s, i) AS d, SUBSTRING(s, 2, {j}) AS e, LEFT(s, -2) AS f"
LONG = "%a_" * 60
VIEWS = {
    ("spark", "parts"): f"SELECT s, i, j, {PARTS.format(j='j')} FROM t",
    ("duckdb", "parts"): f"SELECT s, i, j, {PARTS.format(j='j')} FROM t",
    ("postgres", "parts"): f"SELECT s, i, j, {PARTS.format(j='ABS(j)')} FROM t",
    (
        "spark",
        "regexes",
    ): "SELECT s, s RLIKE '(a+)+b' AS a, s RLIKE '^(a|b)*$' AS b, s RLIKE '[^a]$' AS c, s RLIKE '^.{2}' AS d FROM t",
    ("postgres", "cases"): "SELECT s, s ~* '^[A-B]+$' AS a, s ~ '^A' AS b, s ILIKE 'aB%' AS c FROM t",
    ("spark", "likes"): "SELECT s, p, s LIKE p AS a, s LIKE '%a%a_%b%' AS b, s LIKE '_%\\n%' AS c FROM t",
    ("duckdb", "likes"): f"SELECT s, p, s LIKE p AS a, s LIKE '{LONG}' AS b, s NOT LIKE 'x!%%' ESCAPE '!' AS c FROM t",
    (
        "spark",
        "longer",
    ): "SELECT s, REPLACE(s, 'a', 'bb') AS a, REPEAT(s, i) AS b, RPAD(s, i + 9, 'xy') AS c, REPLACE(s, 'a', '') AS d FROM t",
    (
        "duckdb",
        "casts",
    ): f"SELECT s, {', '.join(f'TRY_CAST(s AS {kind}) AS c{i}' for i, kind in enumerate(KINDS))} FROM t",
    (
        "postgres",
        "casts of NULL",
    ): f"SELECT s, i, j, {', '.join(f'CAST(CASE WHEN i > 0 THEN {text} END AS {kind}) AS c{n}' for n, (kind, text) in enumerate(SOMETIMES.items()))} FROM t",
}
#: Which match is taken, by Java where it cannot take long, and by RE2.
MATCHES = {
    "duckdb": (
        "REGEXP_REPLACE(s, '[^a-z]+', '$', 'g')", "REGEXP_REPLACE(s, '(a+)+b?', '<\\1>', 'g')", "REGEXP_REPLACE(s, '.$', '\\0\\0')", "REGEXP_EXTRACT(s, '(.)%(.*)', 2)",
        "REGEXP_EXTRACT(s, '(a|b)|h', 1)", "REGEXP_EXTRACT(s, '(?i)B+')", "REGEXP_FULL_MATCH(s, 'a+|h.*')",
    ),
    "spark": (
        "REGEXP_REPLACE(s, '(a)|b|é', '$1')", "REGEXP_REPLACE(s, '\\\\\\\\', '\\\\$')", "REGEXP_SUBSTR(s, '[^a]+$')", "REGEXP_COUNT(s, 'a|.$')", "REGEXP_INSTR(s, '[^a]')", "REGEXP_EXTRACT(s, '^(a*)(.?)', 2)",
        "REGEXP_COUNT(s, '(a|b){2}')", "REGEXP_SUBSTR(s, '(a|ab)+')",
    ),
    "postgres": ("SUBSTRING(s FROM '.(.)$')", "REGEXP_REPLACE(s, 'A', '', 'gi')", "SUBSTRING(s FROM '%(.+)')", "REGEXP_INSTR(s, '本')", "REGEXP_COUNT(s, '[^a]')"),
}  # fmt: skip
BEYOND = [
    "REPLACE(s, 'h', RPAD('', 2000000 - 951425 + i, 'x'))",
    "REPEAT(s, 1000000 + i)",
    "LPAD(s, 3000000 + i, 'x')",
    "s LIKE REPEAT(s, 2000)",
]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    session = own_session(spark)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    frame = session.createDataFrame(ROWS, spark_schema(RELATION)).coalesce(1).persist()
    frame.createOrReplaceTempView(RELATION.name)
    return session


def asked(sql: str, dialect: str) -> ViewToValidate:
    """A view with the interpreter's rows."""
    program = compile_views("p", [RELATION], {"v": sql}, dialect=dialect)
    interpreter = Interpreter(program)
    for row in ROWS:
        interpreter.apply(1, "t", row)
    (view,) = program.views
    held = view_table(view, interpreter.view_rows("v", ordered=False))
    columns = tuple((c.name, c.expression.type) for c in view.visible)
    return ViewToValidate("v", sql, (), held, columns=columns, dialect=dialect)


def test_texts_are_proved_whatever_they_hold(session: SparkSession) -> None:
    begun = time.process_time()
    matches = {
        (dialect, "matches"): f"SELECT s, {', '.join(f'{e} AS c{i}' for i, e in enumerate(expressions))} FROM t"
        for dialect, expressions in MATCHES.items()
    }
    views = [asked(sql, dialect) for (dialect, _), sql in (VIEWS | matches).items()]
    assert time.process_time() - begun < 60
    verdicts = judged(session, views, [RELATION])
    wrong = [
        (name, v.outcome, v.observed, v.differences[:5])
        for name, v in zip(VIEWS | matches, verdicts, strict=True)
        if v.outcome != "equal"
    ]
    assert not wrong


def test_what_is_too_long_is_in_error_there_too(session: SparkSession) -> None:
    views = [ViewToValidate("v", f"SELECT {e} AS c FROM t", (), None, error="it fails") for e in sampled(BEYOND, 4, 1)]
    verdicts = judged(session, views, [RELATION])
    assert [v.outcome for v in verdicts] == ["in error"] * len(views), verdicts


def test_parts_of_texts_are_spark_s_own(session: SparkSession) -> None:
    sql = VIEWS["spark", "parts"]
    theirs = session.sql(
        sql.replace("i,", "INT(i),", 3).replace("(s, i", "(s, INT(i)").replace(", j)", ", INT(j))")
    ).toArrow()
    held = asked(sql, "spark").snapshot
    names = [*"abcdef"]
    assert held is not None
    assert sorted(map(repr, held.select(names).to_pylist())) == sorted(map(repr, theirs.select(names).to_pylist()))


def test_spark_s_regular_expressions_are_not_asked(session: SparkSession) -> None:
    """They are Java's, which backtrack: what is left of them is LIKE, whose groups are atomic."""
    for (dialect, _), sql in VIEWS.items():
        columns = tuple(
            (c.name, c.expression.type)
            for c in compile_views("p", [RELATION], {"v": sql}, dialect=dialect).views[0].visible
        )
        written = write_out(sql, [RELATION], dialect, columns).sql.upper()
        assert " RLIKE " not in written
        assert " LIKE " not in written
        assert written.count("REGEXP_LIKE(") == written.count("'(?S)\\\\A")
