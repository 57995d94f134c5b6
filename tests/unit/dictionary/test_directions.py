"""What a row says of the order of its arguments (``rises``, ``falls``, ``distinct``) is so for its kernel: random pairs of one argument, the others
fixed. Wrong rows are noticed."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from random import Random

import pytest

from m3.collected import rank
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, INT64_MIN, STRING, TIMESTAMP, Type, decimal
from m3.dictionary import FUNCTIONS
from m3.errors import M3Error
from m3.evaluate import Value, evaluate
from m3.scalars import Const, Scalar, Var, call
from tests.support.doubles import DOUBLES

DAYS = [datetime.date(2023, 12, 31), *(datetime.date(2024, m, d) for m, d in [(1, 1), (1, 30), (1, 31), (2, 28), (2, 29), (3, 1), (3, 31), (4, 30)])]  # fmt: skip
MOMENTS = [datetime.datetime(d.year, d.month, d.day, h, m) for d in DAYS for h, m in [(0, 0), (9, 30), (23, 59)]]
#: Type -> values: ends of months, texts that begin alike, numbers around zero and at the ends.
VALUES: dict[Type, list[Value]] = {
    STRING: ["", "a", "ab", "aba", "b", "ba", "B", "a b", " a", "10", "9", "ß", "日"],
    INT: [*range(-3, 14), 60_000_000, 2024, INT64_MAX, INT64_MIN],
    decimal(9, 2): [Decimal(n).scaleb(-2) for n in (-250, -150, -50, -1, 0, 1, 49, 50, 51, 150, 250, 999)],
    DOUBLE: [*DOUBLES, -0.5, 0.49, 1.5, 99.0, 1e300],
    BOOL: [False, True],
    DATE: list(DAYS),
    TIMESTAMP: list(MOMENTS),
}
#: What each parameter takes.
TYPES: dict[str, list[Type]] = {
    "string": [STRING], "int": [INT], "bool": [BOOL], "date": [DATE], "number": [INT, decimal(9, 2)], "numeric": [INT, decimal(9, 2), DOUBLE],
    "double": [DOUBLE], "moment": [DATE, TIMESTAMP], "timestamp": [TIMESTAMP], "any": [INT, decimal(9, 2), DOUBLE, STRING, DATE, TIMESTAMP],
}  # fmt: skip
#: Arguments that are part of the program: (function, place) -> what is written there.
WRITTEN: dict[tuple[str, int], list[Value]] = {
    ("date_trunc", 0): ["year", "quarter", "month", "week", "day", "hour", "minute"],
    **{
        (name, 0): ["year", "quarter", "month", "week", "day", "hour"]
        for name in ("boundaries", "elapsed", "elapsed_to_last_day")
    },
    ("round", 1): [-1, 0, 1, 2],
    ("trunc", 1): [-1, 0, 1, 2],
    **{("make_timestamp", place): [1, 2, 12] for place in range(6)},
}
DRAWN, NEEDED, WRONG_DRAWN = 300, 25, 5_000
CLAIMS = [
    (name, place, claim)
    for name, entry in FUNCTIONS.items()
    for claim, places in (("rises", entry.rises), ("falls", entry.falls), ("differs", (0,) if entry.distinct else ()))
    for place in places
]
#: Rows that would be wrong.
WRONG = [
    ("add_months", 0, "rises"),  # 30 January 10:00 and 31 January 9:00 change places in February
    ("add_months", 0, "differs"),
    ("upper", 0, "rises"),
    ("length", 0, "rises"),
    ("concat", 0, "rises"),
    ("concat", 1, "falls"),
    ("left_signed", 0, "rises"),
    ("days_between", 1, "rises"),
    ("days_between", 0, "differs"),
    ("month", 0, "rises"),
    ("date_trunc", 1, "falls"),
    ("abs", 0, "rises"),
    ("mod", 0, "rises"),
    ("sign", 0, "falls"),
    ("round", 0, "differs"),
    ("substring", 0, "rises"),
    ("is_infinite", 0, "rises"),
    ("time_bucket", 0, "differs"),
    ("boundaries", 1, "falls"),
    ("elapsed", 1, "differs"),
    (
        "elapsed_to_last_day",
        2,
        "falls",
    ),  # from 30 January 10:00 to 29 February 9:30 is no month, from 31 January 9:00 it is one
]


def pairs(name: str, place: int, drawn: int) -> Iterator[tuple[Value, Value, Value, Value]]:
    """Two values of an argument, the lesser one first, and what the function is for them; the other arguments are the same."""
    function, random = FUNCTIONS[name], Random(f"{name} {place}")
    least, most = function.arity
    for _ in range(drawn):
        count = random.randint(max(least, place + 1), min(most, least + 2, 6) if most > least else most)
        alike = random.choice(TYPES["any"])
        types = [
            alike if function.parameter(i) == "any" else random.choice(TYPES[function.parameter(i)])
            for i in range(count)
        ]
        args: list[Scalar] = [Const(random.choice(WRITTEN.get((name, i), VALUES[t])), t) for i, t in enumerate(types)]
        args[place] = Var("x", types[place])
        low, high = sorted(random.sample(VALUES[types[place]], 2), key=rank)
        if rank(low) == rank(high):
            continue
        try:
            scalar = call(name, *args)
            yield low, high, evaluate(scalar, {"x": low}), evaluate(scalar, {"x": high})
        except M3Error:
            continue  # it has no value there


def contradicts(claim: str, first: Value, second: Value) -> bool:
    """Whether the values for a lesser and for a greater argument contradict a claim."""
    a, b = rank(first), rank(second)
    return not {"rises": a <= b, "falls": a >= b, "differs": a != b}[claim]


@pytest.mark.parametrize(("name", "place", "claim"), CLAIMS)
def test_what_a_row_says_of_order_is_so(name: str, place: int, claim: str) -> None:
    tried = list(pairs(name, place, DRAWN))
    assert len(tried) >= NEEDED
    assert not [pair for pair in tried if contradicts(claim, *pair[2:])]


@pytest.mark.parametrize(("name", "place", "claim"), WRONG)
def test_what_would_be_wrong_is_noticed(name: str, place: int, claim: str) -> None:
    assert any(contradicts(claim, *pair[2:]) for pair in pairs(name, place, WRONG_DRAWN))
    assert (name, place, claim) not in CLAIMS
