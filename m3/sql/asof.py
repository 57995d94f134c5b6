"""ASOF joins: each row with the one row of another table that is nearest in time.

``t ASOF JOIN s ON t.k = s.k AND t.at >= s.at`` finds for each row of ``t`` the row of ``s`` with the greatest ``at`` that is not later.
Which time that is, is asked once for each ``(k, at)`` of ``t``: by a window function over the times of both tables. The rest are
joins by equality, with ``t`` and with the rows of ``s``, of which the least stands for those of one time::

    SELECT t.a, s.b FROM t ASOF JOIN s ON t.k = s.k AND t.at >= s.at
    =>  SELECT t.a, s.b FROM t
        JOIN (SELECT DISTINCT k0, at, found FROM (
            SELECT k0, at, side, MAX(CASE WHEN side = 1 THEN at END) OVER (PARTITION BY k0 ORDER BY at) AS found FROM (
                SELECT t.k AS k0, t.at AS at, 0 AS side FROM t UNION ALL SELECT s.k, s.at, 1 FROM s)) WHERE side = 0) AS _s
            ON t.k = _s.k0 AND t.at = _s.at
        JOIN (SELECT s.* FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY s.k, s.at) = 1) AS s
            ON s.k = _s.k0 AND s.at = _s.found

What ties the tables together:

    >>> source = Source("SELECT t.a, s.b FROM t ASOF JOIN s ON t.k = s.k AND t.at >= s.at")
    >>> [join.args["on"].sql() for join in replace_asof_joins(source.parse("duckdb"), source).args["joins"]]
    ['t.k = _s.k0 AND t.at = _s.at', 's.k = _s.k0 AND s.at = _s.found']

So a change costs the times of its key, as any window function does, and what is kept is linear in the tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from sqlglot import exp

from m3.sql.places import Source

__all__ = ["replace_asof_joins"]

HINT = "t ASOF [LEFT] JOIN s ON t.key = s.key AND t.time >= s.time, with tables named and one inequality"
#: Condition -> the same with its sides exchanged.
TURNED: dict[type[exp.Expr], type[exp.Expr]] = {exp.GTE: exp.LTE, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.LT: exp.GT}


#: A comparison, its left side and its right side.
_Side = tuple[type[exp.Expr], exp.Expr, exp.Expr]


@dataclass(frozen=True)
class _Match:
    """An ASOF join: its tables, the pairs of keys, and the times with how the left one compares to the right one."""

    left: exp.Expr
    right: exp.Expr
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    times: tuple[exp.Expr, exp.Expr]
    comparison: type[exp.Expr]


def replace_asof_joins(tree: exp.Expr, source: Source) -> exp.Expr:
    """A query in which ASOF joins are windows and joins by equality.

    Args:
        tree: the query; it is changed.
        source: its text.

    Raises:
        CompileError: an ASOF join of another form.
    """
    for select in list(tree.find_all(exp.Select)):
        joins = select.args.get("joins") or []
        if any(j.method == "ASOF" for j in joins):
            _name_stars(select, source)
            tables = [select.args["from_"].this]
            made: list[exp.Expr] = []
            for join in joins:
                made += _expand_join(join, tables, source) if join.method == "ASOF" else [join]
                tables.append(join.this)
            select.set("joins", made)
    return tree


def _refuse(node: exp.Expr, source: Source) -> NoReturn:
    source.fail(node, "this form of ASOF JOIN", "unsupported-join", HINT)


def _name_stars(select: exp.Select, source: Source) -> None:
    """``*`` does not mean the tables in between."""
    tables = [select.args["from_"].this, *(j.this for j in select.args["joins"])]
    items: list[exp.Expr] = []
    for item in select.expressions:
        items += [exp.column(exp.Star(), t.alias_or_name) for t in tables] if isinstance(item, exp.Star) else [item]
    select.set("expressions", items)


def _expand_join(join: exp.Join, tables: list[exp.Expr], source: Source) -> list[exp.Expr]:
    match = _read_match(join, tables, source)
    name = f"_{match.right.alias_or_name}"
    asked = exp.Subquery(this=_select_times(match), alias=exp.TableAlias(this=exp.to_identifier(name)))
    ours = [exp.EQ(this=left.copy(), expression=exp.column(f"k{i}", name)) for i, (left, _) in enumerate(match.keys)]
    ours.append(exp.EQ(this=match.times[0].copy(), expression=exp.column("at", name)))
    theirs = [
        exp.EQ(this=right.copy(), expression=exp.column(f"k{i}", name)) for i, (_, right) in enumerate(match.keys)
    ]
    theirs.append(exp.EQ(this=match.times[1].copy(), expression=exp.column("found", name)))
    rows = exp.Subquery(
        this=_select_single(match), alias=exp.TableAlias(this=exp.to_identifier(match.right.alias_or_name))
    )
    side = {"side": "LEFT"} if join.side == "LEFT" else {}
    return [exp.Join(this=asked, on=exp.and_(*ours), **side), exp.Join(this=rows, on=exp.and_(*theirs), **side)]


def _read_match(join: exp.Join, tables: list[exp.Expr], source: Source) -> _Match:
    right = join.this
    condition = join.args.get("on")
    if condition is None or join.side not in ("", "LEFT") or not isinstance(right, exp.Table | exp.Subquery):
        _refuse(join, source)
    keys: list[_Side] = []
    times: list[_Side] = []
    names: set[str] = set()
    for part in condition.flatten() if isinstance(condition, exp.And) else [condition]:
        part = part.unnest()
        sides = _order_sides(part, right.alias_or_name.lower())
        if sides is None:
            _refuse(part, source)
        kind, ours, theirs = sides
        names |= {c.table.lower() for c in ours.find_all(exp.Column)}
        (keys if kind is exp.EQ else times).append((kind, ours, theirs))
    left = [t for t in tables if t.alias_or_name.lower() in names]
    if len(times) != 1 or len(names) != 1 or len(left) != 1 or not isinstance(left[0], exp.Table | exp.Subquery):
        _refuse(join, source)
    ((comparison, ours, theirs),) = times
    return _Match(left[0], right, tuple((a, b) for _, a, b in keys), (ours, theirs), comparison)


def _order_sides(part: exp.Expr, right: str) -> _Side | None:
    """A comparison with what is of the right table on its right; None if a side is of both, of none, or unnamed."""
    if not isinstance(part, exp.EQ) and type(part) not in TURNED:
        return None
    sides = (part.args["this"], part.args["expression"])
    of_right = [{c.table.lower() == right for c in side.find_all(exp.Column)} for side in sides]
    named = all(c.table for side in sides for c in side.find_all(exp.Column))
    if not named or of_right not in ([{False}, {True}], [{True}, {False}]):
        return None
    if of_right[0] == {False}:
        return type(part), *sides
    return TURNED.get(type(part), exp.EQ), sides[1], sides[0]


def _select_times(match: _Match) -> exp.Select:
    """For each key and time of the left table the time of the right one that it finds."""
    names = [f"k{i}" for i in range(len(match.keys))]
    parts = []
    for side, (table, time) in enumerate(zip((match.left, match.right), match.times, strict=True)):
        listed = [exp.alias_(pair[side].copy(), n) for pair, n in zip(match.keys, names, strict=True)]
        listed += [exp.alias_(time.copy(), "at"), exp.alias_(exp.Literal.number(side), "side")]
        parts.append(exp.select(*listed).from_(table.copy()))
    both = exp.Subquery(this=exp.Union(this=parts[0], expression=parts[1], distinct=False), alias=_name_table("_both"))
    columns = [exp.column(n) for n in (*names, "at", "side")]
    found = exp.select(*columns, exp.alias_(_make_window(match, names), "found")).from_(both)
    times = exp.Subquery(this=found, alias=_name_table("_times"))
    ours = exp.EQ(this=exp.column("side"), expression=exp.Literal.number(0))
    return exp.select(*(exp.column(n) for n in (*names, "at", "found"))).distinct().from_(times).where(ours)


def _name_table(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name))


def _make_window(match: _Match, names: list[str]) -> exp.Window:
    earlier = match.comparison in (exp.GTE, exp.GT)
    theirs = exp.EQ(this=exp.column("side"), expression=exp.Literal.number(1))
    time = exp.Case(ifs=[exp.If(this=theirs, true=exp.column("at"))])
    spec = None
    if match.comparison in (exp.GT, exp.LT):
        bounds = {
            "start": "UNBOUNDED",
            "start_side": "PRECEDING",
            "end": exp.Literal.number(1),
            "end_side": "PRECEDING",
        }
        spec = exp.WindowSpec(kind="GROUPS", **bounds)
    order = exp.Order(expressions=[exp.Ordered(this=exp.column("at"), desc=not earlier, nulls_first=True)])
    return exp.Window(
        this=(exp.Max if earlier else exp.Min)(this=time),
        partition_by=[exp.column(n) for n in names],
        order=order,
        spec=spec,
    )


def _select_single(match: _Match) -> exp.Select:
    """The right table with one row for each key and time."""
    by = [*(right.copy() for _, right in match.keys), match.times[1].copy()]
    number = exp.Window(this=exp.RowNumber(), partition_by=by)
    select = exp.select(exp.column(exp.Star(), match.right.alias_or_name)).from_(match.right.copy())
    select.set("qualify", exp.Qualify(this=exp.EQ(this=number, expression=exp.Literal.number(1))))
    return select
