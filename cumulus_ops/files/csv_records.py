"""Where the records of CSV end, for those blocks in which not every line is one: quoted line ends, and quotes that are never closed.

A **record** is one row: a line, or several if a quoted field has line ends. A quoted field begins with a quote at the beginning of a field
and ends with one at its end; in between, a quote is written twice. Where that is broken, the record's first line is put aside, and
the next line begins a record again: so a quote that is never closed costs its own line. A record of several lines of which each has
as many fields as the header is put aside, too: they may be rows, with a quote that was left open.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cumulus_ops.files.casting import is_utf8

__all__ = ["LF", "LONGEST_RECORD", "Record", "certain_records", "ends_in_quotes", "has_long_line", "split_records"]


#: The most bytes of a row.
LONGEST_RECORD = 8 << 20
QUOTE, LF, CR = 34, 10, 13
UNCLOSED = ("unclosed-quote", "a quote that is not closed, or has text behind it")
SWALLOWED = ("uncertain-quote", "a quoted field with line ends whose lines are rows by themselves")
BINARY = ("not-utf-8", "not UTF-8")
TOO_LONG = ("too-long", f"longer than {LONGEST_RECORD >> 20} MiB")


csv.field_size_limit(max(csv.field_size_limit(), LONGEST_RECORD))


@dataclass(frozen=True)
class Record:
    """The bytes of a row with its line end, or of a line that is none, with the kind of reason and its words."""

    data: bytes
    fault: tuple[str, str] | None = None


def certain_records(data: bytes, delimiter: str, width: int) -> tuple[int, int]:
    """How many records there are at the beginning of some bytes, and how many bytes they have; (0, 0) where anything is not certain.

    >>> certain_records(b'1,"a\\nb"\\n\\n2,c\\n3,"d', ",", 2)
    (2, 13)
    """
    ends = _strict_ends(data, delimiter)
    if ends is None or len(ends) == 0:
        return 0, 0
    begins = np.concatenate([[0], ends[:-1]])
    sizes = ends - begins
    if sizes.max() > LONGEST_RECORD or _may_swallow(data[: ends[-1]], ends, delimiter, width):
        return 0, 0
    return int(np.count_nonzero(~_blank(data, begins, sizes))), int(ends[-1])


def _blank(data: bytes, begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Which records are blank lines, told without a look at each of them: there may be millions."""
    a = np.frombuffer(data, dtype=np.uint8)
    return np.asarray((sizes == 1) | ((sizes == 2) & (a[begins] == CR)))


def _may_swallow(data: bytes, ends: np.ndarray, delimiter: str, width: int) -> bool:
    """Whether there is a record of several lines of which each could be a row."""
    a = np.frombuffer(data, dtype=np.uint8)
    line_ends = np.flatnonzero(a == LF) + 1
    if len(line_ends) == len(ends) or width == 1:
        return False
    fields = np.diff(np.searchsorted(np.flatnonzero(a == ord(delimiter)), line_ends), prepend=0) + 1
    first_lines = np.concatenate([[0], np.searchsorted(line_ends, ends[:-1]) + 1])
    lines = np.diff(np.append(first_lines, len(line_ends)))
    return bool((np.logical_and.reduceat(fields == width, first_lines) & (lines > 1)).any())


def split_records(data: bytes, delimiter: str, width: int, final: bool) -> tuple[list[Record], bytes]:
    """The records in some bytes that begin with a record; blank lines are left out.

    >>> split_records(b'1,"a\\nb"\\n2,"c\\n3,d\\n', ",", 2, True)[0]  # doctest: +NORMALIZE_WHITESPACE
    [Record(data=b'1,"a\\nb"\\n', fault=None), Record(data=b'2,"c\\n', fault=('unclosed-quote',
     'a quote that is not closed, or has text behind it')), Record(data=b'3,d\\n', fault=None)]

    Args:
        data: where to look.
        delimiter: between fields.
        width: how many fields a row has.
        final: whether nothing follows.

    Returns:
        the records, and the bytes of one that does not end here.
    """
    ends = _strict_ends(data, delimiter)
    if ends is not None and not (final and data.count(b'"') % 2):
        begins = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
        rest = data[int(ends[-1]) if len(ends) else 0 :]
        filled = ~_blank(data, begins, ends - begins)
        records = [data[a:b] for a, b in zip(begins[filled].tolist(), ends[filled].tolist(), strict=True)]
        if len(rest) <= LONGEST_RECORD:
            if final and rest:
                records, rest = [*records, rest], b""
            return [part for r in records if r.strip(b"\r\n") for part in _judge_record(r, delimiter, width)], rest
    return _split_carefully(data, delimiter, width, final)


