"""Suites of SQL that others measure databases and streams by, in our words: a star schema, auctions, groups and joins of one table, a shop of models.

They ask what the Star Schema Benchmark, Nexmark, the benchmark of H2O and dbt's example shop ask. ``NAME = text``, or ``(text, DuckDB's text)`` where DuckDB says
it otherwise. Rows are random, few of each value, so that every query finds some.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.program import Column, Relation

__all__ = ["SUITES", "Batch", "Row", "Suite", "batches"]

Row = tuple[Any, ...]
Batch = list[tuple[int, str, Row]]
Texts = Mapping[str, str | tuple[str, str]]

_TYPES: dict[str, Type] = {
    "int": INT, "text": STRING, "money": decimal(12, 2), "double": DOUBLE, "date": DATE, "time": TIMESTAMP, "bool": BOOL,
}  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """Tables, views, and the values that columns take. ``tables``: ``column type`` with ``?`` where it may be NULL; how many rows."""

    dialect: str
    tables: Mapping[str, tuple[int, str]]
    views: Texts
    values: Mapping[str, tuple[Any, ...]]
    #: Views may read one another.
    reads_views: bool = False

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The tables as relations."""
        return tuple(
            Relation(name, tuple(_read_column(c) for c in text.split(", "))) for name, (_, text) in self.tables.items()
        )


def _read_column(text: str) -> Column:
    name, kind = text.split(" ")
    return Column(name, _TYPES[kind.rstrip("?")].with_null(kind.endswith("?")))


# A star schema: sales of a year, by part and supplier, by places, and their profit.

_SALES = "FROM sales s JOIN days d ON s.day = d.day"
_PARTS = "JOIN parts p ON s.part = p.part"
_SELLERS = "JOIN suppliers v ON s.supplier = v.supplier"
_BUYERS = "JOIN customers c ON s.customer = c.customer"


def _discounts(days: str, discounts: str, quantities: str) -> str:
    return f"SELECT SUM(s.price * s.discount) AS gained {_SALES} WHERE {days} AND s.discount {discounts} AND s.quantity {quantities}"


def _brands(parts: str, region: str) -> str:
    return (
        f"SELECT SUM(s.revenue) AS revenue, d.year, p.brand {_SALES} {_PARTS} {_SELLERS} WHERE {parts} AND v.region = '{region}' "
        "GROUP BY d.year, p.brand ORDER BY d.year, p.brand"
    )


def _places(by: str, where: str) -> str:
    return (
        f"SELECT c.{by} AS bought, v.{by} AS sold, d.year, SUM(s.revenue) AS revenue {_SALES} {_BUYERS} {_SELLERS} WHERE {where} "
        f"GROUP BY c.{by}, v.{by}, d.year ORDER BY d.year, revenue DESC"
    )


def _profits(by: str, where: str) -> str:
    return (
        f"SELECT d.year, {by}, SUM(s.revenue - s.cost) AS profit {_SALES} {_BUYERS} {_SELLERS} {_PARTS} WHERE {where} "
        f"GROUP BY d.year, {by} ORDER BY d.year, {by}"
    )


