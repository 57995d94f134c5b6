"""What goes to the terminal: the names of files and the values of rows come from anybody, and are shown, not obeyed."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.text import Text

__all__ = ["Terminal", "literal", "one_line", "visible"]

#: Characters that move the cursor, colour, hide or turn round what is beside them: control characters but tab and LF, marks of direction,
#: spaces of no width, halves of characters, tags.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


class Terminal(Console):
    """A console on which every text is :func:`visible`, and ``:name:`` is no picture."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """All strings come through here: lines, titles and cells of tables."""
        return super().render_str(visible(text), **options)


def literal(text: str) -> Text:
    """The text of a value, in which brackets are brackets: escaping them for rich's markup loses a backslash before them."""
    return Text(visible(text))


def visible(text: str) -> str:
    r"""The text, with its unseen characters as they are written in Python.

    >>> print(visible("exe\u202e.gnp \x1b[31m"))
    exe\u202e.gnp \x1b[31m
    """
    return UNSEEN.sub(lambda found: _written(ord(found[0])), text)


def one_line(text: str) -> str:
    r"""Likewise, on one line: for what is a name.

    >>> print(one_line("a\nb"))
    a\nb
    """
    return visible(text).replace("\n", "\\n")


def _written(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
