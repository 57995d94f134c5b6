"""What each form of SQL expression means: the table of handlers, and the forms that are calls and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal

from sqlglot import exp

from m3.datatypes import DATE, DOUBLE, INT, TIMESTAMP
from m3.dictionary import FUNCTIONS
from m3.dictionary.forms import Operation
from m3.scalars import Call, Const, Scalar, const
from m3.simplify import simplify
from m3.sql.expressions import ExpressionReader, Handler, Leaf, refuse_form, refuse_random
from m3.sql.functions_dates import DATES, NOWS, read_interval_seconds, read_now, shift_date, truncate_date
from m3.sql.functions_text import TEXTS
from m3.sql.hints import hint_call
from m3.sql.places import Source

__all__ = ["HANDLERS", "make_reader", "read_constant"]


# Conditions and choices of SQL: three-valued logic, comparisons of rows, IN, IS, CASE and its many other names.


COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
    exp.NullSafeEQ: "same", exp.NullSafeNEQ: "same",
}  # fmt: skip


def _read_comparison(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    op = COMPARISONS[type(node)]
    left, right = node.args["this"], node.args["expression"]
    if not isinstance(left.unnest(), exp.Tuple):
        result = reader.compare(node, op, _read_side(reader, left), _read_side(reader, right))
    elif op in ("eq", "ne", "same"):
        equal = _compare_rows(reader, node, "same" if op == "same" else "eq", left, right)
        result = reader.call(node, "not", equal) if op == "ne" else equal
    else:
        result = _compare_in_order(reader, node, op, _pair_values(reader, node, left, right))
    return reader.call(node, "not", result) if isinstance(node, exp.NullSafeNEQ) else result


def _read_side(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """A side of a comparison, where an interval stands for its seconds."""
    seconds = read_interval_seconds(reader, node)
    return reader.read(node) if seconds is None else seconds


def _compare_rows(reader: ExpressionReader, node: exp.Expr, op: str, left: exp.Expr, right: exp.Expr) -> Scalar:
    return _combine_all(
        reader, node, "and", [reader.compare(node, op, a, b) for a, b in _pair_values(reader, node, left, right)]
    )


def _compare_in_order(reader: ExpressionReader, node: exp.Expr, op: str, pairs: list[tuple[Scalar, Scalar]]) -> Scalar:
    """``(a, b) < (c, d)``: the first pair that differs decides."""
    (a, b), rest = pairs[0], pairs[1:]
    if not rest:
        return reader.compare(node, op, a, b)
    later = reader.call(node, "and", reader.compare(node, "eq", a, b), _compare_in_order(reader, node, op, rest))
    first = reader.compare(node, {"le": "lt", "ge": "gt"}.get(op, op), a, b)
    return reader.call(node, "or", first, later)


def _pair_values(
    reader: ExpressionReader, node: exp.Expr, left: exp.Expr, right: exp.Expr
) -> list[tuple[Scalar, Scalar]]:
    left, right = left.unnest(), right.unnest()
    if not isinstance(left, exp.Tuple) or not isinstance(right, exp.Tuple):
        reader.source.fail(node, "a row compared with a value", "type-mismatch", "(a, b) = (c, d)")
    if len(left.expressions) != len(right.expressions):
        reader.source.fail(node, "rows of different lengths", "type-mismatch", "(a, b) = (c, d)")
    pairs = zip(left.expressions, right.expressions, strict=True)
    return [(reader.read(a), reader.read(b)) for a, b in pairs]


def _combine_all(reader: ExpressionReader, node: exp.Expr, op: str, conditions: list[Scalar]) -> Scalar:
    return conditions[0] if len(conditions) == 1 else reader.call(node, op, *conditions)


def _read_logic(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """Nested ANDs (or ORs) become one flat call."""
    op = "and" if isinstance(node, exp.And) else "or"
    args: list[Scalar] = []
    for side in node.flatten(unnest=False):
        scalar = reader.read_condition(side)
        args.extend(scalar.args if isinstance(scalar, Call) and scalar.op == op else (scalar,))
    return reader.call(node, op, *args)


def _read_between(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    value, low, high = (_read_side(reader, node.args[name]) for name in ("this", "low", "high"))
    inside = _compare_range(reader, node, value, low, high)
    return reader.call(node, "or", inside, _compare_range(reader, node, value, high, low)) if node.args.get(
        "symmetric"
    ) else inside  # fmt: skip


def _compare_range(reader: ExpressionReader, node: exp.Expr, value: Scalar, low: Scalar, high: Scalar) -> Scalar:
    above = reader.compare(node, "ge", value, low)
    return reader.call(node, "and", above, reader.compare(node, "le", value, high))


def _read_in(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    if node.args.get("query") or not node.expressions:
        reader.source.fail(node, "IN over a subquery", "subquery", "list the constants, or join the table instead")
    if isinstance(node.this.unnest(), exp.Tuple):
        rows = [_compare_rows(reader, node, "eq", node.this, row) for row in node.expressions]
        return _combine_all(reader, node, "or", rows)
    value = reader.read(node.this)
    options = [reader.adapt_literal(node, reader.read(e), value) for e in node.expressions]
    if all(isinstance(o, Const) for o in options):
        return reader.call(node, "in", value, *options)
    return _combine_all(reader, node, "or", [reader.compare(node, "eq", value, o) for o in options])


def _read_is(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    other = node.args["expression"]
    if isinstance(other, exp.Null):
        return reader.call(node, "is_null", reader.read(node.this))
    if not isinstance(other, exp.Boolean):
        hint = "IS [NOT] NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM"
        reader.source.fail(node, "IS with something else", "unsupported-expression", hint)
    tested = reader.read_condition(node.this)
    return reader.call(node, "coalesce", tested if other.this else reader.call(node, "not", tested), const(False))


def _read_case(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    branches, operand = node.args["ifs"], node.this
    if operand is None:
        conditions = [reader.read_condition(b.this) for b in branches]
    else:
        value = reader.read(operand)
        conditions = [reader.compare(b, "eq", value, reader.read(b.this)) for b in branches]
    return reader.choose(node, conditions, [*(b.args["true"] for b in branches), node.args.get("default")])


def _read_decode(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """DECODE(value, search, result, ..., default), where NULL is found by NULL."""
    operand, *rest = node.expressions
    pairs, default = rest[: len(rest) // 2 * 2], rest[-1] if len(rest) % 2 else None
    value = reader.read(operand)
    conditions = [reader.compare(node, "same", value, reader.read(s)) for s in pairs[::2]]
    return reader.choose(node, conditions, [*pairs[1::2], default])


def _read_coalesce(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    args = [reader.read(n) for n in (node.this, *node.expressions)]
    typed = next((a for a in args if not isinstance(a, Const)), args[0])
    return reader.call(node, "coalesce", *(reader.adapt_literal(node, a, typed) for a in args))


def _read_nullif(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    value = reader.read(node.this)
    same = reader.compare(node, "eq", value, reader.read(node.args["expression"]))
    return reader.call(node, "case", same, Const(None, value.type.with_null()), value)


#: Dialects in which what is divided by zero is NULL: all quotients, or remainders and whole quotients of exact numbers.
NULL_BY_ZERO, NULL_REST_BY_ZERO = ("mysql", "sqlite"), ("mysql", "sqlite", "duckdb")
#: Dialects in which CEIL and FLOOR of a DOUBLE are a DOUBLE.
DOUBLE_STAYS = ("postgres", "duckdb")
#: Dialects in which ROUND of a DOUBLE takes the even one of two.
EVEN = ("postgres", "redshift", "mysql")
LOGARITHMS = {2: "log2", 10: "log10"}


def _read_sum(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """``+`` and ``-`` of numbers, of a date and an interval or days, of two dates (days) and of two
    timestamps (seconds)."""
    direction = 1 if isinstance(node, exp.Add) else -1
    shifted = shift_date(reader, node, direction)
    if shifted is not None:
        return shifted
    left, right = _read_operands(reader, node)
    if direction > 0 and left.type.kind == "int" and right.type.kind == "date":
        left, right = right, left
    if left.type.kind == "date" and right.type.kind == "int":
        return reader.call(node, "add_days", left, right if direction > 0 else reader.call(node, "neg", right))
    if direction < 0 and (left.type.kind, right.type.kind) == ("date", "date"):
        return reader.call(node, "days_between", left, right)
    if direction < 0 and {left.type.kind, right.type.kind} <= {"date", "timestamp"}:
        return reader.call(node, "seconds_between", left, right)
    if {left.type.kind, right.type.kind} & {"date", "timestamp"}:
        hint = "date + INTERVAL 'n' unit, date + days, or date - date"
        message = f"{left.type} {'+' if direction > 0 else '-'} {right.type}"
        reader.source.fail(node, message, "interval" if direction < 0 else "type-mismatch", hint)
    return reader.call(node, "add" if direction > 0 else "sub", left, right)


def _read_operands(reader: ExpressionReader, node: exp.Expr) -> tuple[Scalar, Scalar]:
    """Both sides; a number in quotes next to a number is one, in Spark a DOUBLE next to a DECIMAL."""
    left, right = reader.read(node.args["this"]), reader.read(node.args["expression"])
    return _adapt_number(reader, node, left, right), _adapt_number(reader, node, right, left)


def _adapt_number(reader: ExpressionReader, node: exp.Expr, scalar: Scalar, other: Scalar) -> Scalar:
    if not isinstance(scalar, Const) or not isinstance(scalar.value, str):
        return scalar
    if other.type.kind == "int":
        return reader.call(node, "cast", scalar, to=INT)
    if other.type.kind == "decimal" and reader.dialect in ("spark", "databricks"):
        return reader.call(node, "cast", scalar, to=DOUBLE)
    return reader.adapt_literal(node, scalar, other) if other.type.kind in ("decimal", "double") else scalar


def _read_divide(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """PostgreSQL divides integers without a remainder; elsewhere the quotient has decimals."""
    left, right = _read_operands(reader, node)
    if node.args.get("typed") and left.type.kind == "int" and right.type.kind == "int":
        return _divide_by(reader, node, "idiv", left, right, NULL_REST_BY_ZERO)
    return _divide_by(reader, node, "div", left, right, NULL_BY_ZERO)


def _read_rest(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    left, right = _read_operands(reader, node)
    if isinstance(node, exp.IntDiv) and reader.dialect == "duckdb" and {left.type.kind, right.type.kind} != {"int"}:
        # DuckDB cuts nothing off there: 7.5 // 2 is 3.75
        reader.source.fail(node, "// of numbers that are not INT", "type-mismatch", "a / b, or TRUNC(a / b)")
    return _divide_by(reader, node, "mod" if isinstance(node, exp.Mod) else "idiv", left, right, NULL_REST_BY_ZERO)


def _divide_by(
    reader: ExpressionReader, node: exp.Expr, op: str, left: Scalar, right: Scalar, null_by_zero: tuple[str, ...]
) -> Scalar:
    """A division, where some dialects have NULL for a divisor of zero: ``a / NULLIF(b, 0)``."""
    exact = left.type.is_numeric and right.type.is_numeric
    nonzero = isinstance(right, Const) and right.value not in (0, None)
    if reader.dialect in null_by_zero and exact and not nonzero:
        zero, null = reader.call(node, "eq", right, const(0)), Const(None, right.type.with_null())
        right = simplify(reader.call(node, "case", zero, null, right))
    return reader.call(node, op, left, right)


def _read_negative(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    inner = reader.read(node.this)
    if isinstance(inner, Const) and isinstance(inner.value, int | Decimal | float) and inner.type.kind != "bool":
        return Const(-inner.value, inner.type)
    return reader.call(node, "neg", inner)


def _read_round(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    op = "round" if isinstance(node, exp.Round) else "trunc"
    digits = node.args.get("decimals")
    value = reader.read(node.this)
    if op == "round" and value.type.kind == "double" and reader.dialect in EVEN:
        op = "round_even"
    if value.type.kind in ("date", "timestamp"):
        return truncate_date(reader, node, value, digits)
    return reader.call(node, op, value, *([reader.read(digits)] if digits is not None else []))


def _read_whole(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    if node.args.get("decimals") is not None or node.args.get("to") is not None:
        reader.source.fail(node, f"{reader.source.name(node)} with digits", "unsupported-expression", "ROUND or TRUNC")
    value, up = reader.read(node.this), isinstance(node, exp.Ceil)
    if value.type.kind != "double" or reader.dialect not in DOUBLE_STAYS:
        return reader.call(node, "ceil" if up else "floor", value)
    cut = reader.call(node, "trunc", value)
    beyond = reader.call(node, "lt" if up else "gt", cut, value)
    return reader.call(node, "add", cut, reader.call(node, "case", beyond, const(1.0 if up else -1.0), const(0.0)))


def _read_extreme(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    args = [reader.read(n) for n in (node.this, *node.expressions)]
    return reader.call(node, "greatest" if isinstance(node, exp.Greatest) else "least", *args)


def _read_logarithm(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """One argument is to the base of 10 (Spark's LOG with one is parsed as LN); two are base and number."""
    base, number = reader.read(node.this), node.args.get("expression")
    if number is None:
        return reader.call(node, "log10", base)
    known = LOGARITHMS.get(base.value) if isinstance(base, Const) and isinstance(base.value, int) else None
    args = (reader.read(number),) if known else (base, reader.read(number))
    return reader.call(node, known or "log", *args)


def _read_is_nan(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """Spark's is false for NULL."""
    tested = reader.call(node, "is_nan", reader.read(node.this))
    return reader.call(node, "coalesce", tested, const(False)) if reader.dialect in ("spark", "databricks") else tested


def _read_anonymous(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """Functions that this dialect of sqlglot does not know by name."""
    name, args = str(node.this).lower(), list(node.expressions)
    if name in NOWS and not args:
        return read_now(reader, node, NOWS[name])
    refuse_random(reader, node)
    found = next((read for (known, count), read in NAMED.items() if known == name and count == len(args)), None)
    if found is None:
        entry = reader.find_in_dictionary(node)
        if entry is not None:
            return entry(reader, node)
        message = f"{reader.source.name(node)} is not supported"
        reader.source.fail(node, message, "unsupported-expression", hint_call(reader, node))
    return found(reader, node, args)


def _read_operation(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """A call of M3, of a meaning in the dictionary: what is no text is cast where one is meant."""
    entry = FUNCTIONS[node.name]
    args = (_read_argument(reader, a, entry.parameter(i)) for i, a in enumerate(node.expressions))
    return reader.call(node, entry.name, *args)


def _read_argument(reader: ExpressionReader, node: exp.Expr, parameter: str) -> Scalar:
    """An argument, cast to text where one is meant, and a text to a date or timestamp."""
    scalar = reader.read_text(node) if parameter == "string" else reader.read(node)
    if parameter in ("moment", "timestamp", "date") and scalar.type.kind == "string":
        return reader.cast(node, scalar, DATE if parameter == "date" else TIMESTAMP)
    return scalar


def _read_as(form: type[exp.Expr], *names: str) -> Callable[[ExpressionReader, exp.Expr, list[exp.Expr]], Scalar]:
    """Reads a named function's arguments as another form's."""
    return lambda reader, node, args: HANDLERS[form](reader, form(**dict(zip(names, args, strict=True))))


def _read_call(op: str) -> Callable[[ExpressionReader, exp.Expr, list[exp.Expr]], Scalar]:
    return lambda reader, node, args: reader.call(node, op, *map(reader.read, args))


def _refuse_span(reader: ExpressionReader, node: exp.Expr, args: list[exp.Expr]) -> Scalar:
    hint = "t - u is a number of seconds; DATEDIFF, DATE_DIFF or TIMESTAMPDIFF of the dialect counts units"
    reader.source.fail(node, f"{node.name.upper()}, whose result is an interval", "interval", hint)


def _refuse_zone(reader: ExpressionReader, node: exp.Expr, args: list[exp.Expr]) -> Scalar:
    hint = "timestamps have no zone here: deliver them in UTC, with the local time in a column of its own"
    reader.source.fail(node, f"{node.name.upper()} with a zone other than 'UTC'", "time-zone", hint)


#: (name, number of arguments) -> how it is read.
NAMED: Mapping[tuple[str, int], Callable[[ExpressionReader, exp.Expr, list[exp.Expr]], Scalar]] = {
    ("date_part", 2): _read_as(exp.Extract, "this", "expression"),
    ("datepart", 2): _read_as(exp.Extract, "this", "expression"),
    ("make_date", 3): _read_call("make_date"),
    ("to_date", 1): lambda reader, node, args: reader.cast(node, reader.read(args[0]), DATE),
    ("isnull", 1): _read_call("is_null"),
    ("isnotnull", 1): lambda reader, node, args: reader.call(node, "not", reader.call(node, "is_null", reader.read(args[0]))),
    ("make_timestamp", 6): _read_call("make_timestamp"),
    ("mid", 3): _read_call("substring"),
    ("zeroifnull", 1): lambda reader, node, args: reader.call(node, "coalesce", reader.read(args[0]), const(0)),
    ("dateadd", 2): _read_as(exp.DateAdd, "this", "expression"),
    ("date_sub", 2): _read_as(exp.DateSub, "this", "expression"),
    ("dateadd", 3): _read_as(exp.TimestampAdd, "unit", "expression", "this"),
    ("timestampadd", 3): _read_as(exp.TimestampAdd, "unit", "expression", "this"),
    ("isodow", 1): lambda reader, node, args: HANDLERS[exp.Extract](reader, exp.Extract(this=exp.var("isodow"), expression=args[0])),
    ("datetrunc", 2): _read_as(exp.DateTrunc, "unit", "this"),
    **dict.fromkeys((("age", 1), ("age", 2), ("justify_days", 1), ("justify_hours", 1), ("to_days", 1), ("to_months", 1)), _refuse_span),
    **dict.fromkeys((("timezone", 2), ("at_timezone", 2), ("convert_tz", 3), ("switchoffset", 2)), _refuse_zone),
}  # fmt: skip

HANDLERS: Mapping[type[exp.Expr], Handler] = {
    **DATES,
    **dict.fromkeys(COMPARISONS, _read_comparison),
    exp.And: _read_logic,
    exp.Or: _read_logic,
    exp.Not: lambda reader, node: reader.call(node, "not", reader.read_condition(node.this)),
    exp.Xor: lambda reader, node: reader.call(
        node, "ne", *(reader.read_condition(node.args[n]) for n in ("this", "expression"))
    ),
    exp.Between: _read_between,
    exp.In: _read_in,
    exp.Is: _read_is,
    exp.Case: _read_case,
    exp.If: lambda reader, node: reader.choose(
        node, [reader.read_condition(node.this)], [node.args["true"], node.args.get("false")]
    ),
    exp.Nvl2: lambda reader, node: reader.choose(
        node,
        [reader.call(node, "not", reader.call(node, "is_null", reader.read(node.this)))],
        [node.args["true"], node.args.get("false")],
    ),
    exp.DecodeCase: _read_decode,
    exp.Coalesce: _read_coalesce,
    exp.Nullif: _read_nullif,
    exp.Tuple: refuse_form("a row of values", "compare rows by = or IN"),
    **TEXTS,
    exp.Add: _read_sum,
    exp.Sub: _read_sum,
    exp.Mul: lambda reader, node: reader.call(node, "mul", *_read_operands(reader, node)),
    exp.Div: _read_divide,
    exp.Mod: _read_rest,
    exp.IntDiv: _read_rest,
    exp.Neg: _read_negative,
    exp.Round: _read_round,
    exp.Trunc: _read_round,
    exp.Ceil: _read_whole,
    exp.Floor: _read_whole,
    exp.Greatest: _read_extreme,
    exp.Least: _read_extreme,
    exp.Log: _read_logarithm,
    exp.Pi: lambda _, node: const(math.pi),
    exp.IsNan: _read_is_nan,
    exp.Anonymous: _read_anonymous,
    Operation: _read_operation,
}


def make_reader(source: Source, leaf: Leaf) -> ExpressionReader:
    """A reader that knows all forms.

    Args:
        source: the text, for errors.
        leaf: asked first for every node, as :class:`ExpressionReader` says.
    """
    return ExpressionReader(source, leaf, HANDLERS)


def read_constant(node: exp.Expr, source: Source) -> object:
    """The value of an expression of literals.

    Raises:
        CompileError: it depends on something.
    """

    def refused(inner: exp.Expr) -> Scalar | None:
        if isinstance(inner, exp.Subquery) and {k for k, v in inner.this.args.items() if v} == {"expressions"}:
            return reader.read(inner.this.expressions[0])  # SELECT 5
        if isinstance(inner, exp.Column | exp.Query | exp.AggFunc | exp.Window):
            source.fail(node, "an expression that is not constant", "not-constant", "a number")
        return None

    reader = make_reader(source, refused)
    scalar = reader.read(node)
    if not isinstance(scalar, Const):
        source.fail(node, "an expression that is not constant", "not-constant", "a number")
    return scalar.value
