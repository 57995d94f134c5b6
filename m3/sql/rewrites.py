"""What is said in other SQL before anything is read: an ordered tuple of passes over the syntax tree.

One spelling for aggregates that dialects call by many names, before anything is read.

>>> import sqlglot
>>> def show(sql): return respell_aggregates(sqlglot.parse_one(sql), "spark").sql()
>>> show("SELECT EVERY(b), SOME(b) FILTER(WHERE c) FROM r")
'SELECT LOGICAL_AND(b), LOGICAL_OR(b) FILTER(WHERE c) FROM r'
>>> show("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x DESC) FROM r")
'SELECT PERCENTILE_CONT(x ORDER BY x DESC, 0.5) FROM r'
>>> show("SELECT MEDIAN(x), MODE() WITHIN GROUP (ORDER BY x NULLS LAST) FROM r")
'SELECT PERCENTILE_CONT(x, 0.5), MODE(x ORDER BY x NULLS LAST) FROM r'

Window functions that are said by others: conditions, FILTER, frames of time.

>>> from m3.sql.places import Source
>>> def show(sql):
...     source = Source(sql)
...     return respell_windows(source.parse("postgres"), source).sql("duckdb")
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

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from m3.dictionary.aggregates import respell_aggregate
from m3.dictionary.queries import respell_query
from m3.scalars import Const
from m3.sql.asof import replace_asof_joins
from m3.sql.functions import make_reader
from m3.sql.functions_dates import Steps, read_interval
from m3.sql.list_calls import IGNORE_NULLS, respell_lists
from m3.sql.places import REWRITTEN, Source, refuse_unread
from m3.sql.series import write_out_series
from m3.sql.spans import join_spans

__all__ = ["REWRITES", "respell_aggregates", "respell_windows", "rewrite"]


#: Aggregates that some dialects of sqlglot do not know by name, with one argument.
NAMED: Mapping[str, type[exp.Expression]] = {
    "every": exp.LogicalAnd, "some": exp.LogicalOr, "bool_and": exp.LogicalAnd, "bool_or": exp.LogicalOr,
    "bit_and": exp.BitwiseAndAgg, "bit_or": exp.BitwiseOrAgg, "bit_xor": exp.BitwiseXorAgg, "arbitrary": exp.AnyValue,
    "median": exp.Median,
}  # fmt: skip
#: The same, with a value and a fraction.
FRACTIONS: Mapping[str, type[exp.Expression]] = {
    "quantile_cont": exp.PercentileCont, "quantile_disc": exp.PercentileDisc, "percentile": exp.PercentileCont,
}  # fmt: skip
#: Those for which sqlglot has no class.
UNKNOWN = ("product", "mad", "kurtosis_pop")
#: Dialects in which E'..' is a text.
ESCAPED_TEXTS = ("postgres", "redshift", "risingwave", "materialize", "duckdb")
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike)
FIRSTS = (exp.First, exp.Last, exp.FirstValue, exp.LastValue)


def respell_aggregates(tree: exp.Expr, dialect: str | None) -> exp.Expr:
    """A query whose aggregates have one spelling each.

    Args:
        tree: the query; it is changed.
        dialect: sqlglot's name of its dialect.
    """
    return tree.transform(lambda node: _respell(_respell(node, dialect), dialect), copy=False)


def _respell(node: exp.Expr, dialect: str | None) -> exp.Expr:
    node = respell_aggregate(node, dialect)
    if isinstance(node, exp.Anonymous):
        return _respell_named(node)
    if isinstance(node, exp.ByteString) and dialect in ESCAPED_TEXTS:
        made = exp.Literal.string(str(node.this))
        made.meta.update(node.meta)
        return made
    if type(node) is exp.Quantile:  # approximate ones are subclasses
        kind = exp.PercentileDisc if dialect == "duckdb" else exp.PercentileCont
        return kind(this=node.this, expression=node.args.get("quantile"))
    change = _CHANGES.get(type(node))
    return node if change is None else change(node)


def _respell_named(node: exp.Anonymous) -> exp.Expr:
    name, args = str(node.this).lower(), node.expressions
    if name == "row":
        return exp.Tuple(expressions=args)
    if name in NAMED and len(args) == 1:
        return NAMED[name](this=args[0])
    if name in UNKNOWN and len(args) == 1:
        return exp.AnonymousAggFunc(this=name.upper(), expressions=args)
    if name in FRACTIONS and len(args) == 2:
        return FRACTIONS[name](this=args[0], expression=args[1])
    if name in ("listagg", "string_agg") and len(args) in (1, 2):
        return exp.GroupConcat(this=args[0], separator=args[1] if len(args) > 1 else exp.Literal.string(""))
    return node


def _respell_any(node: exp.Expr) -> exp.Expr:
    """Spark's ANY(condition); next to a comparison it is a quantifier."""
    inner = node.this.unnest()
    quantifier = isinstance(inner, exp.Query) or isinstance(node.parent, COMPARISONS)
    return node if quantifier else exp.LogicalOr(this=inner)


def _respell_within_group(node: exp.Expr) -> exp.Expr:
    """``f(..) WITHIN GROUP (ORDER BY x)`` orders its argument, or is a function of what it orders."""
    inner, order = node.this, node.expression
    if isinstance(inner, exp.Anonymous):
        inner = _respell_named(inner)
    first = order.expressions[0].this.copy()
    if isinstance(inner, exp.PercentileCont | exp.PercentileDisc) and inner.args.get("expression") is None:
        return type(inner)(this=exp.Order(this=first, expressions=order.expressions), expression=inner.this)
    if isinstance(inner, exp.Mode) and inner.this is None:
        return exp.Mode(this=exp.Order(this=first, expressions=order.expressions))
    if isinstance(inner, exp.GroupConcat | exp.ArrayAgg) and not isinstance(inner.this, exp.Order):
        inner.set("this", exp.Order(this=inner.this, expressions=order.expressions))
        return inner
    return node


