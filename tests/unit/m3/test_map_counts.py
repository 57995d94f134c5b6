"""How many maps a query takes: what one map can serve is kept once, and no query takes a map for every set of its tables."""

from __future__ import annotations

from m3 import compile_views
from m3.explain.cost import costs
from m3.explain.report import scan_notes
from m3.program import Program
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


def test_views_that_scan_are_told() -> None:
    (note, *_) = scan_notes(compiled("select count(*) as n from sales a join stores b on a.qty < b.store_id"))
    assert note.startswith("view v: each event of ")
    assert not list(scan_notes(compiled(ANALYTICS["no_row_with_one_of_two_columns"][1])))
