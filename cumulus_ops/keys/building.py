"""The key index of a relation whose log was written without one: built from the log, part by part of the keys.

What counts of the log is a bag: rows with how often they were inserted more than deleted. Each key ought to have one row once, or none.
What is otherwise came in while the relation was trusted, and is reported; it stays as it is, in the log and in the views.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import KeyIndex, LogFile, NewKeyRun
from cumulus_ops.files.columns import SIGN
from cumulus_ops.files.log_files import OpenLog
from cumulus_ops.keys.columns import KeyCodes, in_key_order, plain
from cumulus_ops.keys.judging import show
from cumulus_ops.keys.merging import RUN_ROWS, group_parts, merge_runs, slice_runs, sort_newest_first
from cumulus_ops.keys.runs import (
    Entries,
    KeyFile,
    Run,
    in_code_order,
    join_entries,
    open_run,
    signature,
    stamp_of,
    stamped_epoch,
)
from cumulus_ops.project.errors import Conflict, IntegrityProblem
from cumulus_ops.project.settings import Project
from m3.program import Relation

if TYPE_CHECKING:  # tasks import this, and no catalog
    from cumulus_ops.catalog.catalog import Catalog

__all__ = [
    "SHOWN",
    "SORTED_ROWS",
    "Proof",
    "Violations",
    "build",
    "ensure_index",
    "find_violations",
    "prove_index",
    "sort_log",
]


log = logging.getLogger(__name__)

#: Log files whose rows are sorted together before they are merged.
SORTED_ROWS = 1 << 20
SHOWN = 10
Progress = Callable[[int, int], None]


@dataclass
class Violations:
    """What is wrong with a log: ``keys`` have not one row once, or none; of the first some, ``shown`` says what they have instead."""

    keys: int = 0
    shown: list[str] = field(default_factory=list)

    def note(self, what: str) -> None:
        """Count one."""
        self.keys += 1
        if len(self.shown) < SHOWN:
            self.shown.append(what)


def ensure_index(project: Project, catalog: Catalog, relation: Relation, label: str) -> KeyIndex:
    """The index of a relation, built if there is none, or if something was appended without it.

    Raises:
        Conflict: somebody else has built it, or appended, at the same time.
    """
    index = catalog.key_indexes.index(relation.name)
    if index is not None and index.signature == signature(relation) and not index.is_behind:
        return index

    def log_progress(done: int, total: int) -> None:
        if total:
            rows = f"{done:,} of {total:,} rows"
            log.info("building the key index of %s from the log: %s", relation.name, rows)

    violations = build(project, catalog, relation, label, log_progress)
    if violations.keys:
        log.error(
            "relation %s: %d keys of what is in the log already have not one row once, or none; it stays as it is:\n  %s",
            relation.name,
            violations.keys,
            "\n  ".join(violations.shown),
        )
    found = catalog.key_indexes.index(relation.name)
    if found is None:
        raise Conflict("the key index moved on", kind="keys-moved", place=relation.name, hint="run it again")
    return found


def build(
    project: Project, catalog: Catalog, relation: Relation, label: str, on_progress: Progress = lambda done, total: None
) -> Violations:
    """Build the index of a relation from the event log, whatever there was.

    Args:
        project: the project.
        catalog: its catalog.
        relation: the relation.
        label: of the step that does it.
        on_progress: called with the rows read so far and all.

    Returns:
        what is wrong with the log.

    Raises:
        Conflict: somebody else has built it, or appended, at the same time.
    """
    replaced = catalog.key_indexes.index(relation.name)
    covers, files = catalog.key_indexes.log(relation.name)
    key, violations = KeyCodes.of(relation), Violations()
    scratch, file = KeyFile(project.state, label), KeyFile(project.state, label)
    try:
        sorted_ = list(sort_log(project.state, relation, key, files, scratch, on_progress))
        scratch.close()
        opened = [open_run(project.state, relation, run) for run in sorted_]
        runs = _write_netted(relation, key, opened, file, catalog.key_indexes.lowest_open_epoch(), violations)
        file.close()
    except BaseException:
        file.discard()
        raise
    finally:
        scratch.discard()
    # what comes of a transaction that fails may be unknown, and then its files are kept; as garbage, if it was not committed
    catalog.key_indexes.put(relation.name, signature(relation), covers, runs, replaced)
    return violations


def find_violations(project: Project, catalog: Catalog, relation: Relation) -> Violations:
    """What in the event log is not as a relation's key says. Nothing is kept of it."""
    _, files = catalog.key_indexes.log(relation.name)
    key, violations = KeyCodes.of(relation), Violations()
    names = [c.name for c in relation.columns]
    with catalog.leases.step() as step:
        scratch = KeyFile(project.state, step.label)
        try:
            runs = list(sort_log(project.state, relation, key, files, scratch))
            scratch.close()
            for parts in slice_runs([open_run(project.state, relation, run) for run in runs], names):
                _net_rows(relation, key, join_entries(parts), 0, violations)
        finally:
            scratch.discard()
    return violations


