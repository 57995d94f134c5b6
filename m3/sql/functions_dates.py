"""Functions of dates and timestamps in SQL, in the spellings of PostgreSQL, Spark and DuckDB."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from decimal import Decimal

from sqlglot import exp

from m3.algebra.temporal import make_now
from m3.datatypes import DATE, DOUBLE, TIMESTAMP, Type
from m3.dictionary.forms import expand_by_name, spell_unit
from m3.dictionary.units import MICROS, name_unit
from m3.scalars import Const, Scalar, const
from m3.sql.expressions import ExpressionReader, Handler, refuse_form

__all__ = [
    "DATES",
    "NOWS",
    "Steps",
    "read_interval",
    "read_interval_seconds",
    "read_now",
    "read_steps",
    "shift_date",
    "truncate_date",
]


#: Part of EXTRACT -> operation. DOW is not among them: databases count it differently.
PARTS: Mapping[str, str] = {
    "YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "week", "DAY": "day", "HOUR": "hour",
    "MINUTE": "minute", "SECOND": "second", "EPOCH": "epoch", "DOY": "day_of_year", "DAYOFYEAR": "day_of_year",
    "DAYOFWEEK": "day_of_week", "DAYOFMONTH": "day", "ISOYEAR": "iso_year", "WEEKOFYEAR": "week",
    "YEAROFWEEK": "iso_year", "WEEKISO": "week", "YEAROFWEEKISO": "iso_year", "ISOWEEK": "week", "ISO_WEEK": "week",
}  # fmt: skip
NAMED_PARTS: Mapping[type[exp.Expr], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Week: "week", exp.WeekOfYear: "week",
    exp.Day: "day", exp.DayOfMonth: "day", exp.DayOfYear: "day_of_year", exp.Hour: "hour", exp.Minute: "minute",
    exp.Second: "second",
}  # fmt: skip
TRUNCATED = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
#: Dialects whose seconds since 1970 have a fraction.
FRACTIONS = ("postgres", "duckdb")
UTC = ("UTC", "GMT", "Z", "ETC/UTC", "+00:00", "+0:00")
NO_ZONES = "timestamps have no zone here, and none can be changed: deliver them in UTC, with the local time in a column of its own"
#: Where spans begin if nothing else is said: where DuckDB's TIME_BUCKET has them begin.
MONDAY = datetime.datetime(2000, 1, 3)


def shift_date(reader: ExpressionReader, node: exp.Expr, direction: int) -> Scalar | None:
    """``date + interval``, ``interval + date`` or ``date - interval``; None if there is no interval.

    Args:
        reader: of the parts.
        node: the sum.
        direction: 1 for ``+``, -1 for ``-``.
    """
    start, steps = node.args["this"], read_interval(reader, node.args["expression"])
    if steps is None and direction > 0:
        start, steps = node.args["expression"], read_interval(reader, node.args["this"])
    if steps is None:
        return None
    value = reader.read(start)
    if value.type.kind == "decimal":  # a difference of timestamps: seconds
        seconds = read_interval_seconds(
            reader, node.args["expression"] if start is node.args["this"] else node.args["this"]
        )
        assert seconds is not None
        return reader.call(node, "add" if direction > 0 else "sub", value, seconds)
    return _add_steps(reader, node, value, steps, direction)


def _add_steps(reader: ExpressionReader, node: exp.Expr, start: Scalar, steps: Steps, direction: int) -> Scalar:
    for op, amount in steps.items():
        if direction < 0:
            literal = amount.value if isinstance(amount, Const) else None
            amount = const(-literal) if isinstance(literal, int) else reader.call(node, "neg", amount)
        start = reader.call(node, op, start, amount)
    return start


def _read_date_add(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """DATE_ADD and its like: a number counts units, days if none are given; an interval is added as it is."""
    direction = -1 if isinstance(node, exp.DateSub | exp.TimestampSub | exp.DatetimeSub) else 1
    step, unit = node.args["expression"], node.args.get("unit")
    if (
        isinstance(node.this, exp.Literal)
        and node.this.args.get("is_string")
        and name_unit(node.this.name) in TRUNCATED
    ):
        reader.source.fail(node, "a unit in the first place", "interval", "date + INTERVAL 'n' unit")
    steps = read_interval(reader, step)
    if steps is not None and unit is not None:
        reader.source.fail(node, "an interval with a unit beside it", "wrong-arity", "date + INTERVAL 'n' unit")
    if steps is None:
        steps = read_steps(reader, node, step, unit if unit is not None else exp.var("DAY"))
    start = reader.read(node.this)
    if isinstance(node, exp.TsOrDsAdd) or start.type.kind == "string":
        start = reader.cast(node, start, DATE)
    return _add_steps(reader, node, start, steps, direction)


def _read_moment(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    scalar = reader.read(node)
    return reader.cast(node, scalar, DATE) if scalar.type.kind == "string" else scalar


def truncate_date(reader: ExpressionReader, node: exp.Expr, value: Scalar, unit: exp.Expr | None) -> Scalar:
    """DATE_TRUNC and TRUNC: the start of the period that a moment is in, as a value of the same type."""
    if not isinstance(unit, exp.Literal | exp.Var | exp.WeekStart | exp.Week | exp.Column | exp.Anonymous):
        hint = f"DATE_TRUNC('month', date); units: {', '.join(TRUNCATED)}"
        reader.source.fail(node, "a date truncated to something else", "unsupported-expression", hint)
    with reader.source.guard(node):
        name = spell_unit(unit, reader.dialect).name
    if value.type.kind == "date" and name in MICROS and MICROS[name] < MICROS["day"]:
        value = reader.cast(node, value, TIMESTAMP)
    return reader.call(node, "date_trunc", const(name), value)


def _read_extract(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    part, value = node.this.name.upper(), node.args["expression"]
    if part in ("DOW", "ISODOW", "DOW_ISO", "DAYOFWEEK_ISO", "DAYOFWEEKISO", "WEEKDAY", "DW"):
        return _compute_day_of_week(reader, node, value, "ISO" if "ISO" in part else part)
    if not isinstance(node.this, exp.Var):  # DATE_PART('month', d) may be among the forms of EXTRACT
        meaning = expand_by_name(exp.Extract(this=exp.var(part), expression=value), reader.dialect)
        if meaning is not None:
            return reader.read(meaning)
    name = part if part in PARTS else name_unit(part)
    if name not in PARTS:
        hint = f"one of {', '.join([*PARTS, 'DOW', 'ISODOW'])}"
        reader.source.fail(node, f"EXTRACT({part})", "unsupported-expression", hint)
    if name == "DAYOFWEEK":
        return _compute_day_of_week(reader, node, value, name)
    if name == "EPOCH":
        return _read_epoch(reader, node, value)
    return reader.call(node, PARTS[name], _read_moment(reader, value))


def _read_part(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    if node.args.get("mode") is not None:
        reader.source.fail(
            node, "WEEK by other rules", "unsupported-expression", "EXTRACT(WEEK FROM date); WEEK(date, 3) in MySQL"
        )
    return reader.call(node, NAMED_PARTS[type(node)], _read_moment(reader, node.this))


def _read_epoch(reader: ExpressionReader, node: exp.Expr, value: exp.Expr) -> Scalar:
    """Seconds since 1970: with a fraction in PostgreSQL and, as DOUBLE, in DuckDB."""
    span = reader.read(value)
    if span.type.kind == "decimal":
        return span  # a difference of timestamps is in seconds already
    if reader.dialect not in FRACTIONS:
        return reader.call(node, "epoch", _read_moment(reader, value))
    micros = reader.call(node, "epoch_us", _read_moment(reader, value))
    if reader.dialect == "duckdb":
        return reader.call(node, "div", reader.cast(node, micros, DOUBLE), const(1e6))
    return reader.call(node, "mul", micros, const(Decimal("0.000001")))


def _compute_day_of_week(reader: ExpressionReader, node: exp.Expr, value: exp.Expr, part: str) -> Scalar:
    """DOW counts from 0 for Sunday, DAYOFWEEK from 1; Spark counts both from 1, and DuckDB both from 0."""
    sunday = reader.call(node, "day_of_week", _read_moment(reader, value))
    if part == "ISO":
        shifted = reader.call(node, "add", sunday, const(5))
        return reader.call(node, "add", reader.call(node, "mod", shifted, const(7)), const(1))
    from_one = reader.dialect in ("spark", "databricks") or (
        part not in ("DOW", "WEEKDAY") and reader.dialect != "duckdb"
    )
    from_one = from_one or (part == "WEEKDAY" and reader.dialect == "tsql")
    return sunday if from_one else reader.call(node, "sub", sunday, const(1))


def _read_as(to: Type) -> Handler:
    """TO_DATE and its like without a format; with one they are in the dictionary."""

    def read(reader: ExpressionReader, node: exp.Expr) -> Scalar:
        if node.args.get("format") is not None:
            return reader.read_in_dictionary(node)
        default = node.args.get("default_date")  # T-SQL's YEAR(0) is of that date; numbers are no dates here
        if default is not None and (reader.dialect != "tsql" or default.name != "1900-01-01"):
            reader.source.fail(node, "a date with a default", "unsupported-expression", "COALESCE(date, default)")
        if node.expressions:
            reader.source.fail(
                node, f"{reader.source.name(node)} of several parts", "wrong-arity", "MAKE_DATE(year, month, day)"
            )
        return reader.cast(node, reader.read(node.this), to)

    return read


def _read_zone(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """A timestamp in UTC is itself: none has a zone."""
    found = reader.find_in_dictionary(node)
    if found is not None:
        return found(reader, node)
    zone = node.args.get("zone")
    if not isinstance(zone, exp.Literal) or zone.name.upper() not in UTC:
        reader.source.fail(node, "a time zone other than 'UTC'", "time-zone", NO_ZONES)
    return reader.cast(node, reader.read(node.this), TIMESTAMP)


def _read_timestamp_from_parts(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    names = ("year", "month", "day", "hour", "min", "sec")
    if not all(node.args.get(n) for n in names) or len([v for v in node.args.values() if v]) > len(names):
        found = reader.find_in_dictionary(node)
        if found is not None:
            return found(reader, node)
        hint = "MAKE_TIMESTAMP(year, month, day, hour, minute, second)"
        reader.source.fail(node, "this form of MAKE_TIMESTAMP", "unsupported-expression", hint)
    return reader.call(node, "make_timestamp", *(reader.read(node.args[n]) for n in names))


def _read_bucket(reader: ExpressionReader, node: exp.Expr) -> Scalar:
    """TIME_BUCKET and DATE_BIN: spans of an interval, by default from a Monday on, as in DuckDB."""
    width, origin = node.this, node.args.get("unit") or node.args.get("zone") or node.args.get("origin")
    if isinstance(width, exp.Literal) and width.is_string:
        width = exp.Interval(this=width)
    seconds = read_interval_seconds(reader, width)
    if seconds is None:
        reader.source.fail(node, "spans that are no interval", "interval", "TIME_BUCKET(INTERVAL '10' MINUTE, at)")
    start = reader.read(origin) if origin is not None else const(MONDAY)
    if start.type.kind == "string":
        start = reader.cast(node, start, TIMESTAMP)
    micros = reader.call(node, "mul", seconds, const(1_000_000))
    return reader.call(node, "time_bucket", _read_moment(reader, node.args["expression"]), micros, start)


#: What now is called where sqlglot does not know it, and its type.
NOWS: Mapping[str, Type] = {
    **dict.fromkeys(("now", "getdate", "sysdate", "sysdatetime", "transaction_timestamp", "statement_timestamp"), TIMESTAMP),
    **dict.fromkeys(("localtimestamp", "current_datetime"), TIMESTAMP),
    **dict.fromkeys(("today", "curdate"), DATE),
}  # fmt: skip


def read_now(reader: ExpressionReader, node: exp.Expr, kind: Type = TIMESTAMP) -> Scalar:
    """Now, or the day that it is; what is compared with it is decided later (:mod:`m3.algebra.temporal`)."""
    if node.this and not isinstance(node, exp.Anonymous):
        hint = "now() or current_date; there are no time zones, and now has microseconds"
        reader.source.fail(node, "now with an argument", "now", hint)
    now = make_now(reader.source.span(node))
    return now if kind == TIMESTAMP else reader.call(node, "cast", now, to=kind)


DATES: Mapping[type[exp.Expr], Handler] = {
    **dict.fromkeys((exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.UtcTimestamp), read_now),
    exp.CurrentDate: lambda reader, node: read_now(reader, node, DATE),
    **dict.fromkeys(NAMED_PARTS, _read_part),
    exp.DayOfWeek: lambda reader, node: _compute_day_of_week(reader, node, node.this, "DAYOFWEEK"),
    exp.DayOfWeekIso: lambda reader, node: _compute_day_of_week(reader, node, node.this, "ISO"),
    exp.Extract: _read_extract,
    **dict.fromkeys(
        (
            exp.DateAdd,
            exp.DateSub,
            exp.TsOrDsAdd,
            exp.TimestampAdd,
            exp.TimestampSub,
            exp.DatetimeAdd,
            exp.DatetimeSub,
            exp.TimeAdd,
        ),
        _read_date_add,
    ),
    exp.AddMonths: lambda reader, node: reader.call(
        node, "add_months", reader.read(node.this), reader.read(node.args["expression"])
    ),
    **dict.fromkeys(
        (exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc),
        lambda reader, node: truncate_date(reader, node, _read_moment(reader, node.this), node.args.get("unit")),
    ),
    **dict.fromkeys((exp.TsOrDsToDate, exp.Date), _read_as(DATE)),
    **dict.fromkeys(
        (exp.Timestamp, exp.TimeStrToTime, exp.TsOrDsToTimestamp, exp.TsOrDsToDatetime), _read_as(TIMESTAMP)
    ),
    exp.DateFromParts: lambda reader, node: reader.call(
        node, "make_date", *(reader.read(node.args.get(n)) for n in ("year", "month", "day"))
    ),
    exp.DateBin: _read_bucket,
    exp.AtTimeZone: _read_zone,
    exp.FromTimeZone: _read_zone,
    exp.ConvertTimezone: _read_zone,
    exp.TimestampFromParts: _read_timestamp_from_parts,
    exp.Interval: refuse_form(
        "an interval on its own", "add it to a date, or compare it with a difference", "interval"
    ),
}


# Intervals of SQL: what is added to a date, as steps of months, days and seconds.


#: Operation that shifts a date -> by how much. Applied in this order, as PostgreSQL and Spark do.
Steps = Mapping[str, Scalar]

ORDER = ("add_months", "add_days", "add_seconds", "add_micros")
#: Unit -> the operation, and how many of its units it is.
UNITS: Mapping[str, tuple[str, int]] = {
    "YEAR": ("add_months", 12), "QUARTER": ("add_months", 3), "MONTH": ("add_months", 1), "WEEK": ("add_days", 7),
    "DAY": ("add_days", 1), "HOUR": ("add_seconds", 3600), "MINUTE": ("add_seconds", 60), "SECOND": ("add_seconds", 1),
    "MILLISECOND": ("add_micros", 1000), "MICROSECOND": ("add_micros", 1),
}  # fmt: skip
#: Step -> seconds of one of its units.
SECONDS = {"add_days": const(86_400), "add_seconds": const(1), "add_micros": const(Decimal("0.000001"))}
HINT = (
    "e.g. INTERVAL '90' DAY or INTERVAL '1 year 2 months'; units: YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, SECOND, "
    "MILLISECOND, MICROSECOND"
)
PART = re.compile(r"\s*([-+]?[0-9]+)\s*([A-Za-z]+)\s*")


def read_interval(reader: ExpressionReader, node: exp.Expr) -> Steps | None:
    """The steps of an interval expression; None if ``node`` is something else.

    Raises:
        CompileError: an interval that is not understood.
    """
    node = node.unnest()
    if isinstance(node, exp.Interval):
        return _read_literal(reader, node)
    if isinstance(node, exp.Cast) and node.args["to"].this == exp.DType.INTERVAL and isinstance(node.this, exp.Literal):
        return _read_literal(reader, exp.Interval(this=node.this))
    if isinstance(node, exp.Cast) and isinstance(node.args["to"].this, exp.Interval):
        return _read_literal(reader, exp.Interval(this=node.this, unit=node.args["to"].this.args.get("unit")))
    if isinstance(node, exp.Neg):
        return _scale_steps(reader, node, read_interval(reader, node.this), const(-1))
    if isinstance(node, exp.Mul):
        for one, other in (("this", "expression"), ("expression", "this")):
            steps = read_interval(reader, node.args[one])
            if steps is not None:
                return _scale_steps(reader, node, steps, reader.read(node.args[other]))
        return None
    if isinstance(node, exp.Add | exp.Sub):
        left = read_interval(reader, node.args["this"])
        right = read_interval(reader, node.args["expression"]) if left is not None else None
        if left is not None and right is not None:
            sign = const(1 if isinstance(node, exp.Add) else -1)
            return _merge_steps(reader, node, left, _scale_steps(reader, node, right, sign) or {})
    return None


def read_interval_seconds(reader: ExpressionReader, node: exp.Expr) -> Scalar | None:
    """An interval as a number of seconds, to be compared with a difference of timestamps; None for everything else.

    Raises:
        CompileError: an interval with months, whose lengths differ.
    """
    steps = read_interval(reader, node)
    if steps is None:
        return None
    if "add_months" in steps:
        reader.source.fail(node, "an interval with months", "interval", "months differ in length: compare with days")
    amounts = [_multiply(reader, node, a, SECONDS[op]) for op, a in steps.items()]
    total = amounts[0]
    for amount in amounts[1:]:
        total = reader.call(node, "add", total, amount)
    return total


def _scale_steps(reader: ExpressionReader, node: exp.Expr, steps: Steps | None, factor: Scalar) -> Steps | None:
    if steps is None:
        return None
    if factor.type.kind != "int":
        reader.source.fail(node, f"an interval times {factor.type}", "interval", "an integer number of units")
    return {op: _multiply(reader, node, factor, amount) for op, amount in steps.items()}


def _multiply(reader: ExpressionReader, node: exp.Expr, a: Scalar, b: Scalar) -> Scalar:
    return b if a == const(1) else a if b == const(1) else reader.call(node, "mul", a, b)


def _merge_steps(reader: ExpressionReader, node: exp.Expr, left: Steps, right: Steps) -> Steps:
    result = dict(left)
    for op, amount in right.items():
        result[op] = reader.call(node, "add", result[op], amount) if op in result else amount
    return {op: result[op] for op in ORDER if op in result}


def _read_literal(reader: ExpressionReader, node: exp.Expr) -> Steps:
    unit, amount = node.args.get("unit"), node.this
    if unit is None and isinstance(amount, exp.Literal):
        return _read_compound(reader, node, str(amount.this))
    if isinstance(unit, exp.IntervalSpan) and isinstance(amount, exp.Literal):
        return _read_span(reader, node, str(amount.this), unit)
    if unit is None or amount is None or isinstance(unit, exp.IntervalSpan):
        reader.source.fail(node, "an interval that is not INTERVAL 'n' unit", "interval", HINT)
    return read_steps(reader, node, amount, unit)


def read_steps(reader: ExpressionReader, node: exp.Expr, amount: exp.Expr, unit: exp.Expr) -> Steps:
    """The step of an amount (a literal, in quotes or not, or an integer expression) of a unit."""
    name = name_unit(unit.name)
    if name not in UNITS:
        reader.source.fail(node, f"bad interval: unknown unit {unit.name}", "interval", HINT)
    op, size = UNITS[name]
    if isinstance(amount, exp.Literal):
        if not re.fullmatch(r"\s*[-+]?[0-9]+\s*", str(amount.this)):
            reader.source.fail(node, f"bad interval: {amount.this} is not a whole number", "interval", HINT)
        return {op: const(int(amount.this) * size)}
    scalar = reader.read(amount)
    if scalar.type.kind != "int":
        reader.source.fail(node, f"an interval of {scalar.type} units", "interval", "an integer number of units")
    return {op: _multiply(reader, node, scalar, const(size))}


#: What INTERVAL '..' <unit> TO <unit> is written like: '1-6' years to months, '3 12:30:45.5' days to seconds.
SPANS: Mapping[tuple[str, str], re.Pattern[str]] = {
    ("YEAR", "MONTH"): re.compile(r"(?P<sign>[-+]?)(?P<year>[0-9]{1,5})-(?P<month>[0-9]|1[01])"),
    ("DAY", "SECOND"): re.compile(r"(?P<sign>[-+]?)(?P<day>[0-9]{1,7}) (?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2}):(?P<second>[0-9]{1,2})(\.(?P<microsecond>[0-9]{1,6}))?"),
    ("DAY", "MINUTE"): re.compile(r"(?P<sign>[-+]?)(?P<day>[0-9]{1,7}) (?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"),
    ("HOUR", "SECOND"): re.compile(r"(?P<sign>[-+]?)(?P<hour>[0-9]{1,5}):(?P<minute>[0-9]{1,2}):(?P<second>[0-9]{1,2})(\.(?P<microsecond>[0-9]{1,6}))?"),
}  # fmt: skip


def _read_span(reader: ExpressionReader, node: exp.Expr, text: str, unit: exp.IntervalSpan) -> Steps:
    """``INTERVAL '1-6' YEAR TO MONTH``."""
    pattern = SPANS.get((unit.this.name.upper(), unit.expression.name.upper()))
    found = pattern.fullmatch(text.strip()) if pattern is not None else None
    if found is None:
        reader.source.fail(node, "an interval that is not INTERVAL 'n' unit", "interval", HINT)
    parts = {name: value for name, value in found.groupdict().items() if value and name != "sign"}
    parts |= {"microsecond": parts["microsecond"].ljust(6, "0")} if "microsecond" in parts else {}
    steps: Steps = {}
    for name, value in parts.items():
        steps = _merge_steps(
            reader, node, steps, read_steps(reader, node, exp.Literal.string(found["sign"] + value), exp.var(name))
        )
    return steps


def _read_compound(reader: ExpressionReader, node: exp.Expr, text: str) -> Steps:
    """``1 year 2 months``."""
    parts = PART.findall(text)
    if not parts or PART.sub("", text):
        reader.source.fail(node, f"bad interval: {text!r}", "interval", HINT)
    steps: Steps = {}
    for number, unit in parts:
        part = read_steps(reader, node, exp.Literal.string(number), exp.var(unit))
        steps = _merge_steps(reader, node, steps, part)
    return steps
