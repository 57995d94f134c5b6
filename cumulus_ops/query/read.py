"""Reading views off the maps: tentative, committed, or as of an epoch.

Reading takes no lock and waits for nobody: it looks at the runs of one commit and, for a snapshot, at the versions up to
the end of its epoch, below which nothing changes any more. It is a step (:mod:`cumulus_ops.catalog.leases`), so that the files of
those runs stay until it is done, however long that takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog.records import Run
from cumulus_ops.compute.vector import Frame, evaluate, evaluate_logical, select
from cumulus_ops.coordination.barriers import CHECKPOINT, waits_for
from cumulus_ops.maps.columns import logical_type, physical_type, stack, to_column, to_logical, to_numpy
from cumulus_ops.maps.deltas import VALUE, VERSION, digits_of, sum_exactly, value_column
from cumulus_ops.maps.encodings import is_number
from cumulus_ops.maps.lookup import probe, read_slices
from cumulus_ops.maps.packs import open_run
from cumulus_ops.maps.runs import AccessPath, RunData
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.errors import InputProblem, NotYet, ViewInError
from cumulus_ops.project.versions import epoch_end
from cumulus_ops.query.lists import collect_lists, rank_lists
from cumulus_ops.query.partitions import Partitions
from m3.datatypes import from_units
from m3.errors import ValueProblem
from m3.program import MapDecl, OutputColumn, View, ViewList
from m3.scalars import Var, call, vars_of
from m3.view_errors import condition_of, failed_check, unreadable

__all__ = [
    "Kept",
    "Moment",
    "all_rows",
    "entries_to_read",
    "failed_check_of",
    "failed_checks",
    "failed_checks_upto",
    "in_order",
    "read_groups",
    "read_map",
    "read_snapshot",
    "read_view",
    "require_retained",
    "snapshot_epoch",
    "sort_places",
    "stored_groups",
    "sum_maps",
]


# The stored entries of maps, summed up: as of a commit, up to a version, of some partitions.


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
    with rt.catalog.leases.step():
        return entries_at(rt, name, Moment(rt.catalog.commits.last_commit(), upto))


def entries_at(rt: Runtime, name: str, moment: Moment) -> pa.Table:
    """The same at a moment, within a step."""
    decl: MapDecl = rt.program.map_by_name[name]
    summed = sum_maps(rt, [name], moment).rename_columns([*(k.name for k in decl.keys), VALUE])
    return summed.filter(pc.not_equal(summed[VALUE], 0))


def stored_groups(rt: Runtime, moment: Moment) -> set[str]:
    """The groups of maps that have runs; most checks never have one."""
    return {r.map for r in rt.catalog.commits.runs(moment.commit) if moment.counts(r)}


def sum_maps(rt: Runtime, names: Sequence[str], moment: Moment, kept: Kept | None = None) -> pa.Table:
    """The entries of maps of one group: columns ``#0``, ``#1``, ..., and each map's total under its name."""
    group = rt.plan.groups[rt.plan.group_of[names[0]]]
    places = group.places(names[0])
    keys = [f"#{i}" for i in range(len(group.keys))]
    mine = None if kept is None else Kept(tuple(places[k] for k in kept.keys), kept.values)
    paths = rt.plan.paths[group.name]
    path = paths[0]
    if mine is not None:  # a copy in which the partitions' rows lie together, and that has all that is asked for
        whole = (p for p in paths if (p.keys is None or len(p.keys) == len(keys)) and _is_sorted_for(p, mine))
        path = next((p for p in whole if p.values is None or {*names} <= {*p.values}), path)
    runs = [r for r in rt.catalog.commits.runs(moment.commit) if (r.map, r.access_path) == (group.name, path.label)]
    opened = [open_run(rt.project.state / r.path, r.offset, r.bytes, r.root) for r in runs if moment.counts(r)]
    fields = [pa.field(k, physical_type(c.type)) for k, c in zip(keys, group.keys, strict=True)]
    schema = pa.schema([*fields, *(pa.field(name, pa.int64()) for name in names)])
    digits = (digits_of(name, run.values) for run in opened for name in names if name in run.values)
    if mine is not None and opened and _is_sorted_for(path, mine) and all(len(columns) <= 1 for columns in digits):
        tables = [_look_up_entries(opened, path, mine, names, keys, moment)]
    else:
        tables = [_read_run(run, keys, names, moment, mine) for run in opened]
    stacked = stack(tables) if tables else schema.empty_table()
    if len(places) == len(keys):
        return sum_exactly(stacked, keys, list(names))
    chosen = [keys[place] for place in places]  # of a map that is kept as a part of a wider one
    summed = sum_exactly(stacked, chosen, list(names))
    return summed.select([*chosen, *names]).rename_columns([*keys[: len(chosen)], *names])


