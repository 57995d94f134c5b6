"""Random transactions, as Debezium's messages in random shapes, in files cut anywhere and read while they grow, some of them sent twice: at any
moment what has been taken is the database as it was after some transaction, and in the end all of them."""

from __future__ import annotations

import datetime
import json
import os
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cumulus_ops.append.checks import Checks
from cumulus_ops.files.columns import SIGN, UPDATE
from cumulus_ops.sources.debezium.source import DebeziumSettings, DebeziumStream
from tests.support.debezium import LINES, ORDERS, TABLES, Change, Connector, text_of
from tests.support.source_contract import parts_of

EXAMPLES = int(os.environ.get("EXAMPLES", "6"))
RELATIONS = {r.name: r for r in (ORDERS, LINES)}
NOON = datetime.datetime(2024, 2, 29, 12)
Row = tuple[Any, ...]


@dataclass
class Database:
    """The model: tables by key, and what they were after each transaction."""

    tables: dict[str, dict[Row, dict[str, Any]]] = field(default_factory=lambda: {"orders": {}, "lines": {}})
    history: list[Counter[Row]] = field(default_factory=lambda: [Counter()])

    def write(self, table: str, key: Row, row: dict[str, Any] | None) -> Change | None:
        before = self.tables[table].pop(key, None)
        if row is None:
            return None if before is None else ("d", table, before, None)
        self.tables[table][key] = row
        return ("c" if before is None else "u", table, before, row)

    def commit(self) -> None:
        rows = [(name, *row.values()) for name, rows in self.tables.items() for row in rows.values()]
        self.history.append(Counter(rows))


def row_of(table: str, key: int, value: int) -> dict[str, Any]:
    if table == "lines":
        return {"order_id": key, "no": 1, "qty": value}
    note = None if value % 3 == 0 else f'"{value}" ä\\n'
    return {
        "id": key,
        "price": Decimal(value - 50) / 100,
        "note": note,
        "day": NOON.date() if value % 2 else None,
        "at": NOON,
    }


writes = st.tuples(st.sampled_from(["orders", "lines", "lines"]), st.integers(0, 3), st.none() | st.integers(0, 99))
booleans = st.booleans()
transactions = st.lists(st.lists(writes, min_size=1, max_size=5), min_size=1, max_size=8)
shapes = st.builds(
    Connector, kind=st.sampled_from(["postgresql", "mysql"]), metadata=st.booleans(), schemas=st.booleans(), keys=st.booleans(),
    tombstones=st.booleans(), texts=st.booleans(),
)  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    data=st.data(), connector=shapes, drawn=transactions, span=st.sampled_from([1, 2000, 1 << 20]), upsert=st.booleans()
)
def test_what_is_taken_is_the_database(
    data: st.DataObject, connector: Connector, drawn: list[Any], span: int, upsert: bool
) -> None:
    database = Database()
    messages = list[object]()
    for transaction in drawn:
        changes = [
            c for t, k, v in transaction if (c := database.write(t, (k,), None if v is None else row_of(t, k, v)))
        ]
        if changes:
            database.commit()
            messages += connector.transaction(changes)
        restart: bool = data.draw(booleans, "restart")
        if messages and restart:
            messages += messages[data.draw(st.integers(0, len(messages) - 1), "sent again from") :]
    if not messages:
        return
    text = text_of(messages).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=4), "looks"))
    breaks = sorted(data.draw(st.sets(st.integers(0, text.count(b"\n")), max_size=2), "files"))
    with TemporaryDirectory() as folder:
        reader = Reader(Path(folder), span, upsert)
        for cut in cuts:
            write(Path(folder), text, breaks, cut)
            assert reader.look(settle_s=3600) in database.history
        write(Path(folder), text, breaks, len(text))
        assert reader.look(settle_s=0) == database.history[-1]


def write(folder: Path, text: bytes, breaks: list[int], length: int) -> None:
    """The first bytes of a stream, in files that end after some lines."""
    files: dict[int, list[bytes]] = {}
    for number, line in enumerate(text[:length].splitlines(keepends=True)):
        files.setdefault(sum(b <= number for b in breaks), []).append(line)
    for number, lines in files.items():
        (folder / f"shop-{number}.json").write_bytes(b"".join(lines))


class Reader:
    """Takes what is new, each time as another process would, and keeps the rows."""

    def __init__(self, folder: Path, span_bytes: int, upsert: bool) -> None:
        self.folder, self.span_bytes, self.upsert = folder, span_bytes, upsert
        self.position: str | None = None
        self.rows: Counter[Row] = Counter()
        self.living: dict[Row, Row] = {}

    def look(self, settle_s: float) -> Counter[Row]:
        upserts = frozenset(RELATIONS) if self.upsert else frozenset[str]()
        stream = DebeziumStream(
            DebeziumSettings(
                "shop",
                self.folder,
                tuple(RELATIONS.values()),
                TABLES,
                upserts,
                settle_s,
                "base64",
                "us",
                span_bytes=self.span_bytes,
            )
        )
        for delivery in stream.poll(self.position):
            assert delivery.begin == self.position
            for part in parts_of(delivery):
                for raw in part.read():
                    checked = Checks(RELATIONS[part.relation], part.place, upsert=self.upsert).check(raw)
                    assert checked.rejected.to_pylist() == []
                    self.take(part.relation, checked.rows.to_pylist())
            self.position = delivery.position
            json.loads(delivery.position or "")
        return Counter(self.living.values()) if self.upsert else +self.rows

    def take(self, name: str, rows: list[dict[str, Any]]) -> None:
        relation = RELATIONS[name]
        for row in rows:
            values = (name, *(row[c.name] for c in relation.columns))
            key = (name, *(row[k] for k in relation.key))
            if not self.upsert:
                self.rows[values] += row[SIGN]
                assert self.rows[values] >= 0
            elif row[SIGN] == UPDATE:
                self.living[key] = values
            else:
                del self.living[key]
