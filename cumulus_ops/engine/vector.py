"""Scalars over whole columns: the vectorised twin of :mod:`m3.evaluate`.

A :class:`Frame` holds one physical Arrow array per variable (decimals as int64 units, see
:mod:`cumulus_ops.mapstore.columns`). Results are physical too, and remembered, since the statements of one trigger share
most of their filters and factors. All arithmetic is checked: what leaves 64 bits is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import physical_type, to_logical, to_numpy, to_physical
from m3.datatypes import INT64_MAX, INT64_MIN, TIMESTAMP, Type, to_units
from m3.scalars import Call, Const, Scalar, Var

__all__ = ["Frame", "evaluate", "physical_scalar", "select"]


@dataclass(frozen=True)
class Frame:
    """Columns of equal length, by variable name, and the results computed on them so far."""

    columns: Mapping[str, pa.Array]
    rows: int
    memo: dict[Scalar, pa.Array] = field(default_factory=dict, compare=False)

    def take(self, indices: np.ndarray) -> Frame:
        """The frame of the given rows."""
        chosen = pa.array(indices)
        return Frame({name: column.take(chosen) for name, column in self.columns.items()}, len(indices))


def evaluate(scalar: Scalar, frame: Frame) -> pa.Array:
    """The values of ``scalar`` for every row of ``frame``, as a physical array.

    Raises:
        InputProblem: ``overflow``, ``division-by-zero`` or ``bad-cast``.
    """
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
    masks = [pc.fill_null(evaluate(c, frame), False) for c in conditions]
    return np.flatnonzero(reduce(pc.and_, masks).to_numpy(zero_copy_only=False))


def physical_scalar(const: Const) -> pa.Scalar:
    """A literal in physical form."""
    value = const.value
    if value is not None and const.type.kind == "decimal":
        value = to_units(value, const.type.scale)  # type: ignore[arg-type]
        if not INT64_MIN <= value <= INT64_MAX:
            raise InputProblem(f"the literal {const.value} is beyond 64 bits", kind="overflow", hint="use fewer decimals")
    return pa.scalar(value, physical_type(const.type))


def _compute(scalar: Const | Call, frame: Frame) -> pa.Array:
    if isinstance(scalar, Const):
        return pa.repeat(physical_scalar(scalar), frame.rows)
    if scalar.op == "case":
        return _case(scalar, frame)
    args = [evaluate(a, frame) for a in scalar.args]
    try:
        return _OPERATIONS[scalar.op](scalar, args)
    except pa.ArrowInvalid as error:
        raise _problem(scalar, error) from error


def _problem(scalar: Call, error: Exception) -> InputProblem:
    if scalar.op == "cast":
        return InputProblem(f"cannot cast to {scalar.type}: {error}", kind="bad-cast", hint="reject such rows at the source")
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
            chosen[left] = pc.fill_null(evaluate(condition, here), False).to_numpy(zero_copy_only=False)
        if chosen.any():
            part = _convert(evaluate(value, frame.take(np.flatnonzero(chosen))), value.type, scalar.type)
            result = pc.replace_with_mask(result, pa.array(chosen), part)
        left &= ~chosen
    return result


# -- numbers -------------------------------------------------------------------------------------------------------


def _rescale(units: pa.Array, source: int, target: int) -> pa.Array:
    """Units at one scale -> units at another, rounding half away from zero when digits go."""
    if target >= source:
        return units if target == source else pc.multiply_checked(units, pa.scalar(10 ** (target - source), pa.int64()))
    return _divide_units(units, pa.repeat(pa.scalar(10 ** (source - target), pa.int64()), len(units)), 0)


def _divide_units(dividend: pa.Array, divisor: pa.Array, shift: int) -> pa.Array:
    """dividend * 10**shift / divisor, rounded half away from zero; Python integers only where 64 bits would not do."""
    null = pc.or_(pc.is_null(dividend), pc.is_null(divisor)).to_numpy(zero_copy_only=False)
    a, b = to_numpy(dividend), to_numpy(divisor, 1)
    if bool(((b == 0) & ~null).any()):
        raise pa.ArrowInvalid("divide by zero")
    b = np.where(b == 0, 1, b)
    up, down = 10 ** max(shift, 0), 10 ** max(-shift, 0)
    wide = len(a) and (float(np.abs(a.astype(float)).max()) * up >= 2.0**61 or float(np.abs(b.astype(float)).max()) * down >= 2.0**61)
    if wide:
        a, b = a.astype(object), b.astype(object)
    a, b = a * up, b * down
    magnitude = (2 * abs(a) + abs(b)) // (2 * abs(b))
    quotient = np.where((a < 0) != (b < 0), -magnitude, magnitude)
    if wide and any(not INT64_MIN <= q <= INT64_MAX for q in (quotient.max(initial=0), quotient.min(initial=0))):
        raise pa.ArrowInvalid("overflow")
    return pa.array(quotient.astype(np.int64), mask=null)


def _fit(units: pa.Array, to: Type) -> pa.Array:
    """Check a decimal's precision; wider than 18 digits is bounded by the 64 bits themselves."""
    if to.kind == "decimal" and to.precision <= 18 and len(units):
        extremes = pc.min_max(units).as_py()
        if max(abs(extremes["min"] or 0), abs(extremes["max"] or 0)) >= 10**to.precision:
            raise pa.ArrowInvalid("overflow")
    return units


