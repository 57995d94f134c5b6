"""What is expected of a snapshot, of the log and of the vote on an epoch; how that reads in a report; and, last, the metrics behind it."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from cumulus_ops.project.verdicts import EQUAL, IN_ERROR, UNPROVED
from cumulus_ops.validation.judge import judge

__all__ = [
    "ComparisonMetric",
    "ExpectEpochsToBeComplete",
    "ExpectFinalRowsToEqualRecomputation",
    "ExpectNetTablesToEqualLog",
    "ExpectNoGroupWithoutRows",
    "ExpectNoNegativeMultiplicity",
    "ExpectSnapshotToEqualRecomputation",
    "ReadableExpectation",
    "RowsBelowMetric",
    "VotedEpochsMetric",
    "give_verdict",
]


# How our expectations read in a report: a sentence, what was observed, and a table of what is wrong.


def give_verdict(
    success: bool, observed: str, header: Sequence[str] = (), table: Sequence[Sequence[str]] = (), **details: Any
) -> dict[str, Any]:
    """An expectation's result.

    Args:
        success: whether it holds.
        observed: what was found, in a few words.
        header: the table's columns, shown when there are rows.
        table: what is wrong, as text.
        details: numbers for programs.
    """
    shown = {"header": list(header), "table": [list(row) for row in table]}
    return {"success": success, "result": {"observed_value": observed, "details": {**details, **shown}}}


class ReadableExpectation(BatchExpectation, ABC):
    """Base of the expectations here: ``sentence`` is a template over the expectation's arguments (``$name``)."""

    sentence: ClassVar[str] = ""


# What is expected of the views and of their groups.


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

    sentence: ClassVar[str] = "The snapshot of $view equals its SQL, run from scratch over the event log."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.comparison",)
    success_keys: ClassVar[tuple[str, ...]] = ("view",)

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        found = metrics["cumulus.comparison"]
        if found is None:
            return give_verdict(False, "it was not compared", outcome=UNPROVED)
        holds = found.outcome in (EQUAL, IN_ERROR)
        return give_verdict(holds, found.observed, HEADER, found.differences, outcome=found.outcome)


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
        return give_verdict(
            count == 0, f"{count} groups without rows" if count else "all groups have rows", header, rows, count=count
        )


# What the event log must be for a snapshot to mean anything: voted on by everybody, and a possible history.


class ExpectEpochsToBeComplete(ReadableExpectation):
    """Expect every member of the snapshot's epoch to have voted to end it (the unanimous vote).

    The batch has the columns ``coordinator`` and ``voted_epoch`` (the last one, inclusive).

    Args:
        epoch: the snapshot's epoch.
        members: the numbers of the coordinators that take part in it.
    """

    epoch: int
    members: list[int]

    sentence: ClassVar[str] = "The members of epoch $epoch, coordinators $members, have all voted to end it."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.voted_epochs",)
    success_keys: ClassVar[tuple[str, ...]] = ("epoch", "members")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        voted: dict[int, int] = metrics["cumulus.voted_epochs"]
        late = [c for c in self.members if voted.get(c, -1) < self.epoch]
        rows = [(str(c), str(voted.get(c, "none"))) for c in late]
        observed = f"no vote of {', '.join(map(str, late))}" if late else "all have voted"
        return give_verdict(not late, observed, ("coordinator", "last epoch that it has voted to end"), rows, late=late)


class ExpectNoNegativeMultiplicity(ReadableExpectation):
    """Expect that no row was deleted more often than it was inserted.

    The batch has the columns ``relation``, ``row`` (JSON text) and :attr:`column`, bigint.

    Args:
        column: the column that holds a row's multiplicity.
    """

    column: str = "_multiplicity"
    minimum: int = 0

    sentence: ClassVar[str] = "No row of a base table was deleted more often than it was inserted."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.rows_below",)
    success_keys: ClassVar[tuple[str, ...]] = ("column", "minimum")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        count, header, rows = metrics["cumulus.rows_below"]
        observed = f"{count} rows deleted more often than inserted" if count else "none"
        return give_verdict(count == 0, observed, header, rows, count=count)


class ExpectNetTablesToEqualLog(ReadableExpectation):
    """Expect that the net tables which stand for the log up to some epoch have each row as often as the log up to there. An earlier one, and the log between the
    two, may stand for that again, if it was proved as well.

    The batch has the columns ``relation``, ``row`` (JSON text) and :attr:`column`, bigint: below 0 for a row that one has more often, or less often.

    Args:
        column: the column that says so.
    """

    column: str = "_off_by"
    minimum: int = 0

    sentence: ClassVar[str] = "What remains of the relations, as it is kept, is what remains of the event log."
    metric_dependencies: ClassVar[tuple[str, ...]] = ("cumulus.rows_below",)
    success_keys: ClassVar[tuple[str, ...]] = ("column", "minimum")

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None, execution_engine: Any = None
    ) -> dict[str, Any]:
        count, header, rows = metrics["cumulus.rows_below"]
        observed = f"{count} rows of net tables are there more or less often than in the log" if count else "it is"
        return give_verdict(count == 0, observed, header, rows, count=count)


# The metrics behind the expectations: what a batch, a small table, says.


SAMPLE_ROWS = 20


def _batch(engine: PandasExecutionEngine, domain: dict[str, Any]) -> Any:
    frame, _, _ = engine.get_compute_domain(domain_kwargs=domain, domain_type=MetricDomainTypes.TABLE)
    return frame


class ComparisonMetric(TableMetricProvider):
    """The tables of one view, compared: the verdict on them (:class:`~cumulus_ops.validation.request.ViewVerdict`); None if the batch has no row
    for the view. Its cells are handles, so the tables are in memory for as long as this takes."""

    metric_name = "cumulus.comparison"
    value_keys = ("view",)

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:
        rows = _batch(execution_engine, metric_domain_kwargs).to_dict("records")
        mine = next((row for row in rows if row["view"] == metric_value_kwargs["view"]), None)
        return None if mine is None else judge(mine)


class RowsBelowMetric(TableMetricProvider):
    """Rows of the batch whose ``column`` is NULL or below ``minimum``: their number, and some of them as text."""

    metric_name = "cumulus.rows_below"
    value_keys = ("column", "minimum")

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:
        batch = _batch(execution_engine, metric_domain_kwargs)
        value = batch[metric_value_kwargs["column"]]
        wrong = batch[(value.isna() | (value < metric_value_kwargs["minimum"])).astype(bool)]
        sample = wrong.head(SAMPLE_ROWS).astype(object)
        rows = sample.where(sample.notna(), "NULL").values.tolist()
        return len(wrong), list(batch.columns), [[str(value) for value in row] for row in rows]


class VotedEpochsMetric(TableMetricProvider):
    """coordinator -> last epoch that it has voted to end, of a batch with these two columns."""

    metric_name = "cumulus.voted_epochs"

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any) -> dict[int, int]:
        batch = _batch(execution_engine, metric_domain_kwargs)
        return {int(c): int(e) for c, e in zip(batch["coordinator"], batch["voted_epoch"], strict=True)}
