"""Groups: maps whose entries come and go together are one table, and only those."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings

from cumulus_ops.layout.plans import ProgramPlan, plan_program
from m3 import check, compile_views, format_program, parse
from m3.datatypes import INT, STRING, decimal
from m3.errors import M3Error
from m3.program import Column, Program, Relation
from tests.support.random_programs import RELATIONS, m3_programs, sql_views

ORDERS = Relation(
    "orders",
    (Column("id", INT), Column("customer", INT), Column("price", decimal(9, 2)), Column("town", STRING)),
)
CUSTOMER = Relation("customer", (Column("c_id", INT), Column("name", STRING), Column("c_town", STRING)))


def plan(**views: str) -> ProgramPlan:
    return plan_program(compile_views("test", (ORDERS, CUSTOMER), views), "batch")


def members(prepared: ProgramPlan) -> set[tuple[str, ...]]:
    return {group.members for group in prepared.groups.values()}


def together(prepared: ProgramPlan, *names: str) -> bool:
    return len({prepared.group_of[name] for name in names}) == 1


def test_sums_counts_and_averages_of_a_view_are_one_group() -> None:
    prepared = plan(v="SELECT customer, SUM(price) AS s, COUNT(*) AS n, AVG(id) AS a FROM orders GROUP BY customer")
    (group,) = prepared.groups.values()
    assert len(group.members) >= 3
    assert set(group.members) == set(prepared.program.map_by_name)
    (statement,) = prepared.statements[group.name]
    assert [product.map for product in statement.products] == list(group.members)
    assert group.keys == prepared.program.map_by_name[group.name].keys
    assert group.name == group.members[0]


JOIN = "FROM orders, customer WHERE customer = c_id"


def test_views_over_one_join_share_a_group_and_what_they_look_up() -> None:
    prepared = plan(
        v=f"SELECT name, SUM(price) AS s {JOIN} GROUP BY name",
        w="SELECT name, COUNT(*) AS n, SUM(id) AS i FROM customer, orders WHERE c_id = customer GROUP BY name",
    )
    assert together(prepared, "v_s", "v_count", "w_i")
    name = prepared.group_of["v_s"]
    for statement in prepared.statements[name]:
        assert {product.map for product in statement.products} == set(prepared.groups[name].members)
        (read,) = statement.reads
        assert set(read.taken) == {product.reads for product in statement.products}
        assert {prepared.group_of[column] for product in statement.products for column in product.reads} == {
            read.path.map
        }


@pytest.mark.parametrize(
    "other",
    [
        "SELECT customer, COUNT(*) AS n FROM orders WHERE price > 1.00 GROUP BY customer",
        "SELECT id, COUNT(*) AS n FROM orders GROUP BY id",
        "SELECT town, COUNT(*) AS n FROM orders GROUP BY town",
        "SELECT customer, town, COUNT(*) AS n FROM orders GROUP BY customer, town",
        "SELECT customer, COUNT(*) AS n FROM orders, customer WHERE customer = c_id GROUP BY customer",
        "SELECT customer + 1 AS c, COUNT(*) AS n FROM orders GROUP BY customer + 1",
        "SELECT COUNT(*) AS n FROM orders",
    ],
)
def test_other_conditions_keys_and_joins_are_other_groups(other: str) -> None:
    prepared = plan(v="SELECT customer, SUM(price) AS s FROM orders GROUP BY customer", w=other)
    assert not together(prepared, "v_s", "w_count")
    assert together(prepared, "v_s", "v_count")


def test_conditions_on_other_sides_of_a_join_are_other_groups() -> None:
    prepared = plan(
        v=f"SELECT name, SUM(price) AS s {JOIN} GROUP BY name",
        w=f"SELECT name, COUNT(*) AS n {JOIN} AND c_town = 'x' GROUP BY name",
    )
    assert not together(prepared, "v_s", "w_count")


RELATIONS_TEXT = """
PROGRAM p SEMANTICS {semantics};
RELATION r(a INT, b INT);
RELATION s(b INT, c INT);
MAP one[k INT] : INT;
MAP two[l INT] : DECIMAL(9, 2);
MAP pairs[b INT, c INT] : INT;
MAP twins[c INT, d INT] : INT;
"""


def written(triggers: str, semantics: str = "SNAPSHOT") -> ProgramPlan:
    return plan_program(check(parse(RELATIONS_TEXT.format(semantics=semantics) + triggers)), "event")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("one[Y] += pairs[B, Y];", "two[Z] += 0.25 * twins[B, Z];", True),
        ("one[Y] += pairs[B, Y] * A;", "two[Z] += twins[B, Z] * Z;", True),
        ("one[Y] += pairs[B, Y] * twins[Y, Z];", "two[Z] += twins[B, Z] * pairs[Z, Y];", True),
        ("one[Y] += pairs[Y, B];", "two[Z] += twins[B, Z];", False),
        ("one[Y] += pairs[B, Y] * twins[Y, Z];", "two[Z] += twins[B, Y] * pairs[Y, Z];", False),
        ("one[Y] += IF Y > 1 THEN pairs[B, Y] ELSE 0;", "two[Z] += IF Z > 1 THEN twins[B, Z] ELSE 0;", True),
        ("one[Y] += IF Y > 1 THEN pairs[B, Y] ELSE 0;", "two[Z] += IF Z > 2 THEN twins[B, Z] ELSE 0;", False),
        ("one[Y] += pairs[B, Y]; one[A] += 1;", "two[Z] += twins[B, Z];", False),
        ("one[Y] += pairs[B, Y]; one[Y] += pairs[B, Y];", "two[Z] += twins[B, Z];", False),
        ("one[Y] += pairs[B, Y]; one[A] += 1;", "two[A] += 2; two[Y] += twins[B, Y];", True),
        ("one[A] += 1;", "two[B] += 1;", False),
    ],
)
def test_statements_may_differ_in_factors_and_names_of_loop_variables_alone(
    first: str, second: str, same: bool
) -> None:
    both = "ON +s(B, C) DO { pairs[B, C] += 1; twins[B, C] += C; }"
    prepared = written(f"ON +r(A, B) DO {{ {first} {second} }} {both}")
    assert together(prepared, "pairs", "twins")
    assert together(prepared, "one", "two") == same


def test_maps_that_read_different_groups_are_apart() -> None:
    prepared = written(
        "ON +r(A, B) DO { one[Y] += pairs[B, Y]; two[Y] += twins[B, Y]; }"
        "ON +s(B, C) DO { pairs[B, C] += 1; twins[C, B] += 1; }"
    )
    assert not together(prepared, "pairs", "twins")
    assert not together(prepared, "one", "two")


def test_statements_one_after_the_other_see_different_events_and_are_apart() -> None:
    body = "ON +r(A, B) DO { one[A] += 1; two[A] += 1; }"
    assert together(written(body), "one", "two")
    assert not together(written(body, "SEQUENTIAL"), "one", "two")


def test_derived_maps_are_alone() -> None:
    prepared = plan(
        v="SELECT customer, MIN(price) AS low, MAX(price) AS high FROM orders GROUP BY customer",
        w="SELECT customer, MIN(price) AS low, COUNT(*) AS n FROM orders GROUP BY customer",
    )
    assert prepared.derived
    for name in prepared.derived:
        assert prepared.groups[name].members == (name,)


def _renamed(program: Program) -> Program:
    """The same program with other loop variables, whose order by name is another, too."""
    params = {name for trigger in program.triggers for name in trigger.params}
    loops = {v for t in program.triggers for s in t.statements for v in s.variables()} - params
    text = format_program(program)
    for place, name in enumerate(sorted(loops, reverse=True)):
        text = re.sub(rf"\b{re.escape(name)}\b", f"zz{place}_{name}", text)
    return check(parse(text))


def _checks(prepared: ProgramPlan) -> None:
    """Every map is in one group, of equal key types; every statement of the program is a product of one of its group."""
    program = prepared.program
    names = [name for group in prepared.groups.values() for name in group.members]
    assert sorted(names) == sorted(m.name for m in program.maps)
    for group in prepared.groups.values():
        for name in group.members:
            kinds = [(key.type.kind, key.type.scale) for key in program.map_by_name[name].keys]
            assert kinds == [(key.type.kind, key.type.scale) for key in group.keys]
        for statement in prepared.statements[group.name]:
            assert tuple(product.map for product in statement.products) == group.members
            for product in statement.products:
                assert [prepared.group_of[name] for name in product.reads] == [r.path.map for r in statement.reads]
            for place, read in enumerate(statement.reads):
                assert {product.reads[: place + 1] for product in statement.products} <= set(read.taken)
                assert len(set(read.taken)) == len(read.taken)


FEW = settings(deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(m3_programs())
def test_groups_do_not_depend_on_the_names_of_loop_variables(program: Program) -> None:
    prepared = plan_program(check(program), "event")
    _checks(prepared)
    assert members(plan_program(_renamed(check(program)), "event")) == members(prepared)


@FEW
@given(sql_views())
def test_views_of_any_kind_are_grouped_and_lose_nothing(views: dict[str, str]) -> None:
    try:
        program = compile_views("random", RELATIONS, views)
    except M3Error:
        assume(False)
    prepared = plan_program(program, "batch")
    _checks(prepared)
    triggers = [t for t in program.triggers if t.relation in program.relation_by_name]
    products = {
        sign: sum(len(s.products) for g in prepared.statements.values() for s in g if s.sign in (0, sign))
        for sign in (1, -1)
    }
    for sign, found in products.items():
        assert found == sum(len(t.statements) for t in triggers if t.sign == sign)
