"""Types of keys, columns and map values, and the ring that map values live in.

A map's value is an exact number: an integer, or a decimal held as an integer of its smallest unit
(``DECIMAL(15, 2)`` 1.50 is 150). Sums of such units are exact and order-independent, which the whole system rests on;
binary floats are not a ring and are refused as map values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Context, Decimal
from functools import lru_cache
from typing import TypeVar

from m3.errors import ProgramError, ValueProblem

__all__ = [
    "BOOL",
    "DATE",
    "DOUBLE",
    "INT",
    "INT64_MAX",
    "INT64_MIN",
    "LONGEST_PATTERN",
    "LONGEST_TEXT",
    "MAX_PRECISION",
    "STRING",
    "TIMESTAMP",
    "Type",
    "decimal",
    "from_units",
    "hash_once",
    "list_of",
    "to_units",
]

MAX_PRECISION = 38
#: Characters of a text that a function may make longer than what it is given: a row of 30 bytes must not become one of gigabytes.
LONGEST_TEXT = 2**20
#: Characters of a pattern of LIKE, and of a regular expression once its counts are written out: RE2 compiles up to ten times as many.
LONGEST_PATTERN = 4_000
#: Decimals beyond 28 digits are rounded without one.
ALL_DIGITS = Context(prec=100_000)
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
T = TypeVar("T")
KINDS = ("int", "decimal", "double", "string", "date", "timestamp", "bool", "list")


def hash_once(cls: type[T]) -> type[T]:
    """Make a frozen dataclass remember its hash: values that are keys of many tables consist of others, as deep as people write expressions.

    >>> @hash_once
    ... @dataclass(frozen=True)
    ... class Pair:
    ...     a: int
    ...     b: int
    >>> len({Pair(1, 2), Pair(1, 2)})
    1
    """
    compute = cls.__hash__

    def __hash__(self: T) -> int:
        try:
            return self._hash  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            self.__dict__["_hash"] = found = compute(self)
            return found

    def __getstate__(self: T) -> dict[str, object]:
        # texts hash differently in another process
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    cls.__hash__ = __hash__  # type: ignore[method-assign, assignment]
    cls.__getstate__ = __getstate__  # type: ignore[method-assign, assignment]
    return cls


@hash_once
@dataclass(frozen=True)
class Type:
    """A scalar type, or a list of one, which only output columns of views may have (:class:`m3.program.ViewList`).

    ``precision`` and ``scale`` count for decimals only, ``element`` for lists. ``nullable`` says whether NULL can occur."""

    kind: str
    precision: int = 0
    scale: int = 0
    nullable: bool = False
    element: Type | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ProgramError(f"unknown type {self.kind!r}", kind="unknown-type", hint=f"one of {', '.join(KINDS)}")
        if self.kind == "decimal" and not 0 <= self.scale <= self.precision <= MAX_PRECISION:
            raise ProgramError(
                f"DECIMAL({self.precision}, {self.scale}) is out of range",
                kind="bad-decimal",
                hint=f"0 <= scale <= precision <= {MAX_PRECISION}",
            )

        if (self.kind == "list") != (self.element is not None) or (self.element and self.element.kind == "list"):
            raise ProgramError("a list of no scalar type", kind="unknown-type", hint="lists are of scalars")

    def __str__(self) -> str:
        if self.kind == "list":
            return f"LIST({self.element})"
        if self.kind == "decimal":
            return f"DECIMAL({self.precision}, {self.scale})"
        return self.kind.upper()

    @property
    def is_numeric(self) -> bool:
        """True for the exact numbers that may be summed: INT and DECIMAL."""
        return self.kind in ("int", "decimal")

    def with_null(self, nullable: bool = True) -> Type:
        """The same type with the given nullability."""
        return self if self.nullable == nullable else _turn(self)

    def same_as(self, other: Type) -> bool:
        """Equal apart from nullability."""
        mine, theirs = (self.kind, self.precision, self.scale), (other.kind, other.precision, other.scale)
        return mine == theirs and (self.element is None or self.element.same_as(other.element or self.element))


@lru_cache(maxsize=1024)
def _turn(type_: Type) -> Type:
    """The type with the other nullability. The compiler asks for it a hundred thousand times, of a few dozen types."""
    return replace(type_, nullable=not type_.nullable)


INT = Type("int")
DOUBLE = Type("double")
STRING = Type("string")
DATE = Type("date")
TIMESTAMP = Type("timestamp")
BOOL = Type("bool")


def decimal(precision: int, scale: int) -> Type:
    """``DECIMAL(precision, scale)``, not nullable."""
    return Type("decimal", precision, scale)


def list_of(element: Type, nullable: bool = False) -> Type:
    """Lists of values of a scalar type."""
    return Type("list", nullable=nullable, element=element)


def to_units(value: int | Decimal, scale: int) -> int:
    """The number of smallest units of ``value`` at ``scale``.

    Raises:
        ValueProblem: when ``value`` has more digits after the point than ``scale``.
    """
    if isinstance(value, int):
        return value * int(10**scale)
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueProblem(f"{value} is not a finite number", kind="not-finite", hint="reject such rows at the source")
    units = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
    shift = exponent + scale
    if shift >= 0:
        return int(units * 10**shift)
    whole, rest = divmod(abs(units), int(10**-shift))
    if rest:
        raise ValueProblem(f"{value} has more than {scale} decimals", kind="inexact", hint="widen the declared scale")
    return whole if units >= 0 else -whole


def from_units(units: int, scale: int) -> int | Decimal:
    """Inverse of :func:`to_units`: an int for scale 0, otherwise a Decimal with exactly ``scale`` decimals."""
    return units if scale == 0 else Decimal(units).scaleb(-scale, context=ALL_DIGITS)
