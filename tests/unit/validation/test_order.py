"""Rows in an order and up to a limit: each place counts, but for numbers that are not exact."""

from __future__ import annotations

import pyarrow as pa

from cumulus_ops.validation.comparison import Shown, compare_shown

NONE = pa.table({"none": pa.array([], pa.int64())}).select([])


def shown(rows: list[tuple[str, float]], due: list[tuple[str, float]], window: tuple[int, int | None]) -> Shown:
    def table(values: list[tuple[str, float]]) -> pa.Table:
        return pa.table({"k": [k for k, _ in values], "x": pa.array([x for _, x in values], pa.float64())})

    keys = pa.table({"#order_0": table(due)["x"]})
    return compare_shown(table(rows), table(due), keys, window, {}, 1e-9)


DUE = [("a", 1.0), ("b", 2.0), ("c", 2.0 + 1e-12), ("d", 3.0)]


def test_each_place_counts() -> None:
    assert shown(DUE[:2], DUE, (0, 2)).comparison.equal
    assert shown(DUE[1:3], DUE, (1, 2)).comparison.equal
    assert not shown([DUE[3], *DUE[:3]], DUE, (0, None)).comparison.equal
    assert not shown(DUE[:1], DUE, (0, 2)).comparison.equal
    assert not shown(DUE[:3], DUE, (0, 2)).comparison.equal


def test_rows_whose_order_is_in_the_last_digits_may_stand_in_any() -> None:
    found = shown([DUE[0], DUE[2], DUE[1], DUE[3]], DUE, (0, None))
    assert (found.comparison.equal, found.undecided) == (True, "")
    assert not shown([DUE[0], DUE[2], DUE[2], DUE[3]], DUE, (0, None)).comparison.equal


def test_where_the_limit_cuts_through_them_nothing_is_said() -> None:
    found = shown([DUE[0], DUE[2]], DUE, (0, 2))
    assert "which are first is not known" in found.undecided
    wrong = shown([("z", 1.0), DUE[2]], DUE, (0, 2))
    assert (wrong.comparison.equal, wrong.undecided) == (False, "")


def test_columns_that_are_exact_have_no_nearly() -> None:
    due = pa.table({"k": ["a", "b"], "n": [1, 2]})
    found = compare_shown(due.take(pa.array([1, 0])), due, due.select(["n"]), (0, None), {}, 1e-9)
    assert found.comparison.differing == 2
