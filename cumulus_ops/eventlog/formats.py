"""The file formats of a drop, each read into raw columns without losing a digit.

* Parquet: as typed in the file (:mod:`cumulus_ops.eventlog.parquet`).
* CSV (header line, UTF-8): every column as text. An empty field is NULL, a quoted empty field the empty string.
* NDJSON: with the declared types, so that Arrow's parser turns a number's *text* into a decimal and no float is
  involved; dates and timestamps as text. A block of lines that does not fit is read again line by line with
  Python's parser, numbers kept as text: slow, but only for blocks with bad lines.

Lines that are not rows at all come back as :class:`~cumulus_ops.eventlog.raw.Malformed`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.json as pajson

from cumulus_ops.config import LandingSettings
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.parquet import read_parquet
from cumulus_ops.eventlog.raw import Malformed, RawFile, bad_columns, check_names
from cumulus_ops.eventlog.types import EVENT, OP, relation_schema
from m3.program import Relation

__all__ = ["FORMATS", "read_raw"]

BLOCK_BYTES = 4 << 20


def read_raw(path: Path, relation: Relation, rows: int, settings: LandingSettings, memory: int) -> Iterator[RawFile]:
    """Reads one file of a drop, in pieces that no atomic event crosses.

    Args:
        path: the file; its suffix is one of :data:`FORMATS`.
        relation: whose columns are wanted.
        rows: Parquet whose events are in order comes in pieces of at most so many rows; other files as one piece.
        settings: how the files of the relation are read.
        memory: the bytes that may be held.

    Raises:
        InputProblem: the file cannot be read, or lacks a column.
    """
    schema = relation_schema(relation).append(pa.field(OP, pa.string())).append(pa.field(EVENT, pa.int64()))
    required = [c.name for c in relation.columns if not c.type.nullable] + [OP, EVENT]
    try:
        yield from FORMATS[path.suffix](path, schema, required, rows)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as problem:
        raise InputProblem(
            f"cannot be read as {path.suffix[1:]}: {problem}",
            kind="unreadable-file",
            place=str(path),
            hint="write the file again at the source, and deliver it as a new drop",
        ) from problem


def _read_csv(path: Path, schema: pa.Schema, _required: Sequence[str], _rows: int) -> Iterator[RawFile]:
    with path.open(newline="", encoding="utf-8-sig") as text:
        header = next(csv.reader(text), [])
    ignored = check_names(path, header, schema.names)
    lines = _CsvLines()
    columns = pacsv.read_csv(
        path,
        read_options=pacsv.ReadOptions(use_threads=False),  # so that malformed lines come with their number
        parse_options=pacsv.ParseOptions(newlines_in_values=True, invalid_row_handler=lines.skip),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            include_columns=schema.names,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    row = np.delete(np.arange(len(columns) + len(lines.found)), [m.row for m in lines.found])
    yield RawFile(columns, row, ignored, tuple(lines.found))


@dataclass
class _CsvLines:
    """Collects the lines that have another number of fields than the header."""

    found: list[Malformed] = field(default_factory=list)

    def skip(self, line: pacsv.InvalidRow) -> Literal["skip"]:
        reason = f"{line.actual_columns} fields where the header has {line.expected_columns}"
        self.found.append(Malformed((line.number or 2) - 2, reason, line.text))
        return "skip"


def _read_ndjson(path: Path, schema: pa.Schema, required: Sequence[str], _rows: int) -> Iterator[RawFile]:
    typed = pa.schema([(f.name, _json_type(f.type)) for f in schema])
    options = pajson.ParseOptions(explicit_schema=typed, unexpected_field_behavior="ignore")
    tables, rows, malformed, start = [], [np.arange(0)], list[Malformed](), 0
    names: set[str] = set()
    for block in _blocks(path):
        names = names or _first_names(block)
        try:
            table = pajson.read_json(io.BytesIO(block), parse_options=options).select(schema.names)
            row, bad = np.arange(start, start + len(table)), list[Malformed]()
        except pa.ArrowInvalid:
            table, row, bad = _read_lines(block, schema.names, start)
        tables.append(table)
        rows.append(row)
        malformed += bad
        start += len(row) + len(bad)
    _check_given(path, tables, set(required) - names)
    columns = _concat(tables, typed)
    ignored = tuple(sorted(names - set(schema.names)))
    yield RawFile(columns, np.concatenate(rows), ignored, tuple(malformed))


def _json_type(type_: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_date(type_) or pa.types.is_timestamp(type_) else type_


def _blocks(path: Path) -> Iterator[bytes]:
    """The file in blocks of whole lines; blank ones left out."""
    with path.open("rb") as file:
        while lines := file.readlines(BLOCK_BYTES):
            block = b"".join(line for line in lines if line.strip())
            if block:
                yield block


def _first_names(block: bytes) -> set[str]:
    try:
        first = json.loads(block.split(b"\n", 1)[0])
    except ValueError:
        return set()
    return set(first) if isinstance(first, dict) else set()


def _read_lines(block: bytes, names: Sequence[str], start: int) -> tuple[pa.Table, np.ndarray, list[Malformed]]:
    """The careful way: all values as text."""
    rows, records, bad = [], [], []
    for number, line in enumerate(block.decode("utf-8", errors="replace").splitlines(), start):
        try:
            record = json.loads(line, parse_float=str, parse_int=str, parse_constant=str)
            records.append([_text(name, record.get(name)) for name in names])
            rows.append(number)
        except (ValueError, AttributeError) as problem:
            reason = str(problem) if isinstance(problem, _NotScalar) else "not a JSON object"
            bad.append(Malformed(number, reason, line))
    columns = [pa.array(values, pa.string()) for values in zip(*records, strict=True)] or [[]] * len(names)
    table = pa.table(dict(zip(names, columns, strict=True)), schema=pa.schema([(n, pa.string()) for n in names]))
    return table, np.array(rows, dtype=np.int64), bad


class _NotScalar(ValueError):
    pass


def _text(name: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise _NotScalar(f"{name}: not a scalar")


def _concat(tables: Sequence[pa.Table], schema: pa.Schema) -> pa.Table:
    """One table; text throughout as soon as one block had to be read as text."""
    if not all(table.schema == schema for table in tables):
        schema = pa.schema([(name, pa.string()) for name in schema.names])
    return pa.concat_tables([table.cast(schema) for table in tables]) if tables else schema.empty_table()


def _check_given(path: Path, tables: Sequence[pa.Table], suspects: set[str]) -> None:
    for name in sorted(suspects):
        if tables and all(table.column(name).null_count == len(table) for table in tables):
            raise bad_columns(path, f"has no column {name!r}", "missing-column")


#: Suffix -> reader.
FORMATS: dict[str, Callable[[Path, pa.Schema, Sequence[str], int], Iterator[RawFile]]] = {
    ".parquet": read_parquet,
    ".csv": _read_csv,
    ".ndjson": _read_ndjson,
}
