"""What has happened in an epoch, and to a view: immutable records for people who look."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

__all__ = ["EpochNumbers", "Newest", "Quarantined", "Transition"]


@dataclass(frozen=True)
class EpochNumbers:
    """An epoch in numbers: events that count, what was left out of them while reading, corrected map entries, ``entries`` of its snapshot,
    ``seconds`` of work; and when its snapshot was committed (None: not yet) and validated, with which ``success``.
    ``repeats``: the epoch that its snapshot is the same as, for nothing was appended since."""

    epoch: int
    inserts: int = 0
    deletes: int = 0
    quarantined: int = 0
    duplicates: int = 0
    seconds: float = 0.0
    corrections: int = 0
    entries: int = 0
    committed_at: datetime.datetime | None = None
    validated_at: datetime.datetime | None = None
    success: bool | None = None
    repeats: int | None = None

    @property
    def events(self) -> int:
        """Rows inserted or deleted."""
        return self.inserts + self.deletes


@dataclass(frozen=True)
class Transition:
    """The end of an epoch for a coordinator: ``ends_at``, the boundary, and for what ``reason`` (``clock``, or an early end); ``sealed_at``,
    by whom if ``fenced`` (the reason), None while it is not sealed."""

    epoch: int
    coordinator: int
    ends_at: datetime.datetime | None = None
    reason: str = ""
    sealed_at: datetime.datetime | None = None
    fenced: str | None = None


@dataclass(frozen=True)
class Newest:
    """The newest snapshot in which a view is not in error, as far as is known."""

    epoch: int
    committed_at: datetime.datetime


@dataclass(frozen=True)
class Quarantined:
    """Rows of a relation that wait in quarantine for the same kind of ``reason``: how many, of how many batches."""

    relation: str
    reason: str
    rows: int
    batches: int
