"""Reading landed CSV, packed or not: a header line, then rows, every column as text.

An empty field is NULL, a quoted empty field the empty string. The delimiter is the one with which the header names the relation's columns.
Arrow reads blocks of whole rows. It would take an unclosed quote for a field with line ends: where there are fewer rows than lines,
:mod:`cumulus_ops.eventlog.csv_records` says where they end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from cumulus_ops.config import LandingSettings
from cumulus_ops.eventlog.csv_headers import HEADER_BYTES, CsvForm, check_empty, read_form
from cumulus_ops.eventlog.csv_records import (
    LF,
    LONGEST_RECORD,
    Record,
    certain_records,
    ends_in_quotes,
    has_long_line,
    split_records,
)
from cumulus_ops.eventlog.landed import BLOCK_BYTES, Landed, behind_line, open_landed
from cumulus_ops.eventlog.pieces import Block, in_pieces
from cumulus_ops.eventlog.raw import Malformed, RawFile
from cumulus_ops.eventlog.texts import is_utf8

__all__ = ["read_csv"]

#: How much of a line that is no row is kept.
KEPT_CHARACTERS = 1 << 20


def read_csv(path: Path, wanted: Sequence[str], settings: LandingSettings, memory: int) -> Iterator[RawFile]:
    """Reads a file; see :func:`~cumulus_ops.eventlog.formats.read_raw`."""
    with open_landed(path, memory) as file:
        form = read_form(path, file.read(HEADER_BYTES), wanted, settings)
    schema = pa.schema([(name, pa.string()) for name in form.wanted])
    begun = False
    for piece in in_pieces(path, partial(_blocks, path, form, memory), partial(_together, schema), memory):
        if not begun and not len(piece.row):
            check_empty(path, form)
        begun = True
        yield RawFile(piece.columns, piece.row, form.ignored, piece.malformed)


def _blocks(path: Path, form: CsvForm, memory: int, names: Sequence[str] | None) -> Iterator[Block]:
    chosen = [n for n in form.wanted if names is None or n in names]
    reader = _Reader(form, chosen)
    row = 0
    with open_landed(path, memory) as file:
        file.read(form.skip)
        for block in reader.blocks(file):
            yield Block(block.columns, block.row + row, tuple(_moved(m, row) for m in block.malformed), block.size)
            row += len(block.row) + len(block.malformed)


def _moved(line: Malformed, rows: int) -> Malformed:
    return Malformed(line.row + rows, line.reason, line.text, line.kind)


class _Reader:
    """Reads blocks of rows; row numbers begin with 0 in each."""

    def __init__(self, form: CsvForm, chosen: Sequence[str]) -> None:
        self.form, self.width, self.chosen = form, len(form.names), chosen
        self.schema = pa.schema([(name, pa.string()) for name in chosen])

    def blocks(self, file: Landed) -> Iterator[Block]:
        rest = b""
        while data := file.read(BLOCK_BYTES):
            rest = rest + data if rest else data
            block, taken = self.block(rest, final=False)
            if block is not None:
                yield block
            rest = rest[taken:]
            if len(rest) > LONGEST_RECORD + BLOCK_BYTES:  # a line without an end
                yield self.lines([Record(rest, ("too-long", f"longer than {LONGEST_RECORD >> 20} MiB"))])
                rest = behind_line(file)
        block, _ = self.block(rest, final=True)
        if block is not None:
            yield block

    def block(self, data: bytes, final: bool) -> tuple[Block | None, int]:
        """The rows that end in some bytes, and how many bytes they have."""
        if final and data and not data.endswith(b"\n"):
            block, _ = self.block(data + b"\n", final)
            return block, len(data)
        end = data.rfind(b"\n") + 1
        if not data[:end].strip(b"\r\n"):  # a small packed file may have millions of blank lines
            return None, end
        if is_utf8(data) and not has_long_line(data):
            lines = int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8, count=end) == LF))
            block = self.rows(pa.py_buffer(data).slice(0, end), lines)  # every line is a row
            last = data[data.rfind(b"\n", 0, end - 1) + 1 : end]
            if block is not None and not ends_in_quotes(last, self.form.delimiter):
                return block, end
            rows, size = certain_records(data, self.form.delimiter, self.width)
            block = self.rows(pa.py_buffer(data).slice(0, size), rows) if rows else None
            if block is not None and (not final or size == len(data)):
                return block, size
        records, rest = split_records(data, self.form.delimiter, self.width, final)
        return self.lines(records), len(data) - len(rest)

    def rows(self, data: pa.Buffer, expected: int) -> Block | None:
        """Bytes without broken quotes as Arrow reads them, or None if that makes another number of rows."""
        invalid: list[pacsv.InvalidRow] = []

        def skip(line: pacsv.InvalidRow) -> str:
            invalid.append(line)
            return "skip"

        table = self.table(data, skip)
        if table is None or len(table) + len(invalid) != expected:
            return None
        malformed = tuple(Malformed((line.number or 1) - 1, self.fault(line), _kept(line.text)) for line in invalid)
        row = np.arange(expected)
        return Block(table, np.delete(row, [m.row for m in malformed]) if malformed else row, malformed, data.size)

    def fault(self, line: pacsv.InvalidRow) -> str:
        return f"{line.actual_columns} fields where the header has {line.expected_columns}"

    def table(self, data: pa.Buffer, skip: object) -> pa.Table | None:
        try:
            return pacsv.read_csv(
                pa.BufferReader(data),
                # without threads, malformed lines come with their number
                read_options=pacsv.ReadOptions(
                    use_threads=False, block_size=data.size + 1, column_names=list(self.form.names)
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=self.form.delimiter, newlines_in_values=True, invalid_row_handler=skip
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict.fromkeys(self.form.names, pa.string()),
                    include_columns=self.chosen,
                    null_values=list(self.form.null_values),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid:
            return None

    def lines(self, records: Sequence[Record]) -> Block:
        """Records one by one, where Arrow does not see as many."""
        good = [i for i, record in enumerate(records) if record.fault is None]
        tables, row, malformed = [], [np.arange(0)], []
        for part, block in self.halved([records[i].data for i in good], np.array(good, dtype=np.int64)):
            tables.append(block.columns)
            row.append(part[block.row])
            malformed += [Malformed(int(part[m.row]), m.reason, m.text, m.kind) for m in block.malformed]
        malformed += [
            Malformed(i, record.fault[1], _kept(record.data.decode(errors="backslashreplace")), record.fault[0])
            for i, record in enumerate(records)
            if record.fault
        ]
        size = sum(len(record.data) for record in records)
        table = pa.concat_tables(tables) if tables else self.schema.empty_table()
        return Block(table, np.concatenate(row), tuple(sorted(malformed, key=lambda m: m.row)), size)

    def halved(self, records: Sequence[bytes], numbers: np.ndarray) -> Iterator[tuple[np.ndarray, Block]]:
        if not records:
            return
        block = self.rows(pa.py_buffer(b"".join(records)), len(records))
        if block is not None:
            yield numbers, block
        elif len(records) == 1:
            line = Malformed(0, "not one row", _kept(records[0].decode(errors="backslashreplace")))
            yield numbers, Block(self.schema.empty_table(), np.arange(0), (line,), len(records[0]))
        else:
            middle = len(records) // 2
            yield from self.halved(records[:middle], numbers[:middle])
            yield from self.halved(records[middle:], numbers[middle:])


def _kept(text: str) -> str:
    """The text of a line, without its end; a very long one is cut."""
    text = text.rstrip("\r\n")
    return text if len(text) <= KEPT_CHARACTERS else f"{text[:KEPT_CHARACTERS]}.. ({len(text):,} characters)"


def _together(schema: pa.Schema, blocks: Sequence[Block]) -> pa.Table:
    return pa.concat_tables([schema.empty_table(), *(b.columns for b in blocks)])
