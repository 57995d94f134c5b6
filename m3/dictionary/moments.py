"""Functions of dates and timestamps. There are no time zones; weeks begin on Monday, as in ISO 8601."""

from __future__ import annotations

from collections.abc import Sequence

from m3.datatypes import DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.dictionary.entry import Entry
from m3.dictionary.formats import check_readable, has_time
from m3.dictionary.types import Operand, constant, first_type
from m3.errors import ProgramError

__all__ = ["MOMENTS"]

#: A span of time in seconds: any two timestamps differ by fewer than 10**12.
SECONDS = decimal(18, 6)


def _second_type(args: Sequence[Operand]) -> Type:
    return args[1].type.with_null(False)


def _parsed_type(args: Sequence[Operand]) -> Type:
    """A format with a time of day is one of timestamps."""
    written = constant(args[1])
    if not isinstance(written, str):
        raise ProgramError("a format that is not constant", kind="bad-format", hint="a text that is written out")
    try:
        check_readable(written)
    except ValueError as error:
        hint = "years, months, days, hours, minutes, seconds, fractions, names of months, each once"
        raise ProgramError(f"{error} in the format {written!r}, to be read", kind="bad-format", hint=hint) from error
    return TIMESTAMP if has_time(written) else DATE


def _name(of: str, names: Sequence[str], length: int) -> str:
    """The name of a part of a date, counted from 1; its first letters."""
    branches = " ".join(f"WHEN {i} THEN '{name[:length]}'" for i, name in enumerate(names, 1))
    return f"CASE {of}(m) {branches} END"


DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WHOLE, SHORT = 9, 3
#: The week of the year in which Sundays begin weeks, 0 before the first of them.
SUNDAYS = "(day_of_year(m) + 7 - day_of_week(m)) DIV 7"

