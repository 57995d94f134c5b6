"""Views that read other views of the project: a name that is no table is a WITH query in front.

    >>> from m3.sql.places import Source
    >>> views = {"totals": "SELECT k, SUM(x) AS s FROM r GROUP BY k", "v": "SELECT MAX(s) FROM totals"}
    >>> tree, source = with_views("v", views, ["r"], None)
    >>> source.complete
    'WITH totals AS (SELECT k, SUM(x) AS s FROM r GROUP BY k) SELECT MAX(s) FROM totals'

Maps and derived relations that mean the same are kept once, so that the other view costs nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from m3.errors import CompileError
from m3.sql.places import Source

__all__ = ["with_views"]


def with_views(
    name: str, views: Mapping[str, str], tables: Iterable[str], dialect: str | None
) -> tuple[exp.Expression, Source]:
    """The tree of a view with the views that it reads, and its text.

    Args:
        name: the view.
        views: the text of all views by name.
        tables: names of the base tables; they hide views of the same names.
        dialect: sqlglot's name of the SQL dialect.

    Raises:
        SyntaxProblem: one of the texts is not SQL.
        CompileError: a view reads itself, by way of others or at once.
    """
    known = {v.lower(): v for v in views if v.lower() not in {t.lower() for t in tables}}
    needed: dict[str, exp.Expression] = {}
    source = Source(views[name], name)
    tree = source.parse(dialect)
    _collect(name, tree, views, known, (name,), needed, dialect)
    for other, query in reversed(needed.items()):
        _prepend(tree, other, query)
    if needed:
        source.complete = tree.sql(dialect)
    return tree, source


def _collect(
    name: str,
    tree: exp.Expression,
    views: Mapping[str, str],
    known: Mapping[str, str],
    path: tuple[str, ...],
    needed: dict[str, exp.Expression],
    dialect: str | None,
) -> None:
    """The views that a tree reads, those that they read before them."""
    hidden = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        other = known.get(table.name.lower())
        if other is None or table.args.get("db") or table.name.lower() in hidden or other in needed:
            continue
        if other in path:
            hint = "a view reads tables, and views that do not read it"
            span = Source(views[name], name).span(table)
            raise CompileError(
                f"view {other!r} reads itself: {' > '.join([*path, other])}", kind="recursive", span=span, hint=hint
            )
        inner = Source(views[other], other).parse(dialect)
        _collect(other, inner, views, known, (*path, other), needed, dialect)
        needed[other] = inner


def _prepend(tree: exp.Expression, name: str, query: exp.Expression) -> None:
    """One more WITH query, before all others. Its nodes stand in another text: they have no place in this one."""
    for node in query.walk():
        node.meta.clear()
    cte = exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))
    with_ = tree.args.get("with_")
    if with_ is None:
        tree.set("with_", exp.With(expressions=[cte]))
    else:
        with_.set("expressions", [cte, *with_.expressions])
