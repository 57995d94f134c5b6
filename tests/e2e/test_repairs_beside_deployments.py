"""A recovery and a deployment in two processes, in any order: one waits for the other, or goes on beside it; nothing is lost, nothing is there twice.

One is stopped at a place that is chosen, and goes on when the other says that it waits, or is done.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from cumulus_ops.catalog.records import Run
from cumulus_ops.cli.repairing import _recover
from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import CorrectionSettings, Project
from cumulus_ops.query.read import read_view
from cumulus_ops.repair.fsck import fsck
from tests.support.children import start, wait, wait_until_stopped
from tests.support.drops import RELATIONS, write_drops
from tests.support.logs import logged_maps
from tests.support.losing import lose
from tests.support.projects import engine_maps, make_project
from tests.support.sampling import sampled

VIEWS = {
    "total": "SELECT ck, SUM(price) AS total FROM orders JOIN item ON item.ok = orders.ok GROUP BY ck",
    "most": "SELECT priority, MAX(ck) AS most FROM orders GROUP BY priority",
    "many": "SELECT ck, COUNT(*) AS n FROM orders GROUP BY ck HAVING COUNT(*) > 1",
}
Rows = dict[str, Counter[tuple[object, ...]]]


def project_in(folder: Path, *views: str) -> Project:
    """A view goes, one stays, and one comes."""
    project = make_project(folder, RELATIONS, views={name: VIEWS[name] for name in views}, coordinators=3)
    return dataclasses.replace(project, corrections=CorrectionSettings(timedelta(hours=1)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two committed epochs, and batches that are in none yet; moved from where it was made: a copy of it is no copy of one that is there."""
    folder = tmp_path_factory.mktemp("made") / "shop"
    project = project_in(folder, "total", "most")
    write_drops(project.landing, 9, 8, seed=0)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, 2, validating=False)
        for coordinator in (1, 2, 1):
            run_minibatch(rt, coordinator)
    return folder.rename(folder.with_name("kept"))


class Shop:
    """What each snapshot showed is remembered."""

    def __init__(self, folder: Path) -> None:
        self.old, self.new = project_in(folder, "total", "most"), project_in(folder, "total", "many")
        with open_runtime(self.old, "inprocess") as rt:
            self.shown = {name: rows_of(rt, name) for name in self.old.views}

    def lose(self, chosen: Callable[[Runtime, Run], bool]) -> None:
        """Overwrite the runs that are chosen."""
        with open_runtime(self.old, "inprocess") as rt:
            runs = [run for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if chosen(rt, run)]
            lose(rt, runs)
            assert {run.path for run in runs} == {damage.file for damage in fsck(rt).damages} != set()

    def check(self) -> None:
        """Everything is whole; the snapshots show what they showed; what comes is right, and all of it is there once."""
        with open_runtime(self.new, "inprocess") as rt:
            assert rt.revision == 2
            assert fsck(rt, with_rows=True).damages == ()
            assert {name: rows_of(rt, name) for name in self.shown} == self.shown
            run_waiting(rt, validating=False)
            newest = rt.catalog.snapshots.newest()
            assert newest > 1
            assert engine_maps(rt) == logged_maps(rt, newest)
            assert rows_of(rt, "many", newest)


@pytest.fixture
def shop(made: Path, tmp_path: Path) -> Iterator[Shop]:
    shutil.copytree(made, tmp_path / "shop")
    yield Shop(tmp_path / "shop")
    shutil.rmtree(tmp_path / "shop")


def rows_of(rt: Runtime, view: str, epoch: int = 1) -> Counter[tuple[object, ...]]:
    table = read_view(rt, view, as_of=epoch, ordered=False)
    return Counter(tuple(row.values()) for row in table.to_pylist())


def any_run(_: Runtime, run: Run) -> bool:
    return run.id % 2 == 0


def of_what_goes(rt: Runtime, run: Run) -> bool:
    """Of groups that only the view has that goes."""
    return "most" in rt.program.view_by_name and run.map in groups_of(rt, "most") - groups_of(rt, "total")


