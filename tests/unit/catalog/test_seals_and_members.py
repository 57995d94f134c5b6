"""The token goes round, the late lose it and nothing else, the gone are fenced; coordinators come and go between epochs."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.epochs import FencedVote, Token
from cumulus_ops.catalog.records import Snapshot
from cumulus_ops.project.errors import Conflict, InputProblem, NotYet
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.versions import COORDINATORS_MAX, epoch_end
from tests.support.catalogs import NOBODY, append, make_catalog, new_run, url_of
from tests.support.leases import has_been_awaited

#: Epochs that were over long ago, and such as will be over in a thousand years.
PAST = Rhythm(datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=30), 3)
FUTURE = Rhythm(datetime.datetime(3020, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=30), 3)
PATIENCE = datetime.timedelta(hours=1)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = make_catalog(tmp_path)
    yield made
    made.close()


def apply(catalog: Catalog, coordinator: int, drop: str) -> None:
    batch = append(catalog, coordinator, drop)
    assert catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, NOBODY), [new_run()], 0.0)


def take_late(catalog: Catalog, coordinator: int, folder: Path) -> Token:
    """Wait for the token for long, and take it."""
    assert catalog.votes.take_token(coordinator, PAST, PATIENCE) is None
    has_been_awaited(url_of(folder))
    token = catalog.votes.take_token(coordinator, PAST, PATIENCE)
    assert token is not None
    return token


def test_each_hand_over_has_a_greater_number(catalog: Catalog) -> None:
    seen = []
    for epoch in range(2):
        for coordinator in range(3):
            token = catalog.votes.take_token(coordinator, PAST, PATIENCE)
            assert token == catalog.votes.token() == Token(coordinator, len(seen))
            seen.append(token)
            catalog.votes.vote(coordinator, epoch, token, PAST)
    assert catalog.votes.token() == Token(0, 6)


def test_the_highest_priority_moves_first_and_everybody_has_every_place_in_turn(catalog: Catalog) -> None:
    orders = []
    for _ in range(6):
        orders.append(tuple(sorted(range(3), key=lambda c: (catalog.members.position(c)[0], c))))
        holder = catalog.votes.token_holder()
        assert holder == orders[-1][0], "whose events have counted first moves first"
        catalog.votes.vote(holder, catalog.members.position(holder)[0])
    assert orders == [(0, 1, 2), (1, 2, 0), (2, 0, 1)] * 2


def test_a_holder_that_is_late_loses_the_token_and_nothing_else(catalog: Catalog, tmp_path: Path) -> None:
    slow = catalog.votes.take_token(0, PAST, PATIENCE)
    apply(catalog, 0, "before")
    token = take_late(catalog, 2, tmp_path)
    assert token == Token(2, 1)
    with pytest.raises(NotYet, match="coordinator 2 has the token"):
        catalog.votes.vote(0, 0, slow)
    catalog.votes.vote(2, 0, token)
    assert catalog.votes.take_token(1, PAST, PATIENCE) is not None, "who has been passed by is passed by at once"
    catalog.votes.vote(1, 0)
    assert catalog.votes.token() == Token(0, 4)
    with pytest.raises(NotYet) as caught:
        catalog.votes.vote(0, 0, slow)
    assert caught.value.kind == "old-token"
    apply(catalog, 0, "after")
    catalog.votes.vote(0, 0, catalog.votes.take_token(0, PAST, PATIENCE))
    assert [(b.drop, b.epoch) for b in catalog.log.batches()] == [("before", 0), ("after", 0)]
    assert (catalog.votes.missing(0), catalog.votes.fenced()) == ((), [])


def test_nobody_is_late_before_the_end_of_its_epoch_and_before_somebody_waits(catalog: Catalog, tmp_path: Path) -> None:
    has_been_awaited(url_of(tmp_path))
    assert catalog.votes.take_token(1, PAST, PATIENCE) is None  # it is awaited only now
    assert catalog.votes.overdue(PAST, PATIENCE) == []
    has_been_awaited(url_of(tmp_path))
    assert catalog.votes.take_token(1, FUTURE, PATIENCE) is None
    assert catalog.votes.overdue(FUTURE, PATIENCE) == []
    assert catalog.votes.overdue(PAST, PATIENCE) == []
    catalog.votes.vote(1, 0, catalog.votes.take_token(1, PAST, PATIENCE))
    assert catalog.votes.overdue(PAST, PATIENCE) == [(0, 0)]
    assert catalog.votes.overdue(PAST, datetime.timedelta(days=10**6)) == []


def test_a_member_that_seals_is_awaited_no_more(catalog: Catalog, tmp_path: Path) -> None:
    catalog.votes.vote(1, 0, take_late(catalog, 1, tmp_path))
    catalog.votes.vote(0, 0)
    catalog.votes.vote(2, 0)
    assert catalog.votes.take_token(1, PAST, PATIENCE) is None
    assert catalog.votes.overdue(PAST, PATIENCE) == []


def test_one_that_is_gone_is_fenced_and_its_later_events_go_to_its_next_epoch(catalog: Catalog, tmp_path: Path) -> None:
    batch = append(catalog, 0, "appended")
    stamps = catalog.members.position(0)
    assert not catalog.votes.fence(0, 0, 2, "gone", PAST, PATIENCE), "nobody waits for it"
    token = take_late(catalog, 2, tmp_path)
    assert not catalog.votes.fence(0, 0, 2, "gone", PAST, PATIENCE), "nobody has voted to end the epoch"
    catalog.votes.vote(2, 0, token)
    with pytest.raises(NotYet, match="not applied"):
        catalog.votes.fence(0, 0, 2, "gone", PAST, PATIENCE)
    assert catalog.commits.commit_apply(batch, catalog.commits.begin_apply(batch, NOBODY), [new_run()], 0.0)
    assert catalog.votes.fence(0, 0, 2, "gone", PAST, PATIENCE)
    assert not catalog.votes.fence(0, 0, 1, "again", PAST, PATIENCE)
    assert catalog.votes.fenced() == [FencedVote(0, 0, 2, "gone")]
    with pytest.raises(Conflict):
        append(catalog, 0, "late", at=stamps)
    late = append(catalog, 0, "late")
    assert catalog.log.batch(late).epoch == 1
    catalog.votes.vote(0, 0)  # it awakes: nothing to do
    assert catalog.votes.missing(0) == (1,)


def test_one_that_stays_silent_is_fenced_again_without_new_patience_until_it_seals(
    catalog: Catalog, tmp_path: Path
) -> None:
    catalog.votes.vote(2, 0, take_late(catalog, 2, tmp_path))
    catalog.votes.vote(1, 0, catalog.votes.take_token(1, PAST, PATIENCE))
    for epoch in range(3):
        assert catalog.votes.overdue(PAST, PATIENCE) == [(epoch, 0)]
        assert catalog.votes.fence(0, epoch, 2, "gone", PAST, PATIENCE)
        assert catalog.votes.overdue(PAST, PATIENCE) == [], "the others have yet to come to the next"
        for coordinator in (1, 2):
            catalog.votes.vote(coordinator, epoch + 1, catalog.votes.take_token(coordinator, PAST, PATIENCE))
    assert catalog.votes.fence(0, 3, 2, "gone", PAST, PATIENCE)
    catalog.votes.vote(0, 4, catalog.votes.take_token(0, PAST, PATIENCE))
    assert catalog.votes.overdue(PAST, PATIENCE) == []


def test_an_epoch_is_complete_when_its_own_members_have_sealed_it(catalog: Catalog) -> None:
    assert catalog.members.add().coordinator == 3
    assert (catalog.members.membership().of(0), catalog.members.membership().of(1)) == ((0, 1, 2), (0, 1, 2, 3))
    assert catalog.members.add(3) == catalog.members.membership().find(3), "again: nothing happens"
    apply(catalog, 3, "early")
    assert catalog.log.batches()[0].epoch == 1
    for coordinator in range(3):
        catalog.votes.vote(coordinator, 0)
    catalog.snapshots.checkpoint(Snapshot(0, epoch_end(0), catalog.commits.last_commit(), 0, 0.0))
    for coordinator in range(3):
        catalog.votes.vote(coordinator, 1)
    with pytest.raises(NotYet, match="coordinator 3 has not voted"):
        catalog.snapshots.checkpoint(Snapshot(1, epoch_end(1), catalog.commits.last_commit(), 0, 0.0))
    assert catalog.votes.token_holder() == 3
    catalog.votes.vote(3, 1)
    catalog.snapshots.checkpoint(Snapshot(1, epoch_end(1), catalog.commits.last_commit(), 0, 0.0))


def test_who_is_added_joins_in_the_first_epoch_that_nobody_has_begun(catalog: Catalog) -> None:
    catalog.votes.vote(0, 0)  # and begins epoch 1
    assert catalog.members.add().first == 2
    assert catalog.members.add().first == 2
    assert [m.coordinator for m in catalog.members.membership().active()] == [0, 1, 2, 3, 4]


def test_who_is_drained_seals_the_epoch_that_it_has_open_as_its_last(catalog: Catalog) -> None:
    catalog.votes.vote(0, 0)
    assert catalog.members.drain(1).last == 0
    assert catalog.members.drain(1).last == 0
    apply(catalog, 1, "its last")
    with pytest.raises(InputProblem, match="has yet to vote to end epoch 0"):
        catalog.members.add(1)
    catalog.votes.vote(1, 0)
    catalog.votes.vote(2, 0)
    assert (catalog.votes.missing(0), catalog.votes.missing(1)) == ((), (0, 2))
    for action in (lambda: append(catalog, 1, "too late"), lambda: catalog.votes.vote(1, 1)):
        with pytest.raises(InputProblem) as caught:
            action()
        assert caught.value.kind == "not-a-member"
    with pytest.raises(InputProblem, match="no coordinator 1"):
        catalog.votes.take_token(1, PAST, PATIENCE)
    assert [catalog.votes.token_holder(), catalog.votes.vote(0, 1), catalog.votes.token_holder()] == [0, None, 2]
    again = catalog.members.add(1)
    assert (again.coordinator, again.first) == (1, 3)
    assert catalog.members.membership().of(0) == (0, 1, 2)
    assert catalog.members.membership().of(3) == (0, 1, 2)
    catalog.members.drain(1)
    assert catalog.members.add().coordinator == 3, "events are known by their numbers in the sources of who is gone"


def test_somebody_is_always_left(catalog: Catalog) -> None:
    catalog.members.drain(0)
    catalog.members.drain(2)
    with pytest.raises(InputProblem, match="nobody would be left"):
        catalog.members.drain(1)
    for unknown in (3, COORDINATORS_MAX):
        with pytest.raises(InputProblem, match="no coordinator"):
            catalog.members.drain(unknown)
    with pytest.raises(InputProblem, match="no room"):
        catalog.members.add(COORDINATORS_MAX)


def test_boundaries_are_rows_and_what_comes_is_proposed_from_the_last_one_on(catalog: Catalog) -> None:
    day, now = datetime.timedelta(days=1), datetime.datetime.now(datetime.UTC)
    rhythm = Rhythm(now - day - datetime.timedelta(minutes=1), day, 3)  # coordinator 0 is to move, the others in hours
    ends = [catalog.members.boundary(c, e, rhythm).ends_at for e in range(2) for c in range(3)]
    assert ends == [rhythm.end(c, e) for e in range(2) for c in range(3)]
    catalog.votes.vote(0, 0, None, rhythm)
    (first,) = catalog.members.boundaries(0)
    assert (first.reason, first.is_early, first.ends_at) == ("clock", False, rhythm.end(0, 0))
    ended = catalog.members.end_epoch(0, rhythm)
    assert [(b.coordinator, b.reason, b.is_early) for b in ended] == [(1, "request", True), (2, "request", True)]
    assert catalog.members.end_epoch(0, rhythm) == []
    assert catalog.members.boundaries(0) == [first, *ended]
    assert abs(ended[0].ends_at - now) < datetime.timedelta(minutes=5)
    later = [catalog.members.boundary(c, 1, rhythm) for c in range(3)]
    assert [b.ends_at - ended[1].ends_at for b in later] == [rhythm.period * n for n in (1, 2, 3)]
    assert all(b.reason is None for b in later)


def test_the_period_follows_the_number_of_members(catalog: Catalog) -> None:
    catalog.members.add()
    for coordinator in range(3):
        catalog.votes.vote(coordinator, 0, None, PAST)
    last = catalog.members.boundary(2, 0, PAST).ends_at
    steps = [catalog.members.boundary(c, 1, PAST).ends_at - last for c in range(4)]
    assert steps == [PAST.length * n / 4 for n in range(1, 5)]


def test_an_epoch_that_is_sealed_before_its_time_ends_then(catalog: Catalog) -> None:
    catalog.votes.vote(0, 0, None, FUTURE)
    assert catalog.members.boundary(0, 0, FUTURE).reason == "voted"
    assert (
        catalog.members.boundary(1, 0, FUTURE).ends_at == catalog.members.boundary(0, 0, FUTURE).ends_at + FUTURE.period
    )
