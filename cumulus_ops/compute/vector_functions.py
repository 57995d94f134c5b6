"""The functions of :mod:`m3.functions` over whole columns, where Arrow or NumPy computes exactly the same.

Each takes the call and its physical arguments. It returns None for cases that it leaves to :mod:`m3.evaluate`, which
:func:`apply` then asks once for each distinct value, or for each row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.compute.calendar import DAY_US, civil_days
from cumulus_ops.compute.conversions import by_arguments, convert
from cumulus_ops.compute.numbers import fit, rescale, units_for
from cumulus_ops.compute.vector_moments import QUICK as MOMENTS
from cumulus_ops.maps.columns import alike, physical_type, to_numpy
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.regexes import extract, match, replace
from m3 import ProgramError, ValueProblem
from m3.datatypes import DATE, LONGEST_TEXT, TIMESTAMP
from m3.functions import (
    capture,
    check_replacement,
    first_place,
    grows,
    like_regex,
    nonempty_regex,
    safe_regex,
)
from m3.scalars import Call, Const

__all__ = ["apply"]


Quick = Callable[[Call, list[pa.Array]], pa.Array | None]

#: Longer patterns, which nobody writes by hand, are no regular expressions for RE2.
LIKE_BY_REGEX = 1_000
SECOND_US = 1_000_000
#: First and last value of the calendar: days for dates, microseconds for timestamps.
CALENDAR = {"date": (-719_162, 2_932_896), "timestamp": (-719_162 * DAY_US, 2_932_897 * DAY_US - 1)}


def apply(node: Call, args: list[pa.Array]) -> pa.Array:
    """A function's values for every row.

    Raises:
        InputProblem: of the kinds that the function raises.
        pa.ArrowInvalid: a number leaves 64 bits, or a division by zero.
    """
    quick = _QUICK.get(node.op)
    result = None if quick is None else quick(node, args)
    return by_arguments(node, args) if result is None else result


def _constant(node: Call, index: int) -> object:
    arg = node.args[index] if index < len(node.args) else None
    return arg.value if isinstance(arg, Const) else None


# -- text ----------------------------------------------------------------------------------------------------------


def _ascii(function: Callable[[pa.Array], pa.Array]) -> Quick:
    """A function that Arrow computes for ASCII; beyond that, its tables map one character to one character only."""

    def compute(_: Call, args: list[pa.Array]) -> pa.Array | None:
        plain = pc.all(pc.string_is_ascii(args[0])).as_py() is not False
        return function(args[0]) if plain else None

    return compute


def _trim(function: Callable[..., pa.Array]) -> Quick:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        characters = _constant(node, 1) if len(args) > 1 else " "
        if not isinstance(characters, str):
            return None
        return function(args[0], characters=characters) if characters else args[0]

    return compute


def _with_part(function: Callable[..., pa.Array]) -> Quick:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        part = _constant(node, 1)
        return function(args[0], pattern=part) if isinstance(part, str) else None

    return compute


def _replace(node: Call, args: list[pa.Array]) -> pa.Array | None:
    old, new = _constant(node, 1), _constant(node, 2)
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        return None
    longer = len(new) - len(old)
    if longer > 0:  # who is beyond the longest text is told row by row
        given = pc.utf8_length(args[0])
        found = pc.multiply(pc.count_substring(args[0], pattern=old).cast(pa.int64()), longer)
        if pc.any(pc.greater(pc.if_else(pc.greater(found, 0), pc.add(found, given), 0), LONGEST_TEXT)).as_py():
            return None
    return pc.replace_substring(args[0], pattern=old, replacement=new)


def _left(node: Call, args: list[pa.Array]) -> pa.Array | None:
    count = _constant(node, 1)
    if not isinstance(count, int) or count < 0:
        return None
    return pc.utf8_slice_codeunits(args[0], 0, min(count, sys.maxsize // 4))


def _cut_signed(from_end: bool) -> Quick:
    """LEFT and RIGHT, in which a length below 0 leaves so many characters out."""

    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        count = _constant(node, 1)
        if not isinstance(count, int) or abs(count) > sys.maxsize // 4:
            return None
        if not from_end:
            return pc.utf8_slice_codeunits(args[0], 0, count)
        if not count:
            return None
        return pc.utf8_slice_codeunits(args[0], -count, sys.maxsize // 4)

    return compute


def _like(node: Call, args: list[pa.Array]) -> pa.Array | None:
    pattern, escape = _constant(node, 1), _constant(node, 2) if len(args) > 2 else ""
    if not isinstance(pattern, str) or not isinstance(escape, str) or len(pattern) > LIKE_BY_REGEX:
        return None
    try:
        return match(args[0], f"(?s)^{like_regex(pattern, escape)}$")
    except ValueProblem:
        return None


def _regexp(compute: Callable[..., pa.Array | None]) -> Quick:
    """A function of a column and of constants: its pattern, and a replacement or a group."""

    def computed(node: Call, args: list[pa.Array]) -> pa.Array | None:
        known = [_constant(node, i) for i in range(1, len(args))]
        try:
            return None if None in known else compute(args[0], *known)
        except ProgramError:  # fails for every row that is not NULL
            return None

    return computed


def _regexp_replace(first: bool) -> Callable[..., pa.Array | None]:
    def compute(texts: pa.Array, pattern: str, replacement: str) -> pa.Array | None:
        check_replacement(pattern, replacement)
        longest = pc.max(pc.utf8_length(texts)).as_py() or 0
        if grows(longest, replacement, first=first):  # who is beyond the longest text is told row by row
            return None
        return replace(texts, safe_regex(pattern) if first else nonempty_regex(pattern), replacement, first=first)

    return compute


def _regexp_count(texts: pa.Array, pattern: str) -> pa.Array:
    """Arrow's own count takes what is behind a match for the beginning of a text."""
    longer = replace(texts, nonempty_regex(pattern), r"\0x", first=False)
    return pc.subtract(pc.utf8_length(longer), pc.utf8_length(texts)).cast(pa.int64())


