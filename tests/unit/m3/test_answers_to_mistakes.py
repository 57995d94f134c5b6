"""Whatever somebody writes, the answer is a program, or errors that somebody who knows SQL understands.

They have a place in the text and a hint, and speak of what is written there: not of the parser's classes, not of names that the
compiler made up.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from random import Random

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from m3 import M3Error, check_views
from tests.unit.m3.company import RELATIONS
from tests.unit.m3.sql_suite import SUITE
from tests.unit.m3.test_sql_mutations import mutated
from tests.unit.m3.test_sql_views import SMALL

#: How many calls, and how many mutated queries, are tried: ANSWERS=57000 tries each call.
ANSWERS = int(os.environ.get("ANSWERS", "200"))
SEED = int(os.environ.get("SEED", "1"))
DIALECTS = (None, "postgres", "spark", "duckdb", "mysql", "tsql", "snowflake", "bigquery", "trino")
ARGUMENTS = ("", "x", "s", "k, x", "s, s", "s, k, 1", "d, d", "*", "k, k, x, s", "distinct s", "s, 'a'")
#: Names of the parser's classes as they are shown if nobody translates them: TOCHAR, StrPosition, SAFECONCAT.
CLASSES = {c.__name__ for c in vars(exp).values() if isinstance(c, type) and issubclass(c, exp.Expr)}
SHOUTED = {name.upper(): name for name in CLASSES}
#: Of these the upper case is SQL, or M3's own word: a function, a type, a clause.
WORDS = {
    "ABS", "ALL", "AND", "ANY", "ANTI", "AVG", "BETWEEN", "CASE", "CAST", "CEIL", "CHR", "COALESCE", "CONCAT", "CORR", "COUNT", "CROSS", "CUBE",
    "DATE", "DECIMAL", "DISTINCT", "DOUBLE", "EXCEPT", "EXISTS", "EXTRACT", "FETCH", "FILTER", "FIRST", "FLOOR", "FROM", "GREATEST", "GROUP", "GROUPING", "HAVING",
    "IN", "INT", "INTERSECT", "INTERVAL", "IS", "JOIN", "JSON", "LAST", "LATERAL", "LEAST", "LEFT", "LIKE", "LIMIT", "LIST", "LN", "LOG", "LOWER", "MAX",
    "MEDIAN", "MIN", "MOD", "MODE", "NOT", "NULL", "OFFSET", "OR", "ORDER", "PIVOT", "QUALIFY", "QUARTER", "REPLACE", "RIGHT", "ROLLUP", "ROUND", "SELECT",
    "SEMI", "SIGN", "STAR", "STDDEV", "STRING", "SUBSTRING", "SUM", "TABLE", "TIMESTAMP", "TRIM", "TRUNC", "UNION", "UPPER", "USING", "VALUES", "WHEN", "WHERE",
    "WINDOW", "WITH", "XOR", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR", "ARRAY", "SUBQUERY", "HINT", "ON", "DATETIME", "TIME", "LOCK", "SAMPLE",
}  # fmt: skip
FORBIDDEN = re.compile(r"\x1b|<class|<Token|sqlglot|\bexp\.|__|object at|NoneType|Traceback|#\d|TokenType")
#: Names that the compiler makes; in a hint it is an output column without a name, `max_2`, as it can be written.
MADE = re.compile(r"\b\w+_\d+\b")


def list_calls() -> Iterator[tuple[str | None, str]]:
    """Every function that the parser of a dialect knows by name, with arguments of any number."""
    for dialect in DIALECTS:
        parser = Dialect.get_or_raise(dialect).parser_class
        for name in sorted({*parser.FUNCTIONS, *parser.FUNCTION_PARSERS}):
            for given in ARGUMENTS:
                yield dialect, f"select k,\n  {name.lower()}({given}) as q\nfrom r join s as t(k2, y, d) on k = k2"


def judge(sql: str, error: M3Error) -> Iterator[str]:
    """What is wrong with an answer."""
    lines = sql.split("\n")
    if error.span is None or not 1 <= error.span.line <= len(lines):
        yield "no place in the text"
    elif not 1 <= error.span.column <= len(lines[error.span.line - 1]) + 1:
        yield "no place in the line"
    if not error.hint:
        yield "no hint"
    if error.kind in ("internal", "m3", "follow-up"):
        yield error.kind
    written = {word.upper() for word in re.findall(r"\w+", sql)}
    for word in set(re.findall(r"\w+", error.message)) - WORDS:
        if (word in SHOUTED or (word in CLASSES and not word.islower())) and word.upper() not in written:
            yield f"the parser's {SHOUTED.get(word, word)}"
    said = FORBIDDEN.search(f"{error.message} {error.hint}") or MADE.search(error.message)
    if said is not None and said[0] not in sql:
        yield f"{said[0]!r}"


def judge_all(relations, queries) -> list[tuple[str | None, str, str, str]]:
    """The answers that are not good."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    found = []
    for dialect, sql in queries:
        for error in check_views(relations, {"v": sql}, dialect):
            found += [(dialect, sql, error.message, problem) for problem in judge(sql, error)]
    return found


