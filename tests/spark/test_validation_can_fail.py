"""Validation must be able to fail: one damaged value in one run, and corrections switched off."""

from __future__ import annotations

import contextlib
import dataclasses
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.maps.deltas import value_column
from cumulus_ops.maps.packs import open_run, write_runs
from cumulus_ops.maps.runs import build_run
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.validation.run import validate
from tests.support.drops import make_shop
from tests.support.sampling import deep

pytestmark = pytest.mark.spark


def _on(spark: SparkSession, rt: Runtime) -> Runtime:
    return dataclasses.replace(rt, executor=SparkExecutor(ExecutorSettings(), spark))


def _damage(rt: Runtime, name: str) -> tuple[object, ...]:
    """Add one unit to one value of a view's map, in a run with the right checksums; returns the key of the entry."""
    group = rt.plan.group_of[name]
    label = rt.plan.paths[group][0].label
    runs = rt.catalog.commits.runs(rt.catalog.commits.last_commit())
    run = max((r for r in runs if (r.map, r.access_path) == (group, label)), key=lambda r: r.rows)
    table = open_run(rt.project.state / run.path, run.offset, run.bytes).table(rt.plan.key_names(group))
    values = table[value_column(name)].to_numpy().copy()
    row = int(np.argmax(values))
    values[row] += 1
    place = table.column_names.index(value_column(name))
    wrong = table.set_column(place, value_column(name), pa.array(values))
    (written,) = write_runs(rt.project.state, [build_run(wrong, rt.plan.paths[group][0])])
    with contextlib.closing(sqlite3.connect(rt.project.catalog_url.removeprefix("sqlite:///"))) as database, database:
        changed = (written.path, written.offset, written.bytes, written.root, written.content, written.total, run.id)
        names = ("path", "offset", "bytes", "root", "content", "total")
        database.execute(f"UPDATE run SET {', '.join(f'{name} = ?' for name in names)} WHERE id = ?", changed)
    rt.catalog.commits._known_runs = None
    return tuple(table[name][row].as_py() for name in rt.plan.key_names(group))


def test_one_damaged_value_is_reported_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    project = make_shop(tmp_path, periods=3)
    initialise(project)
    with open_runtime(project, "inprocess") as inner:
        rt = _on(spark, inner)
        run_epochs(rt, 1, validating=False)
        assert validate(rt, 0).success
        (priority,) = _damage(rt, "by_priority_count")
        report = validate(rt, 0)
        assert not report.success
        assert len(report.failures) == 1, report.failures
        assert "by_priority" in report.failures[0]
        assert f"{priority}" in report.failures[0]
        assert rt.catalog.results.validations()[0].outcome == "failed"
        assert report.docs_index.exists()


@deep
def test_a_damaged_element_of_a_list_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    listed = "SELECT priority, ARRAY_AGG(price ORDER BY o.ok DESC) AS prices, COUNT(*) AS n FROM orders o JOIN item i ON o.ok = i.ok GROUP BY priority"
    project = make_shop(tmp_path, periods=3, views={"listed": listed})
    initialise(project)
    with open_runtime(project, "inprocess") as inner:
        rt = _on(spark, inner)
        run_epochs(rt, 1, validating=False)
        assert validate(rt, 0).success
        priority, *_ = _damage(rt, "listed_prices")
        report = validate(rt, 0)
        (failure,) = report.failures
        assert "prices" in failure
        assert f"priority = {priority}" in failure


def test_without_corrections_validation_fails(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_advance_clocks(rt: Runtime) -> int:
        at = rt.catalog.commits.last_commit()
        rt.catalog.commits.commit_correction(
            [c for c in rt.catalog.commits.clocks(at) if c.clock.prefix < at], at, (), {}
        )
        return 0

    for module in ("checkpoint", "minibatch"):
        monkeypatch.setattr(f"cumulus_ops.epochs.{module}.correct", only_advance_clocks)
    project = make_shop(tmp_path)
    initialise(project)
    with open_runtime(project, "inprocess") as inner:
        rt = _on(spark, inner)
        run_epochs(rt, 2, validating=False)
        assert commit(rt, 1).corrections == 0
        report = validate(rt, 1)
        assert not report.success
        assert any("revenue" in failure for failure in report.failures)
