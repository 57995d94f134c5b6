"""Events read back from the log: files of today and of before, whole and in slices."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cumulus_ops.catalog.records import LogFile
from cumulus_ops.compute.kernel import Events
from cumulus_ops.compute.reading import BatchRef, events_of, load_events, read_events
from cumulus_ops.files.log_files import Fresh, read_fresh, read_rows
from cumulus_ops.files.new_files import NewFile
from cumulus_ops.layout.plans import ProgramPlan, plan_program
from cumulus_ops.project.versions import batch_version
from m3 import compile_views
from m3.datatypes import INT, STRING, decimal
from m3.program import Column, Relation

SALE = Relation(
    "sale",
    (Column("id", INT), Column("price", decimal(15, 2)), Column("unused", INT), Column("kind", STRING.with_null())),
)
VIEWS = {"v": "SELECT kind, SUM(price) AS total, MAX(price) AS highest FROM sale GROUP BY kind"}
ROWS = 23


def before(root: Path, table: pa.Table) -> LogFile:
    """A file as earlier versions wrote it."""
    pq.write_table(table, root / "old.parquet", compression="zstd", row_group_size=9)
    return LogFile(1, "sale", "old.parquet", len(table), "0/sale", 0, 9)


def today(root: Path, table: pa.Table) -> LogFile:
    """A file of several row groups, as they are written now: decimals in 64 bits, dictionaries."""
    price = table["price"].cast(pa.decimal64(15, 2))
    table = table.set_column(1, "price", price).set_column(3, "kind", table["kind"].dictionary_encode())
    file = NewFile(root, "log/sale", table.schema)
    for start in (0, 10, 20):
        file.write(table.slice(start, 10))
    file.close()
    return LogFile(1, "sale", file.path, file.rows, "0/sale", 0, 9)


def table(signs: list[int]) -> pa.Table:
    price = [Decimal(i - 5).scaleb(-2) for i in range(ROWS)]
    return pa.table(
        {
            "id": np.arange(ROWS),
            "price": pa.array(price, pa.decimal128(15, 2)),
            "unused": np.zeros(ROWS, np.int64),
            "kind": pa.array([None if i % 5 == 0 else f"k{i % 3}" for i in range(ROWS)], pa.string()),
            "_sign": pa.array(signs, pa.int8()),
            "_offset": np.arange(ROWS),
            "_version": np.arange(ROWS) * 128,
        }
    )


def plain(root: Path, table: pa.Table) -> LogFile:
    """A file of today whose texts were not worth a dictionary."""
    file = NewFile(root, "log/sale", table.schema)
    file.write(table)
    file.close()
    return LogFile(2, "sale", file.path, file.rows, "1/sale", 0, 9)


def rows(plan: ProgramPlan, root: Path, *files: LogFile) -> list[tuple[object, ...]]:
    """(sign, version, weight, price, kind) of everything that is loaded."""
    return listed(plan, load_events(plan, root, [BatchRef(1, 2, 3, files, 0, 0, ROWS)], "sale"))


def slice_of(plan: ProgramPlan, root: Path, part: tuple[int, int], *files: LogFile) -> list[tuple[object, ...]]:
    """The same of a slice."""
    table = read_events(plan, root, [BatchRef(1, 2, 3, files, 0, 0, ROWS)], "sale", part)
    assert table is not None
    return listed(plan, {sign: events_of(plan, "sale", table, sign) for sign in signs_handled(plan)})


def signs_handled(plan: ProgramPlan) -> set[int]:
    return {s.sign for group in plan.statements.values() for s in group if s.relation == "sale"}


def listed(plan: ProgramPlan, events_by_sign: Mapping[int, Events]) -> list[tuple[object, ...]]:
    trigger = plan.program.trigger("sale", 1)
    assert trigger is not None
    names = [trigger.params[1], trigger.params[3]]
    found = []
    for sign, events in events_by_sign.items():
        assert len(events.frame.columns) == 2
        columns = (events.frame.columns[n].to_pylist() for n in names)
        found += [(sign, *row) for row in zip(events.versions.tolist(), events.weights.tolist(), *columns, strict=True)]
    return sorted(found, key=repr)


@pytest.mark.parametrize("write", [before, today])
@pytest.mark.parametrize("grain", ["batch", "event"])
@pytest.mark.parametrize("signs", [[1] * ROWS, [1, -1] * 11 + [1]])
def test_events_are_what_was_written(write: object, grain: str, signs: list[int], tmp_path: Path) -> None:
    plan = plan_program(compile_views("test", (SALE,), VIEWS), grain)
    file = write(tmp_path, table(signs))  # type: ignore[operator]
    stamp = batch_version(2, 3, plan.ranks["sale"])
    expected = [
        (
            handling,
            i * 128 if grain == "event" else stamp,
            1 if handling else sign,
            i - 5,
            None if i % 5 == 0 else f"k{i % 3}",
        )
        for i, sign in enumerate(signs)
        for handling in signs_handled(plan)
        if handling in (0, sign)
    ]
    assert rows(plan, tmp_path, file) == sorted(expected, key=repr)
    for count in (2, 3, 40):
        parts = [row for i in range(count) for row in slice_of(plan, tmp_path, (i, count), file)]
        assert sorted(parts, key=repr) == sorted(expected, key=repr)


def test_files_of_one_relation_may_store_its_columns_differently(tmp_path: Path) -> None:
    plan = plan_program(compile_views("test", (SALE,), VIEWS), "batch")
    files = [write(tmp_path, table([1] * ROWS)) for write in (today, plain, before)]
    expected = sorted(3 * rows(plan, tmp_path, files[0]), key=repr)
    assert rows(plan, tmp_path, *files) == expected
    for count in (2, 3, 100):  # slices end within files, with them, and have a row or none
        slices = [slice_of(plan, tmp_path, (i, count), *files) for i in range(count)]
        assert sorted((row for found in slices for row in found), key=repr) == expected
        assert max(map(len, slices)) - min(map(len, slices)) <= 1


def test_a_slice_is_some_of_each_half_and_leaves_whole_files_to_others(tmp_path: Path) -> None:
    """Deletes often come before inserts, and cost more."""
    plan = plan_program(compile_views("test", (SALE,), VIEWS), "batch")
    files = [today(tmp_path, table([1] * ROWS)) for _ in range(6)]
    mine = files[0], files[3]
    for file in files:
        if file not in mine:
            (tmp_path / file.path).unlink()
    assert slice_of(plan, tmp_path, (0, 3), *files) == rows(plan, tmp_path, *mine)


@pytest.mark.parametrize("grain", ["batch", "event"])
def test_what_was_just_written_is_what_the_file_has(grain: str, tmp_path: Path) -> None:
    plan = plan_program(compile_views("test", (SALE,), VIEWS), grain)
    written = table([1, -1] * 11 + [1])
    written = written.set_column(1, "price", written["price"].cast(pa.decimal64(15, 2)))
    file = plain(tmp_path, written.set_column(3, "kind", written["kind"].dictionary_encode()))
    (tmp_path / file.path).rename(tmp_path / "hidden")
    batch = [BatchRef(1, 2, 3, (file,), 0, 0, ROWS)]
    fresh = read_events(plan, tmp_path, batch, "sale")
    (tmp_path / "hidden").rename(tmp_path / file.path)
    read = read_events(plan, tmp_path, batch, "sale")
    assert fresh is not None
    assert fresh.equals(read)


def test_rows_that_were_just_written_are_remembered_once(tmp_path: Path) -> None:
    """As long as they are all of their file's; who reads them then has what the file has, and so has who comes later."""
    columns = ["id", "price", "kind", "_sign"]
    rows = table([1] * ROWS)
    rows = rows.set_column(1, "price", rows["price"].cast(pa.decimal64(15, 2)))
    many = pa.concat_tables([rows] * 300)
    file = plain(tmp_path, many)
    fresh = read_fresh(file, SALE, columns)
    assert fresh is not None
    assert fresh.to_pylist() == read_rows(tmp_path, file, SALE, columns).to_pylist()
    assert read_fresh(file, SALE, columns) is None
    assert read_fresh(today(tmp_path, rows), SALE, columns) is None, "they were written in three parts"


def test_what_is_remembered_of_files_has_room() -> None:
    known: Fresh[str] = Fresh(3, room=10)
    for path, size in (("a", 4), ("b", 5), ("c", 0), ("d", 1)):
        known.put(path, path.upper(), size)
    assert [known.look(path) for path in "abcd"] == [None, "B", "C", "D"], "there are too many"
    known.put("e", "E", 8)
    assert [known.take(path) for path in "bcde"] == [None, "C", "D", "E"], "they are too large"
    known.put("f", "F", 11)
    assert known.take("f") is None