_CITIES = "c.city IN ('north 1', 'north 5') AND v.city IN ('north 1', 'north 5')"
_NATIONS = ("east", "north", "south")
STAR = Suite(
    "postgres",
    {
        "sales": (160, "number int, customer int, part int, supplier int, day int, quantity int, price money, discount int, revenue money, cost money"),
        "days": (8, "day int, year int, month int, month_name text, week int"),
        "customers": (8, "customer int, city text, nation text, region text"),
        "suppliers": (8, "supplier int, city text, nation text, region text"),
        "parts": (8, "part int, maker text, category text, brand text"),
    },
    {
        "discounts_of_a_year": _discounts("d.year = 1993", "BETWEEN 1 AND 3", "< 25"),
        "discounts_of_a_month": _discounts("d.month = 199401", "BETWEEN 4 AND 6", "BETWEEN 26 AND 35"),
        "discounts_of_a_week": _discounts("d.week = 6 AND d.year = 1994", "BETWEEN 5 AND 7", "BETWEEN 26 AND 35"),
        "brands_of_a_category": _brands("p.category = 'MF 12'", "inland"),
        "brands_of_a_range": _brands("p.brand BETWEEN 'MF 1221' AND 'MF 1228'", "abroad"),
        "one_brand": _brands("p.brand = 'MF 1221'", "abroad"),
        "nations": _places("nation", "c.region = 'inland' AND v.region = 'inland' AND d.year >= 1992 AND d.year <= 1997"),
        "cities_of_a_nation": _places("city", "c.nation = 'north' AND v.nation = 'north' AND d.year BETWEEN 1992 AND 1997"),
        "four_cities": _places("city", f"{_CITIES} AND d.year >= 1992 AND d.year <= 1997"),
        "four_cities_in_a_month": _places("city", f"{_CITIES} AND d.month_name = 'Dec1994'"),
        "profit_by_nation": _profits("c.nation", "c.region = 'inland' AND v.region = 'inland' AND p.maker IN ('MF 1', 'MF 2')"),
        "profit_by_category": _profits("v.nation, p.category", "c.region = 'inland' AND v.region = 'inland' AND d.year IN (1993, 1994) AND (p.maker = 'MF 1' OR p.maker = 'MF 2')"),
        "profit_by_brand": _profits("v.city, p.brand", "c.region = 'inland' AND v.nation = 'north' AND d.year IN (1993, 1994) AND p.category = 'MF 12'"),
    },
    {
        "year": (1993, 1994), "month": (199401, 199312), "month_name": ("Dec1994", "Jan1994"), "week": (6, 7), "city": ("north 1", "north 5"), "nation": _NATIONS,
        "region": ("inland", "inland", "abroad"), "maker": ("MF 1", "MF 2", "MF 3"), "category": ("MF 12", "MF 13"), "brand": ("MF 1221", "MF 1225", "MF 1230"),
        "discount": (1, 3, 5, 6, 7), "quantity": (10, 24, 26, 30, 35, 40),
    },
)  # fmt: skip

# Auctions: what is asked of a stream of people, auctions and bids.

_SPAN = "INTERVAL '10' SECOND"
_STARTS = "time_bucket(INTERVAL 10 SECOND, ts)"
_CLOSED = "FROM auction a JOIN bid b ON b.auction = a.id AND b.ts BETWEEN a.ts AND a.expires"
_RANKS = ", ".join(
    f"{count} FILTER (WHERE price {which}) AS {name}_{kind}"
    for name, count in (("bids", "COUNT(*)"), ("bidders", "COUNT(DISTINCT bidder)"), ("auctions", "COUNT(DISTINCT auction)"))
    for kind, which in (("cheap", "< 200"), ("dear", ">= 200 AND price < 800"), ("dearest", ">= 800"))
)  # fmt: skip
_DAY = ("DATE_FORMAT(ts, 'yyyy-MM-dd')", "strftime(ts, '%Y-%m-%d')")


def _by_day(text: str) -> tuple[str, str]:
    """A text with a day, as Spark and as DuckDB writes it."""
    return text.format(day=_DAY[0]), text.format(day=_DAY[1])


