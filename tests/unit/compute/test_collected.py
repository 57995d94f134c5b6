"""Aggregates of the values of a group, where there are groups and no value yet."""

from __future__ import annotations

from pathlib import Path

from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import initialise, open_runtime
from m3.datatypes import DOUBLE, INT
from m3.program import Column, Relation
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps

RELATION = Relation("r", (Column("a", INT), Column("b", INT), Column("x", DOUBLE)))
AGGREGATES = {
    "sum": "SUM(x)",
    "deviation": "STDDEV(x)",
    "pairs": "REGR_COUNT(x, x + 1)",
    "middle": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY b)",
    "least": "PERCENTILE_DISC(0) WITHIN GROUP (ORDER BY b)",
    "mode": "MODE() WITHIN GROUP (ORDER BY b)",
    "bits": "BIT_OR(b)",
    "list": "STRING_AGG(CAST(b AS VARCHAR), ',' ORDER BY b)",
    "greatest": "MAX(b)",
}
BATCHES: list[list[Event]] = [[("r", 1, (1, 2, 0.5))], [("r", 1, (2, 7, 1.5))], [("r", -1, (2, 7, 1.5))]]


def test_no_value_of_any_group_has_come_yet(tmp_path: Path) -> None:
    columns = ", ".join(f"{text} FILTER (WHERE b > 5) AS {name}" for name, text in AGGREGATES.items())
    views = {"v": f"SELECT a, {columns}, COUNT(*) AS n FROM r GROUP BY a"}
    project = make_project(tmp_path, [RELATION], views=views, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        for number, batch in enumerate(BATCHES):
            assert apply_batch(rt, append_events(rt, 0, batch, f"d{number}")) is not None
            seen = [event for before in BATCHES[: number + 1] for event in before]
            assert engine_maps(rt) == oracle_maps(interpret(rt.program, seen))