MOMENTS = (
    Entry("dayname", "name of the day of the week; its first three letters in Spark and Snowflake", forms=(f"duckdb mysql | DAYNAME(m) := {_name('day_of_week', DAYS, WHOLE)}", f"spark snowflake | DAYNAME(m) := {_name('day_of_week', DAYS, SHORT)}")),
    Entry("monthname", "name of the month; its first three letters in Spark and Snowflake", forms=(f"duckdb mysql | MONTHNAME(m) := {_name('month', MONTHS, WHOLE)}", f"spark snowflake | MONTHNAME(m) := {_name('month', MONTHS, SHORT)}")),
    Entry("unix_millis", "milliseconds since 1970, downwards", forms=("spark bigquery | UNIX_MILLIS(t) := epoch(t) * 1000 + microsecond(t) DIV 1000",)),
    Entry("unix_date", "days since 1970", forms=("spark bigquery | UNIX_DATE(d) := days_between(d, DATE '1970-01-01')",)),
    Entry("unix_timestamp", "seconds since 1970", forms=(
        "spark | UNIX_TIMESTAMP(t) := epoch(t)", "spark | TO_UNIX_TIMESTAMP(t) := epoch(t)", "spark | UNIX_TIMESTAMP(s, format) := epoch(parse_date(s, format))",
        "spark | TO_UNIX_TIMESTAMP(s, format) := epoch(parse_date(s, format))",
        "mysql | UNIX_TIMESTAMP(t) := epoch(t)", "trino | TO_UNIXTIME(t) := CAST(epoch_us(t) AS DOUBLE) / 1000000e0", "duckdb | EPOCH(t) := CAST(epoch_us(t) AS DOUBLE) / 1000000e0",
        "duckdb | EPOCH_MS(t) := epoch(t) * 1000 + microsecond(t) DIV 1000", "duckdb | EPOCH_NS(t) := epoch_us(t) * 1000",
        )),
    Entry("from_epoch_us", "the timestamp so many microseconds after 1970", ("numeric",), TIMESTAMP, fails=("overflow",), rises=(0,), errors={"postgres": "a value", "spark": "a value"}, forms=(
        "spark bigquery | TIMESTAMP_SECONDS(n) := from_epoch_us(n * CAST(1000000 AS DECIMAL(7, 0)))", "spark bigquery | TIMESTAMP_MILLIS(n) := from_epoch_us(n * CAST(1000 AS DECIMAL(4, 0)))", "spark bigquery | TIMESTAMP_MICROS(n) := from_epoch_us(n)",
        "postgres duckdb | TO_TIMESTAMP(x) := from_epoch_us(x * CAST(1000000 AS DECIMAL(7, 0)))", "duckdb | MAKE_TIMESTAMP(n) := from_epoch_us(n)", "trino | FROM_UNIXTIME(x) := from_epoch_us(x * CAST(1000000 AS DECIMAL(7, 0)))",
        "mysql | FROM_UNIXTIME(x) := from_epoch_us(x * CAST(1000000 AS DECIMAL(7, 0)))", "mysql | FROM_UNIXTIME(n, format) := format_date(from_epoch_us(n * CAST(1000000 AS DECIMAL(7, 0))), format)",
        "spark | FROM_UNIXTIME(n) := format_date(from_epoch_us(n * CAST(1000000 AS DECIMAL(7, 0))), '%Y-%m-%d %H:%M:%S')", "spark | FROM_UNIXTIME(n, format) := format_date(from_epoch_us(n * CAST(1000000 AS DECIMAL(7, 0))), format)")),
    Entry("from_epoch_days", "the date so many days after 1970", ("int",), DATE, fails=("overflow",), rises=(0,), distinct=True, forms=("spark bigquery | DATE_FROM_UNIX_DATE(n)",), spark="date_from_unix_date(CAST(a AS INT))"),
    Entry("microsecond", "microseconds within the second, 0 to 999999", ("moment",), INT, forms=(
        "mysql | MICROSECOND(t)", "trino | MILLISECOND(t) := microsecond(t) DIV 1000", "duckdb | MICROSECOND(t) := second(t) * 1000000 + microsecond(t)", "duckdb | MILLISECOND(t) := second(t) * 1000 + microsecond(t) DIV 1000"),
        spark="CAST(extract(SECOND FROM CAST(a AS TIMESTAMP_NTZ)) * 1000000 AS BIGINT) % 1000000"),
    Entry("boundaries", "how many boundaries of a unit lie between b and a: of years, weeks, hours ..", ("string", "timestamp", "timestamp"), INT, fails=("bad-unit",), blame=(0,), rises=(1,), falls=(2,), forms=(
        "tsql snowflake | DATEDIFF(unit, t, u) := boundaries(unit, u, t)", "tsql | DATEDIFF_BIG(unit, t, u) := boundaries(unit, u, t)", "snowflake | TIMESTAMPDIFF(unit, t, u) := boundaries(unit, u, t)",
        "snowflake | TIMEDIFF(unit, t, u) := boundaries(unit, u, t)", "duckdb | DATE_DIFF('week', t, u) := days_between(u, t) DIV 7", "duckdb | DATEDIFF('week', t, u) := days_between(u, t) DIV 7", "duckdb | DATE_DIFF('unit', t, u) := boundaries(unit, u, t)", "duckdb | DATEDIFF('unit', t, u) := boundaries(unit, u, t)",
        "bigquery | DATE_DIFF(t, u, unit) := boundaries(unit, t, u)", "bigquery | DATETIME_DIFF(t, u, unit) := boundaries(unit, t, u)")),
    Entry("elapsed", "how many whole units from b to a", ("string", "timestamp", "timestamp"), INT, fails=("bad-unit",), blame=(0,), rises=(1,), falls=(2,), differs={"spark": "back to a later hour of a month's last day may be a month less"}, forms=(
        "spark mysql | TIMESTAMPDIFF(unit, t, u) := elapsed(unit, u, t)", "spark | DATEDIFF(unit, t, u) := elapsed(unit, u, t)", "spark | DATE_DIFF(unit, t, u) := elapsed(unit, u, t)",
        "bigquery | TIMESTAMP_DIFF(t, u, unit) := elapsed(unit, t, u)")),
    Entry("elapsed_to_last_day", "how many whole units from b to a; from 31 January to 29 February it is a month", ("string", "timestamp", "timestamp"), INT, fails=("bad-unit",), blame=(0,), rises=(1,), forms=(
        "duckdb | DATE_SUB('unit', t, u) := elapsed_to_last_day(unit, u, t)", "duckdb | DATESUB('unit', t, u) := elapsed_to_last_day(unit, u, t)", "trino | DATE_DIFF('unit', t, u) := elapsed_to_last_day(unit, u, t)")),
    Entry("months_between", "months from b to a: whole ones between equal days or last days, else with days as parts of 31", ("timestamp", "timestamp"), DOUBLE, forms=("spark snowflake | MONTHS_BETWEEN(t, u)",), spark="months_between(a, b)"),
    Entry("next_day", "the next Monday, Tuesday .. after a date", ("moment", "string"), DATE, fails=("out-of-domain", "overflow"), blame=(1,), forms=(
        "spark snowflake | NEXT_DAY(m, s)", "snowflake | PREVIOUS_DAY(m, s) := next_day(add_days(m, -8), s)"), spark="next_day(a, b)"),
    Entry("parse_date", "a text in a format as DATE, or as TIMESTAMP if the format has a time of day", ("string", "string"), _parsed_type, fails=("bad-cast",), errors={"postgres": "a value"}, forms=(
        "postgres spark snowflake | TO_DATE(s, format) := CAST(parse_date(s, format) AS DATE)", "postgres spark snowflake | TO_TIMESTAMP(s, format) := CAST(parse_date(s, format) AS TIMESTAMP)",
        "snowflake | TO_TIMESTAMP_NTZ(s, format) := CAST(parse_date(s, format) AS TIMESTAMP)", "snowflake | DATE(s, format) := CAST(parse_date(s, format) AS DATE)", "spark | TO_TIMESTAMP_NTZ(s, format) := CAST(parse_date(s, format) AS TIMESTAMP)",
        "duckdb | STRPTIME(s, format) := CAST(parse_date(s, format) AS TIMESTAMP)", "trino | DATE_PARSE(s, format) := CAST(parse_date(s, format) AS TIMESTAMP)", "trino | PARSE_DATETIME(s, joda) := CAST(parse_date(s, joda) AS TIMESTAMP)",
        "bigquery | PARSE_DATE(format, s) := CAST(parse_date(s, format) AS DATE)", "bigquery | PARSE_DATETIME(format, s) := CAST(parse_date(s, format) AS TIMESTAMP)", "bigquery | PARSE_TIMESTAMP(format, s) := CAST(parse_date(s, format) AS TIMESTAMP)")),
    Entry("try_parse_date", "the same, NULL if the text has another format", ("string", "string"), _parsed_type, nulls="partial", forms=(
        "mysql | STR_TO_DATE(s, format)", "snowflake spark | TRY_TO_DATE(s, format) := CAST(try_parse_date(s, format) AS DATE)", "snowflake spark | TRY_TO_TIMESTAMP(s, format) := CAST(try_parse_date(s, format) AS TIMESTAMP)",
        "snowflake | TRY_TO_TIMESTAMP_NTZ(s, format) := CAST(try_parse_date(s, format) AS TIMESTAMP)", "duckdb | TRY_STRPTIME(s, format) := CAST(try_parse_date(s, format) AS TIMESTAMP)",
        "bigquery | SAFE.PARSE_DATE(format, s) := CAST(try_parse_date(s, format) AS DATE)", "bigquery | SAFE.PARSE_TIMESTAMP(format, s) := CAST(try_parse_date(s, format) AS TIMESTAMP)", "bigquery | SAFE.PARSE_DATETIME(format, s) := CAST(try_parse_date(s, format) AS TIMESTAMP)")),
    Entry("unix_seconds", "whole seconds since 1970, downwards", forms=("spark bigquery | UNIX_SECONDS(t) := epoch(t)",)),
    Entry("unix_micros", "microseconds since 1970", forms=("spark bigquery | UNIX_MICROS(t) := epoch_us(t)",)),
    Entry("extract", "further parts of dates and timestamps", differs={"postgres": "an error for parts of the time of a DATE"}, forms=(
        "postgres | EXTRACT(MILLISECOND FROM t) := (second(t) * 1000000 + microsecond(t)) * 0.001", "postgres | EXTRACT(MILLISECONDS FROM t) := (second(t) * 1000000 + microsecond(t)) * 0.001",
        "postgres duckdb | EXTRACT(MICROSECOND FROM t) := second(t) * 1000000 + microsecond(t)", "postgres duckdb | EXTRACT(MICROSECONDS FROM t) := second(t) * 1000000 + microsecond(t)",
        "postgres spark | EXTRACT(SECOND FROM t) := second(t) + microsecond(t) * 0.000001",
        "duckdb | EXTRACT(MILLISECOND FROM t) := second(t) * 1000 + microsecond(t) DIV 1000", "duckdb | EXTRACT(MILLISECONDS FROM t) := second(t) * 1000 + microsecond(t) DIV 1000",
        "bigquery tsql snowflake | EXTRACT(MILLISECOND FROM t) := microsecond(t) DIV 1000", "bigquery mysql tsql snowflake | EXTRACT(MICROSECOND FROM t) := microsecond(t)",
        "postgres duckdb | EXTRACT(DECADE FROM m) := year(m) DIV 10", "postgres duckdb | EXTRACT(CENTURY FROM m) := (year(m) - 1) DIV 100 + 1", "postgres duckdb | EXTRACT(MILLENNIUM FROM m) := (year(m) - 1) DIV 1000 + 1",
        "duckdb | EXTRACT(YEARWEEK FROM m) := iso_year(m) * 100 + week(m)", "mysql | EXTRACT(YEAR_MONTH FROM m) := year(m) * 100 + month(m)", "bigquery | EXTRACT(DATE FROM m) := CAST(m AS DATE)",
        "snowflake | EXTRACT(EPOCH_SECOND FROM t) := epoch(t)", "snowflake | EXTRACT(EPOCH_MILLISECOND FROM t) := epoch(t) * 1000 + microsecond(t) DIV 1000", "snowflake | EXTRACT(EPOCH_MICROSECOND FROM t) := epoch_us(t)",
        f"bigquery | EXTRACT(WEEK FROM m) := {SUNDAYS}", f"tsql | EXTRACT(WEEK FROM m) := {SUNDAYS} + 1 - (8 - day_of_week(date_trunc('year', m))) DIV 7")),
    Entry("decade", "decade, century and millennium of a date", forms=("duckdb | DECADE(m) := year(m) DIV 10", "duckdb | CENTURY(m) := (year(m) - 1) DIV 100 + 1", "duckdb | MILLENNIUM(m) := (year(m) - 1) DIV 1000 + 1")),
    Entry("yearweek", "year and week as one number", forms=("duckdb | YEARWEEK(m) := iso_year(m) * 100 + week(m)", "mysql | YEARWEEK(m, 3) := iso_year(m) * 100 + week(m)")),
    Entry("week_of_year", "week of the year by other rules than ISO's", forms=(f"mysql | WEEK(m) := {SUNDAYS}", "mysql | WEEK(m, 3) := week(m)", f"mysql | WEEK(m, 0) := {SUNDAYS}", "trino snowflake | YEAR_OF_WEEK(m) := iso_year(m)", "trino | YOW(m) := iso_year(m)", "snowflake spark | YEAROFWEEK(m) := iso_year(m)", "snowflake | YEAROFWEEKISO(m) := iso_year(m)")),
    Entry("weekday", "day of the week, 0 for Monday", forms=("spark mysql | WEEKDAY(m) := (day_of_week(m) + 5) % 7",)),
    Entry("sunday", "day of the week, 0 for Sunday", forms=("duckdb | WEEKDAY(m) := day_of_week(m) - 1",)),
    Entry("isoyear", "year that the ISO week belongs to", forms=("duckdb | ISOYEAR(m) := iso_year(m)",)),
    Entry("adddate", "so many days later or earlier", forms=("mysql | ADDDATE(m, n) := add_days(m, n)", "mysql | SUBDATE(m, n) := add_days(m, -n)")),
    Entry("julian", "days since 24 November 4714 BC", ("date",), INT, rises=(0,), distinct=True, forms=("postgres | EXTRACT(JULIAN FROM d)", "duckdb | JULIAN(d) := CAST(julian(d) AS DOUBLE)", "duckdb | EXTRACT(JULIAN FROM d) := CAST(julian(d) AS DOUBLE)"), spark="datediff(a, DATE '1970-01-01') + 2440588"),
    Entry("make_date_by_day", "a date by the number of its day in the year", forms=("mysql | MAKEDATE(y, n) := add_days(make_date(y, 1, 1), n - 1)",)),
    Entry("iso8601", "dates and timestamps as ISO 8601 has them", forms=(
        "trino | FROM_ISO8601_DATE(s) := CAST(s AS DATE)", "trino | FROM_ISO8601_TIMESTAMP(s) := CAST(s AS TIMESTAMP)", "trino snowflake spark | TO_TIMESTAMP(s) := CAST(s AS TIMESTAMP)", "spark snowflake | TO_TIMESTAMP_NTZ(m) := CAST(m AS TIMESTAMP)", "TRY_TO_TIMESTAMP(s) := TRY_CAST(s AS TIMESTAMP)",
        "snowflake | TRY_TO_DATE(s) := TRY_CAST(s AS DATE)")),
    Entry("end_of_month", "last day of a period", forms=("tsql | EOMONTH(m) := last_day(m)", "tsql | EOMONTH(m, n) := last_day(add_months(m, n))", "LAST_DAY(m) := last_day(m)", "trino | LAST_DAY_OF_MONTH(m) := last_day(m)",
        "snowflake bigquery | LAST_DAY(m, MONTH) := last_day(m)", "snowflake bigquery | LAST_DAY(m, YEAR) := make_date(year(m), 12, 31)", "snowflake bigquery | LAST_DAY(m, QUARTER) := last_day(add_months(date_trunc('quarter', m), 2))",
        "snowflake | LAST_DAY(m, WEEK) := add_days(CAST(date_trunc('week', m) AS DATE), 6)", "bigquery | LAST_DAY(m, WEEK) := add_days(CAST(date_trunc('week_sunday', m) AS DATE), 6)", "bigquery | LAST_DAY(m, ISOWEEK) := add_days(CAST(date_trunc('week', m) AS DATE), 6)")),
    Entry("add_months_to_last_day", "so many months later; of a last day the last day", forms=(
        "snowflake | ADD_MONTHS(m, n) := CASE WHEN day(m) = day(last_day(m)) THEN add_days(add_months(m, n), day(last_day(add_months(m, n))) - day(add_months(m, n))) ELSE add_months(m, n) END",)),
    Entry("timestamp_from_parts", "a timestamp by its parts", differs={"postgres": "rounds to microseconds"}, forms=("postgres | MAKE_TIMESTAMPTZ(y, mon, dd, hh, mi, x) := make_timestamp(y, mon, dd, hh, mi, x)", "spark | MAKE_TIMESTAMP_NTZ(y, mon, dd, hh, mi, x) := make_timestamp(y, mon, dd, hh, mi, x)",
        "tsql | DATETIMEFROMPARTS(y, mon, dd, hh, mi, n, i) := make_timestamp(y, mon, dd, hh, mi, n + i * 0.001)", "snowflake | TIMESTAMP_NTZ_FROM_PARTS(y, mon, dd, hh, mi, n) := make_timestamp(y, mon, dd, hh, mi, n)",
        "bigquery | DATETIME(y, mon, dd, hh, mi, n) := make_timestamp(y, mon, dd, hh, mi, n)", "bigquery | DATE(y, mon, dd) := make_date(y, mon, dd)")),
    Entry("utc", "a timestamp in UTC is itself, since timestamps have no zone", forms=(
        "postgres | TIMEZONE('UTC', t) := CAST(t AS TIMESTAMP)", "trino | AT_TIMEZONE(t, 'UTC') := CAST(t AS TIMESTAMP)", "mysql | CONVERT_TZ(t, 'UTC', 'UTC') := CAST(t AS TIMESTAMP)",
        "mysql | CONVERT_TZ(t, '+00:00', '+00:00') := CAST(t AS TIMESTAMP)",
        "snowflake | CONVERT_TIMEZONE('UTC', 'UTC', t) := CAST(t AS TIMESTAMP)", "snowflake | CONVERT_TIMEZONE('UTC', t) := CAST(t AS TIMESTAMP)", "tsql | SWITCHOFFSET(t, '+00:00') := CAST(t AS TIMESTAMP)")),
    Entry("add_micros", "a timestamp so many microseconds later", ("timestamp", "int"), TIMESTAMP, fails=("overflow",), rises=(0, 1), distinct=True),
    Entry("year", "year of a date", ("moment",), INT, rises=(0,), forms=("YEAR(m) := ...", "EXTRACT(YEAR FROM m) := ...", "DATE_PART('year', m) := ...",)),
    Entry("quarter", "quarter of a date, 1 to 4", ("moment",), INT, forms=("QUARTER(m) := ...", "EXTRACT(QUARTER FROM m) := ...",)),
    Entry("month", "month of a date", ("moment",), INT, spark="month(a)", forms=("MONTH(m) := ...", "EXTRACT(MONTH FROM m) := ...",)),
    Entry("week", "ISO week of a date, 1 to 53", ("moment",), INT, forms=("postgres spark duckdb mysql tsql snowflake trino generic | WEEK(m) := ...", "WEEKOFYEAR(m) := ...", "EXTRACT(WEEK FROM m) := ...",)),
    Entry("iso_year", "year that the ISO week belongs to", ("moment",), INT, rises=(0,), forms=("EXTRACT(ISOYEAR FROM m) := ...",)),
    Entry("day", "day of a date", ("moment",), INT, forms=("DAY(m) := ...", "DAYOFMONTH(m) := ...", "EXTRACT(DAY FROM m) := ...",)),
    Entry("day_of_week", "day of the week, 1 for Sunday to 7 for Saturday", ("moment",), INT, spark="dayofweek(a)", forms=("DAYOFWEEK(m) := ...", "EXTRACT(DOW FROM m) := ...", "EXTRACT(ISODOW FROM m) := ...", "duckdb generic | ISODOW(m) := ...", "generic | DAYOFWEEK_ISO(m) := ...", "snowflake | DAYOFWEEKISO(m) := ...", "trino | DAY_OF_WEEK(m) := ...", "trino | DOW(m) := ...",)),
    Entry("day_of_year", "day of the year, from 1", ("moment",), INT, forms=("DAYOFYEAR(m) := ...", "EXTRACT(DOY FROM m) := ...",)),
    Entry("hour", "hour of a timestamp", ("moment",), INT, differs={"postgres": "an error for a DATE"}, forms=("HOUR(t) := ...", "EXTRACT(HOUR FROM t) := ...",)),
    Entry("minute", "minute of a timestamp", ("moment",), INT, differs={"postgres": "an error for a DATE"}, forms=("MINUTE(t) := ...", "EXTRACT(MINUTE FROM t) := ...",)),
    Entry("second", "whole second of a timestamp", ("moment",), INT, differs={"postgres": "an error for a DATE"}, forms=("SECOND(t) := ...", "EXTRACT(SECOND FROM t) := ...",)),
    Entry("epoch_us", "microseconds since 1970", ("moment",), INT, rises=(0,), distinct=True, spark="unix_micros(CAST(CAST(a AS TIMESTAMP_NTZ) AS TIMESTAMP))", forms=("EPOCH_US(m)",)),
    Entry("epoch", "whole seconds since 1970, downwards", ("moment",), INT, rises=(0,), spark="unix_seconds(CAST(CAST(a AS TIMESTAMP_NTZ) AS TIMESTAMP))", forms=("EXTRACT(EPOCH FROM m) := ...",)),
    Entry("add_days", "ADD_DAYS(a, days)", ("moment", "int"), first_type, fails=("overflow",), rises=(0, 1), distinct=True, forms=("spark duckdb generic | DATE_ADD(d, n) := ...", "spark duckdb generic | DATE_SUB(d, n) := ...", "duckdb mysql bigquery generic | DATE_ADD(d, INTERVAL '1' DAY) := ...", "tsql snowflake generic | DATEADD(DAY, n, d) := ...",)),
    Entry("add_months", "ADD_MONTHS(a, months)", ("moment", "int"), first_type, fails=("overflow",), rises=(1,)),
    Entry("add_seconds", "ADD_SECONDS(a, seconds)", ("timestamp", "int"), TIMESTAMP, fails=("overflow",), rises=(0, 1), distinct=True, forms=("t + INTERVAL '5' MINUTE := ...", "generic | TIMESTAMP_ADD(t, n, MINUTE) := ...", "generic | DATETIME_ADD(t, n, MINUTE) := ...", "generic | DATETIME_SUB(t, n, MINUTE) := ...", "generic | TIME_ADD(t, n, MINUTE) := ...", "snowflake | TIMEADD(MINUTE, n, t) := ...", "bigquery | DATETIME_ADD(t, INTERVAL n MINUTE) := ...", "bigquery | DATETIME_SUB(t, INTERVAL n MINUTE) := ...", "generic | TIMESTAMP_SUB(t, n, MINUTE) := ...", "bigquery | TIMESTAMP_ADD(t, INTERVAL n MINUTE) := ...", "mysql spark snowflake | TIMESTAMPADD(MINUTE, n, t) := ...",)),
    Entry("last_day", "last day of the month", ("moment",), DATE, rises=(0,), forms=("LAST_DAY(m) := ...",)),
    Entry("days_between", "days from b to a, times of day left aside", ("moment", "moment"), INT, rises=(0,), falls=(1,), forms=(
        "generic mysql spark | DATEDIFF(later, earlier)", "spark | DATE_DIFF(later, earlier)", "generic | DATEDIFF(DAY, earlier, later) := days_between(later, earlier)")),
    Entry("seconds_between", "seconds from b to a, with microseconds", ("timestamp", "timestamp"), SECONDS, rises=(0,), falls=(1,), distinct=True, differs={"spark": "an interval of days, of two dates"}, forms=("t - u := ...",)),
    Entry("date_trunc", "DATE_TRUNC(unit, a)", ("string", "moment"), _second_type, fails=("bad-unit",), blame=(0,), rises=(1,), forms=("postgres spark duckdb mysql tsql snowflake trino generic | DATE_TRUNC('month', m) := ...", "bigquery | DATE_TRUNC(m, MONTH) := ...", "bigquery | DATETIME_TRUNC(t, MONTH) := ...",)),
    Entry("time_bucket", "TIME_BUCKET(a, microseconds, origin): the start of the span that a is in", ("timestamp", "int", "timestamp"), TIMESTAMP, fails=("out-of-domain",), rises=(0,), forms=("duckdb | TIME_BUCKET(INTERVAL '10' MINUTE, t) := ...", "postgres | DATE_BIN('15 minutes', t, TIMESTAMP '2001-01-01') := ...",)),
    Entry("make_date", "MAKE_DATE(year, month, day)", ("int", "int", "int"), DATE, fails=("bad-date",), rises=(0, 1, 2), distinct=True, forms=("MAKE_DATE(y, mon, dd) := ...",)),
    Entry("make_timestamp", "MAKE_TIMESTAMP(year, month, day, hour, minute, second)", ("int", "int", "int", "int", "int", "number"), TIMESTAMP, fails=("bad-date",), rises=(0, 1, 2, 3, 4, 5), distinct=True, differs={"postgres": "rounds to microseconds", "duckdb": "rounds to microseconds"}, forms=("MAKE_TIMESTAMP(y, mon, dd, hh, mi, x) := ...",)),
    Entry("format_date", "a date as text in a format of the dialect", ("moment", "string"), STRING, fails=("bad-format",), blame=(1,), forms=(
        "spark mysql trino | DATE_FORMAT(m, format)", "postgres snowflake spark | TO_CHAR(m, format)", "snowflake spark | TO_VARCHAR(m, format)", "duckdb | STRFTIME(m, format)", "tsql | FORMAT(m, format)",
        "bigquery | FORMAT_DATE(format, m) := format_date(m, format)", "bigquery | FORMAT_DATETIME(format, m) := format_date(m, format)", "bigquery | FORMAT_TIMESTAMP(format, m) := format_date(m, format)",
        "trino | FORMAT_DATETIME(m, joda)", "STRFTIME(m, format)")),
)  # fmt: skip
