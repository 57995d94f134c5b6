"""FROM: base tables, derived tables, common table expressions and joins, resolved to a tree of :class:`Table` and ``Join``.

Views that read other views of the project: a name that is no table is a WITH query in front.

    >>> from m3.sql.places import Source
    >>> views = {"totals": "SELECT k, SUM(x) AS s FROM r GROUP BY k", "v": "SELECT MAX(s) FROM totals"}
    >>> tree, source = parse_with_views("v", views, ["r"], None)
    >>> source.complete
    'WITH totals AS (SELECT k, SUM(x) AS s FROM r GROUP BY k) SELECT MAX(s) FROM totals'

Maps and derived relations that mean the same are kept once, so that the other view costs nothing twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlglot import exp

from m3.algebra.normal import common_type
from m3.errors import CompileError, FollowUp, M3Error
from m3.program import Relation
from m3.scalars import Call, Const, Key, Scalar, Var, call
from m3.sql.block import Block, Combined, Constants, From, Join, Limited, Query, Table, columns_of, placeholders
from m3.sql.correlation import convert
from m3.sql.elements import read_elements
from m3.sql.expressions import as_condition, is_bare_null
from m3.sql.functions import make_reader
from m3.sql.mistakes import suggest_name
from m3.sql.names import Column, Known, Names
from m3.sql.places import Source, is_wrapper, mark_elsewhere

__all__ = [
    "complete_texts",
    "is_untyped",
    "mentions",
    "merge_sides",
    "parse_with_views",
    "read_from",
    "read_operation",
    "read_values",
    "unite_columns",
]


ResolveQuery = Callable[[exp.Expr, Names], Query]
Read = Callable[[exp.Expr], Scalar]


#: Dialects in which a derived table sees the tables before it without LATERAL; in the others a name in it is one of the
#: block around it.
LATERAL_ANYWHERE = frozenset({None, "duckdb"})


def read_from(names: Names, select: exp.Select, resolve_query: ResolveQuery, read: Read) -> From | None:
    """The FROM clause of a SELECT; its tables become known to ``names``.

    >>> from m3.sql.show import resolve_example, show
    >>> print(show(resolve_example("SELECT a FROM r LEFT JOIN s AS t(id, c) USING (id)")))
    FROM r LEFT JOIN s AS t ON r.id = t.b
    SELECT r.a AS a
    """
    from_ = select.args.get("from_")
    if from_ is None:
        return None
    return _Tables(names, resolve_query, read).read_all(from_.this, select.args.get("joins") or ())


class _Tables:
    def __init__(self, names: Names, resolve_query: ResolveQuery, read: Read) -> None:
        self.names, self.resolve_query, self.read = names, resolve_query, read

    def read_all(self, first: exp.Expr, joins: Iterable[exp.Join]) -> From:
        """A table and what is joined to it, from left to right."""
        source = self._read_operand(first, ())
        for join, followers in _split_segments([*(first.args.get("joins") or ()), *joins]):
            source = self._read_join(source, join, followers)
        return source

    def _read_operand(self, node: exp.Expr, joins: Sequence[exp.Join]) -> From:
        """An operand of a join: a table, or a join itself, whose conditions see its own tables only."""
        while isinstance(node, exp.Subquery | exp.Paren) and _is_join(node.this):
            if node.alias:
                node = _derive_join(node)
                break
            joins, node = [*(node.this.args.get("joins") or ()), *joins], node.this
        if not joins:
            return self._read_table(node)
        names = self.names
        known, merged = names.tables, names.merged
        names.tables, names.merged = [], {}
        source = self._read_operand(node, ())
        for join, followers in _split_segments(joins):
            source = self._read_join(source, join, followers)
        twice = {t.alias.lower() for t in known} & {t.alias.lower() for t in names.tables}
        if twice:
            names.fail(node, f"table name {min(twice)!r} occurs twice", "duplicate-alias", "use aliases")
        names.tables, names.merged = [*known, *names.tables], {**merged, **names.merged}
        return source

    def _read_table(self, node: exp.Expr) -> Table:
        """A table; where there is an error in it, one with any columns, so that nobody is blamed who reads them."""
        with self.names.context.source.attempt(node):
            return self._find_table(node)
        self.names.tables.append(Known(node.alias_or_name, (), incomplete=True))
        return Table(node.alias_or_name, (), Constants((), ()))

    def _find_table(self, node: exp.Expr) -> Table:
        if isinstance(node, exp.Paren):
            return self._find_table(node.this)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._make_known(node, node.alias or node.name, self._find_named(node))
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self._read_derived(node, node.this)
        if isinstance(node, exp.Unnest) and len(node.expressions) == 1 and node.alias:
            block = read_elements(node, self.names, make_reader(self.names.context.source, self._read_leaf))
            return self._make_known(node, node.alias, block)
        if isinstance(node, exp.Subquery | exp.Values):
            return self._read_derived(node, node)
        hint = "a table, a derived table (SELECT ..) or VALUES"
        self.names.fail(node, f"{self.names.context.source.name(node)} in FROM", "unsupported-table", hint)

    def _read_derived(self, node: exp.Expr, query: exp.Expr) -> Table:
        inner = query.this if is_wrapper(query, "joins") else query
        names = self.names
        if not isinstance(node, exp.Lateral) and names.context.dialect not in LATERAL_ANYWHERE:
            names = Names(names.context, names.parent, views=names.views, unread=names.unread, beside=names)
        rows = self.resolve_query(inner, names)
        return self._make_known(node, node.alias or f"_{len(self.names.tables) + 1}", rows)

    def _read_leaf(self, node: exp.Expr) -> Scalar | None:
        return self.read(node) if isinstance(node, exp.Column) else None

    def _find_named(self, node: exp.Table) -> Relation | Query:
        scope: Names | None = self.names
        ctes: list[str] = []
        while scope is not None:
            ctes += scope.views
            view = scope.views.get(node.name.lower())
            if view is not None and not node.db:
                return view()
            scope = scope.parent
        context = self.names.context
        relation = next((r for name, r in context.relations.items() if name.lower() == node.name.lower()), None)
        if relation is None:
            if node.name.lower() in context.broken:
                raise FollowUp
            named = {*context.relations, *context.views}
            hint = f"known relations: {', '.join(sorted(named)) or 'none'}"
            self.names.fail(
                node, f"no relation {node.name!r}", "unknown-relation", suggest_name(node.name, {*named, *ctes}) + hint
            )
        return relation

    def _make_known(self, node: exp.Expr, alias: str, rows: Relation | Query) -> Table:
        """Make a table known, its columns called as ``AS t(a, b)`` says."""
        if alias.lower() in {t.alias.lower() for t in self.names.tables}:
            self.names.fail(node, f"table name {alias!r} occurs twice", "duplicate-alias", "give each its own alias")
        scope = self.names.context.registry.scope("table", alias)
        variables = tuple(Var(c.name, c.type, scope) for c in rows.columns)
        given = node.args.get("alias")
        names = [c.name for c in given.args.get("columns") or ()] if isinstance(given, exp.TableAlias) else []
        if len(names) > len(variables):
            hint = f"it has {len(variables)}"
            self.names.fail(node, f"{len(names)} names for the columns of {alias}", "wrong-arity", hint)
        called = [*names, *(v.name for v in variables[len(names) :])]
        if isinstance(rows, Relation):
            columns = [Column(n, v, (scope, rows, v.name)) for n, v in zip(called, variables, strict=True)]
        else:
            columns = [
                Column(
                    n,
                    v,
                    rows.origins[i] if isinstance(rows, Block) and i < len(rows.origins) else None,
                    is_untyped(rows, i),
                )
                for i, (n, v) in enumerate(zip(called, variables, strict=True))
            ]
        self.names.tables.append(Known(alias, tuple(columns)))
        return Table(alias, variables, rows)

    def _read_join(self, left: From, join: exp.Join, followers: Sequence[exp.Join]) -> Join:
        side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        names = self.names
        if kind in ("SEMI", "ANTI") or side in ("SEMI", "ANTI"):
            return self._read_semi(left, join, "ANTI" if "ANTI" in (kind, side) else "SEMI")
        if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            hint = "INNER, LEFT, RIGHT, FULL, CROSS, SEMI and ANTI joins"
            names.fail(join, f"{method} {side} {kind} JOIN".replace("  ", " "), "unsupported-join", hint)
        known, merged = list(names.tables), dict(names.merged)
        count = len(known)
        names.merged = {}
        right = self._read_operand(join.this, [*(join.this.args.get("joins") or ()), *followers])
        tables, theirs = names.tables[count:], names.merged
        names.merged = {**merged, **theirs}
        using = [i.name for i in join.args.get("using") or ()]
        if method == "NATURAL":
            using = _find_common(known, tables)
        on: list[Scalar] = []
        pairs: list[tuple[str, Scalar, Scalar]] = []
        for name in using:
            with names.context.source.attempt(join):
                on.append(self._equate_columns(join, known, merged, tables, theirs, name))
                pairs.append((name, *on[-1].args))  # type: ignore[union-attr]
        if join.args.get("on") is not None:
            shared = names.known
            if side:  # behind the join its columns may be NULL, so the same subquery may be something else there
                names.known = {}
            with names.context.source.attempt(join.args["on"]):
                on.append(self._read_condition(join.args["on"]))
            names.known = shared
        made = Join(left, right, side, tuple(on))
        self._mark_nullable(made, side)
        names.tables = [_hide_columns(t, using) for t in names.tables]
        merging = (self._merge_column(name, a, b, side) for name, a, b in pairs)
        return replace(made, merged=tuple(m for m in merging if m is not None))

    def _read_semi(self, left: From, join: exp.Join, side: str) -> Join:
        known = list(self.names.tables)
        right = self._read_table(join.this)
        tables = self.names.tables[len(known) :]
        using = [i.name for i in join.args.get("using") or ()]
        if str(join.args.get("method") or "").upper() == "NATURAL":
            using = _find_common(known, tables)
        on = [self._equate_columns(join, known, self.names.merged, tables, {}, name) for name in using]
        if join.args.get("on") is not None:
            with self.names.context.source.attempt(join.args["on"]):
                on.append(self._read_condition(join.args["on"]))
        if placeholders(on):
            self.names.fail(join, f"a subquery in the ON of a {side} join", "unsupported-join", "join a derived table")
        self.names.tables = known
        return Join(left, right, side, tuple(on))

    def _read_condition(self, node: exp.Expr) -> Scalar:
        condition = as_condition(self.read(node))
        if condition.type.kind != "bool":
            self.names.fail(node, f"ON of type {condition.type}", "type-mismatch", "write a comparison")
        return condition

    def _equate_columns(
        self,
        join: exp.Join,
        known: Sequence[Known],
        merged: dict[str, Column],
        tables: Sequence[Known],
        theirs: dict[str, Column],
        name: str,
    ) -> Scalar:
        wanted = name.lower()
        if any(t.incomplete for t in (*known, *tables)):
            raise FollowUp
        left, right = (
            [*([both[wanted]] if wanted in both else []), *(c for t in side for c in t.unmerged(wanted))]
            for side, both in ((known, merged), (tables, theirs))
        )
        if len(left) != 1 or len(right) != 1:
            hint = "the column must exist once on both sides of the join"
            self.names.fail(join, f"no common column {name!r}", "unknown-column", hint)
        with self.names.context.source.guard(join):
            return call("eq", left[0].variable, right[0].variable)

    def _merge_column(self, name: str, left: Scalar, right: Scalar, side: str) -> tuple[str, Var, Scalar] | None:
        """After USING there is one column: the left one, the right one, or in a full join whichever is there.

        Returns: the column where it is one of its own; None where it is the one of a side, also by its qualified name.
        """
        what = right if side == "RIGHT" else left
        known = self.names.column(what)
        if known is not None and side != "FULL":
            self.names.merged[name.lower()] = replace(known, name=name)
            return None
        if side == "FULL":
            what = merge_sides(left, right)
        variable = Var(name, what.type, self.names.context.registry.scope("table", "USING"))
        origin = self.names.column(what)
        self.names.merged[name.lower()] = Column(name, variable, origin.origin if origin is not None else None)
        return name.lower(), variable, what

    def _mark_nullable(self, join: Join, side: str) -> None:
        """An outer join makes columns nullable, and what was read before it may be something else now."""
        if not side:
            return
        names = self.names
        now: dict[Key, Var] = {v.key: v for v in columns_of(join)}
        names.known.clear()
        names.tables = [replace(t, columns=tuple(_update_column(c, now) for c in t.columns)) for t in names.tables]
        names.merged = {key: _update_column(c, now) for key, c in names.merged.items()}


def merge_sides(left: Scalar, right: Scalar) -> Scalar:
    """The column of a FULL JOIN by USING: each side may be missing, so it is never NULL only where neither side is."""
    both = call("coalesce", left, right)
    if not isinstance(both, Call) or not (left.type.nullable or right.type.nullable):
        return both
    return replace(both, type=both.type.with_null())


def _find_common(known: Sequence[Known], tables: Sequence[Known]) -> list[str]:
    """The columns that a NATURAL join joins by: those of the right tables that the left ones have, too."""
    names = {c.name.lower() for t in known for c in t.columns}
    return list(dict.fromkeys(c.name for t in tables for c in t.columns if c.name.lower() in names))


def _hide_columns(table: Known, using: Sequence[str]) -> Known:
    """A table whose columns of these names are merged with another's."""
    own = {c.name.lower() for c in table.columns}
    return replace(table, merged=table.merged | (own & {name.lower() for name in using}))


