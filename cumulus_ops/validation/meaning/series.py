"""Series, arrays and split texts as rows: Spark's ``inline`` of an array of structs, whose fields are the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from cumulus_ops.validation.meaning.moments import Steps, steps_of
from cumulus_ops.validation.meaning.reader import Columns, Reader, Scope, cast_to
from cumulus_ops.validation.meaning.terms import (
    SPARK,
    Term,
    as_table,
    as_type,
    cast,
    common,
    fn,
    number,
    quote,
    refusal,
    text,
    when,
)
from m3.datatypes import INT, STRING, TIMESTAMP, Type

__all__ = ["is_series", "join_listed_series", "read_series"]

SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.GenerateDateArray, exp.GenerateTimestampArray)
TEXTS = (exp.Split, exp.RegexpSplit, exp.StringToArray, exp.SplitToTable)
NAMES = ("generate_series", "range", "sequence", "string_to_table", "regexp_split_to_table", "string_split")
#: Dialects in which a series without a step goes down where its end is below its start.
TURNING = ("spark", "databricks", "trino", "tsql")
ELEMENT, PLACE = exp.to_identifier("e_"), exp.to_identifier("i_")


@dataclass(frozen=True)
class _Call:
    """The array, and its columns: what each is over the element and its place from 0, its name, and its type if that is not the element's."""

    array: exp.Expr
    columns: tuple[tuple[exp.Expr, str, Type | None], ...]
    outer: bool = False


def is_series(node: exp.Expr) -> bool:
    """Whether an entry of FROM is a series."""
    inner = node if isinstance(node, exp.Unnest) else node.this
    return isinstance(inner, exp.Unnest) or _read_call(inner, None) is not None


def read_series(node: exp.Expr, reader: Reader) -> tuple[exp.Expr, Columns, bool]:
    """An entry of FROM, or LATERAL VIEW, in Spark's words: a table function of the tables before it.

    Returns:
        it, its columns, and whether a row without elements is kept.
    """
    dialect = reader.dialect
    call = _read_call(node if isinstance(node, exp.Unnest) else node.this, dialect)
    if call is None:
        raise refusal(f"{node.key.upper()} in FROM")
    given = node.args.get("alias")
    names = [c.name for c in given.args.get("columns") or ()] if given is not None else []
    alias = given.name if given is not None and given.name else ""
    columns = list(call.columns)
    unnest = node if isinstance(node, exp.Unnest) else node.this
    written = unnest.args.get("offset") if isinstance(unnest, exp.Unnest) else None
    if node.args.get("ordinality") or written:
        first, name = (0, "offset") if dialect == "bigquery" else (1, "ordinality")
        columns.append((_count(first), written.name if isinstance(written, exp.Identifier) else name, INT))
    if len(columns) > 2:
        names = []
    elif alias and not names and dialect not in ("duckdb", *SPARK, "tsql", "snowflake"):
        names = [alias]
    arguments, array_node, reader = _move_subqueries(call.array, reader)
    array, element = _read_array(array_node, reader)
    fields: list[exp.Expr] = []
    found: Columns = []
    for place, (value, name, type_) in enumerate(columns):
        called = names[place] if place < len(names) else name
        fields += [text(called), value.copy() if type_ is None else cast(value, type_)]
        found.append((called, element if type_ is None else type_))
    struct = exp.Lambda(this=fn("named_struct", *fields), expressions=[ELEMENT.copy(), PLACE.copy()])
    rows = exp.Anonymous(this="inline", expressions=[exp.Anonymous(this="transform", expressions=[array, struct])])
    table = exp.TableAlias(this=quote(alias or found[0][0]), columns=[quote(n) for n, _ in found])
    outer = call.outer or bool(node.args.get("outer")) or node.args.get("cross_apply") is False
    made: exp.Expr = exp.Lateral(this=rows, alias=table)
    if arguments is not None:
        joined = exp.Select(
            expressions=[exp.Column(this=exp.Star(), table=table.this.copy())], from_=exp.From(this=arguments)
        )
        joined.set("joins", [exp.Join(this=made, kind="CROSS")])
        made = exp.Subquery(this=joined, alias=exp.TableAlias(this=table.this.copy()))
    return made, found, outer


