"""A refresh in levels: which maps several tasks compute, and when one does the rest."""

from __future__ import annotations

from pathlib import Path

from cumulus_ops.catalog.records import NewRun, Run
from cumulus_ops.compute.portions import PortionTask, run_levels
from cumulus_ops.compute.refresh import RefreshTask
from cumulus_ops.layout.plans import plan_program
from m3 import compile_views
from m3.datatypes import INT
from m3.program import Column, Relation

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
