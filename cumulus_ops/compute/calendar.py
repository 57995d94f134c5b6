"""The calendar over whole columns: days of years, months and days."""

from __future__ import annotations

import numpy as np

__all__ = ["DAY_US", "civil_days", "months_days"]

#: Microseconds of a day.
DAY_US = 86_400_000_000
#: Days of the months of a year that is no leap year.
MONTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def civil_days(parts: list[np.ndarray]) -> np.ndarray | None:
    """Days since 1970 of years, months and days; None where one is no date.

    Years are counted from March, so that the leap day is the last one.
    """
    year, month, day = parts
    if not ((year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1)).all():
        return None
    leap = (month == 2) & (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    if not (day <= MONTHS[month - 1] + leap).all():
        return None
    year = year - (month <= 2)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + of_year - 719_468


def months_days(months: np.ndarray) -> np.ndarray:
    """How many days months have, counted from January 1970."""
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return following - first
