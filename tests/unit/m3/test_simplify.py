"""Constant folding: by example, and that no random scalar changes its value."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from m3 import ValueProblem
from m3.datatypes import BOOL, DOUBLE, INT, STRING
from m3.dictionary import ENTRIES, FUNCTIONS
from m3.evaluate import evaluate
from m3.functions import KERNELS
from m3.scalars import Call, Const, Scalar, Var, call, const
from m3.simplify import as_filter, simplify
from tests.unit.compute.test_vector import ROWS, expressions

D = Decimal
TRUE, FALSE, UNKNOWN = const(True), const(False), Const(None, BOOL.with_null())
NO_INT, NO_TEXT = Const(None, INT.with_null()), Const(None, STRING.with_null())
A, B, C = (Var(n, BOOL.with_null()) for n in "abc")
N, J = Var("i", INT.with_null()), Var("j", INT)
ZERO_DIVISION = call("div", const(1), const(0))


@pytest.mark.parametrize(
    ("scalar", "simple"),
    [
        (call("add", const(1), const(2)), const(3)),
        (call("add", N, NO_INT), NO_INT),
        (call("eq", N, NO_INT), UNKNOWN),
        (call("in", NO_INT, const(1)), UNKNOWN),
        (call("length", NO_TEXT), NO_INT),
        (call("and", A, TRUE), A),
        (call("and", A, FALSE), FALSE),
        (call("and", A, call("and", B, C)), call("and", A, B, C)),
        (call("and", A, A), A),
        (call("and", TRUE, UNKNOWN), UNKNOWN),
        (call("or", A, TRUE), TRUE),
        (call("or", A, FALSE, B), call("or", A, B)),
        (call("not", call("not", A)), A),
        (call("not", UNKNOWN), UNKNOWN),
        (call("is_null", J), FALSE),
        (call("is_null", NO_INT), TRUE),
        (call("is_null", call("add", J, const(1))), FALSE),
        (call("coalesce", NO_INT, N, NO_INT, const(0), N), call("coalesce", N, const(0))),
        (call("coalesce", NO_INT, J), J),
        (call("coalesce", NO_INT, NO_INT), NO_INT),
        (call("coalesce", J, const(D("1.5"))), call("cast", J, to=call("coalesce", J, const(D("1.5"))).type)),
        (call("case", FALSE, N, A, J, TRUE, const(1), const(2)), Call("case", (A, J, const(1)), INT.with_null())),
        (call("case", UNKNOWN, N, J), J),
        (call("case", A, J, J), J),
        (call("same", N, NO_INT), call("is_null", N)),
        (call("same", J, const(1)), call("eq", J, const(1))),
        (call("same", N, J), call("same", N, J)),
        (call("same", NO_INT, NO_INT), TRUE),
        (ZERO_DIVISION, ZERO_DIVISION),
        (call("sqrt", const(4)), call("sqrt", const(4))),
        (call("add", Const(1.5, DOUBLE), Var("f", DOUBLE)), call("add", Const(1.5, DOUBLE), Var("f", DOUBLE))),
    ],
)
def test_by_example(scalar: Scalar, simple: Scalar) -> None:
    assert simplify(scalar) == simple


@pytest.mark.parametrize(
    ("scalar", "simple"),
    [
        (UNKNOWN, FALSE),
        (call("and", A, UNKNOWN), FALSE),
        (call("or", A, UNKNOWN), A),
        (call("and", A, call("or", B, UNKNOWN)), call("and", A, B)),
        (call("coalesce", call("or", A, UNKNOWN), FALSE), A),
        (call("not", UNKNOWN), FALSE),
        (call("not", call("and", A, UNKNOWN)), call("not", call("and", A, UNKNOWN))),
    ],
)
def test_as_filter_takes_null_for_false(scalar: Scalar, simple: Scalar) -> None:
    assert as_filter(scalar) == simple


#: Depth 2 has constants, NULLs, choices and errors in every place.
ANY = st.one_of(*(expressions(2, kind) for kind in ("number", "bool", "string", "date", "timestamp")))
RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large]


def outcome(scalar: Scalar, row: dict) -> tuple[object, bool]:
    try:
        return evaluate(scalar, row), False
    except ValueProblem:
        return None, True


@settings(deadline=None, suppress_health_check=RELAXED)
@given(ANY, ROWS)
def test_the_value_stays(scalar: Scalar, rows: list) -> None:
    simple = simplify(scalar)
    assert simple.type.same_as(scalar.type)
    assert scalar.type.nullable or not simple.type.nullable
    assert simplify(simple) == simple
    for row in rows:
        value, failed = outcome(scalar, row)
        if not failed:
            assert outcome(simple, row) == (value, False)


@settings(deadline=None, suppress_health_check=RELAXED)
@given(expressions(3, "bool"), ROWS)
def test_a_filter_selects_the_same_rows(scalar: Scalar, rows: list) -> None:
    simple = as_filter(scalar)
    for row in rows:
        value, failed = outcome(scalar, row)
        if not failed:
            assert (outcome(simple, row)[0] is True) == (value is True)


def test_every_function_has_an_entry_of_its_own_name() -> None:
    assert all(name == entry.name for name, entry in ENTRIES.items())
    assert set(FUNCTIONS) == set(KERNELS)
