"""Window functions -> partitions that are computed anew when one of their rows changes."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from m3.algebra.derive import is_null, map_function
from m3.algebra.normal import common_type
from m3.algebra.rows import Branch, Rows, add_conditions
from m3.algebra.terms import sum_type
from m3.datatypes import DOUBLE, INT, Type
from m3.dictionary.types import average_type
from m3.program import Frame, WindowFunction
from m3.scalars import Const, Scalar, Var, call, const, substitute, vars_of
from m3.sql.block import Order, Window
from m3.sql.calls import BITS, MOMENTS, OF_PAIRS, SHAPES, read_call, require_known
from m3.sql.correlation import close, count_rows, find_unused_names
from m3.sql.functions import read_constant
from m3.sql.joining import Workspace
from m3.sql.names import Context, Names
from m3.windows import OF_VALUES

__all__ = ["compose_window", "compute_windows", "limit_rows", "read_count", "read_window"]


#: Reads a function over the window of another.
Over = Callable[[exp.Expr], Scalar]
NAMES: Mapping[type[exp.Expr], str] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.Ntile: "ntile",
    exp.PercentRank: "percent_rank", exp.CumeDist: "cume_dist", exp.Lag: "lag", exp.Lead: "lead",
    exp.FirstValue: "first_value", exp.First: "first_value", exp.Last: "last_value", exp.LastValue: "last_value", exp.NthValue: "nth_value", exp.Count: "count",
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max",
}  # fmt: skip
#: Those that are read as aggregates of a group.
OF_GROUPS = (
    *MOMENTS,
    *OF_PAIRS,
    *SHAPES,
    *BITS,
    exp.PercentileCont,
    exp.PercentileDisc,
    exp.Mode,
    exp.AnonymousAggFunc,
)
EPOCH = datetime.date(1970, 1, 1)
PLACES = ("row_number", "rank", "dense_rank", "ntile")
#: The functions that may skip NULLs, and what they are then.
KNOWN: Mapping[str | None, str] = {
    "lag": "lag_known", "lead": "lead_known", "first_value": "first_known", "last_value": "last_known", "nth_value": "nth_known",
}  # fmt: skip
#: The arguments of functions that are read; what else sqlglot puts into them says how a dialect spells them.
ARGUMENTS = ("this", "offset", "default", "big_int", "from_first", "ignore_nulls")
#: How many arguments functions have at least, if not one.
LEAST: Mapping[str, int] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "count"), 0), "nth_value": 2, "nth_known": 2,
}  # fmt: skip
EXCLUDED: Mapping[str, str] = {"CURRENT ROW": "row", "GROUP": "group", "TIES": "ties", "NO OTHERS": ""}
HINT = "row_number, rank, dense_rank, ntile, percent_rank, cume_dist, lag, lead, first_value, last_value, nth_value, "
HINT += "count, sum, avg, min, max, stddev, variance, corr, median, percentile_cont, mode OVER (PARTITION BY .. ORDER BY .. frame)"


def read_window(node: exp.Window, names: Names, read: Callable[[exp.Expr], Scalar]) -> Window:
    """A window function over a block's columns.

    >>> from m3.sql.show import resolve_example, show
    >>> print(show(resolve_example("SELECT a, RANK() OVER (PARTITION BY a ORDER BY x DESC) AS n FROM r")))
    FROM r
    WINDOW rank := rank() OVER (PARTITION BY r.a ORDER BY r.x DESC)
    SELECT r.a AS a, rank AS n
    """
    name = names.context.source.name
    inner, ignored = node.this, isinstance(node.this, exp.IgnoreNulls)
    said = isinstance(inner, exp.IgnoreNulls | exp.RespectNulls)
    if said:
        inner = inner.this
    op = NAMES.get(type(inner))
    if type(inner.this if isinstance(inner, exp.Filter) else inner) in OF_GROUPS and not said:
        return _read_aggregate(node, names, read)
    if isinstance(inner.this, exp.Distinct) and op in ("count", "min", "max") and len(inner.this.expressions) == 1:
        op = "count_distinct" if op == "count" else op
        inner = type(inner)(this=inner.this.expressions[0])
    if ignored and op in KNOWN:
        op = KNOWN[op]
    elif isinstance(inner, exp.Filter) or isinstance(inner.this, exp.Distinct) or (said and op not in KNOWN):
        treatment = "IGNORE NULLS" if ignored else "RESPECT NULLS"
        what = treatment if said else "FILTER" if isinstance(inner, exp.Filter) else "DISTINCT"
        names.fail(node, f"{what} in a window function", "unsupported-window", HINT)
    if op is None or node.args.get("alias"):
        names.fail(node, f"{name(inner)} OVER", "unsupported-window", HINT)
    unread = next((arg for arg, value in inner.args.items() if value and arg not in ARGUMENTS), None)
    if unread is not None:
        names.fail(node, f"{name(inner)} OVER: too many arguments", "wrong-arity", HINT)
    args = _read_args(inner, op, read)
    if len(args) < LEAST.get(op, 1):
        names.fail(node, f"{name(inner)} OVER: too few arguments", "wrong-arity", HINT)
    if op in ("nth_value", "nth_known"):
        args = (args[0], _read_nth(inner, names, args[1]))
    return _read_over(node, names, read, op, args, _find_type(op, args, names.context.dialect))


def _read_over(
    node: exp.Window, names: Names, read: Callable[[exp.Expr], Scalar], op: str, args: tuple[Scalar, ...], type_: Type
) -> Window:
    """A function with what is written behind OVER."""
    places = node.args["order"].expressions if node.args.get("order") is not None else ()
    order = tuple((read(o.this), bool(o.args.get("desc")), bool(o.args.get("nulls_first"))) for o in places)
    frame = _read_frame(node, names, order) if node.args.get("spec") else None
    if (
        frame is not None
        and frame.unit == "range"
        and {frame.start, frame.end} - {None, 0}
        and order[0][0].type.kind == "date"
    ):
        order = ((call("days_between", order[0][0], const(EPOCH)), *order[0][1:]),)  # Spark's numbers are days
    function = WindowFunction(op, args, order, frame, type_)
    partition = tuple(dict.fromkeys(read(p) for p in node.args.get("partition_by") or ()))
    variable = Var(op, function.type, names.context.registry.scope("window"))
    return Window(variable, partition, function, names.context.source.point(node))


def _read_aggregate(node: exp.Window, names: Names, read: Callable[[exp.Expr], Scalar]) -> Window:
    """An aggregate of all values: statistics, percentiles, MODE, and their like."""
    called, dialect = read_call(node.this, names, read), names.context.dialect
    op, args, where = called.function, called.args, called.where
    if called.distinct or op not in (*OF_VALUES, "avg", "count"):
        what = "DISTINCT in a window function" if called.distinct else f"{names.context.source.name(node.this)} OVER"
        names.fail(node, what, "unsupported-window", HINT)
    if where is not None and where != require_known(args, None):  # its own NULLs a function leaves out itself
        args = tuple(call("case", where, a, Const(None, a.type.with_null())) for a in args or (const(1),))
    descending = bool(called.order) and called.order[0][0]
    if isinstance(called.parameter, Decimal):
        args = (*args, const(called.parameter))
    elif dialect == "duckdb" and op in ("corr", "regr_slope", "skewness_samp"):
        args = (*args, call("cast", const("NaN"), to=DOUBLE))
    elif descending:
        args = (*args, Const(None, DOUBLE.with_null()))
    if descending:
        args = (*args, const(True))
    return _read_over(node, names, read, op, args, called.type)


def compose_window(node: exp.Window, names: Names, read: Callable[[exp.Expr], Scalar], over: Over) -> Scalar | None:
    """STDDEV and VARIANCE of exact numbers in a frame, from how many it has, their exact sum and that of their squares; None for other functions.

    >>> from m3.sql.show import resolve_example, show
    >>> print(show(resolve_example("SELECT a, VAR_POP(a) OVER (PARTITION BY id) AS n FROM r")))  # doctest: +ELLIPSIS
    FROM r
    WINDOW count := count(...) OVER (PARTITION BY r.id)
    ...

    Args:
        node: the function and its window.
        names: where its arguments belong.
        read: reads an argument.
        over: reads another function over the same window.
    """
    inner, fail = node.this, names.fail
    op = MOMENTS.get(type(inner))
    if op is None:
        return None
    name = names.context.source.name(inner)
    if isinstance(inner.this, exp.Distinct):
        fail(node, "DISTINCT in a window function", "unsupported-window", HINT)
    value, argument = read(inner.this), inner.this
    if value.type.kind == "double":
        return None
    if not value.type.is_numeric:
        fail(node, f"{name} of {value.type}", "type-mismatch", "a number")
    if value.type.kind == "int":
        argument = exp.Cast(this=argument.copy(), to=exp.DataType.build("DECIMAL(19, 0)"))
    square = exp.Mul(this=exp.Paren(this=argument.copy()), expression=exp.Paren(this=argument.copy()))
    if read(square).type.scale != 2 * value.type.scale:
        hint = "CAST it to fewer digits, so that its square stays within 38"
        fail(node, f"the exact squares of {value.type}", "too-precise", hint)
    count, total, squares = (
        over(type_(this=n.copy())) for type_, n in ((exp.Count, inner.this), (exp.Sum, argument), (exp.Sum, square))
    )
    return call(op, count, total, squares)


def _read_args(inner: exp.Expr, op: str, read: Callable[[exp.Expr], Scalar]) -> tuple[Scalar, ...]:
    if op == "count" and (inner.this is None or isinstance(inner.this, exp.Star)):
        return ()
    nodes = [inner.this, inner.args.get("offset"), inner.args.get("default")] if inner.this is not None else []
    if op in ("lag", "lead", "lag_known", "lead_known") and nodes[2] is not None and nodes[1] is None:
        nodes[1] = exp.Literal.number(1)
    return (
        tuple(read(n) for n in nodes if isinstance(n, exp.Expr))
        if op not in ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist")
        else ()
    )


def _read_nth(inner: exp.Expr, names: Names, number: Scalar) -> Scalar:
    """The number of NTH_VALUE. Below 1 there is no such row, which is NULL in DuckDB and an error in the others, where a literal can
    never be right."""
    if number.type.kind != "int" and not is_null(number):
        names.fail(inner.args["offset"], f"NTH_VALUE of {number.type}", "type-mismatch", "a number from 1 on")
    positive = isinstance(number, Const) and isinstance(number.value, int) and number.value > 0
    if positive or is_null(number):
        return number
    if names.context.dialect == "duckdb":
        absent = Const(None, number.type.with_null())
        return absent if isinstance(number, Const) else call("case", call("lt", number, const(1)), absent, number)
    if isinstance(number, Const):
        names.fail(inner.args["offset"], f"NTH_VALUE of {number.value}", "out-of-domain", "a number from 1 on")
    return number


def _read_frame(node: exp.Window, names: Names, order: Sequence[tuple[Scalar, bool, bool]]) -> Frame:
    spec = node.args["spec"]
    unit = str(spec.args.get("kind") or "RANGE").lower()
    exclude = EXCLUDED.get(spec.args["exclude"].name.upper()) if spec.args.get("exclude") else ""
    if exclude is None:
        names.fail(spec, "EXCLUDE of something else", "unsupported-window", f"EXCLUDE {', '.join(EXCLUDED)}")
    bounds = []
    for end, missing in (("start", "UNBOUNDED"), ("end", "CURRENT ROW")):
        value, side = spec.args.get(end) or missing, str(spec.args.get(f"{end}_side") or "").upper()
        bounds.append(_read_bound(spec, names, value, side))
    low, high = bounds
    if unit in ("range", "months") and {low, high} - {None, 0}:
        kind = order[0][0].type.kind if len(order) == 1 else ""
        days = ("date",) if names.context.dialect in ("spark", "databricks") else ()
        wanted = ("date", "timestamp") if unit == "months" else ("int", "decimal", "double", *days)
        if kind not in wanted:
            names.fail(
                spec,
                "RANGE with an offset",
                "unsupported-window",
                "over one number, or an interval over one date or timestamp; or use ROWS",
            )
    if isinstance(low, Decimal) | isinstance(high, Decimal) and not (
        unit == "range" and order[0][0].type.kind in ("decimal", "double")
    ):
        names.fail(spec, "a frame bound that is not a whole number", "unsupported-window", "n PRECEDING or n FOLLOWING")
    return Frame(unit, low, high, exclude)


def _read_bound(spec: exp.Expr, names: Names, value: str | exp.Expr, side: str) -> int | Decimal | None:
    if value == "UNBOUNDED":
        return None
    if value == "CURRENT ROW":
        return 0
    rows = read_constant(value, names.context.source) if isinstance(value, exp.Expr) else None
    if isinstance(rows, float) and math.isfinite(rows):
        rows = Decimal(str(rows))
    if not isinstance(rows, int | Decimal) or isinstance(rows, bool) or rows < 0:
        names.fail(spec, "a frame bound that is not a number", "unsupported-window", "n PRECEDING or n FOLLOWING")
    rows = int(rows) if rows == int(rows) else rows
    return rows * (-1 if side == "PRECEDING" else 1)


def _find_type(op: str, args: tuple[Scalar, ...], dialect: str | None) -> Type:
    if op in (*PLACES, "count", "count_distinct"):
        return INT
    if op in ("percent_rank", "cume_dist"):
        return DOUBLE
    if op in ("sum", "avg") and args[0].type.kind == "double":
        return DOUBLE.with_null()
    if op == "sum":
        return sum_type(args[0].type).with_null()
    if op == "avg":
        return average_type(args[0].type, dialect).with_null()
    if len(args) == 3 and not (isinstance(args[2], Const) and args[2].value is None):
        return common_type(args[0], args[2]).with_null()
    return args[0].type.with_null()


def compute_windows(space: Workspace, windows: Sequence[Window], needed: Sequence[Var]) -> None:
    """Give a block's rows the results of window functions.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT id, RANK() OVER (PARTITION BY a ORDER BY x) AS n FROM r")))
    + v_windows.id AS id, v_windows.w_1 AS n FROM v_windows

    Args:
        space: the rows; they know the subqueries.
        windows: the functions; those with one partitioning are computed together.
        needed: the variables that later expressions use.
    """
    left, done = list(windows), []  # type: tuple[list[Window], list[Var]]
    while left:
        partition = left[0].partition
        now = [w for w in left if w.partition == partition]
        left = [w for w in left if w.partition != partition]
        carried = vars_of(*needed, *done, *(s for w in (*left, *now) for s in w.scalars()))
        _compute_partition(space, partition, now, list(carried.values()))
        done += [w.variable for w in now]


def _compute_partition(
    space: Workspace, partition: Sequence[Scalar], windows: Sequence[Window], carried: Sequence[Var]
) -> None:
    scope = space.context.registry.scope("part")
    groups = [Var(f"part_{i + 1}", s.type, scope) for i, s in enumerate(partition)]
    branches = [
        Branch(b.coefficient, b.sources, b.conditions, {
            **{c.key: b.value(s) for c, s in zip(groups, partition, strict=True)},
            **{v.key: b.value(v) for v in carried},
        })
        for b in space.branches
    ]  # fmt: skip
    closed = close(space.parent or space, branches, [v.key for v in (*groups, *carried)])
    columns = [*closed.columns(), *groups, *carried]
    asked = [s for w in windows for s in (*w.function.args, *(o for o, _, _ in w.function.order))]
    source = count_rows(closed.branches, columns, asked)
    places = {old.key: Var(new.name, old.type) for new, old in zip(source.columns, columns, strict=True)}
    results = find_unused_names([f"w_{i + 1}" for i in range(len(windows))], source.columns)
    made = [
        (name, map_function(w.function, lambda s: substitute(s, places)), w.place)
        for name, w in zip(results, windows, strict=True)
    ]
    width = len(closed.links) + len(groups)
    context = space.context
    relation = context.registry.window(f"{context.view}_windows", source, width, made)
    known = [*groups, *carried, *(w.variable for w in windows)]
    space.branches = [closed.occurrence(space, relation, known)]


# ORDER BY with LIMIT and OFFSET inside a query: the first rows, by their numbers.


def read_count(node: exp.Expr, clause: str, context: Context) -> int | None:
    """The number of a LIMIT or OFFSET clause, which may be an expression of constants; None for NULL, too.

    Raises:
        CompileError: it is not a number.
    """
    limit = node.args.get(clause)
    if limit is None:
        return None
    count = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.args.get("expression")
    if count is None:
        return 1  # FETCH FIRST ROW ONLY
    if isinstance(count, exp.Var) and count.name.upper() == "ALL":
        return None
    value = read_constant(count, context.source)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        context.source.fail(limit, f"{clause.upper()} that is not a number of rows", "limit", f"{clause.upper()} n")
    return value


def limit_rows(space: Workspace, rows: Rows, limit: int | None, offset: int, order: Sequence[Order]) -> Rows:
    """The rows that LIMIT and OFFSET leave.

    >>> from m3.sql.show import join_example, show_rows
    >>> print(show_rows(join_example("SELECT a FROM r ORDER BY x LIMIT 2 OFFSET 1")))
    + v_limited.a AS a FROM v_limited WHERE v_limited.w_1 > 1 AND v_limited.w_1 <= 3

    Args:
        space: of the block around the query.
        rows: all rows; columns of the scope ``order`` are only ordered by.
        limit, offset: how many rows, after how many.
        order: ORDER BY over the columns: (expression, descending, NULLs first).
    """
    visible = tuple(c for c in rows.columns if c.scope is None)
    if limit is None and not offset:
        return Rows(visible, rows.branches)
    closed = close(space, rows.branches, [c.key for c in rows.columns])
    columns = [*closed.columns(), *rows.columns]
    source_rows = count_rows(closed.branches, columns)
    named = {old.key: Var(new.name, new.type) for old, new in zip(columns, source_rows.columns, strict=True)}
    places = tuple((named[s.key], down, first) for s, down, first in order if isinstance(s, Var))
    (name,) = find_unused_names(["w_1"], source_rows.columns)
    number = (name, WindowFunction("row_number", (), places, None, INT), None)
    context = space.context
    relation = context.registry.window(f"{context.view}_limited", source_rows, len(closed.links), [number])
    place = Var(name, INT, context.registry.scope("window"))
    branch = closed.occurrence(space, relation, [*rows.columns, place])
    wanted: list[Scalar] = [call("gt", place, const(offset))] if offset else []
    if limit is not None:
        wanted.append(call("le", place, const(offset + limit)))
    return Rows(visible, tuple(add_conditions([branch], wanted)))
