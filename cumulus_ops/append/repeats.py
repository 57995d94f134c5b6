"""Events that come again: with the same rows they are counted as repeats; with others they are rejected, and both are shown.

Only log files whose offsets overlap those of new rows are looked at, first their offsets alone. Where numbers are the same, the
rows are compared as multisets, all at once: those of the log count -1, the new ones +1, and an event is the same if nothing is left.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.rejected import json_records, rejected_rows
from cumulus_ops.catalog.catalog import Catalog
from cumulus_ops.catalog.records import LogFile
from cumulus_ops.files.columns import NO_REJECTED, OFFSET, SIGN, event_schema
from cumulus_ops.files.log_files import NO_RANGES, add_ranges, find_ranges, known_numbers, read_log, read_rows
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.settings import Project
from m3.program import Relation

__all__ = ["Known", "split_known"]


log = logging.getLogger(__name__)

#: If at least so many events of a piece, and half of them, have numbers of others, their source counts anew.
RESTART_EVENTS = 10
#: How much of the rows in the log a reason shows.
SHOWN_CHARACTERS = 500
WEIGHT, PLACE, JSON, ROW = "__weight", "__place", "__json", "__row"


@dataclass(frozen=True)
class Known:
    """New rows, told apart: ``fresh`` ones, how many are ``repeated``, and those ``rejected`` whose event's number has other rows."""

    fresh: pa.Table
    repeated: int
    rejected: pa.Table


def split_known(
    project: Project, catalog: Catalog, relation: Relation, source: str, rows: pa.Table, *, upsert: bool = False
) -> Known:
    """Tell apart the events that the log has from those that it does not have.

    Args:
        project: the project.
        catalog: its catalog.
        relation: whose rows they are.
        source: within which offsets identify events.
        rows: :func:`~cumulus_ops.files.columns.event_schema`, their offsets ascending.
        upsert: whether rows may be updates and deletes by key, which the log has as what they meant.
    """
    if len(rows) == 0:
        return Known(rows, 0, NO_REJECTED)
    lowest, highest = rows[OFFSET][0].as_py(), rows[OFFSET][-1].as_py()
    files, damaged = dict[LogFile, np.ndarray](), list[LogFile]()
    for file in catalog.log.files_within(source, lowest, highest):
        try:
            files[file] = _read_numbers(project.state, file)
        except IntegrityProblem as problem:
            log.error("%s", problem)
            damaged.append(file)
    offsets = rows[OFFSET].to_numpy()
    seen = _find_within(offsets, np.concatenate(list(files.values()), axis=1) if files else NO_RANGES)
    # A file whose numbers cannot be read may have any between its lowest and its highest. None of them is taken for new: who counts an event
    # twice makes every answer wrong from then on, and one in the quarantine can still be counted when the file is restored.
    for file in damaged:
        seen |= (offsets >= file.min_offset) & (offsets <= file.max_offset)
    if not seen.any():
        return Known(rows, 0, NO_REJECTED)
    old = _read_log_rows(project, catalog, relation, np.unique(offsets[seen]), files, damaged)
    again = _plain(rows.filter(pa.array(seen)), relation)
    fresh, lost = rows.filter(pa.array(~seen)), np.isin(again[OFFSET].to_numpy(), old.lost)
    other = np.isin(again[OFFSET].to_numpy(), _find_different(again, old.rows, relation if upsert else None)) & ~lost
    rejected = [
        rejected_rows(
            again.filter(pa.array(lost)),
            "not-comparable",
            f"its event may be in {old.damaged} already, whose log cannot be read: `cumulus fsck` names the file",
        )
    ]
    if other.any():
        rejected.append(_reject(again.filter(pa.array(other)), old.rows, source, offsets, files))
    return Known(fresh, int((~(lost | other)).sum()), pa.concat_tables(rejected))


def _read_numbers(root: Path, file: LogFile) -> np.ndarray:
    """The ranges of offsets that a log file has, which never changes; the file is read if they are not remembered."""
    known = known_numbers.look(file.path)
    if known is not None:
        return known
    offsets = read_log(root, file, [OFFSET])[OFFSET].to_numpy()
    kept = add_ranges(NO_RANGES, offsets)
    if kept is not None:
        known_numbers.put(file.path, kept)
    return find_ranges(offsets)


