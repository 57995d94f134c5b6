"""What the catalog says of runs: hashes that are the same whatever way events take, and how each commit came to be; a lost file costs its own runs only."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cumulus_ops.compute import steps
from cumulus_ops.epochs.checkpoint import commit, merge
from cumulus_ops.maps.runs import RunData
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.query.read import read_view
from tests.model.test_engine_against_interpreter import PROGRAMS
from tests.support.hashed import Copies, check_hashes
from tests.support.histories import Append, Commit, Correct, History, Local, Seal, play, random_history
from tests.support.losing import lose
from tests.support.projects import append_events, make_project
from tests.support.random_programs import RELATIONS


def played(folder: Path, name: str, history: History, memory: int | None = None) -> Copies:
    """What each copy holds in the end, without versions."""
    project = make_project(folder, RELATIONS, **PROGRAMS[name])
    initialise(project)
    with open_runtime(project) as opened:
        less = opened.project if memory is None else dataclasses.replace(opened.project, memory=memory)
        rt = dataclasses.replace(opened, project=less)
        play(history, [Local(rt)])
        return {copy: found._replace(content=None) for copy, found in check_hashes(rt).items() if found.total}


@pytest.mark.parametrize("name", ["sql", "beyond rings"])
def test_copies_hold_the_same_whatever_way_their_events_have_taken(name: str, tmp_path: Path) -> None:
    """Batches, coordinators, interleaving, corrections, refreshes, merges, epochs, memory: none of it shows."""
    history = random_history(5)
    appended = [step for step in history if isinstance(step, Append)]
    whole = tuple(event for step in appended for event in step.events)
    at_once: History = (Append(0, whole), Commit(0))
    one_by_one: list[Any] = []
    for number, event in enumerate(whole):
        one_by_one += [Append(number % 3, (event,)), Commit(number), *([Correct(0), Seal()] if number % 9 == 8 else [])]
    expected = played(tmp_path / "history", name, history)
    assert len(expected) > 5
    assert played(tmp_path / "once", name, at_once) == expected
    assert played(tmp_path / "one by one", name, tuple(one_by_one), memory=1) == expected


def shop(folder: Path) -> Any:
    """Two views of two relations, which read nothing of each other."""
    views = {"a": "SELECT a, SUM(b) AS s FROM r GROUP BY a", "n": "SELECT n, COUNT(*) AS c FROM t GROUP BY n"}
    project = make_project(folder, RELATIONS, views=views)
    initialise(project)
    return project


def apply_some(rt: Runtime, first: int, last: int, relations: str = "rt") -> None:
    """Batches with one row of each relation."""
    local = Local(rt)
    for number in range(first, last):
        rows: dict[str, tuple[object, ...]] = {"r": (number % 3, 1), "t": (number, "xy"[number % 2])}
        batch = append_events(rt, 0, [(name, 1, rows[name]) for name in relations], f"d{number}")
        local.begin(batch)
        local.commit(batch)
    local.correct()


def end_epoch(rt: Runtime, epoch: int) -> None:
    """All vote, and it is committed."""
    for _ in range(3):
        assert Local(rt).seal() is not None
    commit(rt, epoch)
    for consumer in rt.project.consumers:
        rt.catalog.snapshots.record_done(consumer, epoch)


def test_a_merge_that_loses_a_row_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands in no run's place, and the catalog says that merging fails until it succeeds."""
    right = steps.merge_runs

    def wrong(runs: Sequence[RunData], names: Sequence[str], committed: int, oldest: int) -> pa.Table:
        merged = right(runs, names, committed, oldest)
        return merged.slice(1) if len(merged) > 3 else merged

    with open_runtime(shop(tmp_path)) as rt:
        apply_some(rt, 0, 4)
        monkeypatch.setattr(steps, "merge_runs", wrong)
        merge(rt)
        (problem,) = rt.catalog.problems.step_problems()
        assert problem.step == "merge"
        assert "does not hold what they do" in problem.problem
        copies = check_hashes(rt)
        monkeypatch.setattr(steps, "merge_runs", right)
        merge(rt)
        assert not rt.catalog.problems.step_problems()
        assert check_hashes(rt) == copies


