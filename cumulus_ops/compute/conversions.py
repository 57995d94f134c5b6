"""Conversions of whole columns: CAST, and the functions of text beyond ASCII.

Arrow converts where it does exactly what :mod:`m3.evaluate` does; everything else, errors included, is left to
:mod:`m3.evaluate`, once for each distinct value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.compute.numbers import fit, rescale, solve_conversion
from cumulus_ops.compute.numbers import values as exact_values
from cumulus_ops.maps.columns import alike, is_wide, logical_type, physical_type, to_logical, to_numpy, to_physical
from cumulus_ops.project.errors import InputProblem
from m3 import ValueProblem
from m3.datatypes import Type
from m3.dictionary import FUNCTIONS
from m3.dictionary.types import Value
from m3.evaluate import FAILURES, SPACES
from m3.evaluate import evaluate as evaluate_one
from m3.scalars import Call, Const, Scalar, Var

__all__ = ["by_arguments", "by_row", "by_value", "cast", "convert", "failing_arguments", "try_cast"]


DOUBLE_EXACT = 2**53  # integers up to here are doubles
POWER_EXACT = 22  # 10**22 is the largest power of ten that is a double
CERTAIN = 2.0**40  # below, the product of a double and a power of ten is off by less than TIE
TIE = 2.0**-10
INT64_DIGITS = 18
PLAIN_SCALE = 6  # Arrow writes smaller decimals as 1E-7


def convert(x: pa.Array, source: Type, to: Type) -> pa.Array:
    """A value of one branch as the type of all: numbers are rescaled, other kinds are the same already."""
    if not to.is_numeric:
        return x
    if not is_wide(x.type):
        try:
            return fit(rescale(x, source.scale, to.scale), to)
        except pa.ArrowInvalid:
            pass
    return exact_values(solve_conversion(x, source, to))


def cast(node: Call, x: pa.Array) -> pa.Array:
    """CAST of a physical column to the node's type.

    Raises:
        InputProblem: ``bad-cast`` or ``overflow``.
        pa.ArrowInvalid: a number does not fit.
    """
    source, to = node.args[0].type, node.type
    if source.kind == to.kind and not to.is_numeric:
        return x
    quick = _QUICK.get((source.kind, to.kind))
    result = None if quick is None else quick(x, source, to)
    return by_value(node, x) if result is None else result


def try_cast(node: Call, x: pa.Array) -> pa.Array:
    """TRY_CAST: as CAST where that has no error; else each distinct value on its own, NULL where it has none."""
    try:
        return cast(Call("cast", node.args, node.type), x)
    except (InputProblem, pa.ArrowInvalid):
        return by_value(node, x)


def by_value(node: Call, x: pa.Array, position: int = 0) -> pa.Array:
    """An operation on one column as :mod:`m3.evaluate` computes it, once for each distinct value.

    Args:
        node: the operation; it is NULL where the column is.
        x: the column.
        position: of the column among the arguments, the others being literals.

    Raises:
        InputProblem: of the kinds that it raises.
    """
    encoded = x.dictionary_encode()
    args = (*node.args[:position], Var("x", node.args[position].type), *node.args[position + 1 :])
    call = Call(node.op, args, node.type)
    values = by_row(call, {"x": encoded.dictionary}, len(encoded.dictionary))
    return to_physical(values, node.type).take(encoded.indices)


def by_arguments(node: Call, args: list[pa.Array]) -> pa.Array:
    """An operation as :mod:`m3.evaluate` computes it: once for each distinct value where one argument varies.

    Args:
        node: the operation.
        args: the physical values of its arguments.

    Raises:
        InputProblem: of the kinds that it raises.
    """
    varying = [i for i, a in enumerate(node.args) if not isinstance(a, Const)]
    sees_nulls = node.op in FUNCTIONS and FUNCTIONS[node.op].computes_nulls
    if len(varying) == 1 and not sees_nulls:
        return by_value(node, args[varying[0]], varying[0])
    return to_physical(by_row(*_on_columns(node, args), len(args[0])), node.type)


def _on_columns(node: Call, args: list[pa.Array]) -> tuple[Call, dict[str, pa.Array]]:
    """The operation on variables instead of expressions, and their columns."""
    names = {i: Var(f"x{i}", a.type) for i, a in enumerate(node.args) if not isinstance(a, Const)}
    call = Call(node.op, tuple(names.get(i, a) for i, a in enumerate(node.args)), node.type)
    return call, {variable.name: args[i] for i, variable in names.items()}


def by_row(scalar: Scalar, columns: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """A scalar as :mod:`m3.evaluate` computes it, row by row, with numbers of 38 digits.

    Args:
        scalar: the expression.
        columns: physical arrays by variable; they may be wide.
        rows: their length.

    Returns:
        a logical array.

    Raises:
        InputProblem: of the kinds that it raises.
    """
    try:
        values = [evaluate_one(scalar, env) for env in _environments(scalar, columns, rows)]
    except FAILURES as error:
        raise _problem(error) from error
    return pa.array(values, logical_type(scalar.type))


def _environments(scalar: Scalar, columns: Mapping[str, pa.Array], rows: int) -> Iterator[dict[str, Value]]:
    """The values of the variables in each row."""
    types = {v.name: v.type for v in _leaves(scalar)}
    inputs = [to_logical(columns[name], types[name]).to_pylist() for name in types]
    for row in zip(*inputs, strict=True) if types else [()] * rows:
        yield dict(zip(types, row, strict=True))


def _problem(error: Exception) -> InputProblem:
    if isinstance(error, ValueProblem):
        return InputProblem(error.message, kind=error.kind, hint=error.hint)
    return InputProblem(f"no value: {error}", kind="overflow", hint="guard it with CASE WHEN")


def failing_arguments(node: Call, args: list[pa.Array]) -> np.ndarray:
    """The rows in which an operation fails, as a mask, looked at one by one."""
    call, columns = _on_columns(node, args)
    return np.array([_fails(call, env) for env in _environments(call, columns, len(args[0]))], dtype=bool)


def _fails(scalar: Scalar, env: Mapping[str, Value]) -> bool:
    try:
        evaluate_one(scalar, env)
    except FAILURES:
        return True
    return False


def _leaves(scalar: Scalar) -> Iterator[Var]:
    if isinstance(scalar, Var):
        yield scalar
    elif isinstance(scalar, Call):
        for arg in scalar.args:
            yield from _leaves(arg)


def _to_int(x: pa.Array, source: Type, to: Type) -> pa.Array:
    """Truncates towards zero."""
    if source.scale > INT64_DIGITS:
        return pc.if_else(pc.is_null(x), x, pa.scalar(0, pa.int64()))
    return pc.divide_checked(x, pa.scalar(10**source.scale, pa.int64()))


def _parse_number(x: pa.Array, source: Type, to: Type) -> pa.Array | None:
    mode = "towards_zero" if to.kind == "int" else "half_towards_infinity"
    try:
        exact = pc.utf8_trim(x, SPACES).cast(pa.decimal128(38, 18))
        rounded = pc.round(exact, ndigits=to.scale, round_mode=mode).cast(pa.decimal128(38, to.scale))
    except pa.ArrowInvalid:
        return None
    return fit(to_physical(rounded, Type("decimal", 38, to.scale)), to)


def _decimal_to_text(x: pa.Array, source: Type, to: Type) -> pa.Array | None:
    return None if source.scale > PLAIN_SCALE else to_logical(x, Type("decimal", 38, source.scale)).cast(pa.string())


def _decimal_to_double(x: pa.Array, source: Type, to: Type) -> pa.Array | None:
    """One division of two doubles that are exact is rounded once, as it should be."""
    units = to_numpy(x)
    if source.scale > POWER_EXACT or (np.abs(units.astype(np.float64)) >= DOUBLE_EXACT).any():
        return None
    return pa.array(units / 10.0**source.scale, mask=x.is_null().to_numpy(zero_copy_only=False))


def _double_to_exact(x: pa.Array, source: Type, to: Type) -> pa.Array | None:
    """A DOUBLE as the shortest decimal that names it, rounded half up: where its binary value is not near a tie, that
    rounds to the same number. Each of the other values is looked at on its own."""
    if to.scale > POWER_EXACT:
        return None
    raised = pc.fill_null(x, 0.0).to_numpy(zero_copy_only=False) * 10.0**to.scale
    with np.errstate(invalid="ignore"):
        far = np.abs(np.abs(raised - np.trunc(raised)) - 0.5) > TIE
        certain = (np.abs(raised) < CERTAIN) & far & (np.abs(raised) < 10.0 ** min(to.precision, INT64_DIGITS) - 1)
    units = np.rint(np.where(certain, raised, 0.0)).astype(np.int64)
    result = pa.array(units, mask=x.is_null().to_numpy(zero_copy_only=False))
    if certain.all():
        return result
    doubtful = pa.array(~certain)
    others = by_value(Call("cast", (Var("x", source),), to), x.filter(doubtful))
    result, others = alike([result, others])
    return pc.replace_with_mask(result, doubtful, others)


def _stamp_to_text(x: pa.Array, source: Type, to: Type) -> pa.Array:
    return pc.replace_substring_regex(x.cast(pa.string()), r"\.000000$", "")


def _plainly(x: pa.Array, source: Type, to: Type) -> pa.Array:
    return x.cast(physical_type(to), safe=source.kind != "int")  # an integer rounds to the nearest double


_QUICK: Mapping[tuple[str, str], Callable[[pa.Array, Type, Type], pa.Array | None]] = {
    ("int", "int"): convert,
    ("int", "decimal"): convert,
    ("decimal", "decimal"): convert,
    ("decimal", "int"): _to_int,
    ("bool", "int"): _plainly,
    ("bool", "decimal"): lambda x, source, to: convert(x.cast(pa.int64()), source, to),
    ("string", "int"): _parse_number,
    ("string", "decimal"): _parse_number,
    ("int", "double"): _plainly,
    ("bool", "double"): _plainly,
    ("decimal", "double"): _decimal_to_double,
    ("double", "decimal"): _double_to_exact,
    ("int", "bool"): _plainly,
    ("decimal", "bool"): _plainly,
    ("int", "string"): _plainly,
    ("bool", "string"): _plainly,
    ("date", "string"): _plainly,
    ("timestamp", "string"): _stamp_to_text,
    ("decimal", "string"): _decimal_to_text,
    ("date", "timestamp"): _plainly,
    ("timestamp", "date"): lambda x, source, to: pc.floor_temporal(x, unit="day").cast(pa.date32()),
}
