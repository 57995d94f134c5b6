"""TPC-H in the small: all eight relations, and random streams whose values make every query's predicates hit."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from m3.datatypes import DATE, INT, STRING, Type, decimal
from m3.program import Column, Relation

VIEWS = Path(__file__).parents[2] / "examples" / "tpch" / "views"
QUERIES = tuple(f"q{n}" for n in range(1, 23))

Row = tuple[Any, ...]
Batch = list[tuple[int, str, Row]]
Random = random.Random

_TYPES: Mapping[str, Type] = {"i": INT, "s": STRING, "d": DATE, "n": decimal(15, 2)}


def _relation(name: str, key: str, columns: str) -> Relation:
    parts = (c.split(":") for c in columns.split())
    return Relation(name, tuple(Column(n, _TYPES[t]) for n, t in parts), tuple(key.split()))


RELATIONS = (
    _relation("region", "r_regionkey", "r_regionkey:i r_name:s r_comment:s"),
    _relation("nation", "n_nationkey", "n_nationkey:i n_name:s n_regionkey:i n_comment:s"),
    _relation(
        "supplier", "s_suppkey",
        "s_suppkey:i s_name:s s_address:s s_nationkey:i s_phone:s s_acctbal:n s_comment:s",
    ),
    _relation(
        "customer", "c_custkey",
        "c_custkey:i c_name:s c_address:s c_nationkey:i c_phone:s c_acctbal:n c_mktsegment:s c_comment:s",
    ),
    _relation(
        "part", "p_partkey",
        "p_partkey:i p_name:s p_mfgr:s p_brand:s p_type:s p_size:i p_container:s p_retailprice:n p_comment:s",
    ),
    _relation(
        "partsupp", "ps_partkey ps_suppkey", "ps_partkey:i ps_suppkey:i ps_availqty:i ps_supplycost:n ps_comment:s"
    ),
    _relation(
        "orders", "o_orderkey",
        "o_orderkey:i o_custkey:i o_orderstatus:s o_totalprice:n o_orderdate:d o_orderpriority:s o_clerk:s "
        "o_shippriority:i o_comment:s",
    ),
    _relation(
        "lineitem", "l_orderkey l_linenumber",
        "l_orderkey:i l_partkey:i l_suppkey:i l_linenumber:i l_quantity:n l_extendedprice:n l_discount:n l_tax:n "
        "l_returnflag:s l_linestatus:s l_shipdate:d l_commitdate:d l_receiptdate:d l_shipinstruct:s l_shipmode:s "
        "l_comment:s",
    ),
)  # fmt: skip
KEY_SIZES = {r.name: len(r.key) for r in RELATIONS}

REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
#: name -> region key
NATIONS = {"FRANCE": 3, "GERMANY": 3, "BRAZIL": 1, "CANADA": 1, "INDIA": 2, "SAUDI ARABIA": 4}
PRODUCTS = (("Brand#23", "MED BOX"), ("Brand#12", "SM CASE"), ("Brand#34", "LG BOX"), ("Brand#45", "JUMBO JAR"))
TYPES = ("ECONOMY ANODIZED STEEL", "PROMO PLATED BRASS", "MEDIUM POLISHED COPPER", "LARGE BRUSHED BRASS")
ORDER_DAYS = ("1993-07-15", "1993-11-01", "1994-03-01", "1994-06-01", "1995-03-01", "1995-06-01", "1996-02-01")
SHIP_DAYS = ("1994-05-01", "1994-05-20", "1995-03-20", "1995-09-10", "1996-01-20", "1998-11-01")


def view_text(name: str) -> str:
    """A query's SQL."""
    return (VIEWS / f"{name}.sql").read_text(encoding="utf-8")


def _money(random: Random, low: int, high: int) -> Decimal:
    return Decimal(random.randint(low, high)).scaleb(-2)


def _mostly(random: Random, usual: int, size: int) -> int:
    """Mostly the usual place of ``size``, so that all places are taken."""
    return usual % size if random.random() < 0.75 else random.randrange(size)


def _region(random: Random) -> Row:
    key = random.randrange(5)
    return key, REGIONS[key], "c"


def _nation(random: Random) -> Row:
    key = random.randrange(len(NATIONS))
    name = list(NATIONS)[key]
    return key, name, random.choice([NATIONS[name], NATIONS[name], 2]), "c"


def _supplier(random: Random) -> Row:
    key, comment = random.randint(1, 8), random.choice(["quick", "Customer x Complaints", "fine"])
    return key, f"Supplier#{key}", "street", _mostly(random, key, 6), "13-1", _money(random, -50_00, 90_00), comment


def _customer(random: Random) -> Row:
    key, phone = random.randint(1, 18), random.choice(["13-1", "31-2", "23-3", "99-4"])
    segment = random.choice(["BUILDING", "MACHINERY"])
    return key, f"Customer#{key}", "lane", _mostly(random, key, 6), phone, _money(random, -50_00, 90_00), segment, "c"


