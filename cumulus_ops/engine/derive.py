"""Bringing one derivation up to date: its groups' rows computed anew wherever their inputs have changed.

A derived map's deltas are a function of its inputs' deltas: in each batch (or event) that touches an input of a group, the
group's row as of before the batch goes and the row as of after it comes. So for every group with a changed input, all
batches are gone through from the first changed one on; what the group's deltas should be there, less what is stored, is
what there is to add. That makes it right whatever was computed before, early batches that arrive late included.

All groups and all their batches are computed together: a **point** is a group and a version before which deltas count.
The first point of a group is the start of its first changed batch, the others the group's later versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.engine.collected import collect
from cumulus_ops.engine.correct import States
from cumulus_ops.engine.doubles import sum_doubles
from cumulus_ops.engine.sources import EVER
from cumulus_ops.engine.vector import Frame, evaluate
from cumulus_ops.engine.windowing import window_rows
from cumulus_ops.layout import DerivedPlan, GroupLookup, InputPlan, ProgramPlan
from cumulus_ops.mapstore import (
    VERSION,
    AccessPath,
    Probe,
    RunData,
    canonical,
    first_live,
    is_wide,
    physical_type,
    probe,
    read_since,
    read_slices,
    stack,
    sum_points,
    to_numpy,
    total_column,
    value_column,
    with_values,
)
from m3.collected import COLLECTED
from m3.program import Derivation, Windowing

__all__ = ["derive"]


@dataclass(frozen=True)
class _Groups:
    """Groups with changed inputs: their keys, and the start of the first changed batch or event of each (inclusive)."""

    keys: tuple[pa.Array, ...]
    since: np.ndarray

    def request(self, lookup: GroupLookup) -> Probe:
        """A lookup of every group's deltas from there on."""
        return probe(lookup.bound(self.keys), self.since)


@dataclass(frozen=True)
class _Points:
    """Points in the order of their groups and versions: ``group`` indexes the groups, ``before`` is exclusive."""

    group: np.ndarray
    before: np.ndarray
    keys: tuple[pa.Array, ...]

    @property
    def first(self) -> np.ndarray:
        """Which points are the first of their group."""
        return np.r_[True, self.group[1:] != self.group[:-1]]

    @property
    def last(self) -> np.ndarray:
        """Which points are the last of their group."""
        return np.r_[self.group[1:] != self.group[:-1], True]


@dataclass(frozen=True)
class _Rows:
    """Rows of the derived map: the point of each, its keys beyond the group's, its multiplicity."""

    point: np.ndarray
    columns: tuple[pa.Array, ...]
    counts: np.ndarray


def derive(plan: ProgramPlan, derived: DerivedPlan, states: States) -> list[pa.Table]:
    """The deltas of a derived map.

    Args:
        plan: the program's plan.
        derived: the derivation.
        states: the maps: as they were, what is new of base maps, and what this step has computed.
    """
    groups = _changed(plan, derived, states)
    if groups is None:
        return []
    points = _points(plan, derived, states, groups)
    rows = _derivation_rows if isinstance(derived.derived, Derivation) else _windowing_rows
    wanted = _telescoped(plan, derived, points, rows(plan, derived, states, points))
    return [*wanted, _stored(plan, derived, states, groups)]


def _width(derived: DerivedPlan) -> int:
    return derived.group.width


def _distinct(derived: DerivedPlan) -> list[GroupLookup]:
    """A lookup of each copy that the inputs are read from by the group alone; other copies are of the same maps."""
    return list({i.lookup.path: i.lookup for i in derived.inputs if not i.given.at}.values())


def _changed(plan: ProgramPlan, derived: DerivedPlan, states: States) -> _Groups | None:
    names = [f"k{i}" for i in range(_width(derived))]
    paths = [lookup.path for lookup in _distinct(derived)]
    runs = [run for path in paths for run in states.new.get(path) + states.own.get(path)]
    tables = [
        pa.table(
            [*(run.keys[i].all() for i in range(len(names))), pa.array(run.versions.all_units())], [*names, VERSION]
        )
        for run in runs
    ]
    if not tables:
        return None
    table = stack(tables)
    if not names:
        since = np.array([pc.min(table[VERSION]).as_py()])
    else:
        table = table.group_by(names, use_threads=False).aggregate([(VERSION, "min")])
        since = to_numpy(table[f"{VERSION}_min"].combine_chunks())
    keys = tuple(table[name].combine_chunks() for name in names)
    return _Groups(keys, plan.versions.whole(since))


def _points(plan: ProgramPlan, derived: DerivedPlan, states: States, groups: _Groups) -> _Points:
    """Every group's start, and all its versions from there on."""
    earliest = int(groups.since.min())
    found = [
        read_since(_runs(states, given.path, since=earliest), (), (), groups.request(given))
        for given in _distinct(derived)
    ]
    group = np.concatenate([np.arange(len(groups.since)), *(f.request for f in found)])
    stages = [plan.versions.stage(f.versions, derived.stage) for f in found]
    before = np.concatenate([groups.since, *stages])
    order = np.lexsort((before, group))
    group, before = group[order], before[order]
    fresh = np.flatnonzero(np.r_[True, (group[1:] != group[:-1]) | (before[1:] != before[:-1])])
    group, before = group[fresh], before[fresh]
    chosen = pa.array(group)
    return _Points(group, before, tuple(k.take(chosen) for k in groups.keys))


def _runs(states: States, path: AccessPath, before: int = EVER, since: int = -EVER) -> list[RunData]:
    return states.old.get(path, before, since) + states.new.get(path, before, since) + states.own.get(path)


