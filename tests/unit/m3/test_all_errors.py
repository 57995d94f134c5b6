"""All errors of views are found at once, each at its place; what follows from an error is not reported."""

from __future__ import annotations

import pickle

import pytest

from m3 import M3Error, check_views, compile_views, read_program
from m3.errors import Span, combine_errors
from tests.unit.m3.test_sql_views import SMALL


def found(views, **given):
    """What is wrong with views: (place, kind), in the order of their places."""
    errors = check_views(SMALL, views if isinstance(views, dict) else {"v": views}, **given)
    spans = sorted((e.span.file, e.span.line, e.span.column, e.kind, e.span.length) for e in errors)
    texts = views if isinstance(views, dict) else {"v": views}
    return [
        (texts[file].split("\n")[line - 1][column - 1 :][:length], kind) for file, line, column, kind, length in spans
    ]


COLUMN, TABLE = "unknown-column", "unknown-relation"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select aa, k, sum(bb) from r group by k", [("aa", COLUMN), ("bb", COLUMN)]),
        ("select k from r where aa = 1 and s = 1 and k = bb", [("aa", COLUMN), ("s = 1", "type-mismatch"), ("bb", COLUMN)]),
        ("select aa as x from r order by x, bb, 1", [("aa", COLUMN), ("bb", COLUMN)]),
        ("select k, count(*) from r group by aa, bb", [("aa", COLUMN), ("bb", COLUMN)]),
        ("select k from r group by k having sum(aa) > 1 order by sum(bb)", [("aa", COLUMN), ("bb", COLUMN)]),
        ("select aa from r union all select bb from r", [("aa", COLUMN), ("bb", COLUMN)]),
        ("select n.a, zz, foo(r.k), kk.c from n, r", [("foo(r.k)", "unsupported-expression"), ("kk.c", "unknown-table"), ("n", TABLE)]),
        ("select * from n join r on n.a = r.k where aa = 1 and r.bb = 1", [("n", TABLE), ("r.bb", COLUMN)]),
        ("select * from n join r using (k) join m on m.a = n.b", [("n", TABLE), ("m", TABLE)]),
        ("select x from (select aa as x from r) as q where x = 1 and y = 1", [("aa", COLUMN)]),
        ("with q as (select aa from r), p as (select bb from r) select aa, c from q, p", [("aa", COLUMN), ("bb", COLUMN)]),
        ("select k from r where exists (select 1 from s where s.aa = r.bb and s.k = r.cc) and dd", [("s.aa", COLUMN), ("r.cc", COLUMN), ("dd", COLUMN)]),
        ("select r.k from r full join s on r.aa = s.k where bb = 1 and k = 1", [("r.aa", COLUMN), ("bb", COLUMN), ("k", "ambiguous-column")]),
        ("select sum(k) over w, sum(aa) over v from r window w as (order by bb), v as (order by k)", [("aa", COLUMN), ("bb", COLUMN)]),
        ("select aa from r tablesample (10 percent) limit 5 percent", [("10", "unsupported-clause"), ("5", "unsupported-clause")]),
        ("select * from r group by k", [("*", "not-grouped")]),
    ],
)  # fmt: skip
def test_independent_errors_are_found_at_once(sql, expected):
    assert found(sql) == expected


SYNTAX = "sql-syntax"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("with q as (select k form r), p as (select k from r where) select k from q jon p on 1 = 1", [("r", SYNTAX), ("where", SYNTAX), ("p", SYNTAX)]),
        ("select k from r where union all select k from r group k", [("where", SYNTAX), ("k", SYNTAX)]),
        ("select k from (select k\nform r) as q where k in (select from) and", [("r", SYNTAX), ("from", SYNTAX), ("and", SYNTAX)]),
        ("select k from (select k from r where) as q", [("where", SYNTAX)]),
        ("select (select k from r where from r", [("(", SYNTAX)]),
        ("select k from r where k = 'a and (select from)", [("'a and (select from)", SYNTAX)]),
    ],
)  # fmt: skip
def test_each_query_of_a_text_has_its_first_syntax_error(sql, expected):
    assert [kind for _, kind in found(sql)] == [kind for _, kind in expected]
    assert [place for place, _ in found(sql)] == [place for place, _ in expected]


