"""The law, at its smallest: a compiled view after any events = DuckDB's answer over the tables the events leave."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3 import compile_views
from m3.datatypes import DATE, INT, STRING, decimal
from m3.interpreter import Interpreter
from m3.program import Column, Relation
from tests.unit.m3.oracle import Event, normal, recompute, run, stored
from tests.unit.m3.tpch import RELATIONS, VIEWS

SMALL = (
    Relation("r", (Column("id", INT), Column("k", INT.with_null()), Column("x", decimal(6, 2).with_null()),
                   Column("s", STRING.with_null())), ("id",)),
    Relation("s", (Column("k", INT.with_null()), Column("y", INT.with_null()), Column("d", DATE)), ()),
    Relation("u", (Column("k", decimal(4, 1).with_null()), Column("z", INT), Column("s", STRING)), ()),
)  # fmt: skip

QUERIES = {
    "self_join": "select a.s, count(*) as n, sum(a.x * b.x) as p from r a, r b where a.k = b.k group by a.s",
    "self_join_total": "select count(*) as n from s a join s b on a.k = b.k",
    "triple_self_join": "select count(*) as n, sum(a.y) as t from s a, s b, s c where a.k = b.k and b.y = c.y",
    "same_row_twice": "select a.k, sum(a.y - b.y) as d from s a, s b where a.y = b.k group by a.k",
    "nullable_sum": "select k, sum(x) as t, count(x) as n, count(*) as m from r group by k",
    "total_sum": "select sum(x) as t, count(*) as n, avg(x) as a from r",
    "expression_key": "select year(d) as yr, sum(y) as t from s group by year(d) order by yr",
    "key_by_ordinal": "select extract(month from d) + 1, count(*) from s group by extract(month from d) order by 1 desc",
    "average": "select r.k, avg(x) as a, avg(y) as b from r join s on r.k = s.k group by r.k",
    "count_expression": "select s, count(case when x > 0 then 1 end) as n from r group by s",
    "having": "select k, sum(y) as t from s group by k having count(*) > 1 and sum(y) > 0 order by t desc, k limit 2",
    "using": "select k, count(*) as n from r join s using (k) group by k",
    "mixed_types": "select u.s, sum(r.x) as t from r, u where r.k = u.k and r.s = u.s group by u.s",
    "cross_join": "select sum(r.x) as t, count(*) as n from r, u where u.z > 0",
    "sum_across": "select s.k, sum((x + y) * (1 - z)) as t from r, s, u where r.k = s.k and s.y = u.z group by s.k",
    "case_across": "select sum(case when r.s = 'a' then coalesce(y, 0) * z else 0 end) as t from r, u, s "
                   "where r.k = s.k and u.z = s.y",
    "expression_join": "select count(*) as n from r, s where r.k + 1 = s.y and coalesce(r.s, 'b') like '%b%'",
    "ratio": "select s.d, 100.00 * sum(x) / nullif(sum(y), 0) as pct from r join s on r.k = s.k group by s.d",
    "filters": "select count(*) as n from s where (y between 1 and 2 or k in (1, 3)) and not (d = '1994-01-02')"
               " and d < date '1994-01-01' + interval '1' month",
    "only_groups": "select k, s from r group by k, s",
    "four_tables": "select a.s, sum(b.y * c.z) as t from r a, s b, u c, r e "
                   "where a.k = b.k and b.y = c.z and e.id = b.k group by a.s",
    "counts_of_products": "select count(x * y) as n, sum(x * y) as t from r, s where r.k = s.k",
}  # fmt: skip

FEW_DAYS = [datetime.date(1994, 1, 1), datetime.date(1994, 1, 2), datetime.date(1995, 3, 1)]
small_int = st.none() | st.integers(0, 2)
rows = st.one_of(
    st.tuples(st.just("r"), st.tuples(
        st.integers(0, 3), small_int, st.none() | st.decimals(-2, 2, places=2), st.none() | st.sampled_from("ab"))),
    st.tuples(st.just("s"), st.tuples(
        small_int, small_int, st.sampled_from(FEW_DAYS))),
    st.tuples(st.just("u"), st.tuples(
        st.none() | st.integers(0, 2).map(Decimal), st.integers(0, 2), st.sampled_from("ab"))),
)  # fmt: skip


@st.composite
def histories(draw, row=rows, size=20) -> tuple[list[Event], list[Event]]:
    """Inserts, deletes and updates (a delete and an insert of one row), and the deletes that empty the tables."""
    live: list[tuple[str, tuple]] = []
    events: list[Event] = []
    for _ in range(draw(st.integers(0, size))):
        action = draw(st.sampled_from(["insert", "insert", "insert", "delete", "update"]))
        new = draw(row)
        if action != "insert" and live:
            relation, old = live.pop(draw(st.integers(0, len(live) - 1)))
            events.append((-1, relation, old))
            if action == "delete":
                continue
        live.append(new)
        events.append((1, *new))
    return events, [(-1, *entry) for entry in draw(st.permutations(live))]


def without_limit(sql: str) -> str:
    return re.sub(r"\s*limit \d+\s*$", "", sql)


def rounded(rows: Counter, digits: int) -> Counter:
    return Counter(
        {tuple(round(v, digits) if isinstance(v, Decimal) else v for v in row): n for row, n in rows.items()}
    )


@settings(deadline=None)
@given(history=histories())
def test_small_queries_agree_with_duckdb(history):
    events, rest = history
    program = SMALL_PROGRAM
    interpreter, tables = run(program, events)
    sequential, _ = run(replace(program, semantics="sequential"), events)
    assert sequential.maps == interpreter.maps
    with stored(SMALL, tables) as database:
        theirs = {name: database.execute(without_limit(sql)).fetchall() for name, sql in QUERIES.items()}
    for name, expected in theirs.items():
        got = normal(interpreter.view_rows(name, ordered=False))
        if name in ("average", "total_sum", "ratio"):  # DuckDB averages and divides in floating point
            assert rounded(got, 3) == rounded(normal(expected), 3), name
        else:
            assert got == normal(expected), name
    for event in rest:
        interpreter.apply(*event)
    assert all(not entries for entries in interpreter.maps.values())


SMALL_PROGRAM = compile_views("small", SMALL, QUERIES)

DAYS = [datetime.date(1993, 11, 1), datetime.date(1994, 5, 1), datetime.date(1995, 3, 14), datetime.date(1995, 3, 16)]
FIXED = {"r_name": ["ASIA", "ASIA", "EUROPE"], "c_mktsegment": ["BUILDING", "X"], "l_returnflag": ["R", "A"]}


def tpch_value(column: Column) -> st.SearchStrategy:
    if column.name in FIXED:
        return st.sampled_from(FIXED[column.name])
    match column.type.kind:
        case "int":
            return st.integers(1, 2)
        case "string":
            return st.sampled_from("ab")
        case "date":
            return st.sampled_from(DAYS)
    return st.integers(3, 9).map(lambda cents: Decimal(cents).scaleb(-2))


tpch_rows = st.sampled_from(RELATIONS).flatmap(
    lambda r: st.tuples(st.just(r.name), st.tuples(*(tpch_value(c) for c in r.columns)))
)


@pytest.mark.parametrize("restricted", [False, True])
@settings(max_examples=10, deadline=None)
@given(history=histories(tpch_rows, 25))
def test_tpch_agrees_with_duckdb(restricted, history):
    events, rest = history
    program = compile_views("tpch", RELATIONS, VIEWS, restricted=restricted)
    interpreter, tables = run(program, events)
    sequential, _ = run(replace(program, semantics="sequential"), events)
    assert sequential.maps == interpreter.maps
    for name, sql in VIEWS.items():
        expected = rounded(normal(recompute(RELATIONS, tables, without_limit(sql))), 6)
        assert rounded(normal(interpreter.view_rows(name, ordered=False)), 6) == expected, name
    for event in rest:
        interpreter.apply(*event)
    assert all(not entries for entries in interpreter.maps.values())


def test_order_and_limit_apply_when_a_view_is_read():
    program = compile_views("p", SMALL, {"v": "select k, sum(y) as t from s group by k order by t desc, k limit 3"})
    interpreter = Interpreter(program)
    for k, y in [(1, 5), (2, 7), (3, 5), (None, 5), (4, None)]:
        interpreter.apply(1, "s", (k, y, datetime.date(2000, 1, 1)))
    assert interpreter.view_rows("v") == [(2, 7), (None, 5), (1, 5)]
    assert sorted(interpreter.view_rows("v", ordered=False), key=repr) == [(1, 5), (2, 7), (3, 5), (4, None), (None, 5)]


def test_result_types_follow_spark_but_for_averages():
    views = {"v": "select k, sum(x) as a, avg(x) as b, count(x) as c, sum(id) as d, avg(id) as e from r group by k"}
    view = compile_views("p", SMALL, views).view("v")
    types = {c.name: str(c.expression.type) for c in view.columns}
    assert types == {
        "k": "INT", "a": "DECIMAL(16, 2)", "b": "DECIMAL(38, 19)", "c": "INT", "d": "INT", "e": "DECIMAL(38, 19)"
    }  # fmt: skip


def test_equal_aggregates_share_one_map_across_views():
    views = {
        "one": "select a.k, sum(b.y) as t from r a, s b where a.k = b.k group by a.k",
        "two": "select p.k, sum(q.y) as total, count(*) as n from s q, r p where q.k = p.k group by p.k",
    }
    program = compile_views("p", SMALL, views)
    assert program.view("two").exists == "one_count"
    assert {v.map for v in program.view("two").values} <= {m.name for m in program.maps if m.name.startswith("one_")}
