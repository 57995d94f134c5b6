"""The functions of scalar expressions: one table, one :class:`Function` each, with types and meaning in one place."""

from __future__ import annotations

from collections.abc import Mapping

from m3.functions.jsons import JSONS
from m3.functions.moments import MOMENTS
from m3.functions.numbers import DOUBLES, NUMBERS
from m3.functions.spec import EXACT, Function, Operand, Value, constant
from m3.functions.texts import TEXTS, like_regex, safe_regex, search_with

__all__ = [
    "EXACT",
    "FUNCTIONS",
    "Function",
    "Operand",
    "Value",
    "constant",
    "like_regex",
    "safe_regex",
    "search_with",
]

#: Name -> function.
FUNCTIONS: Mapping[str, Function] = {**TEXTS, **JSONS, **NUMBERS, **DOUBLES, **MOMENTS}