_HOT = "SELECT auction, window_start AS start, COUNT(*) AS n FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start"
_HOT_DUCKDB = "SELECT auction, ts - step * INTERVAL 2 SECOND AS start, COUNT(*) AS n FROM (SELECT auction, time_bucket(INTERVAL 2 SECOND, ts) AS ts FROM bid), range(5) AS s(step) GROUP BY ALL"
_HOTTEST = "WITH hot AS ({}), most AS (SELECT start, MAX(n) AS n FROM hot GROUP BY start) SELECT hot.auction, hot.start, hot.n FROM hot JOIN most ON hot.start = most.start AND hot.n >= most.n"
AUCTIONS = Suite(
    "spark",
    {
        "person": (10, "id int, name text, state text, ts time"),
        "auction": (30, "id int, item text, seller int, category int, ts time, expires time"),
        "bid": (90, "auction int, bidder int, price int, channel text, url text, ts time, extra text"),
        "side": (4, "key int, value text"),
    },
    {
        "all_bids": "SELECT auction, bidder, price, ts, extra FROM bid",
        "in_another_currency": "SELECT auction, bidder, 0.908 * price AS price, ts FROM bid",
        "of_some_auctions": "SELECT auction, price FROM bid WHERE MOD(auction, 3) = 0",
        "sellers_near": "SELECT p.name, p.state, a.id FROM auction AS a INNER JOIN person AS p ON a.seller = p.id WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID')",
        "price_of_a_category": f"SELECT category, AVG(price) AS price FROM (SELECT MAX(b.price) AS price, a.category {_CLOSED} GROUP BY a.id, a.category) q GROUP BY category",
        "hot_items": (_HOTTEST.format(_HOT), _HOTTEST.format(_HOT_DUCKDB)),
        "last_prices_of_a_seller": f"SELECT seller, id, AVG(price) OVER (PARTITION BY seller ORDER BY ts, id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS price FROM (SELECT a.seller, a.id, b.price, b.ts {_CLOSED} QUALIFY ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.ts, b.bidder) = 1) q",
        "highest_of_a_span": (
            f"SELECT b.auction, b.price, b.bidder, b.ts FROM bid b JOIN (SELECT MAX(price) AS price, window_end AS until FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), {_SPAN})) GROUP BY window_start, window_end) m ON b.price = m.price WHERE b.ts BETWEEN m.until - {_SPAN} AND m.until",
            f"SELECT b.auction, b.price, b.bidder, b.ts FROM bid b JOIN (SELECT MAX(price) AS price, {_STARTS} + INTERVAL 10 SECOND AS until FROM bid GROUP BY ALL) m ON b.price = m.price WHERE b.ts BETWEEN m.until - INTERVAL 10 SECOND AND m.until",
        ),
        "who_sold_at_once": (
            f"SELECT p.id, p.name, p.window_start FROM (SELECT DISTINCT id, name, window_start FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(ts), {_SPAN}))) p JOIN (SELECT DISTINCT seller, window_start FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(ts), {_SPAN}))) a ON p.id = a.seller AND p.window_start = a.window_start",
            f"SELECT p.id, p.name, p.start FROM (SELECT DISTINCT id, name, {_STARTS} AS start FROM person) p JOIN (SELECT DISTINCT seller, {_STARTS} AS start FROM auction) a ON p.id = a.seller AND p.start = a.start",
        ),
        "winners": f"SELECT * FROM (SELECT a.id, a.item, b.bidder, b.price, b.ts, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.ts, b.bidder) AS place {_CLOSED}) q WHERE place <= 1",
        "by_minute": ("SELECT auction, price, DATE_FORMAT(ts, 'yyyy-MM-dd') AS day, DATE_FORMAT(ts, 'HH:mm') AS minute FROM bid", "SELECT auction, price, strftime(ts, '%Y-%m-%d') AS day, strftime(ts, '%H:%M') AS minute FROM bid"),
        "sessions": "SELECT bidder, COUNT(*) AS bids, MIN(ts) AS first, MAX(ts) AS last FROM (SELECT bidder, ts, SUM(CASE WHEN ts <= before + INTERVAL '10' SECOND THEN 0 ELSE 1 END) OVER (PARTITION BY bidder ORDER BY ts) AS session FROM (SELECT bidder, ts, LAG(ts) OVER (PARTITION BY bidder ORDER BY ts) AS before FROM bid) q) q GROUP BY bidder, session",
        "bids_of_a_span": (
            f"SELECT bidder, COUNT(*) AS bids, window_start, window_end FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), {_SPAN})) GROUP BY bidder, window_start, window_end",
            f"SELECT bidder, COUNT(*) AS bids, {_STARTS} AS s, {_STARTS} + INTERVAL 10 SECOND AS e FROM bid GROUP BY ALL",
        ),
        "with_a_side": "SELECT b.auction, b.price, s.value FROM bid b JOIN side s ON MOD(b.auction, 10) = s.key",
        "times_of_day": "SELECT auction, 0.908 * price AS price, CASE WHEN HOUR(ts) >= 8 AND HOUR(ts) <= 18 THEN 'day' WHEN HOUR(ts) <= 6 OR HOUR(ts) >= 20 THEN 'night' ELSE 'other' END AS part, LENGTH(extra) - LENGTH(REPLACE(extra, 'c', '')) AS c FROM bid WHERE 0.908 * price > 100 AND 0.908 * price < 900",
        "ranks_of_a_day": _by_day(f"SELECT {{day}} AS day, COUNT(*) AS bids, COUNT(DISTINCT bidder) AS bidders, COUNT(DISTINCT auction) AS auctions, {_RANKS} FROM bid GROUP BY 1"),
        "ranks_of_a_channel": _by_day(f"SELECT channel, {{day}} AS day, COUNT(*) AS bids, COUNT(DISTINCT bidder) AS bidders, {_RANKS} FROM bid GROUP BY channel, 2"),
        "prices_of_a_day": _by_day("SELECT auction, {day} AS day, COUNT(*) AS bids, MIN(price) AS lo, MAX(price) AS hi, AVG(price) AS mean, SUM(price) AS total FROM bid GROUP BY auction, 2"),
        "last_bid": "SELECT auction, bidder, price, ts FROM bid QUALIFY ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY ts DESC, price, channel, url, extra) <= 1",
        "dearest_of_an_auction": "SELECT * FROM (SELECT auction, price, ts, RANK() OVER (PARTITION BY auction ORDER BY price DESC) AS place FROM bid) q WHERE place <= 3",
        "bids_of_a_category": "SELECT b.auction, b.bidder, b.price, a.item, a.expires FROM bid AS b INNER JOIN auction AS a ON b.auction = a.id WHERE a.category = 10",
        "channels": (
            "SELECT auction, CASE WHEN LOWER(channel) = 'apple' THEN '0' ELSE REGEXP_EXTRACT(url, '(&|^)channel=([^&]*)', 2) END AS channel FROM bid WHERE url RLIKE 'channel=' OR LOWER(channel) IN ('apple')",
            "SELECT auction, CASE WHEN LOWER(channel) = 'apple' THEN '0' ELSE REGEXP_EXTRACT(url, '(&|^)channel=([^&]*)', 2) END AS channel FROM bid WHERE url LIKE '%channel=%' OR LOWER(channel) IN ('apple')",
        ),
        "folders": ("SELECT auction, SPLIT_PART(url, '/', 1) AS a, SPLIT_PART(url, '/', 2) AS b, SPLIT_PART(url, '/', 3) AS c FROM bid", "SELECT auction, SPLIT_PART(url, '/', 1), SPLIT_PART(url, '/', 2), SPLIT_PART(url, '/', 3) FROM bid"),
        "buyers_that_sell": "SELECT b.price, p.name, a.item FROM bid b JOIN person p ON p.id = b.bidder JOIN auction a ON a.seller = b.bidder",
    },
    {
        "state": ("OR", "ID", "CA"), "category": (10, 11), "channel": ("Apple", "web"), "url": ("a/b/c", "a/b", "x=1&channel=7&y", "channel=8"), "extra": ("cc", "abc", ""),
        "price": (100, 150, 200, 500, 800, 900), "auction": tuple(range(1, 15)), "bidder": tuple(range(1, 8)), "seller": tuple(range(1, 11)),
    },
)  # fmt: skip

