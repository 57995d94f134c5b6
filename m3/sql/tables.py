"""FROM: base tables, derived tables, common table expressions and joins, inner and outer.

An outer join is its inner join plus the rows without a match, whose other side is NULL: the rows less those for which a
match exists (a derived relation, see :mod:`m3.sql.correlation`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from m3.algebra import Branch, Rows, add_conditions, bind, common_type, product
from m3.scalars import Call, Const, Key, Scalar, Var, call, vars_of
from m3.sql.block import BRANCHES, Block, Table
from m3.sql.correlation import existence, stored

__all__ = ["read_from", "unite"]

#: A derived table with more branches is kept as a relation of its own.
TABLE_BRANCHES = 3

ReadQuery = Callable[[exp.Expr, Block], Rows]
Read = Callable[[exp.Expr], Scalar]


def read_from(block: Block, select: exp.Select, read_query: ReadQuery, read: Read) -> None:
    """Make the tables of a SELECT's FROM known to ``block``, and its branches their join."""
    from_ = select.args.get("from_")
    if from_ is not None:
        _Tables(block, read_query, read).all(
            from_.this, select.args.get("joins") or (), select.args.get("laterals") or ()
        )


class _Tables:
    def __init__(self, block: Block, read_query: ReadQuery, read: Read) -> None:
        self.block, self.read_query, self.read = block, read_query, read

    def all(self, first: exp.Expr, joins: Iterable[exp.Join], laterals: Iterable[exp.Expr]) -> None:
        _, branches = self._operand(first, (), [])
        self.block.branches = product(self.block.branches, branches)
        for join, followers in _segments([*(first.args.get("joins") or ()), *joins]):
            self._join(join, followers)
        for lateral in laterals:
            self.block.fail(lateral, "LATERAL VIEW", "unsupported-table", "join a derived table")

    def _operand(
        self, node: exp.Expr, joins: Sequence[exp.Join], known: Sequence[Table]
    ) -> tuple[list[Table], list[Branch]]:
        """The tables of an operand of a join, which may be a join itself, with its branches."""
        while isinstance(node, exp.Subquery | exp.Paren) and _is_join(node.this):
            if node.alias:
                self.block.fail(node, "a join with an alias", "unsupported-join", "write (SELECT .. FROM ..) AS alias")
            joins, node = [*(node.this.args.get("joins") or ()), *joins], node.this
        if not joins:
            table, branches = self._table(node)
            return [table], branches
        return self._inner_join(node, joins, known)

    def _inner_join(
        self, first: exp.Expr, joins: Sequence[exp.Join], known: Sequence[Table]
    ) -> tuple[list[Table], list[Branch]]:
        """A join that is joined as a whole; its conditions see its own tables only."""
        block = self.block
        before, merged = block.branches, block.merged
        block.tables, block.branches, block.merged = [], [Branch()], {}
        _, branches = self._operand(first, (), [])
        block.branches = product(block.branches, branches)
        for join, followers in _segments(joins):
            self._join(join, followers)
        tables, branches = block.tables, block.branches
        twice = {t.alias.lower() for t in known} & {t.alias.lower() for t in tables}
        if twice:
            self.block.fail(first, f"table name {min(twice)!r} occurs twice", "duplicate-alias", "use aliases")
        block.tables, block.branches, block.merged = [*known, *tables], before, {**merged, **block.merged}
        return tables, branches

    def _table(self, node: exp.Expr) -> tuple[Table, list[Branch]]:
        """A table with its branches, not joined yet."""
        if isinstance(node, exp.Paren):
            return self._table(node.this)
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._base(node)
        if isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            return self._derived(node, node.this)
        if isinstance(node, exp.Subquery):
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
        return replace(rows, branches=tuple(stored(self.block, rows.branches, rows.columns)))

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
        columns = tuple(Var(c.name, c.type) for c in relation.columns)
        return Rows(columns, (Branch(1, (source,), (), {v.name: v for v in source.variables()}),))

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

    def _join(self, join: exp.Join, followers: Sequence[exp.Join]) -> None:
        side, kind, method = (str(join.args.get(part) or "").upper() for part in ("side", "kind", "method"))
        if kind in ("SEMI", "ANTI") or side in ("SEMI", "ANTI"):
            self._semi(join, anti="ANTI" in (kind, side))
            return
        if kind not in ("", "INNER", "OUTER", "CROSS") or method not in ("", "NATURAL"):
            hint = "INNER, LEFT, RIGHT, FULL, CROSS, SEMI and ANTI joins"
            self.block.fail(join, f"{method} {side} {kind} JOIN".replace("  ", " "), "unsupported-join", hint)
        known, merged = list(self.block.tables), dict(self.block.merged)
        tables, branches = self._operand(join.this, [*(join.this.args.get("joins") or ()), *followers], known)
        using = [i.name for i in join.args.get("using") or ()]
        if method == "NATURAL":
            using = self._common(known, tables)
        on = [self._equal(join, known, merged, tables, name) for name in using]
        if join.args.get("on") is not None:
            on.append(self._condition(join.args["on"]))
        self._combine(join, branches, tables, on, side)
        for equality, name in zip(on, using, strict=False):
            self._merge(equality, name, side)

    def _condition(self, node: exp.Expr) -> Scalar:
        condition = self.read(node)
        if condition.type.kind != "bool":
            self.block.fail(node, f"ON of type {condition.type}", "type-mismatch", "write a comparison")
        return condition

    def _common(self, known: Sequence[Table], tables: Sequence[Table]) -> list[str]:
        left = {name.lower() for t in known for name, _ in t.columns}
        return list(dict.fromkeys(name for t in tables for name, _ in t.columns if name.lower() in left))

    def _equal(
        self,
        join: exp.Join,
        known: Sequence[Table],
        merged: Mapping[str, tuple[str, Var]],
        tables: Sequence[Table],
        name: str,
    ) -> Scalar:
        wanted = name.lower()
        left, right = ([v for t in side for n, v in t.columns if n.lower() == wanted] for side in (known, tables))
        if wanted in merged:
            left = [merged[wanted][1]]
        if wanted in self.block.merged and self.block.merged[wanted] != merged.get(wanted):
            right = [self.block.merged[wanted][1]]
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
        variable = Var(name, merged.type, self.block.context.registry.scope("table", "USING"))
        self.block.branches = [bind(b, {variable.key: b.value(merged)}) for b in self.block.branches]
        self.block.merged[name.lower()] = (name, variable)

    def _combine(
        self, node: exp.Expr, right: list[Branch], tables: Sequence[Table], on: list[Scalar], side: str
    ) -> None:
        left = self.block.branches
        if len(left) * len(right) > BRANCHES and len(right) > 1:
            merged = [v for _, v in self.block.merged.values() if v.key in right[0].env]
            right = stored(self.block, right, [*(v for t in tables for _, v in t.columns), *merged])
        if side and any(key in self.block.placeholders for key in vars_of(*on)):
            self.block.fail(node, "a subquery in the ON of an outer join", "unsupported-join", "join a derived table")
        new = {v.key for t in tables for _, v in t.columns} | {key for b in right for key in b.env}
        every = [v for t in self.block.tables for _, v in t.columns] + [v for _, v in self.block.merged.values()]
        theirs, mine = ([v for v in every if (v.key in new) == inside] for inside in (True, False))
        if side in ("LEFT", "FULL"):
            lonely = self._without(left, right, on, theirs)
        if side in ("RIGHT", "FULL"):
            others = self._without(right, left, on, mine)
        self.block.branches = product(left, right)
        for condition in on:
            self.block.filter(condition)
        if side in ("LEFT", "FULL"):
            self.block.branches += lonely
        if side in ("RIGHT", "FULL"):
            self.block.branches += others
        nullable = {v.key for v in theirs} if side in ("LEFT", "FULL") else set()
        nullable |= {v.key for v in mine} if side in ("RIGHT", "FULL") else set()
        self._mark_nullable(nullable)
        if side:
            self.block.known.clear()
        if side == "FULL":
            self.block.single = False
        if len(self.block.branches) > BRANCHES:
            self._filter_early()
        self.block.compact()

    def _filter_early(self) -> None:
        """Apply the conditions of WHERE that are about the tables so far, before their rows are kept."""
        for node in list(self.block.early):
            if all(len(list(self.block.candidates(c))) == 1 for c in node.find_all(exp.Column)):
                self.block.early.remove(node)
                self.block.filter(self._condition(node))

    def _without(
        self, kept: list[Branch], other: list[Branch], on: list[Scalar], missing: Sequence[Var]
    ) -> list[Branch]:
        """The rows of ``kept`` for which ``other`` has none: all of them less those with a match."""
        asking = Block(self.block.context, self.block.parent, self.block.context.registry.number(), branches=kept)
        matching = Rows((), tuple(add_conditions(other, on)))
        there = existence(asking, matching, "matched")
        absent: dict[Key, Scalar] = {v.key: Const(None, v.type.with_null()) for v in missing}
        minus = Branch(-1, there.sources, there.conditions)
        return [bind(b, absent) for b in product(kept, [Branch(), minus])]

    def _mark_nullable(self, keys: set[Key]) -> None:
        for table in self.block.tables:
            table.columns = [
                (name, replace(v, type=v.type.with_null()) if v.key in keys else v) for name, v in table.columns
            ]
        for key, (name, v) in self.block.merged.items():
            if v.key in keys:
                self.block.merged[key] = (name, replace(v, type=v.type.with_null()))

    def _semi(self, join: exp.Join, *, anti: bool) -> None:
        known = list(self.block.tables)
        table, branches = self._table(join.this)
        using = [i.name for i in join.args.get("using") or ()]
        on = [self._equal(join, known, self.block.merged, [table], name) for name in using]
        if join.args.get("on") is not None:
            on.append(self._condition(join.args["on"]))
        self.block.tables.remove(table)
        there = existence(self.block, Rows((), tuple(add_conditions(branches, on))), "matched")
        minus = Branch(-1, there.sources, there.conditions)
        self.block.branches = product(self.block.branches, [Branch(), minus] if anti else [there])


def _is_join(node: exp.Expr) -> bool:
    """Whether what is in parentheses is a table or a join of tables."""
    return isinstance(node, exp.Table) or (isinstance(node, exp.Subquery | exp.Paren) and _is_join(node.this))


def _segments(joins: Sequence[exp.Join]) -> list[tuple[exp.Join, list[exp.Join]]]:
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


def unite(columns: Sequence[Var], others: Sequence[Var]) -> list[Var]:
    """The columns of a union: the first names, the common types."""
    united = []
    for a, b in zip(columns, others, strict=True):
        kind = a.type if a.type.same_as(b.type) else common_type(Var("", a.type), Var("", b.type))
        united.append(Var(a.name, kind.with_null(a.type.nullable or b.type.nullable)))
    return united
