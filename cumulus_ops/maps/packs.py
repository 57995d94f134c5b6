"""Runs in files: written one after the other into one pack per step, mapped, verified as they are read.

Each run is an Arrow IPC file of one record batch, whose schema has in its metadata what the encodings need, followed by the
checksums of its blocks. ``docs/formats.md`` describes every byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from cumulus_ops.catalog.records import NewKeyRun, NewRun
from cumulus_ops.maps.columns import from_numbers
from cumulus_ops.maps.encodings import (
    BLOCK_BYTES,
    BLOCK_SHIFT,
    NAMES,
    TYPES,
    UNSIGNED,
    Array,
    Blocks,
    Column,
    Frame,
    Numbers,
    Packed,
    Place,
    Plain,
    Texts,
    Wide,
    checksums,
    say_damaged,
)
from cumulus_ops.maps.hashes import UNKNOWN, Hashes, hash_run
from cumulus_ops.maps.runs import AccessPath, Part, RunData, Search
from cumulus_ops.project.small_files import sync_folder

__all__ = ["FOREIGN", "FORMAT", "Pack", "open_run", "root_of", "unmap_files", "verify_run", "write_runs"]


#: The version of the format of runs; a catalog says which one its runs have.
FORMAT = 4
MAGIC = b"CUMRUN04"
#: A header has nothing in itself: not to look for that takes a fifth off.
_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
#: All of a group's entries; a part of a group that is spread over several places has a narrower range of the keys' hashes.
HASH_RANGE = (0, 2**64 - 1)
#: Of runs in a pack: Arrow wants its buffers at multiples of 8 bytes at least, and reads them without a copy then.
ALIGNMENT = 64
#: A run of at most so many bytes is verified as a whole when it is opened: that takes less time than to ask, at each read, what
#: has been verified.
AT_ONCE_BYTES = 1 << 18
HEADER = b"cumulus"
#: Of codes.
ARROW = {dtype: pa.from_numpy_dtype(dtype) for dtype in UNSIGNED}
#: Arrow would look at the environment for each run.
IPC = pa.ipc.IpcWriteOptions()
#: The runs of a small batch, of a few KiB each, are handed to the system together.
BUFFER_BYTES = 1 << 20
#: What is wrong with a run that is whole, and not the one that was written there.
FOREIGN = "it is another one, by the root that the catalog has"
FORMS = {"numbers": Numbers, "packed": Packed, "texts": Texts, "plain": Plain, "wide": Wide}


class _Writer:
    """Collects the Arrow columns of one run beside the description of its encodings."""

    def __init__(self) -> None:
        self.arrays: list[pa.Array] = []
        self.names: list[str] = []

    def add(self, name: str, array: pa.Array) -> int:
        """Store an array; its number among the columns."""
        self.arrays.append(array)
        self.names.append(name)
        return len(self.arrays) - 1

    def codes(self, name: str, codes: Array | None) -> int | None:
        """Store codes, if there are any."""
        if codes is None:
            return None
        data = np.ascontiguousarray(codes.all())
        return self.add(name, from_numbers(data, ARROW[data.dtype]))

    def column(self, name: str, column: Column) -> dict[str, Any]:
        """Store a column; what a reader has to know of it."""
        match column:
            case Numbers():
                listed = None if column.listed is None else column.listed.tolist()
                described = {"kind": column.kind, "frame": column.frame, "listed": listed}
                return {"form": "numbers", "column": self.codes(name, column.codes), **described}
            case Packed():
                place = {"kind": column.kind, "frame": column.frame}
                return {"form": "packed", **place, "shift": column.shift, "bits": column.bits}
            case Texts():
                distinct = column.distinct.all()
                if column.codes is None:
                    return {"form": "texts", "column": None, "constant": distinct.to_pylist()}
                array = pa.DictionaryArray.from_arrays(pa.array(column.codes.all()), distinct)
                return {"form": "texts", "column": self.add(name, array)}
            case Plain():
                return {"form": "plain", "column": self.add(name, column.all()), "kind": NAMES[column.values.type]}
            case Wide():
                halves = {
                    "high": self.column(f"{name}/high", column.high),
                    "low": self.column(f"{name}/low", column.low),
                }
                return {"form": "wide", **halves}
        raise AssertionError(column)


def root_of(sums: bytes, body: int) -> str:
    """The root of a run: a digest of the checksums and flags of its blocks, and of the length of all of them. Who knows it knows what every byte is."""
    return hashlib.blake2b(sums + body.to_bytes(8, "little"), digest_size=16).hexdigest()


def _serialise(run: RunData) -> tuple[list[pa.Buffer | bytes], str]:
    """The bytes of a run, in pieces, and its root."""
    writer, path = _Writer(), run.path
    header = {
        "format": FORMAT,
        "rows": run.rows,
        "path": [path.map, path.bound, path.order, path.keys, path.values, path.again],
        "hashes": HASH_RANGE,
        "code": writer.codes("code", run.codes),
        "search": {
            "parts": [[part.key, part.frame, part.shift, part.bits] for part in run.search.parts],
            "hash_bits": run.search.hash_bits,
            "bits": run.search.bits,
        },
        "keys": {position: writer.column(f"key {position}", key) for position, key in run.keys.items()},
        "versions": writer.column("version", run.versions),
        "values": {name: writer.column(f"value {name}", column) for name, column in run.values.items()},
        "span": [run.oldest, run.newest],
        "unique": run.unique,
        "collisions": run.collisions,
        "magnitudes": dict(run.magnitudes),
        "fences": run.fences.tolist(),
    }
    batch = pa.RecordBatch.from_arrays(writer.arrays, writer.names, metadata={HEADER: _json(header).encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema, options=IPC) as ipc:
        if writer.arrays:
            ipc.write_batch(batch)
    body = sink.getvalue()
    sums = checksums(memoryview(body)).tobytes() + _mark_headers(body).tobytes()
    tail = body.size.to_bytes(8, "little") + zlib.crc32(sums).to_bytes(4, "little") + MAGIC
    return [body, sums, tail], root_of(sums, body.size)


def _mark_headers(body: pa.Buffer) -> np.ndarray:
    """Which blocks have anything but rows in them (uint8): all that is read when a run is opened is there."""
    flags = np.ones(-(-body.size // BLOCK_BYTES), np.uint8)
    if len(flags) == 1:
        return flags
    source = pa.ipc.open_file(pa.BufferReader(body))
    for batch in [source.get_batch(0)] if source.num_record_batches else []:
        for column in batch.columns:
            for buffer in column.buffers():
                if buffer is not None:
                    begin = buffer.address - body.address
                    flags[-(-begin // BLOCK_BYTES) : (begin + buffer.size) // BLOCK_BYTES] = 0
    return flags


class _Reader:
    """Finds a run's columns again; everything but the header stays unread."""

    def __init__(self, batch: pa.RecordBatch | None, start: int, blocks: Blocks) -> None:
        self.batch, self.start, self.blocks = batch, start, blocks

    def codes(self, number: int | None) -> Array | None:
        """Stored codes."""
        if number is None:
            return None
        assert self.batch is not None
        return self._numbers(self.batch.column(number))

    def _numbers(self, array: pa.Array) -> Array:
        buffer = array.buffers()[1]
        data = np.frombuffer(buffer, dtype=array.type.to_pandas_dtype())[: len(array)]
        return Array(data, self.blocks, buffer.address - self.start)

    def column(self, about: dict[str, Any], rows: int, codes: Array | None) -> Any:
        """A stored column."""
        form = about["form"]
        if form == "wide":
            return Wide(*(self.column(about[half], rows, codes) for half in ("high", "low")))
        if form == "packed":
            return Packed(about["kind"], Frame(*about["frame"]), rows, codes, about["shift"], about["bits"])
        if form == "numbers":
            listed = None if about["listed"] is None else np.array(about["listed"], dtype=np.uint64)
            return Numbers(about["kind"], Frame(*about["frame"]), rows, self.codes(about["column"]), listed)
        if about["column"] is None:
            return Texts(None, rows, Plain(pa.array(about["constant"], pa.string())))
        assert self.batch is not None
        array = self.batch.column(about["column"])
        if form == "plain":
            return Plain(array.cast(TYPES[about["kind"]]), self.blocks, self.start)
        return Texts(self._numbers(array.indices), rows, Plain(array.dictionary, self.blocks, self.start))