# Groups and joins of one wide table.

_WIDE = "id1 int?, id2 int?, id3 int?, id4 text?, id5 text?, id6 text?"
GROUPS = Suite(
    "duckdb",
    {"g": (60, "id1 text?, id2 text?, id3 text?, id4 int?, id5 int?, id6 int?, v1 int?, v2 int?, v3 double?"), "x": (40, f"{_WIDE}, v1 double?"),
     "small": (4, "id1 int?, id4 text?, v2 double?"), "medium": (8, "id1 int?, id2 int?, id4 text?, id5 text?, v2 double?"), "big": (20, f"{_WIDE}, v2 double?")},
    {
        "sum_by_one": "SELECT id1, SUM(v1) AS v1 FROM g GROUP BY id1",
        "sum_by_two": "SELECT id1, id2, SUM(v1) AS v1 FROM g GROUP BY ALL",
        "sum_and_mean": "SELECT id3, SUM(v1) AS v1, AVG(v3) AS v3 FROM g GROUP BY id3",
        "means": "SELECT id4, AVG(v1) AS v1, AVG(v2) AS v2, AVG(v3) AS v3 FROM g GROUP BY id4",
        "sums": "SELECT id6, SUM(v1) AS v1, SUM(v2) AS v2, SUM(v3) AS v3 FROM g GROUP BY id6",
        "median_and_deviation": "SELECT id4, id5, QUANTILE_CONT(v3, 0.5) AS median_v3, STDDEV(v3) AS sd_v3 FROM g GROUP BY id4, id5",
        "span": "SELECT id3, MAX(v1) - MIN(v2) AS span FROM g GROUP BY id3",
        "two_largest": "SELECT id6, v3 FROM (SELECT id6, v3, ROW_NUMBER() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS place FROM g WHERE v3 IS NOT NULL) WHERE place <= 2",
        "regression": "SELECT id2, id4, POW(CORR(v1, v2), 2) AS r2 FROM g GROUP BY id2, id4",
        "by_all": "SELECT id1, id2, id3, id4, id5, id6, SUM(v3) AS v3, COUNT(*) AS n FROM g GROUP BY id1, id2, id3, id4, id5, id6",
        "joined_small": "SELECT x.*, small.id4 AS small_id4, v2 FROM x JOIN small USING (id1)",
        "joined_medium": "SELECT x.*, medium.id1 AS medium_id1, medium.id5 AS medium_id5, v2 FROM x JOIN medium USING (id2)",
        "joined_if_there": "SELECT x.*, medium.id1 AS medium_id1, medium.id5 AS medium_id5, v2 FROM x LEFT JOIN medium USING (id2)",
        "joined_by_text": "SELECT x.*, medium.id1 AS medium_id1, medium.id2 AS medium_id2, v2 FROM x JOIN medium USING (id5)",
        "joined_big": "SELECT x.*, big.id1 AS big_id1, big.id6 AS big_id6, v2 FROM x JOIN big USING (id3)",
    },
    {"v1": (1, 2, 3, 5), "v2": (1, 2, 4, 8), "v3": (0.5, 1.25, 3.0, 7.5), **{f"id{i}": (1, 2, 3) for i in range(1, 7)}},
)  # fmt: skip

