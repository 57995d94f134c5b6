"""Physical columns keep every digit; hashes depend on values alone."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.maps.columns import (
    PACKED,
    WIDE,
    hash_columns,
    logical_type,
    physical_type,
    sort_codes,
    to_column,
    to_logical,
    to_numpy,
    to_physical,
    widen,
)
from cumulus_ops.project.errors import InputProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, INT64_MIN, STRING, TIMESTAMP, Type, decimal

D = Decimal
LONGS = st.integers(INT64_MIN, INT64_MAX)
SAMPLES = {
    INT: LONGS,
    STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(),
    BOOL: st.booleans(),
    DOUBLE: st.floats(),
    decimal(38, 5): LONGS.map(lambda u: D(u).scaleb(-5)),
    decimal(9, 0): st.integers(-999_999_999, 999_999_999).map(D),
}
COLUMN = st.sampled_from([*SAMPLES]).flatmap(
    lambda t: st.tuples(st.just(t), st.lists(st.none() | SAMPLES[t], max_size=12), st.integers(0, 4))
)


def sliced(type_: Type, values: list[object], skipped: int) -> pa.Array:
    """The values as an array that begins inside another one."""
    return pa.array([values[0] if values else None] * skipped + values, logical_type(type_))[skipped:]


def with_equal_nans(values: list[object]) -> list[object]:
    """NaN, which equals nothing, as a text."""
    return ["NaN" if value != value else value for value in values]


@settings(deadline=None)
@given(COLUMN)
def test_physical_form_and_back_changes_nothing(column: tuple[Type, list[object], int]) -> None:
    type_, values, skipped = column
    logical = sliced(type_, values, skipped)
    physical = to_physical(logical, type_)
    assert physical.type == physical_type(type_)
    back = to_logical(physical, type_)
    assert back.type == logical_type(type_)
    assert with_equal_nans(back.to_pylist()) == with_equal_nans(values)
    if values:
        assert with_equal_nans(to_logical(physical[1:], type_).to_pylist()) == with_equal_nans(values[1:])


def test_a_decimal_is_its_number_of_units() -> None:
    chunks = [pa.array(values, pa.decimal128(9, 2)) for values in ([D("-1.05"), None], [D("0.01")])]
    array = pa.chunked_array(chunks)
    assert to_physical(array, decimal(9, 2)).to_pylist() == [-105, None, 1]
    assert to_physical(pa.array([D("1.5")], pa.decimal128(3, 1)), decimal(9, 2)).to_pylist() == [150]
    assert to_physical(pa.chunked_array([], pa.decimal128(9, 2)), decimal(9, 2)).to_pylist() == []


@pytest.mark.parametrize("units", [INT64_MAX + 1, INT64_MIN - 1, 2**64, -(2**64), 2**64 + 1, 10**37])
def test_more_units_than_64_bits_make_a_column_wide(units: int) -> None:
    for values in ([D(units)], [None, D(units)]):
        array = to_physical(pa.array(values, pa.decimal128(38, 0)), decimal(38, 0))
        assert array.type == WIDE
        assert array.to_pylist() == values
        assert to_logical(array, decimal(38, 0)).to_pylist() == values
        assert to_numpy(array, null=-1).tolist() == [-1 if v is None else units for v in values]
    with pytest.raises(InputProblem, match="too many digits") as caught:
        to_physical(pa.array([D(10**37)], pa.decimal128(38, 0)), decimal(38, 5))
    assert caught.value.kind == "overflow"


@settings(deadline=None)
@given(st.lists(st.none() | LONGS | st.integers(1 - 10**38, 10**38 - 1), max_size=9), st.integers(0, 3))
def test_numbers_of_any_size_are_hashed_alike_in_both_forms(values: list[int | None], skipped: int) -> None:
    decimals = [None if v is None else D(v) for v in values]
    wide = pa.array([D(2**70)] * skipped + decimals, WIDE)[skipped:]
    hashes = hash_columns([wide], len(values)).tolist()
    for value, found in zip(values, hashes, strict=True):
        alone = pa.array([value], pa.int64() if value is None or INT64_MIN <= value <= INT64_MAX else WIDE)
        assert hash_columns([alone], 1).tolist() == [found]
    known = {v for v in values if v is not None}
    assert len({h for v, h in zip(values, hashes, strict=True) if v is not None}) == len(known)
    assert to_column(to_numpy(wide), wide.is_null().to_numpy(False)).to_pylist() == values


def test_what_a_null_hides_is_not_looked_at() -> None:
    words = pa.py_buffer(np.array([7, 0, -1, 99], dtype=np.int64))
    array = pa.Array.from_buffers(pa.decimal128(38, 0), 2, [pa.py_buffer(b"\x01"), words])
    assert to_physical(array, decimal(38, 0)).to_pylist() == [7, None]


def test_a_view_column_that_is_too_narrow_is_an_error() -> None:
    with pytest.raises(InputProblem, match=r"does not fit DECIMAL\(3, 2\)"):
        to_logical(pa.array([1000]), decimal(3, 2))


@settings(deadline=None)
@given(st.lists(st.integers(-(2**120), 2**120), min_size=1), st.integers(0, 9))
def test_wide_units_become_decimals_and_fit_or_are_an_error(units: list[int], scale: int) -> None:
    wide = widen(to_column(np.array(units, object)))
    assert wide.to_pylist() == units
    for array, expected in ((wide, units), (wide[1:], units[1:])):
        values = [D(f"{u}e-{scale}") for u in expected]
        assert to_logical(array, decimal(38, scale)).to_pylist() == values
        for type_ in (decimal(20, scale), INT):
            limit = 10**20 if type_ != INT else 2**63
            if all(abs(u) < limit for u in expected):
                assert to_logical(array, type_).to_pylist() == (values if type_ != INT else expected)
            else:
                with pytest.raises(InputProblem, match="does not fit") as caught:
                    to_logical(array, type_)
                assert caught.value.kind == "overflow"


def test_dates_and_booleans_become_integers_also_inside_other_arrays() -> None:
    days = pa.array([datetime.date(1970, 1, 2), None, datetime.date(1969, 12, 31)])
    assert to_numpy(days, null=5).tolist() == [1, 5, -1]
    assert to_numpy(days[1:], null=5).tolist() == [5, -1]
    assert to_numpy(pa.array([True, None, False])[1:], null=7).tolist() == [7, 0]


@settings(deadline=None)
@given(COLUMN, st.data())
def test_a_hash_depends_on_the_value_alone(column: tuple[Type, list[object], int], data: st.DataObject) -> None:
    type_, values, skipped = column
    array = to_physical(sliced(type_, values, skipped), type_)
    whole = hash_columns([array], len(array))
    order = data.draw(st.permutations(range(len(values))))
    assert hash_columns([array.take(pa.array(order, pa.int64()))], len(order)).tolist() == whole[list(order)].tolist()
    for i in range(len(values)):
        assert hash_columns([array[i:]], len(array) - i).tolist() == whole[i:].tolist()
        alone = to_physical(pa.array([values[i]], logical_type(type_)), type_)
        assert hash_columns([alone], 1) == whole[i]


@settings(deadline=None)
@given(st.lists(SAMPLES[STRING] | st.none(), unique=True, max_size=30))
def test_different_texts_hash_differently(values: list[str | None]) -> None:
    assert len(set(hash_columns([pa.array(values, pa.string())], len(values)).tolist())) == len(values)


@pytest.mark.parametrize(
    "values",
    [
        ["", "\0", "\0\0", None, "a", "a\0", "\0a"],
        ["ab", "ba", "é", "e\u0301", "日本", "本日", "🎈"],
        [f"Customer#{i:09d}" for i in range(5000)],
        list(range(-2500, 2500)),
        [2**k for k in range(63)],
        [0, None, 1],
        [i / 7 for i in range(1000)],
        [datetime.date(1992, 1, 1) + datetime.timedelta(i) for i in range(2557)],
    ],
    ids=["zeros", "unicode", "names", "integers", "powers", "null", "doubles", "days"],
)
def test_neighbours_do_not_collide(values: list[object]) -> None:
    array = pa.array(values)
    assert len(np.unique(hash_columns([array], len(array)))) == len(values)


def test_equal_doubles_hash_equally() -> None:
    assert len(set(hash_columns([pa.array([0.0, -0.0])], 2).tolist())) == 1


def test_columns_count_in_order_and_no_columns_give_one_hash() -> None:
    a, b = pa.array([1, 2, None, 1]), pa.array([2, 1, 1, None])
    assert len(set(hash_columns([a, b], 4).tolist()) | set(hash_columns([b, a], 4).tolist())) == 4
    assert hash_columns([a, b], 4)[0] == hash_columns([b, a], 4)[1]
    assert len(set(hash_columns([], 3).tolist())) == 1
    assert len(hash_columns([pa.array([], pa.string())], 0)) == 0


@pytest.mark.parametrize("kind", ["integers", "names"])
def test_ranges_of_the_hash_get_even_shares(kind: str) -> None:
    rows, parts = 32_000, 32
    column = pa.array(range(rows) if kind == "integers" else [f"k{i}" for i in range(rows)])
    shares = np.bincount((hash_columns([column], rows) >> np.uint64(59)).astype(int), minlength=parts)
    assert shares.min() > 0.85 * rows / parts
    assert shares.max() < 1.15 * rows / parts


def test_the_hash_is_the_same_on_every_machine_and_in_every_version() -> None:
    columns = [pa.array([1, None]), pa.array(["a", "日本"]), pa.array([True, False])]
    sorted_by_on_disk = [3575685885218259710, 17137367482546927564]
    assert hash_columns(columns, 2).tolist() == sorted_by_on_disk


@pytest.mark.parametrize("rows", [0, 1, 1_000, PACKED, 3 * PACKED])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("largest", [0, 200, 2**40, 2**64 - 1])
def test_codes_are_sorted_however_they_come(rows: int, dtype: type[np.unsignedinteger], largest: int) -> None:
    random = np.random.default_rng(rows)
    codes = random.integers(0, min(largest, int(np.iinfo(dtype).max)), rows, np.uint64, endpoint=True).astype(dtype)
    runs = np.concatenate([np.sort(half) for half in np.array_split(codes, 2)])
    for asked in (codes, np.sort(codes), runs):
        order = sort_codes(asked)
        assert (asked[order] == np.sort(codes)).all()
        assert (np.sort(order) == np.arange(rows)).all()
