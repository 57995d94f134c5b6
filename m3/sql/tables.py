"""FROM: base tables, derived tables, common table expressions and joins, inner and outer.

An outer join is its inner join plus the rows without a match, whose other side is NULL: the rows less those for which a
match exists (a derived relation, see :mod:`m3.sql.correlation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from sqlglot import exp

from m3.algebra import Branch, Rows, add_conditions, bind, common_type, product
from m3.program import Column
from m3.scalars import Call, Const, Scalar, Var, call, variables
from m3.sql.block import Block, Table
from m3.sql.correlation import existence, stored

__all__ = ["compact", "read_from", "unite"]

#: From how many branches on the rows of a derived table, and those of a join, are kept as a relation of their own.
TABLE_BRANCHES, JOIN_BRANCHES = 3, 9

ReadQuery = Callable[[exp.Expr, Block], Rows]
Read = Callable[[exp.Expr], Scalar]


def read_from(block: Block, select: exp.Select, read_query: ReadQuery, read: Read) -> None:
    """Make the tables of a SELECT's FROM known to ``block``, and its branches their join."""
    from_ = select.args.get("from_")
    if from_ is not None:
        _Tables(block, read_query, read).all(
            from_.this, select.args.get("joins") or (), select.args.get("laterals") or ()
        )


def compact(block: Block) -> None:
    """Keep the block's rows as a relation of their own if they have many branches."""
    if len(block.branches) > JOIN_BRANCHES:
        known = [v for t in block.tables for _, v in t.columns] + [v for _, v in block.merged.values()]
        block.branches = stored(block, block.branches, [Column(v.name, v.type) for v in known])


