"""The files of the event log and of the quarantine: nothing of one is believed before it is verified.

Parquet says little about whether a file is what was written: of bits that flip, some read as other rows. So the catalog has the CRC-32
of each 64 KiB of a file, which are made while it is written, and recorded in the transaction that makes the file count. Whoever
reads, reads by whole blocks, and verifies each before a parser sees any of it. Files of old have no checksums; of these only what
Parquet itself notices, and another number of rows, is found.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cumulus_ops.catalog.records import LogFile, QuarantinedRows
from cumulus_ops.files.columns import VERSION
from cumulus_ops.files.projection import as_declared, names_in_file
from cumulus_ops.maps.encodings import BLOCK_BYTES, checksums
from cumulus_ops.project.errors import LOST, IntegrityProblem
from m3.program import Relation

__all__ = [
    "NO_RANGES",
    "Fresh",
    "OpenLog",
    "StoredFile",
    "add_ranges",
    "check_file",
    "find_ranges",
    "known_numbers",
    "read_fresh",
    "read_log",
    "read_rows",
    "verify_log",
    "with_stamps",
]


#: What the catalog says of a file.
StoredFile = LogFile | QuarantinedRows
#: A file of at most so many bytes is read as a whole.
AT_ONCE_BYTES = 1 << 20
#: So much is verified at a time of a file that somebody else reads.
VERIFIED_BYTES = 1 << 22


class _Blocks(io.RawIOBase):
    """A file that is read by whole blocks, each verified whenever it is."""

    def __init__(self, source: io.FileIO, file: StoredFile, place: Path) -> None:
        self._source, self._file, self._place = source, file, place
        self._sums = np.frombuffer(bytes.fromhex(file.checksums or ""), ">u4")
        self.size, self._at = os.fstat(source.fileno()).st_size, 0
        if len(self._sums) != -(-self.size // BLOCK_BYTES):
            raise _say_damaged(place, file, f"it has {self.size:,} bytes, which are fewer or more than were written")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, less at the end of the file.

        Raises:
            IntegrityProblem: a block with some of them is not what was written.
        """
        end = self.size if size is None or size < 0 else min(self.size, self._at + size)
        first = self._at // BLOCK_BYTES
        begin, self._at = self._at, max(self._at, end)
        data = self._whole(first, -(-end // BLOCK_BYTES)) if end > begin else b""
        return data[begin - first * BLOCK_BYTES : end - first * BLOCK_BYTES]

    def _whole(self, first: int, end: int) -> bytes:
        """The blocks from ``first`` to ``end`` (exclusive)."""
        begin, size = first * BLOCK_BYTES, min(self.size, end * BLOCK_BYTES) - first * BLOCK_BYTES
        data = os.pread(self._source.fileno(), size, begin)
        while len(data) < size and (more := os.pread(self._source.fileno(), size - len(data), begin + len(data))):
            data += more  # a system call may return less than all
        wrong = np.flatnonzero(checksums(memoryview(data)) != self._sums[first:end]) if len(data) == size else [0]
        if len(wrong):
            raise _say_damaged(self._place, self._file, f"block {first + int(wrong[0])} does not have its checksum")
        return data


class OpenLog:
    """A file that is open for reading; a context manager.

    Args:
        root: the state folder.
        file: what the catalog says of it.

    Raises:
        IntegrityProblem: it is not there, or its footer is not what was written.
    """

    def __init__(self, root: Path, file: StoredFile) -> None:
        self._place, self._file = root / file.path, file
        with _naming(self._place, self._file):
            self._source = self._place.open("rb", buffering=0)
        try:
            with _naming(self._place, self._file):
                source: io.RawIOBase | pa.BufferReader = self._source
                if file.checksums is not None:
                    blocks = _Blocks(self._source, file, self._place)
                    source = pa.BufferReader(blocks.read()) if blocks.size <= AT_ONCE_BYTES else blocks
                self._parquet = pq.ParquetFile(source, pre_buffer=False)
                rows = self._parquet.metadata.num_rows
            if rows != file.rows:
                raise _say_damaged(self._place, file, f"it has {rows:,} rows")
        except BaseException:
            self._source.close()
            raise

    def __enter__(self) -> OpenLog:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._parquet.close(force=True)
        self._source.close()

    @property
    def groups(self) -> list[int]:
        """The rows of each row group."""
        return [self._parquet.metadata.row_group(i).num_rows for i in range(self._parquet.num_row_groups)]

    def read(self, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None) -> pa.Table:
        """Some columns (None: all) of some row groups (None: all), in the order of ``columns``.

        Raises:
            IntegrityProblem: what was read is not what was written.
        """
        chosen = range(self._parquet.num_row_groups) if groups is None else groups
        with _naming(self._place, self._file):
            wanted = None if columns is None else list(columns)
            table = self._parquet.read_row_groups(list(chosen), columns=wanted, use_threads=False)
            # By names alone: files differ in which columns they say are never NULL, and their tables are put together.
            names = table.column_names if wanted is None else wanted
            table = pa.Table.from_arrays([table[name] for name in names], names=names)
            return with_stamps(table, self._file) if isinstance(self._file, LogFile) else table

    def read_rows(self, relation: Relation, columns: Sequence[str], groups: Sequence[int] | None = None) -> pa.Table:
        """The same, of a log file, as a relation has its columns now (:mod:`cumulus_ops.files.projection`).

        Raises:
            IntegrityProblem: what was read is not what was written.
        """
        with _naming(self._place, self._file):
            names = names_in_file(relation, columns, self._parquet.schema_arrow.names)
            return as_declared(relation, columns, self.read(names, groups))


def with_stamps(table: pa.Table, file: LogFile) -> pa.Table:
    """Rows as a log file has them, with their stamps, if these were read: in a file they count from the first one's, which the catalog alone has."""
    if not file.first_version or VERSION not in table.column_names:
        return table
    stamps = pc.add(table[VERSION], file.first_version)
    return table.set_column(table.column_names.index(VERSION), VERSION, stamps)


def read_fresh(file: LogFile, relation: Relation, columns: Sequence[str]) -> pa.Table | None:
    """The rows of a log file that this process has just written, as :func:`read_rows` has them, without looking at the file; None of any other."""
    table = fresh_rows.take(file.path)
    if table is None:
        return None
    rows = with_stamps(table.select(names_in_file(relation, columns, table.column_names)), file)
    return as_declared(relation, columns, rows)


def read_log(root: Path, file: StoredFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Some columns of a file, in this order; None for all.

    Raises:
        IntegrityProblem: the file is not there, or what was read is not what was written.
    """
    with OpenLog(root, file) as log:
        return log.read(columns)


def read_rows(root: Path, file: LogFile, relation: Relation, columns: Sequence[str]) -> pa.Table:
    """Some columns of a log file, in this order, as a relation has them now.

    Raises:
        IntegrityProblem: the file is not there, or what was read is not what was written.
    """
    with OpenLog(root, file) as log:
        return log.read_rows(relation, columns)


def check_file(root: Path, file: StoredFile) -> None:
    """Verify all of a file. One of old, which has no checksums, is decoded: that finds what Parquet notices.

    Raises:
        IntegrityProblem: it is not there, or not what was written.
    """
    if file.checksums is None:
        with OpenLog(root, file) as opened:
            for group in range(len(opened.groups)):
                opened.read(groups=[group])
        return
    place = root / file.path
    with _naming(place, file), place.open("rb", buffering=0) as source:
        blocks = _Blocks(source, file, place)
        while blocks.read(VERIFIED_BYTES):
            pass


def verify_log(root: Path, file: LogFile) -> None:
    """The same for a log file that somebody else is about to read, once in a process, unless it looks different. Files of old are not decoded.

    Raises:
        IntegrityProblem: see :func:`check_file`.
    """
    with _naming(root / file.path, file):
        seen = (root / file.path).stat()
    if file.checksums is not None:
        _check_once(root, file, seen.st_ino, seen.st_size, seen.st_mtime_ns)


@lru_cache(maxsize=1 << 16)
def _check_once(root: Path, file: LogFile, *_: int) -> None:
    check_file(root, file)


@contextmanager
def _naming(place: Path, file: StoredFile) -> Iterator[None]:
    """Say of which file it is that something cannot be read."""
    try:
        yield
    except (pa.ArrowMemoryError, pa.ArrowCancelled):
        raise
    except FileNotFoundError as error:
        raise _say_damaged(place, file, "it is missing") from error
    except (pa.ArrowException, OSError, KeyError) as error:
        if isinstance(error, OSError) and error.errno not in (None, *LOST):  # Parquet's own have no number
            raise _problem(place, file, f"cannot be read: {error.strerror}", "unreadable") from error
        raise _say_damaged(place, file, str(error)) from error


def _say_damaged(place: Path, file: StoredFile, what: str) -> IntegrityProblem:
    """The error for a file that is not what was written."""
    return _problem(place, file, f"is damaged: {what}", "damaged")


def _problem(place: Path, file: StoredFile, what: str, kind: str) -> IntegrityProblem:
    folder = file.path.partition("/")[0]
    if folder == "net":
        message = f"the net table with {file.rows:,} rows of {file.relation} {what}"
        return IntegrityProblem(message, kind=f"{kind}-net", place=str(place), hint="the event log is read instead")
    return IntegrityProblem(
        f"the {folder} file with {file.rows:,} rows of {file.relation}, batch {file.batch}, {what}",
        kind=f"{kind}-{folder}",
        place=str(place),
        hint="see to the disk and to what may read it, and run it again"
        if kind == "unreadable"
        else "`cumulus recover` reads it again from its drop, if that is still there; or restore the file from a copy of the state folder, of any "
        "age, for such files never change",
    )


T = TypeVar("T")

# What this process has just written, for who reads it next: most often the apply of the same batch, and the append of the next one.


class Fresh(Generic[T]):
    """What is known of files, most of which were just written, by their paths. Whoever finds nothing reads the file.

    Args:
        limit: of how many files.
        room: how much of it there may be in all, by the sizes that it is put with.
    """

    def __init__(self, limit: int, room: int = 0) -> None:
        self._limit, self._room = limit, room
        self._found: dict[str, tuple[T, int]] = {}
        self._taken = 0
        self._lock = Lock()

    def put(self, path: str, found: T, size: int = 0) -> None:
        """Remember it; what was remembered first goes when there is too much."""
        with self._lock:
            self._drop(path)
            self._found[path] = found, size
            self._taken += size
            while len(self._found) > self._limit or self._taken > self._room:
                self._drop(next(iter(self._found)))

    def look(self, path: str) -> T | None:
        """What is remembered, None if nothing is."""
        with self._lock:
            return self._found.get(path, (None, 0))[0]

    def take(self, path: str) -> T | None:
        """What is remembered, None if nothing is; it is not any more."""
        with self._lock:
            return self._drop(path)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._found.clear()
            self._taken = 0

    def _drop(self, path: str) -> T | None:
        found, size = self._found.pop(path, (None, 0))
        self._taken -= size
        return found


#: The rows of files that were written at once. Those of 86,000 events take 12 MB, and reading them back took 6 of the 25 ms in which Q6 was applied.
FRESH_ROWS = 1 << 17
FRESH_BYTES = 1 << 25
fresh_rows: Fresh[pa.Table] = Fresh(32, FRESH_BYTES)
#: Which offsets a log file has is remembered, by their ranges, if these are at most so many: drops of one source may overlap for long. Most files have a few.
KEPT_RANGES = 4096
NO_RANGES = np.zeros((2, 0), dtype=np.int64)
known_numbers: Fresh[np.ndarray] = Fresh(1024)


def find_ranges(numbers: np.ndarray) -> np.ndarray:
    """Some numbers, at least one, as ranges of those that follow each other: row 0 has their first numbers, and row 1 their last (inclusive).

    >>> find_ranges(np.array([1, 1, 2, 7, 9, 10, 3])).tolist()
    [[1, 7, 9, 3], [2, 7, 10, 3]]
    >>> find_ranges(np.array([2**63 - 1, -(2**63), 2**63 - 1])).shape
    (2, 3)
    """
    steps = (
        numbers[1:] - numbers[:-1]
    )  # which wrap around: a step of more than 2**63 is below 0, one back of nearly 2**64 is 1
    gaps = np.flatnonzero((numbers[1:] < numbers[:-1]) | (steps < 0) | (steps > 1))
    return np.stack([numbers[np.concatenate([[0], gaps + 1])], numbers[np.concatenate([gaps, [-1]])]])


def add_ranges(ranges: np.ndarray | None, numbers: np.ndarray) -> np.ndarray | None:
    """Ranges, and those of further numbers; None if they are too many to be remembered, or were before."""
    if ranges is None:
        return None
    both = np.concatenate([ranges, find_ranges(numbers)], axis=1)
    return both if both.shape[1] <= KEPT_RANGES else None
