"""Dates and timestamps. There are no time zones; weeks begin on Monday."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, number, refusal, text, when
from m3.datatypes import DATE, INT, STRING, TIMESTAMP, decimal

__all__ = [
    "MOMENTS",
    "add_steps",
    "difference",
    "make_date",
    "make_timestamp",
    "micros",
    "part",
    "shift_moment",
    "to_date",
    "truncate_moment",
]

#: Unit -> Spark's unit, and how many of them it is.
UNITS: Mapping[str, tuple[str, int]] = {
    "YEAR": ("MONTH", 12), "QUARTER": ("MONTH", 3), "MONTH": ("MONTH", 1), "WEEK": ("DAY", 7), "DAY": ("DAY", 1),
    "HOUR": ("SECOND", 3600), "MINUTE": ("SECOND", 60), "SECOND": ("SECOND", 1),
}  # fmt: skip
ALIASES = {
    "Y": "YEAR", "YR": "YEAR", "YYYY": "YEAR", "YY": "YEAR", "Q": "QUARTER", "QTR": "QUARTER", "MON": "MONTH",
    "MM": "MONTH", "W": "WEEK", "WK": "WEEK", "D": "DAY", "DD": "DAY", "H": "HOUR", "HR": "HOUR",
    "MI": "MINUTE", "MIN": "MINUTE", "S": "SECOND", "SEC": "SECOND",
}  # fmt: skip
#: Months are added first, then days, then seconds.
ORDER = ("MONTH", "DAY", "SECOND")
#: Part of EXTRACT -> Spark's function; ``isoyear`` and ``epoch`` have none.
PARTS: Mapping[str, str] = {
    "YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "weekofyear", "DAY": "day", "HOUR": "hour",
    "MINUTE": "minute", "SECOND": "second", "DOY": "dayofyear", "DAYOFYEAR": "dayofyear", "DAYOFMONTH": "day",
    "WEEKOFYEAR": "weekofyear", "WEEKISO": "weekofyear", "EPOCH": "epoch", "ISOYEAR": "isoyear", "YEAROFWEEK": "isoyear",
    "YEAROFWEEKISO": "isoyear",
}  # fmt: skip
NAMED_PARTS: Mapping[type[exp.Expr], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Week: "weekofyear", exp.WeekOfYear: "weekofyear",
    exp.Day: "day", exp.DayOfMonth: "day", exp.DayOfYear: "dayofyear", exp.Hour: "hour", exp.Minute: "minute",
    exp.Second: "second",
}  # fmt: skip
WEEK_DAYS = ("DOW", "ISODOW", "DOW_ISO", "DAYOFWEEK", "DAYOFWEEK_ISO")
FORMATS = {"%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": "mm", "%S": "ss", "%%": "%"}
COMPOUND = re.compile(r"\s*([-+]?[0-9]+)\s*([A-Za-z]+)\s*")
#: A difference of timestamps, in seconds.
SPAN = decimal(18, 6)
Steps = dict[str, exp.Expr]


def unit_of(name: str) -> str:
    """``months`` and ``mon`` are MONTH."""
    upper = name.upper().partition("(")[0]
    single = upper if upper in UNITS or upper in ALIASES else upper.removesuffix("S")
    return ALIASES.get(single, single)


def steps_of(reader: Reader, node: exp.Expr | None) -> Steps | None:
    """What an interval adds: Spark's unit -> how many; None if it is no interval."""
    node = node.unnest() if node is not None else None
    match node:
        case exp.Interval():
            amount, unit = node.this, node.args.get("unit")
            if unit is not None:
                return amount_of(reader, amount, unit.name)
            steps: Steps | None = {}
            for count, name in COMPOUND.findall(str(amount.this)):
                steps = _merge_steps(steps or {}, amount_of(reader, exp.Literal.string(count), name))
            return steps
        case exp.Neg():
            return _scale_steps(steps_of(reader, node.this), number(-1))
        case exp.Mul():
            for one, other in (("this", "expression"), ("expression", "this")):
                steps = steps_of(reader, node.args[one])
                if steps is not None:
                    return _scale_steps(steps, as_type(reader.read(node.args[other]), INT))
        case exp.Add() | exp.Sub():
            left, right = steps_of(reader, node.args["this"]), steps_of(reader, node.args["expression"])
            if left is not None and right is not None:
                return _merge_steps(left, right if isinstance(node, exp.Add) else _scale_steps(right, number(-1)) or {})
    return None