@pytest.mark.parametrize("how", ["deleted", "overwritten", "another run's"])
def test_a_lost_file_costs_its_own_runs_only(how: str, tmp_path: Path) -> None:
    """Batches are applied, other maps merged, other views read, and snapshots made."""
    with open_runtime(shop(tmp_path)) as rt:
        apply_some(rt, 0, 2, "t")
        apply_some(rt, 2, 4)
        runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
        lost, other = (
            [run for run in runs if run.commit == number] for number in sorted({run.commit for run in runs})[:2]
        )
        file = rt.project.state / lost[0].path
        if how == "deleted":
            file.unlink()
        elif how == "another run's":
            file.write_bytes((rt.project.state / other[0].path).read_bytes())
        lose(rt, lost if how == "overwritten" else ())
        apply_some(rt, 4, 8)
        end_epoch(rt, 0)
        assert read_view(rt, "a", as_of=0)["s"].to_pylist() == [2, 2, 2]
        with pytest.raises((IntegrityProblem, FileNotFoundError)):
            read_view(rt, "n", as_of=0)
        left = Counter(run.map for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit()))
        concerned = {run.map for run in lost}
        assert all(left[name] > 2 for name in concerned)
        assert [count for name, count in left.items() if name not in concerned] == [1]
        assert [problem.step for problem in rt.catalog.problems.step_problems()] == ["merge"]


def test_commits_say_how_their_runs_came_to_be(tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, **PROGRAMS["beyond rings"])
    initialise(project)
    with open_runtime(project) as rt:
        play(random_history(5, steps=60), [Local(rt)])
        commits = {c.number: c for c in rt.catalog.recipes.commits()}
        kinds = Counter(c.kind for c in commits.values())
        assert kinds.keys() >= {"apply", "correct", "refresh", "merge"}
        assert {c.recipe.revision for c in commits.values()} == {1}
        for number, found in commits.items():
            if found.kind in ("apply", "correct", "refresh"):
                assert found.recipe.read_at is not None
                assert found.recipe.read_at < number
        applied = {batch.commit for batch in rt.catalog.log.batches()}
        assert {c.number for c in commits.values() if c.kind == "apply"} == applied


def bytes_of_recipes(rt: Runtime) -> int:
    """What recipes take in the catalog, and what runs take more than without roots and hashes."""
    with rt.catalog.database.engine.connect() as connection:
        recipes = connection.exec_driver_sql("SELECT SUM(8 + COALESCE(LENGTH(recipe), 0)) FROM 'commit'").scalar_one()
        runs = connection.exec_driver_sql("SELECT COUNT(*) FROM run").scalar_one()
    return int(recipes) + 48 * int(runs)


def test_lineage_takes_little_room_and_goes_with_its_runs(tmp_path: Path) -> None:
    """At most 20 kB of catalog for an epoch; recipes stay as long as something may have to be made again by them."""
    with open_runtime(
        dataclasses.replace(shop(tmp_path), epoch=dataclasses.replace(shop(tmp_path).epoch, retain=1))
    ) as rt:
        sizes = []
        for epoch in range(4):
            before = bytes_of_recipes(rt) if epoch else 0
            apply_some(rt, 30 * epoch, 30 * epoch + 30)
            assert bytes_of_recipes(rt) - before < 20_000
            end_epoch(rt, epoch)
            sizes.append(sum(1 for c in rt.catalog.recipes.commits() if c.recipe.since is not None))
        assert max(sizes[1:]) < sizes[0] + 10
        kept = {run.commit for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())}
        merges = [c for c in rt.catalog.recipes.commits() if c.kind == "merge"]
        assert any(c.recipe.since is None for c in merges)
        assert all(c.recipe.since is not None for c in merges if c.number in kept)
