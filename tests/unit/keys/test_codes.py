"""Codes of keys: equal for equal keys, and what they say about others."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.keys.columns import KeyCodes, equal_rows, in_key_order, row_tuples, words
from m3.datatypes import DOUBLE, INT, STRING
from m3.program import Column, Relation

TWO = Relation("r", (Column("a", INT), Column("b", INT)), ("a", "b"))
INTS = st.one_of(
    st.integers(-2, 8), st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**40 - 1, 2**40, 2**22, 2**22 - 1])
)


@settings(deadline=None)
@given(st.lists(st.tuples(INTS, INTS), min_size=1))
def test_codes_that_say_they_are_exact_are(keys: list[tuple[int, int]]) -> None:
    codes = KeyCodes.of(TWO)
    table = pa.table({"a": [a for a, _ in keys], "b": [b for _, b in keys]})
    found = codes.encode(table, 0)
    assert (found == codes.encode(table, 7)).all(), "a key is the same for every coordinator"
    exact = codes.exact(found)
    for (key, code, is_exact), (other, code_of_other, _) in zip(
        zip(keys, found, exact, strict=True), reversed(list(zip(keys, found, exact, strict=True))), strict=True
    ):
        assert (code == code_of_other) if key == other else not (is_exact and code == code_of_other)
    small = [i for i, (a, b) in enumerate(keys) if 0 <= a < 2**40 and 0 <= b < 2**22]
    assert sorted(small, key=lambda i: keys[i]) == sorted(small, key=lambda i: (found[i], keys[i])), "in their order"


@pytest.mark.parametrize("type_", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_that_differ_have_different_words_wherever_they_lie(type_: pa.DataType) -> None:
    texts = [
        "",
        "a",
        "aa",
        "\x00",
        "\x00\x00",
        "abcdefgh",
        "abcdefghi",
        "x" * 511,
        "x" * 512,
        "x" * 513,
        "y" * 600,
        None,
    ]
    array = pa.array(["before", *texts, "abcdefgh"]).cast(type_)
    (found,) = words(array)
    assert len(set(found.tolist())) == len(texts) + 1
    assert found[6] == found[-1]
    (sliced,) = words(pa.chunked_array([array.slice(3, 2), array.slice(5)]))
    assert (sliced == found[3:]).all()


def test_values_are_equal_as_keys_are() -> None:
    left = pa.table(
        {
            "f": [0.0, float("nan"), None, 1.0],
            "d": pa.array([1, 2, None, 3], pa.decimal128(30, 2)),
            "s": ["a", None, None, ""],
        }
    )
    right = pa.table(
        {
            "f": [-0.0, float("nan"), None, 0.0],
            "d": pa.array([1, 2, None, 3], pa.decimal128(30, 2)),
            "s": ["a", None, None, None],
        }
    )
    assert equal_rows(left, right, ["f", "d"]).tolist() == [True, True, True, False]
    assert equal_rows(left, right, ["s"]).tolist() == [True, True, True, False]
    tuples = [row_tuples(t, ["f", "d", "s"]) for t in (left, right)]
    assert [a == b for a, b in zip(*tuples, strict=True)] == equal_rows(left, right, ["f", "d", "s"]).tolist()
    zero_and_null = pa.table({"n": pa.array([0, None])})
    assert not equal_rows(zero_and_null, zero_and_null.take([1, 0]), ["n"]).any()


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12))
def test_keys_with_the_same_code_are_told_apart(keys: list[str]) -> None:
    relation = Relation("r", (Column("k", STRING), Column("v", DOUBLE)), ("k",))
    rows = pa.table({"k": pa.array(keys, pa.string())})
    order = in_key_order(KeyCodes.of(relation), np.zeros(len(keys), np.int64), rows)
    places = order.all_places()
    groups = np.split(places, np.flatnonzero(order.first)[1:])
    assert sorted(k for g in groups for k in {keys[i] for i in g}) == sorted(set(keys))
    assert all((np.diff(g) > 0).all() for g in groups), "in the order in which they came"


def test_decimals_of_both_widths_are_values() -> None:
    for type_ in (pa.decimal64(12, 2), pa.decimal128(30, 2)):
        array = pa.array([Decimal("1.00"), Decimal("-1.00"), None, Decimal("1.00")], type_)
        found = list(zip(*(w.tolist() for w in words(array)), strict=True))
        assert found[0] == found[3]
        assert len(set(found)) == 3
