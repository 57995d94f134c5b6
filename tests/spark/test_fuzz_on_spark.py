"""Random queries on Spark, errors included: see ``tests/fuzz/test_engine.py``. ``FUZZ_SPARK_PROJECTS`` and ``FUZZ_SEED`` ask
for others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.project.settings import ExecutorSettings
from tests.fuzz.test_engine import BASE, follow

pytestmark = pytest.mark.spark
PROJECTS = int(os.environ.get("FUZZ_SPARK_PROJECTS", "1"))


@pytest.mark.parametrize("number", range(PROJECTS))
def test_spark_has_what_the_interpreter_has(number: int, spark: SparkSession, tmp_path: Path) -> None:
    follow(BASE + 300_000 + number * 50, tmp_path, executor=SparkExecutor(ExecutorSettings(), spark), count=2)
