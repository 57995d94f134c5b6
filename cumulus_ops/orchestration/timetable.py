"""The staggered timetable: when a coordinator's DAG runs, one run per epoch."""

from __future__ import annotations

import datetime
from typing import Any

import pendulum
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

from cumulus_ops.rhythm import Rhythm

__all__ = ["StaggeredTimetable"]


class StaggeredTimetable(Timetable):
    """One run per epoch of one coordinator, its data interval being the coordinator's time in that epoch.

    Unlike a batch job, which starts when its interval is over, a coordinator works *during* its epoch: the run starts
    at the interval's beginning. Coordinator i is i*T/N later than coordinator 0 (Cumulus paper, section 4.2). After
    ``rhythm.count`` epochs the schedule ends.

    ``partitioned_at_runtime``: the run's seal task attaches the epoch to its asset event as a partition key.
    """

    partitioned_at_runtime = True
    active_runs_limit = 1

    def __init__(self, rhythm: Rhythm, coordinator: int) -> None:
        self.rhythm, self.coordinator = rhythm, coordinator
        self.description = (
            f"coordinator {coordinator} of {rhythm.coordinators}: every {rhythm.length}, from {self._begin(0)}"
        )

    @property
    def summary(self) -> str:
        """What the UI shows as the schedule."""
        return f"every {self.rhythm.length}, {self.coordinator}/{self.rhythm.coordinators} of it late"

    def serialize(self) -> dict[str, Any]:
        """The timetable as JSON."""
        return {
            "start": self.rhythm.start.isoformat(),
            "length_s": self.rhythm.length.total_seconds(),
            "coordinators": self.rhythm.coordinators,
            "count": self.rhythm.count,
            "coordinator": self.coordinator,
        }

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> StaggeredTimetable:
        """Inverse of :meth:`serialize`."""
        start = datetime.datetime.fromisoformat(data["start"])
        length = datetime.timedelta(seconds=data["length_s"])
        return cls(Rhythm(start, length, data["coordinators"], data["count"]), data["coordinator"])

    def infer_manual_data_interval(self, *, run_after: pendulum.DateTime) -> DataInterval:
        """A run triggered by hand belongs to the epoch of its moment."""
        return self._interval(self.rhythm.epoch_at(self.coordinator, run_after))

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """The run of the epoch after the last one; without catch-up, at least the epoch of now."""
        epoch = 0
        if last_automated_data_interval is not None:
            epoch = self.rhythm.epoch_at(self.coordinator, last_automated_data_interval.start) + 1
        if restriction.earliest is not None and restriction.earliest > self._begin(epoch):
            epoch = max(epoch, self.rhythm.epoch_at(self.coordinator, restriction.earliest))
        if not restriction.catchup:
            epoch = max(epoch, self.rhythm.epoch_at(self.coordinator, pendulum.now("UTC")))
        interval = self._interval(epoch)
        if self.rhythm.is_over(epoch) or (restriction.latest is not None and interval.start > restriction.latest):
            return None
        return DagRunInfo(run_after=interval.start, data_interval=interval)

    def _interval(self, epoch: int) -> DataInterval:
        return DataInterval(self._begin(epoch), self._begin(epoch + 1))

    def _begin(self, epoch: int) -> pendulum.DateTime:
        return pendulum.instance(self.rhythm.begin(self.coordinator, epoch))
