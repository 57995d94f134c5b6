"""Rows that are not accepted, as the quarantine keeps them: whole, as JSON text, with a reason; and read again from there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.append.batches import LogWriter, Room, cut_batches
from cumulus_ops.catalog.records import Batch, LogFile, NewBatch, Step
from cumulus_ops.files.columns import EVENT, OFFSET, OP, REJECTED_SCHEMA, SIGN, UPDATE, Malformed, RawFile
from cumulus_ops.files.formats import by_newest_names
from cumulus_ops.files.landed import changes, event_cuts
from cumulus_ops.files.log_files import StoredFile, read_log, read_rows
from cumulus_ops.files.new_files import copy_file
from cumulus_ops.keys.stage import KeyStage, move, take_out
from cumulus_ops.project.errors import IntegrityProblem
from cumulus_ops.project.settings import LandingSettings, Project
from cumulus_ops.project.versions import event_version
from m3.program import Relation

if TYPE_CHECKING:  # tasks import this, and no catalog
    from cumulus_ops.catalog.catalog import Catalog

__all__ = [
    "drop",
    "events_of",
    "join_chunks",
    "json_records",
    "quote_json",
    "read_rejected",
    "rejected_rows",
    "restamp",
    "without_events",
]


WORDS = {1: "I", -1: "D", UPDATE: "U"}
CONTROL = [chr(code) for code in range(32)]
#: So many rows of quarantine files are held as objects at once.
PIECE_ROWS = 1 << 16
PLAIN = LandingSettings()
#: In the place of the number of an event that has none, or none that can be read.
UNKNOWN = -(2**63)
NUMBER = re.compile(r"[+-]?[0-9]{1,30}")


def rejected_rows(rows: pa.Table, kind: str, reasons: pa.Array | pa.ChunkedArray | str) -> pa.Table:
    """Checked rows that are not accepted after all.

    Args:
        rows: :func:`~cumulus_ops.files.columns.event_schema`.
        kind: of the reasons.
        reasons: one for each row, or one for all.

    Returns:
        :data:`~cumulus_ops.files.columns.REJECTED_SCHEMA`; which rows of their file they were is not known any more.
    """
    texts = pa.repeat(reasons, len(rows)) if isinstance(reasons, str) else reasons
    columns = [pa.repeat(kind, len(rows)), texts, pa.nulls(len(rows), pa.int64()), json_records(rows)]
    return pa.Table.from_arrays([join_chunks(c) for c in columns], schema=REJECTED_SCHEMA)


def json_records(rows: pa.Table) -> pa.Array:
    """Checked rows as JSON objects, with ``op`` and ``event`` first.

    >>> row = pa.table({"n": ['a "b"'], SIGN: pa.array([-1], pa.int8()), OFFSET: [7]})
    >>> json_records(row).to_pylist()
    ['{"op": "D", "event": 7, "n": "a \\\\"b\\\\""}']
    """
    signs = join_chunks(rows[SIGN])
    spelled = pc.index_in(signs, value_set=pa.array(WORDS, pa.int8()))
    columns = {OP: pa.array(WORDS.values()).take(spelled), EVENT: rows[OFFSET]}
    columns |= {name: rows[name] for name in rows.column_names if name not in (SIGN, OFFSET)}
    parts: list[pa.Array | str] = []
    for name, column in columns.items():
        parts += [
            "{" if not parts else ", ",
            json.dumps(name, ensure_ascii=False) + ": ",
            _json_texts(join_chunks(column)),
        ]
    return pc.binary_join_element_wise(
        *[_scalar(p) if isinstance(p, str) else p for p in parts], _scalar("}"), _scalar("")
    )


def _json_texts(values: pa.Array) -> pa.Array:
    """Each value as JSON: decimals and moments as text, so that no digit is lost."""
    if pa.types.is_dictionary(values.type):
        values = pc.cast(values, values.type.value_type)
    texts = pc.cast(values, pa.string())
    if pa.types.is_floating(values.type):
        texts = pc.if_else(pc.is_finite(values), texts, quote_json(texts))
    elif not (pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)):
        texts = quote_json(texts)
    return pc.fill_null(texts, "null")


def quote_json(texts: pa.Array) -> pa.Array:
    """Each text as JSON."""
    escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
    if pc.any(pc.match_substring_regex(escaped, "[\\x00-\\x1f]")).as_py():
        escaped = reduce(lambda t, c: pc.replace_substring(t, c, json.dumps(c)[1:-1]), CONTROL, escaped)
    return pc.binary_join_element_wise(_scalar('"'), escaped, _scalar('"'), _scalar(""))


def _scalar(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.string())


def join_chunks(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def events_of(rejected: pa.Table) -> np.ndarray:
    """The numbers of the events of rejected rows, as far as they have some."""
    numbers = (_known_number(json.loads(record)) for record in rejected["record"].to_pylist())
    return np.array(sorted({n for n in numbers if n is not None}), dtype=np.int64)


def without_events(rejected: pa.Table) -> pa.Table:
    """Rejected rows that came without the numbers of their events, without those that they were given meanwhile.

    >>> rows = pa.table({"n": ['"event": 7'], SIGN: pa.array([1], pa.int8()), OFFSET: [-5]})
    >>> without_events(rejected_rows(rows, "doubled-key", "why"))["record"].to_pylist()
    ['{"op": "I", "n": "\\\\"event\\\\": 7"}']
    """
    given = f', "{EVENT}": -?[0-9]+'  # op stands before it; in a text, quotes are escaped
    records = pc.replace_substring_regex(rejected["record"], given, "", max_replacements=1)
    return rejected.set_column(rejected.column_names.index("record"), "record", records)


def read_rejected(
    root: Path,
    files: Sequence[StoredFile],
    relation: Relation,
    settings: LandingSettings = PLAIN,
    *,
    as_new: bool = False,
) -> Iterator[RawFile]:
    """The rows of quarantine files as they came, all in the order of their events, in pieces.

    Args:
        root: the state folder.
        files: quarantine files of one delivery.
        relation: whose rows they are.
        settings: how files of the relation are read now, which may be why they are read again: words for NULL and for ``op``.
        as_new: leave out the numbers of their events: each row is a new event.
    """
    names = [OP, *([] if as_new else [EVENT]), *(c.name for c in relation.columns)]
    names += [other for older in settings.older.values() for other in older]
    tables = []
    for file in files:
        table = read_log(root, file)
        if "kind" not in table.column_names:  # files of old have no kinds of reasons
            table = table.append_column("kind", pa.repeat("", len(table)))
        tables.append(table.select(REJECTED_SCHEMA.names).cast(REJECTED_SCHEMA))
    rejected = pa.concat_tables(tables)
    # First the number of each row's event, and which columns any row has: records are held piece by piece.
    found, seen = [np.array([], dtype=np.int64)], set[str]()
    for piece in rejected.to_batches(max_chunksize=PIECE_ROWS):
        records = _parse_records(piece)
        known = (_known_number(record) for record in records)
        found.append(np.array([UNKNOWN if number is None else number for number in known], dtype=np.int64))
        seen.update(*(r for r in records if not _is_line(r, relation)))
    numbers, given = np.concatenate(found), [n for n in names if n in seen]
    order = np.argsort(numbers, kind="stable")
    unknown = numbers == UNKNOWN
    if EVENT not in names or unknown.all():
        begins = np.arange(1, len(numbers))
    elif unknown.any():  # they may be parts of the others' events: no cut at all
        begins = np.array([], dtype=np.int64)
    else:
        begins = changes(numbers[order])
    ends = event_cuts([begins], len(order), PIECE_ROWS)
    for begin, end in pairwise([0, *ends]):
        yield by_newest_names(_read_piece(rejected, order[begin:end], relation, names, given, settings), settings.older)


def _parse_records(rejected: pa.Table | pa.RecordBatch) -> list[dict[str, object]]:
    texts = rejected["record"].to_pylist()
    return [json.loads(text, parse_float=str, parse_int=str, parse_constant=str) for text in texts]


def _is_line(record: dict[str, object], relation: Relation) -> bool:
    """Whether it is a line that could not be read as a row."""
    return set(record) - {EVENT} == {"line"} and not any(c.name == "line" for c in relation.columns)


def _read_piece(
    rejected: pa.Table,
    places: np.ndarray,
    relation: Relation,
    names: Sequence[str],
    given: Sequence[str],
    settings: LandingSettings,
) -> RawFile:
    """The rows in some places; of the wanted ``names`` some are ``given``."""
    piece = rejected.take(pa.array(places))
    records, kinds, reasons = _parse_records(piece), piece["kind"].to_pylist(), piece["reason"].to_pylist()
    lines = [i for i, record in enumerate(records) if _is_line(record, relation)]
    rows = sorted(set(range(len(records))) - set(lines))
    columns = {n: pa.array([_spell(records[i].get(n), settings.null_values) for i in rows], pa.string()) for n in given}
    malformed = tuple(
        Malformed(
            int(places[i]),
            reasons[i],
            str(records[i]["line"]),
            kinds[i] or "malformed-line",
            _known_number(records[i]) if EVENT in names else None,
        )
        for i in lines
    )
    return RawFile(pa.table(columns), places[rows].astype(np.int64), (), malformed, settings.ops)


def _known_number(record: dict[str, object]) -> int | None:
    """The number of a row's event; None if it has none, or something else in its place, which may be why it is rejected."""
    text = str(record.get(EVENT))
    if not NUMBER.fullmatch(text):
        return None
    return number if -(2**63) <= (number := int(text)) < 2**63 else None


