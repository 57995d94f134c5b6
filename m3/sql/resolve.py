"""SQL syntax -> :class:`m3.sql.block.Query`: every name is resolved, every expression typed, nothing is joined yet.

A SELECT is read in the order in which SQL means it: FROM, WHERE, GROUP BY, HAVING, the list with its window functions,
QUALIFY, ORDER BY. Stars are written out, aliases and ordinals replaced by what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sqlglot import exp

from m3.dictionary.aliases import ANYWHERE, OVER_LISTS, replace_aliases, write_out_list
from m3.errors import FollowUp
from m3.program import Relation
from m3.scalars import Scalar, call, const
from m3.sql.block import Block, From, Join, Limited, Order, Output, Query, Subquery, Table, Window
from m3.sql.expressions import as_condition, is_bare_null
from m3.sql.functions import make_reader
from m3.sql.grouping import GroupReader, has_aggregates, read_grouping
from m3.sql.names import MERGED, Known, Names
from m3.sql.subqueries import SubqueryReader
from m3.sql.tables import read_from, read_operation, read_values
from m3.sql.windows import compose_window, read_count, read_window

__all__ = ["resolve_query"]

#: Dialects in which a condition may be a number, which is true unless it is 0.
INTEGERS_ARE_TRUE = ("duckdb", "sqlite", "mysql")


def resolve_query(node: exp.Expr, parent: Names) -> Query:
    """What a query means, within the names around it.

    >>> from m3.sql.show import resolve_example, show
    >>> print(show(resolve_example("SELECT *, x + 1 AS y FROM r AS o WHERE id = 1 ORDER BY 2, y")))
    FROM r AS o
    WHERE o.id = 1
    SELECT o.id AS id, o.a AS a, o.x AS x, o.x + 1 AS y
    ORDER BY o.a, o.x + 1

    Raises:
        CompileError: a name that means nothing, or too much; types that do not fit; what is not supported.
    """
    names, source = _read_with(node, parent), parent.context.source
    before, query = source.failures, None
    with source.attempt(node):
        query = _resolve_within(node, names)
    if names is not parent:
        for view in list(names.unread.values()):  # what nobody reads has to be right all the same
            with source.attempt(node):
                view()
    source.stop(before)
    assert query is not None
    return query


def _resolve_within(node: exp.Expr, names: Names) -> Query:
    """What a query means within its names, its common table expressions among them."""
    limit, offset = read_count(node, "limit", names.context), read_count(node, "offset", names.context) or 0
    if isinstance(node, exp.Subquery):
        if node.args.get("joins"):
            names.fail(node, "a join in the place of a query", "unsupported-join", "SELECT .. FROM .. JOIN ..")
        return _limit_query(node, names, resolve_query(node.this, names), limit, offset)
    if isinstance(node, exp.SetOperation):
        combined = read_operation(node, names, resolve_query)
        return replace(combined, order=tuple(_read_set_order(node, combined, names)), limit=limit, offset=offset)
    if isinstance(node, exp.Values):
        if any(row.find(exp.Column, exp.Query) for row in node.expressions):
            values: Query = resolve_query(_unite_rows(node), names)
        else:
            values = read_values(node, names, _Reader(Names(names.context, names)).read)
        return _limit_query(node, names, values, limit, offset)
    if not isinstance(node, exp.Select):
        hint = "SELECT, UNION, EXCEPT, INTERSECT, VALUES"
        names.fail(node, f"{names.context.source.name(node)} is not a query", "not-a-select", hint)
    block = _Select(node, names).block()
    return replace(block, limit=limit, offset=offset, single=block.single or (limit is not None and limit <= 1))


def _unite_rows(node: exp.Values) -> exp.Expr:
    """VALUES of columns, in LATERAL and in subqueries: a SELECT for each row, without its own ORDER BY and LIMIT."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    first, *others = (
        exp.Select(expressions=[exp.alias_(e, f"column_{i}") for i, e in enumerate(row, 1)]) for row in rows
    )
    united: exp.Expr = first
    for select in others:
        united = exp.Union(this=united, expression=select, distinct=False)
    return united


