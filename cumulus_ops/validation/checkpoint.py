"""Proving a snapshot: recompute every view from the log on Spark, compare, and keep the report as Data Docs.

One Great Expectations checkpoint per snapshot, over a file-backed context in the reports folder, so that the reports of
all epochs stay. Importing this module imports Great Expectations and Spark.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import expectations  # first: it switches usage statistics off

# isort: split
import great_expectations as gx
import pyarrow as pa
import pyarrow.parquet as pq
from great_expectations.checkpoint import Checkpoint, CheckpointResult, UpdateDataDocsAction
from great_expectations.core.run_identifier import RunIdentifier
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cumulus_ops.errors import InputProblem
from cumulus_ops.validation.recompute import MULTIPLICITY, base_table, net_table, own_session, recompute
from cumulus_ops.validation.request import ValidationReport, ValidationRequest, ViewToValidate
from m3.program import Relation

__all__ = ["SnapshotCheckpoint", "validate_snapshot"]

SOURCE, CHECKPOINT = "cumulus", "snapshot"
EPOCHS, LOG, GROUPS = "coordinators", "event log", "groups"
Suites = dict[str, tuple[gx.ExpectationSuite, DataFrame]]


class SnapshotCheckpoint(Checkpoint):
    """A checkpoint whose validation definitions each get their own DataFrame: ``batch_parameters`` is keyed by their
    names, where Great Expectations would hand one DataFrame to all of them."""

    validation_definitions: list[gx.ValidationDefinition]

    def _run_validation_definitions(self, batch_parameters: dict[str, Any], **options: Any) -> Any:
        results: dict[Any, Any] = {}
        everything: list[gx.ValidationDefinition] = self.validation_definitions
        for definition in everything:
            self.validation_definitions = [definition]
            frame = {"dataframe": batch_parameters[definition.name]}
            results.update(super()._run_validation_definitions(batch_parameters=frame, **options))
        self.validation_definitions = everything
        return results


def validate_snapshot(spark: SparkSession, request: ValidationRequest) -> ValidationReport:
    """Compares all views of a snapshot with their recomputation.

    Args:
        spark: a session, classic or Connect; its settings and temporary views are left alone. It must be able to read
            the log files and the snapshots' files.
        request: what to validate.

    Returns:
        What was found; a wrong snapshot is a report, not an exception.

    Raises:
        InputProblem: a view's SQL text cannot be run on the relations.
    """
    started = time.monotonic()
    with _quiet(), _prepared(own_session(spark), request) as suites:
        prepared = time.monotonic()
        context = _context(request.reports_folder)
        result = _run(context, suites, request)
    index = _docs_index(request.reports_folder)
    failures = tuple(_failures(result, request.epoch))
    statistics = _statistics(result, request, prepared - started, time.monotonic() - prepared)
    return ValidationReport(
        request.epoch, bool(result.success), statistics, failures, index, time.monotonic() - started
    )


@contextmanager
def _prepared(session: SparkSession, request: ValidationRequest) -> Iterator[Suites]:
    """The base tables, cached, with the suites and batches over them."""
    bases = {
        r.name: base_table(session, r, request.log_files.get(r.name, ()), request.epoch)
        .select(*columns, MULTIPLICITY)
        .persist()
        for r, columns in _used(request)
    }
    try:
        for name, base in bases.items():
            net_table(base, name)
        yield {
            EPOCHS: (expectations.epoch_suite(request.epoch, request.coordinators), _sealed(session, request)),
            LOG: (expectations.log_suite(), _multiplicities(session, bases)),
            **_groups(session, request),
            **{f"view {v.name}": _view_batch(session, v, request) for v in request.views},
        }
    finally:
        for base in bases.values():
            base.unpersist()


def _used(request: ValidationRequest) -> Iterator[tuple[Relation, list[str]]]:
    """The relations that a view may read, with the columns it may: those whose names occur in some view's text. A
    table's projection has the same rows as the table, as far as these columns show them."""
    text = "\n".join(view.sql for view in request.views).lower()
    unknown = any(view.recomputation is not None for view in request.views)
    everything = unknown or re.search(r"(select|distinct|all|,|\.)\s*\*|\bnatural\b", text)
    for relation in request.relations:
        if relation.name.lower() in text:
            wanted = [
                c.name for c in relation.columns if everything or c.name.lower() in text or c.name in relation.key
            ]
            yield relation, wanted or [relation.columns[0].name]


def _sealed(session: SparkSession, request: ValidationRequest) -> DataFrame:
    rows = sorted((int(c), int(e)) for c, e in request.sealed_epochs.items())
    return session.createDataFrame(rows, "coordinator int, sealed_epoch int")


def _groups(session: SparkSession, request: ValidationRequest) -> Suites:
    if request.groups is None:
        return {}
    return {GROUPS: (expectations.groups_suite(), _read(session, request.groups, GROUPS, request))}


