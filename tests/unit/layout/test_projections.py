"""Projections: a group that is a wider one seen through fewer keys is not kept, and reads the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.query.read import read_map
from m3 import compile_views
from m3.datatypes import INT, decimal
from m3.program import Column, Relation
from tests.support.projects import Event, append_events, engine_maps, interpret, make_project, oracle_maps

LINE = Relation(
    "line", (Column("o", INT), Column("p", INT), Column("s", INT), Column("x", decimal(9, 2))), ("o", "p"), 6000
)
PART = Relation("part", (Column("p", INT), Column("kind", INT)), ("p",), 200)
SUPPLIER = Relation("supplier", (Column("s", INT), Column("land", INT)), ("s",), 100)
ORDERS = Relation("orders", (Column("o", INT), Column("day", INT)), ("o",), 1500)
RELATIONS = (LINE, PART, SUPPLIER, ORDERS)
#: One looks lines up by order, part and supplier, the other by order and supplier.
VIEWS = {
    "three": (
        "SELECT kind, land, day, SUM(x) AS t FROM line, part, supplier, orders "
        "WHERE line.p = part.p AND line.s = supplier.s AND line.o = orders.o GROUP BY kind, land, day"
    ),
    "two": (
        "SELECT land, day, COUNT(*) AS n, SUM(x * x) AS t FROM line, supplier, orders "
        "WHERE line.s = supplier.s AND line.o = orders.o GROUP BY land, day"
    ),
}


def plan(relations: tuple[Relation, ...] = RELATIONS, **views: str) -> ProgramPlan:
    return plan_program(compile_views("test", relations, views), "batch")


def narrow_members(prepared: ProgramPlan) -> dict[str, tuple[int, ...]]:
    return {name: places for group in prepared.groups.values() for name, places in group.narrow.items()}


def test_lines_by_order_and_supplier_are_lines_by_order_part_and_supplier() -> None:
    apart = len(plan(two=VIEWS["two"]).groups) + len(plan(three=VIEWS["three"]).groups)
    both = plan(**VIEWS)
    assert narrow_members(both)
    assert len(both.groups) < apart
    lines = [g for g in both.groups.values() if {k.name for k in g.keys} >= {"o", "p", "s"}]
    assert len(lines) == 1


@pytest.mark.parametrize("rows", [None, 10**9])
def test_a_group_is_kept_that_has_far_fewer_rows_or_nobody_knows(rows: int | None) -> None:
    few = tuple(
        dataclasses.replace(r, rows=rows if r is LINE else r.rows, key=() if r is LINE else r.key) for r in RELATIONS
    )
    assert not any(len(places) < 2 for places in narrow_members(plan(few, **VIEWS)).values())


def test_what_views_and_derivations_read_stays_as_it_is() -> None:
    prepared = plan(
        all="SELECT o, p, s, SUM(x) AS t FROM line GROUP BY o, p, s",
        some="SELECT o, p, SUM(x) AS t FROM line GROUP BY o, p",
        least="SELECT o, MIN(x) AS least FROM line GROUP BY o",
    )
    assert not narrow_members(prepared)


def test_both_views_are_right_under_inserts_and_deletes_in_any_batches(tmp_path: Path) -> None:
    events: list[Event] = [("part", 1, (p, p % 3)) for p in range(4)] + [("supplier", 1, (s, s % 2)) for s in range(4)]
    events += [("line", 1, (o, p, (o + p) % 4, 1 + o * p)) for o in range(6) for p in range(4)]
    events += [("orders", 1, (o, o % 2)) for o in range(6)]
    events += [("line", -1, (o, 1, (o + 1) % 4, 1 + o)) for o in range(6)]
    events += [("supplier", -1, (1, 1)), ("supplier", 1, (1, 0)), ("orders", -1, (3, 1)), ("part", -1, (2, 2))]
    project = make_project(tmp_path, list(RELATIONS), views=VIEWS, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        narrow = narrow_members(rt.plan)
        assert narrow
        for number, start in enumerate(range(0, len(events), 7)):
            apply_batch(rt, append_events(rt, 0, events[start : start + 7], f"d{number}"))
        expected = oracle_maps(interpret(rt.program, events))
        assert engine_maps(rt) == expected
        for name in narrow:
            assert len(read_map(rt, name)) == len(expected[name]) > 0