def _limit_query(node: exp.Expr, names: Names, query: Query, limit: int | None, offset: int) -> Query:
    """A query in parentheses, with the LIMIT and ORDER BY behind them."""
    order = tuple(_read_set_order(node, query, names))
    return query if limit is None and not offset and not order else Limited(query, query.columns, order, limit, offset)


def _read_with(node: exp.Expr, parent: Names) -> Names:
    """Names within ``parent`` that know the common table expressions of a query; ``parent`` when it has none."""
    with_ = node.args.get("with_")
    if with_ is None:
        return parent
    for cte in with_.expressions if with_.args.get("recursive") else ():
        if any(t.name.lower() == cte.alias.lower() and not t.db for t in cte.this.find_all(exp.Table)):
            hint = "how often it goes on depends on the data: write a fixed number of joins, or a series of numbers"
            parent.fail(cte, "a query that reads itself", "recursive", hint)
    names = Names(parent.context, parent)
    for cte in with_.expressions:
        name, scope = cte.alias.lower(), replace(names, views=dict(names.views))
        if name in names.views:
            names.fail(cte, f"two queries of WITH are called {cte.alias!r}", "duplicate-name", "rename one of them")
        names.views[name] = names.unread[name] = _make_view(cte, scope)
    return names


def _make_view(cte: exp.CTE, scope: Names) -> Callable[[], Query]:
    def query() -> Query:
        scope.unread.pop(cte.alias.lower(), None)
        found = resolve_query(cte.this, scope)
        names = [c.name for c in cte.args["alias"].args.get("columns") or ()]
        if not names:
            return found
        if len(names) > len(found.columns):
            message = f"{len(names)} names for the columns of {cte.alias}"
            scope.fail(cte.args["alias"], message, "wrong-arity", f"it has {len(found.columns)}")
        called = [*names, *(c.name for c in found.columns[len(names) :])]
        columns = tuple(replace(c, name=name) for c, name in zip(found.columns, called, strict=True))
        return Limited(found, columns)

    return query


@dataclass
class _Reader:
    """Reads expressions over the columns of a block."""

    names: Names

    def __post_init__(self) -> None:
        self.subqueries = SubqueryReader(self.names, resolve_query, self.read)
        self._expressions = make_reader(self.names.context.source, self.leaf)

    def read(self, node: exp.Expr) -> Scalar:
        """An expression over single rows."""
        return self._expressions.read(node)

    def leaf(self, node: exp.Expr) -> Scalar | None:
        """Columns and subqueries; aggregates and window functions are out of place here."""
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self.names.resolve(node)
        if isinstance(node, exp.Window | exp.AggFunc | exp.Filter):
            found = None if isinstance(node, exp.Window) else self.names.aggregate_around(node)
            if found is not None:
                return found
            clause = "QUALIFY" if isinstance(node, exp.Window) else "HAVING"
            hint = f"use {clause}, or compute it in a derived table"
            name = self.names.context.source.name(node)
            self.names.fail(node, f"{name} where a single row is meant", "misplaced-aggregate", hint)
        return self.subqueries.leaf(node)


