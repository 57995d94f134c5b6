"""What a person wants to know of a running project at a glance, and what staggering costs it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby

from cumulus_ops.catalog.backups import LastBackup
from cumulus_ops.catalog.epochs import (
    AppliedBatch,
    FencedVote,
    InError,
    LeftOut,
    Member,
    Newest,
    StepProblem,
    in_error,
    left_out,
)
from cumulus_ops.catalog.finals import FinalCounts
from cumulus_ops.catalog.records import Batch, Snapshot, StandingSource, Validation, moment_of_now
from cumulus_ops.catalog.repairs import KnownDamage, Recovery
from cumulus_ops.catalog.values import SealCounts
from cumulus_ops.coordination.barriers import SETTLE, waits_for
from cumulus_ops.opening.runtime import Runtime, waits_for_deployment
from cumulus_ops.project.interruptions import Interruption, interruptions
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.verdicts import PASSED
from cumulus_ops.query.errors import newest_errors
from cumulus_ops.query.overview import (
    RevisionState,
    TooLate,
    UnderWay,
    failing_steps,
    overdue_members,
    revisions,
    standing_sources,
    too_late,
    under_way,
)

__all__ = ["CoordinatorStatus", "EpochReport", "StaggeringCost", "Status", "staggering_cost", "status"]


# What staggering costs a project, by its own epochs.
#
# Under versions by event staggering is fair: each coordinator's events count first for as long as any other's (Cumulus paper, section 4.2). Under versions by
# batch nobody gets anything for it: within an epoch batches count as they are applied, and a coordinator that is in the next epoch already is corrected for
# all that the others still apply. How much that is depends on the data, so it is counted, and not guessed.


#: So many of the latest epochs are looked at.
EPOCHS = 8
#: Fewer corrected entries per event are not worth a word.
WORTH_SAYING = 0.01


@dataclass(frozen=True)
class StaggeringCost:
    """Of the epochs ``first`` to ``last``: of so many ``batches``, ``ahead`` had not read others that count before them because these were in the epoch
    before, in time; ``beside``: had not read others of their own epoch. ``corrections`` are corrected map entries, of all causes."""

    first: int
    last: int
    batches: int
    ahead: int
    beside: int
    events: int
    corrections: int

    def __str__(self) -> str:
        return (
            f"in epochs {self.first} to {self.last} {self.ahead:,} of {self.batches:,} batches were applied an epoch ahead of others that count before them "
            f"({self.beside:,} beside others of their epoch): {self.corrections:,} corrected entries for {self.events:,} events. Versions are by batch, so "
            "nobody gets anything for it: `epochs: {transitions: aligned}` in cumulus.yaml spares it"
        )


def staggering_cost(rt: Runtime) -> StaggeringCost | None:
    """What staggering has cost in the latest epochs that have snapshots; None where it does not matter, has a reason, or costs next to nothing."""
    is_free = rt.plan.versions.takes_turns or not waits_for(rt.coordination, SETTLE)
    last = rt.catalog.snapshots.newest()
    if is_free or not rt.project.epoch.staggered or last < 0 or len(rt.catalog.members.membership().of(last)) < 2:
        return None
    first = max(0, last - EPOCHS + 1)
    applied = rt.catalog.history.applied_batches(max(0, first - 1), last)
    batches = [b for b in applied if b.epoch >= first]
    ahead, beside = _ahead(applied, first), _beside(batches)
    numbers = rt.catalog.history.epoch_numbers(first, last)
    events, corrections = (sum(x) for x in ([n.inserts + n.deletes for n in numbers], [n.corrections for n in numbers]))
    if ahead <= beside or corrections < WORTH_SAYING * events:
        return None
    return StaggeringCost(first, last, len(batches), ahead, beside, events, corrections)


def _ahead(applied: Sequence[AppliedBatch], first: int) -> int:
    """How many batches, of the epochs from ``first`` on, have not read one of an earlier epoch, committed while that epoch was its coordinator's. Who
    is later than that would be late in aligned epochs, too."""
    newest = -1  # commit of earlier epochs
    found = 0
    for epoch, group in _group_by_epoch(applied):
        batches = list(group)
        found += sum(b.read_at < newest for b in batches if epoch >= first)
        newest = max([newest, *(b.commit for b in batches if b.in_time)])
    return found


def _beside(batches: Sequence[AppliedBatch]) -> int:
    """How many have not read one of their own epoch that counts before them."""
    found = 0
    for _, group in _group_by_epoch(batches):
        by_ticket = sorted(group, key=lambda b: b.ticket)
        before = accumulate((b.commit for b in by_ticket), max, initial=-1)
        found += sum(b.read_at < newest for b, newest in zip(by_ticket, before, strict=False))
    return found


def _group_by_epoch(batches: Sequence[AppliedBatch]) -> Iterable[tuple[int, Iterable[AppliedBatch]]]:
    return groupby(sorted(batches, key=lambda b: b.epoch), key=lambda b: b.epoch)


@dataclass(frozen=True)
class CoordinatorStatus:
    """A coordinator: its open epoch, whether it may move next, and how many landed drops wait for it. ``state``: ``works``, ``joins``
    (its first epoch is yet to come), ``drains`` (its open epoch is its last), ``is late`` (others wait for its vote), ``is overdue`` (its epoch was
    to end long ago, and something waits), ``fails`` (a step of it failed when it was tried last), ``waits`` (that one, for a damaged file). ``ends_at``: when it leaves the epoch, or is to."""

    index: int
    epoch: int
    holds_token: bool
    pending_drops: int
    state: str = "works"
    ends_at: datetime.datetime | None = None


@dataclass(frozen=True)
class EpochReport:
    """An epoch in numbers. ``events`` are rows inserted or deleted; ``corrections`` corrected map entries; ``entries``
    stored map entries of the snapshot; ``seconds`` the work of apply and commit together. ``state``: open, complete (voted on by all
    coordinators), committed, validated, unproved or failed; ``validation``: passed, unproved, failed, expired (it came too late) or "" when not
    validated; ``expired``: what came too late for the snapshot, ``publish`` or ``validate``; ``without``: the batches up to this
    epoch that failed and are not in it; ``in_error``: the views of which it has no rows, and why;
    ``findings``: what the validation said, a sentence for each view that differs or could not be proved; ``proved``: how many views it found to be what; ``report``: its page;
    ``members``: the coordinators that take part in it; ``fenced``: those of them that others have voted for. ``through``: the last of the
    epochs behind it to which nothing was appended, and of which the same is to be said; most often the epoch itself. ``files_aside``: files of its deliveries that could not be taken."""

    epoch: int
    events: int
    inserts: int
    deletes: int
    quarantined: int
    duplicates: int
    corrections: int
    entries: int
    seconds: float
    state: str
    validation: str
    report: str
    expired: tuple[str, ...] = ()
    without: tuple[LeftOut, ...] = ()
    in_error: tuple[InError, ...] = ()
    findings: tuple[str, ...] = ()
    members: tuple[int, ...] = ()
    fenced: tuple[FencedVote, ...] = ()
    through: int = -1
    files_aside: int = 0
    proved: str = ""


@dataclass(frozen=True)
class Status:
    """A whole project; ``set_aside``: the batches about which somebody has to decide; ``in_error``: the views that are in error in
    the newest snapshot; ``initially``: how many coordinators its file says, which counts only when it is initialised; ``settled``:
    whether tentative answers are those of all that is in the log, but for what is set aside; if not, ``behind``: the applied batches that have yet to be
    corrected, and ``unapplied``: the batches that are in none of them. Of what was put aside, ``quarantined`` rows and ``files_aside`` wait for a decision; ``ignored``: what lies in the landing folder
    and is nobody's. ``standing``: the sources that stand still, as who asked them last has found. ``seals``: the seals of relations, how many of
    their values are open and closed, and which waits for longest, for whom. ``finals``: the partitions that are final, also before their epoch. ``too_late``: what had been
    put aside when its relation was sealed. ``failing``: the steps that failed when they were tried last. ``snapshot``: the newest one, when it was
    made, and when the newest data in it came; None while there is none. ``staggering``: what it costs, where nobody gets anything for it. ``has_changed``: the project's folder defines
    something else than what is maintained; that waits to be deployed. ``revision``: the one that is maintained, ``since`` which epoch; ``deployment``: the one that is under way;
    ``revisions``: the latest, newest first; ``interruptions``: the latest parts that were gone for a while, the same. ``damages``: of the state folder, as far as it was looked at,
    and the ``recovery`` that is under way. ``epochs``: the latest, or all.
    ``backup``: the newest one of the catalog."""

    program: str
    coordinators: tuple[CoordinatorStatus, ...]
    epochs: tuple[EpochReport, ...]
    set_aside: tuple[LeftOut, ...] = ()
    in_error: tuple[InError, ...] = ()
    initially: int = 0
    settled: bool = True
    behind: int = 0
    quarantined: int = 0
    files_aside: int = 0
    ignored: int = 0
    standing: tuple[StandingSource, ...] = ()
    seals: tuple[SealCounts, ...] = ()
    finals: FinalCounts = field(default_factory=FinalCounts)
    too_late: tuple[TooLate, ...] = ()
    failing: tuple[StepProblem, ...] = ()
    snapshot: Newest | None = None
    staggering: StaggeringCost | None = None
    unapplied: int = 0
    has_changed: bool = False
    revision: int = 1
    since: int = 0
    deployment: UnderWay | None = None
    revisions: tuple[RevisionState, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    damages: tuple[KnownDamage, ...] = ()
    recovery: Recovery | None = None
    backup: LastBackup | None = None


#: So many revisions are listed.
REVISIONS = 5


#: And so many of the latest epochs.
LATEST = 100


def status(rt: Runtime, latest: int | None = LATEST) -> Status:
    """Read the state of the project from the catalog and the landing folder: with the ``latest`` epochs, or all there ever were."""
    first = 0 if latest is None else rt.catalog.snapshots.own_before(rt.catalog.history.newest_epoch() - latest + 1)
    failed = rt.catalog.history.failed()
    is_corrected, unapplied = rt.catalog.commits.unsettled() is None, len(rt.catalog.log.batches(state="appended"))
    finals = rt.catalog.finals.final_counts()
    if rt.project.validation.policy == "off":
        finals = replace(finals, unvalidated=0)
    return Status(
        rt.project.name,
        tuple(_coordinators(rt)),
        _epochs(rt, first, failed),
        tuple(b for b in failed if b.state == "aside"),
        newest_errors(rt),
        rt.project.coordinators,
        is_corrected and not unapplied,
        0 if is_corrected else rt.catalog.commits.behind(),
        *rt.catalog.deliveries.count_undecided(),
        len(rt.sources.ignored()),
        tuple(standing_sources(rt.project, rt.catalog)),
        tuple(rt.catalog.seals.seal_counts()),
        finals,
        too_late(rt),
        failing_steps(rt.catalog),
        _newest(rt),
        staggering_cost(rt),
        unapplied,
        waits_for_deployment(rt.as_edited, rt.catalog),
        rt.revision,
        rt.catalog.revisions.since(rt.revision),
        under_way(rt.catalog),
        revisions(rt.catalog, REVISIONS),
        interruptions(rt.project.state),
        tuple(rt.catalog.repairs.damages()),
        rt.catalog.repairs.under_way(),
        rt.catalog.backups.last(),
    )


def _newest(rt: Runtime) -> Newest | None:
    epoch = rt.catalog.snapshots.newest()
    if epoch < 0:
        return None
    (numbers,) = rt.catalog.history.epoch_numbers(epoch, epoch)
    assert numbers.committed_at is not None
    snapshot = rt.catalog.snapshots.at(epoch)
    now = None if snapshot is None else moment_of_now(snapshot.now)
    return Newest(epoch, numbers.committed_at, rt.catalog.history.data_at(epoch), now)


def _coordinators(rt: Runtime) -> Iterator[CoordinatorStatus]:
    token, rhythm, begun = rt.catalog.votes.token_holder(), Rhythm.of(rt.project), rt.catalog.votes.newest_epoch() + 1
    failing = {problem.coordinator: problem.state for problem in rt.catalog.problems.step_problems()}
    members = sorted(rt.catalog.members.membership().active(), key=lambda m: m.coordinator)
    overdue = overdue_members(rt.project, rt.catalog, members, rhythm)
    for m in members:
        waiting = len(rt.sources.landing(m.coordinator).waiting())
        ends_at = rt.catalog.members.boundary(m.coordinator, m.epoch, rhythm).ends_at
        state = failing.get(m.coordinator) or _state(m, begun, is_overdue=m.coordinator in overdue)
        yield CoordinatorStatus(m.coordinator, m.epoch, m.coordinator == token, waiting, state, ends_at)


def _state(member: Member, begun: int, *, is_overdue: bool) -> str:
    if member.epoch > begun:
        return "joins"
    if member.awaited_since is not None:
        return "is late"
    if is_overdue:
        return "is overdue"
    return "works" if member.last is None else "drains"


def _epochs(rt: Runtime, first: int, failed: Sequence[LeftOut]) -> tuple[EpochReport, ...]:
    """The epochs from ``first`` on."""
    batches, membership = rt.catalog.log.batches(since=first), rt.catalog.members.membership()
    fenced = [vote for vote in rt.catalog.votes.fenced() if vote.epoch >= first]
    snapshots = {s.epoch: s for s in rt.catalog.snapshots.own(first)}
    validations = rt.catalog.results.validations(first)
    corrections = rt.catalog.commits.corrections(first)
    expired = rt.catalog.snapshots.expired()
    errors = rt.catalog.results.view_errors()
    files = rt.catalog.deliveries.files_aside_by_epoch()
    committed = rt.catalog.snapshots.newest()
    complete = rt.catalog.votes.complete_epochs(committed + 1)
    newest = max([committed, rt.catalog.votes.newest_epoch(), *(b.epoch for b in batches)])
    by_epoch: dict[int, list[Batch]] = {}
    for batch in batches:
        by_epoch.setdefault(batch.epoch, []).append(batch)
    # all others are as the one before them; where the epochs begin that are not committed, or not complete, something new is to be said
    changes = {e for m in membership.all for e in (m.first, -1 if m.last is None else m.last + 1)}
    starts = sorted({*snapshots, *by_epoch, *changes, committed + 1, complete.stop} & {*range(first, newest + 1)})
    return tuple(
        replace(
            _epoch(
                epoch,
                [b for b in by_epoch.get(epoch, ()) if b.counts],
                epoch in complete or epoch <= committed,
                snapshots.get(epoch),
                validations.get(epoch),
                corrections.get(epoch, 0),
                expired.get(epoch, ()),
                left_out(failed, epoch),
                in_error(errors, epoch),
            ),
            members=membership.of(epoch),
            fenced=tuple(f for f in fenced if epoch <= f.epoch <= through),
            through=through,
            files_aside=files.get(epoch, 0),
        )
        for epoch, through in zip(starts, [*(e - 1 for e in starts[1:]), newest], strict=False)
    )


def _epoch(
    epoch: int,
    batches: Sequence[Batch],
    complete: bool,
    snapshot: Snapshot | None,
    validation: Validation | None,
    corrections: int,
    expired: tuple[str, ...],
    without: tuple[LeftOut, ...],
    errors: tuple[InError, ...],
) -> EpochReport:
    state = "committed" if snapshot else "complete" if complete else "open"
    outcome = "expired" if "validate" in expired else ""
    if validation is not None:
        outcome = validation.outcome
        state = "validated" if outcome == PASSED else outcome
    return EpochReport(
        epoch,
        sum(b.inserts + b.deletes for b in batches),
        sum(b.inserts for b in batches),
        sum(b.deletes for b in batches),
        sum(b.quarantined for b in batches),
        sum(b.duplicates for b in batches),
        corrections,
        snapshot.entries if snapshot else 0,
        sum(b.seconds for b in batches) + (snapshot.seconds if snapshot else 0.0),
        state,
        outcome,
        validation.report if validation else "",
        expired,
        without,
        errors,
        validation.findings if validation else (),
        proved=validation.summary if validation else "",
    )
