"""Whole columns against the reference: every operation, row by row, values and errors alike."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulus_ops.compute.vector import Frame, evaluate, evaluate_logical, select
from cumulus_ops.maps.columns import is_wide, logical_type, physical_type, to_physical, total_column
from cumulus_ops.project.errors import InputProblem
from m3 import ValueProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, INT64_MIN, STRING, TIMESTAMP, Type, decimal
from m3.dictionary.types import EXACT
from m3.evaluate import Value
from m3.evaluate import evaluate as reference
from m3.scalars import Const, Scalar, Var, call, const
from tests.support.doubles import DOUBLES

D = Decimal
Row = Mapping[str, Value]

TYPES = {
    "i": INT.with_null(), "j": INT, "k": INT.with_null(), "d": decimal(6, 2).with_null(), "e": decimal(18, 4),
    "w": decimal(38, 10).with_null(), "x": decimal(38, 0), "s": STRING.with_null(), "n": STRING, "t": DATE.with_null(),
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
digits = st.integers(1 - 10**38, 10**38 - 1) | st.sampled_from([10**38 - 1, 1 - 10**38, 2**64, -(2**64), 10**19])
VALUES = {
    "i": st.none() | st.integers(-9, 9), "j": st.integers(-3, 3), "k": st.none() | edges | units,
    "d": st.none() | st.decimals(-9, 9, places=2),
    "e": st.integers(1 - 10**18, 10**18 - 1).map(lambda u: D(u).scaleb(-4)),
    "w": st.none() | (units | digits).map(lambda u: D(u).scaleb(-10, EXACT)), "x": (units | edges | digits).map(D), "s": st.none() | st.sampled_from(TEXTS),
    "n": st.sampled_from(NUMERALS + MOMENTS), "t": st.none() | dates, "u": st.none() | stamps,
    "b": st.none() | st.booleans(),
    "f": st.none() | st.floats(-99, 99) | st.floats(),
}  # fmt: skip
ROWS = st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=4)
TARGETS = [
    INT,
    decimal(4, 2),
    decimal(18, 3),
    decimal(38, 30),
    decimal(38, 0),
    decimal(22, 5),
    DOUBLE,
    STRING,
    DATE,
    TIMESTAMP,
    BOOL,
]
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
        | {"number": numbers, "bool": booleans, "string": texts, "double": doubles}.get(kind, moments)(depth - 1, kind)
    )


small = st.integers(-9, 9) | st.decimals(-9, 9, places=1)
LEAVES = {
    "number": variables("i", "j", "k", "d", "e", "w", "x")
    | st.integers(-9, 9).map(const)
    | st.sampled_from([D(10**30), D("-1e-38"), D("12345678901234567890.5")]).map(const)
    | st.decimals(-9, 9, places=1).map(const),
    "bool": variables("b") | st.booleans().map(const) | st.just(Const(None, BOOL.with_null())),
    "string": variables("s", "n") | st.sampled_from(TEXTS).map(const) | st.just(Const(None, STRING.with_null())),
    "date": variables("t") | dates.map(const),
    "timestamp": variables("u") | stamps.map(const),
    "double": variables("f") | st.sampled_from(DOUBLES).map(lambda v: Const(v, DOUBLE)),
}


def numbers(depth: int, _: str) -> st.SearchStrategy[Scalar]:
    sub, moment = expressions(depth, "number"), expressions(depth, "date") | expressions(depth, "timestamp")
    guarded = st.builds(lambda a, b: call("case", call("ne", b, const(0)), call("div", a, b), const(0)), sub, sub)
    return st.one_of(
        st.builds(call, st.sampled_from(["add", "sub", "mul", "div"]), sub, sub),
        guarded,
        st.builds(lambda a: call("neg", a), sub),
        st.builds(lambda a: call("fails", a), sub | expressions(depth, "bool")),
        st.builds(lambda a: call("attempt", a), sub),
        st.builds(lambda o, a: call(o, a), st.sampled_from(["year", "month", "day"]), moment),
        casts(depth, TARGETS[:6], "number", "string", "bool", "double", "date"),
    )


def texts(depth: int, _: str) -> st.SearchStrategy[Scalar]:
    sub, place = expressions(depth, "string"), st.integers(-4, 4) | st.sampled_from([INT64_MAX, 2**31])
    return st.one_of(
        st.builds(lambda o, a: call(o, a), st.sampled_from(["upper", "lower"]), sub),
        st.builds(lambda a, b: call("concat", a, b), sub, sub),
        st.builds(lambda a, i, n: call("substring", a, const(i), const(n)), sub, place, place),
        casts(depth, [STRING], "number", "bool", "date", "timestamp", "double"),
    )


def doubles(depth: int, kind: str) -> st.SearchStrategy[Scalar]:
    """NaN, the infinities and zeros that would have a sign come up in all of them."""
    sub = expressions(depth, "double")
    return st.one_of(
        st.builds(call, st.sampled_from(["add", "sub", "mul", "div", "mod", "atan2", "greatest", "least"]), sub, sub),
        st.builds(call, st.sampled_from(["neg", "abs", "sign"]), sub),
        st.builds(lambda a, n: call(n[0], a, const(n[1])), sub, st.sampled_from([("round", 1), ("trunc", 0)])),
        moments(depth, kind),
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
        st.builds(lambda a: call("attempt", a), sub),
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
    except ArithmeticError:
        return None, "overflow"


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):  # zero has no sign
        return (a == b and math.copysign(1, a) == math.copysign(1, b)) or (math.isnan(a) and math.isnan(b))
    return a == b


def check(scalar: Scalar, rows: Sequence[Row], given_: Frame | None = None) -> None:
    """Values and errors are the reference's; so are they where errors are attempted and counted."""
    given_ = given_ or frame(rows)
    expected = [outcome(scalar, row) for row in rows]
    kinds = {kind for _, kind in expected if kind}
    for attempt in (call("fails", scalar), call("attempt", scalar)):
        compare(attempt, given_, [reference(attempt, row) for row in rows])
    if kinds:
        with pytest.raises(InputProblem) as caught:
            evaluate(scalar, given_)
        assert caught.value.kind in kinds
    else:
        compare(scalar, given_, [value for value, _ in expected])


