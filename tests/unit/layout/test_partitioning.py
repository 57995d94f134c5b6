"""Layouts: what batches need, what labels cost, and that minimum cuts find the cheapest ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cumulus_ops.layout.costs import (
    ANYWHERE,
    IMPOSSIBLE,
    REPLICATED,
    Estimates,
    Labels,
    Problem,
    events_per,
    find_needs,
    pose,
)
from cumulus_ops.layout.partitioning import choose_labels, choose_layout
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.layout.stages import schedule
from m3 import check, compile_views, parse
from m3.errors import M3Error
from m3.program import Program
from tests.support.random_programs import RELATIONS, m3_programs, sql_views

SHOP = """
PROGRAM shop SEMANTICS SNAPSHOT;
RELATION customer(id INT, town INT) KEY (id);
RELATION orders(id INT, customer INT) KEY (id);
RELATION item(order_id INT, price INT);
MAP customers[id INT, town INT] : INT;
MAP towns[order_id INT, town INT] : INT;
MAP items[order_id INT] : INT;
MAP by_town[town INT] : INT;
ON +customer(c, t) DO { customers[c, t] += 1; }
ON +orders(o, c) DO { towns[o, t] += customers[c, t]; by_town[t] += items[o] * customers[c, t]; }
ON +item(o, p) DO { items[o] += p; by_town[t] += towns[o, t] * p; }
"""
ROWS = {"customer": 1e6, "orders": 1e6, "item": 1e6}
BRUTE = 20_000


@pytest.fixture
def shop() -> ProgramPlan:
    return plan_program(check(parse(SHOP)), "batch")


def test_only_what_a_later_relation_of_the_batch_reads_is_needed(shop: ProgramPlan) -> None:
    needed = {(n.map, n.consumer[0]) for n in find_needs(shop, list(ROWS))}
    # items are added by a later relation than orders, which reads them
    assert needed == {("customers", "towns"), ("customers", "by_town"), ("towns", "by_town")}
    assert find_needs(shop, ["orders"]) == ()
    assert find_needs(shop, ["customer", "item"]) == ()


def test_events_with_versions_of_their_own_see_each_other(shop: ProgramPlan) -> None:
    alone = plan_program(shop.program, "event")
    assert {n.map for n in find_needs(alone, list(ROWS))} == {"customers", "towns", "items"}


def test_a_batch_without_needs_is_one_stage_without_an_exchange(shop: ProgramPlan) -> None:
    for relations in (["item"], ["orders"], ["customer", "item"]):
        layout = choose_layout(shop, dict.fromkeys(relations, 1e6), 4)
        (stage,) = schedule(layout).stages
        assert (stage.sent, stage.kept, layout.bytes) == ((), (), 0)


def test_levels_that_agree_are_one_stage(shop: ProgramPlan) -> None:
    layout = choose_layout(shop, {"orders": 1e6, "item": 1e6}, 4, {("events", "orders"): ("id",)})
    assert layout.labels["map", "towns"] == layout.labels["events", "item"] == ("order_id",)
    first, second = schedule(layout).stages
    assert {s.kind for s in first.sent} == {"events"}
    assert len(second.steps) == 2  # towns, and then what reads them, without an exchange between


def test_levels_that_do_not_are_several(shop: ProgramPlan) -> None:
    fixed: Labels = {
        ("events", "orders"): ("customer",),
        ("map", "customers"): ("id",),
        ("map", "towns"): ("order_id",),
    }
    stages = schedule(choose_layout(shop, ROWS, 4, fixed)).stages
    assert [sorted({s.kind for s in stage.sent}) for stage in stages] == [["events", "map"], ["events", "map"], []]


def test_small_maps_are_replicated(shop: ProgramPlan) -> None:
    layout = choose_layout(shop, {"customer": 100, "orders": 1e6}, 4)
    assert layout.labels == {
        ("events", "customer"): ANYWHERE,
        ("map", "customers"): REPLICATED,
        ("events", "orders"): ANYWHERE,
    }


def test_a_batch_is_as_its_tables_are(shop: ProgramPlan) -> None:
    assert events_per(shop, 1000, ["orders", "item"], {"item": 3_000_000}) == {"orders": 250, "item": 750}


def _small(problem: Problem) -> bool:
    count = 1
    for options in problem.labels.values():
        count *= len(options)
    return count <= BRUTE


def _all_labels(problem: Problem) -> Iterator[Labels]:
    for chosen in itertools.product(*problem.labels.values()):
        yield dict(zip(problem.labels, chosen, strict=True))


def _compare(program: Program, sizes: list[int], tasks: int) -> None:
    plan = plan_program(program, "batch")
    events = {r.name: float(10**n) for r, n in zip(RELATIONS, sizes, strict=True)}
    problem = pose(plan, list(events), Estimates(plan, events), tasks, small_bytes=0)
    assume(_small(problem))
    chosen = choose_labels(problem)
    assert problem.cost(chosen) < IMPOSSIBLE
    assert problem.cost(chosen) == min(problem.cost(labels) for labels in _all_labels(problem))


SIZES = st.lists(st.integers(0, 7), min_size=3, max_size=3)
CHECKED = settings(deadline=None, suppress_health_check=list(HealthCheck))


@CHECKED
@given(m3_programs(), SIZES, st.integers(2, 8))
def test_cuts_find_the_cheapest_layout_of_programs(program: Program, sizes: list[int], tasks: int) -> None:
    snapshot = replace(program, semantics="snapshot")
    try:
        checked = check(snapshot)
    except M3Error:
        assume(False)
    _compare(checked, sizes, tasks)


@CHECKED
@given(sql_views(), SIZES, st.integers(2, 8))
def test_cuts_find_the_cheapest_layout_of_views(views: dict[str, str], sizes: list[int], tasks: int) -> None:
    try:
        program = compile_views("random", RELATIONS, views)
    except M3Error:
        assume(False)
    _compare(program, sizes, tasks)
