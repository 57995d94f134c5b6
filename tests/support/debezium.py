"""Debezium's messages as its documentation describes them (2.x and 3.x), for PostgreSQL and MySQL, in every shape that files have them in."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from m3.datatypes import DATE, INT, STRING, TIMESTAMP, decimal
from m3.program import Column, Relation

__all__ = ["LINES", "ORDERS", "TABLES", "Change", "Connector", "base64_of", "text_of"]

ORDERS = Relation(
    "orders",
    (
        Column("id", INT),
        Column("price", decimal(15, 2)),
        Column("note", STRING.with_null()),
        Column("day", DATE.with_null()),
        Column("at", TIMESTAMP.with_null()),
    ),
    ("id",),
)
LINES = Relation("lines", (Column("order_id", INT), Column("no", INT), Column("qty", INT)), ("order_id", "no"))
TABLES = {"public.orders": "orders", "public.lines": "lines"}

Row = Mapping[str, Any]
#: (op, table, row before, row after)
Change = tuple[str, str, Row | None, Row | None]

EPOCH = datetime.datetime(1970, 1, 1)
#: The fields of the rows, as a connector's schema has them.
FIELDS: Mapping[str, list[dict[str, Any]]] = {
    "orders": [
        {"type": "int64", "optional": False, "field": "id"},
        {
            "type": "bytes", "optional": False, "name": "org.apache.kafka.connect.data.Decimal", "version": 1,
            "parameters": {"scale": "2", "connect.decimal.precision": "15"}, "field": "price",
        },
        {"type": "string", "optional": True, "field": "note"},
        {"type": "int32", "optional": True, "name": "io.debezium.time.Date", "version": 1, "field": "day"},
        {"type": "int64", "optional": True, "name": "io.debezium.time.MicroTimestamp", "version": 1, "field": "at"},
    ],
    "lines": [{"type": "int32", "optional": False, "field": name} for name in ("order_id", "no", "qty")],
    "audit": [{"type": "int32", "optional": False, "field": "id"}],
}  # fmt: skip
KEYS = {"orders": ("id",), "lines": ("order_id", "no"), "audit": ("id",)}


def base64_of(number: Decimal, scale: int) -> str:
    """A decimal as ``decimal.handling.mode=precise`` has it."""
    unscaled = int(number.scaleb(scale, Context(prec=60)))
    return base64.b64encode(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)).decode()


def encoded(table: str, row: Row | None) -> dict[str, Any] | None:
    """A row as an image."""
    if row is None:
        return None
    image: dict[str, Any] = {}
    for name, value in row.items():
        match value:
            case Decimal():
                image[name] = base64_of(value, 2)
            case datetime.datetime():
                image[name] = (value - EPOCH) // datetime.timedelta(microseconds=1)
            case datetime.date():
                image[name] = (value - EPOCH.date()).days
            case _:
                image[name] = value
    return image


def text_of(messages: Sequence[object]) -> str:
    """A line for each."""
    return "".join(json.dumps(m, separators=(",", ":")) + "\n" for m in messages)


@dataclass
class Connector:
    """Makes messages of transactions, as one connector does.

    ``metadata``: ``provide.transaction.metadata``; ``schemas``: ``schemas.enable``; ``keys``: lines with keys; ``texts``: numbers of the
    metadata as texts, as the documentation's examples have them.
    """

    kind: str = "postgresql"
    metadata: bool = True
    schemas: bool = False
    keys: bool = False
    tombstones: bool = True
    texts: bool = False
    place: int = 1000
    number: int = 500
    committed: int = 999
    clock: int = 1_700_000_000_000
    _orders: dict[str, int] = field(default_factory=dict)

    def transaction(self, changes: Sequence[Change]) -> list[object]:
        """The messages of one transaction."""
        return [message for group in self.groups(changes) for message in group]

    def groups(self, changes: Sequence[Change]) -> Iterator[list[object]]:
        """BEGIN, each change with its tombstone, END."""
        self.number += 1
        self.clock += 7
        counts: dict[str, int] = {}
        if self.metadata:
            yield [self._boundary("BEGIN", {})]
        for total, (op, table, before, after) in enumerate(changes, 1):
            self.place += 8
            counts[table] = counts.get(table, 0) + 1
            yield self.change(op, table, before, after, total, counts[table])
        self.place += 8
        if self.metadata:
            yield [self._boundary("END", counts)]
        self.committed = self.place

    def change(
        self, op: str, table: str, before: Row | None, after: Row | None, total: int = 1, order: int = 1
    ) -> list[object]:
        """One envelope, and the tombstone that follows a delete."""
        block = {"id": self._id(), "total_order": self._n(total), "data_collection_order": self._n(order)}
        envelope = {
            "before": encoded(table, before),
            "after": encoded(table, after),
            "source": self.source(op, table),
            "op": op,
            "ts_ms": self.clock + 5,
            "transaction": block if self.metadata and op != "r" else None,
        }
        key = {n: (after or before or {}).get(n) for n in KEYS[table]}
        messages = [self._wrapped(table, key, envelope)]
        if op == "d" and self.tombstones:
            messages.append({"key": key, "value": None} if self.keys else None)
        return messages

    def source(self, op: str, table: str) -> dict[str, Any]:
        """Where a change comes from."""
        common = {"version": "3.0.0.Final", "connector": self.kind, "name": "shop", "ts_ms": self.clock, "table": table}
        snapshot = "true" if op == "r" else "false"
        if self.kind == "postgresql":
            sequence = json.dumps([None if op == "r" else str(self.committed), str(self.place)], separators=(",", ":"))
            return {
                **common, "snapshot": snapshot, "db": "store", "sequence": sequence, "schema": "public",
                "txId": self.number, "lsn": self.place, "xmin": None,
            }  # fmt: skip
        return {
            **common, "snapshot": snapshot, "db": "public", "sequence": None, "server_id": 223344,
            "gtid": f"36a6fd32-d2b1-11ee:{self.number}", "file": "mysql-bin.000003", "pos": self.place, "row": 0, "thread": 7, "query": None,
        }  # fmt: skip

    def _id(self) -> str:
        return f"{self.number}:{self.place}" if self.kind == "postgresql" else f"36a6fd32-d2b1-11ee:{self.number}"

    def _n(self, number: int) -> int | str:
        return str(number) if self.texts else number

    def _boundary(self, status: str, counts: Mapping[str, int]) -> object:
        collections = [{"data_collection": f"public.{t}", "event_count": self._n(n)} for t, n in counts.items()]
        end = status == "END"
        value = {
            "status": status, "id": self._id(), "ts_ms": self.clock, "event_count": self._n(sum(counts.values())) if end else None,
            "data_collections": collections if end else None,
        }  # fmt: skip
        if self.schemas:
            value = {
                "schema": {"type": "struct", "name": "io.debezium.connector.common.TransactionMetadataValue"},
                "payload": value,
            }
        return {"key": {"id": self._id()}, "value": value} if self.keys else value

    def _wrapped(self, table: str, key: Mapping[str, Any], envelope: Mapping[str, Any]) -> object:
        value: object = envelope
        named: object = key
        if self.schemas:
            fields = FIELDS[table]
            images = [
                {"type": "struct", "fields": fields, "optional": True, "field": name} for name in ("before", "after")
            ]
            value = {
                "schema": {
                    "type": "struct",
                    "fields": images,
                    "optional": False,
                    "name": f"shop.public.{table}.Envelope",
                },
                "payload": envelope,
            }
            key_fields = [f for f in fields if f["field"] in key]
            named = {
                "schema": {"type": "struct", "fields": key_fields, "name": f"shop.public.{table}.Key"},
                "payload": key,
            }
        return {"key": named, "value": value} if self.keys else value
