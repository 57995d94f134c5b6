"""One query per thing that SQL does (:mod:`tests.unit.m3.sql_suite`), against DuckDB after every batch of a stream; and each is confluent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from sqlglot import exp, parse_one, transpile

from m3 import compile_views
from m3.confluence.proof import prove
from m3.interpreter import Interpreter
from m3.program import Program
from tests.fuzz.compare import same_rows
from tests.fuzz.database import Database
from tests.support.random_streams import Batch, left_over
from tests.support.sampling import WHOLE, sampled
from tests.unit.m3.company import RELATIONS, make_batches
from tests.unit.m3.sql_suite import SUITE

SEEDS = (3, 4, 5)
#: What their conditions ask for does not exist in these tables: that is what they are about.
EMPTY = {"all_of_nothing", "scalar_of_nothing", "not_in_list_with_null", "sum_of_nothing"}


@pytest.fixture(scope="module")
def database() -> Database:
    return Database(RELATIONS, "nulls_last")  # sqlglot's DuckDB dialect takes that for the default


def tables(tree: exp.Expr) -> set[str]:
    return {t.name.lower() for t in tree.find_all(exp.Table, exp.Column)} & {r.name for r in RELATIONS}


def follow(name: str, seeds: Sequence[int], database: Database) -> set[str]:
    """Runs a query over streams, until one has changed its result (``WHOLE=1``: all of them); the different results that it had."""
    dialect, sql, *theirs_text = SUITE[name]
    tree = parse_one(sql, dialect=dialect)
    theirs_sql = theirs_text[0] if theirs_text else transpile(sql, read=dialect, write="duckdb")[0]
    ordered = tree.args.get("order") is not None
    program = compile_views("suite", RELATIONS, {"v": sql}, dialect=dialect)
    assert not prove(program).reasons, "the order of events is proved not to matter"
    results: set[str] = set()
    for seed in seeds:
        results |= {*compare(program, theirs_sql, ordered, make_batches(seed, tables(tree)), database)}
        if len(results) > 2 and not WHOLE:
            break
    return results


def compare(
    program: Program, theirs_sql: str, ordered: bool, stream: Sequence[Batch], database: Database
) -> Iterator[str]:
    """The results before and after each batch, which are DuckDB's."""
    interpreter = Interpreter(program)
    before = {m: dict(entries) for m, entries in interpreter.maps.items()}
    database.clear()
    batches = [[], *stream]
    for number, batch in enumerate(batches):
        for event in batch:
            interpreter.apply(*event)
        database.apply(batch)
        theirs, ours = database.rows(theirs_sql), interpreter.view_rows("v", ordered=ordered)
        assert same_rows(ours, theirs, ordered=ordered), f"batch {number} of {stream}: {ours} instead of {theirs}"
        yield repr(sorted(theirs, key=repr))
    for event in left_over(batches):
        interpreter.apply(*event)
    assert {m: dict(entries) for m, entries in interpreter.maps.items()} == before


@pytest.mark.parametrize("name", sampled(SUITE, 3))
def test_query_agrees_with_duckdb_after_every_batch(name: str, database: Database) -> None:
    results = follow(name, SEEDS, database)
    assert len(results) > 2 or name in EMPTY, "the streams do not change the result"
