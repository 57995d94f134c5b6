"""Window functions that are said by others: conditions, FILTER, frames of time.

>>> from m3.sql.places import Source
>>> def show(sql):
...     source = Source(sql)
...     return respelled_windows(source.parse("postgres"), source).sql("duckdb")
>>> show("SELECT ANY_VALUE(a) OVER (PARTITION BY b) FROM r")
'SELECT MIN(a) OVER (PARTITION BY b) FROM r'
>>> show("SELECT ANY_VALUE(a) OVER (ORDER BY b) FROM r")
'SELECT FIRST_VALUE(a IGNORE NULLS) OVER (ORDER BY b) FROM r'
>>> show("SELECT COUNT(*) FILTER (WHERE a > 1) OVER () FROM r")
'SELECT COUNT(CASE WHEN a > 1 THEN 1 END) OVER () FROM r'
>>> show("SELECT SUM(a) OVER (ORDER BY t RANGE INTERVAL '2' MINUTE PRECEDING) FROM r")
'SELECT SUM(a) OVER (ORDER BY EPOCH_US(t) RANGE BETWEEN 120000000 PRECEDING AND CURRENT ROW) FROM r'
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from m3.scalars import Const
from m3.sql.dates import interval_seconds
from m3.sql.expressions import ExpressionReader
from m3.sql.places import Source

__all__ = ["respelled_windows"]

#: Aggregate -> the one that says the same over a frame.
SAME: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.AnyValue: exp.Min, exp.First: exp.FirstValue, exp.Last: exp.LastValue, exp.LogicalAnd: exp.Min,
    exp.LogicalOr: exp.Max,
}  # fmt: skip
#: Aggregates that do not see NULLs, so that a filter is a CASE.
FILTERED = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
MICROSECONDS = 1_000_000


def respelled_windows(tree: exp.Expr, source: Source) -> exp.Expr:
    """A query whose window functions are fewer.

    Args:
        tree: the query; it is changed.
        source: its text.
    """
    for window in list(tree.find_all(exp.Window)):
        _function(window)
        _frame(window, source)
    return tree


def _function(window: exp.Window) -> None:
    inner, where = window.this, None
    if isinstance(inner, exp.Filter):
        inner, where = inner.this, inner.expression.this
    if isinstance(inner, exp.CountIf):
        inner, where = exp.Count(this=exp.Star()), inner.this if where is None else exp.and_(where, inner.this)
    if isinstance(inner, exp.AnyValue) and window.args.get("order") is not None and where is None:
        inner = exp.IgnoreNulls(this=exp.FirstValue(this=inner.this))  # what DuckDB and Spark take
    if type(inner) in SAME:
        condition = isinstance(inner, exp.LogicalAnd | exp.LogicalOr)
        argument = exp.And(this=inner.this, expression=exp.true()) if condition else inner.this
        inner = SAME[type(inner)](this=argument)
    if where is not None:
        if not isinstance(inner, FILTERED) or isinstance(inner.this, exp.Distinct):
            return
        counted = inner.this is None or isinstance(inner.this, exp.Star)
        value = exp.Literal.number(1) if counted else inner.this
        inner = type(inner)(this=exp.Case(ifs=[exp.If(this=where, true=value)]))
    if inner is not window.this:
        window.set("this", inner)


def _frame(window: exp.Window, source: Source) -> None:
    """``RANGE`` of an interval over a date or timestamp is one of microseconds over microseconds since 1970."""
    spec, order = window.args.get("spec"), window.args.get("order")
    if spec is None or order is None or len(order.expressions) != 1:
        return
    reader = ExpressionReader(source, lambda _: None)
    bounds = {name: spec.args.get(name) for name in ("start", "end")}
    spans = {name: interval_seconds(reader, bound) for name, bound in bounds.items() if isinstance(bound, exp.Interval)}
    if not spans:
        return
    (key,) = order.expressions
    key.set("this", exp.Anonymous(this="epoch_us", expressions=[key.this]))
    for name, seconds in spans.items():
        if not isinstance(seconds, Const) or not isinstance(seconds.value, int):
            hint = "RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW"
            source.fail(bounds[name], "a frame of an interval that is not constant", "unsupported-window", hint)
        spec.set(name, exp.Literal.number(seconds.value * MICROSECONDS))
