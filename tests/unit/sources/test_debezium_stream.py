"""Debezium's messages, shape by shape: what becomes of them, and what is said of those that nothing becomes of."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from cumulus_ops.project.errors import SetupProblem
from cumulus_ops.sources.debezium.source import DebeziumSettings, DebeziumStream
from cumulus_ops.sources.debezium.transactions import Position
from tests.support.debezium import TABLES, Connector, text_of
from tests.support.debezium_stream import (
    AS_ROWS,
    CHANGES,
    FIRST,
    LINE,
    RELATIONS,
    SECOND,
    take,
    values,
)
from tests.support.source_contract import parts_of


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
@pytest.mark.parametrize("schemas", [False, True], ids=["plain", "schemas"])
@pytest.mark.parametrize("keys", [False, True], ids=["values", "keys"])
@pytest.mark.parametrize("metadata", [False, True], ids=["bare", "transactions"])
def test_every_shape_means_the_same(folder: Path, kind: str, schemas: bool, keys: bool, metadata: bool) -> None:
    connector = Connector(kind, metadata, schemas, keys, texts=schemas)
    (folder / "shop-1.json").write_text(text_of(connector.transaction(CHANGES)))
    taken = take(folder)
    assert taken.rows == AS_ROWS
    assert taken.reasons == []
    assert Position.parse(taken.position).counts == {"tombstone": 1}


def test_reads_of_a_snapshot_are_each_by_itself(folder: Path) -> None:
    connector = Connector()
    rows = [{**LINE, "no": n} for n in range(3)]
    (folder / "a.json").write_text(text_of([m for row in rows for m in connector.change("r", "lines", None, row)]))
    assert take(folder).rows == [("lines", 1, values(row), n) for n, row in enumerate(rows, 1)]


def test_a_transaction_waits_for_its_end_over_files(folder: Path) -> None:
    connector = Connector()
    messages = connector.transaction(CHANGES)
    (folder / "shop-9.json").write_text(text_of(messages[:3]))
    assert take(folder).rows == []
    (folder / "shop-10.json").write_text(text_of(messages[3:]))
    assert take(folder).rows == AS_ROWS


def test_without_its_end_a_transaction_waits_for_the_next_or_for_quiet(folder: Path) -> None:
    connector = Connector(metadata=False)
    file = folder / "a.json"
    file.write_text(text_of(connector.transaction(CHANGES)))
    assert take(folder, settle_s=3600).rows == []
    assert take(folder).rows == AS_ROWS
    file.write_text(file.read_text() + text_of(connector.transaction(CHANGES)))
    assert take(folder, settle_s=3600).rows == AS_ROWS


def test_what_comes_of_a_transaction_that_was_taken_is_rejected(folder: Path) -> None:
    connector = Connector(metadata=False)
    messages = connector.transaction(CHANGES)
    file = folder / "a.json"
    file.write_text(text_of(messages[:2]))
    taken = take(folder)
    assert [r[0] for r in taken.rows] == ["orders", "lines"]
    file.write_text(text_of([*messages, *connector.transaction(CHANGES[:1])]))
    rest = take(folder, taken.position)
    assert {kind for kind, _ in rest.reasons} == {"late-part"}
    assert len(rest.reasons) == 2
    assert [r[1] for r in rest.rows] == [1]


def test_a_line_is_read_when_it_is_whole(folder: Path) -> None:
    text = text_of(Connector().transaction(CHANGES))
    for cut in (len(text) - 1, len(text) - 2, len(text) - 30):
        (folder / "a.json").write_text(text[:cut])
        assert (take(folder).rows == AS_ROWS) == (cut == len(text) - 1), (
            "an end of line may be missing at the end, nothing else"
        )
        assert take(folder, settle_s=3600).rows == []


def test_repeats_after_a_restart_are_left_out(folder: Path) -> None:
    connector = Connector()
    groups = list(connector.groups(CHANGES))
    begin, *changes, end = groups
    again = [*begin, *changes[0], *changes[1], *changes[2], *begin, *changes[1], *changes[2], *changes[3], *end]
    later = connector.transaction([("d", "orders", SECOND, None)])
    (folder / "a.json").write_text(text_of([*again, *later, *changes[3], *end, *later]))
    taken = take(folder)
    assert taken.rows == [*AS_ROWS[:3], ("orders", -1, values(SECOND), 2), *AS_ROWS[3:]]
    assert taken.reasons == []
    assert Position.parse(taken.position).counts == {"repeat": 4, "tombstone": 4}


def test_a_log_that_went_back_is_rejected(folder: Path) -> None:
    connector = Connector()
    connector.transaction([])
    messages = connector.transaction(CHANGES)
    restored = dataclasses.replace(Connector(), clock=connector.clock + 1)
    (folder / "a.json").write_text(text_of([*messages, *restored.transaction(CHANGES)]))
    taken = take(folder)
    assert taken.rows == AS_ROWS
    assert {kind for kind, _ in taken.reasons} == {"log-went-back"}


@pytest.mark.parametrize("lost", range(1, 6))
@pytest.mark.parametrize("metadata", [True, False])
def test_a_transaction_of_which_something_is_missing_is_rejected(folder: Path, lost: int, metadata: bool) -> None:
    connector = Connector(tombstones=False)
    messages = connector.transaction(CHANGES)
    del messages[lost]
    whole = connector.transaction(CHANGES[:1])
    if not metadata:
        messages, whole = messages[1:-1], whole[1:-1]  # the block of each change is there, nothing else
    (folder / "a.json").write_text(text_of([*messages, *whole]))
    taken = take(folder)
    noticed = metadata or lost in (1, 2)  # the last change of a table: nobody can know
    assert [r[3] for r in taken.rows if r[3] == 2] == [2]
    assert (not [r for r in taken.rows if r[3] == 1]) == noticed
    assert {kind for kind, _ in taken.reasons} <= {"changes-missing", "end-missing"}
    assert bool(taken.reasons) == noticed


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{]", "not JSON"),
        ("[1]", "not a Debezium message"),
        ('{"op":1}', "not a Debezium message"),
        ('{"op":"x","source":{"table":"orders"}}', "unknown op"),
        ('{"op":"c","after":{}}', "without its source"),
        ('{"id":1,"qty":2}', "ExtractNewRecordState"),
        ('{"id":1,"__op":"c","before":1}', "ExtractNewRecordState"),
        ('{"before":' + "[" * 100_000, "nested too deeply"),
        ('{"before":"\xff"}', "not UTF-8"),
    ],
)
def test_a_bad_line_takes_its_transaction_with_it_and_nothing_else(folder: Path, line: str, reason: str) -> None:
    connector = Connector()
    before, messages, behind = (connector.transaction(c) for c in (CHANGES[1:2], CHANGES, CHANGES[1:2]))
    around, lines = [text_of(before), text_of(behind)], [text_of([m]) for m in messages]
    text = around[0] + "".join(lines[:2]) + line + "\n" + "".join(lines[2:]) + around[1]
    (folder / "a.json").write_bytes(text.encode("latin-1"))
    taken = take(folder)
    assert [r[:3] for r in taken.rows] == [("lines", 1, values(LINE))] * 2
    assert {r[3] for r in taken.rows} == {1, 3}
    assert len(taken.reasons) == 5
    assert all(reason in words for _, words in taken.reasons)
    (folder / "a.json").write_bytes((around[0] + line + "\n" + around[1]).encode("latin-1"))
    taken = take(folder)
    assert len(taken.rows) == 2
    assert len(taken.reasons) == 1


def test_what_does_not_concern_rows_is_counted(folder: Path) -> None:
    connector = Connector()
    messages = [
        {"ts_ms": 1},
        {"schema": {}, "payload": {"ts_ms": 1}},
        {"source": {}, "databaseName": "shop", "ddl": "CREATE TABLE t", "tableChanges": []},
        {"op": "m", "source": {"table": ""}, "message": {"prefix": "p", "content": "AA=="}},
        *connector.transaction([("c", "audit", None, {"id": 1}), ("c", "lines", None, LINE)]),
        *connector.transaction([("c", "audit", None, {"id": 2})]),
    ]
    (folder / "a.json").write_text(text_of(messages))
    taken = take(folder)
    assert taken.rows == [("lines", 1, values(LINE), 1)]
    assert Position.parse(taken.position).counts == {"ignored": 3, "logical message": 1, "table public.audit": 2}


OLD_KEY = {"id": 1, "price": None, "note": None, "day": None, "at": None}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (("u", "orders", None, SECOND), "no-before"),
        (("d", "orders", None, None), "no-before"),
        (("d", "orders", OLD_KEY, None), "no-before"),
        (("u", "orders", {"id": 1}, SECOND), "no-before"),
        (("t", "orders", None, None), "truncate"),
        (
            ("u", "orders", {**FIRST, "note": None}, {**SECOND, "note": "__debezium_unavailable_value"}),
            "unavailable-value",
        ),
        (("c", "orders", None, None), "malformed-line"),
    ],
)
def test_what_cannot_be_known_is_rejected_with_its_transaction(folder: Path, change: Any, kind: str) -> None:
    connector = Connector()
    text = text_of(
        [*connector.transaction([("c", "orders", None, FIRST), change]), *connector.transaction(CHANGES[:1])]
    )
    (folder / "a.json").write_text(text)
    taken = take(folder)
    assert taken.rows == [("orders", 1, values(FIRST), 2)]
    assert {k for k, _ in taken.reasons} == {kind, "part"}
    if kind != "malformed-line":
        assert "REPLICA IDENTITY FULL" in str(taken.reasons) or kind == "truncate"


def test_upserts_need_new_rows_and_keys(folder: Path) -> None:
    connector = Connector(keys=True, schemas=True)
    changes = [
        ("c", "orders", None, FIRST),
        ("u", "orders", None, SECOND),
        ("d", "orders", OLD_KEY, None),
        ("d", "orders", {**FIRST, "note": ""}, None),
    ]
    (folder / "a.json").write_text(text_of(connector.transaction(changes)))
    taken = take(folder, upserts=frozenset({"orders"}))
    key = (1, None, None, None, None)
    assert [(sign, row) for _, sign, row, _ in taken.rows] == [
        (2, values(FIRST)),
        (2, values(SECOND)),
        (-1, key),
        (-1, key),
    ]
    assert taken.reasons == []


@pytest.mark.parametrize("schemas", [True, False])
def test_a_delete_by_the_key_of_its_message(folder: Path, schemas: bool) -> None:
    connector = Connector(keys=True, schemas=schemas, metadata=False)
    messages: list[Any] = connector.transaction([("d", "orders", FIRST, None), ("c", "orders", None, SECOND)])
    envelope = messages[0]["value"]["payload"] if schemas else messages[0]["value"]
    envelope["before"] = None
    (folder / "a.json").write_text(text_of(messages))
    taken = take(folder, upserts=frozenset({"orders"}))
    assert [(sign, row) for _, sign, row, _ in taken.rows] == [(-1, (1, None, None, None, None)), (2, values(SECOND))]


def test_a_value_that_did_not_change_is_taken_from_before(folder: Path) -> None:
    connector = Connector()
    after = {**SECOND, "note": "__debezium_unavailable_value"}
    (folder / "a.json").write_text(text_of(connector.transaction([("u", "orders", FIRST, after)])))
    expected = values({**SECOND, "note": "a"})
    assert [row for _, sign, row, _ in take(folder).rows if sign == 1] == [expected]
    assert [row for _, sign, row, _ in take(folder, upserts=frozenset({"orders"})).rows] == [expected]


# files


def test_files_grow_and_are_never_written_anew(folder: Path) -> None:
    connector = Connector()
    file = folder / "a.json"
    file.write_text(text_of(connector.transaction(CHANGES)))
    taken = take(folder)
    kept = file.read_text()
    file.write_text(kept + text_of(connector.transaction(CHANGES[:1])))
    assert len(take(folder, taken.position).rows) == 1
    for other in (kept[:-1], "x" + kept[1:], text_of(connector.transaction(CHANGES))):
        file.write_text(other)
        if other != kept:
            with pytest.raises(SetupProblem, match="written anew"):
                take(folder, taken.position)
    file.unlink()
    (folder / "b.json").write_text(text_of(connector.transaction(CHANGES[:1])))
    assert len(take(folder, taken.position).rows) == 1, "what was read may go"


def test_a_file_that_comes_too_late_is_told(folder: Path) -> None:
    connector = Connector()
    (folder / "shop-8.json").write_text(text_of(connector.transaction(CHANGES)))
    (folder / "shop-10.json").write_text(text_of(connector.transaction(CHANGES)))
    taken = take(folder)
    (folder / "shop-9.json").write_text(text_of(connector.transaction(CHANGES)))
    with pytest.raises(SetupProblem, match="too late"):
        take(folder, taken.position)


def test_other_files_are_named_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    (folder / "offsets.dat").write_text("x")
    (folder / ".hidden").write_text("x")
    (folder / "deep").mkdir()
    (folder / "link.json").symlink_to("/dev/zero")
    stream = DebeziumStream(DebeziumSettings("shop", folder, RELATIONS, TABLES))
    assert list(stream.poll(None)) == list(stream.poll(None)) == []
    assert [said.split()[2] for said in caplog.messages] == ["deep", "link.json", "offsets.dat"]


def test_a_folder_that_is_not_there(folder: Path) -> None:
    with pytest.raises(SetupProblem, match="cannot be listed"):
        take(folder / "nowhere")


def test_a_line_that_never_ends(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cumulus_ops.sources.debezium.source.LINE_BYTES", 1 << 20)
    (folder / "a.json").write_text("[" + "1," * (2 << 20))
    with pytest.raises(SetupProblem, match="one message per line"):
        take(folder)


def test_deliveries_are_small_and_can_be_read_again(folder: Path) -> None:
    connector = Connector()
    text = "".join(text_of(connector.transaction(CHANGES)) for _ in range(20))
    (folder / "a.json").write_text(text)
    settings = DebeziumSettings(
        "shop", folder, RELATIONS, TABLES, settle_s=0, decimals="base64", timestamps="us", span_bytes=4000
    )
    stream = DebeziumStream(settings)
    deliveries = list(stream.poll(None))
    assert len(deliveries) > 4
    again = [[raw.columns.to_pylist() for part in parts_of(d) for raw in part.read()] for d in deliveries]
    assert (
        again
        == [[raw.columns.to_pylist() for part in parts_of(d) for raw in part.read()] for d in reversed(deliveries)][
            ::-1
        ]
    )
    events = [row["event"] for d in again for rows in d for row in rows]
    assert sorted(set(events)) == list(range(1, 21))
    assert json.loads(deliveries[-1].position or "")["event"] == 21
