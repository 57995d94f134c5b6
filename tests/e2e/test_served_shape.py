"""The served shape, real: the catalog on PostgreSQL, steps and validation on a standalone cluster behind Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.opening.runtime import initialise
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.project.verdicts import PASSED
from tests.e2e.test_concurrent_coordinators import maps_at, race
from tests.support.children import finish_epochs, finish_epochs_on_spark, start, wait
from tests.support.drops import make_shop
from tests.support.services import PostgreSQL, connect_server, postgresql, spark_cluster

pytestmark = pytest.mark.postgres
EPOCHS = 2


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


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_main_job_on_postgresql_and_a_standalone_cluster(server: PostgreSQL, tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "embedded").mkdir()
    with spark_cluster(tmp_path / "cluster") as master, connect_server(tmp_path / "connect", master) as spark:
        served = make_shop(
            tmp_path / "served",
            catalog_url=server.create_database("served"),
            executor=ExecutorSettings(kind="spark", remote=spark.url, rows_per_task=1000),
        )
        initialise(served)
        assert wait(start(finish_epochs_on_spark, served, EPOCHS)) == 0
    embedded = make_shop(tmp_path / "embedded")
    initialise(embedded)
    assert wait(start(finish_epochs, embedded, EPOCHS)) == 0
    assert maps_at(served) == maps_at(embedded)
    catalog = Catalog(served.catalog_url)
    assert [v.outcome for v in catalog.results.validations().values()] == [PASSED] * EPOCHS
    assert len(catalog.results.published()) == EPOCHS * len(served.views)
    catalog.close()