class _Select:
    """Resolves one SELECT, clause by clause."""

    def __init__(self, select: exp.Select, parent: Names) -> None:
        self.select, self.parent = select, parent
        self.names = Names(parent.context, parent)

    def block(self) -> Block:
        """The SELECT, without its LIMIT."""
        select, names = self.select, self.names
        if not select.expressions:
            names.fail(select, "SELECT without columns", "no-columns", "SELECT *")
        for lateral in select.args.get("laterals") or ():
            names.fail(lateral, "LATERAL VIEW", "unsupported-table", "join a derived table")
        rows, text = _Reader(names), names.context.source
        before, source = text.failures, None
        with text.attempt(select):
            source = read_from(names, select, resolve_query, rows.read)
        if source is None and select.args.get("from_") is not None:
            names.tables.append(Known("", (), incomplete=True))
        items: list[exp.Expr] | None = None
        with text.attempt(select):
            grouped = select.args.get("group") is not None
            items = write_out_list(_expand_stars(select, names), names.context.dialect, names.has, grouped=grouped)
        conditions = tuple(self._read_where(rows, items or []))
        if items is None:  # what the positions of the list mean is not known
            raise FollowUp
        groups = self._read_groups(items, rows)
        having = self._read_clause("having", groups.read) if groups is not None else None
        read, after = (rows.read, names) if groups is None else (groups.read, groups.names)
        listed = _List(select, read, after)
        for position, item in enumerate(items, start=1):
            listed.read_output(position, item)
        qualify = self._read_clause("qualify", listed.read, items)
        order = tuple(listed.read_order(select))
        with text.attempt(select):
            listed.check_unread_windows()
        unique = select.args.get("distinct")
        first = _find_first_of(unique)
        text.stop(before)
        made = Block(
            source,
            tuple(listed.outputs),
            conditions,
            having=having,
            having_place=text.point(select.args["having"].this) if having is not None else None,
            windows=tuple(listed.windows),
            qualify=qualify,
            order=order,
            first_of=tuple(dict.fromkeys(listed.read_place(node) for node in first)) if first is not None else None,
            distinct=bool(unique) and first is None,
            subqueries=(*names.subqueries, *(after.subqueries if groups is not None else ())),
        )
        described = self._describe(made, groups)
        return _derive_groups(described, names.subqueries) if groups is not None and groups.asked_within else described

    def _read_where(self, rows: _Reader, items: Sequence[exp.Expr]) -> Iterator[Scalar]:
        there, text = self.select.args.get("where") is not None, self.names.context.source
        for node in _split_conjuncts(self._write_out("where", items)) if there else []:
            with text.attempt(node):
                yield self._check_condition(node, rows.read(node), "WHERE")

    def _read_groups(self, items: Sequence[exp.Expr], rows: _Reader) -> GroupReader | None:
        if self.select.args.get("group") is None and not has_aggregates(self.select, items):
            return None
        groups = read_grouping(self.select, items, self.names, rows.read)
        groups.subqueries = SubqueryReader(groups.names, resolve_query, groups.read).leaf
        return groups

    def _describe(self, block: Block, groups: GroupReader | None) -> Block:
        """With its grouping, now that everything over it is known, and what the blocks around it may want to know."""
        names = self.names
        if groups is not None:
            windows = (s for w in block.windows for s in w.scalars())
            over = [*block.results(), *windows, *(block.first_of or ())]
            over += [s for s in (block.having, block.qualify) if s is not None]
            over += [s for q in block.subqueries for s in q.operands]
            block = replace(block, grouping=groups.grouping(over))
        assert block.grouping is None or groups is not None
        grouping, rows = block.grouping, _at_most_one(block.source)
        columns = [names.column(o.scalar) for o in block.outputs]  # None for what is computed
        return replace(
            block,
            # a total, or a row of tables that have one
            single=rows if grouping is None else len(grouping.sets) == 1 and (rows or not grouping.sets[0]),
            origins=() if groups is not None else tuple(c.origin if c is not None else None for c in columns),
            untyped=frozenset(
                i
                for i, (o, c) in enumerate(zip(block.outputs, columns, strict=True))
                if is_bare_null(o.scalar) or (c is not None and c.untyped)
            ),
        )

    def _read_clause(
        self, name: str, read: Callable[[exp.Expr], Scalar], items: Sequence[exp.Expr] = ()
    ) -> Scalar | None:
        """HAVING or QUALIFY, where there is one."""
        clause = self.select.args.get(name)
        if clause is None:
            return None
        with self.names.context.source.attempt(clause):
            node = self._write_out(name, items)
            return self._check_condition(node, read(node), name.upper())
        return None

    def _write_out(self, clause: str, items: Sequence[exp.Expr]) -> exp.Expr:
        """The condition of a clause, without names of the list where the dialect has them there."""
        node: exp.Expr = self.select.args[clause].this
        known = {"where": ANYWHERE, "qualify": OVER_LISTS}.get(clause, ())
        return replace_aliases(node, items, self.names.has) if self.names.context.dialect in known else node

    def _check_condition(self, node: exp.Expr, scalar: Scalar, clause: str) -> Scalar:
        scalar = as_condition(scalar)
        if scalar.type.kind == "int" and self.names.context.dialect in INTEGERS_ARE_TRUE:
            return call("ne", scalar, const(0))
        if scalar.type.kind != "bool":
            hint = (
                f"write a comparison, such as {self.names.context.source.text(node)} <> 0"
                if scalar.type.is_numeric
                else "write a comparison"
            )
            self.names.fail(node, f"{clause} of type {scalar.type}", "type-mismatch", hint)
        return scalar


