"""Coordinators in real processes that die holding the token, stand still, are added, drained and removed: the law holds, on SQLite
and on PostgreSQL."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from cumulus_ops.catalog import database
from cumulus_ops.catalog.members import lock_coordinator
from cumulus_ops.epochs.checkpoint import commit
from cumulus_ops.epochs.minibatch import current_epoch, run_minibatch, settle
from cumulus_ops.epochs.voting import apply_orphans, fence_the_gone, is_complete, remove_coordinator, vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import InputProblem, NotYet
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import epoch_end
from tests.support.children import start, wait, wait_until_stopped, work_through_epochs
from tests.support.drops import make_shop
from tests.support.leases import has_been_awaited, lapse
from tests.support.logs import logged_events, logged_maps
from tests.support.projects import engine_maps
from tests.support.sampling import sampled
from tests.support.services import postgresql

PERIODS = 4
MakeProject = Callable[[Path], Project]


SQLITE, POSTGRESQL = "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)
BOTH = pytest.mark.parametrize("make_project", sampled([POSTGRESQL, SQLITE], 2), indirect=True)


def on(database: str, *places: str) -> list[object]:
    """The test's parameters: a database, and each place."""
    marks = [pytest.mark.postgres] if database == "postgresql" else []
    return [pytest.param(database, place, marks=marks) for place in places]


@pytest.fixture(scope="module")
def make_project(request: pytest.FixtureRequest) -> Iterator[MakeProject]:
    """Makes an initialised shop with landed drops for three coordinators, and a catalog on one of the databases."""

    def make(folder: Path, url: str | None) -> Project:
        project = make_shop(folder, periods=PERIODS, catalog_url=url)
        initialise(project)
        return project

    if request.param == "sqlite":
        yield lambda folder: make(folder, None)
        return
    with postgresql() as server:
        made = iter(range(100))
        yield lambda folder: make(folder, server.create_database(f"shop{next(made)}"))


def _end_epoch(rt: Runtime, coordinators: tuple[int, ...]) -> None:
    """A drop each, and their seals; who is in the way is late."""
    for coordinator in coordinators:
        run_minibatch(rt, coordinator)
        try:
            vote(rt, coordinator, current_epoch(rt, coordinator))
        except NotYet:
            has_been_awaited(rt.project.catalog_url)
            vote(rt, coordinator, current_epoch(rt, coordinator))


def _finish(rt: Runtime) -> None:
    """Everybody who is left brings what has landed to an end; then the law is looked at, epoch by epoch."""
    everyone = sorted(m.coordinator for m in rt.catalog.members.membership().active())
    for coordinator in everyone:
        while run_minibatch(rt, coordinator) is not None:
            pass
    last = max(current_epoch(rt, c) for c in everyone)
    while min(current_epoch(rt, c) for c in everyone) <= last:
        vote(rt, rt.catalog.votes.token_holder(), current_epoch(rt, rt.catalog.votes.token_holder()))
    for epoch in range(last + 1):
        commit(rt, epoch)
        assert engine_maps(rt, epoch_end(epoch)) == logged_maps(rt, epoch)


def _nothing_is_lost_or_doubled(rt: Runtime, quiet: Project, coordinators: tuple[int, ...] = (0, 1, 2)) -> None:
    """The log has all that landed, and as often; ``quiet`` is where the same has landed and nothing else has happened."""
    assert all(not rt.sources.pending(c) for c in coordinators)
    with open_runtime(quiet, "inprocess") as other:
        for coordinator in range(3):
            while run_minibatch(other, coordinator) is not None:
                pass
        assert sorted(logged_events(rt, 99), key=repr) == sorted(logged_events(other, 99), key=repr)


