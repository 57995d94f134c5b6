"""Reading landed Parquet files, in pieces of limited size where the order of their events allows it; and cutting them into portions that
can be read by themselves, as their footers say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cumulus_ops.files.columns import EVENT, RawFile, found_columns, ignored_columns
from cumulus_ops.files.landed import PIECE_ROWS, UNFOLDING, changes, event_cuts, file_on_disk, too_large
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.versions import SEQUENCES_MAX

__all__ = ["Groups", "read_groups", "read_parquet"]


#: A piece may take so much of the memory.
SHARE = 4
#: What a value takes at the least while it is checked, in bytes.
VALUE_BYTES = 16
#: More rows are read by several threads, a column each.
THREADED_ROWS = 1 << 14
#: A text that is longer on the average than so many bytes is read in smaller pieces.
LONG_TEXT = 4096


@dataclass(frozen=True)
class Groups:
    """Row groups of a file, from ``begin`` to ``end`` (exclusive), which have ``rows`` rows, behind ``before`` others. Their events have numbers from ``lowest`` to
    ``highest`` (inclusive), and no others have any of these; both are None if events have no numbers, or it is the whole file, of which nobody has looked."""

    begin: int
    end: int
    rows: int
    before: int
    lowest: int | None = None
    highest: int | None = None


def read_groups(path: Path, rows: int) -> tuple[list[Groups], bool]:
    """Cut a file into portions that no event crosses, as far as its footer says where that may be done. No row is read.

    Args:
        path: the file.
        rows: portions have so many rows, or one row group, which may have more.

    Returns:
        the portions, and whether the events have numbers.

    Raises:
        InputProblem, ArrowException, OSError: it is no file that can be read.
    """
    descriptor = file_on_disk(path)
    try:
        with pa.OSFile(f"/dev/fd/{descriptor}") as source:
            footer = pq.read_metadata(source)
    finally:
        os.close(descriptor)
    schema = footer.schema.to_arrow_schema()
    event = found_columns(path, schema.names, [EVENT]).get(EVENT)
    sizes = [footer.row_group(i).num_rows for i in range(footer.num_row_groups)]
    spans: list[tuple[int | None, int | None]] = [(None, None)] * len(sizes)
    if event is not None and pa.types.is_int64(schema.field(event).type):
        spans = [_read_span(chunk) for chunk in _find_chunks(footer, [schema.names[event]])[schema.names[event]]]
    is_cut = [
        before is not None and after is not None and before < after for (_, before), (after, _) in pairwise(spans)
    ]
    if event is not None and not all(is_cut):
        return [Groups(0, len(sizes), footer.num_rows, 0)], True
    found, begin = list[Groups](), 0
    for end in range(1, len(sizes) + 1):
        if end == len(sizes) or sum(sizes[begin : end + 1]) > rows:
            found.append(
                Groups(begin, end, sum(sizes[begin:end]), sum(sizes[:begin]), spans[begin][0], spans[end - 1][1])
            )
            begin = end
    return found or [Groups(0, 0, 0, 0)], event is not None


def _read_span(chunk: pq.ColumnChunkMetaData) -> tuple[int | None, int | None]:
    """The lowest and the highest number of a row group's events, if its footer says so, and that none is missing."""
    said = chunk.statistics
    is_said = said is not None and said.has_min_max and said.has_null_count and not said.null_count
    return (said.min, said.max) if is_said else (None, None)


def read_parquet(
    path: Path, wanted: Sequence[str], rows: int, memory: int, groups: Groups | None = None
) -> Iterator[RawFile]:
    """Reads a file as typed in the file, or some row groups of it; see :func:`~cumulus_ops.files.formats.read_raw`.

    A file of several pieces is first read for the order of its events alone. Where they are out of order or missing, an
    event may have rows anywhere, and all comes as one piece. Files without events come in pieces of any rows.
    """
    descriptor = file_on_disk(path)
    try:
        with pa.OSFile(f"/dev/fd/{descriptor}") as source:
            yield from _read(path, source, wanted, rows, memory, groups)
    finally:
        os.close(descriptor)