def _spell(value: object, null_values: Sequence[str]) -> str | None:
    if value is None or isinstance(value, str):
        return None if value in null_values else value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False)


# What is appended of a batch that was set aside: all of it when it is retried; when it is dropped, what later events rest on.
#
# Both go into its coordinator's open epoch, as a batch of its own.


def restamp(project: Project, catalog: Catalog, batch: Batch) -> int:
    """Append a batch's events again, as if they came now.

    Args:
        project: the project.
        catalog: its catalog.
        batch: a batch that is set aside.

    Returns:
        the new batch's id.

    Raises:
        Conflict: another process appended for this coordinator meanwhile, or decided about the batch; nothing was changed.
    """
    with catalog.leases.step() as step:
        epoch, sequence = catalog.members.position(batch.coordinator)
        event_version(epoch, batch.coordinator, sequence + max(0, batch.events - 1))  # checks the bounds
        shift = event_version(epoch, batch.coordinator, sequence) - event_version(
            batch.epoch, batch.coordinator, batch.first_sequence
        )
        log = catalog.log.files(batch=batch.id)
        files = tuple(_copy_later(project, file, shift, step.label) for file in log)
        counts = (batch.inserts, batch.deletes, 0, 0)  # what was left out stays counted where it was
        end = sequence + batch.events
        part = _next_part(catalog, batch)
        new = NewBatch(
            batch.coordinator,
            batch.drop,
            epoch,
            sequence,
            end,
            *counts,
            files,
            (),
            part,
            batch.id,
            batch.space,
            batch.deaths,
        )
        with KeyStage(project, catalog, batch.coordinator, epoch, step.label) as keys:
            for file in log:
                if file.relation in project.keys:
                    move(keys, file.relation, _read_log_rows(project, file), batch, epoch)
            return keys.commit(lambda changes: catalog.log.append([new], None, changes))[0]


