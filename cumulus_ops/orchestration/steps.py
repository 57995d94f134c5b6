"""What each task does, as plain functions over a project folder: no Airflow in here, so that a test can call them.

All are idempotent: they ask the catalog what is left to do.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import BatchReport, current_epoch, run_minibatch, settle, settle_if_due
from cumulus_ops.epochs.policy import Action, Standing, next_action
from cumulus_ops.epochs.voting import apply_left, apply_orphans, fence_the_gone, vote
from cumulus_ops.light import lazy_module
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.orchestration.final_steps import FinalLooks
from cumulus_ops.orchestration.running import Patience, SnapshotInvalid, running
from cumulus_ops.project.errors import NotYet
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.verdicts import PASSED
from cumulus_ops.publishing.telling import tell_where_coordinators_are, write_notices
from cumulus_ops.query.errors import newest_errors

if TYPE_CHECKING:
    from cumulus_ops.append.delivery import Delivery
    from cumulus_ops.catalog.epochs import Boundary
    from cumulus_ops.catalog.finals import FinalPartition
    from cumulus_ops.epochs import finals
    from cumulus_ops.opening.runtime import Runtime
    from cumulus_ops.publishing import publishing
    from cumulus_ops.repair import fsck
    from cumulus_ops.validation import run as validating
    from cumulus_ops.validation.request import ValidationReport
else:  # what writes Delta tables or looks at them, and what proves snapshots: most tasks do neither
    finals = lazy_module("cumulus_ops.epochs.finals")
    publishing = lazy_module("cumulus_ops.publishing.publishing")
    fsck = lazy_module("cumulus_ops.repair.fsck")
    validating = lazy_module("cumulus_ops.validation.run")

__all__ = [
    "Published",
    "SnapshotInvalid",
    "Voted",
    "apply_epoch",
    "apply_scheduled",
    "commit_complete",
    "plan_epochs",
    "publish_committed",
    "validate_committed",
    "vote_epoch",
    "vote_scheduled",
]

log = logging.getLogger(__name__)
POLL_S = 0.5
IDLE_POLL_S = 3.0  # where nothing has come for long
IDLE_LOOKS = 40  # in vain, before the pauses grow
OTHERS_S = 3.0  # between two looks after the others, for who has something to do
COMMIT_S = 60.0  # with an epoch that is complete, before somebody else wakes its commit
PATIENCE_S = 30.0  # with the one who has the token, before the vote's task waits for it, and gives its slot back
TOTALS = ("batches", "events", "inserts", "deletes", "quarantined", "duplicates", "files_aside", "set_aside")


class Voted(NamedTuple):
    """What a vote has done: ``epochs`` are those that the coordinator has voted to end; ``complete`` are all epochs that every member has voted to end, and that await
    their snapshots. Whoever was away for long has thousands."""

    epochs: range
    complete: range


class Published(NamedTuple):
    """What was published leaves to do, and to say: ``awaiting`` are the epochs that await validation, ``in_error`` the views that
    are in error in the newest snapshot: name -> since which epoch, and why."""

    awaiting: list[int]
    in_error: dict[str, str]


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
        epoch: the epoch to work in; one that is ended already leaves nothing to do.
        leave: how many pending drops to leave for later epochs.
        executor: overrides the project's executor.
        patience_s: how long to wait for the coordinator to reach ``epoch``.

    Returns:
        Sums over the batches (batches, events, inserts, deletes, quarantined, duplicates, set_aside); None when the coordinator
        is still in an earlier epoch.
    """

    totals = dict.fromkeys(TOTALS, 0)

    has_come = resumes(_apply_epoch)(folder, coordinator, epoch, executor, leave, patience_s, totals)
    return totals if has_come else None


