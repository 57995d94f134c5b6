"""SQL scalar expressions (sqlglot) -> typed :mod:`m3.scalars`, with constants folded.

A reader never guesses: a function or form that is not listed here is a CompileError that names the nearest one that is.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from sqlglot import exp

from m3.datatypes import BOOL, DATE, DOUBLE, INT, INT64_MAX, STRING, TIMESTAMP, Type
from m3.errors import ProgramError, ValueProblem
from m3.evaluate import evaluate
from m3.scalars import Call, Const, Scalar, call, const
from m3.sql.dates import shifted
from m3.sql.places import Source

__all__ = ["ExpressionReader"]

Leaf = Callable[[exp.Expr], Scalar | None]

BINARY: Mapping[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "sub", exp.Mul: "mul", exp.Div: "div",
    exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt", exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge",
}  # fmt: skip
UNARY: Mapping[type[exp.Expr], str] = {
    exp.Not: "not", exp.Upper: "upper", exp.Lower: "lower", exp.Year: "year", exp.Month: "month", exp.Day: "day",
    exp.DayOfMonth: "day",
}  # fmt: skip
TYPES: Mapping[str, Type] = {
    "INT": INT, "BIGINT": INT, "SMALLINT": INT, "TINYINT": INT, "DOUBLE": DOUBLE, "FLOAT": DOUBLE, "TEXT": STRING,
    "VARCHAR": STRING, "CHAR": STRING, "DATE": DATE, "TIMESTAMP": TIMESTAMP, "TIMESTAMPNTZ": TIMESTAMP,
    "DATETIME": TIMESTAMP, "BOOLEAN": BOOL,
}  # fmt: skip
SUPPORTED = "supported: + - * / comparisons AND OR NOT BETWEEN IN LIKE IS NULL CASE COALESCE NULLIF CAST EXTRACT "
SUPPORTED += "YEAR MONTH DAY SUBSTRING UPPER LOWER ||"


class ExpressionReader:
    """Reads expressions of one SQL text.

    Args:
        source: the text, for errors.
        leaf: asked first for every node; a scalar it returns is taken as it is. It must know columns.
    """

    def __init__(self, source: Source, leaf: Leaf) -> None:
        self.source, self.leaf = source, leaf

    def read(self, node: exp.Expr) -> Scalar:
        """The scalar that ``node`` means.

        Raises:
            CompileError: an unsupported form, or types that do not fit, at the node's place.
        """
        known = self.leaf(node)
        if known is not None:
            return known
        if type(node) in BINARY:
            return self._binary(BINARY[type(node)], node)
        if type(node) in UNARY:
            return self._call(node, UNARY[type(node)], self.read(node.this))
        handler = _HANDLERS.get(type(node))
        if handler is None:
            self.source.fail(node, f"{node.key.upper()} is not supported", "unsupported-expression", SUPPORTED)
        return handler(self, node)

    def _call(self, node: exp.Expr, op: str, *args: Scalar, to: Type | None = None) -> Scalar:
        """A typed call, folded to a literal when all arguments are literals."""
        try:
            result = call(op, *args, to=to)
            if all(isinstance(a, Const) for a in args) and result.type.kind != "double":
                value = evaluate(result, {})
                assert not isinstance(value, float)
                return Const(value, result.type.with_null(value is None))
            return result
        except (ProgramError, ValueProblem) as error:
            self.source.fail(node, error.message, error.kind, error.hint)

    def _binary(self, op: str, node: exp.Expr) -> Scalar:
        left, right = node.args["this"], node.args["expression"]
        if isinstance(right, exp.Interval):
            return self._shift(node, self.read(left), right, 1 if op == "add" else -1)
        if op in ("add", "sub", "mul", "div"):
            return self._call(node, op, self.read(left), self.read(right))
        return self._compare(node, op, self.read(left), self.read(right))

    def _compare(self, node: exp.Expr, op: str, left: Scalar, right: Scalar) -> Scalar:
        return self._call(node, op, self._like_other(node, left, right), self._like_other(node, right, left))

    def _like_other(self, node: exp.Expr, scalar: Scalar, other: Scalar) -> Scalar:
        """A string literal compared with a date or timestamp is read as one."""
        if isinstance(scalar, Const) and scalar.type.kind == "string" and other.type.kind in ("date", "timestamp"):
            return self._call(node, "cast", scalar, to=other.type.with_null(False))
        return scalar

    def _shift(self, node: exp.Expr, start: Scalar, interval: exp.Interval, direction: int) -> Scalar:
        if not isinstance(start, Const) or not isinstance(start.value, datetime.date):
            hint = "only DATE '...' +/- INTERVAL 'n' unit; move the interval to the constant side"
            self.source.fail(node, "an interval added to something that is not constant", "interval", hint)
        unit = interval.args.get("unit")
        amount = interval.this
        if not isinstance(amount, exp.Literal) or unit is None:
            self.source.fail(
                interval, "an interval that is not INTERVAL 'n' unit", "interval", "e.g. INTERVAL '90' DAY"
            )
        try:
            return const(shifted(start.value, direction * int(amount.this), unit.name.upper()))
        except ValueError as error:
            self.source.fail(interval, f"bad interval: {error}", "interval", "units: DAY, WEEK, MONTH, YEAR")

    def _date_add(self, node: exp.Expr) -> Scalar:
        step = node.args["expression"]
        interval = step if isinstance(step, exp.Interval) else exp.Interval(this=step, unit=node.args.get("unit"))
        return self._shift(node, self.read(node.this), interval, -1 if isinstance(node, exp.DateSub) else 1)

    def _literal(self, node: exp.Expr) -> Scalar:
        text = str(node.this)
        if node.args.get("is_string"):
            return const(text)
        if not set(text) <= set("0123456789."):
            hint = "write it with a decimal point and no exponent"
            self.source.fail(node, f"{text} is a floating-point literal", "float-literal", hint)
        value = Decimal(text)
        return const(int(text) if text.isdigit() and int(text) <= INT64_MAX else value)

    def _null(self, node: exp.Expr) -> Scalar:
        self.source.fail(node, "NULL without a type", "untyped-null", "write CAST(NULL AS type)")

    def _cast(self, node: exp.Expr) -> Scalar:
        to = self._type(node.args["to"])
        if isinstance(node.this, exp.Null):
            return Const(None, to.with_null())
        return self._call(node, "cast", self.read(node.this), to=to)

    def _type(self, node: exp.Expr) -> Type:
        assert isinstance(node, exp.DataType)
        kind = node.this.value
        if kind == "DECIMAL":
            sizes = [int(p.this.name) for p in node.expressions] or [10]
            return Type("decimal", sizes[0], sizes[1] if len(sizes) > 1 else 0)
        if kind not in TYPES:
            self.source.fail(
                node, f"type {node.sql()} is not supported", "unsupported-type", f"one of {', '.join(TYPES)}"
            )
        return TYPES[kind]

    def _logic(self, node: exp.Expr) -> Scalar:
        """Nested ANDs (or ORs) become one flat call."""
        op = "and" if isinstance(node, exp.And) else "or"
        args: list[Scalar] = []
        for side in (node.args["this"], node.args["expression"]):
            scalar = self.read(side)
            args.extend(scalar.args if isinstance(scalar, Call) and scalar.op == op else (scalar,))
        return self._call(node, op, *args)

    def _between(self, node: exp.Expr) -> Scalar:
        value = self.read(node.this)
        low = self._compare(node, "ge", value, self.read(node.args["low"]))
        return self._call(node, "and", low, self._compare(node, "le", value, self.read(node.args["high"])))

    def _in(self, node: exp.Expr) -> Scalar:
        value = self.read(node.this)
        if node.args.get("query") or not node.expressions:
            self.source.fail(node, "IN over a subquery", "subquery", "list the constants, or join the table instead")
        options = [self._like_other(node, self.read(e), value) for e in node.expressions]
        if not all(isinstance(o, Const) for o in options):
            self.source.fail(node, "IN over expressions", "in-list", "only constants; write a = b OR a = c")
        return self._call(node, "in", value, *options)

    def _like(self, node: exp.Expr) -> Scalar:
        pattern = self.read(node.args["expression"])
        if not isinstance(pattern, Const) or "\\" in str(pattern.value):
            self.source.fail(
                node, "LIKE with this pattern", "like-pattern", "a constant pattern of % and _, no escapes"
            )
        return self._call(node, "like", self.read(node.this), pattern)

    def _is(self, node: exp.Expr) -> Scalar:
        if not isinstance(node.args["expression"], exp.Null):
            self.source.fail(node, "IS with something other than NULL", "unsupported-expression", "IS [NOT] NULL")
        return self._call(node, "is_null", self.read(node.this))

    def _case(self, node: exp.Expr) -> Scalar:
        operand = self.read(node.this) if node.this else None
        conditions: list[Scalar] = []
        for branch in node.args["ifs"]:
            test = self.read(branch.this)
            conditions.append(test if operand is None else self._compare(branch, "eq", operand, test))
        results = [*(b.args["true"] for b in node.args["ifs"]), node.args.get("default")]
        return self._choice(node, conditions, results)

    def _if(self, node: exp.Expr) -> Scalar:
        return self._choice(node, [self.read(node.this)], [node.args["true"], node.args.get("false")])

    def _choice(self, node: exp.Expr, conditions: list[Scalar], results: list[exp.Expr | None]) -> Scalar:
        *values, otherwise = self._values(node, results)
        return self._call(node, "case", *(x for pair in zip(conditions, values, strict=True) for x in pair), otherwise)

    def _values(self, node: exp.Expr, nodes: Iterable[exp.Expr | None]) -> list[Scalar]:
        """Alternatives of one value: a bare NULL takes the type of the others."""
        scalars = [None if n is None or isinstance(n, exp.Null) else self.read(n) for n in nodes]
        known = [s.type for s in scalars if s is not None]
        if not known:
            self._null(node)
        return [s if s is not None else Const(None, known[0].with_null()) for s in scalars]

    def _coalesce(self, node: exp.Expr) -> Scalar:
        return self._call(node, "coalesce", *self._values(node, [node.this, *node.expressions]))

    def _nullif(self, node: exp.Expr) -> Scalar:
        value = self.read(node.this)
        same = self._compare(node, "eq", value, self.read(node.args["expression"]))
        return self._call(node, "case", same, Const(None, value.type.with_null()), value)

    def _extract(self, node: exp.Expr) -> Scalar:
        part = node.this.name.lower()
        if part not in ("year", "month", "day"):
            self.source.fail(node, f"EXTRACT({part.upper()})", "unsupported-expression", "YEAR, MONTH or DAY")
        return self._call(node, part, self.read(node.args["expression"]))

    def _substring(self, node: exp.Expr) -> Scalar:
        start, length = node.args.get("start"), node.args.get("length")
        bounds = [self.read(n) if n else const(2**31 if i else 1) for i, n in enumerate((start, length))]
        if not all(isinstance(b, Const) and b.type.kind == "int" for b in bounds):
            self.source.fail(node, "SUBSTRING with computed bounds", "substring", "start and length must be constants")
        return self._call(node, "substring", self.read(node.this), *bounds)

    def _concat(self, node: exp.Expr) -> Scalar:
        parts = node.expressions or [node.args["this"], node.args["expression"]]
        args: list[Scalar] = []
        for part in parts:
            scalar = self.read(part)
            args.extend(scalar.args if isinstance(scalar, Call) and scalar.op == "concat" else (scalar,))
        return self._call(node, "concat", *args)

    def _negative(self, node: exp.Expr) -> Scalar:
        inner = self.read(node.this)
        if isinstance(inner, Const) and isinstance(inner.value, int | Decimal) and inner.type.is_numeric:
            return Const(-inner.value, inner.type)
        return self._call(node, "neg", inner)


Handler = Callable[[ExpressionReader, exp.Expr], Scalar]
_HANDLERS: Mapping[type[exp.Expr], Handler] = {
    exp.Paren: lambda reader, node: reader.read(node.this),
    exp.Boolean: lambda _, node: const(bool(node.this)),
    exp.Literal: ExpressionReader._literal,
    exp.Null: ExpressionReader._null,
    exp.Neg: ExpressionReader._negative,
    exp.Cast: ExpressionReader._cast,
    exp.And: ExpressionReader._logic,
    exp.Or: ExpressionReader._logic,
    exp.Between: ExpressionReader._between,
    exp.In: ExpressionReader._in,
    exp.Like: ExpressionReader._like,
    exp.Is: ExpressionReader._is,
    exp.Case: ExpressionReader._case,
    exp.If: ExpressionReader._if,
    exp.Coalesce: ExpressionReader._coalesce,
    exp.Nullif: ExpressionReader._nullif,
    exp.Extract: ExpressionReader._extract,
    exp.Substring: ExpressionReader._substring,
    exp.DPipe: ExpressionReader._concat,
    exp.Concat: ExpressionReader._concat,
    exp.DateAdd: ExpressionReader._date_add,
    exp.DateSub: ExpressionReader._date_add,
}
