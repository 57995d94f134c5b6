"""Rows from series and arrays: GENERATE_SERIES, RANGE, SEQUENCE, UNNEST, EXPLODE, FLATTEN, and texts that are split.

There is no type of arrays: a series is the numbers from 1 up to how many elements it has (:class:`m3.sql.block.Numbers`), and each
element is computed from its number. First, every spelling becomes ``UNNEST(series) AS t(element, number)`` in FROM; what is written out,
and short series of constants, become VALUES or UNION ALL.

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
    >>> show("SELECT a, n FROM r, GENERATE_SERIES(a, b) AS g(n)")
    'SELECT a, n FROM r, UNNEST(GENERATE_SERIES(a, b)) AS g(n)'
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from m3.evaluate import evaluate
from m3.scalars import const
from m3.sql.elements import ARRAYS, AT_ONCE, NAMES, SERIES, SERIES_NAMES, TURNING, Bounds, add_steps, read_bounds
from m3.sql.expressions import ExpressionReader
from m3.sql.functions import make_reader
from m3.sql.places import Source

__all__ = ["WRITTEN_OUT", "write_out_series"]


#: Series of constants of up to so many rows are written out as VALUES.
WRITTEN_OUT = 2_000
SPARK = ("spark", "databricks")
#: What a column of a series is: the element, its number counted from 1, or from 0, the number in brackets, or nothing.
ELEMENT, NUMBER, PLACE, PATH, NOTHING = "element", "number", "place", "path", "nothing"
Columns = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Series:
    """A call that gives rows: the array, the columns as (what, name), and whether there is a row where it has none."""

    array: exp.Expr
    columns: Columns
    outer: bool = False
    #: Whether other databases have further columns, which a star would show.
    partly: bool = False


def write_out_series(tree: exp.Expr, source: Source) -> exp.Expr:
    """A query in which series and arrays are ``UNNEST(..) AS t(element, number)``, VALUES, or UNION ALL.

    Args:
        tree: the query; it is changed.
        source: its text.

    Raises:
        CompileError: two series in one list, or one that has no such form.
    """
    for select in list(tree.find_all(exp.Select)):
        _replace_in_list(select, source)
        for lateral in list(select.args.get("laterals") or []):
            _replace_lateral_view(select, lateral, source)
    for node in list(tree.find_all(exp.Table, exp.Unnest, exp.Lateral, exp.TableFromRows)):
        _replace_in_from(node, source)
    return tree


# What a call is.


def _read_call(node: exp.Expr, source: Source) -> _Series | None:
    """The series that a call gives, in FROM or in the list; None for everything else."""
    spark, name = source.dialect in SPARK, _name_call(node)
    if isinstance(node, exp.Unnest):
        return _read_unnest(node, source)
    if isinstance(node, exp.Posexplode):
        found = _read_array(node.this)
        outer = isinstance(node, exp.PosexplodeOuter)
        return None if found is None else _Series(found, ((PLACE, "pos"), (ELEMENT, "col")), outer)
    if isinstance(node, exp.Explode):
        inner = node.this
        if isinstance(inner, exp.Kwarg):
            return _read_flatten(node, inner, source)
        found = _read_array(inner)
        if found is not None and source.dialect == "snowflake":
            return _Series(found, FLATTENED, partly=True)
        element = "col" if spark else "unnest"
        return None if found is None else _Series(found, ((ELEMENT, element),), isinstance(node, exp.ExplodeOuter))
    if isinstance(node, exp.SplitToTable):
        return _Series(node, ((NUMBER, "index"), (ELEMENT, "value")), partly=True)
    if not isinstance(node, ARRAYS) and name not in NAMES:
        return None
    if name == "string_split":
        *given, ordinal = node.expressions if len(node.expressions) == 3 else (*node.expressions, None)
        counted = ordinal is not None and ordinal.name != "0"
        array = exp.Split(this=given[0], expression=given[1]) if len(given) == 2 else node
        return _Series(array, ((ELEMENT, "value"), (NUMBER, "ordinal"))[: 1 + counted])
    element = "value" if source.dialect in ("tsql", "snowflake") else "id" if spark and name == "range" else name
    return _Series(node, ((ELEMENT, element),))


FLATTENED = ((NOTHING, "key"), (PATH, "path"), (PLACE, "index"), (ELEMENT, "value"))


def _read_flatten(node: exp.Expr, given: exp.Expr, source: Source) -> _Series | None:
    """Snowflake's FLATTEN(INPUT => array, OUTER => TRUE); of its columns SEQ and THIS are not there."""
    arguments = {k.this.name.upper(): k.expression for k in (given, *node.expressions) if isinstance(k, exp.Kwarg)}
    found, outer = _read_array(arguments.pop("INPUT", exp.Null())), arguments.pop("OUTER", exp.false())
    if found is None or arguments or not isinstance(outer, exp.Boolean):
        return None
    node.set("expressions", None)
    return _Series(found, FLATTENED, bool(outer.this), partly=True)


