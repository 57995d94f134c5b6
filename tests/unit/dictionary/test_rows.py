"""Each row of the dictionary of functions: what it says is so, in every dialect that it names; and what has no row is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from m3 import CompileError, compile_views
from m3.dictionary import BY_HAND, DIALECTS, ENTRIES, GENERIC, PLACEHOLDERS, SCALARS, SECTIONS, WRITTEN, Form
from m3.dictionary.forms import _names, expand
from m3.errors import M3Error
from m3.program import Column, Relation
from m3.scalars import Scalar, Var
from m3.sql.functions import make_reader, read_constant
from m3.sql.page import COLUMNS, read_form, write_page
from m3.sql.places import FAILURES, Source, refuse_unread
from tests.support.sampling import WHOLE, sampled

PAGE = Path(__file__).parents[3] / "docs" / "functions.md"
ALL = (None, *DIALECTS)
TABLE = Relation("r", tuple(Column(n, t) for n, t in COLUMNS.items()))
SCALAR_FORMS = [(e, f) for entries in SCALARS.values() for e in entries for f in e.said]
OTHER_FORMS = [
    f for heading in SECTIONS if heading not in (*SCALARS, "Tables and time") for e in SECTIONS[heading] for f in e.said
]


def parsed(text: str, dialect: str | None) -> exp.Expr:
    (tree,) = sqlglot.parse_one(f"SELECT {text}", read=dialect).expressions
    return tree


@pytest.mark.parametrize("dialect", ALL)
def test_every_form_of_scalars_compiles_in_its_dialects(dialect: str | None) -> None:
    wrong = {}
    for _, form in SCALAR_FORMS:
        if form.is_of(dialect):
            try:
                read_form(form, dialect)
            except M3Error as error:
                wrong[form.text] = str(error)
    assert not wrong


@pytest.mark.parametrize("dialect", ALL)
def test_every_form_of_aggregates_and_windows_compiles_in_its_dialects(dialect: str | None) -> None:
    forms = [f.example(dialect) for f in OTHER_FORMS if f.is_of(dialect)]
    grouped = [f for f in forms if " OVER " not in f]
    views = {"windows": [f for f in forms if " OVER " in f], "aggregates": grouped}
    sql = {
        name: f"SELECT {', '.join(f'{f} AS c{i}' for i, f in enumerate(texts))} FROM r" for name, texts in views.items()
    }
    sql["aggregates"] += " GROUP BY n"
    compile_views("forms", [TABLE], sql, dialect=dialect)


@pytest.mark.parametrize("dialect", ALL)
def test_forms_are_found_by_the_dictionary(dialect: str | None) -> None:
    forms = [f for _, f in SCALAR_FORMS if f.is_of(dialect) and f.meaning != BY_HAND]
    assert not [f.text for f in forms if expand(parsed(f.example(dialect), dialect), dialect) is None]


def is_unknown(form: Form, dialect: str) -> bool:
    """Whether a dialect's parser does not know a function either."""
    try:
        return isinstance(parsed(form.example(dialect), dialect), exp.Anonymous)
    except FAILURES:
        return False


def test_a_form_of_some_dialects_is_unknown_where_nobody_knows_its_name() -> None:
    refused = 0
    for _, form in SCALAR_FORMS:
        word = form.text.partition("(")[0]
        for dialect in ("postgres", "tsql", "trino"):
            if form.is_of(dialect) or word in _names(dialect) or not word.isidentifier() or form.meaning == BY_HAND:
                continue
            if is_unknown(form, dialect):
                refused += 1
                with pytest.raises(CompileError):
                    read_form(form, dialect)
    assert refused > 20


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if e.examples])
def test_examples_are_so(name: str) -> None:
    entry = ENTRIES[name]
    for sql, value in entry.examples.items():
        dialect = next(iter(entry.said[0].dialects), None)
        source = Source(f"select {sql}", "v")
        found = read_constant(source.parse(None if dialect == GENERIC else dialect).expressions[0], source)
        assert (found if found is None else str(found)) == value


def test_a_row_that_fails_for_nothing_names_no_argument_to_blame() -> None:
    assert not [e.name for e in ENTRIES.values() if e.blame and not e.fails]
    assert not [e.name for e in ENTRIES.values() if e.parameters is None and not e.forms]
    assert {*WRITTEN, "format"} >= {name for name, kind in PLACEHOLDERS.items() if kind == "constant"}


def test_the_page_is_made_from_the_rows() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page() + "\n", "`make docs` writes docs/functions.md"


# What is not on the page is refused.


#: What sqlglot calls functions, and nobody writes as such.
SYNTAX = {
    exp.And,
    exp.Or,
    exp.Xor,
    exp.Exists,
    exp.Array,
    exp.Cast,
    exp.TryCast,
    exp.Case,
    exp.TimeStrToTime,
    exp.TsOrDsDiff,
    exp.TsOrDsToDatetime,
    exp.TsOrDsToTimestamp,
}
#: What the time is called, in filters.
TIME = (
    exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentDatetime, exp.CurrentTime, exp.Localtimestamp, exp.UtcTimestamp, exp.UtcDate,
    exp.CurrentTimestampLTZ, exp.Systimestamp,
)  # fmt: skip
#: Arguments that a function may take.
TRIED = [
    ", ".join(columns) for count in range(4) for columns in itertools.product(("s", "n", "t"), repeat=count)
    if count < 3 or len(set(columns)) == 1 or columns[0] == "s"
]  # fmt: skip


def calls(dialect: str | None) -> Iterator[tuple[str, str]]:
    """Calls of every function that sqlglot knows in a dialect, apart from those that it reads as in its generic one."""
    generic = Dialect.get_or_raise(None).parser_class.FUNCTIONS
    for name, build in Dialect.get_or_raise(dialect).parser_class.FUNCTIONS.items():
        if dialect is None or generic.get(name) is not build:
            yield from ((name, f"{name}({args})") for args in TRIED)


def test_what_is_not_on_the_page_is_refused() -> None:
    """Every function that the parser knows, with arguments of several types: what compiles is on the page."""
    known = set(SYNTAX)
    for dialect in ALL:
        known |= {type(parsed(f.example(dialect), dialect)) for _, f in SCALAR_FORMS if f.is_of(dialect)}
    known |= set(TIME)
    words = {f.text.partition("(")[0] for _, f in SCALAR_FORMS}
    compiled, tried = {}, 0
    for dialect in ALL:
        for name, call in sampled(calls(dialect), 15):  # of each function some of the 24 arguments
            if name in words:
                continue
            try:
                tree = parsed(call, dialect)
                if type(tree) not in known and not isinstance(tree, exp.AggFunc):
                    tried += 1
                    source = Source(f"SELECT {call}")
                    source.dialect = dialect
                    make_reader(source, column).read(tree)
                    refuse_unread(source.parse(dialect), source)
                    compiled[name] = f"{call} in {dialect}"
            except (M3Error, *FAILURES):
                continue
    assert not compiled, list(compiled.values())
    assert tried > (3_000 if WHOLE else 150)


def column(node: exp.Expr) -> Scalar | None:
    return Var(node.name, COLUMNS[node.name]) if isinstance(node, exp.Column) and node.name in COLUMNS else None


def test_forms_have_texts() -> None:
    assert Form.of("spark | LEN(s) := length(s)") == Form("LEN(s)", ("spark",), "length(s)")
