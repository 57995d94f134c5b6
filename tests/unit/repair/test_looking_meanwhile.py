"""Files are looked at while epochs, merges and deployments go on: nothing is found that is not there, a little is looked at after each snapshot, and what is damaged is told."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cumulus_ops.cli.status_text import print_status
from cumulus_ops.deploying.deploy import deploy
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.epochs.status import status
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import NotYet
from cumulus_ops.repair import fsck as looking
from cumulus_ops.repair.fsck import fsck, look_after
from cumulus_ops.repair.recover import recover
from tests.unit.repair.test_any_file_is_lost import VIEWS, forget, land, project_in


@pytest.fixture
def rt(tmp_path: Path) -> Iterator[Runtime]:
    project = project_in(tmp_path / "shop")
    initialise(project)
    land(project, 0)
    with open_runtime(project) as runtime:
        run_waiting(runtime, validating=False)
        yield runtime


def test_nothing_is_found_while_others_work(rt: Runtime) -> None:
    """Epochs with merges and garbage collection, and a deployment, by another thread."""
    failures, over = list[BaseException](), threading.Event()

    def work() -> None:
        try:
            for number in range(1, 9):
                with open_runtime(rt.as_edited) as mine:
                    land(mine.project, number)
                    run_waiting(mine, validating=False)
            views = {**VIEWS, "many": "SELECT shop, COUNT(*) AS n FROM visits GROUP BY shop"}
            with open_runtime(dataclasses.replace(rt.as_edited, views=views)) as mine:
                deploy(mine)
        except BaseException as problem:  # told by the test
            failures.append(problem)
        finally:
            over.set()

    worker = threading.Thread(target=work)
    worker.start()
    looks = 0
    while not over.is_set() or not looks:
        report = fsck(rt)
        assert report.damages == ()
        looks += 1
    worker.join()
    assert failures == []
    assert rt.catalog.repairs.damages() == []
    assert fsck(rt).damages == ()


def test_a_damage_is_found_after_some_snapshots_and_told(rt: Runtime, capsys: pytest.CaptureFixture[str]) -> None:
    rt = dataclasses.replace(rt, project=dataclasses.replace(rt.project, fsck_percent=34))
    (file,) = rt.catalog.log.some_files(1, 0)[:1]
    (rt.project.state / file.path).unlink()
    for epoch in range(3):
        looking._last_looks.clear()
        look_after(rt, epoch)
    (damage,) = rt.catalog.repairs.damages()
    assert (damage.kind, damage.file, damage.problem) == ("log", file.path, "missing")
    assert status(rt).damages == (damage,)
    print_status(status(rt))
    printed = capsys.readouterr().out
    assert f"State folder: missing: log of {file.relation}" in printed
    assert "1 damage: `cumulus recover`" in printed
    forget()
    assert recover(rt).outcome.left == ()
    assert status(rt).damages == ()


def test_of_two_recoveries_the_second_waits(rt: Runtime) -> None:
    with rt.catalog.leases.step() as step, rt.catalog.repairs.recovering(step):
        rt.catalog.repairs.doing("makes again: a map")
        assert "a recovery is under way since" in str(status(rt).recovery)
        with pytest.raises(NotYet, match=r"somebody else repairs since .* makes again: a map"):
            recover(rt)
        assert recover(rt, dry_run=True).plan.repairs == ()
    assert status(rt).recovery is None
    assert recover(rt).outcome.done == ()


def test_looking_costs_a_hundredth(rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that is the test's: after a look that took a second the next one comes 100 seconds later."""
    now, looks = [1000.0], []
    monkeypatch.setattr(looking.time, "monotonic", lambda: now[0])

    def some(*_: object) -> list[object]:
        looks.append(now[0])
        now[0] += 1.0
        return []

    monkeypatch.setattr(looking, "_some_stored", some)
    looking._last_looks.clear()
    for _ in range(250):
        look_after(rt, 0)
        now[0] += 1.0
    assert looks == [1000.0, 1101.0, 1202.0]
    look_after(dataclasses.replace(rt, project=dataclasses.replace(rt.project, fsck_percent=0)), 0)
