"""From a drop's files to checked events: each row is accepted as the event that it is, or rejected with its reasons.

When a row's event cannot even be read, the events of the rows beside it are rejected with it: it may belong to either,
and a half accepted event could not be repaired by delivering it again, since its offset would count as seen. The numbers
may tell that it belongs to neither: if they have no gap but the one where it stands.
"""

from __future__ import annotations

import functools
import json
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.delivery import PRODUCER, SEAL
from cumulus_ops.files.casting import cast_exact, is_readable_as, is_repeating_text, plain_text
from cumulus_ops.files.columns import (
    EVENT,
    NO_REJECTED,
    OFFSET,
    OP,
    REJECTED_SCHEMA,
    SIGN,
    UPDATE,
    RawFile,
    bad_columns,
)
from cumulus_ops.files.formats import format_of, read_raw
from cumulus_ops.files.parquet import Groups
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import LEAST_MEMORY, OP_WORDS, LandingSettings
from m3.datatypes import INT, Type
from m3.program import Relation

__all__ = [
    "Checked",
    "Checks",
    "Reason",
    "RelationEvents",
    "check",
    "read_relation",
    "read_rows",
    "relation_of",
    "seal_of",
]


SIGNS = {"I": 1, "D": -1, "U": UPDATE}
#: The first characters of a value that a reason shows.
SHOWN = 100
#: Rejected rows that are written out at once.
PORTION = 1 << 14


class Reason(NamedTuple):
    """Why a row is rejected: a stable kind, and words."""

    kind: str
    text: str


class Checked(NamedTuple):
    """The rows that are accepted (:func:`~cumulus_ops.files.columns.event_schema`), those that are not
    (:data:`~cumulus_ops.files.columns.REJECTED_SCHEMA`), and whether the events had numbers."""

    rows: pa.Table
    rejected: pa.Table
    numbered: bool


@dataclass
class Checks:
    """The checks of one relation's rows, piece by piece.

    ``upsert``: rows with ``U`` are handed on, with :data:`~cumulus_ops.files.columns.UPDATE` as their sign, and deletes need the
    relation's key alone: their other columns are NULL. ``insert_only``: deletes are rejected.
    """

    relation: Relation
    place: str
    upsert: bool = False
    insert_only: bool = False
    _highest: int | None = None

    def check(self, raw: RawFile) -> Checked:
        """Checks the next piece.

        Raises:
            InputProblem: a column is missing, or has a type that cannot hold its values exactly.
        """
        checked = _Piece(self, raw, self._highest).check()
        if len(checked.rows):
            self._highest = checked.rows[OFFSET][-1].as_py()
        return checked


@functools.lru_cache(maxsize=256)
def _meanings(more: tuple[tuple[str, str], ...]) -> tuple[pa.Array, pa.Array]:
    """The words that may stand for an operation, ``more`` of a relation among them, and the signs that they mean."""
    meanings = {word: SIGNS[op] for word, op in {**{word.upper(): op for word, op in more}, **OP_WORDS}.items()}
    return pa.array(meanings), pa.array(meanings.values(), pa.int8())


