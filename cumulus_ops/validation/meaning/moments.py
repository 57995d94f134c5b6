"""Dates and timestamps. There are no time zones; weeks begin on Monday."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from cumulus_ops.validation.meaning.reader import Reader, Rule
from cumulus_ops.validation.meaning.terms import Term, as_type, cast, fn, literal, number, refusal, text, when
from m3.datatypes import DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.dictionary.formats import Code, has_time, split_format
from m3.dictionary.forms import expand, expand_by_name, spell_unit
from m3.dictionary.units import MICROS, WEEKS, name_unit

__all__ = [
    "MOMENTS",
    "OPERATIONS",
    "add_steps",
    "difference",
    "make_date",
    "make_timestamp",
    "micros",
    "now_of",
    "part",
    "shift_moment",
    "to_date",
    "truncate_moment",
]

#: Unit -> Spark's unit, and how many of them it is.
UNITS: Mapping[str, tuple[str, int]] = {
    "YEAR": ("MONTH", 12), "QUARTER": ("MONTH", 3), "MONTH": ("MONTH", 1), "WEEK": ("DAY", 7), "DAY": ("DAY", 1),
    "HOUR": ("SECOND", 3600), "MINUTE": ("SECOND", 60), "SECOND": ("SECOND", 1),
    "MILLISECOND": ("MICROSECOND", 1000), "MICROSECOND": ("MICROSECOND", 1),
}  # fmt: skip
#: Months are added first, then days, then seconds.
ORDER = ("MONTH", "DAY", "SECOND", "MICROSECOND")
#: Part of EXTRACT -> Spark's function; ``isoyear`` and ``epoch`` have none.
PARTS: Mapping[str, str] = {
    "YEAR": "year", "QUARTER": "quarter", "MONTH": "month", "WEEK": "weekofyear", "DAY": "day", "HOUR": "hour",
    "MINUTE": "minute", "SECOND": "second", "DOY": "dayofyear", "DAYOFYEAR": "dayofyear", "DAYOFMONTH": "day",
    "WEEKOFYEAR": "weekofyear", "WEEKISO": "weekofyear", "EPOCH": "epoch", "ISOYEAR": "isoyear", "YEAROFWEEK": "isoyear",
    "YEAROFWEEKISO": "isoyear", "ISOWEEK": "weekofyear", "ISO_WEEK": "weekofyear",
}  # fmt: skip
NAMED_PARTS: Mapping[type[exp.Expr], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Week: "weekofyear", exp.WeekOfYear: "weekofyear",
    exp.Day: "day", exp.DayOfMonth: "day", exp.DayOfYear: "dayofyear", exp.Hour: "hour", exp.Minute: "minute",
    exp.Second: "second",
}  # fmt: skip
WEEK_DAYS = ("DOW", "ISODOW", "DOW_ISO", "DAYOFWEEK", "DAYOFWEEK_ISO", "DAYOFWEEKISO", "WEEKDAY", "DW")
#: Unit -> microseconds of one.
SIZES: Mapping[str, int] = {
    "MONTH": 0, "DAY": 86_400_000_000, "SECOND": 1_000_000, "MICROSECOND": 1,
}  # fmt: skip
#: Letter of a format -> Spark's pattern; those without zeros in front; fractions are ``S``.
FORMATS: Mapping[str, str] = {
    "Y": "yyyy", "y": "yy", "m": "MM", "d": "dd", "H": "HH", "I": "hh", "M": "mm", "S": "ss", "p": "a", "j": "DDD", "a": "EEE",
    "A": "EEEE", "b": "MMM", "B": "MMMM", "q": "q",
}  # fmt: skip
COMPOUND = re.compile(r"\s*([-+]?[0-9]+)\s*([A-Za-z]+)\s*")
#: A difference of timestamps, in seconds.
SPAN = decimal(18, 6)
Steps = dict[str, exp.Expr]


def steps_of(reader: Reader, node: exp.Expr | None) -> Steps | None:
    """What an interval adds: Spark's unit -> how many; None if it is no interval."""
    node = node.unnest() if node is not None else None
    match node:
        case exp.Interval():
            amount, unit = node.this, node.args.get("unit")
            if isinstance(unit, exp.IntervalSpan):
                return _steps_between(str(amount.this), unit)
            if unit is not None:
                return amount_of(reader, amount, unit.name)
            steps: Steps | None = {}
            for count, name in COMPOUND.findall(str(amount.this)):
                steps = _merge_steps(steps or {}, amount_of(reader, exp.Literal.string(count), name))
            return steps
        case exp.Cast() if node.to.this == exp.DType.INTERVAL and isinstance(node.this, exp.Literal):
            return steps_of(reader, exp.Interval(this=node.this))
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


