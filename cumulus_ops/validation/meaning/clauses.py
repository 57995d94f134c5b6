"""The clauses of a SELECT: FROM with its joins, the list with what refers to it, and GROUP BY."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from cumulus_ops.validation.meaning.aggregates import is_aggregate
from cumulus_ops.validation.meaning.reader import Columns, Queries, Reader, Scope
from cumulus_ops.validation.meaning.series import is_series, read_series
from cumulus_ops.validation.meaning.terms import as_table, column_of, common, quote, refusal
from m3.program import Relation

__all__ = [
    "Tables",
    "expand_stars",
    "group_apart",
    "group_keys",
    "grouping_sets",
    "has_aggregates",
    "name_items",
    "order_by_position",
    "place_of",
    "replace_names",
    "resolve_entry",
    "set_group",
    "tie_breakers",
    "total_of",
]


UNLIMITED = ("order", "limit", "offset")


@dataclass(frozen=True)
class Tables:
    """Reads the FROM of SELECTs.

    Args:
        query: reads a derived table.
        relations: the base tables by their lower-case names.
        view: another view of the project by its name, or None.
    """

    query: Queries
    relations: Mapping[str, Relation]
    view: Callable[[str], tuple[exp.Expr, Columns] | None]

    def all(self, select: exp.Select, made: exp.Select, scope: Scope, reader: Reader) -> None:
        """Read FROM of ``select`` into ``made``; the tables become known to the scope."""
        from_ = select.args.get("from_")
        if from_ is None:
            return
        made.set("from_", exp.From(this=self._source(from_.this, scope, reader)))
        laterals = [exp.Join(this=lateral) for lateral in select.args.get("laterals") or ()]
        made.set("joins", self._joins([*(select.args.get("joins") or ()), *laterals], scope, reader))

    def _joins(self, joins: Sequence[exp.Join], scope: Scope, reader: Reader) -> list[exp.Join]:
        return [self._join(join, scope, reader) for join in joins]

    def _join(self, join: exp.Join, scope: Scope, reader: Reader) -> exp.Join:
        known = {n.lower(): (n, t) for columns in scope.tables.values() for n, t in columns}
        before = set(scope.tables)
        if is_series(join.this):
            return self._join_series(join, scope, reader)
        made = exp.Join(**{k: v for k, v in join.args.items() if k in ("side", "kind", "method")})
        made.set("this", self._source(join.this, scope, reader))
        new = {n.lower(): (n, t) for a in set(scope.tables) - before for n, t in scope.tables[a]}
        using = [i.name for i in join.args.get("using") or ()]
        if using:
            made.set("using", [quote(n) for n in using])
        if str(join.args.get("method") or "").upper() == "NATURAL":
            using = [n for n in new if n in known]
        for name in using:
            (written, left), (_, right) = known[name.lower()], new[name.lower()]
            scope.merged[name.lower()] = (written, common("USING", [left, right]))
            sides = [a for a, columns in scope.tables.items() if name.lower() in {n.lower() for n, _ in columns}]
            scope.hidden |= {(alias, name.lower()) for alias in sides}
            scope.sides[name.lower()] = {"FULL": "", "RIGHT": sides[-1]}.get(join.side, sides[0])
        if join.args.get("on") is not None:
            if (
                join.side in ("LEFT", "RIGHT", "FULL")
                and join.kind not in ("SEMI", "ANTI")
                and join.args["on"].find(exp.Query)
            ):
                raise refusal("a subquery in the condition of an outer join")
            made.set("on", reader.condition(join.args["on"]))
        if "SEMI" in (join.kind, join.side) or "ANTI" in (join.kind, join.side):
            for alias in set(scope.tables) - before:
                del scope.tables[alias]
        return made

    def _join_series(self, join: exp.Join, scope: Scope, reader: Reader) -> exp.Join:
        """A join with a series of the row that it is joined to."""
        made, columns, outer = read_series(join.this, reader)
        scope.tables[made.args["alias"].name] = columns
        on = reader.condition(join.args["on"]) if join.args.get("on") is not None else exp.true()
        return exp.Join(this=made, side="LEFT" if outer else join.side, on=on)

    def _source(self, node: exp.Expr, scope: Scope, reader: Reader) -> exp.Expr:
        """An entry of FROM; its columns become known to the scope."""
        if isinstance(node, exp.Subquery | exp.Paren) and _is_join(node.this) and not node.alias:
            inner = self._source(node.this, scope, reader)
            return exp.Paren(this=inner)
        joins = node.args.get("joins")
        if is_series(node):
            row, columns, _ = read_series(node, reader)
            scope.tables[row.args["alias"].name] = columns
            return row
        if isinstance(node, exp.Lateral):
            query, columns = self.query(_strip_alias(node.this), scope)
            names = self._add_table(scope, node, columns)
            alias = exp.TableAlias(this=quote(list(scope.tables)[-1]), columns=[quote(n) for n in names])
            return exp.Lateral(this=exp.Subquery(this=query), alias=alias)
        if isinstance(node, exp.Table):
            made = self._table(node, scope)
        elif isinstance(node, exp.Subquery | exp.Values):
            # a derived table sees the common table expressions of its SELECT, and the queries around, not its neighbours
            query, columns = self.query(_strip_alias(node), Scope(scope.parent, queries=scope.queries))
            names = self._add_table(scope, node, columns)
            made = as_table(query, list(scope.tables)[-1], names)
        else:
            raise refusal(f"{node.key.upper()} in FROM")
        if joins:
            made.set("joins", self._joins(joins, scope, reader))
        return made

    def _add_table(self, scope: Scope, node: exp.Expr, columns: Columns) -> list[str]:
        """Make a table known by its alias, and its columns by the names that the alias gives them."""
        alias = node.args.get("alias")
        given = [c.name for c in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
        named = [(given[i] if i < len(given) else n, t) for i, (n, t) in enumerate(columns)]
        scope.tables[node.alias or f"_{len(scope.tables) + 1}"] = named
        return [n for n, _ in named]

    def _table(self, node: exp.Table, scope: Scope) -> exp.Expr:
        common_table = scope.query(node.name) if not node.db else None
        if common_table is None and node.name.lower() not in self.relations:
            common_table = self.view(node.name)
        if common_table is not None:
            query, columns = common_table
            known = self._add_table(
                scope, exp.Table(this=node.this, alias=node.args.get("alias") or node.this), columns
            )
            return as_table(query.copy(), node.alias or node.name, known)
        relation = self.relations.get(node.name.lower())
        if relation is None:
            raise refusal(f"the relation {node.name}")
        found: Columns = [(c.name, c.type.with_null(False)) for c in relation.columns]
        names = self._add_table(scope, exp.Table(this=node.this, alias=node.args.get("alias") or node.this), found)
        alias = exp.TableAlias(this=quote(node.alias or node.name))
        if names != [n for n, _ in found]:
            alias.set("columns", [quote(n) for n in names])
        return exp.Table(this=quote(relation.name), alias=alias)


def _is_join(node: exp.Expr) -> bool:
    return isinstance(node, exp.Table) or (isinstance(node, exp.Subquery | exp.Paren) and _is_join(node.this))


def _strip_alias(node: exp.Expr) -> exp.Expr:
    """A derived table's query without its alias and joins."""
    if not isinstance(node, exp.Subquery):
        return node
    if not any(node.args.get(x) for x in ("with_", *UNLIMITED)):
        query: exp.Expr = node.this
        return query
    copy = node.copy()
    copy.set("alias", None)
    copy.set("joins", None)
    return copy