def _read_run(run: RunData, keys: list[str], names: Sequence[str], moment: Moment, kept: Kept | None) -> pa.Table:
    table = run.table(keys, names)
    if moment.version is not None and run.newest > moment.version:
        table = table.filter(pc.less_equal(table[VERSION], moment.version))
    if kept is not None:
        places = kept.values.place([table[keys[k]] for k in kept.keys])
        table = table.filter(pa.array(places >= 0))
    values = [c for name in names for c in digits_of(value_column(name), table.column_names)]
    return table.select([*keys, *values]).rename_columns([*keys, *(c[1:] for c in values)])


def _is_sorted_for(path: AccessPath, kept: Kept) -> bool:
    """Whether a look-up finds the partitions' rows without going through others. Texts are found by their hash, which takes all columns
    of a path."""
    first = path.bound[: len(kept.keys)]
    known = len(first) == len(path.bound) or all(is_number(c.type) for c in kept.values.columns)
    return known and bool(first) and set(first) == set(kept.keys)


def _look_up_entries(
    runs: Sequence[RunData], path: AccessPath, kept: Kept, names: Sequence[str], keys: list[str], moment: Moment
) -> pa.Table:
    """The entries of the partitions, looked up: a cost of their size, and not of the map's."""
    bound = tuple(kept.values.columns[kept.keys.index(k)] for k in path.bound[: len(kept.keys)])
    rows = len(kept.values)
    before = np.full(rows, np.iinfo(np.int64).max if moment.version is None else moment.version + 1)
    found = read_slices(runs, names, range(len(keys)), probe(bound, before))
    values: Mapping[str, np.ndarray] = found.values
    return pa.table([*found.free, *(to_column(values[name]) for name in names)], [*keys, *names])


def read_view(
    rt: Runtime, view: str, as_of: int | None = None, tentative: bool = False, *, ordered: bool = True
) -> pa.Table:
    """The rows of a view.

    Args:
        rt: the open project.
        view: the view's name.
        as_of: read the snapshot of this epoch, as its revision has it; None reads the newest snapshot, as the current revision has it, whose
            groups were filled up to there at the least.
        tentative: read what has been applied so far instead, which corrections may still change.
        ordered: apply the view's ORDER BY, OFFSET and LIMIT; False gives all rows in any order.

    Returns:
        a table with the view's visible columns in their declared types.

    Raises:
        NotYet: there is no such snapshot yet.
        ViewInError: an expression of the view fails for some rows, see :func:`m3.view_errors.failed_check`, or for the totals
            that its columns are computed from.
        InputProblem: the epoch is no longer retained.
        Conflict: this process stood still for so long that others deleted what it was reading; it can be read again.
    """
    with rt.catalog.leases.step():
        if tentative:
            return _shown(rt, rt.program.view(view), Moment(rt.catalog.commits.last_commit(), None), ordered=ordered)
        epoch = snapshot_epoch(rt, as_of)
        return read_snapshot(rt if as_of is None else _in_snapshot(rt, view, epoch), view, epoch, ordered=ordered)


def read_snapshot(rt: Runtime, view: str, epoch: int, *, ordered: bool = True) -> pa.Table:
    """The rows of a view in the snapshot of an epoch, as the revision that is opened has them, see :func:`read_view`."""
    with rt.catalog.leases.step():
        rows: pa.Table | ViewInError
        try:
            moment = Moment(rt.catalog.commits.last_commit(), epoch_end(epoch))
            rows = _shown(rt, rt.program.view(view), moment, ordered=ordered)
        except ViewInError as problem:
            rows = problem
        require_retained(rt, epoch)  # still: a merge may have folded it meanwhile
        if isinstance(rows, ViewInError):
            raise rows
        return rows


def _shown(rt: Runtime, view: View, moment: Moment, *, ordered: bool) -> pa.Table:
    rows = all_rows(rt, view, moment)
    return (in_order(view, rows) if ordered else rows).select([c.name for c in view.visible])