def _respell_null_treatment(node: exp.Expr) -> exp.Expr:
    """ANY_VALUE skips NULLs anyhow; FIRST and LAST as aggregates, and lists, remember it."""
    inner = node.this
    if isinstance(inner, exp.AnyValue):
        return inner
    if isinstance(inner, exp.ArrayAgg):
        inner.set("nulls_excluded", isinstance(node, exp.IgnoreNulls))
        return inner
    if isinstance(inner, FIRSTS) and not isinstance(node.parent, exp.Window):
        inner.set(IGNORE_NULLS, isinstance(node, exp.IgnoreNulls))
        return inner
    return node


_CHANGES: Mapping[type[exp.Expr], Callable[[exp.Expr], exp.Expr]] = {
    exp.Median: lambda node: exp.PercentileCont(this=node.this, expression=exp.Literal.number("0.5")),
    exp.Any: _respell_any,
    exp.WithinGroup: _respell_within_group,
    exp.IgnoreNulls: _respell_null_treatment,
    exp.RespectNulls: _respell_null_treatment,
}


#: Aggregate -> the one that says the same over a frame.
SAME: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.AnyValue: exp.Min, exp.First: exp.FirstValue, exp.Last: exp.LastValue, exp.LogicalAnd: exp.Min,
    exp.LogicalOr: exp.Max,
}  # fmt: skip
#: Aggregates that do not see NULLs, so that a filter is a CASE.
FILTERED = (
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Min,
    exp.Max,
    exp.Variance,
    exp.VariancePop,
    exp.Stddev,
    exp.StddevSamp,
    exp.StddevPop,
)
#: Step of an interval -> its microseconds, or months.
LENGTHS = {"add_months": 1, "add_days": 86_400_000_000, "add_seconds": 1_000_000, "add_micros": 1}
NUMBER = re.compile(r"\s*[-+]?[0-9.]+\s*|(?i:[-+]?inf(inity)?|nan)")


def respell_windows(tree: exp.Expr, source: Source) -> exp.Expr:
    """A query whose window functions are fewer.

    Args:
        tree: the query; it is changed.
        source: its text.
    """
    for window in list(tree.find_all(exp.Window)):
        _respell_function(window)
        _respell_frame(window, source)
    return tree


def _respell_function(window: exp.Window) -> None:
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


def _respell_frame(window: exp.Window, source: Source) -> None:
    """``RANGE`` of an interval over a date or timestamp is one of microseconds over microseconds since 1970, or one of months."""
    spec, order = window.args.get("spec"), window.args.get("order")
    if spec is None or order is None or len(order.expressions) != 1 or str(spec.args.get("kind")).upper() != "RANGE":
        return
    reader = make_reader(source, lambda _: None)
    bounds = {name: spec.args.get(name) for name in ("start", "end")}
    steps: dict[str, Steps] = {}
    for name, bound in bounds.items():
        if (
            isinstance(bound, exp.Literal) and bound.is_string and not NUMBER.fullmatch(bound.name)
        ):  # PostgreSQL's '1 year'
            bound = exp.Interval(this=bound.copy())
        found = read_interval(reader, bound) if isinstance(bound, exp.Expr) else None
        if found is not None:
            steps[name] = found
    if not steps:
        return
    hint = "RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW"
    months = [{"add_months"} == set(found) for found in steps.values()]
    if any("add_months" in found for found in steps.values()) and not all(months):
        source.fail(
            spec, "a frame of months beside days", "unsupported-window", "a frame of months, or of days and seconds"
        )
    for name, found in steps.items():
        amounts = {op: amount.value for op, amount in found.items() if isinstance(amount, Const)}
        whole = {op: amount for op, amount in amounts.items() if isinstance(amount, int)}
        if len(whole) < len(found):
            source.fail(bounds[name], "a frame of an interval that is not constant", "unsupported-window", hint)
        spec.set(name, exp.Literal.number(sum(amount * LENGTHS[op] for op, amount in whole.items())))
    if all(months):
        spec.set("kind", "MONTHS")
        return
    (key,) = order.expressions
    key.set("this", exp.Anonymous(this="epoch_us", expressions=[key.this]))


def _refuse_pivots(tree: exp.Expr, source: Source) -> exp.Expr:
    """What is left of PIVOT: its columns are not written out, or depend on the data."""
    for pivot in tree.find_all(exp.Pivot):
        what = "UNPIVOT" if pivot.args.get("unpivot") else "PIVOT"
        hint = "PIVOT (SUM(x) FOR k IN ('a', 'b')): the columns of a view do not depend on its data"
        if what == "UNPIVOT":
            hint = "UNPIVOT (value FOR name IN (a, b)), whose columns are written out"
        source.fail(pivot, f"such a {what}", "unsupported-clause", hint)
    return tree


#: Each is given the tree, which it may change, and its text.
REWRITES: tuple[Callable[[exp.Expr, Source], exp.Expr], ...] = (
    lambda tree, source: _refuse_pivots(respell_query(tree, source.dialect), source),
    lambda tree, source: refuse_unread(tree, source, REWRITTEN),
    lambda tree, source: respell_aggregates(tree, source.dialect),
    lambda tree, source: respell_lists(tree, source.dialect),
    respell_windows,
    write_out_series,
    join_spans,
    replace_asof_joins,
    refuse_unread,
)


def rewrite(tree: exp.Expr, source: Source) -> exp.Expr:
    """The query after all passes.

    Raises:
        CompileError: a form that has no such meaning.
    """
    for step in REWRITES:
        tree = step(tree, source)
    return tree
