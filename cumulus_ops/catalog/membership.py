"""Who is a coordinator in which epoch, when it leaves the epoch, and who has the token: immutable records."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Boundary", "FencedSeal", "Member", "Membership", "Token", "moment_of", "seconds_of"]


@dataclass(frozen=True)
class Member:
    """A coordinator, from its ``first`` epoch to its ``last`` (both inclusive; None: there is no last one yet). ``epoch`` is the one
    it has open; ``awaited_since``: since when others wait for its seal, in seconds since 1970."""

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
        """Whether it has sealed its last epoch."""
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
    """When a coordinator leaves an epoch: ``ends_at`` (exclusive). ``reason``: ``clock`` when it was time; or early: ``sealed`` before
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
    """The right to seal: its ``holder``, and the ``number`` that grows with each hand-over."""

    holder: int
    number: int


@dataclass(frozen=True)
class FencedSeal:
    """That ``by`` (None: a person) has sealed the epoch in the name of ``coordinator``, and why."""

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
