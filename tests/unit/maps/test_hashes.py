"""Linear hashes: the same however rows are split, ordered, stored and added up; another one for whatever differs; and the same for ever."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from functools import reduce

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cumulus_ops.maps.columns import WIDE, to_column
from cumulus_ops.maps.deltas import PLACE, VERSION, project_deltas, sum_deltas
from cumulus_ops.maps.hashes import (
    PRIME,
    Hashes,
    Rows,
    add_hashes,
    hash_folded,
    hash_run,
    hash_together,
    rows_of_table,
)
from cumulus_ops.maps.runs import build_run, merge_runs
from cumulus_ops.project.versions import EPOCH_SHIFT, epoch_end
from tests.support.runs import HUGE, Case, built, cases, column_of, delta_of, names_of, stored

DAY = datetime.date(2026, 2, 28)
#: A column of each kind, with NULL, and what the total of its rows is when they count 1, 2, 3, ... These numbers are stored in catalogs: they never change.
KINDS = {
    "int": (pa.array([0, 1, -1, 2**63 - 1, None]), 811_470_969_691_899_196),
    "wide": (pa.array([Decimal(0), Decimal(10**30), None], WIDE), 1_702_071_722_207_496_756),
    "double": (pa.array([0.0, 1.5, -math.inf, math.nan, None]), 1_177_143_035_636_280_815),
    "string": (pa.array(["", "x", "a\0", "ünï", None]), 436_859_423_308_409_696),
    "date": (pa.array([DAY, None], pa.date32()), 383_257_961_963_017_897),
    "timestamp": (
        pa.array([datetime.datetime(2026, 2, 28, 1, 2, 3), None], pa.timestamp("us")),
        1_185_830_072_587_958_099,
    ),
    "bool": (pa.array([False, True, None]), 216_336_351_360_843_321),
}


def total_of(column: pa.Array, counts: list[int] | None = None) -> int | None:
    """The total of one key column whose rows count 1, 2, 3, ..."""
    counted = pa.array(counts or list(range(1, len(column) + 1)), pa.int64())
    return Rows(len(column), {0: column}, pa.array(np.zeros(len(column), np.int64)), {"m": counted}).hashes().total


@pytest.mark.parametrize("kind", KINDS)
def test_the_hash_of_each_kind_is_what_it_has_always_been(kind: str) -> None:
    column, expected = KINDS[kind]
    assert total_of(column) == expected


def test_the_hash_of_a_run_is_what_it_has_always_been() -> None:
    delta = pa.table({
        "a": [1, 2], "b": ["x", None], VERSION: [7, 1 << 50], "+m": to_column(np.array([2**70, -3], object)), "+n": [5, 6],
        f"+m{PLACE}1": [0, 1],
    })  # fmt: skip
    assert rows_of_table(delta).hashes() == Hashes(2_288_070_357_475_374_005, 750_250_798_302_990_698)
    assert rows_of_table(delta).hashes([1], ["n"]) == Hashes(2_245_012_140_832_983_016, 1_062_654_397_459_518_506)
    assert rows_of_table(delta.slice(0, 0)).hashes() == Hashes(0, 0)


def test_equal_values_are_equal_and_others_are_not() -> None:
    """Zero has no sign, NaN one form, a number no width; but a number is no date, NULL is no value, a column no other."""
    assert total_of(pa.array([-0.0])) == total_of(pa.array([0.0]))
    nan = np.array([0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    assert total_of(pa.array(nan)) == total_of(pa.array([math.nan, math.nan]))
    assert total_of(pa.array([Decimal(5), Decimal(-7)], WIDE)) == total_of(pa.array([5, -7]))
    days = pa.array([1, 2], pa.int32())
    different = [
        pa.array([1, 2]), pa.array([2, 1]), days.cast(pa.date32()), pa.array([1, 2]).cast(pa.timestamp("us")), pa.array(["1", "2"]),
        pa.array([1.0, 2.0]), pa.array([None, 2]), pa.array([0, 2]), pa.array([None, 0.0]), pa.array([0.0, 0.0]), pa.array([True, False]),
        pa.array([None, "2"]), pa.array(["", "2"]), pa.array([Decimal(2**64 + 1), Decimal(2)], WIDE),
    ]  # fmt: skip
    assert len({total_of(column) for column in different}) == len(different)


@given(cases(pruned=True), st.randoms())
def test_the_hash_of_runs_is_that_of_their_rows_whatever_runs_there_are(case: Case, random: object) -> None:
    """In memory and in files, encoded by what happens to be in a run; merged; and row by row."""
    tables = [delta_of(case.kinds, rows, names, case.path.keys) for names, rows in case.runs]
    values = case.path.values
    hashed = [rows_of_table(table, case.path.keys).hashes(values=values) for table in tables]
    with stored(built(case)) as runs:
        assert [hash_run(run) for run in runs] == hashed
        merged = merge_runs(runs, names_of(case.kinds), -1, 0) if runs else None
    single = [rows_of_table(t.slice(i, 1), case.path.keys).hashes(values=values) for t in tables for i in range(len(t))]
    assert add_hashes(single) == add_hashes(hashed)
    if merged is not None:
        assert rows_of_table(merged, case.path.keys).hashes() == add_hashes(hashed)


@given(cases(max_rows=8), st.data())
def test_a_copy_with_fewer_columns_has_the_hash_of_these_columns(case: Case, data: st.DataObject) -> None:
    for names, entries in case.runs:
        table = delta_of(case.kinds, entries, names)
        keys = sorted(data.draw(st.sets(st.sampled_from(range(len(case.kinds)))))) if case.kinds else []
        values = data.draw(st.lists(st.sampled_from(names), unique=True))
        wanted = [(keys, values), (None, None), (None, values), (keys, None)]
        assert hash_together([(rows_of_table(table), wanted), (rows_of_table(table), [])]) == [
            [rows_of_table(table).hashes(*w) for w in wanted],
            [],
        ]
        kept = project_deltas(table, keys, values)
        assert rows_of_table(kept, keys).hashes() == rows_of_table(table).hashes(keys, values)


@given(cases(max_rows=8), st.integers(-1, 3), st.integers(0, 3))
def test_folded_versions_have_the_hash_that_follows_or_none(case: Case, committed: int, oldest: int) -> None:
    for names, entries in case.runs:
        table = delta_of(case.kinds, entries, names, case.path.keys)
        spread = pa.array(np.array([e.version // 2 << EPOCH_SHIFT | e.version % 2 for e in entries], np.int64))
        table = table.set_column(table.column_names.index(VERSION), VERSION, spread)
        run = build_run(table, case.path)
        folded = rows_of_table(merge_runs([run], names_of(case.kinds), committed, oldest), case.path.keys).hashes()
        known = hash_folded(hash_run(run), run.oldest, run.newest, committed, oldest)
        assert known in (folded, Hashes(None, folded.total))
        if len({e.version for e in entries}) <= 1 or run.oldest > epoch_end(committed):
            assert known == folded


@pytest.mark.parametrize(
    "change", ["lost", "doubled", "other value", "swapped versions", "swapped values", "swapped maps"]
)
def test_what_differs_has_another_hash(change: str) -> None:
    """What accidents do. Totals say nothing of versions, and nothing else goes unnoticed."""
    table = pa.table({"k": [1, 2, 3], VERSION: [5, 6, 5], "+m": [4, 4, 4], "+n": [1, 2, 2]})
    wrong = {
        "lost": lambda: table.slice(1),
        "doubled": lambda: pa.concat_tables([table, table.slice(0, 1)]),
        "other value": lambda: table.set_column(2, "+m", pa.array([4, 4, 4 + 2**62])),
        "swapped versions": lambda: table.set_column(1, VERSION, pa.array([6, 5, 5])),
        "swapped values": lambda: table.set_column(3, "+n", pa.array([2, 1, 2])),
        "swapped maps": lambda: table.rename_columns(["k", VERSION, "+n", "+m"]),
    }[change]()
    right, found = rows_of_table(table).hashes(), rows_of_table(wrong).hashes()
    assert found.content != right.content
    assert (found.total == right.total) == (change == "swapped versions")


def test_sums_are_exact_whatever_their_size() -> None:
    """Of many rows and large numbers, which are added up in parts: as Python adds them up."""
    numbers = np.random.default_rng(3)
    units = numbers.integers(-(2**63), 2**63 - 1, 40_000, endpoint=True)
    units[:2] = -(2**63), 2**63 - 1
    small = units >> 40
    for rows in (1, 2, 700, 40_000):
        keys = pa.array(np.arange(rows))
        one = [total_of(pa.array([i]), [1]) or 0 for i in range(rows)] if rows <= 700 else None
        for column in (units[:rows], small[:rows]):
            found = total_of(keys, column.tolist())
            if one is not None:
                assert found == sum(w * int(v) for w, v in zip(one, column, strict=True)) % PRIME
            parts = [total_of(keys[i : i + 17], column[i : i + 17].tolist()) or 0 for i in range(0, rows, 17)]
            assert found == reduce(lambda a, b: (a + b) % PRIME, parts, 0)
    huge = np.array(HUGE, object)
    ones = [total_of(pa.array([i]), [1]) or 0 for i in range(len(HUGE))]
    wide = Rows(
        len(HUGE), {0: pa.array(range(len(HUGE)))}, pa.array(np.zeros(len(HUGE), np.int64)), {"m": to_column(huge)}
    ).hashes()
    assert wide.total == sum(w * v for w, v in zip(ones, HUGE, strict=True)) % PRIME


def test_many_tables_have_the_hashes_that_each_has() -> None:
    """Small and large ones, of few versions and many, with and without keys."""
    numbers = np.random.default_rng(5)
    tables = []
    for rows, largest, versions in [
        (1, 1, 1),
        (5, 2**62, 3),
        (16_384, 2**63 - 1, 9),
        (16_385, 9, 1),
        (40, 2**40, 40),
        (0, 1, 1),
    ] * 3:
        columns = {"k": numbers.integers(0, 99, rows), VERSION: numbers.integers(0, versions, rows)}
        columns |= {f"+{name}": numbers.integers(-largest, largest, rows) for name in "pq"}
        tables.append(pa.table(columns))
    tables.append(pa.table({VERSION: [4], "+p": [-(2**63)]}))
    wanted = [(None, None), ([], ["q"]), (None, ["p"])]
    assert hash_together([(rows_of_table(t), wanted) for t in tables]) == [
        [rows_of_table(t).hashes(*w) for w in wanted] for t in tables
    ]


def test_texts_that_repeat_are_the_same_as_texts_that_do_not() -> None:
    some = [f"text {i % 40}" for i in range(3000)]
    repeated = pa.array([*some, None], pa.string())
    parts = [total_of(repeated[i : i + 100], list(range(i + 1, min(i + 101, 3002)))) or 0 for i in range(0, 3001, 100)]
    assert total_of(repeated) == sum(parts) % PRIME
    assert (
        total_of(column_of("string", [None] * 2000))
        == sum(range(1, 2001)) * (total_of(pa.array([None], pa.string())) or 0) % PRIME
    )


def test_a_run_of_nothing_has_no_hash_but_zero() -> None:
    assert add_hashes([]) == Hashes(0, 0)
    delta = sum_deltas([pa.table({"k": [1], VERSION: [1], "+m": [2]}), pa.table({"k": [1], VERSION: [1], "+m": [-2]})])
    assert len(delta) == 0
    assert rows_of_table(delta).hashes() == Hashes(0, 0)


@pytest.mark.parametrize("versions", [2, 9, 400])
def test_many_rows_of_some_versions_have_the_hash_of_those_of_each(versions: int) -> None:
    rows = 20_000  # more than are hashed at a time
    at = np.arange(rows) * 7 % versions + (1 << EPOCH_SHIFT)
    units = np.arange(rows) * (2**40 + 1) - 2**50
    wide = to_column(units.astype(object) * 2**30)
    delta = pa.table({"a": np.arange(rows) % 99, VERSION: at, "+m": units, "+n": wide})
    parts = [rows_of_table(delta.filter(pa.array(at == version))).hashes() for version in np.unique(at)]
    assert rows_of_table(delta).hashes() == add_hashes(parts)
