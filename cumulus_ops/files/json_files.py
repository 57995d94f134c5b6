"""Reading landed JSON, packed or not: an object per line, or an array of objects.

Blocks of lines are read with the declared types, so that Arrow's parser turns a number's *text* into a decimal and no float is
involved; dates and timestamps as text. A block that does not fit, or that Arrow is not to be trusted with, is read again line by
line with Python's parser, numbers kept as text: slow, but only for blocks with something odd.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from cumulus_ops.files.casting import is_utf8
from cumulus_ops.files.columns import Malformed, RawFile, found_columns
from cumulus_ops.files.landed import BLOCK_BYTES, Block, Landed, behind_line, in_pieces
from cumulus_ops.project.errors import InputProblem
from cumulus_ops.project.settings import LandingSettings

__all__ = ["lines_of_array", "read_json"]


# An array of JSON objects as lines: each object on a line of its own, found by its braces, block by block.


LF, SPACE, COMMA, BACKSLASH, QUOTE = 10, 32, 44, 92, 34
OPENING, CLOSING = np.frombuffer(b"{[", np.uint8), np.frombuffer(b"}]", np.uint8)
BLANK = np.frombuffer(b" \t\r\n", np.uint8)
#: The most bytes of an object.
LONGEST_OBJECT = 8 << 20


def lines_of_array(path: Path, file: Landed, start: bytes) -> Iterator[bytes]:
    """Blocks of whole lines with an object each.

    Args:
        path: the file.
        file: where to read on.
        start: what was read of it, from the bracket on.

    Raises:
        InputProblem: it is no array of objects. Nothing behind the place where that shows is certain.
    """
    rest, ended, commas = start[1:], False, 0
    while True:
        objects, size, commas, ended = _objects(path, rest, commas)
        if objects:
            yield objects
        rest = rest[size:]
        if ended or len(rest) > LONGEST_OBJECT:
            break
        data = file.read(BLOCK_BYTES)
        if not data:
            break
        rest += data
    if len(rest) > LONGEST_OBJECT and not ended:
        raise _no_array(path, f"an object is longer than {LONGEST_OBJECT >> 20} MiB, or does not end")
    if not ended:
        raise _no_array(path, "its end is missing")
    if rest.strip() or any(data.strip() for data in iter(lambda: file.read(BLOCK_BYTES), b"")):
        raise _no_array(path, "something follows it")


def _no_array(path: Path, what: str) -> InputProblem:
    hint = "write an array of objects, or one object per line"
    return InputProblem(f"is not an array of JSON objects: {what}", kind="unreadable-file", place=str(path), hint=hint)


def _objects(path: Path, data: bytes, due: int) -> tuple[bytes, int, int, bool]:
    """The objects that end in some bytes.

    Args:
        path: the file.
        data: begins between two objects.
        due: 1 if an object came before, so that a comma is due.

    Returns:
        them as lines; the bytes they took; ``due`` behind them; whether the array has ended.
    """
    a = np.frombuffer(data, dtype=np.uint8)
    quotes = _quotes(a)
    marks = np.flatnonzero(np.isin(a, OPENING) | np.isin(a, CLOSING))
    marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    steps = np.where(np.isin(a[marks], OPENING), 1, -1)
    depth = np.cumsum(steps)
    array_ends = np.flatnonzero(depth < 0)
    ended = len(array_ends) > 0
    last = int(marks[array_ends[0]]) if ended else -1
    if ended:
        marks, steps, depth = (x[: array_ends[0]] for x in (marks, steps, depth))
    begins, ends = marks[(depth == 1) & (steps == 1)], marks[(depth == 0) & (steps == -1)] + 1
    if (a[ends - 1] != ord("}")).any() or (ended and a[last] != ord("]")):
        raise _no_array(path, "its brackets do not match")
    if (a[begins] != ord("{")).any():
        raise _no_array(path, "it has something else than objects")
    if ended and len(begins) > len(ends):
        raise _no_array(path, "its brackets do not match")
    size = last + 1 if ended else int(ends[-1]) if len(ends) else 0
    inside = np.zeros(size + 1, dtype=np.int8)
    begins = begins[: len(ends)]
    inside[begins] += 1
    inside[ends] -= 1
    outside = np.cumsum(inside[:-1]) == 0
    if ended:
        outside[last] = False
    between = np.flatnonzero(outside & ~np.isin(a[:size], BLANK))
    # There is a comma before each object but the first, and nothing else beside them.
    if (a[between] != COMMA).any():
        raise _no_array(path, "something is between its objects")
    expected = np.arange(1 - due, len(begins))
    if not np.array_equal(np.searchsorted(begins, between), expected):
        raise _no_array(path, "a comma is missing, or there is one too many")
    lines = a[:size].copy()
    lines[outside] = LF
    lines[(lines == LF) & ~outside] = SPACE
    if ended:
        lines[last] = LF
    raw = np.flatnonzero((a[:size] < SPACE) & ~outside)
    if (np.searchsorted(quotes, raw) % 2).any():
        raise _no_array(path, "a text has a line end or another control character")
    return lines.tobytes(), size, 1 if len(ends) else due, ended


def _quotes(a: np.ndarray) -> np.ndarray:
    """Where texts begin and end: the quotes that no backslash escapes, which an odd number of them does."""
    quotes = np.flatnonzero(a == QUOTE)
    suspects = quotes[(quotes > 0) & (a[np.maximum(quotes, 1) - 1] == BACKSLASH)]
    if len(suspects) == 0:
        return quotes
    others = np.flatnonzero(a != BACKSLASH)
    before = np.searchsorted(others, suspects) - 1
    run = suspects - 1 - np.where(before >= 0, others[before], -1)
    return np.setdiff1d(quotes, suspects[run % 2 == 1], assume_unique=True)


BLOCK_LINES = 1 << 16
LONGEST_LINE = 8 << 20
KEPT_CHARACTERS = 1 << 20
#: Blank lines, which would take as long as rows; a text has no line ends.
BLANK_LINES = re.compile(rb"\n\s*\n")
#: From so many lines at the beginning the columns' names and types are taken.
FIRST_LINES = 50
DIGITS = 38
#: A number with an exponent as a value; and one that a double may not hold.
EXPONENT = re.compile(rb"[:,\[\s]-?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]")
LARGE_EXPONENT = re.compile(rb"[:,\[\s]-?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{3}")


def read_json(path: Path, schema: pa.Schema, _settings: LandingSettings, memory: int) -> Iterator[RawFile]:
    """Reads a file; see :func:`~cumulus_ops.files.formats.read_raw`."""
    form = _read_form(path, schema, memory)
    for piece in in_pieces(path, partial(_read_blocks, path, form, memory), _Together(form), memory):
        yield RawFile(piece.columns, piece.row, form.ignored, piece.malformed)


@dataclass(frozen=True)
class _Form:
    """``names``: wanted name -> the one in the file; ``types``: how Arrow reads the columns."""

    names: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    ignored: tuple[str, ...]


def _read_form(path: Path, schema: pa.Schema, memory: int) -> _Form:
    """What the first lines say."""
    first: dict[str, set[type]] = {}
    with Landed(path, memory) as file:
        for block in islice(_read_lines(path, file), 1):
            for line in block[:FIRST_LINES]:
                try:
                    record = json.loads(line, parse_float=float, parse_int=float)
                except (ValueError, RecursionError, OverflowError):
                    continue
                for name, value in record.items() if isinstance(record, dict) else ():
                    first.setdefault(name, set()).add(type(value))
    places = found_columns(path, list(first), schema.names)
    names = {name: list(first)[places[name]] if name in places else name for name in schema.names}
    types = {}
    for wanted in schema:
        type_ = types[wanted.name] = wanted.type
        if str in first.get(names[wanted.name], ()) or pa.types.is_date(type_) or pa.types.is_timestamp(type_):
            types[wanted.name] = pa.string()
        elif pa.types.is_decimal(type_) and type_.precision + type_.scale > DIGITS:
            types[wanted.name] = pa.decimal256(type_.precision, type_.scale)  # 128 bits would overflow unseen
    known = {name.strip().casefold() for name in schema.names}
    return _Form(names, types, tuple(sorted(name for name in first if name.strip().casefold() not in known)))


def _read_blocks(path: Path, form: _Form, memory: int, names: Sequence[str] | None) -> Iterator[Block]:
    reader = _Reader(form, [n for n in form.names if names is None or n in names])
    start = 0
    with Landed(path, memory) as file:
        for lines in _read_lines(path, file):
            block = reader.block(lines, start)
            start += len(block.row) + len(block.malformed)
            yield block


def _read_lines(path: Path, file: Landed) -> Iterator[list[bytes]]:
    """The file in blocks of lines, without blank ones; a line that is too long is cut."""
    start = file.read(BLOCK_BYTES)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        hint = "write it in UTF-8: iconv -f utf-16 -t utf-8"
        raise InputProblem("is not UTF-8", kind="not-utf-8", place=str(path), hint=hint)
    start = start.removeprefix(b"\xef\xbb\xbf")
    if start.lstrip().startswith(b"["):
        for block in lines_of_array(path, file, start.lstrip()):
            lines = [line for line in block.split(b"\n") if line]
            yield from (lines[i : i + BLOCK_LINES] for i in range(0, len(lines), BLOCK_LINES))
        return
    rest, data = b"", start
    while data:
        rest += data
        whole, _, rest = rest.rpartition(b"\n")
        lines = [line for line in BLANK_LINES.sub(b"\n", whole).split(b"\n") if line.strip()]
        yield from (lines[i : i + BLOCK_LINES] for i in range(0, len(lines), BLOCK_LINES))
        if len(rest) > LONGEST_LINE:
            yield [rest[: LONGEST_LINE + 1]]
            rest = behind_line(file)
        data = file.read(BLOCK_BYTES)
    if rest.strip():
        yield [rest]


class _Reader:
    def __init__(self, form: _Form, chosen: Sequence[str]) -> None:
        self.form, self.chosen = form, chosen
        self.typed = pa.schema([(form.names[n], form.types[n]) for n in chosen])
        self.text = pa.schema([(n, pa.string()) for n in chosen])
        kinds = [t for n, t in form.types.items() if n in chosen]
        self.decimals = any(pa.types.is_decimal(t) for t in kinds)
        self.doubles = any(pa.types.is_floating(t) for t in kinds)

    def block(self, lines: list[bytes], start: int) -> Block:
        data = b"\n".join(lines)
        table = self.quickly(data, len(lines))
        if table is not None:
            return Block(table, np.arange(start, start + len(table)), (), len(data), self.unseen(data, table))
        return self.carefully(lines, start, data)

    def quickly(self, data: bytes, lines: int) -> pa.Table | None:
        """The lines as Arrow reads them, or None if that is not certain to be what they say."""
        if not self.is_harmless(data, lines):
            return None
        options = pajson.ParseOptions(explicit_schema=self.typed, unexpected_field_behavior="ignore")
        reading = pajson.ReadOptions(use_threads=False, block_size=len(data) + 1)
        try:
            table = pajson.read_json(io.BytesIO(data), reading, options).select(self.typed.names)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError):
            return None
        doubles = [column for column in table.columns if pa.types.is_floating(column.type)]
        too_large = any(pc.any(pc.is_inf(column)).as_py() is True for column in doubles)  # they look like infinity
        if len(table) != lines or self.other_spellings(data, table) or too_large:
            return None
        return table.rename_columns(list(self.chosen))

    def is_harmless(self, data: bytes, lines: int) -> bool:
        """Lines that are ``null`` crash Arrow, and so do some numbers."""
        a = np.frombuffer(data, dtype=np.uint8)
        begins = np.concatenate([[0], np.flatnonzero(a == 10) + 1])
        if len(begins) != lines or (a[begins] != ord("{")).any() or re.search(rb"\}\s*null", data):
            return False
        if not is_utf8(data):
            return False
        pattern = EXPONENT if self.decimals else LARGE_EXPONENT if self.doubles else None
        if pattern is None:
            return True
        # The expression is slow. It is asked only if some digit has an "e" behind it, which texts seldom have.
        e = np.flatnonzero((a | 0x20) == ord("e"))
        before = a[e[e > 0] - 1]
        has_exponents = ((before >= ord("0")) & (before <= ord("9"))).any() or len(a) > LONGEST_LINE
        return not (has_exponents and pattern.search(data))

    def other_spellings(self, data: bytes, table: pa.Table) -> bool:
        """Whether a column that has NULLs may be there under its name in another case."""
        missing = [name for name in table.column_names if table.column(name).null_count]
        if not missing:
            return False
        lower = data.lower()
        quoted = [f'"{name}"'.encode() for name in missing]
        return any(data.count(name) != lower.count(name.lower()) for name in quoted)

    def unseen(self, data: bytes, table: pa.Table) -> frozenset[str]:
        suspects = [n for n in table.column_names if table.column(n).null_count == len(table)]
        lower = data.lower() if suspects else b""
        return frozenset(n for n in suspects if f'"{n}"'.lower().encode() not in lower)

    def carefully(self, lines: Sequence[bytes], start: int, data: bytes) -> Block:
        """All values as text."""
        rows, records, bad = [], [], []
        for number, line in enumerate(lines, start):
            try:
                records.append(self.record(line))
                rows.append(number)
            except (ValueError, RecursionError) as problem:
                kind, reason = "malformed-line", "not a JSON object"
                if isinstance(problem, _Fault):
                    kind, reason = problem.kind, str(problem)
                elif isinstance(problem, UnicodeError):
                    kind, reason = "not-utf-8", "not UTF-8"
                elif isinstance(problem, RecursionError):
                    reason = "nested too deeply"
                text = line.decode(errors="backslashreplace")
                if len(text) > KEPT_CHARACTERS:
                    text = f"{text[:KEPT_CHARACTERS]}.. ({len(text):,} characters)"
                bad.append(Malformed(number, reason, text, kind))
        columns = [pa.array(values, pa.string()) for values in zip(*records, strict=True)]
        table = pa.Table.from_arrays(columns, schema=self.text) if columns else self.text.empty_table()
        return Block(table, np.array(rows, dtype=np.int64), tuple(bad), len(data), self.unseen(data, table))

    def record(self, line: bytes) -> list[str | None]:
        if len(line) > LONGEST_LINE:
            raise _Fault(f"longer than {LONGEST_LINE >> 20} MiB", "too-long")
        record = json.loads(line.decode(), parse_float=str, parse_int=str, object_pairs_hook=_make_object)
        if not isinstance(record, dict):
            raise _Fault("not a JSON object")
        places = {n: n for n in self.chosen if n in record}
        if len(places) < len(self.chosen):
            names = list(record)
            try:
                places = {n: names[i] for n, i in found_columns("", names, self.chosen).items()}
            except InputProblem as problem:
                raise _Fault(problem.message) from None
        return [_spell(name, record[places[name]]) if name in places else None for name in self.chosen]


class _Fault(ValueError):
    """Why a line is no row."""

    def __init__(self, reason: str, kind: str = "malformed-line") -> None:
        super().__init__(reason)
        self.kind = kind


def _make_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _Fault("has a name twice")
    return record


def _spell(name: str, value: object) -> str | None:
    if isinstance(value, str):
        value.encode()  # not halves of characters
        return value
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):  # NaN and Infinity are words of Python's
        return str(value)
    raise _Fault(f"{name}: not a scalar", "not-a-scalar")


class _Together:
    """Puts blocks together: text throughout as soon as one had to be read as text. Columns that no row of the first piece names are
    left out, until one does."""

    def __init__(self, form: _Form) -> None:
        self.form = form
        self.absent: set[str] | None = None

    def __call__(self, blocks: Sequence[Block]) -> pa.Table:
        names = list(self.form.names)
        schema = pa.schema([(name, self.form.types[name]) for name in names])
        if any(field.type != schema.field(field.name).type for block in blocks for field in block.columns.schema):
            schema = pa.schema([(name, pa.string()) for name in names])
        tables = [schema.empty_table()]
        for table in (block.columns for block in blocks if len(block.columns)):
            found = set(table.column_names)  # a rest of the piece before lacks what no row names
            columns = (
                pc.cast(table.column(f.name), f.type) if f.name in found else pa.nulls(len(table), f.type)
                for f in schema
            )
            is_same = table.schema == schema
            tables.append(table if is_same else pa.Table.from_arrays(list(columns), schema=schema))
        table = pa.concat_tables(tables)
        named = [set(b.columns.column_names) - b.unseen for b in blocks]
        unseen = set(names).difference(*named) if len(table) else set()
        self.absent = unseen if self.absent is None else self.absent & unseen
        return table.drop_columns(sorted(self.absent))
