"""Large steps of one process are portions, by threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from cumulus_ops.catalog.records import Run
from cumulus_ops.compute import steps
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.portions import PortionTask, compute_portion
from cumulus_ops.compute.reading import opened_runs
from cumulus_ops.compute.steps import InProcess, MergeTask, Tier, run_step, verdict
from cumulus_ops.layout.plans import plan_program
from cumulus_ops.project.errors import IntegrityProblem
from m3 import compile_views
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.staging import summed, visible, write_batch

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
