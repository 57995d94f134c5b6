"""Who is in which epoch, and what has happened in one, and to a view: immutable records, and what follows from them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cumulus_ops.catalog.records import Batch, ViewError
from cumulus_ops.project.errors import DAMAGED

__all__ = [
    "AppliedBatch",
    "Boundary",
    "EpochNumbers",
    "Failure",
    "FencedVote",
    "InError",
    "LeftOut",
    "Member",
    "Membership",
    "Newest",
    "Quarantined",
    "StepProblem",
    "Token",
    "Transition",
    "failed_batches",
    "in_error",
    "left_out",
    "moment_of",
    "seconds_of",
]


# Who is a coordinator in which epoch, when it leaves the epoch, and who has the token: immutable records.


@dataclass(frozen=True)
class Member:
    """A coordinator, from its ``first`` epoch to its ``last`` (both inclusive; None: there is no last one yet). ``epoch`` is the one
    it has open; ``awaited_since``: since when others wait for its vote, in seconds since 1970."""

    coordinator: int
    first: int
    last: int | None
    epoch: int
    awaited_since: float | None = None

    def is_in(self, epoch: int) -> bool:
        """Whether it takes part in the epoch, and thus in the vote on it."""
        return self.first <= epoch and (self.last is None or epoch <= self.last)

    @property
    def is_gone(self) -> bool:
        """Whether it has voted to end its last epoch."""
        return self.last is not None and self.epoch > self.last


@dataclass(frozen=True)
class Membership:
    """All memberships that there have been; one coordinator may have had several.

    >>> who = Membership((Member(0, 0, None, 3), Member(1, 0, 2, 3), Member(2, 4, None, 4)))
    >>> [who.of(epoch) for epoch in (2, 3, 4)]
    [(0, 1), (0,), (0, 2)]
    """

    all: tuple[Member, ...]

    def of(self, epoch: int) -> tuple[int, ...]:
        """The coordinators that take part in an epoch, ascending, which is the order of their priorities."""
        return tuple(sorted(m.coordinator for m in self.all if m.is_in(epoch)))

    def active(self) -> Iterator[Member]:
        """Those who have an epoch to work in, now or soon."""
        return (m for m in self.all if m.is_in(m.epoch))

    def find(self, coordinator: int) -> Member | None:
        """The membership that a coordinator has now, or had last."""
        return max((m for m in self.all if m.coordinator == coordinator), key=lambda m: m.first, default=None)


@dataclass(frozen=True)
class Boundary:
    """When a coordinator leaves an epoch: ``ends_at`` (exclusive). ``reason``: ``clock`` when it was time; or early: ``voted`` before
    it was, on ``request``, for too many ``events``, by a ``fence``; None while the time is only proposed."""

    epoch: int
    coordinator: int
    ends_at: datetime.datetime
    reason: str | None = None

    @property
    def is_early(self) -> bool:
        """Whether what was not appended by then belongs to the next epoch, whenever it landed."""
        return self.reason not in (None, "clock")


@dataclass(frozen=True)
class Token:
    """The right to vote: its ``holder``, and the ``number`` that grows with each hand-over."""

    holder: int
    number: int


@dataclass(frozen=True)
class FencedVote:
    """That ``by`` (None: a person) has voted to end the epoch in the name of ``coordinator``, and why."""

    epoch: int
    coordinator: int
    by: int | None
    reason: str

    def __str__(self) -> str:
        who = "a person" if self.by is None else f"coordinator {self.by}"
        return f"coordinator {self.coordinator} was fenced in epoch {self.epoch} by {who}: {self.reason}"


def seconds_of(moment: datetime.datetime) -> float:
    """A point in time as whole microseconds, in seconds since 1970.

    >>> moment_of(seconds_of(moment_of(1767225600.000001)))
    datetime.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    return round(moment.timestamp() * 1e6) / 1e6


def moment_of(seconds: float) -> datetime.datetime:
    """Inverse of :func:`seconds_of`."""
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return epoch + datetime.timedelta(microseconds=round(seconds * 1e6))


def in_utc(at: datetime.datetime) -> datetime.datetime:
    """A point in time as the database gives it: SQLite forgets time zones, and all of ours are UTC."""
    return at.replace(tzinfo=datetime.UTC) if at.tzinfo is None else at.astimezone(datetime.UTC)


@dataclass(frozen=True)
class EpochNumbers:
    """An epoch in numbers: events that count, what was left out of them while reading, corrected map entries, ``entries`` of its snapshot,
    ``seconds`` of work; and when its snapshot was committed (None: not yet) and validated, with which ``outcome`` (:mod:`cumulus_ops.project.verdicts`).
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
    """The end of an epoch for a coordinator: ``ends_at``, the boundary, and for what ``reason`` (``clock``, or an early end); ``voted_at``,
    by whom if ``fenced`` (the reason), None while it has no vote."""

    epoch: int
    coordinator: int
    ends_at: datetime.datetime | None = None
    reason: str = ""
    voted_at: datetime.datetime | None = None
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
    it has none. ``now``: what now() is in it; None if no view depends on it, or no tick has come yet."""

    epoch: int
    committed_at: datetime.datetime
    data_at: datetime.datetime | None = None
    now: datetime.datetime | None = None


