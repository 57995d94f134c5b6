"""Processes that die while they apply a batch: good batches are never set aside for it, those that truly kill are, and are tried again."""

from __future__ import annotations

import datetime
import os
import signal
import time
from pathlib import Path

import pytest

from cumulus_ops.catalog.asides import RETRIES, UNENDED
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.epochs import setting_aside
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.epochs.status import status
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.names import NOTICES
from cumulus_ops.project.rhythm import Rhythm
from cumulus_ops.project.settings import Project
from tests.support.catalogs import NOBODY, append, make_catalog
from tests.support.children import start, wait
from tests.support.projects import make_project
from tests.unit.sources.test_landing import SALE, STOCK, land, lines, take_all

#: `KILLS=100 pytest tests/e2e/test_dying_batches.py` kills more; five in a row were once too many.
KILLS = int(os.environ.get("KILLS", "3"))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two drops wait."""
    views = {"n": "SELECT COUNT(*) AS n FROM sale, stock WHERE sale.id = stock.id"}
    made = make_project(tmp_path, (SALE, STOCK), views=views, coordinators=1)
    initialise(made)
    land(made, "d1", sale__ndjson=lines((1, 7)))
    land(made, "d2", sale__ndjson=lines((2, 8)))
    return made


def work(project: Project, *, fault: str = "", pause: str = "") -> None:
    """A process that takes all there is."""
    os.environ.update(CUMULUS_FAULT=fault, CUMULUS_PAUSE=pause)
    with open_runtime(project) as rt:
        take_all(rt)


def wait_until_begun(catalog: Catalog, attempts: int) -> None:
    """Until so many attempts at the first batch have begun, and none has ended."""
    deadline = time.monotonic() + 120
    while not (found := catalog.log.batches()) or found[0].unended < attempts:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_good_batches_are_not_set_aside_however_often_their_processes_are_killed(project: Project) -> None:
    """Each process stops in the middle of the first batch, or the one that it has started for it does; then it is killed."""
    catalog = Catalog(project.catalog_url, project.state)
    for attempt in range(1, KILLS + 1):
        process = start(work, project, pause="apply.before-commit")
        wait_until_begun(catalog, attempt)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        assert wait(process) == -signal.SIGKILL
        assert next(b.state for b in catalog.log.batches()) == "appended"
    for _ in range(3):
        catalog.commits.begin_apply(1, NOBODY)  # and more, of which nobody has seen the end
    with open_runtime(project) as rt:
        take_all(rt)
    assert [(b.state, b.failures, b.deaths, b.retry_at) for b in catalog.log.batches()] == [("applied", 0, 0, None)] * 2
    assert sum(b.events for b in catalog.log.batches()) == 2
    catalog.close()


def test_a_batch_that_kills_is_set_aside_and_tried_again_at_doubling_intervals(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = "apply.before-commit:d1"
    begun = time.time()
    assert wait(start(work, project, fault=fault)) == -signal.SIGKILL
    clock = [begun]
    monkeypatch.setattr(setting_aside, "clock_s", lambda: clock[0])
    monkeypatch.setenv("CUMULUS_FAULT", fault)
    with open_runtime(project) as rt:
        rt.catalog.commits.begin_apply(1, NOBODY)  # as if another process had died of it
        take_all(rt)
        first, second = rt.catalog.log.batches()
        assert (first.state, first.failures, first.unended, first.deaths, second.state) == ("aside", 0, 0, 1, "applied")
        assert first.retry_at is not None
        assert first.retry_at == begun + 300
        assert "SIGKILL" in (first.reason or "").splitlines()[0]
        (told,) = status(rt).set_aside
        assert "tried again by its coordinator after 20" in str(told)
        assert "tried again by its coordinator" in (project.state / NOTICES).read_text()
        clock[0] = first.retry_at - 1
        assert run_minibatch(rt, 0) is None
        clock[0] = first.retry_at
        report = run_minibatch(rt, 0)
        assert report is not None
        again = rt.catalog.log.batch(report.batch)
        assert (report.set_aside, again.deaths, again.retry_of) == ((again.id,), 2, first.id)
        assert again.retry_at == clock[0] + 600
        assert [b.batch for b in rt.catalog.history.failed() if b.state == "aside"] == [again.id]
        monkeypatch.setenv("CUMULUS_FAULT", "")  # there is enough memory now, say
        clock[0] = again.retry_at
        assert run_waiting(rt, validating=False) == 1, "it is something that waits"
        counted = [b for b in rt.catalog.log.batches() if b.counts]
        assert sorted((b.drop, b.state, b.events) for b in counted) == [("d1", "retired", 1), ("d2", "retired", 1)]
        assert [b for b in rt.catalog.history.failed() if b.state == "aside"] == []


def test_what_has_died_often_enough_waits_for_somebody(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    pauses = []
    for number in range(RETRIES + 2):
        batch = append(catalog, 0, f"d{number}")
        with catalog.database.engine.begin() as connection:  # as a retry of a batch that has died so often
            connection.exec_driver_sql(f"UPDATE batch SET deaths = {number} WHERE id = {batch}")
        catalog.asides.set_aside_dead(batch, "why", 1000.0)
        found = catalog.log.batch(batch)
        pauses.append(None if found.retry_at is None else found.retry_at - 1000)
        assert (found.state, found.deaths) == ("aside", number + 1)
    assert pauses == [300, 600, 1200, 2400, 4800, None, None]
    assert len(catalog.log.waiting_batches(0)) == RETRIES
    catalog.asides.give_up(1)
    assert catalog.log.batch(1).retry_at is None
    catalog.close()


def test_what_waits_for_a_coordinator_that_is_gone_waits_for_somebody(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    rhythm = Rhythm(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), datetime.timedelta(seconds=30), 3)
    while_there, after, other = append(catalog, 0, "d1"), append(catalog, 0, "d2"), append(catalog, 1, "d3")
    for batch in (while_there, other):
        catalog.asides.set_aside_dead(batch, "why", 1000.0)
    catalog.members.drain(0)
    assert catalog.log.batch(while_there).retry_at is not None, "it has not left yet"
    with catalog.database.engine.begin() as connection:  # as one that the beginning of a generation leaves to others
        connection.exec_driver_sql(f"UPDATE batch SET state = 'aside' WHERE id = {after}")
    token = catalog.votes.take_token(0, rhythm, datetime.timedelta(0))
    assert token is not None
    catalog.votes.vote(0, 0, token, rhythm)
    with catalog.database.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE batch SET state = 'appended' WHERE id = {after}")
    catalog.asides.set_aside_dead(after, "why", 1000.0)
    assert [catalog.log.batch(b).retry_at for b in (while_there, after, other)] == [None, None, 1300]
    catalog.close()


def test_only_two_attempts_without_an_end_make_a_batch_suspect(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path)
    batch = append(catalog, 0, "d1")
    for attempts in range(UNENDED):
        assert (catalog.log.batch(batch).unended, setting_aside.is_suspect(catalog.log.batch(batch))) == (
            attempts,
            False,
        )
        catalog.commits.begin_apply(batch, NOBODY)
    assert setting_aside.is_suspect(catalog.log.batch(batch))
    catalog.asides.excuse(batch)
    assert not setting_aside.is_suspect(catalog.log.batch(batch))
    catalog.close()
