"""Which views are in error in a snapshot, since when, and why: for everybody who reports about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cumulus_ops.catalog.records import ViewError

__all__ = ["InError", "in_error"]


@dataclass(frozen=True)
class InError:
    """A view that has no rows in the snapshot of ``epoch``, nor in any since that of ``since`` (inclusive)."""

    view: str
    epoch: int
    since: int
    kind: str
    message: str
    place: str
    hint: str

    def __str__(self) -> str:
        return f"since epoch {self.since}: {self.reason}"

    @property
    def reason(self) -> str:
        """Which expression fails, where it is written, and for which row."""
        return f"{self.place}: {self.message}" if self.place else self.message


def in_error(errors: Sequence[ViewError], epoch: int) -> tuple[InError, ...]:
    """The views that are in error in the snapshot of ``epoch``, by their names.

    >>> why = ("division-by-zero", "view q is in error: a / b fails", "q.sql:1:8", "")
    >>> [str(e) for e in in_error([ViewError("q", e, *why) for e in (1, 3, 4)], 4)]
    ['since epoch 3: q.sql:1:8: view q is in error: a / b fails']

    Args:
        errors: all recorded errors.
        epoch: the snapshot's epoch.
    """
    known = {(e.view, e.epoch) for e in errors}
    here = sorted((e for e in errors if e.epoch == epoch), key=lambda e: e.view)
    return tuple(InError(e.view, epoch, _since(known, e), e.kind, e.message, e.place, e.hint) for e in here)


def _since(known: set[tuple[str, int]], error: ViewError) -> int:
    first = error.epoch
    while (error.view, first - 1) in known:
        first -= 1
    return first
