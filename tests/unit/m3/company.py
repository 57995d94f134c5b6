"""A schema with many NULLs, and a stream on it: people, departments, projects; sales of products in stores; readings of devices."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

from m3.datatypes import BOOL, DATE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation
from tests.support.random_streams import Batch, RandomStream

_TYPES: dict[str, Type] = {"i": INT, "s": STRING, "d": DATE, "n": decimal(8, 2), "b": BOOL, "t": TIMESTAMP}


def _relation(name: str, key: str, columns: str) -> Relation:
    """``column:type`` with ``?`` where it may be NULL."""
    parts = (c.split(":") for c in columns.split())
    typed = (Column(n, _TYPES[t[0]].with_null(t.endswith("?"))) for n, t in parts)
    return Relation(name, tuple(typed), tuple(key.split()))


RELATIONS = (
    _relation("departments", "dept_id", "dept_id:i dname:s? city:s? budget:n?"),
    _relation(
        "employees", "emp_id", "emp_id:i ename:s? dept_id:i? manager_id:i? salary:n? hired:d? active:b?"
    ),
    _relation("assignments", "", "emp_id:i? proj_id:i? hours:i? role:s?"),
    _relation("projects", "", "proj_id:i? dept_id:i? title:s cost:n? started:d?"),
    _relation("sales", "", "product_id:i? store_id:i? qty:i? price:n? day:d"),
    _relation("products", "product_id", "product_id:i category:s? list_price:n?"),
    _relation("stores", "store_id", "store_id:i city:s? opened:d?"),
    _relation("readings", "", "device:i? at:t? level:n? state:s?"),
)  # fmt: skip

_DAYS = [datetime.date(2024, m, d) for m, d in ((1, 1), (1, 15), (1, 31), (2, 29), (3, 1), (12, 31))]
_BY_TYPE: dict[str, Sequence[Any]] = {
    "int": [1, 2, 3, 4],
    "string": ["ann", "bob", "cyd", "ann_b", "Bonn", "Paris"],
    "date": _DAYS,
    "timestamp": [datetime.datetime(2024, 3, d, h, m) for d, h, m in ((1, 0, 0), (1, 0, 5), (1, 23, 59), (2, 7, 30))],
    "decimal": [Decimal(v) for v in ("0.00", "10.00", "12.50", "20.25", "-3.10")],
    "bool": [True, False],
}
_BY_COLUMN: dict[str, Sequence[Any]] = {
    "emp_id": range(1, 9),
    "manager_id": range(1, 6),
    "city": ["Bonn", "Paris", "Rome"],
    "category": ["toy", "food", "tool"],
    "role": ["lead", "dev"],
    "hours": [0, 3, 5, 8],
    "state": ["on", "off", "err"],
}


def _value(random: Random, relation: Relation, column: Column) -> Any:
    if column.type.nullable and random.random() < 0.2:
        return None
    return random.choice(_BY_COLUMN.get(column.name, _BY_TYPE[column.type.kind]))


def make_batches(seed: int, tables: set[str], count: int = 10) -> list[Batch]:
    """A stream on some of the tables."""
    stream = RandomStream(seed, [r for r in RELATIONS if r.name in tables], _value)
    batches = [stream.batch(13 * len(tables), 0.95)]
    return batches + [stream.batch(6, 0.4 if n % 3 else 0.7) for n in range(1, count)]
