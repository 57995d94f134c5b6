"""Backups while other processes append, apply, vote and commit; and with a source that forgets what it has handed over.

Each backup is of one moment, whatever is going on: what it says can be restored, and goes on to the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.epochs import backups
from cumulus_ops.epochs.backups import back_up
from cumulus_ops.epochs.driver import run_epochs, run_waiting
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import BackupSettings, Project
from cumulus_ops.query.read import read_view
from cumulus_ops.repair.restore import Restored, find_backup, opened_plan, restore
from tests.support.banking import Bank
from tests.support.children import start, wait, work_as_coordinator
from tests.support.losses import COORDINATORS, World
from tests.support.services import PostgreSQL

DROPS, PER_EPOCH = 8, 2


@pytest.fixture
def catalog_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/catalog.db"
    server: PostgreSQL = request.getfixturevalue("logical_server")
    return server.create_database("under_load")


@pytest.mark.parametrize("catalog_url", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
def test_each_backup_is_of_one_moment(catalog_url: str, tmp_path: Path) -> None:
    world = World(tmp_path, catalog_url)
    while min(world.drops) < DROPS:
        world.land()
    children = [
        start(work_as_coordinator, world.project, c, PER_EPOCH, DROPS // PER_EPOCH) for c in range(COORDINATORS)
    ]
    made = []
    with closing(Catalog(catalog_url, world.project.state)) as catalog:
        while any(child.is_alive() for child in children):
            made.append(back_up(catalog, tmp_path / "mine"))
    assert [wait(child) for child in children] == [0] * COORDINATORS
    commits = [backup.commit for backup in made]
    assert commits == sorted(commits)
    assert len(set(commits)) > 2  # they were made in between
    world.delete_it()
    world.restore(made[len(made) // 2].place)
    world.check()


# A source that forgets: what the server has sent after the newest backup is sent again.


@pytest.fixture
def bank(logical_server: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:
    monkeypatch.setattr(backups, "SHARE", 0)
    made = Bank(logical_server, tmp_path)
    yield made
    made.database.session.close()


def lose_and_restore(project: Project) -> Restored:
    for file in project.state.glob("catalog.db*"):
        file.unlink()
    with opened_plan(project, find_backup(project, project.folder / "backups")) as plan:
        return restore(project, plan)


def transfer(bank: Bank, number: int) -> None:
    bank.database.execute(
        f"UPDATE accounts SET balance = balance + {number} WHERE id = {number}; INSERT INTO history VALUES ({number}, {number}); "
        f"UPDATE branches SET total = total + {number} WHERE id = {number % 4}; INSERT INTO journal VALUES ({number}, {number % 4}, {number})"
    )


@pytest.mark.postgres
def test_what_a_server_has_sent_since_the_newest_backup_is_sent_again(bank: Bank, tmp_path: Path) -> None:
    plain = load_project(tmp_path)
    project = replace(plain, backup=BackupSettings(tmp_path / "backups"))
    initialise(project)
    with open_runtime(project) as rt:
        run_epochs(rt, 1, validating=False)
    for turn in range(3):  # the first time, the backup has a position without a place
        with open_runtime(project) as rt:
            for number in (3 * turn + 1, 3 * turn + 2):
                transfer(bank, number)
                assert run_minibatch(rt, 0) is not None
                rt.sources.pending(0)  # who asks again has what came before
        assert not lose_and_restore(project).problems
        transfer(bank, 3 * turn + 3)
        with open_runtime(project) as rt:
            run_waiting(rt, validating=False)
            assert sorted(row["xid"] for row in read_view(rt, "journal_rows").to_pylist()) == list(
                range(1, 3 * turn + 4)
            )
    assert bank.database.execute("SELECT count(*) FROM pg_replication_slots WHERE slot_name ~ '^cumulus'") == [(1,)]


@pytest.mark.postgres
@pytest.mark.parametrize("before", [0, 1])
def test_what_is_nowhere_any_more_is_named(bank: Bank, tmp_path: Path, before: int) -> None:
    """Without `backup:` nobody holds it; also where the backup was made before the first change."""
    project = load_project(tmp_path)
    initialise(project)
    with open_runtime(project) as rt:
        run_epochs(rt, 1, validating=False)
        for number in range(before):
            transfer(bank, number)
            run_waiting(rt, validating=False)
        back_up(rt.catalog, tmp_path / "backups")
        transfer(bank, 7)
        run_waiting(rt, validating=False)
        rt.sources.pending(0)
    assert "slot-elsewhere" in lose_and_restore(project).problems["bank"]
