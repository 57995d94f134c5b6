"""Proving a snapshot: recompute every view from the log on Spark, compare, and keep the report as Data Docs.

One Great Expectations checkpoint per snapshot, over a file-backed context in the reports folder, so that the reports of
all epochs stay. What it judges are small tables: the groups, the vote, impossible rows of the log, and one with a row per view that has handles of
the tables to compare, which its expectation does.
"""

from __future__ import annotations

import importlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from cumulus_ops.project.small_files import scratch_folder
from cumulus_ops.project.verdicts import UNPROVED, outcome_of
from cumulus_ops.validation.judge import Compared
from cumulus_ops.validation.recompute import (
    MULTIPLICITY,
    OFF_BY,
    differing_rows,
    kept_tables,
    own_session,
    recompute_views,
    spark_column,
)
from cumulus_ops.validation.request import NetToProve, ValidationReport, ValidationRequest, ViewVerdict

__all__ = ["DATA_DOCS", "validate_snapshot", "verdicts_of"]


VIEWS, EPOCHS, LOG, GROUPS = "views", "coordinators", "event log", "groups"
#: Rows that were deleted more often than inserted, each as JSON text; so many of a relation are shown.
IMPOSSIBLE = pa.schema([("relation", pa.string()), ("row", pa.string()), (MULTIPLICITY, pa.int64())])
IMPOSSIBLE_ROWS = 1000
#: Rows of net tables that the log does not have as often, or has more often.
DIFFERING = pa.schema([("relation", pa.string()), ("row", pa.string()), (OFF_BY, pa.int64())])
DATA_DOCS = "cumulus_ops.validation.data_docs"  # imports Great Expectations, which takes seconds: meanwhile Spark works


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
    with scratch_folder() as folder:
        with ThreadPoolExecutor(1) as pool:
            imported = pool.submit(importlib.import_module, DATA_DOCS)
            session = own_session(spark)
            differing = [_read_differing(session, request, net) for net in request.nets]
            wrong = tuple(net for net, rows in zip(request.nets, differing, strict=True) if len(rows))
            files = {**request.log_files, **{net.relation: request.whole_log(net.relation) for net in wrong}}
            with kept_tables(session, request.relations, request.views, request.texts, files, request.epoch) as bases:
                impossible = [_read_impossible(name, base) for name, base in bases.items()]
                compared = recompute_views(session, request.views, request.relations, request.texts, folder, on_view)
            recomputed = time.monotonic()
            imported.result()
        result, page = _check(request, compared, pa.concat_tables([IMPOSSIBLE.empty_table(), *impossible]), differing)
    outcomes = [outcome for suite in result.run_results.values() for outcome in suite.results]
    verdicts = tuple(verdicts_of(result))
    statistics = {
        "views": len(request.views),
        "expectations": len(outcomes),
        "successful": sum(bool(outcome.success) for outcome in outcomes),
        "unproved": sum(v.outcome == UNPROVED for v in verdicts),
        "rows": request.rows,
        "recompute_s": round(recomputed - started, 3),
        "checkpoint_s": round(time.monotonic() - recomputed, 3),
    }
    failures = tuple(_list_failures(result))
    return ValidationReport(
        request.epoch,
        outcome_of([v.outcome for v in verdicts], failures),
        statistics,
        failures,
        page,
        time.monotonic() - started,
        verdicts,
        remarks=(request.remark,) if request.remark else (),
        unproved=tuple(f"view {v.view}: {v.observed}" for v in verdicts if v.outcome == UNPROVED),
        views=request.all_views or len(request.views),
        wrong_nets=wrong,
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


def _read_impossible(name: str, base: DataFrame) -> pa.Table:
    """The first rows of :data:`IMPOSSIBLE` of a base table."""
    columns = [spark_column(c) for c in base.columns if c != MULTIPLICITY]
    row = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
    wrong = base.where(F.col(MULTIPLICITY) < 0).limit(IMPOSSIBLE_ROWS)
    rows = wrong.select(F.lit(name).alias("relation"), row.alias("row"), MULTIPLICITY).collect()
    return pa.Table.from_pylist([r.asDict() for r in rows], IMPOSSIBLE)


def _read_differing(session: SparkSession, request: ValidationRequest, net: NetToProve) -> pa.Table:
    """The first rows of :data:`DIFFERING` of a net table."""
    relation = next(r for r in request.relations if r.name == net.relation)
    wrong = differing_rows(session, relation, net).limit(IMPOSSIBLE_ROWS)
    row = F.to_json(F.struct(*(spark_column(c.name) for c in relation.columns)), {"ignoreNullFields": "false"})
    name = f"{net.relation}, net table as of epoch {net.epoch}"
    rows = wrong.select(F.lit(name).alias("relation"), row.alias("row"), OFF_BY).collect()
    return pa.Table.from_pylist([r.asDict() for r in rows], DIFFERING)


def _log_rows(impossible: pa.Table, differing: Sequence[pa.Table]) -> pa.Table:
    """What the log's expectations judge: both, where the one has nothing to say of the other; that more or less are too many is all the same."""
    wrong = pa.concat_tables([DIFFERING.empty_table(), *differing])
    nothing = [pa.array(np.zeros(len(table), np.int64)) for table in (impossible, wrong)]
    off_by = pc.negate(pc.abs(wrong[OFF_BY]))
    wrong = wrong.drop_columns(OFF_BY).append_column(MULTIPLICITY, nothing[1]).append_column(OFF_BY, off_by)
    return pa.concat_tables([impossible.append_column(OFF_BY, nothing[0]), wrong])


def _check(
    request: ValidationRequest, compared: Sequence[Compared], impossible: pa.Table, differing: Sequence[pa.Table] = ()
) -> tuple[Any, Path]:
    """The checkpoint's result, and the page to open: that with the verdicts on the views."""
    import expectations
    from cumulus_ops.validation.data_docs import page_path, run_checkpoint

    voted = {"coordinator": list(request.voted_epochs), "voted_epoch": list(request.voted_epochs.values())}
    suites: dict[str, tuple[Any, Any]] = {
        EPOCHS: (expectations.epoch_suite(request.epoch, request.members), pa.table(voted)),
        LOG: (expectations.log_suite(), _log_rows(impossible, differing)),
        VIEWS: (expectations.views_suite([v.name for v in request.views]), [view.row() for view in compared]),
    }
    if request.groups is not None:
        suites[GROUPS] = (expectations.groups_suite(), request.groups)
    result = run_checkpoint(request.reports_folder, f"{request.project_name}, epoch {request.epoch}", suites)
    views = next(key for key, suite in result.run_results.items() if suite.suite_name == VIEWS)
    return result, page_path(request.reports_folder, views)


def _list_failures(result: Any) -> Iterator[str]:
    for suite in result.run_results.values():
        for outcome in suite.results:
            details = (outcome.result or {}).get("details") or {}
            # what is unproved has compared all it could, and found nothing wrong
            if not outcome.success and details.get("outcome") != UNPROVED:
                view = outcome.expectation_config.kwargs.get("view")
                yield f"{f'view {view}' if view else suite.suite_name}: {_explain(outcome)}"


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