def _read_array(node: exp.Expr) -> exp.Expr | None:
    return node if isinstance(node, (exp.Array, *ARRAYS)) or _name_call(node) in NAMES else None


def _name_call(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if isinstance(node, exp.GenerateSeries):
        return "range" if node.args.get("is_end_exclusive") else "generate_series"
    return "generate_series" if isinstance(node, exp.ExplodingGenerateSeries) else "unnest"


# Where it stands: in FROM, in LATERAL VIEW, in the list.


def _replace_in_from(node: exp.Expr, source: Source) -> None:
    if isinstance(node.parent, exp.Lateral) and isinstance(node, exp.Unnest):
        return  # LATERAL UNNEST(..) is read as a whole
    if isinstance(node, exp.Lateral) and node.args.get("cross_apply") is not None:
        if not node.args["cross_apply"]:
            _keep_rows(node)
        node.set("cross_apply", None)
    found = _read_unnest(node, source) if isinstance(node, exp.Unnest) else _read_call(node.this, source)
    if found is None:
        return
    if found.partly and node.parent_select is not None and any(i.is_star for i in node.parent_select.expressions):
        source.fail(node, "a star over a series with further columns", "unsupported-table", "name its columns")
    given = node.args.get("alias")
    names = [c.name for c in given.args.get("columns") or ()] if given is not None else []
    if found.partly:
        names = []  # those that sqlglot thinks of
    unnest = node if isinstance(node, exp.Unnest) else node.this
    offset = unnest.args.get("offset") if isinstance(unnest, exp.Unnest) else None
    if node.args.get("ordinality") or offset:
        number, counted = offset, (PLACE if source.dialect == "bigquery" else NUMBER)
        name = number.name if isinstance(number, exp.Identifier) else "ordinality" if counted == NUMBER else "offset"
        found = replace(found, columns=(*found.columns, (counted, name)))
    alias = given.name if given is not None and given.name else ""
    if alias and not names and source.dialect not in ("duckdb", *SPARK, "tsql", "snowflake") and len(found.columns) < 3:
        names = [alias]  # PostgreSQL calls the column as the table
    columns = tuple((what, n) for (what, _), n in zip(found.columns, names, strict=False)) + found.columns[len(names) :]
    if len(names) > len(found.columns):
        source.fail(node, f"{len(names)} names for {len(columns)} columns", "wrong-arity", "a name for each column")
    if found.outer or (isinstance(node, exp.Lateral) and node.args.get("outer")):
        _keep_rows(node)
    table = _write_table(replace(found, columns=columns), alias or columns[0][1], source)
    table.set("joins", node.args.get("joins"))
    join = node.parent
    if isinstance(join, exp.Join) and join.side and join.args.get("on") is None:
        join.set("on", exp.true())
    node.replace(table)


def _read_unnest(node: exp.Unnest, source: Source) -> _Series | None:
    found = _read_array(node.expressions[0]) if len(node.expressions) == 1 else None
    return None if found is None else _Series(found, ((ELEMENT, "unnest"),))


def _keep_rows(node: exp.Expr) -> None:
    """Keep rows without an element: LEFT JOIN .. ON TRUE."""
    join = node.parent
    if isinstance(join, exp.Join):
        join.set("kind", None)
        join.set("side", "LEFT")
        join.set("on", join.args.get("on") or exp.true())


def _replace_lateral_view(select: exp.Select, lateral: exp.Lateral, source: Source) -> None:
    """Spark's LATERAL VIEW EXPLODE(..) is a join."""
    found = _read_call(lateral.this, source)
    if found is None:
        return
    given = lateral.args.get("alias")
    names = [c.name for c in given.args.get("columns") or ()] if given is not None else []
    columns = (
        found.columns if not names else tuple((what, n) for (what, _), n in zip(found.columns, names, strict=False))
    )
    if len(columns) != len(found.columns):
        source.fail(
            lateral, f"{len(names)} names for {len(found.columns)} columns", "wrong-arity", "a name for each column"
        )
    alias = given.name if given is not None and given.name else "_series"
    outer = found.outer or bool(lateral.args.get("outer"))
    select.args["laterals"].remove(lateral)
    _join_table(select, _write_table(replace(found, columns=columns), alias, source), outer)


def _join_table(select: exp.Select, table: exp.Expr, outer: bool) -> None:
    if select.args.get("from_") is None:
        select.set("from_", exp.From(this=table))
    elif outer:
        select.append("joins", exp.Join(this=table, side="LEFT", on=exp.true()))
    else:
        select.append("joins", exp.Join(this=table, kind="CROSS"))


def _replace_in_list(select: exp.Select, source: Source) -> None:
    """In the list, each row is repeated for every element: a join. Where rows are grouped, the groups are joined."""
    found = [(item, node, series) for item in select.expressions for node, series in _find_in_item(item, source)]
    if not found:
        return
    (item, node, series), *others = found
    if others:
        source.fail(others[0][0], "two series in one list", "unsupported-expression", "put the series into FROM")
    if select.args.get("group") is not None or select.find(exp.AggFunc, exp.Window, exp.Having):
        series = _group_first(select, item, node, series, source)
    given = item.args.get("expressions") if isinstance(item, exp.Aliases) else None
    names = [i.name for i in given] if given else [item.alias] if item.alias and node is item.unalias() else []
    columns = tuple((what, names[i] if i < len(names) else name) for i, (what, name) in enumerate(series.columns))
    places: list[exp.Expr] = [exp.column(name, "_series") for _, name in columns]
    if node is item or node is item.unalias() or isinstance(item, exp.Aliases):
        listed = [exp.alias_(place, name) for place, (_, name) in zip(places, columns, strict=True)]
        at = next(i for i, other in enumerate(select.expressions) if other is item)
        select.set("expressions", [*select.expressions[:at], *listed, *select.expressions[at + 1 :]])
    else:
        node.replace(places[-1])
    _join_table(select, _write_table(replace(series, columns=columns), "_series", source), series.outer)


def _find_in_item(item: exp.Expr, source: Source) -> Iterator[tuple[exp.Expr, _Series]]:
    """The calls in an entry of the list that give rows there."""
    inner = item.this if isinstance(item, exp.Alias | exp.Aliases) else item
    if isinstance(inner, exp.Query):
        return
    rows = isinstance(inner, exp.ExplodingGenerateSeries | exp.Explode | exp.Posexplode) or (
        _name_call(inner) in ("string_to_table", "regexp_split_to_table")
    )
    series = _read_call(inner, source) if rows else None
    if series is not None:
        yield inner, series
        return
    for child in inner.iter_expressions():
        yield from _find_in_item(child, source)


def _group_first(select: exp.Select, item: exp.Expr, node: exp.Expr, series: _Series, source: Source) -> _Series:
    """Group in a derived table, whose columns are the other entries of the list and what the series is computed from."""
    taken = {i.alias_or_name.lower() for i in select.expressions}
    inner = exp.Select()
    for part in ("from_", "joins", "laterals", "where", "group", "having", "qualify", "windows"):
        if select.args.get(part):
            inner.set(part, select.args[part])
            select.set(part, None)
    if select.args.get("distinct") is not None and not isinstance(item, exp.Alias | exp.Expr):
        source.fail(item, "a series beside DISTINCT ON", "unsupported-expression", "put the series into FROM")
    listed: list[exp.Expr] = []

    def move(value: exp.Expr, wish: str) -> exp.Expr:
        name = wish
        while name.lower() in {x.alias.lower() for x in listed}:
            name += "_"
        listed.append(exp.alias_(value.copy(), name, quoted=True))
        return exp.column(exp.to_identifier(name, quoted=True), "_grouped")

    for other in select.expressions:
        if other is not item:
            name = other.alias_or_name or f"_column_{len(listed) + 1}"
            other.replace(exp.alias_(move(other.unalias(), name), name, quoted=True))
    for argument in list(series.array.iter_expressions()):
        if argument.find(exp.Column, exp.AggFunc):
            wish = f"_argument_{len(listed) + 1}"
            argument.replace(move(argument, wish + "_" * (wish in taken)))
    inner.set("expressions", listed)
    alias = exp.TableAlias(this=exp.to_identifier("_grouped"))
    select.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    return series


# How it is written.


def _write_table(series: _Series, alias: str, source: Source) -> exp.Expr:
    """The series as a table."""
    elements = _list_elements(series.array, source)
    if elements is not None:
        return _write_rows(elements, alias, series.columns)
    kinds, array = [what for what, _ in series.columns], series.array.copy()
    array.meta.update(series.array.meta)
    arguments = _move_subqueries(array)
    if kinds in ([ELEMENT], [ELEMENT, NUMBER]) and arguments is None:
        return exp.Unnest(expressions=[array], alias=_alias(alias, series.columns), offset=len(kinds) > 1)
    element, number = (exp.column(x, "_series") for x in ("element", "number"))
    place = exp.Sub(this=number.copy(), expression=exp.Literal.number(1))
    bracketed = exp.DPipe(this=exp.Literal.string("["), expression=exp.cast(exp.Paren(this=place.copy()), "text"))
    made: Mapping[str, exp.Expr] = {
        ELEMENT: element, NUMBER: number, PLACE: place, NOTHING: exp.cast(exp.null(), "text"),
        PATH: exp.DPipe(this=bracketed, expression=exp.Literal.string("]")),
    }  # fmt: skip
    rows = exp.Unnest(expressions=[array], alias=_alias("_series", ((ELEMENT, ELEMENT), (NUMBER, NUMBER))), offset=True)
    query = exp.Select(expressions=[exp.alias_(made[what].copy(), name) for what, name in series.columns])
    query.set("from_", exp.From(this=arguments or rows))
    if arguments is not None:
        query.set("joins", [exp.Join(this=rows, kind="CROSS")])
    return exp.Lateral(this=exp.Subquery(this=query), alias=_alias(alias, series.columns))


def _move_subqueries(array: exp.Expr) -> exp.Expr | None:
    """A table with a row of the subqueries in a call, where columns of that stand now; None if there are none."""
    listed: list[exp.Expr] = []
    around = array.find_ancestor(exp.Query)
    for query in [q for q in array.find_all(exp.Query) if q.find_ancestor(exp.Query) is around]:
        whole = query.parent if isinstance(query.parent, exp.Paren) else query
        name = f"_argument_{len(listed) + 1}"
        inner = query if isinstance(query, exp.Subquery) else exp.Subquery(this=query.copy())
        whole.replace(exp.column(name, "_arguments"))
        listed.append(exp.alias_(inner, name))
    if not listed:
        return None
    return exp.Lateral(this=exp.Subquery(this=exp.Select(expressions=listed)), alias=_alias("_arguments", ()))


def _alias(alias: str, columns: Columns) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(alias), columns=[exp.to_identifier(name) for _, name in columns])


