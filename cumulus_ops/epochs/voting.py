"""How an epoch ends for its coordinators: votes in the token's order, early ends, and going on without those that are gone.

Everybody who votes also looks after the others: nobody's process has to live for an epoch to complete, and what it has appended is applied
as soon as it is known to be dead.
"""

from __future__ import annotations

import logging

from cumulus_ops.catalog.epochs import FencedVote
from cumulus_ops.coordination.barriers import APPLIED, waits_for
from cumulus_ops.epochs.minibatch import apply_or_set_aside, tidy
from cumulus_ops.epochs.ticking import last_quiet, tick_if_due
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import NotYet
from cumulus_ops.project.processes import reach
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.publishing.telling import watch_step

__all__ = [
    "apply_appended",
    "apply_left",
    "apply_orphans",
    "fence_the_gone",
    "is_complete",
    "open_epoch",
    "remove_coordinator",
    "vote",
]


log = logging.getLogger(__name__)


@watch_step("vote")
def vote(rt: Runtime, coordinator: int, epoch: int, upto: int | None = None) -> None:
    """Vote to end an epoch for a coordinator: no event of it will come any more. A no-op when done before. An epoch that this completes, and
    to which nothing was appended, has its snapshot at once: the one before. Where views depend on now(), the epoch gets its tick first.

    Args:
        rt: the open project.
        coordinator, epoch: who votes, and on which epoch.
        upto: vote on the epochs behind it as well, up to this one, as far as they are over; nothing must have come that belongs to them.

    Raises:
        NotYet: the token is with another coordinator, or was passed on meanwhile; or a batch is not applied yet.
    """
    if rt.catalog.members.position(coordinator)[0] > epoch:
        return
    rhythm = Rhythm.of(rt.project)
    # While a coordinator whose epoch is over waits for a late holder of the token, what lands for it belongs to its next
    # epoch, and is not applied. Where the order of coordinators does not count, nobody gets anything for waiting: the
    # buffer period is enough for a holder that is about to vote, and what it applies later is corrected, as it is between
    # coordinators that are in two epochs anyway (decision 47).
    patience = rt.project.patience.token
    if not rt.plan.versions.takes_turns:
        patience = min(patience, rt.project.corrections.after)
    token = rt.catalog.votes.take_token(coordinator, rhythm, patience)
    if token is None:
        holder = rt.catalog.votes.token_holder()
        place = f"coordinator {coordinator}, epoch {epoch}"
        raise NotYet(f"coordinator {holder} has the token", kind="no-token", place=place, hint="it must vote first")
    tick_if_due(rt, coordinator, epoch, upto)
    if upto is not None:
        upto = last_quiet(rt, coordinator, epoch, upto)
    reach("vote.before-commit")
    rt.catalog.votes.vote(coordinator, epoch, token, rhythm, upto, applied=waits_for(rt.coordination, APPLIED))
    reach("vote.after-commit")
    rt.catalog.snapshots.repeat()


def is_complete(rt: Runtime, epoch: int) -> bool:
    """Whether every member of the epoch has voted to end it (the unanimous vote)."""
    return not rt.catalog.votes.missing(epoch)


def fence_the_gone(rt: Runtime, by: int) -> list[FencedVote]:
    """Go on without the coordinators that are awaited for longer than the patience: apply what they have appended, and vote in their
    name. Each as far as it is late; usually that is one epoch, or none.

    Args:
        rt: the open project.
        by: the coordinator that does so.

    Returns:
        the votes that were made.
    """
    rhythm, patience = Rhythm.of(rt.project), rt.project.patience.gone
    if patience is None:
        return []
    done: list[FencedVote] = []
    minutes = patience.total_seconds() / 60
    reason = f"others had waited for its vote for more than {minutes:g} minutes"
    while late := [place for place in rt.catalog.votes.overdue(rhythm, patience) if place[1] != by]:
        before = len(done)
        for epoch, coordinator in late:
            apply_appended(rt, coordinator, epoch)
            reach("fence.before-commit")
            try:
                fenced = rt.catalog.votes.fence(coordinator, epoch, by, reason, rhythm, patience)
            except NotYet:  # it appends: it is not gone
                continue
            reach("fence.after-commit")
            done += (FencedVote(e, coordinator, by, reason) for e in range(epoch, epoch + fenced))
            if fenced:
                log.warning("%s%s", done[-1], f", and in the {fenced - 1} epochs before" if fenced > 1 else "")
        if len(done) == before:
            break
    if done:
        rt.catalog.snapshots.repeat()
    return done


def remove_coordinator(rt: Runtime, coordinator: int) -> bool:
    """Take a coordinator out without waiting for it: the epoch that it has open is its last, what it has appended is applied, and the
    epoch is voted on in its name. What has landed for it, and was not appended, is left where it is.

    Returns:
        whether there was anything to do.

    Raises:
        InputProblem: there is no such coordinator, or nobody else.
        NotYet: its process appends meanwhile; stop it first.
    """
    member = rt.catalog.members.drain(coordinator)
    if member.is_gone:
        return False
    apply_appended(rt, coordinator, member.epoch)
    return bool(rt.catalog.votes.fence(coordinator, member.epoch, None, "it was removed", Rhythm.of(rt.project)))


def apply_appended(rt: Runtime, coordinator: int, epoch: int) -> None:
    """Apply the batches that a coordinator has appended to an epoch, whoever else may be at it."""
    for batch in rt.catalog.log.batches(state="appended", coordinator=coordinator):
        if batch.epoch <= epoch:
            rt.executor.prepare(rt.plan)
            apply_or_set_aside(rt, batch.id)


def apply_orphans(rt: Runtime, tried: set[int]) -> int:
    """Apply what processes have appended that are dead, whichever coordinator's it is: nobody else would before it is back, or fenced.

    Args:
        rt: the open project.
        tried: the batches that this process has tried, and leaves alone from now on. It grows.

    Returns:
        how many were applied, or set aside.
    """
    done = 0
    # asked anew for each: others look as well, and who is at a batch has a lease
    while (batch := next((b for b in rt.catalog.leases.orphans() if b not in tried), None)) is not None:
        tried.add(batch)
        log.info("batch %d: its process is gone, and this one applies it", batch)
        rt.executor.prepare(rt.plan)
        try:
            apply_or_set_aside(rt, batch)
        except Exception:  # nobody dies of what is another's: its coordinator will say what is wrong with it
            log.exception("batch %d could not be applied for its coordinator", batch)
        else:
            done += 1
    return done


def apply_left(rt: Runtime, epoch: int) -> None:
    """Apply what is appended to an epoch that all have voted to end: after the beginning of a generation that is all of it, also of those that are gone."""
    for batch in rt.catalog.log.batches(state="appended"):
        if batch.epoch <= epoch:
            rt.executor.prepare(rt.plan)
            apply_or_set_aside(rt, batch.id)
            tidy(rt)


def open_epoch(rt: Runtime) -> int:
    """The oldest epoch that some coordinator has open."""
    return min(m.epoch for m in rt.catalog.members.membership().active())
