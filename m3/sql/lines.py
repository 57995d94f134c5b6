"""Sums of ``factor * x + offset`` -> the same sum and count of x: ``SUM(x + 5)`` is ``SUM(x) + 5 * COUNT(x)``.

It pays where a grouping asks for several sums of one x. Errors stay what they were: a row for which ``x + 5`` has no value is
counted as before, and the sum of x is kept with room for more digits than an INT has, since it may be beyond its type where
the total that is asked for is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from m3.algebra.terms import sum_type
from m3.datatypes import INT, MAX_PRECISION, decimal, from_units
from m3.scalars import Call, Const, Scalar, Var, call, const, numeric_as_decimal
from m3.sql.block import AggregateCall

__all__ = ["Line", "find_lines"]

#: The digits of a number of rows.
COUNTED = decimal(19, 0)


@dataclass(frozen=True)
class Line:
    """``factor * base + offset``, exactly; NULL where ``base`` is."""

    base: Scalar
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)

    def total(self, total: Scalar, count: Scalar) -> Scalar:
        """The sum, made of that of ``base`` and the number of rows that have one."""
        parts = ((total, self.factor), (call("cast", count, to=COUNTED), self.offset))
        first, second = (s if by == 1 else call("mul", s, _literal(by)) for s, by in parts)
        return call("add", first, second) if self.offset else first


def find_lines(calls: Iterable[AggregateCall]) -> list[Line | None]:
    """For each call its line, if that saves a map: another call is about the same number.

    >>> from m3.datatypes import INT
    >>> x, y = Var("x", INT), Var("y", INT)
    >>> asked = [x, call("sub", const(3), call("mul", x, const(2))), call("add", y, const(1))]
    >>> lines = find_lines(AggregateCall("sum", (a,), None, False, INT) for a in asked)
    >>> [(x.base.name, str(x.factor), str(x.offset)) if x else None for x in lines]
    [('x', '1', '0'), ('x', '-2', '3'), None]
    """
    calls = list(calls)
    found = [_read_line(c.args[0]) if _is_exact_sum(c) else None for c in calls]
    alike: dict[tuple[Scalar, Scalar | None], set[Line]] = {}
    for line, wanted in zip(found, calls, strict=True):
        if line is not None:
            alike.setdefault((line.base, wanted.where), set()).add(line)
    return [
        line if line is not None and len(alike[line.base, c.where]) > 1 and _has_room(line) else None
        for line, c in zip(found, calls, strict=True)
    ]


def _has_room(line: Line) -> bool:
    """Whether the total has a type that no digit is lost in."""
    known = Var("total", sum_type(numeric_as_decimal(line.base.type))), Var("count", INT)
    waiting = [line.total(*known)]
    while waiting:
        scalar = waiting.pop()
        if not _is_exact(scalar):
            return False
        waiting += scalar.args if isinstance(scalar, Call) and scalar.op != "cast" else ()
    return True


def _is_exact_sum(wanted: AggregateCall) -> bool:
    return wanted.function in ("sum", "avg") and not wanted.distinct and wanted.args[0].type.is_numeric


def _read_line(scalar: Scalar) -> Line:
    """An expression as a line of its largest part that is none; of itself at worst."""
    whole = Line(scalar)
    if not isinstance(scalar, Call) or scalar.op not in ("add", "sub", "mul", "neg") or not _is_exact(scalar):
        return whole
    numbers = [_read_number(a) for a in scalar.args]
    if sum(n is None for n in numbers) != 1:
        return whole
    line = _read_line(next(a for a, n in zip(scalar.args, numbers, strict=True) if n is None))
    number = next((n for n in numbers if n is not None), Fraction(-1))
    if scalar.op in ("mul", "neg"):
        return replace(line, factor=line.factor * number, offset=line.offset * number)
    if scalar.op == "sub" and numbers[0] is None:
        number = -number
    elif scalar.op == "sub":
        line = replace(line, factor=-line.factor, offset=-line.offset)
    return replace(line, offset=line.offset + number)


def _read_number(scalar: Scalar) -> Fraction | None:
    if isinstance(scalar, Const) and isinstance(scalar.value, int | Decimal) and scalar.type.is_numeric:
        return Fraction(scalar.value)
    return None


def _literal(number: Fraction) -> Const:
    """A number with as few decimals as it has."""
    scale = 0
    while (number * 10**scale).denominator > 1:
        scale += 1
    return const(from_units(int(number * 10**scale), scale))


def _is_exact(scalar: Scalar) -> bool:
    """Whether a sum or product of numbers has a type in which no digit is rounded away, whatever the numbers are."""
    if not isinstance(scalar, Call) or scalar.op == "cast" or scalar.type.kind == "int":
        return scalar.type.is_numeric
    scales = [a.type.scale for a in scalar.args]
    wanted = sum(scales) if scalar.op == "mul" else max(scales)
    return scalar.type.is_numeric and scalar.type.scale == wanted and scalar.type.precision < MAX_PRECISION
