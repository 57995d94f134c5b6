"""Running epochs in one process, without Airflow: the same steps in a fixed, staggered order.

Time is counted in periods, N to an epoch of N members. In each period every coordinator applies its next drop; at its end the
one that holds the token votes to end its epoch, if that has had its N periods, or was ended early, and passes the token on. So coordinator 0 works in
the next epoch while the others still finish this one, as they would under a clock (Cumulus paper, section 4.2).
"""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from cumulus_ops.catalog.epochs import in_error
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.finals import finalise, publish_lost_finals
from cumulus_ops.epochs.minibatch import current_epoch, run_minibatch
from cumulus_ops.epochs.policy import Action, Standing, next_action
from cumulus_ops.epochs.setting_aside import is_due
from cumulus_ops.epochs.ticking import has_clock, passes_something
from cumulus_ops.epochs.voting import apply_left, is_complete, vote
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.verdicts import EQUAL, PASSED, outcome_of
from cumulus_ops.publishing.delta_tables import OF_ONE_TABLE
from cumulus_ops.publishing.publishing import list_to_validate, publish_all, publish_lost
from cumulus_ops.validation.finals import validate_finals
from cumulus_ops.validation.run import validate

__all__ = ["run_epochs", "run_waiting"]


def run_epochs(
    rt: Runtime, epochs: int, on_progress: Callable[[str], None] = lambda _: None, *, validating: bool = True
) -> None:
    """Apply landed drops until ``epochs`` more epochs are committed, published and validated.

    What a killed run left undone is done first; epochs that this commits count.

    Args:
        rt: the open project.
        epochs: how many epochs to complete.
        on_progress: called with one line for each thing done.
        validating: False leaves out the validation.

    Raises:
        IntegrityProblem: at last, a view's table cannot be read; all else is published.
    """
    done = _catch_up(rt, on_progress, validating)
    _await_copies(rt, on_progress)
    committed = rt.catalog.snapshots.newest() + 1
    for epoch in range(committed, committed + epochs - done):
        _work_until_complete(rt, epoch, _look_by_periods, on_progress)
        _finish(rt, epoch, on_progress, validating)
    _publish_left(rt)


def run_waiting(rt: Runtime, on_progress: Callable[[str], None] = lambda _: None, *, validating: bool = True) -> int:
    """Apply all that has landed, and complete the epochs that this takes: one, or more if an epoch is full before
    (``epochs: events``), or if some coordinators are ahead of others. When nothing waits, no epoch is ended.

    What a killed run left undone is done first. Arguments as in :func:`run_epochs`.

    What arrives meanwhile is left to the next run: a source that never rests does not keep this one from its end.

    Returns:
        how many epochs were completed.
    """
    done = _catch_up(rt, on_progress, validating)
    _await_copies(rt, on_progress, lambda coordinator: _apply_all(rt, coordinator, on_progress))
    with rt.sources.as_of_now():
        while _something_waits(rt):
            epoch = rt.catalog.snapshots.newest() + 1
            if not _work_until_complete(rt, epoch, _look_for_the_rest, on_progress):
                on_progress("nothing more can be taken yet; the next run looks again")
                break
            _finish(rt, epoch, on_progress, validating)
            done += 1
    done += _let_time_pass(rt, on_progress, validating)
    _publish_left(rt)
    return done


def _publish_left(rt: Runtime) -> None:
    """See that nothing is left unpublished.

    Raises:
        IntegrityProblem: the table of a view cannot be read.
    """
    for _ in publish_all(rt):
        pass


def _let_time_pass(rt: Runtime, on_progress: Callable[[str], None], validating: bool) -> int:
    """End the epochs that are over by the clock, if now() passes something by the end of the newest: they are one snapshot."""
    if not has_clock(rt):
        return 0
    rhythm, now = Rhythm.of(rt.project), datetime.datetime.now(datetime.UTC)
    everyone, before = _active(rt), rt.catalog.snapshots.newest()
    over = min(rt.catalog.members.epoch_at(c, now, rhythm) for c in everyone) - 1
    if rhythm.count is not None:
        over = min(over, rhythm.count - 1)
    if over <= before or not passes_something(rt, rt.catalog.members.boundary(everyone[0], over, rhythm).ends_at):
        return 0
    on_progress(f"now() goes on to the end of epoch {over}")
    while not is_complete(rt, over):
        holder = rt.catalog.votes.token_holder()
        vote(rt, holder, current_epoch(rt, holder), over)
    done = 0
    while epochs := rt.catalog.votes.complete_epochs(rt.catalog.snapshots.newest() + 1):
        _finish(rt, epochs[0], on_progress, validating)
        done += 1
    return done


@dataclass
class _Tried:
    """What one epoch's work has shown so far: the coordinators of which nothing that waits could be taken, for it changes while it is read, and whether
    anything was applied."""

    in_vain: set[int] = field(default_factory=set)
    is_taken: bool = False


