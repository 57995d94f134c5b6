"""Writing the log's files: durable before anything names them, quick to write and to read again."""

from __future__ import annotations

import contextlib
import io
import os
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cumulus_ops.eventlog.types import SIGN
from cumulus_ops.log_files import SummedFile

__all__ = ["NewFile", "write_parquet"]

#: Rows that are read independently of others.
GROUP_ROWS = 1 << 17
#: A table with as many rows is written by a thread.
BEHIND_ROWS = 1 << 14
#: Parquet is written in many small pieces.
BUFFER_BYTES = 1 << 16


class NewFile:
    """A Parquet file under a fresh name that is written table by table, all of the same schema.

    A large table is written by a thread, while the caller reads the next one; there is never more than one on its way.
    ``path`` is relative to ``root``, its name begins with the ``label`` of the step that writes it; ``rows`` are taken so far. It is
    durable when it is closed, and ``checksums`` are those of its blocks.
    """

    def __init__(self, root: Path, folder: str, schema: pa.Schema, label: str = "") -> None:
        self.path = f"{folder}/{label}{uuid.uuid4().hex}.parquet"
        self.place = root / self.path
        self.rows = 0
        self.place.parent.mkdir(parents=True, exist_ok=True)
        self._summed = SummedFile(self.place)
        self._sink = io.BufferedWriter(self._summed, BUFFER_BYTES)
        self._writer = pq.ParquetWriter(self._sink, schema, **_encoding(schema))
        self._thread: ThreadPoolExecutor | None = None
        self._written: Future[None] | None = None

    @property
    def checksums(self) -> str:
        """Of its blocks, see :class:`~cumulus_ops.log_files.SummedFile`."""
        return self._summed.checksums

    def write(self, table: pa.Table) -> None:
        """Append the rows. What goes wrong with them may show at the next call."""
        self._wait()
        self.rows += len(table)
        if len(table) < BEHIND_ROWS:
            self._write(table)
            return
        self._thread = self._thread or ThreadPoolExecutor(1, "log")
        self._written = self._thread.submit(self._write, table)

    def _write(self, table: pa.Table) -> None:
        self._writer.write_table(table.unify_dictionaries(), row_group_size=GROUP_ROWS)

    def _wait(self) -> None:
        """Until the last table is written."""
        written, self._written = self._written, None
        if written is not None:
            written.result()

    def _end_thread(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def close(self) -> None:
        """Make it durable, its name as well."""
        try:
            self._wait()
        finally:
            self._end_thread()
        self._writer.close()
        self._sink.flush()
        os.fsync(self._sink.fileno())
        self._sink.close()
        _sync_folder(self.place.parent)

    def discard(self) -> None:
        """Delete it, whether it is closed or not."""
        self._end_thread()
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):
            self._writer.close()
        self._sink.close()
        self.place.unlink(missing_ok=True)


def write_parquet(root: Path, folder: str, table: pa.Table) -> str:
    """Write a table durably under a fresh name; returns its path relative to ``root``."""
    file = NewFile(root, folder, table.schema)
    file.write(table)
    file.close()
    return file.path


def _encoding(schema: pa.Schema) -> dict[str, Any]:
    """Whole numbers as bit-packed differences, which need no compression; texts as dictionaries as long as they repeat
    themselves. Statistics only where a reader skips by them. All of it is understood by Spark's vectorised reader."""
    numbers = [f.name for f in schema if _is_whole(f.type)]
    return {
        "compression": {f.name: "none" if f.name in numbers else "lz4" for f in schema},
        "use_dictionary": [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_dictionary(f.type)],
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        "store_decimal_as_integer": True,
        "write_statistics": [SIGN],
    }


def _is_whole(type_: pa.DataType) -> bool:
    """Whether Parquet keeps the type as integers."""
    moment = pa.types.is_date32(type_) or pa.types.is_timestamp(type_)
    return bool(moment or pa.types.is_integer(type_) or pa.types.is_decimal64(type_))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
