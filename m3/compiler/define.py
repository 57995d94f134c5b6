"""Pass 1: give every aggregate of every view a map, one per meaning."""

from __future__ import annotations

from dataclasses import replace

from m3.algebra import ViewQuery
from m3.compiler.draft import Draft, Maps
from m3.program import View, ViewValue

__all__ = ["define_maps"]


def define_maps(draft: Draft) -> Draft:
    """Queries -> views over maps.

    The existence map of a view (its row count per group) is also its COUNT(*), and views that ask for the same
    aggregate share its map::

        SELECT a, SUM(b) AS total FROM r GROUP BY a   -- view v
        =>  v_count[a] := COUNT(*), v_total[a] := SUM(b)
    """
    maps = Maps()
    views = tuple(_view(query, maps) for query in draft.queries)
    return replace(draft, definitions=tuple(maps.definitions), views=views)


def _view(query: ViewQuery, maps: Maps) -> View:
    exists = maps.keep(query.exists, f"{query.name}_count")
    values = tuple(ViewValue(name, maps.keep(a, f"{query.name}_{name}")) for name, a in query.values)
    return View(
        query.name, query.keys, values, exists, query.columns, query.having, query.order, query.limit, query.sql
    )
