"""Two tables compared: as multisets, exactly, NULL equal to NULL, in one aggregation; and the first rows of an order, place by place.

Rows of one side count +1, of the other -1; summed over all columns, equal rows cancel out and what is left is the
difference. DOUBLE columns cannot be grouped by (functions of them differ in the last digits), so their differences are
summed and held against a tolerance.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from m3.errors import LONGEST_VALUE, shortened

__all__ = [
    "SAMPLE_GROUPS",
    "Comparison",
    "Shown",
    "compare",
    "compare_shown",
    "describe_comparison",
    "difference_lines",
]


SAMPLE_GROUPS = 20
ROWS_PER_GROUP = 5
LONG_DIGITS = 19  # of the largest 64-bit integer
#: Differences of DOUBLEs are relative to their size, but to no less than this: what is left of two sums that cancel out is small, and its
#: error is relative to the terms, and not to it.
SMALL = 1e-5
SIDE, LEFT, RIGHT = "_side", "_snapshot", "_recomputed"
Types = dict[str, pa.DataType]


@dataclass(frozen=True)
class Comparison:
    """The result: groups that only the recomputation has, that only the snapshot has, and that both have with different
    values. ``sample``: up to 20 groups as ``{"kind", "key", "snapshot": rows, "recomputed": rows}``, values as text.
    ``rows`` are the snapshot's. ``problem`` says why the tables cannot be compared at all."""

    missing: int = 0
    unexpected: int = 0
    differing: int = 0
    sample: list[dict[str, Any]] = field(default_factory=list)
    rows: int = 0
    problem: str = ""

    @property
    def equal(self) -> bool:
        """Whether no difference was found."""
        return not (self.problem or self.missing or self.unexpected or self.differing)


def compare(
    snapshot: pa.Table,
    recomputed: pa.Table,
    keys: Sequence[str],
    tolerances: Mapping[str, float] | None = None,
    double_tolerance: float = 0.0,
) -> Comparison:
    """Compares two tables.

    Args:
        snapshot: the table to judge; gives the names.
        recomputed: the reference; its columns correspond by position.
        keys: columns that identify a group.
        tolerances: DOUBLE column -> accepted difference, relative to the larger of the values (and of 1e-5).
        double_tolerance: the same for the DOUBLE columns not named.
    """
    types, problem = _common_types(snapshot, recomputed, tolerances or {})
    absent = [key for key in keys if key not in snapshot.column_names]
    problem = problem or (f"the snapshot has no key column {', '.join(absent)}" if absent else "")
    if problem:
        return Comparison(rows=len(snapshot), problem=problem)
    allowed = {n: (tolerances or {}).get(n, double_tolerance) for n, t in types.items() if pa.types.is_floating(t)}
    sides = []
    for table, side in ((snapshot, 1), (recomputed, -1)):
        columns = [_cast(column, t) for column, t in zip(table.columns, types.values(), strict=True)]
        marks = pa.array(np.full(len(table), side, np.int64))
        sides.append(pa.Table.from_arrays([*columns, marks], names=[*types, SIDE]))
    both = pa.concat_tables(sides)
    for place, (name, type_) in enumerate(types.items()):
        if pa.types.is_list(type_):
            both = both.set_column(
                place, name, _write_lists(both[name], (tolerances or {}).get(name, double_tolerance))
            )
    left = _find_differences(both, list(types), allowed)
    return _group_differences(left, list(types), keys, len(snapshot))


def _common_types(a: pa.Table, b: pa.Table, tolerances: Mapping[str, float]) -> tuple[Types, str]:
    if a.num_columns != b.num_columns:
        columns = ", ".join(a.column_names), ", ".join(b.column_names)
        return {}, f"the snapshot has the columns {columns[0]}, the recomputation {columns[1]}"
    types: Types = {}
    for left, right in zip(a.schema, b.schema, strict=True):
        common = _common_type(left.type, right.type, tolerant=left.name in tolerances)
        if common is None:
            return {}, f"{left.name} is {left.type} in the snapshot, {right.type} recomputed"
        types[left.name] = common
    return types, ""


