"""Rows are in one group exactly when they agree in all columns and in the version."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.compute import grouping
from cumulus_ops.compute.grouping import group_rows
from cumulus_ops.compute.kernel import Events
from cumulus_ops.compute.vector import Frame
from m3.datatypes import BOOL, INT
from m3.scalars import Call, Const, Var

ROW = st.tuples(st.integers(-3, 3), st.sampled_from([None, "", "a", "b"]), st.sampled_from([None, 0, 7]))


@settings(deadline=None)
@given(st.lists(ROW, min_size=1, max_size=40), st.booleans(), st.sampled_from([1, 4]))
def test_groups_are_of_equal_rows(rows: list[tuple[object, ...]], ascending: bool, versions: int) -> None:
    if ascending:
        rows = sorted(rows, key=lambda row: row[0])  # type: ignore[arg-type, return-value]
    types = (pa.int64(), pa.string(), pa.int64())
    columns = [pa.array([row[i] for row in rows], type_) for i, type_ in enumerate(types)]
    stamps = np.arange(len(rows)) % versions
    with patch.object(grouping, "FEWEST", 1), patch.object(grouping, "SHARED", 0):
        groups = group_rows(columns, stamps)
    assert groups is not None
    whole = list(zip(rows, stamps.tolist(), strict=True))
    number = {row: groups.number[whole.index(row)] for row in whole}
    assert [number[row] for row in whole] == groups.number.tolist()
    assert len(set(number.values())) == len(number) == len(groups.first)
    assert [whole.index(whole[i]) for i in groups.first] == groups.first.tolist(), "the first row of each group"


@pytest.mark.parametrize("keys", [[1, 2, 3], [3, 1, 2]])
def test_rows_that_all_differ_are_groups_of_their_own(keys: list[int]) -> None:
    with patch.object(grouping, "FEWEST", 1):
        groups = group_rows([pa.array(["x"] * 3), pa.array(keys)], np.zeros(3, np.int64))
    assert groups is not None
    assert sorted(groups.number.tolist()) == [0, 1, 2]
    assert [groups.number[i] for i in groups.first] == [0, 1, 2]


EVENT = st.tuples(st.sampled_from([-(2**62), 0, 1, 2**62]), st.sampled_from([None, "a"]), st.integers(0, 1))


@settings(deadline=None)
@given(
    st.lists(EVENT, max_size=8),
    st.lists(st.tuples(EVENT, st.sampled_from([1, -1])), max_size=4),
    st.sampled_from([("n",), ("t",), ("n", "t"), ()]),
)
def test_events_cancel_if_those_that_look_alike_sum_to_zero(
    twice: list[tuple[object, ...]], more: list[tuple[tuple[object, ...], int]], names: tuple[str, ...]
) -> None:
    weighted = [*((row, 1) for row in twice), *more, *((row, -1) for row in twice)]
    numbers, texts, versions = ([row[i] for row, _ in weighted] for i in range(3))
    columns = {"n": pa.array(numbers, pa.int64()), "t": pa.array(texts, pa.string())}
    weights = np.array([weight for _, weight in weighted], np.int64)
    events = Events(Frame(columns, len(weighted)), np.array(versions, np.int64), weights)
    sums = Counter[object]()
    for (number, text, version), weight in weighted:
        sums[version, *(value for name, value in (("n", number), ("t", text)) if name in names)] += weight
    assert events.cancel(names) == (not any(sums.values()))


def test_events_are_gone_as_soon_as_nobody_has_them() -> None:
    """All pass the filter: if they remembered themselves, they and all that is found for them would wait for the garbage collector."""
    condition = Call("ge", (Var("k", INT), Const(0, INT)), BOOL)
    events = Events(Frame({"k": pa.array([0, 1])}, 2), np.zeros(2, np.int64), np.ones(2, np.int64))
    gc.disable()
    try:
        assert events.where((condition,)) is events
        assert events.where((condition,)) is events
        gone = weakref.ref(events)
        del events
        assert gone() is None
    finally:
        gc.enable()