def _move_subqueries(array: exp.Expr, reader: Reader) -> tuple[exp.Expr | None, exp.Expr, Reader]:
    """A table with one row of the subqueries in an array, for Spark has none within functions of arrays; the array and its reader."""
    queries = [q for q in array.find_all(exp.Subquery) if q.find_ancestor(exp.Query) is array.find_ancestor(exp.Query)]
    if not queries:
        return None, array, reader
    if any(c.find_ancestor(exp.Query) is array.find_ancestor(exp.Query) for c in array.find_all(exp.Column)):
        raise refusal("a series of columns and of subqueries at once")
    copy = array.copy()
    copied = [q for q in copy.find_all(exp.Subquery) if q.find_ancestor(exp.Query) is None]
    terms = [reader.read(q) for q in queries]
    names = [f"#argument_{i}" for i in range(len(terms))]
    for node, name in zip(copied, names, strict=True):
        node.replace(exp.column(exp.to_identifier(name, quoted=True), "#arguments"))
    listed = [exp.alias_(t.node, quote(name)) for t, name in zip(terms, names, strict=True)]
    types: Columns = [(name, t.type) for name, t in zip(names, terms, strict=True)]
    scope = Scope(reader.scope.parent, {"#arguments": types}, queries=reader.scope.queries)
    return as_table(exp.Select(expressions=listed), "#arguments"), copy, replace(reader, scope=scope)


def join_listed_series(select: exp.Select, dialect: str | None) -> exp.Select:
    """A SELECT whose list has a series: it is joined, and the list has its column.

    ``SELECT a, UNNEST(GENERATE_SERIES(1, a)) + 1 FROM r`` is ``SELECT a, #series.unnest + 1 FROM r, UNNEST(GENERATE_SERIES(1, a)) AS #series``.
    """
    listed = [n for item in select.expressions for n in _find_listed(item, dialect)]
    if not listed:
        return select
    if len(listed) > 1 or select.args.get("group") is not None or select.find(exp.AggFunc, exp.Window):
        raise refusal("a series beside aggregates, or beside another one, in the list")
    copy = select.copy()
    (node,) = (n for item in copy.expressions for n in _find_listed(item, dialect))
    call = _read_call(node, dialect)
    assert call is not None
    item = next(i for i in copy.expressions if any(n is node for n in i.walk()))
    names = (
        [i.name for i in item.args["expressions"]] if isinstance(item, exp.Aliases) else [n for _, n, _ in call.columns]
    )
    columns = [exp.column(exp.to_identifier(n, quoted=True), "#series") for n in names]
    joined = exp.Lateral(
        this=node.copy(),
        outer=call.outer,
        alias=exp.TableAlias(this=quote("#series"), columns=[quote(n) for n in names]),
    )
    if len(columns) > 1 or isinstance(item, exp.Aliases) or node is item:
        at = next(i for i, other in enumerate(copy.expressions) if other is item)
        copy.set("expressions", [*copy.expressions[:at], *columns, *copy.expressions[at + 1 :]])
    else:
        node.replace(columns[0])
    if copy.args.get("from_") is None:
        copy.set("from_", exp.From(this=joined))
    else:
        copy.append("joins", exp.Join(this=joined, kind=None if call.outer else "CROSS"))
    return copy


def _find_listed(node: exp.Expr, dialect: str | None) -> list[exp.Expr]:
    if isinstance(node, exp.Query):
        return []
    gives_rows = isinstance(node, exp.ExplodingGenerateSeries | exp.Explode | exp.Posexplode) or (
        isinstance(node, exp.Anonymous) and str(node.this).lower() in ("string_to_table", "regexp_split_to_table")
    )
    if gives_rows and _read_call(node, dialect) is not None:
        return [node]
    return [n for child in node.iter_expressions() for n in _find_listed(child, dialect)]


