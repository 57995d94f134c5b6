"""A step that may hold almost nothing computes what one with plenty of memory does."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cumulus_ops.compute import kernel, reading
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.voting import vote
from cumulus_ops.maps.deltas import Deltas
from cumulus_ops.maps.lookup import Slices
from cumulus_ops.opening.runtime import initialise, open_runtime
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps

R = Relation("r", (Column("a", INT), Column("b", INT)))
S = Relation("s", (Column("b", INT), Column("c", INT)))
VIEWS = {
    "pairs": "SELECT a, c, COUNT(*) AS n, SUM(a * c) AS s FROM r, s WHERE r.b = s.b GROUP BY a, c",
    "total": "SELECT SUM(a * c) AS s FROM r, s WHERE r.b = s.b",
    "top": "SELECT a, MAX(c) AS m FROM r, s WHERE r.b = s.b GROUP BY a",
}
EVENTS: list[Event] = [
    *(("s", 1, (i % 3, i)) for i in range(40)),
    *(("r", 1, (i, i % 3)) for i in range(60)),
    *(("s", -1, (i % 3, i)) for i in range(0, 40, 4)),
    *(("r", -1, (i, i % 3)) for i in range(0, 60, 5)),
]


LIMIT = 40


def test_joins_are_made_in_parts_and_deltas_written_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FEWEST_ROWS", LIMIT)
    parts, summed, at_once = list[int](), list[tuple[int, int]](), list[int]()
    find_parts, read_part, add_deltas = kernel.find_parts, kernel.read_part, kernel.add_deltas

    def count_parts(*asked: Any) -> list[Any]:
        found = find_parts(*asked)
        parts.append(len(found))
        return found

    def count_rows(*asked: Any, **how: Any) -> Any:
        found = read_part(*asked, **how)
        if len({*found[0].request.tolist()}) > 1:  # of one request all rows are read
            at_once.append(len(found[0].request))
        return found

    def count_summed(deltas: Sequence[Deltas]) -> Deltas:
        result = add_deltas(deltas)
        summed.append((sum(map(len, deltas)), len(result)))
        return result

    monkeypatch.setattr(kernel, "find_parts", count_parts)
    monkeypatch.setattr(kernel, "read_part", count_rows)
    monkeypatch.setattr(kernel, "add_deltas", count_summed)
    project = dataclasses.replace(make_project(tmp_path, [R, S], views=VIEWS, coordinators=1), memory=1)
    initialise(project)
    with open_runtime(project) as rt:
        from cumulus_ops.epochs.minibatch import apply_batch

        for number, start in enumerate(range(0, len(EVENTS), 40)):
            apply_batch(rt, append_events(rt, 0, EVENTS[start : start + 40], f"d{number}"))
        vote(rt, 0, 0)
        commit(rt, 0)
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, EVENTS))
    assert max(parts) > kernel.REMEMBERED > 1, "some join was made in many parts"
    assert max(at_once) <= LIMIT
    assert all(rows <= 3 * max(LIMIT, left) for rows, left in summed), "what is found is summed early"


@pytest.mark.parametrize("requests", [[1], [0, 1], [63, 65, 70]])
def test_whether_entries_cancel_is_asked_of_requests_that_have_some(requests: list[int]) -> None:
    rows = 2 * kernel.CANCELLED_ROWS
    request = np.sort(np.resize(requests, rows))
    for each, cancels in ((1, False), (2, True)):
        entries = pa.array(np.arange(rows) // each)
        slices = Slices(request, (entries,), {"m": np.resize([1, -1], rows)})
        assert kernel._cancels(slices, 100) == cancels
