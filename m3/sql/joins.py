"""WHERE and ON, sorted out: equalities between tables become shared variables, everything else filters one table.

NULL never joins: a nullable expression that is equal to one of another table is also required to be NOT NULL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from m3.algebra import Aggregate, Atom, restrict
from m3.datatypes import Type
from m3.errors import ProgramError
from m3.scalars import Call, Const, Scalar, Var, call, conjuncts
from m3.sql.expressions import ExpressionReader
from m3.sql.scope import Scope

__all__ = ["Body", "read_body"]


@dataclass
class Body:
    """The join and its filters: what all aggregates of one query have in common.

    ``classes`` are disjoint lists of equal expressions (over ``alias.column`` variables), each a variable of the
    algebra; ``names`` are the variables' names, given by :meth:`name`.
    """

    scope: Scope
    conditions: dict[str, list[Scalar]]
    classes: list[list[Scalar]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)

    def equate(self, left: Scalar, right: Scalar) -> None:
        """Merge the classes of two equal expressions."""
        merged = list(dict.fromkeys([*self._class(left), *self._class(right)]))
        self.classes = [c for c in self.classes if not set(c) & set(merged)] + [merged]

    def _class(self, scalar: Scalar) -> list[Scalar]:
        return next((c for c in self.classes if scalar in c), [scalar])

    def add_key(self, scalar: Scalar, wish: str) -> str:
        """Make an expression a group key; returns its variable's name. The joins must be complete."""
        if not any(scalar in c for c in self.classes):
            self.classes.append([scalar])
        position = next(i for i, c in enumerate(self.classes) if scalar in c)
        if position not in self.names:
            self.names[position] = self._fresh(wish)
            self.keys.append(self.names[position])
        return self.names[position]

    def _fresh(self, wish: str) -> str:
        name, n = wish, 1
        while name in self.names.values():
            n += 1
            name = f"{wish}_{n}"
        return name

    def seal(self) -> None:
        """After the last key: name the other variables, and turn what equalities imply within a table into filters."""
        for position, equal in enumerate(self.classes):
            column = next((self.scope.local(s) for s in equal if isinstance(s, Var)), None)
            wish = column.name if isinstance(column, Var) else f"join_{position + 1}"
            self.names.setdefault(position, self._fresh(wish))
            joined = len({self.scope.owners_of(s)[0] for s in equal}) > 1
            for scalar in equal:
                if joined and scalar.type.nullable:
                    self.require(call("not", call("is_null", scalar)))
            for first, other in self._same_table(equal):
                self.require(call("eq", first, other))

    def _same_table(self, equal: list[Scalar]) -> Iterable[tuple[Scalar, Scalar]]:
        first: dict[str, Scalar] = {}
        for scalar in equal:
            known = first.setdefault(self.scope.owners_of(scalar)[0], scalar)
            if known is not scalar:
                yield known, scalar

    def require(self, condition: Scalar) -> None:
        """Add a filter on one table (or on none: then on the first)."""
        owner = (self.scope.owners_of(condition) or [self.scope.tables[0].alias])[0]
        if condition not in self.conditions[owner]:
            self.conditions[owner].append(condition)

    def aggregate(self, factors: Iterable[Scalar] = (), conditions: Iterable[Scalar] = ()) -> Aggregate:
        """The sum of the product of ``factors`` by the keys, over the rows that also meet ``conditions``.

        Args:
            factors: each over at most one table.
            conditions: likewise.
        """
        factors, conditions = list(factors), list(conditions)
        atoms = [
            Atom(
                table.relation.name,
                self._bindings(table.alias),
                self._local(table.alias, [*self.conditions[table.alias], *conditions]),
                self._local(table.alias, factors),
            )
            for table in self.scope.tables
        ]
        return Aggregate(tuple(self.keys), restrict(atoms, self.keys))

    def _local(self, alias: str, scalars: Iterable[Scalar]) -> tuple[Scalar, ...]:
        first = self.scope.tables[0].alias
        mine = [s for s in scalars if (self.scope.owners_of(s) or [first])[0] == alias]
        return tuple(self.scope.local(s) for s in mine)

    def _bindings(self, alias: str) -> tuple[tuple[str, Scalar], ...]:
        found: dict[str, Scalar] = {}
        for position, equal in enumerate(self.classes):
            for scalar in equal:
                if self.scope.owners_of(scalar) == [alias]:
                    found.setdefault(self.names[position], self.scope.local(scalar))
        return tuple(found.items())


def read_body(scope: Scope, where: exp.Expr | None, reader: ExpressionReader) -> Body:
    """The joins and filters of a query.

    Raises:
        CompileError: a condition between tables that is not an equality of single-table expressions.
    """
    body = Body(scope, {t.alias: [] for t in scope.tables})
    for node, left, right in scope.using:
        body.equate(*_unified(scope, node, left, right))
    for condition in [*scope.conditions, *([where] if where is not None else [])]:
        for node in _flat(condition):
            for conjunct in conjuncts(reader.read(node)):
                _place(body, node, conjunct)
    return body


def _flat(node: exp.Expr) -> Iterable[exp.Expr]:
    if isinstance(node, exp.Paren):
        yield from _flat(node.this)
    elif isinstance(node, exp.And):
        yield from _flat(node.this)
        yield from _flat(node.expression)
    else:
        yield node


def _place(body: Body, node: exp.Expr, conjunct: Scalar) -> None:
    scope = body.scope
    if conjunct.type.kind != "bool":
        scope.source.fail(node, f"a condition of type {conjunct.type}", "type-mismatch", "write a comparison")
    if isinstance(conjunct, Const) and conjunct.value is True:
        return
    if len(scope.owners_of(conjunct)) <= 1:
        body.require(conjunct)
        return
    if isinstance(conjunct, Call) and conjunct.op == "eq":
        left, right = conjunct.args
        if len(scope.owners_of(left)) == 1 and len(scope.owners_of(right)) == 1:
            body.equate(*_unified(scope, node, left, right))
            return
    tables = " and ".join(scope.owners_of(conjunct))
    hint = "tables join by equality of an expression of one with an expression of another; other conditions are on one table"
    scope.source.fail(node, f"a condition on {tables} that is not an equi-join", "unsupported-join", hint)


def _unified(scope: Scope, node: exp.Expr, left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """Both sides with one type, by casts, so that equal values are equal keys."""
    if left.type.same_as(right.type):
        return left, right
    try:
        common = _common(left, right)
    except ProgramError as error:
        scope.source.fail(node, error.message, error.kind, error.hint)
    return tuple(s if s.type.same_as(common) else call("cast", s, to=common) for s in (left, right))  # type: ignore[return-value]


def _common(left: Scalar, right: Scalar) -> Type:
    if {left.type.kind, right.type.kind} == {"date", "timestamp"}:
        return Type("timestamp")
    return call("coalesce", left, right).type.with_null(False)
