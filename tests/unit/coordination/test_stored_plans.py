"""A project's plan is stored with its program, and follows what the project declares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from cumulus_ops.catalog.seals import Seals
from cumulus_ops.coordination.plan import AT_ONCE, COMMITTED, COORDINATION, SEALED, CoordinationPlan, read_plan
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import Project, SealSettings
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import make_project

CLICKS = Relation("clicks", (Column("id", INT), Column("campaign", INT)))
VIEWS = {
    "popular": "SELECT id FROM clicks GROUP BY id HAVING COUNT(*) > 10",
    "poor": "SELECT campaign, id FROM clicks GROUP BY campaign, id HAVING COUNT(*) < 10",
}


def planned(project: Project) -> CoordinationPlan:
    initialise(project)
    with open_runtime(project) as rt:
        assert read_plan(project.state) == rt.coordination
        return rt.coordination


def test_the_plan_follows_what_is_declared(tmp_path: Path) -> None:
    project = make_project(tmp_path, [CLICKS], views=VIEWS)
    assert [v.final for v in planned(project).views] == [COMMITTED, COMMITTED]
    project = replace(project, insert_only=("clicks",))
    assert [v.final for v in planned(project).views] == [AT_ONCE, COMMITTED]
    project = replace(project, seals={"clicks": (SealSettings("c", ("campaign",)),)})
    plan = planned(project)
    assert [v.final for v in plan.views] == [AT_ONCE, SEALED]
    assert {(e.target, e.strategy, e.key, e.vote) for e in plan.edges if e.source == "poor"} == {
        ("answers", "seal", ("campaign",), True)
    }
    assert ("value-vote", "clicks.c") in {(b.name, b.about) for b in plan.barriers}
    assert CoordinationPlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("killed", [False, True])
def test_what_is_taken_back_is_not_promised_when_deletes_are_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    begun = make_project(tmp_path, [CLICKS], views=VIEWS)
    strict = replace(begun, insert_only=("clicks",))
    planned(strict)
    promised: list[str] = []

    def declare(*_: object) -> None:
        with open_runtime(strict) as rt:
            promised.append(rt.coordination.view("popular").final)
        raise KeyboardInterrupt if killed else InputProblem("no", kind="x")

    with monkeypatch.context() as patched:
        patched.setattr(Seals, "declare", declare)
        with pytest.raises(KeyboardInterrupt if killed else InputProblem):
            initialise(begun)
    assert promised == [COMMITTED]
    with open_runtime(strict) as rt:
        assert rt.coordination.view("popular").final == (COMMITTED if killed else AT_ONCE)
    assert planned(strict).view("popular").final == AT_ONCE
    assert planned(begun).view("popular").final == COMMITTED


def test_a_project_without_a_plan_is_final_with_its_epochs_until_it_is_initialised_again(tmp_path: Path) -> None:
    project = replace(make_project(tmp_path, [CLICKS], views=VIEWS), insert_only=("clicks",))
    planned(project)
    engine = sa.create_engine(project.catalog_url)
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE revision SET coordination = NULL, source = NULL"))
    engine.dispose()
    with open_runtime(project) as rt:
        assert rt.coordination.view("popular").final == COMMITTED
        assert {b.name for b in rt.coordination.barriers} >= {"vote", "applied", "checkpoint"}
    assert planned(project).view("popular").final == AT_ONCE


def test_a_plan_that_was_lost_beside_the_state_is_written_again(tmp_path: Path) -> None:
    project = make_project(tmp_path, [CLICKS], views=VIEWS)
    planned(project)
    (project.state / COORDINATION).unlink()
    assert planned(project).views


def test_what_is_registered_keeps_its_versions(tmp_path: Path) -> None:
    project = make_project(tmp_path, [CLICKS], views=VIEWS)
    initialise(project, versions="event")
    plan = planned(replace(project, insert_only=("clicks",)))
    assert (plan.scheme, plan.view("popular").final) == ("event", AT_ONCE)
