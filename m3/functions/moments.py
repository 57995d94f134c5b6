"""Functions of dates and timestamps. There are no time zones; weeks begin on Monday, as in ISO 8601."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any

from m3.datatypes import DATE, INT, STRING, TIMESTAMP, Type, decimal
from m3.errors import ValueProblem
from m3.functions.spec import Function, Operand, Value, first_type, table

__all__ = ["MOMENTS", "PARTS", "UNITS"]

#: A span of time in seconds: any two timestamps differ by fewer than 10**12.
SECONDS = decimal(18, 6)
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


def _second_type(args: Sequence[Operand]) -> Type:
    return args[1].type.with_null(False)


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


def _part(name: str, text: str, of: Callable[[Any], int]) -> Function:
    return Function(name, text, ("moment",), INT, lambda args, _: of(args[0]))


#: Functions from one moment to an integer.
PARTS = table(
    _part("year", "year of a date", lambda a: a.year),
    _part("quarter", "quarter of a date, 1 to 4", lambda a: (a.month + 2) // 3),
    _part("month", "month of a date", lambda a: a.month),
    _part("week", "ISO week of a date, 1 to 53", lambda a: a.isocalendar()[1]),
    _part("iso_year", "year that the ISO week belongs to", lambda a: a.isocalendar()[0]),
    _part("day", "day of a date", lambda a: a.day),
    _part("day_of_week", "day of the week, 1 for Sunday to 7 for Saturday", lambda a: a.isoweekday() % 7 + 1),
    _part("day_of_year", "day of the year, from 1", lambda a: a.timetuple().tm_yday),
    _part("hour", "hour of a timestamp", lambda a: _stamp(a).hour),
    _part("minute", "minute of a timestamp", lambda a: _stamp(a).minute),
    _part("second", "whole second of a timestamp", lambda a: _stamp(a).second),
    _part("epoch_us", "microseconds since 1970", lambda a: _micros(_stamp(a) - EPOCH)),
    _part("epoch", "whole seconds since 1970, downwards", lambda a: (_stamp(a) - EPOCH) // datetime.timedelta(seconds=1)),
)  # fmt: skip

MOMENTS: Mapping[str, Function] = {
    **PARTS,
    **table(
        Function("add_days", "ADD_DAYS(a, days)", ("moment", "int"), first_type, _shift_by("days")),
        Function("add_months", "ADD_MONTHS(a, months)", ("moment", "int"), first_type, _add_months),
        Function("add_seconds", "ADD_SECONDS(a, seconds)", ("timestamp", "int"), TIMESTAMP, _shift_by("seconds")),
        Function("last_day", "last day of the month", ("moment",), DATE, _last_day),
        Function(
            "days_between",
            "days from b to a, times of day left aside",
            ("moment", "moment"),
            INT,
            lambda args, _: (_date(args[0]) - _date(args[1])).days,
        ),
        Function(
            "seconds_between",
            "seconds from b to a, with microseconds",
            ("timestamp", "timestamp"),
            SECONDS,
            lambda args, _: Decimal(_micros(args[0] - args[1])).scaleb(-6),
        ),
        Function("date_trunc", "DATE_TRUNC(unit, a)", ("string", "moment"), _second_type, _truncate),
        Function(
            "time_bucket",
            "TIME_BUCKET(a, microseconds, origin): the start of the span that a is in",
            ("timestamp", "int", "timestamp"),
            TIMESTAMP,
            _bucket,
        ),
        Function("make_date", "MAKE_DATE(year, month, day)", ("int", "int", "int"), DATE, _make_date),
        Function(
            "make_timestamp",
            "MAKE_TIMESTAMP(year, month, day, hour, minute, second)",
            ("int", "int", "int", "int", "int", "number"),
            TIMESTAMP,
            _make_timestamp,
        ),
        Function("format_date", "FORMAT_DATE(a, '%Y-%m-%d')", ("moment", "string"), STRING, _format),
    ),
}
