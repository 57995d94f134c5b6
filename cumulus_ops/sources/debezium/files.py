"""The files of a stream: in the order of their names, numbers in them counted as numbers; each may grow, and none may change.

Of each place that was reached, a digest of what comes directly before is kept: a file that was written
anew is told from one that has grown.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.errors import SetupProblem
from cumulus_ops.sources.drops import natural

__all__ = ["SUFFIXES", "Line", "StreamFile", "check_unchanged", "lines_from", "stream_files", "tail_digest"]

SUFFIXES = (".json", ".jsonl", ".ndjson")
BLOCK_BYTES = 1 << 20
TAIL_BYTES = 4096
#: A longer line is not a message.
LINE_BYTES = 64 << 20


@dataclass(frozen=True)
class StreamFile:
    """A file as it was when the folder was listed; ``modified`` in seconds."""

    path: Path
    size: int
    modified: float

    @property
    def name(self) -> str:
        """Within the folder."""
        return self.path.name


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end; ``end`` is the offset in the file behind it. The last one of a file may be cut off: not ``whole``."""

    text: bytes
    end: int
    whole: bool = True


def stream_files(folder: Path) -> tuple[list[StreamFile], list[str]]:
    """The files of the stream in their order, and the names of what else is in the folder.

    Raises:
        SetupProblem: there is no such folder.
    """
    try:
        entries = sorted(folder.iterdir(), key=lambda p: (natural(p.name), p.name))
    except OSError as problem:
        hint = "give the folder that the files of envelopes are written to: `path: FOLDER`"
        raise SetupProblem(
            f"cannot be listed: {problem.strerror}", kind="no-folder", place=str(folder), hint=hint
        ) from problem
    files, others = [], []
    for path in entries:
        if path.name.startswith((".", "_")):
            continue
        status = path.lstat()
        if path.suffix in SUFFIXES and stat.S_ISREG(status.st_mode):
            files.append(StreamFile(path, status.st_size, status.st_mtime))
        else:
            others.append(path.name)
    return files, others


def lines_from(file: StreamFile, offset: int) -> Iterator[Line]:
    """The lines behind an offset, as far as the file had come when it was listed.

    Raises:
        SetupProblem: it cannot be read, or a line is too long.
    """
    try:
        with file.path.open("rb") as opened:
            opened.seek(offset)
            rest = b""
            while offset < file.size and (block := opened.read(min(BLOCK_BYTES, file.size - offset - len(rest)))):
                *lines, rest = (rest + block).split(b"\n")
                for text in lines:
                    offset += len(text) + 1
                    yield Line(text, offset)
                if len(rest) > LINE_BYTES:
                    raise SetupProblem(
                        f"has a line of more than {LINE_BYTES >> 20} MB",
                        kind="long-line",
                        place=f"{file.path}@{offset}",
                        hint="one message per line (NDJSON), not a JSON array or a document over several lines",
                    )
            if rest:
                yield Line(rest, offset + len(rest), False)
    except OSError as problem:
        raise SetupProblem(
            f"cannot be read: {problem.strerror}", kind="unreadable-file", place=str(file.path)
        ) from problem


def tail_digest(path: Path, offset: int) -> str:
    """A digest of what comes directly before an offset."""
    with path.open("rb") as file:
        begin = max(0, offset - TAIL_BYTES)
        file.seek(begin)
        return hashlib.blake2b(file.read(offset - begin), digest_size=12).hexdigest()


def check_unchanged(file: StreamFile, offset: int, tail: str) -> None:
    """Look whether a file is what was read as far as ``offset``, and perhaps more.

    Raises:
        SetupProblem: it is not.
    """
    if file.size >= offset and tail_digest(file.path, offset) == tail:
        return
    raise SetupProblem(
        f"was written anew: the {offset:,} bytes that were read of it are not there any more",
        kind="changed-file",
        place=str(file.path),
        hint="files of a stream only grow; put the old content back, and new messages into a file whose name comes after it",
    )
