"""Calendar arithmetic on constants."""

from __future__ import annotations

import calendar
import datetime

__all__ = ["shifted"]


def shifted(start: datetime.date, amount: int, unit: str) -> datetime.date:
    """``start`` moved by ``amount`` units; a day that the month lacks becomes its last (31 January + 1 month).

    Args:
        start: a date or a timestamp, whose kind is kept.
        amount: how many units, negative for earlier.
        unit: DAY, WEEK, MONTH or YEAR, singular or plural.

    Raises:
        ValueError: the unit is not known, or the result is out of the calendar.
    """
    unit = unit.removesuffix("S")
    if unit in ("DAY", "WEEK"):
        return start + datetime.timedelta(days=amount * (7 if unit == "WEEK" else 1))
    if unit not in ("MONTH", "YEAR"):
        raise ValueError(f"unknown unit {unit}")
    months = start.year * 12 + start.month - 1 + amount * (12 if unit == "YEAR" else 1)
    year, month = divmod(months, 12)
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    return start.replace(year=year, month=month + 1, day=day)
