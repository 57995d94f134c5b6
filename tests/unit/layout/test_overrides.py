"""`layout:` in the project file: what it may say, and what each mistake is answered with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cumulus_ops.layout.costs import ANYWHERE, REPLICATED
from cumulus_ops.layout.partitioning import check_layout, choose_layout, fixed_labels
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.project_file import load_project
from m3 import compile_views

PROJECT = """\
name: shop
relations:
  customer: {{columns: {{c_id: bigint, c_town: bigint}}, key: [c_id]}}
  orders: {{columns: {{o_id: bigint, o_customer: bigint, o_price: bigint}}, key: [o_id]}}
sources: {{landing: in}}
epochs: {{length: 15m, start: 2026-01-01}}
views: {{towns: towns.sql}}
layout:
  {layout}
"""
VIEW = "SELECT c_town, SUM(o_price) AS total FROM customer, orders WHERE c_id = o_customer GROUP BY c_town"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    (tmp_path / "towns.sql").write_text(VIEW)

    def writer(layout: str) -> Path:
        (tmp_path / "cumulus.yaml").write_text(PROJECT.format(layout=layout))
        return tmp_path

    return writer


def _checked(folder: Path) -> ProgramPlan:
    project = load_project(folder, {})
    plan = plan_program(compile_views("shop", project.relations, project.views), "batch")
    check_layout(plan, project.layout)
    return plan


def test_what_is_decided_is_not_estimated(write: Write) -> None:
    folder = write("maps: {m_customer_1: [c_id]}\n  events: {orders: [o_customer]}")
    plan = _checked(folder)
    fixed = fixed_labels(plan, load_project(folder, {}).layout)
    assert fixed == {("map", "m_customer_1"): ("c_id",), ("events", "orders"): ("o_customer",)}
    layout = choose_layout(plan, {"customer": 5, "orders": 5}, 2, fixed)
    assert layout.labels["map", "m_customer_1"] == ("c_id",)  # though it is small
    assert layout.labels["events", "orders"] == ("o_customer",)


def test_words_for_everywhere_and_anywhere(write: Write) -> None:
    folder = write("maps: {m_customer_1: replicated}\n  events: {orders: anywhere}")
    fixed = fixed_labels(_checked(folder), load_project(folder, {}).layout)
    assert fixed == {("map", "m_customer_1"): REPLICATED, ("events", "orders"): ANYWHERE}


def test_what_is_said_of_a_map_counts_for_its_group(write: Write) -> None:
    folder = write("maps: {m_orders_2: [c_id]}")
    plan = _checked(folder)
    assert plan.groups["m_orders_1"].members == ("m_orders_1", "m_orders_2")
    (column,) = (key.name for key in plan.groups["m_orders_1"].keys)
    assert fixed_labels(plan, load_project(folder, {}).layout) == {("map", "m_orders_1"): (column,)}


@pytest.mark.parametrize(
    ("layout", "kind", "message", "hint"),
    [
        (
            "maps: {m_orders_1: replicated, m_orders_2: [c_id]}",
            "layout-group",
            "m_orders_1 and m_orders_2",
            "leave one",
        ),
        ("maps: {m_custmer_1: [c_id]}", "unknown-map", "no map 'm_custmer_1'", "did you mean m_customer_1?"),
        ("maps: {m_customer_1: [id]}", "unknown-column", "m_customer_1 has no column 'id'", "c_id"),
        ("events: {order: anywhere}", "unknown-relation", "no relation 'order'", "did you mean orders?"),
        ("events: {orders: [o_custmer]}", "unknown-column", "no column 'o_custmer'", "did you mean o_customer?"),
        ("events: {orders: replicated}", "bad-layout", "neither columns nor anywhere", "or anywhere"),
        ("maps: {m_customer_1: []}", "bad-layout", "an empty list", "or replicated"),
        ("tables: {}", "unknown-key", "unknown key", "maps, events"),
        ("maps: {m_customer_1: [c_town]}", "layout-impossible", "do not meet", "write `m_customer_1: replicated`"),
    ],
)
def test_mistakes_are_answered_with_the_place_and_what_to_write(
    write: Write, layout: str, kind: str, message: str, hint: str
) -> None:
    folder = write(layout)
    with pytest.raises(InputProblem) as caught:
        _checked(folder)
    assert (caught.value.kind, message in caught.value.message, hint in caught.value.hint) == (kind, True, True)
    assert caught.value.place == f"{folder / 'cumulus.yaml'}:9"
