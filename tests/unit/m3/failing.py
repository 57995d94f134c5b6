"""Kinds of failing expressions as data: a query, the event that makes it fail, and the event that mends it.

Each is about rows that are right at first (:data:`INNOCENT`); one more row, :data:`DEFAULT` with a few values changed, makes
the view fail. It is mended by deleting that row, or by updating it to what it is by default.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from m3.datatypes import DATE, DOUBLE, INT, INT64_MAX, INT64_MIN, STRING, decimal
from m3.program import Column, Relation
from tests.support.random_streams import Batch, Event, Row

__all__ = ["BYSTANDER", "CASES", "INNOCENT", "RELATIONS", "Case"]

_R = {
    "id": INT, "g": INT, "a": INT.with_null(), "b": INT.with_null(), "w": decimal(38, 0).with_null(),
    "s": STRING.with_null(), "d": DATE.with_null(), "f": DOUBLE.with_null(),
}  # fmt: skip
RELATIONS = (
    Relation("r", tuple(Column(name, type_) for name, type_ in _R.items()), ("id",)),
    Relation("q", (Column("g", INT), Column("v", INT.with_null()))),
)
DAY = datetime.date(2024, 1, 31)
#: The row that is added, where it is innocent.
DEFAULT: Mapping[str, Mapping[str, Any]] = {
    "r": {"id": 9, "g": 1, "a": 6, "b": 2, "w": Decimal(7), "s": "12", "d": DAY, "f": 2.5},
    "q": {"g": 1, "v": 2},
}
INNOCENT: Batch = [
    (1, "r", (1, 1, 6, 2, Decimal(3), "12", DAY, 1.0)),
    (1, "r", (2, 1, 8, 4, Decimal(-5), "03", datetime.date(2024, 2, 29), 2.0)),
    (1, "r", (3, 2, 5, 5, Decimal(8), "05", datetime.date(2023, 12, 31), 0.5)),
    (1, "r", (4, 2, None, 3, None, None, None, None)),
    (1, "q", (1, 3)),
    (1, "q", (2, 1)),
    (1, "q", (2, None)),
]
#: A view that has nothing to do with any failure, beside each.
BYSTANDER = "SELECT r.g, COUNT(*) AS n, COUNT(q.v) AS m, MAX(id) AS i FROM r LEFT JOIN q ON r.g = q.g GROUP BY r.g"

LARGEST = 10**38 - 1


@dataclass(frozen=True)
class Case:
    """A query and the row that makes it fail.

    Attributes:
        sql: the query, in ``dialect``.
        changes: the failing row: what differs from the default.
        says: what the error says: the expression that fails ``..`` and the example; or what cannot be read.
        relation: of the failing row.
        also: columns that differ from the default in the failing and in the mended row.
        duckdb: the query for DuckDB, where it is another.
        lenient: DuckDB answers while the view is in error: NULL for ``x / 0``, a longer calendar, wider sums.
        dialect: of the query.
    """

    sql: str
    changes: Mapping[str, Any]
    says: str
    relation: str = "r"
    also: Mapping[str, Any] = field(default_factory=dict)
    duckdb: str = ""
    lenient: bool = False
    dialect: str | None = None

    @property
    def failing(self) -> Event:
        """The event after which the view is in error."""
        return 1, self.relation, self._row({**self.also, **self.changes})

    @property
    def deletion(self) -> Event:
        """The event that mends it."""
        return -1, self.relation, self.failing[2]

    @property
    def update(self) -> Batch:
        """The events that mend it in another way."""
        return [self.deletion, (1, self.relation, self._row(self.also))]

    def _row(self, changes: Mapping[str, Any]) -> Row:
        return tuple({**DEFAULT[self.relation], **changes}.values())


def _zero(sql: str, says: str, **other: Any) -> Case:
    """A case in which ``b`` is 0; DuckDB's x / 0 and x % 0 are NULL."""
    return Case(sql, {"b": 0}, says, lenient=True, **other)


