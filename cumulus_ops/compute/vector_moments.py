"""Differences of dates, and dates as texts, over whole columns: the twins of :mod:`m3.functions.moments`.

As in :mod:`.vector_functions`, None leaves a case to the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.compute.calendar import DAY_US, civil_days, months_days
from cumulus_ops.maps.columns import physical_type, to_numpy
from m3.datatypes import DATE, TIMESTAMP
from m3.dictionary.formats import Code, split_format
from m3.dictionary.units import MICROS, WEEKS
from m3.errors import ValueProblem
from m3.functions.moments import MONTHS, WEEKDAYS, format_pattern
from m3.scalars import Call, Const

__all__ = ["QUICK"]

Quick = Callable[[Call, list[pa.Array]], pa.Array | None]
IN_MONTHS = {"year": 12, "quarter": 3, "month": 1}
THURSDAY = 3  # 1 January 1970, counted from 0 for Monday


def _text(node: Call, index: int) -> str:
    """A constant argument; empty if it is none."""
    arg = node.args[index]
    return arg.value if isinstance(arg, Const) and isinstance(arg.value, str) else ""


def _pair(args: list[pa.Array]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Microseconds since 1970 of two columns, 0 for NULL, and where one of them is NULL."""
    null = np.logical_or.reduce([a.is_null().to_numpy(zero_copy_only=False) for a in args])
    later, earlier = (to_numpy(a.cast(pa.int64()), 0) for a in args)
    return later, earlier, null


def _months(stamps: np.ndarray) -> np.ndarray:
    return stamps.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)


def _boundaries(node: Call, args: list[pa.Array]) -> pa.Array | None:
    unit = _text(node, 0)
    later, earlier, null = _pair(args[1:])

    def number(stamps: np.ndarray) -> np.ndarray:
        if unit in IN_MONTHS:
            return np.floor_divide(_months(stamps), IN_MONTHS[unit])
        if unit in WEEKS:
            return np.floor_divide(np.floor_divide(stamps, DAY_US) + THURSDAY - WEEKS[unit], 7)
        return np.floor_divide(stamps, MICROS[unit])

    if unit not in IN_MONTHS and unit not in WEEKS and unit not in MICROS:
        return None
    return pa.array(number(later) - number(earlier), mask=null)


