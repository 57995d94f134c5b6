"""The staggered timetable, asked as Airflow's scheduler asks it."""

import datetime

import pendulum
import pytest
from airflow.timetables.base import DataInterval, TimeRestriction

from cumulus_ops.orchestration.timetable import StaggeredTimetable
from cumulus_ops.project.rhythm import Rhythm, Stay, write_timeline

#: Yet to come, however long the tests are kept.
START = datetime.datetime(2126, 1, 1, 6, tzinfo=datetime.UTC)
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


def seconds(number):
    return START + datetime.timedelta(seconds=number)


def test_who_is_gone_has_no_runs_any_more(tmp_path):
    write_timeline(tmp_path, [Stay(1, 1, seconds(17), seconds(17), seconds(17), gone=True)])
    nothing = TimeRestriction(earliest=None, latest=None, catchup=True)
    assert (
        StaggeredTimetable(RHYTHM, 1, tmp_path).next_dagrun_info(last_automated_data_interval=None, restriction=nothing)
        is None
    )


def test_an_epoch_that_ended_early_is_followed_at_once(tmp_path):
    timetable = StaggeredTimetable(RHYTHM, 1, tmp_path)
    first = runs(timetable)[0]
    assert first.data_interval == DataInterval(pendulum.instance(seconds(10)), pendulum.instance(seconds(40)))
    write_timeline(tmp_path, [Stay(1, 1, seconds(17), seconds(27), seconds(57))])  # it is in epoch 1 since second 17
    restriction = TimeRestriction(pendulum.instance(START), None, True)
    ask = timetable.next_dagrun_info
    second = ask(last_automated_data_interval=first.data_interval, restriction=restriction)
    assert (second.run_after, second.data_interval.end) == (seconds(17), seconds(27))
    third = ask(last_automated_data_interval=second.data_interval, restriction=restriction)
    assert (third.run_after, third.data_interval.end) == (seconds(27), seconds(57))
    fourth = ask(last_automated_data_interval=third.data_interval, restriction=restriction)
    assert fourth.run_after == seconds(57), "its epoch is open still; the schedule goes on"


def test_the_schedule_ends_with_the_last_epoch_however_early(tmp_path):
    timetable = StaggeredTimetable(RHYTHM, 1, tmp_path)
    write_timeline(tmp_path, [Stay(1, RHYTHM.count, seconds(50), seconds(60), seconds(90))])
    assert runs(timetable) == []


def test_serialised_it_reads_the_same_file(tmp_path):
    write_timeline(tmp_path, [Stay(2, 1, seconds(17), seconds(27), seconds(57))])
    timetable = StaggeredTimetable(RHYTHM, 2, tmp_path)
    assert runs(StaggeredTimetable.deserialize(timetable.serialize())) == runs(timetable)
    assert runs(timetable)[0].run_after == seconds(17)


@pytest.mark.parametrize("written", [False, True], ids=["by-the-clock", "by-the-timeline"])
def test_all_that_is_behind_is_one_run(tmp_path, written):
    hour = datetime.timedelta(hours=1)
    long_ago = Rhythm(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), hour, 3)
    if written:
        begin = [long_ago.begin(1, epoch) for epoch in range(3)]
        write_timeline(tmp_path, [Stay(1, 0, *begin)])
    first, second, third = runs(StaggeredTimetable(long_ago, 1, tmp_path), earliest=long_ago.start, limit=3)
    now = pendulum.now("UTC")
    assert first.run_after == first.data_interval.start == long_ago.begin(1, 0)
    assert first.data_interval.end <= now < first.data_interval.end.add(hours=1), "all that is over"
    assert second.data_interval.start == first.data_interval.end, "and then the epoch of now"
    assert second.data_interval.end - second.data_interval.start == hour
    assert third.run_after == second.data_interval.end


def test_a_run_that_stopped_on_its_way_is_followed_by_one_for_the_rest(tmp_path):
    hour = datetime.timedelta(hours=1)
    long_ago = Rhythm(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), hour, 3)
    timetable = StaggeredTimetable(long_ago, 1, tmp_path)
    (first,) = runs(timetable, earliest=long_ago.start, limit=1)
    begin = [long_ago.begin(1, epoch) for epoch in range(500, 503)]
    write_timeline(tmp_path, [Stay(1, 500, *begin)])  # something had landed in epoch 500
    restriction = TimeRestriction(pendulum.instance(long_ago.start), None, True)
    second = timetable.next_dagrun_info(last_automated_data_interval=first.data_interval, restriction=restriction)
    assert second.data_interval == DataInterval(pendulum.instance(begin[0]), first.data_interval.end)


def test_what_is_behind_ends_with_the_schedule():
    over = Rhythm(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(hours=1), 3, count=5)
    (only,) = runs(StaggeredTimetable(over, 2), earliest=over.start)
    assert only.data_interval == DataInterval(pendulum.instance(over.begin(2, 0)), pendulum.instance(over.begin(2, 5)))
