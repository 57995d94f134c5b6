"""Key runs: immutable sorted tables of what is known of keys, in memory or in a file.

A run has one entry per key: the row that its latest event has inserted or deleted, how often that row is there (``count``: 0 or 1; any number
without a key), and the ``stamp`` of that event, its epoch and its coordinator. In a file a run is an Arrow IPC file of rows in the order of
their codes, a record batch for some thousands, followed (at the next multiple of 64 bytes) by three arrays of int64: codes, counts, stamps.
"""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog import KeyRun, NewKeyRun
from cumulus_ops.errors import Conflict
from cumulus_ops.versions import COORDINATOR_BITS

__all__ = ["Entries", "KeyFile", "open_run", "stamp_of", "stamped_epoch"]

CHUNK_ROWS = 1 << 15
ALIGNMENT = 64
FOLDER = "keys"


def stamp_of(epoch: int, coordinator: int) -> int:
    """Epoch and coordinator in one number, ordered by epoch."""
    return epoch << COORDINATOR_BITS | coordinator


def stamped_epoch(stamp: np.ndarray) -> np.ndarray:
    """The epochs of stamps."""
    return stamp >> COORDINATOR_BITS


@dataclass(frozen=True)
class Entries:
    """A run, or a part of one, in the order of its codes; ``batches`` are the rows, one after the other."""

    codes: np.ndarray
    counts: np.ndarray
    stamps: np.ndarray
    batches: Sequence[pa.RecordBatch | pa.Table]

    @property
    def rows(self) -> int:
        """How many entries it has."""
        return len(self.codes)

    @functools.cached_property
    def ends(self) -> np.ndarray:
        """Where each batch ends (exclusive)."""
        return np.cumsum([batch.num_rows for batch in self.batches])

    def take(self, places: np.ndarray, names: Sequence[str]) -> pa.Table:
        """The rows at some places, of which only these columns. A batch is touched if a row of it is wanted."""
        if len(self.batches) == 1:
            return _taken(self.batches[0], places, names)
        ascending = np.argsort(places, kind="stable")
        wanted = places[ascending]
        cuts = np.searchsorted(wanted, self.ends)
        starts = np.concatenate([[0], cuts[:-1]])
        parts = [
            _taken(self.batches[i], wanted[starts[i] : cuts[i]] - (self.ends[i - 1] if i else 0), names)
            for i in np.flatnonzero(cuts > starts).tolist()
        ]
        found = pa.concat_tables(parts) if parts else _taken(self.batches[0], places, names)
        if (ascending[1:] > ascending[:-1]).all():
            return found
        back = np.empty(len(places), np.int64)
        back[ascending] = np.arange(len(places))
        return found.combine_chunks().take(pa.array(back))

    def part(self, begin: int, end: int, names: Sequence[str]) -> Entries:
        """The entries from a place to another (exclusive)."""
        rows = self.take(np.arange(begin, end), names)
        return Entries(self.codes[begin:end], self.counts[begin:end], self.stamps[begin:end], [rows])


def _taken(batch: pa.RecordBatch | pa.Table, places: np.ndarray, names: Sequence[str]) -> pa.Table:
    chosen = batch.select(list(names))
    table = pa.Table.from_batches([chosen]) if isinstance(chosen, pa.RecordBatch) else chosen
    if len(places) and places[-1] - places[0] == len(places) - 1 and (places[1:] > places[:-1]).all():
        return table.slice(int(places[0]), len(places))
    return table.take(pa.array(places))


class KeyFile:
    """A new file that runs are written to, one after the other; nothing of it exists for others until the catalog names it.

    Args:
        root: the state folder.
        label: of the step that writes it.
    """

    def __init__(self, root: Path, label: str) -> None:
        self.path = f"{FOLDER}/{label}{uuid.uuid4().hex}.keys"
        self._place = root / self.path
        self._sink: IO[bytes] | None = None
        self._rooms: dict[int, int] = {}

    def write(self, relation: str, parts: Iterable[Entries]) -> NewKeyRun | None:
        """Write a run; its parts come in the order of their codes. None if there is no entry at all."""
        kept: list[Entries] = []
        writer, begin = None, 0
        for part in parts:
            if part.rows == 0:
                continue
            if writer is None:
                sink, begin = self._begin()
                writer = pa.ipc.new_file(sink, part.batches[0].schema)
            for batch in part.batches:
                _write(writer, batch)
            kept.append(Entries(part.codes, part.counts, part.stamps, []))
        if writer is None:
            return None
        writer.close()
        return self._finish(relation, begin, kept)

    def _begin(self) -> tuple[IO[bytes], int]:
        if self._sink is None:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            self._sink = self._place.open("wb")
        return self._sink, self._pad()

    def _pad(self) -> int:
        assert self._sink is not None
        self._sink.write(bytes(-self._sink.tell() % ALIGNMENT))
        return self._sink.tell()

    def _finish(self, relation: str, begin: int, kept: Sequence[Entries]) -> NewKeyRun:
        assert self._sink is not None
        rows_end = self._sink.tell()
        self._pad()
        for column in ("codes", "counts", "stamps"):
            for part in kept:
                self._sink.write(np.ascontiguousarray(getattr(part, column), np.int64).data)
        self._sink.flush()
        end, rows = self._sink.tell(), sum(part.rows for part in kept)
        lowest, highest = int(kept[0].codes[0]), int(kept[-1].codes[-1])
        return NewKeyRun(relation, self.path, begin, rows_end - begin, end - begin, rows, lowest, highest)

    def close(self) -> None:
        """Make it durable, its name as well."""
        if self._sink is None:
            return
        os.fsync(self._sink.fileno())
        self._sink.close()
        descriptor = os.open(self._place.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def discard(self) -> None:
        """Delete what was written: it will not be named."""
        if self._sink is not None:
            self._sink.close()
            self._place.unlink(missing_ok=True)


def _write(writer: pa.ipc.RecordBatchFileWriter, batch: pa.RecordBatch | pa.Table) -> None:
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    writer.write_table(table.combine_chunks(), max_chunksize=CHUNK_ROWS)


@functools.lru_cache(maxsize=512)
def _mapped(file: Path, offset: int, rows_bytes: int, bytes_: int, rows: int) -> Entries:
    with pa.memory_map(os.fspath(file)) as mapped:
        whole = mapped.read_buffer(offset + bytes_).slice(offset)
    arrays = rows_bytes + -rows_bytes % ALIGNMENT
    numbers = np.frombuffer(whole, np.int64, 3 * rows, arrays).reshape(3, rows)
    reader = pa.ipc.open_file(pa.BufferReader(whole.slice(0, rows_bytes)))
    return Entries(numbers[0], numbers[1], numbers[2], [reader.get_batch(i) for i in range(reader.num_record_batches)])


def open_run(root: Path, run: NewKeyRun | KeyRun) -> Entries:
    """A stored run, mapped into memory.

    Raises:
        Conflict: it was merged meanwhile, and its file is gone.
    """
    try:
        return _mapped(root / run.path, run.offset, run.rows_bytes, run.bytes, run.rows)
    except FileNotFoundError as error:
        raise Conflict("the key index moved on", kind="keys-moved", place=run.relation, hint="run it again") from error
