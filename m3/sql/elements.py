"""How many elements a series has, and which each is: expressions over the row that it belongs to, and over the element's number.

``generate_series(a, b, s)`` has ``(b - a) / s + 1`` elements, and the n-th is ``a + (n - 1) * s``; a text that is split has as many as
its delimiters and one, and the n-th is ``SPLIT_PART(text, delimiter, n)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from m3.algebra.normal import common_type
from m3.datatypes import INT, TIMESTAMP
from m3.dictionary.paths import plain_delimiter
from m3.scalars import Call, Const, Scalar, Var, const
from m3.simplify import simplify
from m3.sql.block import Block, Numbers, Output, Table
from m3.sql.expressions import ExpressionReader
from m3.sql.functions_dates import Steps, read_interval
from m3.sql.names import Names

__all__ = ["ARRAYS", "NAMES", "Bounds", "add_steps", "read_bounds", "read_elements"]

#: What gives an array, or rows, of elements that are computed: by their kinds of nodes, and by their names.
SERIES = (exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.GenerateDateArray, exp.GenerateTimestampArray)
TEXTS = (exp.Split, exp.RegexpSplit, exp.StringToArray, exp.SplitToTable)
ARRAYS = (*SERIES, *TEXTS)
SERIES_NAMES = ("generate_series", "range", "sequence")
NAMES = (*SERIES_NAMES, "string_to_table", "regexp_split_to_table", "string_split")
#: Dialects in which a series without a step goes down where it ends below its start, and a step away from the end is an error.
TURNING = ("spark", "databricks", "trino", "presto", "athena")
DEFAULT_TURNING = (*TURNING, "tsql")
#: Dialects in which the n-th date of a series is the start and so many steps at once; elsewhere one step is added after the other.
AT_ONCE = ("spark", "databricks", "bigquery", "trino", "presto", "athena")
#: Dialects in which an empty text has no parts.
NO_PARTS = ("postgres", "redshift", "materialize", "risingwave")
DAY_US, SECOND_US = 86_400_000_000, 1_000_000
HINT = "(start, end, step) of INT, DECIMAL, DATE or TIMESTAMP; dates with an INTERVAL"


def read_elements(node: exp.Unnest, names: Names, read: ExpressionReader) -> Block:
    """The rows of ``UNNEST(array) AS t(element, number)``, whose array is about the tables before it in FROM.

    >>> from m3.sql.show import resolve_example, show
    >>> print(show(resolve_example("SELECT a, n FROM r, UNNEST(GENERATE_SERIES(1, a)) AS g(n)")))
    FROM r JOIN (g) AS g
      (g) :=
        FROM (_numbers) AS _numbers
          (_numbers) :=
            NUMBERS UP TO SERIES_LENGTH(CASE WHEN 1 <= r.a THEN r.a - 1 + 1 ELSE 0 END)
        SELECT 1 + (_numbers.number - 1) AS n
    SELECT r.a AS a, g.n AS n

    Raises:
        CompileError: it is no such array.
    """
    (array,) = node.expressions
    registry = names.context.registry
    inner, outer = Var("number", INT), Var("number", INT, registry.scope("table", "_numbers"))
    if isinstance(array, SERIES) or (isinstance(array, exp.Anonymous) and str(array.this).lower() in SERIES_NAMES):
        bounds = read_bounds(array, read)
        count, element = _count_steps(bounds, read), _find_step(bounds, outer, read)
    else:
        count, element = _split_text(array, outer, read)
    length = simplify(read.call(array, "series_length", count))
    if isinstance(length, Call):  # as it is written, and not how it is counted
        length = replace(length, span=names.context.source.point(array))
    table = Table("_numbers", (outer,), Numbers((inner,), length))
    called = [c.name for c in node.args["alias"].args["columns"]]
    outputs = [Output(name, s) for name, s in zip(called, (element, outer), strict=False)]
    return Block(table, tuple(outputs))


# Series of numbers and of dates.


@dataclass(frozen=True)
class Bounds:
    """A series: both ends, the step, which is a number or the steps of an interval, and whether the end is left out. ``turns``: its step is
    1, or -1 where it goes down."""

    node: exp.Expr
    start: Scalar
    end: Scalar
    step: Scalar | Steps
    exclusive: bool = False
    turns: bool = False


def read_bounds(node: exp.Expr, reader: ExpressionReader) -> Bounds:
    """A series' arguments, in one type.

    Raises:
        CompileError: they are of other types.
    """
    args, exclusive = _list_arguments(node)
    if len(args) not in (2, 3):
        reader.source.fail(node, "a series of other than two or three arguments", "wrong-arity", "start, end, step")
    start, end = reader.read(args[0]), reader.read(args[1])
    step = args[2] if len(args) > 2 else None
    if start.type.kind == "string" and isinstance(start, Const) and end.type.kind in ("date", "timestamp"):
        start = reader.cast(node, start, end.type)
    if end.type.kind == "string" and isinstance(end, Const) and start.type.kind in ("date", "timestamp"):
        end = reader.cast(node, end, start.type)
    named = isinstance(node, exp.Anonymous) and str(node.this).lower() == "range"
    turns = step is None and reader.dialect in DEFAULT_TURNING and not named
    kinds = {start.type.kind, end.type.kind}
    if kinds <= {"int", "decimal"}:
        size = const(1) if step is None else reader.read(step)
        if size.type.kind not in ("int", "decimal"):
            reader.source.fail(node, f"a series with a step of {size.type}", "values", HINT)
        return Bounds(node, start, end, size, exclusive, turns)
    if not kinds <= {"date", "timestamp"}:
        reader.source.fail(node, f"a series from {start.type} to {end.type}", "values", HINT)
    steps: Steps | None = {"add_days": const(1)} if step is None else _read_interval(step, reader)
    if steps is None:
        reader.source.fail(node, "a series of dates whose step is no interval", "interval", "INTERVAL '1' DAY")
    if kinds == {"date"} and (reader.dialect in ("postgres", "duckdb") or "add_seconds" in steps):
        start, end = (reader.cast(node, s, TIMESTAMP) for s in (start, end))
    elif len(kinds) > 1:
        start, end = (reader.cast(node, s, common_type(start, end).with_null(s.type.nullable)) for s in (start, end))
    return Bounds(node, start, end, steps, exclusive, turns)


def _list_arguments(node: exp.Expr) -> tuple[Sequence[exp.Expr], bool]:
    """The arguments, and whether the end is left out."""
    if isinstance(node, exp.Anonymous):
        args = list(node.expressions)
        return ([exp.Literal.number(0), *args] if len(args) == 1 else args), str(node.this).lower() == "range"
    args = [node.args[a] for a in ("start", "end", "step") if node.args.get(a) is not None]
    return args, bool(node.args.get("is_end_exclusive"))


def _read_interval(step: exp.Expr, reader: ExpressionReader) -> Steps | None:
    """PostgreSQL takes a text for an interval."""
    is_text = isinstance(step, exp.Literal) and step.args.get("is_string")
    return read_interval(reader, exp.Interval(this=step.copy()) if is_text else step)


def add_steps(bounds: Bounds, start: Scalar, number: Scalar, reader: ExpressionReader) -> Scalar:
    """``start`` and ``number`` steps."""

    def times(size: Scalar) -> Scalar:
        return number if size == const(1) else reader.call(bounds.node, "mul", number, size)

    if not isinstance(bounds.step, Mapping):
        return reader.call(bounds.node, "add", start, times(bounds.step))
    for op, amount in bounds.step.items():
        start = reader.call(bounds.node, op, start, times(amount))
    return start


def _find_step(bounds: Bounds, number: Scalar, reader: ExpressionReader) -> Scalar:
    """The element of a number."""
    ahead = reader.call(bounds.node, "sub", number, const(1))
    if not bounds.turns:
        return add_steps(bounds, bounds.start, ahead, reader)
    back = reader.call(bounds.node, "neg", ahead)
    up = reader.call(bounds.node, "le", bounds.start, bounds.end)
    return add_steps(bounds, bounds.start, reader.call(bounds.node, "case", up, ahead, back), reader)


def _count_steps(bounds: Bounds, reader: ExpressionReader) -> Scalar:
    """How many elements a series has."""
    node = bounds.node
    if isinstance(bounds.step, Mapping):
        if "add_months" in bounds.step:
            return _count_months(bounds, bounds.step, reader)
        start, end = (reader.call(node, "epoch_us", s) for s in (bounds.start, bounds.end))
        sizes = {"add_days": DAY_US, "add_seconds": SECOND_US}
        parts = [reader.call(node, "mul", amount, const(sizes[op])) for op, amount in bounds.step.items()]
        step = parts[0] if len(parts) == 1 else reader.call(node, "add", *parts)
    else:
        start, end, step = bounds.start, bounds.end, bounds.step
    if bounds.exclusive and {s.type.kind for s in (start, end, step)} != {"int"}:
        reader.source.fail(node, "RANGE of DECIMAL", "values", HINT)

    def count(low: Scalar, high: Scalar, size: Scalar) -> Scalar:
        distance = reader.call(node, "sub", high, low)
        steps = distance if size == const(1) else reader.call(node, "idiv", distance, size)
        if bounds.exclusive:  # the last step before the end
            before = reader.call(node, "sub", distance, const(1))
            steps = before if size == const(1) else reader.call(node, "idiv", before, size)
        return reader.call(node, "add", steps, const(1))

    def negate(size: Scalar) -> Scalar:
        return (
            const(-size.value)
            if isinstance(size, Const) and isinstance(size.value, int)
            else reader.call(node, "neg", size)
        )

    before = "lt" if bounds.exclusive else "le"
    upwards, downwards = reader.call(node, before, start, end), reader.call(node, before, end, start)
    if bounds.turns:
        return reader.call(node, "case", upwards, count(start, end, step), count(end, start, step))
    none = const(-1) if reader.dialect in TURNING else const(0)
    if isinstance(step, Const):
        value = step.value
        if not value or isinstance(value, str | bool):
            reader.source.fail(node, "a series whose step is 0", "values", "a positive or negative step")
        rises = value > 0  # type: ignore[operator]
        steps = count(start, end, step) if rises else count(end, start, negate(step))
        return _present(bounds, reader, upwards if rises else downwards, steps, none)
    there = [
        (reader.call(node, "and", reader.call(node, op, step, const(0)), way), steps)
        for op, way, steps in (
            ("gt", upwards, count(start, end, step)),
            ("lt", downwards, count(end, start, negate(step))),
        )
    ]
    still = reader.call(node, "eq", step, const(0))
    return _present(bounds, reader, *there[0], *there[1], still, const(-1), none)


def _present(bounds: Bounds, reader: ExpressionReader, *cases: Scalar) -> Scalar:
    """A CASE that is NULL where an end is, or the step."""
    sizes = () if isinstance(bounds.step, Mapping) else (bounds.step,)
    given = (bounds.start, bounds.end, *sizes)
    missing = [reader.call(bounds.node, "is_null", s) for s in given if s.type.nullable]
    if not missing:
        return reader.call(bounds.node, "case", *cases)
    lost = missing[0] if len(missing) == 1 else reader.call(bounds.node, "or", *missing)
    return reader.call(bounds.node, "case", lost, Const(None, INT.with_null()), *cases)


def _count_months(bounds: Bounds, steps: Steps, reader: ExpressionReader) -> Scalar:
    """How many elements a series of months has. Where one step is added after the other, the 31st may become the 28th for good: such
    a series is an error."""
    node, start, end, size = bounds.node, bounds.start, bounds.end, steps["add_months"]
    if len(steps) > 1 or not isinstance(size, Const) or not isinstance(size.value, int) or size.value <= 0:
        hint = "a number of months or years above 0, without days beside them"
        reader.source.fail(node, "a series with such a step in months", "interval", hint)

    def part(op: str) -> Scalar:
        return reader.call(node, "sub", *(reader.call(node, op, s) for s in (end, start)))

    months = reader.call(node, "add", reader.call(node, "mul", part("year"), const(12)), part("month"))
    number = months if size.value == 1 else reader.call(node, "idiv", months, size)
    last = add_steps(bounds, start, number, reader)
    reached = reader.call(node, "lt" if bounds.exclusive else "le", last, end)
    count = reader.call(node, "case", reached, reader.call(node, "add", number, const(1)), number)
    upwards = reader.call(node, "le", start, end)
    cases = [upwards, count, const(-1) if reader.dialect in TURNING else const(0)]
    if reader.dialect not in AT_ONCE:
        late = reader.call(node, "gt", reader.call(node, "day", start), const(28))
        cases = [reader.call(node, "and", upwards, late), const(-1), *cases]
    return _present(bounds, reader, *cases)


# Texts that are split.


def _split_text(node: exp.Expr, number: Scalar, reader: ExpressionReader) -> tuple[Scalar, Scalar]:
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    given = list(node.expressions) if name else [node.args.get("this"), node.args.get("expression")]
    if len(given) != 2 or given[1] is None:
        reader.source.fail(node, "a text that is split by something else", "wrong-arity", "text, delimiter")
    text, delimiter = reader.read(given[0]), reader.read(given[1])
    if isinstance(node, exp.RegexpSplit) or name == "regexp_split_to_table":
        written = delimiter.value if isinstance(delimiter, Const) and isinstance(delimiter.value, str) else ""
        with reader.source.guard(node):
            delimiter = const(plain_delimiter(written))
    if not isinstance(delimiter, Const) or not isinstance(delimiter.value, str) or not delimiter.value:
        hint = "split by a text that is written out and not empty"
        reader.source.fail(
            node, "a text that is split by something else than a constant", "unsupported-expression", hint
        )
    count = reader.call(node, "count_parts", text, delimiter)
    if reader.dialect in NO_PARTS and name != "regexp_split_to_table":
        count = reader.call(node, "case", reader.call(node, "eq", text, const("")), const(0), count)
    return count, reader.call(node, "split_part", text, delimiter, number)