def _work_until_complete(
    rt: Runtime,
    epoch: int,
    look: Callable[[Runtime, int, _Tried], list[Standing]],
    on_progress: Callable[[str], None],
) -> bool:
    """Do what is next until all have voted to end the epoch. It follows from the catalog alone, so that a killed run continues where it was.

    Returns:
        whether it is complete; False if nothing can be done about it now.
    """
    tried = _Tried()
    while not is_complete(rt, epoch):
        action, coordinator = next_action(look(rt, epoch, tried), rt.catalog.votes.token_holder())
        if action is Action.WAIT:
            return False
        if action is Action.VOTE:
            vote(rt, coordinator, current_epoch(rt, coordinator))
        elif _apply(rt, coordinator, on_progress):
            tried.is_taken = True
        else:
            tried.in_vain.add(coordinator)
    return True


def _look_for_the_rest(rt: Runtime, epoch: int, tried: _Tried) -> list[Standing]:
    """Each takes all that waits, unless its epoch was ended before; then the epoch is over, if there is anything in it, it was ended, or somebody has voted on
    it already, who may have work in the next one."""
    everyone = _active(rt)
    for coordinator in everyone:  # the first that may have work is enough to know, and each look is a query
        is_here = coordinator not in tried.in_vain and current_epoch(rt, coordinator) <= epoch
        if is_here and not _was_ended(rt, coordinator):
            return [Standing(coordinator, has_work=True, is_over=False)]
    is_ended = any(_was_ended(rt, c) or current_epoch(rt, c) > epoch for c in everyone)
    is_over = tried.is_taken or _has_batches(rt) or is_ended
    return [Standing(c, has_work=False, is_over=is_over) for c in everyone]


def _look_by_periods(rt: Runtime, _epoch: int, tried: _Tried) -> list[Standing]:
    """N periods to an epoch, in each of which everybody takes a drop; but who has none left holds nobody up."""
    everyone = _active(rt)
    drops = rt.catalog.log.count_drops()
    period = max(drops.get(c, 0) for c in everyone)
    unfinished = {
        c for c in everyone if any(b.state == "appended" or is_due(b) for b in rt.catalog.log.waiting_batches(c))
    }
    waiting = [c for c in everyone if c not in tried.in_vain and rt.sources.pending(c)]
    joined = {m.coordinator for m in rt.catalog.members.membership().active() if m.first > 0}
    # of one that has joined later, what had landed for it before is no backlog
    behind = [c for c in waiting if drops.get(c, 0) < period and not (c in joined and _had_its_periods(rt, c))]
    holder = rt.catalog.votes.token_holder()
    is_over = _was_ended(rt, holder) or (not behind and (not waiting or _had_its_periods(rt, holder)))
    takes = {*unfinished} if unfinished or is_over else {*(behind or waiting)}
    return [Standing(c, has_work=c in takes, is_over=is_over) for c in everyone]


def _was_ended(rt: Runtime, coordinator: int) -> bool:
    """Whether the epoch that it has open is over already: early, on request or for its many events."""
    epoch = current_epoch(rt, coordinator)
    return any(b.coordinator == coordinator for b in rt.catalog.members.boundaries(epoch))


def _had_its_periods(rt: Runtime, coordinator: int) -> bool:
    """N periods to an epoch; the first epoch of all lasts as many periods longer as there are coordinators before this one."""
    epoch = current_epoch(rt, coordinator)
    members = rt.catalog.members.membership().of(epoch)
    length = len(members) + (members.index(coordinator) if epoch == 0 else 0)
    batches = rt.catalog.log.batches(coordinator=coordinator, epoch=epoch)
    return sum(b.part == 0 and b.tick is None for b in batches) >= length


def _apply_all(rt: Runtime, coordinator: int, on_progress: Callable[[str], None]) -> None:
    """Apply all that waits for a coordinator, unless its epoch is ended before."""
    while not _was_ended(rt, coordinator) and _apply(rt, coordinator, on_progress):
        pass


def _something_waits(rt: Runtime) -> bool:
    """Whether there are drops to append, batches to apply, or to try again, or batches that are in no snapshot yet."""
    if _has_batches(rt) or any(rt.sources.pending(c) for c in _active(rt)):
        return True
    return any(is_due(b) for c in _active(rt) for b in rt.catalog.log.waiting_batches(c))


def _has_batches(rt: Runtime) -> bool:
    """Whether there are batches that are in no snapshot yet; or a revision of which there is none."""
    return rt.catalog.revisions.awaits_snapshot() or any(
        b.counts for b in rt.catalog.log.batches(since=rt.catalog.snapshots.newest() + 1)
    )


def _active(rt: Runtime) -> list[int]:
    return sorted(m.coordinator for m in rt.catalog.members.membership().active())