def _elapsed(to_last_day: bool) -> Quick:
    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        unit = _text(node, 0)
        one, other, null = _pair(args[1:])
        later, earlier, sign = np.maximum(one, other), np.minimum(one, other), np.where(one < other, -1, 1)
        if unit in MICROS:
            return pa.array(sign * ((later - earlier) // MICROS[unit]), mask=null)
        if unit not in IN_MONTHS:
            return None
        months = _months(later) - _months(earlier)
        (day, time), (since, from_time) = (_day_and_time(x) for x in (later, earlier))
        since = np.minimum(since, months_days(_months(later))) if to_last_day else since
        whole = (day > since) | ((day == since) & (time >= from_time))
        return pa.array(sign * ((months - ~whole) // IN_MONTHS[unit]), mask=null)

    return compute


def _day_and_time(stamps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Day of the month from 1, and microseconds of the day."""
    days = np.floor_divide(stamps, DAY_US)
    first = stamps.astype("datetime64[us]").astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days - first + 1, stamps - days * DAY_US


# Dates as texts.


#: Letter of a format -> its number, and how many digits it has.
NUMBERS: Mapping[str, tuple[Callable[[pa.Array], pa.Array], int]] = {
    "Y": (pc.year, 4), "y": (lambda t: pc.subtract(pc.year(t), pc.multiply(pc.divide(pc.year(t), 100), 100)), 2), "G": (pc.iso_year, 4), "m": (pc.month, 2),
    "d": (pc.day, 2), "H": (pc.hour, 2), "M": (pc.minute, 2), "S": (pc.second, 2), "j": (pc.day_of_year, 3), "q": (pc.quarter, 1), "V": (pc.iso_week, 2),
    "u": (lambda t: pc.day_of_week(t, count_from_zero=False, week_start=1), 1), "w": (lambda t: pc.day_of_week(t, count_from_zero=True, week_start=7), 1),
    "e": (lambda t: pc.day_of_week(t, count_from_zero=False, week_start=7), 1), "I": (lambda t: _hour_of_half_day(t), 2),
}  # fmt: skip


def _hour_of_half_day(t: pa.Array) -> pa.Array:
    hour = pc.add(pc.hour(t), 11)
    return pc.add(pc.subtract(hour, pc.multiply(pc.divide(hour, 12), 12)), 1)


def _format(node: Call, args: list[pa.Array]) -> pa.Array | None:
    try:
        parts = split_format(_text(node, 1))
    except ValueError:
        return None
    stamps = args[0].cast(physical_type(TIMESTAMP))
    if not parts:
        return None
    # a part of plain text knows no NULLs
    first = pc.if_else(stamps.is_valid(), "", pa.scalar(None, pa.string()))
    return pc.binary_join_element_wise(first, *(_write_part(part, stamps) for part in parts), "")


def _write_part(part: Code, stamps: pa.Array) -> pa.Array:
    if not part.letter or part.letter == "t":
        return pa.repeat(part.text or " ", len(stamps))
    if part.letter == "f":
        micros = pc.add(pc.multiply(pc.millisecond(stamps), 1000), pc.microsecond(stamps))
        return pc.utf8_slice_codeunits(pc.utf8_lpad(micros.cast(pa.string()), 6, "0"), 0, int(part.width or 6))
    if part.letter in NUMBERS:
        number, digits = NUMBERS[part.letter]
        text = number(stamps).cast(pa.string())
        return text if "-" in part.modifiers else pc.utf8_lpad(text, digits, " " if "~" in part.modifiers else "0")
    names, place = _names(part.letter, stamps)
    changed = [n.upper() if "^" in part.modifiers else n.lower() if "_" in part.modifiers else n for n in names]
    return pa.array([f"{n:<9}" if "+" in part.modifiers else n for n in changed]).take(place)


def _names(letter: str, stamps: pa.Array) -> tuple[list[str], pa.Array]:
    if letter == "p":
        return ["AM", "PM"], pc.divide(pc.hour(stamps), 12)
    names = list(WEEKDAYS if letter in "aA" else MONTHS)
    place = pc.day_of_week(stamps) if letter in "aA" else pc.subtract(pc.month(stamps), 1)
    return [n[:3] for n in names] if letter in "ab" else names, place


#: Letters that are read for whole columns.
READ = frozenset("YmdHMSf")


def _parse(safe: bool) -> Quick:
    """Texts that have the format, if it is one of digits; if one does not, the reference says so, unless it is to be NULL."""

    def compute(node: Call, args: list[pa.Array]) -> pa.Array | None:
        try:
            pattern, letters = format_pattern(_text(node, 1))
        except ValueProblem:
            return None
        if not set(letters) <= READ:
            return None
        found = pc.extract_regex(pc.utf8_trim_whitespace(args[0]), f"^{pattern}$")
        if not safe and found.null_count > args[0].null_count:
            return None
        null = found.is_null().to_numpy(zero_copy_only=False)
        default = {"Y": 1, "m": 1, "d": 1}

        def digits(letter: str) -> np.ndarray:
            if letter not in letters:
                return np.full(len(null), default.get(letter, 0), np.int64)
            text = pc.fill_null(found.field(letter), str(default.get(letter, 0)))
            text = pc.utf8_rpad(text, 6, "0") if letter == "f" else text
            return to_numpy(pc.if_else(found.is_valid(), text, str(default.get(letter, 0))).cast(pa.int64()), 0)

        days = civil_days([digits(c) for c in "Ymd"])
        hour, minute, second = (digits(c) for c in "HMS")
        if days is None or not ((hour < 24) & (minute < 60) & (second < 60)).all():
            return None  # one is no date
        if node.type.kind == "date":
            return pa.array(days.astype(np.int32), mask=null).cast(physical_type(DATE))
        micros = days * DAY_US + ((hour * 60 + minute) * 60 + second) * 1_000_000 + digits("f")
        return pa.array(micros, mask=null).cast(physical_type(TIMESTAMP))

    return compute


def _microsecond(_: Call, args: list[pa.Array]) -> pa.Array:
    stamps = args[0].cast(physical_type(TIMESTAMP))
    return pa.array(
        np.mod(to_numpy(stamps.cast(pa.int64()), 0), 1_000_000), mask=stamps.is_null().to_numpy(zero_copy_only=False)
    )


#: Operation -> its values for whole columns.
QUICK: Mapping[str, Quick] = {
    "boundaries": _boundaries,
    "elapsed": _elapsed(to_last_day=False),
    "elapsed_to_last_day": _elapsed(to_last_day=True),
    "format_date": _format,
    "parse_date": _parse(safe=False),
    "try_parse_date": _parse(safe=True),
    "microsecond": _microsecond,
}
