"""GROUP BY, and the grouping sets that have a row even where there is nothing."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from sqlglot import exp

from cumulus_ops.validation.meaning.aggregates import is_aggregate
from cumulus_ops.validation.meaning.reader import Reader
from cumulus_ops.validation.meaning.tables import has_aggregates, meant
from cumulus_ops.validation.meaning.terms import as_table, named, quoted, refused
from m3.datatypes import Type

__all__ = ["group_apart", "group_keys", "grouping_sets", "only_total", "set_group", "total_of", "windowed"]


GROUPED = "#grouped"


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


def group_apart(select: exp.Select, made: exp.Select, items: Sequence[exp.Expr], reader: Reader) -> None:
    """Group in a query of its own, and select from that: Spark has no subqueries about a group beside GROUP BY, but about a row.

    ``SELECT g, COUNT(*), (SELECT MAX(x) FROM s WHERE s.g = r.g) FROM r GROUP BY g`` becomes
    ``SELECT #grouped.g, #grouped.#1, (SELECT MAX(x) FROM s WHERE s.g = #grouped.g) FROM (SELECT r.g AS g, COUNT(*) AS #1 FROM r GROUP BY r.g) AS #grouped``.

    Args:
        select: the SELECT as it was written.
        made: the same in Spark's words, complete; changed.
        items: its list.
        reader: has read it.

    Raises:
        InputProblem: it has grouping sets, or an aggregate is not to be found.
    """
    group = made.args.get("group")
    if (
        group is None
        or made.find(exp.Window) is not None
        or not any(
            made_in.find(exp.Query)
            for made_in in (*made.expressions, *(made.args.get(x) for x in ("having", "order")))
            if made_in
        )
    ):
        return
    if any(group.args.get(c) for c in ("rollup", "cube", "grouping_sets")) or group.find(
        exp.Rollup, exp.Cube, exp.GroupingSets
    ):
        raise refused("a subquery beside grouping sets")
    wanted = [*items, *(select.args[x] for x in ("having", "order") if select.args.get(x) is not None)]
    aggregates = [reader.read(a).node for item in wanted for a in _aggregates_in(item, items)]
    parts: dict[exp.Expr, str] = {}
    for part in dict.fromkeys([*group.expressions, *aggregates]):
        own = part.name if isinstance(part, exp.Column) and part.name not in parts.values() else ""
        parts[part] = own or f"#{len(parts)}"
    spellings = {s: name for part, name in parts.items() for s in _spellings(part, reader)}
    inner = exp.Select(
        expressions=[exp.alias_(part.copy(), quoted(name)) for part, name in parts.items()],
        group=group.copy(),
        **{x: made.args[x] for x in ("from_", "joins", "where", "laterals") if made.args.get(x)},
    )
    found: set[exp.Expr] = set()
    changed = {
        x: _replaced(made.args[x], spellings, found) for x in ("having", "order") if made.args.get(x) is not None
    }
    made.set("expressions", [_replaced(e, spellings, found) for e in made.expressions])
    if not found >= set(aggregates):
        raise refused("an aggregate beside a subquery")
    for clause in ("joins", "group", "having", "order", "laterals"):
        made.set(clause, None)
    made.set("from_", exp.From(this=as_table(inner, GROUPED)))
    made.set("where", exp.Where(this=changed["having"].this) if "having" in changed else None)
    made.set("order", changed.get("order"))


def _aggregates_in(node: exp.Expr, items: Sequence[exp.Expr]) -> list[exp.Expr]:
    """The aggregates of an expression, not those of its subqueries; names and places of the list in ORDER BY are what they mean."""
    if isinstance(node, exp.Query):
        return []
    if isinstance(node, exp.Ordered):
        return _aggregates_in(meant(node.this, items), items)
    if is_aggregate(node):
        return [node]
    return [a for child in node.iter_expressions() for a in _aggregates_in(child, items)]


def _plain(node: exp.Expr) -> exp.Expr:
    """A column without what does not matter in its name: quotes and case."""
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return node
    return exp.column(node.name.lower(), table=node.table.lower() or None)


def _spellings(part: exp.Expr, reader: Reader) -> list[exp.Expr]:
    """How a part may be written: a column with its table's name, or without."""
    if not isinstance(part, exp.Column):
        return [part]
    name = part.name.lower()
    owners = [t for t, columns in reader.scope.tables.items() if any(c.lower() == name for c, _ in columns)]
    tables = [part.table] if part.table else owners
    bare = [exp.column(name)] if len(owners) == 1 or not part.table else []
    return [*(exp.column(name, table=t.lower()) for t in tables), *bare]


def _replaced(
    node: exp.Expr, parts: Mapping[exp.Expr, str], found: set[exp.Expr], hidden: frozenset[str] = frozenset()
) -> exp.Expr:
    """An expression over the groups, with columns for what they are grouped by and for aggregates. In subqueries, a column of a table that
    has the same name there (``hidden``) is another one; and one without a table's name is found by its own."""
    inside = isinstance(node, exp.Select)
    if isinstance(node, exp.Column) and (node.table.lower() in hidden or (hidden and not node.table)):
        return node.copy()
    if _plain(node) in parts and (not hidden or isinstance(node, exp.Column)):  # an aggregate of a subquery is its own
        found.add(node)
        return named(parts[_plain(node)], GROUPED)
    if inside:
        tables = (
            [node.args["from_"].this, *(j.this for j in node.args.get("joins") or ())] if node.args.get("from_") else []
        )
        hidden |= {t.alias_or_name.lower() for t in tables} | {""}
    copy = node.copy()
    for child, mine in zip(list(node.iter_expressions()), list(copy.iter_expressions()), strict=True):
        mine.replace(_replaced(child, parts, found, hidden))
    return copy


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
