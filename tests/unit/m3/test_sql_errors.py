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
        ("select count(*) from nope", "unknown-relation", "nope"),
        ("select count(*) from r, r", "duplicate-alias", "r"),
        ("select count(*) from r where zz = 1", "unknown-column", "zz"),
        ("select count(*) from r where q.k = 1", "unknown-table", "q.k"),
        ("select count(*) from r where exists (select * from s where s.k = r.zz)", "unknown-column", "r.zz"),
        ("select k from r group by k having exists (select * from s where s.k = r.zz)", "unknown-column", "r.zz"),
        ("select count(*) from r where exists (select * from s where s.k = zz)", "unknown-column", "zz"),
        ("select count(*) from r where exists (select * from s where s.k = q.k)", "unknown-table", "q.k"),
        ("select count(*) from r, s where k = 1", "ambiguous-column", "k"),
        ("select x, count(*) from r group by k", "not-grouped", "x"),
        ("select * from r group by k", "not-grouped", "*"),
        ("select k, count(*) from r group by 3", "bad-ordinal", "3"),
        ("select count(*) from r where sum(x) > 1", "misplaced-aggregate", "sum(x)"),
        ("select sum(sum(x)) from r", "misplaced-aggregate", "sum(x)"),
        ("select (select max(r.x) from s) as m from r", "misplaced-aggregate", "max(r.x)"),
        ("select sum(s) from r", "type-mismatch", "sum(s)"),
        ("select count(*) from r where s = 1", "type-mismatch", "s = 1"),
        ("select count(*) from r, u where r.s = u.z", "type-mismatch", "r.s = u.z"),
        ("select sum(x) from r where gamma(x) > 1", "unsupported-expression", "gamma(x)"),
        ("select count(*) from s where d + interval '1' fortnight > d", "interval", "interval '1' fortnight"),
        ("select count(*) from s where d <> current_date", "now", "d"),
        ("select count(*) from r where x > 'many'", "bad-cast", "x > 'many'"),
        ("select count(*) from r where s rlike s", "regular-expression", "s rlike s"),
        ("select count(*) from r limit 1 - 2", "limit", "1 - 2"),
        ("select count(*) from r limit x", "not-constant", "x"),
        ("select k from r limit (select max(k) from r)", "not-constant", "max(k) from r"),
        ("select x as a, k as a from r order by a", "ambiguous-column", "a"),
        ("select * exclude (zz) from r", "unknown-column", "* exclude (zz)"),
        ("select * exclude (a) from (select k as a from r) as q", "no-columns", "* exclude (a)"),
        ("with q(a, b) as (select k from r) select a from q", "wrong-arity", "q(a, b)"),
        ("select cast(k as oid) from r", "unsupported-type", "cast(k as oid)"),
        ("select to_char(d, k) from s", "unsupported-expression", "to_char(d, k)"),
        ("select count(*) from r having count(*)", "type-mismatch", "count(*)"),
        ("select string_agg(s, s) from r", "type-mismatch", "s, s"),
        ("select max(x, 2) from r", "wrong-arity", "max(x, 2)"),
        ("select any_value(x order by k) from r", "ordered-any-value", "any_value(x order by k)"),
        ("select approx_quantile(x, 0.5) from r", "unsupported-aggregate", "approx_quantile(x, 0.5)"),
        ("select corr(x, s) from r", "type-mismatch", "corr(x, s)"),
        ("select median(s) from r", "type-mismatch", "s"),
        ("select g from r, generate_series(1, s) g", "values", "generate_series(1, s)"),
        ("select g from r, string_to_table(s, s) g", "unsupported-expression", "string_to_table(s, s)"),
        ("select g from r, regexp_split_to_table(s, 'a|b') g", "unsupported-expression", "regexp_split_to_table(s, 'a|b')"),
        ("select generate_series(1, 2), generate_series(1, 2) from r", "unsupported-expression", "generate_series(1, 2)"),
        ("select generate_series(1, 2), sum(x) from r", "unsupported-expression", "generate_series(1, 2)"),
        ("select g from generate_series(1, 2, 0) g", "values", "generate_series(1, 2, 0)"),
        ("select * from tumble(r, d, interval '1' month)", "interval", "interval '1' month"),
        ("select * from hop(r, d, interval '1' second, interval '1' day)", "values", "hop(r, d, interval '1' second, interval '1' day)"),
        ("select * from tumble(r, interval '1' day)", "unsupported-table", "tumble(r, interval '1' day)"),
        ("select r.k from r asof join s on r.k = s.k", "unsupported-join", "s on r.k = s.k"),
        ("select r.k from r asof join s on r.k = s.k and r.k + s.k > 1", "unsupported-join", "r.k + s.k > 1"),
        ("select r.k from r asof join s using (k)", "unsupported-join", "s using (k)"),
        ("select arg_max(k, x, 3) from r", "unsupported-aggregate", "arg_max(k, x, 3)"),
        ("select percentile_cont(1.5) within group (order by x) from r", "type-mismatch", "percentile_cont(1.5) within group (order by x)"),
        ("select mode(s order by x) from r", "unsupported-aggregate", "mode(s order by x)"),
        ("select mode(s order by s, x) from r", "unsupported-aggregate", "mode(s order by s, x)"),
        ("select mode() within group (order by s, x) from r", "unsupported-aggregate", "s, x"),
        ("select median(x order by k) from r", "unsupported-aggregate", "x order by k"),
        ("select string_agg(distinct s, ',' order by x) from r", "unsupported-aggregate", "s, ',' order by x"),
        ("select sum(x) from r tablesample (10 percent)", "unsupported-clause", "10"),
        ("select k from r union select k, x from r", "set-columns", "k from r union select k, x from r"),
        ("select k from r union select d from s", "type-mismatch", "k from r union select d from s"),
        ("select k, (select k, d from s) from r", "subquery-columns", "k, d from s"),
        ("select k from r where (k, x) in (select k from s)", "subquery-columns", "(k, x) in (select k from s)"),
        ("with recursive q as (select 1 as a union all select a from q) select * from q", "recursive", "q as (select 1 as a union all select a from q)"),
        ("select rank() within group (order by x) from r", "unsupported-expression", "rank() within group (order by x)"),
        ("select sum(x) over (order by k range between 1.5 preceding and current row) from r", "unsupported-window", "1.5"),
        ("select sum(x ignore nulls) over (order by k) from r", "unsupported-window", "sum(x ignore nulls) over (order by k)"),
        ("select nth_value(x, 0) over (order by k) from r", "out-of-domain", "0"),
        ("select nth_value(x, s) over (order by k) from r", "type-mismatch", "s"),
        ("select k from r where sum(x) over () > 1", "misplaced-aggregate", "sum(x)"),
        ("select k from r group by sum(x)", "group-by", "sum(x)"),
        ("select distinct k from r order by x", "order-by", "k from r order by x"),
        ("select r.k from r full join s on r.k = (select min(t.k) from s t where t.k > r.x + s.k)", "unsupported-join", "min(t.k) from s t where t.k > r.x + s.k"),
        ("select r.k from r left join s on r.k + s.k in (select t.k from s t)", "unsupported-join", "r.k + s.k in (select t.k from s t)"),
    ],
)  # fmt: skip
def test_unsupported(sql, kind, place):
    error = error_of(sql)
    assert isinstance(error, CompileError)
    assert (error.kind, underlined(sql, error), error.span.file) == (kind, place, "v")
    assert error.hint