def _common_type(a: pa.DataType, b: pa.DataType, *, tolerant: bool) -> pa.DataType | None:
    """A type that holds the values of both exactly, or None. Exact numbers become DOUBLE only where a tolerance for the
    column says so."""
    if pa.types.is_null(a) or pa.types.is_null(b):
        return b if pa.types.is_null(a) else a
    floats = [pa.types.is_floating(t) for t in (a, b)]
    if all(floats) or (
        any(floats) and tolerant and all(f or _as_decimal(t) for f, t in zip(floats, (a, b), strict=True))
    ):
        return pa.float64()
    exact = [_as_decimal(t) for t in (a, b)]
    if exact[0] and exact[1]:
        scale = max(d.scale for d in exact if d)
        whole = max(d.precision - d.scale for d in exact if d)
        return pa.decimal128(whole + scale, scale) if whole + scale <= 38 else pa.decimal256(whole + scale, scale)
    if all(pa.types.is_string(t) or pa.types.is_large_string(t) for t in (a, b)):
        return pa.large_string()
    if all(map(pa.types.is_timestamp, (a, b))):
        return pa.timestamp("us")
    if all(map(pa.types.is_list, (a, b))):
        element = _common_type(a.value_type, b.value_type, tolerant=False)
        return None if element is None else pa.list_(element)
    return a if a == b else None


def _as_decimal(type_: pa.DataType) -> Any:
    if pa.types.is_integer(type_):
        return pa.decimal128(LONG_DIGITS, 0)
    return type_ if pa.types.is_decimal(type_) else None


def _cast(column: pa.ChunkedArray, to: pa.DataType) -> pa.ChunkedArray:
    """A column in a common type. Arrow casts integers only to decimals that have room for all of them, so those come in between."""
    if pa.types.is_integer(column.type) and pa.types.is_decimal(to):
        column = column.cast(pa.decimal128(LONG_DIGITS, 0))
    return column.cast(to)


def _write_lists(column: pa.ChunkedArray, tolerance: float) -> pa.Array:
    """Lists as texts, by which Arrow can group: as people read them, and no two lists have the same. DOUBLEs in them that are as near to
    each other as ``tolerance`` allows are written alike, and zero without a sign.

    >>> _write_lists(pa.chunked_array([[["a", None], ["a, NULL"], None, []]]), 0.0).to_pylist()
    ['["a", NULL]', '["a, NULL"]', None, '[]']
    >>> _write_lists(pa.chunked_array([[[-0.0, 1.0], [1.0 + 1e-12, 1.1]]]), 1e-9).to_pylist()
    ['[0, 1]', '[1, 1.1]']
    """
    lists = column.combine_chunks()
    values = lists.flatten()
    if pa.types.is_floating(values.type):
        values = _merge_near(values, tolerance)
    texts = values.cast(pa.string())
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        for mark in ("\\", '"'):
            texts = pc.replace_substring(texts, mark, "\\" + mark)
        texts = pc.binary_join_element_wise('"', texts, '"', "")
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)])).cast(pa.int32())
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, pc.fill_null(texts, "NULL")), ", ")
    shown = pc.binary_join_element_wise("[", joined, "]", "")
    return pc.if_else(lists.is_null(), None, shown).cast(pa.large_string())


def _merge_near(values: pa.Array, tolerance: float) -> pa.Array:
    """Of numbers each of which is near the next, the least stands for all."""
    numbers = values.to_numpy(zero_copy_only=False) + 0.0
    finite = np.isfinite(numbers)
    distinct = np.unique(numbers[finite])
    size = np.maximum(np.maximum(np.abs(distinct[1:]), np.abs(distinct[:-1])), SMALL)
    first = np.concatenate([[True], np.diff(distinct) > tolerance * size])[: len(distinct)]
    numbers[finite] = distinct[first][np.cumsum(first)[np.searchsorted(distinct, numbers[finite])] - 1]
    return pc.if_else(values.is_null(), None, pa.array(numbers, from_pandas=False))


