"""Scalars over whole columns: the vectorised twin of :mod:`m3.evaluate`.

A :class:`Frame` holds one physical Arrow array per variable (decimals as units, int64 or wide, see
:mod:`cumulus_ops.maps.columns`). Results are physical too, and remembered, since the statements of one trigger
share most of their filters and factors.

An expression is computed for all rows at once, and fails if one of them does. ``attempt`` and ``fails`` then go through it
once more, operation by operation, and leave out of each one the rows that have failed before or that fail there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.compute import numbers
from cumulus_ops.compute.conversions import by_arguments, cast, convert, failing_arguments, try_cast
from cumulus_ops.compute.numbers import divide_doubles, divide_units, fit, rescale, solve_conversion
from cumulus_ops.compute.vector_functions import apply
from cumulus_ops.maps.columns import Taken, alike, is_wide, physical_type, to_column, to_logical, to_numpy
from cumulus_ops.project.errors import InputProblem
from m3.datatypes import INT64_MAX, INT64_MIN, TIMESTAMP, Type, to_units
from m3.evaluate import DEFAULTS
from m3.scalars import Call, Const, Scalar, Var

__all__ = ["Frame", "evaluate", "evaluate_logical", "operate", "physical_scalar", "select", "tried"]


# Strict operations over whole physical columns: what an operation makes of the values of its arguments.
#
# Numbers are int64 units first, with checked kernels; where a number is, or becomes, larger than that, :mod:`.exact` goes on.
# Whatever is no operation of numbers, and that Arrow does not compute as :mod:`m3.evaluate` does, is left to that.


#: So many rows are looked at one by one sooner than they are halved.
FEW = 64


def operate(node: Call, args: list[pa.Array]) -> pa.Array:
    """An operation's values for every row.

    Args:
        node: the operation, none that decides which of its arguments it looks at.
        args: the physical values of its arguments.

    Raises:
        InputProblem: it fails for some row: ``overflow``, ``division-by-zero`` or ``bad-cast``.
    """
    if node.type.kind == "double":
        return pc.add(_operate(node, args), 0.0)  # zero has no sign
    return _operate(node, args)


def _operate(node: Call, args: list[pa.Array]) -> pa.Array:
    compute = _OPERATIONS.get(node.op)
    if node.op not in _ANY_WIDTH and any(is_wide(x.type) for x in args):
        solved = numbers.solve(node, args)
        return by_arguments(node, args) if solved is None else numbers.values(solved)
    try:
        return (compute or apply)(node, args)
    except (pa.ArrowInvalid, InputProblem) as error:
        if "divide by zero" in str(error):
            raise numbers.division_by_zero() from error
        solved = numbers.solve(node, args)
        if solved is not None:
            return numbers.values(solved)
        if isinstance(error, InputProblem):
            raise
        raise numbers.overflow(node.op, node.type) from error


def tried(node: Call, args: list[pa.Array]) -> tuple[pa.Array, np.ndarray | None]:
    """An operation's values, NULL for the rows for which it fails; and which those are, None for none."""
    try:
        return operate(node, args), None
    except InputProblem:
        solved = numbers.solve(node, args)
    if solved is not None:
        return solved.values, solved.failed
    varying = [i for i, a in enumerate(node.args) if not isinstance(a, Const)]
    if len(varying) != 1:
        return _without_failures(node, args)
    encoded = args[varying[0]].dictionary_encode(null_encoding="encode")  # once for each distinct value
    distinct = len(encoded.dictionary)
    once = [
        encoded.dictionary if i in varying else x.slice(0, 1).take(pa.array(np.zeros(distinct, int)))
        for i, x in enumerate(args)
    ]
    values, failed = _without_failures(node, once)
    places = encoded.indices.to_numpy(zero_copy_only=False)
    return values.take(pa.array(places)), None if failed is None else failed[places]


def _without_failures(node: Call, args: list[pa.Array]) -> tuple[pa.Array, np.ndarray | None]:
    failed = _failures(node, args)
    if not failed.any():
        return operate(node, args), None
    rows = np.flatnonzero(~failed)
    place = np.full(len(failed), -1)
    place[rows] = np.arange(len(rows))
    left = [x.take(pa.array(rows)) for x in args]
    try:
        values = operate(node, left)
    except InputProblem:  # whoever computes columns may stumble over what stands beside a NULL
        values = by_arguments(node, left)
    return values.take(pa.array(place, mask=failed)), failed


def _failures(node: Call, args: list[pa.Array]) -> np.ndarray:
    """The rows for which an operation fails, as a mask: looked for in halves of those that do."""
    rows = len(args[0])
    if rows <= FEW:
        return failing_arguments(node, args)
    try:
        operate(node, args)
        return np.zeros(rows, bool)
    except InputProblem:
        half = rows // 2
        return np.concatenate([_failures(node, [x[part] for x in args]) for part in (slice(half), slice(half, rows))])


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