def test_places_in_later_lines_and_pickling():
    sql = "select\n  k,\n  kurtosis(x)\nfrom r\ngroup by k"
    error = error_of(sql)
    assert (error.span.line, error.span.column) == (3, 3)
    assert "| " + "  ^^^^^^" in error.underlined(sql)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.span) == (str(error), error.span)


def test_not_sql():
    for sql in ("select sum(a from r", "select 'abc", "select 1; select 2", ""):
        error = error_of(sql)
        assert isinstance(error, SyntaxProblem)
        assert error.kind == "sql-syntax"
        assert error.span
    error = error_of("select sum(a from r")
    assert underlined("select sum(a from r", error) == "sum("


@pytest.mark.parametrize(("column", "known"), [("zz", "k, y, d, id, x, s"), ("r.zz", "id, k, x, s")])
def test_an_unknown_outer_column_is_shown_what_there_is(column, known):
    error = error_of(f"select count(*) from r where exists (select * from s where s.k = {column})")
    assert (error.message, error.hint) == (f"no column '{column}'", f"columns: {known}")


#: A derived table with a list.
LISTED = "(select k, array_agg(x) as l, count(*) as n from r group by k) q"


@pytest.mark.parametrize(
    ("sql", "kind", "place"),
    [
        ("select k from r group by k having array_agg(x) is null", "list-in-expression", "array_agg(x)"),
        ("select k, case when count(*) > 1 then array_agg(x) end as l from r group by k", "list-in-expression", "array_agg(x)"),
        ("select k, array_agg(x) as l from r group by k order by l", "list-in-expression", "l"),
        ("select k, array_agg(x) as l from r group by k order by 2", "list-in-expression", "2"),
        ("select k from r group by k order by array_agg(x)", "list-in-expression", "array_agg(x)"),
        ("select k, array_agg(x)[2] as l from r group by k", "list-in-expression", "array_agg(x)[2]"),
        ("select k from r where k = any(array_agg(k))", "list-in-expression", "array_agg(k)"),
        ("select k, rank() over (order by array_agg(x)) as l from r group by k", "list-in-expression", "array_agg(x)"),
        ("select distinct k, array_agg(x) as l from r group by k", "unsupported-list", "k, array_agg(x) as l from r group by k"),
        ("select k, array_agg(x) as l from r group by rollup (k)", "unsupported-list", "k, array_agg(x) as l from r group by rollup (k)"),
        ("select k, array_agg(distinct x order by s) as l from r group by k", "unsupported-aggregate", "array_agg(distinct x order by s)"),
        ("select k, array_agg(x) over (partition by k) as l from r", "unsupported-window", "array_agg(x) over (partition by k)"),
        ("select (select array_agg(s.k) from s) as l from r", "unsupported-list", "(select array_agg(s.k) from s) as l"),
        (f"select l, count(*) as n from {LISTED} group by l", "list-in-expression", "l"),
        (f"select count(l) as n from {LISTED}", "list-in-expression", "l"),
        (f"select n from {LISTED} where l is not null", "list-in-expression", "l"),
        (f"select q.l from {LISTED} join s on s.k = q.k", "unsupported-list", "q.l"),
        (f"select q.n from {LISTED} join {LISTED[:-1]}p using (l)", "list-in-expression", f"{LISTED[:-1]}p using (l)"),
        (f"select l from {LISTED} union all select l from {LISTED}", "unsupported-list", f"l from {LISTED} union all select l from {LISTED}"),
        (f"select l from (select * from {LISTED} limit 3) p", "unsupported-list", "l"),
    ],
)  # fmt: skip
def test_lists_are_columns_of_views_and_nothing_else(sql, kind, place):
    error = error_of(sql)
    assert (error.kind, underlined(sql, error)) == (kind, place)
    assert error.hint


def test_a_derived_table_without_lateral_does_not_see_the_tables_beside_it() -> None:
    text = "select 1 as one from r join (select r.k as z from s) x on true"
    with pytest.raises(CompileError) as caught:
        compile_views("p", SMALL, {"v": text}, dialect="postgres")
    assert (caught.value.kind, underlined(text, caught.value)) == ("unknown-column", "r.k")
    assert "LATERAL" in str(caught.value)
    compile_views("p", SMALL, {"v": text.replace("join (", "join lateral (")}, dialect="postgres")
    compile_views("p", SMALL, {"v": text}, dialect="duckdb")
