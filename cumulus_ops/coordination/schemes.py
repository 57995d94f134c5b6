"""Version schemes: what the versions of a program's events are, and which of them a read within the same batch counts.

One rule holds under every scheme: versions are one total order of int64 in which epochs come one after the other, and a read
counts strictly earlier versions (``AFTER``: its own as well). What a scheme decides is which places there are in that order:

- **event**: (epoch, coordinator, sequence), the version identifiers of the Cumulus paper, section 4.1, and in each of them a
  place per statement. What an event reads are all events stamped before it, in its own batch, too.
- **batch**: (epoch, ticket), and in each of them a place per relation, its *rank*. All events of one relation in a batch are one
  change, added up by key. These are not the paper's versions: the ticket is drawn when a batch is applied for the first
  time, so that within an epoch batches count in the order in which they are applied, not in that of their stamps.

**When batch versions end where the paper's would.** Where each map of a program is a function of what the relations contain, any order
of the same events ends in the same maps, and any total order that respects epochs may stand in for the order of stamps. So
it is with programs compiled from SQL, and with many that are written by hand. Where a relation is joined with itself,
one of the two reads must be ``AFTER``: events that share a version are joined with the state before all of them once, and with the
state after all of them once. Then the maps are the paper's at the end of every epoch, which is all that a snapshot shows; in between,
and in the number of corrections, they are not. :func:`m3.confluence.proof.prove` finds out, from a program's triggers alone, when
a project is initialised; the catalog keeps the scheme from then on.

A program has one scheme. Its two packings share their bits, so a ticket would be compared with a coordinator where both
occurred (decision 23).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from cumulus_ops.project.versions import (
    FIRST_STAGE,
    RANK_BITS,
    RANKS_MAX,
    STATEMENT_BITS,
    STATEMENTS_MAX,
    TICKETS_MAX,
    batch_version,
    epoch_of,
    event_version,
)

__all__ = ["BatchVersions", "EventVersions", "Place", "Stamped", "VersionScheme", "scheme_named"]

V = TypeVar("V", int, np.ndarray)


class Stamped(Protocol):
    """An appended batch: where its events were stamped, and the ticket it has drawn (None: not yet)."""

    @property
    def epoch(self) -> int:
        """The epoch of all its events."""

    @property
    def coordinator(self) -> int:
        """Who stamped them."""

    @property
    def first_sequence(self) -> int:
        """The sequence number of the first one."""

    @property
    def events(self) -> int:
        """How many they are; their sequence numbers are consecutive."""

    @property
    def ticket(self) -> int | None:
        """Drawn when the batch is applied."""


class Place(NamedTuple):
    """Where a statement stands in its batch: the rank of its relation, and its offset within an event."""

    rank: int
    offset: int


class VersionScheme(ABC):
    """What the versions of a program are. ``name`` is what the catalog keeps; ``place_bits`` is how many of a version's lowest bits
    number the places in one event, or batch; ``summed``: whether a relation's events in a batch are one change, added up by key;
    ``takes_turns``: whether within an epoch the coordinators' priorities say whose events count first, so that each is to have each place in
    turn (decision 47)."""

    name: ClassVar[str]
    place_bits: ClassVar[int]
    summed: ClassVar[bool]
    takes_turns: ClassVar[bool]

    @property
    def places(self) -> int:
        """How many places one event, or batch, has."""
        return 1 << self.place_bits

    @property
    def start(self) -> int:
        """The version of what there is before the first event: the last event, or batch, below epoch 0.

        >>> EventVersions().start, BatchVersions().start
        (-128, -4096)
        """
        return -self.places

    def whole(self, version: V) -> V:
        """The first place (inclusive) of the event, or batch, that ``version`` belongs to.

        >>> EventVersions().whole(7 * 128 + 3) == 7 * 128
        True
        """
        return (version >> self.place_bits) << self.place_bits

    def stage(self, version: V, stage: int) -> V:
        """The version of what a derivation changes in the event, or batch, that ``version`` belongs to; ``stage`` is its place."""
        return self.whole(version) | stage

    def newest(self, batch: Stamped, rank: int) -> int:
        """An upper bound (inclusive) of the versions of one relation's events in a batch, without reading them."""
        stamp = self.stamp(batch, rank)
        return self.span(batch)[1] if stamp is None else stamp

    @abstractmethod
    def span(self, batch: Stamped) -> tuple[int, int]:
        """The versions (both inclusive) of a batch's events, and of what derivations make of them; no other batch has any of
        them."""

    @abstractmethod
    def stamp(self, batch: Stamped, rank: int) -> int | None:
        """The version that all events of a relation share in a batch, None if each has its own."""

    @abstractmethod
    def batch_at(self, version: int) -> tuple[int, int]:
        """(epoch, ticket): no batch that comes before these can have a version at or after ``version``."""

    @property
    @abstractmethod
    def first_stage(self) -> int:
        """The place of the first derivation: after all others."""

    @abstractmethod
    def reads_own(self, reader: Place, after: bool, writer: Place) -> bool:
        """Whether some event may read what some event of the same batch adds, given the places of the two statements.
        ``after``: the read counts its own version, too."""

    def within(self, versions: np.ndarray, batches: Sequence[Stamped]) -> np.ndarray:
        """Which versions belong to some of the batches, or to the start."""
        spans = [self.span(b) for b in batches]
        found = versions < 0
        for first, last in spans:
            found |= (first <= versions) & (versions <= last)
        return found


