"""Resolved queries -> bags of rows, in the order in which SQL means them.

FROM, WHERE, GROUP BY, HAVING, window functions, the list, DISTINCT, ORDER BY with LIMIT. Grouping, DISTINCT, set
operations, windows and limits are not linear: they make derived relations, over which it goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from m3.algebra.derive import InputQuery
from m3.algebra.rows import Branch, Rows
from m3.datatypes import INT
from m3.program import WindowFunction
from m3.scalars import Key, Scalar, Var, call, const, vars_of
from m3.sql.block import Block, Combined, Constants, Limited, Numbers, Order, Query, Window
from m3.sql.correlation import (
    Space,
    close,
    convert,
    count_rows,
    derive_distinct,
    derive_numbers,
    name_columns,
    rename_columns,
)
from m3.sql.grouping import Groups
from m3.sql.joining import Workspace, join_tables
from m3.sql.names import Context
from m3.sql.windows import compute_windows, limit_rows

__all__ = ["filter_rows", "list_rows", "remove_repeats", "rows_of", "select_rows"]


def rows_of(query: Query, space: Workspace) -> Rows:
    """The rows of a query inside another one.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT a + 1 AS y FROM (SELECT a FROM r WHERE x > 1) AS t WHERE a < 9")))
    + r.a + 1 AS y FROM r WHERE r.x > 1 AND r.a < 9

    Args:
        query: the query.
        space: of the block around it.
    """
    match query:
        case Constants():
            envs = ({c.key: s for c, s in zip(query.columns, row, strict=True)} for row in query.rows)
            return Rows(query.columns, tuple(Branch(env=env) for env in envs))
        case Numbers():
            return Rows(query.columns, (derive_numbers(space, query.count, *query.columns),))
        case Limited():
            rows = rows_of(query.query, space)
            named = Rows(query.columns, tuple(rename_columns(rows, query.columns)))
            return limit_rows(space, named, query.limit, query.offset, query.order)
        case Combined():
            rows = combine_rows(query, rows_of(query.left, space), rows_of(query.right, space), space)
            return limit_rows(space, rows, query.limit, query.offset, query.order)
    rows, order = list_rows(query, select_rows(query, filter_rows(query, space.context, space)))
    if query.distinct:
        rows, order = remove_repeats(rows, space), [o for o in order if isinstance(o[0], Var)]
    return limit_rows(space, rows, query.limit, query.offset, order)


def filter_rows(block: Block, context: Context, parent: Space | None) -> Workspace:
    """The rows of a block's FROM and WHERE."""
    space = Workspace.of(block, context, parent, rows_of)
    join_tables(block.source, space)
    for condition in block.conditions:
        space.filter(condition)
        space.compact(placeholders=False)  # behind WHERE nobody asks again what its subqueries were
    return space


def select_rows(block: Block, space: Workspace) -> Workspace:
    """The rows that the list is about: groups if there are any, filtered by HAVING, with window functions' results."""
    if block.grouping is not None:
        groups = space.behind({v.key: s for v, s in block.grouping.keys})
        groups.prepare([*([block.having] if block.having is not None else []), *block.results()])
        groups.branches = Groups(block.grouping, space).derive_rows()
        if block.having is not None:
            groups.filter(block.having)
        space = groups
    if block.windows or block.qualify is not None:
        later = [*block.results(), *([block.qualify] if block.qualify is not None else []), *(block.first_of or ())]
        _compute_windows(space, block.windows, later)
        if block.qualify is not None:
            space.filter(block.qualify)
    if block.first_of is not None:
        number = Var("row_number", INT, space.context.registry.scope("window"))
        function = WindowFunction("row_number", (), block.order, None, INT)
        first = call("eq", number, const(1))
        _compute_windows(space, [Window(number, block.first_of, function)], [*block.results(), first])
        space.filter(first)
    return space


def _compute_windows(space: Workspace, windows: Sequence[Window], later: Sequence[Scalar]) -> None:
    """Compute window functions; ``later`` is what is read afterwards."""
    space.expand([*(s for w in windows for s in w.scalars()), *later])
    results = {w.variable.key for w in windows}
    compute_windows(space, windows, [v for key, v in vars_of(*later).items() if key not in results])


def list_rows(block: Block, space: Workspace) -> tuple[Rows, list[Order]]:
    """The rows of the list, and ORDER BY over their columns; what is only ordered by is a further column."""
    space.expand(block.results())
    scalars = [o.scalar for o in block.outputs]
    columns = list(block.columns)
    order: list[Order] = []
    for scalar, descending, first in block.order:
        if scalar not in scalars:
            scalars.append(scalar)
            columns.append(Var("order", scalar.type, space.context.registry.scope("order")))
        order.append((columns[scalars.index(scalar)], descending, first))
    branches = []
    for branch in space.branches:
        env: dict[Key, Scalar] = {c.key: convert(branch.value(s), c) for c, s in zip(columns, scalars, strict=True)}
        branches.append(replace(branch, env=env))
    return Rows(tuple(columns), tuple(branches)), order


def remove_repeats(rows: Rows, space: Space) -> Rows:
    """The rows without repetitions.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT DISTINCT a + 1 AS y FROM r")))
    + v_distinct.y AS y FROM v_distinct
    """
    closed = close(space, rows.branches, [c.key for c in rows.columns])
    relation = derive_distinct(space, closed.branches, [*closed.columns(), *rows.columns], "distinct")
    return Rows(rows.columns, (closed.occurrence(space, relation, rows.columns),))


# Set operations and VALUES -> bags of rows.
#
# UNION ALL adds bags. The others compare how often a row is on each side (``l`` and ``r``), which is not linear: a derived
# relation has it ``max(l - r, 0)`` times for EXCEPT ALL, ``min(l, r)`` times for INTERSECT ALL, and at most once without ALL.


LEFT, RIGHT, ZERO, ONE = Var("left_rows", INT), Var("right_rows", INT), const(0), const(1)


def combine_rows(query: Combined, left: Rows, right: Rows, space: Space) -> Rows:
    """The rows of a set operation, from those of its sides.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT a FROM r EXCEPT SELECT b FROM s")))
    + v_except.a AS a FROM v_except
    """
    ours, theirs = (rename_columns(rows, query.columns) for rows in (left, right))
    if query.operator == "union" and not query.distinct:
        return Rows(query.columns, (*ours, *theirs))
    columns = query.columns
    closed = close(space, [*ours, *theirs], [c.key for c in columns])
    keys = [*closed.columns(), *columns]
    if query.operator == "union":
        inputs = [InputQuery(LEFT.name, "value", count_rows(closed.branches, keys))]
    else:
        sides = (closed.branches[: len(ours)], closed.branches[len(ours) :])
        inputs = [InputQuery(v.name, "value", count_rows(b, keys)) for v, b in zip((LEFT, RIGHT), sides, strict=True)]
    context = space.context
    relation = context.registry.derive(
        f"{context.view}_{query.operator}", name_columns(keys), inputs, (), _make_count(query)
    )
    return Rows(columns, (closed.occurrence(space, relation, columns),))


def _make_count(query: Combined) -> Scalar:
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
