"""Large steps of one process are portions, by threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Barrier
from unittest.mock import Mock

import pytest

from cumulus_ops.catalog.records import Run
from cumulus_ops.compute import apply, steps
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.portions import PortionTask, compute_portion
from cumulus_ops.compute.reading import load_events, opened_runs
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.steps import InProcess, MergeTask, Tier, run_step, verdict
from cumulus_ops.layout.plans import plan_program
from cumulus_ops.project.errors import IntegrityProblem
from m3 import compile_views
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.staging import in_process, summed, visible, write_batch

SALE, PRICE = (Relation(name, (Column("k", INT), Column("v", INT))) for name in ("sale", "price"))
VIEW = "SELECT sale.k % 7 AS k, SUM(sale.v * price.v) AS s FROM sale, price WHERE sale.k = price.k GROUP BY sale.k % 7"
ROWS = 40
MEMORY = 64 << 20


@pytest.fixture
def task(tmp_path: Path) -> ApplyTask:
    plan = plan_program(compile_views("test", (SALE, PRICE), {"v": VIEW}), "batch")
    rows = [(name, 1, (n % 30, n)) for name in ("sale", "price") for n in range(ROWS)]
    return ApplyTask(plan, tmp_path, write_batch(plan, tmp_path, 1, rows), (), MEMORY)


def test_portions_run_at_the_same_time_and_share_the_memory(task: ApplyTask, monkeypatch: pytest.MonkeyPatch) -> None:
    together, parts, limits = Barrier(2, timeout=60), set[tuple[int, int]](), list[int]()

    def compute(portion: PortionTask, *others: object) -> None:
        assert portion.step.memory == MEMORY // 2
        parts.add(portion.part)
        together.wait()  # broken if there is one thread
        compute_portion(portion, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(steps, "compute_portion", compute)
    monkeypatch.setattr(opened_runs, "limit", limits.append)
    found = InProcess(2, 2).run(task)
    assert parts == {(0, 2), (1, 2)}
    assert MEMORY // 4 in limits, "what both remember is one memory"
    assert MEMORY // 8 not in limits, "what both remember is one memory"
    assert summed(task.plan, task.root, found.runs) == summed(task.plan, task.root, run_step(task).runs)


#: Two levels of a refresh meet the sales themselves: those of the highest prices, and those of the highest sums of these.
NESTED = """
WITH top AS (SELECT k, MAX(v) AS v FROM sale GROUP BY k),
     best AS (SELECT sale.k, SUM(sale.v * top.v) AS s FROM sale, top WHERE sale.k = top.k GROUP BY sale.k),
     most AS (SELECT k, MAX(s) AS s FROM best GROUP BY k)
SELECT sale.k, SUM(sale.v * most.s) AS s FROM sale, most WHERE sale.k = most.k GROUP BY sale.k
"""


def test_levels_of_a_refresh_read_the_events_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_program(compile_views("test", (SALE,), {"view": NESTED}), "batch")
    batch = write_batch(plan, tmp_path, 1, [("sale", 1, (n % 30, n)) for n in range(ROWS)])
    applied = visible(in_process(ApplyTask(plan, tmp_path, batch, ())), 1)
    task = RefreshTask(plan, tmp_path, applied, 0, (batch,), (), -1, 0)
    levels = {plan.level_of[n] for n in plan.refreshed for s in plan.statements[n] if s.relation == "sale"}
    assert len(levels) > 1
    expected = summed(plan, tmp_path, run_step(task).runs)
    reads = Mock(side_effect=load_events)
    monkeypatch.setattr(apply, "load_events", reads)
    assert summed(plan, tmp_path, InProcess(2, 2).run(task).runs) == expected
    assert reads.call_count == 2  # by each thread


@pytest.mark.parametrize(("rows", "portions"), [(4 * ROWS, 0), (2 * ROWS, 2), (ROWS, 4)])
def test_a_portion_goes_through_half_as_many_rows_as_a_step_that_has_several(
    rows: int, portions: int, task: ApplyTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set[int]()

    def compute(portion: PortionTask, *others: object) -> None:
        found.add(portion.part[1])
        compute_portion(portion, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(steps, "compute_portion", compute)
    InProcess(64, rows).run(task)
    assert max(found, default=0) == portions


def test_a_merge_by_threads_holds_what_one_holds(task: ApplyTask) -> None:
    written = [visible(InProcess(3, 2).run(task).runs, commit) for commit in (1, 2)]
    copies: dict[tuple[str, str], list[Run]] = {}
    for run in (run for runs in written for run in runs):
        copies.setdefault((run.map, run.access_path), []).append(run)
    paths = {(path.map, path.label): path for group in task.plan.paths.values() for path in group}
    tiers = tuple(Tier(paths[copy], tuple(runs)) for copy, runs in copies.items())
    merge = MergeTask(task.plan, task.root, tiers, -1, -1, 1_000, MEMORY)
    runs, expected = InProcess(2, 2).run(merge).runs, run_step(merge).runs
    assert len({run.path for run in runs}) == 2 > len({run.path for run in expected})
    assert summed(task.plan, task.root, runs) == summed(task.plan, task.root, expected)


def test_a_thread_that_cannot_be_started_is_no_fault_of_the_batch(
    task: ApplyTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", start)
    with pytest.raises(OSError, match="can't start new thread") as problem:
        InProcess(2, 2).run(task)
    assert verdict(problem.value) == "excused"


def test_a_failing_portion_is_what_its_step_fails_with(task: ApplyTask) -> None:
    (file, *_) = task.batch.files
    (task.root / file.path).unlink()
    with pytest.raises(IntegrityProblem, match="it is missing"):
        InProcess(2, 2).run(replace(task, label="failing-"))
