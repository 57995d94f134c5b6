"""Scalar expressions over the variables of one event: the arithmetic, filters and key expressions of statements.

Grammar of the frozen IR (every node carries its :class:`~m3.datatypes.Type`, nullability included)::

    Scalar := Const(value, type) | Var(name, type, scope?) | Call(op, args, type)

``value`` is None, int, Decimal, float (DOUBLE only), str, date, datetime or bool. Build calls with :func:`call`, which derives the type by
the rules of Spark SQL (decimal precision and scale, ANSI mode) and checks the arguments. The meaning of every
operation, NULL included, is SQL's; :mod:`m3.evaluate` is its reference in plain Python. An operation **fails** where it has no
value: a division by zero, a result that does not fit. ``attempt`` and ``fails`` turn that into values (:mod:`m3.failures`).
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, hash_once
from m3.dictionary import ACCEPTED, CONVERTED, FUNCTIONS
from m3.dictionary.types import arithmetic_type, as_decimal, common_type, numeric_as_decimal
from m3.errors import ProgramError, Span

__all__ = [
    "OPERATIONS",
    "STRICT",
    "Call",
    "Const",
    "Key",
    "Scalar",
    "Scope",
    "Var",
    "as_decimal",
    "bare",
    "call",
    "conjuncts",
    "const",
    "named",
    "numeric_as_decimal",
    "rename",
    "scopes_of",
    "substitute",
    "variables",
    "vars_of",
]


@hash_once
@dataclass(frozen=True)
class Const:
    """A literal."""

    value: int | Decimal | float | str | datetime.date | datetime.datetime | bool | None
    type: Type


@dataclass(frozen=True, order=True)
class Scope:
    """What a variable belongs to while SQL is compiled; ``label`` is for people.

    ``kind`` is ``row``, an occurrence of a relation, or something of a query: ``table`` (of FROM), ``subquery``,
    ``window``, ``group``, ``order`` (only ordered by), ``link`` (what a subquery is asked about), ``part`` (what a step
    of the compiler names for itself)."""

    kind: str
    number: int
    label: str = field(default="", compare=False)


#: A variable's name, or its scope and its name there.
Key = str | tuple[Scope, str]


@hash_once
@dataclass(frozen=True)
class Var:
    """A variable: an event parameter, a loop variable, or a column of a view's row.

    While SQL is compiled a variable has a ``scope``, and names are for people: two variables are the same where ``key``
    is. In a program no variable has one.

    >>> from m3.datatypes import INT
    >>> Var("a", INT, Scope("table", 1, "o#1")).key == Var("a", INT, Scope("row", 2, "o")).key
    False
    """

    name: str
    type: Type
    scope: Scope | None = None

    @property
    def key(self) -> Key:
        """What tells it from others: its name, within its scope."""
        return self.name if self.scope is None else (self.scope, self.name)


@hash_once
@dataclass(frozen=True)
class Call:
    """An operation applied to arguments; ``op`` is one of :data:`OPERATIONS`. ``span``: where it is written, for errors."""

    op: str
    args: tuple[Scalar, ...]
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)


Scalar = Const | Var | Call

ARITHMETIC = ("add", "sub", "mul", "div", "neg")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "same")
#: op -> what it is: the operators, and the functions of :mod:`m3.dictionary`. ``case``: (cond, value)*, else. ``cast`` and
#: ``try_cast``: to the node's own type.
OPERATIONS: Mapping[str, str] = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b, rounded half up", "neg": "-a",
    "eq": "a = b", "ne": "a <> b", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b",
    "same": "a IS NOT DISTINCT FROM b", "and": "three-valued conjunction", "or": "three-valued disjunction",
    "not": "three-valued negation", "is_null": "a IS NULL", "in": "a IN (constants)",
    "case": "CASE WHEN c THEN v ... ELSE e END", "coalesce": "first argument that is not NULL", "cast": "CAST(a AS type)",
    "attempt": "a; where it fails, NULL if it may be NULL, else 0, FALSE, an empty text, the first of January 1970",
    "fails": "1 where a fails, else 0",
    "try_cast": "CAST(a AS type), or NULL where a has no such value",
    **{f.name: f.text for f in FUNCTIONS.values()},
}  # fmt: skip
#: Operations that are NULL exactly when an argument is.
STRICT = frozenset({*ARITHMETIC, *COMPARISONS, "not", "cast"} - {"same"}) | {
    f.name for f in FUNCTIONS.values() if f.nulls == "strict"
}
NEVER_NULL = ("is_null", "same", "fails")


def const(value: int | Decimal | float | str | datetime.date | bool) -> Const:
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
        case float() if math.isfinite(value):
            return Const(value, DOUBLE)
        case str():
            return Const(value, STRING)
        case datetime.datetime():
            return Const(value, TIMESTAMP)
        case datetime.date():
            return Const(value, DATE)
    raise ProgramError(f"no type for the literal {value!r}", kind="bad-literal")


def call(op: str, *args: Scalar, to: Type | None = None) -> Scalar:
    """An operation with its derived type. Arguments are cast where SQL does so: to DOUBLE, and to TIMESTAMP.

    Args:
        op: one of :data:`OPERATIONS`.
        args: the arguments, typed.
        to: the target type of ``cast`` and ``try_cast``, ignored otherwise.

    Raises:
        ProgramError: the operation is unknown or an argument's type does not fit it.
    """
    if op not in OPERATIONS:
        raise ProgramError(
            f"unknown operation {op!r}", kind="unknown-operation", hint=f"one of {', '.join(OPERATIONS)}"
        )
    if op in ("cast", "try_cast"):
        assert to is not None
        return Call(op, args, to.with_null(op == "try_cast" or any(a.type.nullable for a in args)))
    args = _convert_arguments(op, args)
    return Call(op, args, _result_type(op, args).with_null(_nullable(op, args)))


def _nullable(op: str, args: tuple[Scalar, ...]) -> bool:
    if op in NEVER_NULL:
        return False
    if op == "coalesce":
        return all(a.type.nullable for a in args)
    if op == "case":
        return any(a.type.nullable for a in (*args[1::2], args[-1]))
    nulls = FUNCTIONS[op].nulls if op in FUNCTIONS else "strict"
    if nulls == "first":
        return args[0].type.nullable
    return nulls == "partial" or (all if nulls == "all" else any)(a.type.nullable for a in args)


def _result_type(op: str, args: tuple[Scalar, ...]) -> Type:
    types = [a.type for a in args]
    if op in FUNCTIONS:
        return FUNCTIONS[op].result_type(args)
    if op in ARITHMETIC:
        return arithmetic_type(op, args)
    if op in COMPARISONS or op == "in":
        for other in types[1:]:
            _require_comparable(types[0], other)
        return BOOL
    if op in ("and", "or", "not"):
        for arg in args:
            _require(OPERATIONS[op], arg, "bool")
        return BOOL
    if op == "is_null":
        return BOOL
    if op in ("attempt", "fails"):
        return types[0] if op == "attempt" else INT
    if op == "case":
        for condition in args[:-1:2]:
            _require("the condition of CASE", condition, "bool")
    return common_type(OPERATIONS[op], types if op == "coalesce" else [*types[1::2], types[-1]])


def _require(what: str, arg: Scalar, parameter: str) -> None:
    if arg.type.kind not in ACCEPTED[parameter]:
        kinds = " or ".join(k.upper() for k in ACCEPTED[parameter])
        raise ProgramError(f"{what} does not take {arg.type}", kind="type-mismatch", hint=f"it takes {kinds}")


def _require_comparable(a: Type, b: Type) -> None:
    if "list" in (a.kind, b.kind):
        raise ProgramError("lists cannot be compared", kind="list-in-expression", hint="compare what they are made of")
    if a.kind != b.kind and not (a.is_numeric and b.is_numeric) and {a.kind, b.kind} != {"date", "timestamp"}:
        raise ProgramError(f"cannot compare {a} with {b}", kind="type-mismatch", hint="add a CAST to one side")


def _convert_arguments(op: str, args: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """The arguments, cast to DOUBLE or TIMESTAMP where the operation computes with these."""
    function = FUNCTIONS.get(op)
    if function is None:
        return _alike(op, args)
    if not function.arity[0] <= len(args) <= function.arity[1]:
        raise ProgramError(f"{op} with {len(args)} arguments", kind="wrong-arity", hint=function.text)
    for index, arg in enumerate(args):
        _require(function.text, arg, function.parameter(index))
    wanted = (CONVERTED.get(function.parameter(i)) for i in range(len(args)))
    converted = tuple(a if t is None else _as(a, t) for a, t in zip(args, wanted, strict=True))
    return _alike(op, converted) if function.alike else converted


def _alike(op: str, args: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Numbers next to a DOUBLE become DOUBLE; dates that are an alternative to a TIMESTAMP become TIMESTAMP."""
    mixed = args if op != "case" else (*args[1::2], args[-1])
    kinds = {a.type.kind for a in mixed}
    if "double" in kinds and kinds <= {"int", "decimal", "double"}:
        target = DOUBLE
    elif kinds == {"date", "timestamp"} and op in ("case", "coalesce", "greatest", "least"):
        target = TIMESTAMP
    else:
        return args
    if op != "case":
        return tuple(_as(a, target) for a in args)
    last = len(args) - 1
    return tuple(_as(a, target) if i % 2 or i == last else a for i, a in enumerate(args))


