"""What the columns' evaluation must keep right where Arrow alone would not."""

from __future__ import annotations

import contextlib
import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cumulus_ops.compute.numbers import divide_units
from cumulus_ops.compute.vector import Frame, evaluate, physical_scalar, select
from cumulus_ops.maps.columns import physical_type, to_logical
from cumulus_ops.project.errors import InputProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, STRING, TIMESTAMP, Type, decimal
from m3.dictionary import FUNCTIONS
from m3.evaluate import evaluate as reference
from m3.scalars import OPERATIONS, Call, Const, Scalar, Var, call, const
from tests.support.odd_texts import ODD_TEXTS
from tests.unit.compute.test_vector import same

D = Decimal
X, Y, S = Var("x", INT.with_null()), Var("y", INT.with_null()), Var("s", STRING.with_null())
F, U, W = Var("f", DOUBLE), Var("u", TIMESTAMP), Var("w", decimal(18, 10))


def frame(**columns: list[object]) -> Frame:
    types = {
        "x": pa.int64(),
        "y": pa.int64(),
        "s": pa.string(),
        "f": pa.float64(),
        "u": pa.timestamp("us"),
        "w": pa.int64(),
    }
    arrays = {name: pa.array(values, types[name]) for name, values in columns.items()}
    return Frame(arrays, len(next(iter(arrays.values()))))


def values(scalar: Scalar, **columns: list[object]) -> list[object]:
    return to_logical(evaluate(scalar, frame(**columns)), scalar.type).to_pylist()


def test_every_operation_has_an_implementation_and_no_other() -> None:
    from cumulus_ops.compute import numbers, vector, vector_functions

    of_numbers = {*numbers._STEPS, *vector._OPERATIONS}
    lazy = {"case", "and", "or", "coalesce", "attempt", "fails"}
    assert {*vector_functions._QUICK, *of_numbers} <= set(OPERATIONS) == {*vector._OPERATIONS, *FUNCTIONS, *lazy}


@pytest.mark.parametrize(
    ("scalar", "columns", "expected"),
    [
        (call("cast", F, to=INT), {"f": [1.9, -1.9, -0.0]}, [1, -1, 0]),
        (call("cast", F, to=decimal(6, 2)), {"f": [0.125, -2.675, 1e-9]}, [D("0.13"), D("-2.68"), D("0.00")]),
        (
            call("cast", F, to=decimal(18, 1)),
            {"f": [0.25, 0.15, None, -1e15, 0.05]},
            [D("0.3"), D("0.2"), None, D(-(10**15)), D("0.1")],
        ),
        (call("cast", F, to=decimal(38, 15)), {"f": [1e20, 0.1, None]}, [D(10**20), D("0.1"), None]),
        (call("try_cast", S, to=INT), {"s": [" 12 ", "x", None, "1e30"]}, [12, None, None, None]),
        (call("try_cast", F, to=decimal(3, 1)), {"f": [1.25, 100.0, None]}, [D("1.3"), None, None]),
        (call("cast", U, to=STRING), {"u": [0, 500_000]}, ["1970-01-01 00:00:00", "1970-01-01 00:00:00.500000"]),
        (call("cast", U, to=DATE), {"u": [-1]}, [datetime.date(1969, 12, 31)]),
        (call("cast", W, to=STRING), {"w": [1, -20]}, ["0.0000000001", "-0.0000000020"]),
        (call("cast", X, to=DOUBLE), {"x": [2**62 + 1]}, [float(2**62)]),
        (call("cast", S, to=INT), {"s": [" 12 ", "1e3", "-0.9"]}, [12, 1000, 0]),
        (call("cast", S, to=decimal(3, 2)), {"s": ["0.12499999999999999999999", "0.125"]}, [D("0.12"), D("0.13")]),
        (call("cast", S, to=BOOL), {"s": ["t", " FALSE "]}, [True, False]),
        (call("cast", S, to=TIMESTAMP), {"s": ["2020-02-29"]}, [datetime.datetime(2020, 2, 29)]),
        (call("upper", S), {"s": ["Straße", "ŉ", None]}, ["STRASSE", "ʼN", None]),
        (call("lower", S), {"s": ["ΑΣ", "İ"]}, ["ας", "i̇"]),
        (call("substring", S, const(2), const(INT64_MAX)), {"s": ["日本語"]}, ["本語"]),
        (call("substring", S, const(-5), const(3)), {"s": ["abc", "abcdef"]}, ["a", "bcd"]),
        (call("like", S, const("a\\_%")), {"s": ["a\\x\n", "a_", "A\\xy"]}, [True, False, False]),
        (Call("div", (X, Y), decimal(38, 20)), {"x": [0, 0, None], "y": [3, None, 3]}, [D(0), None, None]),
        (
            call("mul", W, Const(D("0.0000000001"), decimal(12, 10))),
            {"w": [10**18 - 1]},
            [D("0.0099999999999999999900")],
        ),
        (call("lt", X, Const(D(0), decimal(38, 30))), {"x": [0, None]}, [False, None]),
    ],
)
def test_by_example(scalar: Scalar, columns: dict[str, list[object]], expected: list[object]) -> None:
    assert values(scalar, **columns) == expected


