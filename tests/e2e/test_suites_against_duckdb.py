"""Suites that databases and streams are measured by: all their views at once on the engine are, after each batch, what DuckDB computes."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cumulus_ops.epochs.checkpoint import refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import initialise, open_runtime
from cumulus_ops.query.read import read_view
from tests.fuzz.compare import same_rows
from tests.fuzz.database import Database
from tests.support.projects import append_events, make_project
from tests.support.sampling import sampled
from tests.support.suites import SUITES, batches

SEED = int(os.environ.get("SEED", "0"))


@pytest.mark.parametrize("name", sampled(SUITES, 2))
def test_the_views_of_a_suite_are_what_duckdb_computes(name: str, tmp_path: Path) -> None:
    suite = SUITES[name]
    ours = {view: text if isinstance(text, str) else text[0] for view, text in suite.views.items()}
    theirs = {view: text if isinstance(text, str) else text[1] for view, text in suite.views.items()}
    project = make_project(tmp_path, suite.relations, views=ours, coordinators=1)
    project = replace(project, dialect=suite.dialect)
    initialise(project)
    database, found = Database(suite.relations, "nulls_last"), set()
    if suite.reads_views:
        for view, text in theirs.items():
            database.rows(f"CREATE VIEW {view} AS {text}")
    with open_runtime(project) as rt:
        for number, batch in enumerate(batches(suite, SEED)):
            events = [(relation, sign, row) for sign, relation, row in batch]
            apply_batch(rt, append_events(rt, 0, events, f"d{number}"))
            refresh(rt)
            database.apply(batch)
            for view, text in theirs.items():
                expected = database.rows(text)
                table = read_view(rt, view, tentative=True, ordered=False)
                rows = list(zip(*(c.to_pylist() for c in table.columns), strict=True))
                assert same_rows(rows, expected), f"{view} after batch {number}"
                found |= {view} if any(v is not None for row in expected for v in row) else set()
    assert found == set(ours), "a view that finds nothing"
