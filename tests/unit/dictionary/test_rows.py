"""Each row of the dictionary of functions: what it says is so, in every dialect that it names."""

from __future__ import annotations

import re

import pytest
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from m3 import CompileError, compile_views
from m3.datatypes import BOOL, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from m3.dictionary import ENTRIES, GENERIC, PLACEHOLDERS, Form
from m3.dictionary.forms import _names, expand
from m3.program import Column, Relation
from m3.sql.functions import read_constant
from m3.sql.places import Source
from tests.support.constructs import FORMATS

#: A column for each placeholder; what has to be written out is.
TYPES: dict[str, Type] = {
    "string": STRING, "int": INT, "numeric": decimal(12, 2), "double": DOUBLE, "bool": BOOL, "date": DATE, "timestamp": TIMESTAMP,
    "moment": TIMESTAMP, "any": INT,
}  # fmt: skip
WRITTEN = {"bits": "256", "digits": "1"}
TABLE = Relation("r", tuple(Column(n, TYPES[k].with_null()) for n, k in PLACEHOLDERS.items() if k in TYPES))
FORMS = [
    (name, form, dialect)
    for name, entry in ENTRIES.items()
    for form in entry.said
    for dialect in (form.dialects or ("postgres", "spark", "duckdb"))
]


def written(form: Form, dialect: str) -> str:
    """A form with what has to be written out, in a dialect that has it."""
    own = next((d for d in form.dialects if d != GENERIC), None)
    chosen = dialect if dialect in form.dialects else own
    read = FORMATS[None if chosen == GENERIC else chosen][1]
    texts = {**WRITTEN, "unit": "month", "format": f"'{read}'", "joda": "'yyyy-MM-dd'"}
    return re.sub(r"\b[a-z]+\b", lambda word: texts.get(word[0], word[0]), form.text)


@pytest.mark.parametrize(("name", "form", "dialect"), FORMS, ids=lambda x: getattr(x, "text", x))
def test_a_form_is_found_and_compiles_in_its_dialects(name: str, form: Form, dialect: str) -> None:
    text, read = written(form, dialect), None if dialect == GENERIC else dialect
    assert expand(parse_one(text, read=read), read) is not None
    compile_views("forms", [TABLE], {"v": f"select {text} as value_ from r"}, dialect=read)


def is_known(text: str, dialect: str) -> bool:
    """Whether a dialect's parser knows a function, so that it may mean something there."""
    try:
        return not isinstance(parse_one(text, read=dialect), exp.Anonymous)
    except SqlglotError:
        return True


@pytest.mark.parametrize(("name", "form", "dialect"), FORMS, ids=lambda x: getattr(x, "text", x))
def test_a_form_of_some_dialects_is_unknown_elsewhere(name: str, form: Form, dialect: str) -> None:
    others = {"postgres", "tsql", "trino"} - set(form.dialects)
    for other in others if form.dialects else ():
        if is_known(written(form, other), other) or form.text.partition("(")[0] in _names(other):
            continue  # the parser knows it by another name
        with pytest.raises(CompileError):
            compile_views("forms", [TABLE], {"v": f"select {written(form, other)} as value_ from r"}, dialect=other)


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
