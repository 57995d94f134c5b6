"""What Spark's own functions do not compute: exact decimals of any length, and a few functions of text and numbers.

Each is an Arrow function over Python values, made for its result's type. A query names those that it needs
(:class:`Needed`), and :func:`register` makes them known to a session.

Values inside of texts that hold JSON, as the texts that ``->>`` gives.

>>> at_path('{"a": [1.50, {"b": true}]}', '["a", 0]'), at_path('{"a": [1.50, {"b": true}]}', '["a", 1]')
('1.50', '{"b":true}')

Statistics of pairs of numbers: exact deviations from the means, rounded to a float once.

>>> of_pairs("corr", [{"x": 1, "y": 5}, {"x": 2, "y": 3}, {"x": 3, "y": 1}, {"x": None, "y": 1}])
-1.0
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.regexes import extract, match, replace
from m3.datatypes import BOOL, DATE, DOUBLE, INT, LONGEST_PATTERN, LONGEST_TEXT, STRING, TIMESTAMP, Type
from m3.dictionary.formats import split_format

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FUNCTIONS", "STATISTICS", "WIDE", "Needed", "at_path", "of_pairs", "register", "try_at_path"]


#: Objects and arrays within each other.
DEEPEST = 100
#: What is at a path that leads nowhere.
NOTHING = object()


class _Written(str):
    """A number, in the digits that it is written with."""


def at_path(text: str, path: str, *, scalar: bool = False, quoted: bool = False) -> str | None:
    """What is at a path, a JSON array of keys and places; None for null and for nothing.

    Args:
        text: holds JSON.
        path: the keys and places.
        scalar: None for objects and arrays as well.
        quoted: as JSON, with quotes around texts and the word null.

    Raises:
        ValueError: the text is no JSON.
    """
    try:
        value = json.loads(text, parse_int=_Written, parse_float=_Written, parse_constant=_no_number)
        if text.count("[") + text.count("{") > DEEPEST and _depth(value) > DEEPEST:
            raise ValueError("JSON that is too deep")
        _compact(value).encode()  # an escape may be half a character
    except RecursionError as error:
        raise ValueError("JSON that is too deep") from error
    for step in json.loads(path):
        try:
            value = value[step] if isinstance(value, dict if isinstance(step, str) else list) else NOTHING
        except LookupError:
            value = NOTHING
    if quoted:
        return None if value is NOTHING else _compact(value)
    if value is NOTHING or (scalar and isinstance(value, dict | list)):
        return None
    return value if value is None or isinstance(value, str) else _compact(value)


def try_at_path(text: str, path: str) -> str | None:
    """The same, None where there is no JSON."""
    try:
        return at_path(text, path)
    except ValueError:
        return None


def _depth(value: Any) -> int:
    """How deep objects and arrays lie within each other."""
    depth, inside = 0, [value]
    while inside := [x for x in inside if isinstance(x, dict | list)]:
        depth += 1
        inside = [child for x in inside for child in (x.values() if isinstance(x, dict) else x)]
    return depth


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _compact(value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{_compact(k)}:{_compact(v)}" for k, v in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_compact, value)) + "]"
        case _Written():
            return str(value)
    return json.dumps(value, ensure_ascii=False)


def _cut(text: str, delimiter: str, number: int) -> str:
    """What is before so many delimiters, or behind so many from the end."""
    if not delimiter or not number:
        return ""
    at = -1 if number > 0 else len(text)
    for turn in range(abs(number)):
        start = at + (len(delimiter) if turn and number > 0 else number > 0)
        at = text.find(delimiter, start) if number > 0 else text.rfind(delimiter, 0, at)
        if at < 0:
            return text
    return text[:at] if number > 0 else text[at + len(delimiter) :]


WIDE = Context(prec=400, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class _Spread:
    """How many pairs there are, their means, and the sums of the products of deviations from them."""

    n: int
    x: Fraction
    y: Fraction
    xx: Fraction
    yy: Fraction
    xy: Fraction


def _correlation(s: _Spread) -> Any:
    if not s.xx or not s.yy:
        return None
    square = s.xy**2 / (s.xx * s.yy)
    root = WIDE.sqrt(WIDE.divide(Decimal(square.numerator), Decimal(square.denominator)))
    return math.copysign(float(root), s.xy)


#: What each is of a spread; x is the independent number.
STATISTICS: Mapping[str, Callable[[_Spread], Any]] = {
    "covar_pop": lambda s: s.xy / s.n,
    "covar_samp": lambda s: s.xy / (s.n - 1) if s.n > 1 else None,
    "corr": _correlation,
    "regr_slope": lambda s: s.xy / s.xx if s.xx else None,
    "regr_intercept": lambda s: s.y - s.xy / s.xx * s.x if s.xx else None,
    "regr_r2": lambda s: (s.xy**2 / (s.xx * s.yy) if s.yy else 1) if s.xx else None,
    "regr_sxx": lambda s: s.xx,
    "regr_syy": lambda s: s.yy,
    "regr_sxy": lambda s: s.xy,
}


def of_pairs(name: str, rows: Any) -> float | None:
    """A statistic of the rows ``{x, y}`` in which both are known; None where it is not defined."""
    given = [(r["x"], r["y"]) for r in rows if r["x"] is not None and r["y"] is not None]
    read = {"regr_sxx": slice(0, 1), "regr_syy": slice(1, 2)}.get(name, slice(0, 2))
    if any(not math.isfinite(v) for pair in given for v in pair[read]):
        return None if name == "covar_samp" and len(given) < 2 else math.nan
    pairs = [tuple(Fraction(v) if math.isfinite(v) else Fraction(0) for v in pair) for pair in given]
    if not pairs:
        return None
    n, none = len(pairs), Fraction(0)
    x, y = (sum(side, none) / n for side in zip(*pairs, strict=True))
    apart = [(a - x, b - y) for a, b in pairs]
    products = ([a * a for a, _ in apart], [b * b for _, b in apart], [a * b for a, b in apart])
    result = STATISTICS[name](_Spread(n, x, y, *(sum(part, none) for part in products)))
    try:
        return None if result is None else float(result)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Needed:
    """A function of :data:`FUNCTIONS` with a result of this type."""

    function: str
    type: Type

    @property
    def name(self) -> str:
        """What it is called in Spark SQL."""
        t = self.type
        return f"cumulus_{self.function}_{t.kind}" + (f"_{t.precision}_{t.scale}" if t.kind == "decimal" else "")


def _round_exactly(value: Fraction, to: Type) -> Decimal:
    """Half up (away from zero), once, to the scale of ``to``.

    >>> _round_exactly(Fraction(-5, 1000), Type("decimal", 10, 2))
    Decimal('-0.01')
    """
    units = int(abs(value) * 10**to.scale + Fraction(1, 2))
    if units >= 10**to.precision:
        raise OverflowError(f"{float(value)} does not fit {to}")
    return Decimal(-units if value < 0 else units).scaleb(-to.scale, context=WIDE)


def _total(to: Type, values: Any) -> Any:
    """The sum of a group's values, rounded once where they are floats."""
    if to.kind == "decimal":
        return _round_exactly(sum(map(Fraction, values), Fraction(0)), to) if values else None
    finite = [v for v in values if math.isfinite(v)]
    if len(finite) < len(values):
        return sum(v for v in values if not math.isfinite(v))
    try:
        return math.fsum(finite) if finite else None
    except OverflowError:  # on the way, or in the end
        exact = sum(map(Fraction, finite), Fraction(0))
        if abs(exact) > Fraction(sys.float_info.max):
            return math.inf if exact > 0 else -math.inf
        return float(exact)


