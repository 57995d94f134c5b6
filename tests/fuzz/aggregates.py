"""Random aggregates and expressions over them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.draw import Draw
from tests.fuzz.predicates import predicate
from tests.fuzz.scalars import constant, scalar
from tests.fuzz.scope import APPROXIMATE, LIST, Col, exact, of_kind

FUNCTIONS = ("agg.sum", "agg.count_star", "agg.count", "agg.avg", "agg.min", "agg.max", "agg.stddev", "agg.variance")
#: What depends on an order of values, written so that rows that are tied give the same: kinds of the value -> text.
ORDERED = {
    "ARG_MAX({x}, {c}){f}": "", "ARG_MIN({x}, {c}){f}": "", "FIRST({x} ORDER BY {c}{d}){f}": "",
    "LAST({x} ORDER BY {c}{d}){f}": "", "STRING_AGG({c}, '/' ORDER BY {c}{d}){f}": "str",
    "STRING_AGG(DISTINCT {c}, '' ORDER BY {c}{d}){f}": "str",
    "PERCENTILE_DISC({q}) WITHIN GROUP (ORDER BY {c}{o}){f}": "", "MEDIAN(CAST({c} AS DOUBLE)){f}": "int dec",
    "QUANTILE_CONT(CAST({c} AS DOUBLE), {q}){f}": "int dec", "MAD(CAST({c} AS DOUBLE)){f}": "int dec", "PRODUCT(CAST({c} AS DOUBLE)){f}": "int dec", "BIT_AND({c}){f}": "int", "BIT_OR({c}){f}": "int",
    "BIT_XOR({c}){f}": "int", "BOOL_AND({c}){f}": "bool", "BOOL_OR({c}){f}": "bool",
}  # fmt: skip
SPREADS = {
    "agg.stddev": ("STDDEV_SAMP", "STDDEV_POP", "STDDEV"),
    "agg.variance": ("VAR_SAMP", "VAR_POP", "VARIANCE"),
}


def aggregate(draw: Draw, columns: Sequence[Col], kind: str | None = None) -> Col:
    """An aggregate call over the columns, of ``kind`` if that is given."""
    form = draw.pick(*_candidates(kind))
    if form == "agg.count_star":
        return Col(f"COUNT(*){_filter(draw, columns)}", "int")
    if form == "agg.ordered":
        return _ordered(draw, columns)
    if form in ("agg.count", "agg.min", "agg.max"):
        return _any_kind(draw, columns, form, kind)
    numbers = ["int", "dec", "dbl"] if form in ("agg.sum", "agg.avg") else ["int", "dec"]
    number = kind if kind in numbers else draw.one(numbers)
    function = {"agg.sum": "SUM", "agg.avg": "AVG"}.get(form) or draw.one(SPREADS[form])
    argument = scalar(draw, columns, number, 0.3)
    distinct = "DISTINCT " if form in ("agg.sum", "agg.avg") and draw.maybe("agg.distinct") else ""
    result = number if form == "agg.sum" else APPROXIMATE
    return Col(f"{function}({distinct}{argument}){_filter(draw, columns)}", result)


def _candidates(kind: str | None) -> Sequence[str]:
    match kind:
        case None:
            return (*FUNCTIONS, "agg.ordered")
        case "int":
            return ("agg.sum", "agg.count_star", "agg.count", "agg.min", "agg.max")
        case "dec" | "dbl":
            return ("agg.sum", "agg.min", "agg.max")
    return ("agg.min", "agg.max")


def _any_kind(draw: Draw, columns: Sequence[Col], form: str, kind: str | None) -> Col:
    possible = [c.kind for c in exact(columns) if c.kind != "bool"] or ["int"]
    argument_kind = draw.one(possible) if kind is None or form == "agg.count" else kind
    argument = scalar(draw, columns, argument_kind, 0.2)
    distinct = "DISTINCT " if draw.maybe("agg.distinct") else ""
    function = form[4:].upper()
    result = "int" if form == "agg.count" else argument_kind
    return Col(f"{function}({distinct}{argument}){_filter(draw, columns)}", result)


def _ordered(draw: Draw, columns: Sequence[Col]) -> Col:
    value = draw.one(exact(columns) or [Col(constant(draw, "int"), "int")])
    text = draw.one([text for text, kinds in ORDERED.items() if not kinds or value.kind in kinds.split()])
    kind = APPROXIMATE if "DOUBLE" in text else value.kind
    x = scalar(draw, [value], value.kind, 0.3) if "{x}" in text else ""
    parts = {
        "x": x, "c": value.sql, "f": _filter(draw, columns), "q": draw.one(["0.5", "0.25", "1", "0.9"]),
        "d": draw.one(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"]), "o": draw.one(["", " DESC"]),
    }  # fmt: skip
    return Col(text.format(**parts), kind)


def lists(draw: Draw, columns: Sequence[Col]) -> list[Col]:
    """Perhaps a list of a group's values, in an order that leaves no choice."""
    possible = of_kind(columns, "int", "dec", "str", "date", "bool")
    if not possible or not draw.maybe("agg.list"):
        return []
    value = draw.one(possible)
    order = draw.one(["", " DESC", " NULLS LAST", " DESC NULLS FIRST"])
    distinct = draw.one(["", "DISTINCT "])
    return [Col(f"ARRAY_AGG({distinct}{value.sql} ORDER BY {value.sql}{order}){_filter(draw, columns)}", LIST)]


def _filter(draw: Draw, columns: Sequence[Col]) -> str:
    return f" FILTER (WHERE {predicate(draw, columns, 1)})" if draw.maybe("agg.filter") else ""


def aggregate_item(draw: Draw, columns: Sequence[Col], kind: str | None = None) -> Col:
    """An aggregate, or an expression over aggregates."""
    first = aggregate(draw, columns, kind)
    if first.kind not in ("int", "dec") or not draw.maybe("agg.expression"):
        return first
    second = aggregate(draw, columns, first.kind)
    match draw.one(["op", "constant", "coalesce", "case", "ratio" if kind is None else "op"]):
        case "op":
            return Col(f"({first.sql} {draw.one('+-')} {second.sql})", first.kind)
        case "constant":
            return Col(f"({first.sql} {draw.one('+-*')} 2)", first.kind)
        case "coalesce":
            return Col(f"COALESCE({first.sql}, {constant(draw, first.kind)})", first.kind)
        case "case":
            # DuckDB rounds to the fewest decimals of the branches where both have 38 digits, as all sums have
            other = f"(- ({first.sql}))" if first.kind == "dec" else second.sql
            return Col(f"CASE WHEN COUNT(*) > 1 THEN {first.sql} ELSE {other} END", first.kind)
    if kind is None and draw.maybe("fail.division"):
        return Col(f"({first.sql} * 1.00 / {second.sql})", APPROXIMATE)
    return Col(f"({first.sql} * 1.00 / NULLIF(COUNT(*), 0))", APPROXIMATE)


def having(draw: Draw, columns: Sequence[Col], keys: Sequence[Col]) -> str:
    """A condition over aggregates and keys, without subqueries."""
    found = aggregate(draw, columns)
    parts = [predicate(draw, [found, *of_kind(keys, "int", "str")], 1)]
    if draw.chance(0.3):
        parts.append(f"COUNT(*) {draw.one(['>', '<', '>='])} {draw.one([1, 2, 3])}")
    return draw.one([" AND ", " OR "]).join(parts)
