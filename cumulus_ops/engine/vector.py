"""Scalars over whole columns: the vectorised twin of :mod:`m3.evaluate`.

A :class:`Frame` holds one physical Arrow array per variable (decimals as int64 units, see
:mod:`cumulus_ops.mapstore.columns`). Results are physical too, and remembered, since the statements of one trigger
share most of their filters and factors. All arithmetic is checked: a result that leaves 64 bits is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.engine.conversions import by_row, cast, convert, try_cast
from cumulus_ops.engine.units import divide_doubles, divide_units, fit, rescale
from cumulus_ops.engine.vector_functions import apply
from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import physical_type, take_rows, to_logical, to_physical
from m3.datatypes import INT64_MAX, INT64_MIN, TIMESTAMP, Type, to_units
from m3.scalars import Call, Const, Scalar, Var, variables

__all__ = ["Frame", "evaluate", "evaluate_logical", "physical_scalar", "select"]


@dataclass(frozen=True)
class Frame:
    """Columns of equal length, by variable name, and the results computed on them so far. ``wide``: the columns with units
    beyond 64 bits, see :data:`~cumulus_ops.mapstore.WIDE`; expressions over them are computed row by row."""

    columns: Mapping[str, pa.Array]
    rows: int
    memo: dict[Scalar, pa.Array] = field(default_factory=dict, compare=False)
    wide: frozenset[str] = frozenset()

    def take(self, indices: np.ndarray) -> Frame:
        """The frame of the given rows."""
        columns = {name: take_rows(column, indices) for name, column in self.columns.items()}
        return Frame(columns, len(indices), wide=self.wide)

    def is_wide(self, scalar: Scalar) -> bool:
        """Whether an expression, other than a column as it is, reads a wide column."""
        return bool(self.wide) and isinstance(scalar, Call) and not self.wide.isdisjoint(variables(scalar))


def evaluate(scalar: Scalar, frame: Frame) -> pa.Array:
    """The values of ``scalar`` for every row of ``frame``, as a physical array.

    Only the result has to fit 64 bits: where an intermediate result does not, rows are computed one by one.

    Raises:
        InputProblem: ``overflow``, ``division-by-zero`` or ``bad-cast``.
    """
    if frame.is_wide(scalar):
        return to_physical(by_row(scalar, frame.columns, frame.rows), scalar.type)
    try:
        return _evaluate(scalar, frame)
    except InputProblem as problem:
        if problem.kind != "overflow" or not isinstance(scalar, Call):
            raise
        frame.memo[scalar] = to_physical(by_row(scalar, frame.columns, frame.rows), scalar.type)
        return frame.memo[scalar]


def evaluate_logical(scalar: Scalar, frame: Frame) -> pa.Array:
    """The values of ``scalar`` as people see them (see :func:`~cumulus_ops.mapstore.logical_type`), of up to 38 digits.

    Raises:
        InputProblem: ``overflow``, ``division-by-zero`` or ``bad-cast``.
    """
    if frame.is_wide(scalar):
        return by_row(scalar, frame.columns, frame.rows)
    try:
        return to_logical(_evaluate(scalar, frame), scalar.type)
    except InputProblem as problem:
        if problem.kind != "overflow" or not isinstance(scalar, Call):
            raise
        return by_row(scalar, frame.columns, frame.rows)


def _evaluate(scalar: Scalar, frame: Frame) -> pa.Array:
    if isinstance(scalar, Var):
        return frame.columns[scalar.name]
    found = frame.memo.get(scalar)
    if found is None:
        found = frame.memo[scalar] = _compute(scalar, frame)
    return found


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
        value = to_units(value, const.type.scale)  # type: ignore[arg-type]
        if not INT64_MIN <= value <= INT64_MAX:
            raise InputProblem(
                f"the literal {const.value} is beyond 64 bits", kind="overflow", hint="use fewer decimals"
            )
    return pa.scalar(value, physical_type(const.type))


def _compute(scalar: Const | Call, frame: Frame) -> pa.Array:
    if isinstance(scalar, Const):
        return pa.repeat(physical_scalar(scalar), frame.rows)
    try:
        if scalar.op == "case":
            return _case(scalar, frame)
        try:
            return _OPERATIONS.get(scalar.op, apply)(scalar, [_evaluate(a, frame) for a in scalar.args])
        except InputProblem:
            if scalar.op not in _DECIDED:
                raise
            return _in_order(scalar, frame)
    except pa.ArrowInvalid as error:
        raise _problem(scalar, error) from error


def _problem(scalar: Call, error: Exception) -> InputProblem:
    if "divide by zero" in str(error):
        return InputProblem("division by zero", kind="division-by-zero", hint="guard it with CASE WHEN")
    return InputProblem(f"{scalar.op} leaves the 64-bit range", kind="overflow", hint="use types with fewer decimals")


def _case(scalar: Call, frame: Frame) -> pa.Array:
    """Branches are computed only for the rows that take them, so that a guarded division by zero is none."""
    *branches, otherwise = scalar.args
    result = pa.nulls(frame.rows, physical_type(scalar.type))
    left = np.ones(frame.rows, dtype=bool)
    for condition, value in [*zip(branches[::2], branches[1::2], strict=True), (None, otherwise)]:
        chosen = left.copy()
        if condition is not None:
            here = frame.take(np.flatnonzero(left))
            chosen[left] = pc.fill_null(_evaluate(condition, here), False).to_numpy(zero_copy_only=False)
        if chosen.any():
            part = convert(_evaluate(value, frame.take(np.flatnonzero(chosen))), value.type, scalar.type)
            result = pc.replace_with_mask(result, pa.array(chosen), part)
        left &= ~chosen
    return result


def _in_order(scalar: Call, frame: Frame) -> pa.Array:
    """AND, OR and COALESCE operand by operand: those that are decided need no later operand, and none of its errors."""
    first, *others = scalar.args
    result = convert(_evaluate(first, frame), first.type, scalar.type)
    for arg in others:
        open_ = pc.invert(_DECIDED[scalar.op](result))
        rows = np.flatnonzero(open_.to_numpy(zero_copy_only=False))
        if len(rows) == 0:
            break
        part = convert(_evaluate(arg, frame.take(rows)), arg.type, scalar.type)
        combined = _COMBINE[scalar.op](result.filter(open_), part)
        result = pc.replace_with_mask(result, open_, combined)
    return result


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


# -- numbers -------------------------------------------------------------------------------------------------------


def _arithmetic(
    function: Callable[[pa.Array, pa.Array], pa.Array], of_doubles: Callable[[pa.Array, pa.Array], pa.Array]
) -> Callable[[Call, list[pa.Array]], pa.Array]:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array:
        if node.type.kind == "double":
            return of_doubles(*args)
        scale = max(a.type.scale for a in node.args)
        a, b = (rescale(x, n.type.scale, scale) for x, n in zip(args, node.args, strict=True))
        return fit(rescale(function(a, b), scale, node.type.scale), node.type)

    return compute


def _multiply(node: Call, args: list[pa.Array]) -> pa.Array:
    if node.type.kind == "double":
        return pc.multiply(*args)
    scale = sum(a.type.scale for a in node.args)
    return fit(rescale(pc.multiply_checked(*args), scale, node.type.scale), node.type)


def _divide(node: Call, args: list[pa.Array]) -> pa.Array:
    if node.type.kind == "double":
        return divide_doubles(*args)
    a, b = node.args
    return fit(divide_units(args[0], args[1], node.type.scale + b.type.scale - a.type.scale), node.type)


# -- comparisons and logic -----------------------------------------------------------------------------------------


def _aligned(x: pa.Array, source: Type, others: list[Type]) -> pa.Array:
    """An operand of a comparison, brought to the common scale or to timestamps."""
    if source.is_numeric:
        return rescale(x, source.scale, max(t.scale for t in [source, *others]))
    if source.kind == "date" and any(t.kind == "timestamp" for t in others):
        return x.cast(physical_type(TIMESTAMP))
    return x


def _comparison(function: Callable[[pa.Array, pa.Array], pa.Array]) -> Callable[[Call, list[pa.Array]], pa.Array]:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array:
        types = [a.type for a in node.args]
        a, b = (_aligned(x, t, types) for x, t in zip(args, types, strict=True))
        return function(a, b)

    return compute


def _same(node: Call, args: list[pa.Array]) -> pa.Array:
    equal = pc.fill_null(_comparison(pc.equal)(node, args), False)
    return pc.or_(equal, pc.and_(pc.is_null(args[0]), pc.is_null(args[1])))


def _in(node: Call, args: list[pa.Array]) -> pa.Array:
    types = [a.type for a in node.args]
    needle, *others = (_aligned(x, t, types) for x, t in zip(args, types, strict=True))
    return reduce(pc.or_kleene, [pc.equal(needle, other) for other in others])


_OPERATIONS: Mapping[str, Callable[[Call, list[pa.Array]], pa.Array]] = {
    "add": _arithmetic(pc.add_checked, pc.add),
    "sub": _arithmetic(pc.subtract_checked, pc.subtract),
    "mul": _multiply,
    "div": _divide,
    "neg": lambda node, args: pc.negate_checked(args[0]),
    "same": _same,
    "eq": _comparison(pc.equal),
    "ne": _comparison(pc.not_equal),
    "lt": _comparison(pc.less),
    "le": _comparison(pc.less_equal),
    "gt": _comparison(pc.greater),
    "ge": _comparison(pc.greater_equal),
    "and": lambda node, args: reduce(pc.and_kleene, args),
    "or": lambda node, args: reduce(pc.or_kleene, args),
    "not": lambda node, args: pc.invert(args[0]),
    "is_null": lambda node, args: pc.is_null(args[0]),
    "in": _in,
    "coalesce": lambda node, args: pc.coalesce(
        *(convert(x, a.type, node.type) for x, a in zip(args, node.args, strict=True))
    ),
    "cast": lambda node, args: cast(node, args[0]),
    "try_cast": lambda node, args: try_cast(node, args[0]),
}