def _moment(lost: int, root: bool) -> Callable[..., Any]:
    """VARIANCE and STDDEV from the number of values, their sum and that of their squares; ``lost`` is 1 of a sample."""

    def compute(_: Type, n: Any, total: Any, squares: Any) -> Any:
        if n <= lost:
            return None
        variance = (Fraction(squares) - Fraction(total) ** 2 / n) / (n - lost)
        if not root:
            return float(variance)
        return float(WIDE.sqrt(Decimal(variance.numerator) / WIDE.create_decimal(variance.denominator)))

    return compute


def _moment_of_values(lost: int, root: bool) -> Callable[..., Any]:
    """VARIANCE and STDDEV of DOUBLEs: exact squares of the deviations from the exact mean."""

    def compute(_: Type, values: Any) -> Any:
        if len(values) <= lost:
            return None
        if not all(map(math.isfinite, values)):
            return math.nan
        exact = [Fraction(v) for v in values]
        mean = sum(exact, Fraction(0)) / len(exact)
        variance = sum(((v - mean) ** 2 for v in exact), Fraction(0)) / (len(exact) - lost)
        try:
            if not root:
                return float(variance)
            wide = WIDE.divide(Decimal(variance.numerator), Decimal(variance.denominator))
            return float(WIDE.sqrt(wide))
        except OverflowError:
            return math.inf

    return compute


