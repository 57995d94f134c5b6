"""Files that land: opened with care, and read in pieces.

Only regular files are opened; they are unpacked in bounded portions, and no further than is sensible. A small text file is read at once, a large one in
pieces that no event crosses, after a look at their order.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.files.casting import cast_exact, plain_text
from cumulus_ops.files.columns import EVENT, Malformed, RawFile
from cumulus_ops.project.errors import InputProblem
from m3.datatypes import INT

__all__ = [
    "BLOCK_BYTES",
    "PIECE_ROWS",
    "UNFOLDING",
    "Block",
    "Landed",
    "behind_line",
    "changes",
    "check_signature",
    "event_cuts",
    "file_on_disk",
    "in_pieces",
    "piece_rows",
    "too_large",
]


#: Texts are read in blocks of so many bytes.
BLOCK_BYTES = 4 << 20
#: A packed file that unfolds to more than so many times its size, and to more than the memory, was not written to be read.
UNFOLDING = 200


def file_on_disk(path: Path) -> int:
    """The descriptor of a regular file; symbolic links are not followed, and no device or pipe is waited for.

    Raises:
        InputProblem: it is something else.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        kind = os.lstat(path).st_mode
        descriptor = os.open(path, flags) if stat.S_ISREG(kind) else -1
    except OSError as problem:
        raise InputProblem(
            f"cannot be opened: {problem.strerror}",
            kind="unreadable-file",
            place=str(path),
            hint="make it readable, or deliver it again",
        ) from problem
    if descriptor >= 0 and stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    if descriptor >= 0:
        os.close(descriptor)
    what = next((name for is_kind, name in _KINDS if is_kind(kind)), "no regular file")
    hint = "copy the file itself into the drop"
    raise InputProblem(f"is {what}", kind="not-a-file", place=str(path), hint=hint)


_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a folder"),
)