def test_calls_of_all_functions_are_answered():
    calls = list(list_calls())
    assert len(calls) > 50_000
    assert judge_all(SMALL, Random(SEED).sample(calls, min(ANSWERS, len(calls)))) == []


def test_mutated_queries_are_answered():
    random, texts = Random(SEED), []
    for _ in range(max(1, ANSWERS // 4)):
        dialect, sql, *_ = SUITE[random.choice(list(SUITE))]
        made = mutated(random, sql) if random.random() < 0.5 else shuffled(random, sql, dialect)
        texts.append((random.choice((dialect, *DIALECTS)), made))
    assert judge_all(RELATIONS, texts) == []


def shuffled(random: Random, sql: str, dialect: str | None) -> str:
    """The query with one of its tokens deleted, doubled, or swapped with the next."""
    tokens = sqlglot.tokenize(sql, read=dialect)
    i, kind = random.randrange(len(tokens) - 1), random.randrange(3)
    texts = [sql[t.start : t.end + 1] for t in tokens]
    texts[i : i + 2] = ([texts[i + 1]], [texts[i]] * 2 + [texts[i + 1]], [texts[i + 1], texts[i]])[kind]
    return " ".join(texts)


@pytest.mark.parametrize(
    ("dialect", "call", "hint"),
    [
        (
            "postgres",
            "DATE_FORMAT(d, '%Y-%m')",
            "as in MySQL, it is TO_CHAR(CAST(d AS TIMESTAMP), 'YYYY-MM')",
        ),
        ("spark", "TO_CHAR(d, 'YYYY-MM')", ""),
        ("postgres", "LENGHT(s)", "did you mean LENGTH("),
        ("postgres", "LEVENSTEIN(s, s)", "did you mean LEVENSHTEIN("),
        ("postgres", "TO_NUMBER(s, '999')", "docs/functions.md has what"),
        ("mysql", "FROM_BASE64(s)", "there is no type of bytes"),
        ("postgres", "TO_CHAR(x, 'FM999,990.00')", "CAST(a AS VARCHAR) writes a number"),
        ("postgres", "JSON_VALUE(s, '$.a')", "'strict $.a'"),
        ("trino", "JSON_VALUE(s, 'strict $x')", "'strict $.a.b[0]'"),
        ("postgres", "JSON_VALUE(s, 'strict $.a' RETURNING INT)", "CAST(JSON_VALUE(a, ..) AS ..)"),
        ("tsql", "APPROX_PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)", "did you mean PERCENTILE_CONT("),
    ],
)
def test_hints_lead_to_what_compiles(dialect, call, hint):
    sql = "SELECT {} AS q FROM r JOIN s AS t(k2, y, d) ON k = k2"
    errors = check_views(SMALL, {"v": sql.format(call)}, dialect)
    assert hint in "".join(e.hint for e in errors)
    for said in re.findall(r", it is (.*?)(?:;|$)", "".join(e.hint for e in errors)):
        assert check_views(SMALL, {"v": sql.format(said)}, dialect) == ()


@pytest.mark.parametrize(
    ("dialect", "call", "said"),
    [
        ("duckdb", "s[1]", "`s[1]` is not supported"),
        ("postgres", "(ARRAY[1, 2])[1]", "`(ARRAY[1, 2])[1]` is not supported"),
        ("duckdb", "UPPER(s::json -> 'a')", "a value of JSON in an expression"),
        ("postgres", "SUM(z)", "no column 'z'"),
        ("postgres", "EVERY(x)", "EVERY of DECIMAL(6, 2)"),
        ("mysql", "JSON_OBJECTAGG(s, x)", "JSON_OBJECTAGG of nothing"),
        ("bigquery", "HLL_COUNT.EXTRACT(x)", "HLL_COUNT.EXTRACT is not supported"),
        ("spark", "APPROX_TOP_K(x)", "APPROX_TOP_K cannot be maintained"),
    ],
)
def test_what_is_refused_is_called_as_it_is_written(dialect, call, said):
    assert [e.message for e in check_views(SMALL, {"v": f"SELECT {call} AS q FROM r"}, dialect)] == [said]
