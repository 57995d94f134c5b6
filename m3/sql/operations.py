"""UNION, EXCEPT, INTERSECT and VALUES.

UNION ALL adds bags. The others compare how often a row is on each side (``l`` and ``r``), which is not linear: a derived
relation has it ``max(l - r, 0)`` times for EXCEPT ALL, ``min(l, r)`` times for INTERSECT ALL, and at most once without ALL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from m3.algebra import Branch, InputQuery, Rows
from m3.datatypes import INT
from m3.errors import ProgramError
from m3.scalars import Const, Key, Scalar, Var, call, const
from m3.sql.block import Block
from m3.sql.correlation import close, converted, counted, plain
from m3.sql.expressions import is_bare_null
from m3.sql.tables import unite

__all__ = ["combined", "values_rows"]

LEFT, RIGHT, ZERO, ONE = Var("left_rows", INT), Var("right_rows", INT), const(0), const(1)


def combined(node: exp.SetOperation, block: Block, read_query: Callable[[exp.Expr, Block], Rows]) -> Rows:
    """The rows of a set operation."""
    if any(node.args.get(x) for x in ("by_name", "side", "kind", "on")):
        block.fail(node, f"{node.key.upper()} BY NAME", "unsupported-set-operation", "name the columns in one order")
    left, right = (read_query(_operand(side), block) for side in (node.left, node.right))
    if len(left.columns) != len(right.columns):
        message = f"{node.key.upper()} of {len(left.columns)} and {len(right.columns)} columns"
        block.fail(node, message, "set-columns", "select as many columns on both sides")
    try:
        columns = unite(*_typed(left, right))
    except ProgramError as error:
        block.fail(node, error.message, error.kind, error.hint)
    ours, theirs = (_converted(rows, columns) for rows in (left, right))
    unique = bool(node.args.get("distinct"))
    if isinstance(node, exp.Union) and not unique:
        return Rows(tuple(columns), (*ours, *theirs))
    return _compared(node, block, columns, ours, theirs, unique)


def _typed(left: Rows, right: Rows) -> tuple[list[Var], list[Var]]:
    """The columns of both sides; one that is nothing but NULL takes the other side's type."""
    ours, theirs = list(left.columns), list(right.columns)
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if _untyped(right, b):
            theirs[i] = Var(b.name, a.type.with_null())
        elif _untyped(left, a):
            ours[i] = Var(a.name, b.type.with_null())
    return ours, theirs


def _untyped(rows: Rows, column: Var) -> bool:
    return column.type.kind == "string" and all(is_bare_null(b.env[column.key]) for b in rows.branches)


def _operand(node: exp.Expr) -> exp.Expr:
    plain_query = isinstance(node, exp.Subquery) and not any(node.args.get(x) for x in ("with_", "limit", "offset"))
    return node.this if plain_query else node


def _converted(rows: Rows, columns: Sequence[Var]) -> list[Branch]:
    return [
        Branch(b.coefficient, b.sources, b.conditions, {
            new.key: converted(b.env[old.key], new) for old, new in zip(rows.columns, columns, strict=True)
        })
        for b in rows.branches
    ]  # fmt: skip


def _compared(
    node: exp.Expr, block: Block, columns: Sequence[Var], ours: list[Branch], theirs: list[Branch], unique: bool
) -> Rows:
    closed = close(block, [*ours, *theirs], [c.key for c in columns])
    keys = [*closed.columns(), *columns]
    if isinstance(node, exp.Union):
        inputs = [InputQuery(LEFT.name, "value", counted(closed.branches, keys))]
    else:
        sides = (closed.branches[: len(ours)], closed.branches[len(ours) :])
        inputs = [InputQuery(v.name, "value", counted(b, keys)) for v, b in zip((LEFT, RIGHT), sides, strict=True)]
    context = block.context
    relation = context.registry.derive(f"{context.view}_{node.key}", plain(keys), inputs, (), _count(node, unique))
    source = context.registry.source(relation)
    variables = source.variables()
    env: dict[Key, Scalar] = {c.key: v for c, v in zip(columns, variables[len(closed.links) :], strict=True)}
    return Rows(tuple(columns), (Branch(1, (source,), closed.conditions(variables), env),))


def _count(node: exp.Expr, unique: bool) -> Scalar:
    here = call("gt", LEFT, ZERO)
    if isinstance(node, exp.Union):
        return call("case", here, ONE, ZERO)
    if isinstance(node, exp.Except):
        if unique:
            return call("case", call("and", here, call("le", RIGHT, ZERO)), ONE, ZERO)
        return call("case", call("gt", LEFT, RIGHT), call("sub", LEFT, RIGHT), ZERO)
    both = call("and", here, call("gt", RIGHT, ZERO))
    if unique:
        return call("case", both, ONE, ZERO)
    return call("case", call("not", both), ZERO, call("lt", LEFT, RIGHT), LEFT, RIGHT)


def values_rows(node: exp.Values, block: Block, read: Callable[[exp.Expr], Scalar]) -> Rows:
    """The rows of VALUES, which are constants."""
    rows = [[read(e) for e in (row.expressions if isinstance(row, exp.Tuple) else [row])] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        block.fail(node, "VALUES with rows of different lengths", "values", "give every row as many values")
    columns = [
        Var(f"column_{i + 1}", next((s.type for s in values if not is_bare_null(s)), values[0].type))
        for i, values in enumerate(zip(*rows, strict=True))
    ]
    for row in rows:
        typed = (c.type.with_null() if is_bare_null(s) else s.type for c, s in zip(columns, row, strict=True))
        try:
            columns = unite(columns, [Var("", t) for t in typed])
        except ProgramError as error:
            block.fail(node, error.message, error.kind, error.hint)
    branches = []
    for row in rows:
        env: dict[Key, Scalar] = {c.key: converted(s, c) for c, s in zip(columns, row, strict=True)}
        if not all(isinstance(s, Const) for s in env.values()):
            block.fail(node, "VALUES that are not constant", "values", "constants only")
        branches.append(Branch(1, (), (), env))
    return Rows(tuple(columns), tuple(branches))
