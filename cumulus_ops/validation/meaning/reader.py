"""SQL expressions (sqlglot) -> the same in Spark's words, typed: one rule for each form, in the tables of the modules beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from cumulus_ops.validation.meaning.exact import Needed
from cumulus_ops.validation.meaning.terms import Term, refused
from m3.datatypes import Type

__all__ = ["Columns", "Options", "Reader", "Rule", "Scope"]


# Which column a name means, and of which type it is.


#: Names and types of a table's columns, in order.
Columns = list[tuple[str, "Type | None"]]


@dataclass
class Scope:
    """The tables of one SELECT, within those of the queries around it.

    ``merged`` are the columns that USING and NATURAL made one, ``queries`` the common table expressions, ``carried`` the columns of queries
    around that its first table has to have besides its own: name -> what it is there."""

    parent: Scope | None
    tables: dict[str, Columns] = field(default_factory=dict)
    merged: dict[str, tuple[str, Type | None]] = field(default_factory=dict)
    queries: dict[str, tuple[exp.Expr, Columns]] = field(default_factory=dict)
    carried: dict[str, exp.Expr] = field(default_factory=dict)

    def query(self, name: str) -> tuple[exp.Expr, Columns] | None:
        """A common table expression that is known here, and its columns."""
        scope: Scope | None = self
        while scope is not None:
            if name.lower() in scope.queries:
                return scope.queries[name.lower()]
            scope = scope.parent
        return None

    def own(self, node: exp.Column) -> bool:
        """Whether a reference means a column of this SELECT's tables."""
        return any(True for _ in self._candidates(node))

    def type_of(self, node: exp.Column) -> Type | None:
        """The type of the column that a reference means.

        Raises:
            KeyError: there is none.
        """
        scope: Scope | None = self
        while scope is not None:
            for found in scope._candidates(node):
                return found
            scope = scope.parent
        raise KeyError(node.sql())

    def reached(self, node: exp.Column) -> exp.Expr:
        """A reference as it can be written where Spark sees the columns of the query directly around, and of no other: those between carry it,
        each as a column of its first table.

        Raises:
            KeyError: there is no such column.
        """
        between: list[Scope] = []
        scope: Scope | None = self
        while scope is not None and not scope.own(node):
            if scope.tables:  # others are steps on the way: set operations, derived tables
                between.append(scope)
            scope = scope.parent
        if scope is None:
            raise KeyError(node.sql())
        if len(between) < 2:
            return node.copy()
        owner = next(t for t, columns in scope.tables.items()
                     if node.table.lower() in ("", t.lower()) and any(c.lower() == node.name.lower() for c, _ in columns))  # fmt: skip
        found: exp.Expr = exp.column(
            exp.to_identifier(node.name, quoted=True), table=exp.to_identifier(owner, quoted=True)
        )
        for one in reversed(between[1:]):
            found = one._carry(found)
        return found

    def _carry(self, column: exp.Expr) -> exp.Expr:
        name = next((n for n, known in self.carried.items() if known == column), f"#up_{len(self.carried)}")
        self.carried[name] = column
        first = next(iter(self.tables))
        return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(first, quoted=True))

    def _candidates(self, node: exp.Column) -> Iterator[Type | None]:
        wanted, name = node.table.lower(), node.name.lower()
        if not wanted and name in self.merged:
            yield self.merged[name][1]
            return
        for alias, columns in self.tables.items():
            if wanted in ("", alias.lower()):
                yield from (t for column, t in columns if column.lower() == name)

    def star(self, table: str) -> list[tuple[str, str, Type | None]]:
        """What a star stands for: (table or "", column, type)."""
        found = [] if table else [("", name, t) for name, t in self.merged.values()]
        for alias, columns in self.tables.items():
            if table.lower() in ("", alias.lower()):
                found += [(alias, n, t) for n, t in columns if table or n.lower() not in self.merged]
        return found


Rule = Callable[["Reader", exp.Expr], Term]


class Queries(Protocol):
    """Reads queries within expressions."""

    def __call__(self, node: exp.Expr, parent: Scope | None) -> tuple[exp.Expr, Columns]:
        """The query in Spark's words, and its columns."""


@dataclass
class Options:
    """How a whole view is read.

    Args:
        dialect: sqlglot's name of the view's dialect.
        wide: sums of decimals have no limit on the way to their result (and collect their values for that).
        apart: a SELECT that is grouped, and has subqueries, groups in a query of its own; and columns are handed on to subqueries of subqueries.
        needed: gathers the functions that the query uses beyond Spark's own.
    """

    dialect: str | None
    wide: bool = False
    apart: bool = False
    needed: set[Needed] = field(default_factory=set)


@dataclass
class Reader:
    """Reads the expressions of one SELECT.

    Args:
        options: of the view.
        scope: what names mean.
        query: reads subqueries.
        ties: what decides between rows that a window's ORDER BY does not tell apart.
    """

    options: Options
    scope: Scope
    query: Queries
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    ties: list[exp.Expr] = field(default_factory=list)
    #: Whether the expression decides which rows there are: Spark knows EXISTS and IN only there.
    filtering: bool = False

    def read(self, node: exp.Expr | None) -> Term:
        """An expression in Spark's words.

        Raises:
            InputProblem: a form without a rule.
        """
        from cumulus_ops.validation.meaning.rules import RULES

        if node is None:
            raise refused("an argument that is missing")
        rule = RULES.get(type(node))
        if rule is None:
            raise refused(node.key.upper())
        result = rule(self, node)
        if node.args.get("negate") and not isinstance(node, exp.Column):
            return Term(exp.Not(this=exp.Paren(this=result.node)), result.type)
        return result

    def condition(self, node: exp.Expr) -> exp.Expr:
        """The condition of WHERE, HAVING, ON or QUALIFY."""
        self.filtering = True
        try:
            return self.read(node).node
        finally:
            self.filtering = False

    def exactly(self, function: str, to: Type, *args: exp.Expr) -> exp.Expr:
        """A call of one of :data:`~cumulus_ops.validation.meaning.exact.FUNCTIONS`."""
        needed = Needed(function, to.with_null(False))
        self.options.needed.add(needed)
        return exp.Anonymous(this=needed.name, expressions=[a.copy() for a in args])

    @property
    def dialect(self) -> str | None:
        """sqlglot's name of the view's dialect."""
        return self.options.dialect
