"""Texts as values of a declared type: first it is made certain what each says, then Arrow casts it."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Context, Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.files.columns import DECIMAL64_DIGITS, stored_type
from m3.datatypes import Type

__all__ = ["cast_harmless", "cast_text", "has_byte", "is_harmless", "is_utf8", "longest", "valid_text"]


Column: TypeAlias = "pa.Array | pa.ChunkedArray"

#: The digits of the widest decimal.
DIGITS = 38
#: Doubles of fewer digits without an exponent are neither infinite nor rounded to zero.
SAFE_DOUBLE = 300
TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
INT = r"^-?[0-9]+$"
DOUBLE = r"(?i)^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$|^[+-]?(inf|infinity|nan)$"
DECIMAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)$"
ANY_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", re.ASCII)
DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
MIDNIGHT = r"[T ]00:00(:00(\.0*)?)?(Z|[+-]00(:?00)?)?$"
TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?)?"
ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
#: A number is not written with more characters.
LONGEST_NUMBER = 1000
ALL_DIGITS = Context(prec=2 * LONGEST_NUMBER)


def longest(column: Column) -> int:
    """The bytes of the longest text."""
    return int(pc.max(pc.binary_length(column)).as_py() or 0)


def has_byte(column: Column, *bytes_: int) -> bool:
    """Whether one of some (lower-case ASCII) letters is in any of the texts, or its capital."""
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        data = _bytes(chunk)
        if any(bool(((data | 0x20) == byte).any()) for byte in bytes_):
            return True
    return False


def is_utf8(data: bytes) -> bool:
    """Whether all of it is text."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_ascii(column: Column) -> bool:
    """Whether no text has another character."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return all(int(_bytes(chunk).max(initial=0)) < 0x80 for chunk in chunks)


def _bytes(chunk: pa.Array) -> np.ndarray:
    """The texts of an array, one after the other."""
    _, offsets, data = chunk.buffers()
    if data is None or len(chunk) == 0:
        return np.zeros(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
    return np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[1]]


def valid_text(column: Column) -> Column:
    """As ``string``, NULL where the bytes are no UTF-8."""
    if pa.types.is_string(column.type) and is_ascii(column):
        return column
    try:
        column = pc.cast(column, pa.string())  # of binary: checks
        column.validate(full=True)
        return column
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raw = pc.cast(column, pa.binary())
        texts = [_decoded(value) for value in raw.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())]) if isinstance(raw, pa.ChunkedArray) else pa.array(texts)


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def is_harmless(column: Column, type_: Type) -> bool:
    """Whether Arrow's cast of these texts gives what they say, or an error."""
    match type_.kind:
        case "int":
            return not has_byte(column, ord("x"))  # it would take hexadecimal numbers
        case "decimal":
            return not has_byte(column, ord("e")) and longest(column) <= DIGITS - type_.scale
        case "double":
            return not has_byte(column, ord("e")) and longest(column) <= SAFE_DOUBLE
    return True


def cast_harmless(column: Column, type_: Type) -> Column:
    """Arrow's cast of texts that :func:`is_harmless`.

    Decimals are multiplied by 10 to the power of their scale without a look at overflow: of those of 64 bits, only short ones are cast
    directly.
    """
    if type_.kind == "decimal" and longest(column) > DECIMAL64_DIGITS - type_.scale:
        return pc.cast(pc.cast(column, pa.decimal128(type_.precision, type_.scale)), stored_type(type_))
    return pc.cast(column, stored_type(type_))


def cast_text(column: Column, type_: Type) -> Column:
    """The careful way; NULL where a text is no value of the type.

    Args:
        column: ``string``.
        type_: the declared type, of another kind than ``string``.
    """
    return CASTS[type_.kind](pc.ascii_trim_whitespace(column), type_)


def _int(column: Column, type_: Type) -> Column:
    """``+5`` and ``5.00`` are integers."""
    column = pc.replace_substring_regex(column, r"^\+([0-9])", r"\1")
    column = pc.replace_substring_regex(column, r"^(-?[0-9]+)\.0*$", r"\1")
    return _cast_matching(column, INT, stored_type(type_))


def _decimal(column: Column, type_: Type) -> Column:
    """Short ones as Arrow does; those that are long or have an exponent one by one, each once."""
    wide = pa.decimal128(type_.precision, type_.scale)
    short = pc.less_equal(pc.binary_length(column), DIGITS - type_.scale)
    plain = pc.if_else(short, _matching(column, DECIMAL), pa.scalar(None, pa.string()))
    odd = _plain(pc.unique(column.filter(pc.is_null(plain)))).drop_null().to_pylist()
    meant = {text: value for text in odd if (value := _decimal_of(text, type_)) is not None}
    values = _cast_or_null(plain, wide)
    if meant:
        values = pc.coalesce(values, _looked_up(column, pa.array(list(meant)), pa.array(list(meant.values()), wide)))
    return pc.cast(values, stored_type(type_))


