"""Proving a snapshot: recompute every view from the log on Spark, compare, and keep the report as Data Docs.

One Great Expectations checkpoint per snapshot, over a file-backed context in the reports folder, so that the reports of
all epochs stay. What it judges are small tables: the groups, the vote, impossible rows of the log, and one with a row per view that has handles of
the tables to compare, which its expectation does.
"""

from __future__ import annotations

import importlib
import json
import logging
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
import pyarrow as pa
from great_expectations.checkpoint import Checkpoint
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cumulus_ops.project.verdicts import UNPROVED, outcome_of
from cumulus_ops.validation.judge import Compared
from cumulus_ops.validation.recompute import MULTIPLICITY, base_table, net_table, own_session, recompute_views
from cumulus_ops.validation.request import ValidationReport, ValidationRequest, ViewToValidate, ViewVerdict
from m3.program import Relation

__all__ = ["SnapshotCheckpoint", "frame", "quiet", "run_checkpoint", "used_columns", "validate_snapshot", "verdicts_of"]


# How small tables reach Great Expectations: as pandas DataFrames, each to its own suite.


class SnapshotCheckpoint(Checkpoint):
    """A checkpoint whose validation definitions each get their own DataFrame: ``batch_parameters`` is keyed by their
    names, where Great Expectations would hand one DataFrame to all of them."""

    validation_definitions: list[gx.ValidationDefinition]

    def _run_validation_definitions(self, batch_parameters: dict[str, Any], **options: Any) -> Any:
        results: dict[Any, Any] = {}
        everything: list[gx.ValidationDefinition] = self.validation_definitions
        for definition in everything:
            self.validation_definitions = [definition]
            one = {"dataframe": batch_parameters[definition.name]}
            results.update(super()._run_validation_definitions(batch_parameters=one, **options))
        self.validation_definitions = everything
        return results


def frame(rows: pa.Table | Sequence[dict[str, Any]]) -> pd.DataFrame:
    """A table, or rows, as a DataFrame; Arrow's columns stay Arrow's."""
    return rows.to_pandas(types_mapper=pd.ArrowDtype) if isinstance(rows, pa.Table) else pd.DataFrame(list(rows))


SOURCE, CHECKPOINT = "verdicts", "proof"  # older reports may lie in the folder, by other names
VIEWS, EPOCHS, LOG, GROUPS = "views", "coordinators", "event log", "groups"
IMPOSSIBLE_ROWS = 1000
EXPECTATIONS = "expectations"  # imports Great Expectations, which takes seconds: meanwhile Spark works


@dataclass(frozen=True)
class _Found:
    """What the checkpoint judges."""

    views: list[Compared]
    impossible: pa.Table


