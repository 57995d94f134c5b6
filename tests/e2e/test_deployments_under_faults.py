"""A deployment that is killed anywhere is gone on with, or given up; and one that takes place while coordinators apply and epochs commit disturbs nobody."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path

import pytest

from cumulus_ops.cli.running import _Looks, _run
from cumulus_ops.deploying.deploy import abort, deploy
from cumulus_ops.epochs.checkpoint import collect_garbage
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.status import Status, status
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import RevisionOver
from cumulus_ops.project.processes import DEPLOY_POINTS
from cumulus_ops.project.settings import Project
from cumulus_ops.query.read import read_view
from tests.support.children import start, wait
from tests.support.drops import make_shop
from tests.support.leases import lapse
from tests.support.logs import logged_maps
from tests.support.projects import engine_maps
from tests.support.sampling import sampled
from tests.support.worlds import POOL, World


def deploy_and_die(project: Project, fault: str) -> None:
    """What a child does."""
    os.environ["CUMULUS_FAULT"] = fault
    with open_runtime(project, "inprocess") as rt:
        deploy(rt)


@pytest.mark.parametrize(
    ("fault", "then"),
    sampled(
        [*((point, "again") for point in DEPLOY_POINTS), ("fill.after-commit", "abort"), ("switch.begun", "abort")], 3
    ),
)
def test_a_deployment_that_is_killed_goes_on_or_is_given_up(tmp_path: Path, fault: str, then: str) -> None:
    world = World(tmp_path, seed=5)
    with open_runtime(world.project) as rt:
        while rt.catalog.snapshots.newest() < 1:
            world.act(rt)
    views = {"first": POOL[1], "second": POOL[5], **dict(list(world.project.views.items())[:1])}
    changed = dataclasses.replace(world.project, views=views)
    assert wait(start(deploy_and_die, changed, fault)) == -signal.SIGKILL
    lapse(world.project.catalog_url)
    with open_runtime(world.project) as rt:
        is_done = fault == "switch.after-commit"
        assert (rt.revision, rt.catalog.revisions.deployment() is None) == ((2, True) if is_done else (1, False))
        for _ in range(25):
            world.act(rt)
        if then == "abort":
            assert (abort(rt) is None) == is_done
            assert rt.catalog.revisions.deployment() is None
            world.finish(rt)
            return
    with open_runtime(changed) as rt:
        deploy(rt)
    with open_runtime(changed) as rt:
        assert {v.name for v in rt.program.views} == set(views)
        for _ in range(10):
            world.act(rt)
        world.finish(rt)
        collect_garbage(rt)
        files = {str(p.relative_to(rt.project.state)) for p in (rt.project.state / "runs").rglob("*") if p.is_file()}
        known = rt.catalog.leases.known_paths()
        assert {path for path in known if path.startswith("runs")} == files


VIEWS = {
    "total": "SELECT ck, SUM(price) AS total FROM orders JOIN item ON item.ok = orders.ok GROUP BY ck",
    "most": "SELECT ck, MAX(price) AS most FROM orders JOIN item ON item.ok = orders.ok GROUP BY ck",
    "many": "SELECT ck, COUNT(*) AS n FROM orders GROUP BY ck HAVING COUNT(*) > 1",
}


def run_all(project: Project) -> None:
    """What another child does: all that there is, whatever is deployed meanwhile."""

    @resumes
    def work(project: Project) -> None:
        with open_runtime(project, "inprocess") as rt:
            run_epochs(rt, 4, validating=False)
            run_waiting(rt, validating=False)

    work(project)


def test_deployments_while_another_process_applies_and_commits(tmp_path: Path) -> None:
    project = make_shop(tmp_path, periods=12, rows=30, views={"total": VIEWS["total"]})
    initialise(project)
    worker = start(run_all, project)
    for views in ({"total", "most"}, {"many"}, {"total", "many"}, set(VIEWS)):
        changed = dataclasses.replace(project, views={name: VIEWS[name] for name in sorted(views)})
        with open_runtime(changed, "inprocess") as rt:
            deploy(rt)
    assert wait(worker) == 0
    with open_runtime(changed, "inprocess") as rt:
        run_waiting(rt, validating=False)
        epoch = rt.catalog.snapshots.newest()
        assert epoch >= 3
        assert engine_maps(rt) == logged_maps(rt, epoch)
        assert rt.revision == 5
        assert all(read_view(rt, name, as_of=epoch).num_rows for name in VIEWS)


def test_a_process_of_the_revision_before_commits_nothing(tmp_path: Path) -> None:
    project = make_shop(tmp_path, periods=2, views={"total": VIEWS["total"]})
    initialise(project)
    with open_runtime(project) as old:
        with open_runtime(dataclasses.replace(project, views=VIEWS)) as rt:
            deploy(rt)
        before = old.catalog.commits.last_commit()
        with pytest.raises(RevisionOver, match="revision 2"):
            run_waiting(old, validating=False)
        assert old.catalog.commits.last_commit() == before


def test_so_many_epochs_are_run_although_another_revision_is_switched_to_within_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch that was begun when the project had to be opened again is none that is done."""
    project = make_shop(tmp_path, periods=9, views={"total": VIEWS["total"]})
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, 1, validating=False)
    asked = []

    def over(*_: object) -> None:
        raise RevisionOver("another revision", kind="revision-over", place="revision 2")

    def interrupted(rt: Runtime, epochs: int, *_: object) -> None:
        asked.append(epochs)
        if len(asked) == 1:
            with monkeypatch.context() as patch:
                patch.setattr("cumulus_ops.epochs.driver.commit", over)
                run_epochs(rt, 1, validating=False)

    before = status_of(project)
    monkeypatch.setattr("cumulus_ops.cli.running.run_epochs", interrupted)
    resumes(_run)(project, "inprocess", 2, lambda _: None, _Looks())
    assert len(status_of(project).epochs) > len(before.epochs), "somebody was ahead of the others"
    assert asked == [2, 2]


def status_of(project: Project) -> Status:
    """How things are."""
    with open_runtime(project, "inprocess") as rt:
        return status(rt)