def _shape_of_values(power: int, *, sample: bool) -> Callable[..., Any]:
    """SKEWNESS (power 3) and KURTOSIS (4), by exact deviations from the exact mean; None where all values are one, or of too small a sample."""

    def compute(_: Type, values: Any) -> Any:
        n = len(values)
        if n < (power if sample else 1):
            return None
        if not all(map(math.isfinite, values)):
            return math.nan
        mean = sum(map(Fraction, values), Fraction(0)) / n
        spread, moment = (sum(((Fraction(v) - mean) ** p for v in values), Fraction(0)) / n for p in (2, power))
        if not spread:
            return None
        if power == 4:
            excess = moment / spread**2 - 3
            return float(Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * excess + 6) if sample else excess)
        square = moment**2 / spread**3 * (Fraction(n * (n - 1), (n - 2) ** 2) if sample else 1)
        return math.copysign(
            float(WIDE.sqrt(WIDE.divide(Decimal(square.numerator), Decimal(square.denominator)))), moment
        )

    return compute


def _product_of_values(_: Type, values: Any) -> Any:
    """The product of DOUBLEs: of finite ones by their whole mantissas, rounded once."""
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        return math.prod(v if not math.isfinite(v) else (v > 0) - (v < 0) for v in values)
    exact = math.prod(map(Fraction, values), start=Fraction(1))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _deviation_of_values(_: Type, values: Any) -> Any:
    """MAD: the median of the distances from the median."""

    def median(given: list[Any]) -> Any:
        return _interpolate(sorted(given, key=_size), "0.5") if given else None

    if not all(map(math.isfinite, values)):
        middle = median(values)
        return median([abs(v - middle) for v in values])
    exact = sorted(map(Fraction, values))
    if not exact:
        return None
    middle = (exact[(len(exact) - 1) // 2] + exact[len(exact) // 2]) / 2
    apart = sorted(abs(v - middle) for v in exact)
    return float((apart[(len(apart) - 1) // 2] + apart[len(apart) // 2]) / 2)


def _hamming(_: Type, a: str, b: str) -> int:
    return sum(map(str.__ne__, a, b)) if len(a) == len(b) else int("texts of two lengths")


def _similarity(_: Type, a: str, b: str) -> float:
    """Jaro's: each character of one text takes the first free one like it in the other, not farther than half of the longer text."""
    return float(_jaro(a, b))


def _jaro(a: str, b: str) -> Fraction:
    if max(len(a), len(b)) > 255:
        raise ValueError("texts that are too long")
    reach, free = max(len(a), len(b)) // 2 - 1, dict(enumerate(b))
    pairs = []
    for i, c in enumerate(a):
        j = min((j for j, d in free.items() if c == d and abs(i - j) <= max(reach, 0)), default=None)
        if j is not None:
            pairs.append((c, j))
            del free[j]
    if not pairs:
        return Fraction(0)
    theirs = [b[j] for j in sorted(j for _, j in pairs)]
    moved = sum(c != d for (c, _), d in zip(pairs, theirs, strict=True)) // 2
    m = len(pairs)
    return (Fraction(m, len(a)) + Fraction(m, len(b)) + Fraction(m - moved, m)) / 3


def _winkler(_: Type, a: str, b: str) -> float:
    found, prefix = _jaro(a, b), 0
    while prefix < 4 and a[prefix : prefix + 1] == b[prefix : prefix + 1] != "":
        prefix += 1
    return float(found if found * 10 <= 7 else found + prefix * (1 - found) / 10)


def _width_bucket(_: Type, value: Any, low: Any, high: Any, count: int) -> int:
    """How many ends of parts are not above the value, and one more within."""
    if math.isinf(value):
        return count + 1 if (value > 0) == (high > low) else 0
    step = (Fraction(high) - Fraction(low)) / count
    ends = (Fraction(low) + step * i for i in range(count + 1))
    return sum(1 for end in ends if (Fraction(value) >= end if step > 0 else Fraction(value) <= end))


def _parse_date(to: Type, text: str, written: str) -> Any:
    """A text in a format, read by Python's own ``strptime``: what has too few digits for the format, or a year of two, is looked at here."""
    digits: list[tuple[str, str]] = []
    century = None
    for part in split_format(written):
        if part.letter == "f":
            digits.append(("f", f"([0-9]{{1,{part.width or 6}}})"))
        elif part.letter:
            count = {"Y": "4", "y": "2", "j": "1,3"}.get(part.letter, "1,2")
            exact = count.rpartition(",")[2] if "=" in part.modifiers else count
            named = part.letter in "pabAB"
            digits.append(
                (part.letter, "([A-Za-z]+?)" if named else " +" if part.letter == "t" else f"([0-9]{{{exact}}})")
            )
            century = int(part.width or 69) if part.letter == "y" else century
        else:
            digits.append(("", re.escape(part.text)))
    found = re.fullmatch("".join(p for _, p in digits), text.strip(), re.ASCII)
    if found is None:
        raise ValueError(text)
    letters = [c for c, _ in digits if c and c != "t"]
    values = dict(zip(letters, found.groups(), strict=True))
    if century is not None:
        first = century or 100
        values["Y"] = str(1900 + first + (int(values.pop("y")) - first) % 100)
    if {"m", "b", "B"} & set(values) or "d" in values:
        values.pop("j", None)
    if "H" in values:
        values = {c: v for c, v in values.items() if c not in "Ip"}
    if "I" in values:
        values.setdefault("p", "AM")
    values["f"] = values.get("f", "0").ljust(6, "0")
    for name in "aA":
        if name in values:
            datetime.datetime.strptime(values.pop(name), f"%{name}")
    pattern = " ".join(f"%{c}" for c in values)
    moment = datetime.datetime.strptime(" ".join(values.values()), pattern)
    return moment.date() if to.kind == "date" else moment


def _try_parse_date(to: Type, text: str, written: str) -> Any:
    try:
        return _parse_date(to, text, written)
    except ValueError:
        return None


def _digits(mode: str) -> Callable[..., Any]:
    """ROUND and TRUNC of a DOUBLE, or to a number of digits that is not constant."""

    def compute(to: Type, value: Any, digits: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return value
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        rounded = exact if -int(exact.as_tuple().exponent) <= digits else exact.quantize(
            Decimal(1).scaleb(-max(-400, min(399, digits))), rounding=mode, context=WIDE
        )  # fmt: skip
        return float(rounded) if to.kind == "double" else int(rounded) if to.kind == "int" else rounded

    return compute


def _whole(to_whole: Callable[[float], int]) -> Callable[..., Any]:
    """CEIL and FLOOR of a DOUBLE that stays one."""
    return lambda _, value: float(to_whole(value)) if math.isfinite(value) else value


def _initcap(_: Type, text: str, delimiters: str = "") -> str:
    """Words in capitals; they end at what is no letter and no digit, or at the given delimiters."""
    ends, result, inside = set(delimiters), list[str](), False
    for c in text:
        result.append(c.lower() if inside else c.upper())
        inside = c not in ends if ends else c.isalnum()
    return "".join(result)


def _repeat(_: Type, text: str, times: int) -> str:
    if times > 1 and len(text) * times > LONGEST_TEXT:
        raise OverflowError(f"REPEAT to {len(text) * times} characters")
    return text * times


def _replace(_: Type, text: str, old: str, new: str) -> str:
    if not old:
        return text
    length = len(text) + text.count(old) * (len(new) - len(old))
    if length > max(LONGEST_TEXT, len(text)):
        raise OverflowError(f"REPLACE to {length} characters")
    return text.replace(old, new)


def _like(_: Type, text: str, pattern: str, escape: str) -> bool:
    """Bit i of ``reached`` says that the text so far is like the first i characters of the pattern, ``%`` left aside; where a ``%``
    stands behind these (``stays``) any character leaves it so."""
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"a pattern of {len(pattern)} characters")
    width, stays, anything = 0, 0, 0
    steps: dict[str, int] = {}
    characters = iter(pattern)
    for c in characters:
        literal = bool(escape) and c == escape
        c = next(characters, "") if literal else c
        if not c:
            raise ValueError("a pattern that ends in its escape")
        if c == "%" and not literal:
            stays |= 1 << width
            continue
        width += 1
        if c == "_" and not literal:
            anything |= 1 << width
        else:
            steps[c] = steps.get(c, 0) | 1 << width
    reached = 1
    for c in text:
        reached = (reached << 1) & (steps.get(c, 0) | anything) | reached & stays
    return bool(reached >> width & 1)


def _sort_values(rows: Any, order: str, skipped: str) -> list[Any]:
    """The values of a group's rows ``{v, o0, o1, ..}`` in their order: ``d`` descends, ``f`` has NULLs first. Rows that it leaves
    equal are ordered by their values, NULL last."""
    rows = [r for r in rows if all(r[name] is not None for name in skipped.split(",") if name)]
    rows.sort(key=lambda r: (r["v"] is None, _size(r["v"])))
    places = order.split(",") if order else []
    for i, place in reversed(list(enumerate(places))):
        name, way, nulls = f"o{i}", place[0], place[1]
        known = sorted((r for r in rows if r[name] is not None), key=lambda r: _size(r[name]))
        if way == "d":
            groups = [list(g) for _, g in itertools.groupby(known, key=lambda r: _size(r[name]))]
            known = [r for g in reversed(groups) for r in g]
        missing = [r for r in rows if r[name] is None]
        rows = [*missing, *known] if nulls == "f" else [*known, *missing]
    return [r["v"] for r in rows]


def _size(value: Any) -> Any:
    """What a value is ordered by; NaN is greater than every number."""
    return (
        (value != value, 0.0 if value is None or value != value else value)
        if not isinstance(value, str)
        else (False, value)
    )


def _in_order(function: Callable[[list[Any], str], Any]) -> Callable[..., Any]:
    """A function of a group's values in their order, and a parameter; None of no values."""

    def compute(_: Type, rows: Any, order: str, parameter: str, skipped: str) -> Any:
        values = _sort_values(rows, order, skipped)
        return function(values, parameter) if values else None

    return compute


def _interpolate(values: list[Any], parameter: str) -> float:
    """PERCENTILE_CONT: between two values, exactly, and rounded once."""
    place = Fraction(parameter) * (len(values) - 1)
    below, part = math.floor(place), place - math.floor(place)
    low = values[below]
    high = values[below + 1] if part else low
    if low == high or low != low:
        return float(low)
    if isinstance(low, float) and not (math.isfinite(low) and math.isfinite(high)):
        return float(low * float(1 - part) + high * float(part))
    return float(Fraction(low) + (Fraction(high) - Fraction(low)) * part)


#: Name -> the result for one row's values; those of :data:`OVER_COLUMNS` are for whole columns. NULL where an argument is NULL.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quotient": lambda to, a, b: _round_exactly(Fraction(a) / Fraction(b), to),
    "total": _total,
    "compare": lambda _, a, b: int(a > b) - int(a < b),
    "var_pop": _moment(0, root=False),
    "var_samp": _moment(1, root=False),
    "stddev_pop": _moment(0, root=True),
    "stddev_samp": _moment(1, root=True),
    **{
        f"{name}_of_values": _moment_of_values(lost, root)
        for name, lost, root in (
            ("var_pop", 0, False),
            ("var_samp", 1, False),
            ("stddev_pop", 0, True),
            ("stddev_samp", 1, True),
        )
    },
    **{
        f"{name}_{kind}_of_values": _shape_of_values(power, sample=kind == "samp")
        for name, power in (("skewness", 3), ("kurtosis", 4))
        for kind in ("pop", "samp")
    },
    "product_of_values": _product_of_values,
    "mad_of_values": _deviation_of_values,
    "round": _digits(ROUND_HALF_UP),
    "trunc": _digits(ROUND_DOWN),
    "round_even": _digits(ROUND_HALF_EVEN),
    "gcd": lambda _, a, b: math.gcd(a, b),
    "lcm": lambda _, a, b: math.lcm(a, b),
    "factorial": lambda _, a: Decimal(math.prod(range(1, a + 1))) if a >= 0 else int("a factorial below 0"),
    "width_bucket": _width_bucket,
    "parse_date": _parse_date,
    "try_parse_date": _try_parse_date,
    "double_to_text": lambda _, value: repr(value + 0.0),
    "hamming": _hamming,
    "jaro": _similarity,
    "jaro_winkler": _winkler,
    "initcap": _initcap,
    "repeat": _repeat,
    "replace": _replace,
    "like": _like,
    "pick": _in_order(lambda values, _: values[0]),
    "percentile_cont": _in_order(_interpolate),
    "percentile_disc": _in_order(lambda values, p: values[max(0, math.ceil(Fraction(p) * len(values)) - 1)]),
    "mode": _in_order(lambda values, _: Counter(values).most_common(1)[0][0]),  # of several the first
    "list": _in_order(lambda values, separator: separator.join(values)),
    "unique_list": _in_order(lambda values, separator: separator.join(dict.fromkeys(values))),
    "ceil": _whole(math.ceil),
    "floor": _whole(math.floor),
    "json": lambda _, text, path: at_path(text, path),
    "json_scalar": lambda _, text, path: at_path(text, path, scalar=True),
    "json_value": lambda _, text, path: at_path(text, path, quoted=True),
    "substring_index": lambda _, text, delimiter, number: _cut(text, delimiter, number),
    "try_json": lambda _, text, path: try_at_path(text, path),
    **{name: lambda _, rows, name=name: of_pairs(name, rows) for name in STATISTICS},
}


def _replace_matches(first: bool) -> Callable[..., pa.Array]:
    def compute(texts: pa.Array, patterns: pa.Array, replacements: pa.Array) -> pa.Array:
        if not len(texts):
            return texts
        made = replace(texts, patterns[0].as_py(), replacements[0].as_py(), first=first)
        given, long = pc.utf8_length(texts), pc.utf8_length(made)
        if pc.any(pc.and_(pc.greater(long, LONGEST_TEXT), pc.greater(long, given))).as_py():
            raise ValueError(f"a text longer than {LONGEST_TEXT} characters")
        return made

    return compute


#: Name -> the results for whole columns; of a pattern, the first row has it.
OVER_COLUMNS: dict[str, Callable[..., pa.Array]] = {
    "regex": lambda texts, patterns: match(texts, patterns[0].as_py()) if len(texts) else texts.cast(pa.bool_()),
    "regex_group": lambda texts, patterns: extract(texts, patterns[0].as_py()) if len(texts) else texts,
    "regex_replace": _replace_matches(first=False),
    "regex_replace_first": _replace_matches(first=True),
    "regex_count": lambda texts, patterns: (
        pc.subtract(
            pc.utf8_length(replace(texts, patterns[0].as_py(), r"\0x", first=False)), pc.utf8_length(texts)
        ).cast(pa.int64())
        if len(texts)
        else texts.cast(pa.int64())
    ),
}

ARROW = {
    INT.kind: pa.int64(),
    DOUBLE.kind: pa.float64(),
    STRING.kind: pa.string(),
    BOOL.kind: pa.bool_(),
    DATE.kind: pa.date32(),
    TIMESTAMP.kind: pa.timestamp("us"),
}
SPARK = {
    INT.kind: "bigint",
    DOUBLE.kind: "double",
    STRING.kind: "string",
    BOOL.kind: "boolean",
    DATE.kind: "date",
    TIMESTAMP.kind: "timestamp_ntz",
}


def register(session: SparkSession, needed: Iterable[Needed]) -> None:
    """Make functions known to a session, for its SQL."""
    from pyspark.sql.functions import arrow_udf

    for wanted in needed:
        t = wanted.type
        result = f"decimal({t.precision},{t.scale})" if t.kind == "decimal" else SPARK[t.kind]
        session.udf.register(wanted.name, arrow_udf(_over_arrays(wanted), result))


def _over_arrays(wanted: Needed) -> Callable[..., pa.Array]:
    if wanted.function in OVER_COLUMNS:
        whole = OVER_COLUMNS[wanted.function]

        def over_columns(*arrays: pa.Array) -> pa.Array:
            return whole(*arrays)

        over_columns.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
        return over_columns
    compute, to = FUNCTIONS[wanted.function], wanted.type
    arrow = pa.decimal128(to.precision, to.scale) if to.kind == "decimal" else ARROW[to.kind]

    def over_arrays(*arrays: pa.Array) -> pa.Array:
        rows = zip(*(a.to_pylist() for a in arrays), strict=True)
        found = pa.array([None if None in row else compute(to, *row) for row in rows], arrow)
        return pc.add(found, 0.0) if to.kind == "double" else found  # zero has no sign

    over_arrays.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    return over_arrays
