"""Exact casts of whole columns: a value either means the same in the declared type, or it is named as bad.

The common case is one vectorised cast. Arrow's own casts are not to be trusted with every text: some crash (``1e-999999999`` as a
DECIMAL) and some give another number (``1e400`` is infinity). Columns with such text, and those whose cast fails, take the careful
way (:data:`CASTS`), which is vectorised, too.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Context, Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.files.columns import DECIMAL64_DIGITS, arrow_type, stored_type
from m3.datatypes import Type

__all__ = ["cast_exact", "decimals_of_floats", "is_readable_as", "is_repeating_text", "is_utf8", "plain_text"]


# Floats for a DECIMAL: taken where only one decimal of the declared scale can have been meant.


#: Decimals of so many digits are all different as floats.
FLOAT_DIGITS = {16: 3, 32: 6, 64: 15}


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
    digits = FLOAT_DIGITS[column.type.bit_width]
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


Column: TypeAlias = "pa.Array | pa.ChunkedArray"

#: The first and the last moment that Python and SQL know.
FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)


def is_repeating_text(type_: pa.DataType) -> bool:
    """Whether a column is a dictionary of texts, which is as good as ``string``."""
    return bool(pa.types.is_dictionary(type_) and pa.types.is_string(type_.value_type))


def plain_text(column: Column) -> Column:
    """Dictionaries decoded, and any kind of text as ``string``; other columns unchanged."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        return plain_text(pc.cast(column, type_.value_type))
    if pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return pc.cast(column, pa.string())
    return column


def is_readable_as(source: pa.DataType, type_: Type) -> bool:
    """Whether columns of ``source`` may hold values of ``type_``; each value is looked at by itself then.

    >>> from m3.datatypes import DATE, INT, decimal
    >>> [is_readable_as(pa.float64(), t) for t in (INT, decimal(15, 2), DATE)]
    [True, True, False]
    """
    if source == arrow_type(type_) or pa.types.is_string(source) or pa.types.is_null(source):
        return True
    number = pa.types.is_integer(source) or pa.types.is_decimal(source) or pa.types.is_floating(source)
    moment = pa.types.is_date(source) or pa.types.is_timestamp(source)
    match type_.kind:
        case "int" | "double" | "decimal":
            return bool(number)
        case "date" | "timestamp":
            return bool(moment)
        case "string":
            return bool(pa.types.is_binary(source))  # CSV with bytes that are no UTF-8
    return False


def cast_exact(column: Column, type_: Type) -> tuple[Column, np.ndarray]:
    """Casts a column whose type :func:`is_readable_as` ``type_``.

    Args:
        column: as :func:`plain_text` returns it.
        type_: the declared type; nullability is not looked at.

    Returns:
        The column in :func:`~cumulus_ops.files.columns.stored_type`, NULL where a value does not fit, and a bool mask
        of those places.
    """
    values = _cast(column, type_)
    if type_.kind in ("date", "timestamp"):
        values = _drop_far_years(values)
    bad = np.zeros(len(column), dtype=bool)
    if values.null_count > column.null_count:
        bad = _mask(pc.is_null(values)) & ~_mask(pc.is_null(column))
    return values, bad


def _cast(column: Column, type_: Type) -> Column:
    """The column in its stored type, NULL where a value does not fit."""
    target = stored_type(type_)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        if type_.kind == "string":
            return _read_utf8(column)
        if pa.types.is_string(column.type) and _is_harmless(column, type_):
            # Decimals are multiplied by 10 to the power of their scale without a look at overflow: of those of 64 bits, only short ones
            # are cast directly.
            is_long = type_.kind == "decimal" and _longest(column) > DECIMAL64_DIGITS - type_.scale
            try:
                wide = pc.cast(column, pa.decimal128(type_.precision, type_.scale)) if is_long else column
                return pc.cast(wide, target)
            except pa.ArrowInvalid:
                pass
        return CASTS[type_.kind](pc.ascii_trim_whitespace(_read_utf8(column)), type_)
    if column.type == target or pa.types.is_null(column.type):
        return column if column.type == target else pc.cast(column, target)
    if type_.kind == "decimal" and pa.types.is_floating(column.type):
        return decimals_of_floats(column, type_)
    if pa.types.is_decimal32(column.type) or pa.types.is_decimal64(column.type):
        wide = pa.decimal128(column.type.precision, column.type.scale)
        return _cast(pc.cast(column, wide), type_)  # Arrow knows more about these
    if pa.types.is_integer(column.type) and type_.kind == "decimal":
        return _cast(pc.cast(column, pa.string()), type_)  # Arrow asks for digits that the values may not need
    if type_.kind == "date" and pa.types.is_timestamp(column.type):
        moments = pc.cast(column, pa.timestamp(column.type.unit))  # in UTC
        midnights = pc.cast(pc.cast(moments, pa.date32(), safe=False), moments.type, safe=False)
        column = pc.if_else(pc.equal(midnights, moments), moments, pa.scalar(None, moments.type))
    return _cast_or_null(column, target)


def _drop_far_years(values: Column) -> Column:
    """NULL for what is before year 1 or after year 9999."""
    first, last = (pa.scalar(m, pa.timestamp("us")).cast(values.type, safe=False) for m in (FIRST, LAST))
    found = pc.min_max(pc.cast(values, pa.int32() if pa.types.is_date32(values.type) else pa.int64()))
    bounds = [s.cast(found["min"].type).as_py() for s in (first, last)]
    if found["min"].as_py() is None or (bounds[0] <= found["min"].as_py() and found["max"].as_py() <= bounds[1]):
        return values
    known = pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last))
    return pc.if_else(known, values, pa.scalar(None, values.type))


