"""Whether a key index says what the log's accepted events say: each row that is there, as often as it is there, and no other one.

What the log has of each row (inserted more often than deleted) and what the index says, taken off, have to leave nothing. Keys of which the
log itself has not one row once, or none, came in while the relation was trusted, and are left out. So is who has written a key last, and in
which epoch: of a batch that was dropped the index remembers that, and the log does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import Catalog, KeyIndex, LogFile
from cumulus_ops.config import Project
from cumulus_ops.errors import Conflict
from cumulus_ops.keys.building import SHOWN, signature, sort_log
from cumulus_ops.keys.codes import KeyCodes, in_key_order
from cumulus_ops.keys.merging import RUN_ROWS, limited, merged, newest_first, sliced
from cumulus_ops.keys.one_by_one import show
from cumulus_ops.keys.runs import Entries, KeyFile, Run, open_run, together
from m3.program import Relation

__all__ = ["Proof", "prove_index"]

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
    found = _index_and_log(catalog, relation)
    if found is None:
        return None
    index, files = found
    key, names = KeyCodes.of(relation), [c.name for c in relation.columns]
    scratch = KeyFile(project.state, label)
    try:
        runs = list(sort_log(project.state, relation, key, files, scratch))
        opened = [open_run(project.state, relation, run) for run in newest_first(index.runs)]
        for parts in limited(merged(key, opened, names), RUN_ROWS):
            runs += filter(None, [scratch.write(relation, map(_said, parts))])
        scratch.close()
        differences = list(_differences(relation, key, [open_run(project.state, relation, run) for run in runs]))
    finally:
        scratch.discard()
    shown = [text for _, texts in differences for text in texts]
    entries = sum(run.rows for run in index.runs)
    return Proof(relation.name, entries, sum(count for count, _ in differences), tuple(shown[:SHOWN]))


def _said(part: Entries) -> Entries:
    """What the index says is there, to be taken off."""
    there = np.flatnonzero(part.counts)
    return Entries(part.codes[there], -part.counts[there], np.full(len(there), SAID), part.table.take(pa.array(there)))


def _index_and_log(
    catalog: Catalog, relation: Relation
) -> tuple[KeyIndex, Sequence[tuple[LogFile, int, int, str]]] | None:
    """An index, and the log files that are in it, as of one moment."""
    for _ in range(ATTEMPTS):
        index = catalog.key_index(relation.name)
        if index is None or index.signature != signature(relation) or index.is_behind:
            return None
        covers, files = catalog.key_log(relation.name)
        again = catalog.key_index(relation.name)
        if again == index and covers <= index.covers:
            return index, files
    raise Conflict("others append all the time", kind="keys-moved", place=relation.name, hint="run it again")


def _differences(relation: Relation, key: KeyCodes, runs: Sequence[Run]) -> Iterator[tuple[int, list[str]]]:
    """How many rows differ in one range of codes after the other, and which, if they are few."""
    names = tuple(c.name for c in relation.columns)
    whole_rows = KeyCodes(names, "hashed", key.by_coordinator)
    for parts in sliced(runs, names):
        part = together(parts)
        row_codes = whole_rows.encode(part.table, 0) ^ (part.codes if key.by_coordinator else 0)
        order = in_key_order(whole_rows, row_codes, part.table)
        places, begins = order.all_places(), np.flatnonzero(order.first)
        counts = part.counts[places]
        logged = np.add.reduceat(np.where(part.stamps[places] == SAID, 0, counts), begins)
        left = np.add.reduceat(counts, begins)
        wrong = np.flatnonzero((left != 0) & ~_excused(relation, key, part, places[begins], logged))
        if len(wrong):
            rows = part.table.take(pa.array(places[begins[wrong[:SHOWN]]])).to_pylist()
            yield len(wrong), [_told(show(row), int(left[i])) for row, i in zip(rows, wrong, strict=False)]


def _excused(relation: Relation, key: KeyCodes, part: Entries, places: np.ndarray, logged: np.ndarray) -> np.ndarray:
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


def _told(row: str, left: int) -> str:
    if left > 0:
        return f"the log has {row} {left} times more often than the index"
    return f"the index has {row} {-left} times more often than the log"
