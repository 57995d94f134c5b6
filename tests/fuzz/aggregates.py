"""Random aggregates and expressions over them."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.draw import Draw
from tests.fuzz.predicates import predicate
from tests.fuzz.scalars import constant, scalar
from tests.fuzz.scope import APPROXIMATE, Col, exact, of_kind

FUNCTIONS = ("agg.sum", "agg.count_star", "agg.count", "agg.avg", "agg.min", "agg.max", "agg.stddev", "agg.variance")
SPREADS = {
    "agg.stddev": ("STDDEV_SAMP", "STDDEV_POP", "STDDEV"),
    "agg.variance": ("VAR_SAMP", "VAR_POP", "VARIANCE"),
}


def aggregate(draw: Draw, columns: Sequence[Col], kind: str | None = None) -> Col:
    """An aggregate call over the columns, of ``kind`` if that is given."""
    form = draw.pick(*_candidates(kind))
    if form == "agg.count_star":
        return Col(f"COUNT(*){_filter(draw, columns)}", "int")
    if form in ("agg.count", "agg.min", "agg.max"):
        return _any_kind(draw, columns, form, kind)
    number = kind if kind in ("int", "dec") else draw.one(["int", "dec"])
    function = {"agg.sum": "SUM", "agg.avg": "AVG"}.get(form) or draw.one(SPREADS[form])
    argument = scalar(draw, columns, number, 0.3)
    distinct = "DISTINCT " if form in ("agg.sum", "agg.avg") and draw.maybe("agg.distinct") else ""
    result = number if form == "agg.sum" else APPROXIMATE
    return Col(f"{function}({distinct}{argument}){_filter(draw, columns)}", result)


def _candidates(kind: str | None) -> Sequence[str]:
    match kind:
        case None:
            return FUNCTIONS
        case "int":
            return ("agg.sum", "agg.count_star", "agg.count", "agg.min", "agg.max")
        case "dec":
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
    return Col(f"({first.sql} * 1.00 / NULLIF(COUNT(*), 0))", APPROXIMATE)


def having(draw: Draw, columns: Sequence[Col], keys: Sequence[Col]) -> str:
    """A condition over aggregates and keys, without subqueries."""
    found = aggregate(draw, columns)
    parts = [predicate(draw, [found, *of_kind(keys, "int", "str")], 1)]
    if draw.chance(0.3):
        parts.append(f"COUNT(*) {draw.one(['>', '<', '>='])} {draw.one([1, 2, 3])}")
    return draw.one([" AND ", " OR "]).join(parts)