def _apply_epoch(
    folder: str,
    coordinator: int,
    epoch: int,
    executor: str | None,
    leave: int,
    patience_s: float,
    totals: dict[str, int],
) -> bool:
    """Returns whether the coordinator has come to the epoch."""
    with running(folder, executor, "apply", coordinator) as (_, runtime):
        if not _wait_until(lambda: not _is_in(runtime, coordinator, epoch - 1), patience_s):
            return False
        while _is_in(runtime, coordinator, epoch):
            pending = _pending(runtime, coordinator)
            report = run_minibatch(runtime, coordinator, pending[: max(0, len(pending) - leave)])
            if report is None:
                break
            log.info("applied %s", report)
            _add(totals, report)
        settle(runtime)
    return True


def apply_scheduled(
    folder: str,
    coordinator: int,
    moment: datetime.datetime,
    on_final: Callable[[FinalPartition], None] = lambda _: None,
    on_complete: Callable[[range], None] = lambda _: None,
) -> dict[str, int]:
    """Apply what lands for ``coordinator`` while it is in the epoch of a moment: until that ends by the clock, or early. It looks after the
    others meanwhile: what dead processes have appended is applied, and who is gone is fenced.

    It finalises meanwhile: a value that all have sealed is final without waiting for the epoch's end. What landed before an epoch's
    boundary belongs to it. Of an epoch that ends early, only what is appended does. An earlier epoch
    that a failed run has left open gets what is its, and is ended first. Later ones that are over already, for the scheduler was away or
    the project's start is long ago, are made up for in the same way; those among them for which nothing has landed are ended at once.

    Args:
        folder: the project.
        coordinator: whose drops.
        moment: in which epoch it began.
        on_final: called with the newest partition when some have become final, and again for later ones, but not more often than
            every :data:`~cumulus_ops.orchestration.final_steps.WAKE_S` seconds.
        on_complete: called with the epochs that await their snapshots, when this run has made one complete, or nobody comes for one.

    Returns:
        Sums over the batches, as of :func:`apply_epoch`.
    """

    totals = dict.fromkeys(TOTALS, 0)
    resumes(_apply_scheduled)(folder, coordinator, moment, on_final, on_complete, totals)
    return totals


def _apply_scheduled(
    folder: str,
    coordinator: int,
    moment: datetime.datetime,
    on_final: Callable[[FinalPartition], None],
    on_complete: Callable[[range], None],
    totals: dict[str, int],
) -> None:
    with running(folder, None, "apply", coordinator) as (project, runtime):
        rhythm = Rhythm.of(project)
        epoch = _last_epoch(runtime, coordinator, moment)
        patience, looks = Patience(PATIENCE_S), 0
        final_looks, others = FinalLooks(runtime, on_final), _Others(runtime, coordinator, on_complete)
        while _is_in(runtime, coordinator, epoch):
            here = current_epoch(runtime, coordinator)
            boundary, last = (runtime.catalog.members.boundary(coordinator, e, rhythm) for e in (here, epoch))
            waiting = [] if boundary.is_early else _pending(runtime, coordinator)
            landed = [drop for drop in waiting if drop.arrived < boundary.ends_at]
            has_work = bool(landed or runtime.catalog.log.waiting_batches(coordinator))
            look = Standing(coordinator, has_work, _is_over(boundary))
            action, report = next_action([look], coordinator)[0], None
            if action is Action.APPLY:
                report = run_minibatch(runtime, coordinator, landed)
                action = next_action([look.without_work()], coordinator)[0]
            if report is not None:
                log.info("applied %s", report)
                _add(totals, report)
                final_looks.look()
                others.look_if_due()
                looks = 0
            elif action is Action.VOTE and here < epoch and _try_vote(runtime, coordinator, here, epoch):
                patience = Patience(PATIENCE_S)
                others.tell_complete()
            elif _is_over(last) and (here == epoch or patience.is_over):
                break
            else:
                settle_if_due(runtime)
                others.look()
                final_looks.look()
                looks += 1
                time.sleep(_pause_s(looks, boundary))
        settle(runtime)
        final_looks.look()


