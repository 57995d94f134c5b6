"""Reading drops: three formats, one meaning; bad rows set aside with their reason, never half an event."""

from __future__ import annotations

import json
import logging
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from cumulus_ops.append import checks, rejected
from cumulus_ops.append.checks import RelationEvents
from cumulus_ops.append.delivery import Part
from cumulus_ops.catalog.records import LogFile
from cumulus_ops.files.casting import cast_exact
from cumulus_ops.files.columns import REJECTED_SCHEMA, arrow_type, event_schema, m3_type, stored_type
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import EpochSettings, ExecutorSettings, Project
from cumulus_ops.sources.landing import drop_delivery
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation

ITEMS = Relation(
    "items",
    (
        Column("id", INT),
        Column("price", decimal(15, 2)),
        Column("name", STRING.with_null()),
        Column("day", DATE.with_null()),
        Column("at", TIMESTAMP.with_null()),
        Column("ok", BOOL.with_null()),
        Column("rate", DOUBLE.with_null()),
    ),
)
GOOD = [
    {"id": 1, "price": "12345678901.10", "name": 'a "b", c', "day": "2024-02-29", "at": "2024-02-29 01:02:03.5",
     "ok": True, "rate": 0.5, "op": "I", "event": 7},
    {"id": 2, "price": "-0.01", "name": "", "day": None, "at": None, "ok": None, "rate": None,
     "op": "delete", "event": 9},
    {"id": 2, "price": "0.30", "name": None, "day": "1969-12-31", "at": "1969-12-31 23:59:59", "ok": False,
     "rate": -2.0, "op": "I", "event": 9},
]  # fmt: skip
EXPECTED = [
    (1, Decimal("12345678901.10"), 'a "b", c', date(2024, 2, 29), datetime(2024, 2, 29, 1, 2, 3, 500000), True,
     0.5, 1, 7),
    (2, Decimal("-0.01"), "", None, None, None, None, -1, 9),
    (2, Decimal("0.30"), None, date(1969, 12, 31), datetime(1969, 12, 31, 23, 59, 59), False, -2.0, 1, 9),
]  # fmt: skip


def csv_field(value: object) -> str:
    if value is None:
        return ""
    return '"' + str(value).replace('"', '""') + '"' if isinstance(value, str) else str(value)


def write(folder: Path, suffix: str, rows: list[dict[str, object]], name: str = "items") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}{suffix}"
    if suffix == ".ndjson":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    elif suffix == ".csv":
        lines = [",".join(rows[0]), *(",".join(map(csv_field, r.values())) for r in rows)]
        path.write_text("\n".join(lines) + "\n")
    else:
        text = pa.Table.from_pylist(rows)
        types = {"price": pa.decimal128(15, 2), "day": pa.date32(), "at": pa.timestamp("us")}
        for column, type_ in types.items():
            text = text.set_column(text.schema.get_field_index(column), column, text[column].cast(type_))
        pq.write_table(text, path)
    return path


def read_relation(relation: Relation, path: Path, source: str) -> RelationEvents:
    """A file that is small enough to come as one piece."""
    (events,) = checks.check(relation, checks.read_rows(relation, path, 1_000_000), source, str(path))
    return events


def read(tmp_path: Path, suffix: str, rows: list[dict[str, object]]) -> RelationEvents:
    return read_relation(ITEMS, write(tmp_path, suffix, rows), "0/items")


def project(tmp_path: Path, *relations: Relation) -> Project:
    epoch = EpochSettings(timedelta(minutes=1), datetime(2024, 1, 1, tzinfo=UTC))
    return Project(
        "p", tmp_path, relations or (ITEMS,), 2, epoch, tmp_path / "landing", tmp_path / "state", "sqlite://", None,
        tmp_path / "reports", {}, None, ExecutorSettings(), settle=timedelta(0),
    )  # fmt: skip


def values(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".ndjson"])
def test_all_formats_give_the_same_typed_rows(tmp_path: Path, suffix: str) -> None:
    events = read(tmp_path, suffix, GOOD)
    assert events.rows.schema == event_schema(ITEMS)
    assert values(events.rows) == EXPECTED
    assert len(events.rejected) == 0


def test_a_drop_is_read_relation_by_relation_in_project_order(tmp_path: Path) -> None:
    other = Relation("alpha", (Column("x", INT),))
    drop = tmp_path / "landing" / "1" / "p0000"
    write(drop, ".ndjson", GOOD)
    (drop / "alpha.csv").write_text("x,op,event\n5,I,0\n")
    (drop / ".alpha.csv.crc").write_text("x")
    (drop / "_SUCCESS").write_text("")
    delivery = drop_delivery(project(tmp_path, ITEMS, other), drop)
    found = [(p.relation, len(next(p.read()).columns)) for p in delivery.parts() if isinstance(p, Part)]
    assert (delivery.source, found) == ("1", [("items", 3), ("alpha", 1)])


