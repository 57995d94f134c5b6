"""refresh: the maps that depend on derivations, brought up to date with everything that was committed.

Unlike apply and correct it is serialised: one clock, the commit ``refreshed``, says for all these maps what they have
incorporated: all runs of base maps with an origin, and all applied batches with a commit, up to it. One pass in dataflow
order then makes up for the rest:

- a statement of a *new* event (of a batch applied since, or a change of a derived map made in this pass) is evaluated
  against the new state;
- a statement of an *old* event is corrected for reads that have changed, exactly as in :mod:`cumulus_ops.compute.correct`;
- a derivation is computed anew for the groups whose inputs have changed, see :mod:`cumulus_ops.compute.refresh`.

All deltas carry the versions of the batches or events that they belong to, as if everything had come in order.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog.records import Run
from cumulus_ops.compute.apply import Compute, Loaded, apply_statement, read_columns, settle
from cumulus_ops.compute.collected import collect, sum_doubles, window_rows
from cumulus_ops.compute.correct import States, correct_statement
from cumulus_ops.compute.kernel import Events
from cumulus_ops.compute.reading import (
    DEFAULT_MEMORY,
    EVER,
    SMALL_ROWS,
    WHOLE,
    BatchRef,
    OwnDeltas,
    Part,
    StoredRuns,
    newest_version,
    rows_of,
    rows_within,
    slices_of,
)
from cumulus_ops.compute.vector import Frame, evaluate
from cumulus_ops.layout.plans import DerivedPlan, GroupLookup, InputPlan, ProgramPlan
from cumulus_ops.layout.statements import StatementPlan
from cumulus_ops.maps.columns import (
    canonical,
    from_numbers,
    hash_places,
    is_wide,
    physical_type,
    stack,
    take_rows,
    to_numpy,
    total_column,
)
from cumulus_ops.maps.deltas import (
    VERSION,
    Deltas,
    delta_columns,
    delta_values,
    find_starts,
    first_versions,
    value_column,
    versions,
)
from cumulus_ops.maps.lookup import Probe, probe, read_since, read_slices, sum_points
from cumulus_ops.maps.ordered import first_live, read_between
from cumulus_ops.maps.runs import AccessPath, RunData
from cumulus_ops.project.versions import epoch_end
from m3.clock import Passing
from m3.collected import COLLECTED
from m3.datatypes import TIMESTAMP
from m3.evaluate import Value
from m3.program import Derivation, Windowing

__all__ = [
    "RefreshTask",
    "bound_of_refresh",
    "changes_of",
    "derive",
    "first_refreshed",
    "is_correction",
    "is_passed",
    "refresh_maps",
    "refreshing",
]

EPOCH = datetime.datetime(1970, 1, 1)
NEVER = np.iinfo(np.int64).min
#: Kinds of keys that are numbers in a run.
ORDERED = ("int", "date", "timestamp", "decimal")


# Bringing one derivation up to date: its groups' rows computed anew wherever their inputs have changed.
#
# A derived map's deltas are a function of its inputs' deltas: in each batch (or event) that touches an input of a group, the
# group's row as of before the batch goes and the row as of after it comes. So for every group with a changed input, all
# batches are gone through from the first changed one on; what the group's deltas should be there, less what is stored, is
# what there is to add. That makes it right whatever was computed before, early batches that arrive late included.
#
# All groups and all their batches are computed together: a **point** is a group and a version before which deltas count.
# The first point of a group is the start of its first changed batch, the others the group's later versions.


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
        return np.concatenate([[True], self.group[1:] != self.group[:-1]])

    @property
    def last(self) -> np.ndarray:
        """Which points are the last of their group."""
        return np.concatenate([self.group[1:] != self.group[:-1], [True]])


@dataclass(frozen=True)
class _Rows:
    """Rows of the derived map: the point of each, its keys beyond the group's, its multiplicity."""

    point: np.ndarray
    columns: tuple[pa.Array, ...]
    counts: np.ndarray


