"""The catalog's connection is cut before and after commits, and its server is killed, while two processes do all the steps of their epochs: each step waits, begins again, and nothing is
lost or doubled."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.catalog.commits import Commits
from cumulus_ops.epochs.driver import run_epochs
from cumulus_ops.opening import resuming
from cumulus_ops.opening.resuming import resumes
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.interruptions import interruptions
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import epoch_end
from tests.support.cutting import proxy
from tests.support.derived_programs import SHOP
from tests.support.drops import make_shop
from tests.support.logs import logged_events, logged_maps
from tests.support.projects import engine_maps
from tests.support.services import PostgreSQL, postgresql

pytestmark = pytest.mark.postgres
EPOCHS = 1


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with postgresql() as running:
        yield running


@resumes
def work(project: Project) -> None:
    """All steps of the epochs that are left."""
    with open_runtime(project, "inprocess") as rt:
        run_epochs(rt, EPOCHS - len(rt.catalog.snapshots.all()), validating=False)


def outcome(project: Project) -> dict[str, object]:
    """Everything that must not depend on what was cut. What was appended and applied is compared with the events that had landed."""
    with open_runtime(project, "inprocess") as rt:
        for epoch in range(EPOCHS):
            assert engine_maps(rt, epoch_end(epoch)) == logged_maps(rt, epoch)
        return {
            "events": sorted(logged_events(rt, EPOCHS), key=repr),
            "drops": sorted(
                (b.coordinator, b.drop, b.part, b.epoch, b.inserts, b.deletes) for b in rt.catalog.log.batches()
            ),
            "snapshots": [s.epoch for s in rt.catalog.snapshots.all()],
            "published": rt.catalog.results.published(),
        }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    project = make_shop(tmp_path_factory.mktemp("undisturbed"), periods=4, program=SHOP)
    initialise(project)
    work(project)
    return outcome(project)


@pytest.mark.parametrize("where", ["before", "after"])
def test_connections_that_are_cut_at_commits(
    where: str,
    server: PostgreSQL,
    undisturbed: dict[str, object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resuming, "LOSSES", 1000)
    server.create_database(f"cut_{where}")
    # far enough from each other for a step to do something, and with no common divisor with what it commits
    with proxy(server.port, lambda number: where if number % 13 == 12 else "") as between:
        project = make_shop(
            tmp_path, periods=4, program=SHOP, catalog_url=f"postgresql://cumulus@127.0.0.1:{between.port}/cut_{where}"
        )
        initialise(project)
        work(project)
        between.choose = lambda _: ""
        assert len(between.cuts) > 3
        assert outcome(project) == undisturbed
    assert interruptions(project.state, 99)


def test_a_commit_of_which_nobody_knows_is_there_once(
    server: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to the commit that makes a batch visible is lost: the batch is found applied, and is not applied again."""
    server.create_database("unknown")
    asked: list[int] = []
    real = Commits.commit_apply
    with proxy(server.port, lambda _: "after" if len(asked) == 1 and not between.cuts else "") as between:

        def commit_apply(self: Commits, batch: int, *args: object, **options: object) -> int | None:
            asked.append(batch)
            return real(self, batch, *args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(Commits, "commit_apply", commit_apply)
        project = make_shop(
            tmp_path, periods=4, program=SHOP, catalog_url=f"postgresql://cumulus@127.0.0.1:{between.port}/unknown"
        )
        initialise(project)
        work(project)
        assert between.cuts == ["after"]
        assert asked.count(asked[0]) == 1, "it was applied, and its step has seen that"


def test_a_server_that_is_killed_and_away_for_a_while(
    server: PostgreSQL, undisturbed: dict[str, object], tmp_path: Path
) -> None:
    url = server.create_database("killed")
    away = threading.Event()

    def kill(number: int) -> str:
        if number in (20, 40):
            server.out(signal.SIGKILL if number == 20 else signal.SIGQUIT, lambda: time.sleep(0.5))
            away.set()
        return ""

    with proxy(server.port, kill) as between:
        project = make_shop(
            tmp_path, periods=4, program=SHOP, catalog_url=url.replace(str(server.port), str(between.port))
        )
        initialise(project)
        work(project)
        assert away.is_set()
        assert outcome(project) == undisturbed
    assert any("database" in one.part for one in interruptions(project.state, 99))