def _plain(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _mask(column: Column) -> np.ndarray:
    return np.asarray(_plain(column).to_numpy(zero_copy_only=False), dtype=bool)


# Texts as values of a declared type: first it is made certain what each says, then Arrow casts it.


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


def _longest(column: Column) -> int:
    """The bytes of the longest text."""
    return int(pc.max(pc.binary_length(column)).as_py() or 0)


def _has_byte(column: Column, *bytes_: int) -> bool:
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


def _bytes(chunk: pa.Array) -> np.ndarray:
    """The texts of an array, one after the other."""
    _, offsets, data = chunk.buffers()
    if data is None or len(chunk) == 0:
        return np.zeros(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int32)[[chunk.offset, chunk.offset + len(chunk)]]
    return np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[1]]


def _read_utf8(column: Column) -> Column:
    """As ``string``, NULL where the bytes are no UTF-8."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if pa.types.is_string(column.type) and all(int(_bytes(chunk).max(initial=0)) < 0x80 for chunk in chunks):
        return column
    try:
        column = pc.cast(column, pa.string())  # of binary: checks
        column.validate(full=True)
        return column
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raw = pc.cast(column, pa.binary())
        texts = [None if v is None or not is_utf8(v) else v.decode() for v in raw.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.string())]) if isinstance(raw, pa.ChunkedArray) else pa.array(texts)


def _is_harmless(column: Column, type_: Type) -> bool:
    """Whether Arrow's cast of these texts gives what they say, or an error."""
    match type_.kind:
        case "int":
            return not _has_byte(column, ord("x"))  # it would take hexadecimal numbers
        case "decimal":
            return not _has_byte(column, ord("e")) and _longest(column) <= DIGITS - type_.scale
        case "double":
            return not _has_byte(column, ord("e")) and _longest(column) <= SAFE_DOUBLE
    return True


def _int(column: Column, type_: Type) -> Column:
    """``+5`` and ``5.00`` are integers."""
    column = pc.replace_substring_regex(column, r"^\+([0-9])", r"\1")
    column = pc.replace_substring_regex(column, r"^(-?[0-9]+)\.0*$", r"\1")
    return _cast_matching(column, INT, stored_type(type_))


def _decimal(column: Column, type_: Type) -> Column:
    """Short ones as Arrow does; those that are long or have an exponent one by one, each once."""
    wide = pa.decimal128(type_.precision, type_.scale)
    short = pc.less_equal(pc.binary_length(column), DIGITS - type_.scale)
    plain = pc.if_else(short, _keep_matching(column, DECIMAL), pa.scalar(None, pa.string()))
    odd = _plain(pc.unique(column.filter(pc.is_null(plain)))).drop_null().to_pylist()
    meant = {text: value for text in odd if (value := _decimal_of(text, type_)) is not None}
    values = _cast_or_null(plain, wide)
    if meant:
        values = pc.coalesce(values, _look_up(column, pa.array(list(meant)), pa.array(list(meant.values()), wide)))
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
    values = _cast_or_null(_keep_matching(column, DOUBLE), stored_type(type_))
    overflow = pc.and_(pc.is_inf(values), pc.match_substring_regex(column, "[0-9]"))
    underflow = pc.and_(pc.equal(values, 0.0), pc.match_substring_regex(column, "^[^eE]*[1-9]"))
    return pc.if_else(pc.fill_null(pc.or_(overflow, underflow), False), pa.scalar(None, values.type), values)


def _bool(column: Column, _type: Type) -> Column:
    words, truth = pa.array([*TRUE, *FALSE]), pa.array([True] * len(TRUE) + [False] * len(FALSE))
    return _look_up(pc.ascii_lower(column), words, truth)


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


#: The careful way by the kind of type: NULL where a text is no value of it.
CASTS: dict[str, Callable[[Column, Type], Column]] = {
    "int": _int,
    "decimal": _decimal,
    "double": _double,
    "bool": _bool,
    "date": _date,
    "timestamp": _timestamp,
}


def _keep_matching(column: Column, pattern: str) -> Column:
    return pc.if_else(pc.match_substring_regex(column, pattern), column, pa.scalar(None, pa.string()))


def _cast_matching(column: Column, pattern: str, target: pa.DataType) -> Column:
    return _cast_or_null(_keep_matching(column, pattern), target)


def _cast_or_null(column: Column, target: pa.DataType) -> Column:
    """The column as Arrow casts it; the few values that do not fit are looked for by halving, among the different ones, and become NULL."""
    try:
        return pc.cast(column, target)
    except pa.ArrowInvalid:
        distinct = _plain(pc.unique(column)).drop_null()
        bad = pa.concat_arrays([distinct[:0], *_find_unfit(distinct, target)])
        return pc.cast(pc.if_else(pc.is_in(column, value_set=bad), pa.scalar(None, column.type), column), target)


def _find_unfit(values: pa.Array, target: pa.DataType) -> list[pa.Array]:
    try:
        pc.cast(values, target)
        return []
    except pa.ArrowInvalid:
        middle = len(values) // 2
        return [values] if middle == 0 else _find_unfit(values[:middle], target) + _find_unfit(values[middle:], target)


def _look_up(column: Column, texts: pa.Array, meanings: pa.Array) -> Column:
    """For each text its meaning, NULL if it has none."""
    where = pc.index_in(column, value_set=texts)
    if isinstance(where, pa.ChunkedArray):
        return pa.chunked_array([meanings.take(chunk) for chunk in where.chunks], meanings.type)
    return meanings.take(where)
