"""Conditions and choices of SQL: three-valued logic, comparisons of rows, IN, IS, CASE and its many other names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from m3.scalars import Call, Const, Scalar, const
from m3.sql.dates import interval_seconds

if TYPE_CHECKING:
    from m3.sql.expressions import ExpressionReader

__all__ = ["LOGIC"]

COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
    exp.NullSafeEQ: "same", exp.NullSafeNEQ: "same",
}  # fmt: skip


def _comparison(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    op = COMPARISONS[type(node)]
    if isinstance(node.args["this"].unnest(), exp.Tuple):
        result = _rows(reader, node, op)
    else:
        result = reader.compare(node, op, *(_side(reader, node.args[n]) for n in ("this", "expression")))
    return reader.call(node, "not", result) if isinstance(node, exp.NullSafeNEQ) else result


def _side(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """A side of a comparison, where an interval stands for its seconds."""
    seconds = interval_seconds(reader, node)
    return reader.read(node) if seconds is None else seconds


def _rows(reader: ExpressionReader, node: exp.Expr, op: str) -> Scalar:
    """``(a, b) = (c, d)``, or by order: the first pair that differs decides."""
    if op not in ("eq", "ne", "same"):
        return _ordered_rows(reader, node, op, _pairs(reader, node, node.args["this"], node.args["expression"]))
    equal = _equal_rows(reader, node, "same" if op == "same" else "eq", node.args["this"], node.args["expression"])
    return reader.call(node, "not", equal) if op == "ne" else equal


def _equal_rows(reader: ExpressionReader, node: exp.Expr, op: str, left: exp.Expr, right: exp.Expr) -> Scalar:
    return _joined(reader, node, "and", [reader.compare(node, op, a, b) for a, b in _pairs(reader, node, left, right)])


def _ordered_rows(reader: ExpressionReader, node: exp.Expr, op: str, pairs: list[tuple[Scalar, Scalar]]) -> Scalar:
    (a, b), rest = pairs[0], pairs[1:]
    if not rest:
        return reader.compare(node, op, a, b)
    later = reader.call(node, "and", reader.compare(node, "eq", a, b), _ordered_rows(reader, node, op, rest))
    first = reader.compare(node, {"le": "lt", "ge": "gt"}.get(op, op), a, b)
    return reader.call(node, "or", first, later)


def _pairs(reader: ExpressionReader, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> list[tuple[Scalar, Scalar]]:
    left, right = left.unnest(), right.unnest()
    if not isinstance(left, exp.Tuple) or not isinstance(right, exp.Tuple):
        reader.source.fail(node, "a row compared with a value", "type-mismatch", "(a, b) = (c, d)")
    if len(left.expressions) != len(right.expressions):
        reader.source.fail(node, "rows of different lengths", "type-mismatch", "(a, b) = (c, d)")
    pairs = zip(left.expressions, right.expressions, strict=True)
    return [(reader.read(a), reader.read(b)) for a, b in pairs]


def _joined(reader: ExpressionReader, node: exp.Expr, op: str, conditions: list[Scalar]) -> Scalar:
    return conditions[0] if len(conditions) == 1 else reader.call(node, op, *conditions)


def _logic(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """Nested ANDs (or ORs) become one flat call."""
    op = "and" if isinstance(node, exp.And) else "or"
    args: list[Scalar] = []
    for side in node.flatten(unnest=False):
        scalar = reader.condition(side)
        args.extend(scalar.args if isinstance(scalar, Call) and scalar.op == op else (scalar,))
    return reader.call(node, op, *args)


def _not(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    return reader.call(node, "not", reader.condition(node.this))


def _xor(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    return reader.call(node, "ne", reader.condition(node.args["this"]), reader.condition(node.args["expression"]))


def _between(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    value, low, high = (_side(reader, node.args[name]) for name in ("this", "low", "high"))
    inside = _within(reader, node, value, low, high)
    return reader.call(node, "or", inside, _within(reader, node, value, high, low)) if node.args.get(
        "symmetric"
    ) else inside  # fmt: skip


def _within(reader: ExpressionReader, node: exp.Expr, value: Scalar, low: Scalar, high: Scalar) -> Scalar:
    above = reader.compare(node, "ge", value, low)
    return reader.call(node, "and", above, reader.compare(node, "le", value, high))


def _in(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    if node.args.get("query") or not node.expressions:
        reader.source.fail(node, "IN over a subquery", "subquery", "list the constants, or join the table instead")
    if isinstance(node.this.unnest(), exp.Tuple):
        rows = [_equal_rows(reader, node, "eq", node.this, row) for row in node.expressions]
        return _joined(reader, node, "or", rows)
    value = reader.read(node.this)
    options = [reader.like_other(node, reader.read(e), value) for e in node.expressions]
    if all(isinstance(o, Const) for o in options):
        return reader.call(node, "in", value, *options)
    return _joined(reader, node, "or", [reader.compare(node, "eq", value, o) for o in options])


def _is(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    other = node.args["expression"]
    if isinstance(other, exp.Null):
        return reader.call(node, "is_null", reader.read(node.this))
    if not isinstance(other, exp.Boolean):
        hint = "IS [NOT] NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"
        reader.source.fail(node, "IS with something else", "unsupported-expression", hint)
    tested = reader.condition(node.this)
    return reader.call(node, "coalesce", tested if other.this else reader.call(node, "not", tested), const(False))


def _case(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    branches, operand = node.args["ifs"], node.this
    if operand is None:
        conditions = [reader.condition(b.this) for b in branches]
    else:
        value = reader.read(operand)
        conditions = [reader.compare(b, "eq", value, reader.read(b.this)) for b in branches]
    return reader.choice(node, conditions, [*(b.args["true"] for b in branches), node.args.get("default")])


def _if(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    return reader.choice(node, [reader.condition(node.this)], [node.args["true"], node.args.get("false")])


def _nvl2(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    known = reader.call(node, "not", reader.call(node, "is_null", reader.read(node.this)))
    return reader.choice(node, [known], [node.args["true"], node.args.get("false")])


def _decode(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """DECODE(value, search, result, ..., default), where NULL is found by NULL."""
    operand, *rest = node.expressions
    pairs, default = rest[: len(rest) // 2 * 2], rest[-1] if len(rest) % 2 else None
    value = reader.read(operand)
    conditions = [reader.compare(node, "same", value, reader.read(s)) for s in pairs[::2]]
    return reader.choice(node, conditions, [*pairs[1::2], default])


def _coalesce(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    args = [reader.read(n) for n in (node.this, *node.expressions)]
    typed = next((a for a in args if not isinstance(a, Const)), args[0])
    return reader.call(node, "coalesce", *(reader.like_other(node, a, typed) for a in args))


def _nullif(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    value = reader.read(node.this)
    same = reader.compare(node, "eq", value, reader.read(node.args["expression"]))
    return reader.call(node, "case", same, Const(None, value.type.with_null()), value)


def _refused(message: str, hint: str) -> Callable[[ExpressionReader, exp.Expr], Scalar]:
    return lambda reader, node: reader.source.fail(node, message, "unsupported-expression", hint)


LOGIC: Mapping[type[exp.Expr], Callable[[ExpressionReader, exp.Expr], Scalar]] = {
    **dict.fromkeys(COMPARISONS, _comparison),
    exp.And: _logic,
    exp.Or: _logic,
    exp.Not: _not,
    exp.Xor: _xor,
    exp.Between: _between,
    exp.In: _in,
    exp.Is: _is,
    exp.Case: _case,
    exp.If: _if,
    exp.Nvl2: _nvl2,
    exp.DecodeCase: _decode,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Tuple: _refused("a row of values", "compare rows by = or IN"),
    exp.SafeDivide: _refused("SAFE_DIVIDE is not supported", "a / NULLIF(b, 0)"),
}
