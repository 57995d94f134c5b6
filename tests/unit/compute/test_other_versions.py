"""A project whose catalog or state another version of Cumulus has made is refused in one line, and not touched."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from pathlib import Path

import pytest

from cumulus_ops.catalog.database import SCHEMA
from cumulus_ops.deploying.changes import find_change
from cumulus_ops.opening.runtime import initialise, open_runtime, waits_for_deployment
from cumulus_ops.project.errors import InputProblem, SetupProblem
from m3 import compile_views
from m3.datatypes import INT
from m3.program import Column, Relation
from m3.sql import grouping
from tests.support import tpch_small
from tests.support.projects import make_project

R = Relation("r", (Column("a", INT), Column("b", INT)))
CHANGES = {
    "state-format": "UPDATE program SET format = 1",
    "plan-format": "UPDATE revision SET choices = '{\"format\": 99}'",
    "catalog-schema": "UPDATE alembic_version SET version_num = '0003'",
}


@pytest.mark.parametrize("kind", CHANGES)
def test_it_is_refused(tmp_path: Path, kind: str) -> None:
    project = make_project(tmp_path, [R], views={"v": "SELECT a, SUM(b) AS s FROM r GROUP BY a"})
    initialise(project)
    with open_runtime(project):
        pass
    with contextlib.closing(sqlite3.connect(project.catalog_url.removeprefix("sqlite:///"))) as database, database:
        database.execute(CHANGES[kind])
    with pytest.raises(SetupProblem) as caught, open_runtime(project):
        pass
    assert caught.value.kind == kind
    assert ("init" if kind == "catalog-schema" else "cumulus anew") in caught.value.hint
    assert "\n" not in caught.value.message


def test_the_schema_that_is_asked_for_is_the_newest_migration() -> None:
    folder = Path(__file__).parents[3] / "cumulus_ops" / "catalog" / "migrations" / "versions"
    assert max(file.name[:4] for file in folder.glob("0*.py")) == SCHEMA


def test_init_refuses_another_format_before_it_changes_anything(tmp_path: Path) -> None:
    project = make_project(tmp_path, [R], views={"v": "SELECT a, SUM(b) AS s FROM r GROUP BY a"})
    initialise(project)
    with contextlib.closing(sqlite3.connect(project.catalog_url.removeprefix("sqlite:///"))) as database, database:
        for change in ("state-format", "catalog-schema"):
            database.execute(CHANGES[change])
    with pytest.raises(SetupProblem) as caught:
        initialise(project)
    assert caught.value.kind == "state-format"
    with contextlib.closing(sqlite3.connect(project.catalog_url.removeprefix("sqlite:///"))) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [("0003",)]


def test_a_program_that_other_rules_made_goes_on_and_other_views_wait_to_be_deployed(tmp_path: Path) -> None:
    project = make_project(tmp_path, [R], views={"v": "SELECT a, AVG(b) AS s FROM r GROUP BY a"})
    initialise(project)
    for change in ("source = 'by other rules'", "source = 'by other rules', digest = 'of averages with four decimals'"):
        with contextlib.closing(sqlite3.connect(project.catalog_url.removeprefix("sqlite:///"))) as database, database:
            database.execute(f"UPDATE revision SET {change}")
        initialise(project)
    other = dataclasses.replace(project, views={"v": "SELECT a, MAX(b) AS s FROM r GROUP BY a"})
    with pytest.raises(InputProblem, match="has changed since it was deployed") as caught:
        initialise(other)
    assert caught.value.kind == "program-changed"
    assert "\n" not in caught.value.message
    initialise(other, goes_on=True)
    with open_runtime(other) as rt:
        assert rt.project.views == project.views
        assert waits_for_deployment(other, rt.catalog)
        assert not waits_for_deployment(project, rt.catalog)


def test_a_compiler_that_would_make_other_maps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With another threshold TPC-H 8 has other maps, as a newer compiler's might: it goes on with those that it has."""
    views = {
        "q8": "-- what is compiled here is for this test alone\n" + tpch_small.view_text("q8"),
        "q6": tpch_small.view_text("q6"),
    }
    project = make_project(tmp_path, tpch_small.RELATIONS, views=views)
    monkeypatch.setattr(grouping, "MUCH", 390)
    initialise(project)
    monkeypatch.undo()
    with open_runtime(project) as rt:
        before = rt.program
        assert len(compile_views("x", project.relations, views).maps) != len(before.maps)
    commented = dataclasses.replace(project, views={**views, "q6": "-- a comment\n" + views["q6"]})
    initialise(commented)
    with open_runtime(commented) as rt:
        assert rt.program.maps == before.maps
        assert find_change(rt).is_nothing
        assert not waits_for_deployment(commented, rt.catalog)
    more = dataclasses.replace(commented, views={**views, "n": "SELECT COUNT(*) AS n FROM orders"})
    with open_runtime(more) as rt:
        change = find_change(rt)
        assert (change.views, change.dropped) == ({"n": "added"}, frozenset())


def test_a_program_for_which_the_order_of_events_matters_is_not_changed_in_parts(tmp_path: Path) -> None:
    """What a batch has added up says no more how many events came before each. Of sequential programs others may be changed
    (:mod:`tests.support.sequential_worlds`)."""
    text = (
        "PROGRAM p SEMANTICS SEQUENTIAL; RELATION r(a INT, b INT); MAP n[] : INT; MAP q[] : INT; VIEW v[] VALUES q = q COLUMNS q = {}; "
        "ON +r(a, b) {{ n[] += 1; q[] += n[] }} ON -r(a, b) {{ q[] += -1 * n[]; n[] += -1 }}"
    )
    project = make_project(tmp_path, [R], program=text.format("q"))
    initialise(project)
    other = make_project(tmp_path, [R], program=text.format("q + 1"))
    with open_runtime(other) as rt, pytest.raises(InputProblem) as caught:
        find_change(rt)
    assert caught.value.kind == "order-sensitive"
