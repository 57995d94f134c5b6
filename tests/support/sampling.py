"""Samples of what is the same question many times, such as of each function in each dialect."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

__all__ = ["WHOLE", "deep", "sampled"]

T = TypeVar("T")
#: Whether nothing is left out: ``make test-deep`` asks for it.
WHOLE = os.environ.get("WHOLE") == "1"
#: For a test of which others ask a smaller question.
deep = pytest.mark.skipif(not WHOLE, reason="WHOLE=1 asks for it")


def sampled(items: Iterable[T], every: int, first: int = 0) -> list[T]:
    """Each ``every``-th item from one of the first on, the same in each run; all of them with ``WHOLE=1``."""
    return list(items)[0 if WHOLE else first % every :: 1 if WHOLE else every]