def _update_column(column: Column, now: dict[Key, Var]) -> Column:
    return replace(column, variable=now.get(column.variable.key, column.variable))


def is_untyped(query: Query | Relation, index: int) -> bool:
    """Whether a query's column is NULL and nothing else."""
    match query:
        case Block():
            return index in query.untyped
        case Combined():
            return is_untyped(query.left, index) and is_untyped(query.right, index)
        case Constants():
            return all(is_bare_null(row[index]) for row in query.rows)
        case Limited():
            return is_untyped(query.query, index)
    return False


def _is_join(node: exp.Expr) -> bool:
    """Whether what is in parentheses is a table or a join of tables."""
    if isinstance(node, exp.Subquery) and (node.alias or node.args.get("joins")):
        return True
    return isinstance(node, exp.Table) or (isinstance(node, exp.Subquery | exp.Paren) and _is_join(node.this))


def _derive_join(node: exp.Expr) -> exp.Expr:
    """``(a JOIN b) AS x``: the derived table ``(SELECT * FROM a JOIN b) AS x``."""
    inner = node.this.copy()
    while isinstance(inner, exp.Paren):
        inner = inner.this
    joins = inner.args.get("joins")
    inner.set("joins", None)
    select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=inner), joins=joins)
    return exp.Subquery(this=select, alias=node.args["alias"].copy(), joins=node.args.get("joins"))