def has_long_line(data: bytes) -> bool:
    """Whether a line is longer than a record may be."""
    if len(data) <= LONGEST_RECORD:
        return False
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == LF)
    return bool(np.diff(ends, prepend=-1, append=len(data)).max() > LONGEST_RECORD)


def ends_in_quotes(line: bytes, delimiter: str) -> bool:
    """Whether a line ends in a quoted field, or has a broken one."""
    if b'"' not in line:
        return False
    try:
        list(csv.reader([line.decode("latin-1")], delimiter=delimiter, strict=True))
    except csv.Error:
        return True
    return False


def _strict_ends(data: bytes, delimiter: str) -> np.ndarray | None:
    """Where records end (exclusive), if all quotes are where they should be; the last one may be open."""
    a = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero(a == QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    padded = np.concatenate([[LF], a, [LF]]).astype(np.uint8)
    before, behind = padded[opening], padded[closing + 2]
    border = np.array([ord(delimiter), LF, CR, QUOTE], dtype=np.uint8)
    doubled = (before == QUOTE) & np.isin(opening - 1, closing)
    if not (np.isin(before, border[:3]) | doubled).all() or not np.isin(behind, border).all():
        return None
    line_ends = np.flatnonzero(a == LF)
    outside = np.searchsorted(quotes, line_ends) % 2 == 0
    return np.asarray(line_ends[outside] + 1)


def _split_carefully(data: bytes, delimiter: str, width: int, final: bool) -> tuple[list[Record], bytes]:
    """One record after the other, beginning anew behind each line that is broken."""
    lines = data.splitlines(keepends=True) if b"\r" not in data else _split_lines(data)
    records: list[Record] = []
    at = 0
    while at < len(lines):
        for size in _measure_records(lines, at, delimiter):
            if size == 0:  # it never ends, or is broken: at
                rest = b"".join(lines[at:])
                if not final and _may_go_on(lines, at, delimiter) and len(rest) <= LONGEST_RECORD:
                    return records, rest
                records.append(Record(lines[at], UNCLOSED))
                at += 1
                break
            if not final and at + size == len(lines) and not lines[-1].endswith(b"\n"):
                return records, b"".join(lines[at:])
            record = b"".join(lines[at : at + size])
            if record.strip(b"\r\n"):
                records += _judge_record(record, delimiter, width)
            at += size
    return records, b""


def _split_lines(data: bytes) -> list[bytes]:
    """Lines end with LF alone."""
    found = [line + b"\n" for line in data.split(b"\n")]
    found[-1] = found[-1][:-1]
    return found if found[-1] else found[:-1]


def _measure_records(lines: list[bytes], at: int, delimiter: str) -> Iterator[int]:
    """How many lines each of the next records has; 0, and no more, for one that is broken."""
    text = (line.decode("latin-1") for line in lines[at:])
    rows = csv.reader(text, delimiter=delimiter, strict=True)
    seen = 0
    try:
        for _ in rows:
            yield rows.line_num - seen
            seen = rows.line_num
    except csv.Error:
        yield 0


def _may_go_on(lines: list[bytes], at: int, delimiter: str) -> bool:
    """Whether the record merely does not end in these lines."""
    text = b"".join(lines[at:]).decode("latin-1")
    try:
        list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as problem:
        return "unexpected end of data" in str(problem)
    return True


def _judge_record(data: bytes, delimiter: str, width: int) -> list[Record]:
    """The record, or the lines of one that may be several."""
    if len(data) > LONGEST_RECORD:
        return [Record(data, TOO_LONG)]
    if not is_utf8(data):
        return [Record(data, BINARY)]
    inner = data.rstrip(b"\r\n").split(b"\n")
    if len(inner) > 1 and width > 1 and all(line.count(delimiter.encode()) == width - 1 for line in inner):
        return [Record(line, SWALLOWED) for line in _split_lines(data)]
    return [Record(data)]
