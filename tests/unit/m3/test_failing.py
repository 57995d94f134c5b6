"""Kinds of failing expressions (:mod:`tests.unit.m3.failing`): one event puts a view in error, its deletion or an update
mends it, and the view beside it never notices. While the view is right, before and after, it has DuckDB's rows; while it
is in error, DuckDB fails, too, unless its own rules have an answer."""

from __future__ import annotations

import duckdb
import pytest

from m3 import compile_views
from m3.errors import ValueProblem, text_at
from m3.interpreter import Interpreter
from tests.fuzz.compare import same_rows
from tests.fuzz.database import Database
from tests.support.random_streams import Batch, left_over
from tests.unit.m3.failing import BYSTANDER, CASES, INNOCENT, RELATIONS, Case


@pytest.fixture(scope="module")
def database() -> Database:
    return Database(RELATIONS)


class Both:
    """The interpreter and DuckDB on one stream, with the view and the one beside it."""

    def __init__(self, case: Case, database: Database) -> None:
        views = {"v": case.sql, "beside": BYSTANDER}
        program = compile_views("failing", RELATIONS, views, dialect=case.dialect)
        self.case, self.database, self.interpreter = case, database, Interpreter(program)
        self.start = {name: dict(entries) for name, entries in self.interpreter.maps.items()}
        database.clear()

    def apply(self, batch: Batch) -> None:
        """The view beside is right after each event."""
        for event in batch:
            self.interpreter.apply(*event)
        self.database.apply(batch)
        assert same_rows(self.interpreter.view_rows("beside"), self.database.rows(BYSTANDER))

    def check_right(self) -> None:
        theirs = self.database.rows(self.case.duckdb or self.case.sql)
        assert same_rows(self.interpreter.view_rows("v", ordered=False), theirs)
        assert not any(self.interpreter.maps[c.map] for c in self.interpreter.program.view("v").checks)

    def check_in_error(self) -> None:
        with pytest.raises(ValueProblem, match="view v") as caught:
            self.interpreter.view_rows("v")
        for text in self.case.says.split(" .. "):
            assert text.rstrip(")") in caught.value.message
        place = caught.value.span  # where the message's expression is written
        assert place is not None
        assert place.text == text_at(self.case.sql, place)
        assert " ".join(place.text.split()) in caught.value.message
        if not self.case.lenient:
            with pytest.raises(duckdb.Error):
                self.database.rows(self.case.duckdb or self.case.sql)


@pytest.mark.parametrize("name", CASES)
def test_a_view_is_in_error_until_the_event_is_mended(name: str, database: Database) -> None:
    case = CASES[name]
    both = Both(case, database)
    steps = [INNOCENT, [case.failing], [case.deletion], [case.failing], case.update]
    for batch in steps:
        both.apply(batch)
        both.check_in_error() if batch == [case.failing] else both.check_right()
    both.apply(left_over(steps))
    assert both.interpreter.maps == both.start
