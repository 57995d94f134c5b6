"""ORDER BY with LIMIT and OFFSET inside a query: the first rows, by their numbers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from m3.algebra import Branch, Rows, add_conditions
from m3.datatypes import INT
from m3.program import WindowFunction
from m3.scalars import Key, Scalar, Var, call, const
from m3.sql.block import Block
from m3.sql.correlation import close, counted, unused

__all__ = ["count_of", "limited"]


def count_of(node: exp.Expr, clause: str, block: Block) -> int | None:
    """The number of a LIMIT or OFFSET clause.

    Raises:
        CompileError: it is not a number.
    """
    limit = node.args.get(clause)
    if limit is None:
        return None
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.args.get("expression")
    if not isinstance(count, exp.Literal) or not str(count.this).isdigit():
        block.fail(limit, f"{clause.upper()} that is not a number", "limit", f"{clause.upper()} n")
    assert isinstance(count, exp.Literal)
    return int(count.this)


def limited(block: Block, rows: Rows, node: exp.Expr, order: Sequence[tuple[Scalar, bool, bool]]) -> Rows:
    """The rows that LIMIT and OFFSET of ``node`` leave.

    Args:
        block: the block around the query.
        rows: all rows; columns of the scope ``order`` are only ordered by.
        node: the query.
        order: ORDER BY over the columns: (expression, descending, NULLs first).
    """
    limit, offset = count_of(node, "limit", block), count_of(node, "offset", block) or 0
    visible = tuple(c for c in rows.columns if c.scope is None)
    if limit is None and not offset:
        return Rows(visible, rows.branches)
    closed = close(block, rows.branches, [c.key for c in rows.columns])
    columns = [*closed.columns(), *rows.columns]
    source_rows = counted(closed.branches, columns)
    named = {old.key: Var(new.name, new.type) for old, new in zip(columns, source_rows.columns, strict=True)}
    places = tuple((named[s.key], down, first) for s, down, first in order if isinstance(s, Var))
    (name,) = unused(["w_1"], source_rows.columns)
    number = (name, WindowFunction("row_number", (), places, None, INT))
    context = block.context
    relation = context.registry.window(f"{context.view}_limited", source_rows, len(closed.links), [number])
    source = context.registry.source(relation)
    variables = source.variables()
    env: dict[Key, Scalar] = {c.key: v for c, v in zip(rows.columns, variables[len(closed.links) :], strict=False)}
    branch = Branch(1, (source,), closed.conditions(variables), env)
    wanted: list[Scalar] = [call("gt", variables[-1], const(offset))] if offset else []
    if limit is not None:
        wanted.append(call("le", variables[-1], const(offset + limit)))
    return Rows(visible, tuple(add_conditions([branch], wanted)))