def _scale_steps(steps: Steps | None, factor: exp.Expr) -> Steps | None:
    if steps is None:
        return None
    return {
        u: exp.Paren(this=exp.Mul(this=exp.Paren(this=n.copy()), expression=factor.copy())) for u, n in steps.items()
    }


def _merge_steps(left: Steps, right: Steps) -> Steps:
    both = dict(left)
    for unit, amount in right.items():
        both[unit] = exp.Paren(this=exp.Add(this=both[unit], expression=amount)) if unit in both else amount
    return both


def amount_of(reader: Reader, amount: exp.Expr, unit: str) -> Steps:
    """So many of a unit, as a number, a number in quotes, or an INT expression."""
    name = unit_of(unit)
    if name not in UNITS:
        raise refusal(f"an interval of {unit}")
    spark, size = UNITS[name]
    if isinstance(amount, exp.Literal):
        return {spark: number(int(str(amount.this)) * size)}
    return _scale_steps({spark: as_type(reader.read(amount), INT)}, number(size)) or {}


def add_steps(start: Term, steps: Steps) -> Term:
    """A date or timestamp so much later; a date stays one."""
    node, kind = start.node, start.kind
    for unit in ORDER:
        if unit in steps:
            count = exp.Cast(this=steps[unit].copy(), to=exp.DataType.build("INT", dialect="spark"))
            if unit == "SECOND" and kind == "date":
                node, kind = cast(node, TIMESTAMP), "timestamp"
            if kind == "date":
                node = fn("date_add" if unit == "DAY" else "add_months", node, count)
            else:
                node = cast(exp.Anonymous(this="timestampadd", expressions=[exp.var(unit), count, node]), TIMESTAMP)
    return Term(node, DATE if kind == "date" else TIMESTAMP)


def shift_moment(reader: Reader, node: exp.Expr) -> Term | None:
    """``+`` and ``-`` with a date in it; None for sums of numbers."""
    left, right, plus = node.args["this"], node.args["expression"], isinstance(node, exp.Add)
    for start, step in ((left, right), (right, left)) if plus else ((left, right),):
        steps = steps_of(reader, step)
        if steps is not None:
            return add_steps(reader.read(start), steps if plus else _scale_steps(steps, number(-1)) or {})
    a, b = reader.read(left), reader.read(right)
    if plus and (a.kind, b.kind) == ("int", "date"):
        a, b = b, a
    if (a.kind, b.kind) == ("date", "int"):
        return add_steps(a, {"DAY": b.node if plus else exp.Paren(this=exp.Neg(this=exp.Paren(this=b.node)))})
    if not plus and a.kind == b.kind == "date":
        return difference(a, b)
    if not plus and {a.kind, b.kind} <= {"date", "timestamp"}:
        return seconds_between(a, b)
    return None


def difference(later: Term, earlier: Term) -> Term:
    """Days between two moments, times of day left aside."""
    return Term(cast(fn("datediff", as_type(later, DATE), as_type(earlier, DATE)), INT), INT)


def micros(value: Term) -> exp.Expr:
    """Microseconds since 1970."""
    zoned = exp.Cast(this=as_type(value, TIMESTAMP), to=exp.DataType.build("TIMESTAMP", dialect="spark"))
    return fn("unix_micros", zoned)


def seconds_between(later: Term, earlier: Term) -> Term:
    """A difference of timestamps: seconds with microseconds."""
    span = exp.Paren(this=exp.Sub(this=micros(later), expression=micros(earlier)))
    million = cast(exp.Literal.number(1_000_000), decimal(7, 0))
    return Term(cast(exp.Paren(this=exp.Div(this=cast(span, decimal(18, 0)), expression=million)), SPAN), SPAN)


