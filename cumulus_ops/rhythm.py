"""When coordinators move: staggered epoch transitions as plain arithmetic on time (Cumulus paper, section 4.2).

An epoch of length T is cut into as many **periods** as there are coordinators. Coordinator i is in epoch e from
``start + e*T + i*T/N`` (inclusive) to one T later (exclusive), so that in every period exactly one coordinator moves
and each of them spends as long ahead of the others as behind.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from cumulus_ops.config import Project

__all__ = ["Rhythm"]

MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Rhythm:
    """The rhythm of ``coordinators`` coordinators: epoch 0 of coordinator 0 begins at ``start`` and takes ``length``."""

    start: datetime.datetime
    length: datetime.timedelta
    coordinators: int
    count: int | None = None

    @classmethod
    def of(cls, project: Project) -> Rhythm:
        """The rhythm that a project's file states."""
        return cls(project.epoch.start, project.epoch.length, project.coordinators, project.epoch.count)

    @property
    def period(self) -> datetime.timedelta:
        """The time between two transitions of any coordinators."""
        return self.length / self.coordinators

    def period_start(self, period: int) -> datetime.datetime:
        """When period ``period`` begins."""
        return self.start + self.period * period

    def begin(self, coordinator: int, epoch: int) -> datetime.datetime:
        """When ``coordinator`` enters ``epoch`` (inclusive)."""
        return self.start + self.length * epoch + self.period * coordinator

    def end(self, coordinator: int, epoch: int) -> datetime.datetime:
        """When ``coordinator`` leaves ``epoch`` (exclusive)."""
        return self.begin(coordinator, epoch + 1)

    def epoch_at(self, coordinator: int, moment: datetime.datetime) -> int:
        """The epoch that ``coordinator`` is in at ``moment`` by the schedule; 0 before it began."""
        elapsed = moment.timestamp() - self.begin(coordinator, 0).timestamp()  # Airflow's times are not plain datetimes
        return max(0, round(elapsed * MICROSECONDS) // round(self.length.total_seconds() * MICROSECONDS))

    def is_over(self, epoch: int) -> bool:
        """True when the schedule has no epoch ``epoch`` any more."""
        return self.count is not None and epoch >= self.count
