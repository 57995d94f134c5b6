"""Staggered transitions: whole epochs, evenly spread, no gap and no overlap."""

import datetime
import itertools

from hypothesis import given
from hypothesis import strategies as st

from cumulus_ops.project.rhythm import Rhythm

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
rhythms = st.builds(
    Rhythm,
    st.just(START),
    st.integers(1, 86_400_000).map(lambda ms: datetime.timedelta(milliseconds=ms)),
    st.integers(1, 7),
    st.none(),
    st.booleans(),
)


@given(rhythms, st.integers(0, 6), st.integers(0, 1000))
def test_an_epoch_is_found_from_its_first_and_last_moment(rhythm, coordinator, epoch):
    begin, end = rhythm.begin(coordinator, epoch), rhythm.end(coordinator, epoch)
    assert end == rhythm.begin(coordinator, epoch + 1)
    assert rhythm.epoch_at(coordinator, begin) == epoch
    assert rhythm.epoch_at(coordinator, end - datetime.timedelta(microseconds=1)) == epoch


def test_exactly_one_of_three_coordinators_moves_in_each_period():
    rhythm = Rhythm(START, datetime.timedelta(seconds=30), 3)
    moves = sorted((rhythm.begin(i, e), i) for i in range(3) for e in range(2))
    assert [i for _, i in moves] == [0, 1, 2, 0, 1, 2]
    assert [moment for moment, _ in moves] == [rhythm.period_start(p) for p in range(6)]


def test_aligned_all_move_at_the_same_time():
    rhythm = Rhythm(START, datetime.timedelta(seconds=30), 3, staggered=False)
    assert {rhythm.begin(i, 2) for i in range(3)} == {START + datetime.timedelta(seconds=60)}
    early = START + datetime.timedelta(seconds=50)  # coordinator 0 has left epoch 1 early
    assert rhythm.end_after((1, 2), ((1, 0), early), lambda _: (0, 1, 2)) == early
    assert rhythm.end_after((2, 1), ((1, 0), early), lambda _: (0, 1, 2)) == early + datetime.timedelta(seconds=30)


def test_before_the_beginning_it_is_epoch_0_and_after_count_it_is_over():
    rhythm = Rhythm(START, datetime.timedelta(seconds=30), 3, count=4)
    assert rhythm.epoch_at(2, START) == 0
    assert not rhythm.is_over(3)
    assert rhythm.is_over(4)


@given(rhythms, st.integers(0, 6), st.integers(0, 20))
def test_without_early_ends_the_proposal_is_the_schedule(rhythm, coordinator, epoch):
    coordinator %= rhythm.coordinators
    members = tuple(range(rhythm.coordinators))
    rounding = datetime.timedelta(microseconds=epoch + 2)
    assert (
        abs(rhythm.end_after((epoch, coordinator), None, lambda _: members) - rhythm.end(coordinator, epoch))
        <= rounding
    )


@given(st.integers(1, 9))
def test_every_coordinator_has_every_place_in_turn_and_the_highest_priority_moves_first(coordinators):
    rhythm = Rhythm(START, datetime.timedelta(seconds=30), coordinators)
    first = coordinators - 1  # the first period in which all have begun
    orders = [rhythm.order_in(first + p) for p in range(coordinators)]
    assert orders[0] == tuple(range(coordinators))
    for before, after in itertools.pairwise(orders):
        assert after == (*before[1:], before[0]), "who counts first moves, and counts last"
    assert [sorted(places) for places in zip(*orders, strict=True)] == [list(range(coordinators))] * coordinators
    assert rhythm.order_in(first + coordinators) == orders[0]
