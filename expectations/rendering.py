"""How our expectations read in a report: a sentence, what was observed, and a table of what is wrong."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from great_expectations.expectations.expectation import BatchExpectation

__all__ = ["ReadableExpectation", "verdict"]


def verdict(
    success: bool, observed: str, header: Sequence[str] = (), table: Sequence[Sequence[str]] = (), **details: Any
) -> dict[str, Any]:
    """An expectation's result.

    Args:
        success: whether it holds.
        observed: what was found, in a few words.
        header: the table's columns, shown when there are rows.
        table: what is wrong, as text.
        details: numbers for programs.
    """
    shown = {"header": list(header), "table": [list(row) for row in table]}
    return {"success": success, "result": {"observed_value": observed, "details": {**details, **shown}}}


class ReadableExpectation(BatchExpectation, ABC):
    """Base of the expectations here: ``sentence`` is a template over the expectation's arguments (``$name``)."""

    sentence: ClassVar[str] = ""