def _count(first: int) -> exp.Expr:
    return exp.Add(this=PLACE.copy(), expression=number(first)) if first else PLACE.copy()


def _read_call(node: exp.Expr, dialect: str | None) -> _Call | None:
    element = ELEMENT.copy()
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    match node:
        case exp.Unnest():
            return _Call(node.expressions[0], ((element, "unnest", None),)) if len(node.expressions) == 1 else None
        case exp.Posexplode():
            return _Call(
                node.this, ((_count(0), "pos", INT), (element, "col", None)), isinstance(node, exp.PosexplodeOuter)
            )
        case exp.Explode() if isinstance(node.this, exp.Kwarg) or dialect == "snowflake":
            return _read_flatten(node)
        case exp.Explode():
            called = "col" if dialect in SPARK else "unnest"
            return _Call(node.this, ((element, called, None),), isinstance(node, exp.ExplodeOuter))
        case exp.SplitToTable():
            return _Call(node, ((_count(1), "index", INT), (element, "value", None), (exp.null(), "seq", INT)))
    if name not in NAMES and not isinstance(node, (*SERIES, *TEXTS)):
        return None
    if name == "string_split":
        ordinal = (
            ((_count(1), "ordinal", INT),) if len(node.expressions) > 2 and node.expressions[2].name != "0" else ()
        )
        return _Call(
            exp.Split(this=node.expressions[0], expression=node.expressions[1]), ((element, "value", None), *ordinal)
        )
    if dialect in ("tsql", "snowflake"):
        called = "value"
    elif dialect in SPARK and name == "range":
        called = "id"
    else:
        called = name or ("range" if node.args.get("is_end_exclusive") else "generate_series")
    return _Call(node, ((element, called, None),))


def _read_flatten(node: exp.Expr) -> _Call | None:
    parts = (node.this, *(node.args.get("expressions") or ()))
    given = {k.this.name.upper(): k.expression for k in parts if isinstance(k, exp.Kwarg)} or {"INPUT": node.this}
    if set(given) > {"INPUT", "OUTER"}:
        return None
    path = fn("concat", text("["), cast(PLACE, STRING), text("]"))
    columns = (
        (exp.null(), "key", STRING),
        (path, "path", STRING),
        (_count(0), "index", INT),
        (ELEMENT.copy(), "value", None),
    )
    return _Call(given["INPUT"], columns, given.get("OUTER") == exp.true())


def _read_array(node: exp.Expr, reader: Reader) -> tuple[exp.Expr, Type | None]:
    """An array in Spark's words, and the type of its elements."""
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if isinstance(node, exp.Array):
        terms = [reader.read(e) for e in node.expressions]
        if not terms:
            raise refusal("an array without elements")
        to = common("ARRAY", [t.type for t in terms])
        return fn("array", *(as_type(t, to) for t in terms)), to
    if isinstance(node, TEXTS) or name in ("string_to_table", "regexp_split_to_table"):
        return _split(node, reader), STRING
    if isinstance(node, SERIES) or name in ("generate_series", "range", "sequence"):
        return _sequence(node, reader)
    raise refusal(f"rows of {node.key.upper()}")


def _split(node: exp.Expr, reader: Reader) -> exp.Expr:
    named = isinstance(node, exp.Anonymous)
    first, by, *others = node.expressions if named else (node.this, node.args.get("expression"))
    given = reader.read(first)
    delimiter = reader.read(by).value
    regular = isinstance(node, exp.RegexpSplit) or (named and str(node.this).lower() == "regexp_split_to_table")
    if others or not isinstance(delimiter, str) or not delimiter:
        raise refusal("a text that is split by something that is not written out")
    parts = fn("split", given.node, text(delimiter if regular else re.escape(delimiter)))
    if reader.dialect == "postgres" and not regular:  # an empty text has no parts
        empty = exp.EQ(this=given.node.copy(), expression=text(""))
        return when(empty, fn("slice", parts, exp.Literal.number(1), exp.Literal.number(0)), parts)
    return parts


