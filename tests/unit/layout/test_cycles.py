"""Maps that are computed from themselves: in stages where columns keep each chain of reads in one task, else in one task."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.layout.costs import REPLICATED, find_cycles, find_needs
from cumulus_ops.layout.partitioning import Layout, choose_layout
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.layout.stages import levels, schedule
from cumulus_ops.opening.compiling import build_program
from cumulus_ops.project.project_file import load_project
from m3 import check, parse

HOLDINGS = load_project(Path(__file__).parents[3] / "examples" / "holdings", {"CUMULUS_HOME": "nowhere"})
RING = """
PROGRAM ring SEMANTICS SNAPSHOT;
RELATION r(a INT, b INT);
RELATION s(a INT, b INT);
MAP one[k INT] : INT;
MAP two[k INT] : INT;
MAP ends[k INT] : INT;
ON +r(A, B) DO {{ one[{r}] += two[A]; }}
ON +s(A, B) DO {{ two[A] += one[A]; two[B] += 1; {ends} }}
"""


@pytest.fixture(scope="module")
def holdings() -> ProgramPlan:
    return plan_program(build_program(HOLDINGS), "event")


def ring(r: str = "A", ends: str = "") -> ProgramPlan:
    return plan_program(check(parse(RING.format(r=r, ends=ends))), "event")


def chosen(plan: ProgramPlan, *relations: str) -> Layout:
    return choose_layout(plan, dict.fromkeys(relations or ("r", "s"), 1e6), 4)


def test_a_cycle_is_settled_in_the_tasks_that_have_its_columns(holdings: ProgramPlan) -> None:
    layout = chosen(holdings, "split", "dividend", "trade")
    assert layout.labels["map", "shares"] == layout.labels["events", "split"] == ("symbol",)
    first, second = schedule(layout).stages
    assert not first.cycles
    assert {name for group in second.cycles for name, _ in group} == {"shares"}
    assert second.steps.index(next(iter(second.cycles))) < len(second.steps) - 1  # what reads it comes after it
    assert {s.kind for s in first.sent} == {"events"}
    assert second.sent == ()


def test_only_statements_of_the_batch_make_a_cycle(holdings: ProgramPlan) -> None:
    assert find_cycles(find_needs(holdings, ["trade", "dividend"])) == ()
    plan = ring()
    assert [len(c) for c in find_cycles(find_needs(plan, ["r", "s"]))] == [2]  # what adds 1 needs nothing
    assert chosen(plan, "r").labels == {}
    assert levels(ring(ends="ends[B] += one[A];")) == [("one", "two"), ("ends",)]


def test_a_cycle_of_several_maps_has_one_class_of_columns() -> None:
    plan = ring(ends="ends[B] += one[A];")
    layout = chosen(plan)
    assert not layout.alone
    assert layout.labels["map", "one"] == layout.labels["map", "two"] == ("k",)
    assert layout.labels["events", "r"] == layout.labels["events", "s"] == ("a",)
    first, second = schedule(layout).stages
    assert [(s.kind, s.name) for s in first.sent if s.kind == "map"] == [("map", "two")]  # what is added to two[B]
    assert second.cycles


@pytest.mark.parametrize(
    ("program", "how"),
    [
        ({"r": "B"}, "adds to"),  # a chain of reads goes from key to key
        (
            {"ends": "ends[B] += one[B];"},
            "s reads there for ends",
        ),  # and here the cycle's map is read by another column
    ],
)
def test_a_cycle_that_no_columns_keep_together_is_one_task(program: dict[str, str], how: str) -> None:
    layout = chosen(ring(**program))
    assert "computes one, two from what it adds to them (a cycle)" in layout.alone
    assert how in layout.alone
    assert schedule(layout).stages == ()


def test_a_project_may_decide_that_a_cycle_is_one_task() -> None:
    layout = choose_layout(ring(), {"r": 1e6, "s": 1e6}, 4, {("map", "one"): REPLICATED})
    assert layout.alone
