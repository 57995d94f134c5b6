"""A query -> :class:`~m3.algebra.ViewQuery`: what is maintained, and what is computed when the view is read.

A grouping with linear aggregates is read off its maps: one per aggregate, keyed by the group. Anything else is a bag of
rows: the map of a derived relation if it is one, else a map of its own. HAVING over groups, expressions over aggregates,
ORDER BY and LIMIT cost nothing until somebody reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from m3.algebra import Polynomial, Registry, Rows, ViewQuery
from m3.errors import CompileError, M3Error
from m3.program import Column, OutputColumn, Relation
from m3.scalars import Scalar, Var, bare, call, substitute, vars_of
from m3.simplify import simplify
from m3.sql.block import Block, Context, is_placeholder
from m3.sql.correlation import counted, plain
from m3.sql.limits import count_of
from m3.sql.places import Source
from m3.sql.select import (
    Selection,
    distinct_rows,
    listed_all,
    read_query,
    read_selection,
    set_order,
    settle,
    unique_names,
    with_tables,
)
from m3.sql.spelling import respelled

__all__ = ["parse_view"]

#: (expression over the output columns' scope, descending, NULLs first)
Order = Sequence[tuple[Scalar, bool, bool]]


def parse_view(
    name: str, sql: str, relations: Sequence[Relation], registry: Registry, dialect: str | None = None
) -> ViewQuery:
    """What a query asks for, in the algebra.

    Args:
        name: the view's name.
        sql: one query.
        relations: the base tables.
        registry: the derived relations of the program, which is added to.
        dialect: sqlglot's name of the SQL dialect; None for its generic one.

    Raises:
        SyntaxProblem: not SQL.
        CompileError: SQL that cannot be maintained, at its place, with the nearest form that can.
    """
    source = Source(sql, name)
    node = respelled(source.parse(dialect), dialect)
    while isinstance(node, exp.Subquery) and not any(v for k, v in node.args.items() if k != "this"):
        node = node.this
    context = Context(source, {r.name: r for r in relations}, registry, name, dialect)
    try:
        return _View(context, node).read()
    except RecursionError as error:
        hint = "split it by WITH, or write long lists with IN"
        raise CompileError("too deeply nested", kind="too-deep", span=source.span(node), hint=hint) from error
    except M3Error as error:
        if error.span is not None:
            raise
        raise CompileError(error.message, kind=error.kind, span=source.span(node), hint=error.hint) from error


@dataclass
class _View:
    context: Context
    node: exp.Expr

    def read(self) -> ViewQuery:
        top = Block.inside(self.context, None)
        if not isinstance(self.node, exp.Select):
            bare = self.node.copy()
            rows = read_query(_without_limit(bare), top)
            return self._bag(rows, set_order(self.node, rows, top), top)
        block = with_tables(self.node, top)
        selection = read_selection(self.node, block)
        linear = self._linear(selection)
        return linear if linear is not None else self._rows(selection, top)

    def _linear(self, selection: Selection) -> ViewQuery | None:
        """The view of a grouping that is read off its maps; None where more than maps is needed."""
        if selection.grouped is None or selection.unique:
            return None
        scalars = [*selection.scalars(), *([selection.having] if selection.having is not None else [])]
        if any(map(is_placeholder, vars_of(*scalars))):
            return None
        groups = selection.grouped.linear()
        if groups is None:
            return None
        items = [(i.name, simplify(substitute(i.scalar, groups.env))) for i in selection.items]
        order = [(simplify(substitute(s, groups.env)), d, n) for s, d, n in selection.order]
        having = simplify(substitute(selection.having, groups.env)) if selection.having is not None else None
        values = tuple((x.name, x.polynomial) for x in groups.inputs)
        return self._view(groups.keys, values, groups.exists, items, having, order)

    def _rows(self, selection: Selection, top: Block) -> ViewQuery:
        settle(selection)
        rows, order = listed_all(selection)
        if selection.unique:
            visible = Rows(tuple(c for c in rows.columns if c.scope is None), rows.branches)
            if any(s.scope is not None for s, _, _ in order if isinstance(s, Var)):
                hint = "add it to the SELECT list"
                top.fail(self.node, "SELECT DISTINCT ordered by something not selected", "order-by", hint)
            rows = distinct_rows(selection.block, visible, top)
        return self._bag(rows, order, top)

    def _bag(self, rows: Rows, order: Order, top: Block) -> ViewQuery:
        direct = self._direct(rows, order)
        if direct is not None:
            return direct
        columns = plain(rows.columns)
        held = counted(rows.branches, rows.columns)
        env = {old.key: Var(new.name, new.type) for old, new in zip(rows.columns, columns, strict=True)}
        items = [(c.name, env[c.key]) for c in rows.columns if c.scope is None]
        placed = [(simplify(substitute(s, env)), d, n) for s, d, n in order]
        return self._view(tuple(columns), (), held, items, None, placed, repeated=True)

    def _direct(self, rows: Rows, order: Order) -> ViewQuery | None:
        """The rows of one derived relation are read off its map."""
        if len(rows.branches) != 1:
            return None
        (branch,) = rows.branches
        derived = {q.relation.name for q in self.context.registry.queries}
        if len(branch.sources) != 1 or branch.coefficient != 1 or branch.sources[0].relation.name not in derived:
            return None
        (source,) = branch.sources
        items = [(c.name, bare(branch.env[c.key])) for c in rows.columns if c.scope is None]
        placed = [(bare(branch.value(s)), d, n) for s, d, n in order]
        conditions = [bare(c) for c in branch.conditions]
        having = None if not conditions else conditions[0] if len(conditions) == 1 else call("and", *conditions)
        return self._view(source.relation.columns, (), source.relation, items, having, placed, repeated=True)

    def _view(
        self,
        keys: Sequence[Column],
        values: Sequence[tuple[str, Polynomial]],
        exists: Polynomial | Relation,
        items: Sequence[tuple[str, Scalar]],
        having: Scalar | None,
        order: Order,
        *,
        repeated: bool = False,
    ) -> ViewQuery:
        names = unique_names([name for name, _ in items])
        columns = [OutputColumn(name, scalar) for name, (_, scalar) in zip(names, items, strict=True)]
        places, hidden = _places(columns, order)
        top = Block.inside(self.context, None)
        return ViewQuery(
            self.context.view,
            tuple(keys),
            tuple(values),
            exists,
            (*columns, *hidden),
            having,
            tuple(places),
            count_of(self.node, "limit", top),
            self.context.source.sql,
            count_of(self.node, "offset", top) or 0,
            repeated,
            len(hidden),
            tuple(self.context.checks),
        )


def _without_limit(node: exp.Expr) -> exp.Expr:
    for clause in ("limit", "offset", "order"):
        node.set(clause, None)
    return node


def _places(columns: Sequence[OutputColumn], order: Order) -> tuple[list[tuple[int, bool]], list[OutputColumn]]:
    """ORDER BY as positions, with hidden columns for what is not selected, and for NULLs that are not the smallest."""
    scalars: list[Scalar] = [c.expression for c in columns]
    names = [c.name for c in columns]
    hidden: list[OutputColumn] = []
    places: list[tuple[int, bool]] = []

    def position(scalar: Scalar) -> int:
        if scalar not in scalars:
            scalars.append(scalar)
            names.append(f"order_{len(scalars)}")
            hidden.append(OutputColumn(unique_names(names)[-1], scalar))
        return scalars.index(scalar)

    for scalar, descending, first in order:
        if scalar.type.nullable and first == descending:
            places.append((position(call("is_null", scalar)), first))
        places.append((position(scalar), descending))
    return places, hidden
