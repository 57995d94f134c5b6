"""Views that read other views: the same as with the other's query written out, and no map more."""

from __future__ import annotations

import duckdb
import pytest

from m3 import CompileError, compile_views, emit
from tests.fuzz.compare import same_rows
from tests.unit.m3.company import RELATIONS, make_batches
from tests.unit.m3.oracle import duckdb_type, run

VIEWS = {
    "rich": "with best as (select max(n) as most from sizes) select s.dept_id from sizes s join best on s.n = best.most",
    "sizes": "select dept_id, count(*) as n, max(salary) as top from employees group by dept_id",
    "pairs": "select a.dept_id, b.n, t.top from Sizes a join sizes b on a.n <= b.n left join tops t on t.dept_id = a.dept_id",
    "tops": "select dept_id, salary as top from employees order by salary desc nulls last, emp_id limit 3",
    "employees": "select count(*) as n from employees",
}


def test_they_are_what_their_queries_are_together() -> None:
    program = compile_views("p", RELATIONS, VIEWS, dialect="duckdb")
    events = [event for batch in make_batches(5, {"employees"}) for event in batch]
    interpreter, tables = run(program, events)
    with duckdb.connect() as connection:
        employees = next(r for r in RELATIONS if r.name == "employees")
        columns = ", ".join(f"{c.name} {duckdb_type(c.type)}" for c in employees.columns)
        connection.execute(f"CREATE TABLE employees ({columns})")
        marks = ", ".join("?" for _ in employees.columns)
        connection.executemany(
            f"INSERT INTO employees VALUES ({marks})", [list(r) for r in tables["employees"].elements()]
        )
        for name in ("sizes", "tops", "rich", "pairs"):
            connection.execute(f"CREATE VIEW {name} AS {VIEWS[name]}")
        for name in ("sizes", "rich", "pairs", "tops"):
            theirs = connection.execute(f"SELECT * FROM {name}").fetchall()
            assert same_rows(
                interpreter.view_rows(name, ordered=False) if name != "tops" else interpreter.view_rows(name), theirs
            ), name
    assert interpreter.view_rows("employees") == [(sum(tables["employees"].values()),)]


def test_a_views_text_is_complete() -> None:
    program = compile_views("p", RELATIONS, VIEWS, dialect="duckdb")
    assert program.view("sizes").sql == VIEWS["sizes"]
    assert program.view("pairs").sql.startswith("WITH sizes AS (SELECT dept_id,")
    again = compile_views("p", RELATIONS, {"pairs": program.view("pairs").sql}, dialect="duckdb")
    assert again.view("pairs").sql == program.view("pairs").sql


def test_the_other_view_is_maintained_once() -> None:
    both = {"sizes": VIEWS["sizes"], "most": "select max(n) as n from sizes"}
    text = (
        "select max(n) as n from (select dept_id, count(*) as n, max(salary) as top from employees group by dept_id) s"
    )
    together, apart = compile_views("p", RELATIONS, both), compile_views("p", RELATIONS, {**both, "most": text})
    assert len(together.maps) == len(apart.maps)


def test_a_view_by_itself_may_read_others() -> None:
    alone = {"rich": VIEWS["rich"]}
    program = compile_views("p", RELATIONS, alone, dialect="duckdb", others=VIEWS)
    assert [v.name for v in program.views] == ["rich"]
    assert "WITH sizes AS" in str(program.view("rich").sql)
    assert "rich" in emit("algebra", "p", RELATIONS, alone, "duckdb", others=VIEWS)


@pytest.mark.parametrize(
    "views", [{"a": "select n from a"}, {"a": "select n from b", "b": "select n from (select n from A) x"}]
)
def test_no_view_reads_itself(views: dict[str, str]) -> None:
    with pytest.raises(CompileError) as caught:
        compile_views("p", RELATIONS, views)
    assert caught.value.kind == "recursive"
    assert caught.value.span is not None


def test_errors_stand_where_they_are_made() -> None:
    views = {"sizes": VIEWS["sizes"], "v": "select\n  wrong from sizes"}
    with pytest.raises(CompileError) as caught:
        compile_views("p", RELATIONS, views)
    assert caught.value.span is not None
    assert (caught.value.span.file, caught.value.span.line, caught.value.span.column) == ("v", 2, 3)
