"""The tables that random queries are about, and random streams of events on them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, Type, decimal
from m3.program import Column, Relation
from tests.support.doubles import DOUBLES
from tests.support.random_streams import Batch, Event, RandomStream, Row, left_over

__all__ = [
    "BY_NAME", "KINDS", "KIND_OF", "RELATIONS", "VALUES", "Batch", "Event", "Row", "left_over", "make_batches",
]  # fmt: skip

#: What the generator calls a type -> the type.
KINDS: Mapping[str, Type] = {"int": INT, "dec": decimal(8, 2), "dbl": DOUBLE, "str": STRING, "date": DATE, "bool": BOOL}
#: Few values, so that joins hit; some NULLs.
VALUES: Mapping[str, Sequence[Any]] = {
    "int": [0, 1, 2],
    "dec": [Decimal(v) for v in ("-1.50", "0.00", "1.00", "2.25")],
    "dbl": DOUBLES,
    "str": ["a", "b", "ab", "B"],
    "date": [datetime.date(2024, m, d) for m, d in ((1, 1), (1, 2), (1, 31), (2, 1), (2, 29))],
    "bool": [True, False],
}
NULLS = 0.15


def _relation(name: str, columns: str, key: str = "") -> Relation:
    parts = [c.split(":") for c in columns.split()]
    typed = (Column(n, KINDS[k.rstrip("!")].with_null(not k.endswith("!"))) for n, k in parts)
    return Relation(name, tuple(typed), tuple(key.split()))


RELATIONS = (
    _relation("t", "a:int b:int x:dec s:str d:date f:bool r:dbl"),
    _relation("u", "a:int c:int y:dec s:str e:date"),
    _relation("v", "k:int! b:int x:dec s:str g:bool", "k"),
    _relation("w", "b:int c:int! z:dec r:dbl"),
)
BY_NAME = {r.name: r for r in RELATIONS}
KIND_OF = {
    (r.name, c.name): next(k for k, t in KINDS.items() if t.same_as(c.type)) for r in RELATIONS for c in r.columns
}


def make_value(random: Random, relation: Relation, column: Column) -> Any:
    """A value of a column, now and then NULL."""
    if column.name in relation.key:
        return random.randrange(7)
    if column.type.nullable and random.random() < NULLS:
        return None
    return random.choice(VALUES[KIND_OF[relation.name, column.name]])


def make_batches(seed: int, tables: Sequence[str], count: int = 8) -> list[Batch]:
    """Batches of inserts, deletes of rows that exist, and updates (a delete and an insert); the first is the largest.

    Args:
        seed: of the random choices.
        tables: the tables that change.
        count: the number of batches.
    """
    stream = RandomStream(seed, [BY_NAME[name] for name in sorted(tables)], make_value)
    batches = [stream.batch(6 * len(tables), 0.95)]
    return batches + [stream.batch(6, 0.35 if n % 3 else 0.55) for n in range(1, count)]
