"""SQL expressions (sqlglot) -> the same in Spark's words, typed: one rule for each form, in the tables of the modules beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from cumulus_ops.validation.meaning.exact import Needed
from cumulus_ops.validation.meaning.scope import Columns, Scope
from cumulus_ops.validation.meaning.terms import Term, refused
from m3.datatypes import Type

__all__ = ["Options", "Reader", "Rule"]

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
