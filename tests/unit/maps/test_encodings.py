"""Every encoding gives back what went in, at its limits, in memory and from a file, row by row and as a whole."""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from cumulus_ops.maps import encodings as encodings_module
from cumulus_ops.maps.columns import WIDE
from cumulus_ops.maps.deltas import VERSION, value_column
from cumulus_ops.maps.encodings import Column, Frame, Numbers, Packed, Plain, Texts, Wide, encode, encode_values
from cumulus_ops.maps.runs import AccessPath, RunData, build_run
from m3.datatypes import INT64_MAX, INT64_MIN
from tests.support.runs import small_blocks, stored

EPOCH = datetime.datetime(1970, 1, 1)
MOST = 10**38 - 1
LONGS = st.integers(INT64_MIN, INT64_MAX)
TYPES = {
    "int": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
    "string": pa.string(),
    "double": pa.float64(),
    "wide": WIDE,
}
#: Around the sizes at which a code takes another byte.
WIDTHS = [
    1,
    2,
    254,
    255,
    256,
    257,
    65534,
    65535,
    65536,
    65537,
    2**32 - 2,
    2**32 - 1,
    2**32,
    2**32 + 1,
    2**63,
    2**64 - 1,
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES: dict[str, st.SearchStrategy[object]] = {
    "int": LONGS | st.integers(-3, 300),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "bool": st.booleans(),
    "string": TEXT | st.sampled_from(["", "a", "日本", "🎈", "\0"]),
    "wide": st.integers(-MOST, MOST).filter(lambda u: abs(u) > 2**64).map(Decimal),
    "double": st.floats() | st.sampled_from([math.nan, 0.0, -0.0, math.inf, -math.inf, 5e-324]),
}


def bits(value: object) -> object:
    """A value with its bits: NaN equals NaN, and -0.0 is not 0.0."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def same(array: pa.Array, type_: pa.DataType, values: Sequence[object]) -> bool:
    return array.type == type_ and list(map(bits, array.to_pylist())) == list(map(bits, values))


def reads_back(column: Column, type_: pa.DataType, values: Sequence[object]) -> None:
    """All of a column, its rows backwards, single ones, some twice, and none."""
    assert same(column.all(), type_, values)
    rows = np.arange(len(values))
    for chosen in (rows[::-1].copy(), rows[: len(rows) // 2], rows[-1:], np.repeat(rows[:1], 3), rows[:0]):
        assert same(column.take(chosen), type_, [values[i] for i in chosen.tolist()])
        if isinstance(column, Numbers) and type_ == pa.int64() and None not in values:
            assert column.units(chosen).tolist() == [values[i] for i in chosen.tolist()]
            assert column.all_units().tolist() == list(values)


def holding(key: pa.Array, values: pa.Array | None = None) -> RunData:
    """A run with a key column that is not in its path, and rows in the given order."""
    version = pa.array(range(len(key)), pa.int64())
    columns = {"k": key, VERSION: version}
    if values is not None:
        columns[value_column("m")] = values
    return build_run(pa.table(columns), AccessPath("m", ()))


def round_trip(values: Sequence[object], kind: str, skipped: int = 0) -> Column:
    """Check a key column in memory, as a slice, and from a file; how it is encoded in the file."""
    type_ = TYPES[kind]
    array = pa.array([*list(values[:1]) * skipped, *values], type_)[skipped * bool(values) :]
    reads_back(encode(array), type_, values)
    with small_blocks(), stored([holding(array)]) as (run,):
        reads_back(run.keys[0], type_, values)
        assert same(run.table(["k"])["k"].chunk(0) if values else run.keys[0].all(), type_, values)
    assert type(run.keys[0]) is type(encode(array))
    return encode(array)


@settings(deadline=None)
@given(
    st.sampled_from([*TYPES]).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(st.none() | VALUES[kind], max_size=20))
    ),
    st.integers(0, 2),
)
def test_columns_of_every_type_read_back(column: tuple[str, list[object]], skipped: int) -> None:
    kind, values = column
    values += [Decimal(2**64)] if kind == "wide" else []  # without any it would be none
    event(type(round_trip(values, kind, skipped)).__name__)


@settings(deadline=None)
@given(
    width=st.sampled_from(WIDTHS),
    base=LONGS | st.sampled_from([INT64_MIN, INT64_MAX, 0]),
    inner=st.lists(st.integers(0, 2**64), max_size=5),
    null=st.booleans(),
)
@example(width=2**64 - 1, base=INT64_MIN, inner=[], null=False)
@example(width=2**64 - 1, base=INT64_MIN, inner=[], null=True)
def test_frames_read_back_at_the_limits_of_their_bytes(width: int, base: int, inner: list[int], null: bool) -> None:
    base = min(base, INT64_MAX - width)
    base = max(base, INT64_MIN)
    numbers: list[object] = [base, base + width, *(base + i % (width + 1) for i in inner)]
    column = round_trip([*numbers, None] if null else numbers, "int")
    largest = width + null
    if largest == 2**64:
        assert isinstance(column, Plain)  # no offset is left for NULL
        return
    assert isinstance(column, Numbers)
    assert column.frame == Frame(base, largest, largest if null else None)
    assert column.codes is not None
    assert column.codes.data.itemsize == next(n for n in (1, 2, 4, 8) if largest < 256**n)


@pytest.mark.parametrize("kind", ["int", "date", "timestamp", "bool"])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_columns_of_one_value_take_no_room(kind: str, rows: int) -> None:
    value = {"int": INT64_MIN, "date": datetime.date(1, 1, 1), "timestamp": datetime.datetime.max, "bool": True}[kind]
    for constant in (value, None):
        column = round_trip([constant] * rows, kind)
        assert isinstance(column, Numbers)
        assert column.codes is None


@pytest.mark.parametrize("text", ["", "x", "日本", None])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_one_text_is_kept_once(text: str | None, rows: int) -> None:
    column = round_trip([text] * rows, "string")
    assert isinstance(column, Texts)
    assert column.codes is None
    assert len(column.distinct.all()) == min(rows, 1)


@pytest.mark.parametrize("kind", ["int", "timestamp"])
def test_all_numbers_and_null_are_kept_plain(kind: str) -> None:
    numbers = pa.array([INT64_MIN, None, INT64_MAX, -1], pa.int64()).view(TYPES[kind])
    column = encode(numbers)
    assert isinstance(column, Plain)
    with small_blocks(), stored([holding(numbers)]) as (run,):
        for read in (column, run.keys[0]):
            assert read.all().equals(numbers)
            assert read.take(np.array([3, 1])).equals(numbers.take(pa.array([3, 1])))


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("distinct", [3, 255, 256, 257])
def test_few_numbers_far_apart_are_listed(distinct: int, null: bool) -> None:
    step = (2**64 - 2) // (distinct - 1)
    some: list[object] = [INT64_MIN + step * i for i in range(distinct)]
    if null:
        some[distinct // 2] = None
    values = [some[i * 7 % distinct] for i in range(3 * distinct + 256)]
    column = round_trip(values, "int")
    assert isinstance(column, Numbers)
    assert (column.listed is not None) == (distinct <= 256)
    if column.listed is not None:
        assert column.codes is not None
        assert column.codes.data.dtype == np.uint8
        assert column.listed.tolist() == sorted(column.listed.tolist())
        assert len(column.listed) == distinct


def test_numbers_that_become_many_late_are_not_listed() -> None:
    values = [10**9 * (i % 3) for i in range(600)] + [10**6 * i for i in range(600)]
    column = round_trip(values, "int")
    assert isinstance(column, Numbers)
    assert column.listed is None


@pytest.mark.parametrize("distinct", [2, 255, 256, 257, 65536, 65537])
def test_texts_that_repeat_are_places_in_a_list(distinct: int) -> None:
    texts: list[object] = [None, "", *(f"ü{i}" for i in range(distinct - 2))]
    values = [text for text in texts for _ in range(2)]
    column = encode(pa.array(values, pa.string()))
    assert isinstance(column, Texts)
    assert column.codes is not None
    assert column.codes.data.itemsize == next(n for n in (1, 2, 4) if distinct <= 256**n)
    if distinct <= 257:
        round_trip(values, "string")
    else:
        assert column.all().to_pylist() == values


@pytest.mark.parametrize("sample", [8, 1024])
def test_texts_that_do_not_repeat_are_kept_plain(sample: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings_module, "SAMPLE", sample)
    values: list[object] = [None, "", *("é" * i for i in range(1, 40))]
    assert isinstance(round_trip(values, "string"), Plain)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 255, 256, 2**31, 2**32, 2**62, 2**63, 2**64]), min_size=1, max_size=4),
    st.data(),
)
@example([2**32, 2**32], None)
@example([1, 2**64, 1], None)
@example([2**64], None)
@example([1], None)
@example([2**31, 2, 2**32], None)
def test_keys_in_the_search_code_read_back(sizes: list[int], data: st.DataObject | None) -> None:
    """Key columns whose numbers are ``size`` many, the smallest and the largest among them."""
    columns: list[list[int | None]] = []
    for size in sizes:
        low = INT64_MIN if size == 2**64 or data is None else data.draw(st.integers(INT64_MIN, INT64_MAX - size))
        inner = [] if data is None else data.draw(st.lists(st.integers(low, low + size - 1), min_size=4, max_size=4))
        nulls: list[None] = [] if data is None else data.draw(st.sampled_from([[], [], [None]]))
        columns.append([low, low + size - 1, *inner, *nulls])
    rows = max(map(len, columns))
    columns = [[column[(i * 5) % len(column)] if i else column[0] for i in range(rows)] for column in columns]
    arrays = {f"k{i}": pa.array(column, pa.int64()) for i, column in enumerate(columns)}
    delta = pa.table({**arrays, VERSION: pa.array(range(rows))})
    built = build_run(delta, AccessPath("m", tuple(range(len(sizes)))))
    assert built.search.bits <= 64
    shifts = [part.shift + part.bits for part in built.search.parts] + [built.search.hash_bits]
    assert shifts == [built.search.bits, *(part.shift for part in built.search.parts)]  # from the highest down, no gap
    event(f"{sum(isinstance(key, Packed) for key in built.keys.values())} packed")
    with small_blocks(), stored([built]) as (mapped,):
        for run in (built, mapped):
            order = run.versions.all_units().tolist()
            for position, column in enumerate(columns):
                reads_back(run.keys[position], pa.int64(), [column[row] for row in order])


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([2**32, 2**32], [32, 32]),
        ([1, 2**64, 1], [0, 64, 0]),
        ([2**64, 2], [64]),
        ([2, 2**63], [1, 63]),
        ([2, 2**63 + 1], [1]),
        ([1, 1], [0, 0]),
    ],
)
def test_numbers_share_the_64_bits_of_a_code(sizes: list[int], expected: list[int]) -> None:
    columns = {f"k{i}": pa.array([INT64_MIN, INT64_MIN + size - 1], pa.int64()) for i, size in enumerate(sizes)}
    built = build_run(pa.table({**columns, VERSION: [1, 2]}), AccessPath("m", tuple(range(len(sizes)))))
    assert [part.bits for part in built.search.parts] == expected


UNITS = st.integers(-MOST, MOST) | LONGS | st.sampled_from([MOST, -MOST, 2**63, -(2**63) - 1, 2**64 - 1, 2**64, -1, 0])


@settings(deadline=None)
@given(st.lists(UNITS, max_size=12), st.integers(0, 2))
@example([MOST, -MOST], 0)
def test_units_of_128_bits_read_back(units: list[int], skipped: int) -> None:
    values = [Decimal(unit) for unit in units]
    array = pa.array([Decimal(7)] * skipped + values, WIDE)[skipped:]
    column = encode_values(pa.chunked_array([array]))
    assert isinstance(column, Wide if any(not INT64_MIN <= unit <= INT64_MAX for unit in units) else Numbers)
    with small_blocks(), stored([holding(pa.nulls(len(units), pa.int64()), array)]) as (run,):
        for read in (column, run.values["m"]):
            reads_back(read, WIDE if isinstance(column, Wide) else pa.int64(), values)
            assert read.units(np.arange(len(units))).tolist() == units
        assert run.magnitude("m") == pytest.approx(float(sum(map(abs, units))))


@settings(deadline=None)
@given(st.lists(st.lists(LONGS | st.integers(-2, 2), max_size=6), min_size=1, max_size=3))
def test_units_of_64_bits_read_back(chunks: list[list[int]]) -> None:
    units = [unit for chunk in chunks for unit in chunk]
    column = encode_values(pa.chunked_array([pa.array(chunk, pa.int64()) for chunk in chunks]))
    with small_blocks(), stored([holding(pa.nulls(len(units), pa.string()), pa.array(units, pa.int64()))]) as (run,):
        for read in (column, run.values["m"]):
            assert isinstance(read, Numbers)
            reads_back(read, pa.int64(), units)
        assert run.total("m").tolist() == np.cumsum(np.array(units, np.int64)).tolist()


@settings(deadline=None)
@given(st.lists(LONGS, min_size=1, max_size=4), LONGS, st.booleans())
@example([INT64_MIN, INT64_MAX], 0, False)
@example([5], 5, True)
@example([5], 6, True)
def test_offsets_tell_which_numbers_a_frame_holds_and_lead_back_to_all(
    numbers: list[int], asked: int, null: bool
) -> None:
    low, high = min(numbers), max(numbers)
    largest = min(high - low + null, 2**64 - 1)
    frame = Frame(low, largest, largest if null and high - low < 2**64 - 1 else None)
    tried = np.array([*numbers, asked, INT64_MIN, INT64_MAX], np.int64)
    codes = frame.codes(tried)
    inside = codes <= np.uint64(largest) if frame.null is None else codes < np.uint64(frame.null)
    if high - low < 2**64 - 1 or not null:
        assert inside.tolist() == [low <= n <= high for n in tried.tolist()]
    assert frame.numbers(codes).tolist() == tried.tolist()


def test_timestamps_and_dates_before_1970_read_back() -> None:
    stamps: list[object] = [
        EPOCH - datetime.timedelta(0, 0, 1),
        EPOCH,
        datetime.datetime.min,
        datetime.datetime.max,
        None,
    ]
    round_trip(stamps, "timestamp")
    round_trip([datetime.date.min, datetime.date.max, datetime.date(1969, 12, 31), None], "date")
