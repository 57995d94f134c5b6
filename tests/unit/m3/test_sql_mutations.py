"""Broken queries: whatever is wrong with the text, the answer is an error with a place, or a program; never a crash."""

from __future__ import annotations

import re
from random import Random

import pytest

from m3 import M3Error, compile_views
from tests.unit.m3.company import RELATIONS
from tests.unit.m3.sql_suite import SUITE

SEEDS, MUTATIONS = range(10), 60
DIALECTS = ("postgres", "spark", "duckdb", None)
KEYWORDS = frozenset({
    "select", "from", "where", "group", "by", "having", "order", "and", "or", "not", "in", "as", "on", "join",
    "left", "right", "full", "inner", "over", "partition", "case", "when", "then", "else", "end", "is", "null",
    "between", "like", "exists", "union", "all", "except", "intersect", "distinct", "limit", "offset", "with",
    "using",
})  # fmt: skip
WORDS = (
    "null", "'x'", "1", "-1", "1.5", "1e400", "99999999999999999999", "true", "date '2024-01-01'", "''",
    "emp_id", "nope", "ename", "salary", "dept_id", "hired", "active", "employees", "employees.emp_id", "e", "x.y.z",
    "*", "e.*", "count(*)", "sum(salary)", "max()", "rank()", "sum(salary) over (order by emp_id)", "over ()",
    "(select 1)", "(select emp_id from employees)", "(select emp_id, ename from employees)", "exists (select 1)",
    "(1, 2)", "array[1]", "unnest(x)", "?", "$1", "::json", "current_date", "interval '1' day", "interval",
    "count", "sum", "lag", "lower", "extract", "round", "coalesce", "cast", "substring", "date_trunc", "ntile", "lpad",
    "cast(emp_id as oid)", "cast('30' as interval day)", "x(a, b)", "as x(a, b)", "tablesample (10 percent)", "* exclude (emp_id)",
    "* replace (1 as emp_id)", "group by all", "order by all", "limit (1 + 1)", "with ties", "e'x'", "b'1'", "x'1f'", "null::text",
    "row(1, 2)", "{'a': 1}", "[1, 2]", "a -> b", "emp_id[1]", "salary.x", "array_agg(emp_id)", "to_char(hired, 'Q')", "'a' collate c",
    "grouping(dept_id)", "first(ename order by salary)", "generate_series(1, 3)", "pivot (sum(salary) for active in (true))",
    "ignore nulls", "within group (order by salary)", "filter (where active)", "at time zone 'utc'", "interval '1' month",
    "(", ")", ",", "distinct", "not", "and", "case", "from", "where", "group by", "any", "all", "lateral", "limit 0",
)  # fmt: skip


def mutated(random: Random, sql: str) -> str:
    """The query with one to three of its words dropped, doubled, swapped, or replaced by others."""
    words = re.findall(r"'[^']*'|[\w.]+|\S", sql)
    for _ in range(random.choice((1, 1, 2, 3))):
        names = [i for i, w in enumerate(words) if re.fullmatch(r"[a-z_.]+|'.*'|[0-9.]+", w) and w not in KEYWORDS]
        place, kind = random.randrange(len(words)), random.random()
        if kind < 0.6 and names:
            words[random.choice(names)] = random.choice(WORDS)
        elif kind < 0.7 and len(words) > 1:
            del words[place]
        elif kind < 0.8:
            words.insert(place, random.choice(WORDS))
        elif kind < 0.9:
            other = random.randrange(len(words))
            words[place], words[other] = words[other], words[place]
        else:
            words[place] *= 2
    return " ".join(words)


def error_of(text: str, dialect: str | None) -> M3Error | None:
    """What the compiler says."""
    try:
        compile_views("p", RELATIONS, {"v": text}, dialect=dialect)
    except M3Error as error:
        return error
    return None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutated_query_compiles_or_fails_at_a_place(seed: int) -> None:
    random, refused = Random(seed), 0
    for _ in range(MUTATIONS):
        dialect, sql, *_ = SUITE[random.choice(list(SUITE))]
        text = mutated(random, sql)
        error = error_of(text, random.choice((dialect, *DIALECTS)))
        if error is not None:
            assert error.span is not None, text
            assert error.kind != "internal", text
            refused += 1
    assert refused


@pytest.mark.parametrize(
    "text",
    [
        "select " + "+".join(["emp_id"] * 2000) + " as x from employees",
        "select " + "(" * 400 + "emp_id" + ")" * 400 + " as x from employees",
        "select " + "not " * 1500 + "active as x from employees",
    ],
)
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(M3Error) as caught:
        compile_views("p", RELATIONS, {"v": text}, dialect="postgres")
    assert (caught.value.kind, caught.value.span is not None) == ("too-deep", True)
