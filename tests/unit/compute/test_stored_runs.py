"""Which stored runs a look-up is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cumulus_ops.catalog.records import Run
from cumulus_ops.compute.reading import EVER, StoredRuns, opened_runs
from cumulus_ops.layout.plans import plan_program
from m3 import compile_views
from m3.datatypes import INT
from m3.program import Column, Relation

R = Relation("r", (Column("a", INT), Column("b", INT)))


def test_those_that_may_have_a_delta_between_two_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def open_none(_: str, runs: Sequence[Run], names: Sequence[str]) -> list[int]:
        asked.append(len(runs))
        return [run.id for run in runs]

    monkeypatch.setattr(opened_runs, "together", open_none)
    plan = plan_program(compile_views("test", (R,), {"v": "SELECT a, SUM(b) AS s FROM r GROUP BY a"}), "batch")
    path = next(iter(plan.paths.values()))[0]
    spans = [(0, 4), (3, 9), (6, 6)]
    runs = [
        Run(path.map, path.label, "file", 0, low, high, 1, 0, id=i, commit=i, origin=i)
        for i, (low, high) in enumerate(spans)
    ]
    stored = StoredRuns(plan, Path(), runs)
    for since in (-EVER, 0, 5, 7, 10):
        for before in (0, 1, 4, 7, 9, 10, 11, EVER):
            expected = [i for i, (low, high) in enumerate(spans) if low < before and high >= since]
            assert stored.get(path, before, since) == expected, (before, since)
    asked.clear()
    assert stored.get(path, 10) is stored.get(path, 12) is stored.get(path)
    assert not asked, "all versions after the newest find the same"
    assert StoredRuns(plan, Path(), []).get(path, 5) == []