def _as(scalar: Scalar, target: Type) -> Scalar:
    """A number as DOUBLE, or a date as TIMESTAMP; literals at once."""
    if scalar.type.kind == target.kind:
        return scalar
    if not isinstance(scalar, Const):
        return call("cast", scalar, to=target)
    match scalar.value:
        case int() | Decimal():
            return Const(float(scalar.value), target)
        case datetime.date():
            return Const(datetime.datetime.combine(scalar.value, datetime.time()), target)
    return Const(None, target.with_null())


def variables(scalar: Scalar) -> Iterator[str]:
    """Names of the variables in ``scalar``, each as often as it occurs."""
    if isinstance(scalar, Var):
        yield scalar.name
    elif isinstance(scalar, Call):
        for arg in scalar.args:
            yield from variables(arg)


def vars_of(*scalars: Scalar) -> dict[Key, Var]:
    """The variables in some scalars by key; of one with several types, one that may be NULL."""
    found: dict[Key, Var] = {}
    for scalar in scalars:
        if isinstance(scalar, Var):
            if scalar.key not in found or scalar.type.nullable:
                found[scalar.key] = scalar
        elif isinstance(scalar, Call):
            for key, variable in vars_of(*scalar.args).items():
                if key not in found or variable.type.nullable:
                    found[key] = variable
    return found


