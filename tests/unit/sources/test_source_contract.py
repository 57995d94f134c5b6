"""Each kind of source keeps what sources have to keep."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from cumulus_ops.append.delivery import Delivery
from cumulus_ops.project.settings import Project
from cumulus_ops.sources.debezium.source import DebeziumSettings, DebeziumStream
from cumulus_ops.sources.delta import DeltaTables
from cumulus_ops.sources.landing import Landing
from tests.support.debezium import LINES, ORDERS, TABLES, Change, Connector, text_of
from tests.support.projects import make_project
from tests.support.source_contract import check_source

RELATIONS = (ORDERS, LINES)
NOON = datetime.datetime(2024, 2, 29, 12)


def project_in(folder: Path) -> Project:
    return make_project(folder / "project", RELATIONS, views={}, coordinators=1)


def order(number: int) -> dict[str, object]:
    return {"id": number, "price": Decimal(number) / 100, "note": None, "day": NOON.date(), "at": NOON}


def line(number: int, qty: int = 1) -> dict[str, object]:
    return {"order_id": number, "no": 1, "qty": qty}


def test_landing(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    for number in range(3):
        drop = project.landing / "0" / f"drop-{number}"
        drop.mkdir(parents=True)
        pq.write_table(pa.table({"order_id": [1, 2], "no": [number] * 2, "qty": [1, 1], "op": ["I"] * 2, "event": [2 * number, 2 * number + 1]}),
                       drop / "lines.parquet")  # fmt: skip
    check_source(project, lambda catalog: Landing(project, catalog, 0))


def test_debezium(tmp_path: Path) -> None:
    connector = Connector()
    folder = tmp_path / "stream"
    folder.mkdir()
    messages: list[object] = [m for n in range(3) for m in connector.change("r", "orders", None, order(n))]
    for n in range(3, 9):
        changes: list[Change] = [
            ("c", "orders", None, order(n)),
            ("c", "lines", None, line(n)),
            ("u", "lines", line(n), line(n, 2)),
        ]
        messages += connector.transaction(changes)
    messages += ["garbage", *connector.transaction([("d", "orders", order(3), None)])]
    text = text_of(messages)
    cuts = [0, text.index("\n", len(text) // 3) + 1, text.index("\n", len(text) // 2) + 1, len(text)]
    for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
        (folder / f"shop-{number}.json").write_text(text[begin:end])
    settings = DebeziumSettings(
        "shop", folder, RELATIONS, TABLES, settle_s=0, decimals="base64", timestamps="us", span_bytes=3000
    )
    check_source(project_in(tmp_path), lambda _: DebeziumStream(settings))


def test_delta(tmp_path: Path) -> None:
    tables = {name: str(tmp_path / name) for name in ("orders", "lines")}
    feed = {"delta.enableChangeDataFeed": "true"}
    orders = pa.schema(
        [
            ("id", pa.int64()),
            ("price", pa.decimal128(15, 2)),
            ("note", pa.string()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "UTC")),
        ]
    )
    project = project_in(tmp_path)
    write_deltalake(tables["orders"], pa.Table.from_pylist([order(n) for n in range(4)], orders), configuration=feed)
    write_deltalake(tables["lines"], pa.Table.from_pylist([line(1)]), configuration=feed)
    first = list(DeltaTables("lake", RELATIONS, tables).poll(None))
    assert [d.name for d in first] == ["lake.orders.0", "lake.lines.0"]
    DeltaTable(tables["orders"]).update(predicate="id > 1", updates={"note": "'x'"})
    DeltaTable(tables["orders"]).delete("id = 2")
    write_deltalake(tables["lines"], pa.Table.from_pylist([line(2)]), mode="append")
    check_source(project, lambda _: Later(DeltaTables("lake", RELATIONS, tables), first[-1].position))


class Later:
    """A source of which all up to a position was appended elsewhere: what it has now would otherwise be one delivery per table."""

    def __init__(self, source: DeltaTables, position: str | None) -> None:
        self.name, self._source, self._position = source.name, source, position

    def poll(self, position: str | None) -> Iterator[Delivery]:
        for delivery in self._source.poll(position or self._position):
            yield dataclasses.replace(delivery, begin=None if delivery.begin == self._position else delivery.begin)

    def close(self) -> None:
        self._source.close()
