"""A view of many scalar subqueries looks each of them up, however often their values have changed: rows do not multiply."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cumulus_ops.compute import kernel
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import initialise, open_runtime
from tests.support.projects import append_events, engine_maps, interpret, make_project, oracle_maps
from tests.support.random_programs import RELATIONS

ASKED = ", ".join(f"(SELECT SUM(r.a) FROM r WHERE r.b >= {i}) AS s{i}" for i in range(12))


def test_rows_do_not_multiply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path, RELATIONS, views={"v": f"SELECT t.c, {ASKED} FROM t WHERE t.c = 1"})
    initialise(project)
    seen: list[int] = []
    take = kernel._Joined.take

    def counting(joined: kernel._Joined, rows: np.ndarray) -> kernel._Joined:
        seen.append(len(rows))
        assert len(rows) < 1000, "as many rows as there are ways through all the values that the subqueries have had"
        return take(joined, rows)

    monkeypatch.setattr(kernel._Joined, "take", counting)
    with open_runtime(project) as rt:
        done = []
        for number in range(5):
            events = [("r", 1, (number + i, i)) for i in range(13)] + [("t", 1, (1, "x"))]
            apply_batch(rt, append_events(rt, 0, events, f"d{number}"))
            done += events
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, done))
    assert max(seen) > 1
