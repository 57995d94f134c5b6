"""Reading landed CSV, packed or not: a header line, then rows, every column as text.

An empty field is NULL, a quoted empty field the empty string. The delimiter is the one with which the header names the relation's columns.
Arrow reads blocks of whole rows. It would take an unclosed quote for a field with line ends: where there are fewer rows than lines,
:mod:`cumulus_ops.files.csv_records` says where they end.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from cumulus_ops.files.casting import is_utf8
from cumulus_ops.files.columns import Malformed, RawFile, found_columns, ignored_columns
from cumulus_ops.files.csv_records import (
    LF,
    LONGEST_RECORD,
    Record,
    certain_records,
    ends_in_quotes,
    has_long_line,
    split_records,
)
from cumulus_ops.files.landed import BLOCK_BYTES, Block, Landed, behind_line, in_pieces
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import LandingSettings

__all__ = ["HEADER_BYTES", "CsvForm", "check_empty", "read_csv", "read_form"]


# The header line of CSV: where it ends, which delimiter it has, and which field is which column.
#
# Whatever is taken for a part of the header is no row, so a header is only read where it is certain that it holds no rows: it is one line,
# its quotes close, and no name has a character in it that ends lines elsewhere.


#: A header line is not longer.
HEADER_BYTES = 1 << 20
DELIMITERS = (",", ";", "\t", "|")
FIRST_LINE = re.compile(rb"([^\r\n]*)(\r\n|\n|\r|\Z)")
#: The line before the header by which Excel knows the delimiter.
SEP_LINE = re.compile(rb"[\r\n]*\"?sep=([\t!#-/:-@\[-`{-~])\"?\r?\n", re.IGNORECASE)
#: Characters that end lines somewhere: VT, FF, the separators of ASCII, NEL, and those of Unicode.
LINE_ENDS = re.compile("[\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
#: Numbers, dates and times are no names.
NO_NAME = re.compile(r"[+-]?[0-9][0-9.:eE+-]*")
#: So many columns are named to people.
SHOWN_COLUMNS = 8


@dataclass(frozen=True)
class CsvForm:
    """What the first line says: ``skip`` its bytes; ``names`` for each field, the wanted ones as they are called in the relation."""

    skip: int
    delimiter: str
    names: tuple[str, ...]
    wanted: tuple[str, ...]
    ignored: tuple[str, ...]
    null_values: tuple[str, ...]


def read_form(path: Path, start: bytes, wanted: Sequence[str], settings: LandingSettings) -> CsvForm:
    """Reads the header line.

    Args:
        path: the file.
        start: its first :data:`HEADER_BYTES`.
        wanted: the columns that are looked for.
        settings: how the relation's files are read.

    Raises:
        InputProblem: there is no header line, or it may hold something else than names.
    """
    at = 3 if start.startswith(b"\xef\xbb\xbf") else 0
    sep = SEP_LINE.match(start, at)
    if sep is not None:
        at = sep.end()
    at += len(start[at:]) - len(start[at:].lstrip(b"\r\n"))
    text, skip = _read_first_line(path, start, at)
    given = sep[1].decode() if sep is not None else settings.delimiter
    delimiter, header = _find_delimiter(path, text, wanted, given)
    places = found_columns(path, header, wanted)
    by_place = {place: name for name, place in places.items()}
    names = tuple(by_place.get(i, f"\x00{i}") for i in range(len(header)))
    null_values = ("", *settings.null_values)
    return CsvForm(skip, delimiter, names, tuple(places), ignored_columns(header, places), null_values)


def _read_first_line(path: Path, start: bytes, at: int) -> tuple[str, int]:
    """The header line's text, and where it ends."""
    match = FIRST_LINE.match(start, at)
    line, end = (match[1], match[2]) if match else (b"", b"")
    if not line:
        raise _bad_header(path, "has no header line", "its first line names the columns", "no-header")
    if b"\x00" in line or start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _bad_header(path, "is not UTF-8", "write it in UTF-8: iconv -f utf-16 -t utf-8", "not-utf-8")
    if end == b"\r":
        raise _bad_header(path, "has lines that end with CR alone", "end lines with LF, or CR LF", "line-ends")
    if not end and len(start) >= HEADER_BYTES:
        what = f"has a first line of more than {HEADER_BYTES >> 20} MiB"
        raise _bad_header(path, what, "end lines with LF, or CR LF; the first one names the columns", "line-ends")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        hint = "write it in UTF-8: iconv -f latin1 -t utf-8"
        raise _bad_header(path, "has a header that is not UTF-8", hint, "not-utf-8") from None
    if odd := LINE_ENDS.search(text):
        name = f"U+{ord(odd[0]):04X} {unicodedata.name(odd[0], '')}".rstrip()
        hint = "end lines with LF, or CR LF; names have no such character"
        raise _bad_header(path, f"has {name} in its header line, which ends lines elsewhere", hint, "line-ends")
    return text, at + len(line) + len(end)


def _bad_header(path: Path, message: str, hint: str, kind: str) -> InputProblem:
    return InputProblem(message, kind=kind, place=str(path), hint=hint)


