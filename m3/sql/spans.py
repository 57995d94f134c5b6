"""Windows of event time as tables: each row of a table with the spans that its time is in.

``TUMBLE(table, time, size)`` has each row once, ``HOP(table, time, slide, size)`` in every span of ``size`` that begins at a
multiple of ``slide``. Spans are counted from 1970 on, ``window_start`` inclusive and ``window_end`` exclusive; a row whose time
is NULL is in none.

    >>> from m3.sql.places import Source
    >>> def show(sql):
    ...     source = Source(sql)
    ...     bucket = "TIME_BUCKET(INTERVAL '1' HOUR, r.t, CAST('1970-01-01 00:00:00' AS TIMESTAMP))"
    ...     return join_spans(source.parse("duckdb"), source).sql("duckdb").replace(bucket, "hour")
    >>> show("SELECT * FROM TUMBLE(r, t, INTERVAL '1' HOUR) AS w")[:81]
    "SELECT * FROM (SELECT r.*, hour AS window_start, hour + INTERVAL '1' HOUR AS wind"
    >>> show("SELECT * FROM TUMBLE(r, t, INTERVAL '1' HOUR) AS w")[81:]
    'ow_end FROM r WHERE NOT r.t IS NULL) AS w'
"""

from __future__ import annotations

from sqlglot import exp

from m3.scalars import Const
from m3.sql.functions import make_reader
from m3.sql.functions_dates import read_interval_seconds
from m3.sql.places import Source

__all__ = ["join_spans"]


FORMS = {
    "tumble": "TUMBLE(table, time, INTERVAL '10' MINUTE)",
    "hop": "HOP(table, time, INTERVAL '5' MINUTE, INTERVAL '10' MINUTE)",
}
ORIGIN = "1970-01-01 00:00:00"
#: The most spans that a row may be in.
MOST = 1_000


def join_spans(tree: exp.Expr, source: Source) -> exp.Expr:
    """A query in which TUMBLE and HOP are derived tables.

    Args:
        tree: the query; it is changed.
        source: its text.

    Raises:
        CompileError: other arguments than these.
    """
    for table in list(tree.find_all(exp.Table)):
        if isinstance(table.this, exp.Anonymous) and str(table.this.this).lower() in FORMS:
            table.replace(_derive_table(table, table.this, source))
    return tree


def _derive_table(table: exp.Table, call: exp.Anonymous, source: Source) -> exp.Expr:
    name, args = str(call.this).lower(), call.expressions
    fitting = len(args) == (3 if name == "tumble" else 4) and isinstance(args[0], exp.Column | exp.Subquery)
    if not fitting or not isinstance(args[1], exp.Column):
        source.fail(call, f"{name.upper()} of something else", "unsupported-table", FORMS[name])
    slide, size = args[2], args[-1]
    every, long = (_count_seconds(call, node, source) for node in (slide, size))
    given = table.args.get("alias")
    rows = args[0]
    alias = rows.name or rows.alias or "rows"
    inner = exp.to_table(rows.name, alias=alias) if isinstance(rows, exp.Column) else rows.copy()
    if isinstance(inner, exp.Table) and inner.name.lower() == alias.lower():
        inner.set("alias", None)
    elif isinstance(inner, exp.Subquery) and not inner.alias:
        inner.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    time = exp.column(args[1].name, alias)
    start: exp.Expr = exp.DateBin(
        this=slide.copy(), expression=time, origin=exp.cast(exp.Literal.string(ORIGIN), "timestamp")
    )
    select = (
        exp.select(exp.column(exp.Star(), alias))
        .from_(inner)
        .where(exp.not_(exp.Is(this=time.copy(), expression=exp.null())))
    )
    if name == "hop":
        start, select = _repeat_hops(call, start, select, slide, (every, long), source)
        if long % every:
            select = select.where(
                exp.LT(this=time.copy(), expression=exp.Add(this=start.copy(), expression=size.copy()))
            )
    end = exp.Add(this=start.copy(), expression=size.copy())
    select = select.select(exp.alias_(start, "window_start"), exp.alias_(end, "window_end"))
    return exp.Subquery(this=select, alias=given or exp.TableAlias(this=exp.to_identifier(alias)))


def _repeat_hops(
    call: exp.Expr, last: exp.Expr, select: exp.Select, slide: exp.Expr, seconds: tuple[int, int], source: Source
) -> tuple[exp.Expr, exp.Select]:
    """A row is in the span that began last, and in as many before it as overlap."""
    every, long = seconds
    count = -(-long // every)
    if count > MOST:
        source.fail(call, f"a row in {count} spans", "values", f"at most {MOST}")
    numbers = [exp.Tuple(expressions=[exp.Literal.number(i)]) for i in range(count)]
    names = exp.TableAlias(this=exp.to_identifier("_hops"), columns=[exp.to_identifier("number")])
    back = exp.Mul(this=exp.column("number", "_hops"), expression=slide.copy())
    start = exp.Sub(this=last, expression=back)
    return start, select.join(exp.Values(expressions=numbers, alias=names), join_type="cross")


def _count_seconds(call: exp.Expr, node: exp.Expr, source: Source) -> int:
    found = read_interval_seconds(make_reader(source, lambda _: None), node)
    if not isinstance(found, Const) or not isinstance(found.value, int) or found.value <= 0:
        source.fail(call, "a span that is no constant interval", "interval", FORMS[str(call.this).lower()])
    return found.value
