"""Spans of event time in GROUP BY, as Flink's older SQL has them: TUMBLE and HOP with TUMBLE_START, HOP_END and their like.

    >>> import sqlglot
    >>> def show(sql): return group_by_spans(sqlglot.parse_one(sql)).sql("duckdb")
    >>> made = show("SELECT TUMBLE_END(t, INTERVAL '1' HOUR) AS e, COUNT(*) FROM r GROUP BY TUMBLE(t, INTERVAL '1' HOUR)")
    >>> bucket = "TIME_BUCKET(INTERVAL '1' HOUR, t, CAST('1970-01-01 00:00:00' AS TIMESTAMP))"
    >>> made.replace(bucket, "hour")
    "SELECT hour + INTERVAL '1' HOUR AS e, COUNT(*) FROM r WHERE NOT t IS NULL GROUP BY hour"

A row whose time is NULL is in no span. ``TABLE(TUMBLE(TABLE r, DESCRIPTOR(t), ..))`` is read as ``TUMBLE(r, t, ..)``, which sqlglot can read:

    >>> read_descriptors("SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(t), INTERVAL '1' HOUR)) AS w")
    "SELECT * FROM       TUMBLE(      r,            t , INTERVAL '1' HOUR)  AS w"

Spark's ``window(t, '1 hour')``, with ``window.start`` and ``window.end``, is ``TUMBLE``, and with a slide behind its size ``HOP``. The parser knows no such function:

    >>> read_descriptors("SELECT window.start FROM r GROUP BY window(t, '1 hour')")
    "SELECT window.start FROM r GROUP BY TUMBLE(t, '1 hour')"
    >>> show(_).replace(bucket, "hour")
    'SELECT hour AS start FROM r WHERE NOT t IS NULL GROUP BY hour'
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

__all__ = ["group_by_spans", "read_descriptors"]

ORIGIN = "1970-01-01 00:00:00"
#: The most spans that a row may be in.
MOST = 1_000
SECONDS: Mapping[str, int] = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400}
ARITY: Mapping[str, int] = {"tumble": 2, "hop": 3}
HOPS = "_hops"
#: A span of Spark's, and a call with it.
LENGTH = re.compile(r"[0-9]+ *(?:second|minute|hour|day)s?", re.IGNORECASE)
WINDOW = re.compile(r"(?<![\w.])window\s*\(\s*[\w.`]+\s*,\s*'", re.IGNORECASE)
TABLE = re.compile(
    r"\bTABLE\s*\(\s*(?:TUMBLE|HOP)\s*\(\s*(TABLE)\s+[\w.\"`]+\s*,\s*(DESCRIPTOR\s*\()\s*[\w\"`]+\s*(\))", re.IGNORECASE
)


def group_by_spans(select: exp.Expr) -> exp.Expr | None:
    """A SELECT that groups by TUMBLE or HOP, with the spans written out; None if it does not, or with other arguments.

    Args:
        select: it is changed.
    """
    group = select.args.get("group")
    calls = [e for e in group.expressions if _name(e) in ARITY] if group is not None else []
    if len(calls) != 1 or len(_read_sizes(calls[0])[1]) != ARITY[_read_sizes(calls[0])[0]]:
        return None
    (call,) = calls
    arguments = call.expressions
    name, (time, *sizes) = _read_sizes(call)
    size, slide = sizes[-1], sizes[0]
    long, every = _count_seconds(size), _count_seconds(slide)
    unlike = every > long and isinstance(arguments[-1], exp.Literal)  # which Spark refuses
    if not isinstance(time, exp.Column) or not long or not every or -(-long // every) > MOST or unlike:
        return None
    origin = exp.cast(exp.Literal.string(ORIGIN), "timestamp")
    start: exp.Expr = exp.DateBin(this=slide.copy(), expression=time.copy(), origin=origin)
    tests: list[exp.Expr] = [exp.not_(exp.Is(this=time.copy(), expression=exp.null()))]
    if name == "hop":
        start = exp.Sub(this=start, expression=exp.Mul(this=exp.column("number", HOPS), expression=slide.copy()))
        numbers = [exp.Tuple(expressions=[exp.Literal.number(i)]) for i in range(-(-long // every))]
        alias = exp.TableAlias(this=exp.to_identifier(HOPS), columns=[exp.to_identifier("number")])
        select.append("joins", exp.Join(this=exp.Values(expressions=numbers, alias=alias), kind="CROSS"))
        if long % every:
            tests.append(exp.LT(this=time.copy(), expression=exp.Add(this=start.copy(), expression=size.copy())))
    end = exp.Add(this=start.copy(), expression=size.copy())
    meant = {_name(call): start, f"{name}_start": start, f"{name}_end": end}
    if any(isinstance(e, exp.Literal) for e in arguments):  # window() of Spark
        for column in [
            c for c in select.find_all(exp.Column) if c.table.lower() == "window" and c.name.lower() in ("start", "end")
        ]:
            if column.find_ancestor(exp.Select) is select:
                made = (start if column.name.lower() == "start" else end).copy()
                column.replace(exp.alias_(made, column.name) if column.parent is select else made)
    for node in [n for n in select.find_all(exp.Anonymous) if _name(n) in meant and n.expressions == arguments]:
        if node.find_ancestor(exp.Select) is select:
            node.replace(meant[_name(node)].copy())
    where = select.args.get("where")
    select.set("where", exp.Where(this=exp.and_(*([where.this] if where is not None else []), *tests)))
    return select


def _read_sizes(call: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """What is called, and its arguments: Spark's have their spans as texts, and the slide last."""
    time, *sizes = call.expressions
    if not sizes or not all(isinstance(s, exp.Literal) and s.is_string for s in sizes):
        return _name(call), call.expressions
    spans = [exp.to_interval(s.name) if LENGTH.fullmatch(s.name) else s for s in sizes]
    return ("hop", [time, *reversed(spans)]) if len(spans) == 2 else (_name(call), [time, *spans])


def _name(node: exp.Expr) -> str:
    return str(node.this).lower() if isinstance(node, exp.Anonymous) else ""


def _count_seconds(node: exp.Expr) -> int:
    """The seconds of a constant interval; 0 for everything else."""
    if not isinstance(node, exp.Interval):
        return 0
    amount, unit = node.this, node.args.get("unit")
    size = SECONDS.get(unit.name.upper().removesuffix("S"), 0) if unit is not None else 0
    return int(amount.name) * size if isinstance(amount, exp.Literal) and amount.name.isdigit() else 0


def read_descriptors(sql: str) -> str:
    """A text whose TABLE(TUMBLE(TABLE r, DESCRIPTOR(t), ..)) and window(t, '1 hour') sqlglot can read; all else stays in its place."""
    made = sql
    for found in WINDOW.finditer(sql):
        if sql.count("'", 0, found.start()) % 2 == 0:  # not within a text
            made = made[: found.start()] + "TUMBLE" + made[found.start() + len("TUMBLE") :]
    for found in TABLE.finditer(sql):
        depth, end = 0, -1
        for place in range(found.start(), len(sql)):
            depth += {"(": 1, ")": -1}.get(sql[place], 0)
            if sql[place] == ")" and depth == 0:
                end = place
                break
        if end < 0:
            continue
        opening = sql.index("(", found.start()) + 1
        blank = [(found.start(), opening), found.span(1), found.span(2), found.span(3), (end, end + 1)]
        for first, last in blank:
            made = made[:first] + " " * (last - first) + made[last:]
    return made
