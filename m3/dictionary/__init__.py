"""The functions of SQL: one table with a row for each, from which everything that has to do with functions is made.

Kernels, what functions compute, are in :mod:`m3.functions` by the same names; :mod:`.forms` finds the row of what is written.
"""

from __future__ import annotations

from collections.abc import Mapping

from m3.dictionary.choices import CHOICES
from m3.dictionary.entry import ACCEPTED, BY_HAND, CONVERTED, DIALECTS, GENERIC, PLACEHOLDERS, WRITTEN, Entry, Form
from m3.dictionary.groups import GROUPS, TABLES, WINDOWS
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
    "SCALARS",
    "SECTIONS",
    "WRITTEN",
    "Entry",
    "Form",
]

#: Heading -> rows of scalars, as the page of functions has them.
SCALARS: Mapping[str, tuple[Entry, ...]] = {
    "Text": TEXTS, "JSON": JSONS, "Numbers": (*NUMBERS, *DOUBLES), "Dates and times": MOMENTS, "Conditions, choices and casts": CHOICES,
}  # fmt: skip
#: All of them; what is no scalar comes last.
SECTIONS: Mapping[str, tuple[Entry, ...]] = {
    **SCALARS, "Aggregates": GROUPS, "Window functions": WINDOWS, "Tables and time": TABLES,
}  # fmt: skip
#: Name -> row of scalars, also of what is no operation of its own.
ENTRIES: Mapping[str, Entry] = {e.name: e for entries in SCALARS.values() for e in entries}
#: Operation -> its row: what the language itself knows.
FUNCTIONS: Mapping[str, Entry] = {name: entry for name, entry in ENTRIES.items() if entry.parameters is not None}
