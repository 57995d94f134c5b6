"""Values in Debezium's messages: what they mean by their schema, or without one, and what is said of those that do not fit."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cumulus_ops.project.errors import SetupProblem
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation
from tests.support.debezium import LINES, ORDERS, Connector, base64_of, text_of
from tests.support.debezium_stream import (
    AS_ROWS,
    CHANGES,
    take,
)


def stream_of(folder: Path, type_: Type, field: dict[str, Any] | None, found: Sequence[Any]) -> Relation:
    """A table ``t`` with a column ``v``, and a row for each value."""
    messages = []
    for value in found:
        payload = {
            "before": None, "after": {"v": value}, "op": "c", "source": {"connector": "postgresql", "name": "s", "db": "d", "schema": "p", "table": "t"},
        }  # fmt: skip
        images = {"type": "struct", "fields": [{"field": "v", "optional": True, **(field or {})}], "field": "after"}
        messages.append({"schema": {"type": "struct", "fields": [images]}, "payload": payload} if field else payload)
    (folder / "t.json").write_text(text_of(messages))
    return Relation("t", (Column("v", type_.with_null()),))


CONNECT, TIME, DATA = "org.apache.kafka.connect.data", "io.debezium.time", "io.debezium.data"
WIDE = Decimal("-123456789012345678901234567890.12")


@pytest.mark.parametrize(
    ("type_", "field", "value", "expected"),
    [
        (INT, {"type": "int8"}, -7, -7),
        (INT, {"type": "int64"}, 2**63 - 1, 2**63 - 1),
        (BOOL, {"type": "boolean"}, True, True),
        (DOUBLE, {"type": "double"}, 0.5, 0.5),
        (DOUBLE, {"type": "float"}, 1e-7, 1e-7),
        (STRING, {"type": "string"}, "ä\n\u2028", "ä\n\u2028"),
        *((STRING, {"type": "string", "name": f"{DATA}.{n}"}, "x", "x") for n in ("Json", "Uuid", "Enum", "Xml")),
        (decimal(5, 2), {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "2"}}, "AfQ=", Decimal("5.00")),
        (decimal(5, 2), {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "2"}}, "/w==", Decimal("-0.01")),
        (decimal(5, 2), {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "0"}}, "AQA=", Decimal(256)),
        (decimal(38, 2), {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "2"}}, base64_of(WIDE, 2), WIDE),
        (decimal(38, 3), {"type": "struct", "name": f"{DATA}.VariableScaleDecimal"}, {"scale": 1, "value": "Dw=="}, Decimal("1.5")),
        (decimal(5, 2), {"type": "string"}, "1.5", Decimal("1.50")),
        (decimal(5, 2), {"type": "double"}, 1.25, Decimal("1.25")),
        (DATE, {"type": "int32", "name": f"{TIME}.Date"}, 19782, datetime.date(2024, 2, 29)),
        (DATE, {"type": "int32", "name": f"{CONNECT}.Date"}, -1, datetime.date(1969, 12, 31)),
        (DATE, {"type": "string", "name": f"{TIME}.IsoDate"}, "2017-09-15Z", datetime.date(2017, 9, 15)),
        (TIMESTAMP, {"type": "int64", "name": f"{TIME}.Timestamp"}, 1, datetime.datetime(1970, 1, 1, 0, 0, 0, 1000)),
        (TIMESTAMP, {"type": "int64", "name": f"{CONNECT}.Timestamp"}, -1, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000)),
        (TIMESTAMP, {"type": "int64", "name": f"{TIME}.MicroTimestamp"}, 1529507596945104, datetime.datetime(2018, 6, 20, 15, 13, 16, 945104)),
        (TIMESTAMP, {"type": "int64", "name": f"{TIME}.NanoTimestamp"}, -1000, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        (TIMESTAMP, {"type": "string", "name": f"{TIME}.ZonedTimestamp"}, "2018-06-20T13:37:03Z", datetime.datetime(2018, 6, 20, 13, 37, 3)),
        (TIMESTAMP, {"type": "string", "name": f"{TIME}.IsoTimestamp"}, "2019-07-09T02:28:57.123456Z", datetime.datetime(2019, 7, 9, 2, 28, 57, 123456)),
    ],
)  # fmt: skip
def test_values_mean_what_their_schema_says(
    folder: Path, type_: Type, field: dict[str, Any], value: Any, expected: Any
) -> None:
    relation = stream_of(folder, type_, field, [value, None, value])
    taken = take(folder, relations=(relation,), tables={"p.t": "t"})
    assert [row for _, _, row, _ in taken.rows] == [(expected,), (None,), (expected,)]


@pytest.mark.parametrize("bad", [{"a": 1}, "x", [1], True, 1.5, 10**30])
@pytest.mark.parametrize(
    ("type_", "field", "good", "expected"),
    [
        (
            TIMESTAMP,
            {"type": "int64", "name": f"{TIME}.MicroTimestamp"},
            1_000_000,
            datetime.datetime(1970, 1, 1, 0, 0, 1),
        ),
        (DATE, {"type": "int32", "name": f"{TIME}.Date"}, 19782, datetime.date(2024, 2, 29)),
        (
            decimal(5, 2),
            {"type": "struct", "name": f"{DATA}.VariableScaleDecimal"},
            {"scale": 1, "value": "Dw=="},
            Decimal("1.50"),
        ),
        (
            decimal(5, 2),
            {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "2"}},
            "AfQ=",
            Decimal("5.00"),
        ),
        (INT, {"type": "int64"}, 5, 5),
    ],
)
def test_a_value_of_another_kind_leaves_its_neighbours_alone(
    folder: Path, type_: Type, field: dict[str, Any], good: Any, expected: Any, bad: Any
) -> None:
    relation = stream_of(folder, type_, field, [good, bad, good])
    taken = take(folder, relations=(relation,), tables={"p.t": "t"})
    assert [row for _, _, row, event in taken.rows if event != 2] == [(expected,)] * 2


@pytest.mark.parametrize(
    ("type_", "field", "value"),
    [
        (decimal(5, 2), {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "3"}}, "AfQB"),
        (decimal(5, 2), {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "2"}}, "A"),
        (decimal(5, 2), {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "2"}}, ""),
        (decimal(5, 2), {"type": "struct", "name": f"{DATA}.VariableScaleDecimal"}, {"scale": 2**31 - 1, "value": "Dw=="}),
        (decimal(5, 2), {"type": "double"}, 0.125),
        (decimal(5, 2), {"type": "string"}, "NaN"),
        (TIMESTAMP, {"type": "int64", "name": f"{TIME}.NanoTimestamp"}, 1),
        (TIMESTAMP, {"type": "int64", "name": f"{TIME}.MicroTimestamp"}, 9223372036825200000),
        (DATE, {"type": "int32", "name": f"{TIME}.Date"}, 2**40),
        (INT, {"type": "int64"}, 1.5),
        (INT, {"type": "int64"}, 2**64),
        (INT, {"type": "int64"}, "x"),
        (BOOL, {"type": "boolean"}, "maybe"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_rejected_alone(
    folder: Path, type_: Type, field: dict[str, Any], value: Any
) -> None:
    relation = stream_of(folder, type_, field, [None, value, None])
    taken = take(folder, relations=(relation,), tables={"p.t": "t"})
    accepted = [row for _, _, row, _ in taken.rows]
    assert accepted == [(None,), (None,)]
    assert len(taken.reasons) == 1


@pytest.mark.parametrize(
    ("type_", "value", "options", "expected"),
    [
        (INT, 5, {}, 5),
        (STRING, "x", {}, "x"),
        (BOOL, True, {}, True),
        (DOUBLE, 2, {}, 2.0),
        (DATE, 19782, {}, datetime.date(2024, 2, 29)),
        (decimal(5, 2), "5.25", {}, Decimal("5.25")),
        (decimal(5, 2), "525", {}, "base64"),
        (decimal(5, 2), "AfQ=", {}, "base64"),
        (decimal(5, 2), "AfQ=", {"decimals": "base64"}, Decimal("5.00")),
        (decimal(5, 2), "525", {"decimals": "string"}, Decimal("525.00")),
        (TIMESTAMP, 1000, {}, "timestamps"),
        (TIMESTAMP, 1000, {"timestamps": "ms"}, datetime.datetime(1970, 1, 1, 0, 0, 1)),
        (TIMESTAMP, "2018-06-20T13:37:03Z", {}, datetime.datetime(2018, 6, 20, 13, 37, 3)),
    ],
)
def test_without_a_schema_only_what_is_certain(
    folder: Path, type_: Type, value: Any, options: dict[str, str], expected: Any
) -> None:
    relation = stream_of(folder, type_, None, [value])
    taken = take(
        folder, relations=(relation,), tables={"p.t": "t"}, **{"decimals": None, "timestamps": None, **options}
    )
    if expected in ("base64", "timestamps"):
        assert taken.rows == []
        assert expected in taken.reasons[0][1]
    else:
        assert [row for _, _, row, _ in taken.rows] == [(expected,)]


@pytest.mark.parametrize(
    "field", [{"type": "bytes"}, {"type": "array"}, {"type": "bytes", "name": f"{DATA}.Bits"}, None]
)
def test_what_no_column_holds_stops_the_source(folder: Path, field: dict[str, Any] | None) -> None:
    relation = stream_of(folder, STRING, field, [["x"]])
    with pytest.raises(SetupProblem, match="no column type holds"):
        take(folder, relations=(relation,), tables={"p.t": "t"})


def test_a_schema_may_change_within_a_transaction(folder: Path) -> None:
    connector = Connector(schemas=True)
    messages: list[Any] = connector.transaction(CHANGES)
    for image in messages[3]["schema"]["fields"]:
        image["fields"] = [{**f, "type": "string"} if f["field"] == "id" else f for f in image["fields"]]
    for image in ("before", "after"):
        messages[3]["payload"][image]["id"] = "1"
    (folder / "a.json").write_text(text_of(messages))
    assert take(folder).rows == AS_ROWS


def test_a_missing_column_stops_the_source(folder: Path) -> None:
    (folder / "a.json").write_text(text_of(Connector(schemas=True).transaction(CHANGES)))
    wide = dataclasses.replace(ORDERS, columns=(*ORDERS.columns, Column("more", INT)))
    with pytest.raises(SetupProblem, match="no column 'more'"):
        take(folder, relations=(wide, LINES))