def _read(
    path: Path, source: pa.NativeFile, wanted: Sequence[str], rows: int, memory: int, groups: Groups | None
) -> Iterator[RawFile]:
    footer = pq.read_metadata(source)
    groups = groups or Groups(0, footer.num_row_groups, footer.num_rows, 0)
    if (
        groups.end > footer.num_row_groups
        or sum(footer.row_group(i).num_rows for i in range(groups.begin, groups.end)) != groups.rows
    ):
        raise _say_changed(path)
    schema = footer.schema.to_arrow_schema()
    places = found_columns(path, schema.names, wanted)
    names = {name: schema.names[place] for name, place in places.items()}
    ignored = ignored_columns(schema.names, places)
    for name, found in names.items():
        type_ = schema.field(found).type
        if pa.types.is_nested(type_):
            hint = "write one value per row and column"
            raise InputProblem(f"column {name} is {type_}", kind="wrong-type", place=str(path), hint=hint)
    # Text columns that are stored as dictionaries, which are cheaper to check and to write than their texts. Texts themselves take at
    # least four bytes each, for their lengths.
    texts = [
        name
        for name, chunks in _find_chunks(footer, list(names.values())).items()
        if pa.types.is_string(schema.field(name).type)
        and sum(c.total_uncompressed_size for c in chunks) < 4 * footer.num_rows
    ]
    batch = _check_sizes(path, source, footer, list(names.values()), memory)
    with pq.ParquetFile(
        source,
        metadata=footer,
        read_dictionary=texts,
        pre_buffer=False,
        coerce_int96_timestamp_unit="us",  # nanoseconds would overflow unseen
    ) as file:
        columns = list(names.values())
        limit = memory // SHARE // (VALUE_BYTES * max(1, len(columns)))
        chosen, total = range(groups.begin, groups.end), groups.rows
        ordered = _find_ends(file, chosen, total, min(rows, batch), names.get(EVENT))
        ends = ordered or [total]
        begins = [0, *ends]
        if max(b - a for a, b in pairwise(begins)) > max(limit, PIECE_ROWS):
            if ordered is not None:
                raise too_large(path, "has an event of more rows than fit into memory")
            message = "has events that are not in order, and is too large to be sorted here"
            hint = "sort it by event, as 64-bit integers without NULL, or write it in smaller files"
            raise InputProblem(message, kind="unsorted", place=str(path), hint=hint)
        if len(ends) == 1 and batch >= total:
            pieces = iter([file.read_row_groups(list(chosen), columns=columns, use_threads=total > THREADED_ROWS)])
        else:
            pieces = _cut_batches(file.iter_batches(min(PIECE_ROWS, batch), row_groups=chosen, columns=columns), ends)
        for (begin, end), piece in zip(pairwise(begins), pieces, strict=True):
            raw = piece.select(columns).rename_columns(list(names))
            if groups.lowest is not None and not _is_within(raw[EVENT], groups):
                raise _say_changed(path)
            yield RawFile(raw, groups.before + np.arange(begin, end), ignored)


def _is_within(events: pa.ChunkedArray, groups: Groups) -> bool:
    """Whether the events have the numbers that the footer says, by which the file was cut."""
    found = pc.min_max(events)
    return not events.null_count and (
        not len(events) or (found["min"].as_py() >= groups.lowest and found["max"].as_py() <= groups.highest)
    )


def _say_changed(path: Path) -> InputProblem:
    hint = "write the file again at the source, and deliver it as a new drop"
    return InputProblem(
        "its footer says something else than its rows", kind="unreadable-file", place=str(path), hint=hint
    )


def _find_chunks(footer: pq.FileMetaData, names: Sequence[str]) -> Mapping[str, list[pq.ColumnChunkMetaData]]:
    """name -> the column's chunks; columns are flat."""
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    columns = zip(*([g.column(i) for i in range(g.num_columns)] for g in groups), strict=True)
    return {chunks[0].path_in_schema: list(chunks) for chunks in columns if chunks[0].path_in_schema in names}