def _split_segments(joins: Sequence[exp.Join]) -> list[tuple[exp.Join, list[exp.Join]]]:
    """The joins, each with those that come first: a comma binds less than JOIN, which only outer joins show."""
    found: list[tuple[exp.Join, list[exp.Join]]] = []
    commas = [
        i for i, j in enumerate(joins) if not any(j.args.get(x) for x in ("kind", "side", "method", "on", "using"))
    ]
    for start, end in zip([0, *commas], [*commas, len(joins)], strict=True):
        segment = list(joins[start:end])
        if start in commas and any(j.args.get("side") in ("RIGHT", "FULL") for j in segment):
            found.append((segment[0], segment[1:]))
        else:
            found += [(j, []) for j in segment]
    return found


def unite_columns(columns: Sequence[Var], others: Sequence[Var]) -> list[Var]:
    """The columns of a union: the first names, the common types."""
    united = []
    for a, b in zip(columns, others, strict=True):
        kind = a.type if a.type.same_as(b.type) else common_type(Var("", a.type), Var("", b.type))
        united.append(Var(a.name, kind.with_null(a.type.nullable or b.type.nullable)))
    return united


# UNION, EXCEPT, INTERSECT and VALUES, resolved: both sides get the same columns.


def read_operation(node: exp.SetOperation, names: Names, resolve_query: Callable[[exp.Expr, Names], Query]) -> Combined:
    """A set operation, without its ORDER BY and LIMIT."""
    if any(node.args.get(x) for x in ("by_name", "side", "kind", "on")):
        names.fail(node, f"{node.key.upper()} BY NAME", "unsupported-set-operation", "name the columns in one order")
    source, sides = names.context.source, list[Query]()
    before = source.failures
    for side in (node.left, node.right):
        with source.attempt(side):
            sides.append(resolve_query(side.this if is_wrapper(side, "order") else side, names))
    source.stop(before)
    left, right = sides
    if len(left.columns) != len(right.columns):
        message = f"{node.key.upper()} of {len(left.columns)} and {len(right.columns)} columns"
        names.fail(node, message, "set-columns", "select as many columns on both sides")
    with names.context.source.guard(node):
        # a column that is nothing but NULL takes the other side's type
        ours, theirs = list(left.columns), list(right.columns)
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if b.type.kind == "string" and is_untyped(right, i):
                theirs[i] = Var(b.name, a.type.with_null())
            elif a.type.kind == "string" and is_untyped(left, i):
                ours[i] = Var(a.name, b.type.with_null())
        columns = unite_columns(ours, theirs)
    return Combined(node.key, bool(node.args.get("distinct")), left, right, tuple(columns))


