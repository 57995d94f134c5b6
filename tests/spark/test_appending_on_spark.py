"""A large drop is appended by several tasks, and becomes what one process makes of it; also if a task dies, once or for good."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute import spark as on_spark
from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.project.processes import MakeCalls
from cumulus_ops.project.settings import ExecutorSettings, KeySettings
from tests.unit.append.test_portions import File, append_all, land, rows_of, template

pytestmark = pytest.mark.spark
__all__ = ["template"]


def test_tasks_append_what_one_process_does(spark: SparkSession, template: Any) -> None:
    project, executor = (
        dataclasses.replace(template, batch_rows=4),
        SparkExecutor(ExecutorSettings(rows_per_task=9), spark),
    )
    asked, made = list[bool](), list[int]()

    def beside(rows: int, calls: int) -> MakeCalls | None:
        make = executor.beside(rows, calls)
        asked.append(make is not None)

        def counted(calls: Sequence[Callable[[], Any]]) -> list[Any]:
            assert make is not None
            made.append(len(calls))
            return make(calls)

        return counted if make else None

    bad = [*rows_of(0, 9), (9, "X", 1), (10, "I", None)]
    files = {"left": File(bad, True, True, 2), "right": File(rows_of(0, 5), True, False, 0)}
    again = {"left": File(rows_of(5, 9), True, True, 2)}  # some of its events have come before
    land(project, [files, {"right": files["right"]}, again])
    assert append_all(project, 3, beside) == append_all(project, 3, None)
    assert asked == [True, False, True]  # five rows are not worth a job
    assert made == [
        3 + 1 + 2
    ]  # portions of row groups, a text file, the hashes of both; of what may have come before, one process decides


def test_tasks_judge_keys_as_one_process_does(spark: SparkSession, template: Any) -> None:
    made = list[int]()
    executor = SparkExecutor(ExecutorSettings(rows_per_task=4), spark)

    def beside(rows: int, calls: int) -> MakeCalls | None:
        def counted(calls: Sequence[Callable[[], Any]]) -> list[Any]:
            made.append(len(calls))
            return make(calls) if (make := executor.beside(rows, len(calls))) else [call() for call in calls]

        return counted

    first, second = rows_of(0, 8), [(8, "I", 1), (9, "D", 2), (10, "I", 20), (10, "I", 1), (11, "U", 3), (12, "D", 77)]
    for modes in (["strict", "strict"], ["strict", "upsert"]):
        keys = {name: KeySettings(mode) for name, mode in zip(("left", "right"), modes, strict=True)}
        project = dataclasses.replace(template, batch_rows=4, keys=keys)
        files = [{name: File(rows, True, True, 2) for name in keys} for rows in (first, second)]
        land(project, files)  # type: ignore[arg-type]
        assert append_all(project, 2, beside) == append_all(project, 2, None)
    # Portions of two relations, and hashes; their ranges; and what is written again: with strict keys nothing at first.
    assert made[:2] == [2 + 2 + 2, 1 + 1]


def test_where_tasks_have_no_more_cores_than_this_process_it_appends_itself(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = SparkExecutor(ExecutorSettings(rows_per_task=9), spark)
    for threads, is_by_tasks in ((1, True), (2, False)):
        monkeypatch.setattr(on_spark, "THREADS", threads)
        assert (executor.beside(10**9, 5) is not None) == is_by_tasks


def test_a_drop_whose_task_dies_is_appended(spark: SparkSession, template: Any) -> None:
    project = dataclasses.replace(template, batch_rows=4)
    executor, said = SparkExecutor(ExecutorSettings(rows_per_task=1), spark), list[str]()
    land(project, [{"left": File(rows_of(0, 9), True, True, 2)}])

    def deadly(calls: Sequence[Callable[[], Any]]) -> list[Any]:
        make = executor.beside(9, len(calls))
        assert make is not None
        try:
            return make([*calls, partial(os._exit, 1)])
        except Exception as error:
            said.append(str(error))
            raise

    assert append_all(project, 1, lambda rows, calls: deadly) == append_all(project, 1, None)
    assert "exited unexpectedly" in said[0]


def test_a_task_that_dies_once_is_tried_again_and_counts_once(
    spark: SparkSession, template: Any, tmp_path: Path
) -> None:
    project = dataclasses.replace(template, batch_rows=4)
    executor, made = SparkExecutor(ExecutorSettings(rows_per_task=1), spark), list[Any]()
    land(project, [{"left": File(rows_of(0, 9), True, True, 2)}])

    def dies_once(
        call: Callable[[], Any], died: Path
    ) -> Any:  # defined here, it travels to the workers, which have no tests
        written = call()
        if not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    def dying(calls: Sequence[Callable[[], Any]]) -> list[Any]:
        make = executor.beside(9, len(calls))
        assert make is not None
        made.extend(make([partial(dies_once, call, tmp_path / f"died{n}") for n, call in enumerate(calls[:2])]))
        return [*made, *make(calls[2:])]

    assert append_all(project, 1, lambda rows, calls: dying) == append_all(project, 1, None)
    assert len(made) == len(list(tmp_path.glob("died*"))) == 2
