"""UNION, EXCEPT, INTERSECT and VALUES, resolved: both sides get the same columns."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from m3.errors import ProgramError
from m3.scalars import Const, Scalar, Var
from m3.sql.block import Combined, Constants, Query
from m3.sql.clauses import is_wrapper
from m3.sql.correlation import converted
from m3.sql.expressions import is_bare_null
from m3.sql.names import Names
from m3.sql.tables import unite, untyped

__all__ = ["read_operation", "read_values"]


def read_operation(node: exp.SetOperation, names: Names, resolve_query: Callable[[exp.Expr, Names], Query]) -> Combined:
    """A set operation, without its ORDER BY and LIMIT."""
    if any(node.args.get(x) for x in ("by_name", "side", "kind", "on")):
        names.fail(node, f"{node.key.upper()} BY NAME", "unsupported-set-operation", "name the columns in one order")
    left, right = (resolve_query(_operand(side), names) for side in (node.left, node.right))
    if len(left.columns) != len(right.columns):
        message = f"{node.key.upper()} of {len(left.columns)} and {len(right.columns)} columns"
        names.fail(node, message, "set-columns", "select as many columns on both sides")
    try:
        columns = unite(*_typed(left, right))
    except ProgramError as error:
        names.fail(node, error.message, error.kind, error.hint)
    return Combined(node.key, bool(node.args.get("distinct")), left, right, tuple(columns))


def _typed(left: Query, right: Query) -> tuple[list[Var], list[Var]]:
    """The columns of both sides; one that is nothing but NULL takes the other side's type."""
    ours, theirs = list(left.columns), list(right.columns)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if b.type.kind == "string" and untyped(right, i):
            theirs[i] = Var(b.name, a.type.with_null())
        elif a.type.kind == "string" and untyped(left, i):
            ours[i] = Var(a.name, b.type.with_null())
    return ours, theirs


def _operand(node: exp.Expr) -> exp.Expr:
    return node.this if is_wrapper(node, "order") else node


def read_values(node: exp.Values, names: Names, read: Callable[[exp.Expr], Scalar]) -> Constants:
    """VALUES, which are constants."""
    rows = [[read(e) for e in (row.expressions if isinstance(row, exp.Tuple) else [row])] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        names.fail(node, "VALUES with rows of different lengths", "values", "give every row as many values")
    columns = [
        Var(f"column_{i + 1}", next((s.type for s in values if not is_bare_null(s)), values[0].type))
        for i, values in enumerate(zip(*rows, strict=True))
    ]
    for row in rows:
        typed = (c.type.with_null() if is_bare_null(s) else s.type for c, s in zip(columns, row, strict=True))
        try:
            columns = unite(columns, [Var("", t) for t in typed])
        except ProgramError as error:
            names.fail(node, error.message, error.kind, error.hint)
    made = tuple(tuple(converted(s, c) for c, s in zip(columns, row, strict=True)) for row in rows)
    if not all(isinstance(s, Const) for row in made for s in row):
        names.fail(node, "VALUES that are not constant", "values", "constants only")
    return Constants(tuple(columns), made)
