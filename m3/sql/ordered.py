"""Aggregates by an order: which row comes first, what stands in the middle, a list.

``FIRST(x ORDER BY y DESC)``, ``ARG_MAX(x, y)`` and their like are minima and maxima one after the other, each among the rows that
the ones before have left: of an ordered map keyed by (group, y, x), the greatest y, then the least x with that y. So of rows
that the order does not tell apart the least value that is not NULL is taken, whatever came first. Percentiles, modes, lists and
bits read all values of the group (see :mod:`m3.collected`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from m3.collected import misfit
from m3.datatypes import DOUBLE, INT, STRING, Type
from m3.scalars import Const, Scalar, call
from m3.sql.rewrites import IGNORE_NULLS

if TYPE_CHECKING:
    from m3.sql.names import Names

__all__ = ["ORDERED", "OrderedCall", "read_ordered"]

Read = Callable[[exp.Expr], Scalar]
#: (descending, NULLs first)
Place = tuple[bool, bool]
BITS: Mapping[type[exp.Expr], str] = {
    exp.BitwiseAndAgg: "bit_and", exp.BitwiseOrAgg: "bit_or", exp.BitwiseXorAgg: "bit_xor",
}  # fmt: skip


@dataclass(frozen=True)
class OrderedCall:
    """``function``: ``pick``, ``list``, ``mode``, ... Its first argument is the value, the others are ordered by as ``order`` says;
    rows for which one of ``known`` is NULL do not count."""

    function: str
    args: tuple[Scalar, ...]
    type: Type
    order: tuple[Place, ...] = ()
    parameter: Decimal | str | None = None
    known: tuple[Scalar, ...] = field(default=())


def read_ordered(node: exp.Expr, names: Names, read: Read) -> OrderedCall:
    """A call of one of :data:`ORDERED`.

    Raises:
        CompileError: arguments that it does not take.
    """
    return ORDERED[type(node)](node, names, read)


def _sorted(node: exp.Expr, read: Read) -> tuple[exp.Expr, list[tuple[Scalar, Place]]]:
    """An argument, and what it is ordered by."""
    if not isinstance(node, exp.Order):
        return node, []
    places = [(read(o.this), (bool(o.args.get("desc")), bool(o.args.get("nulls_first")))) for o in node.expressions]
    return node.this, places


def _arg_extreme(node: exp.Expr, names: Names, read: Read) -> OrderedCall:
    """The value that belongs to the greatest or least second argument; outside of Spark it is none that is NULL."""
    if node.args.get("count") is not None or isinstance(node.args.get("expression"), exp.Order):
        hint = "ARG_MAX(value, by), or ROW_NUMBER() OVER (.. ORDER BY ..) <= n"
        names.fail(node, f"{node.key.upper()} of several", "unsupported-aggregate", hint)
    if node.args.get("expression") is None:
        names.fail(node, f"{node.key.upper()} with one argument", "wrong-arity", "ARG_MAX(value, by)")
    value, by = read(node.this), read(node.args["expression"])
    spark = names.context.dialect in ("spark", "databricks")
    known = (by,) if spark else (value, by)
    place = (isinstance(node, exp.ArgMax), False)
    return OrderedCall("pick", (value, by), value.type.with_null(), (place,), known=known)


def _first(node: exp.Expr, names: Names, read: Read) -> OrderedCall:
    """FIRST and LAST; without an order any value will do."""
    inner, places = _sorted(node.this, read)
    value, last = read(inner), isinstance(node, exp.Last | exp.LastValue)
    order = tuple((down != last, first != last) for _, (down, first) in places)
    known = (value,) if node.args.get(IGNORE_NULLS) or not places else ()
    return OrderedCall("pick", (value, *(s for s, _ in places)), value.type.with_null(), order, known=known)


def _percentile(node: exp.Expr, names: Names, read: Read) -> OrderedCall:
    inner, places = _sorted(node.this, read)
    name = "percentile_cont" if isinstance(node, exp.PercentileCont) else "percentile_disc"
    if len(places) > 1 or node.args.get("expression") is None:
        hint = f"{name.upper()}(0.5) WITHIN GROUP (ORDER BY x)"
        names.fail(node, f"{name.upper()} of several columns or no fraction", "unsupported-aggregate", hint)
    value, fraction = read(inner), read(node.args["expression"])
    given = fraction.value if isinstance(fraction, Const) else None
    parameter = Decimal(str(given)) if isinstance(given, int | Decimal | float) else None
    descending = bool(places) and places[0][1][0]
    _require(node, names, name, value, parameter)
    if name == "percentile_disc":
        order = ((descending, False),)
        return OrderedCall(name, (value,), value.type.with_null(), order, parameter, known=(value,))
    assert parameter is not None
    parameter = 1 - parameter if descending else parameter
    return OrderedCall(name, (value,), DOUBLE.with_null(), (), parameter, known=(value,))


def _require(node: exp.Expr, names: Names, kind: str, value: Scalar, parameter: Decimal | str | None = None) -> None:
    problem = misfit(kind, value.type, parameter)
    if problem:
        hint = {"list": "CAST it to VARCHAR; the separator is a text"}.get(kind, "numbers, and a fraction from 0 to 1")
        names.fail(node, f"{kind.upper()} of {problem}", "type-mismatch", "INT" if kind in BITS.values() else hint)


def _mode(node: exp.Expr, names: Names, read: Read) -> OrderedCall:
    inner, places = _sorted(node.this, read)
    value = read(inner)
    return OrderedCall("mode", (value,), value.type.with_null(), tuple(p for _, p in places[:1]), known=(value,))


def _list(node: exp.Expr, names: Names, read: Read) -> OrderedCall:
    inner, places = _sorted(node.this, read)
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1:  # what of them is a separator depends on the dialect
            names.fail(node, "a list of several distinct values", "wrong-arity", "STRING_AGG(DISTINCT x, ',')")
        (inner,) = inner.expressions
    value, separator = read(inner), node.args.get("separator")
    if value.type.kind != "string":
        value = call("cast", value, to=STRING)
    given = read(separator) if separator is not None else None
    parameter = "," if given is None else given.value if isinstance(given, Const) else None
    parameter = str(parameter) if isinstance(parameter, str) else None
    _require(node, names, "list", value, parameter)
    args, order = (value, *(s for s, _ in places)), tuple(p for _, p in places)
    return OrderedCall("list", args, STRING.with_null(), order, parameter, known=(value,))


def _bits(node: exp.Expr, names: Names, read: Read) -> OrderedCall:
    twice = node.this if isinstance(node.this, exp.Distinct) and not isinstance(node, exp.BitwiseXorAgg) else None
    value = read(twice.expressions[0] if twice is not None else node.this)
    _require(node, names, BITS[type(node)], value)
    return OrderedCall(BITS[type(node)], (value,), INT.with_null(), known=(value,))


#: Form -> how it is read.
ORDERED: Mapping[type[exp.Expr], Callable[[exp.Expr, Names, Read], OrderedCall]] = {
    exp.ArgMax: _arg_extreme, exp.ArgMin: _arg_extreme,
    exp.First: _first, exp.FirstValue: _first, exp.Last: _first, exp.LastValue: _first,
    exp.PercentileCont: _percentile, exp.PercentileDisc: _percentile, exp.Mode: _mode, exp.GroupConcat: _list,
    **dict.fromkeys(BITS, _bits),
}  # fmt: skip