def _part(random: Random) -> Row:
    key, name = random.randint(1, 8), random.choice(["forest green", "green misty", "forest blue", "red"])
    brand, container = PRODUCTS[_mostly(random, key, 4)]
    size = random.choice([3, 9, 15, 15])
    return (
        key,
        name,
        "Manufacturer#1",
        brand,
        TYPES[_mostly(random, key // 2, 4)],
        size,
        container,
        _money(random, 1, 99_00),
        "c",
    )


def _partsupp(random: Random) -> Row:
    return random.randint(1, 8), random.randint(1, 8), random.randint(1, 60), _money(random, 1_00, 9_00), "c"


def _order(random: Random) -> Row:
    day = datetime.date.fromisoformat(random.choice(ORDER_DAYS))
    priority = random.choice(["1-URGENT", "2-HIGH", "5-LOW"])
    comment = random.choice(["plain", "special packages requests", "special"])
    price = _money(random, 100_00, 500_00)
    customer, status = random.randint(1, 19), random.choice("FFO")
    return random.randint(1, 28), customer, status, price, day, priority, "clerk", random.randrange(2), comment


def _lineitem(random: Random) -> Row:
    keys = random.randint(1, 30), random.randint(1, 8), random.randint(1, 8), random.randint(1, 4)
    shipped = datetime.date.fromisoformat(random.choice(SHIP_DAYS))
    committed = shipped + datetime.timedelta(random.choice([-3, 4, 8]))
    received = shipped + datetime.timedelta(random.choice([2, 10]))
    # no multiple of a fifth of an average: Q17 compares with 0.2 * AVG, which DuckDB computes in floating point
    quantity = random.choice([Decimal(v) for v in ("1.07", "5.13", "10.51", "20.33", "23.71", "41.09", "199.37")])
    discount = random.choice([Decimal(v) for v in ("0.02", "0.05", "0.06", "0.07")])
    amounts = quantity, _money(random, 10_00, 300_00), discount, _money(random, 0, 8)
    flags = random.choice("RAN"), random.choice("OF")
    how = random.choice(["DELIVER IN PERSON", "NONE"]), random.choice(["AIR", "MAIL", "SHIP"])
    return *keys, *amounts, *flags, shipped, committed, received, *how, "c"


MAKERS: Mapping[str, Callable[[Random], Row]] = {
    "region": _region, "nation": _nation, "supplier": _supplier, "customer": _customer, "part": _part,
    "partsupp": _partsupp, "orders": _order, "lineitem": _lineitem,
}  # fmt: skip
SHARES = {
    "region": 5,
    "nation": 6,
    "supplier": 7,
    "customer": 10,
    "part": 8,
    "partsupp": 30,
    "orders": 15,
    "lineitem": 100,
}


class Stream:
    """Seeded inserts, deletes and updates of all tables; children come without their parents and outlive them.

    ``live`` has the rows that are there, by key.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.live: dict[str, dict[Row, Row]] = {r.name: {} for r in RELATIONS}

    def batches(self, count: int = 30, size: int = 14) -> list[Batch]:
        """Batches; the first fills the tables."""
        first = [e for name, share in SHARES.items() for _ in range(2 * share) for e in self._insert(name)]
        self.random.shuffle(first)
        return [first, *(self._batch(size) for _ in range(count - 1))]

    def empty(self) -> Batch:
        """The deletes of all rows, mixed."""
        events = [(-1, name, row) for name, rows in self.live.items() for row in rows.values()]
        self.random.shuffle(events)
        return events

    def _batch(self, size: int) -> Batch:
        events: Batch = []
        while len(events) < size:
            name = self.random.choices(list(SHARES), list(SHARES.values()))[0]
            many = len(self.live[name]) > SHARES[name] * 4 // 5
            action = self.random.choice([self._delete if many else self._insert, self._insert, self._update])
            events += action(name)
        return events

    def _insert(self, name: str) -> Batch:
        row = MAKERS[name](self.random)
        if self.live[name].setdefault(row[: KEY_SIZES[name]], row) is not row:
            return []
        return [(1, name, row)]

    def _delete(self, name: str) -> Batch:
        return [(-1, name, self.live[name].pop(self.random.choice(list(self.live[name]))))]

    def _update(self, name: str) -> Batch:
        """Other values for a key, or a wholly new row, as a delete and an insert."""
        new = MAKERS[name](self.random)
        old = self.live[name].pop(new[: KEY_SIZES[name]], None)
        deleted = [(-1, name, old)] if old else self._delete(name) if self.live[name] else []
        self.live[name][new[: KEY_SIZES[name]]] = new
        return [*deleted, (1, name, new)]
