"""What each task does, as plain functions over a project folder: no Airflow in here, so that a test can call them.

All are idempotent: they ask the catalog what is left to do. Heavy imports are inside the functions, because parsing a
DAG file imports this module.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cumulus_ops.config import Project, load_project
from cumulus_ops.errors import CumulusError, NotYet

if TYPE_CHECKING:
    from cumulus_ops.snapshot import BatchReport, Runtime
    from cumulus_ops.validation import ValidationReport

__all__ = [
    "Published",
    "SnapshotInvalid",
    "apply_epoch",
    "commit_sealed",
    "plan_epochs",
    "publish_committed",
    "seal_epoch",
    "validate_committed",
]

log = logging.getLogger(__name__)
POLL_S = 0.5
COMMITTED = ("committed", "validated", "failed")


class SnapshotInvalid(CumulusError):
    """A snapshot differs from full recomputation, and the project's policy is to fail."""


class Published(NamedTuple):
    """What was published leaves to do, and to say: ``awaiting`` are the epochs that await validation, ``in_error`` the views that
    are in error in the newest snapshot: name -> since which epoch, and why."""

    awaiting: list[int]
    in_error: dict[str, str]


@contextmanager
def _running(folder: str, executor: str | None) -> Iterator[tuple[Project, Runtime]]:
    from cumulus_ops.snapshot import initialise, open_runtime

    project = load_project(Path(folder))
    initialise(project)
    with open_runtime(project, executor or None) as runtime:
        yield project, runtime


def apply_epoch(
    folder: str,
    coordinator: int,
    epoch: int,
    *,
    until: datetime.datetime | None = None,
    leave: int = 0,
    executor: str | None = None,
    patience_s: float = 30.0,
) -> dict[str, int] | None:
    """Apply what lands for ``coordinator`` while it is in ``epoch``.

    Args:
        folder: the project.
        coordinator: whose drops.
        epoch: the epoch to work in; one that is sealed already leaves nothing to do.
        until: poll for new drops until this moment, then stop; None takes what is there and stops.
        leave: how many pending drops to leave for later epochs.
        executor: overrides the project's executor.
        patience_s: how long to wait for the coordinator to reach ``epoch`` (only without ``until``).

    Returns:
        Sums over the batches (batches, events, inserts, deletes, quarantined, duplicates, set_aside); None when the coordinator
        is still in an earlier epoch.
    """
    from cumulus_ops.snapshot import current_epoch, run_minibatch, settle, settle_if_due

    totals = dict.fromkeys(("batches", "events", "inserts", "deletes", "quarantined", "duplicates", "set_aside"), 0)
    with _running(folder, executor) as (_, runtime):
        if until is None and not _wait_until(lambda: current_epoch(runtime, coordinator) >= epoch, patience_s):
            return None
        while current_epoch(runtime, coordinator) <= epoch:
            is_over = until is None or _now() >= until
            report = run_minibatch(runtime, coordinator, _next_drops(runtime, coordinator, until, leave))
            if report is not None:
                log.info("applied %s", report)
                _add(totals, report)
            elif is_over:
                break
            else:
                settle_if_due(runtime)
                time.sleep(POLL_S)
        settle(runtime)
    return totals


def seal_epoch(folder: str, coordinator: int, epoch: int, *, patience_s: float = 30.0) -> list[int]:
    """Seal ``epoch``, and earlier ones that a failed run left open, waiting up to ``patience_s`` for the token.

    Returns:
        The epochs that are sealed now and were to be; empty when the token did not come.
    """
    from cumulus_ops.snapshot import current_epoch, seal

    with _running(folder, "inprocess") as (_, runtime):

        def seal_all() -> bool:
            while (here := current_epoch(runtime, coordinator)) <= epoch:
                try:
                    seal(runtime, coordinator, here)
                except NotYet:
                    return False
            return True

        first = min(epoch, current_epoch(runtime, coordinator))
        return list(range(first, epoch + 1)) if _wait_until(seal_all, patience_s) else []


def commit_sealed(folder: str, *, executor: str | None = None) -> list[int]:
    """Correct and checkpoint every epoch that all coordinators sealed, in order; returns the epochs done now."""
    from cumulus_ops.snapshot import commit, sealed, status

    done: list[int] = []
    with _running(folder, executor) as (_, runtime):
        committed = [e.epoch for e in status(runtime).epochs if e.state in COMMITTED]
        epoch = max(committed, default=-1) + 1
        while sealed(runtime, epoch):
            report = commit(runtime, epoch)
            log.info("snapshot %s", report)
            for batch in report.without:
                log.warning("the snapshot of epoch %d is without %s", epoch, batch)
            done.append(epoch)
            epoch += 1
    return done


