"""Coordinators in turns, in one process: who leaves its epoch when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from cumulus_ops.epochs.minibatch import current_epoch
from cumulus_ops.epochs.voting import is_complete, vote
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import NotYet

__all__ = ["Rounds", "staggered"]


def staggered(coordinators: int, periods: int) -> tuple[int, ...]:
    """By how many periods each coordinator is behind the first, in a staggered project (Cumulus paper, section 4.2).

    >>> staggered(3, 12)
    (0, 4, 8)
    """
    return tuple(i * periods // coordinators for i in range(coordinators))


class Rounds:
    """Who ends an epoch when.

    Args:
        rt: the open project.
        periods: how many an epoch has; as many as there are coordinators, if None.
        delays: by how many periods each coordinator's first epoch is longer; staggered, if None.
    """

    def __init__(self, rt: Runtime, periods: int | None = None, delays: Sequence[int] | None = None) -> None:
        self.rt, self.coordinators = rt, range(rt.project.coordinators)
        self.periods = periods or len(self.coordinators)
        self._left = [self.periods + d for d in delays or staggered(len(self.coordinators), self.periods)]

    def end_period(self) -> Iterator[int]:
        """Seal what has had its periods; gives the epochs that all have sealed by that, to be committed."""
        self._left = [left - 1 for left in self._left]
        for _ in self.coordinators:  # the token goes round: who cannot seal yet may be able to after another one has
            for coordinator in self.coordinators:
                if self._left[coordinator] <= 0:
                    yield from self._seal(coordinator)

    def end_all(self) -> Iterator[int]:
        """Seal every epoch that anybody has begun."""
        newest = max(current_epoch(self.rt, c) for c in self.coordinators)
        while any(current_epoch(self.rt, c) <= newest for c in self.coordinators):
            for coordinator in self.coordinators:
                if current_epoch(self.rt, coordinator) <= newest:
                    yield from self._seal(coordinator)

    def _seal(self, coordinator: int) -> Iterator[int]:
        epoch = current_epoch(self.rt, coordinator)
        with suppress(NotYet):  # another coordinator has the token
            vote(self.rt, coordinator, epoch)
            self._left[coordinator] += self.periods
            if is_complete(self.rt, epoch):
                yield epoch
