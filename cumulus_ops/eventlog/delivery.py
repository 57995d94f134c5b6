"""What a source hands over: a delivery is appended as a whole, into one epoch, or not at all."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from cumulus_ops.catalog import Intake, NewFileAside, Taken
from cumulus_ops.eventlog.raw import RawFile

__all__ = ["Delivery", "Part"]


@dataclass(frozen=True)
class Part:
    """The rows of one relation in a delivery: a file of a drop, or a table's changes.

    ``place`` names it for people. ``read`` yields its rows as they came, with the columns ``op`` and ``event`` beside the relation's,
    in pieces that no event crosses; it may be called again, and yields the same. If it raises an
    :class:`~cumulus_ops.errors.InputProblem`, all of the part is set aside, and the rest of its delivery goes on, if it can be read later: it
    is a file of a drop. A source with a position stands still.
    """

    relation: str
    place: str
    read: Callable[[], Iterator[RawFile]]


@dataclass(frozen=True)
class Delivery:
    """What is appended at once.

    ``parts`` opens it: nothing is read before. What it names that has no rows to read is set aside. ``source`` names where it comes from: events
    with the same number of the same source and relation are the same event. ``name`` is unique within the coordinator. ``arrived`` decides
    which epoch it belongs to.

    Sources that have a position are at ``begin`` before the delivery and at ``position`` after it; the catalog advances it in the
    transaction that appends the delivery, and refuses one that does not begin where the last one ended. Others have None, and the
    catalog remembers the names.

    In a ``transactional`` delivery, rows with the same ``event`` are one transaction, whatever their relations: they are accepted
    or rejected together.

    ``taken`` is called when all is read, and says what that was; it raises :class:`~cumulus_ops.errors.NotYet` if it changed meanwhile.
    ``intake`` is recorded with it. ``place`` is where it lies, for people.
    """

    source: str
    name: str
    arrived: datetime.datetime
    parts: Callable[[], Iterable[Part | NewFileAside]]
    begin: str | None = None
    position: str | None = None
    transactional: bool = False
    taken: Callable[[], Taken] | None = None
    intake: Intake = field(default_factory=Intake)
    place: str = ""
