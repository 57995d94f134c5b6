"""Files that are something else than their name says: known by their first bytes, and named, so that nobody has to guess from a parser's words."""

from __future__ import annotations

import os
from pathlib import Path

from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.landed import file_on_disk, open_landed

__all__ = ["check_signature"]

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
        memory: see :func:`~cumulus_ops.eventlog.landed.open_landed`.

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