class _Piece:
    """Collects a reason for each bad row while casting column after column. ``after``: the last event of the pieces before."""

    def __init__(self, checks: Checks, raw: RawFile, after: int | None) -> None:
        self.relation, self.place, self.upsert = checks.relation, checks.place, checks.upsert
        self.insert_only = checks.insert_only
        self.raw, self.table, self.after = raw, raw.columns, after
        self.reasons: dict[int, list[Reason]] = defaultdict(list)

    def check(self) -> Checked:
        sign = self.sign()
        columns = [self.column(c.name, c.type, sign) for c in self.relation.columns]
        numbered = EVENT in self.table.column_names
        offset = self.offset() if numbered else pa.chunked_array([pa.array(self.raw.row, pa.int64())])
        self.check_order(offset)
        if numbered:
            self.reject_whole_events(offset)
        names = [*(c.name for c in self.relation.columns), SIGN, OFFSET]
        rows = pa.Table.from_arrays([*columns, sign, offset], names=names)
        if self.reasons:
            keep = np.ones(len(rows), dtype=bool)
            keep[list(self.reasons)] = False
            rows = rows.filter(pa.array(keep))
        return Checked(rows, self.make_rejected(), numbered)

    def column(self, name: str, type_: Type, sign: pa.ChunkedArray) -> pa.ChunkedArray:
        """A column of the relation; its default, or NULL, throughout if it is missing and may be."""
        by_key = self.upsert and name not in self.relation.key
        if name not in self.table.column_names:
            default = self.relation.default_of(name)
            if not type_.nullable and not by_key and default is None:
                raise bad_columns(self.place, f"has no column {name!r}", "missing-column")
            values = pa.nulls(len(self.table)) if default is None else pa.repeat(default, len(self.table))
            if by_key and default is not None:  # a delete by key says nothing of the other columns
                values = pc.if_else(pc.equal(sign, -1), pa.scalar(None, pa.string()), values)
            self.table = self.table.append_column(name, values)
        values, column = self.cast(name, type_)
        if not type_.nullable and column.null_count:
            missing = _truth(pc.is_null(column))
            if by_key:
                missing &= sign.to_numpy() != -1
            null = Reason("null", f"{name}: NULL in a NOT NULL column")
            self.blame(missing, column, lambda _: null)
        return values

    def offset(self) -> pa.ChunkedArray:
        values, column = self.cast(EVENT, INT)
        if column.null_count:
            self.blame(_truth(pc.is_null(column)), column, lambda _: Reason("no-event", f"{EVENT}: missing"))
        return values

    def cast(self, name: str, type_: Type) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
        """A column in its stored type, and as it came."""
        column = self.table.column(name)
        if type_.kind == "string" and is_repeating_text(column.type) and _is_valid(column):
            return column, column
        column = plain_text(column)
        if not is_readable_as(column.type, type_):
            raise InputProblem(
                f"column {name} is {column.type}, which cannot hold a {type_} exactly",
                kind="wrong-type",
                place=self.place,
                hint=f"write it as {type_} or as text",
            )
        values, bad = cast_exact(column, type_)
        what = f"{_article(type_)} {type_}"
        kind = f"not-{_article(type_)}-{type_.kind}"
        self.blame(bad, column, lambda value: Reason(kind, f"{name}: not {what}: {_show(value)}"))
        return values, column

    def sign(self) -> pa.ChunkedArray:
        """Looked up once for each spelling of the operation."""
        if OP not in self.table.column_names:
            if self.raw.ops != "insert":
                problem = bad_columns(self.place, f"has no column {OP!r}", "missing-column")
                problem.hint += (
                    "; if all rows are inserts, write `ops: insert` for the landing folder or the relation's `file`"
                )
                raise problem
            return pa.chunked_array([pa.array(np.ones(len(self.table), dtype=np.int8))])
        column = self.table.column(OP)
        if not is_repeating_text(column.type):
            column = plain_text(column)
            if not (pa.types.is_string(column.type) or pa.types.is_null(column.type)):
                hint = "write I or D as text"
                raise InputProblem("column op is not text", kind="wrong-type", place=self.place, hint=hint)
            column = pc.dictionary_encode(pc.cast(column, pa.string()))
        words, signs_of = _meanings(() if isinstance(self.raw.ops, str) else tuple(self.raw.ops.items()))
        chunks = []
        for chunk in column.chunks:
            spelled = pc.utf8_upper(pc.utf8_trim_whitespace(chunk.dictionary))
            chunks.append(signs_of.take(pc.index_in(spelled, value_set=words)).take(chunk.indices))
        signs = pa.chunked_array(chunks, pa.int8())
        if signs.null_count:
            self.blame(_truth(pc.is_null(signs)), column, lambda v: Reason("op", f"op: neither I nor D: {_show(v)}"))
            signs = pc.fill_null(signs, 1)
        if not self.upsert and pc.max(signs).as_py() == UPDATE:
            text = f"op: {self.relation.name} takes no updates by key: write a D row and an I row with the same event, or `mode: upsert`"
            update = Reason("update", text)
            self.blame(_truth(pc.equal(signs, UPDATE)), column, lambda _: update)
        if self.insert_only and pc.min(signs).as_py() == -1:
            text = f"op: {self.relation.name} has only inserts: its rows stay for good (docs/landing.md)"
            delete = Reason("not-insert-only", text)
            self.blame(_truth(pc.equal(signs, -1)), column, lambda _: delete)
        return signs

    def blame(self, bad: np.ndarray, column: pa.ChunkedArray, reason: Callable[[object], Reason]) -> None:
        where = np.flatnonzero(bad)
        if len(where) == 0:
            return
        for index, value in zip(where.tolist(), _take_values(column, where), strict=True):
            self.reasons[index].append(reason(value))

    def check_order(self, offset: pa.ChunkedArray) -> None:
        if offset.null_count == 0:
            values = offset.to_numpy()
            is_behind = self.after is not None and len(values) and values[0] <= self.after
            if not is_behind and not (values[1:] < values[:-1]).any():
                return
        highest = pc.cumulative_max(offset, skip_nulls=True)
        behind = _truth(pc.fill_null(pc.less(offset, highest), False))
        if self.after is not None:
            behind |= _truth(pc.fill_null(pc.less_equal(offset, self.after), False))
        for index in np.flatnonzero(behind).tolist():
            before = max(highest[index].as_py(), highest[index].as_py() if self.after is None else self.after)
            self.reasons[index].append(Reason("out-of-order", f"event: {offset[index]} comes after {before}"))

    def reject_whole_events(self, offset: pa.ChunkedArray) -> None:
        """Adds the other rows of events that have a bad row, or a neighbour whose event is unknown."""
        if not self.reasons and not self.raw.malformed:
            return
        known = _truth(pc.is_valid(offset))
        lost = pa.array([m.event for m in self.raw.malformed if m.event is not None], pa.int64())
        partly = pa.chunked_array([*offset.take(pa.array(np.fromiter(self.reasons, dtype=np.int64))).chunks, lost])
        beside = offset.take(pa.array(self.beside_unknown(known, offset)))
        beside_reason = Reason("beside-unknown", "beside a row whose event cannot be read")
        for events, reason in ((beside, beside_reason), (partly, Reason("part", "part of a rejected event"))):
            hit = _truth(pc.is_in(offset, value_set=pc.unique(events).drop_null()))
            for index in np.flatnonzero(hit & known).tolist():
                if index not in self.reasons:
                    self.reasons[index].append(reason)

    def beside_unknown(self, known: np.ndarray, offset: pa.ChunkedArray) -> np.ndarray:
        """Indices of the known rows directly before and after those without a readable event."""
        indices = np.flatnonzero(known)
        rows = self.raw.row[indices]
        unknown = np.concatenate(
            [self.raw.row[~known], np.array([m.row for m in self.raw.malformed if m.event is None], dtype=np.int64)]
        )
        after = np.searchsorted(rows, unknown)
        if self.fill_gaps(after, pc.drop_null(offset).to_numpy()):
            return indices[:0]
        return np.asarray(indices[np.unique(np.concatenate([after[after < len(rows)], after[after > 0] - 1]))])

    @staticmethod
    def fill_gaps(places: np.ndarray, offsets: np.ndarray) -> bool:
        """Whether the numbers that are missing among the known ones are those of the unknown rows, no more and no less.

        Args:
            places: for each unknown row, the index of the known row behind it.
            offsets: the known rows' events.
        """
        if len(offsets) < 2 or (places == 0).any() or (places == len(offsets)).any():
            return False
        gaps = np.maximum(np.diff(offsets) - 1, 0)
        return bool((gaps == np.bincount(places - 1, minlength=len(gaps))).all())

    def make_rejected(self) -> pa.Table:
        """Only rejected rows are touched one by one."""
        where = sorted(self.reasons)
        parts = [self.describe_rows(where[i : i + PORTION]) for i in range(0, len(where), PORTION)]
        lines = []
        for m in self.raw.malformed:
            event = {} if m.event is None else {EVENT: m.event}
            lines.append((m.row, m.kind, m.reason, _json({**event, "line": m.text})))
        table = pa.concat_tables([NO_REJECTED, *parts, _make_rejected(lines)])
        return table.sort_by("row") if lines and parts else table

    def describe_rows(self, where: list[int]) -> pa.Table:
        index = np.array(where, dtype=np.int64)
        columns = {name: _take_values(self.table.column(name), index) for name in self.table.column_names}
        records = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        return _make_rejected(
            [
                (row, reasons[0].kind, "; ".join(r.text for r in reasons), _json(record))
                for row, reasons, record in zip(
                    self.raw.row[index].tolist(), (self.reasons[i] for i in where), records, strict=True
                )
            ]
        )


