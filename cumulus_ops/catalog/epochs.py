"""What has happened in an epoch, and to a view: immutable records for people who look."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["AppliedBatch", "EpochNumbers", "Newest", "Quarantined", "StepProblem", "Transition"]


@dataclass(frozen=True)
class EpochNumbers:
    """An epoch in numbers: events that count, what was left out of them while reading, corrected map entries, ``entries`` of its snapshot,
    ``seconds`` of work; and when its snapshot was committed (None: not yet) and validated, with which ``outcome`` (:mod:`cumulus_ops.verdicts`).
    ``repeats``: the epoch that its snapshot is the same as, for nothing was appended since. ``errors``: how many views are in error in it."""

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
    outcome: str | None = None
    repeats: int | None = None
    errors: int = 0

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


class AppliedBatch(NamedTuple):
    """When a batch was applied, in commits: it has read what was there at ``read_at`` and became visible with ``commit``; ``ticket``: its place in its
    epoch. ``in_time``: before its coordinator left the epoch, or was to."""

    epoch: int
    ticket: int
    read_at: int
    commit: int
    in_time: bool


@dataclass(frozen=True)
class Newest:
    """The newest snapshot in which a view is not in error, as far as is known. ``data_at``: when the newest data in it had come: None if
    it has none."""

    epoch: int
    committed_at: datetime.datetime
    data_at: datetime.datetime | None = None


@dataclass(frozen=True)
class Quarantined:
    """Rows of a relation that wait in quarantine for the same kind of ``reason``: how many, of how many batches."""

    relation: str
    reason: str
    rows: int
    batches: int


@dataclass(frozen=True)
class StepProblem:
    """A step that failed when it was tried last. ``coordinator``: whose it is, None if it is of the whole project; ``since``: its first failure
    in a row, of so many ``times``, ``at`` the latest; ``problem``: the first line of that one's error; ``log``: where more is said, "" if
    that is not known."""

    step: str
    coordinator: int | None
    kind: str
    problem: str
    since: datetime.datetime
    at: datetime.datetime
    times: int = 1
    log: str = ""

    @property
    def name(self) -> str:
        """Which step of whom."""
        return self.step if self.coordinator is None else f"{self.step} of coordinator {self.coordinator}"
