"""Every function over whole columns against the reference, and through M3 text: random arguments, NULLs and edges.

``CALLS=500 pytest tests/unit/compute/test_vector_functions.py`` plays more of each function."""

from __future__ import annotations

import datetime
import os
from decimal import Decimal
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from m3.datatypes import BOOL, DATE, INT, INT64_MAX, STRING, TIMESTAMP, decimal
from m3.dictionary import FUNCTIONS
from m3.dictionary.units import MICROS
from m3.formatting import format_column, format_scalar
from m3.program import Column
from m3.scalars import Const, Scalar, call, const
from m3.syntax import parse
from tests.unit.compute.test_vector import ROWS, TYPES, check, dates, expressions, stamps, variables

D = Decimal
small_ints = st.integers(-5, 13).map(const) | variables("i", "j")
ints = st.one_of(
    small_ints, variables("k"), st.sampled_from([0, 2020, 6, 29, 1500, INT64_MAX, 10**9]).map(const),
    st.just(Const(None, INT.with_null())),
)  # fmt: skip
numbers = st.one_of(
    ints, variables("d", "e", "w"), st.decimals(-9, 9, places=2).map(const), st.just(Const(None, decimal(5, 1).with_null())),
)  # fmt: skip
floats = variables("f") | st.floats(-99, 99).map(const) | st.sampled_from([0.5, -2.5, 1e300, 0.0]).map(const)
parts = ["", " ", "a", "B", "_", "%", "a%", "\\", "\\_", "日", "x.*", "year", "month", "week", "hour", "%Y-%m", "aa\\"]
texts = variables("s", "n") | st.sampled_from(parts).map(const) | st.just(Const(None, STRING.with_null()))
moments = variables("t", "u") | dates.map(const) | stamps.map(const) | st.just(Const(None, DATE.with_null()))
UNITS = (*MICROS, "month", "quarter", "year", "week_sunday", "decade")
#: Formats that are written, and that are read.
WRITTEN = ("%Y-%m-%d %H:%M:%S.%f", "%-d/%-m/%y %I:%M %p%t%j", "%^a %_A %+B| %b %q %G-%V %u%w%e %3f %~d", "100%%", "")
READ = ("%Y-%m-%d", "%Y-%=m-%d %H:%M:%S.%f", "%d %b %Y%t%I %p", "%y/%m")
PATTERNS = [const(p) for p in ("a.*b|^$", "[a-z]|_", "(?i)B", "%$", "(a)|.", "^a", "")]
REGEXES: dict[str, list[tuple[Scalar, ...]]] = {
    **{name: [(p,) for p in PATTERNS] for name in ("regexp_like", "regexp_count", "regexp_instr")},
    **{
        name: [(p, const(new)) for p in PATTERNS for new in ("", "x", r"<\0>", r"\1\\", "\\")]
        for name in ("regexp_replace", "regexp_replace_first")
    },
    **{name: [(p, const(n)) for p in PATTERNS for n in (0, 1)] for name in ("regexp_extract", "regexp_substr")},
}
PARAMETERS: dict[str, st.SearchStrategy[Scalar]] = {
    "string": texts, "int": ints, "number": numbers, "numeric": numbers | floats, "double": floats | numbers,
    "date": variables("t"), "moment": moments, "timestamp": moments, "any": texts | ints,  # of HEX
}  # fmt: skip
ALIKE = [numbers | floats, texts, moments, variables("b") | st.just(Const(None, BOOL.with_null()))]