def _parse(data: pa.Buffer, place: Place, root: str | None) -> RunData:
    """A run in mapped bytes; the header is read and verified."""
    view = memoryview(data)
    blocks, body, headers = _read_checksums(view, place, root)
    if body <= AT_ONCE_BYTES:
        blocks.check_all()
    else:
        blocks.check(headers << BLOCK_SHIFT)
    source = pa.ipc.open_file(pa.BufferReader(data.slice(0, body)))
    header = json.loads(source.schema.metadata[HEADER])
    if header["format"] != FORMAT:
        raise say_damaged(place, f"it has format {header['format']}, this program reads {FORMAT}")
    reader = _Reader(source.get_batch(0) if source.num_record_batches else None, data.address, blocks)
    rows, codes = header["rows"], reader.codes(header["code"])
    oldest, newest = header["span"]
    name, bound, order, keys, values, again = header["path"]
    keys, values = (None if x is None else tuple(x) for x in (keys, values))
    path = AccessPath(name, tuple(bound), order, keys, values, again)
    about = header["search"]
    parts = tuple(Part(key, Frame(*frame), shift, bits) for key, frame, shift, bits in about["parts"])
    return RunData(
        path,
        rows,
        Search(parts, about["hash_bits"], about["bits"]),
        codes,
        {int(position): reader.column(key, rows, codes) for position, key in header["keys"].items()},
        reader.column(header["versions"], rows, codes),
        {value: reader.column(column, rows, codes) for value, column in header["values"].items()},
        oldest,
        newest,
        header["unique"],
        header["collisions"],
        header["magnitudes"],
        np.array(header["fences"], dtype=np.uint64 if codes is None else codes.data.dtype),
    )


