"""The least and greatest live value of a group, against brute force, for values of every type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.layout.groups import Group, Lookup, choose_copies
from cumulus_ops.maps import ordered as ordered_module
from cumulus_ops.maps.columns import WIDE, narrow_column, to_numpy
from cumulus_ops.maps.deltas import VERSION, value_column
from cumulus_ops.maps.encodings import is_number
from cumulus_ops.maps.lookup import probe, spread
from cumulus_ops.maps.ordered import first_live, read_between
from cumulus_ops.maps.runs import AccessPath, RunData, build_run
from m3.datatypes import INT
from m3.program import Column
from tests.support.runs import CODES, forced, small_blocks, stored

#: (group, value as a small number or NULL, version, units)
Delta = tuple[int | None, int | None, int, int]
GROUPS = st.none() | st.integers(0, 2)
VALUES = st.integers(0, 6) | st.integers(0, 6) | st.none()
DELTAS = st.lists(st.tuples(GROUPS, VALUES, st.integers(0, 5), st.sampled_from([-2, -1, -1, 1, 1, 2])), max_size=40)
ASKED = st.lists(st.tuples(GROUPS, st.integers(0, 7)), min_size=1, max_size=8)
PATH = AccessPath("m", (0,), 1)
GROUP = Group("m", (Column("g", INT.with_null()), Column("x", INT.with_null())), ("m", "other"))
#: The copy for such lookups if both columns are of numbers.
((WITHIN,), _) = choose_copies(GROUP, [Lookup(frozenset({0}), 1, frozenset({1}), frozenset({"m"}))])
M = value_column("m")
TYPES: dict[str, tuple[pa.DataType, Callable[[int], object]]] = {
    "int": (pa.int64(), lambda i: i - 3),
    "far": (pa.int64(), lambda i: (i - 3) * 2**61),  # the difference of two takes 64 bits
    "string": (pa.string(), lambda i: "" if i == 0 else chr(96 + i) * (1 + i % 2)),
    "date": (pa.date32(), lambda i: datetime.date(1969, 12, 29) + datetime.timedelta(i)),
    "timestamp": (pa.timestamp("us"), lambda i: datetime.datetime(2020, 1, 1) + datetime.timedelta(0, i)),
    "bool": (pa.bool_(), lambda i: i > 3),
    "double": (pa.float64(), lambda i: (i - 3) / 3),
    "wide": (WIDE, lambda i: Decimal((i - 3) * 10**18 * (1 if i < 5 else 10**19))),
}


def build(deltas: Sequence[Delta], kind: str, path: AccessPath = PATH, texts: bool = False) -> RunData:
    type_, value = TYPES[kind]
    columns = {
        "g": groups([d[0] for d in deltas], texts),
        "x": narrow_column(pa.array([None if d[1] is None else value(d[1]) for d in deltas], type_)),
        VERSION: pa.array([d[2] for d in deltas], pa.int64()),
        M: pa.array([d[3] for d in deltas], pa.int64()),
        value_column("other"): pa.array([1 for _ in deltas], pa.int64()),
    }
    return build_run(pa.table(columns), path)


def groups(numbers: Sequence[int | None], texts: bool) -> pa.Array:
    """The column of groups: numbers, or texts."""
    return pa.array(numbers, pa.int64()).cast(pa.string()) if texts else pa.array(numbers, pa.int64())


def brute(deltas: Sequence[Delta], kind: str, group: int | None, before: int, descending: bool) -> object:
    sums: dict[object, int] = {}
    for g, x, version, units in deltas:
        if g == group and x is not None and version < before:
            value = TYPES[kind][1](x)
            sums[value] = sums.get(value, 0) + units
    live = sorted(v for v, units in sums.items() if units > 0)  # type: ignore[type-var]
    return (live[-1] if descending else live[0]) if live else None


def ask(
    runs: Sequence[RunData], kind: str, asked: Sequence[tuple[int | None, int]], descending: bool, texts: bool = False
) -> list[object]:
    request = probe([groups([g for g, _ in asked], texts)], np.array([b for _, b in asked], np.int64))
    type_ = pa.int64() if kind == "wide" else TYPES[kind][0]
    found = first_live(runs, (1, "m"), request, type_, descending=descending)
    assert found.type == type_ or (kind == "wide" and found.type == WIDE)
    return list(found.to_pylist())


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("kind", TYPES)
@settings(deadline=None)
@given(
    parts=st.lists(DELTAS, max_size=3),
    asked=ASKED,
    descending=st.booleans(),
    chunk=st.sampled_from([1, 4]),
    texts=st.booleans(),
    within=st.booleans(),
    on_disk=st.booleans(),
)
def test_it_is_what_brute_force_finds(
    kind: str,
    codes: str,
    parts: list[list[Delta]],
    asked: list[tuple[int | None, int]],
    descending: bool,
    chunk: int,
    texts: bool,
    within: bool,
    on_disk: bool,
) -> None:
    numbers = (kind == "wide" or is_number(TYPES[kind][0])) and not texts
    path = WITHIN if within and numbers else PATH
    with pytest.MonkeyPatch.context() as patch, forced(codes), small_blocks():
        patch.setattr(ordered_module, "CHUNK", chunk)
        runs = [build(part, kind, path, texts) for part in parts]
        deltas = [d for part in parts for d in part]
        with stored(runs) as mapped:
            got = ask(mapped if on_disk else runs, kind, asked, descending, texts)
    assert got == [brute(deltas, kind, g, b, descending) for g, b in asked]


@pytest.mark.parametrize("path", [PATH, WITHIN], ids=lambda p: p.label)
def test_deleting_the_extreme_reads_a_few_entries_and_not_the_group(
    path: AccessPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = [(1, 6, 0, 1)] * 5000 + [(1, 5, 0, 1)]
    type_, _ = TYPES["int"]
    values = pa.array(np.arange(len(group)))
    table = pa.table({"g": pa.array([1] * len(group)), "x": values, VERSION: values, M: pa.array([1] * len(group))})
    big = build_run(table, path)
    deleted = build_run(table.slice(0, 2).set_column(3, M, pa.array([-1, -1])), path)
    seen: list[int] = []

    def watched(items: np.ndarray, first: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(int(counts.sum()))
        return spread(items, first, counts)

    monkeypatch.setattr(ordered_module, "spread", watched)
    request = probe([pa.array([1])], np.array([10**9]))
    assert first_live([big, deleted], (1, "m"), request, type_, descending=False).to_pylist() == [2]
    assert first_live([big, deleted], (1, "m"), request, type_, descending=True).to_pylist() == [len(group) - 1]
    assert sum(seen) <= 20


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("group", [2**62, 2**30])
def test_values_are_in_order_also_where_they_find_no_room_in_the_search_code(group: int, descending: bool) -> None:
    values = [(x * 37) % 50 << 34 for x in range(20, 60)]
    columns = {"g": [-group, group, *[7] * 40], "x": [0, 0, *values]}
    run = build_run(pa.table({**columns, VERSION: [0] * 42, M: [1] * 42}), WITHIN)
    request = probe([pa.array([7])], np.array([1]))
    found = first_live([run], (1, "m"), request, pa.int64(), descending=descending)
    assert found.to_pylist() == [max(values) if descending else min(values)]


def test_a_path_without_bound_columns_has_one_group() -> None:
    path = AccessPath("m", (), 1)
    run = build([(1, 3, 0, 1), (2, 5, 0, 1), (2, 5, 1, -1)], "string", path)
    request = probe([], np.array([1, 2]))
    assert first_live([run], (1, "m"), request, pa.string(), descending=True).to_pylist() == ["e" * 2, "c" * 2]
    assert path.label == "all<1"


def test_nothing_stored_is_null() -> None:
    assert ask([], "date", [(1, 5)], False) == [None]
    assert ask([build([], "date")], "date", [(1, 5), (None, 3)], True) == [None, None]


#: What now() passes is found in copies whose first column is the one that is compared: it alone, or with others behind it.
PASSED = (AccessPath("m", (1,)), AccessPath("m", (1, 0)))


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("kind", ["int", "date", "timestamp"])
@settings(deadline=None)
@given(
    parts=st.lists(DELTAS, max_size=3),
    bounds=st.tuples(st.none() | st.integers(-1, 7), st.none() | st.integers(-1, 7)),
    path=st.sampled_from(PASSED),
    texts=st.booleans(),
    on_disk=st.booleans(),
)
def test_entries_between_two_values_are_what_brute_force_finds(
    kind: str,
    codes: str,
    parts: list[list[Delta]],
    bounds: tuple[int | None, int | None],
    path: AccessPath,
    texts: bool,
    on_disk: bool,
) -> None:
    value = TYPES[kind][1]
    low, high = (None if b is None else int(to_numpy(pa.array([value(b)], TYPES[kind][0]))[0]) for b in bounds)
    with forced(codes), small_blocks():
        runs = [build(part, kind, path, texts) for part in parts]
        with stored(runs) as mapped:
            columns = read_between(mapped if on_disk else runs, low, high, (0, 1))
            found = [pair for g, x in columns for pair in zip(g.to_pylist(), x.to_pylist(), strict=True)]
    expected = [
        (None if d[0] is None else str(d[0]) if texts else d[0], value(d[1]))
        for part in parts
        for d in part
        if d[1] is not None and (bounds[0] is None or d[1] >= bounds[0]) and (bounds[1] is None or d[1] <= bounds[1])
    ]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
