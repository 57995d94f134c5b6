"""Snapshots of a project that an earlier version has left, and those that follow, are proved by this one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.validation.run import validate
from tests.support.sampling import deep
from tests.support.states import add_epoch, restore

pytestmark = pytest.mark.spark


@deep
def test_snapshots_of_a_stored_state_are_proved(spark: SparkSession, tmp_path: Path) -> None:
    project = restore("shop", tmp_path)
    initialise(project)
    add_epoch("shop", project.folder)
    with open_runtime(project) as inner:
        assert run_waiting(inner, validating=False) == 1
        rt = dataclasses.replace(inner, executor=SparkExecutor(ExecutorSettings(), spark))
        newest = rt.catalog.snapshots.newest()
        for epoch in (newest - 1, newest):  # one that was stored, and one that follows
            report = validate(rt, epoch)
            assert report.success, report.failures
