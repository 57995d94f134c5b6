"""Ranges of several runs: every row is in one, and what is summed in the same one; they are about equal, whatever the keys are; and a range's keys are its own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cumulus_ops.maps.deltas import VERSION
from cumulus_ops.maps.hashes import add_hashes, rows_of_table
from cumulus_ops.maps.lookup import probe, sum_points
from cumulus_ops.maps.ranges import Ranges
from cumulus_ops.maps.runs import AccessPath, RunData, build_run, merge_runs
from cumulus_ops.project.versions import EPOCH_SHIFT
from tests.support.runs import CODES, Case, built, cases, forced, names_of, small_blocks, stored

ROWS = 6_000


@settings(deadline=None)
@given(cases(pruned=True, max_rows=40), st.sampled_from(sorted(CODES)), st.integers(1, 6), st.integers(1, 9))
def test_ranges_together_are_the_merged_run(case: Case, codes: str, number: int, limit: int) -> None:
    if not case.entries:
        return
    names = names_of(case.kinds)
    with forced(codes), small_blocks(), stored(built(case)) as runs:
        whole = merge_runs(runs, names, 0, 0)
        ranges = Ranges(runs, number, 0, 0)
        parts = [ranges.merge(part, names, limit) for part in range(number)]
    event(f"{sum(len(part) > 0 for part in parts)} ranges with rows")
    assert all(
        part.column_names[: len(case.path.keys or case.kinds)]
        == whole.column_names[: len(case.path.keys or case.kinds)]
        for part in parts
    )
    assert sum(map(len, parts)) == len(whole), "what is summed is in one range"
    hashes = [rows_of_table(part, case.path.keys).hashes() for part in parts]
    assert add_hashes(hashes) == rows_of_table(whole, case.path.keys).hashes()


def spread_keys(kind: str) -> list[pa.Array]:
    """The key columns of a copy of a kind, in any order."""
    draw = np.random.default_rng(5)
    numbers = draw.integers(-(10**9), 10**9, ROWS)
    few = draw.integers(0, 3, ROWS)
    match kind:
        case "numbers":
            return [pa.array(numbers), pa.array(few)]
        case "numbers that are mostly few":
            return [pa.array(np.where(draw.random(ROWS) < 0.8, 7, numbers)), pa.array(numbers)]
        case "one hot number":
            return [pa.array(np.full(ROWS, 7)), pa.array(numbers)]
        case "far apart":
            return [pa.array(np.where(numbers % 2 == 0, numbers, numbers + 2**62)), pa.array(numbers * 2**30)]
        case "texts":
            return [pa.array([f"k{n}" for n in numbers]), pa.array(numbers)]
        case "NULL":
            return [pa.array(numbers, mask=draw.random(ROWS) < 0.6), pa.array(numbers)]
    raise AssertionError(kind)


KINDS = ["numbers", "numbers that are mostly few", "one hot number", "far apart", "texts", "NULL"]
PATHS = [AccessPath("m", bound) for bound in ((0, 1), (0,), ())]


def runs_of(keys: list[pa.Array], path: AccessPath, most: int = 5) -> list[RunData]:
    table = pa.table({"k0": keys[0], "k1": keys[1], VERSION: np.arange(ROWS) % 5, "+m": np.ones(ROWS, np.int64)})
    sizes = np.random.default_rng(6).multinomial(ROWS, [0.7, *([0.3 / (most - 1)] * (most - 1))])
    return [build_run(table.slice(end - size, size), path) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.label)
@pytest.mark.parametrize("kind", KINDS)
def test_ranges_are_about_equal_whatever_the_keys_are(kind: str, path: AccessPath) -> None:
    keys = spread_keys(kind)
    for most in (5, 60):
        ranges = Ranges(runs_of(keys, path, most), 6, -1, 0)
        rows = [len(ranges.merge(part, ["k0", "k1"], ROWS)) for part in range(6)]
        assert sum(rows) == ROWS
        assert max(rows) < 1.6 * ROWS / 6, rows


@pytest.mark.parametrize("kind", ["numbers", "far apart", "NULL"])
def test_a_range_of_numbers_has_keys_that_no_other_has(kind: str) -> None:
    ranges = Ranges(runs_of(spread_keys(kind), PATHS[0]), 6, -1, 0)
    found = [{*ranges.merge(part, ["k0", "k1"], ROWS)["k0"].to_pylist()} - {None} for part in range(6)]
    for before, after in pairwise(found):
        assert not before or not after or max(before) < min(after)


def test_one_key_at_many_versions_is_summed_in_between() -> None:
    """All of it becomes one row, which is in one range: no more than a few rows are held for it."""
    versions = np.arange(ROWS)
    table = pa.table({"k0": np.zeros(ROWS, np.int64), VERSION: versions, "+m": np.ones(ROWS, np.int64)})
    runs = [build_run(table.slice(start, 1_000), AccessPath("m", (0,))) for start in range(0, ROWS, 1_000)]
    ranges = Ranges(runs, 4, 0, 0)
    found = pa.concat_tables([ranges.merge(part, ["k0"], 50) for part in range(4)])
    assert found.to_pylist() == [{"k0": 0, VERSION: (1 << EPOCH_SHIFT) - 1, "+m": ROWS}]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_looked_up_in_ranges_is_what_the_runs_have(kind: str) -> None:
    keys = spread_keys(kind)
    runs = runs_of(keys, PATHS[0])
    ranges = Ranges(runs, 6, -1, 0)
    merged = [build_run(ranges.merge(part, ["k0", "k1"], ROWS), PATHS[0]) for part in range(6)]
    for rows in (slice(40, 45), slice(0, 3_000)):
        asked = [column.take(pa.array(np.arange(ROWS)[rows])) for column in keys]
        request = probe(asked, np.full(len(asked[0]), 3))
        assert sum_points(merged, ["m"], request)["m"].tolist() == sum_points(runs, ["m"], request)["m"].tolist()
