"""How typed columns are held while computing: the *physical* form.

Everything is an Arrow array; a decimal is an int64 array of its smallest units, so that sums and products are integer
operations that are exact or fail. ``to_physical`` and ``to_logical`` convert whole arrays without touching rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.errors import InputProblem
from m3.datatypes import Type

__all__ = ["canonical", "logical_type", "physical_type", "to_logical", "to_numpy", "to_physical"]

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
    """Arrow column as read from a file -> physical array.

    Raises:
        InputProblem: a decimal has more units than an int64 holds.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if type_.kind != "decimal":
        return array if array.type == physical_type(type_) else array.cast(physical_type(type_))
    try:
        if not pa.types.is_decimal(array.type) or array.type.scale != type_.scale:
            array = array.cast(pa.decimal128(38, type_.scale))
        return _units(array)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise _beyond(type_) from error


def _units(array: pa.Array) -> pa.Array:
    """The int64 units of a decimal array; without a copy if they are what it holds.

    Raises:
        OverflowError: one of them is beyond 64 bits.
    """
    if pa.types.is_decimal32(array.type):
        array = array.cast(pa.decimal64(array.type.precision, array.type.scale))
    if pa.types.is_decimal64(array.type):
        return pa.Array.from_buffers(pa.int64(), len(array), array.buffers(), array.null_count, array.offset)
    if pa.types.is_decimal256(array.type):
        array = array.cast(pa.decimal128(38, array.type.scale))
    words = np.frombuffer(array.buffers()[1], dtype=np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = words[0::2], words[1::2]
    valid = None if array.null_count == 0 else array.is_valid().to_numpy(zero_copy_only=False)
    wrong = high != (low >> 63)
    if bool((wrong if valid is None else wrong & valid).any()):
        raise OverflowError
    return pa.array(low, mask=None if valid is None else ~valid)


def _beyond(type_: Type) -> InputProblem:
    return InputProblem(f"a {type_} value is beyond 64 bits", kind="overflow", hint="narrow the values or the scale")


def to_logical(array: pa.Array, type_: Type) -> pa.Array:
    """Inverse of :func:`to_physical`: an array of type :func:`logical_type`."""
    if type_.kind != "decimal":
        return array
    units = to_numpy(array, 0)
    words = np.empty(2 * len(units), dtype=np.int64)
    words[0::2], words[1::2] = units, units >> 63
    wide = pa.Array.from_buffers(
        pa.decimal128(38, type_.scale), len(units), [_validity(array), pa.py_buffer(words)], array.null_count
    )
    try:
        return wide.cast(logical_type(type_))
    except pa.ArrowInvalid as error:
        raise InputProblem(f"a result does not fit {type_}", kind="overflow", hint="widen the view's column") from error


def _validity(array: pa.Array) -> pa.Buffer | None:
    if array.null_count == 0:
        return None
    packed = np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    return pa.py_buffer(packed.tobytes())


def canonical(array: pa.Array) -> pa.Array:
    """A key column in which equal values have equal bits: 0.0 for -0.0, one NaN for all."""
    if not pa.types.is_floating(array.type):
        return array
    values = array.to_numpy(zero_copy_only=False) + 0.0
    values[np.isnan(values)] = np.nan
    return pa.array(values, mask=array.is_null().to_numpy(zero_copy_only=False))


def to_numpy(array: pa.Array, null: int = 0) -> np.ndarray:
    """A numpy array of int64 for integers, dates, timestamps and booleans, with ``null`` in place of NULL."""
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32()) if array.offset == 0 else array.cast(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(null, array.type))
    return array.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
