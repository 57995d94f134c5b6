"""A handful of the kinds of failing expressions on Spark: see ``tests/model/test_failing_on_engine.py``."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.project.settings import ExecutorSettings
from tests.support.views_in_error import follow
from tests.unit.m3.failing import CASES

pytestmark = pytest.mark.spark
HANDFUL = ("quotient_of_sums", "exists", "window_argument", "decimal_sum", "text_to_date", "two_rows")


def test_spark_says_what_the_interpreter_says(spark: SparkSession, tmp_path: Path) -> None:
    seen = follow(tmp_path, {name: CASES[name] for name in HANDFUL}, SparkExecutor(ExecutorSettings(), spark))
    assert seen["in error"] >= len(HANDFUL)
