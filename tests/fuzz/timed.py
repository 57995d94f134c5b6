"""Random queries whose tables are filtered by time: rows of them come and go as now() goes on, under whatever the query is made of.

>>> from tests.fuzz.queries import Made
>>> timed(Made(0, "SELECT a FROM t t1 JOIN u u2 ON t1.a = u2.a", frozenset(), ("t", "u"), False)).sql
"SELECT a FROM (SELECT * FROM t WHERE d >= current_date - INTERVAL '30' DAY) t1 JOIN (SELECT * FROM u WHERE e = current_date - INTERVAL '30' DAY) u2 ON t1.a = u2.a"
"""

from __future__ import annotations

import datetime
import re
from dataclasses import replace
from random import Random

from tests.fuzz.queries import Made

__all__ = ["day_of", "timed"]

#: Table -> its column of days.
DAYS = {"t": "d", "u": "e"}
TABLES = re.compile(r"\b(FROM|JOIN) (t|u) (\w+)")
BOUNDS = ("current_date", "current_date - INTERVAL '30' DAY", "current_date - INTERVAL '1' DAY")
CONDITIONS = ("{0} > {1}", "{0} <= {1}", "{1} > {0}", "{0} >= {1}", "{0} = {1}", "NOT ({0} < {1})")
SHARE = 0.7


def timed(made: Made) -> Made:
    """The query with most of its tables filtered."""
    random = Random(made.seed)

    def filtered(found: re.Match[str]) -> str:
        word, table, alias = found.groups()
        condition = random.choice(CONDITIONS).format(DAYS[table], random.choice(BOUNDS))
        chosen = random.random() < SHARE
        return f"{word} (SELECT * FROM {table} WHERE {condition}) {alias}" if chosen else found[0]

    return replace(made, sql=TABLES.sub(filtered, made.sql))


def day_of(batch: int) -> datetime.datetime:
    """What now() is after a batch: the days that rows have are passed one after the other."""
    return datetime.datetime(2023, 12, 31, 7) + batch * datetime.timedelta(days=9)
