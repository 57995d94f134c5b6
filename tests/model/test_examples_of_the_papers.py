"""The papers' worked examples, on the interpreter and on the engine: final values, and how many corrections of what size."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import networkx as nx
import pytest

from cumulus_ops.opening.runtime import initialise, open_runtime
from m3 import check, compile_views, parse, restricted_violations
from m3.dataflow import dataflow, depth
from m3.datatypes import from_units
from m3.program import MapRef, Program, Statement, Trigger
from m3.scalars import Const, Var, variables
from tests.support.executions import History
from tests.support.papers import (
    ATOMICITY,
    EXAMPLE_2_1,
    FIGURE_1,
    FIGURE_5,
    PRODUCT,
    RECURSIVE,
    STAYS_EMPTY,
)
from tests.support.projects import Event, interpret, make_project

Start = Callable[[str], History]


@pytest.fixture(params=["SNAPSHOT", "SEQUENTIAL"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Start]:
    """Opens a project that maintains a program, under both kinds of semantics."""
    with ExitStack() as stack:

        def starter(text: str) -> History:
            text = text.format(semantics=request.param)
            project = make_project(tmp_path, check(parse(text)).relations, program=text, coordinators=2)
            initialise(project, versions="event")  # the papers' own
            return History(stack.enter_context(open_runtime(project)))

        yield starter


# -- Cumulus paper, Example 2.1 ------------------------------------------------------------------------------------

QUERY = """
SELECT c.nation, SUM(o.discount * l.price) AS s FROM customers c, orders o, lineitems l
WHERE c.cid = o.cid AND o.oid = l.oid GROUP BY c.nation
"""


def _shopping(count: int) -> list[Event]:
    """Inserts, and deletes of what was inserted."""
    rng = random.Random(21)
    events: list[Event] = []
    live: list[tuple[str, tuple[object, ...]]] = []
    for _ in range(count):
        if live and rng.random() < 0.25:
            relation, row = live.pop(rng.randrange(len(live)))
            events.append((relation, -1, row))
            continue
        money = Decimal(rng.randrange(1, 999)).scaleb(-2)
        relation, row = rng.choice(
            [
                ("customers", (rng.randrange(4), rng.choice(["CH", "US"]))),
                ("orders", (rng.randrange(4), rng.randrange(5), money / 100 * 10)),
                ("lineitems", (rng.randrange(5), money)),
            ]
        )
        row = tuple(v.quantize(Decimal("0.01")) if isinstance(v, Decimal) else v for v in row)
        live.append((relation, row))
        events.append((relation, 1, row))
    return events


def _selected(events: list[Event]) -> tuple[dict[tuple[object, ...], Decimal], dict[tuple[object, ...], Decimal]]:
    """The paper's query, and the one that m2 stands for, over the rows that are left; by nested loops."""
    left: dict[str, list[tuple[object, ...]]] = {"customers": [], "orders": [], "lineitems": []}
    for relation, sign, row in events:
        left[relation].append(row) if sign > 0 else left[relation].remove(row)
    q: dict[tuple[object, ...], Decimal] = {}
    m2: dict[tuple[object, ...], Decimal] = {}
    for cid, oid, discount in left["orders"]:
        for other, price in left["lineitems"]:
            if oid == other:
                m2[cid,] = m2.get((cid,), Decimal(0)) + discount * price  # type: ignore[operator]
                for customer, nation in left["customers"]:
                    if customer == cid:
                        q[nation,] = q.get((nation,), Decimal(0)) + discount * price  # type: ignore[operator]
    return q, m2


def test_example_2_1_equals_its_sql(start: Start) -> None:
    history = start(EXAMPLE_2_1)
    program = history.rt.program
    assert sum(len(t.statements) for t in program.triggers if t.sign > 0) == 10
    assert restricted_violations(program) == []
    history.stamp(*_shopping(25))
    places = list(range(25))
    random.Random(1).shuffle(places)
    history.apply(*places)
    history.corrections()
    assert history.is_serial()
    units = history.maps()
    for name, rows in zip(("q", "m2"), _selected(history.events), strict=True):
        assert {k: Decimal(from_units(v, 4)) for k, v in units[name].items()} == {k: v for k, v in rows.items() if v}
    assert units["q"]


def test_example_2_1_has_the_depths_of_figure_6() -> None:
    program = check(parse(EXAMPLE_2_1.format(semantics="SNAPSHOT")))
    assert depth(program) == {"q": 2, "m1": 1, "m2": 1, "m3": 0, "m4": 0, "m5": 0}


