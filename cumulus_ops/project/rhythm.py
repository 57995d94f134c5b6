"""When coordinators move: staggered epoch transitions as plain arithmetic on time (Cumulus paper, section 4.2).

An epoch of length T is cut into as many **periods** as there are coordinators. In every period exactly one coordinator moves to its
next epoch, the one of the highest priority first: "it waits for the duration of one period, switches, and passes the token to
the next". So each of them spends as long ahead of the others as behind. For three coordinators, those in the newer epoch last, the order in
which their events count is 012, then 120, then 201, then again 012:

>>> rhythm = Rhythm(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(minutes=3), 3)
>>> for period in range(3, 6):  # coordinator 0 moves at the beginning of the first of them
...     print(period, rhythm.order_in(period))
3 (1, 2, 0)
4 (2, 0, 1)
5 (0, 1, 2)

The arithmetic only proposes. When an epoch has really ended for a coordinator, a **boundary** in the catalog says
(:mod:`cumulus_ops.catalog.members`), and what is to come is proposed from the last boundary on (:meth:`Rhythm.end_after`).
"""

from __future__ import annotations

import datetime
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cumulus_ops.project.settings import Project
from cumulus_ops.project.small_files import replace_file

__all__ = ["TIMELINE", "MembersOf", "Place", "Rhythm", "Stay", "length_text", "read_timeline", "write_timeline"]


MICROSECONDS = 1_000_000

#: (epoch, coordinator): in this order coordinators vote, the highest priority, which is the lowest number, first.
Place = tuple[int, int]
#: The coordinators of an epoch, ascending.
MembersOf = Callable[[int], Sequence[int]]


@dataclass(frozen=True)
class Rhythm:
    """The rhythm of ``coordinators`` coordinators: epoch 0 of coordinator 0 begins at ``start`` and takes ``length``. Without ``staggered``
    epochs are aligned: all coordinators are to move at the same time, and do so one right after the other."""

    start: datetime.datetime
    length: datetime.timedelta
    coordinators: int
    count: int | None = None
    staggered: bool = True

    @classmethod
    def of(cls, project: Project) -> Rhythm:
        """The rhythm that a project's file states."""
        epoch = project.epoch
        return cls(epoch.start, epoch.length, project.coordinators, epoch.count, epoch.staggered)

    @property
    def period(self) -> datetime.timedelta:
        """The time between two transitions of any coordinators."""
        return self.length / self.coordinators

    def period_start(self, period: int) -> datetime.datetime:
        """When period ``period`` begins."""
        return self.start + self.length * period / self.coordinators

    def order_in(self, period: int) -> tuple[int, ...]:
        """The coordinators in the order in which events count that they stamp in ``period``, from when all of them have begun."""
        epochs = ((max(0, (period - self._behind(i)) // self.coordinators), i) for i in range(self.coordinators))
        return tuple(i for _, i in sorted(epochs))

    def _behind(self, coordinator: int) -> int:
        """By how many periods a coordinator moves after coordinator 0."""
        return coordinator if self.staggered else 0

    def begin(self, coordinator: int, epoch: int) -> datetime.datetime:
        """When ``coordinator`` enters ``epoch`` (inclusive), if no epoch ends early."""
        return self.period_start(epoch * self.coordinators + self._behind(coordinator))

    def end(self, coordinator: int, epoch: int) -> datetime.datetime:
        """When ``coordinator`` leaves ``epoch`` (exclusive), if no epoch ends early."""
        return self.begin(coordinator, epoch + 1)

    def end_after(
        self, place: Place, last: tuple[Place, datetime.datetime] | None, members: MembersOf
    ) -> datetime.datetime:
        """When a coordinator is to leave an epoch: one period after who votes before it; or, aligned, an epoch's length after the last one.

        Args:
            place: the epoch, and the coordinator.
            last: the last place before it that has a boundary, and that boundary; None if there is none.
            members: who votes to end an epoch; one of as many as its members is an epoch's period.
        """
        since, moment = last or ((-1, -1), self.start)
        if not self.staggered:
            return moment + self.length * (place[0] - since[0])
        first = max(0, since[0])
        moment += self.length * max(0, place[0] - first - 1)  # in an epoch that lies between them all have moved
        for epoch in sorted({first, place[0]}):
            who = members(epoch)
            steps = sum(since < (epoch, coordinator) <= place for coordinator in who)
            if last is None and epoch == 0:
                steps += len(who) - 1  # the first to move does so at the end of its epoch
            moment += self.length * steps / len(who)
        return moment

    def epoch_at(self, coordinator: int, moment: datetime.datetime) -> int:
        """The epoch that ``coordinator`` is in at ``moment``, if no epoch ends early; 0 before it began."""
        elapsed = moment.timestamp() - self.begin(coordinator, 0).timestamp()  # Airflow's times are not plain datetimes
        return max(0, round(elapsed * MICROSECONDS) // round(self.length.total_seconds() * MICROSECONDS))

    def is_over(self, epoch: int) -> bool:
        """True when the schedule has no epoch ``epoch`` any more."""
        return self.count is not None and epoch >= self.count


def length_text(length: datetime.timedelta) -> str:
    """How long something is, as people say it.

    >>> [length_text(datetime.timedelta(seconds=s)) for s in (600, 200, 86400, 3601.5, 0.25)]
    ['10 min', '3 min 20 s', '1 d', '1 h 1.5 s', '0.25 s']
    """
    left, parts = length.total_seconds(), []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        count, left = divmod(left, size)
        parts += [f"{count:g} {unit}"] if count else []
    if left or not parts:
        parts.append(f"{round(left, 3):g} s")
    return " ".join(parts)


# Where the coordinators are and when they move: a small file beside the state, for those who plan without asking the catalog.
#
# Airflow's scheduler and its DAG files read it; what a task does, the catalog says. It is written whenever a coordinator has moved, epochs
# were ended or members have changed. Without it, or where the state folder cannot be seen, the project's file is what there is to plan by.


#: In the state folder.
TIMELINE = "timeline.json"


@dataclass(frozen=True)
class Stay:
    """A coordinator's time in the epoch that it has open: from ``begins_at`` (inclusive) to ``ends_at`` (exclusive); ``next_ends_at``: when the
    epoch after it is to end. ``gone``: it has voted to end its last epoch; then all three are when that ended."""

    coordinator: int
    epoch: int
    begins_at: datetime.datetime
    ends_at: datetime.datetime
    next_ends_at: datetime.datetime
    gone: bool = False


def read_timeline(state: Path) -> dict[int, Stay]:
    """coordinator -> its stay; empty if there is no such file, or none that can be read."""
    try:
        found = json.loads((state / TIMELINE).read_text(encoding="utf-8"))
        entries = found["stays"] if isinstance(found, dict) else found  # of old: the list alone
        if isinstance(found, dict) and found["sum"] != _sum(entries):
            return {}
        stays = [
            Stay(e["coordinator"], e["epoch"], **{n: _moment(e[n]) for n in MOMENTS}, gone=e.get("gone", False))
            for e in entries
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {stay.coordinator: stay for stay in stays}


MOMENTS = ("begins_at", "ends_at", "next_ends_at")


def _moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)


def write_timeline(state: Path, stays: Sequence[Stay]) -> None:
    """Write the file anew, by one rename."""
    entries = [{**asdict(stay), **{n: getattr(stay, n).isoformat() for n in MOMENTS}} for stay in stays]
    replace_file(state / TIMELINE, json.dumps({"stays": entries, "sum": _sum(entries)}, indent=1) + "\n")


def _sum(entries: object) -> str:
    return f"{zlib.crc32(json.dumps(entries).encode()):08x}"
