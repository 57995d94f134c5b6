"""From a drop's files to checked events; what cannot be accepted is set aside with a reason, row by row.

A drop is the folder ``<landing>/<coordinator>/<drop>/`` with files ``<relation>.parquet|csv|ndjson``; names that begin
with ``.`` or ``_`` are left alone. Each row has the relation's columns, ``op`` (I or D) and ``event``, the int64 offset
of the event in its source, which never decreases within a file. Rows with the same ``event`` form one atomic event,
e.g. an update is a D row and an I row, and are accepted or rejected together.

When a row's event cannot even be read, the events of the rows beside it are rejected with it: it may belong to either,
and a half accepted event could not be repaired by delivering it again, since its offset would count as seen.
"""

from __future__ import annotations

import functools
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.config import Project
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.casting import cast_exact, is_readable_as, is_repeating_text, plain_text
from cumulus_ops.eventlog.formats import FORMATS, read_raw
from cumulus_ops.eventlog.raw import RawFile
from cumulus_ops.eventlog.types import EVENT, OFFSET, OP, REJECTED_SCHEMA, SIGN, relation_schema
from m3.datatypes import INT, Type
from m3.program import Relation

__all__ = ["RelationEvents", "check", "files_by_relation", "read_rows", "split_duplicates"]

log = logging.getLogger(__name__)

OPS = pa.array(["I", "INSERT", "D", "DELETE"])
SIGNS = pa.array([1, 1, -1, -1], pa.int8())
Reasons = dict[int, list[str]]


@dataclass(frozen=True)
class RelationEvents:
    """Events of one relation in one drop: of its whole file, or of a piece that no atomic event crosses.

    ``rows``: :func:`~cumulus_ops.eventlog.types.event_schema`, in the order of the file; texts that repeat themselves may
    be a dictionary. ``rejected``: :data:`~cumulus_ops.eventlog.types.REJECTED_SCHEMA`, in the order of the file.
    ``source`` is ``<coordinator>/<relation>``, within which offsets identify events.
    """

    relation: str
    source: str
    rows: pa.Table
    rejected: pa.Table


def files_by_relation(project: Project, drop: Path) -> dict[str, Path]:
    """relation -> its file in a drop.

    Raises:
        InputProblem: the drop is not a folder, a file belongs to no relation, or a relation has two.
    """
    if not drop.is_dir():
        raise InputProblem("is not a folder", kind="no-drop", place=str(drop), hint="a drop is a folder of files")
    names = {relation.name for relation in project.relations}
    files: dict[str, Path] = {}
    for path in sorted(p for p in drop.iterdir() if not p.name.startswith((".", "_"))):
        if path.suffix not in FORMATS or path.stem not in names:
            hint = f"files are <relation>{'|'.join(FORMATS)}, relations are {', '.join(sorted(names))}"
            raise InputProblem("belongs to no relation", kind="unknown-file", place=str(path), hint=hint)
        if path.stem in files:
            hint = f"remove it or {files[path.stem].name}"
            raise InputProblem("is a second file of its relation", kind="doubled-file", place=str(path), hint=hint)
        files[path.stem] = path
    return files


def read_rows(relation: Relation, path: Path, rows: int) -> Iterator[RawFile]:
    """Reads a file of a relation, where possible in pieces of at most ``rows`` rows, which :func:`check` then checks.

    Raises:
        InputProblem: it is unreadable, or lacks a column.
    """
    schema = relation_schema(relation).append(pa.field(OP, pa.string())).append(pa.field(EVENT, pa.int64()))
    required = [c.name for c in relation.columns if not c.type.nullable] + [OP, EVENT]
    return read_raw(path, schema, required, rows)


def check(relation: Relation, raws: Iterable[RawFile], source: str, place: str) -> Iterator[RelationEvents]:
    """Checks the rows of a relation, piece by piece.

    Args:
        relation: whose rows they are.
        raws: the rows as they came, with the columns ``op`` and ``event``, in pieces that no event crosses.
        source: see :class:`RelationEvents`.
        place: where they came from, for people.

    Raises:
        InputProblem: a column has a type that cannot hold its values exactly.
    """
    for raw in raws:
        if raw.ignored:
            _warn_ignored(source, raw.ignored)
        yield _Check(relation, place, raw).events(source)


@functools.lru_cache(maxsize=1024)
def _warn_ignored(source: str, names: tuple[str, ...]) -> None:
    """Logs once per source and set of names: the cache is the memory."""
    log.warning("%s: columns %s are not declared and will be ignored", source, ", ".join(names))


