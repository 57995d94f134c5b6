"""Sums of floating-point numbers that do not depend on the order: computed exactly, rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

__all__ = ["rounded_sum"]


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