def _find_delimiter(path: Path, line: str, wanted: Sequence[str], given: str | None) -> tuple[str, list[str]]:
    """The delimiter, and the names that it separates: the one with which most of the wanted columns are there."""
    headers: dict[str, list[str]] = {}
    for delimiter in [given] if given else DELIMITERS:
        try:
            headers[delimiter] = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:
            headers[delimiter] = []
    found = {d: len(found_columns(path, header, wanted)) for d, header in headers.items()}
    best = max(found, key=lambda d: found[d])
    if not found[best]:
        shown = ", ".join(wanted[:SHOWN_COLUMNS]) + (", .." if wanted[SHOWN_COLUMNS:] else "")
        hint = "write the columns' names into the first line" + (
            f", with {given!r} between them" if given is not None else ""
        )
        if line.lstrip().startswith(("{", "[")):
            hint = "if it is JSON, name it .json; else write the columns' names into the first line"
        raise _bad_header(path, f"has a first line that names none of the columns {shown}", hint, "no-header")
    if any(n == found[best] and headers[d] != headers[best] for d, n in found.items()):
        hint = "write `delimiter:` for the landing folder, or for the relation's `file`"
        raise _bad_header(path, "has a header with several delimiters", hint, "delimiter")
    try:
        list(csv.reader([line], delimiter=best, strict=True))
    except csv.Error:
        hint = "close the quote in the first line, or leave it out; names have no line ends"
        raise _bad_header(
            path, "has a quote in its header line that is not closed there", hint, "unclosed-quote"
        ) from None
    return best, headers[best]


def check_empty(path: Path, form: CsvForm) -> None:
    """A file none of whose lines is a row may be empty if its header holds names alone. Numbers, or a name that comes twice, are rows that do not end in a
    way that is known here.

    Raises:
        InputProblem: the header holds something else.
    """
    names = [name.strip() for name in form.ignored if name.strip()]
    if len(set(names)) < len(names) or any(NO_NAME.fullmatch(name) for name in names):
        hint = "end lines with LF, or CR LF; if it has no rows, leave numbers and what comes twice out of the header"
        raise _bad_header(path, "has no rows that fit its header line, which has more than names", hint, "line-ends")


#: How much of a line that is no row is kept.
KEPT_CHARACTERS = 1 << 20


def read_csv(path: Path, wanted: Sequence[str], settings: LandingSettings, memory: int) -> Iterator[RawFile]:
    """Reads a file; see :func:`~cumulus_ops.files.formats.read_raw`."""
    with Landed(path, memory) as file:
        form = read_form(path, file.read(HEADER_BYTES), wanted, settings)
    schema = pa.schema([(name, pa.string()) for name in form.wanted])
    begun = False

    def join(blocks: Sequence[Block]) -> pa.Table:
        return pa.concat_tables([schema.empty_table(), *(b.columns for b in blocks)])

    for piece in in_pieces(path, partial(_read_blocks, path, form, memory), join, memory):
        if not begun and not len(piece.row):
            check_empty(path, form)
        begun = True
        yield RawFile(piece.columns, piece.row, form.ignored, piece.malformed)


def _read_blocks(path: Path, form: CsvForm, memory: int, names: Sequence[str] | None) -> Iterator[Block]:
    chosen = [n for n in form.wanted if names is None or n in names]
    reader = _Reader(form, chosen)
    row = 0
    with Landed(path, memory) as file:
        file.read(form.skip)
        for block in reader.blocks(file):
            malformed = tuple(Malformed(m.row + row, m.reason, m.text, m.kind) for m in block.malformed)
            yield Block(block.columns, block.row + row, malformed, block.size)
            row += len(block.row) + len(block.malformed)


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
        malformed = tuple(
            Malformed(
                (line.number or 1) - 1,
                f"{line.actual_columns} fields where the header has {line.expected_columns}",
                _cut_line(line.text),
            )
            for line in invalid
        )
        row = np.arange(expected)
        return Block(table, np.delete(row, [m.row for m in malformed]) if malformed else row, malformed, data.size)

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
        for part, block in self.read_halves([records[i].data for i in good], np.array(good, dtype=np.int64)):
            tables.append(block.columns)
            row.append(part[block.row])
            malformed += [Malformed(int(part[m.row]), m.reason, m.text, m.kind) for m in block.malformed]
        malformed += [
            Malformed(i, record.fault[1], _cut_line(record.data.decode(errors="backslashreplace")), record.fault[0])
            for i, record in enumerate(records)
            if record.fault
        ]
        size = sum(len(record.data) for record in records)
        table = pa.concat_tables(tables) if tables else self.schema.empty_table()
        return Block(table, np.concatenate(row), tuple(sorted(malformed, key=lambda m: m.row)), size)

    def read_halves(self, records: Sequence[bytes], numbers: np.ndarray) -> Iterator[tuple[np.ndarray, Block]]:
        if not records:
            return
        block = self.rows(pa.py_buffer(b"".join(records)), len(records))
        if block is not None:
            yield numbers, block
        elif len(records) == 1:
            line = Malformed(0, "not one row", _cut_line(records[0].decode(errors="backslashreplace")))
            yield numbers, Block(self.schema.empty_table(), np.arange(0), (line,), len(records[0]))
        else:
            middle = len(records) // 2
            yield from self.read_halves(records[:middle], numbers[:middle])
            yield from self.read_halves(records[middle:], numbers[middle:])


def _cut_line(text: str) -> str:
    """The text of a line, without its end; a very long one is cut."""
    text = text.rstrip("\r\n")
    return text if len(text) <= KEPT_CHARACTERS else f"{text[:KEPT_CHARACTERS]}.. ({len(text):,} characters)"
