"""Writing the files of the event log, of the quarantine and of net tables: durable before anything names them, quick to write and to read again."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import uuid
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cumulus_ops.catalog.records import LogFile
from cumulus_ops.files.columns import OFFSET, SIGN, VERSION
from cumulus_ops.files.log_files import FRESH_ROWS, check_file, fresh_rows
from cumulus_ops.maps.columns import to_numpy, to_physical, whole_column
from cumulus_ops.maps.encodings import BLOCK_BYTES
from cumulus_ops.maps.hashes import PRIME, Rows
from cumulus_ops.project.small_files import sync_folder
from m3.datatypes import decimal

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["Backlog", "NewFile", "close_files", "copy_file", "hash_rows", "write_parquet"]


#: Rows that are read independently of others.
GROUP_ROWS = 1 << 17
#: A table with as many rows is written by a thread.
BEHIND_ROWS = 1 << 12
#: So many files are waited for at once.
SYNCED = 16
#: So many texts say whether those of a column repeat themselves.
LOOKED_AT = 1 << 12
#: Parquet is written in many small pieces. Arrow collects them, so that a thread that encodes need not wait for Python's lock at each.
BUFFER_BYTES = 1 << 18


class _SummedFile(io.RawIOBase):
    """A new file that sums up its blocks while it is written, from its beginning to its end; ``checksums`` are those of all blocks, in
    their order, 8 hexadecimal digits each, once it is complete."""

    def __init__(self, place: Path) -> None:
        self._sink = place.open("wb", buffering=0)
        self._ended: list[str] = []
        self._sum = self._length = 0  # of the block that has begun

    @property
    def checksums(self) -> str:
        """See the class."""
        return "".join(self._ended) + (f"{self._sum:08x}" if self._length else "")

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """Of the file."""
        return self._sink.fileno()

    def write(self, data: ReadableBuffer) -> int:
        """Append to the file."""
        view = memoryview(data).cast("B")
        written = 0
        while written < len(view):  # a system call may take less than all
            count = self._sink.write(view[written:]) or 0
            rest = view[written : written + count]
            while len(rest):
                part = rest[: BLOCK_BYTES - self._length]
                self._sum, self._length = zlib.crc32(part, self._sum), self._length + len(part)
                if self._length == BLOCK_BYTES:
                    self._ended.append(f"{self._sum:08x}")
                    self._sum = self._length = 0
                rest = rest[len(part) :]
            written += count
        return written

    def close(self) -> None:
        """Close the file."""
        self._sink.close()
        super().close()


def hash_rows(table: pa.Table) -> int:
    """The total of rows as log files and net tables have them (:mod:`cumulus_ops.maps.hashes`): each counts its sign, and its columns are its key, by their names.
    That of a net table is the sum of those of the log that it stands for."""
    found = {name: whole_column(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    keys: dict[int | str, pa.Array] = {n: _as_hashed(c) for n, c in found.items() if n not in (SIGN, OFFSET, VERSION)}
    signs = pa.array(to_numpy(found[SIGN]))
    versions = pa.array(np.zeros(len(table), np.int64))
    return Rows(len(table), keys, versions, {"": signs}).hashes().total or 0


def _as_hashed(column: pa.Array) -> pa.Array:
    """As columns are while computing: a decimal as its units, a text as a text."""
    if pa.types.is_decimal(column.type):
        return to_physical(column, decimal(column.type.precision, column.type.scale))
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


class Backlog:
    """Tables that wait to be written by threads, or are being written, while whoever has read them goes on: of one file, or of several, which are then written at the same time.

    Args:
        room: how many bytes they may take together, but for one that takes more.
    """

    def __init__(self, room: int = 0) -> None:
        self._room = room
        self._taken = 0
        self._tables = deque[tuple[Future[None], int]]()

    def put(self, table: pa.Table, write: Callable[[], Future[None]]) -> Future[None]:
        """Begin to write a table, as soon as there is room for it."""
        size = table.nbytes
        while self._tables and self._taken + size > self._room:
            written, taken = self._tables.popleft()
            wait([written])  # if it went wrong, its file says so
            self._taken -= taken
        self._taken += size
        self._tables.append((write(), size))
        return self._tables[-1][0]


class NewFile:
    """A Parquet file under a fresh name that is written table by table, all of the same schema.

    A large table is written by a thread, while the caller reads the next one; there is never more than one on its way, or as many as a ``backlog`` has room for.
    ``path`` is relative to ``root``, its name begins with the ``label`` of the step that writes it; ``rows`` are taken so far. It is
    durable when it is closed, and ``checksums`` are those of its blocks. ``total``: the
    linear hash of the rows that are written, if it ``is_hashed``.
    """

    def __init__(
        self,
        root: Path,
        folder: str,
        schema: pa.Schema,
        label: str = "",
        *,
        is_hashed: bool = False,
        backlog: Backlog | None = None,
    ) -> None:
        self._is_hashed = is_hashed
        self._backlog = backlog or Backlog()
        self.path = _fresh_path(folder, label)
        self.place = root / self.path
        self.rows = 0
        self.total = 0
        self.place.parent.mkdir(parents=True, exist_ok=True)
        self._summed = _SummedFile(self.place)
        self._sink = pa.BufferedOutputStream(pa.PythonFile(self._summed, mode="w"), BUFFER_BYTES)
        self._schema = schema
        self._writer: pq.ParquetWriter | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._writing = deque[Future[None]]()
        self._durable: Future[None] | None = None

    @property
    def checksums(self) -> str:
        """Of its blocks, see :class:`_SummedFile`."""
        return self._summed.checksums

    def write(self, table: pa.Table) -> None:
        """Append the rows. What goes wrong with them may show at a later call."""
        while self._writing and self._writing[0].done():
            self._writing.popleft().result()
        if self.rows:
            fresh_rows.take(self.path)  # these are not all of its rows
        elif len(table) <= FRESH_ROWS:
            fresh_rows.put(self.path, table, table.nbytes)
        self.rows += len(table)
        if len(table) < BEHIND_ROWS:
            self._wait()
            self._write(table)
            return
        thread = self._thread = self._thread or ThreadPoolExecutor(1, "log")
        self._writing.append(self._backlog.put(table, lambda: thread.submit(self._write, table)))

    def _write(self, table: pa.Table) -> None:
        unified = _like(self._schema, table).unify_dictionaries()
        if self._is_hashed:
            self.total = (self.total + hash_rows(unified)) % PRIME
        self._begin(unified).write_table(unified, row_group_size=GROUP_ROWS)

    def _begin(self, first: pa.Table) -> pq.ParquetWriter:
        """What writes the file, encoded as its first rows suggest."""
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._sink, self._schema, **_choose_encoding(first))
        return self._writer

    def _wait(self) -> None:
        """Until all tables are written."""
        while self._writing:
            self._writing.popleft().result()

    def _end_thread(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None

    def close(self) -> None:
        """Make it durable, its name as well."""
        close_files([self])

    def end(self) -> None:
        """Say that no rows follow: the thread that writes it makes it durable meanwhile. It has to be closed all the same."""
        if self._thread is not None:
            self._durable = self._thread.submit(self._complete)

    def _complete(self) -> None:
        self._hand_over()
        self._sync()

    def _finish(self) -> None:
        """Hand all of it over to the system, which may still lose it."""
        try:
            self._wait()
            if self._durable is not None:
                self._durable.result()
        finally:
            self._end_thread()
        if self._durable is None:
            self._hand_over()

    def _hand_over(self) -> None:
        self._begin(self._schema.empty_table()).close()
        self._sink.flush()

    def _sync(self) -> None:
        """Make durable what was handed over."""
        os.fsync(self._summed.fileno())
        self._sink.close()
        sync_folder(self.place.parent)

    def discard(self) -> None:
        """Delete it, whether it is closed or not."""
        fresh_rows.take(self.path)
        self._end_thread()
        for opened in (self._writer, self._sink, self._summed):
            with contextlib.suppress(OSError, ValueError, pa.ArrowException):
                if opened is not None:
                    opened.close()
        self.place.unlink(missing_ok=True)


def _like(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """The table with a file's types: some pieces of a column of texts may have dictionaries, and others none."""
    if table.schema.equals(schema):
        return table
    columns = [
        (column.dictionary_encode() if pa.types.is_dictionary(field.type) else column).cast(field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def close_files(files: Sequence[NewFile]) -> None:
    """Make files durable, and their names. All are waited for at once: eight files in eight folders take a disk about as long as one (15 ms instead of 111
    on a busy one, 2 instead of 24 on an idle one), since it writes its journal once for all who wait."""
    for file in files:
        file._finish()
    files = [file for file in files if file._durable is None]
    if len(files) == 1:
        files[0]._sync()
    elif files:
        started = [_syncing().submit(file._sync) for file in files]
        wait(started)  # all of them, also if one fails: who discards the files finds nobody at work on them
        for each in started:
            each.result()


@lru_cache(maxsize=1)
def _syncing() -> ThreadPoolExecutor:
    """What waits for the disk. Its threads stay: to start eight of them takes 1 ms, a hundredth of a small batch."""
    return ThreadPoolExecutor(SYNCED, "sync")


os.register_at_fork(after_in_child=_syncing.cache_clear)  # a child has none of its parent's threads


def copy_file(root: Path, file: LogFile, label: str) -> str:
    """Copy a log file, durably, under a fresh name that begins with a step's ``label``; returns its path relative to ``root``.

    Raises:
        IntegrityProblem: it is not what was written.
    """
    check_file(root, file)
    path = _fresh_path(f"log/{file.relation}", label)
    with (root / file.path).open("rb") as source, (root / path).open("wb") as copy:
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())
    sync_folder((root / path).parent)
    return path


def _fresh_path(folder: str, label: str) -> str:
    return f"{folder}/{label}{uuid.uuid4().hex}.parquet"


def write_parquet(root: Path, folder: str, table: pa.Table) -> str:
    """Write a table durably under a fresh name; returns its path relative to ``root``."""
    file = NewFile(root, folder, table.schema)
    file.write(table)
    file.close()
    return file.path


def _choose_encoding(first: pa.Table) -> dict[str, Any]:
    """Whole numbers as bit-packed differences, which need no compression; texts as dictionaries if the first rows' repeat
    themselves, and as long as they do. Statistics only where a reader skips by them. All of it is understood by Spark's vectorised reader."""
    of, schema = pa.types, first.schema
    whole = (of.is_integer, of.is_date32, of.is_timestamp, of.is_decimal64)  # what Parquet keeps as integers
    numbers = [f.name for f in schema if any(belongs(f.type) for belongs in whole)]
    return {
        "compression": {f.name: "none" if f.name in numbers else "snappy" for f in schema},
        "use_dictionary": [f.name for f in schema if _repeats(first[f.name])],
        "column_encoding": dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        "store_decimal_as_integer": True,
        "write_statistics": [SIGN],
    }


def _repeats(texts: pa.ChunkedArray) -> bool:
    """Whether values are texts of which there seem to be few. To look up comments that are all different in a dictionary takes a third of the time in which they are written."""
    if not pa.types.is_string(texts.type):
        return bool(pa.types.is_dictionary(texts.type))
    some = texts.slice(0, LOOKED_AT)
    return len(some) < LOOKED_AT or 2 * pc.count_distinct(some).as_py() < LOOKED_AT
