"""Epochs to which nothing is appended: they cost nothing, however many, and their snapshots are the one before (decision 0029)."""

import dataclasses
import datetime

import pytest

from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import ValidationSettings
from cumulus_ops.publishing.publishing import list_awaiting, list_to_validate, publish
from cumulus_ops.query.read import read_view
from m3.datatypes import INT
from m3.program import Column, Relation
from tests.support.projects import append_events, make_project

LENGTH = datetime.timedelta(minutes=15)
MANY = 31_000
SALE = Relation("sale", (Column("shop", INT), Column("amount", INT)), ())
VIEWS = {"takings": "SELECT shop, SUM(amount) AS total FROM sale GROUP BY shop"}


@pytest.fixture
def make(tmp_path):
    """Opens a project whose epoch 0 has begun so many epochs ago."""
    opened = []

    def maker(behind, **settings):
        project = make_project(tmp_path, [SALE], views=VIEWS, coordinators=3)
        start = datetime.datetime.now(datetime.UTC) - behind * LENGTH
        project = dataclasses.replace(
            project,
            epoch=dataclasses.replace(project.epoch, start=start, length=LENGTH, **settings.pop("epoch", {})),
            **settings,
        )
        initialise(project)
        context = open_runtime(project)
        opened.append(context)
        return context.__enter__()

    yield maker
    for context in opened:
        context.__exit__(None, None, None)


def sell(rt, coordinator, amount):
    """One sale, applied."""
    append_events(rt, coordinator, [("sale", 1, (1, amount))], f"d{amount}")
    run_minibatch(rt, coordinator)


def end_epochs(rt, upto):
    """Everybody seals all epochs up to ``upto``, in as few steps as there are coordinators."""
    while True:
        epoch, coordinator = min((m.epoch, m.coordinator) for m in rt.catalog.members.membership().active())
        if epoch > upto:
            return
        vote(rt, coordinator, epoch, upto)


def total(rt, epoch):
    return read_view(rt, "takings", as_of=epoch).to_pylist()


def counted(rt, monkeypatch):
    """Counts the transactions."""
    engine, seen = rt.catalog.database.engine, []
    begin = engine.begin
    monkeypatch.setattr(engine, "begin", lambda: seen.append(1) or begin())
    return seen


def test_what_is_behind_is_a_few_transactions(make, monkeypatch):
    rt = make(MANY + 2)
    sell(rt, 1, 7)
    transactions = counted(rt, monkeypatch)
    end_epochs(rt, MANY)
    commit(rt, 0)
    assert len(transactions) < 40
    assert rt.catalog.snapshots.newest() == MANY
    assert [s.epoch for s in rt.catalog.snapshots.own()] == [0]
    assert total(rt, 0) == total(rt, 17) == total(rt, MANY) == [{"shop": 1, "total": 7}]
    (line,) = status(rt).epochs
    assert (line.epoch, line.through, line.state, line.events) == (0, MANY, "committed", 1)


def test_their_boundaries_are_those_that_sealing_one_by_one_writes(make):
    """A coordinator that ended one early moves the others' boundaries, whoever seals how many at once."""
    rt = make(50)
    rhythm = Rhythm.of(rt.project)
    vote(rt, 0, 0, 9)
    expected = {(e, c): rt.catalog.members.boundary(c, e, rhythm).ends_at for e in range(10) for c in range(3)}
    end_epochs(rt, 9)
    found = {(b.epoch, b.coordinator): b.ends_at for e in range(10) for b in rt.catalog.members.boundaries(e)}
    for place, ends_at in expected.items():
        assert abs(found[place] - ends_at) < datetime.timedelta(milliseconds=1), place
        assert abs(found[place] - rhythm.end(place[1], place[0])) < datetime.timedelta(milliseconds=1), place


def test_no_epoch_is_ended_before_its_time(make):
    rt = make(3)
    vote(rt, 0, 0, 100)
    assert rt.catalog.members.position(0)[0] in (3, 4), "those that are over, to the second"
    rhythm = Rhythm.of(rt.project)
    last = rt.catalog.members.position(0)[0] - 1
    assert rt.catalog.members.boundary(0, last, rhythm).ends_at <= datetime.datetime.now(datetime.UTC)


def test_an_empty_epoch_waits_for_the_one_before_it(make):
    rt = make(10)
    end_epochs(rt, 0)
    commit(rt, 0)
    sell(rt, 2, 5)  # in epoch 1
    end_epochs(rt, 5)
    assert rt.catalog.snapshots.newest() == 0, "epoch 1 has events, which nobody has committed"
    assert list(rt.catalog.votes.complete_epochs(1)) == [1, 2, 3, 4, 5]
    commit(rt, 1)
    assert rt.catalog.snapshots.newest() == 5
    assert [s.repeats for s in rt.catalog.snapshots.all()] == [None, None, 1, 1, 1, 1]
    assert (total(rt, 0), total(rt, 1), total(rt, 5)) == ([], [{"shop": 1, "total": 5}], [{"shop": 1, "total": 5}])


def test_only_what_is_new_is_published_and_validated(make):
    rt = make(20)
    end_epochs(rt, 4)
    commit(rt, 0)
    sell(rt, 0, 5)
    end_epochs(rt, 9)
    commit(rt, 5)
    assert list(list_awaiting(rt, "publish")) == list(list_to_validate(rt)) == [0, 5]
    for epoch in list_awaiting(rt, "publish"):
        publish(rt, epoch)
    assert rt.catalog.results.published().keys() == {("takings", 0), ("takings", 5)}


@pytest.mark.parametrize(("last", "due"), [(5, []), (6, [4])])
def test_a_snapshot_is_due_when_an_epoch_is_that_has_it(make, last, due):
    rt = make(20, validation=ValidationSettings(every=3))
    end_epochs(rt, 3)
    commit(rt, 0)
    rt.catalog.snapshots.record_done("validate", 0)
    sell(rt, 0, 5)  # in epoch 4, which is not due; 6 is
    end_epochs(rt, last)
    commit(rt, 4)
    assert list(list_to_validate(rt)) == due
    assert rt.catalog.snapshots.outcome("validate", 4) is None, "it may be due yet"


def test_quiet_epochs_push_no_snapshot_out(make):
    rt = make(MANY + 2, epoch={"retain": 2, "pin": 3})
    for day in range(5):
        sell(rt, day % 3, 10**day)
        first = rt.catalog.snapshots.newest() + 1
        end_epochs(rt, first + 99)
        commit(rt, first)
        rt.catalog.snapshots.record_done("validate", first)
        rt.catalog.snapshots.record_done("publish", first)
    assert [s.epoch for s in rt.catalog.snapshots.own()] == [0, 100, 200, 300, 400]
    assert rt.catalog.snapshots.release(2, 3, rt.project.consumers) == 300
    assert rt.catalog.snapshots.expired() == {}
    assert (total(rt, 300), total(rt, 399)) == ([{"shop": 1, "total": 1111}], [{"shop": 1, "total": 1111}])


def test_what_only_reading_finds_is_known_of_the_repeated_ones_as_well(make):
    from cumulus_ops.catalog.records import ViewError
    from cumulus_ops.query.errors import newest_errors

    rt = make(20)
    end_epochs(rt, 3)
    commit(rt, 0)
    rt.catalog.results.record_view_error(ViewError("takings", 0, "division-by-zero", "fails", "takings.sql:1:8", ""))
    assert [(e.view, e.since) for e in newest_errors(rt)] == [("takings", 0)]
    end_epochs(rt, 6)
    assert [(e.view, e.epoch, e.since) for e in newest_errors(rt)] == [("takings", 6, 0)]