def _derive_groups(block: Block, before: Sequence[Subquery]) -> Block:
    """A grouped query whose subqueries have aggregates of its groups, as one over the derived table of its groups: these are
    columns there, which may be compared in any way."""
    grouping = block.grouping
    assert grouping is not None
    columns = (
        *(v for v, _ in grouping.keys),
        *(a.variable for a in grouping.aggregates),
        *(v for v, _ in grouping.indicators),
    )
    outputs = tuple(Output(f"{v.name}_{i}", v) for i, v in enumerate(columns))
    groups = Block(
        block.source, outputs, block.conditions, grouping=grouping, subqueries=tuple(before), single=block.single
    )
    behind = tuple(q for q in block.subqueries if q not in before)
    conditions = (block.having,) if block.having is not None else ()
    return replace(
        block,
        source=Table("", columns, groups),
        conditions=conditions,
        grouping=None,
        having=None,
        having_place=None,
        subqueries=behind,
    )


def _at_most_one(source: From | None) -> bool:
    match source:
        case Table():
            return not isinstance(source.rows, Relation) and source.rows.single
        case Join():
            right = source.side in ("SEMI", "ANTI") or _at_most_one(source.right)
            return source.side != "FULL" and right and _at_most_one(source.left)
    return True


def _split_conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a conjunction: errors are reported at each."""
    if isinstance(node, exp.Paren):
        return _split_conjuncts(node.this)
    return [*_split_conjuncts(node.left), *_split_conjuncts(node.right)] if isinstance(node, exp.And) else [node]


def _expand_stars(select: exp.Select, names: Names) -> list[exp.Expr]:
    """The SELECT list with stars written out."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        star = item.this if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else item
        if not isinstance(star, exp.Star):
            items.append(item)
            continue
        wanted = item.table.lower() if isinstance(item, exp.Column) else ""
        if any(t.incomplete for t in names.tables if wanted in ("", t.alias.lower()) or not t.alias):
            raise FollowUp
        found = _list_columns(names, wanted)
        if not found:
            names.fail(item, f"no table {wanted!r} for the star", "unknown-table", "name a table of FROM")
        for column in found:  # errors are reported at the star
            column.meta.update({k: v for part in item.walk() for k, v in part.meta.items()})
        items += _apply_exceptions(item, star, found, names)
    return items


def _list_columns(names: Names, wanted: str) -> list[exp.Column]:
    """What ``*`` stands for, or ``wanted.*``: columns of USING once, first of all, in DuckDB where the left table has them."""
    if wanted:
        around: Names | None = names
        while around is not None and not any(t.alias.lower() == wanted for t in around.tables):
            around = around.parent  # a table of a query around this one
        tables = around.tables if around is not None else ()
        return [_refer_to(c.name, t.alias) for t in tables if t.alias.lower() == wanted for c in t.columns]
    merged = {name: _refer_to(c.name, MERGED) for name, c in names.merged.items()}
    first = [] if names.context.dialect == "duckdb" else [merged[name] for name in merged]
    inside = [
        merged[c.name.lower()] if c.name.lower() in t.merged else _refer_to(c.name, t.alias)
        for t in names.tables
        for c in t.columns
    ]
    return list({id(c): c for c in (*first, *inside)}.values())


def _apply_exceptions(item: exp.Expr, star: exp.Expr, found: Sequence[exp.Column], names: Names) -> list[exp.Expr]:
    """The columns of ``* EXCLUDE (a) REPLACE (b + 1 AS b) RENAME (c AS d)``."""
    left_out = {n.name.lower() for n in star.args.get("except_") or ()}
    replaced = {n.alias.lower(): n.this for n in star.args.get("replace") or ()}
    renamed = {n.this.name.lower(): n.alias for n in star.args.get("rename") or ()}
    unknown = {*left_out, *replaced, *renamed} - {c.name.lower() for c in found}
    if unknown:
        hint = f"columns: {', '.join(dict.fromkeys(c.name for c in found))}"
        names.fail(item, f"no column {min(unknown)!r}", "unknown-column", hint)
    kept = [c for c in found if c.name.lower() not in left_out]
    if not kept and len(item.parent_select.expressions if item.parent_select is not None else ()) < 2:
        names.fail(item, "a star that leaves out every column", "no-columns", "leave out fewer")
    changed = ((c, replaced.get(c.name.lower(), c), renamed.get(c.name.lower(), c.name)) for c in kept)
    return [c if body is c and name == c.name else exp.alias_(body, name, quoted=True) for c, body, name in changed]