def _arithmetic(function: Callable[[pa.Array, pa.Array], pa.Array]) -> Callable[[Call, list[pa.Array]], pa.Array]:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array:
        scale = max(a.type.scale for a in node.args)
        a, b = (_rescale(x, n.type.scale, scale) for x, n in zip(args, node.args, strict=True))
        return _fit(_rescale(function(a, b), scale, node.type.scale), node.type)

    return compute


def _multiply(node: Call, args: list[pa.Array]) -> pa.Array:
    scale = sum(a.type.scale for a in node.args)
    return _fit(_rescale(pc.multiply_checked(*args), scale, node.type.scale), node.type)


def _divide(node: Call, args: list[pa.Array]) -> pa.Array:
    a, b = node.args
    return _fit(_divide_units(args[0], args[1], node.type.scale + b.type.scale - a.type.scale), node.type)


# -- comparisons and logic -----------------------------------------------------------------------------------------


def _aligned(x: pa.Array, source: Type, others: list[Type]) -> pa.Array:
    """An operand of a comparison, brought to the common scale or to timestamps."""
    if source.is_numeric:
        return _rescale(x, source.scale, max(t.scale for t in [source, *others]))
    if source.kind == "date" and any(t.kind == "timestamp" for t in others):
        return x.cast(physical_type(TIMESTAMP))
    return x


def _comparison(function: Callable[[pa.Array, pa.Array], pa.Array]) -> Callable[[Call, list[pa.Array]], pa.Array]:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array:
        types = [a.type for a in node.args]
        a, b = (_aligned(x, t, types) for x, t in zip(args, types, strict=True))
        return function(a, b)

    return compute


def _in(node: Call, args: list[pa.Array]) -> pa.Array:
    types = [a.type for a in node.args]
    needle, *others = (_aligned(x, t, types) for x, t in zip(args, types, strict=True))
    return reduce(pc.or_kleene, [pc.equal(needle, other) for other in others])


def _like(node: Call, args: list[pa.Array]) -> pa.Array:
    pattern = node.args[1]
    if not isinstance(pattern, Const):
        raise InputProblem("LIKE needs a constant pattern", kind="unsupported-like")
    if pattern.value is None:
        return pa.nulls(len(args[0]), pa.bool_())
    expression = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in str(pattern.value))
    return pc.match_substring_regex(args[0], f"(?s)^{expression}$")


# -- conversions ---------------------------------------------------------------------------------------------------


