"""Scalar expressions over the variables of one event: the arithmetic, filters and key expressions of statements.

Grammar of the frozen IR (every node carries its :class:`~m3.datatypes.Type`, nullability included)::

    Scalar := Const(value, type) | Var(name, type) | Call(op, args, type)

``value`` is None, int, Decimal, str, date, datetime or bool. Build calls with :func:`call`, which derives the type by
the rules of Spark SQL (decimal precision and scale, ANSI mode) and checks the arguments. The meaning of every
operation, NULL included, is SQL's; :mod:`m3.evaluate` is its reference in plain Python.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from m3.datatypes import BOOL, DATE, INT, MAX_PRECISION, STRING, TIMESTAMP, Type
from m3.errors import ProgramError

__all__ = [
    "OPERATIONS",
    "Call",
    "Const",
    "Scalar",
    "Var",
    "call",
    "conjuncts",
    "const",
    "rename",
    "substitute",
    "variables",
]


@dataclass(frozen=True)
class Const:
    """A literal."""

    value: int | Decimal | str | datetime.date | datetime.datetime | bool | None
    type: Type


@dataclass(frozen=True)
class Var:
    """A variable: an event parameter, a loop variable, or a column of a view's row."""

    name: str
    type: Type


@dataclass(frozen=True)
class Call:
    """An operation applied to arguments; ``op`` is one of :data:`OPERATIONS`."""

    op: str
    args: tuple[Scalar, ...]
    type: Type


Scalar = Const | Var | Call

ARITHMETIC = ("add", "sub", "mul", "div", "neg")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
#: op -> what it is. ``case``: (cond, value)*, else. ``like``: text, constant pattern. ``cast``: to the node's own type.
OPERATIONS: Mapping[str, str] = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b, rounded half up", "neg": "-a",
    "eq": "a = b", "ne": "a <> b", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b",
    "and": "three-valued conjunction", "or": "three-valued disjunction", "not": "three-valued negation",
    "is_null": "a IS NULL", "in": "a IN (constants)", "like": "a LIKE constant pattern",
    "case": "CASE WHEN c THEN v ... ELSE e END", "coalesce": "first argument that is not NULL", "cast": "CAST(a AS type)",
    "year": "year of a date", "month": "month of a date", "day": "day of a date",
    "substring": "SUBSTRING(a, constant start, constant length)", "upper": "UPPER(a)", "lower": "LOWER(a)",
    "concat": "a || b",
}  # fmt: skip


def const(value: int | Decimal | str | datetime.date | bool) -> Const:
    """A literal with the narrowest type that holds it, as Spark SQL types literals."""
    match value:
        case bool():
            return Const(value, BOOL)
        case int():
            return Const(value, INT)
        case Decimal():
            _, digits, exponent = value.as_tuple()
            scale = max(0, -int(exponent))
            return Const(value, Type("decimal", max(len(digits) + max(0, int(exponent)), scale, 1), scale))
        case str():
            return Const(value, STRING)
        case datetime.datetime():
            return Const(value, TIMESTAMP)
        case datetime.date():
            return Const(value, DATE)
    raise ProgramError(f"no type for the literal {value!r}", kind="bad-literal")


def call(op: str, *args: Scalar, to: Type | None = None) -> Call:
    """An operation with its derived type.

    Args:
        op: one of :data:`OPERATIONS`.
        args: the arguments, typed.
        to: the target type of ``cast``, ignored otherwise.

    Raises:
        ProgramError: the operation is unknown or an argument's type does not fit it.
    """
    if op not in OPERATIONS:
        raise ProgramError(
            f"unknown operation {op!r}", kind="unknown-operation", hint=f"one of {', '.join(OPERATIONS)}"
        )
    nullable = any(a.type.nullable for a in args)
    if op == "cast":
        assert to is not None
        return Call(op, args, to.with_null(nullable))
    return Call(op, args, _result_type(op, args).with_null(_nullable(op, args, nullable)))


def _nullable(op: str, args: tuple[Scalar, ...], any_nullable: bool) -> bool:
    if op == "is_null":
        return False
    if op == "coalesce":
        return all(a.type.nullable for a in args)
    if op == "case":
        return any(a.type.nullable for a in (*args[1::2], args[-1]))
    return any_nullable


def _result_type(op: str, args: tuple[Scalar, ...]) -> Type:
    types = [a.type for a in args]
    if op in ARITHMETIC:
        return _arithmetic_type(op, [as_decimal(a) for a in args])
    if op in COMPARISONS or op == "in":
        for other in types[1:]:
            _require_comparable(op, types[0], other)
        return BOOL
    if op in ("and", "or", "not"):
        return _require(op, types, "bool", BOOL)
    if op == "is_null":
        return BOOL
    if op == "like":
        return _require(op, types, "string", BOOL)
    if op in ("year", "month", "day"):
        return _require(op, types, "date", INT, "timestamp")
    if op in ("upper", "lower", "concat"):
        return _require(op, types, "string", STRING)
    if op == "substring":
        return _require(op, types[:1], "string", STRING)
    if op == "coalesce":
        return _common_type(op, types)
    return _common_type(op, [*types[1::2], types[-1]])  # case


