"""Coordinators in turns, in one process: staggered epochs, with a place to look in after each mini-batch and each commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from cumulus_ops.engine import Runtime
from cumulus_ops.errors import NotYet
from cumulus_ops.snapshot import current_epoch, seal, sealed

__all__ = ["Rounds"]


@dataclass
class Rounds:
    """Who ends an epoch when. An epoch lasts ``periods`` periods (as many as there are coordinators, if None); where epochs are
    staggered, coordinator i's first one lasts i periods longer (Cumulus paper, section 4.2)."""

    rt: Runtime
    periods: int | None = None
    staggered: bool = True
    _left: list[int] = field(init=False)

    def __post_init__(self) -> None:
        everyone = range(self.rt.project.coordinators)
        self.periods = self.periods or len(everyone)
        self._left = [self.periods + (i if self.staggered else 0) for i in everyone]

    def end_period(self) -> Iterator[int]:
        """Seal what has had its periods; gives the epochs that all have sealed by that, to be committed."""
        self._left = [left - 1 for left in self._left]
        for _ in self._left:  # the token goes round: who cannot seal yet may be able to after another one has
            for coordinator, left in enumerate(self._left):
                if left <= 0:
                    yield from self._seal(coordinator)

    def end_all(self) -> Iterator[int]:
        """Seal every epoch that anybody has begun."""
        newest = max(current_epoch(self.rt, c) for c in range(len(self._left)))
        while any(current_epoch(self.rt, c) <= newest for c in range(len(self._left))):
            for coordinator in range(len(self._left)):
                if current_epoch(self.rt, coordinator) <= newest:
                    yield from self._seal(coordinator)

    def _seal(self, coordinator: int) -> Iterator[int]:
        epoch = current_epoch(self.rt, coordinator)
        with suppress(NotYet):  # another coordinator has the token
            seal(self.rt, coordinator, epoch)
            assert self.periods is not None
            self._left[coordinator] += self.periods
            if sealed(self.rt, epoch):
                yield epoch