CASES: Mapping[str, Case] = {
    # a series that is too long; a series of months that differ
    "series": Case(
        "SELECT id, n FROM r, generate_series(1, a) AS g(n)", {"a": 100_001}, "a series of 100,001 elements",
        dialect="postgres", lenient=True,
    ),
    "series_of_months": Case(
        "SELECT id, n FROM r, generate_series(d, DATE '2024-03-31', INTERVAL '1' MONTH) AS g(n) WHERE id > 5",
        {"d": datetime.date(2024, 1, 30)}, "a series without end", also={"d": datetime.date(2024, 1, 28)}, dialect="postgres", lenient=True,
    ),
    # where a divisor may be 0
    "select": _zero("SELECT id, a / b AS c FROM r", "a / b .. (id = 9, a = 6, b = 0)"),
    "select_mod": _zero("SELECT id, a % b AS c FROM r", "a % b .. (id = 9, a = 6, b = 0)"),
    "select_div": _zero("SELECT id, a DIV b AS c FROM r", "a DIV b .. (id = 9, a = 6, b = 0)", duckdb="SELECT id, a // b AS c FROM r"),
    "select_decimal": _zero("SELECT id, w / b AS c FROM r", "w / b .. (id = 9, b = 0, w = 7)"),
    "where": _zero("SELECT id FROM r WHERE a / b > 1", "a / b .. (id = 9, a = 6, b = 0)"),
    "where_or": _zero("SELECT id FROM r WHERE a / b > 1 OR id > 100", "a / b .. (id = 9, a = 6, b = 0)"),
    "on": _zero("SELECT r.id, q.v FROM r JOIN q ON r.a % r.b = q.v", "r.a % r.b .. (id = 9, a = 6, b = 0)"),
    "on_less": _zero("SELECT r.id, q.v FROM r JOIN q ON r.a % r.b < q.v", "r.a % r.b .. (a = 6, b = 0, v = NULL)"),
    "on_both_tables": Case("SELECT r.id, q.v FROM r JOIN q ON r.a / q.v > 1", {"v": 0}, "r.a / q.v .. (a = 5, v = 0)", relation="q", lenient=True),
    "group_by": _zero("SELECT a % b AS k, COUNT(*) AS n FROM r GROUP BY a % b", "a % b .. (id = 9, a = 6, b = 0)"),
    "rollup": _zero("SELECT g, a % b AS k, COUNT(*) AS n FROM r GROUP BY ROLLUP (g, a % b)", "a % b .. (id = 9, a = 6, b = 0)"),
    "having": _zero("SELECT g, SUM(a) AS n FROM r GROUP BY g HAVING SUM(a) / SUM(b) > 1", "the condition on rows", also={"g": 5}),
    "quotient_of_sums": _zero("SELECT g, SUM(a) / SUM(b) AS n FROM r GROUP BY g", "column n", also={"g": 5}),
    "sum": _zero("SELECT g, SUM(a % b) AS n FROM r GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "average": _zero("SELECT g, AVG(a / b) AS n FROM r GROUP BY g", "a / b .. (id = 9, a = 6, b = 0)"),
    "maximum": _zero("SELECT g, MAX(a * 1.0 / b) AS n FROM r GROUP BY g", "a * 1.0 / b .. (id = 9, a = 6, b = 0)"),
    "count_distinct": _zero("SELECT g, COUNT(DISTINCT a % b) AS n FROM r GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "every": _zero("SELECT g, BOOL_AND(a / b > 1) AS n FROM r GROUP BY g", "a / b .. (id = 9, a = 6, b = 0)"),
    "arg_max": _zero("SELECT g, ARG_MAX(a % b, id) AS n FROM r GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "median": _zero("SELECT g, MEDIAN(a % b) AS n FROM r GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "list": _zero("SELECT g, ARRAY_AGG(a % b ORDER BY id) AS n, COUNT(*) AS c FROM r GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "order_of_a_list": _zero("SELECT g, ARRAY_AGG(id ORDER BY a % b) FILTER (WHERE a > 0) AS n, MAX(a) AS c FROM r GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "string_agg": _zero("SELECT g, STRING_AGG(CAST(a % b AS VARCHAR), ',' ORDER BY id) AS n FROM r GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "filter": _zero("SELECT g, COUNT(*) FILTER (WHERE a / b > 1) AS n FROM r GROUP BY g", "a / b .. (id = 9, a = 6, b = 0)"),
    "case_value": _zero("SELECT id, CASE WHEN g = 1 THEN a % b ELSE 0 END AS c FROM r", "a % b .. (id = 9, g = 1, a = 6, b = 0)"),
    "case_condition": _zero("SELECT id, CASE WHEN a / b > 1 THEN 'x' ELSE 'y' END AS c FROM r", "a / b .. (id = 9, a = 6, b = 0)"),
    "derived_table": _zero("SELECT g, SUM(c) AS n FROM (SELECT g, a % b AS c FROM r) AS i GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "derived_distinct": _zero("SELECT g, SUM(c) AS n FROM (SELECT DISTINCT g, a % b AS c FROM r) AS i GROUP BY g", "a % b .. (id = 9, a = 6, b = 0)"),
    "common_table": _zero("WITH i AS (SELECT g, MAX(a % b) AS c FROM r GROUP BY g) SELECT i.c, q.v FROM i JOIN q ON i.g = q.g", "a % b .. (id = 9, a = 6, b = 0)"),
    "scalar_subquery": _zero("SELECT v, (SELECT SUM(a % b) FROM r) AS c FROM q", "a % b .. (id = 9, a = 6, b = 0)"),
    "scalar_quotient": Case("SELECT v, (SELECT SUM(a) / SUM(b) FROM r) AS c FROM q", {"b": -14}, "SUM(a) / SUM(b) .. (sum_3 = 25, sum_4 = 0)", lenient=True),
    "correlated": _zero("SELECT g, v, (SELECT MAX(r.a % r.b) FROM r WHERE r.g = q.g) AS c FROM q", "r.a % r.b .. (id = 9, a = 6, b = 0)"),
    "exists": _zero("SELECT v FROM q WHERE EXISTS (SELECT 1 FROM r WHERE r.g = q.g AND r.a / r.b > 1)", "r.a / r.b .. (id = 9, a = 6, b = 0)"),
    "not_exists": _zero("SELECT v FROM q WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.g = q.g AND r.a / r.b > 1)", "r.a / r.b .. (id = 9, a = 6, b = 0)"),
    "in": _zero("SELECT v FROM q WHERE v IN (SELECT a % b FROM r)", "a % b .. (id = 9, a = 6, b = 0)"),
    "not_in": _zero("SELECT v FROM q WHERE v NOT IN (SELECT a % b FROM r WHERE a IS NOT NULL)", "a % b .. (id = 9, a = 6, b = 0)"),
    "window_argument": _zero("SELECT id, SUM(a % b) OVER (PARTITION BY g ORDER BY id) AS c FROM r", "a % b .. (id = 9, a = 6, b = 0)"),
    "window_order": _zero("SELECT id, RANK() OVER (PARTITION BY g ORDER BY a % b) AS c FROM r", "a % b .. (id = 9, a = 6, b = 0)"),
    "window_partition": _zero("SELECT id, COUNT(*) OVER (PARTITION BY a % b) AS c FROM r", "a % b .. (id = 9, a = 6, b = 0)"),
    "window_result": _zero("SELECT id, 10 / SUM(b) OVER (PARTITION BY g) AS c FROM r", "column c", also={"g": 5}),
    "window_lag": _zero("SELECT id, a / LAG(b) OVER (PARTITION BY g ORDER BY id DESC) AS c FROM r", "column c"),
    "order_by": _zero("SELECT id FROM r ORDER BY a % b, id", "a % b .. (id = 9, a = 6, b = 0)"),
    "distinct": _zero("SELECT DISTINCT a % b AS c FROM r", "a % b .. (id = 9, a = 6, b = 0)"),
    "union": _zero("SELECT a % b AS c FROM r UNION SELECT v FROM q", "a % b .. (id = 9, a = 6, b = 0)"),
    "union_all": _zero("SELECT a % b AS c FROM r UNION ALL SELECT v FROM q", "a % b .. (id = 9, a = 6, b = 0)"),
    "except": _zero("SELECT v FROM q EXCEPT SELECT a % b FROM r", "a % b .. (id = 9, a = 6, b = 0)"),
    "left_join": _zero("SELECT q.v, r.id FROM q LEFT JOIN r ON r.g = q.g AND r.a / r.b > 1", "r.a / r.b .. (id = 9, a = 6, b = 0)"),
    "full_join": _zero("SELECT q.v, r.id FROM q FULL JOIN r ON r.a % r.b = q.v", "r.a % r.b .. (id = 9, a = 6, b = 0)"),
    "limit": _zero("SELECT g, c FROM (SELECT g, a % b AS c FROM r ORDER BY id DESC LIMIT 2) AS i", "a % b .. (id = 9, a = 6, b = 0)"),
    # values that do not fit
    "add": Case("SELECT id, a + b AS c FROM r", {"a": INT64_MAX}, "a + b .. (id = 9, a = 9223372036854775807, b = 2)"),
    "subtract": Case("SELECT id, a - b AS c FROM r", {"a": INT64_MIN}, "a - b .. (id = 9, a = -9223372036854775808, b = 2)"),
    "multiply": Case("SELECT g, SUM(CAST(a * b AS DECIMAL(38, 0))) AS c FROM r GROUP BY g", {"a": 2**62}, "a * b .. (id = 9, a = 4611686018427387904, b = 2)"),
    "negate": Case("SELECT id, -a AS c FROM r", {"a": INT64_MIN}, "-a .. (id = 9, a = -9223372036854775808)"),
    "absolute": Case("SELECT id, ABS(a) AS c FROM r", {"a": INT64_MIN}, "ABS(a) .. (id = 9, a = -9223372036854775808)"),
    "sum_of_int": Case("SELECT g, SUM(a) AS c FROM r GROUP BY g", {"a": INT64_MAX}, "column c", lenient=True),
    "window_sum_of_int": Case("SELECT id, SUM(a) OVER (PARTITION BY g) AS c FROM r", {"a": INT64_MAX}, "SUM(a) OVER (PARTITION BY g) .. (part_1 = 1)", lenient=True),
    "sum_in_condition": Case("SELECT v FROM q WHERE v < (SELECT SUM(a) FROM r)", {"a": INT64_MAX}, "SUM(a)", lenient=True),
    "product_of_sums": Case("SELECT g FROM r GROUP BY g HAVING SUM(a) * SUM(b) > 30", {"a": 2**62}, "the condition on rows", lenient=True),
    "decimal_multiply": Case("SELECT id, w * w AS c FROM r", {"w": Decimal(10**30)}, "w * w .. (id = 9, w = 1000000000000000000000000000000)"),
    "decimal_sum": Case("SELECT g, SUM(w) AS c FROM r GROUP BY g", {"w": Decimal(LARGEST)}, "column c", also={"g": 2}, lenient=True),
    "decimal_window_sum": Case("SELECT id, SUM(w) OVER (PARTITION BY g) AS c FROM r", {"w": Decimal(LARGEST)}, "SUM(w) OVER (PARTITION BY g) .. (part_1 = 2)", also={"g": 2}, lenient=True),
    "narrower": Case("SELECT id, CAST(w AS DECIMAL(5, 2)) AS c FROM r", {"w": Decimal(1000)}, "CAST(w AS DECIMAL(5, 2)) .. (id = 9, w = 1000)"),
    "decimal_to_int": Case("SELECT id, CAST(w AS BIGINT) AS c FROM r", {"w": Decimal(10**20)}, "CAST(w AS BIGINT) .. (id = 9, w = 100000000000000000000)"),
    "double_to_decimal": Case("SELECT id, CAST(f AS DECIMAL(5, 2)) AS c FROM r", {"f": 1e9}, "CAST(f AS DECIMAL(5, 2)) .. (id = 9, f = 1000000000.0)"),
    "round": Case("SELECT id, ROUND(CAST(w AS DECIMAL(38, 0)), -1) AS c FROM r", {"w": Decimal(LARGEST)}, "ROUND(CAST(w AS DECIMAL(38, 0)), -1) .. (id = 9, w = 99999999999999999999999999999999999999)", lenient=True),
    # texts
    "text_to_int": Case("SELECT id, CAST(s AS BIGINT) AS c FROM r", {"s": "x"}, "CAST(s AS BIGINT) .. (id = 9, s = 'x')"),
    "text_to_decimal": Case("SELECT g, SUM(CAST(s AS DECIMAL(8, 2))) AS c FROM r GROUP BY g", {"s": ""}, "CAST(s AS DECIMAL(8, 2)) .. (id = 9, s = '')"),
    "text_to_double": Case("SELECT id, CAST(s AS DOUBLE) AS c FROM r", {"s": "1e"}, "CAST(s AS DOUBLE) .. (id = 9, s = '1e')"),
    "text_to_date": Case("SELECT CAST('2024-01-' || s AS DATE) AS c, COUNT(*) AS n FROM r GROUP BY 1", {"s": "32"}, "CAST('2024-01-' || s AS DATE) .. (id = 9, s = '32')"),
    "text_to_timestamp": Case("SELECT id, CAST('2024-01-05 ' || s || ':00:00' AS TIMESTAMP) AS c FROM r", {"s": "25"}, "CAST('2024-01-05 ' || s || ':00:00' AS TIMESTAMP) .. (id = 9, s = '25')"),
    "text_to_bool": Case("SELECT id FROM r WHERE CAST(CASE WHEN s > '5' THEN s ELSE 'true' END AS BOOLEAN)", {"s": "maybe"}, "CAST(CASE WHEN s > '5' THEN s ELSE 'true' END AS BOOL) .. (id = 9, s = 'maybe')"),
    "left": Case("SELECT id, LEFT(s, b) AS c FROM r", {"b": -1}, "LEFT(s, b) .. (id = 9, b = -1, s = '12')", lenient=True, dialect="bigquery"),
    "substring": Case("SELECT id, SUBSTRING(s, 1, b) AS c FROM r", {"b": -1}, "SUBSTRING(s, 1, b) .. (id = 9, b = -1, s = '12')", lenient=True, dialect="postgres"),
    "replace": Case("SELECT id, LENGTH(REPLACE(s, '1', RPAD('', 600000, 'x'))) AS c FROM r", {"s": "11"}, "REPLACE(s, '1', RPAD('', 600000, 'x')) .. (id = 9, s = '11')", lenient=True),
    "chr": Case("SELECT id, CHR(a + 60) AS c FROM r", {"a": -100}, "CHR(a + 60) .. (id = 9, a = -100)", duckdb="SELECT id, CHR(CAST(a + 60 AS INT)) AS c FROM r"),
    # dates
    "date_beyond": Case("SELECT id, CAST(d + INTERVAL '1' DAY AS DATE) AS c FROM r", {"d": datetime.date.max}, "d + INTERVAL '1' DAY .. (id = 9, d = 9999-12-31)", lenient=True),
    "date_before": Case("SELECT id, CAST(d - INTERVAL '1' MONTH AS DATE) AS c FROM r", {"d": datetime.date.min}, "d - INTERVAL '1' MONTH .. (id = 9, d = 0001-01-01)", lenient=True),
    "make_date": Case("SELECT id, MAKE_DATE(2024, a, b) AS c FROM r", {"a": 13}, "MAKE_DATE(2024, a, b) .. (id = 9, a = 13, b = 2)", dialect="postgres"),
    # domains
    "ln": Case("SELECT id, LN(f) AS c FROM r", {"f": -1.0}, "LN(f) .. (id = 9, f = -1.0)"),
    "sqrt": Case("SELECT g, MAX(SQRT(f)) AS c FROM r GROUP BY g", {"f": -1.0}, "SQRT(f) .. (id = 9, f = -1.0)"),
    # several rows
    "two_rows": Case("SELECT v, (SELECT r.a FROM r WHERE r.g = q.g AND r.b = 4) AS c FROM q", {"b": 4}, "the scalar subquery SELECT r.a FROM r WHERE r.g = q.g AND r.b = 4 has several rows"),
}  # fmt: skip