def _derivation_rows(plan: ProgramPlan, derived: DerivedPlan, states: States, points: _Points) -> _Rows:
    """At each point the group's row, if there is one."""
    derivation = derived.derived
    assert isinstance(derivation, Derivation)
    inputs = _inputs(plan, derived, states, points)
    rows = np.flatnonzero(_any_given(list(inputs.values())))
    totals = frozenset(given.name for given in derived.inputs if given.kind == "value")
    frame = Frame(dict(zip(derivation.keys, points.keys, strict=True)) | inputs, len(points.group), totals=totals).take(
        rows
    )
    counts = to_numpy(evaluate(derivation.count, frame))
    there = np.flatnonzero(counts)
    if len(there) < len(rows):
        frame = frame.take(there)
    columns = tuple(canonical(evaluate(c.expression, frame)) for c in derivation.outputs)
    return _Rows(rows[there], columns, counts[there])


def _inputs(plan: ProgramPlan, derived: DerivedPlan, states: States, points: _Points) -> dict[str, pa.Array]:
    """The inputs of a derivation at each point; those that are totals in one copy are looked up together."""
    newest = int(points.before.max())
    requests: dict[tuple[AccessPath, tuple[str, ...]], Probe] = {}
    totals: dict[AccessPath, dict[str, np.ndarray]] = {}
    result: dict[str, pa.Array] = {}
    for given in derived.inputs:
        path, at = given.lookup.path, given.given.at
        runs = _runs(states, path, newest)
        if (path, at) not in requests:
            known = [*points.keys, *(result[name] for name in at)]
            requests[path, at] = probe(given.lookup.bound(known), points.before)
        if given.kind == "value" and path not in totals:
            names = [i.lookup.column for i in derived.inputs if i.kind == "value" and i.lookup.path == path]
            totals[path] = sum_points(runs, names, requests[path, at])
        if given.kind == "value":
            result[given.name] = total_column(totals[path][given.lookup.column])
        else:
            result[given.name] = _input(plan, given, runs, requests[path, at])
    return result


def _input(plan: ProgramPlan, given: InputPlan, runs: Sequence[RunData], request: Probe) -> pa.Array:
    """An input that is not a total: the key column after the group's is looked at."""
    width, column = given.lookup.width, given.lookup.column
    keys = plan.program.map_by_name[column].keys
    if given.kind == "sum":
        return sum_doubles(read_slices(runs, [column], (width,), request), column, len(request))
    if given.kind in COLLECTED:
        found = read_slices(runs, [column], tuple(range(width, len(keys))), request)
        return collect(given.given, keys[-1].type, found, column, len(request))
    kind = physical_type(keys[width].type)
    return first_live(runs, (width, column), request, kind, descending=given.kind == "max")


def _any_given(inputs: Sequence[pa.Array]) -> np.ndarray:
    """Where some input is neither NULL nor 0."""
    given = np.zeros(len(inputs[0]), dtype=bool)
    for column in inputs:
        known = column.is_valid().to_numpy(zero_copy_only=False)
        numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or is_wide(column.type)
        if numeric or pa.types.is_boolean(column.type):
            zero = pa.scalar(0).cast(column.type)
            known &= pc.fill_null(pc.not_equal(column, zero), False).to_numpy(zero_copy_only=False)
        given |= known
    return given


def _windowing_rows(plan: ProgramPlan, derived: DerivedPlan, states: States, points: _Points) -> _Rows:
    """At each point the rows of the partition with their results."""
    windowing = derived.derived
    assert isinstance(windowing, Windowing)
    (given,) = derived.inputs
    source = plan.program.map_by_name[windowing.source]
    free = tuple(range(_width(derived), len(source.keys)))
    runs = _runs(states, given.lookup.path, int(points.before.max()))
    request = probe(given.lookup.bound(points.keys), points.before)
    found = read_slices(runs, [windowing.source], free, request)
    return _Rows(*window_rows(windowing, source, points.keys, found))


def _telescoped(plan: ProgramPlan, derived: DerivedPlan, points: _Points, rows: _Rows) -> list[pa.Table]:
    """The rows of each point come at its version and go at the next one of its group; before the first they were there."""
    come = np.flatnonzero(~points.first[rows.point])
    go = np.flatnonzero(~points.last[rows.point])
    parts = []
    for chosen, shift, sign in ((come, 0, 1), (go, 1, -1)):
        at = rows.point[chosen]
        keys = [k.take(pa.array(at)) for k in points.keys]
        others = [c.take(pa.array(chosen)) for c in rows.columns]
        parts.append(_delta(plan, derived, [*keys, *others], points.before[at + shift], sign * rows.counts[chosen]))
    return parts


def _stored(plan: ProgramPlan, derived: DerivedPlan, states: States, groups: _Groups) -> pa.Table:
    """What is stored of the groups' later versions, negated."""
    name, total = derived.derived.map, len(plan.program.map_by_name[derived.derived.map].keys)
    runs = states.old.get(derived.group.path, since=int(groups.since.min()))
    found = read_since(runs, [name], tuple(range(_width(derived), total)), groups.request(derived.group))
    keys = [k.take(pa.array(found.request)) for k in groups.keys]
    return _delta(plan, derived, [*keys, *found.free], found.versions, -found.values[name])


def _delta(
    plan: ProgramPlan, derived: DerivedPlan, keys: Sequence[pa.Array], versions: np.ndarray, values: np.ndarray
) -> pa.Table:
    declared = plan.program.map_by_name[derived.derived.map].keys
    columns = [k if is_wide(k.type) else k.cast(physical_type(d.type)) for k, d in zip(keys, declared, strict=True)]
    names = [*(d.name for d in declared), VERSION]
    table = pa.table(dict(zip(names, [*columns, pa.array(versions)], strict=True)))
    return with_values(table, {value_column(derived.derived.map): values})
