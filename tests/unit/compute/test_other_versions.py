"""A project whose catalog or state another version of Cumulus has made is refused in one line, and not touched."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from pathlib import Path

import pytest

from cumulus_ops.catalog.database import SCHEMA
from cumulus_ops.opening.runtime import initialise, open_runtime, waits_for_deployment
from cumulus_ops.project.errors import InputProblem, SetupProblem
from m3.datatypes import INT
from m3.program import Column, Relation
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
