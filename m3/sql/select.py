"""Queries -> bags of rows: SELECT, set operations, WITH, VALUES.

A SELECT is read in the order in which SQL means it: FROM, WHERE, GROUP BY, HAVING, window functions, the list, DISTINCT,
ORDER BY with LIMIT. Grouping, DISTINCT, set operations, windows and limits are not linear: they make derived relations,
over which reading goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from m3.algebra import Branch, Rows
from m3.datatypes import INT
from m3.program import WindowFunction
from m3.scalars import Key, Scalar, Var, call, const, vars_of
from m3.sql.block import Block
from m3.sql.correlation import close, converted, distinct
from m3.sql.expressions import ExpressionReader
from m3.sql.grouping import Grouped, has_aggregates, read_grouping
from m3.sql.limits import count_of, limited
from m3.sql.operations import combined, values_rows
from m3.sql.subqueries import SubqueryReader
from m3.sql.tables import read_from
from m3.sql.windows import Windowed, read_window, spread

__all__ = [
    "Selection",
    "distinct_rows",
    "listed_all",
    "read_query",
    "read_selection",
    "set_order",
    "settle",
    "unique_names",
    "with_tables",
]

CLAUSES = {
    "expressions", "from_", "joins", "laterals", "where", "group", "having", "qualify", "windows", "distinct", "order",
    "limit", "offset", "with_", "kind", "hint", "operation_modifiers",
}  # fmt: skip


@dataclass
class Item:
    """An entry of the SELECT list: its name, what it is over the final block's columns, and its syntax."""

    name: str
    scalar: Scalar
    node: exp.Expr


@dataclass
class Selection:
    """A SELECT read up to its list. ``block`` has the rows that the list, DISTINCT and ORDER BY look at."""

    select: exp.Select
    block: Block
    items: list[Item] = field(default_factory=list)
    order: list[tuple[Scalar, bool, bool]] = field(default_factory=list)
    grouped: Grouped | None = None
    having: Scalar | None = None
    windows: list[Windowed] = field(default_factory=list)

    @property
    def unique(self) -> bool:
        """Whether DISTINCT is asked for."""
        return bool(self.select.args.get("distinct")) and _first_of(self.select) is None

    def scalars(self) -> list[Scalar]:
        """Everything that is computed from the block's rows."""
        return [*(i.scalar for i in self.items), *(s for s, _, _ in self.order)]


def read_query(node: exp.Expr, parent: Block) -> Rows:
    """The rows of a query inside another one."""
    block = with_tables(node, parent)
    if isinstance(node, exp.Subquery):
        return limited(parent, read_query(node.this, block), node, [])
    if isinstance(node, exp.SetOperation):
        rows = combined(node, block, read_query)
        return limited(parent, rows, node, set_order(node, rows, block))
    if isinstance(node, exp.Values):
        return values_rows(node, block, _constant_reader(block))
    if not isinstance(node, exp.Select):
        parent.fail(
            node, f"{node.key.upper()} is not a query", "not-a-select", "SELECT, UNION, EXCEPT, INTERSECT, VALUES"
        )
    assert isinstance(node, exp.Select)
    selection = read_selection(node, block)
    return rows_of(selection, parent)


def with_tables(node: exp.Expr, parent: Block) -> Block:
    """A block within ``parent`` that knows the common table expressions of a query; ``parent`` when it has none."""
    with_ = node.args.get("with_")
    if with_ is None:
        return parent
    if with_.args.get("recursive"):
        parent.fail(with_, "WITH RECURSIVE", "recursive", "a fixed number of joins")
    block = replace(Block.inside(parent.context, parent))
    for cte in with_.expressions:
        scope = replace(block, views=dict(block.views))
        block.views[cte.alias.lower()] = _cte(cte, scope)
    return block


def _cte(cte: exp.CTE, scope: Block) -> Callable[[], Rows]:
    def rows() -> Rows:
        found = read_query(cte.this, scope)
        names = [c.name for c in cte.args["alias"].args.get("columns") or ()]
        if not names:
            return found
        return renamed(found, [*names, *(c.name for c in found.columns[len(names) :])])

    return rows


def renamed(rows: Rows, names: Sequence[str]) -> Rows:
    """The same rows with other names of columns."""
    columns = tuple(Var(n, c.type) for n, c in zip(names, rows.columns, strict=True))
    branches = tuple(
        replace(b, env={n: b.env[c.key] for n, c in zip(names, rows.columns, strict=True)}) for b in rows.branches
    )
    return Rows(columns, branches, rows.single)


def _constant_reader(block: Block) -> Callable[[exp.Expr], Scalar]:
    return _Reader(Block.inside(block.context, block)).read


