"""EXISTS, IN, ANY, ALL and scalar subqueries. Spark has the first two in conditions only, and the others not at all: there the
truth follows from the rows' number, their values, and the least and the greatest of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Columns, Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, common, fn, refused, when
from m3.datatypes import BOOL

__all__ = ["SUBQUERIES", "quantified", "within"]

Compared = Callable[[Reader, type[exp.Expr], Term, Term], Term]
OPPOSITES: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.GT: exp.LTE, exp.LTE: exp.GT,
}  # fmt: skip


def _query(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery | exp.Paren) and not node.args.get("with_"):
        node = node.this
    return node


def _exists(reader: Reader, node: exp.Expr) -> Term:
    query, _ = reader.query(_query(node.this), reader.scope)
    if reader.filtering:
        return Term(exp.Exists(this=query), BOOL)
    counted = _from(query, fn("count", exp.Literal.number(1)))
    return Term(exp.Paren(this=exp.GT(this=exp.Subquery(this=counted), expression=exp.Literal.number(0))), BOOL)


def _from(query: exp.Expr, *items: exp.Expr) -> exp.Expr:
    """``SELECT items FROM (query)``."""
    table = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("q_")))
    return exp.Select(expressions=list(items), from_=exp.From(this=table))


def _scalar(reader: Reader, node: exp.Expr) -> Term:
    query, columns = reader.query(_query(node), reader.scope)
    return Term(exp.Subquery(this=query), columns[0][1])


def within(reader: Reader, node: exp.Expr, compared: Compared) -> Term:
    """``x IN (query)``, also of rows."""
    operand = node.this
    nodes = operand.expressions if isinstance(operand, exp.Tuple) else [operand.unnest()]
    mine = [reader.read(n) for n in nodes]
    query, columns = reader.query(_query(node.args["query"]), reader.scope)
    if not reader.filtering:
        return _any(reader, exp.EQ, mine, query, columns, compared)
    types = [common("IN", [t.type, c]) for t, (_, c) in zip(mine, columns, strict=True)]
    left = [as_type(t, to) for t, to in zip(mine, types, strict=True)]
    if any(c is None or not c.same_as(to) for (_, c), to in zip(columns, types, strict=True)):
        query = _from(query, *(cast(_named(n), to) for (n, _), to in zip(columns, types, strict=True)))
    value = left[0] if len(left) == 1 else exp.Tuple(expressions=left)
    return Term(exp.In(this=value, query=exp.Subquery(this=query)), BOOL)


def quantified(reader: Reader, node: exp.Expr, form: type[exp.Expr], compared: Compared) -> Term:
    """``x op ANY (query)`` and ``x op ALL (query)``."""
    right = node.args["expression"]
    inner = _query(right.this)
    if not isinstance(inner, exp.Query):
        raise refused("ANY or ALL of something else")
    query, columns = reader.query(inner, reader.scope)
    mine = [reader.read(node.args["this"].unnest())]
    if isinstance(right, exp.Any):
        return _any(reader, form, mine, query, columns, compared)
    opposite = _any(reader, OPPOSITES[form], mine, query, columns, compared)
    return Term(exp.Not(this=exp.Paren(this=opposite.node)), BOOL)


def _any(
    reader: Reader, form: type[exp.Expr], mine: list[Term], query: exp.Expr, columns: Columns, compared: Compared
) -> Term:
    """Whether a comparison with some row is true, else whether it is unknown for some, from what is known of all rows."""
    if len(mine) != 1 or form not in OPPOSITES:
        raise refused("a comparison with rows outside of a condition")
    (name, type_), value = columns[0], mine[0]
    to = common("IN", [value.type, type_])
    column = as_type(Term(_named(name), type_), to)
    known = fn(
        "struct",
        fn("count", exp.Literal.number(1)),
        fn("count", column),
        fn("min", column),
        fn("max", column),
        fn("collect_set", column),
    )
    found = exp.Subquery(this=_from(query, known))
    rows, values, least, most, every = (exp.Dot(this=found.copy(), expression=_quoted(f"col{i}")) for i in range(1, 6))
    x = Term(as_type(value, to), to)
    if form is exp.EQ:
        match = fn("array_contains", every, x.node)
    elif form is exp.NEQ:
        match = exp.Or(
            this=compared(reader, form, x, Term(least, to)).node,
            expression=compared(reader, form, x, Term(most, to)).node,
        )
    else:
        match = compared(reader, form, x, Term(most if form in (exp.LT, exp.LTE) else least, to)).node
    null = exp.Is(this=x.node.copy(), expression=exp.Null())
    nothing = exp.EQ(this=rows, expression=exp.Literal.number(0))
    unknown = exp.LT(this=values, expression=rows.copy())
    hit = fn("coalesce", match, exp.false())
    return Term(when(nothing, exp.false(), null, exp.Null(), hit, exp.true(), unknown, exp.Null(), exp.false()), BOOL)


def _quoted(name: str) -> exp.Expr:
    return exp.to_identifier(name, quoted=True)


def _named(name: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True))


SUBQUERIES: Mapping[type[exp.Expr], Rule] = {
    exp.Exists: _exists,
    **dict.fromkeys((exp.Subquery, exp.Select, exp.Union, exp.Except, exp.Intersect), _scalar),
}
