"""The metrics behind the expectations: what a batch, a small table, says."""

from __future__ import annotations

from typing import Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import PandasExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider

from cumulus_ops.validation.judge import judge

__all__ = ["ComparisonMetric", "RowsBelowMetric", "SealedEpochsMetric"]

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


class SealedEpochsMetric(TableMetricProvider):
    """coordinator -> last sealed epoch, of a batch with these two columns."""

    metric_name = "cumulus.sealed_epochs"

    @metric_value(engine=PandasExecutionEngine)  # type: ignore[untyped-decorator]
    def _pandas(cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any) -> dict[int, int]:
        batch = _batch(execution_engine, metric_domain_kwargs)
        return {int(c): int(e) for c, e in zip(batch["coordinator"], batch["sealed_epoch"], strict=True)}
