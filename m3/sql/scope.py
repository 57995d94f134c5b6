"""The FROM clause: which tables a query joins, and what a column name means.

Inside :mod:`m3.sql` a column is the variable ``alias.column``; :meth:`Scope.local` turns it into the bare column name
that the algebra's atoms use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from m3.program import Column, Relation
from m3.scalars import Scalar, Var, rename, variables
from m3.sql.places import Source

__all__ = ["Scope", "Table", "read_scope"]


@dataclass(frozen=True)
class Table:
    """An occurrence of a relation."""

    alias: str
    relation: Relation

    def column(self, name: str) -> Column | None:
        """The column of that name, regardless of case."""
        return next((c for c in self.relation.columns if c.name.lower() == name.lower()), None)


@dataclass
class Scope:
    """The joined tables in order, the join conditions that stood with them, and who owns each column variable."""

    source: Source
    tables: list[Table] = field(default_factory=list)
    conditions: list[exp.Expr] = field(default_factory=list)
    using: list[tuple[exp.Expr, Var, Var]] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    owners: dict[str, tuple[str, str]] = field(default_factory=dict)

    def variable(self, table: Table, column: Column) -> Var:
        """The variable for a column of a table."""
        name = f"{table.alias}.{column.name}"
        self.owners[name] = (table.alias, column.name)
        return Var(name, column.type)

    def resolve(self, node: exp.Column) -> Var:
        """The variable that a column reference means.

        Raises:
            CompileError: no such table or column, or more than one.
        """
        found = list(self.candidates(node))
        if len(found) == 1 or (found and node.name.lower() in self.merged and not node.table):
            return self.variable(*found[0])
        if found:
            tables = " or ".join(t.alias for t, _ in found)
            self.source.fail(
                node, f"column {node.name!r} is ambiguous", "ambiguous-column", f"qualify it with {tables}"
            )
        names = sorted({c.name for t in self.tables for c in t.relation.columns})
        hint = f"known columns: {', '.join(names)}"
        if node.table and node.table.lower() not in {t.alias.lower() for t in self.tables}:
            self.source.fail(node, f"no table {node.table!r} in FROM", "unknown-table", hint)
        self.source.fail(node, f"no column {node.sql()!r}", "unknown-column", hint)

    def candidates(self, node: exp.Column) -> Iterator[tuple[Table, Column]]:
        """The table columns that a reference could mean."""
        for table in self.tables:
            column = table.column(node.name)
            if column is not None and node.table.lower() in ("", table.alias.lower()):
                yield table, column

    def owners_of(self, scalar: Scalar) -> list[str]:
        """The aliases of the tables that a scalar touches, in order of the FROM clause."""
        touched = {self.owners[v][0] for v in variables(scalar)}
        return [t.alias for t in self.tables if t.alias in touched]

    def local(self, scalar: Scalar) -> Scalar:
        """The scalar over bare column names."""
        return rename(scalar, {name: column for name, (_, column) in self.owners.items()})


def read_scope(select: exp.Select, relations: Mapping[str, Relation], source: Source) -> Scope:
    """The scope of a SELECT.

    Args:
        select: the query.
        relations: by name.
        source: its text.

    Raises:
        CompileError: an unknown table, or a join that is not an inner join of base tables.
    """
    scope = Scope(source)
    from_ = select.args.get("from_")
    if from_ is None:
        source.fail(select, "a SELECT without FROM", "no-from", "name the tables to aggregate")
    _add(scope, from_.this, relations)
    for join in _joins(select):
        _check_join(join, source)
        _add(scope, join.this, relations)
        if join.args.get("on") is not None:
            scope.conditions.append(join.args["on"])
        _add_using(scope, join.args.get("using") or ())
    return scope


def _joins(select: exp.Select) -> Iterator[exp.Join]:
    """All joins, those nested in a table (``a, b JOIN c``) included."""
    yield from select.args["from_"].this.args.get("joins") or ()
    for join in select.args.get("joins") or ():
        yield join
        yield from join.this.args.get("joins") or ()


def _check_join(join: exp.Join, source: Source) -> None:
    form = " ".join(str(join.args.get(part) or "") for part in ("method", "side", "kind")).split()
    if any(word not in ("INNER", "CROSS") for word in form):
        hint = "only inner joins: JOIN ... ON, JOIN ... USING, or a comma"
        source.fail(join, f"{' '.join(form)} JOIN is not supported", "unsupported-join", hint)


def _add(scope: Scope, node: exp.Expr, relations: Mapping[str, Relation]) -> None:
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        hint = "name a base table; define the subquery's aggregate as a view of its own"
        scope.source.fail(node, f"{node.key.upper()} in FROM", "subquery", hint)
    matches = [r for name, r in relations.items() if name.lower() == node.name.lower()]
    if not matches:
        hint = f"known relations: {', '.join(sorted(relations)) or 'none'}"
        scope.source.fail(node, f"no relation {node.name!r}", "unknown-relation", hint)
    alias = node.alias or node.name
    if alias.lower() in {t.alias.lower() for t in scope.tables}:
        scope.source.fail(node, f"table name {alias!r} occurs twice", "duplicate-alias", "give each its own alias")
    scope.tables.append(Table(alias, matches[0]))


def _add_using(scope: Scope, names: Sequence[exp.Identifier]) -> None:
    for identifier in names:
        reference = exp.Column(this=identifier.copy())
        found = list(scope.candidates(reference))
        if len(found) < 2 or found[-1][0] is not scope.tables[-1]:
            hint = "the column must exist on both sides of the join"
            scope.source.fail(identifier, f"no common column {identifier.name!r}", "unknown-column", hint)
        scope.merged.add(identifier.name.lower())
        scope.using.append((identifier, scope.variable(*found[0]), scope.variable(*found[-1])))
