"""TPC-DS in the small: its relations, its 99 queries, and rows planted so that a query's conditions hold for some."""

from __future__ import annotations

import datetime
import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_tpcds
import sqlglot
from sqlglot import exp

from m3.datatypes import Type
from m3.program import Column, Relation
from tests.support.planting import Batch, Row, batches, constants_of, finds, fit
from tests.unit.m3.oracle import recompute

DIMENSION, FACTS = 8, 120  # rows of a table with a key, and of one without
ATTEMPTS = 20  # at rows of which the query finds some, also after some have changed
FACT_TABLES = {
    "catalog_returns",
    "catalog_sales",
    "inventory",
    "store_returns",
    "store_sales",
    "web_returns",
    "web_sales",
}
#: Keys of rows that are there from the first batch on.
LIVE = (8, 7, 6, 5, 4, 3)
DAYS = ("Sunday", "Sunday", "Monday", "Monday", "Friday", "Friday", "Sunday", "Sunday")
#: A customer's sale, and its return, of one ticket and item.
RETURNED = {f"{table}_{part}": LIVE for table in ("ss", "sr") for part in ("item_sk", "customer_sk", "ticket_number")}
#: What customers paid, and only that differs from the first year to the second.
CHANNEL_YEARS: dict[str, Sequence[Any]] = {
    "c_customer_id": tuple(f"c{number}" for number in range(DIMENSION)),
    "d_year": (2001, 2002),
    **{f"{channel}_ext_list_price": (Decimal(99),) for channel in ("ss", "cs", "ws")},
    **{f"{channel}_ext_wholesale_cost": (Decimal(1),) for channel in ("ss", "cs", "ws")},
}
#: The values of columns, in turn by a row's number, for queries that find nothing among random ones: weeks, months and years
#: that are followed by their like; customers of three channels in two years; more than ten customers of one place; sums of
#: three channels that differ by less than a tenth, in a week that has its day once; a sale that came back, of an item of the
#: catalogue; orders that did not come back; two people alike; orders of few lines; tickets of many lines; stocks that vary.
PLANTED: dict[str, dict[str, Sequence[Any]]] = {
    "q02": {"d_week_seq": (1, 54), "d_year": (2001, 2002), "d_day_name": DAYS},
    "q04": CHANNEL_YEARS,
    "q06": {
        "d_year": (2001,),
        "d_moy": (1,),
        "d_month_seq": (1,),
        "i_category": ("a",),
        "i_current_price": (Decimal(1), Decimal(10)),
        "ca_state": ("a", "bb"),
    },
    "q08": {
        "d_qoy": (2,),
        "d_year": (1998,),
        "c_preferred_cust_flag": ("Y",),
        "ca_zip": ("35576", "35458"),
        "s_zip": ("35576",),
    },
    "q11": CHANNEL_YEARS,
    "q13": {
        "cd_marital_status": ("M",),
        "cd_education_status": ("Advanced Degree",),
        "ca_country": ("United States",),
        "ca_state": ("TX", "OH"),
        "ss_sales_price": (Decimal(120),),
        "ss_net_profit": (Decimal(150),),
        "hd_dep_count": (3,),
    },
    "q16": {"cs_order_number": tuple(range(1, 30))},
    "q25": {"d_year": (2001,), "d_moy": (4,), **RETURNED, "cs_item_sk": LIVE, "cs_bill_customer_sk": LIVE},
    "q29": {"d_year": (1999,), "d_moy": (9,), **RETURNED, "cs_item_sk": LIVE, "cs_bill_customer_sk": LIVE},
    "q31": {"d_year": (2000,), "d_qoy": (1, 2, 3)},
    "q34": {
        "d_year": (1999,),
        "d_dom": (1,),
        "s_county": ("Williamson County",),
        "hd_buy_potential": ("Unknown",),
        "hd_vehicle_count": (1,),
        "hd_dep_count": (3,),
        "ss_ticket_number": LIVE,
        **{f"ss_{to}_sk": LIVE for to in ("customer", "sold_date", "store", "hdemo")},
    },
    "q39": {
        "d_year": (2001,),
        "d_moy": (1, 2),
        "inv_item_sk": (8, 7),
        "inv_warehouse_sk": (8, 7),
        "inv_quantity_on_hand": (1, 1, 1, 1000, 1),
    },
    "q41": {
        "i_manufact_id": (740,),
        "i_manufact": ("a", "bb"),
        "i_category": ("Women",),
        "i_color": ("powder", "a"),
        "i_units": ("Ounce",),
        "i_size": ("medium",),
    },
    "q48": {
        "cd_marital_status": ("M",),
        "cd_education_status": ("4 yr Degree",),
        "ca_country": ("United States",),
        "ca_state": ("TX", "OH"),
        "ss_sales_price": (Decimal(120),),
        "ss_net_profit": (Decimal(150),),
    },
    "q50": {"d_year": (2001,), "d_moy": (8,), **RETURNED},
    "q58": {
        "d_date": tuple(datetime.date(2000, 1, 3 + day) for day in range(DIMENSION)),
        "d_week_seq": (1,),
        "i_item_id": ("a",),
        **{f"{channel}_ext_sales_price": (Decimal(10),) for channel in ("ss", "cs", "ws")},
        **{f"{channel}_{to}_sk": (DIMENSION,) for channel in ("ss", "cs", "ws") for to in ("item", "sold_date")},
    },
    "q59": {
        "d_week_seq": (1, 53),
        "d_month_seq": (1212, 1224),
        "d_day_name": DAYS,
        "s_store_id": tuple(f"s{number}" for number in range(DIMENSION)),
    },
    "q64": {
        "i_color": ("purple",),
        "i_current_price": (Decimal(70),),
        "d_year": (1999, 2000),
        "s_store_name": ("a",),
        "s_zip": ("1",),
        "cs_ext_list_price": (Decimal(99),),
        **{f"cr_{paid}": (Decimal(1),) for paid in ("refunded_cash", "reversed_charge", "store_credit")},
        **{
            f"ss_{to}_sk": (DIMENSION, DIMENSION - 1) for to in ("store", "customer", "cdemo", "hdemo", "addr", "promo")
        },
        **{f"c_current_{to}_sk": (DIMENSION - 1, DIMENSION) for to in ("cdemo", "hdemo", "addr")},
        **{f"c_first_{to}_date_sk": (DIMENSION, DIMENSION - 1) for to in ("sales", "shipto")},
        **{f"{table}_item_sk": (DIMENSION,) for table in ("ss", "sr", "cs", "cr")},
        "hd_income_band_sk": (DIMENSION,),
        "cd_marital_status": ("a", "bb", "Ccc"),
    },
    "q69": {"d_year": (2001,), "d_moy": (4,), "ws_bill_customer_sk": (8, 7), "cs_ship_customer_sk": (6,)},
    "q78": {
        "d_year": (2000,),
        **{f"{table}_item_sk": (1, 2) for table in ("ss", "cs", "ws")},
        **{f"{table}_customer_sk": (1, 2) for table in ("ss", "cs_bill", "ws_bill")},
        **{column: tuple(range(1, 60)) for column in ("ss_ticket_number", "cs_order_number", "ws_order_number")},
    },
    "q85": {
        "cd_marital_status": ("M",),
        "cd_education_status": ("Advanced Degree",),
        "ca_country": ("United States",),
        "ws_sales_price": (Decimal(120),),
        "ws_net_profit": (Decimal(150),),
    },
    "q94": {"ws_order_number": tuple(range(1, 12))},
}
MANY = {"q08": {"customer": 60}}  # rows of tables that need more than others
KINDS = {"INTEGER": "int", "BIGINT": "int", "VARCHAR": "string", "DATE": "date"}


