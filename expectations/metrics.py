"""The metrics behind the expectations: each is one small Spark job over a batch."""

from __future__ import annotations

from typing import Any

from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.metrics.metric_provider import metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from expectations.comparison import SAMPLE_GROUPS, Comparison, compare

__all__ = ["ComparisonMetric", "RowsBelowMetric", "SealedEpochsMetric"]


def _batch(engine: SparkDFExecutionEngine, domain: dict[str, Any]) -> DataFrame:
    frame, _, _ = engine.get_compute_domain(domain_kwargs=domain, domain_type=MetricDomainTypes.TABLE)
    return frame


class ComparisonMetric(TableMetricProvider):
    """A :class:`~expectations.comparison.Comparison` of the batch with a temporary view of its session."""

    metric_name = "cumulus.comparison"
    value_keys = ("recomputation", "key_columns", "tolerances", "double_tolerance")

    @metric_value(engine=SparkDFExecutionEngine)  # type: ignore[untyped-decorator]
    def _spark(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Comparison:
        batch = _batch(execution_engine, metric_domain_kwargs)
        arguments = metric_value_kwargs
        recomputed = batch.sparkSession.table(arguments["recomputation"])
        keys, tolerances = arguments["key_columns"] or (), dict(arguments["tolerances"] or {})
        return compare(batch, recomputed, keys, tolerances, arguments["double_tolerance"])


class RowsBelowMetric(TableMetricProvider):
    """Rows of the batch whose ``column`` is NULL or below ``minimum``: their number, and some of them as text."""

    metric_name = "cumulus.rows_below"
    value_keys = ("column", "minimum")

    @metric_value(engine=SparkDFExecutionEngine)  # type: ignore[untyped-decorator]
    def _spark(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:
        batch = _batch(execution_engine, metric_domain_kwargs)
        value: Column = F.col(f"`{metric_value_kwargs['column']}`")
        wrong = batch.where(value.isNull() | (value < metric_value_kwargs["minimum"]))
        count = wrong.count()
        sample = wrong.limit(SAMPLE_GROUPS).collect() if count else []
        return count, batch.columns, [["NULL" if v is None else str(v) for v in row] for row in sample]


class SealedEpochsMetric(TableMetricProvider):
    """coordinator -> last sealed epoch, of a batch with these two columns."""

    metric_name = "cumulus.sealed_epochs"

    @metric_value(engine=SparkDFExecutionEngine)  # type: ignore[untyped-decorator]
    def _spark(cls, execution_engine: Any, metric_domain_kwargs: Any, **_: Any) -> dict[int, int]:
        rows = _batch(execution_engine, metric_domain_kwargs).select("coordinator", "sealed_epoch").collect()
        return {int(row[0]): int(row[1]) for row in rows}