def _multiplicities(session: SparkSession, bases: Mapping[str, DataFrame]) -> DataFrame:
    """(relation, row as JSON text, multiplicity) of all base tables."""
    batch = session.createDataFrame([], f"relation string, row string, {MULTIPLICITY} bigint")
    for name, base in bases.items():
        columns = [F.col(f"`{c}`") for c in base.columns if c != MULTIPLICITY]
        row = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
        batch = batch.unionAll(base.select(F.lit(name).alias("relation"), row.alias("row"), MULTIPLICITY))
    return batch


def _view_batch(
    session: SparkSession, view: ViewToValidate, request: ValidationRequest
) -> tuple[gx.ExpectationSuite, DataFrame]:
    recomputation = f"{view.name}_recomputed"
    try:
        _recomputed(session, view, request).createOrReplaceTempView(recomputation)
    except Exception as problem:  # analysis errors have other classes on Connect
        raise InputProblem(
            f"Spark cannot run the view {view.name}: {str(problem).splitlines()[0]}",
            kind="view-not-runnable",
            place=view.name,
            hint="run its text on Spark SQL in ANSI mode",
        ) from problem
    suite = expectations.view_suite(view.name, recomputation, view.key_columns, view.tolerances, view.double_tolerance)
    return suite, _read(session, view.snapshot, view.name, request)


def _recomputed(session: SparkSession, view: ViewToValidate, request: ValidationRequest) -> DataFrame:
    if view.recomputation is not None:
        return _read(session, view.recomputation, f"{view.name}-recomputed", request)
    return recompute(session, view.sql)


def _read(session: SparkSession, rows: pa.Table | Path, name: str, request: ValidationRequest) -> DataFrame:
    """Rows as a DataFrame, by way of a file that stays with the reports: shipping rows over Connect is slow."""
    if isinstance(rows, Path):
        return session.read.parquet(str(rows))
    path = request.reports_folder / "snapshots" / f"epoch-{request.epoch:06d}" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path)
    return session.read.parquet(str(path))


def _context(folder: Path) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    context = gx.get_context(mode="file", project_root_dir=str(folder))
    context.variables.progress_bars = {"globally": False}
    return context


def _run(context: Any, suites: Suites, request: ValidationRequest) -> CheckpointResult:
    with suppress(gx.exceptions.DataContextError):  # the last one may name a view that is in error now, and has no data
        context.checkpoints.delete(CHECKPOINT)
    source = context.data_sources.add_or_update_spark(SOURCE, persist=False)
    definitions = [_definition(context, source, name, suite) for name, (suite, _) in suites.items()]
    checkpoint = SnapshotCheckpoint(
        name=CHECKPOINT, validation_definitions=definitions, actions=[UpdateDataDocsAction(name="data docs")]
    )
    context.checkpoints.add_or_update(checkpoint)
    run = RunIdentifier(run_name=f"{request.project_name}, epoch {request.epoch}", run_time=datetime.now(UTC))
    return checkpoint.run(batch_parameters={name: frame for name, (_, frame) in suites.items()}, run_id=run)


def _definition(context: Any, source: Any, name: str, suite: gx.ExpectationSuite) -> gx.ValidationDefinition:
    asset = source.add_dataframe_asset(name)
    batch = asset.add_batch_definition_whole_dataframe("whole")
    suite = context.suites.add_or_update(suite)
    return context.validation_definitions.add_or_update(gx.ValidationDefinition(name=name, data=batch, suite=suite))


def _docs_index(folder: Path) -> Path:
    return folder / "gx" / "uncommitted" / "data_docs" / "local_site" / "index.html"


def _failures(result: CheckpointResult, epoch: int) -> Iterator[str]:
    for suite in result.run_results.values():
        for outcome in suite.results:
            if not outcome.success:
                yield f"{suite.suite_name}: {_explain(outcome)}"


def _explain(outcome: Any) -> str:
    """What was observed and its first example; an expectation that could not be evaluated has failed, too."""
    found = outcome.result or {}
    if "observed_value" not in found:
        raised = json.dumps(outcome.exception_info, default=str)
        message = re.search(r'"exception_message": "(.*?)(?<!\\)"', raised)
        return f"{outcome.expectation_config.type} could not be evaluated: {message[1] if message else raised}"
    details = found.get("details", {})
    first = next(iter(details.get("table", ())), None)
    example = "; ".join(f"{n}: {v}" for n, v in zip(details["header"], first, strict=True)) if first else ""
    return f"{found['observed_value']}" + (f" ({example})" if example else "")


def _statistics(result: CheckpointResult, request: ValidationRequest, *seconds: float) -> dict[str, Any]:
    outcomes = [outcome for suite in result.run_results.values() for outcome in suite.results]
    return {
        "views": len(request.views),
        "expectations": len(outcomes),
        "successful": sum(bool(outcome.success) for outcome in outcomes),
        "prepare_s": round(seconds[0], 3),
        "checkpoint_s": round(seconds[1], 3),
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Great Expectations reports at INFO what our report says better."""
    logger = logging.getLogger("great_expectations")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
