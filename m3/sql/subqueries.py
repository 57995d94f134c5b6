"""EXISTS, IN, ANY, ALL and scalar subqueries in an expression -> variables that stand for their values.

``a IN (SELECT b FROM s)`` becomes the variable of ``Subquery(kind="any", operator="eq", operands=(a,), query)``. What its
value is for which rows, is worked out in :mod:`m3.sql.joining`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from m3.algebra.normal import common_type
from m3.datatypes import BOOL, Type
from m3.scalars import Const, Scalar, Var, call
from m3.simplify import simplify
from m3.sql.block import Block, Query, Subquery, is_total
from m3.sql.expressions import is_bare_null
from m3.sql.names import Names
from m3.sql.places import fold_case, is_wrapper

__all__ = ["SubqueryReader", "compare"]

COMPARED: Mapping[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}
NEGATED = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}


class SubqueryReader:
    """Resolves the subqueries in the expressions of one block.

    >>> from m3.sql.show import resolve_example, show
    >>> print(show(resolve_example("SELECT a FROM r WHERE a IN (SELECT b FROM s)")))
    FROM r
    WHERE in
    SELECT r.a AS a
      in := r.a eq any of
        FROM s
        SELECT s.b AS b

    Args:
        names: of the block around them.
        resolve_query: resolves a query within a block.
        read: reads an expression of the block.
    """

    def __init__(
        self, names: Names, resolve_query: Callable[[exp.Expr, Names], Query], read: Callable[[exp.Expr], Scalar]
    ) -> None:
        self.names, self.resolve_query, self.read = names, resolve_query, read

    def leaf(self, node: exp.Expr) -> Scalar | None:
        """The variable for a subquery; None when ``node`` is none."""
        if not isinstance(node, exp.Exists | exp.In | exp.Query | exp.Binary):
            return None
        same = fold_case(node)
        if same not in self.names.known:
            found = self._read_node(node)
            if found is None:
                return None
            self.names.known[same] = found
        return self.names.known[same]

    def _read_node(self, node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Exists):
            return self._add(
                Subquery(self._make_variable("exists", BOOL), "exists", self._resolve(node.this), node=node)
            )
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            return self._read_any(node, node.this, "eq", node.args["query"])
        quantified = type(node) in COMPARED and isinstance(node.expression, exp.Any | exp.All)
        if quantified and isinstance(_unwrap(node.expression.this), exp.Query):
            op = COMPARED[type(node)]
            if isinstance(node.expression, exp.Any):
                return self._read_any(node, node.this, op, node.expression.this)
            return call("not", self._read_any(node, node.this, NEGATED[op], node.expression.this))
        if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
            query = self._resolve(node)
            if len(query.columns) != 1:
                hint = "select one expression"
                self.names.fail(node, f"a scalar subquery with {len(query.columns)} columns", "subquery-columns", hint)
            kind, total = query.columns[0].type, is_total(query)
            variable = self._make_variable("value", kind if total else kind.with_null())
            single = query.single or (
                isinstance(query, Block) and query.grouping is not None and query.grouping.sets == ((),)
            )
            return self._add(Subquery(variable, "value", query, total=total, single=single, node=node))
        return None

    def _make_variable(self, wish: str, type_: Type) -> Var:
        return Var(wish, type_, self.names.context.registry.scope("subquery"))

    def _resolve(self, node: exp.Expr) -> Query:
        return self.resolve_query(_unwrap(node), self.names)

    def _add(self, subquery: Subquery) -> Var:
        self.names.subqueries.append(subquery)
        return subquery.variable

    def _read_any(self, node: exp.Expr, operand: exp.Expr, op: str, inner: exp.Expr) -> Scalar:
        query = self._resolve(inner)
        nodes = operand.expressions if isinstance(operand, exp.Tuple) else [operand.unnest()]
        mine = tuple(self.read(e) for e in nodes)
        if len(mine) != len(query.columns):
            message = f"{len(mine)} values compared with {len(query.columns)} columns"
            self.names.fail(node, message, "subquery-columns", "select as many columns")
        # a NULL without a type has that of what it is compared with
        pairs = zip(mine, query.columns, strict=True)
        mine = tuple(Const(None, c.type.with_null()) if is_bare_null(m) else m for m, c in pairs)
        with self.names.context.source.guard(node):
            condition = compare(op, mine, query.columns)
        variable = self._make_variable("in", BOOL.with_null(condition.type.nullable))
        return self._add(Subquery(variable, "any", query, op, mine, node=node))


def _unwrap(node: exp.Expr) -> exp.Expr:
    while is_wrapper(node):
        node = node.this
    return node


#: Of rows, the comparison of what comes before the last column.
BEFORE = {"lt": "lt", "le": "lt", "gt": "gt", "ge": "gt"}


def compare(operator: str, operands: tuple[Scalar, ...], columns: tuple[Var, ...]) -> Scalar:
    """``(operands) operator (columns)``: rows are ordered by their first column, of equal ones by the next, and so on."""
    pairs = [_unify(a, b) for a, b in zip(operands, columns, strict=True)]
    if len(pairs) == 1 or operator == "eq":
        parts = [call(operator, *pair) for pair in pairs]
        return parts[0] if len(parts) == 1 else call("and", *parts)
    if operator == "ne":
        return call("or", *(call("ne", *pair) for pair in pairs))
    found = call(operator, *pairs[-1])
    for pair in reversed(pairs[:-1]):
        found = call("or", call(BEFORE[operator], *pair), call("and", call("eq", *pair), found))
    return found


def _unify(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    if a.type.same_as(b.type) or (a.type.is_numeric and b.type.is_numeric):
        return a, b
    common = common_type(a, b).with_null(False)
    x, y = (s if s.type.same_as(common) else call("cast", s, to=common) for s in (a, b))
    return simplify(x), simplify(y)
