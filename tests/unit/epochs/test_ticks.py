"""Ticks: now() goes on with the epochs, also with those to which nothing is appended, at the cost of what it passes (decision 56)."""

import dataclasses
import datetime

import duckdb
import pytest

from cumulus_ops.catalog.records import moment_of_now
from cumulus_ops.compute import refresh as refreshing
from cumulus_ops.epochs import ticking
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.generations import begin_anew
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.quarantine import drop_batch, retry_batch
from cumulus_ops.epochs.status import status
from cumulus_ops.epochs.voting import apply_left, vote
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.query.answers import read_answer
from cumulus_ops.query.read import read_view
from m3 import parse
from m3.clock import CLOCK
from tests.support.projects import append_events, make_project

LENGTH = datetime.timedelta(minutes=10)
HOUR = datetime.timedelta(hours=1)
RELATIONS = parse("RELATION click(id INT, url INT, at TIMESTAMP NULL);").relations
VIEWS = {
    "recent": "SELECT id FROM click WHERE at > now() - INTERVAL '1 hour'",
    "today": "SELECT url, COUNT(*) AS n FROM click WHERE CAST(at AS DATE) = current_date GROUP BY url",
    "all": "SELECT COUNT(*) AS n FROM click",
}


@pytest.fixture
def make(tmp_path):
    """Opens a project whose epoch 0 has begun so many epochs ago, or at the moment given."""
    opened = []

    def maker(behind=0, coordinators=1, start=None):
        project = make_project(tmp_path, RELATIONS, views=VIEWS, coordinators=coordinators)
        start = start or datetime.datetime.now(datetime.UTC) - behind * LENGTH
        epoch = dataclasses.replace(project.epoch, start=start, length=LENGTH)
        project = dataclasses.replace(project, epoch=epoch)
        initialise(project)
        context = open_runtime(project)
        opened.append(context)
        return context.__enter__()

    yield maker
    for context in opened:
        context.__exit__(None, None, None)


def click(rt, coordinator, ids, hours):
    """Clicks so many hours after epoch 0 began, applied."""
    start = rt.project.epoch.start.replace(tzinfo=None)
    rows = [(CLICK, 1, (i, i % 3, start + h * HOUR)) for i, h in zip(ids, hours, strict=True)]
    append_events(rt, coordinator, rows, f"d{ids[0]}")
    run_minibatch(rt, coordinator)


CLICK = "click"


def ticks(rt):
    return [(b.epoch, b.state) for b in rt.catalog.log.batches() if b.tick is not None]


def recent(rt, epoch=None):
    return sorted(r["id"] for r in read_view(rt, "recent", as_of=epoch).to_pylist())


def expected(rt, epoch, rows, name="recent"):
    """What DuckDB says of a view, with what the snapshot says that now is."""
    now = moment_of_now(rt.catalog.snapshots.at(epoch).now)
    database = duckdb.connect()
    database.execute('CREATE TABLE click (id INT, url INT, "at" TIMESTAMP)')
    database.executemany("INSERT INTO click VALUES (?, ?, ?)", rows)
    text = VIEWS[name].replace("at >", '"at" >').replace("(at ", '("at" ')
    text = text.replace("now()", f"TIMESTAMP '{now}'").replace("current_date", f"DATE '{now.date()}'")
    return sorted(database.execute(text).fetchall())


def test_rows_leave_though_nothing_comes(make):
    rt = make(8 * 6)  # eight hours
    start = rt.project.epoch.start.replace(tzinfo=None)
    click(rt, 0, range(10), range(10))
    assert recent_tentative(rt) == []  # no epoch has ended: there is no time yet
    assert run_waiting(rt, validating=False) == 2
    first, last = rt.catalog.snapshots.own()
    assert (first.epoch, last.epoch) == (0, 8 * 6 - 1)
    assert moment_of_now(first.now) - start == LENGTH
    assert moment_of_now(last.now) - start == 8 * 6 * LENGTH
    rows = [(i, i % 3, start + i * HOUR) for i in range(10)]
    for epoch in (0, last.epoch):
        for name in VIEWS:
            assert sorted(tuple(r.values()) for r in read_view(rt, name, as_of=epoch).to_pylist()) == expected(
                rt, epoch, rows, name
            )
    assert (recent(rt, 0), recent(rt)) == (list(range(10)), [8, 9])
    answer = read_answer(rt, "recent")
    assert answer.label == f"final by epoch {last.epoch}, as of {moment_of_now(last.now)} (now())"
    assert "now()" not in read_answer(rt, "all").label
    assert status(rt).snapshot.now == moment_of_now(last.now)
    assert status(rt).epochs[-1].events == 0  # a tick is nobody's event


def recent_tentative(rt):
    return sorted(r["id"] for r in read_view(rt, "recent", tentative=True).to_pylist())


def test_a_quiet_time_has_no_snapshots_of_its_own(make):
    rt = make(31_000)
    click(rt, 0, [1], [0])
    run_waiting(rt, validating=False)
    before = ticks(rt)
    assert [epoch for epoch, _ in before] == [0, 30_999]
    assert len(rt.catalog.snapshots.own()) == 2
    assert recent(rt) == []
    for epoch in (1, 15_000, 30_998):  # the time that a repeated snapshot has is that of the one it repeats
        snapshot = rt.catalog.snapshots.at(epoch)
        assert (snapshot.repeats, snapshot.now) == (0, rt.catalog.snapshots.at(0).now)
    assert run_waiting(rt, validating=False) == 0  # run twice
    assert ticks(rt) == before


