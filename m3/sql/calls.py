"""Aggregate calls of SQL -> :class:`~m3.sql.block.AggregateCall`: one spelling, with SQL's NULL rules in its filter.

``FIRST(x ORDER BY y DESC)``, ``ARG_MAX(x, y)`` and their like pick a row by an order; of rows that the order does not tell apart
they take the least value that is not NULL, whatever came first. Percentiles, modes, lists and bits read all values of the group
(see :mod:`m3.collected`). How a call is computed is in :mod:`m3.sql.aggregates`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from sqlglot import exp

from m3.algebra.terms import sum_type
from m3.collected import misfit
from m3.datatypes import DOUBLE, INT, STRING, Type, list_of
from m3.dictionary.types import average_type
from m3.evaluate import DEFAULTS, coerce
from m3.scalars import Const, Scalar, call
from m3.sql.block import AggregateCall, Place
from m3.sql.expressions import is_bare_null
from m3.sql.hints import hint_name
from m3.sql.list_calls import EMPTY_LIST, EMPTY_LISTS, IGNORE_NULLS, skips_nulls
from m3.sql.names import Names

__all__ = ["BITS", "EXTREMES", "MOMENTS", "OF_PAIRS", "ORDERED", "SHAPES", "read_call", "require_known"]

Read = Callable[[exp.Expr], Scalar]
#: A call, and the values of which none is NULL in the rows that count.
Ordered = tuple[AggregateCall, tuple[Scalar, ...]]
SUMS = {exp.Sum: "sum", exp.Avg: "avg"}
EXTREMES = {
    exp.Min: "min", exp.Max: "max", exp.LogicalAnd: "min", exp.LogicalOr: "max", exp.AnyValue: "min",
}  # fmt: skip
MOMENTS = {
    exp.Variance: "var_samp", exp.VariancePop: "var_pop", exp.Stddev: "stddev_samp", exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
}  # fmt: skip
#: The shape of a distribution, by what the dialect means by its name: that of the rows, or an estimate from a sample.
SHAPES: Mapping[type[exp.Expr], Mapping[str, str]] = {
    exp.Skewness: {**dict.fromkeys(("duckdb", "snowflake"), "skewness_samp"), **dict.fromkeys(("spark", "databricks"), "skewness_pop")},
    exp.Kurtosis: {**dict.fromkeys(("duckdb", "snowflake", "trino"), "kurtosis_samp"), **dict.fromkeys(("spark", "databricks"), "kurtosis_pop")},
}  # fmt: skip
#: Aggregates without a class of sqlglot's -> the kind of input, and what their argument is cast to.
BY_NAME: Mapping[str, tuple[str, Type | None]] = {
    "PRODUCT": ("product", DOUBLE), "MAD": ("mad", None), "KURTOSIS_POP": ("kurtosis_pop", DOUBLE),
}  # fmt: skip
#: Those whose arguments are x, y; the others take y, x.
OF_PAIRS: Mapping[type[exp.Expr], str] = {
    exp.Corr: "corr", exp.CovarPop: "covar_pop", exp.CovarSamp: "covar_samp", exp.RegrSlope: "regr_slope",
    exp.RegrIntercept: "regr_intercept", exp.RegrR2: "regr_r2", exp.RegrSxx: "regr_sxx", exp.RegrSyy: "regr_sxx",
    exp.RegrSxy: "regr_sxy", exp.RegrCount: "count", exp.RegrAvgx: "avg", exp.RegrAvgy: "avg",
}  # fmt: skip
#: Dialects in which truth values are added up, as 1 and 0.
COUNTED = ("mysql", "duckdb", "sqlite")
SYMMETRIC = (exp.Corr, exp.CovarPop, exp.CovarSamp)
BITS: Mapping[type[exp.Expr], str] = {
    exp.BitwiseAndAgg: "bit_and", exp.BitwiseOrAgg: "bit_or", exp.BitwiseXorAgg: "bit_xor",
}  # fmt: skip


def read_call(node: exp.Expr, names: Names, read: Callable[[exp.Expr], Scalar]) -> AggregateCall:
    """An aggregate call.

    >>> from m3.sql.show import resolve_example, show
    >>> print(show(resolve_example("SELECT BOOL_OR(a > 1) FILTER (WHERE x > 0) AS y, ARG_MAX(a, x) AS z FROM r")))
    FROM r
    GROUP BY ()
      y := max(r.a > 1) FILTER (WHERE r.x > 0)
      z := pick(r.a, r.x) FILTER (WHERE NOT r.x IS NULL)
    SELECT y AS y, z AS z

    Args:
        node: the call, or FILTER around it.
        names: where its arguments belong.
        read: reads an argument.

    Raises:
        CompileError: a function that cannot be maintained, or an argument that it does not take.
    """
    where = None
    if isinstance(node, exp.Filter):
        where, node = read(node.expression.this), node.this
    inner = node.this
    if isinstance(inner, exp.Order) and isinstance(node, exp.AnyValue):
        name = names.context.source.name(node)
        names.fail(node, f"{name} in an order is not any value", "ordered-any-value", "FIRST(.. ORDER BY ..)")
    if isinstance(inner, exp.Order) and inner.this and type(node) not in ORDERED:
        for key in inner.expressions:
            read(key.this)
        inner = inner.this  # the sum, the number and the extremes of values are the same in any order
    unique = isinstance(inner.this if isinstance(inner, exp.Order) else inner, exp.Distinct)
    if type(node) in OF_PAIRS:
        return _read_pairs(node, names, read, where)
    if type(node) in ORDERED:
        found, known = ORDERED[type(node)](node, names, read)
        return replace(found, where=require_known(known, where), distinct=unique or found.distinct)
    nodes = inner.expressions if unique else [inner, *(node.expressions if isinstance(node, exp.Count) else [])]
    if isinstance(node, exp.Count | exp.CountIf) and (inner is None or isinstance(inner, exp.Star)):
        return AggregateCall("count", (), where, False, INT)
    row = unique and isinstance(node, exp.Count) and len(nodes) == 1 and isinstance(nodes[0], exp.Tuple)
    if row:
        nodes = nodes[0].expressions
    if not nodes or not all(isinstance(n, exp.Expr) for n in nodes):
        name = names.context.source.name(node)
        names.fail(node, f"{name} of nothing", "wrong-arity", hint_name(name, names.context.dialect))
    if node.args.get("expressions") and not isinstance(node, exp.Count):
        hint = "GREATEST or LEAST of several values; ROW_NUMBER() OVER (.. ORDER BY ..) <= n for several rows"
        names.fail(node, f"{names.context.source.name(node)} with several arguments", "wrong-arity", hint)
    args = tuple(read(n) for n in nodes)
    if row:  # a row is never NULL, and so counts where its parts are
        args = tuple(part for a in args for part in _know_null(a))
    if isinstance(node, exp.CountIf):
        where = args[0] if where is None else call("and", where, args[0])
        return AggregateCall("count", args[:1] if unique else (), where, unique, INT)
    return _read_single(node, names, args, where, unique)


def _know_null(scalar: Scalar) -> Iterator[Scalar]:
    """Expressions that are never NULL, and equal where a scalar is the same."""
    if not scalar.type.nullable:
        yield scalar
        return
    yield call("is_null", scalar)
    kind = scalar.type.with_null(False)
    yield call("coalesce", scalar, Const(coerce(DEFAULTS[kind.kind], kind), kind))


def _read_pairs(
    node: exp.Expr, names: Names, read: Callable[[exp.Expr], Scalar], where: Scalar | None
) -> AggregateCall:
    """CORR(x, y), REGR_SLOPE(y, x) and their like look at the pairs in which none is NULL."""
    pair = (node.this, node.args.get("expression"))
    args = [read(n) for n in pair if n is not None and not isinstance(n, exp.Distinct)]
    if any(a.type.kind == "double" for a in args):
        args = [call("cast", a, to=DOUBLE) if a.type.is_numeric else a for a in args]
    if len(args) != 2 or not all(a.type.is_numeric or a.type.kind == "double" for a in args):
        hint = "two numbers"
        kinds = " and ".join(str(a.type) for a in args)
        names.fail(node, f"{names.context.source.name(node)} of {kinds or 'nothing'}", "type-mismatch", hint)
    if not isinstance(node, SYMMETRIC):
        args.reverse()
    kept = require_known(args, where)
    function, (x, y) = OF_PAIRS[type(node)], args
    if function == "count":
        return AggregateCall("count", (), kept, False, INT)
    if function == "avg":
        chosen = x if isinstance(node, exp.RegrAvgx) else y
        average = DOUBLE if chosen.type.kind == "double" else average_type(chosen.type, names.context.dialect)
        return AggregateCall("avg", (chosen,), kept, False, average.with_null())
    wanted = (x,) if isinstance(node, exp.RegrSxx) else (y,) if isinstance(node, exp.RegrSyy) else (x, y)
    return AggregateCall(function, wanted, kept, False, DOUBLE.with_null())


def _read_single(
    node: exp.Expr, names: Names, args: tuple[Scalar, ...], where: Scalar | None, unique: bool
) -> AggregateCall:
    kind = type(node)
    if kind is exp.Count:
        return AggregateCall("count", args, where, unique, INT)
    if kind in EXTREMES:
        if kind in (exp.LogicalAnd, exp.LogicalOr) and args[0].type.kind != "bool":
            names.fail(node, f"{names.context.source.name(node)} of {args[0].type}", "type-mismatch", "a condition")
        return AggregateCall(EXTREMES[kind], args, where, False, args[0].type.with_null())
    if kind not in SUMS and kind not in MOMENTS:
        name = names.context.source.name(node)
        hint = hint_name(name, names.context.dialect)
        names.fail(node, f"{name} cannot be maintained", "unsupported-aggregate", hint)
    if is_bare_null(args[0]):
        args = (Const(None, INT.with_null()),)
    if args[0].type.kind == "bool" and kind in SUMS and names.context.dialect in COUNTED:
        args = (call("cast", args[0], to=INT),)
    if args[0].type.kind == "double":
        return AggregateCall({**SUMS, **MOMENTS}[kind], args, where, unique, DOUBLE.with_null())
    if not args[0].type.is_numeric:
        hint = "CAST the argument to DECIMAL(p, s): only INT and DECIMAL sums are exact"
        names.fail(node, f"{names.context.source.name(node)} of {args[0].type}", "type-mismatch", hint)
    if kind in MOMENTS:
        return AggregateCall(MOMENTS[kind], args, where, unique, Type("double", nullable=True))
    if kind is exp.Avg:
        return AggregateCall("avg", args, where, unique, average_type(args[0].type, names.context.dialect).with_null())
    return AggregateCall("sum", args, where, unique, sum_type(args[0].type).with_null())


def require_known(scalars: Sequence[Scalar], where: Scalar | None) -> Scalar | None:
    """The filter of a call that leaves out the rows in which one of its values is NULL."""
    conditions = [call("not", call("is_null", s)) for s in scalars if s.type.nullable]
    conditions += [where] if where is not None else []
    return call("and", *conditions) if len(conditions) > 1 else conditions[0] if conditions else None


# Aggregates by an order.


def _split_order(node: exp.Expr, read: Read) -> tuple[exp.Expr, list[tuple[Scalar, Place]]]:
    """An argument, and what it is ordered by."""
    if not isinstance(node, exp.Order):
        return node, []
    places = [(read(o.this), (bool(o.args.get("desc")), bool(o.args.get("nulls_first")))) for o in node.expressions]
    return node.this, places


def _read_arg_extreme(node: exp.Expr, names: Names, read: Read) -> Ordered:
    """The value that belongs to the greatest or least second argument; outside of Spark it is none that is NULL."""
    if node.args.get("count") is not None or isinstance(node.args.get("expression"), exp.Order):
        hint = "ARG_MAX(value, by), or ROW_NUMBER() OVER (.. ORDER BY ..) <= n"
        names.fail(node, f"{names.context.source.name(node)} of several", "unsupported-aggregate", hint)
    if node.args.get("expression") is None:
        names.fail(node, f"{names.context.source.name(node)} with one argument", "wrong-arity", "ARG_MAX(value, by)")
    value, by = read(node.this), read(node.args["expression"])
    spark = names.context.dialect in ("spark", "databricks")
    known = (by,) if spark else (value, by)
    place = (isinstance(node, exp.ArgMax), False)
    return AggregateCall("pick", (value, by), None, False, value.type.with_null(), (place,)), known


def _read_first(node: exp.Expr, names: Names, read: Read) -> Ordered:
    """FIRST and LAST; without an order any value will do."""
    inner, places = _split_order(node.this, read)
    value, last = read(inner), isinstance(node, exp.Last | exp.LastValue)
    order = tuple((down != last, first != last) for _, (down, first) in places)
    known = (value,) if node.args.get(IGNORE_NULLS) or not places else ()
    args = (value, *(s for s, _ in places))
    return AggregateCall("pick", args, None, False, value.type.with_null(), order), known


def _read_percentile(node: exp.Expr, names: Names, read: Read) -> Ordered:
    inner, places = _split_order(node.this, read)
    name = "percentile_cont" if isinstance(node, exp.PercentileCont) else "percentile_disc"
    if len(places) > 1 or node.args.get("expression") is None:
        hint = f"{name.upper()}(0.5) WITHIN GROUP (ORDER BY x)"
        names.fail(node, f"{name.upper()} of several columns or no fraction", "unsupported-aggregate", hint)
    value, fraction = read(inner), read(node.args["expression"])
    given = fraction.value if isinstance(fraction, Const) else None
    parameter = Decimal(str(given)) if isinstance(given, int | Decimal | float) else None
    _order_by_itself(node, names, name.upper(), value, places)
    descending = bool(places) and places[0][1][0]
    _check(node, names, name, value, parameter)
    if name == "percentile_disc":
        order = ((descending, False),)
        return AggregateCall(name, (value,), None, False, value.type.with_null(), order, parameter), (value,)
    assert parameter is not None
    parameter = 1 - parameter if descending else parameter
    return AggregateCall(name, (value,), None, False, DOUBLE.with_null(), (), parameter), (value,)


def _check(node: exp.Expr, names: Names, kind: str, value: Scalar, parameter: Decimal | str | None = None) -> None:
    problem = misfit(kind, value.type, parameter)
    if problem:
        hint = {"list": "CAST it to VARCHAR; the separator is a text"}.get(kind, "numbers, and a fraction from 0 to 1")
        names.fail(
            node,
            f"{names.context.source.name(node)} of {problem}",
            "type-mismatch",
            "INT" if kind in BITS.values() else hint,
        )


def _read_mode(node: exp.Expr, names: Names, read: Read) -> Ordered:
    inner, places = _split_order(node.this, read)
    value = read(inner)
    _order_by_itself(node, names, "MODE", value, places)
    order = tuple(p for _, p in places)
    return AggregateCall("mode", (value,), None, False, value.type.with_null(), order), (value,)


def _order_by_itself(
    node: exp.Expr, names: Names, name: str, value: Scalar, places: Sequence[tuple[Scalar, Place]]
) -> None:
    """Fail where MODE or a percentile is ordered by anything but its own values: the map keeps these alone, so which of the most
    frequent values has the least key, as DuckDB takes it, is not known."""
    if len(places) > 1 or any(scalar != value for scalar, _ in places):
        hint = "order by the value itself, x ORDER BY x DESC; ARG_MIN(x, y) is the x of the least y"
        names.fail(node, f"{name} in the order of something else", "unsupported-aggregate", hint)


def _read_list(node: exp.Expr, names: Names, read: Read) -> Ordered:
    inner, places = _split_order(node.this, read)
    unique = isinstance(inner, exp.Distinct)
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1:  # what of them is a separator depends on the dialect
            names.fail(node, "a list of several distinct values", "wrong-arity", "STRING_AGG(DISTINCT x, ',')")
        (inner,) = inner.expressions
    value, separator = read(inner), node.args.get("separator")
    if unique and any(scalar != value for scalar, _ in places):
        # a value with several keys would be there several times
        hint = "order distinct values by themselves: STRING_AGG(DISTINCT x, ',' ORDER BY x)"
        names.fail(node, "distinct values in the order of something else", "unsupported-aggregate", hint)
    if value.type.kind != "string":
        value = call("cast", value, to=STRING)
    given = read(separator) if separator is not None else None
    parameter = "," if given is None else given.value if isinstance(given, Const) else None
    parameter = str(parameter) if isinstance(parameter, str) else None
    _check(node, names, "list", value, parameter)
    args, order = (value, *(s for s, _ in places)), tuple(p for _, p in places)
    return AggregateCall("list", args, None, False, STRING.with_null(), order, parameter), (value,)


def _read_array(node: exp.Expr, names: Names, read: Read) -> Ordered:
    """ARRAY_AGG, LIST, COLLECT_LIST, COLLECT_SET, ..: the values themselves are the last keys of the map, as of a text."""
    limit = node.this if isinstance(node.this, exp.Limit) else None
    inner, places = _split_order(node.this if limit is None else limit.this, read)
    first = None if limit is None else read(limit.expression)
    if isinstance(inner, exp.HavingMax) or (first is not None and not _is_positive(first)):
        hint = "ARRAY_AGG(x ORDER BY y LIMIT 3)"
        names.fail(node, "a list with HAVING, or a LIMIT that is no number", "unsupported-aggregate", hint)
    unique = isinstance(node, exp.ArrayUniqueAgg) or isinstance(inner, exp.Distinct)
    given = inner.expressions if isinstance(inner, exp.Distinct) else [inner]
    if len(given) != 1 or not isinstance(given[0], exp.Expr):
        names.fail(
            node, f"a list of {len(given)} columns", "wrong-arity", "a list of one scalar: ARRAY_AGG(x ORDER BY y)"
        )
    value = read(given[0])
    at = next((i for i, (scalar, _) in enumerate(places) if scalar == value), None)
    places = places if at is None else places[: at + 1]  # behind the value itself nothing decides any more
    if unique and len(places) > (at is not None):
        hint = "order distinct values by themselves: ARRAY_AGG(DISTINCT x ORDER BY x)"
        names.fail(node, "distinct values in the order of something else", "unsupported-aggregate", hint)
    dialect = names.context.dialect
    skips = skips_nulls(node)
    if dialect == "bigquery" and value.type.nullable and not skips:  # there it fails where one of them is NULL
        names.fail(node, "a list of values that may be NULL", "nullable-list", "ARRAY_AGG(x IGNORE NULLS)")
    known = (value,) if skips else ()
    empty = bool(node.args.get(EMPTY_LIST)) or dialect in EMPTY_LISTS
    others = places if at is None else places[:at]
    args, order = (value, *(s for s, _ in others)), tuple(p for _, p in places)
    made = list_of(value.type.with_null(), nullable=not empty)
    parameter = Decimal(str(first.value)) if isinstance(first, Const) else None
    return AggregateCall("array", args, None, unique, made, order, parameter), known


def _is_positive(scalar: Scalar) -> bool:
    return isinstance(scalar, Const) and isinstance(scalar.value, int) and scalar.value > 0


def _read_bits(node: exp.Expr, names: Names, read: Read) -> Ordered:
    twice = node.this if isinstance(node.this, exp.Distinct) and not isinstance(node, exp.BitwiseXorAgg) else None
    value = read(twice.expressions[0] if twice is not None else node.this)
    _check(node, names, BITS[type(node)], value)
    return AggregateCall(BITS[type(node)], (value,), None, False, INT.with_null()), (value,)


def _read_shape(node: exp.Expr, names: Names, read: Read) -> Ordered:
    """What all values of a group, computed as DOUBLE, are: SKEWNESS, KURTOSIS, PRODUCT, and MAD, which is exact of exact numbers."""
    name, dialect = names.context.source.name(node), names.context.dialect
    to: Type | None = DOUBLE
    if type(node) in SHAPES:
        kind = SHAPES[type(node)].get(dialect or "", "")
        inner = node.this
        if not kind:
            hint = "in DuckDB and Snowflake it is of a sample, in Spark of the rows themselves: write it out of AVG(x), AVG(x * x), .."
            names.fail(node, f"{name}, which has no meaning in this dialect", "unsupported-aggregate", hint)
    elif str(node.this).upper() in BY_NAME and len(node.expressions) == 1:
        kind, to = BY_NAME[str(node.this).upper()]
        (inner,) = node.expressions
    else:
        names.fail(node, f"{name} cannot be maintained", "unsupported-aggregate", hint_name(name, dialect))
    value = read(inner.expressions[0] if isinstance(inner, exp.Distinct) else inner)
    if is_bare_null(value):
        value = Const(None, DOUBLE.with_null())
    if not value.type.is_numeric and value.type.kind != "double":
        names.fail(node, f"{name} of {value.type}", "type-mismatch", "a number")
    if to is not None and value.type.kind != "double":
        value = call("cast", value, to=to)
    return AggregateCall(kind, (value,), None, isinstance(inner, exp.Distinct), DOUBLE.with_null()), (value,)


#: Form -> how it is read.
ORDERED: Mapping[type[exp.Expr], Callable[[exp.Expr, Names, Read], Ordered]] = {
    exp.ArgMax: _read_arg_extreme, exp.ArgMin: _read_arg_extreme,
    exp.First: _read_first, exp.FirstValue: _read_first, exp.Last: _read_first, exp.LastValue: _read_first,
    exp.PercentileCont: _read_percentile, exp.PercentileDisc: _read_percentile, exp.Mode: _read_mode, exp.GroupConcat: _read_list,
    exp.ArrayAgg: _read_array, exp.ArrayUniqueAgg: _read_array,
    **dict.fromkeys(BITS, _read_bits), **dict.fromkeys((*SHAPES, exp.AnonymousAggFunc), _read_shape),
}  # fmt: skip
