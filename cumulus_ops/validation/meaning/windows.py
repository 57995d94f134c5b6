"""Window functions. Rows that ORDER BY does not tell apart are ordered by the other columns of the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from sqlglot import exp

from cumulus_ops.validation.meaning.aggregates import aggregate, is_aggregate
from cumulus_ops.validation.meaning.moments import SIZES, literal_of, steps_of
from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, refusal, text, unify
from m3.datatypes import DOUBLE, INT, TIMESTAMP, Type

__all__ = ["WINDOWS", "order_entry"]

#: Functions of a row's place: by the order alone, and those for which ties are decided.
RANKS: Mapping[type[exp.Expr], tuple[str, Type]] = {
    exp.Rank: ("rank", INT), exp.DenseRank: ("dense_rank", INT), exp.PercentRank: ("percent_rank", DOUBLE),
    exp.CumeDist: ("cume_dist", DOUBLE),
}  # fmt: skip
NUMBERS: Mapping[type[exp.Expr], str] = {exp.RowNumber: "row_number", exp.Ntile: "ntile"}
NEIGHBOURS: Mapping[type[exp.Expr], str] = {exp.Lag: "lag", exp.Lead: "lead"}
PLACES: Mapping[type[exp.Expr], str] = {
    exp.FirstValue: "first_value", exp.LastValue: "last_value", exp.NthValue: "nth_value",
}  # fmt: skip
PARTS = ("partition_by", "order", "spec")
SPELLED: Mapping[type[exp.Expr], type[exp.Expr]] = {exp.First: exp.FirstValue, exp.Last: exp.LastValue}


def _window(reader: Reader, node: exp.Expr) -> Term:
    node = _resolve_window(reader, node)
    inner, skips = _function(node)
    kind = type(inner)
    if kind in RANKS:
        name, to = RANKS[kind]
        return Term(cast(_over(reader, node, fn(name), None), to), to)
    if kind in NUMBERS:
        args = [_whole(reader, inner.this)] if inner.this is not None else []
        return Term(cast(_over(reader, node, fn(NUMBERS[kind], *args), None, ties=inner), INT), INT)
    if kind in NEIGHBOURS:
        return _neighbour(reader, node, inner, skips)
    if kind in PLACES:
        return _place(reader, node, inner, skips)
    if not is_aggregate(inner):
        raise refusal(f"{inner.sql()} OVER")
    spec = node.args.get("spec")
    rows = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    if isinstance(inner, exp.Count) and isinstance(inner.this, exp.Distinct) and len(inner.this.expressions) == 1:
        # Spark has no DISTINCT in windows, but sets of the values in a frame
        collected = fn("collect_set", reader.read(inner.this.expressions[0]).node)
        values = _over(reader, node, collected, spec, ties=inner.this if rows else None)
        return Term(cast(exp.Anonymous(this="size", expressions=[values]), INT), INT)
    return aggregate(reader, inner, lambda x: _over(reader, node, x, spec, ties=inner if rows else None))


def _function(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """What a window computes, and whether it skips NULLs. FIRST and LAST are FIRST_VALUE and LAST_VALUE; ANY_VALUE over an order
    is the first value that is not NULL."""
    inner, skips = node.this, isinstance(node.this, exp.IgnoreNulls)
    if isinstance(inner, exp.IgnoreNulls | exp.RespectNulls):
        inner = inner.this
    if isinstance(inner, exp.AnyValue) and node.args.get("order") is not None:
        return exp.FirstValue(this=inner.this), True
    return (SPELLED[type(inner)](this=inner.this) if type(inner) in SPELLED else inner), skips


def _resolve_window(reader: Reader, node: exp.Expr) -> exp.Expr:
    """``OVER name`` with the window of the WINDOW clause written out."""
    alias = node.args.get("alias")
    if alias is None:
        return node
    if alias.name.lower() not in reader.windows:
        raise refusal(f"the window {alias.name}")
    named = _resolve_window(reader, reader.windows[alias.name.lower()])  # which may be made of another
    copy = node.copy()
    own, given = ({part for part in PARTS if window.args.get(part)} for window in (node, named))
    added = "partition_by" in own and reader.dialect != "duckdb"
    if added or own & given or (own and "spec" in given):  # which of them counts is nobody's choice
        raise refusal(f"the window {alias.name} with {' and '.join(sorted(own))} beside it")
    for part in given:
        copy.set(part, named.args[part])
    copy.set("alias", None)
    return copy


def _call_function(name: str, args: list[exp.Expr], skips: bool) -> exp.Expr:
    called = fn(name, *args)
    return exp.IgnoreNulls(this=called) if skips else called


def _neighbour(reader: Reader, node: exp.Expr, inner: exp.Expr, skips: bool) -> Term:
    value, offset, default = reader.read(inner.this), inner.args.get("offset"), inner.args.get("default")
    args, to = [value.node], value.type
    if offset is not None or default is not None:
        args.append(_whole(reader, offset) if offset is not None else exp.Literal.number(1))
    if default is not None:
        (first, last), to = unify("LAG", [value, reader.read(default)])
        args = [first, args[1], last]
    return Term(_over(reader, node, _call_function(NEIGHBOURS[type(inner)], args, skips), None, ties=inner), to)


def _place(reader: Reader, node: exp.Expr, inner: exp.Expr, skips: bool) -> Term:
    """The value of a row of the frame. Where the frame begins (or ends) with the partition, its rows count one by one, in the
    order that decides ties."""
    value, spec = reader.read(inner.this), node.args.get("spec")
    args = [value.node]
    if isinstance(inner, exp.NthValue):
        number = reader.read(inner.args["offset"]).value
        if isinstance(number, int) and number < 1:  # DuckDB's NULL; the compiler refuses it in other dialects
            return Term(cast(exp.Null(), value.known), value.known)
        args.append(_whole(reader, inner.args["offset"]))
    start = str(spec.args.get("start")).upper() if spec is not None else "UNBOUNDED"
    end = str(spec.args.get("end") or "CURRENT ROW").upper() if spec is not None else "CURRENT ROW"
    whole = (spec is None and node.args.get("order") is None) or (start, end) == ("UNBOUNDED", "UNBOUNDED")
    rows = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    if whole:
        frame: exp.Expr | None = _rows_frame("UNBOUNDED", "UNBOUNDED")
    elif isinstance(inner, exp.FirstValue) and start == "UNBOUNDED" and not rows:
        frame = _rows_frame("UNBOUNDED", "CURRENT ROW")
    elif isinstance(inner, exp.LastValue) and end == "UNBOUNDED" and not rows:
        frame = _rows_frame("CURRENT ROW", "UNBOUNDED")
    else:
        frame = spec
    counted = frame is not None and str(frame.args.get("kind")).upper() == "ROWS"
    function = _call_function(PLACES[type(inner)], args, skips)
    return Term(_over(reader, node, function, frame, ties=inner if counted else None), value.type)


def _rows_frame(start: str, end: str) -> exp.Expr:
    sides = (None if x == "CURRENT ROW" else side for x, side in ((start, "PRECEDING"), (end, "FOLLOWING")))
    return exp.WindowSpec(kind="ROWS", start=start, start_side=next(sides), end=end, end_side=next(sides))


def _over(
    reader: Reader, node: exp.Expr, function: exp.Expr, spec: exp.Expr | None, *, ties: exp.Expr | None = None
) -> exp.Expr:
    """``function OVER (...)``; with ``ties``, the function itself, rows that the order leaves equal are ordered further."""
    if spec is not None and str(spec.args.get("kind")).upper() == "GROUPS":
        raise refusal("a frame of GROUPS")
    if spec is not None and spec.args.get("exclude") and spec.args["exclude"].name.upper() != "NO OTHERS":
        raise refusal("a frame with EXCLUDE")
    partition = [reader.read(p).node for p in node.args.get("partition_by") or ()]
    given = node.args["order"].expressions if node.args.get("order") is not None else []
    by = reader.read(given[0].this) if len(given) == 1 else None
    frame, timed = _frame_of(reader, spec, by) if spec is not None else (None, False)
    order = [order_entry(reader.read(o.this).node, o) for o in given]
    if timed and by is not None:
        order = [order_entry(as_type(by, TIMESTAMP), given[0])]
    if ties is not None:
        others = [*reader.ties, *(n for n in _find_arguments(ties) if not isinstance(n, exp.Literal | exp.Star))]
        order += [order_entry(reader.read(n).node, None) for n in dict.fromkeys(others)]
    if not order and isinstance(function, exp.Anonymous) and spec is None and ties is None and function.name in (
        "rank", "dense_rank", "percent_rank", "cume_dist"
    ):  # fmt: skip
        order = [order_entry(cast(exp.Null(), INT), None)]
    return exp.Window(
        this=function,
        partition_by=partition,
        order=exp.Order(expressions=order) if order else None,
        spec=frame,
    )


def _frame_of(reader: Reader, spec: exp.Expr, by: Term | None) -> tuple[exp.WindowSpec, bool]:
    """A frame in Spark's words, whose bounds have to be literals; and whether one is of seconds: then it is over a timestamp."""
    args = {**spec.copy().args, "exclude": None}
    timed = False
    for name in ("start", "end"):
        bound = args.get(name)
        if isinstance(bound, exp.Expr) and by is not None and str(args.get("kind")).upper() == "RANGE":
            args[name] = _offset_of(reader, bound, by)
            timed |= isinstance(args[name], exp.Interval) and args[name].args["unit"].name == "SECOND"
    return exp.WindowSpec(**args), timed