def compare(scalar: Scalar, given_: Frame, expected: Sequence[Value]) -> None:
    array = evaluate(scalar, given_)
    assert array.type == physical_type(scalar.type) or (scalar.type.is_numeric and is_wide(array.type))
    got = evaluate_logical(scalar, given_)
    assert got.type == logical_type(scalar.type)
    assert [*map(same, got.to_pylist(), expected)] == [True] * len(expected), f"{got.to_pylist()}, not {expected}"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ANY, ROWS)
def test_equals_the_reference_row_by_row(scalar: Scalar, rows: list[Row]) -> None:
    check(scalar, rows)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ANY, ROWS, st.lists(st.integers(-(10**40), 10**40) | st.integers(-(2**65), 2**65), min_size=8, max_size=8))
def test_totals_of_any_size_equal_the_reference_row_by_row(scalar: Scalar, rows: list[Row], wide: list[int]) -> None:
    decimals, integers = wide[: len(rows)], wide[4 : 4 + len(rows)]
    rows = [
        {**row, "w": D(f"{units}e-10"), "j": number}
        for row, units, number in zip(rows, decimals, integers, strict=True)
    ]
    columns = dict(frame([{**row, "w": None, "j": 0} for row in rows]).columns)
    columns |= {"w": total_column(np.array(decimals, object)), "j": total_column(np.array(integers, object))}
    check(scalar, rows, Frame(columns, len(rows), totals=frozenset({"w", "j"})))


def test_a_total_that_does_not_fit_fails_where_it_is_looked_at() -> None:
    total, guard = Var("t", decimal(20, 2)), call("ne", Var("z", INT), const(0))
    columns = {"t": total_column(np.array([2**70, 5, 10**50], object)), "z": pa.array([0, 1, 0])}
    given_ = Frame(columns, 3, totals=frozenset({"t"}))
    assert evaluate(call("fails", total), given_).to_pylist() == [1, 0, 1]
    assert evaluate_logical(call("case", guard, total, const(D("0.01"))), given_).to_pylist() == [
        D("0.01"),
        D("0.05"),
        D("0.01"),
    ]
    assert select((guard, call("gt", total, const(0))), given_).tolist() == [1]
    for scalar in (total, call("is_null", total), call("neg", total)):
        with pytest.raises(InputProblem) as caught:
            evaluate(scalar, given_)
        assert caught.value.kind == "overflow"


@pytest.mark.parametrize("failing", [1, 20])
def test_many_rows_of_which_some_fail(failing: int) -> None:
    rows = [{"n": "x" if i % 37 < failing else str(i), "j": i % 37 // failing} for i in range(400)]
    texts, numbers = (pa.array([row[name] for row in rows]) for name in ("n", "j"))
    given_ = Frame({"n": texts, "j": numbers}, len(rows))
    for scalar in (
        call("cast", Var("n", STRING), to=INT),
        call("div", const(1), Var("j", INT)),
        call("round", call("cast", call("concat", Var("n", STRING), const("0")), to=decimal(9, 2)), const(1)),
        call("add_days", const(datetime.date(9999, 12, 1)), call("mul", Var("j", INT), const(3))),
    ):
        for attempt in (call("fails", scalar), call("attempt", scalar)):
            compare(attempt, given_, [reference(attempt, row) for row in rows])


COMPARED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


@given(st.sampled_from([*COMPARED]), st.integers(0, 20), st.booleans(), st.data())
def test_integers_are_compared_at_any_two_scales(op: str, digits: int, swapped: bool, data: st.DataObject) -> None:
    coarse = data.draw(st.lists(st.none() | edges | units | st.integers(-9, 9), min_size=1, max_size=5))
    near = [x if x is None else max(INT64_MIN, min(INT64_MAX, x * 10**digits)) for x in coarse]
    fine = [data.draw(st.sampled_from([x, None]) | st.integers(-2, 2).map(lambda by, x=x: min(INT64_MAX, max(INT64_MIN, (x or 0) + by))) | edges) for x in near]  # fmt: skip
    a, b = (coarse, decimal(38, 2)), (fine, decimal(38, 2 + digits))
    expected = [
        None if x is None or y is None else COMPARED[op](*((y, x * 10**digits) if swapped else (x * 10**digits, y)))
        for x, y in zip(coarse, fine, strict=True)
    ]
    (left, left_type), (right, right_type) = (b, a) if swapped else (a, b)
    node = call(op, Var("a", left_type.with_null()), Var("b", right_type.with_null()))
    frame = Frame({"a": pa.array(left, pa.int64()), "b": pa.array(right, pa.int64())}, len(left))
    assert evaluate(node, frame).to_pylist() == expected
