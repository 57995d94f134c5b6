"""Runs and lookups against a plain list of deltas, with search codes that tell keys apart well, badly, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from cumulus_ops.maps.deltas import VERSION, Deltas, delta_columns, sum_deltas, value_column
from cumulus_ops.maps.lookup import find_parts, probe, read_part, read_since, read_slices, sum_points
from cumulus_ops.maps.packs import open_run, write_runs
from cumulus_ops.maps.runs import AccessPath, RunData, build_run
from m3.datatypes import INT64_MAX, INT64_MIN
from tests.support.runs import (
    CODES,
    ENORMOUS,
    HUGE,
    Case,
    Entry,
    built,
    cases,
    column_of,
    forced,
    keys_of,
    small_blocks,
    stored,
)

#: (key a, key b, version, value)
Delta = tuple[int | None, str | None, int, int]
A = st.none() | st.integers(0, 3)
B = st.none() | st.sampled_from(["", "x", "y"])
DELTAS = st.lists(st.tuples(A, B, st.integers(0, 6), st.integers(-5, 5)), max_size=25)
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string()), (VERSION, pa.int64()), (value_column("m"), pa.int64())])
PATHS = [AccessPath("m", bound) for bound in ((), (0,), (1,), (0, 1), (1, 0))]


def table(deltas: Sequence[Delta]) -> pa.Table:
    *columns, values = list(zip(*deltas, strict=True)) or [()] * 4
    arrays = {f.name: pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=False)}
    return Deltas(delta_columns(arrays, {value_column("m"): np.array(values, object)})).table()


def run_of(deltas: Sequence[Delta], path: AccessPath) -> RunData:
    return build_run(table(deltas), path)


def keys(asked: Sequence[tuple[object, ...]], bound: tuple[int, ...]) -> list[pa.Array]:
    return [pa.array([row[i] for row in asked], SCHEMA.field(position).type) for i, position in enumerate(bound)]


@st.composite
def asked(draw: st.DrawFn) -> tuple[Case, tuple[int, ...], list[tuple[tuple[object, ...], int]]]:
    """A case, the first few columns of its path, and requests (key, before): some for keys that there are."""
    case = draw(cases())
    bound = case.path.bound[: draw(st.integers(0, len(case.path.bound)))]
    known = keys_of([case.kinds[i] for i in bound])
    if case.entries:
        known |= st.sampled_from(case.entries).map(lambda entry: tuple(entry.key[i] for i in bound))
    return case, bound, draw(st.lists(st.tuples(known, st.integers(0, 8)), max_size=8))


def equal(a: object, b: object) -> bool:
    """NULL equals NULL, and NaN NaN."""
    return a == b or (a != a and b != b)


def plain(column: pa.Array) -> list[object]:
    """The values of a key column; those of a wide one are whole numbers."""
    values = column.to_pylist()
    return [int(v) if isinstance(v, Decimal) else v for v in values]


def matching(entry: Entry, bound: tuple[int, ...], key: tuple[object, ...]) -> bool:
    return all(equal(entry.key[position], part) for position, part in zip(bound, key, strict=True))


@pytest.mark.parametrize("codes", CODES)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(what=asked(), on_disk=st.booleans(), limit=st.sampled_from([1, 3, 1000]))
def test_every_prefix_of_a_path_finds_what_a_plain_list_has(
    codes: str,
    what: tuple[Case, tuple[int, ...], list[tuple[tuple[object, ...], int]]],
    on_disk: bool,
    limit: int,
) -> None:
    case, bound, requests = what
    free = [i for i in range(len(case.kinds)) if i not in bound]
    names = ["p", "q", "nowhere"]
    with forced(codes), small_blocks():
        runs = built(case)
        event(f"{max((len(run.search.parts) for run in runs), default=0)} parts")
        columns = [column_of(case.kinds[i], [key[n] for key, _ in requests]) for n, i in enumerate(bound)]
        request = probe(columns, np.array([before for _, before in requests], np.int64))
        with stored(runs) as mapped:
            if on_disk:
                runs = mapped
            sums = sum_points(runs, [*names, "p"], request)
            early = read_slices(runs, names, free, request)
            found = find_parts(runs, request, limit)
            parts = [read_part(part, names, free, request, with_versions=True) for part in found]
            late, since = read_since(runs, names, free, request)
    assert {name: total.tolist() for name, total in sums.items()} == {
        name: [
            sum(e.values.get(name, 0) for e in case.entries if matching(e, bound, key) and e.version < before)
            for key, before in requests
        ]
        for name in names
    }
    assert all(len(part.request) <= limit or len({*part.request.tolist()}) == 1 for part, _ in parts)
    for (part, _), (after, _) in pairwise(parts):
        assert max(part.request, default=-1) < min(after.request, default=len(requests)), "parts are of neighbours"
    for answers, is_early in (([(early, None)], True), (parts, True), ([(late, since)], False)):
        rows = [
            row
            for slices, versions in answers
            for row in zip(
                slices.request.tolist(),
                *(plain(column) for column in slices.free),
                *([] if versions is None else [versions.tolist()]),
                *(slices.values[name].tolist() for name in names),
                strict=True,
            )
        ]
        expected = [
            (
                i,
                *(e.key[f] for f in free),
                *([] if answers[0][1] is None else [e.version]),
                *(e.values.get(name, 0) for name in names),
            )
            for i, (key, before) in enumerate(requests)
            for e in case.entries
            if matching(e, bound, key) and (e.version < before) == is_early
        ]
        assert sorted(map(repr, rows)) == sorted(map(repr, expected))


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.label)
def test_a_run_survives_the_way_to_disk_and_back(tmp_path: Path, path: AccessPath) -> None:
    deltas: list[Delta] = [(1, "x", 5, 2), (None, None, 3, -7), (1, "x", 4, 9), (2, "", 9, 1)]
    written = write_runs(tmp_path, [build_run(table(d), path) for d in (deltas, [], deltas[:2])])
    assert len({run.path for run in written}) == 1
    assert [(r.rows, r.min_version, r.max_version) for r in written] == [(4, 3, 9), (0, 0, 0), (2, 3, 5)]
    assert all((r.map, r.access_path) == ("m", path.label) for r in written)
    for run, part in zip(written, (deltas, [], deltas[:2]), strict=True):
        opened = open_run(tmp_path / run.path, run.offset, run.bytes)
        read = opened.table(["a", "b"])
        assert read.schema == SCHEMA
        rows = zip(*(column.to_pylist() for column in read.columns), strict=True)
        assert sorted(map(repr, rows)) == sorted(map(repr, part))
        codes = [0] * len(opened) if opened.codes is None else opened.codes.all().tolist()
        order = list(zip(codes, opened.versions.all_units().tolist(), strict=True))
        assert order == sorted(order)
        assert (opened.path, len(opened)) == (path, len(part))
        assert opened.unique == (len(set(codes)) == len(opened))
        assert opened.total("m").tolist() == np.cumsum(read[value_column("m")].to_numpy()).tolist()
        assert opened.total("nowhere").tolist() == [0] * len(part)
        assert not opened.collisions
        assert opened.magnitude("m") == sum(abs(d[3]) for d in part)
        assert opened.magnitude("nowhere") == 0


def test_nothing_to_write_leaves_no_file(tmp_path: Path) -> None:
    assert write_runs(tmp_path, []) == ()
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.parametrize("codes", CODES)
def test_collisions_are_seen_when_a_run_is_built(codes: str) -> None:
    path = AccessPath("m", (0, 1))
    with forced(codes):
        forged = [run_of([(1, "x", 5, 1), (1, "y", 4, 1), (1, "x", 6, 1)], path)]
        forged += [run_of([(1, text, 5, 1) for text in "abcdefghij"], path)]
        assert not run_of([(1, "x", 5, 1), (1, "x", 4, 1)], path).collisions
        assert not run_of([(1, None, 5, 1), (1, None, 4, 1)], path).collisions
        assert not run_of([(i, "x", 5, 1) for i in range(64)], path).collisions  # numbers have no hash
    expected = {"real": [False, False], "codes of six bits": [forged[0].collisions, True]}
    expected["hashes of one bit"] = expected["codes of six bits"]
    assert [run.collisions for run in forged] == expected.get(codes, [True, True])


def test_whole_numbers_of_a_path_never_collide() -> None:
    delta = pa.table({"a": [INT64_MIN, INT64_MAX, 0] * 2, VERSION: [1, 2, 3, 4, 5, 6], value_column("m"): [1] * 6})
    run = build_run(delta, AccessPath("m", (0,)))
    assert (run.search.hash_bits, run.search.bits, run.collisions, run.unique) == (0, 64, False, False)


def test_a_column_that_finds_no_room_in_the_code_has_what_is_left_of_its_hash() -> None:
    numbers = [0, 2**40, 5, 2**40]
    delta = pa.table({"a": numbers, "b": numbers, VERSION: [1, 2, 3, 4], value_column("m"): [1] * 4})
    search = build_run(delta, AccessPath("m", (0, 1))).search
    assert ([part.bits for part in search.parts], search.hash_bits, search.bits) == ([41], 23, 64)


def test_a_deep_history_of_one_key_is_one_subtraction_not_a_scan() -> None:
    """A hot key: every version bound gets its own sum."""
    path = AccessPath("m", (0, 1))
    run = run_of([(1, "x", v, v * v - 500) for v in range(1000)], path)
    requests = [(1, "x")] * 1001
    got = sum_points([run], ["m"], probe(keys(requests, path.bound), np.arange(1001)))["m"]
    assert got.tolist() == np.concatenate([[0], np.cumsum(np.arange(1000) ** 2 - 500)]).tolist()
    assert set(run.totals) == {"m"}


BIG = st.sampled_from([INT64_MAX, INT64_MIN, 2**62, -(2**62), 2**32, -(2**32), 1, -1])
HUGER = st.sampled_from(HUGE + ENORMOUS)


@pytest.mark.parametrize("width", [0, 1, 2])
@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), BIG | HUGER), max_size=4), min_size=1, max_size=3))
def test_totals_of_any_size_are_exact(width: int, runs: list[list[tuple[int, int]]]) -> None:
    path = AccessPath("m", (0, 1))
    opened = [run_of([(1, "x", version, value) for version, value in run], path) for run in runs]
    for before in range(4):
        total = sum(value for run in runs for version, value in run if version < before)
        request = probe(keys([(1, "x")], path.bound[:width]), np.array([before]))
        found = sum_points(opened, ["m"], request)["m"]
        assert found.tolist() == [total]
        assert found.dtype == (np.int64 if INT64_MIN <= total <= INT64_MAX else object)


@settings(deadline=None)
@given(DELTAS)
def test_a_run_of_summed_deltas_has_one_row_per_key_and_version(deltas: list[Delta]) -> None:
    path = AccessPath("m", (0, 1))
    once, twice = run_of(deltas, path), build_run(sum_deltas([table(deltas)]), path)
    requests = sorted({(a, b) for a, b, _, _ in deltas}, key=repr) or [(0, "")]
    for before in (0, 3, 9):
        request = probe(keys(requests, path.bound), np.full(len(requests), before))
        first, second = (sum_points([run], ["m"], request)["m"].tolist() for run in (once, twice))
        assert first == second
    read = twice.table(["a", "b"])
    rows = list(zip(*(read[name].to_pylist() for name in ("a", "b", VERSION)), strict=True))
    assert len(rows) == len(set(rows))
    assert (read[value_column("m")].to_numpy() != 0).all()
