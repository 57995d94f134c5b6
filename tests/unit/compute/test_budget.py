"""A step that may hold almost nothing computes what one with plenty of memory does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cumulus_ops.compute import kernel as kernel_module
from cumulus_ops.compute import reading
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import initialise, open_runtime
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps

R = Relation("r", (Column("a", INT), Column("b", INT)))
S = Relation("s", (Column("b", INT), Column("c", INT)))
VIEWS = {
    "pairs": "SELECT a, c, COUNT(*) AS n, SUM(a * c) AS s FROM r, s WHERE r.b = s.b GROUP BY a, c",
    "top": "SELECT a, MAX(c) AS m FROM r, s WHERE r.b = s.b GROUP BY a",
}
EVENTS: list[Event] = [
    *(("s", 1, (i % 3, i)) for i in range(40)),
    *(("r", 1, (i, i % 3)) for i in range(60)),
    *(("s", -1, (i % 3, i)) for i in range(0, 40, 4)),
    *(("r", -1, (i, i % 3)) for i in range(0, 60, 5)),
]


def test_joins_are_made_in_parts_and_deltas_written_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FEWEST_ROWS", 20)
    parts: list[int] = []
    join = kernel_module._join

    def counted(*asked: Any) -> Iterator[kernel_module._Joined]:
        found = list(join(*asked))
        parts.append(len(found))
        return iter(found)

    monkeypatch.setattr(kernel_module, "_join", counted)
    project = dataclasses.replace(make_project(tmp_path, [R, S], views=VIEWS, coordinators=1), memory=1)
    initialise(project)
    with open_runtime(project) as rt:
        from cumulus_ops.epochs.minibatch import apply_batch

        for number, start in enumerate(range(0, len(EVENTS), 40)):
            apply_batch(rt, append_events(rt, 0, EVENTS[start : start + 40], f"d{number}"))
        vote(rt, 0, 0)
        commit(rt, 0)
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, EVENTS))
    assert max(parts) > 1, "some join was made in parts"
