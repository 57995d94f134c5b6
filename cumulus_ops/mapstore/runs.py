"""A run: deltas of one map, immutable, sorted for one access path.

An **access path** is the set of key columns by which some statement looks a map up. A run for it is sorted by
(hash of those columns, version), so that the deltas of a key lie together, oldest first; a run for an ordered path by
(hash, value of the ordering column, version), so that the least and the greatest lie at the ends. Its Arrow columns are
``_hash`` uint64, the map's keys, ``_version`` int64, ``_value`` int64 and, unless every hash occurs once, ``_total``
int64: the running total of ``_value`` modulo 2**64 (inclusive), by which "all deltas of this key before version v" is one
subtraction. The schema's metadata say whether every hash occurs once (``unique``), whether two keys share a hash
(``collisions``), and what the values' magnitudes add up to (``magnitude``).
"""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.catalog import NewRun
from cumulus_ops.mapstore.columns import to_numpy
from cumulus_ops.mapstore.deltas import VALUE, VERSION
from cumulus_ops.mapstore.hashing import hash_columns

__all__ = ["AccessPath", "Pack", "RunData", "build_run", "open_run", "read_table", "write_runs"]

HASH, TOTAL = "_hash", "_total"
COLLISIONS, MAGNITUDE, UNIQUE = b"collisions", b"magnitude", b"unique"
ALIGNMENT = 64


@dataclass(frozen=True, order=True)
class AccessPath:
    """Positions of the key columns of ``map`` that a lookup binds, ascending. ``order``: the position of a key column by
    whose values the entries of one lookup are sorted, -1 for none."""

    map: str
    bound: tuple[int, ...]
    order: int = -1

    @property
    def label(self) -> str:
        """How the catalog and file names call it: ``"0.2"``, or ``"all"`` for no bound column; ``"0<1"`` if ordered."""
        return (".".join(map(str, self.bound)) or "all") + (f"<{self.order}" if self.order >= 0 else "")


@dataclass(frozen=True)
class RunData:
    """An opened run. Arrays are views of the memory-mapped file; ``unique`` says that every hash occurs once,
    ``collisions`` that some hash has two keys. ``magnitude``: no sum of some of its values has a larger one (beyond
    rounding)."""

    hashes: np.ndarray
    versions: np.ndarray
    values: np.ndarray
    totals: np.ndarray
    keys: tuple[pa.Array, ...]
    collisions: bool
    magnitude: float = math.inf
    unique: bool = False

    def __len__(self) -> int:
        return len(self.hashes)


def build_run(delta: pa.Table, path: AccessPath) -> pa.Table:
    """Sort a delta table for an access path; the result has the columns of a run."""
    delta = delta.combine_chunks()
    keys = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in delta.columns[:-2]]
    hashes = hash_columns([keys[i] for i in path.bound], len(delta))
    versions = to_numpy(delta[VERSION].combine_chunks())
    order = _order(hashes, versions, keys[path.order] if path.order >= 0 else None)
    hashes, versions, values = hashes[order], versions[order], to_numpy(delta[VALUE].combine_chunks())[order]
    chosen = pa.array(order)
    keys = [k.take(chosen) for k in keys]
    repeated = np.flatnonzero(hashes[1:] == hashes[:-1])
    columns = [hashes, *keys, versions, values, *([np.cumsum(values)] if len(repeated) else [])]
    names = [HASH, *delta.column_names[:-2], VERSION, VALUE, *([TOTAL] if len(repeated) else [])]
    table = pa.table(dict(zip(names, [pa.array(c) if isinstance(c, np.ndarray) else c for c in columns], strict=True)))
    collisions = _has_collisions(repeated, [keys[i] for i in path.bound])
    magnitude = float(np.abs(values.astype(np.float64)).sum())
    flags = {COLLISIONS: collisions, UNIQUE: not len(repeated)}
    metadata = {name: b"1" if flag else b"0" for name, flag in flags.items()}
    return table.replace_schema_metadata({**metadata, MAGNITUDE: repr(magnitude).encode()})


def _order(hashes: np.ndarray, versions: np.ndarray, by: pa.Array | None) -> np.ndarray:
    """The rows in the order of their hashes, of the values ``by`` if there are any, and of their versions."""
    if by is None and (len(versions) == 0 or versions.min() == versions.max()):
        return np.argsort(hashes)
    return np.lexsort((versions, *([] if by is None else [_places(by)]), hashes))


