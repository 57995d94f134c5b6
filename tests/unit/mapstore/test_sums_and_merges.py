"""Exact sums, exact products, and merging that keeps every sum anybody may still ask for."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.catalog import Run
from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import (
    VALUE,
    VERSION,
    AccessPath,
    build_run,
    delta_schema,
    empty_delta,
    merge_runs,
    multiply,
    pick_tier,
    read_table,
    sum_deltas,
    sum_values,
)
from cumulus_ops.mapstore.merge import FANOUT, collapse_versions
from cumulus_ops.versions import EPOCH_SHIFT, epoch_end, epoch_start
from m3.datatypes import INT, INT64_MAX, INT64_MIN, STRING, decimal
from m3.program import Column, MapDecl

MAP = MapDecl("m", (Column("k", STRING.with_null()), Column("d", decimal(9, 2))), INT)
GLOBAL = MapDecl("g", (), INT)
VALUES = st.integers(INT64_MIN, INT64_MAX) | st.integers(-5, 5) | st.sampled_from([INT64_MAX, INT64_MIN, 2**62])
KEY = st.tuples(st.sampled_from([None, "", "x"]), st.integers(0, 1))
TABLES = st.lists(st.lists(st.tuples(KEY, st.integers(0, 2), VALUES), max_size=6), min_size=1, max_size=3)

Entry = tuple[tuple[str | None, int], int, int]


def table(entries: Sequence[Entry], decl: MapDecl = MAP) -> pa.Table:
    keys = [[key[i] for key, _, _ in entries] for i in range(len(decl.keys))]
    schema = delta_schema(decl)
    columns = [*keys, [v for _, v, _ in entries], [u for _, _, u in entries]]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


@settings(max_examples=150, deadline=None)
@given(TABLES, st.booleans())
def test_sums_are_exact_or_an_error(tables: list[list[Entry]], keyed: bool) -> None:
    exact: Counter[object] = Counter()
    for key, version, value in (e for t in tables for e in t):
        exact[(*(key if keyed else ()), version)] += value
    arrow = [table(t, MAP if keyed else GLOBAL) for t in tables]
    if all(INT64_MIN <= total <= INT64_MAX for total in exact.values()):
        rows = sum_deltas(arrow, "m").to_pydict()
        values = rows.pop(VALUE)
        got = dict(zip(zip(*rows.values(), strict=True), values, strict=True))
        assert len(got) == len(values)
        assert got == {k: total for k, total in exact.items() if total}
    else:
        with pytest.raises(InputProblem) as caught:
            sum_deltas(arrow, "m")
        assert (caught.value.kind, caught.value.place) == ("overflow", "m")


def test_sums_just_beyond_64_bits_are_seen_in_spite_of_rounding() -> None:
    entries = [(("x", 0), 1, value) for value in (2**63 - 1024, 511, 511, 511)]
    with pytest.raises(InputProblem):
        sum_deltas([table(entries)], "m")


def test_large_inserts_and_deletes_that_cancel_are_no_overflow() -> None:
    entries = [(("x", 0), 1, value) for value in (INT64_MAX, -INT64_MAX, INT64_MIN, INT64_MAX)]
    assert sum_deltas([table(entries)], "m")[VALUE].to_pylist() == [-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(VALUES, max_size=4))
def test_a_sum_without_keys_is_one_row_or_none(values: list[int]) -> None:
    rows = pa.table({VALUE: pa.array(values, pa.int64())})
    if INT64_MIN <= sum(values) <= INT64_MAX:
        assert sum_values(rows, [], [VALUE], "m")[VALUE].to_pylist() == ([sum(values)] if values else [])
    else:
        with pytest.raises(InputProblem):
            sum_values(rows, [], [VALUE], "m")


def test_no_deltas_sum_to_none_and_zeros_vanish() -> None:
    assert len(sum_deltas([empty_delta(MAP)], "m")) == 0
    summed = sum_deltas([table([((None, 1), 1, 5)]), table([((None, 1), 1, -5), ((None, 1), 2, 1)])], "m")
    assert summed.to_pylist() == [{"k": None, "d": 1, VERSION: 2, VALUE: 1}]
    assert summed.schema.equals(delta_schema(MAP))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(VALUES, VALUES | st.integers(-(2**33), 2**33)), max_size=4))
def test_products_are_exact_or_an_error(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array([p[i] for p in pairs], dtype=np.int64) for i in (0, 1))
    exact = [x * y for x, y in pairs]
    if all(INT64_MIN <= product <= INT64_MAX for product in exact):
        assert multiply(a, b, "m").tolist() == exact
    else:
        with pytest.raises(InputProblem) as caught:
            multiply(a, b, "m")
        assert (caught.value.kind, caught.value.place) == ("overflow", "m")


def test_products_just_beyond_64_bits_are_seen_in_spite_of_rounding() -> None:
    b = 1023
    a = -(-(2**63) // b)
    with pytest.raises(InputProblem):
        multiply(np.array([a]), np.array([b]), "m")


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


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(st.tuples(KEY, VERSIONS, st.integers(-2, 2)), max_size=8), min_size=1, max_size=3),
    st.integers(-1, 4),
    st.integers(0, 5),
)
def test_merging_keeps_every_sum_that_may_be_asked_for(parts: list[list[Entry]], committed: int, oldest: int) -> None:
    path = AccessPath("m", (0, 1))
    runs = [read_table(build_run(table(p), path)) for p in parts]
    merged = merge_runs(runs, ["k", "d"], committed, oldest, "m")
    after = [((r["k"], r["d"]), r[VERSION], r[VALUE]) for r in merged.to_pylist()]
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


def totals(entries: Sequence[Entry], upto: int) -> dict[object, int]:
    sums: Counter[object] = Counter()
    for key, version, value in entries:
        if version <= upto:
            sums[key] += value
    return {key: total for key, total in sums.items() if total}


def run(number: int, rows: int) -> Run:
    return Run("m", "0", "p", 0, 0, 0, rows, 0, number, number, number)


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
