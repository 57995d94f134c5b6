"""Regular expressions by RE2, as pyarrow brings it along: no pattern takes more steps than its length times the text's.

The product and the proof share them (decision 0045). pyarrow is imported when a regular expression is first matched, since
every module of this package comes by here, those that answer at once too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["extract", "extract_one", "match", "replace", "replace_one", "search"]


def match(texts: pa.Array | pa.Scalar, pattern: str) -> pa.Array | pa.Scalar:
    """Whether a regular expression of RE2 occurs in each text of a column; NULL where that is."""
    import pyarrow.compute as pc

    return pc.match_substring_regex(texts, pattern)


def replace(texts: pa.Array, pattern: str, replacement: str, *, first: bool) -> pa.Array:
    r"""Each text of a column with a replacement for all matches, or the first; ``\1`` is a group, ``\0`` the match."""
    import pyarrow.compute as pc

    return pc.replace_substring_regex(texts, pattern, replacement, max_replacements=1 if first else None)


def extract(texts: pa.Array, pattern: str) -> pa.Array:
    """What the group ``found``, the only one, has in the first match in each text of a column; NULL where there is none."""
    import pyarrow.compute as pc

    return pc.struct_field(pc.extract_regex(texts, pattern), "found")


def search(pattern: str, text: str) -> bool:
    """Whether a regular expression of RE2 occurs in one text."""
    import pyarrow as pa

    return bool(match(pa.scalar(text), pattern).as_py())


def replace_one(pattern: str, text: str, replacement: str, *, first: bool) -> str:
    """As :func:`replace`, of one text."""
    import pyarrow as pa

    return str(replace(pa.array([text]), pattern, replacement, first=first)[0].as_py())


def extract_one(pattern: str, text: str) -> str | None:
    """As :func:`extract`, of one text."""
    import pyarrow as pa

    found: str | None = extract(pa.array([text]), pattern)[0].as_py()
    return found
