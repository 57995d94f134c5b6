"""The interface of a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cumulus_ops.eventlog import Delivery

__all__ = ["Source"]


class Source(Protocol):
    """Something that events come from, for one coordinator.

    ``name``: its name in the project.
    """

    name: str

    def poll(self, position: str | None) -> Iterator[Delivery]:
        """What waits behind a position, in the order in which it is to be appended.

        What comes before ``position`` is in the event log for good, and may be forgotten where it came from. It may be asked again
        from the same position, after a crash, and then hands over the same events; how they are divided into deliveries may differ.

        Args:
            position: where the last delivery that was appended ended; None at first, and for sources without positions.
        """
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...
