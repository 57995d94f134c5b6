"""The grain of versions: batches where events may be summed, events where their order counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.config import load_project
from cumulus_ops.coordination import BATCH, EVENT, granularity_of
from m3 import check, compile_views, format_program, parse
from m3.datatypes import INT
from m3.program import Column, Program, Relation

EXAMPLE = load_project(Path(__file__).parents[3] / "examples" / "tpch")
R = Relation("r", (Column("a", INT), Column("b", INT)))
S = Relation("s", (Column("b", INT), Column("c", INT)))


def compiled(sql: str) -> Program:
    return compile_views("p", [R, S], {"v": sql})


@pytest.mark.parametrize("view", sorted(EXAMPLE.views))
def test_the_examples_views_are_confluent(view: str) -> None:
    program = compile_views(view, EXAMPLE.relations, {view: EXAMPLE.views[view]})
    assert granularity_of(program, from_sql=True) == BATCH


@pytest.mark.parametrize(
    ("sql", "grain"),
    [
        ("SELECT a, COUNT(*) AS n FROM r GROUP BY a", BATCH),
        ("SELECT COUNT(*) AS n FROM r, s WHERE r.b = s.b", BATCH),
        ("SELECT COUNT(*) AS n FROM r x, r y WHERE x.a = y.b", EVENT),
        ("SELECT COUNT(*) AS n FROM r x, s, r y WHERE x.b = s.b AND s.c = y.a", EVENT),
    ],
)
def test_a_self_join_makes_events_of_one_relation_see_each_other(sql: str, grain: str) -> None:
    assert granularity_of(compiled(sql), from_sql=True) == grain


def test_one_self_join_decides_for_the_whole_program() -> None:
    views = {"plain": "SELECT COUNT(*) AS n FROM s", "self": "SELECT COUNT(*) AS n FROM r x, r y WHERE x.a = y.b"}
    assert granularity_of(compile_views("p", [R, S], views), from_sql=True) == EVENT


def test_a_text_alone_does_not_prove_that_order_is_free() -> None:
    program = compiled("SELECT COUNT(*) AS n FROM r, s WHERE r.b = s.b")
    again = check(parse(format_program(program)))
    assert again == program
    assert granularity_of(again, from_sql=False) == EVENT
