"""Deltas of one copy of a group, added up within a limit of rows, however many they are.

Of few rows all are held. Of many each goes to one of several parts, a range of the keys' hashes, in a file that nobody else sees; then part by part is added up. So a delta
is written and read once more at most, whatever the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from cumulus_ops.maps.columns import hash_places, stack, whole_column
from cumulus_ops.maps.deltas import VERSION, sum_deltas
from cumulus_ops.sources.spool import temporary

__all__ = ["Sums"]


class Sums:
    """What deltas that come one after the other come to.

    Args:
        folder: where to put what is too much.
        rows: how many rows the sums have, about; they decide into how many parts the keys are split.
        limit_rows: how many rows may be held.
    """

    def __init__(self, folder: Path, rows: int, limit_rows: int) -> None:
        self.parts = max(1, -(-rows // limit_rows))
        self._folder, self._limit = folder, limit_rows
        self._held = _Held(limit_rows)
        self._file: IO[bytes] | None = None
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(self.parts)]

    def add(self, table: pa.Table) -> None:
        """More deltas; they need not be summed."""
        if self.parts == 1:
            self._held.add(table)
            return
        self._held.tables.append(table)
        if sum(map(len, self._held.tables)) >= self._limit:
            self._write()

    def sums(self) -> Iterator[pa.Table]:
        """All that is not zero, part by part of the keys; to be asked for once."""
        if self._file is None:
            yield from self._held.total()
            return
        self._write()
        with self._file as file:
            for places in self._places:
                held = _Held(self._limit)
                for offset, size in places:
                    file.seek(offset)
                    held.add(pa.ipc.open_stream(file.read(size)).read_all())
                yield from held.total()

    def _write(self) -> None:
        """Put what is held into the file, by the parts that the rows belong to."""
        if not self._held.tables:
            return
        if self._file is None:
            self._file = temporary(self._folder)
        table = stack([t.replace_schema_metadata(None) for t in self._held.tables]).combine_chunks()
        self._held = _Held(self._limit)
        keys = [whole_column(column) for column in table.columns[: table.column_names.index(VERSION)]]
        parts = hash_places(keys, len(table), self.parts)
        order = parts.argsort(kind="stable")
        table, ends = table.take(pa.array(order)), np.searchsorted(parts[order], np.arange(self.parts + 1))
        for places, begin, end in zip(self._places, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            if begin < end:
                places.append(self._append(table.slice(begin, end - begin)))

    def _append(self, table: pa.Table) -> tuple[int, int]:
        """Write some rows; where they are, in bytes."""
        assert self._file is not None
        offset = self._file.tell()
        with pa.ipc.new_stream(self._file, table.schema) as stream:
            stream.write_table(table)
        return offset, self._file.tell() - offset


class _Held:
    """Deltas in memory, added up when they have become many."""

    def __init__(self, limit_rows: int) -> None:
        self.tables: list[pa.Table] = []
        self._rows, self._next = 0, 2 * limit_rows

    def add(self, table: pa.Table) -> None:
        self.tables.append(table)
        self._rows += len(table)
        if self._rows > self._next and len(self.tables) > 1:
            # so rarely that each row is added up a few times at most
            self.tables = [sum_deltas(self.tables)]
            self._rows = len(self.tables[0])
            self._next = max(self._next, 2 * self._rows)

    def total(self) -> Iterator[pa.Table]:
        """What they come to, if it is anything."""
        if self.tables:
            found = sum_deltas(self.tables)
            self.tables = []
            if len(found):
                yield found
