"""The key index of a relation whose log was written without one: built from the log, part by part of the keys.

What counts of the log is a bag: rows with how often they were inserted more than deleted. Each key ought to have one row once, or none.
What is otherwise came in while the relation was trusted, and is reported; it stays as it is, in the log and in the views.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import Catalog, KeyIndex, LogFile, NewKeyRun
from cumulus_ops.config import Project
from cumulus_ops.errors import Conflict, IntegrityProblem
from cumulus_ops.keys.codes import KeyCodes, in_key_order
from cumulus_ops.keys.columns import plain
from cumulus_ops.keys.events import SIGN
from cumulus_ops.keys.merging import RUN_ROWS, sliced
from cumulus_ops.keys.one_by_one import show
from cumulus_ops.keys.runs import Entries, KeyFile, Run, open_run, stamp_of, stamped_epoch, together
from cumulus_ops.log_files import OpenLog
from m3.program import Relation

__all__ = ["SHOWN", "Violations", "build", "signature", "sort_log", "up_to_date"]

log = logging.getLogger(__name__)

FORMAT = 2
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


def signature(relation: Relation) -> str:
    """What an index is an index of; one with another signature is built anew."""
    columns = [f"{c.name} {c.type}" for c in relation.columns]
    return hashlib.sha256(repr((FORMAT, columns, relation.key)).encode()).hexdigest()


def up_to_date(project: Project, catalog: Catalog, relation: Relation, label: str) -> KeyIndex:
    """The index of a relation, built if there is none, or if something was appended without it.

    Raises:
        Conflict: somebody else has built it, or appended, at the same time.
    """
    index = catalog.key_index(relation.name)
    if index is not None and index.signature == signature(relation) and not index.is_behind:
        return index
    violations = build(project, catalog, relation, label, _log_progress(relation.name))
    if violations.keys:
        log.error(
            "relation %s: %d keys of what is in the log already have not one row once, or none; it stays as it is:\n  %s",
            relation.name,
            violations.keys,
            "\n  ".join(violations.shown),
        )
    found = catalog.key_index(relation.name)
    if found is None:
        raise Conflict("the key index moved on", kind="keys-moved", place=relation.name, hint="run it again")
    return found


def _log_progress(relation: str) -> Progress:
    def show(done: int, total: int) -> None:
        if total:
            log.info("building the key index of %s from the log: %s of %s rows", relation, f"{done:,}", f"{total:,}")

    return show


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
    replaced = catalog.key_index(relation.name)
    covers, files = catalog.key_log(relation.name)
    key, violations = KeyCodes.of(relation), Violations()
    scratch, file = KeyFile(project.state, label), KeyFile(project.state, label)
    try:
        sorted_ = list(sort_log(project.state, relation, key, files, scratch, on_progress))
        scratch.close()
        opened = [open_run(project.state, relation, run) for run in sorted_]
        runs = _netted(relation, key, opened, file, catalog.lowest_open_epoch(), violations)
        file.close()
        catalog.put_key_index(relation.name, signature(relation), covers, runs, replaced)
    except BaseException:
        file.discard()
        raise
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
            waiting += list(_read(root, file, relation, key, epoch, coordinator))
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


def _read(
    root: Path, file: LogFile, relation: Relation, key: KeyCodes, epoch: int, coordinator: int
) -> Iterator[Entries]:
    names = [c.name for c in relation.columns]
    with OpenLog(root, file) as source:
        for group in range(len(source.groups)):
            table = source.read([*names, SIGN], [group])
            rows = pa.table([plain(table[n]) for n in names], names=names)
            sign = table[SIGN].to_numpy().astype(np.int64)
            codes = key.encode(rows, coordinator)
            yield Entries(codes, sign, np.full(len(rows), stamp_of(epoch, coordinator)), rows)


def _write_sorted(relation: Relation, waiting: list[Entries], scratch: KeyFile) -> Iterator[NewKeyRun]:
    parts = [part for part in waiting if part.rows]
    waiting.clear()
    if not parts:
        return
    whole = together(parts)
    places = np.argsort(whole.codes, kind="stable")
    entries = Entries(
        whole.codes[places], whole.counts[places], whole.stamps[places], whole.table.take(pa.array(places))
    )
    run = scratch.write(relation, [entries])
    assert run is not None
    yield run


def _netted(
    relation: Relation, key: KeyCodes, runs: Sequence[Run], file: KeyFile, lowest_open: int, violations: Violations
) -> list[NewKeyRun]:
    """What is there of each key, written."""
    names = [c.name for c in relation.columns]
    found: list[NewKeyRun] = []
    waiting: list[Entries] = []
    for parts in sliced(runs, names):
        waiting.append(_net(relation, key, together(parts), lowest_open, violations))
        if sum(part.rows for part in waiting) >= RUN_ROWS:
            found += filter(None, [file.write(relation, waiting)])
            waiting = []
    return [*found, *filter(None, [file.write(relation, waiting)])]


def _net(relation: Relation, key: KeyCodes, part: Entries, lowest_open: int, violations: Violations) -> Entries:
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
    _note(relation, key, part.codes[at], rows.take(pa.array(at)), counts, violations)
    by_age = np.lexsort((stamps, counts > 0))  # what is there comes last, the newest of it at the end
    counts, stamps, at = counts[by_age], stamps[by_age], at[by_age]
    kept = rows.take(pa.array(at))
    keys = in_key_order(key, part.codes[at], kept)
    ends = np.append(np.flatnonzero(keys.first)[1:], len(at)) - 1 if len(at) else np.zeros(0, np.int64)
    last = keys.at(ends)
    return Entries(keys.codes[ends], np.maximum(counts[last], 0), stamps[last], kept.take(pa.array(last)))


def _note(
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