def _find_differences(marked: pa.Table, names: Sequence[str], allowed: Mapping[str, float]) -> pa.Table:
    """Rows that do not cancel out: their values, ``_side`` (+ too many in the snapshot, - too few), and for DOUBLEs the
    largest value of each side."""
    exact = [n for n in names if n not in allowed]
    keys, sums = list(exact), [(SIDE, "sum")]
    for name in allowed:
        values = marked[name].combine_chunks() if isinstance(marked[name], pa.ChunkedArray) else marked[name]
        # NULL, NaN and infinities are compared as what they are: each is a class of its own, and a key. Finite numbers fall into one class,
        # and their difference is summed: two sides whose rows are paired in any way have the same sum.
        finite = pc.fill_null(pc.is_finite(values), False)
        number = pc.if_else(finite, pc.fill_null(values, 0.0), 0.0)
        ours = pc.equal(marked[SIDE], 1)
        parts = {
            "_c": pc.if_else(finite, "finite", pc.fill_null(values.cast(pa.string()), "NULL")),
            "_d": pc.multiply(number, pc.cast(marked[SIDE], pa.float64())),
            "_m": pc.abs(number),
            "_l": pc.if_else(ours, values, None),
            "_r": pc.if_else(ours, None, values),
        }
        for suffix, column in parts.items():
            marked = marked.append_column(name + suffix, column)
        keys.append(name + "_c")
        sums += [(name + "_d", "sum"), (name + "_m", "max"), (name + "_l", "max"), (name + "_r", "max")]
    # by one thread: groups stay in the order in which they come, and sums of DOUBLEs are the same each time
    summed = marked.group_by(keys, use_threads=False).aggregate(sums)
    count = summed[SIDE + "_sum"]
    wrong = pc.not_equal(count, 0)
    for name, tolerance in allowed.items():
        size = pc.max_element_wise(summed[f"{name}_m_max"], SMALL)
        wrong = pc.or_(wrong, pc.greater(pc.abs(summed[f"{name}_d_sum"]), pc.multiply(size, tolerance)))
    left = summed.filter(wrong)
    shown = {n: (left[n], left[n]) if n in exact else (left[f"{n}_l_max"], left[f"{n}_r_max"]) for n in names}
    columns = {f"{n}{side}": pair[i] for n, pair in shown.items() for i, side in enumerate((LEFT, RIGHT))}
    return pa.table({**columns, SIDE: left[SIDE + "_sum"]})


def _group_differences(left: pa.Table, names: Sequence[str], keys: Sequence[str], rows: int) -> Comparison:
    """The differing rows by group. As many on both sides, but with DOUBLEs apart, they are a row on both."""
    held, due = pc.greater_equal(left[SIDE], 0), pc.less_equal(left[SIDE], 0)
    table = left.append_column("_held", held.cast(pa.int64())).append_column("_due", due.cast(pa.int64()))
    by = [f"{k}{LEFT}" for k in keys]
    groups = table.group_by(by, use_threads=False).aggregate([("_held", "sum"), ("_due", "sum")])
    if not len(left):
        return Comparison(rows=rows)
    missing = pc.equal(groups["_held_sum"], 0)
    unexpected = pc.equal(groups["_due_sum"], 0)
    counts = [pc.sum(x).as_py() or 0 for x in (missing, unexpected)]
    kinds = groups.append_column(
        "_kind", pc.if_else(missing, "missing", pc.if_else(unexpected, "unexpected", "differing"))
    )
    first = kinds.sort_by([(k, "ascending") for k in by]).slice(0, SAMPLE_GROUPS) if by else kinds
    sample = [_show_group(table, names, keys, row) for row in first.to_pylist()]
    return Comparison(counts[0], counts[1], len(groups) - sum(counts), sample, rows)


def _show_group(table: pa.Table, names: Sequence[str], keys: Sequence[str], group: Mapping[str, Any]) -> dict[str, Any]:
    """One differing group as text, with some of its rows on each side."""
    mine = table
    for key in keys:
        column, value = mine[f"{key}{LEFT}"], group[f"{key}{LEFT}"]
        mine = mine.filter(pc.is_null(column) if value is None else pc.equal(column, pa.scalar(value, column.type)))
    values = [n for n in names if n not in keys]
    sides: dict[str, list[dict[str, str]]] = {}
    for name, side, mark in (("snapshot", LEFT, "_held"), ("recomputed", RIGHT, "_due")):
        sides[name] = []
        for row in mine.filter(pc.equal(mine[mark], 1)).slice(0, ROWS_PER_GROUP).to_pylist():
            times = abs(row[SIDE])  # 0: as many on both sides, with DOUBLEs apart
            more = {"times": str(times)} if times > 1 else {}
            sides[name].append({n: _text(row[n + side]) for n in values} | more)
    return {"kind": group["_kind"], "key": {k: _text(group[f"{k}{LEFT}"]) for k in keys}, **sides}


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def describe_comparison(found: Comparison) -> str:
    """What a comparison found, in a few words."""
    if found.problem:
        return f"not comparable: {found.problem}"
    if found.equal:
        return f"{found.rows} rows, all equal"
    counts = (("missing", found.missing), ("too many", found.unexpected), ("with other values", found.differing))
    return f"{found.rows} rows; groups " + ", ".join(f"{what}: {n}" for what, n in counts if n)


