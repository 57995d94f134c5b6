"""Whether two results are the same: exactly, except where DuckDB computes in floating point."""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]
ABSOLUTE, RELATIVE = 1e-7, 1e-9


def same_rows(ours: Sequence[Row], theirs: Sequence[Row], *, ordered: bool = False) -> bool:
    """Whether the results are equal, as multisets or in order.

    A DOUBLE of DuckDB's matches our decimal when it lies within half a unit of our last digit.
    """
    if len(ours) != len(theirs):
        return False
    if ordered:
        return all(_same(a, b) for a, b in zip(ours, theirs, strict=True))
    floats = {i for row in theirs for i, value in enumerate(row) if isinstance(value, float)}
    groups: dict[Row, list[Row]] = defaultdict(list)
    for row in ours:
        groups[_exact_part(row, floats)].append(row)
    return all(_take(groups[_exact_part(row, floats)], row) for row in theirs)


def _exact_part(row: Row, floats: set[int]) -> Row:
    return tuple((v is None) if i in floats else _plain(v) for i, v in enumerate(row))


def _take(candidates: list[Row], row: Row) -> bool:
    """Remove the nearest of our rows that matches DuckDB's."""
    for i, candidate in enumerate(candidates):
        if _same(candidate, row):
            del candidates[i]
            return True
    return False


def _same(ours: Row, theirs: Row) -> bool:
    return len(ours) == len(theirs) and all(_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def _equal(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, float) and isinstance(ours, int | float | Decimal) and not isinstance(ours, bool):
        if theirs != theirs or ours != ours:
            return theirs != theirs and ours != ours
        half_unit = 0.0
        if isinstance(ours, Decimal):
            half_unit = 0.5 * 10.0 ** int(ours.as_tuple().exponent)
        return math.isclose(ours, theirs, rel_tol=RELATIVE, abs_tol=half_unit + ABSOLUTE)
    return _plain(ours) == _plain(theirs)


def _plain(value: Any) -> Any:
    """A value that is equal to another's exactly when they are the same in SQL; TRUE is not 1, a date is its midnight."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    if isinstance(value, int | Decimal):
        return Decimal(value).normalize() + 0
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value
