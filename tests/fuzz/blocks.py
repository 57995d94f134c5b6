"""Random SELECT blocks: plain, DISTINCT, grouped, total, with grouping sets, with window functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tests.fuzz.aggregates import aggregate_item, having, lists
from tests.fuzz.predicates import COMPARISONS, MAX_LEVEL, predicate, scalar_subquery, subquery_predicate, where
from tests.fuzz.scalars import key, quotient, scalar
from tests.fuzz.scope import APPROXIMATE, Col, Context, Query, exact
from tests.fuzz.sources import sources
from tests.fuzz.windows import windows

Kinds = Sequence[str] | None
Item = Col


def block(ctx: Context, outer: Sequence[Col], level: int, kinds: Kinds = None) -> Query:
    """A SELECT block.

    Args:
        ctx: the query being made.
        outer: columns of the enclosing queries that it may refer to.
        level: its nesting level.
        kinds: the kinds that its columns must have; None for anything.
    """
    ctx.draw.begin_block()
    from_, columns, conditions = sources(ctx, level)
    tail = from_ + where(ctx, columns, outer, level, conditions)
    return _MAKERS[_form(ctx, kinds)](ctx, columns, outer, level, kinds, tail)


def _form(ctx: Context, kinds: Kinds) -> str:
    forms = ["block.plain", "block.grouped", "block.distinct", "block.group_only", "block.total"]
    if kinds is None:
        forms += ["block.window", "block.grouping_sets"]
    return ctx.draw.pick(*forms)


def total(ctx: Context, outer: Sequence[Col], level: int, kind: str) -> Query:
    """A block of one row and one column: an aggregate without GROUP BY."""
    ctx.draw.begin_block()
    from_, columns, conditions = sources(ctx, level)
    tail = from_ + where(ctx, columns, outer, level, conditions)
    if kind == "int" and ctx.draw.maybe("sub.count"):
        return _select([Col("COUNT(*)", "int")], tail)
    return _select([aggregate_item(ctx.draw, columns, kind)], tail)


def _select(items: Sequence[Col], tail: str, word: str = "SELECT") -> Query:
    named = [Col(f"c{i}", item.kind) for i, item in enumerate(items, start=1)]
    text = ", ".join(f"{item.sql} AS {n.sql}" for item, n in zip(items, named, strict=True))
    return Query(f"{word} {text} FROM {tail}", tuple(named))


def _plain_items(ctx: Context, columns: Sequence[Col], kinds: Kinds, *, approximate: bool) -> list[Item]:
    draw = ctx.draw
    if kinds is not None:
        return [Col(scalar(draw, columns, kind), kind) for kind in kinds]
    chosen = draw.random.sample(exact(columns), min(len(exact(columns)), draw.one([1, 2, 2, 3])))
    items = [Col(scalar(draw, [c], c.kind), c.kind) for c in chosen]
    items += [c for c in columns if c.kind == APPROXIMATE and approximate]
    if approximate and draw.maybe("scalar.division"):
        items.append(Col(f"({scalar(draw, columns, 'dec', 0)} / 2)", APPROXIMATE))
    if approximate and draw.maybe("fail.division"):
        items.append(Col(quotient(draw, columns), APPROXIMATE))
    if draw.maybe("scalar.bool_value"):
        items.append(Col(f"({predicate(draw, columns, 1)})", "bool"))
    return items


def _subquery_items(ctx: Context, visible: Sequence[Col], level: int) -> Iterator[Item]:
    """A scalar subquery or an EXISTS as a column."""
    if level >= MAX_LEVEL or not ctx.draw.maybe("sub.select"):
        return
    if ctx.draw.maybe("sub.select_exists"):
        yield Col(f"EXISTS ({ctx.query(ctx, visible, level + 1, None).sql})", "bool")
        return
    kind = ctx.draw.one(["int", "int", "dec", "str", "date"])
    yield Col(scalar_subquery(ctx, visible, level, kind), kind)


def _plain(ctx: Context, columns: list[Col], outer: Sequence[Col], level: int, kinds: Kinds, tail: str) -> Query:
    if kinds is None and ctx.draw.maybe("select.star") and " JOIN " not in tail and tail.startswith("("):
        return _star(columns, tail)
    items = _plain_items(ctx, columns, kinds, approximate=True)
    if kinds is None:
        items += _subquery_items(ctx, [*outer, *columns], level)
    return _select(items, tail)


def _star(columns: Sequence[Col], tail: str) -> Query:
    bare = [Col(c.sql.rpartition(".")[2], c.kind) for c in columns]
    if len({c.sql for c in bare}) < len(bare):
        return _select(columns, tail)
    return Query(f"SELECT * FROM {tail}", tuple(bare))


def _distinct(ctx: Context, columns: list[Col], outer: Sequence[Col], level: int, kinds: Kinds, tail: str) -> Query:
    return _select(_plain_items(ctx, columns, kinds, approximate=False), tail, "SELECT DISTINCT")


def _window(ctx: Context, columns: list[Col], outer: Sequence[Col], level: int, kinds: Kinds, tail: str) -> Query:
    items = _plain_items(ctx, columns, kinds, approximate=False)
    return _select([*items, *windows(ctx.draw, columns)], tail)


def _keys(ctx: Context, columns: Sequence[Col], kinds: Kinds) -> list[Item]:
    if kinds is not None:
        of_kinds = [[c for c in columns if c.kind == kind] for kind in kinds]
        return [ctx.draw.one(found) for found in of_kinds if found]
    found = [key(ctx.draw, columns) for _ in range(ctx.draw.one([1, 1, 2]))]
    return [Col(sql, kind) for sql, kind in dict(found).items()]


def _having(ctx: Context, columns: Sequence[Col], keys: Sequence[Col], outer: Sequence[Col], level: int) -> str:
    draw = ctx.draw
    parts = [having(draw, columns, keys)] if draw.maybe("having") else []
    if level < MAX_LEVEL and draw.maybe("sub.having"):
        plain = [c for c in keys if c in columns]
        if draw.chance(0.5) and plain:
            parts.append(subquery_predicate(ctx, plain, [*outer, *plain], level))
        else:
            kind = draw.one(["int", "dec"])
            left = aggregate_item(draw, columns, kind).sql
            right = scalar_subquery(ctx, [*outer, *plain], level, kind)
            parts.append(f"{left} {draw.one(COMPARISONS)} {right}")
    return f" HAVING {' AND '.join(f'({p})' for p in parts)}" if parts else ""


def _grouped(ctx: Context, columns: list[Col], outer: Sequence[Col], level: int, kinds: Kinds, tail: str) -> Query:
    keys = _keys(ctx, columns, kinds)
    if not keys or (kinds is not None and len(keys) < len(kinds)):
        return _plain(ctx, columns, outer, level, kinds, tail)
    tail += f" GROUP BY {', '.join(k.sql for k in keys)}" + _having(ctx, columns, keys, outer, level)
    if kinds is not None:
        return _select(_aggregated(ctx, columns, keys, kinds), tail)
    items = [*keys, *(aggregate_item(ctx.draw, columns) for _ in range(ctx.draw.one([1, 1, 2])))]
    items += _subquery_items(ctx, [*outer, *(k for k in keys if k in columns)], level)
    items += lists(ctx.draw, columns) if level == 0 else []
    if level == 0 and ctx.draw.maybe("window.grouped"):
        items.append(Col(f"RANK() OVER (ORDER BY COUNT(*) DESC, {keys[0].sql})", "int"))
    return _select(items, tail)


def _aggregated(ctx: Context, columns: Sequence[Col], keys: Sequence[Col], kinds: Sequence[str]) -> list[Item]:
    """Keys or aggregates of the wanted kinds."""
    pairs = zip(keys, kinds, strict=True)
    return [
        k if kind == "bool" or ctx.draw.chance(0.5) else aggregate_item(ctx.draw, columns, kind) for k, kind in pairs
    ]


def _group_only(ctx: Context, columns: list[Col], outer: Sequence[Col], level: int, kinds: Kinds, tail: str) -> Query:
    keys = _keys(ctx, columns, kinds)
    if not keys or (kinds is not None and len(keys) < len(kinds)):
        return _plain(ctx, columns, outer, level, kinds, tail)
    return _select(
        keys, f"{tail} GROUP BY {', '.join(k.sql for k in keys)}" + _having(ctx, columns, keys, outer, level)
    )


def _total(ctx: Context, columns: list[Col], outer: Sequence[Col], level: int, kinds: Kinds, tail: str) -> Query:
    draw = ctx.draw
    if kinds is not None and "bool" in kinds:
        return _plain(ctx, columns, outer, level, kinds, tail)
    wanted: Sequence[str | None] = kinds if kinds is not None else [None] * draw.one([1, 2, 3])
    items = [aggregate_item(draw, columns, kind) for kind in wanted]
    if kinds is None and not exact(items):
        items.append(Col("COUNT(*)", "int"))
    if kinds is None:
        items += _subquery_items(ctx, outer, level)
        items += lists(draw, columns) if level == 0 else []
    return _select(items, tail + _having(ctx, columns, (), outer, level))


def _grouping_sets(
    ctx: Context, columns: list[Col], outer: Sequence[Col], level: int, kinds: Kinds, tail: str
) -> Query:
    draw = ctx.draw
    keys = draw.random.sample(exact(columns), min(len(exact(columns)), draw.one([1, 2, 2])))
    names = [k.sql for k in keys]
    match draw.pick("group.rollup", "group.cube", "group.sets"):
        case "group.rollup":
            grouping = f"ROLLUP ({', '.join(names)})"
        case "group.cube":
            grouping = f"CUBE ({', '.join(names)})"
        case _:
            sets = draw.one(
                [["()", *(f"({n})" for n in names)], [f"({n})" for n in names], [f"({', '.join(names)})", "()"]]
            )
            grouping = f"GROUPING SETS ({', '.join(sets)})"
    items = [*keys, aggregate_item(draw, columns)]
    if draw.maybe("group.grouping_fn"):
        items.append(Col(f"GROUPING({names[0]})", "int"))
    return _select(items, f"{tail} GROUP BY {grouping}" + _having(ctx, columns, (), outer, MAX_LEVEL))


Maker = Callable[[Context, list[Col], Sequence[Col], int, Kinds, str], Query]
_MAKERS: dict[str, Maker] = {
    "block.plain": _plain,
    "block.distinct": _distinct,
    "block.window": _window,
    "block.grouped": _grouped,
    "block.group_only": _group_only,
    "block.total": _total,
    "block.grouping_sets": _grouping_sets,
}
