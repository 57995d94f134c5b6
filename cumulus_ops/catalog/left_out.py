"""Which batches a snapshot is without, and why: for everybody who reports about one."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from cumulus_ops.catalog.records import Batch

__all__ = ["LeftOut", "failed_batches", "left_out", "missing_from", "set_aside"]


@dataclass(frozen=True)
class LeftOut:
    """A batch that failed. ``state``: aside, retried (as batch ``retried_as``, in ``retried_in``, an epoch) or dropped. ``retry_at``: when one that is
    aside is tried again by itself, in seconds since 1970; None if somebody has to decide."""

    batch: int
    coordinator: int
    drop: str
    epoch: int
    events: int
    state: str
    reason: str
    retried_as: int | None = None
    retried_in: int | None = None
    retry_at: float | None = None

    def __str__(self) -> str:
        return f"{self.name}, which is {self.fate}: {self.reason}"

    @property
    def name(self) -> str:
        """Which batch it is."""
        return f"batch {self.batch} (coordinator {self.coordinator}, drop {self.drop}, {self.events:,} events)"

    @property
    def fate(self) -> str:
        """What has become of it."""
        if self.state == "retried":
            return f"retried as batch {self.retried_as} in epoch {self.retried_in}"
        if self.state != "aside" or self.retry_at is None:
            return "set aside" if self.state == "aside" else self.state
        at = datetime.datetime.fromtimestamp(self.retry_at, datetime.UTC)
        return f"set aside, and tried again by its coordinator after {at:%Y-%m-%d %H:%M:%S} UTC"


def left_out(batches: Sequence[Batch], epoch: int) -> tuple[LeftOut, ...]:
    """The batches that the snapshot of ``epoch`` is without. One that is set aside is missing from its own epoch on; one that
    was retried, up to the epoch before its retry's; one that was dropped is named in its own epoch only: no later one is to
    have it.

    Args:
        batches: all batches.
        epoch: the snapshot's epoch.
    """
    return missing_from(failed_batches(batches), epoch)


def missing_from(failed: Sequence[LeftOut], epoch: int) -> tuple[LeftOut, ...]:
    """The same, of all batches that failed."""
    return tuple(b for b in failed if b.epoch <= epoch and _is_missed(b, epoch))


def _is_missed(batch: LeftOut, epoch: int) -> bool:
    if batch.state == "dropped":
        return batch.epoch == epoch
    return batch.retried_in is None or epoch < batch.retried_in


def set_aside(batches: Sequence[Batch]) -> tuple[LeftOut, ...]:
    """The batches about which somebody has to decide."""
    return tuple(b for b in failed_batches(batches) if b.state == "aside")


def failed_batches(batches: Sequence[Batch]) -> list[LeftOut]:
    """All batches that failed, whatever was decided about them since."""
    retries = {b.retry_of: b for b in batches if b.retry_of is not None}
    return [_left_out(b, retries.get(b.id)) for b in batches if not b.counts]


def _left_out(batch: Batch, retry: Batch | None) -> LeftOut:
    reason = (batch.reason or "no reason is known").splitlines()[0]
    what = (batch.id, batch.coordinator, batch.drop, batch.epoch, batch.events, batch.state, reason)
    if retry is not None:
        return LeftOut(*what, retry.id, retry.epoch)
    return LeftOut(*what, retry_at=batch.retry_at if batch.state == "aside" else None)
