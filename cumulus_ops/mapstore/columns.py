"""How typed columns are held while computing: the *physical* form.

Everything is an Arrow array; a decimal is an int64 array of its smallest units, so that sums and products are integer
operations that are exact or fail. A column with a number beyond 64 bits is *wide* instead, see :mod:`.wide`.
``to_physical`` and ``to_logical`` convert whole arrays without touching rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import InputProblem
from cumulus_ops.mapstore.wide import is_wide, narrow_column, to_units, widen
from m3.datatypes import Type

__all__ = [
    "canonical",
    "logical_type",
    "physical_type",
    "take_rows",
    "to_logical",
    "to_numpy",
    "to_physical",
]

PHYSICAL = {
    "int": pa.int64(),
    "decimal": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "bool": pa.bool_(),
}


def physical_type(type_: Type) -> pa.DataType:
    """The Arrow type that holds ``type_`` while computing and as a map's key."""
    return PHYSICAL[type_.kind]


def logical_type(type_: Type) -> pa.DataType:
    """The Arrow type that people and files see: decimals as decimal128, the rest as in :func:`physical_type`."""
    return pa.decimal128(type_.precision, type_.scale) if type_.kind == "decimal" else PHYSICAL[type_.kind]


def to_physical(array: pa.Array | pa.ChunkedArray, type_: Type) -> pa.Array:
    """Arrow column as read from a file -> physical array; wide if a decimal has more units than an int64 holds. Zero has no sign.

    Raises:
        InputProblem: a decimal has more than 38 digits.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if type_.kind != "decimal":
        physical = array if array.type == physical_type(type_) else array.cast(physical_type(type_))
        return pc.add(physical, 0.0) if type_.kind == "double" else physical
    try:
        if not pa.types.is_decimal(array.type) or array.type.scale != type_.scale:
            array = array.cast(pa.decimal128(38, type_.scale))
        return _units(array)
    except pa.ArrowInvalid as error:
        hint = "narrow the values or the scale"
        raise InputProblem(f"a {type_} value has too many digits", kind="overflow", hint=hint) from error


def _units(array: pa.Array) -> pa.Array:
    """The units of a decimal array; without a copy if they are what it holds."""
    if pa.types.is_decimal32(array.type):
        array = array.cast(pa.decimal64(array.type.precision, array.type.scale))
    if pa.types.is_decimal64(array.type):
        return pa.Array.from_buffers(pa.int64(), len(array), array.buffers(), array.null_count, array.offset)
    if pa.types.is_decimal256(array.type):
        array = array.cast(pa.decimal128(38, array.type.scale))
    return narrow_column(_with_scale(array, 0))


def to_logical(array: pa.Array, type_: Type) -> pa.Array:
    """Inverse of :func:`to_physical`: an array of type :func:`logical_type`. A wide array will do, too.

    Raises:
        InputProblem: a value does not fit the type.
    """
    wide = is_wide(array.type)
    if type_.kind != "decimal" and not wide:
        return array
    try:
        return _with_scale(widen(array), type_.scale).cast(logical_type(type_))
    except pa.ArrowInvalid as error:
        raise InputProblem(f"a result does not fit {type_}", kind="overflow", hint="widen the view's column") from error


def _with_scale(wide: pa.Array, scale: int) -> pa.Array:
    """The same 128 bits as units at a scale."""
    type_ = pa.decimal128(38, scale)
    return pa.Array.from_buffers(type_, len(wide), wide.buffers(), wide.null_count, wide.offset)


def canonical(array: pa.Array) -> pa.Array:
    """A key column in which equal values have equal bits: 0.0 for -0.0, one NaN for all."""
    if not pa.types.is_floating(array.type):
        return array
    values = array.to_numpy(zero_copy_only=False) + 0.0
    values[np.isnan(values)] = np.nan
    return pa.array(values, mask=array.is_null().to_numpy(zero_copy_only=False))


def take_rows(column: pa.Array, rows: np.ndarray) -> pa.Array:
    """The rows at the given positions. Numpy needs half of Arrow's time for a few whole numbers, and joins are many of such."""
    if pa.types.is_int64(column.type) and not column.null_count:
        return pa.array(column.to_numpy()[rows])
    return column.take(pa.array(rows))


def to_numpy(array: pa.Array, null: int = 0) -> np.ndarray:
    """A numpy array of int64 for integers, dates, timestamps and booleans, with ``null`` in place of NULL; of Python's integers
    where a wide column needs them."""
    if is_wide(array.type):
        return to_units(array, null)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32()) if array.offset == 0 else array.cast(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(null, array.type))
    return array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
