"""Where a database's function may be something else than here: the rows that what the dictionary says of it (``differs``, ``errors``) is about."""

from __future__ import annotations

import datetime
import json
import math
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from m3.dictionary import Entry

__all__ = ["FAILED", "WHERE", "is_listed"]

#: What a database answers where it has an error, and here where a row has one.
FAILED = "(error)"
#: Asks of the values of a form's placeholders, of the form, and of both answers.
Where = Callable[[Mapping[str, Any], str, Any, Any], bool]


def _fails_there(_: Mapping[str, Any], __: str, ours: Any, theirs: Any) -> bool:
    return bool(theirs == FAILED)


def _has(*characters: str) -> Where:
    return lambda row, *_: any(c in str(v) for v in row.values() for c in characters)


def _has_accents(row: Mapping[str, Any], *_: Any) -> bool:
    return any(unicodedata.combining(c) for v in row.values() for c in str(v))


def _is_odd_text(row: Mapping[str, Any], *_: Any) -> bool:
    return any(not str(v).isascii() for v in row.values())


def _is_nan(row: Mapping[str, Any], *_: Any) -> bool:
    return any(isinstance(v, float) and math.isnan(v) for v in row.values())


def _is_near(row: Mapping[str, Any], form: str, ours: Any, theirs: Any) -> bool:
    """A number that is rounded elsewhere."""
    return (
        FAILED not in (ours, theirs)
        and None not in (ours, theirs)
        and math.isclose(float(ours), float(theirs), rel_tol=1e-5, abs_tol=1e-5)
    )


def _decimals(value: Any) -> int:
    """How many digits a DECIMAL has behind the point, zeros at the end aside."""
    return -int(value.normalize().as_tuple().exponent) if isinstance(value, Decimal) else 0


def _is_odd_width(row: Mapping[str, Any]) -> bool:
    """Numbers that PostgreSQL rounds in between."""
    return any(
        (isinstance(v, float) and 0 < abs(v) < 1e-30) or _decimals(v) > 2 or (v is not None and abs(v) > 1e15)
        for v in row.values()
    )


def _has_long_seconds(row: Mapping[str, Any], *_: Any) -> bool:
    return _decimals(row["x"]) > 6


def _is_text_of(row: Mapping[str, Any], _: str, ours: Any, theirs: Any) -> bool:
    """Another text for the same DOUBLE or timestamp."""
    value = row.get("v")
    if isinstance(value, float):
        return isinstance(theirs, str) and (float(theirs) == float(ours) or theirs.lower() == ours)
    return isinstance(theirs, str) and theirs.startswith(str(ours)[:19]) and len(str(ours)) > 19


def _of_multiplied(row: Mapping[str, Any], form: str, ours: Any, theirs: Any) -> bool:
    return theirs == FAILED or _is_near(row, form, ours, theirs)


def _of_power(row: Mapping[str, Any], form: str, ours: Any, theirs: Any) -> bool:
    """PostgreSQL's NUMERIC of two exact numbers has 16 digits, and it does not round to 0."""
    if any(isinstance(v, float) for v in row.values()):
        return theirs == FAILED and (ours == 0 or row["f"] == -math.inf)
    digits = isinstance(theirs, Decimal) and -int(theirs.as_tuple().exponent)
    return (theirs == FAILED and ours == 0) or (
        digits is not False
        and isinstance(ours, float)
        and abs(ours - float(theirs)) <= max(10.0**-digits, abs(ours) * 1e-11)
    )


def _is_json_of(row: Mapping[str, Any], form: str, ours: Any, theirs: Any) -> bool:
    """A text that is read as the database's value."""
    try:
        return isinstance(ours, str) and bool(json.loads(ours) == theirs)
    except ValueError:
        return False


