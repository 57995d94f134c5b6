"""Statements of every shape against the interpreter, and views whose columns have more digits than a map's entry."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.query.read import read_view
from m3.datatypes import INT, decimal
from m3.program import Column, Relation
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps

D = Decimal
R = Relation("r", (Column("a", INT), Column("b", INT), Column("x", decimal(15, 2))))
S = Relation("s", (Column("b", INT), Column("c", INT)))

PROGRAM = """
PROGRAM p SEMANTICS {semantics};
RELATION r(a INT, b INT, x DECIMAL(15, 2));
RELATION s(b INT, c INT);
MAP pairs[b INT, c INT] : INT;
MAP rates[b INT] : DECIMAL(9, 2);
MAP total[] : DECIMAL(38, 6);
MAP by[a INT, c INT] : DECIMAL(38, 6);
ON +s(B, C) DO {{ pairs[B, C] += 1; rates[B] += 0.25; }}
ON -s(B, C) DO {{ pairs[B, C] += -1; rates[B] += -0.25; }}
ON +r(A, B, X) DO {{ {statement} }}
"""
STATEMENTS = {
    "late condition": "total[] += IF Y > A THEN X * pairs[B, Y] ELSE 0;",
    "late factor": "total[] += (Y + A) * X * pairs[B, Y];",
    "late condition and factor": "by[A, Y] += IF Y <> A AND A < 3 THEN (Y - A) * X * pairs[B, Y] ELSE 0;",
    "computed key": "by[A + B, Y + A] += pairs[B, Y];",
    "computed lookup": "total[] += pairs[B, A + 1] * X;",
    "constant lookup": "total[] += pairs[1, 2] * rates[B];",
    "linked reads": "total[] += pairs[B, Y] * pairs[Y, Z] * rates[Z];",
    "crossed reads": "by[Y, Z] += pairs[B, Y] * pairs[A, Z] * rates[B] * X;",
    "equal loop variables": "by[A, Y] += pairs[Y, Y] * X;",
}
EVENTS: list[Event] = [
    *(("s", 1, row) for row in [(1, 5), (1, 2), (2, 2), (5, 1), (2, 1), (1, 1), (1, 1)]),
    ("r", 1, (0, 1, D("1.50"))),
    ("r", 1, (3, 1, D("-0.25"))),
    ("s", -1, (1, 1)),
    ("s", -1, (5, 1)),
    ("r", 1, (1, 1, D("2.00"))),
    ("r", 1, (1, 2, D("0.01"))),
]


def feed(rt: Runtime, events: list[Event], drops: int) -> None:
    share = -(-len(events) // drops)
    for i in range(drops):
        apply_batch(rt, append_events(rt, 0, events[i * share : (i + 1) * share], f"d{i}"))


@pytest.mark.parametrize("semantics", ["SEQUENTIAL", "SNAPSHOT"])
@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_a_statement_adds_what_the_interpreter_adds(tmp_path: Path, statement: str, semantics: str) -> None:
    project = make_project(tmp_path, [R, S], program=PROGRAM.format(statement=statement, semantics=semantics))
    initialise(project)
    with open_runtime(project) as rt:
        feed(rt, EVENTS, 2)
        expected = oracle_maps(interpret(rt.program, EVENTS))
        assert expected["total"] or expected["by"]
        assert engine_maps(rt) == expected


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("SUM(b) / COUNT(*)", D("20")),
        ("SUM(x) / COUNT(*)", D("98765.43")),
        ("100.00 * SUM(x) / SUM(b)", D("493827.15")),
        ("SUM(x) * SUM(x) * SUM(x)", D("296296.29") ** 3),
        ("AVG(x)", D("98765.43")),
    ],
)
def test_a_column_of_a_view_may_have_38_digits(tmp_path: Path, column: str, value: D) -> None:
    having = "HAVING SUM(b) / COUNT(*) > 19.5"
    project = make_project(tmp_path, [R], views={"v": f"SELECT a, {column} AS q FROM r GROUP BY a {having}"})
    initialise(project)
    with open_runtime(project) as rt:
        feed(rt, [("r", 1, (1, 20, D("98765.43")))] * 3 + [("r", 1, (2, 1, D("0.01")))], 1)
        rows = read_view(rt, "v", tentative=True).to_pylist()
    assert rows == [{"a": 1, "q": value}]