def make_timestamp(*parts: Term) -> Term:
    """MAKE_TIMESTAMP(year, month, day, hour, minute, second); what is below microseconds is cut off."""
    *whole, seconds = parts
    ints = [exp.Cast(this=as_type(p, INT), to=exp.DataType.build("INT", dialect="spark")) for p in whole]
    cut = seconds.node if seconds.kind == "int" else exp.Paren(
        this=exp.Div(this=fn("floor", exp.Mul(this=exp.Paren(this=seconds.node.copy()), expression=exp.Literal.number(1_000_000))), expression=exp.Literal.number(1_000_000))
    )  # fmt: skip
    below = exp.GTE(this=seconds.node.copy(), expression=number(60))
    wrong = cast(fn("raise_error", text("60 seconds or more")), TIMESTAMP)
    return Term(when(below, wrong, fn("make_timestamp_ntz", *ints, cast(cut, decimal(16, 6)))), TIMESTAMP)


def _bucket(reader: Reader, node: exp.Expr) -> Term:
    """TIME_BUCKET and DATE_BIN: spans of one length, by default from Monday 2000-01-03 on."""
    width, origin = node.this, node.args.get("unit") or node.args.get("zone") or node.args.get("origin")
    if isinstance(width, exp.Literal):
        width = exp.Interval(this=width)
    steps = steps_of(reader, width) or {}
    if not steps or "MONTH" in steps:
        raise refusal("spans of months")
    seconds = [exp.Mul(this=n.copy(), expression=number(86400 if u == "DAY" else 1)) for u, n in steps.items()]
    size = exp.Paren(
        this=exp.Mul(
            this=exp.Paren(this=seconds[0] if len(seconds) == 1 else exp.Add(this=seconds[0], expression=seconds[1])),
            expression=number(10**6),
        )
    )
    first = reader.read(origin) if origin is not None else Term(text("2000-01-03"), None)
    start, value = (
        Term(cast(first.node, TIMESTAMP), TIMESTAMP),
        Term(as_type(_moment(reader, node.args["expression"]), TIMESTAMP), TIMESTAMP),
    )
    since = exp.Paren(this=exp.Sub(this=micros(value), expression=micros(start)))
    begun = fn("timestamp_micros", exp.Sub(this=micros(value), expression=fn("pmod", since, size)))
    return Term(cast(begun, TIMESTAMP), TIMESTAMP)


def _moment(reader: Reader, node: exp.Expr) -> Term:
    term = reader.read(node)
    return Term(cast(term.node, DATE), DATE) if term.kind in ("string", "null") else term


def _date_add(reader: Reader, node: exp.Expr) -> Term:
    direction = -1 if isinstance(node, exp.DateSub | exp.TimestampSub) else 1
    step, unit = node.args["expression"], node.args.get("unit")
    steps = steps_of(reader, step)
    if steps is None:
        steps = amount_of(reader, step, unit.name if unit is not None else "DAY")
    start = reader.read(node.this)
    if isinstance(node, exp.TsOrDsAdd) or start.kind == "string":
        start = Term(as_type(start, DATE), DATE)
    return add_steps(start, steps if direction > 0 else _scale_steps(steps, number(-1)) or {})


def _date_diff(reader: Reader, node: exp.Expr) -> Term:
    unit = node.args.get("unit")
    if unit is not None and unit_of(unit.name) != "DAY":
        raise refusal(f"a difference in {unit.name}")
    return difference(_moment(reader, node.this), _moment(reader, node.args["expression"]))


def truncate_moment(_: Reader, value: Term, unit: exp.Expr | None) -> Term:
    """The start of the period that a moment is in; a date's is a date, unless it is shorter than a day."""
    name = unit_of(unit.name) if unit is not None else ""
    if name not in UNITS:
        raise refusal(f"DATE_TRUNC to {unit.sql() if unit is not None else 'nothing'}")
    to = TIMESTAMP if value.kind == "timestamp" or name in ("HOUR", "MINUTE", "SECOND") else DATE
    return Term(cast(fn("date_trunc", text(name), as_type(value, TIMESTAMP)), to), to)


def _extract(reader: Reader, node: exp.Expr) -> Term:
    name, value = node.this.name.upper(), _moment(reader, node.args["expression"])
    return value if name == "EPOCH" and value.kind == "decimal" else part(reader, name, value)


def part(reader: Reader, name: str, value: Term) -> Term:
    """``EXTRACT(name FROM value)``."""
    if name in WEEK_DAYS:
        return _day_of_week(reader, value, "ISO" if "ISO" in name else name)
    function = PARTS.get(name) or PARTS.get(unit_of(name))
    if function is None:
        raise refusal(f"EXTRACT({name})")
    return _part_of(function, value)


