"""Kernels of the dictionary that are made wrong in one way each, to ask whether a comparison with a database notices."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from typing import Any

from m3.datatypes import Type
from m3.dictionary import FUNCTIONS
from m3.evaluate import FAILURES
from m3.functions import KERNELS, Compute
from m3.scalars import Call, Scalar
from tests.support.forms import FAILED, Asked, Row, agree

__all__ = ["MISTAKES", "judge_mistakes", "operations_of"]

Mistake = Callable[[Compute], Compute]
NUMBERS = (int, Decimal, float)


def _arguments(change: Callable[[list[Any]], list[Any]]) -> Mistake:
    return lambda compute: lambda args, to: compute(change(args), to)


def _each(kinds: type | tuple[type, ...], change: Callable[[Any], Any]) -> Mistake:
    """Something else of every argument of some types, truth values aside."""
    return _arguments(lambda args: [change(a) if isinstance(a, kinds) and not isinstance(a, bool) else a for a in args])


def _result(change: Callable[[Any, Type], Any]) -> Mistake:
    def wrong(compute: Compute) -> Compute:
        return lambda args, to: None if (found := compute(args, to)) is None else change(found, to)

    return wrong


def _swap(args: list[Any]) -> list[Any]:
    return [args[1], args[0], *args[2:]] if len(args) > 1 and type(args[0]) is type(args[1]) else args


def _one_more(value: Any, to: Type) -> Any:
    """The next value of a type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value[:-1]
    if isinstance(value, datetime.datetime):
        return value + datetime.timedelta(microseconds=1 if value.year < 9999 else -1)
    if isinstance(value, datetime.date):
        return value + datetime.timedelta(days=1 if value.year < 9999 else -1)
    if isinstance(value, Decimal):
        return value + Decimal(1).scaleb(-to.scale)
    return value * (1 + 1e-9) if isinstance(value, float) else value + 1


def _coarse(value: Any, to: Type) -> Any:
    """A number cut off where it is rounded, or at six digits."""
    if isinstance(value, Decimal):
        return value.quantize(Decimal(1).scaleb(-to.scale), rounding=ROUND_DOWN) if value.adjusted() < 20 else value
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.6g}")
    return value


def _within_32_bits(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def _later(args: list[Any]) -> list[Any]:
    """Every number behind the first argument one more."""
    return [a + 1 if i and type(a) is int and a < 2**63 - 1 else a for i, a in enumerate(args)]


def _never_fails(compute: Compute) -> Compute:
    def wrong(args: list[Any], to: Type) -> Any:
        try:
            return compute(args, to)
        except FAILURES:
            return None

    return wrong


def _nothing_of_empty(compute: Compute) -> Compute:
    return lambda args, to: None if "" in [a for a in args if isinstance(a, str)] else compute(args, to)


#: How a kernel can be wrong.
MISTAKES: Mapping[str, Mistake] = {
    "the next value": _result(_one_more),
    "cut off and not rounded": _result(_coarse),
    "swapped arguments": _arguments(_swap),
    "places from 0": _arguments(_later),
    "NULL where it fails": _never_fails,
    "NULL of the empty text": _nothing_of_empty,
    "NaN as 0": _each(float, lambda a: 0.0 if math.isnan(a) else a),
    "infinity as the largest number": _each(float, lambda a: math.copysign(1.7e308, a) if math.isinf(a) else a),
    "no numbers below 0": _each(NUMBERS, abs),
    "no 0": _each(NUMBERS, lambda a: a or type(a)(1)),
    "32 bits": _each(int, _within_32_bits),
    "whole numbers": _each((Decimal, float), lambda a: type(a)(int(a)) if math.isfinite(a) else a),
    "lower case": _each(str, str.lower),
    "no blanks at the ends": _each(str, str.strip),
    "ASCII alone": _each(str, lambda a: "".join(c for c in a if c < "\x7f")),
    "no time of day": _each(datetime.datetime, lambda a: a.replace(hour=0, minute=0, second=0, microsecond=0)),
    "no day beyond the 28th": _each(datetime.date, lambda a: a.replace(day=min(a.day, 28))),
}
#: What stands for a NULL that is taken for a value.
VALUES: Mapping[str, Any] = {"string": "", "int": 0, "decimal": Decimal(0), "double": 0.0, "bool": False, "date": datetime.date(1970, 1, 1), "timestamp": datetime.datetime(1970, 1, 1)}  # fmt: skip
NULL_AS_VALUE = "NULL as a value"


def operations_of(scalar: Scalar) -> set[str]:
    """The operations that a scalar has."""
    return {scalar.op, *(op for arg in scalar.args for op in operations_of(arg))} if isinstance(scalar, Call) else set()


@contextmanager
def _planted(name: str, mistake: str) -> Iterator[None]:
    """A kernel with a mistake; one of NULLs is made where kernels are called."""
    right, entry = KERNELS[name], FUNCTIONS[name]
    if mistake != NULL_AS_VALUE:
        wrong = MISTAKES[mistake](right)
    elif entry.computes_nulls:  # where one argument is NULL it may have a value
        wrong = lambda args, to: None if None in args else right(args, to)  # noqa: E731
    else:
        wrong = lambda args, to: right([_value_for(a, args) if a is None else a for a in args], to)  # noqa: E731
        FUNCTIONS[name] = replace(entry, nulls="all")  # type: ignore[index]
    KERNELS[name] = wrong  # type: ignore[index]
    try:
        yield
    finally:
        KERNELS[name], FUNCTIONS[name] = right, entry  # type: ignore[index]


def _value_for(_: None, args: Sequence[Any]) -> Any:
    """What NULL might be taken for beside other arguments; a text without any."""
    kinds = [type(a) for a in args if a is not None]
    return kinds[0]() if kinds and kinds[0] in (int, str, Decimal, float, bool) else "" if not kinds else args[-1]


def judge_mistakes(dialect: str, rows: Sequence[Row], answered: Sequence[Asked]) -> dict[str, dict[str, bool]]:
    """Operation -> mistake -> whether the comparison of its forms notices; mistakes that change no value on the rows are left out."""
    by_operation: dict[str, list[Asked]] = {}
    for asked in answered:
        for op in operations_of(asked.scalar) & set(KERNELS):
            by_operation.setdefault(op, []).append(asked)
    found: dict[str, dict[str, bool]] = {}
    for op, forms in by_operation.items():
        for mistake in (*MISTAKES, NULL_AS_VALUE):
            with _planted(op, mistake):
                noticed = _notice(dialect, rows, forms)
            if noticed is not None:
                found.setdefault(op, {})[mistake] = noticed
    return found


def _notice(dialect: str, rows: Sequence[Row], forms: Sequence[Asked]) -> bool | None:
    """Whether a value is something else than the database's that is not said to be; None if no value is another than it was."""
    changes = None
    for asked in forms:
        for row, right, theirs in zip(rows, asked.ours, asked.theirs or (), strict=True):
            if asked.cannot_hold(row):
                continue
            wrong = _compute(asked, row)
            if wrong == right or (agree(wrong, right) and FAILED not in (wrong, right)):
                continue
            if not agree(wrong, theirs) and not asked.may_differ(dialect, row, wrong, theirs):
                return True
            changes = False
    return changes


def _compute(asked: Asked, row: Row) -> Any:
    try:
        return asked.compute(row)
    except (TypeError, ValueError, AttributeError, LookupError):  # a value that no kernel is written for
        return FAILED