PROGRAM = """PROGRAM p SEMANTICS SNAPSHOT;
RELATION r(a INT, b {type});
RELATION s(a INT, a INT);
MAP m[a INT] : INT;
MAP m[b INT] : STRING;
MAP q[x DATE] : INT{end}
VIEW v[] VALUES x = m COLUMNS y = x;
VIEW w[a INT] VALUES x = zz COLUMNS y = x;
ON +r(a, b) DO {{ m[a] += 1; }}
ON +s(a, c) DO {{ m[x] += 1; m[a] += k[a]; m[a] += (c :: STRING); }}
ON -t(a) DO {{ m[a] += 1; }}
"""


@pytest.mark.parametrize(
    ("type_", "end", "expected"),
    [
        ("INT", ";", [
            (3, 1, "duplicate-name"), (5, 1, "duplicate-name"), (5, 1, "type-mismatch"), (8, 26, "unknown-map"),
            (10, 20, "unbound-variable"), (10, 37, "unknown-map"), (10, 52, "type-mismatch"), (11, 5, "unknown-relation"),
        ]),
        ("TEXT", "", [
            (2, 21, "m3-syntax"), (7, 1, "m3-syntax"), (8, 26, "unknown-map"), (10, 20, "unbound-variable"), (10, 37, "unknown-map"),
            (10, 52, "type-mismatch"), (11, 5, "unknown-relation"),
        ]),
    ],
)  # fmt: skip
def test_a_program_has_the_errors_of_all_its_declarations_and_statements(type_, end, expected):
    with pytest.raises(M3Error) as caught:
        read_program(PROGRAM.format(type=type_, end=end), "p.m3")
    assert {e.span.file for e in caught.value.all} == {"p.m3"}
    assert sorted((e.span.line, e.span.column, e.kind) for e in caught.value.all) == expected


def test_each_view_is_read_whatever_the_others_say():
    views = {"a": "select aa from r", "b": "select k from r where", "c": "select 'x from r", "d": "select k from r"}
    assert found(views) == [("aa", COLUMN), ("where", "sql-syntax"), ("'x from r", "sql-syntax")]


def test_who_reads_a_view_with_an_error_is_not_blamed():
    views = {
        "top": "select t, foo(t) from mid",
        "mid": "select n + 1 as t from low",
        "low": "select k,\n  aa as n from r",
    }
    assert found(views) == [("aa", COLUMN), ("foo(t)", "unsupported-expression")]
    only = {"top": views["top"]}
    errors = check_views(SMALL, only, others=views)
    assert [(e.span.file, e.span.line, e.span.column) for e in errors] == [("low", 2, 3), ("top", 1, 11)]


def test_what_others_report_is_not_reported():
    assert found("select n.a, zz from n where foo(a) = 1", broken=["N"]) == [("foo(a)", "unsupported-expression")]
    assert found("select n.a from n", broken=["n"]) == []


def test_a_cycle_is_reported_where_each_view_reads_the_next():
    views = {"a": "select k from b", "b": "select k from a", "c": "select k, aa from b"}
    assert found(views) == [("b", "recursive"), ("a", "recursive")]


def test_compiling_raises_the_first_error_which_knows_the_others():
    with pytest.raises(M3Error) as caught:
        compile_views("p", SMALL, {"v": "select aa from r", "w": "select bb from r"})
    assert [str(e.span) for e in caught.value.all] == ["v:1:8", "w:1:8"]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert [str(e) for e in copy.all] == [str(e) for e in caught.value.all]
    moved = copy.in_files({"w": "views/w.sql"})
    assert [str(e.span) for e in moved.all] == ["v:1:8", "views/w.sql:1:8"]


def test_places_of_several_lines_and_odd_characters():
    sql = "select k,\r\n\tfoo('東京',\r\n   k) as x\r\nfrom r"
    (error,) = check_views(SMALL, {"v": sql})
    assert (error.span, error.span.behind) == (Span(2, 2, 9, "v"), (3, 6))
    assert error.underlined(sql).splitlines()[-4:] == [
        "  |     foo('東京',",
        "  |     ^^^^^^^^^^^",
        "  |    k) as x",
        "  |    ^^",
    ]


def test_what_is_found_twice_is_one_error():
    one, two = M3Error("a", kind="k", span=Span(1, 1)), M3Error("b", kind="k", span=Span(1, 1))
    assert [e.message for e in combine_errors([one, two, one]).all] == ["a"]
