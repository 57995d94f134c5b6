"""What a kernel is: the value of a function of its arguments' values, to be brought to the type of its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from m3.datatypes import Type
from m3.dictionary.types import Value

__all__ = ["Compute"]

Compute = Callable[[list[Any], Type], Value]