def _convert(x: pa.Array, source: Type, to: Type) -> pa.Array:
    """A value of one branch as the node's type (numbers are rescaled)."""
    if to.is_numeric and source.is_numeric:
        return _fit(_rescale(x, source.scale, to.scale), to)
    return x if x.type == physical_type(to) else x.cast(physical_type(to))


def _cast(node: Call, args: list[pa.Array]) -> pa.Array:
    source, to = node.args[0].type, node.type
    x = args[0]
    if to.kind == "int" and source.kind == "decimal":
        return pc.divide_checked(x, pa.scalar(10**source.scale, pa.int64()))  # truncates towards zero
    if source.kind == "string" and to.kind in ("int", "decimal"):
        return _parse_number(pc.utf8_trim_whitespace(x), to)
    if source.kind == "decimal" and to.kind == "string":
        return to_logical(x, Type("decimal", 38, source.scale)).cast(pa.string())
    if source.kind == "decimal" and to.kind == "double":
        return to_logical(x, Type("decimal", 38, source.scale)).cast(pa.float64())
    if source.kind == "bool" and to.kind == "decimal":
        return _rescale(x.cast(pa.int64()), 0, to.scale)
    if source.kind == "date" and to.kind == "string":
        return pc.strftime(x, format="%Y-%m-%d")
    return _convert(x, source, to)


def _parse_number(text: pa.Array, to: Type) -> pa.Array:
    exact = text.cast(pa.decimal128(38, 18))
    units = pc.round(exact, ndigits=to.scale, round_mode="towards_zero" if to.kind == "int" else "half_towards_infinity")
    return _fit(to_physical(units.cast(pa.decimal128(38, to.scale)), Type("decimal", 38, to.scale)), to)


def _substring(node: Call, args: list[pa.Array]) -> pa.Array:
    start, length = node.args[1], node.args[2]
    if not (isinstance(start, Const) and isinstance(length, Const)):
        raise InputProblem("SUBSTRING needs a constant start and length", kind="unsupported-substring")
    if start.value is None or length.value is None:
        return pa.nulls(len(args[0]), pa.string())
    first, count = int(start.value), max(0, int(length.value))  # type: ignore[arg-type]
    if first >= 0:
        first = max(first - 1, 0)
        return pc.utf8_slice_codeunits(args[0], first, first + count)
    return _substring_from_end(args[0], first, count)


def _substring_from_end(text: pa.Array, first: int, count: int) -> pa.Array:
    """A start before the beginning of a short text uses up part of the length, as in Spark SQL."""
    lengths = pc.utf8_length(text)
    result = pa.nulls(len(text), pa.string())
    for length in pc.unique(pc.drop_null(lengths)).to_pylist():
        begin, end = length + first, length + first + count
        part = pc.utf8_slice_codeunits(text, max(0, begin), max(0, end)) if end > max(0, begin) else pa.repeat("", len(text))
        result = pc.if_else(pc.fill_null(pc.equal(lengths, length), False), part, result)
    return result


_OPERATIONS: Mapping[str, Callable[[Call, list[pa.Array]], pa.Array]] = {
    "add": _arithmetic(pc.add_checked),
    "sub": _arithmetic(pc.subtract_checked),
    "mul": _multiply,
    "div": _divide,
    "neg": lambda node, args: pc.negate_checked(args[0]),
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
    "like": _like,
    "coalesce": lambda node, args: pc.coalesce(
        *(_convert(x, a.type, node.type) for x, a in zip(args, node.args, strict=True))
    ),
    "cast": _cast,
    "year": lambda node, args: pc.year(args[0]),
    "month": lambda node, args: pc.month(args[0]),
    "day": lambda node, args: pc.day(args[0]),
    "substring": _substring,
    "upper": lambda node, args: pc.utf8_upper(args[0]),
    "lower": lambda node, args: pc.utf8_lower(args[0]),
    "concat": lambda node, args: pc.binary_join_element_wise(*args, ""),
}
