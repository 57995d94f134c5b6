"""Views with lists: read in order and with a limit, as the interpreter does; published, and read back by others."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from cumulus_ops.epochs.checkpoint import commit, refresh
from cumulus_ops.epochs.minibatch import apply_batch
from cumulus_ops.epochs.voting import vote
from cumulus_ops.opening.runtime import Runtime, initialise, open_runtime
from cumulus_ops.publishing.publishing import publish
from cumulus_ops.query.read import read_view
from m3 import Interpreter, parse
from tests.support.projects import append_events, interpret, make_project

RELATIONS = parse(
    "RELATION r(k INT, g INT NULL, x DECIMAL(10, 2) NULL, z DECIMAL(38, 10) NULL, f DOUBLE NULL, s STRING NULL, d DATE NULL, "
    "t TIMESTAMP NULL, b BOOL NULL) KEY (k);"
).relations
VIEWS = {
    "every_type": "SELECT g, ARRAY_AGG(k ORDER BY k DESC) AS k, ARRAY_AGG(x ORDER BY k) AS x, ARRAY_AGG(z ORDER BY k) AS z, ARRAY_AGG(f ORDER BY k) AS f, "
    "ARRAY_AGG(s ORDER BY k) AS s, ARRAY_AGG(d ORDER BY k) AS d, ARRAY_AGG(t ORDER BY k) AS t, ARRAY_AGG(b ORDER BY k) AS b, COUNT(*) AS n FROM r GROUP BY g",
    "by_count": "SELECT ARRAY_AGG(s) AS l, COUNT(*) AS n FROM r GROUP BY g ORDER BY n DESC",
    "first_lists": "SELECT ARRAY_AGG(k) AS l FROM r GROUP BY g LIMIT 2",
    "nothing": "SELECT g, ARRAY_AGG(s) FILTER (WHERE k < 0) AS l, COLLECT_LIST(s) FILTER (WHERE k < 0) AS m FROM r GROUP BY g",
    "first_values": "SELECT g, ARRAY_AGG(s ORDER BY k DESC LIMIT 2) AS l, ARRAY_AGG(b LIMIT 3) AS m, ARRAY_AGG(DISTINCT b LIMIT 1) AS n FROM r GROUP BY g",
    "total": "SELECT ARRAY_AGG(DISTINCT s) AS l, MAX(x) AS m FROM r",
}


def row(k: int, g: int | None, s: str | None) -> tuple[object, ...]:
    known = k % 4 != 1
    moment = datetime.datetime(2024, 1, 1 + k, 10, 11, 12, 250000)
    wide = Decimal(10**27 + k).scaleb(-10)
    values = (Decimal(k * 150).scaleb(-2), wide, k / 4, s, moment.date(), moment, k % 3 == 0)
    return (k, g, *(v if known else None for v in values))


EVENTS = [("r", 1, row(k, (1, 2, None)[k % 3], ("b", "a, b", '"', "", "ä")[k % 5])) for k in range(12)]
EVENTS += [("r", -1, EVENTS[k][2]) for k in (3, 4)]


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runtime, Interpreter]]:
    """A snapshot of EVENTS, published, and what the interpreter makes of them."""
    project = make_project(tmp_path_factory.mktemp("lists"), RELATIONS, views=VIEWS, coordinators=1)
    initialise(project)
    with open_runtime(project) as rt:
        for number, part in enumerate((EVENTS[:5], EVENTS[5:])):
            apply_batch(rt, append_events(rt, 0, part, f"d{number}"))
            refresh(rt)
        vote(rt, 0, 0)
        commit(rt, 0)
        publish(rt, 0)
        yield rt, interpret(rt.program, EVENTS)


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    as_tuples = ([tuple(v) if isinstance(v, list) else v for v in c.to_pylist()] for c in table.columns)
    return list(zip(*as_tuples, strict=True))


@pytest.mark.parametrize("view", VIEWS)
def test_lists_are_what_the_interpreter_has_in_its_order(view: str, committed: tuple[Runtime, Interpreter]) -> None:
    rt, oracle = committed
    mine, theirs = rows(read_view(rt, view)), oracle.view_rows(view)
    assert mine == theirs or (not rt.program.view(view).order and sorted(mine, key=repr) == sorted(theirs, key=repr))
    assert len(mine) > (view != "total"), "there is something to compare"


def test_lists_of_nothing_are_null_or_empty_as_the_function_has_it(committed: tuple[Runtime, Interpreter]) -> None:
    table = read_view(committed[0], "nothing")
    assert table["l"].to_pylist() == [None] * 3
    assert table["m"].to_pylist() == [[]] * 3


def test_the_first_of_rows_that_only_lists_tell_apart_are_the_least(committed: tuple[Runtime, Interpreter]) -> None:
    assert rows(read_view(committed[0], "first_lists")) == [((0, 6, 9),), ((1, 7, 10),)]


@pytest.mark.parametrize("view", VIEWS)
def test_published_lists_are_read_back_by_others(view: str, committed: tuple[Runtime, Interpreter]) -> None:
    rt, _ = committed
    assert rt.project.published is not None
    wanted = read_view(rt, view)
    table = DeltaTable(str(rt.project.published / view))
    assert sorted(rows(table.to_pyarrow_table()), key=repr) == sorted(rows(wanted), key=repr)
    (file,) = (str(rt.project.published / view / Path(uri).name) for uri in table.file_uris())
    with duckdb.connect() as database:
        theirs = database.execute(f"SELECT * FROM read_parquet('{file}')").to_arrow_table()
    assert sorted(rows(theirs), key=repr) == sorted(rows(wanted), key=repr)
    lists = {c.name for c in rt.program.view(view).visible if c.expression.type.kind == "list"}
    assert {f.name for f in table.schema().fields if str(f.type).startswith("ArrayType")} == lists