@pytest.mark.parametrize(
    ("scalar", "kind"),
    [
        (call("add", X, const(1)), "overflow"),
        (call("cast", X, to=decimal(4, 2)), "overflow"),
        (call("cast", X, to=decimal(38, 30)), "overflow"),
        (call("div", const(1), call("sub", X, X)), "division-by-zero"),
        (call("cast", X, to=DATE), "bad-cast"),
        (call("cast", S, to=INT), "bad-cast"),
        (call("cast", U, to=INT), "bad-cast"),
        (call("cast", const(True), to=TIMESTAMP), "bad-cast"),
        (call("mul", call("cast", X, to=decimal(38, 0)), const(D(10**30))), "overflow"),
    ],
)
def test_errors_have_kinds(scalar: Scalar, kind: str) -> None:
    with pytest.raises(InputProblem) as caught:
        evaluate(scalar, frame(x=[INT64_MAX], s=["x"], u=[0]))
    assert caught.value.kind == kind


@pytest.mark.parametrize("to", [INT, decimal(9, 2), decimal(38, 18), DOUBLE, DATE, TIMESTAMP, BOOL], ids=str)
def test_odd_texts_are_what_the_reference_says_and_no_python(to: Type) -> None:
    tried = call("try_cast", S, to=to)
    expected = [reference(tried, {"s": text}) for text in ODD_TEXTS]
    assert [*map(same, values(tried, s=ODD_TEXTS), expected)] == [True] * len(expected)
    assert any(value is not None for value in expected)
    of = dict(zip(ODD_TEXTS, expected, strict=True))
    nobody = ["1_0", "１２", "٣", "2024-W05-3", "20240131x", "\N{NO-BREAK SPACE}1"]
    assert [text for text in nobody if of.get(text) is not None] == []
    for text in ODD_TEXTS:  # alone, it takes the way of whole columns
        assert same(values(tried, s=[text])[0], of[text]), text


def test_a_cast_that_is_never_possible_maps_null_to_null() -> None:
    assert values(call("cast", X, to=DATE), x=[None, None]) == [None, None]


ZERO, RATIO = call("eq", X, const(0)), call("gt", call("div", const(6), X), const(2))


@pytest.mark.parametrize(
    ("guarded", "expected"),
    [
        (call("and", call("ne", X, const(0)), RATIO), [False, True, False, None]),
        (call("or", call("eq", X, const(0)), RATIO), [True, True, False, None]),
        (call("case", call("ne", X, const(0)), RATIO, Const(None, BOOL.with_null())), [None, True, False, None]),
        (
            call("coalesce", call("case", call("eq", X, const(0)), const(True), Const(None, BOOL)), RATIO),
            [True, True, False, None],
        ),
    ],
)
def test_an_operand_is_not_computed_where_an_earlier_one_decides(guarded: Scalar, expected: list[object]) -> None:
    assert values(guarded, x=[0, 1, 6, None]) == expected