def _refer_to(name: str, table: str | None) -> exp.Column:
    quoted = exp.to_identifier(table, quoted=True) if table is not None else None
    return exp.column(exp.to_identifier(name, quoted=True), table=quoted)


def _find_first_of(distinct: exp.Expr | None) -> list[exp.Expr] | None:
    """The expressions of DISTINCT ON: the first row of each combination of them is kept."""
    on = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
    return on.expressions if isinstance(on, exp.Tuple) else [on.unnest()] if on is not None else None


class _List:
    """Reads the SELECT list, with window functions, and ORDER BY, which may also name list items."""

    def __init__(self, select: exp.Select, read: Callable[[exp.Expr], Scalar], names: Names) -> None:
        self.select, self._inner, self.names = select, read, names
        self.windows: list[Window] = []
        self.outputs: list[Output] = []
        #: The lower-case names of the entries in which there is an error.
        self.failed: set[str] = set()
        self._used: set[str] = set()

    def read_output(self, position: int, item: exp.Expr) -> None:
        """An entry of the list."""
        body = item.unalias()
        name = item.alias or (body.name if isinstance(body, exp.Column) else f"{body.key.lower()}_{position}")
        self.failed.add(name.lower())
        with self.names.context.source.attempt(item):
            self.outputs.append(Output(name, self.read(body), self.names.context.source.point(body)))
            self.failed.discard(name.lower())

    def read_order(self, select: exp.Select) -> Iterator[Order]:
        """ORDER BY."""
        order = select.args.get("order")
        for node in order.expressions if order is not None else ():
            places: list[Scalar] = []
            with self.names.context.source.attempt(node):
                places = [o.scalar for o in self.outputs] if is_all(node.this) else [self.read_place(node.this)]
            if any(s.type.kind == "list" for s in places):
                self.names.fail(node, "ORDER BY a list", "list-in-expression", "order by a key, COUNT, MIN or MAX")
            for scalar in places:
                yield scalar, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))

    def read(self, node: exp.Expr) -> Scalar:
        """An expression of the list."""
        if not any(True for _ in _find_windows(node)):
            return self._inner(node)
        return make_reader(self.names.context.source, self._read_leaf).read(node)

    def _read_leaf(self, node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Window):
            if node.args.get("alias") is not None:
                self._used.add(node.args["alias"].name.lower())
            built = self._build_window(node, self._windows_by_name)
            composed = compose_window(built, self.names, self._inner, lambda inner: self.read(_of_window(built, inner)))
            if composed is not None:
                return composed
            found = read_window(built, self.names, self._inner)
            for known in self.windows:
                if (known.partition, known.function) == (found.partition, found.function):
                    return known.variable
            self.windows.append(found)
            return found.variable
        if any(True for _ in _find_windows(node)):
            return None
        return self._inner(node)

    def check_unread_windows(self) -> None:
        """Read the named windows that no function names: what nobody reads has to be right all the same."""
        for name, window in self._windows_by_name.items():
            if name not in self._used:
                read_window(_copy_window(window, exp.Window(this=exp.Count(this=exp.Star()))), self.names, self._inner)

    @cached_property
    def _windows_by_name(self) -> dict[str, exp.Window]:
        """The windows of the WINDOW clause, in its order; one that is made of another, ``v AS (w ORDER BY a)``, is written out."""
        found: dict[str, exp.Window] = {}
        for window in self.select.args.get("windows") or ():
            if window.name.lower() in found:
                hint = "rename one of them"
                self.names.fail(window, f"two windows are called {window.name!r}", "duplicate-name", hint)
            found[window.name.lower()] = self._build_window(window, found)
        return found

    def _build_window(self, node: exp.Window, named: Mapping[str, exp.Window]) -> exp.Window:
        alias = node.args.get("alias")
        if alias is None:
            return node
        if alias.name.lower() not in named:
            self.names.fail(node, f"no window {alias.name!r}", "unknown-window", f"known: {', '.join(named) or 'none'}")
        base = named[alias.name.lower()]
        contradiction = _find_contradiction(base, node, alias.name, self.names.context.dialect)
        if contradiction:
            hint = "a window that is made of another adds an ORDER BY or a frame where that has none; write it out"
            self.names.fail(node, contradiction, "unsupported-window", hint)
        return _copy_window(base, node)

    def read_place(self, node: exp.Expr) -> Scalar:
        """An expression of ORDER BY: a position, an output column, or anything over the block."""
        items = self.outputs
        if self.failed and (isinstance(node, exp.Literal) or node.name.lower() in self.failed):
            raise FollowUp
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            if not str(node.this).isdigit() or not 1 <= int(node.this) <= len(items):
                self.names.fail(node, f"no output column {node.this}", "bad-ordinal", f"there are {len(items)} columns")
            return items[int(node.this) - 1].scalar
        if isinstance(node, exp.Column) and not node.table:
            named = {i.scalar: None for i in items if i.name.lower() == node.name.lower()}
            if len(named) > 1:
                hint = "give them different names, or order by the position"
                self.names.fail(node, f"output column {node.name!r} is ambiguous", "ambiguous-column", hint)
            if named:
                return next(iter(named))
        return self.read(node)