def test_the_restricted_compilation_of_its_sql_is_the_same_program() -> None:
    example = check(parse(EXAMPLE_2_1.format(semantics="SNAPSHOT")))
    compiled = compile_views("example", example.relations, {"q": QUERY}, restricted=True)
    sums = _only(compiled, "q_s")
    assert len(sums.maps) == len(example.maps)
    assert _isomorphism(sums, example) == {
        "q_s": "q",
        "m_customers_orders_2": "m1",
        "m_lineitems_orders_2": "m2",
        "m_orders_2": "m3",
        "m_lineitems_2": "m4",
        "m_customers_1": "m5",
    }
    broken = replace(example, triggers=(*example.triggers[:-1], replace(example.triggers[-1], statements=())))
    assert _isomorphism(sums, broken) is None


def _only(program: Program, name: str) -> Program:
    """What a program needs for one map."""
    kept = {n for kind, n in nx.ancestors(dataflow(program), ("map", name)) if kind == "map"} | {name}
    triggers = (replace(t, statements=tuple(s for s in t.statements if s.target in kept)) for t in program.triggers)
    return replace(program, maps=tuple(m for m in program.maps if m.name in kept), triggers=tuple(triggers))


def _isomorphism(one: Program, other: Program) -> dict[str, str] | None:
    """The names of one program's maps in the other, if there are names, and orders of keys, that make them the same."""
    wanted = _shape(other, {m.name: m.name for m in other.maps}, {m.name: range(len(m.keys)) for m in other.maps})
    names = [m.name for m in one.maps]
    for chosen in itertools.permutations(other.maps):
        pairs = list(zip(one.maps, chosen, strict=True))
        if any(sorted(map(repr, _types(a))) != sorted(map(repr, _types(b))) for a, b in pairs):
            continue
        orders = [
            [p for p in itertools.permutations(range(len(a.keys))) if [_types(a)[i] for i in p] == _types(b)]
            for a, b in pairs
        ]
        for order in itertools.product(*orders):
            called = {a.name: b.name for a, b in pairs}
            if _shape(one, called, dict(zip(names, order, strict=True))) == wanted:
                return called
    return None


def _types(decl: object) -> list[object]:
    return [key.type for key in decl.keys]  # type: ignore[attr-defined]


def _shape(program: Program, called: dict[str, str], orders: dict[str, object]) -> set[object]:
    """All statements with their maps called otherwise, their keys in other orders; parameters and loop variables are numbered."""
    return {(t.event, _statement_shape(t, s, called, orders)) for t in program.triggers for s in t.statements}


def _statement_shape(
    trigger: Trigger, statement: Statement, called: dict[str, str], orders: dict[str, object]
) -> object:
    def ordered(name: str, keys: tuple[object, ...]) -> list[Var]:
        return [keys[i] for i in orders[name]]  # type: ignore[attr-defined, misc]

    target = ordered(statement.target, statement.keys)
    words = {param: f"parameter {i}" for i, param in enumerate(trigger.params)}
    words |= {key.name: f"loop {i}" for i, key in enumerate(target) if key.name not in words}
    factors: list[tuple[object, ...]] = []
    for factor in statement.factors:
        if isinstance(factor, MapRef):
            factors.append((called[factor.map], *(words[k.name] for k in ordered(factor.map, factor.keys))))
        elif isinstance(factor, Const):
            factors += [(factor.value,)] * (factor.value != 1)
        else:
            factors += [(words[name],) for name in variables(factor)]
    return called[statement.target], tuple(words[k.name] for k in target), tuple(sorted(map(repr, factors)))


# -- Cumulus paper, Figure 5 (compute) -----------------------------------------------------------------------------


def test_slices_are_multiplied_as_relations(start: Start) -> None:
    history = start(PRODUCT)
    history.apply(*history.stamp(("l", 1, ("A", 1)), ("l", 1, ("B", 2)), ("r", 1, ("C", 2)), ("go", 1, (0,))))
    assert history.maps()["both"] == {("A", "C"): 2, ("B", "C"): 4}
    assert history.is_serial()


# -- Cumulus paper, section 4.1; semester paper, Figure 1 ----------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "coordinators"),
    [("first first", (0, 0)), ("second first", (0, 1)), ("second before first is read", (0, 1))],
)
def test_a_violated_write_read_dependency_costs_one_correction(
    start: Start, order: str, coordinators: tuple[int, int]
) -> None:
    history = start(FIGURE_1)
    history.apply(*history.stamp(("s", 1, (4, 2)), ("s", 1, (5, 1))))
    first, second = (
        *history.stamp(("r", 1, (1, 4)), coordinator=coordinators[0]),
        *history.stamp(("r", 1, (1, 5)), coordinator=coordinators[1]),
    )
    history.read(second)
    if order == "second before first is read":
        history.write(second)
        history.apply(first)
    else:
        history.read(first)
        for place in (first, second) if order == "first first" else (second, first):
            history.write(place)
    assert history.maps() == {"m1": {}, "m2": {(1,): 3}, "m3": {(4,): 2, (5,): 1}}  # eventual: m1 lacks what TS 1 wrote
    assert history.corrections() == [("m1", (), second, 2)]
    assert history.maps() == {"m1": {(): 2}, "m2": {(1,): 3}, "m3": {(4,): 2, (5,): 1}}
    assert history.is_serial()


