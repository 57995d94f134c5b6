"""Rows in an order, of which readers get the first: compared place by place.

The order is the recomputation's own. Numbers that are not exact may differ in their last digits on the two sides, and so order rows differently
whose numbers are nearly equal: such rows may stand in any order among themselves. If a limit cuts through them, nobody can tell which of them are
to be seen, and that is said, and not passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.validation.comparison import SMALL, Comparison, compare

__all__ = ["Shown", "compare_shown"]

PLACE, NEAR = "#place", "#among"


@dataclass(frozen=True)
class Shown:
    """What was found; ``undecided`` says why there is nothing to be said."""

    comparison: Comparison
    undecided: str = ""


def compare_shown(
    shown: pa.Table,
    recomputed: pa.Table,
    keys: pa.Table,
    window: tuple[int, int | None],
    tolerances: Mapping[str, float],
    double_tolerance: float,
    *,
    in_order: bool = True,
) -> Shown:
    """Compare what is shown of a view with the rows that are to be shown.

    Args:
        shown: the rows that are shown.
        recomputed: all rows, in their order.
        keys: what they are ordered by before all their columns decide, column by column; as many rows.
        window: OFFSET and LIMIT.
        tolerances: see :func:`~cumulus_ops.validation.comparison.compare`.
        double_tolerance: the same.
        in_order: whether the rows of ``shown`` are in the order in which they were written; if not, it is not looked at.
    """
    offset, limit = window
    wanted = recomputed.slice(offset, limit)
    if not in_order:
        return Shown(compare(shown, wanted, (), tolerances, double_tolerance))
    found = compare(_numbered(shown, PLACE), _numbered(wanted, PLACE), [PLACE], tolerances, double_tolerance)
    order = [*keys.columns, *recomputed.columns]
    if found.equal or found.problem or not any(pa.types.is_floating(c.type) for c in order):
        return Shown(found)
    classes = _near_classes([c.combine_chunks() for c in order], len(recomputed), double_tolerance)
    mine = classes[offset : offset + len(wanted)]
    if len(shown) != len(wanted) or not len(mine):
        return Shown(found)
    among = compare(_numbered(shown, NEAR, mine), _numbered(wanted, NEAR, mine), [NEAR], tolerances, double_tolerance)
    if among.equal:
        return Shown(Comparison(rows=len(shown)))
    cut = _cut(classes, offset, offset + len(wanted))
    whole = pa.array(~np.isin(mine, cut))
    rest = [_numbered(rows, NEAR, mine).filter(whole) for rows in (shown, wanted)]
    if cut and compare(rest[0], rest[1], [NEAR], tolerances, double_tolerance).equal:
        return Shown(
            found, "rows that the limit separates differ by less than DOUBLEs are exact: which are first is not known"
        )
    return Shown(found)


def _numbered(rows: pa.Table, name: str, numbers: np.ndarray | None = None) -> pa.Table:
    return rows.append_column(name, pa.array(np.arange(len(rows)) if numbers is None else numbers, pa.int64()))


def _near_classes(order: list[pa.Array], rows: int, tolerance: float) -> np.ndarray:
    """The number of the class of each row: neighbours are in one unless the first column of the order that tells them apart does so by
    more than numbers that are not exact may differ."""
    new, tied = np.zeros(max(rows - 1, 0), bool), np.ones(max(rows - 1, 0), bool)
    for column in order:
        same, near = _alike(column, tolerance)
        new |= tied & ~same & ~near
        tied &= same
    return np.concatenate([np.zeros(min(rows, 1), np.int64), np.cumsum(new)])


def _alike(column: pa.Array, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Of neighbours in a column: whether they are equal, NULL equal to NULL and NaN to NaN; and if not, whether they nearly are."""
    first, second = column[:-1], column[1:]
    both_null = pc.and_(pc.is_null(first), pc.is_null(second))
    same = pc.or_(both_null, pc.fill_null(pc.equal(first, second), False))
    if not pa.types.is_floating(column.type):
        return same.to_numpy(zero_copy_only=False), np.zeros(len(first), bool)
    a, b = (
        x.to_numpy(zero_copy_only=False).astype(np.float64)
        for x in (pc.fill_null(first, 0.0), pc.fill_null(second, 0.0))
    )
    alike = same.to_numpy(zero_copy_only=False) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= tolerance * np.maximum(np.maximum(np.abs(a), np.abs(b)), SMALL)
    known = pc.and_(pc.is_valid(first), pc.is_valid(second)).to_numpy(zero_copy_only=False)
    return alike, ~alike & close & known


def _cut(classes: np.ndarray, start: int, end: int) -> list[int]:
    """The classes that have rows within a window and outside of it."""
    ends = [(start - 1, start), (end - 1, end)]
    return [int(classes[b]) for a, b in ends if a >= 0 and b < len(classes) and classes[a] == classes[b]]