class _Tables:
    def __init__(self, block: Block, read_query: ReadQuery, read: Read) -> None:
        self.block, self.read_query, self.read = block, read_query, read

    def all(self, first: exp.Expr, joins: Iterable[exp.Join], laterals: Iterable[exp.Expr]) -> None:
        self._item(first)
        for join in (*(first.args.get("joins") or ()), *joins):
            self._join(join)
        for lateral in laterals:
            self.block.fail(lateral, "LATERAL VIEW", "unsupported-table", "join a derived table")

    def _item(self, node: exp.Expr) -> None:
        _, branches = self._table(node)
        self.block.branches = product(self.block.branches, branches)

    def _table(self, node: exp.Expr) -> tuple[Table, list[Branch]]:
        """A table with its branches, not joined yet."""
        if isinstance(node, exp.Paren):
            return self._table(node.this)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._base(node)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self._derived(node, node.this)
        if isinstance(node, exp.Subquery):
            if isinstance(node.this, exp.Table):
                self.block.fail(
                    node, "a join in parentheses", "unsupported-join", "write it as a derived table: (SELECT ..)"
                )
            return self._derived(node, node)
        if isinstance(node, exp.Values):
            return self._derived(node, node)
        hint = "a table, a derived table (SELECT ..) or VALUES"
        self.block.fail(node, f"{node.key.upper()} in FROM", "unsupported-table", hint)
        raise AssertionError("unreachable")

    def _base(self, node: exp.Table) -> tuple[Table, list[Branch]]:
        for clause in ("pivots", "sample", "when", "version"):
            if node.args.get(clause):
                self.block.fail(node, f"{clause.upper()} of a table", "unsupported-table", "leave it out")
        alias = node.alias or node.name
        rows = self._named(node)
        table, branches = self.block.add(alias, rows, node)
        return self._renamed(table, node), branches

    def _limited(self, rows: Rows) -> Rows:
        """A table of many branches becomes a relation of its own: joins multiply branches."""
        if len(rows.branches) <= TABLE_BRANCHES:
            return rows
        return Rows(rows.columns, tuple(stored(self.block, rows.branches, rows.columns)))

    def _named(self, node: exp.Table) -> Rows:
        scope: Block | None = self.block
        while scope is not None:
            view = scope.views.get(node.name.lower())
            if view is not None and not node.db:
                return self._limited(view())
            scope = scope.parent
        context = self.block.context
        relation = next((r for name, r in context.relations.items() if name.lower() == node.name.lower()), None)
        if relation is None:
            hint = f"known relations: {', '.join(sorted(context.relations)) or 'none'}"
            self.block.fail(node, f"no relation {node.name!r}", "unknown-relation", hint)
        assert relation is not None
        source = context.registry.source(relation)
        env = {c.name: source.variable(c) for c in relation.columns}
        return Rows(relation.columns, (Branch(1, (source,), (), env),))

    def _derived(self, node: exp.Expr, query: exp.Expr) -> tuple[Table, list[Branch]]:
        inner = query.this if isinstance(query, exp.Subquery) and not query.args.get("with_") else query
        rows = self._limited(self.read_query(inner, self.block))
        alias = node.alias or f"_{len(self.block.tables) + 1}"
        table, branches = self.block.add(alias, rows, node)
        return self._renamed(table, node), branches

    def _renamed(self, table: Table, node: exp.Expr) -> Table:
        """``AS t(a, b)`` names the first columns."""
        alias = node.args.get("alias")
        names = [c.name for c in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
        if len(names) > len(table.columns):
            hint = f"it has {len(table.columns)}"
            self.block.fail(node, f"{len(names)} names for the columns of {table.alias}", "wrong-arity", hint)
        for i, name in enumerate(names):
            table.columns[i] = (name, table.columns[i][1])
        return table

    def _join(self, join: exp.Join) -> None:
        side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if kind in ("SEMI", "ANTI") or side in ("SEMI", "ANTI"):
            self._semi(join, anti="ANTI" in (kind, side))
            return
        if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            hint = "INNER, LEFT, RIGHT, FULL, CROSS, SEMI and ANTI joins"
            self.block.fail(join, f"{method} {side} {kind} JOIN".replace("  ", " "), "unsupported-join", hint)
        known = list(self.block.tables)
        item = join.this
        table, branches = self._table(item)
        using = (
            self._common(join, known, table) if method == "NATURAL" else [i.name for i in join.args.get("using") or ()]
        )
        on = [self._equal(join, known, table, name) for name in using]
        if join.args.get("on") is not None:
            on.append(self.read(join.args["on"]))
        self._combine(join, branches, table, on, side)
        for equality, name in zip(on, using, strict=False):
            self._merge(equality, name, side)
        for nested in item.args.get("joins") or ():
            self._join(nested)

    def _common(self, join: exp.Join, known: Sequence[Table], table: Table) -> list[str]:
        left = {name.lower() for t in known for name, _ in t.columns} | set(self.block.merged)
        return [name for name, _ in table.columns if name.lower() in left]

    def _equal(self, join: exp.Join, known: Sequence[Table], table: Table, name: str) -> Scalar:
        left = [v for t in known for n, v in t.columns if n.lower() == name.lower()]
        if name.lower() in self.block.merged:
            left = [self.block.merged[name.lower()][1]]
        right = [v for n, v in table.columns if n.lower() == name.lower()]
        if len(left) != 1 or len(right) != 1:
            hint = "the column must exist once on both sides of the join"
            self.block.fail(join, f"no common column {name!r}", "unknown-column", hint)
        return self.block.guarded(join, lambda: call("eq", left[0], right[0]))

    def _merge(self, on: Scalar, name: str, side: str) -> None:
        """After USING there is one column: the left one, the right one, or in a full join whichever is there."""
        assert isinstance(on, Call)
        left, right = on.args
        merged = right if side == "RIGHT" else left
        if side == "FULL":
            merged = call("coalesce", left, right)
        number = self.block.context.registry.number()
        variable = Var(f"{name}@{self.block.number}.{number}.{name}", merged.type)
        self.block.branches = [bind(b, {variable.name: b.value(merged)}) for b in self.block.branches]
        self.block.merged[name.lower()] = (name, variable)

    def _combine(self, node: exp.Expr, right: list[Branch], table: Table, on: list[Scalar], side: str) -> None:
        left = self.block.branches
        if side and any(v in self.block.placeholders for c in on for v in variables(c)):
            self.block.fail(node, "a subquery in the ON of an outer join", "unsupported-join", "join a derived table")
        mine = [v for t in self.block.tables if t is not table for _, v in t.columns]
        mine += [v for _, v in self.block.merged.values()]
        if side in ("LEFT", "FULL"):
            lonely = self._without(left, right, on, [v for _, v in table.columns])
        if side in ("RIGHT", "FULL"):
            others = self._without(right, left, on, mine)
        self.block.branches = product(left, right)
        for condition in on:
            self.block.filter(condition)
        if side in ("LEFT", "FULL"):
            self.block.branches += lonely
        if side in ("RIGHT", "FULL"):
            self.block.branches += others
        nullable = {v.name for _, v in table.columns} if side in ("LEFT", "FULL") else set()
        nullable |= {v.name for v in mine} if side in ("RIGHT", "FULL") else set()
        self._mark_nullable(nullable)
        compact(self.block)

    def _without(
        self, kept: list[Branch], other: list[Branch], on: list[Scalar], missing: Sequence[Var]
    ) -> list[Branch]:
        """The rows of ``kept`` for which ``other`` has none: all of them less those with a match."""
        asking = Block(self.block.context, self.block.parent, self.block.context.registry.number(), branches=kept)
        matching = Rows((), tuple(add_conditions(other, on)))
        there = existence(asking, matching, "matched")
        absent = {v.name: Const(None, v.type.with_null()) for v in missing}
        minus = Branch(-1, there.sources, there.conditions)
        return [bind(b, absent) for b in product(kept, [Branch(), minus])]

    def _mark_nullable(self, names: set[str]) -> None:
        for table in self.block.tables:
            table.columns = [
                (name, Var(v.name, v.type.with_null()) if v.name in names else v) for name, v in table.columns
            ]
        for key, (name, v) in self.block.merged.items():
            if v.name in names:
                self.block.merged[key] = (name, Var(v.name, v.type.with_null()))

    def _semi(self, join: exp.Join, *, anti: bool) -> None:
        known = list(self.block.tables)
        table, branches = self._table(join.this)
        using = [i.name for i in join.args.get("using") or ()]
        on = [self._equal(join, known, table, name) for name in using]
        if join.args.get("on") is not None:
            on.append(self.read(join.args["on"]))
        self.block.tables.remove(table)
        there = existence(self.block, Rows((), tuple(add_conditions(branches, on))), "matched")
        minus = Branch(-1, there.sources, there.conditions)
        self.block.branches = product(self.block.branches, [Branch(), minus] if anti else [there])


def unite(columns: Sequence[Column], others: Sequence[Column]) -> list[Column]:
    """The columns of a union: the first names, the common types."""
    united = []
    for a, b in zip(columns, others, strict=True):
        kind = a.type if a.type.same_as(b.type) else common_type(Var("", a.type), Var("", b.type))
        united.append(Column(a.name, kind.with_null(a.type.nullable or b.type.nullable)))
    return united
