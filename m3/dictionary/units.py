"""Units of time, as dialects write them: ``mm``, ``MONTHS`` and ``'mon'`` are one unit, and a week begins where the dialect has it begin.

>>> name_unit("mons"), unit_of("WEEK", "bigquery"), unit_of("ISOWEEK", "bigquery")
('MONTH', 'week_sunday', 'week')
"""

from __future__ import annotations

from collections.abc import Mapping

from m3.errors import ProgramError

__all__ = ["DAYS", "MICROS", "WEEKS", "name_unit", "unit_of"]

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
#: Unit of a fixed length -> microseconds.
MICROS: Mapping[str, int] = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": 86_400_000_000, "week": 604_800_000_000,
}  # fmt: skip
#: Unit -> the day on which its weeks begin, counted from 0 for Monday.
WEEKS: Mapping[str, int] = {"week": 0, **{f"week_{name}": i for i, name in enumerate(DAYS) if i}}
#: Dialects whose weeks begin on Sunday; T-SQL's as DATEFIRST is set in the United States.
SUNDAYS = ("bigquery", "tsql")
NAMES = (
    "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "MILLENNIUM",
    "ISOYEAR",
)  # fmt: skip
ALIASES: Mapping[str, str] = {
    "Y": "YEAR", "YR": "YEAR", "YYYY": "YEAR", "YYY": "YEAR", "YY": "YEAR", "Q": "QUARTER", "QTR": "QUARTER", "QQ": "QUARTER", "MON": "MONTH",
    "MM": "MONTH", "MONS": "MONTH", "W": "WEEK", "WK": "WEEK", "WW": "WEEK", "D": "DAY", "DD": "DAY", "DAYOFMONTH": "DAY", "H": "HOUR",
    "HR": "HOUR", "HH": "HOUR", "MI": "MINUTE", "MIN": "MINUTE", "N": "MINUTE", "S": "SECOND", "SEC": "SECOND", "MS": "MILLISECOND",
    "MSEC": "MILLISECOND", "US": "MICROSECOND", "USEC": "MICROSECOND", "MCS": "MICROSECOND", "SQL_TSI_DAY": "DAY",
    "CENTURIES": "CENTURY", "MILLENNIA": "MILLENNIUM", "MIL": "MILLENNIUM", "DEC": "DECADE", "CENT": "CENTURY",
}  # fmt: skip
ISO_WEEKS = ("ISOWEEK", "ISO_WEEK", "WEEKISO", "WEEK_ISO", "ISOWK", "ISOWW")


def name_unit(text: str) -> str:
    """A unit as it is named here; an unknown one stays as it is."""
    upper = text.upper().partition("(")[0]
    if upper in NAMES or upper in ALIASES:
        return ALIASES.get(upper, upper)
    single = upper.removesuffix("S")
    return ALIASES.get(single, single)


def unit_of(written: str, dialect: str | None) -> str:
    """The unit that is written: a name of :data:`MICROS`, ``month``, ``quarter``, ``year`` and longer, ``iso_year``, or one of :data:`WEEKS`.

    Args:
        written: ``month``, ``WEEK(MONDAY)``.
        dialect: sqlglot's name of the dialect, which says when weeks begin.

    Raises:
        ProgramError: there is no such unit.
    """
    name, _, day = written.rstrip(")").lower().partition("(")
    if day in DAYS and name in ("week", "w"):
        return "week" if day == "monday" else f"week_{day}"
    if name.upper() in ISO_WEEKS:
        return "week"
    name = name_unit(name)
    if name == "WEEK":
        return "week_sunday" if dialect in SUNDAYS else "week"
    if name not in NAMES:
        raise ProgramError(f"unknown unit {written}", kind="bad-unit", hint=f"one of {', '.join(NAMES)}")
    if dialect == "duckdb" and name in ("CENTURY", "MILLENNIUM"):
        raise ProgramError(f"{written}, which DuckDB counts from the year 0", kind="bad-unit", hint="YEAR or DECADE")
    return {"ISOYEAR": "iso_year"}.get(name, name.lower())