def publish_committed(folder: str) -> Published:
    """Publish every snapshot that is not published yet, oldest first. Views in error are no failure: they are said."""
    from cumulus_ops.query import newest_errors
    from cumulus_ops.snapshot import awaiting, publish, to_validate

    with _running(folder, "inprocess") as (_, runtime):
        for epoch in awaiting(runtime, "publish"):
            log.info("epoch %d published: %s", epoch, publish(runtime, epoch))
        _warn_of_expired(runtime, "publish")
        errors = {e.view: str(e) for e in newest_errors(runtime)}
        for view, reason in errors.items():
            log.warning("view %s is in error, and not published, %s", view, reason)
        return Published(list(to_validate(runtime)), errors)


def _warn_of_expired(runtime: Runtime, consumer: str) -> None:
    late = [str(epoch) for epoch, missed in runtime.catalog.expired().items() if consumer in missed]
    if late:
        log.warning("expired before `%s` came to them: the snapshots of epochs %s", consumer, ", ".join(late))


def validate_committed(folder: str) -> dict[int, bool]:
    """Validate every snapshot that is due by the project's settings and not validated yet, oldest first; those that have
    expired are left out.

    Returns:
        epoch -> whether it passed.

    Raises:
        SnapshotInvalid: one did not pass and the project's policy is ``fail``.
    """
    from cumulus_ops.snapshot import to_validate, validate
    from cumulus_ops.snapshot.notices import write_notices

    with _running(folder, None) as (project, runtime):
        settings, names = project.validation, [view.name for view in runtime.program.views]
        reports = [validate(runtime, e, settings.chosen(names, e)) for e in to_validate(runtime)]
        write_notices(runtime)  # without publishing, this is where reading has found views in error
        _warn_of_expired(runtime, "validate")
    for report in reports:
        log.info("validation %s", report)
    failed = [report for report in reports if not report.success]
    if failed and settings.policy == "fail":
        raise _invalid(failed, len(reports))
    return {report.epoch: report.success for report in reports}


def plan_epochs(folder: str, coordinators: int, first: int | None, epochs: int) -> list[dict[str, object]]:
    """Spread the drops that wait now over ``epochs`` epochs.

    Returns:
        Per epoch: ``epoch`` and ``leave``, the number of pending drops each coordinator leaves for later epochs.
    """
    from cumulus_ops.snapshot import current_epoch

    with _running(folder, "inprocess") as (_, runtime):
        here = min(current_epoch(runtime, c) for c in range(coordinators))
        pending = [len(_pending(runtime, c)) for c in range(coordinators)]
    begin = max(here, first if first is not None else here)
    last = begin + epochs - 1
    span = last - here + 1
    return [{"epoch": e, "leave": [count * (last - e) // span for count in pending]} for e in range(here, last + 1)]


def _invalid(failed: list[ValidationReport], total: int) -> SnapshotInvalid:
    epochs = ", ".join(str(report.epoch) for report in failed)
    lines = [f"epoch {report.epoch}: {failure}" for report in failed for failure in report.failures]
    return SnapshotInvalid(
        f"{len(failed)} of {total} snapshots differ from full recomputation (epoch {epochs}):\n  " + "\n  ".join(lines),
        kind="snapshot-invalid",
        place=str(failed[0].docs_index),
        hint="open the report; the table of differing groups shows expected and maintained values",
    )


def _next_drops(runtime: Runtime, coordinator: int, until: datetime.datetime | None, leave: int) -> list[str]:
    """The names of the drops to take: those that landed before ``until``, but for the last ``leave`` that are pending."""
    pending = _pending(runtime, coordinator)
    if until is not None:
        pending = [drop for drop in pending if _landed_at(drop) < until]
    return [drop.name for drop in pending[: max(0, len(pending) - leave)]]


def _landed_at(drop: Path) -> datetime.datetime:
    """When a drop's folder got its name: the inode's change time, which a rename sets."""
    return datetime.datetime.fromtimestamp(drop.stat().st_ctime, datetime.UTC)


def _pending(runtime: Runtime, coordinator: int) -> list[Path]:
    from cumulus_ops.eventlog import pending_drops

    return list(pending_drops(runtime.project, runtime.catalog, coordinator))


def _add(totals: dict[str, int], report: BatchReport) -> None:
    totals["batches"] += 1
    totals["set_aside"] += len(report.set_aside)
    for name in totals.keys() - {"batches", "set_aside"}:
        totals[name] += getattr(report, name)


def _wait_until(condition: Callable[[], bool], patience_s: float) -> bool:
    """Poll ``condition``; False when it did not become true in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)
    return True


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
