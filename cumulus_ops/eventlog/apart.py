"""Reading a file in a process of its own, where others have died at it. What is in it comes as it would without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cumulus_ops.apart import ChildDied, run_apart
from cumulus_ops.config import LandingSettings
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.raw import Malformed, RawFile
from cumulus_ops.eventlog.readers import read_rows
from m3.program import Relation

__all__ = ["KILLS", "read_rows_apart"]

#: The kind of reason of a file that kills whoever reads it.
KILLS = "kills-reader"
HINT = "write the file again at the source, and deliver it as a new drop; `cumulus quarantine retry` reads it in a process of its own once more"
#: The column beside a piece's own that has the numbers of its rows.
ROW = "\0row"


def read_rows_apart(
    relation: Relation, path: Path, rows: int, settings: LandingSettings, memory: int
) -> Iterator[RawFile]:
    """What :func:`~cumulus_ops.eventlog.readers.read_rows` yields, read by another process.

    Raises:
        InputProblem: as there; or that process died of it (``kills-reader``).
    """
    try:
        for message in run_apart(f"{__name__}:read_here", relation, path, rows, settings, memory):
            yield _decoded(message)
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
            yield _encoded(raw)
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError, OSError) as error:
        hint = "write the file again at the source, and deliver it as a new drop"
        message = f"cannot be read: {type(error).__name__}: {error}"
        raise InputProblem(message, kind="unreadable-file", place=str(path), hint=hint) from error


def _encoded(raw: RawFile) -> bytes:
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


def _decoded(message: bytes) -> RawFile:
    with pa.ipc.open_stream(message) as reader:
        table = reader.read_all()
    about: dict[str, Any] = json.loads(table.schema.metadata[b"raw"])
    malformed = tuple(Malformed(*fields) for fields in about["malformed"])
    columns = table.drop_columns([ROW]).replace_schema_metadata(None)
    return RawFile(columns, np.array(table[ROW].to_numpy()), tuple(about["ignored"]), malformed, about["ops"])
