"""Whole columns against the reference: every operation, row by row, values and errors alike."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulus_ops.engine.vector import Frame, evaluate, evaluate_logical, select
from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import WIDE, logical_type, physical_type, to_logical, to_physical
from m3 import ValueProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, INT64_MIN, STRING, TIMESTAMP, Type, decimal, to_units
from m3.evaluate import Value
from m3.evaluate import evaluate as reference
from m3.scalars import Const, Scalar, Var, call, const

D = Decimal
Row = Mapping[str, Value]

TYPES = {
    "i": INT.with_null(), "j": INT, "k": INT.with_null(), "d": decimal(6, 2).with_null(), "e": decimal(18, 4),
    "w": decimal(38, 10).with_null(), "s": STRING.with_null(), "n": STRING, "t": DATE.with_null(),
    "u": TIMESTAMP.with_null(), "b": BOOL.with_null(), "f": DOUBLE.with_null(),
}  # fmt: skip
TEXTS = ["", "a", "aB%", "a_c", "\\", "a\\%\n", "Straße", "ŉΣ", "İ", "日本語", "🎈x", " 12 ", "x.*y"]
NUMERALS = [
    " 12 ",
    "-1.5",
    "1e3",
    "0.005",
    "-0.0050",
    "99999999999999999999",
    "0.12345678901234567895",
    "",
    "x",
    "2020-02-29",
]
MOMENTS = ["true", "F", "2020-02-29 01:02:03.5", "2020-13-01", "0001-01-01", "20200229"]
dates = st.dates() | st.sampled_from([datetime.date(1969, 12, 31), datetime.date(2020, 2, 29)])
stamps = st.datetimes() | st.datetimes().map(lambda v: v.replace(microsecond=0))
units = st.integers(INT64_MIN, INT64_MAX)
edges = st.sampled_from([INT64_MAX, INT64_MIN, 0, -1, 2**62, 10**18])
VALUES = {
    "i": st.none() | st.integers(-9, 9), "j": st.integers(-3, 3), "k": st.none() | edges | units,
    "d": st.none() | st.decimals(-9, 9, places=2),
    "e": st.integers(1 - 10**18, 10**18 - 1).map(lambda u: D(u).scaleb(-4)),
    "w": st.none() | units.map(lambda u: D(u).scaleb(-10)), "s": st.none() | st.sampled_from(TEXTS),
    "n": st.sampled_from(NUMERALS + MOMENTS), "t": st.none() | dates, "u": st.none() | stamps,
    "b": st.none() | st.booleans(),
    "f": st.none() | st.floats(-99, 99) | st.floats(),
}  # fmt: skip
ROWS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=4)
TARGETS = [INT, decimal(4, 2), decimal(18, 3), decimal(38, 30), decimal(38, 0), DOUBLE, STRING, DATE, TIMESTAMP, BOOL]
PATTERNS = ["", "%", "_", "a%", "%a_%", "\\", "\\%", "a\\%%", "x.*y", "__ra%e", "日%", "_x", "(", "a b"]


def variables(*names: str) -> st.SearchStrategy[Scalar]:
    return st.sampled_from([Var(n, TYPES[n]) for n in names])


def casts(depth: int, targets: Sequence[Type], *kinds: str) -> st.SearchStrategy[Scalar]:
    sources = st.one_of(*(expressions(depth, kind) for kind in kinds))
    return st.builds(lambda a, to: call("cast", a, to=to), sources, st.sampled_from(targets))


def choices(depth: int, kind: str) -> st.SearchStrategy[Scalar]:
    """CASE and COALESCE of one kind."""
    test, value = expressions(depth, "bool"), expressions(depth, kind)
    return st.one_of(
        st.builds(lambda c, a, b: call("case", c, a, b), test, value, value),
        st.builds(lambda c, a, d, b, e: call("case", c, a, d, b, e), test, value, test, value, value),
        st.builds(lambda a, b: call("coalesce", a, b), value, value),
    )


@cache
def expressions(depth: int, kind: str) -> st.SearchStrategy[Scalar]:
    """Well-typed expressions of one kind (``number`` is INT and DECIMAL) and at most a depth."""
    base = LEAVES[kind]
    if depth == 0:
        return base
    return (
        base
        | choices(depth - 1, kind)
        | {"number": numbers, "bool": booleans, "string": texts}.get(kind, moments)(depth - 1, kind)
    )


small = st.integers(-9, 9) | st.decimals(-9, 9, places=1)
LEAVES = {
    "number": variables("i", "j", "k", "d", "e", "w")
    | st.integers(-9, 9).map(const)
    | st.decimals(-9, 9, places=1).map(const),
    "bool": variables("b") | st.booleans().map(const) | st.just(Const(None, BOOL.with_null())),
    "string": variables("s", "n") | st.sampled_from(TEXTS).map(const) | st.just(Const(None, STRING.with_null())),
    "date": variables("t") | dates.map(const),
    "timestamp": variables("u") | stamps.map(const),
    "double": variables("f"),
}


def numbers(depth: int, _: str) -> st.SearchStrategy[Scalar]:
    sub, moment = expressions(depth, "number"), expressions(depth, "date") | expressions(depth, "timestamp")
    guarded = st.builds(lambda a, b: call("case", call("ne", b, const(0)), call("div", a, b), const(0)), sub, sub)
    return st.one_of(
        st.builds(call, st.sampled_from(["add", "sub", "mul", "div"]), sub, sub),
        guarded,
        st.builds(lambda a: call("neg", a), sub),
        st.builds(lambda o, a: call(o, a), st.sampled_from(["year", "month", "day"]), moment),
        casts(depth, TARGETS[:5], "number", "string", "bool", "double", "date"),
    )


def texts(depth: int, _: str) -> st.SearchStrategy[Scalar]:
    sub, place = expressions(depth, "string"), st.integers(-4, 4) | st.sampled_from([INT64_MAX, 2**31])
    return st.one_of(
        st.builds(lambda o, a: call(o, a), st.sampled_from(["upper", "lower"]), sub),
        st.builds(lambda a, b: call("concat", a, b), sub, sub),
        st.builds(lambda a, i, n: call("substring", a, const(i), const(n)), sub, place, place),
        casts(depth, [STRING], "number", "bool", "date", "timestamp", "double"),
    )


def moments(depth: int, kind: str) -> st.SearchStrategy[Scalar]:
    """Casts to dates, timestamps and doubles."""
    return casts(depth, [Type(kind)], "string", "date", "timestamp", "number", "bool", "double")


def booleans(depth: int, _: str) -> st.SearchStrategy[Scalar]:
    sub, number = expressions(depth, "bool"), expressions(depth, "number")
    moment = expressions(depth, "date") | expressions(depth, "timestamp")
    compare = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
    pairs = [(number, number), (moment, moment), *((expressions(depth, k),) * 2 for k in ("string", "bool", "double"))]
    return st.one_of(
        *(st.builds(call, compare, a, b) for a, b in pairs),
        st.builds(call, st.sampled_from(["and", "or"]), sub, sub, sub),
        st.builds(lambda a: call("not", a), sub),
        st.builds(lambda a: call("is_null", a), st.one_of(*(expressions(depth, k) for k in LEAVES))),
        st.builds(lambda a, *b: call("in", a, *b), number, number, LEAVES["number"]),
        st.builds(lambda a, *b: call("in", a, *b), moment, moment, LEAVES["date"]),
        st.builds(lambda a, p: call("like", a, const(p)), expressions(depth, "string"), st.sampled_from(PATTERNS)),
        casts(depth, [BOOL], "string", "number", "bool", "double", "timestamp"),
    )


ANY = st.one_of(*(expressions(3, kind) for kind in LEAVES))


def frame(rows: Sequence[Row]) -> Frame:
    columns = {n: to_physical(pa.array([r[n] for r in rows], logical_type(t)), t) for n, t in TYPES.items()}
    return Frame(columns, len(rows))


def outcome(scalar: Scalar, row: Row) -> tuple[Value, str | None]:
    """(value, None), or (None, kind of the error)."""
    try:
        return reference(scalar, row), None
    except ValueProblem as error:
        return None, error.kind


def is_beyond(value: Value, type_: Type) -> bool:
    """Whether 64 bits do not hold an exact number."""
    number = isinstance(value, int | D) and type_.is_numeric
    return number and not INT64_MIN <= to_units(value, type_.scale) <= INT64_MAX  # type: ignore[arg-type]


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    return a == b


def check(scalar: Scalar, rows: Sequence[Row]) -> None:
    expected = [outcome(scalar, row) for row in rows]
    kinds = {kind for _, kind in expected if kind}
    if not kinds:
        got = evaluate_logical(scalar, frame(rows))
        assert got.type == logical_type(scalar.type)
        assert [*map(same, got.to_pylist(), (value for value, _ in expected))] == [True] * len(rows)
    if any(is_beyond(value, scalar.type) for value, _ in expected):
        kinds.add("overflow")
    if kinds:
        with pytest.raises(InputProblem) as caught:
            evaluate(scalar, frame(rows))
        assert caught.value.kind in kinds
    else:
        array = evaluate(scalar, frame(rows))
        assert array.type == physical_type(scalar.type)
        got = to_logical(array, scalar.type).to_pylist()
        assert [*map(same, got, (value for value, _ in expected))] == [True] * len(rows), f"{got}, not {expected}"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ANY, ROWS)
def test_equals_the_reference_row_by_row(scalar: Scalar, rows: list[Row]) -> None:
    check(scalar, rows)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ANY, ROWS, st.lists(st.integers(-(2**100), 2**100), min_size=4, max_size=4))
def test_totals_beyond_64_bits_equal_the_reference_row_by_row(scalar: Scalar, rows: list[Row], wide: list[int]) -> None:
    rows = [{**row, "w": D(f"{units}e-10")} for row, units in zip(rows, wide, strict=False)]
    narrow = frame([{**row, "w": None} for row in rows]).columns
    totals = pa.array([D(units) for units in wide[: len(rows)]], WIDE)
    given_ = Frame({**narrow, "w": totals}, len(rows), wide=frozenset({"w"}))
    expected = [outcome(scalar, row) for row in rows]
    kinds = {kind for _, kind in expected if kind}
    if kinds:
        with pytest.raises(InputProblem) as caught:
            evaluate_logical(scalar, given_)
        assert caught.value.kind in kinds
    else:
        got = evaluate_logical(scalar, given_)
        assert got.type == logical_type(scalar.type)
        assert [*map(same, got.to_pylist(), (value for value, _ in expected))] == [True] * len(rows)


def test_conditions_over_totals_beyond_64_bits() -> None:
    total, one = Var("t", decimal(28, 2)), const(1)
    columns = {"t": pa.array([D(2**70), D(5), D(-(2**70))], WIDE), "z": pa.array([0, 1, 0])}
    given_ = Frame(columns, 3, wide=frozenset({"t"}))
    over = call("gt", call("mul", total, const(2)), one)
    guarded = call("gt", call("div", total, Var("z", INT)), const(0))
    assert evaluate(over, given_).to_pylist() == [True, False, False]
    assert select((call("ne", Var("z", INT), const(0)), guarded), given_).tolist() == [1]
    assert evaluate_logical(total, given_.take(np.array([2]))).to_pylist() == [D(-(2**70)).scaleb(-2)]
    with pytest.raises(InputProblem, match="does not fit"):
        evaluate_logical(Var("t", decimal(18, 2)), given_)


def test_wide_totals_of_integers_count_as_decimals_until_the_result_is_an_integer() -> None:
    total = Var("t", INT)
    given_ = Frame({"t": pa.array([D(2**64)], WIDE)}, 1, wide=frozenset({"t"}))
    assert evaluate_logical(call("div", total, const(2)), given_).to_pylist() == [D(2**63)]
    for scalar in (total, call("sub", total, const(1))):
        with pytest.raises(InputProblem) as caught:
            evaluate_logical(scalar, given_)
        assert caught.value.kind == "overflow"
