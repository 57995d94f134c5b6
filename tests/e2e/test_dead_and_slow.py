"""Processes that die, or stand still for long, in the middle of a step: nobody waits for them, and nothing is lost."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from cumulus_ops.epochs.checkpoint import collect_garbage, commit, merge
from cumulus_ops.epochs.minibatch import RUNS, run_minibatch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import epoch_end
from tests.support.children import apply_drops, start, wait, wait_until_stopped
from tests.support.drops import make_shop
from tests.support.leases import lapse
from tests.support.projects import engine_maps
from tests.support.sampling import sampled

#: Of two coordinators, these are more batches than runs that are left alone: they merge.
PERIODS = RUNS // 2 + 2


def _most_runs(rt: Runtime) -> int:
    """The runs of the access path that has most of them."""
    return max(
        Counter((r.map, r.access_path) for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit())).values()
    )


def _end_epoch(rt: Runtime) -> object:
    for coordinator in range(3):
        vote(rt, coordinator, 0)
    commit(rt, 0)
    return engine_maps(rt, epoch_end(0))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> object:
    """The maps when nobody dies."""
    project = _project(tmp_path_factory.mktemp("quiet"))
    with open_runtime(project, "inprocess") as rt:
        _work(rt, (0, 1, 2))
        return _end_epoch(rt)


def _project(folder: Path) -> Project:
    project = make_shop(folder, periods=PERIODS)
    initialise(project)
    return project


def _work(rt: Runtime, coordinators: tuple[int, ...]) -> int:
    """All drops of some coordinators; the most runs that an access path ever had."""
    most = 0
    for _ in range(PERIODS):
        for coordinator in coordinators:
            if run_minibatch(rt, coordinator) is not None:
                most = max(most, _most_runs(rt))
    return most


def test_a_coordinator_that_was_killed_holds_merging_back_only_while_its_lease_lasts(
    tmp_path: Path, expected: object
) -> None:
    project = _project(tmp_path)
    assert wait(start(apply_drops, project, 0, 1, fault="apply.before-commit")) == -signal.SIGKILL
    with open_runtime(project, "inprocess") as rt:
        for _ in range(2):
            run_minibatch(rt, 1)
        read_at = rt.catalog.commits.last_commit() - 2
        assert all(r.origin <= read_at for r in rt.catalog.commits.mergeable(rt.catalog.commits.last_commit())), (
            "it may be slow only"
        )
        lapse(project.catalog_url)
        assert _work(rt, (1, 2)) <= RUNS + 1
        _work(rt, (0,))
        assert _end_epoch(rt) == expected


@pytest.mark.parametrize("place", sampled(["append.before-commit", "apply.before-files", "apply.before-commit"], 2))
def test_a_process_that_stood_still_while_others_went_on_does_its_step_again(
    place: str, tmp_path: Path, expected: object
) -> None:
    project = _project(tmp_path)
    child = start(apply_drops, project, 0, PERIODS, pause=place)
    try:
        wait_until_stopped(child)
        lapse(project.catalog_url)
        with open_runtime(project, "inprocess") as rt:
            run_minibatch(rt, 1)
            first = {run.path for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())}
            _work(rt, (1, 2))
            while merge(rt):
                pass
            collect_garbage(rt)
            assert any(not (project.state / path).exists() for path in first), "what was merged is deleted"
            assert all((project.state / path).exists() for path in rt.catalog.leases.known_paths())
            os.kill(child.pid or 0, signal.SIGCONT)
            assert wait(child) == 0
            assert _end_epoch(rt) == expected
    finally:
        child.kill()
