"""Names and values of data in Markdown, as Airflow shows it: they are text, whatever they look like."""

from __future__ import annotations

import re

__all__ = ["code", "escaped"]

PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
#: Ends of lines, and what a terminal or a browser would not show as a character of its own.
UNSEEN = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")


def code(text: object) -> str:
    """A text on one line as a code span, in which nothing is markup; also in a list, a heading or a table.

    >>> code("a`b"), code("[x](y)")
    ('``a`b``', '`[x](y)`')
    """
    line = _on_one_line(text).replace("|", "\N{BROKEN BAR}")  # which ends a table's cell, also in code
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    edge = " " if not line.strip() or line[0] in "` " or line[-1] in "` " else ""
    return f"{fence}{edge}{line or '–'}{edge}{fence}" if line.strip() else "`–`"


def escaped(text: object) -> str:
    """A text on one line as prose, in which nothing is markup.

    >>> escaped("**a** <b> in r.x")
    '\\\\*\\\\*a\\\\*\\\\* \\\\<b\\\\> in r\\\\.x'
    """
    return PUNCTUATION.sub(r"\\\1", _on_one_line(text)).strip() or "–"


def _on_one_line(text: object) -> str:
    return UNSEEN.sub(" ", str(text))