def _compare(op: str, args: list[pa.Array], types: list[Type]) -> pa.Array:
    """A comparison of two columns, of numbers at any scales, or as timestamps."""
    if all(t.is_numeric for t in types):
        if types[0].scale != types[1].scale:
            if not any(is_wide(x.type) for x in args):
                return _compare_rounded(op, args, types)
            scale = max(t.scale for t in types)
            args = [numbers.at_scale(x, t.scale, scale) for x, t in zip(args, types, strict=True)]
        return _FUNCTIONS[op](*alike(args))
    if {t.kind for t in types} == {"date", "timestamp"}:
        args = [x.cast(physical_type(TIMESTAMP)) for x in args]
    return _compare_doubles(op, *args) if types[0].kind == types[1].kind == "double" else _FUNCTIONS[op](*args)


def _compare_rounded(op: str, args: list[pa.Array], types: list[Type]) -> pa.Array:
    """A comparison of integers at two scales, with those of the larger one rounded down or up to the smaller one. The others may not fit at the larger
    one, and Arrow takes 140 ns to say so of each."""
    if types[0].scale > types[1].scale:
        return _compare_rounded(MIRRORED.get(op, op), args[::-1], types[::-1])
    coarse, fine = args
    units, digits = to_numpy(fine), types[1].scale - types[0].scale
    is_long = digits > numbers.INT64_DIGITS  # then all are less than 1
    floor = -(units < 0).astype(np.int64) if is_long else units // 10**digits
    ceiling = floor + (units != 0 if is_long else units != floor * 10**digits)
    null = fine.is_null().to_numpy(zero_copy_only=False) if fine.null_count else None
    if op in ("eq", "ne"):  # a whole number is its own floor and ceiling, and no other is equal to both
        both = [_FUNCTIONS[op](coarse, to_column(of, null)) for of in (floor, ceiling)]
        return (pc.and_ if op == "eq" else pc.or_)(*both)
    return _FUNCTIONS[op](coarse, to_column(ceiling if op in ("lt", "ge") else floor, null))


def _compare_doubles(op: str, a: pa.Array, b: pa.Array) -> pa.Array:
    """NaN equals itself and is greater than every other number."""
    found, nan_a, nan_b = _FUNCTIONS[op](a, b), pc.is_nan(a), pc.is_nan(b)
    either = pc.or_(nan_a, nan_b)
    if not pc.any(either).as_py():
        return found
    return pc.if_else(either, _FUNCTIONS[op](nan_a.cast(pa.int8()), nan_b.cast(pa.int8())), found)


def _comparison(node: Call, args: list[pa.Array]) -> pa.Array:
    return _compare(node.op, args, [a.type for a in node.args])


def _same(node: Call, args: list[pa.Array]) -> pa.Array:
    equal = pc.fill_null(_compare("eq", args, [a.type for a in node.args]), False)
    return pc.or_(equal, pc.and_(pc.is_null(args[0]), pc.is_null(args[1])))


def _in(node: Call, args: list[pa.Array]) -> pa.Array:
    needle, *others = zip(args, (a.type for a in node.args), strict=True)
    equal = [_compare("eq", [needle[0], x], [needle[1], type_]) for x, type_ in others]
    return reduce(pc.or_kleene, equal)


_FUNCTIONS: Mapping[str, Callable[[pa.Array, pa.Array], pa.Array]] = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "lt": pc.less,
    "le": pc.less_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
}
#: a < b is b > a
MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_OPERATIONS: Mapping[str, Callable[[Call, list[pa.Array]], pa.Array]] = {
    "add": _arithmetic(pc.add_checked, pc.add),
    "sub": _arithmetic(pc.subtract_checked, pc.subtract),
    "mul": _multiply,
    "div": _divide,
    "neg": lambda node, args: pc.negate_checked(args[0]),
    "same": _same,
    "in": _in,
    **dict.fromkeys(_FUNCTIONS, _comparison),
    "not": lambda node, args: pc.invert(args[0]),
    "is_null": lambda node, args: pc.is_null(args[0]),
    "cast": lambda node, args: cast(node, args[0]),
    "try_cast": lambda node, args: try_cast(node, args[0]),
}
#: What takes wide columns as they are.
_ANY_WIDTH = frozenset({*_FUNCTIONS, "same", "in", "is_null"})


#: The values of an expression, NULL in the rows for which it fails; and which those are, None for none.
Tried = tuple[pa.Array, "np.ndarray | None"]


