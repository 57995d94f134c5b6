"""Tentative answers settle, whoever applied, whoever dies: real processes on one catalog, staggered by an epoch."""

from __future__ import annotations

import dataclasses
import datetime
import signal
from pathlib import Path

import pytest

from cumulus_ops.epochs.minibatch import run_minibatch, settle, settle_if_due
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import CorrectionSettings, Project
from tests.support.children import apply_drops, start, wait
from tests.support.drops import make_shop
from tests.support.projects import engine_maps
from tests.support.sampling import sampled

DROPS = 4
AT_ONCE, LATER = (CorrectionSettings(datetime.timedelta(seconds=s)) for s in (0, 3600))


def _project(folder: Path, corrections: CorrectionSettings) -> Project:
    """Coordinator 0 is an epoch ahead of the others: what they deliver counts before what it has delivered."""
    folder.mkdir(exist_ok=True)
    project = dataclasses.replace(make_shop(folder, periods=DROPS), corrections=corrections)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        vote(rt, 0, 0)
    return project


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> object:
    """The maps when everything is applied in its order, so that there is nothing to correct."""
    project = _project(tmp_path_factory.mktemp("quiet"), LATER)
    with open_runtime(project, "inprocess") as rt:
        for coordinator in (1, 2, 0):
            for _ in range(DROPS):
                run_minibatch(rt, coordinator)
        assert not rt.catalog.commits.corrections()
        return engine_maps(rt)


def test_who_applies_leaves_nothing_unsettled_behind(tmp_path: Path, expected: object) -> None:
    """Both correct after each batch of theirs, at the same time; the last one to end has the last word."""
    project = _project(tmp_path, AT_ONCE)
    assert wait(start(apply_drops, project, 0, DROPS)) == 0
    children = [start(apply_drops, project, c, DROPS, settling=True) for c in (1, 2)]
    assert [wait(child) for child in children] == [0, 0]
    with open_runtime(project, "inprocess") as rt:
        assert rt.catalog.commits.unsettled() is None
        assert 1 in rt.catalog.commits.corrections(), "coordinator 0 had read too early"
        assert engine_maps(rt) == expected


@pytest.mark.parametrize("fault", sampled(["correct.before-files", "correct.before-commit", "correct.after-commit"], 2))
def test_what_a_killed_correction_leaves_others_do(fault: str, tmp_path: Path, expected: object) -> None:
    project = _project(tmp_path, LATER)
    with open_runtime(project, "inprocess") as rt:
        for coordinator in (0, 1):
            for _ in range(DROPS):
                run_minibatch(rt, coordinator)
        assert not settle_if_due(rt)
        assert wait(start(apply_drops, project, 2, DROPS, fault=fault, settling=True)) == -signal.SIGKILL
        assert (rt.catalog.commits.unsettled() is None) == (fault == "correct.after-commit")
        for _ in range(DROPS):  # what it has not come to, if it corrected early
            run_minibatch(rt, 2)
        settle(rt)
        assert rt.catalog.commits.unsettled() is None
        assert engine_maps(rt) == expected
