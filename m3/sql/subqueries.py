"""EXISTS, IN, ANY, ALL and scalar subqueries: placeholders, and the cases that they may be.

A subquery's truth is joined in as a derived relation with one row per group of its correlation: ``EXISTS`` is true for
the rows that find theirs, and false for all rows less those. So nothing here is a special form of join: a condition that
contains subqueries anywhere is decided case by case, and cases in which it is never true vanish.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from m3.algebra import Branch, Rows, add_conditions, common_type, is_row
from m3.datatypes import BOOL, Type
from m3.scalars import Const, Key, Scalar, Var, call, const, vars_of
from m3.simplify import simplify
from m3.sql.block import Block, Case
from m3.sql.correlation import existence, several
from m3.sql.places import folded

__all__ = ["SubqueryReader"]

TRUE, FALSE, UNKNOWN = const(True), const(False), Const(None, BOOL.with_null())
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
    """Reads the subqueries in the expressions of one block.

    Args:
        block: the block around them.
        read_query: reads a query within a block.
        read: reads an expression of the block.
    """

    def __init__(
        self, block: Block, read_query: Callable[[exp.Expr, Block], Rows], read: Callable[[exp.Expr], Scalar]
    ) -> None:
        self.block, self.read_query, self.read = block, read_query, read

    def leaf(self, node: exp.Expr) -> Scalar | None:
        """The placeholder for a subquery; None when ``node`` is none."""
        if not isinstance(node, exp.Exists | exp.In | exp.Query | exp.Binary):
            return None
        same = folded(node)
        if same not in self.block.known:
            found = self._read(node)
            if found is None:
                return None
            self.block.known[same] = found
        return self.block.known[same]

    def _read(self, node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Exists):
            return self._truth("exists", self._cases(self.read_query(_query(node.this), self.block), "exists"))
        if isinstance(node, exp.In) and node.args.get("query") is not None:
            return self._any(node, node.this, "eq", _query(node.args["query"]))
        if type(node) in COMPARED and isinstance(node.expression, exp.Any | exp.All):
            inner = _query(node.expression.this)
            if isinstance(inner, exp.Query):
                return self._quantified(node, COMPARED[type(node)], inner)
        if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
            return self._scalar(node)
        return None

    def _truth(self, wish: str, cases: list[Case]) -> Var:
        nullable = any(value.type.nullable for value, _ in cases)
        return self.block.placeholder(self._placeholder(wish, BOOL.with_null(nullable)), cases)

    def _placeholder(self, wish: str, type_: Type) -> Var:
        return Var(wish, type_, self.block.context.registry.scope("subquery"))

    def _cases(self, rows: Rows, wish: str) -> list[Case]:
        there = existence(self.block, rows, wish)
        return [(TRUE, [there]), (FALSE, [Branch(), _minus(there)])]

    def _quantified(self, node: exp.Expr, op: str, query: exp.Expr) -> Scalar:
        if isinstance(node.expression, exp.Any):
            return self._any(node, node.this, op, query)
        return call("not", self._any(node, node.this, NEGATED[op], query))

    def _any(self, node: exp.Expr, operand: exp.Expr, op: str, query: exp.Expr) -> Scalar:
        """``x op ANY (query)``: true if some row makes it true, else unknown if some row makes it unknown."""
        rows = self.read_query(query, self.block)
        mine = [self.read(e) for e in (operand.expressions if isinstance(operand, exp.Tuple) else [operand.unnest()])]
        if len(mine) != len(rows.columns):
            message = f"{len(mine)} values compared with {len(rows.columns)} columns"
            self.block.fail(node, message, "subquery-columns", "select as many columns")
        self.block.expand(mine)
        theirs = rows.columns
        compared = [
            self.block.guarded(node, lambda a=a, b=b: call(op, *_alike(a, b)))  # type: ignore[misc]
            for a, b in zip(mine, theirs, strict=True)
        ]
        condition = compared[0] if len(compared) == 1 else call("and", *compared)
        match = existence(self.block, _where(rows, condition), "in")
        if not condition.type.nullable:
            return self._truth("in", [(TRUE, [match]), (FALSE, [Branch(), _minus(match)])])
        unknown = existence(self.block, _where(rows, call("is_null", condition)), "null")
        return self._truth("in", _three_valued(match, unknown))

    def _scalar(self, node: exp.Expr) -> Scalar:
        """The value of a subquery: that of its row, NULL when it has none."""
        query = _query(node)
        rows = self.read_query(query, self.block)
        if len(rows.columns) != 1:
            hint = "select one expression"
            self.block.fail(node, f"a scalar subquery with {len(rows.columns)} columns", "subquery-columns", hint)
        column = rows.columns[0]
        present: list[Case] = [(b.env[column.key], [_bare(b)]) for b in rows.branches]
        value = self._placeholder("value", column.type)
        if _always_one_row(query):
            return self.block.placeholder(value, present)
        if not _at_most_one_row(query, rows):
            self.block.several[value.key] = (node, several(self.block, rows))
        there = existence(self.block, rows, "some")
        kind = column.type.with_null()
        absent: Case = (Const(None, kind), [Branch(), _minus(there)])
        return self.block.placeholder(replace(value, type=kind), [*present, absent])


def _query(node: exp.Expr) -> exp.Expr:
    inner = node
    while isinstance(inner, exp.Subquery | exp.Paren) and not inner.args.get("with_"):
        inner = inner.this
    return inner


def _bare(branch: Branch) -> Branch:
    return Branch(branch.coefficient, branch.sources, branch.conditions)


def _minus(branch: Branch) -> Branch:
    return Branch(-branch.coefficient, branch.sources, branch.conditions, branch.env)


def _where(rows: Rows, condition: Scalar) -> Rows:
    return Rows(rows.columns, tuple(add_conditions(rows.branches, [condition])))


def _three_valued(match: Branch, unknown: Branch) -> list[Case]:
    """match -> TRUE; no match but unknown -> NULL; neither -> FALSE."""
    both = Branch(1, (*match.sources, *unknown.sources), (*match.conditions, *unknown.conditions))
    return [
        (TRUE, [match]),
        (UNKNOWN, [unknown, _minus(both)]),
        (FALSE, [Branch(), _minus(match), _minus(unknown), both]),
    ]


def _alike(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    if a.type.same_as(b.type) or (a.type.is_numeric and b.type.is_numeric):
        return a, b
    common = common_type(a, b).with_null(False)
    x, y = (s if s.type.same_as(common) else call("cast", s, to=common) for s in (a, b))
    return simplify(x), simplify(y)


def _always_one_row(query: exp.Expr) -> bool:
    """Whether it is an aggregate without GROUP BY, HAVING or LIMIT."""
    if (
        not isinstance(query, exp.Select)
        or query.args.get("group")
        or query.args.get("having")
        or query.args.get("limit")
    ):
        return False
    return any(_aggregates(item) for item in query.expressions)


def _aggregates(node: exp.Expr) -> bool:
    if isinstance(node, exp.Window | exp.Query):
        return False
    return isinstance(node, exp.AggFunc) or any(_aggregates(child) for child in node.iter_expressions())


def _at_most_one_row(query: exp.Expr, rows: Rows) -> bool:
    """Whether a LIMIT, an aggregate, or a declared key that the correlation fixes says so."""
    if isinstance(query, exp.Select) and not query.args.get("group") and any(_aggregates(i) for i in query.expressions):
        return True
    return rows.single or (len(rows.branches) == 1 and _fixed(rows.branches[0]))


def _fixed(branch: Branch) -> bool:
    """Whether equalities with constants and outer columns determine a key of each source."""
    known: set[Key] = set()
    changed = True
    while changed:
        before = len(known)
        for condition in branch.conditions:
            if getattr(condition, "op", "") in ("eq", "same"):
                left, right = condition.args  # type: ignore[union-attr]
                for a, b in ((left, right), (right, left)):
                    if isinstance(a, Var) and is_row(a.scope) and _known(b, known):
                        known.add(a.key)
        for source in branch.sources:
            key = source.relation.key
            if (key or not source.relation.columns) and all((source.scope, k) in known for k in key):
                known |= {v.key for v in source.variables()}
        changed = len(known) > before
    return all(v.key in known for s in branch.sources for v in s.variables())


def _known(scalar: Scalar, known: set[Key]) -> bool:
    return all(not is_row(v.scope) or key in known for key, v in vars_of(scalar).items())