def test_in_order_nothing_is_corrected(start: Start) -> None:
    history = start(FIGURE_1)
    history.apply(*history.stamp(("s", 1, (4, 2)), ("s", 1, (5, 1)), ("r", 1, (1, 4)), ("r", 1, (1, 5))))
    assert history.maps()["m1"] == {(): 2}
    assert history.corrections() == []


# -- Semester paper, Figure 5 --------------------------------------------------------------------------------------


def test_reads_find_the_version_before_them_and_a_late_write_corrects_all_of_them(start: Start) -> None:
    history = start(FIGURE_5)
    order = [("put", 2), ("put", 6), ("fetch", 7), ("fetch", 9), ("put", 10), ("fetch", 11)]
    place = {ts: history.stamp((relation, 1, (ts,)))[0] for relation, ts in order}
    history.apply(place[2], place[10], place[7], place[9], place[11])
    assert history.maps()["mw"] == {(7,): 1, (9,): 1, (11,): 2}  # TS 2's value, TS 2's value, TS 10's value
    assert history.corrections() == []
    history.apply(place[6])
    assert history.corrections() == [("mw", (ts,), place[ts], 1) for ts in (7, 9, 11)]
    assert history.maps()["mw"] == {(7,): 2, (9,): 2, (11,): 3}
    assert history.is_serial()


# -- Semester paper, Example 3.3 -----------------------------------------------------------------------------------


def test_a_correction_is_multiplied_with_what_else_was_read_at_each_version(start: Start) -> None:
    history = start(RECURSIVE)
    delta, m3_at_2, more = 2, 5, 4
    events: list[Event] = [
        ("e", 1, (1, m3_at_2)),
        ("d", 1, (1, delta)),
        ("s", 1, (1,)),
        ("e", 1, (1, more)),
        ("s", 1, (1,)),
    ]
    e, ts1, ts2, e_again, ts3 = history.stamp(*events)
    history.apply(e, ts2, e_again, ts3, ts1)
    assert history.maps()["m1"] == {}
    by_2, by_3 = delta * m3_at_2, delta * m3_at_2 + delta * (m3_at_2 + more)
    # deltas: what m1[1] grows by at TS 2 is in its value at TS 3 as well
    assert history.corrections() == [("m1", (1,), ts2, by_2), ("m1", (1,), ts3, by_3 - by_2)]
    assert history.maps()["m1"] == {(1,): by_3}
    assert history.is_serial()


# -- Semester paper, Examples 3.1 and 3.2, Figure 6 -----------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_read_does_not_see_what_is_written_later(start: Start, order: tuple[int, int]) -> None:
    history = start(STAYS_EMPTY)
    history.apply(*history.stamp(("d", 1, (1,))))
    places = history.stamp(("r", 1, (1,)), ("s", 1, (2,)))
    history.apply(*(places[i] for i in order))
    assert history.corrections() == []
    assert history.maps() == {"m1": {(1,): 1}, "m2": {(2,): 1}, "m3": {}}
    assert history.is_serial()


@pytest.mark.parametrize(("case", "coordinators"), [("a", (0, 1)), ("b", (0, 0)), ("b", (0, 1))])
def test_atomicity_and_order_are_restored_by_one_correction_from_the_earlier_map(
    start: Start, case: str, coordinators: tuple[int, int]
) -> None:
    history = start(ATOMICITY)
    history.apply(*history.stamp(("d", 1, (1,))))
    (s,) = history.stamp(("s", 1, (1,)), coordinator=coordinators[0])
    (t,) = history.stamp(("t", 1, (1,)), coordinator=coordinators[1])
    if case == "a":  # both read, then both write
        history.read(s)
        history.read(t)
        history.write(s)
        history.write(t)
    else:
        history.apply(t, s)
    assert history.maps() == {"m1": {(1,): 2}, "m2": {(1,): 2}}
    assert history.corrections() == [("m2", (1,), t, 1)]  # m1 is written earlier: its node sends, m2's is corrected
    assert history.maps() == {"m1": {(1,): 2}, "m2": {(1,): 3}}
    assert history.is_serial()
    assert history.serial([history.events[i] for i in (0, t, s)]) == {"m1": {(1,): 3}, "m2": {(1,): 2}}


def test_both_semantics_agree_on_restricted_programs_without_reads_of_own_writes() -> None:
    """Figure 1's program is the same under both: m1 reads m2 before m2 is written."""
    events: list[Event] = [("s", 1, (4, 2)), ("s", 1, (5, 1)), ("r", 1, (1, 4)), ("r", 1, (1, 5))]
    one, other = (interpret(check(parse(FIGURE_1.format(semantics=s))), events) for s in ("SNAPSHOT", "SEQUENTIAL"))
    assert one.maps == other.maps