def _make_rejected(rows: Sequence[tuple[int, str, str, str]]) -> pa.Table:
    """Of row, kind, reason and record each."""
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    by_name = dict(zip(("row", "kind", "reason", "record"), columns, strict=True))
    return pa.Table.from_arrays([pa.array(by_name[f.name], f.type) for f in REJECTED_SCHEMA], schema=REJECTED_SCHEMA)


def _is_valid(column: pa.ChunkedArray) -> bool:
    """Whether the texts of a dictionary are UTF-8."""
    try:
        for chunk in column.chunks:
            chunk.dictionary.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _take_values(column: pa.ChunkedArray, where: np.ndarray) -> list[object]:
    """Some values, whatever their bytes are, as JSON can show them."""
    taken = column.take(pa.array(where, pa.int64()))
    if pa.types.is_dictionary(taken.type):
        taken = pc.cast(taken, taken.type.value_type)
    if any(belongs(taken.type) for belongs in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)):
        return [
            None if v is None else v.decode(errors="backslashreplace")
            for v in pc.cast(taken, pa.large_binary()).to_pylist()
        ]
    try:
        return list(taken.to_pylist())
    except (ValueError, OverflowError):  # moments that Python does not know
        return list(pc.cast(taken, pa.int32() if pa.types.is_date32(taken.type) else pa.int64()).to_pylist())


