"""Random FROM clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.fuzz.predicates import join_condition
from tests.fuzz.schema import BY_NAME, KIND_OF
from tests.fuzz.scope import Col, Context, of_kind

JOINS = ("join.inner", "join.left", "join.right", "join.full", "join.cross", "join.using")
WORDS = {"join.left": "LEFT JOIN", "join.right": "RIGHT JOIN", "join.full": "FULL JOIN", "join.inner": "JOIN"}


@dataclass(frozen=True)
class Source:
    """A table or derived table with its alias, as written, and its columns."""

    sql: str
    columns: tuple[Col, ...]
    base: str = ""


def sources(ctx: Context, level: int) -> tuple[str, list[Col], list[str]]:
    """What comes after FROM, the columns it offers, and the conditions of comma joins, for WHERE."""
    draw, first = ctx.draw, _source(ctx, level)
    if of_kind(first.columns, "int") and draw.maybe("from.series"):
        return *_series(ctx, level, first), []
    if not draw.maybe("from.join"):
        return first.sql, list(first.columns), []
    other = _base(ctx, level, first.base) if first.base and draw.maybe("join.self") else _source(ctx, level)
    if draw.maybe("join.comma"):
        return _commas(ctx, level, first, other)
    sql, columns, merged = _join(ctx, first.sql, first, list(first.columns), other)
    if not merged and draw.maybe("from.third"):
        sql, columns, _ = _join(ctx, sql, None, columns, _source(ctx, level))
    return sql, columns, []


def _series(ctx: Context, level: int, first: Source) -> tuple[str, list[Col]]:
    """A table with the rows of a series or of a list of its own columns."""
    draw, ints = ctx.draw, [c.sql for c in of_kind(first.columns, "int")]
    low, high = draw.one(ints), draw.one([*ints, "2"])
    made = {
        "series.up": f"GENERATE_SERIES({low}, {high})", "series.steps": f"GENERATE_SERIES({high}, {low}, -1)", "series.to_count": f"GENERATE_SERIES(1, {low})",
        "series.list": f"UNNEST([{low}, {high}, NULL, 1])",
    }  # fmt: skip
    name = draw.name("s")
    word = draw.one([", ", " CROSS JOIN "])
    sql = f"{first.sql}{word}{made[draw.pick(*made)]} AS {name}(n)"
    return sql, [*first.columns, Col(f"{name}.n", "int", level)]


def _commas(ctx: Context, level: int, first: Source, *others: Source) -> tuple[str, list[Col], list[str]]:
    """Only commas, since JOIN binds tighter and would not see what stands before one."""
    if ctx.draw.maybe("from.third"):
        others = (*others, _source(ctx, level))
    columns, conditions = list(first.columns), []
    for other in others:
        conditions.append(join_condition(ctx.draw, columns, other.columns))
        columns += other.columns
    return ", ".join(s.sql for s in (first, *others)), columns, conditions


def _join(
    ctx: Context, sql: str, first: Source | None, columns: list[Col], other: Source
) -> tuple[str, list[Col], bool]:
    """One more table; the flag says that its USING has merged columns."""
    draw, right = ctx.draw, list(other.columns)
    form, common = draw.pick(*JOINS), _common(first, other)
    if form == "join.using" and common:
        return _using(ctx, sql, columns, other, draw.one(common))
    if form == "join.cross":
        return f"{sql} CROSS JOIN {other.sql}", columns + right, False
    condition = join_condition(draw, columns, right)
    return f"{sql} {WORDS.get(form, 'JOIN')} {other.sql} ON {condition}", columns + right, False


def _common(first: Source | None, other: Source) -> list[str]:
    """The column names that two base tables share."""
    if first is None or not first.base or not other.base:
        return []
    names = {c.name for c in BY_NAME[first.base].columns}
    return [c.name for c in BY_NAME[other.base].columns if c.name in names and KIND_OF[other.base, c.name] != "bool"]


def _using(ctx: Context, sql: str, columns: list[Col], other: Source, name: str) -> tuple[str, list[Col], bool]:
    word = WORDS[ctx.draw.pick("join.inner", "join.left", "join.right", "join.full")]
    kind = KIND_OF[other.base, name]
    rest = [c for c in [*columns, *other.columns] if not c.sql.endswith(f".{name}")]
    sides = [c for c in [*columns, *other.columns] if c.sql.endswith(f".{name}")]
    merged = [Col(name, kind, columns[0].level)] if ctx.draw.maybe("join.using.merged") else sides
    return f"{sql} {word} {other.sql} USING ({name})", rest + merged, True


def _source(ctx: Context, level: int) -> Source:
    draw = ctx.draw
    if ctx.shared and draw.chance(0.6):
        return _reference(ctx, level)
    if level < 2 and draw.maybe("from.derived"):
        name, derived = draw.name("q"), ctx.query(ctx, (), level + 1, None)
        return Source(f"({derived.sql}) AS {name}", _qualified(name, derived.columns, level))
    return _base(ctx, level, draw.one(list(BY_NAME)))


def _reference(ctx: Context, level: int) -> Source:
    shared, columns = ctx.draw.one(ctx.shared)
    if shared in ctx.used_shared:
        ctx.draw.used.add("with.twice")
    ctx.used_shared.add(shared)
    name = ctx.draw.name("q")
    return Source(f"{shared} AS {name}", _qualified(name, columns, level))


def _base(ctx: Context, level: int, table: str) -> Source:
    ctx.tables.add(table)
    name = ctx.draw.name(table)
    columns = tuple(Col(f"{name}.{c.name}", KIND_OF[table, c.name], level) for c in BY_NAME[table].columns)
    return Source(f"{table} {name}", columns, table)


def _qualified(name: str, columns: Sequence[Col], level: int) -> tuple[Col, ...]:
    return tuple(Col(f"{name}.{c.sql}", c.kind, level) for c in columns)
