"""The example with a program whose events are ordered: on Spark in stages, what the interpreter says, under both semantics."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.catalog.records import Batch
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.spark import SparkExecutor
from cumulus_ops.compute.staged import plan_stages
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.epochs.status import status
from cumulus_ops.layout.partitioning import fixed_labels
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import ExecutorSettings, LayoutChoice, LayoutSettings, Project
from cumulus_ops.query.read import read_view
from cumulus_ops.validation.recompute import recompute_m3

pytestmark = pytest.mark.spark
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "holdings"
EPOCHS = 1
#: What the layout is by itself where a batch is large.
BY_SYMBOL = LayoutSettings(
    {"shares": LayoutChoice(("symbol",), "test")},
    {name: LayoutChoice(("symbol",), "test") for name in ("split", "dividend", "trade")},
)


@pytest.fixture(params=["SEQUENTIAL", "SNAPSHOT"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    """The example in another folder, with a day of drops."""
    shutil.copytree(EXAMPLE, tmp_path / "holdings")
    program = tmp_path / "holdings" / "holdings.m3"
    text = program.read_text()
    assert "SEMANTICS SEQUENTIAL" in text
    program.write_text(text.replace("SEQUENTIAL", request.param))
    script = [sys.executable, str(EXAMPLE / "make_drops.py"), str(tmp_path / "landing"), str(EPOCHS), "120"]
    subprocess.run(script, check=True, env={"PATH": os.environ["PATH"]})
    return load_project(tmp_path / "holdings", {"CUMULUS_HOME": str(tmp_path)})


def test_holdings_are_those_of_the_serial_order(project: Project, spark: SparkSession) -> None:
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        assert rt.plan.versions.name == "event"
        executor = SparkExecutor(ExecutorSettings(rows_per_task=5), spark, BY_SYMBOL)
        on_spark = dataclasses.replace(rt, executor=executor)
        run_epochs(on_spark, EPOCHS, validating=False)
        _check_stages(on_spark)
        for name, rows in _serial(on_spark).items():
            assert sorted(read_view(on_spark, name, 0).to_pylist(), key=repr) == sorted(rows, key=repr)
            assert rows
        assert sum(e.corrections for e in status(on_spark).epochs) > 0, "coordinator 0 was never late"


def _check_stages(rt: Runtime) -> None:
    """That the batches were run in stages, with the cycle inside the tasks."""
    batches: list[Batch] = [b for b in rt.catalog.log.batches() if b.state == "retired"]
    assert batches
    for batch in batches:
        task = ApplyTask(rt.plan, rt.project.state, rt.reference(batch), ())
        found = plan_stages(task, 2, fixed_labels(rt.plan, BY_SYMBOL))
        assert len(found.stages) == 2
        splits = "split" in task.batch.relations()
        assert [bool(stage.cycles) for stage in found.stages] == [False, splits]


def _serial(rt: Runtime) -> dict[str, list[dict[str, object]]]:
    """The views by the interpreter, event by event."""
    files: dict[str, dict[Path, int]] = {}
    for file in rt.catalog.log.files():
        files.setdefault(file.relation, {})[rt.project.state / file.path] = file.first_version
    return {name: table.to_pylist() for name, table in recompute_m3(rt.program, files, 0).items()}
