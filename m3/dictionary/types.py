"""Types of results by the rules of Spark SQL: decimal precision and scale, the common type of alternatives.

Exact numbers (INT and DECIMAL) never go through floats; an operation with a DOUBLE is a DOUBLE.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Protocol

from m3.datatypes import DOUBLE, INT, MAX_PRECISION, TIMESTAMP, Type
from m3.errors import ProgramError

__all__ = [
    "EXACT",
    "SPARK",
    "Operand",
    "Rule",
    "Value",
    "arithmetic_type",
    "as_decimal",
    "average_type",
    "bounded",
    "common_type",
    "constant",
    "first_type",
    "numeric_as_decimal",
    "quotient_type",
]


Value = int | Decimal | str | datetime.date | datetime.datetime | bool | float | None

#: Wide enough for the exact product of two 38-digit decimals, with room for sums.
EXACT = Context(prec=120, rounding=ROUND_HALF_UP)


class Operand(Protocol):
    """A typed argument: any scalar."""

    @property
    def type(self) -> Type:
        """The argument's type."""


Rule = Callable[[Sequence[Operand]], Type]


def constant(operand: Operand) -> Value:
    """The value of a literal; None for NULL and for everything else."""
    value: Value = getattr(operand, "value", None)
    return value


def first_type(args: Sequence[Operand]) -> Type:
    """The rule of functions that keep the type of their first argument."""
    return args[0].type.with_null(False)


INT64_DIGITS = 18
#: Decimals of quotients and averages: a tie of ROUND to d digits is at least 1 / (2 * 10^d * n) away from a quotient by n, so that
#: it is rounded right for n up to 10^(19 - d).
QUOTIENT_DECIMALS = 19
#: Dialects in which quotients and averages of DECIMALs have Spark's few decimals.
SPARK = ("spark", "databricks")


def numeric_as_decimal(t: Type) -> Type:
    """INT as DECIMAL(19, 0), wide enough for any int64; decimals as they are."""
    return Type("decimal", 19, 0) if t.kind == "int" else t


def as_decimal(scalar: Operand) -> Type:
    """The type of an exact operand; an integer literal counts with its own digits, as in Spark SQL."""
    t = scalar.type
    if not t.is_numeric:
        raise ProgramError(
            f"arithmetic on {t}", kind="type-mismatch", hint="only INT and DECIMAL are exact; CAST to DECIMAL(p, s)"
        )
    value = constant(scalar)
    if t.kind == "int" and isinstance(value, int):
        return Type("decimal", len(str(abs(value))), 0, t.nullable)
    return t


def arithmetic_type(op: str, args: Sequence[Operand]) -> Type:
    """The type of ``add``, ``sub``, ``mul``, ``div``, ``neg``, ``mod`` and ``idiv``."""
    if any(a.type.kind == "double" for a in args) and all(a.type.is_numeric or a.type.kind == "double" for a in args):
        return INT if op == "idiv" else DOUBLE
    types = [as_decimal(a) for a in args]
    if op == "neg":
        return INT if args[0].type.kind == "int" else types[0]
    a, b = (numeric_as_decimal(t) for t in types)
    whole = a.scale == 0 and b.scale == 0 and all(t.kind == "int" or t.precision <= INT64_DIGITS for t in types)
    if op == "idiv" or (op != "div" and whole):
        return INT
    if op in ("add", "sub"):
        scale = max(a.scale, b.scale)
        return bounded(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
    if op == "mul":
        return bounded(a.precision + b.precision + 1, a.scale + b.scale)
    if op == "mod":
        scale = max(a.scale, b.scale)
        return bounded(max(1, min(a.precision - a.scale, b.precision - b.scale) + scale), scale)
    scale = max(6, a.scale + b.precision + 1)
    return bounded(a.precision - a.scale + b.scale + scale, scale)


def average_type(t: Type, dialect: str | None) -> Type:
    """The type of AVG of an exact number: that of ``SUM / COUNT``.

    In Spark's dialect AVG(DECIMAL(p, s)) is DECIMAL(p + 4, s + 4). AVG(INT) is a DOUBLE there, and exact here.

    >>> str(average_type(INT, None)), str(average_type(Type("decimal", 15, 2), None)), str(average_type(Type("decimal", 15, 2), "spark"))
    ('DECIMAL(38, 19)', 'DECIMAL(38, 15)', 'DECIMAL(19, 6)')
    """
    if t.kind == "int":
        return _long_quotient(numeric_as_decimal(t))
    if dialect in SPARK:
        return Type("decimal", min(MAX_PRECISION, t.precision + 4), min(MAX_PRECISION, t.scale + 4))
    return _long_quotient(Type("decimal", min(MAX_PRECISION, t.precision + 10), t.scale))


def quotient_type(args: Sequence[Operand], dialect: str | None) -> Type:
    """The type of ``a / b`` of exact numbers, as SQL is compiled: in Spark's dialect, of DECIMALs, that of Spark, which has as few as 6
    decimals. Elsewhere it has 19, so that rounding it once more, comparing it or adding many of them up hardly ever shows.

    >>> from m3.scalars import Var, const
    >>> x = Var("x", Type("decimal", 9, 2))
    >>> str(quotient_type([x, const(3)], None)), str(quotient_type([x, const(3)], "spark"))
    ('DECIMAL(38, 19)', 'DECIMAL(13, 6)')
    """
    if dialect in SPARK and any(a.type.kind == "decimal" for a in args):
        return arithmetic_type("div", args)
    return _long_quotient(numeric_as_decimal(as_decimal(args[0])))


def _long_quotient(dividend: Type) -> Type:
    """38 digits: as many before the point as the dividend has there, and 19 behind it, if there is room for them; 6 at least. The
    digits that a product of it then has no room for are those in which it is not exact: ``x / 3 * 3`` is x."""
    room = max(MAX_PRECISION - (dividend.precision - dividend.scale), 6)
    return Type("decimal", MAX_PRECISION, min(max(QUOTIENT_DECIMALS, dividend.scale), room))


def bounded(precision: int, scale: int) -> Type:
    """Spark's rule for results beyond 38 digits: keep the integral digits, and at least min(scale, 6) decimals."""
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, 6))
        precision = MAX_PRECISION
    return Type("decimal", precision, scale)


def common_type(what: str, types: Sequence[Type]) -> Type:
    """The type of alternatives of one value.

    Raises:
        ProgramError: they are of different kinds; ``what`` says where.
    """
    result = types[0]
    for t in types[1:]:
        result = _common(what, result, t)
    if result.kind == "list":
        raise ProgramError(f"{what} of lists", kind="list-in-expression", hint="lists are columns of views")
    return result


def _common(what: str, a: Type, b: Type) -> Type:
    if a.same_as(b):
        return a
    kinds = {a.kind, b.kind}
    if kinds == {"date", "timestamp"}:
        return TIMESTAMP
    if "double" in kinds and all(t.is_numeric or t.kind == "double" for t in (a, b)):
        return DOUBLE
    if not (a.is_numeric and b.is_numeric):
        raise ProgramError(f"{what}: {a} and {b} differ", kind="type-mismatch", hint="add a CAST")
    a, b = numeric_as_decimal(a), numeric_as_decimal(b)
    scale = max(a.scale, b.scale)
    return Type("decimal", min(MAX_PRECISION, max(a.precision - a.scale, b.precision - b.scale) + scale), scale)