# The SELECT list: what its entries are called, and what refers to them.


def has_aggregates(node: exp.Expr) -> bool:
    """Whether an expression is about groups."""
    if isinstance(node, exp.Query | exp.Window):
        return False
    return is_aggregate(node) or any(has_aggregates(child) for child in node.iter_expressions())


def expand_stars(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """The list with stars written out."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            star = item.this if isinstance(item, exp.Column) else item
            left_out = {n.name.lower() for n in star.args.get("except_") or ()}
            if star.args.get("replace") or star.args.get("rename"):
                raise refusal("a star with REPLACE or RENAME")
            found = scope.star(item.table if isinstance(item, exp.Column) else "")
            items += [column_of(name, table) for table, name, _ in found if name.lower() not in left_out]
        else:
            items.append(item)
    return items


def name_items(items: Sequence[exp.Expr]) -> list[str]:
    """The names of the list; with numbers where they repeat."""
    names: list[str] = []
    for position, item in enumerate(items, start=1):
        body = item.unalias()
        wish = item.alias or (body.name if isinstance(body, exp.Column) else f"{body.key.lower()}_{position}")
        taken, name = {n.lower() for n in names}, wish
        for n in itertools.count(2):
            if name.lower() not in taken:
                break
            name = f"{wish}_{n}"
        names.append(name)
    return names


def resolve_entry(node: exp.Expr, items: Sequence[exp.Expr], scope: Scope | None = None) -> exp.Expr:
    """What an entry of ORDER BY or GROUP BY means: a place in the list, a name of it, or itself. In GROUP BY (with a scope) a
    column of the tables comes before a name of the list."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string") and str(node.this).isdigit():
        return items[int(str(node.this)) - 1].unalias()
    if isinstance(node, exp.Column) and not node.table and not (scope is not None and scope.own(node)):
        named = [
            i for i in items if (i.alias or (i.name if isinstance(i, exp.Column) else "")).lower() == node.name.lower()
        ]
        if named:
            return named[0].unalias()
    return node


