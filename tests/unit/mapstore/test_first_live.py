"""The least and greatest live value of a group, against brute force, for values of every type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.mapstore import VALUE, VERSION, AccessPath, RunData, build_run, first_live, probe, read_table
from cumulus_ops.mapstore import lookup as lookup_module
from cumulus_ops.mapstore import ordered as ordered_module
from cumulus_ops.mapstore import runs as runs_module

#: (group, value as a small number, version, units)
Delta = tuple[int | None, int, int, int]
GROUPS = st.none() | st.integers(0, 2)
DELTAS = st.lists(
    st.tuples(GROUPS, st.integers(0, 6), st.integers(0, 5), st.sampled_from([-2, -1, -1, 1, 1, 2])), max_size=40
)
ASKED = st.lists(st.tuples(GROUPS, st.integers(0, 7)), min_size=1, max_size=8)
PATH = AccessPath("m", (0,), 1)
TYPES: dict[str, tuple[pa.DataType, Callable[[int], object]]] = {
    "int": (pa.int64(), lambda i: i - 3),
    "string": (pa.string(), lambda i: "" if i == 0 else chr(96 + i) * (1 + i % 2)),
    "date": (pa.date32(), lambda i: datetime.date(1969, 12, 29) + datetime.timedelta(i)),
    "timestamp": (pa.timestamp("us"), lambda i: datetime.datetime(2020, 1, 1) + datetime.timedelta(0, i)),
    "bool": (pa.bool_(), lambda i: i > 3),
    "double": (pa.float64(), lambda i: (i - 3) / 3),
}


def build(deltas: Sequence[Delta], kind: str, path: AccessPath = PATH) -> RunData:
    type_, value = TYPES[kind]
    columns = {
        "g": pa.array([d[0] for d in deltas], pa.int64()),
        "x": pa.array([value(d[1]) for d in deltas], type_),
        VERSION: pa.array([d[2] for d in deltas], pa.int64()),
        VALUE: pa.array([d[3] for d in deltas], pa.int64()),
    }
    return read_table(build_run(pa.table(columns), path))


def brute(deltas: Sequence[Delta], kind: str, group: int | None, before: int, descending: bool) -> object:
    sums: dict[object, int] = {}
    for g, x, version, units in deltas:
        if g == group and version < before:
            value = TYPES[kind][1](x)
            sums[value] = sums.get(value, 0) + units
    live = sorted(v for v, units in sums.items() if units > 0)  # type: ignore[type-var]
    return (live[-1] if descending else live[0]) if live else None


def ask(runs: Sequence[RunData], kind: str, asked: Sequence[tuple[int | None, int]], descending: bool) -> list[object]:
    request = probe([pa.array([g for g, _ in asked], pa.int64())], np.array([b for _, b in asked], np.int64))
    found = first_live(runs, PATH, request, TYPES[kind][0], descending=descending)
    assert found.type == TYPES[kind][0]
    return list(found.to_pylist())


@pytest.mark.parametrize("collide", [False, True])
@pytest.mark.parametrize("kind", TYPES)
@settings(max_examples=60, deadline=None)
@given(parts=st.lists(DELTAS, max_size=3), asked=ASKED, descending=st.booleans(), chunk=st.sampled_from([1, 4]))
def test_it_is_what_brute_force_finds(
    kind: str,
    collide: bool,
    parts: list[list[Delta]],
    asked: list[tuple[int | None, int]],
    descending: bool,
    chunk: int,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered_module, "CHUNK", chunk)
        if collide:
            for module in (runs_module, lookup_module):
                patch.setattr(module, "hash_columns", lambda columns, rows: np.zeros(rows, np.uint64))
        runs = [build(part, kind) for part in parts]
        deltas = [d for part in parts for d in part]
        assert ask(runs, kind, asked, descending) == [brute(deltas, kind, g, b, descending) for g, b in asked]


def test_deleting_the_extreme_reads_a_few_entries_and_not_the_group(monkeypatch: pytest.MonkeyPatch) -> None:
    group = [(1, 6, 0, 1)] * 5000 + [(1, 5, 0, 1)]
    type_, _ = TYPES["int"]
    values = pa.array(np.arange(len(group)))
    table = pa.table({"g": pa.array([1] * len(group)), "x": values, VERSION: values, VALUE: pa.array([1] * len(group))})
    big = read_table(build_run(table, PATH))
    deleted = read_table(build_run(table.slice(0, 2).set_column(3, VALUE, pa.array([-1, -1])), PATH))
    seen: list[int] = []
    spread = ordered_module.spread

    def watched(items: np.ndarray, first: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(int(counts.sum()))
        return spread(items, first, counts)

    monkeypatch.setattr(ordered_module, "spread", watched)
    request = probe([pa.array([1])], np.array([10**9]))
    assert first_live([big, deleted], PATH, request, type_, descending=False).to_pylist() == [2]
    assert first_live([big, deleted], PATH, request, type_, descending=True).to_pylist() == [len(group) - 1]
    assert sum(seen) <= 20


def test_a_path_without_bound_columns_has_one_group() -> None:
    path = AccessPath("m", (), 1)
    run = build([(1, 3, 0, 1), (2, 5, 0, 1), (2, 5, 1, -1)], "string", path)
    request = probe([], np.array([1, 2]))
    assert first_live([run], path, request, pa.string(), descending=True).to_pylist() == ["e" * 2, "c" * 2]
    assert path.label == "all<1"


def test_nothing_stored_is_null() -> None:
    assert ask([], "date", [(1, 5)], False) == [None]
    assert ask([build([], "date")], "date", [(1, 5), (None, 3)], True) == [None, None]
