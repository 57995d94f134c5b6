"""The interface of a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cumulus_ops.catalog import Catalog
from cumulus_ops.config import Project, SourceSettings
from cumulus_ops.eventlog import Delivery

__all__ = ["Source", "SourceKind"]


class Source(Protocol):
    """Something that events come from, for one coordinator.

    ``name``: its name in the project.
    """

    name: str

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """What waits behind a position, in the order in which it is to be appended.

        What comes before ``position`` is in the event log for good, and may be forgotten where it came from. It may be asked again
        from the same position, after a crash, and then hands over the same events; how they are divided into deliveries may differ.

        It does not wait: if nothing is there, nothing is handed over, and it will be asked again. What comes meanwhile is for the next time, so
        that there is an end to it. Each delivery begins where the one
        before it ended. A delivery is appended after it was taken from the iterator, and the next one may be taken before that.

        Args:
            position: where the last delivery that was appended ended; None at first, and for sources without positions.
        """
        ...

    def close(self) -> None:
        """Release what it holds; it will not be asked any more."""
        ...


class SourceKind(Protocol):
    """A class of sources. Making one checks its options, and opens nothing: that waits for the first poll."""

    def __call__(self, project: Project, settings: SourceSettings, catalog: Catalog) -> Source:
        """Make the source that ``settings`` describe."""
        ...