class _Reader:
    """Reads expressions over the columns of a block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.subqueries = SubqueryReader(block, read_query, self.read)
        self._expressions = ExpressionReader(block.context.source, self.leaf)

    def read(self, node: exp.Expr) -> Scalar:
        """An expression over single rows."""
        return self._expressions.read(node)

    def leaf(self, node: exp.Expr) -> Scalar | None:
        """Columns and subqueries; aggregates and window functions are out of place here."""
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            return self.block.resolve(node)
        if isinstance(node, exp.Window | exp.AggFunc | exp.Filter):
            hint = "use HAVING, or compute it in a derived table"
            self.block.fail(node, f"{node.key.upper()} where a single row is meant", "misplaced-aggregate", hint)
        return self.subqueries.leaf(node)


def read_selection(select: exp.Select, parent: Block) -> Selection:
    """Read a SELECT up to, and without, its DISTINCT and LIMIT."""
    _check_clauses(select, parent)
    block = Block.inside(parent.context, parent)
    block.mentioned = _mentioned(select)
    reader = _Reader(block)
    where = select.args.get("where")
    conditions = _conjuncts(where.this) if where is not None else []
    if not any(join.side in ("RIGHT", "FULL") for join in select.find_all(exp.Join)):
        block.early = [node for node in conditions if node.find(exp.Query) is None]
    read_from(block, select, read_query, reader.read)
    for node in conditions:
        block.filter(_condition(block, node, reader.read(node), "WHERE"))
        block.compact(placeholders=False)
    items = _expanded(select, block)
    if select.args.get("group") is None and not has_aggregates(select, items):
        return _finish(Selection(select, block), items, reader.read, reader.subqueries, block)
    grouped = read_grouping(select, items, block, reader.read)
    after = grouped.block
    subqueries = SubqueryReader(after, read_query, lambda n: outer.read(n))
    outer = grouped.reader(subqueries.leaf)
    selection = Selection(select, after, grouped=grouped)
    having = select.args.get("having")
    if having is not None:
        selection.having = _condition(after, having.this, outer.read(having.this), "HAVING")
    return _finish(selection, items, outer.read, subqueries, block)


def _mentioned(select: exp.Select) -> set[str] | None:
    """The lower-case names in a query; None if it may use columns that it does not name."""
    stars = any(not isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star))
    if stars or any(join.method for join in select.find_all(exp.Join)):
        return None
    return {name.name.lower() for name in select.find_all(exp.Identifier)}


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a conjunction, those with subqueries last: fewer rows ask them."""
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    if not isinstance(node, exp.And):
        return [node]
    both = [*_conjuncts(node.left), *_conjuncts(node.right)]
    return sorted(both, key=lambda n: n.find(exp.Query) is not None)


def _condition(block: Block, node: exp.Expr, scalar: Scalar, clause: str) -> Scalar:
    if scalar.type.kind != "bool":
        block.fail(node, f"{clause} of type {scalar.type}", "type-mismatch", "write a comparison")
    return scalar


def _check_clauses(select: exp.Select, block: Block) -> None:
    if not select.expressions:
        block.fail(select, "SELECT without columns", "no-columns", "SELECT *")
    for clause, value in select.args.items():
        if not value or clause in CLAUSES:
            continue
        node = value if isinstance(value, exp.Expr) else value[0] if isinstance(value, list) else select
        hint = "SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT n"
        block.fail(node, f"{clause.strip('_').upper()} is not supported", "unsupported-clause", hint)


