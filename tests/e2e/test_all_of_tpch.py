"""All 22 queries of TPC-H as one program: after every batch of inserts, deletes and updates in all eight tables, each
view is what DuckDB computes on the net tables; and with all rows deleted again, every map is empty."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from cumulus_ops.demo.tpch import generate_tables
from cumulus_ops.epochs.minibatch import run_minibatch
from cumulus_ops.opening.runtime import Runtime
from cumulus_ops.project.settings import ExecutorSettings
from cumulus_ops.query.read import read_map, read_view
from tests.fuzz.compare import same_rows
from tests.support.sampling import deep
from tests.support.tpch_mixed import Batch, batches, land, replay
from tests.support.tpch_stream import EXAMPLE, make_project, started, table_rows

QUERIES = tuple(f"q{n}" for n in range(1, 23))
TEXTS = {q: (EXAMPLE / "views" / f"{q}.sql").read_text(encoding="utf-8") for q in QUERIES}


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate_tables(tmp_path_factory.mktemp("tpch") / "tables", 0.01)


def program(folder: Path, kind: str) -> Iterator[Runtime]:
    project = make_project(folder, folder / "landing")
    executor = ExecutorSettings(kind=kind)
    with started(dataclasses.replace(project, views=TEXTS, coordinators=1, executor=executor)) as rt:
        yield rt


def check(rt: Runtime, connection: duckdb.DuckDBPyConnection, batch: Batch, number: int) -> None:
    land(rt.project.landing / "0" / f"p{number:04}", batch, number * 10**7)
    assert run_minibatch(rt, 0)
    replay(connection, rt.program.relations, batch)
    for query, text in TEXTS.items():
        theirs = connection.execute(text.split("\norder by")[0]).fetchall()
        ours = table_rows(read_view(rt, query, tentative=True, ordered=False))
        assert same_rows(ours, theirs, ordered=False), f"{query} after batch {number}"


def run_all(rt: Runtime, tables: Path, mixed: int) -> None:
    found: set[str] = set()
    with duckdb.connect(config={"threads": 1}) as connection:
        for number, batch in enumerate(batches(tables, rt.program.relations, mixed, loaded=0.6, share=0.01, seed=11)):
            check(rt, connection, batch, number)
            found |= {q for q in QUERIES if len(read_view(rt, q, tentative=True))}
    assert len(found) >= 20, f"too few views ever had rows: {sorted(set(QUERIES) - found)}"
    assert [m.name for m in rt.program.maps if len(read_map(rt, m.name))] == []


def test_all_queries_in_process(tables: Path, tmp_path: Path) -> None:
    for rt in program(tmp_path, "inprocess"):
        run_all(rt, tables, 2)


@deep
@pytest.mark.spark
def test_all_queries_on_spark(tables: Path, tmp_path: Path) -> None:
    for rt in program(tmp_path, "spark"):
        run_all(rt, tables, 1)
