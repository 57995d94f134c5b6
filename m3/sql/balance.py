"""``a FULL JOIN b FULL JOIN c FULL JOIN d`` -> ``(a FULL JOIN b) FULL JOIN (c FULL JOIN d)``, where that is the same.

Rows of full joins are kept after each join, with all columns so far: in the order of writing these are as many columns as the
square of the tables. In a balanced tree each column is kept once for every level.

It is the same where each join is by one equality between neighbours: by USING, the column that all of them share (for each of
its values, the rows are those of every table, or a row of NULLs for a table that has none); by ON, a column of the table before,
since the NULLs of a row without a match equal nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from m3.program import Relation
from m3.scalars import Call, Var, call
from m3.sql.block import From, Join, Merged, Table, columns_of
from m3.sql.tables import merge_sides

__all__ = ["balance_full_joins"]

#: A chain of fewer tables stays as it is written.
LONG = 4


def balance_full_joins(source: From) -> From:
    """The FROM clause, or what it is if it is a chain of full joins: balanced.

    >>> from m3.sql.show import resolve_example
    >>> tables = " ".join(f"FULL JOIN s t{i} USING (b)" for i in range(1, 6))
    >>> source = balance_full_joins(resolve_example(f"SELECT b FROM s t0 {tables}").source)
    >>> def draw(node): return f"({draw(node.left)} {draw(node.right)})" if isinstance(node, Join) else node.alias
    >>> print(draw(source))
    ((t0 (t1 t2)) (t3 (t4 t5)))
    """
    chain = _read_chain(source)
    return source if chain is None or len(chain.tables) < LONG else chain.build(0, len(chain.tables))


@dataclass(frozen=True)
class _Chain:
    """Tables that are joined one after the other: ``links[i]`` are the columns of table ``i`` (of one before, by USING) and of
    table ``i + 1`` that are equal; ``merged[i]`` is what USING adds there."""

    tables: tuple[Table, ...]
    links: tuple[tuple[Var, Var], ...]
    merged: tuple[Merged, ...]

    def build(self, start: int, end: int) -> From:
        """A tree of the tables from ``start`` on and before ``end``."""
        if end - start == 1:
            return self.tables[start]
        middle = (start + end) // 2
        left, right = self.build(start, middle), self.build(middle, end)
        if not self.merged:
            return Join(left, right, "FULL", (call("eq", *map(_find, self.links[middle - 1], (left, right))),))
        mine, theirs = self._shared(left, start), self._shared(right, middle)
        # each column that USING adds is used once; the last is what others read, so it is the one at the top
        order = {len(self.tables) // 2: len(self.tables) - 1, len(self.tables) - 1: len(self.tables) // 2}
        name, variable, _ = self.merged[order.get(middle, middle) - 1]
        both = merge_sides(mine, theirs)
        merged = (name, replace(variable, type=both.type), both)
        return Join(left, right, "FULL", (call("eq", mine, theirs),), (merged,))

    def _shared(self, tree: From, first: int) -> Var:
        """The shared column of a part that begins with a table."""
        if isinstance(tree, Join):
            return tree.merged[0][1]
        return self.links[first - 1][1] if first else self.links[0][0]


def _find(variable: Var, source: From) -> Var:
    """A column as the source has it: NULL where an outer join makes it so."""
    return next(v for v in columns_of(source) if v.key == variable.key)


def _read_chain(source: From) -> _Chain | None:
    """The chain that a FROM clause is; None where it is another tree of joins."""
    if isinstance(source, Table):
        return _Chain((source,), (), ()) if isinstance(source.rows, Relation) else None
    before = _read_chain(source.left)
    if before is None or source.side != "FULL" or len(source.on) != 1 or not isinstance(source.right, Table):
        return None
    if not isinstance(source.right.rows, Relation):
        return None
    (condition,) = source.on
    if not (isinstance(condition, Call) and condition.op == "eq"):
        return None
    shared = before.merged[-1][1] if before.merged else None
    joined = [v.key for v in before.tables[-1].columns] if shared is None else [shared.key]
    theirs = [v.key for v in source.right.columns]
    for mine, other in (condition.args, condition.args[::-1]):
        if not (isinstance(mine, Var) and isinstance(other, Var) and mine.type.same_as(other.type)):
            return None
        if mine.key in joined and other.key in theirs:
            if len(before.tables) > 1 and bool(source.merged) != bool(before.merged):
                return None
            tables, links = (*before.tables, source.right), (*before.links, (mine, other))
            return _Chain(tables, links, (*before.merged, *source.merged))
    return None
