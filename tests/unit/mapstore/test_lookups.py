"""Runs and lookups against a plain list of deltas, with and without hash collisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import (
    VALUE,
    VERSION,
    AccessPath,
    RunData,
    build_run,
    open_run,
    probe,
    read_slices,
    read_table,
    sum_deltas,
    sum_points,
    write_runs,
)
from cumulus_ops.mapstore import lookup as lookup_module
from cumulus_ops.mapstore import runs as runs_module
from m3.datatypes import INT64_MAX, INT64_MIN

#: (key a, key b, version, value)
Delta = tuple[int | None, str | None, int, int]
A = st.none() | st.integers(0, 3)
B = st.none() | st.sampled_from(["", "x", "y"])
DELTAS = st.lists(st.tuples(A, B, st.integers(0, 6), st.integers(-5, 5)), max_size=25)
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string()), (VERSION, pa.int64()), (VALUE, pa.int64())])
PATHS = [AccessPath("m", bound) for bound in ((), (0,), (1,), (0, 1))]


def all_equal(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    return np.zeros(rows, dtype=np.uint64)


def two_valued(columns: Sequence[pa.Array], rows: int) -> np.ndarray:
    texts = zip(*(c.to_pylist() for c in columns), strict=True) if columns else [()] * rows
    return np.array([len(str(t)) % 2 for t in texts], dtype=np.uint64)


@pytest.fixture(params=["real", "all-equal", "two-valued"])
def hashing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The real hash, and hashes on which different keys collide all the time."""
    forged = {"all-equal": all_equal, "two-valued": two_valued}.get(request.param)
    if forged is not None:
        monkeypatch.setattr(runs_module, "hash_columns", forged)
        monkeypatch.setattr(lookup_module, "hash_columns", forged)
        monkeypatch.setattr(lookup_module, "is_invertible", lambda _: False)
    return str(request.param)


def table(deltas: Sequence[Delta]) -> pa.Table:
    columns = list(zip(*deltas, strict=True)) or [()] * 4
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def run_of(deltas: Sequence[Delta], path: AccessPath) -> RunData:
    return read_table(build_run(table(deltas), path))


def keys(asked: Sequence[tuple[object, ...]], bound: tuple[int, ...]) -> list[pa.Array]:
    return [pa.array([row[i] for row in asked], SCHEMA.field(position).type) for i, position in enumerate(bound)]


lenient = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@lenient
@given(st.lists(DELTAS, max_size=3), st.lists(st.tuples(A, B, st.integers(0, 8)), min_size=1, max_size=10))
def test_points_are_the_sums_before_a_version(
    hashing: str, runs: list[list[Delta]], asked: list[tuple[int | None, str | None, int]]
) -> None:
    path = AccessPath("m", (0, 1))
    request = probe(keys(asked, path.bound), np.array([version for *_, version in asked]))
    got = sum_points([run_of(r, path) for r in runs], path.bound, request)
    assert got.tolist() == [
        sum(value for run in runs for a, b, version, value in run if (a, b) == (x, y) and version < before)
        for x, y, before in asked
    ]