class EventVersions(VersionScheme):
    """(epoch, coordinator, sequence | statement): every event has its own version, in the order of stamps."""

    name = "event"
    place_bits = STATEMENT_BITS
    summed = False
    takes_turns = True

    def span(self, batch: Stamped) -> tuple[int, int]:
        """See :meth:`VersionScheme.span`: from its first event to the last statement of its last one."""
        last = batch.first_sequence + max(0, batch.events - 1)
        first = event_version(batch.epoch, batch.coordinator, batch.first_sequence)
        return first, event_version(batch.epoch, batch.coordinator, last, STATEMENTS_MAX - 1)

    def stamp(self, batch: Stamped, rank: int) -> None:
        """See :meth:`VersionScheme.stamp`: stamps are in the log."""

    def batch_at(self, version: int) -> tuple[int, int]:
        """See :meth:`VersionScheme.batch_at`: tickets do not say."""
        return epoch_of(version), 0

    @property
    def first_stage(self) -> int:
        """See :meth:`VersionScheme.first_stage`: derivations are for programs without sequential statements."""
        return 1

    def reads_own(self, reader: Place, after: bool, writer: Place) -> bool:
        """See :meth:`VersionScheme.reads_own`: any event may come after any other one."""
        return True


class BatchVersions(VersionScheme):
    """(epoch, ticket | rank): all events of a relation in a batch share one version; relations are ordered by rank."""

    name = "batch"
    place_bits = RANK_BITS
    summed = True
    takes_turns = False

    def span(self, batch: Stamped) -> tuple[int, int]:
        """See :meth:`VersionScheme.span`: all ranks of its ticket."""
        ticket = batch.ticket or 0
        return batch_version(batch.epoch, ticket), batch_version(batch.epoch, ticket, RANKS_MAX - 1)

    def stamp(self, batch: Stamped, rank: int) -> int:
        """See :meth:`VersionScheme.stamp`."""
        return batch_version(batch.epoch, batch.ticket or 0, rank)

    def batch_at(self, version: int) -> tuple[int, int]:
        """See :meth:`VersionScheme.batch_at`."""
        return epoch_of(version), (version >> RANK_BITS) % TICKETS_MAX

    @property
    def first_stage(self) -> int:
        """See :meth:`VersionScheme.first_stage`: after all relations, however many are added."""
        return FIRST_STAGE

    def reads_own(self, reader: Place, after: bool, writer: Place) -> bool:
        """See :meth:`VersionScheme.reads_own`: only what an earlier place has added, or with ``after`` the same one."""
        return writer.rank + writer.offset < reader.rank + reader.offset + after


_SCHEMES: dict[str, VersionScheme] = {s.name: s for s in (EventVersions(), BatchVersions())}


def scheme_named(name: str) -> VersionScheme:
    """The scheme that the catalog calls ``name``: ``event`` or ``batch``.

    >>> scheme_named("batch").summed
    True
    """
    return _SCHEMES[name]