def groups_of(rt: Runtime, view: str) -> set[str]:
    return {rt.plan.group_of[name] for name in rt.program.view(view).maps()}


def recover_apart(project: Project, pause: str) -> None:
    """What a child does."""
    os.environ["CUMULUS_PAUSE"] = pause
    assert _recover(project, "inprocess", (), print, False).outcome.left == ()


def deploy_apart(project: Project, pause: str) -> None:
    """What another child does."""
    os.environ["CUMULUS_PAUSE"] = pause
    with open_runtime(project, "inprocess") as rt:
        deploy(rt)


def stopped(target: Callable[[Project, str], None], project: Project, pause: str) -> BaseProcess:
    child = start(target, project, pause)
    wait_until_stopped(child)
    return child


def wake(child: BaseProcess) -> None:
    assert child.pid is not None
    os.kill(child.pid, signal.SIGCONT)


@pytest.mark.parametrize("pause", sampled(["repair.before-commit", "repair.after-commit"], 2))
def test_a_deployment_waits_for_a_recovery(shop: Shop, pause: str) -> None:
    shop.lose(any_run)
    recovery = stopped(recover_apart, shop.old, pause)
    heard = list[str]()

    def hear(line: str) -> None:
        heard.append(line)
        if line.startswith("waiting for a recovery, which makes again"):
            wake(recovery)

    with open_runtime(shop.new, "inprocess", complete=False) as rt:
        deployed = deploy(rt, hear)
    assert deployed is not None
    assert any(line.startswith("waiting for a recovery") for line in heard)
    assert wait(recovery) == 0
    shop.check()


@pytest.mark.parametrize("pause", sampled(["switch.begun", "switch.before-commit"], 2))
def test_a_recovery_waits_for_a_switch_and_repairs_what_the_revision_before_has(shop: Shop, pause: str) -> None:
    shop.lose(of_what_goes)
    deployment = stopped(deploy_apart, shop.new, pause)
    heard = list[str]()

    def hear(line: str) -> None:
        heard.append(line)
        if line == "waiting: revision 2 is just being switched to":
            wake(deployment)

    result = _recover(shop.old, "inprocess", (), hear, False)
    assert heard[0] == "waiting: revision 2 is just being switched to"
    assert result.outcome.left == ()
    assert result.outcome.done
    assert wait(deployment) == 0
    shop.check()


def test_a_recovery_does_not_wait_for_a_switch_whose_process_is_dead(shop: Shop) -> None:
    shop.lose(any_run)
    deployment = stopped(deploy_apart, shop.new, "switch.begun")
    deployment.kill()
    wait(deployment)
    heard = list[str]()
    assert _recover(shop.old, "inprocess", (), heard.append, False).outcome.left == ()
    assert not any(line.startswith("waiting") for line in heard)
    with open_runtime(shop.new, "inprocess") as rt:
        deploy(rt)
    shop.check()


@pytest.mark.parametrize("pause", sampled(["fill.before-commit", "fill.after-commit"], 2, 1))
def test_a_recovery_goes_on_beside_a_deployment_that_fills(shop: Shop, pause: str) -> None:
    """What is filled already may be lost, too."""
    deployment = stopped(deploy_apart, shop.new, pause)
    shop.lose(any_run)
    result = _recover(shop.old, "inprocess", (), print, False)
    assert result.outcome.left == ()
    assert result.outcome.done
    wake(deployment)
    assert wait(deployment) == 0
    shop.check()


def test_snapshots_of_the_revision_before_alone_have_lost_their_runs(shop: Shop) -> None:
    """Nobody else has these groups any more."""
    with open_runtime(shop.new, "inprocess") as rt:
        deploy(rt)
    with open_runtime(shop.new, "inprocess") as rt:
        before = rt.in_revision(rt.catalog.program.record(1))
        runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
        lost = [run for run in runs if of_what_goes(before, run)]
        assert lost
        assert {run.map for run in lost}.isdisjoint(rt.plan.groups)
        lose(rt, lost)
    outcome = _recover(shop.new, "inprocess", (), print, False).outcome
    assert len(outcome.done) == len(lost)
    assert outcome.left == ()
    shop.check()
