"""An array of JSON objects as lines: each object on a line of its own, found by its braces, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cumulus_ops.errors import InputProblem
from cumulus_ops.eventlog.landed import BLOCK_BYTES, Landed

__all__ = ["lines_of_array"]


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
    _check_commas(path, a, between, begins, due)
    lines = a[:size].copy()
    lines[outside] = LF
    lines[(lines == LF) & ~outside] = SPACE
    if ended:
        lines[last] = LF
    raw = np.flatnonzero((a[:size] < SPACE) & ~outside)
    if (np.searchsorted(quotes, raw) % 2).any():
        raise _no_array(path, "a text has a line end or another control character")
    return lines.tobytes(), size, 1 if len(ends) else due, ended


def _check_commas(path: Path, a: np.ndarray, between: np.ndarray, begins: np.ndarray, due: int) -> None:
    """There is a comma before each object but the first, and nothing else beside them."""
    if (a[between] != COMMA).any():
        raise _no_array(path, "something is between its objects")
    expected = np.arange(1 - due, len(begins))
    if not np.array_equal(np.searchsorted(begins, between), expected):
        raise _no_array(path, "a comma is missing, or there is one too many")


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
