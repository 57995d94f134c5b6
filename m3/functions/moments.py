"""Functions of dates and timestamps. There are no time zones; weeks begin on Monday, as in ISO 8601."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from m3.datatypes import INT, Type
from m3.dictionary.formats import Code, check_readable, split_format
from m3.dictionary.types import Value
from m3.dictionary.units import MICROS, WEEKS
from m3.errors import ValueProblem
from m3.functions.kernel import Compute

__all__ = ["KERNELS", "MONTHS", "PARTS_READ", "UNITS", "WEEKDAYS", "format_pattern"]

EPOCH = datetime.datetime(1970, 1, 1)
Moment = datetime.date | datetime.datetime


def _out_of_range(what: object) -> ValueProblem:
    return ValueProblem(f"{what} is out of the calendar", kind="overflow", hint="years go from 1 to 9999")


def _shift_by(unit: str) -> Callable[[list[Any], Type], Value]:
    def compute(args: list[Any], _: Type) -> Value:
        start, amount = args
        try:
            return start + datetime.timedelta(**{unit: amount})  # type: ignore[no-any-return]
        except OverflowError as error:
            raise _out_of_range(f"{start} + {amount} {unit}") from error

    return compute


def _add_months(args: list[Any], _: Type) -> Value:
    """A day that the month lacks becomes its last one: 31 January + 1 month."""
    start, amount = args
    year, month = divmod(start.year * 12 + start.month - 1 + amount, 12)
    if not 1 <= year <= 9999:
        raise _out_of_range(f"{start} + {amount} months")
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)  # type: ignore[no-any-return]


def _last_day(args: list[Any], _: Type) -> datetime.date:
    (a,) = args
    return datetime.date(a.year, a.month, calendar.monthrange(a.year, a.month)[1])


def _date(value: Moment) -> datetime.date:
    return value.date() if isinstance(value, datetime.datetime) else value


def _stamp(value: Moment) -> datetime.datetime:
    return value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)


def _week_from(first: int) -> Callable[[Any], datetime.date]:
    """The start of the week, whose days are counted from ``first`` on, 0 for Monday."""

    def start(value: Moment) -> datetime.date:
        date = _date(value)
        since = (date.weekday() - first) % 7
        if date.toordinal() <= since:
            raise _out_of_range(f"the week of {value}")
        return date - datetime.timedelta(days=since)

    return start


def _years(count: int, first: int) -> Callable[[Any], datetime.date]:
    """The start of so many years, which begin with a year of which ``first`` is left over."""

    def start(value: Moment) -> datetime.date:
        year = value.year - (value.year - first) % count
        if year < 1:
            raise _out_of_range(f"the {count} years of {value}")
        return datetime.date(year, 1, 1)

    return start


def _iso_year(value: Moment) -> datetime.date:
    return _week_from(0)(datetime.date(value.isocalendar()[0], 1, 4))


#: Unit of DATE_TRUNC -> the start of the period that a moment is in.
UNITS: Mapping[str, Callable[[Any], Moment]] = {
    "millennium": _years(1000, 1),
    "century": _years(100, 1),
    "decade": _years(10, 0),
    "year": _years(1, 0),
    "iso_year": _iso_year,
    "quarter": lambda a: datetime.date(a.year, (a.month - 1) // 3 * 3 + 1, 1),
    "month": lambda a: datetime.date(a.year, a.month, 1),
    **{name: _week_from(first) for name, first in WEEKS.items()},
    "day": _date,
    "hour": lambda a: _stamp(a).replace(minute=0, second=0, microsecond=0),
    "minute": lambda a: _stamp(a).replace(second=0, microsecond=0),
    "second": lambda a: _stamp(a).replace(microsecond=0),
    "millisecond": lambda a: _stamp(a).replace(microsecond=_stamp(a).microsecond // 1000 * 1000),
    "microsecond": lambda a: _stamp(a),
}


def _truncate(args: list[Any], to: Type) -> Value:
    unit, value = args
    _check_unit(unit, UNITS)
    start = UNITS[unit](value)
    return _date(start) if to.kind == "date" else _stamp(start)


def _check_unit(unit: Any, units: Mapping[str, Any]) -> None:
    if unit not in units:
        raise ValueProblem(f"unknown unit {unit!r}", kind="bad-unit", hint=f"one of {', '.join(units)}")


# Differences: how many boundaries of a unit lie between two moments, or how many whole units.


def _weeks_from(first: int) -> Callable[[datetime.datetime], int]:
    return lambda a: (a.toordinal() - 1 - first) // 7  # 1 January of the year 1 was a Monday


def _spans_of(size: int) -> Callable[[datetime.datetime], int]:
    return lambda a: _micros(a - EPOCH) // size


#: Unit -> the number of the period that a moment is in. Those of fixed lengths are counted in microseconds.
PERIODS: Mapping[str, Callable[[datetime.datetime], int]] = {
    "millennium": lambda a: (a.year - 1) // 1000,
    "century": lambda a: (a.year - 1) // 100,
    "decade": lambda a: a.year // 10,
    "year": lambda a: a.year,
    "iso_year": lambda a: a.isocalendar()[0],
    "quarter": lambda a: a.year * 4 + (a.month - 1) // 3,
    "month": lambda a: a.year * 12 + a.month,
    **{name: _weeks_from(first) for name, first in WEEKS.items()},
    **{name: _spans_of(size) for name, size in MICROS.items() if name != "week"},
}
#: Unit -> how many months it is.
IN_MONTHS: Mapping[str, int] = {
    "millennium": 12000,
    "century": 1200,
    "decade": 120,
    "year": 12,
    "quarter": 3,
    "month": 1,
}


def _boundaries(args: list[Any], _: Type) -> int:
    unit, later, earlier = args
    _check_unit(unit, PERIODS)
    return PERIODS[unit](later) - PERIODS[unit](earlier)


def _elapsed(to_last_day: bool) -> Callable[[list[Any], Type], Value]:
    """Whole units from the earlier to the later moment, the other way round if that is the earlier one. ``to_last_day``: a month is
    over on its last day, if it lacks the day on which it began."""

    def compute(args: list[Any], _: Type) -> Value:
        unit, later, earlier = args
        _check_unit(unit, {**IN_MONTHS, **MICROS})
        if later < earlier:
            return -compute([unit, earlier, later], INT)  # type: ignore[operator]
        if unit in MICROS:
            return _micros(later - earlier) // MICROS[unit]
        months = PERIODS["month"](later) - PERIODS["month"](earlier)
        day = min(earlier.day, calendar.monthrange(later.year, later.month)[1]) if to_last_day else earlier.day
        whole = (later.day, later.time()) >= (day, earlier.time())
        return (months - (not whole)) // IN_MONTHS[unit]

    return compute


def _months_between(args: list[Any], _: Type) -> float:
    """Whole months between equal days, or between last days; else days count as parts of 31. Rounded to eight decimals."""
    later, earlier = args
    months = PERIODS["month"](later) - PERIODS["month"](earlier)
    if later.day == earlier.day or (_is_last_day(later) and _is_last_day(earlier)):
        return float(months)
    rest = _second_of_month(later) - _second_of_month(earlier)
    exact = (months + Fraction(rest, 31 * 86_400)) * 10**8
    return float(Fraction(int(abs(exact) + Fraction(1, 2)) * (1 if exact > 0 else -1), 10**8))


def _second_of_month(value: datetime.datetime) -> int:
    return (value.day - 1) * 86_400 + value.hour * 3600 + value.minute * 60 + value.second


def _is_last_day(value: datetime.datetime) -> bool:
    return value.day == calendar.monthrange(value.year, value.month)[1]


def _next_day(args: list[Any], _: Type) -> datetime.date:
    date, name = args
    index = next(
        (
            i
            for i, day in enumerate(WEEKDAYS)
            if name.strip().lower() in (day[:2].lower(), day[:3].lower(), day.lower())
        ),
        None,
    )
    if index is None:
        raise ValueProblem(f"{name!r} is no day of the week", kind="out-of-domain", hint="'Mon' or 'Monday'")
    try:
        return _date(date) + datetime.timedelta(days=(index - date.weekday() - 1) % 7 + 1)
    except OverflowError as error:
        raise _out_of_range(f"the day after {date}") from error


def _bucket(args: list[Any], _: Type) -> datetime.datetime:
    """Spans of one length, from the origin on and before it."""
    value, size, origin = args
    if size <= 0:
        raise ValueProblem(f"spans of {size} microseconds", kind="out-of-domain", hint="a positive interval")
    try:
        return value - datetime.timedelta(microseconds=_micros(value - origin) % size)  # type: ignore[no-any-return]
    except OverflowError as error:
        raise _out_of_range(f"the span of {value}") from error


def _make_date(args: list[Any], _: Type) -> datetime.date:
    try:
        return datetime.date(*args)
    except (ValueError, OverflowError) as error:
        date = "-".join(map(str, args))
        raise ValueProblem(f"{date} is not a date", kind="bad-date", hint="year, month, day") from error


def _make_timestamp(args: list[Any], _: Type) -> datetime.datetime:
    """Seconds may have a fraction; what is below microseconds is cut off."""
    (*date, hour, minute, seconds) = args
    micros = int(Decimal(seconds).scaleb(6).to_integral_value(ROUND_DOWN))
    try:
        if not 0 <= micros < 60_000_000:
            raise ValueError(seconds)
        midnight = datetime.datetime(*date)
        return midnight.replace(hour=hour, minute=minute) + datetime.timedelta(microseconds=micros)
    except (ValueError, OverflowError) as error:
        hint = "year, month, day, hour, minute, second below 60"
        text = ", ".join(map(str, args))
        raise ValueProblem(f"({text}) is not a timestamp", kind="bad-date", hint=hint) from error


def _micros(span: datetime.timedelta) -> int:
    return span // datetime.timedelta(microseconds=1)


# Dates as texts, in a format of :mod:`m3.dictionary.formats`.


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
#: Letter of a number -> the number, and how many digits it has.
NUMBERS: Mapping[str, tuple[Callable[[datetime.datetime], int], int]] = {
    "Y": (lambda t: t.year, 4), "y": (lambda t: t.year % 100, 2), "G": (lambda t: t.isocalendar()[0], 4), "m": (lambda t: t.month, 2),
    "d": (lambda t: t.day, 2), "H": (lambda t: t.hour, 2), "I": (lambda t: (t.hour + 11) % 12 + 1, 2), "M": (lambda t: t.minute, 2),
    "S": (lambda t: t.second, 2), "j": (lambda t: t.timetuple().tm_yday, 3), "q": (lambda t: (t.month + 2) // 3, 1),
    "V": (lambda t: t.isocalendar()[1], 2), "u": (lambda t: t.isoweekday(), 1), "w": (lambda t: t.isoweekday() % 7, 1),
    "e": (lambda t: t.isoweekday() % 7 + 1, 1),
}  # fmt: skip
NAMES: Mapping[str, Callable[[datetime.datetime], str]] = {
    "p": lambda t: "PM" if t.hour >= 12 else "AM", "a": lambda t: WEEKDAYS[t.weekday()][:3], "A": lambda t: WEEKDAYS[t.weekday()],
    "b": lambda t: MONTHS[t.month - 1][:3], "B": lambda t: MONTHS[t.month - 1],
}  # fmt: skip


def _parts_of(written: str) -> list[Code]:
    try:
        return split_format(written)
    except ValueError as error:
        hint = "codes of strftime: %Y-%m-%d %H:%M:%S"
        raise ValueProblem(f"{error} in the format {written!r}", kind="bad-format", hint=hint) from error


def _format(args: list[Any], _: Type) -> str:
    value = _stamp(args[0])
    return "".join(_write_part(part, value) for part in _parts_of(args[1]))


def _write_part(part: Code, value: datetime.datetime) -> str:
    if not part.letter:
        return part.text
    if part.letter == "t":
        return " "
    if part.letter == "f":
        return f"{value.microsecond:06}"[: int(part.width or 6)]
    if part.letter in NUMBERS:
        number, digits = NUMBERS[part.letter]
        if "-" in part.modifiers:
            return str(number(value))
        return f"{number(value):{' ' if '~' in part.modifiers else '0'}>{digits}}"
    name = NAMES[part.letter](value)
    name = name.upper() if "^" in part.modifiers else name.lower() if "_" in part.modifiers else name
    return f"{name:<9}" if "+" in part.modifiers else name


#: Letter -> what it is when it is read; years have four digits.
PARTS_READ: Mapping[str, str] = {
    "Y": "[0-9]{4}", "y": "[0-9]{2}", "m": "[0-9]{1,2}", "d": "[0-9]{1,2}", "H": "[0-9]{1,2}", "I": "[0-9]{1,2}", "M": "[0-9]{1,2}", "S": "[0-9]{1,2}",
    "j": "[0-9]{1,3}", "f": "[0-9]{1,6}", "p": "(?i:AM|PM)", "b": f"(?i:{'|'.join(m[:3] for m in MONTHS)})", "B": f"(?i:{'|'.join(MONTHS)})",
    "a": f"(?i:{'|'.join(d[:3] for d in WEEKDAYS)})", "A": f"(?i:{'|'.join(WEEKDAYS)})",
}  # fmt: skip


@lru_cache(maxsize=256)
def format_pattern(written: str) -> tuple[str, Mapping[str, str]]:
    """The regular expression of the texts that have a format, with a group for each letter; and letter -> width.

    >>> format_pattern("%Y.%m")
    ('(?P<Y>[0-9]{4})[.](?P<m>[0-9]{1,2})', {'Y': '', 'm': ''})

    Raises:
        ValueProblem: no text can be read by it.
    """
    pattern: list[str] = []
    letters: dict[str, str] = {}
    try:
        check_readable(written)
    except ValueError as error:
        hint = "years, months, days, hours, minutes, seconds, fractions, names of months, each once"
        raise ValueProblem(f"{error} in the format {written!r}, to be read", kind="bad-format", hint=hint) from error
    for part in split_format(written):
        if not part.letter:
            pattern.append(
                "".join(
                    c if c.isalnum() or c in " _" else f"[{c}]" if c not in "\\^]-" else f"\\{c}" for c in part.text
                )
            )
        elif part.letter == "t":
            pattern.append(" +")
        else:
            digits = PARTS_READ[part.letter]
            if "=" in part.modifiers:
                digits = digits.replace("{1,2}", "{2}").replace("{1,3}", "{3}")
            if part.letter == "f" and part.width:
                digits = f"[0-9]{{1,{part.width}}}"
            pattern.append(f"(?P<{part.letter}>{digits})")
            letters[part.letter] = part.width
    return "".join(pattern), letters


def _parse(args: list[Any], to: Type) -> Moment:
    text, written = args
    pattern, letters = format_pattern(written)
    found = re.fullmatch(pattern, text.strip())
    try:
        if found is None:
            raise ValueError(text)
        moment = _build_moment(found.groupdict(), letters)
    except (ValueError, OverflowError) as error:
        raise ValueProblem(
            f"cannot read {text!r} as a date in the format {written!r}",
            kind="bad-cast",
            hint="a TRY_ function, or CASE",
        ) from error
    return moment.date() if to.kind == "date" else moment


def _try_parse(args: list[Any], to: Type) -> Value:
    try:
        return _parse(args, to)
    except ValueProblem as problem:
        if problem.kind != "bad-cast":
            raise
        return None


def _build_moment(found: Mapping[str, str], letters: Mapping[str, str]) -> datetime.datetime:
    if "Y" in found:
        year = int(found["Y"])
    else:
        first = int(letters["y"] or 69)  # of the hundred years: 1969, or 2000
        year = (2000 if first == 0 else 1900 + first) + (int(found["y"]) - first) % 100
    month = (
        _index(MONTHS, found["b"] if "b" in found else found["B"])
        if {"b", "B"} & set(found)
        else int(found.get("m", 1))
    )
    hour = int(found.get("H", 0))
    if "I" in found and "H" not in found:
        hour = int(found["I"])
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if found.get("p", "am").lower() == "pm" else 0)
    date = datetime.datetime(year, month, int(found.get("d", 1)))
    if "j" in found and not {"m", "b", "B", "d"} & set(found):
        date = datetime.datetime(year, 1, 1) + datetime.timedelta(days=int(found["j"]) - 1)
        if date.year != year:
            raise ValueError(found["j"])
    fraction = int(found.get("f", "0").ljust(6, "0"))
    return date.replace(hour=hour, minute=int(found.get("M", 0)), second=int(found.get("S", 0)), microsecond=fraction)


def _index(names: Sequence[str], found: str) -> int:
    return next(i for i, name in enumerate(names, 1) if name[:3].lower() == found[:3].lower())


def _from_days(args: list[Any], _: Type) -> datetime.date:
    try:
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=args[0])
    except OverflowError as error:
        raise _out_of_range(f"{args[0]} days") from error


def _from_micros(args: list[Any], _: Type) -> datetime.datetime:
    """Microseconds since 1970, to the nearest."""
    try:
        return EPOCH + datetime.timedelta(microseconds=round(args[0]))
    except (OverflowError, ValueError) as error:  # ValueError: NaN
        raise _out_of_range(f"{args[0]} microseconds") from error


KERNELS: Mapping[str, Compute] = {
    "year": lambda args, _: args[0].year,
    "quarter": lambda args, _: (args[0].month + 2) // 3,
    "month": lambda args, _: args[0].month,
    "week": lambda args, _: args[0].isocalendar()[1],
    "iso_year": lambda args, _: args[0].isocalendar()[0],
    "day": lambda args, _: args[0].day,
    "day_of_week": lambda args, _: args[0].isoweekday() % 7 + 1,
    "day_of_year": lambda args, _: args[0].timetuple().tm_yday,
    "hour": lambda args, _: _stamp(args[0]).hour,
    "minute": lambda args, _: _stamp(args[0]).minute,
    "second": lambda args, _: _stamp(args[0]).second,
    "microsecond": lambda args, _: _stamp(args[0]).microsecond,
    "from_epoch_us": _from_micros,
    "from_epoch_days": _from_days,
    "boundaries": _boundaries,
    "elapsed": _elapsed(to_last_day=False),
    "elapsed_to_last_day": _elapsed(to_last_day=True),
    "months_between": _months_between,
    "next_day": _next_day,
    "parse_date": _parse,
    "try_parse_date": _try_parse,
    "epoch_us": lambda args, _: _micros(_stamp(args[0]) - EPOCH),
    "epoch": lambda args, _: (_stamp(args[0]) - EPOCH) // datetime.timedelta(seconds=1),
    "add_days": _shift_by("days"),
    "add_months": _add_months,
    "add_seconds": _shift_by("seconds"),
    "add_micros": _shift_by("microseconds"),
    "julian": lambda args, _: args[0].toordinal() + 1_721_425,
    "last_day": _last_day,
    "days_between": lambda args, _: (_date(args[0]) - _date(args[1])).days,
    "seconds_between": lambda args, _: Decimal(_micros(args[0] - args[1])).scaleb(-6),
    "date_trunc": _truncate,
    "time_bucket": _bucket,
    "make_date": _make_date,
    "make_timestamp": _make_timestamp,
    "format_date": _format,
}
