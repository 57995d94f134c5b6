"""Two tables compared as multisets, exactly, NULL equal to NULL, in one aggregation and without collecting them.

Rows of one side count +1, of the other -1; summed over all columns, equal rows cancel out and what is left is the
difference. DOUBLE columns cannot be grouped by (their sums depend on the order of addition), so their differences are
summed and held against a tolerance.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

__all__ = ["SAMPLE_GROUPS", "Comparison", "compare"]

SAMPLE_GROUPS = 20
ROWS_PER_GROUP = 5
LONG_DIGITS = 19
SIDE, COUNT, LEFT, RIGHT = "_side", "_count", "_snapshot", "_recomputed"


@dataclass(frozen=True)
class Comparison:
    """The result: groups that only the recomputation has, that only the snapshot has, and that both have with different
    values. ``sample``: up to 20 groups as ``{"kind", "key", "snapshot": rows, "recomputed": rows}``, values as text.
    ``problem`` says why the tables cannot be compared at all."""

    missing: int = 0
    unexpected: int = 0
    differing: int = 0
    sample: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""

    @property
    def equal(self) -> bool:
        """Whether no difference was found."""
        return not (self.problem or self.missing or self.unexpected or self.differing)


def compare(
    snapshot: DataFrame,
    recomputed: DataFrame,
    keys: Sequence[str],
    tolerances: Mapping[str, float] | None = None,
    double_tolerance: float = 0.0,
) -> Comparison:
    """Compares two tables; one Spark job, a second one for the sample if they differ.

    Args:
        snapshot: the table to judge; gives the names.
        recomputed: the reference; its columns correspond by position.
        keys: columns that identify a group.
        tolerances: DOUBLE column -> accepted difference, relative to the larger of 1 and the values.
        double_tolerance: the same for the DOUBLE columns not named.
    """
    types, problem = _common_types(snapshot, recomputed, tolerances or {})
    problem = problem or _missing_keys(keys, snapshot.columns)
    if problem:
        return Comparison(problem=problem)
    names = snapshot.columns
    allowed = {n: (tolerances or {}).get(n, double_tolerance) for n in names if isinstance(types[n], T.DoubleType)}
    groups = _groups(_differences(_marked(snapshot, recomputed, types), names, allowed), names, keys)
    missing, unexpected, differing = F.col(LEFT) == 0, F.col(RIGHT) == 0, (F.col(LEFT) > 0) & (F.col(RIGHT) > 0)
    counted = groups.agg(
        *(F.count_if(kind).alias(str(i)) for i, kind in enumerate((missing, unexpected, differing)))
    ).first()
    a, b, c = (int(n) for n in counted) if counted else (0, 0, 0)
    return Comparison(a, b, c, _sample(groups, names, keys) if a or b or c else [])


def _missing_keys(keys: Sequence[str], names: Sequence[str]) -> str:
    absent = [key for key in keys if key not in names]
    return f"the snapshot has no key column {', '.join(absent)}" if absent else ""


def _common_types(a: DataFrame, b: DataFrame, tolerances: Mapping[str, float]) -> tuple[dict[str, T.DataType], str]:
    if len(a.columns) != len(b.columns):
        return {}, f"the snapshot has the columns {', '.join(a.columns)}, the recomputation {', '.join(b.columns)}"
    types = {}
    for left, right in zip(a.schema.fields, b.schema.fields, strict=True):
        common = _common_type(left.dataType, right.dataType, left.name in tolerances)
        if common is None:
            found = f"{left.dataType.simpleString()} in the snapshot, {right.dataType.simpleString()} recomputed"
            return {}, f"{left.name} is {found}"
        types[left.name] = common
    return types, ""


def _common_type(a: T.DataType, b: T.DataType, tolerant: bool) -> T.DataType | None:
    """A type that holds the values of both exactly, or None. Exact numbers become DOUBLE only where a tolerance for the
    column says so. Digits that no DECIMAL could hold make the cast fail, never a wrong answer."""
    if isinstance(a, T.NullType) or isinstance(b, T.NullType):
        return b if isinstance(a, T.NullType) else a
    floats = [isinstance(t, T.DoubleType | T.FloatType) for t in (a, b)]
    if all(floats) or (any(floats) and tolerant and all(isinstance(t, T.NumericType) for t in (a, b))):
        return T.DoubleType()
    exact = [_as_decimal(t) for t in (a, b)]
    if exact[0] and exact[1]:
        scale = max(d.scale for d in exact if d)
        whole = max(d.precision - d.scale for d in exact if d)
        return T.DecimalType(min(38, whole + scale), scale)
    for kind, common in ((T.StringType, T.StringType()), (T.TimestampNTZType | T.TimestampType, T.TimestampNTZType())):
        if isinstance(a, kind) and isinstance(b, kind):
            return common
    return a if a == b and not any(floats) else None


def _as_decimal(type_: T.DataType) -> T.DecimalType | None:
    return (
        T.DecimalType(LONG_DIGITS, 0)
        if isinstance(type_, T.IntegralType)
        else type_
        if isinstance(type_, T.DecimalType)
        else None
    )


def _marked(snapshot: DataFrame, recomputed: DataFrame, types: Mapping[str, T.DataType]) -> DataFrame:
    sides = []
    for table, side in ((snapshot, 1), (recomputed, -1)):
        named = table.toDF(*snapshot.columns)
        sides.append(named.select(*(_col(n).cast(t).alias(n) for n, t in types.items()), F.lit(side).alias(SIDE)))
    return sides[0].unionAll(sides[1])


def _differences(marked: DataFrame, names: Sequence[str], allowed: Mapping[str, float]) -> DataFrame:
    """Rows that do not cancel out: each side's values, ``_count`` (+ too many in the snapshot, - too few)."""
    exact = [n for n in names if n not in allowed]
    classes = [_float_class(n) for n in allowed]
    sums = [_float_sums(n) for n in allowed]
    summed = marked.groupBy(*map(_col, exact), *classes).agg(
        F.sum(SIDE).alias(COUNT), *(c for group in sums for c in group)
    )
    apart = [F.abs(_col(n + "_d")) > F.lit(t) * F.greatest(F.lit(1.0), _col(n + "_m")) for n, t in allowed.items()]
    return summed.where(reduce(lambda x, y: x | y, apart, F.col(COUNT) != 0))


