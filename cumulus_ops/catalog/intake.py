"""Records of what comes in: deliveries, and what of them was put aside.

Rows that are not accepted are in the **quarantine**, whole, with a reason each; files that are not taken are **set aside**. Both stay
until somebody decides:

kept, aside ──► retried     read again, as a delivery of its own
            └─► dropped     it will never count
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = [
    "FileAside",
    "Intake",
    "KnownDelivery",
    "NewFileAside",
    "NewQuarantine",
    "QuarantinedRows",
    "Repeats",
    "StandingSource",
    "Taken",
    "TakenFile",
]


class TakenFile(NamedTuple):
    """A file that was taken: its size, when it was changed (nanoseconds since 1970), and the hash of its contents."""

    bytes: int
    changed: int
    digest: str


@dataclass(frozen=True)
class KnownDelivery:
    """A drop that was seen: its number, when it ``arrived`` (seconds since 1970), and, once it was appended, what was taken: ``identity``
    of its folder, its ``files`` by name, ``digest`` of their contents."""

    id: int
    name: str
    arrived: float
    identity: str = ""
    files: Mapping[str, TakenFile] = field(default_factory=dict)
    digest: str | None = None


@dataclass(frozen=True)
class Taken:
    """What was taken of a drop, for :class:`KnownDelivery`; ``files`` are added to those that were taken before."""

    coordinator: int
    name: str
    identity: str
    files: Mapping[str, TakenFile]
    digest: str | None = None


@dataclass(frozen=True)
class NewQuarantine:
    """A file with rejected rows of a relation, relative to the state folder. ``source`` is that of their events, ``reasons`` kind of reason ->
    rows; ``transactional``: their events are whole transactions, with rows of other relations."""

    relation: str
    path: str
    rows: int
    source: str = ""
    reasons: Mapping[str, int] = field(default_factory=dict)
    transactional: bool = False
    checksums: str | None = None


@dataclass(frozen=True)
class NewFileAside:
    """A file that was not taken, in words: where it is, the kind of reason, the reason, and what to do. ``relation`` is None if it belongs to
    none, or is a whole delivery; of a file with values of a seal it is ``clicks.campaign.seal``."""

    coordinator: int
    delivery: str
    relation: str | None
    place: str
    kind: str
    reason: str
    hint: str
    bytes: int | None = None


@dataclass(frozen=True)
class FileAside(NewFileAside):
    """A file that is set aside, or was (``state``: aside, retried, dropped). ``epoch`` is that of the delivery's batch, None if it has none;
    ``recorded_at`` is when that was found."""

    id: int = 0
    state: str = "aside"
    epoch: int | None = None
    recorded_at: datetime.datetime = datetime.datetime.min

    @property
    def label(self) -> str:
        """What ``cumulus quarantine`` calls it.

        >>> FileAside(0, "d1", None, "x.txt", "unknown-file", "belongs to no relation", "", id=3).label
        'F3'
        """
        return f"F{self.id}"


@dataclass(frozen=True)
class QuarantinedRows:
    """Rejected rows of one relation of a batch (``state``: kept, retried, dropped)."""

    id: int
    batch: int
    coordinator: int
    delivery: str
    epoch: int
    relation: str
    rows: int
    reasons: Mapping[str, int]
    state: str
    path: str
    source: str
    transactional: bool
    checksums: str | None = None

    @property
    def label(self) -> str:
        """What ``cumulus quarantine`` calls them: ``R7``."""
        return f"R{self.id}"


@dataclass(frozen=True)
class Repeats:
    """Rows of a delivery that had been accepted before, in the same words: they count once."""

    coordinator: int
    epoch: int
    delivery: str
    rows: int


@dataclass(frozen=True)
class StandingSource:
    """A source that could not be asked, or whose delivery could not be read: why, in the words of the last attempt, and since when,
    None if that is not known."""

    source: str
    problem: str
    since: datetime.datetime | None


@dataclass(frozen=True)
class Intake:
    """What an append records beside its batches. ``retried_rows`` and ``retried_files`` are the quarantined rows and the files set aside that it
    has read again: each is retried once."""

    taken: Taken | None = None
    asides: tuple[NewFileAside, ...] = ()
    retried_rows: tuple[int, ...] = ()
    retried_files: tuple[int, ...] = ()

    @property
    def is_retry(self) -> bool:
        """Whether somebody has asked for it, who wants to know why it cannot be."""
        return bool(self.retried_rows or self.retried_files)
