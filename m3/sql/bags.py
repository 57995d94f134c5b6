"""Set operations and VALUES -> bags of rows.

UNION ALL adds bags. The others compare how often a row is on each side (``l`` and ``r``), which is not linear: a derived
relation has it ``max(l - r, 0)`` times for EXCEPT ALL, ``min(l, r)`` times for INTERSECT ALL, and at most once without ALL.
"""

from __future__ import annotations

from collections.abc import Sequence

from m3.algebra import Branch, InputQuery, Rows
from m3.datatypes import INT
from m3.scalars import Key, Scalar, Var, call, const
from m3.sql.block import Combined, Constants
from m3.sql.correlation import close, converted, counted, plain
from m3.sql.workspace import Workspace

__all__ = ["combined_rows", "constant_rows"]

LEFT, RIGHT, ZERO, ONE = Var("left_rows", INT), Var("right_rows", INT), const(0), const(1)


def constant_rows(query: Constants) -> Rows:
    """The rows of VALUES."""
    envs: list[dict[Key, Scalar]] = [{c.key: s for c, s in zip(query.columns, row, strict=True)} for row in query.rows]
    return Rows(query.columns, tuple(Branch(1, (), (), env) for env in envs))


def combined_rows(query: Combined, left: Rows, right: Rows, space: Workspace) -> Rows:
    """The rows of a set operation, from those of its sides."""
    ours, theirs = (_converted(rows, query.columns) for rows in (left, right))
    if query.operator == "union" and not query.distinct:
        return Rows(query.columns, (*ours, *theirs))
    return _compared(query, space, ours, theirs)


def _converted(rows: Rows, columns: Sequence[Var]) -> list[Branch]:
    return [
        Branch(b.coefficient, b.sources, b.conditions, {
            new.key: converted(b.env[old.key], new) for old, new in zip(rows.columns, columns, strict=True)
        })
        for b in rows.branches
    ]  # fmt: skip


def _compared(query: Combined, space: Workspace, ours: list[Branch], theirs: list[Branch]) -> Rows:
    columns = query.columns
    closed = close(space, [*ours, *theirs], [c.key for c in columns])
    keys = [*closed.columns(), *columns]
    if query.operator == "union":
        inputs = [InputQuery(LEFT.name, "value", counted(closed.branches, keys))]
    else:
        sides = (closed.branches[: len(ours)], closed.branches[len(ours) :])
        inputs = [InputQuery(v.name, "value", counted(b, keys)) for v, b in zip((LEFT, RIGHT), sides, strict=True)]
    context = space.context
    relation = context.registry.derive(f"{context.view}_{query.operator}", plain(keys), inputs, (), _count(query))
    source = context.registry.source(relation)
    variables = source.variables()
    env: dict[Key, Scalar] = {c.key: v for c, v in zip(columns, variables[len(closed.links) :], strict=True)}
    return Rows(tuple(columns), (Branch(1, (source,), closed.conditions(variables), env),))


def _count(query: Combined) -> Scalar:
    here = call("gt", LEFT, ZERO)
    if query.operator == "union":
        return call("case", here, ONE, ZERO)
    if query.operator == "except":
        if query.distinct:
            return call("case", call("and", here, call("le", RIGHT, ZERO)), ONE, ZERO)
        return call("case", call("gt", LEFT, RIGHT), call("sub", LEFT, RIGHT), ZERO)
    both = call("and", here, call("gt", RIGHT, ZERO))
    if query.distinct:
        return call("case", both, ONE, ZERO)
    return call("case", call("not", both), ZERO, call("lt", LEFT, RIGHT), LEFT, RIGHT)