def _read_checksums(view: memoryview, place: Place, root: str | None) -> tuple[Blocks, int, np.ndarray]:
    """The checksums at a run's end, the length of what they are about, and the blocks with more than rows in them. ``root``: what the catalog says of it."""
    size = len(view)
    if size < 20 or bytes(view[size - 8 :]) != MAGIC:
        raise say_damaged(place, "it does not end as a run does")
    body = int.from_bytes(view[size - 20 : size - 12], "little")
    count = -(-body // BLOCK_BYTES)
    sums = bytes(view[body : size - 20]) if body < size else b""
    if len(sums) != 5 * count or zlib.crc32(sums) != int.from_bytes(view[size - 12 : size - 8], "little"):
        raise say_damaged(place, "its checksums do not have theirs")
    if root is not None and root_of(sums, body) != root:
        raise say_damaged(place, FOREIGN)
    blocks = Blocks(view[:body], np.frombuffer(sums, np.uint32, count), place)
    return blocks, body, np.flatnonzero(np.frombuffer(sums, np.uint8, count, 4 * count))


def open_run(
    file: Path | str,
    offset: int,
    size: int,
    root: str | None = None,
    hint: str = Place.hint,
    *,
    remember: bool = True,
) -> RunData:
    """Memory-map one run of a pack; apart from its header nothing is read until it is looked at.

    Args:
        file: the pack.
        offset, size: where in it, in bytes.
        root: what the catalog has as its root; None of a run of old, which is taken as it is.
        hint: what to do when it is damaged.
        remember: the map of the file, for its other runs, until :func:`unmap_files`; else it is gone with the run.

    Raises:
        IntegrityProblem: it is not what was written.
    """
    place = Place(f"{file}, byte {offset}", hint)
    return _parse(_map_part(file, offset, size, place, remember=remember), place, root)


def _map_part(file: Path | str, offset: int, size: int, place: Place, *, remember: bool = True) -> pa.Buffer:
    try:
        data = (_map_file if remember else _map_file.__wrapped__)(str(file))
    except FileNotFoundError as error:
        raise say_damaged(place, "it is missing") from error
    if offset + size > data.size:
        raise say_damaged(place, "the file is too short")
    return data.slice(offset, size)


def verify_run(file: Path | str, offset: int, size: int, root: str | None = None) -> None:
    """Verify all of a run; ``root`` as in :func:`open_run`.

    Raises:
        IntegrityProblem: it is not what was written.
    """
    place = Place(f"{file}, byte {offset}")
    _read_checksums(memoryview(_map_part(file, offset, size, place)), place, root)[0].check_all()


@lru_cache(maxsize=1024)
def _map_file(file: str) -> pa.Buffer:
    """A whole pack, mapped once for all its runs: packs never change."""
    with pa.memory_map(file) as source:
        return source.read_buffer()


def unmap_files() -> None:
    """Map files anew when they are next asked for. Runs that are open keep theirs."""
    _map_file.cache_clear()


class Pack:
    """A file below ``root``, with a fresh name, to which a step writes its runs one after the other: however many groups it
    touches, it waits for the disk once. Until :meth:`close` has returned and the catalog names the runs, nobody knows of
    it; what a step that dies leaves behind is an orphan.

    Args:
        root: the state folder.
        label: what the file's name begins with: whose step writes it.
        folder, suffix: where it is, and how its name ends.
    """

    def __init__(self, root: Path, label: str = "", folder: str = "runs", suffix: str = ".pack") -> None:
        self.root, self.label = root, label
        self._path = Path(folder) / f"{label}{uuid.uuid4().hex}{suffix}"
        self._runs: list[NewRun] = []
        self._sink: BinaryIO | None = None  # nothing is made before the first run comes

    def append(self, run: RunData, hashes: Hashes = UNKNOWN) -> NewRun:
        """Write the next run, whose rows have such hashes."""
        sink = self._open_sink()
        offset = -(-sink.tell() // ALIGNMENT) * ALIGNMENT
        sink.write(bytes(offset - sink.tell()))
        pieces, root = _serialise(run)
        size = sum(sink.write(piece) for piece in pieces)
        place = (run.path.map, run.path.label, str(self._path), offset)
        self._runs.append(NewRun(*place, run.oldest, run.newest, run.rows, size, root, *hashes))
        return self._runs[-1]

    def read(self, run: NewRun | NewKeyRun) -> RunData:
        """A run that was written before, mapped from the file instead of held in memory."""
        self._open_sink().flush()
        # Not by :func:`_map_file`, which remembers a file as long as it is now, and this one still grows.
        with pa.memory_map(str(self.root / self._path)) as source:
            source.seek(run.offset)
            return _parse(source.read_buffer(run.bytes), Place(run.path), run.root)

    def close(self, *, durable: bool = True) -> tuple[NewRun, ...]:
        """Make the file durable, and its name; or only end it.

        Returns:
            the runs for the catalog; they are invisible until a transaction there names them.
        """
        if self._sink is not None:
            self._sink.flush()
            if durable:
                os.fsync(self._sink.fileno())
            self._sink.close()
            if durable:
                sync_folder((self.root / self._path).parent)
        return tuple(self._runs)

    def discard(self) -> None:
        """Delete what was written, closed or not: it will not be named."""
        if self._sink is not None:
            self._sink.close()
            (self.root / self._path).unlink(missing_ok=True)

    def _open_sink(self) -> BinaryIO:
        if self._sink is None:
            target = self.root / self._path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._sink = target.open("wb", BUFFER_BYTES)
        return self._sink


def write_runs(root: Path, runs: Iterable[RunData] | Iterator[RunData], label: str = "") -> tuple[NewRun, ...]:
    """Write runs into one pack; ``label`` says whose step does.

    Returns:
        the runs for the catalog.
    """
    pack = Pack(root, label)
    for run in runs:
        pack.append(run, hash_run(run))
    return pack.close()