def _steps_between(written: str, unit: exp.IntervalSpan) -> Steps:
    """``INTERVAL '1-6' YEAR TO MONTH``, ``INTERVAL '3 12:30:45.5' DAY TO SECOND``: the numbers from the left."""
    numbers = [Fraction(part) for part in re.findall(r"[0-9.]+", written)]
    sizes = {
        "YEAR": 12,
        "MONTH": 1,
        "DAY": 86_400_000_000,
        "HOUR": 3_600_000_000,
        "MINUTE": 60_000_000,
        "SECOND": 1_000_000,
    }
    names = list(sizes)[list(sizes).index(unit.this.name.upper()) :]
    whole = sum((n * sizes[name] for n, name in zip(numbers, names, strict=False)), Fraction(0))
    kind = "MONTH" if unit.this.name.upper() == "YEAR" else "MICROSECOND"
    return {kind: number(int(whole) * (-1 if written.strip().startswith("-") else 1))}


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
    name = name_unit(unit)
    if name not in UNITS:
        raise refusal(f"an interval of {unit}")
    spark, size = UNITS[name]
    if isinstance(amount, exp.Literal):
        return {spark: number(int(str(amount.this)) * size)}
    return _scale_steps({spark: as_type(reader.read(amount), INT)}, number(size)) or {}


def now_of(reader: Reader, kind: Type = TIMESTAMP) -> Term:
    """now(), or the day that it is: a literal, which the snapshot has recorded."""
    now = reader.options.now
    literal: exp.Expr = exp.Null() if now is None else text(now.isoformat(" ", "microseconds"))
    moment = cast(literal, TIMESTAMP)
    return Term(moment if kind == TIMESTAMP else cast(moment, kind), kind.with_null(now is None))


def add_steps(start: Term, steps: Steps) -> Term:
    """A date or timestamp so much later; a date stays one."""
    node, kind = start.node, start.kind
    for unit in ORDER:
        if unit in steps:
            count = exp.Cast(this=steps[unit].copy(), to=exp.DataType.build("INT", dialect="spark"))
            if unit in ("SECOND", "MICROSECOND") and kind == "date":
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
            begun = reader.read(start)
            if begun.kind == "decimal":  # a difference of timestamps: seconds
                return None
            return add_steps(begun, steps if plus else _scale_steps(steps, number(-1)) or {})
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
    amounts: list[exp.Expr] = [
        exp.Mul(this=exp.Paren(this=n.copy()), expression=number(SIZES[u])) for u, n in steps.items()
    ]
    size = exp.Paren(this=reduce(lambda a, b: exp.Add(this=a, expression=b), amounts))
    first = reader.read(origin) if origin is not None else Term(text("2000-01-03"), None)
    start, value = (
        Term(cast(first.node, TIMESTAMP), TIMESTAMP),
        Term(as_type(_moment(reader, node.args["expression"]), TIMESTAMP), TIMESTAMP),
    )
    since = exp.Paren(this=exp.Sub(this=micros(value), expression=micros(start)))
    begun = fn("timestamp_micros", exp.Sub(this=micros(value), expression=fn("pmod", since, size)))
    return Term(cast(begun, TIMESTAMP), TIMESTAMP)


def literal_of(amount: exp.Expr) -> int:
    """How many of a unit an interval has, where that is written out."""
    amount = amount.unnest()
    if isinstance(amount, exp.Add):
        return literal_of(amount.this) + literal_of(amount.expression)
    sign, count = (-1, amount.this) if isinstance(amount, exp.Neg) else (1, amount)
    if not isinstance(count, exp.Literal):
        raise refusal("an interval that is not constant")
    return sign * int(str(count.this).rstrip("L"))


