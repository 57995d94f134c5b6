"""On Spark, as in process: what fails for a defect is set aside; what fails because a worker is lost, or a file, is not."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.catalog.asides import FAILURES
from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.compute.steps import explain, verdict
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.quarantine import retry_batch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.validation.run import validate
from tests.support.projects import append_events, engine_maps, interpret, make_project, oracle_maps
from tests.unit.epochs.test_setting_aside import VIEWS, R, S, damage, end_epoch, rows

pytestmark = pytest.mark.spark


def test_a_batch_that_fails_on_spark_is_set_aside_and_retried(spark: SparkSession, tmp_path: Path) -> None:
    project = make_project(tmp_path, [R, S], views=VIEWS, coordinators=2)
    initialise(project)
    good, bad, other = rows("r", (1, 5), (2, 6)), rows("s", (1, 4), (2, 1)), rows("s", (2, 3))
    with open_runtime(project) as in_process:
        rt = dataclasses.replace(in_process, executor=SparkExecutor(ExecutorSettings(rows_per_task=1), spark))
        append_events(rt, 1, good, "good")
        broken = append_events(rt, 0, bad, "bad")
        repair = damage(rt, broken)
        append_events(rt, 0, other, "other")
        run_minibatch(in_process, 1, [])
        assert _run(rt) == (broken,)
        found = rt.catalog.log.batch(broken)
        assert found.failures == FAILURES
        assert found.reason.startswith("ArrowInvalid: ")  # as it was raised in the worker
        assert "read_events" in found.reason
        assert "org.apache.spark" not in found.reason
        repair()
        assert _run(in_process) == ()
        end_epoch(in_process)
        assert retry_batch(rt, broken).id == retry_batch(rt, broken).id
        assert _run(rt) == ()
        end_epoch(in_process)
        for epoch, events in enumerate(([*good, *other], [*good, *other, *bad])):
            assert engine_maps(rt, epoch_end(epoch)) == oracle_maps(interpret(rt.program, events))


def _run(rt: Runtime) -> tuple[int, ...]:
    report = run_minibatch(rt, 0, [])
    return () if report is None else report.set_aside


def test_a_lost_worker_and_a_lost_file_are_not_the_batchs_fault(spark: SparkSession, tmp_path: Path) -> None:
    def gone(_: object) -> object:
        os.kill(os.getpid(), signal.SIGKILL)
        yield

    def missing(_: object) -> object:
        Path("/nowhere").read_bytes()
        yield

    for function, expected in ((gone, "died"), (missing, "excused")):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            spark.range(0, 1, 1, 1).mapInArrow(function, "id bigint").collect()
        assert verdict(caught.value) == expected, caught.value
    assert explain(caught.value).startswith("FileNotFoundError: ")


def test_a_snapshot_without_a_batch_is_valid_and_the_report_says_without_which(
    spark: SparkSession, tmp_path: Path
) -> None:
    project = make_project(tmp_path, [R, S], views={"sums": VIEWS["sums"]}, coordinators=1)
    initialise(project)
    with open_runtime(project) as in_process:
        rt = dataclasses.replace(in_process, executor=SparkExecutor(ExecutorSettings(rows_per_task=10**6), spark))
        damage(rt, append_events(rt, 0, rows("r", (1, 5), (2, 6)), "bad"))
        append_events(rt, 0, rows("r", (1, 7)), "good")
        assert _run(in_process) == (1,)
        assert _run(in_process) == ()
        report = validate(rt, end_epoch(in_process))
        assert report.success, report
        assert report.remarks[0].startswith(
            "without batch 1 (coordinator 0, drop bad, 2 events), which is set aside: ArrowInvalid: "
        )
        assert report.remarks[0] in str(report)
        assert "without batch 1" in (project.reports / "index.html").read_text()
