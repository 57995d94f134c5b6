"""The law of repairs: whichever runs are lost, and whenever, what is made again is what they held, for all who tell it apart."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cumulus_ops.catalog.records import Run
from cumulus_ops.compute import kernel, reading
from cumulus_ops.compute.steps import StepResult, Task, run_step
from cumulus_ops.deploying.changes import find_change
from cumulus_ops.deploying.deploy import _begin, _fill_up, deploy
from cumulus_ops.epochs import checkpoint, voting
from cumulus_ops.epochs.setting_aside import retract
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.hashes import PRIME
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import Conflict, IntegrityProblem
from cumulus_ops.repair.differences import Part
from cumulus_ops.repair.maps import repair_runs
from cumulus_ops.repair.truths import Slot, Truths
from tests.model.test_engine_against_interpreter import PROGRAMS, QUICK, World, _bounded
from tests.model.test_extended_groups import ACTIONS, PROJECTS, act
from tests.support.histories import Local, Player, random_history
from tests.support.losing import choose_runs, choose_told_apart, held, lose
from tests.support.projects import make_project
from tests.support.random_programs import RELATIONS
from tests.support.sampling import sampled
from tests.support.worlds import World as Deployed

#: `LOSSES=200` plays more of them.
SEEDS = int(os.environ.get("LOSSES", "1"))


@pytest.fixture(autouse=True)
def bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "multiply", _bounded)
    monkeypatch.setattr(voting, "tick_if_due", lambda *_: False)  # ticks come when a test says so
    monkeypatch.setattr(
        checkpoint, "most_merged_rows", lambda rt: (2, 5, 20, 10**6)[rt.catalog.commits.last_commit() % 4]
    )
    monkeypatch.setattr(reading, "FEWEST_ROWS", 3)  # of a project with little memory: then a few rows are many parts


def with_memory(rt: Runtime, size: int | None) -> Runtime:
    """The project as if it might hold so many bytes."""
    return replace(rt, project=replace(rt.project, memory=size))


class Elsewhere:
    """Runs steps as Spark does, as far as others see: what they have computed is in files."""

    def prepare(self, plan: ProgramPlan) -> None:
        pass

    def run(self, task: Task) -> StepResult:
        return run_step(task)

    def close(self) -> None:
        pass


def lose_and_repair(rt: Runtime, choose: Random, chosen: list[Run] | None = None, *, here: bool = False) -> int:
    """Lose some runs, make them again and compare; returns how many were lost. ``here``: in this process for sure."""
    before = held(rt)
    lost = choose_runs(rt, choose) if chosen is None else chosen
    lose(rt, lost)
    executor = rt.executor if here else choose.choice((rt.executor, Elsewhere()))
    repaired = repair_runs(replace(with_memory(rt, choose.choice((1, 20_000, None))), executor=executor), lost)
    assert {run.id for run in repaired.lost} == {run.id for run in lost}
    visible = {run.id for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())}
    assert not visible & {run.id for run in lost}
    after = held(rt)
    if (
        before.keys() != after.keys()
    ):  # live batches told apart what was lost of a committed epoch, and were corrected first
        return len(lost)
    for reader, rows in before.items():
        for name in rows.keys() | after[reader].keys():
            assert after[reader].get(name, {}) == rows.get(name, {}), (reader, name, lost)
    return len(lost)


def take_back(rt: Runtime, choose: Random) -> None:
    """Set a batch aside that is applied, unless derived maps have incorporated it."""
    live = rt.catalog.commits.live_history(rt.catalog.commits.last_commit())
    with suppress(Conflict), rt.catalog.leases.step() as step:
        if live:
            retract(rt, step, choose.choice(live), "a test says so")


@pytest.mark.parametrize("name", PROJECTS)
@settings(QUICK, max_examples=SEEDS)
@given(data=st.data())
def test_lost_runs_of_random_histories(name: str, data: st.DataObject) -> None:
    relations, program, rows = PROJECTS[name]
    with tempfile.TemporaryDirectory() as folder:
        project = make_project(Path(folder), relations, **program)  # type: ignore[arg-type]
        initialise(project, versions="batch")
        with open_runtime(project) as rt:
            world = World(rt) if rows is None else World(rt, rows=rows)  # type: ignore[arg-type]
            choose = Random(data.draw(st.integers(0, 10**6)))
            for _ in range(data.draw(st.integers(1, 4))):
                for _ in range(data.draw(st.integers(3, 12))):
                    act(world, data, data.draw(st.sampled_from(ACTIONS)))
                if choose.random() < 0.3:
                    take_back(rt, choose)
                lost = lose_and_repair(rt, choose)
                event(f"{min(lost, 3)} lost")


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lost_runs_of_projects_that_change(tmp_path: Path, seed: int) -> None:
    """Between deployments, and before one that has begun is switched to; what comes afterwards is right as well."""
    world, lost = Deployed(tmp_path, seed), 0
    for _ in range(3):
        with open_runtime(world.project) as rt:
            for _ in range(world.random.randint(2, 14)):
                world.act(rt)
            lost += lose_and_repair(rt, world.random)
        changed = world.change()
        with open_runtime(changed) as rt:
            change = find_change(rt)
            if not change.is_nothing and rt.catalog.snapshots.newest() >= 0:
                _fill_up(rt, replace(rt, plan=change.plan), change, _begin(rt, change, None), print, None)
                lost += lose_and_repair(rt, world.random)
            deploy(rt)
        world.project = changed
        with open_runtime(world.project) as rt:
            lost += lose_and_repair(rt, world.random)
            for _ in range(world.random.randint(0, 6)):
                world.act(rt)
            lost += lose_and_repair(rt, world.random)
            world.finish(rt)
            for epoch in range(rt.catalog.snapshots.oldest_readable(), rt.catalog.snapshots.newest() + 1):
                world.check_snapshot(rt, epoch)
    assert lost


@pytest.mark.parametrize("seed", sampled(range(2), 2))
def test_all_runs_of_a_map_are_made_again_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Of maps that have a driver: what there was up to the oldest readable epoch, the epochs since, and live batches."""
    unite, united = Truths.unite, list[tuple[Slot, ...]]()

    def noted(truths: Truths, slots: list[Slot], *, with_live: bool) -> list[Slot]:
        found = unite(truths, slots, with_live=with_live)
        united.extend(slot.slots for slot in found)
        return found

    monkeypatch.setattr(Truths, "unite", noted)
    world, choose = Deployed(tmp_path, seed), Random(seed)
    with open_runtime(world.project) as rt:
        while rt.catalog.snapshots.newest() < 3:
            world.act(rt)
        for _ in range(4):
            world.act(rt)
            runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
            for name in sorted(rt.plan.base & {run.map for run in runs}):
                runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
                lose_and_repair(rt, choose, [run for run in runs if run.map == name], here=True)
    assert any(slots and slots[0].upto and len(slots) > 2 and slots[-1].epoch is None for slots in united)