def _part_of(function: str, value: Term) -> Term:
    if function == "epoch":
        zoned = exp.Cast(this=as_type(value, TIMESTAMP), to=exp.DataType.build("TIMESTAMP", dialect="spark"))
        return Term(fn("unix_seconds", zoned), INT)
    if function == "isoyear":
        return Term(cast(fn("date_part", text("YEAROFWEEK"), value.node), INT), INT)
    if function in ("hour", "minute", "second"):
        return Term(cast(fn(function, as_type(value, TIMESTAMP)), INT), INT)
    return Term(cast(fn(function, value.node), INT), INT)


def _day_of_week(reader: Reader, value: Term, name: str) -> Term:
    """Spark counts from 1 for Sunday; DOW elsewhere from 0, DAYOFWEEK too in DuckDB; ISO from 1 for Monday."""
    sunday = cast(fn("dayofweek", value.node), INT)
    if name == "ISO":
        return Term(cast(exp.Add(this=fn("weekday", value.node), expression=number(1)), INT), INT)
    from_one = reader.dialect in ("spark", "databricks") or (name == "DAYOFWEEK" and reader.dialect != "duckdb")
    return Term(sunday if from_one else exp.Paren(this=exp.Sub(this=sunday, expression=number(1))), INT)


def to_date(reader: Reader, node: exp.Expr) -> Term:
    """A text, date or timestamp as DATE."""
    return Term(cast(reader.read(node).node, DATE), DATE)


def _format_moment(reader: Reader, node: exp.Expr) -> Term:
    inner = node.this.this if isinstance(node.this, exp.TimeStrToTime) else node.this
    pattern = str(node.args["format"].this).replace("strict", "")
    spark = re.sub(r"%.|[^%]+", lambda m: FORMATS.get(m[0], m[0]), pattern)
    return Term(fn("date_format", cast(reader.read(inner).node, TIMESTAMP), text(spark)), STRING)


def make_date(*parts: Term) -> Term:
    """MAKE_DATE(year, month, day)."""
    as_ints = [exp.Cast(this=as_type(p, INT), to=exp.DataType.build("INT", dialect="spark")) for p in parts]
    return Term(fn("make_date", *as_ints), DATE)


MOMENTS: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(NAMED_PARTS, lambda reader, node: _part_of(NAMED_PARTS[type(node)], _moment(reader, node.this))),
    **dict.fromkeys((exp.DateAdd, exp.DateSub, exp.TsOrDsAdd, exp.TimestampAdd, exp.TimestampSub), _date_add),
    **dict.fromkeys((exp.DateDiff, exp.TimestampDiff, exp.TsOrDsDiff), _date_diff),
    **dict.fromkeys(
        (exp.DateTrunc, exp.TimestampTrunc),
        lambda reader, node: truncate_moment(reader, _moment(reader, node.this), node.args.get("unit")),
    ),
    **dict.fromkeys((exp.TsOrDsToDate, exp.StrToDate, exp.Date), lambda reader, node: to_date(reader, node.this)),
    **dict.fromkeys(
        (exp.Timestamp, exp.TimeStrToTime),
        lambda reader, node: Term(cast(reader.read(node.this).node, TIMESTAMP), TIMESTAMP),
    ),
    exp.DayOfWeek: lambda reader, node: _day_of_week(reader, _moment(reader, node.this), "DAYOFWEEK"),
    exp.DayOfWeekIso: lambda reader, node: _day_of_week(reader, _moment(reader, node.this), "ISO"),
    exp.LastDay: lambda reader, node: Term(fn("last_day", _moment(reader, node.this).node), DATE),
    exp.TimestampFromParts: lambda reader, node: make_timestamp(
        *(reader.read(node.args[n]) for n in ("year", "month", "day", "hour", "min", "sec"))
    ),
    exp.DateBin: _bucket,
    exp.Extract: _extract,
    exp.AddMonths: lambda reader, node: add_steps(
        _moment(reader, node.this), {"MONTH": as_type(reader.read(node.args["expression"]), INT)}
    ),
    exp.TimeToStr: _format_moment,
    exp.DateFromParts: lambda reader, node: make_date(*(reader.read(node.args[n]) for n in ("year", "month", "day"))),
}
