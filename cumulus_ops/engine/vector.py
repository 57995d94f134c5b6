"""Scalars over whole columns: the vectorised twin of :mod:`m3.evaluate`.

A :class:`Frame` holds one physical Arrow array per variable (decimals as units, int64 or wide, see
:mod:`cumulus_ops.mapstore.columns`). Results are physical too, and remembered, since the statements of one trigger
share most of their filters and factors.

An expression is computed for all rows at once, and fails if one of them does. ``attempt`` and ``fails`` then go through it
once more, operation by operation, and leave out of each one the rows that have failed before or that fail there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.engine.conversions import convert
from cumulus_ops.engine.exact import solve_conversion
from cumulus_ops.engine.operations import operate, tried
from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import alike, physical_type, take_rows, to_column, to_logical
from m3.datatypes import INT64_MAX, INT64_MIN, Type, to_units
from m3.evaluate import DEFAULTS
from m3.scalars import Call, Const, Scalar, Var

__all__ = ["Frame", "evaluate", "evaluate_logical", "physical_scalar", "select"]

#: The values of an expression, NULL in the rows for which it fails; and which those are, None for none.
Tried = tuple[pa.Array, "np.ndarray | None"]


@dataclass(frozen=True)
class Frame:
    """Columns of equal length, by variable name, and the results computed on them so far. ``totals``: the columns that are
    totals of maps, which may be too large for the types of their variables."""

    columns: Mapping[str, pa.Array]
    rows: int
    memo: dict[Scalar, pa.Array] = field(default_factory=dict, compare=False)
    tried: dict[Scalar, Tried] = field(default_factory=dict, compare=False)
    totals: frozenset[str] = frozenset()

    def take(self, indices: np.ndarray) -> Frame:
        """The frame of the given rows."""
        columns = {name: take_rows(column, indices) for name, column in self.columns.items()}
        return Frame(columns, len(indices), totals=self.totals)

    def of(self, rows: np.ndarray) -> Frame:
        """The frame of some different rows, ascending; itself if they are all."""
        return self if len(rows) == self.rows else self.take(rows)


def evaluate(scalar: Scalar, frame: Frame) -> pa.Array:
    """The values of ``scalar`` for every row of ``frame``, as a physical array.

    Raises:
        InputProblem: it fails for a row: ``overflow``, ``division-by-zero`` or ``bad-cast``.
    """
    if isinstance(scalar, Var) and scalar.name not in frame.totals:
        return frame.columns[scalar.name]
    found = frame.memo.get(scalar)
    if found is None:
        found = frame.memo[scalar] = _compute(scalar, frame)
    return found


def evaluate_logical(scalar: Scalar, frame: Frame) -> pa.Array:
    """The values of ``scalar`` as people see them (see :func:`~cumulus_ops.mapstore.logical_type`).

    Raises:
        InputProblem: it fails for a row: ``overflow``, ``division-by-zero`` or ``bad-cast``.
    """
    return to_logical(evaluate(scalar, frame), scalar.type)


def select(conditions: tuple[Scalar, ...], frame: Frame) -> np.ndarray | None:
    """Rows for which all conditions are true (not NULL); None when there is no condition."""
    if not conditions:
        return None
    try:
        masks = [pc.fill_null(evaluate(c, frame), False) for c in conditions]
    except InputProblem:
        return _select_in_order(conditions, frame)
    return np.flatnonzero(reduce(pc.and_, masks).to_numpy(zero_copy_only=False))


def _select_in_order(conditions: tuple[Scalar, ...], frame: Frame) -> np.ndarray:
    """Each condition only for the rows that satisfy those before it: they may guard it against errors."""
    rows = np.arange(frame.rows)
    for condition in conditions:
        passed = pc.fill_null(evaluate(condition, frame.take(rows)), False)
        rows = rows[passed.to_numpy(zero_copy_only=False)]
    return rows


def physical_scalar(const: Const) -> pa.Scalar:
    """A literal in physical form."""
    value = const.value
    if value is not None and const.type.is_numeric:
        units = to_units(value, const.type.scale)  # type: ignore[arg-type]
        if not INT64_MIN <= units <= INT64_MAX:
            return to_column(np.array([units], dtype=object))[0]
        return pa.scalar(units, pa.int64())
    if isinstance(value, float):
        value += 0.0  # zero has no sign
    return pa.scalar(value, physical_type(const.type))


def _compute(scalar: Scalar, frame: Frame) -> pa.Array:
    match scalar:
        case Const():
            return pa.repeat(physical_scalar(scalar), frame.rows)
        case Var():
            return convert(frame.columns[scalar.name], scalar.type, scalar.type)  # a total, which may not fit
        case Call(op="attempt"):
            return _attempted(scalar, frame)
        case Call(op="fails"):
            _, failed = _tried(scalar.args[0], frame)
            return pa.array(np.zeros(frame.rows, np.int64) if failed is None else failed.astype(np.int64))
        case Call(op="case"):
            return _case(scalar, frame, _evaluated)[0]
        case Call(op="and" | "or" | "coalesce"):
            return _chosen(scalar, frame)
    return operate(scalar, [evaluate(a, frame) for a in scalar.args])


# -- operations that look at some of their arguments only ----------------------------------------------------------

#: Computes an expression for a frame.
Solve = Callable[[Scalar, Frame], Tried]


def _evaluated(scalar: Scalar, frame: Frame) -> Tried:
    return evaluate(scalar, frame), None


def _case(scalar: Call, frame: Frame, solve: Solve) -> Tried:
    """Branches are computed only for the rows that take them, so that a guarded division by zero is none."""
    *branches, otherwise = scalar.args
    parts = _Parts(scalar.type, frame.rows)
    left = np.arange(frame.rows)
    for condition, value in zip(branches[::2], branches[1::2], strict=True):
        if not len(left):
            break
        taken, failed = solve(condition, frame.of(left))
        chosen = pc.fill_null(taken, False).to_numpy(zero_copy_only=False)
        parts.fail(left, failed)
        parts.add(left[chosen], value, frame, solve)
        left = left[~chosen if failed is None else ~chosen & ~failed]
    parts.add(left, otherwise, frame, solve)
    return parts.joined()


class _Parts:
    """The values of an expression that are computed for some rows at a time."""

    def __init__(self, type_: Type, rows: int) -> None:
        self._type = type_
        self._arrays: list[pa.Array] = []
        self._rows: list[np.ndarray] = []
        self._failed: np.ndarray | None = None
        self._count = rows

    def fail(self, rows: np.ndarray, failed: np.ndarray | None) -> None:
        """Note which of some rows have failed."""
        if failed is not None:
            if self._failed is None:
                self._failed = np.zeros(self._count, bool)
            self._failed[rows[failed]] = True

    def add(self, rows: np.ndarray, value: Scalar, frame: Frame, solve: Solve) -> None:
        """Compute an expression for some rows."""
        if len(rows):
            part, failed = solve(_as(value, self._type), frame.of(rows))
            self.fail(rows, failed)
            self._arrays.append(part)
            self._rows.append(rows)

    def joined(self) -> Tried:
        """All values; NULL in rows without one."""
        if len(self._arrays) == 1 and len(self._rows[0]) == self._count:
            return self._arrays[0], self._failed
        arrays = alike(self._arrays) or [pa.nulls(0, physical_type(self._type))]
        return _scattered(pa.concat_arrays(arrays), np.concatenate([*self._rows, []]), self._count), self._failed


def _scattered(values: pa.Array, rows: np.ndarray, count: int) -> pa.Array:
    """Values at the rows that they belong to, NULL elsewhere."""
    place = np.full(count, -1)
    place[rows.astype(np.int64)] = np.arange(len(rows))
    return values.take(pa.array(place, mask=place < 0))


def _as(value: Scalar, to: Type) -> Scalar:
    """An alternative as the type of all: numbers are brought to it, other kinds have it already."""
    same = not to.is_numeric or value.type.same_as(to)
    return value if same else Call("cast", (value,), to.with_null(value.type.nullable))


def _chosen(scalar: Call, frame: Frame) -> pa.Array:
    """AND, OR and COALESCE: of all operands at once, unless one fails."""
    try:
        operands = [evaluate(_as(a, scalar.type), frame) for a in scalar.args]
    except InputProblem:
        return _in_order(scalar, frame, _evaluated)[0]
    return reduce(_COMBINE[scalar.op], alike(operands))


def _in_order(scalar: Call, frame: Frame, solve: Solve) -> Tried:
    """AND, OR and COALESCE operand by operand: those that are decided need no later operand, and none of its errors."""
    first, *others = (_as(a, scalar.type) for a in scalar.args)
    result, failed = solve(first, frame)
    failed = None if failed is None else failed.copy()
    for arg in others:
        open_ = ~_DECIDED[scalar.op](result).to_numpy(zero_copy_only=False)
        if failed is not None:
            open_ &= ~failed
        rows = np.flatnonzero(open_)
        if len(rows) == 0:
            break
        part, wrong = solve(arg, frame.of(rows))
        result, part = alike([result, part])
        combined = _COMBINE[scalar.op](result.take(pa.array(rows)), part)
        result = pc.replace_with_mask(result, pa.array(open_), combined)
        if wrong is not None:
            failed = np.zeros(frame.rows, bool) if failed is None else failed
            failed[rows[wrong]] = True
    return result, failed


#: Which values of an operand settle the result, and how it is combined with the next one.
_DECIDED: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "and": lambda x: pc.fill_null(pc.invert(x), False),
    "or": lambda x: pc.fill_null(x, False),
    "coalesce": pc.is_valid,
}
_COMBINE: Mapping[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "coalesce": pc.coalesce,
}


# -- expressions that may fail -------------------------------------------------------------------------------------


def _attempted(scalar: Call, frame: Frame) -> pa.Array:
    """The values of an expression; NULL where it fails, or a default where NULL cannot be."""
    values, failed = _tried(scalar.args[0], frame)
    if failed is None or scalar.type.nullable:
        return values
    default = physical_scalar(Const(DEFAULTS[scalar.type.kind], scalar.type))
    return pc.fill_null(values, default.cast(values.type))


def _tried(scalar: Scalar, frame: Frame) -> Tried:
    """An expression, and the rows for which it fails."""
    found = frame.tried.get(scalar)
    if found is None:
        try:
            found = evaluate(scalar, frame), None
        except InputProblem:
            found = _try_again(scalar, frame)
        frame.tried[scalar] = found
    return found


def _try_again(scalar: Scalar, frame: Frame) -> Tried:
    match scalar:
        case Var():
            solved = solve_conversion(frame.columns[scalar.name], scalar.type, scalar.type)
            return solved.values, solved.failed
        case Call(op="case"):
            return _case(scalar, frame, _tried)
        case Call(op="and" | "or" | "coalesce"):
            return _in_order(scalar, frame, _tried)
        case Call():
            return _operated(scalar, frame)
    raise AssertionError(scalar)  # literals have a value


def _operated(scalar: Call, frame: Frame) -> Tried:
    """An operation for the rows in which none of its arguments fails, and it does not either."""
    args = [_tried(a, frame) for a in scalar.args]
    if all(failed is None for _, failed in args):
        return tried(scalar, [values for values, _ in args])
    failed = np.logical_or.reduce([f for _, f in args if f is not None])
    rows = np.flatnonzero(~failed)
    values, wrong = tried(scalar, [values.take(pa.array(rows)) for values, _ in args])
    if wrong is not None:
        failed[rows[wrong]] = True
    return _scattered(values, rows, frame.rows), failed
