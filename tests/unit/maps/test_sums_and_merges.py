"""Exact sums, exact products, and merging that keeps every sum anybody may still ask for."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.catalog.records import Run
from cumulus_ops.maps.columns import MOST, WIDE, narrow_units, stack, to_column
from cumulus_ops.maps.deltas import (
    PLACE,
    VALUE,
    VERSION,
    Deltas,
    add_deltas,
    delta_columns,
    delta_schema,
    delta_values,
    multiply,
    project_deltas,
    sum_deltas,
    sum_exactly,
    sum_ranges,
    value_column,
)
from cumulus_ops.maps.lookup import probe, sum_points
from cumulus_ops.maps.runs import FANOUT, AccessPath, build_run, collapse_versions, merge_runs, pick_tier
from cumulus_ops.project.versions import EPOCH_SHIFT, epoch_end, epoch_start
from m3.datatypes import INT64_MAX, INT64_MIN, STRING, decimal
from m3.program import Column

MAP = (Column("k", STRING.with_null()), Column("d", decimal(9, 2)))
GLOBAL: tuple[Column, ...] = ()
M = value_column("m")
LONGS = st.integers(INT64_MIN, INT64_MAX) | st.integers(-5, 5) | st.sampled_from([INT64_MAX, INT64_MIN, 2**62])
VALUES = LONGS | LONGS | st.integers(-MOST, MOST) | st.sampled_from([MOST, -MOST, 2**63, 2**64])
KEY = st.tuples(st.sampled_from([None, "", "x"]), st.integers(0, 1))
TABLES = st.lists(st.lists(st.tuples(KEY, st.integers(0, 2), VALUES), max_size=6), min_size=1, max_size=3)

Entry = tuple[tuple[str | None, int], int, int]


def table(entries: Sequence[Entry], columns: Sequence[Column] = MAP) -> pa.Table:
    keys = [[key[i] for key, _, _ in entries] for i in range(len(columns))]
    schema = delta_schema(columns, ["m"])
    rows = [*keys, [v for _, v, _ in entries]]
    arrays = {f.name: pa.array(c, f.type) for c, f in zip(rows, schema, strict=False)}
    return Deltas(delta_columns(arrays, {M: np.array([u for _, _, u in entries], object)})).table()


def held(total: int) -> int:
    """What a column has for it: a number that no type holds, if that is so."""
    return total if abs(total) <= MOST else (2**127 - 1) * (1 if total > 0 else -1)


@settings(deadline=None)
@given(TABLES, st.booleans())
def test_sums_are_exact_and_take_several_columns_beyond_38_digits(tables: list[list[Entry]], keyed: bool) -> None:
    exact: Counter[object] = Counter()
    for key, version, value in (e for t in tables for e in t):
        exact[(*(key if keyed else ()), version)] += value
    summed = sum_deltas([table(t, MAP if keyed else GLOBAL) for t in tables])
    values = delta_values(summed, M).tolist()
    rows = [summed[name].to_pylist() for name in summed.column_names if not name.startswith(M)]
    assert dict(zip(zip(*rows, strict=True), values, strict=True)) == {k: total for k, total in exact.items() if total}
    assert len(summed.column_names) == len(rows) + (2 if any(abs(value) > MOST for value in values) else 1)


@pytest.mark.parametrize(
    "total", [2**63, -(2**63) - 1, MOST, MOST + 1, -MOST - 1, 3 * MOST, 5 * MOST - 1, -7 * MOST, 10**76, -(10**80)]
)
def test_a_sum_beyond_38_digits_is_split(total: int) -> None:
    sign = 1 if total > 0 else -1
    entries = [(("x", 0), 1, sign * (abs(total) // 16)) for _ in range(16)] + [(("x", 0), 1, sign * (abs(total) % 16))]
    summed = sum_deltas([table(entries), table([(("y", 0), 1, 1)])]).sort_by("k")
    assert delta_values(summed, M).tolist() == [total, 1]
    assert (f"{M}{PLACE}1" in summed.column_names) == (abs(total) > MOST)


def test_deltas_go_through_a_table_as_they_are() -> None:
    given = table([(("x", 0), 1, 5), (("y", 1), 2, -5)])
    deltas = Deltas.of(given)
    assert (len(deltas), deltas.versions().tolist(), deltas.is_distinct) == (2, [1, 2], False)
    assert deltas.table().equals(given)
    assert Deltas.of(Deltas(deltas.columns, is_distinct=True).table()).is_distinct


def test_rows_that_their_versions_alone_told_apart_are_added_up_at_one_version() -> None:
    several, single = (
        Deltas(Deltas.of(table(entries)).columns, is_distinct=True)
        for entries in ([(("x", 0), 1, 5), (("x", 0), 2, -5)], [(("x", 0), 2, 5), (("y", 0), 2, -5)])
    )
    assert len(add_deltas([several])) == 2
    assert len(add_deltas([several.at_version(7)])) == 0
    assert single.at_version(7).is_distinct
    assert single.at_version(7).versions().tolist() == [7, 7]


def test_sums_just_beyond_64_bits_are_seen_in_spite_of_rounding() -> None:
    entries = [(("x", 0), 1, value) for value in (2**63 - 1024, 511, 511, 511)]
    assert sum(sum_deltas([table(entries)])[M].to_pylist()) == 2**63 + 509


@settings(deadline=None)
@given(st.lists(st.lists(st.lists(st.tuples(KEY, st.integers(0, 2), VALUES), max_size=8), max_size=3), max_size=3))
def test_summed_merged_and_read_totals_are_pythons(steps: list[list[list[Entry]]]) -> None:
    path = AccessPath("m", (0, 1))
    exact: Counter[object] = Counter()
    for key, _, value in (e for step in steps for t in step for e in t):
        exact[key] += value
    runs = [build_run(sum_deltas([table(t) for t in step]), path) for step in steps if step]
    merged = [build_run(merge_runs(runs[:2], ["k", "d"], 0, 0), path)] if runs else []
    again = [build_run(merge_runs([*merged, *runs[2:]], ["k", "d"], 0, 0), path)] if runs else []
    for stored in (runs, merged + runs[2:], again):
        entries = [r.table(["k", "d"]) for r in stored]
        read = sum_exactly(stack([table([]), *entries]), ["k", "d"], [M])
        totals = {(row["k"], row["d"]): row[M] for row in read.to_pylist() if row[M]}
        assert totals == {key: held(total) for key, total in exact.items() if total}
        narrow = all(INT64_MIN <= total <= INT64_MAX for total in exact.values())
        assert read[M].type == (pa.int64() if narrow else WIDE)
        for before, total in ((0, 0), (1 << 62, exact["x", 0])):
            request = probe([pa.array(["x"]), pa.array([0])], np.array([before]))
            assert sum_points(stored, ["m"], request)["m"].tolist() == [total]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), LONGS | st.integers(-(2**100), 2**100)), max_size=8), st.booleans())
def test_wide_columns_are_summed_again_with_columns_that_fit(rows: list[tuple[int, int]], keyed: bool) -> None:
    columns = {"k": [k for k, _ in rows], "w": pa.array([Decimal(v) for _, v in rows], WIDE), "n": [1] * len(rows)}
    given = pa.table(columns, schema=pa.schema([("k", pa.int64()), ("w", WIDE), ("n", pa.int64())]))
    read = sum_exactly(given, ["k"] if keyed else [], ["w", "n"])
    expected: dict[int, tuple[int, int]] = {}
    for key, value in rows:
        total, count = expected.get(key if keyed else 0, (0, 0))
        expected[key if keyed else 0] = total + value, count + 1
    assert {row.get("k", 0): (row["w"], row["n"]) for row in read.to_pylist()} == expected


@settings(deadline=None)
@given(st.lists(st.lists(VALUES, min_size=1, max_size=4), max_size=4))
def test_sums_of_ranges_are_exact(ranges: list[list[int]]) -> None:
    units = narrow_units(np.array([v for r in ranges for v in r], object))
    starts = np.cumsum([0, *map(len, ranges)])[:-1].astype(np.int64)
    found = sum_ranges(units, starts)
    assert found.tolist() == [sum(r) for r in ranges]
    assert (found.dtype == object) == any(not INT64_MIN <= sum(r) <= INT64_MAX for r in ranges)


def test_large_inserts_and_deletes_that_cancel_are_no_overflow() -> None:
    entries = [(("x", 0), 1, value) for value in (INT64_MAX, -INT64_MAX, INT64_MIN, INT64_MAX)]
    assert sum_deltas([table(entries)])[M].to_pylist() == [-1]


@settings(deadline=None)
@given(st.lists(VALUES, max_size=4))
def test_a_sum_without_keys_is_one_row_or_none(values: list[int]) -> None:
    rows = pa.table({VALUE: to_column(np.array(values, object))})
    total = held(sum(values))
    assert sum_exactly(rows, [], [VALUE])[VALUE].to_pylist() == ([total] if values else [])


def test_no_deltas_sum_to_none_and_zeros_vanish() -> None:
    assert len(sum_deltas([table([])])) == 0
    summed = sum_deltas([table([((None, 1), 1, 5)]), table([((None, 1), 1, -5), ((None, 1), 2, 1)])])
    assert summed.to_pylist() == [{"k": None, "d": 1, VERSION: 2, M: 1}]
    assert summed.schema.equals(delta_schema(MAP, ["m"]))


PAIR = st.tuples(KEY, st.integers(0, 1), VALUES, VALUES)


@settings(deadline=None)
@given(
    st.lists(st.lists(PAIR, max_size=6), min_size=1, max_size=3),
    st.none() | st.sets(st.integers(0, 1)),
    st.none() | st.sets(st.sampled_from("pq")),
)
def test_several_columns_are_summed_together_and_projected(
    tables: list[list[tuple[tuple[str | None, int], int, int, int]]], keys: set[int] | None, values: set[str] | None
) -> None:
    schema = delta_schema(MAP, ["p", "q"])
    parts = [[(*key, version, p, q) for key, version, p, q in rows] for rows in tables]
    deltas = [
        pa.table(
            [
                to_column(np.array([row[i] for row in rows], object))
                if i > 1
                else pa.array([row[i] for row in rows], f.type)
                for i, f in enumerate(schema)
            ],
            schema.names,
        )
        for rows in parts
    ]
    kept = [0, 1] if keys is None else sorted(keys)
    named = [name for name in ("p", "q") if values is None or name in values]
    exact = {name: Counter[object]() for name in named}
    for row in (row for rows in parts for row in rows):
        units = {"p": row[3], "q": row[4]}
        for name in named:
            exact[name][(*(row[i] for i in kept), row[2])] += units[name]
    summed = project_deltas(sum_deltas(deltas), None if keys is None else kept, None if values is None else named)
    columns = [name for name in summed.schema.names if PLACE not in name]
    assert columns == [*("kd"[i] for i in kept), VERSION, *map(value_column, named)]
    got = {name: Counter[object]() for name in named}
    values_of = {name: delta_values(summed, value_column(name)).tolist() for name in named}
    for row_number, found in enumerate(summed.to_pylist()):
        assert not named or any(values_of[name][row_number] for name in named)
        for name in named:
            got[name][(*(found["kd"[i]] for i in kept), found[VERSION])] += values_of[name][row_number]
    for name in named:
        assert {k: n for k, n in got[name].items() if n} == {k: n for k, n in exact[name].items() if n}


@settings(deadline=None)
@given(st.lists(st.tuples(VALUES, VALUES | st.integers(-(2**33), 2**33)), max_size=4))
def test_products_are_exact(pairs: list[tuple[int, int]]) -> None:
    a, b = (narrow_units(np.array([p[i] for p in pairs], dtype=object)) for i in (0, 1))
    exact = [x * y for x, y in pairs]
    found = multiply(a, b)
    assert found.tolist() == exact
    assert (found.dtype == object) == any(not INT64_MIN <= x <= INT64_MAX for x in exact)
    assert multiply(a, b[:1]).tolist() == [x * y for x in a.tolist() for y in b[:1].tolist()]


def test_products_just_beyond_64_bits_are_seen_in_spite_of_rounding() -> None:
    b = 1023
    a = -(-(2**63) // b)
    assert multiply(np.array([a]), np.array([b])).tolist() == [a * b]


@pytest.mark.parametrize(
    ("version", "committed", "oldest", "expected"),
    [
        (epoch_start(0), -1, 0, epoch_start(0)),
        (epoch_start(0), 0, 0, epoch_end(0)),
        (epoch_end(0), 0, 0, epoch_end(0)),
        (epoch_start(1), 0, 0, epoch_start(1)),
        (epoch_start(0) + 5, 3, 2, epoch_end(2)),
        (epoch_end(2), 3, 2, epoch_end(2)),
        (epoch_start(3), 3, 2, epoch_end(3)),
        (epoch_start(4) + 1, 3, 2, epoch_start(4) + 1),
        (epoch_start(0), 1, 9, epoch_end(1)),
    ],
)
def test_versions_are_raised_to_the_end_of_their_epoch(
    version: int, committed: int, oldest: int, expected: int
) -> None:
    assert collapse_versions(np.array([version]), committed, oldest).tolist() == [expected]


VERSIONS = st.builds(lambda epoch, low: (epoch << EPOCH_SHIFT) + low, st.integers(0, 5), st.integers(0, 3))


@settings(deadline=None)
@given(
    st.lists(st.lists(st.tuples(KEY, VERSIONS, st.integers(-2, 2)), max_size=8), min_size=1, max_size=3),
    st.integers(-1, 4),
    st.integers(0, 5),
)
def test_merging_keeps_every_sum_that_may_be_asked_for(parts: list[list[Entry]], committed: int, oldest: int) -> None:
    path = AccessPath("m", (0, 1))
    runs = [build_run(table(p), path) for p in parts]
    merged = merge_runs(runs, ["k", "d"], committed, oldest)
    after = [((r["k"], r["d"]), r[VERSION], r[M]) for r in merged.to_pylist()]
    before = [e for p in parts for e in p]
    open_versions = {v for _, v, _ in before if v > epoch_end(committed)}
    asked = (
        {epoch_end(e) for e in range(min(oldest, committed), 6) if e >= 0}
        | open_versions
        | {v - 1 for v in open_versions}
    )
    for upto in asked:
        assert totals(after, upto) == totals(before, upto)
    assert all(value for _, _, value in after)
    assert len({(key, version) for key, version, _ in after}) == len(after)
    ends = {epoch_end(e) for e in range(min(oldest, committed), committed + 1)}
    assert all(version in ends or version > epoch_end(committed) for _, version, _ in after)


@pytest.mark.parametrize("bound", [(0,), (1,), (1, 0)])
def test_what_is_merged_is_in_the_order_of_its_path_and_has_its_columns(bound: tuple[int, ...]) -> None:
    draw = random.Random(7)
    columns = (Column("a", decimal(9, 0)), Column("b", decimal(9, 0)))
    path = AccessPath("m", bound)
    parts = [[((draw.randrange(50), draw.randrange(50)), 0, 1) for _ in range(400)] for _ in range(3)]
    runs = [build_run(sum_deltas([table(part, columns)]), path) for part in parts]  # type: ignore[arg-type]
    merged = merge_runs(runs, ["a", "b"], -1, 0)
    assert merged.column_names == ["a", "b", VERSION, M]
    found = list(zip(merged["a"].to_pylist(), merged["b"].to_pylist(), merged[M].to_pylist(), strict=True))
    assert Counter({(a, b): units for a, b, units in found}) == Counter(key for part in parts for key, _, _ in part)
    ordered = [tuple(row[position] for position in bound) for row in found]
    assert ordered == sorted(ordered)


def test_merging_runs_of_which_some_lack_a_column_takes_it_for_zero() -> None:
    path = AccessPath("m", (1,), -1, (1,))
    columns: list[dict[str, list[int]]] = [{"p": [1, 2]}, {"q": [3, 4]}, {"p": [-1, 5], "q": [0, 6]}]
    keys = {"d": [7, 8], VERSION: [1, 1]}
    runs = [build_run(pa.table({**keys, **{value_column(n): v for n, v in c.items()}}), path) for c in columns]
    merged = merge_runs(runs, ["k", "d"], -1, 0)
    assert merged.sort_by("d").to_pylist() == [
        {"d": 7, VERSION: 1, "+p": 0, "+q": 3},
        {"d": 8, VERSION: 1, "+p": 7, "+q": 10},
    ]


def totals(entries: Sequence[Entry], upto: int) -> dict[object, int]:
    sums: Counter[object] = Counter()
    for key, version, value in entries:
        if version <= upto:
            sums[key] += value
    return {key: total for key, total in sums.items() if total}


def run(number: int, rows: int) -> Run:
    return Run("m", "0", "p", 0, 0, 0, rows, 0, id=number, commit=number, origin=number)


@given(st.lists(st.integers(1, 10**6), max_size=12))
def test_what_is_left_apart_grows_by_the_fanout(sizes: list[int]) -> None:
    runs = [run(i, rows) for i, rows in enumerate(sizes)]
    picked = pick_tier(runs)
    assert len(picked) != 1
    rows = sum(r.rows for r in picked)
    for left in sorted((r for r in runs if r not in picked), key=lambda r: (r.rows, r.id)):
        assert left.rows > FANOUT * rows
        rows += left.rows
    assert all(max(r.rows for r in picked) * (1 + 1 / FANOUT) <= sum(r.rows for r in picked) for _ in picked[:1])


@given(st.lists(st.lists(st.integers(1, 10**6), min_size=1, max_size=5), max_size=8))
def test_ranges_of_one_merge_are_merged_like_one_run(sizes: list[list[int]]) -> None:
    ranges = [replace(run(10 * i + j, rows), commit=i) for i, of in enumerate(sizes) for j, rows in enumerate(of)]
    picked = pick_tier([run(i, sum(of)) for i, of in enumerate(sizes)])
    assert {r.commit for r in pick_tier(ranges, range(len(sizes)))} == {r.commit for r in picked}
    assert len(pick_tier(ranges, range(len(sizes)))) == sum(len(sizes[r.commit]) for r in picked)


def test_one_small_run_does_not_keep_larger_ones_apart() -> None:
    assert len(pick_tier([run(0, 1), *(run(i, 100) for i in range(1, 6))])) == 6


@pytest.mark.parametrize("seed", range(5))
def test_runs_stay_few_and_entries_are_rewritten_seldom(seed: int) -> None:
    draw = random.Random(seed)
    sizes: list[int] = []
    written = added = 0
    for _ in range(600):
        sizes.append(draw.choice([1, 3, 100, 100, 1000, draw.randint(1, 5000)]))
        added += sizes[-1]
        while picked := pick_tier([run(i, rows) for i, rows in enumerate(sizes)]):
            chosen = {r.id for r in picked}
            sizes = [rows for i, rows in enumerate(sizes) if i not in chosen] + [sum(r.rows for r in picked)]
            written += sizes[-1]
        assert len(sizes) <= math.log(sum(sizes), FANOUT + 1) + 2
    assert written <= added * math.log(added, 1 + 1 / FANOUT)