def _show(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}.. ({len(shown):,} characters)"


def _json(record: Mapping[str, object]) -> str:
    return json.dumps(record, default=str, ensure_ascii=False).encode(errors="backslashreplace").decode()


def _article(type_: Type) -> str:
    return "an" if str(type_)[0] in "AEIOU" else "a"


def _truth(mask: pa.Array | pa.ChunkedArray) -> np.ndarray:
    found = mask.to_numpy() if isinstance(mask, pa.ChunkedArray) else mask.to_numpy(False)
    return np.array(found, dtype=bool)


# From a drop's files to checked events; what cannot be accepted is set aside with a reason, row by row.
#
# A drop is the folder ``<landing>/<coordinator>/<drop>/`` with files ``<relation>.parquet|csv|ndjson|..``; names that begin
# with ``.`` or ``_`` are left alone. Each row has the relation's columns, ``op`` (I or D) and ``event``, the int64 offset
# of the event in its source, which never decreases within a file. Rows with the same ``event`` form one atomic event,
# e.g. an update is a D row and an I row, and are accepted or rejected together. What else a file may look like, ``docs/files.md`` says.


log = logging.getLogger(__name__)
PLAIN = LandingSettings()
SHOWN_COLUMNS = 20


@dataclass(frozen=True)
class RelationEvents:
    """Events of one relation in one drop: of its whole file, or of a piece that no atomic event crosses.

    ``rows``: :func:`~cumulus_ops.files.columns.event_schema`, in the order of the file; texts that repeat themselves may
    be a dictionary. ``rejected``: :data:`~cumulus_ops.files.columns.REJECTED_SCHEMA`, in the order of the file.
    ``source`` is ``<coordinator>/<relation>``, within which offsets identify events. Events that are not ``numbered``
    have no offsets in their source: ``_offset`` is their row in the file, each row an event by itself.
    """

    relation: str
    source: str
    rows: pa.Table
    rejected: pa.Table
    numbered: bool = True


