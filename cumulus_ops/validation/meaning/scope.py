"""Which column a name means, and of which type it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from m3.datatypes import Type

__all__ = ["Columns", "Scope"]

#: Names and types of a table's columns, in order.
Columns = list[tuple[str, "Type | None"]]


@dataclass
class Scope:
    """The tables of one SELECT, within those of the queries around it.

    ``merged`` are the columns that USING and NATURAL made one, ``queries`` the common table expressions."""

    parent: Scope | None
    tables: dict[str, Columns] = field(default_factory=dict)
    merged: dict[str, tuple[str, Type | None]] = field(default_factory=dict)
    queries: dict[str, tuple[exp.Expr, Columns]] = field(default_factory=dict)

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