def _places(column: pa.Array) -> np.ndarray:
    """The place of each value in the order of the distinct ones; NULL is last."""
    return to_numpy(pc.rank(column, sort_keys="ascending", tiebreaker="dense").cast(pa.int64()))


def _has_collisions(repeated: np.ndarray, bound: list[pa.Array]) -> bool:
    """Whether the keys of some row and the next one differ; ``repeated`` are the rows whose hash the next one has, too."""
    if len(repeated) == 0:
        return False
    first, second = pa.array(repeated), pa.array(repeated + 1)
    return any(not column.take(first).equals(column.take(second)) for column in bound)


def read_table(table: pa.Table) -> RunData:
    """The arrays of a run table (one chunk per column)."""
    columns = {n: _one_chunk(c) for n, c in zip(table.column_names, table.columns, strict=True)}
    metadata = table.schema.metadata or {}
    hashes, versions, values = (columns.pop(name).to_numpy() for name in (HASH, VERSION, VALUE))
    totals = columns.pop(TOTAL).to_numpy() if TOTAL in columns else values
    return RunData(
        hashes,
        versions,
        values,
        totals,
        tuple(columns.values()),
        metadata.get(COLLISIONS) == b"1",
        float(metadata.get(MAGNITUDE, b"inf")),
        metadata.get(UNIQUE) == b"1",
    )


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def open_run(file: Path | str, offset: int, size: int) -> RunData:
    """Memory-map one run of a pack; nothing is read until it is looked at."""
    return read_table(pa.ipc.open_file(pa.BufferReader(_pack(str(file)).slice(offset, size))).read_all())


@lru_cache(maxsize=1024)
def _pack(file: str) -> pa.Buffer:
    """A whole pack, mapped once for all its runs: packs never change."""
    with pa.memory_map(file) as source:
        return source.read_buffer()


class Pack:
    """A file below ``root``, with a fresh name, to which a step writes its runs one after the other: however many maps it
    touches, it waits for the disk once. Until :meth:`close` has returned and the catalog names the runs, nobody knows of
    it; what a step that dies leaves behind is an orphan.

    Args:
        root: the state folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = Path("runs") / f"{uuid.uuid4().hex}.pack"
        self._runs: list[NewRun] = []
        self._sink: BinaryIO | None = None  # nothing is made before the first run comes

    def append(self, path: AccessPath, table: pa.Table) -> NewRun:
        """Write the next run, for an access path."""
        sink = self._opened()
        offset = -(-sink.tell() // ALIGNMENT) * ALIGNMENT
        sink.write(bytes(offset - sink.tell()))
        with pa.ipc.new_file(pa.PythonFile(sink, mode="w"), table.schema) as writer:
            writer.write_table(table, max_chunksize=max(1, len(table)))
        versions = to_numpy(table[VERSION].combine_chunks())
        low, high = (int(versions.min()), int(versions.max())) if len(versions) else (0, 0)
        self._runs.append(
            NewRun(path.map, path.label, str(self._path), offset, low, high, len(table), sink.tell() - offset)
        )
        return self._runs[-1]

    def read(self, run: NewRun) -> RunData:
        """A run that was written before, mapped from the file instead of held in memory."""
        self._opened().flush()
        with pa.memory_map(str(self._root / self._path)) as source:
            source.seek(run.offset)
            return read_table(pa.ipc.open_file(source.read_buffer(run.bytes)).read_all())

    def close(self) -> tuple[NewRun, ...]:
        """Make the file durable, and its name.

        Returns:
            the runs for the catalog; they are invisible until a transaction there names them.
        """
        if self._sink is not None:
            self._sink.flush()
            os.fsync(self._sink.fileno())
            self._sink.close()
            sync_folder((self._root / self._path).parent)
        return tuple(self._runs)

    def _opened(self) -> BinaryIO:
        if self._sink is None:
            target = self._root / self._path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._sink = target.open("wb")
        return self._sink


def write_runs(root: Path, runs: Iterable[tuple[AccessPath, pa.Table]]) -> tuple[NewRun, ...]:
    """Write runs into one pack.

    Returns:
        the runs for the catalog.
    """
    pack = Pack(root)
    for path, table in runs:
        pack.append(path, table)
    return pack.close()


def sync_folder(folder: Path) -> None:
    """Make a new directory entry durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
