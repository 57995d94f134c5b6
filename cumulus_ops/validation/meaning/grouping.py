"""GROUP BY, and the grouping sets that have a row even where there is nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.aggregates import is_aggregate
from cumulus_ops.validation.meaning.lists import has_aggregates, meant
from cumulus_ops.validation.meaning.reader import Reader
from m3.datatypes import Type

__all__ = ["group_keys", "grouping_sets", "only_total", "set_group", "total_of", "windowed"]


def set_group(select: exp.Select, made: exp.Select, items: Sequence[exp.Expr], reader: Reader) -> None:
    """GROUP BY; places and names of the list are written out."""
    group = select.args.get("group")
    if group is None:
        return
    if group.args.get("all"):
        keys = [reader.read(i.unalias()).node for i in items if not has_aggregates(i)]
        made.set("group", exp.Group(expressions=keys))
        return

    def read(node: exp.Expr) -> exp.Expr:
        match node:
            case exp.Rollup() | exp.Cube() | exp.GroupingSets():
                return type(node)(expressions=[read(n) for n in node.expressions])
            case exp.Tuple():
                return exp.Tuple(expressions=[read(n) for n in node.expressions])
            case exp.Paren():
                return exp.Tuple(expressions=[read(node.this)])
        term = reader.read(meant(node, items, reader.scope))
        return term.node

    made_group = exp.Group(expressions=[n for e in group.expressions for n in flat(read(e))])
    for clause in ("rollup", "cube", "grouping_sets"):
        if group.args.get(clause):
            made_group.set(clause, [read(n) for n in group.args[clause]])
    made.set("group", made_group)


def group_keys(select: exp.Select) -> list[exp.Expr]:
    """The expressions that GROUP BY names, in whatever sets."""
    group = select.args.get("group")
    if group is None:
        return []
    entries = [*group.expressions, *(n for c in ("rollup", "cube", "grouping_sets") for n in group.args.get(c) or ())]
    found: list[exp.Expr] = []
    while entries:
        entry = entries.pop(0)
        if isinstance(entry, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            entries = [*entry.expressions, *entries]
        else:
            found.append(entry.this if isinstance(entry, exp.Paren) else entry)
    return found


def grouping_sets(select: exp.Select) -> list[list[exp.Expr]]:
    """The grouping sets, as far as it matters which of them are empty."""
    group = select.args.get("group")
    if group is None:
        return []

    def of(node: exp.Expr) -> list[list[exp.Expr]]:
        match node:
            case exp.Rollup():
                return [node.expressions[:n] for n in range(len(node.expressions), -1, -1)]
            case exp.Cube():
                return [[n for n, wanted in zip(node.expressions, choice, strict=True) if wanted]
                        for choice in itertools.product((True, False), repeat=len(node.expressions))]  # fmt: skip
            case exp.GroupingSets():
                return [keys for n in node.expressions for keys in of(n)]
            case exp.Tuple():
                return [list(node.expressions)]
        return [[node]]

    parts = [of(n) for n in group.expressions]
    parts += [of(n) for c in ("rollup", "cube", "grouping_sets") for n in group.args.get(c) or ()]
    return [[key for keys in choice for key in keys] for choice in itertools.product(*parts)]


def only_total(select: exp.Select) -> bool:
    """Whether all rows are one group."""
    return not group_keys(select)


def windowed(items: Sequence[exp.Expr], select: exp.Select) -> bool:
    """Whether there are window functions over the groups."""
    return any(i.find(exp.Window) for i in items) or select.args.get("qualify") is not None


def total_of(node: exp.Expr, keys: set[exp.Expr], reader: Reader) -> exp.Expr:
    """An expression over groups as the empty grouping set has it: keys are NULL, GROUPING is all ones."""
    if isinstance(node, exp.Grouping | exp.GroupingId):
        return exp.Literal.number(2 ** len(node.expressions) - 1)
    if node in keys:
        known = reader.read(node).type
        return exp.Null() if known is None else exp.Cast(this=exp.Null(), to=exp.DataType.build(_generic(known)))
    if is_aggregate(node) or isinstance(node, exp.Query):
        return node.copy()
    copy = node.copy()
    for child, mine in zip(list(node.iter_expressions()), list(copy.iter_expressions()), strict=True):
        mine.replace(total_of(child, keys, reader))
    return copy


def _generic(type_: Type) -> str:
    return {"int": "BIGINT", "string": "TEXT", "bool": "BOOLEAN"}.get(type_.kind, str(type_))


def flat(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]