#: Row of the dictionary and database -> where it differs.
WHERE: Mapping[tuple[str, str], Where] = {
    ("upper", "postgres"): _has("ß"), ("upper", "duckdb"): _has("ß"), ("lower", "postgres"): _has("İ"), ("lower", "duckdb"): _has("İ"),
    ("reverse", "duckdb"): _has_accents, ("levenshtein", "duckdb"): _is_odd_text, ("jaro", "duckdb"): _is_odd_text, ("jaro_winkler", "duckdb"): _is_odd_text,
    ("hamming", "duckdb"): lambda row, form, ours, theirs: _is_odd_text(row) or ours == 0, ("initcap", "postgres"): _has("ß"), ("initcap", "spark"): _has("ß"),
    ("lpad", "duckdb"): lambda row, *_: row["fill"] == "", ("rpad", "duckdb"): lambda row, *_: row["fill"] == "",
    ("split_part", "duckdb"): lambda row, *_: row["delimiter"] == "", ("json_text", "duckdb"): _has("1.50"), ("json_value", "duckdb"): _has("1.50"), ("json_value", "postgres"): _is_json_of,
    ("sign", "postgres"): _is_nan, ("sign", "duckdb"): _is_nan, ("mod", "duckdb"): lambda row, form, ours, theirs: theirs == FAILED and row["z"] == -1,
    ("make_timestamp", "postgres"): _has_long_seconds, ("make_timestamp", "duckdb"): _has_long_seconds, ("timestamp_from_parts", "postgres"): _has_long_seconds,
    ("cast", "postgres"): _is_text_of, ("cast", "duckdb"): _is_text_of, ("round_even", "duckdb"): lambda row, *_: row["x"] == -(2**63), ("plus", "duckdb"): _of_multiplied,
    ("width_bucket", "postgres"): lambda row, form, ours, theirs: _is_odd_width(row) and FAILED not in (ours, theirs) and None not in (ours, theirs) and abs(ours - theirs) <= 1,
    ("power", "duckdb"): lambda row, form, ours, theirs: row["f"] == 0 and ours == FAILED, ("power", "spark"): lambda row, form, ours, theirs: (abs(row["f"]) == 1 and math.isinf(row["g"])) or (row["f"] == 0 and ours == FAILED),
    ("pmod", "spark"): lambda row, *_: row["x"] < 0 and row["z"] in (-math.inf, -(2**63)), ("abs", "spark"): _fails_there, ("negative", "spark"): _fails_there, ("factorial", "spark"): lambda row, form, ours, theirs: theirs == FAILED and abs(row["n"]) >= 2**31,
    ("safe_divide", "spark"): lambda row, form, ours, theirs: isinstance(theirs, float) and abs(theirs - float(ours)) < 1e-9, ("cast", "spark"): _is_text_of,
    ("seconds_between", "spark"): lambda row, form, ours, theirs: isinstance(theirs, datetime.timedelta) and theirs.days == ours,
    ("width_bucket", "spark"): lambda row, form, ours, theirs: row["n"] == 2**63 - 1 or (theirs == -(2**63) and isinstance(row["x"], float)),
    ("elapsed", "spark"): lambda row, form, ours, theirs: abs(ours - theirs) == 1 and any((m + datetime.timedelta(days=1)).day == 1 for m in (row["t"], row["u"])), ("chr", "spark"): lambda row, *_: row["n"] > 255 or row["n"] < 1,
    ("power", "postgres"): _of_power, ("exp", "postgres"): lambda row, form, ours, theirs: theirs == FAILED and ours == 0, ("radians", "postgres"): lambda row, form, ours, theirs: theirs == FAILED and ours == 0,
    ("try_cast", "duckdb"): _has("."), ("try_cast", "spark"): _has("."),
    **{(name, "postgres"): _fails_there for name in ("hour", "minute", "second", "extract")},
}  # fmt: skip


#: A text that is a date and more.
LONG = "2024-01-31 10:11:12"
#: The same for what has a value there and is an error here; of others all rows may.
ERRORS_WHERE: Mapping[tuple[str, str], Where] = {
    ("parse_date", "postgres"): lambda row, *_: row.get("s") in ("12", LONG),
}


def is_listed(entry: Entry, dialect: str, row: Mapping[str, Any], form: str, ours: Any, theirs: Any) -> bool:
    """Whether a row of the dictionary says that a database may differ so."""
    if ours == FAILED:
        # What has no end comes of what has none: an error here where the database is infinite too would be ours.
        where = ERRORS_WHERE.get((entry.name, dialect))
        if where is not None and not where(row, form, ours, theirs):
            return False
        given = {_say(v) for v in row.values()} & {"NaN", "infinity"}
        if _say(theirs) in entry.errors.get(dialect, "").split(", ") and _say(theirs) not in given:
            return True
    where = WHERE.get((entry.name, dialect))
    return (
        where is not None and (dialect in entry.differs or dialect in entry.errors) and where(row, form, ours, theirs)
    )


def _say(value: Any) -> str:
    """What a database has in place of an error, as the dictionary's rows say it."""
    if value is None:
        return "NULL"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "infinity"
    return "a value"
