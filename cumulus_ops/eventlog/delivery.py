"""What a source hands over: a delivery is appended as a whole, into one epoch, or not at all."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from cumulus_ops.catalog import Intake, NewFileAside, Taken
from cumulus_ops.eventlog.raw import RawFile

__all__ = ["PRODUCER", "RETRIES", "SEAL", "Delivery", "Part", "SealPart"]

#: What the names of files with values of a seal end in, before their format.
SEAL, PRODUCER = "seal", "producer"
#: The space of names of retries, which end in the label of what is retried. No source is called so.
RETRIES = "/"


@dataclass(frozen=True)
class Part:
    """The rows of one relation in a delivery: a file of a drop, or a table's changes.

    ``place`` names it for people. ``read`` yields its rows as they came, with the columns ``op`` and ``event`` beside the relation's,
    in pieces that no event crosses; it may be called again, and yields the same. If it raises an
    :class:`~cumulus_ops.errors.InputProblem`, all of the part is set aside, and the rest of its delivery goes on, if it can be read later: it
    is a file of a drop. A source with a position stands still. ``read_apart`` yields the same, read by a process of its own: for when others
    have died of it; None if that cannot be.
    """

    relation: str
    place: str
    read: Callable[[], Iterator[RawFile]]
    read_apart: Callable[[], Iterator[RawFile]] | None = None


@dataclass(frozen=True)
class SealPart:
    """Values of a seal in a delivery: a file of a drop, such as ``clicks.campaign.seal.csv``.

    Its coordinator seals them, after all rows of the delivery have counted; or, if it ``announces`` them, says that it has events of them.
    ``read`` and ``read_apart`` yield rows with the seal's columns, as those of a :class:`Part` do.
    """

    relation: str
    seal: str
    announces: bool
    place: str
    read: Callable[[], Iterator[RawFile]]
    read_apart: Callable[[], Iterator[RawFile]] | None = None

    @property
    def name(self) -> str:
        """What its rows in the quarantine are called by, in the place of a relation.

        >>> SealPart("clicks", "campaign", False, "", lambda: iter(())).name
        'clicks.campaign.seal'
        """
        return f"{self.relation}.{self.seal}.{PRODUCER if self.announces else SEAL}"


@dataclass(frozen=True)
class Delivery:
    """What is appended at once.

    ``parts`` opens it: nothing is read before. What it names that has no rows to read is set aside. The seals among them count last. ``source`` names where it comes from: events
    with the same number of the same source and relation are the same event. ``name`` is unique within its space (:meth:`space`). ``arrived`` decides
    which epoch it belongs to.

    Sources that have a position are at ``begin`` before the delivery and at ``position`` after it; the catalog advances it in the
    transaction that appends the delivery, and refuses one that does not begin where the last one ended. Others have None, and the
    catalog remembers the names.

    In a ``transactional`` delivery, rows with the same ``event`` are one transaction, whatever their relations: they are accepted
    or rejected together.

    ``taken`` is called when all is read, and says what that was; it raises :class:`~cumulus_ops.errors.NotYet` if it changed meanwhile.
    ``intake`` is recorded with it. ``place`` is where it lies, for people.

    ``trial`` is called before it is read where processes have died of that: it reads it in one of its own, and raises
    :class:`~cumulus_ops.errors.SetupProblem` if that dies, too. ``apart``: one is known to have died, and its parts are read apart at once.
    """

    source: str
    name: str
    arrived: datetime.datetime
    parts: Callable[[], Iterable[Part | SealPart | NewFileAside]]
    begin: str | None = None
    position: str | None = None
    transactional: bool = False
    taken: Callable[[], Taken] | None = None
    intake: Intake = field(default_factory=Intake)
    place: str = ""
    trial: Callable[[], None] | None = None
    apart: bool = False

    def space(self, coordinator: int) -> str:
        """Among whose names its name is: those of drops (""), of a source (its name), or of retries. A drop's name is anybody's choice, and
        so may be what a source calls a delivery.

        Args:
            coordinator: whose delivery it is; the source of drops has its number for a name.
        """
        if self.intake.is_retry:
            return RETRIES
        return "" if self.source == str(coordinator) else self.source