def _write_rows(elements: list[exp.Expr], alias: str, columns: Columns) -> exp.Expr:
    """A table of elements that are written out."""
    names = _alias(alias, columns)
    rows = [[_write_column(what, e, i) for what, _ in columns] for i, e in enumerate(elements)]
    if not elements:
        nothing = exp.select(*(exp.alias_(exp.null(), c) for _, c in columns)).where(exp.false())
        return exp.Subquery(this=nothing, alias=names)
    if any(e.find(exp.Column, exp.Query) for e in elements):
        made = [exp.select(*(exp.alias_(v, c) for v, (_, c) in zip(r, columns, strict=True))) for r in rows]
        query: exp.Expr = made[0]
        for other in made[1:]:
            query = exp.Union(this=query, expression=other, distinct=False)
        return exp.Lateral(this=exp.Subquery(this=query), alias=names)
    return exp.Values(expressions=[exp.Tuple(expressions=r) for r in rows], alias=names)


def _write_column(what: str, element: exp.Expr, place: int) -> exp.Expr:
    if what == PATH:
        return exp.Literal.string(f"[{place}]")
    if what in (NUMBER, PLACE):
        return exp.Literal.number(place + (what == NUMBER))
    return exp.null() if what == NOTHING else element


# Constants: what is written out.


