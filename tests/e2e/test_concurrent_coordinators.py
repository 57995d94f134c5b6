"""Coordinators in processes of their own, one catalog: no contribution is lost or doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import epoch_end
from tests.support.children import start, wait, work_as_coordinator
from tests.support.drops import make_shop
from tests.support.projects import engine_maps
from tests.support.sampling import sampled

EPOCHS, DROPS = 2, 4


def race(project: Project) -> int:
    """Run all coordinators at once, commit the epochs; the number of corrected entries."""
    initialise(project)
    children = [start(work_as_coordinator, project, c, DROPS, EPOCHS) for c in range(3)]
    assert [wait(c) for c in children] == [0, 0, 0]
    with open_runtime(project, "inprocess") as rt:
        return sum(commit(rt, epoch).corrections for epoch in range(EPOCHS))


def maps_at(project: Project) -> list[dict[str, dict[tuple[object, ...], int]]]:
    with open_runtime(project, "inprocess") as rt:
        return [engine_maps(rt, epoch_end(e)) for e in range(EPOCHS)]


@pytest.mark.parametrize("seed", sampled(range(3), 3))
def test_racing_coordinators_end_like_a_quiet_run(seed: int, tmp_path: Path) -> None:
    (tmp_path / "raced").mkdir()
    (tmp_path / "quiet").mkdir()
    raced = make_shop(tmp_path / "raced", periods=EPOCHS * DROPS, seed=seed)
    corrections = race(raced)
    quiet = make_shop(tmp_path / "quiet", periods=EPOCHS * DROPS, seed=seed)
    initialise(quiet)
    with open_runtime(quiet, "inprocess") as rt:
        from cumulus_ops.epochs.minibatch import run_minibatch
        from cumulus_ops.epochs.voting import vote

        for epoch in range(EPOCHS):
            for coordinator in range(3):
                for _ in range(DROPS):
                    assert run_minibatch(rt, coordinator) is not None
                vote(rt, coordinator, epoch)
            assert commit(rt, epoch).corrections == 0  # nobody was early
    assert maps_at(raced) == maps_at(quiet)
    assert corrections > 0, "the race never made a coordinator read too early"
