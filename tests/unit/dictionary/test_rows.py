"""Each row of the dictionary of functions: what it says is so, in every dialect that it names."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from m3 import CompileError, compile_views
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.dictionary import ENTRIES, PLACEHOLDERS, Form
from m3.dictionary.forms import _names, expand
from m3.program import Column, Relation
from m3.sql.functions import read_constant
from m3.sql.places import Source

#: A column for each placeholder; what has to be written out is.
TYPES: dict[str, Type] = {
    "string": STRING, "int": INT, "numeric": decimal(12, 2), "double": DOUBLE, "bool": BOOL, "date": DATE, "timestamp": TIMESTAMP,
    "moment": TIMESTAMP, "any": INT,
}  # fmt: skip
WRITTEN = {"bits": "256"}
TABLE = Relation("r", tuple(Column(n, TYPES[k].with_null()) for n, k in PLACEHOLDERS.items() if k in TYPES))
FORMS = [
    (name, form, dialect)
    for name, entry in ENTRIES.items()
    for form in entry.said
    for dialect in (form.dialects or ("postgres", "spark", "duckdb"))
]


def written(form: Form) -> str:
    """A form with what has to be written out."""
    text = form.text
    for name, value in WRITTEN.items():
        text = text.replace(f"{name})", f"{value})")
    return text


@pytest.mark.parametrize(("name", "form", "dialect"), FORMS, ids=lambda x: getattr(x, "text", x))
def test_a_form_is_found_and_compiles_in_its_dialects(name: str, form: Form, dialect: str) -> None:
    text = written(form)
    assert expand(parse_one(text, read=dialect), dialect) is not None
    compile_views("forms", [TABLE], {"v": f"select {text} as value_ from r"}, dialect=dialect)


@pytest.mark.parametrize(("name", "form", "dialect"), FORMS, ids=lambda x: getattr(x, "text", x))
def test_a_form_of_some_dialects_is_unknown_elsewhere(name: str, form: Form, dialect: str) -> None:
    others = {"postgres", "tsql", "trino"} - set(form.dialects)
    for other in others if form.dialects else ():
        if form.text.partition("(")[0] in _names(other):
            continue
        with pytest.raises(CompileError):
            compile_views("forms", [TABLE], {"v": f"select {written(form)} as value_ from r"}, dialect=other)


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if e.examples])
def test_examples_are_so(name: str) -> None:
    entry = ENTRIES[name]
    for sql, value in entry.examples.items():
        dialect = next((d for f in entry.said for d in f.dialects), "postgres")
        source = Source(f"select {sql}", "v")
        assert str(read_constant(source.parse(dialect).expressions[0], source)) == value


def test_a_row_that_fails_for_nothing_names_no_argument_to_blame() -> None:
    assert not [e.name for e in ENTRIES.values() if e.blame and not e.fails]
    assert not [e.name for e in ENTRIES.values() if e.parameters is None and not e.forms]
