"""Validation must be able to fail: one damaged value in one run, and corrections switched off."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cumulus_ops.catalog import Run
from cumulus_ops.config import ExecutorSettings
from cumulus_ops.engine import Runtime, open_runtime, sources
from cumulus_ops.engine.spark import SparkExecutor
from cumulus_ops.snapshot import commit, initialise, run_epochs, validate
from tests.support.drops import make_shop

pytestmark = pytest.mark.spark


def _on(spark: SparkSession, rt: Runtime) -> Runtime:
    return dataclasses.replace(rt, executor=SparkExecutor(ExecutorSettings(), spark))


def _damage(rt: Runtime, name: str) -> tuple[object, ...]:
    """Add one unit to one value of a view's map, in the file; returns the key of the entry."""
    run: Run = max((r for r in rt.catalog.runs(rt.catalog.last_commit()) if r.map == name), key=lambda r: r.rows)
    file = rt.project.state / run.path
    content = bytearray(file.read_bytes())
    table = pa.ipc.open_file(pa.py_buffer(bytes(content[run.offset : run.offset + run.bytes]))).read_all()
    values = table["_value"].to_numpy()
    row = int(np.argmax(values))
    place = bytes(content).index(values.tobytes(), run.offset) + 8 * row
    content[place : place + 8] = (int(values[row]) + 1).to_bytes(8, "little", signed=True)
    file.write_bytes(bytes(content))
    sources._open.cache_clear()
    return tuple(table[k.name][row].as_py() for k in rt.program.map_by_name[name].keys)


def test_one_damaged_value_is_reported_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    project = make_shop(tmp_path)
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
        assert rt.catalog.validations()[0].success is False
        assert report.docs_index.exists()


def test_without_corrections_validation_fails(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def only_advance_clocks(rt: Runtime) -> int:
        at = rt.catalog.last_commit()
        rt.catalog.commit_correction([e for e in rt.catalog.history(at) if e.clock.prefix < at], at, (), {})
        return 0

    for module in ("commits", "tidying"):
        monkeypatch.setattr(f"cumulus_ops.snapshot.{module}.correct", only_advance_clocks)
    project = make_shop(tmp_path)
    initialise(project)
    with open_runtime(project, "inprocess") as inner:
        rt = _on(spark, inner)
        run_epochs(rt, 2, validating=False)
        assert commit(rt, 1).corrections == 0
        report = validate(rt, 1)
        assert not report.success
        assert any("revenue" in failure for failure in report.failures)
