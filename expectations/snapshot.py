"""What a view's snapshot must be: its recomputation, and nothing but groups that have rows."""

from __future__ import annotations

from typing import Any, ClassVar

from cumulus_ops.verdicts import EQUAL, IN_ERROR, UNPROVED
from expectations.rendering import ReadableExpectation, verdict

__all__ = ["ExpectFinalRowsToEqualRecomputation", "ExpectNoGroupWithoutRows", "ExpectSnapshotToEqualRecomputation"]

HEADER = ("what", "group", "column", "snapshot", "recomputed")


class ExpectSnapshotToEqualRecomputation(ReadableExpectation):
    """Expect a view's snapshot to hold exactly the rows of its recomputation: none missing, none more, every value the same.

    Compared as multisets; NULL equals NULL; decimals exactly, whatever their declared digits; DOUBLEs within a
    tolerance. What readers get, the version that was published, has to be the recomputation after the view's ORDER BY, OFFSET and LIMIT.
    A view that is in error in the snapshot has to fail when it is recomputed, and no other may. A view of which something could not be compared
    does not meet the expectation either: its details say ``unproved``.

    The batch has a row per view, of handles of the tables to compare: see :class:`cumulus_ops.validation.judge.Compared`. The comparison is
    made here, when the expectation is evaluated.

    Args:
        view: the view's name.
    """

    view: str

    sentence: ClassVar[str] = "The snapshot of $view equals its SQL, run from scratch over the whole event log."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.comparison",)
    success_keys: ClassVar[tuple[str, ...]] = ("view",)

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        found = metrics["cumulus.comparison"]
        if found is None:
            return verdict(False, "it was not compared", outcome=UNPROVED)
        holds = found.outcome in (EQUAL, IN_ERROR)
        return verdict(holds, found.observed, HEADER, found.differences, outcome=found.outcome)


class ExpectFinalRowsToEqualRecomputation(ExpectSnapshotToEqualRecomputation):
    """The same of rows that sealed values make final, and of the log's rows with these values: they need no epoch to be complete.

    Args:
        view: the view's name.
        values: the values, as text.
    """

    values: str

    sentence: ClassVar[str] = (
        "The final rows of $view equal its SQL, run from scratch over the log's rows of these sealed values: $values."
    )
    success_keys: ClassVar[tuple[str, ...]] = ("view", "values")


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