def test_what_is_not_what_was_lost_is_refused(tmp_path: Path) -> None:
    """As if the catalog said of a run that it has held something else."""
    world = Deployed(tmp_path, seed=1)
    with open_runtime(world.project) as rt:
        while rt.catalog.snapshots.newest() < 1:
            world.act(rt)
        at = rt.catalog.commits.last_commit()
        run = max(rt.catalog.commits.runs(at), key=lambda r: (r.map in rt.plan.base, r.rows))
        assert run.total
        with pytest.raises(IntegrityProblem, match="is not what was lost") as caught:
            repair_runs(rt, [replace(run, total=run.total + 1)])
        assert caught.value.kind == "repair-unproved"
        assert rt.catalog.commits.last_commit() == at


def test_what_does_not_fit_memory_is_made_again_as_several_runs(tmp_path: Path) -> None:
    world = Deployed(tmp_path, seed=1)
    with open_runtime(world.project) as rt:
        while rt.catalog.snapshots.newest() < 2:
            world.act(rt)
        before = held(rt)
        run = max(
            rt.catalog.commits.runs(rt.catalog.commits.last_commit()), key=lambda r: (r.map in rt.plan.base, r.rows)
        )
        lose(rt, [run])
        made = repair_runs(with_memory(rt, 1), [run]).made
        assert len(made) > 1
        assert held(rt) == before
        assert sum(new.total or 0 for new in made) % PRIME == run.total
        lost = [r for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if r.path == made[0].path]
        assert lose_and_repair(rt, Random(0), lost) == len(made)


def test_what_a_clock_tells_apart_is_made_again_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of a batch and of its correction are lost together, and another batch has read the first of them only."""
    levels, looked = Part._levels, list[int]()

    def noted(*args: Any) -> list[tuple[int | None, list[Run]]]:
        found = levels(*args)
        looked.append(len(found))
        return found

    monkeypatch.setattr(Part, "_levels", noted)
    project = make_project(tmp_path, RELATIONS, **PROGRAMS["self-join"])
    initialise(project, versions="batch")
    with open_runtime(project) as rt:
        player = Player([Local(rt)])
        for step in random_history(1, steps=60):
            player.step(step)
            lost = choose_told_apart(rt)
            if lost:
                lose_and_repair(rt, Random(0), lost)
    assert max(looked) > 1