def _find_within(numbers: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Which of some numbers, ascending, are in one of some ranges, in any order: row 0 has their first numbers, and row 1 their last.

    >>> _find_within(np.array([1, 3, 3, 5]), np.array([[5, 2], [9, 3]])).tolist()
    [False, True, True, True]
    """
    begins, ends = np.searchsorted(numbers, ranges[0]), np.searchsorted(numbers, ranges[1], side="right")
    steps = np.bincount(begins, minlength=len(numbers) + 1) - np.bincount(ends, minlength=len(numbers) + 1)
    return np.asarray(np.cumsum(steps[:-1]) > 0)


class _LogRows(NamedTuple):
    """Rows of the log, with where they are (column :data:`PLACE`). ``lost``: the numbers of events that are in files that cannot be read, or
    may be; ``damaged``: one of their batches."""

    rows: pa.Table
    lost: np.ndarray
    damaged: str


def _read_log_rows(
    project: Project,
    catalog: Catalog,
    relation: Relation,
    numbers: np.ndarray,
    files: Mapping[LogFile, np.ndarray],
    unreadable: Sequence[LogFile],
) -> _LogRows:
    """The rows of the log with these numbers.

    Args:
        files: log files, and the ranges of numbers that they have (:func:`_read_numbers`).
        unreadable: those whose numbers nobody knows.
    """
    schema, lost, damaged = event_schema(relation), np.array([], dtype=np.int64), ""
    tables = [schema.append(pa.field(PLACE, pa.string())).empty_table()]
    for file, ranges in files.items():
        wanted = numbers[_find_within(numbers, ranges)]
        if not len(wanted):
            continue
        place = f"batch {file.batch} (drop {catalog.log.batch(file.batch).drop})"
        try:
            rows = _plain(read_rows(project.state, file, relation, schema.names), relation)
        except (IntegrityProblem, pa.ArrowException):  # a file of old may have other types, too
            lost, damaged = np.union1d(lost, wanted), place
        else:
            rows = rows.filter(pa.array(np.isin(rows[OFFSET].to_numpy(), wanted)))
            tables.append(rows.append_column(PLACE, pa.repeat(place, len(rows))))
    for file in unreadable:  # all numbers between its lowest and its highest may be there
        inside = (numbers >= file.min_offset) & (numbers <= file.max_offset)
        place = f"batch {file.batch} (drop {catalog.log.batch(file.batch).drop})"
        lost, damaged = np.union1d(lost, numbers[inside]), place
    return _LogRows(pa.concat_tables(tables), lost, damaged)


def _plain(rows: pa.Table, relation: Relation) -> pa.Table:
    """With the types of the log, and no dictionaries."""
    schema = event_schema(relation)
    return rows.select(schema.names).cast(schema)


def _find_different(again: pa.Table, old: pa.Table, upsert: Relation | None) -> np.ndarray:
    """The numbers of the events that have other rows than in the log; of a relation with updates by key, what they do to each key."""
    # Grouped by all columns, where NULL is a value like others; a join would find none of it equal. Rows may be there several times in an
    # event, and in another order than in the log: sums of weights see neither.
    sides = [(again, 1), (old.drop_columns([PLACE]), -1)]
    if upsert is not None:
        sides = [(_reduce_to_effects(rows, upsert), weight) for rows, weight in sides]
    both = pa.concat_tables([t.append_column(WEIGHT, pa.repeat(weight, len(t))) for t, weight in sides])
    keys = [name for name in both.column_names if name != WEIGHT]
    sums = both.group_by(keys, use_threads=False).aggregate([(WEIGHT, "sum")])
    left = sums.filter(pc.not_equal(sums[f"{WEIGHT}_sum"], 0))
    return np.unique(left[OFFSET].to_numpy())


def _reduce_to_effects(rows: pa.Table, relation: Relation) -> pa.Table:
    """What each event leaves of each key: the last row with it, and of a delete only the key."""
    numbered = rows.append_column(ROW, pa.array(np.arange(len(rows))))
    last = numbered.group_by([OFFSET, *relation.key], use_threads=False).aggregate([(ROW, "max")])
    rows = rows.take(last[f"{ROW}_max"])
    gone = pc.equal(rows[SIGN], -1)
    for i, name in enumerate(rows.column_names):
        if name == SIGN:
            rows = rows.set_column(i, name, pc.if_else(gone, pa.scalar(-1, pa.int8()), pa.scalar(1, pa.int8())))
        elif name not in (OFFSET, *relation.key):
            rows = rows.set_column(i, name, pc.if_else(gone, pa.scalar(None, rows[name].type), rows[name]))
    return rows


def _reject(
    rows: pa.Table, old: pa.Table, source: str, offsets: np.ndarray, files: dict[LogFile, np.ndarray]
) -> pa.Table:
    """The rows with numbers of other events, with what the log has."""
    numbers = np.unique(rows[OFFSET].to_numpy())
    split = _find_split_event(numbers, offsets, files, rows, old)
    kind = "number-used"
    if len(numbers) >= RESTART_EVENTS and 2 * len(numbers) >= len(np.unique(offsets)):
        kind = "numbers-restarted"
        log.warning(
            "%s: %d of %d events have the numbers of others: its source seems to count anew. They are in the quarantine; to count them "
            "as new events: `cumulus quarantine retry --as-new`, or let another coordinator take what that source delivers",
            source, len(numbers), len(np.unique(offsets)),
        )  # fmt: skip
    texts = _show_rows(rows[OFFSET], old)
    reasons = pc.binary_join_element_wise("event ", pc.cast(rows[OFFSET], pa.string()), " is in ", texts, "")
    if split is None:
        return rejected_rows(rows, kind, reasons)
    part = pc.equal(rows[OFFSET], split)
    rest = pc.binary_join_element_wise("its event began in another delivery, and counts without this: ", reasons, "")
    return pa.concat_tables(
        [
            rejected_rows(rows.filter(part), "split-event", rest.filter(part)),
            rejected_rows(rows.filter(pc.invert(part)), kind, reasons.filter(pc.invert(part))),
        ]
    )


def _find_split_event(
    numbers: np.ndarray, offsets: np.ndarray, files: dict[LogFile, np.ndarray], rows: pa.Table, old: pa.Table
) -> int | None:
    """The event, if there is one, that seems to be split: it is the last one there and the first one here, or the other way round,
    there are others, and it has no row twice."""
    if len(np.unique(offsets)) == 1 and all(f.min_offset == f.max_offset for f in files):
        return None
    for number, edge in ((offsets[0], "max_offset"), (offsets[-1], "min_offset")):
        if number in numbers and any(getattr(f, edge) == number for f in files):
            mine, theirs = (t.filter(pc.equal(t[OFFSET], number)) for t in (rows, old.drop_columns([PLACE])))
            keys = rows.column_names
            together = pa.concat_tables([mine, theirs]).group_by(keys, use_threads=False).aggregate([])
            apart = [len(t.group_by(keys, use_threads=False).aggregate([])) for t in (mine, theirs)]
            if len(together) == sum(apart):
                return int(number)
    return None


def _show_rows(offsets: pa.ChunkedArray, old: pa.Table) -> pa.Array:
    """For each offset, where the log has it, and what."""
    texts = pa.table({OFFSET: old[OFFSET], PLACE: old[PLACE], JSON: json_records(old.drop_columns([PLACE]))})
    events = texts.group_by([OFFSET], use_threads=False).aggregate([(PLACE, "min"), (JSON, "list")])
    rows = pc.utf8_slice_codeunits(pc.binary_join(events[f"{JSON}_list"], ", "), 0, SHOWN_CHARACTERS)
    shown = pc.binary_join_element_wise(events[f"{PLACE}_min"], rows, " with other rows: ")
    found = pc.index_in(offsets, value_set=events[OFFSET])
    return shown.take(found)
