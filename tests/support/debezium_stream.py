"""What a stream of Debezium's messages has, read and checked."""

from __future__ import annotations

import dataclasses
import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from cumulus_ops.append.checks import Checks
from cumulus_ops.files.columns import OFFSET, SIGN
from cumulus_ops.sources.debezium.source import DebeziumSettings, DebeziumStream
from tests.support.debezium import LINES, ORDERS, TABLES, Change
from tests.support.source_contract import parts_of

NOON = datetime.datetime(2024, 2, 29, 12, 30, 0, 250)
FIRST: dict[str, Any] = {"id": 1, "price": Decimal("5.00"), "note": "a", "day": NOON.date(), "at": NOON}
SECOND: dict[str, Any] = {**FIRST, "price": Decimal("-0.01"), "note": None}
LINE: dict[str, Any] = {"order_id": 1, "no": 1, "qty": 3}
RELATIONS = (ORDERS, LINES)

#: (relation, sign, row, event)
Found = tuple[str, int, tuple[Any, ...], int]


@dataclasses.dataclass
class Taken:
    """What deliveries had: accepted rows, reasons of the others by their kind, and the position behind them."""

    rows: list[Found]
    reasons: list[tuple[str, str]]
    position: str | None


def take(folder: Path, position: str | None = None, **options: Any) -> Taken:
    """All that is there, through the checks."""
    options = {
        "relations": RELATIONS,
        "tables": TABLES,
        "settle_s": 0.0,
        "decimals": "base64",
        "timestamps": "us",
        **options,
    }
    settings = DebeziumSettings("shop", folder, **options)
    taken = Taken([], [], position)
    for delivery in DebeziumStream(settings).poll(position):
        assert delivery.begin == taken.position
        assert "/" not in delivery.name
        taken.position = delivery.position
        for part in parts_of(delivery):
            relation = next(r for r in settings.relations if r.name == part.relation)
            checks = Checks(relation, part.place, upsert=part.relation in settings.upserts)
            for raw in part.read():
                checked = checks.check(raw)
                names = [c.name for c in relation.columns]
                taken.rows += [
                    (relation.name, r[SIGN], tuple(r[n] for n in names), r[OFFSET]) for r in checked.rows.to_pylist()
                ]
                taken.reasons += [(r["kind"], r["reason"]) for r in checked.rejected.to_pylist()]
    return taken


def values(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row.values())


CHANGES: list[Change] = [
    ("c", "orders", None, FIRST),
    ("c", "lines", None, LINE),
    ("u", "orders", FIRST, SECOND),
    ("d", "lines", LINE, None),
]
AS_ROWS = [
    ("orders", 1, values(FIRST), 1),
    ("orders", -1, values(FIRST), 1),
    ("orders", 1, values(SECOND), 1),
    ("lines", 1, values(LINE), 1),
    ("lines", -1, values(LINE), 1),
]
