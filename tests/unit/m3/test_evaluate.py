"""The reference evaluation: SQL's rules by example, and DuckDB's answers where its types agree."""

from __future__ import annotations

import datetime
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from m3 import ValueProblem
from m3.datatypes import BOOL, DATE, INT, INT64_MAX, STRING, TIMESTAMP, decimal
from m3.evaluate import evaluate
from m3.formatting import format_scalar
from m3.scalars import Call, Const, Scalar, Var, call, const

D = Decimal
NULL_INT, NULL_BOOL = Const(None, INT.with_null()), Const(None, BOOL.with_null())
TRUE, FALSE = const(True), const(False)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (call("and", TRUE, NULL_BOOL), None),
        (call("and", NULL_BOOL, FALSE), False),
        (call("or", NULL_BOOL, TRUE), True),
        (call("or", FALSE, NULL_BOOL), None),
        (call("not", NULL_BOOL), None),
        (call("eq", NULL_INT, NULL_INT), None),
        (call("in", const(1), const(2), NULL_INT), None),
        (call("in", const(2), const(2), NULL_INT), True),
        (call("in", NULL_INT, const(2)), None),
        (call("is_null", NULL_INT), True),
        (call("coalesce", NULL_INT, const(D("1.50"))), D("1.50")),
        (call("case", NULL_BOOL, const(1), FALSE, const(2), const(3)), 3),
        (call("case", FALSE, call("div", const(1), const(0)), const(D("1.5"))), D("1.500000")),
        (call("div", const(2), const(3)), D("0.666667")),
        (Call("div", (const(-5), const(2)), decimal(10, 0)), D("-3")),
        (call("cast", const(D("2.345")), to=decimal(5, 2)), D("2.35")),
        (call("cast", const(D("-2.345")), to=decimal(5, 2)), D("-2.35")),
        (call("cast", const(D("-2.9")), to=INT), -2),
        (call("cast", const(" 12 "), to=INT), 12),
        (call("cast", const(datetime.date(2020, 2, 29)), to=STRING), "2020-02-29"),
        (call("cast", const(D("1.50")), to=STRING), "1.50"),
        (call("cast", const("2020-02-29"), to=DATE), datetime.date(2020, 2, 29)),
        (call("cast", const(datetime.date(2020, 2, 29)), to=TIMESTAMP), datetime.datetime(2020, 2, 29)),
        (call("cast", const(0), to=BOOL), False),
        (call("lt", const(datetime.date(2020, 1, 1)), const(datetime.datetime(2020, 1, 1, 1))), True),
        (call("like", const("a.c\n"), const("a_c%")), True),
        (call("like", const("abc"), const("a.c")), False),
        (call("substring", const("hello"), const(0), const(2)), "he"),
        (call("substring", const("hello"), const(-3), const(2)), "ll"),
        (call("substring", const("hello"), const(2), const(99)), "ello"),
        (call("concat", const("a"), const("b"), const("c")), "abc"),
        (call("month", const(datetime.date(2020, 2, 29))), 2),
        (call("mul", const(3), call("neg", const(4))), -12),
        (call("mod", const(-7), const(3)), -1),
        (call("round", const(D("2.345")), const(2)), D("2.35")),
        (call("round", const(-1250), const(-2)), -1300),
        (call("trunc", const(D("-2.99"))), D("-2")),
        (call("ceil", const(D("-2.5"))), D("-2")),
        (call("floor", const(D("-0.0000000001"))), D("-1")),
        (call("greatest", NULL_INT, const(2), const(1)), 2),
        (call("same", NULL_INT, NULL_INT), True),
        (call("same", NULL_INT, const(1)), False),
        (call("concat_ws", const("-"), const("a"), Const(None, STRING.with_null())), "a"),
        (call("add_months", const(datetime.date(2024, 1, 31)), const(1)), datetime.date(2024, 2, 29)),
        (call("eq", const(D("0.1")), const(0.1)), True),
        (call("var_pop", const(4), const(10), const(30)), 1.25),
        (call("var_samp", const(4), const(10), const(30)), 5 / 3),
        (call("stddev_pop", const(4), const(D("2.00")), const(D("2.0000"))), 0.5),
        (call("stddev_samp", const(2), const(D("0.2")), const(D("0.02"))), 0.0),
        (call("var_pop", const(3), const(D(3 * 10**15)), const(D(3 * 10**30 + 6))), 2.0),
        (call("var_pop", const(0), const(0), const(0)), None),
        (call("stddev_samp", const(1), const(5), const(25)), None),
    ],
)
def test_by_example(scalar, value):
    result = evaluate(scalar, {})
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("scalar", "kind"),
    [
        (call("div", const(1), const(0)), "division-by-zero"),
        (call("add", Var("big", INT), const(1)), "overflow"),
        (call("mul", Var("big", INT), Var("big", INT)), "overflow"),
        (call("cast", const(1000), to=decimal(4, 2)), "overflow"),
        (call("cast", const("x"), to=INT), "bad-cast"),
        (call("cast", const("2020-13-01"), to=DATE), "bad-cast"),
        (call("cast", const("2020-01-01 00:00:00+02:00"), to=TIMESTAMP), "bad-cast"),
        (call("cast", const("2020-01-01T00:00:00Z"), to=TIMESTAMP), "bad-cast"),
        (call("mod", const(1), const(0)), "division-by-zero"),
        (call("div", const(1.5), const(0)), "division-by-zero"),
        (call("sqrt", const(-1)), "out-of-domain"),
        (call("add_days", const(datetime.date(9999, 12, 31)), const(1)), "overflow"),
        (call("make_date", const(2023), const(2), const(29)), "bad-date"),
        (call("abs", Var("least", INT)), "overflow"),
        (call("var_pop", const(2), const(2), const(1)), "out-of-domain"),
        (call("repeat", const("ab"), const(10**9)), "overflow"),
    ],
)
def test_errors(scalar, kind):
    with pytest.raises(ValueProblem) as caught:
        evaluate(scalar, {"big": INT64_MAX, "least": -INT64_MAX - 1})
    assert caught.value.kind == kind


