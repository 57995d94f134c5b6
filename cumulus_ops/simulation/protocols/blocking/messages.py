"""What the switch and the nodes send each other, and what they tell those who watch (system section, "Anatomy of an Update").

A message has **parts**, several only with coalescing: all that goes from one place to another for one event is one message then. Whatever its
message, a part has its own version number, and the FETCHes that a PUT waits for are counted by parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from cumulus_ops.simulation.case import Event, Version
from cumulus_ops.simulation.kernel import Message
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.protocols.blocking.collation import Pushed, Reference

__all__ = [
    "Answered",
    "AskStatus",
    "Commit",
    "Completed",
    "EpochEnd",
    "Executed",
    "Fetch",
    "FetchPart",
    "Push",
    "PushPart",
    "Put",
    "PutPart",
    "Snapshot",
    "Status",
]


@dataclass(frozen=True)
class PutPart:
    """Version ``number`` of the node: a statement's addition to ``target``, from the answers to so many FETCHes."""

    number: int
    statement: int
    target: Segment
    fetches: int


@dataclass(frozen=True)
class FetchPart:
    """Read ``refs`` in the node's version ``number``, for the PUT that is version ``put`` of ``node``."""

    number: int
    refs: tuple[Reference, ...]
    node: int
    put: int


@dataclass(frozen=True)
class PushPart:
    """The answer to one FETCH, for the PUT that is version ``put``."""

    put: int
    values: tuple[Pushed, ...]


@dataclass(frozen=True)
class Put(Message):
    """Switch to node: write."""

    event: Event
    parts: tuple[PutPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.event.version,)


@dataclass(frozen=True)
class Fetch(Message):
    """Switch to node: read, and push the result."""

    version: Version
    parts: tuple[FetchPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The reading event's version."""
        return (self.version,)


@dataclass(frozen=True)
class Push(Message):
    """Node to node: what was read."""

    version: Version
    parts: tuple[PushPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The reading event's version."""
        return (self.version,)


@dataclass(frozen=True)
class Status(Message):
    """Switch to node: which PUTs are complete?"""


@dataclass(frozen=True)
class Completed(Message):
    """Node to switch: all up to this number."""

    number: int


@dataclass(frozen=True)
class Commit(Message):
    """Switch to node: your version ``number`` belongs to the snapshot after all events up to ``through``."""

    number: int
    through: Version


@dataclass(frozen=True)
class EpochEnd(Message):
    """The switch's clock: the next epoch begins."""


@dataclass(frozen=True)
class AskStatus(Message):
    """The switch's clock: time to look what can be committed."""


@dataclass(frozen=True)
class Executed:
    """Told to those who watch: a PUT was executed, after version ``after``, with ``pushes`` of so many ``fetches``."""

    number: int
    after: int
    pushes: int
    fetches: int


@dataclass(frozen=True)
class Answered:
    """Told to those who watch: a FETCH for version ``number`` was answered when ``done`` was complete."""

    number: int
    done: int


@dataclass(frozen=True)
class Snapshot:
    """Told to those who watch: COMMIT of version ``number`` came when ``done`` was complete; ``discarded`` values were overwritten before."""

    number: int
    done: int
    discarded: int
