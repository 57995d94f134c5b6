"""Random conditions, with and without subqueries."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.draw import Draw
from tests.fuzz.scalars import column, constant, operand, scalar
from tests.fuzz.scope import APPROXIMATE, Col, Context, exact, of_kind

COMPARISONS = ("=", "=", "<>", "<", "<=", ">", ">=")
SIMPLE = (
    "pred.compare", "pred.null", "pred.between", "pred.in", "pred.not_in", "pred.in_null", "pred.like", "pred.not_like",
    "pred.and", "pred.or", "pred.not", "pred.bool", "pred.distinct_from", "pred.case", "pred.is_true",
)  # fmt: skip
MAX_LEVEL = 2


def predicate(draw: Draw, columns: Sequence[Col], depth: int = 2) -> str:
    """A condition without subqueries."""
    form = draw.pick(*(f for f in SIMPLE if depth or f not in ("pred.and", "pred.or", "pred.not", "pred.is_true")))
    match form:
        case "pred.and" | "pred.or":
            sides = predicate(draw, columns, depth - 1), predicate(draw, columns, depth - 1)
            return f"({f' {form[5:].upper()} '.join(sides)})"
        case "pred.not":
            return f"NOT ({predicate(draw, columns, depth - 1)})"
        case "pred.is_true":
            truth = draw.one(["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS NULL"])
            return f"(({predicate(draw, columns, 0)}) {truth})"
        case "pred.bool":
            flags = of_kind(columns, "bool")
            return draw.one(flags).sql if flags else _compare(draw, columns)
        case "pred.like" | "pred.not_like" if of_kind(columns, "str"):
            pattern = draw.one(["a%", "%b", "%a%", "_", "a_", "%", ""])
            word = "LIKE" if form == "pred.like" else "NOT LIKE"
            return f"{column(draw, columns, 'str')} {word} '{pattern}'"
    return _atom(draw, columns, form)


def _atom(draw: Draw, columns: Sequence[Col], form: str) -> str:
    kind = draw.one([c.kind for c in exact(columns)] or ["int"])
    value = scalar(draw, columns, kind, 0.15)
    match form:
        case "pred.null":
            return f"{draw.one(list(columns)).sql} IS {draw.one(['', 'NOT '])}NULL"
        case "pred.between" if kind != "bool":
            low, high = operand(draw, columns, kind), operand(draw, columns, kind)
            return f"{value} {draw.one(['', 'NOT '])}BETWEEN {low} AND {high}"
        case "pred.in" | "pred.not_in":
            options = ", ".join({constant(draw, kind): 0 for _ in range(3)})
            return f"{value} {'NOT ' if form == 'pred.not_in' else ''}IN ({options})"
        case "pred.in_null":
            return f"{value} {draw.one(['', 'NOT '])}IN ({constant(draw, kind)}, NULL)"
        case "pred.distinct_from":
            return f"{value} IS {draw.one(['', 'NOT '])}DISTINCT FROM {operand(draw, columns, kind)}"
        case "pred.case":
            return (
                f"CASE WHEN {_compare(draw, columns)} THEN {_compare(draw, columns)} ELSE {_compare(draw, columns)} END"
            )
    return _compare(draw, columns)


def _compare(draw: Draw, columns: Sequence[Col]) -> str:
    chosen = draw.one(list(columns))
    if chosen.kind == APPROXIMATE:
        return f"{chosen.sql} {draw.one(['<', '>'])} {draw.one([0, 1, 2])}"
    ops = ["=", "<>"] if chosen.kind == "bool" else COMPARISONS
    left = scalar(draw, [chosen], chosen.kind, 0.2)
    return f"{left} {draw.one(ops)} {operand(draw, columns, chosen.kind)}"


def join_condition(draw: Draw, left: Sequence[Col], right: Sequence[Col]) -> str:
    """A condition between two sides: mostly an equality of columns, perhaps more on either side."""
    pairs = [(a, b) for a in exact(left) for b in exact(right) if a.kind == b.kind and a.kind != "bool"]
    if not pairs:
        return predicate(draw, [*left, *right], 0)
    a, b = draw.one(pairs)
    op = draw.one(["<", "<=", "<>", ">"]) if draw.maybe("join.theta") else "="
    condition = f"{a.sql} {op} {b.sql}"
    if draw.maybe("join.on_extra"):
        condition += f" AND {predicate(draw, draw.one([left, right, [*left, *right]]), 0)}"
    return condition


def correlation(ctx: Context, outer: Sequence[Col], inner: Sequence[Col]) -> str | None:
    """A condition that ties a subquery to an enclosing one."""
    draw = ctx.draw
    outer = [c for c in exact(outer) if c.qualified]
    deep = [c for c in outer if c.level < max(o.level for o in outer)]
    near = [c for c in outer if c not in deep]
    chosen = deep if deep and draw.maybe("correlated.deep") else near
    pairs = [(o, i) for o in chosen for i in exact(inner) if o.kind == i.kind]
    if not pairs:
        return None
    o, i = draw.one(pairs)
    op = draw.one(["<", ">=", "<>"]) if draw.maybe("correlated.theta") else "="
    return f"{i.sql} {op} {o.sql}"


def subquery_predicate(ctx: Context, columns: Sequence[Col], outer: Sequence[Col], level: int) -> str:
    """A condition with a subquery.

    Args:
        ctx: the query being made.
        columns: what the condition itself may use.
        outer: what the subquery may refer to.
        level: the nesting level of the condition.
    """
    draw = ctx.draw
    form = draw.pick("sub.exists", "sub.not_exists", "sub.in", "sub.not_in", "sub.any", "sub.all", "sub.scalar")
    if form in ("sub.exists", "sub.not_exists"):
        sub = ctx.query(ctx, outer, level + 1, None)
        return f"{'NOT ' if form == 'sub.not_exists' else ''}EXISTS ({sub.sql})"
    found = of_kind(columns, "int", "str", "dec", "date")
    kind = draw.one([c.kind for c in found] or ["int"])
    value = scalar(draw, columns, kind, 0.1)
    if form == "sub.scalar":
        return f"{value} {draw.one(COMPARISONS)} {scalar_subquery(ctx, outer, level, kind)}"
    word = {"sub.in": "IN", "sub.not_in": "NOT IN"}.get(form)
    if word is None:
        word = f"{draw.one(COMPARISONS)} {form[4:].upper()}"
    return f"{value} {word} ({ctx.query(ctx, outer, level + 1, [kind]).sql})"


def scalar_subquery(ctx: Context, outer: Sequence[Col], level: int, kind: str) -> str:
    """A subquery of exactly one row (or at most one, where a key is looked up) and one column of the kind."""
    keys = [c for c in of_kind(outer, "int") if c.qualified]
    if keys and kind in ("int", "dec", "str") and ctx.draw.maybe("sub.key_lookup"):
        ctx.tables.add("v")
        name = ctx.draw.name("v")
        field = {"int": "b", "dec": "x", "str": "s"}[kind]
        return f"(SELECT {name}.{field} FROM v {name} WHERE {name}.k = {ctx.draw.one(keys).sql})"
    return f"({ctx.total(ctx, outer, level + 1, kind).sql})"


def where(ctx: Context, columns: Sequence[Col], outer: Sequence[Col], level: int, first: Sequence[str]) -> str:
    """A WHERE clause, or nothing: the first conditions, conditions on the columns, correlations with ``outer``, subqueries."""
    draw = ctx.draw
    parts = [*first, predicate(draw, columns)] if draw.maybe("where") else [*first]
    for feature in ("correlated", "correlated.twice") if outer else ():
        tie = correlation(ctx, outer, columns) if draw.maybe(feature) else None
        parts += [tie] if tie else []
    if level < MAX_LEVEL and draw.maybe("sub.where"):
        nested = subquery_predicate(ctx, columns, [*outer, *columns], level)
        if draw.maybe("sub.under_or"):
            nested = f"({predicate(draw, columns, 0)} OR {nested})"
        parts.append(nested)
    return f" WHERE {' AND '.join(parts)}" if parts else ""
