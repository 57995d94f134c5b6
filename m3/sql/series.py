"""Rows from constants: GENERATE_SERIES, RANGE, SEQUENCE, and UNNEST or EXPLODE of an array that is written out.

    >>> from m3.sql.places import Source
    >>> def show(sql, dialect="postgres"):
    ...     source = Source(sql)
    ...     return write_out_series(source.parse(dialect), source).sql(dialect)
    >>> show("SELECT n FROM GENERATE_SERIES(1, 5, 2) AS g(n)")
    'SELECT n FROM (VALUES (1), (3), (5)) AS g(n)'
    >>> show("SELECT a, GENERATE_SERIES(2, 1, -1) AS n FROM r")
    'SELECT a, _series.n AS n FROM r CROSS JOIN (VALUES (2), (1)) AS _series(n)'
    >>> show("SELECT a, x FROM r LATERAL VIEW EXPLODE(ARRAY(a, b)) u AS x", "spark")
    'SELECT a, x FROM r CROSS JOIN LATERAL (SELECT a AS x UNION ALL SELECT b AS x) AS u(x)'

There is no type of arrays: these are the forms in which one is gone before anything is read.

Windows of event time as tables: each row of a table with the spans that its time is in.

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

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot import exp

from m3.datatypes import TIMESTAMP
from m3.evaluate import evaluate
from m3.scalars import Const, Scalar, call, const
from m3.sql.expressions import ExpressionReader
from m3.sql.functions import make_reader
from m3.sql.functions_dates import read_interval, read_interval_seconds
from m3.sql.places import Source

__all__ = ["LONGEST", "join_spans", "write_out_series"]


#: The most rows of a series.
LONGEST = 2_000
SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries)
NAMES = {"generate_series": False, "range": True, "sequence": False}
HINT = f"constants, at most {LONGEST} rows; else join a table of numbers"


def write_out_series(tree: exp.Expr, source: Source) -> exp.Expr:
    """A query in which series and arrays are rows.

    Args:
        tree: the query; it is changed.
        source: its text.

    Raises:
        CompileError: a series that is not constant or too long, or two in one list.
    """
    for select in list(tree.find_all(exp.Select)):
        _replace_in_list(select, source)
        for lateral in list(select.args.get("laterals") or []):
            _replace_lateral_view(select, lateral, source)
    for node in list(tree.find_all(exp.Table, exp.Unnest)):
        _replace_in_from(node, source)
    return tree


def _read_elements(node: exp.Expr | None, source: Source) -> list[exp.Expr] | None:
    """The elements of a series or an array; None for everything else."""
    if isinstance(node, exp.Array):
        return [e.copy() for e in node.expressions]
    if isinstance(node, exp.Anonymous) and str(node.this).lower() in NAMES:
        args = list(node.expressions)
        if len(args) == 1:
            args = [exp.Literal.number(0), *args]
        return _read_series(node, args, NAMES[str(node.this).lower()], source)
    if isinstance(node, SERIES):
        args = [a for a in (node.args.get("start"), node.args.get("end"), node.args.get("step")) if a is not None]
        return _read_series(node, args, bool(node.args.get("is_end_exclusive")), source)
    return None


def _read_series(node: exp.Expr, args: Sequence[exp.Expr], exclusive: bool, source: Source) -> list[exp.Expr]:

    def refuse_column(inner: exp.Expr) -> None:
        if isinstance(inner, exp.Column):
            source.fail(inner, "a series that is not constant", "values", HINT)

    reader = make_reader(source, refuse_column)
    if len(args) not in (2, 3):
        source.fail(node, "a series of other than two or three arguments", "wrong-arity", "start, end, step")
    start, end = reader.read(args[0]), reader.read(args[1])
    if start.type.kind == "date" and source.dialect in ("postgres", "duckdb"):
        start = call("cast", start, to=TIMESTAMP)
    found: list[exp.Expr] = []
    for value in _generate_values(node, start, end, args[2] if len(args) > 2 else None, exclusive, reader):
        if len(found) == LONGEST:
            source.fail(node, f"a series of more than {LONGEST} rows", "values", HINT)
        found.append(_write_literal(value))
    return found


def _generate_values(
    node: exp.Expr, start: Scalar, end: Scalar, step: exp.Expr | None, exclusive: bool, reader: ExpressionReader
) -> Iterator[Any]:
    """The values of a series. Spark adds so many steps to the start, the others one step after the other: months differ."""
    with reader.source.guard(node):
        first, last = (evaluate(s, {}) for s in (start, end))
        if isinstance(last, datetime.date) and isinstance(first, datetime.datetime):
            last = evaluate(call("cast", end, to=TIMESTAMP), {})
        direction, number = _find_direction(node, step, start, reader), 0
        value: Any = first
        together = reader.dialect in ("spark", "databricks")
        while value is not None and last is not None:
            beyond = value > last if direction > 0 else value < last
            if beyond or (exclusive and value == last):
                return
            yield value
            number += 1
            before = start if together else const(value)
            value = evaluate(_step(node, before, step, number if together else 1, reader), {})


def _find_direction(node: exp.Expr, step: exp.Expr | None, start: Scalar, reader: ExpressionReader) -> int:
    before, after = evaluate(start, {}), evaluate(_step(node, start, step, 1, reader), {})
    if before == after:
        reader.source.fail(node, "a series whose step is 0", "values", "a positive or negative step")
    return 1 if before is None or after > before else -1  # type: ignore[operator]


def _step(node: exp.Expr, start: Scalar, step: exp.Expr | None, number: int, reader: ExpressionReader) -> Scalar:
    if start.type.is_numeric:
        size = const(1) if step is None else reader.read(step)
        return call("add", start, call("mul", size, const(number)))
    steps = read_interval(reader, step) if step is not None else {"add_days": const(1)}
    if steps is None:
        reader.source.fail(node, "a series of dates whose step is no interval", "interval", "INTERVAL '1' DAY")
    for op, amount in steps.items():
        start = call(op, start, call("mul", amount, const(number)))
    return start


def _write_literal(value: Any) -> exp.Expr:
    if isinstance(value, datetime.datetime):
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "timestamp")
    if isinstance(value, datetime.date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    return exp.Neg(this=exp.Literal.number(str(-value))) if value < 0 else exp.Literal.number(str(value))


def _write_rows(elements: list[exp.Expr], alias: str, columns: Sequence[str], ordinal: bool = False) -> exp.Expr:
    """A table of some elements, whose second column counts them if it is ``ordinal``."""
    names = exp.TableAlias(this=exp.to_identifier(alias), columns=[exp.to_identifier(c) for c in columns])
    rows = [[e, *([exp.Literal.number(i)] if ordinal else [])] for i, e in enumerate(elements, 1)]
    if not elements:
        nothing = exp.select(*(exp.alias_(exp.null(), c) for c in columns)).where(exp.false())
        return exp.Subquery(this=nothing, alias=names)
    if any(e.find(exp.Column, exp.Query) for e in elements):
        first, *others = [exp.select(*(exp.alias_(v, c) for v, c in zip(r, columns, strict=True))) for r in rows]
        query: exp.Expr = first
        for other in others:
            query = exp.Union(this=query, expression=other, distinct=False)
        return exp.Lateral(this=exp.Subquery(this=query), alias=names)
    return exp.Values(expressions=[exp.Tuple(expressions=r) for r in rows], alias=names)


def _replace_in_from(node: exp.Expr, source: Source) -> None:
    """In FROM. Without names for columns, PostgreSQL calls the column as the table."""
    if isinstance(node, exp.Unnest):
        arrays = node.expressions
        elements, ordinal = (
            (_read_elements(arrays[0], source) if len(arrays) == 1 else None),
            bool(node.args.get("offset")),
        )
        function = "unnest"
    else:
        elements, ordinal = _read_elements(node.this, source), False
        function = "range" if node.this.args.get("is_end_exclusive") else "generate_series"
        if isinstance(node.this, exp.Anonymous):
            function = str(node.this.this).lower()
    if elements is None:
        return
    given = node.args.get("alias")
    columns = [c.name for c in given.args.get("columns") or ()] if given is not None else []
    if ordinal and isinstance(node.args["offset"], exp.Identifier) and len(columns) < 2:
        columns = [*(columns or [function]), node.args["offset"].name]
    alias = given.name if given is not None and given.name else function
    bare = (
        alias if source.dialect not in ("duckdb", "spark", "databricks") else {"range": "range"}.get(function, function)
    )
    names = [*columns, *[bare, "ordinality"][len(columns) :]][: 2 if ordinal else 1]
    node.replace(_write_rows(elements, alias, names, ordinal))


def _replace_in_list(select: exp.Select, source: Source) -> None:
    """In the list, each row is repeated for every element: a join, unless there is more to the SELECT."""
    found = []
    for item in select.expressions:
        inner = item.unalias()
        array = inner.this if isinstance(inner, exp.Explode | exp.Unnest) else inner
        if (
            isinstance(inner, exp.ExplodingGenerateSeries | exp.Explode)
            and (e := _read_elements(array, source)) is not None
        ):
            found.append((item, e))
    if not found:
        return
    item, elements = found[0]
    grouped = select.args.get("group") is not None or any(select.find(exp.AggFunc, exp.Window) for _ in found)
    if len(found) > 1 or grouped:
        what = "two series in one list" if len(found) > 1 else "a series beside aggregates or windows"
        source.fail(item, what, "unsupported-expression", "put the series into FROM")
    name = item.alias or ("col" if source.dialect in ("spark", "databricks") else "generate_series")
    table = _write_rows(elements, "_series", [name])
    item.replace(exp.alias_(exp.column(name, "_series"), name))
    if select.args.get("from_") is None:
        select.set("from_", exp.From(this=table))
    else:
        select.append("joins", exp.Join(this=table, kind="CROSS"))


def _replace_lateral_view(select: exp.Select, lateral: exp.Lateral, source: Source) -> None:
    """Spark's LATERAL VIEW EXPLODE(..) is a join."""
    inner = lateral.this
    elements = _read_elements(inner.this, source) if isinstance(inner, exp.Explode) else None
    if elements is None or lateral.args.get("outer") or isinstance(inner, exp.Posexplode):
        return
    given = lateral.args.get("alias")
    columns = [c.name for c in given.args.get("columns") or ()] if given is not None else []
    table = _write_rows(elements, given.name if given is not None and given.name else "_series", columns or ["col"])
    select.args["laterals"].remove(lateral)
    select.append("joins", exp.Join(this=table, kind="CROSS"))


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
