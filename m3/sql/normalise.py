"""Resolved queries -> the same in the form that the later passes expect; nothing of what a query means changes.

WHERE becomes single conditions without repetitions, those with subqueries last, since fewer rows then ask them; ORDER BY
goes where no LIMIT needs it; and each block knows what may be done early, and what need not be kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import fields, is_dataclass, replace

from sqlglot import exp

from m3.program import Relation
from m3.scalars import Call, Const, Key, Scalar, Var, conjuncts, const, vars_of
from m3.simplify import as_filter
from m3.sql.alternatives import split_alternatives
from m3.sql.balance import balance_full_joins
from m3.sql.block import Block, Combined, Constants, From, Join, Limited, Numbers, Query, Table, placeholders

__all__ = ["find_scalars", "normalise"]


def normalise(query: Query, *, ordered: bool = True) -> Query:
    """The normal form of a query.

    Args:
        query: any resolved query.
        ordered: whether its order matters without a LIMIT, as that of a view does.

    >>> from m3.sql.show import resolve_example, show
    >>> before = resolve_example("SELECT a FROM (SELECT a, x FROM r ORDER BY x) t WHERE a IN (SELECT b FROM s) AND (x > 1 AND 1 = 1)")
    >>> print(show(before))
    FROM (t) AS t
      (t) :=
        FROM r
        SELECT r.a AS a, r.x AS x
        ORDER BY r.x
    WHERE in AND t.x > 1 AND TRUE
    SELECT t.a AS a
      in := t.a eq any of
        FROM s
        SELECT s.b AS b
    >>> print(show(normalise(before)))
    FROM (t) AS t
      (t) :=
        FROM r
        SELECT r.a AS a, r.x AS x
    WHERE t.x > 1 AND in
    SELECT t.a AS a
      in := t.a eq any of
        FROM s
        SELECT s.b AS b
    """
    if isinstance(query, Constants | Numbers):
        return query
    keeps_order = ordered or query.limit is not None or query.offset > 0
    order = query.order if keeps_order else ()
    match query:
        case Combined():
            left, right = (normalise(q, ordered=False) for q in (query.left, query.right))
            return replace(query, left=left, right=right, order=order)
        case Limited():
            return replace(query, query=normalise(query.query, ordered=False), order=order)
        case Block():
            block = replace(query, order=order if query.first_of is None else query.order)
            elsewhere = {key for s in find_scalars(replace(block, conditions=(), subqueries=())) for key in vars_of(s)}
            block = split_alternatives(block, elsewhere)
            found = dict.fromkeys(part for condition in block.conditions for part in conjuncts(as_filter(condition)))
            conditions = tuple(sorted((c for c in found if c != const(True)), key=lambda c: bool(placeholders([c]))))
            made = replace(
                block,
                source=_normalise_source(balance_full_joins(block.source), _find_read(block))
                if block.source is not None
                else None,
                conditions=conditions,
                subqueries=tuple(replace(s, query=normalise(s.query, ordered=False)) for s in block.subqueries),
            )
            return replace(
                made,
                early=() if _brings_back(block.source) else tuple(c for c in conditions if not placeholders([c])),
                reads=Counter(key for scalar in find_scalars(made) for key in vars_of(scalar)),
            )


def _normalise_source(source: From, read: Set[Key]) -> From:
    if isinstance(source, Join):
        return replace(source, left=_normalise_source(source.left, read), right=_normalise_source(source.right, read))
    if isinstance(source.rows, Relation):
        return source
    return replace(source, rows=normalise(_drop_unread(source, source.rows, read), ordered=False))


def _find_read(block: Block) -> Set[Key]:
    return {key for scalar in find_scalars(block) for key in vars_of(scalar)}


def _drop_unread(table: Table, rows: Query, read: Set[Key]) -> Query:
    """A derived table whose columns that nobody reads ask no subqueries: as in databases, these cost nothing and cannot fail."""
    if not isinstance(rows, Block) or rows.distinct or not rows.subqueries:
        return rows
    asked = {s.variable.key for s in rows.subqueries}
    outputs = tuple(
        replace(o, scalar=Const(None, o.scalar.type.with_null()))
        if column.key not in read and asked & vars_of(o.scalar).keys()
        else o
        for column, o in zip(table.columns, rows.outputs, strict=True)
    )
    return replace(rows, outputs=outputs)


def _brings_back(source: From | None) -> bool:
    """Whether an outer join brings rows back that a condition on its left side would have excluded."""
    return isinstance(source, Join) and (
        source.side in ("RIGHT", "FULL") or _brings_back(source.left) or _brings_back(source.right)
    )


def find_scalars(value: object) -> Iterator[Scalar]:
    """All expressions of a query, those of the queries in it included; not the columns that its tables introduce."""
    match value:
        case Const() | Var() | Call():
            yield value
        case Table():
            yield from find_scalars(value.rows) if not isinstance(value.rows, Relation) else ()
        case tuple():
            for item in value:
                yield from find_scalars(item)
        case _ if is_dataclass(value) and not isinstance(value, exp.Expr):
            for field in fields(value):
                if field.name not in ("early", "reads", "origins"):
                    yield from find_scalars(getattr(value, field.name))