@cache
def _catalogue() -> duckdb.DuckDBPyConnection:
    """A database with the empty tables of TPC-DS and the texts of its queries."""
    connection = duckdb.connect(config={"threads": 1, "allow_unsigned_extensions": True})
    extension = next(Path(duckdb_extension_tpcds.__file__).parent.rglob("*.duckdb_extension"))
    connection.execute(f"LOAD '{extension}'")
    connection.execute("CALL dsdgen(sf = 0)")
    return connection


@cache
def queries() -> dict[str, str]:
    """The 99 queries of TPC-DS by name."""
    texts = _catalogue().execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY query_nr").fetchall()
    return {f"q{number:02}": text.strip().rstrip(";") for number, text in texts}


@cache
def relations() -> tuple[Relation, ...]:
    """The 24 tables of TPC-DS; a dimension's key is its first column."""
    columns: dict[str, list[Column]] = defaultdict(list)
    for table, name, declared in (
        _catalogue()
        .execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY table_name, ordinal_position"
        )
        .fetchall()
    ):
        is_key = table not in FACT_TABLES and not columns[table]
        columns[table].append(Column(name, _type(declared).with_null(not is_key)))
    return tuple(
        Relation(table, tuple(its), () if table in FACT_TABLES else (its[0].name,)) for table, its in columns.items()
    )


