"""Joins of many tables and rows of many branches: programs stay small, since parts are kept as relations of their own."""

from __future__ import annotations

import pytest

from m3 import Program, Relation, ValueProblem, compile_views
from m3.datatypes import INT
from m3.interpreter import Interpreter
from m3.program import Column

FACT = Relation("fact", tuple(Column(f"k{i}", INT) for i in range(12)))
DIMENSIONS = tuple(Relation(f"d{i}", (Column("k", INT), Column("v", INT))) for i in range(12))


def size(program: Program) -> int:
    return sum(len(t.statements) for t in program.triggers)


def star(count: int, values: str) -> Program:
    tables = ", ".join(f"d{i}" for i in range(count))
    on = " and ".join(f"k{i} = d{i}.k" for i in range(count))
    return compile_views("p", (FACT, *DIMENSIONS), {"v": f"select {values} from fact, {tables} where {on}"})


def test_a_star_of_twelve_dimensions_is_split() -> None:
    program = star(12, "sum(d0.v) as a, sum(d11.v) as s")
    assert size(program) < 2000  # unsplit: 12 statements for each of 4096 sets of dimensions
    interpreter = Interpreter(program)
    interpreter.apply(1, "fact", tuple(range(12)))
    for i, dimension in enumerate(DIMENSIONS):
        interpreter.apply(1, dimension.name, (i, 10 + i))
    assert interpreter.view_rows("v") == [(10, 21)]
    interpreter.apply(1, "fact", tuple(range(12)))
    interpreter.apply(1, "d3", (3, 0))
    assert interpreter.view_rows("v") == [(40, 84)]
    interpreter.apply(-1, "d7", (7, 17))
    assert interpreter.view_rows("v") == [(None, None)]


def test_aggregates_over_a_join_share_its_rows() -> None:
    few, many = (star(6, ", ".join(f"sum(d{i % 6}.v * {i}) as s{i}" for i in range(n))) for n in (2, 30))
    assert size(many) < 4 * size(few)


def test_totals_do_not_multiply() -> None:
    totals = ", ".join(f"(select sum(v) from d{i}) as s{i}" for i in range(12))
    program = compile_views("p", (FACT, *DIMENSIONS), {"v": f"select {totals}"})
    assert size(program) < 300
    interpreter = Interpreter(program)
    assert interpreter.view_rows("v") == [(None,) * 12]
    interpreter.apply(1, "d4", (0, 5))
    assert interpreter.view_rows("v") == [(*(None,) * 4, 5, *(None,) * 7)]


def test_a_union_joined_with_itself_is_not_kept_as_a_product() -> None:
    both = "with u as (select k, v from d0 union all select k, v from d1) "
    sql = (
        both + "select a.v as x from u a, u b, u c, u d, u e where a.k = b.k and b.k = c.k and c.k = d.k and d.k = e.k"
    )
    interpreter = Interpreter(compile_views("p", DIMENSIONS, {"v": sql}))
    for i in range(12):
        interpreter.apply(1, "d0", (i, i))
    assert sorted(interpreter.view_rows("v")) == [(i,) for i in range(12)]
    assert all(len(entries) <= 12 for entries in interpreter.maps.values())


def test_a_scalar_subquery_with_several_rows_is_an_error_when_the_view_is_read() -> None:
    sql = "select d0.v as a, (select d1.v from d1 where d1.k = d0.k) as b from d0"
    interpreter = Interpreter(compile_views("p", DIMENSIONS, {"v": sql}))
    for event in ((1, "d0", (1, 10)), (1, "d1", (1, 20)), (1, "d1", (2, 30)), (1, "d1", (2, 31))):
        interpreter.apply(*event)
    assert interpreter.view_rows("v") == [(10, 20)], "nobody asks about 2"
    interpreter.apply(1, "d1", (1, 21))
    with pytest.raises(ValueProblem) as caught:
        interpreter.view_rows("v")
    assert caught.value.kind == "scalar-subquery"
    interpreter.apply(-1, "d1", (1, 20))
    assert interpreter.view_rows("v") == [(10, 21)]
