"""A view's rows in the formats of others: CSV, JSON, Parquet, Arrow; on standard output, or in a file that appears as a whole.

Values stay what they are. In CSV, NULL is nothing and an empty text is `""`; lists and structs are JSON. In JSON, integers are numbers with all
their digits, and decimals, dates and times are texts, for most readers make floating point numbers of what they take for fractions;
floating point numbers that JSON has no literal for are texts as well. Parquet and Arrow files have the view's types.
"""

from __future__ import annotations

import json
import math
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from cumulus_ops.cli.output import plain
from cumulus_ops.project.errors import InputProblem

__all__ = ["FORMATS", "write_rows"]


def _csv(rows: pa.Table, sink: BinaryIO) -> None:
    from pyarrow import csv

    columns = [_as_text(column) for column in rows.columns]
    texts = pa.Table.from_arrays(columns, names=rows.column_names)
    csv.write_csv(texts, sink, csv.WriteOptions(quoting_style="needed"))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """What Arrow cannot write as CSV, as texts."""
    if pa.types.is_nested(column.type):
        texts = (None if v is None else json.dumps(_readable(v), default=plain) for v in column.to_pylist())
        return pa.chunked_array([pa.array(list(texts), pa.string())])
    return pc.cast(column, pa.string()) if pa.types.is_string_view(column.type) else column


def _json(rows: pa.Table, sink: BinaryIO) -> None:
    text = json.dumps(_readable(rows.to_pylist()), default=plain, indent=2, ensure_ascii=False, allow_nan=False)
    sink.write(text.encode() + b"\n")


def _readable(value: Any) -> Any:
    """The value with floating point numbers that JSON has no literal for as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple):
        return [_readable(v) for v in value]
    return {k: _readable(v) for k, v in value.items()} if isinstance(value, dict) else value


def _parquet(rows: pa.Table, sink: BinaryIO) -> None:
    import pyarrow.parquet as pq

    pq.write_table(rows, sink)


def _arrow(rows: pa.Table, sink: BinaryIO) -> None:
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)


FORMATS: dict[str, Callable[[pa.Table, BinaryIO], None]] = {
    "csv": _csv,
    "json": _json,
    "parquet": _parquet,
    "arrow": _arrow,
}
#: What a terminal can show.
TEXTS = ("csv", "json")


def write_rows(rows: pa.Table, form: str, output: Path | None) -> None:
    """Write rows as ``form``, one of :data:`FORMATS`: to a file, which is replaced by one rename, or to standard output.

    Raises:
        InputProblem: the format is not for standard output, or the file cannot be written.
    """
    if output is None:
        if form not in TEXTS:
            hint = f"name a file: --output rows.{form}"
            raise InputProblem(f"{form} is not for standard output", kind="no-output", place="--format", hint=hint)
        FORMATS[form](rows, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    output = output.resolve()  # what a link leads to is replaced, and not the link
    if output.exists() and not output.is_file():
        hint = "name a file; --format csv and json go to standard output without --output"
        raise InputProblem("is no regular file", kind="no-output", place=str(output), hint=hint)
    fresh = output.with_name(f".{output.name}.{uuid.uuid4().hex}")
    try:
        with fresh.open("xb") as sink:
            FORMATS[form](rows, sink)
            sink.flush()
            os.fsync(sink.fileno())
        fresh.replace(output)
    except OSError as error:
        hint = "name a file in a folder that exists and can be written"
        raise InputProblem(
            f"cannot write it: {error.strerror}", kind="no-file", place=str(output), hint=hint
        ) from error
    finally:
        fresh.unlink(missing_ok=True)
