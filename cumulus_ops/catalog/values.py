"""Records of sealed values: what an append says of them, and what the catalog knows.

A **seal** is a punctuation on columns of a relation: who has sealed a value of theirs has no more events of it. A value is **closed** when
everybody has sealed it who could have some:

nobody has it ──► open     its producers are registered: with their first event of it, or before
              └─► closed   its producers have sealed it; no event of it is accepted any more
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

__all__ = [
    "ClosedValue",
    "OpenValue",
    "SealChange",
    "SealCounts",
    "Sealing",
    "UnsettledBatch",
    "ValueState",
    "shown_value",
]


@dataclass(frozen=True)
class SealChange:
    """What an append says of values of one seal: those for which its coordinator ``registers``, and those that it ``seals``. ``producers``: whose
    seals close a value that nobody has registered for yet (:class:`~cumulus_ops.project.settings.SealSettings`); ``columns``: the seal's."""

    relation: str
    seal: str
    producers: str
    registers: tuple[str, ...] = ()
    seals: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sealing:
    """All that an append says of values. ``sealed_values`` is how many its coordinator had sealed when its events were judged: if there are
    more by now, they have to be judged again. ``known``: by relation and seal, the values that were found to be open for it, and that it is registered for."""

    sealed_values: int
    changes: tuple[SealChange, ...] = ()
    known: Mapping[tuple[str, str], Set[str]] = field(default_factory=dict)

    @property
    def has_seals(self) -> bool:
        """Whether a value may be closed by it."""
        return any(change.seals for change in self.changes)


@dataclass(frozen=True)
class ValueState:
    """What is known of a value, for one coordinator: whether it ``is_registered`` for it, and when it has sealed it; ``other``: who alone may have
    events of it, if that is somebody else; and whether it ``is_closed``, by seals of which the last was made at ``closed_s``. Times in seconds
    since 1970."""

    is_registered: bool = False
    sealed_s: float | None = None
    other: int | None = None
    is_closed: bool = False
    closed_s: float | None = None


def shown_value(value: str) -> str:
    """A value's text for people.

    >>> shown_value('["7",null]')
    '7, NULL'
    """
    return ", ".join("NULL" if text is None else text for text in json.loads(value))


@dataclass(frozen=True)
class ClosedValue:
    """A value of which no event will be accepted any more. ``closed_at``: the newest batch then; events of it are in batches up to that one
    (inclusive), and in what is appended again of those (:class:`UnsettledBatch`)."""

    id: int
    relation: str
    seal: str
    value: str
    closed_at: int

    @property
    def texts(self) -> list[str | None]:
        """One for each column of the seal.

        >>> ClosedValue(1, "clicks", "campaign", '["7",null]', 12).texts
        ['7', None]
        """
        return list(json.loads(self.value))

    @property
    def shown(self) -> str:
        """For people."""
        return shown_value(self.value)


@dataclass(frozen=True)
class OpenValue:
    """A value that somebody has registered for, and that waits for seals of ``missing`` coordinators. ``registered`` have said, or shown, that they
    have events of it; ``sealed`` have no more. ``since_s``: since when it is known, in seconds since 1970; ``age_s``: how long that is. ``gone``:
    those of the missing that have left, and in whose names others have to seal it."""

    id: int
    relation: str
    seal: str
    value: str
    producers: str
    since_s: float
    age_s: float
    registered: tuple[int, ...] = ()
    sealed: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()

    @property
    def texts(self) -> list[str | None]:
        """One for each column of the seal."""
        return list(json.loads(self.value))

    @property
    def shown(self) -> str:
        """For people."""
        return shown_value(self.value)

    @property
    def who(self) -> str:
        """For whom it waits, in words.

        >>> OpenValue(1, "clicks", "campaign", '["7"]', "all", 0.0, 5.0, missing=(0, 2), gone=(2,)).who
        'coordinators 0, 2 (gone)'
        """
        names = [f"{c} (gone)" if c in self.gone else str(c) for c in self.missing]
        return f"coordinator{'s' if len(names) > 1 else ''} {', '.join(names)}"


@dataclass(frozen=True)
class SealCounts:
    """A seal in numbers: how many of its values are open and closed, and how many of the open ones wait for each coordinator. ``oldest``: the value
    that is open for longest."""

    relation: str
    seal: str
    open: int
    closed: int
    waiting_for: Mapping[int, int] = field(default_factory=dict)
    oldest: OpenValue | None = None


@dataclass(frozen=True)
class UnsettledBatch:
    """A batch that is not applied yet (``state``: ``appended``), or of which nobody knows whether it will count (``aside``). ``first`` is the first
    batch of its delivery: it may have events of a value of one of ``relations`` that was closed since, if ``first`` <= its ``closed_at``. A retry
    has its batch's delivery, and so has what a drop keeps."""

    batch: int
    first: int
    state: str
    relations: frozenset[str]

    def may_have(self, value: ClosedValue) -> bool:
        """Whether events of a closed value may be in it.

        >>> value = ClosedValue(1, "clicks", "campaign", '["7"]', 12)
        >>> [UnsettledBatch(20, first, "aside", frozenset({"clicks"})).may_have(value) for first in (12, 13)]
        [True, False]
        """
        return self.first <= value.closed_at and value.relation in self.relations
