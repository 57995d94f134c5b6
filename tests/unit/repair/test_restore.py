"""Backups and restoring: what is there afterwards, who is refused, what is said, and that it can be killed anywhere."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import text

from cumulus_ops.catalog.identity import BEGINS
from cumulus_ops.cli.main import main
from cumulus_ops.epochs import backups
from cumulus_ops.epochs.backups import back_up, list_backups
from cumulus_ops.epochs.checkpoint import collect_garbage
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.project.errors import Conflict, CumulusError, InputProblem, IntegrityProblem, SetupProblem
from cumulus_ops.project.processes import BACKUP_POINTS, RESTORE_POINTS
from cumulus_ops.project.project_file import load_project
from cumulus_ops.project.settings import BackupSettings, Project
from cumulus_ops.publishing.publishing import list_awaiting, publish
from cumulus_ops.repair import restore as restoring
from cumulus_ops.repair.restore import find_backup, opened_plan, restore
from tests.support.children import start, wait
from tests.support.losses import World
from tests.support.sampling import sampled

#: No backup is due again.
NEVER = 10**12


@pytest.fixture(autouse=True)
def _after_each_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "SHARE", 0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, seed=1)
    made.epoch_with_drops()
    return made


def files_of(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and "catalog.db" not in p.name}


def restore_in_child(project: Project, fault: str) -> None:
    os.environ["CUMULUS_FAULT"] = fault
    with opened_plan(project, find_backup(project, None)) as plan:
        restore(project, plan)


def back_up_in_child(project: Project, fault: str) -> None:
    os.environ["CUMULUS_FAULT"] = fault
    back_up_to(project)


def back_up_to(project: Project) -> None:
    with open_runtime(project, "inprocess") as rt:
        assert project.backup is not None
        back_up(rt.catalog, project.backup.to, holds=True)


def test_a_restoration_that_is_killed_is_run_again(world: World) -> None:
    points = sampled(RESTORE_POINTS, 2)
    for turn, point in enumerate(points):
        world.land()
        world.apply()
        (world.leave_it if turn % 2 else world.delete_it)()
        assert wait(start(restore_in_child, world.project, point)) == -signal.SIGKILL, point
        if point in ("restore.claimed", "restore.before-commit"):
            with pytest.raises(CumulusError) as caught:
                initialise(world.project)
            assert caught.value.kind in ("anew-unfinished", "state-of-another")
        # whoever calls it again dies there, too, and the next one elsewhere
        for again in (point, points[turn - 1]):
            assert wait(start(restore_in_child, world.project, again)) == -signal.SIGKILL, (point, again)
        if turn % 2:
            (world.project.state / BEGINS).unlink(missing_ok=True)
        world.restore()
    world.check()


def test_a_backup_that_is_killed_is_none_and_the_next_one_clears_up(world: World) -> None:
    before = [b.place.name for b in world.backups()]
    world.land()
    world.apply()
    for point in BACKUP_POINTS:
        assert wait(start(back_up_in_child, world.project, point)) == -signal.SIGKILL
    assert [b.place.name for b in world.backups()][1:] == before
    world.epoch()
    assert {path.name for path in world.backups()[0].place.parent.iterdir()} == {b.place.name for b in world.backups()}


def test_a_process_that_has_the_lost_catalog_open_does_no_more_harm(world: World) -> None:
    world.land()
    with open_runtime(world.project) as zombie:
        backup = world.backups()[0]
        world.delete_it()
        done = world.restore()
        before = files_of(world.project.state)
        assert world.project.backup is not None
        for attempt in (
            lambda: collect_garbage(zombie),
            lambda: back_up(zombie.catalog, world.project.folder / "backups", holds=True),
        ):
            with pytest.raises(SetupProblem, match="new generation"):
                attempt()
        assert files_of(world.project.state) == before
        assert world.backups()[0].place == backup.place
    assert done.identity.generation == 2
    world.check()


def test_a_lease_of_a_lost_generation_with_the_same_number_commits_nothing(world: World) -> None:
    world.land()
    with open_runtime(world.project) as old, old.catalog.leases.step() as step:
        path = f"runs/{step.label}x.pack"
        (world.project.state / path).write_bytes(b"")
        with old.catalog.database.begin() as connection:
            old.catalog.database.require_files(connection, [path])
        world.restore()
        with open_runtime(world.project) as new:
            new.catalog.leases._take()
            with new.catalog.database.begin() as connection:
                connection.execute(text("UPDATE lease SET id = :id"), {"id": step.lease})
        with old.catalog.database.begin() as connection, pytest.raises(CumulusError, match="lease is over"):
            old.catalog.database.require_files(connection, [path])


def test_looking_changes_nothing(world: World) -> None:
    world.land()
    world.apply()
    before = files_of(world.project.folder)
    with opened_plan(world.project, world.backups()[0]) as plan:
        assert plan.later.rows
        assert not plan.makes_again
    assert files_of(world.project.folder) == before
    world.check()


def test_a_catalog_that_others_have_restored_goes_on_as_it_is(world: World) -> None:
    world.land()
    world.apply()
    world.put_older_one()
    with pytest.raises(CumulusError, match="older"):
        world.run()
    assert world.restore_as_it_is().identity.generation == 2
    world.check()


def test_what_is_lost_for_good_is_named(world: World) -> None:
    log = sorted((world.project.state / "log" / "orders").iterdir())[0]
    rows = log.read_bytes()
    log.unlink()
    with opened_plan(world.project, world.backups()[0]) as plan:
        (lost,) = plan.losses.log
        assert (lost.relation, lost.epoch, lost.path) == ("orders", 0, str(log.relative_to(world.project.state)))
        assert str(lost).startswith(f"{lost.path}: {lost.rows} rows of orders, epoch 0, d0")
    log.write_bytes(rows)
    for keys in (world.project.state / "keys").iterdir():
        keys.write_bytes(b"")
    world.delete_it()
    with opened_plan(world.project, world.backups()[0]) as plan:
        assert plan.losses.keys == ("orders",)
        restore(world.project, plan)
    world.check()


def test_a_backup_that_is_damaged_or_anothers_is_refused(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    with pytest.raises(SetupProblem, match="is of installation"), opened_plan(other.project, world.backups()[0]):
        pass
    copy = world.backups()[0].copy
    copy.write_bytes(copy.read_bytes()[:-1] + b"x")
    with pytest.raises(IntegrityProblem, match="damaged"), opened_plan(world.project, world.backups()[0]):
        pass
    moved = dataclasses.replace(world.project, catalog_url=other.project.catalog_url)
    with pytest.raises(SetupProblem, match="the catalog is that of"), opened_plan(moved, world.backups()[0]):
        pass


def test_files_that_the_newest_backup_names_stay_until_the_next(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "SHARE", NEVER)
    for _ in range(5):
        world.land()
        world.epoch()
    with opened_plan(world.project, world.backups()[0]) as plan:
        assert not plan.makes_again
    monkeypatch.setattr(backups, "SHARE", 0)
    world.land()
    world.epoch()
    with opened_plan(world.project, world.backups()[1]) as plan:
        assert plan.makes_again
    world.project = dataclasses.replace(world.project, backup=None)
    world.land()
    world.epoch()
    with open_runtime(world.project) as rt:
        assert not rt.catalog.backups.holds()


@pytest.mark.parametrize("older", [False, True], ids=["a file is lost", "merged since"])
def test_only_what_is_lost_of_maps_is_made_again(world: World, older: bool) -> None:
    for _ in range(2):
        world.land()
        world.epoch()
    with open_runtime(world.project) as rt:
        (old,) = {run.path for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())}
    world.land()
    for _ in range(4):
        world.apply()
    back_up_to(world.project)
    backup = world.backups()[2 if older else 0]
    with open_runtime(world.project) as rt:
        runs = {run.path for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())}
    if not older:
        (world.project.state / min(runs - {old})).unlink()
    world.delete_it()
    with opened_plan(world.project, backup) as plan:
        assert plan.makes_again
    done = world.restore(backup.place)
    assert (done.is_whole, done.identity.generation) == (True, 2), "no generation more: no other map is made again"
    with open_runtime(world.project) as rt:
        named = {run.path for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())}
        assert not named & set(plan.losses.runs)
        assert not rt.catalog.log.batches(state="appended"), "nothing is applied again"
    assert older or old in named, "what is there is used"
    world.check()


def test_where_nothing_can_be_made_again_by_itself_all_maps_are(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise Conflict("the order of events matters", kind="order")

    monkeypatch.setattr(restoring, "recover", refuse)
    with open_runtime(world.project) as rt:
        (lost,) = {run.path for run in rt.catalog.commits.runs(rt.catalog.commits.last_commit())}
    (world.project.state / lost).unlink()
    world.delete_it()
    done = world.restore()
    assert (done.is_whole, done.identity.generation) == (False, 3)
    world.run()
    world.land()
    world.epoch()  # with a backup, which lets go of what the one before names
    world.check()


def test_readers_see_the_newest_snapshot_that_there_is_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "SHARE", NEVER)
    before = {name: world.published(name) for name in ("spent", "clicked")}
    with open_runtime(world.project) as rt:
        place = back_up(rt.catalog, world.project.folder / "mine", record=False).place  # it knows what is published
    world.land()
    world.epoch()
    assert {name: world.published(name) for name in before} != before
    world.restore(place)
    with open_runtime(world.project) as rt:
        for epoch in list_awaiting(rt, "publish"):
            publish(rt, epoch)
    assert {name: world.published(name) for name in before} == before
    world.check()


def test_a_backup_that_cannot_be_made_holds_no_epoch_up_and_is_told(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    world.project = dataclasses.replace(world.project, backup=BackupSettings(tmp_path / "file" / "backups"))
    world.land()
    world.epoch()
    with open_runtime(world.project) as rt:
        assert rt.catalog.snapshots.newest() >= 1
        assert [problem.step for problem in rt.catalog.problems.step_problems()] == ["backup"]


YAML = """
name: shop
relations: {orders: {columns: {id: bigint, price: bigint}}}
sources: {landing: {path: landing, settle: 0s}}
epochs: {length: 15m, start: 2026-01-01T00:00:00Z}
views: {total: total.sql}
state: state
executor: {kind: inprocess}
validation: {policy: off}
"""


def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cumulus.yaml").write_text(YAML)
    (tmp_path / "total.sql").write_text("SELECT SUM(price) AS total FROM orders")
    monkeypatch.chdir(tmp_path)

    def cumulus(*words: str) -> str:
        done = CliRunner().invoke(main, words)
        return f"{done.exit_code} {done.output}"

    def land(name: str, price: int) -> None:
        (tmp_path / "landing" / "0" / name).mkdir(parents=True)
        (tmp_path / "landing" / "0" / name / "orders.csv").write_text(f"op,id,price\nI,1,{price}\n")

    land("a", 3)
    assert cumulus("run").startswith("0")
    assert "nothing says where" in cumulus("backup")
    assert ": epoch 0, commit 1, of " in cumulus("backup", "--to", "mine")
    land("b", 7)
    assert "epoch 1: committed, 1 events" in cumulus("run")
    for file in (tmp_path / "state").glob("catalog.db*"):
        file.unlink()
    assert "no folder of backups" in cumulus("restore", "--dry-run")
    told = cumulus("restore", "mine", "--dry-run")
    assert "the log had up to 1 of orders rows of it, written from 20" in told
    assert not (tmp_path / "state" / "catalog.db").exists()
    assert "nobody is there" in cumulus("restore", "mine")
    told = cumulus("restore", "mine", "--yes")
    assert told.startswith("0")
    assert "landing: 1 delivery waits" in told
    assert cumulus("run").startswith("0")
    assert "10" in cumulus("query", "total")
    assert len(list_backups(tmp_path / "mine")) == 1


def test_the_project_file_says_where_backups_are(tmp_path: Path) -> None:
    (tmp_path / "total.sql").write_text("SELECT SUM(price) AS total FROM orders")
    file = tmp_path / "cumulus.yaml"
    file.write_text(f"{YAML}backup: {{to: mine, keep: 2}}\n")
    assert load_project(tmp_path).backup == BackupSettings(tmp_path / "mine", 2)
    for wrong in ("{keep: 2}", "{to: mine, keep: 0}", "{to: mine, every: 5m}"):
        file.write_text(f"{YAML}backup: {wrong}\n")
        with pytest.raises(InputProblem):
            load_project(tmp_path)
