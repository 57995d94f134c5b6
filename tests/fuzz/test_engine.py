"""Random queries on the engine: several views in one project, after every batch what the serial interpreter has.

The interpreter is compared with DuckDB elsewhere (``test_fuzz.py``); here the views of one program share maps, events
come as batches, derived maps are refreshed after each, and at last the epoch is committed. A view that is in error in the
interpreter is in error in the engine, which says the same of it. ``FUZZ_PROJECTS`` and ``FUZZ_SEED`` ask for other projects.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cumulus_ops.catalog.records import moment_of_now
from cumulus_ops.compute.steps import Executor, InProcess
from cumulus_ops.epochs.checkpoint import commit, refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from m3 import CompileError, Interpreter, compile_views
from m3.clock import CLOCK
from tests.fuzz.lookups import is_turn, looked_up
from tests.fuzz.queries import make_query
from tests.fuzz.schema import RELATIONS, Batch, left_over, make_batches
from tests.fuzz.timed import day_of, timed
from tests.support.odd_names import ODD, Naming
from tests.support.portions import InPortions
from tests.support.projects import append_events, make_project
from tests.support.views_in_error import engine_answer, interpreter_answer

PROJECTS = int(os.environ.get("FUZZ_PROJECTS", "2"))
VIEWS = 6
BASE = int(os.environ.get("FUZZ_SEED", "0"))


def make_views(seed: int, *, goes_on: bool = False) -> dict[str, str]:
    """Some queries that compile; of tables that are filtered by time, if that ``goes_on``."""
    views: dict[str, str] = {}
    number = seed
    while len(views) < VIEWS:
        made = timed(make_query(number)) if goes_on else make_query(number)
        number += 1
        try:
            compile_views("p", RELATIONS, {"v": made.sql})
        except CompileError:
            continue
        views[f"v{len(views)}"] = made.sql
    return views


def feed(rt: Runtime, oracle: Interpreter, batch: Batch, number: int) -> None:
    """One batch, for the engine and the interpreter; with a tick, where views depend on now()."""
    if CLOCK in rt.program.relation_by_name:
        batch = [*batch, (1, CLOCK, (day_of(number + 1),))]
    batch_id = append_events(rt, number % rt.project.coordinators, [(r, s, row) for s, r, row in batch], f"d{number}")
    apply_batch(rt, batch_id)
    refresh(rt)
    for event in batch:
        oracle.apply(*event)


def compare(rt: Runtime, oracle: Interpreter, number: int) -> None:
    """All views: their rows, or what their errors say."""
    for view in rt.program.views:
        theirs = interpreter_answer(oracle, view.name)
        assert engine_answer(rt, view.name) == theirs, f"after batch {number}: {view.sql}"


@pytest.mark.parametrize("number", range(PROJECTS))
def test_engine_has_what_the_interpreter_has(number: int, tmp_path: Path) -> None:
    with looked_up(is_turn(number)):
        follow(BASE + 100_000 + number * 50, tmp_path)


def test_engine_has_what_the_interpreter_has_with_odd_names(tmp_path: Path) -> None:
    follow(BASE + 11, tmp_path, Naming(BASE + 11, ODD))


@pytest.mark.parametrize("number", range(-(-PROJECTS // 4)))
def test_engine_has_what_the_interpreter_has_as_time_goes_on(number: int, tmp_path: Path) -> None:
    follow(BASE + 200_000 + number * 50, tmp_path, goes_on=True)


@pytest.mark.parametrize("number", range(-(-PROJECTS // 8)))
def test_engine_has_what_the_interpreter_has_in_portions(number: int, tmp_path: Path) -> None:
    for place, executor in enumerate((InPortions(3), InProcess(3, 2))):
        follow(BASE + 300_000 + number * 50, tmp_path / str(place), executor=executor, goes_on=number % 2 == 0)


def follow(
    seed: int,
    folder: Path,
    naming: Naming | None = None,
    *,
    executor: Executor | None = None,
    count: int = 8,
    goes_on: bool = False,
) -> None:
    """One project and its stream of some batches, to a committed epoch."""
    relations, views = RELATIONS, make_views(seed, goes_on=goes_on)
    batches = make_batches(seed, [r.name for r in RELATIONS], count)
    if naming is not None:
        relations, batches = tuple(naming.relations(relations)), naming.batches(batches)
        views = {name: naming.query(sql) for name, sql in views.items()}
    project = make_project(folder, relations, views=views, coordinators=2)
    initialise(project)
    with open_runtime(project) as rt:
        rt = replace(rt, executor=executor or rt.executor)
        oracle = Interpreter(rt.program)
        refresh(rt)
        compare(rt, oracle, -1)
        for place, batch in enumerate([*batches, left_over(batches)]):
            feed(rt, oracle, batch, place)
            compare(rt, oracle, place)
        for coordinator in range(2):
            vote(rt, coordinator, 0)
        commit(rt, 0)
        if goes_on:  # the epoch has had its tick
            oracle.advance(moment_of_now(rt.catalog.snapshots.at(0).now))
        compare(rt, oracle, len(batches) + 1)
