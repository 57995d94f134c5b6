"""Sums of several lines of one column, ``SUM(x + 1)``, ``SUM(2 * x - 3)``, ..: two maps and a check, and errors as before."""

from __future__ import annotations

import pytest

from m3 import compile_views
from m3.datatypes import INT, INT64_MAX, decimal
from m3.errors import ValueProblem
from m3.interpreter import Interpreter
from m3.program import Column, Relation

HITS = (Relation("hits", (Column("x", INT), Column("y", decimal(38, 2).with_null()))),)


def run(sql: str, *xs: int) -> Interpreter:
    interpreter = Interpreter(compile_views("lines", HITS, {"v": sql}))
    for x in xs:
        interpreter.apply(1, "hits", (x, None))
    return interpreter


def test_ninety_sums_take_a_sum_a_count_and_a_check() -> None:
    sql = f"SELECT {', '.join(f'SUM(x + {k}) AS s{k}' for k in range(90))} FROM hits"
    interpreter = run(sql, 3, 4)
    assert len(interpreter.program.maps) == 3
    assert interpreter.view_rows("v") == [tuple(7 + 2 * k for k in range(90))]


def test_the_greatest_offset_decides_whether_a_row_fails() -> None:
    sql = "SELECT SUM(x + 1) AS a, SUM(x + 5) AS b, SUM(x - 7) AS c FROM hits"
    assert run(sql, INT64_MAX - 5).view_rows("v") == [(INT64_MAX - 4, INT64_MAX, INT64_MAX - 12)]
    failing = run(sql, INT64_MAX - 4)
    with pytest.raises(ValueProblem, match=r"x \+ 5"):
        failing.view_rows("v")
    failing.apply(-1, "hits", (INT64_MAX - 4, None))
    failing.apply(1, "hits", (-INT64_MAX - 1, None))
    with pytest.raises(ValueProblem, match="x - 7"):
        failing.view_rows("v")


def test_a_total_may_fit_where_that_of_the_column_does_not() -> None:
    rows = (INT64_MAX, 1)
    assert run("SELECT SUM(x - 1) AS a, SUM(x - 2) AS b FROM hits", *rows).view_rows("v") == [
        (INT64_MAX - 1, INT64_MAX - 3)
    ]
    with pytest.raises(ValueProblem):
        run("SELECT SUM(x) AS a, SUM(x - 2) AS b FROM hits", *rows).view_rows("v")


def test_one_line_alone_is_summed_as_it_is_and_so_is_what_would_be_rounded() -> None:
    alone = compile_views("lines", HITS, {"v": "SELECT SUM(x + 1) AS a FROM hits"})
    assert [m.value for m in alone.maps if m.name == "v_a"] == [INT]
    wide = compile_views("lines", HITS, {"v": "SELECT SUM(y) AS a, SUM(y + 1.5) AS b FROM hits"})
    assert {"v_a", "v_b"} <= {m.name for m in wide.maps}
