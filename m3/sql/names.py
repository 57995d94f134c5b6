"""Which names mean what while a query is resolved: the tables in reach of a block, and of the blocks around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from m3.algebra.derive import Registry
from m3.algebra.terms import Polynomial
from m3.errors import FollowUp, Span
from m3.program import Relation
from m3.scalars import Scalar, Var
from m3.sql.block import Origin, Query, Subquery
from m3.sql.mistakes import suggest_name
from m3.sql.places import Source

__all__ = ["MERGED", "Column", "Context", "Known", "Names"]


#: The table of a column that USING merged, where a star stands for it.
MERGED = "#using"


@dataclass
class Context:
    """What all blocks of one view share."""

    source: Source
    relations: Mapping[str, Relation]
    registry: Registry
    view: str
    dialect: str | None = None
    #: What must be 0 when the view is read: rows for which a scalar subquery has several values.
    checks: list[tuple[Polynomial, Span]] = field(default_factory=list)
    #: The views that this one may read.
    views: tuple[str, ...] = ()
    #: Lower-case names of tables and views whose errors somebody else reports.
    broken: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Column:
    """A column that can be named: by which name, and what it is. ``origin``: the column of a base table that it is, as
    (occurrence, table, name); ``untyped``: it is NULL and nothing else."""

    name: str
    variable: Var
    origin: Origin | None = None
    untyped: bool = False


@dataclass(frozen=True)
class Known:
    """A table that can be named."""

    alias: str
    columns: tuple[Column, ...]
    #: An error was reported where the table is read, so it may have columns that are not here; without an alias it may be any table.
    incomplete: bool = False
    #: Lower-case names of its columns that USING merged with another's: by themselves they are the merged ones.
    merged: frozenset[str] = frozenset()

    def unmerged(self, name: str) -> Iterator[Column]:
        """The columns of a lower-case name that were not merged."""
        return (c for c in self.columns if c.name.lower() == name and name not in self.merged)


@dataclass
class Names:
    """The names of one block.

    ``tables`` are those of FROM so far, ``merged`` the columns that USING merged, by their lower-case names (qualified
    names still mean one side's); ``views`` the common table expressions. For what is behind a GROUP BY, ``base`` are the
    names before it, and ``keys`` what the group's columns are there.
    """

    context: Context
    parent: Names | None = None
    tables: list[Known] = field(default_factory=list)
    merged: dict[str, Column] = field(default_factory=dict)
    views: dict[str, Callable[[], Query]] = field(default_factory=dict)
    #: The common table expressions that nobody has read yet.
    unread: dict[str, Callable[[], Query]] = field(default_factory=dict)
    base: Names | None = None
    #: The names beside a derived table, which it does not see without LATERAL.
    beside: Names | None = None
    keys: dict[Scalar, Var] = field(default_factory=dict)
    #: Behind a GROUP BY: reads an aggregate of the group.
    read_aggregate: Callable[[exp.Expr], Scalar | None] | None = None
    #: The block's subqueries, and where one was read before.
    subqueries: list[Subquery] = field(default_factory=list)
    known: dict[exp.Expr, Scalar] = field(default_factory=dict)

    def fail(self, node: exp.Expr, message: str, kind: str, hint: str) -> NoReturn:
        """Raise a CompileError at ``node``."""
        self.context.source.fail(node, message, kind, hint)

    def resolve(self, node: exp.Column) -> Var:
        """The variable that a column reference means, here or in an outer block.

        Raises:
            CompileError: no such table or column, or more than one.
        """
        names: Names | None = self
        while names is not None:
            found = list(names.candidates(node))
            if len(found) > 1:
                tables = " or ".join(alias for alias, _ in found)
                self.fail(node, f"column {node.name!r} is ambiguous: {tables}", "ambiguous-column", "add the table")
            if found:
                return found[0][1].variable
            if names.base is not None and names.base.has(node):
                # a subquery in HAVING or in the list sees what its query is grouped by, and no other column
                key = names.keys.get(names.base.resolve(node))
                if key is None:
                    hint = "add it to GROUP BY, or aggregate it"
                    self.fail(node, f"column {self.context.source.text(node)!r} is not grouped", "not-grouped", hint)
                return key
            names = names.parent
        self._refuse_beside(node)
        self._refuse_unknown(node)

    def candidates(self, node: exp.Column) -> Iterator[tuple[str, Column]]:
        """The columns of this block that a reference could mean, each with its table's alias."""
        wanted, name = node.table.lower(), node.name.lower()
        if wanted in ("", MERGED):
            if name in self.merged:
                yield "USING", self.merged[name]
            if not wanted:
                yield from ((table.alias, column) for table in self.tables for column in table.unmerged(name))
            return
        for table in self.tables:
            for column in table.columns:
                if column.name.lower() == name and wanted == table.alias.lower():
                    yield table.alias, column

    @property
    def incomplete(self) -> bool:
        """Whether there may be columns in reach that are not known, because of an error that was reported."""
        return any(t.incomplete for t in self.tables)

    def has(self, node: exp.Column) -> bool:
        """Whether a reference could mean a column of this block."""
        return any(True for _ in self.candidates(node))

    def is_outer(self, node: exp.Column) -> bool:
        """Whether a reference could mean a column of a block around this one."""
        names = self.parent
        while names is not None and not names.has(node) and not (names.base is not None and names.base.has(node)):
            names = names.parent
        return names is not None

    def aggregate_around(self, node: exp.Expr) -> Scalar | None:
        """What an aggregate in a subquery of HAVING or the list is, if its columns are of the grouped query around it; None if they are not."""
        columns, names = list(node.find_all(exp.Column)), self if self.base is None else self.parent
        while names is not None and columns:
            if names.base is not None and names.read_aggregate is not None and any(map(names.base.has, columns)):
                return names.read_aggregate(node)
            if any(map(names.has, columns)):
                return None
            names = names.parent
        return None

    def column(self, variable: Scalar) -> Column | None:
        """What is known of a variable of this block's tables."""
        every = (*(c for t in self.tables for c in t.columns), *self.merged.values())
        return next((c for c in every if isinstance(variable, Var) and c.variable.key == variable.key), None)

    def _refuse_beside(self, node: exp.Column) -> None:
        """Say what a column of a table beside a derived one lacks."""
        names: Names | None = self
        while names is not None:
            if names.beside is not None and names.beside.has(node):
                what = f"column {self.context.source.text(node)!r} of a table beside the derived one"
                self.fail(node, what, "unknown-column", "write LATERAL before the derived table")
            names = names.parent

    def _refuse_unknown(self, node: exp.Column) -> NoReturn:
        """Say what is not there: the column, where a table of its name is in reach, here or in an outer query."""
        tables: list[Known] = []
        names: Names | None = self
        while names is not None:  # from the inside
            tables += (names.base if names.base is not None else names).tables
            names = names.parent
        meant = [t for t in tables if node.table.lower() in ("", t.alias.lower())]
        if any(t.incomplete for t in meant) or any(t.incomplete and not t.alias for t in tables):
            raise FollowUp
        if node.table and not meant:
            known = list(dict.fromkeys(t.alias for t in tables))
            hint = f"{suggest_name(node.table, known)}tables: {', '.join(known) or 'none'}"
            self.fail(node, f"no table {node.table!r} in FROM", "unknown-table", hint)
        columns = list(dict.fromkeys(c.name for t in meant for c in t.columns))
        suggested = suggest_name(node.name, columns)
        if not suggested and isinstance(node.this, exp.Identifier) and node.this.quoted and not node.table:
            suggested = "a text is written '..', this is a name; "
        hint = f"{suggested}columns: {', '.join(columns) or 'none'}"
        self.fail(node, f"no column {self.context.source.text(node)!r}", "unknown-column", hint)