def _list_elements(array: exp.Expr, source: Source) -> list[exp.Expr] | None:
    """The elements that are written out, or of a short series of constants; None if only the data, or the engine, knows them."""
    if isinstance(array, exp.Array):
        return [e.copy() for e in array.expressions]
    if not isinstance(array, SERIES) and _name_call(array) not in SERIES_NAMES:
        return None
    if array.find(exp.Column, exp.Query, exp.AggFunc):
        return None
    reader = make_reader(source, lambda _: None)
    found: list[exp.Expr] = []
    for value in _generate_values(read_bounds(array, reader), reader):
        if len(found) == WRITTEN_OUT:
            return None
        found.append(_write_literal(value))
    return found


def _generate_values(bounds: Bounds, reader: ExpressionReader) -> Iterator[Any]:
    """The values of a series. Some dialects add so many steps to the start, others one step after the other: months differ."""
    with reader.source.guard(bounds.node):
        first, last = (evaluate(s, {}) for s in (bounds.start, bounds.end))
        if first is None or last is None:
            return
        turned = bounds.turns and first > last  # type: ignore[operator]
        value: Any = first
        after = evaluate(add_steps(bounds, bounds.start, const(-1 if turned else 1), reader), {})
        if value == after:
            reader.source.fail(bounds.node, "a series whose step is 0", "values", "a positive or negative step")
        rises, number = after > value, 0
        if reader.dialect in TURNING and not bounds.turns and value != last and rises != (last > value):
            reader.source.fail(bounds.node, "a series whose step leads away from its end", "values", "the other sign")
        while True:
            beyond = value > last if rises else value < last
            if beyond or (bounds.exclusive and value == last):
                return
            yield value
            number += -1 if turned else 1
            if reader.dialect in AT_ONCE or turned:
                value = evaluate(add_steps(bounds, bounds.start, const(number), reader), {})
            else:
                value = evaluate(add_steps(bounds, const(value), const(1), reader), {})


def _write_literal(value: Any) -> exp.Expr:
    if isinstance(value, datetime.datetime):
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "timestamp")
    if isinstance(value, datetime.date):
        return exp.cast(exp.Literal.string(value.isoformat()), "date")
    return exp.Neg(this=exp.Literal.number(str(-value))) if value < 0 else exp.Literal.number(str(value))