@dataclass(frozen=True)
class Quarantined:
    """Rows of a relation that wait in quarantine for the same kind of ``reason``: how many, of how many batches."""

    relation: str
    reason: str
    rows: int
    batches: int


@dataclass(frozen=True)
class Failure:
    """One thing that a step has failed for: the ``kind`` of the error, the first line of what it says, and the ``file`` that it is about, "" if that is not known."""

    kind: str
    problem: str
    file: str = ""

    @property
    def waits(self) -> bool:
        """Whether a file is damaged, and the step can go on when somebody has made it again."""
        return self.kind in DAMAGED


@dataclass(frozen=True)
class StepProblem:
    """A step that failed when it was tried last. ``coordinator``: whose it is, None if it is of the whole project; ``since``: its first failure
    in a row, of so many ``times``, ``at`` the latest; ``kind``, ``problem`` and ``file``: see :class:`Failure`; ``log``: where
    more is said, "" if that is not known; ``others``: what it has met besides."""

    step: str
    coordinator: int | None
    kind: str
    problem: str
    since: datetime.datetime
    at: datetime.datetime
    times: int = 1
    log: str = ""
    file: str = ""
    others: tuple[Failure, ...] = ()

    @property
    def told(self) -> str:
        """What it has met, in a line: the first thing, and where else there was something.

        >>> now = datetime.datetime.now()
        >>> StepProblem("merge", None, "kind", "a is damaged", now, now, others=(Failure("kind", "b is damaged", "b"),)).told
        'a is damaged; and 1 more: b'
        """
        named = [failure.file or failure.problem for failure in self.others[:NAMED]]
        dots = ", .." if len(self.others) > NAMED else ""
        return f"{self.problem}; and {len(self.others)} more: {', '.join(named)}{dots}" if named else self.problem

    @property
    def name(self) -> str:
        """Which step of whom."""
        return self.step if self.coordinator is None else f"{self.step} of coordinator {self.coordinator}"

    @property
    def failures(self) -> tuple[Failure, ...]:
        """All that it has met."""
        return Failure(self.kind, self.problem, self.file), *self.others

    @property
    def waits(self) -> bool:
        """Whether it has met damaged files, and nothing else, and waits until somebody has made them again."""
        return all(failure.waits for failure in self.failures)

    @property
    def state(self) -> str:
        """What it does: ``fails``, or ``waits``."""
        return "waits" if self.waits else "fails"

    @property
    def hint(self) -> str:
        """What to do about it."""
        return RECOVER_STEP if self.waits else "mend that; the next time that it succeeds, this goes away"


#: Of what a step has met besides so many are named.
NAMED = 3
#: What to do where a step waits for a file.
RECOVER_STEP = (
    "`cumulus recover` makes the file again, or says what goes on without it (`--dry-run` first says from what, and how long it takes); "
    "the step goes on by itself when it is tried next"
)

# Which views are in error in a snapshot, since when, and why: for everybody who reports about one.


@dataclass(frozen=True)
class InError:
    """A view that has no rows in the snapshot of ``epoch``, nor in any since that of ``since`` (inclusive). ``quoted``: the lines of its file at
    the place, underlined, if somebody has looked there."""

    view: str
    epoch: int
    since: int
    kind: str
    message: str
    place: str
    hint: str
    quoted: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"since epoch {self.since}: {self.reason}"

    @property
    def reason(self) -> str:
        """Which expression fails, where it is written, and for which row."""
        return f"{self.place}: {self.message}" if self.place else self.message


def in_error(errors: Sequence[ViewError], epoch: int) -> tuple[InError, ...]:
    """The views that are in error in the snapshot of ``epoch``, by their names.

    >>> why = ("division-by-zero", "view q is in error: a / b fails", "q.sql:1:8", "")
    >>> [str(e) for e in in_error([ViewError("q", e, *why) for e in (1, 3, 4)], 4)]
    ['since epoch 3: q.sql:1:8: view q is in error: a / b fails']

    Args:
        errors: all recorded errors.
        epoch: the snapshot's epoch.
    """
    known = {(e.view, e.epoch) for e in errors}
    here = sorted((e for e in errors if e.epoch == epoch), key=lambda e: e.view)
    return tuple(InError(e.view, epoch, _since(known, e), e.kind, e.message, e.place, e.hint) for e in here)


def _since(known: set[tuple[str, int]], error: ViewError) -> int:
    first = error.epoch
    while (error.view, first - 1) in known:
        first -= 1
    return first


# Which batches a snapshot is without, and why: for everybody who reports about one.


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


def left_out(failed: Sequence[LeftOut], epoch: int) -> tuple[LeftOut, ...]:
    """The batches that the snapshot of ``epoch`` is without. One that is set aside is missing from its own epoch on; one that
    was retried, up to the epoch before its retry's; one that was dropped is named in its own epoch only: no later one is to
    have it.

    Args:
        failed: all batches that failed, as the catalog says.
        epoch: the snapshot's epoch.
    """
    return tuple(b for b in failed if b.epoch <= epoch and _is_missed(b, epoch))


def _is_missed(batch: LeftOut, epoch: int) -> bool:
    if batch.state == "dropped":
        return batch.epoch == epoch
    return batch.retried_in is None or epoch < batch.retried_in


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
