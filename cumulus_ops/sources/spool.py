"""Rows on their way from a source, in anonymous temporary files: nothing is left of them when the process dies."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from cumulus_ops.files.columns import EVENT, RawFile
from cumulus_ops.files.landed import changes

__all__ = ["Spool", "from_start", "temporary"]


def temporary(folder: Path | None) -> IO[bytes]:
    """A file without a name; None: where the system has temporary files."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)


def another(file: IO[bytes]) -> IO[bytes]:
    """The same file, at the same place, for somebody who closes it."""
    return os.fdopen(os.dup(file.fileno()), "r+b")


def from_start(file: IO[bytes]) -> IO[bytes]:
    """The same file for one reader from its beginning."""
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    return another(file)


class Spool:
    """Tables of one schema, written one after the other and then read in pieces that no event crosses.

    Args:
        folder: on which disk; None: where the system has temporary files.
        schema: of all tables; one column is ``event``, ascending.
    """

    def __init__(self, folder: Path | None, schema: pa.Schema) -> None:
        self._file = temporary(folder)
        self._schema = schema
        self._writer: pa.RecordBatchStreamWriter | None = pa.ipc.new_stream(
            pa.PythonFile(another(self._file), "w"), schema
        )
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """Append rows."""
        assert self._writer is not None
        self._writer.write_table(table)
        self.rows += len(table)

    def finish(self) -> None:
        """Nothing more is written."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def read(self, rows: int) -> Iterator[RawFile]:
        """The rows in pieces of about ``rows`` rows, or of one event that has more; one reader at a time."""
        held: list[pa.RecordBatch] = []
        done = count = 0
        with pa.ipc.open_stream(pa.PythonFile(from_start(self._file), "r")) as batches:
            for batch in batches:
                held.append(batch)
                count += len(batch)
                if count < rows or batch[EVENT][-1] == held[0][EVENT][0]:  # not enough, or all of one event so far
                    continue
                table = pa.Table.from_batches(held)
                cuts = changes(table[EVENT].to_numpy())
                if len(cuts) == 0:
                    continue
                end = int(cuts[-1])
                yield RawFile(table.slice(0, end), np.arange(done, done + end))
                rest = table.slice(end)
                done, held, count = done + end, rest.to_batches(), len(rest)
        if count:
            yield RawFile(pa.Table.from_batches(held), np.arange(done, done + count))

    def close(self) -> None:
        """Give the disk back."""
        self.finish()
        self._file.close()
