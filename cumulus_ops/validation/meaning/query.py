"""A query in Spark's words, clause by clause."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from cumulus_ops.project.errors import InputProblem
from cumulus_ops.validation.meaning.clauses import (
    Tables,
    expand_stars,
    group_apart,
    group_keys,
    grouping_sets,
    name_items,
    order_by_position,
    place_of,
    replace_names,
    resolve_entry,
    set_group,
    tie_breakers,
    total_of,
)
from cumulus_ops.validation.meaning.exact import Needed
from cumulus_ops.validation.meaning.reader import Columns, Options, Reader, Scope
from cumulus_ops.validation.meaning.rules import RULES
from cumulus_ops.validation.meaning.series import join_listed_series
from cumulus_ops.validation.meaning.terms import Term, as_table, as_type, cast, column_of, common, quote, refusal
from cumulus_ops.validation.meaning.windows import order_entry
from m3.datatypes import Type
from m3.dictionary.aggregates import respell_aggregate
from m3.dictionary.aliases import ANYWHERE, replace_aliases, write_out_list
from m3.dictionary.queries import respell_query
from m3.dictionary.spans import read_descriptors
from m3.program import Relation

__all__ = ["SparkQuery", "write_out"]

UNLIMITED = ("order", "limit", "offset")
ORDER_KEY = "#order_{}"


@dataclass(frozen=True)
class SparkQuery:
    """A query for Spark, and the functions that it needs: see :func:`~cumulus_ops.validation.meaning.exact.register`."""

    sql: str
    needed: frozenset[Needed]


def _parse(sql: str, dialect: str | None) -> exp.Expr:
    """A query whose forms and aggregates have the spellings that are read here."""
    tree = respell_query(sqlglot.parse_one(read_descriptors(sql), read=dialect), dialect)
    return tree.transform(lambda node: respell_aggregate(node, dialect), copy=False)


def write_out(
    sql: str,
    relations: Sequence[Relation],
    dialect: str | None = None,
    declared: Sequence[tuple[str, Type]] = (),
    *,
    views: Mapping[str, str] | None = None,
    wide: bool = False,
    ordered: bool = False,
    apart: bool = False,
    now: datetime.datetime | None = None,
) -> SparkQuery:
    """A view's query in Spark's words.

    Args:
        sql: the view's text.
        relations: its tables.
        dialect: sqlglot's name of the dialect that it is written in.
        declared: the view's columns: names and types of the result.
        views: the texts of other views by name, which it may read.
        wide: compute sums of decimals without a limit on the way.
        apart: group in queries of their own where subqueries are about groups, which Spark has not beside GROUP BY; and hand columns on to
            subqueries within subqueries, which Spark does not do.
        ordered: give the rows in the order that the view's ORDER BY and, behind it, all its columns decide; with a column ``#order_n`` behind
            the others for each entry of ORDER BY.
        now: what now() is, as the snapshot has it; it is written out. None: it is NULL.

    Returns:
        The query of all rows: without the view's own LIMIT and OFFSET.

    Raises:
        InputProblem: it has a form that is not written out here.

    Example:
        >>> from m3.datatypes import INT
        >>> from m3.program import Column, Relation
        >>> write_out("SELECT a / 2 AS b FROM r ORDER BY 1", [Relation("r", (Column("a", INT),))]).sql
        'SELECT (CAST(CAST(a AS DECIMAL(19, 0)) AS DECIMAL(36, 17)) / CAST(2L AS DECIMAL(1, 0))) AS `b` FROM `r` AS `r`'
    """
    try:
        tree = _parse(sql, dialect)
    except sqlglot.errors.SqlglotError as error:
        raise InputProblem(f"not SQL: {error}", kind="bad-sql", hint="check the view's text") from error
    options = Options(RULES, dialect, wide, apart, now)
    while isinstance(tree, exp.Subquery) and not any(v for k, v in tree.args.items() if k != "this"):
        tree = tree.this
    queries = _Queries(options, {r.name.lower(): r for r in relations}, views or {}, [] if ordered else None)
    query, columns = queries.query(tree, None, outermost=True)
    if declared:
        query = _select_declared(query, columns, declared, queries.order)
    return SparkQuery(query.sql(dialect="spark"), frozenset(options.needed))


def _select_declared(
    query: exp.Expr, columns: Columns, declared: Sequence[tuple[str, Type]], order: list[tuple[str, exp.Expr]] | None
) -> exp.Expr:
    """The columns by their declared names and types; in an order, if there is to be one."""
    if len(columns) != len(declared):
        raise refusal(f"a query of {len(columns)} columns for a view of {len(declared)}")
    made = _select_as(query, columns, declared)
    if order is not None:
        for number, (name, _) in enumerate(order):
            made.append("expressions", exp.alias_(column_of(name), quote(ORDER_KEY.format(number))))
        first = [order_entry(column_of(ORDER_KEY.format(number)), like) for number, (_, like) in enumerate(order)]
        made.set("order", exp.Order(expressions=[*first, *(order_entry(column_of(n), None) for n, _ in declared)]))
    return made


@dataclass
class _Queries:
    """Reads queries; ``order`` gathers what the outermost is ordered by, as its columns' names with the entries of ORDER BY; None: that
    does not matter."""

    options: Options
    relations: dict[str, Relation]
    views: Mapping[str, str]
    order: list[tuple[str, exp.Expr]] | None = None

    def query(self, node: exp.Expr, parent: Scope | None, *, outermost: bool = False) -> tuple[exp.Expr, Columns]:
        """Any query within a scope."""
        if isinstance(node, exp.Select):
            return self._read_select(node, parent, outermost=outermost)
        if isinstance(node, exp.SetOperation):
            return self._combine(node, parent, outermost=outermost)
        if isinstance(node, exp.Subquery):  # with clauses of its own behind the parentheses
            inner, columns = self.query(node.this, self._read_with(node, parent))
            return self._order_and_limit(node, inner, columns, outermost=outermost), columns
        if isinstance(node, exp.Values):
            return self._read_values(node, parent)
        if isinstance(node, exp.Table):
            return self.query(exp.select("*").from_(node.copy()), parent)
        raise refusal(f"the query {node.key.upper()}")

    def _read_view(self, name: str) -> tuple[exp.Expr, Columns] | None:
        """Another view of the project, as if it were a WITH query."""
        text = next((sql for view, sql in self.views.items() if view.lower() == name.lower()), None)
        return None if text is None else self.query(_parse(text, self.options.dialect), None)

    def _read_with(self, node: exp.Expr, parent: Scope | None) -> Scope:
        """A scope that knows the node's common table expressions; they are written where they are used."""
        scope = Scope(parent)
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ is not None else ():
            query, columns = self.query(cte.this, scope)
            alias = cte.args["alias"]
            names = [c.name for c in alias.args.get("columns") or ()]
            columns = [(n or old, t) for n, (old, t) in itertools.zip_longest(names, columns)] if names else columns
            scope.queries[alias.name.lower()] = (query, columns)
        return scope

    # -- SELECT -------------------------------------------------------------------------------------------------------

    def _read_select(self, select: exp.Select, parent: Scope | None, *, outermost: bool) -> tuple[exp.Expr, Columns]:
        select = join_listed_series(select, self.options.dialect)
        scope = self._read_with(select, parent)
        made = exp.Select()
        reader = Reader(self.options, scope, self.query)
        Tables(self.query, self.relations, self._read_view).all(select, made, scope, reader)
        dialect = self.options.dialect
        grouped = select.args.get("group") is not None
        items = write_out_list(expand_stars(select, scope), dialect, scope.own, grouped=grouped)
        reader.windows = {w.name.lower(): w for w in select.args.get("windows") or ()}
        reader.ties = tie_breakers(items, select)
        where = select.args.get("where")
        if where is not None:
            test = replace_aliases(where.this, items, scope.own) if dialect in ANYWHERE else where.this
            made.set("where", exp.Where(this=reader.condition(test)))
        set_group(select, made, items, reader)
        terms = [reader.read(item.unalias()) for item in items]
        names = name_items(items)
        columns: Columns = [(n, t.type) for n, t in zip(names, terms, strict=True)]
        aliased = [exp.alias_(t.node, quote(n)) for n, t in zip(names, terms, strict=True)]
        made.set("expressions", aliased)
        if select.args.get("having") is not None:
            test = replace_aliases(select.args["having"].this, items, scope.own)
            made.set("having", exp.Having(this=reader.condition(test)))
        empty = [keys for keys in grouping_sets(select) if not keys]
        # if all rows are one group, Spark has its row, too
        windowed = any(i.find(exp.Window) for i in items) or select.args.get("qualify") is not None
        if empty and group_keys(select) and not windowed:
            return self._add_totals(select, scope, (made, columns, items, reader), len(empty), outermost)
        result = self._finish(select, made, columns, items, reader, outermost)
        if self.options.apart:
            _carry_columns(made, scope)
            group_apart(select, made, items, reader)
        return result

    def _add_totals(
        self,
        select: exp.Select,
        scope: Scope,
        read: tuple[exp.Select, Columns, Sequence[exp.Expr], Reader],
        times: int,
        outermost: bool,
    ) -> tuple[exp.Expr, Columns]:
        """The empty grouping set has its row also where there are no rows at all, which Spark leaves out."""
        made, columns, items, reader = read
        keys = {resolve_entry(e, items, scope) for e in group_keys(select)}
        nothing = made.copy()
        nothing.set("group", None)
        bodies = [total_of(i.unalias(), keys, reader) for i in items]
        terms = [
            Term(as_type(reader.read(b), t), t) if t is not None else reader.read(b)
            for b, (_, t) in zip(bodies, columns, strict=True)
        ]
        nothing.set("expressions", [exp.alias_(t.node, quote(n)) for t, (n, _) in zip(terms, columns, strict=True)])
        test: exp.Expr = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        if select.args.get("having") is not None:
            having = reader.condition(total_of(select.args["having"].this, keys, reader))
            test = exp.And(this=test, expression=exp.Paren(this=having))
        nothing.set("having", exp.Having(this=test))
        both: exp.Expr = made
        for _ in range(times):
            both = exp.Union(this=both, expression=nothing.copy(), distinct=False)
        listed = _select_all(both, columns)
        if select.args.get("distinct") is not None:
            listed.set("distinct", exp.Distinct())
        return self._order_and_limit(
            order_by_position(select, items, columns), listed, columns, outermost=outermost
        ), columns

    def _finish(
        self,
        select: exp.Select,
        made: exp.Select,
        columns: Columns,
        items: Sequence[exp.Expr],
        reader: Reader,
        outermost: bool,
    ) -> tuple[exp.Expr, Columns]:
        """QUALIFY, DISTINCT [ON], ORDER BY and LIMIT."""
        unique = select.args.get("distinct")
        on = unique.args.get("on") if unique is not None else None
        result: exp.Expr = made
        listed = columns
        if outermost and unique is not None and on is None:
            self._order_by_columns(order_by_position(select, items, columns), columns)
        elif outermost:
            listed = [*columns, *self._order_by_expressions(select, made, items, reader)]
        if select.args.get("qualify") is not None:
            test = reader.read(replace_names(select.args["qualify"].this, items)).node
            result = _filter_rows(made, listed, test, "qualify_")
        if on is not None:
            first = [resolve_entry(n, items) for n in (on.expressions if isinstance(on, exp.Tuple) else [on.unnest()])]
            order = self._read_order(select, items, reader)
            order += [order_entry(reader.read(n).node, None) for n in reader.ties]
            number = exp.Window(
                this=exp.Anonymous(this="row_number"),
                partition_by=[reader.read(n).node for n in first],
                order=exp.Order(expressions=order),
            )
            return _filter_rows(made, listed, exp.EQ(this=number, expression=exp.Literal.number(1)), "first_"), columns
        if unique is not None:
            made.set("distinct", exp.Distinct())
        if outermost or not any(select.args.get(x) for x in ("limit", "offset")):
            return result, columns
        if result is not made or unique is not None:
            return self._limit_by_columns(order_by_position(select, items, columns), result, columns), columns
        # rows that the order leaves equal are ordered by all columns, so that it is decided which are first
        others = [order_entry(t.node, None) for t in (reader.read(i.unalias()) for i in items)]
        made.set("order", exp.Order(expressions=[*self._read_order(select, items, reader), *others]))
        _limit(made, select)
        return made, columns

    def _order_by_columns(self, node: exp.Expr, columns: Columns) -> None:
        """Note the outermost ORDER BY, of names of the query's columns, or their places."""
        if self.order is not None:
            self.order += _ordering(node, columns)

    def _order_by_expressions(
        self, select: exp.Expr, made: exp.Select, items: Sequence[exp.Expr], reader: Reader
    ) -> Columns:
        """Note the outermost ORDER BY, of anything: what it is ordered by are columns more of ``made``."""
        order = select.args.get("order") if self.order is not None else None
        found: Columns = []
        for number, o in enumerate(order.expressions if order is not None else ()):
            term, name = reader.read(resolve_entry(o.this, items)), ORDER_KEY.format(number)
            made.append("expressions", exp.alias_(term.node, quote(name)))
            found.append((name, term.type))
            assert self.order is not None
            self.order.append((name, o))
        return found

    def _read_order(self, select: exp.Expr, items: Sequence[exp.Expr], reader: Reader) -> list[exp.Expr]:
        order = select.args.get("order")
        return (
            [order_entry(reader.read(resolve_entry(o.this, items)).node, o) for o in order.expressions]
            if order is not None
            else []
        )

    def _order_and_limit(self, node: exp.Expr, made: exp.Expr, columns: Columns, *, outermost: bool) -> exp.Expr:
        """What stands behind a query, about its columns: ORDER BY, OFFSET and LIMIT. The view's own are left out, and noted."""
        if outermost:
            self._order_by_columns(node, columns)
        is_limited = any(node.args.get(x) for x in ("limit", "offset"))
        return self._limit_by_columns(node, made, columns) if is_limited and not outermost else made

    def _limit_by_columns(self, node: exp.Expr, query: exp.Expr, columns: Columns) -> exp.Expr:
        """The first rows of a query whose ORDER BY names its columns, or their places; rows that it leaves equal are ordered by all columns."""
        made = _select_all(query, columns)
        order = [order_entry(column_of(name), o) for name, o in _ordering(node, columns)]
        made.set("order", exp.Order(expressions=[*order, *(order_entry(column_of(n), None) for n, _ in columns)]))
        _limit(made, node)
        return made

    # -- set operations and VALUES ------------------------------------------------------------------------------------

    def _combine(self, node: exp.SetOperation, parent: Scope | None, *, outermost: bool) -> tuple[exp.Expr, Columns]:
        scope = self._read_with(node, parent)
        sides = []
        for side in (node.left, node.right):
            is_plain = isinstance(side, exp.Subquery) and not any(
                side.args.get(x) for x in ("with_", "limit", "offset")
            )
            sides.append(self.query(side.this if is_plain else side, scope))
        (left, ours), (right, theirs) = sides
        types = [common(node.key, [a, b]) for (_, a), (_, b) in zip(ours, theirs, strict=True)]
        columns: Columns = [(n, t) for (n, _), t in zip(ours, types, strict=True)]
        first, second = (
            _select_as(q, c, [(n, to) for (n, _), to in zip(c, types, strict=True)])
            for q, c in ((left, ours), (right, theirs))
        )
        made = type(node)(this=first, expression=second, distinct=bool(node.args.get("distinct")))
        return self._order_and_limit(node, made, columns, outermost=outermost), columns

    def _read_values(self, node: exp.Values, parent: Scope | None) -> tuple[exp.Expr, Columns]:
        """VALUES as a union of rows."""
        reader = Reader(self.options, Scope(parent), self.query)
        rows = [
            [reader.read(e) for e in (r.expressions if isinstance(r, exp.Tuple) else [r])] for r in node.expressions
        ]
        types = [common("VALUES", [t.type for t in column]) for column in zip(*rows, strict=True)]
        names = [f"column_{i + 1}" for i in range(len(types))]
        selects = [
            exp.Select(expressions=[
                exp.alias_(cast(t.node, to), quote(n)) for t, to, n in zip(row, types, names, strict=True)
            ])
            for row in rows
        ]  # fmt: skip
        made: exp.Expr = selects[0]
        for select in selects[1:]:
            made = exp.Union(this=made, expression=select, distinct=False)
        return made, list(zip(names, types, strict=True))


