"""A FROM clause -> signed joins.

An outer join is its inner join plus the rows without a match, whose other side is NULL: the rows less those for which a
match exists (a derived relation, see :mod:`m3.sql.correlation`).
"""

from __future__ import annotations

from collections.abc import Sequence

from m3.algebra import Branch, Rows, add_conditions, bind, product
from m3.program import Relation
from m3.scalars import Const, Key, Scalar, Var, vars_of
from m3.sql.block import From, Join, Table, columns_of
from m3.sql.correlation import existence, stored
from m3.sql.workspace import BRANCHES, Workspace

__all__ = ["join_tables"]

#: A derived table with more branches is kept as a relation of its own.
TABLE_BRANCHES = 3


def join_tables(source: From | None, space: Workspace) -> None:
    """Make the workspace's branches the rows of a FROM clause.

    >>> from m3.sql.show import joined, show_rows
    >>> print(show_rows(joined("SELECT a, c FROM r LEFT JOIN s ON b = id")))
    + r.a AS a, s.c AS c FROM r, s WHERE s.b = r.id
    + r.a AS a, NULL :: INT AS c FROM r
    - r.a AS a, NULL :: INT AS c FROM r, v_matched WHERE v_matched.b = r.id
    """
    if source is not None:
        _joined(source, space)


def _joined(source: From, space: Workspace) -> None:
    """Multiply the workspace's rows by a FROM clause; afterwards these are its columns."""
    if isinstance(source, Table):
        space.branches = product(space.branches, _table(source, space))
        space.columns = source.columns
        return
    _joined(source.left, space)
    if source.side in ("SEMI", "ANTI"):
        _semi(source, space)
    else:
        _combine(source, space)


def _operand(source: From, space: Workspace) -> list[Branch]:
    """The rows of the right side of a join, not joined yet."""
    if isinstance(source, Table):
        return _table(source, space)
    before, columns, early = space.branches, space.columns, space.early
    space.branches, space.early = [Branch()], []
    _joined(source, space)
    branches = space.branches
    space.branches, space.columns, space.early = before, columns, early
    return branches


def _table(table: Table, space: Workspace) -> list[Branch]:
    from m3.sql.select import rows_of

    if isinstance(table.rows, Relation):
        source = space.context.registry.source(table.rows)
        found = zip(table.columns, source.variables(), strict=True)
        return [Branch(1, (source,), (), {mine.key: v for mine, v in found})]
    rows = rows_of(table.rows, space)
    branches = rows.branches
    if len(branches) > TABLE_BRANCHES:  # joins multiply branches
        branches = tuple(stored(space, branches, rows.columns))
    return [
        Branch(b.coefficient, b.sources, b.conditions, {
            mine.key: b.env[c.key] for mine, c in zip(table.columns, rows.columns, strict=True)
        })
        for b in branches
    ]  # fmt: skip


def _combine(join: Join, space: Workspace) -> None:
    right = _operand(join.right, space)
    left, side = space.branches, join.side
    mine, theirs = columns_of(join.left), columns_of(join.right)
    if len(left) * len(right) > BRANCHES and len(right) > 1:
        right = stored(space, right, [v for v in theirs if v.key in right[0].env])
    lonely = _without(space, left, right, join.on, theirs) if side in ("LEFT", "FULL") else []
    others = _without(space, right, left, join.on, mine) if side in ("RIGHT", "FULL") else []
    space.columns = columns_of(Join(join.left, join.right, side))
    space.branches = product(left, right)
    for condition in join.on:
        space.filter(condition)
    space.branches = [*space.branches, *lonely, *others]
    if len(space.branches) > BRANCHES:
        _filter_early(space)
    space.compact()
    for _, variable, what in join.merged:
        space.branches = [bind(b, {variable.key: b.value(what)}) for b in space.branches]
    space.columns = columns_of(join)


def _filter_early(space: Workspace) -> None:
    """Apply the conditions of WHERE that are about the tables so far, before their rows are kept."""
    known = {v.key for v in space.columns}
    for condition in [c for c in space.early if known.issuperset(vars_of(c))]:
        space.early.remove(condition)
        space.filter(condition)


def _without(
    space: Workspace, kept: list[Branch], other: list[Branch], on: Sequence[Scalar], missing: Sequence[Var]
) -> list[Branch]:
    """The rows of ``kept`` for which ``other`` has none: all of them less those with a match."""
    asking = Workspace(space.context, space.parent, branches=kept)
    there = existence(asking, Rows((), tuple(add_conditions(other, on))), "matched")
    absent: dict[Key, Scalar] = {v.key: Const(None, v.type.with_null()) for v in missing}
    minus = Branch(-1, there.sources, there.conditions)
    return [bind(b, absent) for b in product(kept, [Branch(), minus])]


def _semi(join: Join, space: Workspace) -> None:
    right = _operand(join.right, space)
    there = existence(space, Rows((), tuple(add_conditions(right, join.on))), "matched")
    minus = Branch(-1, there.sources, there.conditions)
    space.branches = product(space.branches, [Branch(), minus] if join.side == "ANTI" else [there])
