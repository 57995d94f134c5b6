"""ORDER BY with LIMIT and OFFSET inside a query: the first rows, by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from m3.algebra import Branch, Rows, add_conditions
from m3.datatypes import INT
from m3.program import WindowFunction
from m3.scalars import Key, Scalar, Var, call, const
from m3.sql.block import Order
from m3.sql.correlation import close, counted, unused
from m3.sql.expressions import constant
from m3.sql.names import Context
from m3.sql.workspace import Workspace

__all__ = ["count_of", "limited"]


def count_of(node: exp.Expr, clause: str, context: Context) -> int | None:
    """The number of a LIMIT or OFFSET clause, which may be an expression of constants; None for NULL, too.

    Raises:
        CompileError: it is not a number.
    """
    limit = node.args.get(clause)
    if limit is None:
        return None
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.args.get("expression")
    if count is None:
        return 1  # FETCH FIRST ROW ONLY
    if isinstance(count, exp.Var) and count.name.upper() == "ALL":
        return None
    value = constant(count, context.source)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        context.fail(limit, f"{clause.upper()} that is not a number of rows", "limit", f"{clause.upper()} n")
    return value


def limited(space: Workspace, rows: Rows, limit: int | None, offset: int, order: Sequence[Order]) -> Rows:
    """The rows that LIMIT and OFFSET leave.

    Args:
        space: of the block around the query.
        rows: all rows; columns of the scope ``order`` are only ordered by.
        limit, offset: how many rows, after how many.
        order: ORDER BY over the columns: (expression, descending, NULLs first).
    """
    visible = tuple(c for c in rows.columns if c.scope is None)
    if limit is None and not offset:
        return Rows(visible, rows.branches)
    closed = close(space, rows.branches, [c.key for c in rows.columns])
    columns = [*closed.columns(), *rows.columns]
    source_rows = counted(closed.branches, columns)
    named = {old.key: Var(new.name, new.type) for old, new in zip(columns, source_rows.columns, strict=True)}
    places = tuple((named[s.key], down, first) for s, down, first in order if isinstance(s, Var))
    (name,) = unused(["w_1"], source_rows.columns)
    number = (name, WindowFunction("row_number", (), places, None, INT))
    context = space.context
    relation = context.registry.window(f"{context.view}_limited", source_rows, len(closed.links), [number])
    source = context.registry.source(relation)
    variables = source.variables()
    env: dict[Key, Scalar] = {c.key: v for c, v in zip(rows.columns, variables[len(closed.links) :], strict=False)}
    branch = Branch(1, (source,), closed.conditions(variables), env)
    wanted: list[Scalar] = [call("gt", variables[-1], const(offset))] if offset else []
    if limit is not None:
        wanted.append(call("le", variables[-1], const(offset + limit)))
    return Rows(visible, tuple(add_conditions([branch], wanted)))
