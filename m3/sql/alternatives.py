"""``EXISTS (.. WHERE p OR q)`` -> ``EXISTS (.. WHERE p) OR EXISTS (.. WHERE q)``, where each is looked up and both are not.

``NOT EXISTS (SELECT * FROM s WHERE s.a = x OR s.b = x)`` would compare each x with every row of s. With one subquery for each
alternative, both are found by their keys. That is the same: WHERE takes NULL for FALSE, so a row is there if and only if one
alternative is true, and EXISTS is never NULL.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from m3.failures import may_fail
from m3.scalars import Call, Key, Scalar, call, conjuncts, substitute, vars_of
from m3.simplify import as_filter
from m3.sql.block import Block, Subquery, columns_of, is_placeholder, placeholders

__all__ = ["split_alternatives"]

#: Of more alternatives, each way in which some of them are true would be a join of its own.
ALTERNATIVES = 3


def split_alternatives(block: Block, elsewhere: Collection[Key]) -> Block:
    """The block with each EXISTS of its WHERE that has an OR of equalities with outer columns in parts.

    >>> from m3.sql.normalise import normalise
    >>> from m3.sql.show import resolve_example, show
    >>> query = "SELECT a FROM r WHERE NOT EXISTS (SELECT * FROM s WHERE b = id OR c = id)"
    >>> print(show(normalise(resolve_example(query))))
    FROM r
    WHERE NOT exists_1 AND NOT exists_2
    SELECT r.a AS a
      exists_1 := exists of
        FROM s
        WHERE s.b = r.id
        SELECT s.b AS b, s.c AS c
      exists_2 := exists of
        FROM s
        WHERE s.c = r.id
        SELECT s.b AS b, s.c AS c

    Args:
        block: the block.
        elsewhere: the variables that something else than its WHERE reads.
    """
    subqueries: list[Subquery] = []
    parts: dict[Key, Scalar] = {}
    for subquery in block.subqueries:
        made = _split_subquery(subquery) if subquery.variable.key not in elsewhere else [subquery]
        subqueries += made
        if len(made) > 1:
            parts[subquery.variable.key] = call("or", *(s.variable for s in made))
    if not parts:
        return block
    conditions = [_deny_each(c) for condition in block.conditions for c in conjuncts(substitute(condition, parts))]
    return replace(block, conditions=tuple(conditions), subqueries=tuple(subqueries))


def _deny_each(condition: Scalar) -> Scalar:
    """``NOT (a OR b)`` as ``NOT a AND NOT b``, which are decided one after the other."""
    if isinstance(condition, Call) and condition.op == "not":
        (inner,) = condition.args
        if isinstance(inner, Call) and inner.op == "or" and all(is_placeholder(k) for k in vars_of(inner)):
            return call("and", *(call("not", a) for a in inner.args))
    return condition


def _split_subquery(subquery: Subquery) -> list[Subquery]:
    """One subquery for each alternative of its WHERE; itself where that helps nothing."""
    query = subquery.query
    if subquery.kind != "exists" or not isinstance(query, Block) or not _is_plain(query):
        return [subquery]
    inside = {v.key for v in columns_of(query.source)}
    conditions = [part for condition in query.conditions for part in conjuncts(as_filter(condition))]
    waiting = [c for c in conditions if not _is_linked(c, inside)]
    if len(waiting) != 1 or not isinstance(waiting[0], Call) or waiting[0].op != "or":
        return [subquery]
    options = waiting[0].args
    linked = all(_is_linked(part, inside) for option in options for part in conjuncts(option))
    if not linked or len(options) > ALTERNATIVES or any(map(may_fail, conditions)):
        return [subquery]
    variable = subquery.variable
    return [
        replace(
            subquery,
            variable=replace(variable, name=f"{variable.name}_{number}"),
            query=replace(query, conditions=tuple(option if c is waiting[0] else c for c in conditions)),
        )
        for number, option in enumerate(options, start=1)
    ]


def _is_plain(query: Block) -> bool:
    """Whether its rows are those of FROM and WHERE, and nothing in it asks other queries."""
    return (
        query.grouping is None and query.having is None and not query.windows and query.qualify is None
        and query.first_of is None and query.limit is None and not query.offset and not query.subqueries
        and query.source is not None
    )  # fmt: skip


def _is_linked(condition: Scalar, inside: set[Key]) -> bool:
    """Whether a condition is about the subquery's own columns alone, or finds its rows by an outer expression."""
    outside = [key not in inside for key in vars_of(condition)]
    if not any(outside):
        return not placeholders([condition])
    if not (isinstance(condition, Call) and condition.op == "eq"):
        return all(outside)
    sides = [{key in inside for key in vars_of(side)} for side in condition.args]
    return sides in ([{True}, {False}], [{False}, {True}])