def derive(plan: ProgramPlan, derived: DerivedPlan, states: States, part: Part = WHOLE) -> list[Deltas]:
    """The deltas of a derived map.

    Args:
        plan: the program's plan.
        derived: the derivation.
        states: the maps: as they were, what is new of base maps, and what this step has computed.
        part: of the groups.
    """
    groups = _find_changed(plan, derived, states, part)
    if groups is None:
        return []
    # A group's rows are computed anew at its start, and at each of its versions from there on, whether it is this step's or later.
    earliest = int(groups.since.min())
    found = [
        read_since(_runs(states, given.path, states.until, earliest), (), (), groups.request(given))
        for given in _distinct(derived)
    ]
    ticked, at = _find_ticks(derived, states, groups)
    group = np.concatenate([np.arange(len(groups.since)), *(f.request for f, _ in found), ticked])
    stages = [plan.versions.stage(v, derived.stage) for v in (*(versions for _, versions in found), at)]
    before = np.concatenate([groups.since, *stages])
    looked_at = (before < states.until).nonzero()[0]
    order = looked_at[np.lexsort((before[looked_at], group[looked_at]))]
    group, before = group[order], before[order]
    fresh = find_starts(group, before)
    group, before = group[fresh], before[fresh]
    points = _Points(group, before, tuple(take_rows(k, group) for k in groups.keys))
    rows = _derivation_rows if isinstance(derived.derived, Derivation) else _windowing_rows
    wanted = _telescope(plan, derived, points, rows(plan, derived, states, points))
    return [wanted, *_negate_stored(plan, derived, states, groups)]


def _width(derived: DerivedPlan) -> int:
    return derived.group.width


def _distinct(derived: DerivedPlan) -> list[GroupLookup]:
    """A lookup of each copy that the inputs are read from by the group alone; other copies are of the same maps."""
    return list({i.lookup.path: i.lookup for i in derived.inputs if not i.given.at and i.kind != "now"}.values())


def _find_changed(plan: ProgramPlan, derived: DerivedPlan, states: States, part: Part) -> _Groups | None:
    names = [f"k{i}" for i in range(_width(derived))]
    paths = [lookup.path for lookup in _distinct(derived)]
    found = [new for path in paths for new in _read_new(states, path, range(len(names)))]
    found += _find_passed(plan, derived, states)
    # Each task looks at all that is new, but whose a row is costs a tenth of finding out which of them have one key.
    cuts = None if part == WHOLE else _cut_order(plan, derived, states, part[1])
    tables = []
    for columns, at in found:
        table = pa.table([*columns, pa.array(at)], [*names, VERSION])
        if cuts is None:
            mine = _rows_of_part(columns, len(at), part)
        else:
            places = cuts.bounds.searchsorted(to_numpy(columns[cuts.position]), "right")
            mine = np.flatnonzero(places == part[0])
        tables.append(table if mine is None else table.take(pa.array(mine)))
    whole = stack(tables) if tables else None
    if whole is None or not len(whole):
        return None
    keys, since = first_versions(whole)
    return _Groups(keys, plan.versions.whole(since))


@dataclass(frozen=True)
class _Cuts:
    """Where parts of the groups begin, but for the first one, by their key column ``position``."""

    position: int
    bounds: np.ndarray


#: So many rows for each part show where it begins.
SAMPLES = 64
#: A part may have so many times its share by them: else a key is hot, and groups are shared out by their hashes.
UNEVEN = 1.25


