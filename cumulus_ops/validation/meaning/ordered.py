"""Aggregates by an order: FIRST, ARG_MAX, percentiles, modes, lists, in the spellings of several dialects.

A group's values are collected with what they are ordered by, and an exact function looks at them: Spark's own do not say which of
equal rows they take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader
from cumulus_ops.validation.meaning.terms import Term, as_type, fn, refused, text
from cumulus_ops.validation.meaning.texts import as_text
from m3.datatypes import DOUBLE, INT, STRING, Type

__all__ = ["ORDERED", "first_value"]

Wrap = Callable[[exp.Expr], exp.Expr]
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


def _collected(
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
        raise refused(f"{node.key.upper()} of several")
    skipped = "o0" if reader.dialect in ("spark", "databricks") else "v,o0"
    keys = [(by.node, isinstance(node, exp.ArgMax), False)]
    return _collected(reader, "pick", value.known, value.node, keys, wrap, skipped=skipped)


def first_value(reader: Reader, node: exp.Expr, wrap: Wrap, *, without_nulls: bool = False) -> Term:
    """FIRST and LAST; without an order the least value."""
    inner, places = _split(node.this)
    value = reader.read(inner)
    skipped = "v" if without_nulls or not places else ""
    keys = _keys(reader, places, turned=isinstance(node, LASTS))
    return _collected(reader, "pick", value.known, value.node, keys, wrap, skipped=skipped)


def _percentile(reader: Reader, function: str, value: exp.Expr, fraction: exp.Expr, down: bool, wrap: Wrap) -> Term:
    given, term = reader.read(fraction), reader.read(value)
    if given.value is None or isinstance(given.value, bool | str):
        raise refused("a fraction that is not a number")
    to = DOUBLE if function == "percentile_cont" else term.known
    return _collected(reader, function, to, term.node, [(term.node, down, False)], wrap, parameter=str(given.value))


def _fraction(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    """``MEDIAN(x)``, ``QUANTILE(x, p)`` and ``PERCENTILE_CONT(x, p)``."""
    discrete = isinstance(node, exp.PercentileDisc) or (isinstance(node, exp.Quantile) and reader.dialect == "duckdb")
    given = node.args.get("quantile") or node.args.get("expression") or exp.Literal.number("0.5")
    inner, places = _split(node.this)
    down = bool(places) and bool(places[0].args.get("desc"))
    return _percentile(reader, "percentile_disc" if discrete else "percentile_cont", inner, given, down, wrap)


def _mode(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    inner, places = _split(node.this)
    value = reader.read(inner)
    keys = _keys(reader, places[:1]) or [(value.node, False, True)]
    return _collected(reader, "mode", value.known, value.node, keys, wrap)


def _list(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    inner, places = _split(node.this)
    unique = isinstance(inner, exp.Distinct)
    value = as_text(reader, inner.expressions[0] if unique else inner).node
    separator = node.args.get("separator")
    given = reader.read(separator).value if separator is not None else ","
    if not isinstance(given, str):
        raise refused("a separator that is not constant")
    return _collected(
        reader, "unique_list" if unique else "list", STRING, value, _keys(reader, places), wrap, parameter=given
    )


def _bits(reader: Reader, node: exp.Expr, wrap: Wrap) -> Term:
    return Term(wrap(fn(BITS[type(node)], as_type(reader.read(node.this), INT))), INT)


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
    if isinstance(inner, exp.GroupConcat) and not isinstance(inner.this, exp.Order):
        ordered = exp.Order(this=inner.this, expressions=places)
        return _list(reader, exp.GroupConcat(this=ordered, separator=inner.args.get("separator")), wrap)
    raise refused(f"{inner.key.upper()} WITHIN GROUP")


#: Form -> what it means as an aggregate.
ORDERED: Mapping[type[exp.Expr], Build] = {
    exp.ArgMax: _arg_extreme, exp.ArgMin: _arg_extreme, exp.First: first_value, exp.FirstValue: first_value, exp.Last: first_value,
    exp.LastValue: first_value, exp.Median: _fraction, exp.Quantile: _fraction, exp.PercentileCont: _fraction,
    exp.PercentileDisc: _fraction, exp.Mode: _mode, exp.GroupConcat: _list, exp.WithinGroup: _within_group,
    **dict.fromkeys(BITS, _bits),
}  # fmt: skip
