"""What a step reads, and how it keeps within its memory: events of the log, runs of the maps, and deltas that the step itself has computed so far."""

from __future__ import annotations

import os
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import LogFile, NewRun, Run
from cumulus_ops.compute.kernel import Events
from cumulus_ops.compute.vector import Frame
from cumulus_ops.files.log_files import OpenLog, read_fresh
from cumulus_ops.layout.plans import ProgramPlan
from cumulus_ops.maps.columns import least, stack, to_physical, whole_column
from cumulus_ops.maps.deltas import Deltas, project_deltas
from cumulus_ops.maps.hashes import Hashes, hash_together, rows_of_columns
from cumulus_ops.maps.packs import Pack, open_run, unmap_files
from cumulus_ops.maps.runs import AccessPath, RunData, build_columns, build_run, join_runs
from m3.datatypes import Type
from m3.program import Relation

__all__ = [
    "DEFAULT_MEMORY",
    "EVER",
    "SIGN",
    "STAMP",
    "STATEMENTS_PER_EVENT",
    "WHOLE",
    "BatchRef",
    "OpenedRuns",
    "OwnDeltas",
    "Part",
    "StoredRuns",
    "events_of",
    "load_events",
    "newest_version",
    "opened_runs",
    "read_events",
    "rows_at_once",
    "rows_of",
    "rows_within",
    "slices_of",
    "write_deltas",
]


# How a step keeps within the memory that its project allows it (``memory:`` in ``cumulus.yaml``).
#
# A quarter is for runs that the process remembers, a quarter for deltas that have not been written, a quarter for the rows of one
# join; the rest is for what Arrow and numpy hold beside them.


#: Where nobody says how much.
DEFAULT_MEMORY = 4 << 30
#: What a row of a join or of a merge takes on its way: a dozen columns of 8 bytes, twice.
ROW_BYTES = 200
FEWEST_ROWS = 10_000


