"""What is stored of projects is read, and goes on as it is. ``UPDATE_GOLDEN=1 pytest tests/golden`` stores anew what the compiler makes today: only when it is
meant to make something else, and the difference is to be reviewed."""

from __future__ import annotations

import dataclasses
import os

import pytest

from cumulus_ops.layout import groups
from cumulus_ops.layout.choices import Choices
from cumulus_ops.opening.compiling import find_edit
from cumulus_ops.opening.runtime import compile_project, plan_of
from cumulus_ops.project.definition import definition_of, with_definition
from m3 import check
from m3.carry import carry_over
from m3.formatting import format_program, program_from_json
from tests.support.stored import NAMES, compile_today, project_of, read_stored, tell_changes, write_stored


@pytest.mark.parametrize("name", NAMES)
def test_today_the_same_is_made_of_a_project(name: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        write_stored(name)
    changes = tell_changes(read_stored(name), compile_today(name))
    assert not changes, f"{name} would be maintained otherwise than it was:\n" + "\n".join(changes)


@pytest.mark.parametrize("name", NAMES)
def test_a_project_that_is_stored_goes_on_as_it_is(name: str) -> None:
    """Whatever today's compiler makes of it: no view has changed, no map is new, and nothing of its plan is chosen again."""
    stored, project = read_stored(name), project_of(name)
    old, edit = program_from_json(stored.compiled), find_edit(project, stored, whole=True)
    assert format_program(check(old)) == stored.text
    assert not edit.is_change
    plan, choices = plan_of(stored), Choices.from_json(stored.choices)
    assert plan.choices == choices
    if project.program_file is None:
        carried = carry_over(old, edit.new, choices.together(), as_they_are=edit.stays)
        assert (carried.fresh, carried.dropped) == ((), ())
        kept = carried.program
        assert (kept.maps, kept.triggers, kept.derivations) == (old.maps, old.triggers, old.derivations)
    defined = with_definition(project, old, stored.definition)
    assert set(defined.relations) == set(project.relations)
    assert definition_of(defined) == definition_of(project)


def test_it_is_said_which_maps_another_compiler_would_make_and_why() -> None:
    """As if a compiler made another sum of a view, called a map of another view otherwise, and left out a third one."""
    project = project_of("joins")
    views = {**project.views, "kinds": project.views["kinds"].replace("price * 2", "price * 3")}
    views["towns"] = views["towns"].replace("SUM(price) AS money, AVG(price) AS mean", "SUM(price) AS sum_of")
    del views["idle"]
    said = tell_changes(read_stored("joins"), compile_project(dataclasses.replace(project, views=views)))
    expected = [
        "view towns: map towns_sum_of: was called towns_money",
        "view kinds: map kinds_money: meaning: SELECT item.kind, buyer.town, SUM(sale.price * 2) FROM",
        "view kinds: map kinds_money: statements: ['sale +1: kinds_money[kind, town] += (price * 2) * m_buyer_1",
        "view idle: map idle_matched: goes",
        "chosen moves: [('m_buyer_2', 'm_buyer_1')] -> []",
    ]
    assert [start for start in expected if not any(line.startswith(start) for line in said)] == []
    assert not any("never" in line for line in said if not line.startswith("chosen")), "what stays is not spoken of"


def test_it_is_said_what_another_layout_would_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "SHARE", 1e9)
    said = tell_changes(read_stored("tpch"), compile_project(project_of("tpch")))
    assert said[0] == "chosen moves: [('m_customer_2', 'm_customer_3'), ('m_nation_2', 'm_nation_1')] -> []"
    assert said[1].startswith("chosen copies: {'m_customer_3': (AccessPath(")
    assert len(said) == 2
