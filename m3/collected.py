"""Aggregates over all values of a group, in order: the reference in plain Python.

They have no delta that could be undone (the median of a group does not follow from the median before), so an ordered map
keeps the group's values with their counts, and they are computed anew when one changes. NULLs are left aside.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

from m3.datatypes import DOUBLE, Type
from m3.dictionary.types import Value
from m3.functions import KERNELS
from m3.program import Input, ViewList

__all__ = [
    "COLLECTED", "INPUTS", "LEAST", "STATISTICS", "collected", "compute_statistic", "interpolated", "listed", "misfit", "place_of_fraction", "rank", "rounded_sum", "takes_pairs",
]  # fmt: skip


#: A value and how often it is there.
Counted = Sequence[tuple[Any, int]]
Key = tuple[Value, ...]


def collected(given: Input, entries: Sequence[tuple[Key, int]]) -> Value:
    """An input of a group.

    Args:
        given: of a kind in :data:`COLLECTED`.
        entries: the keys after the group's, of which the last is the value, and how often each is there, above zero.
    """
    rows: list[tuple[Any, int]] = [*entries]
    if takes_pairs(given.kind):
        rows = [((*key[:-2], key[-1:-3:-1]), count) for key, count in entries]
    known = _in_order(given.order, [(key, count) for key, count in rows if key[-1] is not None])
    return COLLECTED[given.kind](known, given.parameter) if known else None


def listed(made: ViewList, entries: Sequence[tuple[Key, int]]) -> tuple[Value, ...] | None:
    """A list of a group.

    Args:
        made: which list.
        entries: as for :func:`collected`; NULL is a value like others.
    """
    ordered = _in_order(made.order, entries)
    if made.distinct:
        ordered = [(value, 1) for value in {rank(value): value for value, _ in ordered}.values()]
    values = tuple(value for value, count in ordered for _ in range(count))[: made.limit]
    return values if values or made.empty else None


def _in_order(order: Sequence[tuple[bool, bool]], entries: Sequence[tuple[Key, int]]) -> list[tuple[Value, int]]:
    """The values in their order, and how often each is there."""
    places = [*order, *[(False, True)] * max((len(key) - len(order) for key, _ in entries), default=0)]
    ordered = sorted(entries, key=lambda entry: [_Place(v, *p) for v, p in zip(entry[0], places, strict=True)])
    return [(key[-1], count) for key, count in ordered]


@functools.total_ordering
class _Place:
    """A value in an order; NaN is greater than every number."""

    def __init__(self, value: Any, descending: bool, first: bool) -> None:
        self.value, self.descending, self.first = value, descending, first
        self.size = (value != value, value if value == value else 0.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and (self.size == other.size or self.value is other.value is None)

    def __lt__(self, other: _Place) -> bool:
        if self.value is None or other.value is None:
            return (self.value is None) == self.first and self.value is not other.value
        return bool(other.size < self.size if self.descending else self.size < other.size)


def place_of_fraction(fraction: Decimal | str | None, rows: int) -> tuple[int, Fraction]:
    """Where a fraction of the way from the first of some rows to the last is: the row before, and how far to the next."""
    place = Fraction(fraction or 0) * (rows - 1)
    return math.floor(place), place - math.floor(place)


def interpolated(low: Any, high: Any, part: Fraction) -> float:
    """The number a part of the way from one to the next: exactly, and rounded once."""
    if low == high or not part or low != low:
        return float(low)
    if isinstance(low, float) and not (math.isfinite(low) and math.isfinite(high)):
        return float(low * (1 - float(part)) + high * float(part))  # -inf below a number stays, as in DuckDB and Spark
    return float(Fraction(low) + (Fraction(high) - Fraction(low)) * part)


def _at(values: Counted, place: int) -> Any:
    for value, count in values:
        if place < count:
            return value
        place -= count
    return values[-1][0]


def _continuous(values: Counted, fraction: Decimal | str | None) -> float:
    below, part = place_of_fraction(fraction, sum(count for _, count in values))
    return interpolated(_at(values, below), _at(values, below + bool(part)), part)


def _discrete(values: Counted, fraction: Decimal | str | None) -> Any:
    """The first value of which, with those before it, there are that part of all rows."""
    rows = sum(count for _, count in values)
    return _at(values, max(0, math.ceil(Fraction(fraction or 0) * rows) - 1))


def _mode(values: Counted, _: Decimal | str | None) -> Any:
    """The most frequent value; of several, the first in the order."""
    totals: dict[Any, int] = {}
    for value, count in values:
        totals[value] = totals.get(value, 0) + count
    return max(totals, key=lambda value: totals[value])


def _list(values: Counted, separator: Decimal | str | None) -> str:
    return str(separator or "").join(value for value, count in values for _ in range(count))


def _bits(combine: Callable[[int, int], int], odd: bool = False) -> Callable[[Counted, Decimal | str | None], int]:
    def compute(values: Counted, _: Decimal | str | None) -> int:
        chosen = [value for value, count in values if count % 2 or not odd]
        return functools.reduce(combine, chosen) if chosen else 0

    return compute


#: Products are rounded to so many digits at each step, far beyond those of a DOUBLE, and never leave the range on the way.
PRODUCT = Context(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _product(values: Counted, _: Decimal | str | None) -> float:
    """The product of DOUBLEs, rounded once."""
    if not all(math.isfinite(value) for value, _ in values):  # then only signs, and whether there is a 0, count
        signs = [(value if not math.isfinite(value) else math.copysign(bool(value), value), n) for value, n in values]
        return math.prod(sign ** (2 - n % 2) for sign, n in signs)
    powers = (PRODUCT.power(Decimal(value), count) for value, count in values)
    return float(functools.reduce(PRODUCT.multiply, powers)) + 0.0


def _deviation(values: Counted, _: Decimal | str | None) -> float:
    """The median of the distances from the median: exactly, and rounded once."""
    if not all(math.isfinite(value) for value, _ in values):
        near = _continuous(values, HALF)
        return _continuous(sorted(((abs(v - near), n) for v, n in values), key=lambda entry: rank(entry[0])), HALF)
    exact = [(Fraction(value), count) for value, count in values]
    middle = _middle(exact)
    return float(_middle(sorted((abs(value - middle), count) for value, count in exact)))


HALF = Decimal("0.5")


def _middle(values: Sequence[tuple[Fraction, int]]) -> Fraction:
    rows = sum(count for _, count in values)
    return Fraction(_at(values, (rows - 1) // 2) + _at(values, rows // 2)) / 2


#: Statistic -> the sums that it is computed from, besides the number of values: of x, of y, and of their products. Of DOUBLEs all values are kept.
STATISTICS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("var_pop", "var_samp", "stddev_pop", "stddev_samp", "regr_sxx"), ("x", "xx")),
    **dict.fromkeys(("covar_pop", "covar_samp", "regr_sxy"), ("x", "y", "xy")),
    **dict.fromkeys(("regr_slope", "regr_intercept"), ("x", "y", "xx", "xy")),
    **dict.fromkeys(("corr", "regr_r2"), ("x", "y", "xx", "yy", "xy")),
    **dict.fromkeys(("skewness_pop", "skewness_samp"), ("x", "xx", "xxx")),
    **dict.fromkeys(("kurtosis_pop", "kurtosis_samp"), ("x", "xx", "xxx", "xxxx")),
}  # fmt: skip
#: Statistic -> how many values it needs to be defined, if not one.
LEAST: Mapping[str, int] = {
    **dict.fromkeys(("var_samp", "stddev_samp", "covar_samp"), 2), "skewness_samp": 3, "kurtosis_samp": 4,
}  # fmt: skip


def takes_pairs(kind: str) -> bool:
    """Whether a statistic is one of pairs: x is the last key, y the one before."""
    return "y" in STATISTICS.get(kind, ())


def compute_statistic(kind: str, count: int, sums: Sequence[Fraction] | None) -> float | None:
    """A statistic of so many DOUBLEs by their exact sums, rounded once; ``sums`` is None where one of them is not finite.

    >>> compute_statistic("var_pop", 2, [Fraction(3), Fraction(5)])
    0.25
    """
    if sums is None:
        return None if count < LEAST.get(kind, 1) else math.nan
    try:
        found: Any = KERNELS[kind]([count, *sums], DOUBLE)
    except OverflowError:  # beyond DOUBLE; differences of products may be far below zero
        return math.inf
    return None if found is None else float(found)


def _statistic(kind: str) -> Callable[[Counted, Decimal | str | None], Value]:
    def compute(values: Counted, _: Decimal | str | None) -> Value:
        rows = [((value, value) if not isinstance(value, tuple) else value, count) for value, count in values]
        count = sum(count for _, count in rows)
        if not all(math.isfinite(v) for pair, _ in rows for v in pair):
            return compute_statistic(kind, count, None)
        exact = [(dict(zip("xy", map(Fraction, pair), strict=True)), count) for pair, count in rows]
        sums = [
            sum((math.prod((pair[c] for c in name), start=Fraction(n)) for pair, n in exact), Fraction(0))
            for name in STATISTICS[kind]
        ]
        return compute_statistic(kind, count, sums)

    return compute


#: Kind of input -> what it is of the values in their order.
COLLECTED: Mapping[str, Callable[[Counted, Decimal | str | None], Value]] = {
    "percentile_cont": _continuous,
    "percentile_disc": _discrete,
    "mode": _mode,
    "list": _list,
    "product": _product,
    "mad": _deviation,
    "bit_and": _bits(int.__and__),
    "bit_or": _bits(int.__or__),
    "bit_xor": _bits(int.__xor__, odd=True),
    **{kind: _statistic(kind) for kind in STATISTICS},
}
#: Kinds of inputs other than ``value``.
INPUTS = ("min", "max", "sum", "now", *COLLECTED)
#: Kind -> the kinds of types that it takes, where not all, and whether it has a fraction or a separator.
TAKES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("percentile_cont", "mad"), ("int", "decimal", "double")),
    "product": ("double",),
    "list": ("string",),
    "bit_and": ("int",),
    "bit_or": ("int",),
    "bit_xor": ("int",),
    **dict.fromkeys(STATISTICS, ("double",)),
}


def misfit(kind: str, value: Type, parameter: Decimal | str | None) -> str:
    """Why a kind does not go with the type of its values and its parameter; empty if it does."""
    if value.kind not in TAKES.get(kind, (value.kind,)):
        return f"values of type {value}"
    if kind.startswith("percentile") and not (isinstance(parameter, Decimal) and 0 <= parameter <= 1):
        return f"a fraction of {parameter}"
    if kind == "list" and not isinstance(parameter, str):
        return "no separator"
    return ""


# Floating-point numbers: sums that do not depend on the order, computed exactly and rounded once; and the order with NaN.


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