def _finish(rt: Runtime, epoch: int, on_progress: Callable[[str], None], validating: bool) -> None:
    """Commit an epoch that all have voted to end, publish and validate it."""
    apply_left(rt, epoch)
    report = commit(rt, epoch)
    on_progress(f"epoch {epoch}: committed, {report.events} events, {report.corrections} corrections")
    _complete(rt, on_progress, validating)


def _catch_up(rt: Runtime, on_progress: Callable[[str], None], validating: bool) -> int:
    """Do what was left undone: of epochs that have their snapshots, and of those that are complete (a new generation has snapshots of none yet). What was published
    and is gone is published again.

    Returns:
        how many epochs were completed.
    """
    done = 0
    _complete(rt, on_progress, validating)
    while epochs := rt.catalog.votes.complete_epochs(rt.catalog.snapshots.newest() + 1):
        _finish(rt, epochs[0], on_progress, validating)
        done += 1
    for view in (*publish_lost(rt), *publish_lost_finals(rt)):
        on_progress(f"view {view}: its table was gone or older, and is published again")
    return done


def _await_copies(
    rt: Runtime, on_progress: Callable[[str], None], meanwhile: Callable[[int], object] = lambda _: None
) -> None:
    """Wait for drops that somebody may be writing, as long as that can be told in a `settle` time. ``meanwhile`` is called for the coordinators
    of which all drops are complete: nobody's rows wait for another's copy."""
    everyone = _active(rt)
    deadline = time.monotonic() + 2 * rt.project.settle.total_seconds()
    told = False
    while True:
        for coordinator in everyone:
            rt.sources.pending(coordinator)
        left = rt.sources.settles_in(everyone)
        if left is None or time.monotonic() + left > deadline:
            return
        if not told:
            on_progress(f"waiting for drops that may be incomplete, {left:.1f} s")
        told = True
        begun = time.monotonic()
        with rt.sources.as_of_now():
            for coordinator in everyone:
                if rt.sources.settles_in([coordinator]) is None:
                    meanwhile(coordinator)
        worked = time.monotonic() - begun
        deadline += worked
        time.sleep(max(0.0, left - worked) + 0.01)


def _complete(rt: Runtime, on_progress: Callable[[str], None], validating: bool) -> None:
    _finalise(rt, on_progress)
    if validating:
        _validate_finals(rt, on_progress)
    try:
        for epoch, _ in publish_all(rt):
            for error in in_error(rt.catalog.results.view_errors(), epoch):
                on_progress(f"epoch {epoch}: view {error.view} is in error {error}")
    except IntegrityProblem as problem:  # epochs go on; when they are done it is raised
        if problem.kind not in OF_ONE_TABLE:
            raise
        for one in problem.all:
            on_progress(f"not all is published: {one}")
    for epoch in list_to_validate(rt) if validating else ():
        names = [view.name for view in rt.as_of(epoch).program.views]
        outcome = validate(rt, epoch, rt.project.validation.chosen(names, rt.catalog.results.count_validations()))
        on_progress(f"epoch {epoch}: validation {_shout(outcome.outcome)}, {outcome.summary}, see {outcome.docs_index}")
        for line in (*outcome.failures, *outcome.unproved, *outcome.remarks):
            on_progress(f"  {line}")


def _apply(rt: Runtime, coordinator: int, on_progress: Callable[[str], None]) -> bool:
    """Apply the coordinator's next drop; returns whether there was one."""
    done = run_minibatch(rt, coordinator)
    if done is None:
        return False
    left_out = "".join(
        f", {count:,} {what}"
        for count, what in (
            (done.quarantined, "quarantined"),
            (done.duplicates, "had come before"),
            (done.files_aside, "files set aside"),
        )
        if count
    )
    on_progress(
        f"coordinator {coordinator}, epoch {done.epoch}: {done.drop}, {done.events:,} events{left_out}, {done.seconds:.1f} s"
    )
    _finalise(rt, on_progress)
    return True


def _finalise(rt: Runtime, on_progress: Callable[[str], None]) -> None:
    """Say what is final by now, before its epoch is over."""
    for partition in finalise(rt).partitions:
        on_progress(f"final: {partition}")


def _validate_finals(rt: Runtime, on_progress: Callable[[str], None]) -> None:
    """Validate what is final. A Spark session is worth it once for all that an epoch has brought."""
    if rt.project.validation.policy == "off":
        return
    found = validate_finals(rt)
    left = [verdict for verdict in found if verdict.outcome != EQUAL]
    if found:
        kinds = Counter(_shout(outcome_of([verdict.outcome])) for verdict in left)
        said = ", ".join(f"{kind} for {count}" for kind, count in kinds.items()) or PASSED
        partitions = "1 final partition" if len(found) == 1 else f"{len(found):,} final partitions"
        on_progress(f"{partitions}: validation {said}, see {found[0].report}")
    for verdict in left:
        on_progress(f"  {verdict}")


def _shout(outcome: str) -> str:
    return outcome if outcome == PASSED else outcome.upper()
