"""Tables compared as multisets: equal data only is equal, and what differs is named."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cumulus_ops.validation.comparison import compare, describe_comparison, difference_lines

SCHEMA = (("k", pa.string()), ("v", pa.decimal128(15, 2)))


def table(rows: list[tuple[Any, ...]], *columns: tuple[str, pa.DataType]) -> pa.Table:
    columns = columns or SCHEMA
    values = [
        [Decimal(x) if pa.types.is_decimal(t) and x is not None else x for x in (r[i] for r in rows)]
        for i, (_, t) in enumerate(columns)
    ]
    return pa.table([pa.array(v, t) for v, (_, t) in zip(values, columns, strict=True)], names=[n for n, _ in columns])


def test_missing_extra_and_differing_groups_are_told_apart() -> None:
    left = table([("a", "1.00"), ("b", "2.00"), (None, "3.00"), ("same", None)])
    right = table([("a", "1.01"), (None, "3.00"), ("c", "4.00"), ("same", None)])
    found = compare(left, right, ["k"])
    assert (found.missing, found.unexpected, found.differing) == (1, 1, 1)
    assert found.sample == [
        {"kind": "differing", "key": {"k": "a"}, "snapshot": [{"v": "1.00"}], "recomputed": [{"v": "1.01"}]},
        {"kind": "unexpected", "key": {"k": "b"}, "snapshot": [{"v": "2.00"}], "recomputed": []},
        {"kind": "missing", "key": {"k": "c"}, "snapshot": [], "recomputed": [{"v": "4.00"}]},
    ]
    assert describe_comparison(found) == "4 rows; groups missing: 1, too many: 1, with other values: 1"
    assert next(difference_lines(found)) == ("differing", "k = a", "v", "1.00", "1.01")


def test_null_keys_and_null_values_are_values() -> None:
    left = table([(None, None), ("a", None)])
    assert compare(left, left, ["k"]).equal
    found = compare(left, table([(None, "0.00"), ("a", None)]), ["k"])
    assert found.sample == [
        {"kind": "differing", "key": {"k": "NULL"}, "snapshot": [{"v": "NULL"}], "recomputed": [{"v": "0.00"}]}
    ]


def test_rows_count_as_often_as_they_occur() -> None:
    left, right = table([("a", "1.00")] * 3), table([("a", "1.00")])
    assert compare(left, right, ["k"]).sample[0]["snapshot"] == [{"v": "1.00", "times": "2"}]
    assert not compare(right, left, ["k"]).equal


def test_exact_numbers_are_compared_across_their_types() -> None:
    wide = table([("a", "1.5000")], ("k", pa.string()), ("v", pa.decimal128(38, 10)))
    assert compare(table([("a", "1.5")]), wide, ["k"]).equal
    whole = table([("a", 7)], ("k", pa.string()), ("v", pa.int64()))
    assert compare(whole, table([("b", "7.0")]), []).differing == 1
    assert compare(whole, table([("a", "7.0")]), []).equal
    found = compare(table([("a", "1")], ("k", pa.string()), ("v", pa.string())), wide, ["k"])
    assert found.problem == "v is string in the snapshot, decimal128(38, 10) recomputed"


def test_a_view_without_groups_is_one_group() -> None:
    left, right = (table([(v,)], ("v", pa.decimal128(15, 2))) for v in ("1.00", None))
    assert compare(left, left, []).equal
    found = compare(left, right, [])
    assert (found.differing, found.sample[0]["recomputed"]) == (1, [{"v": "NULL"}])


def test_doubles_have_a_tolerance_but_nan_and_null_do_not() -> None:
    nan, inf = float("nan"), float("inf")
    columns = (("k", pa.string()), ("v", pa.float64()))
    left = table([("a", 0.1 + 0.2), ("n", nan), ("i", inf), ("0", None)], *columns)
    right = table([("a", 0.3), ("n", nan), ("i", inf), ("0", None)], *columns)
    assert compare(left, right, ["k"], double_tolerance=1e-9).equal
    assert compare(left, right, ["k"]).differing == 1
    assert compare(left, right, ["k"], {"v": 1e-20}, 1e-9).sample[0]["recomputed"] == [{"v": "0.3"}]
    off = table([("a", nan), ("n", inf), ("i", -inf), ("0", 0.0)], *columns)
    assert compare(left, off, ["k"], double_tolerance=1.0).differing == 4


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e12])
def test_a_tolerance_is_relative(size: float) -> None:
    left, right, off = (table([(v,)], ("v", pa.float64())) for v in (size, size * (1 + 1e-12), size * (1 + 1e-6)))
    assert compare(left, right, [], double_tolerance=1e-9).equal
    assert not compare(left, off, [], double_tolerance=1e-9).equal


def test_the_sample_is_bounded() -> None:
    left, right = (pa.table({"k": [str(i) for i in range(1000)], "v": [i + n for i in range(1000)]}) for n in (0, 1))
    found = compare(left, right, ["k"])
    assert (found.differing, len(found.sample)) == (1000, 20)
