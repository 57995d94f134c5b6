"""Appending drops: what a batch is, what is left out, and that the log says what was landed."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cumulus_ops.append import batches, repeats
from cumulus_ops.append.append import append_delivery
from cumulus_ops.append.batches import LogWriter, Written
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import ProgramRecord
from cumulus_ops.files import new_files
from cumulus_ops.files.columns import OFFSET, SIGN
from cumulus_ops.files.landed import changes, event_cuts, piece_rows
from cumulus_ops.files.log_files import NO_RANGES, find_ranges, read_log, with_stamps
from cumulus_ops.files.new_files import LOOKED_AT, NewFile, close_files, write_parquet
from cumulus_ops.project.errors import Conflict
from cumulus_ops.project.settings import Project
from cumulus_ops.project.versions import event_version
from cumulus_ops.sources.landing import drop_delivery
from cumulus_ops.sources.pending import Sources
from m3.datatypes import INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.projects import make_project

LEFT = Relation("left", (Column("id", INT), Column("kind", STRING.with_null())))
RIGHT = Relation(
    "right", (Column("id", INT), Column("price", decimal(15, 2)), Column("wide", decimal(30, 2).with_null()))
)
#: (event, op, id)
Row = tuple[int | None, str | None, int | None]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return dataclasses.replace(make_project(tmp_path, [LEFT, RIGHT], views={}, coordinators=1), batch_rows=4)


@pytest.fixture
def catalog(project: Project) -> Iterator[Catalog]:
    catalog = Catalog(project.catalog_url)
    catalog.database.migrate()
    catalog.program.register(ProgramRecord("test", "d" * 64, "PROGRAM test;", "batch", 1))
    yield catalog
    catalog.close()


def append_drop(project: Project, catalog: Catalog, coordinator: int, drop: Path) -> tuple[int, ...]:
    return append_delivery(project, catalog, coordinator, drop_delivery(project, drop))


def land(project: Project, name: str, *, suffix: str = ".parquet", groups: int = 3, **files: Sequence[Row]) -> Path:
    """A drop; Parquet files have row groups of ``groups`` rows."""
    drop = project.landing / "0" / name
    drop.mkdir(parents=True)
    for relation, rows in files.items():
        columns: dict[str, pa.Array] = {
            "event": pa.array([e for e, _, _ in rows], pa.int64()),
            "op": pa.array([o for _, o, _ in rows], pa.string()),
            "id": pa.array([i for _, _, i in rows], pa.int64()),
        }
        if relation == "left":
            columns["kind"] = pa.array(
                [None if i is None or i % 3 == 0 else f"k{i % 2}" for _, _, i in rows], pa.string()
            )
        else:
            columns["price"] = pa.array([Decimal(i or 0).scaleb(-2) for _, _, i in rows], pa.decimal128(15, 2))
            columns["wide"] = pa.array([None if i == 5 else Decimal(10**20 + (i or 0)) for _, _, i in rows]).cast(
                pa.decimal128(30, 2)
            )
        table = pa.table(columns)
        if suffix == ".parquet":
            pq.write_table(table, drop / f"{relation}.parquet", row_group_size=groups)
        else:
            lines = [",".join("" if v is None else str(v) for v in row.values()) for row in table.to_pylist()]
            (drop / f"{relation}.csv").write_text("\n".join([",".join(table.column_names), *lines]) + "\n")
    return drop


def log(project: Project, catalog: Catalog, batch: int) -> list[tuple[str, int, int, int, int]]:
    """(relation, version, sign, offset, id) of a batch, in the order of its files."""
    found = []
    for file in catalog.log.files(batch=batch):
        table = with_stamps(pq.read_table(project.state / file.path), file)
        assert len(table) == file.rows
        columns = (table[name].to_pylist() for name in ("_version", "_sign", "_offset", "id"))
        rows = [(file.relation, *row) for row in zip(*columns, strict=True)]
        assert (file.min_offset, file.max_offset) == (rows[0][3], rows[-1][3])
        found += rows
    return found


def test_the_larger_relation_is_written_first_and_stamped_in_its_place(project: Project, catalog: Catalog) -> None:
    drop = land(project, "p0", right=[(1, "I", 1), (2, "I", 2), (3, "X", 3), (4, "I", 4)], left=[(9, "I", 9)])
    assert append_drop(project, catalog, 0, drop) == (1,)
    assert [(relation, version) for relation, version, *_ in log(project, catalog, 1)] == [
        ("left", event_version(0, 0, 0)),
        *(("right", event_version(0, 0, i)) for i in (1, 2, 3)),
    ]
    assert [file.relation for file in catalog.deliveries.quarantined_rows()] == ["right"]


def test_columns_that_are_never_null_are_declared_so_in_the_log(project: Project, catalog: Catalog) -> None:
    append_drop(project, catalog, 0, land(project, "p0", right=[(1, "I", 5)]))
    (file,) = catalog.log.files(batch=1)
    schema = pq.read_schema(project.state / file.path)
    assert [field.name for field in schema if field.nullable] == ["wide"]
    read = read_log(project.state, file)
    assert read["wide"].to_pylist() == [None]
    assert all(field.nullable for field in read.schema)


def test_files_to_which_rows_may_still_be_added_are_open_however_many_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "OPEN_FILES", 3)
    writer, rejected = LogWriter(tmp_path, 10), pa.table({"kind": ["conversion"], "id": [1]})
    for first in range(0, 60, 6):
        add_rows(writer, first, 2)
        writer.leave_out("left", "s", rejected)
        add_rows(writer, first + 2, 2)
        writer.leave_out("left", "s", rejected)
        writer.leave_out("right", "s", rejected)
        add_rows(writer, first + 4, 2)
        writer.cut()
    parts = [part for part in writer.finish() if part.log]
    assert [[log.file.rows for log in part.log] for part in parts] == [[6]] * 10
    assert [[file.rows for file in part.quarantine] for part in parts] == [[2, 1]] * 10


def add_rows(writer: LogWriter, first: int, rows: int) -> None:
    numbers = np.arange(first, first + rows)
    kinds = pa.array(numbers).cast(pa.string())
    writer.add(LEFT, "s", pa.table({"id": numbers, "kind": kinds, SIGN: np.ones(rows, np.int8), OFFSET: numbers}))


def write_tables(writer: LogWriter) -> list[Written]:
    """What becomes of seven tables of ten rows."""
    for first in range(0, 70, 10):
        add_rows(writer, first, 10)
    return writer.finish()


def test_files_that_are_written_at_the_same_time_are_as_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, both, one = NewFile._write, threading.Barrier(2), threading.Lock()
    monkeypatch.setattr(new_files, "BEHIND_ROWS", 1)

    def write(self: NewFile, table: pa.Table) -> None:
        if table["id"][0].as_py() in (0, 30):  # the first tables of two files
            both.wait(60)
        real(self, table)

    def write_alone(self: NewFile, table: pa.Table) -> None:
        assert one.acquire(blocking=False)
        real(self, table)
        one.release()

    found = []
    for room, how in ((1 << 20, write), (0, write_alone)):
        monkeypatch.setattr(NewFile, "_write", how)
        (part,) = (part for part in write_tables(LogWriter(tmp_path, 30, room=room)) if part.log)
        found.append([(log.file.rows, log.file.min_offset, log.file.checksums) for log in part.log])
    assert found[0] == found[1]
    assert [rows for rows, *_ in found[0]] == [30, 30, 10]


@pytest.mark.parametrize("room", [0, 1 << 20])
@pytest.mark.parametrize("first", [0, 20, 30, 60])
def test_what_goes_wrong_while_a_thread_writes_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, room: int
) -> None:
    real = NewFile._write

    def write(self: NewFile, table: pa.Table) -> None:
        if table["id"][0].as_py() == first:
            raise OSError("the disk is full")
        real(self, table)

    monkeypatch.setattr(new_files, "BEHIND_ROWS", 1)
    monkeypatch.setattr(NewFile, "_write", write)
    writer = LogWriter(tmp_path, 30, room=room)
    with pytest.raises(OSError, match="the disk is full"):
        write_tables(writer)
    writer.discard()
    assert not list(tmp_path.rglob("*.parquet"))


def test_texts_are_a_dictionary_if_they_repeat_themselves(tmp_path: Path) -> None:
    number = np.arange(2 * LOOKED_AT)
    texts = {"few": number % 7, "all": number, "few_at_first": np.where(number < LOOKED_AT, number % 7, number)}
    table = pa.table({name: pa.array(values).cast(pa.string()) for name, values in texts.items()})
    path = write_parquet(tmp_path, "log/texts", table)
    group = pq.read_metadata(tmp_path / path).row_group(0)
    is_dictionary = [group.column(i).has_dictionary_page for i in range(3)]
    assert is_dictionary == [True, False, True]
    assert pq.read_table(tmp_path / path) == table


@given(
    st.lists(st.integers(-30, 30), min_size=1).map(sorted),
    st.lists(st.lists(st.integers(-30, 30), min_size=1), max_size=4),
)
def test_numbers_are_found_by_ranges(numbers: list[int], others: list[list[int]]) -> None:
    ranges = np.concatenate([NO_RANGES, *(find_ranges(np.array(some)) for some in others)], axis=1)
    found = repeats._find_within(np.array(numbers), ranges)
    assert found.tolist() == [number in set().union(*others) for number in numbers]


def test_a_drop_that_fits_is_one_batch_with_all_relations(project: Project, catalog: Catalog) -> None:
    drop = land(project, "p0", right=[(5, "D", 8)], left=[(1, "I", 7), (1, "delete", 6), (2, "INSERT", 5)])
    assert append_drop(project, catalog, 0, drop) == (1,)
    stamps = [event_version(0, 0, i) for i in range(4)]
    assert log(project, catalog, 1) == [
        ("left", stamps[0], 1, 1, 7),
        ("left", stamps[1], -1, 1, 6),
        ("left", stamps[2], 1, 2, 5),
        ("right", stamps[3], -1, 5, 8),
    ]
    batch = catalog.log.batch(1)
    assert (batch.inserts, batch.deletes, batch.quarantined, batch.duplicates, batch.part) == (2, 2, 0, 0, 0)
    assert catalog.members.position(0) == (0, 4)
    assert Sources(project, catalog).pending(0) == []


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("groups", [1, 2, 100])
def test_a_larger_drop_is_several_batches_in_the_same_order(
    project: Project, catalog: Catalog, suffix: str, groups: int
) -> None:
    left = [(e, op, 10 * e) for e in range(7) for op in "DI"]  # each event has two rows
    right = [(e, "I", e) for e in range(5)]
    batches = append_drop(
        project, catalog, 0, land(project, "p0", suffix=suffix, groups=groups, left=left, right=right)
    )
    rows = [log(project, catalog, b) for b in batches]
    assert [len(r) for r in rows] == [4, 4, 4, 2, 4, 1]
    everything = [row for part in rows for row in part]
    assert [r[1] for r in everything] == [event_version(0, 0, i) for i in range(len(everything))]
    signs = {"D": -1, "I": 1}
    landed = [("left", signs[op], e, i) for e, op, i in left] + [("right", signs[op], e, i) for e, op, i in right]
    assert [(r, s, o, i) for r, _, s, o, i in everything] == landed
    assert [catalog.log.batch(b).part for b in batches] == list(range(6))
    assert {catalog.log.batch(b).drop for b in batches} == {"p0"}
    assert catalog.log.drops(0) == {"p0"}
    assert catalog.members.position(0) == (0, len(everything))


def test_small_relations_share_a_batch(project: Project, catalog: Catalog) -> None:
    drop = land(project, "p0", groups=100, left=[(e, "I", e) for e in range(6)], right=[(0, "I", 0), (1, "I", 1)])
    assert [len(log(project, catalog, b)) for b in append_drop(project, catalog, 0, drop)] == [4, 4]


def test_a_large_atomic_event_stays_in_one_batch(project: Project, catalog: Catalog) -> None:
    rows = [(1, "I", 1), *[(2, "I", i) for i in range(9)], (3, "I", 3)]
    batches = append_drop(project, catalog, 0, land(project, "p0", left=rows))
    assert [len(log(project, catalog, b)) for b in batches] == [1, 9, 1]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_what_is_left_out_is_counted_once(project: Project, catalog: Catalog, suffix: str) -> None:
    append_drop(project, catalog, 0, land(project, "p0", suffix=suffix, left=[(e, "I", e) for e in range(10, 16)]))
    rows: list[Row] = [(e, "I", e) for e in range(10, 30)]
    rows[12], rows[17] = (22, "?", 22), (27, "D", None)
    rows.insert(17, (26, "I", 260))  # part of event 26
    rows.insert(18, (27, "I", 270))  # beside the bad row of its event
    batches = append_drop(project, catalog, 0, land(project, "p1", suffix=suffix, left=rows))
    new = [catalog.log.batch(b) for b in batches]
    offsets = Counter(row[3] for b in batches for row in log(project, catalog, b))
    assert offsets == {e: 2 if e == 26 else 1 for e in range(16, 30) if e not in (22, 27)}
    assert (sum(b.duplicates for b in new), sum(b.quarantined for b in new)) == (6, 3)
    assert sum(b.events for b in new) == offsets.total()
    reasons = [
        (r["row"], r["reason"])
        for batch, relation, path, count in (
            (q.batch, q.relation, q.path, q.rows) for q in catalog.deliveries.quarantined_rows()
        )
        for r in pq.read_table(project.state / path).to_pylist()
    ]
    assert sorted(reasons) == [
        (12, "op: neither I nor D: '?'"),
        (18, "part of a rejected event"),
        (19, "id: NULL in a NOT NULL column"),
    ]
    assert append_drop(project, catalog, 0, land(project, "p2", suffix=suffix, left=rows[:3])) == (batches[-1] + 1,)
    assert catalog.log.batch(batches[-1] + 1).duplicates == 3


def test_the_newest_event_of_the_log_may_come_again(project: Project, catalog: Catalog) -> None:
    append_drop(project, catalog, 0, land(project, "p0", left=[(10, "I", 10), (11, "I", 11)]))
    (batch,) = append_drop(project, catalog, 0, land(project, "p1", left=[(11, "I", 11), (12, "I", 12)]))
    assert [row[3] for row in log(project, catalog, batch)] == [12]
    assert catalog.log.batch(batch).duplicates == 1


def test_events_out_of_order_are_judged_over_the_whole_file(project: Project, catalog: Catalog) -> None:
    rows = [(e, "I", e) for e in range(12)]
    rows[10] = (3, "I", 10)  # event 3 has another row, ten rows away
    batches = append_drop(project, catalog, 0, land(project, "p0", left=rows))
    assert [row[3] for b in batches for row in log(project, catalog, b)] == [0, 1, 2, *range(4, 10), 11]
    assert sum(catalog.log.batch(b).quarantined for b in batches) == 2


def test_an_empty_drop_is_an_empty_batch(project: Project, catalog: Catalog) -> None:
    (batch,) = append_drop(project, catalog, 0, land(project, "p0", left=[]))
    assert catalog.log.files(batch=batch) == []
    assert catalog.log.drops(0) == {"p0"}


def test_a_file_that_cannot_be_read_is_set_aside_and_the_rest_goes_on(project: Project, catalog: Catalog) -> None:
    drop = land(project, "p0", left=[(e, "I", e) for e in range(20)])
    (drop / "right.parquet").write_bytes(b"PAR1 nothing of the kind")
    batches = append_drop(project, catalog, 0, drop)
    assert [row[3] for b in batches for row in log(project, catalog, b)] == list(range(20))
    (aside,) = catalog.deliveries.files_aside()
    assert (aside.relation, aside.place, aside.epoch) == ("right", str(drop / "right.parquet"), 0)
    assert aside.hint
    assert catalog.deliveries.count_files_aside(batches[0]) == 1


def test_a_file_that_turns_out_to_be_damaged_leaves_nothing_behind(project: Project, catalog: Catalog) -> None:
    """Its first rows were written already when the damage is found."""
    drop = land(project, "p0", groups=4, left=[(e, "I", e) for e in range(20)], right=[(e, "I", e) for e in range(9)])
    file = pq.ParquetFile(drop / "left.parquet").metadata.row_group(4).column(0)
    content = bytearray((drop / "left.parquet").read_bytes())
    begin = file.dictionary_page_offset or file.data_page_offset
    content[begin : begin + file.total_compressed_size] = bytes(file.total_compressed_size)
    (drop / "left.parquet").write_bytes(content)
    append_drop(project, catalog, 0, drop)
    assert (sum(b.inserts for b in catalog.log.batches()), sum(b.quarantined for b in catalog.log.batches())) == (9, 0)
    assert [(a.relation, a.kind) for a in catalog.deliveries.files_aside()] == [("left", "unreadable-file")]
    assert {file.parent.name for file in project.state.rglob("*.parquet")} == {"right"}


def test_a_drop_is_appended_once_whoever_tries(project: Project, catalog: Catalog) -> None:
    drop = land(project, "p0", left=[(e, "?", e) for e in range(9)])  # no row: the position stays what it is
    append_drop(project, catalog, 0, drop)
    with pytest.raises(Conflict):
        append_drop(project, catalog, 0, drop)
    assert len(catalog.log.batches()) == 1


def test_text_that_repeats_itself_keeps_its_values(project: Project, catalog: Catalog) -> None:
    roomy = dataclasses.replace(project, batch_rows=2000)
    rows = [(e, "I", e) for e in range(5000)]
    batches = append_drop(roomy, catalog, 0, land(project, "p0", groups=700, left=rows))
    files = [f for b in batches for f in catalog.log.files(batch=b)]
    kinds = [k for f in files for k in pq.read_table(project.state / f.path)["kind"].to_pylist()]
    assert kinds == [None if i % 3 == 0 else f"k{i % 2}" for i in range(5000)]
    assert len(files) == 4  # two row groups each, in which batches of 2,000 rows have room


def test_decimals_are_stored_as_integers_where_they_fit(project: Project, catalog: Catalog) -> None:
    append_drop(project, catalog, 0, land(project, "p0", right=[(e, "I", e + 4) for e in range(3)]))
    (file,) = catalog.log.files(batch=1)
    table, stored = pq.read_table(project.state / file.path), pq.read_metadata(project.state / file.path).schema
    assert table["price"].to_pylist() == [Decimal("0.04"), Decimal("0.05"), Decimal("0.06")]
    assert table["wide"].to_pylist() == [Decimal(10**20 + 4), None, Decimal(10**20 + 6)]
    assert [stored.column(i).physical_type for i in (1, 2)] == ["INT64", "FIXED_LEN_BYTE_ARRAY"]


def test_a_decimal_with_more_digits_than_its_type_is_set_aside(project: Project, catalog: Catalog) -> None:
    words = np.array([4, 0, 10**17, 0], dtype=np.int64)
    price = pa.Array.from_buffers(pa.decimal128(15, 2), 2, [None, pa.py_buffer(words)])
    drop = project.landing / "0" / "p0"
    drop.mkdir(parents=True)
    table = pa.table(
        {"id": [1, 2], "price": price, "wide": pa.nulls(2, pa.decimal128(30, 2)), "op": ["I", "I"], "event": [1, 2]}
    )
    pq.write_table(table, drop / "right.parquet", store_decimal_as_integer=True)
    append_drop(project, catalog, 0, drop)
    assert [row[4] for row in log(project, catalog, 1)] == [1]
    assert catalog.log.batch(1).quarantined == 1


@given(
    st.lists(st.integers(1, 5), max_size=30),
    st.integers(1, 12),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_pieces_are_as_large_as_possible(events: list[int], rows: int, portions: list[int]) -> None:
    offsets = np.repeat(np.arange(len(events)), events)
    begins = np.split(changes(offsets), sorted(min(p, len(offsets)) for p in portions))
    ends = event_cuts(begins, len(offsets), rows)
    assert ends[-1] == len(offsets)
    pieces = [offsets[b:e] for b, e in pairwise([0, *ends])]
    assert np.concatenate(pieces).tolist() == offsets.tolist()
    for piece, following in pairwise(pieces):
        assert piece[-1] != following[0]
        assert len(piece) <= rows or len(set(piece)) == 1
        assert len(piece) + np.sum(following == following[0]) > rows


@pytest.mark.parametrize(("batch", "piece"), [(1, 1), (100_000, 100_000), (200_000, 100_000), (1_000_000, 125_000)])
def test_several_pieces_fill_a_batch(batch: int, piece: int) -> None:
    assert piece_rows(batch) == piece


def test_who_closes_files_waits_for_all_of_them_also_if_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [NewFile(tmp_path, f"log/{i}", pa.schema([("a", pa.int64())])) for i in range(3)]
    sync, failed, done = NewFile._sync, threading.Event(), list[NewFile]()

    def fail_first(file: NewFile) -> None:
        if file is files[0]:
            failed.set()
            raise OSError("the disk is gone")
        assert failed.wait(60)
        sync(file)
        done.append(file)

    monkeypatch.setattr(NewFile, "_sync", fail_first)
    with pytest.raises(OSError, match="the disk is gone"):
        close_files(files)
    assert {*done} == {*files[1:]}


@pytest.mark.parametrize("first_has_dictionary", [True, False])
def test_a_file_takes_texts_with_and_without_dictionaries(tmp_path: Path, first_has_dictionary: bool) -> None:
    """Rows that upserts take away have none, and neither has a piece with bytes that are no text."""
    relation = Relation("r", (Column("s", STRING.with_null()),))
    writer = LogWriter(tmp_path, 10)
    for number, has_dictionary in enumerate([first_has_dictionary, not first_has_dictionary]):
        texts = pa.array([f"a{number}", None, "b"], pa.string())
        rows = {"s": texts.dictionary_encode() if has_dictionary else texts, SIGN: pa.array([1, 1, 1], pa.int8())}
        writer.add(relation, "0/r", pa.table({**rows, OFFSET: pa.array([number] * 3, pa.int64())}))
    ((found,),) = (written.log for written in writer.finish())
    assert read_log(tmp_path, found.file)["s"].to_pylist() == ["a0", None, "b", "a1", None, "b"]