def _expanded(select: exp.Select, block: Block) -> list[exp.Expr]:
    """The SELECT list with stars written out."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        star = item.this if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) else item
        if not isinstance(star, exp.Star):
            items.append(item)
            continue
        wanted = item.table.lower() if isinstance(item, exp.Column) else ""
        if any(star.args.get(x) for x in ("except_", "replace", "rename")):
            block.fail(item, "a star with exceptions", "select-star", "name the columns")
        found = [] if wanted else [_reference(name, None) for name, _ in block.merged.values()]
        found += [
            _reference(name, t.alias)
            for t in block.tables
            if wanted in ("", t.alias.lower())
            for name, _ in t.columns
            if wanted or name.lower() not in block.merged
        ]
        if not found:
            block.fail(item, f"no table {wanted!r} for the star", "unknown-table", "name a table of FROM")
        for column in found:  # errors are reported at the star
            column.meta.update({k: v for part in item.walk() for k, v in part.meta.items()})
        items += found
    return items


def _reference(name: str, table: str | None) -> exp.Column:
    quoted = exp.to_identifier(table, quoted=True) if table is not None else None
    return exp.column(exp.to_identifier(name, quoted=True), table=quoted)


def _finish(
    selection: Selection,
    items: list[exp.Expr],
    read: Callable[[exp.Expr], Scalar],
    subqueries: SubqueryReader,
    base: Block,
) -> Selection:
    """Read the list, QUALIFY and ORDER BY."""
    reader = _ListReader(selection, read, base)
    for position, item in enumerate(items, start=1):
        body = item.unalias()
        name = item.alias or (body.name if isinstance(body, exp.Column) else f"{body.key.lower()}_{position}")
        selection.items.append(Item(name, reader.read(body), body))
    qualify = selection.select.args.get("qualify")
    if qualify is not None:
        condition = _condition(selection.block, qualify.this, reader.read(qualify.this), "QUALIFY")
        reader.qualify = condition
    order = selection.select.args.get("order")
    for node in order.expressions if order is not None else ():
        scalar = reader.ordered(node.this)
        selection.order.append((scalar, bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))
    if selection.windows or reader.qualify is not None:
        _windows(selection, reader.qualify)
    first = _first_of(selection.select)
    if first is not None:
        partition = tuple(dict.fromkeys(reader.ordered(node) for node in first))
        number = Var("row_number", INT, base.context.registry.scope("window"))
        function = WindowFunction("row_number", (), tuple(selection.order), None, INT)
        selection.windows = [(number, partition, function)]
        _windows(selection, call("eq", number, const(1)))
    return selection


def _first_of(select: exp.Select) -> list[exp.Expr] | None:
    """The expressions of DISTINCT ON: the first row of each combination of them is kept."""
    unique = select.args.get("distinct")
    on = unique.args.get("on") if isinstance(unique, exp.Distinct) else None
    if on is None:
        return None
    return list(on.expressions) if isinstance(on, exp.Tuple) else [on.unnest()]


class _ListReader:
    """Reads the SELECT list, with window functions, and ORDER BY, which may also name list items."""

    def __init__(self, selection: Selection, read: Callable[[exp.Expr], Scalar], base: Block) -> None:
        self.selection, self._inner, self.base = selection, read, base
        self.qualify: Scalar | None = None

    def read(self, node: exp.Expr) -> Scalar:
        """An expression of the list."""
        if not any(True for _ in _windows_in(node)):
            return self._inner(node)
        return ExpressionReader(self.base.context.source, self._leaf).read(node)

    def _leaf(self, node: exp.Expr) -> Scalar | None:
        if isinstance(node, exp.Window):
            node = self._resolved(node)
            found = read_window(node, self.selection.block, self._inner)
            for known, partition, function in self.selection.windows:
                if (partition, function) == found[1:]:
                    return known
            self.selection.windows.append(found)
            return found[0]
        if any(True for _ in _windows_in(node)):
            return None
        return self._inner(node)

    def _resolved(self, node: exp.Window) -> exp.Window:
        """``OVER name`` with the named window of the WINDOW clause written out."""
        named = {w.name.lower(): w for w in self.selection.select.args.get("windows") or ()}
        alias = node.args.get("alias")
        if alias is None:
            return node
        if alias.name.lower() not in named:
            self.base.fail(node, f"no window {alias.name!r}", "unknown-window", f"known: {', '.join(named) or 'none'}")
        window = named[alias.name.lower()]
        copy = node.copy()
        for part in ("partition_by", "order", "spec"):
            copy.set(part, node.args.get(part) or window.args.get(part))
        copy.set("alias", None)
        return copy

    def ordered(self, node: exp.Expr) -> Scalar:
        """An expression of ORDER BY: a position, an output column, or anything over the block."""
        items = self.selection.items
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            if not str(node.this).isdigit() or not 1 <= int(node.this) <= len(items):
                self.base.fail(node, f"no output column {node.this}", "bad-ordinal", f"there are {len(items)} columns")
            return items[int(node.this) - 1].scalar
        if isinstance(node, exp.Column) and not node.table:
            named = [i.scalar for i in items if i.name.lower() == node.name.lower()]
            if named:
                return named[0]
        return self.read(node)


def _windows_in(node: exp.Expr) -> Iterable[exp.Expr]:
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Window):
        yield node
        return
    for child in node.iter_expressions():
        yield from _windows_in(child)


def _windows(selection: Selection, qualify: Scalar | None) -> None:
    """Compute the window functions, and filter by them."""
    settle(selection)
    block = selection.block
    later = [*selection.scalars(), *([qualify] if qualify is not None else [])]
    block.expand([s for w in selection.windows for s in (*w[1], *w[2].args, *(o for o, _, _ in w[2].order))] + later)
    results = {w.key for w, _, _ in selection.windows}
    needed = [v for key, v in vars_of(*later).items() if key not in results]
    spread(block, selection.windows, needed)
    selection.windows = []
    if qualify is not None:
        block.filter(qualify)


def settle(selection: Selection) -> None:
    """Turn a grouped selection's groups into rows of derived relations, and apply HAVING to them."""
    if selection.grouped is not None:
        selection.block.branches = selection.grouped.derived()
        selection.grouped = None
        if selection.having is not None:
            selection.block.filter(selection.having)
            selection.having = None


