"""Pass 1: give everything that is maintained a map, one per meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from m3.algebra import DerivedQuery, ViewQuery, WindowQuery
from m3.compiler.checks import Checks
from m3.compiler.draft import Draft, Maps
from m3.program import Derivation, Derived, Input, Relation, View, ViewValue, WindowFunction, Windowing
from m3.scalars import Var, substitute

__all__ = ["define_maps"]


def define_maps(draft: Draft) -> Draft:
    """Queries -> views and derivations over maps.

    The existence map of a view (its row count per group) is also its COUNT(*), and views that ask for the same
    aggregate share its map::

        SELECT a, SUM(b) AS total FROM r GROUP BY a   -- view v
        =>  v_count[a] := COUNT(*), v_total[a] := SUM(b)
    """
    maps = Maps.of(draft)
    derivations = tuple(_derived(query, maps) for query in draft.derived)
    checks = Checks(maps, draft.derived)
    views = tuple(_view(query, maps, checks) for query in draft.queries)
    return replace(draft, definitions=tuple(maps.definitions), views=views, derivations=derivations)


def _derived(query: DerivedQuery | WindowQuery, maps: Maps) -> Derived:
    name = query.relation.name
    if isinstance(query, WindowQuery):
        source = maps.keep(query.source, f"{name}_rows")
        kept = zip(query.source.columns, maps.columns(source), strict=True)
        columns = {old.name: Var(new.name, new.type) for old, new in kept}
        functions = tuple(_over(f, columns) for f in query.functions)
        return Windowing(name, source, query.partition, functions, bool(query.failing))
    inputs = tuple(
        Input(x.name, maps.keep(x.polynomial, f"{name}_{x.name}"), x.kind, x.at, x.order, x.parameter)
        for x in query.inputs
    )
    return Derivation(name, query.relation.key, inputs, query.outputs, query.count)


def _over(function: WindowFunction, columns: Mapping[str, Var]) -> WindowFunction:
    """The function over the columns of the map that holds its rows, which may be older, named otherwise and narrower."""
    order = tuple((substitute(s, columns), down, first) for s, down, first in function.order)
    return replace(function, args=tuple(substitute(a, columns) for a in function.args), order=order)


def _view(query: ViewQuery, maps: Maps, checks: Checks) -> View:
    if isinstance(query.exists, Relation):
        exists = query.exists.name
    else:
        exists = maps.keep(query.exists, f"{query.name}_rows" if query.repeated else f"{query.name}_count")
    values = tuple(ViewValue(name, maps.keep(p, f"{query.name}_{name}")) for name, p in query.values)
    return View(
        query.name,
        query.keys,
        values,
        exists,
        query.columns,
        query.having,
        query.order,
        query.limit,
        query.sql,
        query.offset,
        query.repeated,
        query.hidden,
        checks.of(query),
    )