def validate_snapshot(
    spark: SparkSession, request: ValidationRequest, on_view: Callable[[int, str], None] = lambda _done, _view: None
) -> ValidationReport:
    """Compares all views of a snapshot with their recomputation.

    Args:
        spark: a session, classic or Connect; its settings and temporary views are left alone. It must be able to read
            the log files.
        request: what to validate.
        on_view: called with the number of views that are done, and the name of the last.

    Returns:
        What was found; a wrong snapshot is a report, not an exception.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cumulus-validation-") as folder:
        with ThreadPoolExecutor(1) as pool:
            imported = pool.submit(importlib.import_module, EXPECTATIONS)
            found = _recomputed(own_session(spark), request, Path(folder), on_view)
            recomputed = time.monotonic()
            imported.result()
        with quiet():
            result = _checked(request, found)
    outcomes = [outcome for suite in result.run_results.values() for outcome in suite.results]
    verdicts = tuple(verdicts_of(result))
    statistics = {
        "views": len(request.views),
        "expectations": len(outcomes),
        "successful": sum(bool(outcome.success) for outcome in outcomes),
        "unproved": sum(v.outcome == UNPROVED for v in verdicts),
        "recompute_s": round(recomputed - started, 3),
        "checkpoint_s": round(time.monotonic() - recomputed, 3),
    }
    failures = tuple(_failures(result))
    return ValidationReport(
        request.epoch,
        outcome_of([v.outcome for v in verdicts], failures),
        statistics,
        failures,
        _page(request, result),
        time.monotonic() - started,
        verdicts,
        unproved=tuple(f"view {v.view}: {v.observed}" for v in verdicts if v.outcome == UNPROVED),
        views=request.all_views or len(request.views),
    )


def verdicts_of(result: Any) -> Iterator[ViewVerdict]:
    """What the expectations about views have found. One that could not be evaluated, which is a failure besides, has compared nothing."""
    for suite in result.run_results.values():
        for outcome in suite.results:
            view = outcome.expectation_config.kwargs.get("view")
            if view is None:
                continue
            found: Mapping[str, Any] = outcome.result or {}
            details = found.get("details") or {}
            observed = str(found.get("observed_value", "it could not be evaluated"))
            lines = tuple(tuple(line) for line in details.get("table") or ())
            yield ViewVerdict(view, str(details.get("outcome", UNPROVED)), observed, lines)


def _recomputed(
    session: SparkSession, request: ValidationRequest, folder: Path, on_view: Callable[[int, str], None]
) -> _Found:
    """The rows of all views, recomputed over base tables that are read once and kept meanwhile."""
    bases = {
        r.name: base_table(session, r, request.log_files.get(r.name, ()), request.epoch)
        .select(*columns, MULTIPLICITY)
        .persist()
        for r, columns in used_columns(request.relations, request.views, request.texts)
    }
    try:
        for name, base in bases.items():
            net_table(base, name)
        impossible = [_impossible(name, base) for name, base in bases.items()]
        return _Found(
            recompute_views(session, request.views, request.relations, request.texts, folder, on_view),
            pa.concat_tables(impossible or [_no_rows()]),
        )
    finally:
        for base in bases.values():
            base.unpersist()


def used_columns(
    relations: Sequence[Relation], views: Sequence[ViewToValidate], texts: Mapping[str, str]
) -> Iterator[tuple[Relation, list[str]]]:
    """The relations that a view may read, with the columns it may: those whose names occur in some view's text. A
    table's projection has the same rows as the table, as far as these columns show them."""
    text = "\n".join([*texts.values(), *(view.sql for view in views)]).lower()
    unknown = any(view.recomputation is not None for view in views)
    everything = unknown or re.search(r"(select|distinct|all|,|\.)\s*\*|\bnatural\b", text)
    for relation in relations:
        if relation.name.lower() in text:
            wanted = [
                c.name for c in relation.columns if everything or c.name.lower() in text or c.name in relation.key
            ]
            yield relation, wanted or [relation.columns[0].name]


def _no_rows() -> pa.Table:
    return pa.table(
        {
            "relation": pa.array([], pa.string()),
            "row": pa.array([], pa.string()),
            MULTIPLICITY: pa.array([], pa.int64()),
        }
    )


def _impossible(name: str, base: DataFrame) -> pa.Table:
    """(relation, row as JSON text, multiplicity) of rows that were deleted more often than inserted; the first 1000."""
    columns = [F.col(f"`{c}`") for c in base.columns if c != MULTIPLICITY]
    row = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
    wrong = base.where(F.col(MULTIPLICITY) < 0).limit(IMPOSSIBLE_ROWS)
    rows = wrong.select(F.lit(name).alias("relation"), row.alias("row"), MULTIPLICITY).collect()
    return pa.Table.from_pylist([r.asDict() for r in rows], _no_rows().schema)


def _checked(request: ValidationRequest, found: _Found) -> Any:
    """The checkpoint's result; its pages are among the reports."""
    import expectations

    sealed = {"coordinator": list(request.sealed_epochs), "sealed_epoch": list(request.sealed_epochs.values())}
    suites: dict[str, tuple[Any, Any]] = {
        EPOCHS: (expectations.epoch_suite(request.epoch, request.members), pa.table(sealed)),
        LOG: (expectations.log_suite(), found.impossible),
        VIEWS: (expectations.views_suite([v.name for v in request.views]), [view.row() for view in found.views]),
    }
    if request.groups is not None:
        suites[GROUPS] = (expectations.groups_suite(), request.groups)
    return run_checkpoint(request.reports_folder, f"{request.project_name}, epoch {request.epoch}", suites)


