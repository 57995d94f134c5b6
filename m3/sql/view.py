"""A query -> :class:`~m3.algebra.rows.ViewQuery`: what is maintained, and what is computed when the view is read.

A grouping with linear aggregates is read off its maps: one per aggregate, keyed by the group. Anything else is a bag of
rows: the map of a derived relation if it is one, else a map of its own. HAVING over groups, expressions over aggregates,
ORDER BY and LIMIT cost nothing until somebody reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import NoReturn

from sqlglot import exp

from m3.algebra.derive import Registry
from m3.algebra.rows import Rows, ViewQuery
from m3.algebra.temporal import mentions_now
from m3.algebra.terms import Polynomial
from m3.errors import CompileError, M3Error, combine_errors
from m3.failures import find_place
from m3.program import Column, OutputColumn, Relation
from m3.scalars import Scalar, Var, bare, call, substitute
from m3.simplify import simplify
from m3.sql.block import Block, Constants, Numbers, Order, Query, placeholders, unique_names
from m3.sql.correlation import Space, count_rows, name_columns
from m3.sql.grouping import Groups
from m3.sql.joining import Workspace
from m3.sql.lists import find_foreign, has_lists, place_lists, strip_lists, weave_lists
from m3.sql.names import Context, Names
from m3.sql.normalise import normalise
from m3.sql.places import is_wrapper
from m3.sql.resolve import resolve_query
from m3.sql.rewrites import rewrite
from m3.sql.select import filter_rows, list_rows, remove_repeats, rows_of, select_rows
from m3.sql.tables import parse_with_views

__all__ = ["parse_view"]


def parse_view(
    name: str,
    views: Mapping[str, str],
    relations: Sequence[Relation],
    registry: Registry,
    dialect: str | None = None,
    broken: Collection[str] = (),
) -> ViewQuery:
    """What a query asks for, in the algebra.

    >>> from m3.formatting import format_scalar
    >>> from m3.sql.show import EXAMPLE
    >>> views = {"v": "SELECT a, COUNT(*) + 1 AS n FROM r GROUP BY a HAVING COUNT(*) > 2"}
    >>> view = parse_view("v", views, EXAMPLE, Registry())
    >>> [(c.name, format_scalar(c.expression)) for c in view.columns], format_scalar(view.having)
    ([('a', 'a'), ('n', 'count + 1')], 'count > 2')

    Args:
        name: the view's name.
        views: queries by name, this view's and those that it may read.
        relations: the base tables.
        registry: the derived relations of the program, which is added to.
        dialect: sqlglot's name of the SQL dialect; None for its generic one.
        broken: names of tables and views that are there, but have errors that somebody else reports.

    Raises:
        SyntaxProblem: not SQL.
        CompileError: SQL that cannot be maintained, at its place, with the nearest form that can; with all errors that do not
            follow from each other.
        FollowUp: it reads something in which there is an error.
    """
    tree, source = parse_with_views(name, views, [r.name for r in relations], dialect)
    node: exp.Expr = tree
    known = {r.name: r for r in relations}
    context = Context(
        source,
        known,
        registry,
        name,
        dialect,
        views=tuple(v for v in views if v != name),
        broken=frozenset(b.lower() for b in broken),
    )
    try:
        with source.guard(tree):
            node = rewrite(tree, source)
            while is_wrapper(node):
                node = node.this
            return _View(context, node).read()
    except RecursionError as error:
        hint = "split it by WITH, or write long lists with IN"
        raise CompileError("too deeply nested", kind="too-deep", span=source.span(node), hint=hint) from error
    except M3Error as error:
        raise combine_errors([*source.problems, error]) from error


@dataclass
class _View:
    context: Context
    node: exp.Expr

    def read(self) -> ViewQuery:
        """The view: its own ORDER BY and LIMIT are left for when it is read."""
        resolved = place_lists(resolve_query(self.node, Names(self.context)))
        self._refuse_lists(resolved)
        query, top = normalise(resolved), Workspace(self.context, rows_of=rows_of)
        if isinstance(query, Constants | Numbers):
            return self._read_bag(rows_of(query, top), (), None, 0)
        whole = replace(query, limit=None, offset=0)
        if not isinstance(whole, Block):
            return self._read_bag(rows_of(replace(whole, order=()), top), whole.order, query.limit, query.offset)
        space = filter_rows(whole, self.context, None)
        linear = self._read_linear(whole, space, query.limit, query.offset)
        if linear is not None:
            return linear
        if has_lists(whole):
            return self._read_with_lists(whole, space, query.limit, query.offset)
        return self._read_rows(whole, space, query.limit, query.offset)

    def _refuse_lists(self, query: Query) -> None:
        """Lists have to be of the outermost grouping."""
        if not has_lists(query):
            return
        if not isinstance(query, Block):
            hint = "put the rows together before they are grouped, or keep a view for each part"
            self._fail_list(self.node, "a list in a set operation, or in a query with a LIMIT of its own", hint)
        foreign = find_foreign(query)
        if foreign is not None:
            name, items = query.outputs[foreign].name, self.node.expressions
            written = len(items) == len(query.outputs) and not any(item.is_star for item in items)
            hint = "join and filter the rows before they are grouped: SELECT c.name, ARRAY_AGG(o.item) FROM c LEFT JOIN o ON .. GROUP BY c.name"
            what = f"the list {name} of an inner query that is joined, grouped, limited or a subquery"
            self._fail_list(items[foreign] if written else self.node, what, hint)
        if query.distinct:
            self._fail_list(self.node, "SELECT DISTINCT of a list", "GROUP BY what is to be distinct")
        if query.grouping is not None and len(query.grouping.sets) > 1:
            self._fail_list(self.node, "a list under ROLLUP, CUBE or GROUPING SETS", "a view for each grouping")

    def _fail_list(self, node: exp.Expr, what: str, hint: str) -> NoReturn:
        self.context.source.fail(node, what, "unsupported-list", hint)

    def _read_with_lists(self, block: Block, space: Workspace, limit: int | None, offset: int) -> ViewQuery:
        """The view of a grouping that has lists and more than maps: its rows, and the lists by the keys of their groups."""
        stripped = strip_lists(block)
        groups = Groups(stripped.grouping, space).find_linear()
        assert groups is not None
        view = self._read_rows(stripped.block, space, limit, offset)
        return weave_lists(block, stripped, view, groups.lists)

    def _read_linear(self, block: Block, space: Workspace, limit: int | None, offset: int) -> ViewQuery | None:
        """The view of a grouping that is read off its maps; None where more than maps is needed."""
        over = [*block.results(), *([block.having] if block.having is not None else [])]
        if block.grouping is None or block.distinct or block.windows or block.qualify or block.first_of:
            return None
        if placeholders(over):
            return None
        groups = Groups(block.grouping, space).find_linear()
        if groups is None:
            return None
        if block.having is not None and mentions_now(block.having):
            return None  # of groups kept as rows it is a condition as any other
        items = [(o.name, simplify(substitute(o.scalar, groups.env))) for o in block.outputs]
        places = [o.place for o in block.outputs]
        order = [(simplify(substitute(s, groups.env)), d, n) for s, d, n in block.order]
        having = simplify(substitute(block.having, groups.env)) if block.having is not None else None
        values = tuple((x.name, x.polynomial) for x in groups.inputs)
        view = self._make_view(groups.keys, values, groups.exists, items, having, order, limit, offset)
        written = zip_longest(view.columns, places)
        columns = tuple(replace(c, place=place or c.place) for c, place in written)
        return replace(view, lists=groups.lists, columns=columns, having_place=block.having_place)

    def _read_rows(self, block: Block, space: Workspace, limit: int | None, offset: int) -> ViewQuery:
        rows, order = list_rows(block, select_rows(block, space))
        if block.distinct:
            visible = Rows(tuple(c for c in rows.columns if c.scope is None), rows.branches)
            if any(s.scope is not None for s, _, _ in order if isinstance(s, Var)):
                hint = "add it to the SELECT list"
                self.context.source.fail(
                    self.node, "SELECT DISTINCT ordered by something not selected", "order-by", hint
                )
            rows = remove_repeats(visible, Space(self.context))
        return self._read_bag(rows, order, limit, offset)

    def _read_bag(self, rows: Rows, order: Sequence[Order], limit: int | None, offset: int) -> ViewQuery:
        direct = self._read_direct(rows, order, limit, offset)
        if direct is not None:
            return direct
        columns = name_columns(rows.columns)
        held = count_rows(rows.branches, rows.columns)
        env = {old.key: Var(new.name, new.type) for old, new in zip(rows.columns, columns, strict=True)}
        items = [(c.name, env[c.key]) for c in rows.columns if c.scope is None]
        placed = [(simplify(substitute(s, env)), d, n) for s, d, n in order]
        return self._make_view(tuple(columns), (), held, items, None, placed, limit, offset, repeated=True)

    def _read_direct(self, rows: Rows, order: Sequence[Order], limit: int | None, offset: int) -> ViewQuery | None:
        """The rows of one derived relation are read off its map."""
        if len(rows.branches) != 1:
            return None
        (branch,) = rows.branches
        derived = {q.relation.name for q in self.context.registry.queries}
        if mentions_now(*branch.conditions):
            return None
        if len(branch.sources) != 1 or branch.coefficient != 1 or branch.sources[0].relation.name not in derived:
            return None
        (source,) = branch.sources
        items = [(c.name, bare(branch.env[c.key])) for c in rows.columns if c.scope is None]
        placed = [(bare(branch.value(s)), d, n) for s, d, n in order]
        conditions = [bare(c) for c in branch.conditions]
        having = None if not conditions else conditions[0] if len(conditions) == 1 else call("and", *conditions)
        return self._make_view(
            source.relation.columns, (), source.relation, items, having, placed, limit, offset, repeated=True
        )

    def _make_view(
        self,
        keys: Sequence[Column],
        values: Sequence[tuple[str, Polynomial]],
        exists: Polynomial | Relation,
        items: Sequence[tuple[str, Scalar]],
        having: Scalar | None,
        order: Sequence[Order],
        limit: int | None,
        offset: int,
        *,
        repeated: bool = False,
    ) -> ViewQuery:
        names = unique_names([name for name, _ in items])
        columns = [
            OutputColumn(name, scalar, find_place(scalar)) for name, (_, scalar) in zip(names, items, strict=True)
        ]
        places, hidden = _place_order(columns, order)
        return ViewQuery(
            self.context.view,
            tuple(keys),
            tuple(values),
            exists,
            (*columns, *hidden),
            having,
            tuple(places),
            limit,
            self.context.source.complete,
            offset,
            repeated,
            len(hidden),
            tuple(self.context.checks),
        )


def _place_order(
    columns: Sequence[OutputColumn], order: Sequence[Order]
) -> tuple[list[tuple[int, bool]], list[OutputColumn]]:
    """ORDER BY as positions, with hidden columns for what is not selected, and for NULLs that are not the smallest."""
    scalars: list[Scalar] = [c.expression for c in columns]
    names = [c.name for c in columns]
    hidden: list[OutputColumn] = []
    places: list[tuple[int, bool]] = []

    def position(scalar: Scalar) -> int:
        if scalar not in scalars:
            scalars.append(scalar)
            names.append(f"order_{len(scalars)}")
            hidden.append(OutputColumn(unique_names(names)[-1], scalar, find_place(scalar)))
        return scalars.index(scalar)

    for scalar, descending, first in order:
        if scalar.type.nullable and first == descending:
            places.append((position(call("is_null", scalar)), first))
        places.append((position(scalar), descending))
    return places, hidden