def test_decimals_beyond_a_floats_digits_stay_exact(tmp_path: Path) -> None:
    wide = Relation("items", (Column("price", decimal(38, 4)),))
    digits = "1234567890123456789012345678901234.5678"
    (tmp_path / "items.ndjson").write_text(f'{{"price": {digits}, "op": "I", "event": 0}}\n')
    (tmp_path / "items.csv").write_text(f"price,op,event\n{digits},I,0\n")
    for suffix in (".ndjson", ".csv"):
        rows = read_relation(wide, tmp_path / f"items{suffix}", "0/items").rows
        assert rows["price"].to_pylist() == [Decimal(digits)]


def test_exact_numbers_survive_a_block_that_is_read_line_by_line(tmp_path: Path) -> None:
    rows = [*GOOD[:1], {**GOOD[0], "price": "oops", "event": 8}]
    text = "".join(json.dumps(r) + "\n" for r in rows).replace('"12345678901.10"', "12345678901.10")
    (tmp_path / "items.ndjson").write_text(text)
    events = read_relation(ITEMS, tmp_path / "items.ndjson", "0/items")
    assert values(events.rows) == EXPECTED[:1]
    assert events.rejected["reason"].to_pylist() == ["price: not a DECIMAL(15, 2): 'oops'"]


def test_a_float_is_a_decimal_where_only_one_can_have_been_meant(tmp_path: Path) -> None:
    prices = [0.1, 19.99, 0.125, 12345678901234.56, float("nan")]
    table = pa.table({"id": range(5), "price": prices, "op": ["I"] * 5, "event": range(5)})
    pq.write_table(table, tmp_path / "items.parquet")
    events = read_relation(Relation("items", ITEMS.columns[:2]), tmp_path / "items.parquet", "0/items")
    assert events.rows["price"].to_pylist() == [Decimal("0.10"), Decimal("19.99")]
    assert events.rejected["row"].to_pylist() == [2, 3, 4]
    assert set(events.rejected["kind"].to_pylist()) == {"not-a-decimal"}


BAD = {
    "price": ("1.005", "price: not a DECIMAL(15, 2): '1.005'"),
    "day": ("2023-02-30", "day: not a DATE: '2023-02-30'"),
    "id": (None, "id: NULL in a NOT NULL column"),
    "op": ("X", "op: neither I nor D: 'X'"),
    "event": (None, "event: missing"),
}


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
@pytest.mark.parametrize("column", BAD)
def test_a_bad_row_is_set_aside_with_its_reason_and_record(tmp_path: Path, suffix: str, column: str) -> None:
    value, reason = BAD[column]
    between = [{**GOOD[0], "event": e} for e in (1, 2, 3, 4, 6)]
    between[2] = {**between[2], column: value}
    events = read(tmp_path, suffix, between)
    rejected = {r["row"]: r for r in events.rejected.to_pylist()}
    assert rejected[2]["reason"] == reason
    assert json.loads(rejected[2]["record"])[column] == value
    beside = [2, 4] if column == "event" else []
    assert events.rows["_offset"].to_pylist() == sorted({1, 2, 4, 6} - set(beside))