def run_checkpoint(
    folder: Path, name: str, suites: Mapping[str, tuple[Any, pa.Table | Sequence[Mapping[str, Any]]]]
) -> Any:
    """Run a checkpoint over small tables; its pages are in the folder.

    Args:
        folder: keeps the reports of all runs, and which suites there were.
        name: what the run is called in the reports.
        suites: name -> the suite, and the rows that it judges. The names should be the same for all runs of a folder.
    """
    import expectations  # noqa: F401  first: it switches usage statistics off

    # isort: split
    import great_expectations as gx
    from great_expectations.checkpoint import UpdateDataDocsAction
    from great_expectations.core.run_identifier import RunIdentifier

    from cumulus_ops.validation.reports import use_plain_site

    folder.mkdir(parents=True, exist_ok=True)
    context = gx.get_context(mode="file", project_root_dir=str(folder))
    context.variables.progress_bars = {"globally": False}
    use_plain_site(context, folder)
    source = context.data_sources.add_or_update_pandas(SOURCE)
    definitions = [_definition(context, source, name, suite) for name, (suite, _) in suites.items()]
    checkpoint = SnapshotCheckpoint(
        name=CHECKPOINT, validation_definitions=definitions, actions=[UpdateDataDocsAction(name="data docs")]
    )
    context.checkpoints.add_or_update(checkpoint)
    run = RunIdentifier(run_name=name, run_time=datetime.now(UTC))
    return checkpoint.run(batch_parameters={n: frame(rows) for n, (_, rows) in suites.items()}, run_id=run)


def _page(request: ValidationRequest, result: Any) -> Path:
    """The page to open: the verdicts on the views."""
    from cumulus_ops.validation.reports import page_path

    return page_path(
        request.reports_folder, next(key for key, suite in result.run_results.items() if suite.suite_name == VIEWS)
    )


def _definition(context: Any, source: Any, name: str, suite: Any) -> Any:
    import great_expectations as gx

    batch = source.add_dataframe_asset(name).add_batch_definition_whole_dataframe("whole")
    suite = context.suites.add_or_update(suite)
    return context.validation_definitions.add_or_update(gx.ValidationDefinition(name=name, data=batch, suite=suite))


def _failures(result: Any) -> Iterator[str]:
    for suite in result.run_results.values():
        for outcome in suite.results:
            if not outcome.success and not _is_unproved(outcome):
                view = outcome.expectation_config.kwargs.get("view")
                yield f"{f'view {view}' if view else suite.suite_name}: {_explain(outcome)}"


def _is_unproved(outcome: Any) -> bool:
    """Whether an expectation has compared all it could, found nothing wrong, and left something."""
    return ((outcome.result or {}).get("details") or {}).get("outcome") == UNPROVED


def _explain(outcome: Any) -> str:
    """What was observed and its first example; an expectation that could not be evaluated has failed, too."""
    found: Mapping[str, Any] = outcome.result or {}
    if "observed_value" not in found:
        raised = json.dumps(outcome.exception_info, default=str)
        message = re.search(r'"exception_message": "(.*?)(?<!\\)"', raised)
        return f"{outcome.expectation_config.type} could not be evaluated: {message[1] if message else raised}"
    details = found.get("details", {})
    first = next(iter(details.get("table", ())), None)
    example = "; ".join(f"{n}: {v}" for n, v in zip(details["header"], first, strict=True)) if first else ""
    return f"{found['observed_value']}" + (f" ({example})" if example else "")


@contextmanager
def quiet() -> Iterator[None]:
    """Great Expectations reports at INFO what our report says better."""
    logger = logging.getLogger("great_expectations")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
