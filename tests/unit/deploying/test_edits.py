"""An edit compiles the views that it may concern, and no others; what it finds is what compiling all of them finds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from cumulus_ops.coordination.planning import plan_coordination
from cumulus_ops.deploying.changes import Change, find_change
from cumulus_ops.opening.compiling import find_edit
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime, waits_for_deployment
from cumulus_ops.project.settings import Project
from m3 import CompileError
from m3.compiler import pipeline
from m3.confluence.proof import prove
from m3.datatypes import INT, STRING, TIMESTAMP
from m3.program import Column, Relation
from tests.support.projects import make_project

R, S = (
    Relation("r", (Column("a", INT), Column("b", INT)), rows=100),
    Relation("s", (Column("c", INT), Column("t", TIMESTAMP))),
)
VIEWS = {
    "sums": "SELECT a, SUM(b) AS total FROM r GROUP BY a",
    "high": "SELECT a FROM sums WHERE total > 3",
    "top": 'SELECT COUNT(*) AS n FROM "High" JOIN s ON a = c',
    "late": "SELECT c FROM s WHERE c > 5 -- not of r_2, nor of sums_",
    "recent": "SELECT c FROM s WHERE t > now() - INTERVAL '7 days'",
}
Edit = Callable[[Project], Project]


def view(name: str, old: str, new: str) -> Edit:
    return lambda p: dataclasses.replace(p, views={**p.views, name: p.views[name].replace(old, new)})


def without(name: str) -> Edit:
    return lambda p: dataclasses.replace(p, views={n: text for n, text in p.views.items() if n != name})


def tables(*relations: Relation) -> Edit:
    return lambda p: dataclasses.replace(p, relations=relations)


WIDER = dataclasses.replace(S, columns=(*S.columns, Column("d", STRING.with_null())))
OF_R, OF_S = {"sums", "high", "top"}, {"top", "late", "recent"}
#: An edit, the views that it compiles, and what becomes of views.
EDITS: dict[str, tuple[Edit, set[str], dict[str, str]]] = {
    "a constant": (view("late", "5", "6"), {"late"}, {"late": "changed"}),
    "a constant in a view that others read": (
        view("sums", "SUM(b)", "SUM(b + 1)"),
        OF_R,
        dict.fromkeys(OF_R, "changed"),
    ),
    "a comment": (view("high", "SELECT", "/* why */ SELECT"), {"high", "top"}, {}),
    "lower case": (view("late", "SELECT", "select"), {"late"}, {}),
    "a view added": (
        lambda p: dataclasses.replace(p, views={"sums_": "SELECT c FROM s", **p.views}),
        {"sums_"},
        {"sums_": "added"},
    ),
    "a view removed": (without("top"), set(), {"top": "removed"}),
    "another order": (lambda p: dataclasses.replace(p, views=dict(reversed(p.views.items()))), set(), {}),
    "rows": (tables(dataclasses.replace(R, rows=9), S), set(), {}),
    "a table added": (tables(R, S, Relation("q", (Column("a", INT),))), set(), {}),
    "a column added": (tables(R, WIDER), OF_S, {}),
    "a key": (tables(R, dataclasses.replace(S, key=("c",))), OF_S, {}),
    "columns in another order": (tables(dataclasses.replace(R, columns=R.columns[::-1]), S), OF_R, {}),
    "a dialect": (lambda p: dataclasses.replace(p, dialect="duckdb"), set(VIEWS), {}),
    "memory": (lambda p: dataclasses.replace(p, memory=1 << 30), set(), {}),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = make_project(tmp_path_factory.mktemp("edits"), [R, S], views=VIEWS)
    initialise(made)
    return made


@contextmanager
def compiled_views(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The views that are compiled meanwhile."""
    names, parse = set[str](), pipeline.parse_view
    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "parse_view", lambda name, *rest: names.add(name) or parse(name, *rest))
        yield names


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_compiles_what_it_concerns(project: Project, edit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, concerned, views = EDITS[edit]
    edited = make(project)
    with open_runtime(edited) as rt:
        with compiled_views(monkeypatch) as names:
            change = find_change(rt)
        assert names == concerned
        assert change.views == views
        assert set(change.plan.program.view_by_name) == set(edited.views)
        with compiled_views(monkeypatch) as names:
            assert waits_for_deployment(edited, rt.catalog) == (not change.is_nothing)
        assert names == concerned
        assert_found_as_if_all_were_compiled(rt, change)


def assert_found_as_if_all_were_compiled(rt: Runtime, change: Change) -> None:
    whole = find_edit(rt.as_edited, rt.catalog.program.record(), whole=True)
    assert whole.views == change.views
    assert {v.name for v in whole.new.views} == set(rt.as_edited.views)
    program = change.plan.program
    assert change.coordination == plan_coordination(rt.as_edited, program, prove(program))


def test_an_edit_without_meaning_is_registered_without_the_others(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = view("late", "SELECT", "-- why\nSELECT")(project)
    with compiled_views(monkeypatch) as names:
        initialise(edited)
    assert names == {"late"}
    with open_runtime(edited) as rt:
        assert rt.project.views["late"] == edited.views["late"]
    with compiled_views(monkeypatch) as names:
        initialise(project)
    assert names == {"late"}


def test_who_reads_what_is_gone_is_told(project: Project) -> None:
    with open_runtime(without("high")(project)) as rt, pytest.raises(CompileError, match="no relation 'High'"):
        find_change(rt)
    with open_runtime(tables(R)(project)) as rt, pytest.raises(CompileError, match="no relation 's'") as caught:
        find_change(rt)
    assert {error.span.file for error in caught.value.all} == OF_S
