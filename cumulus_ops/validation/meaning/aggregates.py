"""Aggregates: exact sums, averages rounded once, moments from exact sums, DISTINCT and FILTER."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.lists import collect_values, unify_list
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import (
    INT_DIGITS,
    Term,
    as_type,
    average_type,
    bound_type,
    cast,
    fn,
    number,
    refusal,
    sum_type,
    text,
    when,
)
from cumulus_ops.validation.meaning.texts import as_text
from m3.datatypes import BOOL, DOUBLE, INT, MAX_PRECISION, STRING, Type, decimal

__all__ = [
    "AGGREGATES",
    "NAMED",
    "ORDERED",
    "PAIRS",
    "Wrap",
    "aggregate",
    "average_of",
    "first_value",
    "is_aggregate",
    "pair_of",
    "read_statistic",
]


# Aggregates of pairs: CORR, COVAR and REGR. A pair in which one number is NULL does not count.


Wrap = Callable[[exp.Expr], exp.Expr]
#: Their arguments are x, y; those of the others are y, x.
SYMMETRIC = (exp.Corr, exp.CovarPop, exp.CovarSamp)
#: Form -> the name of its statistic.
OF_PAIRS: Mapping[type[exp.Expr], str] = {
    exp.Corr: "corr", exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp", exp.RegrSlope: "regr_slope",
    exp.RegrIntercept: "regr_intercept", exp.RegrR2: "regr_r2", exp.RegrSxx: "regr_sxx", exp.RegrSyy: "regr_syy",
    exp.RegrSxy: "regr_sxy",
}  # fmt: skip
#: Those that DuckDB has as NaN where they are not defined.
NAN = (exp.Corr, exp.RegrSlope)
PAIRS = (*OF_PAIRS, exp.RegrCount, exp.RegrAvgx, exp.RegrAvgy)


def pair_of(reader: Reader, node: exp.Expr) -> tuple[Term, Term]:
    """The numbers x and y of a call."""
    first, second = reader.read(node.this), reader.read(node.args["expression"])
    if not {first.kind, second.kind} <= {"int", "decimal", "double"}:
        raise refusal(f"{node.key.upper()} of {first.known} and {second.known}")
    if "double" in (first.kind, second.kind):
        first, second = (Term(as_type(t, DOUBLE), DOUBLE) for t in (first, second))
    return (first, second) if isinstance(node, SYMMETRIC) else (second, first)


def average_of(node: exp.Expr, x: Term, y: Term) -> Term:
    """What REGR_AVGX or REGR_AVGY averages: one number where the other is known."""
    wanted, other = (x, y) if isinstance(node, exp.RegrAvgx) else (y, x)
    missing = exp.Is(this=other.node, expression=exp.Null())
    return Term(when(missing, cast(exp.Null(), wanted.known), wanted.node), wanted.type)


def read_statistic(reader: Reader, node: exp.Expr, x: Term, y: Term, wrap: Wrap) -> Term:
    """The number of pairs, or a statistic of them: they are collected, and an exact function looks at them."""
    count = wrap(fn("count", x.node, y.node))
    if isinstance(node, exp.RegrCount):
        return Term(count, INT)
    rows = wrap(fn("collect_list", fn("named_struct", text("x"), x.node, text("y"), y.node)))
    result = reader.exactly(OF_PAIRS[type(node)], DOUBLE, rows)
    if reader.dialect == "duckdb" and isinstance(node, NAN):
        some = exp.GT(this=count, expression=exp.Literal.number(0))
        result = when(some, fn("coalesce", result, cast(text("NaN"), DOUBLE)), cast(exp.Null(), DOUBLE))
    return Term(result, DOUBLE)


# Aggregates by an order: FIRST, ARG_MAX, percentiles, modes, lists, in the spellings of several dialects.
#
# A group's values are collected with what they are ordered by, and an exact function looks at them: Spark's own do not say which of
# equal rows they take.


Build = Callable[[Reader, exp.Expr, Wrap], Term]
Places = Sequence[exp.Expr]
BITS: Mapping[type[exp.Expr], str] = {
    exp.BitwiseAndAgg: "bit_and",
    exp.BitwiseOrAgg: "bit_or",
    exp.BitwiseXorAgg: "bit_xor",
}
LASTS = (exp.Last, exp.LastValue)


def _split(node: exp.Expr) -> tuple[exp.Expr, Places]:
    """An argument, and what it is ordered by."""
    return (node.this, node.expressions) if isinstance(node, exp.Order) else (node, ())


def _in_order(
    reader: Reader,
    function: str,
    to: Type,
    value: exp.Expr,
    keys: Sequence[tuple[exp.Expr, bool, bool]],
    wrap: Wrap,
    *,
    parameter: str = "",
    skipped: str = "v",
) -> Term:
    """A function of the group's rows ``(v, o0, o1, ..)``; ``skipped`` names the columns of which none may be NULL."""
    fields = [text("v"), value, *(x for i, (n, _, _) in enumerate(keys) for x in (text(f"o{i}"), n))]
    rows = wrap(fn("collect_list", fn("named_struct", *fields)))
    order = ",".join(f"{'d' if down else 'a'}{'f' if first else 'l'}" for _, down, first in keys)
    return Term(reader.exactly(function, to, rows, text(order), text(parameter), text(skipped)), to)


