"""What comes in another order each time it is read, kept so that it can be read again: its events are numbered by that order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from cumulus_ops.eventlog.raw import RawFile
from cumulus_ops.sources.spool import Spool

__all__ = ["ReadOnce"]


class ReadOnce:
    """Calls ``read`` once, and then gives what that gave, in pieces of about as many rows. A reading that was not ended is begun anew.

    Args:
        read: yields pieces of one schema.
        folder: where the temporary file may be; None for where the system has them.
        rows: about how many a piece has.
    """

    def __init__(self, read: Callable[[], Iterator[RawFile]], folder: Path | None, rows: int) -> None:
        self._read, self._folder, self._rows = read, folder, rows
        self._kept: Spool | None = None

    def __call__(self) -> Iterator[RawFile]:
        """The pieces, the same each time."""
        return self._first() if self._kept is None else self._kept.read(self._rows)

    def _first(self) -> Iterator[RawFile]:
        kept: Spool | None = None
        for piece in self._read():
            kept = kept or Spool(self._folder, piece.columns.schema)
            kept.write(piece.columns)
            yield piece
        if kept is not None:
            kept.finish()
        self._kept = kept