def rows_within(memory: int) -> int:
    """As many rows of a join, or of runs to merge, fit into a quarter of ``memory`` bytes."""
    return max(FEWEST_ROWS, memory // 4 // ROW_BYTES)


#: An event that is met by more statements costs more, in proportion: 0.1 to 0.4 microseconds for each of them, in programs of one to 22 queries. So many of them
#: cost what is counted as one event, also in memory: 8.7 million events of Q17, for which three count, took 2.6 GB beside mapped files, and of all 22 queries, of
#: whose statements 48 meet a lineitem, 11 GB.
STATEMENTS_PER_EVENT = 7


def rows_at_once(plan: ProgramPlan, memory: int) -> int:
    """As many events of a program fit into a batch as a step with ``memory`` bytes may hold. The larger a batch, the fewer times is derived anew what a delivery changes."""
    met = Counter(statement.relation for statements in plan.statements.values() for statement in statements)
    return rows_within(memory) * STATEMENTS_PER_EVENT // max(STATEMENTS_PER_EVENT, *met.values())


# What a process remembers of stored runs: opened ones, those that it wrote itself, and merged views of small recent ones.
#
# Every mini-batch leaves a small run in each access path, and a lookup meets all of them until they are merged on disk. So :data:`FANOUT` of
# them, oldest first, become one in memory when a lookup first meets them (decision 0088). Nothing is only in memory: whatever is forgotten
# is read from the files again.


#: As many small runs are looked up as one. Up to sixteen come before they are merged on disk: apart they are 8.5 on average, four by four 3, for a
#: merger with each fourth batch, of some 0.15 ms, which is what six searches cost.
FANOUT = 4
#: Larger runs are looked up by themselves: to merge one with three that have a thousandth of its rows takes longer than a search more.
SEARCHED_ROWS = 4_096
#: Larger ones are not remembered when they have been written.
SMALL_ROWS = 16_384
#: After so many steps a process looks whether files that it has mapped are gone: one that does not collect garbage itself learns it from the disk alone.
LOOK_EVERY = 16
#: What an opened run takes at least: its header.
HEADER_BYTES = 4_096
DEFAULT_BYTES = 1 << 30

Place = tuple[str, str, int]  # a state's folder, a pack's file, and where in it
Key = tuple[Place, ...]


class OpenedRuns:
    """A memory of runs, within a budget; what was used longest ago is forgotten first.

    Args:
        budget_bytes: about how much memory they may take, mapped files not counted.
    """

    def __init__(self, budget_bytes: int = DEFAULT_BYTES) -> None:
        self.budget_bytes = budget_bytes
        self._kept: OrderedDict[Key, tuple[RunData, int]] = OrderedDict()
        self._bytes = 0
        self._limited = 0
        self._lock = Lock()

    def limit(self, budget_bytes: int) -> None:
        """Set the budget, for the next step; now and then let go of what others have deleted."""
        self.budget_bytes = budget_bytes
        with self._lock:
            self._forget()
        self._limited += 1
        if self._limited % LOOK_EVERY == 0:
            self.unmap_gone()

    def unmap_gone(self) -> None:
        """Let go of mapped runs whose file was deleted: as long as it is mapped, the disk keeps its bytes. What is in memory stays: if the file was deleted by
        accident, a merge still can write anew what this process has written."""
        with self._lock:
            mapped = {key for key, (_, size) in self._kept.items() if size == HEADER_BYTES}
            files = {(root, file) for key in mapped for root, file, _ in key}
            gone = {(root, file) for root, file in files if not os.path.exists(f"{root}/{file}")}
            self._drop([key for key in mapped if any((root, file) in gone for root, file, _ in key)])
        unmap_files()

    def forget(self, root: str, files: Collection[str]) -> None:
        """Let go of the runs in some files below ``root`` that nobody needs any more."""
        with self._lock:
            gone = {(root, file) for file in files}
            self._drop([key for key in self._kept if any((root, file) in gone for root, file, _ in key)])
        self.unmap_gone()

    def _drop(self, keys: Collection[Key]) -> None:
        for key in keys:
            self._bytes -= self._kept.pop(key)[1]

    def open(self, root: str, run: NewRun) -> RunData:
        """A run, mapped from its file unless this process has it already."""
        key = (_place(root, run),)
        found = self._get(key)
        return (
            found
            if found is not None
            else self._put(key, open_run(f"{root}/{run.path}", run.offset, run.bytes, run.root), 0)
        )

    def keep(self, root: str, run: NewRun, data: RunData) -> None:
        """Remember a run that was just written; only small ones, which would be read again soon."""
        if run.rows <= SMALL_ROWS:
            self._put((_place(root, run),), data, max(1, data.nbytes))

    def written(self, root: str, runs: Sequence[Run]) -> list[RunData]:
        """Runs of one access path for somebody who writes anew what they hold: as this process has written or merged them in memory, as far as that is
        remembered, or verified once more, for what was verified when it was opened may have been damaged since."""
        single, groups = _group(sorted(runs, key=lambda run: run.id))
        found = []
        for group in groups:
            merged = self._in_memory(tuple(_place(root, run) for run in group))
            if merged is None:
                single += group
            else:
                found.append(merged)
        for run in single:
            kept = self._in_memory((_place(root, run),))
            found.append(open_run(f"{root}/{run.path}", run.offset, run.bytes, run.root) if kept is None else kept)
        return found

    def _in_memory(self, key: Key) -> RunData | None:
        with self._lock:
            data, size = self._kept.get(key, (None, 0))
        return data if size > HEADER_BYTES else None  # what was opened takes its header alone

    def together(self, root: str, runs: Sequence[Run], names: Sequence[str]) -> list[RunData]:
        """The runs of one access path, small ones in groups.

        Args:
            root: the state folder.
            runs: the runs, in the order of their ids.
            names: names of the group's key columns.
        """
        single, groups = _group(runs)
        return [*(self.open(root, run) for run in single), *(self._merged(root, group, names) for group in groups)]

    def _merged(self, root: str, runs: Sequence[Run], names: Sequence[str]) -> RunData:
        """The runs as one."""
        key = tuple(_place(root, run) for run in runs)
        found = self._get(key)
        if found is not None:
            return found
        parts = [self.open(root, run) for run in runs]
        merged = build_columns(join_runs(parts, names), parts[0].path)
        return self._put(key, merged, merged.nbytes)

    def _get(self, key: Key) -> RunData | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def _put(self, key: Key, data: RunData, size: int) -> RunData:
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                return known[0]
            self._kept[key] = data, size + HEADER_BYTES
            self._bytes += size + HEADER_BYTES
            self._forget()
        return data

    def _forget(self) -> None:
        while self._bytes > self.budget_bytes and len(self._kept) > 1:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size


def _place(root: str, run: NewRun) -> Place:
    return root, run.path, run.offset


def _group(runs: Sequence[Run]) -> tuple[list[Run], list[list[Run]]]:
    """Runs that are looked up by themselves, and groups of small ones that are as one: always four by four from the oldest on. A new run leaves the
    groups before it as they are, so what was merged stays of use."""
    small = [run for run in runs if run.rows <= SEARCHED_ROWS]
    full = len(small) // FANOUT * FANOUT
    single = [run for run in runs if run.rows > SEARCHED_ROWS]
    return [*single, *small[full:]], [small[i : i + FANOUT] for i in range(0, full, FANOUT)]


#: This process's.
opened_runs = OpenedRuns()


EVER = 2**63 - 1  # after all versions
#: The i-th of n parts.
Part = tuple[int, int]
WHOLE: Part = (0, 1)

#: From so many deltas of one map on, they are written as soon as they are final.
WRITTEN_ROWS = 100_000


class StoredRuns:
    """Visible runs by access path. Files are opened when first needed and stay mapped in this process."""

    def __init__(self, plan: ProgramPlan, root: Path, runs: Iterable[Run]) -> None:
        self._plan, self._root = plan, str(root)
        self._by_path = defaultdict[tuple[str, str], list[Run]](list)
        self._found: dict[tuple[AccessPath, int, int], list[RunData]] = {}
        self._oldest: dict[tuple[str, str], int] = {}
        newest = -EVER
        for run in runs:
            self._by_path[run.map, run.access_path].append(run)
            if run.max_version > newest:
                newest = run.max_version
        self._newest = newest

    @cached_property
    def oldest(self) -> int:
        """The lowest version in all runs, above all versions if there are none."""
        return min((run.min_version for runs in self._by_path.values() for run in runs), default=EVER)

    def get(self, path: AccessPath, before: int = EVER, since: int = -EVER) -> list[RunData]:
        """The runs of ``path`` that may hold a delta with a version from ``since`` (inclusive) to ``before`` (exclusive)."""
        if before > self._newest:  # as for most batches: then all versions find the same
            before = EVER
        key = (path, before, since)
        found = self._found.get(key)
        if found is None:
            runs = self._by_path.get((path.map, path.label), ())
            wanted = [r for r in runs if r.min_version < before and r.max_version >= since]
            found = self._found[key] = opened_runs.together(self._root, wanted, self._plan.key_names(path.map))
        return found

    def any_before(self, path: AccessPath, before: int) -> bool:
        """Whether some run of ``path`` has a delta with a version below ``before`` (exclusive)."""
        copy = (path.map, path.label)
        if copy not in self._oldest:
            self._oldest[copy] = min((r.min_version for r in self._by_path.get(copy, ())), default=EVER)
        return self._oldest[copy] < before

    def newest(self, path: AccessPath) -> int:
        """The highest version in the runs of ``path`` (inclusive), below all versions if there are none."""
        return max((r.max_version for r in self._by_path.get((path.map, path.label), ())), default=-EVER)


class OwnDeltas:
    """Deltas of this step, by map, and as sorted runs for whatever access path asks.

    With a ``plan`` and a ``pack``, a map's many deltas are written as soon as they are final, and read from there; and so are
    all, the largest first, while they take more than ``limit_bytes``. The maps ``passing`` are not wanted in the end, and have
    only these copies: they are written when memory is short alone, to a file of their own, which is deleted.
    """

    def __init__(
        self,
        plan: ProgramPlan | None = None,
        pack: Pack | None = None,
        limit_bytes: int = DEFAULT_MEMORY,
        passing: Mapping[str, Sequence[AccessPath]] | None = None,
    ) -> None:
        self._plan, self._pack, self._limit_bytes = plan, pack, limit_bytes
        self._passing = passing or {}
        self._aside = None if pack is None else Pack(pack.root, pack.label)
        self._final: dict[str, int] = {}
        self._final_bytes = 0
        self._deltas: dict[str, Deltas] = {}
        self._runs: dict[AccessPath, RunData] = {}
        self._first: dict[str, int] = {}
        self._root = ""
        self._others: dict[tuple[str, str], list[NewRun]] = {}
        self._first_of_others: dict[str, int] = {}
        self._written: dict[str, np.ndarray] = {}

    def take(self, root: Path, runs: Iterable[NewRun]) -> None:
        """Read deltas of this step that other tasks have written below ``root``, beside those that this one has."""
        self._root = str(root)
        for run in runs:
            first = min(self._first_of_others.get(run.map, EVER), run.min_version)
            self._first[run.map] = min(self._first.get(run.map, EVER), first)
            self._first_of_others[run.map] = first
            self._others.setdefault((run.map, run.access_path), []).append(run)

    def put(self, name: str, deltas: Deltas, *, final: bool = False) -> None:
        """Set the summed deltas of a map. ``final``: they will not be set again."""
        for path in [p for p in self._runs if p.map == name] if name in self._first else ():
            del self._runs[path]
        first = least(deltas.versions()) if len(deltas) else EVER
        self._first[name] = min(first, self._first_of_others.get(name, EVER))
        self._deltas[name] = deltas
        if final and self._plan is not None and self._pack is not None:
            size = deltas.nbytes
            self._final_bytes += size - self._final.get(name, 0)
            self._final[name] = size
            if len(deltas) >= WRITTEN_ROWS and name not in self._passing:
                self._write(name)
            # The largest first: it frees most for one path's sorting, and small ones are kept for the reads of deeper maps.
            while self._final_bytes > self._limit_bytes:
                self._write(max(self._final, key=self._final.__getitem__))

    def _write(self, name: str) -> None:
        assert self._plan is not None
        pack = self._aside if name in self._passing else self._pack
        assert pack is not None
        self._final_bytes -= self._final.pop(name)
        paths = self._passing.get(name, self._plan.paths[name]) if len(self._deltas[name]) else ()
        for path, known in zip(paths, self._hash([name])[0] if paths else (), strict=True):
            if len(self._build(path)):
                self._runs[path] = pack.read(pack.append(self._build(path), known))
            self._written.setdefault(path.map, self._runs[path].versions.all_units())
        del self._deltas[name]

    def _build(self, path: AccessPath) -> RunData:
        run = self._runs.get(path)
        if run is None:
            deltas = self._deltas[path.map]
            if path.keys is None and path.values is None:
                run = build_columns(deltas.columns, path)
            else:
                run = build_run(project_deltas(deltas.table(), path.keys, path.values), path)
            self._runs[path] = run
        return run

    def get(self, path: AccessPath, before: int = EVER) -> list[RunData]:
        """The map's deltas as runs: one of this task, and those that others have written; none, if none has a version below ``before`` (exclusive): events of
        a batch share a version, and most of what they read is as it was before them."""
        if not self.any_before(path, before):
            return []
        others = [opened_runs.open(self._root, run) for run in self._others.get((path.map, path.label), ())]
        if not len(self._deltas.get(path.map, ())) and path not in self._runs:
            return others
        run = self._build(path)
        return [*others, run] if run.rows else others

    def any_before(self, path: AccessPath, before: int) -> bool:
        """Whether the map has a delta with a version below ``before`` (exclusive)."""
        return self._first.get(path.map, EVER) < before

    def touches(self, name: str) -> bool:
        """Whether the map has deltas."""
        return self._first.get(name, EVER) != EVER

    def touched(self) -> list[str]:
        """The maps that have deltas."""
        return [name for name, first in self._first.items() if first != EVER]

    def deltas(self, name: str) -> Deltas | None:
        """The map's deltas, None if it was not touched, or they have been written."""
        return self._deltas.get(name)

    def table(self, name: str) -> pa.Table | None:
        """The same as a table."""
        found = self._deltas.get(name)
        return None if found is None else found.table()

    def _left(self) -> list[str]:
        """The maps with deltas that have not been written."""
        return [name for name, deltas in self._deltas.items() if len(deltas)]

    def versions(self, without: Collection[str] = ()) -> Mapping[str, np.ndarray]:
        """The versions of all deltas, by map, but for some maps."""
        found = {name: self._deltas[name].versions() for name in self._left() if name not in without}
        return found | {name: written for name, written in self._written.items() if name not in without}

    def finish(self) -> tuple[NewRun, ...]:
        """Write all that has not been written, and make it durable.

        Returns:
            the runs of all maps that are wanted, for the catalog.
        """
        assert self._plan is not None
        assert self._pack is not None
        assert self._aside is not None
        self._aside.discard()
        wanted = [name for name in self._left() if name not in self._passing]
        for name, hashes in zip(wanted, self._hash(wanted), strict=True):
            for path, known in zip(self._plan.paths[name], hashes, strict=True):
                run = self._build(path)
                if len(run):
                    opened_runs.keep(str(self._pack.root), self._pack.append(run, known), run)
                del self._runs[path]
        return self._pack.close()

    def discard(self) -> None:
        """Delete what was written: nobody wants it."""
        for pack in (self._pack, self._aside):
            if pack is not None:
                pack.discard()

    def _hash(self, names: Sequence[str]) -> list[list[Hashes]]:
        """The hashes of each copy of some maps."""
        assert self._plan is not None
        copies = [self._passing.get(name, self._plan.paths[name]) for name in names]
        wanted = [[(path.keys, path.values) for path in paths] for paths in copies]
        return hash_together(
            [(rows_of_columns(self._deltas[name].columns), each) for name, each in zip(names, wanted, strict=True)]
        )


def write_deltas(plan: ProgramPlan, root: Path, deltas: Mapping[str, Deltas], label: str = "") -> tuple[NewRun, ...]:
    """Write summed deltas, once per access path of each map; nothing becomes visible by it. ``label`` says whose step does."""
    own = OwnDeltas(plan, Pack(root, label))
    for name, summed in deltas.items():
        own.put(name, summed)
    return own.finish()


# Reading stamped events back from the log as vectorised input of the kernel.


SIGN = "_sign"
STAMP = "_version"


@dataclass(frozen=True)
class BatchRef:
    """An appended batch as the engine sees it: its log files, and what its versions follow from
    (:class:`cumulus_ops.coordination.schemes.Stamped`)."""

    id: int
    epoch: int
    ticket: int
    files: tuple[LogFile, ...]
    coordinator: int
    first_sequence: int
    events: int

    def relations(self) -> set[str]:
        """The relations it has events of."""
        return {f.relation for f in self.files}


def rows_of(batches: Sequence[BatchRef]) -> int:
    """Rows in the log files of ``batches``."""
    return sum(f.rows for b in batches for f in b.files)


def newest_version(plan: ProgramPlan, batches: Sequence[BatchRef], relation: str) -> int:
    """An upper bound (inclusive) of the versions of a relation's events, without reading them."""
    rank = plan.ranks[relation]
    return max(plan.versions.newest(b, rank) for b in batches if relation in b.relations())


def load_events(
    plan: ProgramPlan,
    root: Path,
    batches: Sequence[BatchRef],
    relation: str,
    part: Part = WHOLE,
    columns: Collection[str] | None = None,
) -> dict[int, Events]:
    """The events of one relation in some batches, as {sign: events}; only the columns that the program uses.

    Sign 1 are the inserts, -1 the deletes, 0 all of them weighted by their signs.

    Args:
        plan: the program's plan.
        root: the state folder.
        batches: which batches to read.
        relation: which relation.
        part, columns: see :func:`read_events`.
    """
    table = read_events(plan, root, batches, relation, part, columns)
    if table is None:
        return {}
    found = ((sign, events_of(plan, relation, table, sign)) for sign in plan.signs.get(relation, ()))
    return {sign: events for sign, events in found if events.frame.rows}


def read_events(
    plan: ProgramPlan,
    root: Path,
    batches: Sequence[BatchRef],
    relation: str,
    part: Part = WHOLE,
    columns: Collection[str] | None = None,
) -> pa.Table | None:
    """The stamped events of one relation as a table: its columns in physical form, ``_sign`` and ``_version``.

    Args:
        plan: the program's plan.
        root: the state folder.
        batches: which batches to read.
        relation: which relation.
        part: (i, n): only the i-th of n parts of all its rows, which are two slices of them in the order of the batches and their files.
        columns: only these columns; None for those that the program uses.

    Returns:
        the table, or None if no batch has events of the relation.
    """
    wanted = [c for c in plan.columns[relation] if columns is None or c in columns]
    types = {c.name: c.type for c in plan.program.relation_by_name[relation].columns if c.name in wanted}
    declared = plan.program.relation_by_name[relation]
    files = [(batch, file) for batch in batches for file in batch.files if file.relation == relation]
    if not files:
        return None
    # Neighbours, and not some of each file: whole files are left to others, and events that came together often have keys that lie together. But deletes often come
    # before inserts, and find more: with one slice each, of two tasks one had all of them, and 1.6 times the work.
    here, number = part
    slices = [(here, number)] if number == 1 else [(here, 2 * number), (here + number, 2 * number)]
    sizes = [file.rows for _, file in files]
    chosen = [(place, rows) for slice_ in slices for place, rows in enumerate(slices_of(sizes, slice_)) if rows]
    tables = [
        _read(root, file, declared, types, plan.versions.stamp(batch, plan.ranks[relation]), rows)
        for place, rows in chosen or [(0, range(0))]  # one is left for the types of its columns
        for batch, file in [files[place]]
    ]
    return tables[0] if len(tables) == 1 else stack(tables).combine_chunks()


def slices_of(sizes: Sequence[int], part: Part) -> list[range]:
    """Which rows of each of some things, one after the other, are in the i-th of n slices of all their rows.

    >>> slices_of([10, 3, 5], (1, 2))
    [range(9, 10), range(0, 3), range(0, 5)]
    """
    starts = [0, *accumulate(sizes)]
    begin, end = (starts[-1] * place // part[1] for place in (part[0], part[0] + 1))
    return [range(max(begin - start, 0), min(end - start, size)) for size, start in zip(sizes, starts, strict=False)]


def _read(
    root: Path,
    file: LogFile,
    relation: Relation,
    types: Mapping[str, Type],
    stamp: int | None,
    rows: range,
) -> pa.Table:
    """Neighbouring rows of a file in physical form: how a log file stores a column is its own affair, and differs between files."""
    names = [*types, SIGN, *([STAMP] if stamp is None else [])]
    table = read_fresh(file, relation, names) if len(rows) == file.rows else None
    table = _read_part(root, file, relation, names, rows) if table is None else table
    stamps = whole_column(table[STAMP]) if stamp is None else pa.array(np.full(len(table), stamp))
    arrays = [to_physical(table[name], type_) for name, type_ in types.items()]
    return pa.table([*arrays, whole_column(table[SIGN]), stamps], names=[*types, SIGN, STAMP])


def _read_part(root: Path, file: LogFile, relation: Relation, names: Sequence[str], rows: range) -> pa.Table:
    """Neighbouring rows of a file; only the row groups that have some of them are read."""
    with OpenLog(root, file) as log:
        starts = np.cumsum([0, *log.groups])
        groups = [i for i in range(len(log.groups)) if starts[i] < rows.stop and starts[i + 1] > rows.start]
        table = log.read_rows(relation, names, groups)
        return table.slice(rows.start - starts[groups[0]], len(rows)) if groups else table


def events_of(plan: ProgramPlan, relation: str, table: pa.Table, sign: int) -> Events:
    """The events of one sign (0 for both) in a table as :func:`read_events` returns it."""
    signs = table[SIGN].to_numpy()
    chosen = signs == sign
    if sign and not chosen.all():
        table, signs = table.filter(pa.array(chosen)), signs[chosen]
    trigger = plan.program.trigger(relation, sign or 1)
    assert trigger is not None  # there is a statement of this sign
    declared = plan.program.relation_by_name[relation].columns
    columns = {
        param: whole_column(table[column.name])
        for param, column in zip(trigger.params, declared, strict=True)
        if column.name in table.column_names
    }
    weights = np.ones(len(table), np.int64) if sign else signs.astype(np.int64)
    return Events(Frame(columns, len(table)), table[STAMP].to_numpy(), weights)
