"""Runs in Pathway's own environment: ``pathway_script.py SPEC ANSWER``; the queries by its table API.

Only columns that the query needs are parsed, amounts as floating point numbers and dates as text.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pathway as pw  # type: ignore[import-not-found]

Tables = Callable[..., Any]
total = pw.reducers.sum


def reader(folder: str) -> Tables:
    """``tables("orders", o_orderkey=int)``: a relation with these columns."""

    def read(relation: str, **columns: type) -> Any:
        schema = pw.schema_from_types(**columns)
        return pw.io.csv.read(f"{folder}/{relation}.csv", schema=schema, mode="static")

    return read


def discounted(t: Any) -> Any:
    """The price of a lineitem after its discount."""
    return t.l_extendedprice * (1 - t.l_discount)


def q1(tables: Tables) -> Any:
    """Pricing summary report."""
    line = tables(
        "lineitem", l_returnflag=str, l_linestatus=str, l_quantity=float, l_extendedprice=float, l_discount=float,
        l_tax=float, l_shipdate=str,
    )  # fmt: skip
    t = line.filter(line.l_shipdate <= "1998-09-02")
    return t.groupby(t.l_returnflag, t.l_linestatus).reduce(
        t.l_returnflag,
        t.l_linestatus,
        sum_qty=total(t.l_quantity),
        sum_base_price=total(t.l_extendedprice),
        sum_disc_price=total(discounted(t)),
        sum_charge=total(discounted(t) * (1 + t.l_tax)),
        avg_qty=pw.reducers.avg(t.l_quantity),
        avg_price=pw.reducers.avg(t.l_extendedprice),
        avg_disc=pw.reducers.avg(t.l_discount),
        count_order=pw.reducers.count(),
    )


def q3(tables: Tables) -> Any:
    """Shipping priority."""
    c = tables("customer", c_custkey=int, c_mktsegment=str)
    o = tables("orders", o_orderkey=int, o_custkey=int, o_orderdate=str, o_shippriority=int)
    t = tables("lineitem", l_orderkey=int, l_extendedprice=float, l_discount=float, l_shipdate=str)
    c, o, t = (
        c.filter(c.c_mktsegment == "BUILDING"),
        o.filter(o.o_orderdate < "1995-03-15"),
        t.filter(t.l_shipdate > "1995-03-15"),
    )
    co = o.join(c, o.o_custkey == c.c_custkey).select(o.o_orderkey, o.o_orderdate, o.o_shippriority)
    j = t.join(co, t.l_orderkey == co.o_orderkey).select(
        t.l_orderkey, co.o_orderdate, co.o_shippriority, volume=discounted(t)
    )
    return j.groupby(j.l_orderkey, j.o_orderdate, j.o_shippriority).reduce(
        j.l_orderkey, revenue=total(j.volume), o_orderdate=j.o_orderdate, o_shippriority=j.o_shippriority
    )


def q4(tables: Tables) -> Any:
    """Order priority checking."""
    o = tables("orders", o_orderkey=int, o_orderdate=str, o_orderpriority=str)
    t = tables("lineitem", l_orderkey=int, l_commitdate=str, l_receiptdate=str)
    o = o.filter((o.o_orderdate >= "1993-07-01") & (o.o_orderdate < "1993-10-01"))
    t = t.filter(t.l_commitdate < t.l_receiptdate)
    late = t.groupby(t.l_orderkey).reduce(t.l_orderkey)
    j = o.join(late, o.o_orderkey == late.l_orderkey).select(o.o_orderpriority)
    return j.groupby(j.o_orderpriority).reduce(j.o_orderpriority, order_count=pw.reducers.count())


def q5(tables: Tables) -> Any:
    """Local supplier volume."""
    r = tables("region", r_regionkey=int, r_name=str)
    n = tables("nation", n_nationkey=int, n_name=str, n_regionkey=int)
    s = tables("supplier", s_suppkey=int, s_nationkey=int)
    c = tables("customer", c_custkey=int, c_nationkey=int)
    o = tables("orders", o_orderkey=int, o_custkey=int, o_orderdate=str)
    t = tables("lineitem", l_orderkey=int, l_suppkey=int, l_extendedprice=float, l_discount=float)
    r = r.filter(r.r_name == "ASIA")
    o = o.filter((o.o_orderdate >= "1994-01-01") & (o.o_orderdate < "1995-01-01"))
    n = n.join(r, n.n_regionkey == r.r_regionkey).select(n.n_nationkey, n.n_name)
    s = s.join(n, s.s_nationkey == n.n_nationkey).select(s.s_suppkey, s.s_nationkey, n.n_name)
    o = o.join(c, o.o_custkey == c.c_custkey).select(o.o_orderkey, c.c_nationkey)
    j = t.join(o, t.l_orderkey == o.o_orderkey).select(t.l_suppkey, o.c_nationkey, volume=discounted(t))
    j = j.join(s, j.l_suppkey == s.s_suppkey, j.c_nationkey == s.s_nationkey).select(s.n_name, j.volume)
    return j.groupby(j.n_name).reduce(j.n_name, revenue=total(j.volume))


def q6(tables: Tables) -> Any:
    """Forecasting revenue change."""
    t = tables("lineitem", l_quantity=float, l_extendedprice=float, l_discount=float, l_shipdate=str)
    t = t.filter(
        (t.l_shipdate >= "1994-01-01")
        & (t.l_shipdate < "1995-01-01")
        & (t.l_discount >= 0.0499)
        & (t.l_discount <= 0.0701)
        & (t.l_quantity < 24)
    )
    return t.reduce(revenue=total(t.l_extendedprice * t.l_discount))


def q10(tables: Tables) -> Any:
    """Returned item reporting."""
    n = tables("nation", n_nationkey=int, n_name=str)
    c = tables(
        "customer", c_custkey=int, c_name=str, c_acctbal=float, c_address=str, c_phone=str, c_comment=str, c_nationkey=int
    )  # fmt: skip
    o = tables("orders", o_orderkey=int, o_custkey=int, o_orderdate=str)
    t = tables("lineitem", l_orderkey=int, l_extendedprice=float, l_discount=float, l_returnflag=str)
    o = o.filter((o.o_orderdate >= "1993-10-01") & (o.o_orderdate < "1994-01-01"))
    t = t.filter(t.l_returnflag == "R")
    j = t.join(o, t.l_orderkey == o.o_orderkey).select(o.o_custkey, volume=discounted(t))
    j = j.groupby(j.o_custkey).reduce(j.o_custkey, revenue=total(j.volume))
    c = c.join(n, c.c_nationkey == n.n_nationkey).select(
        c.c_custkey, c.c_name, c.c_acctbal, n.n_name, c.c_address, c.c_phone, c.c_comment
    )
    return j.join(c, j.o_custkey == c.c_custkey).select(
        c.c_custkey, c.c_name, j.revenue, c.c_acctbal, c.n_name, c.c_address, c.c_phone, c.c_comment
    )


def q12(tables: Tables) -> Any:
    """Shipping modes and order priority."""
    o = tables("orders", o_orderkey=int, o_orderpriority=str)
    t = tables("lineitem", l_orderkey=int, l_shipmode=str, l_shipdate=str, l_commitdate=str, l_receiptdate=str)
    t = t.filter(
        ((t.l_shipmode == "MAIL") | (t.l_shipmode == "SHIP"))
        & (t.l_commitdate < t.l_receiptdate)
        & (t.l_shipdate < t.l_commitdate)
        & (t.l_receiptdate >= "1994-01-01")
        & (t.l_receiptdate < "1995-01-01")
    )
    urgent = (o.o_orderpriority == "1-URGENT") | (o.o_orderpriority == "2-HIGH")
    j = t.join(o, t.l_orderkey == o.o_orderkey).select(t.l_shipmode, high=pw.if_else(urgent, 1, 0))
    return j.groupby(j.l_shipmode).reduce(j.l_shipmode, high_line_count=total(j.high), low_line_count=total(1 - j.high))


def q14(tables: Tables) -> Any:
    """Promotion effect."""
    p = tables("part", p_partkey=int, p_type=str)
    t = tables("lineitem", l_partkey=int, l_extendedprice=float, l_discount=float, l_shipdate=str)
    t = t.filter((t.l_shipdate >= "1995-09-01") & (t.l_shipdate < "1995-10-01"))
    j = t.join(p, t.l_partkey == p.p_partkey).select(volume=discounted(t), promo=p.p_type.str.startswith("PROMO"))
    return j.reduce(promo_revenue=100.0 * total(pw.if_else(j.promo, j.volume, 0.0)) / total(j.volume))


def q18(tables: Tables) -> Any:
    """Large volume customer."""
    c = tables("customer", c_custkey=int, c_name=str)
    o = tables("orders", o_orderkey=int, o_custkey=int, o_orderdate=str, o_totalprice=float)
    t = tables("lineitem", l_orderkey=int, l_quantity=float)
    sums = t.groupby(t.l_orderkey).reduce(t.l_orderkey, quantity=total(t.l_quantity))
    large = sums.filter(sums.quantity > 300)
    j = large.join(o, large.l_orderkey == o.o_orderkey).select(
        o.o_orderkey, o.o_custkey, o.o_orderdate, o.o_totalprice, large.quantity
    )
    return j.join(c, j.o_custkey == c.c_custkey).select(
        c.c_name, c.c_custkey, j.o_orderkey, j.o_orderdate, j.o_totalprice, j.quantity
    )


def q19(tables: Tables) -> Any:
    """Discounted revenue."""
    p = tables("part", p_partkey=int, p_brand=str, p_size=int, p_container=str)
    t = tables(
        "lineitem", l_partkey=int, l_quantity=float, l_extendedprice=float, l_discount=float, l_shipinstruct=str,
        l_shipmode=str,
    )  # fmt: skip
    by_air = (t.l_shipmode == "AIR") | (t.l_shipmode == "AIR REG")
    t = t.filter(by_air & (t.l_shipinstruct == "DELIVER IN PERSON"))
    j = t.join(p, t.l_partkey == p.p_partkey).select(
        t.l_quantity, p.p_brand, p.p_size, p.p_container, volume=discounted(t)
    )
    j = j.filter(
        _kind(j, "Brand#12", "SM", ("CASE", "BOX", "PACK", "PKG"), 1, 5)
        | _kind(j, "Brand#23", "MED", ("BAG", "BOX", "PKG", "PACK"), 10, 10)
        | _kind(j, "Brand#34", "LG", ("CASE", "BOX", "PACK", "PKG"), 20, 15)
    )
    return j.reduce(revenue=total(j.volume))


def _kind(j: Any, brand: str, prefix: str, containers: tuple[str, ...], quantity: int, size: int) -> Any:
    contained = j.p_container == f"{prefix} {containers[0]}"
    for container in containers[1:]:
        contained |= j.p_container == f"{prefix} {container}"
    amount = (j.l_quantity >= quantity) & (j.l_quantity <= quantity + 10)
    return (j.p_brand == brand) & contained & amount & (j.p_size >= 1) & (j.p_size <= size)


QUERIES = {f.__name__: f for f in (q1, q3, q4, q5, q6, q10, q12, q14, q18, q19)}


def final_rows(file: Path, types: dict[str, Any]) -> list[list[Any]]:
    """The rows that are left when all changes of an output file have been applied."""
    rows: Counter[tuple[Any, ...]] = Counter()
    with file.open(newline="") as lines:
        for record in csv.DictReader(lines):
            values = tuple(_value(record[name], type_) for name, type_ in types.items())
            rows[values] += int(record["diff"])
    return [list(row) for row, count in rows.items() for _ in range(count)]


def _value(text: str, type_: Any) -> Any:
    return text if type_ is str else int(text) if type_ is int else float(text)


def main(told: Path, answer: Path) -> None:
    """Run what ``told`` specifies."""
    spec = json.loads(told.read_text())
    if spec["query"] not in QUERIES:
        answer.write_text(json.dumps({"unsupported": "not attempted in Pathway's table API"}))
        return
    result = QUERIES[spec["query"]](reader(spec["tables"]))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.csv"
        pw.io.csv.write(result, str(output))
        begun = time.perf_counter()
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
        seconds = time.perf_counter() - begun
        types = dict(result.typehints())
        rows = final_rows(output, types)
    answer.write_text(json.dumps({"rows": rows, "seconds": seconds}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
