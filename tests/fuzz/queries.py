"""Random queries: blocks, set operations, WITH, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.fuzz.blocks import block, total
from tests.fuzz.draw import Draw
from tests.fuzz.scope import Col, Context, Query

SETS = ("set.union_all", "set.union", "set.except", "set.intersect", "set.except_all", "set.intersect_all")


@dataclass(frozen=True)
class Made:
    """A query for the fuzzer: ``ordered`` when its rows have one order, ``tables`` are the base tables it reads."""

    seed: int
    sql: str
    features: frozenset[str]
    tables: tuple[str, ...]
    ordered: bool


def make_query(seed: int, without: Sequence[str] = ()) -> Made:
    """The query of a seed."""
    draw = Draw(seed, without)
    ctx = Context(draw, query, block, total)
    prefix = _with(ctx) if draw.maybe("from.with") else ""
    made = query(ctx, (), 0, None)
    sql, ordered = prefix + made.sql, False
    if made.exact and draw.maybe("order"):
        sql, ordered = sql + _order(draw, made.columns), True
        sql += _limit(draw) if draw.maybe("limit") else ""
    return Made(seed, sql, frozenset(draw.used), tuple(sorted(ctx.tables)), ordered)


def query(ctx: Context, outer: Sequence[Col], level: int, kinds: Sequence[str] | None) -> Query:
    """A block or a set operation, perhaps cut off by LIMIT where it is a derived table."""
    draw = ctx.draw
    if not draw.maybe("set"):
        made = block(ctx, outer, level, kinds)
        if level and not outer and made.exact and draw.maybe("limit.derived"):
            return Query(f"{made.sql}{_order(draw, made.columns)} LIMIT {draw.one([1, 2, 3])}", made.columns)
        return made
    chosen = (
        kinds if kinds is not None else [draw.one(["int", "str", "dec", "date"]) for _ in range(draw.one([1, 1, 2]))]
    )
    left = block(ctx, outer, level, chosen)
    sql = f"{_side(left)} {_word(draw)} {_side(block(ctx, outer, level, chosen))}"
    if draw.maybe("set.third"):
        sql = f"({sql}) {_word(draw)} {_side(block(ctx, outer, level, chosen))}"
    return Query(sql, left.columns)


def _side(side: Query) -> str:
    return side.sql


def _word(draw: Draw) -> str:
    return draw.pick(*SETS)[4:].upper().replace("_", " ")


def _with(ctx: Context) -> str:
    parts = []
    for _ in range(2 if ctx.draw.maybe("with.nested") else 1):
        made, name = query(ctx, (), 1, None), ctx.draw.name("w_")
        parts.append(f"{name} AS ({made.sql})")
        ctx.shared.append((name, made.columns))
    return f"WITH {', '.join(parts)} "


def _order(draw: Draw, columns: Sequence[Col]) -> str:
    """ORDER BY all columns, in some order: total up to equal rows."""
    numbers = draw.random.sample(range(len(columns)), len(columns))
    return " ORDER BY " + ", ".join(
        _ordering(draw, columns[n].sql if draw.chance(0.7) else str(n + 1)) for n in numbers
    )


def _ordering(draw: Draw, item: str) -> str:
    direction = " DESC" if draw.maybe("order.desc") else ""
    nulls = draw.one([" NULLS FIRST", " NULLS LAST"]) if draw.maybe("order.nulls") else ""
    return item + direction + nulls


def _limit(draw: Draw) -> str:
    offset = f" OFFSET {draw.one([1, 2])}" if draw.maybe("offset") else ""
    return f" LIMIT {draw.one([1, 2, 3, 5])}{offset}"