@lenient
@given(
    st.sampled_from(PATHS),
    st.lists(DELTAS, max_size=3),
    st.lists(st.tuples(A, B, st.integers(0, 8)), min_size=1, max_size=6),
)
def test_slices_are_the_matching_deltas_before_a_version(
    hashing: str, path: AccessPath, runs: list[list[Delta]], asked: list[tuple[int | None, str | None, int]]
) -> None:
    free = tuple(i for i in (0, 1) if i not in path.bound)
    bound = keys([tuple(row[i] for i in path.bound) for row in asked], path.bound)
    slices = read_slices(
        [run_of(r, path) for r in runs], path.bound, free, probe(bound, np.array([row[2] for row in asked]))
    )
    got = list(zip(slices.request.tolist(), *(c.to_pylist() for c in slices.free), slices.values.tolist(), strict=True))
    expected = [
        (i, *(delta[f] for f in free), delta[3])
        for i, row in enumerate(asked)
        for run in runs
        for delta in run
        if all(delta[p] == row[p] for p in path.bound) and delta[2] < row[2]
    ]
    assert sorted(map(repr, got)) == sorted(map(repr, expected))


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.label)
def test_a_run_survives_the_way_to_disk_and_back(tmp_path: Path, path: AccessPath) -> None:
    deltas: list[Delta] = [(1, "x", 5, 2), (None, None, 3, -7), (1, "x", 4, 9), (2, "", 9, 1)]
    written = write_runs(tmp_path, [(path, build_run(table(d), path)) for d in (deltas, [], deltas[:2])])
    assert len({run.path for run in written}) == 1
    assert [(r.rows, r.min_version, r.max_version) for r in written] == [(4, 3, 9), (0, 0, 0), (2, 3, 5)]
    assert all((r.map, r.access_path) == ("m", path.label) for r in written)
    for run, part in zip(written, (deltas, [], deltas[:2]), strict=True):
        opened = open_run(tmp_path / run.path, run.offset, run.bytes)
        rows = zip(*(k.to_pylist() for k in opened.keys), opened.versions.tolist(), opened.values.tolist(), strict=True)
        assert sorted(map(repr, rows)) == sorted(map(repr, part))
        order = list(zip(opened.hashes.tolist(), opened.versions.tolist(), strict=True))
        assert order == sorted(order)
        assert opened.unique == (len(set(opened.hashes.tolist())) == len(opened))
        assert opened.unique or opened.totals.tolist() == np.cumsum(opened.values).tolist()
        assert not opened.collisions
        assert opened.magnitude == sum(abs(d[3]) for d in part)


def test_nothing_to_write_leaves_no_file(tmp_path: Path) -> None:
    assert write_runs(tmp_path, []) == ()
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_collisions_are_seen_when_a_run_is_built(hashing: str) -> None:
    path = AccessPath("m", (0, 1))
    assert run_of([(1, "x", 5, 1), (2, "x", 4, 1), (1, "x", 6, 1)], path).collisions == (hashing != "real")
    assert not run_of([(1, "x", 5, 1), (1, "x", 4, 1)], path).collisions


def test_a_deep_history_of_one_key_is_one_subtraction_not_a_scan() -> None:
    """A hot key: every version bound gets its own sum."""
    path = AccessPath("m", (0, 1))
    run = run_of([(1, "x", v, v * v - 500) for v in range(1000)], path)
    asked = [(1, "x")] * 1001
    got = sum_points([run], path.bound, probe(keys(asked, path.bound), np.arange(1001)))
    assert got.tolist() == np.concatenate([[0], np.cumsum(np.arange(1000) ** 2 - 500)]).tolist()


BIG = st.sampled_from([INT64_MAX, INT64_MIN, 2**62, -(2**62), 2**32, -(2**32), 1, -1])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), BIG), max_size=4), min_size=1, max_size=3))
def test_a_total_beyond_64_bits_is_an_error_never_a_wrong_number(runs: list[list[tuple[int, int]]]) -> None:
    path = AccessPath("m", (0, 1))
    opened = [run_of([(1, "x", version, value) for version, value in run], path) for run in runs]
    for before in range(4):
        total = sum(value for run in runs for version, value in run if version < before)
        request = probe(keys([(1, "x")], path.bound), np.array([before]))
        if INT64_MIN <= total <= INT64_MAX:
            assert sum_points(opened, path.bound, request).tolist() == [total]
        else:
            with pytest.raises(InputProblem) as caught:
                sum_points(opened, path.bound, request)
            assert caught.value.kind == "overflow"


@settings(max_examples=60, deadline=None)
@given(DELTAS)
def test_a_run_of_summed_deltas_has_one_row_per_key_and_version(deltas: list[Delta]) -> None:
    path = AccessPath("m", (0, 1))
    once, twice = run_of(deltas, path), read_table(build_run(sum_deltas([table(deltas)]), path))
    asked = sorted({(a, b) for a, b, _, _ in deltas}, key=repr) or [(0, "")]
    for before in (0, 3, 9):
        request = probe(keys(asked, path.bound), np.full(len(asked), before))
        assert sum_points([once], path.bound, request).tolist() == sum_points([twice], path.bound, request).tolist()
    rows = list(zip(*(k.to_pylist() for k in twice.keys), twice.versions.tolist(), strict=True))
    assert len(rows) == len(set(rows))
    assert (twice.values != 0).all()
