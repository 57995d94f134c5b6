"""What is simulated: the paper's Example 2.1 is its SQL; TPC-H's linear queries run under every protocol; what no messages can maintain is refused."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product

import pytest

from cumulus_papers.case import Arrival, Case, paper
from cumulus_papers.layout import uniform_layout
from cumulus_papers.protocols import PROTOCOLS
from cumulus_papers.run import run_case, serial
from m3 import compile_views, parse
from m3.check import check
from m3.dataflow import depth
from m3.errors import ProgramError
from m3.interpreter import Interpreter
from m3.program import MapRef, Program, Statement, Trigger
from m3.scalars import Const, Scalar, Var
from tests.support.sampling import sampled
from tests.support.simulated_tpch import LINEAR, tpch_case, tpch_program
from tests.unit.m3.oracle import normal, recompute

SQL = """SELECT c.nation, SUM(o.discount * l.price) AS total FROM customers c, orders o, lineitems l
WHERE c.cid = o.cid AND o.oid = l.oid GROUP BY c.nation"""


@pytest.fixture(scope="module")
def printed() -> Program:
    """Example 2.1 as the paper has it."""
    return paper("cumulus-2.1")


@pytest.fixture(scope="module")
def compiled(printed: Program) -> Program:
    """The same query, compiled."""
    return compile_views("orders", printed.relations, {"q": SQL}, restricted=True)


def test_depths_of_example_21(printed: Program) -> None:
    """System section, 5: the result is the deepest, what joins two relations is next, what is read off one relation is 0."""
    assert depth(printed) == {"q": 2, "m1": 1, "m2": 1, "m3": 0, "m4": 0, "m5": 0}


def history(seed: int, count: int) -> list[tuple[int, str, tuple[int, ...]]]:
    choose, live = random.Random(seed), Counter[tuple[str, tuple[int, ...]]]()
    events = []
    for _ in range(count):
        if live and choose.random() < 0.25:
            name, row = choose.choice(sorted(live.elements()))
            events.append((-1, name, row))
            live[name, row] -= 1
            continue
        name, width = choose.choice((("customers", 2), ("orders", 3), ("lineitems", 2)))
        row = tuple(choose.randint(1, 4) for _ in range(width))
        events.append((1, name, row))
        live[name, row] += 1
    return events


@pytest.mark.parametrize("semantics", ["sequential", "snapshot"])
def test_example_21_is_its_query(printed: Program, compiled: Program, semantics: str) -> None:
    """The program as printed, the query compiled, and DuckDB: one result; its statements read what later ones write, so both
    semantics agree."""
    ours, theirs = Interpreter(replace(printed, semantics=semantics)), Interpreter(compiled)
    tables: dict[str, Counter[tuple[int, ...]]] = {r.name: Counter() for r in printed.relations}
    for sign, name, row in history(1, 120):
        ours.apply(sign, name, row)
        theirs.apply(sign, name, row)
        tables[name][row] += sign
    rows = [(*key, units) for key, units in ours.maps["q"].items()]
    assert len(rows) == 4
    assert normal(rows) == normal(theirs.view_rows("q")) == normal(recompute(printed.relations, tables, SQL))


Form = Counter[tuple[object, ...]]


def form(program: Program, names: dict[str, tuple[str, tuple[int, ...]]]) -> Form:
    """A program's statements that write the named maps, with maps and the places of their keys renamed, and variables by where they
    come from: ``#i`` is the event's column i, ``@i`` what stands at place i of the target."""
    return Counter(_form(t, s, names) for t in program.triggers for s in t.statements if s.target in names)


def _form(trigger: Trigger, statement: Statement, names: dict[str, tuple[str, tuple[int, ...]]]) -> tuple[object, ...]:
    variables = {name: f"#{i}" for i, name in enumerate(trigger.params)}

    def renamed(name: str, keys: tuple[Scalar, ...]) -> tuple[str, ...]:
        new, places = names[name]
        return (new, *(_variable(keys[i]) for i in places))

    def _variable(key: Scalar) -> str:
        assert isinstance(key, Var)
        return variables[key.name]

    _, places = names[statement.target]
    for i, place in enumerate(places):
        key = statement.keys[place]
        assert isinstance(key, Var)
        variables.setdefault(key.name, f"@{i}")
    refs = sorted(renamed(f.map, f.keys) for f in statement.factors if isinstance(f, MapRef))
    scalars = [f for f in statement.factors if not isinstance(f, MapRef)]
    sign = 1
    for factor in scalars:
        sign *= int(str(factor.value)) if isinstance(factor, Const) else 1
    read = sorted(_variable(f) for f in scalars if not isinstance(f, Const))
    target = renamed(statement.target, statement.keys)
    return trigger.sign, trigger.relation, target, sign, tuple(read), tuple(refs)


