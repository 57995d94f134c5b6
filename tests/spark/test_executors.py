"""Every executor runs the same steps: in this process, on Spark as one task, on Spark in stages with messages."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from cumulus_ops.append.append import append_delivery
from cumulus_ops.catalog.records import Run
from cumulus_ops.compute.correct import CorrectTask
from cumulus_ops.compute.extend import ExtendTask
from cumulus_ops.compute.portions import run_levels
from cumulus_ops.compute.reading import BatchRef
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.spark import SENT, SparkExecutor, spark_session
from cumulus_ops.compute.steps import MergeTask, Tier
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.epochs.status import status
from cumulus_ops.layout.costs import REPLICATED
from cumulus_ops.layout.partitioning import choose_layout
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.layout.stages import levels
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.settings import ExecutorSettings, LayoutChoice, LayoutSettings, Project
from cumulus_ops.project.versions import epoch_end
from tests.support.derived_programs import SHOP
from tests.support.drops import make_shop
from tests.support.projects import engine_maps
from tests.support.sampling import deep, sampled
from tests.support.staging import summed

pytestmark = pytest.mark.spark
EPOCHS, PERIODS = 2, 5
Maps = list[dict[str, dict[tuple[object, ...], int]]]


def _run(rt: Runtime) -> tuple[Maps, int]:
    run_epochs(rt, EPOCHS, validating=False)
    return [engine_maps(rt, epoch_end(e)) for e in range(EPOCHS)], sum(e.corrections for e in status(rt).epochs)


def _on_spark(project: Project, spark: SparkSession, rows_per_task: int) -> tuple[Maps, int]:
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        executor = SparkExecutor(ExecutorSettings(rows_per_task=rows_per_task), spark)
        outcome = _run(dataclasses.replace(rt, executor=executor))
        runs = Counter(
            (r.map, r.access_path, r.commit) for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit())
        )
        merges = rt.catalog.commits.merges({commit for *_, commit in runs})
        ranges = [number for (*_, commit), number in runs.items() if commit in merges]
        assert max(ranges) > 1, "no copy was merged in ranges"
        return outcome


@pytest.fixture(scope="module")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> tuple[Maps, int]:
    project = make_shop(tmp_path_factory.mktemp("inprocess"), periods=PERIODS)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        return _run(rt)


@pytest.mark.parametrize("rows_per_task", sampled([1, 10**6], 2), ids={1: "stages", 10**6: "one task"}.get)
def test_spark_ends_in_the_same_maps(
    rows_per_task: int,
    spark: SparkSession,
    in_process: tuple[Maps, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cumulus_ops.epochs.checkpoint.most_merged_rows", lambda _: 10)
    project = make_shop(tmp_path, periods=PERIODS)
    outcome = _on_spark(project, spark, rows_per_task)
    assert outcome[0] == in_process[0]  # how many corrections led there depends on how often runs were tidied up
    assert outcome[1] > 0, "no correction happened: the stream does not test them"


@deep
def test_stages_that_partition_everything_end_in_the_same_maps(
    spark: SparkSession, in_process: tuple[Maps, int], tmp_path: Path
) -> None:
    project = make_shop(tmp_path, periods=PERIODS)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        layout = _partitioned(rt.plan)
        assert any(choice.columns for choice in layout.maps.values())
        executor = SparkExecutor(ExecutorSettings(rows_per_task=1), spark, layout)
        assert _run(dataclasses.replace(rt, executor=executor))[0] == in_process[0]


def _partitioned(plan: ProgramPlan) -> LayoutSettings:
    """The layout of a batch that is large enough for nothing to be small."""
    layout = choose_layout(plan, dict.fromkeys(plan.ranks, 1e9), 2)
    choices = {node: LayoutChoice(label, "test") for node, label in layout.labels.items() if label != REPLICATED}
    return LayoutSettings(
        {name: choice for (kind, name), choice in choices.items() if kind == "map"},
        {name: choice for (kind, name), choice in choices.items() if kind == "events"},
    )


def test_both_executors_agree_on_derivations(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = Mock(side_effect=run_levels)
    monkeypatch.setattr("cumulus_ops.compute.spark.run_levels", split)
    outcomes = []
    for name in ("inprocess", "spark"):
        project = make_shop(tmp_path / name, periods=PERIODS, program=SHOP)
        initialise(project)
        with open_runtime(project, "inprocess") as rt:
            executor = rt.executor if name == "inprocess" else SparkExecutor(ExecutorSettings(rows_per_task=1), spark)
            outcomes.append(_run(dataclasses.replace(rt, executor=executor)))
    (maps, corrections), (maps_on_spark, corrections_on_spark) = outcomes
    assert maps == maps_on_spark
    assert min(corrections, corrections_on_spark) > 0, (
        "how many depends on when runs are merged: tasks write more of them"
    )
    assert maps[-1]["ranked"]
    assert {type(call.args[0]) for call in split.call_args_list} == {RefreshTask, CorrectTask}


def test_groups_are_extended_by_stages_and_a_task_for_what_is_derived(spark: SparkSession, tmp_path: Path) -> None:
    project = make_shop(tmp_path, periods=PERIODS, program=SHOP)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, EPOCHS, validating=False)
        batches = rt.references([b for b in rt.catalog.log.batches() if b.counts])
        everything = BatchRef(0, 0, 0, tuple(f for b in batches for f in b.files), 0, 0, 0)
        only = frozenset(rt.plan.group_of[name] for name in ("by_nation", "spent"))
        task = ExtendTask(rt.plan, project.state, (everything,), (), only, label="spread-")
        assert {rt.plan.group_of[name] for name in ("placed", "spent")} <= task.spread
        on_spark = SparkExecutor(ExecutorSettings(rows_per_task=1), spark).run(task).runs
        assert {r.path for r in on_spark} == {f"runs/{p.name}" for p in (project.state / "runs").glob("spread-*")}
        assert summed(rt.plan, project.state, on_spark) == summed(rt.plan, project.state, rt.executor.run(task).runs)


def test_a_failing_step_says_what_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    project = make_shop(tmp_path)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        broken = dataclasses.replace(rt, executor=SparkExecutor(ExecutorSettings(), spark))
        for delivery in rt.sources.pending(0):
            append_delivery(project, rt.catalog, 0, delivery)
        damaged = {f.path for f in rt.catalog.log.files() if f.relation == "item"}
        for path in damaged:
            (project.state / path).write_bytes(b"not parquet")
        with pytest.raises(Exception, match="|".join(map(re.escape, damaged))):
            run_epochs(broken, 1, validating=False)


def test_a_session_that_runs_is_taken_without_a_job(spark: SparkSession) -> None:
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup
    before = jobs()
    for for_steps in (True, False):
        assert spark_session(ExecutorSettings(master="local[2,2]"), for_steps=for_steps).range(1) is not None
    assert jobs() == before


def test_each_job_of_one_task_is_sent_its_own(spark: SparkSession, tmp_path: Path) -> None:
    """Such jobs have one frame. What they are to do is sent beside it, by several threads at once, and also after one of them has failed."""
    project = make_shop(tmp_path, periods=1)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        executor = SparkExecutor(ExecutorSettings(), spark)
        path = next(path for paths in rt.plan.paths.values() for path in paths)

        def merge(number: int, range_rows: int = 1000) -> list[str]:
            lost = Run(path.map, path.label, f"runs/lost-{number}", 0, 0, 0, 1, 1, id=number, commit=1, origin=1)
            result = executor.run(MergeTask(rt.plan, project.state, (Tier(path, (lost,)),), 0, 0, range_rows))
            return [Path(unread.file).name.partition(",")[0] for unread in result.unread]  # the file, and where in it

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(merge, range(8))) == [[f"lost-{n}"] for n in range(8)]
        with pytest.raises(Exception, match="ZeroDivisionError"):
            merge(8, range_rows=0)
        assert merge(9) == ["lost-9"]
    assert spark.sparkContext.getLocalProperty(SENT) is None


def test_levels_follow_the_dataflow(tmp_path: Path) -> None:
    project = make_shop(tmp_path)
    initialise(project)
    with open_runtime(project, "inprocess") as rt:
        seen: set[str] = set()
        for level in levels(rt.plan):
            for name in level:
                assert {r.path.map for s in rt.plan.statements[name] for r in s.reads} <= seen
            seen |= set(level)
        assert seen == set(rt.plan.base) == set(rt.plan.groups)
