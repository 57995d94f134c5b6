"""Relational algebra between SQL and the ring: a bag of rows as a signed sum of joins.

Grammar::

    Rows   := Rows(columns: Var*, branches: Branch*)
    Branch := Branch(coefficient, sources: Source*, conditions: Scalar*, env: Key -> Scalar)
    Source := Source(scope, relation)

A branch is the join of its sources, filtered by its conditions, each row counted ``coefficient`` times; ``env`` says what
the columns of the bag (and, inside a query, the columns of its tables) are in this branch. A column of a source is a
variable in its scope, of kind ``row``. Other variables that ``env`` does not know are free: they belong to an outer query. Inner joins multiply sums of branches, UNION ALL adds them, and what is missing from an outer join or
excluded by NOT EXISTS is subtracted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from m3.algebra.terms import Polynomial
from m3.datatypes import list_of
from m3.errors import Span
from m3.program import Column, OutputColumn, Relation
from m3.scalars import Const, Key, Scalar, Scope, Var, conjuncts, scopes_of, substitute, vars_of
from m3.simplify import as_filter, simplify

__all__ = [
    "Branch",
    "ListQuery",
    "Rows",
    "Source",
    "ViewQuery",
    "add_condition",
    "add_conditions",
    "bind",
    "is_row",
    "outer",
    "owners",
    "product",
]


@dataclass(frozen=True)
class Source:
    """An occurrence of a base table or a derived map; ``scope`` is unique in the whole program. ``counts``: columns that are numbers of rows,
    at least 1."""

    scope: Scope
    relation: Relation
    counts: frozenset[str] = field(default=frozenset(), compare=False)

    def variable(self, column: Column) -> Var:
        """A column of this occurrence."""
        return Var(column.name, column.type, self.scope)

    def variables(self) -> tuple[Var, ...]:
        """All its columns."""
        return tuple(map(self.variable, self.relation.columns))


@dataclass(frozen=True)
class Branch:
    """One signed join."""

    coefficient: int = 1
    sources: tuple[Source, ...] = ()
    conditions: tuple[Scalar, ...] = ()
    env: Mapping[Key, Scalar] = field(default_factory=dict)

    def value(self, scalar: Scalar) -> Scalar:
        """What an expression over the query's columns is in this branch."""
        return simplify(substitute(scalar, self.env))


@dataclass(frozen=True)
class Rows:
    """A bag of rows: in each branch, ``env`` has a scalar of its type for every column."""

    columns: tuple[Var, ...]
    branches: tuple[Branch, ...]


def is_row(scope: Scope | None) -> bool:
    """Whether a variable of this scope is a column of a source; any other variable is a query's."""
    return scope is not None and scope.kind == "row"


def owners(scalar: Scalar) -> list[Scope]:
    """The scopes of the sources that a scalar over source columns touches, in order of occurrence."""
    if isinstance(scalar, Var):
        return [scalar.scope] if scalar.scope is not None and is_row(scalar.scope) else []
    return list(dict.fromkeys(s for s in scopes_of(scalar) if s is not None and is_row(s)))


def outer(scalars: Iterable[Scalar]) -> dict[Key, Var]:
    """The variables in scalars over source columns that are no source's: those of an outer query."""
    return {key: v for key, v in vars_of(*scalars).items() if not is_row(v.scope)}


def add_condition(branch: Branch, condition: Scalar) -> Branch | None:
    """The branch restricted by a condition over the query's columns; None when it is never true there."""
    wanted = as_filter(substitute(condition, branch.env))
    if isinstance(wanted, Const):
        return branch if wanted.value is True else None
    fresh = tuple(c for c in conjuncts(wanted) if c not in branch.conditions)
    return replace(branch, conditions=(*branch.conditions, *fresh))


def add_conditions(branches: Iterable[Branch], conditions: Iterable[Scalar]) -> list[Branch]:
    """All branches restricted by all conditions."""
    kept: list[Branch] = list(branches)
    for condition in conditions:
        kept = [b for branch in kept if (b := add_condition(branch, condition)) is not None]
    return kept


def bind(branch: Branch, env: Mapping[Key, Scalar]) -> Branch:
    """The branch knowing more columns."""
    return replace(branch, env={**branch.env, **env})


def product(left: Iterable[Branch], right: Iterable[Branch]) -> list[Branch]:
    """The join without a condition. Free variables of ``right`` that ``left`` knows are replaced (a lateral join).

    >>> left, right = [Branch(), Branch(-1)], [Branch(2), Branch(-3)]
    >>> [b.coefficient for b in product(left, right)]
    [2, -3, -2, 3]
    """
    found: list[Branch] = []
    for a, b in itertools.product(left, right):
        env = {name: a.value(scalar) for name, scalar in b.env.items()}
        joined = Branch(a.coefficient * b.coefficient, (*a.sources, *b.sources), a.conditions, {**a.env, **env})
        found += add_conditions([joined], b.conditions)
    return found


# A view in the algebra: what is maintained, and what is left for when it is read.


@dataclass(frozen=True)
class ListQuery:
    """A list of a view (see :class:`m3.program.ViewList`) and what its map holds; its columns are the group's, what the list is
    ordered by, and the value."""

    name: str
    polynomial: Polynomial
    at: tuple[str, ...]
    order: tuple[tuple[bool, bool], ...] = ()
    distinct: bool = False
    empty: bool = False
    limit: int | None = None

    @property
    def variable(self) -> Var:
        """What stands for it in the view's columns."""
        return Var(self.name, list_of(self.polynomial.columns[-1].type.with_null(), nullable=not self.empty))


@dataclass(frozen=True)
class ViewQuery:
    """See :class:`m3.program.View`, of which this is the image before there are maps.

    ``keys`` are the columns of all polynomials; ``values`` names each polynomial that the output expressions use;
    ``exists`` counts the rows of a group, or of a row when ``repeated``; where it is a derived relation, the view's rows
    are read off that relation's map; ``checks`` have no columns and must be 0; each is about a subquery, with its place.
    """

    name: str
    keys: tuple[Column, ...]
    values: tuple[tuple[str, Polynomial], ...]
    exists: Polynomial | Relation
    columns: tuple[OutputColumn, ...]
    having: Scalar | None
    order: tuple[tuple[int, bool], ...]
    limit: int | None
    sql: str
    offset: int = 0
    repeated: bool = False
    hidden: int = 0
    checks: tuple[tuple[Polynomial, Span], ...] = ()
    lists: tuple[ListQuery, ...] = ()
    having_place: Span | None = field(default=None, compare=False)
