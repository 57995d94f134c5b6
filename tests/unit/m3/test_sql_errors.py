"""SQL outside what can be maintained: an error at its place, of a stable kind, with the nearest supported form."""

from __future__ import annotations

import pickle

import pytest

from m3 import CompileError, M3Error, SyntaxProblem, compile_views
from tests.unit.m3.test_sql_views import SMALL


def error_of(sql: str) -> M3Error:
    with pytest.raises(M3Error) as caught:
        compile_views("p", SMALL, {"v": sql})
    return caught.value


def underlined(sql: str, error: M3Error) -> str:
    line = sql.splitlines()[error.span.line - 1]
    return line[error.span.column - 1 :][: error.span.length]


@pytest.mark.parametrize(
    ("sql", "kind", "place"),
    [
        ("select k, max(x) from r group by k", "unsupported-aggregate", "max(x"),
        ("select count(distinct k) from r", "unsupported-aggregate", "count(distinct k"),
        ("select sum(x) filter (where k = 1) from r", "unsupported-expression", "sum(x) filter (where k = 1"),
        ("select count(*) from r left join s on r.k = s.k", "unsupported-join", "s on r.k = s.k"),
        ("select count(*) from r, s where r.k < s.k", "unsupported-join", "r.k < s.k"),
        ("select count(*) from r, s where r.k = 1 or s.k = 2", "unsupported-join", "r.k = 1 or s.k = 2"),
        ("select count(*) from (select * from r) q", "subquery", "* from r) q"),
        ("select count(*) from r where k in (select k from s)", "subquery", "k in (select k from s"),
        ("select count(*) from nope", "unknown-relation", "nope"),
        ("select count(*) from r, r", "duplicate-alias", "r"),
        ("select count(*) from r where zz = 1", "unknown-column", "zz"),
        ("select count(*) from r where q.k = 1", "unknown-table", "q.k"),
        ("select count(*) from r, s where k = 1", "ambiguous-column", "k"),
        ("select x, count(*) from r group by k", "not-grouped", "x"),
        ("select x from r", "not-an-aggregate", "x from r"),
        ("select * from r group by k", "select-star", "*"),
        ("select distinct k from r group by k", "unsupported-clause", "k from r group by k"),
        ("select k, count(*) from r group by rollup (k)", "unsupported-clause", "k"),
        ("select k, count(*) from r group by 3", "bad-ordinal", "3"),
        ("select r.k + s.k, count(*) from r, s group by r.k + s.k", "group-by", "r.k + s.k"),
        ("select count(*) from r where sum(x) > 1", "misplaced-aggregate", "sum(x"),
        ("select sum(sum(x)) from r", "misplaced-aggregate", "sum(x"),
        ("select sum(s) from r", "type-mismatch", "sum(s"),
        ("select count(*) from r where s = 1", "type-mismatch", "s = 1"),
        ("select count(*) from r, u where r.s = u.z", "type-mismatch", "r.s = u.z"),
        ("select sum(r.x / u.z) from r, u", "not-a-product", "sum(r.x / u.z"),
        ("select sum(x) from r where sqrt(x) > 1", "unsupported-expression", "sqrt(x"),
        ("select count(*) from s where d + interval '1' day > d", "interval", "d + interval '1'"),
        ("select count(*) from r where x = null", "untyped-null", "x"),
        ("select count(*) from r where x > 1e3", "float-literal", "1e3"),
        ("select count(*) from r where s like s", "like-pattern", "s like s"),
        ("select count(*) from r where k in (x)", "in-list", "k in (x"),
        ("select count(*) from r where x > 1 / 0", "division-by-zero", "1 / 0"),
        ("select k, count(*) from r group by k order by sum(x)", "order-by", "sum(x"),
        ("select k, count(*) from r group by k order by k nulls last", "null-order", "k"),
        ("select count(*) from r limit 1 + 1", "limit", "1 + 1"),
        ("select k, k from r group by k", "duplicate-column", "k"),
        ("select count(*) from r having count(*)", "type-mismatch", "count(*"),
        ("select sum(k) from r union select sum(k) from s", "not-a-select", "sum(k) from r union select sum(k) from s"),
    ],
)  # fmt: skip
def test_unsupported(sql, kind, place):
    error = error_of(sql)
    assert isinstance(error, CompileError)
    assert (error.kind, underlined(sql, error), error.span.file) == (kind, place, "v")
    assert error.hint


def test_places_in_later_lines_and_pickling():
    sql = "select\n  k,\n  max(x)\nfrom r\ngroup by k"
    error = error_of(sql)
    assert (error.span.line, error.span.column) == (3, 3)
    assert "| " + "  ^^^^^" in error.underlined(sql)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.span) == (str(error), error.span)


def test_not_sql():
    for sql in ("select sum(a from r", "select 'abc", "select 1; select 2", ""):
        error = error_of(sql)
        assert isinstance(error, SyntaxProblem)
        assert error.kind == "sql-syntax"
        assert error.span
    error = error_of("select sum(a from r")
    assert underlined("select sum(a from r", error) == "from"