def read_values(node: exp.Values, names: Names, read: Callable[[exp.Expr], Scalar]) -> Constants:
    """VALUES, which are constants."""
    rows = [[read(e) for e in (row.expressions if isinstance(row, exp.Tuple) else [row])] for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        names.fail(node, "VALUES with rows of different lengths", "values", "give every row as many values")
    columns = [
        Var(f"column_{i + 1}", next((s.type for s in values if not is_bare_null(s)), values[0].type))
        for i, values in enumerate(zip(*rows, strict=True))
    ]
    for row in rows:
        typed = (c.type.with_null() if is_bare_null(s) else s.type for c, s in zip(columns, row, strict=True))
        with names.context.source.guard(node):
            columns = unite_columns(columns, [Var("", t) for t in typed])
    made = tuple(tuple(convert(s, c) for c, s in zip(columns, row, strict=True)) for row in rows)
    if not all(isinstance(s, Const) for row in made for s in row):
        names.fail(node, "VALUES that are not constant", "values", "constants only")
    return Constants(tuple(columns), made)


def parse_with_views(
    name: str, views: Mapping[str, str], tables: Iterable[str], dialect: str | None
) -> tuple[exp.Expression, Source]:
    """The tree of a view with the views that it reads, and its text.

    Args:
        name: the view.
        views: the text of all views by name.
        tables: names of the base tables; they hide views of the same names.
        dialect: sqlglot's name of the SQL dialect.

    Raises:
        SyntaxProblem: one of the texts is not SQL.
        CompileError: a view reads itself, by way of others or at once.
    """
    known = {v.lower(): v for v in views if v.lower() not in {t.lower() for t in tables}}
    needed: dict[str, exp.Expression] = {}
    source = Source(views[name], name)
    tree = source.parse(dialect)
    _collect_views(name, tree, views, known, (name,), needed, dialect)
    for other, query in reversed(needed.items()):  # each goes to the front: those that it reads come before it
        cte = exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(other)))
        with_ = tree.args.get("with_")
        if with_ is None:
            tree.set("with_", exp.With(expressions=[cte]))
        else:
            with_.set("expressions", [cte, *with_.expressions])
    if needed:
        source.complete = tree.sql(dialect)
    return tree, source