class _Others:
    """Looks after the other coordinators, for one that is at work: applies what dead processes have appended, fences who is gone, and tells of
    epochs that await their snapshots."""

    def __init__(self, runtime: Runtime, coordinator: int, on_complete: Callable[[range], None]) -> None:
        self._runtime, self._coordinator, self._tell = runtime, coordinator, on_complete
        self._tried: set[int] = set()
        self._told = -1  # the newest epoch that was told of
        self._lonely: tuple[int, Patience] | None = None  # one that waits for its snapshot, and for how long it may
        self._pause = Patience(OTHERS_S)

    def look_if_due(self) -> None:
        """Look, if the last look was a while ago: for those who always have something to do of their own."""
        if self._pause.is_over:
            self.look()

    def look(self) -> None:
        """Look now. Costs a few short queries if there is nothing to do."""

        apply_orphans(self._runtime, self._tried)
        if fence_the_gone(self._runtime, self._coordinator):
            self.tell_complete()
        elif self._pause.is_over:
            self._tell_if_nobody_comes()
        if self._pause.is_over:
            self._pause = Patience(OTHERS_S)

    def tell_complete(self) -> None:
        """Tell now of the epochs that are complete: this process has just voted, and its own vote comes when it ends."""
        complete = _complete(self._runtime)
        if complete and complete[-1] > self._told:
            self._told = complete[-1]
            self._tell(complete)

    def _tell_if_nobody_comes(self) -> None:
        """Tell of epochs that have been complete for long: a person has fenced somebody, or who was to wake the commit has died before it did."""
        complete = _complete(self._runtime)
        if not complete:
            self._lonely = None
        elif self._lonely is None or self._lonely[0] != complete[0]:
            self._lonely = complete[0], Patience(COMMIT_S)
        elif self._lonely[1].is_over:
            self.tell_complete()


def _pause_s(looks: int, boundary: Boundary) -> float:
    """How long to wait after so many looks in vain: longer and longer, as long as nothing comes, and not beyond the boundary."""
    left = (boundary.ends_at - _now()).total_seconds()
    return max(POLL_S, min(IDLE_POLL_S, POLL_S * looks / IDLE_LOOKS, left))


def _last_epoch(runtime: Runtime, coordinator: int, moment: datetime.datetime) -> int:
    """The last epoch that is a run's to end: the one of its moment, or the newest that is over, if that is later."""
    own, current = (
        runtime.catalog.members.epoch_at(coordinator, at, Rhythm.of(runtime.project))
        for at in (moment, max(moment, _now()))
    )
    return max(own, current - 1)


def _is_over(boundary: Boundary) -> bool:
    return boundary.is_early or _now() >= boundary.ends_at


def _quiet_until(runtime: Runtime, coordinator: int, upto: int) -> int:
    """The last epoch, ``upto`` at most, before the first one for which something has landed that is not appended yet."""
    first = min((delivery.arrived for delivery in _pending(runtime, coordinator)), default=None)
    if first is None:
        return upto
    return min(upto, runtime.catalog.members.epoch_at(coordinator, first, Rhythm.of(runtime.project)) - 1)


def _try_vote(runtime: Runtime, coordinator: int, epoch: int, upto: int | None = None) -> bool:
    """Vote to end an epoch, and the empty ones behind it up to ``upto`` that are over; False while the token is elsewhere."""

    if upto is not None and upto > epoch:
        upto = _quiet_until(runtime, coordinator, upto)
    try:
        vote(runtime, coordinator, epoch, upto)
    except NotYet as problem:
        if problem.kind not in ("no-token", "old-token"):
            raise
        return False
    return True


@resumes
def vote_epoch(folder: str, coordinator: int, epoch: int, *, patience_s: float = 30.0) -> list[int] | None:
    """Vote to end ``epoch``, and earlier ones that a failed run left open, waiting up to ``patience_s`` for the token.

    Returns:
        The epochs that are ended now and were to be, those of which the coordinator is a member; None when the token did not come.
    """
    with running(folder, "inprocess", "vote", coordinator) as (_, runtime):
        voted = _vote_upto(runtime, coordinator, epoch, epoch, patience_s)
        return None if voted is None else list(voted.epochs)