def _cut_order(plan: ProgramPlan, derived: DerivedPlan, states: States, number: int) -> _Cuts | None:
    """Ranges of the key that inputs are sorted by first, about equal; None if there are none.

    Tasks that have a range each write runs with keys of their own: in those of others the next level's tasks find by the header that there is nothing for
    them. By hashes each searched each run for each of its keys. All tasks find the same bounds, for what is not new but in small runs, which each holds
    together in its own way, does not count.
    """
    paths = [lookup.path for lookup in _distinct(derived)]
    keys = plan.program.map_by_name[derived.derived.map].keys[: _width(derived)]
    position = next((p for path in paths for p in path.bound[:1]), 0)
    if position >= len(keys) or keys[position].type.kind not in ORDERED:
        return None
    runs = [run for path in paths for run in states.new.get(path) + states.own.get(path) if run.rows > SMALL_ROWS]
    if not runs:
        return None
    stride = max(1, sum(run.rows for run in runs) // (number * SAMPLES))
    taken = [to_numpy(run.keys[position].take(np.arange(0, run.rows, stride))) for run in runs]
    samples = np.sort(np.concatenate(taken))
    bounds = samples[len(samples) * np.arange(1, number) // number]
    counts = np.bincount(bounds.searchsorted(samples, "right"), minlength=number)
    return None if counts.max() * number > UNEVEN * len(samples) else _Cuts(position, bounds)


def _rows_of_part(columns: Sequence[pa.Array], rows: int, part: Part) -> np.ndarray | None:
    """The rows of one part of them; None for all. Which those are follows from what is in them, so that all tasks agree, in whatever order each has found them."""
    return None if part == WHOLE else np.flatnonzero(hash_places(columns, rows, part[1]) == part[0])


def _read_new(
    states: States, path: AccessPath, positions: Iterable[int]
) -> Iterator[tuple[list[pa.Array], np.ndarray]]:
    """Some key columns, and the versions, of what is new in each run of a copy."""
    for run in states.new.get(path, states.until, states.since) + states.own.get(path):
        at = run.versions.all_units()
        whole = states.since <= run.oldest and run.newest < states.until
        rows = np.arange(len(at)) if whole else np.flatnonzero((at >= states.since) & (at < states.until))
        if len(rows):
            yield [run.keys[i].all() if whole else run.keys[i].take(rows) for i in positions], at if whole else at[rows]


# What now() passes. A tick is an event of the relation of ticks, and now before a version the greatest tick below it. So when a tick becomes
# known, the groups are concerned whose key lies between what it is compared with before and after it; all other groups are as they
# were. That is so for a tick that is known late, or taken back, too: later ones find in their place what was there before.


def _find_passed(
    plan: ProgramPlan, derived: DerivedPlan, states: States
) -> Iterator[tuple[list[pa.Array], np.ndarray]]:
    """The groups that now passes by a new tick, and the tick's version."""
    clock = derived.clock
    if clock is None:
        return
    path = clock.lookup.path
    new = list(_read_new(states, path, [0]))
    if not new:
        return
    ticks = to_numpy(pa.concat_arrays([keys[0] for keys, _ in new]))
    at = np.concatenate([versions for _, versions in new])
    fresh = plan.versions.whole(np.unique(at))
    edges = (to_numpy(_find_now(clock, states, fresh + more), NEVER).tolist() for more in (0, plan.versions.places))
    positions = range(_width(derived))
    for version, *around in zip(fresh.tolist(), *edges, strict=True):
        known = ticks[plan.versions.whole(at) == version].tolist()
        moments = [*(None if now == NEVER else now for now in around), *known]
        for passed in derived.passings:
            runs = _runs(states, passed.copy)
            for keys in read_between(runs, *_find_span(passed.passing, moments), positions):
                yield [*keys], np.full(len(keys[0]), version)


def is_passed(plan: ProgramPlan, stored: StoredRuns, before: int | None, after: int) -> bool:
    """Whether now() passes an entry of a derivation's input as it goes on (from and to microseconds since 1970)."""
    passings = (passed for derived in plan.derived.values() for passed in derived.passings)
    return any(read_between(stored.get(p.copy), *_find_span(p.passing, [before, after]), ()) for p in passings)


def _find_span(passing: Passing, moments: Sequence[int | None]) -> tuple[int | None, int | None]:
    """From which number to which the keys lie for which a comparison may differ between some times (in microseconds since 1970)."""
    bounds = [None if m is None else passing.bound_at(EPOCH + datetime.timedelta(microseconds=m)) for m in moments]
    if any(bound is None for bound in bounds):
        return None, None  # nothing is there as long as now, or what is compared with, is NULL
    low, high = min(map(_number_of, bounds)), max(map(_number_of, bounds))
    # of equal ones, `>` is as false as it is for those below, and `>=` as true as for those above
    return (low + 1, high) if passing.op in ("gt", "le") else (low, high - 1)


def _number_of(value: Value) -> int:
    """A day, a time or a whole number as maps keep it."""
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days
    assert isinstance(value, int)
    return value


def _find_now(clock: InputPlan, states: States, before: np.ndarray) -> pa.Array:
    """Now, before each of some versions (exclusive): many are equal, and each is looked up once."""
    versions, places = np.unique(before, return_inverse=True)
    path = clock.lookup.path
    runs = _runs(states, path, int(versions.max()))
    found = first_live(runs, (0, clock.lookup.column), probe((), versions), physical_type(TIMESTAMP), descending=True)
    return found.take(pa.array(places))


def _find_ticks(derived: DerivedPlan, states: States, groups: _Groups) -> tuple[np.ndarray, np.ndarray]:
    """The groups, each with the versions of ticks from its first change on."""
    clock = derived.clock
    if clock is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    runs = _runs(states, clock.lookup.path, since=int(groups.since.min()))
    ticks = np.unique(np.concatenate([np.zeros(0, np.int64), *(run.versions.all_units() for run in runs if len(run))]))
    group, tick = np.nonzero(ticks[None, :] >= groups.since[:, None])
    return group, ticks[tick]


def _runs(states: States, path: AccessPath, before: int = EVER, since: int = -EVER) -> list[RunData]:
    return states.old.get(path, before, since) + states.new.get(path, before, since) + states.own.get(path, before)


def _derivation_rows(plan: ProgramPlan, derived: DerivedPlan, states: States, points: _Points) -> _Rows:
    """At each point the group's row, if there is one."""
    derivation = derived.derived
    assert isinstance(derivation, Derivation)
    inputs = _inputs(plan, derived, states, points)
    rows = _any_given(list(inputs.values())).nonzero()[0]
    totals = frozenset(given.name for given in derived.inputs if given.kind == "value")
    frame = Frame(dict(zip(derivation.keys, points.keys, strict=True)) | inputs, len(points.group), totals=totals).take(
        rows
    )
    counts = to_numpy(evaluate(derivation.count, frame))
    there = counts.nonzero()[0]
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
        if given.kind == "now":
            result[given.name] = _find_now(given, states, points.before)
            continue
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
        if pa.types.is_int64(column.type):
            known &= to_numpy(column) != 0
        elif numeric or pa.types.is_boolean(column.type):
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


def _telescope(plan: ProgramPlan, derived: DerivedPlan, points: _Points, rows: _Rows) -> Deltas:
    """The rows of each point come at its version and go at the next one of its group; before the first they were there."""
    come, go = ((~ends[rows.point]).nonzero()[0] for ends in (points.first, points.last))
    chosen = np.concatenate([come, go])
    at = rows.point[chosen]
    keys = [take_rows(k, at) for k in points.keys]
    others = [take_rows(c, chosen) for c in rows.columns]
    versions = points.before[np.concatenate([rows.point[come], rows.point[go] + 1])]
    counts = np.concatenate([rows.counts[come], -rows.counts[go]])
    return _delta(plan, derived, [*keys, *others], versions, counts)


def _negate_stored(plan: ProgramPlan, derived: DerivedPlan, states: States, groups: _Groups) -> list[Deltas]:
    """What is stored of the groups' later versions, negated: nothing, unless something comes late."""
    name, total = derived.derived.map, len(plan.program.map_by_name[derived.derived.map].keys)
    runs = states.old.get(derived.group.path, states.until, int(groups.since.min()))
    if not runs:
        return []
    found, at = read_since(runs, [name], tuple(range(_width(derived), total)), groups.request(derived.group))
    rows = np.flatnonzero(at < states.until)
    keys = [take_rows(k, found.request[rows]) for k in groups.keys]
    others = [take_rows(c, rows) for c in found.free]
    return [_delta(plan, derived, [*keys, *others], at[rows], -found.values[name][rows])]


def _delta(
    plan: ProgramPlan, derived: DerivedPlan, keys: Sequence[pa.Array], versions: np.ndarray, values: np.ndarray
) -> Deltas:
    declared = plan.program.map_by_name[derived.derived.map].keys
    types = [physical_type(d.type) for d in declared]
    columns = [k if k.type == t or is_wide(k.type) else k.cast(t) for k, t in zip(keys, types, strict=True)]
    named = dict(zip((d.name for d in declared), columns, strict=True))
    return Deltas(
        delta_columns({**named, VERSION: from_numbers(versions)}, {value_column(derived.derived.map): values})
    )


@dataclass(frozen=True)
class RefreshTask:
    """Bring the maps that depend on derivations up to date with ``runs``.

    ``refreshed``: the commit up to which they are (inclusive); ``fresh``: the batches applied since; ``history``: the
    batches applied before, of epochs beyond ``committed``, the newest epoch with a snapshot (-1 for none); those may be
    left out whose versions all lie below ``floor``, the version from which on
    (inclusive) there is something new. ``label``: of the step that does."""

    plan: ProgramPlan
    root: Path
    runs: tuple[Run, ...]
    refreshed: int
    fresh: tuple[BatchRef, ...]
    history: tuple[BatchRef, ...]
    committed: int
    floor: int
    memory: int = DEFAULT_MEMORY
    label: str = ""


def refresh_maps(task: RefreshTask, own: OwnDeltas, fresh: Loaded | None = None) -> None:
    """The deltas of all maps that depend on derivations, in one pass in dataflow order.

    Args:
        task: what to refresh.
        own: gets the deltas; those of base maps that it has already, from a batch just applied, are new to the refresh.
        fresh: the events of the fresh batches, if somebody has loaded them already.
    """
    first = first_refreshed(task) | {name for other in own.touched() for name in task.plan.dependents[other]}
    compute = refreshing(task, task.plan.refreshed, fresh)
    settle(task.plan, first, task.plan.refreshed, compute, bound_of_refresh(task), own)


def first_refreshed(task: RefreshTask) -> set[str]:
    """The maps that may have deltas, whatever others have; others than refreshed ones among them."""
    plan = task.plan
    first = {name for b in task.fresh for r in b.relations() for name in plan.triggered.get(r, ())}
    return first | {name for r in task.runs if r.origin > task.refreshed for name in plan.dependents[r.map]}


def bound_of_refresh(task: RefreshTask) -> int:
    """At least as many as there are events in a refresh, changes of derived maps included."""
    return rows_of(task.fresh) + rows_of(task.history) + sum(r.rows for r in task.runs)


def refreshing(task: RefreshTask, maps: Collection[str], fresh: Loaded | None = None, part: Part = WHOLE) -> Compute:
    """What computes the deltas of a map among ``maps``, or one part of them."""
    return _Step(task, maps, fresh, part).compute


def is_correction(task: RefreshTask, versions: np.ndarray) -> np.ndarray:
    """Which deltas, by their versions, make up for something that was computed before, rather than being new."""
    return ~task.plan.versions.within(versions, task.fresh)


class _Step:
    """One refresh: its events and its states of the maps."""

    def __init__(self, task: RefreshTask, maps: Collection[str], fresh: Loaded | None, part: Part) -> None:
        self.task, self.plan, self.part = task, task.plan, part
        new = [r for r in task.runs if r.origin > task.refreshed]  # none, where all that is new is of this step
        self.all = self.old = StoredRuns(task.plan, task.root, task.runs)
        if new:
            self.old = StoredRuns(task.plan, task.root, [r for r in task.runs if r.origin <= task.refreshed])
        self.new = StoredRuns(task.plan, task.root, new)
        usable = fresh is not None and fresh.batches == task.fresh
        columns = read_columns(task.plan, frozenset(maps))
        self.history = Loaded(task.plan, task.root, task.history, task.memory, columns)
        self.fresh = (
            fresh if fresh is not None and usable else Loaded(task.plan, task.root, task.fresh, task.memory, columns)
        )
        self._changes: dict[str, Events | None] = {}
        self._stored: dict[str, Events | None] = {}

    def compute(self, name: str, own: OwnDeltas) -> list[Deltas]:
        """The unsummed deltas of one map."""
        derived = self.plan.derived.get(name)
        if derived is not None:
            return derive(self.plan, derived, States(self.old, self.new, own), self.part)
        return [
            deltas
            for statement in self.plan.statements[name]
            for deltas in (
                self._of_changes(statement, own)
                if statement.relation in self.plan.derived
                else self._of_events(statement, own)
            )
        ]

    def _of_events(self, statement: StatementPlan, own: OwnDeltas) -> list[Deltas]:
        """What the events of a relation add: the new ones all, the old ones where they read something new."""
        target = self.plan.groups[statement.target]
        relation, sign = statement.relation, statement.sign
        new = apply_statement(statement, target, self.fresh.get(relation, sign, self.part), self.all, own)
        batches = [b for b in self.history.batches if relation in b.relations()]
        if not batches:
            return [] if new is None else [new]
        states = States(self.old, self.new, own)
        newest = newest_version(self.plan, batches, relation)
        old = correct_statement(statement, target, newest, lambda: self.history.get(relation, sign, self.part), states)
        return old if new is None else [new, *old]

    def _of_changes(self, statement: StatementPlan, own: OwnDeltas) -> list[Deltas]:
        """The same for the changes of a derived map: new are those that this step has made."""
        target = self.plan.groups[statement.target]
        name = statement.relation
        if name not in self._changes:
            runs = own.get(self.plan.derived[name].group.path)
            self._changes[name] = changes_of(self.plan, name, runs, self.task.memory, slice_=self.part)
        new = apply_statement(statement, target, self._changes[name], self.all, own)
        newest = self.old.newest(self.plan.derived[name].group.path)
        states = States(self.old, self.new, own)
        old = correct_statement(statement, target, newest, lambda: self._past(name), states)
        return old if new is None else [new, *old]

    def _past(self, name: str) -> Events | None:
        """The stored changes of a derived map that are late enough to read something new."""
        if name not in self._stored:
            since = max(epoch_end(self.task.committed) + 1, self.task.floor)
            runs = self.old.get(self.plan.derived[name].group.path, since=since)
            self._stored[name] = changes_of(self.plan, name, runs, self.task.memory, since, part=self.part)
        return self._stored[name]


def changes_of(
    plan: ProgramPlan,
    name: str,
    runs: Sequence[RunData],
    memory: int,
    since: int = -EVER,
    until: int = EVER,
    part: Part = WHOLE,
    slice_: Part = WHOLE,
) -> Events | None:
    """The deltas of a derived map as events weighted by their values, None if there are none.

    Args:
        plan: the program's plan.
        name: the derived map, which has a trigger.
        runs: where its deltas are.
        memory: of the step.
        since, until: only those with versions from one (inclusive) to the other (exclusive).
        part: of the rows that are left; which those are follows from what is in them.
        slice_: (i, n): only the i-th of n slices of all runs, as they are sorted: for tasks that all have the same ones.
    """
    trigger = plan.program.trigger(name, 0)
    assert trigger is not None
    slices = slices_of([run.rows for run in runs], slice_)
    tables = [
        _table(run, name, trigger.params, since, until, rows) for run, rows in zip(runs, slices, strict=True) if rows
    ]
    table = stack(tables) if tables else None
    if table is None or not len(table):
        return None
    columns = {param: table[param].combine_chunks() for param in trigger.params}
    mine = _rows_of_part([*columns.values()], len(table), part)
    if mine is not None:
        if not len(mine):
            return None
        table, columns = table.take(mine), {param: column.take(mine) for param, column in columns.items()}
    weights = delta_values(table, value_column(name))
    return Events(Frame(columns, len(table)), versions(table), weights, limit_rows=rows_within(memory))


def _table(run: RunData, name: str, params: Sequence[str], since: int, until: int, rows: range) -> pa.Table:
    table = run.table(params, [name], None if len(rows) == run.rows else np.arange(rows.start, rows.stop))
    if since <= run.oldest and run.newest < until:
        return table
    at = table[VERSION].to_numpy()
    return table.take(pa.array(np.flatnonzero((at >= since) & (at < until))))