def _offset_of(reader: Reader, bound: exp.Expr, by: Term) -> exp.Expr:
    if isinstance(bound, exp.Literal) and bound.is_string and by.kind in ("date", "timestamp"):
        bound = exp.Interval(this=bound)
    steps = steps_of(reader, bound)
    if steps is None and by.kind in ("decimal", "double"):
        return exp.Var(this=f"{reader.read(bound).value}{'D' if by.kind == 'double' else 'BD'}")
    if steps is None:
        return bound
    amounts = {unit: literal_of(amount) for unit, amount in steps.items()}
    if set(steps) == {"MONTH"}:
        return exp.Interval(this=text(str(amounts["MONTH"])), unit=exp.Var(this="MONTH"))
    micros = sum(amount * SIZES[unit] for unit, amount in amounts.items())
    return exp.Interval(this=text(format(Decimal(micros).scaleb(-6), "f")), unit=exp.Var(this="SECOND"))


def _find_arguments(node: exp.Expr) -> Iterator[exp.Expr]:
    """What a function is computed from; the condition of FILTER and the order WITHIN GROUP, too."""
    for part in node.iter_expressions():
        if isinstance(part, exp.Where | exp.Ordered):
            yield part.this
        elif isinstance(node, exp.Filter | exp.WithinGroup) or isinstance(part, exp.Order):
            yield from _find_arguments(part)
        else:
            yield part


def order_entry(node: exp.Expr, like: exp.Expr | None) -> exp.Expr:
    """An entry of ORDER BY; without a model ascending, NULLs first."""
    descending = bool(like is not None and like.args.get("desc"))
    first = bool(like.args.get("nulls_first")) if like is not None else True
    return exp.Ordered(this=node, desc=descending, nulls_first=first)


def _whole(reader: Reader, node: exp.Expr) -> exp.Expr:
    """A number of rows: Spark wants a 32-bit literal."""
    term = reader.read(node)
    if isinstance(term.value, int):
        return exp.Literal.number(term.value)
    return exp.Cast(this=as_type(term, INT), to=exp.DataType.build("INT", dialect="spark"))


WINDOWS: Mapping[type[exp.Expr], Rule] = {exp.Window: _window}
