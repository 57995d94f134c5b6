"""A repair of lost runs that is killed anywhere is gone on with; and one beside a process that applies and commits disturbs nobody."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from cumulus_ops.epochs.checkpoint import collect_garbage
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.processes import REPAIR_POINTS
from cumulus_ops.project.settings import Project
from cumulus_ops.repair.maps import repair_runs
from tests.support.children import start, wait
from tests.support.drops import make_shop
from tests.support.leases import lapse
from tests.support.logs import logged_maps
from tests.support.losing import held, lose
from tests.support.projects import engine_maps
from tests.support.sampling import sampled
from tests.support.worlds import World

VIEWS = {
    "total": "SELECT ck, SUM(price) AS total FROM orders JOIN item ON item.ok = orders.ok GROUP BY ck",
    "most": "SELECT ck, MAX(price) AS most FROM orders JOIN item ON item.ok = orders.ok GROUP BY ck",
    "many": "SELECT ck, COUNT(*) AS n FROM orders GROUP BY ck HAVING COUNT(*) > 1",
}


def repair_and_die(project: Project, ids: frozenset[int], fault: str) -> None:
    """What a child does."""
    os.environ["CUMULUS_FAULT"] = fault
    with open_runtime(project, "inprocess") as rt:
        repair_runs(rt, [r for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if r.id in ids])


@pytest.mark.parametrize("fault", sampled(REPAIR_POINTS, 2))
def test_a_repair_that_is_killed_goes_on(tmp_path: Path, fault: str) -> None:
    """Whoever calls it again finds less to do; nothing is lost, and nothing is there twice."""
    world = World(tmp_path, seed=5)
    with open_runtime(world.project) as rt:
        while rt.catalog.snapshots.newest() < 1:
            world.act(rt)
        before = held(rt)
        runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
        pack = Random(1).choice(sorted({r.path for r in runs if r.map not in rt.plan.base}))
        lost = [r for r in runs if r.path == pack]
        lose(rt, lost)
    assert wait(start(repair_and_die, world.project, frozenset(r.id for r in lost), fault)) == -signal.SIGKILL
    lapse(world.project.catalog_url)
    with open_runtime(world.project) as rt:
        runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
        left = [r for r in runs if r in lost]
        assert (len(left) < len(lost)) == (fault == "repair.after-commit")
        repair_runs(rt, left)
        assert held(rt) == before
        for _ in range(10):
            world.act(rt)
        world.finish(rt)
        collect_garbage(rt)
        files = {str(p.relative_to(rt.project.state)) for p in (rt.project.state / "runs").rglob("*") if p.is_file()}
        assert {path for path in rt.catalog.leases.known_paths() if path.startswith("runs")} == files


def run_all(project: Project) -> None:
    """What another child does: all that there is."""
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, 4, validating=False)
        run_waiting(rt, validating=False)


def test_repairs_while_another_process_applies_and_commits(tmp_path: Path) -> None:
    """Some are of runs that are merged meanwhile. No bytes are lost, so that the other process goes on; this one reads none of them."""
    project = make_shop(tmp_path, periods=12, rows=30, views=VIEWS)
    initialise(project)
    worker, choose, made = start(run_all, project), Random(7), 0
    with open_runtime(project, "inprocess") as rt:
        while made < 6 or rt.catalog.snapshots.newest() < 3:
            runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
            pack = choose.choice(runs).path if runs else ""
            with suppress(Conflict):
                made += bool(repair_runs(rt, [r for r in runs if r.path == pack]).made)
    assert wait(worker) == 0
    with open_runtime(project, "inprocess") as rt:
        run_waiting(rt, validating=False)
        assert engine_maps(rt) == logged_maps(rt, rt.catalog.snapshots.newest())
