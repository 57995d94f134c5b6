"""Regular expressions by RE2, as pyarrow brings it along: no pattern takes more steps than its length times the text's.

The product and the proof share them (decision 0045). pyarrow is imported when a regular expression is first matched, since
every module of this package comes by here, those that answer at once too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["match", "search"]


def match(texts: pa.Array | pa.Scalar, pattern: str) -> pa.Array | pa.Scalar:
    """Whether a regular expression of RE2 occurs in each text of a column; NULL where that is."""
    import pyarrow.compute as pc

    return pc.match_substring_regex(texts, pattern)


def search(pattern: str, text: str) -> bool:
    """Whether a regular expression of RE2 occurs in one text."""
    import pyarrow as pa

    return bool(match(pa.scalar(text), pattern).as_py())
