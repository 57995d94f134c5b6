"""Reading a file that may kill its reader: what was begun, and of which nobody has seen the end; and reading apart, where others have died.

Before a delivery is read, a mark says so; whoever sees the end of that, however it comes, takes the mark away. A process that is killed, or dies of
what it reads, leaves it: the next one knows that so many have died at the same. A mark is a file with a byte for each attempt, which costs
some microseconds, and no transaction. It is a hint and nothing more: if one is lost, or left by who was killed for other
reasons, something is read in another process than it need be.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cumulus_ops.append.checks import read_rows
from cumulus_ops.files.columns import Malformed, RawFile
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.processes import ChildDied, run_apart
from cumulus_ops.project.settings import LandingSettings
from m3.program import Relation

__all__ = ["DEATHS", "FOLDER", "KILLS", "attempt", "read_rows_apart"]


#: What so many processes have died at is done in one of its own.
DEATHS = 2
#: Where marks are, in the state folder.
FOLDER = "attempts"
#: A mark that is older is of something that nobody has tried since, such as a drop that was taken away.
KEPT_S = 30 * 86_400.0


@contextmanager
def attempt(state: Path, *what: object) -> Iterator[int]:
    """Do something that may kill the process; how many attempts have begun before, and not ended.

    Args:
        state: the project's state folder.
        what: tells it from all else.
    """
    folder = state / FOLDER
    mark = folder / hashlib.sha256(repr(what).encode(errors="backslashreplace")).hexdigest()[:32]
    try:
        descriptor = os.open(mark, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(mark, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        os.write(descriptor, b".")
    finally:
        os.close(descriptor)
    if before:  # marks are left by deaths, and looked through after one
        for old in folder.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - old.stat().st_mtime > KEPT_S:
                    old.unlink()
    try:
        yield before
    finally:
        mark.unlink(missing_ok=True)


# Reading a file in a process of its own, where others have died at it. What is in it comes as it would without.


#: The kind of reason of a file that kills whoever reads it.
KILLS = "kills-reader"
HINT = "write the file again at the source, and deliver it as a new drop; `cumulus quarantine retry` reads it in a process of its own once more"
#: The column beside a piece's own that has the numbers of its rows.
ROW = "\0row"


def read_rows_apart(
    relation: Relation, path: Path, rows: int, settings: LandingSettings, memory: int
) -> Iterator[RawFile]:
    """What :func:`~cumulus_ops.append.checks.read_rows` yields, read by another process.

    Raises:
        InputProblem: as there; or that process died of it (``kills-reader``).
    """
    try:
        for message in run_apart(f"{__name__}:read_here", relation, path, rows, settings, memory):
            yield _decode(message)
    except ChildDied as death:
        raise InputProblem(
            f"cannot be read: it ends each process that tries; of one that did nothing else, {death.message}",
            kind=KILLS,
            place=str(path),
            hint=HINT,
        ) from death


def read_here(relation: Relation, path: Path, rows: int, settings: LandingSettings, memory: int) -> Iterator[bytes]:
    """What the other process does: each piece as a message."""
    try:
        for raw in read_rows(relation, path, rows, settings, memory):
            raw.columns.validate(full=True)  # whoever computes with what is damaged may die, too
            yield _encode(raw)
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError, OSError) as error:
        hint = "write the file again at the source, and deliver it as a new drop"
        message = f"cannot be read: {type(error).__name__}: {error}"
        raise InputProblem(message, kind="unreadable-file", place=str(path), hint=hint) from error


def _encode(raw: RawFile) -> bytes:
    about = {
        "ignored": raw.ignored,
        "malformed": [[m.row, m.reason, m.text, m.kind, m.event] for m in raw.malformed],
        "ops": raw.ops if isinstance(raw.ops, str) else dict(raw.ops),
    }
    table = raw.columns.append_column(ROW, pa.array(raw.row)).replace_schema_metadata({"raw": json.dumps(about)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _decode(message: bytes) -> RawFile:
    with pa.ipc.open_stream(message) as reader:
        table = reader.read_all()
    about: dict[str, Any] = json.loads(table.schema.metadata[b"raw"])
    malformed = tuple(Malformed(*fields) for fields in about["malformed"])
    columns = table.drop_columns([ROW]).replace_schema_metadata(None)
    return RawFile(columns, np.array(table[ROW].to_numpy()), tuple(about["ignored"]), malformed, about["ops"])
