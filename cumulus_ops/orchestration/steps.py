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
from cumulus_ops.rhythm import Rhythm

if TYPE_CHECKING:
    from cumulus_ops.catalog import Boundary
    from cumulus_ops.eventlog import Delivery
    from cumulus_ops.snapshot import BatchReport, Runtime
    from cumulus_ops.validation import ValidationReport

__all__ = [
    "Published",
    "Sealed",
    "SnapshotInvalid",
    "apply_epoch",
    "apply_scheduled",
    "commit_sealed",
    "plan_epochs",
    "publish_committed",
    "seal_epoch",
    "seal_scheduled",
    "validate_committed",
]

log = logging.getLogger(__name__)
POLL_S = 0.5
TOTALS = ("batches", "events", "inserts", "deletes", "quarantined", "duplicates", "set_aside")
COMMITTED = ("committed", "validated", "failed")


class SnapshotInvalid(CumulusError):
    """A snapshot differs from full recomputation, and the project's policy is to fail."""


class Sealed(NamedTuple):
    """What a seal has done: ``epochs`` are sealed by the coordinator; ``complete`` are all epochs that every member has sealed, and that await
    their snapshots."""

    epochs: list[int]
    complete: list[int]


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
    leave: int = 0,
    executor: str | None = None,
    patience_s: float = 30.0,
) -> dict[str, int] | None:
    """Apply what has landed for ``coordinator``, in ``epoch``, whatever time it is.

    Args:
        folder: the project.
        coordinator: whose drops.
        epoch: the epoch to work in; one that is sealed already leaves nothing to do.
        leave: how many pending drops to leave for later epochs.
        executor: overrides the project's executor.
        patience_s: how long to wait for the coordinator to reach ``epoch``.

    Returns:
        Sums over the batches (batches, events, inserts, deletes, quarantined, duplicates, set_aside); None when the coordinator
        is still in an earlier epoch.
    """
    from cumulus_ops.snapshot import run_minibatch, settle

    totals = dict.fromkeys(TOTALS, 0)
    with _running(folder, executor) as (_, runtime):
        if not _wait_until(lambda: not _is_in(runtime, coordinator, epoch - 1), patience_s):
            return None
        while _is_in(runtime, coordinator, epoch):
            pending = _pending(runtime, coordinator)
            report = run_minibatch(runtime, coordinator, [d.name for d in pending[: max(0, len(pending) - leave)]])
            if report is None:
                break
            log.info("applied %s", report)
            _add(totals, report)
        settle(runtime)
    return totals


def apply_scheduled(folder: str, coordinator: int, moment: datetime.datetime) -> dict[str, int]:
    """Apply what lands for ``coordinator`` while it is in the epoch of a moment: until that ends by the clock, or early.

    What landed before an epoch's boundary belongs to it. Of an epoch that ends early, only what is appended does. An earlier epoch
    that a failed run has left open gets what is its, and is sealed first.

    Returns:
        Sums over the batches, as of :func:`apply_epoch`.
    """
    from cumulus_ops.snapshot import current_epoch, fence_the_gone, run_minibatch, settle, settle_if_due

    totals = dict.fromkeys(TOTALS, 0)
    with _running(folder, None) as (project, runtime):
        rhythm = Rhythm.of(project)
        epoch = runtime.catalog.epoch_at(coordinator, moment, rhythm)
        while _is_in(runtime, coordinator, epoch):
            here = current_epoch(runtime, coordinator)
            boundary, last = (runtime.catalog.boundary(coordinator, e, rhythm) for e in (here, epoch))
            waiting = [] if boundary.is_early else _pending(runtime, coordinator)
            landed = [drop.name for drop in waiting if drop.arrived < boundary.ends_at]
            report = run_minibatch(runtime, coordinator, landed)
            if report is not None:
                log.info("applied %s", report)
                _add(totals, report)
            elif here < epoch and _is_over(boundary) and _sealed(runtime, coordinator, here):
                continue
            elif _is_over(last):
                break
            else:
                settle_if_due(runtime)
                fence_the_gone(runtime, coordinator)
                time.sleep(POLL_S)
        settle(runtime)
    return totals


def _is_over(boundary: Boundary) -> bool:
    return boundary.is_early or _now() >= boundary.ends_at


