"""The staggered timetable: when a coordinator's DAG runs, one run per epoch, and one for all epochs that it is behind; and whose tasks go first."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pendulum
from airflow.task.priority_strategy import PriorityWeightStrategy
from airflow.timetables.base import DagRunInfo, DataInterval, TimeRestriction, Timetable

from cumulus_ops.project.rhythm import Rhythm, Stay, length_text, read_timeline
from cumulus_ops.project.versions import COORDINATORS_MAX

if TYPE_CHECKING:
    from airflow.models.taskinstance import TaskInstance

__all__ = ["PLACES", "StaggeredTimetable", "TokenOrder"]

#: Weights of coordinators' tasks are from 1 to this. Weights are compared across projects, too, so they cannot go on with the epochs for ever.
PLACES = 10 * COORDINATORS_MAX
#: Moments are rounded to microseconds: what is so near to the end of an epoch is in the next one.
ROUNDING = datetime.timedelta(milliseconds=1)


class StaggeredTimetable(Timetable):
    """One run per epoch of one coordinator, its data interval being the coordinator's time in that epoch.

    Unlike a batch job, which starts when its interval is over, a coordinator works *during* its epoch: the run starts
    at the interval's beginning. Coordinator i is i*T/N later than coordinator 0 (Cumulus paper, section 4.2). After
    ``rhythm.count`` epochs the schedule ends.

    When the scheduler was away, or the first epoch is long ago, the next run's interval is that of all epochs that are over: however many
    they are, they are one run, which does for each of them what is left to do.

    When epochs have really ended, the catalog knows. This is evaluated in Airflow's own processes, which need not reach it; they read what
    the steps have written of it into the file :mod:`cumulus_ops.project.rhythm` in the state folder. Airflow asks again whenever it parses the DAG file, and so
    follows epochs that end early. Without the file, or where the folder is not mounted, epochs are as long as the project says. What
    a run does depends on none of that: it asks the catalog in which epoch its interval begins.

    ``partitioned_at_runtime``: the run's vote task attaches the epoch to its asset event as a partition key.
    """

    partitioned_at_runtime = True
    active_runs_limit = 1

    def __init__(self, rhythm: Rhythm, coordinator: int, state: Path | None = None) -> None:
        self.rhythm, self.coordinator, self.state = rhythm, coordinator, state
        self.description = f"coordinator {coordinator} of {rhythm.coordinators}: every {length_text(rhythm.length)}, from {self._begin(0)}"

    @property
    def summary(self) -> str:
        """What the UI shows as the schedule."""
        every = f"every {length_text(self.rhythm.length)}"
        after = self.rhythm.period * self.coordinator
        return f"{every}, {length_text(after)} after coordinator 0" if self.rhythm.staggered and after else every

    def serialize(self) -> dict[str, Any]:
        """The timetable as JSON."""
        return {
            "start": self.rhythm.start.isoformat(),
            "length_s": self.rhythm.length.total_seconds(),
            "coordinators": self.rhythm.coordinators,
            "count": self.rhythm.count,
            "staggered": self.rhythm.staggered,
            "coordinator": self.coordinator,
            "state": str(self.state) if self.state else None,
        }

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> StaggeredTimetable:
        """Inverse of :meth:`serialize`."""
        start = datetime.datetime.fromisoformat(data["start"])
        length = datetime.timedelta(seconds=data["length_s"])
        state = Path(data["state"]) if data.get("state") else None
        rhythm = Rhythm(start, length, data["coordinators"], data["count"], data.get("staggered", True))
        return cls(rhythm, data["coordinator"], state)

    def infer_manual_data_interval(self, *, run_after: pendulum.DateTime) -> DataInterval:
        """A run triggered by hand belongs to the epoch of its moment."""
        return self._interval(self.rhythm.epoch_at(self.coordinator, run_after))

    def next_dagrun_info(
        self, *, last_automated_data_interval: DataInterval | None, restriction: TimeRestriction
    ) -> DagRunInfo | None:
        """The run of the epoch after the last one; without catch-up, at least the epoch of now."""
        stay = read_timeline(self.state).get(self.coordinator) if self.state else None
        if stay is not None and stay.gone:
            return None
        epoch, interval = (
            self._after(last_automated_data_interval, restriction)
            if stay is None
            else self._in_timeline(stay, last_automated_data_interval)
        )
        if self.rhythm.is_over(epoch) or (restriction.latest is not None and interval.start > restriction.latest):
            return None
        return DagRunInfo(run_after=interval.start, data_interval=interval)

    def _in_timeline(self, stay: Stay, last: DataInterval | None) -> tuple[int, DataInterval]:
        """The open epoch, if its run has not been made yet; else the one after it. None is left out: all want to be ended."""
        begins_at, ends_at, next_ends_at = map(pendulum.instance, (stay.begins_at, stay.ends_at, stay.next_ends_at))
        if last is None or last.start < begins_at:
            return stay.epoch, self._upto_now(stay.epoch, begins_at, ends_at)
        if last.end <= ends_at:
            return stay.epoch + 1, self._upto_now(stay.epoch + 1, ends_at, next_ends_at)
        # runs that have left epochs open were for those up to there
        epoch = stay.epoch + 1 + round(self._lengths(ends_at, last.end))
        return epoch, self._upto_now(epoch, last.end, last.end + self.rhythm.length)

    def _after(self, last: DataInterval | None, restriction: TimeRestriction) -> tuple[int, DataInterval]:
        """The epoch after the last run's, by the clock alone."""
        epoch = 0
        if last is not None:
            epoch = self.rhythm.epoch_at(self.coordinator, last.end + ROUNDING)
        if restriction.earliest is not None and restriction.earliest > self._begin(epoch):
            epoch = max(epoch, self.rhythm.epoch_at(self.coordinator, restriction.earliest))
        if not restriction.catchup:
            epoch = max(epoch, self.rhythm.epoch_at(self.coordinator, pendulum.now("UTC")))
        return epoch, self._upto_now(epoch, self._begin(epoch), self._begin(epoch + 1))

    def _upto_now(self, epoch: int, begin: pendulum.DateTime, end: pendulum.DateTime) -> DataInterval:
        """The time of an epoch, and if it is over, of all that are over since."""
        over = max(0, math.floor(self._lengths(end, pendulum.now("UTC"))))
        if self.rhythm.count is not None:
            over = max(0, min(over, self.rhythm.count - 1 - epoch))
        return DataInterval(begin, end + over * self.rhythm.length)

    def _lengths(self, since: pendulum.DateTime, until: pendulum.DateTime) -> float:
        """How many lengths of an epoch lie between two moments."""
        return (until - since).total_seconds() / self.rhythm.length.total_seconds()

    def _interval(self, epoch: int) -> DataInterval:
        return DataInterval(self._begin(epoch), self._begin(epoch + 1))

    def _begin(self, epoch: int) -> pendulum.DateTime:
        return pendulum.instance(self.rhythm.begin(self.coordinator, epoch))

    def weight(self, began: datetime.datetime) -> int:
        """How urgent a run is that began at a moment: the more, the earlier its place in the order of the token, which is that of (epoch,
        coordinator), and of the moments at which coordinators enter their epochs. Behind :data:`PLACES` places weights begin anew."""
        periods = round((began - self.rhythm.start) / self.rhythm.period)
        place = periods if self.rhythm.staggered else periods + self.coordinator
        return PLACES - place % PLACES


class TokenOrder(PriorityWeightStrategy):
    """Whose task goes first where slots are short: that of the coordinator with the oldest epoch, and in it of the highest priority. So each has
    each place in turn, as with the token (Cumulus paper, section 4.2), and none is favoured for ever.

    Airflow asks when it makes a run's tasks, and knows of the run its id alone, which ends with when it began. A run whose id says nothing has the
    task's own weight.
    """

    def get_weight(self, ti: TaskInstance) -> int:
        """See :class:`~airflow.task.priority_strategy.PriorityWeightStrategy`."""
        task: Any = ti.task
        timetable = getattr(task.dag, "timetable", None)
        try:
            began = datetime.datetime.fromisoformat(ti.run_id.split("__", 1)[1])
        except (AttributeError, IndexError, ValueError):
            return int(task.priority_weight)
        if not isinstance(timetable, StaggeredTimetable) or began.tzinfo is None:
            return int(task.priority_weight)
        return timetable.weight(began)
