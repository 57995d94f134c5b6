"""Totals beyond 64 bits are validated like others: Spark adds them up as DECIMAL(28, 2)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.query.read import read_view
from cumulus_ops.validation.run import validate
from tests.support.projects import append_events
from tests.support.wide_totals import expected, large_batch, make

pytestmark = pytest.mark.spark


def test_totals_beyond_64_bits_are_validated(spark: SparkSession, tmp_path: Path) -> None:
    views = ("by_k", "everything")
    project = make(tmp_path, views)
    initialise(project)
    with open_runtime(project) as rt:
        steps = [large_batch(0, 30), large_batch(1, 3), [*large_batch(0, 20), *large_batch(3, 25, sign=-1)]]
        events = []
        for number, step in enumerate(steps):
            apply_batch(rt, append_events(rt, 0, step, f"d{number}"))
            events += step
        vote(rt, 0, 0)
        commit(rt, 0)
        for view in views:
            rows = read_view(rt, view, as_of=0, ordered=False).to_pylist()
            assert sorted(tuple(row.values()) for row in rows) == expected(events)[view]
        report = validate(dataclasses.replace(rt, executor=SparkExecutor(ExecutorSettings(), spark)), 0)
        assert report.success, report.failures