def _sealed(runtime: Runtime, coordinator: int, epoch: int) -> bool:
    """Seal an epoch; False while the token is elsewhere."""
    from cumulus_ops.snapshot import seal

    try:
        seal(runtime, coordinator, epoch)
    except NotYet as problem:
        if problem.kind not in ("no-token", "old-token"):
            raise
        return False
    return True


def seal_epoch(folder: str, coordinator: int, epoch: int, *, patience_s: float = 30.0) -> list[int] | None:
    """Seal ``epoch``, and earlier ones that a failed run left open, waiting up to ``patience_s`` for the token.

    Returns:
        The epochs that are sealed now and were to be, those of which the coordinator is a member; None when the token did not come.
    """
    with _running(folder, "inprocess") as (_, runtime):
        sealed = _seal(runtime, coordinator, epoch, patience_s)
        return None if sealed is None else sealed.epochs


def seal_scheduled(
    folder: str, coordinator: int, moment: datetime.datetime, *, patience_s: float = 30.0
) -> Sealed | None:
    """Seal the epoch that ``coordinator`` was in at a moment, as :func:`seal_epoch` does.

    Returns:
        what is sealed now; None when the token did not come.
    """
    with _running(folder, "inprocess") as (project, runtime):
        epoch = runtime.catalog.epoch_at(coordinator, moment, Rhythm.of(project))
        return _seal(runtime, coordinator, epoch, patience_s)


def _seal(runtime: Runtime, coordinator: int, epoch: int, patience_s: float) -> Sealed | None:
    from cumulus_ops.snapshot import current_epoch, fence_the_gone, tell_where_coordinators_are

    def seal_all() -> bool:
        while (here := current_epoch(runtime, coordinator)) <= epoch and _is_in(runtime, coordinator, here):
            if not _sealed(runtime, coordinator, here):
                return False
        return True

    first = min(epoch, current_epoch(runtime, coordinator))
    if not _wait_until(seal_all, patience_s):
        return None
    fence_the_gone(runtime, coordinator)
    tell_where_coordinators_are(runtime)
    membership = runtime.catalog.membership()
    return Sealed([e for e in range(first, epoch + 1) if coordinator in membership.of(e)], _complete(runtime))


def _complete(runtime: Runtime) -> list[int]:
    """The epochs that all their members have sealed, and that have no snapshot yet."""
    from cumulus_ops.snapshot import sealed

    epoch = max((s.epoch for s in runtime.catalog.snapshots()), default=-1) + 1
    complete = []
    while sealed(runtime, epoch):
        complete.append(epoch)
        epoch += 1
    return complete


def _is_in(runtime: Runtime, coordinator: int, epoch: int) -> bool:
    """Whether a coordinator has yet to seal the epoch, or an earlier one."""
    membership = runtime.catalog.membership()
    return any(m.coordinator == coordinator and m.epoch <= epoch for m in membership.active())


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


def plan_epochs(folder: str, first: int | None, epochs: int) -> list[dict[str, object]]:
    """Spread the drops that wait now over ``epochs`` epochs.

    Returns:
        Per epoch: ``epoch`` and ``leave``: coordinator (as text, for it travels as JSON) -> the number of pending drops that it leaves for
        later epochs.
    """
    with _running(folder, "inprocess") as (_, runtime):
        members = list(runtime.catalog.membership().active())
        here = min(m.epoch for m in members)
        pending = {str(m.coordinator): len(_pending(runtime, m.coordinator)) for m in members}
    begin = max(here, first if first is not None else here)
    last = begin + epochs - 1
    span = last - here + 1
    return [
        {"epoch": e, "leave": {c: count * (last - e) // span for c, count in pending.items()}}
        for e in range(here, last + 1)
    ]


def _invalid(failed: list[ValidationReport], total: int) -> SnapshotInvalid:
    epochs = ", ".join(str(report.epoch) for report in failed)
    lines = [f"epoch {report.epoch}: {failure}" for report in failed for failure in report.failures]
    return SnapshotInvalid(
        f"{len(failed)} of {total} snapshots differ from full recomputation (epoch {epochs}):\n  " + "\n  ".join(lines),
        kind="snapshot-invalid",
        place=str(failed[0].docs_index),
        hint="open the report; the table of differing groups shows expected and maintained values",
    )


def _pending(runtime: Runtime, coordinator: int) -> list[Delivery]:
    return runtime.sources.pending(coordinator)


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
