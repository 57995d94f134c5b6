"""Delta tables as a source: where they begin, what stops them, and which types they have."""

from __future__ import annotations

import datetime
import itertools
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from cumulus_ops.append.delivery import Delivery
from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.sources.delta import ChangingTable, DeltaTables
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from m3.program import Column, Relation
from tests.support.source_contract import parts_of, rows_of

FEED = {"delta.enableChangeDataFeed": "true"}
ITEMS = Relation("items", (Column("id", INT), Column("name", STRING.with_null())))
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 250, tzinfo=datetime.UTC)


@pytest.fixture
def table(tmp_path: Path) -> str:
    folder = str(tmp_path / "items")
    write_deltalake(folder, pa.table({"id": [1, 2], "name": ["a", None]}), configuration=FEED)
    return folder


def poll(table: str, position: str | None = None, relation: Relation = ITEMS) -> list[Delivery]:
    return list(DeltaTables("lake", [relation], {relation.name: table}).poll(position))


def rows(deliveries: list[Delivery]) -> list[list[tuple[object, ...]]]:
    """(event, id, name, op) of each delivery."""
    return [rows_of(delivery).get("items", []) for delivery in deliveries]


def test_a_table_as_it_is_then_commit_by_commit(table: str) -> None:
    first = poll(table)
    assert rows(first) == [[(0, 1, "a", "I"), (1, 2, None, "I")]]
    DeltaTable(table).update(predicate="id = 1", updates={"name": "'b'"})
    DeltaTable(table).delete("id = 2")
    then = poll(table, first[-1].position)
    assert [d.name for d in then] == ["lake.items.1", "lake.items.2"]
    assert rows(then) == [[(1 << 32, 1, "a", "D"), (1 << 32, 1, "b", "I")], [(2 << 32, 2, None, "D")]]
    assert all(d.transactional for d in then)
    assert [d.arrived for d in then] == sorted(d.arrived for d in then)
    assert poll(table, then[-1].position) == []


def test_a_relation_that_is_new_begins_at_its_beginning(table: str, tmp_path: Path) -> None:
    position = poll(table)[-1].position
    other = str(tmp_path / "others")
    write_deltalake(other, pa.table({"id": [7], "name": ["x"]}), configuration=FEED)
    others = Relation("others", ITEMS.columns)
    found = list(DeltaTables("lake", [ITEMS, others], {"items": table, "others": other}).poll(position))
    assert [d.name for d in found] == ["lake.others.0"]


def test_inserts_are_an_event_each_whatever_their_number(table: str) -> None:
    position = poll(table)[-1].position
    write_deltalake(
        table, pa.table({"id": pa.array(range(200_000)), "name": pa.nulls(200_000, pa.string())}), mode="append"
    )
    (delivery,) = poll(table, position)
    sizes, events = [], []
    for part in parts_of(delivery):
        for raw in part.read():
            sizes.append(len(raw.columns))
            events += raw.columns["event"].to_pylist()
    assert max(sizes) < 200_000
    assert events == [(1 << 32) + i for i in range(200_000)]


