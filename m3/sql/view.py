"""A SELECT with aggregates -> :class:`~m3.algebra.ViewQuery`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from m3.algebra import ViewQuery, variable_type
from m3.program import Column, OutputColumn, Relation
from m3.scalars import Scalar, Var
from m3.sql.aggregates import AggregateReader
from m3.sql.expressions import ExpressionReader
from m3.sql.joins import Body, read_body
from m3.sql.places import Source
from m3.sql.scope import Scope, read_scope

__all__ = ["parse_view"]

CLAUSES = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "kind", "hint"}


def parse_view(name: str, sql: str, relations: Sequence[Relation], dialect: str | None = None) -> ViewQuery:
    """What a SELECT asks for, in the algebra.

    Args:
        name: the view's name.
        sql: one SELECT of aggregates over inner joins of base tables.
        relations: the base tables.
        dialect: sqlglot's name of the SQL dialect; None for its generic one.

    Raises:
        SyntaxProblem: not SQL.
        CompileError: SQL that cannot be maintained, at its place, with the nearest form that can.
    """
    source = Source(sql, name)
    select = source.parse(dialect)
    if not isinstance(select, exp.Select):
        source.fail(select, f"{select.key.upper()} is not a SELECT", "not-a-select", "define one view per SELECT")
    _check_clauses(select, source)
    scope = read_scope(select, {r.name: r for r in relations}, source)
    return _ViewReader(name, sql, select, scope).read()


def _check_clauses(select: exp.Select, source: Source) -> None:
    for clause, value in select.args.items():
        if not value or clause in CLAUSES:
            continue
        node = value if isinstance(value, exp.Expr) else value[0] if isinstance(value, list) else select
        hint = "SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT n"
        if clause == "distinct":
            hint = "GROUP BY the columns instead"
        source.fail(node, f"{clause.strip('_').upper()} is not supported", "unsupported-clause", hint)


@dataclass
class _ViewReader:
    name: str
    sql: str
    select: exp.Select
    scope: Scope
    groups: dict[Scalar, str] = field(default_factory=dict)
    outputs: list[OutputColumn] = field(default_factory=list)

    def read(self) -> ViewQuery:
        self.columns = ExpressionReader(self.scope.source, self._column)
        where = self.select.args.get("where")
        self.body: Body = read_body(self.scope, where.this if where else None, self.columns)
        self._read_groups()
        self.body.seal()
        self.aggregates = AggregateReader(self.body, self.columns)
        self.exists = self.body.aggregate()
        self._read_outputs()
        having = self.select.args.get("having")
        condition = self._output(having.this, "having") if having else None
        if having and condition is not None and condition.type.kind != "bool":
            self.scope.source.fail(having, f"HAVING of type {condition.type}", "type-mismatch", "write a comparison")
        order, limit = self._order(), self._limit()
        values = tuple(self.aggregates.values.items())
        keys = tuple(Column(k, variable_type(self.exists, k)) for k in self.body.keys)
        return ViewQuery(self.name, keys, values, self.exists, tuple(self.outputs), condition, order, limit, self.sql)

    def _column(self, node: exp.Expr) -> Scalar | None:
        """Columns of tables, for WHERE, GROUP BY and the arguments of aggregates."""
        if isinstance(node, exp.AggFunc):
            self.scope.source.fail(
                node,
                f"{node.key.upper()} where a single row is meant",
                "misplaced-aggregate",
                "use HAVING, or unnest it",
            )
        return self.scope.resolve(node) if isinstance(node, exp.Column) else None

    def _items(self) -> list[exp.Expr]:
        items: list[exp.Expr] = self.select.expressions
        return items

    def _read_groups(self) -> None:
        group = self.select.args.get("group")
        if group is None:
            if not any(item.find(exp.AggFunc) for item in self._items()):
                hint = "use SUM, COUNT or AVG, or GROUP BY"
                self.scope.source.fail(self.select, "a query without aggregates", "not-an-aggregate", hint)
            return
        for clause, value in group.args.items():
            if value and clause != "expressions":
                self.scope.source.fail(group, f"GROUP BY {clause}", "unsupported-clause", "one view per grouping")
        for node in group.expressions:
            self._read_group(node)

    def _read_group(self, node: exp.Expr) -> None:
        target, wish = self._group_target(node)
        if target.find(exp.AggFunc):
            self.scope.source.fail(node, "GROUP BY an aggregate", "group-by", "group by columns of the tables")
        if isinstance(target, exp.Rollup | exp.Cube | exp.GroupingSets):
            self.scope.source.fail(
                node, f"GROUP BY {target.key.upper()}", "unsupported-clause", "one view per grouping"
            )
        scalar = self.columns.read(target)
        if len(self.scope.owners_of(scalar)) != 1:
            hint = "a group expression uses the columns of exactly one table"
            self.scope.source.fail(node, "GROUP BY over several tables, or none", "group-by", hint)
        local = self.scope.local(scalar)
        wish = wish or (local.name if isinstance(local, Var) else f"key_{len(self.groups) + 1}")
        self.groups[scalar] = self.body.add_key(scalar, wish)

    def _group_target(self, node: exp.Expr) -> tuple[exp.Expr, str]:
        """The expression that a GROUP BY item means, and a name: ordinals and aliases stand for output columns."""
        items = self._items()
        chosen: exp.Expr | None = None
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            if not 1 <= int(node.this) <= len(items):
                hint = f"there are {len(items)} columns"
                self.scope.source.fail(node, f"no output column {node.this}", "bad-ordinal", hint)
            chosen = items[int(node.this) - 1]
        elif isinstance(node, exp.Column) and not node.table and not list(self.scope.candidates(node)):
            chosen = next((i for i in items if i.alias.lower() == node.name.lower()), None)
        if chosen is None:
            return node, next((i.alias for i in items if isinstance(i, exp.Alias) and i.this == node), "")
        return chosen.unalias(), chosen.alias

    def _read_outputs(self) -> None:
        for position, item in enumerate(self._items(), start=1):
            body = item.unalias()
            if isinstance(body, exp.Star) or (isinstance(body, exp.Column) and isinstance(body.this, exp.Star)):
                self.scope.source.fail(item, "SELECT *", "select-star", "name the columns")
            name = item.alias or (body.name if isinstance(body, exp.Column) else f"{body.key.lower()}_{position}")
            if name in {c.name for c in self.outputs}:
                self.scope.source.fail(item, f"two columns named {name!r}", "duplicate-column", "rename one with AS")
            self.outputs.append(OutputColumn(name, self._output(body, name)))

    def _output(self, node: exp.Expr, wish: str) -> Scalar:
        """An expression over the view's keys and values: SELECT, HAVING and ORDER BY items."""
        return ExpressionReader(self.scope.source, lambda n: self._output_leaf(n, wish)).read(node)

    def _output_leaf(self, node: exp.Expr, wish: str) -> Scalar | None:
        if isinstance(node, exp.AggFunc):
            return self.aggregates.read(node, wish)
        if node.find(exp.AggFunc) or not node.find(exp.Column):
            return None
        if isinstance(node, exp.Column):
            known = self._alias(node)
            if known is not None:
                return known
        return self._group_key(node)

    def _alias(self, node: exp.Column) -> Scalar | None:
        """An output column's alias, where no table has a column of that name."""
        if node.table or list(self.scope.candidates(node)):
            return None
        return next((c.expression for c in self.outputs if c.name.lower() == node.name.lower()), None)

    def _group_key(self, node: exp.Expr) -> Scalar | None:
        """The group key that ``node`` is; None when it is a larger expression, whose parts may be."""
        if not isinstance(node, exp.Column) and any(self._alias(c) is not None for c in node.find_all(exp.Column)):
            return None
        scalar = self.columns.read(node)
        if scalar in self.groups:
            key = self.groups[scalar]
            return Var(key, variable_type(self.exists, key))
        if isinstance(node, exp.Column):
            hint = "add it to GROUP BY, or aggregate it"
            self.scope.source.fail(node, f"column {node.sql()!r} is not grouped", "not-grouped", hint)
        return None

    def _order(self) -> tuple[tuple[int, bool], ...]:
        order = self.select.args.get("order")
        return tuple(self._ordered(node) for node in order.expressions) if order else ()

    def _ordered(self, node: exp.Ordered) -> tuple[int, bool]:
        position, descending = self._order_position(node.this), bool(node.args.get("desc"))
        nulls_first = node.args.get("nulls_first")
        if self.outputs[position].expression.type.nullable and bool(nulls_first) == descending:
            hint = "NULLs are the smallest: first ascending, last descending"
            self.scope.source.fail(node, "this place of NULLs in ORDER BY", "null-order", hint)
        return position, descending

    def _order_position(self, node: exp.Expr) -> int:
        if isinstance(node, exp.Literal) and not node.args.get("is_string"):
            if 1 <= int(node.this) <= len(self.outputs):
                return int(node.this) - 1
            hint = f"there are {len(self.outputs)} columns"
            self.scope.source.fail(node, f"no output column {node.this}", "bad-ordinal", hint)
        names = [c.name.lower() for c in self.outputs]
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in names:
            return names.index(node.name.lower())
        wanted, expressions = self._output(node, "order"), [c.expression for c in self.outputs]
        if wanted not in expressions:
            self.scope.source.fail(node, "ORDER BY something not selected", "order-by", "add it to the SELECT list")
        return expressions.index(wanted)

    def _limit(self) -> int | None:
        limit = self.select.args.get("limit")
        if limit is None:
            return None
        count = limit.args.get("expression")
        if not isinstance(count, exp.Literal) or not str(count.this).isdigit():
            self.scope.source.fail(limit, "LIMIT that is not a number", "limit", "LIMIT n")
        return int(count.this)
