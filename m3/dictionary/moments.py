"""Functions of dates and timestamps. There are no time zones; weeks begin on Monday, as in ISO 8601."""

from __future__ import annotations

from collections.abc import Sequence

from m3.datatypes import DATE, INT, STRING, TIMESTAMP, Type, decimal
from m3.dictionary.entry import Entry
from m3.dictionary.types import Operand, first_type

__all__ = ["MOMENTS"]

#: A span of time in seconds: any two timestamps differ by fewer than 10**12.
SECONDS = decimal(18, 6)


def _second_type(args: Sequence[Operand]) -> Type:
    return args[1].type.with_null(False)


def _name(of: str, names: Sequence[str], length: int) -> str:
    """The name of a part of a date, counted from 1; its first letters."""
    branches = " ".join(f"WHEN {i} THEN '{name[:length]}'" for i, name in enumerate(names, 1))
    return f"CASE {of}(m) {branches} END"


DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WHOLE, SHORT = 9, 3

MOMENTS = (
    Entry("dayname", "name of the day of the week; its first three letters in Spark and Snowflake", forms=(f"duckdb mysql | DAYNAME(m) := {_name('day_of_week', DAYS, WHOLE)}", f"spark snowflake | DAYNAME(m) := {_name('day_of_week', DAYS, SHORT)}")),
    Entry("monthname", "name of the month; its first three letters in Spark and Snowflake", forms=(f"duckdb mysql | MONTHNAME(m) := {_name('month', MONTHS, WHOLE)}", f"spark snowflake | MONTHNAME(m) := {_name('month', MONTHS, SHORT)}")),
    Entry("unix_seconds", "whole seconds since 1970, downwards", forms=("spark bigquery | UNIX_SECONDS(t) := epoch(t)",)),
    Entry("unix_micros", "microseconds since 1970", forms=("spark bigquery | UNIX_MICROS(t) := epoch_us(t)",)),
    Entry("year", "year of a date", ("moment",), INT, rises=(0,)),
    Entry("quarter", "quarter of a date, 1 to 4", ("moment",), INT),
    Entry("month", "month of a date", ("moment",), INT, spark="month(a)"),
    Entry("week", "ISO week of a date, 1 to 53", ("moment",), INT),
    Entry("iso_year", "year that the ISO week belongs to", ("moment",), INT, rises=(0,)),
    Entry("day", "day of a date", ("moment",), INT),
    Entry("day_of_week", "day of the week, 1 for Sunday to 7 for Saturday", ("moment",), INT, spark="dayofweek(a)"),
    Entry("day_of_year", "day of the year, from 1", ("moment",), INT),
    Entry("hour", "hour of a timestamp", ("moment",), INT),
    Entry("minute", "minute of a timestamp", ("moment",), INT),
    Entry("second", "whole second of a timestamp", ("moment",), INT),
    Entry("epoch_us", "microseconds since 1970", ("moment",), INT, rises=(0,), distinct=True, spark="unix_micros(CAST(CAST(a AS TIMESTAMP_NTZ) AS TIMESTAMP))"),
    Entry("epoch", "whole seconds since 1970, downwards", ("moment",), INT, rises=(0,), spark="unix_seconds(CAST(CAST(a AS TIMESTAMP_NTZ) AS TIMESTAMP))"),
    Entry("add_days", "ADD_DAYS(a, days)", ("moment", "int"), first_type, fails=("overflow",), rises=(0, 1), distinct=True),
    Entry("add_months", "ADD_MONTHS(a, months)", ("moment", "int"), first_type, fails=("overflow",), rises=(1,)),
    Entry("add_seconds", "ADD_SECONDS(a, seconds)", ("timestamp", "int"), TIMESTAMP, fails=("overflow",), rises=(0, 1), distinct=True),
    Entry("last_day", "last day of the month", ("moment",), DATE, rises=(0,)),
    Entry("days_between", "days from b to a, times of day left aside", ("moment", "moment"), INT, rises=(0,), falls=(1,)),
    Entry("seconds_between", "seconds from b to a, with microseconds", ("timestamp", "timestamp"), SECONDS, rises=(0,), falls=(1,), distinct=True),
    Entry("date_trunc", "DATE_TRUNC(unit, a)", ("string", "moment"), _second_type, fails=("bad-unit",), blame=(0,), rises=(1,)),
    Entry("time_bucket", "TIME_BUCKET(a, microseconds, origin): the start of the span that a is in", ("timestamp", "int", "timestamp"), TIMESTAMP, fails=("out-of-domain",), rises=(0,)),
    Entry("make_date", "MAKE_DATE(year, month, day)", ("int", "int", "int"), DATE, fails=("bad-date",), rises=(0, 1, 2), distinct=True),
    Entry("make_timestamp", "MAKE_TIMESTAMP(year, month, day, hour, minute, second)", ("int", "int", "int", "int", "int", "number"), TIMESTAMP, fails=("bad-date",), rises=(0, 1, 2, 3, 4, 5), distinct=True),
    Entry("format_date", "FORMAT_DATE(a, '%Y-%m-%d')", ("moment", "string"), STRING, fails=("bad-format",), blame=(1,)),
)  # fmt: skip
