"""What is proved of a program's order, against the serial interpreter on random orders of the same events, and on sums of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st

from m3 import ValueProblem, check, compile_views, format_program, parse
from m3.confluence.proof import prove
from m3.program import Program
from tests.support.derived_programs import DERIVED
from tests.support.mutations import mutated
from tests.support.projects import Event, interpret
from tests.support.random_derivations import derived_programs
from tests.support.random_programs import RELATIONS, m3_programs, sql_views
from tests.support.ring_programs import ring_programs
from tests.support.summed import summed_maps

#: More, and others each time, with `EXAMPLES=2000 pytest tests/model/test_confluence_against_orders.py`.
EXAMPLES = os.environ.get("EXAMPLES")
QUICK = settings(
    max_examples=int(EXAMPLES or 10),
    derandomize=EXAMPLES is None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

small = st.sampled_from([0, 1, 1, 2])  # mostly what meets
signs = st.sampled_from([1, 1, -1])
amounts = st.sampled_from([Decimal("1.00"), Decimal("-0.50")])
events = st.one_of(
    st.tuples(st.just("r"), signs, st.tuples(small, small)),
    st.tuples(st.just("s"), signs, st.tuples(small, st.one_of(st.none(), small), amounts)),
    st.tuples(st.just("t"), signs, st.tuples(small, st.sampled_from([None, "x", "yy"]))),
)
streams = st.lists(events, min_size=5, max_size=10)


def maps_after(program: Program, stream: Sequence[Event]) -> dict[str, dict[tuple[object, ...], int]]:
    """The maps by the serial interpreter."""
    try:
        return interpret(program, stream).maps
    except (ValueProblem, ArithmeticError):
        reject()  # an expression fails: what fails is set aside, whatever the order


def judge(program: Program, data: st.DataObject) -> None:
    """Orders that differ are told apart by the verdicts; what has none may come in any order, and be summed."""
    found = prove(program)
    event(f"{found.grain}, {'' if found.is_confluent else 'not '}confluent")
    stream = data.draw(streams)
    maps = maps_after(program, stream)
    for i in range(len(stream) - 1):
        turned = [*stream[:i], stream[i + 1], stream[i], *stream[i + 2 :]]
        if maps_after(program, turned) != maps:
            event("orders differ")
            assert not found.is_confluent
            assert {found.verdicts[name].grain for name, _, _ in stream[i : i + 2]} == {"event"}
    if found.is_confluent:
        assert maps_after(program, data.draw(st.permutations(stream))) == maps
    if found.grain == "batch" and not program.derivations:
        cuts = sorted(data.draw(st.sets(st.integers(1, len(stream)))))
        batches = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert summed_maps(program, batches) == maps


@settings(QUICK)
@given(views=sql_views(), data=st.data())
def test_mutants_of_compiled_programs(views: dict[str, str], data: st.DataObject) -> None:
    program = compile_views("random", RELATIONS, views)
    assert prove(program).grain == "batch"
    assert prove(check(parse(format_program(program)))).grain == "batch"
    judge(data.draw(mutated(program)), data)


@settings(QUICK)
@given(text=derived_programs(), data=st.data())
def test_mutants_of_derived_programs(text: str, data: st.DataObject) -> None:
    program = check(parse(text))
    assert prove(program).grain == "batch"
    judge(data.draw(mutated(program)), data)


@settings(QUICK)
@given(program=m3_programs(), data=st.data())
def test_random_programs(program: Program, data: st.DataObject) -> None:
    judge(check(program), data)


@pytest.mark.parametrize("summable", [True, False])
@settings(QUICK)
@given(data=st.data())
def test_mutants_of_programs_written_by_hand(summable: bool, data: st.DataObject) -> None:
    program = data.draw(ring_programs(summable=summable))
    assert prove(program).is_confluent
    assert prove(program).grain == ("batch" if summable else "event")
    judge(data.draw(mutated(program)), data)


@settings(QUICK)
@given(data=st.data())
def test_mutants_of_a_program_with_every_kind_of_derivation(data: st.DataObject) -> None:
    judge(data.draw(mutated(check(parse(DERIVED)))), data)
