"""What a source hands over: a delivery is appended as a whole, into one epoch, or not at all."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from cumulus_ops.eventlog.raw import RawFile

__all__ = ["Delivery", "Part"]


@dataclass(frozen=True)
class Part:
    """The rows of one relation in a delivery: a file of a drop, or a table's changes.

    ``place`` names it for people. ``read`` yields its rows as they came, with the columns ``op`` and ``event`` beside the relation's,
    in pieces that no event crosses; it may be called again, and yields the same.
    """

    relation: str
    place: str
    read: Callable[[], Iterator[RawFile]]


@dataclass(frozen=True)
class Delivery:
    """What is appended at once.

    ``parts`` opens it: nothing is read before. ``source`` names where it comes from: events with the same number of the same source and relation are the same event.
    ``name`` is unique within the coordinator. ``arrived`` decides which epoch it belongs to.

    Sources that have a position are at ``begin`` before the delivery and at ``position`` after it; the catalog advances it in the
    transaction that appends the delivery, and refuses one that does not begin where the last one ended. Others have None, and the
    catalog remembers the names.

    In a ``transactional`` delivery, rows with the same ``event`` are one transaction, whatever their relations: they are accepted
    or rejected together.
    """

    source: str
    name: str
    arrived: datetime.datetime
    parts: Callable[[], Iterable[Part]]
    begin: str | None = None
    position: str | None = None
    transactional: bool = False
