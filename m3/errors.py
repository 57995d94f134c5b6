"""Errors of the language and its compiler: one root, grouped by what the reader can do about it.

Every error carries a stable ``kind``, the place in the source (a :class:`Span`) and a hint. They survive pickling,
because Spark workers send them back to the driver.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CompileError", "M3Error", "ProgramError", "Span", "SyntaxProblem", "ValueProblem", "shortened"]

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
    """A place in a source text: 1-based line and column, ``length`` characters, and the file's name ("" for a string)."""

    line: int
    column: int
    length: int = 1
    file: str = ""

    def __str__(self) -> str:
        return f"{self.file or '<text>'}:{self.line}:{self.column}"


class M3Error(Exception):
    """Root of all errors of :mod:`m3`.

    Args:
        message: what is wrong, in one sentence.
        kind: stable identifier for handlers, e.g. ``"unknown-map"``.
        span: where in the source, if known.
        hint: what to do about it.
    """

    def __init__(self, message: str, *, kind: str = "m3", span: Span | None = None, hint: str = "") -> None:
        message = shortened(message, LONGEST_MESSAGE)
        super().__init__(message)
        self.message, self.kind, self.span, self.hint = message, kind, span, hint

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{place}{self.message} [{self.kind}]{hint}"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.kind, self.span, self.hint)

    def underlined(self, source: str) -> str:
        """The message followed by the source line with the place underlined."""
        if self.span is None:
            return str(self)
        lines = source.splitlines()
        if not 1 <= self.span.line <= len(lines):
            return str(self)
        marker = " " * (self.span.column - 1) + "^" * max(1, self.span.length)
        return f"{self}\n  | {lines[self.span.line - 1]}\n  | {marker}"


def _rebuild(cls: type[M3Error], message: str, kind: str, span: Span | None, hint: str) -> M3Error:
    return cls(message, kind=kind, span=span, hint=hint)


class SyntaxProblem(M3Error):
    """The text is not M3, or not SQL: fix the text."""


class ProgramError(M3Error):
    """A well-formed program breaks a rule of the language: fix the program."""


class CompileError(M3Error):
    """The SQL is outside what can be maintained incrementally: rewrite it as the hint says."""


class ValueProblem(M3Error):
    """A value does not fit its type (overflow, division by zero): fix the data or widen the type."""
