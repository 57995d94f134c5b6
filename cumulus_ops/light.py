"""Starting fast: what costs much to import, and is not wanted, is not imported.

With the first array that pyarrow makes of Python values it looks for pandas, which takes longer than most commands; it wants to know
whether the values are a pandas series. In a process that has none, it may as well not find it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

__all__ = ["without_pandas"]


class _Missing:
    """Says that there is no pandas."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:  # the protocol of importlib's finders
        if name == "pandas":
            raise ModuleNotFoundError("not now", name=name)


def without_pandas() -> None:
    """Let pyarrow have looked for pandas in vain, once and for all: for processes that make no data frames (pyarrow's ``to_pandas`` will
    not work). Whoever else imports pandas finds it. Where it is imported already nothing changes."""
    import pyarrow as pa

    if "pandas" in sys.modules:
        return
    finder = _Missing()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
