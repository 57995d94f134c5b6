"""`cumulus recover` of a project whose steps run on Spark: what is computed there, in several tasks, is what was lost; nothing else is touched."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.extend import ExtendTask
from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.epochs import compacting
from cumulus_ops.epochs.compacting import compact
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import status
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings, Project
from cumulus_ops.project.versions import epoch_end, epoch_of
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.recover import recover
from tests.support.drops import VIEWS, make_shop
from tests.support.hashed import check_hashes, hashes_of_copies
from tests.support.logs import logged_events
from tests.support.projects import engine_maps, interpret, oracle_maps
from tests.support.sampling import sampled
from tests.unit.repair.test_any_file_is_lost import flip_all, forget, looks

pytestmark = pytest.mark.spark

DERIVED = {
    "dearest": "SELECT ck, MIN(priority) AS least, MAX(ok) AS last FROM orders GROUP BY ck",
    "kinds": "SELECT DISTINCT nation, priority FROM customer c JOIN orders o ON c.ck = o.ck",
}
#: What is lost -> which files: of a batch that is in no snapshot yet, of what is older than all that can be read, all maps that were written together, a net table.
LOST = {"delta": "runs", "base": "runs", "pack": "runs", "net": "net"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Epochs of three coordinators, of which the newest can be read, and batches of the next one."""
    made = make_shop(
        tmp_path_factory.mktemp("shop"),
        periods=5,
        rows=12,
        views={**VIEWS, **DERIVED},
        executor=ExecutorSettings("spark", "local[2]", rows_per_task=4),
        retain=1,
    )
    later = {drop: made.folder / f"later-{drop.parent.name}" for drop in made.landing.glob("*/p0004")}
    for drop, aside in later.items():
        drop.rename(aside)
    initialise(made)
    with open_runtime(made, "inprocess") as rt, pytest.MonkeyPatch.context() as patch:
        patch.setattr(compacting, "is_due", lambda *_: True)
        run_epochs(rt, 3, validating=False)
        compact(rt)
        rt.catalog.snapshots.release(1, 1, ())
        for drop, aside in later.items():
            aside.rename(drop)
        for coordinator in range(3):
            assert run_minibatch(rt, coordinator) is not None
        assert rt.catalog.snapshots.oldest_readable() > 0
        assert sum(epoch.corrections for epoch in status(rt).epochs) > 0
        assert rt.plan.derived
        assert rt.catalog.net_tables.all()
    return made


def choose(rt: Runtime, what: str) -> set[str]:
    """The files that are lost, relative to the state folder."""
    runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    newest, oldest = rt.catalog.snapshots.newest(), rt.catalog.snapshots.oldest_readable()
    match what:
        case "delta":
            return {next(run.path for run in runs if epoch_of(run.min_version) > newest)}
        case "base":
            return {max((run for run in runs if epoch_of(run.max_version) <= oldest), key=lambda run: run.rows).path}
        case "pack":
            packs = [run.path for run in runs]
            return {max(packs, key=packs.count)}
    return {rt.catalog.net_tables.all()[0].path}


@pytest.mark.parametrize("what", sampled(LOST, 2))
def test_what_is_lost_is_made_again_on_spark(
    what: str, project: Project, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks: list[int] = []
    counted = SparkExecutor._tasks
    monkeypatch.setattr(SparkExecutor, "_tasks", lambda self, task: _note(tasks, task, counted(self, task)))
    with open_runtime(project, complete=False) as rt:
        assert isinstance(rt.executor, SparkExecutor)
        lost, at = choose(rt, what), rt.catalog.commits.last_commit()
        assert {path.partition("/")[0] for path in lost} == {LOST[what]}
        recorded, answers = hashes_of_copies(rt.catalog.commits.runs(at)), engine_maps(rt)
        before = looks(project.state)
        for path in lost:
            flip_all(project.state / path)
        forget()
        result = recover(rt)
        assert {damage.file for damage in result.found.damages} == lost
        assert result.outcome.left == ()
        assert fsck(rt, with_rows=True).damages == ()
        assert {c: known.total for c, known in check_hashes(rt).items()} == {
            c: known.total for c, known in recorded.items()
        }
        newest = rt.catalog.snapshots.newest()
        right = interpret(rt.program, logged_events(rt, newest))
        assert (engine_maps(rt, epoch_end(newest)), engine_maps(rt)) == (oracle_maps(right), answers)
        touched = {path for path, look in looks(project.state).items() if path in before and before[path] != look}
        assert {path for path in touched if not path.startswith("catalog.db")} <= lost | {"seen.json"}
    assert (max(tasks, default=0) > 1) == (LOST[what] == "runs"), "what is made again of maps is spread over tasks"


def _note(tasks: list[int], task: object, count: int) -> int:
    if isinstance(task, ExtendTask):
        tasks.append(count)
    return count