def behind(program: Program, name: str) -> list[str]:
    """A map, and the maps that it is computed from."""
    found = [name]
    for known in found:
        read = {r.map for t in program.triggers for s in t.statements if s.target == known for r in s.reads()}
        found += sorted(read - set(found))
    return found


def isomorphisms(program: Program, other: Program, maps: list[str]) -> Iterator[dict[str, tuple[str, tuple[int, ...]]]]:
    """The ways to rename maps of a program, and to order their keys, so that it becomes the other."""
    wanted = form(other, {m.name: (m.name, tuple(range(len(m.keys)))) for m in other.maps})
    orders = [list(permutations(range(len(program.map_by_name[m].keys)))) for m in maps]
    for targets in permutations([m.name for m in other.maps]):
        if all(
            len(program.map_by_name[m].keys) == len(other.map_by_name[t].keys)
            for m, t in zip(maps, targets, strict=True)
        ):
            for places in product(*orders):
                names = dict(zip(maps, zip(targets, places, strict=True), strict=True))
                if form(program, names) == wanted:
                    yield names


def test_what_the_compiler_makes_of_the_sum_is_example_21(printed: Program, compiled: Program) -> None:
    """The maps behind the SUM are the paper's q and m1 to m5, statement by statement, up to names and the order of m1's keys (and to
    the order of statements, of which the result does not depend).

    What else the compiler keeps is what SQL wants and the paper leaves out: ``q_count``, since a group whose sum is 0 is a row and one
    without rows is none, and ``q_failed``, since a product that overflows is an error; with the maps behind these.
    """
    found = list(isomorphisms(compiled, printed, behind(compiled, "q_total")))
    assert found == [
        {
            "q_total": ("q", (0,)),
            "m_customers_1": ("m5", (0, 1)),
            "m_customers_orders_2": ("m1", (1, 0)),
            "m_lineitems_2": ("m4", (0,)),
            "m_lineitems_orders_2": ("m2", (0,)),
            "m_orders_2": ("m3", (0, 1)),
        }
    ]
    others = {m.name for m in compiled.maps} - set(found[0])
    assert others == set(behind(compiled, "q_count") + behind(compiled, "q_failed")) - {"m_customers_1"}


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
@pytest.mark.parametrize("query", sampled(LINEAR, 3))
def test_linear_queries_of_tpch_under_every_protocol(query: str, protocol: str) -> None:
    """Keys that are texts, dates and decimals, up to 86 maps, on random layouts."""
    spec = PROTOCOLS[protocol]
    large = len(tpch_program(query).maps) > 20
    if large and protocol not in ("target", "source"):
        pytest.skip("as slow as it is large")
    case = tpch_case(query, spec, seed=1, events=8 if large else 40)
    outcome = run_case(case, spec)
    assert outcome.events == len(case.arrivals)
    assert outcome.commits, "snapshots are compared, too"


def test_derived_maps_are_refused_with_the_reason() -> None:
    with pytest.raises(
        ProgramError, match=r"q4 has derived maps \(.*\), which no statement's deltas maintain"
    ) as caught:
        run_case(tpch_case("q4", PROTOCOLS["target"], seed=1), PROTOCOLS["target"])
    assert caught.value.kind == "not-distributable"
    assert "engine" in str(caught.value.hint)


STARTS = """PROGRAM starts SEMANTICS SEQUENTIAL; RELATION r(a INT, b INT); RELATION s(b INT);
    MAP m1[a INT] : INT; MAP m2[b INT] : INT;
    ON START { m2[3] += 5; m2[4] += 7; m1[1] += 2 }
    ON +r(a, b) { m1[a] += m2[b] } ON +s(b) { m2[b] += 1 }"""


@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_what_a_program_starts_with_and_events_that_no_trigger_waits_for(protocol: str) -> None:
    """``ON START`` is before all versions; a delete of R reaches nobody's trigger, and has a version all the same."""
    spec = PROTOCOLS[protocol]
    program = check(parse(STARTS))
    history = [(1, "r", (1, 3)), (-1, "r", (1, 3)), (1, "s", (3,)), (-1, "s", (4,)), (1, "r", (1, 4)), (1, "r", (2, 3))]
    arrivals = tuple(Arrival(0.01 * i, 0, sign, name, row) for i, (sign, name, row) in enumerate(history))
    layout = uniform_layout(program, {"m1": (2,), "m2": (3,)}, 3)
    options = {name: values[0] for name, values in spec.options.items()}
    case = Case(0, protocol, program, layout, arrivals, epoch_s=0.035, epochs=1, options=options)
    outcome = run_case(case, spec)
    assert outcome.events == 6
    assert serial(program, {}) == {"m1": {(1,): 2}, "m2": {(3,): 5, (4,): 7}}