def calls(name: str) -> st.SearchStrategy[Scalar]:
    function = FUNCTIONS[name]
    least, most = function.arity
    counts = range(least, min(most, least + 2) + 1)

    def of(count: int) -> st.SearchStrategy[Scalar]:
        if function.variadic and function.parameters == ("any",):
            return st.sampled_from(ALIKE).flatmap(lambda alike: st.builds(attempt, *[alike] * count))
        if name in ("parse_date", "try_parse_date"):
            return st.builds(attempt, moments | texts, texts)
        return st.builds(attempt, *(PARAMETERS[function.parameter(i)] for i in range(count)))

    def attempt(*args: Scalar) -> Scalar:
        if name in ("round", "trunc", "round_even") and len(args) > 1 and not isinstance(args[1], Const):
            return call(name, args[0], const(1))  # of a DECIMAL, the digits must be constant
        if name in ("round", "trunc", "round_even") and len(args) > 1 and args[1].value is None:
            return call(name, args[0])
        if name.startswith("regexp_") and (len(args) > 2 or not isinstance(args[1], Const)):  # patterns are constant
            return call(name, args[0], *REGEXES[name][crc32(repr(args).encode()) % len(REGEXES[name])])
        if name in ("boundaries", "elapsed", "elapsed_to_last_day"):
            return call(name, const(UNITS[crc32(repr(args).encode()) % len(UNITS)]), *args[1:])
        if name in ("parse_date", "try_parse_date"):  # formats are constant
            written = READ[crc32(repr(args).encode()) % len(READ)]
            text = (
                call("format_date", args[0], const(written)) if args[0].type.kind in ("date", "timestamp") else args[0]
            )
            return call(name, text, const(written))
        if name == "format_date":
            return call(name, args[0], const(WRITTEN[crc32(repr(args).encode()) % len(WRITTEN)]))
        return call(name, *args)

    return st.one_of(*map(of, counts))


def read_back(scalar: Scalar) -> Scalar:
    """The scalar after a round trip through M3 text, as the condition of a statement."""
    columns = ", ".join(format_column(Column(n, t)) for n, t in TYPES.items())
    condition = format_scalar(call("is_null", scalar))
    text = f"RELATION R({columns});\nMAP m[] : INT;\nON +R({', '.join(TYPES)}) DO {{ m[] += IF {condition} THEN 1 ELSE 0; }}"
    return parse(text).triggers[0].statements[0].conditions[0].args[0]


CALLS = int(os.environ.get("CALLS", "3"))
RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@settings(max_examples=CALLS, deadline=None, suppress_health_check=RELAXED)
@given(data=st.data())
def test_functions_equal_the_reference(name: str, data: st.DataObject) -> None:
    scalar = data.draw(calls(name), label="scalar")
    assert read_back(scalar) == scalar
    check(scalar, data.draw(ROWS, label="rows"))


@settings(deadline=None, suppress_health_check=RELAXED)
@given(
    st.sampled_from(["add", "sub", "mul", "div", "same", "eq", "lt", "ge", "coalesce"]), floats, numbers | floats, ROWS
)
def test_doubles_equal_the_reference(op: str, a: Scalar, b: Scalar, rows: list) -> None:
    scalar = call(op, a, b)
    assert read_back(scalar) == scalar
    check(scalar, rows)


@settings(deadline=None, suppress_health_check=RELAXED)
@given(st.sampled_from(["number", "string", "date", "timestamp", "bool"]), st.data(), ROWS)
def test_same_equals_the_reference(kind: str, data: st.DataObject, rows: list) -> None:
    a, b = (data.draw(expressions(1, kind)) for _ in range(2))
    check(call("same", a, b), rows)


@pytest.mark.parametrize("unit", ["year", "quarter", "month", "week", "day", "hour", "minute", "second"])
@settings(max_examples=CALLS, deadline=None, suppress_health_check=RELAXED)
@given(data=st.data())
def test_truncated_dates_equal_the_reference(unit: str, data: st.DataObject) -> None:
    check(call("date_trunc", const(unit), data.draw(moments)), data.draw(ROWS))


@settings(max_examples=CALLS, deadline=None, suppress_health_check=RELAXED)
@given(st.integers(-30, 30), st.sampled_from(["t", "u"]), ROWS)
def test_shifted_dates_equal_the_reference(amount: int, name: str, rows: list) -> None:
    from m3.scalars import Var

    for op in ("add_days", "add_months", "add_seconds"):
        check(call(op, Var(name, TYPES[name]), const(amount)), rows)


def test_the_calendar_ends_where_python_s_does() -> None:
    first, last = datetime.date.min, datetime.datetime.max
    assert call("add_days", const(first), const(0)).type == DATE
    assert call("add_seconds", const(last), const(0)).type == TIMESTAMP