def _in_snapshot(rt: Runtime, view: str, epoch: int) -> Runtime:
    """The project in the revision of a snapshot.

    Raises:
        NotYet: the view was deployed later.
    """
    then = rt.as_of(epoch)
    if view in rt.program.view_by_name and view not in then.program.view_by_name:
        raise NotYet(
            f"view {view} was deployed after epoch {epoch}",
            kind="view-later",
            place=f"epoch {epoch}",
            hint="the next snapshot has it; `--tentative` shows what it says so far",
        )
    return then


def all_rows(rt: Runtime, view: View, moment: Moment, kept: Kept | None = None, *, checked: bool = True) -> pa.Table:
    """The rows of a view at a moment, within a step, in any order and with the columns that are not visible.

    Args:
        rt: the open project.
        view: the view.
        moment: which deltas count.
        kept: only these partitions; the places are those of the view's keys.
        checked: whether the view's checks are looked at, which are about all its rows.

    Raises:
        ViewInError: see :func:`read_view`.
    """
    problem = failed_check_of(rt, view, moment) if checked else None
    if problem is not None:
        raise problem

    def read_list(made: ViewList, frame: Frame) -> pa.Array:
        return _read_list(rt, view, made, frame, moment, kept)

    return _evaluate_columns(rt, view, _read_entries(rt, view, moment, kept), read_list).combine_chunks()


def entries_to_read(rt: Runtime, view: str) -> int:
    """How many stored entries :func:`read_view` goes through, at the most, for all rows are made before the first is given."""
    declared = rt.program.view(view)
    groups = {rt.plan.group_of[name] for name in declared.maps()}
    paths = {(group, rt.plan.paths[group][0].label) for group in groups}
    return sum(
        r.rows for r in rt.catalog.commits.runs(rt.catalog.commits.last_commit()) if (r.map, r.access_path) in paths
    )


def failed_checks(rt: Runtime, as_of: int | None = None, tentative: bool = False) -> dict[str, ViewInError]:
    """The views that are in error because an expression fails for some rows, and why; costs next to nothing where none is.

    Args:
        rt: the open project.
        as_of: in the snapshot of this epoch; None is the newest one.
        tentative: by what has been applied so far.
    """
    if tentative:
        return failed_checks_upto(rt, None)
    epoch = snapshot_epoch(rt, as_of)
    found = failed_checks_upto(rt, epoch_end(epoch))
    require_retained(rt, epoch)
    return found


def failed_checks_upto(rt: Runtime, upto: int | None) -> dict[str, ViewInError]:
    """The same with versions up to ``upto`` (inclusive; None counts all), which need not be a snapshot's yet."""
    with rt.catalog.leases.step():
        moment = Moment(rt.catalog.commits.last_commit(), upto)
        stored = stored_groups(rt, moment)
        found = ((view.name, failed_check_of(rt, view, moment, stored)) for view in rt.program.views)
        return {name: problem for name, problem in found if problem is not None}


def failed_check_of(
    rt: Runtime, view: View, moment: Moment, stored: Collection[str] | None = None
) -> ViewInError | None:
    """Why a view is in error at a moment, within a step: its first check that has entries. ``stored``: the groups that have runs, if that
    is known."""
    if stored is None:
        stored = stored_groups(rt, moment) if view.checks else ()
    for check in view.checks:
        if rt.plan.group_of[check.map] not in stored or not len(entries := entries_at(rt, check.map, moment)):
            continue
        columns = rt.program.map_by_name[check.map].keys
        # with the least of the entries, so that everybody sees the same
        entries = entries.take(_sort_ascending(entries)) if columns else entries
        example = [to_logical(entries[c.name].combine_chunks()[:1], c.type)[0].as_py() for c in columns]
        rows = sum(entries[VALUE].cast(pa.decimal128(38, 0)).to_pylist())
        return _in_its_file(rt, failed_check(rt.program, view, check, example, int(rows)))
    return None