@resumes
def vote_scheduled(
    folder: str, coordinator: int, moment: datetime.datetime, *, patience_s: float = 30.0
) -> Voted | None:
    """Vote to end the epoch that ``coordinator`` was in at a moment, as :func:`vote_epoch` does, and the empty ones behind it that are over
    already. Those in which something has landed are left to the next run, which applies it.

    Returns:
        what is ended now; None when the token did not come.
    """
    with running(folder, "inprocess", "vote", coordinator) as (project, runtime):
        epoch = runtime.catalog.members.epoch_at(coordinator, moment, Rhythm.of(project))
        return _vote_upto(runtime, coordinator, epoch, _last_epoch(runtime, coordinator, moment), patience_s)


def _vote_upto(runtime: Runtime, coordinator: int, epoch: int, upto: int, patience_s: float) -> Voted | None:
    """Vote to end the epochs up to ``epoch``, and on as long as they are empty and over, up to ``upto``."""

    tried: set[int] = set()

    def vote_on_all() -> bool:
        while (here := current_epoch(runtime, coordinator)) <= upto and _is_in(runtime, coordinator, here):
            if here > epoch and _quiet_until(runtime, coordinator, upto) < here:
                break
            if not _try_vote(runtime, coordinator, here, upto):
                if apply_orphans(runtime, tried):  # perhaps of whose vote is waited for; all who live may wait here
                    settle(runtime)
                return False
        return True

    first = min(epoch, current_epoch(runtime, coordinator))
    if not _wait_until(vote_on_all, patience_s):
        return None
    fence_the_gone(runtime, coordinator)
    tell_where_coordinators_are(runtime)
    # The epochs from `first` on that it has voted to end, in those of its memberships.
    mine = runtime.catalog.members.membership().find(coordinator)
    epochs = range(first, first) if mine is None else range(max(first, mine.first), mine.epoch)
    return Voted(epochs, _complete(runtime))


def _complete(runtime: Runtime) -> range:
    """The epochs that all their members have voted to end, and that have no snapshot yet."""
    return runtime.catalog.votes.complete_epochs(runtime.catalog.snapshots.newest() + 1)


def _is_in(runtime: Runtime, coordinator: int, epoch: int) -> bool:
    """Whether a coordinator has yet to vote to end the epoch, or an earlier one."""
    membership = runtime.catalog.members.membership()
    return any(m.coordinator == coordinator and m.epoch <= epoch for m in membership.active())


@resumes
def commit_complete(folder: str, *, executor: str | None = None) -> list[int]:
    """Checkpoint every epoch that all coordinators have voted to end, in order, after what the program's plan says has to come before; those to which nothing was appended repeat the snapshot
    before them, however many they are.

    Returns:
        the epochs that have snapshots of their own now, without those that repeat one.
    """

    done: list[int] = []
    with running(folder, executor, "checkpoint") as (_, opened):
        runtime = replace(opened, on_snapshot=fsck.look_after)
        _say_repeated(runtime.catalog.snapshots.repeat())
        while epochs := _complete(runtime):
            epoch = epochs[0]
            apply_left(runtime, epoch)
            report = commit(runtime, epoch)
            log.info("snapshot %s", report)
            for batch in report.without:
                log.warning("the snapshot of epoch %d is without %s", epoch, batch)
            done.append(epoch)
            _say_repeated(range(epoch + 1, runtime.catalog.snapshots.newest() + 1))
    return done


def _say_repeated(epochs: range) -> None:
    if epochs:
        log.info(
            "epochs %d to %d: nothing was appended to them, their snapshots are the one before", epochs[0], epochs[-1]
        )


