"""Depth, strata, cycles and renderings of the dataflow graph."""

from __future__ import annotations

from m3 import check, compile_views, parse
from m3.dataflow import (
    cycle_leader,
    dataflow,
    depth,
    describe_dataflow,
    is_cyclic,
    strata,
)
from tests.unit.m3.test_syntax import EXAMPLE_2_1
from tests.unit.m3.tpch import RELATIONS, VIEWS

CYCLE = """RELATION R(a INT); RELATION S(a INT);
MAP b[a INT] : INT; MAP a[a INT] : INT; MAP base[a INT] : INT; MAP loop[] : INT; MAP top[a INT] : INT;
ON +R(a) { a[a] += b[a]; base[a] += 1; top[a] += a[a] }
ON +S(a) { b[a] += a[a] * base[a]; loop[] += loop[] }
"""


def test_the_papers_example():
    program = check(parse(EXAMPLE_2_1))
    assert depth(program) == {"q": 2, "m1": 1, "m2": 1, "m3": 0, "m4": 0, "m5": 0}
    assert strata(program) == (("m3",), ("m4",), ("m5",), ("m1",), ("m2",), ("q",))
    assert not any(is_cyclic(program, s) for s in strata(program))


def test_hyperedges_carry_event_and_statement():
    graph = dataflow(check(parse(EXAMPLE_2_1)))
    labels = [(d["event"], d["statement"]) for _, _, d in graph.edges(("map", "m5"), data=True)]
    assert labels == [("+ORDERS", 0), ("+ORDERS", 1)]
    assert graph.number_of_edges(("relation", "ORDERS"), ("map", "q")) == 1


def test_cycles():
    program = check(parse(CYCLE))
    assert strata(program) == (("base",), ("loop",), ("b", "a"), ("top",))
    assert [is_cyclic(program, s) for s in strata(program)] == [False, True, True, False]
    assert cycle_leader(("b", "a")) == "a"
    assert depth(program) == {"base": 0, "loop": 0, "b": 1, "a": 1, "top": 2}


def test_sql_programs_are_acyclic_and_read_only_shallower_maps():
    program = compile_views("tpch", RELATIONS, VIEWS)
    levels = depth(program)
    assert all(len(s) == 1 and not is_cyclic(program, s) for s in strata(program))
    assert all(levels[r.map] < levels[s.target] for t in program.triggers for s in t.statements for r in s.reads())


def test_a_rendering_names_every_map_and_labels_edges():
    program = check(parse(CYCLE))
    text = describe_dataflow(program)
    assert "1  b (cycle, leader a)" in text
    assert "<- a  on +S#0" in text