def _check_sizes(path: Path, source: pa.NativeFile, footer: pq.FileMetaData, names: Sequence[str], memory: int) -> int:
    """How many rows may be read at once.

    Raises:
        InputProblem: the file unfolds to more than can be read.
    """
    if footer.num_rows > SEQUENCES_MAX:
        raise too_large(path, f"has {footer.num_rows:,} rows, more than an epoch takes")
    batch: int = max(PIECE_ROWS, footer.num_rows)
    texts = 0
    for name, chunks in _find_chunks(footer, names).items():
        largest = max(chunk.total_uncompressed_size for chunk in chunks)
        if largest > memory // SHARE:
            raise too_large(path, f"has {largest:,} bytes of {name} in one row group")
        for chunk in chunks:
            text = _estimate_text(source, chunk)
            texts += text * chunk.num_values
            batch = min(batch, max(1, memory // SHARE // text)) if text > LONG_TEXT else batch
    if texts > max(memory, UNFOLDING * path.stat().st_size):
        raise too_large(path, f"unfolds to {texts:,} bytes of text")
    return batch


def _estimate_text(source: pa.NativeFile, chunk: pq.ColumnChunkMetaData) -> int:
    """The bytes of a text on the average: a dictionary of few long texts may stand for a great many."""
    if chunk.physical_type != "BYTE_ARRAY" or not chunk.num_values:
        return 0
    average = int(chunk.total_uncompressed_size // chunk.num_values)
    if not chunk.has_dictionary_page or chunk.dictionary_page_offset is None:
        return average
    head = source.read_at(64, chunk.dictionary_page_offset)
    size, values = _read_dictionary_header(head)
    return max(average, size // max(1, values))


def _read_dictionary_header(head: bytes) -> tuple[int, int]:
    """The unpacked bytes of a dictionary page and how many values it has, from its header in Thrift's compact protocol: the fields
    type, uncompressed size, compressed size, perhaps a checksum, then a structure that begins with the number of values."""
    fields, at = [], 0
    for tag in (0x15, 0x15, 0x15):
        if head[at : at + 1] != bytes([tag]):
            return 0, 0
        value, at = _read_varint(head, at + 1)
        fields.append(value)
    if head[at : at + 1] == b"\x15":
        _, at = _read_varint(head, at + 1)
    if head[at + 1 : at + 2] != b"\x15":
        return 0, 0
    return fields[1], _read_varint(head, at + 2)[0]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number, and where it ends."""
    value = shift = 0
    while at < len(data):
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not data[at - 1] & 0x80:
            break
    return (value >> 1) ^ -(value & 1), at


def _find_ends(
    file: pq.ParquetFile, groups: Sequence[int], total: int, rows: int, event: str | None
) -> list[int] | None:
    """Where pieces of some row groups end (exclusive); the last is their end. None if the events' order does not allow it."""
    if total <= rows:
        return [total]
    if event is None:
        return [*range(rows, total, rows), total]
    if not pa.types.is_int64(file.schema_arrow.field(event).type):
        return None
    try:
        return event_cuts(_read_changes(file, groups, event), total, rows)
    except _OutOfOrder:
        return None


class _OutOfOrder(Exception):
    pass


def _read_changes(file: pq.ParquetFile, groups: Sequence[int], event: str) -> Iterator[np.ndarray]:
    """Where another event begins, in portions."""
    position, last = 0, None
    for batch in file.iter_batches(PIECE_ROWS, row_groups=groups, columns=[event]):
        column = batch.column(0)
        offsets = column.to_numpy(zero_copy_only=False)
        if len(offsets) == 0:
            continue
        if column.null_count or bool((offsets[1:] < offsets[:-1]).any()) or (last is not None and offsets[0] < last):
            raise _OutOfOrder
        begins = changes(offsets)
        yield position + (begins if last in (None, offsets[0]) else np.concatenate([[0], begins]))
        position, last = position + len(offsets), offsets[-1]


def _cut_batches(batches: Iterator[pa.RecordBatch], ends: Sequence[int]) -> Iterator[pa.Table]:
    """The batches anew, in pieces that end as given."""
    batch = next(batches)
    for begin, end in pairwise([0, *ends]):
        parts, missing = [], end - begin
        while missing > len(batch):
            parts.append(batch)
            missing -= len(batch)
            batch = next(batches)
        yield pa.Table.from_batches([*parts, batch.slice(0, missing)])
        batch = batch.slice(missing)
