"""Numbers that are worked out from rows: ratios, geometric means, the fraction at which recomputing wins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from benchmarks.rows import Row

__all__ = ["break_even", "fraction_of", "geometric_mean", "measured", "ratio", "ratios"]


def measured(rows: Iterable[Row], **fields: object) -> list[Row]:
    """The rows that have a number and these values, e.g. ``contestant="flink"``."""
    return [
        row
        for row in rows
        if (row.seconds is not None or row.events_per_s is not None)
        and all(getattr(row, name) == value for name, value in fields.items())
    ]


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """How many times ours is theirs."""
    return ours / theirs if ours and theirs else None


def ratios(
    rows: Sequence[Row], contestant: str, other: str, *names: str, of: str = "seconds"
) -> dict[tuple[object, ...], float]:
    """Values of some fields -> the number ``of`` one contestant over that of another, where both have one."""
    ours, theirs = (
        {tuple(getattr(row, n) for n in names): getattr(row, of) for row in measured(rows, contestant=name)}
        for name in (contestant, other)
    )
    return {key: ours[key] / theirs[key] for key in ours if ours[key] and theirs.get(key)}


def geometric_mean(values: Iterable[float]) -> float | None:
    """The n-th root of the product; None of nothing."""
    logarithms = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def fraction_of(row: Row) -> float:
    """The changed part of the rows, from the variant of a ``refresh`` row."""
    return float(row.variant.removesuffix("%")) / 100


def break_even(ours: Mapping[float, float], theirs: Mapping[float, float]) -> tuple[str, float | None]:
    """The fraction from which on recomputing is faster.

    Args:
        ours: fraction -> seconds of maintaining.
        theirs: fraction -> seconds of recomputing.

    Returns:
        ``("at", f)``, straight between two measured fractions on logarithmic axes; ``("below", f)`` when it is
        faster at the smallest fraction already; ``("above", f)`` when it is not at the largest; ``("unknown", None)``.
    """
    points = [(f, ours[f] / theirs[f]) for f in sorted(ours) if f in theirs]
    if not points:
        return "unknown", None
    if points[0][1] >= 1:
        return "below", points[0][0]
    for (f1, r1), (f2, r2) in pairwise(points):
        if r2 >= 1:
            weight = -math.log(r1) / (math.log(r2) - math.log(r1))
            return "at", math.exp(math.log(f1) + weight * (math.log(f2) - math.log(f1)))
    return "above", points[-1][0]
