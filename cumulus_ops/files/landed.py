"""Landed files are opened with care: only regular files, unpacked in bounded portions, and no further than is sensible."""

from __future__ import annotations

import gzip
import io
import os
import stat
from pathlib import Path
from typing import BinaryIO

from cumulus_ops.project.errors import InputProblem

__all__ = [
    "BLOCK_BYTES",
    "UNFOLDING",
    "Landed",
    "behind_line",
    "check_signature",
    "file_on_disk",
    "open_landed",
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


def open_landed(path: Path, memory: int) -> Landed:
    """Opens a text file, packed or not; ``memory`` bytes may be held."""
    return Landed(path, memory)


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
        memory: see :func:`~cumulus_ops.files.landed.open_landed`.

    Raises:
        InputProblem: it is certainly something else.
    """
    if path.suffix.lower() == ".gz":
        raw = _packed_head(path)
        if raw and not raw.startswith(GZIP):
            raise _something_else(path, *(_known(raw) or NOT_PACKED))
    with open_landed(path, memory) as file:
        head = file.read(HEAD_BYTES)
    found = _known(head)
    if found is not None and not (kind == "parquet" and head.startswith(PARQUET)):
        raise _something_else(path, *found)


def _packed_head(path: Path) -> bytes:
    """The first bytes as they are on the disk."""
    with os.fdopen(file_on_disk(path), "rb") as file:
        return file.read(HEAD_BYTES)


def _known(head: bytes) -> tuple[str, str] | None:
    """What the bytes are the beginning of, if that is known, and what to do.

    >>> _known(b"\\n<!DOCTYPE html><html>")[0], _known(b"id,price,op")
    ('is HTML or XML', None)
    """
    begin = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return next((found for mark, found in SIGNATURES.items() if begin.startswith(mark)), None)


def _something_else(path: Path, what: str, hint: str) -> InputProblem:
    return InputProblem(f"{what}, whatever its name says", kind="wrong-format", place=str(path), hint=hint)
