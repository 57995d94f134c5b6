"""The version scheme: proved when a project is initialised, kept by the catalog, and the same maps under either."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from pathlib import Path

import pytest

from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import initialise, open_runtime
from m3 import compile_views, format_program
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps
from tests.support.random_programs import RELATIONS
from tests.support.ring_programs import PROGRAM, SELF_JOINS

INSERT, DELETE = SELF_JOINS[0]
SUMMABLE = PROGRAM.format(semantics="SEQUENTIAL", insert=INSERT, delete=DELETE)
EVENTS: list[Event] = [
    *(("r", 1, row) for row in [(1, 1), (1, 2), (2, 1), (1, 1)]),
    *(("s", 1, row) for row in [(1, None, Decimal("1.50")), (2, 1, Decimal("2.25"))]),
    ("r", -1, (1, 2)),
    ("r", 1, (1, 2)),
]


def granularity(project) -> str:
    with open_runtime(project) as rt:
        return rt.catalog.program.record().granularity


@pytest.mark.parametrize("semantics", ["SEQUENTIAL", "SNAPSHOT"])
@pytest.mark.parametrize("join", SELF_JOINS, ids=["summable", "single"])
def test_programs_by_hand_have_the_versions_that_are_proved(tmp_path: Path, join, semantics: str) -> None:
    text = PROGRAM.format(semantics=semantics, insert=join[0], delete=join[1])
    project = make_project(tmp_path, RELATIONS, program=text, coordinators=1)
    initialise(project)
    assert granularity(project) == ("batch" if join is SELF_JOINS[0] else "event")
    with open_runtime(project) as rt:
        apply_batch(rt, append_events(rt, 0, EVENTS, "all at once"))
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, EVENTS))


def test_a_compiled_program_keeps_its_versions_as_a_text(tmp_path: Path) -> None:
    views = {"v": "SELECT r1.a, COUNT(*) AS n, MIN(r2.b) AS m FROM r r1, r r2 WHERE r1.b = r2.a GROUP BY r1.a"}
    text = format_program(compile_views("test", RELATIONS, views))
    for name, given in (("sql", {"views": views}), ("text", {"program": text})):
        project = make_project(tmp_path / name, RELATIONS, **given)
        initialise(project)
        assert granularity(project) == "batch"


def test_what_is_registered_keeps_its_versions(tmp_path: Path) -> None:
    """A project of before anything was proved: its data have versions by event, and keep them when something is set otherwise."""
    project = make_project(tmp_path, RELATIONS, program=SUMMABLE, coordinators=1)
    initialise(project, versions="event")
    with open_runtime(project) as rt:
        apply_batch(rt, append_events(rt, 0, EVENTS[:5], "before"))
    project = dataclasses.replace(project, batch_rows=77)  # another source: the program is compiled and planned again
    initialise(project)
    assert granularity(project) == "event"
    with open_runtime(project) as rt:
        apply_batch(rt, append_events(rt, 0, EVENTS[5:], "after"))
        assert rt.plan.versions.name == "event"
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, EVENTS))
