"""Evaluating one statement for many events at once (function ``compute`` of Cumulus paper, Figure 4, set-at-a-time).

A statement is filtered, **grouped**, **joined** and finished. Events that agree in all that the statement carries into its
joins count as one: their products are summed before anything is looked up, so an often repeated key costs what a single
one does. What a chain of reads finds does not depend on the statement's factors or target: it is remembered with the
events, and the statements that read the same maps by the same keys, as the sums and counts of one view do, share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.engine.grouping import Groups, group_rows, sum_groups
from cumulus_ops.engine.vector import Frame, evaluate, select
from cumulus_ops.errors import InputProblem
from cumulus_ops.layout import ReadPlan, StatementPlan
from cumulus_ops.mapstore import (
    VALUE,
    VERSION,
    RunData,
    canonical,
    distinct_rows,
    multiply,
    probe,
    read_slices,
    sum_points,
    take_rows,
    to_numpy,
)
from m3.program import MapDecl
from m3.scalars import Scalar, Var, variables

__all__ = ["Events", "Sources", "run_statement"]

#: For the i-th read of a statement: the runs to look in.
Sources = Callable[[int], Sequence[RunData]]

#: As many rows of joins are remembered for the events of one relation.
REMEMBERED_ROWS = 2_000_000


@dataclass
class Events:
    """Events of one relation: one column per parameter, the version and the weight of each event.

    The weight is 1 where a statement is for one sign only, and the event's sign where it is for both. What statements
    have in common is remembered: the events that pass their filters, their products, groups and joins."""

    frame: Frame
    versions: np.ndarray
    weights: np.ndarray
    filtered: dict[tuple[Scalar, ...], Events] = field(default_factory=dict)
    products: dict[tuple[Scalar, ...], _Product] = field(default_factory=dict)
    groups: dict[tuple[Scalar, ...], Groups | None] = field(default_factory=dict)
    memory: _Memory = field(default_factory=lambda: _Memory())

    def where(self, conditions: tuple[Scalar, ...]) -> Events:
        """The events that satisfy all conditions."""
        if not conditions:
            return self
        if conditions not in self.filtered:
            rows = select(conditions, self.frame)
            assert rows is not None
            self.filtered[conditions] = self if len(rows) == self.frame.rows else self.at(rows)
        return self.filtered[conditions]

    def at(self, rows: np.ndarray) -> Events:
        """The events at the given positions."""
        return Events(self.frame.take(rows), self.versions[rows], self.weights[rows], memory=self.memory)


@dataclass(frozen=True)
class _Product:
    """The weights times some factors; ``counts`` says for which events, None for all: a NULL factor adds nothing."""

    units: np.ndarray
    counts: np.ndarray | None


@dataclass(frozen=True)
class _Joined:
    """Events joined with what a chain of reads has found. Row i belongs to event ``origin[i]`` (None: to event i), has
    the loop variables ``loops`` and the product ``found`` of what was read (None: 1). ``columns`` are carried columns
    that were needed so far."""

    origin: np.ndarray | None
    rows: int
    loops: Mapping[str, pa.Array]
    found: np.ndarray | None
    columns: dict[str, pa.Array] = field(default_factory=dict)

    def take(self, rows: np.ndarray) -> _Joined:
        return _Joined(
            rows if self.origin is None else self.origin[rows],
            len(rows),
            {name: take_rows(column, rows) for name, column in self.loops.items()},
            None if self.found is None else self.found[rows],
            {name: take_rows(column, rows) for name, column in self.columns.items()},
        )


class _Memory:
    """What chains of reads have found for some events, as long as there is room. A chain is known by its runs' identities,
    so they are kept alive with it: no other run can have the identity of one that is gone."""

    def __init__(self) -> None:
        self._joins: dict[object, tuple[_Joined, tuple[RunData, ...]]] = {}
        self._rows = 0

    def get(self, key: object) -> _Joined | None:
        found = self._joins.get(key)
        return None if found is None else found[0]

    def keep(self, key: object, joined: _Joined, runs: tuple[RunData, ...]) -> _Joined:
        if self._rows + joined.rows > REMEMBERED_ROWS:
            self._joins.clear()
            self._rows = 0
        self._joins[key] = joined, runs
        self._rows += joined.rows
        return joined


def run_statement(
    plan: StatementPlan, target: MapDecl, events: Events, sources: Sources, first: int | None = None
) -> pa.Table | None:
    """The deltas of ``plan``'s target for all ``events``, not yet summed.

    Args:
        plan: the statement.
        target: declaration of its target map.
        events: events of its relation and sign.
        sources: the runs for each read.
        first: a read to do before the others, because few keys match it (only where reads may be reordered).

    Returns:
        a delta table of ``target``, or None when there is nothing to add.
    """
    steps = [(plan.reads[i], tuple(sources(i))) for i in _order(plan, first)]
    if not all(runs for _, runs in steps):
        return None
    chosen = events.where(plan.conditions)
    if chosen.frame.rows == 0:
        return None
    groups = _groups(plan, chosen)
    try:
        return _run(plan, target, chosen, groups, steps)
    except InputProblem as problem:
        if problem.kind != "overflow" or groups is None:
            raise
        return _run(plan, target, chosen, None, steps)  # what single events add fits more easily than their sums


def _run(
    plan: StatementPlan,
    target: MapDecl,
    events: Events,
    groups: Groups | None,
    steps: Sequence[tuple[ReadPlan, tuple[RunData, ...]]],
) -> pa.Table | None:
    joined = _join_all(plan, events, groups, steps, target.name)
    return _deltas(plan, target, events, groups, joined) if joined.rows else None


def _order(plan: StatementPlan, first: int | None) -> list[int]:
    order = list(range(len(plan.reads)))
    if first is not None and plan.reorderable:
        order.remove(first)
        order.insert(0, first)
    return order


def _groups(plan: StatementPlan, events: Events) -> Groups | None:
    """The events grouped by their versions and by all that the statement carries into its joins; None if each is its own
    group, or there are too few to gain anything."""
    carried = tuple(scalar for _, scalar in plan.carried)
    if carried not in events.groups:
        columns = [evaluate(scalar, events.frame) for scalar in carried]
        events.groups[carried] = group_rows(columns, events.versions)
    return events.groups[carried]


def _join_all(
    plan: StatementPlan,
    events: Events,
    groups: Groups | None,
    steps: Sequence[tuple[ReadPlan, tuple[RunData, ...]]],
    place: str,
) -> _Joined:
    rows = events.frame.rows if groups is None else len(groups.first)
    joined = _Joined(None if groups is None else groups.first, rows, {}, None)
    key: tuple[object, ...] = (id(events), id(groups), plan.offset)
    chain: tuple[RunData, ...] = ()
    for read, runs in steps:
        if joined.rows == 0:
            break
        key, chain = (*key, read, tuple(map(id, runs))), (*chain, *runs)
        known = events.memory.get(key)
        if known is None:
            known = events.memory.keep(key, _join(plan, read, events, joined, runs, place), chain)
        joined = known
    return joined


def _join(
    plan: StatementPlan, read: ReadPlan, events: Events, joined: _Joined, runs: tuple[RunData, ...], place: str
) -> _Joined:
    frame = _frame(plan, events, joined, read.bound)
    versions = events.versions if joined.origin is None else events.versions[joined.origin]
    request = probe([evaluate(b, frame) for b in read.bound], versions + (plan.offset + read.after))
    if not read.free:
        found = sum_points(runs, read.path.bound, request)
        hit = np.flatnonzero(found)
        found, loops, kept = found[hit], dict[str, pa.Array](), None
    else:
        slices = read_slices(runs, read.path.bound, tuple(i for i, _ in read.free), request)
        hit, found = slices.request, slices.values
        loops, kept = _bind(read, joined.loops, slices.free, hit)
    next_ = joined.take(hit)
    units = found if next_.found is None else multiply(next_.found, found, place)
    result = _Joined(next_.origin, len(hit), {**next_.loops, **loops}, units, next_.columns)
    return result if kept is None else result.take(kept)


def _bind(
    read: ReadPlan, loops: Mapping[str, pa.Array], values: Sequence[pa.Array], hit: np.ndarray
) -> tuple[dict[str, pa.Array], np.ndarray | None]:
    """Bind loop variables; one that is bound already, or occurs twice in the read, must have equal values there."""
    kept: pa.Array | None = None
    fresh: dict[str, pa.Array] = {}
    for (_, name), value in zip(read.free, values, strict=True):
        known = fresh.get(name)
        if known is None and name in loops:
            known = take_rows(loops[name], hit)
        if known is None:
            fresh[name] = value
            continue
        both_null = pc.and_(pc.is_null(known), pc.is_null(value))
        same = pc.or_(pc.fill_null(pc.equal(known, value), False), both_null)
        kept = same if kept is None else pc.and_(kept, same)
    return fresh, None if kept is None else np.flatnonzero(kept.to_numpy(zero_copy_only=False))


def _frame(plan: StatementPlan, events: Events, joined: _Joined, needed: Sequence[Scalar]) -> Frame:
    """The columns that some expressions need: loop variables, and what the events carry."""
    names = dict.fromkeys(v for scalar in needed for v in variables(scalar))
    carried = dict(plan.carried)
    for name in names:
        if name not in joined.loops and name not in joined.columns:
            column = evaluate(carried[name], events.frame)
            joined.columns[name] = column if joined.origin is None else take_rows(column, joined.origin)
    return Frame({n: joined.loops[n] if n in joined.loops else joined.columns[n] for n in names}, joined.rows)


def _deltas(
    plan: StatementPlan, target: MapDecl, events: Events, groups: Groups | None, joined: _Joined
) -> pa.Table | None:
    units, joined = _units(plan, events, groups, joined, target.name)
    frame = _frame(plan, events, joined, (*plan.late_conditions, *plan.late_factors, *plan.keys))
    rows = select(plan.late_conditions, frame)
    if rows is not None:
        units, joined, frame = units[rows], joined.take(rows), frame.take(rows)
    for factor in plan.late_factors:
        product = _times(units, evaluate(factor, frame), target.name)
        units = product.units
        if product.counts is not None:
            units, joined, frame = units[product.counts], joined.take(product.counts), frame.take(product.counts)
    if len(units) == 0:
        return None
    keys = [canonical(evaluate(k, frame)) for k in plan.keys]
    versions = (events.versions if joined.origin is None else events.versions[joined.origin]) + plan.offset
    names = [*(k.name for k in target.keys), VERSION, VALUE]
    table = pa.table(dict(zip(names, [*keys, pa.array(versions), pa.array(units)], strict=True)))
    return distinct_rows(table) if _is_distinct(plan, groups, keys) else table


def _is_distinct(plan: StatementPlan, groups: Groups | None, keys: Sequence[pa.Array]) -> bool:
    """Whether no two rows of the result can have one key: it has one row per group, and its keys tell them apart."""
    told = {key.name for key in plan.keys if isinstance(key, Var)}
    exact = not any(pa.types.is_floating(k.type) for k in keys)
    return groups is not None and not plan.reads and exact and {name for name, _ in plan.carried} <= told


def _units(
    plan: StatementPlan, events: Events, groups: Groups | None, joined: _Joined, place: str
) -> tuple[np.ndarray, _Joined]:
    """The product of weights, early factors and what was read, for each row; rows without one are left out."""
    product = _product(events, plan.factors, place)
    units = product.units
    if groups is not None:
        units = sum_groups(groups, units, product.counts, place)
        rows = groups.number[joined.origin] if joined.origin is not None else groups.number
        kept = None
    else:
        rows = joined.origin
        kept = product.counts
    units = units if rows is None else units[rows]
    if kept is not None:
        some = np.zeros(events.frame.rows, dtype=bool)
        some[kept] = True
        chosen = np.flatnonzero(some if rows is None else some[rows])
        units, joined = units[chosen], joined.take(chosen)
    if plan.shift:
        units = multiply(units, np.full(len(units), 10**plan.shift), place)
    return units if joined.found is None else multiply(units, joined.found, place), joined


def _product(events: Events, factors: tuple[Scalar, ...], place: str) -> _Product:
    """The events' weights times their early factors."""
    if factors not in events.products:
        product = _Product(events.weights, None)
        for factor in factors:
            step = _times(product.units, evaluate(factor, events.frame), place)
            counts = step.counts
            if counts is not None and product.counts is not None:
                counts = np.intersect1d(counts, product.counts, assume_unique=True)
            product = _Product(step.units, product.counts if counts is None else counts)
        events.products[factors] = product
    return events.products[factors]


def _times(units: np.ndarray, factor: pa.Array, place: str) -> _Product:
    """Units times a factor; a NULL factor contributes nothing, like a row that SUM skips."""
    counts = np.flatnonzero(factor.is_valid().to_numpy(zero_copy_only=False)) if factor.null_count else None
    return _Product(multiply(units, to_numpy(factor), place), counts)
