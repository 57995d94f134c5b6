"""The staggered timetable, asked as Airflow's scheduler asks it."""

import datetime

import pendulum
import pytest
from airflow.timetables.base import DataInterval, TimeRestriction

from cumulus_ops.orchestration import StaggeredTimetable
from cumulus_ops.rhythm import Rhythm

START = datetime.datetime(2026, 1, 1, 6, tzinfo=datetime.UTC)
RHYTHM = Rhythm(START, datetime.timedelta(seconds=30), coordinators=3, count=4)


def runs(timetable, *, catchup=True, earliest=START, limit=10):
    """The runs that the scheduler would make, one after the other."""
    restriction = TimeRestriction(pendulum.instance(earliest), None, catchup)
    last, found = None, []
    while len(found) < limit:
        info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction)
        if info is None:
            break
        found.append(info)
        last = info.data_interval
    return found


@pytest.mark.parametrize("coordinator", [0, 1, 2])
def test_one_run_per_epoch_at_its_beginning_then_no_more(coordinator):
    found = runs(StaggeredTimetable(RHYTHM, coordinator))
    assert [info.run_after for info in found] == [
        START + datetime.timedelta(seconds=30 * epoch + 10 * coordinator) for epoch in range(4)
    ]
    for info in found:
        assert info.run_after == info.data_interval.start
        assert info.data_interval.end - info.data_interval.start == datetime.timedelta(seconds=30)


def test_serialised_timetable_makes_the_same_runs():
    timetable = StaggeredTimetable(RHYTHM, 2)
    again = StaggeredTimetable.deserialize(timetable.serialize())
    assert again.rhythm == timetable.rhythm
    assert runs(again) == runs(timetable)


def test_without_catch_up_the_past_is_left_out():
    long_ago = Rhythm(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(hours=1), 3)
    (first,) = runs(StaggeredTimetable(long_ago, 1), catchup=False, earliest=long_ago.start, limit=1)
    assert first.data_interval.end > pendulum.now("UTC")


def test_manual_run_belongs_to_the_epoch_of_its_moment():
    moment = pendulum.instance(START).add(seconds=45)
    assert StaggeredTimetable(RHYTHM, 1).infer_manual_data_interval(run_after=moment) == DataInterval(
        pendulum.instance(START).add(seconds=40), pendulum.instance(START).add(seconds=70)
    )
