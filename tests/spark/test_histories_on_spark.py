"""The law under histories on Spark: the same maps and the same corrections as in this process."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from tests.model.test_engine_against_interpreter import PROGRAMS
from tests.model.test_engine_under_histories import agree
from tests.support.eventual import Eventual
from tests.support.hashed import check_hashes
from tests.support.histories import Local, play, random_history
from tests.support.projects import make_project
from tests.support.random_programs import RELATIONS
from tests.support.sampling import sampled

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", sampled(["sql", "ordered-sequential"], 2))
def test_spark_agrees_with_the_interpreter_and_the_protocol(name: str, spark: SparkSession, tmp_path: Path) -> None:
    project = make_project(tmp_path, RELATIONS, **PROGRAMS[name])
    initialise(project)
    with open_runtime(project, "inprocess") as opened:
        executor = SparkExecutor(ExecutorSettings(rows_per_task=1), spark)  # in stages, as far as the program is
        rt = dataclasses.replace(opened, executor=executor)
        model = Eventual(rt.program) if "program" in PROGRAMS[name] else None
        agree(rt.program, play(random_history(7, steps=16, rows=4), [Local(rt)], model))
        check_hashes(rt)
