"""A refresh in levels: which maps several tasks compute, and when one does the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.compute.apply import ApplyTask
from cumulus_ops.compute.portions import PortionTask, run_levels
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.compute.steps import run_step
from cumulus_ops.layout.plans import plan_program
from cumulus_ops.maps.packs import open_run
from m3 import compile_views
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.staging import in_process, summed, visible, write_batch

TASKS, ENOUGH = 2, 1_000
SALE = Relation("sale", (Column("k", INT), Column("v", INT)))
#: What has changed of `first` is met once more when `second` is there, which is derived from it.
VIEW = """
WITH first AS (SELECT k, MAX(v) AS top FROM sale GROUP BY k),
     second AS (SELECT MAX(top) AS most FROM first)
SELECT COUNT(*) AS n FROM first, second WHERE first.top = second.most
"""


def test_rows_that_are_new_since_any_level_are_shared_out(tmp_path: Path) -> None:
    plan = plan_program(compile_views("test", (SALE,), {"view": VIEW}), "batch")
    (first,) = [name for name in plan.derived if plan.level_of[name] == 1]
    new = [
        Run(name, path.label, "file", 0, 0, 0, ENOUGH, 0, id=1, commit=1, origin=1)
        for name in plan.base
        for path in plan.paths[name]
    ]

    def parts(rows: int) -> dict[str, int]:
        """In how many parts each map is computed, where the first derived one gets so many rows, and others one."""
        found: dict[str, int] = {}

        def run(portions: list[PortionTask]) -> list[NewRun]:
            found.update((name, portion.part[1]) for portion in portions for name in portion.allowed)
            return [
                NewRun(name, path.label, "file", 0, 0, 0, rows if name == first else 1, 0)
                for name in portions[0].first
                for path in plan.paths[name]
            ]

        run_levels(RefreshTask(plan, tmp_path, tuple(new), 0, (), (), -1, 0), TASKS, ENOUGH, run)
        return found

    few, many = parts(ENOUGH // 2), parts(ENOUGH)
    assert few[first] == many[first] == TASKS
    met = {name for name in plan.dependents[first] if plan.level_of[name] > 2}
    assert met
    assert {few[name] for name in met} == {1}
    assert {many[name] for name in met} == {TASKS}


PAIR = Relation("pair", (Column("a", INT), Column("b", INT), Column("v", INT)))


@pytest.mark.parametrize("is_hot", [False, True])
def test_groups_of_a_task_are_a_range_of_the_first_key_unless_it_is_hot(
    is_hot: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cumulus_ops.compute.refresh.SMALL_ROWS", 0)
    view = "SELECT a, b, MAX(v) AS top FROM pair GROUP BY a, b HAVING MAX(v) > 0"
    plan = plan_program(compile_views("test", (PAIR,), {"view": view}), "batch")
    rows = [(5 if is_hot else n % 100, n % 200, n) for n in range(400)]
    batch = write_batch(plan, tmp_path, 1, [("pair", 1, row) for row in rows])
    applied = visible(in_process(ApplyTask(plan, tmp_path, batch, ())), 1)
    task = RefreshTask(plan, tmp_path, applied, 0, (batch,), (), -1, 0)
    first = min(plan.derived, key=plan.level_of.__getitem__)
    written, keys = list[NewRun](), dict[tuple[int, int], set[int]]()

    def run(portions: list[PortionTask]) -> list[NewRun]:
        new = list[NewRun]()
        for portion in portions:
            for found in run_step(portion).runs:
                new.append(found)
                if found.map == first:
                    table = open_run(tmp_path / found.path, found.offset, found.bytes, found.root).table(
                        plan.key_names(first)
                    )
                    keys.setdefault(portion.part, set()).update(table[0].to_pylist())
        written.extend(new)
        return new

    run_levels(task, TASKS, 1, run)
    assert summed(plan, tmp_path, written) == summed(plan, tmp_path, run_step(task).runs)
    lower, upper = keys[0, TASKS], keys[1, TASKS]
    assert lower == upper == {5} if is_hot else max(lower) < min(upper)