def rows_of(selection: Selection, parent: Block) -> Rows:
    """The rows of a SELECT, with DISTINCT and LIMIT applied."""
    single = _single(selection)
    settle(selection)
    rows, order = listed(selection)
    if selection.unique:
        rows, order = (
            distinct_rows(selection.block, rows, parent),
            [(s, d, n) for s, d, n in order if isinstance(s, Var)],
        )
    limit = count_of(selection.select, "limit", parent)
    return replace(limited(parent, rows, selection.select, order), single=single or (limit is not None and limit <= 1))


def _single(selection: Selection) -> bool:
    """Whether there is at most one row: a total, or a row of tables that have one."""
    grouped = selection.grouped
    if grouped is None:
        return selection.block.single
    return len(grouped.sets) == 1 and (grouped.base.single or not grouped.sets[0])


def listed(selection: Selection) -> tuple[Rows, list[tuple[Scalar, bool, bool]]]:
    """As :func:`listed_all`; without a LIMIT the order does not matter and is left out."""
    if selection.select.args.get("limit") is None and selection.select.args.get("offset") is None:
        selection.order = []
    return listed_all(selection)


def listed_all(selection: Selection) -> tuple[Rows, list[tuple[Scalar, bool, bool]]]:
    """The rows of the list, and ORDER BY over their columns; what is only ordered by is a further column."""
    block = selection.block
    block.expand(selection.scalars())
    names = unique_names([i.name for i in selection.items])
    scalars = [i.scalar for i in selection.items]
    columns = [Var(name, s.type) for name, s in zip(names, scalars, strict=True)]
    order: list[tuple[Scalar, bool, bool]] = []
    for scalar, descending, first in selection.order:
        if scalar not in scalars:
            scalars.append(scalar)
            columns.append(Var("order", scalar.type, block.context.registry.scope("order")))
        order.append((columns[scalars.index(scalar)], descending, first))
    branches = []
    for branch in block.branches:
        env: dict[Key, Scalar] = {c.key: converted(branch.value(s), c) for c, s in zip(columns, scalars, strict=True)}
        branches.append(Branch(branch.coefficient, branch.sources, branch.conditions, env))
    return Rows(tuple(columns), tuple(branches)), order


def distinct_rows(block: Block, rows: Rows, parent: Block) -> Rows:
    """The rows without repetitions."""
    closed = close(parent, rows.branches, [c.key for c in rows.columns])
    relation = distinct(parent, closed.branches, [*closed.columns(), *rows.columns], "distinct")
    source = parent.context.registry.source(relation)
    variables = source.variables()
    env: dict[Key, Scalar] = {c.key: v for c, v in zip(rows.columns, variables[len(closed.links) :], strict=True)}
    return Rows(rows.columns, (Branch(1, (source,), closed.conditions(variables), env),))


def unique_names(names: Sequence[str]) -> list[str]:
    """The names of output columns: one that is there already gets a number, which leaves other columns their names.

    >>> unique_names(["a", "A", "a_2", "a"])
    ['a', 'A_3', 'a_2', 'a_4']
    """
    taken = {name.lower() for name in names}
    found: list[str] = []
    for wish in names:
        name, n = wish, 1
        while (n > 1 and name.lower() in taken) or name.lower() in {x.lower() for x in found}:
            n += 1
            name = f"{wish}_{n}"
        found.append(name)
    return found


def set_order(node: exp.Expr, rows: Rows, block: Block) -> list[tuple[Scalar, bool, bool]]:
    """ORDER BY of a set operation: positions and names of its columns."""
    order = node.args.get("order")
    found: list[tuple[Scalar, bool, bool]] = []
    for item in order.expressions if order is not None else ():
        inner = item.this
        if isinstance(inner, exp.Literal) and str(inner.this).isdigit() and 1 <= int(inner.this) <= len(rows.columns):
            column = rows.columns[int(inner.this) - 1]
        else:
            named = [c for c in rows.columns if isinstance(inner, exp.Column) and c.name.lower() == inner.name.lower()]
            if not named:
                block.fail(
                    item, "ORDER BY something not selected", "order-by", "a column of the result, or its position"
                )
            column = named[0]
        found.append((column, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
    return found
