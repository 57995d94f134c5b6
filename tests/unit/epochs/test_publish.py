"""Publishing: one Delta version per epoch, written once, whatever is killed or run twice."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from cumulus_ops.catalog.identity import Identity
from cumulus_ops.project.errors import Conflict, IntegrityProblem, SetupProblem
from cumulus_ops.publishing import delta_tables
from cumulus_ops.publishing.delta_tables import published_versions

ME = Identity("a1" * 8, 1)


def publish_view(table: pa.Table, path: Path, owner: Identity = ME, **said: Any) -> int:
    return delta_tables.publish_view(table, path, owner, **said).version


def view(*revenues: str) -> pa.Table:
    return pa.table(
        {"nation": list(range(len(revenues))), "revenue": pa.array(map(Decimal, revenues), pa.decimal128(38, 4))}
    )


def rows(path: Path, version: int) -> pa.Table:
    return DeltaTable(str(path), version=version).to_pyarrow_table()


def test_each_epoch_is_one_version_and_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "published" / "q5"
    assert [publish_view(view("1.5", str(e)), path, epoch=e, program="tpch") for e in range(3)] == [0, 1, 2]
    assert published_versions(path) == {0: 0, 1: 1, 2: 2}
    for epoch in range(3):
        assert rows(path, epoch).equals(view("1.5", str(epoch)))
    assert DeltaTable(str(path)).history()[0]["cumulus.program"] == "tpch"


def test_an_epoch_is_written_once(tmp_path: Path) -> None:
    first = publish_view(view("1"), tmp_path / "v", epoch=4, program="p")
    assert publish_view(view("2"), tmp_path / "v", epoch=4, program="p") == first
    assert rows(tmp_path / "v", first).equals(view("1"))


def test_an_epoch_that_the_table_does_not_have_does_not_come_behind_later_ones(tmp_path: Path) -> None:
    publish_view(view("2"), tmp_path / "v", epoch=7, program="p")
    publish_view(view("3"), tmp_path / "v", epoch=9, program="p")
    assert publish_view(view("2"), tmp_path / "v", epoch=7, program="p") == 0  # somebody slow
    with pytest.raises(SetupProblem, match="does not know of"):
        publish_view(view("1"), tmp_path / "v", epoch=8, program="p")
    assert published_versions(tmp_path / "v") == {7: 0, 9: 1}


def test_an_epoch_of_a_snapshot_that_was_lost_with_its_catalog_is_no_repetition(tmp_path: Path) -> None:
    publish_view(view("2"), tmp_path / "v", epoch=7, program="p", snapshot="12@0.5")
    with pytest.raises(SetupProblem, match="does not know of"):
        publish_view(view("1"), tmp_path / "v", epoch=7, program="p", snapshot="12@0.25")


def test_another_generation_replaces_rows_and_schema_and_another_installation_nothing(tmp_path: Path) -> None:
    path = tmp_path / "v"
    for epoch in range(3):
        publish_view(view("1", str(epoch)), path, epoch=epoch, program="p")
    new = pa.table({"a": ["x"]})
    assert publish_view(new, path, Identity(ME.installation, 2), epoch=0, program="p") == 3
    assert rows(path, 3).equals(new)
    assert published_versions(path) == {0: 3}
    with pytest.raises(SetupProblem, match="does not know of"):
        publish_view(view("1"), path, epoch=3, program="p")
    with pytest.raises(SetupProblem, match="installation a1a1a1a1"):
        publish_view(view("1"), path, Identity("b2" * 8, 7), epoch=3, program="p")
    write_deltalake(str(tmp_path / "theirs"), view("1"))
    with pytest.raises(SetupProblem, match="not one that this project has written"):
        publish_view(view("1"), tmp_path / "theirs", epoch=0, program="p")


def test_what_others_do_to_keep_a_table_in_order_is_no_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "v"
    for epoch in range(2):
        publish_view(view("1", str(epoch)), path, epoch=epoch, program="p")
    write, done = delta_tables.write_deltalake, []

    def disturbed(target: Any, *given: Any, **options: Any) -> None:
        if not done:
            done.append(DeltaTable(str(path)).optimize.z_order(["nation"]))
        write(target, *given, **options)

    monkeypatch.setattr(delta_tables, "write_deltalake", disturbed)
    assert publish_view(view("1", "2"), path, epoch=2, program="p") == 3
    table = DeltaTable(str(path))
    table.optimize.z_order(["nation"])
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert pa.concat_tables(delta_tables.read_version(path, 3)).equals(view("1", "2"))
    table.create_checkpoint()
    for log in sorted((path / "_delta_log").glob("*.json"))[:-1]:
        log.unlink()  # as a clean-up of its log does when it is old
    version = table.version()
    publish_view(view("1", "2"), path, epoch=2, program="p")  # it is there, whichever of its versions that was
    assert DeltaTable(str(path)).version() == version
    assert publish_view(view("1", "3"), path, epoch=3, program="p") > 3
    assert DeltaTable(str(path)).to_pyarrow_table().equals(view("1", "3"))


def test_empty_views_and_changed_columns_are_published(tmp_path: Path) -> None:
    publish_view(view("1"), tmp_path / "v", epoch=0, program="p")
    publish_view(view(), tmp_path / "v", epoch=1, program="p")
    wider = pa.table({"a": pa.array([None], pa.string()), "b": [1]})
    publish_view(wider, tmp_path / "v", epoch=2, program="p")
    assert len(rows(tmp_path / "v", 1)) == 0
    assert rows(tmp_path / "v", 2).equals(wider)


def test_versions_of_others_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "v"
    publish_view(view("1"), path, epoch=0, program="p")
    write_deltalake(str(path), view("9"), mode="overwrite")
    assert publish_view(view("2"), path, epoch=1, program="p") == 2
    assert published_versions(path) == {0: 0, 1: 2}


def test_nothing_is_published_without_a_table(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert published_versions(tmp_path / "empty") == published_versions(tmp_path / "missing") == {}


def test_two_writers_of_an_epoch_agree_on_one_version(tmp_path: Path) -> None:
    publish_view(view("0"), tmp_path / "v", epoch=0, program="p")
    with ThreadPoolExecutor(4) as pool:
        versions = set(pool.map(lambda _: publish_view(view("1"), tmp_path / "v", epoch=1, program="p"), range(8)))
    assert len(versions) == 1
    assert rows(tmp_path / "v", versions.pop()).equals(view("1"))


def test_losing_to_something_else_is_a_conflict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "v"
    publish_view(view("0"), path, epoch=0, program="p")
    module = importlib.import_module("cumulus_ops.publishing.delta_tables")
    write = module.write_deltalake

    def interrupted(target: DeltaTable, table: pa.Table, **options: object) -> None:
        write(str(path), view("9"), mode="overwrite")
        write(target, table, **options)

    monkeypatch.setattr(module, "write_deltalake", interrupted)
    with pytest.raises(Conflict):
        publish_view(view("1"), path, epoch=1, program="p")
    assert published_versions(path) == {0: 0}


def test_a_damaged_table_is_reported(tmp_path: Path) -> None:
    publish_view(view("1"), tmp_path / "v", epoch=0, program="p")
    next((tmp_path / "v" / "_delta_log").glob("*.json")).write_text("{broken")
    with pytest.raises(IntegrityProblem) as problem:
        published_versions(tmp_path / "v")
    assert problem.value.place == str(tmp_path / "v")