# A shop's models, each over those before it.

SHOP = Suite(
    "duckdb",
    {"raw_customers": (6, "id text, name text?"), "raw_orders": (30, "id text, customer text, store text, ordered time, subtotal int, tax int"), "raw_items": (60, "id text, order_id text, sku text"),
     "raw_products": (5, "sku text, name text, type text?, price int"), "raw_supplies": (8, "id text, sku text, cost int, perishable bool"), "raw_stores": (3, "id text, name text, opened time, rate double")},
    {
        "customers_read": "SELECT id AS customer_id, name AS customer_name FROM raw_customers",
        "stores_read": "SELECT id AS store_id, name AS store_name, rate, DATE_TRUNC('day', opened) AS opened FROM raw_stores",
        "orders_read": "SELECT id AS order_id, customer AS customer_id, subtotal AS cents, (subtotal / 100)::DECIMAL(16, 2) AS subtotal, CAST(tax / 100 AS DECIMAL(16, 2)) AS tax, DATE_TRUNC('day', ordered) AS ordered_at FROM raw_orders",
        "items_read": "SELECT id AS item_id, order_id, sku AS product_id FROM raw_items",
        "products_read": "SELECT sku AS product_id, name AS product_name, (price / 100)::DECIMAL(16, 2) AS price, COALESCE(type = 'jaffle', FALSE) AS is_food, COALESCE(type = 'beverage', FALSE) AS is_drink FROM raw_products",
        "supplies_read": "SELECT MD5(CAST(COALESCE(CAST(id AS VARCHAR), '_null_') || '-' || COALESCE(CAST(sku AS VARCHAR), '_null_') AS VARCHAR)) AS supply, sku AS product_id, (cost / 100)::DECIMAL(16, 2) AS cost FROM raw_supplies",
        "items": "WITH costs AS (SELECT product_id, SUM(cost) AS cost FROM supplies_read GROUP BY 1), joined AS (SELECT i.*, o.ordered_at, p.product_name, p.price, p.is_food, p.is_drink, costs.cost FROM items_read i LEFT JOIN orders_read o ON i.order_id = o.order_id LEFT JOIN products_read p ON i.product_id = p.product_id LEFT JOIN costs ON i.product_id = costs.product_id) SELECT * FROM joined",
        "orders": "WITH sums AS (SELECT order_id, SUM(cost) AS cost, SUM(price) AS items_total, COUNT(item_id) AS items, SUM(CASE WHEN is_food THEN 1 ELSE 0 END) AS food, SUM(CASE WHEN is_drink THEN 1 ELSE 0 END) AS drinks FROM items GROUP BY 1), flags AS (SELECT o.*, sums.cost, sums.items_total, sums.items, sums.food > 0 AS is_food, sums.drinks > 0 AS is_drink FROM orders_read o LEFT JOIN sums ON o.order_id = sums.order_id) SELECT *, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered_at, order_id) AS number FROM flags",
        "customers": "WITH sums AS (SELECT orders.customer_id, COUNT(DISTINCT orders.order_id) AS orders, COUNT(DISTINCT orders.order_id) > 1 AS is_repeat, MIN(orders.ordered_at) AS first_at, MAX(orders.ordered_at) AS last_at, SUM(orders.subtotal) AS spent FROM orders GROUP BY 1) SELECT customers_read.*, sums.orders, sums.first_at, sums.last_at, sums.spent, CASE WHEN sums.is_repeat THEN 'returning' ELSE 'new' END AS kind FROM customers_read LEFT JOIN sums ON customers_read.customer_id = sums.customer_id",
    },
    {
        "type": ("jaffle", "beverage"), "subtotal": (500, 725, 1999), "tax": (25, 31), "price": (450, 1100), "cost": (10, 35),
        "customer": tuple("123456"), "store": tuple("123"), "order_id": tuple(map(str, range(1, 31))), "sku": tuple("12345"),
    },
    reads_views=True,
)  # fmt: skip

