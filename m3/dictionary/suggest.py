"""What somebody meant who has written a function that is not there: the functions with the nearest names, as their dialect says them.

>>> suggest("LEVENSTEIN", "postgres"), suggest("LENGHT", "duckdb", 1)
(('LEVENSHTEIN(s, part)',), ('LENGTH(s)',))
>>> suggest("TO_NUMBER", "postgres")
()
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache

from m3.dictionary import SECTIONS, Form
from m3.dictionary.aggregates import AGGREGATES

__all__ = ["forms_by_word", "suggest"]

#: A word before a parenthesis, or what is written between two arguments.
WORD = re.compile(r"[A-Z][A-Z0-9_]*(?=\()")
#: How near a name has to be to be suggested, from 0 to 1: a typing error in four letters; farther ones mean something else (SOUNDEX, ROUND).
NEAR = 0.75


def suggest(name: str, dialect: str | None, count: int = 3) -> tuple[str, ...]:
    """The forms of the functions of a dialect whose names are nearest to one; those of the same name first, and none if nothing is near.

    What is only a function of windows is near to no other: those have hints of their own.

    Args:
        name: as it is written.
        dialect: sqlglot's name of the view's dialect.
        count: how many at most.
    """
    known = forms_by_word(dialect)
    wanted = name.upper()
    alike = [word for word, forms in known.items() if not all(" OVER " in form for form in forms)]
    near = [wanted] if wanted in known else difflib.get_close_matches(wanted, alike, count, NEAR)
    found = dict.fromkeys(form for word in near for form in known[word])
    plain = [form for form in found if " OVER " not in form]  # an aggregate is a function of windows, too
    return tuple(plain or found)[:count]


@lru_cache(maxsize=16)
def forms_by_word(dialect: str | None) -> Mapping[str, tuple[str, ...]]:
    """The first word of each form of a dialect -> its forms, those of the dialect's own first."""
    found: dict[str, list[str]] = {}
    forms = [f for entries in SECTIONS.values() for e in entries for f in e.said]
    forms += [Form.of(spelling) for row in AGGREGATES for spelling in row.spellings]
    for form in sorted((f for f in forms if f.is_of(dialect)), key=lambda f: not f.dialects):
        word = WORD.match(form.text)
        if word is not None:
            found.setdefault(word[0], []).append(form.text)
    return {word: tuple(texts) for word, texts in found.items()}
