"""Intervals of SQL: what is added to a date, as steps of months, days and seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from m3.scalars import Scalar, const

if TYPE_CHECKING:
    from m3.sql.expressions import ExpressionReader

__all__ = ["Steps", "interval_seconds", "interval_steps", "steps_of", "unit_name"]

#: Operation that shifts a date -> by how much. Applied in this order, as PostgreSQL and Spark do.
Steps = Mapping[str, Scalar]

ORDER = ("add_months", "add_days", "add_seconds")
#: Unit -> the operation, and how many of its units it is.
UNITS: Mapping[str, tuple[str, int]] = {
    "YEAR": ("add_months", 12), "QUARTER": ("add_months", 3), "MONTH": ("add_months", 1), "WEEK": ("add_days", 7),
    "DAY": ("add_days", 1), "HOUR": ("add_seconds", 3600), "MINUTE": ("add_seconds", 60), "SECOND": ("add_seconds", 1),
}  # fmt: skip
DAY_S = 86_400
ALIASES = {
    "Y": "YEAR", "YR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "Q": "QUARTER", "QTR": "QUARTER", "MON": "MONTH",
    "MM": "MONTH", "MONS": "MONTH", "W": "WEEK", "WK": "WEEK", "D": "DAY", "DD": "DAY", "H": "HOUR", "HR": "HOUR",
    "MI": "MINUTE", "MIN": "MINUTE", "S": "SECOND", "SEC": "SECOND",
}  # fmt: skip
HINT = (
    "e.g. INTERVAL '90' DAY or INTERVAL '1 year 2 months'; units: YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND"
)
PART = re.compile(r"\s*([-+]?[0-9]+)\s*([A-Za-z]+)\s*")


def unit_name(text: str) -> str:
    """A unit of time as it is named here: ``months`` and ``mon`` are MONTH; an unknown one stays as it is."""
    upper = text.upper().partition("(")[0]
    single = upper if upper in UNITS or upper in ALIASES else upper.removesuffix("S")
    return ALIASES.get(single, single)


def interval_steps(reader: ExpressionReader, node: exp.Expr) -> Steps | None:
    """The steps of an interval expression; None if ``node`` is something else.

    Raises:
        CompileError: an interval that is not understood.
    """
    node = node.unnest()
    if isinstance(node, exp.Interval):
        return _interval(reader, node)
    if isinstance(node, exp.Cast) and isinstance(node.args["to"].this, exp.Interval):
        return _interval(reader, exp.Interval(this=node.this, unit=node.args["to"].this.args.get("unit")))
    if isinstance(node, exp.Neg):
        return _scaled(reader, node, interval_steps(reader, node.this), const(-1))
    if isinstance(node, exp.Mul):
        return _product(reader, node)
    if isinstance(node, exp.Add | exp.Sub):
        left = interval_steps(reader, node.args["this"])
        right = interval_steps(reader, node.args["expression"]) if left is not None else None
        if left is not None and right is not None:
            sign = const(1 if isinstance(node, exp.Add) else -1)
            return _merged(reader, node, left, _scaled(reader, node, right, sign) or {})
    return None


def interval_seconds(reader: ExpressionReader, node: exp.Expr) -> Scalar | None:
    """An interval as a number of seconds, to be compared with a difference of timestamps; None for everything else.

    Raises:
        CompileError: an interval with months, whose lengths differ.
    """
    steps = interval_steps(reader, node)
    if steps is None:
        return None
    if "add_months" in steps:
        reader.source.fail(node, "an interval with months", "interval", "months differ in length: compare with days")
    amounts = [_times(reader, node, a, const(DAY_S if op == "add_days" else 1)) for op, a in steps.items()]
    return amounts[0] if len(amounts) == 1 else reader.call(node, "add", *amounts)


def _product(reader: ExpressionReader, node: exp.Expr) -> Steps | None:
    for one, other in (("this", "expression"), ("expression", "this")):
        steps = interval_steps(reader, node.args[one])
        if steps is not None:
            return _scaled(reader, node, steps, reader.read(node.args[other]))
    return None


def _scaled(reader: ExpressionReader, node: exp.Expr, steps: Steps | None, factor: Scalar) -> Steps | None:
    if steps is None:
        return None
    if factor.type.kind != "int":
        reader.source.fail(node, f"an interval times {factor.type}", "interval", "an integer number of units")
    return {op: _times(reader, node, factor, amount) for op, amount in steps.items()}


def _times(reader: ExpressionReader, node: exp.Expr, a: Scalar, b: Scalar) -> Scalar:
    return b if a == const(1) else a if b == const(1) else reader.call(node, "mul", a, b)


def _merged(reader: ExpressionReader, node: exp.Expr, left: Steps, right: Steps) -> Steps:
    result = dict(left)
    for op, amount in right.items():
        result[op] = reader.call(node, "add", result[op], amount) if op in result else amount
    return {op: result[op] for op in ORDER if op in result}


def _interval(reader: ExpressionReader, node: exp.Expr) -> Steps:
    unit, amount = node.args.get("unit"), node.this
    if unit is None and isinstance(amount, exp.Literal):
        return _compound(reader, node, str(amount.this))
    if unit is None or amount is None or isinstance(unit, exp.IntervalSpan):
        reader.source.fail(node, "an interval that is not INTERVAL 'n' unit", "interval", HINT)
    return steps_of(reader, node, amount, unit)


def steps_of(reader: ExpressionReader, node: exp.Expr, amount: exp.Expr, unit: exp.Expr) -> Steps:
    """The step of an amount (a literal, in quotes or not, or an integer expression) of a unit."""
    name = unit_name(unit.name)
    if name not in UNITS:
        reader.source.fail(node, f"bad interval: unknown unit {unit.name}", "interval", HINT)
    op, size = UNITS[name]
    if isinstance(amount, exp.Literal):
        if not re.fullmatch(r"\s*[-+]?[0-9]+\s*", str(amount.this)):
            reader.source.fail(node, f"bad interval: {amount.this} is not a whole number", "interval", HINT)
        return {op: const(int(amount.this) * size)}
    scalar = reader.read(amount)
    if scalar.type.kind != "int":
        reader.source.fail(node, f"an interval of {scalar.type} units", "interval", "an integer number of units")
    return {op: _times(reader, node, scalar, const(size))}


def _compound(reader: ExpressionReader, node: exp.Expr, text: str) -> Steps:
    """``1 year 2 months``."""
    parts = PART.findall(text)
    if not parts or PART.sub("", text):
        reader.source.fail(node, f"bad interval: {text!r}", "interval", HINT)
    steps: Steps = {}
    for number, unit in parts:
        part = steps_of(reader, node, exp.Literal.string(number), exp.var(unit))
        steps = _merged(reader, node, steps, part)
    return steps