def read_groups(rt: Runtime, view: str, as_of: int) -> pa.Table:
    """Every group that has a non-zero entry in some map of a view, whether or not it exists as a row: for auditing.

    Returns:
        ``group`` string (the keys, for people) and ``rows`` int64 (the entry of the map that says whether it exists);
        without rows where the view has no such map.
    """
    declared = rt.program.view(view)
    schema = pa.schema([("group", pa.string()), ("rows", pa.int64())])
    if declared.exists is None:
        return schema.empty_table()
    with rt.catalog.leases.step():
        moment = Moment(rt.catalog.commits.last_commit(), epoch_end(snapshot_epoch(rt, as_of)))
        totals, names = _sum_totals(rt, declared, moment, None)
        require_retained(rt, as_of)
    totals = _drop_zeros(totals, names)
    logical = [to_logical(totals[f"#{i}"].combine_chunks(), k.type) for i, k in enumerate(declared.keys)]
    texts = [pc.fill_null(column.cast(pa.string()), "NULL") for column in logical]
    group = pc.binary_join_element_wise(*texts, ", ") if texts else pa.array([""] * len(totals), pa.string())
    return pa.table({"group": group, "rows": totals[declared.exists]}).cast(schema)


def snapshot_epoch(rt: Runtime, as_of: int | None) -> int:
    """The epoch whose snapshot is read: ``as_of``, or the newest.

    Raises:
        NotYet: there is no such snapshot yet.
        InputProblem: it is no longer retained.
    """
    newest = rt.catalog.snapshots.newest()
    if newest < 0 and waits_for(rt.coordination, CHECKPOINT):
        raise NotYet(
            "there is no snapshot yet", kind="no-snapshot", hint="wait for an epoch to end, or read --tentative"
        )
    epoch = newest if as_of is None else as_of
    if epoch > newest and waits_for(rt.coordination, CHECKPOINT):
        raise NotYet(f"epoch {epoch} has no snapshot", kind="no-snapshot", hint=f"committed: 0 to {newest}")
    require_retained(rt, epoch)
    return epoch


def require_retained(rt: Runtime, epoch: int) -> None:
    """See that the snapshot of an epoch is readable.

    Raises:
        InputProblem: it is not.
    """
    oldest = rt.catalog.snapshots.oldest_readable()
    if epoch < oldest:
        hint = f"the oldest is {oldest}; `retain` and `pin` under `epochs:` in cumulus.yaml keep more"
        raise InputProblem(f"epoch {epoch} is no longer retained", kind="not-retained", hint=hint)


def _read_entries(rt: Runtime, view: View, moment: Moment, kept: Kept | None) -> pa.Table:
    """The rows of the view: its keys, and the entry of each of its maps; a row of a bag stands once for each copy."""
    total, names = _sum_totals(rt, view, moment, kept)
    if view.exists and view.repeated:
        copies = np.maximum(to_numpy(total[view.exists].combine_chunks()), 0)
        return total.take(pa.array(np.repeat(np.arange(len(total)), copies)))
    if view.exists and not view.keys:
        return total if len(total) else pa.table({n: pa.array([0], pa.int64()) for n in names})
    return total.filter(pc.greater(total[view.exists], 0)) if view.exists else _drop_zeros(total, names)


def _sum_totals(rt: Runtime, view: View, moment: Moment, kept: Kept | None) -> tuple[pa.Table, list[str]]:
    """One row per key with the entry of every map of the view: maps are stacked with zeros for each other and summed."""
    names = _maps_of(view)
    together: dict[str, list[str]] = {}
    for name in names:
        together.setdefault(rt.plan.group_of[name], []).append(name)
    tables = [sum_maps(rt, maps, moment, kept) for maps in together.values()]
    if len(tables) == 1:
        return tables[0], names
    stacked = []
    for table in tables:
        zeros = pa.array(np.zeros(len(table), np.int64))
        for other in names:
            if other not in table.column_names:
                table = table.append_column(other, zeros)
        stacked.append(table.select([*(f"#{i}" for i in range(len(view.keys))), *names]))
    return sum_exactly(stack(stacked), [f"#{i}" for i in range(len(view.keys))], names), names


def _maps_of(view: View) -> list[str]:
    """The maps that have the view's keys."""
    return sorted({v.map for v in view.values} | ({view.exists} if view.exists else set()))


def _drop_zeros(total: pa.Table, names: list[str]) -> pa.Table:
    return total.filter(reduce(pc.or_, [pc.not_equal(total[name], 0) for name in names]))