def test_nothing_that_time_passes_is_no_tick(make):
    rt = make(10)
    click(rt, 0, [1], [50])  # two days ahead: within no hour, and on no day, of an epoch that is over
    run_waiting(rt, validating=False)
    assert ticks(rt) == [(0, "retired")]
    for epoch in range(1, 9):
        vote(rt, 0, epoch)
    assert ticks(rt) == [(0, "retired")]
    assert [s.epoch for s in rt.catalog.snapshots.own()] == [0]
    assert rt.catalog.snapshots.newest() == 8


def test_one_tick_of_an_epoch_whoever_votes_first(make):
    rt = make(20, coordinators=3)
    click(rt, 1, [1, 2], [0, 2.5])
    click(rt, 2, [3], [1])
    run_waiting(rt, validating=False)
    over = rt.catalog.snapshots.newest()
    assert [epoch for epoch, _ in ticks(rt)] == [0, over]
    assert over >= 17
    assert recent(rt) == [2]
    click(
        rt, 0, [9], [3]
    )  # only the last one to vote has a reason: the others have appended nothing, and nothing leaves
    holder = rt.catalog.votes.token_holder()
    while rt.catalog.votes.missing(over + 1):
        vote(rt, holder, over + 1)
        holder = rt.catalog.votes.token_holder()
    commit(rt, over + 1)
    assert recent(rt) == [2, 9]
    assert sum(epoch == over + 1 for epoch, _ in ticks(rt)) == 1


def test_who_dies_between_tick_and_refresh_leaves_both_to_others(make, monkeypatch):
    rt = make(12)
    click(rt, 0, [1, 2], [0, 3])

    class Killed(Exception):
        pass

    def die(*_):
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(ticking, "apply_or_set_aside", die)
        with pytest.raises(Killed):
            vote(rt, 0, 0)
    assert ticks(rt) == [(0, "appended")]
    run_waiting(rt, validating=False)
    assert [epoch for epoch, _ in ticks(rt)] == [0, 11]
    assert recent(rt) == [2]


def test_work_is_proportional_to_what_leaves(make, monkeypatch):
    """Of 20,000 rows few leave in an epoch: as many groups are computed again, and no more entries are read to find them."""
    noon = datetime.datetime(2024, 5, 1, 12, tzinfo=datetime.UTC)
    rt = make(start=noon)  # at midnight all of a day would leave today's view
    start = rt.project.epoch.start.replace(tzinfo=None)
    many = 20_000
    rows = [(CLICK, 1, (i, i, start + datetime.timedelta(seconds=i))) for i in range(many)]
    append_events(rt, 0, rows, "many")
    run_minibatch(rt, 0)
    found, points = [], []
    read, derive_rows = refreshing.read_between, refreshing._derivation_rows

    def reading(*args):
        parts = read(*args)
        found.append(sum(len(part[0]) for part in parts))
        return parts

    def deriving(plan, derived, states, at):
        points.append(len(at.group))
        return derive_rows(plan, derived, states, at)

    monkeypatch.setattr(refreshing, "read_between", reading)
    monkeypatch.setattr(refreshing, "_derivation_rows", deriving)
    counts = {}
    for number, seconds in enumerate((3600, 3600 + 50, 3600 + 150)):
        found.clear()
        points.clear()
        append_events(rt, 0, [(CLOCK, 1, (start + datetime.timedelta(seconds=seconds),))], f"tick{number}")
        run_minibatch(rt, 0)
        counts[seconds] = (max(found), max(points))
    assert counts[3600][0] == many  # the first time that there is concerns all
    assert counts[3650] == (50, 100)  # each as it was before the tick, and behind it
    assert counts[3750] == (100, 200)


def test_a_tick_that_fails_is_set_aside_and_the_next_one_counts(make, monkeypatch):
    rt = make(12)
    click(rt, 0, [1, 2], [0, 3])
    vote(rt, 0, 0)
    commit(rt, 0)
    click(rt, 0, [3], [3])
    with monkeypatch.context() as broken:
        broken.setattr(refreshing, "read_between", lambda *_: 1 / 0)
        vote(rt, 0, 1)
    commit(rt, 1)
    (batch,) = [b for b in rt.catalog.log.batches(epoch=1) if b.tick is not None]
    assert batch.state == "aside"
    assert rt.catalog.snapshots.at(1).now == rt.catalog.snapshots.at(0).now
    assert recent(rt, 1) == [1, 2, 3]
    with pytest.raises(InputProblem, match="tick"):
        retry_batch(rt, batch.id)
    assert drop_batch(rt, batch.id).state == "dropped"
    run_waiting(rt, validating=False)
    assert recent(rt) == [2, 3]


def test_a_new_generation_reads_ticks_from_the_log(make):
    rt = make(12)
    click(rt, 0, [1, 2], [0, 3])
    run_waiting(rt, validating=False)
    before = [(s.epoch, s.now, recent(rt, s.epoch)) for s in rt.catalog.snapshots.own()]
    begin_anew(rt.project)
    with open_runtime(rt.project) as again:
        run_waiting(again, validating=False)
        assert [(s.epoch, s.now, recent(again, s.epoch)) for s in again.catalog.snapshots.own()] == before


def test_views_that_depend_on_now_no_more_leave_ticks_in_the_log(make):
    rt = make(12)
    click(rt, 0, [1, 2], [0, 3])
    run_waiting(rt, validating=False)
    project = dataclasses.replace(rt.project, views={"all": VIEWS["all"]})
    begin_anew(project)
    with open_runtime(project) as again:
        assert CLOCK not in again.program.relation_by_name
        run_waiting(again, validating=False)
        apply_left(again, 0)
        assert read_view(again, "all").to_pylist() == [{"n": 2}]