def relation_of(name: str, relations: Sequence[str]) -> str:
    """The relation that a file of a drop belongs to, "" for none; capitals count only where they tell relations apart.

    >>> relation_of("Orders.csv", ["orders", "items"]), relation_of("readme.txt", ["orders"])
    ('orders', '')
    """
    stem, kind = format_of(name)
    alike = [r for r in relations if r.casefold() == stem.casefold()]
    found = stem if stem in relations else alike[0] if len(alike) == 1 else ""
    return found if kind else ""


def seal_of(name: str, seals: Mapping[str, Sequence[str]]) -> str:
    """The relation, the seal and what is said of it, of a file of a drop with values of a seal; "" for others.

    >>> seals = {"clicks": ["campaign"], "ads": []}
    >>> seal_of("clicks.campaign.seal.csv", seals), seal_of("clicks.campaign.csv", seals), seal_of("ads.day.seal.csv", seals)
    ('clicks.campaign.seal', '', '')
    """
    for relation, names in seals.items():
        for what in (f"{relation}.{seal}.{said}" for seal in names for said in (SEAL, PRODUCER)):
            if name.casefold().startswith(f"{what}.".casefold()) and relation_of(f"x{name[len(what) :]}", ["x"]):
                return what
    return ""


def read_relation(
    relation: Relation,
    path: Path,
    source: str,
    rows: int,
    settings: LandingSettings = PLAIN,
    memory: int = LEAST_MEMORY,
) -> Iterator[RelationEvents]:
    """Reads and checks a file of a relation: :func:`read_rows`, then :func:`check`."""
    return check(relation, read_rows(relation, path, rows, settings, memory), source, str(path))


def read_rows(
    relation: Relation,
    path: Path,
    rows: int,
    settings: LandingSettings = PLAIN,
    memory: int = LEAST_MEMORY,
    groups: Groups | None = None,
) -> Iterator[RawFile]:
    """Reads a file of a relation, in pieces that no event crosses, which :func:`check` then checks.

    Args:
        relation: whose file it is.
        path: its suffix is one of :data:`~cumulus_ops.files.formats.FORMATS`.
        rows: the most rows of a piece, where the format allows it.
        settings: how files of the relation are read.
        memory: the bytes that reading may hold: about a quarter of them for a piece.
        groups: the row groups of a Parquet file that are read; None for all.

    Raises:
        InputProblem: it is unreadable, lacks a column, or is too large; possibly after the first pieces.
    """
    return read_raw(path, relation, rows, settings, memory, groups)


def check(
    relation: Relation,
    raws: Iterable[RawFile],
    source: str,
    place: str,
    *,
    upsert: bool = False,
    insert_only: bool = False,
) -> Iterator[RelationEvents]:
    """Checks the rows of a relation, piece by piece.

    Args:
        relation: whose rows they are.
        raws: the rows as they came, in pieces that no event crosses. Without a column ``event``, each row is an event by itself;
            a column of the relation may be missing if it may be NULL.
        source: see :class:`RelationEvents`.
        place: where they came from, for people.
        upsert: whether rows may be updates by key (sign :data:`~cumulus_ops.files.columns.UPDATE`), and deletes by key alone.
        insert_only: whether deletes are rejected.

    Raises:
        InputProblem: a column is missing, or has a type that cannot hold its values exactly; possibly after the first pieces.
    """
    checks = Checks(relation, place, upsert, insert_only)
    for raw in raws:
        if raw.ignored:
            _warn_ignored(source, raw.ignored)
        checked = checks.check(raw)
        yield RelationEvents(relation.name, source, checked.rows, checked.rejected, checked.numbered)


@functools.lru_cache(maxsize=1024)
def _warn_ignored(source: str, names: tuple[str, ...]) -> None:
    """Logs once per source and set of names: the cache is the memory."""
    shown = ", ".join(n if n.isprintable() else repr(n)[1:-1] for n in names[:SHOWN_COLUMNS]) + (
        f" and {len(names) - SHOWN_COLUMNS} more" if names[SHOWN_COLUMNS:] else ""
    )
    log.warning("%s: columns %s are not declared and will be ignored", source, shown)