def scopes_of(scalar: Scalar) -> Iterator[Scope | None]:
    """The scopes of the variables in ``scalar``, each as often as it occurs."""
    if isinstance(scalar, Var):
        yield scalar.scope
    elif isinstance(scalar, Call):
        for arg in scalar.args:
            yield from scopes_of(arg)


def substitute(scalar: Scalar, by: Mapping[str, Scalar] | Mapping[Key, Scalar]) -> Scalar:
    """``scalar`` with variables replaced, by their keys; types are kept, so replacements must have the variables' types."""
    if isinstance(scalar, Var):
        return by.get(scalar.key, scalar)  # type: ignore[arg-type]
    if isinstance(scalar, Call):
        return Call(scalar.op, tuple(substitute(a, by) for a in scalar.args), scalar.type, scalar.span)
    return scalar


def rename(scalar: Scalar, names: Mapping[str, str]) -> Scalar:
    """``scalar`` with variables renamed."""
    if isinstance(scalar, Var):
        return Var(names.get(scalar.name, scalar.name), scalar.type)
    if isinstance(scalar, Call):
        return Call(scalar.op, tuple(rename(a, names) for a in scalar.args), scalar.type, scalar.span)
    return scalar


def named(key: Key, type_: Type) -> Var:
    """The variable that has a key."""
    return Var(key, type_) if isinstance(key, str) else Var(key[1], type_, key[0])


def bare(scalar: Scalar) -> Scalar:
    """``scalar`` with its variables' names alone, where they are the columns of one relation."""
    if isinstance(scalar, Var):
        return Var(scalar.name, scalar.type)
    if isinstance(scalar, Call):
        return Call(scalar.op, tuple(map(bare, scalar.args)), scalar.type, scalar.span)
    return scalar


def conjuncts(scalar: Scalar) -> Iterator[Scalar]:
    """The operands of the topmost conjunction: ``a AND (b AND c)`` gives a, b, c."""
    if isinstance(scalar, Call) and scalar.op == "and":
        for arg in scalar.args:
            yield from conjuncts(arg)
    else:
        yield scalar
