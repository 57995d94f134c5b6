"""Evaluating one statement for many events at once (function ``compute`` of Cumulus paper, Figure 4, set-at-a-time)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.engine.vector import Frame, evaluate, select
from cumulus_ops.layout import ReadPlan, StatementPlan
from cumulus_ops.mapstore import (
    VALUE,
    VERSION,
    RunData,
    canonical,
    multiply,
    probe,
    read_slices,
    sum_points,
    to_numpy,
)
from m3.program import MapDecl
from m3.scalars import Scalar

__all__ = ["Events", "Sources", "run_statement"]

#: For the i-th read of a statement: the runs to look in.
Sources = Callable[[int], Sequence[RunData]]


@dataclass
class Events:
    """Events of one relation: one column per parameter, the version and the weight of each event.

    The weight is 1 where a statement is for one sign only, and the event's sign where it is for both."""

    frame: Frame
    versions: np.ndarray
    weights: np.ndarray
    filtered: dict[tuple[Scalar, ...], Events] = field(default_factory=dict)

    def where(self, conditions: tuple[Scalar, ...]) -> Events:
        """The events that satisfy all conditions; remembered, since statements share them."""
        if not conditions:
            return self
        if conditions not in self.filtered:
            rows = select(conditions, self.frame)
            assert rows is not None
            self.filtered[conditions] = self if len(rows) == self.frame.rows else self.at(rows)
        return self.filtered[conditions]

    def at(self, rows: np.ndarray) -> Events:
        """The events at the given positions."""
        return Events(self.frame.take(rows), self.versions[rows], self.weights[rows])


@dataclass(frozen=True)
class _Working:
    """Partial results: variables bound so far, the version of the event behind each, and the product so far."""

    frame: Frame
    versions: np.ndarray
    units: np.ndarray

    def take(self, rows: np.ndarray) -> _Working:
        return _Working(self.frame.take(rows), self.versions[rows], self.units[rows])


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
    working = _start(plan, events.where(plan.conditions))
    for index in _order(plan, first):
        if len(working.units) == 0:
            return None
        working = _join(plan, plan.reads[index], working, sources(index), target.name)
    working = _finish(plan, working, target.name) if len(working.units) else working
    if len(working.units) == 0:
        return None
    keys = [canonical(evaluate(k, working.frame)) for k in plan.keys]
    columns = [*keys, pa.array(working.versions + plan.offset), pa.array(working.units)]
    names = [*(k.name for k in target.keys), VERSION, VALUE]
    return pa.table(dict(zip(names, columns, strict=True)))


def _order(plan: StatementPlan, first: int | None) -> list[int]:
    order = list(range(len(plan.reads)))
    if first is not None and plan.reorderable:
        order.remove(first)
        order.insert(0, first)
    return order


def _start(plan: StatementPlan, events: Events) -> _Working:
    units = events.weights * 10**plan.shift
    working = _Working(events.frame, events.versions, units)
    working = _scale(plan.factors, working, plan.target)
    columns = {name: evaluate(scalar, working.frame) for name, scalar in plan.carried}
    return _Working(Frame(columns, len(working.units)), working.versions, working.units)


def _scale(factors: Sequence[Scalar], working: _Working, place: str) -> _Working:
    """Multiply by scalars; a NULL factor contributes nothing, like a row that SUM skips."""
    for factor in factors:
        values = evaluate(factor, working.frame)
        if values.null_count:
            kept = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
            working, values = working.take(kept), values.take(pa.array(kept))
        units = multiply(working.units, to_numpy(values), place)
        working = _Working(working.frame, working.versions, units)
    return working


def _join(plan: StatementPlan, read: ReadPlan, working: _Working, runs: Sequence[RunData], place: str) -> _Working:
    bound = [evaluate(b, working.frame) for b in read.bound]
    request = probe(bound, working.versions + (plan.offset + read.after))
    if not read.free:
        sums = sum_points(runs, read.path.bound, request)
        hit = np.flatnonzero(sums)
        working = working.take(hit)
        return _Working(working.frame, working.versions, multiply(working.units, sums[hit], place))
    slices = read_slices(runs, read.path.bound, tuple(i for i, _ in read.free), request)
    working = working.take(slices.request)
    columns, kept = _bind(read, dict(working.frame.columns), slices.free)
    units = multiply(working.units, slices.values, place)
    joined = _Working(Frame(columns, len(units)), working.versions, units)
    return joined if kept is None else joined.take(kept)


def _bind(
    read: ReadPlan, columns: dict[str, pa.Array], values: Sequence[pa.Array]
) -> tuple[dict[str, pa.Array], np.ndarray | None]:
    """Bind loop variables; one that occurs twice in the same read must have equal values there."""
    kept: pa.Array | None = None
    for (_, name), value in zip(read.free, values, strict=True):
        if name in columns:
            both_null = pc.and_(pc.is_null(columns[name]), pc.is_null(value))
            same = pc.or_(pc.fill_null(pc.equal(columns[name], value), False), both_null)
            kept = same if kept is None else pc.and_(kept, same)
        else:
            columns[name] = value
    return columns, None if kept is None else np.flatnonzero(kept.to_numpy(zero_copy_only=False))


def _finish(plan: StatementPlan, working: _Working, place: str) -> _Working:
    rows = select(plan.late_conditions, working.frame)
    working = working if rows is None else working.take(rows)
    return _scale(plan.late_factors, working, place)
