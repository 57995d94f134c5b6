"""Plans: how statements read their maps, and which copies of a map that needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.layout.statements import StatementPlan
from cumulus_ops.project.project_file import load_project
from m3 import check, compile_views, parse
from m3.datatypes import INT, decimal
from m3.program import Program
from m3.scalars import Const, Var, call, const

EXAMPLE = load_project(Path(__file__).parents[3] / "examples" / "tpch")

RELATIONS = """
PROGRAM p SEMANTICS {semantics};
RELATION r(a INT, b INT, x DECIMAL(9, 2));
RELATION s(b INT, c INT);
MAP total[] : DECIMAL(38, 6);
MAP by_a[a INT] : INT;
MAP pairs[a INT, b INT] : DECIMAL(25, 2);
MAP triples[a INT, b INT, c INT] : INT;
"""


def plan(triggers: str, semantics: str = "SNAPSHOT") -> ProgramPlan:
    return plan_program(check(parse(RELATIONS.format(semantics=semantics) + triggers)), "event")


def only(triggers: str, target: str = "total") -> StatementPlan:
    (statement,) = plan(triggers).statements[target]
    return statement


def example(*views: str) -> Program:
    return compile_views("example", EXAMPLE.relations, {v: EXAMPLE.views[v] for v in views})


def labels(prepared: ProgramPlan) -> dict[str, list[str]]:
    return {name: [p.label for p in paths] for name, paths in prepared.paths.items()}


def test_the_papers_example_keeps_one_copy_per_way_of_reading() -> None:
    prepared = plan_program(example("example21"), "batch")
    paths = labels(prepared)
    assert paths["m_orders_1"] == ["0", "1"]  # by customer and by order
    auxiliary = {m for m in paths if m.startswith("m_")}  # one of each table, with its aggregates, and none of a join
    assert auxiliary == {"m_customer_1", "m_orders_1", "m_lineitem_1"}
    assert prepared.groups["m_orders_1"].members == ("m_orders_1", "m_orders_2")
    assert prepared.groups["m_lineitem_1"].members == ("m_lineitem_1", "m_lineitem_2")
    assert {tuple(paths[m]) for m in paths if len(prepared.program.map_by_name[m].keys) == 1} == {("0",)}
    assert prepared.columns["lineitem"] == ("l_orderkey", "l_discount")
    assert prepared.columns["orders"] == ("o_orderkey", "o_custkey", "o_totalprice")
    assert prepared.columns["region"] == ()
    assert prepared.ranks == {r.name: i for i, r in enumerate(EXAMPLE.relations)}
    assert {s.relation for s in prepared.readers("orders")} == {"orders"}
    assert all(s.reads for s in prepared.readers("orders"))


@pytest.mark.parametrize("view", sorted(EXAMPLE.views))
def test_compiled_deletes_share_the_statements_of_inserts(view: str) -> None:
    program = example(view)
    prepared = plan_program(program, "batch")
    statements = [s for group in prepared.statements.values() for s in group]
    assert statements
    assert {s.sign for s in statements} == {0}
    products = sum(len(s.products) for s in statements)
    assert products == sum(len(t.statements) for t in program.triggers if t.sign == 1)
    assert products > len(statements)  # sums and counts are added up together


@pytest.mark.parametrize("view", sorted(EXAMPLE.views))
def test_every_read_finds_its_copy_and_every_map_has_one(view: str) -> None:
    prepared = plan_program(example(view), "batch")
    read = {r.path for group in prepared.statements.values() for s in group for r in s.reads}
    kept = {p for paths in prepared.paths.values() for p in paths}
    assert read <= kept
    assert all(prepared.paths[prepared.group_of[m.name]] for m in prepared.program.maps)
    assert set(prepared.paths) == set(prepared.groups)
    assert all((p.keys, p.values) == (None, None) for p, *_ in prepared.paths.values())
    for path in kept - read:  # only for people: by the whole key
        assert sorted(path.bound) == list(range(len(prepared.groups[path.map].keys)))
        assert not [p for p in read if p.map == path.map]


def test_a_map_that_only_people_read_is_kept_by_its_whole_key() -> None:
    assert labels(plan("ON +r(A, B, X) DO { pairs[A, B] += X; total[] += 1; }")) == {
        "total": ["all"], "by_a": ["0"], "pairs": ["0.1"], "triples": ["0.1.2"],
    }  # fmt: skip


def test_reads_bind_parameters_constants_and_earlier_loop_variables() -> None:
    statement = only("ON +s(B, C) DO { total[] += pairs[Y, B] * by_a[Y] * triples[Y, 7, Z]; }")
    first, second, third = statement.reads
    assert (first.path.label, first.free) == ("1", ((0, "Y"),))
    assert (second.path.label, second.free, second.bound) == ("0", (), (Var("Y", INT),))
    assert (third.path.label, third.free) == ("0.1", ((2, "Z"),))
    assert statement.carried == tuple((n, s) for n, s in [("$0", Var("B", INT)), ("$1", const(7))])
    assert third.bound == (Var("Y", INT), Var("$1", INT))


def test_a_loop_variable_twice_in_one_read_is_bound_by_none_of_its_columns() -> None:
    (read,) = only("ON +s(B, C) DO { total[] += triples[Y, Y, C]; }").reads
    assert (read.path.label, read.free) == ("2", ((0, "Y"), (1, "Y")))


@pytest.mark.parametrize(
    ("term", "reorderable"),
    [
        ("by_a[B]", True),
        ("pairs[Y, B] * triples[Z, B, C]", True),
        ("triples[Y, Y, C]", True),
        ("pairs[Y, B] * by_a[Y]", False),
        ("pairs[B, Y] * by_a[B] * triples[C, B, Y]", False),
    ],
)
def test_reads_may_change_places_unless_a_loop_variable_links_them(term: str, reorderable: bool) -> None:
    assert only(f"ON +s(B, C) DO {{ total[] += {term}; }}").reorderable is reorderable


def test_what_needs_event_parameters_only_is_computed_first_and_carried_once() -> None:
    statement = only(
        "ON +r(A, B, X) DO { total[] += IF A < 3 AND Y > B THEN X * (Y + A) * pairs[Y, A + B] * by_a[A + B] ELSE 0; }"
    )
    a, b, y, x = Var("A", INT), Var("B", INT), Var("Y", INT), Var("X", decimal(9, 2))
    assert statement.conditions == (call("lt", a, const(3)),)
    assert statement.factors == (x,)
    carried = {scalar: name for name, scalar in statement.carried}
    assert set(carried) == {call("add", a, b), a, b}
    assert {r.bound for r in statement.reads} == {(Var(carried[call("add", a, b)], INT),)}
    assert statement.late_conditions == (call("gt", y, Var(carried[b], INT)),)
    (product,) = statement.products
    assert (product.map, product.reads) == ("total", ("pairs", "by_a"))
    assert product.late_factors == (call("add", y, Var(carried[a], INT)),)
    assert statement.reads[0].free == ((0, "Y"),)


def test_keys_are_loop_variables_or_carried() -> None:
    statement = only("ON +r(A, B, X) DO { triples[Y, A + 1, B] += triples[Y, B, 1]; }", "triples")
    names = dict(statement.carried)
    assert statement.keys[0] == Var("Y", INT)
    assert [names[k.name] for k in statement.keys[1:]] == [call("add", Var("A", INT), const(1)), Var("B", INT)]  # type: ignore[union-attr]


def test_a_term_is_raised_to_its_targets_scale() -> None:
    """``total`` has six decimals."""
    for term, shift in (("A", 6), ("X * X", 2), ("X * pairs[A, B] * 0.25", 0)):
        (product,) = only(f"ON +r(A, B, X) DO {{ total[] += {term}; }}").products
        assert product.shift == shift


BODY = "{ total[] += by_a[A]; by_a[A] += 1; total[] += by_a[A]; }"


def test_sequential_statements_see_those_before_them() -> None:
    prepared = plan(f"ON +r(A, B, X) DO {BODY}", "SEQUENTIAL")
    assert [s.offset for s in prepared.statements["total"]] == [0, 2]
    assert [s.offset for s in prepared.statements["by_a"]] == [1]
    assert {s.offset for g in plan(f"ON +r(A, B, X) DO {BODY}").statements.values() for s in g} == {0}


@pytest.mark.parametrize(
    ("insert", "delete", "signs"),
    [
        ("by_a[A] += 1;", "by_a[A] += -1;", [0]),
        ("by_a[A] += -2 * B;", "by_a[A] += 2 * B;", [0]),
        ("by_a[A] += B * -1;", "by_a[A] += B;", [0]),
        ("by_a[A] += 1;", "by_a[A] += 1;", [1, -1]),
        ("by_a[A] += 1;", "by_a[A] += -2;", [1, -1]),
        ("by_a[A] += 1;", "by_a[B] += -1;", [1, -1]),
        ("by_a[A] += IF B > 0 THEN 1 ELSE 0;", "by_a[A] += -1;", [1, -1]),
        ("by_a[A] += 0;", "by_a[A] += 0;", [1, -1]),
    ],
)
def test_two_triggers_are_one_exactly_when_they_are_mirrored(insert: str, delete: str, signs: list[int]) -> None:
    prepared = plan(f"ON +r(A, B, X) DO {{ {insert} }} ON -r(A, B, X) DO {{ {delete} }}")
    assert [s.sign for s in prepared.statements["by_a"]] == signs


def test_mirrored_triggers_keep_the_sign_of_the_insert() -> None:
    (statement,) = plan("ON +r(A, B, X) DO { by_a[A] += -2 * B; } ON -r(A, B, X) DO { by_a[A] += 2 * B; }").statements[
        "by_a"
    ]
    assert Const(-2, INT) in statement.factors


def test_one_trigger_alone_keeps_its_sign() -> None:
    assert only("ON -r(A, B, X) DO { total[] += 1; }").sign == -1


def test_cycles_are_one_stratum() -> None:
    prepared = plan("ON +r(A, B, X) DO { by_a[A] += by_a[B]; total[] += by_a[A]; }", "SEQUENTIAL")
    cyclic = dict(zip(prepared.strata, prepared.cyclic, strict=True))
    assert cyclic["by_a",] is True
    assert cyclic["total",] is False
    assert prepared.strata.index(("by_a",)) < prepared.strata.index(("total",))
