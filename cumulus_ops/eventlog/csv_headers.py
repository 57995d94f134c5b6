"""The header line of CSV: where it ends, which delimiter it has, and which field is which column.

Whatever is taken for a part of the header is no row, so a header is only read where it is certain that it holds no rows: it is one line,
its quotes close, and no name has a character in it that ends lines elsewhere.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cumulus_ops.config import LandingSettings
from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.headers import found_columns, ignored_columns

__all__ = ["HEADER_BYTES", "CsvForm", "check_empty", "read_form"]

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
    text, skip = _first_line(path, start, at)
    given = sep[1].decode() if sep is not None else settings.delimiter
    delimiter, header = _delimiter(path, text, wanted, given)
    places = found_columns(path, header, wanted)
    by_place = {place: name for name, place in places.items()}
    names = tuple(by_place.get(i, f"\x00{i}") for i in range(len(header)))
    null_values = ("", *settings.null_values)
    return CsvForm(skip, delimiter, names, tuple(places), ignored_columns(header, places), null_values)


def _first_line(path: Path, start: bytes, at: int) -> tuple[str, int]:
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


def _delimiter(path: Path, line: str, wanted: Sequence[str], given: str | None) -> tuple[str, list[str]]:
    """The delimiter, and the names that it separates: the one with which most of the wanted columns are there."""
    headers = {d: _fields(line, d) for d in ([given] if given else DELIMITERS)}
    found = {d: len(found_columns(path, header, wanted)) for d, header in headers.items()}
    best = max(found, key=lambda d: found[d])
    if not found[best]:
        raise _no_names(path, line, wanted, given)
    if any(n == found[best] and headers[d] != headers[best] for d, n in found.items()):
        hint = "write `delimiter:` for the landing folder, or for the relation's `file`"
        raise _bad_header(path, "has a header with several delimiters", hint, "delimiter")
    if not _quotes_close(line, best):
        hint = "close the quote in the first line, or leave it out; names have no line ends"
        raise _bad_header(path, "has a quote in its header line that is not closed there", hint, "unclosed-quote")
    return best, headers[best]


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _quotes_close(line: str, delimiter: str) -> bool:
    try:
        list(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return True


def _no_names(path: Path, line: str, wanted: Sequence[str], given: str | None) -> InputProblem:
    names = ", ".join(wanted[:SHOWN_COLUMNS]) + (", .." if wanted[SHOWN_COLUMNS:] else "")
    message = f"has a first line that names none of the columns {names}"
    hint = "write the columns' names into the first line"
    if given is not None:
        hint += f", with {given!r} between them"
    if line.lstrip().startswith(("{", "[")):
        hint = "if it is JSON, name it .json; else write the columns' names into the first line"
    return _bad_header(path, message, hint, "no-header")


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
