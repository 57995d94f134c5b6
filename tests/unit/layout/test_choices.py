"""What was chosen of how maps are kept is stored, and a plan that is made from it is the same, whatever would be chosen today."""

from __future__ import annotations

import dataclasses
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings

from cumulus_ops.layout import groups
from cumulus_ops.layout.choices import NOTHING, Choices
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.project.errors import SetupProblem
from m3 import compile_views
from m3.datatypes import INT, STRING, decimal
from m3.errors import M3Error
from m3.program import Column, Relation
from tests.support import tpch_small
from tests.support.random_programs import RELATIONS, sql_views

LINES = Relation(
    "line",
    (
        Column("o", INT),
        Column("part", INT),
        Column("supplier", INT),
        Column("price", decimal(9, 2)),
        Column("town", STRING),
    ),
    ("o", "part", "supplier"),
    1000,
)
ORDERS = Relation("orders", (Column("id", INT), Column("day", INT)), ("id",), 500)
VIEWS = {
    "a": "SELECT day, SUM(price) AS s FROM line, orders WHERE o = id GROUP BY day",
    "b": "SELECT day, part, MIN(price) AS least FROM line, orders WHERE o = id GROUP BY day, part",
}
MORE = {"c": "SELECT y, COUNT(DISTINCT x) AS n FROM extra GROUP BY y"}


def shown(plan: ProgramPlan) -> dict[str, object]:
    """All that a plan says."""
    return {f.name: getattr(plan, f.name) for f in fields(plan)}


def again(plan: ProgramPlan) -> ProgramPlan:
    """The plan as another process makes it from what is stored."""
    return plan_program(plan.program, plan.versions.name, Choices.from_json(plan.choices_json))


@pytest.mark.parametrize("query", ["q3", "q5", "q8", "q9", "q17", "q20", "q21"])
def test_a_stored_plan_is_the_same_whatever_the_rules_are_by_then(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    relations = [dataclasses.replace(r, rows=ROWS.get(r.name, 10)) for r in tpch_small.RELATIONS]
    plan = plan_program(compile_views(query, relations, {query: tpch_small.view_text(query)}), "batch")
    assert shown(again(plan)) == shown(plan)
    monkeypatch.setattr(groups, "SHARE", 1e9)
    assert shown(again(plan)) == shown(plan)


ROWS = {"lineitem": 6000, "partsupp": 800, "orders": 1500, "part": 200, "customer": 150}


@given(sql_views())
@settings(suppress_health_check=list(HealthCheck))
def test_random_plans_are_stored_whole(views: dict[str, str]) -> None:
    try:
        program = compile_views("p", RELATIONS, views)
    except M3Error:
        return
    plan = plan_program(program, "batch")
    assert shown(again(plan)) == shown(plan)


def test_what_is_kept_stays_as_it_is_and_only_what_is_new_is_chosen() -> None:
    old = plan_program(compile_views("p", (ORDERS, LINES), VIEWS), "batch")
    both = compile_views("p", (Relation("extra", (Column("x", INT), Column("y", STRING))), ORDERS, LINES), VIEWS | MORE)
    kept = frozenset(old.program.map_by_name)
    assert kept <= set(both.map_by_name), "the views of before have the same maps, called the same"
    new = plan_program(both, "batch", old.choices)
    for name, group in old.groups.items():
        assert new.groups[name] == group
        assert new.paths[name][: len(old.paths[name])] == old.paths[name]
    assert {r: new.ranks[r] for r in old.ranks} == old.ranks
    assert new.ranks["extra"] == max(old.ranks.values()) + 1
    assert {d: new.derived[d].stage for d in old.derived} == {d: plan.stage for d, plan in old.derived.items()}
    stages = [plan.stage for plan in new.derived.values()]
    assert len(set(stages)) == len(stages)
    assert not any(set(group.members) & kept and set(group.members) - kept for group in new.groups.values())
    labels = {name: [path.label for path in paths] for name, paths in new.paths.items()}
    assert all(len(set(of)) == len(of) for of in labels.values())


def test_what_goes_is_chosen_no_more() -> None:
    plan = plan_program(compile_views("p", (ORDERS, LINES), VIEWS), "batch")
    together = plan.choices.together()
    assert {name: together[name] for name in plan.group_of} == {
        name: frozenset(plan.groups[group].members) for name, group in plan.group_of.items()
    }
    assert plan.choices.of(frozenset()).alike == ()
    assert plan.choices.of(frozenset(plan.program.map_by_name)) == plan.choices
    assert NOTHING.of(frozenset()) == NOTHING


def test_another_format_is_refused() -> None:
    with pytest.raises(SetupProblem, match="format 99"):
        Choices.from_json('{"format": 99}')