def _carry_columns(made: exp.Select, scope: Scope) -> None:
    """Give the first table of FROM the columns of queries around that queries within ask for: of these Spark sees one level only."""
    if not scope.carried:
        return
    source = made.args["from_"].this
    sides = {str(j.args.get("side") or "").upper() for j in made.args.get("joins") or ()}
    if not isinstance(source, exp.Table | exp.Subquery) or source.args.get("joins") or sides & {"RIGHT", "FULL"}:
        raise refusal("a subquery that mentions a table two levels outside, within an outer join,")
    alias = next(iter(scope.tables))
    items: list[exp.Expr] = [exp.Column(this=exp.Star(), table=quote(alias))]
    items += [exp.alias_(column.copy(), quote(name)) for name, column in scope.carried.items()]
    made.set("from_", exp.From(this=as_table(exp.Select(expressions=items, from_=exp.From(this=source)), alias)))


def _select_as(query: exp.Expr, columns: Columns, wanted: Sequence[tuple[str, Type]]) -> exp.Select:
    """``SELECT columns FROM (query)``, each by a name and as a type."""
    pairs = zip(columns, wanted, strict=True)
    items = [exp.alias_(as_type(Term(column_of(n), t), to), quote(name)) for (n, t), (name, to) in pairs]
    return exp.Select(expressions=items, from_=exp.From(this=as_table(query)))