def test_a_guard_that_fails_does_not_hide_the_error() -> None:
    with pytest.raises(InputProblem, match="division by zero"):
        values(call("and", call("ne", X, const(1)), RATIO), x=[0, 1])


def test_conditions_guard_those_after_them_as_the_interpreter_has_it() -> None:
    rows = frame(x=[0, 1, 2, None, 6])
    assert select((call("ne", X, const(0)), RATIO), rows).tolist() == [1, 2]  # type: ignore[union-attr]
    with pytest.raises(InputProblem, match="division by zero"):
        select((RATIO, call("ne", X, const(0))), rows)


def test_select_takes_true_only() -> None:
    rows = frame(x=[1, None, 0])
    assert select((call("eq", X, const(1)),), rows).tolist() == [0]  # type: ignore[union-attr]
    assert select((), rows) is None


def test_results_are_remembered_per_frame_and_not_carried_to_other_rows() -> None:
    rows = frame(x=[1, 2, 3])
    double = call("mul", X, const(2))
    assert evaluate(double, rows) is evaluate(double, rows)
    assert evaluate(double, rows.take(np.array([2, 0]))).to_pylist() == [6, 2]


@pytest.mark.parametrize("type_", [INT, decimal(20, 5), DOUBLE, STRING, DATE, TIMESTAMP, BOOL], ids=str)
def test_no_rows_give_no_rows_of_the_right_type(type_: Type) -> None:
    empty = Frame({"x": pa.array([], physical_type(type_))}, 0)
    x = Var("x", type_)
    for scalar in (call("cast", x, to=STRING), call("coalesce", x, x), call("case", call("eq", x, x), x, x)):
        assert evaluate(scalar, empty).type == physical_type(scalar.type)
        assert len(evaluate(scalar, empty)) == 0
    if type_.is_numeric:
        assert len(evaluate(call("div", x, x), empty)) == 0


def test_results_have_up_to_38_digits() -> None:
    ratio, product = call("div", X, Y), call("mul", X, X)
    assert values(call("cast", ratio, to=decimal(8, 2)), x=[20, INT64_MAX, None], y=[3, 2**61, 1]) == [
        D("6.67"),
        D("4.00"),
        None,
    ]
    assert values(call("lt", X, const(D("0.5"))), x=[INT64_MAX, -INT64_MAX]) == [False, True]
    assert values(ratio, x=[20, -20, INT64_MAX], y=[3, 3, 1]) == [
        D("6.6666666666666666667"),
        D("-6.6666666666666666667"),
        D(f"{INT64_MAX}.{'0' * 19}"),
    ]
    with pytest.raises(InputProblem, match="does not fit INT"):
        values(call("gt", product, const(0)), x=[INT64_MAX])  # INT times INT is INT


def test_a_literal_keeps_all_its_digits() -> None:
    assert physical_scalar(const(D("-90071992547409.91"))).as_py() == -9007199254740991
    assert physical_scalar(Const(D("1.5"), decimal(5, 3))).as_py() == 1500


NUMBERS = st.integers(-20, 20) | st.integers(1 - 2**61, 2**61 - 1) | st.sampled_from([2**61 - 1, 10**18, -(10**18)])
DIVISORS = st.integers(1, 9) | st.integers(1, 2**33) | st.sampled_from([2**63 // 10**9 - 1, 2**63 // 10**9, 10**9])


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, DIVISORS, st.sampled_from([1, -1])), min_size=1, max_size=5), st.integers(0, 19))
def test_quotients_of_up_to_128_bits_are_rounded_half_away_from_zero(
    pairs: list[tuple[int, int, int]], shift: int
) -> None:
    a, b = [a for a, _, _ in pairs], [b * sign for _, b, sign in pairs]
    expected = [
        (2 * abs(x) * 10**shift + abs(y)) // (2 * abs(y)) * (-1 if x * y < 0 else 1) for x, y in zip(a, b, strict=True)
    ]
    with contextlib.suppress(pa.ArrowInvalid):  # the general path's
        assert divide_units(pa.array([*a, None]), pa.array([*b, 1]), shift).to_pylist() == [*expected, None]
        event("in words" if any(abs(q) > INT64_MAX for q in expected) else "in 64 bits")