class Landed(io.RawIOBase):
    """A file as it is read: unpacked if its name ends in ``.gz``, and stopped where it unfolds to too much."""

    def __init__(self, path: Path, memory: int) -> None:
        self.path = path
        raw = os.fdopen(file_on_disk(path), "rb")
        self._stream: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
        self._raw = raw
        self._limit = max(memory, UNFOLDING * os.fstat(raw.fileno()).st_size)
        self._taken = 0

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes; none at the end.

        Raises:
            InputProblem: it has more bytes than its size can stand for.
        """
        data = self._stream.read(size)
        self._taken += len(data)
        if self._taken > self._limit:
            raise too_large(self.path, f"unfolds to more than {self._limit:,} bytes")
        return data

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()
        super().close()


def behind_line(file: Landed) -> bytes:
    """Leaves out the rest of a line that is too long; what has been read behind its end."""
    while data := file.read(BLOCK_BYTES):
        _, end, rest = data.partition(b"\n")
        if end:
            return rest
    return b""


def too_large(path: Path, what: str) -> InputProblem:
    """What a file is answered with that would take too much."""
    hint = "write it in smaller files, or give the project more `memory:`"
    return InputProblem(what, kind="too-large", place=str(path), hint=hint)


# Files that are something else than their name says: known by their first bytes, and named, so that nobody has to guess from a parser's words.


#: So many bytes tell what a file is.
HEAD_BYTES = 512
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
NOT_PACKED = ("is not packed with gzip", "pack it, or take .gz from its name")
MARKUP = ("is HTML or XML", "it may be a server's error page: fetch the file again")
#: First bytes in lower case -> what such a file is, and what to do.
SIGNATURES = {
    PARQUET.lower(): ("is Parquet", "name it .parquet"),
    GZIP: ("is packed with gzip", "pack it once, and end its name in .gz"),
    b"pk\x03\x04": ("is a ZIP archive or an Excel workbook", "unpack it, or save the sheet as CSV in UTF-8"),
    b"bzh": ("is packed with bzip2", "unpack it, or pack it with gzip and end its name in .gz"),
    b"\x28\xb5\x2f\xfd": ("is packed with zstd", "unpack it, or pack it with gzip and end its name in .gz"),
    b"\xfd7zxz\x00": ("is packed with xz", "unpack it, or pack it with gzip and end its name in .gz"),
    b"\xd0\xcf\x11\xe0": ("is an old Excel workbook", "save the sheet as CSV in UTF-8"),
    b"sqlite format 3\x00": ("is an SQLite database", "export the table as CSV or Parquet"),
    b"%pdf-": ("is a PDF", "deliver the data as CSV, JSON or Parquet"),
    b"version https://git-lfs": ("is a pointer of Git LFS, not the file itself", "run `git lfs pull`, and copy the file again"),
    b"<!doctype": MARKUP,
    b"<html": MARKUP,
    b"<?xml": MARKUP,
}  # fmt: skip


def check_signature(path: Path, kind: str, memory: int) -> None:
    """Looks at the first bytes of a file.

    Args:
        path: the file.
        kind: what its name says: parquet, csv or json.
        memory: the bytes that may be held.

    Raises:
        InputProblem: it is certainly something else.
    """
    if path.suffix.lower() == ".gz":
        with os.fdopen(file_on_disk(path), "rb") as packed:
            raw = packed.read(HEAD_BYTES)
        if raw and not raw.startswith(GZIP):
            raise _refuse(path, *(_recognise(raw) or NOT_PACKED))
    with Landed(path, memory) as file:
        head = file.read(HEAD_BYTES)
    found = _recognise(head)
    if found is not None and not (kind == "parquet" and head.startswith(PARQUET)):
        raise _refuse(path, *found)


def _recognise(head: bytes) -> tuple[str, str] | None:
    """What the bytes are the beginning of, if that is known, and what to do.

    >>> _recognise(b"\\n<!DOCTYPE html><html>")[0], _recognise(b"id,price,op")
    ('is HTML or XML', None)
    """
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return next((found for mark, found in SIGNATURES.items() if begin.startswith(mark)), None)


def _refuse(path: Path, what: str, hint: str) -> InputProblem:
    return InputProblem(f"{what}, whatever its name says", kind="wrong-format", place=str(path), hint=hint)


# Cutting a sequence of rows into pieces of limited size that no atomic event crosses.


#: Rows that are read, checked and written together: so few that they stay in the processor's caches.
PIECE_ROWS = 1 << 17


def piece_rows(batch_rows: int) -> int:
    """The largest size of pieces of which several fill a batch."""
    return -(-batch_rows // -(-batch_rows // PIECE_ROWS))


def changes(offsets: np.ndarray) -> np.ndarray:
    """The indices at which another event begins than the one before, ascending, without 0."""
    return np.flatnonzero(offsets[1:] != offsets[:-1]) + 1


def event_cuts(begins: Iterable[np.ndarray], total: int, rows: int) -> list[int]:
    """The ends (exclusive) of pieces of at most ``rows`` rows, as large as possible.

    >>> event_cuts([np.array([1, 2]), np.array([7, 8])], 10, 3)
    [2, 7, 10]

    Args:
        begins: where events begin, ascending, in portions of any size.
        total: the number of rows.
        rows: an event with more rows than that is a piece by itself.

    Returns:
        The last one is ``total``, and there is at least one.
    """
    ends: list[int] = []
    start = last = 0  # where the piece begins, and the last place where it may end
    for found in chain(begins, [np.array([total])]):
        while len(found):
            fitting = int(np.searchsorted(found, start + rows, side="right"))
            last = int(found[fitting - 1]) if fitting else last
            if fitting == len(found):
                break
            start = last = last if last > start else int(found[fitting])
            ends.append(start)
            found = found[fitting:]
    return ends if ends and ends[-1] == total else [*ends, total]


#: A piece of text takes so many times its bytes, while it is checked.
SHARE = 16
#: How many times a piece may be larger than it should, because an event does not end.
PATIENCE = 2
#: What a row takes beside its values.
ROW_BYTES = 16


@dataclass(frozen=True)
class Block:
    """Some rows of a file, as in :class:`~cumulus_ops.files.columns.RawFile`; ``size`` is the bytes of their text. ``unseen``: columns that
    are NULL because no row names them."""

    columns: pa.Table
    row: np.ndarray
    malformed: tuple[Malformed, ...]
    size: int
    unseen: frozenset[str] = frozenset()

    @property
    def weight(self) -> int:
        """About how many bytes it takes: short rows take more than their text."""
        return max(self.size, int(self.columns.nbytes) + ROW_BYTES * len(self.columns))


def in_pieces(
    path: Path,
    blocks: Callable[[Sequence[str] | None], Iterator[Block]],
    together: Callable[[Sequence[Block]], pa.Table],
    memory: int,
) -> Iterator[RawFile]:
    """A file's rows, in pieces of about a sixteenth of the memory.

    Args:
        path: the file.
        blocks: reads it from the beginning: its columns of some names, None for all.
        together: puts the tables of some blocks together.
        memory: the bytes that may be held.

    Raises:
        InputProblem: a large file's events are not in order, or one of them is too large.
    """
    limit = memory // SHARE
    begun, size = [], 0
    for block in blocks(None):
        begun.append(block)
        size += block.weight
        if size > limit:
            break
    else:
        yield _join_blocks(begun, together(begun))
        return
    del begun
    if _is_numbered(path, blocks, limit):
        yield from _cut_blocks(path, blocks(None), together, limit)
    else:
        for block in blocks(None):
            table = together([block])
            yield _join_blocks([block], table.drop_columns([EVENT]) if EVENT in table.column_names else table)


def _join_blocks(blocks: Sequence[Block], table: pa.Table) -> RawFile:
    row = np.concatenate([np.arange(0), *(block.row for block in blocks)])
    return RawFile(table, row, (), tuple(m for block in blocks for m in block.malformed))


def _is_numbered(path: Path, blocks: Callable[[Sequence[str] | None], Iterator[Block]], limit: int) -> bool:
    """Whether there are events' numbers at all; they must ascend."""
    last: int | None = None
    numbered = False
    for block in blocks([EVENT]):
        if EVENT not in block.columns.column_names:
            return False
        numbered |= EVENT not in block.unseen
        values, _ = cast_exact(plain_text(block.columns[EVENT]), INT)
        known = pc.drop_null(values).to_numpy()
        if len(known) == 0:
            continue
        if (known[1:] < known[:-1]).any() or (last is not None and known[0] < last):
            raise InputProblem(
                "has events that are not in order",
                kind="unsorted",
                place=str(path),
                hint=f"sort it by event, or write it in files of less than {limit >> 20} MiB of text",
            )
        last = int(known[-1])
    return numbered