def difference_lines(found: Comparison) -> Iterator[tuple[str, ...]]:
    """One line per differing value, the two sides beside each other."""
    for group in found.sample:
        key = ", ".join(f"{name} = {shortened(value)}" for name, value in group["key"].items()) or "(all)"
        left, right = group["snapshot"], group["recomputed"]
        if len(left) > 1 or len(right) > 1:
            yield group["kind"], key, "(rows)", _rows(left), _rows(right)
            continue
        held, due = (rows[0] if rows else {} for rows in (left, right))
        for name in dict.fromkeys([*held, *due]):
            if held.get(name) != due.get(name):
                yield group["kind"], key, name, *_shorten_pair(held.get(name, "-"), due.get(name, "-"))
        if not held and not due:
            yield group["kind"], key, "(row)", "present" if left else "-", "present" if right else "-"


def _shorten_pair(held: str, due: str) -> tuple[str, str]:
    """Two values, shortened: of long ones, what is around the first place at which they differ."""
    same = next((i for i, (a, b) in enumerate(zip(held, due, strict=False)) if a != b), min(len(held), len(due)))
    start = same - LONGEST_VALUE // 4 if same > LONGEST_VALUE // 2 else 0
    before = f"({start} alike) .. " if start else ""
    return before + shortened(held[start:]), before + shortened(due[start:])


def _rows(rows: list[dict[str, str]]) -> str:
    return "; ".join("(" + ", ".join(f"{n} = {shortened(v)}" for n, v in row.items()) + ")" for row in rows) or "-"


# Rows in an order, of which readers get the first: compared place by place.
#
# The order is the recomputation's own. Numbers that are not exact may differ in their last digits on the two sides, and so order rows differently
# whose numbers are nearly equal: such rows may stand in any order among themselves. If a limit cuts through them, nobody can tell which of them are
# to be seen, and that is said, and not passed over.


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
    found = compare(_number_rows(shown, PLACE), _number_rows(wanted, PLACE), [PLACE], tolerances, double_tolerance)
    order = [*keys.columns, *recomputed.columns]
    if found.equal or found.problem or not any(pa.types.is_floating(c.type) for c in order):
        return Shown(found)
    # neighbours are in one class unless the first column of the order that tells them apart does so by more than numbers that are not exact
    # may differ
    new, tied = np.zeros(max(len(recomputed) - 1, 0), bool), np.ones(max(len(recomputed) - 1, 0), bool)
    for column in order:
        same, near = _compare_neighbours(column.combine_chunks(), double_tolerance)
        new |= tied & ~same & ~near
        tied &= same
    classes = np.concatenate([np.zeros(min(len(recomputed), 1), np.int64), np.cumsum(new)])
    mine = classes[offset : offset + len(wanted)]
    if len(shown) != len(wanted) or not len(mine):
        return Shown(found)
    among = compare(
        _number_rows(shown, NEAR, mine), _number_rows(wanted, NEAR, mine), [NEAR], tolerances, double_tolerance
    )
    if among.equal:
        return Shown(Comparison(rows=len(shown)))
    # a class with rows within the window and outside of it: which of them are to be seen, nobody can tell. All others have to be right
    end = offset + len(wanted)
    ends = [(offset - 1, offset), (end - 1, end)]
    cut = [int(classes[b]) for a, b in ends if a >= 0 and b < len(classes) and classes[a] == classes[b]]
    whole = pa.array(~np.isin(mine, cut))
    rest = [_number_rows(rows, NEAR, mine).filter(whole) for rows in (shown, wanted)]
    if cut and compare(rest[0], rest[1], [NEAR], tolerances, double_tolerance).equal:
        return Shown(
            found, "rows that the limit separates differ by less than DOUBLEs are exact: which are first is not known"
        )
    return Shown(found)


def _number_rows(rows: pa.Table, name: str, numbers: np.ndarray | None = None) -> pa.Table:
    return rows.append_column(name, pa.array(np.arange(len(rows)) if numbers is None else numbers, pa.int64()))


def _compare_neighbours(column: pa.Array, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Of neighbours in a column: whether they are equal, NULL equal to NULL and NaN to NaN; and if not, whether they nearly are. Lists that
    nearly are count as equal."""
    if pa.types.is_list(column.type):
        column = _write_lists(pa.chunked_array([column]), tolerance)
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
