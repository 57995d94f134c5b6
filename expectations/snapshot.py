"""What a view's snapshot must be: its recomputation, and nothing but groups that have rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from expectations.comparison import Comparison
from expectations.rendering import ReadableExpectation, verdict

__all__ = ["ExpectNoGroupWithoutRows", "ExpectSnapshotToEqualRecomputation"]

HEADER = ("what", "group", "column", "snapshot", "recomputed")


class ExpectSnapshotToEqualRecomputation(ReadableExpectation):
    """Expect a snapshot to hold exactly the rows of its recomputation: none missing, none more, every value the same.

    Compared as multisets; NULL equals NULL; decimals exactly, whatever their declared digits; DOUBLEs within a
    tolerance.

    Args:
        recomputation: temporary view, in the batch's session, of the rows that should be there; columns by position.
        key_columns: the columns that identify a group in the report.
        tolerances: DOUBLE column -> accepted difference, relative to the larger of 1 and the values.
        double_tolerance: the same for the other DOUBLE columns.
    """

    recomputation: str
    key_columns: list[str] = []  # noqa: RUF012  (pydantic copies it)
    tolerances: dict[str, float] = {}  # noqa: RUF012
    double_tolerance: float = 0.0

    sentence: ClassVar[str] = (
        "The snapshot equals $recomputation, recomputed from the whole event log; groups: $key_columns."
    )
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.comparison", "table.row_count")
    success_keys: ClassVar[tuple[str, ...]] = ("recomputation", "key_columns", "tolerances", "double_tolerance")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        found: Comparison = metrics["cumulus.comparison"]
        counts = {"missing": found.missing, "unexpected": found.unexpected, "differing": found.differing}
        observed = _observed(found, metrics["table.row_count"])
        return verdict(
            found.equal, observed, HEADER, list(_lines(found)), **counts, sample=found.sample, problem=found.problem
        )


def _observed(found: Comparison, rows: int) -> str:
    if found.problem:
        return f"not comparable: {found.problem}"
    if found.equal:
        return f"{rows} rows, all equal"
    counts = (("missing", found.missing), ("too many", found.unexpected), ("with other values", found.differing))
    return f"{rows} rows; groups " + ", ".join(f"{what}: {n}" for what, n in counts if n)


def _lines(found: Comparison) -> Iterator[tuple[str, ...]]:
    """One line per differing value, the two sides beside each other."""
    for group in found.sample:
        key = ", ".join(f"{name} = {value}" for name, value in group["key"].items()) or "(all)"
        left, right = group["snapshot"], group["recomputed"]
        if len(left) > 1 or len(right) > 1:
            yield group["kind"], key, "(rows)", _rows(left), _rows(right)
            continue
        held, due = (rows[0] if rows else {} for rows in (left, right))
        for name in dict.fromkeys([*held, *due]):
            if held.get(name) != due.get(name):
                yield group["kind"], key, name, held.get(name, "-"), due.get(name, "-")
        if not held and not due:
            yield group["kind"], key, "(row)", "present" if left else "-", "present" if right else "-"


def _rows(rows: list[dict[str, str]]) -> str:
    return "; ".join("(" + ", ".join(f"{n} = {v}" for n, v in row.items()) + ")" for row in rows) or "-"


class ExpectNoGroupWithoutRows(ReadableExpectation):
    """Expect every group of a snapshot to stand for at least one row: a group whose rows are all gone does not exist,
    whatever its sums are.

    Args:
        column: the snapshot's column that counts the rows of a group.
    """

    column: str
    minimum: int = 1

    sentence: ClassVar[str] = "Every group has rows: $column is at least $minimum."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.rows_below",)
    success_keys: ClassVar[tuple[str, ...]] = ("column", "minimum")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        count, header, rows = metrics["cumulus.rows_below"]
        return verdict(
            count == 0, f"{count} groups without rows" if count else "all groups have rows", header, rows, count=count
        )
