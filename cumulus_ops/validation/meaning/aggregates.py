"""Aggregates: exact sums, averages rounded once, moments from exact sums, DISTINCT and FILTER."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.ordered import ORDERED, first_value
from cumulus_ops.validation.meaning.pairs import PAIRS, average_of, pair_of, statistic
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import (
    INT_DIGITS,
    Term,
    as_type,
    average_type,
    bounded,
    cast,
    fn,
    number,
    refused,
    sum_type,
)
from m3.datatypes import BOOL, DOUBLE, INT, MAX_PRECISION, Type, decimal

__all__ = ["AGGREGATES", "NAMED", "Wrap", "aggregate", "is_aggregate"]

#: Puts FILTER and OVER around an aggregate of Spark's.
Wrap = Callable[[exp.Expr], exp.Expr]
EXTREMES: Mapping[type[exp.Expr], str] = {
    exp.Min: "min",
    exp.Max: "max",
    exp.LogicalAnd: "min",
    exp.LogicalOr: "max",
    exp.AnyValue: "min",
}
MOMENTS: Mapping[type[exp.Expr], str] = {
    exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
}  # fmt: skip
#: Aggregates that some dialects of sqlglot do not know by name.
NAMED: Mapping[str, type[exp.Expr]] = {
    "every": exp.LogicalAnd, "some": exp.LogicalOr, "bool_and": exp.LogicalAnd, "bool_or": exp.LogicalOr,
    "bit_and": exp.BitwiseAndAgg, "bit_or": exp.BitwiseOrAgg, "bit_xor": exp.BitwiseXorAgg, "arbitrary": exp.AnyValue,
    "median": exp.Median,
}  # fmt: skip
#: The same, with a value and a fraction.
FRACTIONS: Mapping[str, type[exp.Expr]] = {
    "quantile_cont": exp.PercentileCont, "quantile_disc": exp.PercentileDisc, "percentile": exp.PercentileCont,
}  # fmt: skip
KNOWN: tuple[type[exp.Expr], ...] = (exp.Sum, exp.Avg, exp.Count, exp.CountIf, *EXTREMES, *MOMENTS, *PAIRS, *ORDERED)
COUNT_TYPE = decimal(INT_DIGITS, 0)
#: With more digits, Spark's types for the steps of an average would lose some.
AVERAGE_DIGITS = 36


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate call, with or without FILTER."""
    inner = node.this if isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) else node
    if isinstance(inner, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        return is_aggregate(inner)
    return isinstance(_spelled(inner), KNOWN)


def _spelled(node: exp.Expr) -> exp.Expr:
    """An aggregate by the name that sqlglot has for it; anything else as it is."""
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1 and str(node.this).lower() in NAMED:
        return NAMED[str(node.this).lower()](this=node.expressions[0])
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 2 and str(node.this).lower() in FRACTIONS:
        return FRACTIONS[str(node.this).lower()](this=node.expressions[0], expression=node.expressions[1])
    if (
        isinstance(node, exp.Any)
        and not isinstance(node.this.unnest(), exp.Query)
        and not isinstance(node.parent, exp.Binary)
    ):
        return exp.LogicalOr(this=node.this.unnest())
    return node


def aggregate(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    """An aggregate call, every aggregate of Spark's in it wrapped."""
    if isinstance(node, exp.Filter):
        condition = as_type(reader.read(node.expression.this), BOOL)
        inner = node.this
        return aggregate(reader, inner, lambda x: wrap(exp.Filter(this=x, expression=exp.Where(this=condition.copy()))))
    node = _spelled(node)
    kind = type(node)
    if kind in (exp.IgnoreNulls, exp.RespectNulls):
        return _about_nulls(reader, node, wrap)
    if kind in ORDERED:
        return ORDERED[kind](reader, node, wrap)
    if kind is exp.CountIf:
        return Term(wrap(fn("count_if", as_type(reader.read(node.this), BOOL))), INT)
    if kind is exp.Count:
        return Term(wrap(_count(reader, node)), INT)
    if kind in PAIRS:
        return _of_pair(reader, node, wrap)
    unique = isinstance(node.this, exp.Distinct)
    arg = reader.read(node.this.expressions[0] if unique else node.this)
    if kind in EXTREMES:
        return Term(wrap(fn(EXTREMES[kind], arg.node)), arg.type)
    if kind in MOMENTS:
        return _moment(reader, MOMENTS[kind], arg, wrap, unique=unique)
    if kind is exp.Avg:
        return _average(reader, arg, wrap, unique=unique)
    node_, type_ = total(reader, arg, wrap, unique=unique)
    to = sum_type(arg.known) if arg.kind != "double" else DOUBLE
    return Term(node_ if type_ == to else cast(node_, to), to)


def _count(reader: Reader, node: exp.Expr) -> exp.Expr:
    inner = node.this
    if inner is None or isinstance(inner, exp.Star):
        return exp.Count(this=exp.Star())
    unique = isinstance(inner, exp.Distinct)
    nodes = inner.expressions if unique else [inner, *node.expressions]
    if unique and len(nodes) == 1 and isinstance(nodes[0], exp.Tuple):
        nodes = nodes[0].expressions
    return _called("count", [reader.read(n).node for n in nodes], unique)


def _called(name: str, args: list[exp.Expr], unique: bool) -> exp.Expr:
    return fn(name, exp.Distinct(expressions=args)) if unique else fn(name, *args)


def total(reader: Reader, arg: Term, wrap: Wrap, *, unique: bool) -> tuple[exp.Expr, Type]:
    """The exact sum, NULL of nothing, and its type: DECIMAL for INT too, which has room for every sum on the way."""
    if arg.kind == "double":
        return _collected(reader, arg, wrap, DOUBLE, unique), DOUBLE
    if arg.kind not in ("int", "decimal"):
        raise refused(f"SUM of {arg.known}")
    digits = arg.known if arg.kind == "decimal" else COUNT_TYPE
    to = decimal(min(MAX_PRECISION, digits.precision + 10), digits.scale)
    if reader.options.wide and digits.precision + 10 > MAX_PRECISION:
        return _collected(reader, Term(as_type(arg, digits), digits), wrap, to, unique), to
    return wrap(_called("sum", [as_type(arg, digits)], unique)), to


def _collected(reader: Reader, arg: Term, wrap: Wrap, to: Type, unique: bool) -> exp.Expr:
    return reader.exactly("total", to, wrap(fn("collect_set" if unique else "collect_list", arg.node)))


def _average(reader: Reader, arg: Term, wrap: Wrap, *, unique: bool) -> Term:
    to = average_type(arg.known, reader.dialect)
    sum_, type_ = total(reader, arg, wrap, unique=unique)
    count = fn("nullif", wrap(_called("count", [arg.node.copy()], unique)), number(0))
    if arg.kind == "double":
        return Term(exp.Paren(this=exp.Div(this=sum_, expression=cast(count, DOUBLE))), DOUBLE)
    return Term(_rounded_once(reader, sum_, type_, cast(count, COUNT_TYPE), to), to)


def _rounded_once(reader: Reader, sum_: exp.Expr, type_: Type, count: exp.Expr, to: Type) -> exp.Expr:
    """``sum / count`` rounded half up once: the whole part is exact, and what remains is divided to 19 decimals.

    Spark's own type of the quotient may have so few decimals that rounding it again would show."""
    if max(type_.precision, to.precision) > AVERAGE_DIGITS:
        return reader.exactly("quotient", to, sum_, count)

    def applied(form: type[exp.Expr], a: exp.Expr, b: exp.Expr) -> exp.Expr:
        return exp.Paren(this=form(this=a.copy(), expression=b.copy()))

    rest = applied(exp.Mod, sum_, count)
    whole = applied(exp.Div, applied(exp.Sub, sum_, rest), count)
    return cast(applied(exp.Add, cast(whole, to), cast(applied(exp.Div, rest, count), _part(to))), to)


def _part(to: Type) -> Type:
    return decimal(min(MAX_PRECISION, to.scale + 1), to.scale)


def _moment(reader: Reader, name: str, arg: Term, wrap: Wrap, *, unique: bool) -> Term:
    """VARIANCE and STDDEV: from the exact count, sum and sum of squares, rounded to DOUBLE once."""
    digits = arg.known if arg.kind == "decimal" else COUNT_TYPE
    value = as_type(arg, digits)
    square = Term(
        exp.Paren(this=exp.Mul(this=value, expression=value.copy())),
        bounded(2 * digits.precision + 1, 2 * digits.scale),
    )
    count = wrap(_called("count", [value.copy()], unique))
    totals = [total(reader, t, wrap, unique=unique)[0] for t in (Term(value, digits), square)]
    return Term(reader.exactly(name, DOUBLE, count, *totals), DOUBLE)


def _of_pair(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    x, y = pair_of(reader, node)
    if isinstance(node, exp.RegrAvgx | exp.RegrAvgy):
        return _average(reader, average_of(node, x, y), wrap, unique=False)
    return statistic(reader, node, x, y, wrap)


def _plain(reader: Reader, node: exp.Expr) -> Term:
    return aggregate(reader, node, lambda x: x)


def _about_nulls(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    """IGNORE NULLS and RESPECT NULLS; ANY_VALUE skips NULLs anyhow."""
    inner = node.this
    if isinstance(inner, exp.First | exp.Last | exp.FirstValue | exp.LastValue):
        return first_value(reader, inner, wrap, without_nulls=isinstance(node, exp.IgnoreNulls))
    if not isinstance(inner, exp.AnyValue):
        raise refused(f"NULLs of {inner.key.upper()}")
    return aggregate(reader, inner, wrap)


def _grouping(reader: Reader, node: exp.Expr) -> Term:
    """GROUPING(a, b): a bit for each, 1 where it is not grouped by."""
    args = [reader.read(n).node for n in node.expressions]
    return Term(cast(fn("grouping" if len(args) == 1 else "grouping_id", *args), INT), INT)


AGGREGATES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(KNOWN, _plain),
    exp.Filter: _plain,
    exp.IgnoreNulls: _plain,
    exp.RespectNulls: _plain,
    exp.Any: _plain,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
}
