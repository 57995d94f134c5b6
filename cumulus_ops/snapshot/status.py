"""What a person wants to know of a running project at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cumulus_ops.catalog import Batch, InError, LeftOut, Snapshot, Validation, in_error, left_out, set_aside
from cumulus_ops.engine import Runtime
from cumulus_ops.eventlog import pending_drops
from cumulus_ops.query import newest_errors

__all__ = ["CoordinatorStatus", "EpochReport", "Status", "status"]


@dataclass(frozen=True)
class CoordinatorStatus:
    """A coordinator: its open epoch, whether it may move next, and how many landed drops wait for it."""

    index: int
    epoch: int
    holds_token: bool
    pending_drops: int


@dataclass(frozen=True)
class EpochReport:
    """An epoch in numbers. ``events`` are rows inserted or deleted; ``corrections`` corrected map entries; ``entries``
    stored map entries of the snapshot; ``seconds`` the work of apply and commit together. ``state``: open, sealed (by all
    coordinators), committed, validated or failed; ``validation``: passed, failed, expired (it came too late) or "" when not
    validated; ``expired``: what came too late for the snapshot, ``publish`` or ``validate``; ``without``: the batches up to this
    epoch that failed and are not in it; ``in_error``: the views of which it has no rows, and why;
    ``findings``: what the validation said, a sentence for each view that differs or could not be proved; ``report``: its page."""

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


@dataclass(frozen=True)
class Status:
    """A whole project; ``set_aside``: the batches about which somebody has to decide; ``in_error``: the views that are in error in
    the newest snapshot."""

    program: str
    coordinators: tuple[CoordinatorStatus, ...]
    epochs: tuple[EpochReport, ...]
    set_aside: tuple[LeftOut, ...] = ()
    in_error: tuple[InError, ...] = ()


def status(rt: Runtime) -> Status:
    """Read the state of the project from the catalog and the landing folder."""
    token = rt.catalog.token()
    coordinators = tuple(
        CoordinatorStatus(i, rt.catalog.position(i)[0], i == token, len(pending_drops(rt.project, rt.catalog, i)))
        for i in range(rt.project.coordinators)
    )
    batches = rt.catalog.batches()
    return Status(rt.project.name, coordinators, _epochs(rt, batches), set_aside(batches), newest_errors(rt))


def _epochs(rt: Runtime, batches: Sequence[Batch]) -> tuple[EpochReport, ...]:
    seals = rt.catalog.seals()
    snapshots = {s.epoch: s for s in rt.catalog.snapshots()}
    validations = rt.catalog.validations()
    corrections = rt.catalog.corrections()
    expired = rt.catalog.expired()
    errors = rt.catalog.view_errors()
    numbers = sorted({b.epoch for b in batches} | set(seals) | set(snapshots))
    return tuple(
        _epoch(
            epoch,
            [b for b in batches if b.epoch == epoch and b.counts],
            len(seals.get(epoch, ())) == rt.project.coordinators,
            snapshots.get(epoch),
            validations.get(epoch),
            corrections.get(epoch, 0),
            expired.get(epoch, ()),
            left_out(batches, epoch),
            in_error(errors, epoch),
        )
        for epoch in numbers
    )


def _epoch(
    epoch: int,
    batches: Sequence[Batch],
    sealed: bool,
    snapshot: Snapshot | None,
    validation: Validation | None,
    corrections: int,
    expired: tuple[str, ...],
    without: tuple[LeftOut, ...],
    errors: tuple[InError, ...],
) -> EpochReport:
    state = "committed" if snapshot else "sealed" if sealed else "open"
    outcome = "expired" if "validate" in expired else ""
    if validation is not None:
        state = "validated" if validation.success else "failed"
        outcome = "passed" if validation.success else "failed"
    return EpochReport(
        epoch,
        sum(b.events for b in batches),
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
        validation.failures if validation else (),
    )