def _list_arguments(node: exp.Expr) -> Sequence[exp.Expr]:
    if not isinstance(node, exp.Anonymous):
        return [node.args[a] for a in ("start", "end", "step") if node.args.get(a) is not None]
    return [exp.Literal.number(0), *node.expressions] if len(node.expressions) == 1 else list(node.expressions)


def _sequence(node: exp.Expr, reader: Reader) -> tuple[exp.Expr, Type | None]:
    """Where Spark's own sequence would fail, because the step leads away from the end, other dialects have no elements."""
    start, end, *given = _list_arguments(node)
    first, last = reader.read(start), reader.read(end)
    named = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    exclusive = named == "range" or bool(node.args.get("is_end_exclusive"))
    turns = not given and reader.dialect in TURNING and named != "range"
    if {first.kind, last.kind} & {"date", "timestamp"}:
        return _dates(first, last, given, exclusive, reader)
    if first.kind != "int" or last.kind != "int":
        raise refusal(f"a series from {first.type} to {last.type}")
    step = as_type(reader.read(given[0]), INT) if given else number(1)
    a, b, zero = first.node, as_type(last, INT), number(0)
    if turns:
        return fn("sequence", a, b), INT
    if exclusive:  # up to the number before the end, on the way to it
        b = exp.Sub(this=exp.Paren(this=last.node.copy()), expression=cast(fn("sign", step), INT))
    way = exp.Or(
        this=exp.And(
            this=exp.GT(this=step.copy(), expression=zero.copy()),
            expression=exp.LTE(this=a.copy(), expression=b.copy()),
        ),
        expression=exp.And(
            this=exp.LT(this=step.copy(), expression=zero.copy()),
            expression=exp.GTE(this=a.copy(), expression=b.copy()),
        ),
    )
    return when(
        way,
        fn("sequence", a, b, step),
        exp.EQ(this=step, expression=zero),
        fn("sequence", a, b, step),
        fn("slice", fn("array", a), exp.Literal.number(1), exp.Literal.number(0)),
    ), INT


def _dates(
    first: Term, last: Term, given: Sequence[exp.Expr], exclusive: bool, reader: Reader
) -> tuple[exp.Expr, Type | None]:
    to = common("a series", [t.type for t in (first, last) if t.kind in ("date", "timestamp")])
    steps: Steps | None = {"DAY": number(1)}
    if given:
        is_text = isinstance(given[0], exp.Literal) and given[0].args.get("is_string")
        steps = steps_of(reader, exp.Interval(this=given[0].copy()) if is_text else given[0])
    if steps is None or exclusive:
        raise refusal("such a series of dates")
    if to.kind == "date" and (reader.dialect in ("postgres", "duckdb") or "SECOND" in steps):
        to = TIMESTAMP
    a, b = (cast_to(reader, t, to).node for t in (first, last))
    parts = {unit: cast(steps.get(unit, number(0)), INT) for unit in ("MONTH", "DAY", "SECOND")}
    as_int = {unit: exp.Cast(this=p, to=exp.DataType.build("INT", dialect="spark")) for unit, p in parts.items()}
    none = exp.Literal.number(0)
    interval = fn("make_interval", none, as_int["MONTH"], none, as_int["DAY"], none, none, as_int["SECOND"])
    after = exp.Add(this=exp.Paren(this=a.copy()), expression=interval)
    way = exp.Or(
        this=exp.And(
            this=exp.GT(this=after.copy(), expression=a.copy()), expression=exp.LTE(this=a.copy(), expression=b.copy())
        ),
        expression=exp.And(
            this=exp.LT(this=after.copy(), expression=a.copy()), expression=exp.GTE(this=a.copy(), expression=b.copy())
        ),
    )
    if reader.dialect in SPARK:
        return fn("sequence", a, b, interval), to
    return when(
        way, fn("sequence", a, b, interval), fn("slice", fn("array", a), exp.Literal.number(1), exp.Literal.number(0))
    ), to