def replace_names(node: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """An expression with the list's names replaced by what they stand for."""
    named = {i.alias.lower(): i.unalias() for i in items if i.alias}

    def replaced(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not part.table and part.name.lower() in named:
            return exp.Paren(this=named[part.name.lower()].copy())
        return part

    return node.copy().transform(replaced)


def tie_breakers(items: Sequence[exp.Expr], select: exp.Select) -> list[exp.Expr]:
    """What orders rows that a window's ORDER BY leaves equal: the columns of the list as they come, or in a grouped query its
    keys and aggregates."""
    grouped = select.args.get("group") is not None or any(map(has_aggregates, items))
    keys = (
        {resolve_entry(e, items) for e in select.args["group"].expressions}
        if select.args.get("group") is not None
        else set()
    )
    found: list[exp.Expr] = []

    def visit(node: exp.Expr) -> None:
        if isinstance(node, exp.Query | exp.Window):
            return
        if isinstance(node, exp.Column) or (grouped and (is_aggregate(node) or node in keys)):
            found.append(node)
            return
        for child in node.iter_expressions():
            visit(child)

    for item in items:
        visit(item.unalias())
    return list(dict.fromkeys(found))


def place_of(node: exp.Expr, columns: Columns) -> int | None:
    """The column, counted from 0, that ORDER BY names or counts; None if it is something else."""
    if isinstance(node, exp.Literal) and str(node.this).isdigit():
        return int(str(node.this)) - 1
    names = [n.lower() for n, _ in columns]
    return names.index(node.name.lower()) if isinstance(node, exp.Column) and node.name.lower() in names else None


def order_by_position(select: exp.Expr, items: Sequence[exp.Expr], columns: Columns) -> exp.Expr:
    """A SELECT whose ORDER BY names places in its list."""
    copy = select.copy()
    for o in copy.args["order"].expressions if copy.args.get("order") is not None else ():
        bodies = [i.unalias() for i in items]
        wanted = resolve_entry(o.this, items)
        if wanted in bodies:
            o.set("this", exp.Literal.number(bodies.index(wanted) + 1))
    return copy


# GROUP BY, and the grouping sets that have a row even where there is nothing.


GROUPED = "#grouped"


def set_group(select: exp.Select, made: exp.Select, items: Sequence[exp.Expr], reader: Reader) -> None:
    """GROUP BY; places and names of the list are written out."""
    group = select.args.get("group")
    if group is None:
        return
    if group.args.get("all"):
        keys = [reader.read(i.unalias()).node for i in items if not has_aggregates(i)]
        made.set("group", exp.Group(expressions=keys))
        return

    def read(node: exp.Expr) -> exp.Expr:
        match node:
            case exp.Rollup() | exp.Cube() | exp.GroupingSets():
                return type(node)(expressions=[read(n) for n in node.expressions])
            case exp.Tuple():
                return exp.Tuple(expressions=[k for n in node.expressions for k in _keys_in(read(n))])
            case exp.Paren():
                return exp.Tuple(expressions=_keys_in(read(node.this)))
        term = reader.read(resolve_entry(node, items, reader.scope))
        return term.node

    keys = [read(e) for e in group.expressions]
    made_group = exp.Group(expressions=[n for k in keys for n in _keys_in(k)])
    for clause in ("rollup", "cube", "grouping_sets"):
        if group.args.get(clause):
            made_group.set(clause, [read(n) for n in group.args[clause]])
    made.set("group", made_group)


def group_apart(select: exp.Select, made: exp.Select, items: Sequence[exp.Expr], reader: Reader) -> None:
    """Group in a query of its own, and select from that: Spark has no subqueries about a group beside GROUP BY, but about a row.

    ``SELECT g, COUNT(*), (SELECT MAX(x) FROM s WHERE s.g = r.g) FROM r GROUP BY g`` becomes
    ``SELECT #grouped.g, #grouped.#1, (SELECT MAX(x) FROM s WHERE s.g = #grouped.g) FROM (SELECT r.g AS g, COUNT(*) AS #1 FROM r GROUP BY r.g) AS #grouped``.

    Args:
        select: the SELECT as it was written.
        made: the same in Spark's words, complete; changed.
        items: its list.
        reader: has read it.

    Raises:
        InputProblem: it has grouping sets, or an aggregate is not to be found.
    """
    group = made.args.get("group")
    if (
        group is None
        or made.find(exp.Window) is not None
        or not any(
            made_in.find(exp.Query)
            for made_in in (*made.expressions, *(made.args.get(x) for x in ("having", "order")))
            if made_in
        )
    ):
        return
    if any(group.args.get(c) for c in ("rollup", "cube", "grouping_sets")) or group.find(
        exp.Rollup, exp.Cube, exp.GroupingSets
    ):
        raise refusal("a subquery beside grouping sets")
    wanted = [*items, *(select.args[x] for x in ("having", "order") if select.args.get(x) is not None)]
    aggregates = [
        reader.read(a).node
        for item in wanted
        for a in (*_aggregates_in(item, items), *_aggregates_within(item, select))
    ]
    parts: dict[exp.Expr, str] = {}
    for part in dict.fromkeys([*group.expressions, *aggregates]):
        own = part.name if isinstance(part, exp.Column) and part.name not in parts.values() else ""
        parts[part] = own or f"#{len(parts)}"
    spellings = {s: name for part, name in parts.items() for s in _spellings(part, reader)}
    inner = exp.Select(
        expressions=[exp.alias_(part.copy(), quote(name)) for part, name in parts.items()],
        group=group.copy(),
        **{x: made.args[x] for x in ("from_", "joins", "where", "laterals") if made.args.get(x)},
    )
    found: set[exp.Expr] = set()
    changed = {
        x: _replace_parts(made.args[x], spellings, found) for x in ("having", "order") if made.args.get(x) is not None
    }
    made.set("expressions", [_replace_parts(e, spellings, found) for e in made.expressions])
    if not found >= set(aggregates):
        raise refusal("an aggregate beside a subquery")
    for clause in ("joins", "group", "having", "order", "laterals"):
        made.set(clause, None)
    made.set("from_", exp.From(this=as_table(inner, GROUPED)))
    made.set("where", exp.Where(this=changed["having"].this) if "having" in changed else None)
    made.set("order", changed.get("order"))


def _aggregates_in(node: exp.Expr, items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The aggregates of an expression, not those of its subqueries; names and places of the list in ORDER BY are what they mean."""
    if isinstance(node, exp.Query):
        return []
    if isinstance(node, exp.Ordered):
        return _aggregates_in(resolve_entry(node.this, items), items)
    if is_aggregate(node):
        return [node]
    return [a for child in node.iter_expressions() for a in _aggregates_in(child, items)]


def _aggregates_within(node: exp.Expr, select: exp.Select) -> list[exp.Expr]:
    """The aggregates in subqueries of an expression that are of the group around them: of columns of its tables, which are named."""
    found = []
    for query in node.find_all(exp.Select):
        for inner in (n for n in query.find_all(exp.AggFunc) if is_aggregate(n)):
            between, own = _tables_around(inner, select), _names_in(select)
            tables = {c.table.lower() for c in inner.find_all(exp.Column)}
            if tables and tables <= own - between:
                found.append(inner)
    return list(dict.fromkeys(found))


def _tables_around(node: exp.Expr, select: exp.Select) -> set[str]:
    """The names of the tables of the queries between a part of a query and that query."""
    names: set[str] = set()
    inside = node.parent_select
    while inside is not None and inside is not select:
        names |= _names_in(inside)
        inside = inside.parent_select
    return names


def _names_in(select: exp.Expr) -> set[str]:
    tables = [select.args.get("from_"), *(select.args.get("joins") or ())]
    return {t.this.alias_or_name.lower() for t in tables if t is not None}


def _plain_column(node: exp.Expr) -> exp.Expr:
    """A column without what does not matter in its name: quotes and case."""
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return node
    return exp.column(node.name.lower(), table=node.table.lower() or None)


def _spellings(part: exp.Expr, reader: Reader) -> list[exp.Expr]:
    """How a part may be written: a column with its table's name, or without."""
    if not isinstance(part, exp.Column):
        return [part]
    name = part.name.lower()
    owners = [t for t, columns in reader.scope.tables.items() if any(c.lower() == name for c, _ in columns)]
    tables = [part.table] if part.table else owners
    bare = [exp.column(name)] if len(owners) == 1 or not part.table else []
    return [*(exp.column(name, table=t.lower()) for t in tables), *bare]


def _replace_parts(
    node: exp.Expr, parts: Mapping[exp.Expr, str], found: set[exp.Expr], hidden: frozenset[str] = frozenset()
) -> exp.Expr:
    """An expression over the groups, with columns for what they are grouped by and for aggregates. In subqueries, a column of a table that
    has the same name there (``hidden``) is another one; and one without a table's name is found by its own."""
    inside = isinstance(node, exp.Select)
    if isinstance(node, exp.Column) and (node.table.lower() in hidden or (hidden and not node.table)):
        return node.copy()
    tables_read = {c.table.lower() for c in node.find_all(exp.Column)}
    if _plain_column(node) in parts and (
        not hidden or isinstance(node, exp.Column) or (tables_read and not tables_read & hidden)
    ):  # an aggregate of a subquery is its own, but for one of the group's columns alone
        found.add(node)
        return column_of(parts[_plain_column(node)], GROUPED)
    if inside:
        tables = (
            [node.args["from_"].this, *(j.this for j in node.args.get("joins") or ())] if node.args.get("from_") else []
        )
        hidden |= {t.alias_or_name.lower() for t in tables} | {""}
    copy = node.copy()
    for child, mine in zip(list(node.iter_expressions()), list(copy.iter_expressions()), strict=True):
        mine.replace(_replace_parts(child, parts, found, hidden))
    return copy


def group_keys(select: exp.Select) -> list[exp.Expr]:
    """The expressions that GROUP BY names, in whatever sets."""
    group = select.args.get("group")
    if group is None:
        return []
    entries = [*group.expressions, *(n for c in ("rollup", "cube", "grouping_sets") for n in group.args.get(c) or ())]
    found: list[exp.Expr] = []
    while entries:
        entry = entries.pop(0)
        if isinstance(entry, exp.Rollup | exp.Cube | exp.GroupingSets):
            entries = [*entry.expressions, *entries]
        else:
            found += _keys_in(entry)
    return found


def grouping_sets(select: exp.Select) -> list[list[exp.Expr]]:
    """The grouping sets, as far as it matters which of them are empty."""
    group = select.args.get("group")
    if group is None:
        return []

    def of(node: exp.Expr) -> list[list[exp.Expr]]:
        match node:
            case exp.Rollup():
                return [node.expressions[:n] for n in range(len(node.expressions), -1, -1)]
            case exp.Cube():
                return [[n for n, wanted in zip(node.expressions, choice, strict=True) if wanted]
                        for choice in itertools.product((True, False), repeat=len(node.expressions))]  # fmt: skip
            case exp.GroupingSets():
                return [keys for n in node.expressions for keys in of(n)]
            case exp.Tuple() | exp.Paren():
                return [_keys_in(node)]
        return [[node]]

    parts = [of(n) for n in (() if group.args.get("grouping_sets") else group.expressions)]
    parts += [of(n) for c in ("rollup", "cube", "grouping_sets") for n in group.args.get(c) or ()]
    return [[key for keys in choice for key in keys] for choice in itertools.product(*parts)]


def _keys_in(node: exp.Expr) -> list[exp.Expr]:
    """The expressions of an entry of GROUP BY, in parentheses within parentheses or not."""
    if isinstance(node, exp.Paren):
        return _keys_in(node.this)
    return [key for n in node.expressions for key in _keys_in(n)] if isinstance(node, exp.Tuple) else [node]


def total_of(node: exp.Expr, keys: set[exp.Expr], reader: Reader) -> exp.Expr:
    """An expression over groups as the empty grouping set has it: keys are NULL, GROUPING is all ones."""
    if isinstance(node, exp.Grouping | exp.GroupingId):
        return exp.Literal.number(2 ** len(node.expressions) - 1)
    if node in keys:
        known = reader.read(node).type
        if known is None:
            return exp.Null()
        name = {"int": "BIGINT", "string": "TEXT", "bool": "BOOLEAN"}.get(known.kind, str(known))
        return exp.Cast(this=exp.Null(), to=exp.DataType.build(name))
    if is_aggregate(node) or isinstance(node, exp.Query):
        return node.copy()
    copy = node.copy()
    for child, mine in zip(list(node.iter_expressions()), list(copy.iter_expressions()), strict=True):
        mine.replace(total_of(child, keys, reader))
    return copy
