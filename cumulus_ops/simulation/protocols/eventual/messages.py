"""What coordinators and nodes send each other, and what they report to those who watch.

The kinds are named with the paper's words (Cumulus paper, sections 4.1 to 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cumulus_ops.simulation.case import Event, Stamp, Version
from cumulus_ops.simulation.kernel import Message
from cumulus_ops.simulation.layout import Segment
from m3.statements import Key

__all__ = [
    "Changed",
    "Commit",
    "Completed",
    "Confirmation",
    "Delta",
    "Dispatched",
    "Due",
    "EpochComplete",
    "Flush",
    "MapCheckpoint",
    "Notify",
    "PartialCheckpoint",
    "Period",
    "Processed",
    "Push",
    "Pushed",
    "Switched",
    "Token",
]


@dataclass(frozen=True)
class Notify(Message):
    """A coordinator tells a node that it processes an event."""

    event: Event

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.event.version,)


@dataclass(frozen=True)
class Delta:
    """A change of a segment that an event's statement makes. ``cascade``: 0 for what the statement gave first; a correction has
    one more than the delta that caused it."""

    stamp: Stamp
    segment: Segment
    entries: Mapping[Key, int]
    cascade: int


@dataclass(frozen=True)
class Push(Message):
    """Deltas for one holder of the segments."""

    deltas: tuple[Delta, ...]

    def about(self) -> tuple[Version, ...]:
        """The versions of the events whose statements gave the deltas."""
        return tuple(dict.fromkeys(d.stamp.version for d in self.deltas))


@dataclass(frozen=True)
class Flush(Message):
    """To itself: a buffer period is over."""

    receiver: int
    period_s: float


@dataclass(frozen=True)
class Due(Message):
    """To itself: a statement for an event has been held back for long enough."""

    stamp: Stamp


@dataclass(frozen=True)
class Token(Message):
    """Only who has it may switch epochs."""


@dataclass(frozen=True)
class Period(Message):
    """To itself: the holder of the token has waited for the duration of one period."""


@dataclass(frozen=True)
class Commit(Message):
    """A coordinator asks a node whether it has all events of the epoch, and of those before."""

    epoch: int


@dataclass(frozen=True)
class Confirmation(Message):
    """A node has received and processed all events of the epoch, and of those before, from the coordinator that asked, and they are in its history."""

    epoch: int


@dataclass(frozen=True)
class EpochComplete(Message):
    """Among coordinators: all nodes have confirmed to the sender. To a node: they have, to all coordinators."""

    epoch: int


@dataclass(frozen=True)
class MapCheckpoint(Message):
    """The sender will send no more deltas of these maps for the epoch, or for those before."""

    epoch: int
    maps: tuple[str, ...]


@dataclass(frozen=True)
class PartialCheckpoint(Message):
    """Goes round a cycle: how many deltas of its maps the nodes so far have sent each other and received, for the epoch and those before.
    ``settled``: nothing is under way in the cycle any more."""

    cycle: str
    epoch: int
    sent: int
    received: int
    settled: bool


@dataclass(frozen=True)
class Dispatched:
    """Report of a coordinator: an event went to these nodes."""

    version: Version
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Switched:
    """Report of a coordinator: it is in this epoch now."""

    epoch: int


@dataclass(frozen=True)
class Processed:
    """Report of a node: an event is in its history."""

    version: Version


@dataclass(frozen=True)
class Pushed:
    """Report of a node: it sends a delta of a history entry, the first (``cascade`` 0) or a corrective one. ``cause``: the write that arrived late."""

    stamp: Stamp
    target: str
    entries: Mapping[Key, int]
    cascade: int
    cause: Stamp | None


@dataclass(frozen=True)
class Changed:
    """Report of a node: a delta is in its copy of a segment."""

    stamp: Stamp
    segment: Segment


@dataclass(frozen=True)
class Completed:
    """Report of a node: it knows that an epoch is complete."""

    epoch: int
