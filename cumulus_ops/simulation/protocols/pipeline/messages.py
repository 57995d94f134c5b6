"""What switches and nodes send each other, and what they tell those who watch (system section, "Pipeline Scheduling")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cumulus_ops.simulation.case import UNDECIDED, Version
from cumulus_ops.simulation.kernel import Message
from cumulus_ops.simulation.layout import Segment
from cumulus_ops.simulation.protocols.blocking.collation import Pushed, Reference

__all__ = [
    "Alarm",
    "Answered",
    "CurrentTick",
    "Evaluated",
    "FetchPart",
    "MaximumTick",
    "Posted",
    "Push",
    "PushPart",
    "PutPart",
    "TentativePut",
]


@dataclass(frozen=True)
class PutPart:
    """The event's PUT ``number``: a statement's addition to ``target``, from the answers to so many FETCHes."""

    number: int
    statement: int
    target: Segment
    fetches: int


@dataclass(frozen=True)
class FetchPart:
    """Read ``refs``, of maps of one depth, for a statement of the event; the answer goes to ``node``, for PUT number ``put``."""

    statement: int
    refs: tuple[Reference, ...]
    node: int
    put: int


@dataclass(frozen=True)
class PushPart:
    """The answer to one FETCH of an event, for its PUT number ``put``."""

    version: Version
    put: int
    values: tuple[Pushed, ...]


@dataclass(frozen=True)
class TentativePut(Message):
    """Switch to participating node: what it will have to do for an event, at a tick that is not known yet."""

    switch: int
    sequence: int
    sign: int
    relation: str
    row: tuple[Any, ...]
    puts: tuple[PutPart, ...]
    fetches: tuple[FetchPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The event, whose tick is not known."""
        return (Version(UNDECIDED, self.switch, self.sequence),)


@dataclass(frozen=True)
class CurrentTick(Message):
    """Node to switch: the answer, with the node's tick."""

    switch: int
    sequence: int
    tick: int

    def about(self) -> tuple[Version, ...]:
        """The event, whose tick is not known."""
        return (Version(UNDECIDED, self.switch, self.sequence),)


@dataclass(frozen=True)
class MaximumTick(Message):
    """Switch to participating node: the event is posted at the maximum of the ticks returned, which is its version's first number."""

    version: Version

    def about(self) -> tuple[Version, ...]:
        """The event's version."""
        return (self.version,)


@dataclass(frozen=True)
class Push(Message):
    """Node to node: what was read at the end of a tick."""

    parts: tuple[PushPart, ...]

    def about(self) -> tuple[Version, ...]:
        """The versions of the reading events."""
        return tuple(dict.fromkeys(part.version for part in self.parts))


@dataclass(frozen=True)
class Alarm(Message):
    """A node's clock: a tick has begun, and there was something to do before."""


@dataclass(frozen=True)
class Posted:
    """Told to those who watch: a node that had answered ``reply``, and has closed tick ``closed``, learns an event's tick."""

    version: Version
    reply: int
    closed: int


@dataclass(frozen=True)
class Evaluated:
    """Told to those who watch: an update was evaluated in ``tick``, when ``closed`` was the last tick closed."""

    version: Version
    map: str
    tick: int
    closed: int
    pushes: int
    fetches: int


@dataclass(frozen=True)
class Answered:
    """Told to those who watch: a FETCH was answered for ``tick``, when ``closed`` was the last tick closed."""

    version: Version
    map: str
    tick: int
    closed: int