def test_a_version_is_read_in_one_order_however_often(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library reads files at once, and hands their rows over as they come."""
    position = poll(table)[-1].position
    write_deltalake(table, pa.table({"id": list(range(10)), "name": pa.nulls(10, pa.string())}), mode="append")
    changes = ChangingTable.changes
    turns = itertools.count()

    def shuffled(self: ChangingTable, version: int, relation: Relation) -> Iterator[pa.Table]:
        for piece in changes(self, version, relation):
            by = next(turns) % len(piece)
            yield from (piece.slice(by), piece.slice(0, by))

    monkeypatch.setattr(ChangingTable, "changes", shuffled)
    (delivery,) = poll(table, position)
    (part,) = parts_of(delivery)
    first, *others = ([t for raw in part.read() for t in raw.columns.to_pylist()] for _ in range(3))
    assert others == [first, first]
    assert len(first) == 10
    (fresh,) = parts_of(delivery)
    assert [t["id"] for raw in fresh.read() for t in raw.columns.to_pylist()] != [t["id"] for t in first]


def test_a_table_without_a_feed_is_refused_with_the_words_that_make_one(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"id": [1]}))
    with pytest.raises(SetupProblem, match="does not record its changes") as caught:
        poll(str(tmp_path / "t"))
    assert "delta.enableChangeDataFeed" in caught.value.hint


def test_no_table_at_all(tmp_path: Path) -> None:
    with pytest.raises(SetupProblem, match="unreadable-table"):
        poll(str(tmp_path / "nothing"))


def test_a_table_that_was_made_anew_is_told_from_one_that_was_overwritten(table: str) -> None:
    position = poll(table)[-1].position
    write_deltalake(table, pa.table({"id": [5], "name": ["o"], "more": [1]}), mode="overwrite", schema_mode="overwrite")
    assert [row[1] for row in rows(poll(table, position))[0]] in ([1, 2, 5], [2, 1, 5])
    shutil.rmtree(table)
    for _ in range(3):
        write_deltalake(table, pa.table({"id": [1], "name": ["n"]}), mode="append", configuration=FEED)
    with pytest.raises(SetupProblem, match="another table"):
        poll(table, position)


def test_versions_whose_files_are_gone(table: str) -> None:
    position = poll(table)[-1].position
    DeltaTable(table).delete("id = 1")
    DeltaTable(table).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    shutil.rmtree(Path(table) / "_change_data")
    with pytest.raises(SetupProblem, match="unreadable-table") as caught:
        rows(poll(table, position)[:1])
    assert "vacuumed" in caught.value.hint


def test_types(tmp_path: Path) -> None:
    relation = Relation(
        "items",
        (
            Column("i", INT), Column("d", decimal(15, 2)), Column("f", DOUBLE), Column("s", STRING), Column("day", DATE), Column("b", BOOL),
            Column("zoned", TIMESTAMP), Column("plain", TIMESTAMP), Column("absent", INT.with_null()),
        ),
    )  # fmt: skip
    row: dict[str, Any] = {
        "i": 1, "d": Decimal("-0.01"), "f": 0.5, "s": "ä", "day": NOON.date(), "b": True, "zoned": NOON, "plain": NOON.replace(tzinfo=None),
    }  # fmt: skip
    schema = pa.schema([
        ("i", pa.int32()), ("d", pa.decimal128(15, 2)), ("f", pa.float64()), ("s", pa.string()), ("day", pa.date32()), ("b", pa.bool_()),
        ("zoned", pa.timestamp("us", "UTC")), ("plain", pa.timestamp("us")),
    ])  # fmt: skip
    folder = str(tmp_path / "types")
    write_deltalake(folder, pa.Table.from_pylist([row], schema), configuration=FEED)
    first = poll(folder, relation=relation)
    DeltaTable(folder).update(updates={"i": "2"})
    for delivery in (*first, *poll(folder, first[-1].position, relation)):
        found = [r for part in parts_of(delivery) for raw in part.read() for r in raw.columns.to_pylist()]
        assert found[-1] | {"op": "", "event": 0} == {
            **row,
            "i": found[-1]["i"],
            "zoned": row["plain"],
            "op": "",
            "event": 0,
        }


@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_what_no_column_holds_stops_the_source(tmp_path: Path, value: object) -> None:
    folder = str(tmp_path / "nested")
    write_deltalake(folder, pa.table({"id": [1], "name": [value]}), configuration=FEED)
    (delivery,) = poll(folder)
    with pytest.raises(SetupProblem, match=r"column name is .* cannot hold a STRING"):
        rows_of(delivery)


def test_a_column_that_is_not_there(table: str) -> None:
    wide = Relation("items", (*ITEMS.columns, Column("more", INT)))
    (delivery,) = poll(table, relation=wide)
    with pytest.raises(SetupProblem, match="no column 'more'"):
        rows_of(delivery)
