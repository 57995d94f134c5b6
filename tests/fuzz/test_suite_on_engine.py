"""The queries about functions and ordered aggregates on the engine: one project, after every batch what the interpreter has."""

from __future__ import annotations

from pathlib import Path

import pytest

from cumulus_ops.epochs.checkpoint import refresh
from cumulus_ops.opening.runtime import initialise, open_runtime
from m3 import Interpreter, compile_views
from m3.formatting import format_program
from tests.fuzz.test_engine import compare, feed
from tests.support.projects import make_project
from tests.support.random_streams import left_over
from tests.support.sampling import sampled
from tests.unit.m3.company import RELATIONS, make_batches
from tests.unit.m3.sql_forms import FORMS
from tests.unit.m3.sql_functions import SCALARS
from tests.unit.m3.sql_lists import LISTS
from tests.unit.m3.sql_ordered import ORDERED
from tests.unit.m3.sql_time import TIMES

#: The other forms are other queries before anything is compiled.
SERIES = {name: text for name, text in FORMS.items() if name.startswith(("series", "split", "explode"))}
QUERIES = {**SCALARS, **ORDERED, **TIMES, **SERIES, **LISTS}


@pytest.mark.parametrize("dialect", sampled(["postgres", "spark", "duckdb"], 3, 1))
def test_engine_has_what_the_interpreter_has(dialect: str, tmp_path: Path) -> None:
    views = {name: text[1] for name, text in QUERIES.items() if text[0] == dialect}
    program = format_program(compile_views("p", RELATIONS, views, dialect=dialect))
    project = make_project(tmp_path, RELATIONS, program=program, coordinators=2)
    initialise(project)
    batches = make_batches(7, {r.name for r in RELATIONS}, count=5)
    with open_runtime(project) as rt:
        oracle = Interpreter(rt.program)
        refresh(rt)
        for number, batch in enumerate([*batches, left_over(batches)]):
            feed(rt, oracle, batch, number)
            compare(rt, oracle, number)
