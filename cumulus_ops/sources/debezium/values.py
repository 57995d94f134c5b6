"""Values as they are encoded in envelopes, as the checks read them: nothing is lost, and what has no meaning stays what it is, to be rejected."""

from __future__ import annotations

import base64
import binascii
import json
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.sources.debezium.schemas import Encoding

__all__ = ["decimal_text", "decoded"]

#: Bytes of an unscaled value that fits an int64.
NARROW = 8
#: A text with a point is a number: base64 has none.
WITH_POINT = r"^-?[0-9]+\.[0-9]+$"
#: As many digits as fit an int64 for certain.
WHOLE = r"^-?[0-9]{1,18}$"
UNITS = {"ms": pa.timestamp("ms"), "us": pa.timestamp("us")}
ALL_DIGITS = Context(prec=100_000)


def decoded(column: pa.Array, encoding: Encoding) -> pa.Array:
    """A column that was read as ``encoding.json``, as it is meant.

    >>> decoded(pa.array(["AfQ=", None]), Encoding(pa.string(), "decimal", 2)).to_pylist()
    [Decimal('5.00'), None]
    >>> decoded(pa.array(["2018-06-20T13:37:03Z"]), Encoding(pa.string(), "zoned")).to_pylist()
    ['2018-06-20 13:37:03']
    """
    if pa.types.is_string(column.type) and encoding.meaning in ("days", "ms", "us", "ns"):
        return _numbers_among(column, encoding)
    match encoding.meaning:
        case "decimal":
            return _decimals(column, encoding.scale)
        case "variable decimal":
            return pa.array([_variable(value) for value in column.to_pylist()], pa.string())
        case "days":
            return _days(column)
        case "ms" | "us":
            return pc.cast(column, UNITS[encoding.meaning])
        case "ns":
            return _nanoseconds(column)
        case "zoned":
            return pc.replace_substring_regex(column, r"^(\S+)T(\S+?)(Z|\+00:00)?$", r"\1 \2")
        case "zoned date":
            return pc.replace_substring_regex(column, r"Z$", "")
        case "unsure":
            return _unsure(column)
    return column


def decimal_text(value: str | None, scale: int | None) -> str | None:
    """An unscaled big-endian number in two's complement, in base64, as text.

    >>> decimal_text("AfQ=", 2), decimal_text("/w==", 1)
    ('5.00', '-0.1')
    """
    if value is None:
        return None
    try:
        raw = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return f"{value!r}, which is not base64"
    if not raw or scale is None or abs(scale) > 1000 or len(raw) > 256:
        return f"{value[:100]!r} of scale {scale}"
    return f"{Decimal(int.from_bytes(raw, 'big', signed=True)).scaleb(-scale, ALL_DIGITS):f}"


def _numbers_among(column: pa.Array, encoding: Encoding) -> pa.Array:
    """A column in which some value is no number, as text: the others mean what they mean."""
    whole = pc.match_substring_regex(column, WHOLE)
    numbers = pc.cast(pc.if_else(whole, column, pa.scalar(None, pa.string())), pa.int64())
    return pc.if_else(whole, pc.cast(decoded(numbers, encoding), pa.string()), column)


def _variable(value: dict[str, Any] | str | None) -> str | None:
    """A number with its own scale; as a text, if another of its column is something else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
        return None if found is None else decimal_text(str(found["value"]), int(found["scale"]))
    except (ValueError, TypeError, KeyError):
        return f"{value!r}, which is not a scale and a value"


def _decimals(column: pa.Array, scale: int) -> pa.Array:
    """Unscaled numbers, decoded once for each that occurs, in the narrowest way that they allow."""
    if not 0 <= scale <= 38:
        return pa.array([decimal_text(v, scale) for v in column.to_pylist()], pa.string())
    words = pc.dictionary_encode(column)
    numbers = [_unscaled(value) for value in words.dictionary.to_pylist()]
    if all(n is not None and -(10**18) < n < 10**18 for n in numbers):
        unscaled = pa.array(numbers, pa.int64()).take(words.indices)
        return _shifted(unscaled, scale)
    texts = pa.array([decimal_text(value, scale) for value in words.dictionary.to_pylist()], pa.string())
    return texts.take(words.indices)


def _unscaled(value: str) -> int | None:
    try:
        raw = binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    return int.from_bytes(raw, "big", signed=True) if 0 < len(raw) <= NARROW else None


def _shifted(unscaled: pa.Array, scale: int) -> pa.Array:
    """int64 as decimal128 of 18 digits, by their bytes: no number is computed."""
    low = np.asarray(unscaled.fill_null(0), dtype=np.int64)
    both = np.empty((len(low), 2), dtype=np.int64)
    both[:, 0], both[:, 1] = low, low >> 63
    valid = None if unscaled.null_count == 0 else unscaled.is_valid().buffers()[1]
    type_ = pa.decimal128(max(18, scale), scale)
    return pa.Array.from_buffers(type_, len(low), [valid, pa.py_buffer(both)], null_count=unscaled.null_count)


def _days(column: pa.Array) -> pa.Array:
    try:
        return pc.cast(pc.cast(column, pa.int32()), pa.date32())
    except pa.ArrowInvalid:
        return pc.binary_join_element_wise(pc.cast(column, pa.string()), "days since 1970", " ")


def _nanoseconds(column: pa.Array) -> pa.Array:
    """As microseconds, unless there is something behind them."""
    micros = pc.divide(column, 1000)
    if pc.all(pc.equal(pc.multiply(micros, 1000), column)).as_py() is not False:
        return pc.cast(micros, pa.timestamp("us"))
    return pc.binary_join_element_wise(pc.cast(column, pa.string()), "nanoseconds since 1970", " ")


def _unsure(column: pa.Array) -> pa.Array:
    """Without a schema: what can only be one thing is it; the rest says what it may be, and is rejected."""
    if pa.types.is_integer(column.type):
        text = "ms, us or ns since 1970? Say `timestamps: us` for the source, or send schemas"
        return pc.binary_join_element_wise(pc.cast(column, pa.string()), text, " ")
    text = "a number, or base64 of one? Say `decimals: base64` or `decimals: string` for the source, or send schemas"
    certain: Any = pc.match_substring_regex(column, WITH_POINT)
    return pc.if_else(certain, column, pc.binary_join_element_wise(column, text, " "))
