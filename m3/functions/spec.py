"""What a function of scalars is: its name, parameters, result type, NULL rule and meaning, all in one value.

Parameters are named by what they take: a kind of type (``string``, ``int``, ``bool``, ``date``), ``number`` (INT or
DECIMAL), ``numeric`` (a number or DOUBLE), ``moment`` (DATE or TIMESTAMP), ``any``; or by what arguments are cast to:
``double`` (from numbers) and ``timestamp`` (from dates).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Protocol

from m3.datatypes import DOUBLE, TIMESTAMP, Type

__all__ = ["ACCEPTED", "CONVERTED", "EXACT", "Function", "Operand", "Value", "constant", "first_type", "table"]

Value = int | Decimal | str | datetime.date | datetime.datetime | bool | float | None

#: Wide enough for the exact product of two 38-digit decimals, with room for sums.
EXACT = Context(prec=120, rounding=ROUND_HALF_UP)

#: Parameter -> the kinds of types that it takes.
ACCEPTED: Mapping[str, tuple[str, ...]] = {
    "string": ("string",), "int": ("int",), "bool": ("bool",), "date": ("date",), "number": ("int", "decimal"),
    "numeric": ("int", "decimal", "double"), "double": ("int", "decimal", "double"), "moment": ("date", "timestamp"),
    "timestamp": ("date", "timestamp"), "any": ("int", "decimal", "double", "string", "date", "timestamp", "bool"),
}  # fmt: skip
#: Parameter -> the type that its argument is cast to.
CONVERTED: Mapping[str, Type] = {"double": DOUBLE, "timestamp": TIMESTAMP}


class Operand(Protocol):
    """A typed argument: any scalar."""

    @property
    def type(self) -> Type:
        """The argument's type."""


Rule = Callable[[Sequence[Operand]], Type]
Compute = Callable[[list[Any], Type], Value]


def constant(operand: Operand) -> Value:
    """The value of a literal; None for NULL and for everything else."""
    value: Value = getattr(operand, "value", None)
    return value


@dataclass(frozen=True)
class Function:
    """A function of scalars.

    Attributes:
        name: in M3 text and as the operation's name.
        text: what it computes, for errors.
        parameters: see the module; the last one repeats when ``variadic``.
        result: the type, or how it follows from the arguments (nullability left aside).
        compute: the value of its arguments' values, to be brought to the result's type.
        optional: how many of the last parameters may be left out.
        variadic: whether the last parameter repeats.
        nulls: ``strict`` (NULL exactly when an argument is), ``partial`` (also elsewhere), ``first`` (NULL when the
            first argument is) or ``all`` (NULL when all are). The last two are computed with None for NULL.
        alike: arguments get one common type where one of them is a DOUBLE or a TIMESTAMP.
    """

    name: str
    text: str
    parameters: tuple[str, ...]
    result: Type | Rule
    compute: Compute
    optional: int = 0
    variadic: bool = False
    nulls: str = "strict"
    alike: bool = False

    @property
    def arity(self) -> tuple[int, int]:
        """The least and the largest number of arguments."""
        return len(self.parameters) - self.optional, 99 if self.variadic else len(self.parameters)

    @property
    def computes_nulls(self) -> bool:
        """Whether it sees NULL arguments, instead of being NULL."""
        return self.nulls in ("first", "all")

    def parameter(self, index: int) -> str:
        """What the argument at ``index`` must be."""
        return self.parameters[min(index, len(self.parameters) - 1)]

    def result_type(self, args: Sequence[Operand]) -> Type:
        """The type of a call, apart from nullability."""
        return self.result if isinstance(self.result, Type) else self.result(args)


def first_type(args: Sequence[Operand]) -> Type:
    """The rule of functions that keep the type of their first argument."""
    return args[0].type.with_null(False)


def table(*functions: Function) -> Mapping[str, Function]:
    """Functions by name."""
    return {f.name: f for f in functions}
