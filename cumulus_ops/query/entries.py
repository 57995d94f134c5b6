"""The stored entries of maps, summed up: as of a commit, up to a version, of some partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog import Run
from cumulus_ops.engine import Runtime
from cumulus_ops.mapstore import (
    VALUE,
    VERSION,
    AccessPath,
    RunData,
    digits_of,
    is_number,
    open_run,
    physical_type,
    probe,
    read_slices,
    stack,
    sum_exactly,
    to_column,
    value_column,
)
from cumulus_ops.query.partitions import Partitions
from m3.program import MapDecl

__all__ = ["Kept", "Moment", "read_map", "stored_groups", "sum_maps"]


@dataclass(frozen=True)
class Moment:
    """What a read counts: deltas that are visible at ``commit``, with versions up to ``version``, and that were new with a commit up to
    ``horizon`` (all inclusive; None: all of them)."""

    commit: int
    version: int | None = None
    horizon: int | None = None

    def counts(self, run: Run) -> bool:
        """Whether a run that is visible may have such deltas."""
        return (self.version is None or run.min_version <= self.version) and (
            self.horizon is None or run.origin <= self.horizon
        )


@dataclass(frozen=True)
class Kept:
    """The partitions that a read is about: ``keys`` are the places of their columns among a map's keys, ``values`` physical ones."""

    keys: tuple[int, ...]
    values: Partitions


def read_map(rt: Runtime, name: str, upto: int | None = None) -> pa.Table:
    """All non-zero entries of a map: its keys (physical types) and ``_value`` (units, wide if some are beyond 64 bits).

    Args:
        rt: the open project.
        name: the map's name.
        upto: count only versions up to this one (inclusive); None counts all.
    """
    with rt.catalog.step():
        return entries_at(rt, name, Moment(rt.catalog.last_commit(), upto))


def entries_at(rt: Runtime, name: str, moment: Moment) -> pa.Table:
    """The same at a moment, within a step."""
    decl: MapDecl = rt.program.map_by_name[name]
    summed = sum_maps(rt, [name], moment).rename_columns([*(k.name for k in decl.keys), VALUE])
    return summed.filter(pc.not_equal(summed[VALUE], 0))


def stored_groups(rt: Runtime, moment: Moment) -> set[str]:
    """The groups of maps that have runs; most checks never have one."""
    return {r.map for r in rt.catalog.runs(moment.commit) if moment.counts(r)}


def sum_maps(rt: Runtime, names: Sequence[str], moment: Moment, kept: Kept | None = None) -> pa.Table:
    """The entries of maps of one group: columns ``#0``, ``#1``, ..., and each map's total under its name."""
    group = rt.plan.groups[rt.plan.group_of[names[0]]]
    places = group.places(names[0])
    keys = [f"#{i}" for i in range(len(group.keys))]
    mine = None if kept is None else Kept(tuple(places[k] for k in kept.keys), kept.values)
    paths = rt.plan.paths[group.name]
    path = (None if mine is None else _path_by(paths, mine, names, len(keys))) or paths[0]
    runs = [r for r in rt.catalog.runs(moment.commit) if (r.map, r.access_path) == (group.name, path.label)]
    opened = [open_run(rt.project.state / r.path, r.offset, r.bytes) for r in runs if moment.counts(r)]
    fields = [pa.field(k, physical_type(c.type)) for k, c in zip(keys, group.keys, strict=True)]
    schema = pa.schema([*fields, *(pa.field(name, pa.int64()) for name in names)])
    if mine is not None and opened and _is_sorted_for(path, mine) and _has_few_digits(opened, names):
        tables = [_found(opened, path, mine, names, keys, moment)]
    else:
        tables = [_run_entries(run, keys, names, moment, mine) for run in opened]
    stacked = stack(tables) if tables else schema.empty_table()
    if len(places) == len(keys):
        return sum_exactly(stacked, keys, list(names))
    chosen = [keys[place] for place in places]  # of a map that is kept as a part of a wider one
    summed = sum_exactly(stacked, chosen, list(names))
    return summed.select([*chosen, *names]).rename_columns([*keys[: len(chosen)], *names])


def _run_entries(run: RunData, keys: list[str], names: Sequence[str], moment: Moment, kept: Kept | None) -> pa.Table:
    table = run.table(keys, names)
    if moment.version is not None and run.newest > moment.version:
        table = table.filter(pc.less_equal(table[VERSION], moment.version))
    if kept is not None:
        places = kept.values.place([table[keys[k]] for k in kept.keys])
        table = table.filter(pa.array(places >= 0))
    values = [c for name in names for c in digits_of(value_column(name), table.column_names)]
    return table.select([*keys, *values]).rename_columns([*keys, *(c[1:] for c in values)])


def _path_by(paths: Sequence[AccessPath], kept: Kept, names: Sequence[str], width: int) -> AccessPath | None:
    """A copy in which the partitions' rows lie together, and that has all that is asked for."""
    for path in paths:
        whole = path.keys is None or len(path.keys) == width
        if whole and _is_sorted_for(path, kept) and (path.values is None or {*names} <= {*path.values}):
            return path
    return None


def _is_sorted_for(path: AccessPath, kept: Kept) -> bool:
    """Whether a look-up finds the partitions' rows without going through others. Texts are found by their hash, which takes all columns
    of a path."""
    first = path.bound[: len(kept.keys)]
    known = len(first) == len(path.bound) or all(is_number(c.type) for c in kept.values.columns)
    return known and bool(first) and set(first) == set(kept.keys)


def _has_few_digits(runs: Sequence[RunData], names: Sequence[str]) -> bool:
    """Whether values lie in one column each."""
    return all(len(digits_of(name, run.values)) <= 1 for run in runs for name in names if name in run.values)


def _found(
    runs: Sequence[RunData], path: AccessPath, kept: Kept, names: Sequence[str], keys: list[str], moment: Moment
) -> pa.Table:
    """The entries of the partitions, looked up: a cost of their size, and not of the map's."""
    bound = tuple(kept.values.columns[kept.keys.index(k)] for k in path.bound[: len(kept.keys)])
    rows = len(kept.values)
    before = np.full(rows, np.iinfo(np.int64).max if moment.version is None else moment.version + 1)
    found = read_slices(runs, names, range(len(keys)), probe(bound, before))
    values: Mapping[str, np.ndarray] = found.values
    return pa.table([*found.free, *(to_column(values[name]) for name in names)], [*keys, *names])