SUITES: dict[str, Suite] = {"star": STAR, "auctions": AUCTIONS, "groups": GROUPS, "shop": SHOP}

_BEGIN = datetime.datetime(2024, 2, 28, 23, 59, 30)


def batches(suite: Suite, seed: int) -> list[Batch]:
    """Most rows; then the others, and some go or change; at last all go."""
    rnd = random.Random(seed)
    live: Batch = []
    made: list[Batch] = [[], []]
    for relation in suite.relations:
        rows = [_make_row(suite, relation, n, rnd) for n in range(1, suite.tables[relation.name][0] + 1)]
        for row in rows:
            made[rnd.choice((0, 0, 1))].append((1, relation.name, row))
        for row in rows[:: max(1, len(rows) // 6)]:
            other = _make_row(suite, relation, rows.index(row) + 1, rnd)
            made[1] += [(-1, relation.name, row), (1, relation.name, other)]
            rows[rows.index(row)] = other
        live += [(-1, relation.name, row) for row in rows]
    return [*made, live]


def _make_row(suite: Suite, relation: Relation, number: int, rnd: random.Random) -> Row:
    """The first column of a table is its number, unless it has values of its own."""
    return tuple(
        _make_value(suite, column, number if i == 0 else None, rnd) for i, column in enumerate(relation.columns)
    )


def _make_value(suite: Suite, column: Column, number: int | None, rnd: random.Random) -> Any:
    if column.type.nullable and rnd.random() < 0.08:
        return None
    chosen = suite.values.get(column.name)
    if chosen is None and number is not None:
        chosen = (number,)
    match column.type.kind:
        case "string":
            return str(rnd.choice(chosen or ("a", "b")))
        case "decimal":
            return Decimal(rnd.choice(chosen or (100, 250, 999, 12345))).scaleb(-2)
        case "double":
            return float(rnd.choice(chosen or (0.5, 1.25, 3.0)))
        case "timestamp":
            return _BEGIN + datetime.timedelta(seconds=rnd.randrange(60) + 60 * 60 * rnd.choice((0, 0, 0, 11)))
        case "bool":
            return rnd.random() < 0.5
        case _:
            return rnd.choice(chosen or range(1, 9))