def _keys(reader: Reader, places: Places, *, turned: bool = False) -> list[tuple[exp.Expr, bool, bool]]:
    return [
        (reader.read(o.this).node, bool(o.args.get("desc")) != turned, bool(o.args.get("nulls_first")) != turned)
        for o in places
    ]


def _arg_extreme(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    """The value with the greatest or least other; of several the least. Outside of Spark neither may be NULL."""
    value, by = reader.read(node.this), reader.read(node.args["expression"])
    if node.args.get("count") is not None:
        raise refusal(f"{node.key.upper()} of several")
    skipped = "o0" if reader.dialect in ("spark", "databricks") else "v,o0"
    keys = [(by.node, isinstance(node, exp.ArgMax), False)]
    return _in_order(reader, "pick", value.known, value.node, keys, wrap, skipped=skipped)


def first_value(reader: Reader, node: exp.Expr, wrap: Wrap, *, without_nulls: bool = False) -> Term:
    """FIRST and LAST; without an order the least value."""
    inner, places = _split(node.this)
    value = reader.read(inner)
    skipped = "v" if without_nulls or not places else ""
    keys = _keys(reader, places, turned=isinstance(node, LASTS))
    return _in_order(reader, "pick", value.known, value.node, keys, wrap, skipped=skipped)


def _fraction(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    """``MEDIAN(x)``, ``QUANTILE(x, p)`` and ``PERCENTILE_CONT(x, p)``."""
    discrete = isinstance(node, exp.PercentileDisc) or (isinstance(node, exp.Quantile) and reader.dialect == "duckdb")
    given = node.args.get("quantile") or node.args.get("expression") or exp.Literal.number("0.5")
    inner, places = _split(node.this)
    fraction, value = reader.read(given), reader.read(inner)
    if fraction.value is None or isinstance(fraction.value, bool | str):
        raise refusal("a fraction that is not a number")
    function, to = ("percentile_disc", value.known) if discrete else ("percentile_cont", DOUBLE)
    keys = [(value.node, bool(places) and bool(places[0].args.get("desc")), False)]
    return _in_order(reader, function, to, value.node, keys, wrap, parameter=str(fraction.value))


#: Aggregates of all values of a group, computed as DOUBLE; and in which dialects SKEWNESS and KURTOSIS are those of the rows, or of a sample.
ESTIMATED: Mapping[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Skewness: ("skewness", ("duckdb", "snowflake")), exp.Kurtosis: ("kurtosis", ("duckdb", "snowflake", "trino")),
}  # fmt: skip
#: Those that sqlglot does not know.
BY_NAME = ("product", "mad", "kurtosis_pop")


def _of_values(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    """SKEWNESS, KURTOSIS, PRODUCT and MAD."""
    if isinstance(node, exp.AnonymousAggFunc):
        function, (inner,) = str(node.this).lower(), node.expressions
        if function not in BY_NAME:
            raise refusal(f"{function.upper()}")
    else:
        name, samples = ESTIMATED[type(node)]
        if reader.dialect not in (*samples, "spark", "databricks"):
            raise refusal(f"{name.upper()} in this dialect")
        function, inner = f"{name}_{'samp' if reader.dialect in samples else 'pop'}", node.this
    unique = isinstance(inner, exp.Distinct)
    value = reader.read(inner.expressions[0] if unique else inner)
    given = value.node if function == "mad" else as_type(value, DOUBLE)
    values = wrap(fn("collect_set" if unique else "collect_list", given))
    result = reader.exactly(f"{function}_of_values", DOUBLE, values)
    if reader.dialect == "duckdb" and function == "skewness_samp":
        enough = exp.GT(this=wrap(_call_function("count", [given.copy()], unique)), expression=exp.Literal.number(2))
        result = when(enough, fn("coalesce", result, cast(text("NaN"), DOUBLE)), cast(exp.Null(), DOUBLE))
    return Term(result, DOUBLE)


def _mode(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    inner, places = _split(node.this)
    value = reader.read(inner)
    keys = _keys(reader, places) or [(value.node, False, True)]  # the compiler takes no key but the value itself
    return _in_order(reader, "mode", value.known, value.node, keys, wrap)


def _list(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    inner, places = _split(node.this)
    unique = isinstance(inner, exp.Distinct)
    value = as_text(reader, inner.expressions[0] if unique else inner).node
    separator = node.args.get("separator")
    given = reader.read(separator).value if separator is not None else ","
    if not isinstance(given, str):
        raise refusal("a separator that is not constant")
    return _in_order(
        reader, "unique_list" if unique else "list", STRING, value, _keys(reader, places), wrap, parameter=given
    )


def _within_group(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    """``f(..) WITHIN GROUP (ORDER BY x)`` orders its argument, or is a function of what it orders."""
    inner, places = node.this, node.expression.expressions
    first = places[0].this
    if isinstance(inner, exp.PercentileCont | exp.PercentileDisc) and inner.args.get("expression") is None:
        return _fraction(
            reader, type(inner)(this=exp.Order(this=first, expressions=places), expression=inner.this), wrap
        )
    if isinstance(inner, exp.Mode) and inner.this is None:
        return _mode(reader, exp.Mode(this=exp.Order(this=first, expressions=places)), wrap)
    if isinstance(inner, exp.Anonymous) and str(inner.this).lower() in ("listagg", "string_agg"):
        separator = inner.expressions[1] if len(inner.expressions) > 1 else text("")
        inner = exp.GroupConcat(this=inner.expressions[0], separator=separator)
    if isinstance(inner, exp.ArrayAgg):
        return collect_values(reader, inner, wrap, places=places)
    if isinstance(inner, exp.GroupConcat) and not isinstance(inner.this, exp.Order):
        ordered = exp.Order(this=inner.this, expressions=places)
        return _list(reader, exp.GroupConcat(this=ordered, separator=inner.args.get("separator")), wrap)
    raise refusal(f"{inner.key.upper()} WITHIN GROUP")


#: Form -> what it means as an aggregate.
ORDERED: Mapping[type[exp.Expr], Build] = {
    exp.ArgMax: _arg_extreme, exp.ArgMin: _arg_extreme, exp.First: first_value, exp.FirstValue: first_value, exp.Last: first_value,
    exp.LastValue: first_value, exp.Median: _fraction, exp.Quantile: _fraction, exp.PercentileCont: _fraction,
    exp.PercentileDisc: _fraction, exp.Mode: _mode, exp.GroupConcat: _list, exp.WithinGroup: _within_group,
    exp.ArrayAgg: collect_values, exp.ArrayUniqueAgg: collect_values, **dict.fromkeys((*ESTIMATED, exp.AnonymousAggFunc), _of_values),
    **dict.fromkeys(BITS, lambda reader, node, wrap: Term(wrap(fn(BITS[type(node)], as_type(reader.read(node.this), INT))), INT)),
}  # fmt: skip


#: Puts FILTER and OVER around an aggregate of Spark's.
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
#: Dialects in which truth values are added up, as 1 and 0.
COUNTED = ("mysql", "duckdb", "sqlite")
#: With more digits, Spark's types for the steps of an average would lose some.
AVERAGE_DIGITS = 36


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate call, with or without FILTER."""
    inner = node.this if isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls) else node
    if isinstance(inner, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        return is_aggregate(inner)
    return isinstance(_unify_spelling(inner), KNOWN)


def _unify_spelling(node: exp.Expr) -> exp.Expr:
    """An aggregate by the name that sqlglot has for it; anything else as it is."""
    node = unify_list(node)
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1 and str(node.this).lower() in NAMED:
        return NAMED[str(node.this).lower()](this=node.expressions[0])
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1 and str(node.this).lower() in BY_NAME:
        return exp.AnonymousAggFunc(this=str(node.this), expressions=node.expressions)
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
    node = _unify_spelling(node)
    kind = type(node)
    if kind in (exp.IgnoreNulls, exp.RespectNulls):
        inner = node.this
        if isinstance(inner, exp.ArrayAgg):
            return collect_values(reader, inner, wrap, skips=kind is exp.IgnoreNulls)
        if isinstance(inner, exp.First | exp.Last | exp.FirstValue | exp.LastValue):
            return first_value(reader, inner, wrap, without_nulls=kind is exp.IgnoreNulls)
        if not isinstance(inner, exp.AnyValue):  # which skips NULLs anyhow
            raise refusal(f"NULLs of {inner.key.upper()}")
        return aggregate(reader, inner, wrap)
    if kind in ORDERED:
        return ORDERED[kind](reader, node, wrap)
    if isinstance(node.this, exp.Order):  # in any order they are the same
        node = node.copy()
        node.set("this", node.this.this)
    if kind is exp.CountIf:
        return Term(wrap(fn("count_if", as_type(reader.read(node.this), BOOL))), INT)
    if kind is exp.Count:
        return Term(wrap(_count(reader, node)), INT)
    if kind in PAIRS:
        x, y = pair_of(reader, node)
        if kind in (exp.RegrAvgx, exp.RegrAvgy):
            return _average(reader, average_of(node, x, y), wrap, unique=False)
        return read_statistic(reader, node, x, y, wrap)
    unique = isinstance(node.this, exp.Distinct)
    arg = reader.read(node.this.expressions[0] if unique else node.this)
    if kind in EXTREMES:
        return Term(wrap(fn(EXTREMES[kind], arg.node)), arg.type)
    if kind in MOMENTS:
        return _moment(reader, MOMENTS[kind], arg, wrap, unique=unique)
    if arg.kind == "bool" and reader.dialect in COUNTED:
        arg = Term(as_type(arg, INT), INT)
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
    if unique and len(nodes) == 1 and isinstance(nodes[0], exp.Tuple):  # a row is never NULL
        return _call_function("count", [fn("struct", *(reader.read(n).node for n in nodes[0].expressions))], unique)
    return _call_function("count", [reader.read(n).node for n in nodes], unique)


def _call_function(name: str, args: list[exp.Expr], unique: bool) -> exp.Expr:
    return fn(name, exp.Distinct(expressions=args)) if unique else fn(name, *args)


def total(reader: Reader, arg: Term, wrap: Wrap, *, unique: bool) -> tuple[exp.Expr, Type]:
    """The exact sum, NULL of nothing, and its type: DECIMAL for INT too, which has room for every sum on the way."""
    if arg.kind == "double":
        return _sum_collected(reader, arg, wrap, DOUBLE, unique), DOUBLE
    if arg.kind not in ("int", "decimal"):
        raise refusal(f"SUM of {arg.known}")
    digits = arg.known if arg.kind == "decimal" else COUNT_TYPE
    to = decimal(min(MAX_PRECISION, digits.precision + 10), digits.scale)
    if reader.options.wide and digits.precision + 10 > MAX_PRECISION:
        return _sum_collected(reader, Term(as_type(arg, digits), digits), wrap, to, unique), to
    return wrap(_call_function("sum", [as_type(arg, digits)], unique)), to


def _sum_collected(reader: Reader, arg: Term, wrap: Wrap, to: Type, unique: bool) -> exp.Expr:
    return reader.exactly("total", to, wrap(fn("collect_set" if unique else "collect_list", arg.node)))


def _average(reader: Reader, arg: Term, wrap: Wrap, *, unique: bool) -> Term:
    to = average_type(arg.known, reader.dialect)
    sum_, type_ = total(reader, arg, wrap, unique=unique)
    count = fn("nullif", wrap(_call_function("count", [arg.node.copy()], unique)), number(0))
    if arg.kind == "double":
        return Term(exp.Paren(this=exp.Div(this=sum_, expression=cast(count, DOUBLE))), DOUBLE)
    return Term(_round_once(reader, sum_, type_, cast(count, COUNT_TYPE), to), to)


def _round_once(reader: Reader, sum_: exp.Expr, type_: Type, count: exp.Expr, to: Type) -> exp.Expr:
    """``sum / count`` rounded half up once: the whole part is exact, and what remains is divided to 19 decimals.

    Spark's own type of the quotient may have so few decimals that rounding it again would show."""
    if max(type_.precision, to.precision) > AVERAGE_DIGITS:
        return reader.exactly("quotient", to, sum_, count)

    def applied(form: type[exp.Expr], a: exp.Expr, b: exp.Expr) -> exp.Expr:
        return exp.Paren(this=form(this=a.copy(), expression=b.copy()))

    rest = applied(exp.Mod, sum_, count)
    whole = applied(exp.Div, applied(exp.Sub, sum_, rest), count)
    below_one = decimal(min(MAX_PRECISION, to.scale + 1), to.scale)
    return cast(applied(exp.Add, cast(whole, to), cast(applied(exp.Div, rest, count), below_one)), to)


def _moment(reader: Reader, name: str, arg: Term, wrap: Wrap, *, unique: bool) -> Term:
    """VARIANCE and STDDEV: from the exact count, sum and sum of squares, rounded to DOUBLE once; of DOUBLEs, and of distinct values (of which two
    may have one square), from all values."""
    if arg.kind == "double" or unique:
        values = wrap(fn("collect_set" if unique else "collect_list", arg.node))
        return Term(reader.exactly(f"{name}_of_values", DOUBLE, values), DOUBLE)
    digits = arg.known if arg.kind == "decimal" else COUNT_TYPE
    value = as_type(arg, digits)
    square = Term(
        exp.Paren(this=exp.Mul(this=value, expression=value.copy())),
        bound_type(2 * digits.precision + 1, 2 * digits.scale),
    )
    count = wrap(_call_function("count", [value.copy()], unique))
    totals = [total(reader, t, wrap, unique=unique)[0] for t in (Term(value, digits), square)]
    return Term(reader.exactly(name, DOUBLE, count, *totals), DOUBLE)


def _read_plain(reader: Reader, node: exp.Expr) -> Term:
    return aggregate(reader, node, lambda x: x)


def _grouping(reader: Reader, node: exp.Expr) -> Term:
    """GROUPING(a, b): a bit for each, 1 where it is not grouped by."""
    args = [reader.read(n).node for n in node.expressions]
    return Term(cast(fn("grouping" if len(args) == 1 else "grouping_id", *args), INT), INT)


AGGREGATES: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(KNOWN, _read_plain),
    exp.Filter: _read_plain,
    exp.List: _read_plain,
    exp.IgnoreNulls: _read_plain,
    exp.RespectNulls: _read_plain,
    exp.Any: _read_plain,
    exp.Grouping: _grouping,
    exp.GroupingId: _grouping,
}
