"""Floating-point numbers: sums that do not depend on the order, computed exactly and rounded once; and the order with NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

__all__ = ["rank", "rounded_sum"]


def rank(value: Any) -> Any:
    """What a value is ordered by among those of its type: NaN equals itself and is the greatest number.

    >>> sorted([math.nan, math.inf, 1.0], key=rank)
    [1.0, inf, nan]
    """
    return (value != value, 0.0 if value != value else value) if isinstance(value, float) else value


def rounded_sum(terms: Sequence[tuple[float, int]]) -> float | None:
    """The sum of value times count, as the nearest float; infinities and NaN as IEEE 754 adds them; None of nothing."""
    if not terms:
        return None
    if not all(math.isfinite(value) for value, _ in terms):
        return sum(value * count for value, count in terms if not math.isfinite(value))
    total = sum((Fraction(value) * count for value, count in terms), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
