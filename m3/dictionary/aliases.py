"""Names of a SELECT list that are used within the SELECT: which dialects let them mean the list's entries, and where.

A column of the tables comes before a name of the list, and a name of the list before a column of a query around it. So the compiler and the
proof, which know the tables, say what is a column; that a dialect has the form is tested on the text, by databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

__all__ = ["ANYWHERE", "LARGEST", "LATERAL", "OVER_LISTS", "replace_aliases", "write_out_list"]

#: Dialects in which an entry of the list may use the names of those before it.
LATERAL = ("snowflake", "databricks", "spark", "duckdb", "redshift")
#: Dialects in which WHERE and GROUP BY may use the names of the list, within expressions, too.
ANYWHERE = ("snowflake", "duckdb")
#: Dialects in which expressions of QUALIFY may.
OVER_LISTS = ("snowflake", "duckdb", "databricks", "spark", "bigquery", "redshift")
#: The most nodes of an entry that is written out: names of names of names may double it each time.
LARGEST = 20_000


def write_out_list(
    items: Sequence[exp.Expr], dialect: str | None, is_column: Callable[[exp.Column], bool], *, grouped: bool = False
) -> list[exp.Expr]:
    """The list without names of its own.

    Args:
        items: the list, without stars.
        dialect: sqlglot's name of the dialect.
        is_column: whether a name is a column of the SELECT's tables.
        grouped: whether there is a GROUP BY; then its names may be used in every dialect.

    Returns:
        the list in which each entry says by itself what it is; one that would become too large stays as it is.
    """
    if dialect not in LATERAL and not grouped:
        return list(items)
    made: list[exp.Expr] = []
    for item in items:
        made.append(replace_aliases(item, made, is_column))
    return made


def replace_aliases(node: exp.Expr, items: Sequence[exp.Expr], is_column: Callable[[exp.Column], bool]) -> exp.Expr:
    """An expression in which names of the list are what they stand for; the node itself if there are none."""
    named = {i.alias.lower(): i.this for i in reversed(items) if isinstance(i, exp.Alias)}
    if not any(c.name.lower() in named and not is_column(c) for c in _find_names(node)):
        return node
    copy = node.copy()
    size = 0
    for column in list(_find_names(copy)):
        body = named.get(column.name.lower())
        if body is not None and not is_column(column):
            size += sum(1 for _ in body.walk())
            if size > LARGEST:
                return node
            column.replace(exp.Paren(this=body.copy()))
    return copy


def _find_names(node: exp.Expr) -> Iterator[exp.Column]:
    """The names in an expression, without a table, that are not in its subqueries."""
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Column):
        if not node.table and not isinstance(node.this, exp.Star):
            yield node
        return
    for child in node.iter_expressions():
        yield from _find_names(child)
