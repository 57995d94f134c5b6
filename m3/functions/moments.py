"""Functions of dates and timestamps. There are no time zones; weeks begin on Monday, as in ISO 8601."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Mapping
from decimal import ROUND_DOWN, Decimal
from typing import Any

from m3.datatypes import Type
from m3.dictionary.types import Value
from m3.errors import ValueProblem
from m3.functions.kernel import Compute

__all__ = ["KERNELS", "UNITS"]

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


def _monday(value: Moment) -> datetime.date:
    date = _date(value)
    if date.toordinal() <= date.weekday():
        raise _out_of_range(f"the week of {value}")
    return date - datetime.timedelta(days=date.weekday())


#: Unit of DATE_TRUNC -> the start of the period that a moment is in.
UNITS: Mapping[str, Callable[[Any], Moment]] = {
    "year": lambda a: datetime.date(a.year, 1, 1),
    "quarter": lambda a: datetime.date(a.year, (a.month - 1) // 3 * 3 + 1, 1),
    "month": lambda a: datetime.date(a.year, a.month, 1),
    "week": _monday,
    "day": _date,
    "hour": lambda a: _stamp(a).replace(minute=0, second=0, microsecond=0),
    "minute": lambda a: _stamp(a).replace(second=0, microsecond=0),
    "second": lambda a: _stamp(a).replace(microsecond=0),
}


def _truncate(args: list[Any], to: Type) -> Value:
    unit, value = args
    if unit not in UNITS:
        raise ValueProblem(f"DATE_TRUNC to {unit!r}", kind="bad-unit", hint=f"one of {', '.join(UNITS)}")
    start = UNITS[unit](value)
    return _date(start) if to.kind == "date" else _stamp(start)


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


def _format(args: list[Any], _: Type) -> str:
    """``%Y %y %m %d %j %H %I %p %M %S %f %a %A %b %B`` and ``%%``; everything else stands for itself."""
    value, pattern = _stamp(args[0]), args[1]
    parts, characters = [], iter(pattern)
    for c in characters:
        code = c + next(characters, "") if c == "%" else c
        if len(code) == 2 and code not in FORMATS:
            hint = f"{' '.join(FORMATS)} and punctuation"
            raise ValueProblem(f"the format {pattern!r}", kind="bad-format", hint=hint)
        parts.append(FORMATS[code](value) if code in FORMATS else code)
    return "".join(parts)


DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
FORMATS: Mapping[str, Callable[[datetime.datetime], str]] = {
    "%Y": lambda t: f"{t.year:04}", "%m": lambda t: f"{t.month:02}", "%d": lambda t: f"{t.day:02}",
    "%H": lambda t: f"{t.hour:02}", "%M": lambda t: f"{t.minute:02}", "%S": lambda t: f"{t.second:02}",
    "%I": lambda t: f"{(t.hour + 11) % 12 + 1:02}", "%p": lambda t: "PM" if t.hour >= 12 else "AM",
    "%y": lambda t: f"{t.year % 100:02}", "%j": lambda t: f"{t.timetuple().tm_yday:03}",
    "%f": lambda t: f"{t.microsecond:06}", "%a": lambda t: DAYS[t.weekday()][:3],
    "%A": lambda t: DAYS[t.weekday()], "%b": lambda t: MONTHS[t.month - 1][:3], "%B": lambda t: MONTHS[t.month - 1],
    "%%": lambda _: "%",
}  # fmt: skip


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
    "epoch_us": lambda args, _: _micros(_stamp(args[0]) - EPOCH),
    "epoch": lambda args, _: (_stamp(args[0]) - EPOCH) // datetime.timedelta(seconds=1),
    "add_days": _shift_by("days"),
    "add_months": _add_months,
    "add_seconds": _shift_by("seconds"),
    "last_day": _last_day,
    "days_between": lambda args, _: (_date(args[0]) - _date(args[1])).days,
    "seconds_between": lambda args, _: Decimal(_micros(args[0] - args[1])).scaleb(-6),
    "date_trunc": _truncate,
    "time_bucket": _bucket,
    "make_date": _make_date,
    "make_timestamp": _make_timestamp,
    "format_date": _format,
}
