"""The page of functions, ``docs/functions.md``: made from the rows of :mod:`m3.dictionary` and from what the compiler makes of their forms.

``python -m m3.sql.page > docs/functions.md`` writes it; a test compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sqlglot import exp

from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.dictionary import DIALECTS, GENERIC, PLACEHOLDERS, SCALARS, SECTIONS, Entry, Form
from m3.dictionary.aggregates import AGGREGATES
from m3.dictionary.suggest import forms_by_word
from m3.functions import search_with
from m3.scalars import Scalar, Var
from m3.sql.functions import make_reader
from m3.sql.places import Source

__all__ = ["COLUMNS", "read_form", "write_page"]

#: Kind of placeholder -> the type of the column that stands for it where a form is read.
TYPES: dict[str, Type] = {
    "string": STRING, "int": INT, "numeric": decimal(12, 2), "double": DOUBLE, "bool": BOOL, "date": DATE, "timestamp": TIMESTAMP,
    "moment": TIMESTAMP, "any": INT,
}  # fmt: skip
#: Placeholder -> the type of its column.
COLUMNS: dict[str, Type] = {n: TYPES[k].with_null() for n, k in PLACEHOLDERS.items() if k in TYPES}
NAMES = {
    "int": "INT",
    "double": "DOUBLE",
    "string": "STRING",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
TAKES = {
    "string": "STRING", "int": "INT", "bool": "BOOLEAN", "date": "DATE", "number": "INT, DECIMAL", "numeric": "numbers", "double": "numbers",
    "moment": "DATE, TIMESTAMP", "timestamp": "DATE, TIMESTAMP", "any": "any", "constant": "constant",
}  # fmt: skip
NULLS = {
    "strict": "", "partial": "also where there is no value", "first": "where the first argument is", "all": "where all arguments are",
}  # fmt: skip

INTRODUCTION = """# Functions
Every function, aggregate and window function that compiles, and how it is said. What is not here is refused, with the nearest function that is. What SQL means beyond functions
is in [SQL](sql.md). This page is made from the table of functions by `make docs`; do not edit it.

In the tables, *written* shows a form with the names of its arguments: `s`, `part` and their like are texts, `n`, `i`, `len` are INT, `x`, `z` are numbers, `f`, `g` are computed as DOUBLE, `b`, `c` are
conditions, `d`, `e` are dates, `t`, `u` timestamps, `m` either, `v`, `w` anything; `bits`, `pattern`, `path`, `digits` are written out. A form without a dialect is understood in all dialects, also where the
database itself has no such name; one with dialects is understood in these (*generic* is SQL without a `dialect:`). A value of another type in the place of a text is cast.

A function is NULL when an argument is, if nothing else is said under *NULL*. What *fails* puts the view [in error](sql.md#errors) while a row fails.
"""


def read_form(form: Form, dialect: str | None, columns: Mapping[str, Type] = COLUMNS) -> Scalar:
    """What a form of a scalar is, over columns that are called as its placeholders, and have these types.

    Raises:
        CompileError: the dialect has no such form, or it takes no such types.
    """

    def find_column(node: exp.Expr) -> Scalar | None:
        return Var(node.name, columns[node.name]) if isinstance(node, exp.Column) and node.name in columns else None

    source = Source(f"SELECT {form.example(dialect)}")
    (node,) = source.parse(dialect).expressions
    return make_reader(source, find_column).read(node)


def write_page() -> str:
    """The page as Markdown."""
    return "\n".join(
        [
            INTRODUCTION,
            *_write_index(),
            *(line for name in SECTIONS for line in _write_section(name)),
            *_write_dialects(),
        ]
    )


def _write_index() -> Iterator[str]:
    yield "## Index"
    places: dict[str, str] = {}
    for heading, entries in SECTIONS.items():
        for entry in entries:
            for form in entry.said:
                for word in re.findall(r"[A-Z][A-Z0-9_]*(?=\()", form.text)[:1]:
                    places.setdefault(word, heading)
    yield ", ".join(f"[{word}](#{_anchor(places[word])})" for word in sorted(places)) + "\n"


def _anchor(heading: str) -> str:
    return heading.lower().replace(",", "").replace(" ", "-")


def _write_section(heading: str) -> Iterator[str]:
    yield f"## {heading}"
    yield "| function | what it is | written | type | NULL | fails | examples | differs |"
    yield "|---|---|---|---|---|---|---|---|"
    scalar = heading in SCALARS
    for entry in SECTIONS[heading]:
        if entry.forms:
            yield f"| {' | '.join(_escape(cell) for cell in _write_row(entry, scalar))} |"
    yield ""
    if heading == "Aggregates":
        yield from _write_aggregates()


def _write_row(entry: Entry, scalar: bool) -> list[str]:
    return [
        f"**{entry.name}**", entry.text, "<br>".join(map(_write_form, entry.said)), _write_type(entry, scalar), NULLS[entry.nulls], ", ".join(entry.fails),
        "<br>".join(f"`{sql}` is {'NULL' if value is None else f'`{value}`'}" for sql, value in entry.examples.items()),
        "<br>".join([*(f"{database}: {how}" for database, how in entry.differs.items()), *(f"{database}: {what} where it fails here" for database, what in entry.errors.items())]),
    ]  # fmt: skip


def _write_aggregates() -> Iterator[str]:
    """What aggregates take and keep, and their other spellings."""
    yield "### What aggregates keep"
    yield "| aggregate | what it is | takes | type | NULL | keeps | also written |"
    yield "|---|---|---|---|---|---|---|"
    for row in AGGREGATES:
        spellings = "<br>".join(_write_form(Form.of(s)) for s in row.spellings)
        cells = (f"**{row.name}**", row.text, row.takes, row.result, row.nulls, row.keeps, spellings)
        yield f"| {' | '.join(map(_escape, cells))} |"
    yield ""


def _write_form(form: Form) -> str:
    return f"`{form.text}`" + (f" ({', '.join(form.dialects)})" if form.dialects else "")


def _write_type(entry: Entry, scalar: bool) -> str:
    """What its arguments are, and what it gives."""
    form = entry.said[0]
    words = dict.fromkeys(w for w in re.findall(r"\b[a-z]+\b", form.text) if w in PLACEHOLDERS)
    taken = "; ".join(TAKES[PLACEHOLDERS[w]] for w in words)
    if not scalar:
        return taken
    dialect = form.dialects[0] if form.dialects else None
    found = read_form(form, None if dialect == GENERIC else dialect).type
    given = NAMES.get(found.kind, "DECIMAL")
    return f"{taken} → {given}" if taken else given


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def _write_dialects() -> Iterator[str]:
    """A line per dialect: the words that it has beside those of all."""
    yield "## Dialects"
    yield "Names that only some dialects have; those of all are in the index.\n"
    common = {f.text for entries in SECTIONS.values() for e in entries for f in e.said if not f.dialects}
    for dialect in (*DIALECTS, None):
        forms = [f for texts in forms_by_word(dialect).values() for f in texts if f not in common]
        yield f"- **{dialect or GENERIC}**: {', '.join(f'`{f}`' for f in sorted(forms))}"


class _Nothing:
    """Matches nothing: that a pattern is one is all that the page asks."""

    def search(self, pattern: str, text: str) -> bool:
        return False

    def replace_one(self, pattern: str, text: str, replacement: str, *, first: bool) -> str:
        return text

    def extract_one(self, pattern: str, text: str) -> str | None:
        return None


if __name__ == "__main__":
    search_with(_Nothing())
    print(write_page())