def _require(op: str, types: list[Type], kind: str, result: Type, *also: str) -> Type:
    for t in types:
        if t.kind not in (kind, *also):
            raise ProgramError(
                f"{OPERATIONS[op]} does not take {t}", kind="type-mismatch", hint=f"it takes {kind.upper()}"
            )
    return result


def _require_comparable(op: str, a: Type, b: Type) -> None:
    if a.kind != b.kind and not (a.is_numeric and b.is_numeric) and {a.kind, b.kind} != {"date", "timestamp"}:
        raise ProgramError(f"cannot compare {a} with {b}", kind="type-mismatch", hint="add a CAST to one side")


def _common_type(op: str, types: list[Type]) -> Type:
    result = types[0]
    for t in types[1:]:
        if t.same_as(result):
            continue
        if not (t.is_numeric and result.is_numeric):
            raise ProgramError(f"{OPERATIONS[op]}: {result} and {t} differ", kind="type-mismatch", hint="add a CAST")
        a, b = numeric_as_decimal(result), numeric_as_decimal(t)
        scale = max(a.scale, b.scale)
        result = Type("decimal", min(MAX_PRECISION, max(a.precision - a.scale, b.precision - b.scale) + scale), scale)
    return result


def numeric_as_decimal(t: Type) -> Type:
    """INT as DECIMAL(19, 0), wide enough for any int64; decimals as they are."""
    return Type("decimal", 19, 0) if t.kind == "int" else t


def as_decimal(scalar: Scalar) -> Type:
    """The type of an arithmetic operand; an integer literal counts with its own digits, as in Spark SQL."""
    t = scalar.type
    if not t.is_numeric:
        raise ProgramError(
            f"arithmetic on {t}", kind="type-mismatch", hint="only INT and DECIMAL are exact; CAST to DECIMAL(p, s)"
        )
    if t.kind == "int" and isinstance(scalar, Const) and isinstance(scalar.value, int):
        return Type("decimal", len(str(abs(scalar.value))), 0, t.nullable) if scalar.value is not None else t
    return t


def _arithmetic_type(op: str, types: list[Type]) -> Type:
    if op == "neg":
        return types[0] if types[0].scale or types[0].kind == "int" else INT
    a, b = (numeric_as_decimal(t) for t in types)
    if op != "div" and a.scale == 0 and b.scale == 0 and all(t.kind == "int" or t.precision <= 18 for t in types):
        return INT
    if op in ("add", "sub"):
        scale = max(a.scale, b.scale)
        return _bounded(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)
    if op == "mul":
        return _bounded(a.precision + b.precision + 1, a.scale + b.scale)
    scale = max(6, a.scale + b.precision + 1)
    return _bounded(a.precision - a.scale + b.scale + scale, scale)


def _bounded(precision: int, scale: int) -> Type:
    """Spark's rule for results beyond 38 digits: keep the integral digits, and at least min(scale, 6) decimals."""
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, 6))
        precision = MAX_PRECISION
    return Type("decimal", precision, scale)


def variables(scalar: Scalar) -> Iterator[str]:
    """Names of the variables in ``scalar``, each as often as it occurs."""
    if isinstance(scalar, Var):
        yield scalar.name
    elif isinstance(scalar, Call):
        for arg in scalar.args:
            yield from variables(arg)


def substitute(scalar: Scalar, by: Mapping[str, Scalar]) -> Scalar:
    """``scalar`` with the named variables replaced; types are kept, so replacements must have the variables' types."""
    if isinstance(scalar, Var):
        return by.get(scalar.name, scalar)
    if isinstance(scalar, Call):
        return Call(scalar.op, tuple(substitute(a, by) for a in scalar.args), scalar.type)
    return scalar


def rename(scalar: Scalar, names: Mapping[str, str]) -> Scalar:
    """``scalar`` with variables renamed."""
    if isinstance(scalar, Var):
        return Var(names.get(scalar.name, scalar.name), scalar.type)
    if isinstance(scalar, Call):
        return Call(scalar.op, tuple(rename(a, names) for a in scalar.args), scalar.type)
    return scalar


def conjuncts(scalar: Scalar) -> Iterator[Scalar]:
    """The operands of the topmost conjunction: ``a AND (b AND c)`` gives a, b, c."""
    if isinstance(scalar, Call) and scalar.op == "and":
        for arg in scalar.args:
            yield from conjuncts(arg)
    else:
        yield scalar
