"""Small pieces of queries."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

__all__ = ["as_table", "named", "quoted"]


def quoted(name: str) -> exp.Identifier:
    """A name as it is written."""
    return exp.to_identifier(name, quoted=True)


def named(name: str, table: str = "") -> exp.Column:
    """A column, of a table where one is given."""
    quoted = exp.to_identifier(table, quoted=True) if table else None
    return exp.column(exp.to_identifier(name, quoted=True), table=quoted)


def as_table(query: exp.Expr, alias: str = "q_", names: Sequence[str] = ()) -> exp.Subquery:
    """A query as a table."""
    columns = [exp.to_identifier(n, quoted=True) for n in names]
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=columns))
