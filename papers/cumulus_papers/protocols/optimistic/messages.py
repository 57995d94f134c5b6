"""What switches, nodes and clients send each other (semester paper, sections 3.2 to 3.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cumulus_papers.case import Stamp, Version
from cumulus_papers.kernel import Message
from cumulus_papers.run import Entries
from m3.statements import Key

__all__ = [
    "Answer",
    "Ask",
    "Asked",
    "Batch",
    "BatchDue",
    "BufferDue",
    "Corrective",
    "Delta",
    "EpochCommit",
    "EpochDue",
    "EpochEnd",
    "EpochEndRequest",
    "EpochReady",
    "Fetch",
    "Flush",
    "Push",
    "Put",
    "Query",
    "Result",
    "Slice",
    "TimeOut",
    "Token",
    "Wanted",
    "parts",
]


@dataclass(frozen=True)
class _OfEvent(Message):
    """A message about one update: its timestamp, and the number of its trigger."""

    version: Version
    trigger: int

    def about(self) -> tuple[Version, ...]:
        """The update's version."""
        return (self.version,)


@dataclass(frozen=True)
class Wanted:
    """A read of a statement, and the nodes that want what it reads: the write nodes. None are named where nodes know the layout."""

    statement: int
    read: int
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Fetch(_OfEvent):
    """FETCH, from a switch to a read node: send slices to the write nodes. ``wanted`` is empty where that follows from layout and trigger."""

    arguments: dict[str, Any]
    wanted: tuple[Wanted, ...]


@dataclass(frozen=True)
class Put(_OfEvent):
    """PUT, from a switch to a write node: statements to evaluate, and for each of a statement's reads the number of its FETCHes."""

    arguments: dict[str, Any]
    fetches: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Slice:
    """What a read node has for some reads of an update: those whose keys have the values ``key``. ``at`` is TSx, the last write in it, where
    pushes are suppressed; ``entries`` is None where the write node has them already, and only has to hear of the update."""

    reads: tuple[tuple[int, int], ...]
    key: Key | None
    at: Stamp | None
    entries: Entries | None


@dataclass(frozen=True)
class Push(_OfEvent):
    """PUSH, from a read node to a write node. ``arguments``: without PUTs it brings the trigger's."""

    slices: tuple[Slice, ...]
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Delta:
    """What a map has become more at a stamp (TSx)."""

    map: str
    at: Stamp
    entries: Entries


@dataclass(frozen=True)
class Corrective(Message):
    """A corrective update, from a read node to a write node: deltas of one TSx. ``hops``: for each of them, how many maps its
    cascade has passed."""

    version: Version
    deltas: tuple[Delta, ...]
    hops: tuple[int, ...]

    def about(self) -> tuple[Version, ...]:
        """TSx."""
        return (self.version,)


@dataclass(frozen=True)
class Query(Message):
    """QUERY, from a switch to a node: what does it have of a map, as of a timestamp?"""

    version: Version
    switch: int
    map: str


@dataclass(frozen=True)
class Answer(Message):
    """What a node has."""

    version: Version
    map: str
    entries: Entries


@dataclass(frozen=True)
class Ask(Message):
    """A client asks a switch for a map."""

    map: str


@dataclass(frozen=True)
class Asked(Message):
    """From outside: a client wants to know a map, from a switch."""

    switch: str
    map: str


@dataclass(frozen=True)
class Result(Message):
    """All of a map, tentatively, from a switch to a client."""

    version: Version
    map: str
    entries: Entries


@dataclass(frozen=True)
class EpochEnd(Message):
    """EPOCH END: from the switch that has the token to all others, and from each to the nodes. No event of the epoch follows."""

    epoch: int


@dataclass(frozen=True)
class EpochEndRequest(Message):
    """EPOCH END REQUEST, from a node that runs out of memory to its switch, and on from there until it meets the token."""

    epoch: int


@dataclass(frozen=True)
class EpochReady(Message):
    """EPOCH READY: the last processed timestamp, of a node, or the least of a switch's nodes."""

    epoch: int
    through: Version


@dataclass(frozen=True)
class EpochCommit(Message):
    """EPOCH COMMIT: the least of all."""

    epoch: int
    through: Version


@dataclass(frozen=True)
class Flush(Message):
    """Deltas are flushed down the dataflow: no more will come of these maps from the sender, up to these timestamps."""

    epoch: int
    maps: tuple[tuple[str, Version], ...]


@dataclass(frozen=True)
class Token(Message):
    """The right to end the epoch."""

    epoch: int


@dataclass(frozen=True)
class Batch(Message):
    """Several messages in one."""

    messages: tuple[Message, ...]

    def about(self) -> tuple[Version, ...]:
        """All of theirs."""
        return tuple(v for m in self.messages for v in m.about())


@dataclass(frozen=True)
class EpochDue(Message):
    """The period of an epoch is over."""

    epoch: int


@dataclass(frozen=True)
class BufferDue(Message):
    """The corrections of a map have been held back for long enough."""

    map: str


@dataclass(frozen=True)
class BatchDue(Message):
    """The batch for a receiver has been open for long enough."""

    receiver: str


@dataclass(frozen=True)
class TimeOut(Message):
    """A PUT has waited for its PUSHes for long enough."""

    at: Stamp


def parts(message: Message) -> Iterator[Message]:
    """What is in a batch, or the message itself."""
    if isinstance(message, Batch):
        yield from message.messages
    else:
        yield message