@pytest.mark.parametrize(
    ("make_project", "fault"),
    [*on("sqlite", "apply.before-commit", "vote.before-commit"), *on("postgresql", "vote.before-commit")],
    indirect=["make_project"],
)
def test_who_dies_with_the_token_is_passed_by_then_fenced_and_comes_back(
    fault: str, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(tmp_path / "shop")
    assert wait(start(work_through_epochs, project, 0, 1, fault=fault)) == -signal.SIGKILL
    with open_runtime(project, "inprocess") as rt:
        assert rt.catalog.votes.token().holder == 0
        appended = len(rt.catalog.log.batches(coordinator=0))
        _end_epoch(rt, (1, 2))
        assert not is_complete(rt, 0), "it has lost the token, and nothing else"
        lapse(project.catalog_url)
        (fenced,) = fence_the_gone(rt, by=2)
        assert (fenced.epoch, fenced.coordinator, fenced.by) == (0, 0, 2)
        assert is_complete(rt, 0)
        commit(rt, 0)
        assert engine_maps(rt, epoch_end(0)) == logged_maps(rt, 0)
        assert [b.epoch for b in rt.catalog.log.batches(coordinator=0)] == [0] * appended
    assert wait(start(work_through_epochs, project, 0, 2)) == 0, "it comes back, and has its next epoch"
    with open_runtime(project, "inprocess") as rt:
        _finish(rt)
        _nothing_is_lost_or_doubled(rt, make_project(tmp_path / "quiet"))
        assert rt.catalog.votes.fenced() == [fenced]


@pytest.mark.parametrize(
    ("make_project", "pause"),
    [*on("sqlite", "apply.before-commit", "vote.before-commit"), *on("postgresql", "append.before-commit")],
    indirect=["make_project"],
)
def test_who_wakes_up_late_finds_its_epoch_sealed_and_goes_on_in_the_next(
    pause: str, make_project: MakeProject, tmp_path: Path
) -> None:
    project = make_project(tmp_path / "shop")
    child = start(work_through_epochs, project, 0, 2, pause=pause)
    try:
        wait_until_stopped(child)
        with open_runtime(project, "inprocess") as rt:
            _end_epoch(rt, (1, 2))
            assert [f.coordinator for f in fence_the_gone(rt, by=1)] == [0]
            commit(rt, 0)
            os.kill(child.pid or 0, signal.SIGCONT)
            assert wait(child) == 0
            assert current_epoch(rt, 0) == 2
            _finish(rt)
            _nothing_is_lost_or_doubled(rt, make_project(tmp_path / "quiet"))
            assert len(rt.catalog.votes.fenced()) == 1
    finally:
        child.kill()


@pytest.mark.parametrize(
    ("make_project", "fault"), on("sqlite", "fence.before-commit", "fence.after-commit"), indirect=["make_project"]
)
def test_who_fences_may_die_too(fault: str, make_project: MakeProject, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    assert wait(start(work_through_epochs, project, 0, 1, fault="apply.before-commit")) == -signal.SIGKILL
    with open_runtime(project, "inprocess") as rt:
        _end_epoch(rt, (1, 2))
        assert wait(start(work_through_epochs, project, 1, 3, fault=fault)) == -signal.SIGKILL
        fence_the_gone(rt, by=2)
        assert [(f.epoch, f.coordinator) for f in rt.catalog.votes.fenced()] == [(0, 0)]
        _finish(rt)
        _nothing_is_lost_or_doubled(rt, make_project(tmp_path / "quiet"))


@BOTH
def test_coordinators_without_patience_who_come_and_go_while_all_work(
    make_project: MakeProject, tmp_path: Path
) -> None:
    """Everybody passes everybody by, and fences everybody, all the time; one is added, one drained, one removed while it works."""
    project = make_project(tmp_path / "shop")
    children = [start(work_through_epochs, project, c, 99 if c == 2 else 4, fencing=True) for c in range(3)]
    try:
        with open_runtime(project, "inprocess") as rt:
            added = rt.catalog.members.add().coordinator
            (project.landing / "2" / f"p{PERIODS - 1:04d}").rename(_landing(project, added) / "moved")
            children.append(
                start(work_through_epochs, project, added, 6, fencing=True)
            )  # its source has its own numbers
            while current_epoch(rt, 1) == 0:
                os.sched_yield()
            rt.catalog.members.drain(1)
            while not _is_removed(rt, 2):
                os.sched_yield()
            assert [wait(child) for child in children] == [0, 0, 0, 0]
            assert sorted(m.coordinator for m in rt.catalog.members.membership().active()) == [0, 3]
            for gone in (1, 2):  # what has landed for them waits until they are back
                assert rt.catalog.members.add(gone).first > 1
            _finish(rt)
            _nothing_is_lost_or_doubled(rt, make_project(tmp_path / "quiet"), (0, 1, 2, 3))
    finally:
        for child in children:
            child.kill()


def _landing(project: Project, coordinator: int) -> Path:
    folder = project.landing / str(coordinator)
    folder.mkdir(exist_ok=True)
    return folder


def _is_removed(rt: Runtime, coordinator: int) -> bool:
    try:
        remove_coordinator(rt, coordinator)
    except NotYet:  # it has appended something meanwhile
        return False
    return True


@BOTH
def test_what_the_dead_have_appended_has_tentative_answers_at_once(make_project: MakeProject, tmp_path: Path) -> None:
    """Killed behind an append: the others do not wait until it is back, or fenced; and its epoch is as open as it was."""
    project = make_project(tmp_path / "shop")
    with open_runtime(project, "inprocess") as rt:
        assert run_minibatch(rt, 1) is not None
        assert wait(start(work_through_epochs, project, 0, 1, fault="append.after-commit")) == -signal.SIGKILL
        (appended,) = rt.catalog.log.batches(coordinator=0)
        assert (appended.state, apply_orphans(rt, set())) == ("appended", 1), "its process is known to be gone"
        settle(rt)
        assert engine_maps(rt) == logged_maps(rt, 0)
        assert rt.catalog.log.batch(appended.id).state == "applied"
        assert not is_complete(rt, 0)
    assert wait(start(work_through_epochs, project, 0, 1)) == 0, "it comes back, and has nothing to do again"
    with open_runtime(project, "inprocess") as rt:
        _finish(rt)
        _nothing_is_lost_or_doubled(rt, make_project(tmp_path / "quiet"))


@pytest.mark.parametrize("make_project", [POSTGRESQL], indirect=True)
def test_who_stands_still_in_the_midst_of_a_transaction_holds_its_locks_for_a_while_only(
    make_project: MakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else all who look after the others would wait for it, and for ever: the server knows no leases."""
    project = make_project(tmp_path / "shop")
    engine = database.connect(project.catalog_url)
    with monkeypatch.context() as patch:
        patch.setattr(database, "IDLE_MS", 100)
        stopped = engine.connect()
    assert lock_coordinator(stopped, 0) == 0
    with open_runtime(project, "inprocess") as rt:
        assert rt.catalog.members.drain(0).last == 0, "it waits for the coordinator's row, and gets it"
    with pytest.raises(DBAPIError):
        lock_coordinator(stopped, 0)
    engine.dispose()


@pytest.mark.parametrize("make_project", [SQLITE], indirect=True)
def test_the_last_one_cannot_be_removed(make_project: MakeProject, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    with open_runtime(project, "inprocess") as rt:
        assert remove_coordinator(rt, 0)
        assert not remove_coordinator(rt, 0)
        remove_coordinator(rt, 1)
        with pytest.raises(InputProblem, match="nobody would be left"):
            remove_coordinator(rt, 2)
