"""Strict operations over whole physical columns: what an operation makes of the values of its arguments.

Numbers are int64 units first, with checked kernels; where a number is, or becomes, larger than that, :mod:`.exact` goes on.
Whatever is no operation of numbers, and that Arrow does not compute as :mod:`m3.evaluate` does, is left to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.engine import exact
from cumulus_ops.engine.conversions import by_arguments, cast, failing_arguments, try_cast
from cumulus_ops.engine.units import divide_doubles, divide_units, fit, rescale
from cumulus_ops.engine.vector_functions import apply
from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore import alike, is_wide, physical_type
from m3.datatypes import TIMESTAMP, Type
from m3.scalars import Call, Const

__all__ = ["operate", "tried"]

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
        solved = exact.solve(node, args)
        return by_arguments(node, args) if solved is None else exact.values(solved)
    try:
        return (compute or apply)(node, args)
    except (pa.ArrowInvalid, InputProblem) as error:
        if "divide by zero" in str(error):
            raise exact.division_by_zero() from error
        solved = exact.solve(node, args)
        if solved is not None:
            return exact.values(solved)
        if isinstance(error, InputProblem):
            raise
        raise exact.overflow(node.op, node.type) from error


def tried(node: Call, args: list[pa.Array]) -> tuple[pa.Array, np.ndarray | None]:
    """An operation's values, NULL for the rows for which it fails; and which those are, None for none."""
    try:
        return operate(node, args), None
    except InputProblem:
        solved = exact.solve(node, args)
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
    """A comparison of two columns, at a common scale or as timestamps."""
    if all(t.is_numeric for t in types):
        scale = max(t.scale for t in types)
        try:
            args = [x if t.scale == scale else _raised(x, scale - t.scale) for x, t in zip(args, types, strict=True)]
        except pa.ArrowInvalid:
            return exact.compare(op, args, [t.scale for t in types])
        return _FUNCTIONS[op](*alike(args))
    if {t.kind for t in types} == {"date", "timestamp"}:
        args = [x.cast(physical_type(TIMESTAMP)) for x in args]
    return _compare_doubles(op, *args) if types[0].kind == types[1].kind == "double" else _FUNCTIONS[op](*args)


def _compare_doubles(op: str, a: pa.Array, b: pa.Array) -> pa.Array:
    """NaN equals itself and is greater than every other number."""
    found, nan_a, nan_b = _FUNCTIONS[op](a, b), pc.is_nan(a), pc.is_nan(b)
    either = pc.or_(nan_a, nan_b)
    if not pc.any(either).as_py():
        return found
    return pc.if_else(either, _FUNCTIONS[op](nan_a.cast(pa.int8()), nan_b.cast(pa.int8())), found)


def _raised(x: pa.Array, digits: int) -> pa.Array:
    if is_wide(x.type):
        raise pa.ArrowInvalid("overflow")
    return rescale(x, 0, digits)


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