def _filter_rows(made: exp.Select, columns: Columns, test: exp.Expr, name: str) -> exp.Expr:
    """The rows of a SELECT for which a test over its window functions is true."""
    made.append("expressions", exp.alias_(test, exp.to_identifier(name)))
    kept = _select_all(made, columns)
    kept.set("where", exp.Where(this=exp.column(exp.to_identifier(name))))
    return kept


def _ordering(node: exp.Expr, columns: Columns) -> list[tuple[str, exp.Expr]]:
    """The columns that ORDER BY names or counts, with its entries."""
    found = []
    for entry in node.args["order"].expressions if node.args.get("order") is not None else ():
        place = place_of(entry.this, columns)
        if place is None:
            raise refusal("ORDER BY of something that is not selected")
        found.append((columns[place][0], entry))
    return found


def _select_all(query: exp.Expr, columns: Columns) -> exp.Select:
    """``SELECT columns FROM (query)``."""
    return exp.Select(expressions=[column_of(n) for n, _ in columns], from_=exp.From(this=as_table(query)))


def _limit(made: exp.Select, node: exp.Expr) -> None:
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is not None:
        count = limit.args["count" if isinstance(limit, exp.Fetch) else "expression"]
        made.set("limit", exp.Limit(expression=count.copy()))
    if offset is not None:
        made.set("offset", offset.copy())
