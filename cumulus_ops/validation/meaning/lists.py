"""The SELECT list: what its entries are called, and what refers to them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.aggregates import is_aggregate
from cumulus_ops.validation.meaning.pieces import named
from cumulus_ops.validation.meaning.scope import Columns, Scope

__all__ = ["by_position", "expanded", "has_aggregates", "item_names", "meant", "place_of", "tie_breakers", "unaliased"]


def has_aggregates(node: exp.Expr) -> bool:
    """Whether an expression is about groups."""
    if isinstance(node, exp.Query | exp.Window):
        return False
    return is_aggregate(node) or any(has_aggregates(child) for child in node.iter_expressions())


def expanded(select: exp.Select, scope: Scope) -> list[exp.Expr]:
    """The list with stars written out."""
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            found = scope.star(item.table if isinstance(item, exp.Column) else "")
            items += [named(name, table) for table, name, _ in found]
        else:
            items.append(item)
    return items


def item_names(items: Sequence[exp.Expr]) -> list[str]:
    """The names of the list; with numbers where they repeat."""
    names: list[str] = []
    for position, item in enumerate(items, start=1):
        body = item.unalias()
        wish = item.alias or (body.name if isinstance(body, exp.Column) else f"{body.key.lower()}_{position}")
        taken, name = {n.lower() for n in names}, wish
        for n in itertools.count(2):
            if name.lower() not in taken:
                break
            name = f"{wish}_{n}"
        names.append(name)
    return names


def meant(node: exp.Expr, items: Sequence[exp.Expr], scope: Scope | None = None) -> exp.Expr:
    """What an entry of ORDER BY or GROUP BY means: a place in the list, a name of it, or itself. In GROUP BY (with a scope) a
    column of the tables comes before a name of the list."""
    if isinstance(node, exp.Literal) and not node.args.get("is_string") and str(node.this).isdigit():
        return items[int(str(node.this)) - 1].unalias()
    if isinstance(node, exp.Column) and not node.table and not (scope is not None and scope.own(node)):
        named = [
            i for i in items if (i.alias or (i.name if isinstance(i, exp.Column) else "")).lower() == node.name.lower()
        ]
        if named:
            return named[0].unalias()
    return node


def unaliased(node: exp.Expr, items: Sequence[exp.Expr]) -> exp.Expr:
    """An expression with the list's names replaced by what they stand for."""
    named = {i.alias.lower(): i.unalias() for i in items if i.alias}

    def replaced(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Column) and not part.table and part.name.lower() in named:
            return exp.Paren(this=named[part.name.lower()].copy())
        return part

    return node.copy().transform(replaced)


def tie_breakers(items: Sequence[exp.Expr], select: exp.Select) -> list[exp.Expr]:
    """What orders rows that a window's ORDER BY leaves equal: the columns of the list as they come, or in a grouped query its
    keys and aggregates."""
    grouped = select.args.get("group") is not None or any(map(has_aggregates, items))
    keys = (
        {meant(e, items) for e in select.args["group"].expressions} if select.args.get("group") is not None else set()
    )
    found: list[exp.Expr] = []

    def visit(node: exp.Expr) -> None:
        if isinstance(node, exp.Query | exp.Window):
            return
        if isinstance(node, exp.Column) or (grouped and (is_aggregate(node) or node in keys)):
            found.append(node)
            return
        for child in node.iter_expressions():
            visit(child)

    for item in items:
        visit(item.unalias())
    return list(dict.fromkeys(found))


def place_of(node: exp.Expr, columns: Columns) -> int | None:
    """The column, counted from 0, that ORDER BY names or counts; None if it is something else."""
    if isinstance(node, exp.Literal) and str(node.this).isdigit():
        return int(str(node.this)) - 1
    names = [n.lower() for n, _ in columns]
    return names.index(node.name.lower()) if isinstance(node, exp.Column) and node.name.lower() in names else None


def by_position(select: exp.Expr, items: Sequence[exp.Expr], columns: Columns) -> exp.Expr:
    """A SELECT whose ORDER BY names places in its list."""
    copy = select.copy()
    for o in copy.args["order"].expressions if copy.args.get("order") is not None else ():
        bodies = [i.unalias() for i in items]
        wanted = meant(o.this, items)
        if wanted in bodies:
            o.set("this", exp.Literal.number(bodies.index(wanted) + 1))
    return copy