def _float_class(name: str) -> Column:
    """NULL, NaN and infinities are compared as what they are; finite numbers fall into one class."""
    value = _col(name)
    finite = ~F.isnan(value) & (F.abs(value) != F.lit(float("inf")))
    return F.when(value.isNull(), "NULL").when(finite, "finite").otherwise(value.cast("string")).alias(name + "_c")


def _float_sums(name: str) -> tuple[Column, ...]:
    value = _col(name)
    number = F.when(F.isnan(value) | (F.abs(value) == F.lit(float("inf"))), 0.0).otherwise(
        F.coalesce(value, F.lit(0.0))
    )
    return (
        F.sum(number * F.col(SIDE)).alias(name + "_d"),
        F.max(F.abs(number)).alias(name + "_m"),
        F.max(F.when(F.col(SIDE) == 1, value)).alias(name + "_l"),
        F.max(F.when(F.col(SIDE) == -1, value)).alias(name + "_r"),
    )


def _groups(differences: DataFrame, names: Sequence[str], keys: Sequence[str]) -> DataFrame:
    """Per key: the number of differing rows on each side, and some of them."""
    columns = differences.columns
    held, due = F.col(COUNT) >= 0, F.col(COUNT) <= 0  # equally many, but DOUBLEs apart: a row on both sides

    def rows(side: str, suffix: str) -> Column:
        values = [(_col(n + suffix) if n + suffix in columns else _col(n)).alias(n) for n in names if n not in keys]
        row = F.struct(*values, F.greatest(F.abs(COUNT), F.lit(1)).alias(COUNT))
        return F.slice(F.collect_list(F.when(held if side == LEFT else due, row)), 1, ROWS_PER_GROUP)

    grouped = differences.groupBy(*map(_col, keys)).agg(
        F.count_if(held).alias(LEFT),
        F.count_if(due).alias(RIGHT),
        rows(LEFT, "_l").alias(LEFT + "_rows"),
        rows(RIGHT, "_r").alias(RIGHT + "_rows"),
    )
    return grouped.where((F.col(LEFT) > 0) | (F.col(RIGHT) > 0))


def _sample(groups: DataFrame, names: Sequence[str], keys: Sequence[str]) -> list[dict[str, Any]]:
    found = groups.orderBy(*map(_col, keys)).limit(SAMPLE_GROUPS).collect() if keys else groups.collect()
    values = [n for n in names if n not in keys]
    return [
        {
            "kind": "missing" if not row[LEFT] else "unexpected" if not row[RIGHT] else "differing",
            "key": {key: _text(row[key]) for key in keys},
            "snapshot": [_row(values, r) for r in row[LEFT + "_rows"]],
            "recomputed": [_row(values, r) for r in row[RIGHT + "_rows"]],
        }
        for row in found
    ]


def _row(names: Sequence[str], row: T.Row) -> dict[str, str]:
    found = {name: _text(value) for name, value in zip(names, row, strict=False)}
    return found if row[-1] == 1 else {**found, "times": str(row[-1])}


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return format(value, "f") if hasattr(value, "as_tuple") else str(value)


def _col(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")
