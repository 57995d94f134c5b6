"""The functions of SQL: one table with a row for each, from which everything that has to do with functions is made.

Kernels, what functions compute, are in :mod:`m3.functions` by the same names; :mod:`.forms` finds the row of what is written.
"""

from __future__ import annotations

from collections.abc import Mapping

from m3.dictionary.entry import ACCEPTED, BY_HAND, CONVERTED, DIALECTS, GENERIC, PLACEHOLDERS, Entry, Form
from m3.dictionary.jsons import JSONS
from m3.dictionary.moments import MOMENTS
from m3.dictionary.numbers import DOUBLES, NUMBERS
from m3.dictionary.texts import TEXTS

__all__ = [
    "ACCEPTED",
    "BY_HAND",
    "CONVERTED",
    "DIALECTS",
    "ENTRIES",
    "FUNCTIONS",
    "GENERIC",
    "PLACEHOLDERS",
    "Entry",
    "Form",
]

#: Name -> row, also of what is no operation of its own.
ENTRIES: Mapping[str, Entry] = {e.name: e for e in (*TEXTS, *JSONS, *NUMBERS, *DOUBLES, *MOMENTS)}
#: Operation -> its row: what the language itself knows.
FUNCTIONS: Mapping[str, Entry] = {name: entry for name, entry in ENTRIES.items() if entry.parameters is not None}
