"""One small Spark session for all tests that need one: the same as the steps have. A task that fails is tried once more, as a cluster would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute import spark as on_spark
from cumulus_ops.compute.spark import spark_session
from cumulus_ops.project.settings import ExecutorSettings


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_DIRS", str(folder))
        session = spark_session(ExecutorSettings(master="local[2,2]"))
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def tasks_append(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a cluster, although Spark has no more cores here than the process that appends."""
    monkeypatch.setattr(on_spark, "THREADS", 1)
