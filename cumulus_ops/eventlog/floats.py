"""Floats for a DECIMAL: taken where only one decimal of the declared scale can have been meant."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.eventlog.types import DECIMAL64_DIGITS, stored_type
from m3.datatypes import Type

__all__ = ["decimals_of_floats"]

#: Decimals of so many digits are all different as floats.
DIGITS = {16: 3, 32: 6, 64: 15}


def decimals_of_floats(column: pa.Array | pa.ChunkedArray, type_: Type) -> pa.Array | pa.ChunkedArray:
    """The decimals that floats were written for, NULL where that is not certain.

    A number of the declared scale with at most 15 digits (6 in 32 bits) has a float of its own: that float stands for it and for
    nothing else. ``19.99`` as a double is that of 19.99 in DECIMAL(15, 2); ``0.125`` has a digit too many, and
    ``12345678901234.56`` could have been another decimal.

    >>> from m3.datatypes import decimal
    >>> decimals_of_floats(pa.array([19.99, 0.125, 12345678901234.56, float("nan")]), decimal(18, 2)).to_pylist()
    [Decimal('19.99'), None, None, None]
    """
    if isinstance(column, pa.ChunkedArray):
        chunks = [decimals_of_floats(chunk, type_) for chunk in column.chunks]
        return pa.chunked_array(chunks, stored_type(type_))
    floats = pc.fill_null(column, float("nan")).to_numpy(zero_copy_only=False)
    digits = DIGITS[column.type.bit_width]
    whole = min(digits, type_.precision) - type_.scale
    if type_.scale > digits or (whole <= 0 and type_.scale > DECIMAL64_DIGITS):
        units, fits = np.zeros(len(floats)), floats == 0
    else:
        scale = float(10**type_.scale)
        with np.errstate(all="ignore"):
            units = np.rint(floats.astype(np.float64) * scale)
            fits = (np.abs(units) < float(10 ** min(digits, type_.precision))) & (
                (units / scale).astype(floats.dtype) == floats
            )
    numbers = pa.array(np.where(fits, units, 0).astype(np.int64), mask=~fits)
    narrow = pa.decimal64(DECIMAL64_DIGITS, min(type_.scale, DECIMAL64_DIGITS))
    return pc.cast(pa.Array.from_buffers(narrow, len(numbers), numbers.buffers()), stored_type(type_))
