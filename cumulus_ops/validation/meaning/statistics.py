"""Statistics of pairs of numbers: exact deviations from the means, rounded to a float once.

>>> of_pairs("corr", [{"x": 1, "y": 5}, {"x": 2, "y": 3}, {"x": 3, "y": 1}, {"x": None, "y": 1}])
-1.0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

__all__ = ["STATISTICS", "WIDE", "of_pairs"]

WIDE = Context(prec=400, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class _Spread:
    """How many pairs there are, their means, and the sums of the products of deviations from them."""

    n: int
    x: Fraction
    y: Fraction
    xx: Fraction
    yy: Fraction
    xy: Fraction


def _spread(pairs: Sequence[tuple[Fraction, Fraction]]) -> _Spread:
    n = len(pairs)
    x, y = (sum(side, Fraction(0)) / n for side in zip(*pairs, strict=True))

    def products(of: Callable[[Fraction, Fraction], Fraction]) -> Fraction:
        return sum((of(a - x, b - y) for a, b in pairs), Fraction(0))

    return _Spread(n, x, y, products(lambda a, _: a * a), products(lambda _, b: b * b), products(lambda a, b: a * b))


def _correlation(s: _Spread) -> Any:
    if not s.xx or not s.yy:
        return None
    square = s.xy**2 / (s.xx * s.yy)
    root = WIDE.sqrt(WIDE.divide(Decimal(square.numerator), Decimal(square.denominator)))
    return math.copysign(float(root), s.xy)


def _determination(s: _Spread) -> Any:
    """1 where the dependent number is always the same."""
    return (s.xy**2 / (s.xx * s.yy) if s.yy else 1) if s.xx else None


#: What each is of a spread; x is the independent number.
STATISTICS: Mapping[str, Callable[[_Spread], Any]] = {
    "covar_pop": lambda s: s.xy / s.n,
    "covar_samp": lambda s: s.xy / (s.n - 1) if s.n > 1 else None,
    "corr": _correlation,
    "regr_slope": lambda s: s.xy / s.xx if s.xx else None,
    "regr_intercept": lambda s: s.y - s.xy / s.xx * s.x if s.xx else None,
    "regr_r2": _determination,
    "regr_sxx": lambda s: s.xx,
    "regr_syy": lambda s: s.yy,
    "regr_sxy": lambda s: s.xy,
}


def of_pairs(name: str, rows: Any) -> float | None:
    """A statistic of the rows ``{x, y}`` in which both are known; None where it is not defined."""
    pairs = [(Fraction(r["x"]), Fraction(r["y"])) for r in rows if r["x"] is not None and r["y"] is not None]
    result = STATISTICS[name](_spread(pairs)) if pairs else None
    return None if result is None else float(result)
