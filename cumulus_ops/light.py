"""Starting fast: what costs much to import, and is not wanted, is not imported.

With the first array that pyarrow makes of Python values it looks for pandas, which takes longer than most commands; it wants to know
whether the values are a pandas series. In a process that has none, it may as well not find it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["lazy_module", "without_pandas"]


class _Lazy(ModuleType):
    """Stands for a module. The import system's lock is around the import, so threads may use it first at the same moment; that is why
    ``importlib.util.LazyLoader`` is not used, of which a second thread sees half a module (until Python 3.12)."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def lazy_module(name: str) -> ModuleType:
    """A module that is imported when something of it is used first: for what one command, or one task, needs and others do not. Who imports it so
    says beside it, for type checkers, which one it is:

    >>> if TYPE_CHECKING:  # doctest: +SKIP
    ...     from cumulus_ops.validation import run as validating
    ... else:
    ...     validating = lazy_module("cumulus_ops.validation.run")
    """
    return _Lazy(name)


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