@resumes
def publish_committed(folder: str) -> Published:
    """Publish every snapshot that is not published yet, oldest first. Views in error are no failure: they are said."""

    with running(folder, "inprocess", "publish") as (_, runtime):
        for epoch, versions in publishing.publish_all(runtime):
            log.info("epoch %d published: %s", epoch, versions)
        for view in (*publishing.publish_lost(runtime), *finals.publish_lost_finals(runtime)):
            log.warning("view %s: its table was gone or older, and is published again", view)
        _warn_of_expired(runtime, "publish")
        errors = {e.view: str(e) for e in newest_errors(runtime)}
        for view, reason in errors.items():
            log.warning("view %s is in error, and not published, %s", view, reason)
        return Published(list(publishing.list_to_validate(runtime)), errors)


def _warn_of_expired(runtime: Runtime, consumer: str) -> None:
    late = [str(epoch) for epoch, missed in runtime.catalog.snapshots.expired().items() if consumer in missed]
    if late:
        log.warning("expired before `%s` came to them: the snapshots of epochs %s", consumer, ", ".join(late))


@resumes
def validate_committed(folder: str) -> dict[int, str]:
    """Validate every snapshot that is due by the project's settings and not validated yet, oldest first; those that have
    expired are left out.

    Returns:
        epoch -> the outcome: passed, unproved, or failed.

    Raises:
        SnapshotInvalid: one did not pass, and that is a failure by the project's settings.
    """

    with running(folder, None, "validate", frames=True) as (project, runtime):
        settings = project.validation

        def choose(epoch: int) -> tuple[str, ...]:
            names = [view.name for view in runtime.as_of(epoch).program.views]
            return settings.chosen(names, runtime.catalog.results.count_validations())

        reports = [validating.validate(runtime, e, choose(e)) for e in publishing.list_to_validate(runtime)]
        write_notices(runtime)  # without publishing, this is where reading has found views in error
        _warn_of_expired(runtime, "validate")
    for report in reports:
        log.log(logging.INFO if report.outcome == PASSED else logging.WARNING, "validation %s", report)
    failed = [report for report in reports if settings.is_failure(report.outcome)]
    if failed:
        raise _invalid(failed, len(reports))
    return {report.epoch: report.outcome for report in reports}


@resumes
def plan_epochs(folder: str, first: int | None, epochs: int) -> list[dict[str, object]]:
    """Spread the drops that wait now over ``epochs`` epochs.

    Returns:
        Per epoch: ``epoch`` and ``leave``: coordinator (as text, for it travels as JSON) -> the number of pending drops that it leaves for
        later epochs.
    """
    with running(folder, "inprocess", "plan") as (_, runtime):
        members = list(runtime.catalog.members.membership().active())
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
    lines = [f"epoch {report.epoch}: {said}" for report in failed for said in (*report.failures, *report.unproved)]
    problem = SnapshotInvalid(
        f"{len(failed)} of {total} snapshots differ from full recomputation, or could not be compared (epoch {epochs}):\n  "
        + "\n  ".join(lines),
        kind="snapshot-invalid",
        place=str(failed[0].docs_index),
        hint="open the report; the table of differing groups shows expected and maintained values",
    )
    problem.epochs = tuple(report.epoch for report in failed)
    return problem


def _pending(runtime: Runtime, coordinator: int) -> list[Delivery]:
    return runtime.sources.pending(coordinator)


def _add(totals: dict[str, int], report: BatchReport) -> None:
    totals["batches"] += 1
    totals["set_aside"] += len(report.set_aside)
    for name in totals.keys() - {"batches", "set_aside"}:
        totals[name] += getattr(report, name)


def _wait_until(condition: Callable[[], bool], patience_s: float) -> bool:
    """Poll ``condition``; False when it did not become true in time."""
    patience = Patience(patience_s)
    while not condition():
        if patience.is_over:
            return False
        time.sleep(POLL_S)
    return True


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