class _Check:
    """The checks of one piece: collects a reason for each bad row while casting column after column."""

    def __init__(self, relation: Relation, place: str, raw: RawFile) -> None:
        self.relation, self.place, self.raw = relation, place, raw
        self.table = raw.columns
        self.reasons: Reasons = defaultdict(list)

    def events(self, source: str) -> RelationEvents:
        columns = [self.cast(c.name, c.type) for c in self.relation.columns]
        sign = self.sign()
        offset = self.cast(EVENT, INT)
        self.check_order(offset)
        self.reject_whole_events(offset)
        names = [*(c.name for c in self.relation.columns), SIGN, OFFSET]
        rows = pa.Table.from_arrays([*columns, sign, offset], names=names)
        if self.reasons:
            keep = np.ones(len(rows), dtype=bool)
            keep[list(self.reasons)] = False
            rows = rows.filter(pa.array(keep))
        return RelationEvents(self.relation.name, source, rows, self.rejected())

    def cast(self, name: str, type_: Type) -> pa.ChunkedArray:
        column = self.table.column(name)
        if type_.kind == "string" and is_repeating_text(column.type):
            self.blame_missing(name, type_, column)
            return column
        column = plain_text(column)
        if not is_readable_as(column.type, type_):
            raise InputProblem(
                f"column {name} is {column.type}, which cannot hold a {type_} exactly",
                kind="wrong-type",
                place=self.place,
                hint=f"write it as {type_} or as text",
            )
        values, bad = cast_exact(column, type_)
        self.blame(bad, column, lambda value: f"{name}: not {_article(type_)} {type_}: {value!r}")
        self.blame_missing(name, type_, column)
        return values

    def blame_missing(self, name: str, type_: Type, column: pa.ChunkedArray) -> None:
        if not type_.nullable and column.null_count:
            missing = "missing" if name == EVENT else "NULL in a NOT NULL column"
            self.blame(_truth(pc.is_null(column)), column, lambda _: f"{name}: {missing}")

    def sign(self) -> pa.ChunkedArray:
        """Looked up once for each spelling of the operation."""
        column = self.table.column(OP)
        if not is_repeating_text(column.type):
            column = plain_text(column)
            if not pa.types.is_string(column.type) and not pa.types.is_null(column.type):
                raise InputProblem("column op is not text", kind="wrong-type", place=self.place, hint="write I or D")
            column = pc.dictionary_encode(pc.cast(column, pa.string()))
        signs = pa.chunked_array([_signs(chunk) for chunk in column.chunks], pa.int8())
        if signs.null_count:
            self.blame(_truth(pc.is_null(signs)), column, lambda value: f"op: neither I nor D: {value!r}")
        return signs

    def blame(self, bad: np.ndarray, column: pa.ChunkedArray, reason: Callable[[object], str]) -> None:
        where = np.flatnonzero(bad)
        if len(where) == 0:
            return
        for index, value in zip(where.tolist(), column.take(pa.array(where)).to_pylist(), strict=True):
            self.reasons[index].append(reason(value))

    def check_order(self, offset: pa.ChunkedArray) -> None:
        if offset.null_count == 0 and not _decreases(offset.to_numpy()):
            return
        highest = pc.cumulative_max(offset, skip_nulls=True)
        behind = _truth(pc.fill_null(pc.less(offset, highest), False))
        for index in np.flatnonzero(behind).tolist():
            self.reasons[index].append(f"event: {offset[index]} comes after {highest[index]}")

    def reject_whole_events(self, offset: pa.ChunkedArray) -> None:
        """Adds the other rows of events that have a bad row, or a neighbour whose event is unknown."""
        if not self.reasons and not self.raw.malformed:
            return
        known = _truth(pc.is_valid(offset))
        beside = offset.take(pa.array(self.beside_unknown(known)))
        partly = offset.take(pa.array(np.fromiter(self.reasons, dtype=np.int64)))
        beside_reason = "beside a row whose event cannot be read"
        for events, reason in ((beside, beside_reason), (partly, "part of a rejected event")):
            hit = _truth(pc.is_in(offset, value_set=pc.unique(events).drop_null()))
            for index in np.flatnonzero(hit & known).tolist():
                if index not in self.reasons:
                    self.reasons[index].append(reason)

    def beside_unknown(self, known: np.ndarray) -> np.ndarray:
        """Indices of the known rows directly before and after those without a readable event."""
        indices = np.flatnonzero(known)
        rows = self.raw.row[indices]
        unknown = np.concatenate([self.raw.row[~known], np.array([m.row for m in self.raw.malformed], dtype=np.int64)])
        after = np.searchsorted(rows, unknown)
        return np.asarray(indices[np.unique(np.concatenate([after[after < len(rows)], after[after > 0] - 1]))])

    def rejected(self) -> pa.Table:
        """Only rejected rows are touched one by one."""
        if not self.reasons and not self.raw.malformed:
            return REJECTED_SCHEMA.empty_table()
        where = sorted(self.reasons)
        records = self.table.take(pa.array(where, pa.int64())).to_pylist()
        found = [
            (int(self.raw.row[i]), "; ".join(self.reasons[i]), _json(record))
            for i, record in zip(where, records, strict=True)
        ]
        found += [(m.row, m.reason, _json({"line": m.text})) for m in self.raw.malformed]
        rows = [{"row": row, "reason": reason, "record": record} for row, reason, record in sorted(found)]
        return pa.Table.from_pylist(rows, schema=REJECTED_SCHEMA)


def _signs(op: pa.DictionaryArray) -> pa.Array:
    return SIGNS.take(pc.index_in(pc.utf8_upper(op.dictionary), value_set=OPS)).take(op.indices)


def _decreases(values: np.ndarray) -> bool:
    return bool((values[1:] < values[:-1]).any())


def _json(record: Mapping[str, object]) -> str:
    return json.dumps(record, default=str, ensure_ascii=False)


def _article(type_: Type) -> str:
    return "an" if str(type_)[0] in "AEIOU" else "a"


def _truth(mask: pa.Array | pa.ChunkedArray) -> np.ndarray:
    return np.asarray(mask.to_numpy() if isinstance(mask, pa.ChunkedArray) else mask.to_numpy(False), dtype=bool)


def split_duplicates(rows: pa.Table, seen_offsets: pa.Array | pa.ChunkedArray | np.ndarray) -> tuple[pa.Table, int]:
    """Drops the events that were accepted before.

    Args:
        rows: events of one source, with ``_offset`` int64.
        seen_offsets: offsets already in the log for that source, in any order.

    Returns:
        The rows whose offset is not among them, in their order, and the number of rows dropped.
    """
    seen = pa.array(seen_offsets, pa.int64()) if isinstance(seen_offsets, np.ndarray) else seen_offsets
    if len(rows) == 0 or len(seen) == 0:
        return rows, 0
    fresh = rows.filter(pc.invert(pc.is_in(rows.column(OFFSET), value_set=seen)))
    return fresh, len(rows) - len(fresh)