def sort_log(
    root: Path,
    relation: Relation,
    key: KeyCodes,
    files: Sequence[tuple[LogFile, int, int, str]],
    scratch: KeyFile,
    on_progress: Progress = lambda done, total: None,
) -> Iterator[NewKeyRun]:
    """The log's rows as runs whose counts are signs, each sorted by itself."""
    total, done = sum(file.rows for file, *_ in files), 0
    waiting: list[Entries] = []
    for file, epoch, coordinator, state in files:
        try:
            waiting += list(_read_entries(root, file, relation, key, epoch, coordinator))
        except IntegrityProblem as error:
            if state != "aside":
                raise
            log.error("%s, of a batch that is set aside, is left out of the key index: %s", file.path, error)
        done += file.rows
        if sum(part.rows for part in waiting) >= SORTED_ROWS:
            yield from _write_sorted(relation, waiting, scratch)
            on_progress(done, total)
    yield from _write_sorted(relation, waiting, scratch)
    on_progress(total, total)


def _read_entries(
    root: Path, file: LogFile, relation: Relation, key: KeyCodes, epoch: int, coordinator: int
) -> Iterator[Entries]:
    names = [c.name for c in relation.columns]
    with OpenLog(root, file) as source:
        for group in range(len(source.groups)):
            table = source.read_rows(relation, [*names, SIGN], [group])
            rows = pa.table([plain(table[n]) for n in names], names=names)
            sign = table[SIGN].to_numpy().astype(np.int64)
            codes = key.encode(rows, coordinator)
            yield Entries(codes, sign, np.full(len(rows), stamp_of(epoch, coordinator)), rows)


def _write_sorted(relation: Relation, waiting: list[Entries], scratch: KeyFile) -> Iterator[NewKeyRun]:
    parts = [part for part in waiting if part.rows]
    waiting.clear()
    if parts:
        run = scratch.write(relation, [in_code_order(parts)])
        assert run is not None
        yield run


def _write_netted(
    relation: Relation, key: KeyCodes, runs: Sequence[Run], file: KeyFile, lowest_open: int, violations: Violations
) -> list[NewKeyRun]:
    """What is there of each key, written."""
    names = [c.name for c in relation.columns]
    found: list[NewKeyRun] = []
    waiting: list[Entries] = []
    for parts in slice_runs(runs, names):
        waiting.append(_net_rows(relation, key, join_entries(parts), lowest_open, violations))
        if sum(part.rows for part in waiting) >= RUN_ROWS:
            found += filter(None, [file.write(relation, waiting)])
            waiting = []
    return [*found, *filter(None, [file.write(relation, waiting)])]


def _net_rows(relation: Relation, key: KeyCodes, part: Entries, lowest_open: int, violations: Violations) -> Entries:
    """Of each key in a range of codes the newest row that is there; or that it is gone, if somebody may still be in an earlier epoch."""
    rows, names = part.table, tuple(c.name for c in relation.columns)
    whole_rows = KeyCodes(names, "hashed", key.by_coordinator)
    row_codes = whole_rows.encode(rows, 0) ^ (part.codes if key.by_coordinator else 0)
    order = in_key_order(whole_rows, row_codes, rows)
    begins = np.flatnonzero(order.first)
    places = order.all_places()
    nets = np.add.reduceat(part.counts[places], begins) if len(begins) else np.zeros(0, np.int64)
    stamps = np.maximum.reduceat(part.stamps[places], begins) if len(begins) else nets
    there = np.flatnonzero((nets != 0) | (stamped_epoch(stamps) > lowest_open))
    counts, stamps, at = nets[there], stamps[there], places[begins[there]]
    _note_violations(relation, key, part.codes[at], rows.take(pa.array(at)), counts, violations)
    by_age = np.lexsort((stamps, counts > 0))  # what is there comes last, the newest of it at the end
    counts, stamps, at = counts[by_age], stamps[by_age], at[by_age]
    kept = rows.take(pa.array(at))
    keys = in_key_order(key, part.codes[at], kept)
    ends = np.append(np.flatnonzero(keys.first)[1:], len(at)) - 1 if len(at) else np.zeros(0, np.int64)
    last = keys.at(ends)
    return Entries(keys.codes[ends], np.maximum(counts[last], 0), stamps[last], kept.take(pa.array(last)))


def _note_violations(
    relation: Relation, key: KeyCodes, codes: np.ndarray, rows: pa.Table, counts: np.ndarray, violations: Violations
) -> None:
    """Count keys that have not one row once, or none."""
    there = np.flatnonzero(counts)
    codes, rows, counts = codes[there], rows.take(pa.array(there)), counts[there]
    order = in_key_order(key, codes, rows)
    number, places = np.cumsum(order.first) - 1, order.all_places()
    wrong = counts[places] < 0
    if relation.key:
        wrong |= (counts[places] != 1) | ~order.first
    for wrong_key in np.unique(number[wrong]).tolist():
        here = places[number == wrong_key] if violations.keys < SHOWN else places[:0]
        records = rows.take(pa.array(here)).to_pylist()
        shown = (f"{count} times {show(record)}" for count, record in zip(counts[here].tolist(), records, strict=True))
        violations.note(", ".join(shown))