def complete_texts(
    relations: Sequence[Relation], views: Mapping[str, str], dialect: str | None = None
) -> dict[str, str]:
    """The text of each view by itself, with those that it reads, as :attr:`m3.program.View.sql` keeps it. One that mentions no other view is not
    read, be it SQL or not; one that does, and cannot be read, has none.

    >>> from m3.sql.show import EXAMPLE
    >>> complete_texts(EXAMPLE, {"v": "SELECT  1", "w": "SELECT * FROM v", "u": "SELECT 'w"})
    {'v': 'SELECT  1', 'w': 'WITH v AS (SELECT 1) SELECT * FROM v'}
    """
    found = {}
    for name, text in views.items():
        if mentions(text, views.keys() - {name}):
            with suppress(M3Error):
                found[name] = parse_with_views(name, views, [r.name for r in relations], dialect)[1].complete
        else:
            found[name] = text
    return found


def mentions(text: str, names: Collection[str]) -> bool:
    """Whether a name occurs in a text as a word, also in quotes or in a comment."""
    words = "|".join(map(re.escape, sorted(names)))
    return bool(names) and re.search(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE) is not None


def _collect_views(
    name: str,
    tree: exp.Expression,
    views: Mapping[str, str],
    known: Mapping[str, str],
    path: tuple[str, ...],
    needed: dict[str, exp.Expression],
    dialect: str | None,
) -> None:
    """The views that a tree reads, those that they read before them."""
    hidden = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        other = known.get(table.name.lower())
        if other is None or table.args.get("db") or table.name.lower() in hidden or other in needed:
            continue
        if other in path:
            hint = "a view reads tables, and views that do not read it"
            span = Source(views[name], name).point(table)
            raise CompileError(
                f"view {other!r} reads itself: {' > '.join([*path, other])}", kind="recursive", span=span, hint=hint
            )
        text = Source(views[other], other)
        inner = text.parse(dialect)
        mark_elsewhere(inner, text)
        _collect_views(other, inner, views, known, (*path, other), needed, dialect)
        needed[other] = inner
