"""Reading landed Parquet files, in pieces of limited size where the order of their events allows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.eventlog.cuts import PIECE_ROWS, changes, event_cuts
from cumulus_ops.eventlog.raw import RawFile, check_names
from cumulus_ops.eventlog.types import EVENT

__all__ = ["read_parquet"]


def read_parquet(path: Path, schema: pa.Schema, _required: Sequence[str], rows: int) -> Iterator[RawFile]:
    """Reads a file as typed in the file; see :func:`~cumulus_ops.eventlog.formats.read_raw`.

    A file of several pieces is first read for the order of its events alone. Where they are out of order or missing, an
    event may have rows anywhere, and all comes as one piece.
    """
    footer = pq.read_metadata(path)
    ignored = check_names(path, footer.schema.to_arrow_schema().names, schema.names)
    texts = _repeating(footer, schema.names)
    with pq.ParquetFile(path, metadata=footer, read_dictionary=texts, pre_buffer=False) as file:
        ends = _ends(file, footer.num_rows, rows)
        if len(ends) == 1:
            pieces = iter([file.read(columns=schema.names)])
        else:
            pieces = _pieces(file.iter_batches(PIECE_ROWS, columns=schema.names), ends)
        for (begin, end), piece in zip(pairwise([0, *ends]), pieces, strict=True):
            yield RawFile(piece.select(schema.names), np.arange(begin, end), ignored)


def _repeating(footer: pq.FileMetaData, names: Sequence[str]) -> list[str]:
    """The text columns that are stored as dictionaries, which are cheaper to check and to write than their texts. Texts
    themselves take at least four bytes each, for their lengths."""
    found = footer.schema.to_arrow_schema()
    groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
    return [
        chunks[0].path_in_schema
        for chunks in zip(*([g.column(i) for i in range(g.num_columns)] for g in groups), strict=True)
        if chunks[0].path_in_schema in names
        and pa.types.is_string(found.field(chunks[0].path_in_schema).type)
        and sum(c.total_uncompressed_size for c in chunks) < 4 * footer.num_rows
    ]


def _ends(file: pq.ParquetFile, total: int, rows: int) -> list[int]:
    """Where pieces end (exclusive); the last is the end of the file."""
    if total <= rows or not pa.types.is_int64(file.schema_arrow.field(EVENT).type):
        return [total]
    try:
        return event_cuts(_event_changes(file), total, rows)
    except _OutOfOrder:
        return [total]


class _OutOfOrder(Exception):
    pass


def _event_changes(file: pq.ParquetFile) -> Iterator[np.ndarray]:
    """Where another event begins, in portions."""
    position, last = 0, None
    for batch in file.iter_batches(PIECE_ROWS, columns=[EVENT]):
        column = batch.column(0)
        offsets = column.to_numpy(zero_copy_only=False)
        if len(offsets) == 0:
            continue
        if column.null_count or bool((offsets[1:] < offsets[:-1]).any()) or (last is not None and offsets[0] < last):
            raise _OutOfOrder
        begins = changes(offsets)
        yield position + (begins if last in (None, offsets[0]) else np.concatenate([[0], begins]))
        position, last = position + len(offsets), offsets[-1]


def _pieces(batches: Iterator[pa.RecordBatch], ends: Sequence[int]) -> Iterator[pa.Table]:
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
