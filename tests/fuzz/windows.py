"""Random window functions whose results do not depend on the order of equal rows."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.aggregates import FUNCTIONS
from tests.fuzz.draw import Draw
from tests.fuzz.predicates import predicate
from tests.fuzz.scalars import constant
from tests.fuzz.scope import APPROXIMATE, Col, exact, of_kind

FORMS = (
    "window.aggregate", "window.row_number", "window.rank", "window.dense_rank", "window.lag", "window.lead",
)  # fmt: skip
#: Equal for equal rows.
PEERS = ("window.aggregate", "window.rank", "window.dense_rank")
ROWS = (
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
)
#: Equal for equal rows.
RANGES = (
    "RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL '30 days' PRECEDING AND INTERVAL '24' HOUR FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL '1' DAY PRECEDING",
    "RANGE BETWEEN INTERVAL '1 month' PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL '1 year' PRECEDING AND INTERVAL '2 months' FOLLOWING",
)

MOMENTS = (
    "STDDEV_POP({x})",
    "VAR_SAMP({x})",
    "VAR_POP({x})",
    "MEDIAN(CAST({x} AS DOUBLE))",
    "STDDEV(CAST({x} AS DOUBLE))",
    "MAD(CAST({x} AS DOUBLE))",
    "QUANTILE_CONT(CAST({x} AS DOUBLE), 0.3)",
)


def windows(draw: Draw, columns: Sequence[Col]) -> list[Col]:
    """One or two window functions over the rows that have these columns.

    What tells equal rows apart (row numbers, neighbours, ROWS frames) orders by all columns and comes only once: which
    number goes with which neighbour is anybody's choice.
    """
    first = _window(draw, columns, FORMS, frames=True)
    return [first, _window(draw, columns, PEERS, frames=False)] if draw.chance(0.3) else [first]


def _window(draw: Draw, columns: Sequence[Col], forms: Sequence[str], *, frames: bool) -> Col:
    form = draw.pick(*forms)
    partition = f"PARTITION BY {draw.one(exact(columns)).sql} " if draw.maybe("window.partition") else ""
    everything, some = _order(draw, columns, all_=True), _order(draw, columns, all_=False)
    match form:
        case "window.row_number":
            return Col(f"ROW_NUMBER() OVER ({partition}{everything})", "int")
        case "window.rank" | "window.dense_rank":
            return Col(f"{form[7:].upper()}() OVER ({partition}{some})", "int")
        case "window.lag" | "window.lead":
            value = draw.one(exact(columns))
            more = draw.one(["", ", 1", ", 2", f", 1, {constant(draw, value.kind)}"])
            return Col(f"{form[7:].upper()}({value.sql}{more}) OVER ({partition}{everything})", value.kind)
    dates = [c for c in exact(columns) if c.kind == "date"]
    if dates and draw.maybe("window.range"):
        order = f"ORDER BY {draw.one(dates).sql}{draw.one(['', ' DESC'])}"
        return _aggregate(draw, columns, f"{partition}{order} {draw.one(RANGES)}")
    if frames and draw.maybe("window.rows_frame"):
        return _aggregate(draw, columns, f"{partition}{everything} {draw.one(ROWS)}")
    return _aggregate(draw, columns, f"{partition}{some}" if draw.maybe("window.running") else partition.strip())


def _order(draw: Draw, columns: Sequence[Col], *, all_: bool) -> str:
    chosen = exact(columns)
    if not all_:
        chosen = draw.random.sample(chosen, min(len(chosen), draw.one([1, 1, 2])))
    return "ORDER BY " + ", ".join(c.sql + draw.one(["", "", " DESC"]) for c in chosen)


def _aggregate(draw: Draw, columns: Sequence[Col], over: str) -> Col:
    numbers = of_kind(columns, "int", "dec")
    form = draw.pick(*FUNCTIONS[:6]) if numbers else "agg.count_star"
    kept = f" FILTER (WHERE {predicate(draw, columns, 1)})" if draw.maybe("window.filter") else ""
    if numbers and draw.maybe("window.moment"):
        value = draw.one(numbers)
        return Col(f"{draw.one(MOMENTS).format(x=value.sql)}{kept} OVER ({over})", APPROXIMATE)
    if form == "agg.count_star":
        return Col(f"COUNT(*){kept} OVER ({over})", "int")
    value = draw.one(numbers if form in ("agg.sum", "agg.avg") else exact(columns))
    if value.kind == "bool":
        return Col(f"{draw.one(['BOOL_AND', 'BOOL_OR'])}({value.sql}){kept} OVER ({over})", "bool")
    kind = {"agg.avg": APPROXIMATE, "agg.count": "int"}.get(form, value.kind)
    return Col(f"{form[4:].upper()}({value.sql}){kept} OVER ({over})", kind)