def test_all_faults_of_a_row_are_named_at_once(tmp_path: Path) -> None:
    events = read(tmp_path, ".csv", [GOOD[0], {**GOOD[0], "id": "0x1F", "price": None, "event": 8}])
    assert events.rejected["reason"].to_pylist() == ["id: not an INT: '0x1F'; price: NULL in a NOT NULL column"]


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
def test_an_atomic_event_is_rejected_as_a_whole(tmp_path: Path, suffix: str) -> None:
    broken = [GOOD[0], GOOD[1], {**GOOD[2], "price": "?"}, {**GOOD[0], "event": 10}]
    events = read(tmp_path, suffix, broken)
    assert events.rows["_offset"].to_pylist() == [7, 10]
    assert dict(zip(events.rejected["row"].to_pylist(), events.rejected["reason"].to_pylist(), strict=True)) == {
        1: "part of a rejected event",
        2: "price: not a DECIMAL(15, 2): '?'",
    }


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
def test_lines_that_are_no_rows_take_their_neighbours_events_with_them(tmp_path: Path, suffix: str) -> None:
    rows = [{**GOOD[0], "event": e} for e in (1, 2, 2, 3)]
    path = write(tmp_path, suffix, rows)
    lines = path.read_text().splitlines()
    header = int(suffix == ".csv")
    lines.insert(header + 3, "{broken")
    path.write_text("\n".join(lines) + "\n")
    events = read_relation(ITEMS, path, "0/items")
    assert events.rows["_offset"].to_pylist() == [1]
    assert events.rejected["row"].to_pylist() == [1, 2, 3, 4]
    assert json.loads(events.rejected["record"][2].as_py()) == {"line": "{broken"}
    assert events.rejected["reason"].to_pylist()[1] == "beside a row whose event cannot be read"


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
@pytest.mark.parametrize(
    ("events", "kept"),
    [
        ([1, 2, None, 4, 5], [1, 2, 4, 5]),  # it is 3: no other number is missing
        ([1, None, None, 4, 5], [1, 4, 5]),
        ([1, 2, None, 4, 6], [1, 6]),  # numbers are left out elsewhere: it may belong to 2 or 4
        ([1, 2, None, 3, 4], [1, 4]),
        ([1, 2, None], [1]),
        ([None, 1, 2], [2]),
        ([2, 2, None, 4], [2, 2, 4]),
    ],
)
def test_a_row_without_a_number_keeps_its_neighbours_only_if_the_numbers_tell_it_apart(
    tmp_path: Path, suffix: str, events: list[int | None], kept: list[int]
) -> None:
    found = read(tmp_path, suffix, [{**GOOD[0], "event": e} for e in events])
    assert found.rows["_offset"].to_pylist() == kept
    assert len(found.rows) + len(found.rejected) == len(events)


def test_offsets_must_not_decrease(tmp_path: Path) -> None:
    events = read(tmp_path, ".ndjson", [{**GOOD[0], "event": e} for e in (3, 5, 4, 6)])
    assert events.rows["_offset"].to_pylist() == [3, 5, 6]
    assert events.rejected["reason"].to_pylist() == ["event: 4 comes after 5"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".ndjson"])
def test_a_missing_column_names_file_and_column(tmp_path: Path, suffix: str) -> None:
    rows = [{k: v for k, v in row.items() if k != "op"} for row in GOOD]
    path = write(tmp_path, suffix, rows)
    with pytest.raises(InputProblem, match="no column 'op'") as problem:
        read_relation(ITEMS, path, "0/items")
    assert problem.value.place == str(path)
    assert problem.value.hint


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_an_unreadable_file_is_named(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"items{suffix}"
    path.write_bytes(b"\xff\xfe\x00 nothing of the kind" if suffix == ".csv" else b"PAR1 nothing of the kind")
    with pytest.raises(InputProblem) as problem:
        read_relation(ITEMS, path, "0/items")
    assert problem.value.place == str(path)


def test_ndjson_may_leave_out_nullable_columns(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if v is not None and k not in ("rate", "ok")} for row in GOOD]
    events = read(tmp_path, ".ndjson", rows)
    assert events.rows["rate"].null_count == 3
    assert events.rows["price"].to_pylist() == [row[1] for row in EXPECTED]


def test_undeclared_columns_are_ignored_and_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{**row, "surprise": 1} for row in GOOD]
    with caplog.at_level(logging.WARNING):
        for suffix in (".csv", ".ndjson", ".parquet"):
            events = read_relation(ITEMS, write(tmp_path, suffix, rows), "surprised/items")
            assert values(events.rows) == EXPECTED
    assert [r.getMessage() for r in caplog.records] == [
        "surprised/items: columns surprise are not declared and will be ignored"
    ]


