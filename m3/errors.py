"""Errors of the language and its compiler: one root, grouped by what the reader can do about it.

Every error carries a stable ``kind``, the place in the source (a :class:`Span`) and a hint. They survive pickling,
because Spark workers send them back to the driver.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = [
    "CompileError",
    "FollowUp",
    "M3Error",
    "Notes",
    "ProgramError",
    "Span",
    "SyntaxProblem",
    "ValueProblem",
    "combine_errors",
    "quote_source",
    "shortened",
    "text_at",
]

#: Characters of an error's message, and of a value in one. Errors are stored with each epoch, and shown in full.
LONGEST_MESSAGE, LONGEST_VALUE = 2_000, 200


def shortened(text: str, most: int = LONGEST_VALUE) -> str:
    """A text for an error: what is longer than ``most`` characters loses its middle.

    >>> shortened("a" * 300 + "b" * 300, 40)
    'aaaaaaa .. (586 more) .. bbbbbbb'
    """
    if len(text) <= most:
        return text
    kept = max(1, (most - 26) // 2)
    return f"{text[:kept]} .. ({len(text) - 2 * kept} more) .. {text[-kept:]}"


@dataclass(frozen=True)
class Span:
    """A place in a source text: 1-based line and column, ``length`` characters of that line, and the file's name ("" for a string).
    ``end`` is the line and the column after the last character of a place of several lines. ``text``: what is written there, if
    somebody has to say it who has not the source."""

    line: int
    column: int
    length: int = 1
    file: str = ""
    end: tuple[int, int] | None = field(default=None, compare=False)
    text: str = field(default="", compare=False, repr=False)

    @property
    def behind(self) -> tuple[int, int]:
        """The line and the column after the last character."""
        return self.end or (self.line, self.column + self.length)

    def __str__(self) -> str:
        return f"{self.file or '<text>'}:{self.line}:{self.column}"


class M3Error(Exception):
    """Root of all errors of :mod:`m3`.

    Args:
        message: what is wrong, in one sentence.
        kind: stable identifier for handlers, e.g. ``"unknown-map"``.
        span: where in the source, if known.
        hint: what to do about it.
        others: further errors that were found with it and do not follow from it.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "m3",
        span: Span | None = None,
        hint: str = "",
        others: Iterable[M3Error] = (),
    ) -> None:
        message = shortened(message, LONGEST_MESSAGE)
        super().__init__(message)
        self.message, self.kind, self.span, self.hint, self.others = message, kind, span, hint, tuple(others)

    @property
    def all(self) -> tuple[M3Error, ...]:
        """This error and those that were found with it."""
        return (self, *self.others)

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{place}{self.message} [{self.kind}]{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.kind, self.span, self.hint, self.others)

    def in_files(self, files: Mapping[str, str]) -> M3Error:
        """The same errors, with the files of texts that have a name in ``files``."""
        first, *others = (_rebuild(type(e), e.message, e.kind, _rename(e.span, files), e.hint, ()) for e in self.all)
        first.others = tuple(others)
        return first

    def underlined(self, source: str) -> str:
        """The message followed by the source lines with the place underlined."""
        lines = quote_source(source, self.span) if self.span is not None else []
        return "\n".join([str(self), *(f"  | {line}" for line in lines)])


def _rebuild(
    cls: type[M3Error], message: str, kind: str, span: Span | None, hint: str, others: tuple[M3Error, ...]
) -> M3Error:
    return cls(message, kind=kind, span=span, hint=hint, others=others)


def _rename(span: Span | None, files: Mapping[str, str]) -> Span | None:
    return None if span is None else replace(span, file=files.get(span.file, span.file))


def combine_errors(errors: Iterable[M3Error]) -> M3Error:
    """The first of several errors, which knows the others; what was found twice counts once, and what follows from others not at all.

    >>> first, second = ProgramError("a", kind="x", span=Span(1, 1)), ProgramError("b", kind="y")
    >>> [e.message for e in combine_errors([first, second, first]).all]
    ['a', 'b']
    """
    every = [e for several in errors for e in several.all]
    found: dict[tuple[object, ...], M3Error] = {}
    for error in [e for e in every if not isinstance(e, FollowUp)] or every:
        found.setdefault((error.span, error.kind, error.message if error.span is None else ""), error)
    first, *others = found.values()
    combined = _rebuild(type(first), first.message, first.kind, first.span, first.hint, tuple(others))
    combined.__cause__ = first
    return combined