def _decimal_of(text: str, type_: Type) -> Decimal | None:
    """What a decimal of any length says, if it fits; exponents are never multiplied out before that is known.

    >>> from m3.datatypes import decimal
    >>> [str(_decimal_of(t, decimal(5, 2))) for t in ("100e-2", "1e-999999999", "0e999999999", "1000e0")]
    ['1.00', 'None', '0.00', 'None']
    >>> str(_decimal_of(f"-{'9' * 28}.{'9' * 10}", decimal(38, 10)))  # no operation here may round to a context of fewer digits
    '-9999999999999999999999999999.9999999999'
    """
    if len(text) > LONGEST_NUMBER or not ANY_DECIMAL.fullmatch(text):
        return None
    value = Decimal(text)
    if value and not -DIGITS <= value.adjusted() < DIGITS:
        return None
    units = (value if value else Decimal(0)).scaleb(type_.scale, ALL_DIGITS)
    if units != units.to_integral_value() or units.copy_abs() >= 10**type_.precision:
        return None
    return Decimal(int(units)).scaleb(-type_.scale, ALL_DIGITS)


def _double(column: Column, type_: Type) -> Column:
    """Not what is out of range: infinity must be written as a word, and zero with zeros."""
    values = _cast_or_null(_matching(column, DOUBLE), stored_type(type_))
    overflow = pc.and_(pc.is_inf(values), pc.match_substring_regex(column, "[0-9]"))
    underflow = pc.and_(pc.equal(values, 0.0), pc.match_substring_regex(column, "^[^eE]*[1-9]"))
    return pc.if_else(pc.fill_null(pc.or_(overflow, underflow), False), pa.scalar(None, values.type), values)


def _bool(column: Column, _type: Type) -> Column:
    words, truth = pa.array([*TRUE, *FALSE]), pa.array([True] * len(TRUE) + [False] * len(FALSE))
    return _looked_up(pc.ascii_lower(column), words, truth)


def _date(column: Column, type_: Type) -> Column:
    """A moment is a date if it is midnight."""
    return _cast_matching(pc.replace_substring_regex(column, MIDNIGHT, ""), DATE, stored_type(type_))


def _timestamp(column: Column, type_: Type) -> Column:
    """In UTC: a moment with a zone is converted, one without is UTC."""
    column = pc.replace_substring_regex(column, r"(\.[0-9]{6})0+", r"\1")
    here = _cast_matching(column, TIMESTAMP + "$", stored_type(type_))
    if here.null_count == column.null_count:
        return here
    zoned = _cast_matching(column, TIMESTAMP + ZONE, pa.timestamp("us", "UTC"))
    return pc.coalesce(here, pc.cast(zoned, stored_type(type_)))


CASTS: dict[str, Callable[[Column, Type], Column]] = {
    "int": _int,
    "decimal": _decimal,
    "double": _double,
    "bool": _bool,
    "date": _date,
    "timestamp": _timestamp,
}


def _matching(column: Column, pattern: str) -> Column:
    return pc.if_else(pc.match_substring_regex(column, pattern), column, pa.scalar(None, pa.string()))


def _cast_matching(column: Column, pattern: str, target: pa.DataType) -> Column:
    return _cast_or_null(_matching(column, pattern), target)


def _cast_or_null(column: Column, target: pa.DataType) -> Column:
    """Texts that look right; the few that do not fit are looked for by halving, among the different ones."""
    try:
        return pc.cast(column, target)
    except pa.ArrowInvalid:
        distinct = _plain(pc.unique(column)).drop_null()
        bad = pa.concat_arrays([distinct[:0], *_unfit(distinct, target)])
        return pc.cast(pc.if_else(pc.is_in(column, value_set=bad), pa.scalar(None, pa.string()), column), target)


def _unfit(texts: pa.Array, target: pa.DataType) -> list[pa.Array]:
    try:
        pc.cast(texts, target)
        return []
    except pa.ArrowInvalid:
        middle = len(texts) // 2
        return [texts] if middle == 0 else _unfit(texts[:middle], target) + _unfit(texts[middle:], target)


def _looked_up(column: Column, texts: pa.Array, meanings: pa.Array) -> Column:
    """For each text its meaning, NULL if it has none."""
    where = pc.index_in(column, value_set=texts)
    if isinstance(where, pa.ChunkedArray):
        return pa.chunked_array([meanings.take(chunk) for chunk in where.chunks], meanings.type)
    return meanings.take(where)


def _plain(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
