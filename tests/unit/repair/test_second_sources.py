"""Where a file of the log is read again from, and what is said where nothing has it any more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.batches import Room
from cumulus_ops.epochs.driver import run_waiting
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.project_file import load_project
from cumulus_ops.repair.fsck import fsck
from cumulus_ops.repair.recover import recover
from tests.support.debezium import Connector, text_of
from tests.unit.repair.test_any_file_is_lost import forget, land, project_in
from tests.unit.sources.test_named_sources import project_with
from tests.unit.sources.test_sources_in_projects import DEBEZIUM, ORDER, project_file


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


def test_a_drop_may_be_cut_into_other_batches_by_now(tmp_path: Path) -> None:
    """As when it was appended with less memory, or by a program that does more for an event."""
    project = project_in(tmp_path / "shop")
    initialise(project)
    with open_runtime(project) as rt:
        land(project, 0)
        (delivery,) = rt.sources.pending(0)
        batches = append_delivery(project, rt.catalog, 0, delivery, room=Room(1))
        assert len(batches) > 1
        run_waiting(rt, validating=False)
        (last,) = rt.catalog.log.files_of(batches[-1:])[batches[-1]]
        file = lose_log(rt, last.relation, 0)
        assert recover(rt).outcome.left == ()
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


def test_messages_of_debezium_and_versions_of_a_delta_table_are_read_once_more(tmp_path: Path) -> None:
    for kind, folder in ((DEBEZIUM, tmp_path / "messages"), ("delta, tables: {lines: lake/lines}", tmp_path / "lake")):
        project_file(folder, kind)
        if kind is DEBEZIUM:
            line, connector = {"order_id": 1, "no": 1, "qty": 1}, Connector()
            messages = connector.transaction(
                [("c", "orders", None, {**ORDER, "price": None}), ("c", "lines", None, line)]
            )
            messages += connector.transaction([("c", "orders", None, ORDER), ("c", "lines", None, line)])
            (folder / "stream").mkdir()
            (folder / "stream" / "a.json").write_text(text_of(messages))
        else:
            new = pa.table({"order_id": [1, 2], "no": [1, 1], "qty": [3, 4]})
            write_deltalake(str(folder / "lake" / "lines"), new, configuration={"delta.enableChangeDataFeed": "true"})
        project = load_project(folder)
        initialise(project)
        with open_runtime(project) as rt:
            run_waiting(rt, validating=False)
            if kind is not DEBEZIUM:
                DeltaTable(str(folder / "lake" / "lines")).delete("order_id = 1")
                run_waiting(rt, validating=False)
            lose_log(rt, "lines", rt.catalog.snapshots.newest())
            for rows in rt.catalog.deliveries.quarantined_rows():
                (project.state / rows.path).unlink()
            outcome = recover(rt).outcome
            assert outcome.left == ()
            assert len(outcome.done) == (3 if kind is DEBEZIUM else 1)
            assert fsck(rt).damages == ()
