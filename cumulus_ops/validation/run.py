"""Validating a snapshot of a running project and remembering the outcome."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cumulus_ops.catalog import Validation
from cumulus_ops.engine import Runtime
from cumulus_ops.query import read_view
from cumulus_ops.validation.request import ValidationReport, ValidationRequest, ViewToValidate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["validate", "validation_request"]


def validate(rt: Runtime, epoch: int) -> ValidationReport:
    """Compare the snapshot of ``epoch`` with full recomputation on Spark, and record the outcome in the catalog.

    Raises:
        NotYet: the epoch has no snapshot.
    """
    from cumulus_ops.validation.checkpoint import validate_snapshot

    report = validate_snapshot(_session(rt), validation_request(rt, epoch))
    outcome = Validation(epoch, report.success, report.failures, str(report.docs_index), report.seconds)
    rt.catalog.record_validation(outcome)
    return report


def validation_request(rt: Runtime, epoch: int) -> ValidationRequest:
    """What to compare: all rows of all views as of ``epoch``, against the log up to it."""
    files: dict[str, list[Path]] = {}
    for file in rt.catalog.log_files(epoch=epoch):
        files.setdefault(file.relation, []).append(rt.project.state / file.path)
    views = tuple(
        ViewToValidate(
            view.name,
            view.sql or "",
            tuple(c.name for c in view.columns if c.expression.__class__.__name__ == "Var"),
            read_view(rt, view.name, as_of=epoch, ordered=False),
        )
        for view in rt.program.views
    )
    seals = rt.catalog.seals()
    sealed = {c: max(e for e, who in seals.items() if c in who) for c in range(rt.project.coordinators)}
    return ValidationRequest(
        rt.project.name, epoch, views, rt.program.relations, files, rt.project.reports, rt.project.coordinators, sealed
    )


def _session(rt: Runtime) -> SparkSession:
    """The executor's session if it has one, so that a process keeps to one."""
    session = getattr(rt.executor, "session", None)
    if session is None:
        from cumulus_ops.engine.spark import spark_session

        session = spark_session(rt.project.executor)
    return session
