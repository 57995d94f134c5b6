"""Where a file of the log is read again from, and what is said where nothing has it any more."""

from __future__ import annotations

import shutil
from pathlib import Path

from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.recover import recover
from tests.unit.repair.test_any_file_is_lost import forget, land, project_in
from tests.unit.sources.test_named_sources import project_with


def lose_log(rt: Runtime, relation: str, epoch: int) -> Path:
    batches = {b.id for b in rt.catalog.log.batches(epoch=epoch)}
    file = next(f for f in rt.catalog.log.files() if f.relation == relation and f.batch in batches)
    (rt.project.state / file.path).unlink()
    forget()
    return rt.project.state / file.path


def test_a_source_hands_over_once_more(tmp_path: Path) -> None:
    project = project_with(tmp_path, "line: {kind: '${KIND}', coordinator: 1, until: 4}\n")
    initialise(project)
    with open_runtime(project) as rt:
        run_waiting(rt, validating=False)
        file = lose_log(rt, "number", 0)
        (done,) = recover(rt).outcome.done
        assert done[1] == "read again from line-0, byte for byte what it was"
        assert file.exists()
        assert fsck(rt).damages == ()


def test_what_nothing_has_any_more_is_told(tmp_path: Path) -> None:
    """The drop is gone, or another one by now."""
    project = project_in(tmp_path / "shop")
    initialise(project)
    with open_runtime(project) as rt:
        for number in range(2):
            land(project, number)
            run_waiting(rt, validating=False)
        drop = project.landing / "0" / "d1"
        file, lost = lose_log(rt, "orders", 1), drop / "orders.ndjson"
        lost.write_text(lost.read_text().replace('"shop": "a"', '"shop": "b"'))
        for why in ("has other rows by now", "there is no second source of it: "):
            ((damage, said),) = recover(rt).outcome.left
            assert damage.row.path == file.relative_to(project.state).as_posix()
            assert why in said
            assert "events of orders, in epoch 1. They are in the maps, so what is read and published is right" in said
            assert "from epoch 1 on it cannot be proved any more" in said
            assert "Views that read it: totals, visited." in said
            assert said.endswith("Not concerned: cheapest")
            shutil.rmtree(drop, ignore_errors=True)
        assert not file.exists()
        assert [d.file for d in rt.catalog.repairs.damages()] == [file.relative_to(project.state).as_posix()]
        left = {path.name for path in (project.state / "log" / "orders").iterdir()}
        assert len(left) == 1, "what came out otherwise was deleted"
        land(project, 2)
        run_waiting(rt, validating=False)  # what is read of the past is in the maps
        assert rt.catalog.snapshots.newest() == 2
