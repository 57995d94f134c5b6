"""The oracle's own rules: statement semantics, loop variables, exactness, atomicity of an event."""

from __future__ import annotations

from decimal import Decimal

import pytest

from m3 import Interpreter, ProgramError, ValueProblem, compile_views, parse
from m3.datatypes import INT, decimal
from m3.program import Column, Relation

ORDER = """PROGRAM p SEMANTICS {};
RELATION R(a INT);
MAP m1[] : INT; MAP m2[a INT] : INT; MAP m3[a INT] : INT;
ON +R(a) {{ m3[a] += 1; m2[a] += m3[a]; m1[] += m2[a] }}
"""


def test_statement_semantics_differ_where_a_trigger_reads_its_own_writes():
    sequential, snapshot = (Interpreter(parse(ORDER.format(s))) for s in ("SEQUENTIAL", "SNAPSHOT"))
    for interpreter in (sequential, snapshot):
        for _ in range(3):
            interpreter.apply(1, "R", (7,))
    assert sequential.maps == {"m3": {(7,): 3}, "m2": {(7,): 6}, "m1": {(): 10}}
    assert snapshot.maps == {"m3": {(7,): 3}, "m2": {(7,): 3}, "m1": {(): 1}}


def test_loop_variables_join_from_left_to_right_and_within_one_read():
    program = parse(
        "RELATION E(a INT, b INT); RELATION Q(a INT);"
        "MAP e[a INT, b INT] : INT; MAP two[a INT, c INT] : INT; MAP self[a INT] : INT;"
        "ON +E(a, b) { e[a, b] += 1 }"
        "ON +Q(a) { two[a, c] += IF b <> c THEN e[a, b] * e[b, c] ELSE 0; self[x] += e[x, x] }"
    )
    interpreter = Interpreter(program)
    for edge in [(1, 2), (2, 3), (1, 4), (4, 3), (4, 4), (3, 3)]:
        interpreter.apply(1, "E", edge)
    interpreter.apply(1, "Q", (1,))
    assert interpreter.maps["two"] == {(1, 3): 2}
    assert interpreter.maps["self"] == {(4,): 1, (3,): 1}


def test_null_keys_are_equal_and_zero_entries_vanish():
    program = parse("RELATION R(a INT NULL, b DECIMAL(5, 2)); MAP m[a INT NULL] : DECIMAL(20, 4);"
                    "ON +R(a, b) { m[a] += b } ON -R(a, b) { m[a] -= b }")  # fmt: skip
    interpreter = Interpreter(program)
    interpreter.apply(1, "R", (None, Decimal("1.5")))
    assert interpreter.maps["m"] == {(None,): 15000}
    interpreter.apply(-1, "R", (None, Decimal("1.50")))
    assert interpreter.maps["m"] == {}


def test_a_total_that_does_not_fit_is_an_error_of_who_reads_it_while_it_does_not():
    views = {"v": "select count(*) as n, sum(a) as t from r"}
    interpreter = Interpreter(compile_views("p", [Relation("r", (Column("a", INT),))], views))
    interpreter.apply(1, "r", (2**62,))
    interpreter.apply(1, "r", (2**62,))
    with pytest.raises(ValueProblem) as caught:
        interpreter.view_rows("v")
    assert caught.value.kind == "overflow"
    interpreter.apply(-1, "r", (2**62,))
    assert interpreter.view_rows("v") == [(1, 2**62)]


def test_an_expression_that_fails_can_be_counted():
    text = """
    RELATION r(a INT, b INT);
    MAP quotients[] : DECIMAL(38, 19);
    MAP failed[b INT] : INT;
    ON +r(A, B) DO { quotients[] += (ATTEMPT(A / B)); failed[B] += IF FAILS(A / B) = 1 THEN 1 ELSE 0; }
    """
    interpreter = Interpreter(parse(text))
    interpreter.apply(1, "r", (1, 0))
    interpreter.apply(1, "r", (1, 4))
    assert interpreter.maps == {"quotients": {(): 25 * 10**17}, "failed": {(0,): 1}}


def test_bad_rows():
    relation = Relation("r", (Column("a", INT), Column("b", decimal(4, 2))))
    interpreter = Interpreter(compile_views("p", [relation], {"v": "select sum(a) as t from r"}))
    for row, kind in [((1,), "bad-row"), ((None, Decimal(1)), "null-value"), ((1, Decimal(100)), "overflow")]:
        with pytest.raises(ValueProblem) as caught:
            interpreter.apply(1, "r", row)
        assert caught.value.kind == kind
    with pytest.raises(ProgramError):
        interpreter.apply(1, "nope", ())
    with pytest.raises(ProgramError):
        interpreter.view_rows("nope")


def test_a_view_without_existence_map_has_a_row_per_non_zero_entry():
    program = parse("RELATION R(a INT, b INT); MAP m[a INT] : INT; MAP n[a INT] : INT;"
                    "VIEW v[a INT] VALUES x = m, y = n COLUMNS a = a, x = x, y = y ORDER BY 1;"
                    "ON +R(a, b) { m[a] += b; n[b] += 1 }")  # fmt: skip
    interpreter = Interpreter(program)
    interpreter.apply(1, "R", (1, 5))
    interpreter.apply(1, "R", (2, 0))
    assert interpreter.view_rows("v") == [(0, 0, 1), (1, 5, 0), (5, 0, 1)]


def test_a_total_has_one_row_even_over_nothing():
    relation = Relation("r", (Column("a", INT),))
    sql = "select sum(a) as t, count(*) as n, avg(a) as m from r"
    interpreter = Interpreter(compile_views("p", [relation], {"v": sql, "h": sql + " having count(*) > 0"}))
    assert interpreter.view_rows("v") == [(None, 0, None)]
    assert interpreter.view_rows("h") == []
    interpreter.apply(1, "r", (5,))
    interpreter.apply(1, "r", (-5,))
    assert interpreter.view_rows("v") == [(0, 2, Decimal("0.0000"))]


def test_a_group_exists_by_its_rows_not_by_its_sum():
    relation = Relation("r", (Column("k", INT), Column("a", INT)))
    interpreter = Interpreter(compile_views("p", [relation], {"v": "select k, sum(a) as t from r group by k"}))
    interpreter.apply(1, "r", (1, 5))
    interpreter.apply(1, "r", (1, -5))
    assert interpreter.view_rows("v") == [(1, 0)]