def _cut_blocks(
    path: Path, blocks: Iterator[Block], together: Callable[[Sequence[Block]], pa.Table], limit: int
) -> Iterator[RawFile]:
    waiting: list[Block] = []
    for block in blocks:
        waiting.append(block)
        size = sum(b.weight for b in waiting)
        if size <= limit:
            continue
        piece = _join_blocks(waiting, together(waiting))
        cut = _find_last_cut(piece)
        if cut == 0:
            if size > PATIENCE * limit:
                raise too_large(path, f"has an event of more than {limit >> 20} MiB of text")
            continue
        first_row = piece.row[cut] if cut < len(piece.row) else np.iinfo(np.int64).max
        early = tuple(m for m in piece.malformed if m.row < first_row)
        late = tuple(m for m in piece.malformed if m.row >= first_row)
        yield RawFile(piece.columns.slice(0, cut), piece.row[:cut], (), early)
        waiting = [Block(piece.columns.slice(cut), piece.row[cut:], late, 0)]
    if waiting:
        yield _join_blocks(waiting, together(waiting))


def _find_last_cut(piece: RawFile) -> int:
    """Before which row the piece may be cut: it and the one before are known to be different events, and nothing is between them."""
    if EVENT not in piece.columns.column_names:
        return len(piece.row)
    values, _ = cast_exact(plain_text(piece.columns[EVENT]), INT)
    known = ~np.asarray(pc.is_null(values).to_numpy(), dtype=bool)
    events = pc.fill_null(values, 0).to_numpy()
    apart = known[1:] & known[:-1] & (events[1:] != events[:-1]) & (np.diff(piece.row) == 1)
    places = np.flatnonzero(apart)
    return int(places[-1]) + 1 if len(places) else 0
