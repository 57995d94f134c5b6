"""The bank's transfers on Spark: the total is 0 in every state, and validation agrees."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.experiments.bank import VIEWS, Scenario, bank_project, play
from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from tests.support.sampling import deep

pytestmark = pytest.mark.spark


@deep
def test_the_total_is_0_in_every_state_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    project = bank_project(tmp_path, coordinators=2, views=VIEWS)
    initialise(project)
    with open_runtime(project, "inprocess") as opened:
        rt = dataclasses.replace(opened, executor=SparkExecutor(ExecutorSettings(rows_per_task=50), spark))
        found = play(rt, Scenario(2_000, 2, shares=(0.5, 0.5)), validated=[1])
    assert found.events == 2_000
    assert found.validated == {1: True}
    assert not found.wrong
    assert all(r.total == r.behind == 0 for r in found.readings)
