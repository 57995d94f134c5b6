"""All 99 queries of TPC-DS compile, soon and to few maps; after each batch of a stream they are what DuckDB computes.

``TPCDS=99`` plays all of them on the engine and not only ``SAMPLE``, and ``SEED`` takes other rows.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from cumulus_ops.epochs.checkpoint import refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.project.errors import ViewInError
from cumulus_ops.query.read import read_view
from m3 import compile_views
from tests.fuzz.compare import same_rows
from tests.support.planting import Batch, Row, finds
from tests.support.projects import append_events, make_project
from tests.support.sampling import sampled
from tests.support.tpcds import duckdb_rows, queries, relations, relations_of, stream

#: ROLLUP of a UNION ALL, windows, HAVING over a scalar subquery, DISTINCT, rank within GROUPING, INTERSECT, totals of derived
#: tables, NULL keys.
SAMPLE = ("q05", "q12", "q24", "q28", "q36", "q38", "q65", "q76")
ALL = int(os.environ.get("TPCDS", "0")) >= 99
SEED = int(os.environ.get("SEED", "0"))

# the most are 0.56 s of CPU and 330 maps; 1 s is what there may be, on a machine that does little else
SECONDS, MAPS = 3, 400


@pytest.mark.parametrize("name", sampled(queries(), 5))
def test_a_query_compiles_soon_and_to_few_maps(name: str) -> None:
    before = time.process_time()
    program = compile_views("p", relations(), {"v": queries()[name]}, dialect="duckdb")
    assert time.process_time() - before < SECONDS
    assert 0 < len(program.maps) < MAPS


@pytest.mark.parametrize("name", queries() if ALL else sampled(SAMPLE, 2))
def test_a_query_is_after_each_batch_what_duckdb_computes(name: str, tmp_path: Path) -> None:
    query = queries()[name]
    tables: dict[str, Counter[Row]] = defaultdict(Counter)
    project = make_project(tmp_path, relations_of(query), views={"v": query}, coordinators=1)
    project = replace(project, dialect="duckdb")
    initialise(project)
    with open_runtime(project) as rt:
        refresh(rt)
        found = 0
        for number, batch in enumerate(stream(query, SEED)):
            feed(rt, batch, number)
            for sign, relation, row in batch:
                tables[relation][row] += sign
            theirs = duckdb_rows(query, tables)
            found += finds(theirs)
            ours = engine_rows(rt)
            if theirs is not None and ours is not None:
                assert same_rows(ours, theirs), f"after batch {number}"
    assert found, "the query finds nothing"


def feed(rt: Runtime, batch: Batch, number: int) -> None:
    events = [(relation, sign, row) for sign, relation, row in batch]
    apply_batch(rt, append_events(rt, 0, events, f"d{number}"))
    refresh(rt)


def engine_rows(rt: Runtime) -> list[Row] | None:
    """The view's rows; none where it divides by zero, which is NULL for DuckDB, or a scalar subquery has several."""
    try:
        table = read_view(rt, "v", tentative=True, ordered=False)
    except ViewInError as problem:
        if problem.kind not in ("division-by-zero", "scalar-subquery"):
            raise
        return None
    return list(zip(*(c.to_pylist() for c in table.columns), strict=True))
