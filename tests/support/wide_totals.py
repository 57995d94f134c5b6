"""Amounts near the end of DECIMAL(18, 2) whose totals need more than 64 bits, and what Python makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path

from cumulus_ops.project.settings import Project
from m3.datatypes import INT, STRING, decimal
from m3.program import Column, Relation
from tests.support.projects import Event, make_project

Row = tuple[object, ...]
EXACT = Context(prec=60, rounding=ROUND_HALF_UP)

RELATIONS = (
    Relation("r", (Column("k", INT), Column("x", decimal(18, 2).with_null()))),
    Relation("s", (Column("k", INT), Column("g", STRING))),
)
VIEWS = {
    "by_k": "SELECT k, SUM(x) AS total, AVG(x) AS average, COUNT(*) AS n FROM r GROUP BY k",
    "large": "SELECT k, SUM(x) - 0.01 AS less FROM r GROUP BY k HAVING SUM(x) > 90000000000000000 ORDER BY less DESC",
    "everything": "SELECT SUM(x) AS total, COUNT(*) AS n FROM r",
    "joined": "SELECT g, SUM(x) AS total FROM r JOIN s ON r.k = s.k GROUP BY g",
}
GROUPS: list[Event] = [("s", 1, (k, "even" if k % 2 == 0 else "odd")) for k in range(5)]


def amount(index: int, sign: int = 1) -> Decimal:
    """Nearly the largest that the type holds, 9 * 10**17 units: eleven of them are beyond 64 bits."""
    return sign * Decimal(9 * 10**17 + 7 * index + index % 3).scaleb(-2)


def large_batch(k: int, rows: int, sign: int = 1) -> list[Event]:
    """Inserts into one group, all positive or all negative, and one NULL."""
    return [*(("r", 1, (k, amount(i, sign))) for i in range(rows)), ("r", 1, (k, None))]


def make(folder: Path, views: Iterable[str] = VIEWS) -> Project:
    """A project with one coordinator and some of the views."""
    return make_project(folder, RELATIONS, views={view: VIEWS[view] for view in views}, coordinators=1)


def expected(events: Iterable[Event]) -> dict[str, list[Row]]:
    """The rows of all views, each sorted, from Python's integers."""
    present: list[Row] = []
    for relation, sign, row in events:
        if relation == "r":
            present.append(row) if sign > 0 else present.remove(row)
    groups: dict[int, list[int | None]] = {}
    for k, x in present:
        assert isinstance(k, int)
        groups.setdefault(k, []).append(int(x.scaleb(2)) if isinstance(x, Decimal) else None)
    sums = {k: sum(x for x in units if x is not None) for k, units in groups.items()}
    known = {k: sum(x is not None for x in units) for k, units in groups.items()}
    parities: dict[str, int] = {}
    for k, total in sums.items():
        name = "even" if k % 2 == 0 else "odd"
        parities[name] = parities.get(name, 0) + total
    return {
        "by_k": sorted((k, _cents(sums[k]), _average(sums[k], known[k]), len(groups[k])) for k in groups),
        "large": sorted((k, _cents(total - 1)) for k, total in sums.items() if total > 9 * 10**18),
        "everything": [(_cents(sum(sums.values())), len(present))],
        "joined": sorted((name, _cents(total)) for name, total in parities.items()),
    }


def _cents(units: int) -> Decimal:
    return Decimal(units).scaleb(-2, EXACT)


def _average(units: int, count: int) -> Decimal:
    return EXACT.divide(_cents(units), Decimal(count)).quantize(Decimal("1e-12"), context=EXACT)