class Notes:
    """The errors of parts that can be judged each by itself.

    >>> notes = Notes()
    >>> for name in "ab":
    ...     with notes.part(Span(1, 1 + ord(name))):
    ...         raise ProgramError(name, kind="x")
    >>> [str(e.span) for e in notes.errors]
    ['<text>:1:98', '<text>:1:99']
    """

    def __init__(self) -> None:
        self.errors: list[M3Error] = []

    @contextmanager
    def part(self, span: Span | None = None) -> Iterator[None]:
        """What fails within is noted, at ``span`` if it does not say where."""
        try:
            yield
        except M3Error as error:
            if error.span is None:
                error.span = span
            self.errors.append(error)

    def stop(self) -> None:
        """Go on only where nothing has failed.

        Raises:
            M3Error: all that was noted.
        """
        if self.errors:
            raise combine_errors(self.errors)


#: Lines of a place that are shown.
MOST_LINES = 4
TAB = 4


def quote_source(source: str, span: Span) -> list[str]:
    """The lines of a place, each followed by its underline, as wide as they are on a terminal.

    >>> print("\\n".join(quote_source("SELECT\\t'東京', x\\r\\nFROM r", Span(1, 14, 1))))
    SELECT  '東京', x
                    ^
    >>> print("\\n".join(quote_source("SELECT f(a,\\n  b) FROM r", Span(1, 8, 4, end=(2, 5)))))
    SELECT f(a,
           ^^^^
      b) FROM r
      ^^

    Args:
        source: the whole text.
        span: a place in it; no line is shown of one that is not there.
    """
    lines = _split_lines(source)
    last, behind = span.behind
    shown = []
    for number in range(span.line, min(last, len(lines)) + 1):
        line = lines[number - 1]
        begin = span.column - 1 if number == span.line else len(line) - len(line.lstrip())
        end = behind - 1 if number == last else len(line.rstrip())
        before, marked = _widen(line[:begin]), _widen(line[: max(end, begin + 1)])
        width = max(1, _width(marked) - _width(before))
        shown.append((_widen(line), " " * _width(before) + "^" * width))
    if len(shown) > MOST_LINES:
        shown = [*shown[: MOST_LINES - 2], ("..", ""), shown[-1]]
    return [text.rstrip() for pair in shown for text in pair if text]


def text_at(source: str, span: Span) -> str:
    r"""What is written at a place.

    >>> text_at("SELECT f(a,\n  b) FROM r", Span(1, 8, 4, end=(2, 5)))
    'f(a,\n  b)'
    """
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    last, behind = span.behind
    if last >= len(starts):
        return ""
    return source[starts[span.line - 1] + span.column - 1 : starts[last - 1] + behind - 1]


def _split_lines(source: str) -> list[str]:
    r"""The lines as editors and parsers count them: by ``\n``, before which a ``\r`` may stand."""
    return [line.removesuffix("\r") for line in source.split("\n")]


def _widen(text: str) -> str:
    """A line for a terminal: tabs are spaces, and what would move the cursor is not there."""
    made = ""
    for character in text:
        made += (
            " " * (TAB - _width(made) % TAB)
            if character == "\t"
            else character
            if character.isprintable()
            else "\ufffd"
        )
    return made


def _width(text: str) -> int:
    """Cells of a terminal: wide characters take two, marks that go over another none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class FollowUp(M3Error):
    """Something cannot be read because of an error that was noted before, or that another text has: nobody is told of it."""

    def __init__(
        self, message: str = "it reads what has an error itself", *, kind: str = "follow-up", **rest: Any
    ) -> None:
        super().__init__(message, kind=kind, **rest)


class SyntaxProblem(M3Error):
    """The text is not M3, or not SQL: fix the text."""


class ProgramError(M3Error):
    """A well-formed program breaks a rule of the language: fix the program."""


class CompileError(M3Error):
    """The SQL is outside what can be maintained incrementally: rewrite it as the hint says."""


class ValueProblem(M3Error):
    """A value does not fit its type (overflow, division by zero): fix the data or widen the type."""