def test_products_beyond_38_digits_lose_decimals_by_the_rule_not_by_chance():
    wide = Var("w", decimal(32, 6))
    product = call("mul", wide, wide)
    assert product.type == decimal(38, 6)
    assert evaluate(product, {"w": D("1.000001")}) == D("1.000002")


# Against DuckDB: integers and decimals (+ - *), comparisons, logic, CASE, COALESCE, text and date functions.

ROW = {"i": INT.with_null(), "j": INT, "d": decimal(6, 2).with_null(), "s": STRING.with_null(), "t": DATE.with_null()}
VALUES = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-50, 50),
        "j": st.integers(-3, 3),
        "d": st.none() | st.decimals(-99, 99, places=2),
        "s": st.none() | st.sampled_from(["", "a", "ab", "Abc", "%"]),
        "t": st.none() | st.dates(datetime.date(1990, 1, 1), datetime.date(2030, 1, 1)),
    }
)


def variable(*names: str) -> st.SearchStrategy[Scalar]:
    return st.sampled_from([Var(n, ROW[n]) for n in names])


def numbers(depth: int) -> st.SearchStrategy[Scalar]:
    base = variable("i", "j", "d") | st.integers(-9, 9).map(const) | st.decimals(-9, 9, places=1).map(const)
    if depth == 0:
        return base
    sub, test = numbers(depth - 1), booleans(depth - 1)
    return st.one_of(
        base,
        st.builds(call, st.sampled_from(["add", "sub", "mul"]), sub, sub),
        st.builds(lambda a: call("neg", a), sub),
        st.builds(lambda c, a, b: call("case", c, a, b), test, sub, sub),
        st.builds(lambda a, b: call("coalesce", a, b), sub, sub),
        st.builds(lambda o, a: call(o, a), st.sampled_from(["year", "month", "day"]), variable("t")),
    )


def booleans(depth: int) -> st.SearchStrategy[Scalar]:
    if depth == 0:
        return st.booleans().map(const)
    sub, number = booleans(depth - 1), numbers(depth - 1)
    text = variable("s") | st.sampled_from(["a", "Ab"]).map(const)
    return st.one_of(
        st.builds(call, st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), number, number),
        st.builds(call, st.sampled_from(["eq", "lt", "ge"]), text, text),
        st.builds(call, st.sampled_from(["and", "or"]), sub, sub),
        st.builds(lambda a: call("not", a), sub),
        st.builds(lambda a: call("is_null", a), number | text),
        st.builds(lambda a: call("in", a, const(1), const(D("2.5"))), number),
        st.builds(lambda a, p: call("like", a, const(p)), text, st.sampled_from(["a%", "_b%", "%", "%c"])),
        st.builds(lambda a: call("eq", call("substring", a, const(2), const(1)), const("b")), text),
        st.builds(lambda a, b: call("eq", call("concat", call("upper", a), b), const("AB")), text, text),
    )


@settings(deadline=None)
@given(st.lists(numbers(3) | booleans(3), min_size=5, max_size=5), VALUES)
def test_agrees_with_duckdb(scalars, row):
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE r (i BIGINT, j BIGINT, d DECIMAL(6, 2), s VARCHAR, t DATE)")
        connection.execute("INSERT INTO r VALUES (?, ?, ?, ?, ?)", [row[c] for c in "ijdst"])
        for scalar in scalars:
            text = format_scalar(scalar)
            try:
                (expected,) = connection.execute(f"SELECT {text} FROM r").fetchone()
            except duckdb.Error:
                continue  # DuckDB's decimals are narrower: it refuses what does not fit
            assert evaluate(scalar, row) == expected, text