def drop(project: Project, catalog: Catalog, batch: Batch) -> int | None:
    """Decide that a batch's events will never count, but for what later events of their keys rest on, which is appended again.

    Args:
        project: the project.
        catalog: its catalog.
        batch: a batch that is set aside.

    Returns:
        the batch with what is needed; None if nothing is.

    Raises:
        InputProblem: it is not set aside.
        Conflict: another process appended for this coordinator meanwhile, or decided about the batch; nothing was changed.
    """
    with catalog.leases.step() as step:
        epoch, sequence = catalog.members.position(batch.coordinator)
        with KeyStage(project, catalog, batch.coordinator, epoch, step.label) as keys:
            log = [file for file in catalog.log.files(batch=batch.id) if file.relation in project.keys]
            kept = [(file, rows) for file in log if len(rows := _find_needed(project, keys, file, batch))]
            if not kept:
                keys.commit(lambda changes: catalog.asides.drop_batch(batch.id, changes))
                return None
            new = _write_again(project, catalog, batch, (epoch, sequence), kept, step)
            return keys.commit(lambda changes: catalog.log.append([new], None, changes, batch.id))[0]


def _find_needed(project: Project, keys: KeyStage, file: LogFile, batch: Batch) -> pa.Table:
    """What later events rest on. If the log is damaged nobody knows: then the index is built anew, from the log without the batch."""
    names = {c.name for r in project.relations if r.name == file.relation for c in r.columns}
    try:
        rows = _read_log_rows(project, file)
    except IntegrityProblem:
        rows = pa.table({})
    if not names <= {*rows.column_names}:
        keys.forget(file.relation)
        return pa.table({})
    return take_out(keys, file.relation, rows, batch)


def _write_again(
    project: Project,
    catalog: Catalog,
    batch: Batch,
    position: tuple[int, int],
    kept: list[tuple[LogFile, pa.Table]],
    step: Step,
) -> NewBatch:
    """A batch of some rows."""
    events = sum(len(rows) for _, rows in kept)
    writer = LogWriter(project.state, max(1, events), step.label)
    for file, rows in kept:
        writer.add(project.relation(file.relation), file.source, rows)
    (new,) = cut_batches(writer.finish(), batch.coordinator, batch.drop, *position, Room(max(1, events)), batch.space)
    return replace(new, part=_next_part(catalog, batch))


def _next_part(catalog: Catalog, batch: Batch) -> int:
    mine = (b for b in catalog.log.batches(coordinator=batch.coordinator) if b.space == batch.space)
    return 1 + max(b.part for b in mine if b.drop == batch.drop)


def _read_log_rows(project: Project, file: LogFile) -> pa.Table:
    """A log file's rows, without their stamps."""
    relation = project.relation(file.relation)
    names = [*(c.name for c in relation.columns), SIGN, OFFSET]
    return read_rows(project.state, file, relation, names)


def _copy_later(project: Project, file: LogFile, shift: int, label: str) -> LogFile:
    """A copy of a log file whose versions are all later by ``shift``: they count from what the catalog says."""
    return replace(file, path=copy_file(project.state, file, label), first_version=file.first_version + shift)