def _read_list(rt: Runtime, view: View, made: ViewList, frame: Frame, moment: Moment, kept: Kept | None) -> pa.Array:
    """A list for each row."""
    names = [k.name for k in view.keys]
    mine = None  # the partitions' entries only, if the groups say in which they are
    if kept is not None and all(names[k] in made.at for k in kept.keys):
        mine = Kept(tuple(made.at.index(names[k]) for k in kept.keys), kept.values)
    entries = sum_maps(rt, [made.map], moment, mine)
    return collect_lists(made, rt.program.map_by_name[made.map], entries, frame)


def _evaluate_columns(
    rt: Runtime, view: View, entries: pa.Table, read_list: Callable[[ViewList, Frame], pa.Array]
) -> pa.Table:
    columns = {k.name: entries[f"#{i}"].combine_chunks() for i, k in enumerate(view.keys)}
    columns |= {v.name: entries[v.map].combine_chunks() for v in view.values}
    frame = Frame(columns, len(entries), totals=frozenset(v.name for v in view.values))
    if view.having is not None:
        try:
            kept = select((view.having,), frame)
        except InputProblem:
            raise _describe_failure(rt, view, condition_of(view), frame) from None
        assert kept is not None
        frame = frame.take(kept)
    schema = pa.schema([pa.field(c.name, logical_type(c.expression.type)) for c in view.columns])
    made, lists = [], view.list_by_name
    for column in view.columns:
        if isinstance(column.expression, Var) and column.expression.name in lists:
            made.append(read_list(lists[column.expression.name], frame))
            continue
        try:
            made.append(evaluate_logical(column.expression, frame))
        except InputProblem:
            raise _describe_failure(rt, view, column, frame) from None
    return pa.Table.from_arrays(made, schema=schema)


def _describe_failure(rt: Runtime, view: View, column: OutputColumn, frame: Frame) -> ViewInError:
    """What an expression fails for: how many rows, and the least of them."""
    expression = column.expression
    failing = frame.take(np.flatnonzero(to_numpy(evaluate(call("fails", expression), frame))))
    keys = [failing.columns[k.name] for k in view.keys]
    numbered = pa.table([*keys, np.arange(failing.rows)], [*(f"#{i}" for i in range(len(keys))), "row"])
    least = failing.take(_sort_ascending(numbered)[:1])
    row = {k.name: to_logical(least.columns[k.name], k.type)[0].as_py() for k in view.keys}
    for variable in vars_of(expression).values():
        if variable.name in frame.totals:
            row[variable.name] = from_units(int(to_numpy(least.columns[variable.name])[0]), variable.type.scale)
    return _in_its_file(rt, unreadable(view, column, row, failing.rows))


def _in_its_file(rt: Runtime, problem: ValueProblem) -> ViewInError:
    """The error with the file of the view in whose text its place is, below the project's folder."""
    place = "" if problem.span is None else str(rt.as_edited.in_file(problem.span))
    return ViewInError(problem.message, kind=problem.kind, place=place, hint=problem.hint)


def _sort_ascending(table: pa.Table) -> np.ndarray:
    """The places of the rows in the order of all columns; NULL is the least."""
    return sort_places(table, [(name, False) for name in table.column_names])


def sort_places(table: pa.Table, order: Sequence[tuple[str, bool]]) -> np.ndarray:
    """The places of the rows in the order of some columns, each (name, descending); NULL is the least, NaN the greatest number."""
    for index, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_floating(column.type):  # Arrow sorts NaN to NULL's end, ascending and descending
            ranks = pc.rank(column.combine_chunks(), sort_keys="ascending", tiebreaker="dense")
            table = table.set_column(index, name, pc.if_else(pc.is_null(column), None, ranks))
        elif pa.types.is_list(column.type):
            table = table.set_column(index, name, rank_lists(column.combine_chunks()))
    keys = [(name, *(("descending", "at_end") if down else ("ascending", "at_start"))) for name, down in order]
    return to_numpy(pc.sort_indices(table, sort_keys=keys))


def in_order(view: View, table: pa.Table) -> pa.Table:
    """All rows of a view after its ORDER BY, OFFSET and LIMIT; NULL is the smallest value, and ties are broken by all columns, so that
    reading twice gives the same."""
    if (
        view.order or view.limit is not None or view.offset
    ):  # which rows are first is to be decided without an ORDER BY, too
        chosen = {index for index, _ in view.order}
        ties = [(i, False) for i in range(len(view.columns)) if i not in chosen]
        table = table.take(sort_places(table, [(table.column_names[i], down) for i, down in [*view.order, *ties]]))
    return table.slice(view.offset, view.limit)