@dataclass(eq=False)  # not frozen: made for each look-up, and three times as fast
class Frame:
    """Columns of equal length, by variable name, and the results computed on them so far. ``totals``: the columns that are
    totals of maps, which may be too large for the types of their variables."""

    columns: Mapping[str, pa.Array]
    rows: int
    memo: dict[Scalar, pa.Array] = field(default_factory=dict)
    tried: dict[Scalar, Tried] = field(default_factory=dict)
    totals: frozenset[str] = frozenset()

    def take(self, indices: np.ndarray) -> Frame:
        """The frame of the given rows."""
        return Frame(Taken(self.columns, indices), len(indices), totals=self.totals)

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
    """The values of ``scalar`` as people see them (see :func:`~cumulus_ops.maps.columns.logical_type`).

    Raises:
        InputProblem: it fails for a row: ``overflow``, ``division-by-zero`` or ``bad-cast``.
    """
    return to_logical(evaluate(scalar, frame), scalar.type)


def select(conditions: tuple[Scalar, ...], frame: Frame) -> np.ndarray | None:
    """Rows for which all conditions are true (not NULL); None when there is no condition."""
    if not conditions:
        return None
    try:
        masks = [evaluate(c, frame) for c in conditions]
        masks = [pc.fill_null(mask, False) if mask.null_count else mask for mask in masks]
    except InputProblem:
        # Each condition only for the rows that satisfy those before it: they may guard it against errors.
        rows = np.arange(frame.rows)
        for condition in conditions:
            passed = pc.fill_null(evaluate(condition, frame.take(rows)), False)
            rows = rows[passed.to_numpy(zero_copy_only=False)]
        return rows
    return reduce(pc.and_, masks).to_numpy(zero_copy_only=False).nonzero()[0]


@lru_cache(maxsize=4096)
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
            return _attempt(scalar, frame)
        case Call(op="fails"):
            _, failed = _try_scalar(scalar.args[0], frame)
            return pa.array(np.zeros(frame.rows, np.int64) if failed is None else failed.astype(np.int64))
        case Call(op="case"):
            return _case(scalar, frame, _evaluate_call)[0]
        case Call(op="and" | "or" | "coalesce"):
            # AND, OR and COALESCE: of all operands at once, unless one fails.
            try:
                operands = [evaluate(_as(a, scalar.type), frame) for a in scalar.args]
            except InputProblem:
                return _in_order(scalar, frame, _evaluate_call)[0]
            return reduce(_COMBINE[scalar.op], alike(operands))
    return operate(scalar, [evaluate(a, frame) for a in scalar.args])


# -- operations that look at some of their arguments only ----------------------------------------------------------

#: Computes an expression for a frame.
Solve = Callable[[Scalar, Frame], Tried]


def _evaluate_call(scalar: Scalar, frame: Frame) -> Tried:
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
        return _scatter(pa.concat_arrays(arrays), np.concatenate([*self._rows, []]), self._count), self._failed


def _scatter(values: pa.Array, rows: np.ndarray, count: int) -> pa.Array:
    """Values at the rows that they belong to, NULL elsewhere."""
    place = np.full(count, -1)
    place[rows.astype(np.int64)] = np.arange(len(rows))
    return values.take(pa.array(place, mask=place < 0))


def _as(value: Scalar, to: Type) -> Scalar:
    """An alternative as the type of all: numbers are brought to it, other kinds have it already."""
    same = not to.is_numeric or value.type.same_as(to)
    return value if same else Call("cast", (value,), to.with_null(value.type.nullable))


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


def _attempt(scalar: Call, frame: Frame) -> pa.Array:
    """The values of an expression; NULL where it fails, or a default where NULL cannot be."""
    values, failed = _try_scalar(scalar.args[0], frame)
    if failed is None or scalar.type.nullable:
        return values
    default = physical_scalar(Const(DEFAULTS[scalar.type.kind], scalar.type))
    return pc.fill_null(values, default.cast(values.type))


def _try_scalar(scalar: Scalar, frame: Frame) -> Tried:
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
            return _case(scalar, frame, _try_scalar)
        case Call(op="and" | "or" | "coalesce"):
            return _in_order(scalar, frame, _try_scalar)
        case Call():
            # An operation for the rows in which none of its arguments fails, and it does not either.
            args = [_try_scalar(a, frame) for a in scalar.args]
            if all(failed is None for _, failed in args):
                return tried(scalar, [values for values, _ in args])
            failed = np.logical_or.reduce([f for _, f in args if f is not None])
            rows = np.flatnonzero(~failed)
            values, wrong = tried(scalar, [values.take(pa.array(rows)) for values, _ in args])
            if wrong is not None:
                failed[rows[wrong]] = True
            return _scatter(values, rows, frame.rows), failed
    raise AssertionError(scalar)  # literals have a value