def _seconds(reader: Reader, node: exp.Expr) -> Term:
    """An interval beside a difference of timestamps: its seconds."""
    total = 0
    for unit, amount in (steps_of(reader, node) or {}).items():
        if unit == "MONTH":
            raise refusal("an interval of months beside a difference")
        total += literal_of(amount) * SIZES[unit]
    if total % 1_000_000:
        exact = decimal(18, 6)
        return Term(cast(text(str(Decimal(total).scaleb(-6))), exact), exact)
    return literal(total // 1_000_000)


def _moment(reader: Reader, node: exp.Expr) -> Term:
    term = reader.read(node)
    return Term(cast(term.node, DATE), DATE) if term.kind in ("string", "null") else term


def _date_add(reader: Reader, node: exp.Expr) -> Term:
    direction = -1 if isinstance(node, exp.DateSub | exp.TimestampSub | exp.DatetimeSub) else 1
    step, unit = node.args["expression"], node.args.get("unit")
    steps = steps_of(reader, step)
    if steps is None:
        steps = amount_of(reader, step, unit.name if unit is not None else "DAY")
    start = reader.read(node.this)
    if isinstance(node, exp.TsOrDsAdd) or start.kind == "string":
        start = Term(as_type(start, DATE), DATE)
    return add_steps(start, steps if direction > 0 else _scale_steps(steps, number(-1)) or {})


def truncate_moment(reader: Reader, value: Term, unit: exp.Expr | None) -> Term:
    """The start of the period that a moment is in; a date's is a date, unless it is shorter than a day."""
    if unit is None:
        raise refusal("DATE_TRUNC to nothing")
    return _truncate(spell_unit(unit, reader.dialect).name, value)


def _truncate(name: str, value: Term) -> Term:
    """Spark's DATE_TRUNC knows weeks from Monday, and no unit longer than a year."""
    to = TIMESTAMP if value.kind == "timestamp" or MICROS.get(name, MICROS["day"]) < MICROS["day"] else DATE
    stamp = as_type(value, TIMESTAMP)
    if name in WEEKS and name != "week":
        moved = _shift("DAY", number(-WEEKS[name]), stamp)
        return Term(cast(_shift("DAY", number(WEEKS[name]), fn("date_trunc", text("WEEK"), moved)), to), to)
    if name == "iso_year":
        year = fn("date_part", text("YEAROFWEEK"), stamp)
        return Term(
            cast(fn("date_trunc", text("WEEK"), cast(fn("make_date", year, number32(1), number32(4)), TIMESTAMP)), to),
            to,
        )
    if name in YEARS:
        count, first = YEARS[name]
        year = fn("year", stamp)
        rest = fn("pmod", exp.Sub(this=year, expression=number32(first)), number32(count))
        return Term(cast(fn("make_date", exp.Sub(this=year.copy(), expression=rest), number32(1), number32(1)), to), to)
    return Term(cast(fn("date_trunc", text(name), stamp), to), to)


#: Unit -> how many years it is, and what is left over of its first.
YEARS: Mapping[str, tuple[int, int]] = {"decade": (10, 0), "century": (100, 1), "millennium": (1000, 1)}


def number32(value: int) -> exp.Expr:
    """A 32-bit integer literal, as Spark's functions of dates take them."""
    return exp.Literal.number(value)


def _shift(unit: str, count: exp.Expr, stamp: exp.Expr) -> exp.Expr:
    amount = exp.Cast(this=count.copy(), to=exp.DataType.build("INT", dialect="spark"))
    return cast(exp.Anonymous(this="timestampadd", expressions=[exp.var(unit), amount, stamp.copy()]), TIMESTAMP)


# Operations of the dictionary that Spark has under no name of its own.


def _unit_and_moments(reader: Reader, node: exp.Expr) -> tuple[str, Term, Term]:
    unit, later, earlier = node.expressions
    return unit.name, *(Term(as_type(reader.read(n), TIMESTAMP), TIMESTAMP) for n in (later, earlier))  # type: ignore[return-value]


def _boundaries(reader: Reader, node: exp.Expr) -> Term:
    """The difference of the numbers of the periods that two moments are in."""
    name, *moments = _unit_and_moments(reader, node)
    later, earlier = (_number_of_period(name, m) for m in moments)
    return Term(cast(exp.Paren(this=exp.Sub(this=later, expression=earlier)), INT), INT)


def _number_of_period(name: str, moment: Term) -> exp.Expr:
    def part_times(function: str, factor: int) -> exp.Expr:
        return exp.Mul(this=fn(function, moment.node), expression=number(factor))

    if name in YEARS:
        first = exp.Paren(this=exp.Sub(this=fn("year", moment.node), expression=number(YEARS[name][1])))
        return exp.IntDiv(this=first, expression=number(YEARS[name][0]))
    if name in ("year", "iso_year"):
        return fn("year", moment.node) if name == "year" else fn("date_part", text("YEAROFWEEK"), moment.node)
    if name in ("quarter", "month"):
        return exp.Paren(
            this=exp.Add(this=part_times("year", 4 if name == "quarter" else 12), expression=fn(name, moment.node))
        )
    begun = micros(_truncate(name, moment))
    return exp.IntDiv(
        this=exp.Paren(this=exp.Sub(this=begun, expression=number(0))),
        expression=number(MICROS["week" if name in WEEKS else name]),
    )


def _elapsed(reader: Reader, node: exp.Expr) -> Term:
    """Spark's TIMESTAMPDIFF counts whole units."""
    name, later, earlier = _unit_and_moments(reader, node)
    if name in YEARS:
        raise refusal(f"elapsed units of {name}")
    found = exp.Anonymous(this="timestampdiff", expressions=[exp.var(name.upper()), earlier.node, later.node])
    return Term(cast(found, INT), INT)


MONTHS_OF = {"year": 12, "quarter": 3, "month": 1}


def _elapsed_to_last_day(reader: Reader, node: exp.Expr) -> Term:
    """A month is over when so many months after the first moment, or the last day of that month, are not after the second."""
    name, later, earlier = _unit_and_moments(reader, node)
    if name not in MONTHS_OF:
        return _elapsed(reader, node)

    def months(end: Term, begin: Term) -> exp.Expr:
        between = exp.Paren(
            this=exp.Sub(this=_number_of_period("month", end), expression=_number_of_period("month", begin))
        )
        over = exp.LTE(this=_shift("MONTH", between, begin.node), expression=end.node.copy())
        whole = exp.Paren(this=exp.Sub(this=between, expression=when(over, number(0), number(1))))
        return exp.IntDiv(this=whole, expression=number(MONTHS_OF[name]))

    forwards = exp.GTE(this=later.node, expression=earlier.node)
    result = when(forwards, months(later, earlier), exp.Neg(this=exp.Paren(this=months(earlier, later))))
    return Term(cast(exp.Paren(this=result), INT), INT)


def _format_moment(reader: Reader, node: exp.Expr) -> Term:
    """Each part of a format by Spark's DATE_FORMAT, and all of them as one text."""
    value, written = node.expressions
    stamp = cast(reader.read(value).node, TIMESTAMP)
    pieces = [_format_part(stamp, part) for part in split_format(written.name)] or [text("")]
    known = exp.Is(this=stamp.copy(), expression=exp.Null())
    return Term(when(known, cast(exp.Null(), STRING), fn("concat", *pieces)), STRING)


def _format_part(stamp: exp.Expr, part: Code) -> exp.Expr:
    if not part.letter or part.letter == "t":
        return text(part.text or " ")
    if part.letter == "f":
        return fn("left", fn("date_format", stamp, text("SSSSSS")), number32(int(part.width or 6)))
    if part.letter in FORMATS:
        piece = fn("date_format", stamp, text(FORMATS[part.letter]))
    else:
        days = {"G": _part_of("isoyear", Term(stamp, TIMESTAMP)).node, "V": fn("weekofyear", stamp)}
        days["u"] = exp.Add(this=fn("weekday", stamp), expression=number32(1))
        days["w"] = exp.Sub(this=fn("dayofweek", stamp), expression=number32(1))
        days["e"] = fn("dayofweek", stamp)
        piece = cast(days[part.letter], STRING)
        if part.letter in "GV":
            piece = fn("lpad", piece, number32(4 if part.letter == "G" else 2), text("0"))
    if "-" in part.modifiers:
        piece = cast(cast(piece, INT), STRING)
    if "~" in part.modifiers:
        piece = fn("lpad", cast(cast(piece, INT), STRING), number32(2), text(" "))
    piece = fn("upper", piece) if "^" in part.modifiers or part.letter == "p" else piece
    piece = fn("lower", piece) if "_" in part.modifiers else piece
    return fn("rpad", piece, number32(9), text(" ")) if "+" in part.modifiers else piece


def _parse_moment(reader: Reader, node: exp.Expr, name: str) -> Term:
    value, written = node.expressions
    to = TIMESTAMP if has_time(written.name) else DATE
    return Term(reader.exactly(name, to, reader.read(value).node, text(written.name)), to)


def _read_part_of(function: str) -> Callable[[Reader, exp.Expr], Term]:
    return lambda reader, node: _part_of(function, _moment(reader, node.expressions[0]))


#: Operation -> its meaning, of those that are not asked for by one expression of Spark's.
OPERATIONS: Mapping[str, Callable[[Reader, exp.Expr], Term]] = {
    "boundaries": _boundaries,
    "elapsed": _elapsed,
    "elapsed_to_last_day": _elapsed_to_last_day,
    "format_date": _format_moment,
    "parse_date": lambda reader, node: _parse_moment(reader, node, "parse_date"),
    "try_parse_date": lambda reader, node: _parse_moment(reader, node, "try_parse_date"),
    "date_trunc": lambda reader, node: _truncate(node.expressions[0].name, _moment(reader, node.expressions[1])),
    "add_days": lambda reader, node: add_steps(
        _moment(reader, node.expressions[0]), {"DAY": as_type(reader.read(node.expressions[1]), INT)}
    ),
    "add_months": lambda reader, node: add_steps(
        _moment(reader, node.expressions[0]), {"MONTH": as_type(reader.read(node.expressions[1]), INT)}
    ),
    "days_between": lambda reader, node: difference(*(_moment(reader, n) for n in node.expressions)),
    "make_date": lambda reader, node: make_date(*map(reader.read, node.expressions)),
    "make_timestamp": lambda reader, node: make_timestamp(*map(reader.read, node.expressions)),
    "last_day": lambda reader, node: Term(fn("last_day", _moment(reader, node.expressions[0]).node), DATE),
    **{
        name: _read_part_of(function)
        for name, function in (
            ("year", "year"),
            ("quarter", "quarter"),
            ("month", "month"),
            ("week", "weekofyear"),
            ("day", "day"),
            ("day_of_week", "dayofweek"),
            ("day_of_year", "dayofyear"),
            ("hour", "hour"),
            ("minute", "minute"),
            ("second", "second"),
            ("epoch", "epoch"),
        )
    },
    "from_epoch_us": lambda reader, node: _from_micros(reader.read(node.expressions[0])),
    "iso_year": lambda reader, node: _part_of("isoyear", _moment(reader, node.expressions[0])),
}


def _from_micros(count: Term) -> Term:
    """Microseconds since 1970, to the nearest, and of two to the even one."""
    whole = (
        count.node
        if count.kind == "int"
        else cast(fn("bround", count.node, number32(0)), decimal(38, 0))
        if count.kind == "decimal"
        else fn("rint", count.node)
    )
    return Term(cast(fn("timestamp_micros", cast(whole, INT)), TIMESTAMP), TIMESTAMP)


def _extract(reader: Reader, node: exp.Expr) -> Term:
    name = node.this.name.upper()
    if not isinstance(node.this, exp.Var):
        meaning = expand_by_name(exp.Extract(this=exp.var(name), expression=node.args["expression"]), reader.dialect)
        if meaning is not None:
            return reader.read(meaning)
    value = _moment(reader, node.args["expression"])
    if name != "EPOCH" or value.kind != "decimal":
        return part(reader, name, value)
    return value


def part(reader: Reader, name: str, value: Term) -> Term:
    """``EXTRACT(name FROM value)``."""
    if name in WEEK_DAYS:
        return _day_of_week(reader, value, "ISO" if "ISO" in name else name)
    if name == "EPOCH" and reader.dialect == "postgres":
        counted = exp.Mul(this=cast(micros(value), decimal(20, 0)), expression=cast(text("0.000001"), decimal(6, 6)))
        return Term(cast(exp.Paren(this=counted), decimal(27, 6)), decimal(27, 6))
    if name == "EPOCH" and reader.dialect == "duckdb":
        return Term(
            exp.Paren(this=exp.Div(this=cast(micros(value), DOUBLE), expression=cast(text("1e6"), DOUBLE))), DOUBLE
        )
    function = PARTS.get(name) or PARTS.get(name_unit(name))
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
    from_one = reader.dialect in ("spark", "databricks") or (
        name not in ("DOW", "WEEKDAY") and reader.dialect != "duckdb"
    )
    from_one = from_one or (name == "WEEKDAY" and reader.dialect == "tsql")
    return Term(sunday if from_one else exp.Paren(this=exp.Sub(this=sunday, expression=number(1))), INT)


def to_date(reader: Reader, node: exp.Expr) -> Term:
    """A text, date or timestamp as DATE."""
    return Term(cast(reader.read(node).node, DATE), DATE)


PARTS_OF_TIMESTAMP = ("year", "month", "day", "hour", "min", "sec")


def _timestamp_from_parts(reader: Reader, node: exp.Expr) -> Term:
    """Six parts; forms with more are in the dictionary."""
    if any(value is not None and name not in PARTS_OF_TIMESTAMP for name, value in node.args.items()):
        meaning = expand(node, reader.dialect)
        if meaning is None:
            raise refusal("this form of MAKE_TIMESTAMP")
        return reader.read(meaning)
    return make_timestamp(*(reader.read(node.args[n]) for n in PARTS_OF_TIMESTAMP))


def _cast_to(reader: Reader, node: exp.Expr, to: Type) -> Term:
    """A text, date or timestamp as DATE or TIMESTAMP; those with a format are in the dictionary."""
    if node.args.get("format") is None:
        return Term(cast(reader.read(node.this).node, to), to)
    meaning = expand(node, reader.dialect)
    if meaning is None:
        raise refusal(f"{node.key.upper()} with a format")
    return reader.read(meaning)


def make_date(*parts: Term) -> Term:
    """MAKE_DATE(year, month, day)."""
    as_ints = [exp.Cast(this=as_type(p, INT), to=exp.DataType.build("INT", dialect="spark")) for p in parts]
    return Term(fn("make_date", *as_ints), DATE)


MOMENTS: Mapping[type[exp.Expr], Rule] = {
    **dict.fromkeys(
        (exp.CurrentTimestamp, exp.CurrentDatetime, exp.Localtimestamp, exp.UtcTimestamp),
        lambda reader, _: now_of(reader),
    ),
    exp.CurrentDate: lambda reader, _: now_of(reader, DATE),
    **dict.fromkeys(NAMED_PARTS, lambda reader, node: _part_of(NAMED_PARTS[type(node)], _moment(reader, node.this))),
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
        _date_add,
    ),
    **dict.fromkeys(
        (exp.DateTrunc, exp.TimestampTrunc, exp.DatetimeTrunc),
        lambda reader, node: truncate_moment(reader, _moment(reader, node.this), node.args.get("unit")),
    ),
    **dict.fromkeys((exp.TsOrDsToDate, exp.Date), lambda reader, node: _cast_to(reader, node, DATE)),
    **dict.fromkeys(
        (exp.Timestamp, exp.TimeStrToTime, exp.TsOrDsToTimestamp, exp.TsOrDsToDatetime),
        lambda reader, node: _cast_to(reader, node, TIMESTAMP),
    ),
    exp.DayOfWeek: lambda reader, node: _day_of_week(reader, _moment(reader, node.this), "DAYOFWEEK"),
    exp.DayOfWeekIso: lambda reader, node: _day_of_week(reader, _moment(reader, node.this), "ISO"),
    exp.LastDay: lambda reader, node: Term(fn("last_day", _moment(reader, node.this).node), DATE),
    exp.TimestampFromParts: _timestamp_from_parts,
    exp.DateBin: _bucket,
    exp.Extract: _extract,
    exp.AddMonths: lambda reader, node: add_steps(
        _moment(reader, node.this), {"MONTH": as_type(reader.read(node.args["expression"]), INT)}
    ),
    exp.Interval: _seconds,
    exp.AtTimeZone: lambda reader, node: Term(cast(reader.read(node.this).node, TIMESTAMP), TIMESTAMP),
    exp.FromTimeZone: lambda reader, node: Term(cast(reader.read(node.this).node, TIMESTAMP), TIMESTAMP),
    exp.DateFromParts: lambda reader, node: make_date(*(reader.read(node.args[n]) for n in ("year", "month", "day"))),
}