@pytest.mark.parametrize("suffix", [".csv", ".ndjson"])
def test_an_empty_file_has_no_events(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"items{suffix}"
    path.write_text(",".join(GOOD[0]) + "\n" if suffix == ".csv" else "")
    events = read_relation(ITEMS, path, "0/items")
    assert (len(events.rows), len(events.rejected)) == (0, 0)
    assert events.rows.schema == event_schema(ITEMS)


@pytest.mark.parametrize(
    ("column", "type_", "bad"),
    [
        (pa.array(["1", "0x1F", "-5", "+5", "9223372036854775808", None]), INT, [1, 4]),
        (pa.array(["1", "1.0", "1e2", "100000", "-99999.99"]), decimal(5, 2), [3, 4]),
        (pa.array([1, 999, 1000]), decimal(5, 2), [2]),
        (pa.array([Decimal("1.10"), Decimal("1.15")]), decimal(5, 1), [1]),
        (pa.array([1.0, 1.5, 2.0**53]), INT, [1]),
        (pa.array([0, 3_600_000_000, 86_400_000_000], pa.timestamp("us")), DATE, [1]),
        (pa.array([1000, 1001], pa.timestamp("ns")), TIMESTAMP, [1]),
    ],
)
def test_casts_are_exact_or_named(column: pa.Array, type_: Type, bad: list[int]) -> None:
    values_, mask = cast_exact(column, type_)
    assert np.flatnonzero(mask).tolist() == bad
    assert values_.type == stored_type(type_)
    assert all((values_[i].as_py() is None) == (i in bad or column[i].as_py() is None) for i in range(len(column)))


def test_types_round_trip_through_arrow() -> None:
    for type_ in (INT, DOUBLE, STRING, DATE, TIMESTAMP, BOOL, decimal(20, 4), decimal(18, 4)):
        assert m3_type(arrow_type(type_)) == m3_type(stored_type(type_)) == type_
    assert m3_type(pa.dictionary(pa.int8(), pa.string_view()), nullable=True) == STRING.with_null()
    with pytest.raises(InputProblem, match="list"):
        m3_type(pa.list_(pa.int64()))


@pytest.mark.parametrize("as_new", [False, True])
def test_rejected_rows_are_read_again_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_new: bool) -> None:
    """In the order of their events, of which none is in two pieces; and each piece has all columns that any row has."""
    monkeypatch.setattr(rejected, "PIECE_ROWS", 2)
    relation = Relation("r", (Column("n", INT), Column("s", STRING.with_null())))
    rows = [(5, "e"), (3, None), (1, None), (3, None), (3, None), (4, None)]
    records = [{"op": "I", "event": e, "n": i, **({"s": s} if s else {})} for i, (e, s) in enumerate(rows)]
    files = []
    for number, texts in enumerate((records[:2], [*records[2:], {"event": 4, "line": "no row"}])):
        files.append(LogFile(0, "r", f"{number}.parquet", len(texts), "0/r", 0, 0))
        columns = [["bad"] * len(texts), ["why"] * len(texts), [None] * len(texts), [json.dumps(t) for t in texts]]
        pq.write_table(pa.table(columns, schema=REJECTED_SCHEMA), tmp_path / files[-1].path)
    pieces = list(rejected.read_rejected(tmp_path, files, relation, as_new=as_new))
    found = [
        (n, s)
        for raw in pieces
        for n, s in zip(raw.columns["n"].to_pylist(), raw.columns["s"].to_pylist(), strict=True)
    ]
    assert found == [("2", None), ("1", None), ("3", None), ("4", None), ("5", None), ("0", "e")]
    assert [row for raw in pieces for row in raw.row.tolist()] == [2, 1, 3, 4, 5, 0]
    assert [(m.text, m.event) for raw in pieces for m in raw.malformed] == [("no row", None if as_new else 4)]
    sizes = [len(raw.columns) + len(raw.malformed) for raw in pieces]
    assert sizes == ([2, 2, 2, 1] if as_new else [1, 3, 2, 1])
    if not as_new:
        events = [set(raw.columns["event"].to_pylist()) for raw in pieces]
        assert events == [{"1"}, {"3"}, {"4"}, {"5"}]


def test_rejected_rows_stay_beside_those_whose_event_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """These may be parts of any of them."""
    monkeypatch.setattr(rejected, "PIECE_ROWS", 1)
    records = [json.dumps({"op": "I", "event": e, "n": 1}) for e in (1, "x", 2)]
    columns = [["bad"] * 3, ["why"] * 3, [None] * 3, records]
    pq.write_table(pa.table(columns, schema=REJECTED_SCHEMA), tmp_path / "a.parquet")
    files = [LogFile(0, "r", "a.parquet", 3, "0/r", 0, 0)]
    (raw,) = rejected.read_rejected(tmp_path, files, Relation("r", (Column("n", INT),)))
    assert raw.row.tolist() == [1, 0, 2]


def test_large_files_are_read_in_many_blocks(tmp_path: Path) -> None:
    count = 200_000
    relation = Relation("items", (Column("id", INT), Column("price", decimal(15, 2))))
    table = pa.table(
        {"id": np.arange(count), "price": ["0.10"] * count, "op": ["I"] * count, "event": np.arange(count)}
    )
    pacsv.write_csv(table, tmp_path / "items.csv")
    (tmp_path / "items.ndjson").write_text(
        "".join(
            f'{{"id": {i}, "price": {"0.1" if i != 150_000 else "[]"}, "op": "I", "event": {i}}}\n'
            for i in range(count)
        )
    )
    by_csv = read_relation(relation, tmp_path / "items.csv", "0/items")
    by_json = read_relation(relation, tmp_path / "items.ndjson", "0/items")
    assert len(by_csv.rows) == count
    assert by_json.rejected["row"].to_pylist() == [150_000]
    assert by_json.rows["id"].to_pylist() == [i for i in range(count) if i != 150_000]
