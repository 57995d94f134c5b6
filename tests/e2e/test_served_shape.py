"""The served shape, real: the catalog on PostgreSQL, steps and validation on a standalone cluster behind Spark Connect."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from fastapi import Request
from fastapi.testclient import TestClient

from benchmarks.peers.cluster import spark_cluster
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.cli.status_text import print_status
from cumulus_ops.epochs.status import status
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.interruptions import interruptions
from cumulus_ops.project.settings import ExecutorSettings, Project
from cumulus_ops.project.verdicts import PASSED
from cumulus_ops.web import create_app
from tests.e2e.test_concurrent_coordinators import maps_at, race
from tests.support.children import finish_epochs, finish_epochs_on_spark, start, wait
from tests.support.drops import make_shop
from tests.support.sampling import sampled
from tests.support.services import PostgreSQL, SparkServer, connect_server, postgresql

pytestmark = pytest.mark.postgres
#: So many epochs of so many drops of each coordinator.
EPOCHS, PERIODS = 2, 5


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with postgresql() as running:
        yield running


def test_racing_coordinators_on_postgresql(server: PostgreSQL, tmp_path: Path) -> None:
    (tmp_path / "raced").mkdir()
    (tmp_path / "quiet").mkdir()
    raced = make_shop(tmp_path / "raced", periods=8, catalog_url=server.create_database("raced"))
    assert race(raced) > 0
    quiet = make_shop(tmp_path / "quiet", periods=8)
    race(quiet)
    assert maps_at(raced) == maps_at(quiet)


class Served:
    """A project on a cluster and a database, and who works at it."""

    def __init__(self, project: Project, server: PostgreSQL, spark: SparkServer) -> None:
        self.project, self._server, self._spark = project, server, spark
        self._child = start(finish_epochs_on_spark, project, EPOCHS)

    def wait_until_more_is_applied(self) -> None:
        """A batch more than there were."""
        before = self._applied()
        while self._applied() == before:
            assert self._child.is_alive(), "it has ended before"
            time.sleep(0.05)

    def _applied(self) -> int:
        catalog = Catalog(self.project.catalog_url)
        found = sum(batch.commit is not None for batch in catalog.log.batches())
        catalog.close()
        return found

    def kill_spark_connect(self) -> None:
        """Another one is started in its place."""
        self._spark.out()

    def kill_an_executor(self) -> None:
        """One that this process's cluster has; its worker starts another one."""
        while not (found := [p for p in psutil.Process().children(recursive=True) if is_executor(p)]):
            assert self._child.is_alive()
            time.sleep(0.05)
        found[0].kill()

    def kill_the_database(self) -> None:
        """It is started again when somebody has missed it: who computes meanwhile needs no connection, and an idle one is replaced without a word."""
        self._server.out(signal.SIGKILL, self._server.refuse_one)

    def kill_who_works(self) -> None:
        """Another one goes on: under Airflow, the task is tried again."""
        self._child.kill()
        assert wait(self._child) == -signal.SIGKILL
        self._child = start(finish_epochs_on_spark, self.project, EPOCHS)

    def finish(self) -> None:
        """All epochs are there."""
        assert wait(self._child) == 0


def is_executor(process: psutil.Process) -> bool:
    """What has ended has no command any more."""
    with suppress(psutil.Error):
        return any("CoarseGrainedExecutorBackend" in part for part in process.cmdline())
    return False


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_main_job_whose_parts_are_killed_ends_as_one_in_a_process(
    server: PostgreSQL, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each part is killed as soon as a batch was applied since the one before."""
    (tmp_path / "served").mkdir()
    (tmp_path / "embedded").mkdir()
    with spark_cluster(tmp_path / "cluster") as master, connect_server(tmp_path / "connect", master) as spark:
        project = make_shop(
            tmp_path / "served",
            periods=PERIODS,
            catalog_url=server.create_database("served"),
            executor=ExecutorSettings(kind="spark", remote=spark.url, rows_per_task=1000),
        )
        initialise(project)
        served = Served(project, server, spark)
        kills = (
            served.kill_spark_connect,
            served.kill_an_executor,
            served.kill_the_database,
            served.kill_who_works,
        )
        for kill in sampled(kills, 2):
            served.wait_until_more_is_applied()
            kill()
        served.finish()
    embedded = make_shop(tmp_path / "embedded", periods=PERIODS)
    initialise(embedded)
    assert wait(start(finish_epochs, embedded, EPOCHS)) == 0
    assert maps_at(project) == maps_at(embedded)
    with open_runtime(project, "inprocess") as rt:
        assert [v.outcome for v in rt.catalog.results.validations().values()] == [PASSED] * EPOCHS
        assert len(rt.catalog.results.published()) == EPOCHS * len(project.views)
        print_status(status(rt))
    interrupted = {one.part for one in interruptions(project.state, 99)}
    assert interrupted >= {"Spark", "the catalog's database"}, interrupted
    assert "Was interrupted: " in capsys.readouterr().out
    assert "Interruptions" in overview(project)


def overview(project: Project) -> str:
    """The project's page."""

    async def anyone(request: Request, project: str) -> None:
        """Lets everybody in."""

    return TestClient(create_app(lambda: [project], anyone)).get("/test/").text
