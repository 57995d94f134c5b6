"""Spellings of aggregates: each is read as what it means in its dialects, and in no other."""

from __future__ import annotations

import re

import pytest
from sqlglot import exp, parse_one

from m3 import Interpreter, compile_views
from m3.datatypes import BOOL, DOUBLE, INT, STRING, decimal
from m3.dictionary import DIALECTS, Form
from m3.dictionary.aggregates import AGGREGATES, respell_aggregate
from m3.program import Column, Relation

TABLE = Relation(
    "r",
    (
        Column("k", INT), Column("n", INT.with_null()), Column("x", decimal(9, 2).with_null()), Column("v", STRING.with_null()),
        Column("w", INT.with_null()), Column("b", BOOL.with_null()), Column("r", DOUBLE.with_null()),
    ),
)  # fmt: skip
SPELLINGS = [
    (form, dialect) for row in AGGREGATES for s in row.spellings for form in (Form.of(s),) for dialect in form.dialects
]


def filled(text: str) -> str:
    """A form over the table; a fraction and an accuracy are numbers."""
    return re.sub(r"\bf\b", "r" if "DOUBLE" in text or "SUM" in text or "FAVG" in text else "0.5", text).replace(
        ", n)", ", 100)"
    )


@pytest.mark.parametrize(("form", "dialect"), SPELLINGS, ids=lambda x: getattr(x, "text", x))
def test_a_spelling_is_read_as_its_meaning_and_compiles(form: Form, dialect: str) -> None:
    tree = parse_one(form.text, read=dialect)
    assert respell_aggregate(tree.copy(), dialect) == parse_one(form.meaning)
    views = {"v": f"SELECT k, {filled(form.text)} AS c FROM r GROUP BY k"}
    assert compile_views("p", [TABLE], views, dialect=dialect).views


@pytest.mark.parametrize(("form", "dialect"), SPELLINGS, ids=lambda x: getattr(x, "text", x))
def test_a_spelling_means_nothing_in_other_dialects(form: Form, dialect: str) -> None:
    name = form.text.partition("(")[0]
    known = {d for f, d in SPELLINGS if f.text.partition("(")[0] == name}
    tree = parse_one(form.text, read=dialect)
    for other in set(DIALECTS) - known if isinstance(tree, exp.Anonymous) else ():
        assert respell_aggregate(tree.copy(), other) == tree


def test_approximations_are_exact() -> None:
    rows = [(k, n) for k in (1, 2) for n in (3, 1, 2, 2, None)]
    views = {
        "d": "SELECT k, APPROX_COUNT_DISTINCT(n) AS a, APPROX_QUANTILE(n, 0.5) AS q, MEAN(n) AS m FROM r GROUP BY k",
    }
    relation = Relation("r", (Column("k", INT), Column("n", INT.with_null())))
    interpreter = Interpreter(compile_views("p", [relation], views, dialect="duckdb"))
    for row in rows:
        interpreter.apply(1, "r", row)
    assert sorted(interpreter.view_rows("d")) == [(k, 3, 2, 2) for k in (1, 2)]
