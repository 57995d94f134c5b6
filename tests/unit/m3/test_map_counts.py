"""How many maps a query takes: what one map can serve is kept once, and no query takes a map for every set of its tables."""

from __future__ import annotations

from m3 import compile_views
from m3.datatypes import INT
from m3.explain.cost import costs
from m3.explain.report import scan_notes
from m3.program import Column, Program, Relation
from tests.unit.m3.company import RELATIONS
from tests.unit.m3.sql_analytics import ANALYTICS


def compiled(sql: str) -> Program:
    return compile_views("counts", RELATIONS, {"v": sql}, dialect="duckdb")


def test_joins_under_an_or_over_several_tables_are_kept_once() -> None:
    _, sql = ANALYTICS["alternatives_over_five_tables"]
    program = compiled(sql)
    assert any(m.name.startswith("v_rows") for m in program.maps)
    assert len(program.maps) < 30


def test_deletes_are_inserts_with_the_other_sign() -> None:
    program = compiled("select count(*) as n, sum(a.qty * b.qty) as m from sales a join sales b using (store_id)")
    counts = {t.sign: len(t.statements) for t in program.triggers}
    assert counts[1] == counts[-1] > 2


def test_alternatives_of_a_subquery_are_looked_up() -> None:
    _, sql = ANALYTICS["no_row_with_one_of_two_columns"]
    program = compiled(sql)
    assert not [c.event for c in costs(program) if c.scans]
    assert len(program.maps) <= 8


def test_a_chain_of_full_joins_has_a_few_maps_for_each_table_and_narrow_ones() -> None:
    relations = [Relation(f"t{i}", (Column("k", INT.with_null()), Column(f"v{i}", INT))) for i in range(32)]
    tables = " ".join(f"full join t{i} using (k)" for i in range(1, 32))
    columns = ", ".join(f"v{i}" for i in range(32))
    program = compile_views("counts", relations, {"v": f"select k, {columns} from t0 {tables}"}, dialect="duckdb")
    assert len(program.maps) < 10 * 32
    # a map for each level of a tree, not for each table, has many columns
    assert sum(len(m.keys) for m in program.maps) < 1000


def test_views_that_scan_are_told() -> None:
    (note, *_) = scan_notes(compiled("select count(*) as n from sales a join stores b on a.qty < b.store_id"))
    assert note.startswith("view v: each event of ")
    assert not list(scan_notes(compiled(ANALYTICS["no_row_with_one_of_two_columns"][1])))


def test_outer_joins_behind_a_join_of_many_tables_are_made_of_its_rows() -> None:
    """Each of them would keep parts of that join for itself, 69 maps; TPC-DS 72 would have 330 maps, and has 77."""
    relations = [
        Relation(f"t{i}", (Column("k", INT), Column("n", INT.with_null()), Column(f"v{i}", INT))) for i in range(11)
    ]
    inner = " ".join(f"join t{i} on t{(i - 1) // 2}.k = t{i}.n" for i in range(1, 9))
    outer = "left join t9 on t0.n = t9.n left join t10 on t6.k = t10.n"
    sql = f"select t2.k, count(*) as c, count(v9) as a, sum(v10) as b from t0 {inner} {outer} group by t2.k"
    assert len(compile_views("counts", relations, {"v": sql}, dialect="duckdb").maps) < 45