# Whether a key index says what the log's accepted events say: each row that is there, as often as it is there, and no other one.
#
# What the log has of each row (inserted more often than deleted) and what the index says, taken off, have to leave nothing. Keys of which the
# log itself has not one row once, or none, came in while the relation was trusted, and are left out. So is who has written a key last, and in
# which epoch: of a batch that was dropped the index remembers that, and the log does not.


#: The stamp of what the index says.
SAID = -1
#: How often an index is read anew because somebody appends at the same time.
ATTEMPTS = 5


@dataclass(frozen=True)
class Proof:
    """Of how many ``entries`` of the index of a ``relation``, and of the keys of the log, how many rows ``differ``; of the first some, what
    differs (``shown``)."""

    relation: str
    entries: int
    differ: int
    shown: tuple[str, ...]


def prove_index(project: Project, catalog: Catalog, relation: Relation, label: str) -> Proof | None:
    """Compare the key index of a relation with the event log.

    Args:
        project: the project.
        catalog: its catalog.
        relation: the relation.
        label: of the step that does it; for a while it needs as much room in the state folder as the relation's events in the log.

    Returns:
        what was found; None if there is no index to prove: there is none, or it is one of old, or was left behind, and will be built anew.

    Raises:
        IntegrityProblem: a file of the log, or of the index, is not what was written.
        Conflict: others append all the time.
    """
    found = _read_index_and_log(catalog, relation)
    if found is None:
        return None
    index, files = found
    key, names = KeyCodes.of(relation), [c.name for c in relation.columns]
    scratch = KeyFile(project.state, label)
    try:
        runs = list(sort_log(project.state, relation, key, files, scratch))
        opened = [open_run(project.state, relation, run) for run in sort_newest_first(index.runs)]
        for parts in group_parts(merge_runs(key, opened, names), RUN_ROWS):
            runs += filter(None, [scratch.write(relation, map(_negate, parts))])
        scratch.close()
        differences = list(_find_differences(relation, key, [open_run(project.state, relation, run) for run in runs]))
    finally:
        scratch.discard()
    shown = [text for _, texts in differences for text in texts]
    entries = sum(run.rows for run in index.runs)
    return Proof(relation.name, entries, sum(count for count, _ in differences), tuple(shown[:SHOWN]))


def _negate(part: Entries) -> Entries:
    """What the index says is there, to be taken off."""
    there = np.flatnonzero(part.counts)
    return Entries(part.codes[there], -part.counts[there], np.full(len(there), SAID), part.table.take(pa.array(there)))


def _read_index_and_log(
    catalog: Catalog, relation: Relation
) -> tuple[KeyIndex, Sequence[tuple[LogFile, int, int, str]]] | None:
    """An index, and the log files that are in it, as of one moment."""
    for _ in range(ATTEMPTS):
        index = catalog.key_indexes.index(relation.name)
        if index is None or index.signature != signature(relation) or index.is_behind:
            return None
        covers, files = catalog.key_indexes.log(relation.name)
        again = catalog.key_indexes.index(relation.name)
        if again == index and covers <= index.covers:
            return index, files
    raise Conflict("others append all the time", kind="keys-moved", place=relation.name, hint="run it again")


def _find_differences(relation: Relation, key: KeyCodes, runs: Sequence[Run]) -> Iterator[tuple[int, list[str]]]:
    """How many rows differ in one range of codes after the other, and which, if they are few."""
    names = tuple(c.name for c in relation.columns)
    whole_rows = KeyCodes(names, "hashed", key.by_coordinator)
    for parts in slice_runs(runs, names):
        part = join_entries(parts)
        row_codes = whole_rows.encode(part.table, 0) ^ (part.codes if key.by_coordinator else 0)
        order = in_key_order(whole_rows, row_codes, part.table)
        places, begins = order.all_places(), np.flatnonzero(order.first)
        counts = part.counts[places]
        logged = np.add.reduceat(np.where(part.stamps[places] == SAID, 0, counts), begins)
        left = np.add.reduceat(counts, begins)
        wrong = np.flatnonzero((left != 0) & ~_find_excused(relation, key, part, places[begins], logged))
        if len(wrong):
            rows = part.table.take(pa.array(places[begins[wrong[:SHOWN]]])).to_pylist()
            texts = []
            for row, i in zip(rows, wrong, strict=False):
                more, less = ("the log", "the index") if left[i] > 0 else ("the index", "the log")
                texts.append(f"{more} has {show(row)} {abs(int(left[i]))} times more often than {less}")
            yield len(wrong), texts


def _find_excused(
    relation: Relation, key: KeyCodes, part: Entries, places: np.ndarray, logged: np.ndarray
) -> np.ndarray:
    """Which of some rows have a key of which the log has not one row once, or none; ``logged``: how often it has each row."""
    if not relation.key:
        return logged < 0
    keys = in_key_order(key, part.codes[places], part.table.take(pa.array(places)))
    number = np.empty(len(places), np.int64)
    number[keys.all_places()] = np.cumsum(keys.first) - 1
    total, least = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
    np.add.at(total, number, np.abs(logged))
    np.minimum.at(least, number, logged)
    return np.asarray((total[number] > 1) | (least[number] < 0))
