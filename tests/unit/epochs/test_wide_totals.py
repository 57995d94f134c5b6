"""Totals beyond 64 bits: exact in every view, whatever batches, merges and deletes they come from."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cumulus_ops.epochs.checkpoint import commit, merge
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.publishing.publishing import publish
from cumulus_ops.query.read import read_groups, read_map, read_view
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps
from tests.support.wide_totals import GROUPS, VIEWS, Row, expected, large_batch, make

#: Enough rows of one batch that they are grouped before they are summed.
MANY = 2100


def rows(rt: Runtime, view: str, as_of: int | None = None) -> list[Row]:
    table = read_view(rt, view, as_of, tentative=as_of is None)
    return sorted(tuple(row.values()) for row in table.to_pylist())


def apply(rt: Runtime, events: list[Event], drop: str) -> list[Event]:
    apply_batch(rt, append_events(rt, 0, events, drop))
    return events


def test_totals_are_exact_while_they_grow_beyond_64_bits_and_come_back(tmp_path: Path) -> None:
    project = make(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        events = apply(rt, GROUPS, "groups")
        steps = [
            *(large_batch(k, n) for k, n in ((0, 9), (0, 9), (1, MANY), (2, 5), (0, 40))),
            [*large_batch(3, 30, sign=-1), *large_batch(4, 1)],
            large_batch(1, MANY),
        ]
        snapshots = {}
        for number, step in enumerate([*steps, *([(r, -1, row) for r, _, row in s] for s in steps[:5])]):
            events = events + apply(rt, step, f"d{number}")
            wanted = expected(events)
            assert {view: rows(rt, view) for view in VIEWS} == wanted
            if number % 4 == 3:
                epoch = number // 4
                vote(rt, 0, epoch)
                commit(rt, epoch)
                while merge(rt):
                    pass
                publish(rt, epoch)
                snapshots[epoch] = wanted
            assert {e: {v: rows(rt, v, e) for v in VIEWS} for e in snapshots} == snapshots
        assert len(snapshots) == 3
        assert engine_maps(rt) == oracle_maps(interpret(rt.program, events))
        assert sum(read_groups(rt, "by_k", 2)["rows"].to_pylist()) == wanted["everything"][0][1]
        for epoch, views in snapshots.items():
            for view, published in views.items():
                table = DeltaTable(str(tmp_path / "published" / view), version=epoch).to_pyarrow_table()
                assert sorted(tuple(row.values()) for row in table.to_pylist()) == published


def test_a_total_beyond_64_bits_is_a_factor_like_any_other(tmp_path: Path) -> None:
    project = make(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        events = apply(rt, large_batch(0, 30), "d0")
        events += apply(rt, GROUPS, "groups")
        assert {view: rows(rt, view) for view in VIEWS} == expected(events)


def test_a_sum_of_integers_is_an_error_only_where_it_is_read(tmp_path: Path) -> None:
    views = {
        "total": "SELECT SUM(a) AS t FROM r",
        "wider": "SELECT SUM(CAST(a AS DECIMAL(19, 0))) AS t, AVG(CAST(a AS DECIMAL(19, 0))) AS average FROM r",
    }
    project = make_project(tmp_path, [Relation("r", (Column("a", INT),))], views=views, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        apply(rt, [("r", 1, (2**62 + i,)) for i in range(4)], "d0")
        assert rows(rt, "wider") == [(2**64 + 6, 2**62 + Decimal("1.5"))]
        with pytest.raises(InputProblem) as caught:
            rows(rt, "total")
        assert caught.value.kind == "overflow"
        apply(rt, [("r", -1, (2**62 + i,)) for i in range(3)], "d1")
        assert rows(rt, "total") == [(2**62 + 3,)]
        assert all(len(read_map(rt, m.name)) == 1 for m in rt.program.maps)
