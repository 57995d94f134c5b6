"""Other plans for the same query: every remainder of a join read table by table, however many rows are met.

The relations of the fuzzer have no declared numbers of rows, so that the compiler would look little up by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from m3.compiler import materialize

__all__ = ["is_turn", "looked_up"]


def is_turn(number: int) -> bool:
    """Whether a seed is of the third that has everything looked up."""
    return number % 3 == 2


@contextmanager
def looked_up(all_of_it: bool = True) -> Iterator[None]:
    """What is compiled meanwhile looks up every remainder, if ``all_of_it``; otherwise as always."""
    with mock.patch.object(materialize, "MEETINGS", math.inf if all_of_it else materialize.MEETINGS):
        yield