def _regexp_instr(texts: pa.Array, pattern: str) -> pa.Array:
    before = pc.utf8_length(extract(texts, first_place(pattern)))
    found = pc.fill_null(pc.add(before.cast(pa.int64()), 1), 0)
    return pc.if_else(pc.is_null(texts), None, found)


def _regexp_extract(texts: pa.Array, pattern: str, group: int) -> pa.Array:
    return pc.if_else(pc.is_null(texts), None, pc.fill_null(extract(texts, capture(pattern, group)), ""))


def _substring(node: Call, args: list[pa.Array]) -> pa.Array | None:
    start, length = _constant(node, 1), _constant(node, 2)
    if not isinstance(start, int) or not isinstance(length, int):
        return None
    longest = sys.maxsize // 4
    first, count = max(-longest, min(longest, start)), max(0, min(longest, length))
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
        part = (
            pc.utf8_slice_codeunits(text, max(0, begin), max(0, end))
            if end > max(0, begin)
            else pa.repeat("", len(text))
        )
        result = pc.if_else(pc.fill_null(pc.equal(lengths, length), False), part, result)
    return result


# -- numbers -------------------------------------------------------------------------------------------------------


def _divide(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Quick:
    """MOD and DIV of exact numbers, at their common scale."""

    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        if node.args[0].type.kind == "double":
            return None
        scale = max(a.type.scale for a in node.args)
        dividend, divisor = (rescale(x, a.type.scale, scale) for x, a in zip(args, node.args, strict=True))
        a, b, null = units_for(dividend, divisor)
        return fit(rescale(pa.array(function(a, b), mask=null), node.type.scale, node.type.scale), node.type)

    return compute


def _remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.fmod(a, np.where(b == -1, 1, b))


def _positive_remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rest = _remainder(a, b)
    return rest + np.where((rest < 0) & (b > 0), b, 0)  # between two numbers of opposite signs: it cannot wrap around


def _quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return pc.divide_checked(pa.array(a), pa.array(b)).to_numpy(zero_copy_only=False)


def _sign(node: Call, args: list[pa.Array]) -> pa.Array | None:
    return pc.sign(args[0]).cast(physical_type(node.type))


def _floor(upwards: bool) -> Quick:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        source = node.args[0].type
        if not source.is_numeric or source.scale > 18:
            return None
        x = pc.negate_checked(args[0]) if upwards else args[0]
        units = np.floor_divide(to_numpy(x, 0), 10**source.scale)
        return pa.array(-units if upwards else units, mask=args[0].is_null().to_numpy(zero_copy_only=False))

    return compute


def _round(truncates: bool) -> Quick:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        source, digits = node.args[0].type, _constant(node, 1) if len(args) > 1 else 0
        if not source.is_numeric or not isinstance(digits, int) or digits < 0 or source.scale > 18:
            return None
        if not truncates or digits >= source.scale:
            return fit(rescale(args[0], source.scale, node.type.scale), node.type)
        return pc.divide(args[0], pa.scalar(10 ** (source.scale - digits), pa.int64()))

    return compute


def _extreme(function: Callable[..., pa.Array]) -> Quick:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        if node.type.kind in ("double", "string", "bool"):
            return None
        return function(*alike([convert(x, a.type, node.type) for x, a in zip(args, node.args, strict=True)]))

    return compute


def _double(function: Callable[..., pa.Array]) -> Quick:
    """Arrow calls the same library as :mod:`math`, bit by bit. What is not finite has errors of its own."""

    def compute(_: Call, args: list[pa.Array]) -> pa.Array | None:
        result = function(*args)
        return result if pc.all(pc.is_finite(result)).as_py() is not False else None

    return compute


def _logarithm(_: Call, args: list[pa.Array]) -> pa.Array | None:
    base, x = map(pc.ln, args)
    result = pc.divide(x, base)
    finite = reduce(pc.and_, map(pc.is_finite, (base, x, result)))
    return result if pc.all(finite).as_py() is not False else None


# -- dates and timestamps ------------------------------------------------------------------------------------------


def _part(function: Callable[[pa.Array], pa.Array]) -> Quick:
    return lambda node, args: function(args[0]).cast(pa.int64())


def _clock(function: Callable[[pa.Array], pa.Array]) -> Quick:
    return lambda node, args: function(args[0].cast(physical_type(TIMESTAMP))).cast(pa.int64())


def _epoch(_: Call, args: list[pa.Array]) -> pa.Array:
    stamps = args[0].cast(physical_type(TIMESTAMP)).cast(pa.int64())
    return pa.array(np.floor_divide(to_numpy(stamps, 0), SECOND_US), mask=_null(stamps))


def _null(x: pa.Array) -> np.ndarray:
    return x.is_null().to_numpy(zero_copy_only=False)


def _add(microseconds: int) -> Quick:
    """Adds days or seconds; a result out of the calendar is an overflow."""

    def compute(node: Call, args: list[pa.Array]) -> pa.Array:
        kind = node.type.kind
        step = pa.scalar(1 if kind == "date" else microseconds, pa.int64())
        start = (args[0].cast(pa.int32()) if kind == "date" else args[0]).cast(pa.int64())
        amount = pc.if_else(pc.is_valid(args[0]), args[1], 0)  # beside NULL any number will do
        moved = pc.add_checked(start, pc.multiply_checked(amount, step))
        extremes, (first, last) = pc.min_max(moved).as_py(), CALENDAR[kind]
        if extremes["min"] is not None and not first <= extremes["min"] <= extremes["max"] <= last:
            raise InputProblem("a date out of the calendar", kind="overflow", hint="years go from 1 to 9999")
        return moved.cast(pa.int32()).cast(pa.date32()) if kind == "date" else moved.cast(physical_type(node.type))

    return compute


def _days(x: pa.Array, kind: str) -> pa.Array:
    date = x if kind == "date" else pc.floor_temporal(x, unit="day").cast(physical_type(DATE))
    return date.cast(pa.int32()).cast(pa.int64())


def _days_between(node: Call, args: list[pa.Array]) -> pa.Array:
    later, earlier = (_days(x, a.type.kind) for x, a in zip(args, node.args, strict=True))
    return pc.subtract(later, earlier)


def _truncate(node: Call, args: list[pa.Array]) -> pa.Array | None:
    unit = _constant(node, 0)
    if unit not in ("year", "quarter", "month", "week", "day", "hour", "minute", "second"):
        return None
    if node.type.kind == "date" and unit in ("day", "hour", "minute", "second"):
        return args[1]
    return pc.floor_temporal(args[1], unit=unit, week_starts_monday=True).cast(physical_type(node.type))


def _epoch_us(_: Call, args: list[pa.Array]) -> pa.Array:
    return args[0].cast(physical_type(TIMESTAMP)).cast(pa.int64())


def _seconds_between(_: Call, args: list[pa.Array]) -> pa.Array:
    return pc.subtract(args[0].cast(pa.int64()), args[1].cast(pa.int64()))  # microseconds are the type's units


def _parts(args: list[pa.Array]) -> tuple[list[np.ndarray], np.ndarray]:
    """Integers, 1 for NULL, and where one of them is NULL."""
    null = np.logical_or.reduce([_null(x) for x in args])
    return [np.where(null, 1, to_numpy(x, 1)) for x in args], null


def _make_date(_: Call, args: list[pa.Array]) -> pa.Array | None:
    parts, null = _parts(args)
    days = civil_days(parts)
    return None if days is None else pa.array(days.astype(np.int32), mask=null).cast(pa.date32())


def _make_timestamp(node: Call, args: list[pa.Array]) -> pa.Array | None:
    (*date, hour, minute, second), null = _parts(args)
    unit = 10 ** node.args[5].type.scale
    fine = (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (second >= 0)
    days = civil_days(date)
    if days is None or unit > SECOND_US or not (fine & (second < 60 * unit) | null).all():
        return None
    micros = days * DAY_US + (hour * 3600 + minute * 60) * SECOND_US + second * (SECOND_US // unit)
    return pa.array(micros, mask=null).cast(physical_type(TIMESTAMP))


def _bucket(_: Call, args: list[pa.Array]) -> pa.Array | None:
    (value, size, origin), null = _parts([x.cast(pa.int64()) for x in args])
    if not (size > 0).all():
        return None
    starts = value - np.mod(value - origin, size)
    first, _last = CALENDAR["timestamp"]
    return None if (starts < first)[~null].any() else pa.array(starts, mask=null).cast(physical_type(TIMESTAMP))


_QUICK: Mapping[str, Quick] = {
    **{
        name: _double(getattr(pc, name))
        for name in (
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "atan2",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "sqrt",
            "exp",
            "expm1",
            "ln",
            "log10",
            "log2",
            "log1p",
            "power",
        )
    },
    "cot": _double(lambda x: pc.divide(1.0, pc.tan(x))),
    "log": _logarithm,
    "degrees": _double(lambda x: pc.multiply(x, 180 / math.pi)),
    "radians": _double(lambda x: pc.multiply(x, math.pi / 180)),
    "is_nan": lambda node, args: pc.is_nan(args[0]),
    "is_infinite": lambda node, args: pc.is_inf(args[0]),
    "bits_and": lambda node, args: pc.bit_wise_and(*args),
    "bits_or": lambda node, args: pc.bit_wise_or(*args),
    "bits_xor": lambda node, args: pc.bit_wise_xor(*args),
    "bits_not": lambda node, args: pc.bit_wise_not(*args),
    "octet_length": _part(pc.binary_length),
    "pmod": _divide(_positive_remainder),
    "epoch_us": _epoch_us,
    "seconds_between": _seconds_between,
    "time_bucket": _bucket,
    "make_date": _make_date,
    "make_timestamp": _make_timestamp,
    "upper": _ascii(pc.ascii_upper),
    "lower": _ascii(pc.ascii_lower),
    "concat": lambda node, args: pc.binary_join_element_wise(*args, ""),
    "substring": _substring,
    "like": _like,
    "regexp_like": _regexp(lambda texts, pattern: match(texts, safe_regex(pattern))),
    "regexp_replace": _regexp(_regexp_replace(first=False)),
    "regexp_replace_first": _regexp(_regexp_replace(first=True)),
    "regexp_extract": _regexp(_regexp_extract),
    "regexp_substr": _regexp(lambda texts, pattern, group: extract(texts, capture(pattern, group))),
    "regexp_count": _regexp(_regexp_count),
    "regexp_instr": _regexp(_regexp_instr),
    "length": _part(pc.utf8_length),
    "trim": _trim(pc.utf8_trim),
    "ltrim": _trim(pc.utf8_ltrim),
    "rtrim": _trim(pc.utf8_rtrim),
    "replace": _replace,
    "left": _left,
    "left_signed": _cut_signed(from_end=False),
    "right_signed": _cut_signed(from_end=True),
    "reverse": lambda node, args: pc.utf8_reverse(args[0]),
    "starts_with": _with_part(pc.starts_with),
    "ends_with": _with_part(pc.ends_with),
    "contains": _with_part(pc.match_substring),
    "mod": _divide(_remainder),
    "idiv": _divide(_quotient),
    "abs": lambda node, args: pc.abs_checked(args[0]),
    "sign": _sign,
    "floor": _floor(upwards=False),
    "ceil": _floor(upwards=True),
    "round": _round(truncates=False),
    "trunc": _round(truncates=True),
    "greatest": _extreme(pc.max_element_wise),
    "least": _extreme(pc.min_element_wise),
    "year": _part(pc.year),
    "quarter": _part(pc.quarter),
    "month": _part(pc.month),
    "week": _part(pc.iso_week),
    "iso_year": _part(pc.iso_year),
    "day": _part(pc.day),
    "day_of_week": _part(lambda x: pc.day_of_week(x, count_from_zero=False, week_start=7)),
    "day_of_year": _part(pc.day_of_year),
    "hour": _clock(pc.hour),
    "minute": _clock(pc.minute),
    "second": _clock(pc.second),
    "epoch": _epoch,
    "add_days": _add(DAY_US),
    "add_seconds": _add(SECOND_US),
    "days_between": _days_between,
    "date_trunc": _truncate,
    **MOMENTS,
}
