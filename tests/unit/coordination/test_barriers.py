"""Which barriers follow from a program, and what is left of them with one coordinator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from cumulus_ops.coordination.barriers import (
    APPLIED,
    CHECKPOINT,
    KINDS,
    REFRESH,
    SETTLE,
    SINGLE_VOTE,
    VALUE_SEAL,
    VALUE_VOTE,
    VOTE,
    barriers_of,
    in_force,
    left_out,
    waits_for,
    without,
)
from cumulus_ops.coordination.plan import (
    COMMITTED,
    COORDINATION,
    SEALED,
    CoordinationPlan,
    SealOf,
    ViewPlan,
    read_plan,
    write_plan,
)
from cumulus_ops.layout.plans import plan_program
from cumulus_ops.project.settings import SealSettings
from m3 import compile_views
from m3.program import Program
from tests.support.random_programs import RELATIONS, sql_views


def names(query: str) -> list[str]:
    return [b.name for b in barriers_of(compiled({"v": query}), {}, ())]


def compiled(views: dict[str, str]) -> Program:
    return compile_views("test", RELATIONS, views, None)


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("SELECT a, COUNT(*) AS n, SUM(b) AS s FROM r GROUP BY a", []),
        ("SELECT a, b FROM r WHERE a < 2", []),
        ("SELECT a FROM r UNION ALL SELECT b FROM s", []),
        ("SELECT COUNT(*) AS n FROM r JOIN s ON r.b = s.b", [SETTLE]),
        ("SELECT MIN(a) AS lo FROM r", [REFRESH]),
        ("SELECT r.a, MIN(x) AS lo FROM r JOIN s ON r.b = s.b GROUP BY r.a", [SETTLE, REFRESH]),
    ],
)
def test_barriers_follow_from_what_triggers_read(query: str, more: list[str]) -> None:
    assert names(query) == [VOTE, APPLIED, *more, CHECKPOINT]


@given(sql_views())
@settings(max_examples=10, deadline=None)
def test_corrections_are_needed_where_the_engine_looks_maps_up(views: dict[str, str]) -> None:
    program = compiled(views)
    plan = plan_program(program, "batch")
    looks_up = any(plan.readers(relation.name) for relation in program.relations)
    found = {b.name for b in barriers_of(program, {}, ())}
    assert (SETTLE in found) == looks_up
    assert (REFRESH in found) == bool(plan.derived)


def test_the_reason_names_the_statement() -> None:
    program = compiled({"v": "SELECT COUNT(*) AS n FROM r JOIN s ON r.b = s.b"})
    reason = next(b.reason for b in barriers_of(program, {}, ()) if b.name == SETTLE)
    assert "on +r, v_count reads" in reason


def test_a_seal_is_waited_for_if_a_view_is_final_by_it() -> None:
    by_a, by_b = (SealOf("r", c, (c,), (c,)) for c in "ab")
    seals = {"r": (SealSettings("a", ("a",)), SealSettings("b", ("b",), "one"), SealSettings("both", ("a", "b")))}
    views = (
        ViewPlan("v", "Run", "Async", SEALED, "", (by_a,)),
        ViewPlan("w", "Run", "Async", SEALED, "", (by_b,)),
        ViewPlan("x", "Run", "Async", COMMITTED, ""),
    )
    found = barriers_of(compiled({"v": "SELECT a FROM r"}), seals, views)
    assert [(b.name, b.about) for b in found if "." in b.about] == [(VALUE_VOTE, "r.a"), (VALUE_SEAL, "r.b")]
    alone = in_force(found, 1)
    assert [(b.name, b.about) for b in alone if "." in b.about] == [(VALUE_SEAL, "r.a"), (VALUE_SEAL, "r.b")]


def test_one_coordinator_has_nobody_to_wait_for() -> None:
    program = compiled({"v": "SELECT r.a, MIN(x) AS lo FROM r JOIN s ON r.b = s.b GROUP BY r.a"})
    barriers = barriers_of(program, {}, ())
    assert in_force(barriers, 2) == barriers
    assert [b.name for b in in_force(barriers, 1)] == [SINGLE_VOTE, APPLIED, REFRESH, CHECKPOINT]
    assert set(left_out(barriers, 1)) == {VOTE, SETTLE, VALUE_VOTE}
    assert set(left_out(barriers, 2)) == {VALUE_VOTE}
    assert left_out((), 2)[SETTLE] == KINDS[SETTLE].needless


def test_one_may_be_left_out() -> None:
    plan = CoordinationPlan("batch", barriers=barriers_of(compiled({"v": "SELECT MIN(a) AS lo FROM r"}), {}, ()))
    assert waits_for(plan, REFRESH)
    assert not waits_for(without(plan, {REFRESH}), REFRESH)
    assert waits_for(without(plan, {REFRESH}), APPLIED)


def test_the_file_of_a_plan(tmp_path: Path) -> None:
    plan = CoordinationPlan("batch", barriers=barriers_of(compiled({"v": "SELECT a FROM r"}), {}, ()))
    assert read_plan(tmp_path) is None
    write_plan(tmp_path / "state", plan)
    assert read_plan(tmp_path / "state") == plan
    before = (tmp_path / "state" / COORDINATION).stat().st_mtime_ns
    write_plan(tmp_path / "state", plan)
    assert (tmp_path / "state" / COORDINATION).stat().st_mtime_ns == before
    for broken in ("", "{", "[]", '{"scheme": "batch"}'):
        (tmp_path / "state" / COORDINATION).write_text(broken, encoding="utf-8")
        assert read_plan(tmp_path / "state") is None