def _find_contradiction(base: exp.Window, node: exp.Window, name: str, dialect: str | None) -> str | None:
    """Why a window cannot be made of the window ``name`` as it says; None if it can, as the SQL standard has it. In DuckDB it may also add
    a PARTITION BY where that has none.

    ``OVER (w)`` is read as ``OVER w``, from which sqlglot does not tell it apart: nothing of either is lost.
    """
    if node.args.get("partition_by") and (dialect != "duckdb" or base.args.get("partition_by")):
        return f"PARTITION BY beside the window {name!r}: its own cannot be overridden"
    if node.args.get("order") and base.args.get("order"):
        return f"ORDER BY beside the window {name!r}, which has one: it cannot be overridden"
    if base.args.get("spec") and any(node.args.get(part) for part in ("partition_by", "order", "spec")):
        return f"a window made of the window {name!r}, which has a frame: only OVER {name} can be said of it"
    return None


def _of_window(window: exp.Window, inner: exp.Expr) -> exp.Window:
    """Another function over the same window."""
    made = window.copy()
    made.set("this", inner)
    return made


def _copy_window(window: exp.Window, node: exp.Window) -> exp.Window:
    """A window function with what a window says that it does not say itself."""
    copy = node.copy()
    for part in ("partition_by", "order", "spec"):
        copy.set(part, node.args.get(part) or window.args.get(part))
    copy.set("alias", None)
    return copy


def _find_windows(node: exp.Expr) -> Iterable[exp.Expr]:
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Window):
        yield node
        return
    for child in node.iter_expressions():
        yield from _find_windows(child)


def is_all(node: exp.Expr) -> bool:
    """Whether an entry of ORDER BY is ALL: every column of the list, from left to right."""
    return isinstance(node, exp.Var) and node.name.upper() == "ALL"


def _read_set_order(node: exp.Expr, rows: Query, names: Names) -> list[Order]:
    """ORDER BY of a set operation: positions and names of its columns."""
    order = node.args.get("order")
    found: list[Order] = []
    for item in order.expressions if order is not None else ():
        inner = item.this
        if is_all(inner):
            found += [(c, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))) for c in rows.columns]
            continue
        if isinstance(inner, exp.Literal) and str(inner.this).isdigit() and 1 <= int(inner.this) <= len(rows.columns):
            column = rows.columns[int(inner.this) - 1]
        else:
            named = [c for c in rows.columns if isinstance(inner, exp.Column) and c.name.lower() == inner.name.lower()]
            if not named:
                names.fail(
                    item, "ORDER BY something not selected", "order-by", "a column of the result, or its position"
                )
            column = named[0]
        found.append((column, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
    return found