def _type(declared: str) -> Type:
    if numbers := re.findall(r"\d+", declared):
        return Type("decimal", *map(int, numbers))
    return Type(KINDS[declared])


def relations_of(query: str) -> tuple[Relation, ...]:
    """The relations that a query reads."""
    names = {table.name.lower() for table in sqlglot.parse_one(query, read="duckdb").find_all(exp.Table)}
    return tuple(relation for relation in relations() if relation.name in names)


def plant(query: str, seed: int) -> dict[str, list[Row]]:
    """Random rows for the tables of a query.

    Keys are few, so joins find partners. The columns that the query compares with constants mostly have those or their
    neighbours; a column has the same name nowhere else in TPC-DS, so no scopes are looked at.
    """
    rnd, constants = random.Random(seed), constants_of([sqlglot.parse_one(query, read="duckdb")])
    mentioned = {c.name.lower() for c in sqlglot.parse_one(query, read="duckdb").find_all(exp.Column)}
    name = next((name for name, text in queries().items() if text == query), "")
    given, many = PLANTED.get(name, {}), MANY.get(name, {})
    planted: dict[str, list[Row]] = {}
    for relation in relations_of(query):
        count = many.get(relation.name, DIMENSION if relation.key else FACTS)
        planted[relation.name] = [
            tuple(
                number
                if column.name in relation.key
                else given[column.name][number % len(given[column.name])]
                if column.name in given
                else _value(column, constants.get(column.name, []), rnd)
                if column.name in mentioned
                else None
                for column in relation.columns
            )
            for number in range(1, count + 1)
        ]
    return planted


def _value(column: Column, constants: Sequence[Any], rnd: random.Random) -> Any:
    if rnd.random() < 0.04:
        return None
    fitting = [v for v in (fit(c, column.type) for c in constants) if v is not None]
    if fitting and rnd.random() < 0.9:
        return rnd.choice(fitting)
    if column.name.endswith("_sk"):
        return rnd.randint(1, DIMENSION)
    match column.type.kind:
        case "int":
            return rnd.randint(1, 4)
        case "string":
            return rnd.choice(["a", "bb", "Ccc"])
        case "date":
            return datetime.date(2000, 1, rnd.randint(1, 28))
        case _:
            return fit(rnd.choice(["1", "2.5", "9.99", "77", "-1.5"]), column.type)


def stream(query: str, seed: int) -> list[Batch]:
    """Batches for a query; it finds some of their rows in two states, or in as many as other rows let it."""
    made: list[tuple[int, list[Batch]]] = []
    for attempt in range(seed, seed + ATTEMPTS):
        its = batches(plant(query, attempt), relations_of(query), attempt)
        tables: dict[str, Counter[Row]] = defaultdict(Counter)
        found = 0
        for batch in its:
            for sign, relation, row in batch:
                tables[relation][row] += sign
            found += finds(duckdb_rows(query, tables))
            if found == 2:
                return its
        made.append((found, its))
    return max(made, key=lambda m: m[0])[1]


def duckdb_rows(query: str, tables: Mapping[str, Counter[Row]]) -> list[Row] | None:
    """All rows of a query, not only the first 100; none where a scalar subquery has several rows, which DuckDB refuses."""
    tree = sqlglot.parse_one(query, read="duckdb")
    tree.set("order", None)
    tree.set("limit", None)
    for rounded in tree.find_all(exp.Round):  # 69 / 120 is a bit less for DuckDB, and 0.57 when it is rounded, not 0.58
        rounded.set("this", exp.paren(rounded.this) * exp.Literal.number("1.000000000001"))
    try:
        return recompute(relations_of(query), dict(tables), tree.sql("duckdb"))
    except duckdb.InvalidInputException as problem:
        if "More than one row" not in str(problem):
            raise
        return None
